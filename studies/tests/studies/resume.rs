//! Comparisons that were interrupted and go on, that end when they know enough or when their time
//! is up, that look at the baseline twice, and that consist of phases or of points.

use std::collections::BTreeMap;
use std::fs;
use std::path::Path;
use std::time::Duration;

use lab::manifest::{Manifest, Role};
use lab::round::Round;
use lab::{CannotBegin, Event, Kept, Options};
use load::{Signal, Stop};
use studies::Outcome;

use crate::support::{Arena, alone, arena_of, beside_others, left_behind, quick};

/// Runs a comparison to its end and checks that nobody is left behind.
fn compare(options: &Options) -> Result<Outcome, CannotBegin> {
    let outcome = studies::compare(options, &Stop::new(), &mut |event: &Event<'_>| {
        println!("{event}")
    });
    assert_eq!(
        left_behind(arena_of(&options.cache)),
        Vec::<u32>::new(),
        "somebody was left behind"
    );
    outcome
}

/// Runs a comparison, and stops it when `row` is about to be measured in `round`.
pub(crate) fn stopped_at(options: &Options, row: &str, round: u32) -> Outcome {
    let stop = Stop::new();
    let asker = stop.clone();
    let outcome = studies::compare(options, &stop, &mut |event: &Event<'_>| match event {
        Event::Measuring {
            subject, round: at, ..
        } if *subject == row && *at == round => asker.request(Signal::Interrupt),
        _ => {}
    });
    outcome.expect("it ran for a while")
}

pub(crate) fn kept(folder: &Path) -> Kept {
    Kept::read(folder).unwrap_or_else(|what| panic!("{what}"))
}

pub(crate) fn resuming(options: &Options, folder: &Path) -> Options {
    Options {
        resume: Some(folder.to_owned()),
        ..options.clone()
    }
}

/// What was measured when, by row and round.
fn times(rounds: &[Round]) -> BTreeMap<(String, u32), (u64, u64)> {
    let key = |round: &Round| (round.row.clone(), round.round);
    let value = |round: &Round| (round.began_unix_s, round.sample.completed);
    rounds
        .iter()
        .map(|round| (key(round), value(round)))
        .collect()
}

#[test]
fn an_interrupted_comparison_goes_on_and_measures_no_round_twice() {
    let _beside = beside_others();
    let arena = Arena::new("resume");
    arena.tiny("one", "").tiny("two", "");
    let options = arena.comparison(&quick(&["one", "two"], 4));
    let first = stopped_at(&options, "two", 3);
    assert_eq!(first.end().exit_code(), 130);
    let before = kept(&first.folder);
    let why = before.manifest.setup.ended_early.as_deref().unwrap_or("");
    assert!(why.contains("--resume"), "{why}");
    assert!(
        (4..8).contains(&before.rounds.len()),
        "{}",
        before.rounds.len()
    );
    // What a program that is killed leaves behind: half a file beside its place.
    let half = first.folder.join("rounds/two/003.json.tmp");
    fs::write(half, "{\"schema").expect("writable");

    let mut measured = Vec::new();
    let resumed = resuming(&options, &first.folder);
    let outcome = studies::compare(&resumed, &Stop::new(), &mut |event: &Event<'_>| {
        if let Event::Measured { subject, round, .. } = event {
            measured.push(((*subject).to_owned(), *round));
        }
    });
    let outcome = outcome.unwrap_or_else(|error| panic!("{error}"));
    assert_eq!(outcome.end().exit_code(), 0);
    assert_eq!(outcome.folder, first.folder);
    let after = kept(&first.folder);
    assert_eq!(after.rounds.len(), 8);
    assert_eq!(measured.len(), 8 - before.rounds.len());
    let (old, new) = (times(&before.rounds), times(&after.rounds));
    for (key, value) in &old {
        assert_eq!(new.get(key), Some(value), "{key:?} was measured again");
        assert!(!measured.contains(key), "{key:?} was measured again");
    }
    assert!(after.rounds.iter().all(|round| {
        let again = measured.contains(&(round.row.clone(), round.round));
        round.start == if again { 2 } else { 1 } && round.sample.start == round.start
    }));
    assert_eq!(after.manifest.setup.ended_early, None);
    for part in ["was interrupted and continued at", "rounds_per_start"] {
        let mut cautions = after.manifest.cautions.iter();
        assert!(cautions.any(|what| what.contains(part)), "{part}");
    }

    let again = compare(&resumed).expect("it is complete");
    assert_eq!(again.end().exit_code(), 0);
    assert_eq!(
        times(&kept(&first.folder).rounds),
        new,
        "nothing was left to measure"
    );
}

