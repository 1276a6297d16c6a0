//! The record of a hold. Its field names are a promise to everyone who reads records, like those of
//! a run's record; times are in microseconds, but in nanoseconds in the histograms.

use std::collections::BTreeMap;

use schemars::JsonSchema;
use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};

use super::broadcasts::Heard;
use super::tally::{Counts, Tally};
use crate::counters::Errors;
use crate::host::Host;
use crate::record::{Bytes, EndedBy, Generator, Judged, Times, read_json, schema_of, write_json};
use crate::series::{Gains, Series};

/// The version of the schema of [`Record`] that this crate writes and reads.
pub const SCHEMA_VERSION: u32 = 1;

/// The result of a hold, with a plan of type `P`.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Record<P> {
    /// The version of this schema.
    pub schema_version: u32,
    /// What was requested.
    pub plan: P,
    /// The machine that held the connections.
    pub host: Host,
    /// The process that held them; its exchanges are the heartbeats, and its window is the whole
    /// time.
    pub generator: Generator,
    /// Seconds from the first attempt to connect until every connection had been tried.
    pub opening_s: f64,
    /// Seconds of the hold, which began then; 0 if it never did.
    pub duration_s: f64,
    /// What happened to the connections.
    pub connections: Connections,
    /// What happened to the heartbeats.
    pub heartbeats: Heartbeats,
    /// From the start of an attempt until the connection can be used.
    pub set_up_time_us: Times,
    /// From the loss of a connection until it was open again, with the back-off and the wait for a
    /// turn at `open_rate`.
    pub re_establish_time_us: Times,
    /// From sending a heartbeat to its answer; heartbeats that were given up are included with the
    /// time spent waiting for them.
    pub heartbeat_time_us: Times,
    /// From when a heartbeat was due until it was sent.
    pub lateness_us: Times,
    /// Why open connections were lost, by kind.
    pub losses: BTreeMap<String, u64>,
    /// Why attempts to connect failed, by kind.
    pub failed_attempts: BTreeMap<String, u64>,
    /// Why heartbeats failed, by kind.
    pub heartbeat_errors: BTreeMap<String, u64>,
    /// Answers to heartbeats by status; empty where an answer has none, such as a pong.
    pub status: BTreeMap<String, u64>,
    /// WebSockets that the server closed, by the code of its close frame; 1005: it had none.
    #[serde(default)]
    pub close_codes: BTreeMap<String, u64>,
    /// What happened to broadcasts; null where none was to be said.
    #[serde(default)]
    pub broadcasts: Option<Heard>,
    /// Bytes on the wire.
    pub bytes: Bytes,
    /// What holding cost in memory.
    pub memory: Memory,
    /// From the first attempt to the end, a row a second (longer rows after an hour).
    pub series: Vec<Row>,
    /// The whole distributions.
    pub histograms: Histograms,
    /// Whether the figures can be trusted; if not, `warnings` says why.
    pub valid: bool,
    /// What readers of the figures need to know.
    pub warnings: Vec<String>,
    /// The hold's thresholds, in the order given.
    #[serde(default)]
    pub thresholds: Vec<Judged>,
    /// What ended the hold.
    pub ended_by: EndedBy,
}

/// What happened to the connections, from the first attempt on.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Connections {
    /// Connections requested.
    pub asked: u64,
    /// Of those: open when the hold began and never lost.
    pub survived: u64,
    /// `survived` ÷ `asked`, 0 to 1; null if the hold never began.
    pub survival: Option<f64>,
    /// Connections open when the hold ended.
    pub standing: u64,
    /// How often a connection was opened, reconnects included.
    pub opened: u64,
    /// How often an open connection was lost.
    pub lost: u64,
    /// How often a lost connection was open again.
    pub reconnects: u64,
    /// `reconnects` ÷ `hours`: reconnects per connection and hour; null without any time.
    pub reconnects_per_hour: Option<f64>,
    /// Hours from the first attempt to the end, summed over all connections.
    pub hours: f64,
    /// Connections that were given up after the last retry.
    pub given_up: u64,
}

