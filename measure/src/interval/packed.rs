//! An interval as it is sent to another machine.

use serde::{Deserialize, Serialize};

use super::{Interval, Phase};
use crate::tally;

/// An [`Interval`] without what is empty in it, in which a `C` was counted.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Packed<C = tally::Packed> {
    /// The number of its first second in the run, from 0.
    pub seq: u64,
    /// How many intervals were joined to it, itself among them.
    pub joined: u64,
    /// Where it belongs.
    pub phase: Phase,
    /// When it begins, in nanoseconds from the start of the measured window.
    pub from_ns: u64,
    /// When it ends.
    pub until_ns: u64,
    /// Exchanges that fell due in it by the schedule; none in a closed loop.
    pub offered: Option<u64>,
    /// Connections that stood when it ended.
    pub connected: u64,
    /// What was counted in it.
    pub counted: C,
}

impl<C> Packed<C> {
    /// An interval, with what was counted in it in this form.
    pub fn with<D>(interval: &Interval<D>, counted: C) -> Packed<C> {
        let Interval {
            seq,
            joined,
            phase,
            from_ns,
            until_ns,
            offered,
            connected,
            counted: _,
        } = interval;
        Packed {
            seq: *seq,
            joined: *joined,
            phase: *phase,
            from_ns: *from_ns,
            until_ns: *until_ns,
            offered: *offered,
            connected: *connected,
            counted,
        }
    }

    /// The interval, with what was counted in it as it was.
    pub fn without<D>(&self, counted: D) -> Interval<D> {
        Interval {
            seq: self.seq,
            joined: self.joined,
            phase: self.phase,
            from_ns: self.from_ns,
            until_ns: self.until_ns,
            offered: self.offered,
            connected: self.connected,
            counted,
        }
    }
}

impl Packed {
    /// An interval, whole.
    pub fn of(interval: &Interval) -> Packed {
        Packed::with(interval, tally::Packed::of(&interval.counted))
    }

    /// The interval, as it was.
    ///
    /// # Errors
    /// Where it came from outside and no interval has this form: what is wrong with it.
    pub fn unpack(&self) -> Result<Interval, String> {
        Ok(self.without(self.counted.unpack()?))
    }
}
