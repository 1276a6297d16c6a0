//! Bodies in pieces both ways, connections that are taken over, and what a service is told of them,
//! over either protocol.

use std::collections::BTreeMap;
use std::time::Duration;

use super::http2::{DATA, END_STREAM, block, frame, opening, request, told};
use super::*;
use crate::{Body, Request, Response};
use crate::{Context, Event, Intake, Reply};

const HEADERS: u8 = 1;
const RST_STREAM: u8 = 3;
const END_HEADERS: u8 = 4;

/// What the service of these tests does with a request, by its path.
#[derive(Clone, Copy, Debug, PartialEq)]
enum Deed {
    /// Sends back what comes, and then the trailers.
    Echo,
    /// Answers with the number of bytes that came.
    Count,
    /// Sends so many pieces of 10,000 bytes, each when there is room.
    Down(u32),
    /// Announces so many bytes and sends others.
    Sized(u64, u64),
    /// Doesn't look at the body.
    Early,
    /// Sends five bytes and gives up.
    Cut,
    /// Gives up without an answer.
    Abort,
    /// Wants the body 100 ms later.
    Reluctant,
    /// Never answers.
    Never,
    /// Takes the connection over, and sends back what comes.
    Take,
    /// Nothing more.
    Over,
}

/// The service of these tests.
#[derive(Default)]
pub(super) struct Streaming {
    open: BTreeMap<(usize, u32), (Deed, u64)>,
    /// What it was told, a word for each.
    log: Rc<RefCell<Vec<String>>>,
}

fn key(ticket: Ticket) -> (usize, u32) {
    (ticket.socket.slot(), ticket.number)
}

fn deed(request: &Request<'_>) -> Option<Deed> {
    let path = std::str::from_utf8(request.path()).ok()?;
    let (place, rest) = path.strip_prefix("/stream/")?.split_once('/')?;
    Some(match place {
        "echo" => Deed::Echo,
        "count" => Deed::Count,
        "down" => Deed::Down(rest.parse().ok()?),
        "sized" => {
            let (announced, sent) = rest.split_once('/')?;
            Deed::Sized(announced.parse().ok()?, sent.parse().ok()?)
        }
        "early" => Deed::Early,
        "cut" => Deed::Cut,
        "abort" => Deed::Abort,
        "reluctant" => Deed::Reluctant,
        "never" => Deed::Never,
        _ => Deed::Take,
    })
}

impl Streaming {
    fn note(&self, what: impl Into<String>) {
        self.log.borrow_mut().push(what.into());
    }

    fn over(&mut self, ticket: Ticket, what: &str) {
        self.note(what);
        let known = self.open.remove(&key(ticket));
        assert!(known.is_some(), "{what} is told of a request that is over");
    }
}

impl Service for Streaming {
    fn intake(&mut self, _: &Request<'_>) -> Intake {
        Intake::Stream
    }

    fn call(&mut self, request: &Request<'_>, context: &mut Context<'_>) -> Reply {
        let Some(deed) = deed(request) else {
            return Response::sentence(404, "no such deed\n").into();
        };
        let ticket = context.ticket();
        if deed == Deed::Early {
            return Response::fixed("a/b", b"early\n").into();
        }
        context.tag(7);
        self.open.insert(key(ticket), (deed, 0));
        match deed {
            Deed::Echo | Deed::Down(_) | Deed::Cut => Response::of("a/b", Body::Stream).into(),
            Deed::Sized(bytes, _) => Response::of("a/b", Body::Sized(bytes)).into(),
            Deed::Take => Reply::Takeover,
            Deed::Abort => {
                context.abort(ticket);
                self.open.remove(&key(ticket));
                Reply::Later
            }
            Deed::Reluctant => {
                context.pause(ticket);
                let at = context.now() + Duration::from_millis(100);
                context.wake_at(at, context.ticket());
                Reply::Later
            }
            _ => Reply::Later,
        }
    }

    fn due(&mut self, ticket: Ticket, context: &mut Context<'_>) {
        context.resume(ticket);
    }

