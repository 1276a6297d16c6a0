use measure::record::{Drain, Facts, Step};
use measure::tally::{Loop, Tally};
use measure::time::Time;

use super::*;
use plan::Plan;

fn refusal(text: &str) -> String {
    text.parse::<Threshold>().unwrap_err().0
}

#[test]
fn conditions_are_read() {
    let read = |text: &str| {
        text.parse::<Threshold>()
            .map(|read| (read.figure.whole.0, read.limit))
    };
    let response = |what| RunFigure::Time {
        service: false,
        what,
    };
    assert_eq!(
        read("p99<5ms"),
        Ok((response(OfTimes::Quantile(0.99)), 5e6))
    );
    assert!(read("p(95) < 1s").is_err());
    assert_eq!(read("mean <= 250us"), Ok((response(OfTimes::Mean), 250e3)));
    assert_eq!(read("errors<0.1%"), Ok((RunFigure::ErrorShare, 0.001)));
    assert_eq!(
        read("availability>=99.9%"),
        Ok((RunFigure::Availability, 0.9990000000000001))
    );
    assert_eq!(read("errors<1"), Ok((RunFigure::ErrorCount, 1.0)));
    assert_eq!(read("rate>=50k"), Ok((RunFigure::Rate, 50_000.0)));
    assert_eq!(read("rps>=1200"), Ok((RunFigure::Rate, 1200.0)));
    let service = RunFigure::Time {
        service: true,
        what: OfTimes::Max,
    };
    assert_eq!(read("service:max<2ms"), Ok((service, 2e6)));
}

#[test]
fn a_condition_on_a_tail_says_which() {
    let quantile = |text: &str| text.parse::<Threshold>().map(|read| read.quantile());
    for (text, expected) in [
        ("p99<5ms", Some(0.99)),
        ("service:p99.9<5ms", Some(0.999)),
        ("errors<0.1%", Some(0.999)),
        ("errors<=0%", None),
        ("errors<10", None),
        ("max<5ms", None),
        ("p100<5ms", None),
        ("rate>5k", None),
    ] {
        let found = quantile(text).expect("a condition");
        let near = |(a, b): (f64, f64)| (a - b).abs() < 1e-9;
        let same = found.zip(expected).map_or(found == expected, near);
        assert!(same, "{text}: {found:?}");
    }
    let times = |text: &str| text.parse::<Threshold>().is_ok_and(|t| t.is_about_times());
    assert!(times("mean<1ms") && !times("errors<1%") && !times("rate>1"));
}

/// A record with a mean of 4 ms, of which so many exchanges failed.
fn record(valid: bool, completed: u64, failed: u64) -> Record {
    let facts = Facts {
        duration_s: 1.0,
        valid,
        ..Facts::of(Plan::new("http://127.0.0.1:1/").expect("a URL").recorded())
    };
    let mut record: Record = Record::assemble(&Tally::new(Loop::Open), facts);
    record.exchanges.completed = completed;
    record.exchanges.failed = failed;
    record.response_time_us.mean = (completed > 0).then_some(4_000.0);
    record
}

#[test]
fn conditions_on_void_figures_are_neither_held_nor_crossed() {
    let outcomes = |record: &Record| {
        let rules = ["mean<5ms", "mean<1ms", "errors<1%"];
        let rules = rules.map(|rule| rule.parse::<Threshold>().expect("a condition"));
        let judged = judge(&rules, record);
        assert!(
            judged
                .iter()
                .all(|one| { one.reason.is_some() == (one.outcome == Met::NotJudged) })
        );
        judged.iter().map(|one| one.outcome).collect::<Vec<_>>()
    };
    use Met::{Crossed, Holds, NotJudged};
    assert_eq!(outcomes(&record(true, 100, 0)), [Holds, Crossed, Holds]);
    assert_eq!(outcomes(&record(true, 100, 50)), [Holds, Crossed, Crossed]);
    let void = [NotJudged, NotJudged, NotJudged];
    assert_eq!(outcomes(&record(false, 100, 0)), void);
    // What failed did fail, whatever the generator did.
    let failed = [NotJudged, NotJudged, Crossed];
    assert_eq!(outcomes(&record(false, 100, 50)), failed);
    // A server that answers nothing is no matter of the generator.
    assert_eq!(outcomes(&record(false, 0, 50)), [Crossed, Crossed, Crossed]);
}

