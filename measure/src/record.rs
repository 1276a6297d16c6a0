//! The record of a run: everything that was measured, what was requested, and what it ran on.
//!
//! Its field names are a promise to everyone who reads records; [`SCHEMA_VERSION`] counts how often
//! the promise was broken. `P` is the plan, which this crate only carries. Times are in
//! microseconds, except in the histograms, which are in nanoseconds and say so.

mod availability;
mod generator;
mod goodput;
mod lost;
mod step;
mod streams;
mod times;

use crate::foreign;
use crate::host::Host;
use crate::series::Row;
use crate::tally::{Loop, Tally, WaitCounts};
use schemars::JsonSchema;
use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;
use std::fmt;

pub use self::availability::{Availability, Gap};
pub use self::generator::{Generator, Script};
pub use self::goodput::Goodput;
pub use self::lost::Lost;
pub use self::step::{Step, StepFacts};
pub use self::streams::{StreamFacts, StreamHistograms, StreamTimes, Streams};
pub use self::times::Times;

/// The version of the record's schema that this crate writes and reads.
pub const SCHEMA_VERSION: u32 = 1;

/// The result of a run.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Record<P> {
    /// The version of this schema.
    pub schema_version: u32,
    /// What was requested.
    pub plan: P,
    /// The machine that generated the load.
    pub host: Host,
    /// The generator itself: what it ran on, what it cost, whether it was the limit.
    pub generator: Generator,
    /// How the exchanges ended.
    pub exchanges: Exchanges,
    /// What happened after the window ended; null in older records.
    #[serde(default)]
    pub drain: Option<Drain>,
    /// Length of the measured window in seconds.
    pub duration_s: f64,
    /// Exchanges per second that the schedule offered; null in a closed loop.
    pub offered_rate: Option<f64>,
    /// Completed exchanges per second, counting only those sent before the window ended.
    pub achieved_rate: f64,
    /// What of that was in time; null where no deadline was given, and in older records.
    #[serde(default)]
    pub goodput: Option<Goodput>,
    /// How much of the window the server was answering, or any of several servers; null if there
    /// were too few answers or too little time to tell, and in older records.
    #[serde(default)]
    pub availability: Option<Availability>,
    /// Bytes on the wire inside the window, as the generator saw them.
    pub bytes: Bytes,
    /// From intended to done, in microseconds; censored samples included as lower bounds.
    pub response_time_us: Times,
    /// From sent to done, in microseconds; censored samples included as lower bounds.
    pub service_time_us: Times,
    /// From intended to sent, in microseconds; all null in a closed loop.
    pub lateness_us: Times,
    /// What exchanges waited for between intended and sent; null in older records.
    #[serde(default)]
    pub waits: Option<Waits>,
    /// Round trips of pings, of a WebSocket or of HTTP/2; all null where there were none.
    #[serde(default)]
    pub ping_time_us: Times,
    /// The exchanges by step of the workload; empty where all requests are alike.
    #[serde(default)]
    pub steps: Vec<Step>,
    /// What was seen inside answers (`--events`); null where nobody looked, and in older records.
    #[serde(default)]
    pub streams: Option<Streams>,
    /// Answers by status; of an exchange that followed redirects, the last one.
    pub status: BTreeMap<String, u64>,
    /// Redirects that exchanges followed; 0 in older records.
    #[serde(default)]
    pub redirects: u64,
    /// By the kind of error of redirects that weren't followed: where one of them led, without the
    /// values of its query; empty in older records.
    #[serde(default)]
    pub unfollowed_redirects: BTreeMap<String, String>,
    /// By unexpected status: how the body of one answer began; empty in older records.
    #[serde(default)]
    pub unexpected_bodies: BTreeMap<String, String>,
    /// Expectations that answers didn't meet, the one that failed most requests first, at most 64;
    /// empty in older records.
    #[serde(default)]
    pub unexpected_answers: Vec<Unmet>,
    /// gRPC calls by the name of their status, such as `OK`; empty where nothing was called.
    #[serde(default)]
    pub grpc_status: BTreeMap<String, u64>,
    /// WebSockets that the server closed, by the code of its close frame; 1005: it had none.
    #[serde(default)]
    pub close_codes: BTreeMap<String, u64>,
    /// Messages of exchanges, of gRPC or of a WebSocket.
    #[serde(default)]
    pub messages: Messages,
    /// Errors by kind, those of connections among them.
    pub errors: BTreeMap<String, u64>,
    /// The connections.
    pub connections: Connections,
    /// The run over time, a row a second (longer rows in runs of more than an hour).
    pub series: Vec<Row>,
    /// The whole distributions.
    pub histograms: Histograms,
    /// Whether the figures can be trusted; if not, `warnings` says why.
    pub valid: bool,
    /// Figures of `response_time_us` that can't be trusted, because the generator's own lateness
    /// could have moved them by more than their precision. `valid` is false if the middle of the
    /// distribution is among them: p50, p75 or p90.
    #[serde(default)]
    pub void: Vec<Moved>,
    /// The same load against our own server on this machine; null if there was no control.
    #[serde(default)]
    pub control: Option<Control>,
    /// What readers of the figures need to know.
    pub warnings: Vec<String>,
    /// The run's thresholds, in the order given.
    #[serde(default)]
    pub thresholds: Vec<Judged>,
    /// What ended the run.
    pub ended_by: EndedBy,
}

