//! Whole workers in a simulated network: virtual time, seeded chance, clients that follow scripts.

mod calls;
mod dialogues;
mod http2;
mod limits;
mod pipelines;
mod retiring;
mod service;
mod stand_in;
mod streaming;
mod upstreams;

use std::cell::RefCell;
use std::net::SocketAddr;
use std::rc::Rc;

use engine::signal::{Registration, Signal};
use engine::sim::{Connection, Faults, Network, Peer, Replies, Sim};
use engine::{Address, Config, SocketOptions};

use super::*;
use stand_in::StandIn;

const MS: u64 = 1_000_000;
const SECOND: u64 = 1000 * MS;

/// What a client does from the moment its connection stands.
#[derive(Clone, Default)]
struct Script {
    /// Bytes, each so long after the beginning.
    sends: Vec<(u64, Vec<u8>)>,
    /// When it stops reading, and reads again.
    pauses: Option<(u64, u64)>,
    /// When it ends its half.
    closes: Option<u64>,
    /// When it resets the connection.
    resets: Option<u64>,
}

/// What a client heard.
#[derive(Clone, Debug, Default, PartialEq)]
struct Heard {
    bytes: Vec<u8>,
    opened: Option<Time>,
    /// When bytes came last.
    last: Option<Time>,
    ended: Option<Time>,
    reset: Option<Time>,
}

impl Heard {
    fn text(&self) -> String {
        String::from_utf8_lossy(&self.bytes).into_owned()
    }

    /// Nanoseconds from the beginning to `time`.
    fn after(&self, time: Option<Time>) -> u64 {
        time.expect("it happened")
            .since(self.opened.expect("it stood"))
    }

    fn is_over(&self) -> bool {
        self.ended.is_some() || self.reset.is_some()
    }
}

struct Client {
    script: Script,
    heard: Rc<RefCell<Heard>>,
}

impl Peer for Client {
    fn opened(&mut self, _: Connection, now: Time, replies: &mut Replies) {
        self.heard.borrow_mut().opened = Some(now);
        for (at, bytes) in std::mem::take(&mut self.script.sends) {
            replies.send(at, bytes);
        }
        if let Some((from, to)) = self.script.pauses {
            replies.stop_reading(from);
            replies.start_reading(to);
        }
        if let Some(at) = self.script.closes {
            replies.close(at);
        }
        if let Some(at) = self.script.resets {
            replies.reset(at);
        }
    }

    fn received(&mut self, _: Connection, bytes: &[u8], now: Time, _: &mut Replies) {
        let mut heard = self.heard.borrow_mut();
        heard.bytes.extend_from_slice(bytes);
        heard.last = Some(now);
    }

    fn ended(&mut self, _: Connection, now: Time, replies: &mut Replies) {
        self.heard.borrow_mut().ended.get_or_insert(now);
        replies.close(0);
    }

    fn reset(&mut self, _: Connection, now: Time) {
        self.heard.borrow_mut().reset.get_or_insert(now);
    }
}

/// A worker in a network of its own.
struct Stage<S = StandIn> {
    network: Network,
    worker: Worker<Sim, S>,
    stop: Stop,
    _registration: Registration,
    completions: Completions,
}

impl Stage {
    fn new(seed: u64, faults: Faults) -> Stage {
        Stage::offering(seed, faults, true)
    }

    /// One whose service offers methods of gRPC, or none.
    fn offering(seed: u64, faults: Faults, calls: bool) -> Stage {
        Stage::serving(seed, faults, StandIn { calls })
    }
}

impl<S: Service> Stage<S> {
    fn serving(seed: u64, faults: Faults, service: S) -> Stage<S> {
        Stage::on(&Network::new(seed, faults), 80, service)
    }

