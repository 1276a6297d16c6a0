//! HTTP/1 on one connection: requests in, answers out in their order. Knows no sockets.
//!
//! Requests are read as they come, also while earlier answers are still waited for, unless a method
//! isn't safe ([`order`]); [`Outgoing`] keeps the order of answers. Reading stops when output has
//! piled up, and what was received by then is held.

mod faults;
mod order;
mod refusals;

use engine::Token;
use measure::time::Time;
use proto::http1::response;
use proto::http1::server::{self, BodyLength, Event, Limits, Server};
use proto::websocket::server as upgrade;

use super::hosted::Hosted;
use super::incoming::{Incoming, Streamed};
use super::outgoing::{Asked, Finished, Outgoing, Step, Successor, Then};
use super::raw::Raw;
use super::websocket::WebSocket;
use super::{Arrival, Ending, Phase, Protocol, TOO_MUCH};
use crate::{Serving, Shared};
use exchange::answer::{self, Form, Rest};
use exchange::request::Request;
use exchange::response::{Field, Response};
use service::Timeouts;
use service::{self, Agenda, Dialogue, Intake, Reply, Service, Ticket};

/// One connection as far as HTTP/1 goes.
#[derive(Debug)]
pub(super) struct Http1 {
    machine: Server,
    talk: Talk,
    /// Received and not read yet, because output had piled up, or an answer is waited for.
    held: Vec<u8>,
    /// Since when a head is unfinished.
    head_since: Time,
}

/// Everything but the machine, which lends what it has read.
#[derive(Debug)]
struct Talk {
    out: Outgoing,
    body: Option<Box<Incoming>>,
    ending: Option<Ending>,
    /// The client sends no more.
    peer_ended: bool,
    /// Requests that needed more than a kept answer; the number of the last.
    number: u32,
    /// The last of them that was not answered at once goes alone ([`order`]).
    alone: bool,
    /// An answer has begun that ends the connection, while its request was still coming.
    last: bool,
}

impl Http1 {
    pub(super) fn new(limits: Limits) -> Http1 {
        let out = Outgoing::default();
        Http1 {
            machine: Server::new(limits),
            talk: Talk {
                out,
                body: None,
                ending: None,
                peer_ended: false,
                number: 0,
                alone: false,
                last: false,
            },
            held: Vec::new(),
            head_since: Time::NEVER,
        }
    }

    /// Bytes came.
    #[inline]
    pub(super) fn receive<S: Service>(
        &mut self,
        input: &[u8],
        socket: Token,
        serving: &mut Serving<S>,
    ) {
        if self.held.is_empty() {
            self.read(input, socket, serving);
        } else {
            self.held.extend_from_slice(input);
        }
    }

    /// Reads on what was held, if there is room for answers. Reports whether anything was read.
    pub(super) fn resume<S: Service>(&mut self, socket: Token, serving: &mut Serving<S>) -> bool {
        let talk = &self.talk;
        if self.held.is_empty() || talk.is_blocked() || talk.must_wait(&self.machine, &self.held) {
            return false;
        }
        let held = std::mem::take(&mut self.held);
        self.read(&held, socket, serving);
        true
    }

    fn read<S: Service>(&mut self, mut input: &[u8], socket: Token, serving: &mut Serving<S>) {
        let talk = &mut self.talk;
        while talk.ending.is_none() {
            if !input.is_empty() && (talk.is_blocked() || talk.must_wait(&self.machine, input)) {
                self.held.extend_from_slice(input);
                return;
            }
            match self.machine.next(&mut input, &mut serving.memo) {
                Ok(Some(Event::Request(request))) => {
                    self.head_since = Time::NEVER;
                    talk.request(&request, socket, serving);
                }
                Ok(Some(Event::Body(bytes))) => talk.body(bytes, socket, serving),
                Ok(Some(Event::End)) => {
                    talk.end(socket, serving);
                    if talk.out.upgrade().is_some() {
                        return self.held.extend_from_slice(input);
                    }
                    if serving.draining {
                        // Its body was on its way when the server was told to stop.
                        talk.ending.get_or_insert(Ending::Graceful);
                    }
                }
                Ok(None) => break,
                Err(rejection) => talk.reject(rejection, socket, serving),
            }
        }
        if talk.ending.is_some() || !self.machine.head_started() {
            self.head_since = Time::NEVER;
        } else if self.head_since == Time::NEVER {
            self.head_since = serving.now;
        }
        self.settle(socket, &mut serving.agenda);
    }

