//! HTTP/1 on one connection: requests in, answers out in their order. Knows no sockets.
//!
//! Requests are read as they come, also while earlier answers are still waited for; [`Outgoing`]
//! keeps the order. Reading stops when output has piled up, and what was received by then is held.

use engine::Token;
use measure::time::Time;
use proto::http1::server::{self, BodyLength, Event, Limits, Rejection, Server};
use proto::http1::{self, response};
use proto::websocket::server as upgrade;

use super::incoming::Incoming;
use super::outgoing::{Outgoing, Then};
use super::websocket::WebSocket;
use super::{Arrival, Ending, Phase, TOO_MUCH};
use crate::answer::{self, Beat, Dribble, Form};
use crate::config::Timeouts;
use crate::connection::{Serving, Shared};
use crate::fault::Fault;
use crate::request::Request;
use crate::response::Response;
use crate::service::{Dialogue, Intake, Reply, Service};

/// One connection as far as HTTP/1 goes.
#[derive(Debug)]
pub(super) struct Http1 {
    machine: Server,
    talk: Talk,
    /// Received and not read yet, because output had piled up.
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
            },
            held: Vec::new(),
            head_since: Time::NEVER,
        }
    }

    /// Bytes came on `socket`.
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
        if self.held.is_empty() || self.talk.out.is_heavy() {
            return false;
        }
        let held = std::mem::take(&mut self.held);
        self.read(&held, socket, serving);
        true
    }

    fn read<S: Service>(&mut self, mut input: &[u8], socket: Token, serving: &mut Serving<S>) {
        let talk = &mut self.talk;
        while talk.ending.is_none() {
            if talk.out.is_heavy() && !input.is_empty() {
                self.held.extend_from_slice(input);
                return;
            }
            match self.machine.next(&mut input, &mut serving.memo) {
                Ok(Some(Event::Request(request))) => {
                    self.head_since = Time::NEVER;
                    talk.request(&request, socket, serving);
                }
                Ok(Some(Event::Body(bytes))) => talk.body(bytes),
                Ok(Some(Event::End)) => {
                    talk.end(socket, serving);
                    if talk.out.upgrade().is_some() {
                        return self.held.extend_from_slice(input);
                    }
                }
                Ok(None) => break,
                Err(rejection) => talk.reject(rejection, serving),
            }
        }
        if talk.ending.is_some() || !self.machine.head_started() {
            self.head_since = Time::NEVER;
        } else if self.head_since == Time::NEVER {
            self.head_since = serving.now;
        }
        self.settle();
    }

    /// The WebSocket that this has become, once.
    #[inline]
    pub(super) fn upgraded(&mut self) -> Option<Box<WebSocket>> {
        let dialogue = self.talk.out.upgrade()?;
        let mut out = std::mem::take(&mut self.talk.out);
        out.upgraded();
        let received = std::mem::take(&mut self.held);
        // A message may be as long as a body.
        let message_bytes = self.machine.limits().body_bytes;
        let websocket = WebSocket::new(dialogue, message_bytes, out, received);
        Some(Box::new(websocket))
    }

    /// The client will send no more. What it asked for is still answered.
    pub(super) fn peer_ended(&mut self) {
        self.talk.peer_ended = true;
        self.settle();
    }

    #[inline]
    fn settle(&mut self) {
        if self.talk.peer_ended && self.held.is_empty() {
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
    pub(super) fn time_out(&mut self, shared: &mut Shared) {
        self.head_since = Time::NEVER;
        let text = "the request took too long to arrive\n";
        self.talk.refuse(408, text.into(), shared);
    }

    /// The answer to a request that had to wait. Nothing happens if it is not waited for.
    pub(super) fn complete(&mut self, number: u32, response: &Response, shared: &mut Shared) {
        self.talk.complete(number, response, shared);
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

    /// What it is doing.
    pub(super) fn phase(&self, timeouts: &Timeouts) -> Phase {
        if self.talk.out.waits() {
            Phase::Waiting
        } else if self.head_since != Time::NEVER {
            Phase::Head(self.head_since)
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
    pub(super) fn relieve(&mut self, shared: &mut Shared) -> bool {
        if self.talk.body.is_none() || self.talk.out.waits() {
            return false;
        }
        self.held = Vec::new();
        self.talk.refuse(503, TOO_MUCH.into(), shared);
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

    #[inline]
    fn request<S: Service>(
        &mut self,
        request: &server::Request<'_>,
        socket: Token,
        serving: &mut Serving<S>,
    ) {
        serving.counts.requests += 1;
        if request.body != BodyLength::Known(0) {
            return self.begin(request, serving);
        }
        match serving.kept.answer(request.head) {
            Some(answer) => self.out.append(|out| out.extend_from_slice(answer)),
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
        let reply = serving.call(&Request::of_http1(request), socket, self.number);
        match reply {
            Reply::Always(response) => self.say(&response, form, Some(request.head), serving),
            Reply::Upgrade(dialogue) => self.upgrade(dialogue, request, form, serving),
            reply => self.reply(reply, form, serving),
        }
    }

    /// Grants an upgrade or refuses it (RFC 6455 §4.2).
    fn upgrade(
        &mut self,
        dialogue: Dialogue,
        request: &server::Request<'_>,
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
                return self.out.then(Then::Upgrade(dialogue));
            }
            Err(rejection) => (rejection.status, format!("{}\n", rejection.violation)),
        };
        let (status, text) = refusal;
        let mut response = Response::sentence(status, text);
        if status == 426 {
            let offer = upgrade::OFFER.map(|(name, value)| (name.into(), value.into()));
            response.fields.extend(offer);
        }
        self.say(&response, form, None, shared);
    }

    fn begin<S: Service>(&mut self, request: &server::Request<'_>, serving: &mut Serving<S>) {
        let form = form(request, serving);
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
                self.say(&response, last, None, serving);
                self.ending = Some(Ending::Lingering);
                return serving.recycle(incoming);
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

    fn body(&mut self, bytes: &[u8]) {
        if let Some(incoming) = &mut self.body {
            incoming.arrival.bytes += bytes.len() as u64;
            incoming.take(bytes);
        }
    }

    /// A request is complete. Without a body it has been answered already.
    #[inline]
    fn end<S: Service>(&mut self, socket: Token, serving: &mut Serving<S>) {
        if let Some(mut incoming) = self.body.take() {
            self.number = self.number.wrapping_add(1);
            let reply = serving.answer(&mut incoming, socket, self.number);
            if let Some(form) = incoming.form {
                self.reply(reply, form, serving);
            }
            serving.recycle(incoming);
        }
    }

    fn reply(&mut self, reply: Reply, form: Form, shared: &mut Shared) {
        let ending = match reply {
            Reply::Now(response) | Reply::Always(response) => {
                return self.say(&response, form, None, shared);
            }
            Reply::Later => {
                self.out.then(Then::Answer {
                    number: self.number,
                    form,
                });
                (!form.keep_alive).then_some(Ending::Graceful)
            }
            Reply::Upgrade(_) => {
                let text = "a WebSocket upgrade can't have a body\n";
                return self.say(&Response::sentence(400, text), form, None, shared);
            }
            Reply::Fault(fault) => return self.misbehave(fault, form, shared),
        };
        self.ending = self.ending.or(ending);
    }

    #[cold]
    fn misbehave(&mut self, fault: Fault, form: Form, shared: &mut Shared) {
        let ending = match fault {
            Fault::Never => {
                self.out.then(Then::Silence);
                Some(Ending::Graceful)
            }
            Fault::Dribble { response, every } => {
                let mut bytes = Vec::new();
                answer::encode(&mut bytes, &response, form, &shared.date);
                let dribble = Dribble {
                    bytes,
                    at: 0,
                    every,
                    beat: Beat::Due,
                };
                self.out.then(Then::Dribble(Box::new(dribble)));
                (!form.keep_alive).then_some(Ending::Graceful)
            }
            Fault::Raw(bytes) => {
                self.out.append(|out| out.extend_from_slice(&bytes));
                Some(Ending::Graceful)
            }
            Fault::Cut { response, bytes } => {
                let date = &shared.date;
                self.out.append(|out| {
                    let mut whole = Vec::new();
                    let _ = answer::encode(&mut whole, &response, form, date);
                    let unsent = match form.head_only {
                        true => 0,
                        false => response.body.len().saturating_sub(bytes) as usize,
                    };
                    out.extend_from_slice(&whole[..whole.len().saturating_sub(unsent)]);
                });
                Some(Ending::Graceful)
            }
            Fault::Reset => Some(Ending::Reset),
            Fault::Http2(_) => {
                let text = "this fault needs HTTP/2, but this connection speaks HTTP/1\n";
                return self.say(&Response::sentence(400, text), form, None, shared);
            }
        };
        self.ending = self.ending.or(ending);
    }

    /// Appends an answer. With the head it answers, it is kept for every request with this head.
    fn say(&mut self, response: &Response, form: Form, always: Option<&[u8]>, shared: &mut Shared) {
        let site = &mut **shared;
        let (date, kept) = (&site.date, &mut site.kept);
        let form = form.fitting(response);
        let rest = self.out.append(|out| {
            let start = out.len();
            let rest = answer::encode(out, response, form, date);
            if let (Some(head), None, true) = (always, rest, form.keep_alive) {
                kept.keep(head, &out[start..], date);
            }
            rest
        });
        if let Some(rest) = rest {
            self.out.then(Then::Body(rest));
        }
        if !form.keep_alive {
            self.ending.get_or_insert(Ending::Graceful);
        }
    }

    fn complete(&mut self, number: u32, response: &Response, shared: &Shared) {
        let Some((form, last)) = self.out.awaited(number) else {
            return;
        };
        let going_on = !(last && self.ending.is_some());
        let form = Form {
            keep_alive: form.keep_alive && going_on,
            ..form
        }
        .fitting(response);
        if !form.keep_alive {
            self.out.cut_behind(number);
            self.ending.get_or_insert(Ending::Graceful);
        }
        self.out.fill(number, |out| {
            answer::encode(out, response, form, &shared.date).map_or(Then::Nothing, Then::Body)
        });
    }

    fn reject(&mut self, rejection: Rejection, shared: &mut Shared) {
        if rejection.is_foreign() {
            shared.counts.rejections.count(rejection.status);
            self.body = None;
            self.ending = Some(Ending::Lingering);
            return;
        }
        self.refuse(
            rejection.status,
            format!("{}\n", rejection.violation),
            shared,
        );
    }

    fn refuse(&mut self, status: u16, text: String, shared: &mut Shared) {
        shared.counts.rejections.count(status);
        let version = http1::Version::Http11;
        let form = Form {
            version,
            head_only: false,
            keep_alive: false,
        };
        self.body = None;
        self.say(&Response::sentence(status, text), form, None, shared);
        // What else the client is sending can no longer be told.
        self.ending = Some(Ending::Lingering);
    }
}

fn form(request: &server::Request<'_>, shared: &Shared) -> Form {
    Form {
        version: request.version,
        head_only: request.method == b"HEAD",
        keep_alive: request.keep_alive && !shared.draining,
    }
}
