//! How much a quantile of a sample says about the quantile of what it is a sample of.

use super::distribution::binomial_at_most;

use measure::histogram::samples_for;

/// The fewest exchanges of which the quantile `q` is shown: with fewer, even the slowest of them
/// is not beyond it in 95 of 100 cases (`q`ⁿ ≤ 0.05; 299 for 0.99, 2,995 for 0.999).
pub fn exchanges_min(q: f64) -> u64 {
    samples_for(q)
}

/// The ranks, from 1, of the two among `n` ascending values that hold the quantile `q` between
/// them with at least this `confidence`, whatever the distribution, if the values are independent
/// (exchanges of one run are not: see [`crate`]). Nothing where `n` is too small for
/// such a pair. From the binomial distribution, as in Conover, "Practical Nonparametric
/// Statistics", 1999, §3.2.
pub fn interval(n: u64, q: f64, confidence: f64) -> Option<(u64, u64)> {
    let tail = (1.0 - confidence) / 2.0;
    // The largest rank that is rarely above the quantile, and the smallest that is rarely below.
    let low = first(n, |rank| binomial_at_most(rank, n, q) > tail);
    let high = first(n, |rank| binomial_at_most(rank, n, q) >= 1.0 - tail) + 1;
    (low >= 1 && high <= n).then_some((low, high))
}

/// The first count up to `n` for which `holds`, which stays true from there on.
fn first(n: u64, holds: impl Fn(u64) -> bool) -> u64 {
    let (mut low, mut high) = (0, n);
    while low < high {
        let middle = low.midpoint(high);
        match holds(middle) {
            true => high = middle,
            false => low = middle + 1,
        }
    }
    low
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::random::Random;

    #[test]
    fn the_smallest_samples_are_the_published_ones() {
        for (q, expected) in [
            (0.5, 5),
            (0.9, 29),
            (0.99, 299),
            (0.999, 2995),
            (0.9999, 29_956),
        ] {
            assert_eq!(exchanges_min(q), expected, "{q}");
        }
    }

    #[test]
    fn ranks_for_the_median_are_those_of_the_tables() {
        // Sign test, 95 %: Conover's table of ranks for the median.
        for (n, expected) in [(6, (1, 6)), (10, (2, 9)), (20, (6, 15)), (100, (40, 61))] {
            assert_eq!(interval(n, 0.5, 0.95), Some(expected), "{n}");
        }
        assert_eq!(interval(5, 0.5, 0.95), None);
        assert_eq!(interval(298, 0.99, 0.95), None);
    }

    #[test]
    fn intervals_hold_the_quantile_at_least_as_often_as_they_say() {
        let mut random = Random::new(6);
        for (n, q) in [(20, 0.5), (60, 0.9), (600, 0.99)] {
            let (low, high) = interval(n, q, 0.95).expect("enough values");
            let trials = 500;
            let held = (0..trials)
                .filter(|_| {
                    let mut values: Vec<f64> = (0..n).map(|_| random.unit()).collect();
                    values.sort_unstable_by(f64::total_cmp);
                    values[low as usize - 1] <= q && q <= values[high as usize - 1]
                })
                .count();
            assert!(held >= 460, "{n} values, {q}: {held} of {trials}");
        }
    }
}
