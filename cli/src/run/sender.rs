//! Loads that a fleet sends for somebody who needs many: the lab, or a search.

use std::sync::{Mutex, PoisonError};

use engine::signal::Stop;
use load::{LoadError, Plan, Progress, Record, Watcher};
use supervisor::loads::Loader;

use super::fleet::{Asked, Conducted, Conductor, Seer};

/// See the module.
pub(crate) struct Sender<'a> {
    conductor: Mutex<&'a mut dyn Conductor>,
    asked: Asked,
}

impl<'a> Sender<'a> {
    pub(crate) fn new(conductor: &'a mut dyn Conductor, asked: Asked) -> Sender<'a> {
        Sender {
            conductor: Mutex::new(conductor),
            asked,
        }
    }
}

impl Loader for Sender<'_> {
    fn load(
        &self,
        plan: &Plan,
        stop: &Stop,
        progress: &mut dyn FnMut(&Progress),
    ) -> Result<Record, LoadError> {
        let mut kept = Unseen {
            record: None,
            progress,
        };
        // One load comes after the other.
        let conductor = self.conductor.lock();
        let mut conductor = conductor.unwrap_or_else(PoisonError::into_inner);
        let conducted = conductor.conduct(&self.asked, plan, stop, &mut kept);
        match (kept.record, stop.requested()) {
            (Some(record), _) => Ok(record),
            (None, Some(signal)) => Err(LoadError::Interrupted(signal)),
            (None, None) => {
                let why = conducted.err();
                let why = why.unwrap_or_else(|| "the fleet left no record".to_owned());
                Err(LoadError::Engine(why))
            }
        }
    }
}

/// A run of which nobody sees more than how far it is.
struct Unseen<'a> {
    record: Option<Record>,
    progress: &'a mut dyn FnMut(&Progress),
}

impl Watcher for Unseen<'_> {
    fn progress(&mut self, now: &Progress) {
        (self.progress)(now);
    }
}

impl Seer for Unseen<'_> {
    fn note(&mut self, _: &str) {}

    fn keep(&mut self, conducted: Conducted) -> Result<(), String> {
        self.record = Some(conducted.record);
        Ok(())
    }
}
