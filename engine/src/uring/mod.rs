//! The driver on io_uring(7): one ring for each thread, entered once a turn.
//!
//! # The ring
//!
//! Operations are written into the submission queue as the owner asks for them. `wait` enters the
//! kernel once: that submits all of them, runs what has become ready, and sleeps if nothing has.
//! The flags, each left out where the kernel calls it invalid ([`Feature`](crate::Feature) says
//! what that costs):
//!
//! - `SINGLE_ISSUER` and `DEFER_TASKRUN`: when bytes arrive, the kernel only puts a note on a list;
//!   the work of receiving them is done by this thread inside enter, a batch at a time, instead of
//!   interrupting it wherever it is. The price: completions appear *only* in an enter that asks for
//!   events, so nobody may spin on the completion queue alone.
//! - `TASKRUN_FLAG`: the kernel sets a bit when such work waits, so a turn that may not sleep needs
//!   no system call to learn that there is nothing to do.
//! - `SUBMIT_ALL`, `NO_SQARRAY`, `CQSIZE`, `CLAMP`: one bad entry does not hold up the batch,
//!   entries are read in place, and the completion queue is larger than the submission queue,
//!   because operations that complete many times need no submission each time.
//! - a registered ring descriptor and `NO_IOWAIT` on each enter: no look-up of the descriptor, and
//!   sleeping is not accounted as waiting for a disk, which would falsify every measure of the
//!   processor's idleness. `ABS_TIMER`: the deadline is a point in time, as the schedule has it.
//!
//! One enter runs at most `max(20, min_complete)` pieces of deferred work
//! (`IO_LOCAL_TW_DEFAULT_MAX` in `io_uring.c`) and leaves the flag set if there is more. The next
//! turn then does not sleep. To ask for more completions at once would delay those that are there,
//! which a generator that measures may not do.
//!
//! # Receiving
//!
//! One multishot receive stays armed on each connection, and the kernel picks a buffer from a ring
//! when bytes come (see `buffers.rs`), so an idle connection holds no buffer. The trap: a receive
//! *picks the buffer before it looks at the socket*, so with an empty ring it ends with `ENOBUFS`
//! even where nothing could be received. Such sockets wait on a list until buffers have come back,
//! and are armed again with `RECVSEND_POLL_FIRST`, which puts the look before the pick.
//!
//! # Sending
//!
//! A send completes inside the enter that submits it unless the socket's buffer is full; then the
//! kernel waits and goes on (`MSG_WAITALL`). The bytes must stay until the completion, so the slot
//! of the socket owns them. A quiet send asks for no completion in success
//! (`IOSQE_CQE_SKIP_SUCCESS`), so nobody ever learns when its bytes are free again: it is allowed
//! for templates only, which live longer than the ring.
//!
//! # Files, slots and tags
//!
//! Sockets lie in the ring's own file table ("direct descriptors"). They occupy no numbers of the
//! process, whose limit then holds for each thread instead of for all together, and operations do
//! not count references to a table that threads share. A socket is made by ordinary calls, put into
//! the table and its number closed again, because so it can be given every option.
//!
//! One multishot accept stays armed on each listener. The kernel chooses the place of each
//! connection, out of a range of the table that is its own from the first listener on
//! (`REGISTER_FILE_ALLOC_RANGE`), so that it never meets the places chosen here. The trap: with no
//! place left it has taken the connection out of the backlog already, and drops it. So accepting
//! pauses a little before that, and as soon as a connection finds no slot, by cancelling the
//! accept; connections that cannot be served stay in the backlog, where they belong. A multishot
//! accept has one place for the address of every peer, which the next would overwrite. So a
//! listener that is asked for them has some accepts of one connection each instead, submitted anew
//! with every connection.
//!
//! The tag of an operation holds what it is, its slot and the slot's generation. A slot counts its
//! operations and is free only when the last completion of each has come: of a multishot one that
//! is the completion without `CQE_F_MORE`. Cancelling is a race with completing; both may be
//! reported, in any order. Nothing here depends on who wins, because only the last completion of
//! the *operation* counts, and the completion of the cancellation is not asked for. What comes for
//! a slot that is closing is taken back and not reported; what comes for a generation that is gone,
//! as the failure of a quiet send may, is ignored.
//!
//! # Closing
//!
//! `OP_CLOSE` takes the file out of the table at once, but the connection ends with the last
//! reference to it, and an armed receive holds one; so closing cancels it. A graceful close waits
//! for an unfinished send, for [`Config::linger_ns`] at most; a reset sets `SO_LINGER` to zero by
//! an operation, as setsockopt(2) cannot reach a file that has no number.
//!
//! `OP_SHUTDOWN` ends one half of a connection, and nothing else does: the kernel hands it to a
//! thread of its own. The trap: that thread looks the file up, some time later, and by then the
//! place in the table may be another connection's. So a close waits for the shutdown to complete.
//!
//! # The end
//!
//! Closing a ring cancels its operations, but in a thread of the kernel and some time later. So the
//! driver cancels them itself, and waits, before it frees what they point to.

