//! A run's formats, of a record that was made up. Those of a hold, and of real runs, are tested
//! with the program.

use lab::sample::Sample;
use quick_junit::{NonSuccessKind, Report, TestCaseStatus};

use super::*;
use crate::benchmark::{bigger_is_better, smaller_is_better};
use crate::made_up;

fn judged(rule: &str, outcome: Met, reason: Option<&str>) -> Judged {
    Judged {
        rule: rule.to_owned(),
        measured: Some("4.00ms".to_owned()),
        outcome,
        reason: reason.map(str::to_owned),
    }
}

fn record() -> Record {
    let round = Sample {
        p50_us: Some(200.0),
        ..Sample::default()
    };
    let mut record = made_up::record(&round);
    record.valid = true;
    record
}

fn figures(text: &str) -> Vec<String> {
    let read: Vec<serde_json::Value> = serde_json::from_str(text).expect("an array");
    let name = |one: &serde_json::Value| one["name"].as_str().expect("a name").to_owned();
    read.iter().map(name).collect()
}

#[test]
fn thresholds_fail_where_they_are_crossed_and_are_errors_where_nobody_can_tell() {
    let mut record = record();
    record.thresholds = vec![
        judged("p99<5ms", Met::Holds, None),
        judged("p99<3ms", Met::Crossed, None),
        judged("p99.9<9ms", Met::NotJudged, Some("too few requests")),
    ];
    let read = |trouble: Option<&str>| {
        let single = Single::of_run(&record, trouble.map(str::to_owned));
        let text = single.junit();
        Report::deserialize_from_str(&text).unwrap_or_else(|error| panic!("{error}: {text}"))
    };
    let well = read(None);
    let counts = (well.tests, well.failures, well.errors, well.skipped);
    assert_eq!(counts, (4, 1, 1, 0));
    assert_eq!(well.time, Some(std::time::Duration::from_secs(1)));
    let cases = &well.test_suites[0].test_cases;
    let names: Vec<&str> = cases.iter().map(|case| case.name.as_str()).collect();
    assert_eq!(names, ["measured", "p99<5ms", "p99<3ms", "p99.9<9ms"]);
    let TestCaseStatus::NonSuccess { kind, message, .. } = &cases[3].status else {
        panic!("{:?}", cases[3].status);
    };
    assert_eq!(*kind, NonSuccessKind::Error);
    let expected = "not judged: too few requests (measured 4.00ms)";
    assert_eq!(message.as_deref(), Some(expected));
    let ill = read(Some("it was interrupted"));
    assert_eq!((ill.failures, ill.errors), (1, 2));
}

#[test]
fn a_summary_begins_with_the_verdict_and_says_of_each_threshold_what_became_of_it() {
    let mut record = record();
    let text = |record: &Record, trouble: Option<&str>| {
        Single::of_run(record, trouble.map(str::to_owned)).markdown()
    };
    let bare = text(&record, None);
    assert!(bare.starts_with("**4,000/s answered, the p99 "), "{bare}");
    record.thresholds = vec![judged("p99{a|b}<5ms", Met::Holds, None)];
    let one = text(&record, None);
    assert!(one.starts_with("**The threshold holds. 4,000/s "), "{one}");
    assert!(
        one.contains("\n| p99{a\\|b}&lt;5ms | 4.00ms | holds |\n"),
        "{one}"
    );
    record
        .thresholds
        .push(judged("p50<1ms", Met::Crossed, None));
    record.warnings = vec!["<img> `x`\n| y".to_owned()];
    let two = text(&record, Some("it was interrupted"));
    let verdict = "**1 of 2 thresholds crossed: p50&lt;1ms. It was interrupted.**\n";
    assert!(two.starts_with(verdict), "{two}");
    assert!(
        two.ends_with("\n- Warning: &lt;img> \\`x\\` \\| y\n"),
        "{two}"
    );
    let cells = |line: &str| line.replace("\\|", "").matches('|').count();
    let table = two.lines().filter(|line| line.starts_with('|'));
    for line in table {
        assert_eq!(cells(line), 4, "{line}");
    }
}

#[test]
fn figures_that_nobody_may_rely_on_are_in_no_file() {
    let mut record = record();
    let of = |record: &Record| {
        let measures = Single::of_run(record, None).measures().to_vec();
        let names = [smaller_is_better(&measures), bigger_is_better(&measures)];
        names.map(|text| figures(&text))
    };
    let name = |what: &str| format!("http://127.0.0.1:1/: {what}");
    let times = ["p50", "p90", "p99", "p99.9"];
    let times = times.map(|one| name(&format!("{one} response time")));
    assert_eq!(of(&record), [times.to_vec(), vec![name("requests/s")]]);
    record.void = vec![Moved {
        figure: "p99_9".to_owned(),
        by_us: 100.0,
        allowed_us: 10.0,
    }];
    assert_eq!(of(&record)[0], times[..3]);
    record.void.clear();
    record.response_time_us.count = Some(298);
    assert_eq!(of(&record)[0], times[..2], "a p99 needs 299");
    record.valid = false;
    assert_eq!(of(&record), [Vec::new(), Vec::new()] as [Vec<String>; 2]);
}

#[test]
fn a_summary_of_a_fleet_has_its_agents_before_the_warnings() {
    let mut record = record();
    record.warnings = vec!["beware".to_owned()];
    let agents = Agents::read(&crate::agents::tests::fleet());
    let summary = Single::of_run(&record, None).by(agents).markdown();
    let of_agents = summary
        .find("Fleet: 2 agents, NOT complete")
        .expect(&summary);
    assert!(
        summary.find("- Warning: beware") > Some(of_agents),
        "{summary}"
    );
    assert!(!Single::of_run(&record, None).markdown().contains("Fleet:"));
}
