//! WebSockets whose messages are told to their service, and what it says there.

use std::collections::BTreeMap;
use std::time::Duration;

use proto::websocket::{Opcode, encode, encode_close};

use super::http2::{opening, request, told};
use super::*;
use crate::{Context, Dialogue, Event, Reply, Request};

const KEY: Option<[u8; 4]> = Some([0x37, 0xfa, 0x21, 0x3d]);

/// Pieces of 10,000 bytes that are said to whoever wants them at its own pace.
const PIECES: u32 = 1000;

/// The service of these tests: it does what it's told in words, and says anything else back.
#[derive(Default)]
struct Parlour {
    /// Who is there, and how many pieces each still gets.
    open: BTreeMap<(usize, u32), (Ticket, u32)>,
    /// What it was told, a line for each.
    log: Rc<RefCell<Vec<String>>>,
}

fn key(ticket: Ticket) -> (usize, u32) {
    (ticket.socket.slot(), ticket.number)
}

impl Parlour {
    fn note(&self, what: impl Into<String>) {
        self.log.borrow_mut().push(what.into());
    }

    fn over(&mut self, ticket: Ticket) {
        let known = self.open.remove(&key(ticket));
        assert!(known.is_some(), "it's over already");
    }

    fn message(
        &mut self,
        ticket: Ticket,
        (binary, bytes): (bool, &[u8]),
        context: &mut Context<'_>,
    ) {
        match bytes {
            b"close" => {
                context.say(ticket, false, b"before");
                context.close(ticket, 4321, "so be it");
                context.say(ticket, false, b"behind");
                self.over(ticket);
            }
            b"unsayable" => {
                context.close(ticket, 1005, "");
                self.over(ticket);
            }
            b"end" => {
                context.end(ticket);
                self.over(ticket);
            }
            b"abort" => {
                context.abort(ticket);
                self.over(ticket);
            }
            b"wait" => {
                context.pause(ticket);
                context.wake_at(context.now() + Duration::from_secs(1), ticket);
            }
            b"all" => {
                let all = self.open.values().map(|(ticket, _)| *ticket);
                context.say_all(all, true, b"to all");
                context.say_all([], true, b"to nobody");
            }
            b"flood" => context.say(ticket, true, &vec![b'f'; 6 << 20]),
            b"pace" => {
                self.open.insert(key(ticket), (ticket, PIECES));
                context.say(ticket, false, b"as you like");
            }
            _ => context.say(ticket, binary, bytes),
        }
    }
}

impl Service for Parlour {
    fn call(&mut self, request: &Request<'_>, context: &mut Context<'_>) -> Reply {
        context.tag(9);
        let ticket = context.ticket();
        self.open.insert(key(ticket), (ticket, 0));
        if request.path() == b"/greeted" {
            context.say(ticket, false, b"hello");
        }
        Reply::Upgrade(Dialogue::Service)
    }

    fn due(&mut self, ticket: Ticket, context: &mut Context<'_>) {
        self.note("resumed");
        context.resume(ticket);
    }

    fn event(&mut self, ticket: Ticket, event: Event<'_>, context: &mut Context<'_>) {
        assert_eq!(ticket.tag(), 9, "{event:?}");
        let Some((_, pieces)) = self.open.get_mut(&key(ticket)) else {
            panic!("{event:?} is told of what is over");
        };
        match event {
            Event::Message { binary, bytes } => {
                let kind = if binary { "binary" } else { "text" };
                self.note(format!(
                    "{kind} {}",
                    bytes[..bytes.len().min(20)].escape_ascii()
                ));
                self.message(ticket, (binary, bytes), context);
            }
            Event::Writable if *pieces > 0 => {
                *pieces -= 1;
                context.say(ticket, true, &[b'p'; 10_000]);
            }
            Event::Writable => {}
            Event::Closed => {
                self.note("closed");
                self.over(ticket);
            }
            _ => panic!("{event:?} is none of a WebSocket"),
        }
    }
}

