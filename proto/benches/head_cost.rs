//! What a small response costs the client role, and a small request the server role.
//!
//! `cargo bench -p proto` prints nanoseconds per message: the fastest of many rounds, since on a
//! machine that does other things too everything else is noise added on top. `httparse` stands
//! beside the misses for comparison; it only splits a head and neither finds a body nor judges.
#![allow(missing_docs)]

use std::hint::black_box;

use measure::time::Time;
use proto::http1::HeadMemo;
use proto::http1::client::{self, Answer, Client};
use proto::http1::server::{self, Server};

const RESPONSE: &[u8] = b"HTTP/1.1 200 OK\r\nServer: ringside\r\n\
    Date: Sun, 06 Nov 1994 08:49:37 GMT\r\nContent-Type: text/plain\r\nContent-Length: 13\r\n\r\n\
    Hello, World!";
const REQUEST: &[u8] = b"GET /plaintext HTTP/1.1\r\nHost: 127.0.0.1:8080\r\n\r\n";
const BROWSER: &[u8] = b"GET /plaintext HTTP/1.1\r\nHost: 127.0.0.1:8080\r\n\
    Accept: text/plain,text/html;q=0.9,application/xhtml+xml;q=0.9,*/*;q=0.8\r\n\
    Accept-Encoding: gzip, deflate\r\nConnection: keep-alive\r\n\
    User-Agent: Mozilla/5.0 (X11; Linux x86_64)\r\n\r\n";

fn main() {
    let row = |what: &str, ns: f64| println!("{ns:8.1} ns  {what}");
    row("response, remembered head", responses(RESPONSE, RESPONSE));
    row(
        "response, new head each time",
        responses(RESPONSE, &variant(RESPONSE)),
    );
    row("response head in httparse", httparse_responses(RESPONSE));
    row("request, remembered head", requests(REQUEST, REQUEST));
    row(
        "request, new head each time",
        requests(REQUEST, &variant(REQUEST)),
    );
    row("request head in httparse", httparse_requests(REQUEST));
    row(
        "browser's request, remembered head",
        requests(BROWSER, BROWSER),
    );
    row(
        "browser's request, new head each time",
        requests(BROWSER, &variant(BROWSER)),
    );
    row(
        "browser's request head in httparse",
        httparse_requests(BROWSER),
    );
}

/// The same message with another first letter in its first field value: as long, but not the same.
fn variant(message: &[u8]) -> Vec<u8> {
    let mut other = message.to_vec();
    let colon = message
        .iter()
        .position(|&byte| byte == b':')
        .expect("a field");
    other[colon + 2] ^= 1;
    other
}

fn responses(one: &[u8], other: &[u8]) -> f64 {
    let (mut client, mut memo) = (Client::new(client::Limits::default()), HeadMemo::new());
    fastest(|round| {
        let mut input = black_box(if round % 2 == 0 { one } else { other });
        client.sent(Answer::Usual).expect("capacity");
        while let Some(event) = client
            .next(&mut input, &mut memo)
            .expect("a valid response")
        {
            black_box(event);
        }
    })
}

fn requests(one: &[u8], other: &[u8]) -> f64 {
    let (mut server, mut memo) = (Server::new(server::Limits::default()), HeadMemo::new());
    fastest(|round| {
        let mut input = black_box(if round % 2 == 0 { one } else { other });
        while let Some(event) = server.next(&mut input, &mut memo).expect("a valid request") {
            black_box(event);
        }
    })
}

fn httparse_responses(message: &[u8]) -> f64 {
    fastest(|_| {
        let mut headers = [httparse::EMPTY_HEADER; 16];
        let mut response = httparse::Response::new(&mut headers);
        assert!(black_box(response.parse(black_box(message))).is_ok());
    })
}

fn httparse_requests(message: &[u8]) -> f64 {
    fastest(|_| {
        let mut headers = [httparse::EMPTY_HEADER; 16];
        let mut request = httparse::Request::new(&mut headers);
        assert!(black_box(request.parse(black_box(message))).is_ok());
    })
}

/// Nanoseconds per turn of `turn` in the fastest round.
fn fastest(mut turn: impl FnMut(u32)) -> f64 {
    const TURNS: u32 = 20_000;
    let mut fastest = u64::MAX;
    for _ in 0..100 {
        let start = Time::now();
        for round in 0..TURNS {
            turn(round);
        }
        fastest = fastest.min(Time::now().since(start));
    }
    fastest as f64 / f64::from(TURNS)
}
