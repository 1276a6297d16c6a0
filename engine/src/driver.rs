//! The interface every driver implements: a completion model that knows sockets and bytes, but no
//! protocols.
//!
//! An owner submits work (`connect`, `send`, `close`, …) and then calls [`Driver::wait`] once a
//! turn. `wait` hands everything submitted to the kernel, sleeps until something completes or the
//! given time comes, and reports what completed. Nothing calls back; the owner reads the list.
//!
//! What holds for every driver, and what the conformance suite in `engine/tests` checks on each:
//!
//! - A socket is a [`Token`]. It carries a generation, so a token of a closed socket never reaches
//!   the socket that took its slot. No file descriptor and no pointer crosses this interface, with
//!   one exception: [`Driver::wake_handle`], which can be slept on and says nothing else.
//! - [`Token::slot`] is dense and below [`Config::sockets`], so an owner may keep its own state in
//!   a plain vector by slot. A slot is not given out again before every operation on it has ended.
//! - After `close` no completion names that token. An owner answers [`Event::Failed`] and
//!   [`Event::Ended`] with `close` when it is done; a driver never closes a socket by itself.
//! - Received bytes are lent: they lie in memory of the driver until the next `wait` with the same
//!   [`Completions`]. Bytes of one socket arrive in order.
//! - Bytes to send belong to the driver from `send` on. At most one unfinished send a socket.
//! - `wait` makes at most one system call when nothing needs sleeping for, reads the clock once,
//!   and neither allocates nor locks after warm-up.
//! - A driver stays in the thread that opened it. Only its [`Waker`] goes elsewhere.
//!
//! # Sleeping elsewhere
//!
//! An owner that also drives a runtime sleeps there, on the [`Driver::wake_handle`]. Its loop:
//!
//! 1. Forget that the handle was readable, if the runtime remembers that, and `wait(Until::Now)`.
//! 2. See to what was reported.
//! 3. [`Driver::doze`]. If it says when to be back, sleep until then or until the handle is
//!    readable; if not, go on at once.
//!
//! A handle may be readable with nothing to report, as a sleep in `wait` may end early. It's never
//! quiet between `doze` and the next `wait` while there is something.

use std::fmt;
use std::io;
use std::net::SocketAddr;
use std::os::fd::OwnedFd;

use measure::time::Time;

use crate::completions::Completions;
use crate::features::Without;
pub use crate::operations::{
    Address, Close, Completion, Event, Fault, Lent, Listen, Listening, Payload, QUIET_BYTES_MAX,
    Refused, Secure, Share, SocketOptions, Template, Token, TunnelFault,
};
use crate::secured::Secured;
use crate::waker::Waker;

/// [`Config::linger_ns`] where nobody says otherwise.
pub const LINGER_NS: u64 = 30_000_000_000;

/// What a driver needs to know before it opens; everything is allocated then.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Config {
    /// The most sockets that are open at once, listeners included. Where several rings share them,
    /// a listener may leave a place of each ring unused.
    pub sockets: usize,
    /// Receive buffers, a power of two of at most 32,768.
    pub buffers: usize,
    /// Bytes in each receive buffer.
    pub buffer_bytes: usize,
    /// How long a gracefully closed socket may take to send what is left.
    pub linger_ns: u64,
    /// What io_uring isn't to use, as if the kernel were older: to see what it is worth.
    pub without: Without,
}

impl Default for Config {
    fn default() -> Config {
        Config {
            sockets: 1024,
            buffers: 256,
            buffer_bytes: 16 * 1024,
            linger_ns: LINGER_NS,
            without: Without::NOTHING,
        }
    }
}

/// Until when [`Driver::wait`] may sleep.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Until {
    /// Do not sleep; see what is there. Makes no system call where there is nothing to do.
    Now,
    /// Sleep until something completes, or this time.
    Time(Time),
    /// Sleep until something completes or the [`Waker`] is used.
    Event,
}

impl Until {
    /// The same, but no later than `time`.
    pub fn or_before(self, time: Time) -> Until {
        match self {
            Until::Now => Until::Now,
            Until::Event if time == Time::NEVER => Until::Event,
            Until::Event => Until::Time(time),
            Until::Time(deadline) => Until::Time(deadline.min(time)),
        }
    }

    /// The end of a sleep that only time ends; [`Time::NEVER`] if it doesn't.
    pub fn time(self) -> Time {
        match self {
            Until::Now => Time(0),
            Until::Time(time) => time,
            Until::Event => Time::NEVER,
        }
    }
}