fn upgrade(path: &str) -> String {
    format!(
        "GET {path} HTTP/1.1\r\nHost: test\r\nUpgrade: websocket\r\nConnection: Upgrade\r\n\
         Sec-WebSocket-Version: 13\r\nSec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==\r\n\r\n"
    )
}

/// A frame of a client that ends its message.
fn frame(opcode: Opcode, payload: &[u8]) -> Vec<u8> {
    let mut bytes = Vec::new();
    encode(&mut bytes, opcode, true, KEY, payload);
    bytes
}

/// A frame as the service's end sends it.
fn heard_as(opcode: Opcode, payload: &[u8]) -> Vec<u8> {
    let mut bytes = Vec::new();
    encode(&mut bytes, opcode, true, None, payload);
    bytes
}

fn closed_as(code: u16, reason: &str) -> Vec<u8> {
    let mut bytes = Vec::new();
    encode_close(&mut bytes, None, code, reason);
    bytes
}

/// An upgrade and what follows it at once.
fn saying(frames: &[Vec<u8>]) -> Script {
    Script {
        sends: vec![(0, [upgrade("/").into_bytes(), frames.concat()].concat())],
        ..Script::default()
    }
}

fn texts(words: &[&str]) -> Vec<Vec<u8>> {
    let text = |word: &&str| frame(Opcode::Text, word.as_bytes());
    words.iter().map(text).collect()
}

/// What was heard behind the answer to the upgrade.
fn frames(heard: &Heard) -> &[u8] {
    let at = heard.bytes.windows(4).position(|four| four == b"\r\n\r\n");
    assert!(
        heard.bytes.starts_with(b"HTTP/1.1 101 "),
        "{}",
        heard.text()
    );
    &heard.bytes[at.expect("a head") + 4..]
}

/// Stops a worker, and serves to its end. Nobody is there then of whom the service doesn't know.
fn end(mut stage: Stage<Parlour>) -> Summary {
    stage.run_down();
    let open = &stage.worker.serving.service().open;
    assert!(open.is_empty(), "{open:?}");
    stage.worker.farewell().expect("the simulator never breaks")
}

/// What a client hears, what the service was told, and what was counted.
fn visit(seed: u64, faults: Faults, script: Script, length: u64) -> (Heard, Vec<String>, Summary) {
    let parlour = Parlour::default();
    let log = Rc::clone(&parlour.log);
    let mut stage = Stage::serving(seed, faults, parlour);
    let heard = stage.dial(script);
    stage.serve(length, || heard.borrow().is_over());
    let before = log.borrow().clone();
    let summary = end(stage);
    let heard = heard.borrow().clone();
    (heard, before, summary)
}

#[test]
fn messages_are_told_whole_however_they_come() {
    let mut frames_sent = Vec::new();
    let mut expected = Vec::new();
    let mut lines = Vec::new();
    for (binary, bytes) in [
        (false, 0),
        (true, 1),
        (false, 125),
        (true, 126),
        (false, 70_000),
    ] {
        let opcode = if binary { Opcode::Binary } else { Opcode::Text };
        let text = "\u{e9}".repeat(bytes);
        let (begin, rest) = text.as_bytes().split_at(bytes);
        encode(&mut frames_sent, opcode, false, KEY, begin);
        encode(&mut frames_sent, Opcode::Ping, true, KEY, b"between");
        encode(&mut frames_sent, Opcode::Continuation, true, KEY, rest);
        expected.push((
            heard_as(opcode, text.as_bytes()),
            heard_as(Opcode::Pong, b"between"),
        ));
        let kind = if binary { "binary" } else { "text" };
        let shown = &text.as_bytes()[..text.len().min(20)];
        lines.push(format!("{kind} {}", shown.escape_ascii()));
    }
    encode(&mut frames_sent, Opcode::Close, true, KEY, &[0x03, 0xe8]);
    lines.push("closed".into());
    for seed in 0..100 {
        let script = saying(std::slice::from_ref(&frames_sent));
        let (heard, log, summary) = visit(seed, Faults::rough(), script, 60 * SECOND);
        assert_eq!(log, lines, "seed {seed}");
        let came = frames(&heard);
        // Pongs leave as soon as they're read, and messages when the turn is over.
        for (message, pong) in &expected {
            assert!(
                came.windows(message.len()).any(|part| part == message),
                "seed {seed}"
            );
            assert!(
                came.windows(pong.len()).any(|part| part == pong),
                "seed {seed}"
            );
        }
        let length = expected.iter().map(|(one, two)| one.len() + two.len());
        assert_eq!(came.len(), length.sum::<usize>() + 4, "seed {seed}");
        assert!(came.ends_with(&closed_as(1000, "")), "seed {seed}");
        assert!(
            heard.ended.is_some() && summary.counts.messages == 5,
            "seed {seed}"
        );
    }
}

