//! What is said on one connection, and what is answered. Knows neither the driver nor the schedule;
//! the connection core and the workers move it along.
//!
//! `wire` says what the protocols of connections have in common, and a file for each of them says
//! the rest; `flights` holds the exchanges that are under way, `memory` what is remembered for all
//! connections of an owner, and `recorder` puts what becomes of exchanges into a tally. `expect`
//! holds answers against what a plan expects of them, and `heard` keeps them whole for a script or
//! a user, and `streams` looks for events in them; `workload::visit` makes the requests that they
//! lead to.
#![forbid(unsafe_code)]

mod beginning;
mod coding;
pub mod expect;
pub mod flights;
mod grpc;
mod happening;
mod heard;
pub mod http1;
pub mod http2;
pub mod memory;
pub mod recorder;
pub mod streams;
#[cfg(test)]
mod tests;
pub mod websocket;
pub mod wire;

use measure::time::Time;

pub use expect::{Rules, Verdict};
pub use flights::{Flights, Ring};
pub use happening::{Happening, Outcome};
pub use heard::{Fields, Told};
pub use memory::Memory;
pub use recorder::{Passage, Recorder};
pub use streams::{Clocks, Sign};
pub use wire::{Speech, Wire};

/// One request and what became of it.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Exchange {
    /// When the schedule wanted it sent; in a closed loop, when it could first be sent.
    pub intended: Time,
    /// When it was handed to the driver; [`Time::NEVER`] while it waits for its connection.
    pub sent: Time,
    /// Which request of a log it sends; 0 where there is none.
    pub request: u32,
    /// In the lower half which step of the workload it is, in the upper how often a peer has said
    /// that it did nothing for it, and at the top what has come of a stream: exchanges are copied
    /// often, and so in one piece.
    marks: u32,
}

/// The head of an answer came; and no event is awaited, because one came or none can.
const BEGUN: u32 = 1 << 30;
const NO_EVENT: u32 = 1 << 31;

impl Exchange {
    /// No exchange.
    pub const NONE: Exchange = Exchange {
        intended: Time::NEVER,
        sent: Time::NEVER,
        request: 0,
        marks: 0,
    };

    /// An exchange that is sent for the first time.
    #[inline]
    pub fn new(intended: Time, sent: Time) -> Exchange {
        Exchange {
            intended,
            sent,
            request: 0,
            marks: 0,
        }
    }

    /// The same exchange as one of this step of the workload.
    #[inline]
    pub fn of_step(self, step: u16) -> Exchange {
        Exchange {
            marks: u32::from(step),
            ..self
        }
    }

    /// Which step of the workload it is; 0 where all are alike.
    #[inline]
    pub fn step(&self) -> u16 {
        self.marks as u16
    }

    /// How often a peer has said that it did nothing for it.
    #[inline]
    pub fn refusals(&self) -> u32 {
        (self.marks & !(BEGUN | NO_EVENT)) >> 16
    }

    /// A peer has said so once more.
    #[inline]
    pub fn refused(&mut self) {
        self.marks += 1 << 16;
    }

    /// The head of its answer came, which is a stream of events or not.
    pub(crate) fn answer_begun(&mut self, is_stream: bool) {
        self.marks |= if is_stream { BEGUN } else { BEGUN | NO_EVENT };
    }

    /// An event came.
    pub(crate) fn event_came(&mut self) {
        self.marks |= NO_EVENT;
    }

    /// Whether the head of its answer has come.
    pub(crate) fn has_answer_begun(&self) -> bool {
        self.marks & BEGUN != 0
    }

    /// Whether an event may still come, and none has.
    pub(crate) fn awaits_event(&self) -> bool {
        self.marks & NO_EVENT == 0
    }
}
