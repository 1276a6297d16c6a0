//! The course of an exchange: from the line onto a connection, through its answer, to its end.

use measure::time::Time;

use super::{After, Alarm, News, Tell, Upstreams};
use crate::answer::{Event, Kind};
use crate::counts::Counts;
use crate::desk::Exchange;
use crate::exchanges::{Exchanges, Stage, State};
use crate::links::{Link, Order};
use crate::wire::{Told, Wire};

/// There is room for more of a body while a connection has less than this to send.
const ROOM_BYTES: usize = 64 * 1024;

impl Upstreams {
    /// Gives those in line connections, and opens more where there are too few.
    pub(super) fn assign(&mut self, pool: u32, now: Time) {
        let at = pool as usize;
        while let Some(exchange) = self.pools[at].first(&mut self.exchanges) {
            let Some(link) = self.pools[at].pick(&mut self.links) else {
                break;
            };
            self.pools[at].pop();
            self.put(exchange, link, now);
        }
        while self.pools[at].wants_connection() && !self.cut {
            let address = self.pools[at].next_address();
            let tries_left = self.pools[at].addresses - 1;
            self.dial(pool, address, tries_left, now);
        }
    }

    /// Sends the request of an exchange on a connection that has room.
    fn put(&mut self, exchange: Exchange, link: Link, now: Time) {
        let (Some(state), Some(connection)) = (self.exchanges.get(exchange), self.links.get(link))
        else {
            debug_assert!(
                false,
                "{exchange:?} or {link:?} is gone that was just found"
            );
            return;
        };
        let (Some(request), Some(wire)) = (state.request.take(), connection.wire.as_mut()) else {
            debug_assert!(
                false,
                "an exchange without a request waits for a connection"
            );
            return;
        };
        let place = wire.begin(exchange.index, &request, &mut connection.out);
        self.counts.reused += u64::from(connection.carried > 0);
        self.counts.repeated += u64::from(state.repeated);
        connection.carried += 1;
        connection.is_idle = false;
        state.stage = Stage::On(link, place);
        state.sent = true;
        let may_repeat = state.repeatable && !state.repeated;
        state.request = Some(request).filter(|_| may_repeat);
        if state.upload.done {
            self.request_ended(exchange, now);
        } else {
            connection.uploads.push(exchange.index);
        }
        let paused = self
            .exchanges
            .get(exchange)
            .is_some_and(|state| state.paused);
        if paused {
            self.apply_pause(link, place, true);
        }
        self.pump(exchange, now);
        self.flush(link);
        self.weigh(exchange);
    }

    /// All of a request is on its connection: from now on its answer is waited for.
    fn request_ended(&mut self, exchange: Exchange, now: Time) {
        let Some(state) = self.exchanges.get(exchange) else {
            return;
        };
        if state.answered {
            return;
        }
        let timeouts = &self.pools[state.pool as usize].settings.timeouts;
        state.head_due = now + timeouts.head;
        if state.head_due < state.timer_at {
            self.wheel.cancel(state.timer);
            state.timer_at = state.head_due;
            state.timer = self.wheel.insert(state.timer_at, Alarm::Exchange(exchange));
        }
    }

    /// Hands the body of a request to its connection as far as that takes it, and says when there
    /// is room for more.
    pub(super) fn pump(&mut self, exchange: Exchange, now: Time) {
        let Some(state) = self.exchanges.get(exchange) else {
            return;
        };
        let Stage::On(link, place) = state.stage else {
            return self.weigh(exchange);
        };
        let Some(connection) = self.links.get(link) else {
            return;
        };
        let Some(wire) = &mut connection.wire else {
            return;
        };
        let upload = &mut state.upload;
        let end = !upload.open;
        let mut completed = false;
        if !upload.done && (end || !upload.bytes.is_empty()) {
            let taken = wire.data(place, &upload.bytes, end, &mut connection.out);
            completed = end && taken == upload.bytes.len();
            match taken == upload.bytes.len() {
                true => upload.bytes.clear(),
                false => drop(upload.bytes.drain(..taken)),
            }
            upload.done = completed;
        }
        if upload.open
            && upload.wants_room
            && upload.bytes.is_empty()
            && connection.out.len() + connection.in_flight < ROOM_BYTES
        {
            upload.wants_room = false;
            self.news.push_back((exchange, News::Writable));
        }
        if completed {
            connection.uploads.retain(|&one| one != exchange.index);
            self.request_ended(exchange, now);
        }
        self.flush(link);
        self.weigh(exchange);
    }

