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

mod grpc;
mod route;
mod services;

pub use server::{Config, Counts, Limits, Rejections, Running, StartError, Stop, Summary};
pub use server::{LiveCounts, ResponseTimes, TaskLimits, Timeouts, Tls};
pub use services::response_times;

use std::sync::Arc;

use server::grpc::Method;
use server::{Context, Event, Intake, Reply, Request, Service, Ticket};

use route::{Asked, Found, Route, find, route_of};
use services::{Posted, Routes};

/// Starts the test server, which runs until `stop` is requested.
///
/// # Errors
/// As for [`server::start`].
pub fn start(config: Config, stop: &Stop) -> Result<Running, StartError> {
    start_with(config, TaskLimits::default(), stop)
}

/// [`start`] with as many task workers, behind such a queue, as `tasks` says.
///
/// # Errors
/// As for [`server::start`].
pub fn start_with(
    mut config: Config,
    tasks: TaskLimits,
    stop: &Stop,
) -> Result<Running, StartError> {
    let times = config.response_times.get_or_insert_default();
    let routes = Routes::new(tasks, times);
    server::start(config, move |_| Routed::new(&routes), stop)
}

/// The routes of one worker.
struct Routed {
    routes: Vec<Route>,
    /// Where it shows what its worker has counted.
    posted: Arc<Posted>,
}

impl Routed {
    fn new(routes: &Routes) -> Routed {
        Routed {
            routes: routes.for_worker(),
            posted: routes.place(),
        }
    }
}

impl Service for Routed {
    fn intake(&mut self, head: &Request<'_>) -> Intake {
        match find(&self.routes, head) {
            Found::Route(at, _) => self.routes[at].intake.into(),
            Found::Refusal(response) => Intake::Refuse(response),
        }
    }

    fn call(&mut self, request: &Request<'_>, context: &mut Context<'_>) -> Reply {
        match find(&self.routes, request) {
            Found::Route(at, parameter) => {
                context.tag(at as u32);
                let asked = Asked { parameter, request };
                self.routes[at].answerer.call(&asked, context)
            }
            Found::Refusal(response) => Reply::Always(response),
        }
    }

    #[inline]
    fn methods(&self) -> &'static [Method] {
        &grpc::METHODS
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
