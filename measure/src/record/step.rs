//! The figures of one step in a record.

use std::collections::BTreeMap;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::streams::{StreamFacts, Streams};
use super::times::Times;
use super::{Moved, rate};
use crate::tally::StepTally;

/// What became of the window's exchanges of one step, or of several that share a name. The steps
/// add up to `exchanges`, but for `(flow)`: that is users' whole flows, which are no exchanges.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Step {
    /// What the workload calls it; `(others)` for all beyond the first 64 names.
    pub name: String,
    /// A complete answer with an expected status.
    pub completed: u64,
    /// Anything else; `errors` tells the kinds apart.
    pub failed: u64,
    /// Due, but neither completed nor failed when the run ended.
    pub unfinished: u64,
    /// Of those that failed or are unfinished: the ones in `response_time` as lower bounds.
    pub censored: u64,
    /// Completed exchanges per second, counting only those sent before the window ended.
    pub achieved_rate: f64,
    /// From intended to done, in microseconds; censored samples included as lower bounds.
    pub response_time_us: Times,
    /// From sent to done, in microseconds; censored samples included as lower bounds.
    pub service_time_us: Times,
    /// The whole distribution of `response_time_us`: HdrHistogram's format V2 in nanoseconds,
    /// deflated, in base64.
    pub response_time: String,
    /// Figures of `response_time_us` that can't be trusted, because the generator's own lateness
    /// could have moved them by more than their precision.
    pub void: Vec<Moved>,
    /// Answers by status.
    pub status: BTreeMap<String, u64>,
    /// gRPC calls by the name of their status; empty where nothing was called.
    #[serde(default)]
    pub grpc_status: BTreeMap<String, u64>,
    /// Failed exchanges by kind.
    pub errors: BTreeMap<String, u64>,
    /// What was seen inside its answers; null where nobody looked into them.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub streams: Option<Streams>,
}

/// What a record needs of a step besides its tally.
#[derive(Clone, Debug)]
pub struct StepFacts {
    /// What it is called.
    pub name: String,
    /// Figures of its response time that lateness could have moved.
    pub void: Vec<Moved>,
    /// Its gRPC calls by the name of their status.
    pub grpc_status: BTreeMap<String, u64>,
    /// Of what was seen inside its answers.
    pub streams: StreamFacts,
}

impl Step {
    /// The figures of a step, measured for `duration_s` seconds.
    pub(super) fn of(facts: StepFacts, tally: &StepTally, duration_s: f64) -> Step {
        let statuses = tally.statuses.iter();
        let errors = tally.errors.iter();
        Step {
            name: facts.name,
            void: facts.void,
            completed: tally.completed,
            failed: tally.failed,
            unfinished: tally.unfinished,
            censored: tally.censored,
            achieved_rate: rate(tally.completed - tally.completed_late, duration_s),
            response_time_us: Times::of(&tally.response),
            service_time_us: Times::of(&tally.service),
            response_time: tally.response.to_hdr_v2_base64(),
            status: statuses.map(|(code, n)| (code.to_string(), n)).collect(),
            grpc_status: facts.grpc_status,
            errors: errors
                .map(|(kind, n)| (kind.name().to_owned(), n))
                .collect(),
            streams: (tally.streams.as_ref())
                .map(|streams| Streams::of(facts.streams, streams, duration_s)),
        }
    }
}
