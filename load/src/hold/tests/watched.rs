//! What is seen of a hold while it goes on is what its record is made of.

use std::cell::RefCell;

use measure::hold::{Counted, Counts};
use measure::interval::{Additive, Counter, Interval, Phase};

use super::super::prepare::collector;
use super::*;

/// Some are answered, some aren't, some connections are lost for that and some by resets.
fn law(_: Connection, before: u64, now: Time) -> Deed {
    match (before + now.0 / MS) % 11 {
        3 => Deed::Reset,
        5 => Deed::Stall,
        7 => Deed::Close,
        n => well((n + 1) * 10 * MS),
    }
}

/// One worker's hold against `law`, that hands over what it counts; looked at in each request of so
/// many, or only at the end.
fn watched(plan: &Plan, seed: u64, each: u64) -> (Outcome, Vec<Interval<Counted>>) {
    let network = Network::new(seed, Faults::rough());
    let mut jobs = [assignment(plan, network.now())];
    let collecting = Rc::new(RefCell::new(collector(&mut jobs)));
    let seen = Rc::new(RefCell::new(Vec::new()));
    let (looking, seen_by_law) = (Rc::clone(&collecting), Rc::clone(&seen));
    let mut requests = 0;
    let looked = move |connection: Connection, before, now| {
        requests += 1;
        if requests % each == 0 {
            let seen = &mut *seen_by_law.borrow_mut();
            looking.borrow_mut().turn(&mut |one| seen.push(one));
        }
        law(connection, before, now)
    };
    network.serve(&address(), Server::new(looked));
    let [job] = jobs;
    let driver = network.driver(&job.config());
    let gate = Gate::new(1);
    let mut outcome = brought(Worker::new(driver, &gate, Stop::new(), job).unwrap());
    drop(network);
    let collector = Rc::into_inner(collecting).expect("nobody else has it");
    let seen = Rc::into_inner(seen).expect("nobody else has it");
    let mut seen = seen.into_inner();
    let earlier = collector.into_inner().finish(&mut |one| seen.push(one));
    outcome.tally.take_back(&earlier[0]);
    (outcome, seen)
}

#[test]
fn the_sum_of_all_intervals_is_the_record_whoever_looks_and_however_seldom() {
    for (seed, each) in [(1, 5), (2, 40), (3, u64::MAX)] {
        let mut plan = plan(60, 8.5);
        plan.open_rate = 30.0;
        let network = Network::new(seed, Faults::rough());
        network.serve(&address(), Server::new(law));
        let alone = hold_on(&plan, &network);
        let (outcome, seen) = watched(&plan, seed, each);
        let mut sum = Counted::default();
        seen.iter().for_each(|one| sum.merge(&one.counted));
        let tally = &outcome.tally;
        let Counts {
            opened, reconnects, ..
        } = sum.counts;
        assert_eq!(sum.counts, tally.counts, "seed {seed}");
        assert_eq!(sum.heartbeat, tally.heartbeat, "seed {seed}");
        assert_eq!(sum.set_up, tally.set_up, "seed {seed}");
        assert_eq!(
            (sum.sent + sum.skipped, sum.bytes_received, sum.bytes_sent),
            (tally.due, tally.bytes_received, tally.bytes_sent),
            "seed {seed}"
        );
        assert!(sum.counts.lost() > 0 && sum.counts.answered > 0);
        assert!(opened > reconnects && reconnects > 0, "seed {seed}");
        let last = seen.last().expect("a drain");
        assert_eq!(
            (last.phase, tally.drain_ns),
            (Phase::Drain, last.counted.drain_ns)
        );
        let mut at = (0, 0);
        for one in &seen {
            assert_eq!((one.seq, one.from_ns), at, "seed {seed}: there's a hole");
            at = (one.seq + one.joined, one.until_ns);
        }
        // Watching changes nothing: not even a row.
        let record = record_of(&plan, vec![outcome]);
        assert_eq!(record.series, alone.series, "seed {seed}");
        assert_eq!(record.heartbeats, alone.heartbeats, "seed {seed}");
        assert_eq!(record.connections, alone.connections, "seed {seed}");
        assert_eq!(record.bytes, alone.bytes, "seed {seed}");
    }
}
