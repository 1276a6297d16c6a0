//! Every wait has an owner, and a server that is gone does not pass.

use engine::sim::{Connection, Faults, Network, Peer, Replies};
use measure::record::Gap;
use measure::time::Time;

use super::{MS, Server, plan, recorded, run, run_worker, sockets_for};
use crate::Record;
use crate::check::Threshold;
use plan::Plan;
use plan::protocol::{Http2, Protocol};
use plan::schedule::Schedule;

/// The record of a run against a server with this law. The run asserts that the parts of the waits
/// sum to the lateness of all its exchanges.
fn record_of(
    plan: &Plan,
    faults: Faults,
    law: impl FnMut(u64, measure::time::Time) -> u64 + 'static,
) -> Record {
    let outcome = run(plan, 1, faults, Server::new(law));
    recorded(plan, outcome)
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
        waits.unreachable_us,
        waits.late_us,
        waits.refused_us,
    ];
    assert!((parts.iter().sum::<f64>() / waits.total_us - 1.0).abs() < 1e-9);
    let counts = waits.counts.unwrap();
    // All but the first request, one more for each that came just in time.
    assert!((1_900..=2_000).contains(&counts.busy), "{counts:?}");
    assert_eq!(counts.connecting + counts.back_off + counts.late, 0);
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

/// A server that answers in 100 µs, and is gone from three seconds to six of the window: it resets
/// whoever asks, and refuses whoever connects.
fn gone_for_a_while(plan: &Plan) -> Record {
    gone(plan, 7_000)
}

/// The same, gone until so many milliseconds of the network's time, which begins at one second.
fn gone(plan: &Plan, until_ms: u64) -> Record {
    struct Mortal(Server<fn(u64, Time) -> u64>, u64);
    impl Peer for Mortal {
        fn received(&mut self, id: Connection, bytes: &[u8], now: Time, replies: &mut Replies) {
            match (4_000 * MS..self.1 * MS).contains(&now.0) {
                true => replies.reset(0),
                false => self.0.received(id, bytes, now, replies),
            }
        }
    }
    let network = Network::new(1, Faults::none());
    let refusing = Faults {
        refuse: 1.0,
        ..Faults::none()
    };
    network.change_faults(Time(4_000 * MS), refusing);
    network.change_faults(Time(until_ms * MS), Faults::none());
    let sockets = sockets_for(plan.connections as usize);
    let server = Mortal(Server::new(|_, _| 100_000), until_ms);
    let outcome = run_worker(plan, 0, sockets, network, server);
    recorded(plan, outcome)
}

#[test]
fn what_a_server_that_is_gone_for_good_was_never_sent_is_its_own_account() {
    let plan = plan(Schedule::Constant { rate: 500.0 }, 10, 5.0);
    let record = gone(&plan, 60_000);
    let lost = record.lost();
    assert!(lost.never_sent > 900, "{lost:?}");
    assert_eq!(lost.never_sent_away, lost.never_sent, "{lost:?}");
    let told = lost.told().join(", ");
    assert!(
        told.contains("never sent because the server was unreachable"),
        "{told}"
    );
    assert!(!told.contains("no connection was free"), "{told}");
    let blames = |warning: &&String| warning.contains("couldn't keep up");
    assert_eq!(record.warnings.iter().find(blames), None);
}

