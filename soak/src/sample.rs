//! What is known of a few seconds of a soak: what the load counted in them, and what the process
//! held when they were over. A line of `samples.ndjson`.

use std::collections::BTreeMap;

use measure::interval::{Interval, Line, LineStyle};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// A few seconds of a soak.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Sample {
    /// When they were over, in seconds since 1970.
    pub unix_s: f64,
    /// How many of them there were.
    pub seconds: f64,
    /// Which part of the soak it belongs to, from 1: a new one begins with each `--resume`.
    pub part: u32,
    /// How long the machine was asleep since the sample before.
    #[serde(default)]
    pub asleep_s: f64,
    /// Requests that fell due.
    pub offered: u64,
    /// Requests that were answered as expected.
    pub completed: u64,
    /// Requests that failed.
    pub failed: u64,
    /// Failures by their kind.
    #[serde(default)]
    pub errors: BTreeMap<String, u64>,
    /// Half of the response times were shorter, in microseconds; null where nothing was answered.
    pub p50_us: Option<f64>,
    /// 99 of 100 response times were shorter. Of fewer than 299 it's near the longest.
    pub p99_us: Option<f64>,
    /// The longest response time.
    pub max_us: Option<f64>,
    /// How late requests were sent: the 99th percentile.
    pub lateness_p99_us: Option<f64>,
    /// What happened to its control group since the sample before.
    #[serde(default, skip_serializing_if = "Strain::is_none")]
    pub strain: Strain,
    /// The process that is watched; null where none is, or it wasn't there.
    pub subject: Option<Seen>,
}

/// What limits did to a control group.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(default)]
pub struct Strain {
    /// How many of its processes the kernel killed for want of memory.
    pub killed: u64,
    /// How long it waited because its CPU time was used up, summed over CPUs, in nanoseconds.
    pub throttled_ns: u64,
}

impl Strain {
    /// Whether nothing happened.
    pub fn is_none(&self) -> bool {
        *self == Strain::default()
    }
}

/// What a process and those below it held at one moment.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Seen {
    /// The number of the first process.
    pub pid: u32,
    /// When it started, in ticks since the machine did: it tells a restart from a number that is
    /// used again.
    pub started: u64,
    /// How many processes there are, with those below it.
    pub processes: u32,
    /// How many of them weren't there at the sample before.
    #[serde(default)]
    pub came: u32,
    /// How many of those there were have gone since.
    #[serde(default)]
    pub went: u32,
    /// Threads of all of them.
    pub threads: u32,
    /// Open descriptors of all of them; null where they can't be seen.
    pub descriptors: Option<u64>,
    /// Resident memory in bytes; a page that several have counts in each.
    pub resident_bytes: u64,
    /// Resident memory with shared pages divided (Pss); null where it can't be read.
    pub proportional_bytes: Option<u64>,
    /// The part of it that is no file's: anonymous and shared memory. Null where the kernel doesn't
    /// tell it (before Linux 5.4), or not us.
    #[serde(default)]
    pub own_bytes: Option<u64>,
    /// What their control group is charged with but for the page cache of files; null where they
    /// have none of their own.
    pub group_bytes: Option<u64>,
}

impl Sample {
    /// What the load counted; the time and the process are added by whoever knows them.
    pub fn of(interval: &Interval, part: u32) -> Sample {
        let line = Line::of(interval, &LineStyle::default());
        let times = &line.response_time_us;
        Sample {
            seconds: line.seconds,
            part,
            offered: line.offered.unwrap_or(line.completed + line.failed),
            completed: line.completed,
            failed: line.failed,
            p50_us: times.p50,
            p99_us: times.p99,
            max_us: times.max,
            lateness_p99_us: line.lateness_us.p99,
            errors: line.errors,
            ..Sample::default()
        }
    }

    /// When it began, in seconds since 1970.
    pub fn from_unix_s(&self) -> f64 {
        self.unix_s - self.seconds
    }
}

impl Seen {
    /// Memory as exactly as it is known.
    pub fn memory_bytes(&self) -> u64 {
        let divided = self.own_bytes.or(self.proportional_bytes);
        divided.unwrap_or(self.resident_bytes)
    }
}
