//! The driver on io_uring(7).
//!
//! (essay)

mod buffers;
mod completing;
mod features;
mod files;
mod opening;
mod ring;
mod socket;
mod submitting;

use std::collections::VecDeque;
use std::mem;
use std::os::fd::{AsRawFd, IntoRawFd, OwnedFd};
use std::rc::Rc;

use measure::time::Time;
use rustix::io::Errno;
use rustix::net::SocketAddrAny;

use self::buffers::ReceiveBuffers;
pub use self::features::Feature;
use self::features::Features;
use self::files::Files;
use self::ring::{File, Ring, Sleep};
use self::socket::{Kind, Phase, Socket, tag_number};
use crate::completions::Completions;
use crate::driver::{
    Address, Broken, Capabilities, Close, Config, Driver, EngineCounters, Fault, Listen, OpenError,
    Payload, Refused, SocketOptions, Template, Token, Until,
};
use crate::payloads::Payloads;
use crate::slots::Slots;
use crate::socket as sockets;
use crate::waker::Waker;

/// How many accepts a listener has under way, and so how many connections it takes in one turn.
const ACCEPTS: usize = 8;

/// How many destinations of connects may wait for their submission.
const ADDRESSES: usize = 256;

/// A driver on io_uring. See the module.
///
/// The fields stand in the order in which they are dropped: the ring first, then what the kernel
/// has been told to use.
pub struct Uring {
    ring: Ring,
    buffers: ReceiveBuffers,
    sockets: Slots<Socket>,
    payloads: Payloads,
    /// Where connects go; read by the kernel when it takes the submission.
    addresses: Vec<SocketAddrAny>,
    files: Files,
    listeners: Vec<Listener>,
    accepts: Vec<Accept>,
    /// Connections that were accepted while no slot was free.
    parked: VecDeque<(Token, File)>,
    /// Sockets that found no receive buffer.
    starved: Vec<Token>,
    /// Operations whose last completion has not come, the waker's poll and quiet sends aside.
    unfinished: usize,
    waker: Waker,
    now: Time,
    features: Features,
    capabilities: Capabilities,
    counters: EngineCounters,
}

/// A listener's address.
struct Listener {
    token: Token,
    address: Address,
}

/// One accept, under way or waiting for a place in the file table.
struct Accept {
    listener: Token,
    /// Where the connection goes; `None` where files are descriptors.
    into: Option<File>,
    state: Accepting,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Accepting {
    /// The listener is gone; the entry may be used by another.
    Idle,
    /// The kernel has it.
    UnderWay,
    /// No place or memory was left. Tried again when a socket has been closed.
    Waiting,
}

/// Opens a driver for the calling thread.
///
/// # Errors
///
/// [`OpenError`] names the kernel feature, sysctl, seccomp rule or limit that is in the way.
pub fn open(config: &Config) -> Result<Uring, OpenError> {
    opening::open(config, &[])
}

/// Opens a driver as if the kernel were older: for tests of the ways around what is missing.
///
/// # Errors
///
/// As [`open`].
pub fn open_without(config: &Config, without: &[Feature]) -> Result<Uring, OpenError> {
    opening::open(config, without)
}

impl Driver for Uring {
    fn now(&self) -> Time {
        self.now
    }

    fn clock(&self) -> Time {
        Time::now()
    }

    fn listen(&mut self, listen: &Listen) -> Result<Token, Refused> {
        self.check_room()?;
        let (descriptor, address) =
            sockets::listener(listen, sockets::Mode::Blocking).map_err(refused)?;
        let token = self.adopt(descriptor, Phase::Listening)?;
        self.listeners.push(Listener { token, address });
        for _ in 0..ACCEPTS {
            self.begin_accepting(token);
        }
        Ok(token)
    }

    fn local_address(&self, socket: Token) -> Option<Address> {
        let found = self
            .listeners
            .iter()
            .find(|listener| listener.token == socket)?;
        Some(found.address.clone())
    }

    fn connect(&mut self, to: &Address, options: &SocketOptions) -> Result<Token, Refused> {
        self.check_room()?;
        let address = sockets::encode(to).map_err(refused)?;
        let descriptor =
            sockets::outgoing(to, options, sockets::Mode::Blocking).map_err(refused)?;
        let address = self.keep_until_submitted(address)?;
        let token = self.adopt(descriptor, Phase::Connecting)?;
        self.submit_connect(token, address);
        Ok(token)
    }

    fn register(&mut self, bytes: &[u8]) -> Result<Template, Refused> {
        self.payloads.register(bytes)
    }

    fn buffer(&mut self) -> Vec<u8> {
        self.payloads.buffer()
    }

    fn recycle(&mut self, buffer: Vec<u8>) {
        self.payloads.recycle(buffer);
    }

    fn send(&mut self, socket: Token, payload: Payload) -> Result<(), Refused> {
        if let Err(refused) = self.check_sending(socket) {
            self.payloads.reject(payload);
            return Err(refused);
        }
        let outgoing = self.payloads.accept(payload)?;
        self.counters.bytes_sent += outgoing.len() as u64;
        self.begin_send(socket, outgoing);
        Ok(())
    }

