//! A connection for one conversation, blocking: over TCP, a Unix socket or TLS, with one deadline.

use std::io::{self, ErrorKind, Read, Write};
use std::net::{SocketAddr, TcpStream};
use std::os::fd::OwnedFd;
use std::os::unix::net::UnixStream;
use std::path::Path;
use std::time::Duration;

use crate::tunnel::{Answered, Opening};
use ::tls::{Blocking, ClientTls};
use engine::{Address, TunnelFault, bind_to_device};
use measure::time::Time;
use names::left;
use rustix::io::Errno;
use rustix::net::sockopt::{Timeout, set_socket_timeout};
use rustix::net::{AddressFamily, SocketAddrUnix, SocketFlags, SocketType, connect, socket_with};

use crate::LoadError;
use crate::{proxy, target, tls};
use plan::Contact;

/// The most that is received at once, in bytes.
const RECEIVED_BYTES_MAX: usize = 64 * 1024;

/// How long a peer may take to answer a goodbye.
const FAREWELL: Duration = Duration::from_secs(1);

/// A connection to a plan's target, until a deadline.
#[derive(Debug)]
pub(super) struct Conversation {
    stream: Stream,
    url: String,
    deadline: Time,
    /// Where an answer may take longer than its time limit, which is one on whatever comes next:
    /// that limit, and the end of all patience.
    renewed: Option<(Duration, Time)>,
    buffer: Vec<u8>,
}

/// What carries it.
#[derive(Debug)]
enum Stream {
    Clear(Clear),
    Secured(Box<Blocking<Clear>>),
}

/// A stream without TLS.
#[derive(Debug)]
pub(super) struct Clear {
    socket: Socket,
    /// What came behind the answer of a proxy, and comes first.
    ahead: Vec<u8>,
}

#[derive(Debug)]
enum Socket {
    Tcp(TcpStream),
    Unix(UnixStream),
}

impl Conversation {
    /// Connects to `address`, and secures the connection where there is `tls`. All of the
    /// conversation is over at `deadline`.
    pub(super) fn open(
        contact: &Contact,
        address: &Address,
        tls: Option<&ClientTls>,
        deadline: Time,
    ) -> Result<Conversation, LoadError> {
        let clear = Clear::connect(contact, address, deadline)?;
        let stream = match tls {
            None => Stream::Clear(clear),
            Some(tls) => {
                clear
                    .limit(deadline)
                    .map_err(|why| target::unreachable(contact, address, &why))?;
                Stream::Secured(Box::new(tls::secure(contact, clear, tls)?))
            }
        };
        Ok(Conversation {
            stream,
            url: contact.url(),
            deadline,
            renewed: None,
            buffer: vec![0; RECEIVED_BYTES_MAX],
        })
    }

    /// Counts the time limit anew from whatever came last, as is meant of streams, but not beyond
    /// `end`.
    pub(super) fn renewing(mut self, limit: Duration, end: Time) -> Conversation {
        self.renewed = Some((limit, end));
        self
    }

    /// Ends it before anything was said. Over TLS that goes on to the peer's end, because only
    /// there a server says that it does not accept this side.
    pub(super) fn close(self, contact: &Contact) -> Result<(), LoadError> {
        let Stream::Secured(secured) = self.stream else {
            return Ok(());
        };
        // Where no time is left, the peer has had enough of it.
        match secured
            .stream()
            .limit(self.deadline.min(Time::now() + FAREWELL))
        {
            Ok(()) => secured
                .farewell()
                .map_err(|error| tls::unsecured(contact, &error)),
            Err(_) => Ok(()),
        }
    }

    /// Sends all of `bytes`.
    pub(super) fn send(&mut self, bytes: &[u8]) -> Result<(), LoadError> {
        let mut left = bytes;
        while !left.is_empty() {
            self.stream
                .limit(self.deadline)
                .map_err(|why| self.lost(&why))?;
            match self.stream.write(left) {
                Ok(0) => return Err(self.broken("the connection doesn't take any more bytes")),
                Ok(count) => left = &left[count..],
                Err(why) if why.kind() == ErrorKind::Interrupted => {}
                Err(why) => return Err(self.lost(&why)),
            }
        }
        Ok(())
    }

    /// Appends what comes next to `received`. False where the peer has ended the connection.
    pub(super) fn receive(&mut self, received: &mut Vec<u8>) -> Result<bool, LoadError> {
        loop {
            self.stream
                .limit(self.deadline)
                .map_err(|why| self.lost(&why))?;
            match self.stream.read(&mut self.buffer) {
                Ok(count) => {
                    received.extend_from_slice(&self.buffer[..count]);
                    if let Some((limit, end)) = self.renewed {
                        self.deadline = (Time::now() + limit).min(end);
                    }
                    return Ok(count > 0);
                }
                Err(why) if why.kind() == ErrorKind::Interrupted => {}
                Err(why) => return Err(self.lost(&why)),
            }
        }
    }

    /// The error of a conversation that went wrong, with the URL in front.
    pub(super) fn broken(&self, why: impl std::fmt::Display) -> LoadError {
        LoadError::Probe(format!("{}: {why}", self.url))
    }

    fn lost(&self, why: &io::Error) -> LoadError {
        match why.kind() {
            ErrorKind::WouldBlock | ErrorKind::TimedOut => {
                self.broken("the answer wasn't complete in time")
            }
            _ => self.broken(format!("the connection broke: {why}")),
        }
    }
}

impl Stream {
    /// Lets the next read and write take no longer than until `deadline`.
    fn limit(&self, deadline: Time) -> io::Result<()> {
        match self {
            Stream::Clear(clear) => clear.limit(deadline),
            Stream::Secured(secured) => secured.stream().limit(deadline),
        }
    }
}

