//! HTTP/2 on one connection (RFC 9113): requests in, answers out, each on its stream.
//!
//! A request without a body whose answer is kept is answered where it is read, and nothing of it
//! stays. Everything else is a stream in [`Streams`] until its answer is complete. Long bodies take
//! turns, a piece for each stream, whenever the output has been sent. So all answers of a turn
//! leave in one send, and no answer waits long behind another.
//!
//! Reading stops when output has piled up that the client does not take from the socket. What it
//! does not take for want of credit stays in its stream, and how much that may be in all streams
//! together is bounded: credit itself has to be read, so that reading must go on.

mod answering;
mod calls;
mod faults;
mod kept;
mod press;
mod streams;
mod talk;

use std::time::Duration;

use engine::Token;
use measure::time::Time;
use proto::grpc::Status;
use proto::http1::server::Limits;
use proto::http2::server::Server;
use proto::http2::{self, Config, ErrorCode};

use super::{Ending, Phase, Step, TOO_MUCH};
use crate::{Serving, Shared};
use answering::{Pieces, Progress, Source};
pub(crate) use calls::Rpcs;
use exchange::response::{Field, Response};
pub(crate) use kept::Kept;
use service::Timeouts;
use service::{Agenda, Dialogue, Reply, Service};
use streams::{State, Stream, Upload};
use talk::{Next, Talk};

/// Output above this stops reading: the client has to take answers before it may ask for more.
const BYTES_HIGH: usize = 256 * 1024;

/// Long bodies fill the output up to here before it is sent.
const FILL_BYTES: usize = 128 * 1024;

/// Requests that are under way at the same time.
const STREAMS_MAX: u32 = 256;

/// Bytes that dribble are at least so far apart.
const DRIBBLE_MIN: Duration = Duration::from_micros(1);

/// One connection as far as HTTP/2 goes.
#[derive(Debug)]
pub(super) struct Http2 {
    machine: Server,
    out: Vec<u8>,
    talk: Talk,
    /// Received and not read yet, because output had piled up.
    held: Vec<u8>,
    /// Since when a head is unfinished.
    head_since: Time,
    ending: Option<Ending>,
    /// The client sends no more.
    peer_ended: bool,
    /// GOAWAY is said: the connection ends with its last stream.
    going_away: bool,
    /// When the client was told that the connection will end, and to begin nothing more on it;
    /// [`Time::NEVER`] if it wasn't.
    announced_at: Time,
}

impl Http2 {
    pub(super) fn new(socket: Token, limits: &Limits, mut out: Vec<u8>) -> Http2 {
        let config = Config {
            streams: STREAMS_MAX,
            limits: http2::Limits {
                header_list_bytes: limits.head_bytes,
                ..http2::Limits::default()
            },
            ..Config::default()
        };
        Http2 {
            machine: Server::new(config, &mut out),
            out,
            talk: Talk::new(socket),
            held: Vec::new(),
            head_since: Time::NEVER,
            ending: None,
            peer_ended: false,
            going_away: false,
            announced_at: Time::NEVER,
        }
    }

    /// Bytes came.
    #[inline]
    pub(super) fn receive<S: Service>(&mut self, input: &[u8], serving: &mut Serving<S>) {
        if self.held.is_empty() || self.ending.is_some() {
            self.read(input, serving);
        } else {
            self.held.extend_from_slice(input);
        }
    }

    /// Reads on what was held, if there is room for answers. Reports whether anything was read.
    pub(super) fn resume<S: Service>(&mut self, serving: &mut Serving<S>) -> bool {
        if self.held.is_empty() || self.is_heavy() {
            return false;
        }
        let held = std::mem::take(&mut self.held);
        self.read(&held, serving);
        true
    }

