//! `run --replay`: what was logged once is sent again, in its order, once and at its times.

use std::fmt::Write;
use std::fs;

use serde_json::Value;

use super::child::{Ended, Folder, assert_says, ringside};
use super::targets::Diary;

/// So many requests in a log, ten in each second.
const LINES: u32 = 40;

/// A log whose requests differ, with one that is sent only if that's asked for, and two lines that
/// are no request.
fn log() -> String {
    let mut log = String::new();
    for line in 0..LINES {
        let second = line / 10;
        let method = if line == 7 { "POST" } else { "GET" };
        writeln!(
            log,
            "h - - [10/Oct/2000:13:55:{second:02} +0000] \"{method} /item/{line}?token=s3cret \
             HTTP/1.1\" 200 5 \"-\" \"curl/8\""
        )
        .unwrap();
    }
    log + "nonsense\nh - - [10/Oct/2000:13:55:09 +0000] \"\\x16\\x03\" 400 0\n"
}

fn run(diary: &Diary, file: &str, more: &[&str]) -> (Ended, Value) {
    let words = ["run", "--replay", file, "--format", "json"];
    let ended = ringside(&[&words[..], more, &[&diary.url]].concat());
    // On a busy machine figures may be void, but not what was sent.
    assert!(matches!(ended.code, Some(0 | 4)), "{}", ended.stderr);
    let record = serde_json::from_str(&ended.stdout).unwrap();
    (ended, record)
}

fn lines(diary: &Diary) -> Vec<String> {
    let asked = diary.in_order().into_iter();
    asked
        .map(|one| {
            one.line
                .replace(" HTTP/1.1", "")
                .replace("?token=s3cret", "")
        })
        .collect()
}

#[test]
fn a_log_is_sent_once_in_its_order_and_what_is_left_out_is_said() {
    let (diary, folder) = (Diary::open(), Folder::new());
    let file = folder.write("access.log", &log());
    let (ended, record) = run(&diary, &file, &["-c", "1", "--speed", "4"]);
    let sent: Vec<String> = (0..LINES)
        .filter(|line| *line != 7)
        .map(|line| format!("GET /item/{line}"))
        .collect();
    assert_eq!(lines(&diary), sent);
    let whole = sent.len() as u64;
    assert_eq!(record["exchanges"]["completed"], whole, "{record}");
    let schedule = &record["plan"]["schedule"];
    assert_eq!(schedule["kind"], "trace");
    assert_eq!(
        (&schedule["requests"], &schedule["speed"]),
        (&whole.into(), &4.0.into())
    );
    let left_out = serde_json::json!(
        {"unreadable": 2, "by_method": 1, "elsewhere": 0, "without_body": 0}
    );
    assert_eq!(schedule["left_out"], left_out);
    assert_says(
        &ended.stderr,
        "skipped 3 of 42 lines: 2 can't be parsed (first: ",
    );
    assert_says(
        &ended.stderr,
        "access.log:41: there's no time in brackets: nonsense",
    );
    assert_says(
        &ended.stderr,
        "1 use POST (send them with --replay-methods GET,HEAD,POST)",
    );
    assert!(!ended.stdout.contains("s3cret"), "{}", ended.stdout);
}

#[test]
fn several_workers_and_passes_send_every_request_as_often_as_asked() {
    let (diary, folder) = (Diary::open(), Folder::new());
    let file = folder.write("access.log", &log());
    let more = [
        "-t",
        "2",
        "-c",
        "4",
        "--speed",
        "20",
        "--replay-passes",
        "3",
        "--replay-methods",
        "all",
    ];
    let (_, record) = run(&diary, &file, &more);
    let mut sent = lines(&diary);
    sent.sort();
    let mut all: Vec<String> = (0..LINES)
        .flat_map(|line| {
            let method = if line == 7 { "POST" } else { "GET" };
            std::iter::repeat_n(format!("{method} /item/{line}"), 3)
        })
        .collect();
    all.sort();
    assert_eq!(sent, all);
    let posts = &record["steps"]["POST"];
    let counts = posts.as_object().map(|_| &posts["completed"]);
    let listed = record["steps"].as_array();
    let listed = listed.and_then(|all| all.iter().find(|step| step["name"] == "POST"));
    let completed = counts.or(listed.map(|step| &step["completed"]));
    assert_eq!(completed, Some(&3.into()), "{}", record["steps"]);
}

#[test]
fn a_har_file_is_sent_with_its_fields_but_for_those_that_let_somebody_in() {
    let (diary, folder) = (Diary::open(), Folder::new());
    let har = r#"{"log": {"entries": [{"startedDateTime": "2026-11-27T10:00:00Z", "request":
        {"method": "POST", "url": "https://shop.example/login",
         "headers": [{"name": "Cookie", "value": "s3cret"}, {"name": "Accept", "value": "a/b"}],
         "postData": {"mimeType": "text/plain", "text": "hello"}}}]}}"#;
    let file = folder.write("page.har", har);
    for (more, cookie) in [(&[][..], None), (&["--replay-secrets"][..], Some("s3cret"))] {
        let all = [&["--replay-methods", "POST"], more].concat();
        let (ended, _) = run(&diary, &file, &all);
        let asked = diary.in_order();
        assert_eq!(asked.len(), 1);
        assert_eq!(asked[0].line, "POST /login HTTP/1.1");
        assert_eq!(asked[0].body, "hello");
        let field = |name: &str| asked[0].fields.get(name).map(String::as_str);
        assert_eq!((field("accept"), field("cookie")), (Some("a/b"), cookie));
        assert!(!ended.stdout.contains("s3cret") && !ended.stderr.contains("s3cret"));
    }
}

#[test]
fn what_cannot_be_replayed_is_refused_before_anything_is_sent() {
    let (diary, folder) = (Diary::open(), Folder::new());
    let (good, other) = (
        folder.write("a.log", &log()),
        folder.write("b.log", "level=info\n"),
    );
    let (url, deep) = (diary.url.clone(), format!("{}/deep", diary.url));
    for (words, told) in [
        (
            vec!["--replay", &*other, &*url],
            "b.log:1: there's no time in brackets: level=info",
        ),
        (
            vec!["--replay", "nowhere.log", &*url],
            "can't read nowhere.log",
        ),
        (vec!["--replay", &*good, &*deep], "drop /deep from the URL"),
        (vec!["--replay", &*good], "required"),
        (
            vec!["--replay", &*good, "-R", "5", &*url],
            "cannot be used with",
        ),
        (
            vec!["--replay", &*good, "--warmup", "1s", &*url],
            "--warmup can't be combined",
        ),
        (vec!["--replay", &*good, "--speed", "0", &*url], "--speed"),
        (vec!["--speed", "2", &*url], "--replay"),
        (
            vec!["--replay", &*good, "--replay-methods", "PUT", &*url],
            "40 use GET, POST (send them with --replay-methods PUT,GET,POST)",
        ),
    ] {
        let ended = ringside(&[&["run"][..], &words].concat());
        assert_eq!(ended.code, Some(2), "{words:?}: {}", ended.stderr);
        let said = ended
            .stderr
            .split_whitespace()
            .collect::<Vec<_>>()
            .join(" ");
        assert!(said.contains(told), "{words:?}: {said}");
    }
    assert!(diary.in_order().is_empty());
    assert!(fs::exists(&good).unwrap());
}
