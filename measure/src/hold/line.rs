//! What a hold counted in a second, or in all of them: how it adds up, and an interval of it as a
//! line of JSON.

use std::collections::BTreeMap;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::record::by_name;
use super::tally::Counted;
use crate::histogram::Histogram;
use crate::interval::{Additive, Interval, LineStyle, Phase};
use crate::record::Times;
use crate::series::Gains;

/// One interval of a hold, as a line of JSON. Adding up the counts of all lines gives those of the
/// record.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[schemars(title = "HoldLine")]
pub struct Line {
    /// The number of the interval, from 0.
    pub seq: u64,
    /// How many intervals this line holds; more than one where the reader was late. (Where the
    /// generator was late, one interval is longer than a second.) The next line's `seq` is
    /// `seq + joined`.
    pub joined: u64,
    /// The part of the hold: `measure` is everything from the first attempt to connect to the end
    /// of the hold.
    pub phase: Phase,
    /// Seconds from the first attempt to connect to the start of the interval.
    pub at_s: f64,
    /// The length of the interval in seconds.
    pub seconds: f64,
    /// Connections that stood when it ended.
    pub connected: u64,
    /// Attempts to connect that were begun in it.
    pub attempts: u64,
    /// How often a connection was opened in it, reconnects included.
    pub opened: u64,
    /// How often an open connection was lost.
    pub lost: u64,
    /// How often a lost connection was open again.
    pub reconnects: u64,
    /// Connections that were given up after the last retry.
    pub given_up: u64,
    /// Heartbeats that were sent, or that could not be written.
    pub sent: u64,
    /// Heartbeats that were answered as expected.
    pub answered: u64,
    /// Heartbeats that failed.
    pub failed: u64,
    /// Heartbeats with neither answer nor failure when everything was over.
    pub unfinished: u64,
    /// Samples in `heartbeat_time_us` that are only lower bounds.
    pub censored: u64,
    /// Heartbeats that were due and weren't sent.
    pub skipped: u64,
    /// Of those: the connection was down.
    pub skipped_down: u64,
    /// Of `skipped`: the one before was still unanswered, and failed.
    pub skipped_in_vain: u64,
    /// Bytes received in it.
    pub bytes_received: u64,
    /// Bytes sent in it.
    pub bytes_sent: u64,
    /// From sending a heartbeat to its answer, in microseconds; censored samples included as lower
    /// bounds.
    pub heartbeat_time_us: Times,
    /// From the start of an attempt until the connection can be used, in microseconds.
    pub set_up_time_us: Times,
    /// From the loss of a connection until it was open again, in microseconds.
    pub re_establish_time_us: Times,
    /// From when a heartbeat was due until it was sent, in microseconds.
    pub lateness_us: Times,
    /// Why open connections were lost, by kind.
    pub losses: BTreeMap<String, u64>,
    /// Why attempts to connect failed, by kind.
    pub failed_attempts: BTreeMap<String, u64>,
    /// Why heartbeats failed, by kind.
    pub heartbeat_errors: BTreeMap<String, u64>,
    /// Answers to heartbeats by status; empty where an answer has none.
    pub status: BTreeMap<String, u64>,
    /// WebSockets that the server closed, by the code of its close frame; 1005: it had none.
    pub close_codes: BTreeMap<String, u64>,
    /// What was said to all; left out where nothing was said or heard.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub broadcasts: Option<Said>,
    /// The whole distributions; left out where nobody asked for them.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub histograms: Option<Histograms>,
}

/// What happened to broadcasts in an interval.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Said {
    /// Broadcasts that were said.
    pub said: u64,
    /// How often one was heard by a listener that hadn't heard it.
    pub heard: u64,
    /// How often one was heard by a connection that had.
    pub again: u64,
    /// From when a broadcast was due until a listener heard it, in microseconds.
    pub heard_after_us: Times,
}