    /// Goes on with all bodies on a connection that takes more than before.
    pub(super) fn pump_all(&mut self, link: Link, now: Time) {
        let mut at = 0;
        while let Some(connection) = self.links.get(link)
            && let Some(&index) = connection.uploads.get(at)
        {
            let before = connection.uploads.len();
            match self.exchanges.at(index) {
                Some(state) if matches!(state.stage, Stage::On(on, _) if on == link) => {
                    let exchange = state.exchange;
                    self.pump(exchange, now);
                }
                _ => drop(connection.uploads.swap_remove(at)),
            }
            let after = self.links.get(link).map_or(0, |one| one.uploads.len());
            at += usize::from(after == before);
        }
    }

    /// The timer of an exchange is due: has a limit been reached?
    pub(super) fn look_at_deadline(&mut self, exchange: Exchange, now: Time) {
        let Some(state) = self.exchanges.get(exchange) else {
            return;
        };
        let head_due = match state.answered {
            true => Time::NEVER,
            false => state.head_due,
        };
        let at = head_due.min(state.deadline);
        if at <= now {
            let kind = match state.deadline <= now {
                true => Kind::Deadline,
                false => Kind::HeadTimeout,
            };
            return self.fail(exchange, kind, now);
        }
        state.timer_at = at;
        state.timer = self.wheel.insert(at, Alarm::Exchange(exchange));
    }

    /// Ends an exchange that has no answer, or not all of it.
    pub(super) fn fail(&mut self, exchange: Exchange, kind: Kind, now: Time) {
        let Some(state) = self.exchanges.get(exchange) else {
            return;
        };
        let error = state.error(kind, false);
        self.counts.failures.count(kind);
        self.news.push_back((exchange, News::Failed(error)));
        self.take_off(exchange, now);
    }

    /// Those first in line fail, so many of them.
    pub(super) fn fail_line(&mut self, pool: u32, kind: Kind, most: usize) {
        for _ in 0..most {
            let Some(exchange) = self.pools[pool as usize].first(&mut self.exchanges) else {
                return;
            };
            let Some(state) = self.exchanges.get(exchange) else {
                return;
            };
            let error = state.error(kind, false);
            self.counts.failures.count(kind);
            self.news.push_back((exchange, News::Failed(error)));
            self.pools[pool as usize].pop();
            self.forget(exchange);
        }
    }

    /// Ends an exchange wherever it is: its connection is told, or ends with it.
    pub(super) fn take_off(&mut self, exchange: Exchange, now: Time) {
        let Some(state) = self.forget(exchange) else {
            return;
        };
        match state.stage {
            Stage::Waiting => self.pools[state.pool as usize].waiting -= 1,
            Stage::Dropped => {}
            Stage::On(link, place) => {
                let Some(connection) = self.links.get(link) else {
                    return;
                };
                connection.uploads.retain(|&one| one != exchange.index);
                let Some(wire) = &mut connection.wire else {
                    return;
                };
                let alone = matches!(wire, Wire::Http1(_));
                match wire.cancel(place, &mut connection.out) {
                    After::Over => {
                        self.close(link, alone);
                        self.assign(state.pool, now);
                    }
                    After::Open => self.look_after(link, now),
                }
            }
        }
    }

    /// Keeps nothing of an exchange any more.
    fn forget(&mut self, exchange: Exchange) -> Option<State> {
        let state = self.exchanges.remove(exchange)?;
        self.wheel.cancel(state.timer);
        self.held_bytes -= state.held_bytes;
        Some(state)
    }

    /// Counts what an exchange makes the worker hold.
    pub(super) fn weigh(&mut self, exchange: Exchange) {
        if let Some(state) = self.exchanges.get(exchange) {
            let held_bytes = state.weigh();
            self.held_bytes = self.held_bytes + held_bytes - state.held_bytes;
            state.held_bytes = held_bytes;
        }
    }

    /// Has the server wait with an answer, or go on.
    pub(super) fn apply_pause(&mut self, link: Link, place: u32, paused: bool) {
        if let Some(connection) = self.links.get(link)
            && let Some(wire) = &mut connection.wire
        {
            let reads = wire.pause(place, paused, &mut connection.out);
            if connection.reads != reads {
                connection.reads = reads;
                self.orders.push_back(Order::Read(link, reads));
            }
            self.flush(link);
        }
    }

