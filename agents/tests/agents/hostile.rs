//! What somebody can't have agents do who writes plans that no coordinator of ours would send.

use std::fs;
use std::path::Path;
use std::time::Duration;

use agents::VERSION;
use agents::nats::{Broker, End};
use bytes::Bytes;
use fleet::agent::{self, Agent};
use fleet::bus::Bus as _;
use fleet::chain::Digest;
use fleet::coordinator::{Action, Coordinator, End as Ending, Event, OnLoss, Settings};
use fleet::message::DataFile;
use fleet::{Epoch, Name};
use measure::time::Time;
use tokio::runtime::Builder;
use tokio::time::timeout;

use crate::programs::{LOOPBACK, Nats, Program, Target};

const SECOND_NS: u64 = 1_000_000_000;

/// A script that leaves a mark, where the variable MARK is set.
const SCRIPT: &str = r#"
local mark = os.getenv("MARK")
if mark then io.open(mark, "w"):close() end
"#;

/// The plan of a run that waits for an agent, and its files: what an agent is sent that nobody
/// wants to begin. The run goes on waiting for it, and keeps its files until then.
async fn overheard(nats: &Nats) -> (Bytes, Vec<DataFile>) {
    let broker = Broker::new(&nats.url(), None).unwrap();
    let mut end = End::connect(&broker, "overhears").await.unwrap();
    let mut actions = Vec::new();
    let settings = agent::Settings {
        name: Name::new("overhears").unwrap(),
        epoch: Epoch::default(),
        program: VERSION.to_owned(),
        workers: 1,
        room_bytes: 1 << 20,
    };
    let mut agent = Agent::new(settings, &mut actions);
    loop {
        for action in actions.drain(..) {
            match action {
                agent::Action::Subscribe(subject) => end.subscribe(&subject),
                agent::Action::Send(subject, message) => end.publish(&subject, message).unwrap(),
                agent::Action::Prepare { plan, data, .. } => return (plan, data),
                other => panic!("nothing else is to be done: {other:?}"),
            }
        }
        end.flush().await;
        let message = timeout(Duration::from_secs(120), end.heard()).await;
        let message = message.expect("somebody calls for agents");
        agent.handle(agent::Event::Heard(&message), Time::now(), &mut actions);
    }
}

/// Why an agent takes no part in a run with this plan.
async fn refusal(nats: &Nats, name: &str, plan: Bytes, data: Vec<DataFile>) -> String {
    let settings = Settings {
        run: Name::new(name).unwrap(),
        epoch: Epoch::default(),
        series: Epoch::default(),
        program: VERSION.to_owned(),
        agents: 1,
        workers: None,
        same: Digest::of(&plan),
        plan,
        data,
        on_loss: OnLoss::Continue,
        gather_ns: 60 * SECOND_NS,
        prepare_ns: 60 * SECOND_NS,
        longest_ns: 60 * SECOND_NS,
        returns: false,
    };
    let broker = Broker::new(&nats.url(), None).unwrap();
    let mut end = End::connect(&broker, "hostile").await.unwrap();
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
                other => panic!("the agent would begin: {other:?}"),
            }
        }
        end.flush().await;
        let wait = Duration::from_nanos(coordinator.next_due().since(Time::now()));
        let message = timeout(wait, end.heard()).await;
        let event = message
            .as_ref()
            .map_or(Event::Tick, |message| Event::Heard(message));
        coordinator.handle(event, Time::now(), &mut actions);
    }
}

/// The same plan, which the agent is to carry out against a server of its own.
fn to_own_server(plan: &Bytes) -> Bytes {
    let text = String::from_utf8(plan.to_vec()).unwrap();
    let (as_sent, spoilt) = ("\"own_server\":false", "\"own_server\":true");
    assert_eq!(text.matches(as_sent).count(), 1, "{text}");
    text.replace(as_sent, spoilt).into()
}

/// An agent with this policy, whose scripts leave a mark here.
fn marking(nats: &Nats, policy: Option<&str>, mark: &Path) -> Program {
    Program::agent_with(&[("MARK", mark.to_str().unwrap())], "only", nats, policy)
}

#[test]
fn a_script_for_a_server_of_the_agents_own_is_not_run_where_no_script_may() {
    let folder = tempfile::tempdir().unwrap();
    let store = folder.path().join("store").display().to_string();
    let Some(nats) = Nats::start_with(&format!("jetstream {{ store_dir: \"{store}\" }}")) else {
        return;
    };
    let target = Target::start();
    let (script, mark) = (folder.path().join("a.lua"), folder.path().join("mark"));
    fs::write(&script, SCRIPT).unwrap();
    let (broker, url) = (nats.url(), target.url("/"));
    let words = [
        "run", "--agents", "1", "--nats", &broker, "-n", "5", "-c", "1", "-s",
    ];
    let words = [&words[..], &[script.to_str().unwrap(), "-T", "60s", &url]].concat();
    let _waits = Program::start(&words);
    let runtime = Builder::new_current_thread().enable_all().build().unwrap();
    let (plan, data) = runtime.block_on(overheard(&nats));
    let hostile = to_own_server(&plan);
    for (number, policy, part) in [
        (1, None, "allows no address"),
        (2, Some(LOOPBACK), "script"),
    ] {
        let agent = marking(&nats, policy, &mark);
        let name = format!("hostile-{number}");
        let asked = refusal(&nats, &name, hostile.clone(), data.clone());
        let why = runtime.block_on(asked);
        assert!(why.contains("agent only can't take part"), "{why}");
        assert!(why.contains(part), "{why}");
        let audit = agent.audit();
        assert!(
            audit.contains("\"refused\"") && !audit.contains("\"load\""),
            "{audit}"
        );
        assert!(!mark.exists(), "its script was run");
    }
    assert_eq!(target.requests(), 0);
    // Where scripts may run, one leaves its mark.
    let _may = marking(&nats, Some(&format!("scripts = true\n{LOOPBACK}")), &mark);
    let ended = Program::start(&words).end();
    assert!(ended.has_measured(), "{ended:?}");
    assert!(mark.exists(), "{ended:?}");
    assert_eq!(target.finish(), 5);
}
