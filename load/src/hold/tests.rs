//! Whole holds on the simulator: what the figures must say is known there.

use std::cell::Cell;
use std::collections::BTreeMap;
use std::rc::Rc;

use engine::choice::Kind;
use engine::signal::Stop;
use engine::sim::{Connection, Faults, Network, Peer, Replies};
use engine::{Address, Config, Driver};
use measure::time::Time;

use super::prepare::{Place, assign};
use super::worker::{Assignment, Outcome, Worker};
use super::{Plan, Record, judge};
use crate::crew::Job;
use crate::gate::Gate;
use crate::ground::Ground;
use measure::hold::Footprint;

mod drain;
mod flood;
mod frozen;
mod opening;
mod protocols;
mod watched;

const SECOND: u64 = 1_000_000_000;
const MS: u64 = 1_000_000;
const ANSWER: &[u8] = b"HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok";
const TARGET: &str = "127.0.0.1:80";

/// What a server does with a request.
enum Deed {
    Answer { after_ns: u64, bytes: &'static [u8] },
    Stall,
    Reset,
    Close,
}

/// A server of HTTP/1.1 that asks `law` about each request; it is told the connection, how many
/// were on it before, and the time.
struct Server<L> {
    requests: BTreeMap<Connection, u64>,
    times: Rc<Times>,
    law: L,
}

/// When requests came, for whoever looks at the phases of heartbeats.
type Times = std::cell::RefCell<Vec<Time>>;

impl<L: FnMut(Connection, u64, Time) -> Deed> Server<L> {
    fn new(law: L) -> Server<L> {
        Server {
            requests: BTreeMap::new(),
            times: Rc::default(),
            law,
        }
    }
}

impl<L: FnMut(Connection, u64, Time) -> Deed> Peer for Server<L> {
    fn received(&mut self, id: Connection, _bytes: &[u8], now: Time, replies: &mut Replies) {
        self.times.borrow_mut().push(now);
        let before = self.requests.entry(id).or_default();
        match (self.law)(id, *before, now) {
            Deed::Answer { after_ns, bytes } => replies.send(after_ns, bytes),
            Deed::Stall => {}
            Deed::Reset => replies.reset(0),
            Deed::Close => replies.close(0),
        }
        *before += 1;
    }
}

fn well(after_ns: u64) -> Deed {
    Deed::Answer {
        after_ns,
        bytes: ANSWER,
    }
}

pub(super) fn plan(connections: u32, seconds: f64) -> Plan {
    let mut plan = Plan::new(&format!("http://{TARGET}/")).unwrap();
    plan.connections = connections;
    plan.duration_s = seconds;
    plan.heartbeat_s = 1.0;
    plan.heartbeat_timeout_s = 3.0;
    plan.connect_timeout_s = 2.0;
    plan
}

fn address() -> Address {
    Address::Tcp(TARGET.parse().unwrap())
}

fn assignment(plan: &Plan, origin: Time) -> Assignment {
    plan.validate().unwrap();
    let place = Place {
        worker: 0,
        workers: 1,
        origin,
    };
    assign(plan, place, &[vec![address()]]).unwrap()
}

fn hold_on(plan: &Plan, network: &Network) -> Record {
    let assignment = assignment(plan, network.now());
    let driver = network.driver(&assignment.config());
    let gate = Gate::new(1);
    let worker = Worker::new(driver, &gate, Stop::new(), assignment);
    record_of(plan, vec![brought(worker.unwrap())])
}

/// What a worker brings, when it has done all that it does.
fn brought<D: Driver>(worker: Worker<'_, D>) -> Outcome {
    let mut outcome = None;
    worker.run(|brought| outcome = Some(brought)).unwrap();
    outcome.expect("a worker whose driver works brings something")
}

fn record_of(plan: &Plan, outcomes: Vec<Outcome>) -> Record {
    let ground = Ground {
        contacts: vec![plan.contact()],
        kind: Kind::Epoll,
        engine_reason: "simulated".into(),
        addresses: vec![vec![address()]],
        tls: None,
        tunnel: None,
    };
    let workers = outcomes.len() as u32;
    judge::record(
        plan.clone(),
        &ground,
        workers,
        &Footprint::before(),
        outcomes,
    )
}

fn hold(plan: &Plan, seed: u64, faults: Faults, server: impl Peer + 'static) -> Record {
    let network = Network::new(seed, faults);
    network.serve(&address(), server);
    hold_on(plan, &network)
}

#[test]
fn a_good_server_loses_nobody() {
    let plan = plan(100, 10.0);
    let record = hold(
        &plan,
        1,
        Faults::none(),
        Server::new(|_, _, _| well(5 * MS)),
    );
    let connections = record.connections;
    assert_eq!(connections.survival, Some(1.0));
    assert_eq!((connections.opened, connections.standing), (100, 100));
    assert_eq!((connections.lost, connections.reconnects), (0, 0));
    assert_eq!(record.duration_s, 10.0);
    // One a second on each of a hundred connections, but for what the opening added.
    let heartbeats = record.heartbeats;
    assert!(
        (999..=1010).contains(&heartbeats.answered),
        "{heartbeats:?}"
    );
    assert_eq!(heartbeats.sent, heartbeats.answered);
    assert_eq!(heartbeats.failure_share, Some(0.0));
    // The round trip is the server's 5 ms and 20 µs of network.
    let p50 = record.heartbeat_time_us.p50.unwrap();
    assert!((5_020.0..5_030.0).contains(&p50), "{p50}");
    assert!(
        record.valid && record.warnings.is_empty(),
        "{:?}",
        record.warnings
    );
}

#[test]
fn heartbeats_are_spread_evenly_over_their_interval() {
    let server = Server::new(|_, _, _| well(MS));
    let times = Rc::clone(&server.times);
    hold(&plan(1000, 5.0), 1, Faults::none(), server);
    let times = times.borrow();
    let begun = times[0].0 / SECOND + 2;
    for tenth in 0..30 {
        let from = Time(begun * SECOND + tenth * SECOND / 10);
        let within = from..from.plus(SECOND / 10);
        let count = times.iter().filter(|time| within.contains(time)).count();
        assert!((98..=102).contains(&count), "tenth {tenth}: {count}");
    }
}

#[test]
fn connections_are_opened_at_their_rate() {
    let mut plan = plan(1000, 1.0);
    plan.open_rate = 250.0;
    let record = hold(&plan, 1, Faults::none(), Server::new(|_, _, _| well(MS)));
    assert!(
        (3.99..4.02).contains(&record.opening_s),
        "{}",
        record.opening_s
    );
    let opened: Vec<u64> = record.series.iter().map(|row| row.opened).collect();
    assert!(
        opened[..4].iter().all(|n| (249..=251).contains(n)),
        "{opened:?}"
    );
    assert_eq!(record.series.last().unwrap().standing, 1000);
}

#[test]
fn a_stampede_of_connections_is_let_in_by_turns() {
    let mut plan = plan(5000, 2.0);
    (plan.open_rate, plan.heartbeat_s) = (1e6, 10.0);
    // A hundredth of a second each way: without a bound all five thousand would be under way.
    let faults = Faults {
        latency_ns: 10 * MS,
        ..Faults::none()
    };
    let record = hold(&plan, 1, faults, Server::new(|_, _, _| well(MS)));
    assert_eq!(record.connections.survival, Some(1.0));
    let rounds = 5000_f64 / 512.0;
    let each_s = record.opening_s / rounds;
    assert!((0.018..0.03).contains(&each_s), "{each_s}");
}

#[test]
fn a_tenth_that_is_cut_off_once_is_what_survival_lacks() {
    let plan = plan(100, 10.0);
    let doomed = Rc::new(Cell::new(10));
    let server = Server::new(move |_, before, _| {
        if before == 3 && doomed.get() > 0 {
            doomed.set(doomed.get() - 1);
            Deed::Reset
        } else {
            well(MS)
        }
    });
    let record = hold(&plan, 1, Faults::none(), server);
    let connections = record.connections;
    assert_eq!(connections.survival, Some(0.9));
    assert_eq!((connections.lost, connections.reconnects), (10, 10));
    assert_eq!((connections.opened, connections.standing), (110, 100));
    assert_eq!(record.losses["reset"], 10);
    assert_eq!(record.heartbeats.failed, 10);
    // Ten in a hundred connections over some ten seconds.
    let per_hour = connections.reconnects_per_hour.unwrap();
    assert!((per_hour / 36.0 - 1.0).abs() < 0.01, "{per_hour}");
    // The first wait of the back-off, give or take a quarter, and the network.
    let times = record.re_establish_time_us;
    assert!(
        (75_000.0..125_100.0).contains(&times.min.unwrap()),
        "{times:?}"
    );
    assert!(
        (75_000.0..125_100.0).contains(&times.max.unwrap()),
        "{times:?}"
    );
}

#[test]
fn a_heartbeat_without_answer_loses_its_connection_after_the_timeout() {
    let plan = plan(10, 8.0);
    let server = Server::new(|_, before, _| if before == 1 { Deed::Stall } else { well(MS) });
    let record = hold(&plan, 1, Faults::none(), server);
    assert_eq!(record.connections.survival, Some(0.0));
    assert!(record.losses["timeout"] >= 10, "{:?}", record.losses);
    assert_eq!(record.heartbeat_errors["timeout"], record.losses["timeout"]);
    // Behind each of them two more were due, an interval apart; they had less time to wait.
    let heartbeats = record.heartbeats;
    let behind = heartbeats.skipped_in_vain;
    assert!(
        behind >= 2 * record.losses["timeout"] - 10,
        "{heartbeats:?}"
    );
    assert_eq!(heartbeats.censored, record.losses["timeout"] + behind);
    let in_vain = heartbeats.failed + behind + heartbeats.skipped_down;
    let share = in_vain as f64 / (heartbeats.answered + in_vain) as f64;
    assert_eq!(heartbeats.failure_share, Some(share));
    let longest = record.heartbeat_time_us.max.unwrap();
    assert!((3e6..3.001e6).contains(&longest), "{longest}");
}

#[test]
fn late_answers_are_no_losses_but_the_heartbeats_behind_them_are_skipped() {
    let mut plan = plan(10, 10.0);
    plan.heartbeat_timeout_s = 5.0;
    let server = Server::new(|_, _, _| well(1500 * MS));
    let record = hold(&plan, 1, Faults::none(), server);
    assert_eq!(record.connections.survival, Some(1.0));
    // An answer that takes one and a half intervals leaves room for every second heartbeat.
    let heartbeats = record.heartbeats;
    assert!((45..=60).contains(&heartbeats.answered), "{heartbeats:?}");
    assert!((35..=60).contains(&heartbeats.skipped), "{heartbeats:?}");
    assert_eq!(heartbeats.failed, 0);
    // Each of those waited for the last half second of it.
    assert_eq!(heartbeats.censored, heartbeats.skipped);
    let times = record.heartbeat_time_us;
    assert!(
        (500_000.0..=501_000.0).contains(&times.min.unwrap()),
        "{times:?}"
    );
    assert_eq!(
        (heartbeats.skipped_in_vain, heartbeats.failure_share),
        (0, Some(0.0))
    );
}

#[test]
fn answers_that_are_refusals_fail_the_heartbeat_and_not_the_connection() {
    let server = Server::new(|_, before, _| Deed::Answer {
        after_ns: MS,
        bytes: if before % 2 == 0 {
            ANSWER
        } else {
            b"HTTP/1.1 503 No\r\nContent-Length: 0\r\n\r\n"
        },
    });
    let record = hold(&plan(10, 10.0), 1, Faults::none(), server);
    assert_eq!(record.connections.survival, Some(1.0));
    let failed = record.heartbeat_errors["unexpected_status"];
    assert_eq!(record.status["503"], failed);
    let share = record.heartbeats.failure_share.unwrap();
    assert!((0.4..=0.5).contains(&share), "{share}");
}

#[test]
fn a_server_that_closes_politely_has_lost_the_connection_all_the_same() {
    let server = Server::new(|_, before, _| if before == 2 { Deed::Close } else { well(MS) });
    let record = hold(&plan(10, 6.0), 1, Faults::none(), server);
    assert_eq!(record.connections.survival, Some(0.0));
    assert!(record.losses["early_close"] >= 10);
    assert_eq!(record.connections.given_up, 0);
}

#[test]
fn a_server_that_announces_its_close_has_lost_it_too() {
    let server = Server::new(|_, _, _| Deed::Answer {
        after_ns: MS,
        bytes: b"HTTP/1.1 200 OK\r\nConnection: close\r\nContent-Length: 0\r\n\r\n",
    });
    let record = hold(&plan(10, 3.0), 1, Faults::none(), server);
    assert_eq!(record.connections.survival, Some(0.0));
    assert_eq!(record.heartbeats.failed, 0, "the heartbeats were answered");
}

#[test]
fn after_the_last_retry_a_connection_is_given_up() {
    let mut plan = plan(5, 60.0);
    plan.retries = 4;
    let faults = Faults {
        refuse: 1.0,
        ..Faults::none()
    };
    let record = hold(&plan, 1, faults, Server::new(|_, _, _| well(MS)));
    assert_eq!(record.connections.given_up, 5);
    // The first attempt and four more.
    assert_eq!(record.failed_attempts["refused"], 25);
    assert_eq!(record.connections.survival, Some(0.0));
    assert!(!record.valid);
}

#[test]
fn attempts_again_follow_the_law_of_back_off() {
    let mut plan = plan(50, 120.0);
    (plan.retries, plan.back_off.most_s) = (100, 4.0);
    let faults = Faults {
        refuse: 1.0,
        ..Faults::none()
    };
    let record = hold(&plan, 1, faults, Server::new(|_, _, _| well(MS)));
    // 0.1, 0.2, 0.4 … 3.2 s are 6.3 s, and from then on it is one attempt every 4 s.
    let law = 7.0 + (120.0 - 6.3) / 4.0;
    let never = "50 of 50 connections never opened";
    assert!(
        record.warnings.iter().any(|said| said == never),
        "{:?}",
        record.warnings
    );
    let each = record.failed_attempts["refused"] as f64 / 50.0;
    assert!((each / law - 1.0).abs() < 0.05, "{each}, not {law}");
}

#[test]
fn a_server_that_dies_and_comes_back_gets_everybody_back() {
    let plan = plan(200, 20.0);
    let network = Network::new(5, Faults::none());
    let down = |now: Time| (6..9).contains(&(now.0 / SECOND));
    // While it is down it resets whoever says something, and new ones when they first do.
    let server = Server::new(move |_, _, now| if down(now) { Deed::Reset } else { well(MS) });
    network.serve(&address(), server);
    let record = hold_on(&plan, &network);
    assert_eq!(record.connections.survival, Some(0.0));
    assert_eq!(record.connections.standing, 200);
    assert!(record.connections.reconnects >= 200);
    assert_eq!(record.connections.given_up, 0);
}

#[test]
fn what_is_due_while_a_connection_is_down_is_counted() {
    // The server is away for one and a half seconds: it resets whoever speaks, and refuses nobody,
    // so that a connection is lost with its next heartbeat and again with each first one.
    let mut plan = plan(200, 6.0);
    (plan.heartbeat_s, plan.open_rate) = (0.5, 1e6);
    (plan.back_off.first_s, plan.back_off.most_s) = (0.4, 0.8);
    let away = |now: Time| (3000..4500).contains(&(now.0 / MS));
    let server = Server::new(move |_, _, now| if away(now) { Deed::Reset } else { well(MS) });
    let record = hold(&plan, 5, Faults::none(), server);
    assert!(record.valid, "{:?}", record.warnings);
    let heartbeats = record.heartbeats;
    // 200 connections, 6 s, two a second on each; the opening takes no time here.
    assert!((2400..=2600).contains(&heartbeats.due), "{heartbeats:?}");
    assert_eq!(heartbeats.due, heartbeats.sent + heartbeats.skipped);
    assert!(heartbeats.skipped_down > 0, "{heartbeats:?}");
    assert_eq!(heartbeats.skipped, heartbeats.skipped_down);
    // Of three that were due on each in that time none was answered.
    let in_vain = heartbeats.failed + heartbeats.skipped_down;
    assert!((595..=800).contains(&in_vain), "{heartbeats:?}");
    let share = in_vain as f64 / heartbeats.due as f64;
    let said = heartbeats.failure_share.unwrap();
    assert!((said - share).abs() < 0.01, "{said}, not {share}");
    let warned = |part: &str| record.warnings.iter().any(|text| text.contains(part));
    assert!(warned("their connection was down"), "{:?}", record.warnings);
}

#[test]
fn on_connections_that_never_come_about_every_heartbeat_is_skipped() {
    let mut plan = plan(10, 5.0);
    plan.open_rate = 1e6;
    let faults = Faults {
        refuse: 1.0,
        ..Faults::none()
    };
    let record = hold(&plan, 1, faults, Server::new(|_, _, _| well(MS)));
    let heartbeats = record.heartbeats;
    assert!((45..=60).contains(&heartbeats.due), "{heartbeats:?}");
    assert_eq!((heartbeats.sent, heartbeats.due), (0, heartbeats.skipped));
    assert_eq!(heartbeats.failure_share, Some(1.0));
}

#[test]
fn the_same_seed_brings_the_same_record_and_another_seed_another() {
    let record = |seed| {
        let mut plan = plan(50, 20.0);
        plan.seed = seed;
        let faults = Faults {
            reset: 0.05,
            refuse: 0.2,
            accept_failure: 0.1,
            ..Faults::rough()
        };
        let mut record = hold(&plan, seed, faults, Server::new(|_, _, _| well(MS)));
        // What depends on this machine.
        record.host.read_at = None;
        record.generator.memory_peak_bytes = None;
        record.memory.before_bytes = None;
        record.generator.cpu_seconds = None;
        record.generator.cpu_us_per_exchange = None;
        record.generator.cpu_share_max = None;
        record.generator.run_queue_share_max = None;
        record.generator.limited = false;
        record.generator.limited_reason = String::new();
        record
    };
    let first = record(3);
    assert_eq!(first, record(3));
    assert_ne!(first.losses, BTreeMap::new());
    assert_ne!(first.histograms, record(4).histograms);
}

#[test]
fn a_signal_ends_a_hold_with_what_was_measured() {
    let plan = plan(10, 3600.0);
    let network = Network::new(1, Faults::none());
    let stop = Stop::new();
    let ending = stop.clone();
    let server = Server::new(move |_, before, _| {
        if before == 5 {
            ending.request(engine::signal::Signal::Interrupt);
        }
        well(MS)
    });
    network.serve(&address(), server);
    let assignment = assignment(&plan, network.now());
    let driver = network.driver(&assignment.config());
    assert!(driver.now() > Time(0));
    let gate = Gate::new(1);
    let outcome = brought(Worker::new(driver, &gate, stop, assignment).unwrap());
    assert_eq!(outcome.ended_by, Some(engine::signal::Signal::Interrupt));
    let held_s = (outcome.end - outcome.start).as_secs_f64();
    assert!((4.0..8.0).contains(&held_s), "{held_s}");
    assert_eq!(outcome.tally.survived, 10);
}

/// What a worker brings back that saw a signal at once while it opened, and one that had begun to
/// hold by then: the gate took the first one's leaving for its arrival.
#[test]
fn a_hold_that_not_every_worker_began_held_nothing() {
    let plan = plan(10, 3600.0);
    let network = Network::new(1, Faults::none());
    network.serve(&address(), Server::new(|_, _, _| well(MS)));
    let outcomes = [false, true].map(|begins| {
        let mut assignment = assignment(&plan, network.now());
        let driver = network.driver(&assignment.config());
        let (gate, stop) = (Gate::new(1 + u32::from(!begins)), Stop::new());
        let ending = stop.clone();
        let peer = Server::new(move |_, before, _| {
            if before == 1 {
                ending.request(engine::signal::Signal::Terminate);
            }
            well(MS)
        });
        let other = Address::Tcp("127.0.0.1:81".parse().unwrap());
        assignment.route.addresses = vec![vec![other.clone()]];
        let again = network.clone();
        if begins {
            again.serve(&other, peer);
        } else {
            stop.request(engine::signal::Signal::Terminate);
        }
        let worker = Worker::new(driver, &gate, stop, assignment).unwrap();
        brought(worker)
    });
    assert!(!outcomes[0].began && outcomes[1].began);
    let record = record_of(&plan, outcomes.into());
    assert!(!record.valid);
    assert_eq!(record.duration_s, 0.0);
    assert_eq!(record.connections.survival, None);
    assert_eq!(record.connections.survived, 0);
    let said = record.warnings.join("; ");
    assert!(said.contains("nothing was held"), "{said}");
}

#[test]
fn a_stall_of_our_own_is_no_timeout_of_the_server() {
    let mut plan = plan(200, 10.0);
    plan.heartbeat_timeout_s = 1.0;
    let network = Network::new(1, Faults::none());
    network.serve(&address(), Server::new(|_, _, _| well(50 * MS)));
    // Some heartbeats have just been sent, others wait for their answers or are due meanwhile.
    network.halt(network.now().plus(4 * SECOND), 2 * SECOND);
    let assignment = assignment(&plan, network.now());
    let driver = network.driver(&Config {
        buffers: 4,
        ..assignment.config()
    });
    let gate = Gate::new(1);
    let worker = Worker::new(driver, &gate, Stop::new(), assignment);
    let record = record_of(&plan, vec![brought(worker.unwrap())]);
    assert_eq!(record.losses.len(), 0, "{:?}", record.losses);
    assert_eq!(record.connections.survived, 200);
    assert_eq!(record.heartbeats.failed, 0, "{:?}", record.heartbeats);
    let stall = record.generator.longest_stall.unwrap();
    assert!((1.9e6..2.1e6).contains(&stall.length_us), "{stall:?}");
    let said = |warning: &String| warning.starts_with("the generator stalled for 2.00 s");
    assert!(record.warnings.iter().any(said), "{:?}", record.warnings);
    assert!(record.generator.counters["timeouts_put_off"] > 0);
}
