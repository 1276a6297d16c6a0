//! What another program does is handed over to it, wherever it stands, and whoever doesn't have it
//! is told how to get it.

use std::fs;
use std::os::unix::fs::PermissionsExt as _;
use std::path::{Path, PathBuf};
use std::process::Command;

/// The program for fleets, which only says what it was told.
const SAYS: &str = "#!/bin/sh\necho \"$0\" \"$@\" \"$NO_COLOR\"\n";

/// A folder with this program in it.
fn folder() -> (tempfile::TempDir, PathBuf) {
    let folder = tempfile::tempdir_in(env!("CARGO_TARGET_TMPDIR")).unwrap();
    let program = folder.path().join("ringside");
    fs::hard_link(env!("CARGO_BIN_EXE_ringside"), &program).unwrap();
    (folder, program)
}

fn put(folder: &Path) {
    let path = folder.join("ringside-fleet");
    fs::write(&path, SAYS).unwrap();
    fs::set_permissions(&path, fs::Permissions::from_mode(0o755)).unwrap();
}

/// Its exit code, and what it printed and said.
fn ends(program: &Path, path: &Path, words: &str) -> (Option<i32>, String, String) {
    let words = words.split(' ');
    let mut command = Command::new(program);
    let command = command.args(words).env("PATH", path).env_remove("NO_COLOR");
    let output = command.output().unwrap();
    let text = |bytes| String::from_utf8(bytes).unwrap();
    (
        output.status.code(),
        text(output.stdout),
        text(output.stderr),
    )
}

#[test]
fn what_is_asked_of_a_fleet_is_done_by_the_program_beside_this_one_or_on_the_path() {
    let (folder, program) = folder();
    let elsewhere = tempfile::tempdir().unwrap();
    put(elsewhere.path());
    // Its `sh` needs nothing of the path.
    let (code, out, said) = ends(&program, elsewhere.path(), "fleet agent --name a --help");
    assert_eq!(code, Some(0), "{said}");
    assert!(out.ends_with(" agent --name a --help \n"), "{out}");
    put(folder.path());
    let beside = folder.path().join("ringside-fleet");
    for (words, given) in [
        ("fleet status", "status "),
        ("--no-color fleet stop --nats h", "stop --nats h 1"),
        ("run --agents 2 http://h/", "run --agents 2 http://h/ "),
    ] {
        let (code, out, said) = ends(&program, elsewhere.path(), words);
        assert_eq!(code, Some(0), "{said}");
        assert_eq!(out, format!("{} {given}\n", beside.display()));
    }
}

#[test]
fn whoever_has_no_program_for_fleets_is_told_how_to_get_it() {
    let (folder, program) = folder();
    for words in ["fleet status", "run --agents local:2 http://h/"] {
        let (code, _, said) = ends(&program, folder.path(), words);
        assert_eq!(code, Some(2), "{said}");
        assert!(
            said.contains("`cargo build --release -p ringside-fleet`"),
            "{said}"
        );
    }
    let (code, _, said) = ends(&program, folder.path(), "fleet");
    assert_eq!(code, Some(2), "{said}");
    assert!(said.contains("<WHAT>"), "{said}");
    // What it is for is known without it.
    let (code, out, said) = ends(&program, folder.path(), "fleet --help");
    assert_eq!(code, Some(0), "{said}");
    assert!(out.contains("ringside fleet agent --policy"), "{out}");
}
