//! Every wait has an owner, and a server that is gone does not pass.

use engine::choice::Kind;
use engine::sim::Faults;
use measure::record::Gap;

use super::{MS, Server, plan, run};
use crate::Record;
use crate::check::Threshold;
use crate::plan::Plan;
use crate::run::assemble;
use crate::schedule::Schedule;
use crate::surroundings::Disturbance;

/// The record of a run against a server with this law. The run asserts that the parts of the waits
/// sum to the lateness of all its exchanges.
fn record_of(
    plan: &Plan,
    faults: Faults,
    law: impl FnMut(u64, measure::time::Time) -> u64 + 'static,
) -> Record {
    let outcome = run(plan, 1, faults, Server::new(law));
    let disturbance = Disturbance::default();
    assemble(
        plan,
        Kind::Epoll,
        "a test".into(),
        vec![outcome],
        disturbance,
    )
}

#[test]
fn a_wait_for_a_connection_in_use_is_nobodys_fault_but_is_told() {
    // A connection and 10 ms an answer: a tenth of what is asked for.
    let plan = plan(Schedule::Constant { rate: 1_000.0 }, 1, 2.0);
    let record = record_of(&plan, Faults::none(), |_, _| 10 * MS);
    let waits = record.waits.unwrap();
    assert!(waits.busy_us > 0.99 * waits.total_us, "{waits:?}");
    assert!(waits.share_of_response.unwrap() > 0.9, "{waits:?}");
    let parts = [
        waits.busy_us,
        waits.connecting_us,
        waits.closing_us,
        waits.back_off_us,
        waits.late_us,
        waits.refused_us,
    ];
    assert!((parts.iter().sum::<f64>() / waits.total_us - 1.0).abs() < 1e-9);
    let generator = &record.generator;
    assert!(!generator.limited, "{}", generator.limited_reason);
    assert!(
        generator
            .limited_reason
            .starts_with("requests were sent as soon as a connection was free"),
        "{}",
        generator.limited_reason
    );
}

#[test]
fn sends_were_on_time_where_nothing_waited() {
    let plan = plan(Schedule::Constant { rate: 1_000.0 }, 20, 2.0);
    let record = record_of(&plan, Faults::none(), |_, _| 2 * MS);
    let waits = record.waits.unwrap();
    assert_eq!(waits.busy_us + waits.closing_us + waits.back_off_us, 0.0);
    assert_eq!(waits.total_us, waits.late_us);
    let reason = &record.generator.limited_reason;
    assert!(reason.starts_with("sends were on time"), "{reason}");
}

#[test]
fn waits_before_reconnecting_are_the_generators() {
    let plan = plan(Schedule::Constant { rate: 500.0 }, 2, 4.0);
    let faults = Faults {
        reset: 0.2,
        refuse: 0.8,
        ..Faults::none()
    };
    let record = record_of(&plan, faults, |_, _| 100_000);
    let waits = record.waits.unwrap();
    assert!(waits.back_off_us > 0.5 * waits.total_us, "{waits:?}");
    let generator = &record.generator;
    assert!(generator.limited && !record.valid);
    let part = "before failed connections were tried again";
    assert!(
        generator.limited_reason.contains(part),
        "{}",
        generator.limited_reason
    );
}

#[test]
fn a_connection_for_each_exchange_is_part_of_what_is_asked() {
    let mut plan = plan(Schedule::Constant { rate: 200.0 }, 20, 2.0);
    plan.keep_alive = false;
    for latency_ns in [10_000, 20 * MS] {
        let faults = Faults {
            latency_ns,
            ..Faults::none()
        };
        let record = record_of(&plan, faults, |_, _| MS);
        let waits = record.waits.as_ref().unwrap();
        // There and back once.
        let each_us = waits.connecting_us / record.exchanges.completed as f64;
        let trip_us = latency_ns as f64 / 500.0;
        assert!((trip_us..trip_us + 20.0).contains(&each_us), "{waits:?}");
        let generator = &record.generator;
        assert!(!generator.limited, "{}", generator.limited_reason);
        // Nor is it taken for lateness.
        assert!(record.valid && record.void.is_empty(), "{:?}", record.void);
    }
}

#[test]
fn a_server_that_falls_silent_in_a_closed_loop_shows_in_errors_and_availability() {
    let mut plan = plan(Schedule::Closed, 10, 9.0);
    plan.timeout_s = 0.25;
    // The network's time begins at one second.
    let law = |_, now: measure::time::Time| match now.0 < 4_000 * MS {
        true => MS,
        false => 3_600_000 * MS,
    };
    let record = record_of(&plan, Faults::none(), law);
    let exchanges = &record.exchanges;
    let failed = exchanges.failed + exchanges.unfinished;
    // Of the exchanges, next to none.
    assert!((failed as f64) < 0.02 * exchanges.completed as f64);
    let availability = record.availability.as_ref().unwrap();
    let gap = Gap {
        from_s: 3.0,
        to_s: 9.0,
        outage: true,
    };
    assert_eq!(availability.gaps.last(), Some(&gap), "{availability:?}");
    assert!((availability.share - 1.0 / 3.0).abs() < 0.02);
    for (threshold, ok) in [
        ("errors<1%", false),
        ("errors<70%", true),
        ("availability>=99.9%", false),
        ("availability>=30%", true),
    ] {
        let threshold: Threshold = threshold.parse().unwrap();
        let outcome = threshold.evaluate(&record);
        assert_eq!(outcome.ok, ok, "{outcome:?}");
    }
}
