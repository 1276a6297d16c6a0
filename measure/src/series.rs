//! The run over time: one row a second, in constant memory.
//!
//! A row is what the counters gained while it was open, so that nothing is counted twice on the hot
//! path, and the times of that row in a histogram of two digits. Which counters these are is the
//! owner's affair ([`Gains`]). A closed row keeps its histogram packed, because rows have to be
//! merged: by worker, and with their neighbours when there are too many of them, and percentiles
//! cannot be averaged. At 3600 rows, or at 4 MiB of packed histograms, neighbours merge and every
//! row is twice as long from then on.

use crate::due::Due;
pub use crate::due::ROWS_MAX;
use crate::histogram::{Layout, rank};
use crate::time::Time;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

const PACKED_BYTES_MAX: usize = 4 << 20;
const SECOND_NS: u64 = 1_000_000_000;

/// Two digits: a value is known to better than 0.8 %.
type Coarse = Layout<8>;
/// 2^38 ns are about 275 seconds; a longer response counts as this in its row.
const COARSE_LONGEST_NS: u64 = (1 << 38) - 1;
const COARSE_CELLS: usize = Coarse::index(COARSE_LONGEST_NS) + 1;

/// One row of the series, as it stands in the record.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Row {
    /// Seconds from the start of the measured window to the start of this row.
    pub at_s: f64,
    /// The length of this row in seconds.
    pub seconds: f64,
    /// Exchanges that were completed in this row; those of the drain are in no row.
    pub completed: u64,
    /// Exchanges that failed in this row; likewise.
    pub failed: u64,
    /// Complete answers that arrived in this row, with any status and no matter when their exchange
    /// was due; null in older records.
    #[serde(default)]
    pub answered: Option<u64>,
    /// Exchanges that fell due in this row, no matter when they were sent; null in a closed loop.
    pub offered: Option<u64>,
    /// Of the completed exchanges: those that were within the deadline of the goodput, counted from
    /// when they were due; left out where there is none.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub good: Option<u64>,
    /// Events of streams that came in this row; left out where events aren't looked for.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub events: Option<u64>,
    /// Bytes received in this row.
    pub bytes_received: u64,
    /// Median response time in microseconds, to two digits; null if nothing was answered.
    pub response_p50_us: Option<f64>,
    /// 99th percentile of the response time in microseconds, to two digits; null likewise.
    pub response_p99_us: Option<f64>,
    /// Longest response time in microseconds; null likewise.
    pub response_max_us: Option<f64>,
}

/// What is counted over time: the sums since the start, or what a row gained.
pub trait Gains: Copy + Default {
    /// What was gained since `earlier`.
    fn since(&self, earlier: &Self) -> Self;
    /// Adds what another gained.
    fn add(&mut self, other: &Self);
}

/// The exchanges of a run over time.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Counts {
    pub(crate) completed: u64,
    pub(crate) failed: u64,
    pub(crate) answered: u64,
    pub(crate) good: u64,
    pub(crate) events: u64,
    pub(crate) bytes_received: u64,
}

impl Gains for Counts {
    fn since(&self, earlier: &Counts) -> Counts {
        debug_assert!(
            self.completed >= earlier.completed
                && self.failed >= earlier.failed
                && self.answered >= earlier.answered
                && self.good >= earlier.good
                && self.events >= earlier.events
                && self.bytes_received >= earlier.bytes_received,
            "what was counted only grows: {earlier:?}, then {self:?}"
        );
        Counts {
            completed: self.completed.saturating_sub(earlier.completed),
            failed: self.failed.saturating_sub(earlier.failed),
            answered: self.answered.saturating_sub(earlier.answered),
            good: self.good.saturating_sub(earlier.good),
            events: self.events.saturating_sub(earlier.events),
            bytes_received: self.bytes_received.saturating_sub(earlier.bytes_received),
        }
    }

