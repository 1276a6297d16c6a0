//! What a fleet's run came to: whether its figures are whole, and what each agent had of them.

use measure::host::Host;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::clock::Offset;
use crate::counted::{Counted, Interval};
use crate::totals::Totals;
use crate::words::{AgentName, RunId, Verdict};

/// The engine of a load that agents have sent together, as records name it beside those of
/// single processes (`generator.engine`).
pub const ENGINE: &str = "fleet";

/// The run, as all agents did it.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[schemars(rename = "FleetRecord")]
pub struct Record {
    /// Its name.
    #[schemars(with = "String")]
    pub run: RunId,
    /// Which life of the coordinator this is: when it began, in milliseconds since 1970, and a
    /// number by chance. `host` of the record is its machine, which sent nothing of the load.
    pub epoch: String,
    /// Whether an earlier coordinator began it.
    pub has_returned: bool,
    /// Whether somebody ended all load of all agents (`ringside fleet stop`).
    pub halted: bool,
    /// Whether the figures are the sum of everything that every agent counted: each one's chain was
    /// followed from its first interval to its last, its digest and totals are what the agent says.
    pub complete: bool,
    /// How many agents were called for.
    pub agents_wanted: u32,
    /// How many of them nothing is known of, not even a name: the coordinator was away.
    pub agents_unknown: u32,
    /// The agents, by name.
    pub agents: Vec<AgentRecord>,
    /// Of all agents together.
    pub figures: Figures,
    /// The share of the load (0 to 1) that agents had whose counts aren't whole: all of it, though
    /// what they had told until they were lost is in the figures.
    pub missing_share: f64,
    /// Agents that were the limit themselves, by their own verdict.
    #[schemars(with = "Vec<String>")]
    pub limited_by: Vec<AgentName>,
    /// What else a reader must know, as sentences.
    pub findings: Vec<String>,
}

/// What one agent did.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct AgentRecord {
    /// Its name.
    #[schemars(with = "String")]
    pub agent: AgentName,
    /// Which life of it, likewise.
    pub epoch: String,
    /// The machine that sent its load; null where it never said, as one that was lost.
    #[serde(default)]
    pub host: Option<Host>,
    /// What sent it there, and what that cost; null likewise.
    #[serde(default)]
    pub generator: Option<Generator>,
    /// How many workers it ran.
    pub workers: u32,
    /// Its share of the load (0 to 1), as it was divided at first.
    pub share: Option<f64>,
    /// The same with what it took over of agents that were lost; none where it took nothing over.
    pub share_moved: Option<f64>,
    /// Whether all that it counted is in the figures.
    pub complete: bool,
    /// How many of its intervals are in the figures: those from the first on that came.
    pub intervals: u64,
    /// The number, from 0, of the last one that it is known to have counted; null where it is
    /// known of none.
    pub last_number: Option<u64>,
    /// The digest of those in the figures, each chained to the one before; it is the agent's own
    /// where nothing is missing.
    pub chain: String,
    /// What ended its load; none where it never said.
    pub ended: Option<String>,
    /// Whether it ended before it should, as far as is known.
    pub ended_early: bool,
    /// Whether it was given up because it wasn't heard any more.
    pub lost: bool,
    /// Its part of the figures.
    pub figures: Figures,
    /// Its share (0 to 1) of the requests of the run whose response time was above the 99th
    /// percentile of all; none where there were none.
    pub tail_share: Option<f64>,
    /// Whether it was the limit itself, by its own verdict; null where it never said.
    pub verdict: Option<OwnVerdict>,
    /// How far its monotonic clock was ahead of the coordinator's at the beginning, and at the end.
    pub clock: Option<Offset>,
    /// See `clock`.
    pub clock_at_end: Option<Offset>,
    /// How much faster it goes, in millionths.
    pub clock_drift_ppm: Option<f64>,
    /// Whether one of the two clocks moved in between by more than they drift.
    pub clock_jumped: bool,
    /// When it was to begin, by its own clock, which is one moment for all; none where it never
    /// said that it would.
    pub begins_ns: Option<u64>,
    /// How much later it began; none where it never did, or didn't say.
    pub begun_late_ns: Option<u64>,
    /// Intervals that came more than once.
    pub duplicates: u64,
    /// Intervals that were asked for again.
    pub asked_again: u64,
    /// Intervals that weren't what their digest says, and were asked for again.
    pub misfits: u64,
    /// The longest time in which the coordinator didn't hear it.
    pub silence_ns: u64,
    /// The longest time in which it didn't hear the coordinator.
    pub coordinator_silence_ns: u64,
    /// What else went wrong there.
    pub troubles: Vec<String>,
}

