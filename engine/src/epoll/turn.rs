//! One turn: from what the kernel signals to what the owner reads.
//!
//! First every event only leaves a note on its socket, or ends a connect or a send; then the list
//! of ready sockets is served in order, what is left over from the last turn before what is new.

use std::net::SocketAddr;

use rustix::event::epoll::EventFlags;
use rustix::io::Errno;
use rustix::net::{RecvFlags, SocketFlags, sockopt};

use super::{
    Epoll, RETRY_NS, Sending, Socket, Stage, WAKER_DATA, data, fault, find, interest, lingers,
};
use crate::completions::Completions;
use crate::driver::{Event, Fault, Token, Until};
use crate::socket;

/// How many buffers one socket may fill in a turn before it is the others' turn.
const READS_MAX: usize = 8;
/// How many connections one listener may take in a turn before it is the others' turn.
const ACCEPTS_MAX: usize = 64;

/// The flags after which no further edge announces the end of the stream.
const END: EventFlags = EventFlags::RDHUP
    .union(EventFlags::HUP)
    .union(EventFlags::ERR);

/// Whether a socket's turn is over.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Served {
    /// It is empty, or not wanted.
    Done,
    /// There may be more: again in the next turn.
    Again,
    /// There is no buffer left in this turn, for anybody.
    Starved,
}

impl Epoll {
    /// Reports what calls between turns have completed.
    pub(super) fn report_queued(&mut self, completions: &mut Completions) {
        for (token, event) in self.queued.drain(..) {
            let Some(socket) = find(&mut self.sockets, token) else {
                continue;
            };
            if socket.stage == Stage::Dead {
                continue;
            }
            match event {
                Event::Sent => {
                    debug_assert!(
                        matches!(socket.sending, Sending::Taken),
                        "{token:?} reports a send that the kernel has not taken"
                    );
                    socket.sending = Sending::Idle;
                }
                Event::Failed(_) => socket.stage = Stage::Dead,
                _ => {}
            }
            completions.push(token, event);
        }
    }

    /// `until`, or earlier where something in here waits for a time.
    pub(super) fn earlier(&self, until: Until) -> Until {
        let until = self.lingering.earlier(until);
        if self.retries.is_empty() {
            until
        } else {
            until.or_before(self.retry_at)
        }
    }

    /// Takes one event of epoll down.
    #[inline]
    pub(super) fn note(&mut self, data: u64, flags: EventFlags, completions: &mut Completions) {
        // The waker and the timer of sleeps name no slot that exists. They are to end a sleep;
        // being edge-triggered, they need not be read.
        let token = Token::new(data as u32, (data >> 32) as u32);
        let Some(socket) = find(&mut self.sockets, token) else {
            if data == WAKER_DATA {
                return completions.note_wake();
            }
            return self.continue_lingering(token);
        };
        let stage = socket.stage;
        let sends = matches!(socket.sending, Sending::Partial { .. });
        match stage {
            Stage::Open | Stage::Listening => {}
            Stage::Connecting if self.finish_connect(token, flags, completions) => {}
            Stage::Connecting | Stage::Dead => return,
        }
        if sends && flags.intersects(EventFlags::OUT | END) {
            self.continue_send(token, completions);
        }
        if flags.intersects(EventFlags::IN | END) {
            self.note_readable(token, flags.intersects(END), completions);
        }
    }

    /// Something can be read, be it only the end.
    #[inline]
    fn note_readable(&mut self, token: Token, end: bool, completions: &mut Completions) {
        let Some(socket) = find(&mut self.sockets, token) else {
            return;
        };
        socket.readable = true;
        socket.hung_up |= end;
        if socket.ended {
            // The end was read before. What is left to see is a reset.
            if end && let Err(errno) = error_of(socket) {
                fail(socket, token, fault(errno), completions);
            }
        } else if socket.armed && !socket.listed {
            socket.listed = true;
            self.ready.push_back(token);
        }
    }

