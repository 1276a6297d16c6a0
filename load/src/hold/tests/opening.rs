//! Servers that have no room for all connections, and what falls due as a hold ends.

use engine::signal::Stop;
use engine::sim::{Connection, Faults, Network, Peer, Replies};
use measure::time::Time;

use super::{
    ANSWER, Deed, MS, Plan, Record, Server, Worker, address, assignment, brought, hold, hold_on,
    plan, record_of, well,
};
use crate::crew::Job;
use crate::gate::Gate;
use plan::protocol::{Http2, Protocol};

/// Speaks HTTP/2 to so many connections, and says nothing to any other.
struct Room(u64);

impl Peer for Room {
    fn opened(&mut self, _: Connection, _: Time, replies: &mut Replies) {
        if self.0 > 0 {
            self.0 -= 1;
            replies.send(0, [0, 0, 0, 4, 0, 0, 0, 0, 0]);
        }
    }

    fn received(&mut self, _: Connection, bytes: &[u8], _: Time, replies: &mut Replies) {
        // Without faults frames come as they were sent; a PING (RFC 9113 §6.7) is acknowledged.
        let Some(at) = bytes.windows(5).position(|head| head == [0, 0, 8, 6, 0]) else {
            return;
        };
        let mut answer = bytes[at..at + 17].to_vec();
        answer[4] = 1;
        replies.send(MS, answer);
    }
}

#[test]
fn a_hold_begins_when_each_connection_has_been_tried_once() {
    let mut plan = plan(2_000, 5.0);
    let http2 = Http2::default();
    plan.protocol = Protocol::Http2 { http2 };
    plan.retries = 10;
    let record = hold(&plan, 1, Faults::none(), Room(100));
    // Four times half a second until all have been begun, and the time limit of the last.
    assert!(record.opening_s < 5.0, "{}", record.opening_s);
    assert!((record.duration_s - 5.0).abs() < 0.1);
    let connections = &record.connections;
    assert_eq!((connections.survived, connections.standing), (100, 100));
    assert_eq!((connections.opened, connections.lost), (100, 0));
    // Those that never stood are down from the beginning on: their heartbeats are missing.
    assert!(connections.survival.is_some_and(|share| share == 0.05));
    assert!(record.heartbeats.skipped_down > 1_900 * 4);
    let tried = record.failed_attempts["greeting_timeout"];
    assert!(tried > 1_900, "{tried}");
    assert_eq!(record.failed_attempts.len(), 1);
    let told = "1900 of 2000 connections never opened";
    assert!(record.warnings.iter().any(|it| it.starts_with(told)));
}

/// Three connections that share two sockets.
fn hold_on_two_sockets(plan: &Plan, server: impl Peer + 'static) -> Record {
    let network = Network::new(1, Faults::none());
    network.serve(&address(), server);
    let mut assignment = assignment(plan, network.now());
    assignment.sockets = 2;
    let driver = network.driver(&assignment.config());
    let gate = Gate::new(1);
    let worker = Worker::new(driver, &gate, Stop::new(), assignment);
    record_of(plan, vec![brought(worker.unwrap())])
}

#[test]
fn a_connection_that_waits_for_a_socket_in_vain_says_that_none_was_free() {
    let mut plan = plan(3, 5.0);
    (plan.connect_timeout_s, plan.retries) = (2.0, 1);
    let record = hold_on_two_sockets(&plan, Server::new(|_, _, _| well(MS)));
    // It is tried twice, and the hold begins when it has been tried once.
    assert_eq!(record.failed_attempts["descriptors_exhausted"], 2);
    assert_eq!(record.failed_attempts.len(), 1);
    assert!(
        (1.9..2.2).contains(&record.opening_s),
        "{}",
        record.opening_s
    );
    assert_eq!(
        (record.connections.opened, record.connections.survived),
        (2, 2)
    );
    assert_eq!(record.connections.given_up, 1);
}

#[test]
fn a_connection_that_waits_for_a_socket_takes_the_first_that_is_free() {
    let mut plan = plan(3, 5.0);
    (plan.connect_timeout_s, plan.retries) = (60.0, 0);
    let mut closed = false;
    let once = move |_, _, _| match std::mem::replace(&mut closed, true) {
        false => Deed::Close,
        true => well(MS),
    };
    let record = hold_on_two_sockets(&plan, Server::new(once));
    assert!(
        record.failed_attempts.is_empty(),
        "{:?}",
        record.failed_attempts
    );
    assert_eq!((record.connections.opened, record.connections.lost), (3, 1));
    assert_eq!(record.connections.standing, 2);
}

#[test]
fn a_heartbeat_that_falls_due_as_the_hold_ends_is_sent() {
    let mut plan = plan(1_000, 2.0);
    plan.open_rate = 1e6;
    let network = Network::new(1, Faults::none());
    network.serve(&address(), Server::new(|_, _, _| well(MS)));
    // Timers wait after a turn that came late, and the end comes first.
    network.halt(network.now().plus(1_990 * MS), 20 * MS);
    let record = hold_on(&plan, &network);
    let heartbeats = &record.heartbeats;
    assert_eq!(heartbeats.skipped, 0, "{heartbeats:?}");
    assert_eq!(heartbeats.due, heartbeats.answered);
}

/// Answers each request, and closes the connection half a second later.
struct Impatient;

impl Peer for Impatient {
    fn received(&mut self, _: Connection, _: &[u8], _: Time, replies: &mut Replies) {
        replies.send(MS, ANSWER);
        replies.close(500 * MS);
    }
}

#[test]
fn a_connection_that_is_closed_while_idle_is_told_from_one_that_owed_an_answer() {
    let record = hold(&plan(10, 3.2), 1, Faults::none(), Impatient);
    assert!(record.losses["idle_close"] >= 20, "{:?}", record.losses);
    assert_eq!(record.losses.len(), 1);
    assert_eq!(record.heartbeats.failed, 0);
}

#[test]
fn those_that_are_lost_together_are_tried_again_no_faster_than_they_were_opened() {
    let mut plan = plan(2_000, 12.0);
    (plan.open_rate, plan.heartbeat_s) = (500.0, 0.25);
    let since = |now: Time| now.0 as f64 / 1e9;
    // Seven seconds in, every connection is lost within a quarter of a second.
    let server = Server::new(move |_, _, now| match since(now) {
        7.0..7.5 => Deed::Reset,
        _ => well(MS),
    });
    let record = hold(&plan, 1, Faults::none(), server);
    let connections = &record.connections;
    assert!(connections.lost >= 2_000, "{connections:?}");
    assert_eq!(connections.standing, 2_000);
    let most = record.series.iter().filter_map(|row| row.attempts).max();
    // Rows begin and end with turns, and late turns make up for a little.
    assert!(most.is_some_and(|most| most <= 520), "{most:?}");
    // At that rate it takes four seconds until the last is back.
    let longest_s = record.re_establish_time_us.max.unwrap_or_default() / 1e6;
    assert!((3.0..5.5).contains(&longest_s), "{longest_s}");
}
