//! What git says and does: which commit a revision is, whether the working tree is a commit, and
//! trees of files of commits beside the user's own.
//!
//! All that's made is gone when its owner is: a worktree is a folder and an entry in the
//! repository. The user's branches, index and files stay as they are, and no hook runs.

use std::collections::BTreeMap;
use std::env;
use std::fs;
use std::io;
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use load::Stop;
use scaffold::Refused;
use supervisor::outside::{self, Ended};
use supervisor::setting::find_program;
use tempfile::TempDir;

/// What a hook of git, or whoever runs one, says of another repository or index.
const OF_OTHERS: [&str; 5] = [
    "GIT_DIR",
    "GIT_WORK_TREE",
    "GIT_INDEX_FILE",
    "GIT_PREFIX",
    "GIT_OBJECT_DIRECTORY",
];
/// Nobody is asked for a password, nothing waits for locks, and messages are in one language.
const FOR_US: [(&str, &str); 3] = [
    ("GIT_TERMINAL_PROMPT", "0"),
    ("GIT_OPTIONAL_LOCKS", "0"),
    ("LC_ALL", "C"),
];
/// Results of earlier runs are no changes of the server.
const BUT_RESULTS: &str = ":(top,exclude,glob)**/ringside-out/**";

/// Folders with trees begin like this, and go on with the number of the process that made them.
const PREFIX: &str = "ringside-gate-";

/// The repository that a folder is in.
#[derive(Clone, Debug)]
pub(crate) struct Repository {
    /// The top of the working tree.
    pub(crate) root: PathBuf,
    /// The folder, from there.
    pub(crate) inside: PathBuf,
}

impl Repository {
    /// That of a folder.
    pub(crate) fn of(folder: &Path) -> Result<Repository, String> {
        if find_program("git").is_none() {
            return Err(format!(
                "git isn't installed, or not in PATH: install it, or {ELSE}"
            ));
        }
        let asked = ["rev-parse", "--show-toplevel", "--show-prefix"];
        let said = git(folder, &asked, &[]).map_err(|why| {
            let folder = fs::canonicalize(folder).unwrap_or_else(|_| folder.to_owned());
            let folder = folder.display();
            match why.contains("not a git repository") {
                true => format!("{folder} isn't in a git repository: run this in one, or {ELSE}"),
                false => format!("git can't read the repository of {folder}: {why}"),
            }
        })?;
        let mut lines = said.lines();
        let root = lines.next().filter(|root| !root.is_empty());
        let root = root.ok_or("this repository has no working tree: run this in one that has")?;
        Ok(Repository {
            root: PathBuf::from(root),
            inside: PathBuf::from(lines.next().unwrap_or_default()),
        })
    }

    fn git(&self, words: &[&str]) -> Result<String, String> {
        git(&self.root, words, &[])
    }

    /// The commit that a revision is, in full.
    pub(crate) fn commit(&self, revision: &str) -> Result<String, String> {
        let found = |revision: &str| {
            let wanted = format!("{revision}^{{commit}}");
            self.git(&["rev-parse", "--verify", "--quiet", &wanted])
                .ok()
        };
        // What begins like a flag would be one.
        let known = Some(revision).filter(|revision| !revision.starts_with('-'));
        if let Some(commit) = known.and_then(found) {
            return Ok(commit.trim().to_owned());
        }
        let remote = format!("origin/{revision}");
        let way_out = if known.is_some() && found(&remote).is_some() {
            format!("did you mean {remote}?")
        } else if self.is_shallow() {
            format!(
                "this clone is shallow: fetch it with `git fetch --depth=1 origin {revision}` and \
                 name FETCH_HEAD, or clone with the whole history (fetch-depth: 0)"
            )
        } else {
            "give a branch, a tag or a commit that `git rev-parse` knows; one that's elsewhere \
             has to be fetched first"
                .to_owned()
        };
        Err(format!(
            "there's no revision {revision} in this repository: {way_out}"
        ))
    }

    fn is_shallow(&self) -> bool {
        let said = self.git(&["rev-parse", "--is-shallow-repository"]);
        said.is_ok_and(|said| said.trim() == "true")
    }

