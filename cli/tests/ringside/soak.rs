//! `ringside soak`: real servers under a constant load for some seconds, one of which leaks.

use std::fs;
use std::time::Duration;

use rustix::process::Signal;
use serde_json::Value;

use super::child::{Ended, Folder, Running, Server, assert_says, command, ringside, start, until};
use super::peers::answers;
use super::schema::assert_fits;
use super::skip::skip;

/// A server of constant answers that keeps 16 KiB of each request, or of the last one, or exits
/// after 300 of them.
const SERVER: &str = r#"
import http.server, os, sys
kept, count, does = [], [0], sys.argv[2]
class Answers(http.server.BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    def do_GET(self):
        count[0] += 1
        kept.append(b"x" * 16384)
        if does != "leaks": kept[:] = kept[-1:]
        if does == "dies" and count[0] > 300: os._exit(3)
        self.wfile.write(b"HTTP/1.1 200 OK\r\nContent-Length: 13\r\n\r\nHello, World!")
    def log_message(*words): pass
http.server.ThreadingHTTPServer(("127.0.0.1", int(sys.argv[1])), Answers).serve_forever()
"#;

/// What it does, each a row.
const ROWS: [&str; 3] = ["leaks", "stays", "dies"];

/// A comparison of these rows.
fn comparison(folder: &Folder) -> String {
    for name in ROWS {
        let subject = format!(
            "description = \"Python\"\nkind = \"server\"\n[start]\n\
             command = [\"python3\", \"{{subject}}/server.py\", \"{{port}}\", \"{name}\"]\n\
             [ready]\npath = \"/\"\n\
             [[answer]]\npath = \"/\"\nstatus = 200\nbody = \"Hello, World!\"\n"
        );
        fs::create_dir_all(folder.path(&format!("subjects/{name}"))).unwrap();
        folder.write(&format!("subjects/{name}/subject.toml"), &subject);
        folder.write(&format!("subjects/{name}/server.py"), SERVER);
    }
    folder.write(
        "rows.toml",
        &format!(
            "name = \"rows\"\nquestion = \"?\"\nsubjects = {ROWS:?}\n\
             [workload]\nconnections = 2\nrate = 100\n"
        ),
    )
}

fn soak(words: &[&str]) -> Running {
    start(command(&["soak"]).args(words))
}

/// The record that a soak wrote.
fn record(folder: &str) -> Value {
    let text = fs::read_to_string(format!("{folder}/soak.json"));
    serde_json::from_str(&text.unwrap_or_else(|error| panic!("{folder}: {error}"))).unwrap()
}

fn figure<'a>(soak: &'a Value, kind: &str) -> &'a Value {
    let mut figures = soak["figures"].as_array().unwrap().iter();
    let found = figures.find(|figure| figure["kind"] == kind);
    found.unwrap_or_else(|| panic!("{kind}: {soak}"))
}

fn samples(folder: &str) -> Vec<Value> {
    let text = fs::read_to_string(format!("{folder}/samples.ndjson")).unwrap_or_default();
    let lines = text
        .lines()
        .filter_map(|line| serde_json::from_str(line).ok());
    lines.collect()
}

fn has_python() -> bool {
    let there = std::process::Command::new("python3").arg("-V").output();
    if there.is_err() {
        skip("python3 is not installed, so no server that leaks can be started");
    }
    there.is_ok()
}

