//! The streams of a worker: each has a place, which is in the tag of its ticket.

use std::io::Write;
use std::time::Duration;

use measure::random::Random;
use measure::time::{Time, unix_nanoseconds};
use server::{Body, Context, Event, Reply, Response, Ticket};

use super::law::Law;
use super::nanoseconds;
use crate::route::ROUTE_BITS;

/// More isn't sent to a client that doesn't take it.
const UNTAKEN_BYTES_MAX: usize = 64 << 10;

/// How many events a stream has, and when they are due.
#[derive(Clone, Copy, Debug)]
pub(super) struct Pace {
    pub(super) count: u64,
    pub(super) first: Law,
    pub(super) every_ns: u64,
}

/// What its events say.
pub(super) enum Says {
    /// The first one 0, and so on.
    Numbers,
    /// All the same, but for the last one.
    Tokens { each: Box<[u8]>, last: Box<[u8]> },
    /// It's no stream, but an answer that comes when the last event would.
    Whole(Box<[u8]>),
}

/// The streams of a worker.
pub(super) struct Flows {
    places: Vec<Option<Flow>>,
    free: Vec<u32>,
    random: Random,
    /// Events on their way to the context.
    bytes: Vec<u8>,
}

/// One stream.
struct Flow {
    ticket: Ticket,
    says: Says,
    first: Time,
    every_ns: u64,
    count: u64,
    sent: u64,
    /// What was sent since the client has last taken something.
    untaken_bytes: usize,
    /// It will be woken.
    sleeps: bool,
}

impl Pace {
    pub(super) fn new(count: u64, first: Law, every: Duration) -> Pace {
        Pace {
            count,
            first,
            every_ns: nanoseconds(every),
        }
    }
}

impl Flows {
    /// None yet. What is drawn at random is different in each worker and each time.
    pub(super) fn new() -> Flows {
        Flows {
            places: Vec::new(),
            free: Vec::new(),
            random: Random::seeded(unix_nanoseconds() as u64),
            bytes: Vec::new(),
        }
    }

    /// Answers the request of `context` with a stream.
    pub(super) fn begin(&mut self, pace: Pace, says: Says, context: &mut Context<'_>) -> Reply {
        let place = self.free.pop().unwrap_or(self.places.len() as u32);
        if place >> (u32::BITS - ROUTE_BITS) > 0 {
            return Response::sentence(503, "there is no room for another stream\n").into();
        }
        let route = context.ticket().tag();
        context.tag(place << ROUTE_BITS | route);
        let ticket = context.ticket();
        let first = (context.now()).plus(pace.first.draw_ns(&mut self.random));
        let whole = matches!(says, Says::Whole(_));
        let flow = Flow {
            ticket,
            says,
            first,
            every_ns: pace.every_ns,
            count: pace.count,
            sent: 0,
            untaken_bytes: 0,
            sleeps: true,
        };
        let wakes_at = match whole {
            true => flow.at(flow.count.saturating_sub(1)),
            false => first,
        };
        context.wake_at(wakes_at, ticket);
        match self.places.get_mut(place as usize) {
            Some(free) => *free = Some(flow),
            None => self.places.push(Some(flow)),
        }
        if whole {
            return Reply::Later;
        }
        let answer = Response::of("text/event-stream", Body::Stream);
        answer.with_field("Cache-Control", "no-cache").into()
    }

    /// The time has come that a stream sleeps until.
    pub(super) fn due(&mut self, ticket: Ticket, context: &mut Context<'_>) {
        if let Some(flow) = self.flow(ticket) {
            flow.sleeps = false;
            self.go_on(ticket, context);
        }
    }

    /// Something happened to a stream.
    pub(super) fn event(&mut self, ticket: Ticket, event: &Event<'_>, context: &mut Context<'_>) {
        let Some(flow) = self.flow(ticket) else {
            return;
        };
        match event {
            Event::Writable => {
                flow.untaken_bytes = 0;
                if !flow.sleeps {
                    self.go_on(ticket, context);
                }
            }
            Event::Closed => self.leave(ticket),
            _ => {}
        }
    }

    fn flow(&mut self, ticket: Ticket) -> Option<&mut Flow> {
        let flow = self.places.get_mut(place(ticket))?.as_mut()?;
        (flow.ticket == ticket).then_some(flow)
    }

    /// Sends what is due of a stream, and has it woken for the next event.
    fn go_on(&mut self, ticket: Ticket, context: &mut Context<'_>) {
        let mut bytes = std::mem::take(&mut self.bytes);
        if let Some(flow) = self.flow(ticket) {
            if let Says::Whole(body) = &flow.says {
                let answer = Response::of("application/json", body.to_vec());
                context.complete(ticket, answer);
                self.leave(ticket);
                return;
            }
            flow.write_due(context.now(), &mut bytes);
            context.send(ticket, &bytes);
            if flow.sent == flow.count {
                context.end(ticket);
                self.leave(ticket);
            } else if flow.untaken_bytes <= UNTAKEN_BYTES_MAX {
                flow.sleeps = true;
                context.wake_at(flow.at(flow.sent), ticket);
            }
        }
        bytes.clear();
        self.bytes = bytes;
    }

    fn leave(&mut self, ticket: Ticket) {
        let place = place(ticket);
        self.places[place] = None;
        self.free.push(place as u32);
    }
}

impl Flow {
    /// When the event of this number is due.
    fn at(&self, number: u64) -> Time {
        self.first.plus(self.every_ns.saturating_mul(number))
    }

    /// Appends the events that are due and that the client has room for.
    fn write_due(&mut self, now: Time, bytes: &mut Vec<u8>) {
        while self.sent < self.count
            && self.at(self.sent) <= now
            && self.untaken_bytes + bytes.len() <= UNTAKEN_BYTES_MAX
        {
            match &self.says {
                // A vector takes every byte.
                Says::Numbers => drop(write!(bytes, "data: {}\n\n", self.sent)),
                Says::Tokens { last, .. } if self.sent + 1 == self.count => {
                    bytes.extend_from_slice(last);
                }
                Says::Tokens { each, .. } => bytes.extend_from_slice(each),
                Says::Whole(_) => {}
            }
            self.sent += 1;
        }
        self.untaken_bytes += bytes.len();
    }
}

fn place(ticket: Ticket) -> usize {
    (ticket.tag() >> ROUTE_BITS) as usize
}