/// The driver itself broke and can't be used any more. The text says what happened and what to do.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Broken(pub String);

impl fmt::Display for Broken {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

impl std::error::Error for Broken {}

/// Why a driver can't be opened here.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct OpenError {
    /// What is missing or forbidden: the kernel feature, sysctl, seccomp rule or limit, by name.
    pub what: String,
    /// What to do about it.
    pub remedy: String,
}

impl fmt::Display for OpenError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}; {}", self.what, self.remedy)
    }
}

impl std::error::Error for OpenError {}

/// Facts about an open driver, for the record.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Capabilities {
    /// `io_uring`, `epoll` or `simulator`.
    pub name: &'static str,
    /// What is in use, each by its kernel name, such as `DEFER_TASKRUN`.
    pub features: Vec<String>,
    /// What this kernel or sandbox lacks, and what each costs.
    pub missing: Vec<String>,
}

/// What a driver counted since it opened. A record with `overflows` above zero needs a warning.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct EngineCounters {
    /// Calls into the kernel that submit, wait or both.
    pub enters: u64,
    /// Turns on which `wait` slept or would have, because nothing was ready.
    pub sleeps: u64,
    /// Completions reported.
    pub completions: u64,
    /// How often receiving stopped because every buffer was lent out (`ENOBUFS`).
    pub starved: u64,
    /// Completion-queue overflows (io_uring_enter(2), `IORING_SQ_CQ_OVERFLOW`).
    pub overflows: u64,
    /// Sends that the kernel took in more than one piece.
    pub short_sends: u64,
    /// Accepted connections that ended in their TLS handshake.
    pub handshakes_failed: u64,
    /// Bytes received.
    pub bytes_received: u64,
    /// Bytes submitted for sending.
    pub bytes_sent: u64,
}

impl EngineCounters {
    /// Adds what another driver counted.
    pub(crate) fn add(&mut self, other: &EngineCounters) {
        self.enters += other.enters;
        self.sleeps += other.sleeps;
        self.completions += other.completions;
        self.starved += other.starved;
        self.overflows += other.overflows;
        self.short_sends += other.short_sends;
        self.handshakes_failed += other.handshakes_failed;
        self.bytes_received += other.bytes_received;
        self.bytes_sent += other.bytes_sent;
    }
}

/// A completion-based network driver. See the module's contract.
pub trait Driver {
    /// The time that the last [`Driver::wait`] read, or that of opening.
    fn now(&self) -> Time;

    /// The clock itself, read anew; virtual in the simulator. For spinning and for the moment just
    /// before a hand-over, not for each exchange.
    fn clock(&self) -> Time;

    /// Says how many connections the owner means to open itself, beside those that it accepts. To
    /// be called before the first [`Driver::listen`]: a driver that divides its places between the
    /// two, and has too few for both, keeps up to half of them for these.
    fn expect_outgoing(&mut self, sockets: usize) {
        let _ = sockets;
    }

    /// Opens a listener; accepting is armed until it is closed.
    fn listen(&mut self, listen: &Listen) -> Result<Token, Refused>;

    /// Where a listener really listens; `None` for a stale token and for connections.
    fn local_address(&self, socket: Token) -> Option<Address>;

    /// Where the peer of an accepted connection is, as long as that is open, if its listener was
    /// opened with [`Listen::peers`]; an IPv4 address also where the listener is one of IPv6.
    /// `None` for all other sockets, those of unix(7) among them.
    fn peer_address(&self, socket: Token) -> Option<SocketAddr> {
        let _ = socket;
        None
    }

    /// Starts a connection: ends in [`Event::Connected`] or [`Event::Failed`].
    fn connect(&mut self, to: &Address, options: &SocketOptions) -> Result<Token, Refused>;

    /// Takes bytes that will be sent many times; they live as long as the driver.
    fn register(&mut self, bytes: &[u8]) -> Result<Template, Refused>;

    /// An empty buffer to fill and `send`. From a pool: steady traffic allocates nothing.
    fn buffer(&mut self) -> Vec<u8>;

    /// Gives a buffer back unsent.
    fn recycle(&mut self, buffer: Vec<u8>);

    /// Sends. Unless quiet, ends in [`Event::Sent`] or [`Event::Failed`].
    fn send(&mut self, socket: Token, payload: Payload) -> Result<(), Refused>;

    /// Ends this side of a connection that stands: what was sent before is delivered, an unfinished
    /// send included, then the peer sees the end (shutdown(2), `SHUT_WR`; behind TLS close_notify,
    /// RFC 8446 §6.1). Receiving goes on, and `close` is still due. Completes nothing. Where it was
    /// done before, nothing happens.
    fn shutdown(&mut self, socket: Token) -> Result<(), Refused>;

