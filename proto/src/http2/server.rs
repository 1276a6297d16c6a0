//! The server role: requests in, responses out.

use std::fmt;

pub use super::{Config, Limits};
use super::{ErrorCode, Fields, Head};
use crate::{Misuse, Violation};

/// The 24 bytes a client starts a connection with (RFC 9113 §3.4).
pub const PREFACE: &[u8; 24] = b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n";

/// What was read.
#[derive(Clone, Copy, Debug)]
pub enum Event<'a> {
    /// The client's preface and first SETTINGS came.
    Ready,
    /// The head of a request.
    Request {
        /// Its stream, for the answer.
        stream: u32,
        /// The method.
        method: &'a [u8],
        /// The path with its query; empty with CONNECT.
        path: &'a [u8],
        /// All fields, pseudo-header fields first.
        fields: Fields<'a>,
        /// Whether the request is complete: it has no body.
        end: bool,
    },
    /// A piece of the body, empty only if it ends.
    Data {
        /// The stream.
        stream: u32,
        /// The piece.
        bytes: &'a [u8],
        /// Whether the request is complete.
        end: bool,
    },
    /// Fields behind the body: the request is complete.
    Trailers {
        /// The stream.
        stream: u32,
        /// The fields.
        fields: Fields<'a>,
    },
    /// The stream is gone: nothing more can be sent on it. Only of streams that a `Request` told
    /// of and whose response is not complete, or whose request is not.
    Reset {
        /// The stream.
        stream: u32,
        /// The client's code, or the one the client was told.
        code: ErrorCode,
        /// What the client did wrong, if it was we who gave the stream up.
        violation: Option<&'static Violation>,
    },
    /// A stream on which [`Server::data`] took less than it was given can take more.
    Writable {
        /// The stream.
        stream: u32,
    },
    /// The client will send no more requests.
    GoAway {
        /// Why: `NO_ERROR` for a graceful end.
        code: ErrorCode,
    },
    /// The answer to [`Server::ping`].
    Pong {
        /// What the ping carried.
        payload: [u8; 8],
    },
}

/// Why nothing was sent.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Unsent {
    /// The stream is not open for sending: it was reset, or its response is complete.
    Gone,
    /// The caller's fault.
    Misuse(Misuse),
}

impl fmt::Display for Unsent {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Unsent::Gone => f.write_str("the stream is not open for sending"),
            Unsent::Misuse(misuse) => misuse.fmt(f),
        }
    }
}

impl std::error::Error for Unsent {}

/// The server role of one connection.
#[derive(Debug)]
pub struct Server {}

impl Server {
    /// A connection on which nothing was received yet: writes the settings and the credit of the
    /// connection to `out`. The input starts with [`PREFACE`].
    pub fn new(config: Config, out: &mut Vec<u8>) -> Server {
        let _ = (config, out);
        todo!()
    }

