//! `ringside compare` and `ringside subjects`: what the program adds to the lab, on files of its
//! own that name our server only.

use std::fs;
use std::path::Path;

use serde_json::Value;

use super::child::{Folder, assert_says, ringside};

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
