//! Reports of comparisons whose requests differ.

use lab::manifest::Cold;
use load::check::Streamed;
use measure::record::{Streams, Times};

use super::*;
use crate::made_up::{mixed, step};

/// Two servers of which one is slower with one of two requests, in one round of which a request
/// failed; a round that doesn't count, and a row that doesn't.
fn example() -> (Setup, Vec<(RowFacts, Vec<Round>)>) {
    let [mut ours, mut other, mut again, mut cold] = ["ours", "other", "ours-again", "cold"]
        .map(|name| row(name, Outcome::Measured, rounds(300_000.0, 0.9)));
    mixed(&mut ours.1, 2.0);
    mixed(&mut again.1, 2.0);
    mixed(&mut other.1, 5.0);
    mixed(&mut cold.1, 2.0);
    again.0.role = Role::Again;
    cold.0.cold = Some(Cold {
        needed_s: 30.0,
        given_s: 5.0,
    });
    let failed = other.1[0].record.as_mut().expect("a record");
    failed.steps[1] = step("create", 5.0 * 666.7, 7);
    let void = &mut other.1[4];
    void.sample.findings = vec![Finding {
        check: Check::Generator,
        severity: Severity::Void,
        sentence: "nothing was measured".into(),
    }];
    let record = void.record.as_mut().expect("a record");
    record.steps[1] = step("create", 1e6, 3);
    (setup(), vec![ours, other, cold, again])
}

fn found() -> Report {
    let (setup, rows) = example();
    report(setup, Vec::new(), rows)
}

const LOOK: Look = Look {
    unicode: true,
    colour: false,
    width: 100,
};

/// The part of a text from this heading up to the next empty line but `more`.
fn part<'a>(text: &'a str, heading: &str, end: &str) -> &'a str {
    let (_, rest) = text.split_once(heading).expect("a heading");
    rest.split_once(end).map_or(rest, |(part, _)| part)
}

#[test]
fn every_format_shows_each_request_in_each_row() {
    let found = found();
    let text = terminal(&found, LOOK);
    let shown = part(&text, "\nBy request\n", "\n\n");
    check("mix.txt", &format!("By request\n{shown}\n"));
    assert!(
        text.lines().all(|line| line.chars().count() <= 110),
        "{text}"
    );
    let text = markdown(&found);
    let shown = part(&text, "## By request\n", "\n## ");
    check("mix.md", &format!("## By request\n{shown}"));
    let page = html(&found, &Enclosed::default());
    stands_alone(&page);
    let shown = part(&page, "<section id=\"by-request\"", "<section");
    check("mix.html", &body(&format!("</style><section{shown}\n")));
    let text = csv(&found);
    check("mix.csv", &text);
    let columns = |line: &str| line.split(',').count();
    // What is found of the cold row has a comma in it.
    let mut lines = text.lines().filter(|line| !line.starts_with("cold"));
    assert!(lines.all(|line| columns(line) == 26), "{text}");
    assert_eq!(text.lines().count(), 1 + 4 * 3 * 5);
}

#[test]
fn a_round_that_does_not_count_counts_for_none_of_its_requests() {
    let found = found();
    let named = |row: usize, name: &str| {
        let mut steps = found.subjects[row].steps.iter();
        steps.find(|step| step.name == name).expect("a request")
    };
    let create = named(1, "create");
    let highest = create.p50_us.expect("rounds count").highest;
    assert!(highest < 10_000.0, "that of the void round is a second");
    assert_eq!((create.rounds, create.failed), (4, 10), "errors are of all");
    assert_eq!(create.errors, [("reset".to_owned(), 10)].into());
    let pooled = create.distribution.as_ref().expect("rounds count");
    assert_eq!(pooled.exchanges, 4 * 2000);
    let ratio = create.judged[0].ratio.expect("enough rounds");
    assert!((2.4..2.6).contains(&ratio.centre), "{ratio:?}");
    assert_eq!(ratio.rounds, 4);
    let list = named(1, "list").judged[0].verdict.kind;
    assert_eq!(list, Kind::NoDifference, "it's as fast");
    let cold = named(2, "create");
    assert_eq!(cold.rounds, 0);
    assert!(cold.p50_us.is_none() && cold.distribution.is_none());
    assert_eq!(cold.judged[0].verdict.kind, Kind::Void);
    assert!(cold.judged[0].ratio.is_none());
    assert!(named(0, "list").judged.is_empty(), "it's the baseline");
}

