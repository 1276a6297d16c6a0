//! Protocol machines: bytes to events and back. No sockets, no clock, no randomness.
//!
//! Every machine in this crate keeps the same contract:
//!
//! - Bytes that came from the peer go in, events come out, and what is unfinished stays inside. Any
//!   chopping of the input gives the same events, up to where a body is cut into pieces; the tests
//!   read everything whole, byte by byte, in random pieces and with trailing bytes.
//! - One bound limits unfinished input. After warm-up a machine allocates nothing.
//! - Time and random numbers never appear. What needs them takes them as arguments.
//! - An error is either a [`Violation`] by the peer, which names the clause of the standard, or a
//!   [`Misuse`] by the caller. After a violation a machine is poisoned: it only repeats it.
//!
//! A machine does not know what a connection, a deadline or a request worth measuring is.
#![forbid(unsafe_code)]

use std::borrow::Cow;
use std::fmt;

pub mod grpc;
pub mod gzip;
pub mod http1;
pub mod http2;
pub mod websocket;

/// Something a peer did that the standard forbids, and the clause that forbids it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Violation {
    /// The clause, such as `RFC 9112 §6.3`.
    pub clause: &'static str,
    /// What was seen, as a phrase: `a chunk size that is not hexadecimal`.
    pub what: &'static str,
}

impl fmt::Display for Violation {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} ({})", self.what, self.clause)
    }
}

impl std::error::Error for Violation {}

/// Something the caller asked for that can't be done: our fault, never the peer's.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Misuse {
    what: Cow<'static, str>,
}

impl Misuse {
    /// Something that somebody above the machines asks for and that they could not do.
    pub fn of(what: &'static str) -> Misuse {
        Misuse::new(what)
    }

    pub(crate) fn new(what: impl Into<Cow<'static, str>>) -> Misuse {
        Misuse { what: what.into() }
    }
}

impl fmt::Display for Misuse {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.what)
    }
}

impl std::error::Error for Misuse {}
