//! What becomes of a run when something dies: promises, held by real processes.

use rustix::process::Signal;

use crate::programs::{Nats, Program, Target, agents, exchanges, until};

const LOOPBACK: &str = "[[allow]]\nnetworks = [\"127.0.0.0/8\"]\nports = [\"1-65535\"]\n";

/// A run of two agents for some seconds.
struct Ground {
    nats: Nats,
    target: Target,
    agents: [Program; 2],
}

impl Ground {
    fn start() -> Option<Ground> {
        let nats = Nats::start()?;
        Some(Ground {
            target: Target::start(),
            agents: ["one", "two"].map(|name| Program::agent(name, &nats, Some(LOOPBACK))),
            nats,
        })
    }

    fn run(&self, seconds: &str) -> Program {
        let (broker, url) = (self.nats.url(), self.target.url("/"));
        let run = Program::start(&[
            "run", "--agents", "2", "--nats", &broker, "-R", "100", "-c", "4", "-T", "60s", "-d",
            seconds, "--format", "json", &url,
        ]);
        until("the load has begun", || self.target.requests() > 20);
        run
    }
}

#[test]
fn an_agent_that_is_killed_is_named_and_the_others_finish() {
    let Some(ground) = Ground::start() else {
        return;
    };
    let run = ground.run("4s");
    ground.agents[1].signal(Signal::KILL);
    let ended = run.end();
    assert_eq!(ended.code, Some(4), "{ended:?}");
    let record = ended.record();
    let fleet = &record["fleet"];
    assert_eq!(fleet["complete"], false, "{record}");
    assert_eq!(fleet["missing_share"], 0.5, "{record}");
    let [one, two] = &agents(&record)[..] else {
        panic!("two agents: {record}");
    };
    assert_eq!(
        (&one["complete"], &one["lost"]),
        (&true.into(), &false.into())
    );
    assert_eq!(
        (&two["complete"], &two["lost"]),
        (&false.into(), &true.into())
    );
    let warnings = record["warnings"].to_string();
    assert!(
        warnings.contains("agent two, with 50.0 % of the load"),
        "{warnings}"
    );
    assert_eq!(record["valid"], false);
    assert!(exchanges(&record) <= ground.target.finish(), "{record}");
}

#[test]
fn a_broker_that_is_started_again_costs_no_figure() {
    let Some(mut ground) = Ground::start() else {
        return;
    };
    let run = ground.run("6s");
    ground.nats.restart();
    let ended = run.end();
    assert!(ended.has_measured(), "{ended:?}");
    let record = ended.record();
    assert_eq!(record["fleet"]["complete"], true, "{record}");
    let never_sent = record["exchanges"]["never_sent"].as_u64().unwrap();
    assert_eq!(
        ground.target.finish(),
        exchanges(&record) - never_sent,
        "{record}"
    );
}

#[test]
fn a_load_whose_coordinator_is_killed_ends_by_itself() {
    let Some(ground) = Ground::start() else {
        return;
    };
    let run = ground.run("10m");
    run.signal(Signal::KILL);
    run.end();
    for agent in &ground.agents {
        until("an agent ends its load", || {
            agent.audit().contains("didn't hear from the coordinator")
        });
        until("its load is over", || agent.audit().contains("\"ended\""));
    }
    let by_then = ground.target.requests();
    assert_eq!(ground.target.finish(), by_then);
}
