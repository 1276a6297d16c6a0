//! Faults on purpose, on real processes: killed, stopped, disturbed, and as they were afterwards.

use std::fs;
use std::time::Duration;

use lab::comparison::Comparison;
use lab::manifest::Outcome as How;
use lab::round::Round;
use load::{Signal, Stop};
use measure::time::{Time, sleep_until};
use studies::Outcome;

use crate::support::{Arena, beside_others, quick, row, tiny};

/// A comparison of subjects with a window of two seconds and these faults.
fn faulted(subjects: &[&str], rounds: u32, faults: &str) -> String {
    quick(subjects, rounds)
        .replace("window = \"60ms\"", "window = \"2s\"\nrate = \"200\"")
        .replace("timeout = \"1s\"", "timeout = \"500ms\"")
        + faults
}

fn round(outcome: &Outcome, name: &str, round: u32) -> Round {
    let file = outcome.folder.join(format!("rounds/{name}/00{round}.json"));
    let text = fs::read_to_string(&file).unwrap_or_else(|error| {
        panic!("{error}: {:?}", row(outcome, name).facts.outcome);
    });
    Round::from_json(&text).expect("a round")
}

fn failure(outcome: &Outcome, name: &str) -> String {
    match &row(outcome, name).facts.outcome {
        How::Failed { what, .. } => what.clone(),
        other => panic!("{other:?}"),
    }
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

#[test]
fn a_subject_that_is_killed_is_back_in_the_same_round_and_measured_in_the_next() {
    let _beside = beside_others();
    let arena = Arena::new("killed");
    arena.tiny("good", "");
    let kill = "[[faults]]\nat = \"500ms\"\nfor = \"500ms\"\nkind = \"kill\"\n";
    let text = format!(
        "goodput_within = \"100ms\"\n{}",
        faulted(&["good"], 2, kill)
    );
    let outcome = arena.compare(&text, &Stop::new());
    let found = &row(&outcome, "good").faults;
    assert_eq!((found.len(), found[0].rounds), (1, 2), "{found:?}");
    for at in [1, 2] {
        let round = round(&outcome, "good", at);
        let [fault] = round.faults.as_slice() else {
            panic!("{:?}", round.faults);
        };
        assert_eq!(
            (fault.kind.as_str(), fault.at_s, fault.for_s),
            ("kill", 0.5, 0.5)
        );
        assert!(fault.began_s >= 0.5, "{fault:?}");
        let (ended, ready) = (fault.ended_s.expect("undone"), fault.ready_s.expect("back"));
        assert!(ended >= 1.0 && ready >= ended, "{fault:?}");
        let cost = fault.cost.expect("there is a record");
        let record = round.record.expect("a record");
        let goodput = record.goodput.expect("asked for");
        // What fell due in the half second was not answered in a fifth of it.
        let late = record.exchanges.completed + cost.lost - goodput.completed;
        assert!(late > 20, "{goodput:?}, {cost:?}");
        // Its connections were those of a process that is gone.
        let connections = &record.connections;
        let anew = connections.reconnects + connections.reopened;
        assert!(anew > 0, "{connections:?}");
        assert!(record.exchanges.completed > 0, "{:?}", record.exchanges);
        assert_eq!(round.sample.void(), None, "{:?}", round.sample.findings);
        assert!(
            round.watched.subject.cpu_ns > 0,
            "{:?}",
            round.watched.subject
        );
    }
}

#[test]
fn who_is_stopped_answers_late_and_is_alive_again() {
    let _beside = beside_others();
    let arena = Arena::new("stopped");
    arena.tiny("good", "");
    let stop = "[[faults]]\nat = \"200ms\"\nfor = \"1s\"\nkind = \"stop\"\n";
    let text = faulted(&["good"], 1, stop).replace("\"500ms\"", "\"10s\"");
    let outcome = arena.compare(&text, &Stop::new());
    let round = round(&outcome, "good", 1);
    let record = round.record.expect("a record");
    assert_eq!(record.exchanges.failed, 0, "{:?}", record.errors);
    let longest = record.response_time_us.max.expect("answers");
    assert!(longest > 500_000.0, "{longest} µs");
    assert_eq!(round.faults[0].ready_s, None);
    assert_eq!(round.sample.void(), None, "{:?}", round.sample.findings);
}

#[test]
fn a_companion_is_killed_and_started_again_on_its_port() {
    let _beside = beside_others();
    let arena = Arena::new("companion-killed");
    // What it is asked is answered by the companion.
    let helped = tiny("hands over", "").replace(
        "TINY_FAULT",
        "TINY_HELPER = \"{companion.helper.port}\", TINY_FAULT",
    );
    arena.subject("helped", &(helped + &companion("helper")));
    let kill = "[[faults]]\nat = \"500ms\"\nfor = \"300ms\"\nkind = \"companion-kill\"\n\
                target = \"helper\"\n";
    let outcome = arena.compare(&faulted(&["helped"], 2, kill), &Stop::new());
    for at in [1, 2] {
        let round = round(&outcome, "helped", at);
        assert!(round.faults[0].ready_s.is_some(), "{:?}", round.faults);
        let record = round.record.expect("a record");
        assert!(record.exchanges.failed > 0, "{:?}", record.exchanges);
        let last = record.series.last().expect("rows");
        assert!(
            last.completed > 0,
            "it never recovered: {:?}",
            record.series
        );
    }
}

#[test]
fn what_disturbs_a_subject_is_gone_afterwards_and_spoils_no_round() {
    let _beside = beside_others();
    let arena = Arena::new("disturbed");
    arena.tiny("good", "");
    let burn = "[[faults]]\nat = \"200ms\"\nfor = \"1s\"\nkind = \"cpu\"\n";
    let outcome = arena.compare(&faulted(&["good"], 1, burn), &Stop::new());
    let round = round(&outcome, "good", 1);
    assert_eq!(round.faults[0].kind, "cpu");
    assert!(round.faults[0].ended_s.is_some());
    assert_eq!(round.sample.void(), None, "{:?}", round.sample.findings);
}

#[test]
fn a_fault_that_cannot_be_made_fails_its_row_and_says_why() {
    let _beside = beside_others();
    let arena = Arena::new("unmade");
    arena.tiny("good", "");
    let worker = "[[faults]]\nat = \"100ms\"\nkind = \"kill\"\nof = \"worker\"\n";
    let outcome = arena.compare(&faulted(&["good"], 1, worker), &Stop::new());
    let what = failure(&outcome, "good");
    assert!(what.starts_with("has no worker"), "{what}");
    assert!(what.contains("SIGKILL to a worker at 0.1 s"), "{what}");
    // Who has ended by a signal can't be killed any more.
    let arena = Arena::new("ended");
    arena.tiny("good", "");
    let again = "[[faults]]\nat = \"100ms\"\nkind = \"signal\"\nsignal = \"TERM\"\n\
                 [[faults]]\nat = \"900ms\"\nfor = \"100ms\"\nkind = \"kill\"\n";
    let outcome = arena.compare(&faulted(&["good"], 1, again), &Stop::new());
    let what = failure(&outcome, "good");
    assert!(
        what.starts_with("had ended already: it was killed by signal 15"),
        "{what}"
    );
}

#[test]
fn who_has_left_its_place_is_followed_by_the_next_signal() {
    let _beside = beside_others();
    let arena = Arena::new("followed");
    let program = std::env::current_exe().expect("this program has a path");
    let program = program.to_str().expect("a path of UTF-8");
    // A shell that ends when it's asked to, and leaves the server that it has started.
    let script = format!(
        "trap 'exit 0' USR2; {program} tiny_server --exact --nocapture & while :; do wait; done"
    );
    let subject = tiny("good", "");
    let (before, after) = subject.split_once("command = [").expect("a command");
    let (_, after) = after.split_once(']').expect("its end");
    let subject = format!("{before}command = [\"sh\", \"-c\", {script:?}]{after}");
    arena.subject("good", &subject);
    let faults = "[[faults]]\nat = \"200ms\"\nkind = \"signal\"\nsignal = \"USR2\"\n\
                  [[faults]]\nat = \"800ms\"\nfor = \"300ms\"\nkind = \"signal\"\n\
                  signal = \"TERM\"\n";
    let outcome = arena.compare(&faulted(&["good"], 1, faults), &Stop::new());
    let round = round(&outcome, "good", 1);
    let [_, ended] = round.faults.as_slice() else {
        panic!("{:?}", round.faults);
    };
    // The second one reached who had been left, and not who had gone.
    assert!(ended.ready_s.is_some(), "{ended:?}");
}

#[test]
fn who_asks_to_stop_while_a_subject_is_stopped_leaves_nobody_behind() {
    let _beside = beside_others();
    let arena = Arena::new("interrupted");
    arena.tiny("good", "");
    for kind in ["stop", "kill", "cpu"] {
        let fault = format!("[[faults]]\nat = \"100ms\"\nfor = \"50s\"\nkind = {kind:?}\n");
        let text = faulted(&["good"], 1, &fault).replace("\"2s\"", "\"60s\"");
        let stop = Stop::new();
        let out = arena.folder.join("out");
        let _ = fs::remove_dir_all(&out);
        let asks = std::thread::spawn({
            let (stop, log) = (stop.clone(), out.join("subjects/good/output.log"));
            move || {
                // It is started, warm and in its window soon after.
                let deadline = Time::now() + Duration::from_secs(60);
                while !log.exists() && Time::now() < deadline {
                    pause(Duration::from_millis(5));
                }
                pause(Duration::from_secs(2));
                stop.request(Signal::Interrupt);
            }
        });
        let outcome = arena.compare(&text, &stop);
        asks.join().expect("it has asked");
        assert_eq!(outcome.stopped, Some(Signal::Interrupt), "{kind}");
        assert_eq!(
            row(&outcome, "good").facts.outcome,
            How::NotReached,
            "{kind}"
        );
    }
}

fn pause(length: Duration) {
    sleep_until(Time::now() + length);
}

#[test]
fn faults_that_a_comparison_cannot_have_are_refused_with_their_line() {
    let arena = Arena::new("refused-faults");
    arena.tiny("good", "");
    let fault = "[[faults]]\nat = \"1s\"\nfor = \"500ms\"\nkind = \"kill\"\n";
    let phase = "[[phase]]\nname = \"a\"\nfor = \"2s\"\n";
    let nested = fault.replace("[[faults]]", "[[phase.faults]]");
    let companion = fault.to_owned() + "target = \"redis\"\n";
    for (rest, words) in [
        (
            companion.as_str(),
            "`redis` isn't a companion of good: it has none",
        ),
        (
            &format!("{phase}{fault}"),
            "Write it below that as [[phase.faults]]",
        ),
        (
            &format!("{phase}{nested}at = \"1s\"\n"),
            "`at` stands twice",
        ),
        (
            &format!("{phase}{}", nested.replace("\"1s\"", "\"1800ms\"")),
            "the window is 2 s long",
        ),
    ] {
        let options = arena.comparison(&faulted(&["good"], 1, rest));
        let said = Comparison::read(&options.file, None)
            .expect_err(words)
            .to_string();
        assert!(said.contains(words), "{said}");
        assert!(said.contains("test.toml:"), "{said}");
    }
    let good = arena.comparison(&faulted(&["good"], 1, &format!("{phase}{nested}")));
    let comparison = Comparison::read(&good.file, None).expect("it's good");
    assert_eq!(comparison.phases[0].faults.len(), 1);
    // A shorter window than the file's has no room for it.
    let mut short = arena.comparison(&faulted(&["good"], 1, fault));
    short.window = Some(Duration::from_secs(1));
    let said = lab::compare::read(&short).expect_err("no room").to_string();
    assert!(said.contains("give a longer --duration"), "{said}");
}