    fn read<S: Service>(&mut self, mut input: &[u8], serving: &mut Serving<S>) {
        while self.ending.is_none() {
            if self.is_heavy() && !input.is_empty() {
                self.held.extend_from_slice(input);
                return;
            }
            let next = match self.machine.next(&mut input, &mut self.out) {
                Ok(Some(event)) => self.talk.happened(event, serving),
                Ok(None) => break,
                Err(_) => {
                    serving.counts.rejections.count(400);
                    // What else the client is sending can no longer be told.
                    self.ending = Some(Ending::Lingering);
                    break;
                }
            };
            self.act(next, serving);
        }
        serving.counts.rejections.head_too_long += self.machine.take_refused();
        if serving.retiring {
            self.announce_going(serving.now);
        }
        if self.ending.is_some() || !self.machine.head_started() {
            self.head_since = Time::NEVER;
        } else if self.head_since == Time::NEVER {
            self.head_since = serving.now;
        }
    }

    #[inline]
    fn act(&mut self, next: Next, shared: &mut Shared) {
        match next {
            Next::Nothing => {}
            Next::Kept(stream, place) => {
                let (machine, out) = (&mut self.machine, &mut self.out);
                let kept = shared.kept_http2.at(place);
                let taken = machine.answer(stream, &kept.head, &kept.body, out);
                if let Ok(at) = taken
                    && at < kept.body.len()
                {
                    let bytes = kept.body.clone();
                    let state = State::Sending(Source::Bytes { bytes, at });
                    self.talk.wait(stream, state, false, shared.now);
                }
            }
            Next::Speak(stream) => self.speak(stream, shared),
            Next::Reply {
                stream,
                reply,
                head_only,
                tag,
                invites,
            } => {
                if invites {
                    self.invite(stream);
                }
                self.reply(stream, reply, (head_only, tag), shared);
            }
            Next::Abort(stream) => {
                self.machine.reset(stream, ErrorCode::CANCEL, &mut self.out);
                self.talk.drop(stream, shared);
            }
            Next::Early {
                stream,
                response,
                head_only,
            } => {
                self.say(stream, response, (head_only, 0), shared);
                self.machine
                    .reset(stream, ErrorCode::NO_ERROR, &mut self.out);
                self.talk.drop(stream, shared);
            }
            Next::Continue(stream) => self.invite(stream),
            Next::Refuse {
                stream,
                status,
                text,
                complete,
            } => {
                let (machine, out) = (&mut self.machine, &mut self.out);
                let _ = calls::refuse(stream, (status, text), complete, machine, out);
            }
        }
    }

    /// Has a call say what it has to say.
    fn speak(&mut self, id: u32, shared: &mut Shared) {
        let Some(stream) = self.talk.streams.find(id) else {
            return;
        };
        let State::Calling(rpc) = &mut stream.state else {
            return;
        };
        let (machine, out) = (&mut self.machine, &mut self.out);
        let before = rpc.taken();
        match rpc.speak(id, shared.now, &mut shared.rpcs, machine, out) {
            Ok(calls::Progress::Waiting) => {
                if rpc.taken() != before {
                    stream.since = shared.now;
                }
                self.talk.due = self.talk.due.min(rpc.due());
                if self.talk.is_full(id, shared) {
                    self.machine
                        .reset(id, ErrorCode::ENHANCE_YOUR_CALM, &mut self.out);
                    self.talk.drop(id, shared);
                }
            }
            Ok(calls::Progress::More) => self.talk.list(id),
            Ok(calls::Progress::Done) => {
                shared.site.answered.add(rpc.since(), shared.site.now);
                self.talk.drop(id, shared);
            }
            Err(_) => self.talk.drop(id, shared),
        }
    }

    /// Tells the client to send its body (RFC 9110 §15.2.1).
    fn invite(&mut self, stream: u32) {
        let none: [(&str, &str); 0] = [];
        let _ = self
            .machine
            .respond(stream, 100, &none, false, &mut self.out);
    }

