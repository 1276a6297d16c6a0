//! The wish to end: from SIGINT, SIGTERM or from code, seen by every worker at once.
//!
//! A [`Stop`] is a flag and the wakers of all who sleep. A signal handler may do next to nothing
//! (signal-safety(7)): this one touches atomics and calls [`Waker::wake`], which itself is one
//! atomic operation or one write(2) to an eventfd. The first signal asks for an orderly end; a
//! second SIGINT means that the user will not wait and exits on the spot with status 130.
//!
//! The `signal-hook` crate would do the same with its own lock-free table of closures, of which
//! registering one is unsafe too. Its chaining of handlers and its removal of them serve libraries
//! that share a process; here one program owns its signals, and the forty lines below have no
//! dependency and can be read in one go.
#![allow(unsafe_code)]

use std::fmt;
use std::io;
use std::mem::MaybeUninit;
use std::ptr;
use std::sync::atomic::{AtomicBool, AtomicPtr, AtomicU8, AtomicU32, Ordering::SeqCst};
use std::sync::{Arc, Mutex, PoisonError};

use crate::waker::Waker;

/// The most wakers that are registered with one [`Stop`] at once.
pub const WAKERS_MAX: usize = 1024;

/// What asked for the end.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Signal {
    /// SIGINT, as from Ctrl-C.
    Interrupt,
    /// SIGTERM, as from kill(1) or a supervisor.
    Terminate,
}

impl Signal {
    /// The status a shell reports for a process that this signal ended: 128 and its number.
    pub fn exit_code(self) -> u8 {
        match self {
            Signal::Interrupt => 130,
            Signal::Terminate => 143,
        }
    }
}

impl fmt::Display for Signal {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Signal::Interrupt => "SIGINT",
            Signal::Terminate => "SIGTERM",
        })
    }
}

/// A request to end that can be made once and seen everywhere. Clones share it.
#[derive(Clone, Debug)]
pub struct Stop {
    shared: Arc<Shared>,
}

#[derive(Debug)]
struct Shared {
    /// 0 while nothing is requested, else 1 and 2 for the signals in their order above.
    requested: AtomicU8,
    interrupts: AtomicU32,
    retiring: AtomicBool,
    /// How many threads are walking through `wakers`; a waker is freed only at zero.
    walking: AtomicU32,
    /// Each null or from `Box::into_raw`.
    wakers: [AtomicPtr<Waker>; WAKERS_MAX],
}

/// What the handler acts on: null, or an `Arc` given away for ever.
static HANDLED: AtomicPtr<Shared> = AtomicPtr::new(ptr::null_mut());
static INSTALLED: Mutex<Option<Stop>> = Mutex::new(None);

impl Stop {
    /// A stop that only code requests.
    #[allow(clippy::new_without_default)] // A stop that nobody shares is rarely meant.
    pub fn new() -> Stop {
        Stop {
            shared: Arc::new(Shared {
                requested: AtomicU8::new(0),
                interrupts: AtomicU32::new(0),
                retiring: AtomicBool::new(false),
                walking: AtomicU32::new(0),
                wakers: [const { AtomicPtr::new(ptr::null_mut()) }; WAKERS_MAX],
            }),
        }
    }

    /// The stop of this process, which SIGINT and SIGTERM request from the first call on. A second
    /// SIGINT ends the process at once, with status 130. Every call returns the same one.
    ///
    /// # Errors
    /// Where sigaction(2) fails.
    pub fn on_signals() -> io::Result<Stop> {
        let mut installed = INSTALLED.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(stop) = &*installed {
            return Ok(stop.clone());
        }
        let stop = Stop::new();
        HANDLED.store(Arc::into_raw(Arc::clone(&stop.shared)).cast_mut(), SeqCst);
        install_handler(libc::SIGINT)?;
        install_handler(libc::SIGTERM)?;
        *installed = Some(stop.clone());
        Ok(stop)
    }

    /// What asked for the end first, if anything did. One atomic load: cheap enough for each turn.
    pub fn requested(&self) -> Option<Signal> {
        match self.shared.requested.load(SeqCst) {
            0 => None,
            1 => Some(Signal::Interrupt),
            _ => Some(Signal::Terminate),
        }
    }

    /// Asks for the end and wakes everybody registered. Later requests change nothing.
    pub fn request(&self, signal: Signal) {
        self.shared.request(signal);
    }

    /// Asks servers to give their listening sockets up to others who accept on them, and to end
    /// when their clients have been served, of whom none is to notice.
    pub fn retire(&self) {
        self.shared.retiring.store(true, SeqCst);
        self.shared.wake();
    }