    /// Serves each socket that stands in the list now once.
    pub(super) fn serve_ready(&mut self, completions: &mut Completions) {
        for _ in 0..self.ready.len() {
            let Some(token) = self.ready.pop_front() else {
                return;
            };
            // A stale token is of a socket that was closed while it stood in the list.
            let Some(socket) = find(&mut self.sockets, token) else {
                continue;
            };
            debug_assert!(socket.listed, "{token:?} stands in the list twice");
            socket.listed = false;
            let served = match socket.stage {
                Stage::Listening => self.accept_from(token, completions),
                Stage::Open if socket.armed && !socket.ended => {
                    self.receive_from(token, completions)
                }
                _ => Served::Done,
            };
            match served {
                Served::Done => {}
                Served::Again => self.list(token),
                Served::Starved => {
                    // It is first when the owner has given the buffers back.
                    self.counters.starved += 1;
                    if let Some(socket) = find(&mut self.sockets, token) {
                        socket.listed = true;
                        self.ready.push_front(token);
                    }
                    return;
                }
            }
        }
    }

    /// Reads a connection until it is empty or its share of the turn is used.
    #[inline]
    fn receive_from(&mut self, token: Token, completions: &mut Completions) -> Served {
        let Some(socket) = find(&mut self.sockets, token) else {
            return Served::Done;
        };
        for _ in 0..READS_MAX {
            let Some(mut spare) = self.pool.take() else {
                return Served::Starved;
            };
            self.counters.enters += 1;
            let buffer = self.pool.bytes_mut(&mut spare);
            let room = buffer.len();
            match rustix::net::recv(&socket.descriptor, buffer, RecvFlags::empty()) {
                Ok((length, _)) if length > 0 => {
                    self.counters.bytes_received += length as u64;
                    completions.lend(token, spare, length);
                    if length < room && !socket.hung_up {
                        socket.readable = false;
                        return Served::Done;
                    }
                }
                outcome => {
                    self.pool.give_back(std::iter::once(spare));
                    let outcome = outcome.map(|_| ());
                    if outcome != Err(Errno::INTR) {
                        end_of_reading(socket, token, outcome, completions);
                        return Served::Done;
                    }
                }
            }
        }
        Served::Again
    }

    /// Takes the connections that wait at a listener, as far as there are slots for them.
    fn accept_from(&mut self, listener: Token, completions: &mut Completions) -> Served {
        for _ in 0..ACCEPTS_MAX {
            if self.sockets.is_full() {
                self.accept_waits = true;
                return Served::Done;
            }
            let Some(socket) = find(&mut self.sockets, listener) else {
                return Served::Done;
            };
            let flags = SocketFlags::NONBLOCK | SocketFlags::CLOEXEC;
            self.counters.enters += 1;
            let accepted = if socket.peers {
                rustix::net::acceptfrom_with(&socket.descriptor, flags)
            } else {
                rustix::net::accept_with(&socket.descriptor, flags).map(|found| (found, None))
            };
            match accepted {
                Ok((descriptor, peer)) => {
                    let accepted = Socket::new(descriptor, Stage::Open, socket.watches_output);
                    // Where epoll has no room for it, it is gone, and its peer sees that.
                    if let Ok(token) = self.add(accepted) {
                        // No address of TCP where the peer is a unix(7) socket.
                        if let Some(Ok(peer)) = peer.map(SocketAddr::try_from) {
                            self.peers.note(token, peer);
                        }
                        completions.push(token, Event::Accepted { listener });
                    }
                }
                Err(Errno::AGAIN) => {
                    socket.readable = false;
                    return Served::Done;
                }
                Err(errno) => match fault(errno) {
                    // No descriptor, no memory: again when a socket of ours has closed, or at the
                    // edge that the next connection makes.
                    Fault::Exhausted => {
                        self.accept_waits = true;
                        return Served::Done;
                    }
                    fault if is_fatal(errno) => {
                        fail(socket, listener, fault, completions);
                        return Served::Done;
                    }
                    // An error of that one connection, which is gone (accept(2)).
                    _ => {}
                },
            }
        }
        Served::Again
    }

