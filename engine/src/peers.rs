//! Who is at the other end of accepted connections, where their listener asks for it.
//!
//! Beside the sockets, which are looked at for every completion: this is asked once a connection,
//! and by most owners never.

use std::net::SocketAddr;

use crate::operations::Token;

/// Addresses by slot, each with the socket that it is of: who takes the slot next is somebody else.
#[derive(Debug, Default)]
pub(crate) struct Peers(Vec<Option<(Token, SocketAddr)>>);

impl Peers {
    /// Notes where the peer of `socket` is. An IPv4 peer of a listener on `::` is shown as such.
    pub(crate) fn note(&mut self, socket: Token, address: SocketAddr) {
        let plain = match address {
            SocketAddr::V6(mapped) => mapped.ip().to_ipv4_mapped(),
            SocketAddr::V4(_) => None,
        };
        let address = plain.map_or(address, |ip| SocketAddr::from((ip, address.port())));
        if self.0.len() <= socket.slot() {
            self.0.resize(socket.slot() + 1, None);
        }
        self.0[socket.slot()] = Some((socket, address));
    }

    /// Where the peer of `socket` is, which is open.
    pub(crate) fn of(&self, socket: Token) -> Option<SocketAddr> {
        let (known, address) = (*self.0.get(socket.slot())?)?;
        (known == socket).then_some(address)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_address_is_that_of_one_use_of_a_slot() {
        let mut peers = Peers::default();
        let first = Token::new(3, 0);
        assert_eq!(peers.of(first), None);
        let address = SocketAddr::from(([192, 0, 2, 1], 80));
        peers.note(first, address);
        assert_eq!(peers.of(first), Some(address));
        assert_eq!(peers.of(Token::new(3, 2)), None);
        assert_eq!(peers.of(Token::new(2, 0)), None);
    }

    #[test]
    fn an_ipv4_peer_is_one_on_any_listener() {
        let mut peers = Peers::default();
        let mapped: SocketAddr = "[::ffff:192.0.2.1]:80".parse().expect("an address");
        let other: SocketAddr = "[2001:db8::1]:80".parse().expect("an address");
        let (first, second) = (Token::new(0, 0), Token::new(1, 0));
        peers.note(first, mapped);
        peers.note(second, other);
        assert_eq!(peers.of(first), "192.0.2.1:80".parse().ok());
        assert_eq!(peers.of(second), Some(other));
    }
}