    /// What this has become, once, if it is no HTTP any more.
    #[inline]
    pub(super) fn upgraded(&mut self, socket: Token) -> Option<Protocol> {
        let successor = self.talk.out.upgrade()?;
        let mut out = std::mem::take(&mut self.talk.out);
        out.upgraded();
        let received = std::mem::take(&mut self.held);
        // A message may be as long as a body.
        let message_bytes = self.machine.limits().body_bytes;
        Some(match successor {
            Successor::WebSocket(dialogue) => {
                let websocket = WebSocket::new(dialogue, message_bytes, out, received);
                Protocol::WebSocket(Box::new(websocket))
            }
            Successor::Hosted(asked) => {
                let websocket = WebSocket::new(Dialogue::Service, message_bytes, out, received);
                Protocol::Hosted(Box::new(Hosted::new(asked.ticket(socket), websocket)))
            }
            Successor::Raw(asked) => {
                let ticket = asked.ticket(socket);
                Protocol::Raw(Box::new(Raw::new(ticket, out, received)))
            }
        })
    }

    /// The client will send no more. What it asked for is still answered.
    pub(super) fn peer_ended(&mut self, socket: Token, agenda: &mut Agenda) {
        self.talk.peer_ended = true;
        self.settle(socket, agenda);
        for asked in self.talk.out.open() {
            agenda.peer_ended(asked.ticket(socket));
        }
    }

    #[inline]
    fn settle(&mut self, socket: Token, agenda: &mut Agenda) {
        if self.talk.peer_ended && self.held.is_empty() {
            if let Some(streamed) = self.talk.take_streamed() {
                self.talk.give_up(streamed.asked, socket, agenda);
            }
            self.talk.ending.get_or_insert(Ending::Graceful);
        }
    }

    /// The server stops: the connection ends as soon as nothing is under way.
    pub(super) fn drain(&mut self) {
        if self.machine.between_requests() && self.held.is_empty() {
            self.talk.ending.get_or_insert(Ending::Graceful);
        }
    }

    /// Bytes of a head came that are withheld.
    pub(super) fn head_began(&mut self, now: Time) {
        if self.head_since == Time::NEVER {
            self.head_since = now;
        }
    }

    /// The request under way came too slowly.
    pub(super) fn time_out(&mut self, socket: Token, shared: &mut Shared) {
        self.head_since = Time::NEVER;
        let text = "the request took too long to arrive\n";
        self.talk.refuse(408, text.into(), socket, shared);
    }

    /// The answer to a request that had to wait. Nothing happens if it is not waited for.
    pub(super) fn complete(&mut self, ticket: Ticket, response: &Response, shared: &mut Shared) {
        self.talk.complete(ticket, response, shared);
    }

    /// A piece of the answer to a request.
    pub(super) fn send(&mut self, ticket: Ticket, piece: &[u8], agenda: &mut Agenda) {
        self.talk.out.send(ticket.number, piece);
        self.talk.tell_room(ticket.socket, agenda);
    }

    /// The answer in pieces to a request is complete.
    pub(super) fn finish(&mut self, ticket: Ticket, trailers: &[Field], shared: &mut Shared) {
        let talk = &mut self.talk;
        match talk.out.finish(ticket.number, trailers) {
            Finished::Unknown => return,
            Finished::Whole if talk.last => talk.end_here(),
            Finished::Whole => {}
            Finished::Last => talk.cut_at(ticket, &mut shared.agenda),
        }
        talk.answered(ticket.number, shared.now);
        talk.tell_room(ticket.socket, &mut shared.agenda);
    }

