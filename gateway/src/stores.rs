//! What is said in the log when stores of users are lost, and when they're back; and how long
//! others wait for them.

use std::sync::Arc;
use std::sync::atomic::{AtomicU8, Ordering::Relaxed};
use std::time::Duration;

use measure::time::Time;
use users::Users;
use users::counts::Snapshot;

use crate::terminal;

/// For so long nothing is said after the start: connections are still being made.
const QUIET: Duration = Duration::from_secs(2);

/// For so long a gateway and a new configuration wait for stores that don't answer.
pub(crate) const FIRST: Duration = Duration::from_secs(1);

/// Waits until each store has taken or refused a first connection, but no longer than this: whoever
/// asks then is looked up, and a store that's away stops nobody.
pub(crate) fn wait(users: &[Arc<Users>], patience: Duration) {
    let until = Time::now() + patience;
    for one in users {
        one.wait_for_stores(until - Time::now());
    }
}

const REDIS: u8 = 1;
const DATABASE: u8 = 2;
const DEAF: u8 = 4;
/// Revocations were heard before, so that it's worth a line if they aren't.
const HEARD: u8 = 8;

/// What was said last of the stores behind some users, by whichever worker saw it first.
#[derive(Debug)]
pub(crate) struct Said {
    state: AtomicU8,
    quiet_until: Time,
}

impl Said {
    /// Nothing yet.
    pub(crate) fn new(now: Time) -> Said {
        Said {
            state: AtomicU8::new(0),
            quiet_until: now + QUIET,
        }
    }

    /// Says what has changed since, and why.
    pub(crate) fn look(&self, name: &str, users: &Users, now: Time) {
        for line in users.new_causes() {
            terminal::tell(format_args!("users {name}: {line}"));
        }
        for line in self.changes(&users.counts(), now) {
            terminal::tell(format_args!("users {name}: {line}"));
        }
    }

    fn changes(&self, counts: &Snapshot, now: Time) -> impl Iterator<Item = &'static str> {
        let heard = counts.hears || self.state.load(Relaxed) & HEARD != 0;
        let redis = (counts.redis_lost && now >= self.quiet_until) || counts.redis_open;
        let state = u8::from(redis) * REDIS
            + u8::from(counts.database_open) * DATABASE
            + u8::from(heard) * HEARD
            + u8::from(heard && !counts.hears) * DEAF;
        // Whoever changes it says so, and nobody else.
        let before = self.state.swap(state, Relaxed);
        let lines = [
            (
                REDIS,
                "Redis isn't asked for now: it's not connected, or keeps failing",
                "Redis is asked again",
            ),
            (
                DATABASE,
                "the database isn't asked for now: it keeps failing",
                "the database is asked again",
            ),
            (
                DEAF,
                "revocations aren't heard: the stream in Redis can't be read",
                "revocations are heard again",
            ),
        ];
        let changed = move |bit: u8| (before ^ state) & bit != 0;
        let lines = lines.into_iter().filter(move |(bit, ..)| changed(*bit));
        lines.map(move |(bit, begins, ends)| if state & bit != 0 { begins } else { ends })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_change_is_said_once_and_the_first_hearing_not_at_all() {
        let said = Said::new(Time(0));
        let mut counts = Snapshot::default();
        let mut look = |seconds: u64, change: &dyn Fn(&mut Snapshot)| {
            change(&mut counts);
            let now = Time(0) + Duration::from_secs(seconds);
            said.changes(&counts, now).collect::<Vec<_>>()
        };
        assert!(look(0, &|now| now.redis_lost = true).is_empty());
        let connected = look(1, &|now| {
            now.redis_lost = false;
            now.hears = true;
        });
        assert!(connected.is_empty());
        let lost = look(3, &|now| {
            now.hears = false;
            now.redis_lost = true;
        });
        assert_eq!(lost.len(), 2, "{lost:?}");
        assert!(lost[0].starts_with("Redis isn't asked"), "{lost:?}");
        assert!(lost[1].starts_with("revocations aren't heard"), "{lost:?}");
        assert!(look(4, &|now| now.redis_open = true).is_empty());
        let more = look(5, &|now| now.database_open = true);
        assert!(
            more.len() == 1 && more[0].starts_with("the database"),
            "{more:?}"
        );
        let back = look(6, &|now| {
            now.hears = true;
            now.redis_open = false;
            now.redis_lost = false;
            now.database_open = false;
        });
        let expected = [
            "Redis is asked again",
            "the database is asked again",
            "revocations are heard again",
        ];
        assert_eq!(back, expected);
    }

    #[test]
    fn a_store_that_is_away_from_the_start_is_said_after_a_moment() {
        let said = Said::new(Time(0));
        let mut lost = Snapshot::default();
        lost.redis_lost = true;
        let at = |seconds| Time(0) + Duration::from_secs(seconds);
        assert_eq!(said.changes(&lost, at(1)).count(), 0);
        assert_eq!(said.changes(&lost, at(2)).count(), 1);
    }
}
