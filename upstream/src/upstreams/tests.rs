//! The pool without sockets: what it wants sent, byte by byte, and what it makes of what comes,
//! however that is cut.

use std::time::Duration;

use super::*;
use crate::config::{Limits, Protocol, Timeouts};
use crate::desk::{Act, Desk};

const PROTOCOLS: [Protocol; 2] = [Protocol::Http1, Protocol::Http2];

// Types and flags of frames (RFC 9113 §6).
const DATA: u8 = 0;
const HEADERS: u8 = 1;
const RST_STREAM: u8 = 3;
const SETTINGS: u8 = 4;
const GOAWAY: u8 = 7;
const WINDOW_UPDATE: u8 = 8;
const END_STREAM: u8 = 1;
const END_HEADERS: u8 = 4;

/// `:status: 200` of the static table (RFC 7541, Appendix A).
const OK_BLOCK: &[u8] = &[0x88];

fn frame(kind: u8, flags: u8, stream: u32, payload: &[u8]) -> Vec<u8> {
    let length = (payload.len() as u32).to_be_bytes();
    let mut bytes = length[1..].to_vec();
    bytes.extend([kind, flags]);
    bytes.extend(stream.to_be_bytes());
    bytes.extend(payload);
    bytes
}

/// Frames behind the preface: type, flags, stream and payload.
fn frames(mut bytes: &[u8]) -> Vec<(u8, u8, u32, Vec<u8>)> {
    bytes = bytes
        .strip_prefix(b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n")
        .unwrap_or(bytes);
    let mut all = Vec::new();
    while let Some((head, rest)) = bytes.split_first_chunk::<9>() {
        let length = u32::from_be_bytes([0, head[0], head[1], head[2]]) as usize;
        let stream = u32::from_be_bytes([head[5], head[6], head[7], head[8]]);
        all.push((head[3], head[4], stream, rest[..length].to_vec()));
        bytes = &rest[length..];
    }
    all
}

/// A pool and what it wanted so far.
struct Bench {
    core: Upstreams,
    desk: Desk,
    now: Time,
    /// Connections in the order in which they were wanted: whether they are open, and what was
    /// sent on each.
    links: Vec<(Link, bool, Vec<u8>)>,
    told: Vec<(Exchange, String)>,
    /// Whether the connection is to be read.
    reads: Vec<(Link, bool)>,
}

impl Bench {
    fn new(settings: Settings) -> (Bench, Upstream) {
        let mut bench = Bench {
            core: Upstreams::new(Time(1)),
            desk: Desk::default(),
            now: Time(1),
            links: Vec::new(),
            told: Vec::new(),
            reads: Vec::new(),
        };
        let upstream = bench.desk.declare(settings, 1).expect("it has an address");
        bench.settle();
        (bench, upstream)
    }

    /// Does what the desk says and the pool wants.
    fn settle(&mut self) {
        let now = self.now;
        let (acts, bytes) = self.desk.take();
        for act in acts {
            match act {
                Act::Declare(settings, addresses) => self.core.declare(settings, addresses),
                Act::Remove(upstream) => self.core.remove(upstream, now),
                Act::Begin(exchange, upstream, request) => {
                    self.core.begin(exchange, upstream, request, (true, now));
                }
                Act::Send(exchange, range) => self.core.send(exchange, &bytes[range], now),
                Act::End(exchange) => self.core.end(exchange, now),
                Act::Cancel(exchange) => {
                    if self.core.cancel(exchange, now) {
                        self.desk.release(exchange);
                    }
                }
                Act::Pause(exchange) => self.core.pause(exchange, true),
                Act::Resume(exchange) => self.core.pause(exchange, false),
            }
        }
        if self.core.next_due(now) <= now {
            self.core.tick(now);
        }
        while let Some(order) = self.core.next_order() {
            match order {
                Order::Connect { link, .. } => self.links.push((link, true, Vec::new())),
                Order::Flush(link) => {
                    if let Ok(bytes) = self.core.output(link, Vec::new()) {
                        self.at(link).2.extend(bytes);
                        self.core.sent(link, now);
                    }
                }
                Order::Read(link, reads) => self.reads.push((link, reads)),
                Order::Close { link, last, .. } => {
                    let at = self.at(link);
                    at.1 = false;
                    at.2.extend(last);
                }
            }
        }
        while let Some((exchange, news)) = self.core.next_news() {
            if let News::Failed(_) = news {
                self.desk.release(exchange);
            }
            let text = match news {
                News::Writable => "writable".to_owned(),
                News::Failed(error) => format!(
                    "{:?} {} {}",
                    error.kind(),
                    error.unprocessed(),
                    error.may_be_repeated()
                ),
            };
            self.told.push((exchange, text));
        }
    }

    fn at(&mut self, link: Link) -> &mut (Link, bool, Vec<u8>) {
        let found = self.links.iter_mut().find(|(of, ..)| *of == link);
        found.expect("a connection that was wanted")
    }

    fn ask(&mut self, upstream: Upstream, request: Request) -> Exchange {
        let exchange = self.desk.begin(upstream, request).expect("a valid request");
        self.settle();
        exchange
    }

    fn connected(&mut self, number: usize) {
        self.core.connected(self.links[number].0, self.now);
        self.settle();
    }

    /// What was sent on a connection since this was asked last.
    fn sent(&mut self, number: usize) -> Vec<u8> {
        self.settle();
        std::mem::take(&mut self.links[number].2)
    }

    /// Bytes come on a connection, in pieces of at most so many.
    fn comes(&mut self, number: usize, bytes: &[u8], piece: usize) {
        let link = self.links[number].0;
        for piece in bytes.chunks(piece) {
            let (told, desk) = (&mut self.told, &mut self.desk);
            let tell = &mut |exchange: Exchange, event: Event<'_>| {
                let text = match event {
                    Event::Head(head) => format!("head {}", head.status()),
                    Event::Data(bytes) => format!("data {}", String::from_utf8_lossy(bytes)),
                    Event::Trailers(fields) => format!("trailers {}", fields.iter().count()),
                    Event::End => {
                        desk.release(exchange);
                        "end".to_owned()
                    }
                    other => panic!("{other:?} comes as news"),
                };
                match (told.last_mut(), text.strip_prefix("data ")) {
                    // Where bodies are cut says nothing.
                    (Some((of, last)), Some(more))
                        if *of == exchange && last.starts_with("data") =>
                    {
                        last.push_str(more);
                    }
                    _ => told.push((exchange, text)),
                }
                true
            };
            self.core.received(link, piece, self.now, tell);
            self.settle();
        }
    }

    fn ended(&mut self, number: usize) {
        let link = self.links[number].0;
        let (told, desk) = (&mut self.told, &mut self.desk);
        let tell = &mut |exchange: Exchange, event: Event<'_>| {
            assert!(matches!(event, Event::End), "{event:?}");
            desk.release(exchange);
            told.push((exchange, "end".to_owned()));
            true
        };
        self.core.ended(link, self.now, tell);
        self.settle();
    }

    /// What was told of an exchange.
    fn of(&self, exchange: Exchange) -> Vec<&str> {
        let its = self.told.iter().filter(|(of, _)| *of == exchange);
        its.map(|(_, text)| &**text).collect()
    }

    fn passes(&mut self, length: Duration) {
        self.now = self.now + length;
        self.core.tick(self.now);
        self.settle();
    }
}

