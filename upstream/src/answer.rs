//! What is told of an exchange: the parts of an answer, or why there is none.

use std::fmt;

use proto::http2::ErrorCode;
use proto::{Violation, http1, http2};

/// What happens to an exchange. [`Event::End`] or [`Event::Failed`] comes last, once, unless the
/// service has cancelled the exchange by itself.
#[derive(Clone, Copy, Debug)]
#[non_exhaustive]
pub enum Event<'a> {
    /// The head of the answer.
    Head(Head<'a>),
    /// A piece of its body, never empty.
    Data(&'a [u8]),
    /// Fields behind the body (RFC 9110 §6.5), over HTTP/2 only.
    Trailers(Fields<'a>),
    /// There is room for more of a body in pieces ([`Body::Stream`](crate::Body::Stream)). Told
    /// once when the request's head is on a connection, and then once for all that was sent
    /// since, as soon as most of that is taken.
    Writable,
    /// The answer is complete.
    End,
    /// There is no answer, or not all of it.
    Failed(Error),
}

/// The head of an answer, lent for the time of a call.
#[derive(Clone, Copy)]
pub struct Head<'a> {
    status: u16,
    fields: Fields<'a>,
    length: Option<u64>,
}

impl<'a> Head<'a> {
    pub(crate) fn of_http1(status: u16, head: &'a [u8]) -> Head<'a> {
        let fields = Fields(Source::Http1(head));
        Head::new(status, fields)
    }

    pub(crate) fn of_http2(status: u16, fields: http2::Fields<'a>) -> Head<'a> {
        Head::new(status, Fields(Source::Http2(fields)))
    }

    fn new(status: u16, fields: Fields<'a>) -> Head<'a> {
        // The machines have seen that it's a number, and that several are the same.
        let length = fields.get("content-length").and_then(|value| {
            let first = value.split(|&byte| byte == b',').next()?.trim_ascii();
            std::str::from_utf8(first).ok()?.parse().ok()
        });
        Head {
            status,
            fields,
            length,
        }
    }

    /// The status code, 200 to 599.
    pub fn status(&self) -> u16 {
        self.status
    }

    /// Names and values of all fields, in order.
    pub fn fields(&self) -> Fields<'a> {
        self.fields
    }

    /// The value of the first field called `name`, in any case.
    pub fn field(&self, name: &str) -> Option<&'a [u8]> {
        self.fields.get(name)
    }

    /// What `Content-Length` says, of an answer to HEAD too.
    pub fn content_length(&self) -> Option<u64> {
        self.length
    }
}

/// Values of fields may be secrets.
impl fmt::Debug for Head<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Head")
            .field("status", &self.status)
            .finish_non_exhaustive()
    }
}

/// Fields of an answer.
#[derive(Clone, Copy)]
pub struct Fields<'a>(Source<'a>);

#[derive(Clone, Copy)]
enum Source<'a> {
    Http1(&'a [u8]),
    Http2(http2::Fields<'a>),
}

impl<'a> Fields<'a> {
    pub(crate) fn of_http2(fields: http2::Fields<'a>) -> Fields<'a> {
        Fields(Source::Http2(fields))
    }

    /// Names, as they were sent, and values, in order. Pseudo-header fields aren't among them.
    pub fn iter(&self) -> impl Iterator<Item = (&'a [u8], &'a [u8])> + Clone + use<'a> {
        let (lines, list) = match self.0 {
            Source::Http1(head) => (Some(http1::fields(head)), None),
            Source::Http2(fields) => (None, Some(fields.iter())),
        };
        let list = list.into_iter().flatten();
        let list = list.filter(|(name, _)| !name.starts_with(b":"));
        lines.into_iter().flatten().chain(list)
    }

    /// The value of the first field called `name`, in any case.
    pub fn get(&self, name: &str) -> Option<&'a [u8]> {
        self.iter()
            .find(|(found, _)| found.eq_ignore_ascii_case(name.as_bytes()))
            .map(|(_, value)| value)
    }
}

/// Values of fields may be secrets.
impl fmt::Debug for Fields<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Fields").finish_non_exhaustive()
    }
}

/// Why an exchange has no answer, or not all of it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Error {
    pub(crate) kind: Kind,
    pub(crate) unprocessed: bool,
    pub(crate) repeatable: bool,
    pub(crate) answered: bool,
}

impl Error {
    /// What went wrong.
    pub fn kind(&self) -> Kind {
        self.kind
    }

