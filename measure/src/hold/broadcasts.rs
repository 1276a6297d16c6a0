//! Broadcasts of a hold: messages that one connection says, and that all others are to hear.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::histogram::Histogram;
use crate::record::{EndedBy, Times};

/// A share of an interval by which sums of seconds may be wrong.
const ROUNDING: f64 = 1e-6;

/// What one worker counted of broadcasts.
#[derive(Clone, Debug, Default)]
pub struct Broadcasts {
    /// By their numbers.
    pub each: Vec<Broadcast>,
    /// From when a broadcast was due until a listener heard it.
    pub heard_after: Histogram,
    /// Broadcasts that a connection heard more than once.
    pub again: u64,
}

/// What one worker counted of one broadcast.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Broadcast {
    /// Whether this worker had the connection that says it, and it stood: 1 or 0.
    pub said: u64,
    /// From when it was due until it was said, in nanoseconds.
    pub late_ns: u64,
    /// Connections that stood when it was due.
    pub listeners: u64,
    /// Those of them that heard it.
    pub heard: u64,
    /// From when it was due until the last of them did, in nanoseconds.
    pub last_ns: u64,
}

impl Broadcasts {
    /// The broadcast of this number. A worker may hear one before it has looked whether it's due.
    pub fn of(&mut self, number: u32) -> &mut Broadcast {
        let at = number as usize;
        if at >= self.each.len() {
            self.each.resize(at + 1, Broadcast::default());
        }
        &mut self.each[at]
    }

    /// A listener heard the broadcast of this number, so long after it was due.
    pub fn heard(&mut self, number: u32, nanoseconds: u64) {
        let broadcast = self.of(number);
        broadcast.heard += 1;
        broadcast.last_ns = broadcast.last_ns.max(nanoseconds);
        self.heard_after.record(nanoseconds);
    }

    /// Those that everybody had an interval's time to hear, and those that a signal which ended the
    /// hold after `held_s` has cut off.
    pub fn apart(
        &self,
        interval_s: f64,
        held_s: f64,
        ended_by: EndedBy,
    ) -> (&[Broadcast], &[Broadcast]) {
        let whole = match ended_by {
            EndedBy::Interrupt | EndedBy::Terminate => (held_s / interval_s + ROUNDING) as usize,
            _ => usize::MAX,
        };
        self.each.split_at(whole.min(self.each.len()))
    }

    /// Forgets everything, keeps the memory.
    pub(super) fn clear(&mut self) {
        self.each.clear();
        self.heard_after.clear();
        self.again = 0;
    }

    /// Adds what another worker counted of the same broadcasts.
    pub(super) fn merge(&mut self, other: &Broadcasts) {
        let most = self.each.len().max(other.each.len());
        self.each.resize(most, Broadcast::default());
        for (mine, theirs) in self.each.iter_mut().zip(&other.each) {
            mine.said += theirs.said;
            mine.late_ns = mine.late_ns.max(theirs.late_ns);
            mine.listeners += theirs.listeners;
            mine.heard += theirs.heard;
            mine.last_ns = mine.last_ns.max(theirs.last_ns);
        }
        self.heard_after.merge(&other.heard_after);
        self.again += other.again;
    }
}

/// What happened to the broadcasts.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Heard {
    /// Broadcasts that fell due.
    pub due: u64,
    /// Of those: cut off by a signal before everybody had had an interval's time to hear it. They
    /// count neither as said nor as heard.
    #[serde(default)]
    pub cut_off: u64,
    /// Said, because the connection that was to say it stood, or another one of its worker.
    pub said: u64,
    /// Connections that stood when a broadcast was due, summed over those that were said.
    pub listeners: u64,
    /// Of those: heard the broadcast.
    pub heard: u64,
    /// `heard` ÷ `listeners`, 0 to 1; null without any.
    pub heard_share: Option<f64>,
    /// How often a connection heard a broadcast that it had heard, also one that was cut off.
    pub again: u64,
    /// From when a broadcast was due until a listener heard it, also of those that were cut off.
    pub heard_after_us: Times,
    /// From when a broadcast was due until the last listener that heard it did: one time for each
    /// broadcast.
    pub last_after_us: Times,
    /// Each broadcast, in the order in which they were due.
    pub each: Vec<One>,
    /// The whole distribution of `heard_after_us` in nanoseconds, as in `histograms`.
    pub heard_after: String,
}

/// One broadcast.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct One {
    /// Seconds from the start of the hold until it was due.
    pub at_s: f64,
    /// From then until it was said; null if it wasn't.
    pub late_us: Option<f64>,
    /// Connections that stood when it was due.
    pub listeners: u64,
    /// Those of them that heard it.
    pub heard: u64,
    /// From when it was due until the last of them did; null if nobody did.
    pub last_us: Option<f64>,
}

impl Heard {
    /// What all workers counted, merged, of broadcasts that were due every `interval_s`; `None`
    /// where none was.
    pub(super) fn of(
        all: &Broadcasts,
        (interval_s, held_s): (f64, f64),
        ended_by: EndedBy,
    ) -> Option<Heard> {
        if all.each.is_empty() {
            return None;
        }
        let (whole, cut_off) = all.apart(interval_s, held_s, ended_by);
        let said = || whole.iter().filter(|one| one.said > 0);
        let sum = |of: fn(&Broadcast) -> u64| said().map(of).sum::<u64>();
        let (listeners, heard) = (sum(|one| one.listeners), sum(|one| one.heard));
        let mut last = Histogram::new();
        said()
            .filter(|one| one.heard > 0)
            .for_each(|one| last.record(one.last_ns));
        let us = |nanoseconds: u64| nanoseconds as f64 / 1e3;
        let each = all.each.iter().enumerate().map(|(number, one)| One {
            at_s: number as f64 * interval_s,
            late_us: (one.said > 0).then(|| us(one.late_ns)),
            listeners: one.listeners,
            heard: one.heard,
            last_us: (one.heard > 0).then(|| us(one.last_ns)),
        });
        Some(Heard {
            due: all.each.len() as u64,
            cut_off: cut_off.len() as u64,
            said: said().count() as u64,
            listeners,
            heard,
            heard_share: (listeners > 0).then(|| heard as f64 / listeners as f64),
            again: all.again,
            heard_after_us: Times::of(&all.heard_after),
            last_after_us: Times::of(&last),
            each: each.collect(),
            heard_after: all.heard_after.to_hdr_v2_base64(),
        })
    }
}
