//! Requests to other servers: what is spoken on each connection, which connection takes which
//! request, and what becomes of it. No sockets and no clock: the time is an argument.
//!
//! Three parts, from the outside in:
//!
//! - [`Desk`] is what a service writes on during a call: requests to make, pieces of their bodies,
//!   what is to be cancelled. It names each [`Exchange`] at once, and does nothing else.
//! - [`Upstreams`] is the pool of a worker. It takes what the desk says and what sockets did, and
//!   gives [`Order`]s (connect, send, close) and events.
//! - `wire` speaks HTTP/1.1 or HTTP/2 on one connection, by the client machines of `proto`.
//!
//! # Which connection takes a request
//!
//! Of HTTP/1.1 the one that fell idle last, so that those above what is needed time out; of HTTP/2
//! the first with room below the server's `SETTINGS_MAX_CONCURRENT_STREAMS`. If none has room,
//! another one is opened up to [`Limits::connections`], and the request waits in line, up to
//! [`Limits::waiting`] of them; what comes beyond fails at once. Addresses take turns, and if one
//! can't be reached the next is tried before anybody is told.
//!
//! # Retries
//!
//! A request is sent a second time, once, if it can't do harm (RFC 9110 §9.2.2): its method is
//! idempotent, its body isn't streamed, the head of the final answer hasn't come whole, and the
//! connection either was a kept one that the server has closed meanwhile, or the server says that
//! it did nothing for the request (GOAWAY, `REFUSED_STREAM`; RFC 9113 §8.7). Everything else is the
//! service's to decide: [`Error::unprocessed`] and [`Error::may_be_repeated`] say what's known.
//!
//! # What the answer is held to
//!
//! An answer with two lengths, two framings, a transfer coding besides `chunked`, a head above the
//! limits or any other violation ends its exchange with [`Kind::Malformed`] and its connection with
//! it. Trailers are told over HTTP/2; over HTTP/1.1 they're read and thrown away, as
//! RFC 9110 §6.5.1 allows. Interim answers (1xx) aren't told.
#![forbid(unsafe_code)]

mod answer;
mod config;
mod counts;
mod desk;
mod encode;
mod exchanges;
mod forward;
mod links;
mod owners;
mod pool;
mod request;
mod upstreams;
mod wire;
mod wishes;

pub use answer::{Error, Event, Fields, Head, Kind};
pub use config::{Config, Limits, Protocol, Settings, Timeouts};
pub use counts::{Counts, FIGURES, Failures};
pub use desk::{Act, Desk, Exchange, Upstream};
pub use forward::forwarded;
pub use links::{Link, Order};
pub use owners::{Owner, Owners};
pub use request::{Body, Request};
pub use upstreams::{Broke, News, Tell, Upstreams};
pub use wishes::Wishes;