    /// Whether [`Stop::retire`] was called.
    pub fn is_retiring(&self) -> bool {
        self.shared.retiring.load(SeqCst)
    }

    /// Has `waker` used when the end is requested; at once if it was already. The registration
    /// lasts as long as the value returned. `None` where [`WAKERS_MAX`] are registered.
    pub fn register(&self, waker: Waker) -> Option<Registration> {
        let waker = Box::into_raw(Box::new(waker));
        let vacant = |slot: &AtomicPtr<Waker>| {
            slot.compare_exchange(ptr::null_mut(), waker, SeqCst, SeqCst)
                .is_ok()
        };
        let Some(slot) = self.shared.wakers.iter().position(vacant) else {
            // SAFETY: from `Box::into_raw` above, and no slot took it.
            drop(unsafe { Box::from_raw(waker) });
            return None;
        };
        // A request that came before the waker stood in its slot did not see it. In the total order
        // of these operations either that request saw the slot or this load sees the request.
        if self.requested().is_some() || self.is_retiring() {
            // SAFETY: only dropping the registration, which this function still owns, frees it.
            unsafe { &*waker }.wake();
        }
        Some(Registration {
            shared: Arc::clone(&self.shared),
            slot,
        })
    }
}

/// Keeps a waker registered with a [`Stop`].
#[derive(Debug)]
#[must_use = "the waker is registered only as long as this lives"]
pub struct Registration {
    shared: Arc<Shared>,
    slot: usize,
}

impl Drop for Registration {
    fn drop(&mut self) {
        let waker = self.shared.wakers[self.slot].swap(ptr::null_mut(), SeqCst);
        // Whoever walked by before the swap may still hold the pointer. A handler on this very
        // thread has returned by now, and those on other threads take microseconds.
        while self.shared.walking.load(SeqCst) > 0 {
            std::hint::spin_loop();
        }
        // SAFETY: `register` put it there by `Box::into_raw` and only this swap takes it out. No
        // walk that could have loaded it is under way, and later ones find null.
        drop(unsafe { Box::from_raw(waker) });
    }
}

impl Shared {
    /// Called from the signal handler too: atomics and `wake` only.
    fn request(&self, signal: Signal) {
        let _ = self
            .requested
            .compare_exchange(0, signal as u8 + 1, SeqCst, SeqCst);
        self.wake();
    }

    /// Wakes all who are registered.
    fn wake(&self) {
        self.walking.fetch_add(1, SeqCst);
        for slot in &self.wakers {
            let waker = slot.load(SeqCst);
            if !waker.is_null() {
                // SAFETY: the slot's registration frees it only after taking it out of the slot
                // and then seeing `walking` at zero.
                unsafe { &*waker }.wake();
            }
        }
        self.walking.fetch_sub(1, SeqCst);
    }
}

extern "C" fn handle(number: libc::c_int) {
    // SAFETY: null, or an `Arc` whose count `Stop::on_signals` raised and nobody lowers.
    let Some(shared) = (unsafe { HANDLED.load(SeqCst).as_ref() }) else {
        return;
    };
    if number == libc::SIGTERM {
        return shared.request(Signal::Terminate);
    }
    if shared.interrupts.fetch_add(1, SeqCst) > 0 {
        // SAFETY: _exit(2) is safe in a handler: no destructor and no exit handler runs.
        unsafe { libc::_exit(130) };
    }
    shared.request(Signal::Interrupt);
}

fn install_handler(signal: libc::c_int) -> io::Result<()> {
    // Calls that can be restarted are; epoll_wait(2) and io_uring_enter(2) never are (signal(7)),
    // and the drivers take their `EINTR` for an empty turn.
    //
    // SAFETY: all zeros are a valid sigaction(2): no flags, an empty mask, the default handler.
    let mut action: libc::sigaction = unsafe { MaybeUninit::zeroed().assume_init() };
    action.sa_sigaction = handle as extern "C" fn(libc::c_int) as libc::sighandler_t;
    action.sa_flags = libc::SA_RESTART;
    // SAFETY: `action` is a valid sigaction that outlives the call, and `handle` keeps to
    // signal-safety(7).
    match unsafe { libc::sigaction(signal, &action, ptr::null_mut()) } {
        0 => Ok(()),
        _ => Err(io::Error::last_os_error()),
    }
}

#[cfg(test)]
mod tests {
    use std::os::unix::process::ExitStatusExt;
    use std::process::{Command, Stdio};

