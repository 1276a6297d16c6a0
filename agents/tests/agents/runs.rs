//! What a fleet counts is what one machine would have counted, and what the server did.

use std::fs;
use std::path::Path;

use engine::signal::Stop;
use load::Plan;
use load::schedule::Schedule;
use rustix::process::Signal;

use crate::programs::{LOOPBACK, Nats, Program, Target, agents, exchanges, until};
use crate::skip::skip;

/// Whether there's a NATS server for `--agents local:N`; says so if there's none.
pub(crate) fn has_nats() -> bool {
    let found = agents::local::find_server("nats-server");
    found.map_err(skip).is_ok()
}

#[test]
fn what_agents_count_together_is_what_the_server_counted() {
    if !has_nats() {
        return;
    }
    let target = Target::start();
    let words = "run --agents local:3 -n 601 -c 7 -T 60s --format json";
    let ended = Program::load(words, &target).end();
    assert!(ended.has_measured(), "{ended:?}");
    let record = ended.record();
    assert_eq!(record["fleet"]["complete"], true, "{record}");
    assert_eq!(record["exchanges"]["completed"], 601, "{record}");
    assert_eq!(target.finish(), 601);
    let all = agents(&record);
    let of = |agent: &serde_json::Value| agent["figures"]["totals"]["completed"].as_u64();
    let each: Vec<_> = all.iter().map(of).collect();
    // Three workers, of which each has its quota.
    assert_eq!(each, [Some(201), Some(200), Some(200)]);
    assert!(all.iter().all(|agent| agent["clock"]["error_ns"].is_u64()));
    assert_eq!(record["plan"]["threads"], 3);
    assert_eq!(record["ended_by"], "count");
    // Each says what it ran on, which is this machine here.
    for agent in all {
        assert_eq!(agent["host"]["kernel"], record["host"]["kernel"], "{agent}");
        let engine = agent["generator"]["engine"].as_str();
        assert!(matches!(engine, Some("io_uring" | "epoll")), "{agent}");
        assert!(agent["generator"]["memory_peak_bytes"].is_u64(), "{agent}");
    }
}

#[test]
fn the_schema_describes_all_that_a_record_says_of_a_fleet() {
    if !has_nats() {
        return;
    }
    let schema = Path::new(env!("CARGO_MANIFEST_DIR")).join("../schema/record.schema.json");
    let schema = fs::read_to_string(schema).unwrap();
    let schema: serde_json::Value = serde_json::from_str(&schema).unwrap();
    let target = Target::start();
    let words = "run --agents local:2 -n 600 -c 4 --format json";
    let record = Program::load(words, &target).end().record();
    let known = |of: &serde_json::Value, what: &serde_json::Value| {
        for key in what.as_object().unwrap().keys() {
            let property = &of["properties"][key.as_str()];
            assert!(property["description"].is_string(), "{key}: {of}");
        }
    };
    known(&schema["properties"]["fleet"], &record["fleet"]);
    let defined = &schema["$defs"];
    for agent in agents(&record) {
        known(&defined["AgentRecord"], agent);
        known(&defined["FleetFigures"], &agent["figures"]);
        known(&defined["FleetGenerator"], &agent["generator"]);
        known(&defined["Host"], &agent["host"]);
        known(&defined["Offset"], &agent["clock"]);
    }
}

#[test]
fn a_fleet_offers_exactly_what_one_machine_offers() {
    if !has_nats() {
        return;
    }
    let target = Target::start();
    let url = target.url("/");
    let words = "run --agents local:2 -R 300 --arrivals poisson --seed 7 -d 2s -c 8 -T 60s";
    let words = words.split(' ').chain(["--format", "json", &*url]);
    let ended = Program::start(&words.collect::<Vec<_>>()).end();
    assert!(ended.has_measured(), "{ended:?}");
    let record = ended.record();
    let mut plan = Plan::new(&url).unwrap();
    plan.schedule = Schedule::Poisson { rate: 300.0 };
    (plan.threads, plan.connections, plan.seed) = (2, 8, 7);
    (plan.duration_s, plan.timeout_s) = (Some(2.0), 60.0);
    let alone = load::run(&plan, &Stop::new(), &mut |_| {})
        .unwrap()
        .exchanges;
    let alone = alone.completed + alone.failed + alone.unfinished;
    assert_eq!(exchanges(&record), alone, "{record}");
    assert_eq!(record["fleet"]["complete"], true, "{record}");
    let rows = record["series"].as_array().unwrap();
    let offered = rows.iter().filter_map(|row| row["offered"].as_u64());
    assert_eq!(offered.sum::<u64>(), alone, "{record}");
}

