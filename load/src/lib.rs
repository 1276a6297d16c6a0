//! The generator: plan, schedule, workload, sessions, the one worker loop, recorder.
//!
//! A [`plan::Plan`] says all that a run needs; [`run()`] carries it out and brings back a
//! [`Record`]. Inside, each worker is one pinned thread with a driver of its own and one loop for
//! every kind of load (`worker`). The schedule is a pure function of plan and seed (`schedule`), a
//! session is the client side of one connection (`session`), and what belongs to the measured
//! window goes into a tally (`recorder`). Whether the generator itself was the limit is judged in
//! `limit`.
//!
//! Knows nothing of the server, of subjects, of arguments and of how a record is shown.
#![forbid(unsafe_code)]

mod back_off;
pub mod check;
mod contact;
mod crew;
mod gate;
pub mod grpc;
pub mod hold;
mod lateness;
mod limit;
pub mod plan;
pub mod ports;
mod probe;
pub mod protocol;
mod random;
mod recorder;
pub mod redaction;
mod request;
mod room;
mod run;
pub mod schedule;
mod session;
mod stalls;
mod surroundings;
mod target;
mod tls;
mod waits;
mod worker;

#[cfg(test)]
mod tests;

pub use contact::unless_stopped;
pub use crew::{Phase, Progress};
pub use engine::signal::{Signal, Stop};
pub use plan::Plan;
pub use probe::{Answer, CallEnd, probe};
pub use redaction::Redaction;
pub use run::{RunError, run};

/// The record of a run of this crate.
pub type Record = measure::record::Record<plan::Recorded>;

/// The JSON Schema of [`Record`], as indented JSON.
pub fn record_schema() -> String {
    measure::record::schema_json::<plan::Recorded>()
}
