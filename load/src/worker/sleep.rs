//! How long the driver may sleep before a worker's next turn.

use engine::{Driver, Until};
use measure::slots::SLOT_NS;
use measure::time::Time;

use super::{Phase, SPIN_NS, WAKE_EARLY_NS, Worker};
use crate::gate;

impl<D: Driver> Worker<'_, D> {
    /// When something is to be done next, but for sending.
    fn next_wake(&self) -> Time {
        let wake = self.core.next_timer();
        match self.phase {
            Phase::Connecting { .. } | Phase::Done => wake,
            Phase::Loading => {
                let pings = self.pings.as_ref().map_or(Time::NEVER, |pings| pings.due());
                wake.min(self.edge).min(pings)
            }
            Phase::Draining { until } => wake.min(until.max(self.core.stalls.clear_at())),
        }
    }

    /// How long the driver may sleep before the next turn; and where it may not, until when only a
    /// completion gives a turn anything to do.
    pub(super) fn next_wait(&mut self, now: Time) -> (Until, Time) {
        if self.maker.is_some() {
            self.make_ahead(now);
        }
        let busy = Time(0);
        let mut wake = self.next_wake();
        match self.phase {
            Phase::Connecting { .. } => {
                return (Until::Time(wake.min(now.plus(gate::POLL_NS))), busy);
            }
            Phase::Loading => {}
            // A stall of our own shows in turns that come late, so there have to be some.
            Phase::Draining { .. } => wake = wake.min(now.plus(SLOT_NS)),
            Phase::Done => return (Until::Now, busy),
        }
        if self.assignment.marks.is_some() {
            // What is due while every connection is busy can't be sent either.
            let blocked = match &self.pools {
                None => self.free.is_empty(),
                Some(pools) => pools.is_full(),
            };
            let due = self.due.filter(|_| !blocked).unwrap_or(Time::NEVER);
            let spins_until = if !blocked && now.plus(self.wake_early_ns) >= due {
                Time::NEVER
            } else if self.flights.total() > 0 {
                self.last_activity.plus(SPIN_NS)
            } else {
                busy
            };
            if now < spins_until {
                let quiet_until = if due <= now || !self.again.is_empty() {
                    busy
                } else {
                    wake.min(due).min(spins_until)
                };
                return (Until::Now, quiet_until);
            }
            if due != Time::NEVER {
                wake = wake.min(Time(due.0 - self.wake_early_ns));
            }
        }
        let until = match wake {
            Time::NEVER => Until::Event,
            wake => Until::Time(wake),
        };
        (until, busy)
    }

    /// Learns how late the kernel wakes this thread, so as to wake that much earlier.
    pub(super) fn learn_wake(&mut self, until: Until, now: Time, idle: bool) {
        if let (Until::Time(wanted), true) = (until, idle) {
            // A quarter up for one that was too late, a 64th down for one in time: that settles
            // where one in seventeen is too late, whatever the law, and one stall moves it little.
            let early = self.wake_early_ns;
            let early = if now.since(wanted) > early {
                early + early / 4
            } else {
                early - early / 64
            };
            self.wake_early_ns = early.clamp(*WAKE_EARLY_NS.start(), *WAKE_EARLY_NS.end());
        }
    }
}
