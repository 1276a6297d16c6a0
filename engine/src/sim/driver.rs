//! The driver on the simulated network.

use std::cell::RefCell;
use std::collections::VecDeque;
use std::io;
use std::net::SocketAddr;
use std::os::fd::OwnedFd;
use std::rc::Rc;

use measure::time::Time;

use super::world::{Attendance, EndId, Note, Owner, Readable, World};
use super::{CLOCK_NS, TURN_NS};
use crate::completions::Completions;
use crate::driver::{
    Address, Broken, Capabilities, Close, Config, Driver, EngineCounters, Event, Fault, Listen,
    Payload, Refused, SocketOptions, Token, Until, alike,
};
use crate::lingering::Lingering;
use crate::payloads::{Outgoing, Payloads};
use crate::peers::Peers;
use crate::pool::Pool;
use crate::slots::{Slots, find, lingers};
use crate::waker::Waker;
use crate::writing::Writing;

/// How many buffers one socket may fill in a turn before it is the others' turn.
const READS_MAX: usize = 8;

/// A driver on a [`Network`](super::Network).
pub struct Sim {
    world: Rc<RefCell<World>>,
    /// Its number on the network.
    index: usize,
    sockets: Slots<Option<Socket>>,
    listeners: Vec<Token>,
    peers: Peers,
    /// A listener has connections for which there was no slot.
    accept_waits: bool,
    pool: Rc<Pool>,
    payloads: Payloads,
    /// What calls between turns have completed, for the next turn to report.
    queued: Vec<(Token, Event)>,
    /// Sockets that may have more to give, each at most once, in the order of their turns.
    ready: VecDeque<Token>,
    /// Closed sockets with bytes left to send.
    lingering: Lingering,
    now: Time,
    waker: Waker,
    capabilities: Capabilities,
    counters: EngineCounters,
}

#[derive(Debug)]
struct Socket {
    kind: Kind,
    sending: Sending,
    writing: Writing,
    armed: bool,
    /// Stands in the list of ready sockets.
    listed: bool,
    ended: bool,
    dead: bool,
    reset_on_close: bool,
}

#[derive(Debug)]
enum Kind {
    Listener(Address),
    Connection { end: EndId, stands: bool },
}

#[derive(Debug)]
enum Sending {
    Idle,
    /// The network has taken all; not yet reported.
    Taken,
    /// There was no room for the rest.
    Partial {
        rest: Outgoing,
        /// When a part was taken last.
        taken_at: Option<Time>,
    },
}

impl Sim {
    pub(super) fn new(world: Rc<RefCell<World>>, config: &Config) -> Sim {
        let pool = Pool::new(config.buffers, config.buffer_bytes)
            .expect("a configuration that every driver accepts");
        let (index, now) = {
            let mut world = world.borrow_mut();
            world.drivers.push(Attendance {
                alive: true,
                busy: true,
                deadline: Time::NEVER,
                turn: 0,
                notes: VecDeque::new(),
            });
            (world.drivers.len() - 1, world.now)
        };
        let features = vec!["virtual time".to_owned()];
        Sim {
            world,
            index,
            sockets: Slots::new(config.sockets),
            listeners: Vec::new(),
            peers: Peers::default(),
            accept_waits: false,
            pool,
            payloads: Payloads::default(),
            queued: Vec::new(),
            ready: VecDeque::new(),
            lingering: Lingering::new(config.linger_ns),
            now,
            waker: Waker::flag(),
            capabilities: Capabilities {
                name: "simulator",
                features,
                missing: Vec::new(),
            },
            counters: EngineCounters::default(),
        }
    }

    /// A socket of this driver, as the network knows it.
    fn owner(&self, socket: Token) -> Owner {
        Owner::Driver {
            index: self.index,
            socket,
        }
    }

    fn open(&mut self, kind: Kind, options: &SocketOptions) -> Result<Token, Refused> {
        let socket = Socket {
            kind,
            sending: Sending::Idle,
            writing: Writing::Open,
            armed: true,
            listed: false,
            ended: false,
            dead: false,
            reset_on_close: options.reset_on_close,
        };
        self.sockets
            .open(Some(socket))
            .map_err(|_| Refused::SocketsFull)
    }

