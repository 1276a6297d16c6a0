//! What a record says of the generator itself.

use std::collections::BTreeMap;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::Stall;

/// The generator itself.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Generator {
    /// The version of ringside.
    pub version: String,
    /// The I/O engine that ran.
    pub engine: String,
    /// Why it was that engine.
    pub engine_reason: String,
    /// Number of workers.
    pub threads: u32,
    /// CPU time of all workers in the measured window, in seconds; null if it can't be read.
    pub cpu_seconds: Option<f64>,
    /// Of that: the time workers of an open loop spent spinning with nothing to do, because a
    /// wake-up would be measured as the server's time; 0 in older records.
    #[serde(default)]
    pub spun_seconds: f64,
    /// CPU time per answer without spinning, both inside the window, in microseconds.
    pub cpu_us_per_exchange: Option<f64>,
    /// Whether the generator, and not what it measured, was the limit.
    pub limited: bool,
    /// How we know, in a sentence.
    pub limited_reason: String,
    /// CPU time of the busiest worker without spinning, as a share of the window, 0 to 1.
    pub cpu_share_max: Option<f64>,
    /// Largest share of the window for which a worker was ready to run but waited for a CPU.
    pub run_queue_share_max: Option<f64>,
    /// 1 − throughput × mean response time ÷ connections (closed loop): the share of their time
    /// that connections spent inside the generator; below 0, answers took longer than the window.
    /// Null if connections aren't kept open, by us or by the server.
    pub littles_law_gap: Option<f64>,
    /// Peak resident memory of the generator's process in bytes.
    pub memory_peak_bytes: Option<u64>,
    /// How late a turn of a worker's loop came in the window, at most; null if that wasn't
    /// measured.
    #[serde(default)]
    pub longest_stall: Option<Stall>,
    /// The share of the machine's CPU time in the window that a hypervisor gave to others; null if
    /// the kernel doesn't show it.
    #[serde(default)]
    pub steal_share: Option<f64>,
    /// How long CPU quotas throttled the generator's control groups in the window, summed over
    /// CPUs, in microseconds; null if no group accounts for it.
    #[serde(default)]
    pub throttled_us: Option<f64>,
    /// What a script of wrk had to do with the load; null: there was none.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub script: Option<Script>,
    /// The generator's own counters, by name: the engine's; `own_lateness_max_us`, how late a
    /// request that found a free connection was, at most; `dropped_in_warm_up`, requests due in the
    /// warm-up that were never sent; `timeouts_put_off`, how often a stall postponed a timeout.
    pub counters: BTreeMap<String, u64>,
}

/// A script of wrk in a run.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Script {
    /// What of wrk's interface it uses while the load runs: `request`, `response`, `delay`,
    /// `thread:stop`.
    pub uses: Vec<String>,
    /// Whether requests were made before they were due, because nothing could change them.
    pub ahead: bool,
    /// How many requests one call of `request` returns.
    pub requests_per_call: u32,
    /// The share of the workers' CPU time in the window that the script took, from one of 16 calls,
    /// 0 to 1; null if CPU time can't be read.
    pub cpu_share: Option<f64>,
}
