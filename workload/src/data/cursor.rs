//! A place in a file: reads on block by block, and holds the row it is at in one piece.

use std::ops::Range;

use super::split::{Endless, Splitter};
use super::store::{Fault, Source};

/// The bytes that are read at once.
pub const BLOCK_BYTES: usize = 64 << 10;

/// What stands behind some rows.
#[derive(Debug)]
pub(super) enum Found {
    /// A row, by its offsets in the file, with its line's end.
    Row(Range<u64>),
    /// The end of the file, which came so many rows too early.
    End { missing: u64 },
}

/// A place in a file.
#[derive(Debug)]
pub(super) struct Cursor {
    splitter: Splitter,
    /// Bytes of the file from `start` on, of which `filled` are there.
    bytes: Vec<u8>,
    start: u64,
    filled: usize,
    /// How many to read at once, and how many the next time.
    block: usize,
    next: usize,
    /// How many were read since the file was last looked at.
    unchecked: usize,
}

impl Cursor {
    /// One at the beginning of a row.
    pub(super) fn new(quotes: bool, offset: u64, block: usize) -> Cursor {
        Cursor {
            splitter: Splitter::new(quotes, offset),
            bytes: Vec::new(),
            start: offset,
            filled: 0,
            block,
            next: block,
            unchecked: 0,
        }
    }

    /// The offset of the next row, or of blank lines before it.
    pub(super) fn offset(&self) -> u64 {
        self.splitter.offset()
    }

    /// Whether quotes mean anything.
    pub(super) fn quotes(&self) -> bool {
        self.splitter.quotes()
    }

    /// Goes to the beginning of a row of which it is known that it ends at or before `until`. What
    /// was read already is not read again.
    pub(super) fn seek(&mut self, offset: u64, until: u64) {
        self.splitter.seek(offset);
        if !(self.start..=self.start + self.filled as u64).contains(&offset) {
            self.start = offset;
            self.filled = 0;
        }
        let unread = until.saturating_sub(self.start + self.filled as u64);
        self.next = unread.clamp(1, self.block as u64) as usize;
    }

    /// Reads all up to an offset, as far as it isn't there yet.
    pub(super) fn read_until(&mut self, source: &Source, until: u64) -> Result<(), Fault> {
        while self.start + (self.filled as u64) < until {
            if !self.fill(source)? {
                return Ok(());
            }
        }
        Ok(())
    }

    /// Goes past `skip` rows and the one behind them, which it finds.
    pub(super) fn find(&mut self, source: &Source, skip: u64) -> Result<Found, Fault> {
        let mut left = skip + 1;
        loop {
            let from = (self.splitter.offset() - self.start) as usize;
            let unseen = &self.bytes[from..self.filled];
            let mut found = self.splitter.skip(unseen, &mut left);
            let is_at_end = found == Ok(None) && !self.fill(source)?;
            if is_at_end {
                found = self.splitter.finish(&mut left);
            }
            match found {
                Ok(Some(start)) => return Ok(Found::Row(start..self.splitter.offset())),
                Ok(None) if is_at_end => return Ok(Found::End { missing: left }),
                Ok(None) => {}
                Err(Endless::Long(offset) | Endless::Unclosed(offset)) => {
                    return Err(Fault::Endless { offset });
                }
            }
        }
    }

    /// The bytes of a row that was just found.
    pub(super) fn row(&self, row: &Range<u64>) -> &[u8] {
        let [from, to] = [row.start, row.end].map(|offset| (offset - self.start) as usize);
        &self.bytes[from..to]
    }

    /// What is there of the row that it is in.
    pub(super) fn unfinished(&self) -> &[u8] {
        &self.bytes[(self.splitter.row() - self.start) as usize..self.filled]
    }

    /// Reads on, and keeps what belongs to the row that it is in; false at the end of the file.
    fn fill(&mut self, source: &Source) -> Result<bool, Fault> {
        let end = self.start + self.filled as u64;
        let rest = source.length().saturating_sub(end);
        if rest == 0 {
            return Ok(false);
        }
        let keep_from = (self.splitter.row() - self.start) as usize;
        self.bytes.copy_within(keep_from..self.filled, 0);
        self.start += keep_from as u64;
        self.filled -= keep_from;

        let wanted = (self.next as u64).min(rest) as usize;
        if self.bytes.len() < self.filled + wanted {
            self.bytes.resize(self.filled + wanted, 0);
        }
        let into = &mut self.bytes[self.filled..self.filled + wanted];
        let count = source.read_at(into, end)?;
        self.filled += count;
        self.next = self.block;
        self.unchecked += count;
        if self.unchecked >= self.block {
            self.unchecked = 0;
            source.check()?;
        }
        Ok(true)
    }
}
