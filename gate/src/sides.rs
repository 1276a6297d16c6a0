//! The two sides of a gate as subjects: out of two revisions, two directories or two commands.

use std::path::{Path, PathBuf};

use lab::check;
use lab::event::Observer;
use load::Stop;
use scaffold::Refused;
use scaffold::given::{self, Given, Server};
use schemars::JsonSchema;
use serde::Serialize;
use serde::de::IntoDeserializer;
use serde::de::value::Error;
use supervisor::subject::{Subject, Template};

use crate::repository::{Repository, Worktrees};

/// The rows of every gate. Both names are equally long, and so are all paths that they are part of:
/// the size of an environment alone makes programs faster or slower.
pub(crate) const BASE: &str = "base";
/// See [`BASE`].
pub(crate) const HEAD: &str = "head";

/// Given to builds, and a part of what they are kept under: two revisions never share one, even if
/// nobody said what a build is made of.
const REVISION: &str = "RINGSIDE_REVISION";
/// What stands for the files as they are.
const WORKTREE: &str = "worktree";
/// The description of a subject.
const SUBJECT: &str = "subject.toml";
/// So much of a commit tells it from others.
const SHORT: usize = 12;

/// What the two sides are.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Asked {
    /// Git revisions, or directories, of which each has a `subject.toml`.
    Named {
        /// The one that is held against.
        base: String,
        /// The one that is in question; none is the files as they are.
        head: Option<String>,
    },
    /// Commands that start servers.
    Started {
        /// The one that is held against.
        base: String,
        /// The one that is in question.
        head: String,
    },
}

/// Which commit a side is.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, JsonSchema)]
pub struct Revision {
    /// The commit.
    pub commit: String,
    /// Whether its files were changed since.
    pub changed: bool,
}

/// Both sides, the base first.
#[derive(Debug)]
pub(crate) struct Sides {
    pub(crate) subjects: [Subject; 2],
    /// How sentences call them.
    pub(crate) labels: [String; 2],
    pub(crate) commits: [Option<Revision>; 2],
    pub(crate) cautions: Vec<String>,
}

/// What became of what was asked for.
pub(crate) enum Found {
    /// Both are there; they stay as long as the trees do.
    Sides(Box<Sides>, Option<Worktrees>),
    /// There is nothing to compare, and why.
    Nothing {
        labels: [String; 2],
        commits: [Option<Revision>; 2],
        why: String,
        cautions: Vec<String>,
    },
}

/// What commands are asked.
#[derive(Clone, Debug, Default)]
pub(crate) struct Question {
    pub(crate) path: String,
    pub(crate) connections: Option<u32>,
    pub(crate) any_answer: bool,
}

/// The folder of the subject in the working tree: the one that is named, or the only one there is.
///
/// # Errors
/// A sentence that says what to give.
pub fn subject_folder(named: Option<&Path>) -> Result<PathBuf, String> {
    let holds = |folder: &PathBuf| folder.join(SUBJECT).is_file();
    if let Some(named) = named {
        let places = [named.to_owned(), Path::new("subjects").join(named)];
        let found = places.into_iter().find(holds);
        return found.ok_or_else(|| {
            let named = named.display();
            format!("there's no {named}/{SUBJECT}, and none in subjects/{named}")
        });
    }
    let here = PathBuf::from(".");
    if holds(&here) {
        return Ok(here);
    }
    let entries = Path::new("subjects").read_dir().into_iter().flatten();
    let folders = entries.flatten().map(|entry| entry.path());
    let mut folders: Vec<PathBuf> = folders.filter(holds).collect();
    folders.sort();
    match folders.as_slice() {
        [only] => Ok(only.clone()),
        [] => Err(format!(
            "there's no {SUBJECT} here or in a folder of subjects/: name the server's folder, or \
             begin one with `ringside subjects new NAME`"
        )),
        several => {
            let names = several.iter().filter_map(|folder| folder.file_name());
            let names: Vec<_> = names.map(|name| name.to_string_lossy()).collect();
            Err(format!(
                "there are several subjects here, {}: name one",
                names.join(", ")
            ))
        }
    }
}

/// Whether what is named is a directory with a subject, and not a revision.
pub fn is_directory(named: &str) -> bool {
    Path::new(named).join(SUBJECT).is_file()
}

