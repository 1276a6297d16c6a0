//! Comparisons and subjects that cannot be read: each message names the file, the line and what
//! was expected there. And those of the repository, which can.

use std::path::{Path, PathBuf};

use lab::comparison::Comparison;
use supervisor::subject::Subject;

use crate::support::{Arena, quick, tiny};

/// The message about a comparison of two good subjects in which `from` is replaced by `to`.
fn refused(arena: &Arena, from: &str, to: &str) -> String {
    let good = quick(&["one", "two"], 3);
    assert!(good.contains(from), "nothing to replace: {from}");
    let options = arena.comparison(&good.replacen(from, to, 1));
    match Comparison::read(&options.file, None) {
        Ok(_) => panic!("{from} -> {to} was accepted"),
        Err(bad) => bad.to_string(),
    }
}

/// What is written, what instead, the line of the message (0: it has none), words in it.
const MISTAKES: &[(&str, &str, usize, &str)] = &[
    ("rounds = 3", "rounds = ", 4, "string values must be quoted"),
    (
        "rounds = 3",
        "rounds = \"three\"",
        4,
        "expected a whole number",
    ),
    ("rounds = 3", "rounds = 0", 4, "use 1 to 1000"),
    ("rounds = 3", "rouns = 3", 4, "did you mean `rounds`?"),
    (
        "connections = 4",
        "conections = 4",
        8,
        "did you mean `connections`?",
    ),
    (
        "connections = 4",
        "connections = -4",
        8,
        "expected a whole number",
    ),
    (
        "connections = 4",
        "connections = 0",
        8,
        "expected a whole number above zero",
    ),
    ("\"60ms\"", "\"soon\"", 9, "\"soon\" is not a duration"),
    ("\"60ms\"", "\"1ms\"", 9, "measures only the clock"),
    (
        "\"60ms\"",
        "60",
        9,
        "expected a time with a unit: write \"60ms\"",
    ),
    ("\"/\"", "\"here\"", 7, "it must start with `/`"),
    ("\"/\"", "\"/other\"", 7, "one declares no answer"),
    ("\"two\"", "\"tow\"", 3, "no subject `tow`"),
    ("\"two\"", "\"one\"", 3, "`one` appears twice"),
    ("\"two\"", "\"../two\"", 3, "no subject `../two`"),
    (
        "rounds",
        "baseline = \"too\"\nrounds",
        4,
        "did you mean `two`?",
    ),
    (
        "rounds",
        "baseline = \"x\"\nrounds",
        4,
        "expected one of: one, two",
    ),
    (
        "rounds",
        "engine = \"kqueue\"\nrounds",
        4,
        "expected auto, uring or epoll",
    ),
    (
        "rounds",
        "smallest_difference = \"2\"\nrounds",
        4,
        "expected a percentage",
    ),
    ("\"test\"", "\"../test\"", 1, "it names a folder"),
    (
        "[workload]",
        "[cores]\nserver = \"first\"\n[workload]",
        7,
        "names no cores",
    ),
    (
        "window",
        "rate = \"fast\"\nwindow",
        9,
        "\"fast\" is not a rate",
    ),
    (
        "window",
        "protocol = \"http2\"\nwindow",
        7,
        "one declares no answer to `/` over HTTP/2",
    ),
    (
        "window",
        "protocol = \"grpc\"\nwindow",
        7,
        "expected `proto = \"FILE.proto\"`",
    ),
    ("window", "protocol = \"http3\"\nwindow", 9, "`http1`"),
    (
        "window",
        "protocol = 1\nwindow",
        9,
        "expected one of its words, as a text",
    ),
    ("window", "message = \"@none.json\"\nwindow", 7, "none.json"),
    (
        "[workload]",
        "[[rows]]\nname = \"a\"\nsubject = \"one\"\n[workload]",
        3,
        "both `subjects` and [[rows]]",
    ),
    (
        "rounds = 3",
        "rounds = 3\nrounds_per_start = 0",
        5,
        "expected a whole number above zero",
    ),
    (
        "rounds = 3",
        "rounds = 3\nprecision = \"0%\"",
        5,
        "no measurement is exact",
    ),
    (
        "rounds = 3",
        "rounds = 3\nbudget = \"0s\"",
        5,
        "the time is zero",
    ),
    (
        "window",
        "payload = \"1G\"\nwindow",
        9,
        "the limit is 16 MiB",
    ),
    (
        "\"/\"",
        "\"/{payload}\"",
        7,
        "so it needs a `payload` such as",
    ),
    (
        "[workload]",
        "[sweep]\n[workload]",
        6,
        "expected one of: connections, rate",
    ),
    (
        "[workload]",
        "[sweep]\nrate = [\"1k\", \"2k\"]\nstreams = [1, 2]\n[workload]",
        6,
        "expected one of: connections, rate",
    ),
    (
        "[workload]",
        "[sweep]\nconnections = [4]\n[workload]",
        7,
        "1 points is out of range: use 2 to 64",
    ),
    (
        "[workload]",
        "[sweep]\nconnections = [4, 8, 4]\n[workload]",
        7,
        "4 appears twice",
    ),
    (
        "[workload]",
        "[sweep]\nrate = [\"1k\", \"fast\"]\n[workload]",
        7,
        "\"fast\" is not a rate",
    ),
    (
        "[workload]",
        "[sweep]\nworkers = [1, 2]\n[workload]",
        6,
        "one doesn't use {workers} in its command",
    ),
    (
        "[workload]",
        "[sweep]\npayload = [\"1\", \"2\"]\n[workload]",
        6,
        "the requests for one don't use {payload}",
    ),
    (
        "[workload]",
        "[sweep]\nstreams = [1, 2]\n[workload]",
        6,
        "one has no streams, because it's asked over HTTP/1.1",
    ),
    (
        "[workload]",
        "[[phase]]\nname = \"a b\"\nfor = \"1s\"\n[workload]",
        7,
        "expected a name of letters",
    ),
    (
        "[workload]",
        "[[phase]]\nname = \"a\"\nfor = \"1ms\"\n[workload]",
        7,
        "measures only the clock",
    ),
    (
        "[workload]",
        "[[phase]]\nname = \"a\"\nfor = \"1s\"\npass = [\"p99\"]\n[workload]",
        9,
        "no `<` or `>`",
    ),
    (
        "[workload]",
        "[[phase]]\nname = \"a\"\nfor = \"1s\"\n[[phase]]\nname = \"a\"\nfor = \"1s\"\n[workload]",
        10,
        "`a` appears twice",
    ),
    (
        "[workload]",
        "[[phase]]\nname = \"a\"\nfor = \"1s\"\n[sweep]\nconnections = [1, 2]\n[workload]",
        9,
        "both [sweep] and [[phase]]",
    ),
    (
        "[workload]",
        "[judge]\nequal_rate = \"auto\"\n[[phase]]\nname = \"a\"\nfor = \"1s\"\n[workload]",
        6,
        "`equal_rate` adds a phase of its own",
    ),
    (
        "[workload]",
        "[judge]\nequal_rate = \"auto\"\n[sweep]\nconnections = [1, 2]\n[workload]",
        6,
        "`equal_rate` and [sweep]",
    ),
    (
        "[workload]",
        "[judge]\nequal_rate = \"auto\"\n[workload]\nrate = \"100\"",
        6,
        "`equal_rate` is offered beside a closed loop",
    ),
    (
        "[workload]",
        "[judge]\nequal_rate = \"some\"\n[workload]",
        7,
        "or \"auto\" for half of what the slowest answers",
    ),
    (
        "[workload]",
        "[judge]\nfigures = [\"speed\"]\n[workload]",
        7,
        "unknown variant `speed`",
    ),
    (
        "subjects = [\"one\", \"two\"]\n",
        "",
        0,
        "expected `subjects = [\"NAME\", \"NAME\"]`, or [[rows]]",
    ),
];

