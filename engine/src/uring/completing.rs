//! What completions mean: from the kernel's results to the events of the contract.

use super::bell::Bell;
use super::ring::{Completed, File};
use super::socket::{Kind, Phase, Socket, untag};
use super::{Accepting, Parked, Uring};
use crate::completions::Completions;
use crate::driver::{Close, Event, Fault, Token};
use crate::writing::Writing;

impl Uring {
    /// Takes every completion that is there and reports what concerns the owner.
    pub(super) fn complete(&mut self, completions: &mut Completions) {
        for _ in 0..self.ring.ready() {
            let Some(completed) = self.ring.take() else {
                break;
            };
            let (kind, socket) = untag(completed.tag);
            match kind {
                Kind::Receive => self.received(socket, completed, completions),
                Kind::Send => self.sent(socket, completed.result, completions),
                Kind::QuietSend => self.quiet_send_failed(socket, completed.result, completions),
                Kind::Shutdown => self.shut_down(socket, completions),
                Kind::Connect => self.connected(socket, completed.result, completions),
                Kind::Accept => self.accepted(socket.slot(), completed, completions),
                Kind::Close => self.operation_ended(socket, completions),
                Kind::CloseFile => {
                    self.unfinished -= 1;
                    self.files.release(File(socket.slot() as u32));
                    self.retry_accepts();
                }
                Kind::Wake => {
                    completions.note_wake();
                    self.bell.iter_mut().for_each(Bell::note_wake);
                    if !completed.more {
                        self.watch_waker();
                    }
                }
                Kind::Bell if !completed.more => self.watch_bell(),
                Kind::Bell | Kind::Ignored | Kind::CancelAll => {}
            }
        }
        self.counters.completions += completions.len() as u64;
    }

    #[inline]
    fn received(&mut self, socket: Token, completed: Completed, completions: &mut Completions) {
        let spare = completed.buffer.map(|used| self.buffers.take(used));
        let Some(state) = self.sockets.get_mut(socket) else {
            self.buffers.pool().give_back(spare.into_iter());
            if !completed.more {
                self.operation_ended(socket, completions);
            }
            return;
        };
        match spare {
            Some(spare) if completed.result > 0 && !state.failed => {
                self.counters.bytes_received += completed.result as u64;
                completions.lend(socket, spare, completed.result as usize);
            }
            spare => self.buffers.pool().give_back(spare.into_iter()),
        }
        if !completed.more {
            state.receiving = false;
            state.operations -= 1;
            self.unfinished -= 1;
            self.receiving_ended(socket, completed.result, completions);
        }
    }

    /// A receive ended: what it says of the connection, and whether to start another.
    fn receiving_ended(&mut self, socket: Token, result: i32, completions: &mut Completions) {
        let Some(state) = self.sockets.get_mut(socket) else {
            return;
        };
        match -result {
            0 => {
                state.phase = Phase::Ended;
                if !state.failed {
                    completions.push(socket, Event::Ended);
                }
            }
            libc::ENOBUFS => {
                self.counters.starved += 1;
                self.buffers.note_none();
                self.starved.push(socket);
            }
            // The kernel stops at times, for fairness or because completions overflowed; and a
            // cancellation that the owner has thought better of may have come to pass.
            ..0 | libc::ECANCELED | libc::EAGAIN | libc::EINTR => {
                if state.wanted {
                    self.receive(socket, false);
                }
            }
            errno => self.fail(socket, Fault::from_errno(errno), completions),
        }
    }

    fn sent(&mut self, socket: Token, result: i32, completions: &mut Completions) {
        let Some(state) = self.sockets.taken_mut(socket) else {
            return;
        };
        let Some(mut outgoing) = state.sending.take() else {
            return;
        };
        let again = match result {
            1.. => {
                outgoing.advance(result as usize);
                outgoing.len() > 0
            }
            result => matches!(-result, libc::EAGAIN | libc::EINTR),
        };
        self.counters.short_sends += u64::from(again && result > 0);
        // A reset does not wait for what is left.
        if again && state.phase != Phase::Closing {
            state.sending = Some(outgoing);
            if result > 0 {
                self.taken_ns[socket.slot()] = self.now.0;
            }
            self.submit_send(socket);
            return;
        }
        self.payloads.finish(outgoing);
        if state.phase == Phase::Finishing {
            self.close_retired(socket, Close::Graceful);
        }
        let Some(state) = self.sockets.get_mut(socket) else {
            self.operation_ended(socket, completions);
            return;
        };
        state.operations -= 1;
        self.unfinished -= 1;
        if result <= 0 {
            self.fail(socket, Fault::from_errno(-result), completions);
        } else if !state.failed {
            let ending = state.writing == Writing::Ending;
            completions.push(socket, Event::Sent);
            if ending {
                self.submit_shutdown(socket);
            }
        }
    }

