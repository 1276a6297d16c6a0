//! What stands before a store: a breaker, and a number of seats.

use std::sync::atomic::{AtomicU64, AtomicUsize, Ordering::Relaxed};
use std::sync::{Mutex, MutexGuard, PoisonError};

use admission::breaker::{Breaker, Settings};
use measure::time::Time;

/// See the module.
#[derive(Debug)]
pub(crate) struct Guard {
    breaker: Mutex<Breaker>,
    /// Until when it's open, in nanoseconds; 0 if it isn't. That costs a load to look at.
    open_until: AtomicU64,
}

impl Guard {
    pub(crate) fn new(settings: Settings) -> Guard {
        Guard {
            breaker: Mutex::new(Breaker::new(settings)),
            open_until: AtomicU64::new(0),
        }
    }

    /// Whether the breaker is open: nobody may ask now.
    pub(crate) fn is_open(&self, now: Time) -> bool {
        now.0 < self.open_until.load(Relaxed)
    }

    /// Whether a question may be asked now. Whoever may has to say what came of it.
    pub(crate) fn allows(&self, now: Time) -> bool {
        self.with(|breaker| breaker.allows(now))
    }

    /// What came of a question that was asked then.
    pub(crate) fn ended(&self, well: bool, begun: Time, now: Time) {
        self.with(|breaker| match well {
            true => breaker.succeeded(begun, now),
            false => breaker.failed(begun, now),
        });
    }

    fn with<T>(&self, act: impl FnOnce(&mut Breaker) -> T) -> T {
        let mut breaker = self.lock();
        let value = act(&mut breaker);
        let until = breaker.open_until().map_or(0, |until| until.0);
        self.open_until.store(until, Relaxed);
        value
    }

    fn lock(&self) -> MutexGuard<'_, Breaker> {
        self.breaker.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// One of a limited number of places, until it's dropped.
#[derive(Debug)]
pub(crate) struct Seat<'a>(&'a AtomicUsize);

impl<'a> Seat<'a> {
    /// Takes one, if there is one.
    pub(crate) fn take(taken: &'a AtomicUsize, limit: usize) -> Option<Seat<'a>> {
        if taken.fetch_add(1, Relaxed) >= limit {
            taken.fetch_sub(1, Relaxed);
            return None;
        }
        Some(Seat(taken))
    }
}

impl Drop for Seat<'_> {
    fn drop(&mut self) {
        self.0.fetch_sub(1, Relaxed);
    }
}
