//! The upgrade: what is asked, what is accepted, and every way of refusing.

use proto::http1::HeadMemo;
use proto::http1::server::{self, Event, Server};
use proto::websocket::client::{Answered, Opening};
use proto::websocket::server::accept;

use crate::choppings::every_chopping;

const SEED: u64 = 0x5eed_0456;

/// The nonce of the example in RFC 6455 §1.3, and what belongs to it.
const NONCE: &[u8; 16] = b"the sample nonce";
const KEY: &str = "Sec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==\r\n";
const ACCEPT: &str = "Sec-WebSocket-Accept: s3pPLMBiTxaQ9kYGzzhZRbK+xOo=\r\n";

const UPGRADE: &str = "Upgrade: websocket\r\n";
const CONNECTION: &str = "Connection: Upgrade\r\n";
const VERSION: &str = "Sec-WebSocket-Version: 13\r\n";

#[test]
fn the_request_is_these_bytes_and_carries_a_key_of_its_own() {
    let fields = [("Sec-WebSocket-Protocol", "chat, superchat"), ("X-A", "b")];
    let opening = Opening::new("/chat?x", "server.example", &fields).expect("a valid request");
    let mut out = b"before".to_vec();
    opening.begin(*NONCE, &mut out);
    let expected = format!(
        "beforeGET /chat?x HTTP/1.1\r\nHost: server.example\r\n{UPGRADE}{CONNECTION}{VERSION}\
         Sec-WebSocket-Protocol: chat, superchat\r\nX-A: b\r\n{KEY}\r\n"
    );
    assert_eq!(String::from_utf8_lossy(&out), expected);
    let mut other = Vec::new();
    opening.begin([0; 16], &mut other);
    assert_ne!(out[6..], other);
}

#[test]
fn fields_that_belong_to_the_upgrade_cannot_be_given() {
    for name in [
        "upgrade",
        "Connection",
        "Sec-WebSocket-Key",
        "sec-websocket-extensions",
    ] {
        let wrong = Opening::new("/", "a", &[(name, "x")]).expect_err("not to be given");
        assert!(wrong.to_string().contains("cannot be given"), "{wrong}");
    }
    Opening::new("/", "a", &[("Host", "b")]).expect("another host");
    Opening::new("/ x", "a", &[]).expect_err("a target with a space");
}

#[test]
fn the_server_proves_that_it_read_the_key() {
    let both = format!("{UPGRADE}{CONNECTION}{ACCEPT}");
    for (fields, expected) in [
        (both.clone(), "upgraded"),
        (
            format!("X: y\r\nupgrade: WebSocket\r\nconnection: x, UPGRADE\r\n{ACCEPT}"),
            "upgraded",
        ),
        (
            format!("{both}Sec-WebSocket-Protocol: superchat\r\n"),
            "upgraded",
        ),
        (format!("{both}Sec-WebSocket-Extensions:\r\n"), "upgraded"),
        (
            format!("{CONNECTION}{ACCEPT}"),
            "an upgrade to something else than websocket (RFC 6455 §4.1)",
        ),
        (
            format!("Upgrade: h2c\r\n{CONNECTION}{ACCEPT}"),
            "an upgrade to something else than websocket (RFC 6455 §4.1)",
        ),
        (
            format!("{UPGRADE}{ACCEPT}"),
            "an upgrade without Connection: Upgrade (RFC 6455 §4.1)",
        ),
        (
            format!("{UPGRADE}{CONNECTION}"),
            "a Sec-WebSocket-Accept that does not belong to the key (RFC 6455 §4.1)",
        ),
        (
            format!("{UPGRADE}{CONNECTION}{}", ACCEPT.replace("s3p", "S3p")),
            "a Sec-WebSocket-Accept that does not belong to the key (RFC 6455 §4.1)",
        ),
        (
            format!("{both}Sec-WebSocket-Extensions: permessage-deflate\r\n"),
            "an extension that was not asked for (RFC 6455 §4.1)",
        ),
        (
            format!("{both}Sec-WebSocket-Protocol: Chat\r\n"),
            "a subprotocol that was not asked for (RFC 6455 §4.1)",
        ),
    ] {
        let answer = format!("HTTP/1.1 101 Switching Protocols\r\n{fields}\r\n");
        check_answer(&answer, expected);
        let interim = format!("HTTP/1.1 103 Early Hints\r\n\r\n{answer}");
        check_answer(&interim, expected);
    }
}

#[test]
fn a_refusal_is_told_with_its_status() {
    let refused = |status: u16| format!("refused with {status}");
    for status in [200, 302, 400, 403, 404, 426, 503] {
        let answer = format!("HTTP/1.1 {status} x\r\nContent-Length: 3\r\n\r\n");
        check_answer(&answer, &refused(status));
    }
    check_answer(
        "SSH-2.0-x\r\n",
        "a status line that does not start with HTTP/ (RFC 9112 §4)",
    );
    check_answer("HTTP/1.1 101 Switching Protocols\r\n", "nothing yet");
}

