//! An agent does what its owner allows, whoever asks.

use crate::programs::{LOOPBACK, Nats, Program, Target};

/// A run over one agent with a policy: how it ended, and how many requests came.
fn with(policy: Option<&str>, more: &[&str]) -> Option<(Option<i32>, String, String, u64)> {
    let nats = Nats::start()?;
    let target = Target::start();
    let agent = Program::agent("only", &nats, policy);
    let (broker, url) = (nats.url(), target.url("/"));
    let mut words = vec![
        "run", "--agents", "1", "--nats", &broker, "-c", "2", "-n", "10",
    ];
    words.extend(more);
    words.push(&url);
    let ended = Program::start(&words).end();
    Some((ended.code, ended.said, agent.audit(), target.finish()))
}

#[test]
fn an_agent_without_a_policy_loads_nothing() {
    let Some((code, said, audit, requests)) = with(None, &[]) else {
        return;
    };
    assert_eq!((code, requests), (Some(1), 0), "{said}");
    assert!(said.contains("agent only can't take part"), "{said}");
    assert!(said.contains("allows no address"), "{said}");
    assert!(audit.contains("\"event\":\"refused\""), "{audit}");
}

#[test]
fn what_a_policy_does_not_allow_is_refused_with_the_rule() {
    let elsewhere = "[[allow]]\nnetworks = [\"192.0.2.0/24\"]\nports = [80]\n";
    let slow = format!("{LOOPBACK}[limits]\nrate = 5\n");
    let few = format!("{LOOPBACK}[limits]\nconnections = 1\n");
    for (policy, more, part) in [
        (elsewhere, &[][..], "matches no [[allow]]"),
        (
            &slow,
            &["-R", "6"],
            "its share of 6.0 requests/s is above the 5",
        ),
        (&slow, &[], "a closed loop has no rate"),
        (&few, &[], "its share of 2 connections is above the 1"),
    ] {
        let Some((code, said, _, requests)) = with(Some(policy), more) else {
            return;
        };
        assert_eq!((code, requests), (Some(1), 0), "{said}");
        assert!(said.contains(part), "{said}");
    }
}
