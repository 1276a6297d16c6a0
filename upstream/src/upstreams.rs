//! The pools of a worker: what the desk says and what sockets did goes in, orders and events come
//! out. Control stands here; what happens to an exchange is in `course`, and to a connection in
//! `sockets`.

mod course;
mod sockets;

use std::collections::VecDeque;

use measure::time::Time;
use proto::http1::HeadMemo;
use timers::Wheel;

use crate::answer::{Error, Event, Kind};
use crate::config::Settings;
use crate::counts::Counts;
use crate::desk::{Exchange, Upstream};
use crate::exchanges::{Exchanges, Stage, State, Upload};
use crate::links::{Link, Links, Order};
use crate::pool::Pool;
use crate::request::{Body, Request};
use crate::wire::After;

/// Who is told what happens to an exchange, with what is lent; says whether that is still wanted.
pub type Tell<'t> = &'t mut dyn FnMut(Exchange, Event<'_>) -> bool;

/// Something to be told that nobody lends anything for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum News {
    /// [`Event::Writable`].
    Writable,
    /// [`Event::Failed`]: the exchange has ended.
    Failed(Error),
}

/// Why a connection broke, or couldn't be opened.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Broke {
    /// Nobody listens there.
    Refused,
    /// No socket is left here.
    NoSocket,
    /// The server's certificate isn't accepted, for this reason.
    Untrusted(&'static str),
    /// No secured connection came about for another reason.
    Handshake,
    /// Anything else.
    Other,
}

/// See the crate.
pub struct Upstreams {
    pools: Vec<Pool>,
    links: Links,
    exchanges: Exchanges,
    wheel: Wheel<Alarm>,
    alarms: Vec<Alarm>,
    memo: HeadMemo,
    orders: VecDeque<Order>,
    news: VecDeque<(Exchange, News)>,
    /// Exchanges that failed as they began. Told with the next tick: a service that begins another
    /// at once would go on with that for ever.
    refused: Vec<(Exchange, Error)>,
    counts: Counts,
    held_bytes: usize,
    /// Exchanges that are to be sent once more, for a moment.
    again: Vec<Exchange>,
    /// Exchanges that have ended while their connection was read, for a moment.
    failed: Vec<(Exchange, Option<Error>)>,
    /// The server stops: no connection is kept.
    draining: bool,
    /// The server has stopped: nothing begins any more.
    cut: bool,
}

/// What a timer is for.
#[derive(Clone, Copy, Debug)]
enum Alarm {
    Exchange(Exchange),
    Link(Link),
}

impl Upstreams {
    /// No upstream yet.
    pub fn new(now: Time) -> Upstreams {
        Upstreams {
            pools: Vec::new(),
            links: Links::default(),
            exchanges: Exchanges::default(),
            wheel: Wheel::new(now, 64),
            alarms: Vec::new(),
            memo: HeadMemo::new(),
            orders: VecDeque::new(),
            news: VecDeque::new(),
            refused: Vec::new(),
            counts: Counts::default(),
            held_bytes: 0,
            again: Vec::new(),
            failed: Vec::new(),
            draining: false,
            cut: false,
        }
    }

    /// There is one more upstream. They are named in the order in which this is called.
    pub fn declare(&mut self, settings: Settings, addresses: u32) {
        self.pools.push(Pool::new(settings, addresses));
    }

    /// An upstream is not used any more: those that wait for it fail, those under way go on.
    pub fn remove(&mut self, upstream: Upstream, now: Time) {
        let Some(pool) = self.pools.get_mut(upstream.place()) else {
            return;
        };
        pool.removed = true;
        let idle = std::mem::take(&mut pool.idle);
        self.fail_line(upstream.0, Kind::NoUpstream, usize::MAX);
        for link in idle {
            self.close(link, false);
        }
        let shared = self.pools[upstream.place()].shared.clone();
        for link in shared {
            self.look_after(link, now);
        }
    }

