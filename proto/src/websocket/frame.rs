//! Frames (RFC 6455 §5.2): their headers both ways, and masking.

use super::faults::{self, Fault};
use super::{Kind, Role};

/// The longest frame header: two bytes, a length of eight, a mask of four.
pub const HEADER_BYTES_MAX: usize = 14;

/// The most payload of a control frame (RFC 6455 §5.5).
pub const CONTROL_BYTES_MAX: usize = 125;

/// What a frame is (RFC 6455 §11.8).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Opcode {
    /// A further fragment of the message that was begun.
    Continuation,
    /// The first fragment of a text message, or all of it.
    Text,
    /// The first fragment of a binary message, or all of it.
    Binary,
    /// The sender sends no more.
    Close,
    /// To be answered with a pong of the same payload.
    Ping,
    /// The answer to a ping, or a heartbeat that nobody asked for.
    Pong,
}

impl Opcode {
    /// The number in the header.
    const fn number(self) -> u8 {
        match self {
            Opcode::Continuation => 0x0,
            Opcode::Text => 0x1,
            Opcode::Binary => 0x2,
            Opcode::Close => 0x8,
            Opcode::Ping => 0x9,
            Opcode::Pong => 0xa,
        }
    }

    fn of(number: u8) -> Option<Opcode> {
        Some(match number {
            0x0 => Opcode::Continuation,
            0x1 => Opcode::Text,
            0x2 => Opcode::Binary,
            0x8 => Opcode::Close,
            0x9 => Opcode::Ping,
            0xa => Opcode::Pong,
            _ => return None,
        })
    }

    /// Whether frames of this kind may stand between the fragments of a message.
    pub(super) fn is_control(self) -> bool {
        matches!(self, Opcode::Close | Opcode::Ping | Opcode::Pong)
    }
}

impl From<Kind> for Opcode {
    fn from(kind: Kind) -> Opcode {
        match kind {
            Kind::Text => Opcode::Text,
            Kind::Binary => Opcode::Binary,
        }
    }
}

/// Appends one frame. A client gives a mask, a server none (RFC 6455 §5.1).
///
/// `last` says that no further fragment follows; control frames are always whole. The payload of a
/// control frame must not exceed [`CONTROL_BYTES_MAX`]: what does is cut off.
#[inline]
pub fn encode(out: &mut Vec<u8>, opcode: Opcode, last: bool, key: Option<[u8; 4]>, payload: &[u8]) {
    let payload = if opcode.is_control() {
        &payload[..payload.len().min(CONTROL_BYTES_MAX)]
    } else {
        payload
    };
    let last = last || opcode.is_control();
    let masked = u8::from(key.is_some()) << 7;
    out.push(u8::from(last) << 7 | opcode.number());
    match payload.len() {
        length @ 0..=125 => out.push(masked | length as u8),
        length @ 126..=0xffff => {
            out.push(masked | 126);
            out.extend_from_slice(&(length as u16).to_be_bytes());
        }
        length => {
            out.push(masked | 127);
            out.extend_from_slice(&(length as u64).to_be_bytes());
        }
    }
    match key {
        None => out.extend_from_slice(payload),
        Some(key) => {
            out.extend_from_slice(&key);
            let start = out.len();
            out.extend_from_slice(payload);
            mask(&mut out[start..], key);
        }
    }
}

/// Appends a close frame with a code and a reason, which is cut to the 123 bytes that fit, between
/// characters.
pub fn encode_close(out: &mut Vec<u8>, key: Option<[u8; 4]>, code: u16, reason: &str) {
    let mut end = reason.len().min(CONTROL_BYTES_MAX - 2);
    while !reason.is_char_boundary(end) {
        end -= 1;
    }
    let mut payload = [0; CONTROL_BYTES_MAX];
    payload[..2].copy_from_slice(&code.to_be_bytes());
    payload[2..2 + end].copy_from_slice(&reason.as_bytes()[..end]);
    encode(out, Opcode::Close, true, key, &payload[..2 + end]);
}

