//! Figures that mean nothing are told apart from good and from bad ones: by what is said, and by
//! the exit code.

use std::time::Duration;

use measure::time::{Time, sleep_until};
use rustix::process::Signal;

use super::child::{Ended, PATIENCE, Running, Server, assert_says, command, ringside, start};
use super::hold::until_established;
use super::signals::counting_server;

/// What a text says of figures that are void.
const DISTRUST: &str = "Don't trust these figures";

/// How a program ended that was stopped for so long.
fn ended_after_a_stop(running: Running, seconds: f64) -> Ended {
    running.signal(Signal::STOP);
    sleep_until(Time::now() + Duration::from_secs_f64(seconds));
    running.signal(Signal::CONT);
    running.end()
}

#[test]
fn a_control_stands_beside_the_run_and_what_is_void_is_said_everywhere_or_nowhere() {
    let server = Server::start(&[]);
    let url = server.at("/");
    let words = ["run", "--control", "-R", "20", "-d", "3s", "-c", "4"];
    let ended = ringside(&[&words[..], &["--format", "json", &url]].concat());
    let record = ended.record();
    // The machine decides whether it is void; what is said must agree.
    let valid = record["valid"].as_bool().unwrap();
    let code = if valid { 0 } else { 4 };
    assert_eq!(ended.code, Some(code), "{record}");
    let void = record["void"].as_array().unwrap();
    let reason = record["generator"]["limited_reason"].as_str().unwrap();
    let warnings = record["warnings"].to_string();
    let said = [reason, &warnings].concat();
    let late = "the generator sent requests late, which moved";
    assert_eq!(said.contains(late), !void.is_empty(), "{record}");
    if !valid {
        assert_eq!(record["generator"]["limited"], true, "{record}");
    }
    let control = &record["control"];
    assert_eq!(control["offered_rate"], 20.0, "{control}");
    assert_eq!(control["failed"], 0, "{control}");
    for times in ["response_time_us", "service_time_us", "lateness_us"] {
        assert!(control[times]["max"].as_f64().unwrap() > 0.0, "{control}");
        assert_eq!(control[times]["count"], 60, "{control}");
    }

    let ended = ringside(&[&words[..], &[&url]].concat());
    let is_void = ended.stdout.contains(DISTRUST);
    let code = if is_void { 4 } else { 0 };
    assert_eq!(ended.code, Some(code), "{}", ended.stdout);
    assert_says(
        &ended.stdout,
        "Control: the same load against our own server",
    );
    assert_says(&ended.stdout, "/s, the control ");
    let lines: Vec<&str> = ended.stdout.lines().map(str::trim_start).collect();
    for name in ["response time", "service time", "lateness"] {
        let shown = |pair: &[&str]| pair[0].starts_with(name) && pair[1].starts_with("control ");
        assert!(lines.windows(2).any(shown), "{name}: {}", ended.stdout);
    }
}

#[test]
fn a_run_whose_generator_was_stopped_for_most_of_it_ends_with_4_though_its_thresholds_hold() {
    for format in ["json", "text"] {
        let (url, reached) = counting_server(20);
        let mut words = vec!["run", "-R100", "-c2", "-d4s", "--format", format];
        words.extend(["--threshold", "p50<1h", "--threshold", "errors<99%", &url]);
        let running = start(&mut command(&words));
        reached.recv_timeout(PATIENCE).expect("requests come");
        let ended = ended_after_a_stop(running, 3.5);
        assert_eq!(ended.code, Some(4), "{}\n{}", ended.stdout, ended.stderr);
        assert!(!ended.stderr.contains("crossed"), "{}", ended.stderr);
        if format == "text" {
            assert_says(&ended.stdout, DISTRUST);
            continue;
        }
        let record = ended.record();
        assert_eq!(record["valid"], false);
        assert_eq!(record["generator"]["limited"], true);
        let warnings = record["warnings"].to_string();
        assert_says(&warnings, "the generator was the limit");
    }
}

#[test]
fn a_run_that_nobody_answered_ends_with_1_and_its_figures_are_void() {
    let server = Server::start(&[]);
    let mut words = vec!["run", "-R20", "-c2", "-d500ms", "--timeout", "200ms"];
    let url = server.at("/stall");
    words.extend(["--format", "json", &url]);
    let ended = ringside(&words);
    assert_eq!(ended.code, Some(1), "{}\n{}", ended.stdout, ended.stderr);
    assert_says(&ended.stderr, "no request got the expected answer");
    let record = ended.record();
    assert_eq!(record["valid"], false);
    let warnings = record["warnings"].to_string();
    assert_says(
        &warnings,
        "no request succeeded, so there is nothing to measure",
    );
}

#[test]
fn a_hold_of_whose_heartbeats_nothing_is_known_ends_with_4() {
    let server = Server::start(&[]);
    let url = server.at("/health");
    // None is due in so short a time.
    let mut words = vec!["hold", "-c2", "-d300ms", "--heartbeat", "10m"];
    words.extend(["--threshold", "heartbeat_p99<1h"]);
    words.extend(["--threshold", "survival>=100%", "--format", "json", &url]);
    let ended = ringside(&words);
    assert_eq!(ended.code, Some(4), "{}", ended.stderr);
    assert_says(&ended.stderr, "threshold heartbeat_p99<1h not judged");
    assert_says(&ended.stderr, "no heartbeat was due");
    assert_says(&ended.stderr, "threshold survival>=100% holds");
    assert_eq!(ended.record()["heartbeats"]["due"], 0);
}

#[test]
fn a_hold_that_was_stopped_itself_is_not_held_against_the_server() {
    let server = Server::start(&[]);
    let url = server.at("/delay/300ms");
    let mut words = vec!["hold", "-c20", "-d5s", "--heartbeat", "500ms"];
    words.extend(["--heartbeat-timeout", "30s", "--format", "json"]);
    words.extend(["--threshold", "heartbeat_p90<1500ms", &url]);
    let running = start(&mut command(&words));
    until_established(server.authority(), 20);
    // Some heartbeats are under way at any time from now on.
    sleep_until(Time::now() + Duration::from_secs(1));
    let ended = ended_after_a_stop(running, 3.0);
    assert_eq!(ended.code, Some(4), "{}", ended.stderr);
    assert_says(&ended.stderr, "threshold heartbeat_p90<1500ms not judged");
    assert_says(&ended.stderr, "the generator stalled for ");
    assert_eq!(ended.record()["connections"]["survived"], 20);
}
