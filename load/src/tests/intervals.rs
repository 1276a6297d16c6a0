//! What is seen of a run while it goes on is what its result is made of.

use std::cell::RefCell;
use std::rc::Rc;

use measure::interval::{Interval, Phase};
use measure::random::Random;
use measure::tally::Counted;

use super::*;
use crate::run::collector;

/// One worker's run against `law`, that hands over what it counts to a control thread which looks
/// at one of so many exchanges.
pub(super) fn watched(
    plan: &Plan,
    seed: u64,
    faults: Faults,
    idles: u64,
    law: fn(u64, Time) -> u64,
) -> (Outcome, Vec<Interval>) {
    plan.validate().unwrap();
    let address = Address::Tcp("127.0.0.1:80".parse().unwrap());
    let network = Network::new(seed, faults);
    let source = Source::of(plan).unwrap();
    let assigned = assign(plan, 0, &[vec![address.clone()]], source);
    let mut jobs = [assigned.unwrap()];
    let collecting = Rc::new(RefCell::new(collector(plan, &mut jobs)));
    let seen = Rc::new(RefCell::new(Vec::new()));
    let mut random = Random::seeded(seed + 1);
    let (looking, seen_by_law) = (Rc::clone(&collecting), Rc::clone(&seen));
    let law = move |n: u64, now: Time| {
        if random.below(idles) == 0 {
            let seen = &mut *seen_by_law.borrow_mut();
            looking.borrow_mut().turn(&mut |one| seen.push(one));
        }
        law(n, now)
    };
    network.serve(&address, Server::new(law));
    let config = Config {
        sockets: sockets_for(plan.connections as usize),
        ..Config::default()
    };
    let [job] = jobs;
    let driver = network.driver(&config);
    let mut outcomes = [work(driver, job)];
    drop(network);
    let collector = Rc::into_inner(collecting).expect("nobody else has it");
    let mut seen = Rc::into_inner(seen)
        .expect("nobody else has it")
        .into_inner();
    let earlier = collector.into_inner().finish(&mut |one| seen.push(one));
    outcomes[0].settle(Some(&earlier[0]));
    let [outcome] = outcomes;
    assert_eq!(outcome.breach, None, "a law of conservation is broken");
    (outcome, seen)
}

/// Slow now and then, and away for most of every third second.
fn law(n: u64, now: Time) -> u64 {
    let into = now.0 % (3_000 * MS);
    (n % 7) * 100_000 + (700 * MS).saturating_sub(into)
}

fn sum(intervals: &[Interval]) -> Counted {
    let mut sum = Counted::new();
    intervals.iter().for_each(|one| sum.merge(&one.counted));
    sum
}

#[test]
fn the_sum_of_all_intervals_is_the_result_whoever_looks_and_however_seldom() {
    for seed in 0..6 {
        let mut plan = plan(Schedule::Poisson { rate: 500.0 }, 10, 7.5);
        (plan.timeout_s, plan.warm_up_s) = (0.5, 0.3);
        if seed % 3 == 0 {
            plan.schedule = Schedule::Closed;
        }
        let faults = || Faults {
            reset: 0.01,
            refuse: 0.1,
            ..Faults::rough()
        };
        let alone = run(&plan, seed, faults(), Server::new(law));
        // From ten times a second to not once.
        let idles = [50, 300, u64::MAX][(seed % 3) as usize];
        let (outcome, seen) = watched(&plan, seed, faults(), idles, law);
        let (tally, before) = (&outcome.recorder.tally, &alone.recorder.tally);
        assert_eq!(
            counts_and_histograms(tally),
            counts_and_histograms(before),
            "seed {seed}: watching changes the run"
        );
        let sum = sum(&seen);
        assert_eq!(
            (&sum.response, &sum.service),
            (&tally.response, &tally.service)
        );
        assert_eq!(sum.sums(), tally.counted().sums(), "seed {seed}");
        assert_eq!(
            (sum.intended, sum.unfinished),
            (tally.intended, tally.unfinished)
        );
        assert_eq!(sum.drain, tally.drain, "seed {seed}");
        if plan.schedule.is_open() {
            let offered = seen.iter().filter_map(|one| one.offered).sum::<u64>();
            assert_eq!(offered, tally.intended, "seed {seed}");
        }
        in_order(&seen);
        let inside = seen.iter().filter(|one| one.phase == Phase::Measure);
        let completed = inside.map(|one| one.counted.completed).sum::<u64>();
        assert_eq!(completed, tally.inside().completed, "seed {seed}");
        assert!(sum.errors.total() > 0, "seed {seed}: nothing failed");
    }
}