/// Masks, or unmasks, which is the same (RFC 6455 §5.3).
#[inline]
pub fn mask(bytes: &mut [u8], key: [u8; 4]) {
    let [a, b, c, d] = key;
    let word = u64::from_ne_bytes([a, b, c, d, a, b, c, d]);
    let (words, rest) = bytes.as_chunks_mut::<8>();
    for bytes in words {
        *bytes = (u64::from_ne_bytes(*bytes) ^ word).to_ne_bytes();
    }
    for (byte, key) in rest.iter_mut().zip([a, b, c, d, a, b, c]) {
        *byte ^= key;
    }
}

/// What a frame header says.
#[derive(Clone, Copy, Debug)]
pub(super) struct Header {
    pub(super) opcode: Opcode,
    pub(super) last: bool,
    pub(super) payload_bytes: u64,
    /// Zeros where there is none, which changes nothing.
    pub(super) key: [u8; 4],
    /// Bytes of the header itself.
    pub(super) bytes: usize,
}

/// What the header has to fit.
#[derive(Clone, Copy, Debug)]
pub(super) struct Situation {
    pub(super) role: Role,
    /// A message has begun and its last fragment has not.
    pub(super) in_message: bool,
    /// Bytes of the longest data frame.
    pub(super) frame_bytes: u64,
    /// Bytes that the message may still have.
    pub(super) message_bytes_left: u64,
}

impl Header {
    /// Reads the header that `bytes` begin with, if it is whole. A fault shows with the first byte
    /// that makes it certain.
    #[inline]
    pub(super) fn read(bytes: &[u8], situation: &Situation) -> Result<Option<Header>, Fault> {
        let Some(&first) = bytes.first() else {
            return Ok(None);
        };
        let last = first & 0x80 != 0;
        if first & 0x70 != 0 {
            return Err(&faults::RESERVED_BITS);
        }
        let opcode = Opcode::of(first & 0x0f).ok_or(&faults::OPCODE)?;
        match (opcode, situation.in_message) {
            (Opcode::Continuation, false) => return Err(&faults::NOTHING_TO_CONTINUE),
            (Opcode::Text | Opcode::Binary, true) => return Err(&faults::NOT_CONTINUED),
            (Opcode::Close | Opcode::Ping | Opcode::Pong, _) if !last => {
                return Err(&faults::CONTROL_FRAGMENT);
            }
            _ => {}
        }
        let Some(&second) = bytes.get(1) else {
            return Ok(None);
        };
        let masked = second & 0x80 != 0;
        match (situation.role, masked) {
            (Role::Client, true) => return Err(&faults::MASKED),
            (Role::Server, false) => return Err(&faults::NOT_MASKED),
            _ => {}
        }
        let short = second & 0x7f;
        if opcode.is_control() && short as usize > CONTROL_BYTES_MAX {
            return Err(&faults::CONTROL_LENGTH);
        }
        let Some((payload_bytes, at)) = length(bytes, short)? else {
            return Ok(None);
        };
        if !opcode.is_control() {
            if payload_bytes > situation.frame_bytes {
                return Err(&faults::FRAME_TOO_BIG);
            }
            if payload_bytes > situation.message_bytes_left {
                return Err(&faults::MESSAGE_TOO_BIG);
            }
        }
        let (key, at) = match bytes[at..].first_chunk() {
            _ if !masked => ([0; 4], at),
            Some(key) => (*key, at + 4),
            None => return Ok(None),
        };
        Ok(Some(Header {
            opcode,
            last,
            payload_bytes,
            key,
            bytes: at,
        }))
    }
}

/// The payload length and where it ends, if it is there.
#[inline]
fn length(bytes: &[u8], short: u8) -> Result<Option<(u64, usize)>, Fault> {
    match short {
        126 => {
            let Some(long) = bytes[2..].first_chunk() else {
                return Ok(None);
            };
            match u64::from(u16::from_be_bytes(*long)) {
                0..=125 => Err(&faults::LENGTH_NOT_MINIMAL),
                long => Ok(Some((long, 4))),
            }
        }
        127 => {
            let Some(long) = bytes[2..].first_chunk() else {
                return Ok(None);
            };
            match u64::from_be_bytes(*long) {
                0..=0xffff => Err(&faults::LENGTH_NOT_MINIMAL),
                long if long >> 63 != 0 => Err(&faults::LENGTH_SIGN),
                long => Ok(Some((long, 10))),
            }
        }
        short => Ok(Some((u64::from(short), 2))),
    }
}