/// Two directories as they are.
pub(crate) fn of_directories(base: &str, head: &str) -> Result<Sides, String> {
    for (one, other) in [(base, head), (head, base)] {
        if !is_directory(one) {
            return Err(format!(
                "{other} is a directory with a {SUBJECT}, and {one} isn't: give two directories, \
                 or two revisions (a branch that's called like a directory is refs/heads/{other})"
            ));
        }
    }
    let read = |folder: &str| Subject::read(Path::new(folder)).map_err(|bad| bad.to_string());
    let mut subjects = [read(base)?, read(head)?];
    let mut cautions = Vec::new();
    if subjects[0].folder == subjects[1].folder {
        cautions.push("Base and head are the same directory: what differs is noise.".to_owned());
    }
    for (subject, folder) in subjects.iter_mut().zip([base, head]) {
        subject.description = format!("{} ({folder})", subject.description);
    }
    Ok(Sides {
        subjects,
        labels: [base.to_owned(), head.to_owned()],
        commits: [None, None],
        cautions,
    })
}

/// Two commands, each started once to see what it answers.
pub(crate) fn of_commands(
    commands: [&str; 2],
    question: &Question,
    options: &check::Options,
    stop: &Stop,
    observer: &mut dyn Observer,
) -> Result<Sides, Refused> {
    let start = |command: &str| Server::Start(command.to_owned());
    let given = Given {
        servers: commands.map(start).to_vec(),
        path: question.path.clone(),
        connections: question.connections,
        any_answer: question.any_answer,
        ..Given::default()
    };
    let made = given::make(&given, options, stop, observer)?;
    let subjects = <[Subject; 2]>::try_from(made.subjects);
    let subjects = subjects.map_err(|_| Refused::Wrong("expected two commands".to_owned()))?;
    Ok(Sides {
        // What somebody typed may be as long as they like.
        labels: ["the base".to_owned(), "the head".to_owned()],
        subjects,
        commits: [None, None],
        cautions: made.cautions,
    })
}

/// Two revisions of the subject in `folder`, each with the files of its commit, but for a head that
/// is the files as they are.
pub(crate) fn of_revisions(
    folder: &Path,
    base: &str,
    head: Option<&str>,
    stop: &Stop,
) -> Result<Found, Refused> {
    let repository = Repository::of(folder).map_err(Refused::Wrong)?;
    let commit = |revision| repository.commit(revision).map_err(Refused::Wrong);
    let as_it_is = head.is_none_or(|head| head == WORKTREE);
    let changed = repository.is_changed().map_err(Refused::Wrong)?;
    let named = head.filter(|_| !as_it_is).unwrap_or("HEAD");
    let commits = [(base, false), (named, as_it_is && changed)]
        .map(|(revision, changed)| commit(revision).map(|commit| Revision { commit, changed }));
    let [of_base, of_head] = commits;
    let revisions = [of_base?, of_head?];
    let labels = [base.to_owned(), label(named, as_it_is)];
    let cautions = cautions(&repository, &labels, as_it_is, changed);
    let nothing = |why: String| {
        Ok(Found::Nothing {
            labels: labels.clone(),
            commits: revisions.clone().map(Some),
            why,
            cautions: cautions.clone(),
        })
    };
    let [before, after] = &revisions;
    if before.commit == after.commit && !after.changed {
        return nothing(same(&labels, before));
    }
    let mut trees = Worktrees::new(&repository)?;
    let base_tree = trees.check_out(&before.commit, BASE, stop)?;
    let head_tree = match as_it_is {
        true => None,
        false => Some(trees.check_out(&after.commit, HEAD, stop)?),
    };
    let inside = |tree: &Path| tree.join(&repository.inside);
    let head_folder = head_tree.as_deref().map_or(folder.to_owned(), inside);
    let place = shown(&repository.inside);
    if !head_folder.join(SUBJECT).is_file() {
        let what = format!(
            "{} has no {place}, so there's nothing to measure",
            labels[1]
        );
        return Err(Refused::Wrong(what));
    }
    if !inside(&base_tree).join(SUBJECT).is_file() {
        let [base, head] = &labels;
        return nothing(format!("{base} has no {place} yet, it's new in {head}"));
    }
    let identity = match after.changed {
        true => repository.tree(trees.scratch()).map_err(Refused::Wrong)?,
        false => after.commit.clone(),
    };
    let base = Revised::of(&labels[0], before, &before.commit, Some(&base_tree));
    let head = Revised::of(&labels[1], after, &identity, head_tree.as_deref());
    let subjects = [
        base.subject(&inside(&base_tree), &repository)?,
        head.subject(&head_folder, &repository)?,
    ];
    let sides = Sides {
        subjects,
        labels,
        commits: revisions.map(Some),
        cautions,
    };
    Ok(Found::Sides(Box::new(sides), Some(trees)))
}

