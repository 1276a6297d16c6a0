//! What a soak found: its record. Made of samples alone, besides what was asked for.

use std::collections::BTreeMap;

use measure::host::Host;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use statistics::trend::Slope;

/// The version of [`Soak`] that is written and read here.
pub const SCHEMA_VERSION: u32 = 1;

/// A soak: what was asked for, what was measured, and what can be concluded.
#[derive(Clone, Debug, Serialize, Deserialize, JsonSchema)]
pub struct Soak {
    /// The version of this structure.
    pub schema_version: u32,
    /// What was asked for.
    pub asked: Asked,
    /// When it began, in seconds since 1970.
    pub began_unix_s: u64,
    /// The machine that the load came from.
    pub host: Host,
    /// What a reader must know before the figures.
    pub cautions: Vec<String>,
    /// The process that is watched, in words; null if none is.
    pub process: Option<String>,
    /// The runs of the load, one after the other: the first, and one for each time it went on.
    pub parts: Vec<Part>,
    /// How long there was load, in seconds.
    pub measured_s: f64,
    /// What became of requests, in all of that.
    pub exchanges: Exchanges,
    /// Whether something leaks.
    pub verdict: Verdict,
    /// What can be concluded, in sentences.
    pub says: Vec<String>,
    /// The figures over time.
    pub figures: Vec<Figure>,
    /// What happened meanwhile.
    pub findings: Vec<Finding>,
    /// The looks that were taken, at each of which a leak could be said to be proven.
    pub looks: Vec<Look>,
}

/// What was asked for. It goes on with the same.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Asked {
    /// Who is loaded: the row of a file, or a URL without its query.
    pub subject: String,
    /// What it's asked, in words.
    pub question: String,
    /// Requests a second.
    pub rate: f64,
    /// Connections of the load.
    pub connections: u32,
    /// How long it was to last, in seconds.
    pub length_s: f64,
    /// How long a process is left out when it has started, in seconds.
    pub warm_up_s: f64,
    /// How long a sample is, in seconds.
    pub sample_s: f64,
    /// The smallest growth of memory that counts, in bytes an hour.
    pub smallest_bytes: f64,
    /// A keyed hash of all that is sent, and how: a soak goes on with that alone. Null in records
    /// of versions that didn't have it.
    #[serde(default)]
    pub load: Option<String>,
    /// A keyed hash of how the subject is started and limited. Null where nobody started it, and in
    /// records of versions that didn't have it.
    #[serde(default)]
    pub start: Option<String>,
}

/// One run of the load.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Part {
    /// When it began, in seconds since 1970.
    pub began_unix_s: u64,
    /// The file of its record, in this folder; null where it was never written.
    pub record: Option<String>,
    /// Why it ended before its time, if it did.
    pub ended: Option<String>,
    /// Whether its response times can be trusted; null where there is no record.
    pub valid: Option<bool>,
    /// What was known before it that a reader must know.
    #[serde(default)]
    pub cautions: Vec<String>,
    /// What the generator had to say about it.
    pub warnings: Vec<String>,
}

/// What became of requests.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Exchanges {
    /// Requests that fell due.
    pub offered: u64,
    /// Answered as expected.
    pub completed: u64,
    /// Failed.
    pub failed: u64,
    /// Failures by kind.
    pub errors: BTreeMap<String, u64>,
}

/// Whether something leaks.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Verdict {
    /// Growth is proven, larger than what counts, and it went on to the end.
    Leak,
    /// No growth that counts is possible.
    NoLeak,
    /// Growth that counts is neither proven nor impossible.
    CannotTell,
    /// No process was watched: only the load is judged.
    NotWatched,
    /// There are no samples.
    NothingMeasured,
}

impl Verdict {
    /// It as records write it.
    pub fn word(self) -> &'static str {
        match self {
            Verdict::Leak => "leak",
            Verdict::NoLeak => "no_leak",
            Verdict::CannotTell => "cannot_tell",
            Verdict::NotWatched => "not_watched",
            Verdict::NothingMeasured => "nothing_measured",
        }
    }
}

