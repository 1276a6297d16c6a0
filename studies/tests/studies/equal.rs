//! One rate for all rows beside the closed loop: found before the first round, the same in every
//! round, and kept where a comparison goes on.

use lab::event::Event;
use lab::judging::{CLOSED, EQUAL};
use lab::round::Round;
use lab::verdict::Metric;
use load::schedule::Schedule;

use crate::compare::compare;
use crate::resume::{kept, resuming, stopped_at};
use crate::support::{Arena, beside_others, quick};

fn with_judge(text: &str, judge: &str) -> String {
    text.replace("[workload]", &format!("[judge]\n{judge}\n[workload]"))
}

fn rates(rounds: &[Round]) -> Vec<Option<f64>> {
    let phases = rounds.iter().flat_map(|round| &round.phases);
    let equal = phases.filter(|phase| phase.equal);
    equal.map(|phase| phase.rate).collect()
}

#[test]
fn every_round_has_a_closed_loop_and_the_rate_that_all_can_serve() {
    let _beside = beside_others();
    let arena = Arena::new("equal");
    arena.tiny("one", "").tiny("two", "");
    let text = with_judge(&quick(&["one", "two"], 4), "equal_rate = \"auto\"");
    let options = arena.comparison(&text);
    let first = stopped_at(&options, "two", 3);
    let before = kept(&first.folder);
    let rate = before.manifest.setup.equal_rate.expect("both answer");
    let load = &before.manifest.setup.load;
    assert!(
        load.contains(&format!("{EQUAL}: {rate} requests/s")),
        "{load}"
    );

    let mut found = Vec::new();
    let resumed = resuming(&options, &first.folder);
    let outcome = studies::compare(&resumed, &load::Stop::new(), &mut |event: &Event<'_>| {
        if let Event::EqualRate { rate } = event {
            found.push(*rate);
        }
    });
    let outcome = outcome.unwrap_or_else(|error| panic!("{error}"));
    assert!(found.is_empty(), "it was known: {found:?}");
    let after = kept(&first.folder);
    assert_eq!(after.rounds.len(), 8);
    assert_eq!(rates(&after.rounds), [Some(rate); 8]);
    for round in &after.rounds {
        let names: Vec<&str> = round.phases.iter().map(|one| one.name.as_str()).collect();
        assert_eq!(names, [CLOSED, EQUAL]);
        let record = round.record.as_ref().expect("of the closed loop");
        assert!(matches!(record.plan.schedule, Schedule::Closed));
        let equal = round.phases[1].record.as_ref().expect("its own");
        assert!(matches!(equal.plan.schedule, Schedule::Poisson { .. }));
        assert_ne!(equal.plan.seed, record.plan.seed);
    }
    let row = &outcome.report.subjects[1];
    let judged: Vec<Metric> = row.further.iter().map(|one| one.metric).collect();
    let by_default = [
        Metric::ServerCpuPerExchange,
        Metric::ResponseTimeP99,
        Metric::MemoryPeak,
    ];
    assert_eq!(judged, by_default);
    assert!(row.at_equal_rate.is_some());
    assert!(!outcome.report.ranking.is_empty());
}

#[test]
fn figures_that_are_named_are_judged_and_no_others() {
    let _beside = beside_others();
    let arena = Arena::new("figures");
    arena.tiny("one", "").tiny("two", "");
    let judge = "figures = [\"memory\", \"rate\"]\nequal_rate = \"200\"";
    let text = with_judge(&quick(&["one", "two"], 3), judge);
    let outcome = compare(&arena.comparison(&text)).expect("it runs");
    let setup = &outcome.report.setup;
    assert_eq!(setup.equal_rate, Some(200.0));
    assert_eq!(
        setup.judged_by,
        [Metric::RequestsPerSecond, Metric::MemoryPeak]
    );
    let row = &outcome.report.subjects[1];
    assert_eq!(row.further.len(), 1);
    assert_eq!(row.further[0].metric, Metric::MemoryPeak);
    let equal = row.at_equal_rate.as_ref().expect("measured");
    let rate = equal.requests_per_second.median;
    assert!(rate < 400.0, "{rate} at an offered rate of 200");
}