    fn event(&mut self, ticket: Ticket, event: Event<'_>, context: &mut Context<'_>) {
        assert_eq!(ticket.tag(), 7, "{event:?}");
        let Some((deed, count)) = self.open.get_mut(&key(ticket)) else {
            panic!("{event:?} is told of a request that is over");
        };
        match (event, *deed) {
            (Event::Closed, _) => self.over(ticket, "closed"),
            (Event::Data(bytes), Deed::Echo | Deed::Take) => {
                context.send(ticket, bytes);
                context.pause(ticket);
            }
            (Event::Data(bytes), _) => *count += bytes.len() as u64,
            (Event::Trailers(fields), _) => {
                let text = |bytes| String::from_utf8_lossy(bytes).into_owned();
                let pair = |(name, value)| (text(name).into(), text(value).into());
                context.end_with(ticket, fields.iter().map(pair).collect());
                *deed = Deed::Over;
            }
            (Event::End, Deed::Over) => self.over(ticket, "trailers"),
            (Event::Writable, Deed::Echo | Deed::Take) => context.resume(ticket),
            (Event::End, Deed::Echo | Deed::Take) => {
                context.end(ticket);
                self.over(ticket, "end");
            }
            (Event::End, Deed::Count | Deed::Reluctant) => {
                let text = format!("{count} bytes\n");
                context.complete(ticket, Response::of("a/b", text));
                self.over(ticket, "end");
            }
            (Event::Stopping, Deed::Take) => {
                context.send(ticket, b"bye");
                context.end(ticket);
                self.over(ticket, "stopping");
            }
            (Event::Writable, Deed::Down(pieces)) if *count < u64::from(pieces) => {
                *count += 1;
                context.send(ticket, &[b'd'; 10_000]);
            }
            (Event::Writable, Deed::Down(_)) => {
                context.end(ticket);
                self.over(ticket, "sent");
            }
            (Event::Writable, Deed::Sized(_, bytes)) => {
                context.send(ticket, &vec![b's'; bytes as usize]);
                context.end(ticket);
                self.over(ticket, "sent");
            }
            (Event::Writable, Deed::Cut) => {
                context.send(ticket, b"begun");
                context.abort(ticket);
                self.over(ticket, "cut");
            }
            _ => {}
        }
    }
}

/// What a client hears, what the service was told, and what was counted, up to `length` after the
/// beginning. Nothing is open then that the service was not told of.
fn told_and_heard(
    seed: u64,
    faults: Faults,
    script: Script,
    length: u64,
) -> (Heard, Vec<String>, Summary) {
    let streaming = Streaming::default();
    let log = Rc::clone(&streaming.log);
    let mut stage = Stage::serving(seed, faults, streaming);
    let heard = stage.dial(script);
    stage.serve(length, || heard.borrow().is_over());
    stage.run_down();
    let open = &stage.worker.serving.service().open;
    assert!(open.is_empty(), "seed {seed}: {open:?} was not told of");
    let summary = stage.worker.summary();
    let (heard, log) = (heard.borrow().clone(), log.borrow().clone());
    (heard, log, summary)
}

fn at_once(bytes: impl Into<Vec<u8>>) -> Script {
    Script {
        sends: vec![(0, bytes.into())],
        ..Script::default()
    }
}

fn post(path: &str, fields: &str, body: &[u8]) -> Vec<u8> {
    let length = body.len();
    let head = format!(
        "POST /stream/{path}/ HTTP/1.1\r\nHost: test\r\n{fields}Content-Length: {length}\r\n\r\n"
    );
    [head.as_bytes(), body].concat()
}

/// The bodies of answers in chunks, and whether the last is complete.
fn dechunked(mut text: &[u8]) -> (Vec<u8>, bool) {
    let mut body = Vec::new();
    while let Some(at) = text.windows(2).position(|two| two == b"\r\n") {
        let digits = std::str::from_utf8(&text[..at]).expect("a size");
        let size = usize::from_str_radix(digits, 16).expect("a size");
        if size == 0 {
            return (body, text[at..].ends_with(b"\r\n\r\n"));
        }
        let end = (at + 2 + size).min(text.len());
        body.extend_from_slice(&text[at + 2..end]);
        text = text.get(end + 2..).unwrap_or_default();
    }
    (body, false)
}