/// A side that is a revision.
struct Revised<'a> {
    label: &'a str,
    revision: &'a Revision,
    /// Tells it from all others.
    identity: &'a str,
    /// Where its files are; none is the working tree.
    tree: Option<&'a Path>,
}

impl<'a> Revised<'a> {
    fn of(
        label: &'a str,
        revision: &'a Revision,
        identity: &'a str,
        tree: Option<&'a Path>,
    ) -> Revised<'a> {
        Revised {
            label,
            revision,
            identity,
            tree,
        }
    }

    /// Its subject, in a folder of its files.
    fn subject(&self, folder: &Path, repository: &Repository) -> Result<Subject, Refused> {
        let (label, place) = (self.label, shown(&repository.inside));
        let subject = Subject::read(folder);
        let mut subject = subject.map_err(|bad| Refused::Wrong(format!("{label}: {bad}")))?;
        let elsewhere = |tree: &Path| elsewhere(&subject, tree, &repository.root);
        if let Some(what) = self.tree.and_then(elsewhere) {
            return Err(Refused::Wrong(format!("{label}: {place} {what}")));
        }
        subject.description = described(&subject.description, label, self.revision);
        keep_apart(&mut subject, self.identity);
        Ok(subject)
    }
}

/// What of a subject with its files in `tree` is in the working tree at `root` all the same, so
/// that each revision would be the same program.
fn elsewhere(subject: &Subject, tree: &Path, root: &Path) -> Option<String> {
    let start = &subject.start;
    let build = subject.build.iter().flat_map(|build| &build.commands);
    let commands = build.chain([&start.command]).map(|command| command.shown());
    let at_root = root.display().to_string();
    let mut named = commands.filter(|words| words.contains(&at_root));
    let folder = start.folder.as_ref();
    let strays = folder.filter(|folder| folder.starts_with(root) && !folder.starts_with(tree));
    let what = match (strays, named.next()) {
        (Some(folder), _) => format!("starts in {}", folder.display()),
        (None, Some(words)) => format!("runs `{words}`"),
        (None, None) => return None,
    };
    Some(format!(
        "{what}, which is your working tree whatever the revision: write paths relative to the \
         subject's folder (./server, {{subject}}/..), or build into {{build}}"
    ))
}

fn label(head: &str, as_it_is: bool) -> String {
    match as_it_is {
        true => "the working tree".to_owned(),
        false => head.to_owned(),
    }
}

/// Why there is nothing to compare where both are one commit.
fn same([base, head]: &[String; 2], revision: &Revision) -> String {
    let short = &revision.commit[..SHORT.min(revision.commit.len())];
    format!("{base} and {head} are the same commit, {short}")
}

fn shown(inside: &Path) -> String {
    inside.join(SUBJECT).display().to_string()
}

/// What a report says a side is.
fn described(description: &str, name: &str, revision: &Revision) -> String {
    let short = &revision.commit[..SHORT.min(revision.commit.len())];
    let changes = match revision.changed {
        true => " with uncommitted changes",
        false => "",
    };
    format!("{description} ({name}, {short}{changes})")
}

/// What a reader has to know of what was measured.
fn cautions(
    repository: &Repository,
    labels: &[String; 2],
    as_it_is: bool,
    changed: bool,
) -> Vec<String> {
    let mut cautions = Vec::new();
    match (as_it_is, changed) {
        (true, true) => {
            cautions.push("The head is the working tree with uncommitted changes.".to_owned());
        }
        (false, true) => cautions.push(format!(
            "The working tree has uncommitted changes, which aren't measured: {} is. To measure \
             them, leave --head out.",
            labels[1]
        )),
        (_, false) => {}
    }
    if repository.has_submodules() {
        let what = "This repository has submodules, and revisions are checked out without them; \
                    if the server is built from one, compare two directories.";
        cautions.push(what.to_owned());
    }
    cautions
}

