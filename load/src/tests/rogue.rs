//! A server of every protocol that does what servers must not: at random, and as often as it is
//! told to.

use std::cell::RefCell;
use std::collections::BTreeMap;
use std::rc::Rc;

use engine::sim::{Connection, Peer, Replies};
use measure::time::Time;
use proto::http1::{HeadMemo, server as http1};
use proto::http2::server as http2;
use proto::http2::{ErrorCode, Head};
use proto::websocket::server::accept;
use proto::websocket::{self, Opcode, Reader, Role, Scratch, encode, encode_close};

use super::MS;
use measure::random::Random;

/// What is spoken.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Spoken {
    Http1,
    Http2,
    Grpc,
    WebSocket,
}

/// How often what goes wrong: shares of the requests, or of the connections.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Troubles {
    /// An answer takes up to so long.
    pub delay_ns: u64,
    /// Requests that are never answered.
    pub never: f64,
    /// Requests whose stream is refused, or reset.
    pub refused: f64,
    /// Requests that reset or end the connection.
    pub reset: f64,
    pub ended: f64,
    /// Requests that are answered before they are whole, and of those how many are not read on.
    pub early: f64,
    pub unread: f64,
    /// Requests behind which the connection is left, and connections left at once.
    pub left: f64,
    /// Connections that are ended late, or never.
    pub slow: f64,
    pub kept: f64,
    /// Connections on which nothing is ever read.
    pub stalled: f64,
    /// Connections on which something comes that nobody asked for.
    pub unasked: f64,
    /// Answers of HTTP that are redirects.
    pub moved: f64,
}

/// What the server has seen.
#[derive(Debug, Default)]
pub(crate) struct Seen {
    /// Connections that were opened, and ended by the other side.
    pub opened: u64,
    pub ended: u64,
    /// Of those: with the protocol's own word before.
    pub farewells: u64,
}

/// See the module.
pub(crate) struct Rogue {
    spoken: Spoken,
    /// Whether each connection is for one exchange.
    once: bool,
    troubles: Troubles,
    random: Random,
    talks: BTreeMap<Connection, Talk>,
    pub(crate) seen: Rc<RefCell<Seen>>,
}

struct Talk {
    machine: Machine,
    /// When the last answer leaves.
    busy_until: Time,
    /// No request is answered any more.
    left: bool,
    /// An answer has left already.
    early: bool,
    farewell: bool,
}

enum Machine {
    Http1(http1::Server),
    Http2(Box<http2::Server>),
    WebSocket(Option<Reader>, Vec<u8>),
}

/// What a request comes to.
enum Fate {
    Answer,
    Never,
    Refused,
    Reset,
    End,
    Left,
}

impl Rogue {
    pub(crate) fn new(spoken: Spoken, once: bool, troubles: Troubles, seed: u64) -> Rogue {
        Rogue {
            spoken,
            once,
            troubles,
            random: Random::new(seed, 99),
            talks: BTreeMap::new(),
            seen: Rc::default(),
        }
    }

    fn fate(&mut self) -> Fate {
        let troubles = self.troubles;
        let mut drawn = self.random.unit();
        for (share, fate) in [
            (troubles.never, Fate::Never),
            (troubles.refused, Fate::Refused),
            (troubles.reset, Fate::Reset),
            (troubles.ended, Fate::End),
            (troubles.left, Fate::Left),
        ] {
            if drawn < share {
                return fate;
            }
            drawn -= share;
        }
        Fate::Answer
    }

    fn chance(&mut self, share: f64) -> bool {
        self.random.unit() < share
    }

    /// Whether an answer is a redirect. Nothing is drawn where none is.
    fn moves(&mut self) -> bool {
        self.troubles.moved > 0.0 && self.chance(self.troubles.moved)
    }

    fn delay(&mut self) -> u64 {
        (self.random.unit() * self.troubles.delay_ns as f64) as u64
    }

