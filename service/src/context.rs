//! What a service may ask of its worker, and what it's told.

use std::ops::Range;
use std::sync::Arc;

use ::upstream::Wishes;
use engine::Waker;
use exchange::request::Fields;
use exchange::response::{Field, Response};
use measure::time::Time;
use proto::websocket::{self, Opcode, may_be_sent};

use crate::mail::{Bell, Mail, Responder};
use crate::peer::{Peer, Peers};
use crate::ticket::Ticket;
use crate::upstream::{self, Exchange, Upstream};

/// What happens to a request that its service has a [`Ticket`] of.
///
/// The order is that of the client's bytes: data, trailers, end. [`Event::Closed`] comes last.
///
/// ```
/// use ringside_server::{Body, Context, Event, Intake, Reply, Request, Response, Service, Ticket};
///
/// /// Sends back what comes, as it comes.
/// struct Echo;
///
/// impl Service for Echo {
///     fn intake(&mut self, _: &Request<'_>) -> Intake {
///         Intake::Stream
///     }
///
///     fn call(&mut self, _: &Request<'_>, _: &mut Context<'_>) -> Reply {
///         Response::of("application/octet-stream", Body::Stream).into()
///     }
///
///     fn event(&mut self, ticket: Ticket, event: Event<'_>, context: &mut Context<'_>) {
///         match event {
///             Event::Data(bytes) => {
///                 context.send(ticket, bytes);
///                 context.pause(ticket); // Until the client has taken that.
///             }
///             Event::Writable => context.resume(ticket),
///             Event::End => context.end(ticket),
///             _ => {}
///         }
///     }
/// }
/// ```
#[derive(Clone, Copy, Debug)]
#[non_exhaustive]
pub enum Event<'a> {
    /// A piece of the body came, never empty; of a connection that was taken over, of what the
    /// client sends.
    Data(&'a [u8]),
    /// A message came on a WebSocket whose dialogue is the service's
    /// ([`Dialogue::Service`](crate::Dialogue::Service)): all of it, however many frames it came
    /// in, and no longer than `Limits::body_bytes`.
    Message {
        /// It's binary, rather than text (RFC 6455 §5.6).
        binary: bool,
        /// Text was checked to be UTF-8 (RFC 6455 §8.1).
        bytes: &'a [u8],
    },
    /// Fields behind the body (RFC 9110 §6.5). Over HTTP/2 only: over HTTP/1.1 they are read and
    /// thrown away, as RFC 9110 §6.5.1 allows.
    Trailers(Fields<'a>),
    /// The body is complete; of a connection that was taken over, the client sends no more.
    End,
    /// There is room for more of an answer in pieces. Told once when that has begun, and then once
    /// for all that was sent since, as soon as the client has taken most of it. On a WebSocket the
    /// same is told of what was said with [`Context::say`].
    Writable,
    /// The client sends nothing more on this connection, and has left, unless it only ended its
    /// half and waits (RFC 9112 §9.6). An answer is still sent.
    PeerEnded,
    /// The server stops. Told to those who have taken over a connection.
    Stopping,
    /// The request is over before its end: the client is gone, or has given it up, or was too
    /// slow. Nothing that is asked for its ticket has an effect any more. Not told of what the
    /// service has ended by itself.
    ///
    /// Of a WebSocket it's told as soon as nothing more can be said there: the client closes
    /// (RFC 6455 §5.5.1), is gone, or has broken the protocol, nothing has come for too long, or
    /// the server stops; or the upgrade was refused.
    Closed,
}

/// What a service may ask of its worker during a call.
///
/// ```
/// use std::time::Duration;
/// use ringside_server::{Context, Reply, Request, Response, Service, Ticket};
///
/// /// Answers everything after 50 ms.
/// struct Late;
///
/// impl Service for Late {
///     fn call(&mut self, _: &Request<'_>, context: &mut Context<'_>) -> Reply {
///         context.wake_at(context.now() + Duration::from_millis(50), context.ticket());
///         Reply::Later
///     }
///
///     fn due(&mut self, ticket: Ticket, context: &mut Context<'_>) {
///         context.complete(ticket, Response::fixed("text/plain", b"late\n"));
///     }
/// }
/// ```
#[derive(Debug)]
pub struct Context<'a> {
    now: Time,
    ticket: Ticket,
    agenda: &'a mut Agenda,
    peers: &'a Peers,
}

