//! Whole runs on the simulator: the instrument against known truth, in virtual time.

use std::collections::BTreeMap;

use engine::choice::Kind;
use engine::signal::Stop;
use engine::sim::{Connection, Faults, Network, Peer, Replies};
use engine::{Address, Config, Driver};
use measure::counters::Errors;
use measure::series::Row;
use measure::tally::Tally;
use measure::time::Time;

use crate::Record;
use crate::gate::Gate;
use crate::run::{assemble, assign};
use crate::surroundings::Disturbance;
use crate::worker::{Assignment, Outcome, Worker, sockets_for};
use plan::Plan;
use plan::schedule::Schedule;
use workload::Source;

mod calls;
mod connections;
mod conservation;
mod cost;
mod expect;
mod flows;
mod follow;
mod goodput;
mod greetings;
mod http2;
mod intervals;
mod origins;
mod proxy;
mod replayed;
pub(crate) mod rogue;
mod rows;
mod stalls;
mod steps;
mod streams;
mod users;
mod waits;

const MS: u64 = 1_000_000;
const ANSWER: &[u8] = b"HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok";

/// An HTTP server with one processor: answers in the order of arrival, each after `law(n)`.
struct Server<L> {
    unread: BTreeMap<Connection, Vec<u8>>,
    served: u64,
    law: L,
}

impl<L: FnMut(u64, Time) -> u64> Server<L> {
    fn new(law: L) -> Server<L> {
        Server {
            unread: BTreeMap::new(),
            served: 0,
            law,
        }
    }
}

impl<L: FnMut(u64, Time) -> u64> Peer for Server<L> {
    fn received(&mut self, id: Connection, bytes: &[u8], now: Time, replies: &mut Replies) {
        let unread = self.unread.entry(id).or_default();
        unread.extend_from_slice(bytes);
        while let Some(end) = unread.windows(4).position(|four| four == b"\r\n\r\n") {
            let head: Vec<u8> = unread.drain(..end + 4).collect();
            let delay_ns = (self.law)(self.served, now);
            replies.send(delay_ns, ANSWER);
            if head.windows(17).any(|part| part == b"Connection: close") {
                replies.close(delay_ns);
            }
            self.served += 1;
        }
    }
}

fn plan(schedule: Schedule, connections: u32, seconds: f64) -> Plan {
    let mut plan = Plan::new("http://127.0.0.1:80/").unwrap();
    plan.schedule = schedule;
    plan.connections = connections;
    plan.duration_s = Some(seconds);
    plan
}

fn run(plan: &Plan, seed: u64, faults: Faults, server: impl Peer + 'static) -> Outcome {
    let sockets = sockets_for(plan.connections as usize);
    run_within(plan, seed, faults, sockets, server)
}

/// A run whose driver has so many sockets.
fn run_within(
    plan: &Plan,
    seed: u64,
    faults: Faults,
    sockets: usize,
    server: impl Peer + 'static,
) -> Outcome {
    run_worker(plan, 0, sockets, Network::new(seed, faults), server)
}

/// The record of a run with one worker. Its time is the network's; what other tests took of the
/// real processors meanwhile is left out.
fn recorded(plan: &Plan, mut outcome: Outcome) -> Record {
    outcome.cpu = None;
    let reason = "a test".to_owned();
    assemble(
        plan,
        Kind::Epoll,
        reason,
        vec![outcome],
        Disturbance::default(),
    )
}

/// One worker of a plan, alone on its network.
fn run_worker(
    plan: &Plan,
    worker: u32,
    sockets: usize,
    network: Network,
    server: impl Peer + 'static,
) -> Outcome {
    let config = Config {
        sockets,
        ..Config::default()
    };
    run_on(plan, worker, &config, network, server)
}

/// The same with a driver of this kind.
fn run_on(
    plan: &Plan,
    worker: u32,
    config: &Config,
    network: Network,
    server: impl Peer + 'static,
) -> Outcome {
    plan.validate().unwrap();
    let address = Address::Tcp("127.0.0.1:80".parse().unwrap());
    network.serve(&address, server);
    let mut assignment = assign(plan, worker, &[vec![address]], Source::of(plan).unwrap()).unwrap();
    // Alone at its gate.
    assignment.worker = 0;
    work(network.driver(config), assignment)
}

/// The one worker of a run on this driver.
fn work(driver: impl Driver, assignment: Assignment) -> Outcome {
    let gate = Gate::new(1);
    let worker = Worker::new(driver, &gate, Stop::new(), assignment).unwrap();
    let outcome = worker.run().unwrap();
    assert_eq!(outcome.breach, None, "a law of conservation is broken");
    outcome
}

/// The whole run through a server that is frozen for 100 ms in each second.
fn frozen(connections: u32) -> Outcome {
    // The network's time begins at one second, and so do the stalls.
    let law = |_, now: Time| {
        let into_second = now.0 % (1000 * MS);
        1_000 + (100 * MS).saturating_sub(into_second)
    };
    let schedule = Schedule::Constant { rate: 10_000.0 };
    run(
        &plan(schedule, connections, 5.0),
        1,
        Faults::none(),
        Server::new(law),
    )
}