fn split(heard: &Heard) -> (String, Vec<u8>) {
    let bytes = &heard.bytes;
    let at = bytes.windows(4).position(|four| four == b"\r\n\r\n");
    let at = at.expect("a head") + 4;
    let head = String::from_utf8_lossy(&bytes[..at]).into_owned();
    (head, bytes[at..].to_vec())
}

fn digits(bytes: usize) -> Vec<u8> {
    (0..bytes).map(|at| b'0' + (at % 10) as u8).collect()
}

fn uploaded(path: &str, body: &[u8], piece: usize, trailers: bool) -> Vec<u8> {
    let mut bytes = [
        opening(),
        request(1, "POST", &format!("/stream/{path}/"), false),
    ]
    .concat();
    let pieces: Vec<_> = body.chunks(piece).collect();
    for (at, piece) in pieces.iter().enumerate() {
        let last = at + 1 == pieces.len() && !trailers;
        bytes.extend(frame(DATA, if last { END_STREAM } else { 0 }, 1, piece));
    }
    if trailers {
        let flags = END_STREAM | END_HEADERS;
        bytes.extend(frame(HEADERS, flags, 1, &block(&[("x-sum", "7")])));
    }
    bytes
}

#[test]
fn a_body_comes_back_as_it_comes_however_it_is_cut() {
    let body = digits(50_000);
    let close = "Connection: close\r\n";
    for seed in 0..60 {
        let script = at_once(post("echo", close, &body));
        let (heard, log, _) = told_and_heard(seed, Faults::rough(), script, 60 * SECOND);
        let (head, rest) = split(&heard);
        assert!(head.contains("Transfer-Encoding: chunked\r\n"), "{head}");
        assert!(dechunked(&rest) == (body.clone(), true), "seed {seed}");
        assert!(heard.ended.is_some(), "seed {seed}: the connection ends");
        assert_eq!(log, ["end"], "seed {seed}");
        let script = at_once(uploaded("echo", &body, 9000, false));
        let (heard, log, _) = told_and_heard(seed, Faults::rough(), script, 2 * SECOND);
        let stream = &told(&heard.bytes).0[&1];
        assert!(stream.data == body && stream.ended, "seed {seed}");
        assert_eq!(log, ["end"], "seed {seed}");
    }
}

#[test]
fn pipelined_bodies_come_back_in_their_order() {
    let bytes = [
        post("echo", "", &digits(30_000)),
        post("count", "", &digits(20_000)),
        post("early", "", &digits(20_000)),
        post("echo", "Connection: close\r\n", b"last"),
    ];
    for seed in 0..40 {
        let script = at_once(bytes.concat());
        let (heard, log, summary) = told_and_heard(seed, Faults::rough(), script, 60 * SECOND);
        let text = heard.text();
        let order = [
            "012345678901",
            "20000 bytes\n",
            "early\n",
            "4\r\nlast\r\n0\r\n\r\n",
        ];
        let places = order.map(|one| text.find(one).unwrap_or_else(|| panic!("{one}: {text}")));
        assert!(places.is_sorted(), "seed {seed}: {places:?}");
        assert_eq!(summary.counts.requests, 4, "seed {seed}");
        assert_eq!(log, ["end", "end", "end"], "seed {seed}");
    }
}

#[test]
fn http10_gets_a_body_of_unknown_length_up_to_the_end_of_the_connection() {
    let head = "GET /stream/down/3 HTTP/1.0\r\nConnection: keep-alive\r\n\r\n";
    let (heard, log, _) = told_and_heard(1, Faults::none(), at_once(head), 2 * SECOND);
    let (head, body) = split(&heard);
    assert!(
        !head.contains("chunked") && head.contains("Connection: close"),
        "{head}"
    );
    assert_eq!((body.len(), heard.ended.is_some()), (30_000, true));
    assert_eq!(log, ["sent"]);
}

