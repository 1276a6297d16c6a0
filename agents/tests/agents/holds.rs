//! Connections that a fleet holds are those that one process would have held, and what became of
//! them is what the server saw.

use std::fs;

use rustix::process::Signal;
use serde_json::Value;

use crate::programs::{LOOPBACK, Nats, Program, Target, agents, until};
use crate::runs::has_nats;

#[test]
fn connections_and_heartbeats_of_all_agents_are_those_that_the_server_counted() {
    if !has_nats() {
        return;
    }
    let (target, folder) = (Target::start(), tempfile::tempdir().unwrap());
    let url = target.url("/");
    let file = folder.path().join("intervals");
    let words = "hold --agents local:2 -c 101 -d 2s --heartbeat 500ms --heartbeat-timeout 60s \
                 --connect-timeout 60s --open-rate 1k --threshold survival>=50% --format json";
    let words = words.split_whitespace();
    let words = words.chain(["--intervals", file.to_str().unwrap(), &url]);
    let ended = Program::start(&words.collect::<Vec<_>>()).end();
    assert!(ended.has_measured(), "{ended:?}");
    let record = ended.record();
    assert_eq!(record["fleet"]["complete"], true, "{record}");
    let connections = &record["connections"];
    assert_eq!(connections["asked"], 101, "{record}");
    assert_eq!(connections["standing"], 101, "{record}");
    assert_eq!(record["plan"]["threads"], 2, "{record}");
    // Each has its own, and none is left over.
    let held = |agent: &Value| agent["figures"]["held"]["standing"].as_u64();
    let each: Vec<_> = agents(&record).iter().map(held).collect();
    assert_eq!(each, [Some(51), Some(50)], "{record}");
    let beats = &record["heartbeats"];
    let of = |name: &str| beats[name].as_u64().unwrap();
    assert!(of("answered") >= 101, "{record}");
    assert_eq!(of("due"), of("sent") + of("skipped"), "{record}");
    assert_eq!((of("failed"), of("unfinished")), (0, 0), "{record}");
    assert_eq!(target.finish(), of("sent"), "{record}");
    let lines = fs::read_to_string(&file).unwrap();
    let lines: Vec<Value> = lines
        .lines()
        .map(|line| serde_json::from_str(line).unwrap())
        .collect();
    let sum = |name: &str| {
        let values = lines.iter().filter_map(|line| line[name].as_u64());
        values.sum::<u64>()
    };
    assert_eq!(sum("opened"), connections["opened"].as_u64().unwrap());
    assert_eq!(sum("answered"), of("answered"), "{lines:?}");
    let rows = record["series"].as_array().unwrap();
    let opened = rows.iter().filter_map(|row| row["opened"].as_u64());
    assert_eq!(opened.sum::<u64>(), sum("opened"), "{record}");
}

#[test]
fn a_hold_that_is_interrupted_has_a_record_of_what_was_held_until_then() {
    let Some(nats) = Nats::start() else {
        return;
    };
    let target = Target::start();
    let (url, broker) = (target.url("/"), nats.url());
    let few = format!("{LOOPBACK}[limits]\nconnections = 4\n");
    let _all = ["one", "two"].map(|name| Program::agent(name, &nats, Some(&few)));
    let hold = |connections: &str| {
        let words = format!(
            "hold --agents 2 --nats {broker} -c {connections} -d 10m --heartbeat 200ms \
             --heartbeat-timeout 60s {url}"
        );
        Program::start(&words.split_whitespace().collect::<Vec<_>>())
    };
    let refused = hold("9").end();
    assert_eq!(refused.code, Some(1), "{refused:?}");
    let part = "its share of 5 connections is above the 4";
    assert!(refused.said.contains(part), "{refused:?}");
    assert_eq!(target.requests(), 0);
    let hold = hold("8");
    until("heartbeats come", || target.requests() > 40);
    hold.signal(Signal::INT);
    let ended = hold.end();
    assert_eq!(ended.code, Some(130), "{ended:?}");
    for part in ["Fleet: 2 agents, complete", "Standing", "one", "two"] {
        assert!(ended.out.contains(part), "{ended:?}");
    }
}

#[test]
fn connections_of_an_agent_that_ends_are_opened_anew_by_the_other() {
    let Some(nats) = Nats::start() else {
        return;
    };
    let target = Target::start();
    let all = ["one", "two"].map(|name| Program::agent(name, &nats, Some(LOOPBACK)));
    let (url, broker) = (target.url("/"), nats.url());
    let words = format!(
        "hold --agents 2 --nats {broker} -c 9 -d 10m --heartbeat 300ms --heartbeat-timeout 60s \
         --connect-timeout 60s --on-loss rebalance --format json {url}"
    );
    let hold = Program::start(&words.split_whitespace().collect::<Vec<_>>());
    until("heartbeats come", || target.requests() > 40);
    all[0].signal(Signal::TERM);
    until("its connections are taken over", || {
        all[1].audit().contains("1 workers of a lost agent more") && target.connections() == 9
    });
    let by_then = target.requests();
    until("they are asked, too", || target.requests() > by_then + 60);
    hold.signal(Signal::INT);
    let ended = hold.end();
    assert_eq!(ended.code, Some(130), "{ended:?}");
    let record = ended.record();
    assert_eq!(record["fleet"]["complete"], true, "{record}");
    let warnings = record["warnings"].to_string();
    let moved = "50.0 % of the load (1 of 2 threads) was given to two";
    assert!(warnings.contains(moved), "{warnings}");
    let [one, two] = &agents(&record)[..] else {
        panic!("two agents: {record}");
    };
    // Some were lost with who held them, and the others have stood from the beginning.
    let lost = one["figures"]["held"]["opened"].as_u64().unwrap();
    let connections = &record["connections"];
    let of = |name: &str| connections[name].as_u64().unwrap();
    assert_eq!((of("asked"), of("opened")), (9, 9 + lost), "{record}");
    assert_eq!((of("standing"), of("survived")), (9, 9 - lost), "{record}");
    assert_eq!(two["share_moved"], 1.0, "{record}");
    assert_eq!(two["figures"]["held"]["standing"], 9, "{record}");
    assert_eq!(one["ended_early"], true, "{record}");
    // It is as long as that of whoever went on.
    let held_ns = two["figures"]["held"]["held_ns"].as_f64().unwrap();
    let held_s = record["duration_s"].as_f64().unwrap();
    assert!((held_s - held_ns / 1e9).abs() < 1e-6, "{record}");
    let beats = &record["heartbeats"];
    let of = |name: &str| beats[name].as_u64().unwrap();
    assert_eq!(of("due"), of("sent") + of("skipped"), "{record}");
    assert_eq!(target.finish(), of("sent"), "{record}");
}

#[test]
fn what_a_fleet_cannot_hold_is_refused_before_anybody_is_called() {
    let words = "hold --agents local:2 --broadcast 1s ws://127.0.0.1:1/";
    let ended = Program::start(&words.split(' ').collect::<Vec<_>>()).end();
    assert_eq!(ended.code, Some(2), "{ended:?}");
    assert!(ended.said.contains("is timed by one clock"), "{ended:?}");
}
