//! One connection: its protocol, and what the worker has to know to drive it.
//!
//! Nothing here calls a driver or reads a clock; the worker asks and acts. A connection is small
//! while it idles: its buffers come from the driver's pool and go back when they are empty.

mod http1;
mod outgoing;
#[cfg(test)]
mod tests;

use engine::Token;
use engine::timers::TimerId;
use measure::time::Time;
use proto::http1::server::Limits;

use crate::config::Timeouts;
pub(crate) use http1::{Ending, Http1, Incoming, Phase};
pub(crate) use outgoing::Step;

/// A client that was refused in the middle of sending is heard out for at most so long, …
const LINGER_NS: u64 = 2_000_000_000;

/// … and no longer than this after it fell silent.
const LINGER_SILENCE_NS: u64 = 250_000_000;

/// See the module.
#[derive(Debug)]
pub(crate) struct Connection {
    pub(crate) http: Http1,
    /// When bytes last came or were last taken by the kernel.
    pub(crate) since: Time,
    /// The one timer that watches over all its time limits, and when that is due.
    pub(crate) timer: TimerId,
    pub(crate) timer_at: Time,
    /// Until when it lingers; [`Time::NEVER`] while it does not.
    linger_until: Time,
    /// Bytes handed to the driver, saturating.
    pub(crate) sent_bytes: u32,
    /// A send has not finished.
    pub(crate) sending: bool,
    /// It is on the worker's list of those to be looked after this turn.
    pub(crate) listed: bool,
    /// Receiving is stopped.
    pub(crate) deaf: bool,
}

/// What is to be done when a time limit is reached.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Overdue {
    /// Close it: nothing is lost.
    Close,
    /// Refuse the request under way with 408.
    Refuse,
    /// Reset it: the client does not take its answer.
    Reset,
}

impl Connection {
    pub(crate) fn new(socket: Token, limits: Limits, now: Time, timer: (Time, TimerId)) -> Self {
        Connection {
            http: Http1::new(socket, limits),
            since: now,
            timer: timer.1,
            timer_at: timer.0,
            linger_until: Time::NEVER,
            sent_bytes: 0,
            sending: false,
            listed: false,
            deaf: false,
        }
    }

    /// Its socket.
    #[inline]
    pub(crate) fn socket(&self) -> Token {
        self.http.socket()
    }

    /// It ends, as soon as the client has fallen silent.
    pub(crate) fn linger(&mut self, now: Time) {
        self.since = now;
        self.linger_until = now.plus(LINGER_NS);
    }

    /// Whether it only waits for the client to fall silent.
    pub(crate) fn lingers(&self) -> bool {
        self.linger_until != Time::NEVER
    }

    /// The time limit in force, and what happens then.
    pub(crate) fn limit(&self, timeouts: &Timeouts) -> (Time, Overdue) {
        let idle = self.since + timeouts.idle;
        if self.lingers() {
            return (
                self.linger_until.min(self.since.plus(LINGER_SILENCE_NS)),
                Overdue::Close,
            );
        }
        if self.sending {
            return (idle, Overdue::Reset);
        }
        match self.http.phase() {
            Phase::Idle => (idle, Overdue::Close),
            Phase::Head(since) => (since + timeouts.head, Overdue::Refuse),
            Phase::Body => (idle, Overdue::Refuse),
            Phase::Waiting => (Time::NEVER, Overdue::Close),
        }
    }
}
