//! What is said in the log when stores of users are lost, and when they're back.

use std::sync::atomic::{AtomicU8, Ordering::Relaxed};

use measure::foreign::screened;
use users::counts::Snapshot;

const REDIS_OPEN: u8 = 1;
const DATABASE_OPEN: u8 = 2;
const DEAF: u8 = 4;
/// Revocations were heard before, so that it's worth a line if they aren't.
const HEARD: u8 = 8;

/// What was said last of the stores behind some users, by whichever worker saw it first.
#[derive(Debug, Default)]
pub(crate) struct Said(AtomicU8);

impl Said {
    /// Says what has changed since.
    pub(crate) fn look(&self, name: &str, now: &Snapshot) {
        for line in self.changes(now) {
            eprintln!("ringside-gateway: users {}: {line}", screened(name));
        }
    }

    fn changes(&self, now: &Snapshot) -> impl Iterator<Item = &'static str> {
        let heard = now.hears || self.0.load(Relaxed) & HEARD != 0;
        let state = u8::from(now.redis_open) * REDIS_OPEN
            + u8::from(now.database_open) * DATABASE_OPEN
            + u8::from(heard) * HEARD
            + u8::from(heard && !now.hears) * DEAF;
        // Whoever changes it says so, and nobody else.
        let before = self.0.swap(state, Relaxed);
        let lines = [
            (
                REDIS_OPEN,
                "Redis keeps failing and isn't asked for now",
                "Redis is asked again",
            ),
            (
                DATABASE_OPEN,
                "the database keeps failing and isn't asked for now",
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
        let said = Said::default();
        let mut now = Snapshot::default();
        let mut look = |change: &dyn Fn(&mut Snapshot)| {
            change(&mut now);
            said.changes(&now).collect::<Vec<_>>()
        };
        assert!(look(&|_| {}).is_empty());
        assert!(look(&|now| now.hears = true).is_empty());
        let lost = look(&|now| {
            now.hears = false;
            now.redis_open = true;
        });
        assert_eq!(lost.len(), 2, "{lost:?}");
        assert!(lost[0].starts_with("Redis keeps failing"), "{lost:?}");
        assert!(lost[1].starts_with("revocations aren't heard"), "{lost:?}");
        assert!(look(&|_| {}).is_empty());
        let more = look(&|now| now.database_open = true);
        assert!(
            more.len() == 1 && more[0].starts_with("the database"),
            "{more:?}"
        );
        let back = look(&|now| {
            now.hears = true;
            now.redis_open = false;
            now.database_open = false;
        });
        let expected = [
            "Redis is asked again",
            "the database is asked again",
            "revocations are heard again",
        ];
        assert_eq!(back, expected);
    }
}
