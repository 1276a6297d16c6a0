//! Handing operations to the ring, and keeping their memory alive until they have ended.
#![allow(unsafe_code)] // Connecting, sending and accepting give the kernel memory of this driver.

use std::net::SocketAddr;

use rustix::net::SocketAddrAny;

use super::name::Name;
use super::ring::File;
use super::socket::{Kind, Phase, tag, tag_number};
use super::{ACCEPTS_NAMED, ADDRESSES, Accept, Accepting, Uring};
use crate::driver::{Close, Fault, Refused, Token};
use crate::payloads::Outgoing;
use crate::writing::Writing;

impl Uring {
    /// Puts `address` where it stays until the kernel has read it. Says where.
    pub(super) fn keep_until_submitted(
        &mut self,
        address: SocketAddrAny,
    ) -> Result<usize, Refused> {
        if self.addresses.len() == ADDRESSES {
            self.ring.flush();
            if self.ring.queued() > 0 {
                return Err(Refused::Kernel(Fault::Exhausted));
            }
            self.addresses.clear();
        }
        assert!(
            self.addresses.len() < self.addresses.capacity(),
            "addresses that the kernel has yet to read would move"
        );
        self.addresses.push(address);
        Ok(self.addresses.len() - 1)
    }

    /// Connects to the address kept at `position`.
    pub(super) fn submit_connect(&mut self, socket: Token, position: usize) {
        let Some(state) = self.sockets.get_mut(socket) else {
            return;
        };
        state.operations += 1;
        self.unfinished += 1;
        let address = &raw const self.addresses[position];
        // SAFETY: `addresses` has the capacity from the start and never grows beyond it, so the
        // address stays in place, and it is cleared only when nothing is queued.
        unsafe {
            self.ring
                .connect(state.file, address, tag(Kind::Connect, socket))
        };
    }

    /// Receives on a connection until that ends.
    pub(super) fn receive(&mut self, socket: Token, poll_first: bool) {
        let Some(state) = self.sockets.get_mut(socket) else {
            return;
        };
        debug_assert!(!state.receiving, "{socket:?} has a receive under way");
        state.receiving = true;
        state.operations += 1;
        self.unfinished += 1;
        self.ring
            .receive(state.file, poll_first, tag(Kind::Receive, socket));
    }

    /// Lets those receive again that found no buffer. They wait before they pick one, as the kernel
    /// would otherwise fail at once if there were none again (`IORING_RECVSEND_POLL_FIRST`).
    pub(super) fn feed_starved(&mut self) {
        while let Some(socket) = self.starved.pop() {
            let state = self.sockets.get(socket);
            if state.is_some_and(|state| state.wanted && !state.receiving && !state.failed) {
                self.receive(socket, true);
            }
        }
    }

    /// Sends on a connection that has no unfinished send.
    pub(super) fn begin_send(&mut self, socket: Token, outgoing: Outgoing) {
        let Some(state) = self.sockets.get_mut(socket) else {
            return;
        };
        debug_assert!(
            state.sending.is_none(),
            "{socket:?} has a send under way, whose bytes would be freed"
        );
        if outgoing.quiet {
            let bytes = self.payloads.bytes(&outgoing);
            let tag = tag(Kind::QuietSend, socket);
            // SAFETY: only templates are sent quietly, and `payloads` neither changes nor frees
            // them before the ring has ended.
            unsafe { self.ring.send(state.file, bytes, true, tag) };
            return;
        }
        state.sending = Some(outgoing);
        state.operations += 1;
        self.unfinished += 1;
        self.submit_send(socket);
    }

    /// Submits what is left of the unfinished send of an open or closing socket.
    pub(super) fn submit_send(&mut self, socket: Token) {
        let Some(state) = self.sockets.taken_mut(socket) else {
            return;
        };
        let Some(outgoing) = &state.sending else {
            return;
        };
        let bytes = self.payloads.bytes(outgoing);
        let tag = tag(Kind::Send, socket);
        // SAFETY: `state.sending` owns the buffer, or names a template that lives longer than the
        // ring, and is not changed before the completion of this send; the slot is not given to
        // another socket before that either. Neither moves the bytes when it is moved itself.
        unsafe { self.ring.send(state.file, bytes, false, tag) };
    }

    /// Ends this side of a connection that has no unfinished send.
    pub(super) fn submit_shutdown(&mut self, socket: Token) {
        let Some(state) = self.sockets.get_mut(socket) else {
            return;
        };
        debug_assert!(
            state.sending.is_none() && state.writing == Writing::Ending,
            "{socket:?} is shut down before its last send, or twice"
        );
        state.writing = Writing::Ended;
        state.shutting = true;
        state.operations += 1;
        self.unfinished += 1;
        self.ring.shutdown(state.file, tag(Kind::Shutdown, socket));
    }

    /// Asks for the end of the operation of `kind` on `socket`. Its last completion still comes.
    pub(super) fn cancel(&mut self, kind: Kind, socket: Token) {
        self.ring
            .cancel(tag(kind, socket), tag_number(Kind::Ignored, 0));
    }

    /// Closes the file of a socket whose token is stale already.
    pub(super) fn close_retired(&mut self, socket: Token, how: Close) {
        let Some(state) = self.sockets.closing_mut(socket) else {
            return;
        };
        debug_assert_eq!(state.phase, Phase::Finishing, "{socket:?} is closed twice");
        state.phase = Phase::Closing;
        state.operations += 1;
        self.unfinished += 1;
        if how == Close::Reset {
            self.ring
                .set_no_linger(state.file, tag_number(Kind::Ignored, 0));
        }
        self.ring.close(state.file, tag(Kind::Close, socket));
    }

