//! The dynamic table (RFC 7541 §2.3.2, §4).
//!
//! All bytes lie in one vector, oldest entry first, so an entry is one piece of memory that can be
//! lent. Evicting moves the start; what lies before it goes when it is no less than what lives.
//! Behind the newest entry there is room for a *draft*, the field that is being read: its bytes
//! become an entry where they are, and may be copied out of an entry that makes room for it.

use std::collections::VecDeque;
use std::ops::Range;

use super::FIELD_OVERHEAD_BYTES;

/// Memory for drafts that is kept between blocks, in bytes.
const DRAFT_BYTES_KEPT_MAX: usize = 4096;

/// A dynamic table. Without entries it holds no memory.
#[derive(Debug, Default)]
pub(super) struct Table {
    bytes: Vec<u8>,
    /// Oldest first.
    entries: VecDeque<Entry>,
    /// How many bytes were dropped at the front of `bytes`, ever.
    dropped_bytes: usize,
    /// Of all entries, by the measure of RFC 7541 §4.1.
    size_bytes: usize,
    size_bytes_max: usize,
    generation: u64,
}

#[derive(Clone, Copy, Debug)]
struct Entry {
    /// Counted from the first byte ever, so that dropping bytes does not change it.
    at: usize,
    name_bytes: u32,
    value_bytes: u32,
}

impl Table {
    pub(super) fn new(size_bytes_max: u32) -> Table {
        Table {
            size_bytes_max: size_bytes_max as usize,
            ..Table::default()
        }
    }

    #[inline]
    pub(super) fn generation(&self) -> u64 {
        self.generation
    }

    pub(super) fn size_bytes_max(&self) -> usize {
        self.size_bytes_max
    }

    pub(super) fn memory_bytes(&self) -> usize {
        self.bytes.capacity() + self.entries.capacity() * size_of::<Entry>()
    }

    /// Entries from the newest on, as their indexes count.
    pub(super) fn newest_first(&self) -> impl Iterator<Item = (&[u8], &[u8])> {
        self.entries.iter().rev().map(|entry| self.lend(entry))
    }

    /// The entry before which `newer` others were inserted.
    #[inline]
    pub(super) fn entry(&self, newer: usize) -> Option<(&[u8], &[u8])> {
        let place = self.entries.len().checked_sub(newer + 1)?;
        Some(self.lend(&self.entries[place]))
    }

    #[inline]
    fn lend(&self, entry: &Entry) -> (&[u8], &[u8]) {
        debug_assert!(
            entry.at >= self.dropped_bytes,
            "the bytes of an entry were dropped while it lives"
        );
        let start = entry.at - self.dropped_bytes;
        let end = start + entry.name_bytes as usize + entry.value_bytes as usize;
        self.bytes[start..end].split_at(entry.name_bytes as usize)
    }

    /// Says that the table has changed in a way that its entries do not show.
    pub(super) fn touch(&mut self) {
        self.generation += 1;
    }

    /// Changes the size, which evicts what does not fit (RFC 7541 §4.3).
    pub(super) fn resize(&mut self, size_bytes_max: u32) {
        self.size_bytes_max = size_bytes_max as usize;
        self.evict_above(self.size_bytes_max);
        self.give_back();
        self.entries
            .shrink_to(self.size_bytes_max / FIELD_OVERHEAD_BYTES);
        self.touch();
    }

    /// Where the draft begins, if nothing was added to it.
    #[inline]
    pub(super) fn draft_start(&self) -> usize {
        self.bytes.len()
    }

    /// Memory for so many further bytes of the draft.
    pub(super) fn reserve(&mut self, bytes: usize) -> &mut Vec<u8> {
        let needed = self.bytes.len() + bytes;
        let capacity = self.bytes.capacity();
        if needed > capacity {
            // Doubling, but never beyond what the entries and the dead before them can need.
            let doubled = (2 * capacity).min(2 * self.size_bytes_max);
            self.bytes
                .reserve_exact(needed.max(doubled) - self.bytes.len());
        }
        &mut self.bytes
    }