#[test]
fn trailers_go_both_ways_where_there_are_frames_and_out_behind_chunks() {
    let script = at_once(uploaded("echo", b"hello", 2, true));
    let (heard, log, _) = told_and_heard(1, Faults::none(), script, 2 * SECOND);
    let stream = &told(&heard.bytes).0[&1];
    assert_eq!((&stream.data[..], stream.ended), (&b"hello"[..], true));
    assert_eq!(stream.fields.last().expect("trailers"), "x-sum: 7");
    assert_eq!(log, ["trailers"]);
}

#[test]
fn a_client_that_does_not_take_its_answer_stops_the_service_and_not_its_memory() {
    let get = "GET /stream/down/1000 HTTP/1.1\r\nHost: test\r\n\r\n";
    let window = 1_u32 << 20; // What the client grants over HTTP/2.
    let asked = [opening(), request(1, "GET", "/stream/down/1000", true)].concat();
    for (bytes, granted) in [(get.as_bytes().to_vec(), 0), (asked, window as usize)] {
        let streaming = Streaming::default();
        let mut stage = Stage::serving(1, Faults::none(), streaming);
        let heard = stage.dial(Script {
            sends: vec![(0, bytes)],
            pauses: Some((0, 20 * SECOND)),
            ..Script::default()
        });
        stage.serve(10 * SECOND, || false);
        let open = &stage.worker.serving.service().open;
        let (_, sent) = open.values().next().expect("it is not over");
        let held = stage.worker.held_bytes;
        assert!(
            *sent < 100 + granted as u64 / 10_000,
            "{sent} pieces were sent"
        );
        assert!(held < 300_000, "{held} bytes are held");
        stage.serve(20 * SECOND, || false);
        let bytes = heard.borrow().bytes.len();
        if granted == 0 {
            assert!(bytes > 10_000_000, "{bytes} bytes came in the end");
        } else {
            assert!(bytes > granted, "{bytes} bytes came, as many as it let");
        }
        stage.end();
    }
}

#[test]
fn no_more_is_sent_than_was_announced_and_less_is_no_good_end() {
    let get = |announced: u64, sent: u64| {
        format!("GET /stream/sized/{announced}/{sent} HTTP/1.1\r\nHost: test\r\n\r\n")
    };
    for (announced, sent) in [(10, 10), (10, 30), (30, 10)] {
        let whole = announced <= sent;
        let bytes = get(announced, sent) + &get(2, 2);
        let (heard, log, _) = told_and_heard(1, Faults::none(), at_once(bytes), 2 * SECOND);
        let (head, rest) = split(&heard);
        assert!(
            head.contains(&format!("Content-Length: {announced}\r\n")),
            "{head}"
        );
        assert!(rest.starts_with(&vec![b's'; announced.min(sent) as usize]));
        let next = rest[announced.min(sent) as usize..].starts_with(b"HTTP/1.1 200");
        assert_eq!(
            (next, heard.ended.is_some()),
            (whole, !whole),
            "{announced}, {sent}"
        );
        let expected = if whole { "sent" } else { "closed" };
        assert_eq!(log, ["sent", expected], "what was behind it is told");
        let path = format!("/stream/sized/{announced}/{sent}");
        let asked = [opening(), request(1, "GET", &path, true)].concat();
        let (heard, _, _) = told_and_heard(1, Faults::none(), at_once(asked), 2 * SECOND);
        let stream = &told(&heard.bytes).0[&1];
        assert_eq!((stream.ended, stream.reset), (whole, (!whole).then_some(2)));
    }
}

