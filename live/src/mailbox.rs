//! Where intervals wait for a reader who has a thread of its own.

use std::collections::VecDeque;
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};

use measure::interval::Interval;

/// So many intervals wait for a reader. More are joined to the last of them.
const WAITING_MAX: usize = 8;

#[derive(Debug, Default)]
pub(crate) struct Mailbox {
    state: Mutex<State>,
    changed: Condvar,
}

#[derive(Debug, Default)]
struct State {
    waiting: VecDeque<Arc<Interval>>,
    /// Nothing more comes.
    is_closed: bool,
    /// Nobody reads any more.
    is_left: bool,
}

impl Mailbox {
    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Adds one. Takes as long as joining two at most.
    pub(crate) fn put(&self, interval: &Arc<Interval>) {
        let mut state = self.state();
        if state.is_left {
            return;
        }
        let is_full = state.waiting.len() >= WAITING_MAX;
        match state.waiting.back_mut() {
            Some(last) if is_full && last.phase == interval.phase => {
                Arc::make_mut(last).join(interval);
            }
            _ => state.waiting.push_back(Arc::clone(interval)),
        }
        self.changed.notify_one();
    }

    pub(crate) fn close(&self) {
        self.state().is_closed = true;
        self.changed.notify_one();
    }
}

/// The reader's end of a mailbox.
#[derive(Debug)]
pub struct Reader {
    mailbox: Arc<Mailbox>,
}

impl Reader {
    pub(crate) fn new(mailbox: Arc<Mailbox>) -> Reader {
        Reader { mailbox }
    }

    /// The next interval, if one waits.
    pub fn try_next(&self) -> Option<Arc<Interval>> {
        self.mailbox.state().waiting.pop_front()
    }
}

/// Waits for the next interval; ends when the run has.
impl Iterator for Reader {
    type Item = Arc<Interval>;

    fn next(&mut self) -> Option<Arc<Interval>> {
        let mut state = self.mailbox.state();
        loop {
            if let Some(first) = state.waiting.pop_front() {
                return Some(first);
            }
            if state.is_closed {
                return None;
            }
            let changed = self.mailbox.changed.wait(state);
            state = changed.unwrap_or_else(PoisonError::into_inner);
        }
    }
}

impl Drop for Reader {
    fn drop(&mut self) {
        let mut state = self.mailbox.state();
        state.is_left = true;
        state.waiting.clear();
    }
}
