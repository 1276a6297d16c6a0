//! WebSocket on one connection: messages in, messages out. Knows no sockets.
//!
//! A message is answered when it is complete and checked, in one frame. What is under way is
//! gathered in memory that all connections of a worker share, and moves to the connection only if
//! the rest takes longer to come. Where messages are a service's, `hosted` takes them from here.

use measure::time::Time;
use proto::websocket::{self, Event, Failure, Kind, Limits, Opcode, Reader, Role, code};

use super::outgoing::Outgoing;
use super::{Arrival, Ending, Phase};
use crate::Shared;
use service::Dialogue;
use service::Timeouts;

/// What a server says that is too busy (IANA's registry of close codes).
const TRY_AGAIN_LATER: u16 = 1013;

/// What a server says that stops.
pub(super) const STOPPING: &str = "the server is shutting down";

/// One connection, from the answer to the upgrade on.
#[derive(Debug)]
pub(super) struct WebSocket {
    reader: Reader,
    talk: Talk,
    /// Received and not read yet, because output had piled up.
    held: Vec<u8>,
    /// The client broke the protocol, so its close frame cannot be made out any more.
    failed: bool,
}

/// What is handed out where messages are a service's.
pub(super) enum Told {
    /// A whole message.
    Message(Kind, Vec<u8>),
    /// The client closes, with this code if it gave one.
    Close(Option<u16>),
    /// The client broke the protocol.
    Failure(Failure),
}

/// Everything but the reader, which lends what it has read.
#[derive(Debug)]
struct Talk {
    dialogue: Dialogue,
    out: Outgoing,
    /// The beginning of a message whose end has not come.
    message: Vec<u8>,
    kind: Kind,
    arrival: Arrival,
    /// A close frame was sent, or none is wanted any more.
    ending: Option<Ending>,
}

impl WebSocket {
    /// Takes over a connection whose output ends with the answer to the upgrade.
    pub(super) fn new(
        dialogue: Dialogue,
        message_bytes: u64,
        out: Outgoing,
        received: Vec<u8>,
    ) -> WebSocket {
        let limits = Limits {
            frame_bytes: message_bytes,
            message_bytes,
        };
        WebSocket {
            reader: Reader::new(Role::Server, limits),
            talk: Talk {
                dialogue,
                out,
                message: Vec::new(),
                kind: Kind::Binary,
                arrival: Arrival::NONE,
                ending: None,
            },
            held: received,
            failed: false,
        }
    }

    /// Bytes came.
    #[inline]
    pub(super) fn receive(&mut self, input: &[u8], shared: &mut Shared) {
        if self.held.is_empty() {
            self.read(input, shared);
        } else {
            self.held.extend_from_slice(input);
        }
    }

    /// Reads on what was held, if there is room for answers. Reports whether anything was read.
    pub(super) fn resume(&mut self, shared: &mut Shared) -> bool {
        if self.held.is_empty() || self.talk.out.is_heavy() {
            return false;
        }
        let held = std::mem::take(&mut self.held);
        self.read(&held, shared);
        true
    }

    fn read(&mut self, mut input: &[u8], shared: &mut Shared) {
        let talk = &mut self.talk;
        if talk.message.is_empty() {
            std::mem::swap(&mut talk.message, &mut shared.message);
        }
        loop {
            if talk.out.is_heavy() && !input.is_empty() {
                self.held.extend_from_slice(input);
                break;
            }
            match self.reader.next(&mut input, &mut shared.scratch) {
                Ok(Some(event)) => {
                    let complete = talk.happened(event);
                    shared.counts.messages += u64::from(complete);
                }
                Ok(None) => break,
                Err(failure) => {
                    self.failed = true;
                    break talk.fail(failure);
                }
            }
        }
        talk.mind_arrival(shared.now);
        // Memory that is not in use goes back; that of a message under way stays.
        if talk.message.is_empty() {
            shared.keep_message_memory(std::mem::take(&mut talk.message));
        }
    }

    /// Takes what was held, if there is room for answers.
    pub(super) fn take_held(&mut self) -> Option<Vec<u8>> {
        let reads_on = !self.held.is_empty() && !self.talk.out.is_heavy();
        reads_on.then(|| std::mem::take(&mut self.held))
    }

    /// Keeps bytes that came, to be read later.
    pub(super) fn hold(&mut self, input: &[u8]) {
        self.held.extend_from_slice(input);
    }

    /// Whether bytes are held.
    pub(super) fn holds(&self) -> bool {
        !self.held.is_empty()
    }

    /// Takes memory for messages, if none is under way. Goes before [`WebSocket::next_told`].
    pub(super) fn begin_reading(&mut self, shared: &mut Shared) {
        if self.talk.message.is_empty() {
            std::mem::swap(&mut self.talk.message, &mut shared.message);
        }
    }

