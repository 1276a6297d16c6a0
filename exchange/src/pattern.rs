//! The bytes of long bodies: byte `i` is the last decimal digit of `i`, so a client can check them.
//!
//! A driver that has [`PLAIN`] and [`chunks`] registered sends any length of them without a copy.

use proto::http1::response;

/// The pattern, as much of it as one send takes. A whole number of its periods.
#[doc(hidden)]
pub static PLAIN: [u8; PLAIN_BYTES] = plain();

const PLAIN_BYTES: usize = 240_000;

/// After so many bytes the pattern repeats.
#[doc(hidden)]
pub const PERIOD: usize = 10;

/// Bytes of the pattern in each chunk but the last; a whole number of its periods.
#[doc(hidden)]
pub const CHUNK_BYTES: usize = 1000;

/// How many chunks one send takes.
const CHUNKS: usize = 240;

const CHUNK_SIZE_LINE: &[u8] = b"3e8\r\n";

/// Bytes of a whole chunk with its size line and its line end.
const CHUNK_BYTES_ENCODED: usize = CHUNK_SIZE_LINE.len() + CHUNK_BYTES + 2;

const fn plain() -> [u8; PLAIN_BYTES] {
    let mut bytes = [0; PLAIN_BYTES];
    let mut at = 0;
    while at < PLAIN_BYTES {
        bytes[at] = b'0' + (at % PERIOD) as u8;
        at += 1;
    }
    bytes
}

/// The pattern in chunks, as many as one send takes.
#[doc(hidden)]
pub fn chunks() -> Vec<u8> {
    let mut bytes = Vec::with_capacity(CHUNKS * CHUNK_BYTES_ENCODED);
    for _ in 0..CHUNKS {
        push_chunk(&mut bytes, CHUNK_BYTES);
    }
    bytes
}

/// The rest of a body that leaves in several sends.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[doc(hidden)]
pub struct Stream {
    left: u64,
    /// Where in the pattern it goes on. Chunks always begin where the pattern does.
    phase: u8,
    chunked: bool,
}

/// What of a stream goes next.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[doc(hidden)]
pub struct Slice {
    /// Of [`chunks`] rather than [`PLAIN`].
    #[doc(hidden)]
    pub chunked: bool,
    #[doc(hidden)]
    pub start: u32,
    #[doc(hidden)]
    pub end: u32,
}

impl Stream {
    /// Appends the first bytes of a body to `out`, up to `most` of them. `None` if that was all.
    #[doc(hidden)]
    pub fn begin(chunked: bool, length: u64, most: usize, out: &mut Vec<u8>) -> Option<Stream> {
        let mut stream = Stream {
            left: length,
            phase: 0,
            chunked,
        };
        if !chunked {
            let first = length.min(most as u64) as usize;
            out.extend_from_slice(&PLAIN[..first]);
            stream.advance(first as u64);
            return (stream.left > 0).then_some(stream);
        }
        if length > most as u64 {
            return Some(stream);
        }
        while stream.left >= CHUNK_BYTES as u64 {
            push_chunk(out, CHUNK_BYTES);
            stream.advance(CHUNK_BYTES as u64);
        }
        stream.finish(out);
        None
    }

    /// The next bytes that can be sent from a template. `None` at the end, when the caller still
    /// has to [`Stream::finish`].
    #[doc(hidden)]
    pub fn following(&mut self) -> Option<Slice> {
        let chunked = self.chunked;
        let (start, end) = if chunked {
            let chunks = (self.left / CHUNK_BYTES as u64).min(CHUNKS as u64);
            self.advance(chunks * CHUNK_BYTES as u64);
            (0, chunks as u32 * CHUNK_BYTES_ENCODED as u32)
        } else {
            let start = u32::from(self.phase);
            let bytes = self.left.min(PLAIN_BYTES as u64 - u64::from(start));
            self.advance(bytes);
            (start, start + bytes as u32)
        };
        (end > start).then_some(Slice {
            chunked,
            start,
            end,
        })
    }

    /// Appends what no template holds: the last chunks of a chunked body (RFC 9112 §7.1).
    #[doc(hidden)]
    pub fn finish(&mut self, out: &mut Vec<u8>) {
        if self.chunked {
            push_chunk(out, self.left as usize);
            response::last_chunk(out);
        }
        self.left = 0;
    }

    fn advance(&mut self, bytes: u64) {
        debug_assert!(
            bytes <= self.left,
            "{bytes} bytes of a body leave, and {} are left",
            self.left
        );
        self.left -= bytes;
        self.phase = ((u64::from(self.phase) + bytes) % PERIOD as u64) as u8;
    }
}

/// One chunk of at most [`CHUNK_BYTES`]; none if it would be empty.
fn push_chunk(out: &mut Vec<u8>, bytes: usize) {
    debug_assert!(
        bytes <= CHUNK_BYTES,
        "a chunk of {bytes} bytes has another size line"
    );
    response::chunk(out, &PLAIN[..bytes]);
}

#[cfg(test)]
mod tests {
    use super::*;

    fn whole(chunked: bool, length: u64, most: usize) -> Vec<u8> {
        let chunks = chunks();
        let mut out = Vec::new();
        if let Some(mut stream) = Stream::begin(chunked, length, most, &mut out) {
            while let Some(slice) = stream.following() {
                let template = if slice.chunked {
                    &chunks[..]
                } else {
                    &PLAIN[..]
                };
                out.extend_from_slice(&template[slice.start as usize..slice.end as usize]);
            }
            stream.finish(&mut out);
        }
        out
    }

    fn decoded(mut bytes: &[u8]) -> Vec<u8> {
        let mut body = Vec::new();
        loop {
            let end = bytes.iter().position(|&b| b == b'\r').expect("a size line");
            let size = std::str::from_utf8(&bytes[..end]).expect("hexadecimal");
            let size = usize::from_str_radix(size, 16).expect("hexadecimal");
            bytes = &bytes[end + 2..];
            body.extend_from_slice(&bytes[..size]);
            assert_eq!(&bytes[size..size + 2], b"\r\n");
            bytes = &bytes[size + 2..];
            if size == 0 {
                assert!(bytes.is_empty());
                return body;
            }
        }
    }

    #[test]
    fn the_pattern_goes_on_over_every_seam() {
        for length in [
            0, 1, 9, 10, 999, 1000, 1001, 16_384, 239_999, 240_001, 1_000_003,
        ] {
            for most in [0, 7, 1000, 16_384] {
                let expected: Vec<u8> = (0..length).map(|i| b'0' + (i % 10) as u8).collect();
                assert!(
                    whole(false, length, most) == expected,
                    "{length} bytes, {most} at once"
                );
                let body = decoded(&whole(true, length, most));
                assert!(body == expected, "{length} bytes in chunks, {most} at once");
            }
        }
    }

    #[test]
    fn an_encoded_chunk_is_as_long_as_the_slices_take_it() {
        assert_eq!(chunks().len(), CHUNKS * CHUNK_BYTES_ENCODED);
        assert!(chunks().starts_with(CHUNK_SIZE_LINE));
    }
}
