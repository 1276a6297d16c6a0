//! What of a failed probe the generator may have made itself, and how much of it.
//!
//! A generator that stood still, or sent late, sends what fell due meanwhile in one go, and reads
//! late what came meanwhile. That excuses a time that is too long by no more than it stood still,
//! as many failures as fell due in it, and timeouts only if it was late by a good part of the time
//! limit. What nobody can have caused but the subject is never excused: a server that was
//! away, or one that refuses much more than a burst.

use load::Record;
use load::check::{self, Threshold};
use measure::record::Stall;

use super::{SERVED_MIN, Wrong, served};
use crate::flows::Counted;

/// A stall counts if it is as long as this share of a limit, or of what a window may lose.
const STALL_SHARE: f64 = 0.5;
/// Timeouts may be the generator's own if it was late by this share of the time limit.
const TIMEOUT_SHARE: f64 = 0.5;
/// A late generator sends in bursts all the time, of which a subject may refuse so much of all.
const REFUSED_SHARE_MAX: f64 = 0.1;

/// What the generator has to say for itself.
#[derive(Debug)]
pub(super) struct Excuse {
    /// Why it was the limit, if it was.
    limited: Option<String>,
    /// Its longest stall, if it had one.
    stall: Option<Stall>,
    /// By how much it was late at most, in seconds.
    late_s: f64,
}

/// What came to nothing, of so many exchanges.
#[derive(Clone, Copy, Debug)]
struct Failures {
    of: u64,
    failed: u64,
    unfinished: u64,
    /// Of those that failed.
    timeouts: u64,
}

impl Excuse {
    pub(super) fn of(record: &Record) -> Excuse {
        let generator = &record.generator;
        let limited = generator.limited.then(|| generator.limited_reason.clone());
        let stall_us = generator.longest_stall.map_or(0.0, |stall| stall.length_us);
        let late_us = generator.counters.get("own_lateness_max_us");
        let late_us = late_us.map_or(0.0, |late_us| *late_us as f64);
        Excuse {
            limited,
            stall: generator.longest_stall,
            late_s: late_us.max(stall_us) / 1e6,
        }
    }

    /// Why the generator alone may have broken a condition that is broken; none where it can't.
    pub(super) fn explains(&self, broken: &Threshold, record: &Record) -> Option<String> {
        // Whether it means what it says at all.
        let judged = check::judge(std::slice::from_ref(broken), record);
        let not_judged = judged.into_iter().find_map(|one| one.reason);
        // Where nothing succeeded, it's why that counts.
        let nothing = broken.is_about_times() && record.exchanges.completed == 0;
        if not_judged.is_some() && !nothing {
            return not_judged;
        }
        if broken.is_about_times() {
            return self
                .limited
                .clone()
                .or_else(|| self.delayed(broken, record));
        }
        let without = self.without_failures(record);
        let is_excused = broken.evaluate(&without).ok;
        is_excused.then(|| self.sentence()).flatten()
    }

    /// Why the generator alone may have kept so much from being answered.
    pub(super) fn explains_what_is_missing(
        &self,
        slo: &[Threshold],
        record: &Record,
    ) -> Option<String> {
        let due = due(record);
        let waits = record.waits.and_then(|waits| waits.counts);
        let unreachable = waits.map_or(0, |counts| counts.unreachable) as f64;
        if unreachable > (1.0 - SERVED_MIN) * due {
            return None;
        }
        let missing = (1.0 - served(slo, record)) * due;
        // What it sends late, or in a burst, may be refused, but only so much of it.
        let wrong = Wrong::of(record).map_or(0.0, |wrong| wrong.count() as f64);
        let is_missing = !slo.iter().any(Threshold::is_about_failures);
        let burst = (REFUSED_SHARE_MAX * due).max(self.stalled(record));
        if is_missing && wrong > burst {
            return None;
        }
        if self.limited.is_some() || missing <= self.stalled(record) {
            return self.sentence();
        }
        None
    }

    /// Why it alone may have delayed answers so far, and so many of them.
    fn delayed(&self, broken: &Threshold, record: &Record) -> Option<String> {
        let (stall, limit_s) = (self.stall?, broken.limit_s()?);
        let stall_s = stall.length_us / 1e6;
        let touched_s = broken.share_that_breaks() * record.duration_s;
        let is_long = stall_s >= STALL_SHARE * limit_s && stall_s >= STALL_SHARE * touched_s;
        // Nothing waits longer for what piled up in a stall than the stall took.
        let bound = broken.with_limit_s(limit_s + stall_s);
        (is_long && bound.evaluate(record).ok).then(|| stood_still(stall))
    }

    /// The record without the failures that the generator may have caused, in all and of each step.
    fn without_failures(&self, record: &Record) -> Record {
        let mut without = record.clone();
        let all = &mut without.exchanges;
        let whole = Failures {
            of: all.completed + all.failed + all.unfinished,
            failed: all.failed,
            unfinished: all.unfinished,
            timeouts: record.errors.get("timeout").copied().unwrap_or_default(),
        };
        let (failed, unfinished) = self.caused(record, whole, whole.of);
        all.failed -= failed;
        all.unfinished -= unfinished;
        all.completed += failed + unfinished;
        all.never_sent = all.never_sent.min(all.unfinished);
        for step in &mut without.steps {
            let own = Failures {
                of: step.completed + step.failed + step.unfinished,
                failed: step.failed,
                unfinished: step.unfinished,
                timeouts: step.errors.get("timeout").copied().unwrap_or_default(),
            };
            let (failed, unfinished) = self.caused(record, own, whole.of);
            step.failed -= failed;
            step.unfinished -= unfinished;
            step.completed += failed + unfinished;
        }
        without
    }

    /// How many of these failed, and are unfinished, by the generator's doing at most; `all` is
    /// what they are a part of.
    fn caused(&self, record: &Record, seen: Failures, all: u64) -> (u64, u64) {
        let timeouts = seen.timeouts.min(seen.failed);
        let answered_badly = seen.failed - timeouts;
        let stalled = self.stalled(record) * seen.of as f64 / all.max(1) as f64;
        let in_bursts = match self.limited {
            Some(_) => REFUSED_SHARE_MAX * seen.of as f64,
            None => stalled,
        };
        let took = (answered_badly as f64).min(in_bursts) as u64;
        if self.late_s < TIMEOUT_SHARE * record.plan.timeout_s {
            return (took, 0);
        }
        let unanswered = timeouts + seen.unfinished;
        let ours = match self.limited {
            Some(_) => unanswered,
            None => unanswered.min((stalled as u64).saturating_sub(took)),
        };
        let of_failed = ours.min(timeouts);
        (took + of_failed, ours - of_failed)
    }

    /// How many exchanges its longest stall can have touched, where it is long enough to count.
    fn stalled(&self, record: &Record) -> f64 {
        let stall_s = self.stall.map_or(0.0, |stall| stall.length_us / 1e6);
        if stall_s < STALL_SHARE * (1.0 - SERVED_MIN) * record.duration_s {
            return 0.0;
        }
        let plan = &record.plan;
        let under_way = f64::from(plan.connections) * f64::from(plan.depth());
        stall_s / record.duration_s * due(record) + under_way
    }

    /// Why it was not in time.
    fn sentence(&self) -> Option<String> {
        let limited = self.limited.clone();
        limited.or_else(|| self.stall.map(stood_still))
    }
}

fn stood_still(stall: Stall) -> String {
    format!("{stall}, which alone may have failed it")
}

/// Exchanges, or flows of users, that fell due in the window.
fn due(record: &Record) -> f64 {
    Counted::of(record).offered * record.duration_s
}
