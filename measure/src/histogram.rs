//! Histograms of lengths of time: log-linear cells with three significant digits.
//!
//! The cells are those of HdrHistogram (2048 sub-buckets): every power of two above 2048 ns is cut
//! into 1024 cells of equal width, so that a value is known to better than 0.1 %. Recording finds
//! the cell by counting leading zeros: no loop, no division, no allocation, no panic. One
//! [`Histogram`] belongs to one worker; merging is adding cells, so the order does not matter.

mod sparse;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD as BASE64;
use hdrhistogram::serialization::{Deserializer, Serializer, V2DeflateSerializer};

pub use sparse::Sparse;

/// The longest length that is told apart: 2^42 − 1 ns, about 73 minutes. Longer ones count as this.
pub const LONGEST_NS: u64 = (1 << 42) - 1;

const DIGITS: u8 = 3;
type Fine = Layout<11>;
const CELLS: usize = Fine::index(LONGEST_NS) + 1;

/// Where a value is counted: `BITS` binary digits of each value are kept, the others are dropped.
pub(crate) struct Layout<const BITS: u32>;

impl<const BITS: u32> Layout<BITS> {
    /// The cell of `value`.
    #[inline(always)]
    pub(crate) const fn index(value: u64) -> usize {
        let mask = (1u64 << BITS) - 1;
        let shift = (u64::BITS - BITS) - (value | mask).leading_zeros();
        let half = 1usize << (BITS - 1);
        (shift as usize) * half + (value >> shift) as usize
    }

    /// The smallest value that is counted in cell `index`.
    pub(crate) const fn lowest(index: usize) -> u64 {
        let (shift, kept) = Self::parts(index);
        kept << shift
    }

    /// The largest value that is counted in cell `index`.
    pub(crate) const fn highest(index: usize) -> u64 {
        let (shift, kept) = Self::parts(index);
        (kept << shift) + ((1u64 << shift) - 1)
    }

    const fn parts(index: usize) -> (u32, u64) {
        let half = 1usize << (BITS - 1);
        if index < half {
            (0, index as u64)
        } else {
            let shift = index / half - 1;
            (shift as u32, (index - shift * half) as u64)
        }
    }
}

/// Where a length of time is counted: the same in every [`Histogram`].
#[derive(Clone, Copy, Debug)]
pub(crate) struct Place {
    value: u64,
    index: usize,
}

impl Place {
    #[inline(always)]
    pub(crate) fn of(nanoseconds: u64) -> Place {
        let value = nanoseconds.min(LONGEST_NS);
        let index = Fine::index(value);
        Place { value, index }
    }
}

/// Counts of lengths of time in nanoseconds, from 0 to [`LONGEST_NS`].
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Histogram {
    cells: Box<[u64]>,
    count: u64,
    sum_ns: u128,
    min_ns: u64,
    max_ns: u64,
}

impl Default for Histogram {
    fn default() -> Histogram {
        Histogram::new()
    }
}

impl Histogram {
    /// An empty histogram. All of its memory (264 KiB of address space, of which only the pages in
    /// use cost anything) is taken here.
    pub fn new() -> Histogram {
        Histogram {
            cells: vec![0; CELLS].into_boxed_slice(),
            count: 0,
            sum_ns: 0,
            min_ns: u64::MAX,
            max_ns: 0,
        }
    }

    /// Counts one length of `nanoseconds`.
    #[inline]
    pub fn record(&mut self, nanoseconds: u64) {
        self.record_n(nanoseconds, 1);
    }

    /// Counts `n` lengths of `nanoseconds` each.
    #[inline]
    pub fn record_n(&mut self, nanoseconds: u64, n: u64) {
        // Otherwise it would be the shortest or the longest of none.
        if n > 0 {
            self.add(Place::of(nanoseconds), n);
        }
    }

    /// Counts `n` lengths at a place.
    #[inline(always)]
    pub(crate) fn add(&mut self, place: Place, n: u64) {
        let Place { value, index } = place;
        // Always there, since a place is; `get_mut` only keeps a panic out of this path.
        debug_assert_eq!(
            index,
            Fine::index(value),
            "a length is counted in another's cell"
        );
        if let Some(cell) = self.cells.get_mut(index) {
            *cell += n;
        }
        self.count += n;
        self.sum_ns += u128::from(value) * u128::from(n);
        self.min_ns = self.min_ns.min(value);
        self.max_ns = self.max_ns.max(value);
    }