    /// A request is given up by its service.
    pub(super) fn abort(&mut self, ticket: Ticket, shared: &mut Shared) {
        self.talk.cut_at(ticket, &mut shared.agenda);
        self.talk.answered(ticket.number, shared.now);
    }

    /// The body of a request is to wait, or to go on.
    pub(super) fn pause(&mut self, number: u32, paused: bool, now: Time) {
        let Some(body) = &mut self.talk.body else {
            return;
        };
        let Some(streamed) = body
            .streamed
            .as_mut()
            .filter(|one| one.asked.number == number)
        else {
            return;
        };
        if streamed.paused == paused {
            return;
        }
        streamed.paused = paused;
        body.arrival = match paused {
            true => Arrival::NONE,
            false => Arrival::begin(now),
        };
        // Behind an answer that has begun it would be a part of that.
        if !paused && streamed.expected && self.talk.out.awaited(number).is_some() {
            streamed.expected = false;
            self.talk.invite(number);
        }
    }

    /// Takes the next thing to do off its output.
    #[inline]
    pub(super) fn step(&mut self, socket: Token, agenda: &mut Agenda) -> Step {
        let step = self.talk.out.step();
        self.talk.tell_room(socket, agenda);
        step
    }

    /// The connection is gone: what its services have not finished is told.
    pub(super) fn abandon(&mut self, socket: Token, agenda: &mut Agenda) {
        let streamed = self.talk.take_streamed().map(|streamed| streamed.asked);
        let open = self
            .talk
            .out
            .open()
            .filter(|asked| Some(*asked) != streamed);
        for asked in open.chain(streamed) {
            agenda.closed(asked.ticket(socket));
        }
    }

    /// How the connection is to be closed, if it is time.
    #[inline]
    pub(super) fn finished(&self, shared: &Shared) -> Option<Ending> {
        let Talk {
            ref out,
            peer_ended,
            ending,
            ..
        } = self.talk;
        let in_vain = (peer_ended || shared.draining) && out.waits_for_ever();
        match ending {
            Some(_) if !out.is_empty() && !in_vain => None,
            Some(Ending::Lingering) if peer_ended => Some(Ending::Graceful),
            ending => ending,
        }
    }

    /// Whether reading should go on: it stops while output has piled up.
    #[inline]
    pub(super) fn reads(&self) -> bool {
        (self.held.is_empty() || self.hears_on()) && !self.talk.is_blocked()
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

    /// What it is doing.
    pub(super) fn phase(&self, timeouts: &Timeouts) -> Phase {
        let streams = self.talk.streams();
        if self.talk.out.waits() && !streams {
            Phase::Waiting
        } else if self.head_since != Time::NEVER {
            Phase::Head(self.head_since)
        } else if self.talk.is_paused() {
            Phase::Waiting
        } else if self.talk.ending.is_none() && !self.machine.between_requests() {
            Phase::Body(self.talk.arrival().until(timeouts))
        } else {
            Phase::Idle
        }
    }

    /// Since when the limit of a body is to be minded; [`Time::NEVER`] if none is coming.
    #[inline]
    pub(super) fn body_since(&self) -> Time {
        self.talk.arrival().since
    }

    /// Its time limits were looked at.
    pub(super) fn looked(&mut self, now: Time) {
        if let Some(body) = &mut self.talk.body {
            body.arrival.looked(now);
        }
    }

    /// Bytes of memory that the client makes it hold.
    #[inline]
    pub(super) fn memory(&self) -> usize {
        let body = self.talk.body.as_ref().map_or(0, |body| body.memory());
        body + self.held.capacity() + self.talk.out.bytes()
    }

    /// Gives up the request whose body is coming. False if there is none.
    pub(super) fn relieve(&mut self, socket: Token, shared: &mut Shared) -> bool {
        if self.talk.body.is_none() || self.talk.out.waits() && !self.talk.streams() {
            return false;
        }
        self.held = Vec::new();
        self.talk.refuse(503, TOO_MUCH.into(), socket, shared);
        true
    }

    /// Since when a head is unfinished; [`Time::NEVER`] if none is.
    #[inline]
    pub(super) fn head_since(&self) -> Time {
        self.head_since
    }
}

impl Talk {
    /// The body that is coming, if one is.
    #[inline]
    fn arrival(&self) -> Arrival {
        self.body
            .as_ref()
            .map_or(Arrival::NONE, |body| body.arrival)
    }

