//! A request to an upstream.

use std::fmt;

use proto::Misuse;
use proto::http1::{is_field_value, is_host, is_token};

/// A request to an upstream: method, target, authority, fields, and what its body is.
///
/// What is wrong with it is said when it's made, by
/// `Context::ask`. The framing (`Content-Length`, `Transfer-Encoding`) and the fields of the
/// connection (RFC 9110 §7.6.1) are written by the pool and refused here.
#[derive(Clone)]
pub struct Request {
    /// Method, target, authority, then names and values, one behind the other.
    text: Vec<u8>,
    method_bytes: u32,
    target_bytes: u32,
    authority_bytes: u32,
    fields: Vec<(u32, u32)>,
    body: Body,
    /// `TE: trailers` is said over HTTP/2.
    pub(crate) takes_trailers: bool,
}

/// The body of a request to an upstream.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub enum Body {
    /// No body.
    #[default]
    Empty,
    /// These bytes.
    Whole(Vec<u8>),
    /// Pieces that the service sends one after the other, so many bytes in all if that is known.
    /// If it isn't, they go in chunks over HTTP/1.1.
    Stream(Option<u64>),
}

impl Request {
    /// A request without fields and body. `authority` is the host that is meant, with its port if
    /// it isn't the scheme's own: what `Host` and `:authority` say.
    ///
    /// ```
    /// use ringside_server::upstream::{Body, Request};
    ///
    /// let request = Request::new("PUT", "/items/7?draft", "items.internal")
    ///     .with_field("content-type", "application/json")
    ///     .with_body(br#"{"name":"x"}"#.to_vec());
    /// assert_eq!(request.method(), b"PUT");
    /// assert_eq!(request.target(), b"/items/7?draft");
    /// # assert!(request.check().is_ok());
    /// ```
    pub fn new(
        method: impl AsRef<[u8]>,
        target: impl AsRef<[u8]>,
        authority: impl AsRef<[u8]>,
    ) -> Request {
        let parts = [method.as_ref(), target.as_ref(), authority.as_ref()];
        let bytes = parts.map(|part| part.len() as u32);
        let mut text = Vec::with_capacity(512);
        parts.iter().for_each(|part| text.extend_from_slice(part));
        Request {
            text,
            method_bytes: bytes[0],
            target_bytes: bytes[1],
            authority_bytes: bytes[2],
            fields: Vec::with_capacity(16),
            body: Body::Empty,
            takes_trailers: false,
        }
    }

    /// The same with one more field. Names are in any case, and sent in lower case over HTTP/2.
    pub fn with_field(mut self, name: impl AsRef<[u8]>, value: impl AsRef<[u8]>) -> Request {
        self.push(name.as_ref(), value.as_ref());
        self
    }

    /// The same with these bytes as its body, announced by their length.
    pub fn with_body(self, body: impl Into<Vec<u8>>) -> Request {
        let body = Body::Whole(body.into());
        Request { body, ..self }
    }

    /// The same with a body that is sent in pieces, of so many bytes in all if that is known.
    pub fn streamed(self, length: Option<u64>) -> Request {
        let body = Body::Stream(length);
        Request { body, ..self }
    }

    /// The same for another host than the one it named.
    pub fn with_authority(mut self, authority: impl AsRef<[u8]>) -> Request {
        let start = (self.method_bytes + self.target_bytes) as usize;
        let end = start + self.authority_bytes as usize;
        let authority = authority.as_ref();
        self.text.splice(start..end, authority.iter().copied());
        self.authority_bytes = authority.len() as u32;
        self
    }

    pub(crate) fn push(&mut self, name: &[u8], value: &[u8]) {
        self.text.extend_from_slice(name);
        self.text.extend_from_slice(value);
        self.fields.push((name.len() as u32, value.len() as u32));
    }

    /// The method.
    pub fn method(&self) -> &[u8] {
        &self.text[..self.method_bytes as usize]
    }

    /// Path and query.
    pub fn target(&self) -> &[u8] {
        let start = self.method_bytes as usize;
        &self.text[start..start + self.target_bytes as usize]
    }

    /// The host that is meant.
    pub fn authority(&self) -> &[u8] {
        let start = (self.method_bytes + self.target_bytes) as usize;
        &self.text[start..start + self.authority_bytes as usize]
    }

    /// Names and values, in order.
    pub fn fields(&self) -> impl Iterator<Item = (&[u8], &[u8])> {
        let start = self.method_bytes + self.target_bytes + self.authority_bytes;
        let mut rest = &self.text[start as usize..];
        self.fields.iter().map(move |&(name, value)| {
            let (name, behind) = rest.split_at(name as usize);
            let (value, behind) = behind.split_at(value as usize);
            rest = behind;
            (name, value)
        })
    }

