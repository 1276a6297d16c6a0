//! What is asked of comparisons, of one and of many, each with a model and pages of its own.
//!
//! - [`compare`](mod@compare): one comparison, written up.
//! - [`sweep`](mod@sweep): the same comparison at several values of one setting.
//! - [`trials`]: the same comparison again and again, whose outcome is known.
//! - [`claims`]: what others say of servers, put to the test.
//! - [`diff`]: two measurements of the same thing at different times.
//! - [`rebuild`]: the reports of what was measured before, made again from the records.
//!
//! What one comparison measures and what it is worth is the affair of [`lab`], and the parts of the
//! pages are those of [`report`].
#![forbid(unsafe_code)]

mod cases;
pub mod claims;
pub mod compare;
pub mod diff;
#[cfg(test)]
#[path = "../../tests/made_up.rs"]
mod made_up;
pub mod rebuild;
#[cfg(test)]
#[path = "../../tests/searched.rs"]
mod searched;
#[cfg(test)]
#[path = "../../tests/snapshot.rs"]
mod snapshot;
pub mod sweep;
pub mod trials;

pub use compare::{Outcome, compare, compare_from};
pub use sweep::{Swept, sweep, sweep_from};