impl<'a> Context<'a> {
    /// One for what the request of `ticket` brought about.
    #[doc(hidden)]
    #[inline]
    pub fn new(now: Time, ticket: Ticket, agenda: &'a mut Agenda, peers: &'a Peers) -> Context<'a> {
        Context {
            now,
            ticket,
            agenda,
            peers,
        }
    }

    /// One for what no request brought about.
    #[doc(hidden)]
    #[inline]
    pub fn of_nobody(now: Time, agenda: &'a mut Agenda, peers: &'a Peers) -> Context<'a> {
        Context::new(now, Ticket::NOBODYS, agenda, peers)
    }

    /// The time of this turn of the worker, on a clock that only goes forward. It's the same for
    /// all that came in one turn.
    #[inline]
    pub fn now(&self) -> Time {
        self.now
    }

    /// The ticket of the request that is being answered, should it be wanted; in
    /// [`Service::due`](crate::Service::due) the one that is due.
    #[inline]
    pub fn ticket(&self) -> Ticket {
        self.ticket
    }

    /// Puts a number on the tickets that this call takes from here on, such as that of the route
    /// which answers: [`Ticket::tag`] tells it to [`Service::due`](crate::Service::due).
    #[inline]
    pub fn tag(&mut self, tag: u32) {
        self.ticket = self.ticket.with_tag(tag);
    }

    /// Has [`Service::due`](crate::Service::due) called with `ticket` at `time`.
    #[inline]
    pub fn wake_at(&mut self, time: Time, ticket: Ticket) {
        self.agenda.wakes.push((time, ticket));
    }

    /// Who has sent the request that is being answered.
    #[inline]
    pub fn peer(&self) -> Peer {
        self.peers.of(self.ticket.socket)
    }

    /// Answers the request that `ticket` stands for. Without effect if that is gone, or answered.
    #[inline]
    pub fn complete(&mut self, ticket: Ticket, response: Response) {
        self.agenda.act(ticket, Action::Complete(response));
    }

    /// For the answer to the request of this context's ticket, from another thread.
    pub fn responder(&mut self) -> Responder {
        Responder::new(self.agenda.mail(), self.ticket)
    }

    /// By what other threads have this worker call [`Service::rung`](crate::Service::rung).
    pub fn bell(&mut self) -> Bell {
        Bell::new(self.agenda.mail())
    }

    /// Sends a piece of the answer whose body is [`Body::Stream`] or [`Body::Sized`], or, on a
    /// connection that was taken over, whatever it is. Empty pieces are none.
    ///
    /// All of it is taken, and kept until the client takes it: who sends more before
    /// [`Event::Writable`] has come uses memory, of which all clients together have
    /// `Limits::memory_bytes`.
    ///
    /// [`Body::Stream`]: exchange::response::Body::Stream
    /// [`Body::Sized`]: exchange::response::Body::Sized
    #[inline]
    pub fn send(&mut self, ticket: Ticket, bytes: &[u8]) {
        if !bytes.is_empty() {
            let start = self.agenda.bytes.len();
            self.agenda.bytes.extend_from_slice(bytes);
            let end = self.agenda.bytes.len();
            self.agenda.act(ticket, Action::Send(start..end));
        }
    }

    /// [`Context::send`] without a copy on the way.
    #[cfg(feature = "tower")]
    #[doc(hidden)]
    #[inline]
    pub fn send_shared(&mut self, ticket: Ticket, bytes: bytes::Bytes) {
        if !bytes.is_empty() {
            self.agenda.act(ticket, Action::Share(bytes));
        }
    }

    /// Says a message in one frame on a WebSocket whose dialogue is the service's
    /// ([`Dialogue::Service`](crate::Dialogue::Service)). Text has to be UTF-8: a client that gets
    /// other bytes as text ends the connection (RFC 6455 §8.1).
    ///
    /// All of it is taken, and kept until the client takes it, as with [`Context::send`].
    pub fn say(&mut self, ticket: Ticket, binary: bool, bytes: &[u8]) {
        let frame = self.agenda.frame(binary, bytes);
        self.agenda.act(ticket, Action::Say(frame));
    }

    /// Says the same message to each of many. The frame is made once. [`Event::Writable`] is not
    /// told of it: who must not say more than clients take says it to each with [`Context::say`].
    pub fn say_all(
        &mut self,
        tickets: impl IntoIterator<Item = Ticket>,
        binary: bool,
        bytes: &[u8],
    ) {
        let start = self.agenda.tickets.len();
        self.agenda.tickets.extend(tickets);
        let tickets = start..self.agenda.tickets.len();
        if !tickets.is_empty() {
            let frame = self.agenda.frame(binary, bytes);
            let action = Action::SayAll { tickets, frame };
            self.agenda.act(Ticket::NOBODYS, action);
        }
    }

    /// Closes a WebSocket whose dialogue is the service's, with a close frame behind what was said
    /// (RFC 6455 §5.5.1): with this code (RFC 6455 §7.4) and a reason for humans, of which 123
    /// bytes are sent. A code that no frame may have is sent as 1011, which is that of a server
    /// that has met something unexpected. The client has two seconds to close, too.
    pub fn close(&mut self, ticket: Ticket, code: u16, reason: &str) {
        let code = if may_be_sent(code) { code } else { UNEXPECTED };
        let start = self.agenda.bytes.len();
        websocket::encode_close(&mut self.agenda.bytes, None, code, reason);
        let frame = start..self.agenda.bytes.len();
        self.agenda.act(ticket, Action::Close(frame));
    }

    /// The answer in pieces is complete; a connection that was taken over ends when all that was
    /// sent is out. An answer that announced more bytes than were sent is aborted. A WebSocket is
    /// closed with code 1000.
    #[inline]
    pub fn end(&mut self, ticket: Ticket) {
        self.agenda.act(ticket, Action::End(Vec::new()));
    }

    /// [`Context::end`] with fields behind the body (RFC 9110 §6.5): over HTTP/2, and behind a body
    /// in chunks over HTTP/1.1. Elsewhere they aren't sent, nor is a field that can be none.
    #[inline]
    pub fn end_with(&mut self, ticket: Ticket, trailers: Vec<Field>) {
        self.agenda.act(ticket, Action::End(trailers));
    }

    /// Gives the request up, so that the client notices: its stream is reset over HTTP/2; over
    /// HTTP/1 the connection ends without the rest of the answer, and without an answer at all if
    /// it had not begun. A connection that was taken over, or is a WebSocket, is reset.
    pub fn abort(&mut self, ticket: Ticket) {
        self.agenda.act(ticket, Action::Abort);
    }

    /// Has the client wait with the rest of the body
    /// ([`Intake::Stream`](crate::Intake::Stream)), by not reading it over HTTP/1 and not giving
    /// credit over HTTP/2. What was on its way may still come. No time limit is on a body that is
    /// paused.
    ///
    /// A WebSocket isn't read either: a service that pauses while it's told a message hears the
    /// next when it resumes, and that the client has left no earlier.
    #[inline]
    pub fn pause(&mut self, ticket: Ticket) {
        self.agenda.act(ticket, Action::Pause);
    }

    /// Has the body go on after [`Context::pause`].
    #[inline]
    pub fn resume(&mut self, ticket: Ticket) {
        self.agenda.act(ticket, Action::Resume);
    }

    /// Declares an upstream, which this worker has from then on. Connections are opened when they
    /// are needed.
    ///
    /// # Errors
    /// No address, more than 65,535 of them, or no connection or no stream allowed.
    pub fn upstream(&mut self, config: upstream::Config) -> Result<Upstream, upstream::Misuse> {
        self.agenda.upstreams.declare(config)
    }

    /// Does without an upstream from now on: who waits for it is told
    /// [`Kind::NoUpstream`](upstream::Kind::NoUpstream), and exchanges under way go on.
    pub fn remove_upstream(&mut self, upstream: Upstream) {
        self.agenda.upstreams.desk.remove(upstream);
    }

    /// Sends a request to an upstream, for the request that this context's ticket stands for: if
    /// its client goes before the exchange ends, that is cancelled and told
    /// [`Kind::ClientGone`](upstream::Kind::ClientGone). What comes of it is told to
    /// [`Service::exchange`](crate::Service::exchange), in no case before this call returns.
    ///
    /// # Errors
    /// The request can't be sent as it is.
    pub fn ask(
        &mut self,
        upstream: Upstream,
        request: upstream::Request,
    ) -> Result<Exchange, upstream::Misuse> {
        let ticket = self.ticket;
        self.agenda.upstreams.ask(upstream, request, ticket)
    }

    /// [`Context::ask`] for the request of another ticket, such as one whose user had to be looked
    /// up first. That request must not be over: nobody would cancel what is asked for it.
    ///
    /// # Errors
    /// The request can't be sent as it is.
    pub fn ask_for(
        &mut self,
        ticket: Ticket,
        upstream: Upstream,
        request: upstream::Request,
    ) -> Result<Exchange, upstream::Misuse> {
        self.agenda.upstreams.ask(upstream, request, ticket)
    }

    /// [`Context::ask`] for nobody, such as a health check: it lasts until its end, whoever goes.
    ///
    /// # Errors
    /// The request can't be sent as it is.
    pub fn ask_for_nobody(
        &mut self,
        upstream: Upstream,
        request: upstream::Request,
    ) -> Result<Exchange, upstream::Misuse> {
        let nobodys = Ticket::NOBODYS;
        self.agenda.upstreams.ask(upstream, request, nobodys)
    }

    /// Sends a piece of the body of a request that was [`streamed`](upstream::Request::streamed).
    /// All of it is taken, and kept until the upstream takes it: see
    /// [`upstream::Event::Writable`].
    pub fn ask_send(&mut self, exchange: Exchange, bytes: &[u8]) {
        self.agenda.upstreams.desk.send(exchange, bytes);
    }

    /// The body of a request to an upstream is complete.
    pub fn ask_end(&mut self, exchange: Exchange) {
        self.agenda.upstreams.desk.end(exchange);
    }

    /// Gives an exchange up: RST_STREAM with `CANCEL` over HTTP/2, the end of the connection over
    /// HTTP/1.1. Nothing more is told of it.
    pub fn ask_cancel(&mut self, exchange: Exchange) {
        self.agenda.upstreams.desk.cancel(exchange);
    }

    /// Has the upstream wait with the rest of its answer, by not reading it over HTTP/1.1 and not
    /// giving credit over HTTP/2. What was on its way may still come.
    pub fn ask_pause(&mut self, exchange: Exchange) {
        self.agenda.upstreams.desk.pause(exchange);
    }

    /// Has the answer go on after [`Context::ask_pause`].
    pub fn ask_resume(&mut self, exchange: Exchange) {
        self.agenda.upstreams.desk.resume(exchange);
    }

    /// A handler has panicked: counted for [`Counts::panics`].
    #[cfg(feature = "tower")]
    #[doc(hidden)]
    pub fn panicked(&mut self) {
        self.agenda.panics += 1;
    }
}

