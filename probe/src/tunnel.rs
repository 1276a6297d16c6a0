//! A driver around a driver that first has each connection led on by whoever it is made to: it says
//! something, reads the answer, and only then tells its owner that the connection stands. What is
//! said and what the answer means its owner gives it as an [`Opening`]; no protocol is known here.
//!
//! It stands below TLS, which then shakes hands with the other end of the tunnel. A connection that
//! stands is the inner driver's alone: nothing of it is kept here.
//!
//! The inner driver is called through a table, so that a tunnel costs one more copy of the loops
//! and not one for each driver. Those who use none don't pay for that.

use std::io;
use std::net::SocketAddr;
use std::os::fd::OwnedFd;
use std::sync::Arc;

use measure::time::Time;

use engine::secured::Secured;
use engine::{
    Address, Broken, Capabilities, Close, Completion, Completions, Driver, EngineCounters, Event,
    Fault, Listen, Payload, Refused, SocketOptions, Template, Token, TunnelFault, Until, Waker,
};

/// How a tunnel is asked for.
#[derive(Clone, Debug)]
pub struct Opening {
    /// What is said on each connection, by [`SocketOptions::peer`]; none of it is empty.
    pub said: Vec<Arc<[u8]>>,
    /// What all of that means which has come so far.
    pub read: fn(&[u8]) -> Answered,
}

impl Opening {
    /// What is said on a connection to this one of the peers.
    pub(crate) fn said_to(&self, peer: u16) -> &[u8] {
        let said = &self.said;
        &said[usize::from(peer) % said.len()]
    }
}

/// What an answer means.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Answered {
    /// It isn't whole.
    More,
    /// The tunnel stands; so many bytes were the answer, and the rest came through it.
    Open(usize),
    /// There is none.
    Not(TunnelFault),
}

/// See the module and [`Driver`].
pub struct Tunnel {
    inner: Box<dyn Driver>,
    opening: Opening,
    /// By slot, those that don't stand yet or never will.
    pending: Vec<Option<Box<Pending>>>,
    /// How many these are.
    count: usize,
    /// The inner driver's completions of this turn.
    reported: Vec<Completion>,
}

#[derive(Debug)]
struct Pending {
    token: Token,
    stage: Stage,
    /// Which of the peers it is to lead to.
    peer: u16,
    received: Vec<u8>,
    /// The inner driver has taken what is said.
    sent: bool,
    /// How long the answer was, once it is known to be a good one.
    answer_bytes: Option<usize>,
    /// The peer's end came behind the answer.
    ended: bool,
    /// The owner wants to receive.
    armed: bool,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Stage {
    Connecting,
    Asking,
    /// Its failure was reported; the owner will close it.
    Dead,
}

impl Tunnel {
    /// Opens every connection so.
    pub fn new(driver: Box<dyn Driver>, opening: Opening) -> Tunnel {
        Tunnel {
            inner: driver,
            opening,
            pending: Vec::new(),
            count: 0,
            reported: Vec::new(),
        }
    }

    fn find(&mut self, socket: Token) -> Option<&mut Pending> {
        let found = self.pending.get_mut(socket.slot())?.as_deref_mut()?;
        (found.token == socket).then_some(found)
    }

    fn forget(&mut self, socket: Token) -> Option<Box<Pending>> {
        let place = self.pending.get_mut(socket.slot())?;
        let gone = place.take_if(|found| found.token == socket)?;
        self.count -= 1;
        Some(gone)
    }

    /// Makes of one completion of the inner driver what the owner is to see.
    fn pass_on(&mut self, socket: Token, event: Event, completions: &mut Completions) {
        let Some(found) = self.find(socket) else {
            return completions.push(socket, event);
        };
        match event {
            _ if found.stage == Stage::Dead => {}
            Event::Connected => self.ask(socket),
            Event::Sent => {
                found.sent = true;
                self.settle(socket, completions);
            }
            Event::Received(lent) => {
                found.received.extend_from_slice(completions.bytes(lent));
                self.read(socket, completions);
            }
            Event::Ended if found.answer_bytes.is_some() => found.ended = true,
            Event::Ended => self.fail(socket, Fault::Tunnel(TunnelFault::Closed), completions),
            Event::Failed(Fault::Reset | Fault::BrokenPipe) if found.stage == Stage::Asking => {
                self.fail(socket, Fault::Tunnel(TunnelFault::Closed), completions);
            }
            Event::Failed(fault) => self.fail(socket, fault, completions),
            Event::Accepted { .. } => completions.push(socket, event),
        }
    }

    fn ask(&mut self, socket: Token) {
        let Some(found) = self.find(socket) else {
            return;
        };
        found.stage = Stage::Asking;
        let peer = found.peer;
        let mut said = self.inner.buffer();
        said.extend_from_slice(self.opening.said_to(peer));
        // It refuses only sockets that have failed, which it has reported or will.
        let _ = self.inner.send(socket, Payload::Buffer(said));
    }

    fn read(&mut self, socket: Token, completions: &mut Completions) {
        let read = self.opening.read;
        let Some(found) = self.find(socket) else {
            return;
        };
        if found.answer_bytes.is_some() {
            return;
        }
        match read(&found.received) {
            Answered::More => {}
            Answered::Open(bytes) => {
                found.answer_bytes = Some(bytes);
                self.settle(socket, completions);
            }
            Answered::Not(fault) => self.fail(socket, Fault::Tunnel(fault), completions),
        }
    }

