//! Many comparisons at once (Holm, "A simple sequentially rejective multiple test procedure",
//! Scandinavian Journal of Statistics 6, 1979): of k subjects that are all the same as the
//! baseline, none is called different in 95 of 100 comparisons.

/// Each p-value, adjusted for there being as many as there are: one is shown at the level α if it
/// is at most α.
pub fn adjusted(p_values: &[f64]) -> Vec<f64> {
    let mut adjusted = vec![1.0; p_values.len()];
    let mut largest = 0.0_f64;
    for (rank, at) in ascending(p_values).into_iter().enumerate() {
        let among = (p_values.len() - rank) as f64;
        largest = largest.max(p_values[at] * among).min(1.0);
        adjusted[at] = largest;
    }
    adjusted
}

/// The level at which each is judged by itself, so that all together keep to `alpha`. An interval
/// with the confidence 1 − level leaves out "no difference" just where the adjusted p-value is at
/// most `alpha`: after the first that is not shown, all that follow share its level. `at_look` says
/// what is left of a level at this look, where there are several (see [`super::sequential`]).
pub fn levels(p_values: &[f64], alpha: f64, at_look: impl Fn(f64) -> f64) -> Vec<f64> {
    let mut levels = vec![alpha; p_values.len()];
    let mut stopped: Option<f64> = None;
    for (rank, at) in ascending(p_values).into_iter().enumerate() {
        let level = stopped.unwrap_or_else(|| at_look(alpha / (p_values.len() - rank) as f64));
        if p_values[at] > level {
            stopped = Some(level);
        }
        levels[at] = level;
    }
    levels
}

fn ascending(p_values: &[f64]) -> Vec<usize> {
    let mut order: Vec<usize> = (0..p_values.len()).collect();
    order.sort_by(|a, b| p_values[*a].total_cmp(&p_values[*b]));
    order
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::statistics::random::Random;

    #[test]
    fn adjusted_p_values_are_those_of_r() {
        // p.adjust(c(0.01, 0.04, 0.03, 0.005), "holm") is 0.03 0.06 0.06 0.02.
        let adjusted = adjusted(&[0.01, 0.04, 0.03, 0.005]);
        for (found, expected) in adjusted.iter().zip([0.03, 0.06, 0.06, 0.02]) {
            assert!((found - expected).abs() < 1e-12, "{adjusted:?}");
        }
    }

    #[test]
    fn adjusted_p_values_stay_at_most_one_and_single_ones_as_they_are() {
        assert_eq!(adjusted(&[0.5, 0.9, 0.7]), [1.0, 1.0, 1.0]);
        assert_eq!(adjusted(&[0.03]), [0.03]);
        assert!(adjusted(&[]).is_empty());
    }

    #[test]
    fn a_level_and_an_adjusted_p_value_decide_alike() {
        let mut random = Random::new(4);
        for _ in 0..1000 {
            let p_values: Vec<f64> = (0..5).map(|_| random.unit().powi(4)).collect();
            let (adjusted, levels) = (adjusted(&p_values), levels(&p_values, 0.05, |level| level));
            for ((p, adjusted), level) in p_values.iter().zip(&adjusted).zip(&levels) {
                assert_eq!(*p <= *level, *adjusted <= 0.05, "{p_values:?}");
            }
        }
    }

    #[test]
    fn of_five_that_are_the_same_none_is_shown_in_nearly_all_cases() {
        let mut random = Random::new(5);
        let trials = 4000;
        let wrong = (0..trials)
            .filter(|_| {
                let p_values: Vec<f64> = (0..5).map(|_| random.unit()).collect();
                adjusted(&p_values).iter().any(|p| *p <= 0.05)
            })
            .count();
        // 5 % of 4,000 are 200 ± 28 (two standard errors).
        assert!((150..=240).contains(&wrong), "{wrong}");
    }
}
