//! The body of a request as handlers read it.

use std::collections::VecDeque;
use std::fmt;
use std::pin::Pin;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::task::{Context, Poll, Waker};

use bytes::Bytes;
use http::HeaderMap;
use http_body::{Frame, SizeHint};

use super::queue::Bell;

/// A body of which more than this is not read by its handler waits on its way here.
const UNREAD_BYTES_HIGH: usize = 64 * 1024;

/// What a piece that waits takes besides its bytes: its place in the queue, and its allocation.
pub(super) const PIECE_BYTES: usize = 64;

/// The body of a request. It comes as the client sends it: what the handler doesn't read, the
/// client has to keep.
#[derive(Debug, Default)]
pub struct Body(Kind);

#[derive(Debug, Default)]
enum Kind {
    #[default]
    Empty,
    Whole(Bytes),
    Coming(Arc<Inbox>),
    /// Of a connection that hyper has.
    #[cfg(feature = "tokio")]
    Hyper(hyper::body::Incoming),
}

/// Why a body ended before its end.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum BodyError {
    /// The client left, gave the request up, was too slow or sent too much.
    Incomplete,
    /// The request is answered, so the rest of its body is not read.
    Answered,
}

impl fmt::Display for BodyError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            BodyError::Incomplete => "the client didn't send all of the body",
            BodyError::Answered => "the request is answered already; its body is gone",
        })
    }
}

impl std::error::Error for BodyError {}

impl Body {
    /// One that has come as a whole.
    pub(super) fn whole(bytes: &[u8]) -> Body {
        match bytes {
            [] => Body(Kind::Empty),
            bytes => Body(Kind::Whole(Bytes::copy_from_slice(bytes))),
        }
    }

    /// One that is coming.
    pub(super) fn coming(inbox: Arc<Inbox>) -> Body {
        Body(Kind::Coming(inbox))
    }
}

#[cfg(feature = "tokio")]
impl Body {
    /// One that hyper reads.
    pub(super) fn of_hyper(body: hyper::body::Incoming) -> Body {
        Body(Kind::Hyper(body))
    }
}

impl http_body::Body for Body {
    type Data = Bytes;
    type Error = BodyError;

    fn poll_frame(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, BodyError>>> {
        match &mut self.0 {
            Kind::Empty => Poll::Ready(None),
            Kind::Whole(bytes) => {
                let bytes = std::mem::take(bytes);
                self.0 = Kind::Empty;
                Poll::Ready(Some(Ok(Frame::data(bytes))))
            }
            Kind::Coming(inbox) => inbox.poll(context),
            #[cfg(feature = "tokio")]
            Kind::Hyper(body) => {
                let frame = std::task::ready!(Pin::new(body).poll_frame(context));
                Poll::Ready(frame.map(|read| read.map_err(|_| BodyError::Incomplete)))
            }
        }
    }

    fn is_end_stream(&self) -> bool {
        match &self.0 {
            Kind::Empty => true,
            Kind::Whole(_) => false,
            Kind::Coming(inbox) => inbox.state().is_over(),
            #[cfg(feature = "tokio")]
            Kind::Hyper(body) => body.is_end_stream(),
        }
    }

    fn size_hint(&self) -> SizeHint {
        match &self.0 {
            Kind::Empty => SizeHint::with_exact(0),
            Kind::Whole(bytes) => SizeHint::with_exact(bytes.len() as u64),
            #[cfg(feature = "tokio")]
            Kind::Hyper(body) => body.size_hint(),
            Kind::Coming(inbox) => match inbox.state().left {
                Some(left) => SizeHint::with_exact(left),
                None => SizeHint::default(),
            },
        }
    }
}

impl Drop for Body {
    fn drop(&mut self) {
        if let Kind::Coming(inbox) = &self.0 {
            inbox.abandon();
        }
    }
}

/// What trailers take.
fn weigh(trailers: &HeaderMap) -> usize {
    let fields = trailers.iter();
    let bytes = fields.map(|(name, value)| name.as_str().len() + value.len() + PIECE_BYTES);
    bytes.sum()
}

/// A body on its way from its worker to its handler, which may be on any thread.
#[derive(Debug)]
pub(super) struct Inbox {
    state: Mutex<State>,
    /// Of the request's task.
    bell: Arc<Bell>,
}

#[derive(Debug, Default)]
struct State {
    pieces: VecDeque<Bytes>,
    /// What they take.
    bytes: usize,
    /// Its request is over, and what is left of it is the handler's: counted no more.
    released: bool,
    /// Bytes that the handler has not read, if the client has said how long the body is.
    left: Option<u64>,
    trailers: Option<HeaderMap>,
    end: Option<Result<(), BodyError>>,
    /// The handler was told that it ended before its end: whoever reads on finds nothing more.
    failed: bool,
    reader: Option<Waker>,
    /// The worker was told not to read on, and is to be told when it may.
    paused: bool,
    /// It may.
    resumes: bool,
    /// The client waits to be told that it may send it.
    uninvited: bool,
    /// Nobody reads it any more.
    abandoned: bool,
}

impl State {
    fn is_over(&self) -> bool {
        self.pieces.is_empty() && self.trailers.is_none() && self.end == Some(Ok(()))
    }
}

impl Inbox {
    /// For a body of so many bytes, if that is known. `paused`: the client waits to be told that it
    /// may send it.
    pub(super) fn new(bell: Arc<Bell>, length: Option<u64>, paused: bool) -> Inbox {
        let state = State {
            left: length,
            paused,
            uninvited: paused,
            ..State::default()
        };
        Inbox {
            state: Mutex::new(state),
            bell,
        }
    }

    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// A piece came. Says whether that is enough for now.
    pub(super) fn push(&self, piece: &[u8]) -> bool {
        let mut state = self.state();
        if state.abandoned {
            return false;
        }
        state.pieces.push_back(Bytes::copy_from_slice(piece));
        state.bytes += piece.len() + PIECE_BYTES;
        self.bell.queue().hold(piece.len() + PIECE_BYTES);
        let enough = !state.paused && state.bytes > UNREAD_BYTES_HIGH;
        state.paused |= enough;
        wake(state);
        enough
    }

