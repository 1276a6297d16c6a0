//! Ending the sleep of a driver from another thread, or from a signal handler.

use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, OnceLock};

use rustix::event::{EventfdFlags, eventfd};
use rustix::io::Errno;

/// Ends a sleep of the driver it came from, the present one or the next. Cheap to clone; many wakes
/// before a turn are one wake. It outlives its driver harmlessly.
#[derive(Clone, Debug)]
pub struct Waker(Arc<Kind>);

#[derive(Debug)]
enum Kind {
    /// eventfd(2), which io_uring polls and epoll watches; and another, if need be, that is written
    /// to next.
    Event(OwnedFd, OnceLock<OwnedFd>),
    /// The simulator never sleeps for real; it looks at the flag.
    Flag(AtomicBool),
}

impl Waker {
    /// A waker for a driver that sleeps in the kernel.
    pub(crate) fn event() -> Result<Waker, Errno> {
        let descriptor = eventfd(0, EventfdFlags::CLOEXEC | EventfdFlags::NONBLOCK)?;
        Ok(Waker(Arc::new(Kind::Event(descriptor, OnceLock::new()))))
    }

    /// A waker for a driver with virtual time.
    pub(crate) fn flag() -> Waker {
        Waker(Arc::new(Kind::Flag(AtomicBool::new(false))))
    }

    /// Wakes. Safe in a signal handler (signal-safety(7): it is write(2), once or twice).
    pub fn wake(&self) {
        match &*self.0 {
            // Each write makes one edge, for a poll or an edge-triggered epoll, even if nobody ever
            // reads the counter. Should it be full (EAGAIN), the counter is readable anyway.
            Kind::Event(descriptor, next) => {
                let _ = rustix::io::write(descriptor, &1u64.to_ne_bytes());
                if let Some(next) = next.get() {
                    let _ = rustix::io::write(next, &1u64.to_ne_bytes());
                }
            }
            Kind::Flag(flag) => flag.store(true, Ordering::Release),
        }
    }

    /// What to watch for readability; `None` for virtual time.
    pub(crate) fn descriptor(&self) -> Option<BorrowedFd<'_>> {
        match &*self.0 {
            Kind::Event(descriptor, _) => Some(descriptor.as_fd()),
            Kind::Flag(_) => None,
        }
    }

    /// Has every wake from now on, of clones too, write to `next` when its first write is done.
    pub(crate) fn write_next(&self, next: OwnedFd) {
        if let Kind::Event(_, place) = &*self.0 {
            let placed = place.set(next);
            debug_assert!(placed.is_ok(), "a driver has one bell");
        }
    }

    /// Whether it was used since this was last asked; forgets it. For virtual time only.
    pub(crate) fn take_flag(&self) -> bool {
        match &*self.0 {
            Kind::Event(..) => false,
            Kind::Flag(flag) => flag.swap(false, Ordering::AcqRel),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_flag_is_taken_once() {
        let waker = Waker::flag();
        assert!(!waker.take_flag());
        waker.clone().wake();
        waker.wake();
        assert!(waker.take_flag());
        assert!(!waker.take_flag());
    }

    #[test]
    fn a_second_descriptor_is_written_to_by_every_clone() {
        let waker = Waker::event().expect("an eventfd");
        let earlier = waker.clone();
        let next = Waker::event().expect("another eventfd");
        let descriptor = next.descriptor().expect("kernel waker");
        waker.write_next(descriptor.try_clone_to_owned().expect("a duplicate"));
        earlier.wake();
        waker.wake();
        for descriptor in [waker.descriptor().expect("kernel waker"), descriptor] {
            let mut counter = [0; 8];
            assert_eq!(rustix::io::read(descriptor, &mut counter), Ok(8));
            assert_eq!(u64::from_ne_bytes(counter), 2);
        }
    }

    #[test]
    fn a_wake_makes_the_descriptor_readable() {
        let waker = Waker::event().expect("an eventfd");
        let other = waker.clone();
        std::thread::spawn(move || other.wake())
            .join()
            .expect("no panic");
        let mut counter = [0; 8];
        let descriptor = waker.descriptor().expect("kernel waker");
        assert_eq!(rustix::io::read(descriptor, &mut counter), Ok(8));
        assert_eq!(u64::from_ne_bytes(counter), 1);
    }
}
