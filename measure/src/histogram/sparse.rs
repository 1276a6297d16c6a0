//! A histogram as it is kept for long, or sent elsewhere: the cells in use alone, and the exact
//! figures.

use serde::{Deserialize, Serialize};

use super::{CELLS, Fine, Histogram, LONGEST_NS, rank};

/// The cells in use of a [`Histogram`], with what it knows exactly. A second of a run has some
/// hundred of them.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Sparse {
    /// The shortest length, in nanoseconds.
    min_ns: u64,
    /// The longest one.
    max_ns: u64,
    /// The sum of all.
    sum_ns: u128,
    /// The number of each cell that isn't empty, rising, and what it has counted.
    cells: Vec<(u32, u64)>,
}

impl Sparse {
    /// What a histogram has counted.
    pub fn of(histogram: &Histogram) -> Sparse {
        let cells = histogram.used().map(|(index, n)| (index as u32, n));
        Sparse {
            min_ns: histogram.min(),
            max_ns: histogram.max(),
            sum_ns: histogram.sum(),
            cells: cells.collect(),
        }
    }

    /// The histogram of which this is the sparse form.
    ///
    /// # Errors
    /// Where it came from outside and no histogram has this form: what is wrong with it.
    pub fn unpack(&self) -> Result<Histogram, String> {
        self.check()?;
        let mut histogram = Histogram::new();
        for (index, n) in &self.cells {
            histogram.cells[*index as usize] = *n;
            histogram.count += n;
        }
        if !self.cells.is_empty() {
            (histogram.min_ns, histogram.max_ns) = (self.min_ns, self.max_ns);
            histogram.sum_ns = self.sum_ns;
        }
        Ok(histogram)
    }

    /// Whether some histogram has this form, for what came from outside.
    ///
    /// # Errors
    /// What is wrong with it.
    pub fn check(&self) -> Result<(), String> {
        let (mut least, mut count) = (0, 0u64);
        for (index, n) in &self.cells {
            let place = *index as usize;
            if place < least || place >= CELLS || *n == 0 {
                return Err(format!("no histogram has {n} in cell {index} here"));
            }
            let sum = count.checked_add(*n);
            count = sum.ok_or("the histogram counts more than 2^64 values")?;
            least = place + 1;
        }
        let Some(((first, _), (last, _))) = self.cells.first().zip(self.cells.last()) else {
            return match (self.min_ns, self.max_ns, self.sum_ns) {
                (0, 0, 0) => Ok(()),
                _ => Err("the histogram counts nothing, and has a length".to_owned()),
            };
        };
        let fits = |ns: u64, cell: u32| ns <= LONGEST_NS && Fine::index(ns) == cell as usize;
        if !fits(self.min_ns, *first) || !fits(self.max_ns, *last) || self.min_ns > self.max_ns {
            return Err("the shortest or the longest length is in no cell".to_owned());
        }
        let times = |ns: u64| u128::from(ns) * u128::from(count);
        if !(times(self.min_ns)..=times(self.max_ns)).contains(&self.sum_ns) {
            return Err("the sum isn't one of so many lengths".to_owned());
        }
        Ok(())
    }

    /// How many lengths are longer than that, as far as cells tell them apart: those of all parts
    /// of a merged form add up to its own.
    pub fn above(&self, nanoseconds: u64) -> u64 {
        let cell = Fine::index(nanoseconds.min(LONGEST_NS)) as u32;
        let longer = self.cells.iter().filter(|(index, _)| *index > cell);
        longer.map(|(_, n)| n).sum()
    }

    /// How many lengths were counted.
    pub fn count(&self) -> u64 {
        self.cells.iter().map(|(_, n)| n).sum()
    }

    /// How many cells are in use, which is what it takes of memory.
    pub fn len(&self) -> usize {
        self.cells.len()
    }

    /// Whether nothing was counted.
    pub fn is_empty(&self) -> bool {
        self.cells.is_empty()
    }

    /// The longest length in nanoseconds; 0 if there is none.
    pub fn max(&self) -> u64 {
        self.max_ns
    }

    /// As [`Histogram::quantile`].
    pub fn quantile(&self, q: f64) -> u64 {
        let wanted = rank(q, self.count());
        let mut seen = 0;
        let reached = self.cells.iter().find(|(_, n)| {
            seen += n;
            seen >= wanted
        });
        reached.map_or(0, |(index, _)| {
            Fine::highest(*index as usize).min(self.max_ns)
        })
    }

    /// Adds everything that `other` counted.
    pub fn merge(&mut self, other: &Sparse) {
        if other.cells.is_empty() {
            return;
        }
        if self.cells.is_empty() {
            self.clone_from(other);
            return;
        }
        // Most cells are in use already, once much was counted: those are only added to.
        let mut from = 0;
        let mut others = Vec::new();
        for (index, n) in &other.cells {
            from += self.cells[from..].partition_point(|cell| cell.0 < *index);
            match self.cells.get_mut(from).filter(|cell| cell.0 == *index) {
                Some(cell) => cell.1 += n,
                None => others.push((*index, *n)),
            }
        }
        if !others.is_empty() {
            self.cells.append(&mut others);
            // Two runs that rise, which this sort merges.
            self.cells.sort_by_key(|cell| cell.0);
        }
        self.min_ns = self.min_ns.min(other.min_ns);
        self.max_ns = self.max_ns.max(other.max_ns);
        self.sum_ns += other.sum_ns;
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::random::Random;

    fn drawn(seed: u64) -> Histogram {
        let mut random = Random::seeded(seed);
        let mut histogram = Histogram::new();
        for _ in 0..random.below(300) {
            histogram.record_n(random.length(35), 1 + random.below(5));
        }
        histogram
    }

    #[test]
    fn it_comes_back_as_it_was_and_merges_as_histograms_do() {
        for seed in 1..40 {
            let (one, other) = (drawn(seed), drawn(seed + 100));
            let mut sparse = Sparse::of(&one);
            assert_eq!(sparse.unpack().as_ref(), Ok(&one), "seed {seed}");
            sparse.merge(&Sparse::of(&other));
            let mut both = one;
            both.merge(&other);
            assert_eq!(sparse, Sparse::of(&both), "seed {seed}");
            for q in [0.0, 0.1, 0.5, 0.99, 1.0] {
                assert_eq!(sparse.quantile(q), both.quantile(q), "seed {seed}, {q}");
            }
            assert_eq!((sparse.count(), sparse.max()), (both.count(), both.max()));
            let tail = both.quantile(0.9);
            let parts = Sparse::of(&drawn(seed)).above(tail) + Sparse::of(&other).above(tail);
            assert_eq!(sparse.above(tail), parts, "seed {seed}");
        }
    }

    #[test]
    fn what_no_histogram_has_is_refused() {
        let sound = Sparse::of(&drawn(7));
        let spoils: [fn(&mut Sparse); 7] = [
            |sparse| sparse.cells[0].0 = u32::MAX,
            |sparse| sparse.cells.reverse(),
            |sparse| sparse.cells[0].1 = 0,
            |sparse| sparse.cells[0].1 = u64::MAX,
            |sparse| sparse.min_ns = u64::MAX,
            |sparse| sparse.sum_ns = u128::MAX,
            |sparse| sparse.cells.clear(),
        ];
        for (place, spoil) in spoils.into_iter().enumerate() {
            let mut spoilt = sound.clone();
            spoil(&mut spoilt);
            assert!(spoilt.unpack().is_err(), "{place}");
        }
    }
}
