//! A limit with a queue in front: who begins now, who waits, who is refused.

use std::time::Duration;

use measure::time::Time;

use crate::limit::{self, Limit, Outcome};
use crate::queue::{self, Priority, Push, Queue};

/// What the limit and the queue of a gate do.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Settings {
    /// See [`limit::Settings`].
    pub limit: limit::Settings,
    /// See [`queue::Settings`].
    pub queue: queue::Settings,
}

/// Lets requests in, each a `T` while it waits. One for each worker and what it asks.
///
/// Whoever was let in has to be told of when it's over, by [`Gate::end`]; then
/// [`Gate::next`] says who goes on.
///
/// ```
/// use admission::gate::{Arrival, Gate, Settings, Slot};
/// use admission::limit::{self, Outcome};
/// use admission::queue::Priority;
/// use measure::time::Time;
///
/// let limit = limit::Settings { initial: 1, min: 1, ..limit::Settings::default() };
/// let mut gate = Gate::new(Settings { limit, ..Settings::default() }, Time(0));
/// assert_eq!(gate.arrive(Priority::Normal, "first", Time(0)), Arrival::Begins("first"));
/// assert_eq!(gate.arrive(Priority::Normal, "second", Time(1)), Arrival::Waits(None));
/// gate.end(&mut Slot::Held(Time(0)), Time(2), Outcome::Answered);
/// assert_eq!(gate.next(Time(2)), Some("second"));
/// ```
#[derive(Clone, Debug)]
pub struct Gate<T> {
    limit: Limit,
    queue: Queue<T>,
    counts: Counts,
}

/// The room that one takes up who was let in. Whoever lets him in keeps it.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Slot {
    /// None: he wasn't let in, or is over.
    #[default]
    None,
    /// One, since then.
    Held(Time),
    /// None for as long as his client is waited for.
    Lent,
}

/// What comes of one that arrives.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Arrival<T> {
    /// It may begin.
    Begins(T),
    /// It waits. With somebody, that one is refused for it.
    Waits(Option<T>),
    /// It's refused: so many wait already.
    Refused(T),
}

/// What became of those that arrived.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct Counts {
    /// Let in, at once or after they waited.
    pub begun: u64,
    /// Refused since the queue was full.
    pub full: u64,
    /// Refused since they had waited for too long.
    pub late: u64,
}

impl<T> Gate<T> {
    /// With nobody in it.
    pub fn new(settings: Settings, now: Time) -> Gate<T> {
        Gate {
            limit: Limit::new(settings.limit, now),
            queue: Queue::new(settings.queue, now),
            counts: Counts::default(),
        }
    }

    /// Somebody arrives.
    pub fn arrive(&mut self, priority: Priority, one: T, now: Time) -> Arrival<T> {
        if self.queue.is_empty() && self.limit.has_room() {
            self.begin();
            return Arrival::Begins(one);
        }
        match self.queue.push(priority, one, now) {
            Push::Waits => Arrival::Waits(None),
            Push::InPlaceOf(other) => {
                self.counts.full += 1;
                Arrival::Waits(Some(other))
            }
            Push::Full(one) => {
                self.counts.full += 1;
                Arrival::Refused(one)
            }
        }
    }

    /// One that was let in waits for its client, and takes up no room meanwhile.
    pub fn lend(&mut self, slot: &mut Slot) {
        if let Slot::Held(_) = slot {
            self.limit.lend();
            *slot = Slot::Lent;
        }
    }

    /// Its client has done what was waited for: it goes on, with or without room.
    pub fn take_back(&mut self, slot: &mut Slot, now: Time) {
        if let Slot::Lent = slot {
            self.limit.begin();
            *slot = Slot::Held(now);
        }
    }

    /// One is over, as far as this is about it: see [`crate::limit`].
    pub fn end(&mut self, slot: &mut Slot, now: Time, outcome: Outcome) {
        match (std::mem::take(slot), outcome) {
            (Slot::Held(since), outcome) => self.limit.end(since, now, outcome),
            // It was refused before its client was through. How long the server takes for an
            // answer isn't known of such.
            (Slot::Lent, Outcome::Overloaded) => {
                self.limit.begin();
                self.limit.end(now, now, outcome);
            }
            (Slot::Lent, Outcome::Answered | Outcome::Void) | (Slot::None, _) => {}
        }
    }

