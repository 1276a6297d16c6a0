use super::*;
use crate::random::Random;

const QUANTILES: [f64; 9] = [0.0, 0.25, 0.5, 0.75, 0.9, 0.99, 0.999, 0.9999, 1.0];

/// Some lengths of each shape: all magnitudes, a narrow heap, a heap with a long tail.
fn samples(seed: u64) -> Vec<u64> {
    let mut random = Random::seeded(seed);
    (0..20_011)
        .map(|n| match seed % 3 {
            0 => random.length(42),
            1 => 50_000 + random.below(20_000),
            _ if n % 100 == 0 => random.length(36),
            _ => 80_000 + random.below(9_000) + random.below(9_000),
        })
        .collect()
}

fn histogram_of(samples: &[u64]) -> Histogram {
    let mut histogram = Histogram::new();
    samples.iter().for_each(|value| histogram.record(*value));
    histogram
}

fn cells_adjoin_and_are_narrower_than<const BITS: u32>(cells: usize, share: f64) {
    for index in 0..cells {
        let (lowest, highest) = (
            Layout::<BITS>::lowest(index),
            Layout::<BITS>::highest(index),
        );
        assert_eq!(Layout::<BITS>::index(lowest), index);
        assert_eq!(Layout::<BITS>::index(highest), index);
        assert_eq!(Layout::<BITS>::lowest(index + 1), highest + 1);
        assert!(
            (highest - lowest) as f64 <= lowest as f64 * share,
            "cell {index}"
        );
    }
}

#[test]
fn the_cells_adjoin_and_keep_three_digits() {
    cells_adjoin_and_are_narrower_than::<11>(CELLS, 0.001);
    cells_adjoin_and_are_narrower_than::<8>(4096, 0.008);
    assert_eq!(CELLS, 33 * 1024);
    assert_eq!(Fine::highest(CELLS - 1), LONGEST_NS);
}

#[test]
fn quantiles_are_those_of_the_sorted_samples_to_a_thousandth() {
    for seed in 0..9 {
        let mut sorted = samples(seed);
        let histogram = histogram_of(&sorted);
        sorted.sort_unstable();
        for q in QUANTILES {
            let place = ((q * sorted.len() as f64).ceil() as usize).max(1) - 1;
            let (told, truth) = (histogram.quantile(q), sorted[place]);
            assert!(told >= truth, "seed {seed}, q {q}: {told} is below {truth}");
            let error = (told - truth) as f64;
            assert!(
                error <= truth as f64 * 0.001,
                "seed {seed}, q {q}: {told} for {truth}"
            );
        }
    }
}

#[test]
fn minimum_maximum_and_mean_are_exact_and_the_deviation_is_near() {
    for seed in 0..9 {
        let samples = samples(seed);
        let histogram = histogram_of(&samples);
        let n = samples.len() as f64;
        let mean = samples.iter().map(|v| *v as f64).sum::<f64>() / n;
        let squares: f64 = samples.iter().map(|v| (*v as f64 - mean).powi(2)).sum();
        let stdev = (squares / (n - 1.0)).sqrt();
        assert_eq!(histogram.count(), samples.len() as u64);
        assert_eq!(Some(histogram.min()), samples.iter().copied().min());
        assert_eq!(Some(histogram.max()), samples.iter().copied().max());
        assert_eq!(histogram.quantile(1.0), histogram.max());
        assert!((histogram.mean() / mean - 1.0).abs() < 1e-9, "seed {seed}");
        assert!(
            (histogram.stdev() / stdev - 1.0).abs() < 2e-3,
            "seed {seed}"
        );
        for k in [0.5, 1.0, 2.0] {
            let within = samples
                .iter()
                .filter(|v| (**v as f64 - mean).abs() <= k * stdev);
            let share = within.count() as f64 / n;
            let told = histogram.share_within(k);
            assert!(
                (told - share).abs() < 0.005,
                "seed {seed}, k {k}: {told} for {share}"
            );
        }
    }
}

#[test]
fn an_empty_histogram_answers_zero() {
    let histogram = Histogram::new();
    assert!(histogram.is_empty());
    assert_eq!(
        (histogram.min(), histogram.max(), histogram.quantile(0.5)),
        (0, 0, 0)
    );
    assert_eq!(
        (
            histogram.mean(),
            histogram.stdev(),
            histogram.share_within(1.0)
        ),
        (0.0, 0.0, 0.0)
    );
}

#[test]
fn what_is_too_long_counts_as_the_longest() {
    let mut histogram = Histogram::new();
    for value in [LONGEST_NS, LONGEST_NS + 1, u64::MAX] {
        histogram.record(value);
    }
    assert_eq!(histogram.count(), 3);
    assert_eq!((histogram.min(), histogram.max()), (LONGEST_NS, LONGEST_NS));
    assert_eq!(histogram.quantile(0.5), LONGEST_NS);
}