#[test]
fn an_outage_in_an_open_loop_is_the_servers() {
    for (connections, keep_alive) in [(1, true), (20, true), (20, false)] {
        let mut plan = plan(Schedule::Constant { rate: 1_000.0 }, connections, 10.0);
        plan.keep_alive = keep_alive;
        let record = gone_for_a_while(&plan);
        let waits = record.waits.as_ref().unwrap();
        let ours = waits.back_off_us + waits.connecting_us + waits.late_us;
        if keep_alive {
            // A request waits for 1.5 s on average, and for what is left of the last back-off.
            assert!(waits.unreachable_us > 0.8 * waits.total_us, "{waits:?}");
            assert!(ours < 0.04 * waits.total_us, "{waits:?}");
            assert!(waits.counts.unwrap().unreachable >= 2_900, "{waits:?}");
        }
        assert!(waits.share_of_response.unwrap() <= 1.0, "{waits:?}");
        let generator = &record.generator;
        // The thread of this test may truly be kept from its CPU.
        let reason = &generator.limited_reason;
        let is_disturbed = reason.starts_with("a worker was kept from its CPU");
        assert!(!generator.limited || is_disturbed, "{reason}");
        assert!(record.valid || is_disturbed, "{:?}", record.warnings);
        for advice in ["(-t)", "(-c)", "--pipeline"] {
            if is_disturbed {
                continue;
            }
            let given = |warning: &&String| warning.contains(advice);
            assert_eq!(record.warnings.iter().find(given), None);
        }
        let availability = record.availability.as_ref().unwrap();
        assert_eq!(availability.gaps.len(), 1, "{availability:?}");
        let gap = availability.gaps[0];
        assert!((2.9..3.2).contains(&gap.from_s), "{gap:?}");
        assert!((5.9..6.2).contains(&gap.to_s), "{gap:?}");
        assert!(gap.outage && gap.unreachable, "{gap:?}");
        assert!((availability.share - 0.7).abs() < 0.03);
        let threshold: Threshold = "errors<0.1%".parse().unwrap();
        assert!(!threshold.evaluate(&record).ok, "{:?}", record.lost());
    }
}

#[test]
fn waits_behind_the_last_failed_attempt_are_the_generators() {
    // Whatever fails by chance is tried again at a time when nobody knows how it will end.
    let plan = plan(Schedule::Constant { rate: 500.0 }, 2, 4.0);
    let faults = Faults {
        reset: 0.3,
        ..Faults::none()
    };
    let record = record_of(&plan, faults, |_, _| 100_000);
    let waits = record.waits.unwrap();
    // Of the attempts, the one that succeeds: there and back once.
    let counts = waits.counts.unwrap();
    let attempt_us = 21.0;
    assert!(waits.connecting_us > 0.0, "{waits:?}");
    assert!(
        waits.connecting_us <= attempt_us * counts.connecting as f64,
        "{waits:?}"
    );
    // Of the back-off, what is left of one: 10 ms and a quarter at most.
    assert!(waits.back_off_us > 0.2 * waits.total_us, "{waits:?}");
    assert!(
        waits.back_off_us <= 12_500.0 * counts.back_off as f64,
        "{waits:?}"
    );
    // All that came before, the attempts that failed and the waits between them, is the server's.
    assert!(waits.unreachable_us > 0.5 * waits.total_us, "{waits:?}");
    let parts = waits.unreachable_us + waits.connecting_us + waits.back_off_us;
    assert!(parts > 0.95 * waits.total_us, "{waits:?}");
    let generator = &record.generator;
    let reason = &generator.limited_reason;
    assert!(generator.limited && !record.valid, "{reason}");
    let back_off = "% before failed connections were retried";
    assert!(reason.contains(back_off), "{reason}");
}

