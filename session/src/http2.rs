//! HTTP/2 in a session: many exchanges on one connection, answered in any order. What a response
//! means to a gRPC call stands in `grpc`.

use std::sync::Arc;

use measure::counters::ErrorKind;
use proto::Violation;
use proto::grpc::Status;
use proto::http2::client::{Client, Config, Event, Limits, Request};
use proto::http2::{ErrorCode, Fields};

use super::expect::{Look, Verdict};
use super::grpc;
use super::happening::{Happening, Outcome};
use super::memory::{Memory, is_strange};
use plan::protocol::{CallKind, Http2, Protocol};
use plan::{Contact, Invalid};
use workload::visit::{Errand, Habits, Turn, Visitor};

/// What is said on every connection.
#[derive(Debug)]
pub struct Speech {
    config: Config,
    request: Request,
    /// Where each exchange is a gRPC call.
    call: Option<CallKind>,
}

impl Speech {
    /// Encodes what `plan` says.
    pub fn of(contact: &Contact, http2: &Http2) -> Result<Speech, Invalid> {
        Ok(Speech {
            config: config(http2),
            request: contact.http2()?,
            call: match &contact.protocol {
                Protocol::Grpc { call, .. } => Some(call.kind),
                _ => None,
            },
        })
    }
}

/// The protocol state of one connection.
#[derive(Debug)]
pub struct Wire {
    machine: Client,
    speech: Arc<Speech>,
    answers: Answers,
    /// How many more streams have a number (RFC 9113 §5.1.1).
    numbers: u32,
    /// The peer has said GOAWAY.
    leaving: bool,
}

/// What was read of the answer at each place.
#[derive(Debug)]
enum Answers {
    /// Its status.
    Statuses(Box<[u16]>),
    /// The answer to a call of this kind.
    Calls(CallKind, Box<[grpc::Answer]>),
    /// The answer to a call of any kind, and whether that may have many messages.
    Mixed(Box<[(bool, grpc::Answer)]>),
    /// The answer to a call, and what is told of its messages, where they are events.
    Timed(Box<[grpc::Timed]>),
    /// What was seen of it and the step of its request, where it is held against rules.
    Looks(Box<[(u16, Look)]>),
    /// The same where answers lead to other requests.
    Visits(Box<Visits>),
}

/// What is done beyond asking and being answered.
#[derive(Debug)]
struct Visits {
    visitor: Visitor,
    places: Box<[Visit]>,
    /// The fields of a request.
    block: Vec<u8>,
}

/// An exchange of this kind, and what was seen of its answer.
#[derive(Clone, Debug, Default)]
struct Visit {
    errand: Errand,
    step: u16,
    status: u16,
    look: Look,
}

/// The odd ones of 31 bits.
const NUMBERS: u32 = 1 << 30;

impl Wire {
    /// A connection on which nothing was said: the preface and the settings go to `out`.
    pub fn new(speech: &Arc<Speech>, out: &mut Vec<u8>) -> Wire {
        let places = speech.config.streams as usize;
        let answers = match speech.call {
            None => Answers::Statuses(vec![0; places].into_boxed_slice()),
            Some(CallKind::Mixed) => {
                let answers = vec![(false, grpc::Answer::new()); places];
                Answers::Mixed(answers.into_boxed_slice())
            }
            Some(kind) => {
                let answers = vec![grpc::Answer::new(); places];
                Answers::Calls(kind, answers.into_boxed_slice())
            }
        };
        Wire {
            machine: Client::new(speech.config, out),
            speech: Arc::clone(speech),
            answers,
            numbers: NUMBERS,
            leaving: false,
        }
    }

