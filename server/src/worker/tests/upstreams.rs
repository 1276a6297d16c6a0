//! Services that ask other servers: a relay in front of another worker, or of a peer that follows a
//! script.

use std::collections::HashMap;
use std::time::Duration;

use proto::http1::HeadMemo;
use proto::http1::client::{self, Answer};

use super::http2::{DATA, END_STREAM, frame};
use super::*;
use crate::upstream::{self, Exchange, Kind, Limits as UpLimits, Protocol, Timeouts as UpTimeouts};
use crate::{Context, Event as Happened, Intake, Reply};
use crate::{Request, Response};

/// Where the upstream listens.
const BEHIND: u16 = 81;

const PROTOCOLS: [Protocol; 2] = [Protocol::Http1, Protocol::Http2];

/// What became of each exchange.
#[derive(Clone, Debug, Default, PartialEq)]
struct Course {
    heads: u32,
    ends: u32,
    failed: Option<Kind>,
    repeatable: bool,
    cancelled: bool,
}

type Log = Rc<RefCell<Vec<Course>>>;

/// Passes everything on.
struct Relay {
    config: upstream::Config,
    upstream: Option<upstream::Upstream>,
    has_body: bool,
    passing: HashMap<Ticket, (Exchange, usize)>,
    by_exchange: HashMap<Exchange, usize>,
    log: Log,
    /// Whoever sends no more is taken to have left.
    cancels: bool,
}

impl Relay {
    fn new(config: upstream::Config) -> (Relay, Log) {
        let log = Log::default();
        let relay = Relay {
            config,
            upstream: None,
            has_body: false,
            passing: HashMap::new(),
            by_exchange: HashMap::new(),
            log: Rc::clone(&log),
            cancels: false,
        };
        (relay, log)
    }
}

impl Service for Relay {
    fn started(&mut self, context: &mut Context<'_>) {
        self.upstream = context.upstream(self.config.clone()).ok();
    }

    fn intake(&mut self, _: &Request<'_>) -> Intake {
        self.has_body = true;
        Intake::Stream
    }

    fn call(&mut self, request: &Request<'_>, context: &mut Context<'_>) -> Reply {
        let has_body = std::mem::take(&mut self.has_body);
        let upstream = self.upstream.expect("it was declared");
        let passed_on = upstream::Request::forward(request, has_body);
        let exchange = match context.ask(upstream, passed_on) {
            Ok(exchange) => exchange,
            Err(why) => return Response::sentence(400, why.to_string()).into(),
        };
        let ticket = context.ticket();
        if has_body {
            context.pause(ticket);
        }
        let mut log = self.log.borrow_mut();
        self.by_exchange.insert(exchange, log.len());
        self.passing.insert(ticket, (exchange, log.len()));
        log.push(Course::default());
        Reply::Later
    }

    fn event(&mut self, ticket: Ticket, event: Happened<'_>, context: &mut Context<'_>) {
        let Some(&(exchange, number)) = self.passing.get(&ticket) else {
            return;
        };
        match event {
            Happened::Data(bytes) => {
                context.ask_send(exchange, bytes);
                context.pause(ticket);
            }
            Happened::End => context.ask_end(exchange),
            Happened::Writable => context.ask_resume(exchange),
            Happened::PeerEnded if self.cancels => {
                self.log.borrow_mut()[number].cancelled = true;
                self.passing.remove(&ticket);
                context.ask_cancel(exchange);
                context.abort(ticket);
            }
            Happened::Closed => drop(self.passing.remove(&ticket)),
            _ => {}
        }
    }

