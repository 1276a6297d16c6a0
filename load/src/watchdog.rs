//! What ends a run whose script doesn't come back: LuaJIT's compiled loops look for nobody, nor do
//! its own functions, so a thread in one of them can be left only with the whole process.

use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::mpsc::{self, RecvTimeoutError, Sender};
use std::sync::{Arc, Mutex, PoisonError};
use std::thread;
use std::time::Duration;

use engine::signal::{Signal, Stop};
use measure::process;

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

/// How often a call outside of the load is looked at.
const GLANCE_EACH: Duration = Duration::from_millis(100);
/// So many looks a call may go on after a signal.
const GLANCES_MAX: u32 = 10;

/// Why a call outside of the load is given up.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Hang {
    /// It takes more CPU time than it may.
    TooLong,
    /// This signal came, and the call went on.
    Stopped(Signal),
}

/// Calls `call`, in which a script may be for ever. `hung` is told once a call of the script has
/// taken more than `cpu_max` of this thread's CPU time, or goes on for a second after a signal; it
/// should end the process. `calls` counts the calls that have begun. A signal that came before is
/// somebody else's.
pub(crate) fn outside_of_load<R>(
    cpu_max: Duration,
    stop: &Stop,
    calls: &AtomicU64,
    hung: impl FnOnce(Hang) + Send,
    call: impl FnOnce() -> R,
) -> R {
    let thread = process::own_thread();
    let (over, is_over) = mpsc::channel::<()>();
    let knows = stop.requested().is_some();
    let look = move || {
        let used = || process::thread_time(thread).map_or(0, |time| time.run_ns);
        let (mut call, mut begun, mut glances) = (calls.load(Ordering::Relaxed), used(), 0);
        while let Err(RecvTimeoutError::Timeout) = is_over.recv_timeout(GLANCE_EACH) {
            let now = calls.load(Ordering::Relaxed);
            if now != call {
                (call, begun) = (now, used());
            }
            if u128::from(used().saturating_sub(begun)) > cpu_max.as_nanos() {
                return hung(Hang::TooLong);
            }
            let Some(signal) = stop.requested().filter(|_| !knows) else {
                continue;
            };
            glances += 1;
            if glances >= GLANCES_MAX {
                return hung(Hang::Stopped(signal));
            }
        }
    };
    thread::scope(|scope| {
        scope.spawn(look);
        let done = call();
        drop(over);
        done
    })
}

#[cfg(test)]
mod tests {
    use std::cell::Cell;

    use super::*;

    #[test]
    fn a_call_that_does_not_come_back_is_told_of_and_one_that_does_is_not() {
        let told = |cpu_max, stop: &Stop, before: bool| {
            let (tell, told) = mpsc::channel();
            if before {
                stop.request(Signal::Interrupt);
            }
            let calls = AtomicU64::new(0);
            let hung = move |hang| tell.send(hang).unwrap_or_default();
            let seen = Cell::new(None);
            outside_of_load(cpu_max, stop, &calls, hung, || {
                while seen.get().is_none() {
                    seen.set(told.try_recv().ok());
                    if !before && cpu_max == Duration::MAX {
                        stop.request(Signal::Terminate);
                    }
                    if before {
                        break;
                    }
                }
            });
            seen.get()
        };
        let long = told(Duration::from_millis(50), &Stop::new(), false);
        assert_eq!(long, Some(Hang::TooLong));
        let stopped = told(Duration::MAX, &Stop::new(), false);
        assert_eq!(stopped, Some(Hang::Stopped(Signal::Terminate)));
        assert_eq!(told(Duration::MAX, &Stop::new(), true), None);
    }
}