    /// Does as a service replied that calls the request `tag`.
    fn reply(
        &mut self,
        stream: u32,
        reply: Reply,
        (head_only, tag): (bool, u32),
        shared: &mut Shared,
    ) {
        match reply {
            Reply::Now(response) | Reply::Always(response) => {
                self.say(stream, response, (head_only, tag), shared);
            }
            Reply::Later => {
                self.talk
                    .wait(stream, State::Waiting, head_only, shared.now);
                if let Some(stream) = self.talk.streams.find(stream) {
                    stream.tag = tag;
                }
            }
            Reply::Upgrade(_) | Reply::Takeover => {
                let told = matches!(reply, Reply::Upgrade(Dialogue::Service) | Reply::Takeover);
                let text = match reply {
                    Reply::Takeover => "this server offers upgrades over HTTP/1.1 only\n",
                    _ => "this server offers WebSocket over HTTP/1.1 only\n",
                };
                let response = Response::sentence(400, text);
                self.say(stream, response, (head_only, tag), shared);
                if told {
                    let ticket = self.talk.ticket(stream, tag);
                    shared.agenda.closed(ticket);
                }
            }
            Reply::Fault(fault) => self.misbehave(stream, fault, head_only, shared),
        }
    }

    /// Answers a request that its service calls `tag`.
    fn say(
        &mut self,
        id: u32,
        response: Response,
        (head_only, tag): (bool, u32),
        shared: &mut Shared,
    ) {
        let before = self.talk.streams.remove(id);
        let upload = before.map_or(Upload::None, |stream| stream.upload);
        let (machine, out) = (&mut self.machine, &mut self.out);
        let end = !answering::has_body(&response, head_only);
        let in_pieces = response.body.is_in_pieces();
        let begun = answering::head(id, &response, end, &shared.date, machine, out);
        if begun.is_err() || end {
            if in_pieces {
                shared.agenda.closed(self.talk.ticket(id, tag)); // Nobody takes them.
            }
            return self.cease(id, upload);
        }
        let state = match in_pieces {
            true => State::Piecing(Box::new(Pieces::of(&response.body))),
            false => {
                let mut source = Source::of(response.body);
                match source.send(id, machine, out) {
                    Ok(Progress::Done) | Err(_) => return self.cease(id, upload),
                    Ok(Progress::More) => self.talk.turns.push_back(id),
                    Ok(Progress::Blocked) => {}
                }
                State::Sending(source)
            }
        };
        let mut stream = Stream::new(state, head_only, shared.now);
        stream.listed = self.talk.turns.back() == Some(&id);
        stream.tag = tag;
        stream.set_upload(upload, shared.now);
        self.talk.body_since = self.talk.body_since.min(stream.arrival.since);
        self.talk.streams.insert(id, stream);
        if in_pieces {
            self.tell_room(id, shared);
        } else if self.talk.is_full(id, shared) {
            self.machine
                .reset(id, ErrorCode::ENHANCE_YOUR_CALM, &mut self.out);
            self.talk.streams.remove(id);
        }
    }

    /// A request is answered whole. If its body is still coming, nobody wants it (RFC 9113 §8.1).
    fn cease(&mut self, id: u32, upload: Upload) {
        if upload != Upload::None {
            self.machine.reset(id, ErrorCode::NO_ERROR, &mut self.out);
        }
    }

    /// Says to a service that there is room for more of its answer, if that is news.
    fn tell_room(&mut self, id: u32, shared: &mut Shared) {
        if let Some(stream) = self.talk.streams.find(id)
            && let State::Piecing(pieces) = &mut stream.state
            && pieces.take_room()
        {
            let tag = stream.tag;
            shared.agenda.writable(self.talk.ticket(id, tag));
        }
    }

    /// Whether the service has not said everything about a request.
    pub(super) fn is_open(&mut self, id: u32) -> bool {
        let stream = self.talk.streams.find(id);
        stream.is_some_and(|stream| stream.is_open())
    }