mod bell;
mod buffers;
mod completing;
mod features;
mod files;
mod name;
mod opening;
mod ring;
pub mod rings;
mod socket;
mod stranded;
mod submitting;

use std::collections::VecDeque;
use std::io;
use std::mem;
use std::net::SocketAddr;
use std::os::fd::{AsRawFd, IntoRawFd, OwnedFd};
use std::rc::Rc;

use measure::time::Time;
use rustix::io::Errno;
use rustix::net::SocketAddrAny;

use self::bell::Bell;
use self::buffers::ReceiveBuffers;
use self::files::Files;
use self::name::Name;
use self::ring::{File, Ring};
use self::socket::{Kind, Phase, Socket, tag_number};
use self::stranded::Looks;
use crate::completions::Completions;
use crate::driver::{
    Address, Broken, Capabilities, Close, Config, Driver, EngineCounters, Fault, Listen, Listening,
    OpenError, Payload, Refused, SocketOptions, Token, Until, alike,
};
use crate::lingering::Lingering;
use crate::payloads::Payloads;
use crate::peers::Peers;
use crate::slots::Slots;
use crate::socket as sockets;
use crate::waker::Waker;
use crate::writing::Writing;

/// How many accepts a listener has that is asked for its peers' addresses. Each brings one
/// connection, so it's how many a listener takes in a turn. The kernel runs about twenty pieces of
/// deferred work in one enter: more accepts would be no faster, and fewer would leave such an enter
/// unfilled. What waits beyond is taken when they are submitted again, inside the next enter.
const ACCEPTS_NAMED: usize = 16;

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
    /// When the kernel last took a part of a send and not all of it, by slot, in nanoseconds; 0
    /// until then. Beside the sockets, which are looked at for every completion: this is rare.
    taken_ns: Vec<u64>,
    payloads: Payloads,
    /// Where connects go; read by the kernel when it takes the submission.
    addresses: Vec<SocketAddrAny>,
    files: Files,
    listeners: Vec<Listener>,
    looks: Looks,
    accepts: Vec<Accept>,
    peers: Peers,
    /// Connections that were accepted while no slot was free.
    parked: VecDeque<Parked>,
    /// Sockets that found no receive buffer.
    starved: Vec<Token>,
    /// Closed sockets with an unfinished send.
    lingering: Lingering,
    /// Operations whose last completion has not come, the waker's poll and quiet sends aside.
    unfinished: usize,
    waker: Waker,
    /// Made when somebody wants to sleep elsewhere.
    bell: Option<Bell>,
    /// What this one listens to for other rings of its thread.
    others_bell: Option<OwnedFd>,
    /// Accepts bring one connection each, with the address of its peer or without, and there are no
    /// more of them than places.
    accepts_singly: bool,
    now: Time,
    capabilities: Capabilities,
    counters: EngineCounters,
}

