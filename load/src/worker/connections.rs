//! Opening, losing, retiring and reopening the connections of a worker.

use engine::secured::Secured;
use engine::{Close, Driver, Fault};
use measure::counters::ErrorKind;
use measure::tally::{Opened, Terms};
use measure::time::Time;

use super::{Assignment, Phase, Worker};
use crate::back_off::BackOff;
use crate::connection::{Attempt, Dialling, Retries, State, error_kind};
use crate::requests::Requests;

/// Connections of one worker that are being opened at once before the load begins; more would only
/// overflow the backlog.
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
/// How soon a connection that waits for a free socket looks for one again.
const SOCKET_WAIT_NS: u64 = 1_000_000;
/// How long a retired connection waits for the peer to close first, so that the peer keeps the
/// `TIME_WAIT` and the port is free for the next one. One that does so does it at once. With each
/// wait in vain the next ones are half as long, or they and not the server would set the rate; with
/// each peer that closes they are twice as long again.
pub(super) const LINGER_NS: std::ops::RangeInclusive<u64> = 50_000..=50_000_000;

/// How a worker with this share opens its connections.
pub(super) fn dialling(share: &Assignment) -> Dialling {
    let least_ns = share.sessions as u64 * ATTEMPT_NS;
    let (low, high) = OPEN_LOOP_MOST_NS.into_inner();
    // The requests to other origins wait for nobody's back-off either.
    let goes_on = share.marks.is_some() || share.route.addresses.len() > 1;
    let back_off = match goes_on {
        true => BackOff {
            most_ns: least_ns.clamp(low, high),
            ..BACK_OFF
        },
        false => BACK_OFF,
    };
    Dialling {
        route: share.route.clone(),
        first: share.worker as usize,
        stride: 1,
        places: CONNECTING_MAX,
        place_ns: None,
        timeout_ns: share.timeout_ns,
        socket_wait_ns: SOCKET_WAIT_NS,
        retries: Retries {
            at_once: 1,
            back_off,
            most: None,
        },
    }
}