    /// Whether the answer to a request is in pieces, and has not ended.
    pub(super) fn is_in_pieces(&mut self, id: u32) -> bool {
        let stream = self.talk.streams.find(id);
        stream.is_some_and(|stream| stream.is_open() && matches!(stream.state, State::Piecing(_)))
    }

    /// A piece of the answer to a request.
    pub(super) fn send(&mut self, id: u32, piece: &[u8], shared: &mut Shared) {
        if let Some(stream) = self.talk.streams.find(id)
            && let State::Piecing(pieces) = &mut stream.state
        {
            pieces.push(piece);
            self.talk.list(id);
            self.tell_room(id, shared);
        }
    }

    /// The answer in pieces to a request is complete.
    pub(super) fn finish(&mut self, id: u32, trailers: &[Field], shared: &mut Shared) {
        let Some(stream) = self.talk.streams.find(id) else {
            return;
        };
        let State::Piecing(pieces) = &mut stream.state else {
            return;
        };
        stream.since = shared.now;
        if pieces.finish(trailers.to_vec()) {
            self.talk.list(id);
        } else {
            self.abort(id);
        }
    }

    /// A request is given up by its service.
    pub(super) fn abort(&mut self, id: u32) {
        if self
            .talk
            .streams
            .find(id)
            .is_some_and(|stream| stream.is_open())
        {
            self.talk.streams.remove(id);
            self.machine
                .reset(id, ErrorCode::INTERNAL_ERROR, &mut self.out);
        }
    }

    /// The body of a request is to wait, or to go on.
    pub(super) fn pause(&mut self, id: u32, paused: bool, now: Time) {
        let Some(stream) = self.talk.streams.find(id) else {
            return;
        };
        match (stream.upload, paused) {
            (Upload::Coming, true) => {
                stream.set_upload(Upload::Paused { expected: false }, now);
                self.machine.pause(id);
            }
            (Upload::Paused { expected }, false) => {
                stream.set_upload(Upload::Coming, now);
                stream.since = now;
                let invites = expected && matches!(stream.state, State::Waiting);
                self.talk.body_since = self.talk.body_since.min(now);
                if invites {
                    self.invite(id);
                }
                self.machine.resume(id, &mut self.out);
            }
            _ => {}
        }
    }

    /// The connection is gone: what its services have not finished is told.
    pub(super) fn abandon(&mut self, agenda: &mut Agenda) {
        self.talk.open().for_each(|ticket| agenda.closed(ticket));
    }

    fn go_away(&mut self, code: ErrorCode) {
        self.going_away = true;
        self.machine.go_away(code, &mut self.out);
    }

    /// Says that it will go, and goes on. A client that hasn't asked for anything yet is told with
    /// its first answer: it opened the connection for a request, and who is told to begin none
    /// (RFC 9113 §6.8) before it could has connected in vain.
    pub(super) fn announce_going(&mut self, now: Time) {
        let told = self.going_away || self.announced_at != Time::NEVER;
        if !told && self.machine.has_begun() {
            self.machine.announce_going(&mut self.out);
            self.announced_at = now;
        }
    }

    /// When it has said so, if it has.
    pub(super) fn announced_at(&self) -> Option<Time> {
        Some(self.announced_at).filter(|at| *at != Time::NEVER)
    }

    /// The client will send no more. What it asked for is still answered.
    pub(super) fn peer_ended(&mut self, agenda: &mut Agenda) {
        self.peer_ended = true;
        self.talk
            .open()
            .for_each(|ticket| agenda.peer_ended(ticket));
    }

    /// The server stops: the connection ends with the last of its streams.
    pub(super) fn drain(&mut self, shared: &mut Shared) {
        if self.ending.is_some() {
            return;
        }
        if !self.going_away {
            self.go_away(ErrorCode::NO_ERROR);
        }
        let endless = |stream: &Stream| match &stream.state {
            State::Calling(rpc) => rpc.waits_for_ever(),
            _ => false,
        };
        while let Some(id) = self.talk.streams.any(endless) {
            if let Some(State::Calling(rpc)) = self.talk.streams.find(id).map(|s| &mut s.state) {
                rpc.fail(Status::Unavailable, "the server is shutting down");
            }
            self.speak(id, shared);
        }
    }

