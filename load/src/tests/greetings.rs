//! Servers of HTTP/2 whose first words leave no room for an exchange.

use engine::sim::{Connection, Faults, Peer, Replies};
use measure::counters::ErrorKind;
use measure::time::Time;

use super::{MS, plan, run};
use plan::Plan;
use plan::protocol::{Http2, Protocol};
use plan::schedule::Schedule;

/// SETTINGS (RFC 9113 §6.5) that allow so many concurrent streams.
fn settings(streams: u8) -> Vec<u8> {
    [&[0, 0, 6, 4, 0, 0, 0, 0, 0][..], &[0, 3, 0, 0, 0, streams]].concat()
}

const GO_AWAY: [u8; 17] = [0, 0, 8, 7, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0];

/// Says its pieces, each after so many nanoseconds, and answers each HEADERS frame with 204.
struct Greeter(Vec<(u64, Vec<u8>)>);

impl Peer for Greeter {
    fn opened(&mut self, _: Connection, _: Time, replies: &mut Replies) {
        for (delay_ns, bytes) in &self.0 {
            replies.send(*delay_ns, bytes.clone());
        }
    }

    fn received(&mut self, _: Connection, bytes: &[u8], _: Time, replies: &mut Replies) {
        // Without faults the client's frames come as they were sent, the preface before the first.
        let mut rest = bytes
            .strip_prefix(b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n")
            .unwrap_or(bytes);
        while let [_, high, low, kind, _, a, b, c, d, after @ ..] = rest {
            if *kind == 1 {
                replies.send(MS, [0, 0, 1, 1, 5, *a, *b, *c, *d, 0x89]);
            }
            rest = &after[usize::from(*high) << 8 | usize::from(*low)..];
        }
    }
}

fn plan_http2(schedule: Schedule) -> Plan {
    let mut plan = plan(schedule, 2, 1.0);
    let http2 = Http2::default();
    plan.protocol = Protocol::Http2 { http2 };
    plan.timeout_s = 0.2;
    plan
}

#[test]
fn a_server_that_greets_and_takes_its_leave_at_once_is_a_failed_attempt() {
    let greeting = [settings(9), GO_AWAY.to_vec()].concat();
    for keep_alive in [true, false] {
        let mut plan = plan_http2(Schedule::Constant { rate: 100.0 });
        plan.keep_alive = keep_alive;
        let peer = Greeter(vec![(0, greeting.clone())]);
        let tally = run(&plan, 1, Faults::none(), peer).recorder.tally;
        assert_eq!((tally.intended, tally.completed), (100, 0));
        assert_eq!(tally.failed + tally.unfinished, 100);
        // Where an exchange waits for the connection, it is what has failed, after it was sent
        // again so often.
        let kinds = match keep_alive {
            true => [ErrorKind::EarlyClose].as_slice(),
            false => &[ErrorKind::StreamRefused, ErrorKind::StreamGivenUp],
        };
        let counts = kinds.iter().map(|kind| tally.errors.count(*kind));
        assert!(counts.clone().all(|count| count > 0));
        assert_eq!(tally.errors.total(), counts.sum::<u64>());
    }
}

#[test]
fn a_connection_for_one_exchange_that_is_allowed_no_stream_fails_it() {
    let mut plan = plan_http2(Schedule::Closed);
    plan.keep_alive = false;
    (plan.duration_s, plan.count) = (None, Some(20));
    let peer = Greeter(vec![(0, settings(0))]);
    let tally = run(&plan, 1, Faults::none(), peer).recorder.tally;
    assert_eq!((tally.completed, tally.failed), (0, 20));
    assert_eq!(tally.errors.count(ErrorKind::StreamGivenUp), 20);
}

#[test]
fn streams_that_a_server_grants_later_are_used() {
    for schedule in [Schedule::Closed, Schedule::Constant { rate: 100.0 }] {
        let plan = plan_http2(schedule);
        let peer = Greeter(vec![(0, settings(0)), (100 * MS, settings(9))]);
        let tally = run(&plan, 1, Faults::none(), peer).recorder.tally;
        assert!(
            tally.completed >= 90,
            "{}: {:?}",
            tally.completed,
            plan.schedule
        );
        assert_eq!(tally.errors.total(), 0);
    }
}

/// Greets the first connection at once, and each other one after a second.
struct Busy(u32);

impl Peer for Busy {
    fn opened(&mut self, _: Connection, _: Time, replies: &mut Replies) {
        let delay_ns = if self.0 == 0 { 0 } else { 1000 * MS };
        self.0 += 1;
        replies.send(delay_ns, settings(9));
    }

    fn received(&mut self, id: Connection, bytes: &[u8], now: Time, replies: &mut Replies) {
        Greeter(Vec::new()).received(id, bytes, now, replies);
    }
}

#[test]
fn a_short_open_loop_does_not_wait_long_for_its_last_connections() {
    let begins = |schedule, warm_up_s| {
        let mut plan = plan_http2(schedule);
        (plan.duration_s, plan.timeout_s) = (Some(2.0), 5.0);
        plan.warm_up_s = warm_up_s;
        let outcome = run(&plan, 1, Faults::none(), Busy(0));
        let tally = &outcome.recorder.tally;
        assert_eq!((tally.failed, tally.unfinished), (0, 0));
        assert_eq!(tally.connections_opened, 2);
        // The network's time begins at one second.
        (outcome.start.0 / MS - 1000, tally.completed)
    };
    let open = Schedule::Constant { rate: 20.0 };
    let (begun_ms, completed) = begins(open.clone(), 0.0);
    assert!((200..=210).contains(&begun_ms), "{begun_ms}");
    assert_eq!(completed, 40);
    // A closed loop is its connections, and a warm-up is asked for.
    let (begun_ms, _) = begins(Schedule::Closed, 0.0);
    assert!(begun_ms >= 1000, "{begun_ms}");
    let (begun_ms, _) = begins(open, 0.1);
    assert!(begun_ms >= 1100, "{begun_ms}");
}
