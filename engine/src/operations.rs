//! What crosses the interface of a driver: names of sockets, what is asked for, and what happened.

use std::any::Any;
use std::fmt;
use std::net::{IpAddr, SocketAddr};
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::path::PathBuf;
use std::sync::Arc;

use crate::secured::TlsFault;

/// How many unanswered bytes a peer may be owed by quiet sends on one socket.
///
/// Linux never lets a send buffer fall below 4,608 bytes (socket(7), `SO_SNDBUF`), so sends that
/// stay within half of it cannot be short, and their success needs no completion. Each send is also
/// charged about 1,280 bytes for its `sk_buff`: where [`SocketOptions::send_buffer_bytes`] is set
/// low, at most three quiet sends may be unanswered. A buffer that the kernel sizes holds many.
pub const QUIET_BYTES_MAX: usize = 2048;

/// Names one socket: a slot and the generation of its use. Their order means nothing.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Token {
    slot: u32,
    generation: u32,
}

impl Token {
    /// Names no socket that ever was.
    pub const NOBODYS: Token = Token {
        slot: u32::MAX,
        generation: u32::MAX,
    };

    /// A token for `slot` in its `generation`-th use.
    pub(crate) fn new(slot: u32, generation: u32) -> Token {
        Token { slot, generation }
    }

    /// The dense index of the socket, below `Config::sockets`.
    pub fn slot(self) -> usize {
        self.slot as usize
    }

    /// Which use of the slot this is.
    pub(crate) fn generation(self) -> u32 {
        self.generation
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
    /// Device that carries an outgoing connection over TCP, by its name (`SO_BINDTODEVICE`,
    /// socket(7)).
    pub device: Option<Arc<str>>,
    /// `SO_RCVBUF` in bytes.
    pub receive_buffer_bytes: Option<usize>,
    /// `SO_SNDBUF` in bytes.
    pub send_buffer_bytes: Option<usize>,
    /// Close with a reset and without `TIME_WAIT` (`SO_LINGER` of zero, socket(7)).
    pub reset_on_close: bool,
    /// Which of its peers it is, for drivers that tell them apart (by the name that TLS asks for).
    pub peer: u16,
    /// How an outgoing connection is secured, for drivers that secure some and not others. Those
    /// that can't don't connect.
    pub secure: Option<Secure>,
}

/// How a connection is secured, in words that only the driver understands which does that. Clones
/// are the same, and equal.
#[derive(Clone)]
pub struct Secure(Arc<dyn Any + Send + Sync>);

impl Secure {
    /// As these settings say, which a driver looks for by their type.
    pub fn new<T: Any + Send + Sync>(settings: T) -> Secure {
        Secure(Arc::new(settings))
    }

    /// The settings, if they're of this type.
    pub fn settings<T: Any>(&self) -> Option<&T> {
        self.0.downcast_ref()
    }
}

impl PartialEq for Secure {
    fn eq(&self, other: &Secure) -> bool {
        Arc::ptr_eq(&self.0, &other.0)
    }
}

impl Eq for Secure {}

impl fmt::Debug for Secure {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Secure").finish_non_exhaustive()
    }
}

/// Which of several listeners that share a port, one a thread (`SO_REUSEPORT`, socket(7)).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Share {
    /// The first, which lets others join once it listens: two programs never share a port.
    First,
    /// One that joins.
    Next,
}

/// A listening socket to open.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Listen {
    /// Where; port 0 lets the kernel choose, see `Driver::local_address`.
    pub address: Address,
    /// Which of the listeners that share the port it is, if any do.
    pub share_port: Option<Share>,
    /// Connections that may wait to be accepted; the kernel caps it at `net.core.somaxconn`.
    pub backlog: u32,
    /// Options that accepted connections inherit.
    pub options: SocketOptions,
    /// Whether `Driver::peer_address` knows its connections. That costs memory for each, and on
    /// io_uring an operation for each accept, so only who asks pays for it.
    pub peers: bool,
    /// A socket that listens already, to be used in the place of a new one. Its address is its own,
    /// and it goes on listening when the driver has closed what it made of it.
    pub inherited: Option<Listening>,
}

