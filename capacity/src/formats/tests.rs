//! The formats say the same, and what comes from outside breaks none of them.

use quick_junit::{NonSuccessKind, TestCaseStatus};
use report::Look;

use super::*;
use crate::Reach;
use crate::search::{Ending, Verdict};
use crate::searched::{capacities, searched};

const LOOK: Look = Look {
    unicode: true,
    colour: false,
    width: 100,
};

fn found() -> Capacities {
    capacities(vec![searched("slow", 10_000.0), searched("fast", 30_000.0)])
}

#[test]
fn every_format_has_the_capacities_and_the_ratio() {
    let found = found();
    let held = per_second(found.rows[0].capacity().expect("found"));
    let ratio = &found.conclusions.last().expect("a sentence").says;
    let text = terminal(&found, LOOK);
    for part in [
        held.as_str(),
        "What can be concluded",
        "p99<10ms in most of 3 windows",
    ] {
        assert!(text.contains(part), "{part}: {text}");
    }
    assert!(
        text.lines().all(|line| line.chars().count() <= 120),
        "{text}"
    );
    for text in [markdown(&found), html(&found)] {
        assert!(text.contains(&held) && text.contains(ratio), "{text}");
    }
    let names: Vec<&str> = files(&found).iter().map(|(file, _)| file.name()).collect();
    assert_eq!(
        names,
        [
            "capacity.json",
            "report.md",
            "report.csv",
            "report.html",
            "junit.xml",
            "smaller-is-better.json",
            "bigger-is-better.json",
            "bencher.json"
        ]
    );
}

fn cases(found: &Capacities) -> Vec<(String, String)> {
    let text = junit(found);
    let read = quick_junit::Report::deserialize_from_str(&text)
        .unwrap_or_else(|error| panic!("{error}: {text}"));
    let states = read.test_suites[0].test_cases.iter().map(|case| {
        let state = match &case.status {
            TestCaseStatus::Success { .. } => "passed",
            TestCaseStatus::Skipped { .. } => "skipped",
            TestCaseStatus::NonSuccess { kind, .. } => match kind {
                NonSuccessKind::Failure => "failed",
                NonSuccessKind::Error => "error",
            },
        };
        let of = case.classname.as_ref().map_or("", |of| of.as_str());
        (format!("{of}: {}", case.name.as_str()), state.to_owned())
    });
    states.collect()
}

#[test]
fn junit_has_a_case_for_each_subject_and_objective_and_fails_where_the_verb_does() {
    let states = |found: &Capacities| -> Vec<String> {
        cases(found).into_iter().map(|(_, state)| state).collect()
    };
    let mut found = found();
    found.slo.push("errors<0.1%".to_owned());
    assert_eq!(states(&found), ["passed"; 5]);
    found.at_least = Some(20_000.0);
    let expected = ["test: measured", "slow: p99<10ms", "slow: errors<0.1%"];
    let named: Vec<String> = cases(&found).into_iter().map(|(name, _)| name).collect();
    assert_eq!(named[..3], expected);
    assert_eq!(named[3], "slow: at least 20,000/s");
    let (slow, fast) = (["passed", "passed", "failed"], ["passed"; 3]);
    assert_eq!(states(&found)[1..], [slow, fast].concat());
    assert_eq!(found.at_least(20_000.0), Reach::Below);
    // A lower bound below it tells nothing, and a row that failed has no objective that's met.
    let row = &mut found.rows[0];
    row.found.as_mut().expect("it was searched").ending = Ending::HighestHeld;
    row.found.as_mut().expect("it was searched").failed = None;
    assert_eq!(states(&found)[1..4], ["passed", "passed", "error"]);
    found.rows[0].failed = Some("it died".to_owned());
    assert_eq!(states(&found)[1..4], ["error", "error", "failed"]);
    found.ended_early = Some("it was interrupted".to_owned());
    assert_eq!(states(&found)[0], "error");
}

#[test]
fn the_capacity_is_a_figure_of_which_more_is_better_and_the_interval_its_range() {
    let found = found();
    let (low, high) = found.rows[0].interval().expect("found");
    let all = measures(&found);
    let (more, less): (Vec<_>, Vec<_>) = all.iter().partition(|one| one.more_is_better);
    assert_eq!((more.len(), less.len()), (2, 6));
    assert_eq!(
        (more[0].value, more[0].range),
        (low, high.map(|high| (low, high)))
    );
    let text = report::benchmark::bigger_is_better(&all);
    let read: serde_json::Value = serde_json::from_str(&text).expect("JSON");
    assert_eq!(read[0]["name"], "slow: capacity");
    let mut bound = found.clone();
    bound.rows[0]
        .found
        .as_mut()
        .expect("it was searched")
        .ending = Ending::HighestHeld;
    assert_eq!(measures(&bound)[0].range, None);
    bound.rows[0].found = None;
    assert_eq!(measures(&bound).len(), 4);
}

