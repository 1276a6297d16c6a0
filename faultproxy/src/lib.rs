//! A TCP proxy that breaks connections on purpose, on a driver of the engine.
//!
//! [`Proxy`] accepts, connects to its upstream for each connection, and passes bytes both ways: it
//! knows no protocol, so whatever speaks TCP can be tested behind it. What it does to connections
//! is in [`Faults`], which can be read from words and changed while it runs; the connections that
//! exist are changed with it.
//!
//! Without faults it is transparent: bytes are the same in the same order, half-closes are passed
//! on, a reset becomes a reset, and a peer that doesn't read stops the other in the end.
//!
//! Whatever happens by chance comes from a seed.
#![forbid(unsafe_code)]

mod connection;
mod counters;
mod faults;
mod lane;
mod order;
mod proxy;
#[cfg(test)]
mod tests;

pub use connection::{HELD_BYTES_MAX, RESET_PATIENCE_NS};
pub use counters::Counters;
pub use faults::{CutAfter, Direction, Ending, Faults, bandwidth, share, time};
pub use order::LINE_BYTES_MAX;
pub use proxy::{Proxy, Settings, StartError};
