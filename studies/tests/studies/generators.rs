//! Load generators that are compared: counted by the server that they load, whatever they say.
//!
//! The generator is the test program itself, started again with its one test `tiny_generator`: each
//! fault is a word. Real ones are in the tests of the program.

use std::io::{Read, Write};
use std::net::TcpStream;
use std::time::Duration;

use capacity::Whose;
use lab::finding::{Check, Severity};
use lab::manifest::Outcome as How;
use lab::round::Round;
use lab::verdict::Metric;
use lab::{CannotBegin, End, Event};
use load::{Signal, Stop};
use measure::time::{Time, sleep_until};
use studies::Outcome;

use crate::support::{Arena, beside_others, left_behind, row as found, tiny};

/// Loads a server over one connection, if the environment says so, and prints what wrk would.
pub(crate) fn tiny_generator() {
    let Ok(port) = std::env::var("TINY_LOADS") else {
        return; // Run as a test among the others: nothing to do.
    };
    let fault = std::env::var("TINY_FAULT").unwrap_or_default();
    let seconds: u64 = std::env::var("TINY_SECONDS")
        .ok()
        .and_then(|seconds| seconds.parse().ok())
        .expect("how long");
    let port: u16 = port.parse().expect("a port");
    let mut stream = TcpStream::connect(("127.0.0.1", port)).expect("somebody serves");
    let (began, mut answered) = (Time::now(), 0);
    let until = match fault.as_str() {
        "leaves early" => began + Duration::from_millis(30),
        "goes on" => began + Duration::from_secs(3600),
        _ => began + Duration::from_secs(seconds),
    };
    while Time::now() < until {
        if fault != "idles" {
            let request = b"GET / HTTP/1.1\r\nHost: tiny\r\n\r\n";
            stream.write_all(request).expect("it reads");
            let mut answer = [0; 512];
            assert!(stream.read(&mut answer).expect("it answers") > 0);
            answered += 1;
        }
        sleep_until(Time::now() + Duration::from_millis(1));
    }
    let took = (Time::now() - began).as_secs_f64();
    let (says, took) = match fault.as_str() {
        "boasts" => (2 * answered, took),
        "dawdles" => (answered, 10.0 * took),
        _ => (answered, took),
    };
    match fault.as_str() {
        "babbles" => println!("all went well"),
        _ => println!(
            "\n  {says} requests in {took:.2}s, 1MB read\nRequests/sec: {:.2}",
            f64::from(says) / took
        ),
    }
    if fault == "fails" {
        std::process::exit(3);
    }
}

/// A row whose generator is the tiny one with a fault.
fn row(name: &str, fault: &str) -> String {
    let program = std::env::current_exe().expect("this program has a path");
    format!(
        "[[rows]]\nname = {name:?}\nsubject = \"served\"\n\
         generator = {{ reads = \"wrk\", command = [\"/usr/bin/env\", \"TINY_LOADS={{port}}\", \
         \"TINY_SECONDS={{window_s}}\", \"TINY_FAULT={fault}\", {program:?}, \"tiny_generator\", \
         \"--exact\", \"--nocapture\"] }}\n"
    )
}

const COUNTS: &str = "[watch]\nmetrics = \"/metrics\"\nexchanges = [\"tiny_requests_total\"]\n";

/// A place with the tiny server, which counts.
fn arena(name: &str) -> Arena {
    let arena = Arena::new(name);
    arena.subject("served", &(tiny("", "") + COUNTS));
    arena
}

/// A comparison of these rows that takes a second for each round of each.
fn comparison(rows: &[String], count: u32) -> String {
    format!(
        "name = \"test\"\nquestion = \"Do they say the truth?\"\nrounds = {count}\n{}\
         [workload]\npath = \"/\"\nconnections = 1\nsettle = \"100ms\"\nwindow = \"300ms\"\n\
         warm_up = \"40ms\"\n",
        rows.concat()
    )
}

fn compare(arena: &Arena, toml: &str) -> Outcome {
    arena.compare(toml, &Stop::new())
}

