//! Figures of what was seen inside answers, such as `first_event_p99` and `event_gap_max`.

use measure::histogram::Histogram;
use measure::record::{Streams, Times};

use super::OfTimes;
use crate::Record;

/// A distribution of times of streams.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum OfStream {
    /// From when an exchange was due to the head of its answer.
    FirstByte,
    /// From then to the first event.
    FirstEvent,
    /// From one event to the next.
    Gap,
    /// The time of a stream by its events.
    PerEvent,
}

const NAMES: [(&str, OfStream); 4] = [
    ("first_byte", OfStream::FirstByte),
    ("first_event", OfStream::FirstEvent),
    ("event_gap", OfStream::Gap),
    ("time_per_event", OfStream::PerEvent),
];

/// What figures are called by those who serve language models, with their names here.
const ELSEWHERE: [(&str, &str); 10] = [
    ("ttft", "first_event"),
    ("time_to_first_token", "first_event"),
    ("ttfb", "first_byte"),
    ("time_to_first_byte", "first_byte"),
    ("itl", "event_gap"),
    ("tbt", "event_gap"),
    ("inter_token_latency", "event_gap"),
    ("time_between_tokens", "event_gap"),
    ("tpot", "time_per_event"),
    ("time_per_output_token", "time_per_event"),
];

/// The same of the rate of all tokens.
const RATES: [&str; 5] = [
    "tokens_per_second",
    "token_rate",
    "tokens/s",
    "tps",
    "events_per_second",
];

/// Which figure is meant by a name that it has elsewhere, as a sentence; none where it's no such
/// name.
pub(super) fn meant(name: &str) -> Option<String> {
    let name = name.to_lowercase();
    if RATES.contains(&name.as_str()) {
        return Some(format!("{name} is event_rate here"));
    }
    let (elsewhere, here) = ELSEWHERE
        .into_iter()
        .find(|(elsewhere, _)| name.starts_with(elsewhere))?;
    let rest = name[elsewhere.len()..].trim_start_matches(['_', ':']);
    // Without a percentile it may be any of them.
    let what = OfTimes::read(rest).map_or("p99", |_| rest);
    Some(format!("{name} is {here}_{what} here"))
}

/// Why nothing can be said.
pub(super) const NOT_LOOKED_FOR: &str = "events weren't looked for: add --events";

impl OfStream {
    /// Reads `first_event_p99` or `first_event:p99`; none where that is no figure of a stream.
    pub(super) fn read(name: &str) -> Option<(OfStream, OfTimes)> {
        NAMES.iter().find_map(|(prefix, of)| {
            let what = name.strip_prefix(prefix)?.strip_prefix(['_', ':'])?;
            Some((*of, OfTimes::read(what)?))
        })
    }

    /// The summary of it, and the whole distribution.
    fn times(self, streams: &Streams) -> (&Times, &str) {
        let Streams { histograms, .. } = streams;
        match self {
            OfStream::FirstByte => (&streams.first_byte_us, &histograms.first_byte),
            OfStream::FirstEvent => (&streams.first_event_us, &histograms.first_event),
            OfStream::Gap => (&streams.event_gap_us, &histograms.event_gap),
            OfStream::PerEvent => (&streams.time_per_event_us, &histograms.time_per_event),
        }
    }

    /// What the record says; none where there was nothing to measure.
    pub(super) fn measure_ns(self, what: OfTimes, record: &Record) -> Option<f64> {
        let (times, text) = self.times(record.streams.as_ref()?);
        what.measure_ns(times, text)
    }

    /// The whole distribution.
    pub(super) fn histogram(self, record: &Record) -> Option<Histogram> {
        let (_, text) = self.times(record.streams.as_ref()?);
        Histogram::from_hdr_v2_base64(text).ok()
    }

    /// Whether it counts from when an exchange was due, so that lateness is part of it.
    pub(super) fn is_from_due(self) -> bool {
        matches!(self, OfStream::FirstByte | OfStream::FirstEvent)
    }

    /// How many of its samples are lower bounds, of how many.
    pub(super) fn censored(self, streams: &Streams) -> (u64, u64) {
        let censored = match self {
            OfStream::FirstByte | OfStream::FirstEvent => streams.censored,
            OfStream::Gap => streams.censored_gaps,
            OfStream::PerEvent => 0,
        };
        (censored, self.times(streams).0.count.unwrap_or(0))
    }
}
