//! Header blocks of requests over HTTP/2, which any connection can send.

use proto::Misuse;
use proto::http2::client::Request;
use proto::http2::hpack::block;

use super::escape::Escape;
use super::ops::{Program, constant_value};
use super::parts::{Parts, sample};
use super::template::Template;

/// The block of a request. `body_bytes` is the length of the body if that is the same every time.
///
/// # Errors
/// It cannot be sent, whatever the values are.
pub(super) fn head(parts: &Parts<'_>, body_bytes: Option<usize>) -> Result<Program, Misuse> {
    check(parts)?;
    let mut head = Program::new(true);
    block::field(b":method", parts.method.as_bytes(), head.text_mut());
    block::field(b":scheme", scheme(parts).as_bytes(), head.text_mut());
    field(&mut head, ":authority", &parts.host(), Escape::Host);
    field(&mut head, ":path", &parts.path, Escape::Percent);
    for (name, value) in &parts.fields {
        if !name.eq_ignore_ascii_case("host") {
            field(
                &mut head,
                &name.to_ascii_lowercase(),
                value,
                parts.escape_of(name),
            );
        }
    }
    if parts.field("content-length").is_none() {
        match body_bytes {
            Some(0) => {}
            Some(bytes) => {
                let length = bytes.to_string();
                block::field(b"content-length", length.as_bytes(), head.text_mut());
            }
            None => {
                let mut before = Vec::new();
                block::begin_field(b"content-length", &mut before);
                head.length(&before, b"", false);
            }
        }
    }
    Ok(head.finished())
}

pub(super) fn field(head: &mut Program, name: &str, template: &Template, escape: Escape) {
    match constant_value(template, escape) {
        Some(constant) => block::field(name.as_bytes(), &constant, head.text_mut()),
        None => {
            block::begin_field(name.as_bytes(), head.text_mut());
            head.field_value(template, escape);
        }
    }
}

fn scheme(parts: &Parts<'_>) -> &'static str {
    match parts.target.is_secure() {
        true => "https",
        false => "http",
    }
}

/// Holds the request with sample values to what any other request is held to.
fn check(parts: &Parts<'_>) -> Result<(), Misuse> {
    let mut fields = vec![
        (":method".to_owned(), parts.method.to_owned()),
        (":scheme".to_owned(), scheme(parts).to_owned()),
        (":authority".to_owned(), sample(&parts.host())),
        (":path".to_owned(), sample(&parts.path)),
    ];
    let given = parts.sample_fields().into_iter();
    let given = given.filter(|(name, _)| !name.eq_ignore_ascii_case("host"));
    fields.extend(given.map(|(name, value)| (name.to_ascii_lowercase(), value)));
    Request::new(&fields, parts.body.sample()).map(drop)
}
