//! How many times as large one subject's figure is as another's, from rounds in which both were
//! measured.
//!
//! Two subjects are compared by the logarithm of their ratio *within* a round: what slows a whole
//! round down (a neighbour, the clock of the core) is in both and cancels. The sample is the start
//! of the processes where there are several, also after an interruption, each with the mean of its
//! rounds and its weight (`units.rs`); and the round where there is only one start, of which alone
//! the interval then speaks. (Of the ways to resample in two levels, drawing whole starts comes
//! closest to the true variance; drawing rounds within as well counts their noise twice: Davison
//! and Hinkley, "Bootstrap Methods and their Application", 1997, §3.8.)
//!
//! The interval is the bootstrap percentile interval of the mean log-ratio, with the percentiles
//! moved out for small samples: the plain one is too narrow by a factor of √((n−1)/n) and takes
//! the normal's quantile where Student's t belongs (Hesterberg, "What Teachers Should Know about
//! the Bootstrap", 2015, §5.3, "expanded percentile interval"). Below six values, and where it
//! would lie among the last few resamples because the confidence is high, it is Student's. Tests
//! simulate the coverage of both.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::distribution::{normal_above, normal_below, student_quantile, student_tails};
use super::random::Random;
use super::units::Units;
use super::{RESAMPLES, ROUNDS_MIN};

/// Fewer values have too few different resamples.
const VALUES_TO_RESAMPLE: usize = 6;

/// An end of an interval needs so many resamples beyond it.
const RESAMPLES_BEYOND_MIN: usize = 20;

/// The figures of two subjects in one round.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Pair {
    /// The start of the processes that the round was measured on, from 1.
    pub start: u32,
    /// The figure of the subject that is looked at.
    pub a: f64,
    /// The figure of the subject it is compared with.
    pub b: f64,
}

/// How many times as large one subject's figure is as another's.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Ratio {
    /// The geometric mean of the ratios.
    pub centre: f64,
    /// The lower end of the interval.
    pub low: f64,
    /// The upper end of the interval.
    pub high: f64,
    /// How often such an interval holds the true ratio, as a share.
    pub confidence: f64,
    /// How often rounds as different as these would come of two that are the same, as a share: the
    /// interval with the confidence 1 − p just touches 1.
    pub p_value: f64,
    /// How many rounds there are; of two that were not measured together, those of the fewer.
    pub rounds: usize,
    /// How many starts of the processes the rounds are from.
    pub starts: usize,
    /// How the interval was made.
    pub method: Method,
}

/// How an interval was made.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Method {
    /// Expanded bootstrap percentile interval of the mean log-ratio.
    Bootstrap,
    /// Student's t interval of the mean log-ratio: too few to resample.
    StudentT,
    /// Welch's t interval of the difference of mean logs: not measured in the same rounds.
    Welch,
}

impl Ratio {
    /// Of one pair of figures a round, with an interval of this `confidence` (0.95, say). Nothing
    /// with fewer than [`ROUNDS_MIN`] rounds or where a figure is not positive, since such a round
    /// has no ratio.
    pub fn of(pairs: &[Pair], confidence: f64, seed: u64) -> Option<Ratio> {
        let logs = log_ratios(pairs)?;
        let starts = starts(&logs);
        let mut sample = Resampled::new(Units::of(&logs), seed);
        let (low, high, method) = sample.interval(1.0 - confidence);
        Some(Ratio {
            centre: sample.units.mean().exp(),
            low: low.exp(),
            high: high.exp(),
            confidence,
            p_value: sample.p_value(),
            rounds: pairs.len(),
            starts,
            method,
        })
    }

    /// The same by Student's t whatever the number of rounds: for many pairs of subjects at once,
    /// where an interval is drawn and nothing is concluded from it.
    pub fn by_student(pairs: &[Pair], confidence: f64) -> Option<Ratio> {
        let logs = log_ratios(pairs)?;
        let units = Units::of(&logs);
        let (low, high) = student(&units, 1.0 - confidence);
        Some(Ratio {
            centre: units.mean().exp(),
            low: low.exp(),
            high: high.exp(),
            confidence,
            p_value: student_p(&units),
            rounds: pairs.len(),
            starts: starts(&logs),
            method: Method::StudentT,
        })
    }

    /// The same, seen from the other subject.
    pub fn inverse(&self) -> Ratio {
        Ratio {
            centre: self.centre.recip(),
            low: self.high.recip(),
            high: self.low.recip(),
            ..*self
        }
    }

