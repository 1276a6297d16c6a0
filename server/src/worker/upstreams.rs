//! The sockets of upstreams: what their pools want is done on the worker's driver, and what happens
//! there is told to the pools, and by them to the service.

use engine::secured::TlsFault;
use engine::timers::TimerId;
use engine::{Address, Close, Driver, Event, Fault, Payload, Refused, SocketOptions, Token};
use measure::time::Time;
use upstream::{Act, Broke, Exchange, Link, News, Order, Owner, Owners, Upstreams};

use super::{Alarm, Worker};
use crate::upstream::Event as Heard;
use connection::Serving;
use service::{Service, Ticket};

/// The upstreams of a worker.
pub(super) struct Sockets {
    core: Upstreams,
    /// Where each upstream is, and how sockets there are opened.
    addresses: Vec<Vec<(Address, SocketOptions)>>,
    /// By slot of the socket: whose it is.
    links: Vec<Option<(Token, Link)>>,
    /// By slot of the link: its socket.
    tokens: Vec<Option<Token>>,
    owners: Owners<Ticket>,
    /// When the pools are to be looked at.
    timer: Option<TimerId>,
    timer_at: Time,
}

/// Tells the service what happened to an exchange; says whether it still wants to hear of it.
fn tell<S: Service>(
    serving: &mut Serving<S>,
    owners: &mut Owners<Ticket>,
    exchange: Exchange,
    event: Heard<'_>,
) -> bool {
    let ends = matches!(event, Heard::End | Heard::Failed(_));
    let cancelled = serving.agenda.upstreams.desk.has_cancelled(exchange);
    if !cancelled {
        let owner = owners.of(exchange).unwrap_or(Ticket::NOBODYS);
        serving.exchange(owner, exchange, event);
    }
    if ends {
        // A cancellation finds nothing any more.
        owners.remove(exchange);
        serving.agenda.upstreams.desk.release(exchange);
        return !cancelled;
    }
    !serving.agenda.upstreams.desk.has_cancelled(exchange)
}

impl Sockets {
    fn new(now: Time) -> Sockets {
        Sockets {
            core: Upstreams::new(now),
            addresses: Vec::new(),
            links: Vec::new(),
            tokens: Vec::new(),
            owners: Owners::new(),
            timer: None,
            timer_at: Time::NEVER,
        }
    }

    fn link(&self, socket: Token) -> Option<Link> {
        match self.links.get(socket.slot()) {
            Some(Some((token, link))) if *token == socket => Some(*link),
            _ => None,
        }
    }

    fn token(&self, link: Link) -> Option<Token> {
        self.tokens.get(link.slot()).copied().flatten()
    }

    fn keep(&mut self, link: Link, token: Token) {
        if token.slot() >= self.links.len() {
            self.links.resize(token.slot() + 1, None);
        }
        self.links[token.slot()] = Some((token, link));
        if link.slot() >= self.tokens.len() {
            self.tokens.resize(link.slot() + 1, None);
        }
        self.tokens[link.slot()] = Some(token);
    }

    /// Does what a pool wants of a socket.
    fn obey(&mut self, order: Order, driver: &mut impl Driver, now: Time) {
        match order {
            Order::Connect {
                link,
                upstream,
                address,
            } => {
                let (address, options) = &self.addresses[upstream.place()][address];
                match driver.connect(address, options) {
                    Ok(token) => self.keep(link, token),
                    Err(Refused::SocketsFull) => self.core.broke(link, Broke::NoSocket, now),
                    Err(Refused::Kernel(fault)) => self.core.broke(link, broke(fault), now),
                    Err(_) => self.core.broke(link, Broke::Other, now),
                }
            }
            Order::Flush(link) => {
                let Some(token) = self.token(link) else {
                    return;
                };
                match self.core.output(link, driver.buffer()) {
                    Ok(bytes) => {
                        if driver.send(token, Payload::Buffer(bytes)).is_err() {
                            self.core.broke(link, Broke::Other, now);
                        }
                    }
                    Err(memory) => driver.recycle(memory),
                }
            }
            Order::Read(link, armed) => {
                if let Some(token) = self.token(link) {
                    let _ = driver.arm_receive(token, armed);
                }
            }
            Order::Close { link, reset, last } => {
                let Some(token) = self.token(link) else {
                    return driver.recycle(last);
                };
                self.tokens[link.slot()] = None;
                self.links[token.slot()] = None;
                match last.is_empty() || reset {
                    true => driver.recycle(last),
                    // Who has gone already needs no farewell.
                    false => drop(driver.send(token, Payload::Buffer(last))),
                }
                let how = match reset {
                    true => Close::Reset,
                    false => Close::Graceful,
                };
                let _ = driver.close(token, how);
            }
        }
    }
}

/// What a fault of a socket means to a pool.
fn broke(fault: Fault) -> Broke {
    match fault {
        Fault::Refused => Broke::Refused,
        Fault::Exhausted => Broke::NoSocket,
        Fault::Tls(fault) => match fault {
            TlsFault::UntrustedIssuer => Broke::Untrusted("it isn't signed by a trusted authority"),
            TlsFault::Expired => Broke::Untrusted("it has expired"),
            TlsFault::NotYetValid => Broke::Untrusted("it isn't valid yet"),
            TlsFault::WrongName => Broke::Untrusted("it's for a different name"),
            TlsFault::BadCertificate => Broke::Untrusted("it's unusable"),
            _ => Broke::Handshake,
        },
        _ => Broke::Other,
    }
}

