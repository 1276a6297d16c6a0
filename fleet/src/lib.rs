//! Many machines as one generator: what a coordinator and its agents say to each other, when, and
//! what is made of it.
//!
//! One run, one [`coordinator::Coordinator`], as many [`agent::Agent`]s as it asks for. The
//! coordinator divides a load among them ([`division`]), has them begin at the same moment
//! ([`clock`]), and adds up what they counted. Both are machines: [`coordinator::Event`]s and the
//! time go in, [`coordinator::Action`]s come out. Between them is a [`bus::Bus`] that may lose,
//! double, delay and reorder messages ([`message`]); an end in memory that does all of that, and a
//! suite that every end has to pass, are in [`memory`] and [`conformance`].
//!
//! What is promised, and what the simulator in the tests holds it to:
//!
//! - The figures of the run are the sum of what all agents counted, to the last request. A record
//!   says `complete` only where each agent's chain of digests ([`chain`]) was followed from its
//!   first interval to its last, and its totals agree.
//! - An agent whose coordinator is silent for [`agent::DEAD_MAN_NS`] ends its load by itself.
//! - Every run ends, whoever dies.
//!
//! Nothing here has a socket, a clock or a thread, knows what a load is made of, or trusts what it
//! is sent: a message that makes no sense is counted and otherwise ignored. Who may send one at all
//! is the bus's to decide.
#![forbid(unsafe_code)]

pub mod agent;
pub mod bus;
pub mod chain;
pub mod clock;
pub mod conformance;
pub mod coordinator;
pub mod counted;
mod course;
pub mod division;
pub mod memory;
pub mod message;
pub mod record;
mod totals;
mod words;

pub use totals::Totals;
pub use words::{AgentName, Epoch, Member, Name, RunId, Sender, Text, Verdict};
