use super::*;
use crate::finding::{Check, Finding, Severity};
use crate::sample::Generating;

fn found(severity: Severity, sentence: &str) -> Finding {
    Finding {
        check: Check::Errors,
        severity,
        sentence: sentence.to_owned(),
    }
}

/// Rounds with these rates; the server is full and the generator is not.
fn rounds(rates: &[f64]) -> Vec<Sample> {
    let sample = |(index, rate): (usize, &f64)| Sample {
        round: index as u32 + 1,
        requests_per_second: *rate,
        p99_us: Some(1e9 / rate),
        server_busy: 0.99,
        generator_busy: Some(0.5),
        completed: 1000,
        ..Sample::default()
    };
    rates.iter().enumerate().map(sample).collect()
}

fn generator_limited(mut samples: Vec<Sample>) -> Vec<Sample> {
    for sample in &mut samples {
        sample.findings = vec![found(Severity::Bound, "its worker was busy")];
        sample.server_busy = 0.79;
        sample.generator_busy = Some(0.99);
    }
    samples
}

const BASIS: Basis<'_> = Basis {
    smallest: 0.02,
    floor: None,
    looks: None,
    apart: false,
    seed: 1,
};

fn side<'a>(name: &'a str, samples: &'a [Sample]) -> Side<'a> {
    Side {
        name,
        samples,
        spoilt: None,
    }
}

fn verdict_on(
    subject: &[Sample],
    baseline: &[Sample],
    metric: Metric,
    basis: &Basis<'_>,
) -> Verdict {
    let (subject, baseline) = (side("new", subject), side("old", baseline));
    judge(&[subject], baseline, metric, basis).remove(0).verdict
}

fn verdict(subject: &[Sample], baseline: &[Sample], metric: Metric) -> Verdict {
    verdict_on(subject, baseline, metric, &BASIS)
}

const OLD: [f64; 7] = [100.0, 101.0, 99.0, 100.0, 102.0, 98.0, 100.0];

fn scaled(by: f64) -> Vec<Sample> {
    let noise = [1.01, 0.99, 1.0, 1.02, 0.98, 1.0, 1.0];
    let rates: Vec<f64> = OLD
        .iter()
        .zip(noise)
        .map(|(rate, noise)| rate * by * noise)
        .collect();
    rounds(&rates)
}

#[test]
fn a_large_difference_is_said_in_times_with_the_faster_one_first() {
    let faster = verdict(&scaled(3.2), &rounds(&OLD), Metric::RequestsPerSecond);
    assert_eq!(faster.kind, Kind::Higher);
    assert_eq!(
        faster.sentence(),
        "new serves 3.16–3.24 × the requests of old (7 rounds, 1 start each, noise floor not \
         measured)"
    );
    let slower = verdict(&scaled(0.25), &rounds(&OLD), Metric::RequestsPerSecond);
    assert_eq!(slower.kind, Kind::Lower);
    assert!(
        slower.sentence().starts_with("old serves 3.9"),
        "{}",
        slower.sentence()
    );
}

#[test]
fn a_difference_below_a_tenth_is_said_in_percent() {
    let verdict = verdict(&scaled(1.06), &rounds(&OLD), Metric::RequestsPerSecond);
    assert_eq!(verdict.kind, Kind::Higher);
    assert!(
        verdict.sentence().contains("% more requests than old"),
        "{}",
        verdict.sentence()
    );
}

#[test]
fn the_same_twice_is_no_difference() {
    let verdict = verdict(&scaled(1.0), &rounds(&OLD), Metric::RequestsPerSecond);
    assert_eq!(verdict.kind, Kind::NoDifference);
    assert_eq!(
        verdict.sentence(),
        "no difference shown between new and old: −1.1 … +1.1 % (7 rounds, 1 start each, noise \
         floor not measured)"
    );
}

#[test]
fn a_sure_difference_that_is_too_small_is_not_called_faster() {
    let rates: Vec<f64> = OLD.iter().map(|rate| rate * 1.01).collect();
    let verdict = verdict(&rounds(&rates), &rounds(&OLD), Metric::RequestsPerSecond);
    assert_eq!(verdict.kind, Kind::TooSmall);
    assert!(
        verdict
            .sentence()
            .contains("differences below 2 % don't count"),
        "{}",
        verdict.sentence()
    );
}

