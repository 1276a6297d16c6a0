//! What is said on one connection, and what is answered. Knows neither the driver nor the schedule;
//! the connection core and the workers move it along.
//!
//! `wire` says what the protocols of connections have in common, and a file for each of them says
//! the rest; `flights` holds the exchanges that are under way, and `memory` what is remembered for
//! all connections of an owner. `expect` holds answers against what a plan expects of them, and
//! `heard` keeps them whole for a script; `workload::visit` makes the requests that they lead to.

mod beginning;
mod coding;
pub(crate) mod expect;
pub(crate) mod flights;
mod grpc;
mod happening;
mod heard;
pub(crate) mod http1;
pub(crate) mod http2;
pub(crate) mod memory;
#[cfg(test)]
mod tests;
pub(crate) mod websocket;
pub(crate) mod wire;

use measure::time::Time;

#[cfg(test)]
pub(crate) use coding::tests::gzip;
pub(crate) use expect::{Rules, Verdict};
pub(crate) use flights::{Flights, Ring};
pub(crate) use happening::{Happening, Outcome};
pub(crate) use heard::Fields;
pub(crate) use memory::Memory;
pub(crate) use wire::{Speech, Wire};

/// One request and what became of it.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Exchange {
    /// When the schedule wanted it sent; in a closed loop, when it could first be sent.
    pub intended: Time,
    /// When it was handed to the driver; [`Time::NEVER`] while it waits for its connection.
    pub sent: Time,
    /// In the lower half which step of the workload it is, in the upper how often a peer has said
    /// that it did nothing for it: exchanges are copied often, and so in one piece.
    marks: u32,
}

impl Exchange {
    /// No exchange.
    pub(crate) const NONE: Exchange = Exchange {
        intended: Time::NEVER,
        sent: Time::NEVER,
        marks: 0,
    };

    /// An exchange that is sent for the first time.
    pub(crate) fn new(intended: Time, sent: Time) -> Exchange {
        Exchange {
            intended,
            sent,
            marks: 0,
        }
    }

    /// The same exchange as one of this step of the workload.
    pub(crate) fn of_step(self, step: u16) -> Exchange {
        Exchange {
            marks: u32::from(step),
            ..self
        }
    }

    /// Which step of the workload it is; 0 where all are alike.
    #[inline]
    pub(crate) fn step(&self) -> u16 {
        self.marks as u16
    }

    /// How often a peer has said that it did nothing for it.
    pub(crate) fn refusals(&self) -> u32 {
        self.marks >> 16
    }

    /// A peer has said so once more.
    pub(crate) fn refused(&mut self) {
        self.marks += 1 << 16;
    }
}