/// Has the builds of a subject know which revision they are of, and be kept apart by that.
fn keep_apart(subject: &mut Subject, identity: &str) {
    let Some(build) = &mut subject.build else {
        return;
    };
    let text: Result<Template, Error> =
        serde::Deserialize::deserialize(identity.into_deserializer());
    // What a hash is made of has no placeholder.
    build
        .environment
        .extend(text.ok().map(|text| (REVISION.to_owned(), text)));
    if let Some(maker) = &mut build.maker {
        keep_apart(maker, identity);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn builds_of_two_revisions_are_kept_apart() {
        let folder = tempfile::tempdir().expect("a folder");
        let text = "[build]\ncommands = [[\"true\"]]\n[start]\ncommand = [\"true\"]\n\
                    [[answer]]\npath = \"/\"\nbody = \"x\"\n";
        std::fs::write(folder.path().join(SUBJECT), text).expect("it is ours");
        let of = |identity: &str| {
            let mut subject = Subject::read(folder.path()).unwrap_or_else(|bad| panic!("{bad}"));
            keep_apart(&mut subject, identity);
            let build = subject.build.expect("it has one");
            format!("{:?}", build.environment)
        };
        assert_eq!(of("1234"), of("1234"));
        assert_ne!(of("1234"), of("1235"));
        assert!(of("1234").contains(REVISION));
    }

    #[test]
    fn a_revision_that_would_start_the_working_tree_is_refused() {
        let folder = tempfile::tempdir().expect("a folder");
        let root = folder.path().canonicalize().expect("it is there");
        let tree = root.join("trees/base");
        let place = tree.join("server");
        std::fs::create_dir_all(&place).expect("it is ours");
        let refused = |start: &str| {
            let start = start.replace("ROOT", &root.display().to_string());
            let text = format!("[start]\n{start}\n[[answer]]\npath = \"/\"\nbody = \"x\"\n");
            std::fs::write(place.join(SUBJECT), text).expect("it is ours");
            let subject = Subject::read(&place).unwrap_or_else(|bad| panic!("{bad}"));
            elsewhere(&subject, &tree, &root)
        };
        assert_eq!(refused("command = [\"./server\"]\nfolder = \"..\""), None);
        let what = refused("command = [\"./server\"]\nfolder = \"ROOT\"");
        assert!(what.is_some_and(|what| what.starts_with("starts in ")));
        let what = refused("command = [\"ROOT/server\", \"{port}\"]");
        assert!(what.is_some_and(|what| what.contains("whatever the revision")));
    }

    #[test]
    fn a_side_is_described_with_its_commit_and_its_changes() {
        let revision = |changed| Revision {
            commit: "0123456789abcdef0123456789abcdef01234567".to_owned(),
            changed,
        };
        assert_eq!(
            described("my server", "main", &revision(false)),
            "my server (main, 0123456789ab)"
        );
        let changed = described("my server", "the working tree", &revision(true));
        assert!(
            changed.ends_with("0123456789ab with uncommitted changes)"),
            "{changed}"
        );
    }

    #[test]
    fn a_directory_is_no_counterpart_of_a_revision() {
        let folder = tempfile::tempdir().expect("a folder");
        std::fs::write(folder.path().join(SUBJECT), "").expect("it is ours");
        let here = folder.path().to_str().expect("a plain path");
        for [base, head] in [[here, "main"], ["main", here]] {
            let why = of_directories(base, head)
                .map(|_| ())
                .expect_err("one is none");
            assert!(why.contains("and main isn't"), "{why}");
        }
    }

    #[test]
    fn what_is_no_subject_is_told_what_to_name() {
        let why = subject_folder(Some(Path::new("nowhere"))).expect_err("it isn't there");
        assert!(why.contains("no nowhere/subject.toml"), "{why}");
        assert!(!is_directory("nowhere"));
    }
}
