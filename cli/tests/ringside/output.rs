//! What goes where: data to standard output or a file, talk to standard error, and nothing lost.

use std::fs::{self, File};
use std::process::Stdio;

use serde_json::Value;

use super::child::{Folder, Server, assert_says, command, ringside, start, took_place};

/// The pattern that scrapers of wrk's output use.
fn requests_per_second(text: &str) -> f64 {
    let line = text
        .lines()
        .find_map(|line| line.strip_prefix("Requests/sec:"))
        .expect(text);
    line.trim().parse().expect(line)
}

#[test]
fn the_text_begins_with_wrks_block_to_the_letter() {
    let server = Server::start(&[]);
    let ended = ringside(&["run", "-d1s", "-c4", "--latency", &server.at("/")]);
    assert_eq!((ended.code, ended.stderr.as_str()), (Some(0), ""));
    let lines: Vec<&str> = ended.stdout.lines().collect();
    assert_eq!(lines[0], format!("Running 1s test @ {}", server.at("/")));
    assert_eq!(lines[1], "  1 threads and 4 connections");
    assert_eq!(
        lines[2],
        "  Thread Stats   Avg      Stdev     Max   +/- Stdev"
    );
    assert!(lines[3].starts_with("    Latency  "), "{}", lines[3]);
    assert!(lines[4].starts_with("    Req/Sec  "), "{}", lines[4]);
    assert_eq!(lines[5], "  Latency Distribution");
    for (line, percent) in lines[6..10].iter().zip(["50%", "75%", "90%", "99%"]) {
        assert!(line.starts_with(&format!("    {percent:>4} ")), "{line}");
    }
    assert_says(lines[10], " requests in 1.");
    assert!(lines[10].ends_with("B read"), "{}", lines[10]);
    assert!(requests_per_second(&ended.stdout) > 100.0);
    assert!(lines[12].starts_with("Transfer/sec: "), "{}", lines[12]);
    // No line about errors, since there were none.
    assert!(lines[11].starts_with("Requests/sec: "), "{}", lines[11]);
}

#[test]
fn the_text_says_what_wrk_does_not() {
    let server = Server::start(&[]);
    let ended = ringside(&["run", "-d1s", "-R", "200", &server.at("/")]);
    for part in [
        "response time ",
        "service time ",
        "lateness ",
        "p99.9 ",
        "Offered 200.00/s",
    ] {
        assert_says(&ended.stdout, part);
    }
    for part in ["achieved ", "of CPU per request", "The generator was "] {
        assert_says(&ended.stdout, part);
    }
}

#[test]
fn requests_and_bytes_of_the_headline_are_those_of_the_window() {
    // Far more than one connection can carry, so that about as much is answered after the window.
    let server = Server::start(&[]);
    let url = server.at("/delay/10ms");
    let overload = ["run", "-R", "1000", "-c1", "-d1s", &url];
    let ended = ringside(&overload);
    let headline = ended.stdout.lines().find(|line| line.contains("B read"));
    let headline = headline.expect(&ended.stdout);
    let requests = headline.split_whitespace().next().unwrap();
    let requests: f64 = requests.parse().expect(headline);
    assert!(requests <= 101.0, "{headline}");
    assert!((requests_per_second(&ended.stdout) / requests - 1.0).abs() < 0.02);

    let (_, record) = super::child::record("auto", &url, &["-R", "1000", "-d1s"]);
    let count = |place: &str| record.pointer(place).unwrap().as_u64().unwrap();
    let drained = count("/drain/completed");
    assert!(drained > 0, "{record}");
    // All answers have the same length, so that a set of answers is known by its bytes.
    let each = count("/drain/bytes_received") / drained;
    let inside = count("/exchanges/answered_in_window");
    assert_eq!(count("/bytes/received"), inside * each);
    assert_eq!(count("/exchanges/completed"), inside + drained);
    assert_eq!(count("/response_time_us/count"), 1000);
}

#[test]
fn nothing_is_coloured_and_no_progress_is_drawn_for_a_pipe() {
    let server = Server::start(&[]);
    let ended = ringside(&["run", "-d1s", &server.at("/")]);
    assert!(!ended.stdout.contains('\x1b'));
    assert_eq!(ended.stderr, "");
}

