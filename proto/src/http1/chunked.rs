//! Reading chunked bodies (RFC 9112 §7.1).
//!
//! An automaton over single bytes for the lines between the data, so nothing needs collecting and a
//! cut anywhere changes nothing. Extensions and trailers are checked and dropped: nothing here asks
//! for them, and merging trailers into fields is how they become dangerous (RFC 9110 §6.5.1).

use super::faults::{self, Fault};
use super::head::TOKEN;

/// Bytes of a chunk-size line with its extensions. More has no use but to keep a reader busy.
const LINE_BYTES_MAX: u32 = 256;

/// The reader of one chunked body.
#[derive(Clone, Copy, Debug)]
pub(super) struct Chunked {
    phase: Phase,
    /// Bytes of the current size line, then of all trailers.
    line_bytes: u32,
    /// The size being read, then the bytes of the chunk still to come.
    left: u64,
    /// Bytes that the chunks to come may have.
    budget: u64,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Phase {
    SizeStart,
    Size,
    SizeSpace,
    Extension,
    SizeLf,
    Data,
    DataCr,
    DataLf,
    TrailerStart,
    TrailerName,
    TrailerValue,
    TrailerLf,
    EndLf,
    Ended,
}

/// What [`Chunked::next`] found.
#[derive(Debug)]
pub(super) enum Piece<'i> {
    Data(&'i [u8]),
    End,
    More,
}

impl Chunked {
    pub(super) fn new(body_bytes_max: u64) -> Chunked {
        Chunked {
            phase: Phase::SizeStart,
            line_bytes: 0,
            left: 0,
            budget: body_bytes_max,
        }
    }

    pub(super) fn next<'i>(
        &mut self,
        input: &mut &'i [u8],
        trailer_bytes_max: u32,
    ) -> Result<Piece<'i>, Fault> {
        while self.phase != Phase::Ended {
            if self.phase == Phase::Data {
                let taken = self.left.min(input.len() as u64) as usize;
                if taken == 0 {
                    return Ok(Piece::More);
                }
                self.left -= taken as u64;
                debug_assert!(
                    self.phase == Phase::Data && taken <= input.len(),
                    "a chunk's bytes are lent outside of the chunk"
                );
                if self.left == 0 {
                    self.phase = Phase::DataCr;
                }
                let (data, rest) = input.split_at(taken);
                *input = rest;
                return Ok(Piece::Data(data));
            }
            let Some((&byte, rest)) = input.split_first() else {
                return Ok(Piece::More);
            };
            *input = rest;
            self.phase = match self.phase {
                Phase::SizeStart | Phase::Size | Phase::SizeSpace | Phase::Extension => {
                    self.size_line(byte)?
                }
                Phase::SizeLf => self.size_end(byte)?,
                Phase::DataCr if byte == b'\r' => Phase::DataLf,
                Phase::DataLf if byte == b'\n' => Phase::SizeStart,
                Phase::DataCr | Phase::DataLf => return Err(&faults::CHUNK_END),
                _ => self.trailer(byte, trailer_bytes_max)?,
            };
        }
        Ok(Piece::End)
    }

    fn size_line(&mut self, byte: u8) -> Result<Phase, Fault> {
        if self.phase == Phase::SizeStart {
            (self.line_bytes, self.left) = (0, 0);
        }
        self.line_bytes += 1;
        if self.line_bytes > LINE_BYTES_MAX {
            return Err(&faults::CHUNK_LINE_TOO_LONG);
        }
        match (self.phase, byte) {
            (Phase::SizeStart | Phase::Size, b'0'..=b'9' | b'a'..=b'f' | b'A'..=b'F') => {
                if self.left >> 60 != 0 {
                    return Err(&faults::CHUNK_SIZE_RANGE);
                }
                let letter = u64::from(byte.is_ascii_alphabetic());
                self.left = self.left << 4 | (u64::from(byte & 15) + 9 * letter);
                Ok(Phase::Size)
            }
            (Phase::Size | Phase::Extension, b'\r') => Ok(Phase::SizeLf),
            // White space may stand before the semicolon of an extension, and only there.
            (Phase::Size | Phase::SizeSpace, b' ' | b'\t') => Ok(Phase::SizeSpace),
            (Phase::Size | Phase::SizeSpace, b';') => Ok(Phase::Extension),
            (Phase::Size | Phase::Extension, b'\n') => Err(&faults::BARE_LF),
            (Phase::Extension, _) if is_control(byte) => Err(&faults::CHUNK_EXTENSION),
            (Phase::Extension, _) => Ok(Phase::Extension),
            _ => Err(&faults::CHUNK_SIZE),
        }
    }

    fn size_end(&mut self, byte: u8) -> Result<Phase, Fault> {
        if byte != b'\n' {
            return Err(&faults::BARE_CR);
        }
        if self.left == 0 {
            self.line_bytes = 0;
            return Ok(Phase::TrailerStart);
        }
        self.budget = self
            .budget
            .checked_sub(self.left)
            .ok_or(&faults::BODY_TOO_LONG)?;
        Ok(Phase::Data)
    }

    fn trailer(&mut self, byte: u8, trailer_bytes_max: u32) -> Result<Phase, Fault> {
        self.line_bytes = self.line_bytes.saturating_add(1);
        if self.line_bytes > trailer_bytes_max {
            return Err(&faults::TRAILERS_TOO_LONG);
        }
        match (self.phase, byte) {
            (Phase::TrailerStart, b'\r') => Ok(Phase::EndLf),
            (Phase::TrailerStart, b' ' | b'\t') => Err(&faults::FOLDED),
            (Phase::TrailerStart | Phase::TrailerValue, b'\n') => Err(&faults::BARE_LF),
            (Phase::TrailerName, b':') => Ok(Phase::TrailerValue),
            (Phase::TrailerName, b' ' | b'\t') => Err(&faults::SPACE_BEFORE_COLON),
            (Phase::TrailerName, b'\r' | b'\n') => Err(&faults::NO_COLON),
            (Phase::TrailerStart | Phase::TrailerName, _) if TOKEN[byte as usize] => {
                Ok(Phase::TrailerName)
            }
            (Phase::TrailerStart | Phase::TrailerName, _) => Err(&faults::FIELD_NAME),
            (Phase::TrailerValue, b'\r') => Ok(Phase::TrailerLf),
            (Phase::TrailerValue, _) if is_control(byte) => Err(&faults::CONTROL),
            (Phase::TrailerValue, _) => Ok(Phase::TrailerValue),
            (Phase::TrailerLf, b'\n') => Ok(Phase::TrailerStart),
            (Phase::EndLf, b'\n') => Ok(Phase::Ended),
            _ => Err(&faults::BARE_CR),
        }
    }
}

fn is_control(byte: u8) -> bool {
    (byte < b' ' && byte != b'\t') || byte == 0x7f
}
