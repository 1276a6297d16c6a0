//! In which form an answer leaves over HTTP/1.

use proto::http1::Version;
use proto::http1::response;

use crate::pattern::Stream;
use crate::response::Field;

/// How a request wants to be answered.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Form {
    /// The version of the request.
    pub version: Version,
    /// The method is HEAD: the same head as for GET, and nothing after it (RFC 9110 §9.3.2).
    pub head_only: bool,
    /// The connection goes on afterwards.
    pub keep_alive: bool,
}

/// What of an answer is no bytes yet, once it was encoded.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Rest {
    /// Nothing.
    Nothing,
    /// So much of the pattern.
    Pattern(Stream),
    /// Whatever the service sends.
    Pieces(Framing),
}

/// How the end of a body in pieces is told over HTTP/1.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Framing {
    /// Each piece is a chunk (RFC 9112 §7.1).
    Chunks,
    /// So many bytes are left of those that were announced.
    Announced(u64),
    /// By the end of the connection.
    Close,
}

impl Framing {
    /// Appends a piece.
    pub fn write(&mut self, bytes: &[u8], out: &mut Vec<u8>) {
        match self {
            Framing::Chunks => response::capital_chunk(out, bytes),
            Framing::Announced(left) => {
                let taken = bytes
                    .len()
                    .min(usize::try_from(*left).unwrap_or(usize::MAX));
                *left -= taken as u64;
                out.extend_from_slice(&bytes[..taken]);
            }
            Framing::Close => out.extend_from_slice(bytes),
        }
    }

    /// Appends the end. False if the body is not complete, so that only the end of the connection
    /// can tell.
    pub fn finish(self, trailers: &[Field], out: &mut Vec<u8>) -> bool {
        if self == Framing::Chunks {
            let fields = trailers.iter();
            let fields = fields.map(|(name, value)| (name.as_bytes(), value.as_bytes()));
            if trailers.is_empty() || response::trailers(out, fields).is_err() {
                response::last_chunk(out);
            }
        }
        matches!(
            self,
            Framing::Chunks | Framing::Announced(0) | Framing::Close
        )
    }
}

/// RFC 9110 §15.3.5 and §15.4.5: these never have a body.
pub fn bodiless(status: u16) -> bool {
    matches!(status, 204 | 304)
}
