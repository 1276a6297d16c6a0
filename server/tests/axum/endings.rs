//! Where answers, bodies and connections end that end in an unusual way: what isn't wanted of a
//! request, what never ends of an answer, who leaves while an upgrade is asked for, and a server
//! that is told to stop in the middle.

use std::convert::Infallible;
use std::future;
use std::io::Write;
use std::net::TcpStream;
use std::panic::panic_any;
use std::time::Duration;

use axum::Router;
use axum::body::{Body, Bytes};
use axum::extract::Request;
use axum::http::Response;
use axum::http::header::CONTENT_LENGTH;
use axum::routing::{any, get};
use futures_util::{StreamExt, stream};
use http_body_util::BodyExt;
use tokio::sync::mpsc::unbounded_channel;

use crate::handlers::{Bomb, Tells};
use crate::wire::{self, Ask, connect, within};
use crate::{LAST, Ours, Servers};

const UPGRADE: &str = "connection: upgrade\r\nupgrade: x\r\n";

async fn a_while() {
    tokio::time::sleep(Duration::from_millis(20)).await;
}

fn app() -> Router {
    let late = async |request: Request| {
        drop(request);
        a_while().await;
        "late"
    };
    let pieces = async |request: Request| {
        let held = request.into_body();
        Body::from_stream(stream::iter(["one", "two"]).map(move |piece| {
            let _ = &held;
            Ok::<_, Infallible>(piece)
        }))
    };
    let sum = async |body: Body| {
        body.collect()
            .await
            .map(|whole| whole.to_bytes().len())
            .unwrap_or(0)
            .to_string()
    };
    Router::new()
        .route("/late", any(late))
        .route("/pieces", any(pieces))
        .route("/sum", any(sum))
        .route("/endless", get(endless))
        .route("/panic", any(async || -> () { panic!("on purpose") }))
        .route("/bomb", any(async || -> () { panic_any(Bomb) }))
}

/// All that was announced comes, and then nothing, not even an end.
async fn endless() -> Response<Body> {
    let all = stream::iter([Ok::<_, Infallible>(Bytes::from_static(b"hello"))]);
    let body = Body::from_stream(all.chain(stream::pending()));
    let mut response = Response::new(body);
    response.headers_mut().insert(CONTENT_LENGTH, 5.into());
    response
}

/// A client that isn't told to send its body doesn't, and nobody can tell where its next request
/// begins.
#[test]
fn an_answer_to_a_body_that_nobody_asked_for_is_the_last() {
    for ours in Ours::each(app) {
        for target in ["/late", "/pieces"] {
            let head = format!(
                "POST {target} HTTP/1.1\r\nhost: a\r\ncontent-length: 70\r\n\
                 expect: 100-continue\r\n\r\n"
            );
            let mut stream = connect(ours.address);
            stream.write_all(head.as_bytes()).expect("it reads");
            let next = format!("GET /sum HTTP/1.1\r\nhost: a\r\n\r\n{LAST}");
            let heard = match target {
                "/late" => wire::until(&mut stream, b"late"),
                _ => wire::until(&mut stream, b"two"),
            };
            let _ = stream.write_all(next.as_bytes());
            let rest = wire::hear(&stream);
            let said = String::from_utf8_lossy(&heard);
            assert!(said.starts_with("HTTP/1.1 200"), "{target} {said}");
            assert!(said.contains("connection: close"), "{target} {said}");
            assert_eq!(rest.statuses(), [] as [u16; 0], "{target} {rest}");
        }
    }
}

#[test]
fn an_answer_ends_with_the_last_byte_that_was_announced() {
    let servers = Servers::of(app);
    servers.http1(&Ask::get("/endless"), 200);
}

