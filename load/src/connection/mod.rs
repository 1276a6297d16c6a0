//! The connection core: what a worker of a run and one of a hold do alike with their connections.
//!
//! It finds whose socket something happened on, dials, tells what must be said first, sends at the
//! end of a turn what was appended in it (`outbox`), keeps one timer for each connection, and ends
//! connections and tries them again (`dialler`). It counts what stands in which state, so nobody
//! else can miscount that: states change here alone.
//!
//! Its owner has the loop, and decides. It keeps what it knows of a connection beside the core's
//! part, as `own`, and what is to be done differently is a value in [`Dialling`]. The core knows no
//! exchanges, no heartbeats, no schedule and no phase, and nothing of what is counted for a record:
//! it says what happened, and its owner books it.

mod dialler;
mod outbox;
#[cfg(test)]
mod tests;

use engine::timers::{TimerId, Wheel};
use engine::{Close, Driver, Token};
use measure::time::Time;

use crate::stalls::Stalls;
use measure::random::Random;
use session::Wire;

pub(crate) use dialler::{Attempt, Dialling, Retries, Route, error_kind};

/// Where a connection stands.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) enum State {
    /// No socket; a timer or its owner opens one.
    #[default]
    Down,
    /// No socket was free for it since then: the others are still closing.
    Waiting(Time),
    /// Connecting since then.
    Connecting(Time),
    /// Connecting since then; the socket stands, and the peer has yet to say what its protocol
    /// wants said before the first exchange.
    Greeting(Time),
    /// Exchanges can begin.
    Open,
    /// The last answer has come; the peer is to close first, so that it keeps the `TIME_WAIT`.
    Closing,
}

/// The client side of one connection, and what its owner knows of it. Small: there may be very
/// many.
#[derive(Debug, Default)]
pub(crate) struct Session<X> {
    socket: Option<Token>,
    state: State,
    pub wire: Wire,
    /// Bytes that wait for the end of the turn, or of an unfinished send. A buffer of the driver's
    /// while there are any.
    pub out: Vec<u8>,
    /// An unfinished send is with the driver.
    sending: bool,
    /// It stands in the list of those that may have something to send.
    listed: bool,
    /// It is being opened, and counts among those that are being opened at once.
    has_place: bool,
    /// Failures in a row, of which its owner knows the end; they set the back-off.
    pub failures: u32,
    timer: Option<TimerId>,
    /// When its first attempt ended, either way.
    tried_at: Option<Time>,
    pub own: X,
}

impl<X> Session<X> {
    #[inline]
    pub(crate) fn state(&self) -> State {
        self.state
    }

    /// Whether there is a socket, of whatever state.
    pub(crate) fn has_socket(&self) -> bool {
        self.socket.is_some()
    }

    /// Whether an unfinished send is with the driver.
    #[inline]
    pub(crate) fn is_sending(&self) -> bool {
        self.sending
    }

    #[inline]
    pub(crate) fn has_timer(&self) -> bool {
        self.timer.is_some()
    }

    /// When its first attempt ended, either way.
    pub(crate) fn tried_at(&self) -> Option<Time> {
        self.tried_at
    }
}

/// How many connections are where.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Counts {
    /// Being opened, with a place among those that are at once.
    pub connecting: usize,
    /// Without a socket, because none was free.
    pub waiting: usize,
    /// Those that stand.
    pub connected: u64,
    /// Of these: the ones that are being closed.
    pub closing: u32,
    /// Those whose first attempt has ended, either way.
    pub settled: usize,
}

/// See the module.
#[derive(Debug)]
pub(crate) struct Core<D: Driver, X> {
    pub driver: D,
    pub sessions: Vec<Session<X>>,
    pub random: Random,
    pub stalls: Stalls,
    dialling: Dialling,
    counts: Counts,
    /// Session by the slot of its socket.
    by_slot: Vec<u32>,
    timers: Wheel<u32>,
    /// What has expired in this turn and was not asked for yet, the last one first.
    expired: Vec<u32>,
    /// Whether each connection appends what it sends to a buffer of its own.
    appends: bool,
    /// Connections that may have something to send at the end of this turn.
    listed: Vec<u32>,
    /// How often the state of a connection has changed.
    changes: u64,
}

impl<D: Driver, X: Default> Core<D, X> {
    /// So many `sessions`, all of them down, on a driver with so many `sockets`. `appends`: whether
    /// each of them appends what it sends, and does not send templates.
    pub(crate) fn new(
        driver: D,
        sockets: usize,
        sessions: usize,
        appends: bool,
        random: Random,
        dialling: Dialling,
    ) -> Core<D, X> {
        let now = driver.now();
        Core {
            driver,
            sessions: (0..sessions).map(|_| Session::default()).collect(),
            random,
            stalls: Stalls::new(now),
            dialling,
            counts: Counts::default(),
            by_slot: vec![u32::MAX; sockets],
            timers: Wheel::new(now, sessions),
            expired: Vec::with_capacity(sessions),
            appends,
            listed: Vec::with_capacity(sessions),
            changes: 0,
        }
    }
}

