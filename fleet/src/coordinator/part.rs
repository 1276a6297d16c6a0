//! What a coordinator knows of one of its agents.

use std::collections::BTreeMap;

use bytes::Bytes;

use measure::interval::Phase;
use measure::time::Time;

use crate::agent::AGAIN_MAX;
use crate::chain::{Chain, Digest};
use crate::clock::{Offset, ROUNDS, Rounds};
use crate::counted::{Counted, Interval};
use crate::course::second;
use crate::division::Place;
use crate::message::{Ended, LIST_MAX, Order, Report};
use crate::totals::Totals;
use crate::words::{Member, RunId, Text, Verdict};

/// Intervals that came before those which they follow; more are dropped, and asked for later.
const AHEAD_MAX: usize = 1024;
/// A ping without an answer is sent again after this.
const PING_NS: u64 = 500_000_000;
/// What is missing may still be on its way for so long.
const GRACE_NS: u64 = 500_000_000;
/// Clocks drift by less than this part of the time: a thousandth is more than crystals do.
const DRIFT_PART: u64 = 1000;
/// So many intervals that don't fit its chain, and an agent is no longer asked.
const MISFITS_MAX: u64 = 8;

/// Where the clocks' comparison is.
#[derive(Debug, Default)]
pub(super) struct Clock {
    rounds: Rounds,
    /// The ping that has no answer yet, and when it was sent.
    asked: Option<(u32, Time)>,
    number: u32,
    pub(super) first: Option<Offset>,
    pub(super) last: Option<Offset>,
}

/// What an agent said when its load was over.
#[derive(Clone, Debug)]
pub(super) struct Last {
    count: u64,
    chain: Digest,
    totals: Totals,
    pub(super) ended: Ended,
    pub(super) verdict: Verdict,
    pub(super) troubles: Vec<Text>,
    pub(super) silence_ns: u64,
    pub(super) late_ns: Option<u64>,
}

/// An interval as it came.
#[derive(Debug)]
struct Arrived {
    chain: Digest,
    totals: Totals,
    payload: Bytes,
}

/// See the module.
#[derive(Debug)]
pub(super) struct Part {
    pub(super) member: Member,
    pub(super) workers: u32,
    /// Its place at the beginning, and what it took over of agents that were lost.
    pub(super) place: Option<Place>,
    pub(super) taken: Vec<Place>,
    /// The move that it hasn't confirmed.
    pub(super) moving: Option<u32>,
    pub(super) is_ready: bool,
    pub(super) begun: Option<Time>,
    pub(super) clock: Clock,
    /// When it was heard last, and the longest time in which it wasn't.
    pub(super) heard: Time,
    pub(super) silence_ns: u64,
    /// When it was given up.
    pub(super) lost: Option<Time>,
    /// What was decided because it was lost or had ended early.
    pub(super) is_mourned: bool,
    pub(super) is_released: bool,
    /// Whoever looks after all agents has ended its load, or its part in the run.
    pub(super) is_halted: bool,
    pub(super) last: Option<Last>,
    /// All of its intervals from the first on that have come, added up.
    pub(super) chain: Chain,
    pub(super) totals: Totals,
    pub(super) counted: Counted,
    /// The chain with nothing in it.
    empty: Chain,
    /// Those that were added since they were last taken away from here.
    pub(super) linked: Vec<Interval>,
    /// The second up to which it has told what it counted; the last of all once it is over.
    pub(super) reached: u64,
    ahead: BTreeMap<u64, Arrived>,
    /// How many it has said that it has.
    known: u64,
    /// Since when something is missing, and when it was asked for.
    missing_since: Option<Time>,
    /// Why what it sends can't be what it counted.
    pub(super) broken: Option<String>,
    pub(super) duplicates: u64,
    pub(super) asked_again: u64,
    pub(super) misfits: u64,
    /// When something that is repeated was last said to it.
    pub(super) told: Option<Time>,
}