    /// Whether the files aren't those of HEAD.
    pub(crate) fn is_changed(&self) -> Result<bool, String> {
        let words = ["status", "--porcelain", "--", ":/", BUT_RESULTS];
        let said = self.git(&words);
        let said = said.map_err(|why| format!("git can't say what has changed: {why}"))?;
        Ok(!said.trim().is_empty())
    }

    /// What identifies the files as they are, but for those that git ignores. Nothing of that is
    /// in the user's index.
    pub(crate) fn tree(&self, scratch: &Path) -> Result<String, String> {
        let complain = |why: String| format!("git can't read the files as they are: {why}");
        let index = scratch.join("index");
        let own = self
            .git(&["rev-parse", "--git-path", "index"])
            .map_err(complain)?;
        // With what it knows of each file, most needn't be read; without it all are.
        let _ = fs::copy(self.root.join(own.trim()), &index);
        let index = index.display().to_string();
        let other = [("GIT_INDEX_FILE", index.as_str())];
        let add = ["add", "--all", "--", ":/", BUT_RESULTS];
        git(&self.root, &add, &other).map_err(complain)?;
        let tree = git(&self.root, &["write-tree"], &other).map_err(complain)?;
        Ok(tree.trim().to_owned())
    }

    /// Whether commits name other repositories, whose files worktrees don't have.
    pub(crate) fn has_submodules(&self) -> bool {
        self.root.join(".gitmodules").is_file()
    }
}

/// What goes without git.
const ELSE: &str = "give two directories (--base DIR --head DIR) or two commands (--base-start, \
                    --head-start)";

/// What git says, or its complaint.
fn git(folder: &Path, words: &[&str], more: &[(&str, &str)]) -> Result<String, String> {
    let mut command = Command::new("git");
    command.args(words).current_dir(folder).stdin(Stdio::null());
    for name in OF_OTHERS {
        command.env_remove(name);
    }
    command.envs(FOR_US).envs(more.iter().copied());
    // Ctrl-C is for ringside, which ends in order.
    command.process_group(0);
    let output = command
        .output()
        .map_err(|error: io::Error| format!("it can't be run: {error}"))?;
    if output.status.success() {
        return Ok(String::from_utf8_lossy(&output.stdout).into_owned());
    }
    let said = String::from_utf8_lossy(&output.stderr);
    Err(said.trim().trim_start_matches("fatal: ").to_owned())
}

/// Trees of files of commits, outside of the user's own. Gone when this is dropped.
#[derive(Debug)]
pub(crate) struct Worktrees {
    repository: Repository,
    folder: TempDir,
    made: bool,
}

impl Worktrees {
    /// A place for some.
    pub(crate) fn new(repository: &Repository) -> Result<Worktrees, Refused> {
        forget_left(repository);
        let prefix = format!("{PREFIX}{}-", std::process::id());
        let made = tempfile::Builder::new().prefix(&prefix).tempdir();
        let folder = made.map_err(|error| {
            let what = format!(
                "can't make a folder in {} to build in: {error}; set TMPDIR to another place",
                env::temp_dir().display()
            );
            Refused::Failed(what, Vec::new())
        })?;
        Ok(Worktrees {
            repository: repository.clone(),
            folder,
            made: false,
        })
    }

    /// Where something can be written for a moment.
    pub(crate) fn scratch(&self) -> &Path {
        self.folder.path()
    }

    /// The files of a commit, in a folder called `name`. What fetches them as they're checked out
    /// does that in the host's network.
    pub(crate) fn check_out(
        &mut self,
        commit: &str,
        name: &str,
        stop: &Stop,
    ) -> Result<PathBuf, Refused> {
        self.made = true;
        let folder = self.folder.path().join(name);
        let place = folder.display().to_string();
        let words = [
            "-c",
            "core.hooksPath=/dev/null",
            "-c",
            "advice.detachedHead=false",
            "worktree",
            "add",
            "--force",
            "--detach",
            place.as_str(),
            commit,
        ];
        let command = outside::Command {
            program: "git".to_owned(),
            arguments: words.map(str::to_owned).to_vec(),
            environment: environment(),
            folder: self.repository.root.clone(),
            log: self.folder.path().join(format!("{name}.log")),
        };
        match command.run(stop) {
            Ended::Well => Ok(folder),
            Ended::Stopped => Err(Refused::Stopped),
            // A terminal sends Ctrl-C to everybody.
            Ended::Badly(..) if stop.requested().is_some() => Err(Refused::Stopped),
            Ended::Badly(_, lines) => {
                let room = lines.iter().any(|line| line.contains("No space left"));
                let way_out = match room {
                    true => "; free some disk space, or set TMPDIR to a place that has some",
                    false => "",
                };
                let place = self.folder.path().display();
                let what = format!("git can't check {commit} out into {place}{way_out}");
                Err(Refused::Failed(what, lines))
            }
        }
    }
}