/// The close code of a server that has met something unexpected (RFC 6455 §7.4.1).
const UNEXPECTED: u16 = 1011;

/// What services asked for and the worker has not done yet, and what it has not told them. Emptied
/// every turn.
#[derive(Debug, Default)]
pub struct Agenda {
    /// Timers to set.
    pub wakes: Vec<(Time, Ticket)>,
    /// What connections are to do.
    pub actions: Vec<(Ticket, Action)>,
    /// The bytes of [`Action::Send`], and the frames of WebSockets.
    pub bytes: Vec<u8>,
    /// Those of [`Action::SayAll`].
    pub tickets: Vec<Ticket>,
    /// What services are to be told.
    pub notices: Vec<(Ticket, Notice)>,
    /// How many of them say that a request is gone.
    closed: u32,
    /// Panics of handlers that were not counted yet.
    pub panics: u64,
    /// What services want of upstreams.
    pub upstreams: Wishes<upstream::Place, Ticket>,
    /// By what the worker's sleep is ended.
    waker: Option<Waker>,
    /// What other threads have for the worker; `None` until a service lets them.
    mail: Option<Arc<Mail>>,
}

impl Agenda {
    /// Says by what the worker's sleep is ended. Told once, before services ask for anything.
    pub fn attach(&mut self, waker: Waker) {
        self.waker = Some(waker);
    }

