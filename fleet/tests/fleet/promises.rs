//! What a fleet promises, one promise a test.

use fleet::agent::{self, Agent, LINGER_NS};
use fleet::coordinator::{End, OnLoss};
use fleet::counted::Counted;
use fleet::message::{Ended, Order, Report, Said, decode, encode};
use fleet::record::Record;
use fleet::{Epoch, Name, Totals};
use measure::time::Time;

use crate::world::{Happens, MS, Machine, SECOND, Seen, Setup};

/// The one record of a run in which nothing happened that must not.
pub(crate) fn record(seen: &Seen) -> &Record {
    assert_eq!(seen.violations, [""; 0], "{:?}", seen.notes);
    assert_eq!(seen.outcomes.len(), 1, "{:?}, {:?}", seen.ends, seen.notes);
    &seen.outcomes[0].record
}

fn failed(seen: &Seen) -> String {
    assert_eq!(seen.violations, [""; 0]);
    assert!(
        seen.outcomes.is_empty() && seen.loads.is_empty(),
        "{:?}",
        seen.loads
    );
    match &seen.ends[..] {
        [End::Failed(why)] => why.clone(),
        other => panic!("{other:?}"),
    }
}

pub(crate) fn says(record: &Record, what: &[&str]) {
    let all = record.findings.join("\n");
    for part in what {
        assert!(all.contains(part), "{part}: {all}");
    }
}

#[test]
fn a_run_without_faults_is_complete_and_says_nothing_more() {
    let seen = Setup::of(4, 10).run();
    let record = record(&seen);
    assert!(record.complete && record.agents.len() == 4);
    assert_eq!(
        (record.missing_share, record.findings.len()),
        (0.0, 0),
        "{:?}",
        record.findings
    );
    assert_eq!((seen.confirmed, &seen.ends[..]), (4, &[End::Recorded][..]));
    let shares: f64 = record.agents.iter().filter_map(|agent| agent.share).sum();
    let tail: f64 = record
        .agents
        .iter()
        .filter_map(|agent| agent.tail_share)
        .sum();
    assert!((shares - 1.0).abs() < 1e-9 && (tail - 1.0).abs() < 1e-9);
    for agent in &record.agents {
        assert_eq!(agent.ended.as_deref(), Some("its plan was over"));
        assert_eq!((agent.intervals, agent.last_number), (11, Some(10)));
        assert!(agent.clock.is_some() && agent.clock_at_end.is_some());
        assert!(agent.begins_ns.is_some());
        assert_eq!(agent.begun_late_ns, Some(0));
        assert!(agent.clock_drift_ppm.is_some_and(|ppm| ppm.abs() < 1000.0));
    }
    let begins: Vec<u64> = seen.loads.iter().map(|(_, begin, _)| *begin).collect();
    let spread = begins.iter().max().unwrap() - begins.iter().min().unwrap();
    assert!(spread < 2 * MS, "they began within {spread} ns");
    serde_json::to_string(record).unwrap();
}

#[test]
fn a_record_of_a_fleet_has_the_sum_of_its_agents_and_what_each_had() {
    let seen = Setup::of(3, 8).run();
    let (record, whole) = (record(&seen), &seen.outcomes[0].counted);
    let sum: u64 = record
        .agents
        .iter()
        .map(|agent| agent.figures.totals.completed)
        .sum();
    assert_eq!(sum, record.figures.totals.completed);
    let Counted::Run(packed) = whole else {
        panic!("it's a run");
    };
    let counted = packed.unpack().unwrap();
    assert_eq!(
        (counted.completed, counted.response.count()),
        (sum, whole.times().count())
    );
    assert_eq!(
        counted.response.quantile(0.99),
        record.figures.response_p99_ns
    );
}

