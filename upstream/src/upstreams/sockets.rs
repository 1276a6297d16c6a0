//! What happens to the sockets of connections, and what becomes of these.

use std::time::Duration;

use measure::time::Time;

use super::course::Ear;
use super::{After, Alarm, Broke, Tell, Upstreams};
use crate::answer::Kind;
use crate::config::Protocol;
use crate::desk::Upstream;
use crate::links::{Connection, Link, Order, Stand};
use crate::wire::Wire;

/// A connection that carries something is looked at again after so long at the earliest.
const BUSY_LOOK: Duration = Duration::from_secs(1);

impl Upstreams {
    /// Opens a connection to an address; if that fails, so many others are tried.
    pub(super) fn dial(&mut self, pool: u32, address: u32, tries_left: u32, now: Time) {
        let at = &mut self.pools[pool as usize];
        at.opening += 1;
        at.connections += 1;
        let due = now + at.settings.timeouts.connect;
        let link = self.links.next();
        let connection = Connection {
            pool,
            address,
            tries_left,
            stand: Stand::Opening,
            wire: None,
            out: Vec::new(),
            in_flight: 0,
            listed: false,
            reads: true,
            carried: 0,
            is_idle: false,
            since: now,
            timer: self.wheel.insert(due, Alarm::Link(link)),
            uploads: Vec::new(),
            held_bytes: 0,
        };
        self.links.keep(link, connection);
        self.orders.push_back(Order::Connect {
            link,
            upstream: Upstream(pool),
            address: address as usize,
        });
    }

    /// The socket of a connection stands.
    pub fn connected(&mut self, link: Link, now: Time) {
        let Some(connection) = self.links.get(link) else {
            return;
        };
        let settings = &self.pools[connection.pool as usize].settings;
        let wire = Wire::open(settings.protocol, &settings.limits, &mut connection.out);
        connection.wire = Some(wire);
        self.flush(link);
        self.look_after(link, now);
    }

    /// Bytes came on a connection.
    pub fn received(&mut self, link: Link, bytes: &[u8], now: Time, tell: Tell<'_>) {
        let Some(connection) = self.links.get(link) else {
            return;
        };
        let Some(wire) = &mut connection.wire else {
            return;
        };
        let limits = &self.pools[connection.pool as usize].settings.limits;
        let mut ear = Ear {
            exchanges: &mut self.exchanges,
            counts: &mut self.counts,
            again: &mut self.again,
            failed: &mut self.failed,
            body_bytes_max: limits.body_bytes,
        };
        let hear = &mut |index, told: crate::wire::Told<'_>| ear.hear(index, told, &mut *tell);
        let after = wire.receive(bytes, &mut self.memo, &mut connection.out, hear);
        self.bury();
        match after {
            Ok(After::Open) => {
                self.flush(link);
                self.pump_all(link, now);
                self.wait_again();
                self.look_after(link, now);
            }
            Ok(After::Over) => {
                self.wait_again();
                self.over(link, Kind::Closed, now);
            }
            Err(violation) => {
                self.wait_again();
                self.over(link, Kind::Malformed(violation), now);
            }
        }
    }

    /// The server sends no more on a connection.
    pub fn ended(&mut self, link: Link, now: Time, tell: Tell<'_>) {
        let Some(connection) = self.links.get(link) else {
            return;
        };
        if let Some(wire) = &mut connection.wire {
            let mut ear = Ear {
                exchanges: &mut self.exchanges,
                counts: &mut self.counts,
                again: &mut self.again,
                failed: &mut self.failed,
                body_bytes_max: u64::MAX,
            };
            wire.ended(&mut |index, told| ear.hear(index, told, &mut *tell));
            self.bury();
        }
        self.over(link, Kind::Closed, now);
    }

