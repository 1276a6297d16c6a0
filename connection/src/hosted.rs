//! A WebSocket whose messages are its service's: each is told when it's whole and checked, and what
//! the service says leaves in frames that are encoded already.

use proto::websocket::{Kind, code, encode_close};

use super::outgoing::{PIECES_LOW, Step};
use super::websocket::{STOPPING, Told, WebSocket, answer_close};
use super::{Ending, Phase, Serving, Shared};
use measure::time::Time;
use service::{Action, Agenda, Event, Service, Ticket, Timeouts};

/// See the module.
#[derive(Debug)]
pub(super) struct Hosted {
    websocket: WebSocket,
    /// That of the request that was upgraded.
    ticket: Ticket,
    /// The service wants no more for now, or what it has asked for has to be done first.
    paused: bool,
    /// Since the service was last told that there is room, it has said something.
    owed: bool,
    /// The client sends no more, and what it sent before has not been read yet.
    peer_ended: bool,
    /// The service has ended it, or was told that it's over.
    over: bool,
}

impl Hosted {
    /// What a request with this ticket was upgraded to.
    pub(super) fn new(ticket: Ticket, websocket: WebSocket) -> Hosted {
        Hosted {
            websocket,
            ticket,
            paused: false,
            owed: true,
            peer_ended: false,
            over: false,
        }
    }

    /// Bytes came.
    pub(super) fn receive<S: Service>(&mut self, input: &[u8], serving: &mut Serving<S>) {
        if self.paused || self.websocket.holds() {
            self.websocket.hold(input);
        } else {
            self.read(input, serving);
        }
    }

    /// Reads on what was held, if the service wants more and there is room for answers. Reports
    /// whether anything was read.
    pub(super) fn resume<S: Service>(&mut self, serving: &mut Serving<S>) -> bool {
        if self.paused {
            return false;
        }
        let Some(held) = self.websocket.take_held() else {
            return false;
        };
        self.read(&held, serving);
        if self.peer_ended {
            self.peer_ended(&mut serving.agenda);
        }
        true
    }

    /// Tells the messages that have come whole, up to one in whose call the service has the client
    /// wait, or ends the connection.
    fn read<S: Service>(&mut self, mut input: &[u8], serving: &mut Serving<S>) {
        self.websocket.begin_reading(serving);
        while let Some(told) = self.websocket.next_told(&mut input, serving) {
            let ticket = self.ticket;
            let (kind, bytes) = match told {
                Told::Message(kind, bytes) => (kind, bytes),
                // The service may have said something since that came.
                Told::Close(code) => {
                    let agenda = &mut serving.agenda;
                    agenda.over(ticket, false, |out| answer_close(out, code));
                    break;
                }
                Told::Failure(failure) => {
                    let (code, what) = (failure.code, failure.violation.what);
                    let agenda = &mut serving.agenda;
                    agenda.over(ticket, true, |out| encode_close(out, None, code, what));
                    break;
                }
            };
            let before = serving.agenda.actions.len();
            let message = Event::Message {
                binary: kind == Kind::Binary,
                bytes: &bytes,
            };
            serving.tell(ticket, message);
            self.websocket.heard(bytes);
            if serving.agenda.has_stopped(ticket, before) {
                self.paused = true;
                self.websocket.hold(input);
                break;
            }
        }
        self.websocket.end_reading(serving);
    }

    /// The service is told, once, that nothing is said any more, unless it has ended that itself.
    fn settle(&mut self, agenda: &mut Agenda) {
        if !self.over && self.websocket.is_ending() {
            self.abandon(agenda);
        }
    }

    /// The client will send no more. What it sent is told first.
    pub(super) fn peer_ended(&mut self, agenda: &mut Agenda) {
        self.peer_ended = self.websocket.holds();
        if self.websocket.is_ending() {
            self.websocket.peer_ended();
        } else if !self.peer_ended {
            agenda.over(self.ticket, false, |_| ());
        }
    }

    /// The server stops.
    pub(super) fn drain(&mut self, agenda: &mut Agenda) {
        if !self.websocket.is_ending() {
            agenda.over(self.ticket, true, |out| {
                encode_close(out, None, code::GOING_AWAY, STOPPING);
            });
        }
    }

