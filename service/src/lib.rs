//! What answers requests: the interface between a service and the connections of a worker.
//!
//! A service is given a [`Request`] and gives a [`Reply`], now or later. It knows nothing of
//! connections, sockets or the protocol's bytes; a connection knows nothing of what services do.
//!
//! # Later
//!
//! A service that cannot answer yet takes a [`Ticket`] and replies [`Reply::Later`]. Whoever holds
//! the ticket answers it through [`Context::complete`], from any later call: its own timer
//! ([`Service::due`]), an exchange with an upstream, or word from another thread
//! ([`Service::rung`]). A [`Responder`] answers from any thread. The worker finds the connection by
//! the ticket; a ticket whose connection is gone is dropped there, so a holder never needs to be
//! told.
//! Answers leave in the order of their requests, whatever the order in which they are completed.
//!
//! # In pieces
//!
//! The same ticket stands for a body that comes in pieces ([`Intake::Stream`]) and for one that
//! leaves in pieces ([`Body::Stream`]). What comes is told as an [`Event`], and what leaves is
//! handed to [`Context::send`]. Neither side may pile up: [`Context::pause`] has the client wait,
//! and [`Event::Writable`] says that the client has taken what was sent.
//!
//! # In messages
//!
//! A WebSocket that is the service's ([`Dialogue::Service`]) tells whole messages as events of the
//! ticket of its request, and [`Context::say`] says others: again no connection is held.
//!
//! The crate `ringside-server` has what calls it, and shows all of this to its users.
//!
//! [`Body::Stream`]: exchange::response::Body::Stream
//! [`Request`]: exchange::request::Request
#![forbid(unsafe_code)]

mod context;
mod live;
mod mail;
mod peer;
mod service;
mod summary;
mod ticket;
mod timeouts;
mod times;
pub mod upstream;

pub use context::{Action, Agenda, Context, Event, Notice};
pub use live::{Live, LiveCounts, Posted};
pub use mail::{Bell, Responder};
pub use peer::{Peer, Peers};
pub use service::{Dialogue, Intake, Reply, Service, Turns};
pub use summary::{COUNTS, Counts, Rejections, Summary};
pub use ticket::Ticket;
pub use timeouts::Timeouts;
pub use times::{Answered, RecordedTimes, ResponseTimes};
