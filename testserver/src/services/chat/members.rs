//! The members of a worker: each has a place, which is in the tag of its ticket.

use server::{Context, Ticket};

use crate::route::ROUTE_BITS;

/// See the module.
#[derive(Debug, Default)]
pub(super) struct Members {
    /// Nobody's are only in between: somebody has the last.
    places: Vec<Option<Ticket>>,
    /// Places that nobody had when they came in here.
    free: Vec<u32>,
    count: usize,
}

impl Members {
    /// Gives whoever has sent the request of `context` a place. False if no tag could name one.
    pub(super) fn join(&mut self, context: &mut Context<'_>) -> bool {
        let is_taken = |place: u32| !matches!(self.places.get(place as usize), Some(None));
        while self.free.pop_if(|place| is_taken(*place)).is_some() {}
        let place = match self.free.last() {
            Some(&place) => place,
            None => self.places.len() as u32,
        };
        if place >> (u32::BITS - ROUTE_BITS) > 0 {
            return false;
        }
        let route = context.ticket().tag();
        context.tag(place << ROUTE_BITS | route);
        let ticket = Some(context.ticket());
        match self.free.pop() {
            Some(_) => self.places[place as usize] = ticket,
            None => self.places.push(ticket),
        }
        self.count += 1;
        true
    }

    /// Whether this is the ticket of a member.
    pub(super) fn has(&self, ticket: Ticket) -> bool {
        self.places.get(place(ticket)) == Some(&Some(ticket))
    }

    /// Takes the place of a member away. False if it has none.
    pub(super) fn leave(&mut self, ticket: Ticket) -> bool {
        let is_member = self.has(ticket);
        if is_member {
            self.places[place(ticket)] = None;
            self.free.push(place(ticket) as u32);
            self.count -= 1;
            while self.places.pop_if(|place| place.is_none()).is_some() {}
        }
        if self.count == 0 {
            *self = Members::default();
        }
        is_member
    }

    /// How many there are.
    pub(super) fn count(&self) -> usize {
        self.count
    }

    /// The members at and behind this place, which moves on.
    pub(super) fn beginning_at<'a>(
        &'a self,
        place: &'a mut usize,
    ) -> impl Iterator<Item = Ticket> + 'a {
        std::iter::from_fn(move || {
            let behind = self.places.get(*place..)?;
            let empty = behind.iter().position(Option::is_some);
            *place += empty.map_or(behind.len(), |empty| empty + 1);
            behind[empty?]
        })
    }

    /// Whether nobody is at or behind this place.
    pub(super) fn end_before(&self, place: usize) -> bool {
        place >= self.places.len()
    }
}

fn place(ticket: Ticket) -> usize {
    (ticket.tag() >> ROUTE_BITS) as usize
}