impl Part {
    pub(super) fn new(run: &RunId, member: Member, workers: u32, now: Time) -> Part {
        let empty = Chain::new(run, &member);
        Part {
            chain: empty,
            empty,
            member,
            workers,
            place: None,
            taken: Vec::new(),
            moving: None,
            is_ready: false,
            begun: None,
            clock: Clock::default(),
            heard: now,
            silence_ns: 0,
            lost: None,
            is_mourned: false,
            is_released: false,
            is_halted: false,
            last: None,
            totals: Totals::default(),
            counted: Counted::default(),
            linked: Vec::new(),
            reached: 0,
            ahead: BTreeMap::new(),
            known: 0,
            missing_since: None,
            broken: None,
            duplicates: 0,
            asked_again: 0,
            misfits: 0,
            told: None,
        }
    }

    /// It is there.
    pub(super) fn is_heard(&mut self, now: Time) {
        self.silence_ns = self.silence_ns.max(now.since(self.heard));
        self.heard = now;
    }

    /// Whether it was ended on its own machine, and so is about to leave.
    pub(super) fn leaves(&self) -> bool {
        let last = self.last.as_ref();
        last.is_some_and(|last| last.ended == Ended::Left)
    }

    /// Whether its load may go on.
    pub(super) fn is_loading(&self) -> bool {
        self.begun.is_some() && self.last.is_none() && self.lost.is_none()
    }

    /// Whether nobody else may run its workers: they run, will run, or have run to the end.
    pub(super) fn holds_workers(&self) -> bool {
        match &self.last {
            Some(last) => last.ended.is_planned(),
            None => self.lost.is_none(),
        }
    }

    /// All workers that are its own.
    pub(super) fn places(&self) -> impl Iterator<Item = &Place> {
        self.place.iter().chain(&self.taken)
    }

    /// Whether something repeated is due, which it then is in so long again.
    pub(super) fn is_due(&mut self, every_ns: u64, now: Time) -> bool {
        let is_due = self.told.is_none_or(|told| now.since(told) >= every_ns);
        if is_due {
            self.told = Some(now);
        }
        is_due
    }

    /// It has so many intervals.
    pub(super) fn knows(&mut self, count: u64) {
        self.known = self.known.max(count);
    }

    /// How many intervals it is known to have.
    pub(super) fn known(&self) -> u64 {
        self.known
    }

    /// An interval has come, for the first time or not.
    pub(super) fn take(&mut self, number: u64, chain: Digest, totals: Totals, payload: Bytes) {
        if self.broken.is_some() {
            return;
        }
        self.knows(number.saturating_add(1));
        let next = self.chain.length();
        if number < next || self.ahead.contains_key(&number) {
            self.duplicates += 1;
            return;
        }
        let arrived = Arrived {
            chain,
            totals,
            payload,
        };
        if number > next {
            if self.ahead.len() < AHEAD_MAX {
                self.ahead.insert(number, arrived);
            }
            return;
        }
        let mut arrived = Some(arrived);
        while let Some(link) = arrived.take()
            && self.link(&link)
        {
            arrived = self.ahead.remove(&self.chain.length());
        }
        if self.broken.is_some() {
            self.ahead.clear();
        }
    }

    /// Adds the next interval, if it is what its chain says.
    fn link(&mut self, arrived: &Arrived) -> bool {
        let chain = self.chain.with(&arrived.payload);
        if chain.digest() != arrived.chain {
            self.misfits += 1;
            if self.misfits > MISFITS_MAX {
                let number = self.chain.length();
                self.broken = Some(format!("its interval {number} isn't what its digest says"));
            }
            return false;
        }
        match self.add(arrived) {
            Ok(totals) => {
                (self.chain, self.totals) = (chain, totals);
                true
            }
            Err(why) => {
                self.broken = Some(why);
                false
            }
        }
    }

    fn add(&mut self, arrived: &Arrived) -> Result<Totals, String> {
        let number = self.chain.length();
        let (interval, rest) = postcard::take_from_bytes::<Interval>(&arrived.payload)
            .map_err(|_| format!("its interval {number} can't be read"))?;
        if !rest.is_empty() {
            return Err(format!("there is something behind its interval {number}"));
        }
        let counted = &interval.counted;
        counted
            .check()
            .map_err(|why| format!("its interval {number}: {why}"))?;
        let totals = self.totals.plus(&Totals::of(counted));
        let totals = totals
            .filter(|totals| *totals == arrived.totals)
            .ok_or_else(|| {
                format!("its totals up to interval {number} aren't the sum of its intervals")
            })?;
        if let Err(why) = self.counted.merge(counted) {
            // What is left of a sum that failed is no figure.
            (self.counted, self.totals) = (Counted::default(), Totals::default());
            self.chain = self.empty;
            return Err(why);
        }
        self.reached = self.reached.max(match interval.phase {
            Phase::Measure => second(&interval),
            Phase::Drain => u64::MAX,
        });
        self.linked.push(interval);
        Ok(totals)
    }

