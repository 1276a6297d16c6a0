//! What becomes of a run when something dies: promises, held by real processes.

use rustix::process::Signal;

use crate::programs::{LOOPBACK, Nats, Program, Target, agents, exchanges, until};

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

    /// A run for so long, as soon as its load goes on.
    fn run(&self, seconds: &str) -> Program {
        let run = self.start_run(&["-R", "100", "-T", "60s", "-d", seconds]);
        until("the load has begun", || self.target.requests() > 20);
        run
    }

    fn start_run(&self, more: &[&str]) -> Program {
        let (broker, url) = (self.nats.url(), self.target.url("/"));
        let mut words = vec!["run", "--nats", &broker, "-c", "4", "--format", "json"];
        if !more.contains(&"--agents") {
            words.extend(["--agents", "2"]);
        }
        words.extend(more);
        words.push(&url);
        Program::start(&words)
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
    let by_then = ground.target.requests_so_far();
    // Nobody comes back for what they counted, so that they are free for another run.
    let again = ground.start_run(&["-n", "50", "-T", "60s"]).end();
    assert!(again.has_measured(), "{again:?}");
    assert_eq!(again.record()["fleet"]["complete"], true, "{again:?}");
    assert_eq!(ground.target.finish(), by_then + 50);
}

#[test]
fn an_agent_that_is_ended_by_its_owner_hands_over_what_it_counted() {
    let Some(ground) = Ground::start() else {
        return;
    };
    let run = ground.run("4s");
    ground.agents[0].signal(Signal::TERM);
    let ended = run.end();
    assert_eq!(ended.code, Some(4), "{ended:?}");
    let record = ended.record();
    assert_eq!(record["fleet"]["complete"], true, "{record}");
    let why = "agent one ended its load early: it was stopped on its own machine";
    assert!(record["warnings"].to_string().contains(why), "{record}");
    let Ground { agents, target, .. } = ground;
    let [one, _two] = agents;
    assert_eq!(one.end().code, Some(0));
    let never_sent = record["exchanges"]["never_sent"].as_u64().unwrap();
    assert_eq!(target.finish(), exchanges(&record) - never_sent, "{record}");
}

#[test]
fn the_others_end_with_one_that_is_lost_where_that_was_asked_for() {
    let Some(ground) = Ground::start() else {
        return;
    };
    let more = ["-R", "100", "-T", "60s", "-d", "10m", "--on-loss", "stop"];
    let run = ground.start_run(&more);
    until("the load has begun", || ground.target.requests() > 20);
    ground.agents[0].signal(Signal::TERM);
    let ended = run.end();
    assert_eq!(ended.code, Some(4), "{ended:?}");
    let record = ended.record();
    assert_eq!(record["fleet"]["complete"], true, "{record}");
    assert_eq!(agents(&record)[1]["ended"], "another agent was lost");
    let never_sent = record["exchanges"]["never_sent"].as_u64().unwrap();
    let sent = exchanges(&record) - never_sent;
    assert_eq!(ground.target.finish(), sent, "{record}");
}

#[test]
fn an_agent_that_comes_late_waits_for_the_next_run() {
    let Some(ground) = Ground::start() else {
        return;
    };
    let run = ground.run("3s");
    let late = Program::agent("late", &ground.nats, Some(LOOPBACK));
    let ended = run.end();
    assert!(ended.has_measured(), "{ended:?}");
    assert_eq!(agents(&ended.record()).len(), 2, "{ended:?}");
    assert_eq!(late.audit(), "");
    let next = ["--agents", "3", "-n", "30", "-T", "60s"];
    let next = ground.start_run(&next).end();
    assert!(next.has_measured(), "{next:?}");
    assert_eq!(agents(&next.record()).len(), 3, "{next:?}");
    assert!(late.audit().contains("\"load\""), "{}", late.audit());
}

#[test]
fn a_report_that_cannot_be_written_is_told_and_not_confirmed() {
    let Some(ground) = Ground::start() else {
        return;
    };
    let ended = ground
        .start_run(&["-n", "30", "-T", "60s", "-o", "/dev/full"])
        .end();
    assert_eq!(ended.code, Some(3), "{ended:?}");
    assert!(ended.said.contains("can't write /dev/full"), "{ended:?}");
    // It's on standard output instead.
    assert_eq!(ended.record()["fleet"]["complete"], true, "{ended:?}");
    for agent in &ground.agents {
        assert!(agent.audit().contains("\"ended\""));
        assert!(!agent.audit().contains("is in the record"));
    }
}

#[test]
fn a_run_that_is_interrupted_while_it_waits_for_agents_ends_as_any_that_is() {
    let Some(ground) = Ground::start() else {
        return;
    };
    let run = ground.start_run(&["--agents", "3", "-n", "30"]);
    until("it waits for agents", || {
        run.said().contains("waiting for 3 agents")
    });
    run.signal(Signal::INT);
    let ended = run.end();
    assert_eq!(ended.code, Some(130), "{ended:?}");
    let why = "it was stopped before the load began";
    assert!(ended.said.contains(why), "{ended:?}");
    assert_eq!(ground.target.finish(), 0);
}