    fn exchange(
        &mut self,
        exchange: Exchange,
        event: upstream::Event<'_>,
        context: &mut Context<'_>,
    ) {
        let number = self.by_exchange[&exchange];
        let log = Rc::clone(&self.log);
        let course = &mut log.borrow_mut()[number];
        assert_eq!(course.ends, 0, "{course:?} has ended before {event:?}");
        assert!(!course.cancelled, "{event:?} is told of what was cancelled");
        let ticket = context.ticket();
        let known = self.passing.contains_key(&ticket);
        match event {
            upstream::Event::Head(_) if course.heads > 0 => panic!("a second head"),
            upstream::Event::Head(head) => {
                course.heads += 1;
                if known {
                    context.complete(ticket, head.forward());
                }
            }
            upstream::Event::Data(bytes) => {
                assert_eq!(course.heads, 1, "data before the head");
                context.send(ticket, bytes);
                context.ask_pause(exchange);
            }
            upstream::Event::Writable => context.resume(ticket),
            upstream::Event::End => {
                assert_eq!(course.heads, 1, "an end before the head");
                course.ends += 1;
                context.end(ticket);
            }
            upstream::Event::Failed(error) => {
                course.ends += 1;
                course.failed = Some(error.kind());
                course.repeatable = error.may_be_repeated();
                assert_eq!(error.answered(), course.heads == 1);
                if known && error.answered() {
                    context.abort(ticket);
                } else if known {
                    let text = format!("{:?}\n", error.kind());
                    context.complete(ticket, Response::sentence(error.kind().status(), text));
                }
            }
            _ => {}
        }
        if course.ends > 0 {
            self.by_exchange.remove(&exchange);
            self.passing.remove(&ticket);
        }
    }
}

fn config(protocol: Protocol) -> upstream::Config {
    let behind = Address::Tcp(SocketAddr::from(([127, 0, 0, 1], BEHIND)));
    upstream::Config::new([behind]).with_protocol(protocol)
}

/// Statuses and bodies of answers in HTTP/1.1.
fn answers(bytes: &[u8]) -> Vec<(u16, Vec<u8>)> {
    let (mut machine, mut memo) = (client::Client::new(Default::default()), HeadMemo::new());
    let (mut input, mut all) = (bytes, Vec::<(u16, Vec<u8>)>::new());
    while !input.is_empty() {
        if machine.outstanding() == 0 {
            machine.sent(Answer::Usual).expect("capacity");
        }
        match machine.next(&mut input, &mut memo).expect("a valid answer") {
            Some(client::Event::Head { status, .. }) => all.push((status, Vec::new())),
            Some(client::Event::Body(bytes)) => {
                all.last_mut().expect("a head").1.extend_from_slice(bytes);
            }
            _ => {}
        }
    }
    all
}

/// Serves with both for so long, or until `enough`.
fn serve_both<A: Service, B: Service>(
    front: &mut Stage<A>,
    behind: &mut Stage<B>,
    length: u64,
    enough: impl Fn() -> bool,
) {
    let end = front.network.now().plus(length);
    while front.network.now() < end && !enough() {
        let turn = front.worker.turn(&mut front.completions, end);
        turn.expect("the simulator never breaks");
        let turn = behind.worker.turn(&mut behind.completions, end);
        turn.expect("the simulator never breaks");
    }
}

/// Stops both, the front first.
fn end_both<A: Service, B: Service>(mut front: Stage<A>, mut behind: Stage<B>) -> Summary {
    front.stop.request(Signal::Terminate);
    let end = front.network.now().plus(60 * SECOND);
    while !front.worker.is_done() {
        assert!(front.network.now() < end, "the front doesn't stop");
        let latest = front.network.now().plus(SECOND);
        for turn in [
            front.worker.turn(&mut front.completions, latest),
            behind.worker.turn(&mut behind.completions, latest),
        ] {
            turn.expect("the simulator never breaks");
        }
    }
    assert_eq!(
        front.worker.upstream_bytes(),
        0,
        "bytes are held of nothing"
    );
    let summary = front.worker.summary();
    drop(front);
    behind.end();
    summary
}

