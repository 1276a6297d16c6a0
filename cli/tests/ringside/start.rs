//! `ringside compare --start`: servers that are compared as they are typed, without a file.

use std::fs;
use std::os::unix::fs::PermissionsExt;

use serde_json::Value;

use super::child::{Ended, Folder, assert_says, command, start};

/// Our server, as a program called `name` that answers on the port it is given.
pub(super) const SERVES: &str =
    "exec RINGSIDE serve --threads 1 --engine epoll --addr 127.0.0.1:$1";

/// Writes a script into `folder`.
pub(super) fn program(folder: &Folder, name: &str, script: &str) {
    let script = script.replace("RINGSIDE", env!("CARGO_BIN_EXE_ringside"));
    let path = folder.path(name);
    fs::write(&path, format!("#!/bin/sh\n{script}\n")).unwrap();
    fs::set_permissions(&path, fs::Permissions::from_mode(0o755)).unwrap();
}

/// Compares what `words` say, in `folder`.
pub(super) fn compare(folder: &Folder, words: &[&str]) -> Ended {
    let mut command = command(&["compare"]);
    start(command.args(words).current_dir(folder.path("."))).end()
}

/// The sentence that a comparison of a good server and of `script` is refused with.
fn refused(name: &str, script: &str) -> String {
    let folder = Folder::new();
    program(&folder, "good", SERVES);
    program(&folder, name, script);
    let bad = format!("./{name} {{port}}");
    let ended = compare(&folder, &["--start", "./good {port}", "--start", &bad]);
    assert_eq!(ended.code, Some(1), "{}\n{}", ended.stdout, ended.stderr);
    assert_eq!(ended.stdout, "");
    // Nothing was measured, so nothing is kept.
    assert!(!fs::exists(folder.path("ringside-out")).unwrap());
    ended.stderr
}

#[test]
fn two_commands_are_compared_where_they_are_typed_and_go_on() {
    let folder = Folder::new();
    program(&folder, "v1", SERVES);
    program(&folder, "v2", SERVES);
    // They run in the current folder.
    fs::write(folder.path("beside"), "").unwrap();
    program(&folder, "v1", &format!("[ -e beside ] || exit 9\n{SERVES}"));
    let words = [
        "--start",
        "./v1 {port}",
        "--start",
        "./v2 {port}",
        "-c",
        "2",
    ];
    let short = ["--rounds", "2", "--duration", "50ms", "--no-aa"];
    let out = ["-o", "out"];
    let ended = compare(&folder, &[&words[..], &short, &out].concat());
    assert_eq!(ended.code, Some(0), "{}\n{}", ended.stdout, ended.stderr);
    assert_says(&ended.stdout, "How do v1 and v2 compare?");
    let report = fs::read_to_string(folder.path("out/report.json")).unwrap();
    let report: Value = serde_json::from_str(&report).unwrap();
    assert_eq!(report["subjects"][0]["name"], "v1");
    let kept = fs::read_to_string(folder.path("out/comparison.json")).unwrap();
    let kept: Value = serde_json::from_str(&kept).unwrap();
    assert_eq!(kept["setup"]["baseline"], "v1");
    let judged = serde_json::json!(["requests_per_second", "server_cpu_per_exchange"]);
    assert_eq!(kept["setup"]["judged_by"], judged, "{}", kept["setup"]);
    assert!(kept["setup"]["equal_rate"].as_f64() > Some(0.0));
    // What is complete has nothing left to measure, and is reported again.
    let again = compare(
        &folder,
        &[&words[..], &short, &["--resume", "out"]].concat(),
    );
    assert_eq!(again.code, Some(0), "{}\n{}", again.stdout, again.stderr);
    let other = [
        "--start",
        "./v2 {port}",
        "--start",
        "./v1 {port}",
        "-c",
        "2",
    ];
    let other = compare(
        &folder,
        &[&other[..], &short, &["--resume", "out"]].concat(),
    );
    assert_eq!(other.code, Some(2), "{}", other.stderr);
    assert_says(&other.stderr, "started with a different");
}

