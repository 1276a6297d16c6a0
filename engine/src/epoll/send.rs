//! Sending: at once where the kernel has room, the rest when it has.

use std::os::fd::OwnedFd;

use measure::time::Time;
use rustix::io::Errno;
use rustix::net::{SendFlags, Shutdown};

use super::{Epoll, Sending, Socket, Stage, data, fault, find, interest};
use crate::completions::Completions;
use crate::driver::{EngineCounters, Event, Fault, Token};
use crate::payloads::{Outgoing, Payloads};
use crate::writing::Writing;

/// What became of the rest of a send.
enum Pushed {
    /// The kernel has it all.
    Whole,
    /// The kernel has no more room now.
    Waits,
    Failed(Fault),
}

impl Epoll {
    /// Hands the first bytes of a send to the kernel, or keeps it until the connection stands.
    #[inline]
    pub(super) fn begin_send(&mut self, token: Token, outgoing: Outgoing) {
        let Some(socket) = find(&mut self.sockets, token) else {
            return;
        };
        debug_assert!(
            matches!(socket.sending, Sending::Idle),
            "{token:?} has a send under way, whose rest would be lost"
        );
        if socket.stage == Stage::Connecting {
            socket.sending = Sending::Partial {
                rest: outgoing,
                taken_at: None,
            };
            return;
        }
        if socket.stage == Stage::Dead || socket.fault.is_some() {
            // Its failure is in the list that the owner is reading, or will be in the next.
            return self.payloads.finish(outgoing);
        }
        self.counters.enters += 1;
        let bytes = self.payloads.bytes(&outgoing);
        match rustix::net::send(&socket.descriptor, bytes, SendFlags::NOSIGNAL) {
            Ok(taken) if taken == bytes.len() => {
                if !outgoing.quiet {
                    socket.sending = Sending::Taken;
                    self.queued.push((token, Event::Sent));
                }
                self.payloads.finish(outgoing);
            }
            Ok(taken) => self.keep_rest(token, outgoing, taken),
            Err(Errno::AGAIN | Errno::INTR) => self.keep_rest(token, outgoing, 0),
            Err(errno) => {
                self.payloads.finish(outgoing);
                self.fail_after_reading(token, fault(errno));
            }
        }
    }

    /// The kernel has no room for all of it: the rest follows when it has.
    #[cold]
    fn keep_rest(&mut self, token: Token, mut rest: Outgoing, taken: usize) {
        let Some(socket) = find(&mut self.sockets, token) else {
            return;
        };
        rest.advance(taken);
        debug_assert!(rest.len() > 0, "a send is kept of which nothing is left");
        let taken_at = (taken > 0).then_some(self.now);
        self.counters.short_sends += u64::from(taken > 0);
        socket.sending = Sending::Partial { rest, taken_at };
        if socket.watches_output {
            return;
        }
        // Watching anew makes an edge if there is room by now.
        socket.watches_output = true;
        let watched = self
            .poller
            .modify(&socket.descriptor, data(token), interest(true));
        if let Err(errno) = watched {
            self.fail_after_reading(token, fault(errno));
        }
    }

    /// Goes on with a send for which the kernel had no room before.
    #[cold]
    pub(super) fn continue_send(&mut self, token: Token, completions: &mut Completions) {
        let Some(socket) = find(&mut self.sockets, token) else {
            return;
        };
        match push_on(socket, &self.payloads, &mut self.counters, self.now) {
            Pushed::Waits => {}
            Pushed::Whole => {
                if let Sending::Partial { rest, .. } =
                    std::mem::replace(&mut socket.sending, Sending::Idle)
                {
                    if !rest.quiet {
                        completions.push(token, Event::Sent);
                    }
                    self.payloads.finish(rest);
                    end_writing(socket, &mut self.counters);
                }
            }
            Pushed::Failed(fault) => self.fail_after_reading(token, fault),
        }
    }

    /// Goes on with the last send of a closed socket, and lets it go when that has ended.
    #[cold]
    pub(super) fn continue_lingering(&mut self, token: Token) {
        let Some(Some(socket)) = self.sockets.closing_mut(token) else {
            return;
        };
        match push_on(socket, &self.payloads, &mut self.counters, self.now) {
            Pushed::Waits => {}
            Pushed::Whole | Pushed::Failed(_) => self.release(token),
        }
    }

    /// A send failed. Bytes of the peer may still lie in the socket, such as the answer that says
    /// why it closes; they are reported first, then the failure.
    #[cold]
    fn fail_after_reading(&mut self, token: Token, fault: Fault) {
        let Some(socket) = find(&mut self.sockets, token) else {
            return;
        };
        if let Sending::Partial { rest, .. } = std::mem::replace(&mut socket.sending, Sending::Idle)
        {
            self.payloads.finish(rest);
        }
        if socket.armed && !socket.ended {
            socket.fault = Some(fault);
            socket.hung_up = true;
            socket.readable = true;
            self.list(token);
        } else {
            self.queued.push((token, Event::Failed(fault)));
        }
    }
}

/// Tells the peer that nothing follows, where that was asked for and the kernel has all.
pub(super) fn end_writing(socket: &mut Socket, counters: &mut EngineCounters) {
    if socket.writing != Writing::Ending || matches!(socket.sending, Sending::Partial { .. }) {
        return;
    }
    socket.writing = Writing::Ended;
    counters.enters += 1;
    // It fails where the connection is gone (`ENOTCONN`), which receiving reports.
    let _ = rustix::net::shutdown(&socket.descriptor, Shutdown::Write);
}

/// Gives the kernel as much of the rest as it takes.
fn push_on(
    socket: &mut Socket,
    payloads: &Payloads,
    counters: &mut EngineCounters,
    now: Time,
) -> Pushed {
    let descriptor: &OwnedFd = &socket.descriptor;
    let Sending::Partial { rest, taken_at } = &mut socket.sending else {
        return Pushed::Waits;
    };
    loop {
        counters.enters += 1;
        let bytes = payloads.bytes(rest);
        match rustix::net::send(descriptor, bytes, SendFlags::NOSIGNAL) {
            Ok(taken) if taken == bytes.len() => return Pushed::Whole,
            Ok(taken) => {
                rest.advance(taken);
                counters.short_sends += u64::from(taken_at.is_none());
                *taken_at = Some(now);
            }
            Err(Errno::AGAIN) => return Pushed::Waits,
            Err(Errno::INTR) => {}
            Err(errno) => return Pushed::Failed(fault(errno)),
        }
    }
}
