//! The server role: bytes from a client become requests.

use super::{HeadMemo, Version};
use crate::Violation;

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
    /// The path of the target, without authority and query; `*` for the whole server.
    pub fn path(&self) -> &'a [u8] {
        self.target
    }

    /// What follows the path after a `?`, if there is one.
    pub fn query(&self) -> Option<&'a [u8]> {
        None
    }
}

/// What a request head says about the length of the body.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum BodyLength {
    /// So many bytes; 0 when there is no body.
    Known(u64),
    /// Chunks, as long as they come.
    Chunked,
}

/// A request that is refused. The connection cannot be read any further.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Rejection {
    /// The status to answer with before the connection is closed: 400, 413, 414, 431, 501 or 505.
    pub status: u16,
    /// What the client did.
    pub violation: Violation,
}

/// The server role of one connection.
#[derive(Debug)]
pub struct Server {
    limits: Limits,
}

impl Server {
    /// A connection on which nothing was received yet.
    pub fn new(limits: Limits) -> Server {
        Server { limits }
    }

    /// The next event out of `input`, which is advanced past what was used.
    ///
    /// `None` means that all of `input` is used and the event needs more. After a request that does
    /// not keep the connection, further input is discarded unread (RFC 9112 §9.6).
    ///
    /// # Errors
    /// The request is refused. Every further call repeats it.
    pub fn next<'a, 'i: 'a>(
        &'a mut self,
        input: &mut &'i [u8],
        memo: &mut HeadMemo,
    ) -> Result<Option<Event<'a>>, Rejection> {
        let _ = (memo, self.limits);
        *input = &[];
        Ok(None)
    }

    /// Whether a head has begun and is not complete: a deadline for slow heads applies.
    pub fn head_started(&self) -> bool {
        false
    }

    /// Whether no request is under way: the connection may be closed without loss.
    pub fn between_requests(&self) -> bool {
        true
    }
}
