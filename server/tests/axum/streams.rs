//! Answers whose bodies come piece by piece.

use std::convert::Infallible;
use std::future;
use std::io::{self, Write};
use std::pin::Pin;
use std::task::{Context, Poll};
use std::thread;
use std::time::Duration;

use axum::Router;
use axum::body::{Body, Bytes};
use axum::extract::Path;
use axum::response::Sse;
use axum::response::sse::Event;
use axum::routing::get;
use futures_util::{StreamExt, stream};
use http_body::{Frame, SizeHint};
use tokio::sync::mpsc;

use crate::handlers::{Elsewhere, Tells, piece};
use crate::wire::{Ask, End, connect, until, within};
use crate::{LAST, Servers};

fn app() -> Router {
    let ready = async |Path((count, length)): Path<(usize, usize)>| {
        let pieces = (0..count).map(move |at| Ok::<_, Infallible>(piece(at, length)));
        Body::from_stream(stream::iter(pieces))
    };
    let waiting = async |Path((count, length)): Path<(usize, usize)>| {
        let pieces = stream::iter(0..count).then(move |at| async move {
            Elsewhere::default().await;
            Ok::<_, Infallible>(piece(at, length))
        });
        Body::from_stream(pieces)
    };
    let empties = async || {
        let pieces = ["", "a", "", "", "b", ""].map(Ok::<_, Infallible>);
        Body::from_stream(stream::iter(pieces))
    };
    let nothing = async || Body::from_stream(stream::iter([Ok::<_, Infallible>(""), Ok("")]));
    let late = async || {
        Elsewhere::default().await;
        "late\n"
    };
    let channel = async |Path(count): Path<usize>| {
        let (sender, mut receiver) = mpsc::channel::<Bytes>(2);
        thread::spawn(move || {
            for at in 0..count {
                if sender.blocking_send(piece(at, 1000)).is_err() {
                    return;
                }
            }
        });
        let pieces = stream::poll_fn(move |context| receiver.poll_recv(context));
        Body::from_stream(pieces.map(Ok::<_, Infallible>))
    };
    Router::new()
        .route("/ready/{count}/{length}", get(ready))
        .route("/waiting/{count}/{length}", get(waiting))
        .route("/empties", get(empties))
        .route("/nothing", get(nothing))
        .route("/late", get(late))
        .route("/channel/{count}", get(channel))
}

#[test]
fn pieces_are_what_the_body_gave() {
    let servers = Servers::of(app);
    for target in [
        "/ready/0/1",
        "/ready/1/5",
        "/ready/3/10",
        "/ready/100/1",
        "/ready/20/16384",
        "/ready/3/400000",
        "/waiting/1/5",
        "/waiting/20/100",
        "/waiting/5/100000",
        "/empties",
        "/nothing",
        "/channel/0",
        "/channel/100",
        "/late",
    ] {
        servers.both(&Ask::get(target), 200);
        servers.raw(format!("GET {target} HTTP/1.0\r\n\r\n"), &[200]);
    }
    servers.both(&Ask::new("HEAD", "/ready/3/10"), 200);
}

#[test]
fn pipelined_answers_in_pieces_wait_for_each_other() {
    let servers = Servers::of(app);
    let targets = [
        "/waiting/5/3",
        "/late",
        "/ready/5/3",
        "/waiting/3/50000",
        "/ready/1/1",
        "/late",
    ];
    let requests = targets.map(|target| format!("GET {target} HTTP/1.1\r\nhost: a\r\n\r\n"));
    servers.raw(
        requests.concat() + LAST,
        &[200, 200, 200, 200, 200, 200, 404],
    );
}

#[test]
fn events() {
    let app = || {
        let events = async || {
            let events = (0..3).map(|i| {
                let event = Event::default().id(i.to_string()).event("tick");
                Ok::<_, Infallible>(event.data(format!("line {i}\nand more")))
            });
            Sse::new(stream::iter(events))
        };
        let odd = async || {
            let events = [
                Event::default().comment("nothing"),
                Event::default().retry(Duration::from_secs(3)),
                Event::default().json_data([1, 2]).expect("JSON"),
                Event::default().data(""),
            ];
            Sse::new(stream::iter(events.map(Ok::<_, Infallible>)))
        };
        let waiting = async || {
            let events = stream::iter(0..5).then(async |i: u8| {
                Elsewhere::default().await;
                Ok::<_, Infallible>(Event::default().data(i.to_string()))
            });
            Sse::new(events)
        };
        Router::new()
            .route("/events", get(events))
            .route("/odd", get(odd))
            .route("/waiting", get(waiting))
    };
    let servers = Servers::of(app);
    for target in ["/events", "/odd", "/waiting"] {
        servers.both(&Ask::get(target).field("accept", "text/event-stream"), 200);
    }
    let heard = servers.http1(&Ask::get("/events"), 200);
    assert!(heard.has("content-type: text/event-stream\r\n"), "{heard}");
    assert!(heard.has("data: line 0\ndata: and more\n"), "{heard}");
}

