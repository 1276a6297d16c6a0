//! Events inside answers: `--events`, against our own server.

use std::fs;

use serde_json::Value;

use super::child::{Folder, Server, assert_says, ringside};

#[test]
fn the_report_says_when_events_came_and_conditions_judge_it() {
    let server = Server::start(&[]);
    let url = server.at("/events/20/2ms?first=10ms");
    for more in [&[][..], &["--http2"]] {
        let words = ["run", "-n40", "-c4", "--events", &url];
        let run = |rule: &str| ringside(&[&words[..], more, &["--threshold", rule]].concat());
        let ended = run("first_event_min>=10ms");
        // A busy machine's figures may be void, and then so is the threshold.
        assert!(matches!(ended.code, Some(0 | 4)), "{ended:?}");
        for row in [
            "first byte ",
            "first event ",
            "event gap ",
            "time per event ",
        ] {
            assert_says(&ended.stdout, &format!("\n  {row}"));
        }
        assert_says(&ended.stdout, "\nStreams: 40 with 800 events (");
        let ended = run("first_event_median<10ms");
        assert!(matches!(ended.code, Some(99 | 4)), "{ended:?}");
    }
}

#[test]
fn a_record_and_its_intervals_have_what_was_seen() {
    let server = Server::start(&[]);
    let folder = Folder::new();
    let lines = folder.path("intervals.ndjson");
    let url = server.at("/v1/chat/completions?first=5ms&every=1ms");
    let words = [
        "run",
        "-n30",
        "-c3",
        "--events",
        "-b",
        r#"{"stream":true,"max_tokens":10}"#,
        "--format",
        "json",
        "--intervals",
        &lines,
        &url,
    ];
    let ended = ringside(&words);
    assert_eq!(ended.code, Some(0), "{ended:?}");
    let record: Value = serde_json::from_str(&ended.stdout).expect("a record");
    let streams = &record["streams"];
    assert_eq!(record["plan"]["events"], true);
    assert_eq!(
        (&streams["done"], &streams["events"]),
        (&30.into(), &300.into())
    );
    assert_eq!(streams["event_gap_us"]["count"], 270);
    assert!(streams["first_event_us"]["min"].as_f64() >= Some(5_000.0));
    let text = fs::read_to_string(&lines).expect("lines");
    let intervals = text
        .lines()
        .map(|line| serde_json::from_str::<Value>(line).expect("JSON"));
    let events = intervals.map(|one| one["streams"]["events"].as_u64().unwrap_or(0));
    assert_eq!(events.sum::<u64>(), 300);
}

#[test]
fn a_condition_on_events_that_nobody_looks_for_is_refused_with_what_to_add() {
    for words in [
        &[
            "run",
            "--threshold",
            "first_event_p99<1s",
            "http://127.0.0.1:1/",
        ][..],
        &[
            "capacity",
            "--slo",
            "event_gap_p99<1s",
            "http://127.0.0.1:1/",
        ],
    ] {
        let ended = ringside(words);
        assert_eq!(ended.code, Some(2), "{ended:?}");
        assert_says(&ended.stderr, "add --events");
    }
    let ended = ringside(&["run", "--events", "ws://127.0.0.1:1/"]);
    assert_eq!(ended.code, Some(2), "{ended:?}");
    assert_says(&ended.stderr, "--events applies to HTTP/1.1 and HTTP/2");
}

/// Subjects of ours under `folder`, and a comparison of them by the events in what they answer.
fn compared(folder: &Folder, rows: &[(&str, &str)], workload: &str) -> String {
    let body = |events: u32| -> String { (0..events).map(|n| format!("data: {n}\n\n")).collect() };
    let mut subject = String::from(
        "kind = \"server\"\n[start]\ncommand = [\"{ringside}\", \"serve\", \"--addr\", \
         \"127.0.0.1:{port}\", \"--threads\", \"1\", \"--cpus\", \"{cpus}\"]\n\
         [ready]\npath = \"/health\"\n",
    );
    let mut text = String::from("rounds = 5\naa = false\nceiling = false\n");
    for (name, path) in rows {
        let row = format!("[[rows]]\nname = {name:?}\nsubject = \"ours\"\n");
        text.push_str(&format!("{row}workload = {{ path = {path:?} }}\n"));
        let answer = format!(
            "[[answer]]\npath = {path:?}\nchunked = true\nbody = {:?}\n",
            body(10)
        );
        if !subject.contains(&answer) {
            subject.push_str(&answer);
        }
    }
    fs::create_dir_all(folder.path("subjects/ours")).unwrap();
    folder.write("subjects/ours/subject.toml", &subject);
    text.push_str("[workload]\nevents = true\nwarm_up = \"50ms\"\nsettle = \"150ms\"\n");
    folder.write("streams.toml", &format!("{text}{workload}"))
}

