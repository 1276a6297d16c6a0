//! The proxy between scripted peers of the simulated network, in its time.

use std::cell::RefCell;
use std::rc::Rc;

use engine::sim::{self, Connection, Network, Peer, Replies, Sim};
use engine::{Address, Config, Driver, Until};
use measure::random::Random;
use measure::time::Time;

use crate::{Faults, HELD_BYTES_MAX, Proxy, RESET_PATIENCE_NS, Settings};

#[path = "../../tests/patterns.rs"]
mod patterns;
use patterns::{assert_same, pattern};

const MS: u64 = 1_000_000;
/// More than the network takes from one end to the other.
const SLACK_NS: u64 = MS / 2;

#[derive(Clone, Debug, PartialEq)]
enum Heard {
    Opened,
    Bytes(Vec<u8>),
    Ended,
    Reset,
}

/// What a peer heard, and when.
#[derive(Clone, Default)]
struct Log(Rc<RefCell<Vec<(Time, Heard)>>>);

impl Log {
    fn note(&self, now: Time, heard: Heard) {
        self.0.borrow_mut().push((now, heard));
    }

    fn bytes(&self) -> Vec<u8> {
        let mut bytes = Vec::new();
        for (_, heard) in self.0.borrow().iter() {
            if let Heard::Bytes(piece) = heard {
                bytes.extend_from_slice(piece);
            }
        }
        bytes
    }

    fn count(&self, wanted: &Heard) -> usize {
        let log = self.0.borrow();
        log.iter().filter(|(_, heard)| heard == wanted).count()
    }

    /// When it heard that first.
    fn at(&self, wanted: impl Fn(&Heard) -> bool) -> Time {
        let log = self.0.borrow();
        let found = log.iter().find(|(_, heard)| wanted(heard));
        found.unwrap_or_else(|| panic!("not heard: {log:?}")).0
    }

    fn ends(&self) -> (usize, usize) {
        (self.count(&Heard::Ended), self.count(&Heard::Reset))
    }
}

type Deed = Rc<dyn Fn(&mut Replies)>;

/// Does one thing when it is connected, echoes if it is to, and ends when the other side does
/// unless it is stubborn.
#[derive(Clone)]
struct Actor {
    log: Log,
    first: Deed,
    echoes: bool,
    stubborn: bool,
}

impl Actor {
    fn silent() -> Actor {
        Actor::doing(|_| {})
    }

    fn doing(first: impl Fn(&mut Replies) + 'static) -> Actor {
        Actor {
            log: Log::default(),
            first: Rc::new(first),
            echoes: false,
            stubborn: false,
        }
    }

    fn echo() -> Actor {
        Actor {
            echoes: true,
            ..Actor::silent()
        }
    }

    fn stubborn(self) -> Actor {
        Actor {
            stubborn: true,
            ..self
        }
    }
}

impl Peer for Actor {
    fn opened(&mut self, _: Connection, now: Time, replies: &mut Replies) {
        self.log.note(now, Heard::Opened);
        (self.first)(replies);
    }

    fn received(&mut self, _: Connection, bytes: &[u8], now: Time, replies: &mut Replies) {
        self.log.note(now, Heard::Bytes(bytes.to_vec()));
        if self.echoes {
            replies.send(0, bytes);
        }
    }

    fn ended(&mut self, _: Connection, now: Time, replies: &mut Replies) {
        self.log.note(now, Heard::Ended);
        if !self.stubborn {
            replies.close(0);
        }
    }

    fn reset(&mut self, _: Connection, now: Time) {
        self.log.note(now, Heard::Reset);
    }
}

struct Stage {
    network: Network,
    proxy: Proxy<Sim>,
}

fn tcp(text: &str) -> Address {
    Address::Tcp(text.parse().unwrap())
}

impl Stage {
    fn new(faults: &str) -> Stage {
        Stage::seeded(1, sim::Faults::none(), faults)
    }

