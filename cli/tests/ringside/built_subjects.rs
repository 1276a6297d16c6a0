//! `ringside subjects`, on the subjects of the repository: each is built, started, asked for all
//! that it declares, and ended.
//!
//! Building all of them takes minutes, so that is left to `ringside subjects build --all`, which
//! `.ci/run` says before the tests. What is not built is said loudly; what cannot run on a bare
//! Debian machine is named here.

use std::path::{Path, PathBuf};
use std::sync::Mutex;
use std::thread;
use std::time::Duration;

use engine::signal::Stop;
use lab::Event;
use lab::check::{self, Found, Options, Readiness};
use supervisor::subject::Subject;

use super::child::{Ended, Folder, assert_says, command, ringside, start};
use super::skip::{not_permitted, skip};

/// Subjects that need what nobody can install on a bare Debian machine, and what that is.
const NOT_INSTALLABLE: [(&str, &str); 9] = [
    ("calls-concurrent", SWOOLE),
    ("calls-serial", SWOOLE),
    (
        "mechanisms-sqpoll",
        "a third core, which this machine doesn't have",
    ),
    ("swoole-epoll", SWOOLE),
    ("swoole-epoll-page", SWOOLE),
    ("swoole-http-server", SWOOLE),
    ("swoole-mysql", SWOOLE),
    ("swoole-uring", SWOOLE_ON_URING),
    ("swoole-uring-page", SWOOLE_ON_URING),
];

const SWOOLE: &str = "the extension Swoole of PHP, which Debian doesn't have";
const SWOOLE_ON_URING: &str =
    "the extension Swoole of PHP with io_uring, which Debian doesn't have";

/// For a subject to do its work once, which is three million goroutines beside other tests.
const PATIENCE: Duration = Duration::from_secs(240);

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
        Readiness::Ready | Readiness::Built => None,
    }
}