/// Removes what a process that was killed has left behind.
fn forget_left(repository: &Repository) {
    let list = repository.git(&["worktree", "list", "--porcelain"]);
    let list = list.unwrap_or_default();
    let places = list
        .lines()
        .filter_map(|line| line.strip_prefix("worktree "));
    let mut left = false;
    for folder in places.filter_map(|place| left_behind(Path::new(place), &env::temp_dir())) {
        left = true;
        // What can't be removed is in nobody's way.
        let _ = fs::remove_dir_all(folder);
    }
    if left {
        let _ = repository.git(&["worktree", "prune"]);
    }
}

/// The folder of trees in `temporary` that this one is in, if who made it is gone.
fn left_behind(tree: &Path, temporary: &Path) -> Option<PathBuf> {
    let folder = tree.parent()?;
    let name = folder.file_name()?.to_str()?.strip_prefix(PREFIX)?;
    let maker: u32 = name.split('-').next()?.parse().ok()?;
    let is_ours = folder.parent() == Some(temporary) && maker != std::process::id();
    let is_gone = !Path::new("/proc").join(maker.to_string()).exists();
    (is_ours && is_gone).then(|| folder.to_owned())
}

impl Drop for Worktrees {
    fn drop(&mut self) {
        if !self.made {
            return;
        }
        // The folder goes in any case, and with it what git could still find of them.
        let _ = fs::remove_dir_all(self.folder.path());
        let _ = self.repository.git(&["worktree", "prune"]);
    }
}

