//! What is coming in pieces, and how long it may take.

use measure::time::Time;

use service::Timeouts;

/// A body that comes at least so fast may take longer than its time limit says.
const BODY_BYTES_PER_SECOND: u64 = 1000;

/// Something that is coming in pieces, and when it began.
#[derive(Clone, Copy, Debug)]
pub(super) struct Arrival {
    pub(super) began: Time,
    pub(super) bytes: u64,
    /// When its limit is to be looked at, counted from here.
    pub(super) since: Time,
}

impl Default for Arrival {
    fn default() -> Arrival {
        Arrival::NONE
    }
}

impl Arrival {
    /// Nothing is coming.
    pub(super) const NONE: Arrival = Arrival {
        began: Time::NEVER,
        bytes: 0,
        since: Time::NEVER,
    };

    pub(super) fn begin(now: Time) -> Arrival {
        Arrival {
            began: now,
            bytes: 0,
            since: now,
        }
    }

    /// Until when the rest has to be there.
    pub(super) fn until(&self, timeouts: &Timeouts) -> Time {
        let earned_ns = self
            .bytes
            .saturating_mul(1_000_000_000 / BODY_BYTES_PER_SECOND);
        (self.began + timeouts.body).plus(earned_ns)
    }

    /// Its limit was looked at, and is looked at again after as long.
    pub(super) fn looked(&mut self, now: Time) {
        if self.since != Time::NEVER {
            self.since = now;
        }
    }
}