    /// One on this network that listens on this port.
    fn on(network: &Network, port: u16, service: S) -> Stage<S> {
        let network = network.clone();
        let driver = network.driver(&Config {
            sockets: 64,
            buffers: 64,
            buffer_bytes: 4096,
            ..Config::default()
        });
        let address = Address::Tcp(SocketAddr::from(([127, 0, 0, 1], port)));
        let settings = Settings {
            listen: Listen {
                address,
                share_port: None,
                peers: false,
                backlog: 64,
                options: SocketOptions::default(),
                inherited: None,
            },
            limits: Limits::default(),
            timeouts: Timeouts::default(),
            memory_bytes: 8 << 20,
            wall: Wall::Fixed(784_111_777),
            room: 63,
            full: std::sync::mpsc::sync_channel(1).0,
            live: None,
            times: None,
        };
        let stop = Stop::new();
        let _registration = stop.register(driver.waker()).expect("the first");
        let mut worker = Worker::new(driver, service, settings, stop.clone()).expect("it begins");
        worker.get_ready().expect("its service begins");
        worker.listen().expect("it listens");
        Stage {
            network,
            worker,
            stop,
            _registration,
            completions: Completions::new(),
        }
    }

    fn dial(&self, script: Script) -> Rc<RefCell<Heard>> {
        let heard = Rc::default();
        let client = Client {
            script,
            heard: Rc::clone(&heard),
        };
        self.network.dial(self.worker.address(), client);
        heard
    }

    /// Serves for so long, or until `enough`.
    fn serve(&mut self, length: u64, enough: impl Fn() -> bool) {
        let end = self.network.now().plus(length);
        while self.network.now() < end && !enough() {
            self.worker
                .turn(&mut self.completions, end)
                .expect("the simulator never breaks");
        }
    }

    /// Stops, and serves until nothing is left to do.
    fn run_down(&mut self) {
        self.stop.request(Signal::Terminate);
        while !self.worker.is_done() {
            let latest = self.network.now().plus(SECOND);
            self.worker
                .turn(&mut self.completions, latest)
                .expect("the simulator never breaks");
        }
    }

    /// Stops, and serves to the end.
    fn end(mut self) -> Summary {
        self.run_down();
        self.worker.farewell().expect("the simulator never breaks")
    }
}

fn get(path: &str) -> String {
    format!("GET {path} HTTP/1.1\r\nHost: test\r\n\r\n")
}

/// What one client hears that does as `script` says, up to `length` after the beginning.
fn heard(seed: u64, faults: Faults, script: &Script, length: u64) -> (Heard, Summary) {
    let mut stage = Stage::new(seed, faults);
    let heard = stage.dial(script.clone());
    stage.serve(length, || heard.borrow().is_over());
    let summary = stage.end();
    let heard = heard.borrow().clone();
    (heard, summary)
}

/// Requests of every kind, answered now, later, in streams and slowly.
fn everything() -> Script {
    let paths = [
        "/",
        "/delay/3ms",
        "/json",
        "/bytes/300K",
        "/delay/1ms",
        "/slow/100us",
        "/chunked/50K",
        "/none",
        "/status/204",
        "/delay/0s",
        "/wait10",
        "/bytes/5",
    ];
    let echo = "POST /echo HTTP/1.1\r\nHost: test\r\nExpect: 100-continue\r\n\
                Transfer-Encoding: chunked\r\n\r\n5\r\nhello\r\n0\r\n\r\n";
    let last = "GET /health HTTP/1.1\r\nHost: test\r\nConnection: close\r\n\r\n";
    let mut requests = paths.map(get).concat() + echo + &get("/json").repeat(50) + last;
    requests += "what follows a last request is not read";
    Script {
        sends: vec![(0, requests.into_bytes())],
        ..Script::default()
    }
}

#[test]
fn any_chopping_of_requests_gives_the_same_answers() {
    let script = everything();
    let (calm, summary) = heard(1, Faults::none(), &script, 60 * SECOND);
    assert!(
        calm.ended.is_some() && calm.text().ends_with("ok\n"),
        "{}",
        calm.text()
    );
    assert_eq!(calm.text().matches("HTTP/1.1 ").count(), 12 + 2 + 50 + 1);
    assert_eq!(summary.counts.requests, 12 + 1 + 50 + 1);
    for seed in 0..200 {
        let (rough, other) = heard(seed, Faults::rough(), &script, 60 * SECOND);
        assert!(rough.bytes == calm.bytes, "seed {seed}: {}", rough.text());
        assert!(
            rough.ended.is_some() && other.counts == summary.counts,
            "seed {seed}"
        );
    }
}

