//! A service of tower as a service of ours: the tasks of one worker.
//!
//! A request is a task from its head to the end of its answer. Tasks lie in a slab; the ticket of a
//! request has its place as its tag. What a task needs to be polled stays with its place, so that
//! requests that follow each other allocate only what they carry.

use std::error::Error;
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context as Polling, Poll, Waker as TaskWaker};

use engine::{Token, Waker};
use http::header::{CONNECTION, CONTENT_LENGTH, HeaderMap, HeaderValue};
use measure::time::Time;
use tower_service::Service as TowerService;

use super::body::{Body, BodyError, Inbox};
use super::pump::{Pumped, Shape, Trailers, caught, first, guarded, poll};
use super::queue::{Bell, Queue};
#[cfg(feature = "tokio")]
use super::upgrade::{self, Pipe, Talk};
use super::{Host, convert};
use crate::headers;
use crate::request::{Request, Version};
use crate::response::{self, Response};
use connection::TOO_MUCH;
use service::{Context, Event, Intake, Reply, Service, Ticket};

/// Bodies of at most so many bytes are waited for before their handler is called.
const WHOLE_BYTES_MAX: u64 = 16 * 1024;

/// A handler that holds its worker for so long in one piece is named.
const BLOCKED_NS: u64 = 1_000_000_000;

/// What is named of a request: its method and so many bytes of its path.
const NAMED_BYTES_MAX: usize = 120;

/// See the module.
pub(super) struct Adapter<T, B>
where
    T: TowerService<http::Request<Body>>,
{
    service: T,
    tasks: Vec<Task<T, B>>,
    free: Vec<u32>,
    queue: Arc<Queue>,
    /// Tasks that were woken; between turns, those for whom the runtime's budget didn't suffice.
    woken: Vec<u32>,
    /// The call that comes next is of a request whose body follows.
    streams: bool,
    /// When the worker last came out of somebody else's code, or began this turn.
    looked: Time,
}

/// One request, or the place of one.
struct Task<T, B>
where
    T: TowerService<http::Request<Body>>,
{
    ticket: Option<Ticket>,
    stage: Stage<T>,
    /// The handler, while the stage says so.
    handler: Pin<Box<Option<T::Future>>>,
    /// The body of the answer, while the stage says so.
    body: Pin<Box<Option<B>>>,
    bell: Arc<Bell>,
    waker: TaskWaker,
    inbox: Option<Arc<Inbox>>,
    /// How it is named, once it has waited.
    name: Box<str>,
    shape: Shape,
    /// What the request takes, but for a body that is coming.
    bytes: usize,
}

/// Where a task is.
enum Stage<T> {
    /// Nobody's.
    Free,
    /// The service isn't ready for the request.
    Readying(T, Box<http::Request<Body>>),
    /// The handler works.
    Handling,
    /// The answer has begun, and its body goes on.
    Answering(Answering),
    /// The connection is hyper's, as long as that has something to do, and then whoever's it gave
    /// it to. Whether there is room for more.
    #[cfg(feature = "tokio")]
    Upgrading(Option<Talk>, Arc<Pipe>, bool),
}

/// An answer whose body goes on.
struct Answering {
    /// The client has taken what was sent.
    room: bool,
    /// What the body gave when it was looked at for the head.
    ahead: Option<Pumped>,
    /// Bytes that are left of its announced length. Over HTTP/2 a body has an end of its own.
    left: Option<u64>,
    trailers: Trailers,
}

impl Answering {
    fn ahead_bytes(&self) -> usize {
        self.ahead.as_ref().map_or(0, Pumped::bytes)
    }
}

/// How far a task came.
enum Driven<R> {
    Pending,
    Answer(R),
    /// The service failed, or it panicked.
    Failed(bool),
}

