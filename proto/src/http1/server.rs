//! The server role: bytes from a client become requests.

use super::chunked::{Chunked, Piece};
pub use super::faults::Rejection;
use super::faults::{self, Fault};
pub use super::head::BodyLength;
use super::head::{Bounds, Kept, Place, RequestHead, TOKEN, authority_start};
use super::{HeadMemo, Version, take};

/// Bounds on what a client may send, each with the status that answers its breach.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Limits {
    /// Bytes of a request head, and of the trailers of a chunked body: 431.
    pub head_bytes: u32,
    /// Bytes of a request target: 414.
    pub target_bytes: u32,
    /// Fields in a head: 431.
    pub fields: u16,
    /// Bytes of a request body: 413.
    pub body_bytes: u64,
}

impl Default for Limits {
    fn default() -> Limits {
        Limits {
            head_bytes: 16 * 1024,
            target_bytes: 8 * 1024,
            fields: 100,
            body_bytes: 1 << 20,
        }
    }
}

/// What was read.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Event<'a> {
    /// The head of a request.
    Request(Request<'a>),
    /// A piece of its body, never empty.
    Body(&'a [u8]),
    /// The request is complete.
    End,
}

/// The head of a request.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Request<'a> {
    /// The method, as it was sent: methods have a case.
    pub method: &'a [u8],
    /// The request target, as it was sent: origin-form, absolute-form, or `*` with OPTIONS.
    pub target: &'a [u8],
    /// The version.
    pub version: Version,
    /// The whole head from the request line to the empty line, for [`super::field`].
    pub head: &'a [u8],
    /// Whether the client keeps the connection for further requests (RFC 9112 §9.3).
    pub keep_alive: bool,
    /// Whether the client waits for an interim response before it sends the body
    /// (RFC 9110 §10.1.1).
    pub expect_continue: bool,
    /// How long the body is.
    pub body: BodyLength,
}

impl<'a> Request<'a> {
    /// The path of the target, without authority and query; `*` for the server as a whole.
    pub fn path(&self) -> &'a [u8] {
        Target::of(self.target).path
    }

    /// What follows the path after a `?`, if there is one.
    pub fn query(&self) -> Option<&'a [u8]> {
        Target::of(self.target).query
    }
}

/// The parts of a request target in origin-form, in absolute-form or `*` (RFC 9112 §3.2).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Target<'a> {
    /// What an absolute-form names, which then counts instead of `Host` (RFC 9112 §3.2.2).
    pub authority: Option<&'a [u8]>,
    /// The path, without authority and query; `*` for the server as a whole.
    pub path: &'a [u8],
    /// What follows the path after a `?`, if there is one.
    pub query: Option<&'a [u8]>,
}

impl<'a> Target<'a> {
    /// Takes apart the target of a request that was read.
    pub fn of(target: &'a [u8]) -> Target<'a> {
        let (mut authority, mut path) = (None, target);
        if let Some(start) = authority_start(path) {
            let rest = &path[start..];
            let end = rest.iter().position(|byte| matches!(byte, b'/' | b'?'));
            let (named, behind) = rest.split_at(end.unwrap_or(rest.len()));
            (authority, path) = (Some(named), behind);
        }
        let (path, query) = match memchr::memchr(b'?', path) {
            Some(at) => (&path[..at], Some(&path[at + 1..])),
            None => (path, None),
        };
        let path = if path.is_empty() { b"/" } else { path };
        Target {
            authority,
            path,
            query,
        }
    }
}

/// The server role of one connection.
///
/// Small, since there may be millions: about a hundred bytes, and memory for a head only once one
/// came in pieces.
#[derive(Debug)]
pub struct Server {
    limits: Limits,
    state: State,
    kept: Kept,
    /// What came of the one empty line that may precede a request (RFC 9112 §2.2).
    blank: Blank,
    /// Whether the connection lasts beyond the request that is being read.
    keep_alive: bool,
}

#[derive(Clone, Copy, Debug)]
enum State {
    /// Before or inside a head.
    Head,
    /// So many bytes of the body are to come; with 0 the end is to be told.
    Length(u64),
    Chunked(Chunked),
    /// Nothing further is read.
    Closed,
    Failed(Fault),
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Blank {
    None,
    Cr,
    CrLf,
}

impl Server {
    /// A connection on which nothing was received yet.
    pub fn new(limits: Limits) -> Server {
        Server {
            limits,
            state: State::Head,
            kept: Kept::default(),
            blank: Blank::None,
            keep_alive: true,
        }
    }

