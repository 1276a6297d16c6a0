//! The outcome of holding connections: a tally per worker, and the record of them all.
//!
//! A hold has no throughput. It has connections that are open or aren't, and heartbeats to find
//! out. Everything is counted from the first attempt to connect; only *survival* depends on when
//! the hold began, which is when every connection has been tried.
//!
//! - A connection is *lost* if it was open and then ended, no matter who ended it and how politely,
//!   or if it left a heartbeat unanswered. Connections that end only because the hold is over
//!   aren't lost.
//! - It *survives* if it was open when the hold began and was never lost.
//! - A *reconnect* is a connection that replaces one that was lost.
//! - A heartbeat is *due* once in each interval on every connection, from the end of its first
//!   attempt to the end of the hold. It is *sent*, or *skipped* because the one before is still
//!   unanswered or the connection is down: due = sent + skipped, always.
//! - A *broadcast* is a message that one connection says, and that every other is to hear. Its
//!   *listeners* are the connections that stand when it's due. How long it takes is counted from
//!   when it was due, not from when it was sent.
//! - A *write failure* is a heartbeat that failed, or that fell due while the connection was down
//!   or while waiting for one that then failed.

mod broadcasts;
mod footprint;
mod line;
mod record;
mod tally;

#[cfg(test)]
mod tests;

pub use broadcasts::{Broadcast, Broadcasts, Heard, One};
pub use footprint::Footprint;
pub use line::{Line, interval_schema_json};
pub use record::{
    Connections, Facts, Heartbeats, Histograms, Memory, Record, Row, SCHEMA_VERSION, schema_json,
};
pub use tally::{Counted, Counts, Skipped, Tally};
