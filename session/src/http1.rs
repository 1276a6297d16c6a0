//! HTTP/1.1 in a session: bytes of one connection in, answers out, in the order of the requests.
//! The bytes of the requests lie with the driver, which sends them without a copy, unless they
//! differ or answers may lead to others.

use std::collections::VecDeque;
use std::sync::Arc;

use proto::Violation;
use proto::http1::client::{Answer, Client, Event, Limits};
use proto::http1::fields;

use super::expect::{Look, Verdict};
use super::happening::{Happening, Outcome};
use super::memory::{Memory, is_strange};
use workload::visit::{Errand, Habits, Turn, Visitor};

/// The protocol state of one connection.
#[derive(Debug)]
pub struct Wire {
    machine: Client,
    answer: Answer,
    /// Status of the answer whose body is being read.
    status: u16,
    /// The server closes after the last answer it gave: what was sent behind it is not read
    /// (RFC 9112 §9.6).
    leaving: bool,
    /// Where answers are held against rules, or lead to other requests.
    looking: Option<Box<Looking>>,
}

/// What is seen of such answers.
#[derive(Debug, Default)]
struct Looking {
    /// The steps of unanswered requests, where these differ, the oldest first.
    steps: VecDeque<u16>,
    look: Look,
    visit: Option<Visit>,
}

/// What is done beyond asking and being answered.
#[derive(Debug)]
struct Visit {
    visitor: Visitor,
    /// The last exchange: where redirects are followed, there is no other one meanwhile.
    errand: Errand,
}

impl Wire {
    /// Requests of which each has such an `answer`.
    pub fn new(answer: Answer) -> Wire {
        Wire {
            machine: Client::new(Limits::default()),
            answer,
            status: 0,
            leaving: false,
            looking: None,
        }
    }

    /// Holds answers against the rules that its owner's memory has, and has these `habits`.
    pub fn look(&mut self, habits: Option<&Arc<Habits>>) {
        let visit = habits.map(|habits| Visit {
            visitor: Visitor::new(habits),
            errand: Errand::default(),
        });
        self.looking = Some(Box::new(Looking {
            visit,
            ..Looking::default()
        }));
    }

    /// The request that is said next is one of this step.
    pub fn of_step(&mut self, step: u16) {
        if let Some(looking) = &mut self.looking {
            looking.steps.push_back(step);
        }
    }

    /// A request was, or will be, sent.
    #[inline]
    pub fn begin(&mut self, out: &mut Vec<u8>) {
        if self.looking.is_some() {
            self.visit(out, |errand, visitor| visitor.begin(errand));
        }
        // Refused only where the server has just announced its close: then the worker retires
        // the connection, and what was sent in vain has failed with it.
        let _ = self.machine.sent(self.answer);
    }

    /// Says this request, which has such an `answer`.
    #[inline]
    pub fn say(&mut self, request: &[u8], answer: Answer, out: &mut Vec<u8>) {
        let is_visit =
            self.looking.is_some() && self.visit(out, |errand, _| errand.begin_with(request));
        if !is_visit {
            out.extend_from_slice(request);
        }
        // As above.
        let _ = self.machine.sent(answer);
    }

    /// Says the request that `begin` gives, if answers may lead to others; false if not.
    #[inline(never)]
    fn visit(&mut self, out: &mut Vec<u8>, begin: impl FnOnce(&mut Errand, &Visitor)) -> bool {
        let looking = self.looking.as_deref_mut();
        let Some(Visit { visitor, errand }) = looking.and_then(|it| it.visit.as_mut()) else {
            return false;
        };
        begin(errand, visitor);
        visitor.write(errand, out);
        true
    }

    /// Whether the server has announced that it closes.
    #[inline]
    pub fn is_leaving(&self) -> bool {
        self.leaving
    }

    /// Reads what came, and tells each answer that is whole.
    #[inline]
    pub fn receive(
        &mut self,
        mut input: &[u8],
        memory: &mut Memory,
        out: &mut Vec<u8>,
        tell: &mut impl FnMut(Happening),
    ) -> Result<(), Violation> {
        if self.looking.is_some() {
            return self.receive_looking(input, memory, out, tell);
        }
        while let Some(event) = self.machine.next(&mut input, &mut memory.heads)? {
            match event {
                Event::Head { status, .. } => self.status = status,
                Event::Body(bytes) if is_strange(self.status) => memory.keep(self.status, bytes),
                Event::Informational { .. } | Event::Body(_) => {}
                Event::End(end) => {
                    self.leaving = !end.keep_alive;
                    tell(answered(self.status));
                }
            }
        }
        Ok(())
    }

