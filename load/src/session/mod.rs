//! The client side of one connection: what it waits for and since when. Knows neither the driver
//! nor the schedule; the worker moves it along.
//!
//! `wire` says what the protocols of connections have in common, and a file for each of them says
//! the rest; `flights` holds the exchanges that are under way.

pub(crate) mod flights;
mod grpc;
pub(crate) mod http1;
pub(crate) mod http2;
#[cfg(test)]
mod tests;
pub(crate) mod websocket;
pub(crate) mod wire;

use engine::timers::TimerId;
use engine::tls::TlsFault;
use engine::{Driver, Fault, Token};
use measure::counters::ErrorKind;
use measure::time::Time;

pub(crate) use flights::{Flights, Ring};
pub(crate) use wire::{Happening, Outcome, Speech, Wire};

/// One request and what became of it.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Exchange {
    /// When the schedule wanted it sent; in a closed loop, when it could first be sent.
    pub intended: Time,
    /// When it was handed to the driver; [`Time::NEVER`] while it waits for its connection.
    pub sent: Time,
    /// How often a peer has said that it did nothing for it.
    pub refusals: u8,
}

impl Exchange {
    /// An exchange that is sent for the first time.
    pub(crate) fn new(intended: Time, sent: Time) -> Exchange {
        Exchange {
            intended,
            sent,
            refusals: 0,
        }
    }
}

/// Where a connection stands.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum State {
    /// No socket; a timer or the next exchange opens one.
    Down,
    /// No socket was free for it since then: the others are still closing.
    Waiting(Time),
    /// Connecting since then.
    Connecting(Time),
    /// Connecting since then; the socket stands, and the peer has yet to say what its protocol
    /// wants said before the first exchange.
    Greeting(Time),
    /// Requests may be sent.
    Open,
    /// The last answer has come; the peer is to close first, so that it keeps the `TIME_WAIT`.
    Closing,
}

/// One connection of a worker.
#[derive(Debug)]
pub(crate) struct Session {
    pub socket: Option<Token>,
    pub state: State,
    pub wire: Wire,
    /// Bytes that wait for the end of the turn, or of an unfinished send. A buffer of the driver's
    /// while there are any.
    pub out: Vec<u8>,
    /// An unfinished send is with the driver.
    pub sending: bool,
    /// That send was unfinished when the time of its request was over.
    pub overdue: bool,
    /// It stands in the worker's list of those that have something to send.
    pub listed: bool,
    /// It stands in the worker's queue of free connections.
    pub queued: bool,
    /// Its first attempt to connect has ended, either way.
    pub tried: bool,
    /// It has been open before, so the next opening is a reconnect.
    pub was_open: bool,
    /// It has died since.
    pub has_died: bool,
    /// Since when an exchange waits for the connection that is opened for it alone.
    pub taken: Time,
    /// Since when it waits for its peer to close.
    pub closing_since: Time,
    /// Failures since the last answer; sets the back-off.
    pub failures: u8,
    pub timer: Option<TimerId>,
    /// Exchanges sent, or waiting for the connection to stand, and not answered.
    pub ring: Ring,
}

impl Session {
    pub(crate) fn new() -> Session {
        Session {
            socket: None,
            state: State::Down,
            wire: Wire::Silent,
            out: Vec::new(),
            sending: false,
            overdue: false,
            listed: false,
            queued: false,
            tried: false,
            was_open: false,
            has_died: false,
            taken: Time::NEVER,
            closing_since: Time::NEVER,
            failures: 0,
            timer: None,
            ring: Ring::default(),
        }
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
        Fault::Other(_) => ErrorKind::Other,
    }
}

/// What an attempt to connect that took too long is called: by how far it came.
pub(crate) fn timeout_kind<D: Driver>(
    driver: &D,
    socket: Option<Token>,
    is_greeting: bool,
) -> ErrorKind {
    if is_greeting {
        return ErrorKind::GreetingTimeout;
    }
    match socket.is_some_and(|socket| driver.is_shaking_hands(socket)) {
        true => ErrorKind::TlsTimeout,
        false => ErrorKind::ConnectTimeout,
    }
}