    fn seeded(seed: u64, network: sim::Faults, faults: &str) -> Stage {
        let network = Network::new(seed, network);
        let settings = Settings {
            listen: tcp("127.0.0.1:1"),
            to: tcp("127.0.0.1:2"),
            faults: match faults {
                "" => Faults::none(),
                line => Faults::parse_line(line).unwrap(),
            },
            seed,
        };
        let proxy = Proxy::new(network.driver(&Config::default()), &settings).unwrap();
        Stage { network, proxy }
    }

    /// Has an upstream listen. What it hears.
    fn upstream(&self, actor: Actor) -> Log {
        let log = actor.log.clone();
        self.network.serve(&tcp("127.0.0.1:2"), actor);
        log
    }

    /// Has a client connect. What it hears.
    fn client(&self, actor: Actor) -> Log {
        let log = actor.log.clone();
        self.network.dial(&tcp("127.0.0.1:1"), actor);
        log
    }

    fn play(&mut self, length_ns: u64) {
        let end = self.network.now().plus(length_ns);
        while self.network.now() < end {
            self.proxy.turn(Until::Time(end)).unwrap();
        }
    }

    #[track_caller]
    fn told(&mut self, line: &str) {
        assert_eq!(self.proxy.obey(line), "{\"ok\":true}");
    }
}

#[track_caller]
fn assert_after(at: Time, since: Time, expected_ns: u64) {
    let after_ns = at.since(since);
    let range = expected_ns..expected_ns + SLACK_NS;
    assert!(range.contains(&after_ns), "{after_ns} ns, not {range:?}");
}

#[test]
fn bytes_and_half_closes_pass_both_ways_whatever_the_network_does_to_pieces() {
    for seed in 0..4 {
        let mut stage = Stage::seeded(seed, sim::Faults::rough(), "");
        let (up, down) = (pattern(1 << 20, seed), pattern(1_500_000, seed + 10));
        let (there, back) = (up.clone(), down.clone());
        // It answers only when it has heard the end, which has to be passed on alone.
        let upstream = stage.upstream(
            Actor::doing(move |replies| {
                replies.send(200 * MS, back.clone());
                replies.close(200 * MS);
            })
            .stubborn(),
        );
        let client = stage.client(Actor::doing(move |replies| {
            replies.send(0, there.clone());
            replies.close(0);
        }));
        stage.play(2_000 * MS);
        assert_same(&upstream.bytes(), &up, "what came");
        assert_same(&client.bytes(), &down, "what came");
        assert_eq!((upstream.ends(), client.ends()), ((1, 0), (1, 0)));
        assert!(
            upstream.at(|heard| *heard == Heard::Ended)
                < client.at(|heard| matches!(heard, Heard::Bytes(_)))
        );
        let counters = stage.proxy.counters();
        assert_eq!((counters.accepted, counters.open), (1, 0));
        assert_eq!(counters.bytes_up, up.len() as u64);
        assert_eq!(counters.bytes_down, down.len() as u64);
    }
}

#[test]
fn a_delay_is_added_in_each_direction_it_is_meant_for() {
    for (faults, expected_ms) in [
        ("delay=10ms", 20),
        ("delay=10ms direction=up", 10),
        ("delay=10ms direction=down", 10),
        ("delay=0", 0),
    ] {
        let mut stage = Stage::new(faults);
        stage.upstream(Actor::echo());
        let client = stage.client(Actor::doing(|replies| replies.send(0, *b"ping")));
        stage.play(50 * MS);
        assert_eq!(client.bytes(), b"ping");
        let opened = client.at(|heard| *heard == Heard::Opened);
        let answered = client.at(|heard| matches!(heard, Heard::Bytes(_)));
        assert_after(answered, opened, expected_ms * MS);
    }
}

#[test]
fn ends_are_delayed_like_bytes() {
    let mut stage = Stage::new("delay=10ms");
    let upstream = stage.upstream(Actor::silent());
    let client = stage.client(Actor::doing(|replies| replies.close(0)));
    stage.play(50 * MS);
    let opened = client.at(|heard| *heard == Heard::Opened);
    assert_after(upstream.at(|heard| *heard == Heard::Ended), opened, 10 * MS);
    assert_after(client.at(|heard| *heard == Heard::Ended), opened, 20 * MS);
    assert_eq!(stage.proxy.counters().open, 0);
}