#[test]
fn answers_that_differ_are_shown_and_compared_only_if_that_is_wanted() {
    let folder = Folder::new();
    program(&folder, "v1", SERVES);
    let other = "exec python3 -u -c 'import http.server as h, sys\n\
                 class H(h.BaseHTTPRequestHandler):\n protocol_version = \"HTTP/1.1\"\n \
                 def do_GET(s):\n  s.send_response(200); s.send_header(\"Content-Length\", \"6\"); \
                 s.end_headers(); s.wfile.write(b\"Hello\\n\")\n def log_message(*a): pass\n\
                 h.ThreadingHTTPServer((\"127.0.0.1\", int(sys.argv[1])), H).serve_forever()' $1";
    program(&folder, "v2", other);
    let words = ["--start", "./v1 {port}", "--start", "./v2 {port}"];
    let ended = compare(&folder, &words);
    assert_eq!(ended.code, Some(1), "{}\n{}", ended.stdout, ended.stderr);
    for part in [
        "v2 answers / differently than v1",
        "`Hello\\n` instead of `Hello, World!`",
        "--any-answer",
    ] {
        assert_says(&ended.stderr, part);
    }
    let short = [
        "--any-answer",
        "--rounds",
        "1",
        "--duration",
        "50ms",
        "--no-aa",
    ];
    let ended = compare(&folder, &[&words[..], &short].concat());
    assert_eq!(ended.code, Some(0), "{}\n{}", ended.stdout, ended.stderr);
    assert_says(
        &ended.stderr,
        "The answers differ, and are compared because of --any-answer",
    );
}

#[test]
fn a_program_that_cannot_be_compared_is_told_what_it_did() {
    let dead = refused("dies", "echo broken config >&2\nexit 7");
    assert_says(
        &dead,
        "dies exited before it was ready: it exited with status 7",
    );
    assert_says(&dead, "broken config");
    let daemon = SERVES.replace("exec ", "") + " &\nexit 0";
    let daemon = refused("daemon", &daemon);
    // Whether it answers before what was started has exited is up to the scheduler.
    assert_says(&daemon, "daemon exited ");
    assert_says(&daemon, " ready: it went into the background");
    // It bears the script's name until the shell that it was has become our server.
    let left = ["left ringside running", "left daemon running"];
    assert!(left.iter().any(|words| daemon.contains(words)), "{daemon}");
    let silent = std::thread::spawn(|| refused("silent", "exec sleep 1000"));
    let other = refused("other", &SERVES.replace("$1", "0"));
    assert_says(
        &other,
        "other wasn't ready within 20 s: it listens on port ",
    );
    assert_says(&other, "write {port} where its command takes the port");
    let silent = silent.join().unwrap();
    assert_says(&silent, "silent wasn't ready within 20 s: ");
}

#[test]
fn what_is_no_comparison_of_commands_is_said_before_anything_is_started() {
    let folder = Folder::new();
    program(&folder, "v1", SERVES);
    for (words, part) in [
        (
            &["--start", "./v1 {port}"][..],
            "one server isn't a comparison",
        ),
        (
            &["--start", "./v1", "--start", "./v1 {port}"],
            "where the port goes",
        ),
        (
            &["--start", "./no {port}", "--start", "./v1 {port}"],
            "there's no program ./no",
        ),
        (
            &["--start", "./v1 '{port}", "--start", "./v1 {port}"],
            "a quote isn't closed",
        ),
        (
            &["--start", "./v1 {port} {prot}", "--start", "./v1 {port}"],
            "did you mean {port}?",
        ),
        (
            &[
                "--start",
                "./v1 {port}",
                "--start",
                "./v1 {port}",
                "-c",
                "0",
            ],
            "at least one",
        ),
        (&["--start", "./v1 {port}", "a.toml"], "cannot be used with"),
        (
            &["--path", "/", "a.toml"],
            "--path goes with --start and --url",
        ),
        (&[], "FILE.toml"),
    ] {
        let ended = compare(&folder, words);
        assert_eq!(ended.code, Some(2), "{words:?}: {}", ended.stderr);
        assert_says(&ended.stderr, part);
        assert!(!fs::exists(folder.path("ringside-out")).unwrap());
    }
    let words = [
        "--start",
        "./v1 {port}",
        "--start",
        "./v1 {port}",
        "--path",
        "/no",
    ];
    let ended = compare(&folder, &words);
    assert_eq!(ended.code, Some(1), "{}", ended.stderr);
    assert_says(&ended.stderr, "v1: /no is answered with status 404");
}