/// A listener's address.
struct Listener {
    token: Token,
    address: Address,
    /// Others may accept on it, too.
    inherited: Option<Listening>,
}

/// An accept of one listener: its only one, which brings many connections, or one of
/// [`ACCEPTS_NAMED`], each of which brings one connection and the address of its peer.
struct Accept {
    listener: Token,
    state: Accepting,
    /// Where the kernel writes that address; nothing for who brings many. A vector, because it
    /// stays in place when its owner is moved.
    name: Vec<Name>,
    /// Whether that address is of interest.
    peers: bool,
    /// Its listener was closed gracefully: what the kernel has accepted by then is still let in.
    lets_in: bool,
}

/// A connection that was accepted by a listener, and where its peer is if that was asked for.
struct Parked {
    listener: Token,
    file: File,
    peer: Option<SocketAddr>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Accepting {
    /// The listener is gone; the entry may be used by another.
    Idle,
    /// The kernel has it.
    UnderWay,
    /// It is being cancelled, because what it brings has no place.
    Pausing,
    /// No slot, place or memory was left. Tried again when a socket has been closed.
    Waiting,
}

/// Opens a driver for the calling thread.
///
/// # Errors
///
/// [`OpenError`] names the kernel feature, sysctl, seccomp rule or limit that is in the way.
pub fn open(config: &Config) -> Result<Uring, OpenError> {
    opening::open(config)
}

impl Driver for Uring {
    alike!();

    fn clock(&self) -> Time {
        Time::now()
    }

    fn expect_outgoing(&mut self, sockets: usize) {
        self.files.expect_own(sockets);
    }

