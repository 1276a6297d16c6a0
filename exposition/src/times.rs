//! Lengths of time as both kinds of histograms have them.

use measure::histogram::Histogram;

/// Upper ends of the classic buckets, in seconds, where nothing else is said.
pub const BOUNDS_S: [f64; 22] = [
    0.000_01, 0.000_025, 0.000_05, 0.000_1, 0.000_25, 0.000_5, 0.001, 0.002_5, 0.005, 0.01, 0.025,
    0.05, 0.075, 0.1, 0.25, 0.5, 0.75, 1.0, 2.5, 5.0, 10.0, 60.0,
];

/// Native buckets end at powers of 2^(1/128), which makes them 0.54 % wide.
pub const SCHEMA: i32 = 7;

/// A distribution.
#[derive(Clone, Debug, PartialEq)]
pub struct Times {
    /// How many there are.
    pub count: u64,
    /// All of them together, in seconds.
    pub sum_s: f64,
    /// Upper ends in seconds, rising, and how many are no longer.
    pub classic: Vec<(f64, u64)>,
    /// How many are zero.
    pub zeros: u64,
    /// The number of a bucket of [`SCHEMA`], and how many are in it; rising. Without any, it's a
    /// classic histogram alone, unless nothing was counted.
    pub native: Vec<(i32, u64)>,
}

impl Times {
    /// None yet, with these classic buckets.
    pub fn none(bounds_s: &[f64]) -> Times {
        Times {
            count: 0,
            sum_s: 0.0,
            classic: bounds_s.iter().map(|bound| (*bound, 0)).collect(),
            zeros: 0,
            native: Vec::new(),
        }
    }

    /// What a histogram has counted, with the classic buckets of [`BOUNDS_S`].
    pub fn of(histogram: &Histogram) -> Times {
        Times::within(histogram, &BOUNDS_S)
    }

    /// The same with these.
    pub fn within(histogram: &Histogram, bounds_s: &[f64]) -> Times {
        let mut times = Times::none(bounds_s);
        times.count = histogram.count();
        times.sum_s = histogram.sum() as f64 / 1e9;
        for (ns, n) in histogram.cells() {
            let seconds = ns as f64 / 1e9;
            for (bound, count) in times.classic.iter_mut().rev() {
                if seconds > *bound {
                    break;
                }
                *count += n;
            }
            if ns == 0 {
                times.zeros += n;
                continue;
            }
            let bucket = bucket_of(seconds);
            match times.native.last_mut() {
                Some((last, count)) if *last == bucket => *count += n,
                _ => times.native.push((bucket, n)),
            }
        }
        times
    }

    /// Whether there are native buckets of all that was counted.
    pub fn is_native(&self) -> bool {
        self.count == self.zeros || !self.native.is_empty()
    }

    /// Adds what another has counted. Classic buckets that only one of them has are left out, and
    /// native ones if the other has none.
    pub fn merge(&mut self, other: &Times) {
        let is_native = self.is_native() && other.is_native();
        self.count += other.count;
        self.sum_s += other.sum_s;
        self.zeros += other.zeros;
        let of_other = |bound: f64| other.classic.iter().find(|(known, _)| *known == bound);
        self.classic.retain(|(bound, _)| of_other(*bound).is_some());
        for (bound, mine) in &mut self.classic {
            *mine += of_other(*bound).map_or(0, |(_, theirs)| *theirs);
        }
        if !is_native {
            (self.zeros, self.native) = (0, Vec::new());
            return;
        }
        self.native.extend(&other.native);
        // Two rising runs, which the sort takes as such.
        self.native.sort_by_key(|(bucket, _)| *bucket);
        self.native.dedup_by(|next, kept| {
            let same = next.0 == kept.0;
            if same {
                kept.1 += next.1;
            }
            same
        });
    }
}

/// The native bucket of a value: the least i with value ≤ 2^(i / 128).
fn bucket_of(value: f64) -> i32 {
    (value.log2() * f64::from(1u32 << SCHEMA)).ceil() as i32
}

#[cfg(test)]
mod tests {
    use super::*;

    fn of(lengths_ns: &[u64]) -> Histogram {
        let mut histogram = Histogram::new();
        lengths_ns.iter().for_each(|ns| histogram.record(*ns));
        histogram
    }

    #[test]
    fn a_value_is_in_the_bucket_that_holds_it() {
        for (value, bucket) in [(1.0, 0), (2.0, 128), (0.5, -128), (1.000_001, 1)] {
            assert_eq!(bucket_of(value), bucket, "{value}");
        }
        let times = Times::of(&of(&[
            0,
            1,
            999,
            10_000,
            10_001,
            1_000_000_000,
            61_000_000_000,
        ]));
        assert_eq!((times.count, times.zeros), (7, 1));
        let native: u64 = times.native.iter().map(|(_, n)| n).sum();
        assert_eq!(native, 6);
        assert!(times.native.is_sorted_by(|one, other| one.0 < other.0));
        let within = |bound| {
            times
                .classic
                .iter()
                .find(|one| one.0 == bound)
                .map(|one| one.1)
        };
        assert_eq!((within(0.000_01), within(60.0)), (Some(3), Some(6)));
    }

    #[test]
    fn what_was_counted_stays_in_its_bucket_whatever_comes_later() {
        let mut histogram = Histogram::new();
        let mut before = Times::of(&histogram);
        for at in 0..4_000_u64 {
            histogram.record(10_000_000 + at * 1_777);
            let now = Times::of(&histogram);
            for (bucket, count) in &before.native {
                let found = now.native.iter().find(|(one, _)| one == bucket);
                assert!(found.is_some_and(|(_, n)| n >= count), "{at}: {bucket}");
            }
            let mut classic = before.classic.iter().zip(&now.classic);
            assert!(classic.all(|(was, is)| was.1 <= is.1), "{at}");
            before = now;
        }
    }

    #[test]
    fn what_is_added_up_is_what_one_histogram_would_have_counted() {
        let (one, other) = (
            [0, 5, 7_000, 9_000_000],
            [0, 6, 7_001, 80_000, 2_000_000_000],
        );
        let mut sum = Times::none(&BOUNDS_S);
        sum.merge(&Times::of(&of(&one)));
        sum.merge(&Times::of(&of(&other)));
        let all = Times::of(&of(&[&one[..], &other[..]].concat()));
        assert!((sum.sum_s - all.sum_s).abs() < 1e-12);
        assert_eq!(
            Times {
                sum_s: all.sum_s,
                ..sum
            },
            all
        );
    }

    #[test]
    fn classic_buckets_that_both_have_are_added_and_native_ones_need_both() {
        let lengths = of(&[0, 3_000_000, 700_000_000]);
        let mut sum = Times::within(&lengths, &[0.005, 0.5, 1.0]);
        sum.merge(&Times::within(&lengths, &[0.005, 0.25, 1.0]));
        assert_eq!(sum.classic, [(0.005, 4), (1.0, 6)]);
        assert!(sum.is_native() && sum.zeros == 2, "{sum:?}");
        let mut classic = Times::none(&[0.005, 1.0]);
        (classic.count, classic.classic[1].1) = (1, 1);
        sum.merge(&classic);
        assert_eq!((sum.count, sum.is_native()), (7, false));
        assert_eq!(sum.classic, [(0.005, 4), (1.0, 7)]);
        sum.merge(&Times::of(&lengths));
        assert_eq!((sum.count, sum.is_native()), (10, false));
    }
}
