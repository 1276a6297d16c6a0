//! An answer as services give it, whatever protocol takes it away.

use std::borrow::Cow;

/// An answer without the fields that the connection adds: `Server`, `Date`, framing.
///
/// What cannot be said, the client doesn't get: it gets a 500 without a body if the status isn't
/// 200 to 599, if a field is no field (RFC 9110 §5; with a line end in it, say), or if it's one
/// that the connection writes by itself: `Content-Length` and `Date`, right or wrong, and those of
/// the connection (RFC 9110 §7.6.1). `Upgrade` can be said over HTTP/1.1 only (RFC 9113 §8.2.2).
///
/// ```
/// use ringside_server::{Body, Response};
///
/// let created = Response::of("application/json", br#"{"id":7}"#.as_slice())
///     .with_status(201)
///     .with_field("Location", "/items/7");
/// assert_eq!((created.status, created.body.len()), (201, 8));
/// let gone = Response::sentence(410, "this item was deleted\n");
/// assert_eq!(gone.content_type.as_deref(), Some("text/plain"));
/// assert!(matches!(Response::empty(204).body, Body::Empty));
/// ```
#[derive(Debug)]
#[non_exhaustive]
pub struct Response {
    /// Status code, 200 to 599 (RFC 9110 §15).
    pub status: u16,
    /// `Content-Type`, if there is one (RFC 9110 §8.3).
    pub content_type: Option<Cow<'static, str>>,
    /// Further fields: names in any case, and values. They are sent in this order; over HTTP/2 in
    /// lower case. `Server` takes the place of the one that would be sent otherwise.
    pub fields: Vec<Field>,
    /// The body. None is sent where there can be none: to HEAD, and with 204 and 304.
    pub body: Body,
    /// All fields, in place of the others, for answers that come from elsewhere.
    #[cfg(feature = "tower")]
    #[doc(hidden)]
    pub headers: Option<http::HeaderMap>,
}

/// The name and the value of a field.
pub type Field = (Cow<'static, str>, Cow<'static, str>);

/// Where the bytes of a body come from. Except for [`Body::Chunked`] and [`Body::Stream`], its
/// length is announced.
#[derive(Debug)]
#[non_exhaustive]
pub enum Body {
    /// No bytes.
    Empty,
    /// Bytes of the program.
    Static(&'static [u8]),
    /// Bytes made for this answer.
    Bytes(Vec<u8>),
    /// So many bytes, of which byte `i` is the last decimal digit of `i`: for measurements. They
    /// are never in memory as a whole.
    Pattern(u64),
    /// The same with no length announced: in chunked coding over HTTP/1.1 (RFC 9112 §7.1), up to
    /// the end of the connection over HTTP/1.0, up to the end of the stream over HTTP/2.
    Chunked(u64),
    /// Pieces that the service sends one after the other, with no length announced:
    /// `Context::send` and `Context::end`. Where no
    /// body is sent, the service is told `Event::Closed`.
    Stream,
    /// The same, of so many bytes in all, which are announced. More aren't sent.
    Sized(u64),
    /// Bytes that others have, too.
    #[cfg(feature = "tower")]
    Shared(bytes::Bytes),
}

/// The media type of plain text.
#[doc(hidden)]
pub const TEXT: &str = "text/plain";

impl Response {
    /// An answer without a body.
    pub const fn empty(status: u16) -> Response {
        Response {
            status,
            content_type: None,
            fields: Vec::new(),
            body: Body::Empty,
            #[cfg(feature = "tower")]
            headers: None,
        }
    }

    /// 200 with bytes of the program.
    pub const fn fixed(content_type: &'static str, body: &'static [u8]) -> Response {
        Response {
            status: 200,
            content_type: Some(Cow::Borrowed(content_type)),
            fields: Vec::new(),
            body: Body::Static(body),
            #[cfg(feature = "tower")]
            headers: None,
        }
    }

    /// 200 with a body.
    pub fn of(content_type: impl Into<Cow<'static, str>>, body: impl Into<Body>) -> Response {
        Response {
            status: 200,
            content_type: Some(content_type.into()),
            fields: Vec::new(),
            body: body.into(),
            #[cfg(feature = "tower")]
            headers: None,
        }
    }

    /// A status with a sentence for whoever reads the answer, as plain text.
    pub fn sentence(status: u16, text: impl Into<String>) -> Response {
        Response::of(TEXT, text.into()).with_status(status)
    }

    /// The same with another status.
    pub fn with_status(self, status: u16) -> Response {
        Response { status, ..self }
    }

    /// The same with one more field.
    pub fn with_field(
        mut self,
        name: impl Into<Cow<'static, str>>,
        value: impl Into<Cow<'static, str>>,
    ) -> Response {
        self.fields.push((name.into(), value.into()));
        self
    }

    /// Whether one of its further fields is called `name`.
    #[doc(hidden)]
    pub fn names(&self, name: &str) -> bool {
        (self.fields.iter()).any(|(found, _)| found.eq_ignore_ascii_case(name))
    }
}

impl Body {
    /// Its length in bytes; 0 of a [`Body::Stream`], of which nobody knows.
    pub fn len(&self) -> u64 {
        match self {
            Body::Empty | Body::Stream => 0,
            Body::Static(bytes) => bytes.len() as u64,
            Body::Bytes(bytes) => bytes.len() as u64,
            Body::Pattern(bytes) | Body::Chunked(bytes) | Body::Sized(bytes) => *bytes,
            #[cfg(feature = "tower")]
            Body::Shared(bytes) => bytes.len() as u64,
        }
    }

    /// Whether it's sure to have no bytes.
    pub fn is_empty(&self) -> bool {
        self.len() == 0 && !matches!(self, Body::Stream)
    }

    /// Whether its length stands in the head.
    #[doc(hidden)]
    pub fn is_announced(&self) -> bool {
        !matches!(self, Body::Chunked(_) | Body::Stream)
    }

    /// Whether it comes in pieces from the service.
    #[doc(hidden)]
    pub fn is_in_pieces(&self) -> bool {
        matches!(self, Body::Stream | Body::Sized(1..))
    }
}

impl From<&'static [u8]> for Body {
    fn from(bytes: &'static [u8]) -> Body {
        Body::Static(bytes)
    }
}

impl From<&'static str> for Body {
    fn from(text: &'static str) -> Body {
        Body::Static(text.as_bytes())
    }
}

impl From<Vec<u8>> for Body {
    fn from(bytes: Vec<u8>) -> Body {
        Body::Bytes(bytes)
    }
}

impl From<String> for Body {
    fn from(text: String) -> Body {
        Body::Bytes(text.into_bytes())
    }
}
