//! What was counted in one second: the form in which a run is seen from outside while it goes on.
//!
//! Live views, streams and metrics read intervals, and nobody reads a worker. Adding up all the
//! intervals of a run gives its result, because that is how the result is made: each worker hands
//! over what it has counted at the end of each second, whole and exact. Where a reader or a worker
//! is late, seconds are joined, and none is lost.

mod handover;
mod line;
mod packed;

use std::fmt::Debug;

use serde::Serialize;

use crate::tally::{Counted, Tally};

pub use handover::{Collector, Due, Feed};
pub use line::{
    IntervalHistograms, IntervalStep, IntervalStreams, Line, LineStyle, Phase, schema_json,
};
pub use packed::Packed;

/// What is counted in some span of time. Adding up those of all spans and workers gives what was
/// counted in all.
pub trait Additive: Clone + Debug + Default + Send + Sync + 'static {
    /// An interval of it as a line of JSON.
    type Line: Serialize;

    /// An empty one in which the same can be counted as in this one.
    fn like(&self) -> Self;

    /// Adds everything that `other` counted. Associative and commutative.
    fn merge(&mut self, other: &Self);

    /// Forgets everything, keeps the memory: whoever counts here next takes none.
    fn clear(&mut self);

    /// How long the drain was, in what was counted in it.
    fn drained_ns(&self) -> u64;

    /// What an interval of it says.
    fn line(interval: &Interval<Self>, style: &LineStyle) -> Self::Line;
}

/// Who counts it: a worker's tally.
pub trait Counter {
    /// What is counted.
    type Counted: Additive;

    /// What was counted since it was last handed over, or ever.
    fn counted(&self) -> &Self::Counted;

    /// Hands over what was counted since the last time, in exchange for a buffer in which nothing
    /// is: counting goes on there. The course over time stays. Takes no memory.
    fn hand_over(&mut self, empty: &mut Self::Counted);

    /// Takes back all that was handed over, added up.
    fn take_back(&mut self, earlier: &Self::Counted);
}

impl Additive for Counted {
    type Line = Line;

    fn like(&self) -> Counted {
        Counted::like(self)
    }

    fn merge(&mut self, other: &Counted) {
        Counted::merge(self, other);
    }

    fn clear(&mut self) {
        Counted::clear(self);
    }

    fn drained_ns(&self) -> u64 {
        self.drain.nanoseconds
    }

    fn line(interval: &Interval, style: &LineStyle) -> Line {
        Line::of(interval, style)
    }
}

impl Counter for Tally {
    type Counted = Counted;

    fn counted(&self) -> &Counted {
        Tally::counted(self)
    }

    fn hand_over(&mut self, empty: &mut Counted) {
        Tally::hand_over(self, empty);
    }

    fn take_back(&mut self, earlier: &Counted) {
        Tally::take_back(self, earlier);
    }
}

/// What all workers counted in a second, or in several that were joined: exchanges of a run, or
/// connections and heartbeats of a hold.
#[derive(Clone, Debug)]
pub struct Interval<C = Counted> {
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
    /// closed loop, and where users go through flows.
    pub offered: Option<u64>,
    /// Connections that stood when it ended.
    pub connected: u64,
    /// What was counted in it.
    pub counted: C,
}

impl<C: Additive> Interval<C> {
    /// Its length in seconds.
    pub fn seconds(&self) -> f64 {
        self.until_ns.saturating_sub(self.from_ns) as f64 / 1e9
    }

    /// It as a line of JSON, with its end.
    ///
    /// # Errors
    /// Where a figure is no number that JSON has, which is a bug.
    pub fn to_json(&self, style: &LineStyle) -> Result<String, String> {
        let json = serde_json::to_string(&C::line(self, style));
        json.map(|line| line + "\n")
            .map_err(|why| format!("an interval can't be written as JSON: {why}"))
    }

    /// Adds the one that follows, for a reader who is late. Both are of the same phase.
    pub fn join(&mut self, next: &Interval<C>) {
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
