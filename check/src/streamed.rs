//! The figures of streams that servers are compared by.

use std::collections::BTreeMap;

use measure::histogram::samples_for;
use measure::record::{StreamTimes, Streams};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// A figure of the events in answers, by the name that it has in files and records.
#[derive(
    Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize, JsonSchema,
)]
#[serde(rename_all = "snake_case")]
pub enum Streamed {
    /// The median time to the head of an answer, in microseconds.
    FirstByteP50,
    /// The 99th percentile of that.
    FirstByteP99,
    /// The median time to the first event of an answer, in microseconds.
    FirstEventP50,
    /// The 99th percentile of that.
    FirstEventP99,
    /// The median time from one event to the next, in microseconds.
    EventGapP50,
    /// The 99th percentile of that.
    EventGapP99,
    /// The median time of a stream by its events, in microseconds.
    TimePerEventP50,
    /// The 99th percentile of that.
    TimePerEventP99,
    /// Events a second.
    EventRate,
}

impl Streamed {
    /// All of them, in the order in which they are shown.
    pub const ALL: [Streamed; 9] = [
        Streamed::FirstByteP50,
        Streamed::FirstByteP99,
        Streamed::FirstEventP50,
        Streamed::FirstEventP99,
        Streamed::EventGapP50,
        Streamed::EventGapP99,
        Streamed::TimePerEventP50,
        Streamed::TimePerEventP99,
        Streamed::EventRate,
    ];

    /// Why servers can't be compared by any where a file doesn't ask for events.
    pub const NOT_TIMED: &'static str =
        "figures of events are measured with `events = true` in [workload]: add it";

    /// What servers are compared by where events are timed and nobody says by what: how long users
    /// wait at worst, for the first and for the next.
    pub const USUAL: [Streamed; 2] = [Streamed::FirstEventP99, Streamed::EventGapP99];

    /// Its name in files.
    pub fn name(self) -> &'static str {
        match self {
            Streamed::FirstByteP50 => "first_byte_p50",
            Streamed::FirstByteP99 => "first_byte_p99",
            Streamed::FirstEventP50 => "first_event_p50",
            Streamed::FirstEventP99 => "first_event_p99",
            Streamed::EventGapP50 => "event_gap_p50",
            Streamed::EventGapP99 => "event_gap_p99",
            Streamed::TimePerEventP50 => "time_per_event_p50",
            Streamed::TimePerEventP99 => "time_per_event_p99",
            Streamed::EventRate => "event_rate",
        }
    }

    /// Its name in headings and sentences.
    pub fn called(self) -> &'static str {
        match self {
            Streamed::FirstByteP50 => "median time to the first byte",
            Streamed::FirstByteP99 => "p99 time to the first byte",
            Streamed::FirstEventP50 => "median time to the first event",
            Streamed::FirstEventP99 => "p99 time to the first event",
            Streamed::EventGapP50 => "median gap between events",
            Streamed::EventGapP99 => "p99 gap between events",
            Streamed::TimePerEventP50 => "median time per event",
            Streamed::TimePerEventP99 => "p99 time per event",
            Streamed::EventRate => "events/s",
        }
    }

    /// The same where there is little room.
    pub fn short(self) -> &'static str {
        match self {
            Streamed::FirstByteP50 => "byte p50",
            Streamed::FirstByteP99 => "byte p99",
            Streamed::FirstEventP50 => "1st event p50",
            Streamed::FirstEventP99 => "1st event p99",
            Streamed::EventGapP50 => "gap p50",
            Streamed::EventGapP99 => "gap p99",
            Streamed::TimePerEventP50 => "per event p50",
            Streamed::TimePerEventP99 => "per event p99",
            Streamed::EventRate => "events/s",
        }
    }

    /// Whether it's a time, of which less is better; else it's a rate, of which more is.
    pub fn is_a_time(self) -> bool {
        match self {
            Streamed::FirstByteP50
            | Streamed::FirstByteP99
            | Streamed::FirstEventP50
            | Streamed::FirstEventP99
            | Streamed::EventGapP50
            | Streamed::EventGapP99
            | Streamed::TimePerEventP50
            | Streamed::TimePerEventP99 => true,
            Streamed::EventRate => false,
        }
    }

    /// What a record says; none where lateness spoiled it, or samples are too few.
    pub fn of(self, streams: &Streams) -> Option<f64> {
        let [first_byte, first_event, gap, per_event] = streams.distributions();
        let p50 = |of: StreamTimes<'_>| known(of, "p50", 0.5, of.times.p50);
        let p99 = |of: StreamTimes<'_>| known(of, "p99", 0.99, of.times.p99);
        match self {
            Streamed::FirstByteP50 => p50(first_byte),
            Streamed::FirstByteP99 => p99(first_byte),
            Streamed::FirstEventP50 => p50(first_event),
            Streamed::FirstEventP99 => p99(first_event),
            Streamed::EventGapP50 => p50(gap),
            Streamed::EventGapP99 => p99(gap),
            Streamed::TimePerEventP50 => p50(per_event),
            Streamed::TimePerEventP99 => p99(per_event),
            Streamed::EventRate => (streams.streams > 0).then_some(streams.events_per_second),
        }
    }

    /// Everything that a record says of streams.
    pub fn all_of(streams: Option<&Streams>) -> BTreeMap<Streamed, f64> {
        let of = |streams| {
            let each = Streamed::ALL.into_iter();
            each.filter_map(move |one| Some((one, one.of(streams)?)))
        };
        streams.into_iter().flat_map(of).collect()
    }
}

/// A quantile, where there are samples enough for it, and lateness didn't move it.
fn known(of: StreamTimes<'_>, figure: &str, q: f64, value: Option<f64>) -> Option<f64> {
    let is_enough = of.times.count.unwrap_or(0) >= samples_for(q);
    value.filter(|_| is_enough && !of.is_void(figure))
}

#[cfg(test)]
mod tests {
    use measure::record::{Moved, Times};

    use super::*;

    fn times(count: u64) -> Times {
        Times {
            count: Some(count),
            p50: Some(10.0),
            p99: Some(20.0),
            ..Times::default()
        }
    }

    #[test]
    fn a_quantile_of_too_few_events_or_that_lateness_moved_is_none() {
        let mut streams = Streams {
            streams: 10,
            events_per_second: 7.0,
            first_byte_us: times(10),
            first_event_us: times(1_000),
            event_gap_us: times(1_000),
            time_per_event_us: times(0),
            ..Streams::default()
        };
        let of = |streams: &Streams| -> Vec<&str> {
            let all = Streamed::all_of(Some(streams)).into_keys();
            all.map(Streamed::name).collect()
        };
        let events = ["event_gap_p50", "event_gap_p99", "event_rate"];
        let first = ["first_byte_p50", "first_event_p50", "first_event_p99"];
        assert_eq!(of(&streams), [&first[..], &events].concat());
        let moved = vec![Moved {
            figure: "p50".to_owned(),
            by_us: 9.0,
            allowed_us: 1.0,
        }];
        // What moves a time to the first event may be little of it, and all of that to the head.
        streams.void_first_byte.clone_from(&moved);
        assert_eq!(of(&streams), [&first[1..], &events].concat());
        streams.void = moved;
        assert_eq!(of(&streams), [&first[2..], &events].concat());
        assert!(Streamed::all_of(None).is_empty());
    }

    #[test]
    fn a_figure_has_one_name_in_files_and_in_records() {
        for one in Streamed::ALL {
            let written = serde_json::to_value(one).expect("a text");
            assert_eq!(written, one.name());
        }
    }
}
