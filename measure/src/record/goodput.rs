//! The exchanges that were completed in time.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::tally::Tally;

/// Exchanges that were completed within a deadline, counted from when they were due.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Goodput {
    /// The deadline in microseconds.
    pub within_us: f64,
    /// Exchanges of the window that were completed within it.
    pub completed: u64,
    /// The same per second of the window.
    pub per_second: f64,
    /// Their share of all exchanges of the window, 0 to 1; null if there were none.
    pub share: Option<f64>,
}

impl Goodput {
    /// None where nobody asked for it.
    pub(super) fn of(tally: &Tally, duration_s: f64) -> Option<Goodput> {
        let within_ns = tally.good_within_ns?;
        let all = tally.completed + tally.failed + tally.unfinished;
        Some(Goodput {
            within_us: within_ns as f64 / 1000.0,
            completed: tally.good,
            per_second: super::rate(tally.good, duration_s),
            share: (all > 0).then(|| tally.good as f64 / all as f64),
        })
    }
}