    fn listen(&mut self, listen: &Listen) -> Result<Token, Refused> {
        self.check_room()?;
        let (descriptor, address) =
            sockets::listener(listen, sockets::Mode::Blocking).map_err(refused)?;
        let token = self.adopt(descriptor, Phase::Listening)?;
        self.listeners.push(Listener {
            token,
            address,
            inherited: listen.inherited.clone(),
        });
        if listen.inherited.is_some() {
            self.looks.begin(Time::now());
        }
        if let Some((first, count)) = self.files.share(self.sockets.limit() as u32) {
            self.ring.let_kernel_choose(first, count).map_err(refused)?;
        }
        let peers = listen.peers && matches!(listen.address, Address::Tcp(_));
        self.begin_accepting(token, peers);
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

    fn shutdown(&mut self, socket: Token) -> Result<(), Refused> {
        let state = self.sockets.get_mut(socket).ok_or(Refused::Stale)?;
        if !matches!(state.phase, Phase::Connected | Phase::Ended) {
            return Err(Refused::Stale);
        }
        if state.writing == Writing::Open && !state.failed {
            state.writing = Writing::Ending;
            if state.sending.is_none() {
                self.submit_shutdown(socket);
            }
        }
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
        let (sending, shutting) = (state.sending.is_some(), state.shutting);
        match phase {
            Phase::Listening => self.end_listening(socket, how),
            Phase::Connecting => self.cancel(Kind::Connect, socket),
            _ if receiving => self.cancel(Kind::Receive, socket),
            _ => {}
        }
        if sending && how == Close::Reset {
            self.cancel(Kind::Send, socket);
        }
        if let Some(state) = self.sockets.retire(socket) {
            state.phase = Phase::Finishing;
            if shutting {
                // It closes behind the shutdown, which a reset does not undo.
                if how == Close::Reset {
                    let ignored = tag_number(Kind::Ignored, 0);
                    self.ring.set_no_linger(state.file, ignored);
                }
                return Ok(());
            }
        }
        // What was sent must leave first: a send that still waits for room keeps the socket open.
        if sending && how == Close::Graceful {
            self.linger(socket);
        } else {
            self.close_retired(socket, how);
        }
        Ok(())
    }

    fn wait(&mut self, until: Until, completions: &mut Completions) -> Result<Time, Broken> {
        completions.begin(self.buffers.pool());
        if let Some(bell) = &mut self.bell {
            bell.silence(&mut self.ring);
        }
        if self.buffers.refill() {
            self.feed_starved();
        }
        let until = self.lingering.earlier(until).or_before(self.looks.next);
        self.enter(until).map_err(broken)?;
        self.now = Time::now();
        self.complete(completions);
        if !self.lingering.is_empty() {
            self.end_lingering();
        }
        if self.now >= self.looks.next {
            self.look_for_stranded();
        }
        Ok(self.now)
    }

    fn wake_handle(&mut self) -> io::Result<OwnedFd> {
        let bell = match self.bell.take() {
            Some(bell) => bell,
            None => Bell::new(&mut self.ring, &self.waker)?,
        };
        self.bell.insert(bell).handle()
    }

    fn doze(&mut self) -> Result<Option<Time>, Broken> {
        // A socket that found no buffer is fed by the next `wait`, which gives buffers back.
        if !(self.starved.is_empty() && self.is_idle()) {
            return Ok(None);
        }
        if self.bell.is_some() && self.ring.queued() > 0 {
            self.submit(Until::Now).map_err(broken)?;
            if !self.is_idle() {
                return Ok(None); // Most sends end at once.
            }
        }
        let Some(bell) = &mut self.bell else {
            return Ok(None);
        };
        bell.arm(&mut self.ring);
        if cfg!(not(target_arch = "x86_64")) {
            self.submit(Until::Now).map_err(broken)?;
        }
        let idle = self.is_idle() && self.ring.queued() == 0;
        let own = self.lingering.earlier(Until::Event).time();
        Ok(idle.then(|| own.min(self.looks.next)))
    }

    fn taken_at(&self, socket: Token) -> Option<Time> {
        let is_sending = self.sockets.get(socket)?.sending.is_some();
        let taken_ns = *self.taken_ns.get(socket.slot())?;
        (is_sending && taken_ns > 0).then_some(Time(taken_ns))
    }

    fn counters(&self) -> EngineCounters {
        EngineCounters {
            enters: self.ring.enters(),
            ..self.counters
        }
    }
}

impl Uring {
    /// Enters the kernel, but only if that can bring anything.
    fn enter(&mut self, until: Until) -> Result<(), Errno> {
        let overflowed = self.ring.overflowed();
        self.counters.overflows += u64::from(overflowed);
        let (is_ready, is_held_back) = (self.ring.ready() > 0, self.ring.held_back());
        if (until == Until::Now || is_ready) && !is_held_back && self.ring.queued() == 0 {
            return Ok(());
        }
        let idle = !is_ready && !is_held_back;
        let until = if idle { until } else { Until::Now };
        self.counters.sleeps += u64::from(until != Until::Now);
        self.submit(until)
    }

    /// Whether there is nothing to report, and no work for an enter but to submit.
    #[inline]
    fn is_idle(&mut self) -> bool {
        self.ring.ready() == 0 && !self.ring.held_back()
    }

    /// Submits what is queued, and sleeps.
    fn submit(&mut self, until: Until) -> Result<(), Errno> {
        self.ring.enter(until)?;
        if self.ring.queued() == 0 {
            self.addresses.clear();
        }
        Ok(())
    }

    fn check_sending(&self, socket: Token) -> Result<(), Refused> {
        let state = self.sockets.get(socket).ok_or(Refused::Stale)?;
        match (state.phase, &state.sending) {
            (Phase::Connected | Phase::Ended, _) if state.writing != Writing::Open => {
                Err(Refused::ShutDown)
            }
            (Phase::Connected | Phase::Ended, None) => Ok(()),
            (Phase::Connected | Phase::Ended, Some(_)) => Err(Refused::SendUnfinished),
            _ => Err(Refused::Stale),
        }
    }

