//! Each fault of a server is counted under its own kind, on both engines.

use std::collections::VecDeque;
use std::fs;
use std::io::{Read, Write};
use std::net::TcpListener;
use std::thread;
use std::time::Duration;

use measure::time::{Time, sleep_until};
use rustix::process::Signal;
use serde_json::Value;

use super::child::{self, Folder, Server, assert_says, ringside};

const ENGINES: [&str; 2] = ["auto", "epoll"];

fn record(server: &Server, engine: &str, path: &str, more: &[&str]) -> (Option<i32>, Value) {
    child::record(engine, &server.at(path), more)
}

#[track_caller]
fn only_error(record: &Value, kind: &str) {
    let errors = record["errors"].as_object().unwrap();
    assert_eq!(errors.keys().collect::<Vec<_>>(), [kind], "{record}");
    assert!(errors[kind].as_u64().unwrap() > 0);
    assert_eq!(record["exchanges"]["completed"], 0);
    let failed = record["exchanges"]["failed"].as_u64().unwrap();
    assert!(failed > 0, "{record}");
}

#[test]
fn faults_are_told_apart() {
    let server = Server::start(&[]);
    for engine in ENGINES {
        for (path, kind) in [
            ("/reset", "reset"),
            ("/truncate", "early_close"),
            ("/garbage", "protocol_violation"),
            ("/status/503", "unexpected_status"),
        ] {
            let (code, record) = record(&server, engine, path, &["-d", "500ms"]);
            assert_eq!(code, Some(1), "{path}");
            only_error(&record, kind);
        }
    }
}

#[test]
fn an_answer_that_never_comes_is_a_timeout_and_a_censored_sample() {
    let server = Server::start(&[]);
    for engine in ENGINES {
        for path in ["/stall", "/slow/1s"] {
            let more = ["-d", "500ms", "--timeout", "100ms"];
            let (code, record) = record(&server, engine, path, &more);
            assert_eq!(code, Some(1), "{path}");
            only_error(&record, "timeout");
            let exchanges = &record["exchanges"];
            let lost =
                exchanges["failed"].as_u64().unwrap() + exchanges["unfinished"].as_u64().unwrap();
            assert_eq!(exchanges["censored"].as_u64().unwrap(), lost);
            // It was waited for 100 ms, so the response time is no shorter.
            assert!(
                record["response_time_us"]["max"].as_f64().unwrap() >= 99_000.0,
                "{record}"
            );
        }
    }
}

#[test]
fn a_server_that_dies_in_a_closed_loop_does_not_pass() {
    let server = Server::start(&[]);
    let url = server.at("/");
    let load = child::start(&mut child::command(&[
        "run",
        "-c",
        "4",
        "-d",
        "5s",
        "--threshold",
        "errors<1%",
        "--threshold",
        "availability>=95%",
        &url,
    ]));
    sleep_until(Time::now() + Duration::from_secs(3));
    drop(server); // It is killed.
    let ended = load.end();
    assert_eq!(ended.code, Some(99), "{}\n{}", ended.stdout, ended.stderr);
    for crossed in [
        "threshold errors<1% crossed",
        "threshold availability>=95% crossed",
    ] {
        assert_says(&ended.stderr, crossed);
    }
    assert_says(&ended.stdout, "\nThe server refused connections from ");
    assert_says(&ended.stdout, " to 5.0 s: the server was available ");
    assert_says(&ended.stdout, "failed attempts to connect, no answers for ");
}

#[test]
fn an_outage_in_an_open_loop_is_the_servers_and_no_advice_is_given() {
    // The sockets of a killed io_uring are closed some time after the process has ended.
    let server = Server::start(&["--engine", "epoll"]);
    let authority = server.authority().to_string();
    let url = server.at("/");
    let words = ["run", "-c4", "-R500", "-d8s", "--format", "json", &url];
    let load = child::start(&mut child::command(&words));
    sleep_until(Time::now() + Duration::from_secs(2));
    drop(server); // It is killed.
    sleep_until(Time::now() + Duration::from_secs(3));
    let again = Server::start(&["--addr", &authority, "--threads", "1"]);
    let ended = load.end();
    drop(again);
    let record: Value = serde_json::from_str(&ended.stdout).unwrap();
    let waits = &record["waits"];
    let us = |name: &str| waits[name].as_f64().unwrap();
    assert!(us("unreachable_us") > 0.5 * us("total_us"), "{waits}");
    let ours = us("back_off_us") + us("connecting_us");
    // Whoever has no CPU is late in reconnecting, too.
    assert!(ours < us("unreachable_us"), "{waits}");
    assert!(waits["counts"]["unreachable"].as_u64().unwrap() > 1_000);
    let gaps = record["availability"]["gaps"].as_array().unwrap();
    let away = |gap: &&Value| gap["unreachable"] == true && gap["outage"] == true;
    let gap = gaps.iter().find(away).unwrap();
    let length_s = gap["to_s"].as_f64().unwrap() - gap["from_s"].as_f64().unwrap();
    assert!(length_s > 2.0, "{gaps:?}");
    let warnings = record["warnings"].to_string();
    assert_says(&warnings, "because the server couldn't be reached");
    assert!(!warnings.contains("Add connections"), "{warnings}");
    // On a busy machine the server is back for a while before it is tried again, and that wait is
    // the generator's: from a twentieth on it is said.
    if ours < 0.04 * us("total_us") {
        let reason = record["generator"]["limited_reason"].as_str().unwrap();
        assert!(!reason.contains("waiting in the generator"), "{reason}");
    }
}