/// What happened to the heartbeats.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Heartbeats {
    /// Due: one in each interval on every connection, from the end of its first attempt to the end
    /// of the hold. Always `sent` + `skipped`.
    #[serde(default)]
    pub due: u64,
    /// Heartbeats that were sent, or that could not be written.
    pub sent: u64,
    /// Answered as expected.
    pub answered: u64,
    /// Couldn't be written, weren't answered in time, were answered wrongly, or were lost with
    /// their connection.
    pub failed: u64,
    /// Neither answered nor failed when everything was over.
    pub unfinished: u64,
    /// Of those that failed, are unfinished or were skipped: the ones in the histogram as lower
    /// bounds. A heartbeat skipped because the one before was unanswered counts with the time from
    /// when it was due until that one was answered or given up.
    pub censored: u64,
    /// Due but not sent: the one before was still unanswered, or the connection was down.
    pub skipped: u64,
    /// Of those: the connection was down.
    #[serde(default)]
    pub skipped_down: u64,
    /// Of `skipped`: the one before was still unanswered, and failed.
    #[serde(default)]
    pub skipped_in_vain: u64,
    /// In vain (`failed` + `skipped_down` + `skipped_in_vain`) ÷ (`answered` + in vain), 0 to 1:
    /// the share of write failures; null without any.
    pub failure_share: Option<f64>,
}

/// The memory cost of holding; null where it can't be read.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Memory {
    /// Resident memory of the process before the first connection, in bytes.
    pub before_bytes: Option<u64>,
    /// The highest resident memory seen while connections were held.
    pub held_bytes: Option<u64>,
    /// The most connections open when memory was read.
    pub connections: u64,
    /// The growth of the process per connection: (`held_bytes` − `before_bytes`) ÷ `connections`.
    pub bytes_per_connection: Option<f64>,
}

/// Among fewer connections, what the process takes for itself would be most of what each seems to.
const TOLD_MIN: u64 = 300;

impl Memory {
    /// What each connection takes, for people; none of a few.
    pub fn told_bytes(&self) -> Option<f64> {
        self.bytes_per_connection
            .filter(|_| self.connections >= TOLD_MIN)
    }

    /// What connections have cost: the process without them is no part of it.
    fn gained(&self) -> Option<u64> {
        Some(self.held_bytes?.saturating_sub(self.before_bytes?))
    }
}

/// One row of the series.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Row {
    /// Seconds from the first attempt to the start of this row.
    pub at_s: f64,
    /// The length of this row in seconds.
    pub seconds: f64,
    /// Connections open at its end.
    pub standing: u64,
    /// How often a connection was opened in it, reconnects included.
    pub opened: u64,
    /// How often one was lost.
    pub lost: u64,
    /// How often a lost one was open again.
    pub reconnects: u64,
    /// Heartbeats that were answered in it.
    pub answered: u64,
    /// Heartbeats that failed in it.
    pub failed: u64,
    /// Median round trip of a heartbeat in microseconds, to two digits; null if there was none.
    pub heartbeat_p50_us: Option<f64>,
    /// 99th percentile of the round trip, likewise.
    pub heartbeat_p99_us: Option<f64>,
    /// Longest round trip, likewise.
    pub heartbeat_max_us: Option<f64>,
    /// Attempts to connect that were begun in it; null in older records.
    #[serde(default)]
    pub attempts: Option<u64>,
    /// Why open connections were lost in it, by kind; left out where none was.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub losses: BTreeMap<String, u64>,
    /// Resident memory of the process, the highest seen in it, in bytes; null where it wasn't read.
    #[serde(default)]
    pub resident_bytes: Option<u64>,
}

/// Whole distributions in HdrHistogram's format V2, deflated, in base64.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Histograms {
    /// The unit of the values: always "ns".
    pub unit: String,
    /// From sending a heartbeat to its answer; for one that was skipped because the one before was
    /// unanswered, from when it was due until that one was answered or given up.
    pub heartbeat_time: String,
    /// From the start of an attempt until the connection can be used.
    pub set_up_time: String,
    /// From the loss of a connection until it was open again.
    pub re_establish_time: String,
}

