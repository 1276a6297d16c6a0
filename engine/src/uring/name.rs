//! Where accept(2) writes who connects.

use std::net::{Ipv4Addr, Ipv6Addr, SocketAddr, SocketAddrV6};

/// The longer of `sockaddr_in` and `sockaddr_in6` (ip(7), ipv6(7)).
const BYTES: usize = size_of::<libc::sockaddr_in6>();

/// The address of a peer as the kernel writes it, while an accept is under way.
#[derive(Debug)]
pub(super) struct Name {
    /// How much room there is, and afterwards how much was there to be written.
    length: libc::socklen_t,
    bytes: [u8; BYTES],
}

impl Name {
    /// Room for one.
    pub(super) fn new() -> Name {
        Name {
            length: 0,
            bytes: [0; BYTES],
        }
    }

    /// Empties it, and says where an accept is to write the address and its length.
    pub(super) fn room(&mut self) -> (*mut libc::sockaddr, *mut libc::socklen_t) {
        *self = Name {
            length: BYTES as libc::socklen_t,
            ..Name::new()
        };
        (self.bytes.as_mut_ptr().cast(), &raw mut self.length)
    }

    /// What an accept has written, if it was an address of TCP.
    pub(super) fn address(&self) -> Option<SocketAddr> {
        let bytes = &self.bytes[..BYTES.min(self.length as usize)];
        let (family, rest) = bytes.split_first_chunk()?;
        let (port, rest) = rest.split_first_chunk()?;
        let (first, rest) = rest.split_first_chunk::<4>()?;
        let port = u16::from_be_bytes(*port);
        match libc::c_int::from(u16::from_ne_bytes(*family)) {
            libc::AF_INET => Some(SocketAddr::from((Ipv4Addr::from(*first), port))),
            libc::AF_INET6 => {
                let (ip, scope) = rest.split_first_chunk::<16>()?;
                let flow = u32::from_ne_bytes(*first);
                let scope = u32::from_ne_bytes(scope.try_into().ok()?);
                let ip = Ipv6Addr::from(*ip);
                Some(SocketAddrV6::new(ip, port, flow, scope).into())
            }
            _ => None,
        }
    }
}

#[cfg(test)]
mod tests {
    use rustix::net::SocketAddrAny;

    use super::*;

    #[test]
    fn what_the_kernel_writes_reads_back() {
        let text = ["192.0.2.7:81", "[2001:db8::5]:65535", "[fe80::1%3]:1"];
        for address in text.map(|text| text.parse::<SocketAddr>().expect("an address")) {
            let mut name = Name::new();
            let _ = name.room();
            let length = SocketAddrAny::from(address).addr_len();
            assert!(name.length >= length && name.address().is_none());
            match address {
                SocketAddr::V4(v4) => {
                    name.bytes[0..2].copy_from_slice(&(libc::AF_INET as u16).to_ne_bytes());
                    name.bytes[4..8].copy_from_slice(&v4.ip().octets());
                }
                SocketAddr::V6(v6) => {
                    name.bytes[0..2].copy_from_slice(&(libc::AF_INET6 as u16).to_ne_bytes());
                    name.bytes[8..24].copy_from_slice(&v6.ip().octets());
                    name.bytes[24..28].copy_from_slice(&v6.scope_id().to_ne_bytes());
                }
            }
            name.bytes[2..4].copy_from_slice(&address.port().to_be_bytes());
            name.length = length;
            assert_eq!(name.address(), Some(address));
            name.length = 2;
            assert_eq!(
                name.address(),
                None,
                "the address of a Unix socket without a path"
            );
        }
    }
}
