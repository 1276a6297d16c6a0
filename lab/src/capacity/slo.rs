//! Did a rate hold? From the record of one probe to a verdict.
//!
//! Besides the conditions that were asked for, a rate holds only if it was served: a subject that
//! lets the requests queue answers all of them in the end. What passes passes however late the
//! generator was, since its lateness is part of every response time. What fails is the subject's
//! failure only if the generator was in time, or if the subject said so itself and loudly, by answers
//! with another status than expected.

use load::Record;
use load::check::{self, Threshold};

use super::search::Verdict;
use crate::statistics::quantile;

/// Answered ÷ offered below this was not served.
const SERVED_MIN: f64 = 0.99;
/// A late generator sends in bursts, which a subject may refuse. But it is not the generator's doing
/// where so many of all exchanges fail, and most of those by an answer.
const FAILED_BY_ITSELF_MIN: f64 = 0.1;

/// What a probe's record says.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Judgement {
    pub(super) verdict: Verdict,
    /// What decided, in words.
    pub(super) why: String,
}

/// The fewest exchanges of a window from which all conditions can be judged.
pub(super) fn exchanges_min(slo: &[Threshold]) -> u64 {
    let each = slo.iter().filter_map(Threshold::quantile);
    each.map(quantile::exchanges_min).max().unwrap_or(1)
}

/// Judges one probe.
pub(super) fn judge(slo: &[Threshold], record: &Record) -> Judgement {
    let of = |verdict, why: String| Judgement { verdict, why };
    let exchanges = &record.exchanges;
    let ended = exchanges.completed + exchanges.failed;
    let bad = exchanges.failed + exchanges.unfinished;
    let needed = exchanges_min(slo);
    if ended + exchanges.unfinished < needed && (bad as f64) < 0.5 * ended.max(1) as f64 {
        let why = format!(
            "{ended} exchanges are too few for its conditions, which need {needed}; make the \
             probes longer (--duration)"
        );
        return of(Verdict::Unknown(why.clone()), why);
    }
    let outcomes = check::evaluate(slo, record);
    let crossed: Vec<String> = outcomes
        .iter()
        .filter(|outcome| !outcome.ok)
        .map(|outcome| {
            let measured = outcome.measured.as_deref().unwrap_or("nothing");
            format!("{}: {measured}", outcome.threshold)
        })
        .collect();
    let served = served(record);
    if crossed.is_empty() && served >= SERVED_MIN {
        let measured = outcomes.iter().map(|outcome| {
            let measured = outcome.measured.as_deref().unwrap_or("nothing");
            format!("{}: {measured}", outcome.threshold)
        });
        return of(Verdict::Pass, measured.collect::<Vec<_>>().join(", "));
    }
    let mut why = crossed.join(", ");
    if crossed.is_empty() {
        why = format!("{:.1} % of what was due was answered", 100.0 * served);
    }
    if record.generator.limited && !failed_by_itself(slo, record) {
        let reason = record.generator.limited_reason.clone();
        return of(Verdict::Unknown(reason), why);
    }
    of(Verdict::Fail, why)
}

/// What was answered in time to count, as a share of what was due.
fn served(record: &Record) -> f64 {
    let offered = record.offered_rate.unwrap_or_default() * record.duration_s;
    let answered = record.achieved_rate * record.duration_s + record.exchanges.failed as f64;
    match offered > 0.0 {
        true => answered / offered,
        false => 0.0,
    }
}

/// Whether a condition that is not about times is crossed, by answers of the subject.
fn failed_by_itself(slo: &[Threshold], record: &Record) -> bool {
    let crossed =
        |threshold: &Threshold| !threshold.is_about_times() && !threshold.evaluate(record).ok;
    let count = |kind: &str| record.errors.get(kind).copied().unwrap_or_default();
    let answers = count("unexpected_status") + count("grpc_status");
    let exchanges = &record.exchanges;
    let failed = exchanges.failed + exchanges.unfinished;
    let share = failed as f64 / (failed + exchanges.completed).max(1) as f64;
    slo.iter().any(crossed) && share >= FAILED_BY_ITSELF_MIN && 2 * answers >= failed
}
