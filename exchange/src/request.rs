//! A request as services see it, whatever protocol brought it.

use std::fmt;

use proto::http1::server::Target;
use proto::http1::{self, server as machine};
use proto::http2::{self, List};

/// A request: its head, and its body where that was collected.
///
/// Everything in it is lent for the time of a call. Names, values and paths are bytes, because that
/// is what clients send: only methods and names of fields are sure to be text.
///
/// ```
/// use ringside_server::Request;
///
/// /// The query of `/search?…`, if somebody asks for that.
/// fn searched<'a>(request: &Request<'a>) -> Option<&'a str> {
///     match (request.method(), request.path()) {
///         (b"GET" | b"HEAD", b"/search") => std::str::from_utf8(request.query()?).ok(),
///         _ => None,
///     }
/// }
/// ```
#[derive(Clone, Copy)]
pub struct Request<'a> {
    version: Version,
    method: &'a [u8],
    target: &'a [u8],
    source: Source<'a>,
    body: &'a [u8],
}

/// The version of HTTP that a request came with.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub enum Version {
    /// HTTP/1.0 (RFC 1945), or a later minor version below 1.1 (RFC 9110 §2.5).
    Http10,
    /// HTTP/1.1 (RFC 9112).
    #[default]
    Http11,
    /// HTTP/2 (RFC 9113).
    Http2,
}

/// Fields that stand by themselves, such as those behind a body.
#[derive(Clone, Copy, Debug)]
pub struct Fields<'a>(http2::Fields<'a>);

impl<'a> Fields<'a> {
    #[doc(hidden)]
    pub fn of_http2(fields: http2::Fields<'a>) -> Fields<'a> {
        Fields(fields)
    }

    /// Names, in lower case, and values, in order.
    pub fn iter(&self) -> impl Iterator<Item = (&'a [u8], &'a [u8])> + use<'a> {
        self.0.iter()
    }
}

/// Where the fields of a request are.
#[derive(Clone, Copy)]
enum Source<'a> {
    /// In a head, from the request line to the empty line.
    Http1(&'a [u8]),
    /// In a list, behind the pseudo-header fields.
    Http2(http2::Fields<'a>),
}

impl<'a> Request<'a> {
    #[doc(hidden)]
    pub fn of_http1(request: &machine::Request<'a>) -> Request<'a> {
        Request {
            version: match request.version {
                http1::Version::Http10 => Version::Http10,
                http1::Version::Http11 => Version::Http11,
            },
            method: request.method,
            target: request.target,
            source: Source::Http1(request.head),
            body: &[],
        }
    }

    #[doc(hidden)]
    pub fn of_http2(method: &'a [u8], path: &'a [u8], fields: http2::Fields<'a>) -> Request<'a> {
        Request {
            version: Version::Http2,
            method,
            target: path,
            source: Source::Http2(fields),
            body: &[],
        }
    }

    /// The version of HTTP it came with.
    #[inline]
    pub fn version(&self) -> Version {
        self.version
    }

    /// The method, such as `GET`: text, in the case in which it was sent (RFC 9110 §9.1).
    #[inline]
    pub fn method(&self) -> &'a [u8] {
        self.method
    }

    /// The request target as it was sent: path and query, or more over HTTP/1.1 (RFC 9112 §3.2). Of
    /// HTTP/2 it's `:path`, and empty with `CONNECT` (RFC 9113 §8.5).
    #[inline]
    pub fn target(&self) -> &'a [u8] {
        self.target
    }

    /// The path of the target, without authority and query, and with its percent-encoding; `*` for
    /// the server as a whole (RFC 9112 §3.2.4), empty with `CONNECT`.
    pub fn path(&self) -> &'a [u8] {
        match self.target {
            [] => &[],
            target => Target::of(target).path,
        }
    }

    /// What follows the path after a `?`, if there is one.
    pub fn query(&self) -> Option<&'a [u8]> {
        Target::of(self.target).query
    }

    /// Which host is meant, with its port if one is named: the authority of the target, else `Host`
    /// (RFC 9112 §3.2.2); over HTTP/2 `:authority`, else `host` (RFC 9113 §8.3.1). `None` if the
    /// client names none, as HTTP/1.0 allows.
    pub fn host(&self) -> Option<&'a [u8]> {
        let named = match self.source {
            Source::Http1(_) => Target::of(self.target).authority,
            Source::Http2(fields) => fields.get(b":authority"),
        };
        named.or_else(|| self.field("host"))
    }

    /// The value of the first field called `name`, in whatever case either is written
    /// (RFC 9110 §5.1), without the white space around it.
    ///
    /// A field may come several times (RFC 9110 §5.3), as `cookie` usually does over HTTP/2
    /// (RFC 9113 §8.2.3): [`Request::fields`] has all of them.
    pub fn field(&self, name: &str) -> Option<&'a [u8]> {
        self.fields()
            .find(|(found, _)| found.eq_ignore_ascii_case(name.as_bytes()))
            .map(|(_, value)| value)
    }

    /// Names and values of all fields, in order. Names are as they were sent: in lower case over
    /// HTTP/2. Pseudo-header fields (RFC 9113 §8.3) aren't among them.
    pub fn fields(&self) -> impl Iterator<Item = (&'a [u8], &'a [u8])> + use<'a> {
        let (lines, list) = match self.source {
            Source::Http1(head) => (Some(http1::fields(head)), None),
            Source::Http2(fields) => (None, Some(fields.iter())),
        };
        let list = list.into_iter().flatten();
        let list = list.filter(|(name, _)| !name.starts_with(b":"));
        lines.into_iter().flatten().chain(list)
    }

    /// What target and fields lie in, all in one piece, and how many fields there are at most.
    #[doc(hidden)]
    pub fn text(&self) -> (&'a [u8], usize) {
        match self.source {
            Source::Http1(head) => {
                // The first line is that of the request, and the last is empty.
                let lines = head.iter().filter(|byte| **byte == b'\n').count();
                (head, lines.saturating_sub(2))
            }
            Source::Http2(fields) => (fields.text(), fields.len()),
        }
    }

    /// All of the head over HTTP/1, from the request line to the empty line.
    #[doc(hidden)]
    pub fn head(&self) -> Option<&'a [u8]> {
        match self.source {
            Source::Http1(head) => Some(head),
            Source::Http2(_) => None,
        }
    }

    /// The value of a pseudo-header field (RFC 9113 §8.3); `None` over HTTP/1.
    #[doc(hidden)]
    pub fn pseudo(&self, name: &[u8]) -> Option<&'a [u8]> {
        match self.source {
            Source::Http1(_) => None,
            Source::Http2(fields) => fields.get(name),
        }
    }

    /// The whole body, where `Intake::Whole` was asked for; else empty.
    #[inline]
    pub fn body(&self) -> &'a [u8] {
        self.body
    }
}

