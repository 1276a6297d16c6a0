//! The client role: requests out, responses in.

use std::sync::Arc;

pub use super::{Config, Limits};
use super::{ErrorCode, Fields, Head};
use crate::{Misuse, Violation};

/// A request that is made once and sent as often as needed, on any number of connections.
#[derive(Clone, Debug)]
pub struct Request {
    head: Head,
    body: Arc<[u8]>,
}

impl Request {
    /// A request with these fields, pseudo-header fields first, and this body; empty means none.
    ///
    /// # Errors
    /// A head that [`Head::request`] refuses; a `content-length` that is not the body's; CONNECT,
    /// whose tunnel nobody here could follow.
    pub fn new<N: AsRef<[u8]>, V: AsRef<[u8]>>(
        fields: &[(N, V)],
        body: impl Into<Arc<[u8]>>,
    ) -> Result<Request, Misuse> {
        let head = Head::request(fields)?;
        let body = body.into();
        Ok(Request { head, body })
    }

    /// The head.
    pub fn head(&self) -> &Head {
        &self.head
    }

    /// The body; empty means none.
    pub fn body(&self) -> &[u8] {
        &self.body
    }
}

/// What was read. A *place* is the caller's own number for a request, as given to
/// [`Client::request`]; it is free again after an event with `end`, after `Trailers`, and after
/// `Reset`.
#[derive(Clone, Copy, Debug)]
pub enum Event<'a> {
    /// The server's first SETTINGS came: its limits are known from now on.
    Ready,
    /// An interim response; the final one follows (RFC 9110 §15.2).
    Informational {
        /// Whose.
        place: u32,
        /// 100 to 199, never 101.
        status: u16,
    },
    /// The head of the final response.
    Head {
        /// Whose.
        place: u32,
        /// 200 to 599.
        status: u16,
        /// All of its fields, `:status` among them.
        fields: Fields<'a>,
        /// Whether the response is complete: it has no body.
        end: bool,
    },
    /// A piece of the body, empty only if it ends.
    Data {
        /// Whose.
        place: u32,
        /// The piece.
        bytes: &'a [u8],
        /// Whether the response is complete.
        end: bool,
    },
    /// Fields behind the body: the response is complete.
    Trailers {
        /// Whose.
        place: u32,
        /// The fields.
        fields: Fields<'a>,
    },
    /// The stream was given up and nothing more comes of it.
    Reset {
        /// Whose.
        place: u32,
        /// The server's code, or the one the server was told.
        code: ErrorCode,
        /// Whether the server says that it did nothing for the request (RFC 9113 §8.7): it can be
        /// sent again elsewhere.
        unprocessed: bool,
        /// What the server did wrong, if it was we who gave the stream up.
        violation: Option<&'static Violation>,
    },
    /// The server takes no more requests on this connection. Those above `last` follow as `Reset`
    /// with `unprocessed`; the others go on.
    GoAway {
        /// Why: `NO_ERROR` for a graceful end.
        code: ErrorCode,
        /// The highest stream the server did or may do something for.
        last: u32,
    },
    /// The answer to [`Client::ping`].
    Pong {
        /// What the ping carried.
        payload: [u8; 8],
    },
}

/// The client role of one connection.
#[derive(Debug)]
pub struct Client {}

impl Client {
    /// A connection on which nothing was sent yet: writes the preface, the settings and the credit
    /// of the connection to `out`.
    pub fn new(config: Config, out: &mut Vec<u8>) -> Client {
        let _ = (config, out);
        todo!()
    }

    /// Whether the server's first SETTINGS came. Requests may be sent before, but the server may
    /// refuse what goes beyond its limits.
    pub fn ready(&self) -> bool {
        todo!()
    }

    /// How many more requests may be sent now. 0 for ever once the server said GOAWAY, the numbers
    /// of streams are used up or the connection failed.
    pub fn capacity(&self) -> u32 {
        todo!()
    }

    /// Requests without a complete answer.
    pub fn outstanding(&self) -> u32 {
        todo!()
    }

    /// Sends a request and calls it `place`, a number below [`Config::streams`] that no request
    /// under way has. Its body leaves as far as the server's windows allow, the rest by and by.
    ///
    /// # Errors
    /// No capacity, or a place that is taken or too high. Then nothing was written.
    pub fn request(
        &mut self,
        request: &Request,
        place: u32,
        out: &mut Vec<u8>,
    ) -> Result<(), Misuse> {
        let _ = (request, place, out);
        todo!()
    }

    /// The next event out of `input`, which is advanced past what was used. What the protocol owes
    /// the server is appended to `out`.
    ///
    /// `None` means that all of `input` is used and the event needs more.
    ///
    /// # Errors
    /// The server broke the protocol and GOAWAY is in `out`. Every further call repeats it.
    pub fn next<'a, 'i: 'a>(
        &'a mut self,
        input: &mut &'i [u8],
        out: &mut Vec<u8>,
    ) -> Result<Option<Event<'a>>, Violation> {
        let _ = (input, out);
        todo!()
    }

    /// Gives a request up: RST_STREAM with `code`. Nothing more is told of it and its place is
    /// free. Without effect if the place has no request.
    pub fn cancel(&mut self, place: u32, code: ErrorCode, out: &mut Vec<u8>) {
        let _ = (place, code, out);
        todo!()
    }

    /// Asks for a sign of life; [`Event::Pong`] brings `payload` back.
    pub fn ping(&mut self, payload: [u8; 8], out: &mut Vec<u8>) {
        let _ = (payload, out);
        todo!()
    }

    /// Says that this side goes: GOAWAY with `code`. Requests under way are still answered, new
    /// ones are not possible.
    pub fn close(&mut self, code: ErrorCode, out: &mut Vec<u8>) {
        let _ = (code, out);
        todo!()
    }

    /// Says that the server ended the connection.
    ///
    /// # Errors
    /// It did so inside a frame, or with requests unanswered.
    pub fn ended(&mut self) -> Result<(), Violation> {
        todo!()
    }

    /// Bytes of memory that this connection holds besides itself.
    pub fn memory_bytes(&self) -> usize {
        todo!()
    }
}