/// A socket that listens, whoever accepts on it. Clones are the same socket.
#[derive(Clone, Debug)]
pub struct Listening {
    pub(crate) descriptor: Arc<OwnedFd>,
    pub(crate) address: Address,
}

impl Listening {
    /// Where it listens.
    pub fn address(&self) -> &Address {
        &self.address
    }
}

impl AsFd for Listening {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.descriptor.as_fd()
    }
}

/// Whether they are clones of the same.
impl PartialEq for Listening {
    fn eq(&self, other: &Listening) -> bool {
        Arc::ptr_eq(&self.descriptor, &other.descriptor)
    }
}

impl Eq for Listening {}

/// Bytes to be sent, at most once `Driver::register`ed, as often as wanted.
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
    /// A buffer from `Driver::buffer`, which goes back to the driver.
    Buffer(Vec<u8>),
}

/// How a socket is closed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Close {
    /// Everything sent so far is delivered, then FIN. Where bytes of the peer lie in the kernel
    /// that were never received, TCP sends a reset instead (RFC 1122 §4.2.2.13): read to the end.
    /// An unfinished send has `Config::linger_ns` to end; then
    /// it is a reset after all.
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
    /// A connection came in; receiving is already armed.
    Accepted {
        /// The listener that took it.
        listener: Token,
    },
    /// An outgoing connection is open; receiving is already armed.
    Connected,
    /// Bytes came, see `Completions::bytes`.
    Received(Lent),
    /// The kernel has taken all of the unfinished send.
    Sent,
    /// The peer will send no more (FIN). Sending still works.
    Ended,
    /// The socket is dead; `close` it. A listener that fails accepts no more connections.
    Failed(Fault),
}

/// Names lent bytes of this turn; only `Completions::bytes` reads
/// them. An index into this turn's loans, so that one kept too long can never reach memory that the
/// kernel writes to.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Lent {
    pub(crate) index: u32,
    pub(crate) length: u32,
}

/// Why a socket died. Counters on the hot path, words only at the end.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Fault {
    /// `ECONNREFUSED`: nothing is listening there.
    Refused,
    /// `ENETUNREACH`, `EHOSTUNREACH`, `ENETDOWN`: no route there.
    Unreachable,
    /// `ETIMEDOUT` from the kernel: the peer's host doesn't answer.
    TimedOut,
    /// `EADDRNOTAVAIL`: every local port towards this peer is taken (ip(7)).
    PortsExhausted,
    /// `ECONNRESET`, `ECONNABORTED`: the peer ended it with RST.
    Reset,
    /// `EPIPE`: sent on a connection that the peer had closed.
    BrokenPipe,
    /// `EMFILE`, `ENFILE`, `ENOBUFS`, `ENOMEM`: this host has run out.
    Exhausted,
    /// TLS couldn't be set up, or broke.
    Tls(TlsFault),
    /// A proxy didn't open a tunnel.
    Tunnel(TunnelFault),
    /// Any other errno.
    Other(i32),
}

/// Why there is no tunnel through a proxy.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum TunnelFault {
    /// The proxy answered with this status.
    Refused(u16),
    /// What it answered makes no sense, or doesn't end.
    Broken,
    /// It ended the connection instead of answering.
    Closed,
}

impl Fault {
    /// `EPROTONOSUPPORT`: this driver isn't set up for that.
    pub const UNSUPPORTED: Fault = Fault::Other(libc::EPROTONOSUPPORT);

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

/// The owner asked for something that the contract forbids or that doesn't fit. Nothing was done.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Refused {
    /// The token names no open socket.
    Stale,
    /// A send on this socket has not finished.
    SendUnfinished,
    /// `Config::sockets` are open, or closing: a slot is free only
    /// when the last operation on it has ended, which may take a few turns after `close`.
    SocketsFull,
    /// `Driver::shutdown` has ended this side of the connection.
    ShutDown,
    /// A template range that does not exist, or an empty send.
    EmptyOrOutOfRange,
    /// The kernel refused to make the socket (errno sorted).
    Kernel(Fault),
}