#[test]
fn the_service_may_speak_first() {
    let script = Script {
        sends: vec![(0, upgrade("/greeted").into())],
        ..Script::default()
    };
    let (heard, log, _) = visit(1, Faults::none(), script, SECOND);
    let hello = heard_as(Opcode::Text, b"hello");
    assert!(frames(&heard).starts_with(&hello), "{}", heard.text());
    assert!(log.is_empty(), "{log:?}");
}

#[test]
fn the_service_closes_with_a_code_and_hears_no_more() {
    let reply = |code: u16| frame(Opcode::Close, &code.to_be_bytes());
    for (word, code, reason) in [
        ("close", 4321, "so be it"),
        ("unsayable", 1011, ""),
        ("end", 1000, ""),
    ] {
        let mut script = saying(&texts(&["one", word, "two"]));
        script.sends.push((SECOND, reply(code)));
        let (heard, log, summary) = visit(1, Faults::none(), script, 10 * SECOND);
        let mut expected = heard_as(Opcode::Text, b"one");
        if word == "close" {
            expected.extend(heard_as(Opcode::Text, b"before"));
        }
        expected.extend(closed_as(code, reason));
        assert!(frames(&heard) == expected, "{word}: {}", heard.text());
        assert_eq!(log, ["text one".into(), format!("text {word}")]);
        let took = heard.after(heard.ended);
        assert!(
            (SECOND..SECOND + 10 * MS).contains(&took),
            "{word}: {took} ns"
        );
        assert_eq!(summary.counts.cut, 0);
    }
    // One that doesn't close, too, isn't waited for much longer.
    let (heard, _, _) = visit(1, Faults::none(), saying(&texts(&["close"])), 10 * SECOND);
    let took = heard.after(heard.ended);
    assert!(
        (2 * SECOND..2 * SECOND + 10 * MS).contains(&took),
        "{took} ns"
    );
    let (heard, log, _) = visit(1, Faults::none(), saying(&texts(&["abort", "two"])), SECOND);
    assert!(heard.reset.is_some());
    assert_eq!(log, ["text abort"]);
}

#[test]
fn a_client_that_leaves_is_told_once() {
    let close = frame(Opcode::Close, &3456_u16.to_be_bytes());
    let closing = saying(&[texts(&["one"]), vec![close]].concat());
    let (heard, log, _) = visit(1, Faults::none(), closing, 10 * SECOND);
    let expected = [heard_as(Opcode::Text, b"one"), closed_as(3456, "")].concat();
    assert!(frames(&heard) == expected, "{}", heard.text());
    assert_eq!(log, ["text one", "closed"]);
    let (_, log, _) = visit(
        1,
        Faults::none(),
        Script {
            closes: Some(SECOND),
            ..saying(&texts(&["one"]))
        },
        10 * SECOND,
    );
    assert_eq!(log, ["text one", "closed"]);
    // What breaks the protocol.
    let (heard, log, _) = visit(1, Faults::none(), saying(&[vec![0x83, 0x80]]), 10 * SECOND);
    assert_eq!(frames(&heard)[2..4], 1002_u16.to_be_bytes());
    assert_eq!(log, ["closed"]);
    let (_, log, summary) = visit(1, Faults::none(), saying(&[]), 200 * SECOND);
    assert_eq!((log, summary.counts.idle), (vec!["closed".into()], 1));
    let mut script = saying(&[]);
    script
        .sends
        .push((SECOND, frame(Opcode::Text, b"half")[..7].to_vec()));
    let (_, log, summary) = visit(1, Faults::none(), script, 60 * SECOND);
    assert_eq!(log, ["closed"]);
    assert_eq!(summary.counts.rejections.timeout, 1);
}