#[test]
fn a_dead_server_and_a_connection_for_each_exchange_leave_waits_within_the_response_time() {
    let mut plan = plan(Schedule::Constant { rate: 2_000.0 }, 2, 2.0);
    plan.keep_alive = false;
    let faults = Faults {
        refuse: 0.99,
        ..Faults::none()
    };
    let record = record_of(&plan, faults, |_, _| 100_000);
    let waits = record.waits.unwrap();
    let share = waits.share_of_response.unwrap();
    assert!((0.5..=1.0).contains(&share), "{waits:?}");
    assert!(record.exchanges.failed > record.exchanges.completed);
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
        unreachable: false,
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

/// A server that answers each request after a millisecond and closes behind the n-th answer if
/// `closes` says so; if not, the other side has to.
struct Keeper {
    answered: u64,
    closes: fn(u64) -> bool,
}

impl Peer for Keeper {
    fn received(&mut self, _: Connection, _: &[u8], _: Time, replies: &mut Replies) {
        replies.send(MS, super::ANSWER);
        if (self.closes)(self.answered) {
            replies.close(MS);
        }
        self.answered += 1;
    }
}

/// A connection for each request, one at a time, and a server that closes it, or leaves that to us.
fn one_by_one(schedule: Schedule, seconds: f64, closes: fn(u64) -> bool) -> Record {
    let mut plan = plan(schedule, 1, seconds);
    plan.keep_alive = false;
    let keeper = Keeper {
        answered: 0,
        closes,
    };
    let outcome = run(&plan, 1, Faults::none(), keeper);
    recorded(&plan, outcome)
}

/// What requests 25 ms apart wait for connections to be closed, one connection at a time, where
/// `closes` says whether the server does that: 50 ms at first, half as long after each wait in
/// vain, and twice as long after each server that closed. In milliseconds.
fn closing_law(count: u64, closes: fn(u64) -> bool) -> f64 {
    // There and back to connect, and again to ask.
    let (in_use, back) = (1.0 + 0.04, 0.02);
    let (mut free_at, mut linger, mut closing) = (0.0_f64, 50.0_f64, Vec::new());
    let mut waited = 0.0;
    for n in 0..count {
        let due = n as f64 * 25.0;
        let begun = free_at.max(due);
        let overlaps = closing.iter().map(|(from, until): &(f64, f64)| {
            let length = until.min(begun) - from.max(due);
            length.max(0.0)
        });
        waited += overlaps.sum::<f64>();
        let answered = begun + in_use;
        let closed = closes(n);
        free_at = answered + if closed { 0.0 } else { linger };
        linger = match closed {
            true => (linger * 2.0).min(50.0),
            false => (linger / 2.0).max(0.05),
        };
        closing.push((answered, free_at + if closed { back } else { 0.0 }));
    }
    waited
}

#[test]
fn waits_for_peers_that_never_close_are_what_the_schedule_says_and_ours() {
    for closes in [(|_| false) as fn(u64) -> bool, |n| n % 2 == 1] {
        let record = one_by_one(Schedule::Constant { rate: 40.0 }, 2.0, closes);
        assert_eq!(record.exchanges.completed, 80);
        let waits = record.waits.as_ref().unwrap();
        let law_us = closing_law(80, closes) * 1_000.0;
        assert!(law_us > 0.0);
        let off = waits.closing_us / law_us - 1.0;
        assert!(off.abs() < 0.05, "{law_us}: {waits:?}");
        assert!(waits.counts.unwrap().closing > 0, "{waits:?}");
        let generator = &record.generator;
        assert!(generator.limited && !record.valid);
        let reason = &generator.limited_reason;
        assert!(
            reason.contains("% for connections to be closed"),
            "{reason}"
        );
    }
}

#[test]
fn a_wait_for_a_close_that_is_next_to_nothing_is_no_limit() {
    // The same over and over, until the first waits are no part of it any more.
    let record = one_by_one(Schedule::Constant { rate: 40.0 }, 60.0, |_| false);
    let waits = record.waits.as_ref().unwrap();
    assert!(waits.closing_us > 0.0, "{waits:?}");
    let reason = &record.generator.limited_reason;
    assert!(!reason.contains("waiting in the generator"), "{reason}");
    // Nor is there a wait where the server closes.
    let record = one_by_one(Schedule::Constant { rate: 40.0 }, 2.0, |_| true);
    let waits = record.waits.as_ref().unwrap();
    assert_eq!(waits.closing_us, 0.0, "{waits:?}");
    let reason = &record.generator.limited_reason;
    assert!(!reason.contains("waiting in the generator"), "{reason}");
}

#[test]
fn a_closed_loop_that_waits_for_peers_to_close_is_the_limit_and_one_whose_peers_close_is_not() {
    let told = |seconds, closes| {
        let record = one_by_one(Schedule::Closed, seconds, closes);
        let generator = record.generator;
        let says = (generator.limited_reason).contains("for the server to close them");
        assert!(generator.limited || !says, "{}", generator.limited_reason);
        (says, generator.limited_reason)
    };
    // 50 ms for every second exchange of a millisecond.
    let (says, reason) = told(2.0, |n| n % 2 == 1);
    assert!(says && reason.contains("connections waited 9"), "{reason}");
    // 50, 25, 12.5 ms and so on: a tenth of a second in all.
    let (says, reason) = told(1.5, |_| false);
    assert!(says, "{reason}");
    let (says, reason) = told(60.0, |n| n > 1);
    assert!(!says, "{reason}");
    let (says, reason) = told(2.0, |_| true);
    assert!(!says, "{reason}");
}

#[test]
fn over_http2_nobody_waits_for_a_peer_to_close() {
    let mut plan = plan(Schedule::Constant { rate: 400.0 }, 10, 2.0);
    plan.keep_alive = false;
    plan.protocol = Protocol::Http2 {
        http2: Http2 {
            streams: 1,
            header_table_bytes: 0,
            ..Http2::default()
        },
    };
    // Half a second of 400 a second at a time, and never closes.
    let outcome = run(&plan, 1, Faults::none(), super::http2::answering(20 * MS));
    let record = recorded(&plan, outcome);
    assert_eq!(record.exchanges.completed, 800);
    let waits = record.waits.as_ref().unwrap();
    assert_eq!(waits.closing_us, 0.0, "{waits:?}");
    let reason = &record.generator.limited_reason;
    assert!(!reason.contains("waiting in the generator"), "{reason}");
}

#[test]
fn an_exchange_that_was_refused_waited_for_as_long_as_the_refusal_took() {
    use proto::http2::ErrorCode;
    // Every tenth is refused once, 3 ms there and 3 ms back.
    let mut again = false;
    let law = move |n: u64, _: Time| {
        again = n % 10 == 9 && !again;
        match again {
            true => super::http2::Fate::Reset(ErrorCode::REFUSED_STREAM),
            false => super::http2::Fate::Answer(MS),
        }
    };
    let mut plan = plan(Schedule::Constant { rate: 100.0 }, 1, 5.0);
    plan.protocol = Protocol::Http2 {
        http2: Http2 {
            streams: 10,
            header_table_bytes: 0,
            ..Http2::default()
        },
    };
    let faults = Faults {
        latency_ns: 3 * MS,
        ..Faults::none()
    };
    let outcome = run(&plan, 1, faults, super::http2::Server::new(law));
    let refused = outcome.recorder.tally.errors;
    let refused = refused.count(measure::counters::ErrorKind::StreamRefused);
    let record = recorded(&plan, outcome);
    assert!((45..=60).contains(&refused), "{refused}");
    let waits = record.waits.as_ref().unwrap();
    let each_us = waits.refused_us / refused as f64;
    assert!((6_000.0..6_100.0).contains(&each_us), "{waits:?}");
    assert_eq!(waits.counts.unwrap().refused, refused, "{waits:?}");
}

#[test]
fn a_server_that_ends_connections_makes_opening_them_again_the_limit() {
    // Each connection is good for four answers, though more are wanted: 6 ms there and back, and a
    // millisecond for an answer, ten milliseconds apart on one connection.
    let plan = plan(Schedule::Constant { rate: 100.0 }, 1, 2.0);
    let faults = |latency_ns| Faults {
        latency_ns,
        ..Faults::none()
    };
    let record = |latency_ns| {
        let keeper = Keeper {
            answered: 0,
            closes: |n| n % 4 == 3,
        };
        let outcome = run(&plan, 1, faults(latency_ns), keeper);
        recorded(&plan, outcome)
    };
    let slow = record(3 * MS);
    let waits = slow.waits.as_ref().unwrap();
    assert!(waits.connecting_us > 0.05 * waits.total_us, "{waits:?}");
    let reason = &slow.generator.limited_reason;
    assert!(slow.generator.limited, "{reason}");
    assert!(
        reason.contains("% for connections to be opened again"),
        "{reason}"
    );
    let quick = record(10_000);
    let reason = &quick.generator.limited_reason;
    assert!(!reason.contains("waiting in the generator"), "{reason}");
}

/// Resets the connection at all requests but each `each`th, which it answers after a millisecond.
struct Breaker {
    asked: u64,
    each: u64,
}

impl Peer for Breaker {
    fn received(&mut self, _: Connection, _: &[u8], _: Time, replies: &mut Replies) {
        self.asked += 1;
        match self.asked.is_multiple_of(self.each) {
            true => replies.send(MS, super::ANSWER),
            false => replies.reset(MS),
        }
    }
}

#[test]
fn a_closed_loop_whose_connections_break_one_after_the_other_is_limited_by_our_own_back_off() {
    let told = |each| {
        let plan = plan(Schedule::Closed, 1, 2.0);
        let breaker = Breaker { asked: 0, each };
        let record = recorded(&plan, run(&plan, 1, Faults::none(), breaker));
        assert!(record.exchanges.completed > 0 && record.exchanges.failed > 0);
        let reason = record.generator.limited_reason;
        let says = reason.contains("before they were opened again");
        assert!(record.generator.limited || !says, "{reason}");
        (says, reason)
    };
    // The first loss is made good at once, and each that follows it only after a while.
    let (says, reason) = told(3);
    assert!(says, "{reason}");
    let (says, reason) = told(2);
    assert!(!says, "{reason}");
}