    /// Closes an accepted file that is no socket yet.
    pub(super) fn close_file(&mut self, file: File) {
        self.unfinished += 1;
        self.ring.close(file, tag_number(Kind::CloseFile, file.0));
    }

    /// Gives a listener its accept, or several that say where each peer is.
    pub(super) fn begin_accepting(&mut self, listener: Token, peers: bool) {
        let named = peers || self.accepts_singly;
        for _ in 0..if named { ACCEPTS_NAMED } else { 1 } {
            self.begin_accept(listener, (named, peers), false);
        }
    }

    /// Submits another accept of a listener; says where it stands.
    fn begin_accept(
        &mut self,
        listener: Token,
        (named, peers): (bool, bool),
        lets_in: bool,
    ) -> usize {
        let accept = Accept {
            listener,
            state: Accepting::Waiting,
            name: named.then(Name::new).into_iter().collect(),
            peers,
            lets_in,
        };
        let idle = |accept: &Accept| accept.state == Accepting::Idle;
        let position = match self.accepts.iter().position(idle) {
            Some(position) => {
                self.accepts[position] = accept;
                position
            }
            None => {
                self.accepts.push(accept);
                self.accepts.len() - 1
            }
        };
        self.accept(position);
        position
    }

    /// Asks for the end of the accept at `position`. Its last completion still comes.
    fn cancel_accept(&mut self, position: usize) {
        let target = tag_number(Kind::Accept, position as u32);
        self.ring.cancel(target, tag_number(Kind::Ignored, 0));
    }

    /// Takes what waits at a listener that is about to be closed, and doesn't wait for more. A
    /// connection that has come since the last turn has woken the accept that is cancelled now, and
    /// nobody else who waits at the same socket (`EPOLLEXCLUSIVE`, epoll_ctl(2)): it would wait
    /// there until another comes.
    fn accept_what_waits(&mut self, listener: Token, names: (bool, bool)) {
        let position = self.begin_accept(listener, names, true);
        match self.accepts[position].state {
            Accepting::UnderWay => self.cancel_accept(position),
            _ => self.accepts[position].state = Accepting::Idle,
        }
    }

    /// Submits the accept at `position`, if there is room for connections.
    pub(super) fn accept(&mut self, position: usize) {
        let fits = !self.accepts_singly || self.room_to_accept() > self.accepting();
        let accept = &mut self.accepts[position];
        let listener = self.sockets.get_mut(accept.listener);
        let Some(listener) = listener.filter(|listener| !listener.failed) else {
            accept.state = Accepting::Idle;
            return;
        };
        if !(fits && self.parked.is_empty() && self.files.accepts_fit()) {
            accept.state = Accepting::Waiting;
            return;
        }
        debug_assert_eq!(
            accept.state,
            Accepting::Waiting,
            "an accept is submitted twice"
        );
        accept.state = Accepting::UnderWay;
        listener.operations += 1;
        self.unfinished += 1;
        let tag = tag_number(Kind::Accept, position as u32);
        match accept.name.first_mut() {
            None => self.ring.accept(listener.file, tag),
            // SAFETY: the name lies in a vector of its own, which neither grows nor moves what it
            // holds; it is read when the accept has ended, and replaced or freed only then or,
            // should the kernel not end it, never.
            Some(name) => unsafe { self.ring.accept_named(listener.file, name.room(), tag) },
        }
    }

    /// Nothing is accepted while what was accepted waits for a slot: the backlog of the listener is
    /// where connections belong that cannot be served.
    pub(super) fn accepts_fit(&self) -> bool {
        self.parked.is_empty() && self.files.accepts_fit()
    }

    /// Where the peer is that the accept at `position` has brought, if somebody wants to know.
    pub(super) fn accepted_peer(&self, position: usize) -> Option<SocketAddr> {
        let accept = &self.accepts[position];
        accept.name.first().filter(|_| accept.peers)?.address()
    }

    /// Ends all accepts of one connection each for now. They run out of room together.
    pub(super) fn pause_named_accepts(&mut self) {
        for position in 0..self.accepts.len() {
            if !self.accepts[position].name.is_empty() {
                self.pause_accepting(position);
            }
        }
    }

    /// Ends an accept for now; it begins anew when a socket has been closed.
    pub(super) fn pause_accepting(&mut self, position: usize) {
        let accept = &mut self.accepts[position];
        if accept.state == Accepting::UnderWay {
            accept.state = Accepting::Pausing;
            self.cancel_accept(position);
        }
    }

    /// Ends the accepts of a listener that is about to be closed, and all else that it has.
    pub(super) fn end_listening(&mut self, listener: Token, how: Close) {
        let lets_in = how == Close::Graceful;
        let mut cancelled = Vec::new();
        for position in 0..self.accepts.len() {
            let accept = &mut self.accepts[position];
            if accept.listener != listener {
                continue;
            }
            accept.lets_in = lets_in;
            match accept.state {
                Accepting::UnderWay => {
                    cancelled.push((!accept.name.is_empty(), accept.peers));
                    self.cancel_accept(position);
                }
                Accepting::Waiting => accept.state = Accepting::Idle,
                Accepting::Pausing | Accepting::Idle => {}
            }
        }
        if lets_in {
            let again = cancelled.into_iter();
            again.for_each(|names| self.accept_what_waits(listener, names));
        }
        for parked in std::mem::take(&mut self.parked) {
            if parked.listener == listener && !lets_in {
                self.close_file(parked.file);
            } else {
                self.parked.push_back(parked);
            }
        }
        if let Some(position) = self
            .listeners
            .iter()
            .position(|other| other.token == listener)
        {
            let ended = self.listeners.swap_remove(position);
            crate::socket::forget(&ended.address, ended.inherited.is_some());
        }
    }
}
