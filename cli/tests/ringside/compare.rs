//! `ringside compare` and `ringside subjects`: what the program adds to the lab, on files of its
//! own that name our server only.

use std::fs;
use std::path::Path;
use std::process::Command;

use rustix::process::Signal;
use serde_json::Value;

use super::child::{Folder, assert_says, command, ringside, start};

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
    let script = format!("echo $$ >{pipe}; exec {{ringside}} serve --addr 127.0.0.1:{{port}}");
    let subject = format!(
        "description = \"ours\"\nkind = \"server\"\n[start]\n\
         command = [\"sh\", \"-c\", \"{script}\"]\n[ready]\npath = \"/health\"\n\
         [[answer]]\npath = \"/\"\nstatus = 200\nbody = \"Hello, World!\"\n"
    );
    fs::create_dir_all(folder.path("subjects/ours")).unwrap();
    fs::write(folder.path("subjects/ours/subject.toml"), subject).unwrap();
    let file = folder.path("test.toml");
    let text = "name = \"test\"\nquestion = \"?\"\nsubjects = [\"ours\"]\nrounds = 9\n\
                [workload]\npath = \"/\"\nconnections = 4\nwindow = \"60s\"\n";
    fs::write(&file, text).unwrap();
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
