//! How many exchanges fell due in each second, by when they were due and not by when anybody saw
//! to them: a backlog that is sent in the tenth second was due in the seconds before it.

use crate::time::Time;

/// The most rows of a run's seconds. One more, and neighbours merge.
pub const ROWS_MAX: usize = 3600;

const SECOND_NS: u64 = 1_000_000_000;

/// Exchanges by the second in which they fell due, in constant memory: neighbours merge as those of
/// a [`Series`](crate::series::Series) do.
#[derive(Clone, Debug)]
pub struct Due {
    origin: Time,
    /// Seconds of a row; a power of two.
    width_s: u64,
    rows: Vec<u64>,
    /// The row that was counted in last: from when until when, and which.
    from: Time,
    until: Time,
    place: usize,
}

impl Default for Due {
    fn default() -> Due {
        Due::new()
    }
}

impl Due {
    /// Nothing was due yet.
    pub fn new() -> Due {
        Due {
            origin: Time(0),
            width_s: 1,
            rows: Vec::with_capacity(ROWS_MAX),
            from: Time::NEVER,
            until: Time(0),
            place: 0,
        }
    }

    /// The first row begins at `now`.
    pub fn start(&mut self, now: Time) {
        self.rows.clear();
        (self.origin, self.width_s) = (now, 1);
        (self.from, self.until) = (Time::NEVER, Time(0));
    }

    /// An exchange fell due at `at`. One from before the start counts in the first row.
    #[inline]
    pub fn add(&mut self, at: Time) {
        if at < self.from || at >= self.until {
            self.turn_to(at);
        }
        self.rows[self.place] += 1;
    }

    #[cold]
    fn turn_to(&mut self, at: Time) {
        let since = at.since(self.origin);
        let mut place = since / SECOND_NS / self.width_s;
        while place >= ROWS_MAX as u64 {
            self.widen();
            place /= 2;
        }
        self.place = place as usize;
        if self.rows.len() <= self.place {
            self.rows.resize(self.place + 1, 0);
        }
        let length_ns = self.width_s * SECOND_NS;
        self.from = self.origin.plus(place * length_ns);
        self.until = self.from.plus(length_ns);
        debug_assert!(
            (self.from..self.until).contains(&at.max(self.origin)),
            "{at:?} is counted in a row in which it is not due"
        );
    }

    /// Rows become twice as long.
    fn widen(&mut self) {
        let before = self.total();
        // In place, so that the memory taken at the start goes on to do.
        let half = self.rows.len().div_ceil(2);
        for place in 0..half {
            let second = self.rows.get(2 * place + 1).copied().unwrap_or(0);
            self.rows[place] = self.rows[2 * place] + second;
        }
        self.rows.truncate(half);
        self.width_s *= 2;
        (self.from, self.until) = (Time::NEVER, Time(0));
        assert_eq!(
            before,
            self.total(),
            "longer rows have lost some of what fell due"
        );
    }

    fn total(&self) -> u64 {
        self.rows.iter().sum()
    }

    /// Adds what `other` counted, row by row.
    pub fn merge(&mut self, other: &Due) {
        let both = self.total() + other.total();
        let mut other = other.clone();
        while self.width_s < other.width_s {
            self.widen();
        }
        while other.width_s < self.width_s {
            other.widen();
        }
        if self.rows.len() < other.rows.len() {
            self.rows.resize(other.rows.len(), 0);
        }
        for (mine, theirs) in self.rows.iter_mut().zip(&other.rows) {
            *mine += theirs;
        }
        assert_eq!(both, self.total(), "merging has lost some of what fell due");
    }

    /// The counts of `rows` rows of `width_s` seconds each. What is beyond the last of them belongs
    /// to the last, so that the rows sum to what was counted.
    pub(crate) fn counts(&self, width_s: u64, rows: usize) -> Vec<u64> {
        let mut counts = vec![0; rows];
        let Some(last) = rows.checked_sub(1) else {
            return counts;
        };
        for (place, count) in (0..).zip(&self.rows) {
            let at = place * self.width_s / width_s;
            counts[last.min(at as usize)] += count;
        }
        counts
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::random::Random;

    const START: Time = Time(7_300_000_000);

    fn at(ms: u64) -> Time {
        START.plus(ms * 1_000_000)
    }

    #[test]
    fn each_is_counted_in_the_second_in_which_it_was_due_whenever_it_is_counted() {
        let mut due = Due::new();
        due.start(START);
        for ms in [0, 999, 1000, 4200, 999, 4999, 1500] {
            due.add(at(ms));
        }
        assert_eq!(due.counts(1, 5), [3, 2, 0, 0, 2]);
        assert_eq!(due.counts(2, 3), [5, 0, 2]);
        // What is beyond the last row is in it.
        assert_eq!(due.counts(1, 4), [3, 2, 0, 2]);
        assert_eq!(due.counts(1, 6), [3, 2, 0, 0, 2, 0]);
        assert!(due.counts(1, 0).is_empty());
        due.start(at(10));
        assert_eq!(due.counts(1, 1), [0]);
    }

    #[test]
    fn hours_of_it_are_kept_in_longer_rows_and_merge_with_shorter_ones() {
        for seed in 0..5 {
            let mut random = Random::seeded(seed + 1);
            let mut times: Vec<u64> = (0..5000).map(|_| random.below(20_000_000)).collect();
            times.sort_unstable();
            let of = |part: &dyn Fn(usize) -> bool| {
                let mut due = Due::new();
                due.start(START);
                let chosen = (0..).zip(&times).filter(|(n, _)| part(*n));
                chosen.for_each(|(_, ms)| due.add(at(*ms)));
                due
            };
            let whole = of(&|_| true);
            assert!(
                whole.rows.len() <= ROWS_MAX && whole.width_s == 8,
                "seed {seed}"
            );
            // The early half has short rows.
            let (mut late, early) = (of(&|n| n >= 500), of(&|n| n < 500));
            assert!(early.width_s < late.width_s, "seed {seed}");
            late.merge(&early);
            assert_eq!(late.counts(8, 2500), whole.counts(8, 2500), "seed {seed}");
            let sum: u64 = whole.counts(16, 1250).iter().sum();
            assert_eq!(sum, 5000, "seed {seed}");
        }
    }
}