    fn mail(&mut self) -> Arc<Mail> {
        let waker = &self.waker;
        let mail = self
            .mail
            .get_or_insert_with(|| Arc::new(Mail::new(waker.clone())));
        Arc::clone(mail)
    }

    /// Takes the answers that came from other threads. Whether somebody rang: the service is to
    /// be told.
    #[inline]
    pub fn rang(&mut self) -> bool {
        let mail = self.mail.as_ref().filter(|mail| mail.rang());
        let Some(mail) = mail else {
            return false;
        };
        let answers = mail.take().into_iter();
        self.actions
            .extend(answers.map(|(ticket, response)| (ticket, Action::Complete(response))));
        true
    }

    #[inline]
    fn act(&mut self, ticket: Ticket, action: Action) {
        self.actions.push((ticket, action));
    }

    /// Puts a message in one frame among the bytes.
    fn frame(&mut self, binary: bool, bytes: &[u8]) -> Range<usize> {
        let opcode = if binary { Opcode::Binary } else { Opcode::Text };
        let start = self.bytes.len();
        websocket::encode(&mut self.bytes, opcode, true, None, bytes);
        start..self.bytes.len()
    }

    /// A WebSocket ends, not by its service's wish. `write` appends a close frame, or nothing.
    pub fn over(&mut self, ticket: Ticket, lingers: bool, write: impl FnOnce(&mut Vec<u8>)) {
        let start = self.bytes.len();
        write(&mut self.bytes);
        let frame = start..self.bytes.len();
        self.act(ticket, Action::Over { frame, lingers });
    }