    /// Holds answers against the rules that its owner's memory has, and has these `habits`. Of
    /// calls it tells which messages came.
    pub fn look(&mut self, habits: Option<&Arc<Habits>>) {
        let places = self.speech.config.streams as usize;
        self.answers = match (habits, self.speech.call) {
            (_, Some(kind)) => Answers::Timed(vec![grpc::Timed::new(kind); places].into()),
            (None, None) => Answers::Looks(vec![(0, Look::default()); places].into_boxed_slice()),
            (Some(habits), None) => Answers::Visits(Box::new(Visits {
                visitor: Visitor::new(habits),
                places: vec![Visit::default(); places].into_boxed_slice(),
                block: Vec::new(),
            })),
        };
    }

    /// The request at `place` is one of this step.
    pub fn of_step(&mut self, place: u32, step: u16) {
        match &mut self.answers {
            Answers::Looks(looks) => looks[place as usize].0 = step,
            Answers::Visits(visits) => visits.places[place as usize].step = step,
            Answers::Statuses(_) | Answers::Calls(..) | Answers::Mixed(_) | Answers::Timed(_) => {}
        }
    }

    /// The call at `place`, which is said next, may be answered with `many` messages.
    #[inline]
    pub fn of_call(&mut self, place: u32, many: bool) {
        match &mut self.answers {
            Answers::Mixed(answers) => answers[place as usize].0 = many,
            Answers::Timed(answers) => answers[place as usize].many = many,
            _ => {}
        }
    }

    /// Whether the peer's settings are known.
    pub fn is_ready(&self) -> bool {
        self.machine.ready()
    }

    /// How many more streams may be opened.
    #[inline]
    pub fn room(&self) -> u32 {
        self.machine.capacity()
    }

    /// Whether no stream can be opened any more.
    #[inline]
    pub fn is_leaving(&self) -> bool {
        self.leaving || self.numbers == 0
    }

    /// Sends a request.
    #[inline]
    pub fn begin(&mut self, place: u32, out: &mut Vec<u8>) {
        if let Answers::Visits(_) = self.answers
            && self.visit(place, out, |errand, visitor| visitor.begin(errand))
        {
            return;
        }
        self.numbers -= 1;
        let begun = self.machine.request(&self.speech.request, place, out);
        debug_assert!(begun.is_ok(), "the owner looks for room first: {begun:?}");
    }

    /// Sends this request.
    #[inline]
    pub fn say(&mut self, request: &Request, place: u32, out: &mut Vec<u8>) {
        if let Answers::Visits(_) = self.answers
            && self.visit(place, out, |errand, _| errand.begin_with_head(request))
        {
            return;
        }
        self.numbers -= 1;
        let begun = self.machine.request(request, place, out);
        debug_assert!(begun.is_ok(), "the owner looks for room first: {begun:?}");
    }

    /// Sends this block of fields with a body; says whether it is a HEAD request.
    #[inline]
    pub fn say_block(
        &mut self,
        (block, body, is_head): (&[u8], &[u8], bool),
        place: u32,
        out: &mut Vec<u8>,
    ) {
        if let Answers::Visits(_) = self.answers
            && self.visit(place, out, |errand, _| errand.begin_with_block(block, body))
        {
            return;
        }
        self.numbers -= 1;
        let begun = self.machine.request_block(block, body, is_head, place, out);
        debug_assert!(begun.is_ok(), "the owner looks for room first: {begun:?}");
    }

    /// Notes that an exchange begins as `begin` says, and sends its request if that isn't the one
    /// that was given; false if not.
    #[inline(never)]
    fn visit(
        &mut self,
        place: u32,
        out: &mut Vec<u8>,
        begin: impl FnOnce(&mut Errand, &Visitor),
    ) -> bool {
        let Answers::Visits(visits) = &mut self.answers else {
            return false;
        };
        begin(&mut visits.places[place as usize].errand, &visits.visitor);
        if visits.visitor.adds_nothing() {
            return false;
        }
        self.send_next(place, out);
        true
    }