/// An expectation that answers didn't meet.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Unmet {
    /// The rule, such as `json:$.ok=true`, or the line of a flow, such as `shop.hurl:12`.
    pub expected: String,
    /// The step whose own rule it is; null if it is one for all requests.
    pub step: Option<String>,
    /// Requests that failed because of it. One that doesn't meet several rules counts for the
    /// first.
    pub failed: u64,
    /// What came instead, of one answer, without secrets; null if none was kept.
    pub came: Option<String>,
}

/// A figure that lateness could have moved.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Moved {
    /// Its name among the figures of a distribution, such as `p99`.
    pub figure: String,
    /// How far it was moved at most, in microseconds.
    pub by_us: f64,
    /// Its precision, in microseconds: 5 % of it, what the number of exchanges allows, or 10 µs (50
    /// µs in the tail), whichever is largest.
    pub allowed_us: f64,
}

/// What the same load measured against our own server: what this machine and the generator add.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Control {
    /// Exchanges per second that the schedule offered; null in a closed loop.
    pub offered_rate: Option<f64>,
    /// Completed exchanges per second.
    pub achieved_rate: f64,
    /// From intended to done, in microseconds.
    pub response_time_us: Times,
    /// From sent to done, in microseconds.
    pub service_time_us: Times,
    /// From intended to sent, in microseconds; all null in a closed loop.
    pub lateness_us: Times,
    /// Exchanges that failed or were not finished.
    pub failed: u64,
    /// Whether the figures can be trusted.
    pub valid: bool,
    /// The figures of response time that can't.
    pub void: Vec<Moved>,
    /// The longest stall of a worker.
    pub longest_stall: Option<Stall>,
}

/// A time during which a worker couldn't run, although it wanted to.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Stall {
    /// How long it was, in microseconds.
    pub length_us: f64,
    /// When it ended, in seconds since the window began.
    pub at_s: f64,
}

/// How long it was, as a clause: `the generator stalled for 2.00 s`.
impl fmt::Display for Stall {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let seconds = self.length_us / 1e6;
        match seconds >= 1.0 {
            true => write!(f, "the generator stalled for {seconds:.2} s"),
            false => write!(f, "the generator stalled for {:.0} ms", 1000.0 * seconds),
        }
    }
}

impl<P> Record<P> {
    /// A figure of the response time by its name, such as `p99`, unless lateness spoiled it.
    pub fn unspoiled(&self, figure: &str, of: impl FnOnce(&Times) -> Option<f64>) -> Option<f64> {
        let spoiled = self.void.iter().any(|one| one.figure == figure);
        of(&self.response_time_us).filter(|_| !spoiled)
    }

    /// The part of it that another record keeps as its control.
    pub fn as_control(&self) -> Control {
        Control {
            offered_rate: self.offered_rate,
            achieved_rate: self.achieved_rate,
            response_time_us: self.response_time_us,
            service_time_us: self.service_time_us,
            lateness_us: self.lateness_us,
            failed: self.exchanges.failed + self.exchanges.unfinished,
            valid: self.valid,
            void: self.void.clone(),
            longest_stall: self.generator.longest_stall,
        }
    }
}

/// A threshold, and whether it was met.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Judged {
    /// The threshold as it was written.
    pub rule: String,
    /// What was measured, in the threshold's unit; null if there was nothing to measure.
    pub measured: Option<String>,
    /// Whether it is met.
    pub outcome: Met,
    /// Why it wasn't judged; null if it was.
    pub reason: Option<String>,
}

