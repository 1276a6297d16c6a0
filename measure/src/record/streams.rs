//! What was seen inside answers that come bit by bit.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::times::Times;
use super::{Moved, Record, rate};
use crate::tally::StreamTally;

/// Streams of events (server-sent events, or lines of JSON) as answers to exchanges. Events and
/// gaps count where they come inside the window; the other figures are those of the window's
/// exchanges.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(default)]
pub struct Streams {
    /// Answers that were streams of events.
    pub streams: u64,
    /// Of these: over without an event.
    pub empty: u64,
    /// Of these: ended by an event that says so, `data: [DONE]`, which is in no other count.
    pub done: u64,
    /// Of these: over in the middle of an event, which counts for nothing.
    pub torn: u64,
    /// Of the unfinished exchanges: the ones whose streams still went on when the run ended, which
    /// is no failure.
    pub cut_off: u64,
    /// Events that came inside the window.
    pub events: u64,
    /// The same per second of the window.
    pub events_per_second: f64,
    /// From intended to the head of the answer, in microseconds; for every answer, a stream or not,
    /// and with lower bounds for those that never came.
    pub first_byte_us: Times,
    /// From intended to the first event, in microseconds; with lower bounds for those that never
    /// came.
    pub first_event_us: Times,
    /// From one event to the next one of its stream, in microseconds: 0 for events that came in one
    /// piece.
    pub event_gap_us: Times,
    /// For each stream that was over and had at least two events: how long it took from the first
    /// to the last, by the events behind the first one, in microseconds.
    pub time_per_event_us: Times,
    /// Of the samples of `first_byte_us`: lower bounds.
    pub censored_heads: u64,
    /// Of the samples of `first_event_us`: lower bounds.
    pub censored: u64,
    /// Of the samples of `event_gap_us`: lower bounds.
    pub censored_gaps: u64,
    /// Figures of `first_event_us` that can't be trusted, because the generator's own lateness
    /// could have moved them by more than their precision.
    pub void: Vec<Moved>,
    /// The same of `first_byte_us`.
    pub void_first_byte: Vec<Moved>,
    /// The whole distributions: HdrHistogram's format V2 in nanoseconds, deflated, in base64.
    pub histograms: StreamHistograms,
}

/// Whole distributions of streams.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(default)]
pub struct StreamHistograms {
    /// From intended to the head of the answer.
    pub first_byte: String,
    /// From intended to the first event.
    pub first_event: String,
    /// From one event to the next.
    pub event_gap: String,
    /// The time of a stream by its events.
    pub time_per_event: String,
}

/// One distribution of streams' times.
#[derive(Clone, Copy, Debug)]
pub struct StreamTimes<'a> {
    /// Its name in thresholds and files: `first_event`.
    pub name: &'static str,
    /// The summary, in microseconds.
    pub times: &'a Times,
    /// The whole of it, as records have it.
    pub histogram: &'a str,
    /// Where it counts from when an exchange was due, so that lateness is part of it: the figures
    /// that lateness could have moved.
    pub void: Option<&'a Vec<Moved>>,
    /// How many samples are lower bounds.
    pub censored: u64,
}

impl StreamTimes<'_> {
    /// Its name in words: `first event`.
    pub fn words(&self) -> String {
        self.name.replace('_', " ")
    }

    /// Whether lateness could have moved this figure: `p99`.
    pub fn is_void(&self, figure: &str) -> bool {
        let void = self.void.into_iter().flatten();
        void.into_iter().any(|one| one.figure == figure)
    }
}

/// What a record needs of streams besides their tally.
#[derive(Clone, Debug, Default)]
pub struct StreamFacts {
    /// Figures of the time to the first event that lateness could have moved.
    pub void: Vec<Moved>,
    /// The same of the time to the first byte.
    pub void_first_byte: Vec<Moved>,
}

impl Streams {
    pub(super) fn of(facts: StreamFacts, streams: &StreamTally, duration_s: f64) -> Streams {
        Streams {
            streams: streams.streams,
            empty: streams.empty,
            done: streams.done,
            torn: streams.torn,
            cut_off: streams.cut_off,
            events: streams.events,
            events_per_second: rate(streams.events, duration_s),
            first_byte_us: Times::of(&streams.first_byte),
            first_event_us: Times::of(&streams.first_event),
            event_gap_us: Times::of(&streams.event_gap),
            time_per_event_us: Times::of(&streams.time_per_event),
            censored_heads: streams.censored_heads,
            censored: streams.censored,
            censored_gaps: streams.censored_gaps,
            void: facts.void,
            void_first_byte: facts.void_first_byte,
            histograms: StreamHistograms::of(streams),
        }
    }

    /// All distributions of times, in the order in which they are shown.
    pub fn distributions(&self) -> [StreamTimes<'_>; 4] {
        let whole = &self.histograms;
        let of = |name, times, histogram, void, censored| StreamTimes {
            name,
            times,
            histogram,
            void,
            censored,
        };
        [
            of(
                "first_byte",
                &self.first_byte_us,
                &whole.first_byte,
                Some(&self.void_first_byte),
                self.censored_heads,
            ),
            of(
                "first_event",
                &self.first_event_us,
                &whole.first_event,
                Some(&self.void),
                self.censored,
            ),
            of(
                "event_gap",
                &self.event_gap_us,
                &whole.event_gap,
                None,
                self.censored_gaps,
            ),
            of(
                "time_per_event",
                &self.time_per_event_us,
                &whole.time_per_event,
                None,
                0,
            ),
        ]
    }
}

impl<P> Record<P> {
    /// Whether nothing was completed for no other reason than that all streams still went on when
    /// the run ended: what came of them was measured.
    pub fn only_streamed(&self) -> bool {
        let events = self.streams.as_ref().map_or(0, |streams| streams.events);
        let exchanges = &self.exchanges;
        exchanges.completed + exchanges.failed == 0 && events > 0
    }
}

impl StreamHistograms {
    fn of(streams: &StreamTally) -> StreamHistograms {
        StreamHistograms {
            first_byte: streams.first_byte.to_hdr_v2_base64(),
            first_event: streams.first_event.to_hdr_v2_base64(),
            event_gap: streams.event_gap.to_hdr_v2_base64(),
            time_per_event: streams.time_per_event.to_hdr_v2_base64(),
        }
    }
}
