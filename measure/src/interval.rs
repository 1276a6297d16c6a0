//! What was counted in one second: the form in which a run is seen from outside while it goes on.
//!
//! Live views, streams and metrics read intervals, and nobody reads a worker. Adding up all the
//! intervals of a run gives its result, because that is how the result is made: each worker hands
//! over what it has counted at the end of each second, whole and exact. Where a reader or a worker
//! is late, seconds are joined, and none is lost.

mod handover;
mod line;
mod packed;

use crate::tally::Counted;

pub use handover::{Collector, Due, Feed};
pub use line::{IntervalHistograms, IntervalStep, Line, LineStyle, Phase, schema_json};
pub use packed::Packed;

/// What all workers counted in a second, or in several that were joined.
#[derive(Clone, Debug)]
pub struct Interval {
    /// The number of its first second in the run, from 0.
    pub seq: u64,
    /// How many intervals were joined to it, itself among them: the next one's number is
    /// `seq + joined`.
    pub joined: u64,
    /// Where it belongs.
    pub phase: Phase,
    /// When it begins, in nanoseconds from the start of the measured window.
    pub from_ns: u64,
    /// When it ends; the drain's ends with the last answer.
    pub until_ns: u64,
    /// Exchanges that fell due in it by the schedule, whether they were sent or not; none in a
    /// closed loop.
    pub offered: Option<u64>,
    /// Connections that stood when it ended.
    pub connected: u64,
    /// What was counted in it.
    pub counted: Counted,
}

impl Interval {
    /// Its length in seconds.
    pub fn seconds(&self) -> f64 {
        self.until_ns.saturating_sub(self.from_ns) as f64 / 1e9
    }

    /// Adds the one that follows, for a reader who is late. Both are of the same phase.
    pub fn join(&mut self, next: &Interval) {
        debug_assert_eq!(
            (self.seq + self.joined, self.phase),
            (next.seq, next.phase),
            "intervals are joined that aren't neighbours"
        );
        self.joined += next.joined;
        self.until_ns = next.until_ns;
        self.offered = match (self.offered, next.offered) {
            (Some(mine), Some(theirs)) => Some(mine + theirs),
            (mine, theirs) => mine.or(theirs),
        };
        self.connected = next.connected;
        self.counted.merge(&next.counted);
    }
}

#[cfg(test)]
mod tests;
