//! What rounds in their order tell about themselves: whether they drift, which of them stand out,
//! and when a subject is warm.

use serde::{Deserialize, Serialize};

use super::distribution::normal_below;
use super::{mean, median};

/// A drift is said only if rounds without one would look like it less often than this.
const DRIFT_P_MAX: f64 = 0.01;

/// More values than this have a rank statistic that is normal enough.
const EXACT_MAX: usize = 60;

/// Fewer rows cannot show a drift, however they rise.
const ROWS_MIN: usize = 6;

/// A round stands out beyond this (Iglewicz and Hoaglin, "How to Detect and Handle Outliers",
/// 1993: the modified z-score).
const SCORE_MAX: f64 = 3.5;

/// Figures that rise or fall from the first round to the last.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct Drift {
    /// From the first round to the last, as a share of the median (the median of all slopes
    /// between two rounds: Sen 1968).
    pub change: f64,
    /// Kendall's τ of the figures with their order: 1 always rising, -1 always falling.
    pub tau: f64,
    /// How often rounds without a drift look like this, as a share.
    pub p_value: f64,
}

/// A drift, if there is one: the test of Mann (1945) and Kendall, with exact probabilities where
/// no two rounds are alike. Fewer than six rounds cannot show one. Figures are finite.
pub fn drift(figures: &[f64]) -> Option<Drift> {
    let n = figures.len();
    let mut score = 0_i64;
    let mut ties = false;
    let mut slopes = Vec::new();
    for (at, earlier) in figures.iter().enumerate() {
        for (steps, later) in (1_u32..).zip(&figures[at + 1..]) {
            let difference = later - earlier;
            ties |= difference == 0.0;
            score += i64::from(difference > 0.0) - i64::from(difference < 0.0);
            slopes.push(difference / f64::from(steps));
        }
    }
    if slopes.is_empty() {
        return None;
    }
    let p_value = match ties || n > EXACT_MAX {
        true => normal_p(figures, score),
        false => exact_p(n, score),
    };
    (p_value < DRIFT_P_MAX).then(|| Drift {
        change: median(&slopes) * (n - 1) as f64 / median(figures).abs(),
        tau: score as f64 / slopes.len() as f64,
        p_value,
    })
}

/// How probable a score at least as far from 0 is, from how many orders of `n` have how many pairs
/// the wrong way round.
fn exact_p(n: usize, score: i64) -> f64 {
    // probability[k]: k pairs stand the wrong way round. The next value comes before 0 to `placed`
    // of those that are placed.
    let mut probability = vec![1.0];
    for placed in 1..n {
        let mut next = vec![0.0; probability.len() + placed];
        for (wrong, share) in probability.iter().enumerate() {
            for before in 0..=placed {
                next[wrong + before] += share / (placed + 1) as f64;
            }
        }
        probability = next;
    }
    let pairs = (n * (n - 1) / 2) as i64;
    let wrong_max = ((pairs - score.abs()) / 2) as usize;
    let tail: f64 = probability[..=wrong_max].iter().sum();
    (2.0 * tail).min(1.0)
}

/// The same by the normal distribution, with the variance of values that are alike (Kendall 1975)
/// and the correction for continuity.
fn normal_p(figures: &[f64], score: i64) -> f64 {
    let term = |n: f64| n * (n - 1.0) * (2.0 * n + 5.0);
    let mut sorted = figures.to_vec();
    sorted.sort_unstable_by(f64::total_cmp);
    let alike: f64 = sorted
        .chunk_by(|a, b| a == b)
        .map(|group| term(group.len() as f64))
        .sum();
    let variance = (term(figures.len() as f64) - alike) / 18.0;
    if variance <= 0.0 {
        return 1.0;
    }
    let distance = (score.abs() as f64 - 1.0).max(0.0);
    (2.0 * normal_below(-distance / variance.sqrt())).min(1.0)
}

/// The rounds that stand out, by their index: those whose modified z-score, 0.6745 times their
/// distance from the median in median distances, is above 3.5. Where more than half of the rounds
/// are alike the mean distance takes the place of the median one. Figures are finite.
pub fn outliers(figures: &[f64]) -> Vec<usize> {
    if figures.len() < super::ROUNDS_MIN {
        return Vec::new();
    }
    let usual = Usual::of(figures);
    (0..figures.len())
        .filter(|index| !usual.holds(figures[*index]))
        .collect()
}

/// What is usual among figures.
struct Usual {
    centre: f64,
    distance_max: f64,
}

impl Usual {
    fn of(figures: &[f64]) -> Usual {
        let centre = median(figures);
        let distances: Vec<f64> = figures
            .iter()
            .map(|figure| (figure - centre).abs())
            .collect();
        // Both scales are those of a normal distribution: 1/0.6745 and √(π/2).
        let scale = match median(&distances) {
            0.0 => 1.253_314 * mean(&distances),
            middle => middle / 0.6745,
        };
        Usual {
            centre,
            distance_max: SCORE_MAX * scale,
        }
    }

