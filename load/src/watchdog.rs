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

/// How often calls are looked at.
const LOOK_EACH: Duration = Duration::from_millis(100);
/// A call within the load that lasts for so many looks won't come back…
const LOOKS_MAX: u32 = 100;
/// …and after a signal nobody waits for more than so many.
const LOOKS_STOPPED_MAX: u32 = 10;

/// Of one worker: twice the calls that came back, and one more while one is made.
pub(crate) type Beat = Arc<AtomicU64>;

/// Looks after the calls of all workers until it is dropped.
pub(crate) struct Watchdog {
    /// Nothing comes; it's closed when the run is over.
    _over: Sender<()>,
    seen: Arc<Mutex<Option<Progress>>>,
}

impl Watchdog {
    /// Has `hung` told why, and how far the run was, once a call has lasted for 10 s, or for a
    /// second after `stop`. It should end the process.
    pub(crate) fn new(
        beats: Vec<Beat>,
        stop: Stop,
        hung: impl FnOnce(Hang, Option<Progress>) + Send + 'static,
    ) -> Watchdog {
        let (over, is_over) = mpsc::channel();
        let seen = Arc::new(Mutex::new(None));
        let last = Arc::clone(&seen);
        thread::spawn(move || {
            let mut looks = Looks::default();
            while let Err(RecvTimeoutError::Timeout) = is_over.recv_timeout(LOOK_EACH) {
                let beats = beats.iter().map(|beat| beat.load(Ordering::Relaxed));
                if let Some(hang) = looks.look(beats, stop.requested()) {
                    return hung(hang, *last.lock().unwrap_or_else(PoisonError::into_inner));
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

/// What was seen of the calls of all workers.
#[derive(Default)]
struct Looks {
    /// Of each worker its beat, and for how many looks one call has lasted.
    workers: Vec<(u64, u32)>,
    /// Looks since a signal came.
    stopped: u32,
}

impl Looks {
    /// Looks at the `beats` of all workers, and says if one of their calls is to be given up.
    fn look(
        &mut self,
        beats: impl ExactSizeIterator<Item = u64>,
        signal: Option<Signal>,
    ) -> Option<Hang> {
        self.workers.resize(beats.len(), (0, 0));
        for (now, (before, lasted)) in beats.zip(&mut self.workers) {
            let lasts = now == *before && !now.is_multiple_of(2);
            (*before, *lasted) = (now, if lasts { *lasted + 1 } else { 0 });
        }
        let longest = self.workers.iter().map(|(_, lasted)| *lasted).max()?;
        self.stopped += u32::from(signal.is_some());
        match signal {
            Some(signal) if longest.min(self.stopped) >= LOOKS_STOPPED_MAX => {
                Some(Hang::Stopped(signal))
            }
            _ => (longest >= LOOKS_MAX).then_some(Hang::TooLong),
        }
    }
}

/// Why a call is given up.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Hang {
    /// It takes more time than it may.
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
        let (mut call, mut begun, mut looks) = (calls.load(Ordering::Relaxed), used(), 0);
        while let Err(RecvTimeoutError::Timeout) = is_over.recv_timeout(LOOK_EACH) {
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
            looks += 1;
            if looks >= LOOKS_STOPPED_MAX {
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
    fn a_call_within_the_load_is_given_up_for_its_length_and_after_a_signal_much_sooner() {
        let (long, short) = (LOOKS_MAX as usize, LOOKS_STOPPED_MAX as usize);
        let term = Some(Signal::Terminate);
        let calls = |beats: &[u64], signal_at: usize| {
            let mut looks = Looks::default();
            (0..3 * long).find_map(|at| {
                let signal = term.filter(|_| at >= signal_at);
                let now = beats.iter().map(|beat| match *beat {
                    0 => at as u64,
                    beat => beat,
                });
                looks.look(now, signal).map(|hang| (at, hang))
            })
        };
        let (never, stopped) = (usize::MAX, Hang::Stopped(Signal::Terminate));
        for (beats, signal_at, expected) in [
            // The first look sees that a call is made, and each later one that it lasts.
            (&[7][..], never, Some((long, Hang::TooLong))),
            (&[0, 8, 7], never, Some((long, Hang::TooLong))),
            (&[7], 20, Some((20 + short - 1, stopped))),
            (&[0, 7], 0, Some((short, stopped))),
            // It was there for as long as it may be when the signal came.
            (&[7], long - 2, Some((long, Hang::TooLong))),
            // No call, or always another one.
            (&[0, 8], never, None),
            (&[0, 8], 0, None),
            (&[], 0, None),
        ] {
            assert_eq!(calls(beats, signal_at), expected, "{beats:?} {signal_at}");
        }
    }

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
