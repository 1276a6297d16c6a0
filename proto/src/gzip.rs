//! Gzip (RFC 1952) of short texts, over and over: messages of gRPC, bodies of HTTP.

use std::io::Read;

use flate2::bufread::GzDecoder;
use flate2::{Compress, Compression, Crc, FlushCompress, Status};

/// What every member begins with (RFC 1952 §2.3): deflate, no flags, no time, nothing said of the
/// level, and an unknown system, so that the same text always has the same bytes.
const HEADER: [u8; 10] = [0x1f, 0x8b, 8, 0, 0, 0, 0, 0, 0, 255];

/// Deflate makes a text that can't be compressed longer by a few bytes for each 64 KiB.
const GROWTH_BYTES_MIN: usize = 64;

/// Compresses one text after the other, at the level that gzip(1), zlib and gRPC's libraries have
/// by default (6). What it works with is some 300 KB, allocated once.
#[derive(Debug)]
pub struct Gzip(Compress);

impl Default for Gzip {
    fn default() -> Gzip {
        Gzip(Compress::new(Compression::default(), false))
    }
}

impl Gzip {
    /// Appends a text as one member.
    pub fn pack(&mut self, text: &[u8], out: &mut Vec<u8>) {
        out.extend_from_slice(&HEADER);
        self.0.reset();
        let mut rest = text;
        loop {
            out.reserve(rest.len() / 2 + GROWTH_BYTES_MIN);
            let before = self.0.total_in();
            let status = self.0.compress_vec(rest, out, FlushCompress::Finish);
            rest = &rest[(self.0.total_in() - before) as usize..];
            match status {
                Ok(Status::StreamEnd) => break,
                Ok(Status::Ok | Status::BufError) => {}
                // flate2 has it for a machine that is used in two ways at once.
                Err(never) => {
                    debug_assert!(false, "{never}");
                    break;
                }
            }
        }
        let mut sum = Crc::new();
        sum.update(text);
        out.extend_from_slice(&sum.sum().to_le_bytes());
        out.extend_from_slice(&(text.len() as u32).to_le_bytes());
    }
}

/// Why something isn't unpacked.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Unpacked {
    /// It isn't gzip, or it ends too soon, or its checksum is wrong.
    Broken,
    /// It becomes longer than is taken.
    TooLong,
}

/// Appends what gzip becomes, all of its members (RFC 1952 §2.2), to an empty buffer: `most` bytes
/// or fewer, whatever it says of itself.
///
/// # Errors
/// It can't be unpacked; then the buffer has the beginning of what it becomes.
pub fn unpack(mut packed: &[u8], most: usize, to: &mut Vec<u8>) -> Result<(), Unpacked> {
    loop {
        let room = most.saturating_add(1).saturating_sub(to.len());
        let mut reader = GzDecoder::new(packed).take(room as u64);
        reader.read_to_end(to).map_err(|_| Unpacked::Broken)?;
        if to.len() > most {
            return Err(Unpacked::TooLong);
        }
        match after_member(reader.into_inner().into_inner()) {
            None => return Ok(()),
            Some(next) => packed = next,
        }
    }
}

/// What follows a member: the next one, or nothing but zeros that pad it, as gzip(1) has it.
pub fn after_member(rest: &[u8]) -> Option<&[u8]> {
    rest.iter().any(|byte| *byte != 0).then_some(rest)
}