    /// Ends a connection behind all of its answers: at once, late or never.
    fn end(&mut self, busy_until: Time, now: Time, replies: &mut Replies) {
        let after_ns = busy_until.since(now);
        if self.chance(self.troubles.kept) {
            return;
        }
        let late_ns = match self.chance(self.troubles.slow) {
            true => 1 + (self.random.unit() * 80.0 * MS as f64) as u64,
            false => 0,
        };
        replies.close(after_ns + late_ns);
    }

    fn http1(&mut self, talk: &mut Talk, bytes: &[u8], now: Time, replies: &mut Replies) {
        let Machine::Http1(machine) = &mut talk.machine else {
            return;
        };
        let (mut input, mut memo) = (bytes, HeadMemo::new());
        loop {
            let whole = match machine.next(&mut input, &mut memo) {
                Ok(None) => return,
                Err(rejection) => panic!("{rejection:?}"),
                Ok(Some(http1::Event::Request(_))) => false,
                Ok(Some(http1::Event::Body(_))) => continue,
                Ok(Some(http1::Event::End)) => true,
            };
            if talk.left || (whole && std::mem::take(&mut talk.early)) {
                continue;
            }
            if !whole && !self.chance(self.troubles.early) {
                continue;
            }
            talk.early = !whole;
            if talk.early && self.chance(self.troubles.unread) {
                replies.stop_reading(0);
            }
            match self.fate() {
                Fate::Never => talk.left = true,
                Fate::Reset => replies.reset(self.delay()),
                Fate::End | Fate::Refused => {
                    talk.left = true;
                    replies.close(self.delay());
                }
                fate @ (Fate::Answer | Fate::Left) => {
                    // In the order of the requests.
                    talk.busy_until = talk.busy_until.max(now).plus(self.delay());
                    talk.left = self.once || matches!(fate, Fate::Left);
                    let field = if talk.left {
                        "Connection: close\r\n"
                    } else {
                        ""
                    };
                    let line = match self.moves() {
                        true => "HTTP/1.1 307 X\r\nLocation: moved\r\nSet-Cookie: a=b",
                        false => "HTTP/1.1 200 OK",
                    };
                    let answer = format!("{line}\r\n{field}Content-Length: 2\r\n\r\nok");
                    replies.send(talk.busy_until.since(now), answer);
                    if talk.left {
                        self.end(talk.busy_until, now, replies);
                    }
                }
            }
        }
    }

    fn http2(&mut self, talk: &mut Talk, bytes: &[u8], now: Time, replies: &mut Replies) {
        let (mut input, mut out) = (bytes, Vec::new());
        loop {
            let Machine::Http2(machine) = &mut talk.machine else {
                return;
            };
            let (stream, whole) = match machine.next(&mut input, &mut out) {
                Ok(None) => break,
                Err(violation) => panic!("{violation}"),
                Ok(Some(http2::Event::Request { stream, end, .. })) => (stream, end),
                Ok(Some(http2::Event::Data {
                    stream, end: true, ..
                })) => (stream, true),
                Ok(Some(http2::Event::GoAway { .. })) => {
                    talk.farewell = true;
                    continue;
                }
                Ok(Some(_)) => continue,
            };
            if !whole || talk.left {
                continue;
            }
            let fate = self.fate();
            let code = match self.chance(0.5) {
                true => ErrorCode::REFUSED_STREAM,
                false => ErrorCode::INTERNAL_ERROR,
            };
            match fate {
                Fate::Never => {}
                Fate::Refused => machine.reset(stream, code, &mut out),
                Fate::Reset => replies.reset(self.delay()),
                Fate::End => {
                    talk.left = true;
                    replies.close(self.delay());
                }
                Fate::Left if self.chance(0.5) => {
                    // Nothing of this connection was processed (RFC 9113 §6.8).
                    talk.left = true;
                    out.extend(GOODBYE);
                    self.end(now, now, replies);
                }
                Fate::Answer | Fate::Left => {
                    let mut answer = Vec::new();
                    match self.moves() {
                        true => redirect(machine, stream, &mut answer),
                        false => respond(self.spoken, machine, stream, &mut answer),
                    }
                    let after_ns = self.delay();
                    talk.busy_until = talk.busy_until.max(now.plus(after_ns));
                    replies.send(after_ns, answer);
                    if matches!(fate, Fate::Left) {
                        talk.left = true;
                        machine.go_away(ErrorCode::NO_ERROR, &mut out);
                        self.end(talk.busy_until, now, replies);
                    }
                }
            }
        }
        replies.send(0, out);
    }

