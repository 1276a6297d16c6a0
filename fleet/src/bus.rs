//! What carries messages: subjects that anybody may listen at, and nothing that is promised.
//!
//! A bus may lose, double, delay and reorder what is published; a coordinator and its agents find
//! out by themselves what is missing. So a bus needs neither acknowledgements nor streams, and a
//! broker that was restarted has lost nothing that matters.

use std::fmt;

use bytes::Bytes;

use crate::words::{AgentName, RunId};

/// Where a message is published, and who listens there.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Subject {
    /// All agents that wait for a run.
    Call,
    /// All agents of a run.
    Agents(RunId),
    /// One agent: its inbox.
    Agent(AgentName),
    /// The coordinator of a run: its inbox, and where another one shows up.
    Coordinator(RunId),
}

impl fmt::Display for Subject {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Subject::Call => f.write_str("ringside.call"),
            Subject::Agents(run) => write!(f, "ringside.run.{run}.agents"),
            Subject::Agent(name) => write!(f, "ringside.agent.{name}"),
            Subject::Coordinator(run) => write!(f, "ringside.run.{run}.coordinator"),
        }
    }
}

/// Why something wasn't published.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Refused {
    /// It is longer than a message may be.
    TooLong,
    /// The broker is away. What was published in the meantime is lost; subscriptions hold once it
    /// is back.
    Away,
}

/// One end of a bus.
pub trait Bus {
    /// Listens at a subject, from now on. Nothing of what was published before comes.
    fn subscribe(&mut self, subject: &Subject);

    /// Listens there no longer.
    fn unsubscribe(&mut self, subject: &Subject);

    /// Says something to all who listen there, itself among them.
    ///
    /// # Errors
    /// Where it is sure that nobody will hear it. That there is no error promises nothing.
    fn publish(&mut self, subject: &Subject, message: Bytes) -> Result<(), Refused>;

    /// Something that has come, if anything has.
    fn next(&mut self) -> Option<Bytes>;
}
