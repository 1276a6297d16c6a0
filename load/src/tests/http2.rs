//! The same laws over HTTP/2, and what only HTTP/2 can do to a run.

use std::collections::BTreeMap;

use engine::sim::{Connection, Faults, Peer, Replies};
use measure::counters::ErrorKind;
use measure::tally::Tally;
use measure::time::Time;
use proto::http2::server::{Config, Event, Server as Machine};
use proto::http2::{ErrorCode, Head};

use super::{MS, counts_and_histograms, plan, run};
use crate::surroundings::Disturbance;
use crate::worker::Outcome;
use plan::Plan;
use plan::protocol::{Call, CallKind, Compress, Http2, Protocol};
use plan::schedule::Schedule;

/// What a server does with a request.
pub(super) enum Fate {
    /// A whole answer after so long.
    Answer(u64),
    Never,
    Reset(ErrorCode),
    /// No further request is taken on this connection; this one is the last.
    LastAnswer(u64),
}

/// One connection of a server.
struct Served {
    machine: Machine,
    /// When the last answer leaves.
    busy_until: Time,
}

/// An HTTP/2 server that answers as many requests at once as come.
pub(super) struct Server<L> {
    config: Config,
    connections: BTreeMap<Connection, Served>,
    requests: u64,
    law: L,
    /// Writes a whole answer.
    answer: fn(&mut Machine, u32, &mut Vec<u8>),
}

impl<L: FnMut(u64, Time) -> Fate> Server<L> {
    pub(super) fn new(law: L) -> Server<L> {
        Server {
            config: Config {
                streams: 1000,
                ..Config::default()
            },
            connections: BTreeMap::new(),
            requests: 0,
            law,
            answer: ok,
        }
    }
}

/// A server that answers every request after `delay_ns`.
pub(super) fn answering(delay_ns: u64) -> impl Peer {
    Server::new(move |_, _| Fate::Answer(delay_ns))
}

fn ok(machine: &mut Machine, stream: u32, out: &mut Vec<u8>) {
    let head = Head::response(200, &[("content-type", "text/plain")]).unwrap();
    assert_eq!(machine.answer(stream, &head, b"ok", out), Ok(2));
}

impl<L: FnMut(u64, Time) -> Fate> Peer for Server<L> {
    fn opened(&mut self, id: Connection, now: Time, replies: &mut Replies) {
        let mut out = Vec::new();
        let served = Served {
            machine: Machine::new(self.config, &mut out),
            busy_until: now,
        };
        self.connections.insert(id, served);
        replies.send(0, out);
    }

    fn received(&mut self, id: Connection, bytes: &[u8], now: Time, replies: &mut Replies) {
        let Some(served) = self.connections.get_mut(&id) else {
            return;
        };
        let (mut input, mut out, mut asked) = (bytes, Vec::new(), Vec::new());
        loop {
            match served.machine.next(&mut input, &mut out) {
                Ok(Some(Event::Request {
                    stream, end: true, ..
                }))
                | Ok(Some(Event::Data {
                    stream, end: true, ..
                })) => {
                    asked.push(stream);
                }
                Ok(Some(_)) => {}
                Ok(None) => break,
                Err(violation) => panic!("{violation}"),
            }
            for stream in asked.drain(..) {
                let fate = (self.law)(self.requests, now);
                self.requests += 1;
                match fate {
                    Fate::Never => {}
                    Fate::Reset(code) => served.machine.reset(stream, code, &mut out),
                    Fate::Answer(delay_ns) | Fate::LastAnswer(delay_ns) => {
                        let mut bytes = Vec::new();
                        (self.answer)(&mut served.machine, stream, &mut bytes);
                        replies.send(delay_ns, bytes);
                        served.busy_until = served.busy_until.max(now.plus(delay_ns));
                        if matches!(fate, Fate::LastAnswer(_)) {
                            served.machine.go_away(ErrorCode::NO_ERROR, &mut out);
                            replies.close(served.busy_until.since(now) + 1_000);
                        }
                    }
                }
            }
        }
        replies.send(0, out);
    }

    fn reset(&mut self, id: Connection, _: Time) {
        self.connections.remove(&id);
    }
}

