//! Opening, losing, retiring and reopening the connections of a worker.

use engine::tls::{Alpn, Secured};
use engine::{Close, Driver, Fault, Payload, Refused};
use measure::counters::ErrorKind;
use measure::tally::{Opened, Terms};
use measure::time::Time;

use super::{Phase, Worker};
use crate::back_off::BackOff;
use crate::session::{State, Wire, error_kind};

/// Connections of one worker that are being opened at once; more would only overflow the backlog.
const CONNECTING_MAX: usize = 256;
/// The waits from the second attempt to reopen a connection on; the first comes at once.
const BACK_OFF: BackOff = BackOff {
    first_ns: 10_000_000,
    most_ns: 1_000_000_000,
};
/// The same of a schedule, which goes on meanwhile: as soon as so many connections of a worker may
/// try without more than ten thousand attempts a second.
const OPEN_LOOP_MOST_NS: std::ops::RangeInclusive<u64> = 10_000_000..=BACK_OFF.most_ns;
const ATTEMPT_NS: u64 = 100_000;
/// How long a retired connection waits for the peer to close first, so that the peer keeps the
/// `TIME_WAIT` and the port is free for the next one. One that does so does it at once. With each
/// wait in vain the next ones are half as long, or they and not the server would set the rate; with
/// each peer that closes they are twice as long again.
pub(super) const LINGER_NS: std::ops::RangeInclusive<u64> = 50_000..=50_000_000;
/// How soon a connection that found no free socket looks for one again.
const SOCKET_WAIT_NS: u64 = 1_000_000;