#[test]
fn a_generator_at_its_limit_makes_a_bound() {
    let new = generator_limited(scaled(3.2));
    let bound = verdict(&new, &rounds(&OLD), Metric::RequestsPerSecond);
    assert_eq!(bound.kind, Kind::AtLeast);
    assert_eq!(
        bound.sentence(),
        "lower bound: new serves at least 3.16 × the requests of old; the generator was the limit: \
         its core was 99 % busy, the server's 79 % (7 rounds, 1 start each, noise floor not \
         measured)"
    );
    let mut unseen = new.clone();
    unseen
        .iter_mut()
        .for_each(|sample| sample.server_busy = 0.0);
    let sentence = limit(side("new", &unseen)).expect("it was the limit");
    assert_eq!(
        sentence,
        "its core was 99 % busy; how busy the server was isn't known"
    );
    let old = generator_limited(rounds(&OLD));
    let open = verdict(&scaled(3.2), &old, Metric::RequestsPerSecond);
    assert_eq!(open.kind, Kind::Undecided);
    let both = verdict(&new, &old, Metric::RequestsPerSecond);
    assert_eq!(both.kind, Kind::Undecided);
    assert!(
        both.sentence().contains("the limit for both new and old"),
        "{}",
        both.sentence()
    );
}

#[test]
fn at_a_fixed_rate_the_response_times_are_compared() {
    let longer = verdict(&scaled(0.5), &rounds(&OLD), Metric::ResponseTimeP99);
    assert_eq!(longer.kind, Kind::Higher);
    assert!(
        longer
            .sentence()
            .starts_with("the p99 response time of new is 1.9"),
        "{}",
        longer.sentence()
    );
}

#[test]
fn rounds_that_count_for_nothing_are_left_out_or_void_the_whole() {
    let mut new = scaled(3.2);
    new[2].findings = vec![found(Severity::Void, "no exchange completed")];
    let one = verdict(&new, &rounds(&OLD), Metric::RequestsPerSecond);
    assert_eq!(one.kind, Kind::Higher);
    for sample in &mut new[..4] {
        let why = "no exchange completed (refused 3)";
        sample.findings = vec![found(Severity::Void, why)];
    }
    let most = verdict(&new, &rounds(&OLD), Metric::RequestsPerSecond);
    assert_eq!(most.kind, Kind::Void);
    assert_eq!(
        most.sentence(),
        "void: new and old can't be compared, because in round 1 of new no exchange completed \
         (refused 3)"
    );
}

#[test]
fn two_rounds_are_too_few() {
    let verdict = verdict(
        &rounds(&OLD[..2]),
        &rounds(&OLD[..2]),
        Metric::RequestsPerSecond,
    );
    assert_eq!(verdict.kind, Kind::Void);
    assert!(
        verdict.sentence().contains("2 rounds in common"),
        "{}",
        verdict.sentence()
    );
}

#[test]
fn a_difference_below_what_the_baseline_differs_from_itself_is_not_called_one() {
    let noisy = Basis {
        floor: Some(0.07),
        ..BASIS
    };
    let (new, old) = (scaled(1.06), rounds(&OLD));
    let found = verdict_on(&new, &old, Metric::RequestsPerSecond, &noisy);
    assert_eq!(found.kind, Kind::TooSmall);
    assert!(
        found
            .sentence()
            .contains("differs from itself by up to 7 %")
            && found.sentence().ends_with("1 start each, noise floor 7 %)"),
        "{}",
        found.sentence()
    );
    let slower = verdict_on(&old, &new, Metric::RequestsPerSecond, &noisy);
    assert_eq!(slower.kind, Kind::TooSmall);
}

#[test]
fn several_subjects_share_the_error_of_one_comparison() {
    // By itself just proven: t = 2.8 of seven rounds, p = 0.03.
    let noise = [0.0, 0.055, 0.02, 0.045, 0.005, 0.03, 0.06];
    let rates: Vec<f64> = OLD
        .iter()
        .zip(noise)
        .map(|(old, up)| old * (1.0 + up))
        .collect();
    let (new, old) = (rounds(&rates), rounds(&OLD));
    let alone = judge(
        &[side("new", &new)],
        side("old", &old),
        Metric::RequestsPerSecond,
        &BASIS,
    );
    assert_eq!(alone[0].verdict.kind, Kind::Higher);
    let same = scaled(1.0);
    let sides = [
        side("a", &same),
        side("new", &new),
        side("c", &same),
        side("d", &same),
        side("e", &same),
        side("f", &same),
    ];
    let judged = judge(&sides, side("old", &old), Metric::RequestsPerSecond, &BASIS);
    assert_eq!(judged[1].verdict.kind, Kind::NoDifference, "{judged:?}");
    let (alone, among) = (alone[0].ratio, judged[1].ratio);
    let confidence = |ratio: Option<Ratio>| ratio.map_or(0.0, |ratio| ratio.confidence);
    assert!(confidence(among) > 0.99 && (confidence(alone) - 0.95).abs() < 1e-12);
    assert!(
        judged[1]
            .verdict
            .sentence()
            .contains("99.17 % confidence interval"),
        "{judged:?}"
    );
}

