//! Sockets that listen already: opened by this process before its workers start, or by another one
//! that hands them over.
//!
//! A connection waits in the queue of its listening socket until somebody accepts it, and is reset
//! when the last descriptor of that socket is closed. So a process that outlives those who serve
//! keeps one, and nobody is lost in between.

use std::io;
use std::net::SocketAddr;
use std::os::fd::OwnedFd;
use std::os::unix::ffi::OsStrExt;
use std::sync::Arc;

use rustix::io::Errno;
use rustix::net::{SocketType, getsockname, sockopt};

use crate::operations::{Address, Listen, Listening, Share, SocketOptions};
use crate::socket::{self, Mode};

impl Listening {
    /// Begins to listen. `share` says which of the sockets that share the port it is, if there are
    /// several.
    ///
    /// # Errors
    /// As of bind(2) and listen(2).
    pub fn open(address: &Address, share: Option<Share>, backlog: u32) -> io::Result<Listening> {
        let listen = Listen {
            address: address.clone(),
            share_port: share,
            backlog,
            options: SocketOptions::default(),
            peers: false,
            inherited: None,
        };
        Ok(Listening::of(&listen)?)
    }

    /// Begins to listen as this says.
    pub(crate) fn of(listen: &Listen) -> Result<Listening, Errno> {
        let (descriptor, address) = socket::listener(listen, Mode::Blocking)?;
        Ok(Listening {
            descriptor: Arc::new(descriptor),
            address,
        })
    }

    /// One that another process has opened.
    ///
    /// # Errors
    /// It's no stream socket that listens, or neither of TCP nor of a Unix path.
    pub fn inherited(descriptor: OwnedFd) -> io::Result<Listening> {
        let wrong = |text| io::Error::new(io::ErrorKind::InvalidInput, text);
        let kind = sockopt::socket_type(&descriptor);
        if kind.ok() != Some(SocketType::STREAM) {
            return Err(wrong("it's no stream socket"));
        }
        if !sockopt::socket_acceptconn(&descriptor)? {
            return Err(wrong("it doesn't listen"));
        }
        let address = getsockname(&descriptor)?;
        let address = match SocketAddr::try_from(address.clone()) {
            Ok(tcp) => Address::Tcp(tcp),
            Err(_) => {
                let unix = rustix::net::SocketAddrUnix::try_from(address)?;
                let path = unix.path_bytes().filter(|path| !path.is_empty());
                let path = path.ok_or_else(|| wrong("its address is no path"))?;
                Address::Unix(std::ffi::OsStr::from_bytes(path).into())
            }
        };
        Ok(Listening {
            descriptor: Arc::new(descriptor),
            address,
        })
    }
}