#[test]
fn an_agent_that_dies_is_named_with_its_last_number_and_its_share() {
    for on_loss in [OnLoss::Continue, OnLoss::Stop, OnLoss::Rebalance] {
        let mut setup = Setup::of(4, 60).with(20 * SECOND, Happens::KillAgent(1));
        setup.on_loss = on_loss;
        let seen = setup.run();
        let record = record(&seen);
        assert!(!record.complete && (record.missing_share - 0.25).abs() < 1e-9);
        says(
            record,
            &["agent agent-1 was lost", "with 25.0 % of the load"],
        );
        let dead = &record.agents[1];
        assert!(dead.lost && !dead.complete && dead.ended.is_none());
        let last = dead.last_number.unwrap();
        assert!(
            (10..20).contains(&last) && dead.intervals == last + 1,
            "{last}"
        );
        let others = record
            .agents
            .iter()
            .filter(|agent| agent.agent != dead.agent);
        assert!(others.clone().all(|agent| agent.complete && !agent.lost));
        let ends: Vec<&str> = others
            .clone()
            .filter_map(|agent| agent.ended.as_deref())
            .collect();
        let now = others.map(|agent| agent.share_moved.or(agent.share).unwrap());
        let (moved, now) = (seen.moves.len(), now.sum::<f64>());
        match on_loss {
            OnLoss::Continue => {
                assert_eq!((ends, moved), (vec!["its plan was over"; 3], 0));
            }
            OnLoss::Stop => assert_eq!(ends, ["another agent was lost"; 3]),
            OnLoss::Rebalance => {
                assert_eq!(ends, ["its plan was over"; 3]);
                // Each of its two workers goes to another one, and all of the load is sent again.
                assert_eq!((moved, now), (2, 1.0));
                says(
                    record,
                    &["25.0 % of the load (2 of 8 threads) was given to"],
                );
            }
        }
    }
}

#[test]
fn shares_are_moved_by_a_coordinator_that_came_back_as_by_the_one_before() {
    let mut setup = Setup::of(4, 90)
        .with(15 * SECOND, Happens::KillAgent(1))
        .with(40 * SECOND, Happens::KillCoordinator)
        .with(44 * SECOND, Happens::StartCoordinator { returns: true })
        .with(65 * SECOND, Happens::KillAgent(2));
    setup.on_loss = OnLoss::Rebalance;
    let seen = setup.run();
    let record = record(&seen);
    assert!(!record.complete && record.agents_unknown == 1);
    assert!(
        (record.missing_share - 0.5).abs() < 1e-9,
        "{}",
        record.missing_share
    );
    // Each of the lost workers is another agent's, and those that it had taken over go on, too.
    let mut runs = vec![Vec::new(); 4];
    for agent in [0, 3] {
        let first = agent as u32 * 2;
        runs[agent].extend([first, first + 1]);
    }
    for (agent, place) in &seen.moves {
        runs[*agent].extend(place.numbers());
    }
    let mut all: Vec<u32> = [0, 3]
        .iter()
        .flat_map(|agent| runs[*agent].clone())
        .collect();
    all.sort_unstable();
    assert_eq!(all, (0..8).collect::<Vec<_>>(), "{:?}", seen.moves);
}

#[test]
fn workers_of_agents_that_died_while_no_coordinator_was_there_are_taken_over() {
    let mut setup = Setup::of(3, 60)
        .with(20 * SECOND, Happens::KillCoordinator)
        .with(21 * SECOND, Happens::KillAgent(2))
        .with(24 * SECOND, Happens::StartCoordinator { returns: true });
    setup.on_loss = OnLoss::Rebalance;
    let seen = setup.run();
    assert!(!record(&seen).complete);
    let numbers = seen.moves.iter().flat_map(|(_, place)| place.numbers());
    assert_eq!(numbers.collect::<Vec<_>>(), [4, 5], "{:?}", seen.moves);
}