/// What a client hears through a relay.
fn through(seed: u64, faults: Faults, protocol: Protocol, script: &Script) -> (Heard, Summary) {
    let network = Network::new(seed, faults);
    let (relay, log) = Relay::new(config(protocol));
    let mut behind = Stage::on(&network, BEHIND, StandIn { calls: false });
    let mut front = Stage::on(&network, 80, relay);
    let heard = front.dial(script.clone());
    serve_both(&mut front, &mut behind, 60 * SECOND, || {
        heard.borrow().is_over()
    });
    let summary = end_both(front, behind);
    assert!(
        log.borrow().iter().all(|course| course.ends == 1),
        "{log:?}"
    );
    let heard = heard.borrow().clone();
    (heard, summary)
}

#[test]
fn what_comes_through_a_relay_is_what_the_upstream_says() {
    let script = everything();
    let (direct, _) = heard(1, Faults::none(), &script, 60 * SECOND);
    let direct = answers(&direct.bytes);
    for protocol in PROTOCOLS {
        for seed in 0..40 {
            let faults = match seed {
                0 => Faults::none(),
                _ => Faults::rough(),
            };
            let (heard, summary) = through(seed, faults, protocol, &script);
            let said = answers(&heard.bytes);
            let statuses = |all: &[(u16, Vec<u8>)]| all.iter().map(|one| one.0).collect::<Vec<_>>();
            assert_eq!(
                statuses(&said),
                statuses(&direct),
                "{protocol:?} seed {seed}"
            );
            assert!(said == direct, "{protocol:?} seed {seed}");
            let counts = summary.counts.upstreams;
            assert_eq!(counts.failures.total(), 0, "{protocol:?} seed {seed}");
            assert_eq!(
                (counts.exchanges, counts.completed),
                (64, 64),
                "seed {seed}"
            );
            assert!(
                counts.reused + counts.connections >= 64,
                "seed {seed}: {counts:?}"
            );
        }
    }
}

#[test]
fn every_exchange_is_told_its_end_once_whoever_dies() {
    for protocol in PROTOCOLS {
        for seed in 0..100 {
            let faults = Faults {
                reset: 0.02,
                refuse: 0.1,
                accept_failure: 0.05,
                ..Faults::rough()
            };
            let network = Network::new(seed, faults);
            let limits = UpLimits {
                connections: 3,
                waiting: 20,
                ..UpLimits::default()
            };
            let (mut relay, log) = Relay::new(config(protocol).with_limits(limits));
            relay.cancels = seed % 2 == 0;
            let mut behind = Stage::on(&network, BEHIND, StandIn { calls: false });
            let mut front = Stage::on(&network, 80, relay);
            let clients: Vec<_> = (0..8)
                .map(|index| {
                    let mut script = everything();
                    script.resets = (index % 3 == 0).then_some(seed * 20_000);
                    script.closes = (index % 3 == 1).then_some(seed * 20_000);
                    front.dial(script)
                })
                .collect();
            serve_both(&mut front, &mut behind, 10 * SECOND, || {
                clients.iter().all(|heard| heard.borrow().is_over())
            });
            let summary = end_both(front, behind);
            let log = log.borrow();
            for course in log.iter() {
                let ends = u32::from(!course.cancelled);
                assert_eq!(course.ends, ends, "{protocol:?} seed {seed}: {course:?}");
            }
            let counts = summary.counts.upstreams;
            let ended = counts.completed + counts.cancelled + counts.failures.total();
            assert_eq!(counts.exchanges, log.len() as u64);
            assert_eq!(
                ended, counts.exchanges,
                "{protocol:?} seed {seed}: {counts:?}"
            );
        }
    }
}

/// An upstream that follows a script: what it says to each piece that comes, on each connection.
#[derive(Default)]
struct Behind {
    /// By connection: what it says when so many requests of HTTP/1.1 have come.
    says: Vec<Vec<Deed>>,
    /// What it says as soon as a connection stands.
    greets: Vec<u8>,
    heard: Rc<RefCell<Vec<(Connection, Heard)>>>,
}

#[derive(Clone)]
enum Deed {
    Say(u64, Vec<u8>),
    Close(u64),
    Reset(u64),
}