    /// Puts a socket into the list of ready ones, unless it stands there.
    fn list(&mut self, token: Token) {
        if let Some(socket) = find(&mut self.sockets, token)
            && !socket.listed
        {
            socket.listed = true;
            self.ready.push_back(token);
        }
    }

    fn begin_send(&mut self, token: Token, mut outgoing: Outgoing) {
        let Some(socket) = find(&mut self.sockets, token) else {
            return;
        };
        let Kind::Connection { end, stands } = socket.kind else {
            return;
        };
        debug_assert!(
            matches!(socket.sending, Sending::Idle),
            "{token:?} has a send under way, whose rest would be lost"
        );
        if socket.dead {
            return self.payloads.finish(outgoing);
        }
        let mut world = self.world.borrow_mut();
        if world.is_reset(end) {
            // What lies unread is lost with a reset, so there is nothing to read first.
            drop(world);
            self.payloads.finish(outgoing);
            return self.list(token);
        }
        let bytes = self.payloads.bytes(&outgoing);
        let taken = if stands {
            world.send(end, bytes, !outgoing.quiet)
        } else {
            0
        };
        if taken < bytes.len() {
            outgoing.advance(taken);
            self.counters.short_sends += u64::from(taken > 0);
            socket.sending = Sending::Partial {
                rest: outgoing,
                taken_at: (taken > 0).then_some(self.now),
            };
            return;
        }
        if !outgoing.quiet {
            socket.sending = Sending::Taken;
            self.queued.push((token, Event::Sent));
        }
        self.payloads.finish(outgoing);
    }

    /// Goes on with a send; `true` when nothing of it is left.
    fn push_on(&mut self, token: Token) -> bool {
        let socket = match self.sockets.get_mut(token) {
            Some(open) => open.as_mut(),
            None => self.sockets.closing_mut(token).and_then(Option::as_mut),
        };
        let Some(socket) = socket else {
            return false;
        };
        let Kind::Connection { end, .. } = socket.kind else {
            return false;
        };
        let Sending::Partial { rest, taken_at } = &mut socket.sending else {
            return false;
        };
        let mut world = self.world.borrow_mut();
        if world.is_reset(end) {
            return false;
        }
        let bytes = self.payloads.bytes(rest);
        let taken = world.send(end, bytes, !rest.quiet);
        if taken == bytes.len() {
            return true;
        }
        rest.advance(taken);
        self.counters.short_sends += u64::from(taken > 0 && taken_at.is_none());
        if taken > 0 {
            *taken_at = Some(world.now);
        }
        false
    }

    fn continue_send(&mut self, token: Token, completions: &mut Completions) {
        if !self.push_on(token) {
            return;
        }
        let Some(socket) = find(&mut self.sockets, token) else {
            return;
        };
        if let Sending::Partial { rest, .. } = std::mem::replace(&mut socket.sending, Sending::Idle)
        {
            if !rest.quiet {
                completions.push(token, Event::Sent);
            }
            self.payloads.finish(rest);
        }
        self.end_writing(token);
    }

    /// Tells the peer that nothing follows, where that was asked for and the network has all.
    fn end_writing(&mut self, token: Token) {
        if let Some(socket) = find(&mut self.sockets, token)
            && let Kind::Connection { end, .. } = socket.kind
            && socket.writing == Writing::Ending
            && !matches!(socket.sending, Sending::Partial { .. })
        {
            socket.writing = Writing::Ended;
            self.world.borrow_mut().shut(end);
        }
    }

    /// Takes down what happened to a socket.
    fn note(&mut self, token: Token, note: Note, completions: &mut Completions) {
        let Some(socket) = find(&mut self.sockets, token) else {
            return self.continue_lingering(token);
        };
        if socket.dead {
            return;
        }
        match (note, &mut socket.kind) {
            (Note::Connected, Kind::Connection { stands, .. }) => {
                *stands = true;
                completions.push(token, Event::Connected);
                self.continue_send(token, completions);
            }
            (Note::Refused(fault), _) => fail(socket, token, fault, completions),
            (Note::Room, _) => self.continue_send(token, completions),
            (Note::Incoming | Note::Readable | Note::Connected, _) => self.list(token),
        }
    }