#[test]
fn times_of_requests_that_were_given_up_are_not_short() {
    let mut record = record(true, 90, 10);
    record.exchanges.censored = 10;
    for (rule, met) in [
        ("mean<1s", Met::NotJudged),
        ("mean<1ms", Met::Crossed),
        ("mean>1ms", Met::Holds),
        ("errors<50%", Met::Holds),
    ] {
        let judged = judge::<OfRun>(&[rule.parse().unwrap()], &record);
        assert_eq!(judged[0].outcome, met, "{rule}");
    }
    record.exchanges.censored = 0;
    let judged = judge::<OfRun>(&["mean<1s".parse().unwrap()], &record);
    assert_eq!(judged[0].outcome, Met::Holds);
}

#[test]
fn too_few_answers_say_nothing_of_availability() {
    let judged = judge::<OfRun>(&["availability>=1%".parse().unwrap()], &record(true, 20, 0));
    assert_eq!(judged[0].outcome, Met::NotJudged);
}

#[test]
fn a_condition_on_a_figure_that_lateness_moved_is_not_judged() {
    let mut record = record(true, 100, 0);
    let moved = |figure: &str| Moved {
        figure: figure.to_owned(),
        by_us: 11_700.0,
        allowed_us: 50.0,
    };
    record.void = vec![moved("p99"), moved("p99_9"), moved("max")];
    let voids = |rule: &str| {
        let rule: Threshold = rule.parse().expect("a condition");
        judge(&[rule], &record)[0].outcome == Met::NotJudged
    };
    for rule in ["p99<5ms", "p98<5ms", "p99.9<1s", "p100<1s", "max<1s"] {
        assert!(voids(rule), "{rule}");
    }
    let stand = [
        "p50<5ms",
        "p90<5ms",
        "p95<5ms",
        "mean<5ms",
        "service:p99<1s",
        "errors<1%",
        "min<1s",
    ];
    for rule in stand {
        assert!(!voids(rule), "{rule}");
    }
}

/// A record of so many answers, each of which took so many milliseconds.
fn answers(ms: impl Iterator<Item = u64>) -> Record {
    let mut tally = Tally::new(Loop::Open);
    let start = Time(1_000_000_000);
    tally.start(start);
    ms.for_each(|ms| tally.completed(start, start, start.plus(ms * 1_000_000), 200));
    tally.finish(start.plus(1_000_000_000));
    let facts = Facts {
        duration_s: 1.0,
        ..Facts::of(Plan::new("http://127.0.0.1:1/").expect("a URL").recorded())
    };
    Record::assemble(&tally, facts)
}

#[track_caller]
fn judged(rule: &str, record: &Record) -> Judged {
    judge::<OfRun>(&[rule.parse().unwrap()], record).remove(0)
}

#[test]
fn a_percentile_of_too_few_requests_tells_nothing() {
    let few = answers((0..60).map(|_| 1));
    let told = judged("p99<5ms", &few);
    assert_eq!(told.outcome, Met::NotJudged);
    let reason = told.reason.unwrap();
    assert!(
        reason.contains("60 samples are too few for p99, which needs 299"),
        "{reason}"
    );
    assert_eq!(judged("p90<5ms", &few).outcome, Met::Holds);
    assert_eq!(judged("service:p99<5ms", &few).outcome, Met::NotJudged);
    let enough = answers((0..299).map(|_| 1));
    assert_eq!(judged("p99<5ms", &enough).outcome, Met::Holds);
    assert_eq!(judged("p99.9<5ms", &enough).outcome, Met::NotJudged);
    // One long one of sixty says nothing of the 99th percentile, and three of them do.
    let slow = |count| answers((0..60).map(move |n| if n < count { 9 } else { 1 }));
    assert_eq!(judged("p99<5ms", &slow(1)).outcome, Met::NotJudged);
    assert_eq!(judged("p99<5ms", &slow(3)).outcome, Met::Crossed);
}