#[test]
fn an_upgrade_that_is_refused_is_told() {
    let good = upgrade("/");
    let length = "\r\nContent-Length: 1\r\n\r\nx";
    for (bytes, status) in [
        (get("/"), 426),
        (good.replace("Version: 13", "Version: 8"), 426),
        (good.replace("Sec-WebSocket-Key", "X-Key"), 400),
        (good.replace("HTTP/1.1", "HTTP/1.0"), 400),
        (good.replace("\r\n\r\n", length), 400),
    ] {
        let script = Script {
            sends: vec![(0, bytes.clone().into())],
            ..Script::default()
        };
        let (heard, log, _) = visit(1, Faults::none(), script, SECOND);
        let line = format!("HTTP/1.1 {status} ");
        assert!(heard.text().starts_with(&line), "{bytes}: {}", heard.text());
        assert_eq!(log, ["closed"], "{bytes}");
    }
    let asked = [opening(), request(1, "GET", "/", true)].concat();
    let script = Script {
        sends: vec![(0, asked)],
        ..Script::default()
    };
    let (heard, log, _) = visit(1, Faults::none(), script, SECOND);
    assert_eq!(told(&heard.bytes).0[&1].fields[0], ":status: 400");
    assert_eq!(log, ["closed"]);
}

#[test]
fn a_server_that_stops_says_so_and_tells_its_service() {
    let parlour = Parlour::default();
    let log = Rc::clone(&parlour.log);
    let mut stage = Stage::serving(1, Faults::none(), parlour);
    let heard = stage.dial(saying(&texts(&["one"])));
    let paused = stage.dial(saying(&texts(&["wait", "unheard"])));
    // Its head is on its way when the server stops.
    let good = upgrade("/");
    let (begin, rest) = good.split_at(20);
    let late = stage.dial(Script {
        sends: vec![(0, begin.into()), (500 * MS, rest.into())],
        ..Script::default()
    });
    stage.serve(100 * MS, || false);
    log.borrow_mut().clear();
    let summary = end(stage);
    let close = closed_as(1001, "the server is shutting down");
    for heard in [heard, paused] {
        assert!(frames(&heard.borrow()).ends_with(&close));
        assert!(heard.borrow().ended.is_some());
    }
    let text = late.borrow().text();
    assert!(text.starts_with("HTTP/1.1 503 "), "{text}");
    let closed = log.borrow().iter().filter(|line| *line == "closed").count();
    assert_eq!((closed, summary.counts.cut), (3, 0), "{:?}", log.borrow());
}

#[test]
fn a_client_that_takes_nothing_of_what_is_said_is_given_up() {
    let deaf = Script {
        pauses: Some((0, 500 * SECOND)),
        ..saying(&texts(&["flood"]))
    };
    let (heard, log, summary) = visit(1, Faults::none(), deaf.clone(), 100 * SECOND);
    assert!(heard.bytes.is_empty());
    assert_eq!(log, ["text flood", "closed"]);
    let counts = summary.counts;
    assert_eq!((counts.unread, counts.relieved, counts.cut), (1, 0, 0));
    // Together they take too much long before that.
    let parlour = Parlour::default();
    let log = Rc::clone(&parlour.log);
    let mut stage = Stage::serving(1, Faults::none(), parlour);
    let clients: Vec<_> = (0..10).map(|_| stage.dial(deaf.clone())).collect();
    let end_at = stage.network.now().plus(SECOND);
    while stage.network.now() < end_at {
        let turned = stage.worker.turn(&mut stage.completions, end_at);
        turned.expect("the simulator never breaks");
        let held = stage.worker.held_bytes;
        assert!(held <= 8 << 20, "{held} bytes are held");
    }
    let closed = log.borrow().iter().filter(|line| *line == "closed").count();
    let counts = stage.worker.summary().counts;
    assert_eq!((closed, counts.relieved, clients.len()), (9, 9, 10));
    end(stage);
}

