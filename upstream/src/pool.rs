//! The connections to one upstream, and who waits for one.

use std::collections::VecDeque;

use crate::config::{Protocol, Settings};
use crate::desk::Exchange;
use crate::exchanges::{Exchanges, Stage};
use crate::links::{Link, Links};
use crate::wire::Wire;

/// See the module.
#[derive(Debug)]
pub(crate) struct Pool {
    pub(crate) settings: Settings,
    pub(crate) addresses: u32,
    /// The address of the next connection.
    next_address: u32,
    /// Connections that are being opened.
    pub(crate) opening: usize,
    /// All of its connections.
    pub(crate) connections: usize,
    /// Those of HTTP/1.1 without a request, the one that became so last at the end.
    pub(crate) idle: Vec<Link>,
    /// Those of HTTP/2 that are open.
    pub(crate) shared: Vec<Link>,
    /// Exchanges without a connection, and perhaps some that have ended.
    line: VecDeque<Exchange>,
    /// How many of them wait.
    pub(crate) waiting: usize,
    /// No socket was left for another connection: those that stand have to do until the next
    /// request comes.
    pub(crate) barred: bool,
    /// No request comes any more.
    pub(crate) removed: bool,
}

impl Pool {
    pub(crate) fn new(settings: Settings, addresses: u32) -> Pool {
        Pool {
            settings,
            addresses,
            next_address: 0,
            opening: 0,
            connections: 0,
            idle: Vec::new(),
            shared: Vec::new(),
            line: VecDeque::new(),
            waiting: 0,
            barred: false,
            removed: false,
        }
    }

    /// The addresses take turns.
    pub(crate) fn next_address(&mut self) -> u32 {
        let address = self.next_address;
        self.next_address = (address + 1) % self.addresses;
        address
    }

    /// Whether one more may wait, besides those that a connection is being opened for.
    pub(crate) fn may_wait(&self) -> bool {
        let each = match self.settings.protocol {
            Protocol::Http1 => 1,
            Protocol::Http2 => self.settings.limits.streams as usize,
        };
        let possible = self.opening + (self.settings.limits.connections - self.connections);
        self.waiting < self.settings.limits.waiting.saturating_add(possible * each)
    }

    /// Whether another connection is to be opened.
    pub(crate) fn wants_connection(&self) -> bool {
        let enough = match self.settings.protocol {
            Protocol::Http1 => self.opening >= self.waiting,
            Protocol::Http2 => self.opening > 0,
        };
        self.waiting > 0
            && !enough
            && !self.barred
            && self.connections < self.settings.limits.connections
    }

    /// Has an exchange wait, behind the others or before them.
    pub(crate) fn wait(&mut self, exchange: Exchange, first: bool, exchanges: &mut Exchanges) {
        self.waiting += 1;
        match first {
            true => self.line.push_front(exchange),
            false => self.line.push_back(exchange),
        }
        // Those that have ended in line are usually the oldest; the rest is swept by and by.
        if self.line.len() > 2 * self.waiting + 64 {
            self.line.retain(|&one| is_waiting(one, exchanges));
        }
    }

    /// Who is first in line.
    pub(crate) fn first(&mut self, exchanges: &mut Exchanges) -> Option<Exchange> {
        while let Some(&exchange) = self.line.front() {
            if is_waiting(exchange, exchanges) {
                return Some(exchange);
            }
            self.line.pop_front();
        }
        None
    }

    /// The first in line has got a connection, or has ended.
    pub(crate) fn pop(&mut self) {
        self.line.pop_front();
        self.waiting -= 1;
    }

    /// A connection with room for a request.
    pub(crate) fn pick(&mut self, links: &mut Links) -> Option<Link> {
        if let Some(link) = self.idle.pop() {
            if let Some(connection) = links.get(link) {
                connection.is_idle = false;
            }
            return Some(link);
        }
        let mut has_room = |link: Link| {
            let wire = links.get(link).and_then(|one| one.wire.as_ref());
            wire.is_some_and(|wire| wire.room() > 0)
        };
        self.shared.iter().copied().find(|&link| has_room(link))
    }

    /// Whether [`Pool::pick`] would find one.
    pub(crate) fn has_room(&self, links: &mut Links) -> bool {
        let mut has_room = |&link: &Link| {
            let wire = links.get(link).and_then(|one| one.wire.as_ref());
            wire.is_some_and(|wire| wire.room() > 0)
        };
        !self.idle.is_empty() || self.shared.iter().any(&mut has_room)
    }

    /// A connection is gone.
    pub(crate) fn forget(&mut self, link: Link) {
        self.idle.retain(|&one| one != link);
        self.shared.retain(|&one| one != link);
    }

    /// A connection can be used.
    pub(crate) fn opened(&mut self, link: Link, wire: &Wire) {
        self.opening -= 1;
        if matches!(wire, Wire::Http2(_)) {
            self.shared.push(link);
        }
    }
}

fn is_waiting(exchange: Exchange, exchanges: &mut Exchanges) -> bool {
    exchanges
        .get(exchange)
        .is_some_and(|state| state.stage == Stage::Waiting)
}
