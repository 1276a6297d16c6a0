use super::*;

fn near(a: f64, b: f64, within: f64) -> bool {
    (a - b).abs() <= within
}

/// One start with these log-ratios.
fn one_start(logs: &[f64]) -> Vec<Pair> {
    starts_of(&[logs])
}

/// Starts with these log-ratios each.
fn starts_of<T: AsRef<[f64]>>(starts: &[T]) -> Vec<Pair> {
    let pair = |start, log: &f64| Pair {
        start,
        a: 100.0 * log.exp(),
        b: 100.0,
    };
    (1..)
        .zip(starts)
        .flat_map(|(start, logs)| logs.as_ref().iter().map(move |log| pair(start, log)))
        .collect()
}

fn ratio(pairs: &[Pair]) -> Ratio {
    Ratio::of(pairs, 0.95, 1).expect("enough rounds")
}

#[test]
fn a_ratio_of_constant_rounds_is_that_ratio_with_no_width() {
    let ratio = ratio(&one_start(&[3.0_f64.ln(); 6]));
    for figure in [ratio.centre, ratio.low, ratio.high] {
        assert!(near(figure, 3.0, 1e-12), "{figure}");
    }
    assert!(near(ratio.inverse().centre, 1.0 / 3.0, 1e-12));
    assert!(ratio.p_value < 1e-9 && ratio.leaves_out_one());
    assert!(near(ratio.effect(), 2.0, 1e-9) && near(ratio.inverse().effect(), 2.0, 1e-9));
}

#[test]
fn what_both_subjects_suffer_in_a_round_cancels() {
    // Rounds differ by a factor of four, the ratio within each is 2.
    let pairs: Vec<Pair> = (1..=8)
        .map(|round| f64::from(round % 4 + 1))
        .map(|slow| Pair {
            start: 1,
            a: 2.0 * slow,
            b: slow,
        })
        .collect();
    assert!(ratio(&pairs).half_width() < 1e-9);
}

#[test]
fn students_interval_of_three_rounds_is_the_textbooks() {
    // Logs 0.0, 0.1, 0.2: mean 0.1, standard error 0.1/√3, t(2) = 4.3027; t = √3, p = 0.2254.
    let ratio = ratio(&one_start(&[0.0, 0.1, 0.2]));
    let half = 4.302_653 * 0.1 / 3.0_f64.sqrt();
    assert_eq!(ratio.method, Method::StudentT);
    assert!(near(ratio.low.ln(), 0.1 - half, 1e-6) && near(ratio.high.ln(), 0.1 + half, 1e-6));
    assert!(near(ratio.p_value, 0.225_403, 1e-6), "{}", ratio.p_value);
}

#[test]
fn the_sleep_data_give_the_interval_that_r_gives() {
    // t.test(extra ~ group, data = sleep, paired = TRUE): differences of ten people, mean -1.58,
    // p = 0.002833, 95 % from -2.4599 to -0.7001.
    let differences = [-1.2, -2.4, -1.3, -1.3, 0.0, -1.0, -1.8, -0.8, -4.6, -1.4];
    let differences = Units::alike(differences.to_vec());
    let (low, high) = student(&differences, 0.05);
    assert!(near(low, -2.459_886, 1e-5) && near(high, -0.700_114, 1e-5));
    assert!(near(student_p(&differences), 0.002_833, 1e-6));
}

#[test]
fn too_few_rounds_or_a_round_without_a_ratio_give_no_interval() {
    let pair = |a, b| Pair { start: 1, a, b };
    assert_eq!(Ratio::of(&[pair(1.0, 1.0); 2], 0.95, 1), None);
    for bad in [pair(0.0, 1.0), pair(1.0, 0.0), pair(f64::NAN, 1.0)] {
        let pairs = [pair(1.0, 1.0), bad, pair(1.0, 1.0)];
        assert_eq!(Ratio::of(&pairs, 0.95, 1), None);
    }
}

#[test]
fn the_same_seed_gives_the_same_interval() {
    let logs: Vec<f64> = (0..9).map(|i| 0.01 * f64::from(i)).collect();
    let of = |seed| Ratio::of(&one_start(&logs), 0.95, seed);
    assert_eq!(of(7), of(7));
    assert_ne!(of(7), of(8));
}

#[test]
fn an_interval_leaves_out_one_just_where_the_p_value_is_below_its_alpha() {
    let mut random = Random::new(11);
    for trial in 0..60 {
        let n = 3 + random.below(10);
        let logs: Vec<f64> = (0..n).map(|_| 0.7 + random.normal()).collect();
        for confidence in [0.8, 0.95, 0.99, 0.999] {
            let ratio = Ratio::of(&one_start(&logs), confidence, trial).expect("enough");
            let proven = ratio.p_value < 1.0 - confidence;
            // One resample more or less lies between the two ways of asking.
            let border = (ratio.p_value / (1.0 - confidence) - 1.0).abs() < 0.02;
            assert!(border || proven == ratio.leaves_out_one(), "{ratio:?}");
        }
    }
}

#[test]
fn more_confidence_makes_a_wider_interval() {
    let pairs = one_start(&[0.1, 0.2, 0.15, 0.3, 0.05, 0.22, 0.18, 0.12]);
    let widths: Vec<f64> = [0.8, 0.9, 0.95, 0.99, 0.999, 0.999_99]
        .iter()
        .filter_map(|confidence| Ratio::of(&pairs, *confidence, 1))
        .map(|ratio| ratio.half_width())
        .collect();
    assert!(widths.is_sorted(), "{widths:?}");
    assert_eq!(widths.len(), 6);
}

