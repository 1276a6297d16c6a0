//! Which commit a build says it is of.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

#[path = "../../build/commit.rs"]
mod build;

use build::{Found, GIVEN, UNKNOWN, find};

/// A git that depends on nothing of this host, in `folder`.
fn git(folder: &Path, arguments: &[&str]) -> String {
    let output = Command::new("git")
        .env("GIT_CONFIG_GLOBAL", "/dev/null")
        .env("GIT_CONFIG_NOSYSTEM", "1")
        .args(["-c", "user.name=a", "-c", "user.email=a@localhost"])
        .args(["-c", "commit.gpgsign=false"])
        .args(arguments)
        .current_dir(folder)
        .output()
        .expect("git is installed");
    let said = String::from_utf8_lossy(&output.stderr).into_owned();
    assert!(output.status.success(), "git {arguments:?}: {said}");
    String::from_utf8(output.stdout).unwrap().trim().to_owned()
}

/// A workspace of one crate in a repository with one commit; and the crate's folder.
fn repository(root: &Path) -> PathBuf {
    let member = root.join("cli");
    fs::create_dir_all(member.join("src")).unwrap();
    fs::write(root.join("Cargo.toml"), "[workspace]\n").unwrap();
    fs::write(root.join("README.md"), "read\n").unwrap();
    fs::write(member.join("Cargo.toml"), "[package]\n").unwrap();
    fs::write(member.join("src/lib.rs"), "fn a() {}\n").unwrap();
    git(root, &["init", "--quiet", "--initial-branch=trunk"]);
    git(root, &["add", "."]);
    git(root, &["commit", "--quiet", "-m", "first"]);
    member
}

fn commit_of(folder: &Path) -> String {
    git(folder, &["rev-parse", "--short=12", "HEAD"])
}

/// What each watched path holds; a folder is its files'.
fn state(folder: &Path, found: &Found) -> Vec<(PathBuf, Option<String>)> {
    let held = |path: &PathBuf| (path.clone(), fs::read_to_string(folder.join(path)).ok());
    found.watched.iter().map(held).collect()
}

/// Commits something that is no source: only git's own files tell.
fn commit_elsewhere(root: &Path, text: &str) {
    fs::write(root.join("README.md"), text).unwrap();
    git(root, &["commit", "--quiet", "-a", "-m", text]);
}

#[test]
fn a_build_names_its_commit_and_whether_the_sources_are_others() {
    let root = tempfile::tempdir().unwrap();
    let member = repository(root.path());
    let clean = find(&member);
    assert_eq!(clean.commit, commit_of(&member));
    assert_eq!(find(&member), clean, "looking twice changes nothing");

    // A document is no part of the program.
    fs::write(root.path().join("README.md"), "other\n").unwrap();
    assert_eq!(find(&member), clean);

    fs::write(member.join("src/lib.rs"), "fn b() {}\n").unwrap();
    assert_eq!(find(&member).commit, format!("{}-dirty", clean.commit));
    assert!(clean.watched.contains(&"../cli/src".into()), "{clean:?}");
}

#[test]
fn a_commit_changes_what_is_watched_wherever_the_branch_is_kept() {
    let root = tempfile::tempdir().unwrap();
    let member = repository(root.path());
    git(root.path(), &["worktree", "add", "--quiet", "tree"]);
    let there = root.path().join("tree/cli");
    for (top, crate_folder) in [(root.path(), &member), (&root.path().join("tree"), &there)] {
        for packed in [false, true] {
            if packed {
                git(top, &["pack-refs", "--all"]);
            }
            let found = find(crate_folder);
            assert_eq!(found.commit, commit_of(crate_folder));
            for path in &found.watched {
                // Cargo starts the script at every build for a file that isn't there.
                assert!(crate_folder.join(path).exists(), "{}", path.display());
            }
            let before = state(crate_folder, &found);
            commit_elsewhere(top, &format!("packed: {packed}"));
            assert_ne!(state(crate_folder, &found), before, "{found:?}");
            assert_ne!(find(crate_folder).commit, found.commit);
        }
    }
}

#[test]
fn sources_that_git_does_not_keep_are_of_no_known_commit() {
    let root = tempfile::tempdir().unwrap();
    repository(root.path());
    let copy = root.path().join("copy/cli");
    fs::create_dir_all(copy.join("src")).unwrap();
    fs::write(copy.join("Cargo.toml"), "[package]\n").unwrap();
    assert_eq!(find(&copy), Found::given(UNKNOWN));
    let outside = tempfile::tempdir().unwrap();
    assert_eq!(find(outside.path()), Found::given(UNKNOWN));
}

#[test]
fn this_program_is_of_the_commit_of_its_checkout() {
    let said = super::child::ringside(&["--version"]).stdout;
    let expected = match std::env::var(GIVEN) {
        Ok(given) if !given.trim().is_empty() => given.trim().to_owned(),
        _ => find(Path::new(env!("CARGO_MANIFEST_DIR"))).commit,
    };
    // Sources may have been saved since this was built, and be no others than before.
    let expected = expected.trim_end_matches("-dirty");
    assert!(said.contains(expected), "{said}: {expected}");
}
