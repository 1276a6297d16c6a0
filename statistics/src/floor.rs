//! The noise floor: how different a subject looks from itself on this host.

use super::distribution::student_quantile;
use super::random::Random;
use super::ratio::log_ratios;
use super::units::Units;
use super::{Pair, RESAMPLES};

/// What an A/A row may differ by from the baseline though it is the baseline once more: the 95th
/// percentile of the size of its mean log-ratio over resamples, as a share. `pairs` are the A/A
/// row's figures with the baseline's. Differences below it are not called any. Nothing where the
/// rounds are too few.
///
/// Two starts that settled on different levels are in it, as the difference that they made: the
/// resamples stand around what was found, not around 0. Deviations from there are widened for
/// small samples as those of the intervals are (see `ratio.rs`).
pub fn floor(pairs: &[Pair], seed: u64) -> Option<f64> {
    let units = Units::of(&log_ratios(pairs)?);
    let n = units.count() as f64;
    let centre = units.mean();
    let normal = student_quantile(0.05, 1e6);
    let wider = (n / (n - 1.0)).sqrt() * student_quantile(0.05, n - 1.0) / normal;
    let mut random = Random::new(seed);
    let mut sizes: Vec<f64> = (0..RESAMPLES)
        .map(|_| centre + wider * (units.resampled_mean(&mut random) - centre))
        .map(f64::abs)
        .collect();
    let at = RESAMPLES * 95 / 100;
    let (_, size, _) = sizes.select_nth_unstable_by(at, f64::total_cmp);
    Some(size.exp_m1())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::mean;

    fn pairs(logs: impl IntoIterator<Item = f64>) -> Vec<Pair> {
        logs.into_iter()
            .map(|log| Pair {
                start: 1,
                a: log.exp(),
                b: 1.0,
            })
            .collect()
    }

    #[test]
    fn rounds_without_noise_have_the_floor_that_their_starts_differ_by() {
        let floor = floor(&pairs([0.01; 5]), 1).expect("five rounds");
        assert!((floor - 0.01_f64.exp_m1()).abs() < 1e-9, "{floor}");
        assert_eq!(super::floor(&pairs([0.0; 5]), 1), Some(0.0));
        assert_eq!(super::floor(&pairs([0.0; 2]), 1), None);
    }

    #[test]
    fn the_floor_is_above_what_a_subject_differs_by_from_itself_in_most_cases() {
        let mut random = Random::new(9);
        let mut noise =
            |rounds: usize| -> Vec<f64> { (0..rounds).map(|_| 0.02 * random.normal()).collect() };
        for rounds in [5, 8, 12] {
            let trials = 200;
            let above = (0..trials)
                .filter(|trial| {
                    let floor = floor(&pairs(noise(rounds)), *trial).expect("enough rounds");
                    mean(&noise(rounds)).abs().exp_m1() <= floor
                })
                .count();
            // The floor is itself measured, so it fails more often than one time in twenty.
            println!("{rounds} rounds: {above} of {trials}");
            assert!(above >= 176, "{rounds} rounds: {above} of {trials}");
        }
    }
}
