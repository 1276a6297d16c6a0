//! Every limit holds in every chopping, and nothing is allocated for a steady peer.

use proto::http1::HeadMemo;
use proto::http1::client::{self, Answer, Client};
use proto::http1::server::{self, Server};

use crate::harness::{Seen, client_after, in_every_chopping};

const SEED: u64 = 0x5eed_0003;

const LIMITS: server::Limits = server::Limits {
    head_bytes: 120,
    target_bytes: 10,
    fields: 3,
    body_bytes: 8,
};

#[test]
fn a_request_beyond_a_limit_is_refused_with_its_status() {
    let long = "x".repeat(200);
    let host = "Host: a\r\n";
    for (input, seen) in [
        ("GET /012345678 HTTP/1.1\r\nHost: a\r\n\r\n".to_owned(), ""),
        (
            "GET /0123456789 HTTP/1.1\r\nHost: a\r\n\r\n".to_owned(),
            "414",
        ),
        (format!("GET /{long}"), "414"),
        (long.clone(), "414"),
        (format!("GET / HTTP/1.1\r\n{host}X: {long}"), "431"),
        (format!("GET / HTTP/1.1\r\n{host}A: b\r\nC: d\r\n\r\n"), ""),
        (
            format!("GET / HTTP/1.1\r\n{host}A: b\r\nC: d\r\nE: f\r\n\r\n"),
            "431",
        ),
        (
            format!("POST / HTTP/1.1\r\n{host}Content-Length: 8\r\n\r\n01234567"),
            "",
        ),
        (
            format!("POST / HTTP/1.1\r\n{host}Content-Length: 9\r\n\r\n"),
            "413",
        ),
        (chunked_request("4\r\n0123\r\n4\r\n4567\r\n0\r\n\r\n"), ""),
        (chunked_request("4\r\n0123\r\n5\r\n45678\r\n"), "413"),
        (chunked_request("ffffffffffffffff\r\n"), "413"),
        (chunked_request(&format!("0\r\nA: {long}")), "431"),
    ] {
        println!("{input:?}");
        let seen_now = in_every_chopping(|| Server::new(LIMITS), input.as_bytes(), false, SEED);
        match seen_now.last() {
            Some(Seen::Failed(why)) if !seen.is_empty() => assert!(why.starts_with(seen), "{why}"),
            Some(Seen::End(_)) if seen.is_empty() => {}
            other => panic!("expected {seen:?}, saw {other:?}"),
        }
    }
}

#[test]
fn a_head_may_be_exactly_as_long_as_the_limit() {
    let head = |bytes: usize| {
        let head = "GET / HTTP/1.1\r\nHost: a\r\nX: ";
        format!("{head}{}\r\n\r\n", "x".repeat(bytes - head.len() - 4))
    };
    for (bytes, fits) in [(119, true), (120, true), (121, false)] {
        let input = head(bytes);
        let seen = in_every_chopping(|| Server::new(LIMITS), input.as_bytes(), false, SEED);
        assert_eq!(
            matches!(seen.last(), Some(Seen::End(_))),
            fits,
            "{bytes} bytes"
        );
    }
}

#[test]
fn a_response_beyond_a_limit_is_a_violation() {
    let limits = client::Limits {
        head_bytes: 60,
        fields: 2,
    };
    let long = "x".repeat(100);
    for input in [
        format!("HTTP/1.1 200 {long}"),
        format!("HTTP/1.1 200 OK\r\nA: {long}\r\n\r\n"),
        "HTTP/1.1 200 OK\r\nA:\r\nB:\r\nC:\r\n\r\n".to_owned(),
        format!("HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n0\r\nA: {long}"),
    ] {
        let machine = || client_after(limits, &[Answer::Usual]);
        let seen = in_every_chopping(machine, input.as_bytes(), false, SEED);
        assert!(
            matches!(seen.last(), Some(Seen::Failed(_))),
            "{input:?}: {seen:?}"
        );
    }
}

#[test]
fn a_memo_filled_under_wider_limits_does_not_widen_narrower_ones() {
    let mut memo = HeadMemo::new();
    let long = format!(
        "GET / HTTP/1.1\r\nHost: a\r\nX: {}\r\n\r\n",
        "x".repeat(100)
    );
    for input in [
        &long,
        "GET /0123456789 HTTP/1.1\r\nHost: a\r\n\r\n",
        "POST / HTTP/1.1\r\nHost: a\r\nContent-Length: 9\r\n\r\n",
        "GET / HTTP/1.1\r\nHost: a\r\nA: b\r\nC: d\r\nE: f\r\n\r\n",
    ] {
        let mut wide = Server::new(server::Limits::default());
        assert!(wide.next(&mut input.as_bytes(), &mut memo).is_ok());
        let mut narrow = Server::new(LIMITS);
        assert!(
            narrow.next(&mut input.as_bytes(), &mut memo).is_err(),
            "{input:?}"
        );
    }
    let response = "HTTP/1.1 204 \r\nA: b\r\nC: d\r\n\r\n";
    for limits in [
        client::Limits {
            head_bytes: 20,
            fields: 9,
        },
        client::Limits {
            head_bytes: 99,
            fields: 1,
        },
    ] {
        let mut wide = client_after(client::Limits::default(), &[Answer::Usual]);
        assert!(wide.next(&mut response.as_bytes(), &mut memo).is_ok());
        let mut narrow = client_after(limits, &[Answer::Usual]);
        assert!(
            narrow.next(&mut response.as_bytes(), &mut memo).is_err(),
            "{limits:?}"
        );
    }
}