/// What an agent says of itself as a generator.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct OwnVerdict {
    /// Whether it was the limit, so that its figures are its own and not the server's.
    pub limited: bool,
    /// By what; empty where it wasn't.
    pub reason: String,
}

impl OwnVerdict {
    pub(crate) fn of(verdict: &Verdict) -> OwnVerdict {
        OwnVerdict {
            limited: verdict.limited,
            reason: verdict.reason.to_string(),
        }
    }
}

/// What sent an agent's load, and what that cost.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[schemars(rename = "FleetGenerator")]
pub struct Generator {
    /// The version of its program.
    pub version: String,
    /// The I/O engine that ran.
    pub engine: String,
    /// CPU time of its workers in the measured window, in seconds; null if it can't be read.
    pub cpu_seconds: Option<f64>,
    /// Peak resident memory of its process in bytes; null if it can't be read.
    pub memory_peak_bytes: Option<u64>,
}

impl Generator {
    /// Nothing where the load never ran.
    pub(crate) fn of(verdict: &Verdict) -> Option<Generator> {
        let sender = &verdict.sender;
        let engine = sender.engine.to_string();
        (!engine.is_empty()).then(|| Generator {
            version: sender.version.to_string(),
            engine,
            cpu_seconds: sender.cpu_us.map(|us| us as f64 / 1e6),
            memory_peak_bytes: sender.memory_peak_bytes,
        })
    }
}

/// A few figures of what was counted. The whole is in [`Outcome::counted`].
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[schemars(rename = "FleetFigures")]
pub struct Figures {
    /// Sums.
    pub totals: Totals,
    /// The median of response times, or of those of a hold's heartbeats, lower bounds among them,
    /// in nanoseconds.
    pub response_p50_ns: u64,
    /// The 99th percentile.
    pub response_p99_ns: u64,
    /// The longest.
    pub response_max_ns: u64,
    /// What became of connections that were held; none of a run.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub held: Option<Connections>,
}

/// What became of an agent's connections that were held, or of all.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[schemars(rename = "FleetConnections")]
pub struct Connections {
    /// How often one was opened.
    pub opened: u64,
    /// Those that stood when the hold began, and were never lost; 0 until it is over.
    pub survived: u64,
    /// Those that stood at the end; 0 until then.
    pub standing: u64,
    /// How long they were held, from when each had been tried: the shortest, in nanoseconds; 0
    /// until it is over.
    pub held_ns: u64,
}

/// What a run came to, with everything that was counted.
#[derive(Clone, Debug, PartialEq)]
pub struct Outcome {
    /// The record.
    pub record: Record,
    /// What all agents counted.
    pub counted: Counted,
    /// The same second by second, and in the drain.
    pub course: Vec<Interval>,
}

impl Figures {
    /// Those of what was counted.
    pub fn of(counted: &Counted) -> Figures {
        let times = counted.times();
        Figures {
            totals: Totals::of(counted),
            response_p50_ns: times.quantile(0.5),
            response_p99_ns: times.quantile(0.99),
            response_max_ns: times.max(),
            held: counted.held().map(|held| {
                let ends = held.ends.unwrap_or_default();
                Connections {
                    opened: held.opened,
                    survived: ends.survived,
                    standing: ends.standing,
                    held_ns: match ends.held_ns {
                        u64::MAX => 0,
                        held_ns => held_ns,
                    },
                }
            }),
        }
    }
}