    /// Sends the next request of the exchange at `place`. There must be room.
    fn send_next(&mut self, place: u32, out: &mut Vec<u8>) {
        let Answers::Visits(visits) = &mut self.answers else {
            return;
        };
        let Visits {
            visitor,
            places,
            block,
        } = &mut **visits;
        block.clear();
        let (body, is_head) = visitor.write_block(&places[place as usize].errand, block);
        self.numbers -= 1;
        let begun = self.machine.request_block(block, body, is_head, place, out);
        debug_assert!(begun.is_ok(), "there is room: {begun:?}");
    }

    /// Reads what came.
    pub fn receive(
        &mut self,
        mut input: &[u8],
        memory: &mut Memory,
        out: &mut Vec<u8>,
        tell: &mut impl FnMut(Happening),
    ) -> Result<(), Violation> {
        while let Some(event) = self.machine.next(&mut input, out)? {
            match event {
                Event::Head {
                    place,
                    status,
                    fields,
                    end,
                } => {
                    self.answers.head(place, (status, end), fields, memory);
                    self.answers.tell_sign(place, memory, tell);
                    if end {
                        self.tell_answered(place, memory, out, tell);
                    }
                }
                Event::Data { place, bytes, end } => {
                    let read = self.answers.data(place, bytes, memory);
                    self.answers.tell_sign(place, memory, tell);
                    match read {
                        Ok(()) if end => self.tell_answered(place, memory, out, tell),
                        Ok(()) => {}
                        Err(violation) => {
                            if !end {
                                self.machine.cancel(place, ErrorCode::CANCEL, out);
                            }
                            tell(Happening::Broken { place, violation });
                        }
                    }
                }
                Event::Trailers { place, fields } => {
                    self.answers.trailers(place, fields);
                    self.tell_answered(place, memory, out, tell);
                }
                Event::Reset {
                    place,
                    code,
                    unprocessed,
                    violation,
                } => tell(match violation {
                    Some(&violation) => Happening::Broken { place, violation },
                    None if unprocessed && !self.answers.is_redirected(place) => {
                        Happening::Refused { place }
                    }
                    None => Happening::Reset {
                        place,
                        status: self.speech.call.map(|_| Status::of_reset(code.0)),
                    },
                }),
                Event::GoAway { code, .. } => {
                    self.leaving = true;
                    if code != ErrorCode::NO_ERROR {
                        let kind = ErrorKind::GoAway;
                        tell(Happening::Erred { kind });
                    }
                }
                Event::Ready => tell(Happening::Ready),
                Event::Pong { payload } => tell(Happening::Pong { payload }),
                Event::Informational { .. } => {}
            }
        }
        Ok(())
    }

    /// Tells that the answer at `place` is whole.
    #[inline(always)]
    fn tell_answered(
        &mut self,
        place: u32,
        memory: &mut Memory,
        out: &mut Vec<u8>,
        tell: &mut impl FnMut(Happening),
    ) {
        let happening = self.answered(place, memory, out);
        self.answers.tell_sign(place, memory, tell);
        tell(happening);
    }

    /// The answer at `place` is whole, and so is its exchange, unless it is redirected.
    #[inline(always)]
    fn answered(&mut self, place: u32, memory: &mut Memory, out: &mut Vec<u8>) -> Happening {
        let outcome = match &mut self.answers {
            Answers::Statuses(statuses) => Outcome::Status(statuses[place as usize]),
            Answers::Calls(kind, answers) => answers[place as usize].outcome(kind.answers_many()),
            Answers::Mixed(_) | Answers::Timed(_) | Answers::Looks(_) | Answers::Visits(_) => {
                return self.answered_looking(place, memory, out);
            }
        };
        Happening::Answered { place, outcome }
    }

    #[inline(never)]
    fn answered_looking(
        &mut self,
        place: u32,
        memory: &mut Memory,
        out: &mut Vec<u8>,
    ) -> Happening {
        match self.answers.answered(place, memory) {
            Happening::Followed { .. } => self.follow(place, out),
            happening => happening,
        }
    }