impl Behind {
    fn place(&self, connection: Connection) -> usize {
        let mut heard = self.heard.borrow_mut();
        match heard.iter().position(|(of, _)| *of == connection) {
            Some(at) => at,
            None => {
                heard.push((connection, Heard::default()));
                heard.len() - 1
            }
        }
    }
}

impl Peer for Behind {
    fn opened(&mut self, connection: Connection, now: Time, replies: &mut Replies) {
        let at = self.place(connection);
        self.heard.borrow_mut()[at].1.opened = Some(now);
        if !self.greets.is_empty() {
            replies.send(0, self.greets.clone());
        }
    }

    fn received(&mut self, connection: Connection, bytes: &[u8], now: Time, replies: &mut Replies) {
        let at = self.place(connection);
        let mut heard = self.heard.borrow_mut();
        let heard = &mut heard[at].1;
        let before = heard.text().matches("\r\n\r\n").count();
        heard.bytes.extend_from_slice(bytes);
        heard.last = Some(now);
        let requests = heard.text().matches("\r\n\r\n").count();
        for request in before..requests {
            let deeds = self.says.get(request).cloned().unwrap_or_default();
            for deed in deeds {
                match deed {
                    Deed::Say(after, bytes) => replies.send(after, bytes),
                    Deed::Close(after) => replies.close(after),
                    Deed::Reset(after) => replies.reset(after),
                }
            }
        }
    }

    fn ended(&mut self, connection: Connection, now: Time, replies: &mut Replies) {
        let at = self.place(connection);
        self.heard.borrow_mut()[at].1.ended = Some(now);
        replies.close(0);
    }

    fn reset(&mut self, connection: Connection, now: Time) {
        let at = self.place(connection);
        self.heard.borrow_mut()[at].1.reset = Some(now);
    }
}

/// A relay in front of a peer.
struct Before {
    stage: Stage<Relay>,
    log: Log,
    heard: Rc<RefCell<Vec<(Connection, Heard)>>>,
}

fn before(behind: Behind, config: upstream::Config) -> Before {
    let network = Network::new(1, Faults::none());
    let heard = Rc::clone(&behind.heard);
    let address = Address::Tcp(SocketAddr::from(([127, 0, 0, 1], BEHIND)));
    network.serve(&address, behind);
    let (relay, log) = Relay::new(config);
    let stage = Stage::on(&network, 80, relay);
    Before { stage, log, heard }
}

fn ok(body: &str) -> Vec<u8> {
    format!(
        "HTTP/1.1 200 OK\r\nContent-Length: {}\r\n\r\n{body}",
        body.len()
    )
    .into_bytes()
}

fn gets(times: &[u64]) -> Script {
    let one = |&after: &u64| (after, get("/x").into_bytes());
    Script {
        sends: times.iter().map(one).collect(),
        ..Script::default()
    }
}

#[test]
fn a_client_that_leaves_cancels_its_exchange_at_the_upstream() {
    for protocol in PROTOCOLS {
        let settings = frame(4, 0, 0, &[]);
        let greets = match protocol {
            Protocol::Http2 => settings,
            _ => Vec::new(),
        };
        let behind = Behind {
            greets,
            ..Behind::default()
        };
        let mut before = before(behind, config(protocol));
        let script = Script {
            resets: Some(50 * MS),
            ..gets(&[0])
        };
        before.stage.dial(script);
        before.stage.serve(SECOND, || false);
        assert_eq!(before.log.borrow()[0].failed, Some(Kind::ClientGone));
        let all = before.heard.borrow();
        let (_, heard) = &all[0];
        match protocol {
            Protocol::Http2 => {
                let cancel = frame(3, 0, 1, &8_u32.to_be_bytes());
                assert!(heard.bytes.ends_with(&cancel), "{heard:?}");
                assert_eq!(heard.reset, None, "the connection is kept");
            }
            _ => assert!(heard.reset.is_some(), "{heard:?}"),
        }
        let since = heard
            .last
            .max(heard.reset)
            .expect("it heard")
            .since(heard.opened.unwrap());
        assert!((49 * MS..60 * MS).contains(&since), "{since}");
        drop(all);
        before.stage.end();
    }
}

