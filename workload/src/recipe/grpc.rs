//! Header blocks of gRPC calls, the same as [`CallSpec`] makes of constant ones.

use std::time::Duration;

use plan::{Invalid, metadata_value};
use proto::grpc::call::{CallSpec, Compression};
use proto::http2::hpack::block;

use super::http2::field;
use super::ops::Program;
use super::parts::{Parts, sample};

/// What is said of every call: its deadline, and what may be compressed.
type Said = (Option<Duration>, Compression);

/// The block of a call, without a length: messages have theirs.
///
/// # Errors
/// It cannot be sent, whatever the values are.
pub(super) fn head(parts: &Parts<'_>, said: Said) -> Result<Program, Invalid> {
    let checked = check(parts, said)?;
    let given = parts.fields.iter();
    let mut given = given.filter(|(name, _)| !name.eq_ignore_ascii_case("host"));
    let mut head = Program::new(true);
    // Metadata stands behind the fields of gRPC itself, in its own order.
    let own = checked.len() - given.clone().count();
    for (at, (name, value)) in checked.iter().enumerate() {
        let template = match at < own {
            true => (name == ":authority").then(|| parts.host()),
            false => given.next().map(|(_, template)| template.clone()),
        };
        match template.filter(|template| !template.is_text()) {
            Some(template) => field(&mut head, name, &template, parts.escape_of(given_as(name))),
            None => block::field(name.as_bytes(), value, head.text_mut()),
        }
    }
    Ok(head.finished())
}

/// What a field of HTTP/2 is called where it is given.
fn given_as(name: &str) -> &str {
    match name {
        ":authority" => "host",
        name => name,
    }
}

/// The fields of a call with sample values, held to what any other call is held to.
fn check(parts: &Parts<'_>, said: Said) -> Result<Vec<(String, Vec<u8>)>, Invalid> {
    let given = parts.sample_fields().into_iter();
    let given = given.filter(|(name, _)| !name.eq_ignore_ascii_case("host"));
    let values = given.map(|(name, value)| Ok((name, metadata_value(name, &value)?)));
    let metadata: Vec<(&str, Vec<u8>)> = values.collect::<Result<_, Invalid>>()?;
    let metadata: Vec<(&str, &[u8])> = metadata
        .iter()
        .map(|(name, value)| (*name, &**value))
        .collect();
    CallSpec {
        scheme: match parts.target.is_secure() {
            true => "https",
            false => "http",
        },
        authority: &sample(&parts.host()),
        path: &parts.target.path,
        timeout: said.0,
        compression: said.1,
        metadata: &metadata,
    }
    .fields()
    .map_err(|misuse| Invalid(misuse.to_string()))
}
