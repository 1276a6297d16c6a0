//! Long connections against servers that stay, die, come back, close and refuse.

use std::fs;
use std::io::{Read, Write};
use std::net::TcpListener;
use std::sync::mpsc::{Receiver, channel};
use std::time::Duration;

use rustix::process::Signal;
use serde_json::Value;

use super::child::{Folder, PATIENCE, Server, assert_says, command, ringside, start};
use super::ports::free_port;
use measure::time::Time;

/// Waits until so many connections to `authority` stand, by what the kernel says of them.
pub(super) fn until_established(authority: &str, wanted: usize) {
    let port: u16 = authority.rsplit(':').next().unwrap().parse().unwrap();
    // Of both ends of a connection the client's names the server as its peer; 01 is ESTABLISHED.
    let peer = format!(":{port:04X} 01 ");
    let deadline = Time::now() + PATIENCE;
    loop {
        let table = fs::read_to_string("/proc/net/tcp").unwrap();
        let count = table.lines().filter(|line| line.contains(&peer)).count();
        if count >= wanted {
            return;
        }
        assert!(
            Time::now() < deadline,
            "{count} of {wanted} stand:\n{table}"
        );
    }
}

#[test]
fn a_server_that_stays_loses_nobody_whatever_is_spoken() {
    let (plain, secure) = (Server::start(&[]), Server::start(&["--tls"]));
    let (plain, secure) = (plain.authority(), secure.authority());
    let secure = secure.strip_prefix("https://").unwrap_or(secure);
    for (flags, url, pongs) in [
        ("", format!("http://{plain}/health"), false),
        ("--engine epoll", format!("http://{plain}/health"), false),
        ("-m HEAD", format!("http://{plain}/bytes/1000"), false),
        ("--http2", format!("http://{plain}/"), true),
        ("", format!("ws://{plain}/ws"), true),
        ("", format!("grpc://{plain}/"), false),
        ("-k", format!("https://{secure}/health"), false),
        ("-k --http2", format!("https://{secure}/"), true),
        ("-k", format!("wss://{secure}/ws"), true),
        ("-k", format!("grpcs://{secure}/ringside.Echo"), false),
    ] {
        let mut words = vec![
            "hold",
            "-c12",
            "-d1s",
            "--heartbeat",
            "200ms",
            "--format",
            "json",
        ];
        words.extend(flags.split_whitespace());
        words.extend([
            "--threshold",
            "survival>=100%",
            "--threshold",
            "write_failures<=0%",
        ]);
        words.extend([
            "--threshold",
            "reconnects<=0/h",
            "--threshold",
            "heartbeat_p90<10s",
        ]);
        words.push(&url);
        let ended = ringside(&words);
        assert_eq!(ended.code, Some(0), "{words:?}: {}", ended.stderr);
        assert_says(&ended.stderr, "threshold survival>=100% holds");
        let record = ended.record();
        assert_eq!(record["connections"]["survived"], 12, "{url}");
        assert_eq!(record["connections"]["standing"], 12, "{url}");
        let answered = record["heartbeats"]["answered"].as_u64().unwrap();
        assert!(answered >= 36, "{url}: {answered}");
        assert_eq!(record["status"].get("200").is_none(), pongs, "{url}");
        assert!(record["heartbeat_time_us"]["p50"].as_f64().unwrap() > 0.0);
        assert!(record["memory"]["bytes_per_connection"].as_f64().unwrap() > 0.0);
    }
}

