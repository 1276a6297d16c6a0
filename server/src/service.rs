//! What answers requests: the interface between a service and the connections of a worker.
//!
//! A service is given a [`Request`] and gives a [`Reply`], now or later. It knows nothing of
//! connections, sockets or the protocol's bytes; a connection knows nothing of what services do.
//!
//! # Later
//!
//! A service that cannot answer yet takes a [`Ticket`] and replies [`Reply::Later`]. Whoever holds
//! the ticket answers it through [`Context::complete`], from any later call: its own timer
//! ([`Service::due`]), or an exchange with an upstream. The worker finds the connection by the
//! ticket; a ticket whose connection is gone is dropped there, so a holder never needs to be told.
//! Answers leave in the order of their requests, whatever the order in which they are completed.
//!
//! # In pieces
//!
//! The same ticket stands for a body that comes in pieces ([`Intake::Stream`]) and for one that
//! leaves in pieces ([`Body::Stream`](crate::Body::Stream)). What comes is told as an [`Event`],
//! and what leaves is handed to [`Context::send`]. Neither side may pile up: [`Context::pause`] has
//! the client wait, and [`Event::Writable`] says that the client has taken what was sent.

use ::upstream::{Owner, Wishes};
use engine::{Address, Broken, Completions, Driver, Token, Until, Waker};
use measure::time::Time;

use crate::fault::Fault;
use crate::grpc::{Call, Method};
use crate::peer::{Peer, Peers};
use crate::request::{Fields, Request};
use crate::response::{Field, Response};
use crate::summary::Counts;
use crate::upstream::{self, Exchange, Upstream};

/// Answers requests. Each worker has an instance of its own, made and used on its thread alone, so
/// that a service needs no locks; what instances share, the maker given to [`start`](crate::start)
/// hands to each of them.
///
/// Methods, routing, 404 and 405 are the service's. HEAD is answered as GET is: the connection
/// leaves the body out (RFC 9110 §9.3.2).
///
/// No call may wait: the worker serves all of its connections on one thread.
///
/// ```
/// use ringside_server::{Context, Intake, Reply, Request, Response, Service};
///
/// /// Counts what it's asked for, and keeps what was sent last.
/// #[derive(Default)]
/// struct Last {
///     requests: u64,
///     body: Vec<u8>,
/// }
///
/// impl Service for Last {
///     fn intake(&mut self, head: &Request<'_>) -> Intake {
///         match head.path() {
///             b"/last" => Intake::Whole,
///             _ => Intake::Refuse(Response::sentence(404, "nothing is kept here\n")),
///         }
///     }
///
///     fn call(&mut self, request: &Request<'_>, _: &mut Context<'_>) -> Reply {
///         self.requests += 1;
///         match (request.method(), request.path()) {
///             (b"PUT", b"/last") => {
///                 self.body = request.body().to_vec();
///                 Response::empty(204).into()
///             }
///             (b"GET" | b"HEAD", b"/last") => {
///                 Response::of("application/octet-stream", self.body.clone()).into()
///             }
///             (_, b"/last") => Response::empty(405).with_field("Allow", "GET, HEAD, PUT").into(),
///             _ => Reply::Always(Response::sentence(404, "nothing is kept here\n")),
///         }
///     }
/// }
/// ```
pub trait Service {
    /// The head of a request with a body has come: says what becomes of the body. Asked once for
    /// each such request, and never for one without a body, or with `Content-Length: 0` over
    /// HTTP/1.
    fn intake(&mut self, head: &Request<'_>) -> Intake {
        let _ = head;
        Intake::Whole
    }

    /// Answers `request`, or takes a ticket from `context` and answers later.
    fn call(&mut self, request: &Request<'_>, context: &mut Context<'_>) -> Reply;

