//! What a measurement is: time, histograms, counters, series, the run record and its merge, host
//! facts, units, and how foreign text is shown. Knows nothing of sockets, protocols or load.
//!
//! A worker records into a [`tally::Tally`] of its own; merging the tallies of all workers gives
//! the tally of the run, and [`record::Record::assemble`] makes the record of it. Nothing here
//! reads the clock but [`time`], and nothing reads the machine but [`host`], [`process`] and
//! [`quota`].
#![forbid(unsafe_code)]

pub mod counters;
pub mod due;
pub mod foreign;
pub mod histogram;
pub mod hold;
pub mod host;
pub mod process;
pub mod quota;
pub mod random;
pub mod record;
pub mod series;
pub mod slots;
pub mod tally;
pub mod time;
pub mod units;

#[cfg(test)]
#[path = "../../tests/skip.rs"]
mod skip;