    /// Whether the interval leaves out 1.
    pub fn leaves_out_one(&self) -> bool {
        self.low > 1.0 || self.high < 1.0
    }

    /// How far the interval reaches to either side, as a share of the centre.
    pub fn half_width(&self) -> f64 {
        (self.high / self.low).sqrt() - 1.0
    }

    /// How far the nearer end of the interval is from "no difference", as a share; not above 0
    /// where the interval holds that.
    pub fn nearest(&self) -> f64 {
        self.low.max(self.high.recip()) - 1.0
    }

    /// How far the centre is from "no difference", as a share, whichever of the two is larger.
    pub fn effect(&self) -> f64 {
        self.centre.max(self.centre.recip()) - 1.0
    }
}

/// The log-ratio of each round with its start; nothing where the rounds are too few or have none.
pub(super) fn log_ratios(pairs: &[Pair]) -> Option<Vec<(u32, f64)>> {
    let log = |pair: &Pair| {
        let ratio = pair.a / pair.b;
        (pair.a > 0.0 && pair.b > 0.0 && ratio.is_finite()).then(|| (pair.start, ratio.ln()))
    };
    let logs: Option<Vec<(u32, f64)>> = pairs.iter().map(log).collect();
    logs.filter(|logs| logs.len() >= ROUNDS_MIN)
}

pub(super) fn starts(logs: &[(u32, f64)]) -> usize {
    let starts: std::collections::BTreeSet<u32> = logs.iter().map(|(start, _)| *start).collect();
    starts.len()
}

/// A sample with the means of its resamples, where it is large enough for some.
struct Resampled {
    units: Units,
    means: Vec<f64>,
}

impl Resampled {
    fn new(units: Units, seed: u64) -> Resampled {
        let mut random = Random::new(seed);
        let means = match units.count() {
            0..VALUES_TO_RESAMPLE => Vec::new(),
            _ => (0..RESAMPLES)
                .map(|_| units.resampled_mean(&mut random))
                .collect(),
        };
        Resampled { units, means }
    }

    /// The interval that leaves out the truth in a share `alpha` of cases.
    fn interval(&mut self, alpha: f64) -> (f64, f64, Method) {
        let cut = expanded(alpha, self.units.count()) * self.means.len() as f64;
        let cut = cut.floor() as usize;
        if cut < RESAMPLES_BEYOND_MIN {
            let (low, high) = student(&self.units, alpha);
            return (low, high, Method::StudentT);
        }
        let mut at = |index| *self.means.select_nth_unstable_by(index, f64::total_cmp).1;
        (at(cut), at(RESAMPLES - 1 - cut), Method::Bootstrap)
    }

    /// The smallest `alpha` whose interval leaves out 0.
    fn p_value(&self) -> f64 {
        let student = student_p(&self.units);
        if self.means.is_empty() {
            return student;
        }
        let centre = self.units.mean();
        let beyond = |mean: &&f64| **mean * centre.signum() <= 0.0;
        let beyond = self.means.iter().filter(beyond).count();
        match beyond < RESAMPLES_BEYOND_MIN {
            true => student.min(contracted(RESAMPLES_BEYOND_MIN, self.units.count())),
            false => contracted(beyond, self.units.count()),
        }
    }
}

/// The share of resamples left out at each end for an interval that leaves out the share `alpha`,
/// for `n` values.
fn expanded(alpha: f64, n: usize) -> f64 {
    let n = n as f64;
    normal_below(-(n / (n - 1.0)).sqrt() * student_quantile(alpha, n - 1.0))
}

/// The other way round: what an interval leaves out that has `beyond` resamples beyond an end.
fn contracted(beyond: usize, n: usize) -> f64 {
    let n = n as f64;
    let z = normal_above(beyond as f64 / RESAMPLES as f64).max(0.0);
    student_tails(z * ((n - 1.0) / n).sqrt(), n - 1.0)
}

fn student(units: &Units, alpha: f64) -> (f64, f64) {
    let degrees = units.count() as f64 - 1.0;
    let half = student_quantile(alpha, degrees) * units.error_squared().sqrt();
    (units.mean() - half, units.mean() + half)
}

fn student_p(units: &Units) -> f64 {
    let n = units.count() as f64;
    let (centre, error) = (units.mean(), units.error_squared().sqrt());
    match centre == 0.0 {
        true => 1.0,
        false => student_tails(centre / error, n - 1.0),
    }
}

#[cfg(test)]
mod tests;
