//! Two sets of rounds that were not measured together.

use super::distribution::{student_quantile, student_tails};
use super::ratio::starts;
use super::units::Units;
use super::{Method, ROUNDS_MIN, Ratio};

/// How many times as large the figures `a` are as the figures `b`, which come from other rounds:
/// another day, another build. Each figure stands with the start of the processes it is from; a
/// start is one value where there are several. Nothing cancels between the two, so the interval is
/// Welch's ("The generalization of Student's problem", Biometrika 34, 1947) of mean logarithms.
/// Nothing with fewer than [`ROUNDS_MIN`] rounds on a side or figures that are not positive.
pub fn unpaired(a: &[(u32, f64)], b: &[(u32, f64)], confidence: f64) -> Option<Ratio> {
    let logs = |figures: &[(u32, f64)]| -> Option<Vec<(u32, f64)>> {
        let log = |(start, figure): &(u32, f64)| {
            (*figure > 0.0 && figure.is_finite()).then(|| (*start, figure.ln()))
        };
        let logs: Option<Vec<_>> = figures.iter().map(log).collect();
        logs.filter(|logs| logs.len() >= ROUNDS_MIN)
    };
    let (a, b) = (logs(a)?, logs(b)?);
    let (x, y) = (Units::of(&a), Units::of(&b));
    let (n, m) = (x.count() as f64, y.count() as f64);
    let (own, other) = (x.error_squared(), y.error_squared());
    let centre = x.mean() - y.mean();
    let (half, p_value) = match own + other > 0.0 {
        true => {
            let error = (own + other).sqrt();
            let degrees =
                (own + other).powi(2) / (own * own / (n - 1.0) + other * other / (m - 1.0));
            let half = error * student_quantile(1.0 - confidence, degrees);
            (half, student_tails(centre / error, degrees))
        }
        false => (0.0, if centre == 0.0 { 1.0 } else { 0.0 }),
    };
    Some(Ratio {
        centre: centre.exp(),
        low: (centre - half).exp(),
        high: (centre + half).exp(),
        confidence,
        p_value,
        rounds: a.len().min(b.len()),
        starts: starts(&a).min(starts(&b)),
        method: Method::Welch,
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::random::Random;

    fn of_logs(logs: &[f64]) -> Vec<(u32, f64)> {
        logs.iter().map(|log| (1, log.exp())).collect()
    }

    #[test]
    fn the_sleep_data_give_the_interval_that_r_gives() {
        // t.test(extra ~ group, data = sleep): t = -1.8608, df = 17.776, p = 0.07939, 95 % from
        // -3.3654832 to 0.2054832.
        let first = [0.7, -1.6, -0.2, -1.2, -0.1, 3.4, 3.7, 0.8, 0.0, 2.0];
        let second = [1.9, 0.8, 1.1, 0.1, -0.1, 4.4, 5.5, 1.6, 4.6, 3.4];
        let ratio = unpaired(&of_logs(&first), &of_logs(&second), 0.95).expect("ten each");
        assert!((ratio.low.ln() + 3.365_483).abs() < 1e-5, "{ratio:?}");
        assert!((ratio.high.ln() - 0.205_483).abs() < 1e-5, "{ratio:?}");
        assert!((ratio.p_value - 0.079_39).abs() < 1e-5, "{ratio:?}");
    }

    #[test]
    fn too_few_rounds_give_no_interval_and_constant_ones_have_no_width() {
        assert_eq!(unpaired(&[(1, 1.0); 2], &[(1, 1.0); 9], 0.95), None);
        assert_eq!(unpaired(&[(1, 0.0); 3], &[(1, 1.0); 3], 0.95), None);
        let ratio = unpaired(&[(1, 2.0); 3], &[(1, 1.0); 4], 0.95).expect("enough");
        assert_eq!(
            (ratio.low, ratio.high, ratio.rounds),
            (ratio.centre, ratio.centre, 3)
        );
        assert_eq!(ratio.p_value, 0.0);
    }

    #[test]
    fn intervals_hold_the_truth_though_one_side_is_noisier_and_has_starts() {
        let mut random = Random::new(8);
        let trials = 1500;
        let held = (0..trials)
            .filter(|_| {
                let a: Vec<(u32, f64)> = (0..12)
                    .map(|round| (1, round))
                    .map(|(start, _)| (start, (0.01 * random.normal()).exp()))
                    .collect();
                let b: Vec<(u32, f64)> = (0..5)
                    .flat_map(|start| {
                        let level = 0.05 * random.normal();
                        let mut figure = || (start, (level + 0.02 * random.normal()).exp());
                        [figure(), figure(), figure()]
                    })
                    .collect();
                unpaired(&a, &b, 0.95).is_some_and(|ratio| !ratio.leaves_out_one())
            })
            .count();
        // 95 % of 1,500 are 1,425 ± 17 (two standard errors).
        assert!((1400..=1460).contains(&held), "{held} of {trials}");
    }
}
