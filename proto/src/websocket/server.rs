//! The server's side of the upgrade (RFC 6455 §4.2).

use base64::Engine;
use base64::engine::general_purpose::STANDARD;

use super::{accept_value, field_lists};
use crate::Violation;
use crate::http1::server::{BodyLength, Rejection, Request};
use crate::http1::{Version, fields};

/// The version of the protocol that is spoken here.
const VERSION: &str = "13";

/// What a 426 says of the upgrade that it asks for (RFC 9110 §15.5.22, RFC 6455 §4.4).
pub const OFFER: [(&str, &str); 2] = [("Upgrade", "websocket"), ("Sec-WebSocket-Version", VERSION)];

/// An upgrade that is in order, and how its answer proves that it was read.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Acceptance {
    value: [u8; 28],
}

/// Judges an upgrade request.
///
/// # Errors
/// A refusal: 405 if it is not a GET, 426 if it asks for no upgrade to websocket or for another
/// version, in which case the answer has the fields of [`OFFER`], and else 400.
pub fn accept(request: &Request<'_>) -> Result<Acceptance, Rejection> {
    if request.method != b"GET" {
        return refuse(405, "a WebSocket upgrade that is not a GET");
    }
    if request.version != Version::Http11 {
        return refuse(400, "a WebSocket upgrade over HTTP/1.0");
    }
    if request.body != BodyLength::Known(0) {
        return refuse(400, "a WebSocket upgrade with a body");
    }
    if !field_lists(request.head, "Upgrade", "websocket") {
        return refuse(426, "a request without Upgrade: websocket");
    }
    if !field_lists(request.head, "Connection", "upgrade") {
        return refuse(400, "a WebSocket upgrade without Connection: Upgrade");
    }
    if once(request, "Sec-WebSocket-Version") != Some(VERSION.as_bytes()) {
        return refuse(426, "a WebSocket upgrade to another version than 13");
    }
    let key = once(request, "Sec-WebSocket-Key");
    match key.filter(|key| is_key(key)) {
        Some(key) => Ok(Acceptance {
            value: accept_value(key),
        }),
        None => refuse(400, "a Sec-WebSocket-Key that is not 16 bytes in base64"),
    }
}

impl Acceptance {
    /// Appends the answer, after which frames follow. No extension, no subprotocol.
    pub fn encode(&self, out: &mut Vec<u8>) {
        out.extend_from_slice(
            b"HTTP/1.1 101 Switching Protocols\r\n\
              Upgrade: websocket\r\n\
              Connection: Upgrade\r\n\
              Sec-WebSocket-Accept: ",
        );
        out.extend_from_slice(&self.value);
        out.extend_from_slice(b"\r\n\r\n");
    }
}

fn refuse(status: u16, what: &'static str) -> Result<Acceptance, Rejection> {
    let clause = "RFC 6455 §4.2.1";
    Err(Rejection {
        status,
        violation: Violation { clause, what },
    })
}

/// The value of a field that has to stand exactly once.
fn once<'a>(request: &Request<'a>, name: &str) -> Option<&'a [u8]> {
    let mut values = fields(request.head)
        .filter(|(found, _)| found.eq_ignore_ascii_case(name.as_bytes()))
        .map(|(_, value)| value);
    let value = values.next();
    value.filter(|_| values.next().is_none())
}

fn is_key(text: &[u8]) -> bool {
    let mut nonce = [0; 18];
    matches!(STANDARD.decode_slice(text, &mut nonce), Ok(16))
}
