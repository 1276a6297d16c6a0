//! `ringside compare` and `ringside subjects`: what the program adds to the lab, on files of its
//! own that name our server only.

use std::fs;
use std::path::Path;
use std::process::Command;

use rustix::process::Signal;
use serde_json::Value;

use super::child::{Folder, assert_says, command, comparison_of_ours, ringside, start};
use super::skip::skip;

/// Writes a comparison of `subjects` into `folder` and gives its path.
fn comparison(folder: &Folder, subjects: &str) -> String {
    let text = format!(
        "name = \"test\"\nquestion = \"Does it run?\"\nsubjects = {subjects}\nrounds = 2\n\
         [workload]\npath = \"/\"\nconnections = 4\nwindow = \"100ms\"\nsettle = \"50ms\"\n\
         warm_up = \"50ms\"\n"
    );
    let path = folder.path("test.toml");
    fs::write(&path, text).unwrap();
    let ours = Path::new(env!("CARGO_MANIFEST_DIR")).join("../subjects");
    std::os::unix::fs::symlink(ours, folder.path("subjects")).unwrap();
    path
}

#[test]
fn our_own_server_is_compared_with_itself() {
    let folder = Folder::new();
    let file = comparison(&folder, "[\"ringside-epoll\", \"ringside-uring\"]");
    let out = folder.path("out");
    let ended = ringside(&["compare", &file, "-o", &out]);
    // Where io_uring is refused its row says so, which is not what this test is about.
    assert!(
        matches!(ended.code, Some(0 | 3)),
        "{}\n{}",
        ended.stdout,
        ended.stderr
    );
    assert_says(&ended.stdout, "ringside-epoll");
    assert_says(&ended.stderr, &format!("records and reports: {out}"));
    assert!(!ended.stdout.contains('\x1b'));
    let report = fs::read_to_string(format!("{out}/report.json")).unwrap();
    let report: Value = serde_json::from_str(&report).unwrap();
    assert_eq!(report["subjects"][0]["name"], "ringside-epoll");
    assert!(
        fs::read_to_string(format!("{out}/report.md"))
            .unwrap()
            .contains("ringside-epoll")
    );
}

/// A comparison with our own server on both cores of two, and the generator on one of them.
fn starved(folder: &Folder) -> String {
    let subject = "description = \"ours\"\nkind = \"server\"\n[start]\n\
                   command = [\"{ringside}\", \"serve\", \"--addr\", \"127.0.0.1:{port}\", \
                   \"--threads\", \"2\", \"--cpus\", \"{cpus}\"]\n[ready]\npath = \"/health\"\n\
                   [[answer]]\npath = \"/\"\nstatus = 200\nbody = \"Hello, World!\"\n";
    for name in ["one", "two"] {
        let subjects = folder.path(&format!("subjects/{name}"));
        fs::create_dir_all(&subjects).unwrap();
        fs::write(format!("{subjects}/subject.toml"), subject).unwrap();
    }
    let file = folder.path("test.toml");
    let text = "name = \"test\"\nquestion = \"?\"\nsubjects = [\"one\", \"two\"]\nrounds = 3\n\
                [cores]\nserver = \"0-1\"\ngenerator = \"1\"\n[workload]\npath = \"/\"\n\
                connections = 16\npipeline = 8\nwindow = \"300ms\"\nwarm_up = \"50ms\"\n";
    fs::write(&file, text).unwrap();
    file
}

#[test]
fn a_generator_that_is_the_limit_gives_no_plain_ratio_and_a_profile_says_why() {
    let folder = Folder::new();
    let file = starved(&folder);
    let out = folder.path("out");
    let ended = ringside(&["compare", &file, "-o", &out, "--profile"]);
    if ended.code == Some(2) && ended.stderr.contains("core ") {
        return skip("this takes the cores 0 and 1");
    }
    assert_eq!(ended.code, Some(0), "{}\n{}", ended.stdout, ended.stderr);
    let read = |name: &str| -> Value {
        let text = fs::read_to_string(format!("{out}/{name}")).unwrap();
        serde_json::from_str(&text).unwrap()
    };
    let report = read("report.json");
    for row in report["subjects"].as_array().unwrap() {
        let findings = row["samples"][0]["findings"].as_array().unwrap();
        let severe = |finding: &Value| finding["severity"] != "caution";
        assert!(findings.iter().any(severe), "{}: {findings:?}", row["name"]);
    }
    let verdict = &report["subjects"][1]["verdict"];
    let kind = verdict["kind"].as_str().unwrap();
    let open = ["undecided", "at_least", "at_most", "void"];
    assert!(open.contains(&kind), "{verdict}");
    // Where perf is missing or barred there is a sentence, where it is not there is a picture.
    let manifest = read("comparison.json");
    let rows = manifest["rows"].as_array().unwrap().iter();
    for row in rows.filter(|row| row["role"] == "subject") {
        let profile = &row["profile"];
        match profile["flame_graph"].as_str() {
            Some(picture) => {
                let svg = fs::read_to_string(format!("{out}/{picture}")).unwrap();
                assert!(svg.starts_with("<svg "), "{picture}");
            }
            None => assert_says(&profile["missing"].to_string(), "flame graph"),
        }
    }
}

