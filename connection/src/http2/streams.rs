//! The streams of a connection that are not answered in the turn of their request.

use std::time::Duration;

use measure::time::Time;

use super::answering::{Pieces, Source};
use super::calls::Rpc;
use crate::{Arrival, Incoming};
use service::Timeouts;

/// One stream.
#[derive(Debug)]
pub(super) struct Stream {
    /// The method is HEAD.
    pub(super) head_only: bool,
    /// It is on the list of those whose turn it is to send.
    pub(super) listed: bool,
    /// Bytes of the request's body so far.
    pub(super) received: u64,
    /// When anything last came on it, or was last taken of it.
    pub(super) since: Time,
    /// What is coming: a body, or a message of a call.
    pub(super) arrival: Arrival,
    /// What its service calls the request.
    pub(super) tag: u32,
    /// Whether the service is told of the body as it comes.
    pub(super) upload: Upload,
    pub(super) state: State,
}

/// A body that its service is told of as it comes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Upload {
    /// There is none, or it's complete.
    None,
    /// It's coming.
    Coming,
    /// The service wants no more of it for now. The client may wait to be told that it may send it.
    Paused { expected: bool },
}

/// What is waited for.
#[derive(Debug)]
pub(super) enum State {
    /// The body of the request.
    Receiving(Box<Incoming>),
    /// The service.
    Waiting,
    /// Nothing: there will be no answer.
    Silent,
    /// Credit, or its turn, for the rest of a body.
    Sending(Source),
    /// What the service sends, or credit for that, or its turn.
    Piecing(Box<Pieces>),
    /// The time of the next byte.
    Dribbling(Box<Dribble>),
    /// Whatever a call waits for.
    Calling(Box<Rpc>),
}

/// A body that leaves byte by byte.
#[derive(Debug)]
pub(super) struct Dribble {
    pub(super) bytes: Vec<u8>,
    pub(super) at: usize,
    pub(super) every: Duration,
    /// When the next byte goes.
    pub(super) due: Time,
}

/// All of them. There are few, and the newest is usually meant, so that a search from the end is
/// quicker than anything cleverer.
#[derive(Debug, Default)]
pub(super) struct Streams {
    ids: Vec<u32>,
    streams: Vec<Stream>,
}

impl Stream {
    pub(super) fn new(state: State, head_only: bool, now: Time) -> Stream {
        let mut stream = Stream {
            head_only,
            listed: false,
            received: 0,
            since: now,
            arrival: Arrival::NONE,
            tag: 0,
            upload: Upload::None,
            state,
        };
        if stream.is_coming() {
            stream.arrival = Arrival::begin(now);
        }
        stream
    }

    /// So many bytes came at `now`, and what they are for has taken them.
    pub(super) fn came(&mut self, bytes: usize, now: Time) {
        self.since = now;
        if !self.is_coming() {
            self.arrival = Arrival::NONE;
            return;
        }
        if self.arrival.since == Time::NEVER {
            self.arrival = Arrival::begin(now);
        }
        self.arrival.bytes += bytes as u64;
    }

    /// Whether a body, or a message that has to come, is not there yet.
    pub(super) fn is_coming(&self) -> bool {
        match &self.state {
            State::Receiving(_) => true,
            State::Calling(rpc) => rpc.is_coming(),
            _ => self.upload == Upload::Coming,
        }
    }

    /// The service is told of the body as it comes, or wants no more of it for now.
    pub(super) fn set_upload(&mut self, upload: Upload, now: Time) {
        self.upload = upload;
        self.arrival = match self.is_coming() {
            true => Arrival::begin(now),
            false => Arrival::NONE,
        };
    }

    /// Whether its service has not said everything.
    pub(super) fn is_open(&self) -> bool {
        match &self.state {
            State::Waiting => true,
            State::Piecing(pieces) => !pieces.has_ended(),
            _ => false,
        }
    }

    /// Until when the client has to do something, if that is what is waited for.
    pub(super) fn until(&self, timeouts: &Timeouts) -> Option<Time> {
        let idle = self.since + timeouts.idle;
        self.waits_for_client().then(|| match self.is_coming() {
            true => idle.min(self.arrival.until(timeouts)),
            false => idle,
        })
    }

    /// Memory that it takes.
    pub(super) fn capacity(&self) -> usize {
        match &self.state {
            State::Receiving(incoming) => incoming.memory(),
            State::Sending(source) => source.memory(),
            State::Calling(rpc) => rpc.capacity(),
            State::Dribbling(dribble) => dribble.bytes.capacity(),
            State::Piecing(pieces) => pieces.memory(),
            State::Waiting | State::Silent => 0,
        }
    }

    /// Bytes of memory that grow with what the client sends, or does not take.
    pub(super) fn memory(&self) -> usize {
        match &self.state {
            State::Receiving(incoming) => incoming.bytes(),
            State::Sending(source) => source.memory(),
            State::Calling(rpc) => rpc.memory(),
            State::Piecing(pieces) => pieces.left(),
            State::Waiting | State::Silent | State::Dribbling(_) => 0,
        }
    }

    /// Whether the client has to do something before it can go on.
    pub(super) fn waits_for_client(&self) -> bool {
        match &self.state {
            State::Receiving(_) => true,
            State::Sending(_) => !self.listed,
            State::Dribbling(dribble) => dribble.due == Time::NEVER,
            State::Calling(rpc) => !self.listed && rpc.waits_for_client(),
            State::Piecing(pieces) => !self.listed && pieces.left() > 0 || self.is_coming(),
            State::Waiting | State::Silent => self.is_coming(),
        }
    }

    /// When it wants to be looked at again.
    pub(super) fn due(&self) -> Time {
        match &self.state {
            State::Dribbling(dribble) => dribble.due,
            State::Calling(rpc) => rpc.due(),
            _ => Time::NEVER,
        }
    }
}

impl Streams {
    #[inline]
    pub(super) fn insert(&mut self, id: u32, stream: Stream) {
        debug_assert!(self.place(id).is_none(), "stream {id} is kept twice");
        self.ids.push(id);
        self.streams.push(stream);
    }

    #[inline]
    fn place(&self, id: u32) -> Option<usize> {
        self.ids.iter().rposition(|&known| known == id)
    }

    #[inline]
    pub(super) fn find(&mut self, id: u32) -> Option<&mut Stream> {
        let place = self.place(id)?;
        self.streams.get_mut(place)
    }

    #[inline]
    pub(super) fn remove(&mut self, id: u32) -> Option<Stream> {
        let place = self.place(id)?;
        self.ids.swap_remove(place);
        let stream = self.streams.swap_remove(place);
        debug_assert_eq!(
            self.ids.len(),
            self.streams.len(),
            "numbers and streams stand side by side"
        );
        Some(stream)
    }

    pub(super) fn iter_mut(&mut self) -> impl Iterator<Item = &mut Stream> {
        self.streams.iter_mut()
    }

    pub(super) fn iter(&self) -> impl Iterator<Item = (u32, &Stream)> {
        self.ids.iter().copied().zip(&self.streams)
    }

    pub(super) fn is_empty(&self) -> bool {
        self.ids.is_empty()
    }

    /// Any stream that fits, by its number.
    pub(super) fn any(&self, fits: impl Fn(&Stream) -> bool) -> Option<u32> {
        self.iter()
            .find_map(|(id, stream)| fits(stream).then_some(id))
    }
}
