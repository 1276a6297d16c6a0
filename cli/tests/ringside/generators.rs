//! Real load generators, compared by what a real server counts.

use std::fs;
use std::process::Command;

use serde_json::Value;

use super::child::{Folder, assert_says, ringside, took_place, until_judged};
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
    let measured = |again| {
        if again {
            fs::remove_dir_all(&out).unwrap();
        }
        ringside(&["compare", &file, "--no-aa", "-o", &out])
    };
    // A row fails where the server, on a machine that is busy otherwise, takes too long to count.
    let ended = until_judged(measured, |ended| ended.code != Some(3));
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

/// Runs rows against a subject in one round each, in which generators go wrong. What the rows came
/// to, and what stands in all files that are kept of them.
fn of_rows(folder: &Folder, subject: &str, rows: &str, workload: &str) -> (Value, String) {
    fs::create_dir_all(folder.path("subjects/ours")).unwrap();
    fs::write(folder.path("subjects/ours/subject.toml"), subject).unwrap();
    let text = format!(
        "name = \"test\"\nquestion = \"Who lies?\"\nrounds = 2\naa = false\n\
         {rows}\n[workload]\npath = \"/\"\nconnections = 2\nsettle = \"50ms\"\n\
         warm_up = \"20ms\"\n{workload}\n"
    );
    let (file, out) = (folder.path("test.toml"), folder.path("out"));
    fs::write(&file, text).unwrap();
    let ended = ringside(&["compare", &file, "-o", &out]);
    let report = fs::read_to_string(format!("{out}/report.json"));
    let report = report.unwrap_or_else(|_| panic!("{}\n{}", ended.stdout, ended.stderr));
    let kept = Command::new("grep")
        .args(["-ra", "", &out])
        .output()
        .unwrap();
    let kept = String::from_utf8_lossy(&kept.stdout).into_owned();
    (
        serde_json::from_str(&report).unwrap(),
        kept + &ended.stdout + &ended.stderr,
    )
}

/// What became of a row, in words.
fn outcome(report: &Value, row: &str) -> String {
    let rows = report["subjects"].as_array().unwrap();
    let row = rows.iter().find(|one| one["name"] == row).unwrap();
    row["outcome"].to_string()
}

#[test]
fn a_generator_that_leaves_processes_behind_or_prints_nonsense_is_not_measured() {
    let folder = Folder::new();
    let run = "'{ringside}' run -c2 -d{window_s}s --format json {url}";
    let row = |name: &str, script: &str, reads: &str| {
        let script = script.replace("RUN", run);
        format!(
            "[[rows]]\nname = \"{name}\"\nsubject = \"ours\"\n\
             generator = {{ {reads} command = [\"sh\", \"-c\", \"\"\"{script}\"\"\"] }}\n"
        )
    };
    let rows = [
        row("waits", "RUN", "reads = \"ringside\","),
        row("leaves", "setsid -f sleep 1000; exec RUN", ""),
        row(
            "nonsense",
            "RUN; echo 5 requests in 5s; echo Requests/sec: 1; \
             echo Non-2xx or 3xx responses: 1e300",
            "reads = \"wrk\",",
        ),
        row(
            "secret",
            "echo Authorization: canary-1; RUN -H 'Authorization: Bearer canary-1'",
            "",
        ),
        row(
            "chatty",
            "head -c 3000000 /dev/zero | tr '\\\\0' '\\\\n'; RUN",
            "reads = \"ringside\",",
        ),
    ];
    let (report, kept) = of_rows(&folder, SUBJECT, &rows.concat(), "window = \"2s\"");
    for measured in ["waits", "secret", "chatty"] {
        assert_says(&outcome(&report, measured), "measured");
    }
    let leaves = outcome(&report, "leaves");
    assert_says(&leaves, "sh ended and left sleep running");
    let nonsense = outcome(&report, "nonsense");
    assert_says(&nonsense, "has no number of `Non-2xx or 3xx responses:`");
    assert!(!kept.contains("canary"), "a secret was kept");
    assert_says(&kept, "Authorization: redacted:");
    let log = fs::metadata(folder.path("out/subjects/chatty/generator.log")).unwrap();
    assert!(log.len() < 1_000_000, "{} bytes were kept", log.len());
}

/// A server that takes what is in the file SENT, and answers with a `count` at `/metrics`.
const SERVER: &str = r#"
import sys, time
from http.server import *
asked = 0
class Server(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    disable_nagle_algorithm = True
    def log_message(*_): pass
    def do_POST(self):
        body = self.rfile.read(int(self.headers["Content-Length"]))
        self.answer(b"ok", 200 if body == open("SENT", "rb").read() else 400)
    def do_GET(self):
        global asked
        if self.path != "/metrics": return self.answer(b"ok", 200)
        asked += 1
        COUNT
        self.answer(b"all_total %d\n" % count, 200)
    def answer(self, body, status):
        self.send_response(status)
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)
ThreadingHTTPServer(("127.0.0.1", int(sys.argv[1])), Server).serve_forever()
"#;

/// That server, with a line of Python that sets `count`.
fn counting(folder: &Folder, count: &str) -> String {
    let server = folder.path("server.py");
    let text = SERVER.replace("SENT", &folder.path("sent"));
    fs::write(&server, text.replace("COUNT", count)).unwrap();
    format!(
        r#"description = "counts"
kind = "server"
[start]
command = ["python3", "{server}", "{{port}}"]
[ready]
path = "/"
[watch]
metrics = "/metrics"
exchanges = ["all_total"]
[[answer]]
path = "/"
body = "ok"
"#
    )
}

#[test]
fn a_counter_that_falls_lies_or_takes_its_time_fails_the_round() {
    if !is_there("python3") {
        return;
    }
    let rows = "[[rows]]\nname = \"r\"\nsubject = \"ours\"\n\
                generator = { command = [\"sleep\", \"{window_s}\"] }";
    for (answer, expected) in [
        ("count = 1000 - asked", "fell from"),
        ("count = 10 ** 30", "all_total is 1e30"),
        ("time.sleep(0.6); count = asked", "use a longer window"),
    ] {
        let folder = Folder::new();
        let subject = counting(&folder, answer);
        let (report, _) = of_rows(&folder, &subject, rows, "window = \"900ms\"");
        assert_says(&outcome(&report, "r"), expected);
    }
}

#[test]
fn our_own_generator_sends_a_message_as_it_is() {
    if !is_there("python3") {
        return;
    }
    let rows = "[[rows]]\nname = \"r\"\nsubject = \"ours\"\n[[rows]]\nname = \"other\"\n\
                subject = \"ours\"\ngenerator = { command = [\"sleep\", \"{window_s}\"] }";
    for message in ["@/etc/hostname", "-5", &"x".repeat(200_000)] {
        let folder = Folder::new();
        fs::write(folder.path("sent"), message).unwrap();
        let subject = counting(&folder, "count = asked * 1000");
        // The server refuses any other.
        let workload = "message = \"@sent\"\nwindow = \"900ms\"";
        let (report, kept) = of_rows(&folder, &subject, rows, workload);
        assert_says(&outcome(&report, "r"), "measured");
        let round = fs::read_to_string(folder.path("out/rounds/r/001.json")).unwrap();
        let round: Value = serde_json::from_str(&round).unwrap();
        let said = &round["generated"]["said"];
        assert!(said["requests"].as_u64() > Some(0), "{said}\n{kept}");
        assert_eq!(said["failed"], 0, "{kept}");
        assert!(fs::metadata(folder.path("out/subjects/r/message")).is_err());
    }
}
