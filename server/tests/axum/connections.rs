//! How requests follow each other on a connection, and what of their heads is taken, over HTTP/1.

use axum::Router;
use axum::body::Bytes;
use axum::extract::Request;
use axum::http::HeaderMap;
use axum::routing::{get, post};
use tokio::sync::mpsc::unbounded_channel;

use crate::handlers::Elsewhere;
use crate::wire::{self, End, Heard, chunk};
use crate::{LAST, Servers};

fn app() -> Router {
    let head = async |request: Request| {
        let (uri, version) = (request.uri(), request.version());
        let parts = (uri.scheme_str(), uri.authority(), uri.path(), uri.query());
        format!("{} {parts:?} {version:?}\n", request.method())
    };
    let fields = async |headers: HeaderMap| {
        let lengths = headers
            .iter()
            .map(|(name, value)| (name.as_str().len(), value.len()));
        format!("{} {:?}\n", headers.len(), lengths.max())
    };
    Router::new()
        .route("/", get(async || "hello\n"))
        .route("/echo", post(async |bytes: Bytes| bytes))
        .route("/nothing", get(async || ()))
        .route("/fields", get(fields))
        .fallback(head)
}

/// A request without a body.
fn request(line: &str, fields: &str) -> String {
    format!("{line}\r\nhost: a\r\n{fields}\r\n")
}

fn get_with(fields: &str) -> String {
    request("GET / HTTP/1.1", fields)
}

#[test]
fn a_connection_goes_on_until_it_is_told_to_close() {
    let servers = Servers::of(app);
    let close = "connection: close\r\n";
    let heard = servers.raw(get_with(close), &[200]);
    assert!(heard.has("connection: close\r\n"), "{heard}");
    let heard = servers.raw(get_with("") + &get_with(close), &[200, 200]);
    assert!(heard.has("hello\nHTTP/1.1 200 OK\r\n"), "{heard}");
    servers.raw(get_with("connection: keep-alive\r\n") + LAST, &[200, 200]);
    servers.raw(get_with("") + "\r\n" + LAST, &[200, 200]);
    servers.raw(get_with("Connection: foo, Close\r\n"), &[200]);
    servers.raw(get_with("connection: foo\r\nconnection: close\r\n"), &[200]);
}

#[test]
fn pipelined_requests_are_answered_in_order() {
    let servers = Servers::of(app);
    let mut pipeline = get_with("").repeat(50);
    let chunks = [chunk(b"ab"), chunk(b"cde"), chunk(b"")].concat();
    let chunked = request("POST /echo HTTP/1.1", "transfer-encoding: chunked\r\n");
    pipeline += &(chunked + &String::from_utf8(chunks).expect("text"));
    pipeline += &(request("POST /echo HTTP/1.1", "content-length: 5\r\n") + "hello");
    pipeline += &request("GET /nothing HTTP/1.1", "");
    pipeline += &request("HEAD / HTTP/1.1", "");
    let statuses = [200; 55];
    let heard = servers.raw(pipeline.clone() + LAST, &statuses);
    let piecemeal: Vec<_> = (pipeline + LAST).bytes().map(|byte| vec![byte]).collect();
    let piecemeal: Vec<_> = piecemeal.chunks(7).map(<[Vec<u8>]>::concat).collect();
    assert!(
        servers.raw_in(&piecemeal) == heard,
        "it depends on how it's cut"
    );
}

/// Requests with safe methods are worked on together here, and one after the other by hyper; one
/// that isn't safe has the connection to itself with either (RFC 9112 §9.3.2).
#[test]
fn a_request_that_is_not_safe_waits_for_those_before_it() {
    let (tell, mut told) = unbounded_channel();
    let app = || {
        let tell = tell.clone();
        let log = move |request: Request| {
            let tell = tell.clone();
            async move {
                let name = format!("{} {}", request.method(), request.uri());
                let _ = tell.send(format!("{name} began"));
                Elsewhere::default().await;
                let _ = tell.send(format!("{name} ended"));
                name
            }
        };
        Router::new().fallback(log)
    };
    let servers = Servers::of(app);
    let lines = ["GET /1", "POST /2", "DELETE /3", "HEAD /4", "PUT /5"];
    let requests = lines.map(|line| request(&format!("{line} HTTP/1.1"), ""));
    let requests = requests.concat() + &request("GET /6 HTTP/1.1", "connection: close\r\n");
    let lines = lines.iter().chain(&["GET /6"]);
    let expected = lines.flat_map(|line| [format!("{line} began"), format!("{line} ended")]);
    let expected: Vec<_> = expected.collect();
    for address in servers.addresses() {
        let heard = wire::http1(address, &[requests.clone().into_bytes()]);
        assert_eq!(heard.statuses(), [200; 6], "{heard}");
        let log: Vec<_> = std::iter::from_fn(|| told.try_recv().ok()).collect();
        assert_eq!(log, expected);
    }
    servers.raw(requests, &[200; 6]);
}

#[test]
fn http10_closes_unless_told_otherwise() {
    let servers = Servers::of(app);
    let heard = servers.raw("GET / HTTP/1.0\r\n\r\n", &[200]);
    assert_eq!(heard.end, End::Closed);
    let kept = "GET / HTTP/1.0\r\nconnection: keep-alive\r\n\r\n";
    let heard = servers.raw(kept.repeat(2) + "GET / HTTP/1.0\r\n\r\n", &[200, 200, 200]);
    assert!(heard.has("connection: keep-alive\r\n"), "{heard}");
    let close = "GET / HTTP/1.0\r\nhost: a\r\nconnection: close\r\n\r\n";
    servers.raw(close, &[200]);
    let posted = "POST /echo HTTP/1.0\r\ncontent-length: 3\r\nconnection: keep-alive\r\n\r\nabc";
    servers.raw(posted.to_owned() + close, &[200, 200]);
    servers.raw("HEAD / HTTP/1.0\r\n\r\n", &[200]);
    servers.raw(
        "GET /nothing HTTP/1.0\r\nconnection: keep-alive\r\n\r\n".to_owned() + close,
        &[200, 200],
    );
}