/// Over HTTP/2. Answers overtake each other, so their heads must not depend on each other: there is
/// no table to compress them with.
fn plan_http2(schedule: Schedule, connections: u32, streams: u32, seconds: f64) -> Plan {
    let mut plan = plan(schedule, connections, seconds);
    let http2 = Http2 {
        streams,
        header_table_bytes: 0,
        ..Http2::default()
    };
    plan.protocol = Protocol::Http2 { http2 };
    plan
}

fn tally_of(plan: &Plan, seed: u64, faults: Faults, law: impl Law) -> Tally {
    run(plan, seed, faults, Server::new(law)).recorder.tally
}

trait Law: FnMut(u64, Time) -> Fate + 'static {}
impl<L: FnMut(u64, Time) -> Fate + 'static> Law for L {}

#[test]
fn a_law_of_delays_comes_back_from_the_streams_of_a_few_connections() {
    let law = |n: u64, _| Fate::Answer((n % 100 + 1) * MS);
    let schedule = Schedule::Poisson { rate: 500.0 };
    let tally = tally_of(&plan_http2(schedule, 3, 100, 10.0), 3, Faults::none(), law);
    assert!(tally.completed > 4_500);
    for percent in [10, 25, 50, 75, 90, 99] {
        let measured = tally.service.quantile(f64::from(percent) / 100.0) as f64 / 1e6;
        let truth = f64::from(percent) + 0.02;
        assert!(
            (measured - truth).abs() < 1.1,
            "p{percent}: {measured} ms, not {truth}"
        );
    }
    assert_eq!((tally.connections_opened, tally.reconnects), (3, 0));
}

#[test]
fn a_frozen_server_shows_over_http2_too() {
    let law = |_, now: Time| {
        let into_second = now.0 % (1000 * MS);
        Fate::Answer(1_000 + (100 * MS).saturating_sub(into_second))
    };
    let schedule = Schedule::Constant { rate: 10_000.0 };
    let outcome = run(
        &plan_http2(schedule, 5, 20, 5.0),
        1,
        Faults::none(),
        Server::new(law),
    );
    let tally = &outcome.recorder.tally;
    assert_eq!(tally.completed, 50_000);
    for (quantile, law_ms) in [(0.95, 50.0), (0.98, 80.0), (0.99, 90.0)] {
        let measured_ms = tally.response.quantile(quantile) as f64 / 1e6;
        assert!(
            (measured_ms / law_ms - 1.0).abs() < 0.05,
            "p{quantile}: {measured_ms} ms"
        );
    }
    // Only as many as there are streams see the stall; the others wait in the generator.
    assert!(tally.service.quantile(0.98) < 2 * MS);
    let blocked = outcome.recorder.blocked;
    assert!(blocked > 4_000, "{blocked}");
    assert!(outcome.recorder.own_lateness.quantile(0.99) < 50_000);
}

#[test]
fn a_closed_loop_of_streams_obeys_littles_law() {
    let law = |_, _| Fate::Answer(4 * MS);
    let plan = plan_http2(Schedule::Closed, 4, 25, 2.0);
    let tally = tally_of(&plan, 1, Faults::none(), law);
    let inside = tally.completed as f64 / 2.0 * tally.response.mean() / 1e9;
    assert!(
        (inside / 100.0 - 1.0).abs() < 0.01,
        "{inside} of 100 streams"
    );
    assert_eq!(tally.response, tally.service);
}

#[test]
fn a_server_that_allows_fewer_streams_is_obeyed() {
    let mut server = Server::new(|_, _| Fate::Answer(4 * MS));
    server.config.streams = 7;
    let plan = plan_http2(Schedule::Closed, 2, 100, 1.0);
    let outcome = run(&plan, 1, Faults::none(), server);
    assert_eq!(outcome.depth_allowed, 7);
    let tally = &outcome.recorder.tally;
    let inside = tally.completed as f64 * tally.response.mean() / 1e9;
    assert!((inside / 14.0 - 1.0).abs() < 0.02, "{inside} of 14 streams");
    assert_eq!(tally.errors.total(), 0);
    let verdict = crate::limit::judge(&plan, 1.0, &[outcome], Disturbance::default());
    let warned = |text: &String| text.contains("allows 7 concurrent streams");
    assert!(verdict.warnings.iter().any(warned), "{verdict:?}");
    assert!(verdict.littles_law_gap.unwrap() < 0.02, "{verdict:?}");
}