    /// Keeps a retired socket until its send has ended or its time is up.
    fn linger(&mut self, socket: Token) {
        let (taken, sockets) = (self.sockets.taken(), &mut self.sockets);
        self.lingering
            .push(self.now, socket, taken, |socket| lingers(sockets, socket));
    }

    /// Resets the closed sockets whose send has not ended in time.
    #[cold]
    fn end_lingering(&mut self) {
        while let Some(socket) =
            (self.lingering).next_late(self.now, |socket| lingers(&mut self.sockets, socket))
        {
            self.cancel(Kind::Send, socket);
            self.close_retired(socket, Close::Reset);
        }
    }

    /// How many accepts are under way.
    fn accepting(&self) -> usize {
        let is_under_way =
            |accept: &&Accept| matches!(accept.state, Accepting::UnderWay | Accepting::Pausing);
        self.accepts.iter().filter(is_under_way).count()
    }

    /// How many connections more it has room to accept.
    fn room_to_accept(&self) -> usize {
        let slots = self.sockets.limit() - self.sockets.taken();
        slots.min(self.files.room_to_accept())
    }

    /// How many sockets more it has room to open, beside what its accepts may bring where each
    /// brings one.
    fn room_to_open(&self) -> usize {
        let slots = self.sockets.limit() - self.sockets.taken();
        slots
            .saturating_sub(self.accepting())
            .min(self.files.room_of_own())
    }

    /// Whether a turn would do something, by what is known without a system call.
    #[inline]
    pub(super) fn has_work(&mut self, now: Time) -> bool {
        let idle = self.starved.is_empty() && self.is_idle() && self.ring.queued() == 0;
        !idle
            || self
                .lingering
                .earlier(Until::Event)
                .time()
                .min(self.looks.next)
                <= now
    }

    /// Rings this bell when there is something for an enter, and somebody dozes; so does the waker,
    /// if that is to.
    pub(super) fn ring_bell(&mut self, bell: OwnedFd, with_waker: bool) -> io::Result<()> {
        let waker = with_waker.then_some(&self.waker);
        self.bell = Some(Bell::shared(&mut self.ring, waker, bell)?);
        Ok(())
    }

    /// Ends a sleep when other rings of this thread ring their bell.
    pub(super) fn hear_bell(&mut self, bell: OwnedFd) {
        self.others_bell = Some(bell);
        self.watch_bell();
    }

    /// Hears it no more.
    pub(super) fn leave_bell(&mut self) -> io::Result<()> {
        if self.others_bell.take().is_some() {
            let (bell, ignored) = (tag_number(Kind::Bell, 0), tag_number(Kind::Ignored, 0));
            self.ring.cancel(bell, ignored);
            self.submit(Until::Now)?;
        }
        Ok(())
    }

    fn watch_bell(&mut self) {
        if let Some(bell) = &self.others_bell {
            self.ring.poll(bell.as_raw_fd(), tag_number(Kind::Bell, 0));
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
            sockets::forget(&listener.address, listener.inherited.is_some());
        }
        if !self.cancel_all() {
            mem::forget(Rc::clone(self.buffers.pool()));
            mem::forget(mem::take(&mut self.payloads));
            mem::forget(mem::take(&mut self.accepts));
            mem::forget(mem::replace(&mut self.sockets, Slots::new(0)));
        }
        self.close_files();
    }
}

/// Whether a closed socket still waits for its send.
fn lingers(sockets: &mut Slots<Socket>, socket: Token) -> bool {
    let closing = sockets.closing_mut(socket);
    closing.is_some_and(|state| state.phase == Phase::Finishing)
}

fn refused(error: Errno) -> Refused {
    Refused::Kernel(Fault::from_errno(error.raw_os_error()))
}

fn broken(error: Errno) -> Broken {
    Broken(format!(
        "io_uring_enter(2) failed: {error}; use --engine epoll, and report this kernel to us"
    ))
}