fn settings(protocol: Protocol) -> Settings {
    Settings {
        protocol,
        ..Settings::default()
    }
}

fn get(path: &str) -> Request {
    Request::new("GET", path, "up:9").with_field("X-A", "b")
}

/// A connection of HTTP/2 that is ready, and what was said on it is forgotten.
fn ready(bench: &mut Bench, number: usize, settings: &[u8]) {
    bench.connected(number);
    bench.comes(number, &frame(SETTINGS, 0, 0, settings), usize::MAX);
}

#[test]
fn requests_of_http1_are_written_to_the_byte() {
    let cases: [(Request, &str); 6] = [
        (
            get("/a?b"),
            "GET /a?b HTTP/1.1\r\nHost: up:9\r\nX-A: b\r\n\r\n",
        ),
        (
            get("/").with_body("abc"),
            "GET / HTTP/1.1\r\nHost: up:9\r\nX-A: b\r\nContent-Length: 3\r\n\r\nabc",
        ),
        (
            Request::new("POST", "/", "h"),
            "POST / HTTP/1.1\r\nHost: h\r\nContent-Length: 0\r\n\r\n",
        ),
        (
            Request::new("POST", "/", "h").streamed(Some(3)),
            "POST / HTTP/1.1\r\nHost: h\r\nContent-Length: 3\r\n\r\nabc",
        ),
        (
            Request::new("POST", "/", "h").streamed(None),
            "POST / HTTP/1.1\r\nHost: h\r\nTransfer-Encoding: chunked\r\n\r\n\
             1\r\na\r\n2\r\nbc\r\n0\r\n\r\n",
        ),
        (
            Request::new("OPTIONS", "*", "h").with_authority("other:1"),
            "OPTIONS * HTTP/1.1\r\nHost: other:1\r\n\r\n",
        ),
    ];
    for (request, expected) in cases {
        let (mut bench, upstream) = Bench::new(settings(Protocol::Http1));
        let exchange = bench.ask(upstream, request);
        bench.connected(0);
        for piece in ["a", "bc"] {
            bench.desk.send(exchange, piece.as_bytes());
            bench.settle();
        }
        bench.desk.end(exchange);
        let sent = bench.sent(0);
        assert_eq!(String::from_utf8_lossy(&sent), expected);
    }
}

