//! Throughput in a closed loop over the number of connections, beside the universal law of
//! scalability.
//!
//! Every number of connections is measured once in each round, in an order of its own, so that a
//! drift of the machine is not mistaken for the law. A run in which the generator was the limit
//! says nothing about the subject and is left out of the fit.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use statistics::usl::{self, Usl};

use super::Goal;

/// So often each number of connections is measured.
pub(super) const ROUNDS: u32 = 3;

/// Throughput over connections.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
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
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
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

/// Fits the law to runs in which the generator was not the limit.
pub(super) fn fit(points: Vec<ScalingPoint>, seed: u64) -> Scaling {
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