#[test]
fn csv_is_a_line_for_each_second() {
    let server = Server::start(&[]);
    let ended = ringside(&[
        "run",
        "-d2s",
        "-R",
        "100",
        "--format",
        "csv",
        &server.at("/"),
    ]);
    assert!(took_place(ended.code), "{:?}", ended.code);
    let lines: Vec<&str> = ended.stdout.lines().collect();
    assert!(
        lines[0].starts_with("at_s,seconds,completed,failed,offered,"),
        "{}",
        lines[0]
    );
    assert!(lines.len() >= 3, "{}", ended.stdout);
    let completed = lines[1..]
        .iter()
        .map(|line| line.split(',').nth(2).unwrap());
    let sum: u64 = completed.map(|field| field.parse::<u64>().unwrap()).sum();
    assert_eq!(sum, 200);
    assert!(
        lines.iter().all(|line| line.split(',').count() == 10),
        "{}",
        ended.stdout
    );
    // Warnings have no place in it.
    let ended = ringside(&["run", "-n3", "--format", "csv", &server.at("/status/500")]);
    assert_says(&ended.stderr, "Warning: no request succeeded");
    assert_says(&ended.stderr, "Don't trust these figures");
}

#[test]
fn a_file_holds_the_record_and_standard_output_stays_empty() {
    let server = Server::start(&[]);
    let folder = Folder::new();
    let path = folder.path("run.json");
    let ended = ringside(&[
        "run",
        "-n50",
        "--format",
        "json",
        "-o",
        &path,
        &server.at("/"),
    ]);
    assert_eq!((ended.code, ended.stdout.as_str()), (Some(0), ""));
    let record: Value = serde_json::from_str(&fs::read_to_string(&path).unwrap()).unwrap();
    assert_eq!(record["exchanges"]["completed"], 50);
    assert_eq!(folder.names(), ["run.json"]);
}

#[test]
fn a_disk_that_is_full_loses_no_record() {
    let server = Server::start(&[]);
    let ended = ringside(&[
        "run",
        "-n50",
        "--format",
        "json",
        "-o",
        "/dev/full",
        &server.at("/"),
    ]);
    assert_eq!(ended.code, Some(3));
    let record: Value = serde_json::from_str(&ended.stdout).unwrap();
    assert_eq!(record["exchanges"]["completed"], 50);
    assert_says(&ended.stderr, "on standard output instead");
}

#[test]
fn a_reader_that_has_gone_is_no_failure() {
    let server = Server::start(&[]);
    let (reader, writer) = std::io::pipe().unwrap();
    drop(reader);
    let url = server.at("/");
    let mut command = command(&["run", "-n10", &url]);
    let child = command
        .stdout(writer)
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    drop(command);
    let ended = child.wait_with_output().unwrap();
    assert_eq!(ended.status.code(), Some(0));
    assert_eq!(String::from_utf8_lossy(&ended.stderr), "");
}

#[test]
fn standard_output_that_cannot_be_written_is_a_failure() {
    let server = Server::start(&[]);
    let url = server.at("/");
    let mut command = command(&["run", "-n10", &url]);
    let full = File::options().write(true).open("/dev/full").unwrap();
    let child = command.stdout(full).stderr(Stdio::piped()).spawn().unwrap();
    let ended = child.wait_with_output().unwrap();
    assert_eq!(ended.status.code(), Some(3));
    assert_says(
        &String::from_utf8_lossy(&ended.stderr),
        "can't write to standard output",
    );
}

#[test]
fn a_threshold_that_is_crossed_is_exit_code_99() {
    let server = Server::start(&[]);
    let url = server.at("/");
    let words = [
        "run",
        "-n300",
        "--threshold",
        "p99<10s",
        "--threshold",
        "errors<1%",
        &url,
    ];
    let ended = ringside(&words);
    assert_eq!(ended.code, Some(0));
    assert_says(&ended.stderr, "threshold p99<10s holds");
    // Whoever was the limit, the rate was at least what was measured.
    let ended = ringside(&["run", "-n50", "--threshold", "rate<1", &url]);
    assert_eq!(ended.code, Some(99));
    assert_says(&ended.stderr, "threshold rate<1 crossed");
    assert!(requests_per_second(&ended.stdout) > 0.0);
}

#[test]
fn thresholds_and_their_outcomes_are_in_the_record() {
    let server = Server::start(&[]);
    let words = ["run", "-n50", "--format", "json"];
    let rules = ["--threshold", "mean<10s", "--threshold", "rate<1"];
    let ended = ringside(&[&words[..], &rules, &[&server.at("/")]].concat());
    assert_eq!(ended.code, Some(99), "{}", ended.stderr);
    let record: Value = serde_json::from_str(&ended.stdout).unwrap();
    let thresholds = record["thresholds"].as_array().unwrap();
    let field = |name: &str| -> Vec<&str> {
        let all = thresholds.iter().map(|one| one[name].as_str());
        all.map(|text| text.expect("a text")).collect()
    };
    assert_eq!(field("rule"), ["mean<10s", "rate<1"]);
    assert_eq!(field("outcome"), ["holds", "crossed"]);
    assert!(field("measured").iter().all(|text| text.ends_with('s')));
}

