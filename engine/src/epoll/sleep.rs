//! Looking for events, and sleeping until there are some.

use std::io;
use std::os::fd::{AsFd, OwnedFd};

use measure::time::Time;
use rustix::buffer::spare_capacity;
use rustix::event::{PollFd, PollFlags, Timespec, epoll, poll};
use rustix::io::Errno;
use rustix::time::{
    Itimerspec, TimerfdClockId, TimerfdFlags, TimerfdTimerFlags, timerfd_create, timerfd_settime,
};

use crate::driver::Until;

/// The user data of the timer; no socket has this slot.
pub(super) const TIMER_DATA: u64 = u64::MAX - 1;

const ZERO: Timespec = Timespec {
    tv_sec: 0,
    tv_nsec: 0,
};

/// An epoll(7) instance and the events of one turn.
pub(super) struct Poller {
    epoll: OwnedFd,
    /// Ends sleeps at a point in time. The timeout of epoll_wait(2) counts whole milliseconds, and
    /// epoll_pwait2(2), which counts nanoseconds, came with Linux 5.11 and is not in every sandbox;
    /// a timerfd_create(2) is exact everywhere, and is set only when the deadline changes.
    timer: OwnedFd,
    /// What the timer was set to last.
    deadline: Time,
    pub(super) events: Vec<epoll::Event>,
}

/// What one look for events took.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Looked {
    /// Calls of epoll_wait(2) and timerfd_settime(2).
    pub(super) calls: u64,
    /// Whether nothing was there at first.
    pub(super) slept: bool,
}

impl Poller {
    /// At most `events` events a turn.
    pub(super) fn new(events: usize) -> Result<Poller, Errno> {
        let epoll = epoll::create(epoll::CreateFlags::CLOEXEC)?;
        let flags = TimerfdFlags::CLOEXEC | TimerfdFlags::NONBLOCK;
        let poller = Poller {
            epoll,
            timer: timerfd_create(TimerfdClockId::Monotonic, flags)?,
            deadline: Time(0),
            events: Vec::with_capacity(events),
        };
        let interest = epoll::EventFlags::IN | epoll::EventFlags::ET;
        poller.add(&poller.timer, TIMER_DATA, interest)?;
        Ok(poller)
    }

    /// Watches `descriptor` from now on until it is closed.
    pub(super) fn add(
        &self,
        descriptor: impl AsFd,
        data: u64,
        interest: epoll::EventFlags,
    ) -> Result<(), Errno> {
        epoll::add(
            &self.epoll,
            descriptor,
            epoll::EventData::new_u64(data),
            interest,
        )
    }

    /// Changes what is watched for.
    pub(super) fn modify(
        &self,
        descriptor: impl AsFd,
        data: u64,
        interest: epoll::EventFlags,
    ) -> Result<(), Errno> {
        epoll::modify(
            &self.epoll,
            descriptor,
            epoll::EventData::new_u64(data),
            interest,
        )
    }

    /// Fills `events`. Looks first without sleeping, which is all there is to it on a busy turn;
    /// the second call and the reading of the clock come only where there is time for them.
    ///
    /// A signal ends the sleep early, with no events.
    pub(super) fn look(&mut self, until: Until) -> Result<Looked, Errno> {
        self.poll(Some(&ZERO))?;
        if !self.events.is_empty() {
            return Ok(Looked {
                calls: 1,
                slept: false,
            });
        }
        let mut calls = 2;
        match until {
            Until::Now => calls = 1,
            Until::Event => self.poll(None)?,
            Until::Time(deadline) => {
                if Time::now() >= deadline {
                    calls = 1;
                } else {
                    if self.deadline != deadline {
                        self.set_timer(deadline)?;
                        calls = 3;
                    }
                    self.poll(None)?;
                }
            }
        }
        Ok(Looked { calls, slept: true })
    }

    /// The instance itself: readable while it has events, which it keeps.
    pub(super) fn handle(&self) -> io::Result<OwnedFd> {
        self.epoll.try_clone()
    }

    /// Whether there are no events now. Takes none.
    pub(super) fn is_quiet(&self) -> Result<bool, Errno> {
        let mut asked = [PollFd::new(&self.epoll, PollFlags::IN)];
        match poll(&mut asked, Some(&ZERO)) {
            Ok(readable) => Ok(readable == 0),
            // As if there were: the owner takes a turn and asks again.
            Err(Errno::INTR) => Ok(false),
            Err(errno) => Err(errno),
        }
    }

    /// Has the timer of an earlier sleep not end one that isn't in here. Returns how many calls
    /// that took.
    pub(super) fn clear_timer(&mut self) -> Result<u64, Errno> {
        if self.deadline == Time(0) {
            return Ok(0);
        }
        // A time of zero disarms it, and takes back that it has rung.
        self.set_timer(Time(0))?;
        Ok(1)
    }

    fn poll(&mut self, timeout: Option<&Timespec>) -> Result<(), Errno> {
        self.events.clear();
        match epoll::wait(&self.epoll, spare_capacity(&mut self.events), timeout) {
            Ok(_) | Err(Errno::INTR) => Ok(()),
            Err(errno) => Err(errno),
        }
    }

    fn set_timer(&mut self, deadline: Time) -> Result<(), Errno> {
        // A zero disarms it; as a deadline it has passed and never comes here.
        let once = Itimerspec {
            it_interval: ZERO,
            it_value: timespec(deadline.0),
        };
        timerfd_settime(&self.timer, TimerfdTimerFlags::ABSTIME, &once)?;
        self.deadline = deadline;
        Ok(())
    }
}

fn timespec(nanoseconds: u64) -> Timespec {
    Timespec {
        tv_sec: (nanoseconds / 1_000_000_000) as i64,
        tv_nsec: (nanoseconds % 1_000_000_000) as _,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::waker::Waker;

    fn watching(waker: &Waker) -> Poller {
        let poller = Poller::new(16).expect("an epoll instance");
        let descriptor = waker.descriptor().expect("a waker of the kernel");
        let interest = epoll::EventFlags::IN | epoll::EventFlags::ET;
        poller.add(descriptor, 7, interest).expect("watched");
        poller
    }

    #[test]
    fn sleeps_end_at_the_deadline_and_not_before_in_any_order_of_deadlines() {
        let waker = Waker::event().expect("an eventfd");
        let mut poller = watching(&waker);
        for length_ns in [1, 3_000_000, 1_000, 300_000, 3_000_000] {
            let deadline = Time::now().plus(length_ns);
            // A signal, as other tests of this process send, may end a sleep early.
            let mut looks = 0;
            while Time::now() < deadline {
                poller
                    .look(Until::Time(deadline))
                    .expect("the kernel sleeps");
                looks += 1;
                assert!(looks < 10, "{length_ns} ns took {looks} looks");
            }
        }
    }

    #[test]
    fn an_event_that_is_there_costs_one_call_and_no_sleep() {
        let waker = Waker::event().expect("an eventfd");
        let mut poller = watching(&waker);
        waker.wake();
        let looked = poller.look(Until::Event).expect("the kernel looks");
        assert_eq!(
            looked,
            Looked {
                calls: 1,
                slept: false
            }
        );
        assert_eq!(poller.events.len(), 1);
        let looked = poller.look(Until::Now).expect("the kernel looks");
        assert_eq!(
            looked,
            Looked {
                calls: 1,
                slept: true
            }
        );
    }
}
