//! Sending requests and taking answers: the hot path.

use std::collections::VecDeque;

use engine::Driver;
use measure::counters::ErrorKind;
use measure::time::Time;
use proto::Violation;

use super::{BACKLOG_ENTRIES_MAX, Phase, Session, Worker};
use crate::connection::State;
use crate::requests::Requests;
use session::wire::{BURST_BYTES_MAX, Wire};
use session::{Exchange, Flights, Happening, Memory, Recorder, Ring};

/// How often an exchange is sent again that a peer has refused.
const REFUSALS_MAX: u32 = 5;

/// What the happenings of one connection do to the worker.
struct Taking<'a> {
    index: usize,
    now: Time,
    ring: &'a mut Ring,
    flights: &'a mut Flights,
    recorder: &'a mut Recorder,
    again: &'a mut VecDeque<Exchange>,
    violation: &'a mut Option<Violation>,
    took: Took,
}

/// What came of it for the connection.
#[derive(Clone, Copy, Debug, Default)]
struct Took {
    /// Exchanges that were answered, and those that ended in another way.
    answered: u32,
    ended: u32,
    ready: bool,
    /// A user has its answer, which is yet to be judged, and isn't among the answered.
    whole: bool,
    /// Why the last of those that ended otherwise did.
    failed: Option<ErrorKind>,
    upgrade_refused: Option<u16>,
}

impl Taking<'_> {
    #[inline]
    fn take(&mut self, happening: Happening) {
        match happening {
            Happening::Answered { place, outcome } => {
                if let Some(exchange) = self.flights.end(self.index, self.ring, place) {
                    self.recorder.answered(&exchange, self.now, outcome);
                    self.took.answered += 1;
                }
            }
            other => self.take_other(other),
        }
    }

    #[inline(never)]
    fn take_other(&mut self, happening: Happening) {
        match happening {
            // Of a run nobody says anything to all.
            Happening::Answered { .. } | Happening::Heard { .. } => {}
            Happening::Judged {
                place,
                status,
                verdict,
            } => {
                if let Some(exchange) = self.flights.end(self.index, self.ring, place) {
                    self.recorder.judged(&exchange, self.now, (status, verdict));
                    self.took.answered += 1;
                }
            }
            Happening::MessageJudged { verdict } => {
                if let Some(exchange) = self.flights.end(self.index, self.ring, 0) {
                    self.recorder.message_judged(&exchange, self.now, verdict);
                    self.took.answered += 1;
                }
            }
            Happening::Whole => self.took.whole = true,
            Happening::Message => self.recorder.heard(self.now),
            Happening::Followed { place } => {
                if let Some(exchange) = self.flights.at(self.index, *self.ring, place) {
                    self.recorder.followed(&exchange);
                }
            }
            Happening::Streamed { place, sign } => {
                let at = (self.index, *self.ring, place);
                self.recorder.streamed(self.flights, at, sign, self.now);
            }
            Happening::Reset {
                place,
                status: None,
            } => self.failed(place, ErrorKind::StreamReset),
            Happening::Reset {
                place,
                status: Some(status),
            } => {
                if let Some(exchange) = self.flights.end(self.index, self.ring, place) {
                    self.cut(place, ErrorKind::StreamReset);
                    self.recorder.call_reset(&exchange, status, self.now);
                    self.took.ended += 1;
                }
            }
            Happening::Broken { place, violation } => {
                self.violation.get_or_insert(violation);
                self.failed(place, ErrorKind::ProtocolViolation);
            }
            Happening::Refused { place } => {
                if let Some(exchange) = self.flights.end(self.index, self.ring, place) {
                    self.cut(place, ErrorKind::StreamRefused);
                    send_again(exchange, self.recorder, self.again, self.now);
                    self.took.ended += 1;
                }
            }
            Happening::Ready => self.took.ready = true,
            Happening::Erred { kind } => self.recorder.tally.error(kind),
            Happening::Pong { payload } => {
                let sent = Time(u64::from_be_bytes(payload));
                self.recorder.pong(sent, self.now);
            }
            Happening::Closed { code } => self.recorder.closed(code),
            Happening::UpgradeRefused { status } => self.took.upgrade_refused = Some(status),
        }
    }

    /// A stream that came there goes on no more.
    fn cut(&mut self, place: u32, kind: ErrorKind) {
        self.recorder.cut_one((self.index, place), kind, self.now);
    }

    fn failed(&mut self, place: u32, kind: ErrorKind) {
        if let Some(exchange) = self.flights.end(self.index, self.ring, place) {
            self.cut(place, kind);
            self.recorder.failed(&exchange, kind, self.now);
            self.took.ended += 1;
            self.took.failed = Some(kind);
        }
    }
}