#[test]
fn requests_of_http2_wait_for_the_settings_and_are_written_to_the_byte() {
    let (mut bench, upstream) = Bench::new(settings(Protocol::Http2));
    let exchange = bench.ask(upstream, Request::new("POST", "/", "h").streamed(None));
    bench.connected(0);
    let opening = bench.sent(0);
    assert!(
        frames(&opening).iter().all(|one| one.0 != HEADERS),
        "{opening:?}"
    );
    bench.comes(0, &frame(SETTINGS, 0, 0, &[]), 1);
    let said = frames(&bench.sent(0));
    let head = said.iter().find(|one| one.0 == HEADERS).expect("a head");
    // `:method: POST`, `:scheme: http`, `:authority: h`, `:path: /` (RFC 7541, Appendix A).
    assert_eq!(
        head,
        &(HEADERS, END_HEADERS, 1, b"\x83\x86\x01\x01h\x84".to_vec())
    );
    assert_eq!(bench.of(exchange), ["writable"]);
    bench.desk.send(exchange, b"abc");
    bench.desk.end(exchange);
    let said = frames(&bench.sent(0));
    let data: Vec<u8> = said.iter().flat_map(|one| one.3.clone()).collect();
    assert_eq!(data, b"abc");
    assert_eq!(
        said.last().map(|one| (one.0, one.1)),
        Some((DATA, END_STREAM))
    );
}

#[test]
fn answers_are_told_the_same_however_they_are_cut() {
    let http1: &[u8] = b"HTTP/1.1 103 Early Hints\r\nLink: x\r\n\r\n\
        HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n\
        3\r\nabc\r\n2\r\nde\r\n0\r\nT: x\r\n\r\n";
    let http2 = [
        frame(HEADERS, END_HEADERS, 1, OK_BLOCK),
        frame(DATA, 0, 1, b"abc"),
        frame(DATA, 0, 1, b"de"),
        frame(HEADERS, END_HEADERS | END_STREAM, 1, &[0, 1, b't', 1, b'x']),
    ]
    .concat();
    for piece in [usize::MAX, 1, 2, 3, 7] {
        for protocol in PROTOCOLS {
            let (mut bench, upstream) = Bench::new(settings(protocol));
            let exchange = bench.ask(upstream, get("/"));
            let expected: &[&str] = match protocol {
                Protocol::Http1 => {
                    bench.connected(0);
                    bench.comes(0, http1, piece);
                    &["head 200", "data abcde", "end"]
                }
                Protocol::Http2 => {
                    ready(&mut bench, 0, &[]);
                    bench.comes(0, &http2, piece);
                    &["head 200", "data abcde", "trailers 1", "end"]
                }
            };
            assert_eq!(
                bench.of(exchange),
                expected,
                "{protocol:?} in pieces of {piece}"
            );
            assert!(bench.links[0].1, "the connection is kept");
            let again = bench.ask(upstream, get("/"));
            assert_eq!((bench.links.len(), bench.of(again).len()), (1, 0));
        }
    }
}