    /// Whether the upstream has certainly done nothing for the request: it wasn't sent, or the
    /// upstream says so (RFC 9113 §8.7). It can be sent again whatever its method.
    pub fn unprocessed(&self) -> bool {
        self.unprocessed
    }

    /// Whether the request may be sent again without harm: it's [`Error::unprocessed`], or its
    /// method is idempotent (RFC 9110 §9.2.2) and the head of an answer has not come whole.
    pub fn may_be_repeated(&self) -> bool {
        self.unprocessed || (self.repeatable && !self.answered)
    }

    /// Whether the head of an answer was told before.
    pub fn answered(&self) -> bool {
        self.answered
    }
}

impl fmt::Display for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.kind.fmt(f)
    }
}

impl std::error::Error for Error {}

/// What went wrong with an exchange.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Kind {
    /// Nothing is listening at any of its addresses.
    Refused,
    /// No address can be reached: no route, no free port, or another fault of the network.
    Unreachable,
    /// The certificate that the upstream shows isn't accepted, for this reason. Nothing was sent.
    Untrusted(&'static str),
    /// The TLS handshake failed for another reason, such as a server that doesn't speak TLS, or not
    /// the protocol that it's to.
    Handshake,
    /// No connection was usable within [`Timeouts::connect`](crate::Timeouts::connect).
    ConnectTimeout,
    /// This worker has no socket left for another connection.
    NoSocket,
    /// As many requests as allowed wait for a connection
    /// ([`Limits::waiting`](crate::Limits::waiting)).
    Full,
    /// The head of the answer didn't come within [`Timeouts::head`](crate::Timeouts::head).
    HeadTimeout,
    /// The exchange took longer than [`Timeouts::whole`](crate::Timeouts::whole).
    Deadline,
    /// The connection was reset or closed before the answer was complete.
    Closed,
    /// The upstream has reset the stream, with this code of HTTP/2 (RFC 9113 §7).
    Reset(u32),
    /// The upstream refused the request before it did anything for it: `REFUSED_STREAM` or GOAWAY.
    Declined,
    /// The answer breaks the protocol.
    Malformed(Violation),
    /// The body of the answer is longer than
    /// [`Limits::body_bytes`](crate::Limits::body_bytes).
    TooLong,
    /// The body of the request wasn't as long as announced: a fault of this side.
    WrongLength,
    /// It took too much of the memory that this worker may hold.
    Memory,
    /// The client whose request it was made for is gone.
    ClientGone,
    /// The server stops.
    Stopping,
    /// The upstream was removed, or there never was one.
    NoUpstream,
}

impl Kind {
    /// The status that a gateway answers with: 502, 503 or 504 (RFC 9110 §15.6).
    pub fn status(self) -> u16 {
        match self {
            Kind::ConnectTimeout | Kind::HeadTimeout | Kind::Deadline => 504,
            Kind::Full | Kind::NoSocket | Kind::Memory | Kind::Stopping | Kind::NoUpstream => 503,
            _ => 502,
        }
    }
}

impl fmt::Display for Kind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Kind::Refused => "the upstream refused the connection: nothing is listening there",
            Kind::Unreachable => "the upstream can't be reached",
            Kind::Untrusted(why) => {
                return write!(f, "the upstream's certificate isn't accepted: {why}");
            }
            Kind::Handshake => "the TLS handshake with the upstream failed",
            Kind::ConnectTimeout => "connecting to the upstream took too long",
            Kind::NoSocket => "no socket is left for a connection to the upstream",
            Kind::Full => "too many requests wait for the upstream",
            Kind::HeadTimeout => "the upstream took too long to answer",
            Kind::Deadline => "the upstream took too long for the whole exchange",
            Kind::Closed => "the upstream closed the connection before its answer was complete",
            Kind::Reset(code) => {
                return write!(f, "the upstream reset the stream ({})", ErrorCode(*code));
            }
            Kind::Declined => "the upstream declined the request before processing it",
            Kind::Malformed(violation) => {
                return write!(f, "the upstream's answer is malformed: {violation}");
            }
            Kind::TooLong => "the upstream's answer is too long",
            Kind::WrongLength => "the request's body wasn't as long as announced",
            Kind::Memory => "this server ran out of memory for upstreams",
            Kind::ClientGone => "the client is gone",
            Kind::Stopping => "this server is stopping",
            Kind::NoUpstream => "there is no such upstream",
        })
    }
}