#[test]
fn a_server_that_goes_away_in_the_middle_loses_no_exchange() {
    for seed in 0..10 {
        // Each connection is good for some hundred requests, and more are on their way then.
        let law = |n: u64, _| match n % 300 {
            299 => Fate::LastAnswer(3 * MS),
            _ => Fate::Answer(MS),
        };
        let mut plan = plan_http2(Schedule::Closed, 3, 20, 1.0);
        (plan.duration_s, plan.count) = (None, Some(5_000));
        let tally = tally_of(&plan, seed, Faults::rough(), law);
        assert_eq!((tally.completed, tally.failed), (5_000, 0), "seed {seed}");
        assert_eq!(tally.response.count(), 5_000, "seed {seed}");
        let again = tally.reopened + tally.reconnects;
        assert!(again >= 14 && tally.reopened > 0, "seed {seed}: {again}");
        let refused = tally.errors.count(ErrorKind::StreamRefused);
        assert_eq!(tally.errors.total(), refused, "seed {seed}");
        assert!(refused > 0, "seed {seed}");
    }
}

#[test]
fn what_was_refused_keeps_the_time_it_was_meant_for() {
    // Every tenth is refused once, and nothing else takes time.
    let mut again = false;
    let law = move |n: u64, _| {
        again = n % 10 == 9 && !again;
        match again {
            true => Fate::Reset(ErrorCode::REFUSED_STREAM),
            false => Fate::Answer(5 * MS),
        }
    };
    let schedule = Schedule::Constant { rate: 100.0 };
    let tally = tally_of(&plan_http2(schedule, 1, 10, 10.0), 1, Faults::none(), law);
    assert_eq!((tally.completed, tally.failed), (1_000, 0));
    let refused = tally.errors.count(ErrorKind::StreamRefused);
    assert!((100..=112).contains(&refused), "{refused}");
    assert!(tally.service.max() < 6 * MS, "{}", tally.service.max());
    assert!(tally.lateness.max() >= 20_000, "{}", tally.lateness.max());
}

#[test]
fn an_exchange_that_is_always_refused_fails_in_the_end() {
    let law = |_, _| Fate::Reset(ErrorCode::REFUSED_STREAM);
    let mut plan = plan_http2(Schedule::Closed, 2, 3, 1.0);
    (plan.duration_s, plan.count) = (None, Some(50));
    let tally = tally_of(&plan, 1, Faults::none(), law);
    assert_eq!((tally.completed, tally.failed), (0, 50));
    // Five times sent again, and the sixth refusal is the failure.
    assert_eq!(tally.errors.count(ErrorKind::StreamRefused), 250);
    assert_eq!(tally.errors.count(ErrorKind::StreamGivenUp), 50);
}

#[test]
fn an_exchange_that_is_not_answered_fails_alone_and_its_connection_goes_on() {
    let law = |n: u64, _| match n % 50 {
        49 => Fate::Never,
        _ => Fate::Answer(MS),
    };
    let mut plan = plan_http2(Schedule::Constant { rate: 1_000.0 }, 2, 50, 2.0);
    plan.timeout_s = 0.2;
    let tally = tally_of(&plan, 1, Faults::none(), law);
    assert_eq!((tally.completed, tally.failed), (1_960, 40));
    assert_eq!(tally.errors.count(ErrorKind::Timeout), 40);
    assert_eq!((tally.censored, tally.reconnects), (40, 0));
    assert_eq!(tally.response.max() / MS, 200);
}

#[test]
fn streams_that_are_reset_are_failed_exchanges() {
    let law = |n: u64, _| match n % 4 {
        3 => Fate::Reset(ErrorCode::INTERNAL_ERROR),
        _ => Fate::Answer(MS),
    };
    let mut plan = plan_http2(Schedule::Closed, 2, 5, 1.0);
    (plan.duration_s, plan.count) = (None, Some(400));
    let tally = tally_of(&plan, 1, Faults::none(), law);
    assert_eq!((tally.completed, tally.failed), (300, 100));
    assert_eq!(tally.errors.count(ErrorKind::StreamReset), 100);
    assert_eq!(tally.reconnects, 0);
}

fn faulty() -> Faults {
    Faults {
        reset: 0.02,
        refuse: 0.2,
        accept_failure: 0.1,
        ..Faults::rough()
    }
}