#[test]
fn a_server_that_is_killed_and_comes_back_gets_everybody_back() {
    // The sockets of a killed io_uring are closed some time after the process has ended.
    let server = Server::start(&["--engine", "epoll"]);
    let authority = server.authority().to_string();
    let url = server.at("/health");
    let words = [
        "hold",
        "-c20",
        "-d10m",
        "--heartbeat",
        "1s",
        "--format",
        "json",
        &url,
    ];
    let running = start(&mut command(&words));
    until_established(&authority, 20);
    drop(server);
    let again = Server::start(&["--addr", &authority, "--threads", "1"]);
    until_established(&authority, 20);
    running.signal(Signal::INT);
    let ended = running.end();
    drop(again);
    assert_eq!(ended.code, Some(130), "{}", ended.stderr);
    let record = ended.record();
    assert_eq!(record["ended_by"], "interrupt");
    let connections = &record["connections"];
    assert_eq!(connections["lost"], 20, "{connections}");
    assert_eq!(connections["reconnects"], 20, "{connections}");
    assert_eq!(connections["standing"], 20, "{connections}");
    assert_eq!(connections["given_up"], 0, "{connections}");
    let heartbeats = &record["heartbeats"];
    let count = |name: &str| heartbeats[name].as_u64().unwrap();
    assert_eq!(
        count("due"),
        count("sent") + count("skipped"),
        "{heartbeats}"
    );
    // The first wait is at least 75 ms.
    assert!(record["re_establish_time_us"]["min"].as_f64().unwrap() >= 75_000.0);
    let folder = Folder::new();
    let file = folder.path("hold.json");
    fs::write(&file, &ended.stdout).unwrap();
    let told = ringside(&["report", &file]).stdout;
    assert_says(
        &told,
        "include the back-off (100.00ms..30.00s) and the wait for a turn",
    );
}

#[test]
fn sigterm_ends_a_hold_with_a_report_and_143() {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let url = format!("http://{}/", listener.local_addr().unwrap());
    let (beat, beats) = std::sync::mpsc::channel();
    std::thread::spawn(move || {
        for mut stream in listener.incoming().flatten() {
            let beat = beat.clone();
            std::thread::spawn(move || {
                while stream.read(&mut [0; 1024]).is_ok_and(|length| length > 0) {
                    let _ = stream.write_all(b"HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n");
                    let _ = beat.send(());
                }
            });
        }
    });
    let words = ["hold", "-c5", "-t1", "-d10m", "--heartbeat", "50ms", &url];
    let running = start(&mut command(&words));
    // Of fifteen heartbeats one is the third on its connection, and the hold has begun by then.
    for _ in 0..15 {
        beats.recv_timeout(PATIENCE).unwrap();
    }
    running.signal(Signal::TERM);
    let ended = running.end();
    assert_eq!(ended.code, Some(143), "{}", ended.stderr);
    // To the hundredth, and not what was asked for: with the opening it is the time until then.
    let (_, held) = ended.stdout.split_once("Held 5 connections for ").unwrap();
    let (held, _) = held.split_once(" @ ").unwrap();
    assert!(held.contains('.'), "{held}");
    assert_says(&ended.stdout, "\nInterrupted by SIGTERM after ");
}

#[test]
fn a_hold_that_is_interrupted_while_it_opens_says_that_it_held_nothing() {
    let server = Server::start(&[]);
    let url = server.at("/health");
    let words = "hold -c 1000 -t 3 --open-rate 20 -d 10m --format";
    for format in ["json", "text"] {
        let mut words: Vec<&str> = words.split(' ').collect();
        words.extend([format, &url]);
        let running = start(&mut command(&words));
        until_established(server.authority(), 9);
        running.signal(Signal::INT);
        let ended = running.end();
        assert_eq!(ended.code, Some(130), "{}", ended.stderr);
        let said = "nothing was held: the run was interrupted while connections were still being \
                    opened";
        if format == "text" {
            assert_says(&ended.stdout, "Held nothing @ ");
            assert_says(&ended.stdout, "\nInterrupted after ");
            assert!(!ended.stdout.contains("never opened"), "{}", ended.stdout);
            assert_says(&ended.stdout, said);
            assert_says(&ended.stdout, "survival        -");
            continue;
        }
        assert_says(&ended.stderr, said);
        let record = ended.record();
        assert_eq!(record["valid"], false);
        assert_eq!(record["duration_s"], 0.0);
        assert_eq!(record["connections"]["survival"], Value::Null);
        assert_eq!(record["connections"]["survived"], 0);
        // The kernel knows of nine; not all may have been told of yet.
        assert!(record["connections"]["standing"].as_u64().unwrap() > 0);
    }
}