#[test]
fn a_service_that_gives_up_cuts_its_answer_so_that_the_client_notices() {
    for (path, begun) in [("cut", true), ("abort", false)] {
        let bytes = format!("GET /stream/{path}/ HTTP/1.1\r\nHost: test\r\n\r\n");
        let (heard, _, _) = told_and_heard(1, Faults::none(), at_once(bytes), 2 * SECOND);
        assert!(heard.ended.is_some(), "{path}");
        assert_eq!(
            heard.text().ends_with("5\r\nbegun\r\n"),
            begun,
            "{}",
            heard.text()
        );
        assert_eq!(heard.bytes.is_empty(), !begun, "{}", heard.text());
        let asked = request(1, "GET", &format!("/stream/{path}/"), true);
        let asked = [opening(), asked].concat();
        let (heard, _, _) = told_and_heard(1, Faults::none(), at_once(asked), 2 * SECOND);
        assert_eq!(told(&heard.bytes).0[&1].reset, Some(2), "INTERNAL_ERROR");
    }
}

#[test]
fn where_no_body_is_sent_its_service_is_told() {
    let head = "HEAD /stream/down/9 HTTP/1.1\r\nHost: test\r\n\r\n";
    let (heard, log, _) = told_and_heard(1, Faults::none(), at_once(head.repeat(2)), 2 * SECOND);
    assert_eq!(
        heard.text().matches("HTTP/1.1 200").count(),
        2,
        "{}",
        heard.text()
    );
    assert!(heard.text().ends_with("\r\n\r\n"));
    assert_eq!(log, ["closed", "closed"]);
    let asked = [opening(), request(1, "HEAD", "/stream/down/9", true)].concat();
    let (heard, log, _) = told_and_heard(1, Faults::none(), at_once(asked), 2 * SECOND);
    let stream = &told(&heard.bytes).0[&1];
    assert_eq!((stream.ended, stream.data.len()), (true, 0));
    assert_eq!(log, ["closed"]);
}

#[test]
fn an_early_answer_ends_the_request_and_over_http1_the_connection_goes_on() {
    let (begin, rest) = (post("early", "", &digits(9000)), post("count", "", b"abc"));
    let (first, second) = begin.split_at(200);
    let script = Script {
        sends: vec![(0, first.to_vec()), (SECOND, [second, &rest].concat())],
        ..Script::default()
    };
    let streaming = Streaming::default();
    let mut stage = Stage::serving(1, Faults::none(), streaming);
    let heard = stage.dial(script);
    stage.serve(SECOND / 2, || false);
    assert!(
        heard.borrow().text().ends_with("early\n"),
        "before the body came"
    );
    stage.serve(2 * SECOND, || false);
    let text = heard.borrow().text();
    assert!(
        text.ends_with("3 bytes\n") && !text.contains("Connection: close"),
        "{text}"
    );
    stage.end();
    let begun = uploaded("early", &digits(9000), 9000, true);
    let begun = &begun[..begun.len() - 20];
    let (heard, _, _) = told_and_heard(1, Faults::none(), at_once(begun), SECOND);
    let stream = &told(&heard.bytes).0[&1];
    assert_eq!(
        (&stream.data[..], stream.reset),
        (&b"early\n"[..], Some(0)),
        "NO_ERROR"
    );
}

#[test]
fn a_client_that_asks_first_is_told_to_send_when_its_body_is_wanted() {
    let expect = "Expect: 100-continue\r\n";
    for (path, invited_ms) in [
        ("count", Some(0)),
        ("reluctant", Some(100)),
        ("early", None),
    ] {
        let mut bytes = post(path, expect, b"hello");
        let body = bytes.split_off(bytes.len() - 5);
        let script = Script {
            sends: match invited_ms {
                Some(_) => vec![(0, bytes), (500 * MS, body)],
                None => vec![(0, bytes)],
            },
            ..Script::default()
        };
        let mut stage = Stage::serving(1, Faults::none(), Streaming::default());
        let heard = stage.dial(script);
        stage.serve(50 * MS, || false);
        let invited = |heard: &RefCell<Heard>| heard.borrow().text().contains("100 Continue");
        assert_eq!(invited(&heard), invited_ms == Some(0), "{path}");
        stage.serve(200 * MS, || false);
        assert_eq!(invited(&heard), invited_ms.is_some(), "{path}");
        stage.serve(SECOND, || false);
        let text = heard.borrow().text();
        match invited_ms {
            Some(_) => assert!(text.ends_with("5 bytes\n"), "{text}"),
            None => assert!(text.contains("Connection: close") && text.ends_with("early\n")),
        }
        stage.end();
    }
}