#[test]
fn a_coordinator_that_comes_back_with_another_load_leaves_the_run_alone() {
    let mut setup = Setup::of(2, 30)
        .with(15 * SECOND, Happens::KillCoordinator)
        .with(19 * SECOND, Happens::StartCoordinator { returns: true });
    setup.again = "another plan";
    let seen = setup.run();
    assert_eq!(seen.violations, [""; 0]);
    assert_eq!(seen.outcomes.len(), 0);
    let [End::Failed(why)] = &seen.ends[..] else {
        panic!("{:?}", seen.ends);
    };
    assert!(why.contains("sends another load in run run-1"), "{why}");
    // Nobody was told to end; they do so by themselves.
    let ends = seen.loads.iter().map(|(_, _, end)| end / SECOND);
    assert!(ends.clone().all(|end| end > 25), "{ends:?}");
}

#[test]
fn a_clock_that_jumps_is_named_and_those_that_only_drift_are_not() {
    let jump = Happens::ClockJumps(1, 700 * MS);
    let seen = Setup::of(3, 20).with(12 * SECOND, jump).run();
    let record = record(&seen);
    assert!(record.complete, "{:?}", record.findings);
    let jumped: Vec<bool> = record.agents.iter().map(|one| one.clock_jumped).collect();
    assert_eq!(jumped, [false, true, false]);
    says(record, &["the clock of agent agent-1 jumped by 70"]);
}

#[test]
fn an_agent_that_does_not_hear_its_coordinator_for_ten_seconds_ends_its_load() {
    let seen = Setup::of(3, 60)
        .with(20 * SECOND, Happens::CutAgent(2, true))
        .with(50 * SECOND, Happens::CutAgent(2, false))
        .run();
    let record = record(&seen);
    let (_, _, ended) = seen
        .loads
        .iter()
        .find(|(number, _, _)| *number == 2)
        .unwrap();
    assert!((28 * SECOND..31 * SECOND).contains(ended), "{ended}");
    // Nothing of what it counted is lost all the same.
    assert!(record.complete, "{:?}", record.findings);
    says(
        record,
        &["agent-2 ended its load early: it didn't hear from the coordinator"],
    );
}

#[test]
fn a_shorter_partition_is_noted_and_the_load_goes_on() {
    let seen = Setup::of(3, 30)
        .with(12 * SECOND, Happens::CutAgent(0, true))
        .with(18 * SECOND, Happens::CutAgent(0, false))
        .run();
    let record = record(&seen);
    assert!(record.complete && record.agents.iter().all(|agent| !agent.lost));
    says(record, &["agent agent-0 wasn't heard for", "and went on"]);
    let asked = record.agents[0].asked_again;
    assert!(
        (5..10).contains(&asked),
        "{asked} intervals were lost on their way"
    );
}

#[test]
fn a_coordinator_that_was_killed_and_comes_back_has_all_of_the_run() {
    let seen = Setup::of(3, 40)
        .with(25 * SECOND, Happens::KillCoordinator)
        .with(29 * SECOND, Happens::StartCoordinator { returns: true })
        .run();
    let record = record(&seen);
    assert!(
        record.complete && record.has_returned,
        "{:?}",
        record.findings
    );
    let intervals: Vec<u64> = record.agents.iter().map(|agent| agent.intervals).collect();
    assert_eq!(intervals, [41; 3], "from the first one on");
    assert_eq!(seen.confirmed, 3);
}

#[test]
fn a_coordinator_that_comes_back_too_late_has_what_was_counted_until_agents_ended_it() {
    let seen = Setup::of(2, 60)
        .with(20 * SECOND, Happens::KillCoordinator)
        .with(50 * SECOND, Happens::StartCoordinator { returns: true })
        .run();
    let record = record(&seen);
    assert!(record.complete, "{:?}", record.findings);
    says(
        record,
        &["ended its load early: it didn't hear from the coordinator"],
    );
    assert!(record.agents.iter().all(|agent| agent.intervals < 40));
}