/// Whether a condition is met.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Met {
    /// It is.
    Holds,
    /// It isn't, or what it's about never happened.
    Crossed,
    /// Can't tell: the figure can't be trusted, or has too few samples, or none.
    NotJudged,
}

/// How the exchanges ended.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Exchanges {
    /// A complete answer with an expected status.
    pub completed: u64,
    /// Anything else; `errors` tells the kinds apart.
    pub failed: u64,
    /// Due, but neither completed nor failed when the run ended.
    pub unfinished: u64,
    /// Of these: never sent, because no connection was free.
    #[serde(default)]
    pub never_sent: u64,
    /// Of those that failed or are unfinished: the ones in the histograms as lower bounds.
    pub censored: u64,
    /// Answers that arrived inside the window, including those to earlier requests: what the
    /// window's CPU time and bytes were spent on. Null in older records.
    #[serde(default)]
    pub answered_in_window: Option<u64>,
    /// Of these: with a status outside 200 to 399. Null in older records.
    #[serde(default)]
    pub not_2xx_or_3xx_in_window: Option<u64>,
}

/// What happened to the window's exchanges after it ended, while we waited for their answers.
/// `exchanges` includes them; the rows of `series` don't, so rows and drain add up to `exchanges`.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Drain {
    /// How long we waited for answers, in seconds.
    pub seconds: f64,
    /// Exchanges that were completed.
    pub completed: u64,
    /// Of those: sent only after the window ended, so `achieved_rate` leaves them out.
    pub completed_sent_late: u64,
    /// Exchanges that failed.
    pub failed: u64,
    /// Of those: sent only after the window's end, and answered with an unexpected status.
    pub failed_sent_late: u64,
    /// Exchanges that had neither succeeded nor failed at its end.
    pub unfinished: u64,
    /// Bytes that came in.
    pub bytes_received: u64,
    /// Bytes that went out.
    pub bytes_sent: u64,
}

/// Bytes on the wire.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Bytes {
    /// Bytes that came in.
    pub received: u64,
    /// Bytes that went out.
    pub sent: u64,
}

/// How long the window's exchanges waited between intended and sent (or until they were given up
/// unsent), all together, by what they waited for, in microseconds. The parts add up to `total_us`.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Waits {
    /// All of it.
    pub total_us: f64,
    /// The same as a share of all response times (plus the waits of exchanges that failed and so
    /// have none), 0 to 1; null if there are none.
    pub share_of_response: Option<f64>,
    /// Every connection was in use.
    pub busy_us: f64,
    /// Connections were being opened: the exchange's own if each has one, otherwise lost ones.
    pub connecting_us: f64,
    /// Connections were being closed.
    pub closing_us: f64,
    /// Connections that had failed weren't retried yet.
    pub back_off_us: f64,
    /// The server was away: connections failed, up to the last failed attempt.
    #[serde(default)]
    pub unreachable_us: f64,
    /// A connection was free, and the generator was late.
    pub late_us: f64,
    /// The server refused the exchange without processing it, and it was sent again.
    pub refused_us: f64,
    /// How many exchanges waited for each of these; null in older records.
    #[serde(default)]
    pub counts: Option<WaitCounts>,
}

/// Messages inside exchanges.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Messages {
    /// Messages that went out.
    pub sent: u64,
    /// Messages that came in.
    pub received: u64,
}

/// The connections of a run.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Connections {
    /// Connections that were set up.
    pub opened: u64,
    /// Of those: replacing one that broke.
    pub reconnects: u64,
    /// Of those: replacing one that the server closed in an orderly way, such as after each answer.
    /// Older records count them as `reconnects`.
    #[serde(default)]
    pub reopened: u64,
    /// Attempts that failed in the window or the drain without failing an exchange.
    #[serde(default)]
    pub failed_attempts: u64,
    /// How long set-up took until a connection could be used, in microseconds: TCP, TLS, and
    /// whatever the protocol exchanges first.
    pub set_up_time_us: Times,
    /// The part of it in which TCP, or a socket in the file system, was connected, and a proxy
    /// asked for a tunnel.
    #[serde(default)]
    pub tcp_time_us: Times,
    /// TLS; null where it was not used.
    #[serde(default)]
    pub tls: Option<Tls>,
    /// Where requests go to several origins, each has connections of its own; empty where they go
    /// to one.
    #[serde(default)]
    pub origins: Vec<Origin>,
}