#[test]
fn so_many_beyond_a_quantile_are_rare_as_the_binomial_distribution_says() {
    // Of 60 with a chance of 1 % each: 45.3 % have one or more, 12.1 % two, 2.2 % three.
    assert!(!too_many(1, 60, 0.01) && !too_many(2, 60, 0.01) && too_many(3, 60, 0.01));
    // Of three with a chance of one half, an eighth has three.
    assert!(!too_many(3, 3, 0.5) && too_many(5, 5, 0.5));
}

#[test]
fn a_time_that_is_too_long_even_without_lateness_is_crossed() {
    let mut late = answers((0..3000).map(|_| 20));
    late.void = vec![Moved {
        figure: "p99".to_owned(),
        by_us: 12_000.0,
        allowed_us: 50.0,
    }];
    // It was 8 ms at least.
    assert_eq!(judged("p99<5ms", &late).outcome, Met::Crossed);
    assert_eq!(judged("p99<15ms", &late).outcome, Met::NotJudged);
    assert_eq!(judged("p99<25ms", &late).outcome, Met::NotJudged);
    assert_eq!(judged("p99>5ms", &late).outcome, Met::NotJudged);
    // What voids the run is something else than lateness, which bounds nothing.
    late.valid = false;
    assert_eq!(judged("p99<5ms", &late).outcome, Met::NotJudged);
}

fn moved(figure: &str, by_us: f64) -> Moved {
    Moved {
        figure: figure.to_owned(),
        by_us,
        allowed_us: 10.0,
    }
}

#[test]
fn what_lateness_did_to_one_figure_is_no_excuse_for_another() {
    let mut late = answers((0..3000).map(|_| 20));
    late.void = vec![moved("p50", 36.0)];
    late.valid = false;
    assert_eq!(judged("p99<5ms", &late).outcome, Met::Crossed);
    assert_eq!(judged("p99<25ms", &late).outcome, Met::NotJudged);
    assert_eq!(judged("p50<20ms", &late).outcome, Met::NotJudged);
    late.void = Vec::new();
    assert_eq!(judged("p99<5ms", &late).outcome, Met::NotJudged);
}

#[test]
fn availability_is_judged_unless_lateness_explains_the_gap() {
    let mut late = answers((0..3000).map(|_| 20));
    late.availability = Some(measure::record::Availability {
        share: 0.9,
        slot_s: 0.1,
        ..Default::default()
    });
    late.valid = false;
    let met = |record: &Record, rule: &str| judged(rule, record).outcome;
    assert_eq!(met(&late, "availability>=99%"), Met::NotJudged);
    late.void = vec![moved("p50", 36.0)];
    assert_eq!(met(&late, "availability>=99%"), Met::Crossed);
    assert_eq!(met(&late, "availability>=80%"), Met::Holds);
    late.void = vec![moved("p50", 150_000.0)];
    let told = judged("availability>=99%", &late);
    assert_eq!(told.outcome, Met::NotJudged);
    assert!(told.reason.unwrap().contains("up to 150.00ms late"));
    assert_eq!(met(&late, "availability>=80%"), Met::Holds);
}

#[test]
fn times_of_nothing_but_failures_are_not_judged() {
    let mut refused = answers((0..3000).map(|_| 1));
    (refused.exchanges.completed, refused.exchanges.failed) = (0, 3000);
    for rule in ["p99<5ms", "mean<5ms", "max<1us", "service:p50<5ms"] {
        let told = judged(rule, &refused);
        assert_eq!(told.outcome, Met::NotJudged, "{rule}");
        assert!(told.reason.unwrap().contains("no request succeeded"));
    }
    assert_eq!(judged("errors<1%", &refused).outcome, Met::Crossed);
    // Answers of any status are answers.
    refused.availability = Some(measure::record::Availability {
        share: 1.0,
        ..Default::default()
    });
    assert_eq!(judged("availability>=99%", &refused).outcome, Met::Holds);
    refused.availability = None;
    let unknown = judged("availability>=99%", &refused).outcome;
    assert_eq!(unknown, Met::NotJudged);
}

