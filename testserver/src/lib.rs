//! What `ringside serve` answers: a server for load tests, and for clients that are to be tested.
//!
//! Its routes answer with bodies of a known size, after a known time, at a known rate, and some of
//! them misbehave on purpose. [`start`] is all there is to it; how requests come and answers leave
//! is the server library's, whose settings this crate passes on.
//!
//! From the outside in: this file gives the server its service, `route` finds who answers a path,
//! and each file in `services` answers one. `grpc` has the methods of gRPC, which
//! `testserver/proto/` describes.
#![forbid(unsafe_code)]

mod counted;
mod grpc;
mod route;
mod services;

pub use counted::CountBy;
pub use server::{Config, Counts, Limits, Rejections, Running, StartError, Stop, Summary};
pub use server::{LiveCounts, ResponseTimes, TaskLimits, Timeouts, Tls};
pub use services::response_times;

use std::sync::Arc;

use server::grpc::{Call, Method};
use server::{Context, Event, Intake, Reply, Request, Service, Ticket};

use counted::Counter;
use route::{Asked, Found, Route, find, route_of};
use services::{Posted, Routes};

/// Starts the test server, which runs until `stop` is requested.
///
/// # Errors
/// As for [`server::start`].
pub fn start(config: Config, stop: &Stop) -> Result<Running, StartError> {
    start_with(config, Offer::default(), stop)
}

/// What can be said of what the server offers, beyond how it serves.
#[derive(Clone, Debug, Default)]
pub struct Offer {
    /// How many task workers there are, behind which queue.
    pub tasks: TaskLimits,
    /// The header by which `/metrics` has requests counted apart; none: they aren't.
    pub count_by: Option<CountBy>,
}

/// [`start`] with what `offer` says.
///
/// # Errors
/// As for [`server::start`].
pub fn start_with(mut config: Config, offer: Offer, stop: &Stop) -> Result<Running, StartError> {
    let times = config.response_times.get_or_insert_default();
    let routes = Routes::new(offer, times);
    server::start(config, move |_| Routed::new(&routes), stop)
}

/// The routes of one worker.
struct Routed {
    routes: Vec<Route>,
    /// Where it shows what its worker has counted.
    posted: Arc<Posted>,
    /// What counts requests by a header, if they are.
    counter: Option<Counter>,
}

impl Routed {
    fn new(routes: &Routes) -> Routed {
        Routed {
            routes: routes.for_worker(),
            posted: routes.place(),
            counter: routes.counter(),
        }
    }

    fn count(&self, request: &Request<'_>) {
        if let Some(counter) = &self.counter {
            counter.count(request);
        }
    }
}

impl Service for Routed {
    fn intake(&mut self, head: &Request<'_>) -> Intake {
        match find(&self.routes, head) {
            Found::Route(at, _) => self.routes[at].intake.into(),
            Found::Refusal(response) => {
                self.count(head);
                Intake::Refuse(response)
            }
        }
    }

    fn call(&mut self, request: &Request<'_>, context: &mut Context<'_>) -> Reply {
        self.count(request);
        let reply = match find(&self.routes, request) {
            Found::Route(at, parameter) => {
                context.tag(at as u32);
                let asked = Asked { parameter, request };
                self.routes[at].answerer.call(&asked, context)
            }
            Found::Refusal(response) => Reply::Always(response),
        };
        match reply {
            // Else the next such request would be answered without being counted.
            Reply::Always(response) if self.counter.is_some() => Reply::Now(response),
            reply => reply,
        }
    }

    #[inline]
    fn methods(&self) -> &'static [Method] {
        &grpc::METHODS
    }

    #[inline]
    fn open_call(&mut self, method: &'static Method, request: &Request<'_>) -> Box<dyn Call> {
        self.count(request);
        method.open(request)
    }

    fn due(&mut self, ticket: Ticket, context: &mut Context<'_>) {
        if let Some(route) = self.routes.get_mut(route_of(ticket)) {
            route.answerer.due(ticket, context);
        }
    }

    fn event(&mut self, ticket: Ticket, event: Event<'_>, context: &mut Context<'_>) {
        if let Some(route) = self.routes.get_mut(route_of(ticket)) {
            route.answerer.event(ticket, event, context);
        }
    }

    fn rung(&mut self, context: &mut Context<'_>) {
        for route in &mut self.routes {
            route.answerer.rung(context);
        }
    }

    #[inline]
    fn counted(&mut self, counts: &Counts) {
        self.posted.post(counts);
    }
}
