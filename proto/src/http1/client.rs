//! The client role: bytes from a server become the answers to the requests that were sent.

use super::HeadMemo;
use crate::{Misuse, Violation};

/// Bounds on what a server may send.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Limits {
    /// Bytes of a response head, and of the trailers of a chunked body.
    pub head_bytes: u32,
    /// Fields in a head.
    pub fields: u16,
}

impl Default for Limits {
    fn default() -> Limits {
        Limits {
            head_bytes: 16 * 1024,
            fields: 100,
        }
    }
}

/// What kind of answer a request will have (RFC 9112 §6.3, rule 1).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Answer {
    /// A response whose own fields say whether it has a body.
    Usual,
    /// A response to HEAD: no body, whatever its fields say.
    HeadOnly,
}

impl Answer {
    /// The kind of answer to a request with this method.
    pub fn to(method: &str) -> Answer {
        if method == "HEAD" {
            Answer::HeadOnly
        } else {
            Answer::Usual
        }
    }
}

/// What was read.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Event<'a> {
    /// An interim response; the final one follows (RFC 9110 §15.2).
    Informational {
        /// 100 to 199, never 101.
        status: u16,
    },
    /// The head of the final response.
    Head {
        /// 200 to 599.
        status: u16,
        /// The whole head from the status line to the empty line, for [`super::field`].
        head: &'a [u8],
    },
    /// A piece of the body, never empty.
    Body(&'a [u8]),
    /// The response is complete.
    End(End),
}

/// How a response ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct End {
    /// Whether the server keeps the connection for further requests (RFC 9112 §9.3). If not, the
    /// requests still outstanding stay without an answer.
    pub keep_alive: bool,
}

/// The client role of one connection.
#[derive(Debug)]
pub struct Client {
    limits: Limits,
}

impl Client {
    /// A connection on which nothing was sent yet.
    pub fn new(limits: Limits) -> Client {
        Client { limits }
    }

    /// Says that one request was sent, and what kind of answer it will have.
    ///
    /// # Errors
    /// More requests than [`Client::capacity`] allowed.
    pub fn sent(&mut self, answer: Answer) -> Result<(), Misuse> {
        let _ = (answer, self.limits);
        Ok(())
    }

    /// Requests sent whose answers are not complete.
    pub fn outstanding(&self) -> usize {
        0
    }

    /// How many more requests may be sent now: 0 once the server ended the connection.
    pub fn capacity(&self) -> usize {
        1
    }

    /// The next event out of `input`, which is advanced past what was used.
    ///
    /// `None` means that all of `input` is used and the event needs more.
    ///
    /// # Errors
    /// The server's violation. Every further call repeats it.
    pub fn next<'a, 'i: 'a>(
        &'a mut self,
        input: &mut &'i [u8],
        memo: &mut HeadMemo,
    ) -> Result<Option<Event<'a>>, Violation> {
        let _ = memo;
        *input = &[];
        Ok(None)
    }

    /// Says that the server ended its side of the connection.
    ///
    /// This completes a body that lasts until the connection ends. `None` means that nothing was
    /// under way; whether requests are [`outstanding`](Client::outstanding) is the caller's to ask.
    ///
    /// # Errors
    /// A response was cut off.
    pub fn ended(&mut self) -> Result<Option<End>, Violation> {
        Ok(None)
    }
}
