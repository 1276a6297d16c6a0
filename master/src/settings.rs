//! What a master is told, and why it can't go on.

use std::fmt;
use std::path::PathBuf;
use std::time::Duration;

use ringside_server::Address;

/// What a master is told.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Settings {
    /// Where to listen, unless systemd or an earlier master hands sockets over.
    pub address: Address,
    /// Worker processes. A master that takes over from another has as many at least as that has
    /// listening sockets: on one that nobody accepts at, clients would wait in vain.
    pub processes: usize,
    /// Connections that may wait in the queue of each listening socket.
    pub backlog: u32,
    /// Where `/health` and `/metrics` are answered, if anywhere.
    pub admin: Option<Address>,
    /// A file of which workers get a copy, if they need one:
    /// [`Worker::input`](crate::Worker::input). It's read at the start and at each reload, so that
    /// a worker which takes the place of one that died has what the others have.
    pub input: Option<PathBuf>,
    /// How long new workers may take until they serve. A reload that takes longer is given up.
    pub start: Duration,
    /// A worker none of whose threads, or only some, have gone on for so long is killed and
    /// replaced: it's blocked, stopped, or in a loop. `None` lets it be.
    pub hang: Option<Duration>,
    /// How long a worker may take to end, from when it's told to. One that takes longer is killed.
    pub retire: Duration,
}

impl Settings {
    /// `processes` workers at `address`, which may take 30 s to begin, be silent for 30 s, and take
    /// 40 s to end: more than the 10 s that a server drains for unless told otherwise.
    pub fn new(address: Address, processes: usize) -> Settings {
        Settings {
            address,
            processes,
            backlog: 65_535,
            admin: None,
            input: None,
            start: Duration::from_secs(30),
            hang: Some(Duration::from_secs(30)),
            retire: Duration::from_secs(40),
        }
    }
}

/// Why a master can't begin, or go on. The text says what to do.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Error(pub(crate) String);

impl Error {
    pub(crate) fn new(text: impl Into<String>) -> Error {
        Error(text.into())
    }
}

impl fmt::Display for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

impl std::error::Error for Error {}
