//! Requests and answers from our form to that of the crate `http`, and back.

use bytes::Bytes;
use http::uri::{PathAndQuery, Scheme};
use http::{HeaderMap, HeaderName, HeaderValue, Method, Uri, header};

use super::body::{Body, PIECE_BYTES};
use crate::headers::has_token;
use crate::request::{Fields, Request, Version};
use service::Peer;

/// A request in the form of that crate, and what was seen of its fields on the way.
pub(super) struct Converted {
    pub(super) request: http::Request<Body>,
    /// It asks for an upgrade (RFC 9110 §7.8). To HTTP/2 there is none this way (RFC 9113 §3.1).
    #[cfg_attr(not(feature = "tokio"), allow(dead_code))] // It's answered as any other.
    pub(super) upgrades: bool,
    /// Its client takes trailers, which it has to say over HTTP/1 (RFC 9110 §6.5.1).
    pub(super) takes_trailers: bool,
}

/// The request, or `None` where that crate takes no such target or field.
///
/// All of its text is copied once, and shared from there.
pub(super) fn request(request: &Request<'_>, body: Body, peer: Peer) -> Option<Converted> {
    let mut converted = http::Request::new(body);
    *converted.method_mut() = Method::from_bytes(request.method()).ok()?;
    *converted.version_mut() = match request.version() {
        Version::Http10 => http::Version::HTTP_10,
        Version::Http2 => http::Version::HTTP_2,
        _ => http::Version::HTTP_11,
    };
    if peer != Peer::default() {
        converted.extensions_mut().insert(peer);
    }
    let (text, fields_max) = request.text();
    let text = Text::of(text);
    *converted.uri_mut() = uri(request, text.share(request.target()))?;
    let mut headers = HeaderMap::try_with_capacity(fields_max).ok()?;
    let (mut upgrades, mut connection_upgrades, mut takes_trailers) = (false, false, false);
    for (name, value) in request.fields() {
        let name = HeaderName::from_bytes(name).ok()?;
        match name {
            header::TE => takes_trailers |= has_token(value, "trailers"),
            header::CONNECTION => connection_upgrades |= has_token(value, "upgrade"),
            header::UPGRADE => upgrades |= !value.eq_ignore_ascii_case(b"h2c"),
            _ => {}
        }
        let value = HeaderValue::from_maybe_shared(text.share(value)).ok()?;
        headers.try_append(name, value).ok()?;
    }
    *converted.headers_mut() = headers;
    Some(Converted {
        request: converted,
        upgrades: upgrades && connection_upgrades && request.version() == Version::Http11,
        takes_trailers,
    })
}

/// A copy of all text of a request, which what is made of that shares.
struct Text<'a> {
    copy: Bytes,
    original: &'a [u8],
}

impl<'a> Text<'a> {
    fn of(original: &'a [u8]) -> Text<'a> {
        let copy = Bytes::copy_from_slice(original);
        Text { copy, original }
    }

    /// The copy of `part`, which is a part of the original.
    fn share(&self, part: &[u8]) -> Bytes {
        let at = part
            .as_ptr()
            .addr()
            .wrapping_sub(self.original.as_ptr().addr());
        let end = at.wrapping_add(part.len());
        match at <= end && end <= self.copy.len() {
            true => self.copy.slice(at..end),
            false => Bytes::copy_from_slice(part),
        }
    }
}

/// Over HTTP/1 the target as it was sent; over HTTP/2 what its pseudo-header fields say together
/// (RFC 9113 §8.3.1).
fn uri(request: &Request<'_>, target: Bytes) -> Option<Uri> {
    if request.version() != Version::Http2 {
        return match &target[..] {
            b"/" => Some(Uri::default()),
            _ => Uri::from_maybe_shared(target).ok(),
        };
    }
    let mut parts = http::uri::Parts::default();
    if let Some(authority) = request.pseudo(b":authority") {
        parts.authority = Some(authority.try_into().ok()?);
    }
    if !target.is_empty() {
        parts.path_and_query = Some(PathAndQuery::from_maybe_shared(target).ok()?);
        if parts.authority.is_some() {
            parts.scheme = match request.pseudo(b":scheme") {
                Some(b"https") => Some(Scheme::HTTPS),
                Some(b"http") => Some(Scheme::HTTP),
                other => Some(other?.try_into().ok()?),
            };
        }
    }
    Uri::from_parts(parts).ok()
}

/// Fields behind a body; those that are none for that crate are left out.
pub(super) fn trailers(fields: Fields<'_>) -> HeaderMap {
    let mut map = HeaderMap::new();
    for (name, value) in fields.iter() {
        if let (Ok(name), Ok(value)) =
            (HeaderName::from_bytes(name), HeaderValue::from_bytes(value))
            && map.try_append(name, value).is_err()
        {
            break; // There are more than a map can have.
        }
    }
    map
}

/// Bytes that a request takes while its handler waits.
pub(super) fn bytes(request: &Request<'_>) -> usize {
    let fields = request
        .fields()
        .map(|(name, value)| name.len() + value.len() + PIECE_BYTES);
    request.target().len() + fields.sum::<usize>() + request.body().len()
}

/// The length that the client has announced for the body.
pub(super) fn length(request: &Request<'_>) -> Option<u64> {
    let digits = request.field(header::CONTENT_LENGTH.as_str())?;
    std::str::from_utf8(digits).ok()?.parse().ok()
}

/// Whether the client waits to be told that it may send the body (RFC 9110 §10.1.1).
pub(super) fn expects(request: &Request<'_>) -> bool {
    let expect = request.field(header::EXPECT.as_str());
    expect.is_some_and(|value| value.eq_ignore_ascii_case(b"100-continue"))
}