    /// Nothing came for too long, or not all of a message.
    pub(super) fn time_out(&mut self, shared: &mut Shared) {
        self.websocket.time_out(shared);
        self.settle(&mut shared.agenda);
    }

    /// Does what the service asked for. `bytes` are those of the agenda.
    pub(super) fn act(
        &mut self,
        ticket: Ticket,
        action: Action,
        bytes: &[u8],
        shared: &mut Shared,
    ) {
        if ticket.number != self.ticket.number {
            return;
        }
        if let Action::Over { frame, lingers } = action {
            self.websocket.close(&bytes[frame]);
            if !lingers {
                self.websocket.peer_ended();
            }
            return self.settle(&mut shared.agenda);
        }
        if self.over {
            return;
        }
        match action {
            Action::Say(frame) => {
                self.websocket.say(&bytes[frame]);
                self.owed = true;
                self.tell_room(&mut shared.agenda);
            }
            Action::Close(frame) => {
                self.websocket.close(&bytes[frame]);
                self.finish();
            }
            Action::End(_) => {
                self.websocket.close_with(code::NORMAL, "");
                self.finish();
            }
            Action::Abort => {
                self.websocket.reset();
                self.finish();
            }
            Action::Pause => self.paused = true,
            Action::Resume => {
                self.paused = false;
                self.websocket.wanted_again(shared.now);
            }
            _ => {}
        }
    }

    /// Says what is said to many, whose frame this is.
    pub(super) fn say_shared(&mut self, ticket: Ticket, frame: &[u8]) {
        if ticket.number == self.ticket.number {
            self.websocket.say(frame);
        }
    }

    /// The service has ended it. What the client still sends is read up to its close frame.
    fn finish(&mut self) {
        self.over = true;
        self.paused = false;
    }

    fn tell_room(&mut self, agenda: &mut Agenda) {
        if self.owed && !self.over && self.websocket.out().bytes() <= PIECES_LOW {
            self.owed = false;
            agenda.writable(self.ticket);
        }
    }

    /// Takes the next thing to do off its output.
    pub(super) fn step(&mut self, agenda: &mut Agenda) -> Step {
        let step = self.websocket.out().step();
        self.tell_room(agenda);
        step
    }

    /// What it is apart from its service.
    pub(super) fn websocket(&mut self) -> &mut WebSocket {
        &mut self.websocket
    }

    /// Whether the buffer that gathers bytes has no memory yet.
    pub(super) fn wants_buffer(&self) -> bool {
        self.websocket.wants_buffer()
    }

    /// Whether reading should go on.
    pub(super) fn reads(&self) -> bool {
        !self.paused && self.websocket.reads()
    }

    /// Whether the service may say more.
    pub(super) fn is_open(&self) -> bool {
        !self.over
    }

    /// How the connection is to be closed, if it is time.
    pub(super) fn finished(&self) -> Option<Ending> {
        self.websocket.finished()
    }

    /// Whether the end of the connection waits for nothing but the client's close frame.
    pub(super) fn awaits_close(&self) -> bool {
        self.websocket.awaits_close()
    }

    /// What it is doing.
    pub(super) fn phase(&self, timeouts: &Timeouts) -> Phase {
        match self.paused {
            true => Phase::Waiting,
            false => self.websocket.phase(timeouts),
        }
    }

    /// Since when the limit of a message is to be minded; [`Time::NEVER`] if none is coming.
    pub(super) fn body_since(&self) -> Time {
        match self.paused {
            true => Time::NEVER,
            false => self.websocket.body_since(),
        }
    }

    /// Bytes of memory that the client makes it hold.
    pub(super) fn memory(&self) -> usize {
        self.websocket.memory()
    }

    /// Gives up the message that is coming. False if there is none.
    pub(super) fn relieve(&mut self, agenda: &mut Agenda) -> bool {
        let relieved = self.websocket.relieve();
        self.settle(agenda);
        relieved
    }

    /// The connection is gone, or nothing is said on it any more.
    pub(super) fn abandon(&mut self, agenda: &mut Agenda) {
        if !self.over {
            self.finish();
            agenda.closed(self.ticket);
        }
    }
}
