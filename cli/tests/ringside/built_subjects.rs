//! `ringside subjects`, on the subjects of the repository: each is built, started, asked for all
//! that it declares, and ended.
//!
//! Building all of them takes minutes, so that is left to `ringside subjects build --all`, which
//! `.ci/run` says before the tests. What is not built is said loudly; what cannot run on a bare
//! Debian machine is named here.

use std::path::{Path, PathBuf};
use std::sync::Mutex;
use std::thread;

use engine::signal::Stop;
use lab::Event;
use lab::check::{self, Found, Options, Readiness};
use supervisor::subject::Subject;

use super::child::{Folder, assert_says, ringside};
use super::skip::{not_permitted, skip};

/// Subjects whose runtime no package of Debian brings, and what that is.
const NOT_IN_DEBIAN: [(&str, &str); 2] = [
    ("swoole-epoll", "the extension Swoole of PHP"),
    (
        "swoole-uring",
        "the extension Swoole of PHP, built with io_uring",
    ),
];

/// How many subjects are checked at the same time.
const AT_ONCE: usize = 3;

fn folder() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../subjects")
}

/// What kept a subject from being checked, if something did.
fn skipped(subject: &Subject, options: &Options) -> Option<String> {
    let name = &subject.name;
    match check::readiness(subject, options).unwrap() {
        Readiness::Unbuilt => Some(format!("`ringside subjects build {name}` was not run")),
        Readiness::Missing(sentence) => Some(sentence),
        Readiness::Ready | Readiness::Built => {
            // As people check them: in a private network.
            let ended = ringside(&[
                "subjects",
                "check",
                name,
                "--dir",
                folder().to_str().unwrap(),
            ]);
            assert_eq!(
                ended.code,
                Some(0),
                "{name}: {}{}",
                ended.stdout,
                ended.stderr
            );
            None
        }
    }
}

#[test]
fn every_subject_that_is_built_answers_as_it_declares_and_leaves_nothing_behind() {
    let options = Options {
        ringside: env!("CARGO_BIN_EXE_ringside").into(),
        cache: None,
    };
    let subjects = Mutex::new(Subject::all(&folder()).unwrap().into_iter());
    let unexpected = Mutex::new(Vec::new());
    let check_in_turn = || {
        loop {
            let next = subjects.lock().unwrap().next();
            let Some((name, subject)) = next else { return };
            let subject = subject.unwrap_or_else(|bad| panic!("{bad}"));
            let Some(why) = skipped(&subject, &options) else {
                continue;
            };
            match NOT_IN_DEBIAN.iter().find(|(known, _)| *known == name) {
                Some((_, what)) => {
                    not_permitted(format!("{name} needs {what}, which Debian has not"));
                }
                None => unexpected.lock().unwrap().push(format!("{name}: {why}")),
            }
        }
    };
    // Runtimes take seconds to start, most of them waiting.
    thread::scope(|scope| {
        for _ in 0..AT_ONCE {
            scope.spawn(check_in_turn);
        }
    });
    let unexpected = unexpected.into_inner().unwrap();
    if !unexpected.is_empty() {
        skip(unexpected.join("; "));
    }
}

/// What stands in the first block of the guide that is in this language.
fn block<'a>(guide: &'a str, language: &str) -> &'a str {
    let begin = format!("```{language}\n");
    let (_, rest) = guide.split_once(&begin).expect("such a block");
    rest.split_once("```").expect("its end").0
}

#[test]
fn the_subject_of_the_guide_works_as_it_stands_there() {
    let guide = Path::new(env!("CARGO_MANIFEST_DIR")).join("../docs/src/guides/subjects.md");
    let guide = std::fs::read_to_string(guide).unwrap();
    let place = Folder::new();
    let folder = PathBuf::from(place.path("my-cpp"));
    std::fs::create_dir(&folder).unwrap();
    for (name, language) in [("subject.toml", "toml"), ("main.cpp", "cpp")] {
        std::fs::write(folder.join(name), block(&guide, language)).unwrap();
    }
    let options = Options {
        ringside: env!("CARGO_BIN_EXE_ringside").into(),
        cache: Some(place.path("builds").into()),
    };
    let subject = Subject::read(&folder).unwrap_or_else(|bad| panic!("{bad}"));
    let mut aloud = |event: &Event<'_>| println!("{event}");
    match check::check(&subject, &options, &Stop::new(), &mut aloud) {
        Found::Good(_) => {}
        Found::Missing(sentence) => skip(sentence),
        found => panic!("{found:?}"),
    }
}

#[test]
fn subjects_to_build_or_to_check_are_named() {
    let folder = folder();
    let folder = folder.to_str().unwrap();
    for action in ["build", "check"] {
        let ended = ringside(&["subjects", action, "--dir", folder]);
        assert_eq!((ended.code, ended.stdout.as_str()), (Some(2), ""));
        assert_says(&ended.stderr, "--all");
        let ended = ringside(&["subjects", action, "no-such-subject", "--dir", folder]);
        assert_eq!((ended.code, ended.stdout.as_str()), (Some(2), ""));
        assert_says(&ended.stderr, "no subject `no-such-subject`");
    }
}

#[test]
fn a_subject_that_is_checked_is_a_row_of_a_table() {
    let folder = folder();
    let words = ["subjects", "check", "ringside-epoll", "--dir"];
    let ended = ringside(&[&words[..], &[folder.to_str().unwrap()]].concat());
    assert_eq!(ended.code, Some(0), "{}", ended.stderr);
    let mut cells = ended.stdout.split_whitespace();
    assert_eq!(
        (cells.next(), cells.next()),
        (Some("ringside-epoll"), Some("ok"))
    );
}
