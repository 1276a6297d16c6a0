//! A connection for one conversation, blocking: over TCP, a Unix socket or TLS, with one deadline.

use std::io::{self, ErrorKind, Read, Write};
use std::net::TcpStream;
use std::os::unix::net::UnixStream;
use std::time::Duration;

use engine::Address;
use measure::time::Time;

use crate::plan::Plan;
use crate::run::RunError;
use crate::target;

/// The most that is received at once, in bytes.
const RECEIVED_BYTES_MAX: usize = 64 * 1024;

/// A connection to a plan's target, until a deadline.
#[derive(Debug)]
pub(super) struct Conversation {
    stream: Stream,
    url: String,
    deadline: Time,
    buffer: Vec<u8>,
}

/// What carries it.
#[derive(Debug)]
enum Stream {
    Tcp(TcpStream),
    Unix(UnixStream),
}

impl Conversation {
    /// Connects to `address`, and secures the connection where the plan says so. All of the
    /// conversation is over when `timeout` is.
    pub(super) fn open(
        plan: &Plan,
        address: &Address,
        timeout: Duration,
    ) -> Result<Conversation, RunError> {
        let deadline = Time::now() + timeout;
        let connected = match address {
            Address::Tcp(to) => TcpStream::connect_timeout(to, timeout).and_then(|stream| {
                // Nagle's algorithm would hold the body back until the head is acknowledged
                // (RFC 896).
                stream.set_nodelay(true)?;
                Ok(Stream::Tcp(stream))
            }),
            Address::Unix(path) => UnixStream::connect(path).map(Stream::Unix),
        };
        Ok(Conversation {
            stream: connected.map_err(|why| target::unreachable(plan, address, &why))?,
            url: plan.target.url(),
            deadline,
            buffer: vec![0; RECEIVED_BYTES_MAX],
        })
    }

    /// Sends all of `bytes`.
    pub(super) fn send(&mut self, bytes: &[u8]) -> Result<(), RunError> {
        let mut left = bytes;
        while !left.is_empty() {
            self.stream
                .limit(self.deadline)
                .map_err(|why| self.lost(&why))?;
            match self.stream.write(left) {
                Ok(0) => return Err(self.broken("the connection takes no more bytes")),
                Ok(count) => left = &left[count..],
                Err(why) if why.kind() == ErrorKind::Interrupted => {}
                Err(why) => return Err(self.lost(&why)),
            }
        }
        Ok(())
    }

    /// Appends what comes next to `received`. False where the peer has ended the connection.
    pub(super) fn receive(&mut self, received: &mut Vec<u8>) -> Result<bool, RunError> {
        loop {
            self.stream
                .limit(self.deadline)
                .map_err(|why| self.lost(&why))?;
            match self.stream.read(&mut self.buffer) {
                Ok(count) => {
                    received.extend_from_slice(&self.buffer[..count]);
                    return Ok(count > 0);
                }
                Err(why) if why.kind() == ErrorKind::Interrupted => {}
                Err(why) => return Err(self.lost(&why)),
            }
        }
    }

    /// The error of a conversation that went wrong, with the URL in front.
    pub(super) fn broken(&self, why: impl std::fmt::Display) -> RunError {
        RunError::Probe(format!("{}: {why}", self.url))
    }

    fn lost(&self, why: &io::Error) -> RunError {
        match why.kind() {
            ErrorKind::WouldBlock | ErrorKind::TimedOut => {
                self.broken("no whole answer came in time")
            }
            _ => self.broken(format!("the connection broke: {why}")),
        }
    }
}

impl Stream {
    /// Lets the next read and write take no longer than until `deadline`.
    fn limit(&self, deadline: Time) -> io::Result<()> {
        let left = deadline - Time::now();
        if left.is_zero() {
            return Err(ErrorKind::TimedOut.into());
        }
        match self {
            Stream::Tcp(stream) => {
                stream.set_read_timeout(Some(left))?;
                stream.set_write_timeout(Some(left))
            }
            Stream::Unix(stream) => {
                stream.set_read_timeout(Some(left))?;
                stream.set_write_timeout(Some(left))
            }
        }
    }
}

impl Read for Stream {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        match self {
            Stream::Tcp(stream) => stream.read(buffer),
            Stream::Unix(stream) => stream.read(buffer),
        }
    }
}

impl Write for Stream {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        match self {
            Stream::Tcp(stream) => stream.write(bytes),
            Stream::Unix(stream) => stream.write(bytes),
        }
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}