#[test]
fn any_chopping_of_frames_gives_the_same_echoes() {
    use proto::websocket::{Opcode, encode};

    let key = Some([0x37, 0xfa, 0x21, 0x3d]);
    let mut sends = b"GET /ws HTTP/1.1\r\nHost: test\r\nUpgrade: websocket\r\n\
        Connection: Upgrade\r\nSec-WebSocket-Version: 13\r\n\
        Sec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==\r\n\r\n"
        .to_vec();
    let mut echoes = Vec::new();
    for bytes in [0, 1, 16, 125, 126, 5000, 70_000] {
        let text = "\u{e9}".repeat(bytes);
        let (begin, end) = text.as_bytes().split_at(bytes);
        encode(&mut sends, Opcode::Text, false, key, begin);
        encode(&mut sends, Opcode::Ping, true, key, b"between");
        encode(&mut sends, Opcode::Continuation, true, key, end);
        encode(&mut echoes, Opcode::Pong, true, None, b"between");
        encode(&mut echoes, Opcode::Text, true, None, text.as_bytes());
    }
    encode(&mut sends, Opcode::Close, true, key, &[0x03, 0xe8]);
    encode(&mut echoes, Opcode::Close, true, None, &[0x03, 0xe8]);
    let script = Script {
        sends: vec![(0, sends)],
        ..Script::default()
    };
    for seed in 0..100 {
        let (rough, summary) = heard(seed, Faults::rough(), &script, 60 * SECOND);
        assert!(rough.text().starts_with("HTTP/1.1 101 "), "seed {seed}");
        assert!(rough.bytes.ends_with(&echoes), "seed {seed}");
        assert!(
            rough.ended.is_some() && summary.counts.messages == 7,
            "seed {seed}"
        );
    }
}

#[test]
fn the_same_seed_gives_the_same_run_to_the_nanosecond() {
    let script = everything();
    for seed in 0..10 {
        let run = || {
            heard(
                seed,
                Faults {
                    reset: 0.002,
                    ..Faults::rough()
                },
                &script,
                60 * SECOND,
            )
        };
        assert_eq!(run(), run(), "seed {seed}");
    }
}

#[test]
fn connections_that_die_anywhere_leave_nothing_behind() {
    for seed in 0..200 {
        let mut stage = Stage::new(
            seed,
            Faults {
                reset: 0.05,
                ..Faults::rough()
            },
        );
        let clients: Vec<_> = (0..10)
            .map(|index| {
                let mut script = everything();
                // Some leave by themselves, while answers are still on their way.
                script.resets = (index % 3 == 0).then_some(seed * 20_000);
                script.closes = (index % 3 == 1).then_some(seed * 20_000);
                stage.dial(script)
            })
            .collect();
        stage.serve(60 * SECOND, || false);
        assert_eq!(stage.worker.open, 0, "seed {seed}");
        let summary = stage.end();
        assert!(summary.counts.connections <= clients.len() as u64 && summary.counts.idle == 0);
    }
}

#[test]
fn a_delay_takes_as_long_as_it_says() {
    let script = Script {
        sends: vec![(0, get("/delay/50ms").into())],
        ..Script::default()
    };
    let (heard, _) = heard(1, Faults::none(), &script, SECOND);
    let took = heard.after(heard.last);
    let slack = 100_000; // The way there and back, and the turns in between.
    assert!((50 * MS..50 * MS + slack).contains(&took), "{took} ns");
}

