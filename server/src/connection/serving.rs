//! What the connections of one worker share, and the service that answers their requests.

use std::ops::{Deref, DerefMut};

use engine::Token;
use measure::time::Time;

use super::http2::{Kept, Rpcs};
use super::incoming::{Answerer, Incoming};
use crate::grpc::{Call, Method};
use crate::request::Request;
use crate::service::{Context, Event, Intake, Notice, Reply, Service, Ticket};
use crate::site::Site;

/// Incoming bodies end up in boxes that are used again; so many wait for that.
const SPARE_MAX: usize = 16;

/// What the connections of one worker share: the site, and what each of them uses again. It reads
/// as its site.
pub(crate) struct Shared {
    pub(super) site: Site,
    /// Answers of HTTP/2 that are made already.
    pub(super) kept_http2: Kept,
    /// What calls of gRPC need.
    pub(super) rpcs: Rpcs,
    #[allow(clippy::vec_box)] // The boxes are what is used again.
    spare: Vec<Box<Incoming>>,
}

impl Shared {
    pub(crate) fn new(site: Site) -> Shared {
        Shared {
            site,
            kept_http2: Kept::default(),
            rpcs: Rpcs::new(),
            spare: Vec::new(),
        }
    }

    /// A turn begins at `now`.
    #[inline]
    pub(crate) fn turn(&mut self, now: Time) {
        if self.site.turn(now) {
            // What is kept has the date in it.
            self.kept_http2.forget();
        }
    }

    /// A box for an incoming body, perhaps with memory from the last one.
    pub(super) fn incoming(&mut self) -> Box<Incoming> {
        self.spare.pop().unwrap_or_default()
    }

    /// Takes such a box back.
    pub(super) fn recycle(&mut self, mut incoming: Box<Incoming>) {
        if self.spare.len() < SPARE_MAX && incoming.clear() {
            self.spare.push(incoming);
        }
    }
}

impl Deref for Shared {
    type Target = Site;

    #[inline]
    fn deref(&self) -> &Site {
        &self.site
    }
}

impl DerefMut for Shared {
    #[inline]
    fn deref_mut(&mut self) -> &mut Site {
        &mut self.site
    }
}

/// The service of a worker, and what its connections share. It reads as the latter.
///
/// What may call the service is generic over it, and nothing else is.
pub(crate) struct Serving<S> {
    shared: Shared,
    service: S,
}

impl<S: Service> Serving<S> {
    pub(crate) fn new(shared: Shared, service: S) -> Serving<S> {
        Serving { shared, service }
    }

    /// Has the service answer. `number` is that of the ticket it gets; says what it calls that.
    #[inline]
    pub(super) fn call(
        &mut self,
        request: &Request<'_>,
        socket: Token,
        number: u32,
    ) -> (Reply, u32) {
        let site = &mut self.shared.site;
        let ticket = Ticket::new(socket, number, 0);
        let mut context = Context::new(site.now, ticket, &mut site.agenda, &site.peers);
        let reply = self.service.call(request, &mut context);
        (reply, context.ticket().tag())
    }

    /// Asks the service what becomes of the body of a request.
    pub(super) fn intake(&mut self, head: &Request<'_>) -> Intake {
        self.service.intake(head)
    }

    /// The methods of gRPC that the service offers.
    #[inline]
    pub(super) fn methods(&self) -> &'static [Method] {
        self.service.methods()
    }

    /// Has the service open a call.
    #[inline]
    pub(super) fn open_call(
        &mut self,
        method: &'static Method,
        head: &Request<'_>,
    ) -> Box<dyn Call> {
        self.service.open_call(method, head)
    }

    /// The answer to a request whose body has come.
    pub(super) fn answer(
        &mut self,
        incoming: &mut Incoming,
        socket: Token,
        number: u32,
    ) -> (Reply, u32) {
        match incoming.complete() {
            Answerer::Service(request) => self.call(&request, socket, number),
            Answerer::Nobody(response) => (Reply::Now(response), 0),
        }
    }

    /// Tells the service what happened to a request.
    pub(super) fn tell(&mut self, ticket: Ticket, event: Event<'_>) {
        let site = &mut self.shared.site;
        let mut context = Context::new(site.now, ticket, &mut site.agenda, &site.peers);
        self.service.event(ticket, event, &mut context);
    }

    /// Tells the service what came out of sending, or of an end.
    pub(crate) fn notify(&mut self, ticket: Ticket, notice: Notice) {
        self.tell(ticket, notice.event());
    }

    /// Tells the service that took `ticket` that its timer is due.
    pub(crate) fn due(&mut self, ticket: Ticket) {
        let site = &mut self.shared.site;
        let mut context = Context::new(site.now, ticket, &mut site.agenda, &site.peers);
        self.service.due(ticket, &mut context);
    }

    /// Has the service do what became possible by itself.
    #[inline]
    pub(crate) fn work(&mut self) {
        let site = &mut self.shared.site;
        let mut context = Context::of_nobody(site.now, &mut site.agenda, &site.peers);
        self.service.work(&mut context);
    }

    /// What the service holds for requests.
    #[inline]
    pub(crate) fn held_bytes(&self) -> usize {
        self.service.held_bytes()
    }

    /// Tells of each request for which it holds something.
    pub(crate) fn each_held(&self, tell: &mut dyn FnMut(Ticket, usize)) {
        self.service.each_held(tell);
    }

    /// Has the service give up the requests of a connection for which it holds something.
    pub(crate) fn relieve_service(&mut self, socket: Token) {
        let site = &mut self.shared.site;
        let mut context = Context::of_nobody(site.now, &mut site.agenda, &site.peers);
        self.service.relieve(socket, &mut context);
    }

    /// The service itself, for its worker.
    #[inline]
    pub(crate) fn service(&mut self) -> &mut S {
        &mut self.service
    }

    /// Tells the service what was counted.
    #[inline]
    pub(crate) fn tell_counts(&mut self) {
        self.service.counted(&self.shared.site.counts);
    }
}

impl<S> Deref for Serving<S> {
    type Target = Shared;

    #[inline]
    fn deref(&self) -> &Shared {
        &self.shared
    }
}

impl<S> DerefMut for Serving<S> {
    #[inline]
    fn deref_mut(&mut self) -> &mut Shared {
        &mut self.shared
    }
}
