//! Sockets to bytes and back on io_uring, epoll or a simulator. No protocols.
//!
//! [`driver`] is the interface, and the file to read first. Every driver is compiled in and chosen
//! at run time. Unsafe code stands only in the files that allow it in their first lines.
#![deny(unsafe_code)]

pub mod choice;
pub mod completions;
pub mod driver;
pub mod epoll;
pub mod features;
pub mod inherited;
mod lingering;
mod listening;
pub mod operations;
#[doc(hidden)]
pub mod payloads;
mod peers;
mod pool;
pub mod probe;
pub mod secured;
pub mod signal;
pub mod sim;
#[cfg(test)]
#[path = "../../tests/skip.rs"]
mod skip;
mod slots;
mod socket;
pub mod uring;
pub mod waker;
mod writing;

pub use choice::{EngineChoice, Kind, decide};
pub use completions::Completions;
pub use driver::{
    Address, Broken, Capabilities, Close, Completion, Config, Driver, EngineCounters, Event, Fault,
    Lent, Listen, Listening, OpenError, Payload, QUIET_BYTES_MAX, Refused, Secure, Share,
    SocketOptions, Template, Token, TunnelFault, Until,
};
pub use features::{Feature, Without};
/// The limit of open files, which every driver lives under.
pub use measure::descriptors;
pub use socket::bind_to_device;
/// Timers stand above the driver, which knows one deadline a turn: the wheel yields it.
pub use timers;
pub use waker::Waker;
