//! Whole comparisons with real processes: what goes well, and everything that can go wrong with a
//! subject while the others must still be measured and nothing may be left behind.

use std::time::Duration;

use lab::finding::Check;
use lab::manifest::Outcome as How;
use lab::{CannotBegin, Event};
use load::{Signal, Stop};
use report::Look;
use studies::Outcome;

use crate::support::{Arena, arena_of, beside_others, left_behind, quick, row, tiny};

/// Runs a comparison to its end and checks that nobody is left behind.
pub(crate) fn compare(options: &lab::Options) -> Result<Outcome, CannotBegin> {
    let stop = Stop::new();
    let outcome = studies::compare(options, &stop, &mut |event: &Event<'_>| println!("{event}"));
    assert_eq!(
        left_behind(arena_of(&options.cache)),
        Vec::<u32>::new(),
        "processes were left behind"
    );
    outcome
}

fn what_failed<'a>(outcome: &'a Outcome, name: &str) -> (&'a str, &'a [String]) {
    match &row(outcome, name).facts.outcome {
        How::Failed { what, log } => (what, log),
        other => panic!("{name} should have failed, and is {other:?}"),
    }
}

#[test]
fn rows_of_one_subject_differ_in_how_they_are_asked_and_say_so() {
    let _beside = beside_others();
    let arena = Arena::new("rows");
    arena.tiny("one", "");
    let rows = r#"[[rows]]
name = "lasting"
subject = "one"

[[rows]]
name = "new"
subject = "one"
workload = { keep_alive = false }

[workload]"#;
    let text = quick(&["one"], 2).replace("subjects = [\"one\"]\n", "");
    let options = arena.comparison(&text.replace("[workload]", rows));
    let outcome = compare(&options).expect("it runs");
    assert_eq!(outcome.report.setup.baseline, "lasting");
    let wanted = [
        ("lasting", true, "4 connections, pipeline 1"),
        ("new", false, "a new connection for each exchange"),
    ];
    for (name, keep_alive, words) in wanted {
        let notes = &row(&outcome, name).notes;
        let says = |note: &report::Note| {
            note.says.starts_with("asked GET /") && note.says.ends_with(words)
        };
        assert!(notes.iter().any(says), "{name}: {notes:?}");
        let file = format!("rounds/{name}/001.json");
        let text = std::fs::read_to_string(outcome.folder.join(file)).expect("its record");
        let round = lab::round::Round::from_json(&text).expect("a round");
        let record = round.record.expect("what the generator measured");
        assert_eq!(record.plan.keep_alive, keep_alive, "{name}");
    }
}

#[test]
fn two_good_subjects_are_measured_in_every_round_and_written_down() {
    let _beside = beside_others();
    let arena = Arena::new("good");
    arena.tiny("one", "").tiny("two", "");
    let outcome = compare(&arena.comparison(&quick(&["one", "two"], 3))).expect("it runs");
    assert_eq!(
        outcome.end().exit_code(),
        0,
        "{:?}",
        outcome.report.conclusions
    );
    for name in ["one", "two"] {
        let row = row(&outcome, name);
        let figures = row.figures.as_ref().expect("measured");
        assert_eq!(figures.rounds, 3);
        assert!(figures.requests_per_second.lowest > 0.0);
        assert!(figures.server_cpu_us_per_exchange.expect("readable").median > 0.0);
        assert!(figures.memory_peak_bytes.expect("readable").median > 100_000.0);
        for round in 1..=3 {
            let file = format!("rounds/{name}/{round:03}.json");
            let text = std::fs::read_to_string(outcome.folder.join(file)).expect("its record");
            let round = lab::round::Round::from_json(&text).expect("a round");
            let record = round.record.expect("what the generator measured");
            assert_eq!(record.plan.connections, 4);
        }
    }
    let ratio = row(&outcome, "two").ratio.expect("three rounds");
    assert!(ratio.low <= ratio.centre && ratio.centre <= ratio.high);
    for file in [
        "report.md",
        "report.json",
        "comparison.json",
        "comparison.toml",
        "subjects/one/output.log",
    ] {
        assert!(outcome.folder.join(file).is_file(), "{file}");
    }
    let json = std::fs::read_to_string(outcome.folder.join("report.json")).expect("just seen");
    let json: serde_json::Value = serde_json::from_str(&json).expect("JSON");
    assert_eq!(
        json["subjects"][0]["samples"].as_array().map(Vec::len),
        Some(3)
    );
    let kept = lab::Kept::read(&outcome.folder).expect("it was written down");
    assert_eq!(kept.rounds.len(), 6);
    let rebuilt = report::Report::new(&kept.manifest, &kept.rounds);
    assert_eq!(report::json(&rebuilt), report::json(&outcome.report));
    let again = compare(&arena.comparison(&quick(&["one"], 1)));
    assert!(again.is_err_and(|error| error.to_string().contains("already holds a comparison")));
}

