//! `ringside gate`: two revisions in a real repository, two directories and two commands; what is
//! a regression there, what is none, and what can't be measured.
//!
//! Only gross differences are decided here, which no busy machine can hide: one side waits before
//! each answer, and the other doesn't.

use std::fs;
use std::path::Path;
use std::process::{Command, Stdio};
use std::sync::{Mutex, MutexGuard, PoisonError};

use quick_junit::Report;
use rustix::process::Signal;
use serde_json::{Map, Value};

use super::child::{Ended, Folder, assert_says, command, start, until, until_judged};
use super::start::{SERVES, program};

/// A server that waits before each answer. It lies outside of the subject's folder, so that nothing
/// but the revision tells its builds apart.
pub(crate) const SERVER: &str = r#"
import http.server, sys, time
class Answers(http.server.BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    def do_GET(self):
        time.sleep(DELAY)
        self.wfile.write(b"HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok")
    def log_message(*words): pass
http.server.ThreadingHTTPServer.daemon_threads = True
http.server.ThreadingHTTPServer(("127.0.0.1", int(sys.argv[1])), Answers).serve_forever()
"#;

const SUBJECT: &str = r#"
description = "a server"
[build]
commands = [["sh", "./build.sh", "{build}"]]
[start]
command = ["python3", "{build}/server.py", "{port}"]
[[answer]]
path = "/"
body = "ok"
"#;

/// Copies what is to be started, and says so.
const BUILD: &str = "echo building $RINGSIDE_REVISION\ncp ../server.py $1/\n";

/// As short as it can be.
pub(crate) const GATE: &str = r#"
[gate]
figures = ["rate"]
rounds_max = 6
rounds_per_start = 1
[workload]
connections = 2
window = "300ms"
settle = "10ms"
warm_up = "10ms"
"#;

pub(crate) fn git(folder: &Folder, words: &[&str]) -> String {
    let mut command = Command::new("git");
    command.args(["-c", "user.name=x", "-c", "user.email=x@example.com"]);
    command.args(words).current_dir(folder.path("."));
    command
        .env("GIT_CONFIG_GLOBAL", "/dev/null")
        .stdin(Stdio::null());
    let output = command.output().expect("git is installed");
    let said = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "{words:?}: {said}");
    String::from_utf8_lossy(&output.stdout).into_owned()
}

pub(crate) fn serve(folder: &Folder, delay: &str) {
    folder.write("server.py", &SERVER.replace("DELAY", delay));
}

pub(crate) fn commit(folder: &Folder) {
    git(folder, &["add", "--all"]);
    git(folder, &["commit", "--quiet", "--message=x"]);
}

/// A repository whose only commit is a server that answers at once.
pub(crate) fn repository() -> Folder {
    let folder = Folder::new();
    git(&folder, &["init", "--quiet", "--initial-branch=main"]);
    fs::create_dir(folder.path("server")).unwrap();
    folder.write("server/subject.toml", SUBJECT);
    folder.write("server/gate.toml", GATE);
    folder.write("server/build.sh", BUILD);
    folder.write(".git/info/exclude", "/.scratch\n");
    serve(&folder, "0");
    commit(&folder);
    folder
}

/// `ringside gate` in a folder, with builds of its own.
fn gated(folder: &Folder, words: &[&str]) -> Command {
    let mut command = command(&["gate"]);
    command.args(words).current_dir(folder.path("."));
    fs::create_dir_all(folder.path(".scratch/trees")).unwrap();
    command.env("XDG_CACHE_HOME", folder.path(".scratch/cache"));
    command.env("TMPDIR", folder.path(".scratch/trees"));
    command
}

fn gate(folder: &Folder, words: &[&str]) -> Ended {
    start(&mut gated(folder, words)).end()
}

/// The same with results in `out`, again where a machine that is busy otherwise allows no
/// judgement.
fn gate_until_judged(folder: &Folder, words: &[&str], out: &str) -> Ended {
    let words = [words, &["-o", out]].concat();
    let measured = |again| {
        if again {
            fs::remove_dir_all(folder.path(out)).unwrap();
        }
        gate(folder, &words)
    };
    until_judged(measured, |ended| !matches!(ended.code, Some(4 | 5)))
}

/// Gates take turns: each sees the other's servers work outside its own processes.
pub(crate) fn in_turn() -> MutexGuard<'static, ()> {
    static MEASURING: Mutex<()> = Mutex::new(());
    MEASURING.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Nothing that was checked out is left.
#[track_caller]
fn assert_tidy(folder: &Folder) {
    let list = git(folder, &["worktree", "list"]);
    assert_eq!(list.lines().count(), 1, "{list}");
    let scratch = fs::read_dir(folder.path(".scratch/trees")).unwrap();
    let left: Vec<_> = scratch.map(|entry| entry.unwrap().file_name()).collect();
    assert!(left.is_empty(), "{left:?}");
}