    /// Whether nothing is read: output has piled up, or a service wants no more of a body.
    #[inline]
    fn is_blocked(&self) -> bool {
        self.out.is_heavy() || self.is_paused()
    }

    #[inline]
    fn is_paused(&self) -> bool {
        self.streamed().is_some_and(|streamed| streamed.paused)
    }

    /// Whether a body is coming that a service is told of.
    fn streams(&self) -> bool {
        self.streamed().is_some_and(|streamed| !streamed.paused)
    }

    /// The body that is coming and that a service is told of.
    #[inline]
    fn streamed(&self) -> Option<Streamed> {
        self.body.as_ref()?.streamed
    }

    /// The body that a service is told of; it isn't from here on.
    fn take_streamed(&mut self) -> Option<Streamed> {
        self.body.as_mut()?.streamed.take()
    }

    /// A request is answered whole: what is left of its body is read and thrown away.
    fn answered(&mut self, number: u32, now: Time) {
        if let Some(body) = &mut self.body
            && let Some(streamed) = body.streamed.take_if(|one| one.asked.number == number)
            && streamed.paused
        {
            body.arrival = Arrival::begin(now);
        }
    }

    /// Says to the service whose turn it is that there is room for more.
    #[inline]
    fn tell_room(&mut self, socket: Token, agenda: &mut Agenda) {
        if let Some(asked) = self.out.take_room() {
            agenda.writable(asked.ticket(socket));
        }
    }

    /// The connection ends behind what is said. If the client is still sending, it's heard out.
    fn end_here(&mut self) {
        let ending = match self.body {
            Some(_) => Ending::Lingering,
            None => Ending::Graceful,
        };
        self.ending.get_or_insert(ending);
    }

    /// Says no more of the answer to a request, nor anything behind it.
    fn cut_at(&mut self, ticket: Ticket, agenda: &mut Agenda) {
        let tell = |asked: Asked| agenda.closed(asked.ticket(ticket.socket));
        if self.out.cut_at(ticket.number, tell) {
            self.end_here();
        }
    }

    /// A request cannot be completed any more.
    fn give_up(&mut self, asked: Asked, socket: Token, agenda: &mut Agenda) {
        let ticket = asked.ticket(socket);
        self.cut_at(ticket, agenda);
        agenda.closed(ticket);
    }

    /// Whether a client still waits to be told that it may send the body of its request.
    fn is_uninvited(&self, number: u32) -> bool {
        let of_it = |streamed: Streamed| streamed.asked.number == number && streamed.expected;
        self.streamed().is_some_and(of_it)
    }

    /// Tells the client to send its body, before the answer to request `number`, which is the last.
    fn invite(&mut self, number: u32) {
        if let Some((asked, form, true)) = self.out.awaited(number) {
            self.out.fill(number, |out| {
                out.extend_from_slice(response::CONTINUE);
                Then::Answer { asked, form }
            });
        }
    }

