//! Processes that come while a window is open: a subject or a companion that was started again, and
//! what was put beside them on purpose.

use std::sync::Arc;

use groups::{Group, Held};
use measure::process::{Listing, peak_bytes};

use super::{Companions, Watch};

/// A process that came while a subject was watched.
#[derive(Debug)]
pub struct Joined(pub(crate) Who);

#[derive(Debug)]
pub(crate) enum Who {
    Subject(u32, Option<Arc<Group>>, Option<Arc<Held>>),
    Companion(u32),
    Beside(u32),
}

impl Watch {
    /// Watches who has joined, too.
    pub fn follow(&mut self, joined: Joined) {
        self.keep_up();
        match joined.0 {
            Who::Subject(pid, group, held) => {
                let listing = Listing::take();
                self.tree.adopt(pid, &listing);
                self.root = Some(pid);
                self.round.note(&listing.tree(pid));
                self.group = group;
                self.hold(held);
                self.round.changed = true;
            }
            Who::Companion(pid) => self.companions.add(pid),
            Who::Beside(pid) => {
                let beside = &mut self.round.generator;
                beside.get_or_insert_with(|| Companions::new(&[])).add(pid);
            }
        }
    }

    /// Follows these limits from now on: those of another start are kept by another group.
    fn hold(&mut self, held: Option<Arc<Held>>) {
        self.look_at_limits();
        let is_same = match (&self.held, &held) {
            (Some(before), Some(now)) => Arc::ptr_eq(before, now),
            _ => false,
        };
        if let Some(straining) = self.round.straining.as_mut().filter(|_| !is_same) {
            straining.anew();
        }
        self.held = held;
    }

    /// Reads what all processes have used until now, for those of them that are gone by the end of
    /// the window: what one has used after the last look at it is on nobody's account. So is its
    /// memory's peak.
    pub fn keep_up(&mut self) {
        let listing = Listing::take();
        self.tree.sample_of(&listing);
        self.companions.cpu_ns(&listing);
        self.round.generator_ns(&listing);
        self.round.note(&self.pids(&listing));
        self.round.peak = self.round.peak.max(self.root.and_then(peak_bytes));
    }
}
