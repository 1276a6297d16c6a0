//! What happens to a subject in a round: the phases of its load, and faults on purpose. At times
//! that a comparison's file says, it or what stands beside it is killed, stopped, sent a signal or
//! robbed of its processor; or connections to it are delayed, slowed down, reset, or carry nothing.
//!
//! [`phase`] reads and validates the phases, and [`schedule`] the faults; [`arrivals`] says which
//! seed a load has in which round; [`intervene`] does what a
//! fault is, and [`injection`] does and undoes it at its time beside a load. What it cost is in
//! [`cost`], and what that leaves of a window's worth in [`worth`].
//!
//! What was done is undone on every way out: a stopped process is continued and a burner ended when
//! the load is over, however that came; should this program be killed, the guards of the processes
//! kill what was stopped, and the burner.
//!
//! Knows no rounds and no rows, and of what a load measures only its record.
#![forbid(unsafe_code)]

pub mod arrivals;
pub mod cost;
pub mod injection;
pub mod intervene;
pub mod phase;
pub mod schedule;
pub mod worth;

pub use cost::Injected;
pub use injection::inject;
pub use schedule::{Broken, Fault, Kind};