/// What a record needs besides the tally.
#[derive(Clone, Debug)]
pub struct Facts<P> {
    /// What was requested.
    pub plan: P,
    /// How many connections that were.
    pub asked: u64,
    /// The machine.
    pub host: Host,
    /// The process; `cpu_us_per_exchange` is computed by [`Record::assemble`].
    pub generator: Generator,
    /// Seconds from the first attempt until every connection had been tried.
    pub opening_s: f64,
    /// Seconds of the hold; 0 if it never began.
    pub duration_s: f64,
    /// Seconds from one broadcast to the next; 0 where there is none.
    pub broadcast_s: f64,
    /// Memory before, while holding, and how many connections stood then;
    /// `bytes_per_connection` is computed.
    pub memory: Memory,
    /// Resident memory of the process over time: seconds from the first attempt, and bytes.
    pub resident: Vec<(f64, u64)>,
    /// Whether the figures can be trusted.
    pub valid: bool,
    /// What a reader must know.
    pub warnings: Vec<String>,
    /// What ended the hold.
    pub ended_by: EndedBy,
}

impl<P> Record<P> {
    /// The record of a hold: `tally` is what all workers counted, merged.
    pub fn assemble(tally: &Tally, facts: Facts<P>) -> Record<P> {
        let mut generator = facts.generator;
        let exchanged = tally.heartbeat.count() - tally.censored;
        generator.cpu_us_per_exchange = generator
            .cpu_seconds
            .and_then(|seconds| ratio(seconds * 1e6, exchanged as f64));
        let memory = Memory {
            bytes_per_connection: facts.memory.gained().and_then(|bytes| {
                let connections = facts.memory.connections as f64;
                ratio(bytes as f64, connections)
            }),
            ..facts.memory
        };
        Record {
            schema_version: SCHEMA_VERSION,
            plan: facts.plan,
            host: facts.host,
            generator,
            opening_s: facts.opening_s,
            duration_s: facts.duration_s,
            connections: Connections::of(tally, facts.asked, facts.duration_s),
            heartbeats: Heartbeats::of(tally),
            set_up_time_us: Times::of(&tally.set_up),
            re_establish_time_us: Times::of(&tally.re_establish),
            heartbeat_time_us: Times::of(&tally.heartbeat),
            lateness_us: Times::of(&tally.lateness),
            losses: by_name(&tally.counts.losses),
            failed_attempts: by_name(&tally.attempts),
            heartbeat_errors: by_name(&tally.heartbeat_errors),
            status: tally
                .statuses
                .iter()
                .map(|(code, n)| (code.to_string(), n))
                .collect(),
            close_codes: tally.closes.by_code(),
            broadcasts: Heard::of(
                &tally.broadcasts,
                (facts.broadcast_s, facts.duration_s),
                facts.ended_by,
            ),
            bytes: Bytes {
                received: tally.bytes_received,
                sent: tally.bytes_sent,
            },
            memory,
            series: rows(&tally.series, &facts.resident),
            histograms: Histograms {
                unit: "ns".to_owned(),
                heartbeat_time: tally.heartbeat.to_hdr_v2_base64(),
                set_up_time: tally.set_up.to_hdr_v2_base64(),
                re_establish_time: tally.re_establish.to_hdr_v2_base64(),
            },
            valid: facts.valid,
            warnings: facts.warnings,
            thresholds: Vec::new(),
            ended_by: facts.ended_by,
        }
    }
}

impl<P> Record<P> {
    /// Every distribution of times that holds any, in microseconds, by name, in the order in which
    /// a reader wants them.
    pub fn times(&self) -> Vec<(&'static str, &Times)> {
        let heard = self.broadcasts.as_ref();
        let all = [
            ("heartbeat", Some(&self.heartbeat_time_us)),
            ("broadcast", heard.map(|heard| &heard.heard_after_us)),
            ("last to hear", heard.map(|heard| &heard.last_after_us)),
            ("set-up", Some(&self.set_up_time_us)),
            ("re-establish", Some(&self.re_establish_time_us)),
            ("lateness", Some(&self.lateness_us)),
        ];
        let there = all
            .into_iter()
            .filter_map(|(name, times)| Some((name, times?)));
        there.filter(|(_, times)| times.max.is_some()).collect()
    }
}

