//! The examples of the library, natively and with axum, held to what `ringside serve` is held to:
//! by others (h2spec), and by the tables of requests that have to be refused.
#![allow(clippy::duplicate_mod)] // Each example is a program of its own.

#[path = "../../../tests/broken_requests.rs"]
mod broken_requests;
#[path = "../../../tests/go_peer.rs"]
mod go_peer;
mod refusals;
#[path = "../../../tests/skip.rs"]
mod skip;

#[allow(dead_code)] // Its `main` isn't called here.
#[path = "../../examples/axum.rs"]
mod axum_example;
#[allow(dead_code)]
#[path = "../../examples/native.rs"]
mod native_example;

use std::net::SocketAddr;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use axum::Router;
use axum::extract::Request;
use axum::http::StatusCode;
use axum::middleware::{self, Next};
use axum::response::{IntoResponse, Response};
use go_peer::h2spec;
use ringside_server::{
    Address, Config, EngineChoice, Running, StartError, Stop, Summary, Tls, tower,
};
use skip::skip;
use tls::Certificate;

const ENGINES: [EngineChoice; 2] = [EngineChoice::Uring, EngineChoice::Epoll];

/// An example on one engine.
struct Server {
    /// Which, for messages.
    who: String,
    running: Option<Running>,
    /// Requests that came to a handler, if that can be seen.
    handled: Option<Arc<AtomicU64>>,
}

impl Server {
    /// The native example, and this application, with each engine that can be had here.
    fn each(tls: bool, app: &Router) -> Vec<Server> {
        let all =
            ENGINES.map(|engine| [Server::native(engine, tls), Server::axum(engine, tls, app)]);
        all.into_iter().flatten().flatten().collect()
    }

    fn native(engine: EngineChoice, tls: bool) -> Option<Server> {
        let started = native_example::start(config(engine, tls), &Stop::new());
        let started = started.map_err(|error| match error.downcast::<StartError>() {
            Ok(error) => *error,
            Err(error) => panic!("{error}"),
        });
        Server::of(format!("native, {engine}, TLS: {tls}"), started, None)
    }

    fn axum(engine: EngineChoice, tls: bool, app: &Router) -> Option<Server> {
        let handled = Arc::new(AtomicU64::new(0));
        let counter = Arc::clone(&handled);
        let counted = middleware::from_fn(move |request: Request, next: Next| {
            counter.fetch_add(1, Ordering::Relaxed);
            next.run(request)
        });
        let app = app.clone().layer(counted);
        let config = config(engine, tls);
        let started = tower::start(config, move |_worker| app.clone(), &Stop::new());
        Server::of(
            format!("axum, {engine}, TLS: {tls}"),
            started,
            Some(handled),
        )
    }

    fn of(
        who: String,
        started: Result<Running, StartError>,
        handled: Option<Arc<AtomicU64>>,
    ) -> Option<Server> {
        match started {
            Ok(running) => Some(Server {
                who,
                running: Some(running),
                handled,
            }),
            Err(StartError::Engine(error)) => {
                skip(format!("{who} cannot be tried here: {error}"));
                None
            }
            Err(error) => panic!("{who}: {error}"),
        }
    }

    fn address(&self) -> SocketAddr {
        match self.running.as_ref().map(Running::address) {
            Some(Address::Tcp(address)) => *address,
            other => panic!("not a TCP server: {other:?}"),
        }
    }

    /// Ends it, and says what it did, and how many requests came to a handler.
    fn end(mut self) -> (Summary, Option<u64>) {
        let running = self.running.take().expect("it's ended once");
        running.stop();
        let summary = running.join().expect("it ends well");
        let handled = self.handled.as_ref();
        (
            summary,
            handled.map(|handled| handled.load(Ordering::Relaxed)),
        )
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        if let Some(running) = self.running.take() {
            running.stop();
            let _ = running.join();
        }
    }
}

fn config(engine: EngineChoice, tls: bool) -> Config {
    let names = vec!["localhost".to_owned()];
    let tls = tls.then_some(Tls {
        certificate: Certificate::SelfSigned { names },
        client_authorities: None,
    });
    Config {
        engine,
        tls,
        ..Config::new(Address::Tcp(([127, 0, 0, 1], 0).into()))
    }
}

/// Reads a body before the handler is called, as most of them do. One that answers without may have
/// ended its stream before h2spec gets to break a rule on it.
async fn read(request: Request, next: Next) -> Response {
    let (parts, body) = request.into_parts();
    match axum::body::to_bytes(body, 1 << 20).await {
        Ok(body) => next.run(Request::from_parts(parts, body.into())).await,
        Err(_) => StatusCode::BAD_REQUEST.into_response(),
    }
}

#[test]
fn h2spec_finds_no_fault() {
    let app = axum_example::app().layer(middleware::from_fn(read));
    for tls in [false, true] {
        for server in Server::each(tls, &app) {
            h2spec(server.address().port(), tls, &server.who);
            server.end();
        }
    }
}