    /// Gives memory back that is not in use. Goes behind [`WebSocket::next_told`].
    pub(super) fn end_reading(&mut self, shared: &mut Shared) {
        self.talk.mind_arrival(shared.now);
        if self.talk.message.is_empty() {
            shared.keep_message_memory(std::mem::take(&mut self.talk.message));
        }
    }

    /// Reads up to what is next to be told, which is handed out instead of being answered here.
    /// What came behind it is left in `input`. `None` if there is nothing, or nothing is said any
    /// more.
    pub(super) fn next_told(&mut self, input: &mut &[u8], shared: &mut Shared) -> Option<Told> {
        let talk = &mut self.talk;
        loop {
            if talk.out.is_heavy() && !input.is_empty() {
                self.held.extend_from_slice(input);
                *input = &[];
                return None;
            }
            match self.reader.next(input, &mut shared.scratch) {
                Ok(Some(Event::Bytes(bytes))) if talk.ending.is_none() => {
                    talk.message.extend_from_slice(bytes);
                }
                Ok(Some(Event::End)) if talk.ending.is_none() => {
                    talk.arrival = Arrival::NONE;
                    shared.counts.messages += 1;
                    let message = std::mem::take(&mut talk.message);
                    return Some(Told::Message(talk.kind, message));
                }
                Ok(Some(Event::Close(close))) if talk.ending.is_none() => {
                    return Some(Told::Close(close.map(|close| close.code)));
                }
                Ok(Some(event)) => {
                    talk.happened(event);
                }
                Ok(None) => return None,
                Err(failure) => {
                    self.failed = true;
                    talk.message.clear();
                    let told = talk.ending.is_none();
                    return told.then_some(Told::Failure(failure));
                }
            }
        }
    }

    /// Gives the memory of a message back that was handed out.
    pub(super) fn heard(&mut self, mut message: Vec<u8>) {
        message.clear();
        self.talk.message = message;
    }

    /// Says what is encoded already, if anything is said any more.
    pub(super) fn say(&mut self, frame: &[u8]) {
        if self.talk.ending.is_none() {
            self.talk.out.append(|out| out.extend_from_slice(frame));
        }
    }

    /// Says with this close frame that the connection ends, if it doesn't already.
    pub(super) fn close(&mut self, frame: &[u8]) {
        if self.talk.ending.is_none() {
            self.say(frame);
            self.talk.ending = Some(Ending::Lingering);
        }
    }

    /// Says with this code and reason that the connection ends, if it doesn't already.
    pub(super) fn close_with(&mut self, code: u16, reason: &str) {
        if self.talk.ending.is_none() {
            self.talk.close(code, reason);
        }
    }

    /// Ends the connection at once.
    pub(super) fn reset(&mut self) {
        self.talk.ending = Some(Ending::Reset);
    }

    /// Whether nothing more is said.
    pub(super) fn is_ending(&self) -> bool {
        self.talk.ending.is_some()
    }

    /// The rest of a message may come again, which nobody wanted for a while.
    pub(super) fn wanted_again(&mut self, now: Time) {
        self.talk.arrival = Arrival::NONE;
        self.talk.mind_arrival(now);
    }

    /// The client will send no more.
    pub(super) fn peer_ended(&mut self) {
        self.held.clear();
        self.talk.ending = Some(Ending::Graceful);
    }

    /// The server stops.
    pub(super) fn drain(&mut self) {
        self.close_with(code::GOING_AWAY, STOPPING);
    }

    /// Nothing came for too long, or not all of a message.
    pub(super) fn time_out(&mut self, shared: &mut Shared) {
        if self.talk.message.is_empty() {
            shared.counts.idle += 1;
            self.talk
                .close(code::GOING_AWAY, "the connection was idle for too long");
        } else {
            // What HTTP would answer.
            shared.counts.rejections.count(408);
            self.talk
                .close(code::GOING_AWAY, "the message took too long");
        }
    }

    /// How the connection is to be closed, if it is time.
    pub(super) fn finished(&self) -> Option<Ending> {
        match self.talk.ending {
            Some(Ending::Graceful | Ending::Lingering) if !self.talk.out.is_empty() => None,
            ending => ending,
        }
    }

    /// Whether reading should go on: it stops while output has piled up.
    #[inline]
    pub(super) fn reads(&self) -> bool {
        self.held.is_empty() && !self.talk.out.is_heavy()
    }

    /// What has to be said.
    #[inline]
    pub(super) fn out(&mut self) -> &mut Outgoing {
        &mut self.talk.out
    }

