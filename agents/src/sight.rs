//! How far a fleet's run is, for whoever watches it: what a run of one process says of itself.

use fleet::coordinator::Coordinator;
use load::{Phase, Plan, Progress, Watcher};
use measure::interval::{Packed, Phase as Of};
use measure::time::Time;

/// How often it is said.
const EVERY_NS: u64 = 500_000_000;

/// See the module.
#[derive(Debug)]
pub(crate) struct Sight {
    /// When the load begins, once that is known.
    begins: Option<Time>,
    said: Option<Time>,
    warm_up_s: f64,
    total_s: Option<f64>,
    is_over: bool,
    connected: u64,
    completed: u64,
    failed: u64,
}

impl Sight {
    pub(crate) fn new(plan: &Plan) -> Sight {
        let length_s = plan.duration_s.or(plan.schedule.length_s());
        Sight {
            begins: None,
            said: None,
            warm_up_s: plan.warm_up_s,
            total_s: length_s.map(|length_s| plan.warm_up_s + length_s),
            is_over: false,
            connected: 0,
            completed: 0,
            failed: 0,
        }
    }

    /// The load begins then.
    pub(crate) fn begins(&mut self, at: Time) {
        self.begins = Some(at);
    }

    /// Tells whoever watches what is new.
    pub(crate) fn look(
        &mut self,
        machine: &mut Coordinator,
        now: Time,
        watcher: &mut dyn Watcher,
    ) -> Result<(), String> {
        self.tell(machine.seconds(), watcher)?;
        let Some(begins) = self.begins.filter(|begins| now >= *begins) else {
            return Ok(());
        };
        if self.said.is_some_and(|said| now.since(said) < EVERY_NS) {
            return Ok(());
        }
        self.said = Some(now);
        let elapsed_s = now.since(begins) as f64 / 1e9;
        let total_s = self.total_s;
        watcher.progress(&Progress {
            phase: match total_s.is_some_and(|total_s| elapsed_s >= total_s) {
                _ if self.is_over => Phase::Drain,
                true => Phase::Drain,
                false if elapsed_s < self.warm_up_s => Phase::WarmUp,
                false => Phase::Measure,
            },
            elapsed_s: total_s.map_or(elapsed_s, |total_s| elapsed_s.min(total_s)),
            total_s,
            connected: self.connected,
            completed: self.completed,
            failed: self.failed,
        });
        Ok(())
    }

    /// Tells the rest, when there is a record.
    pub(crate) fn finish(
        &mut self,
        machine: &mut Coordinator,
        watcher: &mut dyn Watcher,
    ) -> Result<(), String> {
        self.is_over = true;
        self.tell(machine.last_seconds(), watcher)
    }

    fn tell(&mut self, seconds: Vec<Packed>, watcher: &mut dyn Watcher) -> Result<(), String> {
        for second in seconds {
            self.completed += second.counted.completed;
            self.failed += second.counted.failed;
            if second.phase == Of::Measure {
                self.connected = second.connected;
            }
            if watcher.wants_intervals() {
                watcher.interval(second.unpack()?);
            }
        }
        Ok(())
    }
}