#[test]
fn http2_asks_for_a_body_when_it_is_wanted() {
    let fields = [
        (":method", "POST"),
        (":scheme", "http"),
        (":path", "/stream/reluctant/"),
        (":authority", "test"),
        ("expect", "100-continue"),
    ];
    let head = frame(HEADERS, END_HEADERS, 1, &block(&fields));
    let mut stage = Stage::serving(1, Faults::none(), Streaming::default());
    let heard = stage.dial(Script {
        sends: vec![
            (0, [opening(), head].concat()),
            (500 * MS, frame(DATA, END_STREAM, 1, b"hello")),
        ],
        ..Script::default()
    });
    stage.serve(50 * MS, || false);
    assert!(!told(&heard.borrow().bytes).0.contains_key(&1), "not yet");
    stage.serve(200 * MS, || false);
    assert_eq!(told(&heard.borrow().bytes).0[&1].fields, [":status: 100"]);
    stage.serve(SECOND, || false);
    assert_eq!(told(&heard.borrow().bytes).0[&1].data, b"5 bytes\n");
    stage.end();
}

#[test]
fn a_body_that_stalls_is_refused_and_one_that_its_service_holds_up_is_not() {
    let mut bytes = post("never", "", &digits(100));
    bytes.truncate(bytes.len() - 50);
    let (heard, log, summary) = told_and_heard(1, Faults::none(), at_once(bytes), 200 * SECOND);
    assert!(
        heard.text().starts_with("HTTP/1.1 408 "),
        "{}",
        heard.text()
    );
    assert_eq!(
        (log, summary.counts.rejections.timeout),
        (vec!["closed".into()], 1)
    );
    let begun = uploaded("never", &digits(100), 50, true);
    let begun = &begun[..begun.len() - 60];
    let streaming = Streaming::default();
    let log = Rc::clone(&streaming.log);
    let mut stage = Stage::serving(1, Faults::none(), streaming);
    let heard = stage.dial(at_once(begun));
    stage.serve(200 * SECOND, || false);
    let fields = &told(&heard.borrow().bytes).0[&1].fields;
    assert_eq!(fields[0], ":status: 408");
    assert_eq!(*log.borrow(), ["closed"]);
    stage.end();
    // An echo that the client does not take holds up what it sends.
    let mut stage = Stage::serving(1, Faults::none(), Streaming::default());
    let heard = stage.dial(Script {
        sends: vec![(0, post("echo", "", &digits(900_000)))],
        pauses: Some((0, 70 * SECOND)),
        ..Script::default()
    });
    stage.serve(100 * SECOND, || false);
    assert!(heard.borrow().bytes.len() > 900_000 && heard.borrow().reset.is_none());
    stage.end();
}

#[test]
fn a_body_longer_than_it_may_be_is_refused_even_where_it_is_told_as_it_comes() {
    let chunk = format!("{:x}\r\n{}\r\n", 700_000, "x".repeat(700_000));
    let head = "POST /stream/count/ HTTP/1.1\r\nHost: test\r\nTransfer-Encoding: chunked\r\n\r\n";
    let bytes = [head, &chunk, &chunk, "0\r\n\r\n"].concat();
    let (heard, log, _) = told_and_heard(1, Faults::none(), at_once(bytes), 5 * SECOND);
    assert!(
        heard.text().starts_with("HTTP/1.1 413 "),
        "{}",
        heard.text()
    );
    assert_eq!(log, ["closed"]);
    let bytes = uploaded("count", &digits(1_100_000), 16_000, false);
    let (heard, log, _) = told_and_heard(1, Faults::none(), at_once(bytes), 5 * SECOND);
    let stream = &told(&heard.bytes).0[&1];
    assert_eq!(
        (&*stream.fields[0], stream.reset),
        (":status: 413", Some(0))
    );
    assert_eq!(log, ["closed"]);
}