/// Starts `ringside`, and once it is at work stops the whole process for longer than the server has
/// to answer. Its record.
fn stopped_meanwhile(arguments: &[&str]) -> Value {
    let load = child::start(&mut child::command(arguments));
    sleep_until(Time::now() + Duration::from_secs(2));
    load.signal(Signal::STOP);
    sleep_until(Time::now() + Duration::from_millis(2_500));
    load.signal(Signal::CONT);
    let ended = load.end();
    let record: Value = serde_json::from_str(&ended.stdout)
        .unwrap_or_else(|error| panic!("{error}: {}\n{}", ended.stdout, ended.stderr));
    let stall_us = record["generator"]["longest_stall"]["length_us"].as_f64();
    assert!(stall_us.unwrap() > 2_300_000.0, "{arguments:?}: {record}");
    assert_says(
        &record["warnings"].to_string(),
        "the generator stalled for 2.",
    );
    record
}

#[test]
fn a_generator_that_is_stopped_does_not_blame_the_server() {
    let server = Server::start(&[]);
    let urls = [server.at("/delay/20ms"), server.at("/delay/300ms")];
    let of_engine = &|engine| {
        // More answers are there afterwards than a turn of the loop brings.
        let run = [
            "run",
            "-c300",
            "-d6s",
            "--timeout",
            "1s",
            "--format",
            "json",
        ];
        let record = stopped_meanwhile(&[&run[..], &["--engine", engine, &urls[0]]].concat());
        assert_eq!(record["errors"], Value::Object(Default::default()));
        assert_eq!(record["exchanges"]["unfinished"], 0);
        let gaps = record["availability"]["gaps"].as_array().unwrap();
        let outage = |gap: &Value| gap["outage"] == true;
        assert!(!gaps.iter().any(outage), "{gaps:?}");
        let hold = ["hold", "-c300", "-d6s", "--format", "json"];
        let heartbeats = ["--heartbeat", "500ms", "--heartbeat-timeout", "1s"];
        let all = [&hold[..], &heartbeats, &["--engine", engine, &urls[1]]];
        let record = stopped_meanwhile(&all.concat());
        assert_eq!(record["heartbeats"]["failed"], 0, "{record}");
        assert_eq!(record["connections"]["survived"], 300);
    };
    // Each mostly waits.
    thread::scope(|scope| {
        for engine in ENGINES {
            scope.spawn(move || of_engine(engine));
        }
    });
}

#[test]
fn an_answer_in_pieces_is_an_answer() {
    let server = Server::start(&[]);
    for engine in ENGINES {
        for path in ["/slow/1ms", "/chunked/100K", "/bytes/1M", "/delay/5ms"] {
            let (code, record) = record(&server, engine, path, &["-n", "4"]);
            assert_eq!(code, Some(0), "{path}: {record}");
            assert_eq!(record["exchanges"]["completed"], 4, "{path}");
            assert_eq!(
                record["errors"],
                Value::Object(Default::default()),
                "{path}"
            );
        }
    }
}

#[test]
fn a_fault_is_explained_where_a_person_reads() {
    let server = Server::start(&[]);
    let ended = ringside(&["run", "-c2", "-d500ms", &server.at("/truncate")]);
    assert_eq!(ended.code, Some(1));
    assert_says(
        &ended.stdout,
        "early_close: The server closed the connection before",
    );
    assert_says(&ended.stdout, "  Socket errors: connect 0, read ");
    assert_says(&ended.stderr, "no request got the expected answer");
}

/// A server that answers each request as soon as its head is there, reads no more of it, and keeps
/// its last hundred connections.
fn hasty() -> String {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let url = format!("http://{}/", listener.local_addr().unwrap());
    std::thread::spawn(move || {
        let mut kept = VecDeque::new();
        for mut stream in listener.incoming().flatten() {
            let (mut head, mut piece) = (Vec::<u8>::new(), [0; 1024]);
            while !head.windows(4).any(|four| four == b"\r\n\r\n") {
                match stream.read(&mut piece) {
                    Ok(length @ 1..) => head.extend(&piece[..length]),
                    _ => break,
                }
            }
            let _ = stream.write_all(b"HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok");
            kept.push_back(stream);
            if kept.len() > 100 {
                kept.pop_front();
            }
        }
    });
    url
}

#[test]
fn requests_that_are_answered_before_they_are_sent_leave_room_for_the_next_ones() {
    let folder = Folder::new();
    let file = folder.path("body");
    fs::write(&file, vec![b'x'; 12 << 20]).unwrap();
    let body = format!("@{file}");
    for engine in ENGINES {
        let url = hasty();
        let mut words = vec!["run", "-c1", "-n300", "--no-keepalive", "-m", "POST"];
        words.extend(["-b", &body, "--engine", engine, "--format", "json", &url]);
        let ended = ringside(&words);
        assert_eq!(ended.code, Some(0), "{engine}: {}", ended.stderr);
        let record: Value = serde_json::from_str(&ended.stdout).unwrap();
        let exchanges = &record["exchanges"];
        let count = |name: &str| exchanges[name].as_u64().unwrap();
        let ended_all = count("completed") + count("failed") + count("unfinished");
        assert_eq!(ended_all, 300, "{engine}: {exchanges}");
        assert!(count("completed") > 0, "{engine}: {exchanges}");
        // Each of them has a connection of its own.
        let opened = record["connections"]["opened"].as_u64().unwrap();
        assert!(opened >= count("completed"), "{engine}: {record}");
    }
}