#[test]
fn a_comparison_that_cannot_be_read_says_where_and_what_was_expected() {
    let arena = Arena::new("comparisons");
    arena.tiny("one", "").tiny("two", "");
    for (from, to, line, words) in MISTAKES.iter().copied() {
        let message = refused(&arena, from, to);
        let place = format!("comparisons/test.toml:{line}:");
        assert!(
            line == 0 || message.contains(&place),
            "{from} -> {to}: {message}"
        );
        assert!(message.contains(words), "{from} -> {to}: {message}");
    }
}

#[test]
fn each_point_of_a_sweep_is_the_comparison_with_one_setting_changed() {
    let arena = Arena::new("sweep-file");
    let sized = tiny("", "")
        .replace(
            "path = \"/\"\ncontent_type",
            "path = \"/{payload}\"\ncontent_type",
        )
        .replace("\"Hello, World!\"", "\"<{payload}>\"");
    arena.subject("one", &sized);
    let text = quick(&["one"], 3)
        .replace("path = \"/\"", "path = \"/{payload}\"")
        .replace(
            "[workload]",
            "[sweep]\npayload = [\"3\", \"1K\"]\n[workload]",
        );
    let read = Comparison::read(&arena.comparison(&text).file, None);
    let comparison = read.unwrap_or_else(|bad| panic!("{bad}"));
    let found: Vec<_> = comparison
        .points
        .iter()
        .map(|(point, at)| {
            let row = &at.rows[0];
            let body = &row.subject.answers[0].body;
            (
                point.key().folder(point.value()),
                row.question.path.as_str(),
                body.as_str(),
            )
        })
        .collect();
    assert_eq!(found[0], ("payload-3".to_owned(), "/3", "<012>"));
    assert_eq!((found[1].0.as_str(), found[1].1), ("payload-1024", "/1024"));
    assert_eq!(found[1].2.len(), 1026);
}