#[test]
fn ctrl_c_ends_a_comparison_with_130_and_leaves_nobody_behind() {
    let folder = Folder::new();
    let pipe = folder.path("pipe");
    assert!(
        Command::new("mkfifo")
            .arg(&pipe)
            .status()
            .unwrap()
            .success()
    );
    // The subject tells its process id before it becomes the server.
    let rest = "rounds = 9\n[workload]\npath = \"/\"\nconnections = 4\nwindow = \"60s\"\n";
    let file = comparison_of_ours(&folder, &format!("echo $$ >{pipe};"), rest);
    let running = start(&mut command(&["compare", &file, "-o", &folder.path("out")]));
    // Ends when the subject has written and closed the other end.
    let pid = start(Command::new("cat").arg(&pipe)).end().stdout;
    running.signal(Signal::INT);
    let ended = running.end();
    assert_eq!(ended.code, Some(130), "{}", ended.stderr);
    assert_says(&ended.stdout, "ours");
    assert!(
        !Path::new("/proc").join(pid.trim()).exists(),
        "the subject is still there"
    );
}

#[test]
fn a_file_that_is_not_a_comparison_is_refused_with_its_line() {
    let folder = Folder::new();
    let path = folder.path("bad.toml");
    fs::write(&path, "name = \"bad\"\nrounds = \"many\"\n").unwrap();
    let ended = ringside(&["compare", &path]);
    assert_eq!((ended.code, ended.stdout.as_str()), (Some(2), ""));
    assert_says(&ended.stderr, "bad.toml:2");
    let ended = ringside(&["compare", &folder.path("missing.toml")]);
    assert_eq!((ended.code, ended.stdout.as_str()), (Some(2), ""));
    assert_says(&ended.stderr, "missing.toml");
}

#[test]
fn subjects_are_listed() {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../subjects");
    let ended = ringside(&["subjects", "--dir", folder.to_str().unwrap()]);
    assert_eq!((ended.code, ended.stderr.as_str()), (Some(0), ""));
    for name in [
        "go-nethttp",
        "nginx",
        "node-http",
        "ringside-epoll",
        "ringside-uring",
    ] {
        assert!(
            ended.stdout.lines().any(|line| line.starts_with(name)),
            "{}",
            ended.stdout
        );
    }
    let ended = ringside(&["subjects", "--dir", "/nonexistent"]);
    assert_eq!(ended.code, Some(2));
    assert_says(&ended.stderr, "--dir");
}

#[test]
fn two_sessions_that_nothing_ties_cannot_tell_and_end_with_five() {
    let pack = Path::new("../records/2026-11-23-2core-kvm-6.18/claims.tar.xz");
    let records = report::pack::Records::open(pack, &engine::signal::Stop::new()).unwrap();
    let diff = |name: &str| {
        let folder = records.folder().join(name).display().to_string();
        ringside(&["diff", &folder, &folder])
    };
    // As old records were, which didn't say what a subject was built from.
    let manifest = records.folder().join("staircase/comparison.json");
    let text = fs::read_to_string(&manifest).unwrap();
    let mut older: Value = serde_json::from_str(&text).unwrap();
    for row in older["rows"].as_array_mut().unwrap() {
        assert!(row["source"].is_string(), "{row}");
        row["source"] = Value::Null;
    }
    fs::write(&manifest, older.to_string()).unwrap();
    let open = diff("staircase");
    assert_eq!(open.code, Some(5), "{}", open.stderr);
    assert!(open.stdout.contains("can't tell: "), "{}", open.stdout);
    assert!(
        open.stdout.contains("run ringside compare FILE"),
        "{}",
        open.stdout
    );
    let tied = diff("engines");
    assert_eq!(tied.code, Some(0), "{}", tied.stderr);
    assert!(
        tied.stdout.contains("the same program in both sessions"),
        "{}",
        tied.stdout
    );
}
