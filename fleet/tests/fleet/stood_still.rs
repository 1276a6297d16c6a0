//! Loads that somebody ends, and machines that stand still or leave, while a run goes on.

use fleet::agent;
use fleet::coordinator::{End, OnLoss};
use fleet::message::{Ended, Order, Report, Said, decode, encode};
use fleet::{Epoch, Name};
use measure::time::Time;

use crate::promises::{answers, answers_of, call, loading, lone_agent, record, says};
use crate::world::{Happens, MS, SECOND, Setup};

#[test]
fn a_run_that_is_halted_before_its_load_ends_at_once() {
    let seen = Setup::of(2, 10).with(510 * MS, Happens::Halt).run();
    assert_eq!(seen.violations, [""; 0]);
    assert!(seen.loads.is_empty() && seen.outcomes.is_empty());
    assert_eq!(seen.ends, [End::Halted]);
    assert!(seen.ended_at < 15 * SECOND, "{}", seen.ended_at);
}

#[test]
fn whoever_stops_all_load_stops_what_belongs_with_it() {
    let mut agent = lone_agent();
    let hello = [Report::Hello { workers: 1 }];
    let [one, two, three] = ["run-1", "run-2", "run-3"].map(|run| Name::new(run).unwrap());
    assert_eq!(answers_of(&mut agent, &one, 5, call(1), 10), hello);
    answers_of(&mut agent, &Name::new("me").unwrap(), 1, Order::Halt, 11);
    // The next run of a search, and a run that somebody else begins.
    assert_eq!(
        answers_of(&mut agent, &two, 6, call(1), 12),
        [Report::Halted]
    );
    assert_eq!(answers_of(&mut agent, &three, 7, call(2), 13), hello);
    // It's heard between two runs of a search, too.
    let mut waits = lone_agent();
    let stop = Order::Stop {
        why: fleet::message::Stop::NotBegun,
    };
    answers_of(&mut waits, &one, 5, call(1), 10);
    answers_of(&mut waits, &one, 5, stop, 11);
    answers_of(&mut waits, &Name::new("me").unwrap(), 1, Order::Halt, 12);
    assert_eq!(
        answers_of(&mut waits, &two, 6, call(1), 13),
        [Report::Halted]
    );
}

#[test]
fn nobody_takes_the_share_of_one_over_that_was_halted() {
    let mut setup = Setup::of(3, 60).with(20 * SECOND, Happens::HaltOne(0));
    setup.on_loss = OnLoss::Rebalance;
    let seen = setup.run();
    let record = record(&seen);
    assert!(record.halted && seen.moves.is_empty(), "{:?}", seen.moves);
    let ends = seen.loads.iter().map(|(_, _, end)| end / SECOND);
    assert!(ends.clone().all(|end| end < 23), "{ends:?}");
}

#[test]
fn a_coordinator_that_stood_still_blames_nobody_and_has_the_rest_sent() {
    let seen = Setup::of(2, 30)
        .with(12 * SECOND, Happens::FreezeCoordinator(true))
        .with(29 * SECOND, Happens::FreezeCoordinator(false))
        .run();
    let record = record(&seen);
    assert!(record.complete, "{:?}", record.findings);
    assert!(record.agents.iter().all(|agent| !agent.lost));
    assert!(record.agents.iter().all(|agent| agent.ended_early));
    says(record, &["the coordinator stood still for"]);
}

#[test]
fn an_agent_that_stood_still_ends_its_load_whatever_was_said_meanwhile() {
    let mut agent = loading();
    let lease = agent.lease();
    answers(&mut agent, 5, Order::Beat, 12);
    assert!(!lease.is_broken() && !lease.clone().is_past(Time(21 * SECOND)));
    let epoch = Epoch {
        number: 5,
        nonce: 0,
    };
    let said = Said::Order {
        run: Name::new("run-1").unwrap(),
        epoch,
        order: Order::Beat,
    };
    let (bytes, mut actions) = (encode("1.2.3", &said).unwrap(), Vec::new());
    let heard = agent::Event::Heard(&bytes);
    agent.handle(heard, Time(31 * SECOND), &mut actions);
    let stopped = agent::Action::StopLoad(Ended::DeadMan);
    assert!(actions.contains(&stopped), "{actions:?}");
    // A worker may find its time over before the agent itself does.
    let mut agent = loading();
    assert!(agent.lease().is_past(Time(20 * SECOND)));
    let ended = agent::Event::LoadEnded {
        verdict: &fleet::Verdict::default(),
        failed: None,
    };
    let mut actions = Vec::new();
    agent.handle(ended, Time(15 * SECOND), &mut actions);
    let said = actions.iter().any(|action| match action {
        agent::Action::Send(_, bytes) => matches!(
            decode(bytes).unwrap().said,
            Said::Report {
                report: Report::Last {
                    ended: Ended::DeadMan,
                    ..
                },
                ..
            }
        ),
        _ => false,
    });
    assert!(said, "{actions:?}");
}

#[test]
fn a_run_that_was_divided_otherwise_is_left_alone() {
    let mut setup = Setup::of(4, 30)
        .with(15 * SECOND, Happens::KillCoordinator)
        .with(18 * SECOND, Happens::StartCoordinatorOf(2));
    setup.workers = Some(4);
    let seen = setup.run();
    assert_eq!((seen.violations.len(), seen.outcomes.len()), (0, 0));
    let [End::Failed(why)] = &seen.ends[..] else {
        panic!("{:?}", seen.ends);
    };
    assert!(why.contains("--agents among them"), "{why}");
}

#[test]
fn a_run_does_not_wait_for_agents_that_have_left() {
    for at in [11, 15] {
        let seen = Setup::of(3, 20)
            .with(at * SECOND, Happens::Leave(2))
            .with((at + 6) * SECOND, Happens::KillAgent(2))
            .run();
        let record = record(&seen);
        assert!(record.complete, "{:?}", record.findings);
        assert!(seen.coordinator_ended_at < 28 * SECOND, "{seen:?}");
    }
}

#[test]
fn a_coordinator_whose_broker_is_gone_ends_at_once_with_what_it_has() {
    let seen = Setup::of(2, 60)
        .with(20 * SECOND, Happens::CutCoordinator(true))
        .with(20 * SECOND, Happens::Alone)
        .run();
    let record = record(&seen);
    assert!(!record.complete && record.agents.iter().all(|agent| agent.lost));
    says(record, &["it's gone"]);
    for agent in &record.agents {
        assert!((12..20).contains(&agent.intervals), "{}", agent.intervals);
    }
    assert_eq!(seen.ends, [End::Recorded]);
    let took = seen.coordinator_ended_at;
    assert!(took < 22 * SECOND, "{took}");
    // Before the load there's nothing to record.
    let seen = Setup::of(2, 60).with(600 * MS, Happens::Alone).run();
    assert_eq!(seen.ends, [End::Failed("it's gone".to_owned())]);
    assert!(seen.coordinator_ended_at < SECOND && seen.outcomes.is_empty());
}