    /// A closed socket has bytes left to send.
    fn continue_lingering(&mut self, token: Token) {
        let Some(Some(socket)) = self.sockets.closing_mut(token) else {
            return;
        };
        let Kind::Connection { end, .. } = socket.kind else {
            return;
        };
        if self.push_on(token) || self.world.borrow().is_reset(end) {
            self.release(token, Close::Graceful);
        }
    }

    /// Resets the closed sockets that have not sent what was left in time.
    fn end_lingering(&mut self) {
        let now = self.world.borrow().now;
        while let Some(token) =
            (self.lingering).next_late(now, |token| lingers(&mut self.sockets, token))
        {
            self.release(token, Close::Reset);
        }
    }

    /// Ends a retired socket in the network and frees its slot.
    fn release(&mut self, token: Token, how: Close) {
        let Some(socket) = self.sockets.closing_mut(token).and_then(Option::take) else {
            return;
        };
        match (socket.kind, how) {
            (Kind::Listener(_), _) => {
                let owner = self.owner(token);
                self.world.borrow_mut().close_listener(owner);
                self.listeners.retain(|listener| *listener != token);
            }
            (Kind::Connection { end, .. }, Close::Graceful) if !socket.reset_on_close => {
                self.world.borrow_mut().close(end);
            }
            (Kind::Connection { end, .. }, _) => self.world.borrow_mut().reset(end),
        }
        if let Sending::Partial { rest, .. } = socket.sending {
            self.payloads.finish(rest);
        }
        self.sockets.free(token.slot());
        if std::mem::take(&mut self.accept_waits) {
            for position in 0..self.listeners.len() {
                self.list(self.listeners[position]);
            }
        }
    }

    /// Reports what calls between turns have completed.
    fn report_queued(&mut self, completions: &mut Completions) {
        for (token, event) in self.queued.drain(..) {
            if let Some(socket) = find(&mut self.sockets, token)
                && !socket.dead
            {
                socket.sending = Sending::Idle;
                completions.push(token, event);
            }
        }
    }

    /// Takes what the network has for this driver now.
    fn collect(&mut self, completions: &mut Completions) {
        self.world.borrow_mut().settle();
        loop {
            let next = self.world.borrow_mut().drivers[self.index]
                .notes
                .pop_front();
            let Some((token, note)) = next else {
                break;
            };
            self.note(token, note, completions);
        }
        for _ in 0..self.ready.len() {
            let Some(token) = self.ready.pop_front() else {
                return;
            };
            let Some(socket) = find(&mut self.sockets, token) else {
                continue;
            };
            debug_assert!(socket.listed, "{token:?} stands in the list twice");
            socket.listed = false;
            let starved = match socket.kind {
                Kind::Listener(_) => {
                    self.accept_from(token, completions);
                    false
                }
                Kind::Connection { end, .. } => self.receive_from(token, end, completions),
            };
            if starved {
                self.counters.starved += 1;
                self.list(token);
                self.ready.rotate_right(1);
                return;
            }
        }
    }

    fn accept_from(&mut self, listener: Token, completions: &mut Completions) {
        loop {
            if self.sockets.is_full() {
                self.accept_waits = true;
                return;
            }
            let owner = self.owner(listener);
            let Some(end) = self.world.borrow_mut().take_waiting(owner) else {
                return;
            };
            let kind = Kind::Connection { end, stands: true };
            let Ok(token) = self.open(kind, &SocketOptions::default()) else {
                return;
            };
            let owner = self.owner(token);
            if let Some(peer) = self.world.borrow_mut().adopt(end, owner) {
                self.peers.note(token, peer);
            }
            completions.push(token, Event::Accepted { listener });
            self.list(token);
        }
    }

    /// Reads a connection; returns whether there was no buffer for it.
    fn receive_from(&mut self, token: Token, end: EndId, completions: &mut Completions) -> bool {
        let Some(socket) = find(&mut self.sockets, token) else {
            return false;
        };
        for _ in 0..READS_MAX {
            let mut world = self.world.borrow_mut();
            let readable = world.readable(end);
            if socket.dead || readable == Readable::Nothing {
                return false;
            }
            if readable == Readable::Reset {
                // Also for who does not receive: the kernel says so too, at the latest on sending.
                fail(socket, token, Fault::Reset, completions);
                return false;
            }
            if !socket.armed || socket.ended {
                return false;
            }
            if readable == Readable::End {
                socket.ended = true;
                completions.push(token, Event::Ended);
                return false;
            }
            let Some(mut spare) = self.pool.take() else {
                return true;
            };
            let length = world.read(end, self.pool.bytes_mut(&mut spare));
            self.counters.bytes_received += length as u64;
            completions.lend(token, spare, length);
        }
        self.list(token);
        false
    }

