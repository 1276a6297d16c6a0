//! Making sockets: the options, and nothing of how they are driven.
//!
//! Accepted connections inherit the options of their listener (tcp_create_openreq_child copies the
//! socket), so accepting needs no option calls of its own.
#![allow(unsafe_code)] // setsockopt(2) of the options that rustix does not know.

use std::io;
use std::net::SocketAddr;
use std::os::fd::{AsFd, AsRawFd, OwnedFd};
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::FileTypeExt;
use std::path::Path;
use std::time::Duration;

use rustix::io::Errno;
use rustix::net::sockopt;
use rustix::net::{
    AddressFamily, SocketAddrAny, SocketAddrUnix, SocketFlags, SocketType, bind, connect,
    getsockname, listen, socket_with,
};

use crate::driver::{Address, Listen, Listening, Share, SocketOptions};

/// Whether operations on a new socket may sleep. io_uring wants `Blocking`: it takes `O_NONBLOCK`
/// to mean that an operation shall fail with `EAGAIN` instead of waiting in the ring.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Mode {
    /// Without `O_NONBLOCK`.
    Blocking,
    /// With `O_NONBLOCK`.
    Nonblocking,
}

/// An unconnected socket for a connection to `to`, with its options set and bound to its source.
pub(crate) fn outgoing(
    to: &Address,
    options: &SocketOptions,
    mode: Mode,
) -> Result<OwnedFd, Errno> {
    if options.secure.is_some() {
        return Err(Errno::PROTONOSUPPORT); // In the clear it's no connection that was asked for.
    }
    let socket = new(family(to), mode)?;
    apply(&socket, to, options)?;
    if let (Address::Tcp(_), Some(device)) = (to, &options.device) {
        set_device(&socket, device)?;
    }
    if let (Address::Tcp(_), Some(source)) = (to, options.source) {
        set_bind_address_no_port(&socket)?;
        bind(&socket, &SocketAddr::new(source, 0))?;
    }
    Ok(socket)
}

/// A listening socket, and the address where it really listens.
///
/// A path that a dead process left behind is taken over, one on which somebody listens is not.
pub(crate) fn listener(what: &Listen, mode: Mode) -> Result<(OwnedFd, Address), Errno> {
    if let Some(inherited) = &what.inherited {
        return another(inherited, what, mode);
    }
    let socket = new(family(&what.address), mode)?;
    apply(&socket, &what.address, &what.options)?;
    let backlog = i32::try_from(what.backlog).unwrap_or(i32::MAX);
    match &what.address {
        Address::Tcp(address) => {
            sockopt::set_socket_reuseaddr(&socket, true)?;
            sockopt::set_socket_reuseport(&socket, what.share_port == Some(Share::Next))?;
            bind(&socket, address)?;
            listen(&socket, backlog)?;
            sockopt::set_socket_reuseport(&socket, what.share_port.is_some())?;
            let bound = SocketAddr::try_from(getsockname(&socket)?)?;
            Ok((socket, Address::Tcp(bound)))
        }
        Address::Unix(path) => {
            bind_path(&socket, path)?;
            listen(&socket, backlog)?;
            Ok((socket, Address::Unix(path.clone())))
        }
    }
}

/// Another descriptor of a socket that listens already.
fn another(inherited: &Listening, what: &Listen, mode: Mode) -> Result<(OwnedFd, Address), Errno> {
    let socket = rustix::io::fcntl_dupfd_cloexec(inherited, 3)?;
    let address = inherited.address().clone();
    apply(&socket, &address, &what.options)?;
    // This is the socket's, and not the descriptor's: all who accept on it have to want the same.
    rustix::io::ioctl_fionbio(&socket, mode == Mode::Nonblocking)?;
    Ok((socket, address))
}

/// The address in the form that the kernel reads.
pub(crate) fn encode(address: &Address) -> Result<SocketAddrAny, Errno> {
    Ok(match address {
        Address::Tcp(address) => SocketAddrAny::from(*address),
        Address::Unix(path) => {
            SocketAddrAny::from(SocketAddrUnix::new(path.as_os_str().as_bytes())?)
        }
    })
}