#[test]
fn what_a_generator_did_is_what_the_server_counted() {
    let _beside = beside_others();
    let arena = arena("generators");
    let rows = [
        row("honest", ""),
        row("boasts", "boasts"),
        row("dawdles", "dawdles"),
    ];
    let outcome = compare(&arena, &comparison(&rows, 3));
    assert_eq!(outcome.end(), End::Whole);
    let setup = &outcome.report.setup;
    assert_eq!(setup.metric, Metric::GeneratorCpuPerExchange);
    for name in ["honest", "boasts", "dawdles"] {
        let row = found(&outcome, name);
        assert_eq!(row.samples.len(), 3, "{name}: {:?}", row.facts.outcome);
        let file = outcome.folder.join(format!("rounds/{name}/001.json"));
        let round = std::fs::read_to_string(file).expect("its round");
        let round = Round::from_json(&round).expect("a round");
        assert!(round.record.is_none(), "no generator of ours ran");
        let run = round.generated.expect("it ran");
        assert!(run.counted > run.counted_in_window, "{run:?}");
        assert!(run.counted_in_window > 0 && run.cpu_ns > 0, "{run:?}");
        assert!((0.3..run.alive_s).contains(&run.window_s), "{run:?}");
        let sample = &row.samples[0];
        assert_eq!(sample.completed, run.counted);
        let rate = run.counted_in_window as f64 / run.window_s;
        assert!((sample.requests_per_second - rate).abs() < 1e-6);
        let generator = sample.generator.expect("its figures");
        let each = generator.cpu_us_per_exchange.expect("it was counted");
        let whole = run.cpu_ns as f64 / 1e3;
        assert!((each * run.counted as f64 - whole).abs() < 1.0, "{run:?}");
    }
    let honest = found(&outcome, "honest");
    assert_eq!(honest.further.len(), 0, "it is the baseline");
    let boasts = found(&outcome, "boasts");
    assert_eq!(boasts.further[0].metric, Metric::RequestsDriven);
    assert!(boasts.ratio.is_some(), "{}", boasts.verdict.sentence());
    for (name, said) in [
        ("honest", None),
        ("boasts", Some("it says ")),
        ("dawdles", Some("it says that it ran for ")),
    ] {
        let samples = &found(&outcome, name).samples;
        let findings = samples.iter().flat_map(|sample| &sample.findings);
        let findings: Vec<_> = findings.filter(|one| one.check == Check::Says).collect();
        match said {
            None => assert!(findings.is_empty(), "{findings:?}"),
            Some(said) => {
                assert_eq!(findings.len(), 3, "{findings:?}");
                let one = findings[0];
                assert_eq!(one.severity, Severity::Caution);
                assert!(one.sentence.starts_with(said), "{}", one.sentence);
            }
        }
    }
}

#[test]
fn one_generator_that_fails_ends_its_row_and_no_other() {
    let _beside = beside_others();
    let arena = arena("bad-generators");
    let missing = row("missing", "").replace("/usr/bin/env", "no-such-generator");
    let rows = [
        row("honest", ""),
        missing,
        row("babbles", "babbles"),
        row("fails", "fails"),
        row("leaves", "leaves early"),
        row("idles", "idles"),
        row("goes-on", "goes on"),
    ];
    let outcome = compare(&arena, &comparison(&rows, 1));
    assert_eq!(outcome.end(), End::Part);
    assert_eq!(found(&outcome, "honest").samples.len(), 1);
    let How::Missing { install } = &found(&outcome, "missing").facts.outcome else {
        panic!("{:?}", found(&outcome, "missing").facts.outcome);
    };
    assert!(
        install.starts_with("`no-such-generator` is not installed"),
        "{install}"
    );
    for (name, expected) in [
        (
            "babbles",
            "couldn't be measured in round 1: what env printed can't be read as the output of \
             wrk: it has no `requests in`",
        ),
        (
            "fails",
            "couldn't be measured in round 1: env failed: it exited with status 3",
        ),
        (
            "leaves",
            "and was told to load for 1 s: it exited with status 0",
        ),
        (
            "idles",
            "env ran, and the server counted none of its requests",
        ),
        (
            "goes-on",
            "env was told to load for 1 s and was still running 10 s later, so it was ended",
        ),
    ] {
        let How::Failed { what, .. } = &found(&outcome, name).facts.outcome else {
            panic!("{name}: {:?}", found(&outcome, name).facts.outcome);
        };
        assert!(what.contains(expected), "{name}: {what}");
    }
}

