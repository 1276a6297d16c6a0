//! What a master is told, and why it can't go on.

use std::fmt;
use std::path::PathBuf;
use std::time::Duration;

use ringside_server::{Address, EngineChoice};

/// What a master is told.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Settings {
    /// Where to listen, unless systemd or an earlier master hands sockets over.
    pub address: Address,
    /// Worker processes. A master that takes over from another has as many as that one had
    /// sockets, if it's told fewer: clients wait on each of them.
    pub processes: usize,
    /// Connections that may wait in the queue of each listening socket.
    pub backlog: u32,
    /// Where `/health` and `/metrics` are answered, if anywhere.
    pub admin: Option<Address>,
    /// A file of which workers get a copy, if they need one:
    /// [`Worker::input`](crate::Worker::input). It's read at the start and at each reload, so that
    /// a worker which takes the place of one that died has what the others have.
    pub input: Option<PathBuf>,
    /// What drives the sockets of all workers, if they're told ([`Worker::engine`]): io_uring and
    /// epoll want a listening socket in different modes, so neither a reload nor another master
    /// changes it.
    ///
    /// [`Worker::engine`]: crate::Worker::engine
    pub engine: Option<EngineChoice>,
    /// How long new workers may take until they serve. A reload that takes longer is given up.
    pub start: Duration,
    /// How long a worker may take to end, from when it's told to. One that takes longer is killed.
    pub retire: Duration,
    /// How long a worker that serves may give no sign of life, such as one that is stopped, or
    /// whose handler is in an endless loop: it's killed, and another is started. Signs come each
    /// second, so less than 3 s is taken for 3 s; zero has no worker killed for it.
    pub silence: Duration,
}

impl Settings {
    /// `processes` workers at `address`, which may take 30 s to begin, and 40 s to end: more than
    /// the 10 s that a server drains for unless told otherwise. One is replaced after 10 s of
    /// silence.
    pub fn new(address: Address, processes: usize) -> Settings {
        Settings {
            address,
            processes,
            backlog: 65_535,
            admin: None,
            input: None,
            engine: None,
            start: Duration::from_secs(30),
            retire: Duration::from_secs(40),
            silence: Duration::from_secs(10),
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
