//! Agents and coordinators of a fleet as processes, over NATS: the program `ringside-fleet`.
//!
//! What they say to each other, when, and what is made of it is `fleet`'s, which has no sockets and
//! no clock. Here are its two machines' owners ([`agent`], [`conductor`]), the bus ([`nats`]), what
//! an agent's load is ([`work`], on `load`), how files get there ([`store`]), and what an agent's
//! owner allows ([`policy`]); and whoever looks after all agents ([`everyone`]). What is asked for
//! on a command line, and how a run is reported, is `ringside`'s own (`cli`).
//!
//! Each process has one thread for all of this, which measures nothing; an agent's load has its own
//! threads, and hands over what it counted once a second.
#![forbid(unsafe_code)]

pub mod agent;
mod audit;
pub mod beside;
pub mod conductor;
pub mod everyone;
mod folder;
mod held;
pub mod local;
pub mod manifests;
pub mod nats;
mod orders;
pub mod policy;
mod rates;
mod result;
mod sent;
mod sight;
pub mod signed;
pub mod store;
mod taken;
mod task;
mod told;
mod traced;
mod work;

use std::collections::hash_map::RandomState;
use std::hash::BuildHasher;

use fleet::Epoch;
use measure::time::unix_nanoseconds;

/// The version of the program, which all machines of a fleet must have.
pub const VERSION: &str = env!("CARGO_PKG_VERSION");

/// The epoch of a process that begins now.
fn epoch() -> Epoch {
    Epoch {
        number: (unix_nanoseconds() / 1_000_000) as u64,
        // The standard library's own seeds, which it asks the kernel for.
        nonce: RandomState::new().hash_one(std::process::id()),
    }
}
