//! Sums that an agent keeps of what it has counted so far, by which the sum of its intervals is
//! checked.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::counted::Counted;

/// What was counted so far; of a hold its heartbeats.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Totals {
    /// Exchanges that were completed, or heartbeats that were answered.
    pub completed: u64,
    /// Exchanges or heartbeats that failed.
    pub failed: u64,
    /// Exchanges or heartbeats that had neither succeeded nor failed when the load ended.
    pub unfinished: u64,
    /// Response times, or those of heartbeats, lower bounds among them.
    pub responses: u64,
    /// Bytes that came in.
    pub bytes_received: u64,
    /// Bytes that went out.
    pub bytes_sent: u64,
}

impl Totals {
    /// Those of what was counted.
    pub fn of(counted: &Counted) -> Totals {
        let (completed, failed) = counted.ended();
        let (bytes_received, bytes_sent) = counted.bytes();
        Totals {
            completed,
            failed,
            unfinished: counted.unfinished(),
            responses: counted.times().count(),
            bytes_received,
            bytes_sent,
        }
    }

    /// These and more; none where a sum is above 2^64.
    pub fn plus(&self, more: &Totals) -> Option<Totals> {
        Some(Totals {
            completed: self.completed.checked_add(more.completed)?,
            failed: self.failed.checked_add(more.failed)?,
            unfinished: self.unfinished.checked_add(more.unfinished)?,
            responses: self.responses.checked_add(more.responses)?,
            bytes_received: self.bytes_received.checked_add(more.bytes_received)?,
            bytes_sent: self.bytes_sent.checked_add(more.bytes_sent)?,
        })
    }
}
