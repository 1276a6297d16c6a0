//! The figures that a gate may be about, by the names that they have in files.

use lab::judging::at_equal_rate;
use lab::verdict::Metric;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use statistics::format::{bytes, per_second, time_us};

/// A figure, by the name that it has in `[judge]` of a comparison, too.
#[derive(
    Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize, JsonSchema,
)]
#[serde(rename_all = "snake_case")]
pub enum Figure {
    /// Requests a second, in a closed loop.
    Rate,
    /// The server's processor time for each exchange.
    Cpu,
    /// The median response time.
    P50,
    /// The 95th percentile of the response time.
    P95,
    /// The 99th percentile of the response time.
    P99,
    /// The mean response time.
    Mean,
    /// The peak of the server's resident memory.
    Memory,
}

impl Figure {
    /// Its name in a file.
    pub fn name(self) -> &'static str {
        match self {
            Figure::Rate => "rate",
            Figure::Cpu => "cpu",
            Figure::P50 => "p50",
            Figure::P95 => "p95",
            Figure::P99 => "p99",
            Figure::Mean => "mean",
            Figure::Memory => "memory",
        }
    }

    /// What the lab compares by it.
    pub fn metric(self) -> Metric {
        match self {
            Figure::Rate => Metric::RequestsPerSecond,
            Figure::Cpu => Metric::ServerCpuPerExchange,
            Figure::P50 => Metric::ResponseTimeP50,
            Figure::P95 => Metric::ResponseTimeP95,
            Figure::P99 => Metric::ResponseTimeP99,
            Figure::Mean => Metric::ResponseTimeMean,
            Figure::Memory => Metric::MemoryPeak,
        }
    }

    /// Whether it is measured at one rate for both sides, if there is one.
    pub fn is_at_equal_rate(self) -> bool {
        at_equal_rate(self.metric())
    }

    /// Whether it is a size, of which more isn't slower.
    pub(crate) fn is_a_size(self) -> bool {
        self == Figure::Memory
    }

    /// What a side does with it, and what it is, around a ratio: `answers 0.99 × the requests of`.
    pub(crate) fn clause(self, ratio: &str, base: &str) -> String {
        match self {
            Figure::Rate => format!("answers {ratio} the requests of {base}"),
            other => format!("has {ratio} the {} of {base}", other.metric().name()),
        }
    }

    /// A value of it with its unit.
    pub(crate) fn shown(self, value: f64) -> String {
        match self {
            Figure::Rate => per_second(value),
            Figure::Memory => bytes(value),
            Figure::Cpu | Figure::P50 | Figure::P95 | Figure::P99 | Figure::Mean => time_us(value),
        }
    }
}
