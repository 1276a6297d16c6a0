//! What answers requests, as its worker calls it.

use engine::{Broken, Completions, Driver, Token, Until, Waker};
use exchange::fault::Fault;
use exchange::grpc::{Call, Method};
use exchange::request::Request;
use exchange::response::Response;
use measure::time::Time;

use crate::context::{Context, Event};
use crate::summary::Counts;
use crate::ticket::Ticket;
use crate::upstream::{self, Exchange};

/// Answers requests. Each worker has an instance of its own, made and used on its thread alone, so
/// that a service needs no locks; what instances share, the maker given to `start`
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

    /// The methods of gRPC that this service offers, the same all the time
    /// ([`grpc`](exchange::grpc)).
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

    /// Whether its worker may accept, asked after [`Service::started`], and then after each turn
    /// until it's so: what is asked of upstreams comes meanwhile, and clients wait in the queue of
    /// the listening socket, or find none. A service that waits for something says no for as long
    /// as it's willing to, and has itself woken when that is over ([`Context::wake_at`]).
    ///
    /// # Errors
    /// It can't begin. The server doesn't start, and says why.
    #[inline]
    fn is_ready(&mut self, now: Time) -> Result<bool, String> {
        let _ = now;
        Ok(true)
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

    /// Somebody has rung the bell of this worker ([`Context::bell`]) since this was last called:
    /// the place to look what has come from other threads. `context` has nobody's ticket.
    fn rung(&mut self, context: &mut Context<'_>) {
        let _ = context;
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

    /// Has its worker do all of its turns.
    #[doc(hidden)]
    fn run<W: Turns<Service = Self> + 'static>(mut worker: W) -> (W, Result<(), Broken>) {
        let ran = worker.go_on();
        (worker, ran)
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
    /// `Limits::memory_bytes`.
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
pub enum Intake {
    /// It's collected, up to `Limits::body_bytes`, and
    /// [`Service::call`] is made with all of it.
    Whole,
    /// It's read and thrown away, and [`Service::call`] made then, with an empty body.
    Discard,
    /// [`Service::call`] is made before the body has come where the protocol lets it, which is
    /// HTTP/2; over HTTP/1 this is [`Intake::Discard`]. In both cases the body is empty.
    Ahead,
    /// [`Service::call`] is made at once, with an empty body, and the body follows as
    /// [`Event::Data`] up to [`Event::End`], at most
    /// `Limits::body_bytes` in all. It comes as fast as the client
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

/// What comes of a call.
#[derive(Debug)]
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
///
/// With [`Dialogue::Service`] a service has the messages told, and says its own:
///
/// ```
/// use std::collections::HashSet;
/// use ringside_server::{Context, Dialogue, Event, Reply, Request, Service, Ticket};
///
/// /// What one says, all hear who are connected to the same worker.
/// #[derive(Default)]
/// struct Room {
///     members: HashSet<Ticket>,
/// }
///
/// impl Service for Room {
///     fn call(&mut self, _: &Request<'_>, context: &mut Context<'_>) -> Reply {
///         self.members.insert(context.ticket());
///         Reply::Upgrade(Dialogue::Service)
///     }
///
///     fn event(&mut self, ticket: Ticket, event: Event<'_>, context: &mut Context<'_>) {
///         match event {
///             Event::Message { bytes: b"bye", .. } => {
///                 self.members.remove(&ticket);
///                 context.close(ticket, 1000, "come again");
///             }
///             Event::Message { binary, bytes } => {
///                 context.say_all(self.members.iter().copied(), binary, bytes);
///             }
///             Event::Closed => {
///                 self.members.remove(&ticket); // The upgrade may have been refused, too.
///             }
///             _ => {}
///         }
///     }
/// }
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Dialogue {
    /// Sends each back, in one frame of the same kind.
    Echo,
    /// Closes with this code when the first has come (RFC 6455 §7.4).
    Close(u16),
    /// Resets the connection when the first has come.
    Drop,
    /// Nothing.
    Silence,
    /// They're told as [`Event::Message`] with the ticket of the request that was upgraded, which
    /// stands for the connection from then on: [`Context::say`] and [`Context::say_all`] say
    /// messages there, [`Context::close`] and [`Context::abort`] end it, [`Context::pause`] has
    /// the client wait. [`Event::Closed`] is told when it ends otherwise.
    ///
    /// Pings are answered, and limits hold, as for other dialogues: a connection without a byte
    /// either way for `Timeouts::idle` is closed with code 1001, and one whose client takes
    /// nothing of what is said is reset.
    Service,
}

/// A worker, which does turn after turn.
#[doc(hidden)]
pub trait Turns: Sized {
    /// What it does its turns on.
    type Driver: Driver;
    /// Whom it has answer.
    type Service: Service;

    /// Whether nothing is left to do.
    fn is_done(&self) -> bool;

    /// Until when it may sleep.
    fn until(&self) -> Until;

    /// One turn, which begins with [`Service::wait`].
    ///
    /// # Errors
    /// As of [`Driver::wait`].
    fn turn(&mut self, completions: &mut Completions) -> Result<(), Broken>;

    /// What it's made of.
    fn parts(&mut self) -> (&mut Self::Service, &mut Self::Driver);

    /// Turns until nothing is left to do.
    ///
    /// # Errors
    /// As of [`Turns::turn`].
    fn go_on(&mut self) -> Result<(), Broken> {
        let mut completions = Completions::new();
        while !self.is_done() {
            self.turn(&mut completions)?;
        }
        Ok(())
    }
}
