//! Pings beside the load: each connection has one in every interval, spread evenly over it.

use engine::Driver;
use measure::time::Time;

use super::{Phase, Worker};
use crate::connection::State;

/// Which connection is pinged next, and when.
#[derive(Clone, Copy, Debug)]
pub(super) struct Pings {
    every_ns: u64,
    sessions: u64,
    /// When the first one was due; [`Time::NEVER`] before the load begins.
    origin: Time,
    /// Pings that have come due.
    count: u64,
}

impl Pings {
    /// Each of `sessions` connections every so often.
    pub(super) fn new(every_ns: u64, sessions: usize) -> Pings {
        Pings {
            every_ns,
            sessions: sessions as u64,
            origin: Time::NEVER,
            count: 0,
        }
    }

    /// The load begins.
    pub(super) fn begin(&mut self, now: Time) {
        self.origin = now;
    }

    /// When the next one is due. Computed from its number, so that nothing adds up.
    pub(super) fn due(&self) -> Time {
        if self.origin == Time::NEVER {
            return Time::NEVER;
        }
        let offset_ns =
            u128::from(self.every_ns) * u128::from(self.count) / u128::from(self.sessions);
        self.origin
            .plus(u64::try_from(offset_ns).unwrap_or(u64::MAX))
    }

    /// The connection whose ping is due.
    fn take(&mut self, now: Time) -> Option<usize> {
        (self.due() <= now).then(|| {
            let index = self.count % self.sessions;
            self.count += 1;
            index as usize
        })
    }
}

impl<D: Driver> Worker<'_, D> {
    /// Sends the pings that are due, on the connections that stand.
    pub(super) fn ping(&mut self, now: Time) {
        if self.phase != Phase::Loading {
            return;
        }
        while let Some(index) = self.pings.as_mut().and_then(|pings| pings.take(now)) {
            let session = &mut self.core.sessions[index];
            if session.state() == State::Open {
                session.wire.ping(now.0.to_be_bytes(), &mut session.out);
                self.core.appended(index);
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_connection_has_its_turn_once_in_an_interval() {
        let mut pings = Pings::new(90, 3);
        assert_eq!((pings.due(), pings.take(Time(1_000))), (Time::NEVER, None));
        pings.begin(Time(1_000));
        let mut taken = Vec::new();
        for now in 1_000..1_180 {
            while let Some(index) = pings.take(Time(now)) {
                taken.push((now - 1_000, index));
            }
        }
        let expected = [(0, 0), (30, 1), (60, 2), (90, 0), (120, 1), (150, 2)];
        assert_eq!(taken, expected);
        assert_eq!(pings.due(), Time(1_180));
    }
}
