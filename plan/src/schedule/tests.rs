use super::*;

fn times(schedule: &Schedule, seed: u64, worker: u32, workers: u32, until_ns: u64) -> Vec<u64> {
    let mut marks = Marks::new(schedule, seed, worker, workers).unwrap();
    let mut times = Vec::new();
    while let Some(time) = marks.peek().filter(|time| *time < until_ns) {
        times.push(time);
        marks.advance();
    }
    times
}

#[test]
fn constant_arrivals_are_evenly_spaced_and_shared_out_in_turn() {
    let schedule = Schedule::Constant { rate: 1000.0 };
    let mut all = times(&schedule, 1, 0, 2, 1_000_000_000);
    all.extend(times(&schedule, 1, 1, 2, 1_000_000_000));
    all.sort_unstable();
    let expected: Vec<u64> = (0..1000).map(|n| n * 1_000_000).collect();
    assert_eq!(all, expected);
}

#[test]
fn a_rate_below_one_a_second_is_exact() {
    let all = times(&Schedule::Constant { rate: 0.25 }, 1, 0, 1, 13_000_000_000);
    assert_eq!(all, [0, 4_000_000_000, 8_000_000_000, 12_000_000_000]);
}

#[test]
fn a_billion_exchanges_in_the_spacing_has_not_drifted() {
    let mut marks = Marks::new(&Schedule::Constant { rate: 150_000.0 }, 1, 0, 1).unwrap();
    marks.index = 1_499_999_999;
    marks.advance();
    assert_eq!(marks.peek(), Some(10_000_000_000_000));
}

#[test]
fn poisson_arrivals_have_the_mean_and_the_spread_of_the_law() {
    let all = times(
        &Schedule::Poisson { rate: 10_000.0 },
        7,
        0,
        1,
        10_000_000_000,
    );
    let gaps: Vec<f64> = all
        .windows(2)
        .map(|pair| (pair[1] - pair[0]) as f64 / 1e5)
        .collect();
    let mean = gaps.iter().sum::<f64>() / gaps.len() as f64;
    let variance = gaps.iter().map(|gap| (gap - mean).powi(2)).sum::<f64>() / gaps.len() as f64;
    // 100,000 unit exponentials: both are 1 with a standard error of 0.3 % and 0.9 %.
    assert!((mean - 1.0).abs() < 0.02, "mean {mean}");
    assert!((variance - 1.0).abs() < 0.05, "variance {variance}");
    // The median of the law is ln 2; an even or normal spacing would be far from it.
    let below = gaps
        .iter()
        .filter(|gap| **gap < std::f64::consts::LN_2)
        .count();
    assert!(
        (below as f64 / gaps.len() as f64 - 0.5).abs() < 0.01,
        "{below}"
    );
}

#[test]
fn the_same_seed_brings_the_same_times_and_another_seed_others() {
    let schedule = Schedule::Poisson { rate: 1000.0 };
    let first = times(&schedule, 5, 0, 2, 1_000_000_000);
    assert_eq!(first, times(&schedule, 5, 0, 2, 1_000_000_000));
    assert_ne!(first, times(&schedule, 6, 0, 2, 1_000_000_000));
    assert_ne!(first, times(&schedule, 5, 1, 2, 1_000_000_000));
}

#[test]
fn a_ramp_holds_the_area_under_it_and_ends() {
    let stages = parse_stages("0:1000@10s,1000@1s,5000@100ms").unwrap();
    let schedule = Schedule::Stages {
        arrivals: Arrivals::Constant,
        stages,
    };
    let all = times(&schedule, 1, 0, 1, u64::MAX);
    assert_eq!(all.len(), 5000 + 1000 + 500);
    // Half of the ramp's time holds a quarter of its exchanges.
    let first_half = all.iter().filter(|time| **time < 5_000_000_000).count();
    assert!((1249..=1251).contains(&first_half), "{first_half}");
    assert!(all.windows(2).all(|pair| pair[0] <= pair[1]));
    assert!(*all.last().unwrap() < 11_100_000_000);
    assert_eq!(schedule.length_s(), Some(11.1));
    let mean = schedule.mean_rate(11.1).unwrap();
    assert!((mean - 6500.0 / 11.1).abs() < 1e-6, "{mean}");
}

#[test]
fn a_pause_between_stages_is_a_pause() {
    let stages = parse_stages("10@1s, 0@5s, 10@1s").unwrap();
    let schedule = Schedule::Stages {
        arrivals: Arrivals::Constant,
        stages,
    };
    let all = times(&schedule, 1, 0, 1, u64::MAX);
    assert_eq!(all.len(), 20);
    assert_eq!(all[10], 6_000_000_000);
}