    fn websocket(&mut self, talk: &mut Talk, bytes: &[u8], now: Time, replies: &mut Replies) {
        let Machine::WebSocket(reader, unread) = &mut talk.machine else {
            return;
        };
        unread.extend_from_slice(bytes);
        let mut out = Vec::new();
        if reader.is_none() {
            if !unread.ends_with(b"\r\n\r\n") {
                return;
            }
            let head = std::mem::take(unread);
            upgrade(&head, &mut out);
            *reader = Some(Reader::new(Role::Server, websocket::Limits::default()));
            if self.chance(self.troubles.unasked) {
                encode(&mut out, Opcode::Text, true, None, b"unasked");
                (0..50).for_each(|_| encode(&mut out, Opcode::Ping, true, None, b"?"));
            }
            if self.chance(self.troubles.left) {
                talk.left = true;
                encode_close(&mut out, None, websocket::code::GOING_AWAY, "");
                self.end(now, now, replies);
            }
            return replies.send(0, out);
        }
        let input = std::mem::take(unread);
        let (mut input, mut scratch) = (&input[..], Scratch::default());
        while let Machine::WebSocket(Some(reader), _) = &mut talk.machine {
            match reader.next(&mut input, &mut scratch) {
                Ok(None) => break,
                Err(failure) => panic!("{failure:?}"),
                Ok(Some(websocket::Event::Close(_))) => {
                    talk.farewell = true;
                    if !std::mem::replace(&mut talk.left, true) {
                        let mut close = Vec::new();
                        encode_close(&mut close, None, websocket::code::NORMAL, "");
                        talk.busy_until = talk.busy_until.max(now);
                        replies.send(talk.busy_until.since(now), close);
                        self.end(talk.busy_until, now, replies);
                    }
                }
                Ok(Some(websocket::Event::End)) if !talk.left => {
                    self.message(talk, now, replies);
                }
                Ok(Some(websocket::Event::Ping(payload))) if !talk.left => match self.fate() {
                    Fate::Never => {}
                    Fate::Reset => replies.reset(self.delay()),
                    _ => encode(&mut out, Opcode::Pong, true, None, payload),
                },
                Ok(Some(_)) => {}
            }
        }
        if !out.is_empty() {
            replies.send(0, out);
        }
    }

    /// A message came.
    fn message(&mut self, talk: &mut Talk, now: Time, replies: &mut Replies) {
        let fate = self.fate();
        match fate {
            Fate::Never => {}
            Fate::Reset => replies.reset(self.delay()),
            Fate::End => {
                talk.left = true;
                replies.close(self.delay());
            }
            Fate::Answer | Fate::Left | Fate::Refused => {
                let mut answer = Vec::new();
                encode(&mut answer, Opcode::Text, true, None, b"ok");
                talk.busy_until = talk.busy_until.max(now).plus(self.delay());
                if matches!(fate, Fate::Left) {
                    talk.left = true;
                    encode_close(&mut answer, None, websocket::code::GOING_AWAY, "");
                    self.end(talk.busy_until, now, replies);
                }
                replies.send(talk.busy_until.since(now), answer);
            }
        }
    }
}

