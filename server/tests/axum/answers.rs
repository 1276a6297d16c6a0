//! Heads of answers that say themselves what the connection says otherwise, and what is behind a
//! body.

use std::convert::Infallible;

use axum::Router;
use axum::body::Body;
use axum::http::{HeaderName, HeaderValue, Response};
use axum::routing::get;
use futures_util::stream;

use crate::wire::{Ask, End};
use crate::{LAST, Servers};

/// An answer with these fields, in this order.
fn with(fields: &[(&'static str, &'static str)], body: Body) -> Response<Body> {
    let mut response = Response::new(body);
    for (name, value) in fields {
        let name = HeaderName::from_static(name);
        response
            .headers_mut()
            .append(name, HeaderValue::from_static(value));
    }
    response
}

/// A body in these pieces, whose length nobody knows.
fn pieces(pieces: &'static [&'static str]) -> Body {
    Body::from_stream(stream::iter(
        pieces.iter().map(|piece| Ok::<_, Infallible>(*piece)),
    ))
}

const PIECES: &[&str] = &["hello", "", "world"];

fn get_with(target: &str, fields: &str) -> String {
    format!("GET {target} HTTP/1.1\r\nhost: a\r\n{fields}\r\n")
}

/// Lengths that aren't those of their bodies. Hyper sends them where it doesn't look (and panics
/// instead in a debug build), and ends the connection where it does; here the client learns whose
/// fault it is, and its connection is in order.
#[test]
fn wrong_lengths_are_a_500() {
    let app = || {
        const DIFFERING: &[(&str, &str)] = &[("content-length", "9"), ("content-length", "10")];
        Router::new()
            .route(
                "/wrong",
                get(async || with(&[("content-length", "4")], "hello".into())),
            )
            .route(
                "/none",
                get(async || with(&[("content-length", "x")], pieces(PIECES))),
            )
            .route(
                "/plus",
                get(async || with(&[("content-length", "+10")], pieces(PIECES))),
            )
            .route("/differing", get(async || with(DIFFERING, pieces(PIECES))))
            .route(
                "/empty",
                get(async || with(&[("content-length", "4")], Body::empty())),
            )
    };
    let servers = Servers::of(app);
    for target in ["/wrong", "/none", "/plus", "/differing", "/empty"] {
        let (ours, theirs) = servers.apart(get_with(target, "") + LAST);
        assert_eq!(ours.statuses(), [500, 404], "{target} {ours}");
        assert!(ours.has("content-length: 0\r\n"), "{ours}");
        match target {
            "/empty" => assert!(theirs.has("content-length: 0\r\n"), "{theirs}"),
            _ => assert_eq!(theirs.statuses(), [0; 0], "{target} {theirs}"),
        }
    }
}

#[test]
fn own_connection_fields() {
    let app = || {
        let close = async || {
            with(
                &[("x", "1"), ("connection", "close"), ("y", "2")],
                "body".into(),
            )
        };
        const LISTS: &[(&str, &str)] = &[
            ("connection", "x-hop"),
            ("x-hop", "1"),
            ("connection", "y"),
            ("z", "2"),
        ];
        const ALIVE: &[(&str, &str)] = &[
            ("connection", "keep-alive"),
            ("keep-alive", "timeout=5"),
            ("z", "2"),
        ];
        Router::new()
            .route("/close", get(close))
            .route("/lists", get(async || with(LISTS, "body".into())))
            .route("/alive", get(async || with(ALIVE, "body".into())))
            .route("/plain", get(async || "plain"))
    };
    let servers = Servers::of(app);
    servers.raw(get_with("/close", "") + LAST, &[200]);
    servers.raw(get_with("/close", "connection: close\r\n"), &[200]);
    for target in ["/lists", "/alive", "/plain"] {
        servers.raw(get_with(target, "") + LAST, &[200, 404]);
        servers.raw(get_with(target, "connection: close\r\n"), &[200]);
        let old = format!("GET {target} HTTP/1.0\r\nconnection: keep-alive\r\n\r\n");
        servers.raw(old.repeat(2) + LAST, &[200, 200, 404]);
        servers.raw(format!("GET {target} HTTP/1.0\r\n\r\n"), &[200]);
    }
    for target in ["/close", "/alive", "/plain"] {
        servers.http2(&Ask::get(target), 200);
    }
    servers.http2(&Ask::get("/lists"), 200);
    // Told to keep the connection, and by the handler to close it, hyper says both.
    let old = "GET /close HTTP/1.0\r\nconnection: keep-alive\r\n\r\n";
    let (ours, theirs) = servers.apart(old.to_owned() + LAST);
    assert!(ours.has("connection: close\r\n"), "{ours}");
    assert!(theirs.has("connection: close, keep-alive\r\n"), "{theirs}");
    assert_eq!((ours.statuses(), theirs.statuses()), (vec![200], vec![200]));
}

#[test]
fn bodies_without_a_length_over_http10_end_with_the_connection() {
    let app = || Router::new().route("/", get(async || pieces(PIECES)));
    let servers = Servers::of(app);
    let heard = servers.raw("GET / HTTP/1.0\r\n\r\n", &[200]);
    assert!(heard.bytes.ends_with(b"\r\n\r\nhelloworld"), "{heard}");
    servers.raw("HEAD / HTTP/1.0\r\n\r\n", &[200]);
    // Asked to keep the connection, hyper says that it does, and can't.
    let (ours, theirs) = servers.apart("GET / HTTP/1.0\r\nconnection: keep-alive\r\n\r\n");
    assert!(
        !ours.has("keep-alive") && theirs.has("connection: keep-alive\r\n"),
        "{theirs}"
    );
    assert_eq!((ours.end, theirs.end), (End::Closed, End::Closed));
    assert!(ours.bytes.ends_with(b"helloworld") && theirs.bytes.ends_with(b"helloworld"));
}