    /// The methods of gRPC that this service offers, the same all the time ([`grpc`](crate::grpc)).
    /// If there are any, a POST over HTTP/2 with a content type of gRPC is a call of one of them,
    /// or of a method that isn't implemented, and comes neither to [`Service::intake`] nor to
    /// [`Service::call`]. If there are none, it's a request like others.
    #[inline]
    fn methods(&self) -> &'static [Method] {
        &[]
    }

    /// A call of one of [`Service::methods`] begins; `request` is its head. Unless this says
    /// otherwise, the method opens it by itself: a service whose calls share something with it
    /// makes them here, by [`Method::path`].
    #[inline]
    fn open_call(&mut self, method: &'static Method, request: &Request<'_>) -> Box<dyn Call> {
        method.open(request)
    }

    /// A timer set by [`Context::wake_at`] is due. The request that `ticket` stands for may be gone
    /// or answered; completing it has no effect then.
    fn due(&mut self, ticket: Ticket, context: &mut Context<'_>) {
        let _ = (ticket, context);
    }

    /// Something happened to a request that isn't over: a piece of its body came, or the answer in
    /// pieces goes on, or it's gone. `ticket` is that of the request, and so is the one of
    /// `context`. See [`Event`].
    fn event(&mut self, ticket: Ticket, event: Event<'_>, context: &mut Context<'_>) {
        let _ = (ticket, event, context);
    }

    /// The worker begins. Called once, before anything comes: the place to declare upstreams that
    /// are known from the start ([`Context::upstream`]). `context` has nobody's ticket.
    #[inline]
    fn started(&mut self, context: &mut Context<'_>) {
        let _ = context;
    }

    /// Something happened to an exchange with an upstream that this service has begun
    /// ([`Context::ask`]). `context` has the ticket that it was begun for, which may be over. See
    /// [`upstream`].
    #[inline]
    fn exchange(
        &mut self,
        exchange: Exchange,
        event: upstream::Event<'_>,
        context: &mut Context<'_>,
    ) {
        let _ = (exchange, event, context);
    }

    /// What its worker has counted since its start. Told once in each turn of the worker, when all
    /// requests that came were handed in and before an answer to one of them leaves: whoever has an
    /// answer finds it counted.
    #[inline]
    fn counted(&mut self, counts: &Counts) {
        let _ = counts;
    }

    /// By what its worker's sleep is ended from other threads. Told once, before anything else.
    #[doc(hidden)]
    fn attached(&mut self, waker: Waker) {
        let _ = waker;
    }

    /// Sleeps, and brings what happened meanwhile.
    #[doc(hidden)]
    #[inline]
    fn wait<D: Driver>(
        &mut self,
        driver: &mut D,
        until: Until,
        completions: &mut Completions,
    ) -> Result<Time, Broken> {
        driver.wait(until, completions)
    }

    /// Bytes that clients make it hold besides what their connections do, of
    /// [`Limits::memory_bytes`](crate::Limits::memory_bytes).
    #[doc(hidden)]
    #[inline]
    fn held_bytes(&self) -> usize {
        0
    }

    /// Tells of each request for which it holds some.
    #[doc(hidden)]
    fn each_held(&self, tell: &mut dyn FnMut(Ticket, usize)) {
        let _ = tell;
    }

    /// Clients make the server hold too much: gives up the requests of a connection for which it
    /// holds something.
    #[doc(hidden)]
    fn relieve(&mut self, socket: Token, context: &mut Context<'_>) {
        let _ = (socket, context);
    }

    /// The server stops: its connections may take until `until`.
    #[doc(hidden)]
    fn stopping(&mut self, until: Time) {
        let _ = until;
    }

    /// Does what became possible outside of the worker's sight. Called once a turn; `context` has
    /// nobody's ticket.
    #[doc(hidden)]
    #[inline]
    fn work(&mut self, context: &mut Context<'_>) {
        let _ = context;
    }
}