/// The connections to one of several origins, over the whole run with its warm-up.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Origin {
    /// Scheme, host and port.
    pub origin: String,
    /// Connections that were asked for.
    pub asked: u64,
    /// Connections that were set up.
    pub opened: u64,
    /// Attempts that failed, whether or not requests failed with them.
    pub failed_attempts: u64,
}

/// The TLS handshakes of a run.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Tls {
    /// Handshakes that exchanged certificates.
    pub full_handshakes: u64,
    /// Handshakes that resumed an earlier session.
    pub resumed_handshakes: u64,
    /// How long the full ones took, in microseconds.
    pub handshake_time_us: Times,
    /// How long the resumed ones took, in microseconds.
    pub resumed_handshake_time_us: Times,
    /// The version that was agreed on.
    pub version: String,
    /// The cipher suite that was agreed on.
    pub cipher: String,
    /// The application protocol that was agreed on; null where the peer chose none.
    pub alpn: Option<String>,
}

/// Whole distributions in HdrHistogram's format V2, deflated, in base64.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Histograms {
    /// The unit of the values: always "ns".
    pub unit: String,
    /// From intended to done.
    pub response_time: String,
    /// From sent to done.
    pub service_time: String,
    /// From intended to sent; null in a closed loop.
    pub lateness: Option<String>,
}

/// What ended a run.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum EndedBy {
    /// The requested time was over.
    Duration,
    /// The requested number of exchanges was reached.
    Count,
    /// The rows of the data file were used up.
    Rows,
    /// All threads of a script had stopped themselves, or it failed.
    Script,
    /// SIGINT.
    Interrupt,
    /// SIGTERM.
    Terminate,
    /// The last stage had ended.
    Stages,
    /// A counted run couldn't continue: no connection could be opened for a long time.
    PeerGone,
}

/// What a record needs besides the tally.
#[derive(Clone, Debug)]
pub struct Facts<P> {
    /// What was requested.
    pub plan: P,
    /// The machine.
    pub host: Host,
    /// The generator; `cpu_us_per_exchange` is computed by [`Record::assemble`].
    pub generator: Generator,
    /// Length of the measured window in seconds.
    pub duration_s: f64,
    /// Exchanges per second that the schedule asked for; none in a closed loop.
    pub offered_rate: Option<f64>,
    /// The steps in the tally's order; none where all exchanges are alike.
    pub steps: Vec<StepFacts>,
    /// What is known of streams, where answers were looked into.
    pub streams: Option<StreamFacts>,
    /// The connections to each of several origins.
    pub origins: Vec<Origin>,
    /// gRPC calls by the name of their status, which only their protocol knows.
    pub grpc_status: BTreeMap<String, u64>,
    /// Where redirects led that weren't followed, by the kind of error.
    pub unfollowed_redirects: BTreeMap<String, String>,
    /// How bodies began, by a status that wasn't expected.
    pub unexpected_bodies: BTreeMap<String, String>,
    /// Expectations that answers didn't meet, in the record's order.
    pub unexpected_answers: Vec<Unmet>,
    /// Whether the figures can be trusted.
    pub valid: bool,
    /// Figures of response time that do not.
    pub void: Vec<Moved>,
    /// What a reader must know.
    pub warnings: Vec<String>,
    /// What ended the run.
    pub ended_by: EndedBy,
}

impl<P> Facts<P> {
    /// Facts of a run whose figures can be trusted and that lasted as long as it should; nothing
    /// else is known.
    pub fn of(plan: P) -> Facts<P> {
        Facts {
            plan,
            host: Host::default(),
            generator: Generator::default(),
            duration_s: 0.0,
            offered_rate: None,
            steps: Vec::new(),
            streams: None,
            origins: Vec::new(),
            grpc_status: BTreeMap::new(),
            unfollowed_redirects: BTreeMap::new(),
            unexpected_bodies: BTreeMap::new(),
            unexpected_answers: Vec::new(),
            valid: true,
            void: Vec::new(),
            warnings: Vec::new(),
            ended_by: EndedBy::Duration,
        }
    }
}

impl Messages {
    fn of(tally: &Tally) -> Messages {
        Messages {
            sent: tally.messages_sent,
            received: tally.messages_received,
        }
    }
}