    use measure::time::Time;
    use rustix::process::{Signal as Number, getpid, kill_process};

    use super::*;

    /// Set in the child process that one test starts.
    const CHILD: &str = "RINGSIDE_TEST_TWO_INTERRUPTS";

    #[test]
    fn the_first_request_counts_and_clones_see_it() {
        let stop = Stop::new();
        let clone = stop.clone();
        assert_eq!(clone.requested(), None);
        stop.request(Signal::Terminate);
        stop.request(Signal::Interrupt);
        assert_eq!(clone.requested(), Some(Signal::Terminate));
    }

    #[test]
    fn a_request_wakes_all_who_are_registered_and_nobody_who_left() {
        let stop = Stop::new();
        let (stays, leaves) = (Waker::flag(), Waker::flag());
        let _stays = stop.register(stays.clone());
        drop(stop.register(leaves.clone()));
        stop.request(Signal::Interrupt);
        assert!(stays.take_flag());
        assert!(!leaves.take_flag());
    }

    #[test]
    fn who_is_to_retire_is_woken_and_the_end_is_not_requested() {
        let stop = Stop::new();
        let (early, late) = (Waker::flag(), Waker::flag());
        let _early = stop.register(early.clone());
        stop.clone().retire();
        let _late = stop.register(late.clone());
        assert!(early.take_flag() && late.take_flag());
        assert!(stop.is_retiring() && stop.requested().is_none());
    }

    #[test]
    fn who_registers_after_the_request_is_woken_at_once() {
        let stop = Stop::new();
        stop.request(Signal::Interrupt);
        let waker = Waker::flag();
        let _registered = stop.register(waker.clone());
        assert!(waker.take_flag());
    }

    #[test]
    fn the_table_of_wakers_is_bounded_and_its_slots_are_used_again() {
        let stop = Stop::new();
        let mut all: Vec<_> = (0..WAKERS_MAX)
            .map(|_| stop.register(Waker::flag()))
            .collect();
        assert!(all.iter().all(Option::is_some));
        assert!(stop.register(Waker::flag()).is_none());
        all.pop();
        assert!(stop.register(Waker::flag()).is_some());
    }

    #[test]
    fn registering_while_another_thread_requests_loses_no_wake() {
        for _ in 0..200 {
            let stop = Stop::new();
            let waker = Waker::flag();
            let requester = stop.clone();
            let thread = std::thread::spawn(move || requester.request(Signal::Interrupt));
            let registered = stop.register(waker.clone());
            thread.join().expect("the requesting thread ends well");
            assert!(waker.take_flag());
            drop(registered);
        }
    }

    #[test]
    fn a_signal_to_the_process_requests_the_end_and_wakes() {
        if std::env::var_os(CHILD).is_some() {
            return;
        }
        let stop = Stop::on_signals().expect("sigaction works");
        let waker = Waker::flag();
        let _registered = stop.register(waker.clone());
        kill_process(getpid(), Number::TERM).expect("a process may signal itself");
        await_or_fail(|| waker.take_flag());
        assert_eq!(stop.requested(), Some(Signal::Terminate));
        let same = Stop::on_signals().expect("it is installed already");
        assert_eq!(same.requested(), Some(Signal::Terminate));
    }

    #[test]
    fn a_second_interrupt_exits_at_once_with_status_130() {
        if std::env::var_os(CHILD).is_some() {
            return interrupt_twice();
        }
        let name = "signal::tests::a_second_interrupt_exits_at_once_with_status_130";
        let itself = std::env::current_exe().expect("the test binary has a path");
        let status = Command::new(itself)
            .args(["--exact", name])
            .env(CHILD, "1")
            .stdout(Stdio::null())
            .status()
            .expect("the test binary runs");
        assert_eq!((status.code(), status.signal()), (Some(130), None));
    }

    /// What the child process does; it must not come back from the second signal.
    fn interrupt_twice() {
        let stop = Stop::on_signals().expect("sigaction works");
        kill_process(getpid(), Number::INT).expect("a process may signal itself");
        await_or_fail(|| stop.requested() == Some(Signal::Interrupt));
        kill_process(getpid(), Number::INT).expect("a process may signal itself");
        let deadline = Time::now().plus(5_000_000_000);
        while Time::now() < deadline {
            std::thread::yield_now();
        }
    }

    fn await_or_fail(handled: impl Fn() -> bool) {
        let deadline = Time::now().plus(5_000_000_000);
        while !handled() {
            assert!(Time::now() < deadline, "no signal was handled for 5 s");
            std::thread::yield_now();
        }
    }
}
