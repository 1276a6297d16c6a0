//! How the workers of one run begin together and tell the main thread how far they are.

use std::sync::atomic::{AtomicBool, AtomicU32, AtomicU64, Ordering};

use measure::time::Time;

/// Between the last worker's readiness and the first exchange, so that all have seen the time.
const LEAD_NS: u64 = 2_000_000;

/// How often a worker that is ready looks whether the others are.
pub(crate) const POLL_NS: u64 = 1_000_000;

/// Holds the load back until every worker has tried each of its connections.
#[derive(Debug)]
pub(crate) struct Gate {
    begins: Time,
    waiting: AtomicU32,
    start_ns: AtomicU64,
    over: AtomicBool,
    lives: Vec<Live>,
}

/// One worker's counts for the progress line, on a cache line of their own.
#[derive(Debug, Default)]
#[repr(align(64))]
pub(crate) struct Live {
    completed: AtomicU64,
    failed: AtomicU64,
    connected: AtomicU64,
}

impl Gate {
    #[cfg(test)]
    pub(crate) fn new(workers: u32) -> Gate {
        Gate::not_before(Time(0), workers)
    }

    /// For so many workers, who don't begin before `begins`.
    pub(crate) fn not_before(begins: Time, workers: u32) -> Gate {
        Gate {
            begins,
            waiting: AtomicU32::new(workers),
            start_ns: AtomicU64::new(Time::NEVER.0),
            over: AtomicBool::new(false),
            lives: (0..workers).map(|_| Live::default()).collect(),
        }
    }

    /// A worker is ready, or has ended before it was. The last one sets the beginning.
    pub(crate) fn arrive(&self, now: Time) {
        if self.waiting.fetch_sub(1, Ordering::AcqRel) == 1 {
            let start = now.plus(LEAD_NS).max(self.begins);
            self.start_ns.store(start.0, Ordering::Release);
        }
    }

    /// When the load begins; `None` while a worker is not ready.
    pub(crate) fn start(&self) -> Option<Time> {
        let start = Time(self.start_ns.load(Ordering::Acquire));
        (start != Time::NEVER).then_some(start)
    }

    /// One worker cannot go on, and so none should.
    pub(crate) fn end(&self) {
        self.over.store(true, Ordering::Release);
    }

    /// Whether a worker could not go on.
    pub(crate) fn is_over(&self) -> bool {
        self.over.load(Ordering::Acquire)
    }

    /// The counts of one worker. Those of a gate have neighbouring numbers, from wherever.
    pub(crate) fn live(&self, worker: u32) -> &Live {
        &self.lives[worker as usize % self.lives.len()]
    }

    /// Sums over the workers: completed, failed, connected.
    pub(crate) fn sums(&self) -> (u64, u64, u64) {
        self.lives
            .iter()
            .fold((0, 0, 0), |(completed, failed, connected), live| {
                (
                    completed + live.completed.load(Ordering::Relaxed),
                    failed + live.failed.load(Ordering::Relaxed),
                    connected + live.connected.load(Ordering::Relaxed),
                )
            })
    }
}

impl Live {
    /// Publishes a worker's counts; plain stores, nobody waits for them.
    pub(crate) fn publish(&self, completed: u64, failed: u64, connected: u64) {
        self.completed.store(completed, Ordering::Relaxed);
        self.failed.store(failed, Ordering::Relaxed);
        self.connected.store(connected, Ordering::Relaxed);
    }
}
