//! What a few rounds allow to say. Pure functions of numbers; the sample is the round, or the
//! start of the processes where there are several.
//!
//! Exchanges inside one round depend on each other, so their number says nothing about how far a
//! result would move in another round. Every figure is therefore one number a round, and intervals
//! are over rounds or starts. Percentiles are never averaged: a round has its own, of all its
//! exchanges. Knows neither subjects nor files, and reads no clock; randomness is a seed.
#![forbid(unsafe_code)]

pub mod change;
mod distribution;
pub mod floor;
pub mod format;
pub mod holm;
mod isotonic;
pub mod knee;
pub mod quantile;
mod random;
mod ratio;
pub mod rounds;
pub mod sequential;
pub mod trend;
mod units;
mod unpaired;
pub mod usl;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

pub use random::Random;
pub use ratio::{Method, Pair, Ratio};
pub use unpaired::unpaired;

/// The share of comparisons in which a difference may be said where there is none.
pub const ALPHA: f64 = 0.05;

/// Fewer rounds give no interval: two points always look alike.
pub const ROUNDS_MIN: usize = 3;

/// How many resamples an interval takes.
pub const RESAMPLES: usize = 10_000;

/// The median of the rounds with the lowest and the highest of them.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Spread {
    /// The middle of the rounds; the mean of the two middle ones where their number is even.
    pub median: f64,
    /// The lowest round.
    pub lowest: f64,
    /// The highest round.
    pub highest: f64,
}

impl Spread {
    /// Of these rounds; nothing where there are none or one is not a number.
    pub fn of(rounds: impl IntoIterator<Item = f64>) -> Option<Spread> {
        let rounds: Vec<f64> = rounds.into_iter().collect();
        if rounds.is_empty() || rounds.iter().any(|value| !value.is_finite()) {
            return None;
        }
        Some(Spread {
            median: median(&rounds),
            lowest: rounds.iter().copied().fold(f64::INFINITY, f64::min),
            highest: rounds.iter().copied().fold(f64::NEG_INFINITY, f64::max),
        })
    }

    /// Half the distance between the lowest and the highest round, as a share of the median.
    pub fn share(&self) -> f64 {
        if self.median == 0.0 {
            return 0.0;
        }
        (self.highest - self.lowest) / 2.0 / self.median
    }
}

fn mean(values: &[f64]) -> f64 {
    values.iter().sum::<f64>() / values.len() as f64
}

/// The variance of what the values are a sample of.
fn variance(values: &[f64]) -> f64 {
    let centre = mean(values);
    let squares: f64 = values.iter().map(|value| (value - centre).powi(2)).sum();
    squares / (values.len() as f64 - 1.0)
}

/// The middle value; the mean of the two in the middle where their number is even. Values are
/// finite, and there is one at least.
pub fn median(values: &[f64]) -> f64 {
    let mut sorted = values.to_vec();
    sorted.sort_unstable_by(f64::total_cmp);
    let middle = sorted.len() / 2;
    match sorted.len() % 2 {
        1 => sorted[middle],
        _ => sorted[middle - 1].midpoint(sorted[middle]),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_spread_is_the_median_with_the_extremes() {
        let odd = Spread::of([3.0, 1.0, 2.0]).expect("three rounds");
        assert_eq!((odd.median, odd.lowest, odd.highest), (2.0, 1.0, 3.0));
        assert_eq!(odd.share(), 0.5);
        let even = Spread::of([4.0, 1.0, 2.0, 3.0]).expect("four rounds");
        assert_eq!(even.median, 2.5);
        assert_eq!(Spread::of([]), None);
        assert_eq!(Spread::of([1.0, f64::NAN]), None);
    }
}