#[test]
fn a_subject_whose_warm_up_was_cut_short_counts_for_nothing() {
    let _beside = beside_others();
    let arena = Arena::new("cold");
    arena
        .subject("cold", &tiny("", "warm_up = \"1h\""))
        .tiny("warm", "");
    let options = lab::Options {
        warm_up_max: Some(Duration::from_millis(50)),
        ..arena.comparison(&quick(&["warm", "cold"], 1))
    };
    let outcome = compare(&options).expect("it runs");
    let said = row(&outcome, "cold")
        .samples
        .first()
        .and_then(|sample| sample.void());
    assert!(said.is_some_and(|why| why.contains("after 0.05 s of load instead of the 3600 s")));
    let warm = row(&outcome, "warm").samples.first().expect("one round");
    assert!(
        !warm
            .findings
            .iter()
            .any(|found| found.check == Check::WarmUp)
    );
}

#[test]
fn a_round_in_which_a_subject_goes_away_counts_for_nothing() {
    let _beside = beside_others();
    let arena = Arena::new("goes-away");
    arena.tiny("good", "").tiny("mortal", "goes away");
    // Few exchanges fail, since a closed loop asks next to nothing of a server that is gone.
    let text = quick(&["good", "mortal"], 1)
        .replace("window = \"60ms\"", "window = \"3s\"")
        .replace("warm_up = \"40ms\"", "warm_up = \"0s\"");
    let outcome = compare(&arena.comparison(&text)).expect("it runs");
    let row = row(&outcome, "mortal");
    let sample = row.samples.first().expect("one round");
    assert!(sample.completed > 0, "{sample:?}");
    let why = sample.void().expect("most of the time nobody answered");
    assert!(why.contains("of the load was lost"), "{why}");
    assert!(why.contains("no answers for"), "{why}");
    let lost = sample.lost();
    assert!(lost.outage_share > 0.01 && lost.attempts > 0, "{lost:?}");
    let figures = row.figures.as_ref().expect("what was measured");
    assert!(figures.errors() >= lost.count(), "{figures:?}");
    let text = report::terminal(
        &outcome.report,
        Look {
            unicode: true,
            colour: false,
            width: 100,
        },
    );
    assert!(text.contains("were lost"), "{text}");
}

