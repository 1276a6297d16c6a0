//! How connections come and go, and what becomes of the exchanges that wait for one.

use std::collections::BTreeSet;

use engine::sim::{Connection, Faults, Peer, Replies};
use measure::counters::ErrorKind;
use measure::time::Time;

use super::rogue::{Rogue, Spoken, Troubles, upgrade};
use super::{ANSWER, MS, Server, plan, recorded, run, run_within};
use crate::surroundings::Disturbance;
use crate::worker::EndedBy;
use plan::Plan;
use plan::protocol::{Http2, Protocol};
use plan::schedule::Schedule;

/// Answers each connection at the first byte of its request, and reads no further.
struct Hasty {
    answered: BTreeSet<Connection>,
    /// How long an answer takes.
    delay_ns: u64,
}

impl Hasty {
    fn new(delay_ns: u64) -> Hasty {
        Hasty {
            answered: BTreeSet::new(),
            delay_ns,
        }
    }
}

impl Peer for Hasty {
    fn received(&mut self, id: Connection, _: &[u8], _: Time, replies: &mut Replies) {
        if self.answered.insert(id) {
            replies.stop_reading(0);
            replies.send(self.delay_ns, ANSWER);
        }
    }
}

/// Each exchange has a connection of its own, and its request is longer than what is under way.
fn uploads(schedule: Schedule, connections: u32) -> Plan {
    let mut plan = plan(schedule, connections, 1.0);
    plan.keep_alive = false;
    plan.request.method = "POST".to_owned();
    plan.request.body = vec![b'x'; 1 << 20];
    plan
}

#[test]
fn where_answers_come_before_the_request_is_taken_no_exchange_is_lost() {
    for (schedule, connections) in [
        (Schedule::Closed, 1),
        (Schedule::Closed, 3),
        (Schedule::Constant { rate: 100.0 }, 4),
    ] {
        let plan = uploads(schedule, connections);
        let tally = run(&plan, 1, Faults::none(), Hasty::new(5 * MS))
            .recorder
            .tally;
        assert_eq!(tally.intended, tally.completed, "{:?}", tally.errors);
        // More than there are sockets: those of early answers do not stay behind.
        assert!(tally.completed > 75, "{}", tally.completed);
        assert_eq!(tally.errors.total(), 0);
    }
}

#[test]
fn an_exchange_whose_connection_finds_no_socket_waits_for_one() {
    for schedule in [Schedule::Closed, Schedule::Constant { rate: 200.0 }] {
        // Three connections share two sockets.
        let mut plan = plan(schedule, 3, 2.0);
        plan.keep_alive = false;
        let law = |_, _| 4 * MS;
        let tally = run_within(&plan, 1, Faults::none(), 2, Server::new(law))
            .recorder
            .tally;
        assert_eq!(tally.intended, tally.completed, "{:?}", tally.errors);
        assert!(tally.completed > 300, "{}", tally.completed);
        assert_eq!(tally.errors.total(), 0);
    }
}

#[test]
fn an_exchange_that_waits_for_a_socket_in_vain_times_out() {
    // One connection holds the only socket for as long as the run lasts.
    let mut plan = plan(Schedule::Constant { rate: 20.0 }, 2, 1.0);
    (plan.keep_alive, plan.timeout_s) = (false, 0.2);
    let law = |_, _| 3_600_000 * MS;
    let tally = run_within(&plan, 1, Faults::none(), 1, Server::new(law))
        .recorder
        .tally;
    assert_eq!((tally.intended, tally.completed), (20, 0));
    assert_eq!(tally.failed + tally.unfinished, 20);
    for kind in [ErrorKind::Timeout, ErrorKind::ConnectTimeout] {
        assert!(tally.errors.count(kind) > 0, "{:?}", tally.errors);
    }
}

/// Speaks HTTP/2: the first connection is left with GOAWAY after a while, and nothing on it was
/// processed; the others are answered at once.
struct Leaver {
    first: Option<Connection>,
    after_ns: u64,
    others: super::http2::Server<fn(u64, Time) -> super::http2::Fate>,
}