#[test]
fn markdown_begins_with_the_verdict_and_folds_the_probes() {
    let mut found = found();
    found.at_least = Some(20_000.0);
    let text = markdown(&found);
    let verdict = "**At least 20,000/s isn't shown.**\n\n**slow holds ";
    assert!(
        text.split_once("\n\n")
            .expect("a title")
            .1
            .starts_with(verdict),
        "{text}"
    );
    let folded = text.find("<details>").expect("folded");
    let probes = text.find("| probe | for |").expect("the probes");
    assert!(text.find("What can be concluded").expect("a heading") < folded);
    assert!(
        folded < probes && text.matches("</details>").count() == 2,
        "{text}"
    );
}

#[test]
fn one_probe_confirms_and_several_do() {
    let mut found = found();
    assert!(conditions(&found).contains("5 probes confirm each."));
    found.limits.confirmations = 1;
    let one = conditions(&found);
    assert!(
        one.ends_with("down to 1.00 %, and 1 probe confirms each."),
        "{one}"
    );
}

#[test]
fn every_probe_is_told_with_its_connections_and_its_reason() {
    let mut row = searched("slow", 10_000.0);
    let last = row.points.last_mut().expect("a probe");
    last.connections = 77;
    last.why = "p99 was 31ms".to_owned();
    last.verdict = Verdict::Unknown("the generator stalled for 12 ms".to_owned());
    let probes = row.points.len();
    let found = capacities(vec![row]);
    let reason = "p99 was 31ms (doesn't count: the generator stalled for 12 ms)";
    let one_line = |text: &str| text.split_whitespace().collect::<Vec<_>>().join(" ");
    for text in [terminal(&found, LOOK), markdown(&found), csv(&found)] {
        assert!(one_line(&text).contains(reason), "{text}");
        assert!(text.contains("77"), "{text}");
    }
    let text = terminal(&found, LOOK);
    let of_a_probe = |line: &&str| {
        let kinds = ["ramp", "bisect", "control", "confirm", "curve"];
        line.split_whitespace()
            .nth(1)
            .is_some_and(|word| kinds.contains(&word))
    };
    assert_eq!(text.lines().filter(of_a_probe).count(), probes, "{text}");
}

#[test]
fn a_terminal_without_unicode_gets_none() {
    let look = Look {
        unicode: false,
        ..LOOK
    };
    assert!(terminal(&found(), look).is_ascii());
}

#[test]
fn csv_has_a_line_for_each_probe_with_as_many_fields_as_headings() {
    let found = found();
    let text = csv(&found);
    let probes: usize = found.rows.iter().map(|row| row.points.len()).sum();
    assert_eq!(text.lines().count(), probes + 1);
    let fields = text.lines().next().map(|line| line.split(',').count());
    for line in text.lines().skip(1) {
        assert_eq!(Some(line.split(',').count()), fields, "{line}");
        assert!(line.contains("\"\"0.04%\"\""), "quotes are doubled: {line}");
    }
}

#[test]
fn names_from_outside_are_escaped() {
    let mut found = found();
    found.rows[0].name = "<script>alert(1)</script>|".to_owned();
    let page = html(&found);
    assert!(!page.contains("<script>") && page.contains("&lt;script&gt;"));
    assert!(markdown(&found).contains("\\|"));
}

#[test]
fn the_page_draws_the_objectives_and_the_capacity() {
    let mut found = capacities(vec![searched("slow", 10_000.0)]);
    let rules = [
        "p99<10ms",
        "p50<1ms",
        "service:p99<9ms",
        "p99.9<1s",
        "errors<2%",
    ];
    found.slo = rules.map(str::to_owned).to_vec();
    let page = html(&found);
    let drawn = |text: &str| {
        let text = text.replace('<', "&lt;");
        page.matches(&format!(">{text}</text>")).count()
    };
    for (rule, times) in rules.into_iter().zip([1, 0, 0, 1, 1]) {
        assert_eq!(drawn(rule), times, "{rule}");
    }
    let held = per_second(found.rows[0].capacity().expect("found"));
    assert!(drawn(&format!("held {held}")) > 0);
    // A limit far beyond all that was measured lies on the axis, too.
    assert!(
        page.contains(">1 s<") || page.contains(">1.00 s<"),
        "{page}"
    );
}

