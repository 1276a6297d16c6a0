//! Figures of what was seen inside answers, such as `first_event_p99` and `event_gap_max`.

use measure::histogram::Histogram;
use measure::record::{StreamTimes, Streams};

use super::OfTimes;
use crate::Record;

/// A distribution of times of streams, in the order of [`Streams::distributions`].
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
    let what = match OfTimes::read(rest) {
        Some(_) => rest.to_owned(),
        // Without a percentile it may be any of them.
        None => OfTimes::with_point(rest).unwrap_or_else(|| "p99".to_owned()),
    };
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

    /// What a record has of it.
    pub(super) fn of(self, streams: &Streams) -> StreamTimes<'_> {
        streams.distributions()[self as usize]
    }

    /// What the record says; none where there was nothing to measure.
    pub(super) fn measure_ns(self, what: OfTimes, record: &Record) -> Option<f64> {
        let seen = self.of(record.streams.as_ref()?);
        what.measure_ns(seen.times, seen.histogram)
    }

    /// The whole distribution.
    pub(super) fn histogram(self, record: &Record) -> Option<Histogram> {
        Histogram::from_hdr_v2_base64(self.of(record.streams.as_ref()?).histogram).ok()
    }

    /// How many of its samples are lower bounds, of how many.
    pub(super) fn censored(self, streams: &Streams) -> (u64, u64) {
        let seen = self.of(streams);
        (seen.censored, seen.times.count.unwrap_or(0))
    }

    /// What its samples are, in words.
    pub(super) fn samples(self) -> &'static str {
        match self {
            OfStream::FirstByte => "waits for an answer",
            _ => "waits for an event",
        }
    }
}