impl<P: Serialize> Record<P> {
    /// The record as indented JSON with a line feed at its end. The error is the plan's: one that
    /// cannot be written as JSON.
    pub fn to_json(&self) -> Result<String, String> {
        write_json(self)
    }
}

impl<P: DeserializeOwned> Record<P> {
    /// Reads a record. An error says what is wrong with `text`, first of all another version.
    pub fn from_json(text: &str) -> Result<Record<P>, String> {
        read_json(text, SCHEMA_VERSION)
    }
}

/// The JSON Schema of [`Record`] with plans of type `P`, as indented JSON with a line feed at its
/// end.
pub fn schema_json<P: JsonSchema>() -> String {
    schema_of::<Record<P>>()
}

impl Connections {
    fn of(tally: &Tally, asked: u64, duration_s: f64) -> Connections {
        let hours = tally.watched_ns as f64 / 3.6e12;
        let counts = &tally.counts;
        Connections {
            asked,
            survived: tally.survived,
            survival: ratio(tally.survived as f64, asked as f64).filter(|_| duration_s > 0.0),
            standing: tally.standing,
            opened: counts.opened,
            lost: counts.lost(),
            reconnects: counts.reconnects,
            reconnects_per_hour: ratio(counts.reconnects as f64, hours),
            hours,
            given_up: tally.given_up,
        }
    }
}

impl Heartbeats {
    fn of(tally: &Tally) -> Heartbeats {
        let Counts {
            answered, failed, ..
        } = tally.counts;
        let in_vain = failed + tally.skipped_down + tally.skipped_in_vain;
        Heartbeats {
            due: tally.due,
            sent: tally.sent,
            answered,
            failed,
            unfinished: tally.unfinished,
            censored: tally.censored,
            skipped: tally.skipped,
            skipped_down: tally.skipped_down,
            skipped_in_vain: tally.skipped_in_vain,
            failure_share: ratio(in_vain as f64, (answered + in_vain) as f64),
        }
    }
}

/// The rows. What stands at the end of one is all that was opened until then, without what was
/// lost; counting began with the first attempt, so nothing is missing.
fn rows(series: &Series<Counts>, resident: &[(f64, u64)]) -> Vec<Row> {
    let mut sum = Counts::default();
    let stretches = series.stretches().into_iter();
    let row = stretches.map(|stretch| {
        let counts = stretch.counts;
        sum.add(&counts);
        let end_s = stretch.at_s + stretch.seconds;
        let within = |at_s: f64| (stretch.at_s..end_s).contains(&at_s);
        let seen = resident.iter().filter(|(at_s, _)| within(*at_s));
        Row {
            at_s: stretch.at_s,
            seconds: stretch.seconds,
            standing: sum.opened.saturating_sub(sum.lost()),
            opened: counts.opened,
            lost: counts.lost(),
            reconnects: counts.reconnects,
            answered: counts.answered,
            failed: counts.failed,
            heartbeat_p50_us: stretch.p50_us,
            heartbeat_p99_us: stretch.p99_us,
            heartbeat_max_us: stretch.max_us,
            attempts: Some(counts.attempts),
            losses: by_name(&counts.losses),
            resident_bytes: seen.map(|(_, bytes)| *bytes).max(),
        }
    });
    row.collect()
}

pub(super) fn by_name(errors: &Errors) -> BTreeMap<String, u64> {
    let counts = errors.iter();
    counts
        .map(|(kind, n)| (kind.name().to_owned(), n))
        .collect()
}

fn ratio(part: f64, whole: f64) -> Option<f64> {
    (whole > 0.0).then(|| part / whole)
}