impl<T, B> Adapter<T, B>
where
    T: TowerService<http::Request<Body>, Response = http::Response<B>> + Clone + 'static,
    T::Error: Into<Box<dyn Error + Send + Sync>>,
    B: http_body::Body + 'static,
    B::Error: Into<Box<dyn Error + Send + Sync>>,
{
    pub(super) fn new(service: T) -> Adapter<T, B> {
        Adapter {
            service,
            tasks: Vec::new(),
            free: Vec::new(),
            queue: Arc::default(),
            woken: Vec::new(),
            streams: false,
            looked: Time::NEVER,
        }
    }

    /// Which tasks want to be polled.
    #[inline]
    pub(super) fn queue(&self) -> &Queue {
        &self.queue
    }

    /// How many requests are under way.
    #[cfg(feature = "tokio")]
    #[inline]
    pub(super) fn requests(&self) -> usize {
        self.tasks.len() - self.free.len()
    }

    /// The worker begins a turn at `now`.
    #[inline]
    pub(super) fn begin_turn(&mut self, now: Time) {
        self.looked = now;
    }

    /// A place for a task.
    fn claim(&mut self) -> u32 {
        if let Some(slot) = self.free.pop() {
            return slot;
        }
        let slot = self.tasks.len() as u32;
        let bell = Arc::new(Bell::new(&self.queue, slot));
        self.tasks.push(Task {
            ticket: None,
            stage: Stage::Free,
            handler: Box::pin(None),
            body: Box::pin(None),
            waker: TaskWaker::from(Arc::clone(&bell)),
            bell,
            inbox: None,
            name: Box::default(),
            shape: Shape::default(),
            bytes: 0,
        });
        slot
    }

    /// A task is over.
    fn release(&mut self, slot: u32, why: BodyError, context: &mut Context<'_>) {
        let task = &mut self.tasks[slot as usize];
        task.ticket = None;
        let inbox = task.inbox.take();
        self.queue.let_go(std::mem::take(&mut task.bytes));
        #[cfg(feature = "tokio")]
        if let Stage::Upgrading(_, pipe, _) = &task.stage {
            pipe.lose();
        }
        // What handlers do when they are dropped is theirs.
        let stage = std::mem::replace(&mut task.stage, Stage::Free);
        let dropped = guarded(|| {
            drop(stage);
            task.handler.set(None);
            task.body.set(None);
        });
        if dropped.is_none() {
            context.panicked();
        }
        task.name = Box::default();
        if let Some(inbox) = inbox {
            inbox.release(why);
        }
        self.free.push(slot);
    }

    /// The client of a task is gone. A handler that still reads the body sees that it's not
    /// complete, once, before it's dropped.
    fn leave(&mut self, slot: u32, context: &mut Context<'_>) {
        let task = &self.tasks[slot as usize];
        let inbox = task.inbox.as_ref();
        let is_cut = inbox.is_some_and(|inbox| inbox.end(Err(BodyError::Incomplete)));
        if is_cut && matches!(task.stage, Stage::Handling) {
            let panicked = match self.drive(slot) {
                Driven::Pending => false,
                Driven::Failed(panicked) => panicked,
                Driven::Answer(answer) => guarded(|| drop(answer)).is_none(),
            };
            if panicked {
                context.panicked();
            }
            self.look(slot, None);
        }
        self.release(slot, BodyError::Incomplete, context);
    }

    /// The task of a request, unless that is over.
    fn find(&mut self, ticket: Ticket) -> Option<&mut Task<T, B>> {
        let task = self.tasks.get_mut(ticket.tag() as usize)?;
        (task.ticket == Some(ticket)).then_some(task)
    }

    /// Has a task's handler go on, or its service become ready.
    fn drive(&mut self, slot: u32) -> Driven<http::Response<B>> {
        let task = &mut self.tasks[slot as usize];
        task.bell.hush();
        let mut polling = Polling::from_waker(&task.waker);
        let driven = guarded(|| {
            if let Stage::Readying(service, _) = &mut task.stage {
                match service.poll_ready(&mut polling) {
                    Poll::Pending => return Driven::Pending,
                    Poll::Ready(Err(error)) => return failed(error),
                    Poll::Ready(Ok(())) => {}
                }
                let stage = std::mem::replace(&mut task.stage, Stage::Handling);
                if let Stage::Readying(mut service, request) = stage {
                    task.handler.set(Some(service.call(*request)));
                }
            }
            let Some(handler) = task.handler.as_mut().as_pin_mut() else {
                return Driven::Pending;
            };
            match handler.poll(&mut polling) {
                Poll::Pending => Driven::Pending,
                Poll::Ready(Ok(answer)) => Driven::Answer(answer),
                Poll::Ready(Err(error)) => failed(error),
            }
        });
        driven.unwrap_or(Driven::Failed(true))
    }

    /// Has the service take a request; says how far it came at once.
    fn begin(&mut self, slot: u32, request: http::Request<Body>) -> Driven<http::Response<B>> {
        let task = &mut self.tasks[slot as usize];
        let mut polling = Polling::from_waker(&task.waker);
        let service = &mut self.service;
        let begin = || {
            match service.poll_ready(&mut polling) {
                Poll::Ready(Ok(())) => {
                    task.handler.set(Some(service.call(request)));
                    task.stage = Stage::Handling;
                    true
                }
                Poll::Ready(Err(error)) => {
                    let _: Driven<()> = failed(error);
                    false
                }
                Poll::Pending => {
                    // Whoever waits for it has one of its own, as its waker is that of one task.
                    task.stage = Stage::Readying(service.clone(), Box::new(request));
                    true
                }
            }
        };
        match guarded(begin) {
            Some(true) => self.drive(slot),
            Some(false) => Driven::Failed(false),
            None => Driven::Failed(true),
        }
    }

    /// The worker comes out of the code of a handler: has that held it for too long?
    fn look(&mut self, slot: u32, request: Option<&Request<'_>>) {
        let now = Time::now();
        let held_ns = now.since(self.looked.min(now));
        self.looked = now;
        if held_ns < BLOCKED_NS {
            return;
        }
        let named = match request {
            Some(request) => name(request),
            None => self.tasks[slot as usize].name.to_string(),
        };
        let seconds = held_ns as f64 / 1e9;
        tracing::warn!(
            "a handler blocked its worker, and all of its other requests, for {seconds:.1} s: \
             {named}. Work that takes so long belongs on another thread"
        );
    }

    /// What a finished handler says, as an answer of ours. The rest of its body stays in the task,
    /// if there is any; else the task is over.
    fn answer(
        &mut self,
        slot: u32,
        answer: http::Response<B>,
        context: &mut Context<'_>,
    ) -> Response {
        let task = &mut self.tasks[slot as usize];
        match guarded(|| task.begin_answer(answer)) {
            Some((response, true)) => {
                if let Stage::Answering(answering) = &task.stage {
                    let bytes = answering.ahead_bytes();
                    task.bytes += bytes;
                    self.queue.hold(bytes);
                }
                response
            }
            Some((response, false)) => {
                self.release(slot, BodyError::Answered, context);
                response
            }
            None => self.fail(slot, true, context),
        }
    }

    /// Sends what the body of an answer gives, while there is room.
    fn pump(&mut self, slot: u32, context: &mut Context<'_>) {
        let task = &mut self.tasks[slot as usize];
        let (Some(ticket), Stage::Answering(answering)) = (task.ticket, &mut task.stage) else {
            return;
        };
        let Some(mut body) = task.body.as_mut().as_pin_mut() else {
            return;
        };
        task.bell.hush();
        let mut polling = Polling::from_waker(&task.waker);
        while answering.room || answering.left == Some(0) {
            let polled = match answering.ahead.take() {
                Some(ahead) => {
                    let bytes = ahead.bytes();
                    task.bytes -= bytes;
                    self.queue.let_go(bytes);
                    ahead
                }
                // All that was announced is there, whether or not the body ends.
                None if answering.left == Some(0) => Pumped::End,
                None => caught(|| poll(body.as_mut(), &mut polling)),
            };
            let trailers = match polled {
                Pumped::Pending => return self.look(slot, None),
                Pumped::Piece(piece) if piece.is_empty() => continue,
                Pumped::Piece(piece) => {
                    answering.room = false;
                    answering.left = answering
                        .left
                        .and_then(|left| left.checked_sub(piece.len() as u64));
                    context.send_shared(ticket, piece);
                    continue;
                }
                Pumped::Trailers(trailers) => Some(answering.trailers.of_those(&trailers)),
                Pumped::End => Some(Vec::new()),
                Pumped::Failed => None,
                Pumped::Panicked => {
                    context.panicked();
                    None
                }
            };
            match trailers {
                Some(trailers) => context.end_with(ticket, trailers),
                None => context.abort(ticket),
            }
            self.look(slot, None);
            return self.release(slot, BodyError::Answered, context);
        }
        self.look(slot, None);
    }

    /// A task was woken.
    fn go_on(&mut self, slot: u32, context: &mut Context<'_>) {
        let task = &mut self.tasks[slot as usize];
        let Some(ticket) = task.ticket else {
            return task.bell.hush();
        };
        if task.inbox.as_ref().is_some_and(|inbox| inbox.take_resume()) {
            context.resume(ticket);
        }
        match task.stage {
            Stage::Answering(_) => return self.pump(slot, context),
            #[cfg(feature = "tokio")]
            Stage::Upgrading(..) => return self.talk(slot, context),
            _ => {}
        }
        let driven = self.drive(slot);
        self.look(slot, None);
        match driven {
            Driven::Pending => {}
            Driven::Answer(answer) => {
                let response = self.answer(slot, answer, context);
                context.complete(ticket, response);
            }
            Driven::Failed(panicked) => {
                let response = self.fail(slot, panicked, context);
                context.complete(ticket, response);
            }
        }
    }

    /// The answer to a request whose handler could give none.
    fn fail(&mut self, slot: u32, panicked: bool, context: &mut Context<'_>) -> Response {
        if panicked {
            context.panicked();
        }
        self.release(slot, BodyError::Answered, context);
        let mut response = Response::empty(500);
        response.headers = Some(HeaderMap::new());
        response
    }
}

