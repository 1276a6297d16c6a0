//! What the head of a request looks like on the wire.

use proto::http1::response::decimal;
use proto::http2::hpack::block;

use crate::request::{Body, Request};

/// How the end of a request's body is told over HTTP/1.1 (RFC 9112 §6).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Framing {
    None,
    Length(u64),
    Chunked,
}

impl Framing {
    /// A method whose body means something announces that there is none (RFC 9110 §8.6).
    pub(crate) fn of(request: &Request) -> Framing {
        match request.body() {
            Body::Whole(bytes) => Framing::Length(bytes.len() as u64),
            Body::Stream(Some(bytes)) => Framing::Length(*bytes),
            Body::Stream(None) => Framing::Chunked,
            Body::Empty if matches!(request.method(), b"POST" | b"PUT" | b"PATCH") => {
                Framing::Length(0)
            }
            Body::Empty => Framing::None,
        }
    }
}

/// Appends the head of `request`, which was checked, in HTTP/1.1 (RFC 9112 §3, §5).
pub(crate) fn http1(request: &Request, out: &mut Vec<u8>) {
    for piece in [request.method(), b" ", request.target(), b" HTTP/1.1\r\n"] {
        out.extend_from_slice(piece);
    }
    line(out, b"Host", request.authority());
    request
        .fields()
        .for_each(|(name, value)| line(out, name, value));
    match Framing::of(request) {
        Framing::None => {}
        Framing::Length(bytes) => {
            out.extend_from_slice(b"Content-Length: ");
            decimal(out, bytes);
            out.extend_from_slice(b"\r\n");
        }
        Framing::Chunked => line(out, b"Transfer-Encoding", b"chunked"),
    }
    out.extend_from_slice(b"\r\n");
}

fn line(out: &mut Vec<u8>, name: &[u8], value: &[u8]) {
    for piece in [name, b": ", value, b"\r\n"] {
        out.extend_from_slice(piece);
    }
}

/// Appends the head of `request`, which was checked, as a block of HTTP/2 (RFC 9113 §8.3.1).
pub(crate) fn http2(request: &Request, out: &mut Vec<u8>) {
    block::field(b":method", request.method(), out);
    block::field(b":scheme", b"http", out);
    block::field(b":authority", request.authority(), out);
    block::field(b":path", request.target(), out);
    let mut lower = [0; 64];
    for (name, value) in request.fields() {
        match lower.get_mut(..name.len()) {
            Some(lower) => {
                lower.copy_from_slice(name);
                lower.make_ascii_lowercase();
                block::field(lower, value, out);
            }
            None => block::field(&name.to_ascii_lowercase(), value, out),
        }
    }
    if request.takes_trailers {
        block::field(b"te", b"trailers", out);
    }
    if let Framing::Length(bytes) = Framing::of(request) {
        block::begin_field(b"content-length", out);
        let at = block::begin_string(out);
        decimal(out, bytes);
        block::end_string(at, out);
    }
}
