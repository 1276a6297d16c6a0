//! The exchanges that are under way.

use measure::time::Time;
use timers::TimerId;

use crate::answer::{Error, Kind};
use crate::desk::Exchange;
use crate::links::Link;
use crate::request::{Body, Request};

/// Where an exchange is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Stage {
    /// It waits for a connection.
    Waiting,
    /// Its request is on this connection, at this place.
    On(Link, u32),
    /// Its service has given it up, and so has its connection.
    Dropped,
}

/// One exchange.
#[derive(Debug)]
pub(crate) struct State {
    pub(crate) exchange: Exchange,
    pub(crate) pool: u32,
    pub(crate) stage: Stage,
    /// Until it can't be sent again.
    pub(crate) request: Option<Request>,
    /// It may be sent a second time.
    pub(crate) repeatable: bool,
    pub(crate) repeated: bool,
    /// The head of the answer was told.
    pub(crate) answered: bool,
    /// Some of its request was on a connection that didn't say that it ignored it.
    pub(crate) sent: bool,
    /// Bytes of the answer's body that were told.
    pub(crate) body_bytes: u64,
    pub(crate) upload: Upload,
    pub(crate) paused: bool,
    pub(crate) deadline: Time,
    /// When the head of the answer has to be there; [`Time::NEVER`] while that doesn't count.
    pub(crate) head_due: Time,
    pub(crate) timer: TimerId,
    pub(crate) timer_at: Time,
    /// What was counted of it last.
    pub(crate) held_bytes: usize,
}

/// The body of a request that comes in pieces.
#[derive(Debug, Default)]
pub(crate) struct Upload {
    /// What no connection has taken yet.
    pub(crate) bytes: Vec<u8>,
    /// More may come.
    pub(crate) open: bool,
    /// All of it was taken, its end too. True of a request without one.
    pub(crate) done: bool,
    /// The service waits for being told that there is room.
    pub(crate) wants_room: bool,
    /// So many bytes are missing, if their number was announced.
    left: Option<u64>,
}

impl Upload {
    pub(crate) fn of(request: &Request) -> Upload {
        match request.body() {
            Body::Stream(left) => Upload {
                open: true,
                wants_room: true,
                left: *left,
                ..Upload::default()
            },
            _ => Upload {
                done: true,
                ..Upload::default()
            },
        }
    }

    /// Takes a piece; says whether it fits what was announced.
    pub(crate) fn push(&mut self, bytes: &[u8]) -> bool {
        if let Some(left) = &mut self.left {
            match left.checked_sub(bytes.len() as u64) {
                Some(less) => *left = less,
                None => return false,
            }
        }
        self.bytes.extend_from_slice(bytes);
        self.wants_room = true;
        true
    }

    /// No more comes; says whether that is all that was announced.
    pub(crate) fn end(&mut self) -> bool {
        self.open = false;
        self.left.is_none_or(|left| left == 0)
    }
}

impl State {
    /// Why it ends without an answer.
    pub(crate) fn error(&self, kind: Kind, declined: bool) -> Error {
        Error {
            kind,
            unprocessed: declined || !self.sent,
            repeatable: self.repeatable,
            answered: self.answered,
        }
    }

    /// Bytes that it makes the worker hold.
    pub(crate) fn weigh(&self) -> usize {
        let request = self.request.as_ref().map_or(0, Request::held_bytes);
        request + self.upload.bytes.capacity()
    }
}

/// All exchanges, by their number.
#[derive(Debug, Default)]
pub(crate) struct Exchanges {
    states: Vec<Option<State>>,
    live: usize,
}

impl Exchanges {
    pub(crate) fn live(&self) -> usize {
        self.live
    }

    pub(crate) fn insert(&mut self, state: State) {
        let index = state.exchange.slot();
        if index >= self.states.len() {
            self.states.resize_with(index + 1, || None);
        }
        let before = self.states[index].replace(state);
        debug_assert!(before.is_none(), "a number names two exchanges");
        self.live += 1;
    }

    pub(crate) fn get(&mut self, exchange: Exchange) -> Option<&mut State> {
        let state = self.states.get_mut(exchange.slot())?.as_mut()?;
        (state.exchange == exchange).then_some(state)
    }

    /// The exchange with this number, whichever it is.
    pub(crate) fn at(&mut self, index: u32) -> Option<&mut State> {
        self.states.get_mut(index as usize)?.as_mut()
    }

    pub(crate) fn remove(&mut self, exchange: Exchange) -> Option<State> {
        self.get(exchange)?;
        self.live -= 1;
        self.states[exchange.slot()].take()
    }

    pub(crate) fn iter(&self) -> impl Iterator<Item = &State> {
        self.states.iter().flatten()
    }
}