#[test]
fn who_is_slower_only_to_begin_or_only_between_events_is_told_and_who_is_neither_is_not() {
    let folder = Folder::new();
    let steady = "/events/10/4ms?first=20ms";
    let rows = [
        ("steady", steady),
        ("equal", steady),
        ("late", "/events/10/4ms?first=60ms"),
        ("slow", "/events/10/12ms?first=20ms"),
    ];
    let load = "path = \"/\"\nconnections = 30\nwindow = \"300ms\"\n[judge]\n\
                figures = [\"first_event_p50\", \"event_gap_p50\", \"event_rate\"]\n";
    let file = compared(&folder, &rows, load);
    let out = folder.path("out");
    let ended = ringside(&["compare", &file, "-o", &out]);
    assert_eq!(ended.code, Some(0), "{}\n{}", ended.stdout, ended.stderr);
    let text = fs::read_to_string(format!("{out}/report.json")).unwrap();
    let report: Value = serde_json::from_str(&text).unwrap();
    let judged = |row: usize, metric: &str| {
        let further = report["subjects"][row]["further"].as_array().unwrap();
        let one = further.iter().find(|one| one["metric"] == metric);
        one.unwrap_or_else(|| panic!("{metric}: {further:?}"))
            .clone()
    };
    let (first, gap) = ("first_event_p50", "event_gap_p50");
    for (row, same, other) in [
        (1, &[first, gap][..], None),
        (2, &[gap], Some(first)),
        (3, &[first], Some(gap)),
    ] {
        for metric in same {
            let judged = judged(row, metric);
            let kind = judged["verdict"]["kind"].as_str().unwrap();
            assert!(!["higher", "lower"].contains(&kind), "{judged}");
        }
        let Some(judged) = other.map(|metric| judged(row, metric)) else {
            continue;
        };
        // On a busy machine that may be the generator's doing, and then it's said.
        match judged["verdict"]["kind"].as_str().unwrap() {
            "higher" => assert!(judged["ratio"]["low"].as_f64() > Some(1.5), "{judged}"),
            kind => assert_eq!(kind, "undecided", "{judged}"),
        }
        assert!(judged["ratio"]["centre"].as_f64() > Some(1.5), "{judged}");
    }
    assert_says(&ended.stdout, "1st event p50");
    for (name, part) in [
        ("report.md", "| first event p50 |"),
        ("report.html", "first event p50"),
        ("report.csv", ",first_event_p50_us,"),
        (
            "smaller-is-better.json",
            "late: median time to the first event",
        ),
        ("bigger-is-better.json", "late: events/s"),
        ("junit.xml", "median gap between events"),
    ] {
        let text = fs::read_to_string(format!("{out}/{name}")).unwrap();
        assert_says(&text, part);
    }
}

#[test]
fn a_comparison_by_events_that_nobody_looks_for_is_refused_with_what_to_add() {
    let folder = Folder::new();
    let file = compared(&folder, &[("a", "/events/10/0"), ("b", "/events/10/0")], "");
    let text = fs::read_to_string(&file)
        .unwrap()
        .replace("events = true\n", "");
    let judge = format!("{text}[judge]\nfigures = [\"event_gap_p99\"]\n");
    for (text, part) in [
        (judge.clone(), "add it"),
        (judge.replace("p99", "p98"), "did you mean"),
    ] {
        let ended = ringside(&["compare", &folder.write("none.toml", &text)]);
        assert_eq!(ended.code, Some(2), "{ended:?}");
        assert_says(&ended.stderr, part);
    }
}