fn law_of_trouble(n: u64, _: Time) -> Fate {
    match n % 97 {
        13 => Fate::Never,
        29 => Fate::Reset(ErrorCode::REFUSED_STREAM),
        53 => Fate::Reset(ErrorCode::CANCEL),
        71 => Fate::LastAnswer(300_000),
        _ => Fate::Answer(n % 7 * 50_000),
    }
}

#[test]
fn under_faults_every_exchange_over_http2_is_accounted_for() {
    for seed in 0..20 {
        let mut plan = plan_http2(Schedule::Constant { rate: 2_000.0 }, 4, 16, 1.0);
        plan.timeout_s = 0.1;
        let tally = tally_of(&plan, seed, faulty(), law_of_trouble);
        assert_eq!(tally.intended, 2_000, "seed {seed}");
        let ended = tally.completed + tally.failed + tally.unfinished;
        assert_eq!(ended, 2_000, "seed {seed}");
        assert!(tally.completed > 500, "seed {seed}: {}", tally.completed);
        for kind in [ErrorKind::StreamRefused, ErrorKind::StreamReset] {
            assert!(tally.errors.count(kind) > 0, "seed {seed}: {kind:?}");
        }
        let mut plan = plan_http2(Schedule::Closed, 4, 16, 1.0);
        (plan.duration_s, plan.count, plan.timeout_s) = (None, Some(1_000), 0.1);
        let tally = tally_of(&plan, seed, faulty(), law_of_trouble);
        assert_eq!(tally.completed + tally.failed, 1_000, "seed {seed}");
    }
}

#[test]
fn a_connection_for_each_exchange_works_over_http2() {
    let mut plan = plan_http2(Schedule::Constant { rate: 1_000.0 }, 20, 1, 1.0);
    plan.keep_alive = false;
    let tally = tally_of(&plan, 1, Faults::none(), |_, _| Fate::Answer(MS));
    assert_eq!((tally.completed, tally.failed), (1_000, 0));
    assert_eq!((tally.connections_opened, tally.reconnects), (1_000, 0));
}

#[test]
fn the_same_seed_brings_the_same_tally_over_http2() {
    let tally = |seed| {
        let mut plan = plan_http2(Schedule::Poisson { rate: 2_000.0 }, 4, 16, 1.0);
        (plan.timeout_s, plan.seed) = (0.1, seed);
        counts_and_histograms(&tally_of(&plan, seed, faulty(), law_of_trouble))
    };
    assert_eq!(tally(42), tally(42));
    assert_ne!(tally(42), tally(43));
}

#[test]
fn warm_up_and_stages_work_over_http2() {
    let law = |_, now: Time| Fate::Answer(if now.0 < 2_000 * MS { 50 * MS } else { MS });
    let mut plan = plan_http2(Schedule::Constant { rate: 1_000.0 }, 2, 50, 1.0);
    plan.warm_up_s = 1.0;
    let tally = tally_of(&plan, 1, Faults::none(), law);
    assert_eq!((tally.intended, tally.completed), (1_000, 1_000));
    assert!(tally.service.quantile(0.9) < 2 * MS);
    let stages = plan::schedule::parse_stages("0:1000@1s,1000@1s").unwrap();
    let arrivals = plan::schedule::Arrivals::Constant;
    let mut plan = plan_http2(Schedule::Stages { arrivals, stages }, 2, 50, 1.0);
    plan.duration_s = None;
    let tally = tally_of(&plan, 1, Faults::none(), |_, _| Fate::Answer(MS));
    assert!(
        (1_498..=1_500).contains(&tally.completed),
        "{}",
        tally.completed
    );
}

#[test]
fn a_server_that_speaks_something_else_breaks_the_protocol() {
    let mut plan = plan_http2(Schedule::Closed, 2, 5, 0.2);
    plan.timeout_s = 0.1;
    let outcome = run(&plan, 1, Faults::none(), Http1Only);
    let tally = &outcome.recorder.tally;
    assert_eq!(tally.completed, 0);
    assert!(tally.errors.count(ErrorKind::ProtocolViolation) > 0);
    assert!(outcome.violation.is_some());
    assert_eq!(tally.connections_opened, 0);
}

/// What an HTTP/1.1 server makes of HTTP/2's preface.
struct Http1Only;

impl Peer for Http1Only {
    fn received(&mut self, _: Connection, _: &[u8], _: Time, replies: &mut Replies) {
        replies.send(0, *b"HTTP/1.1 400 Bad Request\r\nContent-Length: 0\r\n\r\n");
        replies.close(0);
    }
}