#[test]
fn the_phase_that_is_compared_is_the_workload() {
    let arena = Arena::new("phase-file");
    arena.tiny("one", "");
    let phases = "[[phase]]\nname = \"ramp\"\nrate = \"100\"\nfor = \"1s\"\n\
         [[phase]]\nname = \"hold\"\nrate = \"200\"\nfor = \"2s\"\npass = [\"rps>=190\"]\n\
         [[phase]]\nname = \"spike\"\nconnections = 9\nfor = \"2s\"\n[workload]";
    let text = quick(&["one"], 3).replace("[workload]", phases);
    let read = Comparison::read(&arena.comparison(&text).file, None);
    let comparison = read.unwrap_or_else(|bad| panic!("{bad}"));
    let compared = |at: &Comparison| {
        let found = at.phases.iter().find(|phase| phase.compared);
        found.map(|phase| phase.name.clone())
    };
    assert_eq!(compared(&comparison).as_deref(), Some("hold"));
    let workload = &comparison.rows[0].workload;
    assert_eq!(
        (workload.rate, workload.connections.get()),
        (Some(200.0), 4)
    );
    assert_eq!(workload.window.as_secs(), 2);
    let chosen = text.replace("connections = 9", "connections = 9\ncompared = true");
    let read = Comparison::read(&arena.comparison(&chosen).file, None);
    let comparison = read.unwrap_or_else(|bad| panic!("{bad}"));
    let workload = &comparison.rows[0].workload;
    assert_eq!((workload.rate, workload.connections.get()), (None, 4));
}

#[test]
fn a_comparison_need_only_name_its_subjects() {
    let arena = Arena::new("least");
    arena.tiny("one", "").tiny("two", "");
    let read = Comparison::read(
        &arena.comparison("subjects = [\"one\", \"two\"]").file,
        None,
    );
    let comparison = read.unwrap_or_else(|bad| panic!("{bad}"));
    assert_eq!((comparison.name.as_str(), comparison.rounds), ("test", 7));
    assert_eq!(comparison.question, "How do one and two compare?");
    let workload = &comparison.rows[1].workload;
    assert_eq!(comparison.rows[1].question.path, "/");
    assert_eq!(
        (workload.connections.get(), workload.window.as_millis()),
        (10, 1000)
    );
    assert!(!comparison.is_timed());
}

#[test]
fn a_message_shows_the_line_that_it_is_about() {
    let arena = Arena::new("shown");
    arena.tiny("one", "").tiny("two", "");
    let message = refused(&arena, "connections = 4", "conections = 4");
    assert!(message.ends_with("\n  8 | conections = 4"), "{message}");
}

