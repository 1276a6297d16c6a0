//! What the body of an answer gives: pieces, and the trailers that may follow them.

use std::error::Error;
use std::mem;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::pin::Pin;
use std::task::{Context as Polling, Poll, Waker};

use bytes::{Buf, Bytes};
use http::header::{HeaderMap, TRAILER};

use crate::headers;
use crate::response::Field;

/// What is left out of trailers over HTTP/1, as hyper does it, since it belongs into a head
/// (RFC 9110 §6.5.1).
const NO_TRAILERS: [&str; 13] = [
    "authorization",
    "cache-control",
    "connection",
    "content-encoding",
    "content-length",
    "content-range",
    "content-type",
    "host",
    "max-forwards",
    "set-cookie",
    "te",
    "trailer",
    "transfer-encoding",
];

/// What of a request decides about the form of its answer.
#[derive(Clone, Copy, Default)]
pub(super) struct Shape {
    pub(super) head_only: bool,
    pub(super) http2: bool,
    /// The client says that it takes trailers, which it has to over HTTP/1 (RFC 9110 §6.5.1).
    pub(super) takes_trailers: bool,
}

/// Which trailers may follow a body.
#[derive(Default)]
pub(super) enum Trailers {
    /// All that can be said there.
    #[default]
    Any,
    /// Those that the head has named in `trailer`, as hyper does it.
    Named(Vec<String>),
}

impl Trailers {
    pub(super) fn of(head: &HeaderMap, shape: Shape) -> Trailers {
        if shape.http2 {
            return Trailers::Any;
        }
        if !shape.takes_trailers {
            return Trailers::Named(Vec::new());
        }
        let lists = head.get_all(TRAILER).iter();
        let names = lists.filter_map(|list| list.to_str().ok());
        let names = names.flat_map(|list| list.split(','));
        Trailers::Named(names.map(|name| name.trim().to_ascii_lowercase()).collect())
    }

    pub(super) fn of_those(&self, given: &HeaderMap) -> Vec<Field> {
        let allowed = |name: &str| match self {
            Trailers::Any => !headers::is_of_connection(name),
            Trailers::Named(names) => {
                names.iter().any(|one| one == name) && !NO_TRAILERS.contains(&name)
            }
        };
        let given = given.iter().filter(|(name, _)| allowed(name.as_str()));
        given
            .filter_map(|(name, value)| {
                let value = std::str::from_utf8(value.as_bytes()).ok()?;
                Some((name.as_str().to_owned().into(), value.to_owned().into()))
            })
            .collect()
    }
}

/// What the body of an answer gave.
pub(super) enum Pumped {
    Pending,
    Piece(Bytes),
    Trailers(HeaderMap),
    End,
    Failed,
    Panicked,
}

impl Pumped {
    /// Bytes of a piece.
    pub(super) fn bytes(&self) -> usize {
        match self {
            Pumped::Piece(piece) => piece.len(),
            _ => 0,
        }
    }
}

pub(super) fn poll<B>(body: Pin<&mut B>, polling: &mut Polling<'_>) -> Pumped
where
    B: http_body::Body,
    B::Error: Into<Box<dyn Error + Send + Sync>>,
{
    match body.poll_frame(polling) {
        Poll::Pending => Pumped::Pending,
        Poll::Ready(None) => Pumped::End,
        Poll::Ready(Some(Err(error))) => {
            tracing::warn!("the body of an answer failed: {}", error.into());
            Pumped::Failed
        }
        Poll::Ready(Some(Ok(frame))) => match frame.into_data() {
            Ok(mut data) => Pumped::Piece(data.copy_to_bytes(data.remaining())),
            Err(frame) => match frame.into_trailers() {
                Ok(trailers) => Pumped::Trailers(trailers),
                Err(_) => Pumped::Piece(Bytes::new()),
            },
        },
    }
}

/// What a body gives at once, if anything.
pub(super) fn first<B>(body: Pin<&mut B>, waker: &Waker) -> Option<Pumped>
where
    B: http_body::Body,
    B::Error: Into<Box<dyn Error + Send + Sync>>,
{
    let mut polling = Polling::from_waker(waker);
    match caught(|| poll(body, &mut polling)) {
        Pumped::Pending => None,
        pumped => Some(pumped),
    }
}

/// What came of looking at a body.
pub(super) fn caught(look: impl FnOnce() -> Pumped) -> Pumped {
    guarded(look).unwrap_or(Pumped::Panicked)
}

/// Runs code of the application; `None` if it panics. What it panics with may itself panic as it's
/// dropped.
pub(super) fn guarded<R>(code: impl FnOnce() -> R) -> Option<R> {
    let panicked = match catch_unwind(AssertUnwindSafe(code)) {
        Ok(result) => return Some(result),
        Err(panicked) => panicked,
    };
    catch_unwind(AssertUnwindSafe(|| drop(panicked))).unwrap_or_else(mem::forget);
    None
}
