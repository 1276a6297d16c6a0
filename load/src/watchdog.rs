//! What ends a run whose script doesn't come back: LuaJIT's compiled loops look for nobody, so the
//! thread in one of them can be left only with the whole process.

use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::mpsc::{self, RecvTimeoutError, Sender};
use std::sync::{Arc, Mutex, PoisonError};
use std::thread;
use std::time::Duration;

use crate::crew::Progress;

/// How often the calls are looked at.
const LOOK_EACH: Duration = Duration::from_millis(500);
/// A call that lasts for so many looks won't come back.
pub(crate) const LOOKS_MAX: u32 = 20;

/// Of one worker: twice the calls that came back, and one more while one is made.
pub(crate) type Beat = Arc<AtomicU64>;

/// Looks after the calls of all workers until it is dropped.
pub(crate) struct Watchdog {
    /// Nothing comes; it's closed when the run is over.
    _over: Sender<()>,
    seen: Arc<Mutex<Option<Progress>>>,
}

impl Watchdog {
    /// Has `hung` told how far the run was, once a call has lasted for too long. It should end the
    /// process.
    pub(crate) fn new(
        beats: Vec<Beat>,
        hung: impl FnOnce(Option<Progress>) + Send + 'static,
    ) -> Watchdog {
        let (over, is_over) = mpsc::channel();
        let seen = Arc::new(Mutex::new(None));
        let last = Arc::clone(&seen);
        thread::spawn(move || {
            let mut looks: Vec<(u64, u32)> = vec![(0, 0); beats.len()];
            while let Err(RecvTimeoutError::Timeout) = is_over.recv_timeout(LOOK_EACH) {
                for (beat, look) in beats.iter().zip(&mut looks) {
                    let now = beat.load(Ordering::Relaxed);
                    let lasts = now == look.0 && !now.is_multiple_of(2);
                    *look = (now, if lasts { look.1 + 1 } else { 0 });
                }
                if looks.iter().any(|(_, lasted)| *lasted >= LOOKS_MAX) {
                    return hung(*last.lock().unwrap_or_else(PoisonError::into_inner));
                }
            }
        });
        Watchdog { _over: over, seen }
    }

    /// How far the run is.
    pub(crate) fn see(&self, now: &Progress) {
        *self.seen.lock().unwrap_or_else(PoisonError::into_inner) = Some(*now);
    }
}
