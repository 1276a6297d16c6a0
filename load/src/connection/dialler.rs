//! Dialling: from which address to which, how many at once, for how long, and how soon again.

use std::net::IpAddr;
use std::sync::Arc;

use engine::secured::{Secured, TlsFault};
use engine::{Address, Driver, Fault, Refused, SocketOptions, TunnelFault};
use measure::counters::ErrorKind;
use measure::time::Time;
use plan::{Contact, Invalid};
use workload::visit::Habits;

use super::{Core, State};
use crate::back_off::BackOff;
use session::flights::Order;
use session::{Clocks, Rules, Speech, Wire};

/// Where connections go, from where, and what is said on them.
#[derive(Clone, Debug)]
pub(crate) struct Route {
    /// Those of each origin: connections take the origins in turn, and of each its addresses.
    pub addresses: Vec<Vec<Address>>,
    /// And these; where there are none the kernel chooses.
    pub sources: Vec<IpAddr>,
    pub options: SocketOptions,
    /// What is said on each connection.
    pub speech: Speech,
    /// What is expected of answers, if anything beyond a usual status.
    pub rules: Option<Arc<Rules>>,
    /// What sessions do beyond asking and being answered, if anything.
    pub habits: Option<Arc<Habits>>,
    /// Whether somebody is told of the answers.
    pub hears: bool,
    /// Whether events are looked for in answers.
    pub listens: bool,
    /// Whether answers may be quoted: not where they may repeat what nobody knows to be secret.
    pub quotes: bool,
}

impl Route {
    /// To these `addresses` of each origin, over the device and with what `contact` says.
    ///
    /// # Errors
    /// What is to be said cannot be encoded.
    pub(crate) fn of(
        contact: &Contact,
        addresses: &[Vec<Address>],
        options: SocketOptions,
    ) -> Result<Route, Invalid> {
        let options = SocketOptions {
            device: contact.interface.as_deref().map(Into::into),
            ..options
        };
        Ok(Route {
            addresses: addresses.to_vec(),
            sources: contact.source_addresses.clone(),
            options,
            speech: Speech::of(contact)?,
            rules: None,
            habits: None,
            hears: false,
            listens: false,
            quotes: true,
        })
    }

    /// What tells when events come on so many `sessions` with `depth` exchanges each; none where
    /// nobody looks for any.
    pub(crate) fn clocks(&self, sessions: usize, depth: u32) -> Option<Box<Clocks>> {
        let each = match self.speech.order() {
            Order::Kept => 1,
            Order::Free => depth,
        };
        let of_messages = matches!(self.speech, Speech::WebSocket(_));
        let clocks = || Clocks::new(sessions, each).of_messages(of_messages);
        let clocks = self.listens.then(clocks);
        clocks.map(Box::new)
    }
}

/// How the connections of one worker are opened.
#[derive(Clone, Debug)]
pub(crate) struct Dialling {
    pub route: Route,
    /// Which of all connections the first one of this worker is, and how many further the next one.
    pub first: usize,
    pub stride: usize,
    /// How many are being opened at once, where their owner asks.
    pub places: usize,
    /// How long an attempt counts among these, if not to its end.
    pub place_ns: Option<u64>,
    /// How long an attempt may take until exchanges can begin, the wait for a socket included.
    pub timeout_ns: u64,
    /// How soon a connection that found no free socket, and waits for one, looks for one again.
    pub socket_wait_ns: u64,
    pub retries: Retries,
}

/// How a connection is tried again.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Retries {
    /// The first so many attempts again come at once.
    pub at_once: u32,
    pub back_off: BackOff,
    /// The most attempts again in a row, if that ends.
    pub most: Option<u32>,
}

/// What came of an attempt at once.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Attempt {
    /// It is under way.
    Begun,
    /// Sockets that are still closing hold the last slots: the connection is down as it was.
    NoSocket,
    /// This host refused it.
    Refused(ErrorKind),
}