/// Removes the path of a listener that ends. Nothing to do for TCP, and for one that is somebody
/// else's.
pub(crate) fn forget(address: &Address, inherited: bool) {
    if inherited {
        return;
    }
    if let Address::Unix(path) = address {
        // Somebody may have removed it already, and then it is gone, as wanted.
        let _ = std::fs::remove_file(path);
    }
}

/// Makes closing send a reset: lingering for no time at all (socket(7), `SO_LINGER`).
pub(crate) fn reset_on_close(socket: impl AsFd) -> Result<(), Errno> {
    sockopt::set_socket_linger(socket, Some(Duration::ZERO))
}

fn new(family: AddressFamily, mode: Mode) -> Result<OwnedFd, Errno> {
    let mut flags = SocketFlags::CLOEXEC;
    if mode == Mode::Nonblocking {
        flags |= SocketFlags::NONBLOCK;
    }
    socket_with(family, SocketType::STREAM, flags, None)
}

fn family(address: &Address) -> AddressFamily {
    match address {
        Address::Tcp(SocketAddr::V4(_)) => AddressFamily::INET,
        Address::Tcp(SocketAddr::V6(_)) => AddressFamily::INET6,
        Address::Unix(_) => AddressFamily::UNIX,
    }
}

fn apply(socket: &OwnedFd, address: &Address, options: &SocketOptions) -> Result<(), Errno> {
    if let Some(bytes) = options.receive_buffer_bytes {
        sockopt::set_socket_recv_buffer_size(socket, bytes)?;
    }
    if let Some(bytes) = options.send_buffer_bytes {
        sockopt::set_socket_send_buffer_size(socket, bytes)?;
    }
    if let Address::Tcp(_) = address {
        sockopt::set_tcp_nodelay(socket, true)?;
        if options.reset_on_close {
            reset_on_close(socket)?;
        }
    }
    Ok(())
}

/// Leaves the choice of the port to connect(2), which may then use one port towards many peers.
fn set_bind_address_no_port(socket: &OwnedFd) -> Result<(), Errno> {
    let on: libc::c_int = 1;
    let on = on.to_ne_bytes();
    set(socket, libc::IPPROTO_IP, libc::IP_BIND_ADDRESS_NO_PORT, &on)
}

/// Has all packets of `socket` leave and come through the device of this name (`SO_BINDTODEVICE`,
/// socket(7)). Since Linux 5.7 that takes no privileges, before it took `CAP_NET_RAW`.
///
/// # Errors
/// `ENODEV`: there is no such device. `EPERM`: it takes privileges here.
pub fn bind_to_device(socket: impl AsFd, device: &str) -> io::Result<()> {
    Ok(set_device(socket, device)?)
}

fn set_device(socket: impl AsFd, device: &str) -> Result<(), Errno> {
    // The kernel takes nothing for any device, and leaves out what is behind a zero or too long.
    if device.is_empty() || device.len() >= libc::IFNAMSIZ || device.contains('\0') {
        return Err(Errno::NODEV);
    }
    let option = libc::SO_BINDTODEVICE;
    set(socket, libc::SOL_SOCKET, option, device.as_bytes())
}

/// Sets an option whose value is these bytes.
fn set(
    socket: impl AsFd,
    level: libc::c_int,
    option: libc::c_int,
    value: &[u8],
) -> Result<(), Errno> {
    // SAFETY: `value` lives through the call, which reads as many bytes as it is told.
    let result = unsafe {
        libc::setsockopt(
            socket.as_fd().as_raw_fd(),
            level,
            option,
            value.as_ptr().cast(),
            value.len() as libc::socklen_t,
        )
    };
    if result == 0 {
        Ok(())
    } else {
        Err(last_errno())
    }
}

fn bind_path(socket: &OwnedFd, path: &Path) -> Result<(), Errno> {
    let address = SocketAddrUnix::new(path.as_os_str().as_bytes())?;
    match bind(socket, &address) {
        Err(Errno::ADDRINUSE) => {
            // A file of any other kind refuses connections too (connect(2)), and is not ours.
            let is_socket =
                std::fs::symlink_metadata(path).is_ok_and(|found| found.file_type().is_socket());
            let trial = new(AddressFamily::UNIX, Mode::Nonblocking)?;
            if !is_socket || connect(&trial, &address) != Err(Errno::CONNREFUSED) {
                return Err(Errno::ADDRINUSE);
            }
            std::fs::remove_file(path).map_err(|error| errno(&error))?;
            bind(socket, &address)
        }
        other => other,
    }
}

