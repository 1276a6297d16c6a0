//! Whoever looks after all agents sees them, and ends their load; and agents that don't belong
//! together are told apart.

use std::time::Duration;

use agents::nats::{Broker, End};
use fleet::agent::{Action, Agent, Event, Settings};
use fleet::bus::Bus as _;
use fleet::{Epoch, Name};
use measure::time::Time;
use tokio::runtime::Builder;

use crate::programs::{LOOPBACK, Nats, Program, Target, until};

#[test]
fn agents_are_shown_and_their_load_ends_when_somebody_says_so() {
    let Some(nats) = Nats::start() else {
        return;
    };
    let (broker, target) = (nats.url(), Target::start());
    let nobody = Program::start(&["status", "--nats", &broker]).end();
    assert_eq!(nobody.code, Some(1), "{nobody:?}");
    assert!(nobody.said.contains("no agent has answered"), "{nobody:?}");
    let nobody = Program::start(&["stop", "--nats", &broker]).end();
    assert_eq!(nobody.code, Some(1), "{nobody:?}");
    assert!(nobody.said.contains("nothing was stopped"), "{nobody:?}");
    let agents = ["one", "two"].map(|name| Program::agent(name, &nats, Some(LOOPBACK)));
    let status = || {
        let ended = Program::start(&["status", "--nats", &broker]).end();
        assert_eq!(ended.code, Some(0), "{ended:?}");
        ended.out
    };
    assert_eq!(status().matches("waits").count(), 2);
    let url = target.url("/");
    let words = [
        "run", "--agents", "2", "--nats", &broker, "-R", "100", "-c", "4",
    ];
    let more = ["-d", "10m", "-T", "60s", "--format", "json", &url];
    let run = Program::start(&[&words[..], &more].concat());
    until("the load has begun", || target.requests() > 20);
    assert_eq!(status().matches("sends load, in run-").count(), 2);
    let stopped = Program::start(&["stop", "--nats", &broker]).end();
    assert_eq!(stopped.code, Some(0), "{stopped:?}");
    assert!(!stopped.out.contains("sends load"), "{stopped:?}");
    let by_then = target.requests_so_far();
    for agent in &agents {
        assert!(agent.audit().contains("\"ended\""), "{}", agent.audit());
    }
    let ended = run.end();
    assert_eq!(ended.code, Some(4), "{ended:?}");
    let record = ended.record();
    assert_eq!(record["fleet"]["complete"], true, "{record}");
    let warnings = record["warnings"].to_string();
    assert!(warnings.contains("all load was stopped"), "{warnings}");
    assert_eq!(target.finish(), by_then);
}

#[test]
fn a_search_sends_nothing_more_once_all_load_was_stopped() {
    let Some(nats) = Nats::start() else {
        return;
    };
    let (broker, target) = (nats.url(), Target::start());
    let agents = ["one", "two"].map(|name| Program::agent(name, &nats, Some(LOOPBACK)));
    let folder = tempfile::tempdir().unwrap();
    let (url, out) = (target.url("/"), folder.path().join("out"));
    let words = "capacity --agents 2 -c 4 --slo p99<10s --arrivals constant --from 100 -d 5s -o";
    let more = [out.to_str().unwrap(), "--nats", &broker, &url];
    let words: Vec<&str> = words.split(' ').chain(more).collect();
    let search = Program::start(&words);
    until("a probe is under way", || {
        agents
            .iter()
            .all(|agent| agent.audit().contains("\"load\""))
            && target.requests() > 20
    });
    let stopped = Program::start(&["stop", "--nats", &broker]).end();
    assert_eq!(stopped.code, Some(0), "{stopped:?}");
    let by_then = target.requests_so_far();
    let ended = search.end();
    // As one that was ended by SIGTERM.
    assert_eq!(ended.code, Some(143), "{ended:?}");
    assert!(ended.said.contains("all load was stopped"), "{ended:?}");
    assert_eq!(target.finish(), by_then, "{ended:?}");
    for agent in &agents {
        assert_eq!(
            agent.audit().matches("\"load\"").count(),
            1,
            "{}",
            agent.audit()
        );
    }
}

#[test]
fn whoever_may_not_speak_to_agents_is_told_that_nothing_was_stopped() {
    let users = "authorization { users: [ { user: a, password: b, \
                 permissions: { publish: { deny: \"ringside.call\" } } } ] }\n";
    let Some(nats) = Nats::start_with(users) else {
        return;
    };
    let broker = nats.url().replace("nats://", "nats://a:b@");
    let _agent = Program::agent_at(&[], "one", &broker, Some(LOOPBACK));
    let ended = Program::start(&["stop", "--nats", &broker]).end();
    assert_eq!(ended.code, Some(1), "{ended:?}");
    let why = "doesn't let this key speak to agents";
    assert!(ended.said.contains(why), "{ended:?}");
}

#[test]
fn an_agent_of_another_version_is_refused_with_both_versions() {
    let Some(nats) = Nats::start() else {
        return;
    };
    let url = nats.url();
    let words = ["run", "--agents", "1", "--nats", &url, "-n", "5"];
    let run = Program::start(&[&words[..], &["http://127.0.0.1:1/"]].concat());
    let runtime = Builder::new_current_thread().enable_all().build().unwrap();
    let broker = Broker::new(&nats.url(), None).unwrap();
    runtime.block_on(async {
        let mut end = End::connect(&broker, "test").await.unwrap();
        let (mut actions, mut has_heard) = (Vec::new(), false);
        let settings = Settings {
            name: Name::new("older").unwrap(),
            epoch: Epoch::default(),
            program: "0.0.1".to_owned(),
            workers: 1,
            room_bytes: 1 << 20,
        };
        let mut agent = Agent::new(settings, &mut actions);
        while !has_heard {
            for action in actions.drain(..) {
                match action {
                    Action::Subscribe(subject) => end.subscribe(&subject),
                    Action::Unsubscribe(subject) => end.unsubscribe(&subject),
                    Action::Send(subject, message) => end.publish(&subject, message).unwrap(),
                    Action::Note(_) => has_heard = true,
                    _ => {}
                }
            }
            end.flush().await;
            let patience = tokio::time::timeout(Duration::from_secs(120), end.heard());
            let message = patience.await.expect("it hears that it isn't wanted");
            agent.handle(Event::Heard(&message), Time::now(), &mut actions);
        }
    });
    let ended = run.end();
    assert_eq!(ended.code, Some(1), "{ended:?}");
    let ours = agents::VERSION;
    let why = format!("agent older is ringside 0.0.1, and the coordinator {ours}");
    assert!(ended.said.contains(&why), "{ended:?}");
}

#[test]
fn two_agents_of_the_same_name_are_told_apart() {
    let Some(nats) = Nats::start() else {
        return;
    };
    let begun = Time::now();
    let _agents = ["twin", "twin"].map(|name| Program::agent(name, &nats, Some(LOOPBACK)));
    let url = nats.url();
    let words = ["run", "--agents", "2", "--nats", &url, "-n", "5"];
    let ended = Program::start(&[&words[..], &["http://127.0.0.1:1/"]].concat()).end();
    assert_eq!(ended.code, Some(1), "{ended:?}");
    assert!(
        ended.said.contains("two agents are called twin"),
        "{ended:?}"
    );
    // Nobody waits for others, or starts more of them.
    assert!(!ended.said.contains("start more"), "{ended:?}");
    let took = Time::now() - begun;
    assert!(took < Duration::from_secs(25), "{took:?}");
}
