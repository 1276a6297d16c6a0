//! What coordinators and agents say, and how it is written.
//!
//! A message is a header and what is said, both in the format of `postcard`. The header's form
//! never changes: [`MAGIC`], the version of the rest, and the version of the program. What is said
//! can change with every version of the wire, and then [`WIRE`] has to be raised: one that speaks
//! another version is never guessed at but refused, with both versions named.
//!
//! Whatever bytes come, reading them takes no more memory than a small multiple of their length,
//! of which [`MESSAGE_MAX`] is the bound, and panics never.

use std::fmt;

use bytes::Bytes;
use serde::{Deserialize, Serialize};

use crate::chain::Digest;
use crate::division::Place;
use crate::totals::Totals;
use crate::words::{Epoch, HOST_MAX, Member, RunId, Text, Verdict};

/// What every message begins with.
pub const MAGIC: [u8; 4] = *b"RSFL";
/// The version of what follows the header.
pub const WIRE: u16 = 6;
/// The longest message in bytes, which is what a NATS server takes if nobody says otherwise.
pub const MESSAGE_MAX: usize = 1 << 20;
/// The longest plan in bytes.
pub const PLAN_MAX: usize = MESSAGE_MAX - (1 << 16);
/// The most entries of a list in a message.
pub const LIST_MAX: usize = 64;

/// What somebody says.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum Said {
    /// A coordinator of a run, to one or all agents or to another coordinator.
    Order {
        /// The run.
        run: RunId,
        /// Which coordinator.
        epoch: Epoch,
        /// What.
        order: Order,
    },
    /// An agent, to the coordinator of a run.
    Report {
        /// The run.
        run: RunId,
        /// Which agent.
        from: Member,
        /// What.
        report: Report,
    },
}

/// What a coordinator says. What has a `to` is for that life of that agent alone.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum Order {
    /// To other coordinators: this one wants the run.
    Claim,
    /// To another coordinator: the run is taken.
    Taken,
    /// To all agents that wait: so many are called for.
    Call {
        /// How many.
        agents: u32,
        /// Of all runs that belong together, such as a search's: the same for each of them.
        series: Epoch,
    },
    /// What the agent is to do, before anything begins.
    Plan {
        /// Who.
        to: Member,
        /// Which workers are the agent's.
        place: Place,
        /// What the load is; the bus's users know its form.
        plan: Bytes,
        /// What makes two plans the same, however they were signed.
        same: Digest,
        /// The files that it needs.
        data: Vec<DataFile>,
    },
    /// The agent isn't wanted, or not any more.
    Refuse {
        /// Who.
        to: Member,
        /// Why.
        why: Text,
    },
    /// To be answered at once: a round trip for the clocks.
    Ping {
        /// Who.
        to: Member,
        /// Which of them.
        number: u32,
        /// When it was sent, by the coordinator's clock.
        sent_ns: u64,
    },
    /// Load from this moment on.
    Begin {
        /// Who.
        to: Member,
        /// By the agent's own clock.
        at_ns: u64,
        /// Which workers are the agent's. Somebody else may have sent it a plan that is good for
        /// all agents before the coordinator did, with another place than this one.
        place: Place,
    },
    /// The coordinator is there.
    Beat,
    /// Send these intervals again.
    Ask {
        /// Who.
        to: Member,
        /// Their numbers: from, and the one after the last.
        numbers: Vec<(u64, u64)>,
    },
    /// The agent runs these workers of agents that were lost as well.
    Move {
        /// Who.
        to: Member,
        /// All that it took over so far, and is to take over.
        places: Vec<Place>,
        /// Which of the moves this is.
        turn: u32,
    },
    /// End the load.
    Stop {
        /// Why.
        why: Stop,
    },
    /// The coordinator is another one than before: whoever is in the run, say where you are.
    Recall,
    /// The record with all intervals up to this digest is kept: forget them.
    Confirm {
        /// Who.
        to: Member,
        /// The last one's.
        chain: Digest,
    },
    /// To all agents, from whoever looks after them and has no run: say who you are.
    Who,
    /// To all agents, from whoever looks after them: end whatever load there is, and say so.
    Halt,
}