#[test]
fn a_server_that_leaks_is_found_and_the_same_one_without_the_leak_is_not() {
    if !has_python() {
        return;
    }
    let folder = Folder::new();
    let file = comparison(&folder);
    let (leaks, stays) = (folder.path("leaks"), folder.path("stays"));
    let of = |row: &str, out: &str| {
        let more = ["--smallest", "64MiB", "--warm-up", "2s", "-o", out];
        soak(&[&[&file, "--row", row, "--for", "20s"][..], &more].concat())
    };
    let (leaking, staying) = (of("leaks", &leaks), of("stays", &stays));
    let (leaking, staying) = (leaking.end(), staying.end());
    let told = format!("{}\n{}", leaking.stdout, leaking.stderr);
    assert_eq!(leaking.code, Some(99), "{told}");
    assert_says(&leaking.stdout, "Leak: memory grows by");
    assert_says(&leaking.stdout, "bytes a request");
    let soak = record(&leaks);
    assert_eq!(soak["verdict"], "leak", "{soak}");
    let memory = figure(&soak, "memory");
    let each = memory["per_request"].as_f64().unwrap();
    assert!((14e3..19e3).contains(&each), "{memory}");
    assert_fits("soak", &soak, &leaks);
    let lines = samples(&leaks);
    assert!(lines.len() >= 16, "{}", lines.len());
    lines
        .iter()
        .for_each(|line| assert_fits("soak-sample", line, &leaks));
    assert!(fs::exists(format!("{leaks}/runs/001.json")).unwrap());
    let page = fs::read_to_string(format!("{leaks}/soak.html")).unwrap();
    assert_says(&page, "memory grows by");
    // What else goes on here may keep it from being sure, and never makes it a leak.
    let told = format!("{}\n{}", staying.stdout, staying.stderr);
    assert!(
        matches!(staying.code, Some(0 | 4 | 5)),
        "{:?} {told}",
        staying.code
    );
    assert!(!staying.stdout.contains("Leak:"), "{told}");
    let pack = folder.path("packed.tar.xz");
    let packed = ringside(&["pack", &leaks, "-o", &pack]);
    assert_eq!(packed.code, Some(0), "{}", packed.stderr);
    let again = ringside(&["report", &pack]);
    assert_eq!(again.code, Some(0), "{}", again.stderr);
    assert_says(&again.stdout, "Leak: memory grows by");
    let page = fs::read_to_string(folder.path("packed/soak.html")).unwrap();
    assert_says(&page, "memory grows by");
    a_soak_that_is_over_is_judged_by_what_is_asked_now(&folder, &file, &leaks);
    a_stopped_soak_of_a_leak_is_one_of_a_leak(&folder, &file);
}

/// As long as it's of the same subject.
fn a_soak_that_is_over_is_judged_by_what_is_asked_now(folder: &Folder, file: &str, out: &str) {
    let again = |more: &[&str]| {
        let words = [file, "--row", "leaks", "--warm-up", "2s", "--resume", out];
        soak(&[&words[..], more].concat()).end()
    };
    let judged = again(&["--for", "20s", "--smallest", "500GiB"]);
    assert_says(&judged.stderr, "only judged again");
    assert!(matches!(judged.code, Some(0 | 4 | 5)), "{judged:?}");
    let soak = record(out);
    assert_ne!(soak["verdict"], "leak", "{soak}");
    let memory = figure(&soak, "memory");
    assert_eq!(memory["smallest_per_hour"], soak["asked"]["smallest_bytes"]);
    let shorter = again(&["--for", "19s"]);
    assert_eq!(shorter.code, Some(2), "{shorter:?}");
    assert_says(&shorter.stderr, "give --for as much or more");
    let subject = folder.path("subjects/leaks/subject.toml");
    let text = fs::read_to_string(&subject).unwrap();
    fs::write(&subject, text.replace("\"leaks\"]", "\"stays\"]")).unwrap();
    let other = again(&["--for", "30s"]);
    assert_eq!(other.code, Some(2), "{other:?}");
    assert_says(&other.stderr, "started otherwise");
    fs::write(&subject, text).unwrap();
}

/// It's as sure then as at the end.
fn a_stopped_soak_of_a_leak_is_one_of_a_leak(folder: &Folder, file: &str) {
    let out = folder.path("stopped");
    let all = ["--row", "leaks", "--for", "10m", "--smallest", "64MiB"];
    let more = ["--warm-up", "2s", "-o", &out];
    let soak = soak(&[&[file][..], &all, &more].concat());
    let is_proven = || fs::read_to_string(format!("{out}/soak.json"));
    until("a leak is proven", || {
        is_proven().is_ok_and(|text| text.contains("\"verdict\":\"leak\""))
    });
    soak.signal(Signal::INT);
    let ended = soak.end();
    assert_eq!(ended.code, Some(99), "{}\n{}", ended.stdout, ended.stderr);
}

