//! What services are given and what becomes of what they say, over either protocol.

use super::http2::{DATA, END_STREAM, call, frame, message, opening, request, told};
use super::*;
use crate::{Context, Reply, Request, Response};

fn script(bytes: impl Into<Vec<u8>>) -> Script {
    Script {
        sends: vec![(0, bytes.into())],
        ..Script::default()
    }
}

fn post(target: &str, fields: &str, body: &str) -> String {
    let length = body.len();
    format!(
        "POST {target} HTTP/1.1\r\nHost: test\r\n{fields}Content-Length: {length}\r\n\r\n{body}"
    )
}

fn text(bytes: &[u8]) -> String {
    String::from_utf8_lossy(bytes).into_owned()
}

/// A request of HTTP/2 with a body, whose pieces come so many milliseconds after the beginning.
fn posted(path: &str, pieces: &[(u64, &[u8])]) -> Script {
    let mut sends = vec![(0, [opening(), request(1, "POST", path, false)].concat())];
    for (at, (after, piece)) in pieces.iter().enumerate() {
        let end = if at + 1 == pieces.len() {
            END_STREAM
        } else {
            0
        };
        sends.push((after * MS, frame(DATA, end, 1, piece)));
    }
    Script {
        sends,
        ..Script::default()
    }
}

#[test]
fn a_request_with_a_body_comes_whole_however_it_is_cut() {
    let bytes = post("/head", "X-A: b\r\n", "hello").repeat(3);
    let expected = "POST /head test Host=test,X-A=b,Content-Length=5 hello";
    for seed in 0..50 {
        let (heard, _) = heard(seed, Faults::rough(), &script(&*bytes), 2 * SECOND);
        assert_eq!(
            heard.text().matches(expected).count(),
            3,
            "seed {seed}: {}",
            heard.text()
        );
        assert_eq!(
            heard.text().matches("\r\nX-Seen: 1\r\n").count(),
            3,
            "seed {seed}"
        );
    }
    for seed in 0..50 {
        let client = posted("/head", &[(0, b"hel"), (1, b"lo")]);
        let (heard, _) = heard(seed, Faults::rough(), &client, 2 * SECOND);
        let stream = &told(&heard.bytes).0[&1];
        let said = text(&stream.data);
        assert_eq!(said, "POST /head test  hello", "seed {seed}");
        assert!(
            stream.fields.contains(&"x-seen: 1".to_owned()),
            "seed {seed}: {stream:?}"
        );
    }
}

#[test]
fn a_body_that_nobody_wants_is_read_and_thrown_away() {
    for target in ["/head?discard", "/head?ahead"] {
        let bytes = post(target, "", "hello") + &get("/health");
        let (heard, _) = heard(1, Faults::none(), &script(bytes), 2 * SECOND);
        let said = format!("POST {target} test Host=test,Content-Length=5 HTTP/1.1 200 OK");
        assert!(heard.text().contains(&said), "{}", heard.text());
        assert!(heard.text().ends_with("ok\n"), "{}", heard.text());
    }
}

#[test]
fn an_answer_ahead_leaves_before_the_body_has_come_where_there_are_streams() {
    for (target, ahead) in [("/head?ahead", true), ("/head?discard", false)] {
        let client = posted(target, &[(0, b"hel"), (100, b"lo")]);
        let mut stage = Stage::new(1, Faults::none());
        let heard = stage.dial(client);
        let said = || {
            let (streams, _) = told(&heard.borrow().bytes);
            streams.get(&1).map(|stream| text(&stream.data))
        };
        let expected = Some(format!("POST {target} test  "));
        stage.serve(50 * MS, || false);
        assert_eq!(said(), expected.clone().filter(|_| ahead), "{target}");
        stage.serve(150 * MS, || false);
        assert_eq!(said(), expected, "{target}");
    }
}

