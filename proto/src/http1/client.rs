//! The client role: bytes from a server become the answers to the requests that were sent.

use super::chunked::{Chunked, Piece};
use super::faults::{self, Fault};
use super::head::{Bounds, Kept, Place, ResponseBody, ResponseHead};
use super::{HeadMemo, take};
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
    /// A response to a request for another protocol (RFC 9110 §7.8): status 101 may come as a
    /// final one, and what follows its head is no HTTP any more.
    Switch,
}

impl Answer {
    /// The kind of answer to a request that begins with these bytes.
    pub fn to_bytes(request: &[u8]) -> Answer {
        match request.starts_with(b"HEAD ") {
            true => Answer::HeadOnly,
            false => Answer::Usual,
        }
    }

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
        /// 200 to 599, or 101 to [`Answer::Switch`]. After that the machine reads no more: the
        /// rest of the input belongs to the other protocol.
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
///
/// Small, since there may be millions: about a hundred bytes, and memory for a head only once one
/// came in pieces.
#[derive(Debug)]
pub struct Client {
    /// Bit n is set if the n-th outstanding answer is [`Answer::HeadOnly`].
    head_only: u128,
    outstanding: u32,
    /// Whether the outstanding request, which is the only one then, is an [`Answer::Switch`].
    switch: bool,
    limits: Limits,
    state: State,
    kept: Kept,
    /// Whether the connection lasts beyond the response that is being read.
    keep_alive: bool,
}

#[derive(Clone, Copy, Debug)]
enum State {
    /// Before or inside a head.
    Head,
    /// So many bytes of the body are to come; with 0 the end is to be told.
    Length(u64),
    Chunked(Chunked),
    UntilClose,
    /// No further response comes.
    Closed,
    Failed(Fault),
}

/// The only status below 200 that is final (RFC 9110 §15.2.2).
const SWITCHING_PROTOCOLS: u16 = 101;

/// Requests outstanding at most.
const OUTSTANDING_MAX: u32 = u128::BITS;

impl Client {
    /// A connection on which nothing was sent yet.
    pub fn new(limits: Limits) -> Client {
        Client {
            head_only: 0,
            outstanding: 0,
            switch: false,
            limits,
            state: State::Head,
            kept: Kept::default(),
            keep_alive: true,
        }
    }

    /// Says that one request was sent, and what kind of answer it will have.
    ///
    /// # Errors
    /// More requests than [`Client::capacity`] allowed, or an [`Answer::Switch`] while others are
    /// outstanding.
    #[inline]
    pub fn sent(&mut self, answer: Answer) -> Result<(), Misuse> {
        let switch = answer == Answer::Switch;
        if self.capacity() == 0 || (switch && self.outstanding > 0) {
            return Err(Misuse::new(
                "a request was sent on a connection without capacity for it",
            ));
        }
        self.switch = switch;
        self.head_only |= u128::from(answer == Answer::HeadOnly) << self.outstanding;
        self.outstanding += 1;
        Ok(())
    }

    /// Requests sent whose answers are not complete.
    #[inline]
    pub fn outstanding(&self) -> usize {
        self.outstanding as usize
    }

    /// How many more requests may be sent now: 0 once the server ended the connection.
    #[inline]
    pub fn capacity(&self) -> usize {
        match self.state {
            State::UntilClose | State::Closed | State::Failed(_) => 0,
            _ if !self.keep_alive || self.switch => 0,
            _ => (OUTSTANDING_MAX - self.outstanding) as usize,
        }
    }