impl<D: Driver, X> Core<D, X> {
    /// Whether another attempt may begin beside those that are under way.
    pub(crate) fn has_place(&self) -> bool {
        self.counts.connecting < self.dialling.places
    }

    /// Begins to connect a session that is down.
    pub(crate) fn dial(&mut self, index: usize, now: Time) -> Attempt {
        let dialling = &self.dialling;
        let number = dialling.first + index * dialling.stride;
        let route = &dialling.route;
        let mut options = route.options.clone();
        if !route.sources.is_empty() {
            options.source = Some(route.sources[number % route.sources.len()]);
        }
        let origins = route.addresses.len();
        let (peer, number) = (index % origins, number / origins);
        options.peer = peer as u16;
        let address = &route.addresses[peer][number % route.addresses[peer].len()];
        let session = &mut self.sessions[index];
        debug_assert_eq!((session.state, session.socket), (State::Down, None));
        match self.driver.connect(address, &options) {
            Ok(token) => {
                self.by_slot[token.slot()] = index as u32;
                session.socket = Some(token);
                session.state = State::Connecting(now);
                session.has_place = true;
                self.counts.connecting += 1;
                self.changes += 1;
                let wait_ns = dialling.place_ns.unwrap_or(u64::MAX);
                self.set_timer(index, now.plus(wait_ns.min(self.dialling.timeout_ns)));
                Attempt::Begun
            }
            Err(Refused::SocketsFull) => Attempt::NoSocket,
            Err(refused) => {
                // Its owner drops it, as any other attempt that has failed.
                session.state = State::Connecting(now);
                Attempt::Refused(match refused {
                    Refused::Kernel(fault) => error_kind(fault),
                    _ => ErrorKind::Other,
                })
            }
        }
    }

    /// A session that is down waits for a free socket `since` then. Its timer says when to look
    /// for one.
    pub(crate) fn wait_for_socket(&mut self, index: usize, since: Time, now: Time) {
        let session = &mut self.sessions[index];
        debug_assert_eq!((session.state, session.socket), (State::Down, None));
        session.state = State::Waiting(since);
        self.counts.waiting += 1;
        self.changes += 1;
        let deadline = since.plus(self.dialling.timeout_ns);
        let look_again = now.plus(self.dialling.socket_wait_ns);
        self.set_timer(index, look_again.min(deadline));
    }

    /// A session that waits for a free socket since then looks for one now, and is down. False
    /// where it has waited for too long, and still does.
    pub(crate) fn look_for_socket(&mut self, index: usize, since: Time, now: Time) -> bool {
        if since.plus(self.dialling.timeout_ns) <= now {
            return false;
        }
        self.counts.waiting -= 1;
        self.changes += 1;
        self.sessions[index].state = State::Down;
        true
    }

    /// The timer of an attempt that was begun at `since` has run out: it gives its place to
    /// another, or has taken too long altogether and is called this.
    pub(crate) fn waited_for(&mut self, index: usize, since: Time, now: Time) -> Option<ErrorKind> {
        let deadline = since.plus(self.dialling.timeout_ns);
        if now < deadline {
            self.leave_place(index);
            self.set_timer(index, deadline);
            return None;
        }
        let session = &self.sessions[index];
        if matches!(session.state, State::Greeting(_)) {
            return Some(ErrorKind::GreetingTimeout);
        }
        let is_shaking_hands = |socket| self.driver.is_shaking_hands(socket);
        let is_tunnelling = |socket| self.driver.is_tunnelling(socket);
        Some(match session.socket {
            Some(socket) if is_shaking_hands(socket) => ErrorKind::TlsTimeout,
            Some(socket) if is_tunnelling(socket) => ErrorKind::ProxyTimeout,
            _ => ErrorKind::ConnectTimeout,
        })
    }

    /// It is no longer among those that are being opened at once.
    pub(super) fn leave_place(&mut self, index: usize) {
        let had = std::mem::replace(&mut self.sessions[index].has_place, false);
        self.counts.connecting -= usize::from(had);
    }