impl<D: Driver> Worker<'_, D> {
    /// Before the load begins: opens the next connections, not too many at once.
    pub(super) fn open_more(&mut self, now: Time) {
        while self.next_to_open < self.sessions.len() && self.connecting < CONNECTING_MAX {
            let index = self.next_to_open;
            self.next_to_open += 1;
            if self.assignment.keep_alive {
                self.open(index, now);
            } else {
                self.settled += 1;
            }
        }
    }

    /// Starts to connect a session that is down.
    pub(super) fn open(&mut self, index: usize, now: Time) {
        if self.waiting > 0 {
            // The others were here first.
            return self.wait_for_socket(index, now, now);
        }
        self.connect(index, now, now);
    }

    /// Starts to connect, on the first socket that is free `since` then.
    fn connect(&mut self, index: usize, since: Time, now: Time) {
        let share = &self.assignment;
        let number = index + self.assignment.worker as usize;
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
                self.connecting += 1;
                self.set_timer(index, now.plus(self.assignment.timeout_ns));
            }
            Err(Refused::SocketsFull) => self.wait_for_socket(index, since, now),
            Err(refused) => {
                let kind = match refused {
                    Refused::Kernel(fault) => error_kind(fault),
                    _ => ErrorKind::Other,
                };
                self.connecting += 1; // `lose` takes it off again.
                self.sessions[index].state = State::Connecting(now);
                self.lose(index, kind, now);
            }
        }
    }

    /// Sockets that are still closing hold the last slots. The attempt goes on when one of them is
    /// free, and an exchange that waits for the connection stays where it is.
    fn wait_for_socket(&mut self, index: usize, since: Time, now: Time) {
        self.sessions[index].state = State::Waiting(since);
        self.waiting += 1;
        let deadline = since.plus(self.assignment.timeout_ns);
        self.set_timer(index, now.plus(SOCKET_WAIT_NS).min(deadline));
    }

    /// A connection that waits for a socket looks for one again, unless it has waited for too long
    /// or nothing is left to be sent on it.
    pub(super) fn look_for_socket(&mut self, index: usize, since: Time, now: Time) {
        let has_exchange = self.sessions[index].ring.unanswered() > 0;
        if since.plus(self.assignment.timeout_ns) <= now {
            return self.lose(index, ErrorKind::ConnectTimeout, now);
        }
        self.waiting -= 1;
        self.sessions[index].state = State::Down;
        if has_exchange || self.may_begin() {
            self.connect(index, since, now);
        }
    }

    /// A connection stands, and may be of use at once or only when the peer has greeted.
    pub(super) fn stands(&mut self, index: usize, now: Time) {
        let State::Connecting(since) = self.sessions[index].state else {
            return;
        };
        let secured = self.sessions[index]
            .socket
            .and_then(|token| self.driver.secured(token));
        self.note_set_up(since, now, secured);
        if self.appends {
            self.prepare(index);
        }
        let session = &mut self.sessions[index];
        let (speech, random) = (&self.assignment.speech, &mut self.random);
        session.wire = Wire::open(speech, random, &mut session.out);
        session.state = State::Greeting(since);
        let ready = session.wire.is_ready();
        self.prepare_appended(index);
        if ready {
            self.usable(index, now);
        }
    }

    /// Tells the parts of a connection's set-up apart: TCP, and the handshake that came behind it.
    fn note_set_up(&mut self, since: Time, now: Time, secured: Option<Secured>) {
        let tally = &mut self.recorder.tally;
        let Some(secured) = secured else {
            return tally.tcp.record(now.since(since));
        };
        tally.tcp.record(secured.began.since(since));
        let terms = Terms {
            version: secured.version,
            cipher: secured.cipher,
            alpn: secured.alpn.map(Alpn::name),
        };
        tally.shook_hands(secured.handshake_ns, secured.resumed, terms);
    }

    /// The first exchange can begin on a connection.
    pub(super) fn usable(&mut self, index: usize, now: Time) {
        let session = &mut self.sessions[index];
        let State::Greeting(since) = session.state else {
            return;
        };
        session.state = State::Open;
        self.depth_allowed = self.depth_allowed.min(session.wire.room());
        let again = std::mem::replace(&mut session.was_open, true) && self.assignment.keep_alive;
        let why = match std::mem::replace(&mut session.has_died, false) {
            _ if !again => Opened::Anew,
            true => Opened::AfterDeath,
            false => Opened::AfterClose,
        };
        self.recorder.tally.connected(now.since(since), why);
        self.connecting -= 1;
        self.connected += 1;
        self.failing_since = Time::NEVER;
        self.attempt_ended(index);
        self.go_on(index, now);
    }

    /// The driver says that the socket is dead.
    pub(super) fn socket_failed(&mut self, index: usize, fault: Fault, now: Time) {
        if self.sessions[index].state == State::Closing {
            self.closed(index, now);
        } else if self.sessions[index].ring.unanswered() == 0
            && self.sessions[index].state == State::Open
        {
            // An idle connection that the peer gave up is no error of any exchange.
            self.sessions[index].has_died = true;
            self.closed(index, now);
        } else {
            self.lose(index, error_kind(fault), now);
        }
    }

    /// The peer sends no more: the end of an answer, of an idle connection, or a truncation.
    pub(super) fn peer_ended(&mut self, index: usize, now: Time) {
        if self.sessions[index].state == State::Closing {
            self.linger_ns = (self.linger_ns * 2).min(*LINGER_NS.end());
        }
        match self.sessions[index].state {
            State::Open => {
                if self.sessions[index].ring.unanswered() > 0 {
                    self.take_end(index, now);
                }
                if self.sessions[index].ring.unanswered() > 0 {
                    self.lose(index, ErrorKind::EarlyClose, now);
                } else {
                    self.closed(index, now);
                }
            }
            State::Greeting(_) => self.lose(index, ErrorKind::EarlyClose, now),
            State::Down | State::Waiting(_) | State::Connecting(_) | State::Closing => {
                self.closed(index, now);
            }
        }
    }

    /// The peer announced that it closes after this answer, or each exchange has a connection of
    /// its own. Requests behind it were not read (RFC 9112 §9.6).
    pub(super) fn retire(&mut self, index: usize, now: Time) {
        match self.sessions[index].state {
            // What comes behind the last answer does not prolong the wait.
            State::Closing => return,
            // It greeted and took its leave in one breath, so that no exchange could begin.
            State::Greeting(_) => return self.lose(index, ErrorKind::EarlyClose, now),
            _ => {}
        }
        self.sessions[index].has_died = self.sessions[index].ring.unanswered() > 0;
        self.fail_all(index, ErrorKind::EarlyClose, false, now);
        self.closing += 1;
        let session = &mut self.sessions[index];
        session.state = State::Closing;
        session.closing_since = now;
        session.wire.leave(&mut session.out);
        if session.wire.peer_ends() || session.sending {
            self.prepare_appended(index);
            self.set_timer(index, now.plus(self.linger_ns));
        } else {
            self.depart(index, now);
        }
    }

    /// Sends what is left to be said on a retired connection, and ends it from this side.
    pub(super) fn depart(&mut self, index: usize, now: Time) {
        let session = &mut self.sessions[index];
        if let Some(token) = session.socket
            && !session.out.is_empty()
        {
            let farewell = std::mem::take(&mut session.out);
            // A peer that is gone already needs no farewell.
            let _ = self.driver.send(token, Payload::Buffer(farewell));
        }
        self.closed(index, now);
    }

    /// A retired connection has waited for its peer in vain.
    pub(super) fn linger_over(&mut self, index: usize, now: Time) {
        self.linger_ns = (self.linger_ns / 2).max(*LINGER_NS.start());
        let (start, end) = self.recorder.window();
        let since = self.sessions[index].closing_since.max(start);
        self.lingered_ns += now.min(end).since(since);
        self.closed(index, now);
    }

    /// A connection has ended in good order; the next one may begin.
    pub(super) fn closed(&mut self, index: usize, now: Time) {
        // The rest of a request whose answer has come already is not wanted.
        let how = if self.sessions[index].sending {
            Close::Reset
        } else {
            Close::Graceful
        };
        self.drop_socket(index, how);
        self.revive(index, now);
    }

    /// A connection is lost, and every exchange on it has failed.
    pub(super) fn lose(&mut self, index: usize, kind: ErrorKind, now: Time) {
        let session = &mut self.sessions[index];
        let is_ours = matches!(session.state, State::Waiting(_)) || is_ours(kind);
        let was_tried = match session.state {
            State::Connecting(_) | State::Greeting(_) => {
                self.connecting -= 1;
                true
            }
            State::Waiting(_) => {
                self.waiting -= 1;
                true
            }
            State::Down | State::Open | State::Closing => false,
        };
        let is_away = !is_ours && (was_tried || session.failures > 0);
        if is_away {
            self.recorder.away(was_tried, now);
        }
        if was_tried {
            if session.ring.unanswered() == 0 {
                self.recorder.attempt_failed(kind);
            }
            self.failing_since = self.failing_since.min(now);
            self.attempt_ended(index);
        }
        self.fail_all(index, kind, is_away, now);
        self.drop_socket(index, Close::Reset);
        self.retry_later(index, now);
    }

    /// Every exchange of a connection has failed. `is_away`: because the server was.
    fn fail_all(&mut self, index: usize, kind: ErrorKind, is_away: bool, now: Time) {
        let session = &mut self.sessions[index];
        let (ring, taken) = (&mut session.ring, session.taken);
        self.flights.drain(index, ring, |exchange| {
            if exchange.sent == Time::NEVER {
                let recorder = &mut self.recorder;
                recorder.connection_awaited(&exchange, taken, is_away, now);
            }
            self.recorder.failed(&exchange, kind, now);
        });
    }

    /// A connection stands, and is of no use now.
    pub(super) fn set_aside(&mut self, index: usize, now: Time) {
        self.drop_socket(index, Close::Graceful);
        self.retry_later(index, now);
    }

    fn retry_later(&mut self, index: usize, now: Time) {
        let session = &mut self.sessions[index];
        session.state = State::Down;
        session.has_died = true;
        let failures = session.failures;
        session.failures = failures.saturating_add(1);
        let delay = match u32::from(failures).checked_sub(1) {
            None => 0,
            Some(nth) => self.back_off().wait_ns(nth, &mut self.random),
        };
        self.set_timer(index, now.plus(delay));
    }

    fn back_off(&self) -> BackOff {
        let least_ns = self.sessions.len() as u64 * ATTEMPT_NS;
        let (low, high) = OPEN_LOOP_MOST_NS.into_inner();
        match self.assignment.marks {
            Some(_) => BackOff {
                most_ns: least_ns.clamp(low, high),
                ..BACK_OFF
            },
            None => BACK_OFF,
        }
    }

    /// A session that is down may be used again.
    pub(super) fn revive(&mut self, index: usize, now: Time) {
        if !self.may_begin() {
            return;
        }
        if self.assignment.keep_alive {
            self.open(index, now);
        } else {
            self.more(index, now);
        }
    }

    /// Whether an exchange may still have to be sent. After the window those are left that were due
    /// in it, and those that a peer has refused.
    fn may_begin(&self) -> bool {
        match self.phase {
            Phase::Connecting { .. } | Phase::Loading => true,
            Phase::Draining { .. } => self.due.is_some() || !self.again.is_empty(),
            Phase::Done => false,
        }
    }

    fn drop_socket(&mut self, index: usize, how: Close) {
        let session = &mut self.sessions[index];
        if matches!(session.state, State::Open | State::Closing) {
            self.connected -= 1;
        }
        self.closing -= u32::from(session.state == State::Closing);
        session.state = State::Down;
        (session.sending, session.overdue) = (false, false);
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

    pub(super) fn set_timer(&mut self, index: usize, at: Time) {
        let session = &mut self.sessions[index];
        if let Some(timer) = session.timer.take() {
            self.timers.cancel(timer);
        }
        session.timer = Some(self.timers.insert(at, index as u32));
    }

    /// In the connecting phase each session's first attempt counts once.
    fn attempt_ended(&mut self, index: usize) {
        if !std::mem::replace(&mut self.sessions[index].tried, true) {
            self.settled += 1;
        }
    }
}

/// Whether an attempt to connect failed for want of something on this side.
fn is_ours(kind: ErrorKind) -> bool {
    matches!(
        kind,
        ErrorKind::PortsExhausted | ErrorKind::DescriptorsExhausted
    )
}