    /// The next event out of `input`, which is advanced past what was used.
    ///
    /// `None` means that all of `input` is used and the event needs more.
    ///
    /// # Errors
    /// The server's violation. Every further call repeats it.
    #[inline]
    pub fn next<'a, 'i: 'a>(
        &'a mut self,
        input: &mut &'i [u8],
        memo: &mut HeadMemo,
    ) -> Result<Option<Event<'a>>, Violation> {
        match &mut self.state {
            State::Head if input.is_empty() => Ok(None),
            State::Head => match self.read_head(input, memo) {
                Ok(None) => Ok(None),
                Ok(Some((head, place))) => Ok(Some(self.begin(head, place))),
                Err(fault) => Err(self.fail(fault)),
            },
            State::Length(0) => Ok(Some(Event::End(self.finish()))),
            State::Length(_) | State::UntilClose if input.is_empty() => Ok(None),
            State::Length(left) => {
                let taken = (*left).min(input.len() as u64);
                *left -= taken;
                Ok(Some(Event::Body(take(input, taken as usize))))
            }
            State::Chunked(body) => match body.next(input, self.limits.head_bytes) {
                Ok(Piece::Data(data)) => Ok(Some(Event::Body(data))),
                Ok(Piece::End) => Ok(Some(Event::End(self.finish()))),
                Ok(Piece::More) => Ok(None),
                Err(fault) => Err(self.fail(fault)),
            },
            State::UntilClose => Ok(Some(Event::Body(take(input, input.len())))),
            State::Closed if input.is_empty() => Ok(None),
            State::Closed => Err(self.fail(&faults::AFTER_CLOSE)),
            State::Failed(fault) => Err(fault.violation),
        }
    }

    /// Says that the server ended its side of the connection.
    ///
    /// This completes a body that lasts until the connection ends. `None` means that nothing was
    /// under way; whether requests are [`outstanding`](Client::outstanding) is the caller's to ask.
    ///
    /// # Errors
    /// A response was cut off.
    pub fn ended(&mut self) -> Result<Option<End>, Violation> {
        self.keep_alive = false;
        match self.state {
            State::Head if self.kept.is_empty() => {
                self.state = State::Closed;
                Ok(None)
            }
            State::Head => Err(self.fail(&faults::HEAD_CUT_OFF)),
            State::Length(0) | State::UntilClose => Ok(Some(self.finish())),
            State::Length(_) | State::Chunked(_) => Err(self.fail(&faults::BODY_CUT_OFF)),
            State::Closed => Ok(None),
            State::Failed(fault) => Err(fault.violation),
        }
    }

    /// Bytes of memory that this connection holds besides itself: none until a head comes in
    /// pieces, then at most 4 KiB between messages and twice the limit of a head inside one.
    pub fn memory_bytes(&self) -> usize {
        self.kept.memory_bytes()
    }

    /// A whole head, if `input` completes one: what it means and where its bytes are.
    #[inline]
    fn read_head<'i>(
        &mut self,
        input: &mut &'i [u8],
        memo: &mut HeadMemo,
    ) -> Result<Option<(ResponseHead, Place<'i>)>, Fault> {
        if self.outstanding == 0 {
            return Err(&faults::UNASKED_RESPONSE);
        }
        if self.kept.is_empty()
            && let Some((head, bytes)) = memo.response(input)
            && bytes <= self.limits.head_bytes as usize
            && head.fields <= self.limits.fields
        {
            return Ok(Some((head, Place::Input(take(input, bytes)))));
        }
        self.read_new_head(input, memo)
    }

    #[inline(never)]
    fn read_new_head<'i>(
        &mut self,
        input: &mut &'i [u8],
        memo: &mut HeadMemo,
    ) -> Result<Option<(ResponseHead, Place<'i>)>, Fault> {
        let bounds = Bounds {
            bytes_max: self.limits.head_bytes as usize,
            starts: |bytes| {
                bytes
                    .iter()
                    .zip(b"HTTP/")
                    .all(|(byte, expected)| byte == expected)
            },
            start_fault: &faults::NOT_A_RESPONSE,
        };
        let Some(place) = self.kept.take_head(input, bounds)? else {
            return Ok(None);
        };
        let bytes = self.kept.at(place);
        let head = ResponseHead::read(bytes, self.limits.fields)?;
        if head.status != SWITCHING_PROTOCOLS {
            memo.remember_response(bytes, head);
        } else if !self.switch {
            return Err(&faults::UNASKED_SWITCH);
        }
        Ok(Some((head, place)))
    }

    /// Enters the body of a response whose head is whole.
    #[inline]
    fn begin<'a>(&'a mut self, head: ResponseHead, place: Place<'a>) -> Event<'a> {
        let status = head.status;
        if status == SWITCHING_PROTOCOLS {
            debug_assert_eq!(self.outstanding, 1, "an upgrade is outstanding alone");
            self.outstanding = 0;
            self.state = State::Closed;
            let head = self.kept.at(place);
            return Event::Head { status, head };
        }
        if status < 200 {
            self.kept.clear();
            return Event::Informational { status };
        }
        self.keep_alive = head.keep_alive;
        self.state = match head.body {
            _ if self.head_only & 1 == 1 => State::Length(0),
            ResponseBody::Length(bytes) => State::Length(bytes),
            ResponseBody::Chunked => State::Chunked(Chunked::new(u64::MAX)),
            ResponseBody::UntilClose => State::UntilClose,
        };
        Event::Head {
            status,
            head: self.kept.at(place),
        }
    }

    /// Leaves a response that is complete.
    #[inline]
    fn finish(&mut self) -> End {
        debug_assert!(
            self.outstanding > 0,
            "a response ended that nobody asked for"
        );
        self.outstanding -= 1;
        self.head_only >>= 1;
        debug_assert!(
            self.head_only.checked_shr(self.outstanding).unwrap_or(0) == 0,
            "a request that is not outstanding is marked as HEAD"
        );
        self.switch = false;
        self.kept.clear();
        self.state = if self.keep_alive {
            State::Head
        } else {
            State::Closed
        };
        End {
            keep_alive: self.keep_alive,
        }
    }

    #[cold]
    fn fail(&mut self, fault: Fault) -> Violation {
        self.state = State::Failed(fault);
        fault.violation
    }
}
