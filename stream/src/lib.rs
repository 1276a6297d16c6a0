//! Answers that come bit by bit: which events are in them.
//!
//! A [`Reader`] takes the body of one answer as it comes, in pieces of any length, and says how
//! many events each piece completed. Which form the events have is said by the answer's
//! `Content-Type`: `text/event-stream` ([`Events`], as the WHATWG's standard of HTML reads it), or
//! lines of JSON ([`Lines`]). Of what else is sent as it's made, such as plain text of which nobody
//! says how long it will be, each piece that comes is one: over HTTP/1.1 a chunk, which the reader
//! of the protocol hands over by itself.
//!
//! Nothing of an event is kept, only where in it the reader is: an event of any length takes no
//! memory. No I/O, and no clock: whoever reads the answer knows when its pieces came.
#![forbid(unsafe_code)]

mod events;
mod lines;
mod reader;

pub use events::Events;
pub use lines::Lines;
pub use reader::Reader;

/// What a piece of an answer completed.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Seen {
    /// So many events.
    pub events: u32,
    /// The event that says that no other one follows: `data: [DONE]`, as servers of language models
    /// end their streams. It's in no count.
    pub done: bool,
}

impl Seen {
    /// Adds what the piece behind it completed.
    pub fn add(&mut self, next: Seen) {
        self.events = self.events.saturating_add(next.events);
        self.done |= next.done;
    }
}