#[test]
fn an_answer_may_last_until_the_end_of_its_connection_but_not_end_before_its_length() {
    let cases = [
        ("HTTP/1.1 200 OK\r\n\r\nab", "end"),
        (
            "HTTP/1.1 200 OK\r\nContent-Length: 3\r\n\r\nab",
            "Closed false false",
        ),
        (
            "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n2\r\nab\r\n",
            "Closed false false",
        ),
    ];
    for (text, last) in cases {
        let (mut bench, upstream) = Bench::new(settings(Protocol::Http1));
        let exchange = bench.ask(upstream, get("/"));
        bench.connected(0);
        bench.comes(0, text.as_bytes(), usize::MAX);
        bench.ended(0);
        assert_eq!(bench.of(exchange), ["head 200", "data ab", last]);
        assert!(!bench.links[0].1, "{text:?}");
    }
}

#[test]
fn bodies_wait_for_the_windows_of_the_server() {
    let (mut bench, upstream) = Bench::new(settings(Protocol::Http2));
    let exchange = bench.ask(upstream, Request::new("PUT", "/", "h").streamed(None));
    // SETTINGS_INITIAL_WINDOW_SIZE: 5 bytes.
    ready(&mut bench, 0, &[0, 4, 0, 0, 0, 5]);
    bench.sent(0);
    bench.desk.send(exchange, b"0123456789");
    let said = frames(&bench.sent(0));
    assert_eq!(said, [(DATA, 0, 1, b"01234".to_vec())]);
    assert_eq!(
        bench.of(exchange),
        ["writable"],
        "no more room is told while bytes wait"
    );
    let held = bench.core.held_bytes();
    assert!(held >= 5, "{held}");
    bench.comes(0, &frame(WINDOW_UPDATE, 0, 1, &3_u32.to_be_bytes()), 1);
    assert_eq!(frames(&bench.sent(0)), [(DATA, 0, 1, b"567".to_vec())]);
    bench.comes(0, &frame(WINDOW_UPDATE, 0, 1, &9_u32.to_be_bytes()), 1);
    assert_eq!(frames(&bench.sent(0)), [(DATA, 0, 1, b"89".to_vec())]);
    assert_eq!(bench.of(exchange), ["writable", "writable"]);
    bench.desk.end(exchange);
    assert_eq!(frames(&bench.sent(0)), [(DATA, END_STREAM, 1, Vec::new())]);
}

#[test]
fn streams_keep_to_what_the_server_allows_and_the_next_goes_to_another_connection() {
    let (mut bench, upstream) = Bench::new(Settings {
        limits: Limits {
            connections: 2,
            ..Limits::default()
        },
        ..settings(Protocol::Http2)
    });
    let all: Vec<Exchange> = (0..5).map(|_| bench.ask(upstream, get("/"))).collect();
    assert_eq!(bench.links.len(), 1, "one connection is opened for all");
    // SETTINGS_MAX_CONCURRENT_STREAMS: 2.
    ready(&mut bench, 0, &[0, 3, 0, 0, 0, 2]);
    let heads = |bytes: &[u8]| frames(bytes).iter().filter(|one| one.0 == HEADERS).count();
    assert_eq!(heads(&bench.sent(0)), 2);
    assert_eq!(bench.links.len(), 2, "another one is opened for the rest");
    ready(&mut bench, 1, &[0, 3, 0, 0, 0, 2]);
    assert_eq!(heads(&bench.sent(1)), 2);
    assert_eq!(bench.links.len(), 2, "there may be no third");
    bench.comes(0, &frame(HEADERS, END_HEADERS | END_STREAM, 1, OK_BLOCK), 1);
    assert_eq!(bench.of(all[0]), ["head 200", "end"]);
    assert_eq!(heads(&bench.sent(0)), 1, "who waited goes on");
}

