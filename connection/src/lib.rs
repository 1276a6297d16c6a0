//! One connection: its protocol, and what the worker has to know to drive it.
//!
//! What a connection speaks is a value, `Protocol`, matched once for each chunk of input and each
//! question of the worker. A protocol is a file here that answers these questions.
//!
//! Nothing here calls a driver or reads a clock; the worker asks and acts. A connection is small
//! while it idles: its buffers come from the driver's pool and go back when they are empty.

#![forbid(unsafe_code)]

mod arrival;
mod hosted;
mod http1;
mod http2;
mod incoming;
mod outgoing;
mod raw;
mod serving;
mod site;
#[cfg(test)]
mod tests;
mod websocket;

use std::ops::{Deref, DerefMut};

use engine::Token;
use engine::timers::TimerId;
use measure::time::Time;
use proto::http1::server::Limits;
use proto::http2::server::PREFACE;

use arrival::Arrival;
use hosted::Hosted;
use http1::Http1;
use http2::{Http2, Kept, Rpcs};
use incoming::Incoming;
pub use outgoing::Step;
use raw::Raw;
use service::Timeouts;
use service::{Action, Agenda, Service, Ticket};
pub use serving::Serving;
pub use site::{Site, Wall};
use websocket::WebSocket;

/// A client that was refused in the middle of sending is heard out for at most so long, …
const LINGER_NS: u64 = 2_000_000_000;

/// … and no longer than this after it fell silent.
const LINGER_SILENCE_NS: u64 = 250_000_000;

/// The refusal of what would take more memory than all clients may.
pub const TOO_MUCH: &str = "this server is at its memory limit; try again later\n";

/// Incoming bodies end up in boxes that are used again; so many wait for that.
const SPARE_MAX: usize = 16;

/// What the connections of one worker share: the site, and what each of them uses again. It reads
/// as its site.
pub struct Shared {
    site: Site,
    /// Answers of HTTP/2 that are made already.
    kept_http2: Kept,
    /// What calls of gRPC need.
    rpcs: Rpcs,
    #[allow(clippy::vec_box)] // The boxes are what is used again.
    spare: Vec<Box<Incoming>>,
}

impl Shared {
    /// Begins with this site and nothing kept.
    pub fn new(site: Site) -> Shared {
        Shared {
            site,
            kept_http2: Kept::default(),
            rpcs: Rpcs::new(),
            spare: Vec::new(),
        }
    }

    /// A turn begins at `now`.
    #[inline]
    pub fn turn(&mut self, now: Time) {
        if self.site.turn(now) {
            // What is kept has the date in it.
            self.kept_http2.forget();
        }
    }

    /// A box for an incoming body, perhaps with memory from the last one.
    fn incoming(&mut self) -> Box<Incoming> {
        self.spare.pop().unwrap_or_default()
    }

    /// Takes such a box back.
    fn recycle(&mut self, mut incoming: Box<Incoming>) {
        if self.spare.len() < SPARE_MAX && incoming.clear() {
            self.spare.push(incoming);
        }
    }
}

impl Deref for Shared {
    type Target = Site;

    #[inline]
    fn deref(&self) -> &Site {
        &self.site
    }
}

impl DerefMut for Shared {
    #[inline]
    fn deref_mut(&mut self) -> &mut Site {
        &mut self.site
    }
}

/// See the module.
#[derive(Debug)]
pub struct Connection {
    socket: Token,
    /// HTTP/1 until the preface of HTTP/2 has come.
    protocol: Protocol,
    /// When bytes last came or were last taken by the kernel; while a send has not finished, when
    /// that was begun or a part of it taken, whatever comes meanwhile.
    pub since: Time,
    /// The one timer that watches over all its time limits.
    pub timer: TimerId,
    /// When that timer is due.
    pub timer_at: Time,
    /// Until when it lingers; [`Time::NEVER`] while it does not.
    linger_until: Time,
    /// Bytes of its own in the send that has not finished.
    pub in_flight: u32,
    /// What it was found to hold when it was last looked after.
    pub held_bytes: u32,
    /// Bytes handed to the driver, saturating.
    pub sent_bytes: u32,
    /// A send has not finished.
    pub sending: bool,
    /// It is on the worker's list of those to be looked after this turn.
    pub listed: bool,
    /// Receiving is stopped.
    pub deaf: bool,
    /// Bytes of HTTP/2's preface that came, and nothing else; [`DECIDED`] once it is known what is
    /// spoken.
    preface: u8,
}