    /// Sends the next request of the exchange at `place`, if any can be sent.
    #[inline(never)]
    fn follow(&mut self, place: u32, out: &mut Vec<u8>) -> Happening {
        let (is_leaving, room) = (self.is_leaving(), self.room());
        let Answers::Visits(visits) = &mut self.answers else {
            return Happening::Followed { place };
        };
        if is_leaving || room == 0 {
            let kind = match is_leaving {
                true => ErrorKind::EarlyClose,
                false => ErrorKind::StreamGivenUp,
            };
            let status = visits.places[place as usize].status;
            return judged(place, (status, Some(Verdict::Astray(kind))));
        }
        self.send_next(place, out);
        Happening::Followed { place }
    }

    /// The peer sends no more.
    pub fn ended(&mut self) -> Result<(), Violation> {
        self.machine.ended()
    }

    /// Sends a PING, which says nothing about any stream (RFC 9113 §6.7).
    pub fn ping(&mut self, payload: [u8; 8], out: &mut Vec<u8>) {
        self.machine.ping(payload, out);
    }

    /// Says GOAWAY: no stream will be opened any more (RFC 9113 §6.8).
    pub fn leave(&mut self, out: &mut Vec<u8>) {
        self.machine.close(ErrorCode::NO_ERROR, out);
    }

    /// Gives the exchange at `place` up (RFC 9113 §8.7: `CANCEL`).
    pub fn cancel(&mut self, place: u32, out: &mut Vec<u8>) {
        self.machine.cancel(place, ErrorCode::CANCEL, out);
    }
}

impl Answers {
    #[inline]
    fn head(
        &mut self,
        place: u32,
        (status, end): (u16, bool),
        fields: Fields<'_>,
        memory: &mut Memory,
    ) {
        match self {
            Answers::Statuses(statuses) => statuses[place as usize] = status,
            Answers::Calls(_, answers) => answers[place as usize].head(status, fields, end),
            Answers::Mixed(answers) => answers[place as usize].1.head(status, fields, end),
            Answers::Timed(answers) => answers[place as usize].head(status, fields, end),
            Answers::Looks(looks) => head(&mut looks[place as usize], status, fields, memory),
            Answers::Visits(visits) => visits.head(place, status, fields, memory),
        }
    }

    #[inline]
    fn data(&mut self, place: u32, bytes: &[u8], memory: &mut Memory) -> Result<(), Violation> {
        match self {
            Answers::Statuses(statuses) => {
                let status = statuses[place as usize];
                if is_strange(status) {
                    memory.keep(status, bytes);
                }
                Ok(())
            }
            Answers::Calls(_, answers) => answers[place as usize].data(bytes),
            Answers::Mixed(answers) => answers[place as usize].1.data(bytes),
            Answers::Timed(answers) => answers[place as usize].data(bytes),
            Answers::Looks(looks) => {
                memory.see_body(&mut looks[place as usize].1, bytes);
                Ok(())
            }
            Answers::Visits(visits) => {
                visits.places[place as usize].body(bytes, memory);
                Ok(())
            }
        }
    }

    #[inline]
    fn trailers(&mut self, place: u32, fields: Fields<'_>) {
        match self {
            Answers::Statuses(_) | Answers::Looks(_) | Answers::Visits(_) => {}
            Answers::Calls(_, answers) => answers[place as usize].trailers(fields),
            Answers::Mixed(answers) => answers[place as usize].1.trailers(fields),
            Answers::Timed(answers) => answers[place as usize].trailers(fields),
        }
    }

    /// Tells what came of the answer at `place`, if events are looked for in it.
    #[inline]
    fn tell_sign(&mut self, place: u32, memory: &Memory, tell: &mut impl FnMut(Happening)) {
        if memory.listens() {
            self.tell_what_came(place, tell);
        }
    }