#[test]
fn jitter_keeps_the_order_stays_in_its_bounds_and_comes_from_the_seed() {
    let play = |seed| {
        let mut stage = Stage::seeded(seed, sim::Faults::none(), "delay=5ms jitter=20ms");
        let upstream = stage.upstream(Actor::silent());
        stage.client(Actor::doing(|replies| {
            (0..50u8).for_each(|piece| replies.send(u64::from(piece) * 30 * MS, [piece]));
        }));
        stage.play(2_000 * MS);
        assert_eq!(upstream.bytes(), (0..50).collect::<Vec<u8>>());
        let opened = upstream.at(|heard| *heard == Heard::Opened);
        let log = upstream.0.borrow();
        let arrivals = log
            .iter()
            .filter(|(_, heard)| matches!(heard, Heard::Bytes(_)));
        let late: Vec<u64> = (0..)
            .zip(arrivals)
            .map(|(piece, (at, _))| at.since(opened) - piece * 30 * MS)
            .collect();
        for late_ns in &late {
            assert!((4 * MS..26 * MS).contains(late_ns), "{late_ns}");
        }
        let spread = late.iter().max().unwrap() - late.iter().min().unwrap();
        assert!(spread > 10 * MS, "{spread}");
        late
    };
    assert_eq!(play(7), play(7));
    assert_ne!(play(7), play(8));
}

#[test]
fn so_many_new_connections_are_refused_as_was_asked_for() {
    let play = |seed, faults: &str| {
        let mut stage = Stage::seeded(seed, sim::Faults::none(), faults);
        stage.upstream(Actor::echo());
        let clients: Vec<Log> = (0..200)
            .map(|_| stage.client(Actor::doing(|replies| replies.send(MS, *b"hello"))))
            .collect();
        stage.play(100 * MS);
        let fates: Vec<(usize, usize)> = clients
            .iter()
            .map(|client| (client.bytes().len(), client.ends().1))
            .collect();
        assert!(
            fates.iter().all(|fate| [(5, 0), (0, 1)].contains(fate)),
            "{fates:?}"
        );
        let refused = fates.iter().filter(|fate| fate.1 == 1).count() as u64;
        let counters = stage.proxy.counters();
        assert_eq!((counters.accepted, counters.refused), (200, refused));
        assert_eq!(counters.open, 200 - refused);
        (refused, fates)
    };
    assert_eq!(play(1, "refuse=1").0, 200);
    assert_eq!(play(1, "refuse=0").0, 0);
    let some = play(1, "refuse=0.3");
    assert!((40..80).contains(&some.0), "{} of 200", some.0);
    assert_eq!(some, play(1, "refuse=30%"));
    assert_ne!(some.1, play(2, "refuse=0.3").1);
}

#[test]
fn a_cut_comes_behind_exactly_so_many_bytes() {
    for bytes in [1, 999, 65_536, 100_000] {
        let mut stage = Stage::seeded(3, sim::Faults::rough(), &format!("cut-after={bytes}"));
        let sent = pattern(300_000, 5);
        let down = sent.clone();
        let upstream = stage.upstream(Actor::doing(move |replies| replies.send(0, down.clone())));
        let client = stage.client(Actor::silent());
        stage.play(1_000 * MS);
        assert_same(&client.bytes(), &sent[..bytes], "what came");
        assert_eq!((client.ends(), upstream.ends()), ((1, 0), (1, 0)));
        let counters = stage.proxy.counters();
        assert_eq!((counters.cut, counters.open), (1, 0));
        assert_eq!(counters.bytes_down, bytes as u64);
    }
}

#[test]
fn a_cut_counts_only_the_direction_it_is_meant_for() {
    let mut stage = Stage::new("cut-after=10 direction=down");
    let upstream = stage.upstream(Actor::silent());
    let client = stage.client(Actor::doing(|replies| replies.send(0, [1; 1_000])));
    stage.play(100 * MS);
    assert_eq!(upstream.bytes().len(), 1_000);
    assert_eq!(client.ends(), (0, 0));
    stage.told("set direction=up");
    stage.play(100 * MS);
    assert_eq!((client.ends(), upstream.ends()), ((1, 0), (1, 0)));
}