#[test]
fn each_kind_of_trouble_is_a_sentence_in_its_row_and_the_others_are_measured() {
    let _beside = beside_others();
    let arena = Arena::new("trouble");
    let unbuildable = "[build]\n\
         commands = [[\"/bin/sh\", \"-c\", \"echo tiny.c: missing semicolon >&2; exit 2\"]]\n";
    let ends = tiny("", "").replacen("\"tiny_server\"", "\"no_such_test\"", 1);
    let family = "echo left; setsid sleep 1000 & sleep 1000 & exit 3";
    // What happens to whom: how the sentence begins, how it ends, and a line that was written.
    let troubles = [
        (
            "wrong",
            "answers `/ over HTTP/1.1` with `Goodbye`",
            "instead of `Hello, World!`",
            "",
        ),
        (
            "dies",
            "died ",
            "it exited with status 7",
            "tiny server: out of luck",
        ),
        (
            "unbuildable",
            "can't be built: ",
            "status 2",
            "tiny.c: missing semicolon",
        ),
        ("ends", "exited before it was ready: ", "status 0", ""),
        ("mute", "wasn't ready within 1 s: ", "", ""),
        ("family", "exited before it was ready: ", "status 3", "left"),
    ];
    arena
        .tiny("good", "")
        .tiny("wrong", "wrong")
        .tiny("dies", "dies")
        .subject("unbuildable", &tiny("", unbuildable))
        .subject("ends", &ends)
        .subject("mute", &sleeper("exec sleep 1000"))
        .subject("family", &sleeper(family))
        .tiny("also-good", "");
    let mut names = vec!["good"];
    names.extend(troubles.iter().map(|trouble| trouble.0));
    names.push("also-good");
    let outcome = compare(&arena.comparison(&quick(&names, 4))).expect("it runs");
    assert_eq!(outcome.end().exit_code(), 3);
    for name in ["good", "also-good"] {
        assert_eq!(row(&outcome, name).samples.len(), 4);
    }
    for (name, begins, ends, line) in troubles {
        let (what, log) = what_failed(&outcome, name);
        assert!(
            what.starts_with(begins) && what.ends_with(ends),
            "{name}: {what}"
        );
        assert!(
            line.is_empty() || log.iter().any(|found| found == line),
            "{name}: {log:?}"
        );
    }
}

/// A subject that serves nothing: a shell with this script.
fn sleeper(script: &str) -> String {
    format!(
        "description = \"serves nothing\"\nkind = \"server\"\n[start]\n\
         command = [\"/bin/sh\", \"-c\", {script:?}]\n[ready]\npath = \"/\"\nwithin_seconds = 1\n\
         [[answer]]\npath = \"/\"\nbody = \"\"\n"
    )
}

#[test]
fn a_missing_program_alone_is_no_failure() {
    let _beside = beside_others();
    let arena = Arena::new("missing");
    let missing = "[[requires]]\nprogram = \"no-such-program\"\ninstall = \"Install it so.\"\n";
    arena
        .tiny("good", "")
        .subject("missing", &tiny("", missing));
    let outcome = compare(&arena.comparison(&quick(&["good", "missing"], 3))).expect("it runs");
    assert_eq!(outcome.end().exit_code(), 0);
    let How::Missing { install } = &row(&outcome, "missing").facts.outcome else {
        panic!("{:?}", row(&outcome, "missing").facts.outcome);
    };
    assert_eq!(
        install,
        "`no-such-program` is not installed. Install it so."
    );
    let outcome = {
        std::fs::remove_dir_all(arena.folder.join("out")).expect("its own folder");
        compare(&arena.comparison(&quick(&["missing"], 3))).expect("it runs")
    };
    assert_eq!(outcome.end().exit_code(), 1, "nothing at all was measured");
}

#[test]
fn a_subject_whose_body_differs_from_the_baselines_is_void() {
    let _beside = beside_others();
    let arena = Arena::new("differs");
    let other = tiny("wrong", "").replace("\"Hello, World!\"", "\"Goodbye\"");
    arena.tiny("good", "").subject("other", &other);
    let outcome = compare(&arena.comparison(&quick(&["good", "other"], 3))).expect("it runs");
    let row = row(&outcome, "other");
    assert_eq!(row.ratio, None);
    assert!(
        row.verdict
            .sentence()
            .contains("other answers with a different body than good (7 bytes, not 13)"),
        "{}",
        row.verdict.sentence()
    );
}

#[test]
fn a_stop_keeps_what_was_measured_and_ends_everyone() {
    let _beside = beside_others();
    let arena = Arena::new("stop");
    arena.tiny("one", "").tiny("two", "");
    let stop = Stop::new();
    let asker = stop.clone();
    let options = arena.comparison(&quick(&["one", "two"], 500));
    let outcome = studies::compare(&options, &stop, &mut |event: &Event<'_>| {
        if matches!(event, Event::Measuring { round: 3, .. }) {
            asker.request(Signal::Interrupt);
        }
    })
    .expect("it ran for a while");
    assert_eq!(left_behind(&arena.folder), Vec::<u32>::new());
    assert_eq!(outcome.end().exit_code(), 130);
    assert!(outcome.report.setup.ended_early.is_some());
    for name in ["one", "two"] {
        assert_eq!(
            row(&outcome, name).samples.len(),
            2,
            "the two rounds before"
        );
    }
    assert!(outcome.folder.join("report.md").is_file());
}

