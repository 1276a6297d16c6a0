//! Where intervals wait for a reader who has a thread of its own.

use std::collections::VecDeque;
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};

use measure::interval::{Additive, Interval};
use measure::tally::Counted;

/// So many intervals wait for a reader. More are joined to the last of them.
const WAITING_MAX: usize = 8;

#[derive(Debug)]
pub(crate) struct Mailbox<C> {
    state: Mutex<State<C>>,
    changed: Condvar,
}

#[derive(Debug)]
struct State<C> {
    waiting: VecDeque<Arc<Interval<C>>>,
    /// Nothing more comes.
    is_closed: bool,
    /// Nobody reads any more.
    is_left: bool,
}

impl<C> Default for Mailbox<C> {
    fn default() -> Mailbox<C> {
        let state = State {
            waiting: VecDeque::new(),
            is_closed: false,
            is_left: false,
        };
        Mailbox {
            state: Mutex::new(state),
            changed: Condvar::new(),
        }
    }
}

impl<C> Mailbox<C> {
    fn state(&self) -> MutexGuard<'_, State<C>> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Adds one. Takes as long as joining two at most.
    pub(crate) fn put(&self, interval: &Arc<Interval<C>>)
    where
        C: Additive,
    {
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
pub struct Reader<C = Counted> {
    mailbox: Arc<Mailbox<C>>,
}

impl<C> Reader<C> {
    pub(crate) fn new(mailbox: Arc<Mailbox<C>>) -> Reader<C> {
        Reader { mailbox }
    }

    /// The next interval, if one waits.
    pub fn try_next(&self) -> Option<Arc<Interval<C>>> {
        self.mailbox.state().waiting.pop_front()
    }

    /// Gives all that wait to `take`, in order; whether there were any.
    pub fn take_waiting(&self, mut take: impl FnMut(&Interval<C>)) -> bool {
        let mut is_any = false;
        while let Some(interval) = self.try_next() {
            take(&interval);
            is_any = true;
        }
        is_any
    }
}

/// Waits for the next interval; ends when the run has.
impl<C> Iterator for Reader<C> {
    type Item = Arc<Interval<C>>;

    fn next(&mut self) -> Option<Arc<Interval<C>>> {
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

impl<C> Drop for Reader<C> {
    fn drop(&mut self) {
        let mut state = self.mailbox.state();
        state.is_left = true;
        state.waiting.clear();
    }
}