    /// Begins an exchange. `owned` says whether a request of a client is behind it: the others
    /// begin no more once the server stops.
    pub fn begin(
        &mut self,
        exchange: Exchange,
        upstream: Upstream,
        request: Request,
        (owned, now): (bool, Time),
    ) {
        self.counts.exchanges += 1;
        let repeatable = request.is_idempotent() && !matches!(request.body(), Body::Stream(_));
        let refused = Error {
            kind: Kind::Full,
            unprocessed: true,
            repeatable,
            answered: false,
        };
        let stops = self.cut || (self.draining && !owned);
        let kind = match self.pools.get(upstream.place()) {
            _ if stops => Kind::Stopping,
            Some(pool) if pool.removed => Kind::NoUpstream,
            Some(pool) if pool.may_wait() || pool.has_room(&mut self.links) => {
                return self.enter(exchange, upstream.0, request, (repeatable, now));
            }
            Some(_) => Kind::Full,
            None => Kind::NoUpstream,
        };
        self.counts.failures.count(kind);
        self.refused.push((exchange, Error { kind, ..refused }));
    }

    /// Has an exchange wait for a connection, which may be there.
    fn enter(
        &mut self,
        exchange: Exchange,
        pool: u32,
        request: Request,
        (repeatable, now): (bool, Time),
    ) {
        let deadline = now + self.pools[pool as usize].settings.timeouts.whole;
        let timer = self.wheel.insert(deadline, Alarm::Exchange(exchange));
        self.exchanges.insert(State {
            exchange,
            pool,
            stage: Stage::Waiting,
            upload: Upload::of(&request),
            request: Some(request),
            repeatable,
            repeated: false,
            answered: false,
            sent: false,
            body_bytes: 0,
            paused: false,
            deadline,
            head_due: Time::NEVER,
            timer,
            timer_at: deadline,
            held_bytes: 0,
        });
        self.pools[pool as usize].barred = false;
        self.pools[pool as usize].wait(exchange, false, &mut self.exchanges);
        self.weigh(exchange);
        self.assign(pool, now);
    }

    /// A piece of the body of a request.
    pub fn send(&mut self, exchange: Exchange, bytes: &[u8], now: Time) {
        let Some(state) = self.exchanges.get(exchange) else {
            return;
        };
        if !state.upload.open {
            return;
        }
        match state.upload.push(bytes) {
            true => self.pump(exchange, now),
            false => self.fail(exchange, Kind::WrongLength, now),
        }
    }

    /// The body of a request is complete.
    pub fn end(&mut self, exchange: Exchange, now: Time) {
        let Some(state) = self.exchanges.get(exchange) else {
            return;
        };
        if !state.upload.open {
            return;
        }
        match state.upload.end() {
            true => self.pump(exchange, now),
            false => self.fail(exchange, Kind::WrongLength, now),
        }
    }

    /// Gives an exchange up, of which nothing is told any more. Says whether it had not ended, or
    /// that had not been told.
    pub fn cancel(&mut self, exchange: Exchange, now: Time) -> bool {
        let told = self.news.len() + self.refused.len();
        self.news.retain(|(of, _)| *of != exchange);
        self.refused.retain(|(of, _)| *of != exchange);
        if self.exchanges.get(exchange).is_none() {
            return self.news.len() + self.refused.len() < told;
        }
        self.counts.cancelled += 1;
        self.take_off(exchange, now);
        true
    }

    /// The client that an exchange was made for is gone.
    pub fn client_gone(&mut self, exchange: Exchange, now: Time) {
        self.fail(exchange, Kind::ClientGone, now);
    }

    /// Has the answer wait, or go on.
    pub fn pause(&mut self, exchange: Exchange, paused: bool) {
        let Some(state) = self.exchanges.get(exchange) else {
            return;
        };
        if state.paused == paused {
            return;
        }
        state.paused = paused;
        if let Stage::On(link, place) = state.stage {
            self.apply_pause(link, place, paused);
        }
    }