#[test]
fn a_stream_that_is_reset_as_it_begins_leaves_nothing_at_the_upstream() {
    let behind = Behind::default();
    let mut before = before(behind, config(Protocol::Http1));
    // `:method: GET`, `:scheme: http`, `:path: /`, `:authority: h` (RFC 7541, Appendix A).
    let head = frame(1, 5, 1, b"\x82\x86\x84\x01\x01h");
    let cancel = frame(3, 0, 1, &8_u32.to_be_bytes());
    let preface = b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n".to_vec();
    let sent = [preface, frame(4, 0, 0, &[]), head, cancel].concat();
    let script = Script {
        sends: vec![(0, sent)],
        ..Script::default()
    };
    before.stage.dial(script);
    before.stage.serve(SECOND, || false);
    assert_eq!(before.log.borrow().len(), 1, "the request came");
    assert_eq!(before.log.borrow()[0].failed, Some(Kind::ClientGone));
    before.stage.end();
}

#[test]
fn an_upstream_that_takes_too_long_is_a_504_at_the_time_that_was_set() {
    let timeouts = UpTimeouts {
        connect: Duration::from_millis(200),
        head: Duration::from_millis(300),
        whole: Duration::from_millis(500),
        idle: Duration::from_secs(60),
    };
    // It never says its settings; it never answers; its answer never ends.
    let head = b"HTTP/1.1 200 OK\r\nContent-Length: 9\r\n\r\nabc".to_vec();
    let cases = [
        (Protocol::Http2, Vec::new(), 200, Kind::ConnectTimeout),
        (Protocol::Http1, Vec::new(), 300, Kind::HeadTimeout),
        (
            Protocol::Http1,
            vec![vec![Deed::Say(0, head)]],
            500,
            Kind::Deadline,
        ),
    ];
    for (protocol, says, after_ms, kind) in cases {
        let behind = Behind {
            says,
            ..Behind::default()
        };
        let mut before = before(behind, config(protocol).with_timeouts(timeouts));
        let client = before.stage.dial(gets(&[0]));
        before.stage.serve(SECOND, || false);
        let client = client.borrow();
        assert_eq!(before.log.borrow()[0].failed, Some(kind));
        let over = client.last.max(client.ended).max(client.reset);
        let after = client.after(over);
        assert!(
            (after_ms * MS..(after_ms + 5) * MS).contains(&after),
            "{kind:?}: {after}"
        );
        match kind {
            Kind::Deadline => assert!(client.is_over(), "an answer that isn't whole is aborted"),
            _ => assert!(
                client.text().starts_with("HTTP/1.1 504 "),
                "{}",
                client.text()
            ),
        }
        drop(client);
        before.stage.end();
    }
}

#[test]
fn requests_wait_for_a_connection_in_turn_and_what_comes_beyond_fails_at_once() {
    let limits = UpLimits {
        connections: 2,
        waiting: 3,
        ..UpLimits::default()
    };
    let later = |_| vec![Deed::Say(100 * MS, ok("x"))];
    let behind = Behind {
        says: (0..9).map(later).collect(),
        ..Behind::default()
    };
    let mut before = before(behind, config(Protocol::Http1).with_limits(limits));
    let clients: Vec<_> = (0..7).map(|_| before.stage.dial(gets(&[0]))).collect();
    before.stage.serve(SECOND, || false);
    let status = |heard: &Rc<RefCell<Heard>>| answers(&heard.borrow().bytes)[0].0;
    let statuses: Vec<_> = clients.iter().map(status).collect();
    assert_eq!(statuses, [200, 200, 200, 200, 200, 503, 503]);
    let after = |at: usize| {
        let heard = clients[at].borrow();
        heard.after(heard.last) / (100 * MS)
    };
    assert_eq!([0, 1, 2, 3, 4, 5].map(after), [1, 1, 2, 2, 3, 0]);
    assert_eq!(before.heard.borrow().len(), 2, "connections");
    let counts = before.stage.end().counts.upstreams;
    assert_eq!(
        (counts.connections, counts.reused, counts.failures.full),
        (2, 3, 2)
    );
}

