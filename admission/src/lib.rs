//! Who is let in, and who is turned away: the decisions of a server under load.
//!
//! Five parts. [`rate`], [`breaker`], [`limit`] and [`queue`] know nothing of each other; [`gate`]
//! combines [`limit`] and [`queue`].
//!
//! - [`rate`]: so many requests a second for each key, in a table of a fixed size that threads
//!   share without a lock;
//! - [`breaker`]: whether something that keeps failing is asked at all;
//! - [`limit`]: how many requests may be under way at once, found from how long they take;
//! - [`queue`]: who waits for room, in which order, and for how long at most;
//! - [`gate`]: a limit with a queue in front: who begins now, who waits, who is refused.
//!
//! No part reads a clock, sleeps or does I/O: the time is an argument, so tests and simulations are
//! exact. What goes back in time is taken as no time passed.
#![forbid(unsafe_code)]

pub mod breaker;
pub mod gate;
pub mod limit;
pub mod queue;
pub mod rate;

#[cfg(test)]
mod simulated;