    fn add(&mut self, other: &Counts) {
        merge_fields!(Counts, self, other,
            merge [], add [completed, failed, answered, good, events, bytes_received], apart []);
    }
}

/// A row of any series: what was counted in it, and the times of it.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Stretch<C> {
    /// Seconds from the start of the series to the start of this row.
    pub at_s: f64,
    /// Its length in seconds.
    pub seconds: f64,
    /// What was gained in it.
    pub counts: C,
    /// Median time in microseconds, to two digits; none if there are no times.
    pub p50_us: Option<f64>,
    /// 99th percentile in microseconds, likewise.
    pub p99_us: Option<f64>,
    /// Longest time in microseconds, likewise.
    pub max_us: Option<f64>,
}

/// The rows of one worker, or of a run after merging.
#[derive(Clone, Debug)]
pub struct Series<C = Counts> {
    /// Every row but the last covers this many seconds; a power of two.
    width_s: u64,
    closed: Vec<Closed<C>>,
    packed_bytes: usize,
    open: Open,
    /// Where the open row begins and ends; never before the start.
    open_from: Time,
    open_until: Time,
    /// The counters when the open row began.
    before: C,
}

/// A row that is over.
#[derive(Clone, Debug)]
struct Closed<C> {
    length_ns: u64,
    counts: C,
    max_ns: u64,
    cells: Box<[u8]>,
}

impl<C: Gains> Default for Series<C> {
    fn default() -> Series<C> {
        Series::new()
    }
}

impl Series {
    /// The rows that are closed, in order, with what was `due` in each; none in a closed loop.
    pub fn rows(&self, due: Option<&Due>) -> Vec<Row> {
        let offered = due.map(|due| due.counts(self.width_s, self.closed.len()));
        let stretches = self.stretches().into_iter().enumerate();
        stretches
            .map(|(place, stretch)| {
                Row::of(stretch, offered.as_ref().map(|offered| offered[place]))
            })
            .collect()
    }
}

impl<C: Gains> Series<C> {
    /// A series that has not started.
    pub fn new() -> Series<C> {
        Series {
            width_s: 1,
            closed: Vec::with_capacity(ROWS_MAX),
            packed_bytes: 0,
            open: Open::new(),
            open_from: Time::NEVER,
            open_until: Time::NEVER,
            before: C::default(),
        }
    }

    /// What is in the rows that are closed, in order.
    pub fn stretches(&self) -> Vec<Stretch<C>> {
        let mut open = Open::new();
        let places = 0..self.closed.len();
        places.map(|place| self.stretch(place, &mut open)).collect()
    }

    /// Adds the rows of `other`, second by second from the start of the window. Both are finished.
    pub fn merge(&mut self, other: &Series<C>) {
        let mut other = other.clone();
        let mut scratch = Open::new();
        while self.width_s < other.width_s {
            self.halve();
        }
        while other.width_s < self.width_s {
            other.halve();
        }
        assert_eq!(
            self.width_s, other.width_s,
            "rows are joined that are not equally long"
        );
        for (place, row) in other.closed.into_iter().enumerate() {
            match self.closed.get_mut(place) {
                Some(mine) => {
                    mine.length_ns = mine.length_ns.max(row.length_ns);
                    mine.join(&row, &mut scratch);
                }
                None => self.closed.push(row),
            }
        }
        while self.closed.len() > ROWS_MAX {
            self.halve();
        }
        self.packed_bytes = self.closed.iter().map(|row| row.cells.len()).sum();
    }

    pub(crate) fn start(&mut self, now: Time, counts: C) {
        self.closed.clear();
        self.packed_bytes = 0;
        self.width_s = 1;
        self.open.clear();
        self.open_from = now;
        self.open_until = now.plus(SECOND_NS);
        self.before = counts;
    }

    #[inline]
    pub(crate) fn record(&mut self, nanoseconds: u64) {
        self.open.record(nanoseconds);
    }