    /// Stops or restarts receiving on a connection, for back-pressure. Bytes that were already on
    /// their way may still be reported after a stop.
    fn arm_receive(&mut self, socket: Token, armed: bool) -> Result<(), Refused>;

    /// Ends a connection or listener; cancels what is unfinished on it. Its token is stale at once.
    fn close(&mut self, socket: Token, how: Close) -> Result<(), Refused>;

    /// One turn: submits, sleeps as allowed, reports. Empties `completions` first, which ends the
    /// loan of its bytes. Returns the time read after sleeping. A signal, a wake or the driver's
    /// own business may end the sleep early with nothing to report. A wake always ends it, whatever
    /// else the turn brings.
    fn wait(&mut self, until: Until, completions: &mut Completions) -> Result<Time, Broken>;

    /// [`Config::linger_ns`] of what it was opened with.
    fn linger_ns(&self) -> u64;

    /// When the kernel last took a part of the unfinished send on `socket`, and not all of it:
    /// [`Event::Sent`] says that. `None` where nothing is unfinished, or nothing was ever taken in
    /// parts; a time before the send was begun is that of an earlier one. So an owner can tell a
    /// peer that takes a long send slowly from one that takes nothing.
    fn taken_at(&self, socket: Token) -> Option<Time>;

    /// What TLS agreed on for a connection that stands; `None` where there is no TLS.
    fn secured(&self, socket: Token) -> Option<Secured> {
        let _ = socket;
        None
    }

    /// Whether TCP stands and the TLS handshake is under way.
    fn is_shaking_hands(&self, socket: Token) -> bool {
        let _ = socket;
        false
    }

    /// Whether TCP stands and a proxy was asked for a tunnel.
    fn is_tunnelling(&self, socket: Token) -> bool {
        let _ = socket;
        false
    }

    /// A handle by which another thread ends a sleep.
    fn waker(&self) -> Waker;

    /// A descriptor that is readable (poll(2)) when the driver has something to report or its
    /// [`Waker`] was used, provided that [`Driver::doze`] came before. For nothing but to sleep on:
    /// who reads it or changes it breaks the driver. Each call returns a duplicate.
    ///
    /// # Errors
    ///
    /// `Unsupported` where nobody can sleep on this driver from outside, else what the kernel says.
    fn wake_handle(&mut self) -> io::Result<OwnedFd> {
        let name = self.capabilities().name;
        let what = format!("the {name} driver has no descriptor to sleep on");
        Err(io::Error::new(io::ErrorKind::Unsupported, what))
    }

    /// Gets ready for a sleep of the owner on the [`Driver::wake_handle`]: submits what is queued,
    /// and says until when he may sleep at most ([`Time::NEVER`]: the driver has no deadline of its
    /// own). `None`: there is something to do already, so don't sleep but `wait(Until::Now)`. A
    /// driver whose handle nobody has says so always.
    ///
    /// # Errors
    ///
    /// As [`Driver::wait`].
    fn doze(&mut self) -> Result<Option<Time>, Broken> {
        Ok(None)
    }

    /// What it can do here.
    fn capabilities(&self) -> &Capabilities;

    /// What it has counted.
    fn counters(&self) -> EngineCounters;
}

/// What the drivers that have sockets of their own do alike, with fields that each of them has.
macro_rules! alike {
    () => {
        fn now(&self) -> Time {
            self.now
        }

        fn peer_address(&self, socket: Token) -> Option<SocketAddr> {
            self.sockets.get(socket)?;
            self.peers.of(socket)
        }

        fn waker(&self) -> Waker {
            self.waker.clone()
        }

        fn linger_ns(&self) -> u64 {
            self.lingering.each_ns()
        }

        $crate::alike_in_bytes!();
    };
}
pub(crate) use alike;

/// What every driver does alike that takes bytes to send.
#[doc(hidden)]
#[macro_export]
macro_rules! alike_in_bytes {
    () => {
        fn register(&mut self, bytes: &[u8]) -> Result<$crate::Template, $crate::Refused> {
            self.payloads.register(bytes)
        }

        fn buffer(&mut self) -> Vec<u8> {
            self.payloads.buffer()
        }

        fn recycle(&mut self, buffer: Vec<u8>) {
            self.payloads.recycle(buffer);
        }

        fn capabilities(&self) -> &$crate::Capabilities {
            &self.capabilities
        }
    };
}