/// Whole distributions in HdrHistogram's format V2: nanoseconds, deflated, in base64.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[schemars(rename = "HoldHistograms")]
pub struct Histograms {
    /// From sending a heartbeat to its answer.
    pub heartbeat_time: String,
    /// From the start of an attempt until the connection can be used.
    pub set_up_time: String,
    /// From the loss of a connection until it was open again.
    pub re_establish_time: String,
}

impl Additive for Counted {
    type Line = Line;

    fn like(&self) -> Counted {
        Counted::default()
    }

    fn merge(&mut self, other: &Counted) {
        merge_fields!(Counted, self, other,
            merge [set_up, re_establish, heartbeat, lateness, attempts, heartbeat_errors, statuses,
                closes, broadcasts],
            add [given_up, stood, fallen, sent, unfinished, censored, skipped, skipped_down,
                skipped_in_vain, bytes_received, bytes_sent],
            apart [counts, drain_ns]);
        self.counts.add(&other.counts);
        self.drain_ns = self.drain_ns.max(other.drain_ns);
    }

    fn clear(&mut self) {
        clear_fields!(Counted, self,
            clear [set_up, re_establish, heartbeat, lateness, statuses, broadcasts],
            zero [given_up, stood, fallen, sent, unfinished, censored, skipped, skipped_down,
                skipped_in_vain, bytes_received, bytes_sent, attempts, heartbeat_errors, closes,
                counts, drain_ns],
            apart []);
    }

    fn drained_ns(&self) -> u64 {
        self.drain_ns
    }

    fn line(interval: &Interval<Counted>, style: &LineStyle) -> Line {
        Line::of(interval, style)
    }
}

impl Line {
    /// What an interval says.
    pub fn of(interval: &Interval<Counted>, style: &LineStyle) -> Line {
        let counted = &interval.counted;
        let counts = &counted.counts;
        let statuses = counted.statuses.iter();
        Line {
            seq: interval.seq,
            joined: interval.joined,
            phase: interval.phase,
            at_s: interval.from_ns as f64 / 1e9,
            seconds: interval.seconds(),
            connected: interval.connected,
            attempts: counts.attempts,
            opened: counts.opened,
            lost: counts.lost(),
            reconnects: counts.reconnects,
            given_up: counted.given_up,
            sent: counted.sent,
            answered: counts.answered,
            failed: counts.failed,
            unfinished: counted.unfinished,
            censored: counted.censored,
            skipped: counted.skipped,
            skipped_down: counted.skipped_down,
            skipped_in_vain: counted.skipped_in_vain,
            bytes_received: counted.bytes_received,
            bytes_sent: counted.bytes_sent,
            heartbeat_time_us: Times::of(&counted.heartbeat),
            set_up_time_us: Times::of(&counted.set_up),
            re_establish_time_us: Times::of(&counted.re_establish),
            lateness_us: Times::of(&counted.lateness),
            losses: by_name(&counts.losses),
            failed_attempts: by_name(&counted.attempts),
            heartbeat_errors: by_name(&counted.heartbeat_errors),
            status: statuses.map(|(code, n)| (code.to_string(), n)).collect(),
            close_codes: counted.closes.by_code(),
            broadcasts: Said::of(counted),
            histograms: style.histograms.then(|| Histograms::of(counted)),
        }
    }
}

impl Said {
    fn of(counted: &Counted) -> Option<Said> {
        let all = &counted.broadcasts;
        let each = || all.each.iter();
        let said = Said {
            said: each().map(|one| one.said).sum(),
            heard: each().map(|one| one.heard).sum(),
            again: all.again,
            heard_after_us: Times::of(&all.heard_after),
        };
        (said.said + said.heard + said.again > 0).then_some(said)
    }
}

impl Histograms {
    fn of(counted: &Counted) -> Histograms {
        let whole = |times: &Histogram| times.to_hdr_v2_base64();
        Histograms {
            heartbeat_time: whole(&counted.heartbeat),
            set_up_time: whole(&counted.set_up),
            re_establish_time: whole(&counted.re_establish),
        }
    }
}

/// The JSON Schema of a [`Line`].
pub fn interval_schema_json() -> String {
    crate::record::schema_of::<Line>()
}
