//! The connections to upstreams, and what is to be done with their sockets.

use measure::time::Time;
use timers::TimerId;

use crate::desk::Upstream;
use crate::wire::Wire;

/// Names a connection to an upstream. It goes stale when that is closed.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Link {
    index: u32,
    generation: u32,
}

impl Link {
    /// A dense number, free again once [`Order::Close`] is given.
    pub fn slot(self) -> usize {
        self.index as usize
    }
}

/// What the owner of the sockets is to do.
#[derive(Debug)]
pub enum Order {
    /// Connect to an address of an upstream: ends in
    /// [`connected`](crate::Upstreams::connected) or [`broke`](crate::Upstreams::broke).
    Connect {
        /// What the connection is called.
        link: Link,
        /// Where to.
        upstream: Upstream,
        /// Which of its addresses.
        address: usize,
    },
    /// There is something to send, which [`output`](crate::Upstreams::output) hands over once
    /// nothing is unfinished.
    Flush(Link),
    /// Receive, or don't for the time being.
    Read(Link, bool),
    /// Close it, behind these bytes, if there are any and no send is unfinished.
    Close {
        /// Which.
        link: Link,
        /// At once, by a reset.
        reset: bool,
        /// What is to be said last.
        last: Vec<u8>,
    },
}

/// How far a connection is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Stand {
    /// No socket stands, or the server has said nothing yet that it has to.
    Opening,
    /// Requests can be sent.
    Open,
}

/// One connection.
#[derive(Debug)]
pub(crate) struct Connection {
    pub(crate) pool: u32,
    pub(crate) address: u32,
    /// So many addresses are tried after this one.
    pub(crate) tries_left: u32,
    pub(crate) stand: Stand,
    /// `None` until the socket stands.
    pub(crate) wire: Option<Wire>,
    /// What is to be sent next, behind what is being sent.
    pub(crate) out: Vec<u8>,
    pub(crate) in_flight: usize,
    /// It is to be flushed.
    pub(crate) listed: bool,
    /// It is being read.
    pub(crate) reads: bool,
    /// So many requests were sent on it.
    pub(crate) carried: u64,
    /// It's among those that wait for a request.
    pub(crate) is_idle: bool,
    /// Since when it's idle, or being opened.
    pub(crate) since: Time,
    pub(crate) timer: TimerId,
    /// Exchanges on it whose request isn't complete.
    pub(crate) uploads: Vec<u32>,
    pub(crate) held_bytes: usize,
}

impl Connection {
    /// Bytes that it makes the worker hold.
    pub(crate) fn weigh(&self) -> usize {
        let wire = self.wire.as_ref().map_or(0, Wire::held_bytes);
        wire + self.out.len() + self.in_flight
    }

    /// Requests without a complete answer.
    pub(crate) fn outstanding(&self) -> u32 {
        self.wire.as_ref().map_or(0, Wire::outstanding)
    }
}

/// All connections, by their number.
#[derive(Debug, Default)]
pub(crate) struct Links {
    places: Vec<(u32, Option<Connection>)>,
    free: Vec<u32>,
}

impl Links {
    /// How many there are.
    pub(crate) fn live(&self) -> usize {
        self.places.len() - self.free.len()
    }

    /// The name of the next one.
    pub(crate) fn next(&mut self) -> Link {
        let index = self.free.pop().unwrap_or_else(|| {
            self.places.push((0, None));
            self.places.len() as u32 - 1
        });
        let generation = self.places[index as usize].0;
        Link { index, generation }
    }

    /// Keeps the one that [`Links::next`] has named.
    pub(crate) fn keep(&mut self, link: Link, connection: Connection) {
        self.places[link.slot()].1 = Some(connection);
    }

    pub(crate) fn get(&mut self, link: Link) -> Option<&mut Connection> {
        match self.places.get_mut(link.slot())? {
            (generation, Some(connection)) if *generation == link.generation => Some(connection),
            _ => None,
        }
    }

    pub(crate) fn remove(&mut self, link: Link) -> Option<Connection> {
        self.get(link)?;
        let (generation, place) = &mut self.places[link.slot()];
        *generation = generation.wrapping_add(1);
        self.free.push(link.index);
        place.take()
    }

    /// The names of all.
    pub(crate) fn names(&self) -> impl Iterator<Item = Link> {
        let named = |(index, (generation, place)): (usize, &(u32, Option<Connection>))| {
            let (index, generation) = (index as u32, *generation);
            place.as_ref().map(|_| Link { index, generation })
        };
        self.places.iter().enumerate().filter_map(named)
    }
}
