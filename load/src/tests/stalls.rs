//! What stands still is the worker itself, and the server is not blamed for it.

use std::cell::Cell;
use std::rc::Rc;

use engine::Config;
use engine::signal::Signal;
use engine::sim::{Faults, Network};
use measure::process::ThreadTime;
use measure::time::Time;

use super::{MS, Server, plan, recorded, run_on, sockets_for};
use crate::Record;
use crate::worker::{EndedBy, Outcome};
use plan::Plan;
use plan::schedule::Schedule;

/// What a worker brings back that stands still for so long at a time, whose driver has this many
/// `buffers`: of no more answers it is told a turn. The network's time begins at one second.
fn halted(
    plan: &Plan,
    law: impl FnMut(u64, Time) -> u64 + 'static,
    (at, length_ns): (Time, u64),
    buffers: Option<usize>,
) -> Outcome {
    let network = Network::new(1, Faults::none());
    network.halt(at, length_ns);
    let usual = Config::default();
    let config = Config {
        sockets: sockets_for(plan.connections as usize),
        buffers: buffers.unwrap_or(usual.buffers),
        ..usual
    };
    run_on(plan, 0, &config, network, Server::new(law))
}

/// The record of a worker that stands still for two seconds, three seconds into its window, and
/// that is told of four answers a turn at most.
fn stopped(plan: &Plan) -> Record {
    let outcome = halted(
        plan,
        |_, _| 500_000,
        (Time(4_000 * MS), 2_000 * MS),
        Some(4),
    );
    recorded(plan, outcome)
}

#[test]
fn a_stall_of_our_own_is_no_timeout_of_the_server() {
    for schedule in [Schedule::Closed, Schedule::Constant { rate: 5_000.0 }] {
        let mut plan = plan(schedule, 50, 8.0);
        plan.timeout_s = 1.0;
        let record = stopped(&plan);
        assert!(record.errors.is_empty(), "{:?}", record.errors);
        let exchanges = &record.exchanges;
        assert_eq!((exchanges.failed, exchanges.unfinished), (0, 0));
        let stall = record.generator.longest_stall.unwrap();
        assert!((1.9e6..2.1e6).contains(&stall.length_us), "{stall:?}");
        assert!((4.9..5.1).contains(&stall.at_s), "{stall:?}");
        // Nobody looked meanwhile, so nobody knows of a gap.
        let availability = record.availability.as_ref().unwrap();
        assert_eq!(availability.share, 1.0, "{availability:?}");
        assert_eq!(availability.gaps, []);
        let said = |word: &str| record.warnings.iter().any(|warning| warning.contains(word));
        if record.offered_rate.is_none() {
            assert!(said("the generator stalled for 2.00 s until second 5.0"));
            assert!(record.generator.counters["timeouts_put_off"] > 0);
        } else {
            // What was due meanwhile waited for the worker, whatever its connections did.
            let waits = record.waits.as_ref().unwrap();
            assert!(waits.late_us > 0.8 * waits.total_us, "{waits:?}");
            assert!(!record.valid);
            let reason = &record.generator.limited_reason;
            let cause = "its longest stall took 2000.0 ms, until second 5.0";
            assert!(reason.contains(cause), "{reason}");
            // The reason is given once, and the warning says what to do.
            assert!(said("the generator was the limit") && !said(cause));
        }
    }
}

#[test]
fn a_server_that_is_silent_behind_a_stall_still_times_out() {
    let mut plan = plan(Schedule::Closed, 10, 8.0);
    plan.timeout_s = 1.0;
    let law = |_, now: Time| match now.0 < 3_900 * MS {
        true => MS,
        false => 3_600_000 * MS,
    };
    let outcome = halted(&plan, law, (Time(4_000 * MS), 2_000 * MS), None);
    let tally = outcome.recorder.tally;
    let timeouts = tally.errors.count(measure::counters::ErrorKind::Timeout);
    // At 5.05 s of the window at the latest, and once a second from then on.
    assert!((30..=50).contains(&timeouts), "{timeouts}");
}

/// When no answers came, in milliseconds of the window.
fn gaps_in_ms(outcome: &Outcome) -> Vec<(u64, u64)> {
    let tally = &outcome.recorder.tally;
    let course = tally.slots.course(tally.completed, MS).unwrap();
    let gaps = course.gaps.iter();
    gaps.map(|gap| (gap.from_ns / MS, gap.until_ns / MS))
        .collect()
}

/// When no answers came, in milliseconds of the window, from a server that is silent from 3.05 s to
/// 3.45 s, to a worker that stands still for so long at 3.11 s.
fn gaps_beside_a_stall(length_ns: u64) -> Vec<(u64, u64)> {
    let plan = plan(Schedule::Constant { rate: 1_000.0 }, 600, 5.0);
    let law = |_, now: Time| match (4_050 * MS..4_450 * MS).contains(&now.0) {
        true => 4_450 * MS - now.0,
        false => MS,
    };
    gaps_in_ms(&halted(&plan, law, (Time(4_110 * MS), length_ns), None))
}