#[test]
fn agents_of_a_coordinator_that_never_comes_back_end_their_load_and_later_wait_for_another() {
    let seen = Setup::of(2, 60)
        .with(20 * SECOND, Happens::KillCoordinator)
        .run();
    assert_eq!(seen.violations, [""; 0]);
    assert_eq!((seen.outcomes.len(), seen.confirmed), (0, 0));
    let ends = seen.loads.iter().map(|(_, _, end)| end / SECOND);
    assert!(ends.clone().all(|end| (28..31).contains(&end)), "{ends:?}");
    let kept = "nobody has asked for what was counted in run run-1";
    assert_eq!(seen.notes, [kept; 2]);
    let lingered = LINGER_NS..LINGER_NS + 22 * SECOND;
    assert!(lingered.contains(&seen.ended_at), "{}", seen.ended_at);
}

#[test]
fn an_agent_that_died_while_the_coordinator_was_away_is_missed() {
    let seen = Setup::of(3, 40)
        .with(20 * SECOND, Happens::KillCoordinator)
        .with(22 * SECOND, Happens::KillAgent(0))
        .with(24 * SECOND, Happens::StartCoordinator { returns: true })
        .run();
    let record = record(&seen);
    assert!(!record.complete);
    assert_eq!((record.agents_unknown, record.agents.len()), (1, 2));
    assert!((record.missing_share - 1.0 / 3.0).abs() < 1e-9);
    says(record, &["1 of 3 agents never answered"]);
}

#[test]
fn a_second_coordinator_of_the_same_run_is_refused() {
    for (at, returns) in [(3, false), (20, false), (20, true)] {
        let seen = Setup::of(2, 30)
            .with(at * SECOND, Happens::StartCoordinator { returns })
            .run();
        assert!(record(&seen).complete);
        assert!(
            matches!(seen.ends[..], [End::Taken(_), End::Recorded]),
            "{:?}",
            seen.ends
        );
    }
    // Of two that begin together, one.
    let seen = Setup::of(2, 10)
        .with(MS, Happens::StartCoordinator { returns: false })
        .run();
    assert!(record(&seen).complete && seen.ends.len() == 2);
}

#[test]
fn a_coordinator_that_nobody_hears_is_replaced_and_then_ends() {
    // It is cut off from all, and somebody starts another one, which agents follow.
    let seen = Setup::of(2, 40)
        .with(20 * SECOND, Happens::CutCoordinator(true))
        .with(22 * SECOND, Happens::StartCoordinator { returns: true })
        .with(30 * SECOND, Happens::NoFaults)
        .run();
    assert!(record(&seen).complete);
    assert!(
        matches!(seen.ends[..], [End::Taken(_), End::Recorded]),
        "{:?}",
        seen.ends
    );
}

/// What an agent answers to an order of a coordinator with this epoch, at some second.
pub(crate) fn answers(agent: &mut Agent, number: u64, order: Order, second: u64) -> Vec<Report> {
    answers_of(agent, &Name::new("run-1").unwrap(), number, order, second)
}

/// The same in a run.
pub(crate) fn answers_of(
    agent: &mut Agent,
    run: &Name,
    number: u64,
    order: Order,
    second: u64,
) -> Vec<Report> {
    let said = Said::Order {
        run: run.clone(),
        epoch: Epoch { number, nonce: 0 },
        order,
    };
    let (bytes, mut actions) = (encode("1.2.3", &said).unwrap(), Vec::new());
    agent.handle(
        agent::Event::Heard(&bytes),
        Time(second * SECOND),
        &mut actions,
    );
    let sent = actions.into_iter().filter_map(|action| match action {
        agent::Action::Send(_, bytes) => match decode(&bytes).unwrap().said {
            Said::Report { report, .. } => Some(report),
            Said::Order { .. } => None,
        },
        _ => None,
    });
    sent.collect()
}

/// A call for an agent, for a run of this series.
pub(crate) fn call(series: u64) -> Order {
    let series = Epoch {
        number: series,
        nonce: 0,
    };
    Order::Call { agents: 1, series }
}