    /// What was under way came too slowly, or nothing came for too long.
    pub(super) fn time_out(&mut self, timeouts: &Timeouts, shared: &mut Shared) {
        match self.phase(timeouts) {
            Phase::Head(_) => {
                shared.counts.rejections.count(408);
                self.head_since = Time::NEVER;
                self.go_away(ErrorCode::ENHANCE_YOUR_CALM);
                self.ending = Some(Ending::Lingering);
            }
            Phase::Body(_) => {
                let now = shared.now;
                let late = |stream: &Stream| stream.until(timeouts).is_some_and(|at| at <= now);
                while let Some(id) = self.talk.streams.any(late) {
                    self.give_up(id, shared);
                }
            }
            Phase::Idle | Phase::Waiting | Phase::Open => {
                shared.counts.idle += 1;
                self.go_away(ErrorCode::NO_ERROR);
                self.ending = Some(Ending::Lingering);
            }
        }
    }

    /// Ends a stream for which the client has not done in time what it would have to.
    fn give_up(&mut self, id: u32, shared: &mut Shared) {
        let Some(stream) = self.talk.streams.find(id) else {
            return;
        };
        let text = "the request took too long to arrive";
        let uploading = stream.upload == Upload::Coming;
        match &mut stream.state {
            State::Waiting if uploading => {
                shared.counts.rejections.count(408);
                self.refuse(id, 408, format!("{text}\n"), shared);
            }
            State::Receiving(_) => {
                shared.counts.rejections.count(408);
                self.refuse(id, 408, format!("{text}\n"), shared);
            }
            State::Calling(rpc) if !rpc.is_untaken() => {
                shared.counts.rejections.count(408);
                rpc.fail(Status::DeadlineExceeded, text);
                self.speak(id, shared);
                self.talk.drop(id, shared);
            }
            _ => {
                shared.counts.unread += 1;
                self.machine.reset(id, ErrorCode::CANCEL, &mut self.out);
                self.talk.drop(id, shared);
            }
        }
    }

    /// Answers a request before it is complete, and takes no more of it.
    fn refuse(&mut self, id: u32, status: u16, text: String, shared: &mut Shared) {
        let head_only = self.talk.streams.find(id).is_some_and(|s| s.head_only);
        self.talk.drop(id, shared);
        self.say(id, Response::sentence(status, text), (head_only, 0), shared);
        self.machine.reset(id, ErrorCode::NO_ERROR, &mut self.out);
        self.talk.drop(id, shared);
    }

    /// Gives up every stream that takes memory. False where that is none, or what is said is not
    /// taken.
    pub(super) fn relieve(&mut self, shared: &mut Shared) -> bool {
        if self.is_heavy() || !self.held.is_empty() {
            return false;
        }
        let mut any = false;
        let holds = |stream: &Stream| stream.capacity() > 0;
        while let Some(id) = self.talk.streams.any(holds) {
            any = true;
            let Some(stream) = self.talk.streams.find(id) else {
                break;
            };
            match &mut stream.state {
                State::Receiving(_) => self.refuse(id, 503, TOO_MUCH.into(), shared),
                State::Calling(rpc) if !rpc.is_untaken() => {
                    rpc.fail(Status::ResourceExhausted, TOO_MUCH.trim_end());
                    self.speak(id, shared);
                    self.talk.drop(id, shared);
                }
                _ => {
                    let code = ErrorCode::ENHANCE_YOUR_CALM;
                    self.machine.reset(id, code, &mut self.out);
                    self.talk.drop(id, shared);
                }
            }
        }
        any
    }