#[test]
fn a_server_that_closes_idle_connections_is_given_up_in_the_end() {
    let server = Server::start(&["--idle-timeout", "100ms"]);
    let url = server.at("/health");
    let ended = ringside(&[
        "hold",
        "-c5",
        "-d2s",
        "--heartbeat",
        "10m",
        "--retries",
        "2",
        "--back-off",
        "10ms..20ms",
        "--threshold",
        "survival>=99.5%",
        "--threshold",
        "given_up<=5",
        "--format",
        "json",
        &url,
    ]);
    assert_eq!(ended.code, Some(99), "{}", ended.stderr);
    assert_says(
        &ended.stderr,
        "threshold survival>=99.5% crossed: measured 0.000%",
    );
    assert_says(&ended.stderr, "threshold given_up<=5 holds: measured 5");
    let record = ended.record();
    // The first loss and two more after as many retries.
    assert_eq!(record["losses"]["idle_close"], 15, "{}", record["losses"]);
    assert_eq!(record["connections"]["reconnects"], 10);
    assert_eq!(record["heartbeats"]["sent"], 0);
    assert_says(&ended.stdout, "given up after 2 consecutive retries");
}

#[test]
fn the_code_with_which_a_server_closes_is_told() {
    let server = Server::start(&["--idle-timeout", "100ms"]);
    let url = format!("ws://{}/ws", server.authority());
    let words = "hold -c5 -d2s --heartbeat 10m --retries 2 --back-off 10ms..20ms --format";
    let hold = |format: &str| {
        let mut words: Vec<&str> = words.split(' ').collect();
        words.extend([format, url.as_str()]);
        ringside(&words)
    };
    let ended = hold("json");
    let record = ended.record();
    assert_eq!(record["losses"]["idle_close"], 15, "{}", record["losses"]);
    assert_eq!(record["close_codes"], serde_json::json!({ "1001": 15 }));
    let said = "\nClosed by the server: 15 with 1001 (going away)\n";
    assert_says(&hold("text").stdout, said);
}

/// A server that answers two requests on each connection and then says no more, and word of each
/// request that comes.
fn twice_polite() -> (String, Receiver<()>) {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let url = format!("http://{}/", listener.local_addr().unwrap());
    let (beat, beats) = channel();
    std::thread::spawn(move || {
        for mut stream in listener.incoming().flatten() {
            let beat = beat.clone();
            std::thread::spawn(move || {
                let mut answers = 2;
                while stream.read(&mut [0; 1024]).is_ok_and(|length| length > 0) {
                    if answers > 0 {
                        answers -= 1;
                        let _ = stream.write_all(b"HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n");
                    }
                    let _ = beat.send(());
                }
            });
        }
    });
    (url, beats)
}

/// The record of a hold of a second that is interrupted when its server has heard nothing more for
/// `silence`.
fn interrupted_after(silence: Duration) -> Value {
    let (url, beats) = twice_polite();
    let words = "hold -c3 -t1 -d1s --heartbeat 100ms --heartbeat-timeout 10m --format json";
    let mut words: Vec<&str> = words.split(' ').collect();
    words.push(&url);
    let running = start(&mut command(&words));
    // Three heartbeats on each connection; the look before it may have been another.
    for _ in 0..9 {
        beats.recv_timeout(PATIENCE).unwrap();
    }
    while beats.recv_timeout(silence).is_ok() {}
    running.signal(Signal::INT);
    let ended = running.end();
    assert_eq!(ended.code, Some(130), "{}", ended.stderr);
    ended.record()
}