/// More than a preface has.
const DECIDED: u8 = u8::MAX;

/// What is spoken on a connection, and how far the talk has come.
#[derive(Debug)]
#[allow(clippy::large_enum_variant)] // Every connection begins as the largest.
enum Protocol {
    Http1(Http1),
    WebSocket(Box<WebSocket>),
    /// A WebSocket whose messages are its service's.
    Hosted(Box<Hosted>),
    Http2(Box<Http2>),
    Raw(Box<Raw>),
}

/// How a connection ends once its output is gone. Input is ignored from then on.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Ending {
    /// With FIN.
    Graceful,
    /// With FIN, when the client has fallen silent. It is still sending, and bytes that arrive
    /// after the end would make the kernel reset the connection, and the answer with it
    /// (RFC 9112 §9.6).
    Lingering,
    /// With RST.
    Reset,
}

/// What a connection is doing, as far as time limits go.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Phase {
    /// No request is under way.
    Idle,
    /// A head began at this time.
    Head(Time),
    /// A body or a message is coming, or something else is up to the client, and may take until
    /// this time.
    Body(Time),
    /// A service has not answered yet.
    Waiting,
    /// A conversation that has no end of its own.
    Open,
}

/// What is to be done when a time limit is reached.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Overdue {
    /// Close it: nothing is lost.
    Close,
    /// Say so: 408 to the request under way, or GOAWAY.
    Refuse,
    /// Reset it: the client does not take its answer.
    Reset,
    /// Wake it: it wanted to be.
    Wake,
}

impl Connection {
    /// One that was accepted `now`, as `socket`, with the timer that watches over it.
    pub fn new(socket: Token, limits: Limits, now: Time, timer: (Time, TimerId)) -> Self {
        Connection {
            socket,
            protocol: Protocol::Http1(Http1::new(limits)),
            since: now,
            timer: timer.1,
            timer_at: timer.0,
            linger_until: Time::NEVER,
            in_flight: 0,
            held_bytes: 0,
            sent_bytes: 0,
            sending: false,
            listed: false,
            deaf: false,
            preface: 0,
        }
    }

    /// Its socket.
    #[inline]
    pub fn socket(&self) -> Token {
        self.socket
    }

    /// Both sides have agreed on HTTP/2 before the first byte.
    pub fn speak_http2(&mut self, shared: &Shared) {
        self.preface = DECIDED;
        debug_assert!(
            matches!(self.protocol, Protocol::Http1(_)),
            "HTTP/2 begins a connection"
        );
        let out = self.take_unused_buffer().unwrap_or_default();
        let http = Http2::new(self.socket, &shared.limits, out);
        self.protocol = Protocol::Http2(Box::new(http));
    }

    /// Both sides have agreed on HTTP/1 before the first byte.
    pub fn speak_http1(&mut self) {
        self.preface = DECIDED;
    }

    /// Bytes came.
    #[inline]
    pub fn receive<S: Service>(&mut self, input: &[u8], serving: &mut Serving<S>) {
        match &mut self.protocol {
            Protocol::Http1(http) if self.preface == DECIDED => {
                http.receive(input, self.socket, serving);
                self.switch(serving);
            }
            Protocol::Http1(_) => self.receive_first(input, serving),
            Protocol::Http2(http) => http.receive(input, serving),
            Protocol::WebSocket(websocket) => websocket.receive(input, serving),
            Protocol::Hosted(hosted) => hosted.receive(input, serving),
            Protocol::Raw(raw) => raw.receive(input, serving),
        }
    }

    /// Bytes came that may be the preface of HTTP/2 (RFC 9113 §3.3). It is no request of HTTP/1, so
    /// that one byte that differs decides.
    fn receive_first<S: Service>(&mut self, input: &[u8], serving: &mut Serving<S>) {
        let seen = self.preface as usize;
        debug_assert!(
            seen < PREFACE.len(),
            "a preface of {seen} bytes has decided what is spoken"
        );
        let expected = &PREFACE[seen..];
        let length = expected.len().min(input.len());
        if input[..length] != expected[..length] {
            self.settle_on_http1(serving);
            self.receive(input, serving);
        } else if length == expected.len() {
            self.speak_http2(serving);
            self.receive(PREFACE, serving);
            self.receive(&input[length..], serving);
        } else {
            self.preface += length as u8;
            if let Protocol::Http1(http) = &mut self.protocol {
                http.head_began(serving.now);
            }
        }
    }