    /// The socket of a connection is dead, or never was.
    pub fn broke(&mut self, link: Link, how: Broke, now: Time) {
        let Some(connection) = self.links.get(link) else {
            return;
        };
        match (connection.stand, how) {
            (Stand::Open, _) => self.over(link, Kind::Closed, now),
            (_, Broke::Refused) => self.not_opened(link, Kind::Refused, now),
            (_, Broke::NoSocket) => self.not_opened(link, Kind::NoSocket, now),
            (_, Broke::Untrusted(why)) => self.not_opened(link, Kind::Untrusted(why), now),
            (_, Broke::Handshake) => self.not_opened(link, Kind::Handshake, now),
            (_, Broke::Other) => self.not_opened(link, Kind::Unreachable, now),
        }
    }

    /// The kernel has taken all that was handed over.
    pub fn sent(&mut self, link: Link, now: Time) {
        let Some(connection) = self.links.get(link) else {
            return;
        };
        connection.in_flight = 0;
        if !connection.out.is_empty() {
            self.flush(link);
        }
        self.pump_all(link, now);
        self.weigh_link(link);
    }

    /// What is to be sent on a connection, if there is anything: swapped for `memory`, which is
    /// empty. Its owner says [`Upstreams::sent`] later.
    pub fn output(&mut self, link: Link, memory: Vec<u8>) -> Result<Vec<u8>, Vec<u8>> {
        let Some(connection) = self.links.get(link) else {
            return Err(memory);
        };
        connection.listed = false;
        if connection.out.is_empty() || connection.in_flight > 0 {
            return Err(memory);
        }
        debug_assert!(memory.is_empty(), "what others have sent is sent again");
        let bytes = std::mem::replace(&mut connection.out, memory);
        connection.in_flight = bytes.len();
        self.weigh_link(link);
        Ok(bytes)
    }

    /// Has what a connection has to say sent.
    pub(super) fn flush(&mut self, link: Link) {
        if let Some(connection) = self.links.get(link)
            && !connection.listed
            && connection.in_flight == 0
            && !connection.out.is_empty()
        {
            connection.listed = true;
            self.orders.push_back(Order::Flush(link));
        }
        self.weigh_link(link);
    }

    /// Counts what a connection makes the worker hold.
    fn weigh_link(&mut self, link: Link) {
        if let Some(connection) = self.links.get(link) {
            let held_bytes = connection.weigh();
            self.held_bytes = self.held_bytes + held_bytes - connection.held_bytes;
            connection.held_bytes = held_bytes;
        }
    }

    /// Something happened on a connection: it may be usable, idle or at its end.
    pub(super) fn look_after(&mut self, link: Link, now: Time) {
        let Some(connection) = self.links.get(link) else {
            return;
        };
        let pool = connection.pool;
        let at = &mut self.pools[pool as usize];
        let Some(wire) = &connection.wire else {
            return; // It's being opened.
        };
        if connection.stand == Stand::Opening {
            if !wire.is_ready() {
                return self.flush(link);
            }
            connection.stand = Stand::Open;
            self.counts.connections += 1;
            at.opened(link, wire);
        }
        let free = wire.outstanding() == 0;
        let leaves = wire.is_leaving() || self.draining || at.removed;
        if free && leaves && !(at.waiting > 0 && wire.room() > 0) {
            self.close(link, false);
            return self.assign(pool, now);
        }
        if free && !connection.reads {
            connection.reads = true;
            self.orders.push_back(Order::Read(link, true));
        }
        if free && !connection.is_idle {
            connection.since = now;
            connection.is_idle = true;
            if at.settings.protocol == Protocol::Http1 {
                at.idle.push(link);
            }
            self.wheel.cancel(connection.timer);
            let due = now + at.settings.timeouts.idle;
            connection.timer = self.wheel.insert(due, Alarm::Link(link));
        }
        self.flush(link);
        self.assign(pool, now);
    }

