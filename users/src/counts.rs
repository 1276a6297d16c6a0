//! What is counted.

use std::sync::atomic::{AtomicU64, Ordering::Relaxed};

/// A store and a kind of cause, for each counter of [`Snapshot::causes`].
pub const CAUSES: [&str; 12] = [
    "redis_login",
    "redis_permission",
    "redis_question",
    "redis_unavailable",
    "redis_unreachable",
    "redis_other",
    "database_login",
    "database_permission",
    "database_question",
    "database_unavailable",
    "database_unreachable",
    "database_other",
];

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
    pub(crate) overtaken: Count,
    /// In the order of [`CAUSES`].
    pub(crate) causes: [Count; CAUSES.len()],
}

/// A counter.
#[derive(Debug, Default)]
pub(crate) struct Count(AtomicU64);

impl Count {
    #[inline]
    pub(crate) fn add(&self) {
        self.0.fetch_add(1, Relaxed);
    }

    pub(crate) fn read(&self) -> u64 {
        self.0.load(Relaxed)
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
    /// Times that everybody was forgotten since the stream had lost entries before they were read.
    pub overtaken: u64,
    /// How often stores failed for which cause, in the order of [`CAUSES`].
    pub causes: [u64; CAUSES.len()],
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
    /// What may be under way to Redis at once, and what is.
    pub redis_pool: Pool,
    /// Connections to the database, and how many are in use.
    pub database_pool: Pool,
}

/// What there is of something, and what of it is in use.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Pool {
    /// All of it; 0 if there is none.
    pub limit: u64,
    /// What is in use now.
    pub in_use: u64,
}

impl Counts {
    /// Reads them, one by one.
    pub(crate) fn read(&self) -> Snapshot {
        Snapshot {
            memory: self.memory.read(),
            stale: self.stale.read(),
            redis: self.redis.read(),
            database: self.database.read(),
            nobody: self.nobody.read(),
            unavailable: self.unavailable.read(),
            redis_failed: self.redis_failed.read(),
            database_failed: self.database_failed.read(),
            nonsense: self.nonsense.read(),
            revoked: self.revoked.read(),
            overtaken: self.overtaken.read(),
            causes: std::array::from_fn(|at| self.causes[at].read()),
            ..Snapshot::default()
        }
    }
}
