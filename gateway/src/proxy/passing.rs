//! The requests that are on their way, each in a place that its ticket is tagged with.

use measure::time::Time;
use server::upstream::{self, Exchange};
use server::{Field, Ticket};

/// A request that is being passed on.
#[derive(Debug)]
pub(super) struct Passing {
    /// The client's.
    pub(super) ticket: Ticket,
    /// What it became.
    pub(super) exchange: Exchange,
    /// Where that goes: the upstream's place in the plan of `generation`, …
    pub(super) group: usize,
    /// … the server's among all that the worker knows, …
    pub(super) server: usize,
    /// … and the number of the plan.
    pub(super) generation: u64,
    /// The servers of the upstream that were tried, by place, as far as there are bits.
    pub(super) tried: u64,
    /// The request, should it have to be sent again.
    pub(super) again: Option<Box<upstream::Request>>,
    /// What its server is chosen by, under consistent hashing.
    pub(super) key: u64,
    /// So often may it be sent again.
    pub(super) attempts: u8,
    /// This is not the first time.
    pub(super) repeated: bool,
    /// A piece of its body was sent: nobody has that any more.
    pub(super) body_began: bool,
    /// How much of it came.
    pub(super) body_bytes: u64,
    /// The client has the head of the answer.
    pub(super) answered: bool,
    /// The client wants no more of it.
    pub(super) gone: bool,
    /// The answer waits for the client.
    pub(super) paused: bool,
    /// Bytes of the answer that the client has perhaps not taken yet.
    pub(super) ahead_bytes: usize,
    /// When the upstream last sent something.
    pub(super) heard: Time,
    pub(super) trailers: Vec<Field>,
    /// Who gets a copy.
    pub(super) mirror: Option<Copied>,
}

/// A copy that is sent along with a body.
#[derive(Clone, Copy, Debug)]
pub(super) struct Copied {
    pub(super) exchange: Exchange,
    /// Bytes that it may not have taken yet.
    pub(super) ahead_bytes: usize,
}

/// See the module.
#[derive(Debug, Default)]
pub(super) struct Places {
    places: Vec<Option<Passing>>,
    free: Vec<u32>,
}

impl Places {
    /// The tag for the next ticket: its place.
    pub(super) fn reserve(&mut self) -> u32 {
        self.free.pop().unwrap_or_else(|| {
            self.places.push(None);
            self.places.len() as u32 - 1
        })
    }

    /// A place that was reserved isn't used.
    pub(super) fn give_back(&mut self, tag: u32) {
        self.free.push(tag);
    }

    /// Puts a request into the place that its ticket is tagged with.
    pub(super) fn put(&mut self, passing: Passing) {
        let at = passing.ticket.tag() as usize;
        debug_assert!(self.places[at].is_none(), "a place is used twice");
        self.places[at] = Some(passing);
    }

    /// The request of a ticket, if it's still on its way.
    pub(super) fn of(&mut self, ticket: Ticket) -> Option<&mut Passing> {
        let place = self.places.get_mut(ticket.tag() as usize)?.as_mut();
        place.filter(|passing| passing.ticket == ticket)
    }

    /// Takes the request of a ticket away.
    pub(super) fn take(&mut self, ticket: Ticket) -> Option<Passing> {
        self.of(ticket)?;
        let passing = self.places[ticket.tag() as usize].take();
        self.free.push(ticket.tag());
        passing
    }

    /// All that are on their way.
    pub(super) fn iter(&self) -> impl Iterator<Item = &Passing> {
        self.places.iter().flatten()
    }

    /// Whether there is none.
    pub(super) fn is_empty(&self) -> bool {
        self.free.len() == self.places.len()
    }
}