#[test]
fn an_early_look_needs_a_larger_difference() {
    let looks = Looks::plan(7, 35);
    let early = Basis {
        looks: Some((&looks, 0)),
        ..BASIS
    };
    let late = Basis {
        looks: Some((&looks, 4)),
        ..BASIS
    };
    let (new, old) = (scaled(1.04), rounds(&OLD));
    let found = verdict_on(&new, &old, Metric::RequestsPerSecond, &early);
    assert_eq!(found.kind, Kind::NoDifference);
    assert!(
        found.sentence().contains("look 1 of 5"),
        "{}",
        found.sentence()
    );
    let found = verdict_on(&new, &old, Metric::RequestsPerSecond, &late);
    assert_eq!(found.kind, Kind::Higher);
}

#[test]
fn what_costs_more_is_named_with_what_it_costs() {
    let with_cpu = |rates: &[f64]| {
        let mut samples = rounds(rates);
        for sample in &mut samples {
            sample.server_cpu_us_per_exchange = Some(sample.requests_per_second / 10.0);
            sample.memory_peak_bytes = Some(sample.requests_per_second as u64);
            sample.generator = Some(Generating {
                cpu_us_per_exchange: Some(sample.requests_per_second / 20.0),
                ..Generating::default()
            });
            sample.findings = vec![found(Severity::Bound, "its worker was busy")];
        }
        samples
    };
    let (new, old) = (with_cpu(&[300.0; 7]), with_cpu(&[100.0; 7]));
    for (metric, expected) in [
        (
            Metric::ServerCpuPerExchange,
            "the CPU time per exchange of new is 3 × that of old",
        ),
        (
            Metric::MemoryPeak,
            "the peak memory of new is 3 × that of old",
        ),
        (
            Metric::GeneratorCpuPerExchange,
            "the generator CPU time per request of new is 3 × that of old",
        ),
        // That somebody was the limit is no reason to doubt what the server counted.
        (
            Metric::RequestsDriven,
            "new gets 3 × the requests of old out of the server",
        ),
    ] {
        let verdict = verdict(&new, &old, metric);
        assert_eq!(verdict.kind, Kind::Higher);
        assert!(
            verdict.sentence().starts_with(expected),
            "{}",
            verdict.sentence()
        );
    }
    let seconds = verdict(&new, &old, Metric::Seconds);
    assert_eq!(seconds.kind, Kind::Void);
}

#[test]
fn events_are_judged_apart_from_answers_and_the_generator_bounds_them() {
    let with = |first: f64, rate: f64| {
        let mut samples = scaled(1.0);
        for sample in &mut samples {
            let noise = sample.requests_per_second / 100.0;
            sample
                .streamed
                .insert(Streamed::FirstEventP99, first * noise);
            sample.streamed.insert(Streamed::EventRate, rate * noise);
        }
        samples
    };
    let (slow, old) = (with(30.0, 5.0), with(10.0, 10.0));
    let first = Metric::Streamed(Streamed::FirstEventP99);
    let rate = Metric::Streamed(Streamed::EventRate);
    assert!(!first.more_is_better() && rate.more_is_better());
    for (metric, kind, says) in [
        (
            Metric::RequestsPerSecond,
            Kind::NoDifference,
            "no difference shown",
        ),
        (
            first,
            Kind::Higher,
            "the p99 time to the first event of new is 3 × that of old",
        ),
        (
            rate,
            Kind::Lower,
            "old sends 2 × the events of new in a second",
        ),
    ] {
        let verdict = verdict(&slow, &old, metric);
        assert_eq!(verdict.kind, kind, "{}", verdict.sentence());
        assert!(verdict.says.starts_with(says), "{}", verdict.says);
    }
    let mut bound = slow;
    for sample in &mut bound {
        sample.findings = vec![found(Severity::Bound, "its worker was busy")];
    }
    for (metric, says) in [(first, "own delays"), (rate, "might send more events")] {
        let verdict = verdict(&bound, &old, metric);
        assert_eq!(verdict.kind, Kind::Undecided);
        assert!(verdict.says.contains(says), "{}", verdict.says);
    }
    assert_eq!(verdict(&scaled(1.0), &old, first).kind, Kind::Void);
    assert_eq!(
        serde_json::to_value(first).expect("JSON"),
        "first_event_p99"
    );
}

#[test]
fn a_ratio_that_is_not_of_rounds_is_judged_alike() {
    let pairs = [1.3, 1.32, 1.31].map(|a| Pair {
        start: 1,
        a,
        b: 1.0,
    });
    let ratio = Ratio::of(&pairs, 0.95, 1).expect("three");
    let (new, old) = (Side::named("new"), Side::named("old"));
    let verdict = judge_ratio(new, old, Metric::Capacity, ratio, &BASIS);
    assert_eq!(verdict.kind, Kind::Higher);
    assert!(
        verdict
            .sentence()
            .starts_with("new holds 1.29–1.34 × the rate of old ("),
        "{}",
        verdict.sentence()
    );
}