/// As people check one: in a private network.
fn checked(name: &str) -> Result<(), String> {
    let folder = folder().display().to_string();
    let words = ["subjects", "check", name, "--dir", &folder];
    let ended = start(&mut command(&words)).end_within(PATIENCE);
    match ended.code {
        Some(0) => Ok(()),
        _ => Err(format!("{name}: {}{}", ended.stdout, ended.stderr)),
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
    let unlucky = Mutex::new(Vec::new());
    let check_in_turn = || {
        loop {
            let next = subjects.lock().unwrap().next();
            let Some((name, subject)) = next else { return };
            let subject = subject.unwrap_or_else(|bad| panic!("{bad}"));
            let Some(why) = skipped(&subject, &options) else {
                if let Err(said) = checked(&name) {
                    println!("{said}");
                    unlucky.lock().unwrap().push(name);
                }
                continue;
            };
            match NOT_INSTALLABLE.iter().find(|(known, _)| *known == name) {
                Some((_, what)) => not_permitted(format!("{name} needs {what}")),
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
    // Beside three million goroutines anybody may answer too late: that shows once they are gone.
    for name in unlucky.into_inner().unwrap() {
        checked(&name).unwrap_or_else(|said| panic!("{said}"));
    }
    let unexpected = unexpected.into_inner().unwrap();
    if !unexpected.is_empty() {
        skip(unexpected.join("; "));
    }
}

/// What stands behind a heading of the guide in the first block in this language.
fn block<'a>(guide: &'a str, heading: &str, language: &str) -> &'a str {
    let (_, section) = guide.split_once(heading).expect("such a heading");
    let begin = format!("```{language}\n");
    let (_, rest) = section.split_once(&begin).expect("such a block");
    rest.split_once("```").expect("its end").0
}

/// Whoever types the guide's two servers and its comparison has a report at the first attempt.
#[test]
fn the_subjects_of_the_guide_work_as_they_stand_there() {
    let guide = Path::new(env!("CARGO_MANIFEST_DIR")).join("../docs/src/guides/subjects.md");
    let guide = std::fs::read_to_string(guide).unwrap();
    let place = Folder::new();
    let subjects = [
        ("my-python", "## The least", "server.py", "python"),
        ("my-cpp", "## With a build", "main.cpp", "cpp"),
    ];
    let options = Options {
        ringside: env!("CARGO_BIN_EXE_ringside").into(),
        cache: Some(place.path("builds").into()),
    };
    for (name, heading, file, language) in subjects {
        let folder = PathBuf::from(place.path("subjects")).join(name);
        std::fs::create_dir_all(&folder).unwrap();
        for (file, language) in [("subject.toml", "toml"), (file, language)] {
            std::fs::write(folder.join(file), block(&guide, heading, language)).unwrap();
        }
        let subject = Subject::read(&folder).unwrap_or_else(|bad| panic!("{bad}"));
        let mut aloud = |event: &Event<'_>| println!("{event}");
        match check::check(&subject, &options, &Stop::new(), &mut aloud) {
            Found::Good(_) => {}
            Found::Missing(sentence) => return skip(sentence),
            found => panic!("{found:?}"),
        }
    }
    let file = place.path("mine.toml");
    std::fs::write(
        &file,
        block(&guide, "The least that one has to say", "toml"),
    )
    .unwrap();
    let words = [
        "compare",
        &file,
        "--quick",
        "--no-ceiling",
        "--output",
        &place.path("out"),
    ];
    let mut compare = command(&words);
    compare.env("XDG_CACHE_HOME", place.path("cache"));
    let ended = start(&mut compare).end();
    assert_eq!(ended.code, Some(0), "{}{}", ended.stdout, ended.stderr);
    assert_says(&ended.stdout, "How do my-python and my-cpp compare?");
    assert!(!ended.stdout.contains("failed"), "{}", ended.stdout);
}

/// What `ringside subjects new` writes below `place`, as it ended.
fn new(place: &Folder, words: &[&str]) -> Ended {
    let dir = place.path("some/subjects");
    let mut all = vec!["subjects", "new"];
    all.extend(words);
    all.extend(["--dir", &dir]);
    ringside(&all)
}

#[test]
fn a_new_subject_can_be_checked_and_compared_as_it_is() {
    let place = Folder::new();
    let dir = place.path("some/subjects");
    let made = new(&place, &["mine"]);
    assert_eq!(made.code, Some(0), "{}", made.stderr);
    assert_says(&made.stdout, "mine/subject.toml\n");
    assert_says(&made.stderr, "ringside subjects check mine --dir ");
    let ours = format!(
        "{} serve --addr 127.0.0.1:{{port}}",
        env!("CARGO_BIN_EXE_ringside")
    );
    let words = ["v1", "--command", &ours, "--path", "/json"];
    let made = new(&place, &words);
    assert_eq!(made.code, Some(0), "{}", made.stderr);
    let text = std::fs::read_to_string(place.path("some/subjects/v1/subject.toml")).unwrap();
    assert_says(
        &text,
        "path = \"/json\"\nstatus = 200\ncontent_type = \"application/json\"\n",
    );
    let checked = ringside(&["subjects", "check", "mine", "v1", "--dir", &dir]);
    assert_eq!(
        checked.code,
        Some(0),
        "{}{}",
        checked.stdout,
        checked.stderr
    );
    assert_eq!(
        checked.stdout.matches("  ok  ").count(),
        2,
        "{}",
        checked.stdout
    );
    let file = place.path("some/mine.toml");
    std::fs::write(&file, "subjects = [\"mine\"]\n").unwrap();
    let compared = ringside(&["compare", &file, "--quick", "--output", &place.path("out")]);
    assert_eq!(
        compared.code,
        Some(0),
        "{}{}",
        compared.stdout,
        compared.stderr
    );
}

#[test]
fn a_new_subject_runs_where_its_command_was_typed() {
    let (typed, elsewhere) = (Folder::new(), Folder::new());
    let script = "import http.server, sys\nopen('beside').read()\n\
                  class H(http.server.BaseHTTPRequestHandler):\n def do_GET(s):\n  \
                  s.wfile.write(b'HTTP/1.1 200 OK\\r\\nContent-Length: 2\\r\\n\\r\\nhi')\n \
                  def log_message(*a): pass\n\
                  http.server.HTTPServer(('127.0.0.1', int(sys.argv[1])), H).serve_forever()\n";
    std::fs::write(typed.path("v1.py"), script).unwrap();
    std::fs::write(typed.path("beside"), "").unwrap();
    let mut new = command(&["subjects", "new", "v1", "--command", "python3 v1.py {port}"]);
    let made = start(new.current_dir(typed.path("."))).end();
    assert_eq!(made.code, Some(0), "{}", made.stderr);
    let text = std::fs::read_to_string(typed.path("subjects/v1/subject.toml")).unwrap();
    let whole = std::fs::canonicalize(typed.path(".")).unwrap();
    assert_says(&text, &format!("\nfolder = \"{}\"\n", whole.display()));
    let dir = typed.path("subjects");
    let mut check = command(&["subjects", "check", "v1", "--dir", &dir]);
    let checked = start(check.current_dir(elsewhere.path("."))).end();
    assert_eq!(
        checked.code,
        Some(0),
        "{}{}",
        checked.stdout,
        checked.stderr
    );
    let gone = text.replace(&whole.display().to_string(), "/nowhere");
    std::fs::write(typed.path("subjects/v1/subject.toml"), gone).unwrap();
    let checked = ringside(&["subjects", "check", "v1", "--dir", &dir]);
    assert_eq!(
        checked.code,
        Some(1),
        "{}{}",
        checked.stdout,
        checked.stderr
    );
    let said = checked.stdout + &checked.stderr;
    let said: Vec<&str> = said.split_whitespace().collect();
    assert_says(
        &said.join(" "),
        "can't run in /nowhere, which isn't a folder",
    );
}

#[test]
fn a_subject_that_cannot_be_made_says_why_and_leaves_nothing_behind() {
    let place = Folder::new();
    let ours = env!("CARGO_BIN_EXE_ringside");
    let serve = |more: &str| format!("{ours} serve --addr 127.0.0.1:{{port}} {more}");
    for (words, code, part) in [
        (vec!["../x"], 2, "can't name a subject"),
        (vec![], 2, "one name"),
        (vec!["a", "b"], 2, "one name"),
        (
            vec!["a", "--command", "./nowhere {port}"],
            2,
            "there's no program ./nowhere",
        ),
        (vec!["a", "--command", "sleep 9"], 2, "where the port goes"),
        (
            vec!["a", "--command", "false {port}"],
            1,
            "exited before it was ready",
        ),
        (
            vec!["a", "--command", &serve(""), "--path", "/nowhere"],
            1,
            "with status 404",
        ),
        (
            vec!["a", "--command", &serve(""), "--path", "here"],
            2,
            "must start with `/`",
        ),
        (
            vec!["a", "--command", &serve("--tls")],
            1,
            "write `tls = true`",
        ),
    ] {
        let ended = new(&place, &words);
        assert_eq!(ended.code, Some(code), "{words:?}: {}", ended.stderr);
        assert_says(&ended.stderr, part);
        assert!(place.names().is_empty(), "{words:?}: {:?}", place.names());
    }
    assert_eq!(new(&place, &["a"]).code, Some(0));
    let again = new(&place, &["a"]);
    assert_eq!(again.code, Some(2));
    assert_says(&again.stderr, "is there already: choose another name");
    let nowhere = ringside(&["subjects", "new", "a", "--dir", "/proc/nowhere"]);
    assert_eq!(nowhere.code, Some(2));
    assert_says(&nowhere.stderr, "pass another place as --dir");
    // Who leaves `./` out is told so.
    let file = place.path("some/subjects/a/subject.toml");
    let text = std::fs::read_to_string(&file).unwrap();
    std::fs::write(&file, text.replace("./server.py", "server.py")).unwrap();
    if text.contains("./server.py") {
        let dir = place.path("some/subjects");
        let checked = ringside(&["subjects", "check", "a", "--dir", &dir]);
        assert_eq!(checked.code, Some(1));
        assert_says(&checked.stderr, "write ./server.py");
    }
    let listed = ringside(&["subjects", "list", "--command", "x"]);
    assert_says(&listed.stderr, "is for `ringside subjects new NAME`");
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
