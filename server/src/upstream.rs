//! Other servers that a service asks: what an upstream is, requests to it, and what comes of them.
//!
//! A service declares upstreams when its worker starts ([`Service::started`]) or later
//! ([`Context::upstream`]), and sends them requests ([`Context::ask`]). Each worker has a pool of
//! connections to each, on its own driver: nothing is shared and nothing locked. Each request is an
//! [`Exchange`], which [`Service::exchange`] is told of: the head of the answer, its body piece by
//! piece, its end, or why there is none ([`Error`]).
//!
//! ```
//! use ringside_server::upstream::{self, Exchange, Upstream};
//! use ringside_server::{Context, Reply, Request, Response, Service};
//!
//! /// Says what the server behind it answers to `GET /health`.
//! struct Health {
//!     upstream: Option<Upstream>,
//! }
//!
//! impl Service for Health {
//!     fn started(&mut self, context: &mut Context<'_>) {
//!         let address = ringside_server::Address::Tcp(([127, 0, 0, 1], 9000).into());
//!         self.upstream = context.upstream(upstream::Config::new([address])).ok();
//!     }
//!
//!     fn call(&mut self, _: &Request<'_>, context: &mut Context<'_>) -> Reply {
//!         let request = upstream::Request::new("GET", "/health", "behind.internal");
//!         let asked = self.upstream.map(|upstream| context.ask(upstream, request));
//!         match asked {
//!             Some(Ok(_)) => Reply::Later,
//!             _ => Response::sentence(503, "nobody can be asked\n").into(),
//!         }
//!     }
//!
//!     fn exchange(&mut self, _: Exchange, event: upstream::Event<'_>, context: &mut Context<'_>) {
//!         let ticket = context.ticket();
//!         match event {
//!             upstream::Event::Head(head) => {
//!                 let text = format!("it answers {}\n", head.status());
//!                 context.complete(ticket, Response::of("text/plain", text));
//!             }
//!             upstream::Event::Failed(error) if !error.answered() => {
//!                 let status = error.kind().status();
//!                 context.complete(ticket, Response::sentence(status, format!("{error}\n")));
//!             }
//!             _ => {}
//!         }
//!     }
//! }
//! ```
//!
//! # Whose an exchange is
//!
//! It belongs to the request whose ticket the context had. If that client goes
//! ([`Event::Closed`](crate::Event::Closed) is told of the request), the exchange is cancelled and
//! told [`Kind::ClientGone`]. An exchange of [`Context::ask_for_nobody`] belongs to nobody. What the
//! service answers by itself meanwhile doesn't end the exchange: it says so
//! ([`Context::ask_cancel`]).
//!
//! # Passing a request on
//!
//! [`Request::forward`] makes the request of a client one to an upstream, and [`Head::forward`] the
//! answer one to the client: without the fields of the connection (RFC 9110 §7.6.1), and with new
//! framing, so that nobody can smuggle one message in another. Pieces of bodies are passed on by
//! hand, with [`Context::pause`] and [`Context::ask_pause`] for back-pressure:
//! `server/examples/upstream.rs` is a whole reverse proxy.
//!
//! # How it ends
//!
//! [`Event::End`] or [`Event::Failed`] is told once, last, unless the service has cancelled the
//! exchange. A server that stops lets exchanges finish until [`Timeouts::drain`] is over; those of
//! nobody that would begin after the stop fail with [`Kind::Stopping`].
//!
//! Upstreams are spoken to in the clear. TLS towards them isn't supported yet.
//!
//! [`Service::started`]: crate::Service::started
//! [`Service::exchange`]: crate::Service::exchange
//! [`Context::upstream`]: crate::Context::upstream
//! [`Context::ask`]: crate::Context::ask
//! [`Context::ask_for_nobody`]: crate::Context::ask_for_nobody
//! [`Context::ask_cancel`]: crate::Context::ask_cancel
//! [`Context::ask_pause`]: crate::Context::ask_pause
//! [`Context::pause`]: crate::Context::pause
//! [`Timeouts::drain`]: crate::Timeouts::drain

use engine::Address;

pub use proto::{Misuse, Violation};
pub use upstream::{
    Body, Counts, Error, Event, Exchange, Failures, Fields, Head, Kind, Limits, Protocol, Request,
    Timeouts, Upstream, forwarded,
};

use crate::service::Ticket;

/// Where an upstream is and how it's spoken to. The limits hold for each worker.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Config {
    /// Where it is. Connections are opened to each in turn, and where one can't be reached, the next
    /// is tried at once.
    pub addresses: Vec<Address>,
    /// What is spoken, always in the clear.
    pub protocol: Protocol,
    /// How much it may take and give.
    pub limits: Limits,
    /// How long things may take.
    pub timeouts: Timeouts,
}

impl Config {
    /// An upstream at these addresses, over HTTP/1.1, with the limits as they are without further
    /// wishes.
    pub fn new(addresses: impl Into<Vec<Address>>) -> Config {
        Config {
            addresses: addresses.into(),
            protocol: Protocol::default(),
            limits: Limits::default(),
            timeouts: Timeouts::default(),
        }
    }

    /// The same over this protocol.
    pub fn with_protocol(self, protocol: Protocol) -> Config {
        Config { protocol, ..self }
    }

    /// The same with these limits.
    pub fn with_limits(self, limits: Limits) -> Config {
        Config { limits, ..self }
    }

    /// The same with these timeouts.
    pub fn with_timeouts(self, timeouts: Timeouts) -> Config {
        Config { timeouts, ..self }
    }
}

/// What services want of upstreams and the worker has not done yet.
#[derive(Debug, Default)]
pub(crate) struct Wishes {
    pub(crate) desk: upstream::Desk,
    /// Where those are that the desk declares, in order.
    pub(crate) declared: Vec<Vec<Address>>,
    /// Whose the exchanges are that the desk begins.
    pub(crate) asked: Vec<(Exchange, Ticket)>,
}

impl Wishes {
    pub(crate) fn declare(&mut self, config: Config) -> Result<Upstream, Misuse> {
        let settings = upstream::Settings {
            protocol: config.protocol,
            limits: config.limits,
            timeouts: config.timeouts,
        };
        let upstream = self.desk.declare(settings, config.addresses.len())?;
        self.declared.push(config.addresses);
        Ok(upstream)
    }

    pub(crate) fn ask(
        &mut self,
        upstream: Upstream,
        request: Request,
        ticket: Ticket,
    ) -> Result<Exchange, Misuse> {
        let exchange = self.desk.begin(upstream, request)?;
        self.asked.push((exchange, ticket));
        Ok(exchange)
    }
}