/// The user's environment: checking out may ask programs and servers of theirs.
fn environment() -> BTreeMap<String, String> {
    let text = |(name, value): (std::ffi::OsString, std::ffi::OsString)| {
        Some((name.into_string().ok()?, value.into_string().ok()?))
    };
    let mut environment: BTreeMap<String, String> = env::vars_os().filter_map(text).collect();
    environment.retain(|name, _| !OF_OTHERS.contains(&name.as_str()));
    let ours = FOR_US.map(|(name, value)| (name.to_owned(), value.to_owned()));
    environment.extend(ours);
    environment
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A repository with a commit, and a branch `old` at it.
    fn repository() -> (TempDir, Repository) {
        let folder = tempfile::tempdir().expect("a folder");
        let run = |words: &[&str]| {
            let who = ["-c", "user.name=x", "-c", "user.email=x@example.com"];
            let words = [&who[..], words].concat();
            git(folder.path(), &words, &[]).unwrap_or_else(|why| panic!("{words:?}: {why}"))
        };
        run(&["init", "--quiet", "--initial-branch=main"]);
        fs::create_dir(folder.path().join("server")).expect("it is ours");
        fs::write(folder.path().join("server/a"), "1").expect("it is ours");
        run(&["add", "--all"]);
        run(&["commit", "--quiet", "--message=one"]);
        run(&["branch", "old"]);
        let repository = Repository::of(&folder.path().join("server")).expect("it is one");
        (folder, repository)
    }

    #[test]
    fn a_revision_is_a_commit_or_nothing() {
        let (_folder, repository) = repository();
        assert_eq!(repository.inside, Path::new("server/"));
        let commit = repository.commit("main").expect("a branch");
        assert_eq!(commit.len(), 40);
        assert_eq!(repository.commit("old"), Ok(commit));
        for unknown in ["no", "--all", "", "main:server/a"] {
            let why = repository.commit(unknown).expect_err(unknown);
            assert!(why.contains("there's no revision"), "{why}");
        }
    }

    #[test]
    fn a_shallow_clone_is_told_what_to_fetch_and_a_remote_branch_is_meant() {
        let (folder, _) = repository();
        let place = tempfile::tempdir().expect("a folder");
        let from = format!("file://{}", folder.path().display());
        let to = place.path().join("clone");
        let to = to.to_str().expect("a plain path");
        let words = ["clone", "--quiet", "--depth=1", "--branch=main", &from, to];
        git(place.path(), &words, &[]).expect("a clone");
        let clone = Repository::of(Path::new(to)).expect("it is one");
        let why = clone.commit("old").expect_err("it wasn't fetched");
        assert!(why.contains("git fetch --depth=1 origin old"), "{why}");
        git(Path::new(to), &["checkout", "--quiet", "--detach"], &[]).expect("a commit");
        git(
            Path::new(to),
            &["branch", "--delete", "--force", "main"],
            &[],
        )
        .expect("a branch");
        let why = clone
            .commit("main")
            .expect_err("only the remote one is there");
        assert!(why.contains("did you mean origin/main?"), "{why}");
    }

    #[test]
    fn changes_are_seen_and_told_apart_without_touching_the_index() {
        let (folder, repository) = repository();
        let scratch = tempfile::tempdir().expect("a folder");
        let tree = || repository.tree(scratch.path()).expect("a tree");
        assert_eq!(repository.is_changed(), Ok(false));
        let clean = tree();
        fs::create_dir_all(folder.path().join("server/ringside-out/x")).expect("it is ours");
        fs::write(folder.path().join("server/ringside-out/x/y"), "").expect("it is ours");
        assert_eq!(
            (repository.is_changed(), tree()),
            (Ok(false), clean.clone())
        );
        fs::write(folder.path().join("new"), "").expect("it is ours");
        assert_eq!(repository.is_changed(), Ok(true));
        let other = tree();
        assert_ne!(other, clean);
        let staged = repository.git(&["diff", "--cached", "--name-only"]);
        assert_eq!(staged, Ok(String::new()));
    }

    #[test]
    fn worktrees_have_the_files_of_their_commit_and_leave_nothing_behind() {
        let (folder, repository) = repository();
        let commit = repository.commit("main").expect("a branch");
        fs::write(folder.path().join("server/a"), "2").expect("it is ours");
        let mut trees = Worktrees::new(&repository).expect("a place");
        let stop = Stop::new();
        let [one, two] = ["base", "head"].map(|name| {
            let made = trees.check_out(&commit, name, &stop);
            made.unwrap_or_else(|why| panic!("{why:?}"))
        });
        for tree in [&one, &two] {
            assert!(!tree.starts_with(folder.path()));
            assert_eq!(
                fs::read_to_string(tree.join("server/a")).expect("a file"),
                "1"
            );
        }
        drop(trees);
        assert!(!one.exists() && !two.exists());
        let list = repository.git(&["worktree", "list"]).expect("a list");
        assert_eq!(list.lines().count(), 1, "{list}");
        assert_eq!(repository.is_changed(), Ok(true));
    }

    #[test]
    fn what_a_killed_process_left_is_removed_and_nothing_else() {
        let temporary = Path::new("/tmp");
        // The kernel has no process with this number (proc(5), pid_max).
        let gone = u32::MAX - 1;
        let left = format!("/tmp/{PREFIX}{gone}-x/base");
        let folder = left_behind(Path::new(&left), temporary);
        assert_eq!(
            folder,
            Some(PathBuf::from(format!("/tmp/{PREFIX}{gone}-x")))
        );
        for other in [
            format!("/tmp/{PREFIX}{}-x/base", std::process::id()),
            format!("/tmp/{PREFIX}1-x/base"),
            format!("/home/{PREFIX}{gone}-x/base"),
            format!("/tmp/{PREFIX}x/base"),
            "/tmp/mine/base".to_owned(),
        ] {
            assert_eq!(left_behind(Path::new(&other), temporary), None, "{other}");
        }
    }

    #[test]
    fn a_folder_without_a_repository_is_told_what_else_there_is() {
        let folder = tempfile::tempdir().expect("a folder");
        let why = Repository::of(folder.path())
            .map(|_| ())
            .expect_err("there is none");
        assert!(why.contains("isn't in a git repository"), "{why}");
        assert!(why.contains("--base-start"), "{why}");
    }
}
