//! The service of a worker, and what is told to it.

use std::collections::HashMap;
use std::ops::{Deref, DerefMut};

use engine::Token;

use super::Shared;
use super::incoming::{Answerer, Incoming};
use exchange::grpc::{Call, Method};
use exchange::request::Request;
use measure::time::Time;
use service::upstream::{Event as Heard, Exchange};
use service::{Action, Context, Event, Intake, Notice, Reply, Service, Ticket};

/// The service of a worker, and what its connections share. It reads as the latter.
///
/// What may call the service is generic over it, and nothing else is.
pub struct Serving<S> {
    shared: Shared,
    service: S,
    /// When requests were read that aren't answered yet, while anybody wants to know.
    open: HashMap<(Token, u32), Time>,
}

impl<S: Service> Serving<S> {
    /// `service`, for connections that share this.
    pub fn new(shared: Shared, service: S) -> Serving<S> {
        Serving {
            shared,
            service,
            open: HashMap::new(),
        }
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
        let tag = context.ticket().tag();
        match &reply {
            Reply::Now(response) | Reply::Always(response) if !response.body.is_in_pieces() => {
                site.answered.at_once += 1;
            }
            Reply::Now(_) | Reply::Always(_) | Reply::Later if site.answered.is_read => {
                self.open.insert((socket, number), site.now);
            }
            _ => {}
        }
        (reply, tag)
    }

    /// The service has done this for a request that was waiting, and nothing follows.
    pub fn ended(&mut self, ticket: Ticket, action: &Action) {
        if let Some(since) = self.forget(ticket)
            && !matches!(action, Action::Abort)
        {
            let site = &mut self.shared.site;
            site.answered.add(since, site.now);
        }
    }

    /// A request is over, answered or not: when it was read, if that is known.
    pub fn forget(&mut self, ticket: Ticket) -> Option<Time> {
        match self.open.is_empty() {
            true => None,
            false => self.open.remove(&(ticket.socket, ticket.number)),
        }
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
            Answerer::Nobody(response) => {
                self.shared.site.answered.at_once += 1;
                (Reply::Now(response), 0)
            }
        }
    }

    /// Tells the service what happened to a request.
    pub(super) fn tell(&mut self, ticket: Ticket, event: Event<'_>) {
        let site = &mut self.shared.site;
        let mut context = Context::new(site.now, ticket, &mut site.agenda, &site.peers);
        self.service.event(ticket, event, &mut context);
    }

    /// Tells the service what came out of sending, or of an end.
    pub fn notify(&mut self, ticket: Ticket, notice: Notice) {
        self.tell(ticket, notice.event());
    }

    /// Tells the service that the worker begins.
    pub fn started(&mut self) {
        let site = &mut self.shared.site;
        let mut context = Context::of_nobody(site.now, &mut site.agenda, &site.peers);
        self.service.started(&mut context);
    }

    /// Tells the service what happened to an exchange that was begun for `ticket`.
    pub fn exchange(&mut self, ticket: Ticket, which: Exchange, event: Heard<'_>) {
        let site = &mut self.shared.site;
        let mut context = Context::new(site.now, ticket, &mut site.agenda, &site.peers);
        self.service.exchange(which, event, &mut context);
    }

    /// Tells the service that took `ticket` that its timer is due.
    pub fn due(&mut self, ticket: Ticket) {
        let site = &mut self.shared.site;
        let mut context = Context::new(site.now, ticket, &mut site.agenda, &site.peers);
        self.service.due(ticket, &mut context);
    }

    /// Takes what came from other threads, and tells the service if something did.
    #[inline]
    pub fn collect(&mut self) {
        let site = &mut self.shared.site;
        if site.agenda.rang() {
            let mut context = Context::of_nobody(site.now, &mut site.agenda, &site.peers);
            self.service.rung(&mut context);
        }
    }

    /// Has the service do what became possible by itself.
    #[inline]
    pub fn work(&mut self) {
        let site = &mut self.shared.site;
        let mut context = Context::of_nobody(site.now, &mut site.agenda, &site.peers);
        self.service.work(&mut context);
    }

    /// What the service holds for requests.
    #[inline]
    pub fn held_bytes(&self) -> usize {
        self.service.held_bytes()
    }

    /// Tells of each request for which it holds something.
    pub fn each_held(&self, tell: &mut dyn FnMut(Ticket, usize)) {
        self.service.each_held(tell);
    }

    /// Has the service give up the requests of a connection for which it holds something.
    pub fn relieve_service(&mut self, socket: Token) {
        let site = &mut self.shared.site;
        let mut context = Context::of_nobody(site.now, &mut site.agenda, &site.peers);
        self.service.relieve(socket, &mut context);
    }

    /// The service itself, for its worker.
    #[inline]
    pub fn service(&mut self) -> &mut S {
        &mut self.service
    }

    /// Tells the service what was counted.
    #[inline]
    pub fn tell_counts(&mut self) {
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
