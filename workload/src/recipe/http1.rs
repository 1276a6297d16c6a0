//! The bytes of requests over HTTP/1.1, the same as [`RequestSpec`] makes of constant ones.

use proto::Misuse;
use proto::http1::request::RequestSpec;

use super::escape::Escape;
use super::ops::{Program, constant_value};
use super::parts::{Parts, sample};
use super::template::Template;

/// The head of a request up to its body. `body_bytes` is the length of the body if that is the same
/// every time. It goes to the server, or in absolute form to a proxy.
///
/// # Errors
/// It cannot be sent, whatever the values are.
pub(super) fn head(
    parts: &Parts<'_>,
    (keep_alive, absolute): (bool, bool),
    body_bytes: Option<usize>,
) -> Result<Program, Misuse> {
    let origin = match absolute {
        true => format!("http://{}", parts.target.authority()),
        false => String::new(),
    };
    check(parts, &origin, keep_alive)?;
    let mut head = Program::new(false);
    head.text(parts.method.as_bytes());
    head.text(b" ");
    head.text(origin.as_bytes());
    head.template(&parts.path, Escape::Percent);
    head.text(b" HTTP/1.1\r\n");
    field(&mut head, ("Host", &parts.host()), parts);
    for (name, template) in &parts.fields {
        if !name.eq_ignore_ascii_case("host") {
            field(&mut head, (name, template), parts);
        }
    }
    let always = matches!(parts.method, "POST" | "PUT" | "PATCH");
    if parts.field("content-length").is_none() {
        match body_bytes {
            None => head.length(b"Content-Length: ", b"\r\n", always),
            Some(0) if !always => {}
            Some(bytes) => head.text(format!("Content-Length: {bytes}\r\n").as_bytes()),
        }
    }
    if parts.field("connection").is_none() && !keep_alive {
        head.text(b"Connection: close\r\n");
    }
    head.text(b"\r\n");
    Ok(head.finished())
}

fn field(head: &mut Program, (name, template): (&str, &Template), parts: &Parts<'_>) {
    let escape = parts.escape_of(name);
    head.text(name.as_bytes());
    head.text(b": ");
    match constant_value(template, escape) {
        Some(constant) => head.text(&constant),
        None => head.field_value(template, escape),
    }
    head.text(b"\r\n");
}

/// Holds the request with sample values to what any other request is held to.
fn check(parts: &Parts<'_>, origin: &str, keep_alive: bool) -> Result<(), Misuse> {
    let fields = parts.sample_fields();
    let fields: Vec<(&str, &str)> = fields
        .iter()
        .map(|(name, value)| (*name, &**value))
        .collect();
    let spec = RequestSpec {
        method: parts.method,
        target: &format!("{origin}{}", sample(&parts.path)),
        host: &parts.target.authority(),
        fields: &fields,
        body: &parts.body.sample(),
        keep_alive,
    };
    spec.encode().map(drop)
}