    /// When the open row is over; [`Time::NEVER`] while none is open.
    pub(crate) fn due(&self) -> Time {
        self.open_until
    }

    #[inline]
    pub(crate) fn is_due(&self, now: Time) -> bool {
        now >= self.open_until
    }

    #[cold]
    pub(crate) fn close_due(&mut self, now: Time, counts: C) {
        while self.open_until <= now && self.open_until != Time::NEVER {
            self.close_at(self.open_until, counts);
            if self.is_full() {
                self.halve();
            }
            self.open_until = self.open_from.plus(self.width_s * SECOND_NS);
        }
    }

    pub(crate) fn finish(&mut self, now: Time, counts: C) {
        if self.open_until == Time::NEVER {
            return;
        }
        // A window that somebody ended before it began has no length.
        let now = now.max(self.open_from);
        self.close_due(now, counts);
        let ends_with_row = now <= self.open_from;
        self.close_at(now, counts);
        self.open_until = Time::NEVER;
        // What was counted after the end of the last whole row belongs to it, since a row without
        // length would have no rate.
        if ends_with_row
            && self.closed.len() > 1
            && let Some(rest) = self.closed.pop()
            && let Some(last) = self.closed.last_mut()
        {
            last.join(&rest, &mut self.open);
        }
    }

    fn close_at(&mut self, end: Time, counts: C) {
        debug_assert!(end >= self.open_from, "a row ends before it begins");
        let cells = self.open.pack();
        self.packed_bytes += cells.len();
        self.closed.push(Closed {
            length_ns: end.since(self.open_from),
            counts: counts.since(&self.before),
            max_ns: self.open.max_ns,
            cells,
        });
        self.open.clear();
        self.open_from = end;
        self.before = counts;
    }

    /// Rows merge in pairs, so there must be an even number of them for the open row to go on.
    fn is_full(&self) -> bool {
        let rows = self.closed.len();
        rows >= ROWS_MAX || (self.packed_bytes > PACKED_BYTES_MAX && rows.is_multiple_of(2))
    }

    fn halve(&mut self) {
        let rows = std::mem::replace(&mut self.closed, Vec::with_capacity(ROWS_MAX));
        let mut scratch = Open::new();
        for (place, row) in rows.into_iter().enumerate() {
            match self.closed.last_mut() {
                Some(first) if place % 2 == 1 => {
                    first.length_ns += row.length_ns;
                    first.join(&row, &mut scratch);
                }
                _ => self.closed.push(row),
            }
        }
        self.packed_bytes = self.closed.iter().map(|row| row.cells.len()).sum();
        self.width_s *= 2;
        debug_assert!(
            self.width_s.is_power_of_two(),
            "rows of {} s do not fit those of another worker",
            self.width_s
        );
    }

    fn stretch(&self, place: usize, open: &mut Open) -> Stretch<C> {
        let closed = &self.closed[place];
        open.clear();
        open.unpack(&closed.cells);
        open.max_ns = closed.max_ns;
        let us = |nanoseconds: u64| nanoseconds as f64 / 1000.0;
        Stretch {
            at_s: place as f64 * self.width_s as f64,
            seconds: closed.length_ns as f64 / SECOND_NS as f64,
            counts: closed.counts,
            p50_us: open.quantile(0.50).map(us),
            p99_us: open.quantile(0.99).map(us),
            max_us: open.quantile(1.0).map(us),
        }
    }
}

impl Row {
    fn of(stretch: Stretch<Counts>, offered: Option<u64>) -> Row {
        Row {
            at_s: stretch.at_s,
            seconds: stretch.seconds,
            completed: stretch.counts.completed,
            failed: stretch.counts.failed,
            answered: Some(stretch.counts.answered),
            offered,
            good: Some(stretch.counts.good),
            events: Some(stretch.counts.events),
            bytes_received: stretch.counts.bytes_received,
            response_p50_us: stretch.p50_us,
            response_p99_us: stretch.p99_us,
            response_max_us: stretch.max_us,
        }
    }
}

