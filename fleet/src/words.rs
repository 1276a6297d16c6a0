//! Names of runs and agents, and what else messages are made of.

use std::fmt;

use bytes::Bytes;
use serde::{Deserialize, Serialize};

use measure::foreign::Foreign;
use measure::host::Host;
use plan::Invalid;

/// A name that is a part of a subject: 1 to 64 letters, digits, `-` and `_`.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(try_from = "String", into = "String")]
pub struct Name(String);

/// The name of a run.
pub type RunId = Name;

/// The name of an agent, of which only one may be at work at a time.
pub type AgentName = Name;

/// The longest name.
const NAME_MAX: usize = 64;

impl Name {
    /// Reads a name.
    ///
    /// # Errors
    /// Where it can't be a part of a subject.
    pub fn new(text: &str) -> Result<Name, Invalid> {
        let fits = (1..=NAME_MAX).contains(&text.len());
        let is_safe = |c: u8| c.is_ascii_alphanumeric() || c == b'-' || c == b'_';
        if fits && text.bytes().all(is_safe) {
            return Ok(Name(text.to_owned()));
        }
        Err(Invalid(format!(
            "{:?} can't be the name of a run or an agent: use 1 to {NAME_MAX} letters, digits, `-` \
             or `_`",
            Foreign::new(text)
        )))
    }
}

impl TryFrom<String> for Name {
    type Error = Invalid;

    fn try_from(text: String) -> Result<Name, Invalid> {
        Name::new(&text)
    }
}

impl From<Name> for String {
    fn from(name: Name) -> String {
        name.0
    }
}

impl fmt::Display for Name {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

/// Which life of a coordinator or an agent speaks: a process that was started again has another
/// one, and it is greater.
#[derive(
    Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize,
)]
pub struct Epoch {
    /// When it began, in milliseconds since 1970, or any number that grows with each start.
    pub number: u64,
    /// By chance, so that two that were started at the same moment differ.
    pub nonce: u64,
}

impl fmt::Display for Epoch {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}-{:x}", self.number, self.nonce)
    }
}

/// One life of an agent.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
pub struct Member {
    /// Its name.
    pub agent: AgentName,
    /// Which life of it.
    pub epoch: Epoch,
}

/// A sentence that somebody else wrote, never longer than what is shown of one.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(try_from = "String", into = "String")]
pub struct Text(String);

/// The most bytes of a [`Text`].
const TEXT_MAX: usize = 1024;

impl Text {
    /// As much of it as fits, cleaned of what commands a terminal.
    pub fn new(text: &str) -> Text {
        let mut clean = Foreign::new(text).to_string();
        let cut = (0..=TEXT_MAX.min(clean.len())).rev();
        let cut = cut.into_iter().find(|at| clean.is_char_boundary(*at));
        clean.truncate(cut.unwrap_or(0));
        Text(clean)
    }
}

impl TryFrom<String> for Text {
    type Error = &'static str;

    fn try_from(text: String) -> Result<Text, &'static str> {
        match text.len() <= TEXT_MAX {
            true => Ok(Text::new(&text)),
            false => Err("a text is longer than any that we send"),
        }
    }
}

impl From<Text> for String {
    fn from(text: Text) -> String {
        text.0
    }
}

impl fmt::Display for Text {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

/// What an agent says of itself as a generator.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Verdict {
    /// Whether it was the limit, so that its figures are its own and not the server's.
    pub limited: bool,
    /// By what.
    pub reason: Text,
    /// What it is.
    pub sender: Sender,
}

/// What sent an agent's load, and what that cost.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Sender {
    /// The version of its program.
    pub version: Text,
    /// The I/O engine that ran.
    pub engine: Text,
    /// CPU time of its workers in the measured window in microseconds, if that could be read.
    pub cpu_us: Option<u64>,
    /// Peak resident memory of its process in bytes, if that could be read.
    pub memory_peak_bytes: Option<u64>,
    /// Its machine as JSON, because no reader should take memory for the lists in it that is more
    /// than a small multiple of a message's length: at most 16 KiB.
    pub host: Bytes,
}

/// The longest description of a machine in bytes.
pub(crate) const HOST_MAX: usize = 1 << 14;

impl Sender {
    /// One on this machine; nothing is said of a machine that has more to say than anybody reads.
    pub fn on(mut self, host: &Host) -> Sender {
        let json = serde_json::to_vec(host).unwrap_or_default();
        if json.len() <= HOST_MAX {
            self.host = json.into();
        }
        self
    }

    /// The machine; none where nothing was said of it that can be read.
    pub(crate) fn read_host(&self) -> Option<Host> {
        serde_json::from_slice(&self.host).ok()
    }
}
