//! Runs whose connections a proxy leads on, or doesn't.

use std::collections::BTreeMap;

use engine::sim::{Connection, Faults, Network, Peer, Replies};
use engine::{Address, Config};
use measure::counters::ErrorKind;
use measure::time::Time;
use probe::tunnel::Tunnel;

use super::{MS, Server, plan, work};
use crate::run::assign;
use crate::worker::{Outcome, sockets_for};
use plan::protocol::{Http2, Protocol};
use plan::schedule::Schedule;
use plan::{Plan, Proxy};

/// So long after the one before, these bytes.
type Piece<'a> = (u64, &'a [u8]);

/// Answers a CONNECT with these pieces, each so long after the one before, and then serves by
/// itself what it was to lead to. None of them: it resets the connection.
struct Middle {
    pieces: Option<Vec<(u64, Vec<u8>)>>,
    closes: bool,
    unread: BTreeMap<Connection, Vec<u8>>,
    server: Server<fn(u64, Time) -> u64>,
}

const ASKED: &[u8] = b"CONNECT 127.0.0.1:80 HTTP/1.1\r\nHost: 127.0.0.1:80\r\n\
    Proxy-Authorization: Basic bWU6eA==\r\n\r\n";

impl Middle {
    fn saying(pieces: &[Piece<'_>]) -> Middle {
        let pieces = pieces.iter().map(|(ns, bytes)| (*ns, bytes.to_vec()));
        Middle {
            pieces: Some(pieces.collect()),
            closes: false,
            unread: BTreeMap::new(),
            server: Server::new(|_, _| 1_000),
        }
    }
}

impl Peer for Middle {
    fn received(&mut self, id: Connection, bytes: &[u8], now: Time, replies: &mut Replies) {
        let unread = self.unread.entry(id).or_default();
        if unread.len() == ASKED.len() {
            return self.server.received(id, bytes, now, replies);
        }
        unread.extend_from_slice(bytes);
        assert!(ASKED.starts_with(unread), "{}", unread.escape_ascii());
        if unread.len() < ASKED.len() {
            return;
        }
        let Some(pieces) = &self.pieces else {
            return replies.reset(0);
        };
        let mut at = 0;
        for (after, bytes) in pieces {
            at += after;
            replies.send(at, bytes.clone());
        }
        if self.closes {
            replies.close(at);
        }
    }
}

/// A run of `plan` through `middle`.
fn through(plan: &Plan, faults: Faults, middle: Middle) -> Outcome {
    let mut asking = plan.clone();
    let http2 = Http2::default();
    asking.protocol = Protocol::Http2 { http2 };
    asking.proxy = Some(Proxy::parse("http://me:x@127.0.0.1:80", &plan.redaction).unwrap());
    let opening = probe::proxy::opening(&asking.contacts()).unwrap().unwrap();
    let address = Address::Tcp("127.0.0.1:80".parse().unwrap());
    let network = Network::new(3, faults);
    network.serve(&address, middle);
    let assignment = assign(plan, 0, &[vec![address]], None).unwrap();
    let driver = network.driver(&Config {
        sockets: sockets_for(plan.connections as usize),
        ..Config::default()
    });
    work(Tunnel::new(Box::new(driver), opening), assignment)
}

const ESTABLISHED: &[u8] = b"HTTP/1.1 200 Connection established\r\n\r\n";

#[test]
fn exchanges_go_through_a_tunnel_however_its_answer_comes() {
    let interim: &[Piece<'_>] = &[(0, b"HTTP/1.1 102 Processing\r\n\r\n"), (MS, ESTABLISHED)];
    let cut: &[Piece<'_>] = &[
        (0, b"HTTP/1.0 2"),
        (MS, b"00 x\r\nVia: y\r\n\r"),
        (MS, b"\n"),
    ];
    for keep_alive in [true, false] {
        for pieces in [&[(5 * MS, ESTABLISHED)], interim, cut] {
            for faults in [Faults::none(), Faults::rough()] {
                let mut plan = plan(Schedule::Closed, 4, 1.0);
                (plan.duration_s, plan.count) = (None, Some(200));
                plan.keep_alive = keep_alive;
                let tally = through(&plan, faults, Middle::saying(pieces))
                    .recorder
                    .tally;
                assert_eq!((tally.completed, tally.errors.total()), (200, 0));
                // What TCP took has the tunnel in it.
                assert!(tally.tcp.min() >= MS, "{}", tally.tcp.min());
            }
        }
    }
}

#[test]
fn a_proxy_that_does_not_lead_on_is_an_error_of_its_own() {
    use ErrorKind::{ProxyFailed, ProxyRefused, ProxyTimeout};
    let long = [b"HTTP/1.1 200 OK\r\nX: ".to_vec(), vec![b'x'; 17_000]].concat();
    let table: [(&[Piece<'_>], bool, ErrorKind); 9] = [
        (
            &[(0, b"HTTP/1.1 407 Who\r\nContent-Length: 2\r\n\r\nno")],
            false,
            ProxyRefused,
        ),
        (
            &[(0, b"HTTP/1.1 403 Forbidden\r\n\r\n")],
            true,
            ProxyRefused,
        ),
        (
            &[(MS, b"HTTP/1.1 502 Bad Gateway\r\n\r\n")],
            true,
            ProxyRefused,
        ),
        (
            &[(0, b"HTTP/1.1 301 Elsewhere\r\n\r\n")],
            false,
            ProxyRefused,
        ),
        (&[(0, b"SSH-2.0-OpenSSH\r\n")], false, ProxyFailed),
        (&[(0, &long)], false, ProxyFailed),
        (&[], true, ProxyFailed),
        (&[(0, b"HTTP/1.1 200 OK\r\n")], true, ProxyFailed),
        (
            &[(0, b"HTTP/1.1 200 OK\r\n"), (1000 * MS, b"\r\n")],
            false,
            ProxyTimeout,
        ),
    ];
    for (pieces, closes, kind) in table {
        let mut middle = Middle::saying(pieces);
        middle.closes = closes;
        fails(middle, kind);
    }
    let mut middle = Middle::saying(&[]);
    middle.pieces = None;
    fails(middle, ProxyFailed);
}

#[track_caller]
fn fails(middle: Middle, kind: ErrorKind) {
    let mut plan = plan(Schedule::Constant { rate: 100.0 }, 2, 1.0);
    plan.timeout_s = 0.2;
    let tally = through(&plan, Faults::none(), middle).recorder.tally;
    assert_eq!((tally.intended, tally.completed), (100, 0), "{kind:?}");
    assert!(tally.errors.count(kind) > 0, "{kind:?}: {:?}", tally.errors);
    assert_eq!(tally.errors.total(), tally.errors.count(kind), "{kind:?}");
}