    /// Adds everything that `other` counted.
    pub fn merge(&mut self, other: &Histogram) {
        if other.is_empty() {
            return;
        }
        let used = Fine::index(other.min_ns)..=Fine::index(other.max_ns);
        for (mine, theirs) in self.cells[used.clone()].iter_mut().zip(&other.cells[used]) {
            // Writing a zero would bring in a page of memory for nothing.
            if *theirs != 0 {
                *mine += theirs;
            }
        }
        self.count += other.count;
        self.sum_ns += other.sum_ns;
        self.min_ns = self.min_ns.min(other.min_ns);
        self.max_ns = self.max_ns.max(other.max_ns);
        assert_eq!(
            self.count,
            self.used().map(|(_, n)| n).sum::<u64>(),
            "the cells do not add up to what was counted"
        );
    }

    /// Forgets everything, keeps the memory.
    pub fn clear(&mut self) {
        if !self.is_empty() {
            self.cells[Fine::index(self.min_ns)..=Fine::index(self.max_ns)].fill(0);
        }
        self.count = 0;
        self.sum_ns = 0;
        self.min_ns = u64::MAX;
        self.max_ns = 0;
    }

    /// How many lengths were counted.
    pub fn count(&self) -> u64 {
        self.count
    }

    /// Whether nothing was counted.
    pub fn is_empty(&self) -> bool {
        self.count == 0
    }

    /// The shortest length, exact, in nanoseconds; 0 if there is none.
    pub fn min(&self) -> u64 {
        if self.is_empty() { 0 } else { self.min_ns }
    }

    /// The longest length, exact (up to [`LONGEST_NS`]), in nanoseconds; 0 if there is none.
    pub fn max(&self) -> u64 {
        self.max_ns
    }

    /// The arithmetic mean, exact, in nanoseconds; 0 if nothing was counted.
    pub fn mean(&self) -> f64 {
        if self.is_empty() {
            return 0.0;
        }
        self.sum_ns as f64 / self.count as f64
    }

    /// The sum of all lengths, exact, in nanoseconds.
    pub fn sum(&self) -> u128 {
        self.sum_ns
    }

    /// The length that a share `q` (0 to 1) of all lengths does not exceed, in nanoseconds: the
    /// highest value of the cell in which that share is reached, as HdrHistogram has it, but never
    /// above [`Histogram::max`]. 0 if nothing was counted.
    pub fn quantile(&self, q: f64) -> u64 {
        if self.is_empty() {
            return 0;
        }
        debug_assert!(
            self.min_ns <= self.max_ns && self.max_ns <= LONGEST_NS,
            "the shortest is {} ns, and the longest {} ns",
            self.min_ns,
            self.max_ns
        );
        let wanted = rank(q, self.count);
        let mut seen = 0;
        for (index, n) in self.used() {
            seen += n;
            if seen >= wanted {
                return Fine::highest(index).min(self.max_ns);
            }
        }
        self.max_ns
    }