#[test]
fn a_stop_while_something_is_built_ends_the_build() {
    let _beside = beside_others();
    let arena = Arena::new("stop-build");
    let endless = "[build]\ncommands = [[\"/bin/sh\", \"-c\", \"sleep 1000 & wait\"]]\n";
    arena.subject("endless", &tiny("", endless));
    let stop = Stop::new();
    let asker = stop.clone();
    let options = arena.comparison(&quick(&["endless"], 3));
    let outcome = studies::compare(&options, &stop, &mut |event: &Event<'_>| {
        if matches!(event, Event::Building { .. }) {
            asker.request(Signal::Terminate);
        }
    })
    .expect("it began");
    assert_eq!(left_behind(&arena.folder), Vec::<u32>::new());
    assert_eq!(outcome.end().exit_code(), 143);
    assert_eq!(row(&outcome, "endless").facts.outcome, How::NotReached);
}

#[test]
fn what_was_built_once_is_not_built_again_until_its_source_changes() {
    let _beside = beside_others();
    let arena = Arena::new("cache");
    let counted = arena.folder.join("builds");
    let build = format!(
        "[build]\ncommands = [[\"/bin/sh\", \"-c\", \"echo built >> {}; touch {{build}}/made\"]]\n",
        counted.display()
    );
    arena.subject("built", &tiny("", &build));
    let times = || {
        std::fs::read_to_string(&counted)
            .unwrap_or_default()
            .lines()
            .count()
    };
    for (expected, change) in [(1, None), (1, None), (2, Some("changed"))] {
        if let Some(text) = change {
            let source = arena.folder.join("subjects/built/source.c");
            std::fs::write(source, text).expect("writable");
        }
        let _ = std::fs::remove_dir_all(arena.folder.join("out"));
        compare(&arena.comparison(&quick(&["built"], 1))).expect("it runs");
        assert_eq!(times(), expected);
    }
    let left: Vec<_> = std::fs::read_dir(arena.folder.join("cache"))
        .expect("builds are kept there")
        .flatten()
        .filter(|entry| entry.file_name().to_string_lossy().starts_with('.'))
        .collect();
    assert!(left.is_empty(), "{left:?}");
}

#[test]
fn new_processes_each_round_and_a_rate_are_choices() {
    let _beside = beside_others();
    let arena = Arena::new("fresh");
    arena.tiny("one", "").tiny("two", "");
    let toml = quick(&["one", "two"], 3)
        .replace("rounds = 3", "rounds = 3\nrounds_per_start = 1")
        .replace("window = \"60ms\"", "window = \"60ms\"\nrate = \"500/s\"");
    let outcome = compare(&arena.comparison(&toml)).expect("it runs");
    let log = std::fs::read_to_string(outcome.folder.join("subjects/one/output.log"));
    let starts = log.expect("its output").matches("tiny server on").count();
    assert_eq!(starts, 3);
    let setup = &outcome.report.setup;
    assert_eq!(setup.rate, Some(500.0));
    assert_eq!(setup.metric, lab::verdict::Metric::ResponseTimeP99);
}

#[test]
fn records_that_cannot_be_written_do_not_stop_the_measuring() {
    let _beside = beside_others();
    let arena = Arena::new("unwritten");
    arena.tiny("one", "");
    let options = arena.comparison(&quick(&["one"], 3));
    let out = arena.folder.join("out");
    let outcome = studies::compare(&options, &Stop::new(), &mut |event: &Event<'_>| {
        if matches!(event, Event::Measuring { round: 1, .. }) {
            // A file where the folder of the rounds should be.
            std::fs::write(out.join("rounds"), "in the way").expect("writable");
        }
    })
    .expect("it runs");
    assert_eq!(row(&outcome, "one").samples.len(), 3);
    assert_eq!(outcome.unwritten.len(), 3, "{:?}", outcome.unwritten);
    assert!(outcome.unwritten[0].contains("rounds/one/001.json"));
    assert_eq!(outcome.end().exit_code(), 3);
}
