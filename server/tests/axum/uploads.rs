//! Bodies of requests, read as they come, late, in part, or not at all.

use std::thread;

use axum::Router;
use axum::body::{Body, Bytes};
use axum::extract::Request;
use axum::http::StatusCode;
use axum::response::{IntoResponse, Response};
use axum::routing::{any, post};
use http_body_util::BodyExt;
use tokio::runtime::Builder;
use tokio::sync::oneshot;

use crate::handlers::Elsewhere;
use crate::wire::{self, Ask};
use crate::{LAST, Servers};

/// Reads piece by piece, and says what it read.
async fn read(mut body: Body) -> Response {
    let (mut count, mut sum) = (0_u64, 0_u64);
    let mut trailers = None;
    while let Some(frame) = body.frame().await {
        match frame {
            Ok(frame) => match frame.into_data() {
                Ok(data) => {
                    count += data.len() as u64;
                    sum += data.iter().map(|byte| u64::from(*byte)).sum::<u64>();
                }
                Err(frame) => trailers = frame.into_trailers().ok(),
            },
            Err(_) => return (StatusCode::BAD_REQUEST, "the body failed\n").into_response(),
        }
    }
    let fields = trailers.map(|trailers| format!(" and {trailers:?}"));
    format!("{count} bytes, {sum}{}\n", fields.unwrap_or_default()).into_response()
}

fn app() -> Router {
    let late = async |body: Body| {
        Elsewhere::default().await;
        read(body).await
    };
    let slow = async |mut body: Body| {
        let mut count = 0;
        while let Some(Ok(frame)) = body.frame().await {
            Elsewhere::default().await;
            count += frame.into_data().map_or(0, |data| data.len());
        }
        format!("{count} bytes, slowly\n")
    };
    let spawned = async |body: Body| {
        let (sender, receiver) = oneshot::channel();
        thread::spawn(move || {
            let runtime = Builder::new_current_thread().build().expect("a runtime");
            let _ = sender.send(runtime.block_on(read(body)));
        });
        receiver.await.expect("it's told")
    };
    let hint = async |request: Request| {
        let hint = http_body::Body::size_hint(request.body());
        let over = http_body::Body::is_end_stream(request.body());
        format!("{:?} {:?} {over}\n", hint.lower(), hint.upper())
    };
    let echo = async |request: Request| request.into_body();
    let whole = async |bytes: Bytes| bytes;
    Router::new()
        .route("/read", any(read))
        .route("/late", post(late))
        .route("/slow", post(slow))
        .route("/spawned", post(spawned))
        .route("/hint", any(hint))
        .route("/echo", post(echo))
        .route("/whole", post(whole))
        .route("/unread", post(async || "unread\n"))
        .route("/unread-late", post(async || Elsewhere::default().await))
}

/// `count` bytes, in which each has its own place.
fn bytes(count: usize) -> Vec<u8> {
    (0..count).map(|at| (at % 251) as u8).collect()
}

fn cut(bytes: &[u8], length: usize) -> Vec<Vec<u8>> {
    bytes.chunks(length).map(<[u8]>::to_vec).collect()
}

#[test]
fn bodies_of_any_length_and_cut() {
    let servers = Servers::of(app);
    for count in [0, 1, 5, 16_384, 16_385, 70_000, 1_000_000] {
        let body = bytes(count);
        for target in ["/read", "/late", "/slow"] {
            servers.both(&Ask::post(target, &body[..]), 200);
            let piece = (count / 7).max(1);
            servers.both(&Ask::new("POST", target).sized_in(cut(&body, piece)), 200);
            servers.both(&Ask::new("POST", target).in_pieces(cut(&body, piece)), 200);
        }
    }
    let body = bytes(30_000);
    servers.both(&Ask::new("POST", "/read").sized_in(cut(&body, 100)), 200);
    servers.both(&Ask::new("POST", "/read").in_pieces(cut(&body, 100)), 200);
    servers.both(
        &Ask::new("POST", "/whole").in_pieces(cut(&body[..500], 1)),
        200,
    );
}

#[test]
fn bodies_that_come_back_as_they_come() {
    let servers = Servers::of(app);
    for count in [0, 5, 16_384, 20_000, 3_000_000] {
        let body = bytes(count);
        servers.both(&Ask::post("/echo", &body[..]), 200);
        let pieces = cut(&body, (count / 50).max(1));
        servers.both_merged(&Ask::new("POST", "/echo").in_pieces(pieces), 200);
    }
}