    /// Each length that was counted, in nanoseconds and rising order, and how often: the highest
    /// value of its cell, as in [`Histogram::quantile`].
    pub fn lengths(&self) -> impl Iterator<Item = (u64, u64)> + '_ {
        let highest = |index| Fine::highest(index).min(self.max_ns);
        self.used().map(move |(index, n)| (highest(index), n))
    }

    /// The same, without regard to the longest: of a histogram that grows, what was counted at a
    /// length stays there. Whoever takes differences of two readings needs that.
    pub fn cells(&self) -> impl Iterator<Item = (u64, u64)> + '_ {
        self.used().map(|(index, n)| (Fine::highest(index), n))
    }

    /// How many lengths are longer than that, as far as the cells tell them apart.
    pub fn count_above(&self, nanoseconds: u64) -> u64 {
        let longer = self
            .used()
            .filter(|(index, _)| middle(*index) > nanoseconds as f64);
        longer.map(|(_, n)| n).sum()
    }

    /// The standard deviation in nanoseconds (n − 1 in the divisor, as wrk has it), from the middle
    /// of each cell; 0 for fewer than two lengths.
    pub fn stdev(&self) -> f64 {
        if self.count < 2 {
            return 0.0;
        }
        let mean = self.mean();
        let squares: f64 = self
            .used()
            .map(|(index, n)| (middle(index) - mean).powi(2) * n as f64)
            .sum();
        (squares / (self.count - 1) as f64).sqrt()
    }

    /// The share (0 to 1) of lengths that lie within `k` standard deviations of the mean: what wrk
    /// prints as "+/- Stdev" for `k` = 1. 0 if nothing was counted.
    pub fn share_within(&self, k: f64) -> f64 {
        if self.is_empty() {
            return 0.0;
        }
        let (mean, reach) = (self.mean(), self.stdev() * k);
        let within: u64 = self
            .used()
            .filter(|(index, _)| {
                // A cell whose values are all equal to the mean is inside, whatever its middle is.
                let width = (Fine::highest(*index) - Fine::lowest(*index)) as f64 / 2.0;
                (middle(*index) - mean).abs() <= reach + width
            })
            .map(|(_, n)| n)
            .sum();
        within as f64 / self.count as f64
    }

    /// The histogram in HdrHistogram's format V2, deflated, in base64 (the form that begins with
    /// `HISTF` and stands in HdrHistogram logs). Values are nanoseconds; zero stays zero.
    pub fn to_hdr_v2_base64(&self) -> String {
        let mut bytes = Vec::new();
        // The bounds are constants that the library takes, and a vector takes every byte.
        V2DeflateSerializer::new()
            .serialize(&self.to_hdr(), &mut bytes)
            .expect("a histogram of valid bounds goes into a vector");
        BASE64.encode(bytes)
    }

    /// Reads HdrHistogram's format V2 in base64, deflated or not. What the format does not keep
    /// (exact minimum, maximum and mean) comes back to three significant digits.
    pub fn from_hdr_v2_base64(text: &str) -> Result<Histogram, String> {
        let bytes = BASE64
            .decode(text.trim())
            .map_err(|error| format!("the histogram isn't valid base64: {error}"))?;
        let read: hdrhistogram::Histogram<u64> = Deserializer::new()
            .deserialize(&mut bytes.as_slice())
            .map_err(|error| format!("the histogram isn't in HdrHistogram's V2 format: {error}"))?;
        let mut histogram = Histogram::new();
        for step in read.iter_recorded() {
            let n = step.count_at_value();
            if histogram.count.checked_add(n).is_none() {
                return Err("the histogram counts more than 2^64 values".to_owned());
            }
            let value = read.median_equivalent(step.value_iterated_to());
            histogram.record_n(value, n);
        }
        Ok(histogram)
    }

    fn to_hdr(&self) -> hdrhistogram::Histogram<u64> {
        let mut hdr = hdrhistogram::Histogram::new_with_bounds(1, LONGEST_NS, DIGITS)
            .expect("the bounds are constants within the library's limits");
        for (index, n) in self.used() {
            hdr.record_n(Fine::lowest(index), n)
                .expect("the bounds hold every cell");
        }
        hdr
    }

    /// The cells that counted something, from the shortest length up.
    fn used(&self) -> impl Iterator<Item = (usize, u64)> + '_ {
        let (first, last) = if self.is_empty() {
            (1, 0)
        } else {
            (Fine::index(self.min_ns), Fine::index(self.max_ns))
        };
        (first..=last)
            .map(|index| (index, self.cells[index]))
            .filter(|(_, n)| *n != 0)
    }
}

/// The position, counted from 1, of the length that a share `q` of `count` does not exceed.
pub(crate) fn rank(q: f64, count: u64) -> u64 {
    ((q.clamp(0.0, 1.0) * count as f64).ceil() as u64).clamp(1, count.max(1))
}

/// The fewest samples of which the quantile `q` is shown: with fewer, even the longest of them is
/// not beyond it in 95 of 100 cases (`q`ⁿ ≤ 0.05; 299 for 0.99, 2,995 for 0.999).
pub fn samples_for(q: f64) -> u64 {
    (0.05f64.ln() / q.ln()).ceil() as u64
}

fn middle(index: usize) -> f64 {
    (Fine::lowest(index) as f64 + Fine::highest(index) as f64) / 2.0
}

#[cfg(test)]
mod tests;