/// What an agent says.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum Report {
    /// It follows another coordinator.
    Follows {
        /// Which.
        epoch: Epoch,
    },
    /// It would take part.
    Hello {
        /// How many workers it would run.
        workers: u32,
    },
    /// It has looked at its plan.
    Ready {
        /// Of the plan.
        plan: Digest,
        /// What it has checked; nothing is sent if any of it failed.
        checks: Vec<Check>,
    },
    /// The answer to a ping.
    Pong {
        /// Which.
        number: u32,
        /// As it was asked with.
        sent_ns: u64,
        /// What its own clock showed.
        heard_ns: u64,
    },
    /// It will begin, or has begun.
    Begun {
        /// By its own clock.
        at_ns: u64,
    },
    /// It heard too late of when to begin, and hasn't begun.
    Missed {
        /// How much too late.
        late_ns: u64,
    },
    /// It is there.
    Alive {
        /// How many intervals it has.
        count: u64,
    },
    /// What it counted in a second.
    Interval {
        /// Its number, from 0.
        number: u64,
        /// The chain with it.
        chain: Digest,
        /// All that it has counted, this one included.
        totals: Totals,
        /// A [`crate::counted::Interval`].
        payload: Bytes,
    },
    /// It has taken workers over, or says at its end why not.
    Moved {
        /// Which of the moves.
        turn: u32,
    },
    /// Its load is over.
    Last {
        /// How many intervals it has.
        count: u64,
        /// The chain of all.
        chain: Digest,
        /// All that it counted.
        totals: Totals,
        /// What ended it.
        ended: Ended,
        /// Whether it was the limit.
        verdict: Verdict,
        /// What else went wrong there.
        troubles: Vec<Text>,
        /// The longest time in which it heard nothing of its coordinator.
        silence_ns: u64,
        /// How much later than it should it began; none where it never did.
        late_ns: Option<u64>,
    },
    /// Where it is, for a coordinator that was away.
    Standing {
        /// How many workers it runs.
        workers: u32,
        /// Which they were at first; none before it had a plan.
        place: Option<Place>,
        /// Which it has taken over, and by which of the moves.
        taken: Vec<Place>,
        /// See `taken`; 0 before the first.
        turn: u32,
        /// What makes its plan the same as another; none before it had one.
        same: Option<Digest>,
        /// Whether it was told when to begin.
        has_begun: bool,
        /// How many intervals it has.
        count: u64,
    },
    /// It has forgotten the run.
    Released,
    /// It's in another run, and can't answer the call for this one.
    Busy {
        /// That run.
        run: RunId,
    },
    /// Whoever looks after all agents has ended this run, or one that it belongs with.
    Halted,
    /// It leaves the run before its load has begun.
    Left {
        /// Why.
        why: Text,
    },
    /// Who it is, for whoever asked.
    Here {
        /// How many workers it would run.
        workers: u32,
        /// The run that it's in.
        run: Option<RunId>,
        /// Whether its load goes on, or is about to begin.
        is_loading: bool,
    },
}

/// A file that a plan needs, and what is in it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct DataFile {
    /// Its name in the plan.
    pub name: Text,
    /// Of its content.
    pub digest: Digest,
}

/// Something that an agent looked at before it said that it was ready.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Check {
    /// What.
    pub of: CheckOf,
    /// What is wrong; none where all is well.
    pub fault: Option<Text>,
}

/// What agents look at.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum CheckOf {
    /// Where its owner lets it send load.
    Policy,
    /// Whether its memory is enough.
    Memory,
    /// Whether its limit of open files is high enough.
    Descriptors,
    /// Whether its files are the coordinator's.
    Data,
    /// The plan itself.
    Plan,
}

/// Why a coordinator ends the load.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum Stop {
    /// Somebody asked for it.
    Asked,
    /// An agent was lost, and the others were to end then.
    Lost,
    /// It went on for longer than it should.
    TooLong,
    /// It couldn't begin.
    NotBegun,
    /// To one agent, which wasn't heard any more: its share may be others' by now.
    Unheard,
}

/// What ended an agent's load.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum Ended {
    /// The plan was over.
    Plan,
    /// The coordinator.
    Stopped(Stop),
    /// The coordinator's silence.
    DeadMan,
    /// It had no room for more intervals.
    NoRoom,
    /// Whoever looks after the agent.
    Left,
    /// It couldn't go on.
    Failed(Text),
    /// Whoever looks after all agents.
    Halted,
}

impl Ended {
    /// Whether that was to be.
    pub fn is_planned(&self) -> bool {
        match self {
            Ended::Plan => true,
            Ended::Stopped(why) => *why != Stop::Unheard,
            _ => false,
        }
    }
}

