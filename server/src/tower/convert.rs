//! Requests and answers from our form to that of the crate `http`, and back.

use bytes::{Bytes, BytesMut};
use http::uri::{PathAndQuery, Scheme};
use http::{HeaderMap, HeaderName, HeaderValue, Method, Uri, header};

use super::body::{Body, PIECE_BYTES};
use crate::peer::Peer;
use crate::request::{Fields, Request, Version};

/// The request, or `None` where that crate takes no such target or field.
///
/// All of its text is copied once, and shared from there.
pub(super) fn request(
    request: &Request<'_>,
    body: Body,
    peer: Peer,
) -> Option<http::Request<Body>> {
    let target = request.target();
    let bytes = target.len()
        + request
            .fields()
            .map(|(_, value)| value.len())
            .sum::<usize>();
    let mut text = BytesMut::with_capacity(bytes);
    text.extend_from_slice(target);
    let mut count = 0;
    for (_, value) in request.fields() {
        text.extend_from_slice(value);
        count += 1;
    }
    let mut text = text.freeze();
    let uri = uri(request, text.split_to(target.len()))?;
    let mut headers = HeaderMap::with_capacity(count);
    for (name, value) in request.fields() {
        let name = HeaderName::from_bytes(name).ok()?;
        let value = HeaderValue::from_maybe_shared(text.split_to(value.len())).ok()?;
        headers.append(name, value);
    }
    let mut converted = http::Request::new(body);
    *converted.method_mut() = Method::from_bytes(request.method()).ok()?;
    *converted.uri_mut() = uri;
    *converted.version_mut() = match request.version() {
        Version::Http10 => http::Version::HTTP_10,
        Version::Http2 => http::Version::HTTP_2,
        _ => http::Version::HTTP_11,
    };
    *converted.headers_mut() = headers;
    if peer != Peer::default() {
        converted.extensions_mut().insert(peer);
    }
    Some(converted)
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
        {
            map.append(name, value);
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

/// The head of a request that asks for an upgrade (RFC 9110 §7.8). To HTTP/2 there is none this way
/// (RFC 9113 §3.1).
#[cfg(feature = "tokio")]
pub(super) fn wants_upgrade<'a>(request: &Request<'a>) -> Option<&'a [u8]> {
    let head = request.head()?;
    let upgrade = request.field(header::UPGRADE.as_str())?;
    let asked = request.version() == Version::Http11 && !upgrade.eq_ignore_ascii_case(b"h2c");
    asked.then_some(head)
}
