//! What a server needs to know before it starts.

use std::path::PathBuf;

use engine::{Address, EngineChoice, Listening};
use tls::Certificate;

use service::{LiveCounts, ResponseTimes, Timeouts};

/// Everything that [`start`](crate::start) is told. Nothing changes afterwards.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Config {
    /// Where to listen. Port 0 lets the kernel choose, see
    /// [`Running::address`](crate::Running::address).
    pub address: Address,
    /// Sockets that listen already, in the place of [`Config::address`]: one for each worker, or
    /// fewer, which they share. They go on listening when the server has ended, for as long as
    /// somebody else has them; see [`Stop::retire`](crate::Stop::retire).
    pub listening: Vec<Listening>,
    /// Which engine drives the sockets.
    pub engine: EngineChoice,
    /// Workers, each with its own thread, driver and listener. A Unix socket takes exactly one,
    /// since `SO_REUSEPORT` does not spread its connections (unix(7)).
    pub threads: usize,
    /// The processors of the workers, in order and from the start again; empty pins nobody.
    pub cpus: Vec<usize>,
    /// Connections that may wait to be accepted, per worker; the kernel takes no more than
    /// `net.core.somaxconn` (listen(2)).
    pub backlog: u32,
    /// Whether the addresses of clients are known: [`Peer::address`](crate::Peer::address). On
    /// io_uring that makes accepting a connection more expensive.
    pub peers: bool,
    /// How connections are secured; `None` serves in the clear.
    pub tls: Option<Tls>,
    /// Whether upstreams may be asked over TLS, by
    /// [`Place::secured`](crate::upstream::Place::secured). Where clients come in the clear, that
    /// costs a look at each thing that happens.
    pub upstream_tls: bool,
    /// What a client may ask for.
    pub limits: Limits,
    /// How long things may take.
    pub timeouts: Timeouts,
    /// Where the workers post what they count while they run; `None` posts nothing.
    pub live: Option<LiveCounts>,
    /// Where the workers record how long answers take, once somebody reads that; `None` records
    /// nothing.
    pub response_times: Option<ResponseTimes>,
}

impl Config {
    /// A server at `address` with defaults: one worker, any processor.
    pub fn new(address: Address) -> Config {
        Config {
            address,
            listening: Vec::new(),
            engine: EngineChoice::Auto,
            threads: 1,
            cpus: Vec::new(),
            backlog: 65_535,
            peers: false,
            tls: None,
            upstream_tls: false,
            limits: Limits::default(),
            timeouts: Timeouts::default(),
            live: None,
            response_times: None,
        }
    }
}

/// How connections are secured. What is spoken over TLS the server knows itself.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Tls {
    /// Who the server is.
    pub certificate: Certificate,
    /// Take only clients with a certificate signed by an authority in this file (PEM).
    pub client_authorities: Option<PathBuf>,
}

/// What a client may ask for; more is refused with the status named.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Limits {
    /// Bytes of a request head, from the request line to the empty line: 431. Over HTTP/1 that's
    /// also said to more than 100 fields, and 414 to a target of more than 8 KiB. Over HTTP/2 each
    /// field counts for 32 bytes more than it has (RFC 9113 §10.5.1).
    pub head_bytes: usize,
    /// Bytes of a request body: 413. `u64::MAX` is no limit, for services that take bodies in
    /// pieces ([`Intake::Stream`](crate::Intake::Stream)): no memory is set aside for whole ones.
    pub body_bytes: u64,
    /// Connections per worker, those to upstreams among them; more wait in the backlog. `None`
    /// takes 1,048,576; with epoll as many as `RLIMIT_NOFILE` allows. On io_uring that holds for
    /// each ring by itself, and a worker opens as many rings as it needs.
    pub connections: Option<usize>,
    /// Bytes that the bodies, messages and unread answers of all clients may take together; with
    /// tower also what handlers haven't read, requests that wait for their handlers, and what is on
    /// its way on upgraded connections. Each worker has an equal share, and gives up those that
    /// take most where they take more: 503, `RESOURCE_EXHAUSTED`, close code 1013, or a reset.
    /// What is on its way to and from upstreams counts, too. A server that couldn't hold one body
    /// for each worker doesn't start. `None` takes 512 MiB, or four bodies for each worker where
    /// that is more.
    pub memory_bytes: Option<u64>,
}

/// What [`Limits::memory_bytes`] is where it is not said.
pub(crate) const MEMORY_BYTES_DEFAULT: u64 = 512 << 20;

impl Default for Limits {
    fn default() -> Limits {
        Limits {
            head_bytes: 16 * 1024,
            body_bytes: 1024 * 1024,
            connections: None,
            memory_bytes: None,
        }
    }
}