/// Method and path. Fields and queries may hold secrets.
impl fmt::Debug for Request<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Request")
            .field("version", &self.version)
            .field("method", &self.method.escape_ascii().to_string())
            .field("path", &self.path().escape_ascii().to_string())
            .field("body_bytes", &self.body.len())
            .finish_non_exhaustive()
    }
}

/// The head of a request whose body is on its way. Its memory is used again.
#[derive(Debug, Default)]
#[doc(hidden)]
pub struct KeptHead {
    version: Version,
    /// Of HTTP/1: the request line and the fields.
    text: Vec<u8>,
    method_bytes: usize,
    target_bytes: usize,
    /// Of HTTP/2.
    list: List,
}

impl KeptHead {
    /// Takes a copy of a head.
    #[doc(hidden)]
    pub fn keep(&mut self, request: &Request<'_>) {
        self.version = request.version;
        match request.source {
            Source::Http1(head) => {
                debug_assert!(
                    head.starts_with(request.method)
                        && head[request.method.len() + 1..].starts_with(request.target),
                    "a head begins with method and target"
                );
                self.text.clear();
                self.text.extend_from_slice(head);
                self.method_bytes = request.method.len();
                self.target_bytes = request.target.len();
            }
            Source::Http2(fields) => self.list.copy(fields),
        }
    }

    /// The request with this head and `body`.
    #[doc(hidden)]
    pub fn request<'a>(&'a self, body: &'a [u8]) -> Request<'a> {
        let fields = self.list.fields();
        let target_at = self.method_bytes + 1;
        match self.version {
            Version::Http2 => Request {
                body,
                ..Request::of_http2(
                    fields.get(b":method").unwrap_or_default(),
                    fields.get(b":path").unwrap_or_default(),
                    fields,
                )
            },
            version => Request {
                version,
                method: &self.text[..self.method_bytes],
                target: &self.text[target_at..target_at + self.target_bytes],
                source: Source::Http1(&self.text),
                body,
            },
        }
    }

    /// Bytes of memory that it takes.
    #[doc(hidden)]
    pub fn memory(&self) -> usize {
        self.text.capacity() + self.list.memory_bytes()
    }
}

#[cfg(test)]
mod tests {
    use proto::http1::HeadMemo;
    use proto::http1::server::{Event, Limits, Server};
    use proto::http2::Head;

    use super::*;

    /// What there is to see of a request.
    #[derive(Debug, PartialEq)]
    struct Seen {
        method: String,
        path: String,
        query: Option<String>,
        host: Option<String>,
        fields: Vec<(String, String)>,
    }

    fn text(bytes: &[u8]) -> String {
        String::from_utf8_lossy(bytes).into_owned()
    }

    fn seen(request: &Request<'_>) -> Seen {
        Seen {
            method: text(request.method()),
            path: text(request.path()),
            query: request.query().map(text),
            host: request.host().map(text),
            fields: (request.fields())
                .map(|(name, value)| (text(name), text(value)))
                .collect(),
        }
    }

    fn pair(name: &str, value: &str) -> (String, String) {
        (name.into(), value.into())
    }

