//! Loads that a fleet sends for somebody who needs many: the lab, or a search.

use std::sync::{Mutex, PoisonError};

use engine::signal::{Signal, Stop};
use load::{LoadError, Plan, Progress, Record, Watcher};
use output::terminal;
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
            halted: false,
            progress,
        };
        // One load comes after the other.
        let conductor = self.conductor.lock();
        let mut conductor = conductor.unwrap_or_else(PoisonError::into_inner);
        let conducted = conductor.conduct(&self.asked, plan, stop, &mut kept);
        if kept.halted && stop.requested().is_none() {
            terminal::say(
                "all load was stopped (ringside fleet stop), so what is left isn't measured",
            );
            stop.request(Signal::Terminate);
            return Err(LoadError::Interrupted(Signal::Terminate));
        }
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
    halted: bool,
    progress: &'a mut dyn FnMut(&Progress),
}

impl Watcher for Unseen<'_> {
    fn progress(&mut self, now: &Progress) {
        (self.progress)(now);
    }
}

impl Seer for Unseen<'_> {
    fn note(&mut self, _: &str) {}

    fn halted(&mut self) {
        self.halted = true;
    }

    fn keep(&mut self, conducted: Conducted) -> Result<(), String> {
        self.record = Some(conducted.record);
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use load::hold;
    use measure::hold::Counted;

    use super::*;
    use crate::args::agents::Fleet;
    use crate::args::values::Agents;
    use crate::run::fleet;

    /// Somebody ends all load while it conducts one.
    struct Halted;

    impl Conductor for Halted {
        fn conduct(
            &mut self,
            _: &Asked,
            _: &Plan,
            _: &Stop,
            seer: &mut dyn Seer,
        ) -> Result<(), String> {
            seer.halted();
            Ok(())
        }

        fn hold(
            &mut self,
            _: &Asked,
            _: &hold::Plan,
            _: &Stop,
            _: &mut dyn Seer<Counted, hold::Record>,
        ) -> Result<(), String> {
            Ok(())
        }
    }

    fn asked(on_loss: Option<crate::args::agents::OnLoss>) -> Result<Asked, String> {
        let fleet = Fleet {
            agents: Some(Agents::Local(2)),
            on_loss,
            ..Fleet::default()
        };
        fleet::asked_for_many(&fleet, false)
    }

    #[test]
    fn whoever_stops_all_load_ends_what_would_send_more() {
        let (mut conductor, stop) = (Halted, Stop::new());
        let sender = Sender::new(&mut conductor, asked(None).unwrap());
        let plan = Plan::new("http://127.0.0.1:1/").unwrap();
        let sent = sender.load(&plan, &stop, &mut |_| ());
        assert!(matches!(sent, Err(LoadError::Interrupted(_))), "{sent:?}");
        assert_eq!(stop.requested(), Some(Signal::Terminate));
    }

    #[test]
    fn no_share_is_taken_over_in_loads_that_are_shorter_than_a_loss() {
        let why = asked(Some(crate::args::agents::OnLoss::Rebalance)).unwrap_err();
        assert!(
            why.contains("--on-loss rebalance is for run and hold"),
            "{why}"
        );
    }
}
