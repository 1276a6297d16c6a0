//! As many rings as descriptors need, driven by one thread.
//!
//! A table of files may not be longer than the limit of open files (`RLIMIT_NOFILE`), which nobody
//! can raise everywhere. But the limit holds for each table: so a driver that is to have more
//! sockets than one ring holds opens further rings as it needs them. A token says by its slot which
//! ring it's of. With one ring there is nothing of all this but a comparison.
//!
//! # Sleeping
//!
//! A turn is over all rings that have something to do, which their queues say without a system
//! call, and reports what the first of them brings that has something. If none has, the first ring
//! sleeps for all: the others ring a bell, an eventfd(2) that the first one polls. Where the owner
//! sleeps elsewhere, he sleeps on that bell.
//!
//! # Accepting
//!
//! One ring at a time accepts at a listening socket, until it's nearly full; then the next one that
//! has room does. So no ring refuses what another could take. It takes connections one by one: a
//! multishot accept would bring all that wait in the queue of the socket in one turn, more than
//! there is room for.

use std::io;
use std::net::SocketAddr;
use std::os::fd::OwnedFd;

use measure::time::Time;
use rustix::event::{EventfdFlags, PollFd, PollFlags, Timespec, eventfd, poll};
use rustix::io::Errno;

use super::{ACCEPTS_NAMED, Uring, broken};
use crate::completions::Completions;
use crate::descriptors;
use crate::driver::{
    Address, Broken, Capabilities, Close, Config, Driver, EngineCounters, Event, Listen, Listening,
    OpenError, Payload, Refused, SocketOptions, Template, Token, Until,
};
use crate::socket as sockets;
use crate::waker::Waker;

/// Where a further ring couldn't be opened, it's tried again after so long.
const OPENS_AGAIN_NS: u64 = 1_000_000_000;

/// A ring that accepts is nearly full with fewer places than this for each listener, and as many
/// beyond: each of its accepts may bring a connection, and one listener's must not keep another's
/// from their place.
const NEARLY_FULL: usize = ACCEPTS_NAMED;

/// How many more places than a ring that is nearly full another has at least to take a listener
/// over, unless the one has none.
const WORTH_IT: usize = ACCEPTS_NAMED;

/// A driver on io_uring for any number of sockets. See the module, and [`Driver`].
pub struct Rings {
    first: Uring,
    others: Vec<Uring>,
    /// Places of each ring.
    each: usize,
    /// What was asked for, for all rings together.
    config: Config,
    /// What each ring registers.
    templates: Vec<Box<[u8]>>,
    outgoing: usize,
    /// How many rings there may be.
    most: usize,
    /// Before that no further one is opened.
    opens_again: Time,
    listeners: Vec<Listener>,
    /// The bell of all rings but the first, or of all; none while there is one ring.
    bell: Option<OwnedFd>,
    /// Whether the owner sleeps elsewhere.
    has_handle: bool,
    /// Which ring is looked at first in the next turn.
    next: usize,
    /// Which ring was looked at last.
    last: usize,
    now: Time,
    /// Sleeps on the bell, which no ring counts.
    sleeps: u64,
}

/// A listener, which one ring accepts at.
struct Listener {
    token: Token,
    listen: Listen,
    /// It was opened here, and what it has left in the file system goes with it.
    made_here: bool,
    /// That ring.
    at: usize,
    /// What each ring calls it, or called it last, that ever accepted here.
    tokens: Vec<Option<Token>>,
}

impl Listener {
    fn note(&mut self, at: usize, token: Token) {
        if self.tokens.len() <= at {
            self.tokens.resize(at + 1, None);
        }
        self.tokens[at] = Some(token);
    }
}

/// How many places a ring has here.
fn places_of_one() -> usize {
    descriptors::places_of_a_ring(descriptors::raise_limit(u64::MAX))
}

/// Opens a driver for the calling thread.
///
/// # Errors
///
/// [`OpenError`] names the kernel feature, sysctl, seccomp rule or limit that is in the way.
pub fn open(config: &Config) -> Result<Rings, OpenError> {
    open_with(config, places_of_one())
}

/// Opens a driver whose rings have so many places, for tests.
///
/// # Errors
///
/// As [`open`].
pub fn open_with(config: &Config, each: usize) -> Result<Rings, OpenError> {
    let each = each.min(config.sockets).max(1);
    let most = config.sockets.div_ceil(each);
    let mut first = super::open(&of_one(config, each))?;
    first.accepts_singly = most > 1;
    Ok(Rings {
        now: first.now,
        first,
        others: Vec::new(),
        each,
        most,
        opens_again: Time(0),
        config: config.clone(),
        templates: Vec::new(),
        outgoing: 0,
        listeners: Vec::new(),
        bell: None,
        has_handle: false,
        next: 0,
        last: 0,
        sleeps: 0,
    })
}