#[test]
fn the_baseline_once_more_shows_how_much_is_noise() {
    let (again, old) = (scaled(1.0), rounds(&OLD));
    let noise = |ran_before| {
        let (again, old) = (side("again", &again), side("old", &old));
        noise(again, old, Metric::RequestsPerSecond, 1, ran_before)
    };
    assert_eq!(noise(false).verdict.kind, Kind::Noise);
    for (ran_before, processes) in [(false, "its own"), (true, "the same")] {
        let sentence = noise(ran_before).verdict.sentence();
        let part = format!("{processes} processes: −1.1 … +1.1 %, so differences up to 1.");
        assert!(sentence.contains(&part), "{sentence}");
    }
}

#[test]
fn a_round_that_an_interruption_tore_is_a_start_of_its_own() {
    let started = |starts: [u32; 8]| {
        let all = rounds(&[300.0, 301.0, 299.0, 302.0, 298.0, 300.5, 299.5, 300.0]);
        let with = |(sample, start)| Sample { start, ..sample };
        all.into_iter().zip(starts).map(with).collect::<Vec<_>>()
    };
    // One side was measured before the interruption, the other only after it.
    let before = started([1, 2, 2, 2, 2, 2, 2, 2]);
    let after = started([2; 8]);
    for (new, old) in [(&before, &after), (&after, &before)] {
        let verdict = verdict(new, old, Metric::RequestsPerSecond);
        let says = verdict.sentence().contains("8 rounds, 2 starts each");
        assert!(says, "{}", verdict.sentence());
    }
    let whole = verdict(&after, &after, Metric::RequestsPerSecond);
    assert!(
        whole.sentence().contains("1 start each"),
        "{}",
        whole.sentence()
    );
}

#[test]
fn what_an_exchange_costs_is_not_compared_where_the_rate_was_not_held() {
    let sentence = "only 121 of 200 requests per second were served: the times are those of an \
                    overloaded server";
    let slow = Finding {
        check: Check::OfferedRate,
        ..found(Severity::Caution, sentence)
    };
    let cost = |by: f64| {
        let mut samples = scaled(1.0);
        let costs = samples.iter_mut();
        costs.for_each(|one| {
            one.server_cpu_us_per_exchange = Some(1e9 * by / one.requests_per_second)
        });
        samples
    };
    let (mut new, old) = (cost(0.7), cost(1.0));
    let metric = Metric::ServerCpuPerExchange;
    assert_eq!(verdict(&new, &old, metric).kind, Kind::Lower);
    let held = new.len() / 2;
    new[..held]
        .iter_mut()
        .for_each(|one| one.findings.push(slow.clone()));
    assert_eq!(
        verdict(&new, &old, metric).kind,
        Kind::Lower,
        "most rounds held it"
    );
    new.iter_mut()
        .for_each(|one| one.findings = vec![slow.clone()]);
    for (subject, baseline, who) in [(&new, &old, "new"), (&old, &new, "old")] {
        let void = verdict(subject, baseline, metric);
        assert_eq!(void.kind, Kind::Void);
        let why = format!(
            "because {who} didn't hold it: only 121 of 200 requests per second were served"
        );
        assert!(void.sentence().ends_with(&why), "{}", void.sentence());
    }
    assert_eq!(
        verdict(&new, &old, Metric::ResponseTimeP99).kind,
        Kind::NoDifference
    );
    let bound = found(Severity::Bound, "its worker was busy");
    new.iter_mut()
        .for_each(|one| one.findings.push(bound.clone()));
    assert_eq!(behind(side("new", &new)), None, "it was the generator");
}

#[test]
fn a_percentile_of_too_few_answers_is_not_judged_and_says_so() {
    let few = |most: u64| {
        let mut samples = rounds(&OLD);
        for sample in &mut samples {
            sample.p99_us = None;
            sample.completed = most - u64::from(sample.round);
        }
        samples
    };
    let sentence = verdict(&few(108), &few(106), Metric::ResponseTimeP99).sentence();
    let why = "0 rounds in common, but 3 are needed: it takes 299 exchanges in a round, and new \
               had at most 107; make the window longer";
    assert!(sentence.contains(why), "{sentence}");
    // Enough of them, and still none: it was late.
    let late = verdict(&few(1000), &few(1000), Metric::ResponseTimeP99).sentence();
    let why = "in 7 rounds of new the generator sent requests late, which could have moved it";
    assert!(late.ends_with(why), "{late}");
}