impl<C: Gains> Closed<C> {
    /// Takes the counts and response times of `other` in; the length is the caller's to set.
    fn join(&mut self, other: &Closed<C>, scratch: &mut Open) {
        self.counts.add(&other.counts);
        self.max_ns = self.max_ns.max(other.max_ns);
        scratch.clear();
        scratch.unpack(&self.cells);
        scratch.unpack(&other.cells);
        self.cells = scratch.pack();
        scratch.clear();
    }
}

/// The response times of the row that is open.
#[derive(Clone, Debug)]
struct Open {
    cells: Box<[u32]>,
    /// The cells in use; empty while `first` is beyond `last`.
    first: usize,
    last: usize,
    max_ns: u64,
}

impl Open {
    fn new() -> Open {
        Open {
            cells: vec![0; COARSE_CELLS].into_boxed_slice(),
            first: COARSE_CELLS,
            last: 0,
            max_ns: 0,
        }
    }

    #[inline]
    fn record(&mut self, nanoseconds: u64) {
        self.max_ns = self.max_ns.max(nanoseconds);
        self.add(Coarse::index(nanoseconds.min(COARSE_LONGEST_NS)), 1);
    }

    #[inline]
    fn add(&mut self, index: usize, n: u32) {
        if let Some(cell) = self.cells.get_mut(index) {
            *cell = cell.saturating_add(n);
            self.first = self.first.min(index);
            self.last = self.last.max(index);
        }
    }

    fn clear(&mut self) {
        if self.first <= self.last {
            self.cells[self.first..=self.last].fill(0);
        }
        self.first = COARSE_CELLS;
        self.last = 0;
        self.max_ns = 0;
    }

    fn used(&self) -> impl Iterator<Item = (usize, u32)> + '_ {
        (self.first..=self.last)
            .map(|index| (index, self.cells[index]))
            .filter(|(_, n)| *n > 0)
    }

    /// Pairs of (cells skipped, count), each a little-endian base-128 number: mostly two bytes.
    fn pack(&self) -> Box<[u8]> {
        let mut bytes = Vec::new();
        let mut next = 0;
        for (index, n) in self.used() {
            push_number(&mut bytes, (index - next) as u32);
            push_number(&mut bytes, n);
            next = index + 1;
        }
        bytes.into_boxed_slice()
    }

    /// Adds what was packed.
    fn unpack(&mut self, mut bytes: &[u8]) {
        let mut next = 0;
        while !bytes.is_empty() {
            let index = next + take_number(&mut bytes) as usize;
            self.add(index, take_number(&mut bytes));
            next = index + 1;
        }
    }

    fn quantile(&self, q: f64) -> Option<u64> {
        let count: u64 = self.used().map(|(_, n)| u64::from(n)).sum();
        let wanted = rank(q, count);
        let mut seen = 0;
        for (index, n) in self.used() {
            seen += u64::from(n);
            if seen >= wanted {
                // The last cell stands for everything beyond it, too.
                let highest = if seen == count {
                    u64::MAX
                } else {
                    Coarse::highest(index)
                };
                return Some(highest.min(self.max_ns));
            }
        }
        None
    }
}

fn push_number(bytes: &mut Vec<u8>, mut number: u32) {
    while number >= 0x80 {
        bytes.push(number as u8 | 0x80);
        number >>= 7;
    }
    bytes.push(number as u8);
}

fn take_number(bytes: &mut &[u8]) -> u32 {
    let mut number = 0;
    let mut shift = 0;
    while let Some((&byte, rest)) = bytes.split_first() {
        debug_assert!(shift < u32::BITS, "a packed number has more than 32 bits");
        *bytes = rest;
        number |= u32::from(byte & 0x7f) << shift;
        shift += 7;
        if byte < 0x80 {
            break;
        }
    }
    number
}

#[cfg(test)]
mod tests;