#[test]
fn the_start_is_the_sample_however_many_rounds_each_has() {
    let ratio = ratio(&starts_of(&[vec![0.0; 9], vec![0.1; 2], vec![0.2; 4]]));
    assert_eq!((ratio.starts, ratio.rounds), (3, 15));
    // Rounds without noise do not tell how precise a start is, so all three weigh the same.
    assert!(near(ratio.centre.ln(), 0.1, 1e-12));
    // Student's interval of three values, as above, though there are fifteen rounds.
    assert!(near(ratio.p_value, 0.225_403, 1e-6));
}

/// How often the interval holds the true ratio, which is 1, over `starts` of `rounds` each.
fn coverage(
    (starts, rounds): (usize, usize),
    deviations: (f64, f64),
    draw: fn(&mut Random) -> f64,
) -> f64 {
    coverage_of(&vec![rounds; starts], 300, deviations, draw)
}

/// The same over starts of so many rounds each, in so many `trials`. A start's level deviates by
/// `between`, a round's by `within`, times what `draw` draws.
fn coverage_of(
    rounds: &[usize],
    trials: u64,
    (between, within): (f64, f64),
    draw: fn(&mut Random) -> f64,
) -> f64 {
    let mut random = Random::new(20_26);
    let held = (0..trials).filter(|trial| {
        let all: Vec<Vec<f64>> = rounds
            .iter()
            .map(|rounds| {
                let level = between * draw(&mut random);
                (0..*rounds)
                    .map(|_| level + within * draw(&mut random))
                    .collect()
            })
            .collect();
        let ratio = Ratio::of(&starts_of(&all), 0.95, *trial).expect("enough rounds");
        !ratio.leaves_out_one()
    });
    let share = held.count() as f64 / trials as f64;
    println!("starts of {rounds:?} rounds, {between} between, {within} within: {share}");
    share
}

// 300 trials of a 95 % interval hold it in 95 ± 2.5 % (two standard errors).
const HOLDS: std::ops::RangeInclusive<f64> = 0.915..=0.985;

#[test]
fn intervals_of_rounds_hold_the_truth_about_as_often_as_they_say() {
    for rounds in [3, 4, 5, 6, 7, 10] {
        let share = coverage((1, rounds), (0.0, 0.02), Random::normal);
        assert!(HOLDS.contains(&share), "{rounds} rounds: {share}");
    }
}

#[test]
fn intervals_of_few_starts_hold_the_truth_though_starts_differ_more_than_rounds() {
    for starts in [2, 3, 4, 8] {
        for between in [0.0, 0.02, 0.2] {
            let share = coverage((starts, 3), (between, 0.02), Random::normal);
            assert!(
                HOLDS.contains(&share),
                "{starts} starts, {between}: {share}"
            );
        }
    }
}

#[test]
fn intervals_of_unequal_starts_hold_the_truth_as_after_an_interruption() {
    // What --resume makes of ten rounds of one start, of three starts of five rounds, and so on.
    let all: [&[usize]; 8] = [
        &[9, 1],
        &[1, 9],
        &[8, 2],
        &[19, 1],
        &[9, 3, 1],
        &[30, 1, 1],
        &[5, 5, 5, 1, 4],
        &[5, 5, 5, 5, 5, 5, 1],
    ];
    for rounds in all {
        for between in [0.0, 0.006, 0.02, 0.06, 0.2] {
            let share = coverage_of(rounds, 1500, (between, 0.02), Random::normal);
            // 1,500 trials of a 95 % interval hold it in 95 ± 1.1 % (two standard errors).
            assert!(share >= 0.92, "{rounds:?}, {between}: {share}");
        }
    }
}

#[test]
fn a_round_after_an_interruption_makes_no_result_of_its_own() {
    // Nine rounds of 2.00 and one of 2.05, which is no more than rounds differ by anyway.
    let nine = [0.02, -0.03, 0.05, 0.0, -0.05, 0.04, -0.02, 0.03, -0.04];
    let log = |noise: &f64| 2.0_f64.ln() + noise;
    let before: Vec<f64> = nine.iter().map(log).collect();
    let ratio = ratio(&starts_of(&[before, vec![2.05_f64.ln()]]));
    assert_eq!((ratio.starts, ratio.rounds), (2, 10));
    // The lonely round weighs a quarter, and not as much as the nine.
    assert!(near(
        ratio.centre.ln(),
        2.0_f64.ln() + 1.025_f64.ln() / 4.0,
        1e-12
    ));
}

#[test]
fn bursts_of_noise_make_intervals_wider_and_not_wrong() {
    for rounds in [5, 8, 16] {
        let share = coverage((1, rounds), (0.0, 0.01), Random::bursty);
        assert!(share >= 0.92, "{rounds} rounds: {share}");
    }
}

#[test]
fn skewed_noise_costs_a_little_coverage() {
    // Exponential with its mean taken off: what remains of bursts that hit one subject only.
    let skewed = |random: &mut Random| -random.unit().ln() - 1.0;
    let share = coverage((1, 7), (0.0, 0.02), skewed);
    assert!(share >= 0.86, "{share}");
}

#[test]
fn an_interval_by_student_is_what_few_rounds_get_and_near_what_many_do() {
    let few = one_start(&[0.1, 0.12, 0.08, 0.11]);
    assert_eq!(Ratio::by_student(&few, 0.95), Some(ratio(&few)));
    let mut random = Random::new(11);
    let logs: Vec<f64> = (0..30).map(|_| 0.1 + 0.02 * random.normal()).collect();
    let many = one_start(&logs);
    let (drawn, judged) = (
        Ratio::by_student(&many, 0.95).expect("enough"),
        ratio(&many),
    );
    assert!(near(drawn.low, judged.low, 0.002) && near(drawn.high, judged.high, 0.002));
    assert_eq!(Ratio::by_student(&few[..2], 0.95), None);
}