    #[inline]
    fn request<S: Service>(
        &mut self,
        request: &server::Request<'_>,
        socket: Token,
        serving: &mut Serving<S>,
    ) {
        serving.counts.requests += 1;
        if request.body != BodyLength::Known(0) {
            return self.begin(request, socket, serving);
        }
        match serving.kept.answer(request.head) {
            Some(answer) => {
                self.out.append(|out| out.extend_from_slice(answer));
                serving.answered.at_once += 1;
            }
            None => self.answer_bodiless(request, socket, serving),
        }
    }

    fn answer_bodiless<S: Service>(
        &mut self,
        request: &server::Request<'_>,
        socket: Token,
        serving: &mut Serving<S>,
    ) {
        let form = form(request, serving);
        self.number = self.number.wrapping_add(1);
        let (reply, tag) = serving.call(&Request::of_http1(request), socket, self.number);
        let number = self.number;
        let ticket = Ticket::new(socket, number, tag);
        match reply {
            Reply::Always(response) => {
                self.say(&response, form, Some(request.head), ticket, serving);
            }
            Reply::Upgrade(dialogue) => self.upgrade(dialogue, (request, ticket), form, serving),
            Reply::Takeover => self.take_over(ticket, form, serving),
            reply => self.reply(reply, form, ticket, serving),
        }
        if self.out.waits_anywhere() {
            self.alone = !order::is_safe(request.method);
        }
    }

    /// Hands the connection to the service.
    fn take_over(&mut self, ticket: Ticket, form: Form, shared: &mut Shared) {
        if !self.out.waits_anywhere() {
            let asked = Asked::of(ticket);
            return self.out.then(Then::Upgrade(Successor::Raw(asked)));
        }
        let text = "an upgrade can't be pipelined behind unanswered requests\n";
        self.say(&Response::sentence(400, text), form, None, ticket, shared);
        shared.agenda.closed(ticket);
    }