impl Peer for Leaver {
    fn opened(&mut self, id: Connection, now: Time, replies: &mut Replies) {
        if self.first.is_some() {
            return self.others.opened(id, now, replies);
        }
        self.first = Some(id);
        // SETTINGS without any, and GOAWAY whose last stream is 0 (RFC 9113 §6.8).
        replies.send(0, [0, 0, 0, 4, 0, 0, 0, 0, 0]);
        let mut goodbye = vec![0, 0, 8, 7, 0, 0, 0, 0, 0];
        goodbye.extend([0; 8]);
        replies.send(self.after_ns, goodbye);
        replies.close(self.after_ns + 1_000);
    }

    fn received(&mut self, id: Connection, bytes: &[u8], now: Time, replies: &mut Replies) {
        if self.first != Some(id) {
            self.others.received(id, bytes, now, replies);
        }
    }
}

#[test]
fn what_a_peer_refuses_after_the_window_is_sent_on_a_new_connection() {
    for (schedule, seconds) in [
        (Schedule::Closed, 1.0),
        (Schedule::Constant { rate: 10.0 }, 1.0),
    ] {
        let mut plan = plan(schedule, 1, seconds);
        let http2 = Http2 {
            streams: 10,
            ..Http2::default()
        };
        plan.protocol = Protocol::Http2 { http2 };
        let server = Leaver {
            first: None,
            after_ns: 1_300 * MS,
            others: super::http2::Server::new(|_, _| super::http2::Fate::Answer(MS)),
        };
        let tally = run(&plan, 1, Faults::none(), server).recorder.tally;
        assert_eq!((tally.intended, tally.completed), (10, 10));
        assert_eq!((tally.unfinished, tally.reopened), (0, 1));
        let slowest_ms = tally.response.max() / MS;
        assert!((1_290..1_400).contains(&slowest_ms), "{slowest_ms} ms");
    }
}

#[test]
fn the_warm_up_uses_nothing_of_the_count_up() {
    for (schedule, count) in [
        (Schedule::Closed, 1_000),
        (Schedule::Closed, 1),
        (Schedule::Constant { rate: 2_000.0 }, 1_000),
        (Schedule::Poisson { rate: 2_000.0 }, 3),
    ] {
        let mut plan = plan(schedule, 4, 1.0);
        (plan.duration_s, plan.count, plan.warm_up_s) = (None, Some(count), 1.0);
        let outcome = run(&plan, 1, Faults::none(), Server::new(|_, _| MS / 10));
        let tally = &outcome.recorder.tally;
        assert_eq!((tally.intended, tally.completed), (count, count));
        assert_eq!(tally.response.count(), count);
        assert_eq!(outcome.ended_by, EndedBy::Count);
        // The window begins behind the warm-up, which takes its whole second.
        let start_ms = outcome.start.0 / MS;
        assert!((2_000..2_100).contains(&start_ms), "{start_ms} ms");
    }
}

#[test]
fn a_counted_run_that_asks_seldom_is_not_given_up() {
    let mut plan = plan(Schedule::Constant { rate: 0.05 }, 1, 1.0);
    plan.duration_s = None;
    plan.count = Some(3);
    plan.keep_alive = false;
    let outcome = run(&plan, 1, Faults::none(), Server::new(|_, _| MS));
    assert_eq!(outcome.ended_by, EndedBy::Count);
    assert_eq!(outcome.recorder.tally.completed, 3);
}

/// A plan for a connection for each exchange, one after the other.
fn one_by_one(spoken: Spoken) -> Plan {
    let mut plan = plan(Schedule::Closed, 1, 1.0);
    super::conservation::say(&mut plan, spoken, 1, 10);
    plan.keep_alive = false;
    plan
}

#[test]
fn connections_for_one_exchange_each_are_left_with_the_word_of_their_protocol_and_at_once() {
    for spoken in [
        Spoken::Http1,
        Spoken::Http2,
        Spoken::Grpc,
        Spoken::WebSocket,
    ] {
        let troubles = Troubles {
            delay_ns: MS,
            ..Troubles::default()
        };
        let server = Rogue::new(spoken, true, troubles, 1);
        let seen = std::rc::Rc::clone(&server.seen);
        let tally = run(&one_by_one(spoken), 1, Faults::none(), server)
            .recorder
            .tally;
        // Half a millisecond each, and the way.
        assert!(tally.completed > 1_000, "{spoken:?}: {}", tally.completed);
        assert_eq!(tally.errors.total(), 0, "{spoken:?}: {:?}", tally.errors);
        let seen = seen.borrow();
        // All of them but the last, whose end is still on its way.
        assert!(seen.ended + 2 >= seen.opened, "{spoken:?}: {seen:?}");
        if spoken != Spoken::Http1 {
            assert_eq!(seen.farewells, seen.ended, "{spoken:?}");
        }
    }
}

