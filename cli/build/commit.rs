//! The commit that a checkout is at, and the files that change when it isn't any longer. A build
//! after which nothing changed starts nothing: what is watched is there, and none of it is written
//! by looking at it.

use std::path::{Path, PathBuf};
use std::process::Command;

/// Whoever builds outside of a checkout names the commit in this variable of the environment.
pub(crate) const GIVEN: &str = "RINGSIDE_COMMIT";
/// What a program says that was built from files nobody knows the commit of.
pub(crate) const UNKNOWN: &str = "unknown commit";

/// What was found out.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct Found {
    /// Twelve digits, with `-dirty` if the sources aren't that commit's, or [`UNKNOWN`].
    pub(crate) commit: String,
    /// As long as none of these files changes, the answer is the same.
    pub(crate) watched: Vec<PathBuf>,
}

impl Found {
    /// What was told needn't be looked for.
    pub(crate) fn given(commit: &str) -> Found {
        Found {
            commit: commit.to_owned(),
            watched: Vec::new(),
        }
    }
}

/// The commit of the crate in `folder`, if git keeps that crate: a copy of the sources inside some
/// other repository is of no commit of that one.
pub(crate) fn find(folder: &Path) -> Found {
    let kept = git(folder, &["ls-files", "--error-unmatch", "Cargo.toml"]);
    let commit = kept.and_then(|_| git(folder, &["rev-parse", "--short=12", "HEAD"]));
    let Some(commit) = commit else {
        return Found::given(UNKNOWN);
    };
    let sources = sources(folder);
    let mut question = vec!["diff", "--quiet", "HEAD", "--"];
    question.extend(sources.iter().filter_map(|path| path.to_str()));
    let dirty = match git(folder, &question) {
        Some(_) => "",
        None => "-dirty",
    };
    let mut watched = head(folder);
    watched.extend(sources);
    Found {
        commit: format!("{commit}{dirty}"),
        watched,
    }
}

/// What says which commit it is. Each worktree has its HEAD; a branch is a file of its own or a
/// line of `packed-refs`, and leaves that for a file with its next commit.
fn head(folder: &Path) -> Vec<PathBuf> {
    // The log grows with every commit and checkout, wherever the branch is kept.
    let mut names = ["HEAD", "logs/HEAD", "packed-refs"]
        .map(str::to_owned)
        .to_vec();
    names.extend(git(folder, &["symbolic-ref", "--quiet", "HEAD"]));
    names
        .iter()
        .filter_map(|name| git(folder, &["rev-parse", "--git-path", name]))
        .map(PathBuf::from)
        .filter(|path| folder.join(path).exists())
        .collect()
}

/// The files that the program is made of, as paths from `folder`.
fn sources(folder: &Path) -> Vec<PathBuf> {
    let above = Path::new("..");
    let mut found = vec![above.join("Cargo.toml"), above.join("Cargo.lock")];
    let crates = std::fs::read_dir(folder.join(above)).into_iter().flatten();
    for member in crates.flatten() {
        let member = above.join(member.file_name());
        if folder.join(&member).join("src").is_dir() {
            found.extend([member.join("Cargo.toml"), member.join("src")]);
        }
    }
    found.retain(|path| folder.join(path).exists());
    found.sort();
    found
}

/// What git answers; nothing where it refuses, or isn't there.
fn git(folder: &Path, arguments: &[&str]) -> Option<String> {
    let output = Command::new("git")
        // No hook's repository, and nothing written.
        .env_remove("GIT_DIR")
        .env_remove("GIT_WORK_TREE")
        .env_remove("GIT_INDEX_FILE")
        .env("GIT_OPTIONAL_LOCKS", "0")
        .current_dir(folder)
        .args(arguments)
        .output()
        .ok()?;
    let text = String::from_utf8(output.stdout).ok()?;
    output.status.success().then(|| text.trim().to_owned())
}
