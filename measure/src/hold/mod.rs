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
//! - A heartbeat is *due* once in each interval on every connection, from the end of its first
//!   attempt to the end of the hold. It is *sent*, or *skipped* because the one before is still
//!   unanswered or the connection is down: due = sent + skipped, always.
//! - A *write failure* is a heartbeat that was sent in vain, or that was due on a connection that
//!   was down or while one that then failed was unanswered.

mod record;
mod tally;

#[cfg(test)]
mod tests;

pub use record::{
    Connections, Facts, Heartbeats, Histograms, Memory, Record, Row, SCHEMA_VERSION, schema_json,
};
pub use tally::{Counts, Skipped, Tally};