#[test]
fn a_generator_ends_when_somebody_asks_to_stop() {
    let _beside = beside_others();
    let arena = arena("stopped-generator");
    let options = arena.comparison(&comparison(&[row("goes-on", "goes on")], 1));
    let stop = Stop::new();
    let asker = stop.clone();
    let outcome = studies::compare(&options, &stop, &mut |event: &Event<'_>| {
        if matches!(event, Event::Measuring { .. }) {
            asker.request(Signal::Interrupt);
        }
    })
    .expect("it began");
    assert_eq!(
        left_behind(&arena.folder),
        Vec::<u32>::new(),
        "processes were left"
    );
    assert_eq!(outcome.end().exit_code(), 130);
    assert_eq!(found(&outcome, "goes-on").facts.outcome, How::NotReached);
}

#[test]
fn what_cannot_be_a_comparison_of_generators_is_refused_in_its_line() {
    let _beside = beside_others();
    let arena = arena("refused-generators");
    arena.tiny("silent", "");
    let one = || comparison(&[row("one", "")], 1);
    let silent = row("two", "").replace("\"served\"", "\"silent\"");
    let plain = "[[rows]]\nname = \"plain\"\nsubject = \"silent\"\n";
    for (toml, line, expected) in [
        (
            one().replace("\"served\"", "\"silent\""),
            6,
            "silent doesn't say how many exchanges it has served",
        ),
        (
            comparison(&[row("one", ""), silent], 1),
            10,
            "expected the same in all rows",
        ),
        (
            comparison(&[row("one", ""), plain.to_owned()], 1),
            10,
            "`silent` beside `served`",
        ),
        (
            one() + "rate = \"1k\"\n",
            7,
            "`rate` in [workload] is for servers",
        ),
        (
            one() + "[[phase]]\nname = \"p\"\nfor = \"1s\"\n",
            7,
            "[[phase]] is for servers",
        ),
        (
            one() + "[capacity]\nslo = [\"p99<1ms\"]\n",
            7,
            "[capacity] is for servers",
        ),
        (
            one().replace("{port}", "{prot}"),
            7,
            "unknown placeholder {prot}",
        ),
    ] {
        let options = arena.comparison(&toml);
        let refused = studies::compare(&options, &Stop::new(), &mut |_: &Event<'_>| ());
        let Err(CannotBegin::BadFile(bad)) = refused else {
            panic!("{expected}: {refused:?}");
        };
        let text = bad.to_string();
        assert!(text.contains(expected), "{text}");
        assert!(text.contains(&format!("test.toml:{line}:")), "{text}");
    }
}

#[test]
fn profiles_and_capacities_of_generators_are_refused() {
    let _beside = beside_others();
    let arena = arena("asked-too-much");
    let options = || arena.comparison(&comparison(&[row("one", "")], 1));
    let profiled = lab::Options {
        profile: true,
        ..options()
    };
    let refused = studies::compare(&profiled, &Stop::new(), &mut |_: &Event<'_>| ());
    let refused = refused.expect_err("no server is compared").to_string();
    assert!(
        refused.starts_with("--profile shows what servers do"),
        "{refused}"
    );
    let searched = capacity::Options::new(
        Whose::File(options().file),
        vec!["p99<1s".parse().expect("an objective")],
        options().ringside,
    );
    let refused = capacity::capacity(&searched, &Stop::new(), &mut |_: &Event<'_>| ());
    let refused = refused.expect_err("generators have none").to_string();
    assert!(
        refused.contains("load generators has no rate to search for"),
        "{refused}"
    );
}
