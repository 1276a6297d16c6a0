//! Services of tower, such as an axum application, on this server.
//!
//! [`start`] takes what makes a [`tower_service::Service`] of requests and responses as the crate
//! `http` has them; each worker has one of its own, on its own thread. An axum application runs by
//! changing the end of its `main`:
//!
//! ```
//! use axum::{Router, routing::get};
//! use ringside_server::{Address, Config, Stop, tower};
//!
//! # fn main() -> Result<(), Box<dyn std::error::Error>> {
//! let app = Router::new().route("/", get(|| async { "hello\n" }));
//! let config = Config::new(Address::Tcp("127.0.0.1:0".parse()?));
//! // `Stop::on_signals()` makes one that ends the server at SIGINT and SIGTERM.
//! let running = tower::start(config, move |_worker| app.clone(), &Stop::new())?;
//! # running.stop();
//! running.join()?;
//! # Ok(())
//! # }
//! ```
//!
//! A handler is polled where its request is read, so one that need not wait costs no hop through a
//! queue. One that waits is woken from wherever its waker is used. If its client leaves, it's
//! dropped. A handler that panics is answered with 500, counted in
//! [`Counts::panics`](crate::Counts::panics), and its worker goes on. All of a worker's requests
//! share its thread: a handler that blocks it for a second is named in a warning (`tracing`).
//!
//! What a client sees is what it would see of hyper, in hyper's order and spelling. Where they
//! differ, of which `docs/src/guides/axum.md` has a longer list:
//!
//! - a handler's panic is a 500 here and a closed connection there; in either, one in a body that
//!   is being given cuts the answer;
//! - pipelined requests are handled at the same time while all their methods are safe; any other
//!   has the connection to itself (RFC 9112 §9.3.2), as each request has in hyper;
//! - what can't be said in an answer is a 500, or left out, where hyper ends the connection or says
//!   it all the same: a `content-length` that isn't that of the body, 1xx as the final status, over
//!   HTTP/2 statuses from 600 on, `te` and trailers that belong to a connection; a body or its
//!   length behind a 204, and a body behind a 304;
//! - a body that ends before its `content-length`, or fails, is sent as far as there is any of it;
//! - a client that asks whether to send its body and sends it with its head isn't told to;
//! - bodies over [`Limits::body_bytes`](crate::Limits::body_bytes) are refused with 413;
//! - trailers of requests are told over HTTP/2 only; `CONNECT` over HTTP/1.1 is refused; upgrades
//!   need the feature `tokio`, and a connection whose upgrade isn't granted ends with the answer.
//!
//! What handlers haven't read of bodies, requests whose handlers wait, and what is on its way on
//! upgraded connections counts towards [`Limits::memory_bytes`](crate::Limits::memory_bytes). When
//! the server stops, handlers have [`Timeouts::drain`](crate::Timeouts::drain) to end; then they
//! are dropped, and tasks of tokio with them.

mod adapter;
#[cfg(not(feature = "tokio"))]
mod alone;
mod body;
mod convert;
mod hosted;
mod pump;
mod queue;
#[cfg(feature = "tokio")]
mod runtime;
#[cfg(feature = "tokio")]
mod upgrade;

use std::error::Error;

use http::{Request, Response};
use tower_service::Service;

pub use body::{Body, BodyError};

use crate::config::Config;
use crate::start::{self, Running, StartError};
#[cfg(not(feature = "tokio"))]
use alone::Host;
use engine::signal::Stop;
use hosted::Hosted;
#[cfg(feature = "tokio")]
use runtime::Host;

/// Starts a server whose requests are answered by services of tower, until `stop` is requested.
///
/// `make` makes the service of each worker, on the worker's thread, out of its index: 0 to
/// [`Config::threads`] - 1. What is `Clone` may just be cloned there. A service that isn't ready
/// for a request is waited for; one that fails answers 500.
///
/// # Errors
/// As for [`crate::start`].
pub fn start<T, B, M>(config: Config, make: M, stop: &Stop) -> Result<Running, StartError>
where
    T: Service<Request<Body>, Response = Response<B>> + Clone + 'static,
    T::Error: Into<Box<dyn Error + Send + Sync>>,
    B: http_body::Body + 'static,
    B::Error: Into<Box<dyn Error + Send + Sync>>,
    M: Fn(usize) -> T + Clone + Send + 'static,
{
    let make = move |worker| Hosted::new(Host::new(), || make(worker));
    start::start(config, make, stop)
}

/// A service of tower as one that [`crate::simulated`] can serve.
#[cfg(fuzzing)]
#[doc(hidden)]
pub fn simulated<T, B>(service: T) -> impl crate::Service
where
    T: Service<Request<Body>, Response = Response<B>> + Clone + 'static,
    T::Error: Into<Box<dyn Error + Send + Sync>>,
    B: http_body::Body + 'static,
    B::Error: Into<Box<dyn Error + Send + Sync>>,
{
    Hosted::new(Host::new(), || service)
}