    /// Reports how a connect ended; returns whether the connection stands.
    fn finish_connect(
        &mut self,
        token: Token,
        flags: EventFlags,
        completions: &mut Completions,
    ) -> bool {
        let Some(socket) = find(&mut self.sockets, token) else {
            return false;
        };
        if !flags.intersects(EventFlags::OUT | END) {
            return false;
        }
        // Only where something is wrong is it worth asking what (connect(2), `EINPROGRESS`).
        if flags.intersects(EventFlags::ERR | EventFlags::HUP)
            && let Err(errno) = error_of(socket)
        {
            fail(socket, token, fault(errno), completions);
            return false;
        }
        socket.stage = Stage::Open;
        completions.push(token, Event::Connected);
        true
    }

    /// Ends what has waited too long and tries again what is due. Most turns: two comparisons.
    #[inline]
    pub(super) fn mind_the_waiting(&mut self, completions: &mut Completions) {
        if !self.lingering.is_empty() {
            self.end_lingering();
        }
        if !self.retries.is_empty() && self.now >= self.retry_at {
            self.retry_connects(completions);
        }
    }

    #[cold]
    fn end_lingering(&mut self) {
        while let Some(token) =
            (self.lingering).next_late(self.now, |token| lingers(&mut self.sockets, token))
        {
            if let Some(Some(socket)) = self.sockets.closing_mut(token) {
                // Where the option cannot be set it still closes, and the kernel lingers instead.
                let _ = socket::reset_on_close(&socket.descriptor);
            }
            self.release(token);
        }
    }

    #[cold]
    fn retry_connects(&mut self, completions: &mut Completions) {
        self.retry_at = self.now.plus(RETRY_NS);
        for _ in 0..self.retries.len() {
            let Some((token, address)) = self.retries.pop_front() else {
                return;
            };
            let Some(socket) = find(&mut self.sockets, token) else {
                continue;
            };
            self.counters.enters += 1;
            let attempt = socket::encode(&address)
                .and_then(|address| rustix::net::connect(&socket.descriptor, &address));
            if attempt == Err(Errno::AGAIN) {
                self.retries.push_back((token, address));
                continue;
            }
            let watched = attempt.and_then(|()| {
                self.poller.add(
                    &socket.descriptor,
                    data(token),
                    interest(socket.watches_output),
                )
            });
            match watched {
                Err(errno) => fail(socket, token, fault(errno), completions),
                Ok(()) => {
                    socket.stage = Stage::Open;
                    completions.push(token, Event::Connected);
                    self.continue_send(token, completions);
                }
            }
        }
    }
}

/// A read found no bytes: the end, nothing yet, or a failure.
fn end_of_reading(
    socket: &mut Socket,
    token: Token,
    outcome: Result<(), Errno>,
    completions: &mut Completions,
) {
    socket.readable = false;
    match (socket.fault, outcome) {
        (Some(fault), _) => fail(socket, token, fault, completions),
        (None, Ok(())) => {
            socket.ended = true;
            completions.push(token, Event::Ended);
        }
        (None, Err(Errno::AGAIN)) => {}
        (None, Err(errno)) => fail(socket, token, fault(errno), completions),
    }
}

/// Reports that a socket is dead, and nothing of it from then on.
#[cold]
fn fail(socket: &mut Socket, token: Token, fault: Fault, completions: &mut Completions) {
    socket.stage = Stage::Dead;
    completions.push(token, Event::Failed(fault));
}

/// The error that the kernel keeps for a socket (socket(7), `SO_ERROR`).
fn error_of(socket: &Socket) -> Result<(), Errno> {
    sockopt::socket_error(&socket.descriptor).unwrap_or_else(Err)
}

/// Whether a failed accept(2) says that the listener itself is no good.
fn is_fatal(errno: Errno) -> bool {
    matches!(
        errno,
        Errno::BADF | Errno::FAULT | Errno::INVAL | Errno::NOTSOCK
    )
}