/// One that nobody has called yet.
pub(crate) fn lone_agent() -> Agent {
    let settings = agent::Settings {
        name: Name::new("agent-0").unwrap(),
        epoch: Epoch::default(),
        program: "1.2.3".to_owned(),
        workers: 1,
        room_bytes: 1 << 20,
    };
    Agent::new(settings, &mut Vec::new())
}

#[test]
fn an_agent_changes_to_a_later_coordinator_and_only_if_its_own_is_silent() {
    let mut agent = lone_agent();
    let call = call(1);
    assert_eq!(
        answers(&mut agent, 5, call, 10),
        [Report::Hello { workers: 1 }]
    );
    let epoch = Epoch {
        number: 5,
        nonce: 0,
    };
    let stays = [Report::Follows { epoch }];
    for other in [4, 6] {
        assert_eq!(answers(&mut agent, other, Order::Recall, 11), stays);
    }
    // Not one that was there before it, however long it is silent.
    assert_eq!(answers(&mut agent, 4, Order::Recall, 19), stays);
    assert_eq!(answers(&mut agent, 6, Order::Beat, 19), stays);
    let stands = answers(&mut agent, 6, Order::Recall, 19);
    assert!(
        matches!(
            stands[..],
            [Report::Standing {
                has_begun: false,
                ..
            }]
        ),
        "{stands:?}"
    );
    let epoch = Epoch {
        number: 6,
        nonce: 0,
    };
    assert_eq!(
        answers(&mut agent, 5, Order::Beat, 20),
        [Report::Follows { epoch }]
    );
}

#[test]
fn who_comes_too_late_is_refused() {
    let mut setup = Setup::of(3, 10).with(9 * SECOND, Happens::JoinLate);
    setup.wanted = 2;
    let seen = setup.run();
    let record = record(&seen);
    assert!(record.complete && record.agents.len() == 2);
    let notes = seen.notes.join("\n");
    assert!(
        notes.contains("its 2 agents were complete before this one answered"),
        "{notes}"
    );
    assert_eq!(seen.loads.len(), 2);
}

#[test]
fn too_few_agents_end_a_run_before_it_begins_and_are_named() {
    let mut setup = Setup::of(2, 10);
    setup.wanted = 3;
    let why = failed(&setup.run());
    assert!(
        why.contains("2 of 3 agents answered") && why.contains("agent-0, agent-1"),
        "{why}"
    );
}

#[test]
fn what_an_agent_may_not_do_ends_a_run_before_anything_is_sent() {
    let mut setup = Setup::of(3, 10);
    setup.machines[1].fault = Some("its policy allows no load to 192.0.2.7");
    let why = failed(&setup.run());
    assert!(
        why.contains("agent-1") && why.contains("192.0.2.7"),
        "{why}"
    );
}

#[test]
fn an_agent_of_another_version_is_refused_with_both_named() {
    let mut setup = Setup::of(2, 10);
    setup.machines[1].program = "1.3.0";
    let why = failed(&setup.run());
    assert!(
        why.contains("1.3.0") && why.contains("1.2.3") && why.contains("agent-1"),
        "{why}"
    );
}

#[test]
fn a_broker_that_is_restarted_loses_nothing() {
    let mut setup = Setup::of(4, 40);
    for at in [2, 14, 20, 33, 51] {
        setup = setup.with(
            at * SECOND,
            Happens::RestartBroker {
                away_ns: 3 * SECOND,
            },
        );
    }
    let seen = setup.run();
    let record = record(&seen);
    assert!(record.complete, "{:?}", record.findings);
    assert!(record.agents.iter().all(|agent| agent.asked_again > 0));
}

#[test]
fn messages_that_come_twice_are_counted_once() {
    let mut setup = Setup::of(2, 30);
    setup.faults.doubled = 0.5;
    let seen = setup.run();
    let record = record(&seen);
    assert!(record.complete);
    assert!(
        record.agents.iter().all(|agent| agent.duplicates > 5),
        "{record:?}"
    );
}