#[test]
fn a_service_that_pauses_hears_the_next_message_when_it_resumes() {
    for seed in 0..30 {
        let script = saying(&texts(&["one", "wait", "two", "wait", "three"]));
        let (heard, log, _) = visit(seed, Faults::rough(), script, 3 * SECOND);
        let order = [
            "text one",
            "text wait",
            "resumed",
            "text two",
            "text wait",
            "resumed",
        ];
        assert_eq!(log[..6], order, "seed {seed}");
        assert_eq!(log[6..], ["text three"], "seed {seed}");
        let said = ["one", "two", "three"].map(|word| heard_as(Opcode::Text, word.as_bytes()));
        assert!(frames(&heard).starts_with(&said.concat()), "seed {seed}");
    }
    // What was sent before its end is told.
    let close = frame(Opcode::Close, b"");
    let mut all = texts(&["wait", "two"]);
    all.push(close);
    let script = Script {
        closes: Some(0),
        ..saying(&all)
    };
    let (_, log, _) = visit(1, Faults::none(), script, 10 * SECOND);
    assert_eq!(log, ["text wait", "resumed", "text two", "closed"]);
    // Half a message that its service doesn't want isn't late.
    let mut script = saying(&texts(&["wait"]));
    let half = &frame(Opcode::Text, &[b'h'; 100])[..50];
    script.sends.push((0, half.to_vec()));
    let (_, log, summary) = visit(1, Faults::none(), script, 29 * SECOND);
    assert_eq!(log, ["text wait", "resumed"]);
    assert_eq!(summary.counts.rejections.timeout, 0);
}

#[test]
fn who_says_more_when_there_is_room_does_not_fill_memory() {
    let mut stage = Stage::serving(1, Faults::none(), Parlour::default());
    let heard = stage.dial(Script {
        pauses: Some((0, 20 * SECOND)),
        ..saying(&texts(&["pace"]))
    });
    stage.serve(10 * SECOND, || false);
    let held = stage.worker.held_bytes;
    assert!(held < 300_000, "{held} bytes are held");
    stage.serve(20 * SECOND, || false);
    let bytes = heard.borrow().bytes.len();
    assert!(bytes > PIECES as usize * 10_000, "{bytes} bytes came");
    end(stage);
}

#[test]
fn what_is_said_to_all_is_heard_by_each_once() {
    let parlour = Parlour::default();
    let mut stage = Stage::serving(1, Faults::none(), parlour);
    let others: Vec<_> = (0..40).map(|_| stage.dial(saying(&[]))).collect();
    let gone = stage.dial(Script {
        resets: Some(10 * MS),
        ..saying(&[])
    });
    stage.serve(100 * MS, || false);
    let one = stage.dial(saying(&texts(&["all", "all"])));
    stage.serve(200 * MS, || false);
    let expected = heard_as(Opcode::Binary, b"to all").repeat(2);
    for heard in others.iter().chain([&one]) {
        assert!(
            frames(&heard.borrow()) == expected,
            "{}",
            heard.borrow().text()
        );
    }
    assert!(frames(&gone.borrow()).is_empty());
    end(stage);
}

#[test]
fn whoever_goes_is_told_whatever_was_under_way() {
    let words = [
        "close", "end", "abort", "wait", "pace", "all", "flood", "word",
    ];
    for seed in 0..200 {
        let faults = Faults {
            reset: 0.02,
            ..Faults::rough()
        };
        let mut stage = Stage::serving(seed, faults, Parlour::default());
        let clients: Vec<_> = (0..8)
            .map(|index| {
                let word = words[(seed as usize + index) % words.len()];
                let mut script = saying(&texts(&["hello", word, "more", word]));
                script.resets = (index % 3 == 0).then_some(seed * 50_000);
                script.closes = (index % 3 == 1).then_some(seed * 50_000);
                stage.dial(script)
            })
            .collect();
        stage.serve(SECOND, || false);
        end(stage);
        assert_eq!(clients.len(), 8, "seed {seed}");
    }
}
