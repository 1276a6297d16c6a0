//! Opening connections, losing them, and trying them again.

use engine::{Close, Driver};
use measure::counters::ErrorKind;
use measure::hold::Skipped;
use measure::time::Time;

use super::{Assignment, State, Worker};
use crate::connection::{Attempt, Dialling, Retries};

/// The most connections of a worker that are being opened at once. The kernel hands few completions
/// over in a turn, so whoever begins more than he can see through only sees all of them time out.
const CONNECTING_MAX: usize = 512;
/// How long an attempt counts among them. One that goes on for longer waits for its peer and not
/// for this process, and a server without room must not keep the others from their first attempt.
const PLACE_NS: u64 = 500_000_000;
/// How soon a connection that waits for a free socket looks for one again: there may be very many.
const SOCKET_WAIT_NS: u64 = 10_000_000;

/// How many attempts a turn begins: each takes some system calls, and what has come in the meantime
/// waits for the next turn.
const OPENED_AT_ONCE: usize = 32;

/// Retries that a pause of the worker has delayed are made good for so long.
const CATCH_UP_NS: u64 = 20_000_000;

/// How a worker with this share opens its connections.
pub(super) fn dialling(share: &Assignment) -> Dialling {
    Dialling {
        route: share.route.clone(),
        first: share.worker as usize,
        stride: share.workers as usize,
        places: CONNECTING_MAX,
        place_ns: Some(PLACE_NS),
        timeout_ns: share.connect_timeout_ns,
        socket_wait_ns: SOCKET_WAIT_NS,
        retries: Retries {
            at_once: 0,
            back_off: share.back_off,
            most: Some(share.retries),
        },
    }
}

impl<D: Driver> Worker<'_, D> {
    /// Opens the connections whose time has come, as far as there is room: first those that have
    /// not been tried yet, because the hold begins when all have been.
    pub(super) fn open_due(&mut self, now: Time) {
        for _ in 0..OPENED_AT_ONCE {
            if !self.core.has_place() || self.is_over() {
                return;
            }
            if self.next_to_open < self.core.sessions.len()
                && self.opening_at(self.next_to_open) <= now
            {
                self.next_to_open += 1;
                self.open(self.next_to_open - 1, now, now);
            } else if now >= self.retry_at
                && let Some(index) = self.to_retry.pop_front()
            {
                self.retry_at = self.after_retry(now);
                self.open(index as usize, now, now);
            } else {
                return;
            }
        }
    }

    /// When the next retry may begin after one that begins now. However many are lost at once, they
    /// are tried again no faster than they were opened: a server that has just come back is not met
    /// by all of them together. What a late turn has missed is made good, but for longer pauses.
    fn after_retry(&self, now: Time) -> Time {
        let each_ns = 1e9 * f64::from(self.assignment.workers) / self.assignment.open_rate;
        let missed_since = Time(now.0.saturating_sub(CATCH_UP_NS));
        self.retry_at.max(missed_since).plus(each_ns as u64)
    }

    /// Begins an attempt, on the first socket that is free `since` then: sockets that are still
    /// closing may hold the last slots.
    fn open(&mut self, index: usize, since: Time, now: Time) {
        match self.core.dial(index, now) {
            Attempt::Begun => self.tally.counts.attempts += 1,
            Attempt::NoSocket => self.core.wait_for_socket(index, since, now),
            Attempt::Refused(kind) => self.attempt_failed(index, kind, now),
        }
    }

    /// A connection that waits for a socket looks for one again, unless it has waited for too long
    /// or the hold is over.
    pub(super) fn look_for_socket(&mut self, index: usize, since: Time, now: Time) {
        if self.is_over() || !self.core.look_for_socket(index, since, now) {
            return self.ended(index, ErrorKind::DescriptorsExhausted, now);
        }
        match self.core.has_place() {
            true => self.open(index, since, now),
            false => self.core.wait_for_socket(index, since, now),
        }
    }

    /// The socket is connected, and may be of use at once or only when the peer has greeted.
    pub(super) fn connected(&mut self, index: usize, now: Time) {
        if self.is_over() || self.core.greet(index) {
            self.usable(index, now);
        }
    }

    /// The peer has greeted, or need not.
    pub(super) fn usable(&mut self, index: usize, now: Time) {
        if self.is_over() {
            return self.drop_socket(index, Close::Graceful);
        }
        let Some(since) = self.core.opened(index) else {
            return;
        };
        let own = &mut self.core.sessions[index].own;
        let lost_at = std::mem::replace(&mut own.lost_at, Time::NEVER);
        let lost_ns = (lost_at != Time::NEVER).then(|| now.since(lost_at));
        self.tally.stands(now.since(since), lost_ns);
        self.tried(index, now);
        if let Some(broadcasting) = &mut self.broadcasting {
            broadcasting.stands(index, now);
        }
        self.schedule_heartbeat(index, now);
    }

    /// The peer sends no more. What it still owed may have been ended rightly by that; the
    /// connection has ended in any case.
    pub(super) fn peer_ended(&mut self, index: usize, now: Time) {
        if self.core.sessions[index].state() == State::Open {
            self.take_end(index, now);
        }
        self.ended(index, ErrorKind::EarlyClose, now);
    }

    /// A connection has ended, or the attempt at one.
    pub(super) fn ended(&mut self, index: usize, kind: ErrorKind, now: Time) {
        if self.is_over() && self.core.sessions[index].own.sent == Time::NEVER {
            self.drop_socket(index, Close::Graceful);
            return;
        }
        match self.core.sessions[index].state() {
            State::Waiting(_) | State::Connecting(_) | State::Greeting(_) => {
                self.attempt_failed(index, kind, now);
            }
            State::Open => self.lose(index, kind, now),
            State::Down | State::Closing => {}
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
        let is_idle = self.core.sessions[index].own.sent == Time::NEVER;
        let is_closed = kind == ErrorKind::EarlyClose;
        let kind = match is_idle && is_closed {
            true => ErrorKind::IdleClose,
            false => kind,
        };
        let why = match self.core.sessions[index].own.sent {
            Time::NEVER => Skipped::Down,
            _ => Skipped::InVain,
        };
        self.skip_missed(index, now, why);
        let own = &mut self.core.sessions[index].own;
        self.tally.fallen += u64::from(own.at_start && !own.lost);
        own.lost = true;
        own.lost_at = now;
        let unanswered = std::mem::replace(&mut own.sent, Time::NEVER);
        if unanswered != Time::NEVER {
            self.unanswered -= 1;
            self.tally.failed(kind);
            if kind == ErrorKind::Timeout {
                self.tally.censored(now.since(unanswered));
            }
        }
        self.tally.lost(kind);
        if let Some(broadcasting) = &mut self.broadcasting {
            broadcasting.falls(index, now);
        }
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
        if !self.core.retry(index, now) {
            self.tally.given_up += 1;
        }
    }

    /// Ends a connection, or the attempt at one; one that is ended gracefully is told so where its
    /// protocol has words for that.
    pub(super) fn drop_socket(&mut self, index: usize, how: Close) {
        if how == Close::Graceful {
            self.core.take_leave(index);
        }
        self.core.drop(index, how);
    }

    /// An attempt has ended; after the first one heartbeats are due on the connection.
    fn tried(&mut self, index: usize, now: Time) {
        if self.core.tried(index, now) {
            self.begin_heartbeats(index, now);
        }
    }
}