#[test]
fn a_server_frozen_a_tenth_of_the_time_shows_as_the_law_says() {
    let outcome = frozen(50);
    let tally = &outcome.recorder.tally;
    assert_eq!(tally.completed, 50_000);
    // A tenth of the exchanges fall due in a stall and wait evenly between 0 and 100 ms, so the
    // quantile 0.9 + x/10 of the response time is x times 100 ms.
    for (quantile, law_ms) in [(0.95, 50.0), (0.98, 80.0), (0.99, 90.0)] {
        let measured_ms = tally.response.quantile(quantile) as f64 / 1e6;
        assert!(
            (measured_ms / law_ms - 1.0).abs() < 0.05,
            "p{quantile}: {measured_ms} ms"
        );
    }
    assert!(tally.response.quantile(0.89) < MS);
}

#[test]
fn service_time_hides_the_stall_that_response_time_shows() {
    // With 50 connections only 50 exchanges of each stall's 1,000 are under way and see it; the
    // others wait in the generator. That is what a closed loop would have left out.
    let outcome = frozen(50);
    let tally = &outcome.recorder.tally;
    assert!(
        tally.service.quantile(0.99) < 2 * MS,
        "{}",
        tally.service.quantile(0.99)
    );
    assert!(tally.service.max() > 90 * MS);
    assert!(
        outcome.recorder.blocked > 4_000,
        "{}",
        outcome.recorder.blocked
    );
    // Those waits are the server's; the generator itself was on time.
    assert!(outcome.recorder.own_lateness.quantile(0.99) < 50_000);
    assert!(tally.lateness.quantile(0.99) > 80 * MS);
}

#[test]
fn what_piled_up_behind_busy_connections_leaves_in_bursts_and_in_order() {
    let mut plan = plan(Schedule::Constant { rate: 10_000.0 }, 20, 2.0);
    plan.pipeline = 4;
    let law = |_, now: Time| 1_000 + (100 * MS).saturating_sub(now.0 % (1000 * MS));
    let outcome = run(&plan, 1, Faults::none(), Server::new(law));
    let tally = &outcome.recorder.tally;
    assert_eq!(tally.completed, 20_000);
    assert!(
        outcome.recorder.blocked > 1_500,
        "{}",
        outcome.recorder.blocked
    );
    for (quantile, law_ms) in [(0.95, 50.0), (0.99, 90.0)] {
        let measured_ms = tally.response.quantile(quantile) as f64 / 1e6;
        assert!(
            (measured_ms / law_ms - 1.0).abs() < 0.05,
            "p{quantile}: {measured_ms} ms"
        );
    }
    // 80 of each 10,000 are under way when the server stops.
    assert!(tally.service.quantile(0.99) < 2 * MS);
}

#[test]
fn a_law_of_delays_comes_back_as_that_law() {
    let law = |n: u64, _| (n % 100 + 1) * MS;
    let schedule = Schedule::Poisson { rate: 500.0 };
    let outcome = run(
        &plan(schedule, 200, 10.0),
        3,
        Faults::none(),
        Server::new(law),
    );
    let tally = &outcome.recorder.tally;
    assert!(tally.completed > 4_500);
    for percent in [10, 25, 50, 75, 90, 99] {
        let measured = tally.service.quantile(f64::from(percent) / 100.0) as f64 / 1e6;
        // 20 µs for the network there and back, and the laws repeat every 100 exchanges.
        let truth = f64::from(percent) + 0.02;
        assert!(
            (measured - truth).abs() < 1.1,
            "p{percent}: {measured} ms, not {truth}"
        );
    }
}

#[test]
fn a_closed_loop_obeys_littles_law() {
    let law = |_, _| 4 * MS;
    let outcome = run(
        &plan(Schedule::Closed, 20, 2.0),
        1,
        Faults::none(),
        Server::new(law),
    );
    let tally = &outcome.recorder.tally;
    let rate = tally.completed as f64 / 2.0;
    let inside = rate * tally.response.mean() / 1e9;
    assert!(
        (inside / 20.0 - 1.0).abs() < 0.01,
        "{inside} of 20 connections"
    );
    assert_eq!(tally.response, tally.service);
}

/// All that a record is made of: every count, every cell of the histograms, every row.
fn counts_and_histograms(tally: &Tally) -> (Vec<String>, [u64; 4], Errors, Vec<Row>) {
    let histograms = [
        &tally.response,
        &tally.service,
        &tally.lateness,
        &tally.connect,
    ];
    let counts = [
        tally.completed,
        tally.failed,
        tally.unfinished,
        tally.reconnects,
    ];
    let texts = histograms.map(|histogram| histogram.to_hdr_v2_base64());
    (texts.into(), counts, tally.errors, tally.rows())
}