#[test]
fn a_comparison_is_resumed_with_the_same_file_options_and_programs_only() {
    let _beside = beside_others();
    let arena = Arena::new("resume-other");
    arena.tiny("one", "");
    let text = quick(&["one"], 3);
    let options = arena.comparison(&text);
    let folder = stopped_at(&options, "one", 2).folder;
    let refused = |options: &Options| match compare(options) {
        Ok(_) => panic!("it was resumed"),
        Err(error) => error.to_string(),
    };
    let resumed = resuming(&options, &folder);
    let what = refused(&Options {
        rounds: Some(5),
        precision: Some(0.02),
        ..resumed.clone()
    });
    assert!(
        what.contains("a different --rounds and a different --precision"),
        "{what}"
    );
    arena.comparison(&text.replace("connections = 4", "connections = 5"));
    let what = refused(&resumed);
    assert!(
        what.contains("a different file") && what.contains("comparison.toml"),
        "{what}"
    );
    arena.comparison(&text);
    let manifest = folder.join("comparison.json");
    let good = fs::read_to_string(&manifest).expect("its manifest");
    for (from, to, words) in [
        (
            "\"cpu_model\":",
            "\"cpu_model\":\"6502\",\"was\":",
            "another machine or kernel",
        ),
        ("\"sha256\":\"", "\"sha256\":\"0", "isn't the same program"),
        (
            "\"ringside_sha256\":\"",
            "\"ringside_sha256\":\"0",
            "another build of ringside (SHA-256 0",
        ),
        (
            "\"ringside_sha256\":",
            "\"was\":",
            "older build of ringside, which didn't record its own hash",
        ),
        (
            "\"schema_version\":1",
            "\"schema_version\":99",
            "newer ringside",
        ),
        ("\"tiny_server", "\"tiny-server", "its command has changed"),
    ] {
        let bad = match from {
            "\"tiny_server" => good.replace(" tiny_server ", " other_server "),
            _ => good.replacen(from, to, 1),
        };
        assert_ne!(bad, good, "nothing to replace: {from}");
        fs::write(&manifest, bad).expect("writable");
        let what = refused(&resumed);
        assert!(what.contains(words), "{what}");
    }
    fs::write(&manifest, good).expect("writable");
    let none = refused(&resuming(&options, &arena.folder));
    assert!(none.contains("has no comparison"), "{none}");
    let outcome = compare(&resumed).unwrap_or_else(|error| panic!("{error}"));
    assert_eq!(outcome.end().exit_code(), 0);
}

