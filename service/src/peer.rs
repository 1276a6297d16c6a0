//! Who is at the other end of a connection.

use std::net::SocketAddr;

use engine::Token;
use engine::secured::Secured;

/// What is known of a client.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct Peer {
    /// Its address, with `Config::peers`; clients of a Unix socket have
    /// none.
    pub address: Option<SocketAddr>,
    /// What its TLS handshake agreed on; `None` in the clear.
    pub tls: Option<Secured>,
}

impl Peer {
    /// One of whom this is known.
    #[doc(hidden)]
    #[inline]
    pub fn new(address: Option<SocketAddr>, tls: Option<Secured>) -> Peer {
        Peer { address, tls }
    }
}

/// The clients of a worker, as far as anything is known of them: by slot.
#[derive(Debug, Default)]
pub struct Peers(Vec<Option<(Token, Peer)>>);

impl Peers {
    /// Who is at `socket`.
    #[inline]
    pub fn of(&self, socket: Token) -> Peer {
        match self.0.get(socket.slot()) {
            Some(Some((of, peer))) if *of == socket => *peer,
            _ => Peer::default(),
        }
    }

    /// Keeps what is known of the client at `socket`, if anything is.
    pub fn keep(&mut self, socket: Token, peer: Peer) {
        if peer == Peer::default() {
            return;
        }
        let slot = socket.slot();
        if slot >= self.0.len() {
            self.0.resize(slot + 1, None);
        }
        self.0[slot] = Some((socket, peer));
    }
}
