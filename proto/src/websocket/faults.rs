//! Every way a peer can break the protocol, with its clause and the close code that answers it.
//!
//! Readers refer to these by address, so a poisoned one keeps eight bytes.

use super::{Failure, code};
use crate::Violation;

/// What the readers of this module fail with.
pub(super) type Fault = &'static Failure;

macro_rules! faults {
    ($($name:ident = $code:ident, $clause:literal, $what:literal;)*) => {
        $(pub(super) static $name: Failure = Failure {
            code: code::$code,
            violation: Violation { clause: $clause, what: $what },
        };)*
    };
}

faults! {
    RESERVED_BITS = PROTOCOL_ERROR, "RFC 6455 §5.2", "reserved bits without an extension";
    OPCODE = PROTOCOL_ERROR, "RFC 6455 §5.2", "a frame with a reserved opcode";
    MASKED = PROTOCOL_ERROR, "RFC 6455 §5.1", "a masked frame from a server";
    NOT_MASKED = PROTOCOL_ERROR, "RFC 6455 §5.1", "an unmasked frame from a client";
    LENGTH_NOT_MINIMAL = PROTOCOL_ERROR, "RFC 6455 §5.2", "a length in more bytes than it needs";
    LENGTH_SIGN = PROTOCOL_ERROR, "RFC 6455 §5.2", "a payload length with the highest bit set";
    CONTROL_LENGTH = PROTOCOL_ERROR, "RFC 6455 §5.5", "a control frame longer than 125 bytes";
    CONTROL_FRAGMENT = PROTOCOL_ERROR, "RFC 6455 §5.5", "a control frame in fragments";
    NOTHING_TO_CONTINUE = PROTOCOL_ERROR, "RFC 6455 §5.4", "a continuation of no message";
    NOT_CONTINUED = PROTOCOL_ERROR, "RFC 6455 §5.4", "a message that begins inside another";
    CLOSE_LENGTH = PROTOCOL_ERROR, "RFC 6455 §5.5.1", "a close frame with half of a code";
    CLOSE_CODE = PROTOCOL_ERROR, "RFC 6455 §7.4", "a close code that may not be sent";
    CLOSE_REASON = INVALID_PAYLOAD, "RFC 6455 §5.5.1", "the reason of a close that is not UTF-8";
    NOT_UTF8 = INVALID_PAYLOAD, "RFC 6455 §8.1", "a text message that is not UTF-8";
    FRAME_TOO_BIG = TOO_BIG, "RFC 6455 §10.4", "a frame longer than the limit";
    MESSAGE_TOO_BIG = TOO_BIG, "RFC 6455 §10.4", "a message longer than the limit";
    ENDED = PROTOCOL_ERROR, "RFC 6455 §7.1.4", "a connection that ended without a close frame";
}