impl<D: Driver> Worker<'_, D> {
    /// Before the load begins: opens the next connections, not too many at once.
    pub(super) fn open_more(&mut self, now: Time) {
        while self.next_to_open < self.core.sessions.len() && self.core.has_place() {
            let index = self.next_to_open;
            self.next_to_open += 1;
            if self.assignment.keep_alive {
                self.open(index, now);
            } else {
                self.core.tried(index, now);
            }
        }
    }

    /// Starts to connect a session that is down.
    pub(super) fn open(&mut self, index: usize, now: Time) {
        if self.core.counts().waiting > 0 {
            // The others were here first.
            return self.core.wait_for_socket(index, now, now);
        }
        self.connect(index, now, now);
    }

    /// Starts to connect, on the first socket that is free `since` then. Sockets that are still
    /// closing may hold the last slots; the attempt goes on when one of them is free, and an
    /// exchange that waits for the connection stays where it is.
    fn connect(&mut self, index: usize, since: Time, now: Time) {
        match self.core.dial(index, now) {
            Attempt::Begun => {}
            Attempt::NoSocket => self.core.wait_for_socket(index, since, now),
            Attempt::Refused(kind) => self.lose(index, kind, now),
        }
    }

    /// A connection that waits for a socket looks for one again, unless it has waited for too long
    /// or nothing is left to be sent on it.
    pub(super) fn look_for_socket(&mut self, index: usize, since: Time, now: Time) {
        if !self.core.look_for_socket(index, since, now) {
            return self.lose(index, ErrorKind::ConnectTimeout, now);
        }
        let has_exchange = self.core.sessions[index].own.ring.unanswered() > 0;
        if has_exchange || self.may_begin() {
            self.connect(index, since, now);
        }
    }

    /// A connection stands, and may be of use at once or only when the peer has greeted.
    pub(super) fn stands(&mut self, index: usize, now: Time) {
        let Some((since, secured)) = self.core.set_up(index) else {
            return;
        };
        self.note_set_up(since, now, secured);
        if self.core.greet(index) {
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
            version: secured.version.into(),
            cipher: secured.cipher.into(),
            alpn: secured.alpn.map(|alpn| alpn.name().into()),
        };
        tally.shook_hands(secured.handshake_ns, secured.resumed, terms);
    }

    /// The first exchange can begin on a connection.
    pub(super) fn usable(&mut self, index: usize, now: Time) {
        let Some(since) = self.core.opened(index) else {
            return;
        };
        let session = &mut self.core.sessions[index];
        (session.own.overdue, session.own.rests) = (false, false);
        self.depth_allowed = self.depth_allowed.min(session.wire.room());
        let again =
            std::mem::replace(&mut session.own.was_open, true) && self.assignment.keep_alive;
        let why = match std::mem::replace(&mut session.own.has_died, false) {
            _ if !again => Opened::Anew,
            true => Opened::AfterDeath,
            false => Opened::AfterClose,
        };
        self.recorder.tally.connected(now.since(since), why);
        self.failing_since = Time::NEVER;
        if let Some(pools) = &mut self.pools {
            pools.stands(index);
        }
        self.core.tried(index, now);
        self.go_on(index, now);
    }

    /// The driver says that the socket is dead.
    pub(super) fn socket_failed(&mut self, index: usize, fault: Fault, now: Time) {
        let session = &mut self.core.sessions[index];
        match session.state() {
            State::Closing => self.closed(index, now),
            State::Open if session.own.ring.unanswered() == 0 => {
                // An idle connection that the peer gave up is no error of any exchange.
                session.own.has_died = true;
                self.closed(index, now);
            }
            _ => self.lose(index, error_kind(fault), now),
        }
    }

    /// The peer sends no more: the end of an answer, of an idle connection, or a truncation.
    pub(super) fn peer_ended(&mut self, index: usize, now: Time) {
        if self.core.sessions[index].state() == State::Closing {
            self.linger_ns = (self.linger_ns * 2).min(*LINGER_NS.end());
        }
        match self.core.sessions[index].state() {
            State::Open => {
                if self.core.sessions[index].own.ring.unanswered() > 0 {
                    self.take_end(index, now);
                }
                if self.core.sessions[index].own.ring.unanswered() > 0 {
                    self.lose(index, self.recorder.early_close(index), now);
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
        match self.core.sessions[index].state() {
            // What comes behind the last answer does not prolong the wait.
            State::Closing => return,
            // It greeted and took its leave in one breath, so that no exchange could begin.
            State::Greeting(_) => return self.lose(index, ErrorKind::EarlyClose, now),
            _ => {}
        }
        let own = &mut self.core.sessions[index].own;
        own.has_died = own.ring.unanswered() > 0;
        self.fail_all(index, ErrorKind::EarlyClose, false, now);
        self.core.close_soon(index);
        let session = &mut self.core.sessions[index];
        session.own.closing_since = now;
        session.wire.leave(&mut session.out);
        if session.wire.peer_ends() || session.is_sending() {
            self.core.appended(index);
            self.core.set_timer(index, now.plus(self.linger_ns));
        } else {
            self.depart(index, now);
        }
    }

    /// Sends what is left to be said on a retired connection, and ends it from this side.
    pub(super) fn depart(&mut self, index: usize, now: Time) {
        self.core.send_rest(index);
        self.closed(index, now);
    }

    /// A retired connection has waited for its peer in vain.
    pub(super) fn linger_over(&mut self, index: usize, now: Time) {
        self.linger_ns = (self.linger_ns / 2).max(*LINGER_NS.start());
        let (start, end) = self.recorder.window();
        let since = self.core.sessions[index].own.closing_since.max(start);
        self.in_vain.lingered_ns += now.min(end).since(since);
        self.closed(index, now);
    }

    /// A connection has ended in good order; the next one may begin.
    pub(super) fn closed(&mut self, index: usize, now: Time) {
        // The rest of a request whose answer has come already is not wanted.
        let how = if self.core.sessions[index].is_sending() {
            Close::Reset
        } else {
            Close::Graceful
        };
        let own = &mut self.core.sessions[index].own;
        let was_useless = self.assignment.keep_alive && !std::mem::take(&mut own.has_served);
        self.core.drop(index, how);
        self.start_over(index);
        if !was_useless {
            self.revive(index, now);
        } else if self.may_begin() {
            // Whoever closes connections before any answer would be asked for more without end.
            self.core.sessions[index].own.broken_since = now;
            self.core.retry(index, now);
        }
    }

    /// The time is over for which a connection was not opened again.
    pub(super) fn backed_off(&mut self, index: usize, now: Time) {
        let since = std::mem::take(&mut self.core.sessions[index].own.broken_since);
        if since != Time(0) {
            let (start, end) = self.recorder.window();
            self.in_vain.backed_off_ns += now.min(end).since(since.max(start));
        }
    }

    /// A connection is lost, and every exchange on it has failed.
    pub(super) fn lose(&mut self, index: usize, kind: ErrorKind, now: Time) {
        let session = &self.core.sessions[index];
        let is_ours = matches!(session.state(), State::Waiting(_)) || is_ours(kind);
        let was_tried = matches!(
            session.state(),
            State::Waiting(_) | State::Connecting(_) | State::Greeting(_)
        );
        // Who takes connections and doesn't answer in time is slow, and not away.
        let is_slow = kind == ErrorKind::Timeout;
        let is_away = !is_ours && (was_tried || session.failures > 0 && !is_slow);
        if is_away {
            self.away(index, was_tried, now);
        }
        if was_tried {
            let failed = self.fail_parked(index, kind, now);
            if !failed && self.core.sessions[index].own.ring.unanswered() == 0 {
                self.recorder.attempt_failed(kind);
            }
            self.failing_since = self.failing_since.min(now);
            self.core.tried(index, now);
        }
        self.fail_all(index, kind, is_away, now);
        self.core.drop(index, Close::Reset);
        self.core.sessions[index].own.broken_since = if was_tried { Time(0) } else { now };
        self.retry_later(index, now);
    }

    /// Every exchange of a connection has failed. `is_away`: because the server was.
    fn fail_all(&mut self, index: usize, kind: ErrorKind, is_away: bool, now: Time) {
        let session = &mut self.core.sessions[index];
        let (ring, taken) = (&mut session.own.ring, session.own.taken);
        let is_user = ring.unanswered() > 0 && matches!(self.maker, Some(Requests::Users(_)));
        self.flights.drain(index, ring, |exchange| {
            if exchange.sent == Time::NEVER {
                let recorder = &mut self.recorder;
                recorder.connection_awaited(&exchange, taken, is_away, now);
            }
            self.recorder.failed(&exchange, kind, now);
        });
        self.recorder.streams_cut(index, Some(kind), now);
        if is_user {
            self.user_lost(index, kind, now);
        }
    }

    /// A connection stands, and is of no use now.
    pub(super) fn set_aside(&mut self, index: usize, now: Time) {
        self.core.drop(index, Close::Graceful);
        self.retry_later(index, now);
    }

    fn retry_later(&mut self, index: usize, now: Time) {
        self.core.sessions[index].own.has_died = true;
        self.start_over(index);
        self.core.retry(index, now);
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
            Phase::Draining { .. } => {
                let parked = self.pools.as_ref().map_or(0, |pools| pools.parked());
                let users = self.users_under_way();
                self.due.is_some() || !self.again.is_empty() || parked > 0 || users > 0
            }
            Phase::Done => false,
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
