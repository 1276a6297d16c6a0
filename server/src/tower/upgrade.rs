//! Upgrades over HTTP/1.1, such as those of WebSockets (RFC 9110 §7.8).
//!
//! What becomes of an upgraded connection is hyper's `OnUpgrade`, which only hyper can make. So a
//! connection on which one is asked for is handed to hyper as a whole, with the head of the request
//! as the first that it reads, and stays there. A [`Pipe`] is what hyper, and later whoever has the
//! connection, reads and writes; the worker fills and empties it.

use std::collections::VecDeque;
use std::convert::Infallible;
use std::error::Error;
use std::future::{Future, poll_fn};
use std::io;
use std::pin::{Pin, pin};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::task::{Context, Poll, Waker};

use bytes::{Buf, Bytes, BytesMut};
use http::header::{CONNECTION, HeaderValue};
use http::{Request, Response, StatusCode};
use http_body::{Frame, SizeHint};
use hyper::rt::{Read, ReadBufCursor, Write};
use hyper::server::conn::http1;
use hyper::service::service_fn;
use tower_service::Service;

use super::body::{Body, PIECE_BYTES};
use super::pump::guarded;
use super::queue::Bell;
use service::Peer;

/// More than this waits on neither side.
const WAITING_BYTES_HIGH: usize = 64 * 1024;

/// A connection as hyper has it, without its type.
pub(super) type Talk = Pin<Box<dyn Future<Output = ()>>>;

/// Hands a connection to hyper, whose requests `service` answers.
pub(super) fn talk<T, B>(service: T, peer: Peer, pipe: Arc<Pipe>) -> Talk
where
    T: Service<Request<Body>, Response = Response<B>> + Clone + 'static,
    T::Error: Into<Box<dyn Error + Send + Sync>>,
    B: http_body::Body + 'static,
    B::Error: Into<Box<dyn Error + Send + Sync>>,
{
    let handled = Arc::clone(&pipe);
    let answer = service_fn(move |request: Request<hyper::body::Incoming>| {
        let mut request = request.map(Body::of_hyper);
        if peer != Peer::default() {
            request.extensions_mut().insert(peer);
        }
        let (service, pipe) = (service.clone(), Arc::clone(&handled));
        async move {
            let mut response = answered(service, request, &pipe).await;
            // What isn't upgraded ends, since hyper knows none of the limits that further requests
            // have. Told to keep no connection, it would say `close` in a 101, too.
            if response.status() != StatusCode::SWITCHING_PROTOCOLS {
                let close = HeaderValue::from_static("close");
                response.headers_mut().append(CONNECTION, close);
            }
            Ok::<_, Infallible>(response)
        }
    });
    let mut builder = http1::Builder::new();
    let builder = builder.header_read_timeout(None);
    let connection = builder.serve_connection(Socket(pipe), answer);
    Box::pin(async move {
        if let Err(error) = connection.with_upgrades().await {
            tracing::debug!("a connection that asked for an upgrade ended: {error}");
        }
    })
}

/// What the service answers; 500 where it fails or panics.
async fn answered<T, B>(mut service: T, request: Request<Body>, pipe: &Pipe) -> Response<Perhaps<B>>
where
    T: Service<Request<Body>, Response = Response<B>>,
    T::Error: Into<Box<dyn Error + Send + Sync>>,
{
    let answer = async {
        poll_fn(|context| service.poll_ready(context)).await?;
        service.call(request).await
    };
    let mut answer = pin!(answer);
    let polled = poll_fn(|context| match guarded(|| answer.as_mut().poll(context)) {
        Some(polled) => polled.map(Some),
        None => Poll::Ready(None),
    });
    match polled.await {
        Some(Ok(response)) => return response.map(|body| Perhaps(Some(Box::pin(body)))),
        Some(Err(error)) => tracing::error!("the service failed: {}", error.into()),
        None => pipe.state().panicked = true,
    }
    let mut response = Response::new(Perhaps(None));
    *response.status_mut() = StatusCode::INTERNAL_SERVER_ERROR;
    response
}

/// The body of an answer, if it has one.
struct Perhaps<B>(Option<Pin<Box<B>>>);

impl<B: http_body::Body> http_body::Body for Perhaps<B> {
    type Data = B::Data;
    type Error = B::Error;

