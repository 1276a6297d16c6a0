//! Commands that are timed, and what subjects have beside them.

use lab::Event;
use lab::finding::{Check, Severity};
use lab::manifest::Outcome as How;
use lab::round::Round;
use lab::validity::{Line, Looked};
use lab::verdict::{Kind, Metric};
use load::Stop;
use studies::Outcome;
use supervisor::subject::Subject;

use crate::support::{
    Arena, alone, assert_companions_are_known, beside_others, left_behind, row, tiny,
};

/// A command that runs this script and is expected to write `output`.
fn command(script: &str, output: &str, more: &str) -> String {
    format!(
        "description = \"a script\"\nkind = \"command\"\noutput = {output:?}\n[start]\n\
         command = [\"/bin/sh\", \"-c\", {script:?}]\n{more}"
    )
}

/// The tiny server as a companion.
fn companion(name: &str) -> String {
    let program = std::env::current_exe().expect("this program has a path");
    format!(
        "[[companion]]\nname = {name:?}\n\
         command = [{program:?}, \"tiny_server\", \"--exact\", \"--nocapture\"]\n\
         environment = {{ TINY_PORT = \"{{port}}\" }}\nready = {{ path = \"/\" }}\n"
    )
}

fn compare(arena: &Arena, subjects: &[&str]) -> Outcome {
    let toml = format!(
        "name = \"test\"\nquestion = \"Are commands timed?\"\nsubjects = {subjects:?}\nrounds = 3\n"
    );
    arena.compare(&toml, &Stop::new())
}

#[test]
fn commands_are_timed_once_a_round_and_what_they_write_is_verified() {
    let _alone = alone();
    let arena = Arena::new("commands");
    arena
        .subject("quick", &command("echo done", "done\n", ""))
        .subject("slow", &command("sleep 0.1; echo done", "done\n", ""))
        .subject("wrong", &command("echo other", "done\n", ""))
        .subject("fails", &command("echo done; exit 3", "done\n", ""));
    let outcome = compare(&arena, &["quick", "slow", "wrong", "fails"]);
    assert_eq!(outcome.report.setup.metric, Metric::Seconds);
    let slow = row(&outcome, "slow");
    assert_eq!(slow.samples.len(), 3);
    for sample in &slow.samples {
        let seconds = sample.seconds.expect("it was timed");
        assert!((0.1..10.0).contains(&seconds), "{seconds}");
        assert!(sample.memory_peak_bytes.is_some(), "it was looked at");
    }
    // How far the two lie apart is a matter of the host; that they are compared is not.
    assert!(slow.ratio.is_some(), "{}", slow.verdict.sentence());
    assert_ne!(slow.verdict.kind, Kind::Void, "{}", slow.verdict.sentence());
    for (name, expected) in [
        ("wrong", "printed `other\\n` instead of `done\\n`"),
        ("fails", "it exited with status 3"),
    ] {
        let How::Failed { what, .. } = &row(&outcome, name).facts.outcome else {
            panic!("{name}: {:?}", row(&outcome, name).facts.outcome);
        };
        assert_eq!(what, expected);
    }
}

#[test]
fn nothing_loads_a_command_so_no_core_is_shared_with_a_generator() {
    let _beside = beside_others();
    let arena = Arena::new("one-core");
    arena
        .subject("alone", &command("true", "", ""))
        .subject("beside", &command("true", "", &companion("one")))
        .tiny("server", "");
    let shared = |subject: &str| {
        let toml = format!(
            "subjects = [{subject:?}]\nrounds = 3\naa = false\nceiling = false\n[cores]\n\
             server = \"0\"\ngenerator = \"0\"\n"
        );
        let tell = &mut |event: &Event<'_>| println!("{event}");
        let outcome = studies::compare(&arena.comparison(&toml), &Stop::new(), tell);
        let report = outcome.expect("it can be read").report;
        std::fs::remove_dir_all(arena.folder.join("out")).expect("its own folder");
        let cautions = report.cautions.into_iter();
        let cautions: Vec<String> = cautions
            .filter(|what| what.contains(" share a core"))
            .collect();
        // Whether it stays on its own is looked at in each row.
        let of_host = |line: &Line| line.check == Check::Cores && line.row.is_none();
        let checked = report.checks.iter().any(of_host);
        (cautions, checked)
    };
    assert_eq!(shared("alone"), (vec![], false));
    let (cautions, checked) = shared("beside");
    assert!(
        cautions[0].contains("with their companions") && !checked,
        "{cautions:?}"
    );
    let (cautions, checked) = shared("server");
    assert!(
        cautions[0].starts_with("Generator and server") && checked,
        "{cautions:?}"
    );
}

