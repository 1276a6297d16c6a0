//! What becomes of a run when somebody comes back, is cut off, lies, or has no room: promises, held
//! by real processes and a real broker.

use std::collections::BTreeSet;
use std::time::Duration;

use agents::nats::{Broker, End};
use fleet::bus::{Bus as _, Subject};
use fleet::message::{Order, Report, Said, Stop, decode, encode};
use fleet::{Epoch, Name};
use rustix::process::Signal;
use serde_json::Value;
use tokio::runtime::Builder;

use crate::programs::{Ended, LOOPBACK, Nats, Program, Target, agents, exchanges, until};
use crate::relay::Relay;
use crate::skip::not_permitted;

/// The words of a run of two agents.
fn words<'a>(broker: &'a str, url: &'a str, more: &[&'a str]) -> Vec<&'a str> {
    let first = ["run", "--nats", broker, "-c", "4", "--format", "json"];
    let last = ["--agents", "2", "-R", "100", "-T", "60s", url];
    [&first[..], more, &last].concat()
}

/// The name of a run, as soon as it has one.
fn name_of(run: &Program) -> String {
    let name = || {
        let said = run.said();
        let (_, rest) = said.split_once("run run-")?;
        Some(format!("run-{}", rest.split_once(':')?.0))
    };
    until("the run has a name", || name().is_some());
    name().unwrap()
}

/// Everything that came is in the record, and nothing else.
fn is_exact(ended: &Ended, target: Target) -> Value {
    let record = ended.record();
    assert_eq!(record["fleet"]["complete"], true, "{record}");
    let never_sent = record["exchanges"]["never_sent"].as_u64().unwrap();
    assert_eq!(target.finish(), exchanges(&record) - never_sent, "{record}");
    record
}

#[test]
fn a_coordinator_that_was_killed_and_comes_back_goes_on_with_its_run() {
    let Some(nats) = Nats::start() else {
        return;
    };
    let target = Target::start();
    let _agents = ["one", "two"].map(|name| Program::agent(name, &nats, Some(LOOPBACK)));
    let (broker, url) = (nats.url(), target.url("/"));
    let run = Program::start(&words(&broker, &url, &["-d", "9s"]));
    until("the load has begun", || target.requests() > 100);
    let name = name_of(&run);
    run.signal(Signal::KILL);
    run.end();
    let again = words(&broker, &url, &["-d", "9s", "--resume", &name]);
    let back = Program::start(&again);
    until("it is back", || back.said().contains("looking for 2"));
    // Only one of them has the run.
    let second = Program::start(&again).end();
    assert_eq!(second.code, Some(1), "{second:?}");
    assert!(second.said.contains("has this run"), "{second:?}");
    let ended = back.end();
    assert!(ended.has_measured(), "{ended:?}");
    let record = is_exact(&ended, target);
    assert_eq!(record["fleet"]["has_returned"], true, "{record}");
    for agent in agents(&record) {
        assert_eq!(agent["ended"], "its plan was over", "{record}");
    }
    // Nobody is in it any more.
    let gone = Program::start(&again).end();
    assert_eq!(gone.code, Some(1), "{gone:?}");
    assert!(gone.said.contains("no agent is in run"), "{gone:?}");
}

#[test]
fn the_share_of_an_agent_that_ends_is_taken_over_by_the_other() {
    let Some(nats) = Nats::start() else {
        return;
    };
    let target = Target::start();
    let all = ["one", "two"].map(|name| Program::agent(name, &nats, Some(LOOPBACK)));
    let (broker, url) = (nats.url(), target.url("/"));
    let counted = words(&broker, &url, &["-n", "50", "--on-loss", "rebalance"]);
    let refused = Program::start(&counted).end();
    assert_eq!(refused.code, Some(2), "{refused:?}");
    assert!(refused.said.contains("give -d or --stages"), "{refused:?}");
    let more = ["-d", "8s", "--on-loss", "rebalance"];
    let run = Program::start(&words(&broker, &url, &more));
    until("the load has begun", || target.requests() > 20);
    all[0].signal(Signal::TERM);
    let ended = run.end();
    assert_eq!(ended.code, Some(4), "{ended:?}");
    let record = is_exact(&ended, target);
    let warnings = record["warnings"].to_string();
    let moved = "50.0 % of the load (1 of 2 threads) was given to two";
    assert!(warnings.contains(moved), "{warnings}");
    let two = &agents(&record)[1];
    assert_eq!(two["share_moved"], 1.0, "{record}");
    let totals = &two["figures"]["totals"];
    let of = |name: &str| totals[name].as_u64().unwrap();
    let done = of("completed") + of("failed") + of("unfinished");
    // Its own half is 400; of the other half nothing is sent twice.
    assert!(done > 400, "{record}");
    assert!(exchanges(&record) <= 800, "{record}");
    let rows = record["series"].as_array().unwrap();
    assert!(rows.len() <= 9, "seconds of both are the same: {record}");
}

