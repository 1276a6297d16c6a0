//! The client side of one connection: what it waits for and since when. Knows neither the driver
//! nor the schedule; the worker moves it along.

pub(crate) mod http1;

use engine::timers::TimerId;
use engine::tls::TlsFault;
use engine::{Fault, Token};
use measure::counters::ErrorKind;
use measure::time::Time;

/// One request and what became of it.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Exchange {
    /// When the schedule wanted it sent; in a closed loop, when it could first be sent.
    pub intended: Time,
    /// When it was handed to the driver; [`Time::NEVER`] while it waits for its connection.
    pub sent: Time,
}

/// Where a connection stands.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum State {
    /// No socket; a timer or the next exchange opens one.
    Down,
    /// Connecting since then.
    Connecting(Time),
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
    pub wire: http1::Wire,
    /// An unfinished send is with the driver.
    pub sending: bool,
    /// It stands in the worker's queue of free connections.
    pub queued: bool,
    /// Its first attempt to connect has ended, either way.
    pub tried: bool,
    /// It has been open before, so the next opening is a reconnect.
    pub was_open: bool,
    /// Failures since the last answer; sets the back-off.
    pub failures: u8,
    pub timer: Option<TimerId>,
    /// Exchanges sent, or waiting for the connection to stand, and not answered.
    pub ring: Ring,
}

/// Where a session's unanswered exchanges lie in its places of [`Flights`].
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Ring {
    head: u32,
    unanswered: u32,
}

impl Ring {
    /// How many exchanges are unanswered.
    pub(crate) fn unanswered(self) -> u32 {
        self.unanswered
    }
}

impl Session {
    pub(crate) fn new() -> Session {
        Session {
            socket: None,
            state: State::Down,
            wire: http1::Wire::new(),
            sending: false,
            queued: false,
            tried: false,
            was_open: false,
            failures: 0,
            timer: None,
            ring: Ring::default(),
        }
    }

    /// Forgets the connection's protocol state, for a new connection.
    pub(crate) fn reset(&mut self) {
        self.wire = http1::Wire::new();
        self.sending = false;
    }
}

/// The unanswered exchanges of all sessions: one ring of `depth` places each, allocated before the
/// load begins.
#[derive(Debug)]
pub(crate) struct Flights {
    places: Vec<Exchange>,
    depth: u32,
    /// Unanswered exchanges over all sessions.
    total: u64,
}

impl Flights {
    pub(crate) fn new(sessions: usize, depth: u32) -> Flights {
        Flights {
            places: vec![Exchange::default(); sessions * depth as usize],
            depth,
            total: 0,
        }
    }

    /// How many more exchanges a session may take.
    pub(crate) fn room(&self, ring: Ring) -> u32 {
        self.depth - ring.unanswered
    }

    /// Unanswered exchanges over all sessions.
    pub(crate) fn total(&self) -> u64 {
        self.total
    }

    /// Adds the newest exchange of `session`, the `index`-th. There must be room.
    pub(crate) fn push(&mut self, index: usize, ring: &mut Ring, exchange: Exchange) {
        debug_assert!(ring.unanswered < self.depth);
        let place = self.place(index, ring.head + ring.unanswered);
        self.places[place] = exchange;
        ring.unanswered += 1;
        self.total += 1;
    }

    /// Takes the oldest exchange of a ring.
    pub(crate) fn pop(&mut self, index: usize, ring: &mut Ring) -> Option<Exchange> {
        let oldest = self.oldest(index, *ring)?;
        ring.head = if ring.head + 1 == self.depth {
            0
        } else {
            ring.head + 1
        };
        ring.unanswered -= 1;
        self.total -= 1;
        Some(oldest)
    }

    /// The oldest exchange of a ring.
    pub(crate) fn oldest(&self, index: usize, ring: Ring) -> Option<Exchange> {
        (ring.unanswered > 0).then(|| self.places[self.place(index, ring.head)])
    }

    /// The oldest exchange of a session, to be changed.
    pub(crate) fn oldest_mut(&mut self, index: usize, ring: Ring) -> Option<&mut Exchange> {
        let place = self.place(index, ring.head);
        (ring.unanswered > 0).then(|| &mut self.places[place])
    }

    fn place(&self, index: usize, offset: u32) -> usize {
        let offset = if offset >= self.depth {
            offset - self.depth
        } else {
            offset
        };
        index * self.depth as usize + offset as usize
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn answers_are_matched_to_exchanges_in_the_order_of_sending() {
        let mut flights = Flights::new(2, 3);
        let mut sessions = [Session::new(), Session::new()];
        let exchange = |n| Exchange {
            intended: Time(n),
            sent: Time(n + 1),
        };
        // Twice around the ring, with another session beside it that must stay untouched.
        flights.push(1, &mut sessions[1].ring, exchange(1000));
        let mut expected = 0;
        for n in 0..7 {
            flights.push(0, &mut sessions[0].ring, exchange(n));
            if flights.room(sessions[0].ring) == 0 {
                assert_eq!(
                    flights.pop(0, &mut sessions[0].ring),
                    Some(exchange(expected))
                );
                expected += 1;
            }
        }
        while let Some(oldest) = flights.pop(0, &mut sessions[0].ring) {
            assert_eq!(oldest, exchange(expected));
            expected += 1;
        }
        assert_eq!(expected, 7);
        assert_eq!(flights.oldest(1, sessions[1].ring), Some(exchange(1000)));
        assert_eq!(flights.total(), 1);
    }
}