#[test]
fn what_a_stall_of_our_own_may_account_for_is_not_judged() {
    // A hundred connections, on each of which one exchange was under way.
    let with = |connections, stall_us| {
        let mut record = answers((0..3000).map(|n| if n < 100 { 2001 } else { 1 }));
        let mut plan = Plan::new("http://127.0.0.1:1/").expect("a URL");
        plan.connections = connections;
        record.plan = plan.recorded();
        record.duration_s = 10.0;
        record.achieved_rate = 300.0;
        record.generator.longest_stall = Some(Stall {
            length_us: stall_us,
            at_s: 3.0,
        });
        record
    };
    let met = |record: &Record, rule: &str| judged(rule, record).outcome;
    let stalled = with(100, 2e6);
    for rule in [
        "max<100ms",
        "service:max<100ms",
        "p99<100ms",
        "mean<10ms",
        "rate>=350",
    ] {
        let told = judged(rule, &stalled);
        assert_eq!(told.outcome, Met::NotJudged, "{rule}");
        let reason = told.reason.unwrap();
        assert!(
            reason.contains("the generator stalled for 2.00 s"),
            "{reason}"
        );
    }
    for rule in ["max<100us", "mean<500us", "rate>=400", "p50<100us"] {
        assert_eq!(met(&stalled, rule), Met::Crossed, "{rule}");
    }
    for rule in ["max<3s", "p90<100ms", "rate>=250"] {
        assert_eq!(met(&stalled, rule), Met::Holds, "{rule}");
    }
    // Ten connections explain ten long times, and not a hundred; nor does a shorter stall.
    assert_eq!(met(&with(10, 2e6), "p99<100ms"), Met::Crossed);
    assert_eq!(met(&with(100, 1e6), "max<100ms"), Met::Crossed);
    assert_eq!(met(&with(100, 50e3), "max<100ms"), Met::Crossed);
    // In the drain it delays what was still to come then, and takes nothing from the rate.
    let in_drain = |left| {
        let mut record = with(400, 2e6);
        record.generator.longest_stall.as_mut().unwrap().at_s = 12.5;
        record.offered_rate = Some(300.0);
        record.drain = Some(Drain {
            completed: left,
            ..Drain::default()
        });
        record
    };
    assert_eq!(met(&in_drain(100), "p99<100ms"), Met::NotJudged);
    assert_eq!(met(&in_drain(10), "p99<100ms"), Met::Crossed);
    assert_eq!(met(&in_drain(100), "rate>=350"), Met::Crossed);
}

#[test]
fn a_run_that_was_interrupted_in_its_warm_up_crosses_nothing() {
    let mut record = record(false, 0, 0);
    record.ended_by = EndedBy::Interrupt;
    for rule in [
        "p99<5ms",
        "errors<1%",
        "errors<1",
        "rate>50",
        "availability>=99%",
    ] {
        let told = judged(rule, &record);
        assert_eq!(told.outcome, Met::NotJudged, "{rule}");
        assert!(told.reason.unwrap().contains("interrupted"), "{rule}");
    }
    record.exchanges.failed = 3;
    assert_eq!(judged("errors<1", &record).outcome, Met::Crossed);
}

#[test]
fn limits_that_can_mean_nothing_are_refused() {
    for (rule, why) in [
        ("errors<101%", "never above 100%"),
        ("availability>=101%", "never above 100%"),
        ("availability>100%", "use `>=`"),
        ("errors<=100%", "always holds"),
        ("errors<0%", "use `<=`"),
        ("errors<-1%", "can't be negative"),
        ("errors>=0", "always holds"),
    ] {
        let refused = refusal(rule);
        assert!(refused.contains(why), "{rule}: {refused}");
    }
    for rule in ["errors<=0%", "errors<=0", "availability>=100%"] {
        assert!(rule.parse::<Threshold>().is_ok(), "{rule}");
    }
}