    /// No more is waited for: what came of the preface begins a request of HTTP/1.
    fn settle_on_http1<S: Service>(&mut self, serving: &mut Serving<S>) {
        if let Protocol::Http1(http) = &mut self.protocol
            && self.preface != DECIDED
        {
            let seen = std::mem::replace(&mut self.preface, DECIDED) as usize;
            if seen > 0 {
                http.receive(&PREFACE[..seen], self.socket, serving);
            }
        }
    }

    /// Reads on what was held, if there is room for answers. Reports whether anything was read.
    pub fn resume<S: Service>(&mut self, serving: &mut Serving<S>) -> bool {
        match &mut self.protocol {
            Protocol::Http1(http) => {
                http.resume(self.socket, serving) && {
                    self.switch(serving);
                    true
                }
            }
            Protocol::Http2(http) => http.resume(serving),
            Protocol::WebSocket(websocket) => websocket.resume(serving),
            Protocol::Hosted(hosted) => hosted.resume(serving),
            Protocol::Raw(raw) => raw.resume(serving),
        }
    }

    /// Goes on as another protocol, if the last request asked for that and was granted it.
    #[inline]
    fn switch<S: Service>(&mut self, serving: &mut Serving<S>) {
        let Protocol::Http1(http) = &mut self.protocol else {
            return;
        };
        if let Some(successor) = http.upgraded(self.socket) {
            self.protocol = successor;
            self.resume(serving);
        }
    }

    /// The client will send no more. What it asked for is still answered.
    pub fn peer_ended<S: Service>(&mut self, serving: &mut Serving<S>) {
        self.settle_on_http1(serving);
        match &mut self.protocol {
            Protocol::Http1(http) => http.peer_ended(self.socket, &mut serving.agenda),
            Protocol::WebSocket(websocket) => websocket.peer_ended(),
            Protocol::Hosted(hosted) => hosted.peer_ended(&mut serving.agenda),
            Protocol::Raw(raw) => raw.peer_ended(serving),
            Protocol::Http2(http) => http.peer_ended(&mut serving.agenda),
        }
    }

    /// The server stops: the connection ends as soon as nothing is under way.
    pub fn drain<S: Service>(&mut self, serving: &mut Serving<S>) {
        self.settle_on_http1(serving);
        match &mut self.protocol {
            Protocol::Http1(http) => http.drain(),
            Protocol::WebSocket(websocket) => websocket.drain(),
            Protocol::Hosted(hosted) => hosted.drain(&mut serving.agenda),
            Protocol::Raw(raw) => raw.drain(serving),
            Protocol::Http2(http) => http.drain(serving),
        }
    }

    /// The worker will give its connections up: a client over HTTP/2 is told to begin nothing more,
    /// or will be with the first answer that it gets.
    pub fn announce_going(&mut self, now: Time) {
        if let Protocol::Http2(http) = &mut self.protocol {
            http.announce_going(now);
        }
    }

    /// When a client over HTTP/2 was told so, if it was; `None` over anything else.
    pub fn announced_at(&self) -> Option<Time> {
        match &self.protocol {
            Protocol::Http2(http) => http.announced_at(),
            _ => None,
        }
    }

    /// What was under way came too slowly.
    pub fn time_out<S: Service>(&mut self, timeouts: &Timeouts, serving: &mut Serving<S>) {
        self.settle_on_http1(serving);
        match &mut self.protocol {
            Protocol::Http1(http) => http.time_out(self.socket, serving),
            Protocol::WebSocket(websocket) => websocket.time_out(serving),
            Protocol::Hosted(hosted) => hosted.time_out(serving),
            Protocol::Raw(_) => {}
            Protocol::Http2(http) => http.time_out(timeouts, serving),
        }
    }