    /// Adds bytes to the draft; returns where they are.
    pub(super) fn draft(&mut self, bytes: &[u8]) -> Range<usize> {
        let start = self.draft_start();
        self.reserve(bytes.len()).extend_from_slice(bytes);
        start..self.draft_start()
    }

    /// Adds the name of an entry to the draft; returns where it is.
    pub(super) fn draft_name(&mut self, newer: usize) -> Option<Range<usize>> {
        let place = self.entries.len().checked_sub(newer + 1)?;
        let entry = self.entries[place];
        let start = self.draft_start();
        let from = entry.at - self.dropped_bytes;
        let name = from..from + entry.name_bytes as usize;
        self.reserve(name.len()).extend_from_within(name);
        Some(start..self.draft_start())
    }

    /// Bytes of the draft.
    #[inline]
    pub(super) fn drafted(&self, range: Range<usize>) -> &[u8] {
        &self.bytes[range]
    }

    /// Makes the draft that starts at `start` an entry, evicting others for it; one larger than the
    /// table only empties it (RFC 7541 §4.4).
    pub(super) fn insert(&mut self, start: usize, name_bytes: usize) {
        let length = self.bytes.len() - start;
        let size_bytes = length + FIELD_OVERHEAD_BYTES;
        self.touch();
        if size_bytes > self.size_bytes_max {
            self.evict_above(0);
            self.discard(start);
            return;
        }
        self.evict_above(self.size_bytes_max - size_bytes);
        self.entries.push_back(Entry {
            at: self.dropped_bytes + start,
            name_bytes: name_bytes as u32,
            value_bytes: (length - name_bytes) as u32,
        });
        self.size_bytes += size_bytes;
        debug_assert!(
            self.size_bytes <= self.size_bytes_max,
            "the table holds {} bytes, and may hold {}",
            self.size_bytes,
            self.size_bytes_max
        );
        debug_assert!(
            self.adds_up(),
            "the size of the table is not that of its entries"
        );
        self.drop_dead();
    }

    /// Whether the size is the sum over the entries (RFC 7541 §4.1).
    fn adds_up(&self) -> bool {
        let bytes = |entry: &Entry| (entry.name_bytes + entry.value_bytes) as usize;
        let sizes = self.entries.iter();
        let sizes = sizes.map(|entry| bytes(entry) + FIELD_OVERHEAD_BYTES);
        self.size_bytes == sizes.sum::<usize>()
    }

    /// Forgets the draft that starts at `start`.
    pub(super) fn discard(&mut self, start: usize) {
        self.bytes.truncate(start);
        self.give_back();
    }

    /// Gives up memory that a smaller table or a shorter draft does not need.
    fn give_back(&mut self) {
        self.drop_dead();
        if self.bytes.capacity() > 2 * self.size_bytes_max + DRAFT_BYTES_KEPT_MAX {
            self.bytes
                .shrink_to(2 * self.size_bytes_max + DRAFT_BYTES_KEPT_MAX);
        }
    }

    fn evict_above(&mut self, size_bytes: usize) {
        while self.size_bytes > size_bytes
            && let Some(oldest) = self.entries.pop_front()
        {
            let bytes = oldest.name_bytes as usize + oldest.value_bytes as usize;
            self.size_bytes -= bytes + FIELD_OVERHEAD_BYTES;
        }
        debug_assert!(
            !self.entries.is_empty() || self.size_bytes == 0,
            "an empty table holds {} bytes",
            self.size_bytes
        );
    }

    /// Drops the bytes before the oldest entry once they are as many as those behind its start:
    /// then the move costs each byte that was ever inserted one copy at most.
    fn drop_dead(&mut self) {
        let dead = match self.entries.front() {
            Some(oldest) => oldest.at - self.dropped_bytes,
            None => self.bytes.len(),
        };
        if dead > 0 && dead >= self.bytes.len() - dead {
            self.bytes.drain(..dead);
            self.dropped_bytes += dead;
        }
    }
}
