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
mod wrong;

use std::collections::BTreeSet;

use load::Record;
use load::check::{self, Threshold};
use load::plan::Workload;
use measure::histogram::Histogram;
use measure::record::Times;
use report::agents::ENGINE;
use statistics::quantile;

use super::flows::{Counted, is_of_flows};
use super::search::Verdict;
use excuse::Excuse;
pub(super) use wrong::Wrong;

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
    /// Answers that weren't as expected, if there were any.
    pub(super) wrong: Option<Wrong>,
}

/// The fewest exchanges of a window from which all conditions can be judged, those on a step by its
/// share of them; of users the fewest flows.
///
/// # Errors
/// A condition on a step that isn't there, or is never sent.
pub(super) fn exchanges_min(slo: &[Threshold], workload: Option<&Workload>) -> Result<u64, String> {
    let mut most = 1;
    for one in slo {
        let none = f64::from(u8::from(one.step().is_none()));
        let share = workload.map_or(none, |workload| workload.for_each_due(one.step()));
        if let Some(step) = one.step().filter(|_| share == 0.0) {
            return Err(format!(
                "{one}: there is no step {step:?} that is ever sent"
            ));
        }
        let needed = needed(one) as f64 / share;
        most = most.max(needed.ceil() as u64);
    }
    Ok(most)
}

/// The fewest exchanges, of its step if it is about one, from which a condition can be judged.
fn needed(one: &Threshold) -> u64 {
    one.quantile().map_or(1, quantile::exchanges_min)
}

/// What became of the exchanges that a condition is about.
struct Ended {
    /// Completed or failed.
    ended: u64,
    /// Failed.
    failed: u64,
    unfinished: u64,
}

impl Ended {
    fn of(one: &Threshold, record: &Record) -> Ended {
        let exchanges = &record.exchanges;
        let (completed, failed, unfinished) = match one.step() {
            None => (exchanges.completed, exchanges.failed, exchanges.unfinished),
            Some(name) => {
                let step = record.steps.iter().find(|step| step.name == name);
                step.map_or((0, 0, 0), |step| {
                    (step.completed, step.failed, step.unfinished)
                })
            }
        };
        Ended {
            ended: completed + failed,
            failed,
            unfinished,
        }
    }
}

/// Why one of the conditions can't be judged: there were too few exchanges, and they didn't fail.
fn too_few(slo: &[Threshold], record: &Record) -> Option<String> {
    slo.iter().find_map(|one| {
        let (seen, needed) = (Ended::of(one, record), needed(one));
        let bad = (seen.failed + seen.unfinished) as f64;
        let is_clear = bad >= 0.5 * seen.ended.max(1) as f64;
        let is_few = seen.ended + seen.unfinished < needed && !is_clear;
        is_few.then(|| {
            let of = one.step().map(|step| format!(" of {step}"));
            format!(
                "{} exchanges{} are too few to judge the objectives, which need {needed}; make the \
                 probes longer (--duration)",
                seen.ended,
                of.unwrap_or_default()
            )
        })
    })
}

/// Why a fleet hasn't sent what was asked for, if it hasn't: agents were lost, or ended early. Then
/// nothing is known of the rate. (Where agents were the limit, that is judged as one generator's.)
fn unfinished_by_fleet(record: &Record) -> Option<String> {
    let is_fleet = record.generator.engine == ENGINE;
    let is_spoilt = is_fleet && !record.valid && !record.generator.limited;
    is_spoilt.then(|| {
        let why = record.warnings.join("; ");
        format!("not all agents sent their share: {why}")
    })
}

/// Judges one probe.
pub(super) fn judge(slo: &[Threshold], record: &Record) -> Judgement {
    let wrong = Wrong::of(record);
    let of = |verdict, why: String| Judgement {
        verdict,
        why,
        by_connections: false,
        wrong: wrong.clone(),
    };
    if let Some(why) = unfinished_by_fleet(record) {
        return of(Verdict::Unknown(why.clone()), why);
    }
    if let Some(why) = too_few(slo, record) {
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
    if let Some(wrong) = wrong.as_ref().filter(|wrong| wrong.is_all()) {
        // Whatever the generator was, it sent, and got answers: their times are those of failures.
        return of(Verdict::Fail, wrong.what().to_owned());
    }
    let mut why = broken(slo, record, &crossed, wrong.as_ref());
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

/// What was broken, with the wrong answers that did it where they did.
fn broken(slo: &[Threshold], record: &Record, crossed: &[String], wrong: Option<&Wrong>) -> String {
    let served = served(slo, record);
    let due = Counted::of(record).offered * record.duration_s;
    let of_due = wrong.map_or(0.0, |wrong| wrong.count() as f64 / due.max(1.0));
    let mut clauses = crossed.to_vec();
    if crossed.is_empty() && served + of_due < SERVED_MIN {
        let what = match is_of_flows(record) {
            true => "flows that were due were finished",
            false => "requests that were due were answered",
        };
        let percent = 100.0 * (served + of_due);
        clauses.push(format!("only {percent:.1} % of the {what}"));
    }
    let by_failures = |one: &Threshold| one.is_about_failures() && !one.evaluate(record).ok;
    let by_failures = served < SERVED_MIN || slo.iter().any(by_failures);
    clauses.extend(
        wrong
            .filter(|_| by_failures)
            .map(|wrong| wrong.what().to_owned()),
    );
    clauses.join(", ")
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
    slo.iter().all(|one| {
        for step in &mut of_service.steps {
            step.response_time_us = step.service_time_us;
            step.response_time = no_shorter(&step.service_time_us, one.quantile());
        }
        one.evaluate(&of_service).ok
    })
}

/// A distribution that at this quantile is no shorter than one of which only these figures are
/// known, as of the service times of a step.
fn no_shorter(times: &Times, quantile: Option<f64>) -> String {
    let figures = [
        (0.5, times.p50),
        (0.75, times.p75),
        (0.9, times.p90),
        (0.95, times.p95),
        (0.99, times.p99),
        (0.999, times.p99_9),
        (0.9999, times.p99_99),
        (1.0, times.max),
    ];
    let quantile = quantile.unwrap_or(1.0);
    let above = figures
        .into_iter()
        .filter(|(share, _)| *share >= quantile - 1e-9);
    let mut histogram = Histogram::new();
    let us = above.filter_map(|(_, us)| us).min_by(f64::total_cmp);
    if let Some(us) = us {
        histogram.record((us * 1000.0) as u64);
    }
    histogram.to_hdr_v2_base64()
}

/// What was answered in time to count, as a share of what was due. Failures count as answers only
/// where the conditions say how many may fail: of all, or of these steps.
fn served(slo: &[Threshold], record: &Record) -> f64 {
    let counted = Counted::of(record);
    let offered = counted.offered * record.duration_s;
    let mut answered = counted.achieved * record.duration_s;
    let about = slo.iter().filter(|one| one.is_about_failures());
    // A flow that failed has ended, whichever request may fail.
    let of_all = about
        .clone()
        .any(|one| one.step().is_none() || is_of_flows(record));
    if of_all && counted.completed > 0 {
        answered += counted.failed as f64;
    } else if counted.completed > 0 {
        let mut counted = BTreeSet::new();
        let new = about.filter(|one| counted.insert(one.step()));
        answered += new
            .map(|one| Ended::of(one, record).failed as f64)
            .sum::<f64>();
    }
    match offered > 0.0 {
        true => answered / offered,
        false => 0.0,
    }
}

#[cfg(test)]
mod tests;