#[test]
fn a_short_partition_is_noted_and_a_long_one_ends_the_load_of_whoever_is_cut_off() {
    let Some(nats) = Nats::start() else {
        return;
    };
    let target = Target::start();
    let ways = [(); 2].map(|()| Relay::to(nats.port()));
    let all = ["long", "short"];
    let all = [0, 1].map(|at| Program::agent_at(&[], all[at], &ways[at].url(), Some(LOOPBACK)));
    let (broker, url) = (nats.url(), target.url("/"));
    let run = Program::start(&words(&broker, &url, &["-d", "16s"]));
    until("the load has begun", || target.requests() > 20);
    ways.iter().for_each(|way| way.cut(true));
    // Four seconds of it.
    let by_then = target.requests();
    until("the load goes on all the same", || {
        target.requests() > by_then + 400
    });
    ways[1].cut(false);
    until("whoever is cut off ends its load", || {
        all[0].audit().contains("didn't hear from the coordinator")
    });
    ways[0].cut(false);
    let ended = run.end();
    assert_eq!(ended.code, Some(4), "{ended:?}");
    // What was counted in the meantime came later.
    let record = is_exact(&ended, target);
    let warnings = record["warnings"].to_string();
    for part in [
        "agent long ended its load early: it didn't hear from the coordinator",
        "agent short didn't hear the coordinator for",
        "agent short wasn't heard for",
    ] {
        assert!(warnings.contains(part), "{part}: {warnings}");
    }
    assert_eq!(agents(&record)[1]["ended"], "its plan was over", "{record}");
}

/// Says something as a coordinator of a run would.
fn order(run: &Name, order: Order) -> bytes::Bytes {
    let said = Said::Order {
        run: run.clone(),
        epoch: Epoch::default(),
        order,
    };
    encode(agents::VERSION, &said).unwrap()
}

#[test]
fn messages_that_come_twice_are_counted_once_and_told() {
    let Some(nats) = Nats::start() else {
        return;
    };
    let target = Target::start();
    let _agents = ["one", "two"].map(|name| Program::agent(name, &nats, Some(LOOPBACK)));
    let (broker, url) = (nats.url(), target.url("/"));
    let run = Program::start(&words(&broker, &url, &["-d", "4s"]));
    let name = Name::new(&name_of(&run)).unwrap();
    let runtime = Builder::new_current_thread().enable_all().build().unwrap();
    let ended = runtime.block_on(async {
        let broker = Broker::new(&broker, None).unwrap();
        let mut end = End::connect(&broker, "echo").await.unwrap();
        let subject = Subject::Coordinator(name);
        end.subscribe(&subject);
        let run = tokio::task::spawn_blocking(move || run.end());
        let mut said = BTreeSet::new();
        while !run.is_finished() {
            end.flush().await;
            let heard = tokio::time::timeout(Duration::from_millis(100), end.heard()).await;
            let is_interval = |bytes: &[u8]| {
                let said = decode(bytes).map(|heard| heard.said);
                let is_it = |report: &Report| matches!(report, Report::Interval { .. });
                matches!(said, Ok(Said::Report { report, .. }) if is_it(&report))
            };
            if let Ok(bytes) = heard
                && is_interval(&bytes)
                && said.insert(bytes.to_vec())
            {
                end.publish(&subject, bytes).unwrap();
            }
        }
        run.await.unwrap()
    });
    assert!(ended.has_measured(), "{ended:?}");
    let record = is_exact(&ended, target);
    for agent in agents(&record) {
        assert!(agent["duplicates"].as_u64() > Some(0), "{record}");
    }
}

