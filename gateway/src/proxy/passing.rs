//! The requests that are on their way, each in a place that its ticket is tagged with.

use admission::gate::Slot;
use measure::time::Time;
use server::upstream::{self, Exchange};
use server::{Field, Response, Ticket};

use crate::log::Entry;

/// A request that is being passed on.
#[derive(Debug)]
pub(super) struct Passing {
    /// The client's.
    pub(super) ticket: Ticket,
    /// What it became; nothing yet while it waits for its turn.
    pub(super) exchange: Option<Exchange>,
    /// Its route in the plan that is in force, if that has it.
    pub(super) route: Option<usize>,
    /// Where that goes: the upstream's place in the plan of `generation`, …
    pub(super) group: usize,
    /// … the server's among all that the worker knows, …
    pub(super) server: usize,
    /// … and the number of the plan.
    pub(super) generation: u64,
    /// The servers that were tried before that one.
    pub(super) tried: Vec<usize>,
    /// The request, should it have to be sent again.
    pub(super) again: Option<Box<upstream::Request>>,
    /// It waits for its user.
    pub(super) awaits: bool,
    /// Its body is on its way.
    pub(super) has_body: bool,
    /// What its server is chosen by, under consistent hashing.
    pub(super) key: u64,
    /// So often may it be sent again, …
    pub(super) attempts: u8,
    /// … and so often it was.
    pub(super) retries: u8,
    /// The room that it takes up behind the gate of its upstream; none if that is of another plan.
    pub(super) slot: Slot,
    /// What of its body came while it waited, and whether that was all.
    pub(super) early: Vec<u8>,
    pub(super) ended: bool,
    /// When it came, and what the client was told.
    pub(super) began: Time,
    pub(super) status: u16,
    pub(super) answer_bytes: u64,
    /// Its line in the access log.
    pub(super) entry: Option<Box<Entry>>,
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

impl Passing {
    /// One that has just come.
    pub(super) fn new(ticket: Ticket, now: Time) -> Passing {
        Passing {
            ticket,
            exchange: None,
            route: None,
            group: 0,
            server: 0,
            generation: 0,
            tried: Vec::new(),
            again: None,
            awaits: false,
            has_body: false,
            key: 0,
            attempts: 0,
            retries: 0,
            slot: Slot::None,
            early: Vec::new(),
            ended: false,
            began: now,
            status: 0,
            answer_bytes: 0,
            entry: None,
            repeated: false,
            body_began: false,
            body_bytes: 0,
            answered: false,
            gone: false,
            paused: false,
            ahead_bytes: 0,
            heard: now,
            trailers: Vec::new(),
            mirror: None,
        }
    }

    /// The gateway answers it by itself.
    pub(super) fn answered_by_us(&mut self, response: &Response) {
        self.status = response.status;
        if let Some(entry) = &mut self.entry {
            entry.answered(response);
        }
    }
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

    /// All that are on their way, to be changed.
    pub(super) fn iter_mut(&mut self) -> impl Iterator<Item = &mut Passing> {
        self.places.iter_mut().flatten()
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
