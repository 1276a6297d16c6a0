//! An interval as it is sent to another machine.

use serde::{Deserialize, Serialize};

use super::{Interval, Phase};
use crate::tally;

/// An [`Interval`] without what is empty in it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Packed {
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
    pub counted: tally::Packed,
}

impl Packed {
    /// An interval, whole.
    pub fn of(interval: &Interval) -> Packed {
        let Interval {
            seq,
            joined,
            phase,
            from_ns,
            until_ns,
            offered,
            connected,
            counted,
        } = interval;
        Packed {
            seq: *seq,
            joined: *joined,
            phase: *phase,
            from_ns: *from_ns,
            until_ns: *until_ns,
            offered: *offered,
            connected: *connected,
            counted: tally::Packed::of(counted),
        }
    }

    /// The interval, as it was.
    ///
    /// # Errors
    /// Where it came from outside and no interval has this form: what is wrong with it.
    pub fn unpack(&self) -> Result<Interval, String> {
        Ok(Interval {
            seq: self.seq,
            joined: self.joined,
            phase: self.phase,
            from_ns: self.from_ns,
            until_ns: self.until_ns,
            offered: self.offered,
            connected: self.connected,
            counted: self.counted.unpack()?,
        })
    }
}
