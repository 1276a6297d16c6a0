//! What the owner sleeps on outside of the ring: an eventfd(2) that the kernel writes to.
//!
//! The ring's own descriptor would not do: with `DEFER_TASKRUN` the completions that make it
//! readable appear only in an enter, which nobody makes who sleeps elsewhere. A registered eventfd
//! is written to as soon as there is work for such an enter (`io_req_local_work_add` in
//! `io_uring.c`), and for each completion that appears by itself.
//!
//! It rings only around a sleep. All other time `IORING_CQ_EVENTFD_DISABLED` is set, so that turns
//! cost what they cost without it; where no handle was ever asked for there is no eventfd at all.
//!
//! # No wake is lost
//!
//! The kernel writes for the *first* piece of deferred work only, and not while the flag is set.
//! So [`Uring::doze`](super::Uring) clears the flag and then looks. What was put on the list before
//! shows as a completion or as work held back; what is put there later is the first again, and
//! whoever does it sees the flag cleared. Where an atomic operation is no full barrier, an enter
//! takes all work off the list, as the kernel marks it by one and reads the flag after that.
//!
//! The trap: a write to the waker's eventfd, which the ring polls, makes such work while the kernel
//! is *inside of a write to an eventfd*, and from there it puts the one to this eventfd off, marks
//! that it did, and never takes the mark back (`__io_eventfd_signal` in `eventfd.c`, Linux 6.18):
//! the first wake rings, and no other does. So the waker writes here itself, after its first write
//! has left the work in the ring. Before that a turn would find nothing and the bell be silent.

use std::io;
use std::os::fd::{AsFd, OwnedFd};
use std::sync::atomic::{Ordering, fence};

use rustix::event::{EventfdFlags, eventfd};

use super::ring::Ring;
use crate::waker::Waker;

/// After so many sleeps that brought the ring nothing it's read in any case.
const VAIN_MAX: u8 = 16;

/// The eventfd, and what may have been written to it.
pub(super) struct Bell {
    eventfd: OwnedFd,
    /// The kernel is to write to it.
    armed: bool,
    /// The waker has written to it, be it armed or not.
    woken: bool,
    vain: u8, // Sleeps since it was last read that brought the ring nothing.
}

impl Bell {
    /// One of its own, that only `waker` rings yet.
    pub(super) fn new(ring: &mut Ring, waker: &Waker) -> io::Result<Bell> {
        let eventfd = eventfd(0, EventfdFlags::CLOEXEC | EventfdFlags::NONBLOCK)?;
        Bell::shared(ring, Some(waker), eventfd)
    }

    /// One that other rings ring, too.
    pub(super) fn shared(
        ring: &mut Ring,
        waker: Option<&Waker>,
        eventfd: OwnedFd,
    ) -> io::Result<Bell> {
        ring.set_notified(false);
        ring.register_eventfd(eventfd.as_fd())?;
        if let Some(waker) = waker {
            waker.write_next(eventfd.try_clone()?);
        }
        Ok(Bell {
            eventfd,
            armed: false,
            woken: false,
            vain: 0,
        })
    }

    /// What the owner sleeps on.
    pub(super) fn handle(&self) -> io::Result<OwnedFd> {
        self.eventfd.try_clone()
    }

    /// Rings from now on. Whoever calls this looks afterwards whether there is something already.
    pub(super) fn arm(&mut self, ring: &mut Ring) {
        if self.woken {
            self.forget();
        }
        ring.set_notified(true);
        self.armed = true;
        fence(Ordering::SeqCst);
    }

    /// Rings no longer, and forgets that it has, as it mostly hasn't if the ring has nothing.
    #[inline]
    pub(super) fn silence(&mut self, ring: &mut Ring) {
        if self.armed {
            ring.set_notified(false);
            self.armed = false;
            self.vain += 1;
            if self.woken || self.vain == VAIN_MAX || ring.ready() > 0 || ring.held_back() {
                self.forget();
            }
        }
    }

    /// The ring reports a wake.
    pub(super) fn note_wake(&mut self) {
        self.woken = true;
    }

    /// It fails where nothing has rung. A write that is under way comes too late for this; then the
    /// next sleep ends early once.
    fn forget(&mut self) {
        self.woken = false;
        self.vain = 0;
        let _ = rustix::io::read(&self.eventfd, &mut [0; 8]);
    }
}