    /// Its load is over.
    pub(super) fn take_last(&mut self, report: Report) {
        let Report::Last {
            count,
            chain,
            totals,
            ended,
            verdict,
            troubles,
            silence_ns,
            late_ns,
        } = report
        else {
            return;
        };
        self.knows(count);
        self.is_halted |= ended == Ended::Halted;
        self.last = Some(Last {
            count,
            chain,
            totals,
            ended,
            verdict,
            troubles,
            silence_ns,
            late_ns,
        });
    }

    /// Whether everything that it counted is here, and nothing else.
    pub(super) fn is_proven(&self) -> bool {
        let Some(last) = &self.last else {
            return false;
        };
        self.broken.is_none()
            && last.count == self.chain.length()
            && last.chain == self.chain.digest()
            && last.totals == self.totals
    }

    /// What is missing of it and isn't on its way any longer, if it is to be asked for now.
    pub(super) fn ask(&mut self, now: Time) -> Option<Order> {
        if self.broken.is_some() || self.known <= self.chain.length() {
            self.missing_since = None;
            return None;
        }
        let since = *self.missing_since.get_or_insert(now);
        if now.since(since) < GRACE_NS {
            return None;
        }
        self.missing_since = Some(now);
        let numbers = self.missing();
        self.asked_again += numbers.iter().map(|(from, to)| to - from).sum::<u64>();
        Some(Order::Ask {
            to: self.member.clone(),
            numbers,
        })
    }

    /// The first intervals that are missing, no more than it sends at once.
    fn missing(&self) -> Vec<(u64, u64)> {
        let mut gaps = Vec::new();
        let (mut from, mut left) = (self.chain.length(), AGAIN_MAX);
        let ends = self.ahead.keys().copied().chain([self.known]);
        for end in ends {
            if end > from {
                let to = end.min(from + left);
                gaps.push((from, to));
                left -= to - from;
            }
            from = end + 1;
            if left == 0 || gaps.len() == LIST_MAX {
                break;
            }
        }
        gaps
    }
}

impl Clock {
    /// Whether there is something to compare, at the beginning or once more at the end.
    pub(super) fn is_done(&self, at_end: bool) -> bool {
        match at_end {
            true => self.last.is_some(),
            false => self.first.is_some(),
        }
    }

    /// By how much the agent's clock, or the coordinator's, has moved between the two comparisons
    /// beyond what their errors and any drift explain.
    pub(super) fn jump_ns(&self) -> Option<u64> {
        let (first, last) = self.first.zip(self.last)?;
        let moved = last.ahead_ns.abs_diff(first.ahead_ns);
        let drift = last.at_ns.saturating_sub(first.at_ns) / DRIFT_PART;
        let sure = first.error_ns.saturating_add(last.error_ns);
        (moved > sure.saturating_add(drift)).then_some(moved)
    }

    /// The next ping, unless one is on its way.
    pub(super) fn ping(&mut self, to: &Member, now: Time) -> Option<Order> {
        if self
            .asked
            .is_some_and(|(_, sent)| now.since(sent) < PING_NS)
        {
            return None;
        }
        self.number += 1;
        self.asked = Some((self.number, now));
        Some(Order::Ping {
            to: to.clone(),
            number: self.number,
            sent_ns: now.0,
        })
    }

    /// An answer has come; whether it was awaited.
    pub(super) fn pong(&mut self, number: u32, heard_ns: u64, now: Time, at_end: bool) -> bool {
        let Some((asked, sent)) = self.asked.filter(|_| !self.is_done(at_end)) else {
            return false;
        };
        if asked != number {
            return false;
        }
        self.asked = None;
        self.rounds.add(sent, now, heard_ns);
        if self.rounds.taken() >= ROUNDS {
            let offset = std::mem::take(&mut self.rounds).offset();
            match at_end {
                true => self.last = offset,
                false => self.first = offset,
            }
        }
        true
    }
}