    /// This side of a connection has ended, or the connection is gone (`ENOTCONN`), which receiving
    /// reports.
    fn shut_down(&mut self, socket: Token, completions: &mut Completions) {
        let Some(state) = self.sockets.taken_mut(socket) else {
            return;
        };
        state.shutting = false;
        if state.phase == Phase::Finishing {
            self.close_retired(socket, Close::Graceful);
        }
        match self.sockets.get_mut(socket) {
            None => self.operation_ended(socket, completions),
            Some(state) => {
                state.operations -= 1;
                self.unfinished -= 1;
            }
        }
    }

    /// A quiet send completes only if it failed, or broke off: then some of it went out, and the
    /// reason is not told. Where successes aren't skipped each completes, and says nothing.
    fn quiet_send_failed(&mut self, socket: Token, result: i32, completions: &mut Completions) {
        if result > 0 && !self.ring.skips_success() {
            return; // What broke off is told by receiving.
        }
        let errno = if result < 0 { -result } else { libc::EPIPE };
        self.fail(socket, Fault::from_errno(errno), completions);
    }

    fn connected(&mut self, socket: Token, result: i32, completions: &mut Completions) {
        let Some(state) = self.sockets.get_mut(socket) else {
            self.operation_ended(socket, completions);
            return;
        };
        state.operations -= 1;
        self.unfinished -= 1;
        if result < 0 {
            self.fail(socket, Fault::from_errno(-result), completions);
            return;
        }
        state.phase = Phase::Connected;
        let wanted = state.wanted;
        completions.push(socket, Event::Connected);
        if wanted {
            // Nobody has been asked for anything yet, so there is nothing to receive.
            self.receive(socket, true);
        }
    }

    fn accepted(&mut self, position: usize, completed: Completed, completions: &mut Completions) {
        let listener = self.accepts[position].listener;
        if completed.result >= 0 {
            let file = File(completed.result as u32);
            self.files.accepted(file);
            if self.sockets.get(listener).is_some() || self.accepts[position].lets_in {
                let peer = self.accepted_peer(position);
                let accepted = Parked {
                    listener,
                    file,
                    peer,
                };
                self.take_in(accepted, completions);
            } else {
                self.close_file(file);
            }
        }
        if completed.more {
            if !self.accepts_fit() {
                self.pause_accepting(position);
            }
            return;
        }
        if let Some(state) = self.sockets.get_mut(listener) {
            state.operations -= 1;
            self.unfinished -= 1;
            self.accepts[position].state = Accepting::Waiting;
            if completed.result >= 0 {
                self.accept(position);
            } else {
                self.accept_failed(position, -completed.result, completions);
            }
            if !self.accepts_fit() {
                self.pause_named_accepts();
            }
        } else {
            self.accepts[position].state = Accepting::Idle;
            self.operation_ended(listener, completions);
        }
    }

    /// accept(2) lists errors that belong to the one connection; those are passed over. Where this
    /// host has nothing left, accepting waits for a socket to be closed. Anything else is the end.
    fn accept_failed(&mut self, position: usize, errno: i32, completions: &mut Completions) {
        let listener = self.accepts[position].listener;
        let fault = Fault::from_errno(errno);
        match errno {
            libc::ECONNABORTED
            | libc::EINTR
            | libc::EAGAIN
            | libc::EPROTO
            | libc::EPERM
            | libc::ENETDOWN
            | libc::ENOPROTOOPT
            | libc::EHOSTDOWN
            | libc::ENONET
            | libc::EHOSTUNREACH
            | libc::EOPNOTSUPP
            | libc::ENETUNREACH => self.accept(position),
            // It was paused; what it waited for may have come in the meantime.
            libc::ECANCELED => self.accept(position),
            _ if fault == Fault::Exhausted && self.sockets.taken() > self.listeners.len() => {}
            _ => self.fail(listener, fault, completions),
        }
    }

    /// Makes an accepted file a socket, or keeps it until one can be made.
    fn take_in(&mut self, accepted: Parked, completions: &mut Completions) {
        let socket = Socket::new(accepted.file, Phase::Connected);
        let Ok(socket) = self.sockets.open(socket) else {
            return self.parked.push_back(accepted);
        };
        if let Some(peer) = accepted.peer {
            self.peers.note(socket, peer);
        }
        let listener = accepted.listener;
        completions.push(socket, Event::Accepted { listener });
        self.receive(socket, false);
    }