    /// The connection of these exchanges is over. Who may be sent again waits once more, and the
    /// others fail.
    pub(super) fn strand(&mut self, stranded: Vec<u32>, kind: Kind, was_kept: bool) -> bool {
        let mut any = false;
        for index in stranded {
            let Some(state) = self.exchanges.at(index) else {
                continue;
            };
            if state.stage == Stage::Dropped {
                continue;
            }
            let exchange = state.exchange;
            let again = was_kept && kind == Kind::Closed && !state.answered;
            if again && repeat(state, exchange, &mut self.again) {
                any = true;
                continue;
            }
            let error = state.error(kind, false);
            self.counts.failures.count(kind);
            self.news.push_back((exchange, News::Failed(error)));
            self.forget(exchange);
        }
        any
    }

    /// Those that are to be sent once more wait again, before all others.
    pub(super) fn wait_again(&mut self) {
        while let Some(exchange) = self.again.pop() {
            if let Some(state) = self.exchanges.get(exchange) {
                let pool = state.pool as usize;
                self.pools[pool].wait(exchange, true, &mut self.exchanges);
            }
        }
    }

    /// Ends what a connection has said of while it was read.
    pub(super) fn bury(&mut self) {
        while let Some((exchange, error)) = self.failed.pop() {
            if let Some(error) = error {
                self.counts.failures.count(error.kind);
                self.news.push_back((exchange, News::Failed(error)));
            }
            self.forget(exchange);
        }
    }
}

/// Notes that an exchange is sent once more, if that is allowed.
fn repeat(state: &mut State, exchange: Exchange, again: &mut Vec<Exchange>) -> bool {
    let whole = state.request.is_some();
    if !whole || !state.repeatable || state.repeated {
        return false;
    }
    state.repeated = true;
    state.stage = Stage::Waiting;
    state.head_due = Time::NEVER;
    again.push(exchange);
    true
}

/// What is heard on a connection while it's being read.
pub(super) struct Ear<'e> {
    pub(super) exchanges: &'e mut Exchanges,
    pub(super) counts: &'e mut Counts,
    pub(super) again: &'e mut Vec<Exchange>,
    pub(super) failed: &'e mut Vec<(Exchange, Option<crate::Error>)>,
    pub(super) body_bytes_max: u64,
}

impl Ear<'_> {
    /// Something came of the exchange with this number; says whether it's still wanted.
    pub(super) fn hear(&mut self, index: u32, told: Told<'_>, tell: Tell<'_>) -> bool {
        let Some(state) = self.exchanges.at(index) else {
            return false;
        };
        if state.stage == Stage::Dropped {
            return false;
        }
        let exchange = state.exchange;
        let event = match told {
            Told::Head(head) => {
                state.answered = true;
                state.request = None;
                Event::Head(head)
            }
            Told::Data(bytes) => {
                state.body_bytes += bytes.len() as u64;
                if state.body_bytes > self.body_bytes_max {
                    return self.give_up(index, Kind::TooLong);
                }
                Event::Data(bytes)
            }
            Told::Trailers(fields) => Event::Trailers(fields),
            Told::End => {
                self.counts.completed += 1;
                self.failed.push((exchange, None));
                state.stage = Stage::Dropped;
                Event::End
            }
            Told::Reset {
                code,
                unprocessed,
                violation,
            } => {
                if unprocessed && !state.answered && repeat(state, exchange, self.again) {
                    state.sent = false;
                    return false;
                }
                let kind = match violation {
                    Some(violation) => Kind::Malformed(violation),
                    None if unprocessed => Kind::Declined,
                    None => Kind::Reset(code),
                };
                let error = state.error(kind, unprocessed);
                self.failed.push((exchange, Some(error)));
                state.stage = Stage::Dropped;
                return false;
            }
        };
        let wanted = tell(exchange, event);
        if !wanted && let Some(state) = self.exchanges.get(exchange) {
            state.stage = Stage::Dropped;
        }
        wanted
    }

    fn give_up(&mut self, index: u32, kind: Kind) -> bool {
        if let Some(state) = self.exchanges.at(index) {
            let error = state.error(kind, false);
            self.failed.push((state.exchange, Some(error)));
            state.stage = Stage::Dropped;
        }
        false
    }
}
