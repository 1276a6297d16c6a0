//! Heads whose fields are those of an [`http::HeaderMap`].
//!
//! They're written in the order and the spelling of hyper (its `src/proto/h1/role.rs`), so that an
//! application that moves here from there sends the same bytes: all fields as the map has them,
//! then what the connection adds, then the length if the map has none, then the date. What hyper
//! ends the connection for, because it can't be said, is a 500 here.

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
    /// The one in the map is not that of the body, or there is no such answer.
    Wrong,
}

/// Which fields the map had.
#[derive(Clone, Copy, Default)]
struct Said {
    connection: bool,
    dated: bool,
    measured: bool,
}

/// Whether fields say nothing about the connection or the length of the body, but perhaps its
/// length itself; as nearly all do. It costs less than to look for each of those.
fn are_plain(fields: &HeaderMap) -> bool {
    fields.keys().all(|name| {
        !matches!(
            *name,
            header::CONNECTION | header::TRANSFER_ENCODING | header::TRAILER
        )
    })
}

/// The form as far as `response` can keep it.
pub fn fitting(form: Form, response: &Response, fields: &HeaderMap) -> Form {
    if response.body.is_announced() && are_plain(fields) {
        return form;
    }
    let endless = length(form, response, fields) == Length::None
        && !response.body.is_announced()
        && !form.head_only
        && !bodiless(response.status);
    let closes = names(fields, "close");
    Form {
        keep_alive: form.keep_alive && !endless && !closes,
        ..form
    }
}

/// Whether `connection` has this option.
fn names(fields: &HeaderMap, option: &str) -> bool {
    let values = fields.get_all(header::CONNECTION).iter();
    values
        .into_iter()
        .any(|value| has_token(value.as_bytes(), option))
}

/// Whether a list has this token, in any case.
pub fn has_token(value: &[u8], token: &str) -> bool {
    let tokens = value.split(|byte| *byte == b',');
    tokens
        .map(<[u8]>::trim_ascii)
        .any(|one| one.eq_ignore_ascii_case(token.as_bytes()))
}

/// Appends `response`, whose fields are `fields`, except for what is no bytes yet.
pub fn encode(
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
    let said = given(out, fields, length, form, response.status);
    if let (false, Some(option)) = (said.connection, added(form, fields)) {
        field(out, &header::CONNECTION, option.as_bytes());
    }
    match length {
        Length::Ours(bytes) => {
            out.extend_from_slice(b"content-length: ");
            response::decimal(out, bytes);
            out.extend_from_slice(b"\r\n");
        }
        Length::Chunks if !said.measured => {
            out.extend_from_slice(b"transfer-encoding: chunked\r\n");
        }
        _ => {}
    }
    if !said.dated {
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
        _ => {
            if length == Length::Chunks {
                response::last_chunk(out);
            }
            Rest::Nothing
        }
    }
}

/// Appends the fields of the map that can be said.
fn given(out: &mut Vec<u8>, fields: &HeaderMap, length: Length, form: Form, status: u16) -> Said {
    let mut said = Said::default();
    let mut before: Option<&HeaderName> = None;
    for (name, value) in fields {
        let again = before.is_some_and(|before| std::ptr::eq(before, name));
        before = Some(name);
        match *name {
            header::CONTENT_LENGTH if !again && matches!(length, Length::Theirs(_)) => {
                said.measured = true;
            }
            header::TRANSFER_ENCODING if !again && length == Length::Chunks => {
                said.measured = true;
                let last = fields.get_all(name).iter().next_back();
                let coded = last.is_some_and(ends_in_chunks);
                list(out, fields, name, (!coded).then_some("chunked"));
                continue;
            }
            header::CONNECTION if !again => {
                said.connection = true;
                list(out, fields, name, added(form, fields));
                continue;
            }
            header::TRAILER if !again && may_be_chunks(form, status) => {
                list(out, fields, name, None);
                continue;
            }
            header::CONTENT_LENGTH
            | header::TRANSFER_ENCODING
            | header::CONNECTION
            | header::TRAILER => continue,
            header::DATE => said.dated = true,
            _ => {}
        }
        field(out, name, value.as_bytes());
    }
    said
}

/// What has to be said in `connection`, unless it's there.
fn added(form: Form, fields: &HeaderMap) -> Option<&'static str> {
    let option = match (form.version, form.keep_alive) {
        (Version::Http11, false) => "close",
        (Version::Http10, true) => "keep-alive",
        _ => return None,
    };
    (!names(fields, option)).then_some(option)
}