fn of_one(config: &Config, each: usize) -> Config {
    Config {
        sockets: each,
        ..config.clone()
    }
}

impl Driver for Rings {
    fn now(&self) -> Time {
        self.now
    }

    fn clock(&self) -> Time {
        self.first.clock()
    }

    fn expect_outgoing(&mut self, sockets: usize) {
        self.outgoing = sockets;
        self.first.expect_outgoing(sockets);
    }

    fn listen(&mut self, listen: &Listen) -> Result<Token, Refused> {
        if self.most == 1 {
            return self.first.listen(listen);
        }
        // All rings accept at one socket, which this keeps open for those that come.
        let at = self.roomiest(1, Uring::room_to_open);
        let (mut listen, mut made_here) = (listen.clone(), false);
        if listen.inherited.is_none() {
            let listening = Listening::of(&listen).map_err(super::refused)?;
            listen.address = listening.address().clone();
            listen.inherited = Some(listening);
            made_here = true;
        }
        let token = self.ring(at).listen(&listen)?;
        let mut listener = Listener {
            token: self.named(at, token),
            listen,
            made_here,
            at,
            tokens: Vec::new(),
        };
        listener.note(at, token);
        let token = listener.token;
        self.listeners.push(listener);
        Ok(token)
    }

    fn local_address(&self, socket: Token) -> Option<Address> {
        if self.most == 1 {
            return self.first.local_address(socket);
        }
        let mut listeners = self.listeners.iter();
        let listener = listeners.find(|one| one.token == socket)?;
        Some(listener.listen.address.clone())
    }

    fn peer_address(&self, socket: Token) -> Option<SocketAddr> {
        let (ring, token) = self.find(socket)?;
        ring.peer_address(token)
    }

    fn connect(&mut self, to: &Address, options: &SocketOptions) -> Result<Token, Refused> {
        if self.most == 1 {
            return self.first.connect(to, options);
        }
        if self.ring(self.last).room_to_open() == 0 {
            self.last = self.roomiest(1, Uring::room_to_open);
        }
        let at = self.last;
        let token = self.ring(at).connect(to, options)?;
        Ok(self.named(at, token))
    }

    fn register(&mut self, bytes: &[u8]) -> Result<Template, Refused> {
        let template = self.first.register(bytes)?;
        for ring in &mut self.others {
            ring.register(bytes)?;
        }
        if self.most > 1 {
            self.templates.push(bytes.into());
        }
        Ok(template)
    }

    #[inline]
    fn buffer(&mut self) -> Vec<u8> {
        self.ring(self.last).buffer()
    }

    fn recycle(&mut self, buffer: Vec<u8>) {
        self.ring(self.last).recycle(buffer);
    }

    #[inline]
    fn send(&mut self, socket: Token, payload: Payload) -> Result<(), Refused> {
        match self.find_mut(socket) {
            Some((ring, token)) => ring.send(token, payload),
            None => self.first.send(Token::NOBODYS, payload),
        }
    }

    fn shutdown(&mut self, socket: Token) -> Result<(), Refused> {
        let (ring, token) = self.find_mut(socket).ok_or(Refused::Stale)?;
        ring.shutdown(token)
    }

    fn arm_receive(&mut self, socket: Token, armed: bool) -> Result<(), Refused> {
        let (ring, token) = self.find_mut(socket).ok_or(Refused::Stale)?;
        ring.arm_receive(token, armed)
    }

    fn close(&mut self, socket: Token, how: Close) -> Result<(), Refused> {
        let found = self.listeners.iter().position(|one| one.token == socket);
        if let Some(found) = found {
            return self.close_listener(found, how);
        }
        let (ring, token) = self.find_mut(socket).ok_or(Refused::Stale)?;
        ring.close(token, how)
    }

    #[inline]
    fn wait(&mut self, until: Until, completions: &mut Completions) -> Result<Time, Broken> {
        if self.others.is_empty() {
            self.now = self.first.wait(until, completions)?;
            if self.most > 1 {
                self.look_at_listeners();
            }
            return Ok(self.now);
        }
        self.wait_for_all(until, completions)
    }

    fn linger_ns(&self) -> u64 {
        self.config.linger_ns
    }

    fn taken_at(&self, socket: Token) -> Option<Time> {
        let (ring, token) = self.find(socket)?;
        ring.taken_at(token)
    }

    fn waker(&self) -> Waker {
        self.first.waker()
    }

    fn wake_handle(&mut self) -> io::Result<OwnedFd> {
        let had_handle = std::mem::replace(&mut self.has_handle, true);
        if let (Some(bell), false) = (&self.bell, had_handle) {
            let bell = bell.try_clone()?;
            self.first.leave_bell()?;
            self.first.ring_bell(bell, true)?;
        }
        self.first.wake_handle()
    }

