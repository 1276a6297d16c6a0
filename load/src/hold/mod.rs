//! Holding connections: many that stand for long, and a heartbeat on each to find out whether they
//! do.
//!
//! [`prepare`] makes sure that a plan can be carried out here: it chooses how many workers so many
//! connections call for, and from which addresses so many connections find their ports.
//! [`Hold::carry_out`] opens the connections at their rate, keeps them, and brings back a
//! [`Record`]; what its words mean is said in [`measure::hold`]. Each worker is a pinned thread
//! with a driver of its own, as in a run, but its loop (`worker`) is another: it has no schedule of
//! exchanges, and it sleeps where a run spins.

mod judge;
mod prepare;
mod worker;

#[cfg(test)]
mod tests;

pub use ::check::hold::{OfHold, Record, Threshold};
pub use plan::hold::{BackOff, Plan, Recorded};
pub use prepare::{EACH, Hold, prepare};

/// The JSON Schema of [`Record`], as indented JSON.
pub fn record_schema() -> String {
    measure::hold::schema_json::<Recorded>()
}