impl<T, B> Task<T, B>
where
    T: TowerService<http::Request<Body>, Response = http::Response<B>>,
    B: http_body::Body,
    B::Error: Into<Box<dyn Error + Send + Sync>>,
{
    /// What it takes that clients have to account for.
    fn held_bytes(&self) -> usize {
        let body = self.inbox.as_ref().map_or(0, |inbox| inbox.held_bytes());
        let pipe = match &self.stage {
            #[cfg(feature = "tokio")]
            Stage::Upgrading(_, pipe, _) => pipe.held_bytes(),
            _ => 0,
        };
        self.bytes + body + pipe
    }

    /// See [`Adapter::answer`]; says whether any of the body is left here.
    fn begin_answer(&mut self, answer: http::Response<B>) -> (Response, bool) {
        let (mut parts, body) = answer.into_parts();
        let shape = self.shape;
        let status = parts.status.as_u16();
        if shape.http2 {
            headers::strip(&mut parts.headers);
        }
        let nothing = shape.head_only || matches!(status, 204 | 304);
        let length = body.size_hint().exact();
        let mut response = Response::empty(status);
        response.body = match length {
            _ if body.is_end_stream() => response::Body::Empty,
            // There may be trailers, which only HTTP/2 has behind a body of known length.
            Some(0) if shape.http2 => response::Body::Stream,
            Some(bytes) => response::Body::Sized(bytes),
            None => response::Body::Stream,
        };
        let mut goes_on = response.body.is_in_pieces() && !nothing;
        if goes_on {
            self.body.set(Some(body));
            let mut body = self.body.as_mut().as_pin_mut();
            let first = match (length, body.as_mut()) {
                (Some(_), Some(body)) => first(body.as_mut(), &self.waker),
                _ => None,
            };
            let is_last = !shape.http2 || body.is_none_or(|body| body.is_end_stream());
            match first {
                Some(Pumped::End) if length == Some(0) => {
                    response.body = response::Body::Empty;
                    goes_on = false;
                }
                Some(Pumped::Piece(piece)) if is_last && Some(piece.len() as u64) == length => {
                    response.body = response::Body::Shared(piece);
                    goes_on = false;
                }
                ahead => {
                    self.stage = Stage::Answering(Answering {
                        room: false,
                        ahead,
                        left: announced(&parts.headers, length).filter(|_| !shape.http2),
                        trailers: Trailers::of(&parts.headers, shape),
                    });
                }
            }
        }
        response.headers = Some(parts.headers);
        self.handler.set(None);
        (response, goes_on)
    }
}

