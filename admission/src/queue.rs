//! Who waits for room, in which order, and for how long at most.
//!
//! A queue that is never empty makes everybody wait and serves nobody better. This one does what
//! "Fail at Scale" (Maurer, ACM Queue 13:8, 2015) describes: while it has been empty within the
//! last `interval`, a request may wait for the interval, oldest first: that's a burst. Once it
//! hasn't, a request may wait for no longer than the `target` (CoDel's, RFC 8289), and the newest
//! is taken first: its client is the likeliest to be still there.
//!
//! Requests of a higher priority are taken before all others. A queue that is full lets one of them
//! in all the same, and turns the oldest of the lowest priority away for it.

use std::collections::VecDeque;
use std::time::Duration;

use measure::time::Time;

/// How important a request is.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Priority {
    /// Turned away first.
    Low,
    /// What most requests are.
    #[default]
    Normal,
    /// Turned away last.
    High,
}

const PRIORITIES: usize = 3;

/// How much may wait, and for how long.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Settings {
    /// Requests that may wait.
    pub length: usize,
    /// For how long, while it hasn't been empty within `interval`.
    pub target: Duration,
    /// For how long in a burst, which lasts as long: while it has been empty within this time.
    pub interval: Duration,
}

impl Default for Settings {
    /// A thousand, for 5 ms, and 25 ms in a burst: half of what somebody who waits notices.
    fn default() -> Settings {
        Settings {
            length: 1000,
            target: Duration::from_millis(5),
            interval: Duration::from_millis(25),
        }
    }
}

/// What comes of one that is to wait.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Push<T> {
    /// It waits.
    Waits,
    /// It waits, and this one of a lower priority doesn't any more.
    InPlaceOf(T),
    /// There is no room for it.
    Full(T),
}

/// See the module.
#[derive(Clone, Debug)]
pub struct Queue<T> {
    settings: Settings,
    /// By priority, the oldest first.
    lanes: [VecDeque<(Time, T)>; PRIORITIES],
    /// When it was last empty.
    empty_at: Time,
}

impl<T> Queue<T> {
    /// An empty one.
    pub fn new(settings: Settings, now: Time) -> Queue<T> {
        Queue {
            settings,
            lanes: std::array::from_fn(|_| VecDeque::new()),
            empty_at: now,
        }
    }

    /// How many wait.
    pub fn len(&self) -> usize {
        self.lanes.iter().map(VecDeque::len).sum()
    }

    /// Whether nobody does.
    #[inline]
    pub fn is_empty(&self) -> bool {
        self.lanes.iter().all(VecDeque::is_empty)
    }

    /// Has one wait.
    pub fn push(&mut self, priority: Priority, one: T, now: Time) -> Push<T> {
        if self.is_empty() {
            self.empty_at = self.empty_at.max(now);
        }
        let mut pushed = Push::Waits;
        if self.len() >= self.settings.length {
            let lower = &mut self.lanes[..priority as usize];
            match lower.iter_mut().find_map(VecDeque::pop_front) {
                Some((_, other)) => pushed = Push::InPlaceOf(other),
                None => return Push::Full(one),
            }
        }
        self.lanes[priority as usize].push_back((now, one));
        pushed
    }

    /// Takes who is next. Whoever has waited for too long has to be gone:
    /// [`Queue::expired`] comes first.
    pub fn pop(&mut self, now: Time) -> Option<T> {
        let newest_first = self.is_standing(now);
        let mut lanes = self.lanes.iter_mut().rev();
        let lane = lanes.find(|lane| !lane.is_empty())?;
        let (_, one) = if newest_first {
            lane.pop_back()?
        } else {
            lane.pop_front()?
        };
        self.note_empty(now);
        Some(one)
    }

    /// Takes one that has waited for too long.
    pub fn expired(&mut self, now: Time) -> Option<T> {
        let most = self.wait_max(now);
        let late = |lane: &&mut VecDeque<(Time, T)>| {
            let oldest = lane.front();
            oldest.is_some_and(|(since, _)| now.since(*since) > most.as_nanos() as u64)
        };
        let (_, one) = self.lanes.iter_mut().find(late)?.pop_front()?;
        self.note_empty(now);
        Some(one)
    }

    /// When somebody will have waited for too long, if nothing changes; `None` where nobody waits.
    pub fn expires_at(&self, now: Time) -> Option<Time> {
        let fronts = self.lanes.iter().filter_map(VecDeque::front);
        let oldest = fronts.map(|(since, _)| *since).min()?;
        let standing_from = self.empty_at + self.settings.interval;
        let at = standing_from.max((oldest + self.settings.target).plus(1));
        Some(at.max(now))
    }