    fn doze(&mut self) -> Result<Option<Time>, Broken> {
        let mut until = Time::NEVER;
        for at in 0..=self.others.len() {
            match self.ring(at).doze()? {
                None => return Ok(None),
                Some(end) => until = until.min(end),
            }
        }
        Ok(Some(until))
    }

    fn capabilities(&self) -> &Capabilities {
        self.first.capabilities()
    }

    fn counters(&self) -> EngineCounters {
        let mut sum = self.first.counters();
        sum.sleeps += self.sleeps;
        for ring in &self.others {
            sum.add(&ring.counters());
        }
        sum
    }
}

impl Rings {
    #[inline]
    fn ring(&mut self, at: usize) -> &mut Uring {
        match at {
            0 => &mut self.first,
            at => &mut self.others[at - 1],
        }
    }

    /// The ring that a socket is of, and what it's called there.
    #[inline]
    fn find(&self, socket: Token) -> Option<(&Uring, Token)> {
        if socket.slot() < self.each {
            return Some((&self.first, socket));
        }
        let ring = self.others.get(socket.slot() / self.each - 1)?;
        Some((ring, self.unnamed(socket)))
    }

    #[inline]
    fn find_mut(&mut self, socket: Token) -> Option<(&mut Uring, Token)> {
        if socket.slot() < self.each {
            return Some((&mut self.first, socket));
        }
        let token = self.unnamed(socket);
        let ring = self.others.get_mut(socket.slot() / self.each - 1)?;
        Some((ring, token))
    }

    fn unnamed(&self, socket: Token) -> Token {
        Token::new((socket.slot() % self.each) as u32, socket.generation())
    }

    /// What a socket of a ring is called outside.
    #[inline]
    fn named(&self, at: usize, socket: Token) -> Token {
        let slot = socket.slot() + at * self.each;
        Token::new(slot as u32, socket.generation())
    }

    /// The ring with the most room; another one, if there can be one, where that is less than so
    /// much.
    fn roomiest(&mut self, wanted: usize, room: fn(&Uring) -> usize) -> usize {
        let rings = self.others.len() + 1;
        let (mut best, mut most) = (0, room(&self.first));
        for (at, ring) in (1..).zip(&self.others) {
            if room(ring) > most {
                (best, most) = (at, room(ring));
            }
        }
        if most >= wanted || rings == self.most || self.now < self.opens_again {
            return best;
        }
        match self.open_another() {
            Ok(()) => rings,
            Err(_) => {
                // Without memory or descriptors for another, this driver goes on with what it has.
                self.opens_again = self.now.plus(OPENS_AGAIN_NS);
                best
            }
        }
    }

    fn open_another(&mut self) -> Result<(), Broken> {
        let why = |error: &dyn std::fmt::Display| Broken(error.to_string());
        // The last one has what is left.
        let taken = (self.others.len() + 1) * self.each;
        let places = self.each.min(self.config.sockets - taken);
        let opened = super::open(&of_one(&self.config, places));
        let mut ring = opened.map_err(|error| why(&error))?;
        ring.accepts_singly = true;
        for template in &self.templates {
            let registered = ring.register(template);
            registered.map_err(|_| Broken("a template was refused".into()))?;
        }
        ring.expect_outgoing(self.outgoing);
        let bell = match &self.bell {
            Some(bell) => bell.try_clone(),
            None => self.first_bell(),
        };
        let bell = bell.map_err(|error| why(&error))?;
        ring.ring_bell(bell, false).map_err(|error| why(&error))?;
        self.others.push(ring);
        Ok(())
    }

    /// Makes the bell, which the first ring listens to, or rings as well.
    fn first_bell(&mut self) -> io::Result<OwnedFd> {
        let bell = match self.has_handle {
            true => self.first.wake_handle()?,
            false => eventfd(0, EventfdFlags::CLOEXEC | EventfdFlags::NONBLOCK)?,
        };
        let copy = bell.try_clone()?;
        if !self.has_handle {
            self.first.hear_bell(bell.try_clone()?);
        }
        self.bell = Some(bell);
        Ok(copy)
    }

    fn wait_for_all(
        &mut self,
        until: Until,
        completions: &mut Completions,
    ) -> Result<Time, Broken> {
        completions.begin(self.first.buffers.pool());
        if self.look_at_all(completions)? {
            return Ok(self.now);
        }
        if until != Until::Now {
            let asleep = self.sleep(until, completions)?;
            if !asleep || self.look_at_all(completions)? {
                return Ok(self.now);
            }
        }
        self.now = Time::now();
        Ok(self.now)
    }