#[test]
fn a_cut_by_reset_resets_both_sides_and_never_passes_more() {
    let mut stage = Stage::new("cut-after=1000 cut=reset");
    let upstream = stage.upstream(Actor::silent());
    let client = stage.client(Actor::doing(|replies| replies.send(0, [1; 5_000])));
    stage.play(100 * MS);
    assert!(upstream.bytes().len() <= 1_000);
    assert_eq!((client.ends(), upstream.ends()), ((0, 1), (0, 1)));
    assert_eq!(stage.proxy.counters().cut, 1);
}

#[test]
fn a_cut_comes_at_its_time_on_a_connection_where_nothing_happens() {
    for how in ["fin", "reset"] {
        let mut stage = Stage::new(&format!("cut-after=2s cut={how}"));
        stage.upstream(Actor::silent());
        let client = stage.client(Actor::silent());
        stage.play(3_000 * MS);
        let opened = client.at(|heard| *heard == Heard::Opened);
        let end = client.at(|heard| matches!(heard, Heard::Ended | Heard::Reset));
        assert_after(end, opened, 2_000 * MS);
        assert_eq!(client.count(&Heard::Reset) == 1, how == "reset");
        let counters = stage.proxy.counters();
        assert_eq!((counters.cut, counters.open), (1, 0));
    }
}

#[test]
fn who_does_not_end_behind_a_cut_is_reset_in_the_end() {
    let mut stage = Stage::new("cut-after=1s");
    let upstream = stage.upstream(Actor::silent().stubborn());
    let client = stage.client(Actor::silent());
    stage.play(2_000 * MS);
    assert_eq!((client.ends(), upstream.ends()), ((1, 0), (1, 0)));
    assert_eq!(stage.proxy.counters().open, 1);
    stage.play(engine::driver::LINGER_NS);
    assert_eq!(upstream.ends(), (1, 1));
    assert_eq!(stage.proxy.counters().open, 0);
}

#[test]
fn who_was_cut_and_is_reset_before_the_end_was_cut_once() {
    let mut stage = Stage::new("cut-after=1s");
    stage.upstream(Actor::silent().stubborn());
    stage.client(Actor::silent());
    stage.play(1_500 * MS);
    let counters = stage.proxy.counters();
    assert_eq!((counters.cut, counters.open), (1, 1));
    stage.told("reset-all");
    let counters = stage.proxy.counters();
    assert_eq!((counters.cut, counters.open), (1, 0));
}

#[test]
fn a_stall_swallows_bytes_and_holds_ends_until_it_is_over() {
    let mut stage = Stage::new("stall");
    let upstream = stage.upstream(Actor::silent());
    let client = stage.client(Actor::doing(|replies| {
        replies.send(0, *b"lost");
        replies.send(200 * MS, *b"found");
    }));
    stage.client(Actor::doing(|replies| replies.close(0)));
    stage.play(100 * MS);
    assert_eq!(
        (upstream.bytes().len(), upstream.ends(), client.ends()),
        (0, (0, 0), (0, 0))
    );
    assert_eq!(stage.proxy.counters().open, 2);
    stage.told("clear");
    stage.play(50 * MS);
    assert_eq!(upstream.ends(), (1, 0), "the end that waited");
    stage.play(100 * MS);
    assert_eq!(upstream.bytes(), b"found");
    // A stall takes what is held, too.
    stage.told("set delay=10s");
    let held = stage.client(Actor::doing(|replies| replies.send(0, *b"held")));
    stage.play(100 * MS);
    stage.told("set stall delay=0");
    stage.told("clear");
    stage.play(20_000 * MS);
    assert_eq!(upstream.bytes(), b"found");
    assert_eq!(held.ends(), (0, 0));
}