#[test]
fn a_server_that_never_greets_is_given_up_as_one_that_cannot_be_connected_to() {
    struct Silent;
    impl Peer for Silent {
        fn received(&mut self, _: Connection, _: &[u8], _: Time, _: &mut Replies) {}
    }
    let mut plan = plan_http2(Schedule::Closed, 2, 5, 0.5);
    plan.timeout_s = 0.1;
    let tally = run(&plan, 1, Faults::none(), Silent).recorder.tally;
    assert_eq!(tally.connections_opened, 0);
    let given_up = tally.errors.count(ErrorKind::GreetingTimeout);
    assert_eq!(tally.errors.total(), given_up);
    assert!(
        given_up >= 8 && tally.tcp.count() - given_up <= 2,
        "{given_up}"
    );
}

fn plan_grpc(kind: CallKind, messages: usize) -> Plan {
    let mut plan = plan_http2(Schedule::Closed, 2, 5, 1.0);
    (plan.duration_s, plan.count) = (None, Some(400));
    plan.target.path = "/ringside.Echo/Echo".to_owned();
    let Protocol::Http2 { http2 } = plan.protocol else {
        unreachable!("it was made so")
    };
    let call = Call {
        kind,
        messages: vec![b"hello".to_vec(); messages],
        deadline_s: Some(1.0),
    };
    plan.protocol = Protocol::Grpc { http2, call };
    plan
}

fn run_calls(plan: &Plan, answer: fn(&mut Machine, u32, &mut Vec<u8>)) -> Outcome {
    let mut server = Server::new(|_, _| Fate::Answer(MS));
    server.answer = answer;
    run(plan, 1, Faults::none(), server)
}

const GRPC: (&str, &str) = ("content-type", "application/grpc");

/// Three messages and a status.
fn stream(machine: &mut Machine, stream: u32, out: &mut Vec<u8>) {
    machine.respond(stream, 200, &[GRPC], false, out).unwrap();
    let mut body = Vec::new();
    for message in [&b"a"[..], b"", b"bcd"] {
        proto::grpc::encode(message, &mut body).unwrap();
    }
    machine.data(stream, &body, false, out).unwrap();
    machine
        .trailers(stream, &[("grpc-status", "0")], out)
        .unwrap();
}

#[test]
fn calls_of_each_kind_are_counted_with_their_messages() {
    let plan = plan_grpc(CallKind::Bidirectional, 2);
    let tally = run_calls(&plan, stream).recorder.tally;
    assert_eq!((tally.completed, tally.failed), (400, 0));
    assert_eq!((tally.messages_sent, tally.messages_received), (800, 1_200));
    assert_eq!(tally.grpc_statuses[0], 400);
    assert_eq!(tally.statuses.count(200), 400);
    // A call that is to be answered once was not answered by three messages.
    let tally = run_calls(&plan_grpc(CallKind::Unary, 1), stream)
        .recorder
        .tally;
    assert_eq!((tally.completed, tally.failed), (0, 400));
    assert_eq!(tally.grpc_statuses[13], 400);
}

#[test]
fn what_a_call_came_to_is_told_by_its_status_wherever_that_stands() {
    type Answer = fn(&mut Machine, u32, &mut Vec<u8>);
    let table: [(&str, usize, Answer); 6] = [
        ("trailers only", 14, |machine, stream, out| {
            let fields = [GRPC, ("grpc-status", "14")];
            machine.respond(stream, 200, &fields, true, out).unwrap();
        }),
        ("trailers", 4, |machine, stream, out| {
            machine.respond(stream, 200, &[GRPC], false, out).unwrap();
            let fields = [("grpc-status", "4"), ("grpc-message", "too late")];
            machine.trailers(stream, &fields, out).unwrap();
        }),
        ("HTTP alone", 12, |machine, stream, out| {
            let fields = [("content-type", "text/html")];
            machine.respond(stream, 404, &fields, false, out).unwrap();
            machine.data(stream, b"<p>gone", true, out).unwrap();
        }),
        ("no status at all", 2, |machine, stream, out| {
            machine.respond(stream, 200, &[GRPC], false, out).unwrap();
            machine.data(stream, b"\0\0\0\0\0", true, out).unwrap();
        }),
        ("OK without a message", 13, |machine, stream, out| {
            let fields = [GRPC, ("grpc-status", "0")];
            machine.respond(stream, 200, &fields, true, out).unwrap();
        }),
        (
            "OK in the middle of a message",
            13,
            |machine, stream, out| {
                machine.respond(stream, 200, &[GRPC], false, out).unwrap();
                machine
                    .data(stream, b"\0\0\0\0\x09abc", false, out)
                    .unwrap();
                let fields = [("grpc-status", "0")];
                machine.trailers(stream, &fields, out).unwrap();
            },
        ),
    ];
    for (name, code, answer) in table {
        let tally = run_calls(&plan_grpc(CallKind::Unary, 1), answer)
            .recorder
            .tally;
        assert_eq!(
            tally.grpc_statuses[code], 400,
            "{name}: {:?}",
            tally.grpc_statuses
        );
        assert_eq!((tally.completed, tally.failed), (0, 400), "{name}");
        assert_eq!(tally.errors.count(ErrorKind::GrpcStatus), 400, "{name}");
    }
}

