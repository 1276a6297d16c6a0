//! WebSocket (RFC 6455): both roles of a connection, from the upgrade on.
//!
//! [`client`] and [`server`] are the two sides of the upgrade, which is HTTP/1.1. After it both
//! roles read with a [`Reader`], which is pulled, and write with [`encode`]. Keys and masks are
//! arguments. No extensions: reserved bits are violations, and none are offered or accepted.
//!
//! The reader judges a frame header byte by byte, as soon as a byte decides, so its verdicts do not
//! depend on how the input was cut. Payload is lent as it comes and never gathered, except for that
//! of control frames, of which there are at most 125 bytes.

pub mod client;
mod faults;
mod frame;
mod reader;
pub mod server;
mod utf8;

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use sha1::{Digest, Sha1};

pub use frame::{CONTROL_BYTES_MAX, HEADER_BYTES_MAX, Opcode, encode, encode_close, mask};
pub use reader::{Close, Event, Limits, Reader, Scratch};

use crate::Violation;

/// Which side of the connection this is: it decides which frames have to be masked.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Role {
    /// Masks what it sends; what it receives must not be masked (RFC 6455 §5.1).
    Client,
    /// Does not mask what it sends; what it receives must be masked.
    Server,
}

/// What a message holds.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind {
    /// UTF-8, which the reader has checked.
    Text,
    /// Any bytes.
    Binary,
}

/// Why a connection has to be failed (RFC 6455 §7.1.7): send a close frame with this code, then
/// close.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Failure {
    /// The close code: 1002, 1007 or 1009.
    pub code: u16,
    /// What the peer did.
    pub violation: Violation,
}

/// The close codes of RFC 6455 §7.4.1 that this program sends itself.
pub mod code {
    /// The purpose of the connection has been fulfilled.
    pub const NORMAL: u16 = 1000;
    /// The endpoint goes away: a server stops.
    pub const GOING_AWAY: u16 = 1001;
    /// The peer violated the protocol.
    pub const PROTOCOL_ERROR: u16 = 1002;
    /// Text that is not UTF-8.
    pub const INVALID_PAYLOAD: u16 = 1007;
    /// A frame or message beyond the limit.
    pub const TOO_BIG: u16 = 1009;
}

/// Whether a close frame may carry `code` (RFC 6455 §7.4 and the registry that it founds).
pub fn may_be_sent(code: u16) -> bool {
    matches!(code, 1000..=1003 | 1007..=1014 | 3000..=4999)
}

/// What a server proves with `Sec-WebSocket-Accept` (RFC 6455 §4.2.2) for the value of
/// `Sec-WebSocket-Key`.
fn accept_value(key: &[u8]) -> [u8; 28] {
    const GUID: &[u8] = b"258EAFA5-E914-47DA-95CA-C5AB0DC85B11";
    let digest = Sha1::new().chain_update(key).chain_update(GUID).finalize();
    let mut text = [0; 28];
    // Twenty bytes always make 28 characters.
    let _ = STANDARD.encode_slice(digest, &mut text);
    text
}

/// Whether a comma-separated list of tokens has this one, in any case.
fn lists(list: &[u8], token: &str) -> bool {
    list.split(|byte| *byte == b',')
        .any(|item| item.trim_ascii().eq_ignore_ascii_case(token.as_bytes()))
}

/// Whether any of the fields `name` of a head lists `token` (RFC 9110 §5.3).
fn field_lists(head: &[u8], name: &str, token: &str) -> bool {
    crate::http1::fields(head)
        .any(|(n, value)| n.eq_ignore_ascii_case(name.as_bytes()) && lists(value, token))
}
