//! What is counted.

use std::sync::atomic::{AtomicU64, Ordering::Relaxed};

/// Counters that all threads add to.
#[derive(Debug, Default)]
pub struct Counts {
    pub(crate) memory: Count,
    pub(crate) stale: Count,
    pub(crate) redis: Count,
    pub(crate) database: Count,
    pub(crate) nobody: Count,
    pub(crate) unavailable: Count,
    pub(crate) redis_failed: Count,
    pub(crate) database_failed: Count,
    pub(crate) nonsense: Count,
    pub(crate) revoked: Count,
}

/// A counter.
#[derive(Debug, Default)]
pub(crate) struct Count(AtomicU64);

impl Count {
    #[inline]
    pub(crate) fn add(&self) {
        self.0.fetch_add(1, Relaxed);
    }
}

/// What was counted so far, and what is the case now.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct Snapshot {
    /// Answers from memory.
    pub memory: u64,
    /// Answers from memory that were old, since no store could be asked.
    pub stale: u64,
    /// Answers from Redis.
    pub redis: u64,
    /// Answers from the database.
    pub database: u64,
    /// Users that there weren't, as a store said.
    pub nobody: u64,
    /// Questions that nobody could answer.
    pub unavailable: u64,
    /// Times that Redis failed, or was late.
    pub redis_failed: u64,
    /// Times that the database failed, or was late, or had no room.
    pub database_failed: u64,
    /// Records that couldn't be understood.
    pub nonsense: u64,
    /// Users that were forgotten because the stream said so.
    pub revoked: u64,
    /// Users in memory now.
    pub entries: u64,
    /// Tasks of the thread that asks the stores now: a few that stay, and one for each question.
    pub tasks: u64,
    /// Whether the breaker of Redis is open now.
    pub redis_open: bool,
    /// Whether that of the database is.
    pub database_open: bool,
    /// Whether there is no connection to Redis now, although it's to be asked.
    pub redis_lost: bool,
    /// Whether revocations are heard now.
    pub hears: bool,
}

impl Counts {
    /// Reads them, one by one.
    pub(crate) fn read(&self) -> Snapshot {
        Snapshot {
            memory: self.memory.0.load(Relaxed),
            stale: self.stale.0.load(Relaxed),
            redis: self.redis.0.load(Relaxed),
            database: self.database.0.load(Relaxed),
            nobody: self.nobody.0.load(Relaxed),
            unavailable: self.unavailable.0.load(Relaxed),
            redis_failed: self.redis_failed.0.load(Relaxed),
            database_failed: self.database_failed.0.load(Relaxed),
            nonsense: self.nonsense.0.load(Relaxed),
            revoked: self.revoked.0.load(Relaxed),
            ..Snapshot::default()
        }
    }
}
