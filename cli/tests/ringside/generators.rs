//! Real load generators, compared by what a real server counts.

use std::fs;
use std::process::Command;

use serde_json::Value;

use super::child::{Folder, assert_says, ringside, took_place};
use super::peers::answers;

/// Our server, which counts.
const SUBJECT: &str = r#"description = "ours"
kind = "server"
[start]
command = [
    "{ringside}", "serve", "--addr", "127.0.0.1:{port}", "--threads", "1", "--cpus", "{cpus}",
]
[ready]
path = "/health"
[watch]
metrics = "/metrics"
exchanges = ["ringside_requests_total"]
[[answer]]
path = "/"
body = "Hello, World!"
[[answer]]
path = "/"
protocol = "http2"
body = "Hello, World!"
"#;

/// Whether a program is installed; says so if not. wrk answers no question with a good status.
fn is_there(program: &str) -> bool {
    answers(Command::new("which").arg(program), program)
}

/// Compares generators with ourselves for a second each. The report, and where it is.
fn compared(folder: &Folder, rows: &str, workload: &str) -> (Value, String) {
    fs::create_dir_all(folder.path("subjects/ours")).unwrap();
    fs::write(folder.path("subjects/ours/subject.toml"), SUBJECT).unwrap();
    let text = format!(
        "name = \"test\"\nquestion = \"Do they say the truth?\"\nrounds = 3\n\
         baseline = \"ringside\"\n[[rows]]\nname = \"ringside\"\nsubject = \"ours\"\n{rows}\n\
         [workload]\n{workload}\nwindow = \"300ms\"\nsettle = \"200ms\"\nwarm_up = \"50ms\"\n"
    );
    let (file, out) = (folder.path("test.toml"), folder.path("out"));
    fs::write(&file, text).unwrap();
    let ended = ringside(&["compare", &file, "--no-aa", "-o", &out]);
    assert!(took_place(ended.code), "{}\n{}", ended.stdout, ended.stderr);
    assert_says(&ended.stdout, "as it says");
    let report = fs::read_to_string(format!("{out}/report.json")).unwrap();
    (serde_json::from_str(&report).unwrap(), out)
}

/// Asserts that the generators of all these rows were measured, said what they did, and cost
/// something, and that the server counted it.
#[track_caller]
fn assert_counted(report: &Value, out: &str, names: &[&str], connections: u64) {
    for row in report["subjects"].as_array().unwrap() {
        assert_eq!(row["outcome"]["state"], "measured", "{}", row["outcome"]);
    }
    for name in names {
        let round = fs::read_to_string(format!("{out}/rounds/{name}/001.json")).unwrap();
        let round: Value = serde_json::from_str(&round).unwrap();
        let run = &round["generated"];
        let number = |path: &str| run.pointer(path).and_then(Value::as_f64).unwrap();
        assert!(number("/cpu_ns") > 0.0 && number("/busy") > 0.0, "{run}");
        assert!(number("/counted_in_window") > 0.0, "{run}");
        assert!(number("/memory_peak_bytes") > 0.0, "{run}");
        // What was under way at the end may be counted by one of the two only.
        let (counted, said) = (number("/counted"), number("/said/requests"));
        let allowed = connections as f64 + 0.01 * counted;
        assert!((counted - said).abs() <= allowed, "{name}: {run}");
        assert!(
            number("/said/seconds") <= 1.01 * number("/alive_s"),
            "{run}"
        );
    }
}

const WRK: &str = r#"[[rows]]
name = "wrk"
subject = "ours"
generator = { reads = "wrk", version = ["wrk", "-v"], command = [
    "wrk", "-t{threads}", "-c{connections}", "-d{window_s}s", "--latency", "{url}",
] }
"#;

#[test]
fn wrk_and_ringside_say_what_the_server_counted() {
    if !is_there("wrk") {
        return;
    }
    let folder = Folder::new();
    let workload = "path = \"/\"\nconnections = 8";
    let (report, out) = compared(&folder, WRK, workload);
    assert_counted(&report, &out, &["ringside", "wrk"], 8);
    assert_eq!(report["setup"]["metric"], "generator_cpu_per_exchange");
    let wrk = &report["subjects"][1];
    assert!(wrk["ratio"]["centre"].is_number(), "{}", wrk["verdict"]);
    assert_eq!(wrk["further"][0]["metric"], "requests_driven");
    let version = wrk["generator"]["version"].as_str().unwrap();
    assert!(version.starts_with("wrk "), "{version}");
    let page = fs::read_to_string(format!("{out}/report.html")).unwrap();
    assert_says(&page, "generator CPU time per request");
}

const H2LOAD: &str = r#"[[rows]]
name = "h2load"
subject = "ours"
generator = { reads = "h2load", command = [
    "h2load", "-t{threads}", "-c{connections}", "-m{streams}", "-D{window_s}", "{url}",
] }
"#;

#[test]
fn h2load_and_ringside_say_over_http2_what_the_server_counted() {
    if !is_there("h2load") {
        return;
    }
    let folder = Folder::new();
    let workload = "path = \"/\"\nprotocol = \"http2\"\nconnections = 4\nstreams = 10";
    let (report, out) = compared(&folder, H2LOAD, workload);
    assert_counted(&report, &out, &["ringside", "h2load"], 40);
}