impl<T, B> Service for Adapter<T, B>
where
    T: TowerService<http::Request<Body>, Response = http::Response<B>> + Clone + 'static,
    T::Error: Into<Box<dyn Error + Send + Sync>>,
    B: http_body::Body + 'static,
    B::Error: Into<Box<dyn Error + Send + Sync>>,
{
    fn intake(&mut self, head: &Request<'_>) -> Intake {
        let length = convert::length(head);
        if length.is_some_and(|bytes| bytes <= WHOLE_BYTES_MAX) && !convert::expects(head) {
            return Intake::Whole;
        }
        self.streams = true;
        Intake::Stream
    }

    fn call(&mut self, request: &Request<'_>, context: &mut Context<'_>) -> Reply {
        let slot = self.claim();
        context.tag(slot);
        let ticket = context.ticket();
        let streams = std::mem::take(&mut self.streams);
        let body = match streams {
            true => self.open_inbox(slot, request, context),
            false => Body::whole(request.body()),
        };
        let Some(converted) = convert::request(request, body, context.peer()) else {
            self.release(slot, BodyError::Answered, context);
            // As hyper does it, which reads no further.
            let mut response = Response::empty(400);
            let close = (CONNECTION, HeaderValue::from_static("close"));
            response.headers = Some(HeaderMap::from_iter([close]));
            return response.into();
        };
        #[cfg(feature = "tokio")]
        if converted.upgrades
            && !streams
            && request.body().is_empty()
            && let Some(head) = request.head()
        {
            return self.hand_over(slot, head, context);
        }
        let task = &mut self.tasks[slot as usize];
        task.ticket = Some(ticket);
        task.shape = Shape {
            head_only: request.method() == b"HEAD",
            http2: request.version() == Version::Http2,
            takes_trailers: converted.takes_trailers,
        };
        let driven = self.begin(slot, converted.request);
        self.look(slot, Some(request));
        match driven {
            Driven::Pending => {
                let task = &mut self.tasks[slot as usize];
                task.name = name(request).into();
                task.bytes = convert::bytes(request);
                self.queue.hold(task.bytes);
                Reply::Later
            }
            Driven::Answer(answer) => {
                let response = self.answer(slot, answer, context);
                if response.body.is_in_pieces() {
                    self.tasks[slot as usize].name = name(request).into();
                }
                response.into()
            }
            Driven::Failed(panicked) => self.fail(slot, panicked, context).into(),
        }
    }

    fn event(&mut self, ticket: Ticket, event: Event<'_>, context: &mut Context<'_>) {
        let slot = ticket.tag();
        let Some(task) = self.find(ticket) else {
            return;
        };
        match (event, &task.inbox) {
            (Event::Data(piece), Some(inbox)) => {
                let enough = inbox.push(piece);
                if enough {
                    context.pause(ticket);
                }
            }
            (Event::Trailers(fields), Some(inbox)) => inbox.trailers(convert::trailers(fields)),
            (Event::End, Some(inbox)) => drop(inbox.end(Ok(()))),
            (Event::Writable, _) => match &mut task.stage {
                Stage::Answering(answering) => {
                    answering.room = true;
                    self.pump(slot, context);
                }
                #[cfg(feature = "tokio")]
                Stage::Upgrading(_, _, room) => {
                    *room = true;
                    self.talk(slot, context);
                }
                _ => {}
            },
            // As with hyper: who ends its half doesn't wait for more than what is there already.
            (Event::PeerEnded, _) => {
                context.abort(ticket);
                self.leave(slot, context);
            }
            (Event::Closed, _) => {
                self.leave(slot, context);
            }
            #[cfg(feature = "tokio")]
            (Event::Data(bytes), None) => {
                let Stage::Upgrading(_, pipe, _) = &task.stage else {
                    return;
                };
                let enough = pipe.push(bytes);
                if enough {
                    context.pause(ticket);
                }
            }
            #[cfg(feature = "tokio")]
            (Event::End, None) => {
                if let Stage::Upgrading(_, pipe, _) = &task.stage {
                    pipe.end();
                }
            }
            _ => {}
        }
    }

    fn attached(&mut self, waker: Waker) {
        self.queue.attach(waker);
    }

    #[inline]
    fn held_bytes(&self) -> usize {
        self.queue.held_bytes()
    }

    fn each_held(&self, tell: &mut dyn FnMut(Ticket, usize)) {
        for task in &self.tasks {
            if let Some(ticket) = task.ticket {
                tell(ticket, task.held_bytes());
            }
        }
    }

    fn relieve(&mut self, socket: Token, context: &mut Context<'_>) {
        for slot in 0..self.tasks.len() {
            let task = &self.tasks[slot];
            let of_it = task.ticket.filter(|ticket| ticket.socket == socket);
            let Some(ticket) = of_it.filter(|_| task.held_bytes() > 0) else {
                continue;
            };
            match task.stage {
                Stage::Readying(..) | Stage::Handling => {
                    context.complete(ticket, Response::sentence(503, TOO_MUCH));
                }
                _ => context.abort(ticket),
            }
            self.release(slot as u32, BodyError::Incomplete, context);
        }
    }

    #[inline]
    fn work(&mut self, context: &mut Context<'_>) {
        let mut woken = std::mem::take(&mut self.woken);
        self.queue.take(&mut woken);
        let mut done = 0;
        while done < woken.len() && Host::budget_is_left() {
            self.go_on(woken[done], context);
            done += 1;
        }
        woken.drain(..done);
        if !woken.is_empty() {
            self.queue.has_more(); // Before those that have been polled now and want to be again.
        }
        self.woken = woken;
    }
}