#[test]
fn a_commit_that_is_slower_is_a_regression_and_the_way_back_is_none() {
    let _turn = in_turn();
    let folder = repository();
    git(&folder, &["checkout", "--quiet", "-b", "slow"]);
    serve(&folder, "0.02");
    commit(&folder);
    let words = ["server", "--base", "main", "--head", "slow"];
    let ended = gate_until_judged(&folder, &words, ".scratch/out");
    assert_eq!(ended.code, Some(99), "{}\n{}", ended.stdout, ended.stderr);
    assert!(
        ended.stdout.starts_with("regression: slow answers 0."),
        "{}",
        ended.stdout
    );
    assert_says(&ended.stdout, "the requests of main");
    assert_says(&ended.stderr, "records and reports: ");
    assert_tidy(&folder);
    let found = fs::read_to_string(folder.path(".scratch/out/gate.json")).unwrap();
    let found: Value = serde_json::from_str(&found).unwrap();
    assert_eq!(found["verdict"], "regression");
    assert_eq!(found["base"]["label"], "main");
    let head = git(&folder, &["rev-parse", "slow"]);
    assert_eq!(found["head"]["revision"]["commit"], head.trim());
    assert_eq!(found["figures"][0]["state"], "regression");
    let page = fs::read_to_string(folder.path(".scratch/out/gate.md")).unwrap();
    assert!(page.starts_with("### Performance: regression\n"), "{page}");
    let cases = fs::read_to_string(folder.path(".scratch/out/gate.xml")).unwrap();
    let cases = Report::deserialize_from_str(&cases).unwrap();
    assert!(cases.failures > 0 && cases.errors == 0, "{cases:?}");
    let other = fs::read_to_string(folder.path(".scratch/out/junit.xml")).unwrap();
    assert_eq!(Report::deserialize_from_str(&other).unwrap(), cases);
    // Each was built of its own files, although only what lies beside the subject's folder differs.
    let log = |side: &str| {
        let file = folder.path(&format!(".scratch/out/subjects/{side}/build.log"));
        fs::read_to_string(file)
    };
    assert_says(&log("head").unwrap(), &format!("building {}", head.trim()));
    assert_ne!(log("base").unwrap(), log("head").unwrap());
    // It's a comparison like any other.
    let report = command(&["report", "out"])
        .current_dir(folder.path(".scratch"))
        .output()
        .unwrap();
    let report = String::from_utf8_lossy(&report.stdout).into_owned();
    assert_says(&report, "Is slow slower than main?");
    let kept = fs::read_to_string(folder.path(".scratch/out/junit.xml")).unwrap();
    assert_eq!(kept, other);
    // The other way round, what was built is there, and it's faster.
    let words = [
        "server", "--base", "slow", "--head", "main", "--format", "json",
    ];
    let back = gate_until_judged(&folder, &words, ".scratch/back");
    assert_eq!(back.code, Some(0), "{}\n{}", back.stdout, back.stderr);
    let found: Value = serde_json::from_str(&back.stdout).unwrap();
    assert_eq!(found["verdict"], "no_regression", "{}", back.stdout);
    assert_eq!(found["figures"][0]["worse_at_most"], 0.0);
    let drawn = fs::read_to_string(folder.path(".scratch/back/bigger-is-better.json")).unwrap();
    assert_says(&drawn, "\"head: requests/s\"");
}

#[test]
fn every_format_for_pipelines_is_one_where_there_is_nothing_to_compare() {
    let folder = repository();
    let text = |format: &str| {
        let words = [
            "server", "--base", "main", "--head", "main", "--format", format,
        ];
        let ended = gate(&folder, &words);
        assert_eq!(ended.code, Some(0), "{}\n{}", ended.stdout, ended.stderr);
        ended.stdout
    };
    let cases = Report::deserialize_from_str(&text("junit")).unwrap();
    assert_eq!((cases.tests, cases.failures, cases.errors), (1, 0, 0));
    for format in ["smaller-is-better", "bigger-is-better", "bencher"] {
        let read: Value = serde_json::from_str(&text(format)).unwrap();
        assert!(
            read.as_array().is_none_or(Vec::is_empty),
            "{format}: {read}"
        );
        assert!(
            read.as_object().is_none_or(Map::is_empty),
            "{format}: {read}"
        );
    }
}