#[test]
fn a_kept_connection_that_dies_is_no_failure_of_a_request_that_can_be_sent_again() {
    for (method, status) in [("GET", 200), ("POST", 502)] {
        let behind = Behind {
            // The second request on a connection meets its end.
            says: vec![vec![Deed::Say(0, ok("x"))], vec![Deed::Reset(0)]],
            ..Behind::default()
        };
        let mut before = before(behind, config(Protocol::Http1));
        let request = format!("{method} /x HTTP/1.1\r\nHost: test\r\n\r\n").into_bytes();
        let client = before.stage.dial(Script {
            sends: vec![(0, request.clone()), (50 * MS, request)],
            ..Script::default()
        });
        before.stage.serve(SECOND, || false);
        let said = answers(&client.borrow().bytes);
        assert_eq!(
            said.iter().map(|one| one.0).collect::<Vec<_>>(),
            [200, status]
        );
        let log = before.log.borrow().clone();
        let counts = before.stage.end().counts.upstreams;
        match status {
            200 => assert_eq!((counts.repeated, counts.connections), (1, 2)),
            _ => {
                assert_eq!((counts.repeated, counts.failures.closed), (0, 1));
                assert_eq!(
                    (log[1].failed, log[1].repeatable),
                    (Some(Kind::Closed), false)
                );
            }
        }
    }
}

#[test]
fn a_request_is_sent_again_once_and_not_twice() {
    let behind = Behind {
        says: vec![vec![Deed::Say(0, ok("x"))], vec![Deed::Reset(0)]],
        ..Behind::default()
    };
    let mut before = before(behind, config(Protocol::Http1));
    // The second one is repeated on a new connection, and so is each that comes behind it there.
    let client = before.stage.dial(gets(&[0, 50 * MS, 100 * MS]));
    before.stage.serve(SECOND, || false);
    let said = answers(&client.borrow().bytes);
    assert_eq!(said.len(), 3);
    assert!(said.iter().all(|one| one.0 == 200), "{said:?}");
    let counts = before.stage.end().counts.upstreams;
    assert_eq!(
        (counts.repeated, counts.connections, counts.reused),
        (2, 3, 2)
    );

    let behind = Behind {
        says: vec![vec![Deed::Close(0)]],
        ..Behind::default()
    };
    let mut before = self::before(behind, config(Protocol::Http1));
    let client = before.stage.dial(gets(&[0]));
    before.stage.serve(SECOND, || false);
    assert_eq!(answers(&client.borrow().bytes)[0].0, 502);
    assert_eq!(
        before.heard.borrow().len(),
        1,
        "a new connection that dies is told"
    );
    assert!(before.log.borrow()[0].repeatable);
    before.stage.end();
}

#[test]
fn idle_connections_are_closed_after_their_time_and_when_the_server_stops() {
    let timeouts = UpTimeouts {
        idle: Duration::from_millis(100),
        ..UpTimeouts::default()
    };
    for (times, connections) in [(vec![0, 90 * MS, 180 * MS], 1), (vec![0, 150 * MS], 2)] {
        let again = |_| vec![Deed::Say(0, ok("x"))];
        let behind = Behind {
            says: (0..9).map(again).collect(),
            ..Behind::default()
        };
        let mut before = before(behind, config(Protocol::Http1).with_timeouts(timeouts));
        before.stage.dial(gets(&times));
        before.stage.serve(200 * MS, || false);
        assert_eq!(before.heard.borrow().len(), connections);
        let heard = Rc::clone(&before.heard);
        let began = before.stage.network.now();
        let network = before.stage.network.clone();
        before.stage.end();
        assert!(
            network.now().since(began) < SECOND,
            "an idle connection held the stop up"
        );
        assert!(
            heard
                .borrow()
                .iter()
                .all(|(_, heard)| heard.reset.is_none())
        );
    }
}