    /// Takes one that is not wanted any more.
    pub fn remove(&mut self, mut is: impl FnMut(&T) -> bool, now: Time) -> Option<T> {
        let found = self.lanes.iter_mut().find_map(|lane| {
            let at = lane.iter().position(|(_, one)| is(one))?;
            lane.remove(at)
        });
        self.note_empty(now);
        found.map(|(_, one)| one)
    }

    /// Whether it hasn't been empty for the interval.
    pub fn is_standing(&self, now: Time) -> bool {
        !self.is_empty() && now.since(self.empty_at) >= self.settings.interval.as_nanos() as u64
    }

    fn wait_max(&self, now: Time) -> Duration {
        if self.is_standing(now) {
            self.settings.target
        } else {
            self.settings.interval
        }
    }

    fn note_empty(&mut self, now: Time) {
        if self.is_empty() {
            self.empty_at = self.empty_at.max(now);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const MS: u64 = 1_000_000;
    const INTERVAL: u64 = 25;

    fn at(ms: u64) -> Time {
        Time(ms * MS)
    }

    fn queue(length: usize) -> Queue<u32> {
        let settings = Settings {
            length,
            ..Settings::default()
        };
        Queue::new(settings, at(0))
    }

    #[test]
    fn in_a_burst_the_oldest_is_next() {
        let mut queue = queue(9);
        for n in 0..3 {
            let pushed = queue.push(Priority::Normal, n, at(1000 + u64::from(n)));
            assert_eq!(pushed, Push::Waits);
        }
        assert_eq!(queue.pop(at(1010)), Some(0));
        assert_eq!(queue.pop(at(1010)), Some(1));
    }

    #[test]
    fn in_a_queue_that_stands_the_newest_is_next_and_the_old_are_turned_away() {
        let mut queue = queue(99);
        for n in 0..=30 {
            queue.push(Priority::Normal, n, at(1000 + u64::from(n)));
        }
        let now = at(1031);
        assert!(queue.is_standing(now));
        let mut away = Vec::new();
        while let Some(one) = queue.expired(now) {
            away.push(one);
        }
        assert_eq!(away, (0..=25).collect::<Vec<_>>());
        assert_eq!(queue.pop(now), Some(30));
        assert_eq!(queue.pop(now), Some(29));
    }

    #[test]
    fn once_it_was_empty_it_is_a_burst_again() {
        let mut queue = queue(9);
        queue.push(Priority::Normal, 0, at(0));
        queue.push(Priority::Normal, 1, at(23));
        assert_eq!(queue.expired(at(26)), Some(0));
        assert_eq!(queue.pop(at(26)), Some(1));
        queue.push(Priority::Normal, 2, at(30));
        assert_eq!(queue.expired(at(29 + INTERVAL)), None);
        assert_eq!(queue.expired(at(30 + INTERVAL)), Some(2));
    }

    #[test]
    fn priorities_are_taken_in_their_order_and_a_full_queue_turns_the_lowest_away() {
        let mut queue = queue(3);
        assert_eq!(queue.push(Priority::Low, 1, at(0)), Push::Waits);
        assert_eq!(queue.push(Priority::Normal, 2, at(0)), Push::Waits);
        assert_eq!(queue.push(Priority::Normal, 3, at(0)), Push::Waits);
        assert_eq!(queue.push(Priority::Low, 4, at(0)), Push::Full(4));
        assert_eq!(queue.push(Priority::High, 5, at(0)), Push::InPlaceOf(1));
        assert_eq!(queue.push(Priority::High, 6, at(0)), Push::InPlaceOf(2));
        let order: Vec<_> = std::iter::from_fn(|| queue.pop(at(1))).collect();
        assert_eq!(order, [5, 6, 3]);
    }

    #[test]
    fn it_says_when_somebody_will_have_waited_for_too_long() {
        let mut queue = queue(9);
        assert_eq!(queue.expires_at(at(5)), None);
        queue.push(Priority::Normal, 1, at(10));
        let due = queue.expires_at(at(10)).expect("one waits");
        assert_eq!(due, at(10 + INTERVAL));
        assert_eq!(queue.expired(Time(due.0 - 1)), None);
        assert_eq!(queue.expired(due), Some(1));
    }

    #[test]
    fn what_is_not_wanted_any_more_is_taken_out() {
        let mut queue = queue(9);
        queue.push(Priority::Low, 1, at(0));
        queue.push(Priority::High, 2, at(0));
        assert_eq!(queue.remove(|one| *one == 1, at(1)), Some(1));
        assert_eq!(queue.remove(|one| *one == 1, at(1)), None);
        assert_eq!(queue.len(), 1);
    }
}
