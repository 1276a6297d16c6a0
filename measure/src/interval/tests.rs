use super::*;
use crate::tally::{Loop, Tally};
use crate::time::Time;

const START: Time = Time(1_000_000_000);

fn interval(seq: u64, times_us: &[u64]) -> Interval {
    let mut tally = Tally::new(Loop::Open);
    tally.start(START);
    for us in times_us {
        let done = START.plus(us * 1000);
        tally.completed(START, START, done, 200);
    }
    tally.bytes_received = 10 * times_us.len() as u64;
    let mut counted = Counted::new();
    tally.hand_over(&mut counted);
    Interval {
        seq,
        joined: 1,
        phase: Phase::Measure,
        from_ns: seq * 1_000_000_000,
        until_ns: (seq + 1) * 1_000_000_000,
        offered: Some(times_us.len() as u64),
        connected: seq,
        counted,
    }
}

#[test]
fn joined_intervals_say_what_one_of_their_length_would_have_said() {
    let mut first = interval(4, &[100, 300]);
    first.join(&interval(5, &[50, 7_000]));
    first.join(&interval(6, &[]));
    let line = Line::of(&first, &LineStyle::default());
    assert_eq!(
        (line.seq, line.joined, line.at_s, line.seconds),
        (4, 3, 4.0, 3.0)
    );
    assert_eq!(
        (line.offered, line.completed, line.connected),
        (Some(4), 4, 6)
    );
    let times = line.response_time_us;
    assert_eq!(
        (times.count, times.min, times.max),
        (Some(4), Some(50.0), Some(7_000.0))
    );
    assert_eq!(
        (line.response_time_sum_us, line.bytes_received),
        (7_450.0, 40)
    );
}

#[test]
fn a_line_is_one_line_of_json_with_the_histograms_where_asked() {
    let interval = interval(0, &[100, 300]);
    let plain = Line::of(&interval, &LineStyle::default());
    let text = interval.to_json(&LineStyle::default()).unwrap();
    assert_eq!(
        (text.matches('\n').count(), text.ends_with('\n')),
        (1, true)
    );
    assert_eq!(serde_json::from_str::<Line>(&text).unwrap(), plain);
    assert!(!text.contains("histograms") && !text.contains("steps"));
    let style = LineStyle {
        histograms: true,
        ..LineStyle::default()
    };
    let histograms = Line::of(&interval, &style).histograms.expect("asked for");
    let read = crate::histogram::Histogram::from_hdr_v2_base64(&histograms.response_time);
    assert_eq!(read.unwrap().count(), 2);
}

#[test]
fn what_was_handed_over_goes_on_in_the_series_and_comes_back_whole() {
    let mut tally = Tally::new(Loop::Open);
    tally.start(START);
    tally.completed(START, START, START.plus(5_000), 200);
    let mut first = Counted::new();
    tally.hand_over(&mut first);
    tally.tick(START.plus(1_000_000_000));
    tally.completed(START, START, START.plus(9_000), 404);
    assert_eq!((tally.completed, tally.ended()), (1, (2, 0)));
    tally.finish(START.plus(2_000_000_000));
    let rows: Vec<u64> = tally.rows().iter().map(|row| row.completed).collect();
    assert_eq!((rows, tally.inside().completed), (vec![1, 1], 2));
    assert_eq!(tally.inside().strange, 1);
    tally.take_back(&first);
    assert_eq!((tally.completed, tally.response.max()), (2, 9_000));
    assert_eq!((tally.ended(), tally.inside().completed), ((2, 0), 2));
    // An emptied buffer is like a new one.
    first.clear();
    assert_eq!(first.sums(), Default::default());
    assert!(first.response.is_empty() && first.response.max() == 0);
    assert_eq!(first.statuses.total(), 0);
}

#[test]
fn a_packed_interval_says_the_same_as_the_one_that_was_packed() {
    let interval = interval(3, &[100, 300, 7_000]);
    let packed = Packed::of(&interval);
    let style = LineStyle {
        histograms: true,
        ..LineStyle::default()
    };
    let unpacked = packed.unpack().unwrap();
    assert_eq!(Line::of(&unpacked, &style), Line::of(&interval, &style));
    assert_eq!(Packed::of(&unpacked), packed);
}