    /// Hands a connection over once what was said has left, since an owner may send at once, and
    /// the answer is a good one.
    fn settle(&mut self, socket: Token, completions: &mut Completions) {
        let is_open = |found: &mut Pending| Some(found.answer_bytes?).filter(|_| found.sent);
        let Some(bytes) = self.find(socket).and_then(is_open) else {
            return;
        };
        let Some(gone) = self.forget(socket) else {
            return;
        };
        completions.push(socket, Event::Connected);
        match gone.received.get(bytes..) {
            None | Some([]) => {}
            Some(behind) => completions.lend_copy(socket, behind),
        }
        if gone.ended {
            completions.push(socket, Event::Ended);
        }
        if !gone.armed {
            // The socket is open, so there is nothing to refuse.
            let _ = self.inner.arm_receive(socket, false);
        }
    }

    fn fail(&mut self, socket: Token, fault: Fault, completions: &mut Completions) {
        if let Some(found) = self.find(socket) {
            found.stage = Stage::Dead;
            found.received = Vec::new();
            completions.push(socket, Event::Failed(fault));
        }
    }
}

impl Driver for Tunnel {
    fn now(&self) -> Time {
        self.inner.now()
    }

    fn clock(&self) -> Time {
        self.inner.clock()
    }

    fn listen(&mut self, listen: &Listen) -> Result<Token, Refused> {
        self.inner.listen(listen)
    }

    fn local_address(&self, socket: Token) -> Option<Address> {
        self.inner.local_address(socket)
    }

    fn peer_address(&self, socket: Token) -> Option<SocketAddr> {
        self.inner.peer_address(socket)
    }

    fn connect(&mut self, to: &Address, options: &SocketOptions) -> Result<Token, Refused> {
        let token = self.inner.connect(to, options)?;
        let slot = token.slot();
        if self.pending.len() <= slot {
            self.pending.resize_with(slot + 1, || None);
        }
        let before = self.pending[slot].replace(Box::new(Pending {
            token,
            stage: Stage::Connecting,
            peer: options.peer,
            received: Vec::new(),
            sent: false,
            answer_bytes: None,
            ended: false,
            armed: true,
        }));
        debug_assert!(
            before.is_none(),
            "slot {slot} was given out while it was kept"
        );
        self.count += 1;
        Ok(token)
    }

    fn register(&mut self, bytes: &[u8]) -> Result<Template, Refused> {
        self.inner.register(bytes)
    }

    fn buffer(&mut self) -> Vec<u8> {
        self.inner.buffer()
    }

    fn recycle(&mut self, buffer: Vec<u8>) {
        self.inner.recycle(buffer);
    }

    #[inline]
    fn send(&mut self, socket: Token, payload: Payload) -> Result<(), Refused> {
        let stage = match self.count {
            0 => None,
            _ => self.find(socket).map(|found| found.stage),
        };
        let Some(stage) = stage else {
            return self.inner.send(socket, payload);
        };
        if let Payload::Buffer(bytes) = payload {
            self.inner.recycle(bytes);
        }
        match stage {
            // Its failure is in the list that the owner is reading.
            Stage::Dead => Ok(()),
            Stage::Connecting | Stage::Asking => Err(Refused::Stale),
        }
    }

    fn shutdown(&mut self, socket: Token) -> Result<(), Refused> {
        match self.find(socket).map(|found| found.stage) {
            None => self.inner.shutdown(socket),
            // Its failure is in the list that the owner is reading.
            Some(Stage::Dead) => Ok(()),
            Some(Stage::Connecting | Stage::Asking) => Err(Refused::Stale),
        }
    }

    fn arm_receive(&mut self, socket: Token, armed: bool) -> Result<(), Refused> {
        match self.find(socket) {
            // The opening itself goes on receiving; see `settle`.
            Some(found) => {
                found.armed = armed;
                Ok(())
            }
            None => self.inner.arm_receive(socket, armed),
        }
    }

    fn close(&mut self, socket: Token, how: Close) -> Result<(), Refused> {
        self.forget(socket);
        self.inner.close(socket, how)
    }

    fn wait(&mut self, until: Until, completions: &mut Completions) -> Result<Time, Broken> {
        loop {
            let now = self.inner.wait(until, completions)?;
            if self.count == 0 {
                return Ok(now);
            }
            completions.exchange(&mut self.reported);
            let worked = !self.reported.is_empty();
            for position in 0..self.reported.len() {
                let Completion { socket, event } = self.reported[position];
                self.pass_on(socket, event, completions);
            }
            self.reported.clear();
            // What was only this module's business does not end the owner's sleep; a wake does,
            // and it comes but once.
            let early = match until {
                Until::Now => false,
                Until::Time(deadline) => now < deadline,
                Until::Event => true,
            };
            if !(worked && early && completions.is_empty()) || completions.has_wake() {
                return Ok(now);
            }
        }
    }

    fn linger_ns(&self) -> u64 {
        self.inner.linger_ns()
    }

    fn taken_at(&self, socket: Token) -> Option<Time> {
        self.inner.taken_at(socket)
    }

    fn secured(&self, socket: Token) -> Option<Secured> {
        self.inner.secured(socket)
    }

    fn is_shaking_hands(&self, socket: Token) -> bool {
        self.inner.is_shaking_hands(socket)
    }

    fn is_tunnelling(&self, socket: Token) -> bool {
        let found = self.pending.get(socket.slot());
        let found = found.and_then(Option::as_deref);
        found.is_some_and(|found| found.token == socket && found.stage == Stage::Asking)
    }

    fn waker(&self) -> Waker {
        self.inner.waker()
    }

    fn wake_handle(&mut self) -> io::Result<OwnedFd> {
        self.inner.wake_handle()
    }

    fn doze(&mut self) -> Result<Option<Time>, Broken> {
        self.inner.doze()
    }

    fn capabilities(&self) -> &Capabilities {
        self.inner.capabilities()
    }

    fn counters(&self) -> EngineCounters {
        self.inner.counters()
    }
}

#[cfg(test)]
mod tests;