#[test]
fn a_stop_ends_all_load_within_two_seconds() {
    let seen = Setup::of(5, 60).with(20 * SECOND, Happens::Stop).run();
    let record = record(&seen);
    assert!(record.complete);
    for (_, _, ended) in &seen.loads {
        assert!((20 * SECOND..22 * SECOND).contains(ended), "{ended}");
    }
    let ends = record
        .agents
        .iter()
        .filter_map(|agent| agent.ended.as_deref());
    assert!(
        ends.clone().all(|why| why == "the run was stopped"),
        "{ends:?}"
    );
}

#[test]
fn a_stop_before_the_load_begins_leaves_nothing_behind() {
    for at in [100, 400, 700] {
        let seen = Setup::of(2, 60).with(at * MS, Happens::Stop).run();
        let why = failed(&seen);
        assert!(why.contains("stopped before the load began"), "{why}");
    }
    // They know already when to begin, but don't.
    let seen = Setup::of(2, 60).with(1800 * MS, Happens::Stop).run();
    let record = record(&seen);
    assert_eq!(
        (record.complete, record.figures.totals),
        (true, Totals::default())
    );
    assert_eq!(seen.loads.len(), 2);
    assert!(
        seen.loads.iter().all(|(_, begin, end)| end < begin),
        "{:?}",
        seen.loads
    );
}

#[test]
fn a_full_disk_and_an_agent_that_was_the_limit_are_named() {
    let mut setup = Setup::of(3, 20).with(12 * SECOND, Happens::DiskFull(2));
    setup.machines[0].is_slow = true;
    let seen = setup.run();
    let record = record(&seen);
    assert!(record.complete);
    says(
        record,
        &["agent agent-2: /var/lib/ringside: no space left on device"],
    );
    says(record, &["agent agent-0 was the limit: its CPUs were busy"]);
    let limited: Vec<String> = record.limited_by.iter().map(ToString::to_string).collect();
    assert_eq!(limited, ["agent-0"]);
}

#[test]
fn an_agent_without_room_ends_its_load_and_keeps_what_it_has() {
    let mut setup = Setup::of(2, 60);
    setup.machines[1].room_bytes = 4000;
    let seen = setup.run();
    let record = record(&seen);
    assert!(record.complete);
    says(record, &["agent-1 ended its load early: it had no room"]);
    assert!(record.agents[1].intervals < 30 && record.agents[0].intervals == 61);
}

#[test]
fn an_agent_that_is_ended_on_its_own_machine_says_so() {
    let mut setup = Setup::of(2, 60).with(20 * SECOND, Happens::Leave(0));
    setup.on_loss = OnLoss::Stop;
    let seen = setup.run();
    let record = record(&seen);
    assert!(record.complete);
    says(
        record,
        &["agent-0 ended its load early: it was stopped on its own machine"],
    );
    assert_eq!(
        record.agents[1].ended.as_deref(),
        Some("another agent was lost")
    );
}

#[test]
fn an_agent_that_is_started_again_is_another_one() {
    let seen = Setup::of(2, 30)
        .with(15 * SECOND, Happens::RestartAgent(0))
        .run();
    let record = record(&seen);
    assert!(!record.complete && record.agents[0].lost);
    assert_eq!(seen.loads.len(), 2, "the second life has no part in it");
}

#[test]
fn uneven_agents_have_shares_by_their_workers() {
    let mut setup = Setup::of(3, 10);
    for (machine, workers) in setup.machines.iter_mut().zip([1, 2, 5]) {
        *machine = Machine {
            workers,
            ..Machine::default()
        };
    }
    let shares = |seen: &Seen| -> Vec<f64> {
        let agents = record(seen).agents.iter();
        agents.filter_map(|agent| agent.share).collect()
    };
    assert_eq!(shares(&setup.clone().run()), [0.125, 0.25, 0.625]);
    setup.workers = Some(16);
    let seen = setup.run();
    let workers: Vec<u32> = record(&seen)
        .agents
        .iter()
        .map(|agent| agent.workers)
        .collect();
    assert_eq!((workers.iter().sum::<u32>(), workers), (16, vec![2, 4, 10]));
}