#[test]
fn a_goaway_declines_what_it_does_not_cover() {
    for (method, told) in [("GET", None), ("POST", Some("Declined true true"))] {
        let (mut bench, upstream) = Bench::new(settings(Protocol::Http2));
        let first = bench.ask(upstream, get("/"));
        ready(&mut bench, 0, &[]);
        let second = bench.ask(upstream, Request::new(method, "/", "h"));
        let goaway = [1_u32.to_be_bytes(), [0; 4]].concat();
        bench.comes(0, &frame(GOAWAY, 0, 0, &goaway), 1);
        match told {
            // It's sent again by itself, on another connection.
            None => {
                assert!(bench.of(second).is_empty());
                ready(&mut bench, 1, &[]);
                let said = frames(&bench.sent(1));
                assert!(said.iter().any(|one| one.0 == HEADERS));
            }
            Some(told) => assert_eq!(bench.of(second), [told]),
        }
        bench.comes(0, &frame(HEADERS, END_HEADERS | END_STREAM, 1, OK_BLOCK), 1);
        assert_eq!(bench.of(first), ["head 200", "end"]);
        assert!(!bench.links[0].1, "nothing is left on it");
    }
}

#[test]
fn cancelling_resets_a_stream_of_http2_and_ends_a_connection_of_http1() {
    for protocol in PROTOCOLS {
        let (mut bench, upstream) = Bench::new(settings(protocol));
        let exchange = bench.ask(upstream, get("/"));
        match protocol {
            Protocol::Http1 => bench.connected(0),
            Protocol::Http2 => ready(&mut bench, 0, &[]),
        }
        bench.sent(0);
        bench.desk.cancel(exchange);
        let said = bench.sent(0);
        match protocol {
            Protocol::Http1 => assert!(!bench.links[0].1 && said.is_empty()),
            Protocol::Http2 => {
                let cancel = (RST_STREAM, 0, 1, 8_u32.to_be_bytes().to_vec());
                assert_eq!(frames(&said), [cancel]);
                assert!(bench.links[0].1);
                // What was on its way is for nobody.
                bench.comes(0, &frame(HEADERS, END_HEADERS, 1, OK_BLOCK), 1);
            }
        }
        assert!(bench.of(exchange).is_empty());
        bench.desk.cancel(exchange);
        bench.settle();
        assert_eq!(bench.core.counts().cancelled, 1);
        assert_eq!(bench.core.exchanges.live(), 0);
    }
}

#[test]
fn pausing_stops_reading_http1_and_gives_no_credit_over_http2() {
    let (mut bench, upstream) = Bench::new(settings(Protocol::Http1));
    let exchange = bench.ask(upstream, get("/"));
    bench.connected(0);
    let link = bench.links[0].0;
    bench.desk.pause(exchange);
    bench.desk.pause(exchange);
    bench.settle();
    bench.desk.resume(exchange);
    bench.settle();
    assert_eq!(bench.reads, [(link, false), (link, true)]);
    // A connection that is free is read again, or its end would not be seen.
    bench.desk.pause(exchange);
    bench.settle();
    bench.comes(0, b"HTTP/1.1 204 x\r\n\r\n", usize::MAX);
    assert_eq!(bench.reads[2..], [(link, false), (link, true)]);

    let window = 1 << 16;
    let (mut bench, upstream) = Bench::new(Settings {
        limits: Limits {
            stream_window_bytes: window,
            ..Limits::default()
        },
        ..settings(Protocol::Http2)
    });
    let exchange = bench.ask(upstream, get("/"));
    ready(&mut bench, 0, &[]);
    bench.comes(0, &frame(SETTINGS, 1, 0, &[]), usize::MAX);
    bench.comes(0, &frame(HEADERS, END_HEADERS, 1, OK_BLOCK), usize::MAX);
    bench.desk.pause(exchange);
    bench.sent(0);
    let piece = frame(DATA, 0, 1, &[b'x'; 16_000]);
    bench.comes(0, &piece.repeat(4), usize::MAX);
    let credit = |bytes: &[u8]| {
        let all = frames(bytes);
        all.iter().any(|one| one.0 == WINDOW_UPDATE && one.2 == 1)
    };
    assert!(!credit(&bench.sent(0)));
    bench.desk.resume(exchange);
    assert!(credit(&bench.sent(0)));
}