#[test]
fn a_change_takes_hold_of_connections_that_exist_and_of_what_they_hold() {
    let mut stage = Stage::new("delay=1h");
    stage.upstream(Actor::echo());
    let client = stage.client(Actor::doing(|replies| {
        replies.send(0, *b"ping");
        replies.send(1_000 * MS, *b"pong");
    }));
    stage.play(500 * MS);
    assert_eq!(client.bytes(), b"");
    stage.told("set delay=0");
    stage.play(100 * MS);
    assert_eq!(client.bytes(), b"ping");
    stage.told("set delay=10ms");
    stage.play(1_000 * MS);
    assert_eq!(client.bytes(), b"pingpong");
    let opened = client.at(|heard| *heard == Heard::Opened);
    let pong = client.at(|heard| *heard == Heard::Bytes(b"pong".to_vec()));
    assert_after(pong, opened, 1_020 * MS);
}

#[test]
fn a_limited_bandwidth_stretches_a_transfer_to_its_length() {
    let mut stage = Stage::new("bandwidth=1M direction=down");
    let sent = pattern(3 << 20, 9);
    let down = sent.clone();
    stage.upstream(Actor::doing(move |replies| {
        replies.send(0, down.clone());
        replies.close(0);
    }));
    let client = stage.client(Actor::silent());
    stage.play(4_000 * MS);
    assert_same(&client.bytes(), &sent, "what came");
    let opened = client.at(|heard| *heard == Heard::Opened);
    let took_ns = client.at(|heard| *heard == Heard::Ended).since(opened);
    assert!((2_950 * MS..3_050 * MS).contains(&took_ns), "{took_ns}");
}

#[test]
fn an_upstream_that_is_not_there_resets_the_client_and_is_counted() {
    let mut stage = Stage::new("");
    let clients: Vec<Log> = (0..5)
        .map(|_| stage.client(Actor::doing(|replies| replies.send(0, *b"hello"))))
        .collect();
    stage.play(100 * MS);
    assert!(clients.iter().all(|client| client.ends() == (0, 1)));
    let counters = stage.proxy.counters();
    assert_eq!(
        (counters.accepted, counters.upstream_failed, counters.open),
        (5, 5, 0)
    );
}

#[test]
fn a_reset_becomes_a_reset_behind_the_bytes_before_it() {
    let resets = |replies: &mut Replies| {
        replies.send(MS, *b"last words");
        replies.reset(MS + SLACK_NS);
    };
    for faults in ["", "delay=10ms"] {
        let mut stage = Stage::new(faults);
        let upstream = stage.upstream(Actor::silent());
        stage.client(Actor::doing(resets));
        stage.play(100 * MS);
        assert_eq!(
            (upstream.bytes().as_slice(), upstream.ends()),
            (&b"last words"[..], (0, 1))
        );
        let mut stage = Stage::new(faults);
        stage.upstream(Actor::doing(resets));
        let client = stage.client(Actor::silent());
        stage.play(100 * MS);
        assert_eq!(
            (client.bytes().as_slice(), client.ends()),
            (&b"last words"[..], (0, 1))
        );
        let counters = stage.proxy.counters();
        assert_eq!(
            (counters.open, counters.upstream_failed, counters.cut),
            (0, 0, 0)
        );
    }
}

#[test]
fn a_reset_does_not_wait_for_ever_behind_bytes_that_nobody_takes() {
    let mut stage = Stage::new("");
    let upstream = stage.upstream(Actor::doing(|replies| replies.stop_reading(0)));
    stage.client(Actor::doing(|replies| {
        replies.send(0, vec![1; 700_000]);
        replies.reset(100 * MS);
    }));
    stage.play(500 * MS);
    assert_eq!((upstream.ends(), stage.proxy.counters().open), ((0, 0), 1));
    stage.play(RESET_PATIENCE_NS);
    assert_eq!((upstream.ends(), stage.proxy.counters().open), ((0, 1), 0));
}

