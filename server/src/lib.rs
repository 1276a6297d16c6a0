//! A server library: HTTP/1.1, HTTP/2, gRPC and WebSocket on io_uring or epoll.
//!
//! There are two ways to use it. Natively, you write a [`Service`], give [`start`] a function that
//! makes one for each worker, and requests of every protocol come to it in one form:
//!
//! ```
//! use ringside_server::{Address, Config, Context, Reply, Request, Response, Service, Stop};
//!
//! struct Greeter;
//!
//! impl Service for Greeter {
//!     fn call(&mut self, request: &Request<'_>, _: &mut Context<'_>) -> Reply {
//!         match (request.method(), request.path()) {
//!             (b"GET" | b"HEAD", b"/") => Response::fixed("text/plain", b"hello\n").into(),
//!             (_, b"/") => Response::empty(405).with_field("Allow", "GET, HEAD").into(),
//!             _ => Response::sentence(404, "nothing is served at this path\n").into(),
//!         }
//!     }
//! }
//!
//! # fn main() -> Result<(), Box<dyn std::error::Error>> {
//! let config = Config::new(Address::Tcp("127.0.0.1:0".parse()?));
//! let running = ringside_server::start(config, |_worker| Greeter, &Stop::new())?;
//! # running.stop();
//! running.join()?; // `Stop::on_signals()` ends it at SIGINT and SIGTERM.
//! # Ok(())
//! # }
//! ```
//!
//! Or you bring a service of tower, such as an axum application, which
//! [`tower::start`](tower/fn.start.html) takes as it is:
//!
//! ```
//! use axum::{Router, routing::get};
//! use ringside_server::{Address, Config, Stop, tower};
//!
//! # fn main() -> Result<(), Box<dyn std::error::Error>> {
//! let app = Router::new().route("/", get(async || "hello\n"));
//! let config = Config::new(Address::Tcp("127.0.0.1:0".parse()?));
//! let running = tower::start(config, move |_worker| app.clone(), &Stop::new())?;
//! # running.stop();
//! running.join()?;
//! # Ok(())
//! # }
//! ```
//!
//! | feature | what it brings |
//! |---|---|
//! | (none) | services of this crate alone |
//! | `tower` | `tower::start`: any `tower::Service` of the crate `http`'s requests and responses |
//! | `tokio` | `tower`, and tokio in handlers: a runtime per worker; WebSockets, other upgrades |
//!
//! What blocks or takes long goes to a pool of threads, [`Tasks`], or to threads of your own, which
//! answer through a [`Responder`].
//!
//! A native service may ask other servers over HTTP/1.1 and HTTP/2, on its worker's own driver:
//! [`upstream`] has pools, limits, deadlines and retries.
//!
//! [`Config`] has what there is to set: addresses, threads, TLS, [`Limits`], [`Timeouts`]; and
//! [`LiveCounts`] says what a server has counted while it runs, and [`ResponseTimes`] how long its
//! answers took.
//!
//! A native service has WebSockets without a library: [`Dialogue::Service`] tells it whole
//! messages, and [`Context::say_all`] says one to many.
//!
//! `server/examples/native.rs` is a whole program. A service may answer later ([`Reply::Later`]),
//! refuse a body before it comes ([`Intake`]), and, for clients to be tested with, misbehave
//! ([`fault`]). Methods, routes, 404 and 405 are up to it.
//!
//! [`start`] opens one worker for each thread: a driver, a listener of its own and the loop that
//! serves it. Workers share nothing, so nothing is locked. [`Running::join`] returns once the
//! [`Stop`] is requested and everything in flight has finished, and says what was done.
//!
//! From the outside in: `worker` knows sockets and no protocol; the crate `connection` knows
//! protocols and no sockets; a [`Service`], or a call of [`grpc`], knows what to answer and
//! neither.
//!
//! This crate does not know load, measurements or the command line. Its speed is a yardstick for
//! others, so the usual path (a small request that repeats itself, answered with [`Reply::Always`])
//! takes one comparison of the head and one copy of an answer that is kept encoded: no allocation,
//! no formatting, no timer, and no call of the service.
#![forbid(unsafe_code)]

mod config;
#[cfg(fuzzing)]
#[doc(hidden)]
pub mod simulated;
mod start;
mod tasks;
#[cfg(feature = "tower")]
pub mod tower;
mod worker;

#[cfg(feature = "tower")]
use exchange::headers;
use exchange::{pattern, request, response};

pub use config::{Config, Limits, Tls};
#[doc(inline)]
pub use exchange::{fault, grpc};
#[doc(inline)]
pub use request::{Fields, Request, Version};
#[doc(inline)]
pub use response::{Body, Field, Response};
#[doc(inline)]
pub use service::{
    Bell, Context, Counts, Dialogue, Event, Intake, Live, LiveCounts, Peer, Rejections, Reply,
    Responder, ResponseTimes, Service, Summary, Ticket, Timeouts, upstream,
};
pub use start::{Running, StartError, start};
pub use tasks::{TaskCounts, TaskLimits, Tasks, TasksFull};

pub use engine::signal::{Signal, Stop};
pub use engine::{
    Address, Broken, EngineChoice, EngineCounters, Listening, OpenError, Secure, Share,
};
pub use measure::cpu::PinError;
pub use measure::histogram::Histogram;
pub use measure::time::Time;
pub use tls::{
    Alpn, Certificate, ClientSettings, ClientTls, Secured, ServerSettings, ServerTls, Trust,
};