#[test]
fn profiles_that_make_no_sense_are_refused_by_name() {
    let table = [
        ("", "`@TIME` is missing"),
        ("10", "`@TIME` is missing"),
        ("x@1s", "x"),
        ("10@soon", "soon"),
        ("10@0s", "longer than zero"),
        ("0@1s,0:0@2s", "rate zero"),
        ("-5@1s", "-5"),
    ];
    for (text, part) in table {
        let Invalid(message) = parse_stages(text).unwrap_err();
        assert!(message.contains(part), "{text:?}: {message}");
    }
}

#[test]
fn what_is_passed_is_what_was_due_before_however_large_the_steps() {
    let profile = parse_stages("0:1k@2s,1k@1.5s,0@1s,3k:10@2s").unwrap();
    let schedules = [
        Schedule::Constant { rate: 12_345.6 },
        Schedule::Poisson { rate: 3_000.0 },
        Schedule::Stages {
            arrivals: Arrivals::Constant,
            stages: profile.clone(),
        },
        Schedule::Stages {
            arrivals: Arrivals::Poisson,
            stages: profile,
        },
    ];
    for schedule in schedules {
        for (worker, step_ns) in [(0, 1_000_000_000), (2, 333_333_333), (1, 7_000_000_000)] {
            let marks = || Marks::new(&schedule, 7, worker, 3).expect("it's open");
            let (mut one_by_one, mut passing) = (marks(), marks());
            for edge in 1..=(7_000_000_000 / step_ns) {
                let mut count = 0;
                while one_by_one.peek().is_some_and(|due| due < edge * step_ns) {
                    one_by_one.advance();
                    count += 1;
                }
                let passed = passing.pass(edge * step_ns);
                assert_eq!(passed, count, "{schedule:?}, worker {worker}, {edge}");
                assert_eq!(passing.peek(), one_by_one.peek());
            }
        }
    }
}

fn traced(at_ms: &[u64], speed: f64, passes: u32) -> Schedule {
    let sendings = at_ms.iter().map(|ms| replay::Sending {
        at_ns: ms * 1_000_000,
        request: 0,
    });
    let trace = replay::Trace {
        sendings: sendings.collect(),
        ..replay::Trace::default()
    };
    Schedule::Trace {
        file: "a.log".into(),
        speed,
        passes,
        requests: at_ms.len() as u64,
        seconds: at_ms.last().map_or(0.0, |last| *last as f64 / 1000.0),
        left_out: LeftOut::default(),
        trace: Traced(Arc::new(trace)),
    }
}

#[test]
fn a_trace_keeps_its_gaps_and_workers_take_its_requests_in_turn() {
    let schedule = traced(&[0, 10, 10, 30], 2.0, 2);
    let (never, ms) = (u64::MAX, |times: &[u64]| -> Vec<u64> {
        times.iter().map(|ms| ms * 1_000_000).collect()
    });
    // A pass is as long as it was, and one gap more: 30 ms and 10, at twice the speed.
    let all = times(&schedule, 1, 0, 1, never);
    assert_eq!(all, ms(&[0, 5, 5, 15, 20, 25, 25, 35]));
    assert_eq!(times(&schedule, 1, 0, 3, never), ms(&[0, 15, 25]));
    assert_eq!(times(&schedule, 1, 1, 3, never), ms(&[5, 20, 35]));
    assert_eq!(times(&schedule, 1, 2, 3, never), ms(&[5, 25]));
    assert_eq!(schedule.length_s(), Some(0.04));
    assert!(
        schedule
            .mean_rate(1.0)
            .is_some_and(|rate| (rate - 200.0).abs() < 1e-9)
    );
    assert!(schedule.validate().is_ok());
    let mut marks = Marks::new(&schedule, 1, 0, 1).unwrap();
    assert_eq!(
        (marks.pass(20_000_000), marks.peek()),
        (4, Some(20_000_000))
    );
}

#[test]
fn a_trace_without_length_takes_a_second_and_nonsense_is_refused() {
    assert_eq!(traced(&[0], 1.0, 3).length_s(), Some(3.0));
    for nonsense in [0.0, -1.0, f64::NAN, f64::INFINITY, 1e300] {
        assert!(
            traced(&[0, 1], nonsense, 1).validate().is_err(),
            "{nonsense}"
        );
    }
    assert!(traced(&[0, 1], 1.0, 0).validate().is_err());
    let empty = traced(&[], 1.0, 1);
    assert_eq!(Marks::new(&empty, 1, 0, 1).unwrap().peek(), None);
}