#[test]
fn files_that_are_no_toml_files_are_refused() {
    let arena = Arena::new("no-toml");
    let read = |file: &Path| match Comparison::read(file, None) {
        Ok(_) => panic!("{} was accepted", file.display()),
        Err(bad) => bad.to_string(),
    };
    assert!(read(&arena.folder.join("absent.toml")).contains("can't be read: No such file"));
    assert!(read(&arena.folder).contains("is a folder"));
    let binary = arena.folder.join("binary.toml");
    std::fs::write(&binary, [0xff, 0xfe, 0x00]).expect("writable");
    assert!(read(&binary).contains("isn't UTF-8"));
    std::fs::write(&binary, "").expect("writable");
    assert!(read(&binary).contains("expected `subjects"));
}

#[test]
fn a_subject_that_cannot_be_read_says_where_and_what_was_expected() {
    let arena = Arena::new("subjects");
    for (from, to, words) in [
        ("{port}", "{prot}", "did you mean {port}?"),
        (
            "\"tiny_server\"",
            "\"{build}/x\"",
            "it needs a [build] section",
        ),
        ("[ready]", "[redy]", "did you mean `ready`?"),
        ("\"server\"", "\"client\"", "expected `server`"),
        (
            "[[answer]]\npath = \"/\"",
            "[[answer]]\npath = \"\"",
            "start with `/`",
        ),
        ("body", "bdy", "did you mean `body`?"),
        ("command = [", "command = [] # ", "the command is empty"),
        ("[start]", "[start]\nfiles = [\"../x\"]", "without folders"),
    ] {
        let good = tiny("", "");
        assert!(good.contains(from), "nothing to replace: {from}");
        arena.subject("bad", &good.replacen(from, to, 1));
        let message = match Subject::read(&arena.folder.join("subjects/bad")) {
            Ok(_) => panic!("{from} -> {to} was accepted"),
            Err(bad) => bad.to_string(),
        };
        assert!(message.contains("bad/subject.toml"), "{message}");
        assert!(message.contains(words), "{from} -> {to}: {message}");
    }
}

fn repository() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("..")
}

/// All comparisons of one of the repository's folders.
fn comparisons(folder: &str) -> Vec<Comparison> {
    let entries = repository().join(folder).read_dir().expect("the folder");
    let files = entries.flatten().map(|entry| entry.path());
    let files = files.filter(|file| file.extension() == Some("toml".as_ref()));
    let read = files.map(|file| Comparison::read(&file, None));
    read.map(|comparison| comparison.unwrap_or_else(|bad| panic!("{bad}")))
        .collect()
}

const FOLDERS: [&str; 5] = [
    "comparisons",
    "comparisons/bench",
    "comparisons/claims",
    "comparisons/mechanisms",
    "comparisons/soak",
];

#[test]
fn every_comparison_of_the_repository_can_be_read() {
    for folder in FOLDERS {
        assert!(comparisons(folder).len() > 1, "{folder}");
    }
}

#[test]
fn every_subject_of_the_repository_explains_itself() {
    let folder = repository().join("subjects");
    let subjects = Subject::all(&folder).expect("the folder");
    assert!(subjects.len() >= 5);
    for (name, subject) in subjects {
        let subject = subject.unwrap_or_else(|bad| panic!("{bad}"));
        assert!(
            folder.join(&name).join("README.md").is_file(),
            "{name} has no README.md"
        );
        let verified = !subject.answers.is_empty() || subject.output.is_some();
        assert!(verified, "{name} declares neither an answer nor an output");
    }
}

/// How many pairs of a comparison's subjects are asked the same, which they must answer alike.
fn alike(comparison: &Comparison) -> usize {
    let answers: Vec<_> = comparison
        .rows
        .iter()
        .flat_map(|row| &row.subject.answers)
        .collect();
    let mut same = 0;
    for (at, one) in answers.iter().enumerate() {
        for other in &answers[..at] {
            let question = |answer: &supervisor::subject::Answer| {
                let message = answer.message.clone();
                (answer.path.clone(), answer.protocol, message)
            };
            if question(one) == question(other) {
                assert_eq!(one.body, other.body, "{one:?} and {other:?}");
                assert_eq!(one.status, other.status, "{one:?} and {other:?}");
                same += 1;
            }
        }
    }
    same
}

#[test]
fn subjects_that_are_compared_and_asked_the_same_declare_the_same_answer() {
    let all = FOLDERS.into_iter().flat_map(comparisons);
    let same: usize = all.map(|comparison| alike(&comparison)).sum();
    assert!(same > 50, "only {same} pairs are asked the same");
}