    /// Its time limits were looked at.
    pub(super) fn looked(&mut self, now: Time) {
        let mut coming = false;
        for stream in self.talk.streams.iter_mut() {
            stream.arrival.looked(now);
            coming |= stream.is_coming();
        }
        self.talk.body_since = if coming { now } else { Time::NEVER };
    }

    /// Since when the limit of a body is to be minded; [`Time::NEVER`] if none is coming.
    #[inline]
    pub(super) fn body_since(&self) -> Time {
        self.talk.body_since
    }

    /// Bytes of memory that the client makes it hold.
    #[inline]
    pub(super) fn memory(&self) -> usize {
        let streams = self.talk.streams.iter();
        let streams: usize = streams.map(|(_, stream)| stream.capacity()).sum();
        streams + self.held.capacity() + self.out.len()
    }

    /// The answer to a request that had to wait. Nothing happens if it is not waited for.
    pub(super) fn complete(&mut self, stream: u32, response: Response, shared: &mut Shared) {
        if let Some(found) = self.talk.streams.find(stream)
            && matches!(found.state, State::Waiting)
        {
            let as_asked = (found.head_only, found.tag);
            self.say(stream, response, as_asked, shared);
        }
    }

    /// The time of [`Http2::due`] has come.
    pub(super) fn wake(&mut self, shared: &mut Shared) {
        self.talk.due = Time::NEVER;
        let now = shared.now;
        let due = |stream: &Stream| stream.due() <= now;
        while let Some(id) = self.talk.streams.any(due) {
            let Some(stream) = self.talk.streams.find(id) else {
                return;
            };
            match &mut stream.state {
                State::Calling(rpc) => {
                    rpc.wake(shared.now);
                    self.speak(id, shared);
                }
                State::Dribbling(dribble) => {
                    let (at, last) = (dribble.at, dribble.at + 1 == dribble.bytes.len());
                    let byte = &dribble.bytes[at..=at];
                    dribble.due = now + dribble.every.max(DRIBBLE_MIN);
                    match self.machine.data(id, byte, last, &mut self.out) {
                        Ok(1) if !last => {
                            dribble.at += 1;
                            stream.since = now;
                        }
                        Ok(0) => dribble.due = Time::NEVER,
                        Ok(_) | Err(_) => self.talk.drop(id, shared),
                    }
                }
                _ => {}
            }
        }
        let dues = self.talk.streams.iter().map(|(_, stream)| stream.due());
        self.talk.due = dues.min().unwrap_or(Time::NEVER);
    }

    /// Whether streams wait for their turn to send.
    #[inline]
    pub(super) fn has_turns(&self) -> bool {
        !self.talk.turns.is_empty()
    }

    /// When it wants to be woken.
    #[inline]
    pub(super) fn due(&self) -> Time {
        self.talk.due
    }

    /// Takes the next thing to do off.
    #[inline]
    pub(super) fn step(&mut self, shared: &mut Shared) -> Step {
        if !self.talk.turns.is_empty() && self.ending.is_none() {
            self.take_turns(shared);
        }
        if self.out.is_empty() {
            return Step::Nothing;
        }
        Step::Bytes(std::mem::take(&mut self.out))
    }