#[test]
fn targets_are_those_that_were_sent() {
    let servers = Servers::of(app);
    // Over HTTP/1.1, the authority of an absolute target isn't left out.
    for target in [
        "http://b:81/head?x=y",
        "http://b",
        "https://user@b/x",
        "http://b:81/fields",
        "*",
        "/a%20b?c#",
        "//b/c",
        "/?",
    ] {
        let line = format!("OPTIONS {target} HTTP/1.1");
        let known = ["http://b", "http://b:81/fields", "/?"].contains(&target);
        let status = if known { 405 } else { 200 };
        servers.raw(request(&line, "") + LAST, &[status, 200]);
    }
    for method in ["MKCOL", "get", "A!#$%&'*+-.^_`|~9", "PRI"] {
        servers.raw(
            request(&format!("{method} /x HTTP/1.1"), "") + LAST,
            &[200, 200],
        );
    }
    for target in ["/x?\"", "/<>"] {
        let heard = servers.raw(
            request(&format!("GET {target} HTTP/1.1"), "") + LAST,
            &[400],
        );
        assert!(heard.has("connection: close\r\n"), "{heard}");
    }
}

#[test]
fn large_heads_are_taken() {
    let servers = Servers::of(app);
    let many: String = (0..90)
        .map(|i| format!("x-{i}: {}\r\n", "v".repeat(600)))
        .collect();
    servers.raw(request("GET /fields HTTP/1.1", &many) + LAST, &[200, 200]);
    let long = format!("x-long: {}\r\n", "v".repeat(60_000));
    servers.raw(request("GET /fields HTTP/1.1", &long) + LAST, &[200, 200]);
    let line = format!("GET /{} HTTP/1.1", "x".repeat(8_000));
    servers.raw(request(&line, "") + LAST, &[200, 200]);
}

/// What is refused below any handler is refused in this server's own words, and by its own rules,
/// which are stricter than hyper's.
#[test]
fn what_is_no_request_is_refused_by_each_server_in_its_own_way() {
    let servers = Servers::of(app);
    let refused = |heard: &Heard, status: u16| {
        assert_eq!(heard.statuses(), [status], "{heard}");
        assert_eq!(heard.end, End::Closed, "{heard}");
        assert!(heard.has("Server: ringside\r\n"), "{heard}");
    };
    // Both refuse these, and hyper says no more than that.
    for bad in [
        "GET / HTTP/1.1\r\nno field\r\n\r\n",
        "GET /\r\n\r\n",
        "GET  / HTTP/1.1\r\n\r\n",
        "GET / HTTP/1.1\r\nhost: a\r\nx : y\r\n\r\n",
        "GET / HTTP/1.1\r\nhost: a\r\n x: y\r\n\r\n",
        "GET / HTTP/1.1\r\nhost: a\r\nx: \0\r\n\r\n",
        "POST / HTTP/1.1\r\nhost: a\r\ncontent-length: 1\r\ncontent-length: 2\r\n\r\n",
        "POST / HTTP/1.1\r\nhost: a\r\ncontent-length: +1\r\n\r\n",
        "POST / HTTP/1.1\r\nhost: a\r\ntransfer-encoding: gzip\r\n\r\n",
        "POST / HTTP/1.0\r\nhost: a\r\ntransfer-encoding: chunked\r\n\r\n",
    ] {
        let (ours, theirs) = servers.apart(bad);
        refused(&ours, 400);
        assert_eq!(theirs.statuses(), [400], "{bad:?} {theirs}");
        assert!(theirs.has("content-length: 0\r\n"), "{theirs}");
    }
    let long = format!("GET /{} HTTP/1.1", "x".repeat(9_000));
    for (bad, status) in [
        // Lines that end without CR (RFC 9112 §2.2).
        ("GET / HTTP/1.1\nhost: a\n\n".to_owned(), 400),
        // A target in bytes that no target has (RFC 9112 §3.2).
        (request("GET /\u{e9} HTTP/1.1", ""), 400),
        // An authority, where only CONNECT has one.
        (request("GET x HTTP/1.1", ""), 400),
        // A target longer than 8 KiB.
        (request(&long, ""), 414),
        // Two hosts, or none (RFC 9112 §3.2).
        (get_with("host: b\r\n"), 400),
        ("GET / HTTP/1.1\r\n\r\n".to_owned(), 400),
        // More than one empty line before a request (RFC 9112 §2.2).
        ("\r\n\r\n".to_owned() + &get_with(""), 400),
    ] {
        let (ours, theirs) = servers.apart(bad + LAST);
        refused(&ours, status);
        assert_eq!(theirs.statuses(), [200, 200], "{theirs}");
    }
    // A length in spite of chunks (RFC 9112 §6.1): hyper takes it as the last request.
    let both = get_with("content-length: 5\r\ntransfer-encoding: chunked\r\n") + "0\r\n\r\n";
    let (ours, theirs) = servers.apart(both);
    refused(&ours, 400);
    assert_eq!(theirs.statuses(), [200], "{theirs}");
    // Too many fields.
    let many: String = (0..100).map(|i| format!("x-{i}: v\r\n")).collect();
    let (ours, theirs) = servers.apart(get_with(&many));
    refused(&ours, 431);
    assert_eq!(theirs.statuses(), [431], "{theirs}");
}
