//! What the handlers of several scenarios are made of.

use std::pin::Pin;
use std::sync::{Arc, Mutex};
use std::task::{Context, Poll, Waker};
use std::thread;

use axum::body::Bytes;
use tokio::sync::mpsc::UnboundedSender;

/// A future that another thread completes, once it's waited for.
#[derive(Default)]
pub(crate) struct Elsewhere {
    state: Arc<Mutex<State>>,
    waits: bool,
}

#[derive(Default)]
struct State {
    done: bool,
    waker: Option<Waker>,
}

impl Future for Elsewhere {
    type Output = ();

    fn poll(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<()> {
        let mut state = self.state.lock().expect("nobody panicked");
        if state.done {
            return Poll::Ready(());
        }
        state.waker = Some(context.waker().clone());
        drop(state);
        if !std::mem::replace(&mut self.waits, true) {
            let state = Arc::clone(&self.state);
            thread::spawn(move || {
                let mut state = state.lock().expect("nobody panicked");
                state.done = true;
                let waker = state.waker.take();
                drop(state);
                waker.expect("it's waited for").wake();
            });
        }
        Poll::Pending
    }
}

/// Tells something when it's dropped.
pub(crate) struct Tells<T: Copy>(pub(crate) UnboundedSender<T>, pub(crate) T);

impl<T: Copy> Drop for Tells<T> {
    fn drop(&mut self) {
        let _ = self.0.send(self.1);
    }
}

/// Panics when it's dropped.
pub(crate) struct Bomb;

impl Drop for Bomb {
    fn drop(&mut self) {
        assert!(thread::panicking(), "on purpose, when dropped");
    }
}

/// So many equal letters.
pub(crate) fn piece(at: usize, length: usize) -> Bytes {
    let letter = b'a' + (at % 26) as u8;
    Bytes::from(vec![letter; length])
}
