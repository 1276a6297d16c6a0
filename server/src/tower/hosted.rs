//! An adapter with the runtime that its handlers live in, where there is one, and that hosts the
//! worker then.

use std::error::Error;

use engine::{Broken, Completions, Driver, Token, Until, Waker};
use measure::time::Time;
use tower_service::Service as TowerService;

use super::Host;
use super::adapter::Adapter;
use super::body::Body;
#[cfg(feature = "tokio")]
use super::{queue::Queue, runtime::Guest};
use crate::request::Request;
#[cfg(feature = "tokio")]
use service::Turns;
use service::{Context, Event, Intake, Reply, Service, Ticket};

/// See the module.
pub(super) struct Hosted<T, B>
where
    T: TowerService<http::Request<Body>>,
{
    /// There until this is dropped.
    adapter: Option<Adapter<T, B>>,
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
        let adapter = Some(Adapter::new(service));
        Hosted { adapter, host }
    }
}

impl<T, B> Hosted<T, B>
where
    T: TowerService<http::Request<Body>>,
{
    #[inline]
    fn adapter(&self) -> &Adapter<T, B> {
        self.adapter.as_ref().expect("only dropping takes it")
    }

    #[inline]
    fn adapter_mut(&mut self) -> &mut Adapter<T, B> {
        self.adapter.as_mut().expect("only dropping takes it")
    }
}

/// What handlers and services do when they are dropped is done inside of the runtime, which ends
/// last.
impl<T, B> Drop for Hosted<T, B>
where
    T: TowerService<http::Request<Body>>,
{
    fn drop(&mut self) {
        let _entered = self.host.enter();
        drop(self.adapter.take());
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
        self.adapter_mut().intake(head)
    }

    #[inline]
    fn call(&mut self, request: &Request<'_>, context: &mut Context<'_>) -> Reply {
        self.adapter_mut().call(request, context)
    }

    #[inline]
    fn event(&mut self, ticket: Ticket, event: Event<'_>, context: &mut Context<'_>) {
        self.adapter_mut().event(ticket, event, context);
    }

    #[cfg(feature = "tokio")]
    fn run<W: Turns<Service = Self> + 'static>(worker: W) -> (W, Result<(), Broken>) {
        super::runtime::run(worker)
    }

    fn attached(&mut self, waker: Waker) {
        self.adapter_mut().attached(waker);
    }

    #[inline]
    fn wait<D: Driver>(
        &mut self,
        driver: &mut D,
        until: Until,
        completions: &mut Completions,
    ) -> Result<Time, Broken> {
        let adapter = self.adapter.as_ref().expect("only dropping takes it");
        let now = (self.host).wait(driver, until, completions, adapter.queue())?;
        self.adapter_mut().begin_turn(now);
        Ok(now)
    }

    #[inline]
    fn held_bytes(&self) -> usize {
        self.adapter().held_bytes()
    }

    fn each_held(&self, tell: &mut dyn FnMut(Ticket, usize)) {
        self.adapter().each_held(tell);
    }

    fn relieve(&mut self, socket: Token, context: &mut Context<'_>) {
        self.adapter_mut().relieve(socket, context);
    }

    fn stopping(&mut self, until: Time) {
        self.host.stop_by(until);
    }

    #[inline]
    fn work(&mut self, context: &mut Context<'_>) {
        if self.adapter().queue().has_any() {
            self.adapter_mut().work(context);
        }
    }
}

#[cfg(feature = "tokio")]
impl<T, B> Guest for Hosted<T, B>
where
    T: TowerService<http::Request<Body>, Response = http::Response<B>> + Clone + 'static,
    T::Error: Into<Box<dyn Error + Send + Sync>>,
    B: http_body::Body + 'static,
    B::Error: Into<Box<dyn Error + Send + Sync>>,
{
    fn host(&mut self) -> &mut Host {
        &mut self.host
    }

    fn queue(&self) -> &Queue {
        self.adapter().queue()
    }

    fn requests(&self) -> usize {
        self.adapter().requests()
    }
}