#[test]
fn the_working_tree_is_measured_as_it_is_and_a_commit_without_its_changes() {
    let _turn = in_turn();
    let folder = repository();
    serve(&folder, "0.02");
    let words = ["server", "--base", "main", "--format", "md"];
    let ended = gate_until_judged(&folder, &words, ".scratch/out");
    assert_eq!(ended.code, Some(99), "{}\n{}", ended.stdout, ended.stderr);
    assert_says(&ended.stdout, "regression: the working tree answers 0.");
    assert_says(
        &ended.stdout,
        "The head is the working tree with uncommitted changes.",
    );
    assert_tidy(&folder);
    // Named by its commit, it's the same as main.
    let ended = gate(&folder, &["server", "--base", "main", "--head", "HEAD"]);
    assert_eq!(ended.code, Some(0), "{}\n{}", ended.stdout, ended.stderr);
    assert_says(
        &ended.stdout,
        "nothing to compare: main and HEAD are the same commit",
    );
    assert_says(&ended.stderr, "which aren't measured: HEAD is");
    assert!(!fs::exists(folder.path("ringside-out")).unwrap());
}

#[test]
fn a_revision_that_cannot_be_built_is_told_with_its_log() {
    let folder = repository();
    folder.write("server/build.sh", "echo no such module: x >&2\nexit 3\n");
    commit(&folder);
    git(&folder, &["branch", "broken"]);
    folder.write("server/build.sh", BUILD);
    commit(&folder);
    let words = [
        "server",
        "--base",
        "broken",
        "--head",
        "HEAD",
        "-o",
        ".scratch/out",
    ];
    let ended = gate(&folder, &words);
    assert_eq!(ended.code, Some(1), "{}\n{}", ended.stdout, ended.stderr);
    assert!(
        ended.stdout.starts_with("failed: broken can't be built: "),
        "{}",
        ended.stdout
    );
    assert_says(&ended.stdout, "no such module: x");
    let log = ended
        .stdout
        .lines()
        .find_map(|line| line.strip_prefix("the whole log: "));
    assert_says(
        &fs::read_to_string(log.expect("a file")).unwrap(),
        "no such module: x",
    );
    // What can't be compared isn't measured either.
    assert!(!fs::exists(folder.path(".scratch/out/rounds")).unwrap());
    assert_tidy(&folder);
}

#[test]
fn a_subject_that_the_base_does_not_have_is_nothing_to_compare() {
    let folder = repository();
    fs::create_dir(folder.path("new")).unwrap();
    folder.write("new/subject.toml", SUBJECT);
    commit(&folder);
    let ended = gate(&folder, &["new", "--base", "HEAD~1"]);
    assert_eq!(ended.code, Some(0), "{}\n{}", ended.stdout, ended.stderr);
    assert_says(
        &ended.stdout,
        "HEAD~1 has no new/subject.toml yet, it's new in the working tree",
    );
    // Gone in the head, there's nothing that could be measured.
    git(&folder, &["rm", "--quiet", "-r", "--cached", "new"]);
    git(&folder, &["commit", "--quiet", "--message=x"]);
    let ended = gate(&folder, &["new", "--base", "HEAD~1", "--head", "HEAD"]);
    assert_eq!(ended.code, Some(2), "{}\n{}", ended.stdout, ended.stderr);
    assert_says(&ended.stderr, "HEAD has no new/subject.toml");
    assert_tidy(&folder);
}

#[test]
fn a_mistake_is_told_before_anything_is_started() {
    let folder = repository();
    let nowhere = Folder::new();
    fs::create_dir(nowhere.path("server")).unwrap();
    nowhere.write("server/subject.toml", SUBJECT);
    folder.write("bad.toml", "[gate]\nfigures = [\"rat\"]\n");
    for (words, part) in [
        (
            &["server", "--base", "no-such"][..],
            "there's no revision no-such",
        ),
        (
            &["server", "--base", "main", "--head", "x"],
            "there's no revision x",
        ),
        (
            &["nothing", "--base", "main"],
            "there's no nothing/subject.toml",
        ),
        (&["--base", "main"], "there's no subject.toml here"),
        (&["--base", "server", "--head", "main"], "and main isn't"),
        (
            &["server", "--base", "main", "--file", "bad.toml"],
            "did you mean `rate`?",
        ),
        (
            &["server", "--base", "main", "--budget", "0s"],
            "the budget is zero",
        ),
        (&[], "--base"),
        (&["--base-start", "./v1 {port}"], "--head-start"),
        (
            &["--base-start", "./v1 {port}", "--head-start", "./v2 {port}"],
            "there's no program ./v1",
        ),
    ] {
        let ended = gate(&folder, words);
        assert_eq!(
            ended.code,
            Some(2),
            "{words:?}\n{}\n{}",
            ended.stdout,
            ended.stderr
        );
        assert_says(&ended.stderr, part);
        assert_eq!(ended.stdout, "");
    }
    // A folder of the build isn't a repository of its own, unless git is told to look no further.
    let mut command = command(&["gate", "server", "--base", "main"]);
    let above = Path::new(&nowhere.path(".")).join("..");
    let above = fs::canonicalize(above).unwrap();
    command
        .current_dir(nowhere.path("."))
        .env("GIT_CEILING_DIRECTORIES", above);
    let ended = start(&mut command).end();
    assert_eq!(ended.code, Some(2), "{}\n{}", ended.stdout, ended.stderr);
    assert_says(&ended.stderr, "isn't in a git repository");
    assert_tidy(&folder);
}