/// Answers well, until two connections have had a few answers each, as in a warm-up. Whoever comes
/// after that is answered with status 500, or finds it gone: that is up to its second argument.
const BREAKS: &str = r#"
import http.server, os, sys
warm = []
class Answers(http.server.BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    asked = 0
    bad = False
    def do_GET(self):
        self.asked += 1
        if self.asked == 1: self.bad = len(warm) >= 2
        if self.asked == 5: warm.append(self)
        if self.bad and sys.argv[2] == "dies": os._exit(7)
        status = b"500 Broken" if self.bad and sys.argv[2] == "fails" else b"200 OK"
        self.wfile.write(b"HTTP/1.1 " + status + b"\r\nContent-Length: 13\r\n\r\nHello, World!")
    def log_message(*words): pass
http.server.ThreadingHTTPServer(("127.0.0.1", int(sys.argv[1])), Answers).serve_forever()
"#;

#[test]
fn a_server_that_breaks_in_the_probe_does_not_set_the_rate_for_all() {
    for (how, said) in [
        ("fails", "unexpected_status"),
        ("dies", "it exited with status 7"),
    ] {
        let folder = Folder::new();
        program(&folder, "v1", SERVES);
        program(&folder, "v2", SERVES);
        fs::write(folder.path("breaks.py"), BREAKS).unwrap();
        let bad = format!("python3 -u breaks.py {{port}} {how}");
        let mut words = vec!["--start", "./v1 {port}", "--start", "./v2 {port}"];
        words.extend(["--start", &bad, "-c", "2", "--rounds", "1"]);
        words.extend(["--duration", "50ms", "--no-aa", "-o", "out"]);
        let ended = compare(&folder, &words);
        assert_eq!(ended.code, Some(3), "{}\n{}", ended.stdout, ended.stderr);
        let told: Vec<&str> = ended.stderr.split_whitespace().collect();
        let told = told.join(" ");
        assert_says(&told, " in the probe before the first round");
        assert_says(&told, said);
        assert_says(&told, "half of what the slowest answered in a probe before");
        let kept = fs::read_to_string(folder.path("out/comparison.json")).unwrap();
        let kept: Value = serde_json::from_str(&kept).unwrap();
        assert!(kept["setup"]["equal_rate"].as_f64() > Some(0.0));
        assert!(!fs::exists(folder.path("out/rounds/breaks/001.json")).unwrap());
        assert!(fs::exists(folder.path("out/rounds/v2/001.json")).unwrap());
    }
}

#[test]
fn commands_are_named_after_what_they_run() {
    let folder = Folder::new();
    fs::write(folder.path("v1.py"), BREAKS).unwrap();
    let words = [
        "--start",
        "python3 v1.py {port} never",
        "--start",
        "env WORK=5000 python3 v1.py {port} never",
    ];
    let short = ["-c", "2", "--rounds", "1", "--duration", "50ms", "--no-aa"];
    let ended = compare(&folder, &[&words[..], &short].concat());
    assert_eq!(ended.code, Some(0), "{}\n{}", ended.stdout, ended.stderr);
    assert_says(&ended.stdout, "How do v1 and v1-WORK-5000 compare?");
}
