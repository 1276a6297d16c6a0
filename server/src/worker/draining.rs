//! Ending: connections are told a few at a time, and where they are very many, the kernel closes
//! them when the worker is gone.

use engine::{Close, Driver};
use measure::time::Time;
use service::Service;

use super::{Alarm, Worker, list};

/// How many connections are drained in a turn.
const DRAINED_AT_ONCE: usize = 1024;

/// How long a worker that ends goes on closing connections by itself.
const CLOSING_NS: u64 = 2_000_000_000;

/// How far a worker that ends has come with telling its connections.
#[derive(Debug)]
pub(super) struct Draining {
    /// The slot of the next one.
    next: usize,
    /// From then on, what would be closed is left to the kernel: nobody waits for so many closes.
    late_at: Time,
}

impl<D: Driver, S: Service> Worker<D, S> {
    /// The stop was requested: no more connections, no more requests than those begun.
    pub(super) fn drain(&mut self) {
        self.serving.drain();
        let until = self.serving.now + self.settings.timeouts.drain;
        self.serving.service().stopping(until);
        self.stop_listening();
        self.wheel.insert(until, Alarm::DrainOver);
        self.to_drain = Some(Draining {
            next: 0,
            late_at: self.serving.now.plus(CLOSING_NS),
        });
        self.upstream_drain(false);
    }

    /// Drains the next few connections, since very many would keep the others' requests waiting.
    pub(super) fn drain_some(&mut self) {
        let Some(draining) = &mut self.to_drain else {
            return;
        };
        let end = self.connections.len().min(draining.next + DRAINED_AT_ONCE);
        for connection in self.connections[draining.next..end].iter_mut().flatten() {
            connection.drain(&mut self.serving);
            list(&mut self.listed, connection);
        }
        draining.next = end;
    }

    /// Whether there are more of them.
    pub(super) fn drained_all(&self) -> bool {
        let next = self.to_drain.as_ref().map(|draining| draining.next);
        next.is_none_or(|next| next >= self.connections.len())
    }

    /// Whether what ends now is left open, since closing all has taken too long already.
    pub(super) fn leaves_to_kernel(&self) -> bool {
        let draining = self.to_drain.as_ref();
        draining.is_some_and(|draining| self.serving.now >= draining.late_at)
    }

    pub(super) fn cut_all(&mut self) {
        for slot in 0..self.connections.len() {
            if let Some(connection) = &self.connections[slot] {
                let (socket, is_idle) = (
                    connection.socket(),
                    connection.is_idle(&self.settings.timeouts),
                );
                self.serving.counts.cut += u64::from(!is_idle);
                let how = if is_idle {
                    Close::Graceful
                } else {
                    Close::Reset
                };
                self.close(socket, how);
            }
        }
        self.upstream_drain(true);
    }
}
