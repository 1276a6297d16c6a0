//! Broadcasts: one connection says something at its time, and every other is to hear it.

use engine::Driver;
use measure::time::Time;

use super::{Phase, State, Worker};

/// The speakers of two broadcasts that follow each other are so many connections apart: odd, so
/// that no few of them take turns.
const STRIDE: u64 = 2_654_435_761;

/// Broadcasts of a hold, as one worker sees them.
#[derive(Debug)]
pub(super) struct Broadcasting {
    interval_ns: u64,
    /// How many there are: each has an interval's time to be heard before the hold ends.
    number: u32,
    /// The next that falls due.
    next: u32,
    /// What the connections have heard.
    hearing: Vec<Hearing>,
    /// Broadcasts that came in what is just being read.
    pub(super) came: Vec<u32>,
}

/// What a connection has heard.
#[derive(Clone, Copy, Debug)]
struct Hearing {
    /// Since when it stands, or stood last.
    since: Time,
    /// Until when it did.
    until: Time,
    /// The latest that it has heard.
    latest: u32,
    /// Which of the 64 up to that it has: the n-th bit stands for `latest` − n.
    heard: u64,
}

impl Hearing {
    const NOTHING: Hearing = Hearing {
        since: Time::NEVER,
        until: Time::NEVER,
        latest: 0,
        heard: 0,
    };

    /// Whether it's a listener of the broadcast of this number, which was due then.
    fn listens(&self, number: u32, due: Time) -> bool {
        self.has_heard(number) || self.since <= due && due < self.until
    }

    fn has_heard(&self, number: u32) -> bool {
        self.heard & self.bit(number) != 0
    }

    /// The bit of the broadcast of this number; none for one that's later than `latest`, or too
    /// long before it.
    fn bit(&self, number: u32) -> u64 {
        let back = self.latest.checked_sub(number);
        back.and_then(|back| 1u64.checked_shl(back)).unwrap_or(0)
    }

    /// It hears the broadcast of this number.
    fn hear(&mut self, number: u32) -> Came {
        if number > self.latest {
            let further = number - self.latest;
            self.heard = self.heard.checked_shl(further).unwrap_or(0);
            self.latest = number;
        }
        let bit = self.bit(number);
        let was_heard = self.heard & bit != 0;
        self.heard |= bit;
        match was_heard {
            _ if bit == 0 => Came::TooLate,
            true => Came::Again,
            false => Came::New,
        }
    }
}

/// How a broadcast came to a connection.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Came {
    New,
    Again,
    /// So many others came before it that nobody knows whether it has, too.
    TooLate,
}

impl Broadcasting {
    /// For so many connections, every `interval_ns` of a hold that takes so long.
    pub(super) fn new(interval_ns: u64, duration_ns: u64, sessions: usize) -> Broadcasting {
        Broadcasting {
            interval_ns,
            number: u32::try_from(duration_ns / interval_ns).unwrap_or(u32::MAX),
            next: 0,
            hearing: vec![Hearing::NOTHING; sessions],
            came: Vec::new(),
        }
    }

    /// A connection stands from `now` on.
    pub(super) fn stands(&mut self, index: usize, now: Time) {
        let hearing = &mut self.hearing[index];
        (hearing.since, hearing.until) = (now, Time::NEVER);
    }

    /// It does no longer.
    pub(super) fn falls(&mut self, index: usize, now: Time) {
        self.hearing[index].until = now;
    }

    /// How many connections stood when the broadcast of this number was due. A worker that is late
    /// asks only afterwards.
    fn listeners(&self, number: u32, due: Time) -> u64 {
        let hearing = self.hearing.iter();
        hearing.filter(|one| one.listens(number, due)).count() as u64
    }

    /// When the broadcast of this number is due in a hold that began then.
    fn due(&self, number: u32, start: Time) -> Time {
        start.plus(u64::from(number) * self.interval_ns)
    }

    /// When the next is due.
    pub(super) fn next_due(&self, start: Time) -> Time {
        match self.next < self.number {
            true => self.due(self.next, start),
            false => Time::NEVER,
        }
    }
}

impl<D: Driver> Worker<'_, D> {
    /// Says what is due to be said by a connection of this worker, and counts who should hear it.
    pub(super) fn broadcast_due(&mut self, now: Time) {
        if !matches!(self.phase, Phase::Holding { .. }) {
            return;
        }
        while let Some(broadcasting) = &mut self.broadcasting {
            let due = broadcasting.next_due(self.start);
            if due > now {
                return;
            }
            let number = broadcasting.next;
            broadcasting.next += 1;
            let listeners = broadcasting.listeners(number, due);
            let said = self.say_to_all(number);
            let broadcast = self.tally.broadcasts.of(number);
            broadcast.listeners = listeners;
            if said {
                (broadcast.said, broadcast.late_ns) = (1, now.since(due));
            }
        }
    }

    /// Has the connection whose turn it is say the broadcast, or the next that stands, if it's this
    /// worker's.
    fn say_to_all(&mut self, number: u32) -> bool {
        let share = &self.assignment;
        let speaker = u64::from(number) * STRIDE % u64::from(share.connections);
        let (workers, sessions) = (u64::from(share.workers), self.core.sessions.len());
        if speaker % workers != u64::from(share.worker) || sessions == 0 {
            return false;
        }
        let first = (speaker / workers) as usize % sessions;
        let mut all = (first..sessions).chain(0..first);
        let standing = |index: &usize| self.core.sessions[*index].state() == State::Open;
        let Some(index) = all.find(standing) else {
            return false;
        };
        self.core.append(index);
        let session = &mut self.core.sessions[index];
        session.wire.say_to_all(number, &mut session.out);
        true
    }

    /// Books what a connection has heard.
    pub(super) fn hear(&mut self, index: usize, came: &mut Vec<u32>, now: Time) {
        // Another worker may have begun to hold before this one, and said something; and what comes
        // after the end comes too late.
        let (Some(start), false) = (self.gate.start(), self.is_over()) else {
            return came.clear();
        };
        let Some(broadcasting) = &mut self.broadcasting else {
            return;
        };
        for number in came.drain(..) {
            let due = broadcasting.due(number, start);
            let hearing = &mut broadcasting.hearing[index];
            // One that came later than that may hear it, and nobody waits for it.
            if number >= broadcasting.number || hearing.since > due {
                continue;
            }
            match hearing.hear(number) {
                Came::New => self.tally.broadcasts.heard(number, now.since(due)),
                Came::Again => self.tally.broadcasts.again += 1,
                Came::TooLate => {}
            }
        }
        broadcasting.came = std::mem::take(came);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_connection_hears_a_broadcast_once_in_whatever_order_they_come() {
        let mut hearing = Hearing::NOTHING;
        let heard = [0, 0, 1, 3, 2, 2, 3, 66, 3, 67, 4, 200, 66];
        let came = heard.map(|number| hearing.hear(number));
        use Came::{Again, New, TooLate};
        assert_eq!(
            came,
            [
                New, Again, New, New, New, Again, Again, New, Again, New, New, New, TooLate
            ]
        );
    }
}
