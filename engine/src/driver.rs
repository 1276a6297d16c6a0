//! The interface every driver obeys: a completion model that knows sockets and bytes, no protocols.
//!
//! An owner submits work (`connect`, `send`, `close`, …) and then calls [`Driver::wait`] once a
//! turn. `wait` hands everything submitted to the kernel, sleeps until something completes or the
//! given time comes, and reports what completed. Nothing calls back; the owner reads the list.
//!
//! What holds for every driver, and what the conformance suite in `engine/tests` checks on each:
//!
//! - A socket is a [`Token`]. It carries a generation, so a token of a closed socket never reaches
//!   the socket that took its slot. No file descriptor and no pointer crosses this interface.
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

use std::fmt;
use std::net::{IpAddr, SocketAddr};
use std::path::PathBuf;

use measure::time::Time;

use crate::completions::Completions;
use crate::tls::{Secured, TlsFault};
use crate::waker::Waker;

/// How many unanswered bytes a peer may be owed by quiet sends on one socket.
///
/// Linux never lets a send buffer fall below 4,608 bytes (socket(7), `SO_SNDBUF`), so sends that
/// stay within half of it cannot be short, and their success needs no completion. Each send is also
/// charged about 1,280 bytes for its `sk_buff`: where [`SocketOptions::send_buffer_bytes`] is set
/// low, at most three quiet sends may be unanswered. A buffer that the kernel sizes holds many.
pub const QUIET_BYTES_MAX: usize = 2048;

/// [`Config::linger_ns`] where nobody says otherwise.
pub const LINGER_NS: u64 = 30_000_000_000;

/// Names one socket: a slot and the generation of its use.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Token {
    slot: u32,
    generation: u32,
}

impl Token {
    /// A token for `slot` in its `generation`-th use.
    pub(crate) fn new(slot: u32, generation: u32) -> Token {
        Token { slot, generation }
    }

    /// The dense index of the socket, below [`Config::sockets`].
    pub fn slot(self) -> usize {
        self.slot as usize
    }

    /// Which use of the slot this is.
    pub(crate) fn generation(self) -> u32 {
        self.generation
    }
}

/// What a driver needs to know before it opens; everything is allocated then.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Config {
    /// The most sockets that are open at once, listeners included.
    pub sockets: usize,
    /// Receive buffers, a power of two of at most 32,768.
    pub buffers: usize,
    /// Bytes in each receive buffer.
    pub buffer_bytes: usize,
    /// How long a gracefully closed socket may take to send what is left.
    pub linger_ns: u64,
}

impl Default for Config {
    fn default() -> Config {
        Config {
            sockets: 1024,
            buffers: 256,
            buffer_bytes: 16 * 1024,
            linger_ns: LINGER_NS,
        }
    }
}

/// Where a peer is, or where to listen.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Address {
    /// TCP over IPv4 or IPv6 (tcp(7)).
    Tcp(SocketAddr),
    /// A stream socket in the file system (unix(7)).
    Unix(PathBuf),
}

impl fmt::Display for Address {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Address::Tcp(address) => write!(f, "{address}"),
            Address::Unix(path) => write!(f, "unix:{}", path.display()),
        }
    }
}

/// Socket options, each left to the kernel where `None`. `TCP_NODELAY` is always on (tcp(7)).
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct SocketOptions {
    /// Local address of an outgoing connection; its port is chosen at connect
    /// (`IP_BIND_ADDRESS_NO_PORT`, ip(7)), so one address serves many destinations.
    pub source: Option<IpAddr>,
    /// `SO_RCVBUF` in bytes.
    pub receive_buffer_bytes: Option<usize>,
    /// `SO_SNDBUF` in bytes.
    pub send_buffer_bytes: Option<usize>,
    /// Close with a reset and without `TIME_WAIT` (`SO_LINGER` of zero, socket(7)).
    pub reset_on_close: bool,
}

/// A listening socket to open.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Listen {
    /// Where; port 0 lets the kernel choose, see [`Driver::local_address`].
    pub address: Address,
    /// Several listeners share the port, one a thread (`SO_REUSEPORT`, socket(7)).
    pub share_port: bool,
    /// Connections that may wait to be accepted; the kernel caps it at `net.core.somaxconn`.
    pub backlog: u32,
    /// Options that accepted connections inherit.
    pub options: SocketOptions,
}

/// Bytes to be sent, at most once [`Driver::register`]ed, as often as wanted.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Template {
    /// Index in the driver that registered it.
    pub(crate) index: u32,
    /// Length in bytes.
    pub(crate) length: u32,
}

impl Template {
    /// Length in bytes.
    #[allow(clippy::len_without_is_empty)] // An empty template is refused at registration.
    pub fn len(self) -> usize {
        self.length as usize
    }
}

/// What `send` is given.
#[derive(Debug)]
pub enum Payload {
    /// A part of a template, by byte offsets. Nothing is copied.
    Template {
        /// The registered bytes.
        template: Template,
        /// First byte.
        start: u32,
        /// One past the last byte.
        end: u32,
        /// Report only failure. Allowed while the peer owes answers to at most
        /// [`QUIET_BYTES_MAX`] bytes on this socket; does not count as an unfinished send.
        quiet: bool,
    },
    /// A buffer from [`Driver::buffer`], which goes back to the driver.
    Buffer(Vec<u8>),
}

