//! Did a rate hold? From the record of one probe to a verdict.
//!
//! Besides the conditions that were asked for, a rate holds only if it was served: a subject that
//! lets the requests queue answers all of them in the end. What passes passes however late the
//! generator was, since its lateness is part of every response time. What fails is the subject's
//! failure unless the generator can have made it; [`excuse`] says of what, and of how much.
//!
//! Waiting for a free connection is ours, too. Where the service times alone, from sent to done,
//! meet every condition, the subject has never been slow, and it is the number of connections that
//! has failed.

mod excuse;

use load::Record;
use load::check::{self, Threshold};
use statistics::quantile;

use super::search::Verdict;
use excuse::Excuse;

/// Answered ÷ offered below this was not served.
const SERVED_MIN: f64 = 0.99;
/// Where a greater share of all response times went by in waits for connections, these may be why
/// a rate failed.
const WAITED_MIN: f64 = 0.005;

/// What a probe's record says.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Judgement {
    pub(super) verdict: Verdict,
    /// What decided, in words.
    pub(super) why: String,
    /// It failed by nothing but waits for a free connection.
    pub(super) by_connections: bool,
}

/// The fewest exchanges of a window from which all conditions can be judged.
pub(super) fn exchanges_min(slo: &[Threshold]) -> u64 {
    let each = slo.iter().filter_map(Threshold::quantile);
    each.map(quantile::exchanges_min).max().unwrap_or(1)
}

/// Judges one probe.
pub(super) fn judge(slo: &[Threshold], record: &Record) -> Judgement {
    let of = |verdict, why: String| Judgement {
        verdict,
        why,
        by_connections: false,
    };
    let exchanges = &record.exchanges;
    let ended = exchanges.completed + exchanges.failed;
    let bad = exchanges.failed + exchanges.unfinished;
    let needed = exchanges_min(slo);
    if ended + exchanges.unfinished < needed && (bad as f64) < 0.5 * ended.max(1) as f64 {
        let why = format!(
            "{ended} exchanges are too few to judge the objectives, which need {needed}; make the \
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
    let served = served(slo, record);
    if crossed.is_empty() && served >= SERVED_MIN {
        if let Some(why) = slo.iter().find_map(|one| one.cut_off(record)) {
            let why = format!("{why}: raise --timeout");
            return of(Verdict::Unknown(why.clone()), why);
        }
        let measured = outcomes.iter().map(|outcome| {
            let measured = outcome.measured.as_deref().unwrap_or("nothing");
            format!("{}: {measured}", outcome.threshold)
        });
        return of(Verdict::Pass, measured.collect::<Vec<_>>().join(", "));
    }
    let mut why = crossed.join(", ");
    if crossed.is_empty() {
        why = format!(
            "only {:.1} % of the requests that were due were answered",
            100.0 * served
        );
    }
    if let Some(reason) = excused(slo, record) {
        return of(Verdict::Unknown(reason), why);
    }
    let by_connections = waited_for_connections(slo, record);
    if by_connections {
        why.push_str(": every connection was busy, but each answer came in time");
    }
    Judgement {
        by_connections,
        ..of(Verdict::Fail, why)
    }
}

/// Why the generator may have broken all that was broken; none where the subject must have broken
/// some of it.
fn excused(slo: &[Threshold], record: &Record) -> Option<String> {
    let excuse = Excuse::of(record);
    let broken = slo
        .iter()
        .filter(|threshold| !threshold.evaluate(record).ok);
    let mut reasons: Vec<Option<String>> = broken.map(|one| excuse.explains(one, record)).collect();
    if served(slo, record) < SERVED_MIN {
        reasons.push(excuse.explains_what_is_missing(slo, record));
    }
    let reasons: Option<Vec<String>> = reasons.into_iter().collect();
    reasons?.into_iter().next()
}

/// Whether the service times alone meet every condition, and requests waited for a connection: it
/// was in use, or was being opened or closed. That one had failed, or that the server refused, is
/// nothing that more connections mend.
fn waited_for_connections(slo: &[Threshold], record: &Record) -> bool {
    let Some(waits) = record.waits else {
        return false;
    };
    let for_connections_us = waits.busy_us + waits.connecting_us + waits.closing_us;
    let share = waits.share_of_response.unwrap_or_default();
    let most = 2.0 * for_connections_us >= waits.total_us;
    if !most || share * for_connections_us < WAITED_MIN * waits.total_us {
        return false;
    }
    let mut of_service = record.clone();
    of_service.response_time_us = record.service_time_us;
    of_service.histograms.response_time = record.histograms.service_time.clone();
    slo.iter()
        .all(|threshold| threshold.evaluate(&of_service).ok)
}

/// What was answered in time to count, as a share of what was due. Failures count as answers only
/// where the conditions say how many may fail.
fn served(slo: &[Threshold], record: &Record) -> f64 {
    let offered = record.offered_rate.unwrap_or_default() * record.duration_s;
    let mut answered = record.achieved_rate * record.duration_s;
    if slo.iter().any(Threshold::is_about_failures) && record.exchanges.completed > 0 {
        answered += record.exchanges.failed as f64;
    }
    match offered > 0.0 {
        true => answered / offered,
        false => 0.0,
    }
}

#[cfg(test)]
mod tests;
