//! Throughput in a closed loop over the number of connections, beside the universal law of
//! scalability.
//!
//! Every number of connections is measured once in each round, in an order of its own, so that a
//! drift of the machine is not mistaken for the law. A run in which the generator was the limit
//! says nothing about the subject and is left out of the fit.

use lab::event::Event;
use load::Plan;
use load::schedule::Schedule;
use serde::{Deserialize, Serialize};
use statistics::Random;
use statistics::usl::{self, Usl};
use supervisor::setting::Trouble;

use super::Goal;
use super::course::{Course, Ran, Seeker};

/// So often each number of connections is measured.
const ROUNDS: u32 = 3;

/// Throughput over connections.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Scaling {
    /// What was measured, in the order of measuring.
    pub points: Vec<ScalingPoint>,
    /// The law as it fits those.
    pub law: Option<Usl>,
    /// Why there is no fit.
    pub refused: Option<String>,
    /// Why runs are missing, each reason once.
    #[serde(default)]
    pub missing: Vec<String>,
}

/// One run.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct ScalingPoint {
    /// Over so many connections.
    pub connections: u32,
    /// Completed exchanges per second.
    pub achieved: f64,
    /// Why the generator was the limit, if it was: the point is left out of the fit.
    pub generator_limited: Option<String>,
}

/// How many runs it takes.
pub(super) fn runs(goal: &Goal) -> u32 {
    ROUNDS * goal.scaling.len() as u32
}

impl Course<'_> {
    /// Measures throughput over connections; none where the subject does not serve, or somebody
    /// asks to stop before the first run is over.
    pub(super) fn scale(&mut self, seeker: &mut Seeker) -> Option<Scaling> {
        let mut random = Random::new(self.goal.seed);
        let mut order = self.goal.scaling.clone();
        let mut points = Vec::new();
        let mut missing = Vec::new();
        let mut number = seeker.probes();
        for _ in 0..ROUNDS {
            random.shuffle(&mut order);
            for &connections in &order {
                number += 1;
                if self.stopped() {
                    break;
                }
                self.observer.event(&Event::Scaling {
                    subject: seeker.name(),
                    connections,
                });
                match self.run_with(seeker, connections, number) {
                    Ok(point) => points.push(point),
                    Err(Trouble::Failed(what, _)) if !missing.contains(&what) => missing.push(what),
                    Err(Trouble::Failed(..) | Trouble::Stopped) => {}
                }
            }
        }
        let is_begun = !points.is_empty() || !missing.is_empty();
        is_begun.then(|| Scaling {
            missing,
            ..fit(points, self.goal.seed)
        })
    }

    fn run_with(
        &mut self,
        seeker: &mut Seeker,
        connections: u32,
        number: u32,
    ) -> Result<ScalingPoint, Trouble> {
        self.make_ready(seeker, false)?;
        let base = seeker.plan().ok_or(Trouble::Stopped)?;
        let plan = Plan {
            schedule: Schedule::Closed,
            connections,
            threads: base.threads.min(connections),
            duration_s: Some(self.goal.window.as_secs_f64()),
            count: None,
            warm_up_s: self.goal.settle.as_secs_f64(),
            seed: self.goal.seed.wrapping_add(u64::from(number)),
            ..base.clone()
        };
        let when = format!("over {connections} connections");
        let (record, sample) = match self.load(seeker, &plan, number, &when)? {
            Ran::Measured(record, sample) => (record, sample),
            Ran::Died(what) => return Err(Trouble::Failed(what, Vec::new())),
        };
        let generator = &record.generator;
        // Where both are full the server's own limit shows, too.
        let full = sample.is_some_and(|sample| sample.server_busy >= lab::validity::SERVER_FULL);
        Ok(ScalingPoint {
            connections,
            achieved: record.achieved_rate,
            generator_limited: (generator.limited && !full)
                .then(|| generator.limited_reason.clone()),
        })
    }
}

fn fit(points: Vec<ScalingPoint>, seed: u64) -> Scaling {
    let usable: Vec<(f64, f64)> = points
        .iter()
        .filter(|point| point.generator_limited.is_none())
        .map(|point| (f64::from(point.connections), point.achieved))
        .collect();
    let left_out = points.len() - usable.len();
    match usl::fit(&usable, seed) {
        Ok(law) => Scaling {
            points,
            law: Some(law),
            refused: None,
            missing: Vec::new(),
        },
        Err(refused) => Scaling {
            points,
            law: None,
            refused: Some(match left_out {
                0 => refused.to_string(),
                _ => format!("{refused}; the generator was the limit in {left_out} runs"),
            }),
            missing: Vec::new(),
        },
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn point(connections: u32, limited: bool) -> ScalingPoint {
        let n = f64::from(connections);
        ScalingPoint {
            connections,
            // λ = 1000, σ = 0.05, κ = 0.001.
            achieved: 1000.0 * n / (1.0 + 0.05 * (n - 1.0) + 0.001 * n * (n - 1.0)),
            generator_limited: limited.then(|| "too slow".to_owned()),
        }
    }

    #[test]
    fn the_law_is_fitted_to_what_the_subject_limited() {
        let counts = [1, 2, 4, 8, 16, 32, 64];
        let scaling = fit(counts.map(|n| point(n, false)).to_vec(), 1);
        let law = scaling.law.expect("a fit");
        assert!((law.sigma.value - 0.05).abs() < 1e-3, "{law:?}");
        assert!((law.kappa.value - 0.001).abs() < 1e-4, "{law:?}");
    }

    #[test]
    fn runs_that_the_generator_limited_are_left_out_and_that_is_said() {
        let counts = [1, 2, 4, 8, 16, 32, 64];
        let scaling = fit(counts.map(|n| point(n, n > 8)).to_vec(), 1);
        assert_eq!(scaling.law, None);
        let refused = scaling.refused.expect("a reason");
        assert!(
            refused.contains("the generator was the limit in 3 runs"),
            "{refused}"
        );
        assert_eq!(scaling.points.len(), 7);
    }
}