    fn holds(&self, figure: f64) -> bool {
        (figure - self.centre).abs() <= self.distance_max
    }
}

/// Where a series of figures, one a row in even steps of time, stops to warm up: the first row
/// that does not stand out from those of the second half. Nothing where the second half still
/// drifts or has fewer than six rows, since then no part of the series is known to be steady.
pub fn warm_up_end(figures: &[f64]) -> Option<usize> {
    let second = &figures[figures.len() / 2..];
    if second.len() < ROWS_MIN || drift(second).is_some() {
        return None;
    }
    let usual = Usual::of(second);
    figures.iter().position(|figure| usual.holds(*figure))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::random::Random;

    fn near(a: f64, b: f64, within: f64) -> bool {
        (a - b).abs() <= within
    }

    #[test]
    fn exact_probabilities_are_those_of_counting_orders() {
        // Of 24 orders of four values one is ascending and one descending.
        assert!(near(exact_p(4, 6), 2.0 / 24.0, 1e-12));
        // Kendall's table: n = 5, S = 8, one side 0.042; n = 10, S = 23, one side 0.023.
        assert!(near(exact_p(5, 8), 2.0 * 0.042, 0.001));
        assert!(near(exact_p(10, 23), 2.0 * 0.023, 0.001));
        assert!(near(exact_p(7, 1), 1.0, 0.25) && exact_p(7, 1) <= 1.0);
    }

    #[test]
    fn rising_rounds_drift_and_shuffled_ones_do_not() {
        let rising: Vec<f64> = (0..8).map(|round| 100.0 + f64::from(round)).collect();
        let drift = drift(&rising).expect("a drift");
        assert_eq!(drift.tau, 1.0);
        assert!(near(drift.change, 7.0 / 103.5, 1e-12), "{drift:?}");
        assert!(near(drift.p_value, 2.0 / 40_320.0, 1e-12));
        assert_eq!(super::drift(&[1.0, 3.0, 2.0, 1.5, 2.5, 1.2, 2.2]), None);
        assert_eq!(super::drift(&[1.0, 2.0, 3.0, 4.0, 5.0]), None);
        assert_eq!(super::drift(&[5.0; 9]), None);
        assert_eq!(super::drift(&[]), None);
    }

    #[test]
    fn rounds_that_are_alike_are_counted_by_the_tables_of_kendall() {
        // S = 20 of 21 pairs with one tie of two: variance (7·6·19 - 2·1·9)/18 = 43.33.
        let figures = [1.0, 2.0, 3.0, 3.0, 4.0, 5.0, 6.0];
        let drift = drift(&figures).expect("a drift");
        let expected = 2.0 * normal_below(-19.0 / (780.0_f64 / 18.0).sqrt());
        assert!(near(drift.p_value, expected, 1e-12));
    }

    #[test]
    fn noise_is_called_a_drift_about_as_rarely_as_is_said() {
        let mut random = Random::new(3);
        let trials = 4000;
        let said = (0..trials)
            .filter(|_| {
                let figures: Vec<f64> = (0..10).map(|_| random.normal()).collect();
                drift(&figures).is_some()
            })
            .count();
        assert!(said <= 60, "{said} of {trials}");
    }

    #[test]
    fn a_round_that_stands_out_is_named_and_noise_is_not() {
        assert_eq!(outliers(&[10.0, 10.1, 9.9, 10.05, 7.0, 9.95, 10.0]), [4]);
        assert!(outliers(&[10.0, 10.1, 9.9, 10.05, 9.8, 9.95, 10.2]).is_empty());
        assert_eq!(outliers(&[5.0, 5.0, 5.0, 5.0, 5.0, 5.0, 9.0]), [6]);
        assert!(outliers(&[5.0; 7]).is_empty());
        assert!(outliers(&[5.0, 50.0]).is_empty());
    }

    #[test]
    fn warm_up_ends_where_the_figures_are_steady() {
        let warming = |row: i32| 100.0 * (1.0 - (-f64::from(row) / 2.0).exp());
        let ends: Vec<usize> = (0..20)
            .map(|seed| {
                let mut random = Random::new(seed);
                let series: Vec<f64> = (0..40).map(|row| warming(row) + random.normal()).collect();
                warm_up_end(&series).expect("a steady part")
            })
            .collect();
        // After four rows 14 % are missing, after eight 2 %: the noise is 1 % wide.
        assert!(ends.iter().all(|end| (5..=9).contains(end)), "{ends:?}");
        let mut burst = [7.0; 20];
        (burst[0], burst[7], burst[15]) = (1.0, 3.0, 3.0);
        assert_eq!(warm_up_end(&burst), Some(1));
        assert_eq!(warm_up_end(&[7.0; 20]), Some(0));
        let rising: Vec<f64> = (0..20).map(f64::from).collect();
        assert_eq!(warm_up_end(&rising), None);
        assert_eq!(warm_up_end(&[1.0, 2.0]), None);
    }
}
