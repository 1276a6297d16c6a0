//! Heads of HTTP/1 whose fields are those of an [`http::HeaderMap`].
//!
//! They're written in the order and the spelling of hyper (its `src/proto/h1/role.rs`), so that an
//! application that moves here from there sends the same bytes: all fields as the map has them,
//! then the length if the map has none, then the date.

use http::StatusCode;
use http::header::{self, HeaderMap, HeaderName, HeaderValue};
use proto::http1::Version;
use proto::http1::response;

use crate::form::{Form, Framing, Rest, bodiless};
use crate::response::{Body, Response};

/// What is said about the length of a body.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Length {
    /// A `content-length` of our own.
    Ours(u64),
    /// The one in the map.
    Theirs(u64),
    Chunks,
    /// Nothing.
    None,
    /// The one in the map is not that of the body.
    Wrong,
}

/// The form as far as `response` can keep it.
pub(crate) fn fitting(form: Form, response: &Response, fields: &HeaderMap) -> Form {
    let endless = length(form, response, fields) == Length::None
        && !response.body.is_announced()
        && !form.head_only
        && !bodiless(response.status);
    let closes = fields.get_all(header::CONNECTION).iter().any(names_close);
    Form {
        keep_alive: form.keep_alive && !endless && !closes,
        ..form
    }
}

fn names_close(value: &HeaderValue) -> bool {
    let tokens = value.as_bytes().split(|byte| *byte == b',');
    tokens
        .map(<[u8]>::trim_ascii)
        .any(|token| token.eq_ignore_ascii_case(b"close"))
}

/// Appends `response`, whose fields are `fields`, except for what is no bytes yet.
pub(crate) fn encode(
    out: &mut Vec<u8>,
    response: &Response,
    fields: &HeaderMap,
    form: Form,
    date: &[u8; 29],
) -> Rest {
    let length = length(form, response, fields);
    if length == Length::Wrong {
        let empty = Response::empty(500);
        return encode(out, &empty, &HeaderMap::new(), form, date);
    }
    status_line(out, response.status, form.version);
    let mut connection = false;
    let mut dated = false;
    let mut measured = false;
    for (name, value) in fields {
        if *name == header::TRANSFER_ENCODING {
            continue;
        }
        if *name == header::CONTENT_LENGTH {
            if measured || !matches!(length, Length::Theirs(_)) {
                continue;
            }
            measured = true;
        }
        if *name == header::CONNECTION {
            connection = true;
        }
        dated |= *name == header::DATE;
        field(out, name, value.as_bytes());
    }
    if !connection {
        match (form.keep_alive, form.version) {
            (false, Version::Http11) => out.extend_from_slice(b"connection: close\r\n"),
            (true, Version::Http10) => out.extend_from_slice(b"connection: keep-alive\r\n"),
            _ => {}
        }
    }
    match length {
        Length::Ours(bytes) => {
            out.extend_from_slice(b"content-length: ");
            response::decimal(out, bytes);
            out.extend_from_slice(b"\r\n");
        }
        Length::Chunks => out.extend_from_slice(b"transfer-encoding: chunked\r\n"),
        Length::Theirs(_) | Length::None | Length::Wrong => {}
    }
    if !dated {
        field(out, &header::DATE, date);
    }
    out.extend_from_slice(b"\r\n");
    if form.head_only || bodiless(response.status) {
        return Rest::Nothing;
    }
    match &response.body {
        Body::Shared(bytes) => {
            out.extend_from_slice(bytes);
            Rest::Nothing
        }
        body if body.is_in_pieces() => Rest::Pieces(match length {
            Length::Chunks => Framing::Chunks,
            Length::Ours(bytes) | Length::Theirs(bytes) => Framing::Announced(bytes),
            Length::None | Length::Wrong => Framing::Close,
        }),
        _ => Rest::Nothing,
    }
}

fn status_line(out: &mut Vec<u8>, status: u16, version: Version) {
    if status == 200 && version == Version::Http11 {
        return out.extend_from_slice(b"HTTP/1.1 200 OK\r\n");
    }
    let reason = StatusCode::from_u16(status).ok();
    let reason = reason.and_then(|status| status.canonical_reason());
    out.extend_from_slice(match version {
        Version::Http10 => b"HTTP/1.0 ",
        Version::Http11 => b"HTTP/1.1 ",
    });
    response::decimal(out, u64::from(status));
    out.push(b' ');
    out.extend_from_slice(reason.unwrap_or("<none>").as_bytes());
    out.extend_from_slice(b"\r\n");
}

fn field(out: &mut Vec<u8>, name: &HeaderName, value: &[u8]) {
    for piece in [name.as_str().as_bytes(), b": ", value, b"\r\n"] {
        out.extend_from_slice(piece);
    }
}

fn length(form: Form, response: &Response, fields: &HeaderMap) -> Length {
    if bodiless(response.status) {
        return Length::None;
    }
    let body = &response.body;
    let theirs = fields.get(header::CONTENT_LENGTH);
    let Some(theirs) = theirs else {
        return match body {
            _ if body.is_empty() && form.head_only => Length::None,
            _ if body.is_announced() => Length::Ours(body.len()),
            _ if form.head_only || form.version == Version::Http10 => Length::None,
            _ => Length::Chunks,
        };
    };
    let theirs = (theirs.to_str().ok()).and_then(|digits| digits.parse::<u64>().ok());
    match theirs {
        Some(bytes) if form.head_only => Length::Theirs(bytes),
        Some(bytes) if body.is_announced() && body.len() == bytes => Length::Theirs(bytes),
        Some(bytes) if !body.is_announced() => Length::Theirs(bytes),
        _ => Length::Wrong,
    }
}

/// The fields of an answer over HTTP/2, in hyper's order: those of the map, the date, and `length`,
/// which is the body's in decimal. `None` if the map has another one.
pub(crate) fn for_http2<'a>(
    fields: &'a HeaderMap,
    response: &Response,
    length: Option<&'a [u8]>,
    date: &'a [u8; 29],
) -> Option<impl Iterator<Item = (&'a [u8], &'a [u8])>> {
    let theirs = fields.get(header::CONTENT_LENGTH);
    let wrong = |theirs: &HeaderValue| length.is_some_and(|ours| ours != theirs.as_bytes());
    if response.body.is_announced() && theirs.is_some_and(wrong) {
        return None;
    }
    let dated = fields.contains_key(header::DATE);
    let date = (!dated).then_some((&b"date"[..], &date[..]));
    let length = length.filter(|_| theirs.is_none());
    let length = length.map(|length| (&b"content-length"[..], length));
    let given = fields.iter().filter(|(name, _)| !is_of_a_connection(name));
    let given = given.map(|(name, value)| (name.as_str().as_bytes(), value.as_bytes()));
    Some(given.chain(date).chain(length))
}

/// RFC 9113 §8.2.2: these are of one connection, and HTTP/2 has none of them.
fn is_of_a_connection(name: &HeaderName) -> bool {
    const NAMES: [&str; 5] = [
        "connection",
        "keep-alive",
        "proxy-connection",
        "transfer-encoding",
        "upgrade",
    ];
    NAMES.contains(&name.as_str())
}