#[test]
fn the_baseline_is_measured_once_more_where_that_takes_no_long_time() {
    let _beside = beside_others();
    let arena = Arena::new("aa");
    arena.tiny("one", "").tiny("two", "");
    let mut options = arena.comparison(&quick(&["one", "two"], 3));
    options.aa = None;
    let outcome = compare(&options).expect("it runs");
    let roles = |manifest: &Manifest| -> Vec<(String, Role)> {
        let rows = manifest.rows.iter();
        rows.map(|row| (row.name.clone(), row.role)).collect()
    };
    let found = kept(&outcome.folder);
    let again = ("one-again".to_owned(), Role::Again);
    assert_eq!(roles(&found.manifest).last(), Some(&again));
    assert_eq!(found.rounds.len(), 9);
    let binaries = &found.manifest.rows[0].binaries;
    assert_eq!(binaries.len(), 1, "{binaries:?}");
    assert_eq!(binaries[0].sha256.len(), 64);

    // With windows this long it would take more than a minute; nothing is measured of it.
    options.out = Some(arena.folder.join("long"));
    options.window = Some(Duration::from_secs(30));
    let stop = Stop::new();
    stop.request(Signal::Interrupt);
    let outcome = studies::compare(&options, &stop, &mut |_: &Event<'_>| {}).expect("it begins");
    let found = kept(&outcome.folder);
    assert_eq!(found.manifest.rows.len(), 2);
    let said = |what: &String| what.contains("--aa measures that");
    assert!(
        found.manifest.cautions.iter().any(said),
        "{:?}",
        found.manifest.cautions
    );
}

#[test]
fn a_comparison_ends_at_the_look_at_which_it_is_precise_enough() {
    let _alone = alone();
    let arena = Arena::new("precise");
    arena.tiny("one", "waits").tiny("two", "waits");
    let options = Options {
        precision: Some(0.99),
        ..arena.comparison(&quick(&["one", "two"], 24))
    };
    let outcome = compare(&options).expect("it runs");
    assert_eq!(outcome.end().exit_code(), 0, "it is complete");
    let manifest = kept(&outcome.folder).manifest;
    let last = manifest.looked.last().expect("it was looked at");
    assert!(last.enough && last.round < 24, "{last:?}");
    assert!(last.widest.is_some_and(|widest| widest <= 0.99), "{last:?}");
    let stopped = manifest.stopped.expect("it says why");
    let begins = format!(
        "at look {} of 5, after {} of 24 rounds",
        manifest.looked.len(),
        last.round
    );
    assert!(stopped.starts_with(&begins), "{stopped}");
    let rounds = kept(&outcome.folder).rounds.len() as u32;
    assert_eq!(rounds, 2 * last.round);
    let again = compare(&resuming(&options, &outcome.folder)).expect("it was enough");
    assert_eq!(again.end().exit_code(), 0);
    assert_eq!(kept(&outcome.folder).rounds.len() as u32, rounds);
}

#[test]
fn no_round_begins_that_would_be_beyond_the_budget() {
    let _beside = beside_others();
    let arena = Arena::new("budget");
    arena.tiny("one", "");
    let options = Options {
        budget: Some(Duration::from_millis(700)),
        ..arena.comparison(&quick(&["one"], 1000))
    };
    let outcome = compare(&options).expect("it runs");
    let manifest = kept(&outcome.folder).manifest;
    let rounds = kept(&outcome.folder).rounds.len();
    assert!((1..20).contains(&rounds), "{rounds}");
    assert!(
        rounds == 1 || manifest.spent_s <= 0.7,
        "{}",
        manifest.spent_s
    );
    let stopped = manifest.stopped.expect("it says why");
    let whole = format!("the budget of 0.7 s ran out after {rounds} of 1000 rounds");
    assert_eq!(stopped, whole);
    assert_eq!(outcome.end().exit_code(), 0, "it did what was asked for");
}

#[test]
fn starts_last_for_some_rounds_and_differ_in_their_environment() {
    let _beside = beside_others();
    let arena = Arena::new("starts");
    arena.tiny("one", "").tiny("two", "");
    let text = quick(&["one", "two"], 4).replace("rounds = 4", "rounds = 4\nrounds_per_start = 2");
    let outcome = compare(&arena.comparison(&text)).expect("it runs");
    let mut padding: BTreeMap<u32, Vec<String>> = BTreeMap::new();
    for name in ["one", "two"] {
        let log = outcome
            .folder
            .join("subjects")
            .join(name)
            .join("output.log");
        let log = fs::read_to_string(log).expect("its output");
        let sizes: Vec<&str> = log
            .lines()
            .filter_map(|line| line.strip_prefix("padding "))
            .collect();
        assert_eq!(sizes.len(), 2, "{name} was started twice: {log}");
        for (start, size) in (1..).zip(sizes) {
            padding.entry(start).or_default().push(size.to_owned());
        }
    }
    assert!(
        padding.values().all(|sizes| sizes[0] == sizes[1]),
        "{padding:?}"
    );
    assert_ne!(padding[&1], padding[&2]);
    let starts: Vec<u32> = kept(&outcome.folder)
        .rounds
        .iter()
        .filter(|round| round.row == "one")
        .map(|round| round.start)
        .collect();
    assert_eq!(starts, [1, 1, 2, 2]);
}

#[test]
fn a_round_of_phases_is_a_run_for_each_with_what_it_passed() {
    let _beside = beside_others();
    let arena = Arena::new("phases");
    arena.tiny("one", "");
    let phases = "[[phase]]\nname = \"ramp\"\nrate = \"200\"\nfor = \"50ms\"\n\
         pass = [\"mean<1us\"]\n\
         [[phase]]\nname = \"hold\"\nconnections = 3\nfor = \"90ms\"\n\
         pass = [\"errors<1%\", \"rps>=1\"]\n\n[workload]";
    let text = quick(&["one"], 2).replace("[workload]", phases);
    let outcome = compare(&arena.comparison(&text)).expect("it runs");
    assert_eq!(outcome.end().exit_code(), 0);
    let rounds = kept(&outcome.folder).rounds;
    assert_eq!(rounds.len(), 2);
    for round in &rounds {
        let [ramp, hold] = round.phases.as_slice() else {
            panic!("{} phases", round.phases.len());
        };
        assert_eq!(
            (ramp.rate, ramp.connections, ramp.passed()),
            (Some(200.0), 4, false)
        );
        assert_eq!(
            (hold.rate, hold.connections, hold.passed()),
            (None, 3, true)
        );
        assert_eq!(hold.conditions.len(), 2);
        assert!(hold.compared && !ramp.compared);
        let record = ramp.record.as_ref().expect("its own record");
        assert_eq!(record.plan.duration_s, Some(0.05));
        let own = round
            .record
            .as_ref()
            .expect("that of the phase that is compared");
        assert_eq!((own.plan.connections, own.plan.duration_s), (3, Some(0.09)));
        assert_eq!(round.sample, hold.sample);
    }
}

#[test]
fn a_sweep_is_a_comparison_for_each_point_and_goes_on_where_it_was_stopped() {
    let _beside = beside_others();
    let arena = Arena::new("sweep");
    arena.tiny("one", "").tiny("two", "");
    let text = quick(&["one", "two"], 1).replace(
        "[workload]",
        "[sweep]\nconnections = [1, 2, 3, 4, 6, 8]\n\n[workload]",
    );
    let options = arena.comparison(&text);
    let refused = compare(&options).map(|_| ()).expect_err("it is a sweep");
    assert!(refused.to_string().contains("has a [sweep]"), "{refused}");
    let stop = Stop::new();
    let asker = stop.clone();
    let first = studies::sweep(&options, &stop, &mut |event: &Event<'_>| {
        if matches!(event, Event::Point { number: 3, .. }) {
            asker.request(Signal::Interrupt);
        }
    });
    let first = first
        .unwrap_or_else(|error| panic!("{error}"))
        .expect("a sweep");
    assert_eq!(first.end().exit_code(), 130);
    assert!(first.sweep.ended_early.is_some());
    let resumed = resuming(&options, &first.folder);
    let swept = studies::sweep(&resumed, &Stop::new(), &mut |event: &Event<'_>| {
        println!("{event}")
    });
    let swept = swept
        .unwrap_or_else(|error| panic!("{error}"))
        .expect("a sweep");
    assert_eq!(left_behind(&arena.folder), Vec::<u32>::new());
    assert_eq!((swept.end().exit_code(), swept.unwritten), (0, Vec::new()));
    let text = fs::read_to_string(swept.folder.join("sweep.json")).expect("its record");
    let sweep = studies::sweep::Sweep::from_json(&text).unwrap_or_else(|what| panic!("{what}"));
    let values: Vec<f64> = sweep.points.iter().map(|point| point.value).collect();
    assert_eq!(values, [1.0, 2.0, 3.0, 4.0, 6.0, 8.0]);
    assert_ne!(sweep.order, values, "they were measured in random order");
    assert_eq!(sweep.names(), ["one", "two"]);
    assert_eq!(sweep.laws.len(), 2);
    assert!(
        sweep
            .laws
            .iter()
            .all(|law| law.law.is_some() != law.refused.is_some())
    );
    for point in &sweep.points {
        let rounds = kept(&swept.folder.join(&point.folder)).rounds;
        assert_eq!(rounds.len(), 2, "{}", point.folder);
        let connections = rounds[0]
            .record
            .as_ref()
            .map(|record| record.plan.connections);
        assert_eq!(connections.map(f64::from), Some(point.value));
    }
    let page = fs::read_to_string(swept.folder.join("report.html")).expect("its page");
    assert!(page.contains("connections-6/report.html"));
    let records = report::pack::Records::open(&swept.folder, &Stop::new()).expect("a folder");
    let rebuilt = studies::rebuild::rebuild(&records).unwrap_or_else(|what| panic!("{what}"));
    assert_eq!(rebuilt.model.json(), text, "the points say the same again");
}