/// What is followed over time.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Kind {
    /// Memory of all processes: anonymous and shared, with shared pages divided, where the kernel
    /// tells; else all that is resident.
    Memory,
    /// What their control group is charged with but for the page cache of files.
    GroupMemory,
    /// Open descriptors.
    Descriptors,
    /// Threads.
    Threads,
    /// The 99th percentile of response times.
    P99,
    /// Requests answered in a second.
    Throughput,
}

/// A figure over time.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Figure {
    /// Which.
    pub kind: Kind,
    /// The median of the first tenth of its samples after the warm-up.
    pub first: f64,
    /// The median of the last tenth.
    pub last: f64,
    /// How much it grows in an hour of load: bytes, a number, microseconds, or requests a second.
    /// Null where that can't be told.
    pub per_hour: Option<Slope>,
    /// The slope of the second half alone.
    #[serde(default)]
    pub second_half_per_hour: Option<f64>,
    /// The smallest change in an hour that counts.
    pub smallest_per_hour: f64,
    /// What can be said of it.
    pub state: State,
    /// The growth by the requests that were answered meanwhile, where it's proven.
    pub per_request: Option<f64>,
    /// In a sentence.
    pub says: String,
}

/// What can be said of a figure.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum State {
    /// It gets worse, by more than what counts, to the end.
    Grows,
    /// It got worse, and has stopped.
    Grew,
    /// It doesn't get worse by as much as counts.
    Steady,
    /// Both are possible.
    CannotTell,
}

/// Something that happened.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Finding {
    /// What, in a word.
    pub kind: Happened,
    /// When, in seconds since 1970.
    pub at_unix_s: f64,
    /// In a sentence, with its time.
    pub says: String,
}

/// What happens in a soak.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Happened {
    /// Another process is in the place of the one that was watched.
    Restarted,
    /// Processes below it were replaced.
    Replaced,
    /// It was gone.
    Gone,
    /// The soak was interrupted, and went on later.
    Interrupted,
    /// The machine was asleep.
    Asleep,
    /// No samples came for a while.
    Unseen,
    /// Nothing was answered for a while.
    Unanswered,
    /// Requests failed.
    Failed,
    /// Fewer requests were answered than were due.
    NotHeld,
    /// The kernel killed processes for want of memory.
    Killed,
    /// A limit of CPU time held it back.
    Throttled,
}

/// A look at what was measured so far.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Look {
    /// When, in seconds since 1970.
    pub at_unix_s: f64,
    /// After how many seconds of load.
    pub measured_s: f64,
    /// The chance that it says something wrong where nothing grows, over all figures.
    pub alpha: f64,
    /// What it found.
    pub verdict: Verdict,
    /// What was proven at it, in sentences.
    pub says: Vec<String>,
}

impl Soak {
    /// One that hasn't measured anything yet.
    pub fn new(asked: Asked, began_unix_s: u64, host: Host) -> Soak {
        Soak {
            schema_version: SCHEMA_VERSION,
            asked,
            began_unix_s,
            host,
            cautions: Vec::new(),
            process: None,
            parts: Vec::new(),
            measured_s: 0.0,
            exchanges: Exchanges::default(),
            verdict: Verdict::NothingMeasured,
            says: Vec::new(),
            figures: Vec::new(),
            findings: Vec::new(),
            looks: Vec::new(),
        }
    }

    /// Reads a record.
    ///
    /// # Errors
    /// What is wrong with it.
    pub fn from_json(text: &str) -> Result<Soak, String> {
        let soak: Soak =
            serde_json::from_str(text).map_err(|error| format!("not a soak's record: {error}"))?;
        match soak.schema_version {
            SCHEMA_VERSION => Ok(soak),
            other => Err(format!(
                "it has version {other} of the schema, and this ringside reads {SCHEMA_VERSION}: \
                 use the one that wrote it"
            )),
        }
    }

    /// It as indented JSON.
    pub fn json(&self) -> String {
        serde_json::to_string_pretty(self).unwrap_or_default() + "\n"
    }

    /// Whether the load was what was asked for.
    pub fn is_held(&self) -> bool {
        let held = |finding: &Finding| finding.kind != Happened::NotHeld;
        self.findings.iter().all(held)
    }
}