#[test]
fn a_time_without_a_unit_is_refused_with_what_to_write() {
    for (text, instead) in [
        ("p99<50", "`p99<50ms`"),
        ("mean <= 0.5", "`mean<0.5ms`"),
        ("service:max<0", "`service:max<0ms`"),
    ] {
        let refused = refusal(text);
        assert!(refused.contains(instead), "{text}: {refused}");
    }
    assert!("p99<50ms".parse::<Threshold>().is_ok());
    assert!(
        "errors<50".parse::<Threshold>().is_ok(),
        "a count needs none"
    );
    assert!("rate>50".parse::<Threshold>().is_ok());
}

#[test]
fn several_conditions_in_one_are_refused_and_a_time_is_told_to_need_a_unit() {
    let two = refusal("p99<5ms,errors<1%");
    assert!(two.contains("more than one condition"), "{two}");
    let comma = refusal("p99<1,5ms");
    assert!(comma.contains("isn't a time"), "{comma}");
    for text in [two, comma] {
        assert!(!text.contains("bare number"), "{text}");
    }
}

#[test]
fn conditions_that_say_nothing_are_refused_with_an_example() {
    for text in [
        "p99",
        "p99=5ms",
        "p101<1ms",
        "speed<1ms",
        "p99<fast",
        "errors<-1%",
        "availability>99",
        "rate>x",
    ] {
        assert!(
            refusal(text).contains("write it like"),
            "{text}: {}",
            refusal(text)
        );
    }
}

#[test]
fn a_bound_that_the_generator_set_crosses_nothing() {
    let mut record = record(true, 1000, 0);
    record.achieved_rate = 37_273.0;
    record.generator.limited = true;
    let judged = |rule: &str, record: &Record| {
        let rule: Threshold = rule.parse().expect("a threshold");
        judge(&[rule], record).remove(0)
    };
    let rate = judged("rate>1M", &record);
    assert_eq!(rate.outcome, Met::NotJudged);
    assert_eq!(rate.measured.as_deref(), Some("37273.00/s"));
    let why = rate.reason.expect("a reason");
    assert!(
        why.contains("a lower bound of what the server can do"),
        "{why}"
    );
    assert!(why.contains("To generate more load, "), "{why}");
    // The server can do at least that.
    assert_eq!(judged("rate>30k", &record).outcome, Met::Holds);
    assert_eq!(judged("rate<30k", &record).outcome, Met::Crossed);
    assert_eq!(judged("rate<1M", &record).outcome, Met::NotJudged);
    let mean = judged("mean<3ms", &record);
    assert_eq!(mean.outcome, Met::NotJudged);
    let why = mean.reason.expect("a reason");
    assert!(why.contains("an upper bound"), "{why}");
    assert_eq!(judged("mean<5ms", &record).outcome, Met::Holds);
    record.generator.limited = false;
    assert_eq!(judged("rate>1M", &record).outcome, Met::Crossed);
    assert_eq!(judged("mean<3ms", &record).outcome, Met::Crossed);
}

#[test]
fn of_a_step_that_was_never_sent_only_its_rate_says_anything() {
    let mut record = record(true, 100, 0);
    record.steps = vec![Step {
        name: "z".to_owned(),
        ..Step::default()
    }];
    for (rule, outcome) in [
        ("errors{z}<1%", Met::NotJudged),
        ("errors{z}<1", Met::NotJudged),
        ("p99{z}<1ms", Met::NotJudged),
        ("rate{z}>=1", Met::Crossed),
    ] {
        let judged = judged(rule, &record);
        assert_eq!(judged.outcome, outcome, "{judged:?}");
    }
}

#[test]
fn a_name_that_a_figure_has_elsewhere_is_answered_with_its_name_here() {
    for (rule, here) in [
        ("ttft_p99<1s", "ttft_p99 is first_event_p99 here"),
        ("TTFT<1s", "ttft is first_event_p99 here"),
        ("tpot_mean<1s", "tpot_mean is time_per_event_mean here"),
        ("itl:p50<1s", "itl:p50 is event_gap_p50 here"),
        (
            "tokens_per_second>5",
            "tokens_per_second is event_rate here",
        ),
    ] {
        let refusal = refusal(rule);
        assert!(refusal.contains(here), "{rule}: {refusal}");
    }
    let refusal = refusal("title_p99<1s");
    assert!(!refusal.contains(" here"), "{refusal}");
}