    /// Has the streams fill the output, one after the other.
    fn take_turns(&mut self, shared: &mut Shared) {
        while self.out.len() < FILL_BYTES
            && let Some(id) = self.talk.turns.pop_front()
        {
            let Some(stream) = self.talk.streams.find(id) else {
                continue;
            };
            stream.listed = false;
            match &mut stream.state {
                State::Sending(source) => {
                    let before = source.left();
                    let sent = source.send(id, &mut self.machine, &mut self.out);
                    if source.left() < before {
                        stream.since = shared.now;
                    }
                    match sent {
                        Ok(Progress::More) => self.talk.list(id),
                        Ok(Progress::Blocked) => {}
                        Ok(Progress::Done) => self.end(id),
                        Err(_) => self.talk.drop(id, shared),
                    }
                }
                State::Piecing(pieces) => {
                    let before = pieces.left();
                    let sent = pieces.send(id, &mut self.machine, &mut self.out);
                    if pieces.left() < before {
                        stream.since = shared.now;
                    }
                    match sent {
                        Ok(Progress::More) => self.talk.list(id),
                        Ok(Progress::Blocked) => {}
                        Ok(Progress::Done) => self.end(id),
                        Err(_) => self.talk.drop(id, shared),
                    }
                    self.tell_room(id, shared);
                }
                State::Calling(_) => self.speak(id, shared),
                State::Dribbling(dribble) => {
                    dribble.due = shared.now;
                    self.talk.due = shared.now;
                }
                State::Receiving(_) | State::Waiting | State::Silent => {}
            }
        }
    }

    /// All of an answer is sent.
    fn end(&mut self, id: u32) {
        let upload = self.talk.streams.remove(id).map(|stream| stream.upload);
        self.cease(id, upload.unwrap_or(Upload::None));
    }

    fn is_heavy(&self) -> bool {
        self.out.len() > BYTES_HIGH
    }

    /// Whether reading should go on: it stops while output has piled up.
    #[inline]
    pub(super) fn reads(&self) -> bool {
        self.held.is_empty() && !self.is_heavy()
    }

    /// Whether the buffer that gathers bytes has no memory yet.
    #[inline]
    pub(super) fn wants_buffer(&self) -> bool {
        self.out.capacity() == 0
    }

    /// Gives it an empty buffer with memory.
    #[inline]
    pub(super) fn give_buffer(&mut self, buffer: Vec<u8>) {
        debug_assert!(
            self.out.is_empty() && buffer.is_empty(),
            "a buffer is exchanged that has output in it"
        );
        self.out = buffer;
    }

    /// Takes the buffer back if nothing is in it.
    #[inline]
    pub(super) fn take_unused_buffer(&mut self) -> Option<Vec<u8>> {
        let unused = self.out.is_empty() && self.out.capacity() > 0;
        unused.then(|| std::mem::take(&mut self.out))
    }

    /// Since when a head is unfinished; [`Time::NEVER`] if none is.
    #[inline]
    pub(super) fn head_since(&self) -> Time {
        self.head_since
    }

    /// How the connection is to be closed, if it is time.
    #[inline]
    pub(super) fn finished(&self, shared: &Shared) -> Option<Ending> {
        if !self.out.is_empty() || !self.held.is_empty() && self.ending.is_none() {
            return None;
        }
        let over = self.going_away || self.peer_ended;
        let ending = match self.ending {
            None if over && self.nothing_is_under_way(shared) => Some(Ending::Lingering),
            ending => ending,
        };
        match ending {
            Some(Ending::Lingering) if self.peer_ended => Some(Ending::Graceful),
            ending => ending,
        }
    }

    fn nothing_is_under_way(&self, shared: &Shared) -> bool {
        let (draining, ended) = (shared.draining, self.peer_ended);
        let mut streams = self.talk.streams.iter();
        streams.all(|(_, stream)| match &stream.state {
            State::Silent => draining || ended,
            // No credit and no message comes any more.
            State::Calling(rpc) => ended && !stream.listed && !rpc.pauses(),
            _ => ended && stream.waits_for_client(),
        })
    }

    /// What it is doing.
    pub(super) fn phase(&self, timeouts: &Timeouts) -> Phase {
        let streams = &self.talk.streams;
        let untils = streams.iter().filter_map(|(_, s)| s.until(timeouts));
        if self.head_since != Time::NEVER {
            Phase::Head(self.head_since)
        } else if let Some(until) = untils.min() {
            Phase::Body(until)
        } else if streams.is_empty() {
            Phase::Idle
        } else {
            Phase::Waiting
        }
    }
}