#[test]
fn of_a_slot_in_which_the_worker_stood_still_nothing_is_known() {
    assert_eq!(gaps_beside_a_stall(0), [(3_100, 3_400)]);
    assert_eq!(gaps_beside_a_stall(5 * MS), [(3_100, 3_400)]);
    // It began and ended inside its slot; the next one is known again.
    assert_eq!(gaps_beside_a_stall(60 * MS), [(3_200, 3_400)]);
    // It reached into the next slot.
    assert_eq!(gaps_beside_a_stall(120 * MS), [(3_300, 3_400)]);
}

/// When no answers came, in milliseconds of the window, from a server that is silent from 50 ms
/// before it to 350 ms of it, to a worker that stands still for so long as it opens.
fn gaps_at_the_start(schedule: Schedule, warm_up_s: f64, length_ns: u64) -> Vec<(u64, u64)> {
    let mut plan = plan(schedule, 100, 3.0);
    plan.warm_up_s = warm_up_s;
    // The network's time begins at one second.
    let opens_ns = 1_000 * MS + (warm_up_s * 1e9) as u64;
    let law = move |_, now: Time| match now.0 + 50 * MS >= opens_ns {
        true => (opens_ns + 350 * MS).saturating_sub(now.0).max(MS),
        false => MS,
    };
    let halt = (Time(opens_ns - 10 * MS), length_ns);
    gaps_in_ms(&halted(&plan, law, halt, None))
}

#[test]
fn a_server_that_is_silent_from_the_beginning_was_so_in_the_first_slot_too() {
    for schedule in [Schedule::Closed, Schedule::Constant { rate: 1_000.0 }] {
        for warm_up_s in [0.0, 1.0] {
            let gaps = gaps_at_the_start(schedule.clone(), warm_up_s, 0);
            assert_eq!(gaps, [(0, 300)], "{schedule:?} after {warm_up_s} s");
        }
        // Nobody knows what came while the worker stood still.
        let gaps = gaps_at_the_start(schedule.clone(), 1.0, 150 * MS);
        assert_eq!(gaps, [(200, 300)], "{schedule:?} after a stall");
    }
}

#[test]
fn a_worker_that_is_put_off_its_cpu_spun_for_as_much_less() {
    let plan = plan(Schedule::Constant { rate: 100.0 }, 1, 1.0);
    let mut outcome = halted(&plan, |_, _| MS, (Time::NEVER, 0), None);
    outcome.spun_ns = 8_000;
    for (run_ns, wait_ns, worked_ns) in [
        (10_000, 0, 2_000),
        // On its CPU for a fourth of the time, so the 8 µs took 2 of it.
        (2_500, 7_500, 500),
        (0, 10_000, 0),
    ] {
        outcome.cpu = Some(ThreadTime { run_ns, wait_ns });
        let worked = outcome.worked().unwrap();
        assert_eq!(worked.run_ns, worked_ns, "{run_ns} {wait_ns}");
    }
}

/// How many requests came to the server of a worker that stands still for six seconds, two seconds
/// into its load, whose lease ends before it goes on.
fn sent_after_a_lease(schedule: Schedule) -> (u64, Outcome) {
    let mut plan = plan(schedule, 20, 20.0);
    plan.part = Some(plan::Part {
        workers: 0..1,
        begins: Time(0),
        permits: plan::Permits::default(),
        lease: plan::Lease::until(Time(7_000 * MS)),
    });
    let sent = Rc::new(Cell::new(0));
    let counted = Rc::clone(&sent);
    let law = move |_, _| {
        counted.set(counted.get() + 1);
        MS
    };
    let outcome = halted(&plan, law, (Time(3_000 * MS), 6_000 * MS), None);
    (sent.get(), outcome)
}

#[test]
fn a_worker_that_stood_still_beyond_its_lease_sends_nothing_of_what_was_due_meanwhile() {
    let (sent, outcome) = sent_after_a_lease(Schedule::Constant { rate: 100.0 });
    assert!((199..=201).contains(&sent), "{sent}");
    assert_eq!(outcome.ended_by, EndedBy::Signal(Signal::Terminate));
    // In a closed loop nothing follows on what was answered meanwhile.
    let (sent, outcome) = sent_after_a_lease(Schedule::Closed);
    let ended = outcome.recorder.tally.completed;
    assert!(
        sent >= ended && sent - ended <= 20,
        "{sent} of which {ended}"
    );
    assert_eq!(outcome.ended_by, EndedBy::Signal(Signal::Terminate));
}