    /// Does what timers are due for.
    pub fn tick(&mut self, now: Time) {
        for (exchange, error) in self.refused.drain(..) {
            self.news.push_back((exchange, News::Failed(error)));
        }
        let mut alarms = std::mem::take(&mut self.alarms);
        self.wheel.expire(now, &mut alarms);
        for alarm in alarms.drain(..) {
            match alarm {
                Alarm::Exchange(exchange) => self.look_at_deadline(exchange, now),
                Alarm::Link(link) => self.look_at_link(link, now),
            }
        }
        self.alarms = alarms;
    }

    /// When [`Upstreams::tick`] has something to do next, `now` or later.
    pub fn next_due(&mut self, now: Time) -> Time {
        match self.refused.is_empty() {
            true => self.wheel.next_deadline().unwrap_or(Time::NEVER).max(now),
            false => now,
        }
    }

    /// The server stops: idle connections are closed, and the others once they are.
    pub fn drain(&mut self, now: Time) {
        self.draining = true;
        let links: Vec<Link> = self.links.names().collect();
        for link in links {
            self.look_after(link, now);
        }
    }

    /// The time to drain is over: everything under way fails.
    pub fn cut(&mut self, now: Time) {
        self.cut = true;
        self.draining = true;
        let all: Vec<Exchange> = self.exchanges.iter().map(|state| state.exchange).collect();
        for exchange in all {
            self.fail(exchange, Kind::Stopping, now);
        }
        let links: Vec<Link> = self.links.names().collect();
        for link in links {
            self.close(link, true);
        }
    }

    /// What makes the worker hold too much is given up, until so many bytes are free or nothing
    /// is left.
    pub fn relieve(&mut self, bytes: usize, now: Time) {
        let enough = self.held_bytes.saturating_sub(bytes);
        let mut heavy: Vec<(usize, Exchange)> = Vec::new();
        for state in self.exchanges.iter() {
            let on = match state.stage {
                Stage::On(link, _) => self.links.get(link),
                _ => None,
            };
            let shared = on.map_or(0, |one| one.weigh() / one.outstanding().max(1) as usize);
            heavy.push((state.held_bytes + shared, state.exchange));
        }
        heavy.sort_unstable_by_key(|&(held, _)| std::cmp::Reverse(held));
        for (held, exchange) in heavy {
            if self.held_bytes <= enough {
                return;
            }
            let on = match self.exchanges.get(exchange).map(|state| state.stage) {
                Some(Stage::On(link, _)) => Some(link),
                _ => None,
            };
            let before = self.held_bytes;
            self.fail(exchange, Kind::Memory, now);
            // What its connection has to send isn't taken back. If that's most of it, the
            // connection goes, and not the exchanges of others.
            if let Some(link) = on.filter(|_| before - self.held_bytes < held / 2) {
                self.over(link, Kind::Memory, now);
            }
        }
    }

    /// The next thing to be done with a socket.
    pub fn next_order(&mut self) -> Option<Order> {
        self.orders.pop_front()
    }

    /// The next thing to be told. After [`News::Failed`] the exchange has ended.
    pub fn next_news(&mut self) -> Option<(Exchange, News)> {
        loop {
            let (exchange, news) = self.news.pop_front()?;
            // It may have ended since there was room for more of its body.
            if news != News::Writable || self.exchanges.get(exchange).is_some() {
                return Some((exchange, news));
            }
        }
    }

    /// Whether there is neither an order nor anything to be told.
    pub fn is_settled(&self) -> bool {
        self.orders.is_empty() && self.news.is_empty()
    }

    /// Whether no exchange is under way and no connection open.
    pub fn is_empty(&self) -> bool {
        self.exchanges.live() == 0
            && self.links.live() == 0
            && self.refused.is_empty()
            && self.is_settled()
    }

    /// What was counted so far.
    pub fn counts(&self) -> &Counts {
        &self.counts
    }

    /// Bytes of requests and connections that are held.
    pub fn held_bytes(&self) -> usize {
        self.held_bytes
    }
}

#[cfg(test)]
mod tests;
