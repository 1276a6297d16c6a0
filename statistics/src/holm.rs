//! Many comparisons at once (Holm, "A simple sequentially rejective multiple test procedure",
//! Scandinavian Journal of Statistics 6, 1979): of k subjects that are all the same as the
//! baseline, none is called different in 95 of 100 comparisons.

/// The level at which each is judged by itself, so that all together keep to `alpha`. An interval
/// with the confidence 1 − level leaves out "no difference" just where that is shown: after the
/// first that is not, all that follow share its level. `at_look` says what is left of a level at
/// this look, where there are several (see [`super::sequential`]).
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
    use crate::random::Random;

    fn shown(p_values: &[f64], alpha: f64) -> usize {
        let levels = levels(p_values, alpha, |level| level);
        let shown = p_values.iter().zip(&levels).filter(|(p, level)| p <= level);
        shown.count()
    }

    #[test]
    fn as_many_are_shown_as_r_shows() {
        // p.adjust(c(0.01, 0.04, 0.03, 0.005), "holm") is 0.03 0.06 0.06 0.02.
        let p_values = [0.01, 0.04, 0.03, 0.005];
        for (alpha, expected) in [(0.019, 0), (0.021, 1), (0.031, 2), (0.059, 2), (0.061, 4)] {
            assert_eq!(shown(&p_values, alpha), expected, "{alpha}");
        }
    }

    #[test]
    fn each_has_its_level_in_the_order_in_which_they_came() {
        // The third is not shown, and the fourth shares its level.
        let levels = levels(&[0.01, 0.04, 0.03, 0.005], 0.05, |level| level);
        assert_eq!(levels, [0.05 / 3.0, 0.025, 0.025, 0.0125]);
        assert_eq!(super::levels(&[0.03], 0.05, |level| level), [0.05]);
        assert_eq!(super::levels(&[], 0.05, |level| level), [] as [f64; 0]);
    }

    #[test]
    fn what_is_left_at_a_look_is_left_of_each_level() {
        let levels = levels(&[0.001, 0.5], 0.05, |level| level / 10.0);
        assert_eq!(levels, [0.0025, 0.005]);
    }

    #[test]
    fn of_five_that_are_the_same_none_is_shown_in_nearly_all_cases() {
        let mut random = Random::new(5);
        let trials = 4000;
        let wrong = (0..trials)
            .filter(|_| {
                let p_values: Vec<f64> = (0..5).map(|_| random.unit()).collect();
                shown(&p_values, 0.05) > 0
            })
            .count();
        // 5 % of 4,000 are 200 ± 28 (two standard errors).
        assert!((150..=240).contains(&wrong), "{wrong}");
    }
}