    /// Since when the connection has been opened whose socket stands now, and what TLS agreed on.
    /// None where nobody waits for that any more.
    pub(crate) fn set_up(&self, index: usize) -> Option<(Time, Option<Secured>)> {
        let session = &self.sessions[index];
        let State::Connecting(since) = session.state else {
            return None;
        };
        let secured = session.socket.and_then(|token| self.driver.secured(token));
        Some((since, secured))
    }

    /// The socket of a connection stands: says what must be said first. Whether the connection can
    /// be used at once; if not, the peer has yet to greet.
    pub(crate) fn greet(&mut self, index: usize) -> bool {
        self.append(index);
        let session = &mut self.sessions[index];
        let State::Connecting(since) = session.state else {
            return false;
        };
        let (speech, random) = (&self.dialling.route.speech, &mut self.random);
        session.wire = Wire::open(speech, random, &mut session.out);
        let route = &self.dialling.route;
        let looks = route.rules.is_some() || route.habits.is_some();
        if looks || route.hears || route.listens {
            session.wire.look(route.habits.as_ref());
        }
        session.state = State::Greeting(since);
        let is_ready = session.wire.is_ready();
        self.appended(index);
        is_ready
    }

    /// A connection that has greeted can be used: since when it was being opened. None where it
    /// can be already.
    pub(crate) fn opened(&mut self, index: usize) -> Option<Time> {
        let session = &mut self.sessions[index];
        let State::Greeting(since) = session.state else {
            return None;
        };
        session.state = State::Open;
        self.counts.connected += 1;
        self.changes += 1;
        self.leave_place(index);
        Some(since)
    }

    /// An attempt has ended, either way. Whether it was the first one of this connection.
    pub(crate) fn tried(&mut self, index: usize, now: Time) -> bool {
        let session = &mut self.sessions[index];
        let is_first = session.tried_at.is_none();
        session.tried_at.get_or_insert(now);
        self.counts.settled += usize::from(is_first);
        is_first
    }

    /// Whether every connection has been tried once.
    pub(crate) fn all_tried(&self) -> bool {
        self.counts.settled == self.sessions.len()
    }

    /// A connection is down after a failure: its timer says when to try it again. False where that
    /// was the last attempt.
    pub(crate) fn retry(&mut self, index: usize, now: Time) -> bool {
        let session = &mut self.sessions[index];
        debug_assert_eq!((session.state, session.socket), (State::Down, None));
        let Retries {
            at_once,
            back_off,
            most,
        } = self.dialling.retries;
        let nth = session.failures;
        session.failures = nth.saturating_add(1);
        if most.is_some_and(|most| nth >= most) {
            return false;
        }
        let wait_ns = match nth.checked_sub(at_once) {
            None => 0,
            Some(nth) => back_off.wait_ns(nth, &mut self.random),
        };
        self.set_timer(index, now.plus(wait_ns));
        true
    }
}

/// What a socket's death is called in a record.
pub(crate) fn error_kind(fault: Fault) -> ErrorKind {
    match fault {
        Fault::Refused => ErrorKind::Refused,
        Fault::Unreachable => ErrorKind::Unreachable,
        Fault::TimedOut => ErrorKind::ConnectTimeout,
        Fault::PortsExhausted => ErrorKind::PortsExhausted,
        Fault::Reset => ErrorKind::Reset,
        Fault::BrokenPipe => ErrorKind::BrokenPipe,
        Fault::Exhausted => ErrorKind::DescriptorsExhausted,
        Fault::Tls(TlsFault::NoCommonProtocol) => ErrorKind::NoCommonProtocol,
        Fault::Tls(tls) if tls.is_certificate() => ErrorKind::TlsCertificate,
        Fault::Tls(_) => ErrorKind::TlsFailed,
        Fault::Tunnel(TunnelFault::Refused(_)) => ErrorKind::ProxyRefused,
        Fault::Tunnel(TunnelFault::Broken | TunnelFault::Closed) => ErrorKind::ProxyFailed,
        Fault::Other(_) => ErrorKind::Other,
    }
}