/// Only a request without a body, whose `connection` says so, asks for another protocol.
#[test]
fn what_only_looks_like_an_upgrade_is_answered_as_any_other_request() {
    let servers = Servers::of(app);
    servers.http1(&Ask::get("/sum").field("upgrade", "x"), 200);
    for fields in [UPGRADE, "upgrade: x\r\n"] {
        let ask =
            format!("POST /sum HTTP/1.1\r\nhost: a\r\n{fields}content-length: 5\r\n\r\n12345");
        let (ours, theirs) = servers.apart(ask + LAST);
        assert_eq!(ours.statuses()[0], 200, "{ours}");
        assert_eq!(theirs.statuses()[0], 200, "{theirs}");
        assert!(ours.has("\r\n\r\n5HTTP/1.1"), "{ours}");
    }
}

#[test]
fn a_request_for_an_upgrade_waits_for_those_before_it() {
    let ask = format!(
        "GET /late HTTP/1.1\r\nhost: a\r\n\r\nGET /sum HTTP/1.1\r\nhost: a\r\n{UPGRADE}\r\n"
    );
    for ours in Ours::each(app) {
        let heard = wire::http1(ours.address, &[ask.clone().into_bytes()]);
        assert_eq!(heard.statuses(), [200, 200], "{} {heard}", ours.engine);
    }
}

#[test]
fn a_panic_is_a_500_even_where_an_upgrade_is_asked_for() {
    for ours in Ours::each(app) {
        for target in ["/panic", "/bomb"] {
            for fields in [UPGRADE, ""] {
                let ask = format!("GET {target} HTTP/1.1\r\nhost: a\r\n{fields}\r\n");
                let heard = wire::http1(ours.address, &[ask.into_bytes(), LAST.into()]);
                assert_eq!(heard.statuses()[0], 500, "{target} {fields} {heard}");
            }
        }
        assert_eq!(ours.end().counts.panics, 4);
    }
}

#[test]
fn a_handler_is_dropped_with_its_client_even_where_an_upgrade_was_asked_for() {
    let (tell, mut told) = unbounded_channel();
    let app = move || {
        let tell = tell.clone();
        let never = move || {
            let guard = Tells(tell.clone(), "dropped");
            let _ = tell.send("began");
            async move {
                let _guard = guard;
                future::pending::<()>().await;
            }
        };
        Router::new().route("/", any(never))
    };
    for ours in Ours::each(app) {
        let mut stream = connect(ours.address);
        let ask = format!("GET / HTTP/1.1\r\nhost: a\r\n{UPGRADE}\r\n");
        stream.write_all(ask.as_bytes()).expect("it reads");
        assert_eq!(within(told.recv()), Some("began"), "{}", ours.engine);
        drop(stream);
        assert_eq!(within(told.recv()), Some("dropped"), "{}", ours.engine);
    }
}

/// Told to stop in the middle of an upload, a server hears it out and answers, and that was it.
#[test]
fn an_upload_that_is_half_there_when_the_server_stops_is_answered_and_ends_its_connection() {
    let halves = [
        ("content-length: 10\r\n\r\n12345", "12345"),
        (
            "transfer-encoding: chunked\r\n\r\n5\r\n12345\r\n",
            "5\r\n12345\r\n0\r\n\r\n",
        ),
    ];
    for (first, second) in halves {
        for ours in Ours::each(app) {
            let mut stream = connect(ours.address);
            let head = format!("POST /sum HTTP/1.1\r\nhost: a\r\n{first}");
            stream.write_all(head.as_bytes()).expect("it reads");
            // Once another connection is answered, this one has been read.
            wire::http1(ours.address, &[LAST.into()]);
            ours.ask_to_stop();
            while TcpStream::connect(ours.address).is_ok() {} // Until it knows.
            stream.write_all(second.as_bytes()).expect("it reads");
            let heard = wire::hear(&stream);
            assert_eq!(heard.statuses(), [200], "{heard}");
            assert!(heard.has("connection: close"), "{heard}");
            assert_eq!(ours.end().counts.cut, 0);
        }
    }
}
