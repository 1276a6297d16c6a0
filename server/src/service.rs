//! What answers a request: the interface between services and connections.
//!
//! A service is given a [`Request`] and gives a [`Reply`], now or later. It knows nothing of
//! connections, sockets or the protocol's bytes; a connection knows nothing of what services do.
//!
//! # Later
//!
//! A service that cannot answer yet takes a [`Ticket`] and replies [`Reply::Later`]. Whoever holds
//! the ticket answers it through [`Context::complete`], from any later call: its own timer
//! ([`Service::due`]), or an exchange with an upstream. The worker finds the connection by the
//! ticket; a ticket whose connection is gone is dropped there, so a holder never needs to be told.
//! Answers leave in the order of their requests, whatever the order in which they are completed.

use std::borrow::Cow;
use std::time::Duration;

use engine::Token;
use measure::time::Time;

/// Answers the requests of one route. One instance per worker, so it needs no locks.
pub(crate) trait Service {
    /// Answers `request`, or takes a ticket from `context` and answers later.
    fn call(&mut self, request: &Request<'_>, context: &mut Context<'_>) -> Reply;

    /// A timer set by [`Context::wake_at`] is due.
    fn due(&mut self, ticket: Ticket, context: &mut Context<'_>) {
        let _ = (ticket, context);
    }
}

/// One request, as a service sees it.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Request<'a> {
    /// What follows the route's prefix in the path: `1024` of `/bytes/1024?x`.
    pub(crate) parameter: &'a str,
    /// `Content-Type` of the body.
    pub(crate) content_type: Option<&'a str>,
    /// The whole body. Empty unless the route takes bodies.
    pub(crate) body: &'a [u8],
}

/// The right and duty to answer one request later.
///
/// It names a connection by a token with a generation and one request on it by number, so a ticket
/// that comes too late never reaches another request.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Ticket {
    pub(crate) socket: Token,
    pub(crate) number: u32,
    /// Index of the route whose service took it.
    pub(crate) route: u16,
}

/// What a service may ask of its worker during a call.
#[derive(Debug)]
pub(crate) struct Context<'a> {
    /// The time of this turn.
    pub(crate) now: Time,
    /// The ticket of the request that is being answered, should it be wanted.
    pub(crate) ticket: Ticket,
    pub(crate) agenda: &'a mut Agenda,
}

impl Context<'_> {
    /// Has [`Service::due`] called with `ticket` at `time`.
    pub(crate) fn wake_at(&mut self, time: Time, ticket: Ticket) {
        self.agenda.wakes.push((time, ticket));
    }

    /// Answers the request that `ticket` stands for.
    pub(crate) fn complete(&mut self, ticket: Ticket, response: Response) {
        self.agenda.completed.push((ticket, response));
    }
}

/// What services asked for and the worker has not done yet. Emptied every turn.
#[derive(Debug, Default)]
pub(crate) struct Agenda {
    /// Timers to set.
    pub(crate) wakes: Vec<(Time, Ticket)>,
    /// Answers to hand to their connections.
    pub(crate) completed: Vec<(Ticket, Response)>,
}

/// What comes of a call.
#[derive(Debug)]
pub(crate) enum Reply {
    /// The answer.
    Now(Response),
    /// The answer, which every request with the same head gets: it may be kept encoded.
    Always(Response),
    /// The answer comes through [`Context::complete`].
    Later,
    /// The answer never comes. The client waits until it gives up.
    Never,
    /// The answer, one byte at a time.
    Dribble {
        /// The answer.
        response: Response,
        /// The time between two bytes.
        every: Duration,
    },
    /// The answer without all of its body: only so many bytes of it, and then the end of the
    /// connection, or of the stream where there are streams.
    Cut {
        /// The answer, with a body that fits a packet or two.
        response: Response,
        /// Bytes of the body that are sent.
        bytes: u64,
    },
    /// These bytes, whatever they are, and the end of the connection.
    Raw(Vec<u8>),
    /// The connection is reset, or the stream where there are streams.
    Reset,
    /// The connection becomes a WebSocket, if the request asks for that in good order.
    Upgrade(Dialogue),
    /// A fault that only HTTP/2 knows.
    Http2(Http2Fault),
}

/// What a WebSocket does with the messages that come. Protocols without an upgrade refuse it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Dialogue {
    /// Sends each back, in one frame of the same kind.
    Echo,
    /// Closes with this code when the first has come.
    Close(u16),
    /// Resets the connection when the first has come.
    Drop,
    /// Nothing.
    Silence,
}

/// Faults of HTTP/2 (RFC 9113).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Http2Fault {
    /// A greeting, and GOAWAY behind it: this is the last request that is processed.
    GoAway,
    /// The stream is reset with this code.
    Reset(u32),
    /// No answer, and no credit for the body.
    Starve,
}

/// An answer without the fields that the connection adds: `Server`, `Date`, framing.
#[derive(Debug)]
pub(crate) struct Response {
    /// Status code, 200 to 599.
    pub(crate) status: u16,
    /// `Content-Type`.
    pub(crate) content_type: Option<Cow<'static, str>>,
    /// `Allow`, which a 405 needs (RFC 9110 §15.5.6).
    pub(crate) allow: Option<&'static str>,
    /// The fields that name the upgrade a 426 asks for (RFC 9110 §15.5.22); HTTP/2 has none.
    pub(crate) upgrade: Option<&'static [(&'static str, &'static str); 2]>,
    /// The body.
    pub(crate) body: Body,
}

/// Where the bytes of a body come from.
#[derive(Debug)]
pub(crate) enum Body {
    /// No bytes.
    Empty,
    /// Bytes of the program.
    Static(&'static [u8]),
    /// Bytes made for this answer.
    Bytes(Vec<u8>),
    /// So many bytes of the pattern, see [`crate::pattern`]; never in memory as a whole.
    Pattern(u64),
    /// The same in chunked coding (RFC 9112 §7.1).
    Chunked(u64),
}

/// The media type of plain text.
pub(crate) const TEXT: &str = "text/plain";

impl Response {
    /// An answer without a body.
    pub(crate) fn empty(status: u16) -> Response {
        Response {
            status,
            content_type: None,
            allow: None,
            upgrade: None,
            body: Body::Empty,
        }
    }

    /// 200 with bytes of the program.
    pub(crate) fn fixed(content_type: &'static str, body: &'static [u8]) -> Response {
        Response::of(content_type, Body::Static(body))
    }

    /// 200 with a body.
    pub(crate) fn of(content_type: &'static str, body: Body) -> Response {
        let content_type = Some(Cow::Borrowed(content_type));
        Response {
            status: 200,
            content_type,
            allow: None,
            upgrade: None,
            body,
        }
    }

    /// A status with a sentence for whoever reads the answer.
    pub(crate) fn sentence(status: u16, text: String) -> Response {
        Response {
            status,
            ..Response::of(TEXT, Body::Bytes(text.into_bytes()))
        }
    }
}

impl Body {
    /// Its length in bytes.
    pub(crate) fn len(&self) -> u64 {
        match self {
            Body::Empty => 0,
            Body::Static(bytes) => bytes.len() as u64,
            Body::Bytes(bytes) => bytes.len() as u64,
            Body::Pattern(bytes) | Body::Chunked(bytes) => *bytes,
        }
    }
}