impl fmt::Display for Ended {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Ended::Plan => f.write_str("its plan was over"),
            Ended::Stopped(Stop::Asked) => f.write_str("the run was stopped"),
            Ended::Stopped(Stop::Lost) => f.write_str("another agent was lost"),
            Ended::Stopped(Stop::TooLong) => f.write_str("the run took longer than planned"),
            Ended::Stopped(Stop::NotBegun) => f.write_str("the run couldn't begin"),
            Ended::Stopped(Stop::Unheard) => f.write_str("the coordinator didn't hear it"),
            Ended::DeadMan => f.write_str("it didn't hear from the coordinator"),
            Ended::NoRoom => f.write_str("it had no room to keep more intervals"),
            Ended::Left => f.write_str("it was stopped on its own machine"),
            Ended::Failed(why) => write!(f, "its load failed: {why}"),
            Ended::Halted => f.write_str("all load was stopped (ringside fleet stop)"),
        }
    }
}

/// What stands before every message.
#[derive(Serialize, Deserialize)]
struct Header<'a> {
    magic: [u8; 4],
    wire: u16,
    program: &'a str,
}

/// A message as it came.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Heard {
    /// The version of the program that sent it.
    pub program: Text,
    /// What it says.
    pub said: Said,
}

/// Why a message can't be read.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Unread {
    /// It is none of ours.
    Foreign,
    /// It is one of ours, and damaged.
    Damaged,
    /// It is longer than any.
    TooLong,
    /// Its sender speaks another version.
    OtherVersion {
        /// That version.
        wire: u16,
        /// The version of its program.
        program: Text,
    },
}

impl fmt::Display for Unread {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Unread::Foreign => f.write_str("a message that isn't ringside's"),
            Unread::Damaged => f.write_str("a damaged message"),
            Unread::TooLong => write!(f, "a message of more than {MESSAGE_MAX} bytes"),
            Unread::OtherVersion { wire, program } => write!(
                f,
                "ringside {program} speaks version {wire} of the fleet's protocol and this one \
                 version {WIRE}: use the same ringside on all machines"
            ),
        }
    }
}

/// A message that is longer than [`MESSAGE_MAX`].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct TooLong {
    /// How long it would be.
    pub bytes: usize,
}

/// Writes a message of this program's version.
///
/// # Errors
/// Where it would be too long for the bus.
pub fn encode(program: &str, said: &Said) -> Result<Bytes, TooLong> {
    let header = Header {
        magic: MAGIC,
        wire: WIRE,
        program,
    };
    // Nothing that is said has a length that isn't known, or is otherwise beyond the format.
    let bytes = postcard::to_allocvec(&(header, said)).unwrap_or_default();
    match bytes.len() {
        1..=MESSAGE_MAX => Ok(bytes.into()),
        bytes => Err(TooLong { bytes }),
    }
}

/// Reads a message.
///
/// # Errors
/// Where it is none, or none of this version.
pub fn decode(bytes: &[u8]) -> Result<Heard, Unread> {
    if bytes.len() > MESSAGE_MAX {
        return Err(Unread::TooLong);
    }
    let (header, rest) =
        postcard::take_from_bytes::<Header<'_>>(bytes).map_err(|_| Unread::Foreign)?;
    if header.magic != MAGIC {
        return Err(Unread::Foreign);
    }
    let program = Text::new(header.program);
    if header.wire != WIRE {
        return Err(Unread::OtherVersion {
            wire: header.wire,
            program,
        });
    }
    match postcard::take_from_bytes::<Said>(rest) {
        Ok((said, [])) if said.is_sound() => Ok(Heard { program, said }),
        _ => Err(Unread::Damaged),
    }
}

impl Order {
    /// Whom it is for, if it's for one agent alone.
    pub fn to(&self) -> Option<&Member> {
        match self {
            Order::Plan { to, .. }
            | Order::Refuse { to, .. }
            | Order::Ping { to, .. }
            | Order::Begin { to, .. }
            | Order::Ask { to, .. }
            | Order::Move { to, .. }
            | Order::Confirm { to, .. } => Some(to),
            Order::Claim
            | Order::Taken
            | Order::Call { .. }
            | Order::Beat
            | Order::Stop { .. }
            | Order::Recall
            | Order::Who
            | Order::Halt => None,
        }
    }
}

impl Said {
    /// Whether what has a length is as short as what we send.
    fn is_sound(&self) -> bool {
        if let Said::Report {
            report: Report::Last { verdict, .. },
            ..
        } = self
            && verdict.sender.host.len() > HOST_MAX
        {
            return false;
        }
        let length = match self {
            Said::Order { order, .. } => match order {
                Order::Plan { data, .. } => data.len(),
                Order::Ask { numbers, .. } => numbers.len(),
                Order::Move { places, .. } => places.len(),
                _ => 0,
            },
            Said::Report { report, .. } => match report {
                Report::Ready { checks, .. } => checks.len(),
                Report::Last { troubles, .. } => troubles.len(),
                Report::Standing { taken, .. } => taken.len(),
                _ => 0,
            },
        };
        length <= LIST_MAX
    }
}