#[test]
fn the_same_seed_brings_the_same_tally_and_another_seed_another() {
    let faults = || Faults {
        reset: 0.01,
        refuse: 0.1,
        accept_failure: 0.05,
        ..Faults::rough()
    };
    let tally = |seed| {
        let schedule = Schedule::Poisson { rate: 2_000.0 };
        let law = |n: u64, _| n % 7 * 50_000;
        run(&plan(schedule, 10, 2.0), seed, faults(), Server::new(law))
            .recorder
            .tally
    };
    let first = tally(42);
    let whole = counts_and_histograms;
    assert_eq!(whole(&first), whole(&tally(42)));
    assert_ne!(whole(&first), whole(&tally(43)));
    assert!(first.errors.total() > 0 && first.reconnects > 0);
}

#[test]
fn under_faults_every_exchange_that_was_due_is_accounted_for() {
    for seed in 0..20 {
        let faults = Faults {
            reset: 0.02,
            refuse: 0.2,
            accept_failure: 0.1,
            ..Faults::rough()
        };
        let law = |n: u64, _| {
            if n % 50 == 49 {
                3_600_000 * MS
            } else {
                100_000
            }
        };
        for keep_alive in [true, false] {
            let mut plan = plan(Schedule::Constant { rate: 1_000.0 }, 20, 1.0);
            (plan.timeout_s, plan.keep_alive) = (0.1, keep_alive);
            let tally = run(&plan, seed, faults.clone(), Server::new(law))
                .recorder
                .tally;
            assert_eq!(tally.intended, 1_000, "seed {seed}");
            let ended = tally.completed + tally.failed + tally.unfinished;
            assert_eq!(ended, 1_000, "seed {seed}, keep-alive {keep_alive}");
            assert!(
                tally.errors.count(measure::counters::ErrorKind::Timeout) > 0,
                "seed {seed}"
            );
            assert!(tally.completed > 500, "seed {seed}: {}", tally.completed);
        }
    }
}

#[test]
fn a_counted_run_under_faults_ends_with_its_count() {
    for seed in 0..20 {
        let faults = Faults {
            reset: 0.05,
            ..Faults::rough()
        };
        let mut plan = plan(Schedule::Closed, 7, 1.0);
        (plan.duration_s, plan.count, plan.pipeline) = (None, Some(500), 4);
        let tally = run(&plan, seed, faults, Server::new(|_, _| 1_000))
            .recorder
            .tally;
        assert_eq!(tally.completed + tally.failed, 500, "seed {seed}");
        assert_eq!(tally.response.count(), tally.completed, "seed {seed}");
    }
}

#[test]
fn warm_up_is_not_measured() {
    let mut plan = plan(Schedule::Constant { rate: 1_000.0 }, 10, 1.0);
    plan.warm_up_s = 1.0;
    // Slow in the first second only.
    let law = |_, now: Time| if now.0 < 2_000 * MS { 50 * MS } else { MS };
    let tally = run(&plan, 1, Faults::none(), Server::new(law))
        .recorder
        .tally;
    assert_eq!(tally.intended, 1_000);
    assert!(
        tally.service.quantile(0.9) < 2 * MS,
        "{}",
        tally.service.quantile(0.9)
    );
}

#[test]
fn the_debt_of_an_overloaded_warm_up_is_not_paid_in_the_window() {
    let mut plan = plan(Schedule::Constant { rate: 10_000.0 }, 10, 1.0);
    plan.warm_up_s = 1.0;
    // Ten connections, 10 ms each: a tenth of what is asked for.
    let outcome = run(&plan, 1, Faults::none(), Server::new(|_, _| 10 * MS));
    let tally = &outcome.recorder.tally;
    assert_eq!(tally.intended, 10_000);
    assert!(outcome.dropped > 8_000, "{}", outcome.dropped);
    // The window and the drain of two seconds behind it, at 1,000 a second.
    assert!(
        (2_900..3_100).contains(&tally.completed),
        "{}",
        tally.completed
    );
    assert_eq!(tally.completed + tally.unfinished, 10_000);
    let in_time = tally.completed - tally.completed_late;
    assert!((990..1_020).contains(&in_time), "{in_time}");
}

#[test]
fn a_counted_run_whose_server_is_gone_gives_up() {
    let mut plan = plan(Schedule::Closed, 3, 1.0);
    (plan.duration_s, plan.count) = (None, Some(1_000_000));
    let faults = Faults {
        refuse: 1.0,
        ..Faults::none()
    };
    let outcome = run(&plan, 1, faults, Server::new(|_, _| 1_000));
    assert_eq!(outcome.ended_by, crate::worker::EndedBy::PeerGone);
    let refused = outcome
        .recorder
        .tally
        .errors
        .count(measure::counters::ErrorKind::Refused);
    // Three sessions whose back-off soon reaches a second: not one attempt a turn.
    assert!((10..200).contains(&refused), "{refused}");
}