#[test]
fn commands_and_directories_are_compared_without_a_repository() {
    let _turn = in_turn();
    let folder = Folder::new();
    folder.write("gate.toml", GATE);
    for (name, delay) in [("quick", "0"), ("slow", "0.02")] {
        fs::create_dir(folder.path(name)).unwrap();
        let code = SERVER.replace("DELAY", delay);
        folder.write(&format!("{name}/server.py"), &code);
        let subject = SUBJECT.replace("{build}/server.py", "./server.py");
        let (before, rest) = subject.split_once("[build]").unwrap();
        let (_, start) = rest.split_once("[start]").unwrap();
        folder.write(
            &format!("{name}/subject.toml"),
            &format!("{before}[start]{start}"),
        );
    }
    let commands = [
        "--base-start",
        "python3 ./quick/server.py {port}",
        "--head-start",
        "python3 ./slow/server.py {port}",
    ];
    let ended = gate_until_judged(&folder, &commands, "commands");
    assert_eq!(ended.code, Some(99), "{}\n{}", ended.stdout, ended.stderr);
    assert_says(&ended.stdout, "regression: the head answers 0.");
    let words = ["--base", "slow", "--head", "quick"];
    let ended = gate_until_judged(&folder, &words, "directories");
    assert_eq!(ended.code, Some(0), "{}\n{}", ended.stdout, ended.stderr);
    assert!(
        ended.stdout.starts_with("no regression: quick answers "),
        "{}",
        ended.stdout
    );
    // A round or two are no interval.
    let words = [
        "--base", "slow", "--head", "quick", "--budget", "1ms", "-o", "short",
    ];
    let ended = gate(&folder, &words);
    assert_eq!(ended.code, Some(5), "{}\n{}", ended.stdout, ended.stderr);
    assert!(ended.stdout.starts_with("can't tell: "), "{}", ended.stdout);
}

#[test]
fn a_server_that_does_not_start_is_told_with_what_it_wrote() {
    let folder = Folder::new();
    folder.write("gate.toml", GATE);
    program(&folder, "good", SERVES);
    program(&folder, "dies", "echo broken config >&2\nexit 7");
    let words = [
        "--base-start",
        "./good {port}",
        "--head-start",
        "./dies {port}",
    ];
    let ended = gate(&folder, &words);
    assert_eq!(ended.code, Some(1), "{}\n{}", ended.stdout, ended.stderr);
    assert_says(&ended.stderr, "it exited with status 7");
    assert_says(&ended.stderr, "broken config");
    // Whoever reads a document has one.
    let ended = gate(&folder, &[&words[..], &["--format", "junit"]].concat());
    assert_eq!(ended.code, Some(1), "{}\n{}", ended.stdout, ended.stderr);
    let cases = Report::deserialize_from_str(&ended.stdout).unwrap();
    assert_eq!((cases.failures, cases.errors), (0, 1), "{cases:?}");
    let ended = gate(&folder, &[&words[..], &["--format", "json"]].concat());
    let found: Value = serde_json::from_str(&ended.stdout).unwrap();
    assert_eq!(found["verdict"], "failed", "{found}");
}

#[test]
fn an_interrupted_gate_leaves_its_records_and_no_worktree() {
    let folder = repository();
    serve(&folder, "0.001");
    commit(&folder);
    folder.write(
        "server/gate.toml",
        &GATE.replace("rounds_max = 6", "rounds_max = 1000"),
    );
    let words = [
        "server",
        "--base",
        "HEAD~1",
        "--head",
        "HEAD",
        "-o",
        ".scratch/out",
    ];
    let running = start(&mut gated(
        &folder,
        &[&words[..], &["--budget", "10m"]].concat(),
    ));
    let begun = folder.path(".scratch/out/rounds/head/001.json");
    until("a round is measured", || fs::exists(&begun).unwrap());
    running.signal(Signal::INT);
    let ended = running.end();
    assert_eq!(ended.code, Some(130), "{}\n{}", ended.stdout, ended.stderr);
    assert!(
        ended.stdout.starts_with("stopped by SIGINT after "),
        "{}",
        ended.stdout
    );
    assert!(fs::exists(folder.path(".scratch/out/report.html")).unwrap());
    assert_tidy(&folder);
}