#[test]
fn a_slow_head_is_refused_when_its_time_is_over_and_not_before() {
    // A byte in every second, and a request before, which has its own time.
    let begin = get("/") + "GET / HTTP/1.1\r\n";
    let mut script = Script {
        sends: vec![(SECOND, begin.into())],
        ..Script::default()
    };
    script
        .sends
        .extend((2..30).map(|at| (at * SECOND, b"x".to_vec())));
    let (heard, summary) = heard(1, Faults::none(), &script, 100 * SECOND);
    assert!(heard.text().contains("HTTP/1.1 408 "), "{}", heard.text());
    let took = heard.after(heard.last);
    assert!((11 * SECOND..11 * SECOND + MS).contains(&took), "{took} ns");
    assert!(heard.is_over());
    assert_eq!(summary.counts.rejections.timeout, 1);
}

#[test]
fn a_connection_that_idles_is_closed_when_its_time_is_over() {
    let sends = vec![(0, get("/").into()), (50 * SECOND, get("/").into())];
    let (heard, summary) = heard(
        1,
        Faults::none(),
        &Script {
            sends,
            ..Script::default()
        },
        500 * SECOND,
    );
    assert_eq!(heard.text().matches("Hello").count(), 2);
    let took = heard.after(heard.ended);
    assert!(
        (125 * SECOND..125 * SECOND + MS).contains(&took),
        "{took} ns"
    );
    assert_eq!(summary.counts.idle, 1);
}

#[test]
fn a_client_that_takes_nothing_is_reset_and_one_that_takes_its_time_is_not() {
    let sends = vec![(0, get("/bytes/30M").into())];
    let pauses = Some((0, 70 * SECOND));
    let patient = Script {
        sends: sends.clone(),
        pauses,
        ..Script::default()
    };
    let (heard_late, summary) = heard(1, Faults::none(), &patient, 80 * SECOND);
    assert!(heard_late.bytes.len() > 30 << 20);
    assert_eq!(summary.counts.unread, 0);
    let pauses = Some((0, 200 * SECOND));
    let (heard, summary) = heard(
        1,
        Faults::none(),
        &Script {
            sends,
            pauses,
            ..Script::default()
        },
        100 * SECOND,
    );
    assert_eq!((summary.counts.unread, summary.counts.cut), (1, 0));
    assert!(heard.bytes.is_empty());
}

#[test]
fn a_refused_client_that_still_sends_is_heard_out_so_that_it_can_read_why() {
    let head = "POST /echo HTTP/1.1\r\nHost: test\r\nContent-Length: 9999999\r\n\r\n";
    let mut sends = vec![(0, head.into())];
    sends.extend((1..200).map(|at| (at * 100 * MS, vec![b'x'; 1000])));
    let (heard, _) = heard(
        1,
        Faults::none(),
        &Script {
            sends,
            ..Script::default()
        },
        100 * SECOND,
    );
    assert!(heard.text().contains("HTTP/1.1 413 "), "{}", heard.text());
    let over = heard.after(heard.ended.or(heard.reset));
    assert!(
        (2 * SECOND..2 * SECOND + MS).contains(&over),
        "for two seconds at most: {over} ns"
    );
    let silent = Script {
        sends: vec![(0, head.into())],
        ..Script::default()
    };
    let (heard, _) = self::heard(1, Faults::none(), &silent, 100 * SECOND);
    let over = heard.after(heard.ended);
    assert!(
        (250 * MS..251 * MS).contains(&over),
        "and not long after it fell silent: {over} ns"
    );
}

#[test]
fn the_drain_waits_for_answers_and_only_for_so_long() {
    let mut stage = Stage::new(1, Faults::none());
    let script = |path: &str| Script {
        sends: vec![(0, get(path).into())],
        ..Script::default()
    };
    let (soon, never) = (
        stage.dial(script("/delay/9s")),
        stage.dial(script("/delay/11s")),
    );
    let idle = stage.dial(script("/"));
    stage.serve(100 * MS, || false);
    let summary = stage.end();
    assert_eq!(summary.counts.cut, 1);
    let soon = soon.borrow();
    assert!(soon.text().contains("Connection: close"), "{}", soon.text());
    assert!(soon.text().ends_with("late\n"));
    assert!(never.borrow().bytes.is_empty());
    assert!(idle.borrow().ended.is_some());
}
