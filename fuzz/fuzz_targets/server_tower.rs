//! A whole worker with an application of axum, in the simulated network: no bytes of a client make
//! it panic, call its handlers twice for one request or for what is none, or keep memory or
//! handlers.
//!
//! The application is that of the example, with handlers beside it that wait for ever, read no
//! body, or only its beginning. `support/whole.rs` says how an input is read.
#![no_main]

#[path = "../../server/examples/axum.rs"]
#[allow(dead_code, reason = "it's a whole program")]
mod application;
#[path = "../support/frames.rs"]
#[allow(dead_code, reason = "the targets of the protocol use the rest")]
mod frames;
#[path = "../../measure/src/random.rs"]
#[allow(dead_code)] // Other targets use the rest.
mod random;
#[path = "../support/whole.rs"]
mod whole;

use std::cell::{Cell, RefCell};
use std::future::Future;
use std::pin::Pin;
use std::rc::Rc;
use std::task::{Context, Poll};

use axum::Router;
use axum::body::{Body, BodyDataStream};
use axum::routing::any;
use futures_util::StreamExt;
use http::Request;
use libfuzzer_sys::{Corpus, fuzz_target};
use ringside_server::simulated::serve;
use ringside_server::tower;
use tower_service::Service;
use whole::Told;

fn app() -> Router {
    application::app()
        .route("/wait", any(wait))
        .route("/first", any(first))
        .route("/twice", any(twice))
}

/// Never answers, and keeps the body.
async fn wait(request: Request<Body>) {
    let _body = request.into_body();
    std::future::pending().await
}

/// Reads the beginning of a body.
async fn first(request: Request<Body>) -> Vec<u8> {
    let mut body: BodyDataStream = request.into_body().into_data_stream();
    match body.next().await {
        Some(Ok(piece)) => piece.to_vec(),
        _ => Vec::new(),
    }
}

/// Reads all of a body, and answers with twice as much.
async fn twice(body: axum::body::Bytes) -> Body {
    let pieces = [Ok::<_, axum::BoxError>(body.clone()), Ok(body)];
    Body::from_stream(futures_util::stream::iter(pieces))
}

/// An application of which each call is noted, and how many handlers there are.
#[derive(Clone)]
struct Noted {
    app: Router,
    told: Rc<RefCell<Vec<Told>>>,
    alive: Rc<Cell<usize>>,
}

/// A handler that is counted.
struct Handling<F> {
    handler: Pin<Box<F>>,
    alive: Rc<Cell<usize>>,
}

impl<F: Future> Future for Handling<F> {
    type Output = F::Output;

    fn poll(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<F::Output> {
        self.handler.as_mut().poll(context)
    }
}

impl<F> Drop for Handling<F> {
    fn drop(&mut self) {
        self.alive.set(self.alive.get() - 1);
    }
}

impl Service<Request<tower::Body>> for Noted {
    type Response = axum::response::Response;
    type Error = std::convert::Infallible;
    type Future = Handling<<Router as Service<Request<tower::Body>>>::Future>;

    fn poll_ready(&mut self, _: &mut Context<'_>) -> Poll<Result<(), Self::Error>> {
        Poll::Ready(Ok(())) // As routers always are.
    }

    fn call(&mut self, request: Request<tower::Body>) -> Self::Future {
        let (method, target) = (request.method().as_str(), request.uri().to_string());
        let told = (method.as_bytes().to_vec(), target.into_bytes());
        self.told.borrow_mut().push(told);
        self.alive.set(self.alive.get() + 1);
        Handling {
            handler: Box::pin(self.app.call(request)),
            alive: Rc::clone(&self.alive),
        }
    }
}

thread_local! {
    /// Made once: routes are the same for each input.
    static APP: Router = app();
}

fuzz_target!(|data: &[u8]| -> Corpus {
    let Some(case) = whole::case(data) else {
        return Corpus::Reject;
    };
    let noted = Noted {
        app: APP.with(Router::clone),
        told: Rc::default(),
        alive: Rc::default(),
    };
    let service = tower::simulated(noted.clone());
    let scripts = vec![case.script, whole::fair()];
    let memory_bytes = if case.choice { 1 << 20 } else { 4096 };
    let config = whole::config(memory_bytes);
    let outcome = serve(service, scripts, case.chance, 10, &config);
    whole::check(&outcome);
    assert_eq!(noted.alive.get(), 0, "handlers are left");
    let told = noted.told.take();
    assert!(told.len() as u64 <= outcome.counts.requests, "{told:?}");
    let told = whole::without_fair(told);
    // A URI may say the same in another form where the target has a host.
    if !case.http2 && told.iter().all(|(_, target)| target.starts_with(b"/")) {
        // A URI has no fragment (RFC 9112 §3.2).
        let seen = |target: Vec<u8>| match target.iter().position(|&byte| byte == b'#') {
            Some(at) => target[..at].to_vec(),
            None => target,
        };
        whole::check_told(&told, &case.input, seen);
    }
    Corpus::Keep
});
