//! The server: services and connections on the same engine.
//!
//! [`start`] opens one worker for each thread: a driver, a listener of its own and the loop that
//! serves it. Workers share nothing, so nothing is locked. [`Running::join`] returns once the
//! [`Stop`] is requested and everything in flight has finished, and says what was done.
//!
//! From the outside in: `worker` knows sockets and no protocol; `connection` knows a protocol and
//! no sockets; a `service`, or a method in `grpc`, knows what to answer and neither. `site` is what
//! the connections of a worker share.
//!
//! This crate does not know load, measurements or the command line. Its speed is a yardstick for
//! others, so the usual path (a small request that repeats itself) takes one comparison of the
//! head and one copy of an answer that is kept encoded: no allocation, no formatting, no timer.
//!
//! [`Stop`]: engine::signal::Stop
#![forbid(unsafe_code)]

mod answer;
mod config;
mod connection;
mod grpc;
mod pattern;
mod service;
mod services;
mod site;
mod start;
mod summary;
mod worker;

pub use config::{Config, Limits, Timeouts, Tls};
pub use start::{Running, StartError, start};
pub use summary::{Counts, Rejections, Summary};