#[test]
fn a_connection_that_is_taken_over_carries_what_either_side_likes() {
    let head = "GET /stream/take/ HTTP/1.1\r\nHost: test\r\nUpgrade: mine\r\n\r\n";
    let body = digits(40_000);
    for seed in 0..40 {
        let bytes = [get("/none").as_bytes(), head.as_bytes(), &body].concat();
        let script = Script {
            closes: Some(SECOND),
            ..at_once(bytes)
        };
        let (heard, log, _) = told_and_heard(seed, Faults::rough(), script, 60 * SECOND);
        let (first, rest) = split(&heard);
        assert!(first.starts_with("HTTP/1.1 404 "), "{first}");
        let rest = rest.strip_prefix(b"no such deed\n").expect("its body");
        assert!(rest == body, "seed {seed}: {} bytes", rest.len());
        assert_eq!(log, ["end"], "seed {seed}");
        assert!(heard.ended.is_some(), "seed {seed}");
    }
    // One that idles is told of the end of the server, and of nothing before.
    let (heard, log, summary) = told_and_heard(1, Faults::none(), at_once(head), 500 * SECOND);
    assert_eq!((log, summary.counts.idle), (vec!["stopping".into()], 0));
    assert_eq!(heard.text(), "");
}

#[test]
fn what_can_not_be_taken_over_is_refused_and_told() {
    let take = "GET /stream/take/ HTTP/1.1\r\nHost: test\r\n\r\n";
    let waits = "GET /stream/never/ HTTP/1.1\r\nHost: test\r\n\r\n";
    let body = "POST /stream/take/ HTTP/1.1\r\nHost: test\r\nContent-Length: 1\r\n\r\nx";
    let (heard, log, _) = told_and_heard(1, Faults::none(), at_once(body), SECOND);
    assert!(
        heard.text().starts_with("HTTP/1.1 400 "),
        "{}",
        heard.text()
    );
    assert_eq!(log, ["closed"]);
    let bytes = [waits, take].concat();
    let (_, log, summary) = told_and_heard(1, Faults::none(), at_once(bytes), SECOND);
    assert_eq!((log.len(), summary.counts.cut), (2, 1), "{log:?}");
    let asked = [opening(), request(1, "GET", "/stream/take/", true)].concat();
    let (heard, log, _) = told_and_heard(1, Faults::none(), at_once(asked), SECOND);
    assert_eq!(told(&heard.bytes).0[&1].fields[0], ":status: 400");
    assert_eq!(log, ["closed"]);
}

#[test]
fn who_leaves_is_told_whatever_was_under_way_and_nobody_is_told_twice() {
    let paths = ["echo", "count", "never", "down", "take", "reluctant"];
    for seed in 0..200 {
        let streaming = Streaming::default();
        let faults = Faults {
            reset: 0.02,
            ..Faults::rough()
        };
        let mut stage = Stage::serving(seed, faults, streaming);
        let clients: Vec<_> = (0..8)
            .map(|index| {
                let path = paths[(seed as usize + index) % paths.len()];
                let bytes = match index % 2 {
                    0 => post(path, "", &digits(60_000)),
                    _ => {
                        let mut bytes = uploaded(path, &digits(60_000), 7000, false);
                        if index % 4 == 1 {
                            bytes.extend(frame(RST_STREAM, 0, 1, &[0, 0, 0, 8]));
                        }
                        bytes
                    }
                };
                let mut script = at_once(bytes);
                script.resets = (index % 3 == 0).then_some(seed * 50_000);
                script.closes = (index % 3 == 1).then_some(seed * 50_000);
                stage.dial(script)
            })
            .collect();
        stage.serve(SECOND, || false);
        stage.run_down();
        let open = &stage.worker.serving.service().open;
        assert!(
            open.is_empty(),
            "seed {seed}: {open:?} of {} clients",
            clients.len()
        );
    }
}