    /// Grants an upgrade or refuses it (RFC 6455 §4.2).
    fn upgrade(
        &mut self,
        dialogue: Dialogue,
        (request, ticket): (&server::Request<'_>, Ticket),
        form: Form,
        shared: &mut Shared,
    ) {
        let refusal = match upgrade::accept(request) {
            Ok(_) if shared.draining => (503, "the server is shutting down\n".to_owned()),
            // Its answer could only wait behind the others, and no frame may come before it.
            Ok(_) if self.out.waits_anywhere() => (
                400,
                "a WebSocket upgrade can't be pipelined behind unanswered requests\n".to_owned(),
            ),
            Ok(acceptance) => {
                self.out.append(|out| acceptance.encode(out));
                return self.out.then(Then::Upgrade(match dialogue {
                    Dialogue::Service => Successor::Hosted(Asked::of(ticket)),
                    dialogue => Successor::WebSocket(dialogue),
                }));
            }
            Err(rejection) => (rejection.status, format!("{}\n", rejection.violation)),
        };
        let (status, text) = refusal;
        let mut response = Response::sentence(status, text);
        if status == 426 {
            let offer = upgrade::OFFER.map(|(name, value)| (name.into(), value.into()));
            response.fields.extend(offer);
        }
        self.say(&response, form, None, ticket, shared);
        if dialogue == Dialogue::Service {
            shared.agenda.closed(ticket);
        }
    }

    fn begin<S: Service>(
        &mut self,
        request: &server::Request<'_>,
        socket: Token,
        serving: &mut Serving<S>,
    ) {
        let form = form(request, serving);
        self.alone = !order::is_safe(request.method);
        let head = Request::of_http1(request);
        let mut incoming = serving.incoming();
        match serving.intake(&head) {
            Intake::Refuse(response) if request.expect_continue => {
                // The client asked whether to send the body. It may do so in spite of the answer,
                // so this connection cannot be read any further (RFC 9110 §10.1.1).
                let last = Form {
                    keep_alive: false,
                    ..form
                };
                let ticket = Ticket::new(socket, self.number, 0);
                self.say(&response, last, None, ticket, serving);
                self.ending = Some(Ending::Lingering);
                return serving.recycle(incoming);
            }
            Intake::Stream => {
                return self.begin_streamed(request, (incoming, form), socket, serving);
            }
            Intake::Refuse(response) => incoming.refuse(response),
            Intake::Whole => incoming.begin(&head, true),
            // An answer could only wait for the end of the body, too.
            Intake::Discard | Intake::Ahead => incoming.begin(&head, false),
        }
        incoming.form = Some(form);
        if request.expect_continue {
            self.out
                .append(|out| out.extend_from_slice(response::CONTINUE));
        }
        incoming.arrival = Arrival::begin(serving.now);
        self.body = Some(incoming);
    }

    /// A request begins whose service is told of the body as it comes.
    fn begin_streamed<S: Service>(
        &mut self,
        request: &server::Request<'_>,
        (mut incoming, form): (Box<Incoming>, Form),
        socket: Token,
        serving: &mut Serving<S>,
    ) {
        self.number = self.number.wrapping_add(1);
        let number = self.number;
        incoming.arrival = Arrival::begin(serving.now);
        let head = Request::of_http1(request);
        let (reply, tag) = serving.call(&head, socket, number);
        let ticket = Ticket::new(socket, number, tag);
        let goes_on = match &reply {
            Reply::Later => true,
            Reply::Now(response) => response.body.is_in_pieces() && !form.head_only,
            _ => false,
        };
        let mut expected = request.expect_continue;
        if goes_on {
            let waits = expected && serving.agenda.has_paused(ticket);
            if expected && !waits {
                self.out
                    .append(|out| out.extend_from_slice(response::CONTINUE));
            }
            expected &= waits;
            incoming.streamed = Some(Streamed {
                asked: Asked::of(ticket),
                paused: false,
                expected,
            });
        }
        self.body = Some(incoming);
        // Who isn't told to send a body may send it all the same, or not: nobody can tell where the
        // next request begins (RFC 9110 §10.1.1).
        let keep_alive = form.keep_alive && (!expected || matches!(reply, Reply::Later));
        self.reply(reply, Form { keep_alive, ..form }, ticket, serving);
    }

    fn body<S: Service>(&mut self, bytes: &[u8], socket: Token, serving: &mut Serving<S>) {
        let Some(incoming) = &mut self.body else {
            return;
        };
        incoming.arrival.bytes += bytes.len() as u64;
        match incoming.streamed {
            Some(Streamed { asked, .. }) => {
                serving.tell(asked.ticket(socket), service::Event::Data(bytes));
            }
            None => incoming.take(bytes),
        }
    }

    /// A request is complete. Without a body it has been answered already.
    #[inline]
    fn end<S: Service>(&mut self, socket: Token, serving: &mut Serving<S>) {
        if let Some(incoming) = self.body.take() {
            self.end_body(incoming, socket, serving);
        }
    }

    fn end_body<S: Service>(
        &mut self,
        mut incoming: Box<Incoming>,
        socket: Token,
        serving: &mut Serving<S>,
    ) {
        if let Some(streamed) = incoming.streamed {
            serving.tell(streamed.asked.ticket(socket), service::Event::End);
            if self.last {
                self.ending.get_or_insert(Ending::Graceful);
            }
        } else if let Some(form) = incoming.form {
            let keep_alive = form.keep_alive && !serving.is_ending();
            let form = Form { keep_alive, ..form };
            self.number = self.number.wrapping_add(1);
            let (reply, tag) = serving.answer(&mut incoming, socket, self.number);
            let ticket = Ticket::new(socket, self.number, tag);
            self.reply(reply, form, ticket, serving);
        }
        serving.recycle(incoming);
    }

    fn reply(&mut self, reply: Reply, form: Form, ticket: Ticket, shared: &mut Shared) {
        let ending = match reply {
            Reply::Now(response) | Reply::Always(response) => {
                return self.say(&response, form, None, ticket, shared);
            }
            Reply::Later => {
                let asked = Asked::of(ticket);
                self.out.then(Then::Answer { asked, form });
                (!form.keep_alive && self.body.is_none()).then_some(Ending::Graceful)
            }
            Reply::Upgrade(_) | Reply::Takeover => {
                if matches!(reply, Reply::Upgrade(Dialogue::Service) | Reply::Takeover) {
                    shared.agenda.closed(ticket);
                }
                let response = Response::sentence(400, "an upgrade can't have a body\n");
                return self.say(&response, form, None, ticket, shared);
            }
            Reply::Fault(fault) => return self.misbehave(fault, form, ticket, shared),
        };
        self.ending = self.ending.or(ending);
    }

    /// Appends the answer to a request. With the head it answers, it is kept for every request with
    /// this head.
    fn say(
        &mut self,
        response: &Response,
        form: Form,
        always: Option<&[u8]>,
        ticket: Ticket,
        shared: &mut Shared,
    ) {
        let site = &mut **shared;
        let (date, kept) = (&site.date, &mut site.kept);
        let form = form.fitting(response);
        let rest = self.out.append(|out| {
            let start = out.len();
            let rest = answer::encode(out, response, form, date);
            if let (Some(head), Rest::Nothing, true) = (always, rest, form.keep_alive) {
                kept.keep(head, &out[start..], date);
            }
            rest
        });
        if rest != Rest::Nothing {
            self.out.then(Then::of(rest, Asked::of(ticket)));
        }
        self.said(response, rest, ticket, form, &mut site.agenda);
    }

    /// An answer is in its place, as far as it's bytes.
    fn said(
        &mut self,
        response: &Response,
        rest: Rest,
        ticket: Ticket,
        form: Form,
        agenda: &mut Agenda,
    ) {
        if matches!(rest, Rest::Pieces(_)) {
            self.tell_room(ticket.socket, agenda);
        } else if response.body.is_in_pieces() {
            agenda.closed(ticket); // Nobody takes them.
        }
        if form.keep_alive {
            return;
        }
        // Its service may want to hear the rest of the request.
        self.last = matches!(rest, Rest::Pieces(_)) && self.body.is_some();
        if !self.last {
            self.end_here();
        }
    }

    fn complete(&mut self, ticket: Ticket, response: &Response, shared: &mut Shared) {
        let Some((asked, form, last)) = self.out.awaited(ticket.number) else {
            return;
        };
        let ticket = asked.ticket(ticket.socket);
        let ends = last && (self.ending.is_some() || shared.is_ending());
        let keep_alive = form.keep_alive && !ends && !self.is_uninvited(ticket.number);
        self.complete_as(response, ticket, Form { keep_alive, ..form }, shared);
    }

    /// Puts the answer to a request in its place, in this form.
    fn complete_as(
        &mut self,
        response: &Response,
        ticket: Ticket,
        form: Form,
        shared: &mut Shared,
    ) {
        let number = ticket.number;
        let form = form.fitting(response);
        let agenda = &mut shared.site.agenda;
        if !form.keep_alive {
            self.out.cut_behind(number, |asked| {
                agenda.closed(asked.ticket(ticket.socket));
            });
        }
        let mut rest = Rest::Nothing;
        let date = &shared.site.date;
        self.out.fill(number, |out| {
            rest = answer::encode(out, response, form, date);
            Then::of(rest, Asked::of(ticket))
        });
        if !matches!(rest, Rest::Pieces(_)) {
            self.answered(number, shared.site.now);
        }
        self.said(response, rest, ticket, form, &mut shared.site.agenda);
    }
}

fn form(request: &server::Request<'_>, shared: &Shared) -> Form {
    Form {
        version: request.version,
        head_only: request.method == b"HEAD",
        keep_alive: request.keep_alive && !shared.is_ending(),
    }
}