#[test]
fn a_body_that_is_not_as_long_as_announced_is_a_fault_of_this_side() {
    for protocol in PROTOCOLS {
        for pieces in [&[&b"abcd"[..]][..], &[b"ab"], &[b"ab", b"cd"]] {
            let (mut bench, upstream) = Bench::new(settings(protocol));
            let exchange = bench.ask(upstream, Request::new("PUT", "/", "h").streamed(Some(3)));
            for piece in pieces {
                bench.desk.send(exchange, piece);
            }
            bench.desk.end(exchange);
            bench.settle();
            assert_eq!(bench.of(exchange), ["WrongLength true true"]);
        }
    }
}

#[test]
fn an_answer_above_the_limit_fails_and_the_rest_of_the_connection_goes_on() {
    let limits = Limits {
        body_bytes: 3,
        ..Limits::default()
    };
    let limited = |protocol| Settings {
        limits,
        ..settings(protocol)
    };
    let (mut bench, upstream) = Bench::new(limited(Protocol::Http1));
    let exchange = bench.ask(upstream, get("/"));
    bench.connected(0);
    bench.comes(
        0,
        b"HTTP/1.1 200 OK\r\nContent-Length: 4\r\n\r\nabcd",
        usize::MAX,
    );
    assert_eq!(bench.of(exchange), ["head 200", "TooLong false false"]);
    assert!(!bench.links[0].1);

    let (mut bench, upstream) = Bench::new(limited(Protocol::Http2));
    let (long, short) = (bench.ask(upstream, get("/")), bench.ask(upstream, get("/")));
    ready(&mut bench, 0, &[]);
    bench.sent(0);
    for stream in [1, 3] {
        bench.comes(0, &frame(HEADERS, END_HEADERS, stream, OK_BLOCK), 1);
    }
    bench.comes(0, &frame(DATA, 0, 1, b"abcd"), usize::MAX);
    bench.comes(0, &frame(DATA, END_STREAM, 3, b"abc"), usize::MAX);
    assert_eq!(bench.of(long), ["head 200", "TooLong false false"]);
    assert_eq!(bench.of(short), ["head 200", "data abc", "end"]);
    let said = frames(&bench.sent(0));
    assert!(
        said.iter().any(|one| one.0 == RST_STREAM && one.2 == 1),
        "{said:?}"
    );
}