    fn arm_receive(&mut self, socket: Token, armed: bool) -> Result<(), Refused> {
        let state = self.sockets.get_mut(socket).ok_or(Refused::Stale)?;
        if state.phase == Phase::Listening {
            return Err(Refused::Stale);
        }
        state.wanted = armed && !state.failed;
        match (armed, state.receiving, state.phase) {
            (false, true, _) => self.cancel(Kind::Receive, socket),
            (true, false, Phase::Connected) if !state.failed => self.receive(socket, false),
            _ => {}
        }
        Ok(())
    }

    fn close(&mut self, socket: Token, how: Close) -> Result<(), Refused> {
        let state = self.sockets.get(socket).ok_or(Refused::Stale)?;
        let (phase, receiving) = (state.phase, state.receiving);
        let sending = state.sending.is_some();
        match phase {
            Phase::Listening => self.end_listening(socket),
            Phase::Connecting => self.cancel(Kind::Connect, socket),
            _ if receiving => self.cancel(Kind::Receive, socket),
            _ => {}
        }
        if sending && how == Close::Reset {
            self.cancel(Kind::Send, socket);
        }
        if let Some(state) = self.sockets.retire(socket) {
            state.phase = Phase::Finishing;
        }
        // What was sent must leave first: a send that still waits for room keeps the socket open.
        if !sending || how == Close::Reset {
            self.close_retired(socket, how);
        }
        Ok(())
    }

    fn wait(&mut self, until: Until, completions: &mut Completions) -> Result<Time, Broken> {
        completions.begin(self.buffers.pool());
        if self.buffers.refill() {
            self.feed_starved();
        }
        self.enter(until).map_err(broken)?;
        self.now = Time::now();
        self.complete(completions);
        Ok(self.now)
    }

    fn waker(&self) -> Waker {
        self.waker.clone()
    }

    fn capabilities(&self) -> &Capabilities {
        &self.capabilities
    }

    fn counters(&self) -> EngineCounters {
        EngineCounters {
            enters: self.ring.enters(),
            ..self.counters
        }
    }
}

impl Uring {
    /// What was found out about the kernel.
    pub(crate) fn features(&self) -> Features {
        self.features
    }

    /// Enters the kernel, but only if that can bring anything.
    fn enter(&mut self, until: Until) -> Result<(), Errno> {
        let overflowed = self.ring.overflowed();
        self.counters.overflows += u64::from(overflowed);
        let idle = self.ring.ready() == 0 && !self.ring.held_back();
        let sleep = match until {
            Until::Now if idle && self.ring.queued() == 0 => return Ok(()),
            Until::Now => Sleep::No,
            _ if !idle => Sleep::No,
            Until::Time(time) => Sleep::Time(time),
            Until::Event => Sleep::Completion,
        };
        self.counters.sleeps += u64::from(sleep != Sleep::No);
        self.ring.enter(sleep)?;
        if self.ring.queued() == 0 {
            self.addresses.clear();
        }
        Ok(())
    }

    fn check_sending(&self, socket: Token) -> Result<(), Refused> {
        let state = self.sockets.get(socket).ok_or(Refused::Stale)?;
        match (state.phase, &state.sending) {
            (Phase::Connected | Phase::Ended, None) => Ok(()),
            (Phase::Connected | Phase::Ended, Some(_)) => Err(Refused::SendUnfinished),
            _ => Err(Refused::Stale),
        }
    }

    /// Completes for every wake. Each write to the eventfd is an edge, so nobody needs to read it.
    fn watch_waker(&mut self) {
        if let Some(descriptor) = self.waker.descriptor() {
            self.ring
                .poll(descriptor.as_raw_fd(), tag_number(Kind::Wake, 0));
        }
    }

    fn check_room(&self) -> Result<(), Refused> {
        if self.sockets.is_full() {
            Err(Refused::SocketsFull)
        } else {
            Ok(())
        }
    }

    /// Makes `descriptor` a socket of this driver.
    fn adopt(&mut self, descriptor: OwnedFd, phase: Phase) -> Result<Token, Refused> {
        let file = if self.files.are_direct() {
            let file = self.files.reserve().ok_or(Refused::SocketsFull)?;
            if let Err(error) = self.ring.set_file(file.0, descriptor.as_raw_fd()) {
                self.files.release(file);
                return Err(refused(error));
            }
            file
        } else {
            File(descriptor.into_raw_fd() as u32)
        };
        self.sockets
            .open(Socket::new(file, phase))
            .map_err(|_| Refused::SocketsFull)
    }
}

/// Ends every operation and waits for that, so that the kernel uses no memory of this driver when
/// it is freed. Should the kernel not answer in time, the memory is not freed.
impl Drop for Uring {
    fn drop(&mut self) {
        for listener in &self.listeners {
            sockets::forget(&listener.address);
        }
        if !self.cancel_all() {
            mem::forget(Rc::clone(self.buffers.pool()));
            mem::forget(mem::take(&mut self.payloads));
            mem::forget(mem::replace(&mut self.sockets, Slots::new(0)));
        }
        self.close_files();
    }
}

fn refused(error: Errno) -> Refused {
    Refused::Kernel(Fault::from_errno(error.raw_os_error()))
}

fn broken(error: Errno) -> Broken {
    Broken(format!(
        "io_uring_enter(2) failed: {error}; run with epoll, and report this kernel"
    ))
}