    /// Takes one that may begin now, if there is one. To be asked until there is none.
    pub fn next(&mut self, now: Time) -> Option<T> {
        if self.queue.is_empty() || !self.limit.has_room() {
            return None;
        }
        let next = self.queue.pop(now)?;
        self.begin();
        Some(next)
    }

    /// Takes one that has waited for too long and is to be refused. To be asked until there is
    /// none, before [`Gate::next`].
    pub fn expired(&mut self, now: Time) -> Option<T> {
        let late = self.queue.expired(now)?;
        self.counts.late += 1;
        Some(late)
    }

    /// When [`Gate::expired`] will have something to say if nothing else happens.
    pub fn expires_at(&self, now: Time) -> Option<Time> {
        self.queue.expires_at(now)
    }

    /// Takes one that waits and isn't wanted any more.
    pub fn remove(&mut self, is: impl FnMut(&T) -> bool, now: Time) -> Option<T> {
        self.queue.remove(is, now)
    }

    /// How many wait.
    pub fn waiting(&self) -> usize {
        self.queue.len()
    }

    /// How many are under way.
    pub fn in_flight(&self) -> u32 {
        self.limit.in_flight()
    }

    /// How many may be.
    pub fn allowed(&self) -> u32 {
        self.limit.allowed()
    }

    /// How long requests take without a queue.
    pub fn base(&self) -> Option<Duration> {
        self.limit.base()
    }

    /// What became of those that arrived.
    pub fn counts(&self) -> Counts {
        self.counts
    }

    fn begin(&mut self) {
        self.limit.begin();
        self.counts.begun += 1;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const MS: u64 = 1_000_000;

    #[test]
    fn clients_that_send_for_minutes_take_no_room_and_are_not_measured() {
        let mut gate = Gate::new(Settings::default(), Time(0));
        let mut now = Time(1);
        let mut slow = Vec::new();
        for at in 0..1000 {
            let arrived = gate.arrive(Priority::Normal, at, now);
            assert_eq!(arrived, Arrival::Begins(at));
            let mut slot = Slot::Held(now);
            gate.lend(&mut slot);
            slow.push(slot);
        }
        // One of them is through every 60 ms, beside others of which 10 are under way at once.
        for slot in &mut slow {
            for _ in 0..20 {
                let mut others = [Slot::Held(now); 10];
                for at in 0..others.len() {
                    let arrived = gate.arrive(Priority::Normal, at, now);
                    assert_eq!(arrived, Arrival::Begins(at));
                }
                now = now.plus(3 * MS);
                for slot in &mut others {
                    gate.end(slot, now, Outcome::Answered);
                }
            }
            gate.take_back(slot, now);
            assert_eq!(*slot, Slot::Held(now));
            now = now.plus(MS);
            gate.end(slot, now, Outcome::Answered);
        }
        assert_eq!(gate.base(), Some(Duration::from_millis(3)));
        assert_eq!((gate.in_flight(), gate.waiting()), (0, 0));
        assert!(gate.allowed() >= 10, "{}", gate.allowed());
    }

    #[test]
    fn who_is_through_goes_on_without_room_and_nobody_else_begins() {
        let limit = limit::Settings {
            max: 1,
            ..limit::Settings::default()
        };
        let settings = Settings {
            limit: limit::Settings { min: 1, ..limit },
            ..Settings::default()
        };
        let now = Time(1);
        let mut gate = Gate::new(settings, now);
        let mut slow = Slot::Held(now);
        assert_eq!(
            gate.arrive(Priority::Normal, "slow", now),
            Arrival::Begins("slow")
        );
        gate.lend(&mut slow);
        let mut other = Slot::Held(now);
        assert_eq!(
            gate.arrive(Priority::Normal, "other", now),
            Arrival::Begins("other")
        );
        gate.take_back(&mut slow, now);
        assert_eq!(gate.in_flight(), 2);
        assert_eq!(
            gate.arrive(Priority::Normal, "third", now),
            Arrival::Waits(None)
        );
        gate.end(&mut other, now, Outcome::Answered);
        assert_eq!(gate.next(now), None);
        gate.end(&mut slow, now, Outcome::Answered);
        assert_eq!(gate.next(now), Some("third"));
        // What was lent and is over has nothing to give back.
        let mut gone = Slot::Lent;
        gate.end(&mut gone, now, Outcome::Void);
        assert_eq!((gate.in_flight(), gone), (1, Slot::None));
    }
}
