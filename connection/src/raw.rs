//! A connection that its service has taken over: bytes in, bytes out, whatever they mean.
//!
//! No time limit is on it but that the client takes what is sent: how long both may be silent, only
//! the service knows.

use super::outgoing::{Outgoing, PIECES_LOW, Step};
use super::{Ending, Phase, Serving};
use service::{Agenda, Event, Service, Ticket};

/// See the module.
#[derive(Debug)]
pub(super) struct Raw {
    ticket: Ticket,
    out: Outgoing,
    /// Received, and not told yet because the service wanted no more.
    held: Vec<u8>,
    paused: bool,
    /// Since the service was last told that there is room, it has sent something.
    owed: bool,
    /// The client sends no more; whether the service knows.
    peer_ended: bool,
    end_told: bool,
    ending: Option<Ending>,
}

impl Raw {
    /// Takes over a connection with what came on it behind the request.
    pub(super) fn new(ticket: Ticket, out: Outgoing, received: Vec<u8>) -> Raw {
        Raw {
            ticket,
            out,
            held: received,
            paused: false,
            owed: true,
            peer_ended: false,
            end_told: false,
            ending: None,
        }
    }

    /// Bytes came.
    pub(super) fn receive<S: Service>(&mut self, input: &[u8], serving: &mut Serving<S>) {
        if self.ending.is_some() {
            return;
        }
        if self.paused || !self.held.is_empty() {
            self.held.extend_from_slice(input);
        } else if !input.is_empty() {
            serving.tell(self.ticket, Event::Data(input));
        }
    }

    /// Tells what was held, if the service wants more. Reports whether anything was told.
    pub(super) fn resume<S: Service>(&mut self, serving: &mut Serving<S>) -> bool {
        if self.paused || self.ending.is_some() {
            return false;
        }
        let held = std::mem::take(&mut self.held);
        if !held.is_empty() {
            serving.tell(self.ticket, Event::Data(&held));
            return true;
        }
        if self.peer_ended && !self.end_told {
            self.end_told = true;
            serving.tell(self.ticket, Event::End);
            return true;
        }
        false
    }

    /// The client will send no more.
    pub(super) fn peer_ended<S: Service>(&mut self, serving: &mut Serving<S>) {
        self.peer_ended = true;
        self.resume(serving);
    }

    /// The server stops.
    pub(super) fn drain<S: Service>(&mut self, serving: &mut Serving<S>) {
        serving.tell(self.ticket, Event::Stopping);
    }

    /// Sends.
    pub(super) fn send(&mut self, piece: &[u8], agenda: &mut Agenda) {
        if self.ending.is_none() {
            self.out.append(|out| out.extend_from_slice(piece));
            self.owed = true;
            self.tell_room(agenda);
        }
    }

    /// Nothing more is sent.
    pub(super) fn finish(&mut self, how: Ending) {
        self.ending.get_or_insert(how);
        self.held = Vec::new();
    }

    /// The service wants no more for now, or it does again.
    pub(super) fn pause(&mut self, paused: bool) {
        self.paused = paused;
    }

    fn tell_room(&mut self, agenda: &mut Agenda) {
        if self.owed && self.ending.is_none() && self.out.bytes() <= PIECES_LOW {
            self.owed = false;
            agenda.writable(self.ticket);
        }
    }

    /// Takes the next thing to do off its output.
    pub(super) fn step(&mut self, agenda: &mut Agenda) -> Step {
        let step = self.out.step();
        self.tell_room(agenda);
        step
    }

    /// What has to be said.
    pub(super) fn out(&mut self) -> &mut Outgoing {
        &mut self.out
    }

    /// Whether the buffer that gathers bytes has no memory yet.
    pub(super) fn wants_buffer(&self) -> bool {
        self.out.wants_buffer()
    }

    /// Whether reading should go on.
    pub(super) fn reads(&self) -> bool {
        !self.paused && self.held.is_empty()
    }

    /// Whether the service may send more.
    pub(super) fn is_open(&self) -> bool {
        self.ending.is_none()
    }

    /// How the connection is to be closed, if it is time.
    pub(super) fn finished(&self) -> Option<Ending> {
        self.ending.filter(|_| self.out.is_empty())
    }

    /// What it is doing.
    pub(super) fn phase(&self) -> Phase {
        Phase::Waiting
    }

    /// Bytes of memory that the client makes it hold.
    pub(super) fn memory(&self) -> usize {
        self.held.capacity() + self.out.bytes()
    }

    /// The connection is gone.
    pub(super) fn abandon(&mut self, agenda: &mut Agenda) {
        if self.ending.is_none() {
            agenda.closed(self.ticket);
        }
    }
}
