//! Connections on a listening socket that others accept on, too, of which nobody was told.
//!
//! Accepts wait exclusively: a connection wakes one of them, the one that has waited longest, and
//! wakes no other when that one does nothing about it. It may not: the ring of a process that was
//! killed is cleared by a thread of the kernel some time later (`io_ring_exit_work` in
//! `io_uring.c`), and a process that's stopped or busy doesn't enter its own. The connection then
//! waits for the next one to come. So such a socket is looked at, often at first, when who accepted
//! on it before may just have died, and later once a second.

use std::time::Duration;

use measure::time::Time;
use rustix::event::{PollFd, PollFlags, Timespec, poll};

use super::{Accepting, Uring};
use crate::operations::Listening;

const FIRST: Duration = Duration::from_millis(10);
const LATER: Duration = Duration::from_secs(1);

/// When it's looked next.
#[derive(Debug)]
pub(super) struct Looks {
    /// [`Time::NEVER`] without such a socket.
    pub(super) next: Time,
    pause: Duration,
}

impl Looks {
    pub(super) fn new() -> Looks {
        Looks {
            next: Time::NEVER,
            pause: FIRST,
        }
    }

    /// There is one more to look at.
    pub(super) fn begin(&mut self, now: Time) {
        *self = Looks {
            next: now + FIRST,
            pause: FIRST,
        };
    }

    fn again(&mut self, now: Time) {
        self.pause = (self.pause * 2).min(LATER);
        self.next = now + self.pause;
    }
}

impl Uring {
    /// Begins the accepts anew where connections wait: an accept looks before it waits. Those that
    /// are about to be told of are no harm.
    #[cold]
    pub(super) fn look_for_stranded(&mut self) {
        let shared = |listening: &Option<Listening>| listening.as_ref().is_some_and(has_waiting);
        let found = self.listeners.iter();
        let found = found.filter(|listener| shared(&listener.inherited));
        let found: Vec<_> = found.map(|listener| listener.token).collect();
        for position in 0..self.accepts.len() {
            let accept = &self.accepts[position];
            if accept.state == Accepting::UnderWay && found.contains(&accept.listener) {
                self.pause_accepting(position);
            }
        }
        match self.listeners.iter().any(|one| one.inherited.is_some()) {
            true => self.looks.again(self.now),
            false => self.looks = Looks::new(),
        }
    }
}

/// Whether a connection waits to be accepted.
fn has_waiting(listening: &Listening) -> bool {
    let mut socket = [PollFd::new(listening, PollFlags::IN)];
    poll(&mut socket, Some(&Timespec::default())).is_ok_and(|ready| ready > 0)
}