    /// The next event out of `input`, which is advanced past what was used.
    ///
    /// `None` means that all of `input` is used and the event needs more. After a request that does
    /// not keep the connection, further input is discarded unread (RFC 9112 §9.6).
    ///
    /// # Errors
    /// The request is refused. Every further call repeats it.
    #[inline]
    pub fn next<'a, 'i: 'a>(
        &'a mut self,
        input: &mut &'i [u8],
        memo: &mut HeadMemo,
    ) -> Result<Option<Event<'a>>, Rejection> {
        match &mut self.state {
            State::Head if input.is_empty() => Ok(None),
            State::Head => match self.read_head(input, memo) {
                Ok(None) => Ok(None),
                Ok(Some((head, place))) => Ok(Some(Event::Request(self.begin(head, place)))),
                Err(fault) => Err(self.fail(fault)),
            },
            State::Length(0) => Ok(Some(self.finish())),
            State::Length(_) if input.is_empty() => Ok(None),
            State::Length(left) => {
                let taken = (*left).min(input.len() as u64);
                *left -= taken;
                Ok(Some(Event::Body(take(input, taken as usize))))
            }
            State::Chunked(body) => match body.next(input, self.limits.head_bytes) {
                Ok(Piece::Data(data)) => Ok(Some(Event::Body(data))),
                Ok(Piece::End) => Ok(Some(self.finish())),
                Ok(Piece::More) => Ok(None),
                Err(fault) => Err(self.fail(fault)),
            },
            State::Closed => {
                *input = &[];
                Ok(None)
            }
            State::Failed(fault) => Err(**fault),
        }
    }

    /// The bounds that this connection was given.
    pub fn limits(&self) -> &Limits {
        &self.limits
    }

    /// Whether a head has begun and is not complete: a deadline for slow heads applies.
    #[inline]
    pub fn head_started(&self) -> bool {
        matches!(self.state, State::Head) && !(self.kept.is_empty() && self.blank != Blank::Cr)
    }

    /// Whether no request is under way: the connection may be closed without loss.
    #[inline]
    pub fn between_requests(&self) -> bool {
        match self.state {
            State::Head => !self.head_started(),
            State::Closed | State::Failed(_) => true,
            State::Length(_) | State::Chunked(_) => false,
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
    ) -> Result<Option<(RequestHead, Place<'i>)>, Fault> {
        if self.kept.is_empty()
            && self.blank != Blank::Cr
            && let Some((head, bytes)) = memo.request(input)
            && bytes <= self.limits.head_bytes as usize
            && self.within_limits(&head).is_ok()
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
    ) -> Result<Option<(RequestHead, Place<'i>)>, Fault> {
        if !self.skip_blank(input)? {
            return Ok(None);
        }
        let bounds = Bounds {
            bytes_max: self.limits.head_bytes as usize,
            starts: |bytes| bytes.first().is_none_or(|&byte| TOKEN[byte as usize]),
            start_fault: &faults::NOT_A_REQUEST,
        };
        let Some(place) = self.kept.take_head(input, bounds)? else {
            return Ok(None);
        };
        let bytes = self.kept.at(place);
        let head = RequestHead::read(bytes, self.limits.fields)?;
        self.within_limits(&head)?;
        memo.remember_request(bytes, head);
        Ok(Some((head, place)))
    }

    /// Skips the empty line that may precede a request; says whether something follows.
    fn skip_blank(&mut self, input: &mut &[u8]) -> Result<bool, Fault> {
        if !self.kept.is_empty() {
            return Ok(true);
        }
        if self.blank == Blank::None && input.starts_with(b"\r") {
            *input = &input[1..];
            self.blank = Blank::Cr;
        }
        if self.blank == Blank::Cr {
            match input.split_first() {
                None => return Ok(false),
                Some((b'\n', rest)) => *input = rest,
                Some(_) => return Err(&faults::BARE_CR),
            }
            self.blank = Blank::CrLf;
        }
        Ok(!input.is_empty())
    }

    /// The limits that are this connection's own: a memo is shared, and may come from another.
    #[inline]
    fn within_limits(&self, head: &RequestHead) -> Result<(), Fault> {
        if head.target_end - head.method_end - 1 > self.limits.target_bytes {
            return Err(&faults::TARGET_TOO_LONG);
        }
        if head.fields > self.limits.fields {
            return Err(&faults::TOO_MANY_FIELDS);
        }
        match head.body {
            BodyLength::Known(bytes) if bytes > self.limits.body_bytes => {
                Err(&faults::BODY_TOO_LONG)
            }
            _ => Ok(()),
        }
    }

    /// Enters the body of a request whose head is whole.
    #[inline]
    fn begin<'a>(&'a mut self, head: RequestHead, place: Place<'a>) -> Request<'a> {
        self.keep_alive = head.keep_alive;
        self.state = match head.body {
            BodyLength::Known(bytes) => State::Length(bytes),
            BodyLength::Chunked => State::Chunked(Chunked::new(self.limits.body_bytes)),
        };
        let bytes = self.kept.at(place);
        let (method_end, target_end) = (head.method_end as usize, head.target_end as usize);
        Request {
            method: &bytes[..method_end],
            target: &bytes[method_end + 1..target_end],
            version: head.version,
            head: bytes,
            keep_alive: head.keep_alive,
            expect_continue: head.expect_continue,
            body: head.body,
        }
    }

    /// Leaves a request that is complete.
    #[inline]
    fn finish(&mut self) -> Event<'static> {
        self.kept.clear();
        self.blank = Blank::None;
        self.state = if self.keep_alive {
            State::Head
        } else {
            State::Closed
        };
        Event::End
    }

    #[cold]
    fn fail(&mut self, fault: Fault) -> Rejection {
        self.state = State::Failed(fault);
        *fault
    }
}