    /// Whether the buffer that gathers bytes has no memory yet.
    #[inline]
    pub(super) fn wants_buffer(&self) -> bool {
        self.talk.out.wants_buffer()
    }

    /// Whether the end of the connection waits for nothing but the client's close frame.
    pub(super) fn awaits_close(&self) -> bool {
        self.talk.ending == Some(Ending::Lingering) && !self.failed
    }

    /// What it is doing.
    pub(super) fn phase(&self, timeouts: &Timeouts) -> Phase {
        match self.talk.message.is_empty() {
            true => Phase::Open,
            false => Phase::Body(self.talk.arrival.until(timeouts)),
        }
    }

    /// Since when the limit of a message is to be minded; [`Time::NEVER`] if none is coming.
    #[inline]
    pub(super) fn body_since(&self) -> Time {
        self.talk.arrival.since
    }

    /// Its time limits were looked at.
    pub(super) fn looked(&mut self, now: Time) {
        self.talk.arrival.looked(now);
    }

    /// Bytes of memory that the client makes it hold.
    #[inline]
    pub(super) fn memory(&self) -> usize {
        self.talk.message.capacity() + self.held.capacity() + self.talk.out.bytes()
    }

    /// Gives up the message that is coming. False if there is none.
    pub(super) fn relieve(&mut self) -> bool {
        if self.talk.message.is_empty() || self.talk.ending.is_some() {
            return false;
        }
        self.held = Vec::new();
        self.talk.message = Vec::new();
        self.talk.arrival = Arrival::NONE;
        self.talk.close(TRY_AGAIN_LATER, "too much memory in use");
        true
    }
}

impl Talk {
    /// Notes when a message began that is not complete, and how much of it came.
    #[inline]
    fn mind_arrival(&mut self, now: Time) {
        if self.message.is_empty() {
            self.arrival = Arrival::NONE;
            return;
        }
        if self.arrival.since == Time::NEVER {
            self.arrival = Arrival::begin(now);
        }
        self.arrival.bytes = self.message.len() as u64;
    }

    /// Answers what came; reports whether it completes a message that counts.
    #[inline]
    fn happened(&mut self, event: Event<'_>) -> bool {
        if let Event::Close(close) = event {
            self.closed(close.map(|close| close.code));
        }
        // After a close frame of ours nothing is said any more (RFC 6455 §5.5.1).
        if self.ending.is_some() {
            return false;
        }
        match event {
            Event::Begin(kind) => self.kind = kind,
            Event::Bytes(bytes) => {
                if self.dialogue == Dialogue::Echo {
                    self.message.extend_from_slice(bytes);
                }
            }
            Event::End => {
                self.answer();
                return true;
            }
            Event::Ping(payload) => self.send(Opcode::Pong, payload),
            Event::Pong(_) | Event::Close(_) => {}
        }
        false
    }

    /// A message is complete.
    #[inline]
    fn answer(&mut self) {
        self.arrival = Arrival::NONE;
        match self.dialogue {
            Dialogue::Echo => {
                let (opcode, message) = (self.kind.into(), &self.message);
                self.out
                    .append(|out| websocket::encode(out, opcode, true, None, message));
                self.message.clear();
            }
            Dialogue::Close(code) => self.close(code, ""),
            Dialogue::Drop => self.ending = Some(Ending::Reset),
            // What is a service's was handed out.
            Dialogue::Silence | Dialogue::Service => {}
        }
    }

    /// The client closes, or answers our close: it is the server that ends the connection then
    /// (RFC 6455 §7.1.1).
    fn closed(&mut self, code: Option<u16>) {
        if self.ending.is_none() {
            self.out.append(|out| answer_close(out, code));
        }
        self.ending = Some(Ending::Graceful);
    }

    fn fail(&mut self, failure: Failure) {
        self.message.clear();
        if self.ending.is_none() {
            self.close(failure.code, failure.violation.what);
        }
    }

    /// Says that the connection ends, and waits a little for the client to say so too.
    fn close(&mut self, code: u16, reason: &str) {
        self.say_close(code, reason);
        self.ending = Some(Ending::Lingering);
    }

    fn say_close(&mut self, code: u16, reason: &str) {
        self.out
            .append(|out| websocket::encode_close(out, None, code, reason));
    }

    fn send(&mut self, opcode: Opcode, payload: &[u8]) {
        self.out
            .append(|out| websocket::encode(out, opcode, true, None, payload));
    }
}

/// Appends the answer to a close frame with this code.
pub(super) fn answer_close(out: &mut Vec<u8>, code: Option<u16>) {
    // The code comes back, as the standard says is usual (RFC 6455 §5.5.1).
    match code {
        Some(code) => websocket::encode_close(out, None, code, ""),
        None => websocket::encode(out, Opcode::Close, true, None, &[]),
    }
}
