//! Which tasks of a worker want to be polled: told from any thread, done on the worker's.

use std::sync::atomic::{AtomicBool, AtomicU8, AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, OnceLock, PoisonError};
use std::task::Wake;

use engine::Waker;

/// See the module.
#[derive(Debug, Default)]
pub(super) struct Queue {
    woken: Mutex<Vec<u32>>,
    /// Something was put into `woken` since it was last emptied.
    any: AtomicBool,
    /// Where the worker sleeps, or is about to.
    asleep: AtomicU8,
    driver: OnceLock<Waker>,
    /// Bytes that clients have tasks hold.
    held_bytes: AtomicUsize,
    /// What wakes a worker that sleeps in a runtime.
    #[cfg(feature = "tokio")]
    parked: Mutex<Option<std::task::Waker>>,
}

const AWAKE: u8 = 0;
const IN_DRIVER: u8 = 1;
#[cfg(feature = "tokio")]
const IN_RUNTIME: u8 = 2;

impl Queue {
    /// By what the worker's sleep is ended.
    pub(super) fn attach(&self, driver: Waker) {
        let _ = self.driver.set(driver);
    }

    /// A task holds so many bytes more.
    #[inline]
    pub(super) fn hold(&self, bytes: usize) {
        self.held_bytes.fetch_add(bytes, Ordering::Relaxed);
    }

    /// A task holds so many bytes less.
    #[inline]
    pub(super) fn let_go(&self, bytes: usize) {
        let before = self.held_bytes.fetch_sub(bytes, Ordering::Relaxed);
        debug_assert!(
            before >= bytes,
            "of {before} bytes that are held, {bytes} are let go"
        );
    }

    /// Bytes that clients have all tasks hold.
    #[inline]
    pub(super) fn held_bytes(&self) -> usize {
        self.held_bytes.load(Ordering::Relaxed)
    }

    /// A task wants to be polled.
    fn push(&self, slot: u32) {
        let mut woken = self.woken.lock().unwrap_or_else(PoisonError::into_inner);
        woken.push(slot);
        drop(woken);
        // Either this sees that the worker is falling asleep, or that sees this.
        self.any.store(true, Ordering::SeqCst);
        match self.asleep.load(Ordering::SeqCst) {
            AWAKE => {}
            #[cfg(feature = "tokio")]
            IN_RUNTIME => {
                let parked = self.parked.lock().unwrap_or_else(PoisonError::into_inner);
                if let Some(parked) = &*parked {
                    parked.wake_by_ref();
                }
            }
            _ => {
                if let Some(driver) = self.driver.get() {
                    driver.wake();
                }
            }
        }
    }

    /// Not all that were taken have been polled.
    pub(super) fn has_more(&self) {
        self.any.store(true, Ordering::SeqCst);
    }

    /// Whether a task wants to be polled.
    #[inline]
    pub(super) fn has_any(&self) -> bool {
        self.any.load(Ordering::Relaxed)
    }

    /// The worker is about to sleep in a runtime, until `waker` is used. False if it must not: a
    /// task wants to be polled.
    #[cfg(feature = "tokio")]
    pub(super) fn park(&self, waker: &std::task::Waker) -> bool {
        let mut parked = self.parked.lock().unwrap_or_else(PoisonError::into_inner);
        match &*parked {
            Some(known) if known.will_wake(waker) => {}
            _ => *parked = Some(waker.clone()),
        }
        drop(parked);
        self.asleep.store(IN_RUNTIME, Ordering::SeqCst);
        !self.any.load(Ordering::SeqCst)
    }

    /// Moves those that want to be polled to `into`.
    #[inline]
    pub(super) fn take(&self, into: &mut Vec<u32>) {
        if self.any.load(Ordering::Relaxed) {
            self.any.store(false, Ordering::SeqCst);
            let mut woken = self.woken.lock().unwrap_or_else(PoisonError::into_inner);
            into.append(&mut woken);
        }
    }

    /// The worker is about to sleep. False if it must not: a task wants to be polled.
    #[inline]
    pub(super) fn fall_asleep(&self) -> bool {
        self.asleep.store(IN_DRIVER, Ordering::SeqCst);
        !self.any.load(Ordering::SeqCst)
    }

    /// The worker is awake.
    #[inline]
    pub(super) fn wake_up(&self) {
        self.asleep.store(AWAKE, Ordering::SeqCst);
    }
}

/// What wakes one task.
#[derive(Debug)]
pub(super) struct Bell {
    queue: Arc<Queue>,
    slot: u32,
    /// It's in the queue already.
    rung: AtomicBool,
}

impl Bell {
    pub(super) fn new(queue: &Arc<Queue>, slot: u32) -> Bell {
        Bell {
            queue: Arc::clone(queue),
            slot,
            rung: AtomicBool::new(false),
        }
    }

    /// The worker's.
    #[inline]
    pub(super) fn queue(&self) -> &Queue {
        &self.queue
    }

    /// Has the task polled.
    pub(super) fn ring(&self) {
        if !self.rung.swap(true, Ordering::SeqCst) {
            self.queue.push(self.slot);
        }
    }

    /// The task is about to be polled: whoever wakes it from here on wants it polled again.
    pub(super) fn hush(&self) {
        self.rung.store(false, Ordering::SeqCst);
    }
}

impl Wake for Bell {
    fn wake(self: Arc<Bell>) {
        self.ring();
    }

    fn wake_by_ref(self: &Arc<Bell>) {
        self.ring();
    }
}
