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