#[test]
fn an_interrupted_run_has_a_record_of_all_that_was_sent() {
    if !has_nats() {
        return;
    }
    let target = Target::start();
    let words = "run --agents local:2 -R 200 -d 10m -c 4 -T 60s --format json";
    let run = Program::load(words, &target);
    until("the load has begun", || target.requests() > 20);
    run.signal(Signal::INT);
    let ended = run.end();
    assert_eq!(ended.code, Some(130), "{ended:?}");
    let record = ended.record();
    assert_eq!(record["ended_by"], "interrupt");
    assert_eq!(record["fleet"]["complete"], true, "{record}");
    // What was due and never sent is no request.
    let never_sent = record["exchanges"]["never_sent"].as_u64().unwrap();
    assert_eq!(target.finish(), exchanges(&record) - never_sent, "{record}");
}

#[test]
fn a_run_without_agents_or_a_broker_says_what_is_missing() {
    for (words, code, part) in [
        (
            "run http://127.0.0.1:1/",
            2,
            "give --agents, or use ringside itself",
        ),
        ("run --agents 2 http://127.0.0.1:1/", 2, "give --nats URL"),
        ("run --agents 0 http://127.0.0.1:1/", 2, "1 to 10000"),
        (
            "run --agents local:2 --control grpc://127.0.0.1:1/a.B/C",
            2,
            "--control: our own server",
        ),
        (
            "run --agents local:2 --weights measured,a=2 http://127.0.0.1:1/",
            2,
            "drop the others",
        ),
        (
            "run --agents 2 --nats nats://127.0.0.1:1 http://h/",
            1,
            "can't reach the NATS server",
        ),
    ] {
        let words: Vec<&str> = words.split(' ').collect();
        let ended = Program::start(&words).end();
        assert_eq!(ended.code, Some(code), "{ended:?}");
        assert!(ended.said.contains(part), "{ended:?}");
    }
}

#[test]
fn agents_take_part_in_one_run_after_the_other() {
    let Some(nats) = Nats::start() else {
        return;
    };
    let target = Target::start();
    let (url, broker) = (target.url("/"), nats.url());
    let _agents = ["one", "two"].map(|name| Program::agent(name, &nats, Some(LOOPBACK)));
    let words = [
        "run", "--agents", "2", "--nats", &broker, "-n", "50", "-c", "4",
    ];
    let words: Vec<&str> = words
        .into_iter()
        .chain(["-T", "60s", "--format", "json", &url])
        .collect();
    for _ in 0..2 {
        let ended = Program::start(&words).end();
        assert!(ended.has_measured(), "{ended:?}");
        let record = ended.record();
        let names = agents(&record).iter().map(|agent| agent["agent"].as_str());
        assert_eq!(names.collect::<Vec<_>>(), [Some("one"), Some("two")]);
        assert_eq!(record["fleet"]["complete"], true, "{record}");
    }
    assert_eq!(target.finish(), 100);
}

#[test]
fn a_local_fleet_needs_none_of_what_is_set_for_another_one() {
    if !has_nats() {
        return;
    }
    let target = Target::start();
    let url = target.url("/");
    let words = "run --agents local:1 -n 20 -c 2 -T 60s --format json";
    let words: Vec<&str> = words.split(' ').chain([&*url]).collect();
    let elsewhere = [
        ("NATS_URL", "nats://127.0.0.1:1"),
        ("NATS_NKEY", "/nonexistent"),
    ];
    let ended = Program::start_with(&elsewhere, &words).end();
    assert!(ended.has_measured(), "{ended:?}");
    assert_eq!(target.finish(), 20);
}
