//! Lengths of time as an exponential histogram in seconds.
//!
//! Its buckets end at powers of 2^(1/1024): there are as many in each power of two as our own
//! histogram has cells, and each is 0.068 % wide, less than the 0.1 % to which a length is known
//! here. A receiver that wants fewer joins neighbours, which loses nothing else (Prometheus takes
//! scale 8: 0.27 %).

use measure::histogram::Histogram;

use crate::messages::{Buckets, HistogramPoint};

/// 2^10 buckets in each power of two.
pub(crate) const SCALE: i32 = 10;

/// What `histogram` holds. Count, sum and extremes are exact.
pub(crate) fn point(histogram: &Histogram) -> HistogramPoint {
    let seconds = |ns: u64| ns as f64 / 1e9;
    let is_empty = histogram.is_empty();
    let mut zeros = 0;
    let mut buckets = Buckets::default();
    for (ns, n) in histogram.cells() {
        if ns == 0 {
            zeros += n;
            continue;
        }
        let index = bucket_of(seconds(ns));
        if buckets.bucket_counts.is_empty() {
            buckets.offset = index;
        }
        // Lengths rise, and so do their buckets.
        let place = usize::try_from(index - buckets.offset).unwrap_or(0);
        if place >= buckets.bucket_counts.len() {
            buckets.bucket_counts.resize(place + 1, 0);
        }
        buckets.bucket_counts[place] += n;
    }
    HistogramPoint {
        count: histogram.count(),
        sum: Some(histogram.sum() as f64 / 1e9),
        scale: SCALE,
        zero_count: zeros,
        positive: (!buckets.bucket_counts.is_empty()).then_some(buckets),
        min: (!is_empty).then(|| seconds(histogram.min())),
        max: (!is_empty).then(|| seconds(histogram.max())),
        ..HistogramPoint::default()
    }
}

/// The number of the bucket that holds `value`, above 0. That of (base^n, base^(n+1)] is n.
fn bucket_of(value: f64) -> i32 {
    (value.log2() * f64::from(1 << SCALE)).ceil() as i32 - 1
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The quantile as a receiver computes it: the upper end of the bucket in which it lies.
    fn quantile(point: &HistogramPoint, q: f64) -> f64 {
        let wanted = (q * point.count as f64).ceil() as u64;
        let mut seen = point.zero_count;
        let buckets = point.positive.as_ref().expect("buckets");
        let ends = (buckets.offset + 1..).map(|n| (f64::from(n) / 1024.0).exp2());
        for (n, end) in buckets.bucket_counts.iter().zip(ends) {
            seen += n;
            if seen >= wanted {
                return end;
            }
        }
        f64::INFINITY
    }

    #[test]
    fn a_value_is_in_the_bucket_that_holds_it() {
        for (value, bucket) in [(1.0, -1), (2.0, 1023), (0.5, -1025), (1.000_001, 0)] {
            assert_eq!(bucket_of(value), bucket, "{value}");
        }
    }

    #[test]
    fn counts_sum_and_extremes_are_exact_and_quantiles_within_a_bucket() {
        let mut histogram = Histogram::new();
        for ns in (0..20_000).map(|n| n * n * 7) {
            histogram.record(ns);
        }
        let point = point(&histogram);
        let buckets = point.positive.as_ref().expect("buckets");
        let counted: u64 = buckets.bucket_counts.iter().sum();
        assert_eq!((point.count, point.zero_count), (20_000, 1));
        assert_eq!(counted, 19_999);
        assert_eq!(point.sum, Some(histogram.sum() as f64 / 1e9));
        assert_eq!(point.min, Some(0.0));
        assert_eq!(point.max, Some(histogram.max() as f64 / 1e9));
        for q in [0.1, 0.5, 0.9, 0.99, 0.999] {
            let (ours, theirs) = (histogram.quantile(q) as f64 / 1e9, quantile(&point, q));
            let width = (1.0f64 / 1024.0).exp2();
            assert!(
                ours <= theirs && theirs <= ours * width,
                "{q}: {ours} and {theirs}"
            );
        }
    }

    #[test]
    fn nothing_measured_has_no_buckets_and_no_extremes() {
        let point = point(&Histogram::new());
        assert_eq!((point.count, point.positive, point.min), (0, None, None));
    }
}