#[test]
fn a_companion_is_up_before_its_subject_and_gone_after_it() {
    let _beside = beside_others();
    let arena = Arena::new("companions");
    let second = "[[companion]]\nname = \"second\"\n\
                  prepare = [[\"/bin/sh\", \"-c\", \"echo made > made\"]]\n\
                  command = [\"/bin/sh\", \"-c\", \"exec sleep 1000 {companion.first.port}\"]\n\
                  ready = { command = [\"/bin/sh\", \"-c\", \"test -f made\"] }\n";
    let script = "test {companion.first.port} -gt 0 && cat {companion.second.dir}/made";
    let beside = companion("first") + second;
    arena
        .subject("asks", &command(script, "made\n", &beside))
        .subject("alone", &command("echo made", "made\n", ""));
    let outcome = compare(&arena, &["asks", "alone"]);
    assert_eq!(
        row(&outcome, "asks").samples.len(),
        3,
        "{:?}",
        row(&outcome, "asks").facts.outcome
    );
}

#[test]
fn what_a_companion_of_a_command_uses_is_nobody_elses() {
    let _beside = beside_others();
    let arena = Arena::new("busy-companion");
    let script = command("sleep 0.2; echo done", "done\n", &arena.burning_companion());
    arena.subject("busy", &script);
    let outcome = compare(&arena, &["busy"]);
    let file = outcome.folder.join("rounds/busy/001.json");
    let text = std::fs::read_to_string(file).expect("its round");
    let seen = Round::from_json(&text).expect("a round").watched;
    assert_companions_are_known(&seen);
}

#[test]
fn a_server_has_companions_too_and_one_that_fails_is_named() {
    let _beside = beside_others();
    let arena = Arena::new("broken-companion");
    let dies = "[[companion]]\nname = \"store\"\ncommand = [\"/bin/sh\", \"-c\", \"exit 4\"]\n\
                ready = { path = \"/\" }\n";
    arena
        .subject("good", &(tiny("", "") + &companion("beside")))
        .subject("bad", &(tiny("", "") + dies));
    let options = arena.comparison(&crate::support::quick(&["good", "bad"], 3));
    let tell = &mut |event: &Event<'_>| println!("{event}");
    let outcome = studies::compare(&options, &Stop::new(), tell).expect("it can be read");
    assert_eq!(
        left_behind(&arena.folder),
        Vec::<u32>::new(),
        "processes were left"
    );
    assert_eq!(row(&outcome, "good").samples.len(), 3);
    let How::Failed { what, .. } = &row(&outcome, "bad").facts.outcome else {
        panic!("{:?}", row(&outcome, "bad").facts.outcome);
    };
    let expected = "needs store, which exited before it was ready: it exited with status 4";
    assert_eq!(what, expected);
}

/// The processes that a row left behind, and the sentence of the check.
fn left_of(outcome: &Outcome, name: &str) -> Option<String> {
    let lines = outcome.report.checks.iter();
    let mut own = lines.filter(|line| line.row.as_deref() == Some(name));
    let line = own.find(|line| line.check == Check::LeftBehind)?;
    match &line.looked {
        Looked::Found(Severity::Caution, sentence) => Some(sentence.clone()),
        _ => None,
    }
}

