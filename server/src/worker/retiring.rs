//! Giving the listening socket up to others who accept on it, without a client that notices.
//!
//! 1. The listener is closed; what the kernel has accepted by then is still let in. Answers over
//!    HTTP/1 say `Connection: close` from now on, and clients over HTTP/2 are told to begin nothing
//!    more here, while what is on its way is still taken (RFC 9113 §6.8); those that haven't asked
//!    for anything yet are told behind their first answer, as over HTTP/1.
//! 2. A second after it was told so, a connection over HTTP/2 is drained as ever. One over HTTP/1,
//!    or over HTTP/2 without any request, is when it has been silent for half the time to drain, up
//!    to five seconds. What a client sends over HTTP/1 at the very moment in which its connection
//!    is closed is lost, and the longer the silence, the less likely that is (RFC 9112 §9.6).
//! 3. What is left after [`Timeouts::drain`](service::Timeouts::drain) is cut off.
//!
//! That second is also the time which handshakes of TLS have that were under way.

use std::time::Duration;

use engine::Driver;
use measure::time::Time;
use service::Service;

use super::{Alarm, Worker, list};

/// How long is waited before any connection is drained.
const ANNOUNCED_NS: u64 = 1_000_000_000;
/// How long a connection has to have been silent, where the time to drain allows it.
const SILENCE_NS: u64 = 5_000_000_000;

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
        self.wheel.insert(now.plus(ANNOUNCED_NS), Alarm::Retired);
    }

    /// Has a connection that came late have its turn, too.
    pub(super) fn look_when_silent(&mut self, now: Time) {
        self.wheel
            .insert(now.plus(self.silence_ns()), Alarm::Retired);
    }

    fn silence_ns(&self) -> u64 {
        let half = self.settings.timeouts.drain / 2;
        u64::try_from(half.as_nanos()).map_or(SILENCE_NS, |half| half.min(SILENCE_NS))
    }

    /// Drains what has been silent, and looks again when the rest may have been.
    pub(super) fn retired(&mut self) {
        let (now, silence_ns) = (self.serving.now, self.silence_ns());
        let mut next = Time::NEVER;
        if !self.serving.draining {
            let left = self.settings.timeouts.drain;
            let until = now + left.saturating_sub(Duration::from_nanos(ANNOUNCED_NS));
            self.serving.drain();
            self.serving.service().stopping(until);
            self.upstream_drain(false);
        }
        for connection in self.connections.iter_mut().flatten() {
            let at = match connection.announced_at() {
                Some(announced_at) => announced_at.plus(ANNOUNCED_NS),
                None => connection.since.plus(silence_ns),
            };
            if at <= now {
                connection.drain(&mut self.serving);
                list(&mut self.listed, connection);
            } else {
                // One that hasn't said yet what it speaks may soon say that.
                next = next.min(at).min(now.plus(ANNOUNCED_NS));
            }
        }
        if next != Time::NEVER {
            self.wheel.insert(next, Alarm::Retired);
        }
    }
}