/// What becomes of the body of a request.
#[derive(Debug)]
#[non_exhaustive]
pub enum Intake {
    /// It's collected, up to [`Limits::body_bytes`](crate::Limits::body_bytes), and
    /// [`Service::call`] is made with all of it.
    Whole,
    /// It's read and thrown away, and [`Service::call`] made then, with an empty body.
    Discard,
    /// [`Service::call`] is made before the body has come where the protocol lets it, which is
    /// HTTP/2; over HTTP/1 this is [`Intake::Discard`]. In both cases the body is empty.
    Ahead,
    /// [`Service::call`] is made at once, with an empty body, and the body follows as
    /// [`Event::Data`] up to [`Event::End`], at most
    /// [`Limits::body_bytes`](crate::Limits::body_bytes) in all. It comes as fast as the client
    /// sends it: see [`Context::pause`].
    ///
    /// A client that asked whether to send the body (`Expect: 100-continue`, RFC 9110 §10.1.1) is
    /// told to, unless that call answers at once, or pauses the body: then it's told when the body
    /// is resumed.
    ///
    /// An answer that is complete ends the request, and the rest of its body isn't told.
    Stream,
    /// This is the answer, and no call is made. The body is read and thrown away first, unless the
    /// client asked whether to send it at all (`Expect: 100-continue`, RFC 9110 §10.1.1): then the
    /// answer leaves at once.
    Refuse(Response),
}

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
    /// Fields behind the body (RFC 9110 §6.5). Over HTTP/2 only: over HTTP/1.1 they are read and
    /// thrown away, as RFC 9110 §6.5.1 allows.
    Trailers(Fields<'a>),
    /// The body is complete; of a connection that was taken over, the client sends no more.
    End,
    /// There is room for more of an answer in pieces. Told once when that has begun, and then once
    /// for all that was sent since, as soon as the client has taken most of it.
    Writable,
    /// The client sends nothing more on this connection, and has left, unless it only ended its
    /// half and waits (RFC 9112 §9.6). An answer is still sent.
    PeerEnded,
    /// The server stops. Told to those who have taken over a connection.
    Stopping,
    /// The request is over before its end: the client is gone, or has given it up, or was too
    /// slow. Nothing that is asked for its ticket has an effect any more. Not told of what the
    /// service has ended by itself.
    Closed,
}

/// The right and duty to answer one request later.
///
/// It names a connection by a token with a generation and one request on it by number, so a ticket
/// that comes too late never reaches another request.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Ticket {
    pub(crate) socket: Token,
    pub(crate) number: u32,
    tag: u32,
}

impl Ticket {
    /// Stands for no request.
    pub(crate) const NOBODYS: Ticket = Ticket {
        socket: Token::NOBODYS,
        number: 0,
        tag: 0,
    };

    pub(crate) fn new(socket: Token, number: u32, tag: u32) -> Ticket {
        Ticket {
            socket,
            number,
            tag,
        }
    }

    /// What [`Context::tag`] put on it; 0 otherwise.
    #[inline]
    pub fn tag(self) -> u32 {
        self.tag
    }
}

/// Exchanges with upstreams are begun for tickets.
impl Owner for Ticket {
    fn slot(self) -> Option<usize> {
        (self.socket != Token::NOBODYS).then(|| self.socket.slot())
    }

