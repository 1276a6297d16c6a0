//! HTTP/1.1 in a session: bytes of one connection in, answers out.

use proto::Violation;
use proto::http1::HeadMemo;
use proto::http1::client::{Answer, Client, End, Event, Limits};

/// The protocol state of one connection.
#[derive(Debug)]
pub(crate) struct Wire {
    machine: Client,
    /// Status of the answer whose body is being read.
    status: u16,
}

impl Wire {
    pub(crate) fn new() -> Wire {
        Wire {
            machine: Client::new(Limits::default()),
            status: 0,
        }
    }

    /// `count` requests were sent.
    pub(crate) fn sent(&mut self, count: u32, answer: Answer) {
        for _ in 0..count {
            // Refused only where the server has just announced its close: then the worker retires
            // the connection, and what was sent in vain has failed with it.
            let _ = self.machine.sent(answer);
        }
    }

    /// Reads what came; `answered` is told the status and the manner of each answer that is whole.
    #[inline]
    pub(crate) fn receive(
        &mut self,
        mut input: &[u8],
        memo: &mut HeadMemo,
        mut answered: impl FnMut(u16, End),
    ) -> Result<(), Violation> {
        while let Some(event) = self.machine.next(&mut input, memo)? {
            match event {
                Event::Head { status, .. } => self.status = status,
                Event::Informational { .. } | Event::Body(_) => {}
                Event::End(end) => answered(self.status, end),
            }
        }
        Ok(())
    }

    /// The peer sends no more. `Some` where that ends an answer rightly (RFC 9112 §6.3, rule 8).
    pub(crate) fn ended(&mut self) -> Result<Option<u16>, Violation> {
        Ok(self.machine.ended()?.map(|_| self.status))
    }
}