    /// Sleeps: moves time on until something is here to report, or it is time.
    fn sleep(&mut self, until: Until, completions: &mut Completions) -> Result<(), Broken> {
        self.counters.sleeps += 1;
        let deadline = match until {
            Until::Now => return Ok(()),
            Until::Time(deadline) => deadline,
            Until::Event => Time::NEVER,
        };
        loop {
            if self.waker.take_flag() {
                completions.note_wake();
                return Ok(());
            }
            let bound = {
                let mut world = self.world.borrow_mut();
                let world = &mut *world;
                if world.now >= deadline {
                    return Ok(());
                }
                world.drivers[self.index].deadline = deadline;
                let Some(bound) = world.others_bound(self.index) else {
                    // Somebody else has work to do at this time.
                    world.drivers[self.index].busy = false;
                    return Ok(());
                };
                let next = world
                    .next_at()
                    .unwrap_or(Time::NEVER)
                    .min(deadline)
                    .min(bound);
                if next == Time::NEVER {
                    return world.stands_still(self.index);
                }
                world.now = world.now.max(next);
                next
            };
            self.collect(completions);
            if !completions.is_empty() || bound >= deadline {
                return Ok(());
            }
        }
    }
}

impl Driver for Sim {
    alike!();

    fn clock(&self) -> Time {
        let mut world = self.world.borrow_mut();
        world.now = world.now.plus(CLOCK_NS);
        world.now
    }

    fn listen(&mut self, listen: &Listen) -> Result<Token, Refused> {
        let token = self.open(Kind::Listener(listen.address.clone()), &listen.options)?;
        let owner = self.owner(token);
        let bound = self.world.borrow_mut().listen(listen, owner);
        match (bound, find(&mut self.sockets, token)) {
            (Some(address), Some(socket)) => socket.kind = Kind::Listener(address),
            _ => {
                self.sockets.retire(token).map(Option::take);
                self.sockets.free(token.slot());
                return Err(Refused::Kernel(Fault::from_errno(libc::EADDRINUSE)));
            }
        }
        self.listeners.push(token);
        Ok(token)
    }

    fn local_address(&self, socket: Token) -> Option<Address> {
        match &self.sockets.get(socket)?.as_ref()?.kind {
            Kind::Listener(address) => Some(address.clone()),
            Kind::Connection { .. } => None,
        }
    }

    fn connect(&mut self, to: &Address, options: &SocketOptions) -> Result<Token, Refused> {
        if !options.source.is_none_or(|source| source.is_loopback()) {
            return Err(Refused::Kernel(Fault::from_errno(libc::EADDRNOTAVAIL)));
        }
        if options.secure.is_some() {
            return Err(Refused::Kernel(Fault::UNSUPPORTED));
        }
        let device = options.device.as_deref();
        if device.is_some_and(|device| device != "lo") {
            return Err(Refused::Kernel(Fault::from_errno(libc::ENODEV)));
        }
        let token = self.open(
            Kind::Connection {
                end: 0,
                stands: false,
            },
            options,
        )?;
        let owner = self.owner(token);
        let begun = self.world.borrow_mut().connect(to, options, owner);
        if let Some(Socket {
            kind: Kind::Connection { end, .. },
            ..
        }) = find(&mut self.sockets, token)
        {
            *end = begun;
        }
        self.counters.enters += 1;
        Ok(token)
    }

    fn send(&mut self, socket: Token, payload: Payload) -> Result<(), Refused> {
        let refused = match find(&mut self.sockets, socket) {
            None
            | Some(Socket {
                kind: Kind::Listener(_),
                ..
            }) => Refused::Stale,
            Some(found) if found.writing != Writing::Open => Refused::ShutDown,
            Some(found) if !matches!(found.sending, Sending::Idle) => Refused::SendUnfinished,
            Some(_) => {
                let outgoing = self.payloads.accept(payload)?;
                self.counters.bytes_sent += outgoing.len() as u64;
                self.counters.enters += 1;
                self.begin_send(socket, outgoing);
                return Ok(());
            }
        };
        self.payloads.reject(payload);
        Err(refused)
    }