#[test]
fn a_body_that_is_no_messages_breaks_the_protocol_of_its_call_alone() {
    let answer: fn(&mut Machine, u32, &mut Vec<u8>) = |machine, stream, out| {
        machine.respond(stream, 200, &[GRPC], false, out).unwrap();
        machine.data(stream, b"\x07rubbish", false, out).unwrap();
    };
    let outcome = run_calls(&plan_grpc(CallKind::Unary, 1), answer);
    let tally = &outcome.recorder.tally;
    assert_eq!(tally.errors.count(ErrorKind::ProtocolViolation), 400);
    assert_eq!((tally.failed, tally.reconnects), (400, 0));
    assert!(outcome.violation.unwrap().what.contains("compressed flag"));
}

/// What a server answers each call with.
type Says = fn(&mut Machine, u32, &mut Vec<u8>);

/// Answers a call with one compressed message.
fn says_compressed(machine: &mut Machine, stream: u32, more: &[(&str, &str)], out: &mut Vec<u8>) {
    let fields = [&[GRPC][..], more].concat();
    machine.respond(stream, 200, &fields, false, out).unwrap();
    let mut body = Vec::new();
    proto::grpc::encode_gzipped(b"hello", &mut proto::gzip::Gzip::default(), &mut body).unwrap();
    machine.data(stream, &body, false, out).unwrap();
    let end = [("grpc-status", "0")];
    machine.trailers(stream, &end, out).unwrap();
}

#[test]
fn compressed_messages_are_read_where_they_say_how_and_by_gzip() {
    let gzip: Says = |machine, stream, out| {
        says_compressed(machine, stream, &[("grpc-encoding", "gzip")], out);
    };
    let unnamed: Says = |machine, stream, out| says_compressed(machine, stream, &[], out);
    let identity: Says = |machine, stream, out| {
        says_compressed(machine, stream, &[("grpc-encoding", "identity")], out);
    };
    let brotli: Says = |machine, stream, out| {
        says_compressed(machine, stream, &[("grpc-encoding", "br")], out);
    };
    let [nothing, asked, compressing] =
        [(false, None), (true, None), (false, Some(Compress::Gzip))];
    let unnamed_part = "while grpc-encoding names no encoding";
    let unoffered = "in another way than by gzip";
    for (told, answer, wrong) in [
        (asked, gzip, None),
        (compressing, gzip, None),
        (nothing, gzip, None),
        (nothing, unnamed, Some(unnamed_part)),
        (asked, unnamed, Some(unnamed_part)),
        (asked, identity, Some(unnamed_part)),
        (compressing, brotli, Some(unoffered)),
    ] {
        for events in [false, true] {
            let mut plan = plan_grpc(CallKind::ServerStream, 1);
            (plan.compressed, plan.compress) = told;
            plan.events = events;
            plan.validate().unwrap();
            let outcome = run_calls(&plan, answer);
            let tally = &outcome.recorder.tally;
            let broken = tally.errors.count(ErrorKind::ProtocolViolation);
            match wrong {
                None => assert_eq!((tally.completed, tally.messages_received), (400, 400)),
                Some(part) => {
                    assert_eq!((broken, tally.failed, tally.reconnects), (400, 400, 0));
                    let what = outcome.violation.unwrap().what;
                    assert!(what.contains(part), "{what}");
                }
            }
        }
    }
}
