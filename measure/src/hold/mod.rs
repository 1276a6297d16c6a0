//! What connections that are held come to: a tally of each worker, and the record of them all.
//!
//! A hold has no throughput. It has connections that stand or do not, and heartbeats by which one
//! finds out. Everything is counted from the first attempt to connect on; only *survival* has the
//! beginning of the hold in it, which is when every connection has been tried.
//!
//! - A connection is *lost* when it stood and then ended, whoever ended it and however politely, or
//!   when it left a heartbeat unanswered. What ends only because the hold is over is not lost.
//! - It *survives* if it stood when the hold began and was never lost, from its first moment on.
//! - A *reconnect* is a connection that stands again in the place of one that was lost.
//! - A heartbeat is due only on a connection that stands.

mod record;
mod tally;

#[cfg(test)]
mod tests;

pub use record::{
    Connections, Facts, Heartbeats, Histograms, Memory, Record, Row, SCHEMA_VERSION, schema_json,
};
pub use tally::{Counts, Tally};