    fn shutdown(&mut self, socket: Token) -> Result<(), Refused> {
        match find(&mut self.sockets, socket) {
            Some(found) if matches!(found.kind, Kind::Connection { stands: true, .. }) => {
                if found.writing == Writing::Open {
                    found.writing = Writing::Ending;
                    self.end_writing(socket);
                }
                Ok(())
            }
            _ => Err(Refused::Stale),
        }
    }

    fn arm_receive(&mut self, socket: Token, armed: bool) -> Result<(), Refused> {
        match find(&mut self.sockets, socket) {
            None
            | Some(Socket {
                kind: Kind::Listener(_),
                ..
            }) => Err(Refused::Stale),
            Some(found) => {
                found.armed = armed;
                self.list(socket);
                Ok(())
            }
        }
    }

    fn close(&mut self, socket: Token, how: Close) -> Result<(), Refused> {
        let state = self.sockets.retire(socket).ok_or(Refused::Stale)?;
        let found = state.as_mut().ok_or(Refused::Stale)?;
        let has_rest = matches!(
            (&found.kind, &found.sending, how),
            (
                Kind::Connection { stands: true, .. },
                Sending::Partial { .. },
                Close::Graceful
            )
        );
        if !has_rest || found.dead {
            self.release(socket, how);
            return Ok(());
        }
        let (taken, sockets) = (self.sockets.taken(), &mut self.sockets);
        self.lingering
            .push(self.now, socket, taken, |socket| lingers(sockets, socket));
        Ok(())
    }

    fn wait(&mut self, until: Until, completions: &mut Completions) -> Result<Time, Broken> {
        completions.begin(&self.pool);
        {
            let mut world = self.world.borrow_mut();
            world.now = world.now.plus(TURN_NS);
            world.halt();
            world.drivers[self.index].busy = true;
        }
        self.counters.enters += 1;
        self.report_queued(completions);
        self.collect(completions);
        let slept = if completions.is_empty() && self.ready.is_empty() {
            self.sleep(self.lingering.earlier(until), completions)
        } else {
            Ok(())
        };
        self.end_lingering();
        let mut world = self.world.borrow_mut();
        world.turns += 1;
        let turn = world.turns;
        world.drivers[self.index].turn = turn;
        debug_assert!(self.now <= world.now, "virtual time went back");
        self.now = world.now;
        self.counters.completions += completions.len() as u64;
        slept.map(|()| self.now)
    }

    fn wake_handle(&mut self) -> io::Result<OwnedFd> {
        let why = "the simulator's time is virtual and moves only in its own `wait`: nobody can \
                   sleep elsewhere until something happens";
        Err(io::Error::new(io::ErrorKind::Unsupported, why))
    }

    fn taken_at(&self, socket: Token) -> Option<Time> {
        match self.sockets.get(socket)?.as_ref()?.sending {
            Sending::Partial { taken_at, .. } => taken_at,
            Sending::Idle | Sending::Taken => None,
        }
    }

    fn counters(&self) -> EngineCounters {
        self.counters
    }
}

impl Drop for Sim {
    /// As when a process ends: its sockets close.
    fn drop(&mut self) {
        let mut world = self.world.borrow_mut();
        for socket in self.sockets.states().flatten() {
            match socket.kind {
                Kind::Listener(_) => {}
                Kind::Connection { end, .. } if socket.reset_on_close => world.reset(end),
                Kind::Connection { end, .. } => world.close(end),
            }
        }
        for &listener in &self.listeners {
            world.close_listener(self.owner(listener));
        }
        let mine = &mut world.drivers[self.index];
        mine.alive = false;
        mine.notes.clear();
    }
}

/// Reports that a socket is dead, and nothing of it from then on.
fn fail(socket: &mut Socket, token: Token, fault: Fault, completions: &mut Completions) {
    socket.dead = true;
    completions.push(token, Event::Failed(fault));
}