/// The peer did nothing for an exchange, so it may be sent again (RFC 9113 §8.7): when it was
/// intended stays, and so nothing of the wait is lost.
fn send_again(
    mut exchange: Exchange,
    recorder: &mut Recorder,
    again: &mut VecDeque<Exchange>,
    now: Time,
) {
    exchange.refused();
    if exchange.refusals() > REFUSALS_MAX {
        recorder.failed(&exchange, ErrorKind::StreamGivenUp, now);
    } else {
        recorder.tally.error(ErrorKind::StreamRefused);
        recorder.refused(&exchange);
        exchange.sent = Time::NEVER;
        again.push_back(exchange);
    }
}

impl<D: Driver> Worker<'_, D> {
    /// Bytes came on a connection.
    #[inline]
    pub(super) fn received(&mut self, index: usize, bytes: &[u8], now: Time) {
        self.core.append(index);
        let (read, took) = self.counted(index, now, |wire, memory, out, taking| {
            wire.receive(bytes, memory, out, &mut |happening| taking.take(happening))
        });
        let Took {
            answered,
            ended,
            ready,
            upgrade_refused,
            ..
        } = took;
        self.core.appended(index);
        let session = &self.core.sessions[index];
        match read {
            Err(violation) => {
                self.violation.get_or_insert(violation);
                self.lose(index, ErrorKind::ProtocolViolation, now);
            }
            Ok(()) if upgrade_refused.is_some() => {
                self.upgrade_refused = self.upgrade_refused.or(upgrade_refused);
                self.lose(index, ErrorKind::UpgradeRefused, now);
            }
            Ok(()) if session.wire.is_over(session.own.ring.unanswered()) => {
                self.retire(index, now)
            }
            Ok(()) if ready => self.usable(index, now),
            // Whoever had no stream to use may have been granted one by settings.
            Ok(())
                if answered + ended == 0
                    && session.state() == State::Open
                    && session.own.ring.unanswered() == 0 =>
            {
                self.go_on(index, now);
            }
            Ok(()) if answered + ended == 0 => {}
            Ok(()) => self.freed(index, now),
        }
    }

    /// Exchanges of an open connection have ended: it can take others, unless each has its own.
    #[inline]
    pub(super) fn freed(&mut self, index: usize, now: Time) {
        if self.assignment.keep_alive {
            return self.more(index, now);
        }
        self.retire(index, now);
    }

    /// The peer sends no more on an open connection, which may end an answer.
    pub(super) fn take_end(&mut self, index: usize, now: Time) {
        // A violation leaves exchanges unanswered, which says all.
        let _ = self.counted(index, now, |wire, memory, _, taking| {
            wire.ended(memory, &mut |happening| taking.take(happening))
        });
    }

    /// Counts what `read` finds in what came on a connection. An answer ends its failures.
    #[inline]
    fn counted<R>(
        &mut self,
        index: usize,
        now: Time,
        read: impl FnOnce(&mut Wire, &mut Memory, &mut Vec<u8>, &mut Taking<'_>) -> R,
    ) -> (R, Took) {
        let session = &mut self.core.sessions[index];
        let mut taking = Taking {
            index,
            now,
            ring: &mut session.own.ring,
            flights: &mut self.flights,
            recorder: &mut self.recorder,
            again: &mut self.again,
            violation: &mut self.violation,
            took: Took::default(),
        };
        let (wire, memory, out) = (&mut session.wire, &mut self.memory, &mut session.out);
        let read = read(wire, memory, out, &mut taking);
        let mut took = taking.took;
        if took.answered > 0 {
            session.failures = 0;
            session.own.has_served = true;
        } else if took.whole {
            // Answers of users come one at a time, so nobody else's have to ask for them.
            session.failures = 0;
            session.own.has_served = true;
            took.answered = 1;
            self.user_answered(index, now);
        } else if took.ended > 0 && self.has_users() {
            self.user_refused(index, took.failed, now);
        }
        (read, took)
    }

    /// A send that is reported has been taken by the kernel whole.
    pub(super) fn send_finished(&mut self, index: usize, now: Time) {
        self.core.sent(index);
        let session = &mut self.core.sessions[index];
        session.own.overdue = false;
        match session.state() {
            State::Open => self.go_on(index, now),
            State::Closing if !session.wire.peer_ends() => self.depart(index, now),
            _ => {}
        }
    }

    /// Gives an open connection work: the exchange that waited for it, or another.
    pub(super) fn go_on(&mut self, index: usize, now: Time) {
        let session = &self.core.sessions[index];
        let waits = !self.assignment.keep_alive
            && (self.flights.at(index, session.own.ring, 0))
                .is_some_and(|exchange| exchange.sent == Time::NEVER);
        if !waits {
            self.more(index, now);
        } else if session.wire.is_over(0) {
            self.turn_away(index, now);
        } else if self.core.appends() || !session.is_sending() {
            self.send_waiting(index, now);
        }
    }

    /// The peer has gone away from a connection that an exchange has waited for. It did nothing for
    /// the exchange, so that is sent again elsewhere.
    fn turn_away(&mut self, index: usize, now: Time) {
        let session = &mut self.core.sessions[index];
        let taken = session.own.taken;
        if let Some(mut exchange) = self.flights.end(index, &mut session.own.ring, 0) {
            self.recorder
                .connection_awaited(&exchange, taken, false, now);
            exchange.sent = now; // As far as it got.
            send_again(exchange, &mut self.recorder, &mut self.again, now);
        }
        self.set_aside(index, now);
    }

    /// A connection can take an exchange: gives it one, or puts it where the schedule finds it.
    #[inline]
    pub(super) fn more(&mut self, index: usize, now: Time) {
        if self.assignment.marks.is_none() {
            return self.refill(index, now);
        }
        if self.has_users() {
            return self.user_goes_on(index, None, now);
        }
        if self.free.is_empty() {
            // Whatever fell due since the last turn did so while every connection was busy.
            self.blocked_at = now;
        }
        self.offer(index);
    }

    /// How many exchanges a connection that stands can take at once.
    #[inline]
    pub(super) fn room(&self, session: &Session) -> u32 {
        if session.is_sending() || session.out.len() >= BURST_BYTES_MAX {
            return 0;
        }
        let places = self.flights.room(session.own.ring);
        places.min(self.copies).min(session.wire.room())
    }

    /// Closed loop: sends as many requests as the connection has room for.
    #[inline]
    pub(super) fn refill(&mut self, index: usize, now: Time) {
        let session = &self.core.sessions[index];
        let mut count = match session.state() {
            State::Open => self.room(session),
            State::Down if !self.assignment.keep_alive && !session.has_timer() => 1,
            _ => 0,
        };
        let most = self.left_to_send(now);
        count = u64::from(count).min(most) as u32;
        if self.maker.is_some() {
            return self.refill_differing(index, count, now);
        }
        if count == 0 {
            return;
        }
        if self.core.sessions[index].state() != State::Open {
            let exchange = self.next_now(now);
            return self.send_anew(index, exchange, now);
        }
        self.core.append(index);
        for _ in 0..count {
            let exchange = match self.again.pop_front() {
                Some(refused) => self.take_again(refused, now),
                None => self.new_alike(now),
            };
            self.begin_alike(index, exchange, now);
        }
        self.transmit(index, count, now);
    }

    /// The same where requests differ.
    #[inline(never)]
    fn refill_differing(&mut self, index: usize, count: u32, now: Time) {
        if self.pools.is_some() {
            return self.offer(index);
        }
        if self.has_users() {
            return self.user_goes_on(index, None, now);
        }
        let count = self.ready(index, count, now);
        if count == 0 {
            return;
        }
        if self.core.sessions[index].state() != State::Open {
            let exchange = self.next_now(now);
            return self.send_anew(index, exchange, now);
        }
        self.core.append(index);
        for _ in 0..count {
            let exchange = self.next_now(now);
            self.begin_of_step(index, exchange, now);
        }
        self.transmit(index, count, now);
    }

    /// Where requests differ: of `count` that may be sent, how many there are. Rows may be used up
    /// in the middle of what one connection has room for.
    fn ready(&mut self, index: usize, count: u32, now: Time) -> u32 {
        let refused = (self.again.len() as u32).min(count);
        self.tell_script();
        let wanted = match self.maker {
            Some(Requests::Script(_)) => self.of_script(index, count - refused, now),
            Some(Requests::Flow(_)) => return self.of_flow(index, count, now),
            _ => count - refused,
        };
        let Some(maker) = self.maker.as_mut() else {
            return count;
        };
        let made = maker.ready(wanted);
        if made < wanted && maker.is_over() {
            self.no_more(0);
        }
        refused + made
    }

    /// Closed loop: how many exchanges may be sent, the refused ones among them.
    #[inline]
    pub(super) fn left_to_send(&self, now: Time) -> u64 {
        let refused = self.again.len() as u64;
        match (self.phase, self.left_of_quota()) {
            (Phase::Loading, None) => u64::MAX,
            (Phase::Loading, Some(1..)) if now < self.recorder.window().0 => u64::MAX,
            (Phase::Loading, Some(left)) => left + refused,
            (Phase::Draining { .. }, _) => refused,
            _ => 0,
        }
    }

    /// Open loop, or several servers: the connection waits its turn in the queue of free ones.
    #[inline]
    pub(super) fn offer(&mut self, index: usize) {
        if self.is_usable(index) && !self.core.sessions[index].own.queued {
            self.core.sessions[index].own.queued = true;
            match &mut self.pools {
                None => self.free.push_back(index as u32),
                Some(pools) => pools.freed(index, self.core.driver.now()),
            }
        }
    }

    /// Whether a connection stands and has room, or is one that is opened for each exchange.
    #[inline]
    pub(super) fn is_usable(&self, index: usize) -> bool {
        let session = &self.core.sessions[index];
        match session.state() {
            State::Open => self.room(session) > 0,
            State::Down => !self.assignment.keep_alive && !session.has_timer(),
            State::Waiting(_) | State::Connecting(_) | State::Greeting(_) | State::Closing => false,
        }
    }

    /// Sends everything that is due, on the connections that are free: in a closed loop only what a
    /// peer has refused.
    pub(super) fn dispatch(&mut self, now: Time) {
        if self.assignment.marks.is_none() {
            for index in 0..self.core.sessions.len() {
                if self.again.is_empty() {
                    return;
                }
                self.refill(index, now);
            }
            return;
        }
        loop {
            let is_due = self.due.is_some_and(|due| due <= now);
            if !is_due && self.again.is_empty() {
                return;
            }
            let Some(index) = self.free.pop_front() else {
                if is_due {
                    self.blocked_at = now;
                }
                return;
            };
            let index = index as usize;
            self.core.sessions[index].own.queued = false;
            if !self.is_usable(index) {
                continue;
            }
            if self.has_users() {
                self.begin_due(index, now);
            } else if self.core.sessions[index].state() == State::Open {
                self.send_due(index, now);
                self.offer(index);
            } else if let Some(exchange) = self.next_due(now) {
                self.send_anew(index, exchange, now);
            }
            self.last_activity = now;
        }
    }

    /// Sends the exchange that is due; and where every connection was busy, so that exchanges pile
    /// up, as many in one send as the connection has room for.
    fn send_due(&mut self, index: usize, now: Time) {
        let piled_up = self.due.is_some_and(|due| due <= self.blocked_at);
        let room = self.room(&self.core.sessions[index]);
        let most = if piled_up { room } else { 1 };
        self.core.append(index);
        let mut count = 0;
        while count < most
            && let Some(exchange) = self.next_due(now)
        {
            self.begin_exchange(index, exchange, now);
            count += 1;
        }
        self.transmit(index, count, now);
    }

    /// Open loop: the exchange that is sent next, if one is due. One that was refused comes first.
    fn next_due(&mut self, now: Time) -> Option<Exchange> {
        if let Some(refused) = self.again.pop_front() {
            return Some(self.take_again(refused, now));
        }
        let intended = self.due.filter(|due| *due <= now)?;
        if self.maker.is_some() && !self.has_request() {
            return None;
        }
        let was_blocked = intended <= self.blocked_at;
        self.recorder.fell_due(intended);
        let exchange = self.new_exchange(intended);
        self.recorder.dispatched(&exchange, now, was_blocked);
        self.look_ahead();
        Some(exchange)
    }

    /// Where requests differ: whether there is one to send. A script may have failed.
    #[inline(never)]
    pub(super) fn has_request(&mut self) -> bool {
        self.tell_script();
        let has = self.maker.as_mut().is_none_or(|maker| maker.ready(1) > 0);
        if !has {
            self.no_more(0);
            self.handed_out -= u64::from(self.due.take().is_some());
        }
        has
    }

    /// Finds out when the next exchange is due.
    pub(super) fn look_ahead(&mut self) {
        let over = self.left_of_quota() == Some(0);
        let (_, end) = self.recorder.window();
        self.due = match self.assignment.marks.as_mut().filter(|_| !over) {
            Some(marks) => marks.peek().map(|offset| self.origin.plus(offset)),
            None => None,
        };
        if let Some(marks) = self.assignment.marks.as_mut() {
            marks.advance();
        }
        if self.due.is_some_and(|due| due >= end) {
            self.due = None;
        }
        self.handed_out += u64::from(self.due.is_some());
    }

    /// Closed loop: the exchange that is sent next. One that was refused comes first.
    fn next_now(&mut self, now: Time) -> Exchange {
        match self.again.pop_front() {
            Some(refused) => self.take_again(refused, now),
            None => self.new_exchange(now),
        }
    }

    fn take_again(&mut self, refused: Exchange, now: Time) -> Exchange {
        self.recorder.taken_again(&refused, now);
        if let Some(maker) = &mut self.maker {
            maker.say_again(&refused);
        }
        refused
    }

    #[inline]
    pub(super) fn new_exchange(&mut self, intended: Time) -> Exchange {
        debug_assert!(
            !self.opened || self.left_of_quota() != Some(0),
            "none begins beyond the quota"
        );
        if self.maker.is_some() {
            return self.new_of_step(intended);
        }
        self.new_alike(intended)
    }

    #[inline]
    fn new_alike(&mut self, intended: Time) -> Exchange {
        let exchange = Exchange::new(intended, Time::NEVER);
        self.recorder.begun(&exchange);
        self.begun += 1;
        exchange
    }

    #[inline(never)]
    fn new_of_step(&mut self, intended: Time) -> Exchange {
        let mut exchange = Exchange::new(intended, Time::NEVER).of_step(self.next_step());
        if let Some(maker) = &self.maker {
            exchange.request = maker.request();
        }
        self.recorder.step_begun(&exchange);
        self.begun += 1;
        exchange
    }

    /// The step of the next exchange. Where that is the last, because rows are used up, there is no
    /// more to send than that.
    fn next_step(&mut self) -> u16 {
        let Some(maker) = &mut self.maker else {
            return 0;
        };
        let step = maker.next_step();
        if maker.is_over() {
            // A call ahead that failed is of no matter where this one is the last anyway.
            if self.left_of_quota() != Some(1)
                && let Some(Requests::Script(script)) = &mut self.maker
            {
                script.own_up();
            }
            self.no_more(1);
        }
        step
    }

    /// There is no request beyond those that have begun and `more` of them.
    pub(super) fn no_more(&mut self, more: u64) {
        let begun = match self.opened {
            true => self.begun + more - self.begun_before,
            false => 0,
        };
        self.assignment.quota = Some(begun);
        let broken = self.maker.as_ref().and_then(Requests::broken);
        if broken.is_some() {
            // The others may never come to that row.
            self.gate.end();
        }
    }

    /// Begins an exchange on an open connection, to be handed over by [`Worker::transmit`].
    #[inline]
    fn begin_exchange(&mut self, index: usize, exchange: Exchange, now: Time) {
        match self.maker {
            None => self.begin_alike(index, exchange, now),
            Some(_) => self.begin_of_step(index, exchange, now),
        }
    }

    #[inline]
    fn begin_alike(&mut self, index: usize, mut exchange: Exchange, now: Time) {
        exchange.sent = now;
        let session = &mut self.core.sessions[index];
        let place = self.flights.begin(index, &mut session.own.ring, exchange);
        session.wire.begin(place, &mut session.out);
        if self.assignment.messages > 0 {
            let messages = self.assignment.messages;
            self.recorder.sent_messages(&exchange, messages);
        }
    }

    /// The same where requests differ.
    #[inline(never)]
    pub(super) fn begin_of_step(&mut self, index: usize, mut exchange: Exchange, now: Time) {
        exchange.sent = now;
        let session = &mut self.core.sessions[index];
        let place = self.flights.begin(index, &mut session.own.ring, exchange);
        if self.memory.expects() {
            session.wire.of_step(place, exchange.step());
        }
        if let Some(maker) = &mut self.maker {
            let said = maker.say(exchange.step());
            let messages = said.messages();
            session.wire.say(place, said, &mut session.out);
            if messages > 0 {
                self.recorder.sent_messages(&exchange, messages);
            }
        }
    }

    /// Hands `count` requests over, whose exchanges have begun. Those that were appended leave at
    /// the end of the turn, with all others of their connection.
    #[inline]
    pub(super) fn transmit(&mut self, index: usize, count: u32, now: Time) {
        if !self.core.sessions[index].has_timer() {
            self.core
                .set_timer(index, now.plus(self.assignment.timeout_ns));
        }
        let Some(frozen) = self.frozen else {
            return;
        };
        let start = match frozen.starts {
            1 => 0,
            starts => (self.core.random.next() % u64::from(starts)) as u32 * frozen.bytes_each,
        };
        let part = (start, start + frozen.bytes_each * count);
        let sent = self
            .core
            .send_template(index, frozen.template, part, self.quiet);
        if sent.is_err() {
            self.lose(index, ErrorKind::BrokenPipe, now);
        }
    }

    /// Opens a connection for one exchange, which waits for it.
    pub(super) fn send_anew(&mut self, index: usize, exchange: Exchange, now: Time) {
        let session = &mut self.core.sessions[index];
        session.own.taken = now;
        if let Some(maker) = &mut self.maker {
            self.waiting[index] = Some(maker.take(exchange.step()));
        }
        self.flights.begin(index, &mut session.own.ring, exchange);
        self.open(index, now);
    }

    /// The connection that an exchange waited for can be used. It is the only one there.
    pub(super) fn send_waiting(&mut self, index: usize, now: Time) {
        if self.core.sessions[index].wire.room() == 0 {
            // The peer's settings allow no stream (RFC 9113 §6.5.2), and the connection is for this
            // exchange alone.
            return self.lose(index, ErrorKind::StreamGivenUp, now);
        }
        self.core.append(index);
        let session = &mut self.core.sessions[index];
        if let Some(exchange) = self.flights.oldest_mut(index, session.own.ring) {
            let taken = session.own.taken;
            self.recorder
                .connection_awaited(exchange, taken, false, now);
            exchange.sent = now;
            let messages = self.assignment.messages;
            self.recorder.sent_messages(exchange, messages);
            if self.maker.is_some() && self.memory.expects() {
                session.wire.of_step(0, exchange.step());
            }
        }
        match &mut self.maker {
            None => session.wire.begin(0, &mut session.out),
            Some(maker) => {
                if let Some(made) = self.waiting[index].take() {
                    let mut messages = 0;
                    maker.say_made(made, |said| {
                        messages = said.messages();
                        session.wire.say(0, said, &mut session.out);
                    });
                    if let Some(exchange) = self.flights.at(index, session.own.ring, 0) {
                        self.recorder.sent_messages(&exchange, messages);
                    }
                }
            }
        }
        self.transmit(index, 1, now);
    }

    /// A new exchange that is never sent, so that nothing is made for it.
    fn unsent(&mut self, intended: Time) -> Exchange {
        let Some(maker) = &mut self.maker else {
            return self.new_exchange(intended);
        };
        let exchange = Exchange::new(intended, Time::NEVER).of_step(maker.pass_over());
        self.recorder.step_begun(&exchange);
        self.begun += 1;
        exchange
    }

    /// At the end: exchanges that were due in the window and never sent. Each is a sample of at
    /// least the time it has waited. Past a bound the rest is left out, which voids the run.
    pub(super) fn enter_backlog(&mut self, now: Time) {
        let mut entered = 0;
        while let Some(intended) = self.due {
            self.recorder.fell_due(intended);
            let exchange = self.unsent(intended);
            self.left(&exchange, now);
            if self.has_users() {
                self.recorder.flow_due(intended, now, true);
                self.recorder.flow_unfinished(intended, None, now);
            }
            entered += 1;
            if entered == BACKLOG_ENTRIES_MAX {
                self.backlog_cut = true;
                return;
            }
            self.look_ahead();
        }
    }
}
