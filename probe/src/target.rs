//! From a plan's target to addresses, and what to say when nobody is there.

use std::io;
use std::net::{IpAddr, SocketAddr, ToSocketAddrs, UdpSocket};

use engine::Address;
use engine::tls::ClientTls;

use crate::RunError;
use plan::Contact;

/// The addresses to connect to, in the resolver's order. Connections take them in turn.
pub fn resolve(contact: &Contact) -> Result<Vec<Address>, RunError> {
    let target = &contact.target;
    if let Some(path) = &target.unix_socket {
        return Ok(vec![Address::Unix(path.clone())]);
    }
    let (host, port) = match &target.connect_to {
        Some(instead) => (&*instead.host, instead.port),
        None => (&*target.host, target.port),
    };
    let found = (host, port).to_socket_addrs().map_err(|why| {
        RunError::Unresolved(format!(
            "can't resolve {host:?} ({why}): check the name, or connect elsewhere with --connect-to"
        ))
    })?;
    let family = contact.source_addresses.first().map(IpAddr::is_ipv4);
    let found: Vec<SocketAddr> = found
        .filter(|address| family.is_none_or(|v4| address.is_ipv4() == v4))
        .collect();
    // `localhost` is often both ::1 and 127.0.0.1, of which a server may hold only one.
    // Where there is but one address, `reach` will say whether anybody is there.
    let several = found.len() > 1;
    let alive: Vec<Address> = found
        .iter()
        .copied()
        .filter(|address| !several || listens(address))
        .map(Address::Tcp)
        .collect();
    if !alive.is_empty() {
        return Ok(alive);
    }
    let first = found.first().copied().ok_or_else(|| {
        RunError::Unresolved(format!(
            "{host:?} has no address of the same family as --source-ip"
        ))
    })?;
    Ok(vec![Address::Tcp(first)])
}

fn listens(address: &SocketAddr) -> bool {
    !address.ip().is_loopback() || std::net::TcpStream::connect(address).is_ok()
}

/// Fails early, and in words, where nobody listens, or somebody who speaks something else.
pub fn reach(
    contact: &Contact,
    addresses: &[Address],
    tls: Option<&ClientTls>,
) -> Result<(), RunError> {
    let timeout = std::time::Duration::from_secs_f64(contact.timeout_s.min(3600.0));
    for address in addresses {
        crate::reach(contact, address, tls, timeout)?;
    }
    Ok(())
}

/// The sentence for a peer that cannot be connected to.
pub fn unreachable(contact: &Contact, address: &Address, why: &io::Error) -> RunError {
    let advice = match why.kind() {
        io::ErrorKind::ConnectionRefused => {
            "nothing is listening there: start the server, or check the port"
        }
        io::ErrorKind::NotFound => "there's no such socket: start the server, or check the path",
        io::ErrorKind::PermissionDenied => "you may not connect to it: check its permissions",
        io::ErrorKind::TimedOut | io::ErrorKind::WouldBlock => {
            "it doesn't answer: check the address and the firewall"
        }
        _ => "check the address",
    };
    RunError::Unreachable(format!(
        "{}: can't connect to {address} ({why}); {advice}",
        contact.url()
    ))
}

/// Checks that every source address belongs to this host (bind(2), `EADDRNOTAVAIL`).
pub fn check_sources(sources: &[IpAddr]) -> Result<(), RunError> {
    for source in sources {
        UdpSocket::bind((*source, 0)).map_err(|why| {
            RunError::Unreachable(format!(
                "--source-ip {source} isn't an address of this host ({why}): add it with `ip \
                 address add {source} dev …`, or for a server on loopback use one from 127.0.0.0/8"
            ))
        })?;
    }
    Ok(())
}
