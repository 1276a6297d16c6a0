use super::*;
use crate::random::Random;

const MS: u64 = 1_000_000;
const START: Time = Time(77 * SECOND_NS + 123);

fn at(seconds: f64) -> Time {
    START.plus((seconds * SECOND_NS as f64) as u64)
}

fn completed(completed: u64) -> Counts {
    Counts {
        completed,
        failed: completed / 10,
        answered: 2 * completed,
        good: completed / 2,
        events: 3 * completed,
        bytes_received: completed * 100,
    }
}

/// A series of `seconds` seconds with some responses in each, and how many that were in all.
fn series_of(seed: u64, seconds: u64) -> (Series, u64) {
    let mut random = Random::seeded(seed);
    let mut series = Series::new();
    let mut sum = 0;
    series.start(START, Counts::default());
    for second in 1..=seconds {
        for _ in 0..random.below(4) {
            series.record(random.length(36));
            sum += 1;
        }
        series.close_due(at(second as f64), completed(sum));
    }
    series.finish(at(seconds as f64 + 0.25), completed(sum));
    (series, sum)
}

#[test]
fn a_row_is_what_the_counters_gained_while_it_was_open() {
    let mut series = Series::new();
    series.start(START, completed(1000));
    (1..=100).for_each(|n| series.record(n * MS));
    assert!(!series.is_due(at(0.999)));
    assert!(series.is_due(at(1.001)));
    series.close_due(at(1.001), completed(1100));
    series.record(5 * MS);
    series.finish(at(1.5), completed(1101));
    let mut due = Due::new();
    due.start(START);
    let times = [0.0, 0.5, 1.2, 0.9].into_iter();
    times.for_each(|seconds| due.add(at(seconds)));
    let rows = series.rows(Some(&due));
    assert_eq!(rows.len(), 2);
    let first = &rows[0];
    assert_eq!((first.at_s, first.seconds), (0.0, 1.0));
    assert_eq!((first.completed, first.failed), (100, 10));
    assert_eq!((first.offered, first.bytes_received), (Some(3), 10_000));
    let p50 = first.response_p50_us.expect("a hundred samples");
    let p99 = first.response_p99_us.expect("a hundred samples");
    assert!((50_000.0..50_400.0).contains(&p50), "{p50}");
    assert!((99_000.0..99_800.0).contains(&p99), "{p99}");
    assert_eq!(first.response_max_us, Some(100_000.0));
    let second = &rows[1];
    assert_eq!(
        (second.at_s, second.seconds, second.completed),
        (1.0, 0.5, 1)
    );
    assert_eq!(second.response_max_us, Some(5_000.0));
    assert_eq!(series.rows(None)[0].offered, None);
}

#[test]
fn seconds_in_which_nothing_happened_are_rows_without_times() {
    let mut series = Series::new();
    series.start(START, Counts::default());
    series.record(MS);
    series.close_due(at(4.0), completed(1));
    series.finish(at(4.0), completed(1));
    let rows = series.rows(None);
    let counts: Vec<u64> = rows.iter().map(|row| row.completed).collect();
    assert_eq!(counts, [1, 0, 0, 0]);
    assert_eq!(rows[1].response_p50_us, None);
    assert_eq!(rows[3].response_max_us, None);
}

#[test]
fn what_comes_after_the_last_whole_row_belongs_to_it() {
    let mut series = Series::new();
    series.start(START, Counts::default());
    series.record(MS);
    series.close_due(at(1.0), completed(1));
    series.record(7 * MS);
    series.finish(at(1.0), completed(2));
    let rows = series.rows(None);
    assert_eq!(rows.len(), 1);
    assert_eq!((rows[0].seconds, rows[0].completed), (1.0, 2));
    assert_eq!(rows[0].response_max_us, Some(7_000.0));
    series.finish(at(9.0), completed(2));
    assert_eq!(series.rows(None), rows, "finished is finished");
}

#[test]
fn a_series_that_never_started_has_no_rows() {
    let mut series = Series::new();
    assert!(!series.is_due(at(1e9)));
    series.finish(at(1.0), completed(3));
    assert_eq!(series.rows(None), []);
}

#[test]
fn a_response_longer_than_the_last_cell_keeps_its_length_in_the_maximum() {
    let mut series = Series::new();
    series.start(START, Counts::default());
    series.record(400 * SECOND_NS);
    series.finish(at(1.0), completed(1));
    let row = &series.rows(None)[0];
    assert_eq!(row.response_max_us, Some(400e6));
    assert_eq!(row.response_p99_us, Some(400e6));
}

