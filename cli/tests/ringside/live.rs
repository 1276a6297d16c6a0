//! `--live` in a real terminal: what's drawn, how it's ended, and what's left of it.

use std::fs;

use rustix::process::Signal;
use serde_json::Value;

use super::child::{Folder, Server, assert_says, comparison_of_ours, ringside, until};
use super::pty::InTerminal;

const SMALL: (u16, u16) = (40, 10);
const LARGE: (u16, u16) = (120, 40);

/// A corner of a chart.
const CORNER: &str = "┌";

#[test]
fn a_run_is_drawn_in_every_size_and_q_ends_it_with_a_whole_report() {
    let server = Server::start(&[]);
    let url = server.at("/");
    for size in [SMALL, LARGE] {
        let words = ["run", "-R", "200", "-c", "4", "-d", "5m", "--live", &url];
        let mut run = InTerminal::start(size, &words);
        run.until_it_shows(&["answers ", "/s due", "p99 ", "errors ", "q: stop"]);
        assert_eq!(run.screen().contains(CORNER), size == LARGE);
        run.press("q");
        let ended = run.end();
        assert_eq!(ended.code, Some(130), "{}", ended.said);
        assert_says(&ended.said, "Requests/sec:");
    }
}

#[test]
fn another_size_is_drawn_anew_while_the_run_goes_on() {
    let server = Server::start(&[]);
    let url = server.at("/");
    let words = ["run", "-R", "200", "-c", "4", "-d", "5m", "--live", &url];
    let mut run = InTerminal::start(LARGE, &words);
    run.until_it_shows(&["response time", CORNER, "p99 "]);
    run.resize(SMALL);
    until("the charts are gone", || !run.screen().contains(CORNER));
    run.until_it_shows(&["p99 ", "errors "]);
    run.resize(LARGE);
    run.until_it_shows(&["response time", CORNER]);
    run.press("\x03");
    let ended = run.end();
    assert_eq!(ended.code, Some(130), "{}", ended.said);
    assert_says(&ended.said, "Requests/sec:");
}

#[test]
fn sigterm_gives_the_terminal_back_and_the_report_is_whole() {
    let server = Server::start(&[]);
    let url = server.at("/");
    let words = ["run", "-R", "200", "-c", "4", "-d", "5m", "--live", &url];
    let run = InTerminal::start(LARGE, &words);
    run.until_it_shows(&["p99 "]);
    run.signal(Signal::TERM);
    let ended = run.end();
    assert_eq!(ended.code, Some(143), "{}", ended.said);
    assert_says(&ended.said, "Requests/sec:");
}

#[test]
fn a_terminal_that_nobody_reads_any_more_keeps_no_record_from_being_written() {
    let (server, folder) = (Server::start(&[]), Folder::new());
    let (url, file) = (server.at("/"), folder.path("run.json"));
    let words = [
        "run", "-R", "200", "-c", "4", "-d", "5m", "--live", "--format", "json", "-o", &file, &url,
    ];
    let run = InTerminal::start(LARGE, &words);
    run.until_it_shows(&["p99 "]);
    let unread = run.leave_unread();
    run.signal(Signal::TERM);
    until("the record is there", || {
        fs::read(&file).is_ok_and(|text| serde_json::from_slice::<Value>(&text).is_ok())
    });
    drop(unread);
    assert_eq!(run.code(), Some(143));
}

#[test]
fn a_hold_is_drawn_and_q_ends_it_with_a_whole_report() {
    let server = Server::start(&[]);
    let url = server.at("/");
    for size in [SMALL, LARGE] {
        let words = ["hold", "-c", "20", "-d", "5m", "--heartbeat", "200ms"];
        let mut hold = InTerminal::start(size, &[&words[..], &["--live", &url]].concat());
        hold.until_it_shows(&["20 of 20, 0 lost", "answered", "p99 ", "losses    none"]);
        assert_eq!(hold.screen().contains(CORNER), size == LARGE);
        hold.press("q");
        let ended = hold.end();
        assert_eq!(ended.code, Some(130), "{}", ended.said);
        assert_says(&ended.said, "heartbeats");
    }
}

/// A comparison of our server with itself that takes as long as anybody wants.
pub(super) fn endless(folder: &Folder) -> String {
    let rest = "rounds = 900\n[workload]\npath = \"/\"\nconnections = 2\nwindow = \"50ms\"\n\
                settle = \"10ms\"\nwarm_up = \"10ms\"\n";
    let file = comparison_of_ours(folder, "", rest);
    let subject = fs::read_to_string(folder.path("subjects/ours/subject.toml")).unwrap();
    fs::create_dir_all(folder.path("subjects/theirs")).unwrap();
    fs::write(folder.path("subjects/theirs/subject.toml"), subject).unwrap();
    let text = fs::read_to_string(&file).unwrap();
    fs::write(&file, text.replace("[\"ours\"]", "[\"ours\", \"theirs\"]")).unwrap();
    file
}

#[test]
fn a_comparison_fills_round_by_round_and_q_ends_it_with_a_whole_report() {
    for (size, name) in [(SMALL, "small"), (LARGE, "large")] {
        let folder = Folder::new();
        let (file, out) = (endless(&folder), folder.path(name));
        let mut compare = InTerminal::start(size, &["compare", &file, "-o", &out, "--live"]);
        compare.until_it_shows(&["ours", "theirs", "4/900", "preliminary", "q: stop"]);
        compare.press("q");
        let ended = compare.end();
        assert_eq!(ended.code, Some(130), "{}", ended.said);
        assert_says(&ended.said, "records and reports");
        let report = fs::read_to_string(format!("{out}/report.json")).unwrap();
        let report: Value = serde_json::from_str(&report).unwrap();
        for row in 0..2 {
            let figures = &report["subjects"][row]["figures"];
            assert!(figures["rounds"].as_u64() >= Some(3), "{figures}");
        }
    }
}

#[test]
fn a_search_shows_what_held_and_q_ends_it_with_what_was_found() {
    let server = Server::start(&[]);
    let url = server.at("/limited/3000");
    for size in [SMALL, LARGE] {
        let folder = Folder::new();
        let out = folder.path("out");
        let words = ["capacity", &url, "--from", "100", "-d", "300ms", "-o", &out];
        let more = ["--slo", "errors<5%", "--live"];
        let mut search = InTerminal::start(size, &[&words[..], &more].concat());
        search.until_it_shows(&["held at ", "held", "p99", "now"]);
        search.press("q");
        let ended = search.end();
        assert_eq!(ended.code, Some(130), "{}", ended.said);
        assert_says(&ended.said, "records and reports");
    }
}

#[test]
fn without_a_terminal_nothing_is_drawn() {
    let server = Server::start(&[]);
    let url = server.at("/");
    for words in [
        &["run", "-d", "300ms"][..],
        &["hold", "-c", "3", "-d", "300ms", "--heartbeat", "100ms"],
    ] {
        let ended = ringside(&[words, &["--live", &*url]].concat());
        assert!(matches!(ended.code, Some(0 | 4)), "{}", ended.stderr);
        assert!(!ended.stderr.contains('\x1b'), "{:?}", ended.stderr);
    }
}
