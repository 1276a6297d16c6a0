//! Answers whose bodies come piece by piece.

use std::convert::Infallible;
use std::future;
use std::io::Write;
use std::pin::Pin;
use std::task::{Context, Poll};

use axum::Router;
use axum::body::{Body, Bytes};
use axum::extract::Path;
use axum::routing::get;
use futures_util::{StreamExt, stream};
use http_body::{Frame, SizeHint};
use tokio::sync::mpsc;

use crate::Servers;
use crate::handlers::{Tells, piece};
use crate::wire::{Ask, connect, until, within};

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