/// GOAWAY whose last stream is 0.
const GOODBYE: [u8; 17] = [0, 0, 8, 7, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0];

fn redirect(machine: &mut http2::Server, stream: u32, out: &mut Vec<u8>) {
    let head = Head::response(307, &[("location", "moved"), ("set-cookie", "a=b")]).unwrap();
    machine.answer(stream, &head, b"ok", out).unwrap();
}

fn respond(spoken: Spoken, machine: &mut http2::Server, stream: u32, out: &mut Vec<u8>) {
    if spoken == Spoken::Http2 {
        let head = Head::response(200, &[("content-type", "text/plain")]).unwrap();
        machine.answer(stream, &head, b"ok", out).unwrap();
        return;
    }
    let fields = [("content-type", "application/grpc")];
    machine.respond(stream, 200, &fields, false, out).unwrap();
    machine.data(stream, b"\0\0\0\0\0", false, out).unwrap();
    machine
        .trailers(stream, &[("grpc-status", "0")], out)
        .unwrap();
}

/// Grants the upgrade that `head` asks for.
pub(crate) fn upgrade(head: &[u8], out: &mut Vec<u8>) {
    let mut machine = http1::Server::new(http1::Limits::default());
    let mut input = head;
    match machine.next(&mut input, &mut HeadMemo::new()) {
        Ok(Some(http1::Event::Request(request))) => accept(&request).unwrap().encode(out),
        other => panic!("{other:?}"),
    }
}

impl Peer for Rogue {
    fn opened(&mut self, id: Connection, now: Time, replies: &mut Replies) {
        self.seen.borrow_mut().opened += 1;
        let mut out = Vec::new();
        let mut left = false;
        let machine = match self.spoken {
            Spoken::Http1 => Machine::Http1(http1::Server::new(http1::Limits::default())),
            Spoken::WebSocket => Machine::WebSocket(None, Vec::new()),
            Spoken::Http2 | Spoken::Grpc => {
                let config = http2::Config {
                    streams: 1 + (self.random.unit() * 12.0) as u32,
                    ..http2::Config::default()
                };
                let machine = http2::Server::new(config, &mut out);
                if self.chance(self.troubles.unasked) {
                    // PINGs, to be answered.
                    (0..50).for_each(|_| out.extend(PING));
                }
                if self.chance(self.troubles.left) {
                    left = true;
                    out.extend(GOODBYE);
                }
                Machine::Http2(Box::new(machine))
            }
        };
        replies.send(0, out);
        if left {
            self.end(now, now, replies);
        }
        if self.chance(self.troubles.stalled) {
            replies.stop_reading(self.delay());
        }
        let talk = Talk {
            machine,
            busy_until: now,
            left,
            early: false,
            farewell: false,
        };
        self.talks.insert(id, talk);
    }

    fn received(&mut self, id: Connection, bytes: &[u8], now: Time, replies: &mut Replies) {
        let Some(mut talk) = self.talks.remove(&id) else {
            return;
        };
        match self.spoken {
            Spoken::Http1 => self.http1(&mut talk, bytes, now, replies),
            Spoken::Http2 | Spoken::Grpc => self.http2(&mut talk, bytes, now, replies),
            Spoken::WebSocket => self.websocket(&mut talk, bytes, now, replies),
        }
        self.talks.insert(id, talk);
    }

    fn ended(&mut self, id: Connection, _: Time, replies: &mut Replies) {
        let mut seen = self.seen.borrow_mut();
        seen.ended += 1;
        if let Some(talk) = self.talks.remove(&id) {
            seen.farewells += u64::from(talk.farewell);
        }
        replies.close(0);
    }

    fn reset(&mut self, id: Connection, _: Time) {
        self.talks.remove(&id);
    }
}

/// A PING that is to be answered.
const PING: [u8; 17] = [0, 0, 8, 6, 0, 0, 0, 0, 0, 1, 2, 3, 4, 5, 6, 7, 8];