impl Clear {
    /// Connects to `address`, and has a proxy that is there lead on to the target.
    pub(super) fn connect(
        contact: &Contact,
        address: &Address,
        deadline: Time,
    ) -> Result<Clear, LoadError> {
        let socket = Socket::connect(address, contact.interface.as_deref(), deadline)
            .map_err(|why| target::unreachable(contact, address, &why))?;
        let ahead = Vec::new();
        let mut clear = Clear { socket, ahead };
        if let Some(opening) = proxy::opening(std::slice::from_ref(contact))? {
            clear.ahead = clear.lead_on(contact, &opening, deadline)?;
        }
        Ok(clear)
    }

    /// Has a proxy lead it on. Returns what came behind the proxy's answer.
    fn lead_on(
        &mut self,
        contact: &Contact,
        opening: &Opening,
        deadline: Time,
    ) -> Result<Vec<u8>, LoadError> {
        let failed = |why: &io::Error| match why.kind() {
            ErrorKind::WouldBlock | ErrorKind::TimedOut => proxy::slow(contact),
            _ => proxy::refused(contact, TunnelFault::Closed),
        };
        let asked = self
            .limit(deadline)
            .and_then(|()| self.write_all(opening.said_to(0)));
        asked.map_err(|why| failed(&why))?;
        let mut received = Vec::new();
        let mut buffer = [0; 4096];
        loop {
            let read = self.limit(deadline).and_then(|()| self.read(&mut buffer));
            match read {
                Ok(0) => return Err(proxy::refused(contact, TunnelFault::Closed)),
                Ok(count) => received.extend_from_slice(&buffer[..count]),
                Err(why) if why.kind() == ErrorKind::Interrupted => continue,
                Err(why) => return Err(failed(&why)),
            }
            match (opening.read)(&received) {
                Answered::More => {}
                Answered::Open(bytes) => return Ok(received.split_off(bytes)),
                Answered::Not(fault) => return Err(proxy::refused(contact, fault)),
            }
        }
    }

    /// Lets each read and write take no longer than until `deadline`.
    pub(super) fn limit(&self, deadline: Time) -> io::Result<()> {
        let left = left(deadline)?;
        match &self.socket {
            Socket::Tcp(stream) => {
                stream.set_read_timeout(Some(left))?;
                stream.set_write_timeout(Some(left))
            }
            Socket::Unix(stream) => {
                stream.set_read_timeout(Some(left))?;
                stream.set_write_timeout(Some(left))
            }
        }
    }
}

impl Socket {
    fn connect(address: &Address, device: Option<&str>, deadline: Time) -> io::Result<Socket> {
        match address {
            Address::Tcp(to) => {
                let stream = match device {
                    None => TcpStream::connect_timeout(to, left(deadline)?)?,
                    Some(device) => connect_over(device, to, deadline)?,
                };
                // Nagle's algorithm would hold the body back until the head is acknowledged
                // (RFC 896).
                stream.set_nodelay(true)?;
                Ok(Socket::Tcp(stream))
            }
            Address::Unix(path) => Ok(Socket::Unix(connect_unix(path, deadline)?)),
        }
    }
}

/// Connects over a network device. A connect waits for as long as a send may, and is left under way
/// then (`SO_SNDTIMEO`, socket(7)).
fn connect_over(device: &str, to: &SocketAddr, deadline: Time) -> io::Result<TcpStream> {
    let family = match to {
        SocketAddr::V4(_) => AddressFamily::INET,
        SocketAddr::V6(_) => AddressFamily::INET6,
    };
    let socket: OwnedFd = socket_with(family, SocketType::STREAM, SocketFlags::CLOEXEC, None)?;
    bind_to_device(&socket, device)?;
    set_socket_timeout(&socket, Timeout::Send, Some(left(deadline)?))?;
    match connect(&socket, to) {
        Ok(()) => Ok(TcpStream::from(socket)),
        Err(Errno::INPROGRESS) => Err(ErrorKind::TimedOut.into()),
        Err(why) => Err(why.into()),
    }
}

/// Connects to a Unix socket. Where its backlog is full, that waits for as long as a send may
/// (`SO_SNDTIMEO`, socket(7)), and the standard library sets no limit before it connects.
fn connect_unix(path: &Path, deadline: Time) -> io::Result<UnixStream> {
    let address = SocketAddrUnix::new(path)?;
    let flags = SocketFlags::CLOEXEC;
    let socket: OwnedFd = socket_with(AddressFamily::UNIX, SocketType::STREAM, flags, None)?;
    loop {
        set_socket_timeout(&socket, Timeout::Send, Some(left(deadline)?))?;
        match connect(&socket, &address) {
            Ok(()) => return Ok(UnixStream::from(socket)),
            Err(Errno::INTR) => {}
            Err(why) => return Err(why.into()),
        }
    }
}

impl Read for Stream {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        match self {
            Stream::Clear(stream) => stream.read(buffer),
            Stream::Secured(stream) => stream.read(buffer),
        }
    }
}

impl Write for Stream {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        match self {
            Stream::Clear(stream) => stream.write(bytes),
            Stream::Secured(stream) => stream.write(bytes),
        }
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

impl Read for Clear {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        if !self.ahead.is_empty() {
            let count = self.ahead.len().min(buffer.len());
            buffer[..count].copy_from_slice(&self.ahead[..count]);
            self.ahead.drain(..count);
            return Ok(count);
        }
        match &mut self.socket {
            Socket::Tcp(stream) => stream.read(buffer),
            Socket::Unix(stream) => stream.read(buffer),
        }
    }
}

impl Write for Clear {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        match &mut self.socket {
            Socket::Tcp(stream) => stream.write(bytes),
            Socket::Unix(stream) => stream.write(bytes),
        }
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}