#[test]
fn a_server_on_a_unix_socket_is_loaded_too() {
    let folder = Folder::new();
    let path = folder.path("socket");
    let server = Server::start(&["--addr", &format!("unix:{path}")]);
    assert_eq!(server.url, format!("unix:{path}"));
    let ended = ringside(&[
        "run",
        "-n50",
        "--unix-socket",
        &path,
        "http://anything/json",
    ]);
    assert_eq!(ended.code, Some(0), "{}", ended.stderr);
    assert_says(&ended.stdout, "  50 requests in ");
}

#[test]
fn a_run_can_connect_elsewhere_than_the_url_says() {
    let server = Server::start(&[]);
    let rule = format!("example.org:80:{}", server.authority());
    let ended = ringside(&["run", "-n50", "--connect-to", &rule, "http://example.org/"]);
    assert_eq!(ended.code, Some(0), "{}", ended.stderr);
    assert_says(&ended.stdout, "  50 requests in ");
}

#[test]
fn both_engines_report_themselves() {
    let server = Server::start(&["--engine", "epoll"]);
    let url = server.at("/");
    let ended = ringside(&["run", "-n50", "--engine", "epoll", "--format", "json", &url]);
    let record: Value = serde_json::from_str(&ended.stdout).unwrap();
    assert_eq!(record["generator"]["engine"], "epoll");
    let ended = start(&mut command(&["run", "-n50", "--format", "json", &url])).end();
    let record: Value = serde_json::from_str(&ended.stdout).unwrap();
    assert_ne!(record["generator"]["engine_reason"], "");
}

#[test]
fn below_unexpected_statuses_stands_what_the_server_said() {
    let server = Server::start(&[]);
    for more in [&["-n", "5"][..], &["-n", "5", "--http2"]] {
        let mut words = vec!["run", "-c1"];
        words.extend(more);
        let url = server.at("/nowhere");
        words.push(&url);
        let ended = ringside(&words);
        assert_says(&ended.stdout, "  5 unexpected_status (404: 5): ");
        assert_says(&ended.stdout, "\n    404: ");
    }
}

#[test]
fn help_is_no_wider_than_its_reader_wants() {
    for verb in cli::verbs() {
        keeps_to(60, &[&verb, "--help"]);
    }
    let narrow = keeps_to(60, &["--help"]);
    assert!(narrow.lines().count() > ringside(&["--help"]).stdout.lines().count());
}

/// No line is longer than `columns`, unless it is a single word.
#[track_caller]
fn keeps_to(columns: usize, words: &[&str]) -> String {
    let mut program = command(words);
    program
        .env("COLUMNS", columns.to_string())
        .env("LC_ALL", "C.UTF-8");
    let ended = start(&mut program).end();
    for line in ended.stdout.lines().chain(ended.stderr.lines()) {
        let is_word = !line.trim().trim_start_matches("- ").contains(' ');
        assert!(
            line.chars().count() <= columns || is_word,
            "{words:?}: {line:?}"
        );
    }
    assert!(!ended.stdout.is_empty(), "{words:?}: {}", ended.stderr);
    ended.stdout
}

#[test]
fn every_text_keeps_to_the_columns_of_its_reader() {
    let server = Server::start(&[]);
    let (url, away) = (server.at("/"), server.at("/nowhere"));
    let folder = Folder::new();
    let out = |name: &str| folder.path(name);
    let file = super::child::comparison_of_ours(&folder, "", "rounds = 3\n");
    let (compared, searched) = (out("compared"), out("searched"));
    for words in [
        &["run", "-d1s", "-R50", "--threshold", "p99<5s", &url][..],
        &["run", "-d1s", "-c2", "--control", "--latency", &url],
        &["run", "-n9", &away],
        &["hold", "-c5", "-d1s", "--heartbeat", "200ms", &url],
        &["doctor"],
        &["compare", &file, "--quick", "--output", &compared],
        &[
            "capacity", &url, "--slo", "mean<5s", "--to", "300", "--from", "100", "-d", "100ms",
            "--output", &searched,
        ],
    ] {
        let wide = keeps_to(200, words);
        let narrow = if words[0] == "compare" || words[0] == "capacity" {
            let mut words = words.to_vec();
            let again = format!("{}-again", words.pop().unwrap());
            words.push(&again);
            keeps_to(60, &words)
        } else {
            keeps_to(60, words)
        };
        // It isn't that there was nothing to break.
        assert!(
            wide.lines().any(|line| line.chars().count() > 60),
            "{words:?}: {wide}"
        );
        assert!(!narrow.is_empty());
    }
}
