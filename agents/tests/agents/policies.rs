//! An agent does what its owner allows, whoever asks.

use std::path::Path;

use agents::VERSION;
use agents::nats::{Broker, End};
use agents::signed::{Signer, seal};
use fleet::bus::Bus as _;
use fleet::chain::Digest;
use fleet::coordinator::{Action, Coordinator, End as Ending, Event, OnLoss, Settings};
use fleet::{Epoch, Name};
use groups::Limits;
use measure::time::{Time, unix_seconds};
use tokio::runtime::Builder;

use crate::heard::Server;
use crate::programs::{LOOPBACK, Nats, Program, Target};
use crate::skip::not_permitted;

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
        // What it counts is requests.
        (
            &slow,
            &["-R", "2", "--follow", "3"],
            "its share of 8.0 requests/s is above the 5",
        ),
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

#[test]
fn a_redirect_leads_no_agent_where_its_policy_does_not() {
    let Some(nats) = Nats::start() else {
        return;
    };
    let elsewhere = Server::start();
    let target = Server::answering(&format!(
        "HTTP/1.1 302 Found\r\nLocation: {}/",
        elsewhere.url
    ));
    let port = target.url.rsplit_once(':').unwrap().1;
    let policy = format!("[[allow]]\nnetworks = [\"127.0.0.0/8\"]\nports = [{port}]\n");
    let _agent = Program::agent("only", &nats, Some(&policy));
    let broker = nats.url();
    let words = format!(
        "run --agents 1 --nats {broker} -c 2 -n 10 -T 60s --follow 3 --format json {}",
        target.url
    );
    let ended = Program::start(&words.split(' ').collect::<Vec<_>>()).end();
    let record = ended.record();
    assert_eq!(record["errors"]["redirect_elsewhere"], 10, "{record}");
    assert_eq!(target.heard().len(), 10);
    assert!(elsewhere.heard().is_empty(), "{:?}", elsewhere.heard());
}

#[test]
fn an_agent_without_the_file_descriptors_for_its_share_says_so_before_anything_is_sent() {
    let Some(nats) = Nats::start() else {
        return;
    };
    let target = Target::start();
    let (broker, url) = (nats.url(), target.url("/"));
    let _few = Program::agent_through(&["prlimit", "--nofile=150:150"], "few", &nats, &[]);
    let _many = Program::agent("many", &nats, Some(LOOPBACK));
    for verb in ["run -n 400 -T 60s", "hold -d 1s"] {
        let words = format!("{verb} --agents 2 --nats {broker} -c 200 --engine epoll {url}");
        let ended = Program::start(&words.split(' ').collect::<Vec<_>>()).end();
        assert_eq!((ended.code, target.requests()), (Some(1), 0), "{ended:?}");
        let part = "agent few can't take part: its connections need 164 file descriptors";
        assert!(ended.said.contains(part), "{ended:?}");
    }
}

#[test]
fn an_agent_without_the_memory_for_its_share_says_so_before_anything_is_sent() {
    let limits = Limits {
        memory_bytes: Some(128 << 20),
        ..Limits::default()
    };
    let limited = limits.hold().ok().filter(|held| !held.by_address_space);
    let Some(limited) = limited else {
        not_permitted("no control group that limits memory: an agent with too little isn't tried");
        return;
    };
    let Some(nats) = Nats::start() else {
        return;
    };
    let target = Target::start();
    let (broker, url) = (nats.url(), target.url("/"));
    let (program, words) = limited.behind("ringside-fleet", &[]);
    // The program itself comes behind these.
    let before: Vec<&str> = words.iter().map(String::as_str).collect();
    let before = [&[&*program], &before[..before.len() - 1]].concat();
    let _small = Program::agent_through(&before, "small", &nats, &[]);
    let _large = Program::agent("large", &nats, Some(LOOPBACK));
    for verb in ["run -n 100000 -T 60s", "hold -d 1s"] {
        let words = format!("{verb} --agents 2 --nats {broker} -c 100000 {url}");
        let ended = Program::start(&words.split(' ').collect::<Vec<_>>()).end();
        assert_eq!((ended.code, target.requests()), (Some(1), 0), "{ended:?}");
        let why = "connections: memory: 198.84MB of 128.00MB available";
        let who = "agent small can't take part: its";
        assert!(
            ended.said.contains(who) && ended.said.contains(why),
            "{ended:?}"
        );
    }
}

#[test]
fn an_old_signature_is_refused_by_those_who_want_one() {
    let Some(nats) = Nats::start() else {
        return;
    };
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("key");
    let made = Program::start(&["keys", file.to_str().unwrap()]).end();
    let policy = format!("{LOOPBACK}\n[signed]\nby = [\"{}\"]\n", made.out.trim());
    let agent = Program::agent("only", &nats, Some(&policy));
    let asked = |signed_s: u64| {
        let runtime = Builder::new_current_thread().enable_all().build();
        runtime.unwrap().block_on(asked_at(signed_s, &file, &nats))
    };
    let now_s = unix_seconds();
    let why = asked(now_s - 3600);
    assert!(
        why.contains("agent only can't take part: the signature ended"),
        "{why}"
    );
    let why = asked(now_s + 3600);
    assert!(why.contains("and agents take"), "{why}");
    // What it says of one that is good is that this is no plan.
    let why = asked(now_s);
    assert!(why.contains("the plan that came can't be read"), "{why}");
    assert!(
        agent.audit().contains("the signature ended"),
        "{}",
        agent.audit()
    );
}

/// Why an agent takes no part in a run whose plan was signed then.
async fn asked_at(signed_s: u64, key: &Path, nats: &Nats) -> String {
    let run = Name::new(&format!("run-{signed_s}")).unwrap();
    let signer = Signer::new(key, None).unwrap();
    let plan = b"{}";
    let settings = Settings {
        run: run.clone(),
        epoch: Epoch::default(),
        series: Epoch::default(),
        program: VERSION.to_owned(),
        agents: 1,
        workers: None,
        plan: seal(plan, &[], (&run, signed_s), Some(&signer)).unwrap(),
        same: Digest::of(plan),
        data: Vec::new(),
        on_loss: OnLoss::Continue,
        gather_ns: 60_000_000_000,
        prepare_ns: 60_000_000_000,
        longest_ns: 60_000_000_000,
        returns: false,
    };
    let broker = Broker::new(&nats.url(), None).unwrap();
    let mut end = End::connect(&broker, "a-test").await.unwrap();
    let mut actions = Vec::new();
    let mut coordinator = Coordinator::new(settings, Time::now(), &mut actions).unwrap();
    loop {
        for action in std::mem::take(&mut actions) {
            match action {
                Action::Subscribe(subject) => end.subscribe(&subject),
                Action::Send(subject, message) => {
                    let _lost = end.publish(&subject, message);
                }
                Action::Over(Ending::Failed(why)) => return why,
                other => panic!("nothing comes of it: {other:?}"),
            }
        }
        end.flush().await;
        let wait = std::time::Duration::from_nanos(coordinator.next_due().since(Time::now()));
        let message = tokio::time::timeout(wait, end.heard()).await;
        let event = message
            .as_ref()
            .map_or(Event::Tick, |message| Event::Heard(message));
        coordinator.handle(event, Time::now(), &mut actions);
    }
}
