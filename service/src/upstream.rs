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
//! told [`Kind::ClientGone`]. One of [`Context::ask_for_nobody`] belongs to nobody. A service
//! that answers by itself meanwhile cancels the exchange if it doesn't want it any more
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
//! exchange. A server that stops lets exchanges finish until its `Timeouts::drain` is over; those
//! of nobody that would begin after the stop fail with [`Kind::Stopping`].
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

use engine::{Address, Secure};
pub use proto::{Misuse, Violation};
pub use upstream::{
    Body, Counts, Error, Event, Exchange, Failures, Fields, Head, Kind, Limits, Protocol, Request,
    Timeouts, Upstream, forwarded,
};

/// Where an upstream is and how it's spoken to.
pub type Config = ::upstream::Config<Place>;

/// One of the places of an upstream: where it is, and how connections there are secured.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Place {
    /// Where it is.
    pub address: Address,
    /// How connections are secured; `None` speaks in the clear.
    pub secure: Option<Secure>,
}

impl Place {
    /// The same over TLS, in a server whose `Config::upstream_tls` allows it: elsewhere it can't be
    /// reached. The settings are a `ClientTls`, which checks certificates for the name that it has;
    /// what it offers by ALPN has to be what is spoken ([`Protocol`]).
    pub fn secured(self, secure: Secure) -> Place {
        Place {
            secure: Some(secure),
            ..self
        }
    }
}

impl From<Address> for Place {
    fn from(address: Address) -> Place {
        let secure = None;
        Place { address, secure }
    }
}
