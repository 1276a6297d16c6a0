//! HTTP/1.1 in a session: bytes of one connection in, answers out, in the order of the requests.
//! The bytes of the requests lie with the driver, which sends them without a copy.

use proto::Violation;
use proto::http1::client::{Answer, Client, Event, Limits};

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
}

impl Wire {
    /// Requests of which each has such an `answer`.
    pub(crate) fn new(answer: Answer) -> Wire {
        Wire {
            machine: Client::new(Limits::default()),
            answer,
            status: 0,
            leaving: false,
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

    /// The peer sends no more, which may end an answer rightly (RFC 9112 §6.3, rule 8).
    pub(crate) fn ended(&mut self, tell: &mut impl FnMut(Happening)) -> Result<(), Violation> {
        if self.machine.ended()?.is_some() {
            tell(self.answered());
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