#[test]
fn an_agent_that_wants_signatures_takes_no_orders_of_a_stranger() {
    let Some(nats) = Nats::start() else {
        return;
    };
    let folder = tempfile::tempdir().unwrap();
    let key = folder.path().join("key").to_str().unwrap().to_owned();
    let public = Program::start(&["keys", &key]).end().out;
    let signed = format!("{LOOPBACK}\n[signed]\nby = [{:?}]\n", public.trim());
    let target = Target::start();
    let all = ["one", "two"].map(|name| Program::agent(name, &nats, Some(&signed)));
    let (broker, url) = (nats.url(), target.url("/"));
    let run = Program::start(&words(&broker, &url, &["-d", "10m", "--sign", &key]));
    until("the load has begun", || target.requests() > 20);
    let name = Name::new(&name_of(&run)).unwrap();
    let runtime = Builder::new_current_thread().enable_all().build().unwrap();
    runtime.block_on(async {
        let broker = Broker::new(&broker, None).unwrap();
        let mut end = End::connect(&broker, "stranger").await.unwrap();
        let why = Stop::Asked;
        let stop = order(&name, Order::Stop { why });
        end.publish(&Subject::Agents(name), stop).unwrap();
        end.round_trip().await.unwrap();
    });
    for agent in &all {
        until("it has refused that", || {
            agent.audit().contains("isn't signed")
        });
    }
    let by_then = target.requests();
    until("the load goes on", || target.requests() > by_then + 100);
    // An end to all load is anybody's to ask for, and that of the run whoever's it is.
    run.signal(Signal::INT);
    let ended = run.end();
    assert_eq!(ended.code, Some(130), "{ended:?}");
    let record = is_exact(&ended, target);
    for agent in agents(&record) {
        assert_eq!(agent["ended"], "the run was stopped", "{record}");
    }
}

#[test]
fn an_agent_that_stood_still_is_named_as_the_limit() {
    let Some(nats) = Nats::start() else {
        return;
    };
    let target = Target::start();
    let all = ["one", "two"].map(|name| Program::agent(name, &nats, Some(LOOPBACK)));
    let (broker, url) = (nats.url(), target.url("/"));
    let run = Program::start(&words(&broker, &url, &["-d", "5s"]));
    until("the load has begun", || target.requests() > 20);
    all[1].signal(Signal::STOP);
    let by_then = target.requests();
    until("the other one goes on", || target.requests() > by_then + 75);
    all[1].signal(Signal::CONT);
    let ended = run.end();
    assert_eq!(ended.code, Some(4), "{ended:?}");
    let record = is_exact(&ended, target);
    let limited = record["fleet"]["limited_by"].as_array().unwrap();
    assert!(limited.contains(&"two".into()), "{record}");
    let warnings = record["warnings"].to_string();
    assert!(warnings.contains("agent two was the limit"), "{warnings}");
}

/// An agent whose intervals go into a file system that is full soon; none where that can't be had.
fn cramped(nats: &Nats) -> Option<Program> {
    let own = ["unshare", "--user", "--map-root-user", "--mount"];
    let may = std::process::Command::new(own[0])
        .args(&own[1..])
        .args(["mount", "-t", "tmpfs", "none", "/mnt"])
        .stderr(std::process::Stdio::null())
        .status();
    if !may.is_ok_and(|status| status.success()) {
        not_permitted("no file systems of our own: a full disk isn't tried");
        return None;
    }
    let script = "mount -t tmpfs -o size=8k none /mnt && exec \"$0\" \"$@\"";
    let before = [&own[..], &["sh", "-c", script]].concat();
    let more = ["--keep", "/mnt"];
    Some(Program::agent_through(&before, "one", nats, &more))
}

#[test]
fn a_full_disk_of_an_agent_is_named_and_costs_no_figure() {
    let Some(nats) = Nats::start() else {
        return;
    };
    let Some(_one) = cramped(&nats) else {
        return;
    };
    let target = Target::start();
    let two = Program::agent("two", &nats, Some(LOOPBACK));
    let (broker, url) = (nats.url(), target.url("/"));
    let run = words(&broker, &url, &["-d", "5s"]);
    let ended = Program::start(&run).end();
    assert!(ended.has_measured(), "{ended:?}");
    let record = is_exact(&ended, target);
    let warnings = record["warnings"].to_string();
    assert!(
        warnings.contains("agent one: what it counts can't be kept in /mnt"),
        "{warnings}"
    );
    assert!(warnings.contains("No space left"), "{warnings}");
    drop(two);
}

#[test]
fn an_agent_whose_log_cannot_be_written_takes_no_load() {
    let Some(nats) = Nats::start() else {
        return;
    };
    let target = Target::start();
    let _one = Program::agent_at(
        &["--audit", "/dev/full"],
        "one",
        &nats.url(),
        Some(LOOPBACK),
    );
    let _two = Program::agent("two", &nats, Some(LOOPBACK));
    let (broker, url) = (nats.url(), target.url("/"));
    let ended = Program::start(&words(&broker, &url, &["-d", "5s"])).end();
    assert_eq!(ended.code, Some(1), "{ended:?}");
    let why = "agent one can't take part: its log can't be written";
    assert!(ended.said.contains(why), "{ended:?}");
    assert_eq!(target.finish(), 0);
}
