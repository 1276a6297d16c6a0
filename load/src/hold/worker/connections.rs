//! Opening connections, losing them, and trying them again.

use engine::{Close, Driver, Fault, Payload, Refused};
use measure::counters::ErrorKind;
use measure::hold::Skipped;
use measure::time::Time;

use super::{CONNECTING_MAX, PLACE_NS, State, Worker};
use crate::session::{Wire, error_kind, timeout_kind};

/// How long an attempt waits for a socket that is still closing to free its slot.
const SLOT_WAIT_NS: u64 = 10_000_000;

impl<D: Driver> Worker<'_, D> {
    /// Opens the connections whose time has come, as far as there is room: first those that have
    /// not been tried yet, because the hold begins when all have been.
    pub(super) fn open_due(&mut self, now: Time) {
        while self.connecting < CONNECTING_MAX && !self.is_over() {
            if self.next_to_open < self.sessions.len() && self.opening_at(self.next_to_open) <= now
            {
                self.next_to_open += 1;
                self.open(self.next_to_open - 1, now);
            } else if let Some(index) = self.waiting.pop_front() {
                self.open(index as usize, now);
            } else {
                return;
            }
        }
    }

    /// Begins an attempt.
    fn open(&mut self, index: usize, now: Time) {
        let number = self.number(index) as usize;
        let share = &self.assignment;
        let mut options = share.options.clone();
        if !share.sources.is_empty() {
            options.source = Some(share.sources[number % share.sources.len()]);
        }
        let address = &share.addresses[number % share.addresses.len()];
        match self.driver.connect(address, &options) {
            Ok(token) => {
                self.by_slot[token.slot()] = index as u32;
                let session = &mut self.sessions[index];
                session.socket = Some(token);
                session.state = State::Connecting(now);
                session.has_place = true;
                self.connecting += 1;
                let wait_ns = self.assignment.connect_timeout_ns.min(PLACE_NS);
                self.set_timer(index, now.plus(wait_ns));
            }
            Err(Refused::SocketsFull) => self.set_timer(index, now.plus(SLOT_WAIT_NS)),
            Err(Refused::Kernel(fault)) => self.attempt_failed(index, error_kind(fault), now),
            Err(_) => self.attempt_failed(index, ErrorKind::Other, now),
        }
    }

    /// The timer of an attempt that was begun at `since` has expired: it gives its place to
    /// another, or has taken too long altogether.
    pub(super) fn waited_for(&mut self, index: usize, since: Time, now: Time) {
        let deadline = since.plus(self.assignment.connect_timeout_ns);
        if now >= deadline {
            let session = &self.sessions[index];
            let is_greeting = matches!(session.state, State::Greeting(_));
            let kind = timeout_kind(&self.driver, session.socket, is_greeting);
            return self.ended(index, kind, now);
        }
        self.leave_place(index);
        self.set_timer(index, deadline);
    }

    fn leave_place(&mut self, index: usize) {
        let had = std::mem::replace(&mut self.sessions[index].has_place, false);
        self.connecting -= usize::from(had);
    }

    /// The socket is connected, and may be of use at once or only when the peer has greeted.
    pub(super) fn connected(&mut self, index: usize, now: Time) {
        let State::Connecting(since) = self.sessions[index].state else {
            return;
        };
        if self.is_over() {
            return self.drop_socket(index, Close::Graceful);
        }
        self.append(index);
        let session = &mut self.sessions[index];
        let (speech, random) = (&self.assignment.speech, &mut self.random);
        session.wire = Wire::open(speech, random, &mut session.out);
        session.state = State::Greeting(since);
        if session.wire.is_ready() {
            self.usable(index, now);
        }
    }

    /// The peer has greeted.
    pub(super) fn usable(&mut self, index: usize, now: Time) {
        if let State::Greeting(since) = self.sessions[index].state {
            self.stands(index, since, now);
        }
    }

    /// A connection that was begun at `since` can be used.
    fn stands(&mut self, index: usize, since: Time, now: Time) {
        let session = &mut self.sessions[index];
        session.state = State::Standing;
        let lost_at = std::mem::replace(&mut session.lost_at, Time::NEVER);
        let lost_ns = (lost_at != Time::NEVER).then(|| now.since(lost_at));
        self.tally.stands(now.since(since), lost_ns);
        self.standing += 1;
        self.leave_place(index);
        self.tried(index, now);
        self.schedule_heartbeat(index, now);
    }

    /// The driver says that the socket is dead.
    pub(super) fn socket_failed(&mut self, index: usize, fault: Fault, now: Time) {
        self.ended(index, error_kind(fault), now);
    }

    /// The peer sends no more. What it still owed may have been ended rightly by that; the
    /// connection has ended in any case.
    pub(super) fn peer_ended(&mut self, index: usize, now: Time) {
        if self.sessions[index].state == State::Standing {
            self.take_end(index, now);
        }
        self.ended(index, ErrorKind::EarlyClose, now);
    }

    /// A connection has ended, or the attempt at one.
    pub(super) fn ended(&mut self, index: usize, kind: ErrorKind, now: Time) {
        if self.is_over() && self.sessions[index].sent == Time::NEVER {
            self.drop_socket(index, Close::Graceful);
            return;
        }
        match self.sessions[index].state {
            State::Connecting(_) | State::Greeting(_) => self.attempt_failed(index, kind, now),
            State::Standing => self.lose(index, kind, now),
            State::Down | State::GivenUp => {}
        }
    }

    fn attempt_failed(&mut self, index: usize, kind: ErrorKind, now: Time) {
        self.tally.attempts.add(kind);
        self.drop_socket(index, Close::Reset);
        self.tried(index, now);
        self.try_again(index, now);
    }

    /// A connection that stood has ended, and an unanswered heartbeat on it has failed.
    fn lose(&mut self, index: usize, kind: ErrorKind, now: Time) {
        let is_idle = self.sessions[index].sent == Time::NEVER;
        let is_closed = kind == ErrorKind::EarlyClose;
        let kind = match is_idle && is_closed {
            true => ErrorKind::IdleClose,
            false => kind,
        };
        let why = match self.sessions[index].sent {
            Time::NEVER => Skipped::Down,
            _ => Skipped::InVain,
        };
        self.skip_missed(index, now, why);
        let session = &mut self.sessions[index];
        session.lost = true;
        session.lost_at = now;
        let unanswered = std::mem::replace(&mut session.sent, Time::NEVER);
        if unanswered != Time::NEVER {
            self.unanswered -= 1;
            self.tally.failed(kind);
            if kind == ErrorKind::Timeout {
                self.tally.censored(now.since(unanswered));
            }
        }
        self.tally.lost(kind);
        self.standing -= 1;
        // One that its peer has ended is ended likewise.
        let how = if is_closed {
            Close::Graceful
        } else {
            Close::Reset
        };
        self.drop_socket(index, how);
        self.try_again(index, now);
    }

    fn try_again(&mut self, index: usize, now: Time) {
        if self.is_over() {
            return; // What stood at the end was counted then, and nothing begins any more.
        }
        let session = &mut self.sessions[index];
        let nth = session.failures;
        session.failures = nth.saturating_add(1);
        if nth >= self.assignment.retries {
            session.state = State::GivenUp;
            self.tally.given_up += 1;
            return;
        }
        session.state = State::Down;
        let wait_ns = self.assignment.back_off.wait_ns(nth, &mut self.random);
        self.set_timer(index, now.plus(wait_ns));
    }

    /// Ends a connection, or the attempt at one; one that is ended gracefully is told so where its
    /// protocol has words for that.
    pub(super) fn drop_socket(&mut self, index: usize, how: Close) {
        if how == Close::Graceful && self.template.is_none() {
            self.take_leave(index);
        }
        self.leave_place(index);
        let session = &mut self.sessions[index];
        session.state = State::Down;
        session.sending = false;
        session.wire = Wire::Silent;
        self.driver.recycle(std::mem::take(&mut session.out));
        if let Some(token) = session.socket.take() {
            self.by_slot[token.slot()] = u32::MAX;
            // A stale token only says that the driver knew before us.
            let _ = self.driver.close(token, how);
        }
        if let Some(timer) = session.timer.take() {
            self.timers.cancel(timer);
        }
    }

    fn take_leave(&mut self, index: usize) {
        let session = &mut self.sessions[index];
        let Some(token) = session.socket else { return };
        if session.out.capacity() == 0 {
            session.out = self.driver.buffer();
        }
        session.wire.leave(&mut session.out);
        if !session.sending && !session.out.is_empty() {
            let bytes = std::mem::take(&mut session.out);
            // A peer that is gone already needs no farewell.
            let _ = self.driver.send(token, Payload::Buffer(bytes));
        }
    }

    /// Each connection's first attempt ends once.
    fn tried(&mut self, index: usize, now: Time) {
        if self.sessions[index].tried == Time::NEVER {
            self.sessions[index].tried = now;
            self.settled += 1;
            self.begin_heartbeats(index, now);
        }
    }
}