    /// The body.
    pub fn body(&self) -> &Body {
        &self.body
    }

    /// Whether its method is idempotent (RFC 9110 §9.2.2).
    pub(crate) fn is_idempotent(&self) -> bool {
        let method = self.method();
        let safe = matches!(method, b"GET" | b"HEAD" | b"OPTIONS" | b"TRACE");
        safe || matches!(method, b"PUT" | b"DELETE")
    }

    /// Bytes of memory that it holds.
    pub(crate) fn held_bytes(&self) -> usize {
        let body = match &self.body {
            Body::Whole(bytes) => bytes.capacity(),
            _ => 0,
        };
        self.text.capacity() + body
    }

    /// Whether it can be sent.
    ///
    /// # Errors
    /// What is wrong with it: a method, target, authority, name or value that is none (RFC 9110 §5,
    /// §9.1; RFC 9112 §3.2), CONNECT, or a field that the pool writes by itself.
    pub fn check(&self) -> Result<(), Misuse> {
        let method = self.method();
        if !is_token(method) || method == b"CONNECT" {
            return Err(Misuse::of("an invalid method, or CONNECT (RFC 9110 §9.1)"));
        }
        let target = self.target();
        let whole = target == b"*" && method == b"OPTIONS";
        let graphic = |byte: &u8| byte.is_ascii_graphic() && *byte != b'#';
        if !(whole || target.starts_with(b"/") && target.iter().all(graphic)) {
            let what = "a target that isn't a path with an optional query (RFC 9112 §3.2)";
            return Err(Misuse::of(what));
        }
        if self.authority().is_empty() || !is_host(self.authority()) {
            let what = "an authority that isn't a host with an optional port (RFC 9110 §7.2)";
            return Err(Misuse::of(what));
        }
        for (name, value) in self.fields() {
            if !is_token(name) || !is_field_value(value) {
                return Err(Misuse::of("an invalid header field (RFC 9110 §5)"));
            }
            if is_ours(name) {
                let what = "a header field that the connection sets itself (RFC 9110 §7.6.1)";
                return Err(Misuse::of(what));
            }
        }
        Ok(())
    }
}

/// Fields and targets may hold secrets.
impl fmt::Debug for Request {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Request")
            .field("method", &self.method().escape_ascii().to_string())
            .finish_non_exhaustive()
    }
}

/// Whether a field is written by the pool itself, or would break the connection's framing: here, or
/// at a server that hands fields on as variables, which takes `_` for `-` (RFC 3875 §4.1.18).
pub(crate) fn is_ours(name: &[u8]) -> bool {
    const OURS: [&[u8]; 9] = [
        b"connection",
        b"content-length",
        b"expect",
        b"host",
        b"keep-alive",
        b"proxy-connection",
        b"te",
        b"transfer-encoding",
        b"upgrade",
    ];
    let plain = |byte: &u8| match byte {
        b'_' => b'-',
        byte => byte.to_ascii_lowercase(),
    };
    let is_like =
        |ours: &[u8]| name.len() == ours.len() && name.iter().map(plain).eq(ours.iter().copied());
    OURS.iter().any(|ours| is_like(ours))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_could_be_read_as_another_request_is_refused() {
        let fine = || Request::new("GET", "/", "h");
        assert!(fine().check().is_ok());
        let wrong = [
            Request::new("GE T", "/", "h"),
            Request::new("CONNECT", "/", "h"),
            Request::new("GET", "a", "h"),
            Request::new("GET", "/ HTTP/1.1\r\nX: y", "h"),
            Request::new("GET", "/#x", "h"),
            Request::new("GET", "*", "h"),
            Request::new("GET", "/", ""),
            Request::new("GET", "/", "h\r\nX: y"),
            Request::new("GET", "/", "user@h"),
            fine().with_field("a b", "c"),
            fine().with_field("a", "b\r\nc: d"),
            fine().with_field("a", "b\0"),
            fine().with_field("Content-Length", "3"),
            fine().with_field("Transfer-Encoding", "chunked"),
            fine().with_field("connection", "close"),
            fine().with_field("HOST", "other"),
            fine().with_field("Transfer_Encoding", "chunked"),
            fine().with_field("content_length", "3"),
        ];
        for request in wrong {
            assert!(request.check().is_err(), "{:?}", request.text);
        }
    }

    #[test]
    fn another_authority_leaves_the_rest_as_it_was() {
        let request = Request::new("GET", "/a", "h").with_field("x", "y");
        let request = request.with_authority("longer:1");
        assert_eq!(request.authority(), b"longer:1");
        assert_eq!(
            (request.method(), request.target()),
            (&b"GET"[..], &b"/a"[..])
        );
        let fields: Vec<_> = request.fields().collect();
        assert_eq!(fields, [(&b"x"[..], &b"y"[..])]);
    }
}