    /// The timer of a connection is due: it's idle for too long, or can't be opened.
    pub(super) fn look_at_link(&mut self, link: Link, now: Time) {
        let Some(connection) = self.links.get(link) else {
            return;
        };
        let timeouts = self.pools[connection.pool as usize].settings.timeouts;
        if connection.stand == Stand::Opening {
            return self.not_opened(link, Kind::ConnectTimeout, now);
        }
        let idle = connection.outstanding() == 0;
        let due = match idle {
            true => connection.since + timeouts.idle,
            false => now + timeouts.idle.max(BUSY_LOOK),
        };
        if idle && due <= now {
            return self.close(link, false);
        }
        connection.timer = self.wheel.insert(due, Alarm::Link(link));
    }

    /// A connection couldn't be opened: another address is tried, or somebody is told.
    fn not_opened(&mut self, link: Link, kind: Kind, now: Time) {
        let Some(connection) = self.links.get(link) else {
            return;
        };
        let (pool, tries_left, address) =
            (connection.pool, connection.tries_left, connection.address);
        self.counts.connect_failures += 1;
        self.close(link, true);
        let at = &mut self.pools[pool as usize];
        if tries_left > 0 && at.waiting > 0 && kind != Kind::NoSocket {
            let next = (address + 1) % at.addresses;
            return self.dial(pool, next, tries_left - 1, now);
        }
        // Those of HTTP/2 wait for the connections that stand, if any of them takes requests.
        let usable = |&link: &Link| {
            let wire = self.links.get(link).and_then(|one| one.wire.as_ref());
            wire.is_some_and(|wire| !wire.is_leaving())
        };
        let shared = at.settings.protocol == Protocol::Http2;
        let usable = shared && at.shared.iter().any(usable);
        at.barred = at.connections > 0 && (kind == Kind::NoSocket || usable);
        let most = match at.settings.protocol {
            _ if at.connections == 0 => usize::MAX,
            Protocol::Http2 if !usable => usize::MAX,
            _ if at.barred => 0,
            _ => 1,
        };
        self.fail_line(pool, kind, most);
        self.assign(pool, now);
    }

    /// A connection that stood is over: what is on it is sent again or fails.
    pub(super) fn over(&mut self, link: Link, kind: Kind, now: Time) {
        let Some(connection) = self.links.get(link) else {
            return;
        };
        if connection.stand == Stand::Opening {
            return self.not_opened(link, as_opening(kind), now);
        }
        let (pool, address) = (connection.pool, connection.address);
        let wire = connection.wire.as_ref();
        let stranded: Vec<u32> = wire.map_or(Vec::new(), |wire| wire.exchanges().collect());
        let was_kept = connection.carried > stranded.len() as u64;
        let graceful = stranded.is_empty() && kind == Kind::Closed;
        self.close(link, !graceful);
        if self.strand(stranded, kind, was_kept) {
            self.close_idle(pool, address);
        }
        self.wait_again();
        self.assign(pool, now);
    }

    /// One kept connection to an address was dead, so the others probably are, too.
    fn close_idle(&mut self, pool: u32, address: u32) {
        let idle = self.pools[pool as usize].idle.clone();
        for link in idle {
            if self
                .links
                .get(link)
                .is_some_and(|one| one.address == address)
            {
                self.close(link, false);
            }
        }
    }

    /// Closes a connection. What is on it is the caller's to end.
    pub(super) fn close(&mut self, link: Link, reset: bool) {
        let Some(mut connection) = self.links.remove(link) else {
            return;
        };
        let pool = &mut self.pools[connection.pool as usize];
        pool.connections -= 1;
        pool.barred &= connection.stand == Stand::Opening;
        pool.opening -= usize::from(connection.stand == Stand::Opening);
        pool.forget(link);
        self.wheel.cancel(connection.timer);
        self.held_bytes -= connection.held_bytes;
        if let Some(wire) = &mut connection.wire {
            wire.leave(&mut connection.out);
        }
        self.orders.push_back(Order::Close {
            link,
            reset,
            last: connection.out,
        });
    }
}

/// What the end of a connection is called that never could be used.
fn as_opening(kind: Kind) -> Kind {
    match kind {
        Kind::Closed => Kind::Unreachable,
        kind => kind,
    }
}