    /// Does what a service asked for about one request. Nothing happens if that is over. `bytes`
    /// are those of the agenda.
    pub fn act(&mut self, ticket: Ticket, action: Action, bytes: &[u8], shared: &mut Shared) {
        let number = ticket.number;
        match (&mut self.protocol, action) {
            (Protocol::Hosted(hosted), action) => hosted.act(ticket, action, bytes, shared),
            (Protocol::Http1(http), Action::Complete(response)) => {
                http.complete(ticket, &response, shared);
            }
            (Protocol::Http2(http), Action::Complete(response)) => {
                http.complete(number, response, shared);
            }
            (_, Action::Send(range)) => self.send(ticket, &bytes[range], shared),
            #[cfg(feature = "tower")]
            (_, Action::Share(piece)) => self.send(ticket, &piece, shared),
            (Protocol::Http1(http), Action::End(trailers)) => {
                http.finish(ticket, &trailers, shared);
            }
            (Protocol::Http2(http), Action::End(trailers)) => {
                http.finish(number, &trailers, shared);
            }
            (Protocol::Raw(raw), Action::End(_)) => raw.finish(Ending::Graceful),
            (Protocol::Http1(http), Action::Abort) => http.abort(ticket, shared),
            (Protocol::Http2(http), Action::Abort) => http.abort(number),
            (Protocol::Raw(raw), Action::Abort) => raw.finish(Ending::Reset),
            (_, Action::Pause) => self.pause(number, true, shared),
            (_, Action::Resume) => self.pause(number, false, shared),
            // An upgrade waits for no earlier answer, and what is no WebSocket has no messages.
            (Protocol::WebSocket(_), _)
            | (Protocol::Raw(_), Action::Complete(_))
            | (_, Action::Say(_) | Action::SayAll { .. })
            | (_, Action::Close(_) | Action::Over { .. }) => {}
        }
    }

    /// Says to it what is said to many, whose frame this is.
    pub fn say(&mut self, ticket: Ticket, frame: &[u8]) {
        if let Protocol::Hosted(hosted) = &mut self.protocol {
            hosted.say_shared(ticket, frame);
        }
    }

    fn send(&mut self, ticket: Ticket, piece: &[u8], shared: &mut Shared) {
        match &mut self.protocol {
            Protocol::Http1(http) => http.send(ticket, piece, &mut shared.agenda),
            Protocol::Http2(http) => http.send(ticket.number, piece, shared),
            Protocol::Raw(raw) => raw.send(piece, &mut shared.agenda),
            Protocol::WebSocket(_) | Protocol::Hosted(_) => {}
        }
    }

    fn pause(&mut self, number: u32, paused: bool, shared: &mut Shared) {
        match &mut self.protocol {
            Protocol::Http1(http) => http.pause(number, paused, shared.now),
            Protocol::Http2(http) => http.pause(number, paused, shared.now),
            Protocol::Raw(raw) => raw.pause(paused),
            Protocol::WebSocket(_) | Protocol::Hosted(_) => {}
        }
    }

    /// Whether the service has not said everything about a request.
    pub fn is_open(&mut self, number: u32) -> bool {
        match &mut self.protocol {
            Protocol::Http1(http) => http.out().open().any(|asked| asked.number == number),
            Protocol::Http2(http) => http.is_open(number),
            Protocol::Raw(_) | Protocol::WebSocket(_) | Protocol::Hosted(_) => false,
        }
    }

    /// Whether the service sends a request's answer in pieces, and has not ended it.
    pub fn is_in_pieces(&mut self, number: u32) -> bool {
        match &mut self.protocol {
            Protocol::Http1(http) => http.out().is_in_pieces(number),
            Protocol::Http2(http) => http.is_in_pieces(number),
            Protocol::Raw(raw) => raw.is_open(),
            Protocol::Hosted(hosted) => hosted.is_open(),
            Protocol::WebSocket(_) => false,
        }
    }

    /// It is gone: services that have not finished a request of it are told.
    pub fn abandon(&mut self, agenda: &mut Agenda) {
        match &mut self.protocol {
            Protocol::Http1(http) => http.abandon(self.socket, agenda),
            Protocol::Http2(http) => http.abandon(agenda),
            Protocol::Raw(raw) => raw.abandon(agenda),
            Protocol::Hosted(hosted) => hosted.abandon(agenda),
            Protocol::WebSocket(_) => {}
        }
    }

    /// Takes the next thing to do off its output.
    #[inline]
    pub fn step(&mut self, shared: &mut Shared) -> Step {
        match &mut self.protocol {
            Protocol::Http1(http) => http.step(self.socket, &mut shared.site.agenda),
            Protocol::WebSocket(websocket) => websocket.out().step(),
            Protocol::Hosted(hosted) => hosted.step(&mut shared.site.agenda),
            Protocol::Raw(raw) => raw.step(&mut shared.site.agenda),
            Protocol::Http2(http) => http.step(shared),
        }
    }

