//! Series whose changes are known.

use super::*;

/// So many standard normal values, each moved by what `level` says of its place.
fn series(count: usize, random: &mut Random, level: impl Fn(usize) -> f64) -> Vec<f64> {
    (0..count).map(|at| level(at) + random.normal()).collect()
}

fn steps(changes: &[Change]) -> Vec<usize> {
    let steps = changes.iter().filter(|one| one.course == Course::Step);
    steps.map(|one| one.after.start).collect()
}

/// In how many of `trials` series `holds`.
fn held(trials: u64, seed: u64, mut holds: impl FnMut(&mut Random, u64) -> bool) -> usize {
    let mut random = Random::new(seed);
    (0..trials)
        .filter(|trial| holds(&mut random, *trial))
        .count()
}

#[test]
fn noise_alone_is_called_a_change_as_often_as_the_level_says() {
    for (count, normal) in [(8, true), (20, true), (60, true), (60, false)] {
        let alarms = held(1000, 1, |random, trial| {
            let values: Vec<f64> = (0..count)
                .map(|_| {
                    if normal {
                        random.normal()
                    } else {
                        random.bursty()
                    }
                })
                .collect();
            !changes(&values, 0.05, trial).is_empty()
        });
        // 5 % of 1,000 are 50 ± 21 (three standard errors); of eight values the test is coarse.
        let fewest = if count == 8 { 5 } else { 29 };
        assert!(
            (fewest..=71).contains(&alarms),
            "{count}, {normal}: {alarms}"
        );
    }
}

#[test]
fn the_share_is_below_the_level_as_often_as_a_change_is_found() {
    held(50, 2, |random, trial| {
        let values = series(30, random, |at| if at < 15 { 0.0 } else { 0.9 });
        let share = p_value(&values, trial);
        assert_eq!(share <= 0.05, !changes(&values, 0.05, trial).is_empty());
        true
    });
}

#[test]
fn a_step_is_found_where_it_is_and_as_high_as_it_is() {
    for (sigmas, at, near) in [(2.0, 20, 2), (4.0, 20, 0), (4.0, 35, 0), (4.0, 5, 0)] {
        let mut inside = 0;
        let found = held(200, 3, |random, trial| {
            let values = series(40, random, |place| if place < at { 0.0 } else { sigmas });
            let found = changes(&values, 0.05, trial);
            let first = found.first().filter(|one| one.course == Course::Step);
            let first = first.filter(|one| one.after.start.abs_diff(at) <= near);
            let holds = |one: &Change| (one.shift.low..=one.shift.high).contains(&sigmas);
            inside += usize::from(first.is_some_and(holds));
            first.is_some()
        });
        assert!(found >= 160, "{sigmas} at {at}: found in {found} of 200");
        // The interval takes the place as given, which costs it some of its 95 %.
        assert!(inside * 10 >= found * 9, "{inside} of {found} intervals");
    }
}

#[test]
fn two_steps_are_two_whether_the_second_leads_on_or_back() {
    for last in [8.0, 0.0] {
        let level = |at: usize| match at {
            0..15 => 0.0,
            15..30 => 4.0,
            _ => last,
        };
        let found = held(200, 4, |random, trial| {
            let values = series(45, random, level);
            let found = steps(&changes(&values, 0.05, trial));
            found.len() == 2 && found[0].abs_diff(15) <= 1 && found[1].abs_diff(30) <= 1
        });
        // Each of three stretches may have a false alarm, and what comes back hides itself.
        let fewest = if last == 0.0 { 150 } else { 170 };
        assert!(found >= fewest, "{last}: {found} of 200");
    }
}

#[test]
fn a_drift_is_a_drift_and_no_step() {
    let found = held(200, 5, |random, trial| {
        let values = series(40, random, |at| at as f64 / 8.0);
        let found = changes(&values, 0.05, trial);
        let drifts = |one: &Change| one.course == Course::Drift && one.shift.low > 0.0;
        found.len() == 1 && drifts(&found[0])
    });
    assert!(found >= 170, "{found} of 200");
}

#[test]
fn an_outlier_is_no_step_wherever_it_stands() {
    for (count, at) in [(12, 11), (40, 0), (40, 20), (40, 39), (300, 298)] {
        let alarms = held(200, 6, |random, trial| {
            let values = series(count, random, |place| if place == at { 1e3 } else { 0.0 });
            !changes(&values, 0.05, trial).is_empty()
        });
        // 5 % of 200 are 10 ± 9 (three standard errors).
        assert!(alarms <= 19, "{count} values, one at {at}: {alarms} of 200");
    }
}

#[test]
fn the_same_seed_gives_the_same_changes() {
    let values = series(
        60,
        &mut Random::new(7),
        |at| if at < 30 { 0.0 } else { 1.0 },
    );
    assert_eq!(changes(&values, 0.05, 1), changes(&values, 0.05, 1));
    assert_eq!(p_value(&values, 9), p_value(&values, 9));
}

#[test]
fn too_few_values_equal_ones_and_what_is_no_number_have_no_change() {
    let step =
        |count: usize| -> Vec<f64> { (0..count).map(|at| (2 * at / count) as f64).collect() };
    assert_eq!(changes(&step(VALUES_MIN - 1), 0.5, 1), []);
    assert_eq!(steps(&changes(&step(VALUES_MIN), 0.05, 1)), [4]);
    assert_eq!(changes(&[1.0; 40], 0.05, 1), []);
    assert_eq!(p_value(&[1.0; 40], 1), 1.0);
    let mut values = step(40);
    values[3] = f64::NAN;
    assert_eq!(
        (changes(&values, 0.05, 1), p_value(&values, 1)),
        (vec![], 1.0)
    );
    assert_eq!((changes(&[], 0.05, 1), p_value(&[], 1)), (vec![], 1.0));
}

#[test]
fn shifts_and_their_intervals_are_those_that_r_gives() {
    // wilcox.test(c(0.80, 0.83, 1.89, 1.04, 1.45, 1.38, 1.91, 1.64, 0.73, 1.46),
    //             c(1.15, 0.88, 0.90, 0.74, 1.21), conf.int = TRUE), with the data of its help:
    // 0.305 from -0.15 to 0.76 (Hollander & Wolfe 1973, 69f).
    let at_term = [0.80, 0.83, 1.89, 1.04, 1.45, 1.38, 1.91, 1.64, 0.73, 1.46];
    let before = [1.15, 0.88, 0.90, 0.74, 1.21];
    let found = shift(&before, &at_term);
    let near = |a: f64, b: f64| (a - b).abs() < 1e-9;
    assert!(near(found.centre, 0.305), "{found:?}");
    assert!(
        near(found.low, -0.15) && near(found.high, 0.76),
        "{found:?}"
    );
    assert!(
        found.confidence >= 0.95 && found.confidence < 0.97,
        "{found:?}"
    );
    // Of three and three, one order in twenty has no pair the wrong way round.
    assert!(near(
        shift(&[1.0, 2.0, 3.0], &[4.0, 5.0, 6.0]).confidence,
        0.9
    ));
    let counted: f64 = orders_by_pairs(5, 10).iter().sum();
    assert_eq!(counted, 3003.0);
}