/// How a socket is closed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Close {
    /// Everything sent so far is delivered, then FIN. Where bytes of the peer lie in the kernel
    /// that were never received, TCP sends a reset instead (RFC 1122 §4.2.2.13): read to the end.
    /// An unfinished send has [`Config::linger_ns`] to end; then it is a reset after all.
    Graceful,
    /// RST, and nothing more is delivered.
    Reset,
}

/// One thing that happened, on `socket`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Completion {
    /// Whom it concerns; for [`Event::Accepted`] the new socket.
    pub socket: Token,
    /// What happened.
    pub event: Event,
}

/// What happened on a socket.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Event {
    /// A connection came in; receiving is armed already.
    Accepted {
        /// The listener that took it.
        listener: Token,
    },
    /// An outgoing connection stands; receiving is armed already.
    Connected,
    /// Bytes came, see [`Completions::bytes`].
    Received(Lent),
    /// The unfinished send has been taken by the kernel whole.
    Sent,
    /// The peer will send no more (FIN). Sending still works.
    Ended,
    /// The socket is dead; `close` it. On a listener: it takes no more connections.
    Failed(Fault),
}

/// Names lent bytes of this turn; only [`Completions::bytes`] reads them. An index into this turn's
/// loans, so that one kept too long can never reach memory that the kernel writes to.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Lent {
    pub(crate) index: u32,
    pub(crate) length: u32,
}

/// Why a socket died. Counters on the hot path, words only at the end.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Fault {
    /// `ECONNREFUSED`: nobody listens there.
    Refused,
    /// `ENETUNREACH`, `EHOSTUNREACH`, `ENETDOWN`: no way there.
    Unreachable,
    /// `ETIMEDOUT` of the kernel's own: the peer's host does not answer.
    TimedOut,
    /// `EADDRNOTAVAIL`: every local port towards this peer is taken (ip(7)).
    PortsExhausted,
    /// `ECONNRESET`, `ECONNABORTED`: the peer ended it with RST.
    Reset,
    /// `EPIPE`: sent on a connection that the peer had closed.
    BrokenPipe,
    /// `EMFILE`, `ENFILE`, `ENOBUFS`, `ENOMEM`: this host gives no more.
    Exhausted,
    /// The connection could not be secured, or its security broke.
    Tls(TlsFault),
    /// Any other errno.
    Other(i32),
}

impl Fault {
    /// Sorts an errno(3) value.
    pub fn from_errno(errno: i32) -> Fault {
        match errno {
            libc::ECONNREFUSED => Fault::Refused,
            libc::ENETUNREACH | libc::EHOSTUNREACH | libc::ENETDOWN => Fault::Unreachable,
            libc::ETIMEDOUT => Fault::TimedOut,
            libc::EADDRNOTAVAIL => Fault::PortsExhausted,
            libc::ECONNRESET | libc::ECONNABORTED => Fault::Reset,
            libc::EPIPE => Fault::BrokenPipe,
            libc::EMFILE | libc::ENFILE | libc::ENOBUFS | libc::ENOMEM => Fault::Exhausted,
            other => Fault::Other(other),
        }
    }
}

/// The owner asked for something the contract forbids, or that does not fit. Nothing was done.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Refused {
    /// The token names no open socket.
    Stale,
    /// A send on this socket has not finished.
    SendUnfinished,
    /// [`Config::sockets`] are open, or closing: a slot is free only when the last operation on it
    /// has ended, which may take a few turns after `close`.
    SocketsFull,
    /// A template range that does not exist, or an empty send.
    EmptyOrOutOfRange,
    /// The kernel refused to make the socket (errno sorted).
    Kernel(Fault),
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
    pub(crate) fn or_before(self, time: Time) -> Until {
        match self {
            Until::Now => Until::Now,
            Until::Event if time == Time::NEVER => Until::Event,
            Until::Event => Until::Time(time),
            Until::Time(deadline) => Until::Time(deadline.min(time)),
        }
    }
}

/// The driver itself broke: no more can be done with it. The text says what and what to do.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Broken(pub String);

impl fmt::Display for Broken {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

impl std::error::Error for Broken {}

/// Why a driver cannot be opened here.
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
    /// What this kernel or sandbox lacks, each with what that costs.
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
    /// Times receiving stopped because every buffer was lent (`ENOBUFS`).
    pub starved: u64,
    /// Completion-queue overflows (io_uring_enter(2), `IORING_SQ_CQ_OVERFLOW`).
    pub overflows: u64,
    /// Sends that the kernel took in more than one piece.
    pub short_sends: u64,
    /// Bytes received.
    pub bytes_received: u64,
    /// Bytes whose send was asked for.
    pub bytes_sent: u64,
}

/// A completion-based network driver. See the module's contract.
pub trait Driver {
    /// The time that the last [`Driver::wait`] read, or that of opening.
    fn now(&self) -> Time;

    /// The clock itself, read anew; virtual in the simulator. For spinning and for the moment just
    /// before a hand-over, not for each exchange.
    fn clock(&self) -> Time;

    /// Opens a listener; accepting is armed until it is closed.
    fn listen(&mut self, listen: &Listen) -> Result<Token, Refused>;

    /// Where a listener really listens; `None` for a stale token and for connections.
    fn local_address(&self, socket: Token) -> Option<Address>;

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

    /// A handle by which another thread ends a sleep.
    fn waker(&self) -> Waker;

    /// What it can do here.
    fn capabilities(&self) -> &Capabilities;

    /// What it has counted.
    fn counters(&self) -> EngineCounters;
}