#[test]
fn a_reader_with_few_columns_has_no_longer_lines() {
    let found = capacities(vec![searched("a-subject-with-a-name", 10_000.0)]);
    let look = Look { width: 60, ..LOOK };
    for line in terminal(&found, look).lines() {
        let is_word = !line.trim().contains(' ');
        assert!(line.chars().count() <= 60 || is_word, "{line}");
    }
}

#[test]
fn a_page_fetches_nothing_and_shows_every_probe() {
    let found = found();
    let page = html(&found);
    assert!(!page.contains("http://") || page.contains("http://www.w3.org/2000/svg"));
    assert!(page.contains("<svg") && page.contains("Every probe"));
}

#[test]
fn what_a_dash_stands_for_is_said_where_one_stands() {
    let mut whole = searched("slow", 10_000.0);
    for point in &mut whole.points {
        (point.p50_us, point.p99_us) = (Some(1.0), Some(2.0));
        (point.server_cpu_us_per_exchange, point.server_busy) = (Some(1.0), Some(0.5));
        point.connections = 10;
    }
    let found = capacities(vec![whole.clone()]);
    assert_eq!(dashes(&found), None, "{}", terminal(&found, LOOK));
    let mut unseen = whole.clone();
    for point in &mut unseen.points {
        (point.server_cpu_us_per_exchange, point.server_busy) = (None, None);
    }
    let cpu = "the CPU time is seen only of servers that ringside starts";
    let mut rare = unseen.clone();
    rare.points.iter_mut().for_each(|point| point.p99_us = None);
    let few = format!("too few answers for a percentile; {cpu}");
    let mut older = whole.clone();
    older.points[0].connections = 0;
    let connections = "connections aren't known of older records, or where the server died";
    let mut held = whole;
    if let Some(found) = &mut held.found {
        found.failed = None;
    }
    for (row, expected) in [
        (unseen, cpu),
        (rare, &few),
        (older, connections),
        (held, "no rate failed"),
    ] {
        let found = capacities(vec![row]);
        let legend = format!("–: {expected}");
        assert_eq!(dashes(&found).as_deref(), Some(&*legend));
        for text in [terminal(&found, LOOK), markdown(&found), html(&found)] {
            assert!(text.contains(&legend), "{text}");
        }
    }
}

#[test]
fn requests_that_differ_are_told_at_the_highest_rate_that_held() {
    let mut row = searched("shop", 10_000.0);
    let edge = row.capacity().expect("found");
    for point in &mut row.points {
        let held = point.rate == edge && point.held() == Some(true);
        let step = |name: &str, achieved: f64| StepFound {
            name: name.to_owned(),
            achieved: if held { achieved } else { 1.0 },
            completed: 100,
            failed: 0,
            p50_us: Some(700.0),
            p99_us: if held { Some(3_000.0) } else { Some(9e6) },
        };
        point.steps = vec![step("list", 900.0), step("=item", 333.0)];
    }
    let found = capacities(vec![row, searched("plain", 10_000.0)]);
    assert_eq!(found.rows[0].steps.len(), 2);
    assert!(found.rows[1].steps.is_empty());
    let (text, written) = (terminal(&found, LOOK), markdown(&found));
    for part in [
        "By request, at the highest rate that held",
        "333/s",
        "3.00 ms",
    ] {
        for text in [&text, &written, &html(&found)] {
            assert!(text.contains(part), "{part}: {text}");
        }
    }
    assert!(!written.contains("9.00 s"), "{written}");
    let table = csv(&found);
    let lines: Vec<&str> = table.lines().collect();
    assert!(lines[0].ends_with(",outcome,why,step"), "{table}");
    let columns = |line: &str| line.split(',').count();
    let item = lines.iter().find(|line| line.ends_with(",'=item"));
    assert_eq!(columns(item.expect("a line for it")), columns(lines[0]));
    let json: Capacities = Capacities::from_json(&found.json()).expect("it reads itself");
    assert_eq!(json.rows[0].steps, found.rows[0].steps);
    let mut many = found.clone();
    let step = many.rows[0].steps[0].clone();
    many.rows[0].steps = (0..14)
        .map(|n| StepFound {
            name: format!("{n} {}", "long".repeat(20)),
            ..step.clone()
        })
        .collect();
    let text = terminal(&many, LOOK);
    assert!(
        text.contains("2 more requests in the report's files."),
        "{text}"
    );
    assert!(
        text.contains("11 long") && !text.contains("12 long"),
        "{text}"
    );
    let alike = capacities(vec![searched("plain", 10_000.0)]);
    assert!(!terminal(&alike, LOOK).contains("By request"));
    assert!(
        csv(&alike)
            .lines()
            .next()
            .is_some_and(|line| line.ends_with(",why"))
    );
}