    fn is(self, other: Ticket) -> bool {
        (self.socket, self.number) == (other.socket, other.number)
    }
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
    #[inline]
    pub(crate) fn new(
        now: Time,
        ticket: Ticket,
        agenda: &'a mut Agenda,
        peers: &'a Peers,
    ) -> Context<'a> {
        Context {
            now,
            ticket,
            agenda,
            peers,
        }
    }

    /// One for what no request brought about.
    #[inline]
    pub(crate) fn of_nobody(now: Time, agenda: &'a mut Agenda, peers: &'a Peers) -> Context<'a> {
        Context::new(now, Ticket::NOBODYS, agenda, peers)
    }

    /// The time of this turn of the worker, on a clock that only goes forward. It's the same for
    /// all that came in one turn.
    #[inline]
    pub fn now(&self) -> Time {
        self.now
    }

    /// The ticket of the request that is being answered, should it be wanted; in [`Service::due`]
    /// the one that is due.
    #[inline]
    pub fn ticket(&self) -> Ticket {
        self.ticket
    }

    /// Puts a number on the tickets that this call takes from here on, such as that of the route
    /// which answers: [`Ticket::tag`] tells it to [`Service::due`].
    #[inline]
    pub fn tag(&mut self, tag: u32) {
        self.ticket.tag = tag;
    }

    /// Has [`Service::due`] called with `ticket` at `time`.
    pub fn wake_at(&mut self, time: Time, ticket: Ticket) {
        self.agenda.wakes.push((time, ticket));
    }

    /// Who has sent the request that is being answered.
    pub fn peer(&self) -> Peer {
        self.peers.of(self.ticket.socket)
    }

    /// Answers the request that `ticket` stands for. Without effect if that is gone, or answered.
    pub fn complete(&mut self, ticket: Ticket, response: Response) {
        self.agenda.act(ticket, Action::Complete(response));
    }

    /// Sends a piece of the answer whose body is [`Body::Stream`](crate::Body::Stream) or
    /// [`Body::Sized`](crate::Body::Sized), or, on a connection that was taken over, whatever it
    /// is. Empty pieces are none.
    ///
    /// All of it is taken, and kept until the client takes it: who sends more before
    /// [`Event::Writable`] has come uses memory, of which all clients together have
    /// [`Limits::memory_bytes`](crate::Limits::memory_bytes).
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
    pub(crate) fn send_shared(&mut self, ticket: Ticket, bytes: bytes::Bytes) {
        if !bytes.is_empty() {
            self.agenda.act(ticket, Action::Share(bytes));
        }
    }

    /// The answer in pieces is complete; a connection that was taken over ends when all that was
    /// sent is out. An answer that announced more bytes than were sent is aborted.
    pub fn end(&mut self, ticket: Ticket) {
        self.agenda.act(ticket, Action::End(Vec::new()));
    }

    /// [`Context::end`] with fields behind the body (RFC 9110 §6.5): over HTTP/2, and behind a body
    /// in chunks over HTTP/1.1. Elsewhere they aren't sent, nor is a field that can be none.
    pub fn end_with(&mut self, ticket: Ticket, trailers: Vec<Field>) {
        self.agenda.act(ticket, Action::End(trailers));
    }

    /// Gives the request up, so that the client notices: its stream is reset over HTTP/2; over
    /// HTTP/1 the connection ends without the rest of the answer, and without an answer at all if
    /// it had not begun.
    pub fn abort(&mut self, ticket: Ticket) {
        self.agenda.act(ticket, Action::Abort);
    }

    /// Has the client wait with the rest of the body ([`Intake::Stream`]), by not reading it over
    /// HTTP/1 and not giving credit over HTTP/2. What was on its way may still come. No time limit
    /// is on a body that is paused.
    pub fn pause(&mut self, ticket: Ticket) {
        self.agenda.act(ticket, Action::Pause);
    }

    /// Has the body go on after [`Context::pause`].
    pub fn resume(&mut self, ticket: Ticket) {
        self.agenda.act(ticket, Action::Resume);
    }

    /// Declares an upstream, which this worker has from then on. Connections are opened when they
    /// are needed.
    ///
    /// # Errors
    /// No address, or no connection allowed.
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
    /// [`Service::exchange`], in no case before this call returns.
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
    pub(crate) fn panicked(&mut self) {
        self.agenda.panics += 1;
    }
}

/// What services asked for and the worker has not done yet, and what it has not told them. Emptied
/// every turn.
#[derive(Debug, Default)]
pub(crate) struct Agenda {
    /// Timers to set.
    pub(crate) wakes: Vec<(Time, Ticket)>,
    /// What connections are to do.
    pub(crate) actions: Vec<(Ticket, Action)>,
    /// The bytes of [`Action::Send`].
    pub(crate) bytes: Vec<u8>,
    /// What services are to be told.
    pub(crate) notices: Vec<(Ticket, Notice)>,
    /// How many of them say that a request is gone.
    closed: u32,
    /// Panics of handlers that were not counted yet.
    pub(crate) panics: u64,
    /// What services want of upstreams.
    pub(crate) upstreams: Wishes<Address, Ticket>,
}

impl Agenda {
    fn act(&mut self, ticket: Ticket, action: Action) {
        self.actions.push((ticket, action));
    }

    /// Has the service told that there is room for more.
    pub(crate) fn writable(&mut self, ticket: Ticket) {
        self.notices.push((ticket, Notice::Writable));
    }

    /// Has the service told that the client sends nothing more.
    pub(crate) fn peer_ended(&mut self, ticket: Ticket) {
        self.notices.push((ticket, Notice::PeerEnded));
    }

    /// Has the service told that a request is gone.
    pub(crate) fn closed(&mut self, ticket: Ticket) {
        self.closed += 1;
        self.notices.push((ticket, Notice::Closed));
    }

