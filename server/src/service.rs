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

use engine::Token;
use measure::time::Time;

use crate::fault::Fault;
use crate::request::Request;
use crate::response::Response;
use crate::summary::Counts;

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

    /// A timer set by [`Context::wake_at`] is due. The request that `ticket` stands for may be gone
    /// or answered; completing it has no effect then.
    fn due(&mut self, ticket: Ticket, context: &mut Context<'_>) {
        let _ = (ticket, context);
    }

    /// What its worker has counted since its start. Told once in each turn of the worker, when all
    /// requests that came were handed in and before an answer to one of them leaves: whoever has an
    /// answer finds it counted.
    #[inline]
    fn counted(&mut self, counts: &Counts) {
        let _ = counts;
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
    /// This is the answer, and no call is made. The body is read and thrown away first, unless the
    /// client asked whether to send it at all (`Expect: 100-continue`, RFC 9110 §10.1.1): then the
    /// answer leaves at once.
    Refuse(Response),
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
    pub(crate) fn new(socket: Token, number: u32) -> Ticket {
        let tag = 0;
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
}

impl<'a> Context<'a> {
    pub(crate) fn new(now: Time, ticket: Ticket, agenda: &'a mut Agenda) -> Context<'a> {
        Context {
            now,
            ticket,
            agenda,
        }
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

    /// Answers the request that `ticket` stands for. Without effect if that is gone, or answered.
    pub fn complete(&mut self, ticket: Ticket, response: Response) {
        self.agenda.completed.push((ticket, response));
    }
}

/// What services asked for and the worker has not done yet. Emptied every turn.
#[derive(Debug, Default)]
pub(crate) struct Agenda {
    /// Timers to set.
    pub(crate) wakes: Vec<(Time, Ticket)>,
    /// Answers to hand to their connections.
    pub(crate) completed: Vec<(Ticket, Response)>,
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