    /// Trailers came.
    pub(super) fn trailers(&self, trailers: HeaderMap) {
        let mut state = self.state();
        if state.abandoned {
            return;
        }
        state.bytes += weigh(&trailers);
        self.bell.queue().hold(weigh(&trailers));
        state.trailers = Some(trailers);
    }

    /// Nothing more comes. Says whether that is news to somebody.
    pub(super) fn end(&self, end: Result<(), BodyError>) -> bool {
        let mut state = self.state();
        let news = state.end.is_none() && !state.abandoned;
        state.end.get_or_insert(end);
        wake(state);
        news
    }

    /// Its request is over: nothing more comes, and what was read by then is counted no more. What
    /// is left of a body that isn't complete is dropped.
    pub(super) fn release(&self, why: BodyError) {
        self.end(Err(why));
        let mut state = self.state();
        if state.end != Some(Ok(())) {
            self.empty(&mut state);
        } else if !state.released {
            self.bell.queue().let_go(state.bytes);
        }
        state.released = true;
    }

    fn empty(&self, state: &mut State) {
        let bytes = std::mem::take(&mut state.bytes);
        state.pieces = VecDeque::new();
        state.trailers = None;
        if !state.released {
            self.bell.queue().let_go(bytes);
        }
    }

    /// What it takes that is counted.
    pub(super) fn held_bytes(&self) -> usize {
        self.state().bytes
    }

    /// Whether the worker may read on, once.
    pub(super) fn take_resume(&self) -> bool {
        std::mem::take(&mut self.state().resumes)
    }

    fn poll(&self, context: &mut Context<'_>) -> Poll<Option<Result<Frame<Bytes>, BodyError>>> {
        let mut state = self.state();
        let piece = state.pieces.pop_front();
        if let Some(piece) = &piece {
            let bytes = piece.len() + PIECE_BYTES;
            state.bytes -= bytes;
            if !state.released {
                self.bell.queue().let_go(bytes);
            }
            let read = piece.len() as u64;
            state.left = state.left.map(|left| left.saturating_sub(read));
        }
        let rings = state.paused && state.bytes <= UNREAD_BYTES_HIGH / 2 && state.end.is_none();
        if rings {
            state.paused = false;
            state.resumes = true;
            state.uninvited = false;
        }
        let polled = match (piece, state.trailers.take()) {
            (Some(piece), trailers) => {
                state.trailers = trailers;
                Poll::Ready(Some(Ok(Frame::data(piece))))
            }
            (None, Some(trailers)) => {
                let bytes = weigh(&trailers);
                state.bytes -= bytes;
                if !state.released {
                    self.bell.queue().let_go(bytes);
                }
                Poll::Ready(Some(Ok(Frame::trailers(trailers))))
            }
            (None, None) => match state.end {
                Some(Ok(())) => Poll::Ready(None),
                Some(Err(_)) if state.failed => Poll::Ready(None),
                Some(Err(error)) => {
                    state.failed = true;
                    Poll::Ready(Some(Err(error)))
                }
                None => {
                    state.reader = Some(context.waker().clone());
                    Poll::Pending
                }
            },
        };
        drop(state);
        if rings {
            self.bell.ring();
        }
        polled
    }

    /// Nobody reads it any more. The rest comes and is thrown away, unless nobody has asked for it.
    fn abandon(&self) {
        let mut state = self.state();
        state.abandoned = true;
        self.empty(&mut state);
        let rings = state.paused && !state.uninvited && state.end.is_none();
        state.paused &= !rings;
        state.resumes |= rings;
        drop(state);
        if rings {
            self.bell.ring();
        }
    }
}

/// Wakes who waits for a piece.
fn wake(mut state: MutexGuard<'_, State>) {
    let reader = state.reader.take();
    drop(state);
    if let Some(reader) = reader {
        reader.wake();
    }
}