    /// The time of a [`Step::Sleep`] is over, or of [`Overdue::Wake`] has come.
    pub fn wake(&mut self, shared: &mut Shared) {
        match &mut self.protocol {
            Protocol::Http1(http) => http.out().wake(),
            Protocol::WebSocket(websocket) => websocket.out().wake(),
            Protocol::Hosted(hosted) => hosted.websocket().out().wake(),
            Protocol::Raw(raw) => raw.out().wake(),
            Protocol::Http2(http) => http.wake(shared),
        }
    }

    /// Whether the buffer that gathers its output has no memory yet.
    #[inline]
    pub fn wants_buffer(&self) -> bool {
        match &self.protocol {
            Protocol::Http1(http) => http.wants_buffer(),
            Protocol::WebSocket(websocket) => websocket.wants_buffer(),
            Protocol::Hosted(hosted) => hosted.wants_buffer(),
            Protocol::Raw(raw) => raw.wants_buffer(),
            Protocol::Http2(http) => http.wants_buffer(),
        }
    }

    /// Gives it an empty buffer with memory.
    #[inline]
    pub fn give_buffer(&mut self, buffer: Vec<u8>) {
        match &mut self.protocol {
            Protocol::Http1(http) => http.out().give_buffer(buffer),
            Protocol::WebSocket(websocket) => websocket.out().give_buffer(buffer),
            Protocol::Hosted(hosted) => hosted.websocket().out().give_buffer(buffer),
            Protocol::Raw(raw) => raw.out().give_buffer(buffer),
            Protocol::Http2(http) => http.give_buffer(buffer),
        }
    }

    /// Takes the buffer back if nothing is in it.
    #[inline]
    pub fn take_unused_buffer(&mut self) -> Option<Vec<u8>> {
        match &mut self.protocol {
            Protocol::Http1(http) => http.out().take_unused_buffer(),
            Protocol::WebSocket(websocket) => websocket.out().take_unused_buffer(),
            Protocol::Hosted(hosted) => hosted.websocket().out().take_unused_buffer(),
            Protocol::Raw(raw) => raw.out().take_unused_buffer(),
            Protocol::Http2(http) => http.take_unused_buffer(),
        }
    }

    /// Whether reading should go on: it stops while output has piled up.
    #[inline]
    pub fn reads(&self) -> bool {
        match &self.protocol {
            Protocol::Http1(http) => http.reads(),
            Protocol::WebSocket(websocket) => websocket.reads(),
            Protocol::Hosted(hosted) => hosted.reads(),
            Protocol::Raw(raw) => raw.reads(),
            Protocol::Http2(http) => http.reads(),
        }
    }

    /// Whether it would send more if it had a buffer.
    #[inline]
    pub fn wants_to_send(&self) -> bool {
        match &self.protocol {
            Protocol::Http2(http) => http.has_turns(),
            _ => false,
        }
    }

    /// When it is to be looked at again, besides when it has idled for too long. Usually that is
    /// [`Time::NEVER`].
    #[inline]
    pub fn due(&self, timeouts: &Timeouts) -> Time {
        match &self.protocol {
            Protocol::Http1(http) => {
                let head = http.head_since() + timeouts.head;
                head.min(http.body_since() + timeouts.body)
            }
            Protocol::Http2(http) => {
                let head = http.head_since() + timeouts.head;
                http.due().min(head).min(http.body_since() + timeouts.body)
            }
            Protocol::WebSocket(websocket) => websocket.body_since() + timeouts.body,
            Protocol::Hosted(hosted) => hosted.body_since() + timeouts.body,
            Protocol::Raw(_) => Time::NEVER,
        }
    }

    /// How it is to be closed, if it is time.
    #[inline]
    pub fn finished(&self, shared: &Shared) -> Option<Ending> {
        match &self.protocol {
            Protocol::Http1(http) => http.finished(shared),
            Protocol::WebSocket(websocket) => websocket.finished(),
            Protocol::Hosted(hosted) => hosted.finished(),
            Protocol::Raw(raw) => raw.finished(),
            Protocol::Http2(http) => http.finished(shared),
        }
    }

    fn phase(&self, timeouts: &Timeouts) -> Phase {
        match &self.protocol {
            Protocol::Http1(http) => http.phase(timeouts),
            Protocol::WebSocket(websocket) => websocket.phase(timeouts),
            Protocol::Hosted(hosted) => hosted.phase(timeouts),
            Protocol::Raw(raw) => raw.phase(),
            Protocol::Http2(http) => http.phase(timeouts),
        }
    }