impl<D: Driver, S: Service> Worker<D, S> {
    /// Something happened on a socket that belongs to no client.
    #[inline(never)]
    pub(super) fn upstream_happened(&mut self, socket: Token, event: Event, bytes: &[u8]) -> bool {
        let Some(sockets) = self.upstreams.as_deref_mut() else {
            return false;
        };
        let Some(link) = sockets.link(socket) else {
            return false;
        };
        let Sockets { core, owners, .. } = sockets;
        let serving = &mut self.serving;
        let now = serving.now;
        let tell = &mut |exchange, event: Heard<'_>| tell(serving, owners, exchange, event);
        match event {
            Event::Connected => core.connected(link, now),
            Event::Received(_) => core.received(link, bytes, now, tell),
            Event::Sent => core.sent(link, now),
            Event::Ended => core.ended(link, now, tell),
            Event::Failed(fault) => core.broke(link, broke(fault), now),
            Event::Accepted { .. } => {}
        }
        true
    }

    /// Does what services want of upstreams and what the pools want of sockets, and tells what came
    /// of it.
    pub(super) fn settle_upstreams(&mut self) {
        if self.upstreams.is_none() && self.serving.agenda.upstreams.desk.is_clear() {
            return;
        }
        let now = self.serving.now;
        let mut sockets = match self.upstreams.take() {
            Some(sockets) => sockets,
            None => {
                let mut sockets = Box::new(Sockets::new(now));
                if self.serving.draining {
                    sockets.core.drain(now);
                }
                sockets
            }
        };
        while !(self.serving.agenda.upstreams.desk.is_clear() && sockets.core.is_settled()) {
            self.fulfil(&mut sockets);
            while let Some(order) = sockets.core.next_order() {
                sockets.obey(order, &mut self.driver, now);
            }
            let Sockets { core, owners, .. } = &mut *sockets;
            while let Some((exchange, news)) = core.next_news() {
                let event = match news {
                    News::Writable => Heard::Writable,
                    News::Failed(error) => Heard::Failed(error),
                };
                tell(&mut self.serving, owners, exchange, event);
            }
        }
        self.serving.counts.upstreams = *sockets.core.counts();
        let due = sockets.core.next_due(now);
        if due < sockets.timer_at {
            if let Some(timer) = sockets.timer.take() {
                self.wheel.cancel(timer);
            }
            sockets.timer = Some(self.wheel.insert(due, Alarm::Upstreams));
            sockets.timer_at = due;
        }
        self.upstreams = Some(sockets);
    }

    /// Hands what services want to the pools.
    fn fulfil(&mut self, sockets: &mut Sockets) {
        let now = self.serving.now;
        let wishes = &mut self.serving.agenda.upstreams;
        for places in wishes.declared.drain(..) {
            let options = |secure| SocketOptions {
                secure,
                ..SocketOptions::default()
            };
            let places = places.into_iter();
            let opened = places.map(|place| (place.address, options(place.secure)));
            sockets.addresses.push(opened.collect());
        }
        for (exchange, ticket) in wishes.asked.drain(..) {
            sockets.owners.insert(exchange, ticket);
        }
        let (mut acts, bytes) = wishes.desk.take();
        let Sockets { core, owners, .. } = sockets;
        for act in acts.drain(..) {
            match act {
                Act::Declare(settings, addresses) => core.declare(settings, addresses),
                Act::Remove(upstream) => core.remove(upstream, now),
                Act::Begin(exchange, upstream, request) => {
                    let owned = owners.of(exchange).and_then(Owner::slot).is_some();
                    core.begin(exchange, upstream, request, (owned, now));
                }
                Act::Send(exchange, range) => core.send(exchange, &bytes[range], now),
                Act::End(exchange) => core.end(exchange, now),
                Act::Cancel(exchange) => {
                    if core.cancel(exchange, now) {
                        owners.remove(exchange);
                        wishes.desk.release(exchange);
                    }
                }
                Act::Pause(exchange) => core.pause(exchange, true),
                Act::Resume(exchange) => core.pause(exchange, false),
            }
        }
        wishes.desk.give_back((acts, bytes));
    }

    /// The client of a request is gone, and nobody wants what was asked for it.
    pub(super) fn upstream_client_gone(&mut self, ticket: Ticket) {
        let now = self.serving.now;
        if let Some(sockets) = self.upstreams.as_deref_mut() {
            for exchange in sockets.owners.all_of(ticket) {
                sockets.core.client_gone(exchange, now);
            }
        }
    }

    /// The timer of the pools is due.
    pub(super) fn upstream_tick(&mut self) {
        let now = self.serving.now;
        if let Some(sockets) = self.upstreams.as_deref_mut() {
            sockets.timer = None;
            sockets.timer_at = Time::NEVER;
            sockets.core.tick(now);
        }
    }

    /// The server stops, or the time to drain is over.
    pub(super) fn upstream_drain(&mut self, cut: bool) {
        let now = self.serving.now;
        if let Some(sockets) = self.upstreams.as_deref_mut() {
            match cut {
                true => sockets.core.cut(now),
                false => sockets.core.drain(now),
            }
        }
    }

    /// Bytes that are held for upstreams.
    #[inline]
    pub(super) fn upstream_bytes(&self) -> usize {
        let held = |sockets: &Sockets| sockets.core.held_bytes();
        self.upstreams.as_deref().map_or(0, held)
    }

    /// Has the pools give up exchanges until so many bytes are free.
    pub(super) fn upstream_relieve(&mut self, bytes: usize) {
        let now = self.serving.now;
        if let Some(sockets) = self.upstreams.as_deref_mut() {
            sockets.core.relieve(bytes, now);
        }
    }

    /// Whether nothing is under way with upstreams.
    pub(super) fn upstream_is_done(&self) -> bool {
        let done = |sockets: &Sockets| sockets.core.is_empty();
        self.upstreams.as_deref().is_none_or(done)
    }
}