#[test]
fn long_runs_double_the_row_and_lose_nothing() {
    for (seconds, width) in [(3599, 1), (3600, 2), (7199, 2), (7200, 4), (20_000, 8)] {
        let (series, sum) = series_of(seconds, seconds);
        let rows = series.rows(None);
        assert!(rows.len() <= ROWS_MAX);
        assert_eq!(series.width_s, width, "{seconds} s");
        assert_eq!(rows.iter().map(|row| row.completed).sum::<u64>(), sum);
        let length: f64 = rows.iter().map(|row| row.seconds).sum();
        assert!((length - seconds as f64 - 0.25).abs() < 1e-6, "{length}");
        for (place, row) in rows.iter().enumerate() {
            assert_eq!(row.at_s, (place as u64 * width) as f64);
        }
    }
}

#[test]
fn a_doubled_row_has_the_percentiles_of_both() {
    let mut series = Series::new();
    series.start(START, Counts::default());
    for second in 1..=ROWS_MAX {
        // One slow second in each pair: the pair's median is neither's, nor their mean.
        let length = if second % 2 == 0 { 90 * MS } else { MS };
        let n = if second % 2 == 0 { 1 } else { 4 };
        (0..n).for_each(|_| series.record(length));
        series.close_due(at(second as f64), Counts::default());
    }
    series.finish(at(ROWS_MAX as f64), Counts::default());
    let rows = series.rows(None);
    assert_eq!(rows.len(), ROWS_MAX / 2);
    for row in rows {
        let p50 = row.response_p50_us.expect("five samples");
        assert!((1_000.0..1_008.0).contains(&p50), "{p50}");
        assert_eq!(row.response_max_us, Some(90_000.0));
        assert_eq!(row.seconds, 2.0);
    }
}

#[test]
fn wide_distributions_do_not_grow_beyond_the_limit() {
    let mut random = Random::seeded(5);
    let mut series = Series::new();
    series.start(START, Counts::default());
    for second in 1..=1500 {
        (0..10_000).for_each(|_| series.record(random.length(38)));
        series.close_due(at(second as f64), completed(second * 10_000));
        assert!(series.packed_bytes <= PACKED_BYTES_MAX + 2 * 3 * COARSE_CELLS);
    }
    series.finish(at(1500.0), completed(15_000_000));
    assert!(series.width_s > 1, "the limit was never reached");
    let rows = series.rows(None);
    assert_eq!(
        rows.iter().map(|row| row.completed).sum::<u64>(),
        15_000_000
    );
}

#[test]
fn merged_rows_are_those_of_one_series_that_saw_everything() {
    let mut both = Series::new();
    let mut parts = [Series::new(), Series::new()];
    let mut random = Random::seeded(11);
    both.start(START, Counts::default());
    parts
        .iter_mut()
        .for_each(|part| part.start(START, Counts::default()));
    let mut sums = [0, 0];
    for second in 1..=9 {
        for _ in 0..random.below(300) {
            let part = random.below(2) as usize;
            let length = random.length(34);
            both.record(length);
            parts[part].record(length);
            sums[part] += 1;
        }
        both.close_due(at(second as f64), completed(sums[0] * 10 + sums[1] * 10));
        for (part, sum) in parts.iter_mut().zip(sums) {
            part.close_due(at(second as f64), completed(sum * 10));
        }
    }
    both.finish(at(9.5), completed(sums[0] * 10 + sums[1] * 10));
    for (part, sum) in parts.iter_mut().zip(sums) {
        part.finish(at(9.5), completed(sum * 10));
    }
    let [mut merged, other] = parts;
    merged.merge(&other);
    assert_eq!(merged.rows(None), both.rows(None));
}

#[test]
fn the_order_of_merging_does_not_matter() {
    let lengths = [3, 10, 3700, 0, 8000];
    let parts: Vec<Series> = (0..)
        .zip(lengths)
        .map(|(seed, seconds)| series_of(seed, seconds).0)
        .collect();
    let mut forward = Series::new();
    parts.iter().for_each(|part| forward.merge(part));
    let mut backward = Series::new();
    parts.iter().rev().for_each(|part| backward.merge(part));
    let mut nested = parts[3].clone();
    nested.merge(&parts[4]);
    let mut left = parts[0].clone();
    left.merge(&parts[1]);
    left.merge(&parts[2]);
    left.merge(&nested);
    assert_eq!(forward.rows(None), backward.rows(None));
    assert_eq!(forward.rows(None), left.rows(None));
    assert_eq!(forward.width_s, 4);
    assert_eq!(forward.packed_bytes, backward.packed_bytes);
}

#[test]
fn packing_keeps_every_cell() {
    let mut random = Random::seeded(3);
    for n in [0, 1, 10, 5000] {
        let mut open = Open::new();
        for _ in 0..n {
            let index = random.below(COARSE_CELLS as u64) as usize;
            open.add(index, random.next() as u32 >> random.below(32));
        }
        let mut read = Open::new();
        read.unpack(&open.pack());
        assert_eq!(read.cells, open.cells);
        assert_eq!((read.first, read.last), (open.first, open.last));
    }
}