#[test]
fn intervals_are_wider_the_more_requests_they_have_to_hold_for() {
    let width = |names: usize| {
        let (setup, mut rows) = example();
        for (_, rounds) in &mut rows {
            for round in rounds {
                let p50 = round.sample.p50_us.expect("a median");
                let record = round.record.as_mut().expect("a record");
                let by = 1.0 + 0.01 * f64::from(round.round % 3);
                let step = |at| step(&format!("s{at}"), by * p50, 0);
                record.steps = (0..names).map(step).collect();
            }
        }
        let found = report(setup, Vec::new(), rows);
        let judged = &found.subjects[1].steps[0].judged[0];
        judged.ratio.expect("an interval").confidence
    };
    assert!(width(8) > width(2), "{} {}", width(8), width(2));
}

#[test]
fn times_are_of_the_equal_rate_and_the_rate_of_the_closed_loop() {
    let two = |name: &str, slower: f64| {
        let (facts, mut rounds) = at_two_loads(name, 300_000.0, 3.3);
        mixed(&mut rounds, slower);
        for round in &mut rounds {
            let mut record = round.record.clone().expect("a record");
            record.steps = vec![step("list", 50.0, 1), step("create", 10.0 * slower, 0)];
            for one in &mut record.steps {
                one.achieved_rate = 500.0;
            }
            round.phases[1].record = Some(record);
        }
        (facts, rounds)
    };
    let setup = Setup {
        judged_by: vec![Metric::RequestsPerSecond, Metric::ResponseTimeP50],
        equal_rate: Some(33_000.0),
        ..setup()
    };
    let rows = vec![two("ours", 2.0), two("other", 3.0)];
    let found = report(setup, Vec::new(), rows);
    let create = &found.subjects[1].steps[1];
    let p50 = create.p50_us.expect("rounds count").median;
    assert!((29.0..31.0).contains(&p50), "{p50}");
    let rate = create.requests_per_second.expect("rounds count").median;
    assert_eq!(rate, 2000.0);
    assert_eq!(create.completed, 5 * 2 * 2000, "both loads");
    let said = &create.judged[0].verdict.says;
    assert!(said.starts_with("at 33,000/s, "), "{said}");
    let text = terminal(&found, LOOK);
    let shown = part(&text, "\nBy request\n", "\n\n");
    assert!(shown.contains("the other figures at 33,000/s"), "{shown}");
    let text = csv(&found);
    let of_create = text.lines().filter(|line| line.contains(",create,"));
    let (equal, closed): (Vec<&str>, Vec<&str>) =
        of_create.partition(|line| line.ends_with(",create,33000,0"));
    assert_eq!((equal.len(), closed.len()), (10, 10), "{text}");
}

/// Streams of ten events each, whose times are so many times as long as those of others.
fn streams(slower: f64) -> Streams {
    let times = |p50: f64| Times {
        count: Some(20_000),
        p50: Some(p50),
        p99: Some(3.0 * p50),
        ..Times::default()
    };
    Streams {
        streams: 2000,
        events: 20_000,
        events_per_second: 20_000.0,
        first_byte_us: times(100.0),
        first_event_us: times(1000.0 * slower),
        event_gap_us: times(500.0 * slower),
        ..Streams::default()
    }
}