/// A body that says how long it is, and gives that in pieces.
struct Sized(Vec<Bytes>);

impl http_body::Body for Sized {
    type Data = Bytes;
    type Error = Infallible;

    fn poll_frame(
        mut self: Pin<&mut Self>,
        _: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, Infallible>>> {
        Poll::Ready(self.0.pop().map(|piece| Ok(Frame::data(piece))))
    }

    fn size_hint(&self) -> SizeHint {
        SizeHint::with_exact(self.0.iter().map(|piece| piece.len() as u64).sum())
    }
}

#[test]
fn bodies_of_a_known_length_in_pieces() {
    let app = || {
        let sized = async |Path((count, length)): Path<(usize, usize)>| {
            Body::new(Sized((0..count).map(|at| piece(at, length)).collect()))
        };
        Router::new().route("/{count}/{length}", get(sized))
    };
    let servers = Servers::of(app);
    for target in ["/1/5", "/3/5", "/4/0", "/10/100000", "/0/0"] {
        servers.both(&Ask::get(target), 200);
        servers.both(&Ask::new("HEAD", target), 200);
        servers.raw(format!("GET {target} HTTP/1.0\r\n\r\n"), &[200]);
    }
}

/// What a client gets of a body that fails, and that it learns of the failure.
#[test]
fn errors_in_the_middle_truncate() {
    let app = || {
        let failing = async |Path(before): Path<usize>| {
            let pieces = (0..before).map(|at| Ok(piece(at, 10)));
            let end = stream::once(future::ready(Err(io::Error::other("on purpose"))));
            Body::from_stream(stream::iter(pieces).chain(end))
        };
        let announced = async || {
            let pieces = [Ok("hello"), Err(io::Error::other("on purpose"))];
            (
                [("content-length", "100")],
                Body::from_stream(stream::iter(pieces)),
            )
        };
        let late = async || {
            let pieces = stream::iter(0..3).then(async |at| {
                Elsewhere::default().await;
                match at {
                    2 => Err(io::Error::other("on purpose")),
                    at => Ok(piece(at, 10)),
                }
            });
            Body::from_stream(pieces)
        };
        Router::new()
            .route("/failing/{before}", get(failing))
            .route("/announced", get(announced))
            .route("/late", get(late))
    };
    let servers = Servers::of(app);
    for target in [
        "/failing/0",
        "/failing/1",
        "/failing/5",
        "/announced",
        "/late",
    ] {
        let request = format!("GET {target} HTTP/1.1\r\nhost: a\r\n\r\n");
        let (ours, theirs) = servers.apart(request);
        assert_eq!(ours.statuses(), [200], "{target} {ours}");
        assert!(!ours.bytes.ends_with(b"0\r\n\r\n"), "{target} {ours}");
        assert_eq!(ours.end, End::Closed, "{target} {ours}");
        // What hyper has of a failed body when it hangs up, it may keep to itself.
        assert!(
            ours.bytes.starts_with(&theirs.bytes),
            "{target} {ours} {theirs}"
        );
        let (ours, theirs) = servers.apart_http2(&Ask::get(target));
        assert!(
            ours.error.is_some() && theirs.error.is_some(),
            "{target} {ours} {theirs}"
        );
        assert_eq!(ours.error, theirs.error, "{target}");
    }
}

#[test]
fn a_body_that_waits_forever_holds_up_nobody_else() {
    let (told, mut dropped) = mpsc::unbounded_channel();
    let app = move || {
        let told = told.clone();
        let endless = move || {
            let guard = Tells(told.clone(), ());
            let pieces = stream::once(future::ready(Ok::<_, Infallible>("first")));
            let never = stream::pending().inspect(move |_| {
                let _ = &guard;
            });
            future::ready(Body::from_stream(pieces.chain(never)))
        };
        Router::new()
            .route("/endless", get(endless))
            .route("/", get(async || "others\n"))
    };
    let servers = Servers::of(app);
    let ask = |address| {
        let mut stream = connect(address);
        let request = b"GET /endless HTTP/1.1\r\nhost: a\r\n\r\n";
        stream.write_all(request).expect("the server reads");
        until(&mut stream, b"first\r\n");
        stream
    };
    let asked: Vec<_> = servers.addresses().map(ask).collect();
    servers.both(&Ask::get("/"), 200);
    let count = asked.len();
    drop(asked);
    for _ in 0..count {
        within(dropped.recv());
    }
}