#[test]
fn an_agent_that_leaves_before_its_load_ends_the_run_at_once_and_is_named() {
    let seen = Setup::of(2, 10).with(510 * MS, Happens::Leave(1)).run();
    let why = failed(&seen);
    let part = "left the run: it was stopped on its own machine";
    assert!(why.contains(part), "{why}");
    assert!(seen.ended_at < 15 * SECOND, "{}", seen.ended_at);
}

#[test]
fn whoever_stops_all_load_ends_it_within_two_seconds_and_the_record_says_so() {
    let seen = Setup::of(3, 60).with(20 * SECOND, Happens::Halt).run();
    let record = record(&seen);
    assert!(record.complete, "{:?}", record.findings);
    for (_, _, ended) in &seen.loads {
        assert!((20 * SECOND..22 * SECOND).contains(ended), "{ended}");
    }
    assert!(record.agents.iter().all(|agent| agent.ended_early));
    says(
        record,
        &["3 of 3 agents (agent-0, agent-1, agent-2) each ended its load early: all load was"],
    );
}

/// An agent whose load, of run-1, goes on, and that has heard its coordinator in second 10.
pub(crate) fn loading() -> Agent {
    let mut agent = lone_agent();
    let to = fleet::Member {
        agent: Name::new("agent-0").unwrap(),
        epoch: Epoch::default(),
    };
    answers(&mut agent, 5, call(1), 8);
    let place = fleet::division::places(&[1]).unwrap()[0];
    let plan = Order::Plan {
        to: to.clone(),
        place,
        plan: "a plan".into(),
        same: fleet::chain::Digest::of(b"a plan"),
        data: Vec::new(),
    };
    answers(&mut agent, 5, plan, 8);
    let prepared = agent::Event::Prepared {
        plan: fleet::chain::Digest::of(b"a plan"),
        checks: &[],
    };
    agent.handle(prepared, Time(9 * SECOND), &mut Vec::new());
    let at_ns = 11 * SECOND;
    answers(&mut agent, 5, Order::Begin { to, at_ns, place }, 10);
    agent
}

/// An agent whose load has ended because its coordinator, of run-1, was silent from second 10 on.
fn left_alone() -> Agent {
    let mut agent = loading();
    let mut actions = Vec::new();
    agent.handle(agent::Event::Tick, Time(20 * SECOND), &mut actions);
    let stopped = agent::Action::StopLoad(Ended::DeadMan);
    assert!(actions.contains(&stopped), "{actions:?}");
    let ended = agent::Event::LoadEnded {
        verdict: &fleet::Verdict::default(),
        failed: None,
    };
    agent.handle(ended, Time(20 * SECOND), &mut Vec::new());
    agent
}

#[test]
fn an_agent_that_was_left_alone_is_busy_and_soon_free_for_another_run() {
    let mut agent = left_alone();
    let [one, two] = ["run-1", "run-2"].map(|run| Name::new(run).unwrap());
    let mut call = |run: &Name, second| {
        let order = self::call(1);
        let mut said = answers_of(&mut agent, run, 9, order, second);
        // That its load is over it says until somebody has heard it.
        said.retain(|report| !matches!(report, Report::Last { .. }));
        said
    };
    assert_eq!(call(&two, 29), [Report::Busy { run: one.clone() }]);
    // What it counted is that run's, whoever calls for it now.
    assert_eq!(call(&one, 31), []);
    assert_eq!(call(&two, 31), [Report::Hello { workers: 1 }]);
    let who = answers_of(&mut agent, &Name::new("me").unwrap(), 1, Order::Who, 31);
    let here = Report::Here {
        workers: 1,
        run: Some(two),
        is_loading: false,
    };
    assert_eq!(who, [here]);
}