#[test]
fn a_soak_that_was_killed_goes_on_where_it_was_and_names_the_gap() {
    let (server, folder) = (Server::start(&[]), Folder::new());
    let (url, out) = (server.at("/"), folder.path("out"));
    let words = |more: &[&'static str]| -> Vec<String> {
        let words = [&url, "--rate", "50", "--warm-up", "1s", "--for"];
        let all = words.into_iter().chain(more.iter().copied());
        all.map(str::to_owned).collect()
    };
    let begin = |more: &[&'static str], place: [&str; 2]| -> Running {
        let words = words(more);
        let mut all: Vec<&str> = words.iter().map(String::as_str).collect();
        all.extend(place);
        soak(&all)
    };
    let first = begin(&["60s"], ["-o", &out]);
    until("three samples", || samples(&out).len() >= 3);
    first.signal(Signal::KILL);
    first.end();
    let kept = samples(&out);
    assert!(kept.len() >= 3, "{kept:?}");
    // Half a line, as the end of a machine leaves it.
    let path = format!("{out}/samples.ndjson");
    let whole = fs::read_to_string(&path).unwrap();
    fs::write(&path, format!("{whole}{{\"unix_s\":1")).unwrap();
    let report = |words: &[&str]| ringside(&[&["report", &out][..], words].concat());
    let told = report(&[]);
    assert_eq!(told.code, Some(0), "{}", told.stderr);
    assert_says(&told.stderr, &format!("report: {out}/soak.html"));
    assert!(told.stdout.contains("memory"), "{}", told.stdout);
    let page = fs::read_to_string(format!("{out}/soak.html")).unwrap();
    assert_says(&page, "</html>");
    let told: Value = serde_json::from_str(&report(&["--format", "json"]).stdout).unwrap();
    assert!(told["measured_s"].as_f64() >= Some(3.0), "{told}");
    assert_eq!(report(&["--format", "csv"]).code, Some(2));
    let other = begin(&["60s", "-c", "3"], ["--resume", &out]).end();
    assert_eq!(other.code, Some(2), "{}", other.stderr);
    assert_says(&other.stderr, "with another load");
    let other = begin(&["60s", "-H", "X-Colour: blue"], ["--resume", &out]).end();
    assert_eq!(other.code, Some(2), "{}", other.stderr);
    assert_says(&other.stderr, "with another load");
    let second = begin(&["60s"], ["--resume", &out]);
    until("three more", || samples(&out).len() >= kept.len() + 3);
    let meanwhile = begin(&["60s"], ["--resume", &out]).end();
    assert_eq!(meanwhile.code, Some(2), "{}", meanwhile.stderr);
    assert_says(&meanwhile.stderr, "another ringside soak is writing to");
    second.signal(Signal::INT);
    let second = second.end();
    assert_eq!(
        second.code,
        Some(130),
        "{}\n{}",
        second.stdout,
        second.stderr
    );
    let soak = record(&out);
    let pid = server.pid();
    assert_says(soak["process"].as_str().unwrap(), &pid.to_string());
    assert_eq!(samples(&out)[..kept.len()], kept);
    assert_eq!(soak["parts"].as_array().unwrap().len(), 2, "{soak}");
    assert_eq!(soak["findings"][0]["kind"], "interrupted", "{soak}");
    assert_says(&second.stdout, "The soak was interrupted at");
    assert_eq!(soak["exchanges"]["failed"], 0, "{soak}");
    let again = begin(&["60s"], ["-o", &out]).end();
    assert_eq!(again.code, Some(2), "{}", again.stderr);
    assert_says(&again.stderr, "--resume");
}

/// Fills the disk when there are two samples, and makes room when that has been said.
const FILLS: &str = r#"
mount -t tmpfs -o size=512k tmpfs disk || exit 9
lines() { cat disk/out/samples.ndjson 2>/dev/null | wc -l; }
"$ringside" soak "$url" --rate 50 --warm-up 1s --for 60s -o disk/out >told 2>said & soak=$!
until [ "$(lines)" -ge 2 ] || ! kill -0 $soak; do sleep 0.05; done
cat /dev/zero >disk/ballast 2>/dev/null
until grep -q "couldn't write" said || ! kill -0 $soak; do sleep 0.05; done
rm disk/ballast
kept=$(lines)
until [ "$(lines)" -ge $((kept + 2)) ] || ! kill -0 $soak; do sleep 0.05; done
kill -TERM $soak
wait $soak
echo $? >code
cp disk/out/samples.ndjson disk/out/soak.json .
"#;