    /// A service has ended a request by itself, which may be gone already: it isn't told that.
    pub(crate) fn ended(&mut self, ticket: Ticket) {
        if self.closed > 0 {
            let crossed = |of: Ticket| (of.socket, of.number) == (ticket.socket, ticket.number);
            self.notices
                .retain(|(of, notice)| *notice != Notice::Closed || !crossed(*of));
        }
    }

    /// What services are to be told, for once.
    pub(crate) fn take_notices(&mut self) -> Vec<(Ticket, Notice)> {
        self.closed = 0;
        std::mem::take(&mut self.notices)
    }

    /// Whether the call that was just made has paused the body of its request.
    pub(crate) fn has_paused(&self, ticket: Ticket) -> bool {
        let paused = |(of, action): &(Ticket, Action)| {
            matches!(action, Action::Pause)
                && (of.socket, of.number) == (ticket.socket, ticket.number)
        };
        self.actions.iter().any(paused)
    }

    /// Whether connections have nothing to do and services nothing to hear.
    #[inline]
    pub(crate) fn is_settled(&self) -> bool {
        self.wakes.is_empty()
            && self.actions.is_empty()
            && self.notices.is_empty()
            && self.upstreams.desk.is_clear()
    }
}

/// What a connection is to do about one request.
#[derive(Debug)]
#[allow(clippy::large_enum_variant)] // Most of them are answers, and a box would be an allocation.
pub(crate) enum Action {
    /// Answer it.
    Complete(Response),
    /// Send these bytes of the agenda.
    Send(std::ops::Range<usize>),
    /// Send these bytes.
    #[cfg(feature = "tower")]
    Share(bytes::Bytes),
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
    pub(crate) fn is_last(&self) -> bool {
        match self {
            Action::Complete(response) => !response.body.is_in_pieces(),
            Action::End(_) | Action::Abort => true,
            _ => false,
        }
    }
}

/// An [`Event`] that came out of sending, or of an end.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Notice {
    Writable,
    PeerEnded,
    Closed,
}

impl Notice {
    /// What the service is told.
    pub(crate) fn event(self) -> Event<'static> {
        match self {
            Notice::Writable => Event::Writable,
            Notice::PeerEnded => Event::PeerEnded,
            Notice::Closed => Event::Closed,
        }
    }
}

/// What comes of a call.
#[derive(Debug)]
#[non_exhaustive]
pub enum Reply {
    /// The answer.
    Now(Response),
    /// The answer, and every request of the same version, method and target gets the same, whatever
    /// its fields, its host and its time: it may be kept encoded, and the service need not be asked
    /// again. The same as [`Reply::Now`] if the request has a body.
    ///
    /// This is the fastest way to answer. It's for what never changes while the server runs.
    Always(Response),
    /// The answer comes through [`Context::complete`].
    Later,
    /// The connection becomes a WebSocket, if the request asks for that in good order
    /// (RFC 6455 §4.2); else the client gets the refusal that says what is wrong.
    Upgrade(Dialogue),
    /// The connection becomes the service's: what the client sends behind this request comes as
    /// [`Event::Data`], and [`Context::send`] writes to it, answer included. For protocols that
    /// begin as a request of HTTP/1.1 (RFC 9110 §7.8). Over HTTP/2, of a request with a body, and
    /// behind requests that are not answered yet, the client gets a 400 that says so, and the
    /// service [`Event::Closed`].
    Takeover,
    /// Something goes wrong, on purpose.
    Fault(Fault),
}

impl From<Response> for Reply {
    fn from(response: Response) -> Reply {
        Reply::Now(response)
    }
}

impl From<Fault> for Reply {
    fn from(fault: Fault) -> Reply {
        Reply::Fault(fault)
    }
}

/// What a WebSocket does with the messages that come. Protocols without an upgrade refuse it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Dialogue {
    /// Sends each back, in one frame of the same kind.
    Echo,
    /// Closes with this code when the first has come (RFC 6455 §7.4).
    Close(u16),
    /// Resets the connection when the first has come.
    Drop,
    /// Nothing.
    Silence,
}
