//! What an upstream is allowed and how long it may take.

use std::time::Duration;

/// What is spoken with an upstream.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub enum Protocol {
    /// HTTP/1.1, one request at a time on a connection.
    #[default]
    Http1,
    /// HTTP/2: in the clear with prior knowledge (RFC 9113 §3.3), over TLS as ALPN says.
    Http2,
}

/// Where an upstream is, by addresses of whatever kind, and how it's spoken to.
/// The limits hold for each worker.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Config<A> {
    /// Where it is. Connections are opened to each in turn, and where one can't be reached, the
    /// next is tried at once.
    pub addresses: Vec<A>,
    /// What is spoken.
    pub protocol: Protocol,
    /// How much it may take and give.
    pub limits: Limits,
    /// How long things may take.
    pub timeouts: Timeouts,
}

impl<A> Config<A> {
    /// An upstream at these addresses, over HTTP/1.1, with the limits as they are without further
    /// wishes.
    pub fn new<P: Into<A>>(addresses: impl IntoIterator<Item = P>) -> Config<A> {
        Config {
            addresses: addresses.into_iter().map(Into::into).collect(),
            protocol: Protocol::default(),
            limits: Limits::default(),
            timeouts: Timeouts::default(),
        }
    }

    /// Everything but where it is.
    pub(crate) fn settings(&self) -> Settings {
        Settings {
            protocol: self.protocol,
            limits: self.limits,
            timeouts: self.timeouts,
        }
    }

    /// The same over this protocol.
    pub fn with_protocol(self, protocol: Protocol) -> Config<A> {
        Config { protocol, ..self }
    }

    /// The same with these limits.
    pub fn with_limits(self, limits: Limits) -> Config<A> {
        Config { limits, ..self }
    }

    /// The same with these timeouts.
    pub fn with_timeouts(self, timeouts: Timeouts) -> Config<A> {
        Config { timeouts, ..self }
    }
}

/// Everything about an upstream but where it is.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Settings {
    /// What is spoken.
    pub protocol: Protocol,
    /// How much it may take and give.
    pub limits: Limits,
    /// How long things may take.
    pub timeouts: Timeouts,
}

/// How much an upstream may take and give, for each worker.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Limits {
    /// Connections at most, those that are being opened among them; at least one.
    pub connections: usize,
    /// Requests that wait for a connection at most, besides those that a connection is being
    /// opened for. What comes beyond fails at once with [`Kind::Full`](crate::Kind::Full).
    pub waiting: usize,
    /// Streams open at once on a connection of HTTP/2, if the server allows as many.
    pub streams: u32,
    /// Bytes that the server may send on a stream of HTTP/2 before it gets credit: what may come of
    /// an answer that is paused.
    pub stream_window_bytes: u32,
    /// Bytes of the head of an answer, and of its trailers.
    pub head_bytes: u32,
    /// Bytes of the body of an answer.
    pub body_bytes: u64,
}

impl Default for Limits {
    fn default() -> Limits {
        Limits {
            connections: 64,
            waiting: 1024,
            streams: 100,
            stream_window_bytes: 256 * 1024,
            head_bytes: 16 * 1024,
            body_bytes: u64::MAX,
        }
    }
}

/// How long an upstream may take.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Timeouts {
    /// Until a connection can be used: over HTTP/2 that includes the server's settings.
    pub connect: Duration,
    /// From the end of the request to the head of the answer.
    pub head: Duration,
    /// From the wish to the end of the answer, waiting and a second attempt included.
    pub whole: Duration,
    /// How long a connection without a request is kept.
    pub idle: Duration,
}

impl Default for Timeouts {
    fn default() -> Timeouts {
        Timeouts {
            connect: Duration::from_secs(3),
            head: Duration::from_secs(30),
            whole: Duration::from_secs(60),
            idle: Duration::from_secs(60),
        }
    }
}