    /// Gives each ring that has something to do a turn, until one brings something. Says whether
    /// one did.
    fn look_at_all(&mut self, completions: &mut Completions) -> Result<bool, Broken> {
        let rings = self.others.len() + 1;
        for step in 0..rings {
            let at = (self.next + step) % rings;
            let now = self.now;
            if self.ring(at).has_work(now) && self.turn(at, Until::Now, completions)? {
                self.next = (at + 1) % rings;
                return Ok(true);
            }
        }
        Ok(false)
    }

    /// A turn of one ring. Says whether it brought something.
    fn turn(
        &mut self,
        at: usize,
        until: Until,
        completions: &mut Completions,
    ) -> Result<bool, Broken> {
        self.now = self.ring(at).wait(until, completions)?;
        self.last = at;
        let (each, listeners) = (self.each, &self.listeners);
        let outer = |token: Token| {
            let listener = listeners.iter().find(|one| {
                let known = one.tokens.get(at);
                known.is_some_and(|known| *known == Some(token))
            });
            match listener {
                Some(listener) => listener.token,
                None => Token::new((token.slot() + at * each) as u32, token.generation()),
            }
        };
        completions.rename(|completion| {
            // Few of them are of listeners.
            match &mut completion.event {
                Event::Accepted { listener } => *listener = outer(*listener),
                Event::Failed(_) => {
                    completion.socket = outer(completion.socket);
                    return;
                }
                _ => {}
            }
            let socket = completion.socket;
            completion.socket = Token::new((socket.slot() + at * each) as u32, socket.generation());
        });
        self.look_at_listeners();
        Ok(!completions.is_empty() || completions.has_wake())
    }

    /// Sleeps until a ring has something to do. Says whether the others are to be looked at: not if
    /// the first ring has brought something.
    fn sleep(&mut self, until: Until, completions: &mut Completions) -> Result<bool, Broken> {
        let mut until = until;
        for at in usize::from(!self.has_handle)..=self.others.len() {
            match self.ring(at).doze()? {
                None => return Ok(true),
                Some(end) => until = until.or_before(end),
            }
        }
        if !self.has_handle {
            return Ok(!self.turn(0, until, completions)?);
        }
        self.sleeps += 1;
        self.sleep_on_bell(until).map_err(broken)?;
        self.now = Time::now();
        Ok(true)
    }

    fn sleep_on_bell(&self, until: Until) -> Result<(), Errno> {
        let Some(bell) = &self.bell else {
            return Ok(());
        };
        let left = match until {
            Until::Event => None,
            Until::Now => Some(Time(0)),
            Until::Time(end) => Some(Time(end.since(Time::now()))),
        };
        let left = left.map(|left| Timespec {
            tv_sec: (left.0 / 1_000_000_000) as i64,
            tv_nsec: (left.0 % 1_000_000_000) as _,
        });
        let mut ears = [PollFd::new(bell, PollFlags::IN)];
        match poll(&mut ears, left.as_ref()) {
            Ok(_) | Err(Errno::INTR) => {}
            Err(errno) => return Err(errno),
        }
        let _ = rustix::io::read(bell, &mut [0; 8]);
        Ok(())
    }

    /// Passes listeners on at which a ring accepts that is nearly full, if another has room.
    #[inline]
    fn look_at_listeners(&mut self) {
        for position in 0..self.listeners.len() {
            let at = self.listeners[position].at;
            if self.ring(at).room_to_accept() < self.nearly_full() {
                self.pass_on(position, at);
            }
        }
    }

    fn nearly_full(&self) -> usize {
        NEARLY_FULL * (self.listeners.len() + 1)
    }

    #[cold]
    fn pass_on(&mut self, position: usize, from: usize) {
        let to = self.roomiest(self.nearly_full() + WORTH_IT, Uring::room_to_accept);
        let (left, there) = (
            self.ring(from).room_to_accept(),
            self.ring(to).room_to_accept(),
        );
        // The listener itself takes a place there.
        if there < left + WORTH_IT && (left > 0 || there < 2) {
            return; // All are full: this one waits until a connection ends.
        }
        let listen = self.listeners[position].listen.clone();
        let Ok(token) = self.ring(to).listen(&listen) else {
            return;
        };
        let listener = &mut self.listeners[position];
        listener.at = to;
        listener.note(to, token);
        if let Some(before) = listener.tokens[from] {
            // What has come there by now is let in.
            let _ = self.ring(from).close(before, Close::Graceful);
        }
    }

    fn close_listener(&mut self, position: usize, how: Close) -> Result<(), Refused> {
        let listener = self.listeners.swap_remove(position);
        sockets::forget(&listener.listen.address, !listener.made_here);
        match listener.tokens[listener.at] {
            Some(token) => self.ring(listener.at).close(token, how),
            None => Err(Refused::Stale),
        }
    }
}

impl Drop for Rings {
    fn drop(&mut self) {
        for listener in &self.listeners {
            sockets::forget(&listener.listen.address, !listener.made_here);
        }
    }
}