    /// Has the service told that there is room for more.
    #[inline]
    pub fn writable(&mut self, ticket: Ticket) {
        self.notices.push((ticket, Notice::Writable));
    }

    /// Has the service told that the client sends nothing more.
    #[inline]
    pub fn peer_ended(&mut self, ticket: Ticket) {
        self.notices.push((ticket, Notice::PeerEnded));
    }

    /// Has the service told that a request is gone.
    #[inline]
    pub fn closed(&mut self, ticket: Ticket) {
        self.closed += 1;
        self.notices.push((ticket, Notice::Closed));
    }

    /// A service has ended a request by itself, which may be gone already: it isn't told that.
    #[inline]
    pub fn ended(&mut self, ticket: Ticket) {
        if self.closed > 0 {
            let crossed = |of: Ticket| (of.socket, of.number) == (ticket.socket, ticket.number);
            self.notices
                .retain(|(of, notice)| *notice != Notice::Closed || !crossed(*of));
        }
    }

    /// What services are to be told, for once.
    #[inline]
    pub fn take_notices(&mut self) -> Vec<(Ticket, Notice)> {
        self.closed = 0;
        std::mem::take(&mut self.notices)
    }

    /// Whether the call that was just made has paused the body of its request.
    #[inline]
    pub fn has_paused(&self, ticket: Ticket) -> bool {
        let paused = |(of, action): &(Ticket, Action)| {
            matches!(action, Action::Pause)
                && (of.socket, of.number) == (ticket.socket, ticket.number)
        };
        self.actions.iter().any(paused)
    }

    /// Whether the service has had one of its WebSockets wait or end since there were `before`
    /// actions.
    pub fn has_stopped(&self, ticket: Ticket, before: usize) -> bool {
        let stopped = |(of, action): &(Ticket, Action)| {
            matches!(
                action,
                Action::Pause | Action::Close(_) | Action::End(_) | Action::Abort
            ) && (of.socket, of.number) == (ticket.socket, ticket.number)
        };
        self.actions.iter().skip(before).any(stopped)
    }

    /// Whether connections have nothing to do and services nothing to hear.
    #[inline]
    pub fn is_settled(&self) -> bool {
        self.wakes.is_empty()
            && self.actions.is_empty()
            && self.notices.is_empty()
            && self.upstreams.desk.is_clear()
    }
}

/// What a connection is to do about one request.
#[derive(Debug)]
#[allow(clippy::large_enum_variant)] // Most of them are answers, and a box would be an allocation.
pub enum Action {
    /// Answer it.
    Complete(Response),
    /// Send these bytes of the agenda.
    Send(Range<usize>),
    /// Send these bytes.
    #[cfg(feature = "tower")]
    Share(bytes::Bytes),
    /// Send a message of a WebSocket, whose frame these bytes of the agenda are.
    Say(Range<usize>),
    /// Send the same to those with these tickets of the agenda. It's nobody's itself.
    SayAll {
        /// To whom.
        tickets: Range<usize>,
        /// What.
        frame: Range<usize>,
    },
    /// Send this close frame of a WebSocket, and nothing behind it.
    Close(Range<usize>),
    /// The client or the server ends a WebSocket: send this close frame, if it's not empty. It
    /// stands behind what the service has said before it could know.
    Over {
        /// What.
        frame: Range<usize>,
        /// The client has not closed yet.
        lingers: bool,
    },
    /// Nothing more is sent but these trailers.
    End(Vec<Field>),
    /// Give it up.
    Abort,
    /// Stop reading its body.
    Pause,
    /// Read on.
    Resume,
}

impl Action {
    /// Whether nothing follows it.
    #[inline]
    pub fn is_last(&self) -> bool {
        match self {
            Action::Complete(response) => !response.body.is_in_pieces(),
            Action::End(_) | Action::Abort | Action::Close(_) => true,
            _ => false,
        }
    }
}

/// An [`Event`] that came out of sending, or of an end.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Notice {
    /// [`Event::Writable`].
    Writable,
    /// [`Event::PeerEnded`].
    PeerEnded,
    /// [`Event::Closed`].
    Closed,
}

impl Notice {
    /// What the service is told.
    pub fn event(self) -> Event<'static> {
        match self {
            Notice::Writable => Event::Writable,
            Notice::PeerEnded => Event::PeerEnded,
            Notice::Closed => Event::Closed,
        }
    }
}