#[test]
fn a_peer_that_never_ends_connections_does_not_set_the_rate() {
    for spoken in [Spoken::Http1, Spoken::WebSocket] {
        let troubles = Troubles {
            delay_ns: MS,
            kept: 1.0,
            ..Troubles::default()
        };
        let server = Rogue::new(spoken, true, troubles, 1);
        let tally = run(&one_by_one(spoken), 1, Faults::none(), server)
            .recorder
            .tally;
        // Twenty a second, if each were waited for.
        assert!(tally.completed > 500, "{spoken:?}: {}", tally.completed);
        assert_eq!(tally.errors.total(), 0, "{spoken:?}: {:?}", tally.errors);
    }
}

#[test]
fn one_that_ends_them_late_is_waited_for() {
    // 5 ms behind each answer: less than the wait, which stays as it is.
    let law = |_, _| MS;
    let mut plan = one_by_one(Spoken::Http1);
    plan.request.method = "GET".to_owned();
    plan.request.body.clear();
    let tally = run(&plan, 1, Faults::none(), EndsLate(Server::new(law)))
        .recorder
        .tally;
    assert!((150..175).contains(&tally.completed), "{}", tally.completed);
}

/// Ends each connection 5 ms after its answer.
struct EndsLate<L>(Server<L>);

impl<L: FnMut(u64, Time) -> u64> Peer for EndsLate<L> {
    fn received(&mut self, _: Connection, _: &[u8], now: Time, replies: &mut Replies) {
        let delay_ns = (self.0.law)(0, now);
        replies.send(delay_ns, ANSWER);
        replies.close(delay_ns + 5 * MS);
    }
}

/// Floods each connection with what has to be answered and reads nothing; after a while it reads
/// how much was answered.
struct Flood {
    spoken: Spoken,
    answered_bytes: std::rc::Rc<std::cell::Cell<u64>>,
    begun: BTreeSet<Connection>,
}

impl Flood {
    fn begin(&self, mut out: Vec<u8>, replies: &mut Replies) {
        replies.stop_reading(0);
        let http2 = [0, 0, 8, 6, 0, 0, 0, 0, 0, 1, 2, 3, 4, 5, 6, 7, 8];
        for _ in 0..100_000 {
            match self.spoken {
                Spoken::WebSocket => out.extend([0x89, 2, b'h', b'i']),
                _ => out.extend(http2),
            }
        }
        replies.send(0, out);
        replies.start_reading(500 * MS);
    }
}

impl Peer for Flood {
    fn opened(&mut self, _: Connection, _: Time, replies: &mut Replies) {
        if self.spoken != Spoken::WebSocket {
            self.begin(vec![0, 0, 0, 4, 0, 0, 0, 0, 0], replies);
        }
    }

    fn received(&mut self, id: Connection, bytes: &[u8], _: Time, replies: &mut Replies) {
        if self.spoken == Spoken::WebSocket && self.begun.insert(id) {
            let mut out = Vec::new();
            upgrade(bytes, &mut out);
            return self.begin(out, replies);
        }
        let before = self.answered_bytes.get();
        self.answered_bytes.set(before + bytes.len() as u64);
    }
}

#[test]
fn a_flood_of_pings_fills_no_memory() {
    for spoken in [Spoken::WebSocket, Spoken::Http2, Spoken::Grpc] {
        // A message that is stuck, so that nothing behind it can be sent.
        let mut plan = plan(Schedule::Closed, 1, 1.0);
        super::conservation::say(&mut plan, spoken, 1, 600_000);
        let answered_bytes = std::rc::Rc::default();
        let server = Flood {
            spoken,
            answered_bytes: std::rc::Rc::clone(&answered_bytes),
            begun: BTreeSet::new(),
        };
        let outcome = run(&plan, 1, Faults::none(), server);
        let tally = &outcome.recorder.tally;
        if spoken == Spoken::WebSocket {
            // The message, and of 100,000 pongs those to the first ping and the last one of a send.
            let bytes = answered_bytes.get();
            assert!((600_000..610_000).contains(&bytes), "{bytes}");
        } else {
            assert!(tally.errors.count(ErrorKind::ProtocolViolation) > 0);
            let text = outcome.violation.unwrap().to_string();
            assert!(
                text.contains("too many answers to frames not taken"),
                "{text}"
            );
        }
    }
}