    fn poll_frame(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<B::Data>, B::Error>>> {
        match &mut self.0 {
            Some(body) => body.as_mut().poll_frame(context),
            None => Poll::Ready(None),
        }
    }

    fn is_end_stream(&self) -> bool {
        self.0.as_ref().is_none_or(|body| body.is_end_stream())
    }

    fn size_hint(&self) -> SizeHint {
        let body = self.0.as_ref();
        body.map_or_else(|| SizeHint::with_exact(0), |body| body.size_hint())
    }
}

/// The bytes of a connection between its worker and whoever has it, on any thread.
#[derive(Debug)]
pub(super) struct Pipe {
    state: Mutex<State>,
    /// Of the task that has the connection.
    bell: Arc<Bell>,
}

#[derive(Debug, Default)]
struct State {
    /// What came and is not read.
    coming: VecDeque<Bytes>,
    coming_bytes: usize,
    /// The client sends no more.
    ended: bool,
    /// The connection is gone.
    gone: bool,
    reader: Option<Waker>,
    /// The worker was told not to read on, and is to be told when it may.
    paused: bool,
    resumes: bool,
    /// What was written and the worker has not taken.
    going: BytesMut,
    writer: Option<Waker>,
    /// Nothing more is written.
    finished: bool,
    /// A handler has panicked that wasn't counted yet.
    panicked: bool,
}

impl State {
    fn held_bytes(&self) -> usize {
        self.coming_bytes + self.going.len()
    }
}

/// What the worker is to do for a pipe.
#[derive(Debug, Default)]
pub(super) struct Wishes {
    /// Bytes to send.
    pub(super) going: Bytes,
    /// The client may send more.
    pub(super) resumes: bool,
    /// Nothing more is sent.
    pub(super) finished: bool,
}

impl Pipe {
    /// One whose first bytes to read are `head`.
    pub(super) fn new(bell: Arc<Bell>, head: &[u8]) -> Pipe {
        let pipe = Pipe {
            state: Mutex::default(),
            bell,
        };
        pipe.push(head);
        pipe
    }

    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Bytes came. Says whether that is enough for now.
    pub(super) fn push(&self, bytes: &[u8]) -> bool {
        let mut state = self.state();
        if state.gone || state.finished {
            return false;
        }
        state.coming.push_back(Bytes::copy_from_slice(bytes));
        state.coming_bytes += bytes.len() + PIECE_BYTES;
        self.bell.queue().hold(bytes.len() + PIECE_BYTES);
        let enough = !state.paused && state.coming_bytes > WAITING_BYTES_HIGH;
        state.paused |= enough;
        wake(&mut state.reader);
        enough
    }

    /// The client sends no more.
    pub(super) fn end(&self) {
        let mut state = self.state();
        state.ended = true;
        wake(&mut state.reader);
    }

    /// The connection is gone. Whoever has it finds an error, unless both have ended it.
    pub(super) fn lose(&self) {
        let mut state = self.state();
        state.gone = !(state.finished && state.ended);
        let held = state.held_bytes();
        self.bell.queue().let_go(held);
        state.coming = VecDeque::new();
        state.coming_bytes = 0;
        state.going = BytesMut::new();
        wake(&mut state.reader);
        wake(&mut state.writer);
    }

    /// Whether a handler has panicked since this was last asked.
    pub(super) fn take_panicked(&self) -> bool {
        std::mem::take(&mut self.state().panicked)
    }

    /// What it takes.
    pub(super) fn held_bytes(&self) -> usize {
        self.state().held_bytes()
    }

    /// What the worker is to do; it sends only where there is `room`.
    pub(super) fn wishes(&self, room: bool) -> Wishes {
        let mut state = self.state();
        let mut wishes = Wishes {
            resumes: std::mem::take(&mut state.resumes),
            ..Wishes::default()
        };
        if room {
            wishes.going = state.going.split().freeze();
            self.bell.queue().let_go(wishes.going.len());
            wishes.finished = state.finished;
            wake(&mut state.writer);
        }
        wishes
    }
}

fn wake(waker: &mut Option<Waker>) {
    if let Some(waker) = waker.take() {
        waker.wake();
    }
}

/// A pipe as a socket; its end is that of the connection.
#[derive(Debug)]
struct Socket(Arc<Pipe>);

impl Read for Socket {
    fn poll_read(
        self: Pin<&mut Self>,
        context: &mut Context<'_>,
        mut into: ReadBufCursor<'_>,
    ) -> Poll<io::Result<()>> {
        let mut state = self.0.state();
        let state = &mut *state;
        if state.gone {
            return Poll::Ready(Err(io::ErrorKind::ConnectionReset.into()));
        }
        let Some(piece) = state.coming.front_mut() else {
            if state.ended {
                return Poll::Ready(Ok(()));
            }
            state.reader = Some(context.waker().clone());
            return Poll::Pending;
        };
        let taken = piece.len().min(into.remaining());
        into.put_slice(&piece[..taken]);
        piece.advance(taken);
        let mut freed = taken;
        if piece.is_empty() {
            state.coming.pop_front();
            freed += PIECE_BYTES;
        }
        state.coming_bytes -= freed;
        self.0.bell.queue().let_go(freed);
        if state.paused && state.coming_bytes <= WAITING_BYTES_HIGH / 2 {
            state.paused = false;
            state.resumes = true;
            self.0.bell.ring();
        }
        Poll::Ready(Ok(()))
    }
}

impl Write for Socket {
    fn poll_write(
        self: Pin<&mut Self>,
        context: &mut Context<'_>,
        bytes: &[u8],
    ) -> Poll<io::Result<usize>> {
        let mut state = self.0.state();
        if state.gone || state.finished {
            return Poll::Ready(Err(io::ErrorKind::BrokenPipe.into()));
        }
        if state.going.len() >= WAITING_BYTES_HIGH {
            state.writer = Some(context.waker().clone());
            return Poll::Pending;
        }
        let taken = bytes.len().min(WAITING_BYTES_HIGH - state.going.len());
        state.going.extend_from_slice(&bytes[..taken]);
        self.0.bell.queue().hold(taken);
        self.0.bell.ring();
        Poll::Ready(Ok(taken))
    }

    /// What is written is on its way.
    fn poll_flush(self: Pin<&mut Self>, _: &mut Context<'_>) -> Poll<io::Result<()>> {
        Poll::Ready(Ok(()))
    }

    fn poll_shutdown(self: Pin<&mut Self>, _: &mut Context<'_>) -> Poll<io::Result<()>> {
        self.0.state().finished = true;
        self.0.bell.ring();
        Poll::Ready(Ok(()))
    }
}

impl Drop for Socket {
    fn drop(&mut self) {
        self.0.state().finished = true;
        self.0.bell.ring();
    }
}