#[test]
fn every_format_shows_the_events_of_each_request_that_is_answered_by_a_stream() {
    let (setup, mut rows) = example();
    for (at, round) in (rows.iter_mut().enumerate()).flat_map(|(at, row)| {
        let rounds = row.1.iter_mut();
        rounds.map(move |round| (at, round))
    }) {
        let by = 1.0 + 0.001 * f64::from(round.round);
        let slower = if at == 1 { 2.0 * by } else { by };
        let steps = &mut round.record.as_mut().expect("a record").steps;
        steps[0].streams = Some(Streams {
            first_byte_us: streams(1.0).first_byte_us,
            ..Streams::default()
        });
        steps[1].streams = Some(streams(slower));
    }
    let first_event = Metric::Streamed(Streamed::FirstEventP99);
    let setup = Setup {
        judged_by: vec![Metric::RequestsPerSecond, first_event],
        ..setup
    };
    let found = report(setup, Vec::new(), rows);
    let text = terminal(&found, LOOK);
    let shown = part(&text, "\nEvents by request\n", "\n\n");
    check("events.txt", &format!("Events by request\n{shown}\n"));
    let text = markdown(&found);
    let shown = part(&text, "Events by request:\n\n", "\n\n");
    check("events.md", &format!("{shown}\n"));
    assert!(!shown.contains("list"), "it has no events: {shown}");
    let page = html(&found, &Enclosed::default());
    stands_alone(&page);
    let shown = part(&page, "<h3>Events</h3>", "</table>");
    for said in ["1st event p99", "gap p99", "events/s", "6.01 ms"] {
        assert!(shown.contains(said), "{said}: {shown}");
    }
    assert!(!shown.contains("list"), "{shown}");
    let create = &found.subjects[1].steps[1];
    let ratio = create.said(first_event).and_then(|said| said.ratio);
    let ratio = ratio.expect("enough rounds").centre;
    assert!((1.99..2.01).contains(&ratio), "{ratio}");
}

#[test]
fn where_requests_are_alike_no_format_says_anything_of_requests() {
    let found = super::example();
    let formats = [
        terminal(&found, LOOK),
        markdown(&found),
        html(&found, &Enclosed::default()),
    ];
    for text in formats {
        assert!(!text.contains("By request"), "{text}");
    }
    assert!(!json(&found).contains("\"steps\""));
    assert!(csv(&found).starts_with("row,role,"));
    assert!(!csv(&found).contains("step"));
    // One request has the figures of the whole.
    let (setup, mut rows) = example();
    for round in rows.iter_mut().flat_map(|(_, rounds)| rounds) {
        round.record.as_mut().expect("a record").steps.truncate(1);
    }
    let found = report(setup, Vec::new(), rows);
    assert!(found.subjects.iter().all(|row| row.steps.is_empty()));
}

#[test]
fn the_name_of_a_request_breaks_out_of_no_format_and_many_are_not_all_in_a_terminal() {
    let hostile = "<script>|\"a\",\n=1";
    let (setup, mut rows) = example();
    for round in rows.iter_mut().flat_map(|(_, rounds)| rounds) {
        let steps = &mut round.record.as_mut().expect("a record").steps;
        steps[0].name = hostile.to_owned();
        steps.extend((0..12).map(|at| step(&format!("more {at}"), 50.0, 0)));
        steps[13].name = "long ".repeat(20);
    }
    let found = report(setup, Vec::new(), rows);
    let page = html(&found, &Enclosed::default());
    stands_alone(&page);
    assert!(page.contains("response times of the other requests"));
    let text = markdown(&found);
    assert!(
        text.contains("| &lt;script>\\|\"a\", =1 | ours |"),
        "{text}"
    );
    let text = csv(&found);
    assert!(text.contains(",\"<script>|\"\"a\"\",\n=1\",,0\n"), "{text}");
    let text = terminal(&found, LOOK);
    let text = text.replace("\n  ", " ");
    assert!(
        text.contains("2 more requests in the report's files."),
        "{text}"
    );
}