#[test]
fn chunks_with_extensions_and_odd_sizes() {
    let servers = Servers::of(app);
    let head = "POST /read HTTP/1.1\r\nhost: a\r\ntransfer-encoding: chunked\r\n\r\n";
    for body in [
        "0\r\n\r\n",
        "3;a=b\r\nabc\r\n0\r\n\r\n",
        "0003\r\nabc\r\n000\r\n\r\n",
        "A\r\n0123456789\r\n0;last\r\n\r\n",
        "1\r\n\r\r\n1\r\n\n\r\n0\r\n\r\n",
    ] {
        servers.raw(format!("{head}{body}{LAST}"), &[200, 404]);
    }
    // What is no chunk is refused by this server itself; hyper's handler sees an error.
    for body in [
        "x\r\n",
        "3\r\nabcd\r\n",
        "-1\r\n",
        "3\nabc\r\n",
        "fffffffffffffffff\r\n",
    ] {
        let (ours, theirs) = servers.apart(format!("{head}{body}"));
        assert_eq!(ours.statuses(), [400], "{body:?} {ours}");
        assert_eq!(theirs.statuses(), [400], "{body:?} {theirs}");
    }
}

/// Trailers of requests are told over HTTP/2 only.
#[test]
fn trailers() {
    let servers = Servers::of(app);
    let ask = Ask::new("POST", "/read").in_pieces(vec![b"abc".to_vec()]);
    let ask = ask.trailers(&[("x-sum", "1"), ("x-other", "2")]);
    let (ours, theirs) = servers.apart_in(&[ask.pieces().concat(), LAST.into()]);
    assert_eq!(ours.statuses(), theirs.statuses());
    assert!(!ours.has("x-sum") && theirs.has("x-sum"), "{ours} {theirs}");
    let answer = servers.http2(&ask, 200);
    assert!(answer.to_string().contains("x-sum"), "{answer}");
    let ask = Ask::new("POST", "/whole").in_pieces(vec![b"abc".to_vec()]);
    servers.both(&ask.trailers(&[("x-sum", "1")]), 200);
}

fn expecting(target: &str, count: usize) -> String {
    format!(
        "POST {target} HTTP/1.1\r\nhost: a\r\ncontent-length: {count}\r\n\
         expect: 100-continue\r\n\r\n"
    )
}

/// Whoever is answered instead isn't told to send. Then the connection ends: its client may send
/// the body in spite of it, or not. Hyper ends it, too, but doesn't say so.
#[test]
fn a_client_whose_body_is_not_wanted_is_answered_at_once() {
    let servers = Servers::of(app);
    let (ours, theirs) = servers.apart(expecting("/unread", 100_000));
    assert_eq!((ours.statuses(), theirs.statuses()), (vec![200], vec![200]));
    assert!(ours.has("connection: close\r\n"), "{ours}");
    assert!(!theirs.has("connection"), "{theirs}");
    let (ours, _) = servers.apart_http2(&Ask::post("/unread", bytes(100_000)));
    assert_eq!(
        (ours.status, ours.body, ours.error),
        (200, b"unread\n".to_vec(), None)
    );
}

/// A body that nobody reads is read and thrown away, and the connection goes on. Hyper ends it
/// there, unless all of the body has come by chance.
#[test]
fn a_body_that_is_not_read_does_not_end_the_connection() {
    let servers = Servers::of(app);
    for target in ["/unread", "/unread-late"] {
        for count in [5, 16_384, 16_385, 1_000_000] {
            let ask = Ask::post(target, bytes(count));
            let pieces = [ask.pieces().concat(), LAST.into()];
            for ours in servers.ours() {
                let heard = wire::http1(ours.address, &pieces);
                assert_eq!(heard.statuses(), [200, 404], "{} {heard}", ours.engine);
            }
            let answers = wire::http2_all(servers.ours()[0].address, &[ask.clone(), ask]);
            assert!(
                answers.iter().all(|answer| answer.status == 200),
                "{}",
                answers[1]
            );
        }
        servers.both(&Ask::post(target, "short"), 200);
    }
}

#[test]
fn a_body_may_be_read_on_another_thread() {
    let servers = Servers::of(app);
    for count in [0, 5, 1_000_000] {
        let body = bytes(count);
        servers.both(&Ask::post("/spawned", &body[..]), 200);
        let pieces = cut(&body, (count / 10).max(1));
        servers.both(&Ask::new("POST", "/spawned").in_pieces(pieces), 200);
    }
}