impl<P> Record<P> {
    /// The record of a run: `tally` is what all workers recorded, merged.
    pub fn assemble(tally: &Tally, facts: Facts<P>) -> Record<P> {
        let mut generator = facts.generator;
        let (inside, answered) = (tally.inside(), tally.inside().answered);
        generator.cpu_us_per_exchange = generator
            .cpu_seconds
            .map(|seconds| seconds - generator.spun_seconds)
            // Who was put off its CPU while it spun seems to have spun for longer than it ran.
            .filter(|seconds| answered > 0 && *seconds > 0.0)
            .map(|seconds| seconds * 1e6 / answered as f64);
        let errors = tally.errors.iter();
        let statuses = tally.statuses.iter();
        let steps = facts.steps.into_iter().zip(&tally.steps);
        Record {
            schema_version: SCHEMA_VERSION,
            plan: facts.plan,
            host: facts.host,
            generator,
            exchanges: Exchanges {
                completed: tally.completed,
                failed: tally.failed,
                unfinished: tally.unfinished,
                never_sent: tally.never_sent,
                censored: tally.censored,
                answered_in_window: Some(answered),
                not_2xx_or_3xx_in_window: Some(inside.strange),
            },
            drain: Some(Drain::of(tally)),
            duration_s: facts.duration_s,
            offered_rate: facts.offered_rate,
            achieved_rate: rate(tally.completed - tally.completed_late, facts.duration_s),
            goodput: Goodput::of(tally, facts.duration_s),
            availability: Availability::of(tally),
            bytes: Bytes {
                received: tally.bytes_received,
                sent: tally.bytes_sent,
            },
            response_time_us: Times::of(&tally.response),
            service_time_us: Times::of(&tally.service),
            lateness_us: Times::of(&tally.lateness),
            waits: Some(Waits::of(tally)),
            ping_time_us: Times::of(&tally.ping),
            grpc_status: facts.grpc_status,
            close_codes: tally.closes.by_code(),
            messages: Messages::of(tally),
            unfollowed_redirects: facts.unfollowed_redirects,
            unexpected_bodies: facts.unexpected_bodies,
            unexpected_answers: facts.unexpected_answers,
            status: statuses.map(|(code, n)| (code.to_string(), n)).collect(),
            redirects: tally.redirects,
            errors: errors
                .map(|(kind, n)| (kind.name().to_owned(), n))
                .collect(),
            connections: Connections {
                origins: facts.origins,
                ..Connections::of(tally)
            },
            steps: steps
                .map(|(step, of_step)| Step::of(step, of_step, facts.duration_s))
                .collect(),
            streams: (facts.streams).map(|of| Streams::of(of, &tally.streams, facts.duration_s)),
            series: tally.rows(),
            histograms: Histograms::of(tally),
            valid: facts.valid,
            warnings: facts.warnings,
            void: facts.void,
            control: None,
            thresholds: Vec::new(),
            ended_by: facts.ended_by,
        }
    }
}

impl<P> Record<P> {
    /// What of the load came to nothing: the one account of it, for texts and thresholds.
    pub fn lost(&self) -> Lost {
        let exchanges = &self.exchanges;
        // A stream that goes on when the run ends was answered all the same.
        let cut_off = self.streams.as_ref().map_or(0, |streams| streams.cut_off);
        let failed = exchanges.failed;
        let unfinished = exchanges.unfinished.saturating_sub(cut_off);
        let closed = self.offered_rate.is_none();
        // How often an open loop tries depends on how many connections it has, so what fell due
        // meanwhile is counted instead. Of those some have failed, and are counted already.
        let waited = self.waits.as_ref().and_then(|waits| waits.counts);
        let never_sent_away = waited.map_or(0, |counts| counts.unreachable_never_sent);
        let waited = waited.map_or(0, |counts| counts.unreachable);
        let (attempts, unreachable) = match closed {
            true => (self.connections.failed_attempts, 0),
            false => (0, waited.saturating_sub(failed + unfinished)),
        };
        let outages = self.availability.as_ref().filter(|_| closed);
        Lost {
            failed,
            unfinished,
            never_sent: exchanges.never_sent,
            never_sent_away: never_sent_away.min(exchanges.never_sent),
            attempts,
            unreachable,
            of: exchanges.completed + failed + exchanges.unfinished + attempts,
            outage_share: outages.map_or(0.0, |availability| availability.outage_share),
        }
    }
}