/// They follow each other without a hole, and the last is the drain.
fn in_order(seen: &[Interval]) {
    let (mut seq, mut at) = (0, 0);
    for one in seen {
        assert_eq!((one.seq, one.from_ns), (seq, at));
        (seq, at) = (one.seq + one.joined, one.until_ns);
    }
    let drains = seen.iter().filter(|one| one.phase == Phase::Drain).count();
    assert_eq!(
        (drains, seen.last().map(|one| one.phase)),
        (1, Some(Phase::Drain))
    );
}

#[test]
fn an_interval_says_what_was_due_and_not_what_was_sent() {
    // Nothing is answered from 2.5 s to 3.2 s; the network's time begins at one second.
    let law = |_, now: Time| match now.0 / MS {
        3_500..4_200 => 4_200 * MS - now.0,
        _ => 100_000,
    };
    let mut plan = plan(Schedule::Constant { rate: 1_000.0 }, 5, 5.0);
    plan.timeout_s = 30.0;
    let (_, seen) = watched(&plan, 1, Faults::none(), 1, law);
    in_order(&seen);
    for one in seen.iter().filter(|one| one.phase == Phase::Measure) {
        let due = (one.seconds() * 1000.0).round() as u64;
        assert_eq!(one.offered, Some(due), "at {}", one.from_ns);
    }
    let sent: Vec<u64> = seen.iter().map(|one| one.counted.intended).collect();
    assert!(
        sent[2] < 600 && sent[3] > 1_400,
        "no backlog was sent: {sent:?}"
    );
}

#[test]
fn workers_that_end_at_different_times_make_intervals_together() {
    let mut plan = plan(Schedule::Closed, 8, 1.0);
    (plan.threads, plan.duration_s, plan.count) = (2, None, Some(4_000));
    let address = Address::Tcp("127.0.0.1:80".parse().unwrap());
    let addresses = [vec![address.clone()]];
    let mut jobs = [0, 1].map(|worker| assign(&plan, worker, &addresses, None).unwrap());
    let mut collector = collector(&plan, &mut jobs);
    let mut seen = Vec::new();
    let mut outcomes = Vec::new();
    // The second server is ten times as slow, and the first worker has long ended by then.
    for (job, delay_ns) in jobs.into_iter().zip([MS, 10 * MS]) {
        let network = Network::new(1, Faults::none());
        network.serve(&address, Server::new(move |_, _| delay_ns));
        let config = Config {
            sockets: sockets_for(8),
            ..Config::default()
        };
        let job = Assignment { worker: 0, ..job };
        outcomes.push(work(network.driver(&config), job));
        collector.turn(&mut |one| seen.push(one));
    }
    let earlier = collector.finish(&mut |one| seen.push(one));
    for (outcome, earlier) in outcomes.iter_mut().zip(&earlier) {
        outcome.settle(Some(earlier));
    }
    in_order(&seen);
    assert_eq!(sum(&seen).completed, 4_000);
    assert!(seen.len() > 2, "{} intervals", seen.len());
    assert!(outcomes.iter().all(|one| one.breach.is_none()));
    let each = outcomes.iter().map(|one| one.recorder.tally.completed);
    assert_eq!(each.collect::<Vec<_>>(), [2_000, 2_000]);
}