#[test]
fn limits_of_time_are_kept_to_the_nanosecond() {
    let timeouts = Timeouts {
        connect: Duration::from_secs(1),
        head: Duration::from_secs(2),
        whole: Duration::from_secs(5),
        idle: Duration::from_secs(9),
    };
    let nanosecond = Duration::from_nanos(1);
    let slow = Settings {
        timeouts,
        ..settings(Protocol::Http1)
    };
    let (mut bench, upstream) = Bench::new(slow);
    let exchange = bench.ask(upstream, get("/"));
    bench.passes(timeouts.connect - nanosecond);
    assert!(bench.of(exchange).is_empty());
    bench.passes(nanosecond);
    assert_eq!(bench.of(exchange), ["ConnectTimeout true true"]);

    let exchange = bench.ask(upstream, get("/"));
    bench.connected(1);
    bench.passes(timeouts.head - nanosecond);
    assert!(bench.of(exchange).is_empty());
    bench.passes(nanosecond);
    assert_eq!(bench.of(exchange), ["HeadTimeout false true"]);

    let exchange = bench.ask(upstream, get("/"));
    bench.connected(2);
    bench.comes(2, b"HTTP/1.1 200 OK\r\nContent-Length: 9\r\n\r\n", 1);
    bench.passes(timeouts.whole - nanosecond);
    assert_eq!(bench.of(exchange), ["head 200"]);
    bench.passes(nanosecond);
    assert_eq!(bench.of(exchange), ["head 200", "Deadline false false"]);

    let exchange = bench.ask(upstream, get("/"));
    bench.connected(3);
    bench.comes(3, b"HTTP/1.1 204 x\r\n\r\n", 1);
    assert_eq!(bench.of(exchange), ["head 204", "end"]);
    bench.passes(timeouts.idle - nanosecond);
    assert!(bench.links[3].1);
    bench.passes(nanosecond);
    assert!(!bench.links[3].1);
    assert!(bench.core.is_empty());
    assert_eq!(bench.core.held_bytes(), 0);
}

#[test]
fn another_address_is_tried_before_anybody_is_told() {
    let (mut bench, _) = Bench::new(settings(Protocol::Http1));
    let two = bench
        .desk
        .declare(settings(Protocol::Http1), 2)
        .expect("two addresses");
    let exchange = bench.ask(two, get("/"));
    bench
        .core
        .broke(bench.links[0].0, Broke::Refused, bench.now);
    bench.settle();
    assert!(bench.of(exchange).is_empty());
    assert_eq!(bench.links.len(), 2);
    bench
        .core
        .broke(bench.links[1].0, Broke::Refused, bench.now);
    bench.settle();
    assert_eq!(bench.of(exchange), ["Refused true true"]);
    assert_eq!(bench.core.counts().connect_failures, 2);
}

/// A stream at a time, which a server that is full says in its SETTINGS (RFC 9113 §6.5.2).
const ONE_STREAM: &[u8] = &[0, 3, 0, 0, 0, 1];

#[test]
fn while_a_full_connection_stands_a_refused_one_is_not_tried_again_and_again() {
    let (mut bench, upstream) = Bench::new(settings(Protocol::Http2));
    let first = bench.ask(upstream, get("/"));
    ready(&mut bench, 0, ONE_STREAM);
    let second = bench.ask(upstream, get("/"));
    assert_eq!(bench.links.len(), 2, "another is opened for it");
    bench
        .core
        .broke(bench.links[1].0, Broke::Refused, bench.now);
    bench.settle();
    assert_eq!(bench.links.len(), 2);
    assert!(
        bench.of(second).is_empty(),
        "it waits for the one that stands"
    );
    let answer = frame(HEADERS, END_HEADERS | END_STREAM, 1, OK_BLOCK);
    bench.comes(0, &answer, usize::MAX);
    let answer = frame(HEADERS, END_HEADERS | END_STREAM, 3, OK_BLOCK);
    bench.comes(0, &answer, usize::MAX);
    assert_eq!(bench.of(first), ["head 200", "end"]);
    assert_eq!(bench.of(second), ["head 200", "end"]);
}

#[test]
fn where_only_a_leaving_connection_stands_a_refused_one_is_told() {
    let (mut bench, upstream) = Bench::new(settings(Protocol::Http2));
    let first = bench.ask(upstream, get("/"));
    ready(&mut bench, 0, &[]);
    bench.comes(
        0,
        &frame(GOAWAY, 0, 0, &[0, 0, 0, 1, 0, 0, 0, 0]),
        usize::MAX,
    );
    let second = bench.ask(upstream, get("/"));
    assert_eq!(bench.links.len(), 2);
    bench
        .core
        .broke(bench.links[1].0, Broke::Refused, bench.now);
    bench.settle();
    assert_eq!(bench.of(second), ["Refused true true"]);
    assert_eq!(bench.links.len(), 2);
    assert!(bench.of(first).is_empty(), "it goes on");
}

