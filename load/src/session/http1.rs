//! HTTP/1.1 in a session: bytes of one connection in, answers out, in the order of the requests.
//! The bytes of the requests lie with the driver, which sends them without a copy.

use std::collections::VecDeque;

use proto::Violation;
use proto::http1::client::{Answer, Client, Event, Limits};
use proto::http1::fields;

use super::expect::{Look, Verdict};
use super::happening::{Happening, Outcome};
use super::memory::{Memory, is_strange};

/// The protocol state of one connection.
#[derive(Debug)]
pub(crate) struct Wire {
    machine: Client,
    answer: Answer,
    /// Status of the answer whose body is being read.
    status: u16,
    /// The server closes after the last answer it gave: what was sent behind it is not read
    /// (RFC 9112 §9.6).
    leaving: bool,
    /// Where answers are held against rules.
    looking: Option<Box<Looking>>,
}

/// What is seen of answers that are held against rules.
#[derive(Debug, Default)]
struct Looking {
    /// The steps of unanswered requests, where these differ, the oldest first.
    steps: VecDeque<u16>,
    look: Look,
}

impl Wire {
    /// Requests of which each has such an `answer`.
    pub(crate) fn new(answer: Answer) -> Wire {
        Wire {
            machine: Client::new(Limits::default()),
            answer,
            status: 0,
            leaving: false,
            looking: None,
        }
    }

    /// Holds answers against the rules that its owner's memory has.
    pub(crate) fn look(&mut self) {
        self.looking = Some(Box::default());
    }

    /// The request that is said next is one of this step.
    pub(crate) fn of_step(&mut self, step: u16) {
        if let Some(looking) = &mut self.looking {
            looking.steps.push_back(step);
        }
    }

    /// A request was, or will be, sent.
    #[inline]
    pub(crate) fn begin(&mut self) {
        // Refused only where the server has just announced its close: then the worker retires
        // the connection, and what was sent in vain has failed with it.
        let _ = self.machine.sent(self.answer);
    }

    /// Says this request, which has such an `answer`.
    #[inline]
    pub(crate) fn say(&mut self, request: &[u8], answer: Answer, out: &mut Vec<u8>) {
        out.extend_from_slice(request);
        // As above.
        let _ = self.machine.sent(answer);
    }

    /// Whether the server has announced that it closes.
    #[inline]
    pub(crate) fn is_leaving(&self) -> bool {
        self.leaving
    }

    /// Reads what came, and tells each answer that is whole.
    #[inline]
    pub(crate) fn receive(
        &mut self,
        mut input: &[u8],
        memory: &mut Memory,
        tell: &mut impl FnMut(Happening),
    ) -> Result<(), Violation> {
        if self.looking.is_some() {
            return self.receive_looking(input, memory, tell);
        }
        while let Some(event) = self.machine.next(&mut input, &mut memory.heads)? {
            match event {
                Event::Head { status, .. } => self.status = status,
                Event::Body(bytes) if is_strange(self.status) => memory.keep(self.status, bytes),
                Event::Informational { .. } | Event::Body(_) => {}
                Event::End(end) => {
                    self.leaving = !end.keep_alive;
                    tell(self.answered());
                }
            }
        }
        Ok(())
    }

    /// The same where answers are held against rules, which is kept apart from the path of all
    /// others.
    #[inline(never)]
    fn receive_looking(
        &mut self,
        mut input: &[u8],
        memory: &mut Memory,
        tell: &mut impl FnMut(Happening),
    ) -> Result<(), Violation> {
        let Some(Looking { steps, look }) = self.looking.as_deref_mut() else {
            return Ok(());
        };
        while let Some(event) = self.machine.next(&mut input, &mut memory.heads)? {
            match event {
                Event::Head { status, head } => {
                    let step = steps.pop_front().unwrap_or_default();
                    memory.see_head(look, (step, status), || fields(head));
                }
                Event::Body(bytes) => memory.see_body(look, bytes),
                Event::Informational { .. } => {}
                Event::End(end) => {
                    self.leaving = !end.keep_alive;
                    tell(judged(memory.see_end(look)));
                }
            }
        }
        Ok(())
    }

    /// The peer sends no more, which may end an answer rightly (RFC 9112 §6.3, rule 8).
    pub(crate) fn ended(
        &mut self,
        memory: &mut Memory,
        tell: &mut impl FnMut(Happening),
    ) -> Result<(), Violation> {
        if self.machine.ended()?.is_some() {
            tell(match &mut self.looking {
                Some(looking) => judged(memory.see_end(&mut looking.look)),
                None => self.answered(),
            });
        }
        Ok(())
    }

    fn answered(&self) -> Happening {
        Happening::Answered {
            place: 0,
            outcome: Outcome::Status(self.status),
        }
    }
}

/// The oldest exchange was answered, and held against rules.
fn judged((status, verdict): (u16, Verdict)) -> Happening {
    Happening::Judged {
        place: 0,
        status,
        verdict,
    }
}
