//! How long a server takes to answer, for whoever asks while it runs.
//!
//! Nothing is recorded before somebody has asked for the first time: a server whose times nobody
//! reads pays for a look at a flag in each turn of a worker, and for a count in each request. From
//! then on a worker reads the clock once more in each turn, when its answers have left, and records
//! them together.

use std::fmt;
use std::sync::atomic::{AtomicBool, Ordering::Relaxed};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use measure::histogram::Histogram;
use measure::time::Time;

/// How long a running server takes to answer: give a clone of it to `Config::response_times`, keep
/// another, and [read](ResponseTimes::read) that from any thread.
///
/// A time is that from the beginning of the turn of a worker in which a request was read, with all
/// of its body where its service waits for that, to the end of the turn in which the last of its
/// answer was handed to the connection. How long the answer then takes to leave is no part of it,
/// nor is what the request waited for in the kernel. Of a call of gRPC it's the time from its head
/// to its trailers. What is no answer isn't recorded: WebSockets and connections that were taken
/// over, answers to what is no HTTP, faults on purpose, and requests whose client left.
///
/// Times are recorded from the first time on that they are read. If several servers get the same
/// one, they are recorded together.
#[derive(Clone, Default)]
pub struct ResponseTimes(Arc<Inner>);

#[derive(Default)]
struct Inner {
    is_read: AtomicBool,
    workers: Mutex<Vec<Arc<Recorded>>>,
}

impl ResponseTimes {
    /// One that no server has been given yet.
    pub fn new() -> ResponseTimes {
        ResponseTimes::default()
    }

    /// What all workers have recorded since this was called for the first time. No worker is asked;
    /// one that records at this moment waits for a copy of its own times.
    pub fn read(&self) -> Histogram {
        self.0.is_read.store(true, Relaxed);
        let workers = lock(&self.0.workers);
        let mut all = Histogram::new();
        workers.iter().for_each(|one| all.merge(&lock(&one.times)));
        all
    }

    /// A place for the times of another worker.
    #[doc(hidden)]
    pub fn place(&self) -> RecordedTimes {
        let recorded = Arc::new(Recorded {
            times: Mutex::default(),
        });
        lock(&self.0.workers).push(Arc::clone(&recorded));
        RecordedTimes {
            of: self.clone(),
            recorded,
        }
    }
}

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

/// What one worker has recorded. On cache lines of its own, so that no worker slows another down.
#[repr(align(128))]
struct Recorded {
    times: Mutex<Histogram>,
}

/// Where one worker records its times.
#[derive(Clone)]
pub struct RecordedTimes {
    of: ResponseTimes,
    recorded: Arc<Recorded>,
}

impl RecordedTimes {
    /// Whether anybody reads them.
    #[inline]
    pub fn are_read(&self) -> bool {
        self.of.0.is_read.load(Relaxed)
    }

    /// The turn that began at `began` is over at `ended`: records the answers that it has given.
    pub fn record(&self, answered: &mut Answered, began: Time, ended: Time) {
        if answered.at_once == 0 && answered.late.is_empty() {
            return;
        }
        let mut times = lock(&self.recorded.times);
        if answered.at_once > 0 {
            times.record_n(ended.since(began), answered.at_once);
        }
        for since in answered.late.drain(..) {
            times.record(ended.since(since));
        }
        answered.at_once = 0;
    }
}

impl fmt::Debug for RecordedTimes {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("RecordedTimes").finish_non_exhaustive()
    }
}

/// What a worker has answered in a turn.
#[derive(Debug, Default)]
pub struct Answered {
    /// Requests that were read in the same turn.
    pub at_once: u64,
    /// When others were read, while anybody wants to know.
    pub late: Vec<Time>,
    /// Whether anybody does.
    pub is_read: bool,
}

impl Answered {
    /// A request that was read in the turn at `since` is answered in the turn at `now`.
    #[inline]
    pub fn add(&mut self, since: Time, now: Time) {
        if since == now {
            self.at_once += 1;
        } else if self.is_read {
            self.late.push(since);
        }
    }
}

/// Whether they are clones of the same.
impl PartialEq for ResponseTimes {
    fn eq(&self, other: &ResponseTimes) -> bool {
        Arc::ptr_eq(&self.0, &other.0)
    }
}

impl Eq for ResponseTimes {}

impl fmt::Debug for ResponseTimes {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("ResponseTimes").finish_non_exhaustive()
    }
}