#[test]
fn a_peer_that_does_not_read_stops_the_other_and_the_proxy_stays_small() {
    let mut stage = Stage::new("");
    let upstream = stage.upstream(Actor::doing(|replies| {
        replies.stop_reading(0);
        replies.start_reading(2_000 * MS);
    }));
    let sent = pattern(20 << 20, 4);
    let there = sent.clone();
    stage.client(Actor::doing(move |replies| replies.send(0, there.clone())));
    stage.play(1_500 * MS);
    let taken = stage.proxy.received();
    // What is held, one send, what was on its way, and what the network holds for the upstream.
    let most = HELD_BYTES_MAX as u64 + 4 * 256 * 1024;
    assert!(taken <= most, "{taken} bytes were taken in");
    stage.play(20_000 * MS);
    assert_same(&upstream.bytes(), &sent, "what came");
}

#[test]
fn all_can_be_reset_and_the_proxy_goes_on() {
    let mut stage = Stage::new("");
    let upstream = stage.upstream(Actor::echo());
    let before: Vec<Log> = (0..3).map(|_| stage.client(Actor::silent())).collect();
    stage.play(10 * MS);
    stage.told("reset-all");
    let after = stage.client(Actor::doing(|replies| replies.send(0, *b"hello")));
    stage.play(10 * MS);
    assert!(before.iter().all(|client| client.ends() == (0, 1)));
    assert_eq!(upstream.ends(), (0, 3));
    assert_eq!(after.bytes(), b"hello");
    assert_eq!(
        stage.proxy.obey("counters"),
        "{\"accepted\":4,\"refused\":0,\"cut\":3,\"upstream_failed\":0,\"bytes_up\":5,\
         \"bytes_down\":5,\"open\":1}"
    );
    let answer = stage.proxy.obey("set delay=never");
    assert!(answer.starts_with("{\"error\":\"delay: "), "{answer}");
    assert_eq!(stage.proxy.faults(), Faults::none());
}

#[test]
fn a_connection_that_is_over_leaves_no_timer() {
    let mut stage = Stage::new("cut-after=1h");
    stage.upstream(Actor::echo());
    for _ in 0..10 {
        let client = stage.client(Actor::doing(|replies| replies.close(MS)));
        stage.play(10 * MS);
        assert_eq!(client.ends(), (1, 0));
        assert_eq!(stage.proxy.pending_timers(), 0);
    }
}

#[test]
fn faults_that_come_and_go_at_random_leave_nothing_behind() {
    let words = [
        "delay=3ms",
        "jitter=5ms",
        "refuse=0.3",
        "cut-after=9K",
        "cut-after=30ms",
        "cut=reset",
        "cut=fin",
        "bandwidth=100K",
        "stall",
        "stall=off",
        "direction=up",
        "direction=both",
        "cut-after=off",
        "bandwidth=off",
    ];
    for seed in 0..30 {
        let mut random = Random::seeded(seed);
        let mut stage = Stage::seeded(
            seed,
            sim::Faults {
                reset: 0.02,
                refuse: 0.05,
                ..sim::Faults::rough()
            },
            "",
        );
        stage.upstream(Actor::echo());
        for _ in 0..40 {
            let (size, after) = (random.index(40_000) + 1, random.below(40 * MS));
            let resets = random.index(3) == 0;
            stage.client(Actor::doing(move |replies| {
                replies.send(after, vec![1; size]);
                if resets {
                    replies.reset(after + 5 * MS)
                } else {
                    replies.close(after)
                }
            }));
            match random.index(20) {
                0 => stage.told("reset-all"),
                1 => stage.told("clear"),
                _ => stage.told(&format!("set {}", words[random.index(words.len())])),
            }
            let length_ns = random.below(20 * MS) + 1;
            stage.play(length_ns);
        }
        stage.told("clear");
        stage.play(2 * engine::driver::LINGER_NS);
        assert_eq!(
            stage.proxy.counters().open,
            0,
            "seed {seed}: {:?}",
            stage.proxy.counters()
        );
        assert_eq!(stage.proxy.pending_timers(), 0, "seed {seed}");
    }
}

impl<D: Driver> Proxy<D> {
    fn received(&self) -> u64 {
        self.driver().counters().bytes_received
    }
}