    /// Reports the end of a socket, once.
    fn fail(&mut self, socket: Token, fault: Fault, completions: &mut Completions) {
        let Some(state) = self.sockets.get_mut(socket) else {
            return;
        };
        if !state.failed {
            state.failed = true;
            state.wanted = false;
            completions.push(socket, Event::Failed(fault));
        }
    }

    /// One operation of a closing socket has ended. With the last one its slot becomes free.
    fn operation_ended(&mut self, socket: Token, completions: &mut Completions) {
        let Some(state) = self.sockets.closing_mut(socket) else {
            return;
        };
        debug_assert!(
            state.operations > 0 && self.unfinished > 0,
            "an operation of {socket:?} ended that was not under way"
        );
        state.operations -= 1;
        self.unfinished -= 1;
        if state.operations > 0 {
            return;
        }
        debug_assert_eq!(
            state.phase,
            Phase::Closing,
            "a file that's free is still open"
        );
        assert!(
            state.sending.is_none(),
            "the kernel may still read what a slot holds that becomes free"
        );
        let file = state.file;
        self.files.release(file);
        self.sockets.free(socket.slot());
        if let Some(parked) = self.parked.pop_front() {
            self.take_in(parked, completions);
        }
        self.retry_accepts();
    }

    /// Submits the accepts that waited for something to become free.
    fn retry_accepts(&mut self) {
        for position in 0..self.accepts.len() {
            if self.accepts[position].state == Accepting::Waiting {
                self.accept(position);
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::driver::{Address, Config, Driver, Listen, SocketOptions, Until};
    use crate::features::Without;
    use crate::uring::features::Features;
    use crate::uring::ring::Ring;
    use crate::uring::socket::tag_number;

    /// More than any queue here holds.
    const FLOOD: u32 = 10_000;

    fn skipped(why: &dyn std::fmt::Debug) {
        crate::skip::skip(format!("io_uring does not open here: {why:?}"));
    }

    #[test]
    fn no_completion_is_lost_when_their_queue_overflows() {
        let mut ring = match Ring::new(256, &mut Features::without(Without::NOTHING)) {
            Ok(ring) => ring,
            Err(why) => return skipped(&why),
        };
        // Cancelling what does not exist completes at once, inside the enter that submits it.
        for number in 0..FLOOD {
            ring.cancel(u64::MAX, u64::from(number));
        }
        let (mut seen, mut overflowed) = (vec![false; FLOOD as usize], false);
        for _ in 0..FLOOD {
            overflowed |= ring.overflowed();
            ring.enter(Until::Now).expect("the ring goes on");
            while let Some(completed) = ring.take() {
                assert_eq!(completed.result, -libc::ENOENT);
                let twice = std::mem::replace(&mut seen[completed.tag as usize], true);
                assert!(!twice, "{} came twice", completed.tag);
            }
            if seen.iter().all(|seen| *seen) {
                break;
            }
        }
        let lost = seen.iter().filter(|seen| !**seen).count();
        assert_eq!(lost, 0, "completions were lost");
        assert!(overflowed, "a flood of {FLOOD} did not overflow the queue");
    }

    #[test]
    fn a_driver_whose_queue_overflowed_counts_it_and_works_on() {
        let mut uring = match super::super::open(&Config::default()) {
            Ok(uring) => uring,
            Err(why) => return skipped(&why),
        };
        for _ in 0..FLOOD {
            let ignored = tag_number(Kind::Ignored, 0);
            uring.ring.cancel(u64::MAX, ignored);
        }
        let mut completions = Completions::new();
        let listen = Listen {
            address: Address::Tcp("127.0.0.1:0".parse().expect("an address")),
            share_port: None,
            peers: false,
            backlog: 16,
            options: SocketOptions::default(),
            inherited: None,
        };
        let listener = uring.listen(&listen).expect("a listener");
        let address = uring.local_address(listener).expect("its address");
        let socket = uring.connect(&address, &SocketOptions::default());
        let socket = socket.expect("a connection");
        let (mut connected, mut accepted) = (false, false);
        for _ in 0..FLOOD {
            uring
                .wait(Until::Now, &mut completions)
                .expect("the driver works");
            for completion in completions.iter() {
                connected |= completion.socket == socket && completion.event == Event::Connected;
                accepted |= completion.event == Event::Accepted { listener };
            }
            if connected && accepted {
                break;
            }
        }
        assert!(connected && accepted, "{connected} {accepted}");
        assert!(uring.counters().overflows > 0);
    }
}