#[test]
fn who_found_no_socket_is_served_when_one_is_free_again() {
    let (mut bench, upstream) = Bench::new(settings(Protocol::Http1));
    let first = bench.ask(upstream, get("/"));
    bench.connected(0);
    let second = bench.ask(upstream, get("/"));
    bench
        .core
        .broke(bench.links[1].0, Broke::NoSocket, bench.now);
    bench.settle();
    assert_eq!((bench.links.len(), bench.of(second).len()), (2, 0));
    bench.comes(0, b"HTTP/1.1 204 x\r\nConnection: close\r\n\r\n", 1);
    assert_eq!(bench.of(first), ["head 204", "end"]);
    assert_eq!(bench.links.len(), 3, "its socket is free");
    bench.connected(2);
    bench.comes(2, b"HTTP/1.1 204 x\r\n\r\n", 1);
    assert_eq!(bench.of(second), ["head 204", "end"]);
}

#[test]
fn who_fails_at_once_is_told_in_the_next_turn() {
    let (mut bench, upstream) = Bench::new(settings(Protocol::Http1));
    bench.core.cut(bench.now);
    let exchange = bench.desk.begin(upstream, get("/")).expect("a request");
    let (acts, _) = bench.desk.take();
    for act in acts {
        if let Act::Begin(exchange, upstream, request) = act {
            let now = bench.now;
            bench.core.begin(exchange, upstream, request, (true, now));
        }
    }
    assert!(bench.core.is_settled() && !bench.core.is_empty());
    assert_eq!(bench.core.next_due(bench.now), bench.now);
    bench.core.tick(bench.now);
    let told = bench.core.next_news().map(|(of, _)| of);
    assert_eq!(told, Some(exchange));
}

#[test]
fn bodies_that_wait_for_credit_are_counted() {
    let (mut bench, upstream) = Bench::new(settings(Protocol::Http2));
    let request = Request::new("POST", "/", "h").with_body(vec![0; 1 << 20]);
    let exchange = bench.ask(upstream, request);
    ready(&mut bench, 0, &[]);
    assert!(bench.of(exchange).is_empty());
    assert!(bench.core.held_bytes() > 900_000, "65,535 bytes have left");
    bench.desk.cancel(exchange);
    bench.settle();
    assert!(bench.core.held_bytes() < 200_000);
}

#[test]
fn a_removed_upstream_fails_those_who_wait_and_lets_the_others_finish() {
    let (mut bench, upstream) = Bench::new(Settings {
        limits: Limits {
            connections: 1,
            ..Limits::default()
        },
        ..settings(Protocol::Http1)
    });
    let (first, second) = (bench.ask(upstream, get("/")), bench.ask(upstream, get("/")));
    bench.connected(0);
    bench.desk.remove(upstream);
    bench.settle();
    assert_eq!(bench.of(second), ["NoUpstream true true"]);
    let third = bench.ask(upstream, get("/"));
    assert_eq!(bench.of(third), ["NoUpstream true true"]);
    bench.comes(0, b"HTTP/1.1 204 x\r\n\r\n", 1);
    assert_eq!(bench.of(first), ["head 204", "end"]);
    assert!(bench.core.is_empty(), "its connection is closed");
}

#[test]
fn what_is_held_is_given_up_by_the_heaviest_first() {
    let (mut bench, upstream) = Bench::new(settings(Protocol::Http1));
    let light = bench.ask(upstream, get("/").with_body(vec![0; 1_000]));
    let heavy = bench.ask(upstream, get("/").with_body(vec![0; 100_000]));
    assert!(bench.core.held_bytes() > 101_000);
    bench.core.relieve(1, bench.now);
    bench.settle();
    assert_eq!(bench.of(heavy), ["Memory true true"]);
    assert!(bench.of(light).is_empty());
    bench.core.cut(bench.now);
    bench.settle();
    assert_eq!(bench.of(light), ["Stopping true true"]);
    assert_eq!(bench.core.held_bytes(), 0);
    assert!(bench.core.is_empty());
}