impl Drain {
    fn of(tally: &Tally) -> Drain {
        let inside = tally.inside();
        Drain {
            seconds: tally.drain.nanoseconds as f64 / 1e9,
            completed: tally.completed - inside.completed,
            completed_sent_late: tally.completed_late,
            failed: tally.failed - inside.failed,
            failed_sent_late: tally.failed_late,
            unfinished: tally.unfinished,
            bytes_received: tally.drain.bytes_received,
            bytes_sent: tally.drain.bytes_sent,
        }
    }
}

impl Waits {
    fn of(tally: &Tally) -> Waits {
        let us = |nanoseconds: u64| nanoseconds as f64 / 1000.0;
        let waits = &tally.waits;
        let all_ns = tally.response.sum() as f64 + tally.untimed_ns as f64;
        Waits {
            total_us: us(waits.total_ns()),
            share_of_response: (all_ns > 0.0).then(|| waits.total_ns() as f64 / all_ns),
            busy_us: us(waits.busy_ns),
            connecting_us: us(waits.connecting_ns),
            closing_us: us(waits.closing_ns),
            back_off_us: us(waits.back_off_ns),
            late_us: us(waits.late_ns),
            unreachable_us: us(waits.unreachable_ns),
            refused_us: us(waits.refused_ns),
            counts: Some(waits.counts),
        }
    }
}

impl Connections {
    fn of(tally: &Tally) -> Connections {
        let tls = tally.handshakes.as_ref().map(|handshakes| Tls {
            full_handshakes: handshakes.full.count(),
            resumed_handshakes: handshakes.resumed.count(),
            handshake_time_us: Times::of(&handshakes.full),
            resumed_handshake_time_us: Times::of(&handshakes.resumed),
            version: handshakes.terms.version.to_string(),
            cipher: handshakes.terms.cipher.to_string(),
            alpn: handshakes.terms.alpn.as_ref().map(ToString::to_string),
        });
        Connections {
            origins: Vec::new(),
            opened: tally.connections_opened,
            reconnects: tally.reconnects,
            reopened: tally.reopened,
            failed_attempts: tally.attempts_failed,
            set_up_time_us: Times::of(&tally.connect),
            tcp_time_us: Times::of(&tally.tcp),
            tls,
        }
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

impl Histograms {
    fn of(tally: &Tally) -> Histograms {
        let lateness = (tally.kind() == Loop::Open).then(|| tally.lateness.to_hdr_v2_base64());
        Histograms {
            unit: "ns".to_owned(),
            response_time: tally.response.to_hdr_v2_base64(),
            service_time: tally.service.to_hdr_v2_base64(),
            lateness,
        }
    }
}

/// The JSON Schema of a record with plans of type `P`, as indented JSON with a line feed at its
/// end.
pub fn schema_json<P: JsonSchema>() -> String {
    schema_of::<Record<P>>()
}

/// Any record as indented JSON with a line feed at its end.
pub(crate) fn write_json(record: &impl Serialize) -> Result<String, String> {
    let mut text = serde_json::to_string_pretty(record)
        .map_err(|error| format!("can't write the record as JSON: {error}"))?;
    text.push('\n');
    Ok(foreign::json(&text).into_owned())
}

/// Reads any record of schema `version`.
pub(crate) fn read_json<R: DeserializeOwned>(text: &str, version: u32) -> Result<R, String> {
    #[derive(Deserialize)]
    struct Version {
        schema_version: Option<u64>,
    }
    let found: Version =
        serde_json::from_str(text).map_err(|error| format!("not a record: {error}"))?;
    match found.schema_version {
        Some(found) if found == u64::from(version) => {}
        Some(found) => {
            return Err(format!(
                "the record has schema version {found}, but this ringside reads version {version}"
            ));
        }
        None => return Err("not a record: it has no schema_version".to_owned()),
    }
    serde_json::from_str(text).map_err(|error| format!("the record is damaged: {error}"))
}

/// The JSON Schema of any record, or of whatever else is written for programs, likewise.
pub fn schema_of<R: JsonSchema>() -> String {
    let schema = schemars::schema_for!(R);
    let mut text = format!("{:#}", schema.as_value());
    text.push('\n');
    text
}

fn rate(count: u64, seconds: f64) -> f64 {
    if seconds > 0.0 {
        count as f64 / seconds
    } else {
        0.0
    }
}

#[cfg(test)]
mod tests;