    /// Looks at a request as it comes, and once its head was kept.
    fn both(request: &Request<'_>, kept: &mut KeptHead) -> Seen {
        kept.keep(request);
        let again = kept.request(b"body");
        assert_eq!(again.version(), request.version());
        assert_eq!((again.body(), request.body()), (&b"body"[..], &b""[..]));
        assert_eq!(again.target(), request.target());
        assert_eq!(seen(&again), seen(request), "kept or not");
        seen(request)
    }

    fn http1(head: &str, kept: &mut KeptHead) -> Seen {
        let (mut server, mut memo) = (Server::new(Limits::default()), HeadMemo::new());
        match server.next(&mut head.as_bytes(), &mut memo) {
            Ok(Some(Event::Request(request))) => both(&Request::of_http1(&request), kept),
            other => panic!("{head}: {other:?}"),
        }
    }

    fn http2(fields: &[(&str, &str)], kept: &mut KeptHead) -> Seen {
        let head = Head::request(fields).expect("a valid request");
        let value = |name: &[u8]| head.fields().get(name).unwrap_or_default();
        let request = Request::of_http2(value(b":method"), value(b":path"), head.fields());
        both(&request, kept)
    }

    #[test]
    fn a_request_is_the_same_over_either_protocol_and_when_it_was_kept() {
        let kept = &mut KeptHead::default();
        let expected = Seen {
            method: "POST".into(),
            path: "/a/b".into(),
            query: Some("c=d".into()),
            host: Some("example.org:81".into()),
            fields: vec![pair("accept", "*/*"), pair("x-a", "1"), pair("x-a", "2")],
        };
        let pseudo = [
            (":method", "POST"),
            (":scheme", "http"),
            (":path", "/a/b?c=d"),
            (":authority", "example.org:81"),
        ];
        let fields = [("accept", "*/*"), ("x-a", "1"), ("x-a", "2")];
        assert_eq!(http2(&[&pseudo[..], &fields].concat(), kept), expected);
        let lines = "accept: */*\r\nx-a:1\r\nx-a: 2 \r\n\r\n";
        let whole = "POST http://example.org:81/a/b?c=d HTTP/1.1\r\nhost: other\r\n";
        let mut absolute = http1(&format!("{whole}{lines}"), kept);
        assert_eq!(absolute.fields.remove(0), pair("host", "other"));
        assert_eq!(absolute, expected);
        let origin = "POST /a/b?c=d HTTP/1.1\r\nhost: example.org:81\r\n";
        let mut origin = http1(&format!("{origin}{lines}"), kept);
        assert_eq!(origin.fields.remove(0), pair("host", "example.org:81"));
        assert_eq!(origin, expected);
    }

    #[test]
    fn targets_without_a_path_and_requests_without_a_host_are_told() {
        let kept = &mut KeptHead::default();
        let seen = http1("OPTIONS * HTTP/1.1\r\nHost: h\r\n\r\n", kept);
        assert_eq!((&*seen.path, seen.query), ("*", None));
        assert_eq!(http1("GET / HTTP/1.0\r\n\r\n", kept).host, None);
        assert_eq!(
            http1("GET http://h HTTP/1.1\r\nHost: h\r\n\r\n", kept).path,
            "/"
        );
        let connect = http2(&[(":method", "CONNECT"), (":authority", "h:1")], kept);
        assert_eq!((&*connect.path, connect.host), ("", Some("h:1".into())));
        let named = [
            (":method", "GET"),
            (":scheme", "http"),
            (":path", "/"),
            ("host", "h"),
        ];
        assert_eq!(http2(&named, kept).host, Some("h".into()));
    }

    #[test]
    fn fields_are_found_in_any_case_and_pseudo_header_fields_are_none() {
        let fields = [
            (":method", "GET"),
            (":scheme", "http"),
            (":path", "/"),
            ("x-a", "1"),
        ];
        let head = Head::request(&fields).expect("a valid request");
        let request = Request::of_http2(b"GET", b"/", head.fields());
        assert_eq!(request.field("X-A"), Some(&b"1"[..]));
        assert_eq!((request.field(":path"), request.field("x-b")), (None, None));
        let shown = format!("{request:?}");
        assert!(
            shown.contains("\"GET\"") && !shown.contains("x-a"),
            "{shown}"
        );
    }

    #[test]
    fn a_head_that_is_kept_in_used_memory_allocates_nothing() {
        let kept = &mut KeptHead::default();
        let head = "PUT /a HTTP/1.1\r\nHost: h\r\nX: y\r\n\r\n";
        http1(head, kept);
        http2(
            &[(":method", "GET"), (":scheme", "http"), (":path", "/")],
            kept,
        );
        let memory = kept.memory();
        for _ in 0..3 {
            http1(head, kept);
            http2(
                &[(":method", "GET"), (":scheme", "http"), (":path", "/")],
                kept,
            );
        }
        assert_eq!(kept.memory(), memory);
    }
}
