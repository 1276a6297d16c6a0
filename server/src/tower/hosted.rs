//! An adapter with the runtime that its handlers live in: which is entered once for all that the
//! worker wants of them at a time, and sleeps with the worker.

use std::error::Error;

use engine::{Broken, Completions, Driver, Token, Until, Waker};
use measure::time::Time;
use tower_service::Service as TowerService;

use super::Host;
use super::adapter::Adapter;
use super::body::Body;
use crate::request::Request;
use crate::service::{Context, Event, Intake, Reply, Service, Ticket};

/// See the module.
pub(super) struct Hosted<T, B>
where
    T: TowerService<http::Request<Body>>,
{
    adapter: Adapter<T, B>,
    /// Behind all of the handlers', so that it ends last.
    host: Host,
}

impl<T, B> Hosted<T, B>
where
    T: TowerService<http::Request<Body>, Response = http::Response<B>> + Clone + 'static,
    T::Error: Into<Box<dyn Error + Send + Sync>>,
    B: http_body::Body + 'static,
    B::Error: Into<Box<dyn Error + Send + Sync>>,
{
    /// The service that `make` makes, which is called inside of the runtime.
    pub(super) fn new(host: Host, make: impl FnOnce() -> T) -> Hosted<T, B> {
        let service = {
            let _entered = host.enter();
            make()
        };
        let adapter = Adapter::new(service);
        Hosted { adapter, host }
    }
}

impl<T, B> Service for Hosted<T, B>
where
    T: TowerService<http::Request<Body>, Response = http::Response<B>> + Clone + 'static,
    T::Error: Into<Box<dyn Error + Send + Sync>>,
    B: http_body::Body + 'static,
    B::Error: Into<Box<dyn Error + Send + Sync>>,
{
    #[inline]
    fn intake(&mut self, head: &Request<'_>) -> Intake {
        self.adapter.intake(head)
    }

    #[inline]
    fn call(&mut self, request: &Request<'_>, context: &mut Context<'_>) -> Reply {
        let _entered = self.host.enter();
        self.adapter.call(request, context)
    }

    #[inline]
    fn event(&mut self, ticket: Ticket, event: Event<'_>, context: &mut Context<'_>) {
        let _entered = self.host.enter();
        self.adapter.event(ticket, event, context);
    }

    fn attached(&mut self, waker: Waker) {
        self.adapter.attached(waker);
    }

    #[inline]
    fn wait<D: Driver>(
        &mut self,
        driver: &mut D,
        until: Until,
        completions: &mut Completions,
    ) -> Result<Time, Broken> {
        let tasks = (self.adapter.queue(), self.adapter.requests());
        let now = self.host.wait(driver, until, completions, tasks)?;
        self.adapter.begin_turn(now);
        Ok(now)
    }

    #[inline]
    fn held_bytes(&self) -> usize {
        self.adapter.held_bytes()
    }

    fn each_held(&self, tell: &mut dyn FnMut(Ticket, usize)) {
        self.adapter.each_held(tell);
    }

    fn relieve(&mut self, socket: Token, context: &mut Context<'_>) {
        let _entered = self.host.enter();
        self.adapter.relieve(socket, context);
    }

    fn stopping(&mut self, until: Time) {
        self.host.stop_by(until);
    }

    #[inline]
    fn work(&mut self, context: &mut Context<'_>) {
        self.host.tick(context.now(), self.adapter.requests());
        if self.adapter.queue().has_any() {
            let _entered = self.host.enter();
            self.adapter.work(context);
        }
    }
}
