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
        (
            LOOPBACK,
            &["--connect-to", "::192.0.2.7:80"],
            "192.0.2.7:80 may not be loaded",
        ),
        // A name is what it's resolved to.
        (
            elsewhere,
            &["--connect-to", "::localhost:80"],
            "matches no [[allow]]",
        ),
    ] {
        let Some((code, said, _, requests)) = with(Some(policy), more) else {
            return;
        };
        assert_eq!((code, requests), (Some(1), 0), "{said}");
        assert!(said.contains(part), "{said}");
    }
}

#[test]
fn an_agent_that_wants_signatures_takes_a_plan_from_one_key_for_its_own_audience() {
    let Some(nats) = Nats::start() else {
        return;
    };
    let folder = tempfile::tempdir().unwrap();
    let key = |name: &str| {
        let file = folder.path().join(name).to_str().unwrap().to_owned();
        let made = Program::start(&["keys", &file]).end();
        assert_eq!(made.code, Some(0), "{made:?}");
        (file, made.out.trim().to_owned())
    };
    let ((ours, public), (strange, _)) = (key("ours"), key("strange"));
    let policy = format!("{LOOPBACK}\n[signed]\nby = [\"{public}\"]\naudience = \"lab\"\n");
    let target = Target::start();
    let _agent = Program::agent("only", &nats, Some(&policy));
    let (broker, url) = (nats.url(), target.url("/"));
    let run = |more: &[&str]| {
        let words = [
            "run", "--agents", "1", "--nats", &broker, "-c", "2", "-n", "10",
        ];
        Program::start(&[&words[..], more, &["-T", "60s", &url]].concat()).end()
    };
    for (more, part) in [
        (&[][..], "and this one isn't: use --sign"),
        (
            &["--sign", &strange, "--audience", "lab"],
            "a key that this agent's policy doesn't name",
        ),
        (&["--sign", &ours], "use --audience"),
        (&["--sign", "/nonexistent"], "can't read the nkey"),
    ] {
        let ended = run(more);
        assert_eq!((ended.code, target.requests()), (Some(1), 0), "{ended:?}");
        assert!(ended.said.contains(part), "{ended:?}");
    }
    let ended = run(&["--sign", &ours, "--audience", "lab"]);
    assert!(ended.has_measured(), "{ended:?}");
    assert_eq!(target.finish(), 10);
}

#[test]
fn a_key_lets_agents_and_coordinators_in_where_the_broker_asks_for_one() {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("key").to_str().unwrap().to_owned();
    let public = Program::start(&["keys", &file]).end().out;
    let users = format!(
        "authorization {{ users: [ {{ nkey: {} }} ] }}\n",
        public.trim()
    );
    let Some(nats) = Nats::start_with(&users) else {
        return;
    };
    let target = Target::start();
    let (broker, url) = (nats.url(), target.url("/"));
    let key = [("NATS_NKEY", &*file)];
    let _agent = Program::agent_with(&key, "only", &nats, Some(LOOPBACK));
    let words = [
        "run", "--agents", "1", "--nats", &broker, "-c", "2", "-n", "10",
    ];
    let words = [&words[..], &["-T", "60s", &url]].concat();
    let stranger = Program::start(&words).end();
    assert_eq!(stranger.code, Some(1), "{stranger:?}");
    assert!(
        stranger.said.contains("can't reach the NATS server"),
        "{stranger:?}"
    );
    let ended = Program::start_with(&key, &words).end();
    assert!(ended.has_measured(), "{ended:?}");
    assert_eq!(target.finish(), 10);
}