/// Whether the last coding is chunked.
fn ends_in_chunks(value: &HeaderValue) -> bool {
    let last = value.as_bytes().rsplit(|byte| *byte == b',').next();
    last.is_some_and(|last| last.trim_ascii().eq_ignore_ascii_case(b"chunked"))
}

/// Whether an answer to such a request could have a body in chunks.
fn may_be_chunks(form: Form, status: u16) -> bool {
    form.version == Version::Http11 && !form.head_only && !bodiless(status)
}

/// Appends a field whose values are members of one list, with one more.
fn list(out: &mut Vec<u8>, fields: &HeaderMap, name: &HeaderName, more: Option<&str>) {
    out.extend_from_slice(name.as_str().as_bytes());
    let values = fields.get_all(name).iter().map(HeaderValue::as_bytes);
    for (at, value) in values.chain(more.map(str::as_bytes)).enumerate() {
        out.extend_from_slice(if at == 0 { b": " } else { b", " });
        out.extend_from_slice(value);
    }
    out.extend_from_slice(b"\r\n");
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
    let (status, body) = (response.status, &response.body);
    match status {
        0..200 => return Length::Wrong, // What an answer could follow is none.
        204 => return Length::None,     // RFC 9110 §8.6.
        _ => {}
    }
    let chunks = may_be_chunks(form, status);
    let empty = || match fields.contains_key(header::TRANSFER_ENCODING) && chunks {
        true => Length::Chunks,
        false => Length::Ours(0),
    };
    let Some(announced) = announced(fields) else {
        return match body {
            _ if bodiless(status) || body.is_empty() && form.head_only => Length::None,
            _ if body.is_empty() => empty(),
            _ if body.is_announced() => Length::Ours(body.len()),
            _ if chunks => Length::Chunks,
            _ => Length::None,
        };
    };
    match announced {
        Some(bytes) if form.head_only => Length::Theirs(bytes),
        Some(_) if bodiless(status) && body.is_empty() => Length::None,
        Some(bytes) if bodiless(status) => Length::Theirs(bytes),
        Some(0) if body.is_empty() => empty(),
        Some(bytes) if body.is_announced() && body.len() == bytes => Length::Theirs(bytes),
        Some(bytes) if !body.is_announced() => Length::Theirs(bytes),
        _ => Length::Wrong,
    }
}

/// The length that the map has, if it has any: `None` in that if it's none, or there are several.
fn announced(fields: &HeaderMap) -> Option<Option<u64>> {
    let mut lengths = fields.get_all(header::CONTENT_LENGTH).iter().map(|value| {
        let digits = value.to_str().ok()?;
        let all = digits.bytes().all(|byte| byte.is_ascii_digit());
        all.then(|| digits.parse::<u64>().ok())?
    });
    let first = lengths.next()?;
    Some(first.filter(|_| lengths.all(|other| other == first)))
}

/// The fields of an answer over HTTP/2, in hyper's order: those of the map, the date, and `length`,
/// which is the body's in decimal. `None` if the map has another one.
pub fn for_http2<'a>(
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
    let given = fields.iter();
    let given = given.map(|(name, value)| (name.as_str().as_bytes(), value.as_bytes()));
    Some(given.chain(date).chain(length))
}

/// Whether a field is of one connection over HTTP/1, so that a frame with it would be malformed
/// (RFC 9113 §8.2.2).
pub fn is_of_connection(name: &str) -> bool {
    let others = [
        "connection",
        "keep-alive",
        "proxy-connection",
        "te",
        "upgrade",
    ];
    name == header::TRANSFER_ENCODING || others.contains(&name)
}

/// Takes out what is of one connection over HTTP/1, and not said over HTTP/2 (RFC 9113 §8.2.2).
/// One by one as hyper does it, since that decides about the order of the others.
pub fn strip(fields: &mut HeaderMap) {
    const NAMES: [HeaderName; 4] = [
        HeaderName::from_static("keep-alive"),
        HeaderName::from_static("proxy-connection"),
        header::TRANSFER_ENCODING,
        header::UPGRADE,
    ];
    for name in &NAMES {
        fields.remove(name);
    }
    if fields.get(header::TE).is_some_and(|te| te != "trailers") {
        fields.remove(header::TE);
    }
    let Some(options) = fields.remove(header::CONNECTION) else {
        return;
    };
    for option in options.to_str().unwrap_or_default().split(',') {
        fields.remove(option.trim());
    }
}
