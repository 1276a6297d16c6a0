//! What is spoken on one connection.
//!
//! Either protocol says of exchanges what came of them, and writes to `out`. Exchanges are known by
//! their index here; whether one is still wanted is the owner's to know.

pub(crate) mod http1;
pub(crate) mod http2;

use proto::Violation;
use proto::http1::HeadMemo;

use crate::answer::{Fields, Head};
use crate::config::{Limits, Protocol};
use crate::request::Request;
use http1::Http1;
use http2::Http2;

/// What came of an exchange.
pub(crate) enum Told<'a> {
    Head(Head<'a>),
    Data(&'a [u8]),
    Trailers(Fields<'a>),
    End,
    /// The stream was given up by the server, or by us for a violation.
    Reset {
        code: u32,
        unprocessed: bool,
        violation: Option<Violation>,
    },
}

/// Who is told what came, by the index of the exchange; says whether that is still wanted.
pub(crate) type Hear<'h> = &'h mut dyn FnMut(u32, Told<'_>) -> bool;

/// What the connection is after it was told something.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum After {
    /// It goes on.
    Open,
    /// It carries nothing more. An exchange may be on it that is not wanted any more.
    Over,
}

/// See the module.
#[derive(Debug)]
pub(crate) enum Wire {
    Http1(Http1),
    Http2(Box<Http2>),
}

impl Wire {
    /// A connection that stands: says what must be said first.
    pub(crate) fn open(protocol: Protocol, limits: &Limits, out: &mut Vec<u8>) -> Wire {
        match protocol {
            Protocol::Http1 => Wire::Http1(Http1::new(limits)),
            Protocol::Http2 => Wire::Http2(Box::new(Http2::new(limits, out))),
        }
    }

    /// Whether requests can be sent: the server has said what it allows.
    pub(crate) fn is_ready(&self) -> bool {
        match self {
            Wire::Http1(_) => true,
            Wire::Http2(http) => http.is_ready(),
        }
    }

    /// How many more requests can be sent now.
    pub(crate) fn room(&self) -> u32 {
        match self {
            Wire::Http1(http) => http.room(),
            Wire::Http2(http) => http.room(),
        }
    }

    /// Whether no request can ever be sent any more.
    pub(crate) fn is_leaving(&self) -> bool {
        match self {
            Wire::Http1(http) => http.is_leaving(),
            Wire::Http2(http) => http.is_leaving(),
        }
    }

    /// Requests without a complete answer.
    pub(crate) fn outstanding(&self) -> u32 {
        match self {
            Wire::Http1(http) => http.outstanding(),
            Wire::Http2(http) => http.outstanding(),
        }
    }

    /// The indices of exchanges on it.
    pub(crate) fn exchanges(&self) -> impl Iterator<Item = u32> {
        let (one, many) = match self {
            Wire::Http1(http) => (http.exchange(), None),
            Wire::Http2(http) => (None, Some(http.exchanges())),
        };
        one.into_iter().chain(many.into_iter().flatten())
    }

    /// Sends the head of a request, and its body if it is there; the index is put into `at`.
    /// There must be room.
    pub(crate) fn begin(&mut self, at: u32, request: &Request, out: &mut Vec<u8>) -> u32 {
        match self {
            Wire::Http1(http) => http.begin(at, request, out),
            Wire::Http2(http) => http.begin(at, request, out),
        }
    }

    /// Sends a piece of the body of the request at `place`, or what of it can be sent; says how
    /// much. The end goes behind the last byte.
    pub(crate) fn data(&mut self, place: u32, bytes: &[u8], end: bool, out: &mut Vec<u8>) -> usize {
        match self {
            Wire::Http1(http) => http.data(bytes, end, out),
            Wire::Http2(http) => http.data(place, bytes, end, out),
        }
    }

    /// Reads what came.
    ///
    /// # Errors
    /// The server broke the protocol: the connection is over.
    pub(crate) fn receive(
        &mut self,
        bytes: &[u8],
        memo: &mut HeadMemo,
        out: &mut Vec<u8>,
        hear: Hear<'_>,
    ) -> Result<After, Violation> {
        match self {
            Wire::Http1(http) => http.receive(bytes, memo, hear),
            Wire::Http2(http) => http.receive(bytes, out, hear),
        }
    }

    /// The server sends no more: an answer that lasts until the end of its connection is complete.
    pub(crate) fn ended(&mut self, hear: Hear<'_>) {
        if let Wire::Http1(http) = self {
            http.ended(hear);
        }
    }

    /// Gives the request at `place` up.
    pub(crate) fn cancel(&mut self, place: u32, out: &mut Vec<u8>) -> After {
        match self {
            Wire::Http1(http) => http.cancel(),
            Wire::Http2(http) => http.cancel(place, out),
        }
    }

    /// Has the server wait with the answer at `place`, or go on. Says whether the connection is to
    /// be read at all.
    pub(crate) fn pause(&mut self, place: u32, paused: bool, out: &mut Vec<u8>) -> bool {
        match self {
            Wire::Http1(_) => !paused,
            Wire::Http2(http) => {
                http.pause(place, paused, out);
                true
            }
        }
    }

    /// Says goodbye, where the protocol has a word for that.
    pub(crate) fn leave(&mut self, out: &mut Vec<u8>) {
        if let Wire::Http2(http) = self {
            http.leave(out);
        }
    }

    /// Bytes of memory that it holds besides itself.
    pub(crate) fn held_bytes(&self) -> usize {
        match self {
            Wire::Http1(http) => http.held_bytes(),
            Wire::Http2(http) => http.held_bytes(),
        }
    }
}