    #[inline(never)]
    fn tell_what_came(&mut self, place: u32, tell: &mut impl FnMut(Happening)) {
        let listener = match self {
            Answers::Timed(answers) => &mut answers[place as usize].listener,
            Answers::Looks(looks) => &mut looks[place as usize].1.listener,
            Answers::Visits(visits) => &mut visits.places[place as usize].look.listener,
            Answers::Statuses(_) | Answers::Calls(..) | Answers::Mixed(_) => return,
        };
        if let Some(sign) = listener.sign() {
            tell(Happening::Streamed { place, sign });
        }
    }

    /// Whether the exchange at `place` was redirected: then it can't be sent again, because the
    /// peer has done something for it.
    fn is_redirected(&self, place: u32) -> bool {
        match self {
            Answers::Visits(visits) => visits.places[place as usize].errand.is_redirected(),
            Answers::Statuses(_)
            | Answers::Calls(..)
            | Answers::Mixed(_)
            | Answers::Timed(_)
            | Answers::Looks(_) => false,
        }
    }

    /// The answer at `place` is whole. [`Happening::Followed`]: another request is to follow it.
    fn answered(&mut self, place: u32, memory: &mut Memory) -> Happening {
        let outcome = match self {
            Answers::Statuses(statuses) => Outcome::Status(statuses[place as usize]),
            Answers::Calls(kind, answers) => answers[place as usize].outcome(kind.answers_many()),
            Answers::Mixed(answers) => {
                let (many, answer) = &mut answers[place as usize];
                answer.outcome(*many)
            }
            Answers::Timed(answers) => answers[place as usize].outcome(),
            Answers::Looks(looks) => {
                let seen = memory.see_end(&mut looks[place as usize].1);
                return match memory.asks() {
                    true => Happening::Whole,
                    false => judged(place, seen),
                };
            }
            Answers::Visits(visits) => return visits.end(place, memory),
        };
        Happening::Answered { place, outcome }
    }
}

impl Visits {
    #[inline(never)]
    fn head(&mut self, place: u32, status: u16, fields: Fields<'_>, memory: &mut Memory) {
        let visit = &mut self.places[place as usize];
        visit.status = status;
        let turn = (self.visitor).head(&mut visit.errand, status, || fields.iter());
        if let Turn::Astray(kind) = turn {
            memory.keep_location(kind, fields.iter());
        }
        if turn == Turn::End {
            memory.see_head(&mut visit.look, (visit.step, status), || fields.iter());
        }
    }

    #[inline(never)]
    fn end(&mut self, place: u32, memory: &mut Memory) -> Happening {
        self.places[place as usize].end(place, memory)
    }
}

impl Visit {
    #[inline(never)]
    fn body(&mut self, bytes: &[u8], memory: &mut Memory) {
        if self.errand.turn() == Turn::End {
            memory.see_body(&mut self.look, bytes);
        }
    }

    fn end(&mut self, place: u32, memory: &mut Memory) -> Happening {
        match self.errand.turn() {
            Turn::Follow => Happening::Followed { place },
            Turn::Astray(kind) => judged(place, (self.status, Some(Verdict::Astray(kind)))),
            Turn::End => judged(place, memory.see_end(&mut self.look)),
        }
    }
}

/// An exchange was answered, and what was found of that where there are rules.
fn judged(place: u32, (status, verdict): (u16, Option<Verdict>)) -> Happening {
    match verdict {
        Some(verdict) => Happening::Judged {
            place,
            status,
            verdict,
        },
        None => Happening::Answered {
            place,
            outcome: Outcome::Status(status),
        },
    }
}

/// The head came of an answer that is held against rules.
#[inline(never)]
fn head((step, look): &mut (u16, Look), status: u16, fields: Fields<'_>, memory: &mut Memory) {
    memory.see_head(look, (*step, status), || fields.iter());
}

/// How the plan sets its connections up.
fn config(http2: &Http2) -> Config {
    Config {
        streams: http2.streams,
        stream_window: http2.stream_window_bytes,
        connection_window: http2.connection_window_bytes,
        header_table_bytes: http2.header_table_bytes,
        limits: Limits::default(),
    }
}