/// Reads an answer in every chopping, with frames behind it that must be left alone.
fn check_answer(answer: &str, expected: &str) {
    const FRAMES: &[u8] = b"\x81\x05Hello";
    let opening = Opening::new("/", "a", &[("Sec-WebSocket-Protocol", "chat, superchat")]);
    let opening = opening.expect("a valid request");
    let input = [answer.as_bytes(), FRAMES].concat();
    let mut choppings = every_chopping(&input, SEED);
    choppings.push(("whole".to_owned(), vec![&input]));
    for (how, pieces) in choppings {
        let mut handshake = opening.begin(*NONCE, &mut Vec::new());
        let (mut seen, mut left) = ("nothing yet".to_owned(), 0);
        for piece in pieces {
            if seen != "nothing yet" {
                left += piece.len();
                continue;
            }
            let mut piece = piece;
            match handshake.next(&mut piece) {
                Ok(None) => assert!(piece.is_empty(), "input is left over"),
                Ok(Some(Answered::Upgraded)) => seen = "upgraded".to_owned(),
                Ok(Some(Answered::Refused { status })) => seen = format!("refused with {status}"),
                Err(violation) => seen = violation.to_string(),
            }
            left += piece.len();
        }
        if expected == "nothing yet" {
            // The frames are taken for the rest of the head, which they cannot be.
            assert!(!seen.starts_with("upgraded"), "{how}");
            continue;
        }
        assert_eq!(seen, expected, "{how}: {answer:?}");
        if expected == "upgraded" {
            assert_eq!(left, FRAMES.len(), "{how}: frames were taken for HTTP");
        }
    }
}

#[test]
fn a_request_is_accepted_or_refused_with_a_status_that_says_why() {
    let all = format!("{UPGRADE}{CONNECTION}{VERSION}{KEY}");
    let key = "400 a Sec-WebSocket-Key that is not 16 bytes in base64 (RFC 6455 §4.2.1)";
    let version = "426 a WebSocket upgrade to another version than 13 (RFC 6455 §4.2.1)";
    let no_upgrade = "426 a request without Upgrade: websocket (RFC 6455 §4.2.1)";
    let no_connection = "400 a WebSocket upgrade without Connection: Upgrade (RFC 6455 §4.2.1)";
    let accepted = format!("HTTP/1.1 101 Switching Protocols\r\n{UPGRADE}{CONNECTION}{ACCEPT}\r\n");
    for (line, fields, expected) in [
        ("GET / HTTP/1.1", all.clone(), &accepted[..]),
        (
            "GET / HTTP/1.1",
            format!(
                "UPGRADE: h2c, WebSocket\r\nConnection: keep-alive\r\n{CONNECTION}{VERSION}{KEY}"
            ),
            &accepted,
        ),
        (
            "GET / HTTP/1.1",
            format!("{all}Sec-WebSocket-Extensions: permessage-deflate\r\n"),
            &accepted,
        ),
        (
            "POST / HTTP/1.1",
            all.clone(),
            "405 a WebSocket upgrade that is not a GET (RFC 6455 §4.2.1)",
        ),
        (
            "GET / HTTP/1.0",
            all.clone(),
            "400 a WebSocket upgrade over HTTP/1.0 (RFC 6455 §4.2.1)",
        ),
        (
            "GET / HTTP/1.1",
            format!("{all}Content-Length: 1\r\n"),
            "400 a WebSocket upgrade with a body (RFC 6455 §4.2.1)",
        ),
        (
            "GET / HTTP/1.1",
            format!("{CONNECTION}{VERSION}{KEY}"),
            no_upgrade,
        ),
        ("GET / HTTP/1.1", String::new(), no_upgrade),
        (
            "GET / HTTP/1.1",
            format!("{UPGRADE}{VERSION}{KEY}"),
            no_connection,
        ),
        ("GET / HTTP/1.1", all.replace(VERSION, ""), version),
        ("GET / HTTP/1.1", all.replace("13", "8"), version),
        ("GET / HTTP/1.1", format!("{all}{VERSION}"), version),
        ("GET / HTTP/1.1", all.replace(KEY, ""), key),
        ("GET / HTTP/1.1", format!("{all}{KEY}"), key),
        ("GET / HTTP/1.1", all.replace("==", ""), key),
        ("GET / HTTP/1.1", all.replace("dGhl", "d!hl"), key),
        ("GET / HTTP/1.1", all.replace("dGhl", ""), key),
        ("GET / HTTP/1.1", all.replace("dGhl", "dGhldGhl"), key),
        (
            "GET / HTTP/1.1",
            all.replace("dGhl", &"dGhl".repeat(50)),
            key,
        ),
    ] {
        let request = format!("{line}\r\nHost: a\r\n{fields}\r\n");
        assert_eq!(judged(&request), expected, "{request}");
    }
}

fn judged(request: &str) -> String {
    let (mut server, mut memo) = (Server::new(server::Limits::default()), HeadMemo::new());
    let mut input = request.as_bytes();
    let event = server.next(&mut input, &mut memo);
    let Ok(Some(Event::Request(request))) = event else {
        panic!("{request} is not a request: {event:?}");
    };
    match accept(&request) {
        Ok(acceptance) => {
            let mut out = Vec::new();
            acceptance.encode(&mut out);
            String::from_utf8(out).expect("an ASCII head")
        }
        Err(rejection) => format!("{} {}", rejection.status, rejection.violation),
    }
}