    /// Whether no request is under way, and all that was answered has been taken.
    pub fn is_idle(&self, timeouts: &Timeouts) -> bool {
        !self.sending && self.phase(timeouts) == Phase::Idle
    }

    /// Bytes of memory that the client makes it hold: what has come of bodies and messages, what
    /// was received and not read, and answers that are not taken.
    #[inline]
    pub fn memory(&self) -> usize {
        let protocol = match &self.protocol {
            Protocol::Http1(http) => http.memory(),
            Protocol::WebSocket(websocket) => websocket.memory(),
            Protocol::Hosted(hosted) => hosted.memory(),
            Protocol::Raw(raw) => raw.memory(),
            Protocol::Http2(http) => http.memory(),
        };
        protocol + self.in_flight as usize
    }

    /// What all connections hold, of which this one was a part as it was last looked after.
    #[inline]
    pub fn account(&mut self, all_bytes: usize) -> usize {
        let held = u32::try_from(self.memory()).unwrap_or(u32::MAX);
        let before = std::mem::replace(&mut self.held_bytes, held);
        debug_assert!(
            all_bytes >= before as usize,
            "all connections hold {all_bytes} bytes, and this one {before} of them"
        );
        all_bytes + held as usize - before as usize
    }

    /// Gives up what takes memory, and says so. False where there is nothing to say it to: the
    /// client does not even take what was said before.
    pub fn relieve(&mut self, shared: &mut Shared) -> bool {
        match &mut self.protocol {
            Protocol::Http1(http) => http.relieve(self.socket, shared),
            Protocol::WebSocket(websocket) => websocket.relieve(),
            Protocol::Hosted(hosted) => hosted.relieve(&mut shared.agenda),
            Protocol::Raw(_) => false,
            Protocol::Http2(http) => http.relieve(shared),
        }
    }

    /// It ends, as soon as the client has fallen silent.
    pub fn linger(&mut self, now: Time) {
        self.since = now;
        self.linger_until = now.plus(LINGER_NS);
    }

    /// Whether it only waits for the client to fall silent.
    pub fn lingers(&self) -> bool {
        self.linger_until != Time::NEVER
    }

    /// Its timer is due at `now`: the time limit in force, and what happens then.
    pub fn look(&mut self, timeouts: &Timeouts, now: Time) -> (Time, Overdue) {
        match &mut self.protocol {
            Protocol::Http1(http) => http.looked(now),
            Protocol::WebSocket(websocket) => websocket.looked(now),
            Protocol::Hosted(hosted) => hosted.websocket().looked(now),
            Protocol::Raw(_) => {}
            Protocol::Http2(http) => http.looked(now),
        }
        self.limit(timeouts)
    }

    /// The time limit in force, and what happens then.
    pub fn limit(&self, timeouts: &Timeouts) -> (Time, Overdue) {
        let limit = self.patience(timeouts);
        match &self.protocol {
            Protocol::Http2(http) if !self.lingers() && http.due() <= limit.0 => {
                (http.due(), Overdue::Wake)
            }
            _ => limit,
        }
    }

    fn patience(&self, timeouts: &Timeouts) -> (Time, Overdue) {
        let idle = self.since + timeouts.idle;
        if self.lingers() {
            let silence = match &self.protocol {
                Protocol::WebSocket(websocket) if websocket.awaits_close() => Time::NEVER,
                Protocol::Hosted(hosted) if hosted.awaits_close() => Time::NEVER,
                _ => self.since.plus(LINGER_SILENCE_NS),
            };
            return (self.linger_until.min(silence), Overdue::Close);
        }
        if self.sending {
            return (idle, Overdue::Reset);
        }
        match self.phase(timeouts) {
            Phase::Idle if matches!(self.protocol, Protocol::Http2(_)) => (idle, Overdue::Refuse),
            Phase::Idle => (idle, Overdue::Close),
            Phase::Head(since) => (since + timeouts.head, Overdue::Refuse),
            // What is up to the client on other streams is none of this one's.
            Phase::Body(until) if matches!(self.protocol, Protocol::Http2(_)) => {
                (until, Overdue::Refuse)
            }
            Phase::Body(until) => (until.min(idle), Overdue::Refuse),
            Phase::Open => (idle, Overdue::Refuse),
            Phase::Waiting => (Time::NEVER, Overdue::Close),
        }
    }
}
