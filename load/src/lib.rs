//! The generator: sessions, the worker loops of run and hold, checks.
//!
//! A [`plan::Plan`] holds everything a run needs; [`run()`] carries it out and returns a
//! [`Record`]. Inside, each worker is one pinned thread with a driver of its own and one loop for
//! every kind of run (`worker`); a [`hold`] has a loop of its own on the same connection core. The
//! schedule is a pure function of plan and seed ([`plan::schedule`]), a session is the client side
//! of one connection (`session`), and what belongs to the measured window goes into a tally
//! (`session::recorder`). Whether the generator itself was the limit is judged in `limit`.
//!
//! Knows nothing of the server, of subjects and of how a record is shown. It reads no arguments,
//! but its errors and warnings name the flags that help.
#![forbid(unsafe_code)]

mod asked;
mod back_off;
mod connection;
mod crew;
mod gate;
mod ground;
pub mod hold;
mod limit;
mod ports;
mod requests;
mod run;
mod script;
mod stalls;
mod surroundings;
mod tried;
mod watchdog;
mod worker;

#[cfg(test)]
mod tests;

pub use asked::verify;
pub use check::{self, Record};
pub use crew::{Phase, Progress};
pub use engine::signal::{Signal, Stop};
pub use limit::lost_track;
pub use plan::{self, Plan, Redaction, protocol, redaction, schedule};
pub use probe::{
    Answer, CallEnd, LoadError, grpc, look_up, probe, speaks_otherwise, unless_stopped,
    wrong_scheme,
};
pub use run::{Unseen, Watcher, grpc_status, run, run_watched};
pub use script::Finish;
pub use tried::try_flow;
pub use watchdog::Hang;

/// The JSON Schema of [`Record`], as indented JSON.
pub fn record_schema() -> String {
    measure::record::schema_json::<plan::Recorded>()
}
