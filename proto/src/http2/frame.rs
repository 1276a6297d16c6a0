//! The outside of frames (RFC 9113 §4, §6): reading headers, writing frames.

use super::ErrorCode;
use super::faults::{self, Fault};

/// The 24 bytes a client starts a connection with (RFC 9113 §3.4).
pub const PREFACE: &[u8; 24] = b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n";

/// Bytes of the header of a frame.
pub(super) const HEADER_BYTES: usize = 9;

/// The largest payload that is sent: what every peer must take (RFC 9113 §6.5.2). Larger frames
/// would save a thousandth and delay what waits behind them.
pub(super) const PAYLOAD_BYTES_MAX: usize = 16_384;

/// The types of frames.
pub(super) mod kind {
    pub(in crate::http2) const DATA: u8 = 0;
    pub(in crate::http2) const HEADERS: u8 = 1;
    pub(in crate::http2) const PRIORITY: u8 = 2;
    pub(in crate::http2) const RST_STREAM: u8 = 3;
    pub(in crate::http2) const SETTINGS: u8 = 4;
    pub(in crate::http2) const PUSH_PROMISE: u8 = 5;
    pub(in crate::http2) const PING: u8 = 6;
    pub(in crate::http2) const GOAWAY: u8 = 7;
    pub(in crate::http2) const WINDOW_UPDATE: u8 = 8;
    pub(in crate::http2) const CONTINUATION: u8 = 9;
}

/// The flags of frames.
pub(super) mod flag {
    pub(in crate::http2) const END_STREAM: u8 = 0x1;
    pub(in crate::http2) const ACK: u8 = 0x1;
    pub(in crate::http2) const END_HEADERS: u8 = 0x4;
    pub(in crate::http2) const PADDED: u8 = 0x8;
    pub(in crate::http2) const PRIORITY: u8 = 0x20;
}

/// What the first nine bytes of a frame say.
#[derive(Clone, Copy, Debug)]
pub(super) struct Header {
    pub(super) payload_bytes: u32,
    pub(super) kind: u8,
    pub(super) flags: u8,
    pub(super) stream: u32,
}

impl Header {
    /// Whether this is how an answer in HTTP/1 begins: `HTTP/`.
    pub(super) fn is_http1(self) -> bool {
        self.payload_bytes == u32::from_be_bytes(*b"\0HTT")
            && self.kind == b'P'
            && self.flags == b'/'
    }

    #[inline]
    pub(super) fn read(bytes: &[u8; HEADER_BYTES]) -> Header {
        let [a, b, c, kind, flags, s0, s1, s2, s3] = *bytes;
        Header {
            payload_bytes: u32::from_be_bytes([0, a, b, c]),
            kind,
            flags,
            // The highest bit is reserved and ignored (RFC 9113 §4.1).
            stream: u31([s0, s1, s2, s3]),
        }
    }

    #[inline]
    pub(super) fn has(self, flag: u8) -> bool {
        self.flags & flag != 0
    }
}

/// A number of 31 bits behind a reserved one.
#[inline]
pub(super) fn u31(bytes: [u8; 4]) -> u32 {
    u32::from_be_bytes(bytes) & (u32::MAX >> 1)
}

/// The fragment of a field block in the payload of HEADERS, and whether the stream is said to
/// depend on itself, which is an error still, though priorities mean nothing (RFC 7540 §5.3.1).
pub(super) fn fragment(header: Header, payload: &[u8]) -> Result<(&[u8], bool), Fault> {
    let mut rest = payload;
    let mut padding = 0;
    if header.has(flag::PADDED) {
        let (&length, behind) = rest.split_first().ok_or(faults::HEADERS_SIZE)?;
        (padding, rest) = (length as usize, behind);
    }
    let mut depends_on_itself = false;
    if header.has(flag::PRIORITY) {
        let (&[a, b, c, d, _], behind) = rest.split_first_chunk().ok_or(faults::HEADERS_SIZE)?;
        depends_on_itself = u31([a, b, c, d]) == header.stream;
        rest = behind;
    }
    let fragment_bytes = rest.len().checked_sub(padding).ok_or(faults::PADDING)?;
    Ok((&rest[..fragment_bytes], depends_on_itself))
}

#[inline]
pub(super) fn header(out: &mut Vec<u8>, payload_bytes: usize, kind: u8, flags: u8, stream: u32) {
    let [_, a, b, c] = (payload_bytes as u32).to_be_bytes();
    let [s0, s1, s2, s3] = stream.to_be_bytes();
    out.extend_from_slice(&[a, b, c, kind, flags, s0, s1, s2, s3]);
}

/// One DATA frame; the caller keeps to [`PAYLOAD_BYTES_MAX`] and the windows.
#[inline]
pub(super) fn data(out: &mut Vec<u8>, stream: u32, bytes: &[u8], end: bool) {
    let flags = if end { flag::END_STREAM } else { 0 };
    header(out, bytes.len(), kind::DATA, flags, stream);
    out.extend_from_slice(bytes);
}

/// HEADERS with a whole block, and CONTINUATION as far as needed.
#[inline]
pub(super) fn block(out: &mut Vec<u8>, stream: u32, end: bool, block: &[u8]) {
    if block.len() <= PAYLOAD_BYTES_MAX {
        let flags = flag::END_HEADERS | if end { flag::END_STREAM } else { 0 };
        header(out, block.len(), kind::HEADERS, flags, stream);
        out.extend_from_slice(block);
    } else {
        long_block(out, stream, end, block);
    }
}

#[cold]
fn long_block(out: &mut Vec<u8>, stream: u32, end: bool, block: &[u8]) {
    let mut pieces = block.chunks(PAYLOAD_BYTES_MAX).peekable();
    let mut kind = kind::HEADERS;
    let mut flags = if end { flag::END_STREAM } else { 0 };
    while let Some(piece) = pieces.next() {
        if pieces.peek().is_none() {
            flags |= flag::END_HEADERS;
        }
        header(out, piece.len(), kind, flags, stream);
        out.extend_from_slice(piece);
        (kind, flags) = (kind::CONTINUATION, 0);
    }
}

pub(super) fn window_update(out: &mut Vec<u8>, stream: u32, increment: u32) {
    header(out, 4, kind::WINDOW_UPDATE, 0, stream);
    out.extend_from_slice(&increment.to_be_bytes());
}

pub(super) fn reset(out: &mut Vec<u8>, stream: u32, code: ErrorCode) {
    header(out, 4, kind::RST_STREAM, 0, stream);
    out.extend_from_slice(&code.0.to_be_bytes());
}

pub(super) fn go_away(out: &mut Vec<u8>, last: u32, code: ErrorCode) {
    header(out, 8, kind::GOAWAY, 0, 0);
    out.extend_from_slice(&last.to_be_bytes());
    out.extend_from_slice(&code.0.to_be_bytes());
}

pub(super) fn ping(out: &mut Vec<u8>, flags: u8, payload: [u8; 8]) {
    header(out, 8, kind::PING, flags, 0);
    out.extend_from_slice(&payload);
}

pub(super) fn settings_ack(out: &mut Vec<u8>) {
    header(out, 0, kind::SETTINGS, flag::ACK, 0);
}