#[test]
fn a_full_disk_is_told_and_costs_no_sample_once_there_is_room() {
    let mut mounting = std::process::Command::new("unshare");
    mounting.args(["-Urm", "mount", "-t", "tmpfs", "tmpfs", "/mnt"]);
    if !answers(&mut mounting, "unshare(1) with the right to mount a tmpfs") {
        return;
    }
    let (server, folder) = (Server::start(&[]), Folder::new());
    fs::create_dir(folder.path("disk")).unwrap();
    let mut shell = std::process::Command::new("unshare");
    shell
        .args(["-Urm", "sh", "-c", FILLS])
        .current_dir(folder.path("."))
        .env("ringside", env!("CARGO_BIN_EXE_ringside"))
        .env("url", server.at("/"));
    let ended = start(&mut shell).end();
    let said = fs::read_to_string(folder.path("said")).unwrap_or_default();
    assert_eq!(ended.code, Some(0), "{}{said}", ended.stderr);
    assert_eq!(
        fs::read_to_string(folder.path("code")).unwrap(),
        "143\n",
        "{said}"
    );
    let why = "couldn't write samples.ndjson: No space left on device";
    assert_eq!(said.matches(why).count(), 1, "{said}");
    let soak = record(&folder.path("."));
    let kept = samples(&folder.path("."));
    let sum: u64 = kept
        .iter()
        .filter_map(|sample| sample["completed"].as_u64())
        .sum();
    assert_eq!(soak["exchanges"]["completed"], sum, "{soak}");
    assert!(kept.len() >= 4 && sum > 0, "{kept:?}");
}

#[test]
fn a_subject_that_dies_and_a_rate_that_is_not_held_are_told() {
    if !has_python() {
        return;
    }
    let folder = Folder::new();
    let file = comparison(&folder);
    let dying = soak(&[
        &file,
        "--row",
        "dies",
        "--for",
        "30s",
        "-o",
        &folder.path("dies"),
    ]);
    let (server, held) = (Server::start(&[]), folder.path("held"));
    let url = server.at("/limited/20");
    let holding = soak(&[
        &url,
        "-R",
        "200",
        "--for",
        "19s",
        "--smallest",
        "1GiB",
        "-o",
        &held,
    ]);
    let dying = dying.end();
    assert_eq!(dying.code, Some(3), "{}\n{}", dying.stdout, dying.stderr);
    assert_says(&dying.stderr, "the subject died");
    let holding = holding.end();
    assert_eq!(
        holding.code,
        Some(4),
        "{}\n{}",
        holding.stdout,
        holding.stderr
    );
    assert_says(&holding.stdout, "The rate wasn't held");
}

/// How a soak that can't begin ends.
fn refused(words: &[&str], part: &str) -> Ended {
    let ended = soak(words).end_within(Duration::from_secs(60));
    assert_eq!(
        ended.code,
        Some(2),
        "{words:?}: {}\n{}",
        ended.stdout,
        ended.stderr
    );
    assert_says(&ended.stderr, part);
    ended
}

#[test]
fn what_cannot_be_concluded_or_is_not_there_is_said_at_once() {
    let folder = Folder::new();
    let file = comparison(&folder);
    let url = "http://127.0.0.1:9/";
    refused(
        &[&file, "--for", "1h"],
        "name one with --row (leaks, stays, dies)",
    );
    refused(
        &[&file, "--row", "x", "--for", "1h"],
        "no such row; it has leaks, stays, dies",
    );
    refused(
        &[&file, "--row", "stays", "--for", "5s"],
        "too short to conclude anything",
    );
    refused(
        &[&file, "--for", "1h", "-c", "3"],
        "put these options into its [workload]",
    );
    refused(&[url, "--for", "1h"], "give --rate");
    refused(
        &[url, "--rate", "5", "--for", "1h", "--row", "x"],
        "goes with a FILE",
    );
    let nobody = ["--pid", "4194303", "--for", "1h", "--rate", "5"];
    refused(&[&[url][..], &nobody].concat(), "no such process");
    let nothing = folder.path("nothing");
    let long = ["--rate", "5", "--for", "1000000h", "-o", &nothing];
    refused(&[&[url][..], &long].concat(), "at most a year");
    let nowhere = folder.path("nowhere/intervals");
    let words = ["--rate", "5", "--for", "1h", "-o", &nothing, "--intervals"];
    refused(&[&[url][..], &words, &[&nowhere]].concat(), "nowhere");
    assert!(!fs::exists(&nothing).unwrap());
    let words = [url, "--rate", "5", "--for", "1h", "--resume", &nothing];
    refused(&words, "no soak to go on with");
}