    /// The next event out of `input`, which is advanced past what was used. What the protocol owes
    /// the client is appended to `out`; malformed requests are answered there and never told.
    ///
    /// `None` means that all of `input` is used and the event needs more.
    ///
    /// # Errors
    /// The client broke the protocol and GOAWAY is in `out`. Every further call repeats it.
    pub fn next<'a, 'i: 'a>(
        &'a mut self,
        input: &mut &'i [u8],
        out: &mut Vec<u8>,
    ) -> Result<Option<Event<'a>>, Violation> {
        let _ = (input, out);
        todo!()
    }

    /// A whole response of a head that was made before and a body, or as much of the body as the
    /// windows allow: says how many bytes of it, and if not all, [`Server::data`] sends the rest
    /// after [`Event::Writable`].
    ///
    /// # Errors
    /// [`Unsent::Gone`]; a head that is not a final response's, or a stream that has one.
    pub fn answer(
        &mut self,
        stream: u32,
        head: &Head,
        body: &[u8],
        out: &mut Vec<u8>,
    ) -> Result<usize, Unsent> {
        let _ = (stream, head, body, out);
        todo!()
    }

    /// The head of a response, which is its `end` too if it has no body.
    ///
    /// An interim response (1xx) has no end, and another head follows. [`Server::respond_kept`] is
    /// cheaper for heads that repeat.
    ///
    /// # Errors
    /// [`Unsent::Gone`]; a field or status that would make the response malformed.
    pub fn respond<N: AsRef<[u8]>, V: AsRef<[u8]>>(
        &mut self,
        stream: u32,
        status: u16,
        fields: &[(N, V)],
        end: bool,
        out: &mut Vec<u8>,
    ) -> Result<(), Unsent> {
        let _ = (stream, status, fields, end, out);
        todo!()
    }

    /// [`Server::respond`] with a head that was made before ([`Head::response`]).
    ///
    /// # Errors
    /// As for [`Server::respond`].
    pub fn respond_kept(
        &mut self,
        stream: u32,
        head: &Head,
        end: bool,
        out: &mut Vec<u8>,
    ) -> Result<(), Unsent> {
        let _ = (stream, head, end, out);
        todo!()
    }

    /// A piece of a body, or as much of it as the windows allow: says how many bytes. If that is
    /// not all, the end was not sent, and [`Event::Writable`] follows once there is credit.
    ///
    /// # Errors
    /// [`Unsent::Gone`]; a stream without a response head.
    pub fn data(
        &mut self,
        stream: u32,
        bytes: &[u8],
        end: bool,
        out: &mut Vec<u8>,
    ) -> Result<usize, Unsent> {
        let _ = (stream, bytes, end, out);
        todo!()
    }

    /// Fields behind the body: the response is complete. All of the body must have been taken.
    ///
    /// # Errors
    /// [`Unsent::Gone`]; a field that may not stand in trailers; a stream without a response head.
    pub fn trailers<N: AsRef<[u8]>, V: AsRef<[u8]>>(
        &mut self,
        stream: u32,
        fields: &[(N, V)],
        out: &mut Vec<u8>,
    ) -> Result<(), Unsent> {
        let _ = (stream, fields, out);
        todo!()
    }

    /// [`Server::trailers`] that were made before ([`Head::trailers`]).
    ///
    /// # Errors
    /// As for [`Server::trailers`].
    pub fn trailers_kept(
        &mut self,
        stream: u32,
        trailers: &Head,
        out: &mut Vec<u8>,
    ) -> Result<(), Unsent> {
        let _ = (stream, trailers, out);
        todo!()
    }

    /// Stops giving credit for the body of a request, which then ends its flow after at most
    /// [`Config::stream_window`] bytes. Without effect on a stream that is gone.
    pub fn pause(&mut self, stream: u32) {
        let _ = stream;
        todo!()
    }

    /// Gives credit again, and what was held back at once.
    pub fn resume(&mut self, stream: u32, out: &mut Vec<u8>) {
        let _ = (stream, out);
        todo!()
    }

    /// Gives a stream up: RST_STREAM with `code`. Nothing more is told of it. Without effect on a
    /// stream that is gone.
    pub fn reset(&mut self, stream: u32, code: ErrorCode, out: &mut Vec<u8>) {
        let _ = (stream, code, out);
        todo!()
    }

    /// Says that no more requests are taken: GOAWAY with `code` and the last stream that was. Later
    /// ones are refused, those under way go on.
    pub fn go_away(&mut self, code: ErrorCode, out: &mut Vec<u8>) {
        let _ = (code, out);
        todo!()
    }

    /// Asks for a sign of life; [`Event::Pong`] brings `payload` back.
    pub fn ping(&mut self, payload: [u8; 8], out: &mut Vec<u8>) {
        let _ = (payload, out);
        todo!()
    }

    /// Streams whose request or response is not complete.
    pub fn open_streams(&self) -> u32 {
        todo!()
    }

    /// Bytes of memory that this connection holds besides itself.
    pub fn memory_bytes(&self) -> usize {
        todo!()
    }
}