#[test]
fn a_violation_is_a_502_and_ends_the_connection() {
    let cases: [&[u8]; 6] = [
        b"HTTP/1.1 200 OK\r\nContent-Length: 1\r\nTransfer-Encoding: chunked\r\n\r\n",
        b"HTTP/1.1 200 OK\r\nContent-Length: 1\r\nContent-Length: 2\r\n\r\n",
        b"HTTP/1.1 200 OK\r\nTransfer-Encoding: gzip, chunked\r\n\r\n",
        b"HTTP/1.1 200 OK\r\nTransfer-Encoding: gzip\r\n\r\n",
        b"HTTP/1.1 2x0 OK\r\n\r\n",
        b"SSH-2.0-x\r\n",
    ];
    for bytes in cases {
        let behind = Behind {
            says: vec![vec![Deed::Say(0, bytes.to_vec())]],
            ..Behind::default()
        };
        let mut before = before(behind, config(Protocol::Http1));
        let client = before.stage.dial(gets(&[0]));
        before.stage.serve(SECOND, || false);
        let text = client.borrow().text();
        assert!(text.starts_with("HTTP/1.1 502 "), "{text}");
        assert!(text.contains("Malformed"), "{text}");
        assert!(before.heard.borrow()[0].1.reset.is_some(), "it's closed");
        let counts = before.stage.end().counts.upstreams;
        assert_eq!((counts.failures.malformed, counts.repeated), (1, 0));
    }
}

#[test]
fn goaway_lets_what_it_covers_finish_and_the_rest_is_sent_elsewhere() {
    // The upstream goes away with stream 1 as the last, so stream 3 comes on a new connection.
    struct Goes(u32, Rc<RefCell<Vec<usize>>>);
    impl Peer for Goes {
        fn opened(&mut self, _: Connection, _: Time, replies: &mut Replies) {
            self.0 += 1;
            self.1.borrow_mut().push(0);
            replies.send(0, frame(4, 0, 0, &[]));
        }
        fn received(&mut self, _: Connection, bytes: &[u8], _: Time, replies: &mut Replies) {
            let heads = bytes.windows(5).filter(|five| five[..2] == [1, 5]).count();
            let mut seen = self.1.borrow_mut();
            let seen = seen.last_mut().expect("a connection");
            *seen += heads;
            let answer = |stream| {
                let head = [0x88];
                [
                    frame(1, 4, stream, &head),
                    frame(DATA, END_STREAM, stream, b"x"),
                ]
                .concat()
            };
            match (self.0, *seen) {
                (_, 0) => {}
                (1, 2) => {
                    let mut last = 1_u32.to_be_bytes().to_vec();
                    last.extend([0; 4]);
                    replies.send(0, frame(7, 0, 0, &last));
                    replies.send(10 * MS, answer(1));
                }
                (1, _) => {}
                (_, 1) => replies.send(0, answer(1)),
                _ => replies.send(0, answer(3)),
            }
        }
    }
    let network = Network::new(1, Faults::none());
    let seen = Rc::default();
    let address = Address::Tcp(SocketAddr::from(([127, 0, 0, 1], BEHIND)));
    network.serve(&address, Goes(0, Rc::clone(&seen)));
    let (relay, log) = Relay::new(config(Protocol::Http2));
    let mut stage = Stage::on(&network, 80, relay);
    let clients = [0, 1].map(|_| stage.dial(gets(&[0])));
    stage.serve(SECOND, || false);
    for client in &clients {
        assert_eq!(answers(&client.borrow().bytes), [(200, b"x".to_vec())]);
    }
    assert!(log.borrow().iter().all(|course| course.ends == 1));
    let counts = stage.end().counts.upstreams;
    assert_eq!(
        (counts.completed, counts.repeated, counts.connections),
        (2, 1, 2)
    );
}