impl<D: Driver, X> Core<D, X> {
    /// Whose socket it is; none for one that was closed earlier in this very turn.
    #[inline]
    pub(crate) fn owner(&self, socket: Token) -> Option<usize> {
        let index = *self.by_slot.get(socket.slot())? as usize;
        (self.sessions.get(index)?.socket == Some(socket)).then_some(index)
    }

    #[inline]
    pub(crate) fn counts(&self) -> Counts {
        self.counts
    }

    /// How often the state of a connection has changed.
    pub(crate) fn changes(&self) -> u64 {
        self.changes
    }

    /// The last answer of an open connection has come: from now on it waits to be closed.
    pub(crate) fn close_soon(&mut self, index: usize) {
        let session = &mut self.sessions[index];
        debug_assert_eq!(session.state, State::Open);
        session.state = State::Closing;
        self.changes += 1;
        self.counts.closing += 1;
    }

    /// Ends a connection, the attempt at one, or the wait for a socket. It is down then, and
    /// nothing will bring it back but its owner.
    pub(crate) fn drop(&mut self, index: usize, how: Close) {
        self.leave_place(index);
        self.changes += 1;
        let session = &mut self.sessions[index];
        match std::mem::replace(&mut session.state, State::Down) {
            State::Down | State::Connecting(_) | State::Greeting(_) => {}
            State::Waiting(_) => self.counts.waiting -= 1,
            State::Open => self.counts.connected -= 1,
            State::Closing => {
                self.counts.connected -= 1;
                self.counts.closing -= 1;
            }
        }
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

    /// Has the one timer of a connection expire at `at`, and not when it was to before.
    pub(crate) fn set_timer(&mut self, index: usize, at: Time) {
        let session = &mut self.sessions[index];
        if let Some(timer) = session.timer.take() {
            self.timers.cancel(timer);
        }
        session.timer = Some(self.timers.insert(at, index as u32));
    }

    /// When timers are to be looked at next: not before what came during a stall has been read.
    #[inline]
    pub(crate) fn next_timer(&self) -> Time {
        let next = self.timers.next_deadline().unwrap_or(Time::NEVER);
        next.max(self.stalls.clear_at())
    }

    /// Finds the timers that have run out, unless a stall of our own is why.
    /// [`Core::next_expired`] brings them.
    #[inline]
    pub(crate) fn expire(&mut self, now: Time) {
        let next = self.timers.next_deadline();
        if next.is_some_and(|deadline| deadline <= now) && self.stalls.may_expire(now) {
            self.expire_all(now);
        }
    }

    /// The same whether a stall is why or not: its owner asks [`Core::is_put_off`] of each that is
    /// a limit for the peer.
    pub(crate) fn expire_all(&mut self, now: Time) {
        debug_assert!(self.expired.is_empty(), "all were asked for");
        self.timers.expire(now, &mut self.expired);
        self.expired.reverse();
    }

    /// A limit for the peer has run out on a connection: whether it waits for longer, because a
    /// stall of our own may be why.
    pub(crate) fn is_put_off(&mut self, index: usize, now: Time) -> bool {
        let is_put_off = !self.stalls.may_expire(now);
        if is_put_off {
            self.set_timer(index, self.stalls.clear_at());
        }
        is_put_off
    }

    /// When the next timer runs out, whatever it's for.
    pub(crate) fn next_deadline(&self) -> Time {
        self.timers.next_deadline().unwrap_or(Time::NEVER)
    }

    /// A connection whose timer has run out in this turn.
    #[inline]
    pub(crate) fn next_expired(&mut self) -> Option<usize> {
        let index = self.expired.pop()? as usize;
        self.sessions[index].timer = None;
        Some(index)
    }

    /// Where debug assertions are on: holds each count, and each table, against the connections
    /// themselves. To be called between two turns, now and then.
    pub(crate) fn check(&self) {
        if !cfg!(debug_assertions) {
            return;
        }
        let many = |is: fn(&Session<X>) -> bool| self.sessions.iter().filter(|it| is(it)).count();
        let stands = |it: &Session<X>| matches!(it.state, State::Open | State::Closing);
        let counted = Counts {
            connecting: many(|it| it.has_place),
            waiting: many(|it| matches!(it.state, State::Waiting(_))),
            connected: many(stands) as u64,
            closing: many(|it| it.state == State::Closing) as u32,
            settled: many(|it| it.tried_at.is_some()),
        };
        assert_eq!(self.counts, counted, "the counts of connections");
        let by_slot = self.by_slot.iter().filter(|index| **index != u32::MAX);
        assert_eq!(by_slot.count(), many(Session::has_socket), "sockets");
        assert_eq!(self.timers.len(), many(Session::has_timer), "timers");
        assert_eq!(self.listed.len(), many(|it| it.listed), "the outbox");
        for (index, session) in self.sessions.iter().enumerate() {
            let owner = session.socket.and_then(|token| self.owner(token));
            let expected = session.socket.map(|_| index);
            assert_eq!(owner, expected, "the owner of a socket");
            let is_down = matches!(session.state, State::Down | State::Waiting(_));
            assert_eq!(is_down, expected.is_none(), "{:?}", session.state);
            let is_opened = matches!(session.state, State::Connecting(_) | State::Greeting(_));
            assert!(is_opened || !session.has_place, "{:?}", session.state);
        }
    }
}