#[test]
fn sigint_while_the_last_heartbeats_are_awaited_leaves_a_whole_record() {
    // However long it takes this machine to come to the end of the second.
    let silences = [2, 4, 16, 60].map(Duration::from_secs);
    let mut held = silences.into_iter().map(interrupted_after);
    let is_whole = |record: &Value| record["duration_s"].as_f64().unwrap() >= 1.0;
    let whole = held.find(is_whole);
    let record = whole.expect("a hold that came to its end");
    assert_eq!(record["ended_by"], "interrupt");
    assert_eq!(record["valid"], true, "{}", record["warnings"]);
    let beats = &record["heartbeats"];
    let counts = ["sent", "answered", "failed", "unfinished"].map(|name| &beats[name]);
    assert_eq!(counts, [9, 6, 0, 3], "{beats}");
    let connections = &record["connections"];
    assert_eq!(
        (&connections["lost"], &connections["survived"]),
        (&0.into(), &0.into())
    );
    assert_eq!(connections["standing"], 3);
    let warnings = record["warnings"].to_string();
    assert_says(&warnings, "3 heartbeats were cut off by the interrupt");
}

#[test]
fn a_server_that_never_answers_loses_each_connection_after_the_timeout() {
    let server = Server::start(&[]);
    let ended = ringside(&[
        "hold",
        "-c5",
        "-d1s",
        "--heartbeat",
        "300ms",
        "--heartbeat-timeout",
        "200ms",
        "--format",
        "json",
        &server.at("/stall"),
    ]);
    assert_eq!(ended.code, Some(1), "{}", ended.stderr);
    let record = ended.record();
    assert_eq!(record["connections"]["survived"], 0);
    assert!(record["losses"]["timeout"].as_u64().unwrap() >= 5);
    assert_eq!(record["heartbeats"]["failure_share"], 1.0);
}

#[test]
fn a_refused_upgrade_is_said_before_anything_is_held() {
    let server = Server::start(&[]);
    let url = format!("ws://{}/health", server.authority());
    let ended = ringside(&["hold", "-c3", "-d1s", &url]);
    assert_eq!(ended.code, Some(1), "{}", ended.stderr);
    assert_says(
        &ended.stderr,
        "refused the WebSocket upgrade with status 200",
    );
}

#[test]
fn nobody_there_is_said_before_anything_is_held() {
    let url = format!("http://127.0.0.1:{}/", free_port());
    let ended = ringside(&["hold", "-c5", "-d1s", &url]);
    assert_eq!(ended.code, Some(1));
    assert_says(&ended.stderr, "nothing is listening there");
}

#[test]
fn wrong_use_is_refused_with_a_way_out() {
    for (words, part) in [
        ("--threshold p99<1s http://localhost/", "survival>=99.5%"),
        ("--back-off never http://localhost/", "100ms..30s"),
        ("-c 0 http://localhost/", "out of range"),
        ("--http2 grpc://localhost/", "already sets the protocol"),
        ("-o / http://localhost/", "is a directory"),
    ] {
        let words: Vec<&str> = std::iter::once("hold").chain(words.split(' ')).collect();
        let ended = ringside(&words);
        assert_eq!(ended.code, Some(2), "{words:?}: {}", ended.stderr);
        assert_says(&ended.stderr, part);
    }
}

#[test]
fn a_report_names_every_figure_and_the_rows_are_there_as_csv() {
    let server = Server::start(&[]);
    let url = server.at("/health");
    let words = ["hold", "-c4", "-d2s", "--heartbeat", "500ms"];
    let ended = ringside(&[&words[..], &[&url]].concat());
    assert_eq!(ended.code, Some(0), "{}", ended.stderr);
    for part in [
        "Held 4 connections for 2s",
        "an HTTP/1.1 request every 500.00ms",
        "survival        100.000 %",
        "4 of 4 connections were open when the hold began and never lost",
        "reconnects      0.000 /h",
        "write failures  0.000 %",
        "heartbeat ",
        "set-up ",
        "Memory: from ",
        " with 4 connections, too few to say what each takes",
    ] {
        assert_says(&ended.stdout, part);
    }
    let ended = ringside(&[&words[..], &["--format", "csv", &url]].concat());
    let mut lines = ended.stdout.lines();
    assert!(lines.next().unwrap().starts_with("at_s,seconds,standing,"));
    assert!(lines.all(|line| line.split(',').count() == 13));
}

