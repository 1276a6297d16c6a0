//! An interval as a line of JSON.

use std::collections::BTreeMap;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::Interval;
use crate::histogram::Histogram;
use crate::record::Times;
use crate::tally::{Counted, StepTally, StreamTally};

/// What an interval is a part of.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Phase {
    /// The measured window.
    Measure,
    /// The time after it, in which the last answers were awaited.
    Drain,
}

/// One interval, as a line of JSON. Adding up the counts of all lines gives those of the record.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Line {
    /// The number of the interval, from 0.
    pub seq: u64,
    /// How many intervals this line holds; more than one where the reader was late. (Where the
    /// generator was late, one interval is longer than a second.) The next line's `seq` is
    /// `seq + joined`.
    pub joined: u64,
    /// The part of the run.
    pub phase: Phase,
    /// Seconds from the start of the measured window to the start of the interval.
    pub at_s: f64,
    /// The length of the interval in seconds.
    pub seconds: f64,
    /// Exchanges that fell due in it by the schedule, whether they were sent or not; null in a
    /// closed loop, and where users go through flows.
    pub offered: Option<u64>,
    /// Exchanges that were completed in it.
    pub completed: u64,
    /// Exchanges that failed in it.
    pub failed: u64,
    /// Exchanges that had neither succeeded nor failed when the run ended.
    pub unfinished: u64,
    /// Samples in the times below that are only lower bounds.
    pub censored: u64,
    /// Bytes received in it.
    pub bytes_received: u64,
    /// Bytes sent in it.
    pub bytes_sent: u64,
    /// Connections that stood when it ended.
    pub connected: u64,
    /// From intended to done, in microseconds; censored samples included as lower bounds.
    pub response_time_us: Times,
    /// The exact sum of these times, in microseconds.
    pub response_time_sum_us: f64,
    /// From sent to done, in microseconds; censored samples included as lower bounds.
    pub service_time_us: Times,
    /// From intended to sent, in microseconds; all null in a closed loop.
    pub lateness_us: Times,
    /// Answers by status.
    pub status: BTreeMap<String, u64>,
    /// Errors by kind, those of connections among them.
    pub errors: BTreeMap<String, u64>,
    /// The same by step; left out where all requests are alike.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub steps: Vec<IntervalStep>,
    /// What was seen inside answers; left out where nobody looked, or nothing came.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub streams: Option<IntervalStreams>,
    /// The whole distributions; left out where nobody asked for them.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub histograms: Option<IntervalHistograms>,
}

/// What became of one step in an interval.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct IntervalStep {
    /// What the workload calls it.
    pub name: String,
    /// Exchanges that were completed.
    pub completed: u64,
    /// Exchanges that failed.
    pub failed: u64,
    /// Exchanges that had neither succeeded nor failed when the run ended.
    pub unfinished: u64,
    /// From intended to done, in microseconds.
    pub response_time_us: Times,
    /// From sent to done, in microseconds.
    pub service_time_us: Times,
    /// Failed exchanges by kind.
    pub errors: BTreeMap<String, u64>,
    /// The whole distribution of `response_time_us`, as in [`IntervalHistograms`]; left out where
    /// nobody asked for it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub response_time: Option<String>,
}

/// What was seen inside answers in an interval, as in `streams` of the record.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct IntervalStreams {
    /// Answers that were streams of events.
    pub streams: u64,
    /// Events that came.
    pub events: u64,
    /// Samples of the first event that are only lower bounds.
    pub censored: u64,
    /// From intended to the head of the answer, in microseconds.
    pub first_byte_us: Times,
    /// From intended to the first event, in microseconds.
    pub first_event_us: Times,
    /// From one event to the next one of its stream, in microseconds.
    pub event_gap_us: Times,
    /// Of each stream that was over: the time from its first event to its last, by its events.
    pub time_per_event_us: Times,
}

/// Whole distributions in HdrHistogram's format V2: nanoseconds, deflated, in base64.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct IntervalHistograms {
    /// From intended to done.
    pub response_time: String,
    /// From sent to done.
    pub service_time: String,
}

/// How intervals are written as lines.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct LineStyle {
    /// The names of the steps, where there are several.
    pub steps: Vec<String>,
    /// With whole distributions.
    pub histograms: bool,
}

impl Line {
    /// What an interval says.
    pub fn of(interval: &Interval, style: &LineStyle) -> Line {
        let counted = &interval.counted;
        let steps = style.steps.iter().zip(&counted.steps);
        Line {
            seq: interval.seq,
            joined: interval.joined,
            phase: interval.phase,
            at_s: interval.from_ns as f64 / 1e9,
            seconds: interval.seconds(),
            offered: interval.offered,
            completed: counted.completed,
            failed: counted.failed,
            unfinished: counted.unfinished,
            censored: counted.censored,
            bytes_received: counted.bytes_received + counted.drain.bytes_received,
            bytes_sent: counted.bytes_sent + counted.drain.bytes_sent,
            connected: interval.connected,
            response_time_us: Times::of(&counted.response),
            response_time_sum_us: counted.response.sum() as f64 / 1000.0,
            service_time_us: Times::of(&counted.service),
            lateness_us: Times::of(&counted.lateness),
            status: statuses(counted),
            errors: errors(counted.errors.iter()),
            steps: steps
                .map(|(name, step)| IntervalStep::of(name, step, style.histograms))
                .collect(),
            streams: IntervalStreams::of(&counted.streams),
            histograms: style.histograms.then(|| IntervalHistograms::of(counted)),
        }
    }
}

impl IntervalStep {
    fn of(name: &str, step: &StepTally, histograms: bool) -> IntervalStep {
        let whole = |times: &Histogram| histograms.then(|| times.to_hdr_v2_base64());
        IntervalStep {
            name: name.to_owned(),
            completed: step.completed,
            failed: step.failed,
            unfinished: step.unfinished,
            response_time_us: Times::of(&step.response),
            service_time_us: Times::of(&step.service),
            errors: errors(step.errors.iter()),
            response_time: whole(&step.response),
        }
    }
}

impl IntervalStreams {
    /// None where nothing came of any.
    fn of(streams: &StreamTally) -> Option<IntervalStreams> {
        (!streams.is_empty()).then(|| IntervalStreams {
            streams: streams.streams,
            events: streams.events,
            censored: streams.censored,
            first_byte_us: Times::of(&streams.first_byte),
            first_event_us: Times::of(&streams.first_event),
            event_gap_us: Times::of(&streams.event_gap),
            time_per_event_us: Times::of(&streams.time_per_event),
        })
    }
}

impl IntervalHistograms {
    fn of(counted: &Counted) -> IntervalHistograms {
        IntervalHistograms {
            response_time: counted.response.to_hdr_v2_base64(),
            service_time: counted.service.to_hdr_v2_base64(),
        }
    }
}

fn statuses(counted: &Counted) -> BTreeMap<String, u64> {
    let counts = counted.statuses.iter();
    counts.map(|(code, n)| (code.to_string(), n)).collect()
}

fn errors(
    counts: impl Iterator<Item = (crate::counters::ErrorKind, u64)>,
) -> BTreeMap<String, u64> {
    counts
        .map(|(kind, n)| (kind.name().to_owned(), n))
        .collect()
}

/// The JSON Schema of a [`Line`].
pub fn schema_json() -> String {
    crate::record::schema_of::<Line>()
}