#[test]
fn a_refusal_waits_for_the_body_unless_the_client_asked_first() {
    let mut waiting = script(&post("/none", "", "0123456789")[..]);
    let split = waiting.sends[0].1.len() - 5;
    let rest = waiting.sends[0].1.split_off(split);
    waiting
        .sends
        .push((100 * MS, [&rest[..], get("/health").as_bytes()].concat()));
    let (heard, _) = heard(1, Faults::none(), &waiting, 2 * SECOND);
    assert!(
        heard.text().starts_with("HTTP/1.1 404 "),
        "{}",
        heard.text()
    );
    assert!(heard.text().ends_with("ok\n"), "{}", heard.text());
    assert!(heard.after(heard.last) >= 100 * MS);
    let head = post("/none", "Expect: 100-continue\r\n", "0123456789");
    let head = head.trim_end_matches("0123456789");
    let (heard, _) = self::heard(1, Faults::none(), &script(head), 2 * SECOND);
    assert!(
        heard.text().starts_with("HTTP/1.1 404 "),
        "{}",
        heard.text()
    );
    assert!(
        heard.text().contains("Connection: close"),
        "{}",
        heard.text()
    );
}

#[test]
fn what_cannot_be_said_becomes_a_500_over_either_protocol() {
    for what in ["line", "length", "connection", "interim", "name"] {
        let path = format!("/unsayable/{what}");
        let (heard, _) = heard(1, Faults::none(), &script(get(&path).repeat(2)), SECOND);
        let text = heard.text();
        assert_eq!(text.matches("HTTP/1.1 500 ").count(), 2, "{what}: {text}");
        assert_eq!(
            text.matches("Content-Length: 0\r\n\r\n").count(),
            2,
            "{what}: {text}"
        );
        let twice = [
            opening(),
            request(1, "GET", &path, true),
            request(3, "GET", &path, true),
        ];
        let (heard, _) = self::heard(1, Faults::none(), &script(twice.concat()), SECOND);
        let (streams, _) = told(&heard.bytes);
        for id in [1, 3] {
            let fields = &streams[&id].fields;
            assert_eq!(fields[0], ":status: 500", "{what}: {fields:?}");
            assert!(
                fields.contains(&"content-length: 0".to_owned()),
                "{what}: {fields:?}"
            );
        }
    }
}

#[test]
fn calls_of_grpc_are_requests_like_others_unless_the_service_offers_methods() {
    let said = message(b"one");
    let bytes = [
        opening(),
        call(1, "/head", "1H"),
        frame(DATA, END_STREAM, 1, &said),
    ];
    for (calls, path) in [(false, true), (true, false)] {
        let mut stage = Stage::offering(1, Faults::none(), calls);
        let heard = stage.dial(script(bytes.concat()));
        stage.serve(SECOND, || false);
        let (streams, _) = told(&heard.borrow().bytes);
        let reached = text(&streams[&1].data).starts_with("POST /head test te=");
        assert_eq!(reached, path, "{streams:?}");
    }
}

/// Is ready at a time, and says who was there by then.
struct Warming {
    ready_at: Time,
}

impl Service for Warming {
    fn started(&mut self, context: &mut Context<'_>) {
        context.wake_at(self.ready_at, context.ticket());
    }

    fn is_ready(&mut self, now: Time) -> Result<bool, String> {
        Ok(now >= self.ready_at)
    }

    fn call(&mut self, _: &Request<'_>, _: &mut Context<'_>) -> Reply {
        Response::of("text/plain", "warm").into()
    }
}

#[test]
fn nobody_is_accepted_before_the_service_is_ready() {
    let ready_at = Time(5 * SECOND);
    let mut stage = Stage::serving(1, Faults::none(), Warming { ready_at });
    assert!(stage.network.now() >= ready_at, "{:?}", stage.network.now());
    let heard = stage.dial(script("GET / HTTP/1.1\r\nHost: a\r\n\r\n"));
    stage.serve(SECOND, || heard.borrow().text().ends_with("warm"));
    assert!(heard.borrow().text().ends_with("warm"));
    stage.end();
}
