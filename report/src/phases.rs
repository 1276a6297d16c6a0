//! A row's phases, all rounds together: what was asked for, what came, and which conditions held.

use lab::round::{PhaseRun, Round};
use lab::sample::Sample;
use schemars::JsonSchema;
use serde::Serialize;
use statistics::Spread;
use statistics::format::{count, percent, time_us};

use super::Figures;

/// A phase of a row.
#[derive(Clone, Debug, Serialize, JsonSchema)]
pub struct PhaseFound {
    /// The phase's name.
    pub name: String,
    /// Requests a second asked for; null in a closed loop.
    pub rate: Option<f64>,
    /// Connections.
    pub connections: u32,
    /// Whether it is the one that subjects are compared by.
    pub compared: bool,
    /// Its rounds put together; null where none was measured.
    pub figures: Option<Figures>,
    /// Requests answered in time, per second; null where nobody asked.
    pub goodput: Option<Spread>,
    /// Its conditions.
    pub conditions: Vec<Condition>,
}

/// A condition of a phase over all rounds.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, JsonSchema)]
pub struct Condition {
    /// As it was written.
    pub wanted: String,
    /// In how many rounds it was met.
    pub met: usize,
    /// Of how many.
    pub rounds: usize,
    /// What was measured in each round; null where there was nothing to measure.
    pub measured: Vec<Option<String>>,
}

impl PhaseFound {
    /// Whether every condition was met in every round. One without conditions passes.
    pub fn passed(&self) -> bool {
        let met = |condition: &Condition| condition.met == condition.rounds;
        self.conditions.iter().all(met)
    }

    /// What was asked for, what came, and which conditions held, in a line.
    pub(super) fn words(&self) -> String {
        let mut words = vec![format!("{}: {}", self.name, self.asked())];
        if let Some(found) = &self.figures {
            words.push(format!("{}/s", count(found.requests_per_second.median)));
            let p99 = found
                .p99_us
                .map(|p99| format!("p99 {}", time_us(p99.median)));
            words.extend(p99);
        }
        words.extend(self.goodput_in_words());
        words.extend(self.conditions.iter().map(Condition::words));
        words.join("; ")
    }

    /// What was answered in time, per second and as a share of what was asked for.
    pub(super) fn goodput_in_words(&self) -> Option<String> {
        let goodput = self.goodput?.median;
        let share = self.rate.map(|rate| percent((goodput / rate).min(1.0)));
        let share = share.map(|share| format!(", {share} of what was asked for"));
        Some(format!(
            "goodput {}/s{}",
            count(goodput),
            share.unwrap_or_default()
        ))
    }

    /// What was requested.
    pub(super) fn asked(&self) -> String {
        match self.rate {
            Some(rate) => format!("{rate}/s over {} connections", self.connections),
            None => format!("{} connections, closed loop", self.connections),
        }
    }

    /// The phases of a row in the order in which they were run.
    pub(super) fn all<'a>(rounds: &[&'a Round]) -> Vec<PhaseFound> {
        let Some(first) = rounds.first() else {
            return Vec::new();
        };
        let named = |name: &str| -> Vec<(&'a Round, &'a PhaseRun)> {
            let of_round = |round: &&'a Round| {
                let round = *round;
                round.phases.iter().map(move |phase| (round, phase))
            };
            let all = rounds.iter().flat_map(of_round);
            all.filter(|(_, phase)| phase.name == name).collect()
        };
        let names = first.phases.iter().map(|phase| named(&phase.name));
        names.filter_map(|runs| PhaseFound::of(&runs)).collect()
    }

    fn of(runs: &[(&Round, &PhaseRun)]) -> Option<PhaseFound> {
        let goodput = runs.iter().filter_map(|(round, run)| {
            let own = run.record.as_ref();
            let record = own.or(round.record.as_ref().filter(|_| run.compared))?;
            Some(record.goodput?.per_second)
        });
        let goodput = Spread::of(goodput);
        let runs: Vec<&PhaseRun> = runs.iter().map(|(_, run)| *run).collect();
        let first = runs.first()?;
        let samples: Vec<Sample> = runs.iter().map(|run| run.sample.clone()).collect();
        let conditions = (0..first.conditions.len()).map(|at| {
            let outcomes = runs.iter().filter_map(|run| run.conditions.get(at));
            Condition {
                wanted: first.conditions[at].threshold.clone(),
                met: outcomes.clone().filter(|outcome| outcome.ok).count(),
                rounds: outcomes.clone().count(),
                measured: outcomes.map(|outcome| outcome.measured.clone()).collect(),
            }
        });
        Some(PhaseFound {
            name: first.name.clone(),
            rate: first.rate,
            connections: first.connections,
            compared: first.compared,
            figures: Figures::of(&samples),
            goodput,
            conditions: conditions.collect(),
        })
    }
}

impl Condition {
    /// Whether it was met, and what was measured, in a few words.
    pub(super) fn words(&self) -> String {
        let measured = self.measured.iter().flatten();
        let measured: Vec<&str> = measured.map(String::as_str).collect();
        let found = match measured.as_slice() {
            [] => "nothing to measure".to_owned(),
            measured => measured.join(", "),
        };
        let held = match self.met {
            met if met == self.rounds => "met in every round".to_owned(),
            0 => "met in no round".to_owned(),
            met => format!("met in {met} of {} rounds", self.rounds),
        };
        format!("{}: {held} ({found})", self.wanted)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_condition_says_in_how_many_rounds_it_was_met() {
        let words = |met| {
            let condition = Condition {
                wanted: "p99<20ms".to_owned(),
                met,
                rounds: 2,
                measured: vec![Some("5.18ms".to_owned()), None],
            };
            condition.words()
        };
        assert_eq!(words(0), "p99<20ms: met in no round (5.18ms)");
        assert_eq!(words(1), "p99<20ms: met in 1 of 2 rounds (5.18ms)");
        assert_eq!(words(2), "p99<20ms: met in every round (5.18ms)");
    }
}
