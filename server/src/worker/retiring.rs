//! Giving the listening socket up to others who accept on it, without a client that notices.
//!
//! 1. The listener is closed; what the kernel has accepted by then is still let in. Answers over
//!    HTTP/1 say `Connection: close` from now on, and clients over HTTP/2 are told to begin nothing
//!    more here, while what is on its way is still taken (RFC 9113 §6.8); those that haven't asked
//!    for anything yet are told behind their first answer, as over HTTP/1.
//! 2. A second after it was told so, but no later than half of the time to drain, a connection
//!    over HTTP/2 is drained as ever. One over HTTP/1, or over HTTP/2 without any request, is when
//!    it has been silent for half the time to drain, up to five seconds. What a client sends over
//!    HTTP/1 at the very moment in which its connection is closed is lost, and the longer the
//!    silence, the less likely that is (RFC 9112 §9.6).
//! 3. What is left after [`Timeouts::drain`](service::Timeouts::drain) is cut off.
//!
//! That second is also the time which handshakes of TLS have that were under way.

use std::time::Duration;

use engine::Driver;
use measure::time::Time;
use service::Service;

use super::{Alarm, Worker, list};

/// How long is waited before any connection is drained, where the time to drain allows it.
const ANNOUNCED_NS: u64 = 1_000_000_000;
/// How long a connection has to have been silent, where the time to drain allows it.
const SILENCE_NS: u64 = 5_000_000_000;

/// How many connections are looked at in a turn, since very many would keep the others' requests
/// waiting, …
const LOOKED_AT_ONCE: usize = 1024;
/// … and how soon all of them are looked at again.
const LOOK_AGAIN_NS: u64 = 100_000_000;

/// A look at all connections, of which some have been silent for long enough.
#[derive(Debug)]
pub(super) struct Retiring {
    /// The slot of the next one.
    next: usize,
    /// When the next look is due, as far as is known.
    again: Time,
}

impl<D: Driver, S: Service> Worker<D, S> {
    /// The listening socket is others' from now on.
    pub(super) fn retire(&mut self) {
        let now = self.serving.now;
        self.serving.retire();
        self.stop_listening();
        for connection in self.connections.iter_mut().flatten() {
            connection.announce_going(now);
            list(&mut self.listed, connection);
        }
        self.wheel
            .insert(now + self.settings.timeouts.drain, Alarm::DrainOver);
        self.look_at(now.plus(self.announced_ns()));
    }

    /// Has a connection that came late have its turn, too.
    pub(super) fn look_when_silent(&mut self, now: Time) {
        let at = now.plus(self.silence_ns());
        match &mut self.to_retire {
            // The look may have passed the slot that it got.
            Some(look) => look.again = look.again.min(at),
            None if !self.looks_again => self.look_at(at),
            None => {}
        }
    }

    fn look_at(&mut self, at: Time) {
        self.looks_again = true;
        self.wheel.insert(at, Alarm::Retired);
    }

    fn silence_ns(&self) -> u64 {
        self.half_the_drain().min(SILENCE_NS)
    }

    fn announced_ns(&self) -> u64 {
        self.half_the_drain().min(ANNOUNCED_NS)
    }

    fn half_the_drain(&self) -> u64 {
        let half = self.settings.timeouts.drain / 2;
        u64::try_from(half.as_nanos()).unwrap_or(u64::MAX)
    }

    /// It's time to look which connections have been silent.
    pub(super) fn retired(&mut self) {
        if !self.serving.draining {
            let left = self.settings.timeouts.drain;
            let announced = Duration::from_nanos(self.announced_ns());
            let until = self.serving.now + left.saturating_sub(announced);
            self.serving.drain();
            self.serving.service().stopping(until);
            self.upstream_drain(false);
        }
        self.looks_again = false;
        self.to_retire = Some(Retiring {
            next: 0,
            again: Time::NEVER,
        });
    }

    /// Drains those of the next few that have been silent, and looks again when the rest may have
    /// been.
    pub(super) fn retire_some(&mut self) {
        let (now, silence_ns, announced_ns) =
            (self.serving.now, self.silence_ns(), self.announced_ns());
        let Some(mut look) = self.to_retire.take() else {
            return;
        };
        let end = self.connections.len().min(look.next + LOOKED_AT_ONCE);
        for connection in self.connections[look.next..end].iter_mut().flatten() {
            let at = match connection.announced_at() {
                Some(announced_at) => announced_at.plus(announced_ns),
                None => connection.since.plus(silence_ns),
            };
            if at <= now {
                connection.drain(&mut self.serving);
                list(&mut self.listed, connection);
            } else {
                // One that hasn't said yet what it speaks may soon say that.
                look.again = look.again.min(at).min(now.plus(announced_ns));
            }
        }
        look.next = end;
        if end < self.connections.len() {
            self.to_retire = Some(look);
        } else if look.again != Time::NEVER {
            self.look_at(look.again.max(now.plus(LOOK_AGAIN_NS.min(announced_ns))));
        }
    }
}
