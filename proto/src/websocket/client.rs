//! The client's side of the upgrade (RFC 6455 §4.1).

use base64::Engine;
use base64::engine::general_purpose::STANDARD;

use super::{accept_value, field_lists};
use crate::http1::client::{Answer, Client, Event, Limits};
use crate::http1::request::RequestSpec;
use crate::http1::{HeadMemo, field, fields};
use crate::{Misuse, Violation};

/// An upgrade request, encoded once; each connection puts a key of its own in.
#[derive(Clone, Debug)]
pub struct Opening {
    bytes: Vec<u8>,
    key_at: usize,
    /// The subprotocols that were asked for, as the value of the field.
    subprotocols: String,
}

/// One upgrade under way: from the request to its answer.
#[derive(Debug)]
pub struct Handshake {
    http: Client,
    accept: [u8; 28],
    subprotocols: Box<str>,
}

/// What a server answered.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Answered {
    /// Frames follow; the rest of the input belongs to a [`super::Reader`].
    Upgraded,
    /// The upgrade is refused with this status. The connection is of no further use.
    Refused {
        /// 200 to 599.
        status: u16,
    },
}

/// The length of a key: 16 bytes in base64 (RFC 6455 §4.1).
const KEY_TEXT_BYTES: usize = 24;

/// Where the key stands until a connection puts its own there.
const KEY_PLACE: &str = "AAAAAAAAAAAAAAAAAAAAAA==";

/// The fields that make an upgrade, which only this module writes.
const OWN_FIELDS: [&str; 5] = [
    "Upgrade",
    "Connection",
    "Sec-WebSocket-Key",
    "Sec-WebSocket-Version",
    "Sec-WebSocket-Extensions",
];

impl Opening {
    /// The upgrade for a target and host, as in [`RequestSpec`], with further fields.
    ///
    /// # Errors
    /// What [`RequestSpec::encode`] says, and fields that belong to the upgrade itself: extensions
    /// cannot be asked for, since none are spoken here.
    pub fn new(target: &str, host: &str, fields: &[(&str, &str)]) -> Result<Opening, Misuse> {
        for own in OWN_FIELDS {
            if fields
                .iter()
                .any(|(name, _)| name.eq_ignore_ascii_case(own))
            {
                return Err(Misuse::new(format!(
                    "the field {own} belongs to the WebSocket upgrade and cannot be given"
                )));
            }
        }
        let mut all = vec![
            ("Upgrade", "websocket"),
            ("Connection", "Upgrade"),
            ("Sec-WebSocket-Version", "13"),
        ];
        all.extend_from_slice(fields);
        // The last one, so that its place is known whatever the others hold.
        all.push(("Sec-WebSocket-Key", KEY_PLACE));
        let bytes = RequestSpec {
            method: "GET",
            target,
            host,
            fields: &all,
            body: &[],
            keep_alive: true,
        }
        .encode()?;
        let key_at = bytes.len() - KEY_TEXT_BYTES - b"\r\n\r\n".len();
        let asked = |(name, value): &(&str, &str)| {
            let found = name.eq_ignore_ascii_case("Sec-WebSocket-Protocol");
            found.then(|| (*value).to_owned())
        };
        let subprotocols: Vec<_> = fields.iter().filter_map(asked).collect();
        Ok(Opening {
            bytes,
            key_at,
            subprotocols: subprotocols.join(","),
        })
    }

    /// Writes the request of one connection. `nonce` is new and random each time (RFC 6455 §4.1).
    pub fn begin(&self, nonce: [u8; 16], out: &mut Vec<u8>) -> Handshake {
        let start = out.len() + self.key_at;
        out.extend_from_slice(&self.bytes);
        let key = &mut out[start..start + KEY_TEXT_BYTES];
        // Sixteen bytes always make 24 characters.
        let _ = STANDARD.encode_slice(nonce, key);
        let mut http = Client::new(Limits::default());
        // A new connection has the capacity.
        let _ = http.sent(Answer::Switch);
        Handshake {
            http,
            accept: accept_value(key),
            subprotocols: self.subprotocols.as_str().into(),
        }
    }
}

impl Handshake {
    /// Reads on; `input` is advanced past the head of the answer, once that is whole.
    ///
    /// # Errors
    /// An answer that is no HTTP, or an upgrade that is not the one that was asked for.
    pub fn next(&mut self, input: &mut &[u8]) -> Result<Option<Answered>, Violation> {
        loop {
            // A memo would be of no use: every accepted key is another.
            match self.http.next(input, &mut HeadMemo::new())? {
                None => return Ok(None),
                Some(Event::Head { status: 101, head }) => {
                    check(head, &self.accept, &self.subprotocols)?;
                    return Ok(Some(Answered::Upgraded));
                }
                Some(Event::Head { status, .. }) => {
                    return Ok(Some(Answered::Refused { status }));
                }
                Some(Event::Informational { .. } | Event::Body(_) | Event::End(_)) => {}
            }
        }
    }
}

/// Whether a 101 is the answer to our request (RFC 6455 §4.1, the list of the server's response).
fn check(head: &[u8], accept: &[u8; 28], subprotocols: &str) -> Result<(), Violation> {
    let wrong = |what| {
        Err(Violation {
            clause: "RFC 6455 §4.1",
            what,
        })
    };
    if !field_lists(head, "Upgrade", "websocket") {
        return wrong("an upgrade to something else than websocket");
    }
    if !field_lists(head, "Connection", "upgrade") {
        return wrong("an upgrade without Connection: Upgrade");
    }
    if field(head, "Sec-WebSocket-Accept") != Some(accept) {
        return wrong("a Sec-WebSocket-Accept that does not belong to the key");
    }
    for (name, value) in fields(head) {
        if name.eq_ignore_ascii_case(b"Sec-WebSocket-Extensions") && !value.is_empty() {
            return wrong("an extension that was not asked for");
        }
        // Subprotocols have a case.
        if name.eq_ignore_ascii_case(b"Sec-WebSocket-Protocol")
            && !subprotocols
                .split(',')
                .any(|asked| asked.trim().as_bytes() == value)
        {
            return wrong("a subprotocol that was not asked for");
        }
    }
    Ok(())
}