#[test]
fn what_a_command_or_a_companion_leaves_behind_is_ended_and_said() {
    let _beside = beside_others();
    let arena = Arena::new("leaves");
    // Each ends when what it leaves is out of its group: of a session of its own.
    let daemon = "setsid sleep 1000 >/dev/null 2>&1 & \
                  until grep -q sleep /proc/$!/comm; do :; done; echo done";
    let away = r#"setsid \"$@\" & until [ $(cut -d' ' -f6 /proc/$!/stat) = $! ]; do :; done"#;
    // Has a process of its own do the work, as a daemon does, and is gone itself.
    let program = std::env::current_exe().expect("this program has a path");
    let forks = companion("forks").replacen(
        &format!("[{program:?}, "),
        &format!("[\"/bin/sh\", \"-c\", \"{away}\", \"-\", {program:?}, "),
        1,
    );
    // Its port is served by somebody who is not its child, so the sign must be patient.
    let forks = forks.replacen("path = \"/\"", "command = [\"true\"]", 1);
    arena
        .subject(
            "tidy",
            &command("sleep 0.01 & wait; echo done", "done\n", ""),
        )
        .subject("leaves", &command(daemon, "done\n", ""))
        .subject("needs", &command("echo done", "done\n", &forks));
    let outcome = compare(&arena, &["tidy", "leaves", "needs"]);
    assert_eq!(left_of(&outcome, "tidy"), None);
    let left = left_of(&outcome, "leaves").expect("it left somebody");
    assert!(left.ends_with("`sleep`"), "{left}");
    let left = left_of(&outcome, "needs").expect("its companion left somebody");
    assert!(left.contains("or its companions'"), "{left}");
    for row in &outcome.report.subjects {
        assert_eq!(
            row.samples.len(),
            3,
            "{}: {:?}",
            row.facts.name,
            row.facts.outcome
        );
    }
}

#[test]
fn what_a_command_or_a_companion_lacks_is_said() {
    let arena = Arena::new("command-faults");
    let good = command("cat {companion.one.dir}", "x", &companion("one"));
    for (from, to, words) in [
        (
            "output = \"x\"\n",
            "",
            "expected `output` (everything it prints)",
        ),
        (
            "[start]",
            "[ready]\npath = \"/\"\n[start]",
            "a command doesn't serve",
        ),
        ("\"command\"", "\"server\"", "expected `kind = \"command\"`"),
        (
            "companion.one.dir",
            "companion.one.dri",
            "did you mean {companion.one.dir}?",
        ),
        (
            "{ path = \"/\" }",
            "{}",
            "needs either `ready.path` or `ready.command`",
        ),
        (
            "name = \"one\"",
            "name = \"o/e\"",
            "the companion's name is `o/e`",
        ),
    ] {
        assert!(good.contains(from), "nothing to replace: {from}");
        arena.subject("bad", &good.replacen(from, to, 1));
        let message = match Subject::read(&arena.folder.join("subjects/bad")) {
            Ok(_) => panic!("{from} -> {to} was accepted"),
            Err(bad) => bad.to_string(),
        };
        assert!(message.contains(words), "{from} -> {to}: {message}");
    }
    let twice = command("true", "", &(companion("one") + &companion("one")));
    arena.subject("bad", &twice);
    let message = Subject::read(&arena.folder.join("subjects/bad")).expect_err("two of one name");
    assert!(
        message
            .to_string()
            .contains("two companions are called `one`")
    );
}

#[test]
fn servers_and_commands_are_not_compared_with_each_other() {
    let arena = Arena::new("mixed");
    arena
        .subject("timed", &command("true", "", ""))
        .tiny("server", "");
    let workload = "[workload]\npath = \"/\"\nconnections = 1\n";
    for (subjects, rest, words) in [
        (
            "[\"timed\", \"server\"]",
            "",
            "server is a server, and the first subject is a timed command",
        ),
        (
            "[\"server\", \"timed\"]",
            "",
            "timed is a timed command: expected only other commands",
        ),
        ("[\"timed\"]", workload, "timed is a timed command"),
        (
            "[\"timed\"]",
            "[sweep]\nconnections = [1, 2]\n",
            "are for servers",
        ),
    ] {
        let toml =
            format!("name = \"test\"\nquestion = \"?\"\nsubjects = {subjects}\nrounds = 3\n{rest}");
        let options = arena.comparison(&toml);
        let read = lab::comparison::Comparison::read(&options.file, None);
        let message = read.expect_err("it is refused").to_string();
        assert!(message.contains(words), "{message}");
    }
}