#[test]
fn merging_is_recording_into_one_in_any_order() {
    let parts: Vec<Vec<u64>> = (0..3).map(samples).collect();
    let whole = histogram_of(&parts.concat());
    for order in [[0, 1, 2], [2, 1, 0], [1, 2, 0]] {
        let mut merged = Histogram::new();
        order
            .iter()
            .for_each(|part| merged.merge(&histogram_of(&parts[*part])));
        assert_eq!(merged, whole);
        merged.merge(&Histogram::new());
        assert_eq!(merged, whole);
    }
    let [mut left, middle, right] = [0, 1, 2].map(|part| histogram_of(&parts[part]));
    let mut tail = middle;
    tail.merge(&right);
    left.merge(&tail);
    assert_eq!(left, whole);
}

#[test]
fn a_cleared_histogram_is_as_good_as_new() {
    let mut histogram = histogram_of(&samples(0));
    histogram.clear();
    assert_eq!(histogram, Histogram::new());
}

#[test]
fn recording_n_times_is_recording_n_at_once() {
    let mut once = Histogram::new();
    once.record_n(12_345, 7);
    assert_eq!(once, histogram_of(&[12_345; 7]));
    // Nothing that was counted is as short as that.
    once.record_n(0, 0);
    assert_eq!(once, histogram_of(&[12_345; 7]));
}

#[test]
fn the_reference_library_reads_the_same_counts_back() {
    for seed in 0..3 {
        let samples = samples(seed);
        let histogram = histogram_of(&samples);
        let text = histogram.to_hdr_v2_base64();
        assert!(text.starts_with("HISTF"), "{text}");
        let bytes = BASE64.decode(&text).expect("base64");
        let hdr: hdrhistogram::Histogram<u64> = Deserializer::new()
            .deserialize(&mut bytes.as_slice())
            .expect("V2, deflated");
        assert_eq!(hdr.len(), histogram.count());
        // The library finds the cell of each value by its own reckoning.
        for value in &samples {
            assert_eq!(hdr.count_at(*value), histogram.cells[Fine::index(*value)]);
        }
        // The library has the lowest value for a share of nothing, and only then.
        for q in QUANTILES.into_iter().filter(|q| *q > 0.0) {
            let theirs = hdr.value_at_quantile(q);
            assert_eq!(histogram.quantile(q), theirs.min(histogram.max()), "q {q}");
        }
    }
}

#[test]
fn what_was_written_is_read_with_the_same_cells() {
    let histogram = histogram_of(&samples(2));
    let read = Histogram::from_hdr_v2_base64(&histogram.to_hdr_v2_base64()).expect("our own");
    assert_eq!(read.cells, histogram.cells);
    assert_eq!(read.count, histogram.count);
    assert!((read.mean() / histogram.mean() - 1.0).abs() < 1e-3);
    let empty = Histogram::from_hdr_v2_base64(&Histogram::new().to_hdr_v2_base64());
    assert_eq!(empty, Ok(Histogram::new()));
}

#[test]
fn plain_v2_of_other_digits_is_read_too() {
    let mut hdr = hdrhistogram::Histogram::<u64>::new(2).expect("two digits");
    hdr.record_n(1_000_000, 5).expect("it grows");
    let mut bytes = Vec::new();
    hdrhistogram::serialization::V2Serializer::new()
        .serialize(&hdr, &mut bytes)
        .expect("a vector");
    let read = Histogram::from_hdr_v2_base64(&BASE64.encode(bytes)).expect("V2");
    assert_eq!(read.count(), 5);
    assert!((read.mean() / 1e6 - 1.0).abs() < 0.01);
}

#[test]
fn damaged_histograms_are_refused_with_a_reason() {
    let base64 = Histogram::from_hdr_v2_base64("not base64!").expect_err("no base64");
    assert!(base64.contains("isn't valid base64"), "{base64}");
    let other = Histogram::from_hdr_v2_base64("AAAAAAAAAAAA").expect_err("no cookie");
    assert!(other.contains("HdrHistogram"), "{other}");
    let whole = histogram_of(&samples(1)).to_hdr_v2_base64();
    assert!(Histogram::from_hdr_v2_base64(&whole[..whole.len() / 2 / 4 * 4]).is_err());
}

#[test]
fn lengths_beyond_a_limit_are_counted() {
    let histogram = histogram_of(&[1_000, 2_000_000, 3_000_000, 3_000_000]);
    let above = [0, 1_500_000, 2_500_000, 4_000_000].map(|limit| histogram.count_above(limit));
    assert_eq!(above, [4, 3, 2, 0]);
}

#[test]
fn a_quantile_takes_so_many_samples_that_one_lies_beyond_it() {
    let needed = [0.5, 0.9, 0.99, 0.999].map(samples_for);
    assert_eq!(needed, [5, 29, 299, 2_995]);
}