#[test]
fn trailers_may_be_exactly_as_long_as_the_limit() {
    for (bytes, fits) in [(119, true), (120, true), (121, false)] {
        let trailers = format!("A: {}\r\n\r\n", "x".repeat(bytes - 7));
        let input = chunked_request(&format!("0\r\n{trailers}"));
        let seen = in_every_chopping(|| Server::new(LIMITS), input.as_bytes(), false, SEED);
        assert_eq!(
            matches!(seen.last(), Some(Seen::End(_))),
            fits,
            "{bytes} bytes"
        );
    }
}

#[test]
fn there_is_no_capacity_once_the_server_will_not_read_on() {
    for head in [
        "HTTP/1.1 200 OK\r\n\r\n",
        "HTTP/1.1 200 OK\r\nConnection: close\r\nContent-Length: 5\r\n\r\n",
        "HTTP/1.0 200 OK\r\nContent-Length: 5\r\n\r\n",
        "SSH-2.0",
    ] {
        let mut client = client_after(client::Limits::default(), &[Answer::Usual]);
        assert!(client.capacity() > 0);
        let _ = client.next(&mut head.as_bytes(), &mut HeadMemo::new());
        assert_eq!(client.capacity(), 0, "{head:?}");
        assert!(client.sent(Answer::Usual).is_err(), "{head:?}");
    }
}

#[test]
fn no_more_requests_are_outstanding_than_there_is_capacity() {
    let mut client = Client::new(client::Limits::default());
    let capacity = client.capacity();
    for n in 0..capacity {
        assert_eq!((client.outstanding(), client.capacity()), (n, capacity - n));
        client.sent(Answer::HeadOnly).expect("within the capacity");
    }
    assert!(client.sent(Answer::Usual).is_err());
    let answer = b"HTTP/1.1 200 OK\r\nContent-Length: 9\r\n\r\n".repeat(capacity);
    let (mut input, mut memo, mut ends) = (&answer[..], HeadMemo::new(), 0);
    while let Some(event) = client.next(&mut input, &mut memo).expect("valid answers") {
        ends += usize::from(matches!(event, client::Event::End(_)));
    }
    assert_eq!(
        (ends, client.outstanding(), client.capacity()),
        (capacity, 0, capacity)
    );
}

#[test]
fn heads_that_come_whole_take_no_memory_and_heads_in_pieces_always_the_same() {
    let head = "GET / HTTP/1.1\r\nHost: a\r\nAccept: text/html\r\n\r\n".repeat(2);
    let (mut server, mut memo) = (Server::new(server::Limits::default()), HeadMemo::new());
    let mut memory_after = |pieces: &[&str]| {
        for piece in pieces {
            let mut input = piece.as_bytes();
            while server
                .next(&mut input, &mut memo)
                .expect("a valid request")
                .is_some()
            {}
        }
        server.memory_bytes()
    };
    assert_eq!(memory_after(&[&head]), 0);
    let warm = memory_after(&[&head[..30], &head[30..]]);
    assert!(
        (30..=128).contains(&warm),
        "{warm} bytes for a head of {}",
        head.len() / 2
    );
    for cut in 1..head.len() {
        assert_eq!(
            memory_after(&[&head[..cut], &head[cut..]]),
            warm,
            "cut at {cut}"
        );
    }
}

#[test]
fn the_memory_of_a_long_head_is_given_back() {
    let (mut server, mut memo) = (Server::new(server::Limits::default()), HeadMemo::new());
    let start = format!("GET / HTTP/1.1\r\nHost: a\r\nX: {}", "x".repeat(9000));
    assert_eq!(server.next(&mut start.as_bytes(), &mut memo), Ok(None));
    assert!(server.memory_bytes() > 9000);
    let mut end = &b"\r\n\r\n"[..];
    while server
        .next(&mut end, &mut memo)
        .expect("a valid request")
        .is_some()
    {}
    assert_eq!(server.memory_bytes(), 0);
}

#[test]
fn a_machine_is_small() {
    assert!(size_of::<Client>() <= 128, "{} bytes", size_of::<Client>());
    assert!(size_of::<Server>() <= 128, "{} bytes", size_of::<Server>());
}

fn chunked_request(body: &str) -> String {
    format!("POST / HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked\r\n\r\n{body}")
}
