//! What all threads of a page share: what is shown, how far that is, who looks on, and how it
//! ended.

use std::collections::BTreeMap;
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use measure::time::Time;
use server::Bell;

use super::End;
use super::view::{Progress, View};

/// A browser that hasn't asked for so long isn't waited for.
pub(super) const GONE_AFTER: Duration = Duration::from_secs(2);
/// So many browsers are told apart.
pub(super) const VIEWERS_MAX: usize = 256;

/// How far it is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Stage {
    /// It goes on.
    Running,
    /// Somebody has ended it here.
    Ending,
    /// Nothing more is measured.
    Measured,
    /// The report is written.
    Over,
}

/// See the module.
pub(super) struct Board<V: View + ?Sized = dyn View> {
    /// Apart from the rest, since the thread that tends the load writes it, and waits for nobody.
    progress: Mutex<Progress>,
    bell: Mutex<Option<Bell>>,
    state: Mutex<State<V>>,
}

/// What is known so far.
pub(super) struct State<V: View + ?Sized = dyn View> {
    /// Goes up with whatever changes.
    pub seq: u64,
    pub stage: Stage,
    pub end: Option<End>,
    viewers: BTreeMap<u64, Viewer>,
    pub view: V,
}

/// A browser that looks on.
struct Viewer {
    asked: Time,
    knows_the_end: bool,
}

impl<V: View> Board<V> {
    pub(super) fn new(view: V) -> Board<V> {
        Board {
            progress: Mutex::default(),
            bell: Mutex::default(),
            state: Mutex::new(State::new(view)),
        }
    }
}

impl<V: View + ?Sized> Board<V> {
    pub(super) fn state(&self) -> MutexGuard<'_, State<V>> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    pub(super) fn progress(&self) -> MutexGuard<'_, Progress> {
        self.progress.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Tells who is to be told of changes.
    pub(super) fn hang(&self, bell: Bell) {
        *self.bell.lock().unwrap_or_else(PoisonError::into_inner) = Some(bell);
    }

    /// Changes something, and tells.
    pub(super) fn change(&self, how: impl FnOnce(&mut State<V>)) {
        {
            let mut state = self.state();
            how(&mut state);
            state.seq += 1;
        }
        let bell = self.bell.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(bell) = &*bell {
            bell.ring();
        }
    }
}

impl<V: View> State<V> {
    /// Nothing yet.
    pub(super) fn new(view: V) -> State<V> {
        State {
            seq: 1,
            stage: Stage::Running,
            end: None,
            viewers: BTreeMap::new(),
            view,
        }
    }
}

impl<V: View + ?Sized> State<V> {
    /// A browser asks at `now`.
    pub(super) fn asked(&mut self, viewer: u64, now: Time) {
        let knows_the_end = self.stage == Stage::Over;
        if self.viewers.len() < VIEWERS_MAX || self.viewers.contains_key(&viewer) {
            let asked = now;
            self.viewers.insert(
                viewer,
                Viewer {
                    asked,
                    knows_the_end,
                },
            );
        }
    }

    /// A browser is gone.
    pub(super) fn left(&mut self, viewer: u64) {
        self.viewers.remove(&viewer);
    }

    /// How many browsers are told apart.
    #[cfg(test)]
    pub(super) fn viewers(&self) -> usize {
        self.viewers.len()
    }

    /// Whether everybody who looks on at `now` knows that it's over.
    pub(super) fn all_know_the_end(&self, now: Time) -> bool {
        let looks_on = |viewer: &&Viewer| now - viewer.asked < GONE_AFTER;
        let mut looking = self.viewers.values().filter(looks_on);
        looking.all(|viewer| viewer.knows_the_end)
    }
}