    /// The same where answers are held against rules, or lead to other requests, which is kept
    /// apart from the path of all others.
    #[inline(never)]
    fn receive_looking(
        &mut self,
        mut input: &[u8],
        memory: &mut Memory,
        out: &mut Vec<u8>,
        tell: &mut impl FnMut(Happening),
    ) -> Result<(), Violation> {
        let Some(looking) = self.looking.as_deref_mut() else {
            return Ok(());
        };
        while let Some(event) = self.machine.next(&mut input, &mut memory.heads)? {
            match event {
                Event::Head { status, head } => {
                    self.status = status;
                    looking.head(status, head, memory);
                    looking.tell_sign(tell);
                }
                Event::Body(bytes) => {
                    looking.body(bytes, memory);
                    looking.tell_sign(tell);
                }
                Event::Informational { .. } => {}
                Event::End(end) => {
                    self.leaving = !end.keep_alive;
                    let ended = looking.end(self.status, memory);
                    looking.tell_sign(tell);
                    match ended {
                        Some(happening) => tell(happening),
                        // Where nothing is sent any more, the exchange ends with the connection.
                        None if self.leaving => {}
                        None => {
                            if let Some(Visit { visitor, errand }) = &mut looking.visit {
                                // It takes requests: see above.
                                let _ = self.machine.sent(visitor.write(errand, out));
                            }
                            tell(Happening::Followed { place: 0 });
                        }
                    }
                }
            }
        }
        Ok(())
    }

    /// The peer sends no more, which may end an answer rightly (RFC 9112 §6.3, rule 8).
    pub fn ended(
        &mut self,
        memory: &mut Memory,
        tell: &mut impl FnMut(Happening),
    ) -> Result<(), Violation> {
        if self.machine.ended()?.is_some() {
            let happening = match &mut self.looking {
                Some(looking) => {
                    let ended = looking.end(self.status, memory);
                    looking.tell_sign(tell);
                    ended
                }
                None => Some(answered(self.status)),
            };
            happening.into_iter().for_each(tell);
        }
        Ok(())
    }
}

impl Looking {
    fn head(&mut self, status: u16, head: &[u8], memory: &mut Memory) {
        let turn = match &mut self.visit {
            Some(Visit { visitor, errand }) => visitor.head(errand, status, || fields(head)),
            None => Turn::End,
        };
        if let Turn::Astray(kind) = turn {
            memory.keep_location(kind, fields(head));
        }
        if turn == Turn::End {
            let step = self.steps.front().copied().unwrap_or_default();
            memory.see_head(&mut self.look, (step, status), || fields(head));
            if let Some(whole) = &mut self.look.whole {
                whole.is_old = head.starts_with(b"HTTP/1.0");
            }
        }
    }

    fn turn(&self) -> Turn {
        let visit = self.visit.as_ref();
        visit.map_or(Turn::End, |visit| visit.errand.turn())
    }

    fn body(&mut self, bytes: &[u8], memory: &mut Memory) {
        if self.turn() == Turn::End {
            memory.see_body(&mut self.look, bytes);
        }
    }

    /// Tells what came of an answer in which events are looked for.
    #[inline]
    fn tell_sign(&mut self, tell: &mut impl FnMut(Happening)) {
        if let Some(sign) = self.look.listener.sign() {
            tell(Happening::Streamed { place: 0, sign });
        }
    }

    /// An answer is whole, and so is its exchange: how that ended. None if it is redirected.
    fn end(&mut self, status: u16, memory: &mut Memory) -> Option<Happening> {
        let happening = match self.turn() {
            Turn::Follow => return None,
            Turn::Astray(kind) => judged(status, Verdict::Astray(kind)),
            Turn::End => match memory.see_end(&mut self.look) {
                _ if memory.asks() => Happening::Whole,
                (status, Some(verdict)) => judged(status, verdict),
                (status, None) => answered(status),
            },
        };
        self.steps.pop_front();
        Some(happening)
    }
}

/// The oldest exchange was answered.
#[inline]
fn answered(status: u16) -> Happening {
    Happening::Answered {
        place: 0,
        outcome: Outcome::Status(status),
    }
}

/// The oldest exchange was answered, and held against rules.
fn judged(status: u16, verdict: Verdict) -> Happening {
    Happening::Judged {
        place: 0,
        status,
        verdict,
    }
}