/// Ends each answer by closing the connection, and resets every tenth request instead.
#[derive(Default)]
struct Closer {
    asked: u64,
}

impl Peer for Closer {
    fn received(&mut self, _: Connection, _: &[u8], _: Time, replies: &mut Replies) {
        self.asked += 1;
        if self.asked % 10 == 5 {
            return replies.reset(0);
        }
        replies.send(MS, *b"HTTP/1.1 200 OK\r\n\r\nok");
        replies.close(MS);
    }
}

#[test]
fn an_answer_that_ends_with_its_connection_ends_the_failures_before_it() {
    for schedule in [Schedule::Closed, Schedule::Constant { rate: 200.0 }] {
        let is_open = schedule != Schedule::Closed;
        let plan = plan(schedule, 1, 4.0);
        let recorder = run(&plan, 1, Faults::none(), Closer::default()).recorder;
        let tally = &recorder.tally;
        // Each failure is the first since an answer, so nobody waits before connecting again.
        assert!(tally.failed > 70, "{} {}", tally.failed, tally.completed);
        assert_eq!(tally.failed, (tally.completed + tally.failed + 5) / 10);
        let waits = &tally.waits;
        assert_eq!(
            (waits.back_off_ns, waits.unreachable_ns),
            (0, 0),
            "{waits:?}"
        );
        assert!(!is_open || tally.completed > 700, "{}", tally.completed);
        assert!(is_open || tally.completed > 2_000, "{}", tally.completed);
    }
}

/// Answers each request and closes the connection, as HTTP/1.0 does.
struct NeverKept;

impl Peer for NeverKept {
    fn received(&mut self, _: Connection, _: &[u8], _: Time, replies: &mut Replies) {
        replies.send(MS, b"HTTP/1.0 200 OK\r\nContent-Length: 2\r\n\r\nok");
        replies.close(MS);
    }
}

#[test]
fn a_server_that_closes_after_each_answer_is_told_from_a_generator_that_is_the_limit() {
    for schedule in [Schedule::Closed, Schedule::Constant { rate: 500.0 }] {
        let plan = plan(schedule, 4, 1.0);
        let mut outcome = run(&plan, 1, Faults::none(), NeverKept);
        outcome.cpu = None; // What this machine does meanwhile is no matter.
        let tally = &outcome.recorder.tally;
        assert!(tally.completed > 400 && tally.errors.total() == 0);
        assert_eq!(tally.reconnects, 0);
        assert!(tally.reopened + 8 >= tally.completed, "{}", tally.reopened);
        let is_closed_loop = !plan.schedule.is_open();
        let verdict = crate::limit::judge(&plan, 1.0, &[outcome], Disturbance::default());
        assert!(!verdict.limited, "{verdict:?}");
        assert_eq!(verdict.littles_law_gap, None);
        let told = |it: &String| it.starts_with("the server closes each connection after its");
        assert_eq!(verdict.warnings.iter().any(told), is_closed_loop);
    }
}

#[test]
fn where_no_connection_is_kept_littles_law_says_nothing() {
    let mut plan = plan(Schedule::Closed, 4, 1.0);
    plan.keep_alive = false;
    let outcome = run(&plan, 1, Faults::none(), Server::new(|_, _| MS));
    assert!(outcome.recorder.tally.completed > 100);
    let verdict = crate::limit::judge(&plan, 1.0, &[outcome], Disturbance::default());
    assert_eq!(verdict.littles_law_gap, None);
    assert!(!verdict.reason.contains("Little"), "{}", verdict.reason);
}

#[test]
fn a_window_of_few_rounds_says_so_whichever_way_it_is_off() {
    for (delay_ms, seconds, is_told) in [
        (200, 0.5, true),
        (300, 1.0, true),
        (200, 5.0, false),
        (1, 0.5, false),
    ] {
        let plan = plan(Schedule::Closed, 10, seconds);
        let server = Server::new(move |_, _| delay_ms * MS);
        let record = recorded(&plan, run(&plan, 1, Faults::none(), server));
        let mut warnings = record.warnings.iter();
        let told = warnings.any(|warning| warning.contains("answers in the window"));
        assert_eq!(told, is_told, "{delay_ms} ms: {:?}", record.warnings);
        assert!(record.valid, "{:?}", record.warnings);
    }
}