fn last_errno() -> Errno {
    errno(&io::Error::last_os_error())
}

fn errno(error: &io::Error) -> Errno {
    Errno::from_io_error(error).unwrap_or(Errno::IO)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn on(address: Address) -> Listen {
        Listen {
            address,
            share_port: None,
            peers: false,
            backlog: 16,
            options: SocketOptions::default(),
            inherited: None,
        }
    }

    #[test]
    fn a_port_of_zero_becomes_the_real_port() {
        let any = Address::Tcp("127.0.0.1:0".parse().expect("an address"));
        let (_socket, address) = listener(&on(any), Mode::Blocking).expect("a listener");
        let Address::Tcp(address) = address else {
            panic!("TCP was asked for")
        };
        assert_ne!(address.port(), 0);
    }

    #[test]
    fn listeners_share_a_port_only_if_both_want_to() {
        let any = Address::Tcp("127.0.0.1:0".parse().expect("an address"));
        let sharing = |address, share| Listen {
            share_port: Some(share),
            ..on(address)
        };
        let first = |address| listener(&sharing(address, Share::First), Mode::Blocking);
        let (_first, address) = first(any).expect("a listener");
        let next = sharing(address.clone(), Share::Next);
        let _next = listener(&next, Mode::Blocking).expect("a listener that joins");
        assert_eq!(first(address.clone()).err(), Some(Errno::ADDRINUSE));
        assert_eq!(
            listener(&on(address), Mode::Blocking).err(),
            Some(Errno::ADDRINUSE)
        );
    }

    #[test]
    fn an_abandoned_path_is_taken_over_and_a_used_one_is_not() {
        let folder = tempfile::tempdir().expect("a folder");
        let address = Address::Unix(folder.path().join("socket"));
        let (first, _) = listener(&on(address.clone()), Mode::Blocking).expect("a listener");
        assert_eq!(
            listener(&on(address.clone()), Mode::Blocking).err(),
            Some(Errno::ADDRINUSE)
        );
        drop(first);
        assert!(listener(&on(address.clone()), Mode::Blocking).is_ok());
        forget(&address, false);
    }

    #[test]
    fn a_file_that_is_no_socket_is_never_taken_over() {
        let folder = tempfile::tempdir().expect("a folder");
        let path = folder.path().join("file");
        std::fs::write(&path, "precious").expect("a file");
        let refused = listener(&on(Address::Unix(path.clone())), Mode::Blocking).err();
        assert_eq!(refused, Some(Errno::ADDRINUSE));
        assert_eq!(std::fs::read(&path).expect("still there"), b"precious");
    }

    #[test]
    fn an_outgoing_socket_is_bound_to_the_device_that_was_asked_for() {
        let to = Address::Tcp("127.0.0.1:9".parse().expect("an address"));
        let on = |device: &str| {
            let device = Some(device.into());
            let options = SocketOptions {
                device,
                ..SocketOptions::default()
            };
            outgoing(&to, &options, Mode::Nonblocking).map(drop)
        };
        assert_eq!(on("lo"), Ok(()));
        for none in ["", "no-such-device", "lo-is-not-so-long", "lo\0x"] {
            assert_eq!(on(none), Err(Errno::NODEV), "{none:?}");
        }
    }

    #[test]
    fn an_outgoing_socket_keeps_its_port_open_until_it_connects() {
        let to = Address::Tcp("127.0.0.1:9".parse().expect("an address"));
        let source = Some("127.0.0.2".parse().expect("an address"));
        let options = SocketOptions {
            source,
            reset_on_close: true,
            ..SocketOptions::default()
        };
        let socket = outgoing(&to, &options, Mode::Nonblocking).expect("a socket");
        let bound = SocketAddr::try_from(getsockname(&socket).expect("bound")).expect("IPv4");
        assert_eq!(
            (bound.ip().to_string().as_str(), bound.port()),
            ("127.0.0.2", 0)
        );
        assert_eq!(sockopt::tcp_nodelay(&socket), Ok(true));
        assert_eq!(sockopt::socket_linger(&socket), Ok(Some(Duration::ZERO)));
    }
}
