//! What stands for a request that isn't answered yet.

use engine::Token;
use upstream::Owner;

/// The right and duty to answer one request later.
///
/// It names a connection by a token with a generation and one request on it by number, so a ticket
/// that comes too late never reaches another request.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Ticket {
    /// The connection.
    #[doc(hidden)]
    pub socket: Token,
    /// Of the request, on its connection.
    #[doc(hidden)]
    pub number: u32,
    tag: u32,
}

impl Ticket {
    /// Stands for no request.
    #[doc(hidden)]
    pub const NOBODYS: Ticket = Ticket {
        socket: Token::NOBODYS,
        number: 0,
        tag: 0,
    };

    /// That of a request of a connection.
    #[doc(hidden)]
    #[inline]
    pub fn new(socket: Token, number: u32, tag: u32) -> Ticket {
        Ticket {
            socket,
            number,
            tag,
        }
    }

    /// The same with another number on it.
    #[inline]
    pub fn with_tag(self, tag: u32) -> Ticket {
        Ticket { tag, ..self }
    }

    /// What [`Context::tag`](crate::Context::tag) put on it; 0 otherwise.
    #[inline]
    pub fn tag(self) -> u32 {
        self.tag
    }
}

/// Exchanges with upstreams are begun for tickets.
impl Owner for Ticket {
    fn slot(self) -> Option<usize> {
        (self.socket != Token::NOBODYS).then(|| self.socket.slot())
    }

    fn is(self, other: Ticket) -> bool {
        (self.socket, self.number) == (other.socket, other.number)
    }
}