impl<T, B> Adapter<T, B>
where
    T: TowerService<http::Request<Body>, Response = http::Response<B>> + Clone + 'static,
    T::Error: Into<Box<dyn Error + Send + Sync>>,
    B: http_body::Body + 'static,
    B::Error: Into<Box<dyn Error + Send + Sync>>,
{
    /// The body of a request that follows.
    fn open_inbox(&mut self, slot: u32, request: &Request<'_>, context: &mut Context<'_>) -> Body {
        let expects = convert::expects(request);
        if expects {
            context.pause(context.ticket()); // Until the handler reads it.
        }
        let task = &mut self.tasks[slot as usize];
        let bell = Arc::clone(&task.bell);
        let inbox = Arc::new(Inbox::new(bell, convert::length(request), expects));
        task.inbox = Some(Arc::clone(&inbox));
        Body::coming(inbox)
    }
}

#[cfg(feature = "tokio")]
impl<T, B> Adapter<T, B>
where
    T: TowerService<http::Request<Body>, Response = http::Response<B>> + Clone + 'static,
    T::Error: Into<Box<dyn Error + Send + Sync>>,
    B: http_body::Body + 'static,
    B::Error: Into<Box<dyn Error + Send + Sync>>,
{
    /// Hands the connection of a request that asks for an upgrade to hyper.
    fn hand_over(&mut self, slot: u32, head: &[u8], context: &mut Context<'_>) -> Reply {
        let Some(service) = guarded(|| self.service.clone()) else {
            return self.fail(slot, true, context).into();
        };
        let task = &mut self.tasks[slot as usize];
        task.ticket = Some(context.ticket());
        let pipe = Arc::new(Pipe::new(Arc::clone(&task.bell), head));
        let talk = upgrade::talk(service, context.peer(), Arc::clone(&pipe));
        task.stage = Stage::Upgrading(Some(talk), pipe, false);
        task.bell.ring();
        Reply::Takeover
    }

    /// Has hyper go on with a connection, and does what comes of that.
    fn talk(&mut self, slot: u32, context: &mut Context<'_>) {
        let task = &mut self.tasks[slot as usize];
        let (Some(ticket), Stage::Upgrading(talk, pipe, room)) = (task.ticket, &mut task.stage)
        else {
            return;
        };
        task.bell.hush();
        let mut polling = Polling::from_waker(&task.waker);
        if let Some(talking) = talk {
            let polled = guarded(|| talking.as_mut().poll(&mut polling));
            if polled.is_none() || pipe.take_panicked() {
                context.panicked();
            }
            if !matches!(polled, Some(Poll::Pending)) {
                *talk = None; // If it gave the connection to nobody, that ends it.
            }
        }
        let wishes = pipe.wishes(*room);
        if wishes.resumes {
            context.resume(ticket);
        }
        if !wishes.going.is_empty() {
            *room = false;
            context.send_shared(ticket, wishes.going);
        }
        if wishes.finished {
            context.end(ticket);
            self.release(slot, BodyError::Answered, context);
        }
        self.look(slot, None);
    }
}

/// How long a body is by its answer's head or by itself (RFC 9112 §6.3).
fn announced(head: &HeaderMap, length: Option<u64>) -> Option<u64> {
    let said = head
        .get(CONTENT_LENGTH)
        .and_then(|value| value.to_str().ok());
    length.or_else(|| said?.parse().ok())
}

fn failed<R>(error: impl Into<Box<dyn Error + Send + Sync>>) -> Driven<R> {
    tracing::error!("the service failed: {}", error.into());
    Driven::Failed(false)
}

/// How a request is named to whoever runs the server: what clients send is cut, and shown escaped.
fn name(request: &Request<'_>) -> String {
    let (method, path) = (request.method(), request.path());
    let path = &path[..path.len().min(NAMED_BYTES_MAX)];
    format!("{} {}", method.escape_ascii(), path.escape_ascii())
}
