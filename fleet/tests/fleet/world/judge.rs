//! What a simulated run has to hold to: its records against what was really counted, its end, its
//! clocks.

use std::cmp::Ordering;

use fleet::counted::Counted;
use fleet::record::Outcome;
use measure::time::Time;

use super::World;
use super::counts::SECONDS;

impl World {
    /// Holds a record against what was really counted by then.
    pub(super) fn judge_record(&mut self, outcome: &Outcome) {
        let record = &outcome.record;
        let mut sum = Counted::default();
        for agent in &record.agents {
            let life = (agent.agent.to_string(), agent.epoch.clone());
            let counted = self.truth.get(&life).cloned().unwrap_or_default();
            let whole = counted.len() as u64;
            if (agent.complete && agent.intervals != whole) || agent.intervals > whole {
                let intervals = agent.intervals;
                self.violation(format!("{} has {intervals} of {whole}", agent.agent));
            }
            for kind in counted.iter().take(agent.intervals as usize) {
                sum.merge(&SECONDS[*kind].counted).unwrap();
            }
        }
        if sum != outcome.counted {
            self.violation("the figures aren't the sum of the intervals".to_owned());
        }
        let mut over_time = Counted::default();
        for interval in &outcome.course {
            over_time.merge(&interval.counted).unwrap();
        }
        if sum != over_time {
            self.violation("the run over time isn't the run".to_owned());
        }
        let complete = record.agents.iter().filter(|agent| agent.complete);
        if record.complete && complete.count() != self.setup.wanted as usize {
            self.violation("a record is complete that isn't".to_owned());
        }
        self.judge_clocks(outcome);
    }

    /// Everything has come to its end.
    pub(super) fn judge_end(&mut self) {
        let loading = self.agents.iter().filter(|seat| seat.load.is_some());
        if loading.count() > 0 {
            self.violation("a load never ended".to_owned());
        }
        let alive = self.coordinators.iter().filter(|seat| seat.is_alive);
        if self.seen.ends.len() < alive.count() {
            self.violation("a coordinator never came to its end".to_owned());
        }
    }

    /// Offsets are what they say, with the error that they say.
    fn judge_clocks(&mut self, outcome: &Outcome) {
        let epoch = &outcome.record.epoch;
        let coordinators = self.coordinators.iter();
        let mut owners = coordinators.filter(|seat| seat.epoch.to_string() == *epoch);
        let Some(ours) = owners.next().map(|seat| seat.clock) else {
            return self.violation("a record of nobody".to_owned());
        };
        for agent in &outcome.record.agents {
            let seats = self.agents.iter();
            let mut seats = seats.filter(|seat| {
                seat.name == agent.agent.to_string() && seat.epoch.to_string() == agent.epoch
            });
            let Some((theirs, has_jumped)) = seats.next().map(|seat| (seat.clock, seat.has_jumped))
            else {
                return self.violation("an agent that nobody started".to_owned());
            };
            if agent.clock_jumped && !has_jumped {
                self.violation("a clock is said to have jumped that didn't".to_owned());
            }
            let offsets = [agent.clock, agent.clock_at_end].into_iter().flatten();
            for offset in offsets.filter(|_| !has_jumped) {
                let at = ours.when(Time(offset.at_ns));
                let real = i128::from(theirs.shows(at).0) - i128::from(ours.shows(at).0);
                let off = (real - i128::from(offset.ahead_ns)).unsigned_abs();
                // In a round trip of a second clocks drift by up to 0.4 ms.
                let allowed = u128::from(offset.error_ns) + u128::from(offset.error_ns / 2000 + 2);
                if off.cmp(&allowed) == Ordering::Greater {
                    self.violation(format!("an offset is off by {off}, more than {allowed} ns"));
                }
            }
        }
    }
}
