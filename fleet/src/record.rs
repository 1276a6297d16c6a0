//! What a fleet's run came to: whether its figures are whole, and what each agent had of them.

use serde::Serialize;

use crate::clock::Offset;
use crate::counted::{Counted, Interval};
use crate::totals::Totals;
use crate::words::{AgentName, RunId, Verdict};

/// The run, as all agents did it.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Record {
    /// Its name.
    pub run: RunId,
    /// The coordinator's epoch.
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
    pub limited_by: Vec<AgentName>,
    /// What else a reader must know, as sentences.
    pub findings: Vec<String>,
}

/// What one agent did.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct AgentRecord {
    /// Its name.
    pub agent: AgentName,
    /// Which life of it.
    pub epoch: String,
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
    /// The number of the last one that it is known to have counted.
    pub last_number: Option<u64>,
    /// The digest of those in the figures.
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
    /// Whether it was the limit itself.
    pub verdict: Option<Verdict>,
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

/// A few figures of what was counted. The whole is in [`Outcome::counted`].
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize)]
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
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize)]
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