#[test]
fn the_report_of_a_hold_is_made_again_of_its_record() {
    let server = Server::start(&[]);
    let folder = Folder::new();
    let (file, url) = (folder.path("hold.json"), server.at("/health"));
    let words = ["hold", "-c3", "-d1s", "--heartbeat", "200ms"];
    let kept = ["--format", "json", "-o", &file, &url];
    let ended = ringside(&[&words[..], &kept].concat());
    assert_eq!(ended.code, Some(0), "{}", ended.stderr);
    let ended = ringside(&["report", &file]);
    assert_eq!(ended.code, Some(0), "{}", ended.stderr);
    assert_says(&ended.stdout, "Held 3 connections for 1s @ ");
    assert_says(&ended.stderr, "hold.html");
    let page = fs::read_to_string(folder.path("hold.html")).unwrap();
    assert_says(&page, "All 3 survived");
    let json = ringside(&["report", &file, "--format", "json"]).stdout;
    assert_eq!(json, fs::read_to_string(&file).unwrap());
    let csv = ringside(&["report", &file, "--format", "csv"]).stdout;
    assert!(csv.starts_with("at_s,seconds,standing,"), "{csv}");
    let markdown = ringside(&["report", &file, "--format", "markdown"]).stdout;
    assert_says(&markdown, "| | measured | |");
    let junit = ringside(&["report", &file, "--format", "junit"]).stdout;
    assert_says(&junit, "<testsuites name=\"ringside hold\"");
    let refused = ringside(&["report", &file, &file]);
    assert_eq!(refused.code, Some(2), "{}", refused.stderr);
    assert_says(&refused.stderr, "give it by itself");
}

#[test]
fn the_report_of_a_run_is_made_again_of_its_record() {
    let server = Server::start(&[]);
    let folder = Folder::new();
    let (file, url) = (folder.path("run.json"), server.at("/"));
    let words = [
        "run", "-c1", "-d100ms", "--format", "json", "-o", &file, &url,
    ];
    ringside(&words);
    let ended = ringside(&["report", &file]);
    assert_eq!(ended.code, Some(0), "{}", ended.stderr);
    assert_says(&ended.stdout, "Requests/sec:");
    assert_says(&ended.stderr, "run.html");
    let page = fs::read_to_string(folder.path("run.html")).unwrap();
    assert_says(&page, "Over time");
    let json = ringside(&["report", &file, "--format", "json"]).stdout;
    assert_eq!(json, fs::read_to_string(&file).unwrap());
    let markdown = ringside(&["report", &file, "--format", "markdown"]).stdout;
    assert_says(&markdown, "requests/s");
    // One that says less than a record must is told by its name.
    fs::write(&file, "{\"exchanges\": 1}").unwrap();
    let refused = ringside(&["report", &file]);
    assert_eq!(refused.code, Some(2), "{}", refused.stderr);
    assert_says(&refused.stderr, "run.json");
}

#[test]
fn a_connection_that_is_accepted_and_dropped_is_lost_again_and_again() {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let url = format!("http://{}/", listener.local_addr().unwrap());
    std::thread::spawn(move || {
        for mut stream in listener.incoming().flatten() {
            // Reads the first heartbeat, and closes.
            let _ = stream.read(&mut [0; 1024]);
        }
    });
    let ended = ringside(&[
        "hold",
        "-c1",
        "-d1s",
        "--heartbeat",
        "50ms",
        "--back-off",
        "1ms..1ms",
        "--retries",
        "1k",
        "--format",
        "json",
        &url,
    ]);
    assert_eq!(ended.code, Some(1), "{}", ended.stderr);
    let record = ended.record();
    assert!(
        record["connections"]["reconnects"].as_u64().unwrap() >= 2,
        "{record}"
    );
    assert!(
        record["heartbeats"]["failed"].as_u64().unwrap() >= 2,
        "{record}"
    );
}
