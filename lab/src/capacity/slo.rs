//! Did a rate hold? From the record of one probe to a verdict.
//!
//! Besides the conditions that were asked for, a rate holds only if it was served: a subject that
//! lets the requests queue answers all of them in the end. What passes passes however late the
//! generator was, since its lateness is part of every response time. What fails is the subject's
//! failure only if the generator was in time, or if the subject said so itself and loudly, by
//! answers with another status than expected.

use load::Record;
use load::check::{self, Threshold};

use super::search::Verdict;
use crate::statistics::quantile;

/// Answered ÷ offered below this was not served.
const SERVED_MIN: f64 = 0.99;
/// A late generator sends in bursts, which a subject may refuse. But it is not the generator's
/// doing where so many of all exchanges fail, and most of those by an answer.
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

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;

    use load::Plan;
    use measure::histogram::Histogram;
    use measure::host::Host;
    use measure::record::{
        Bytes, Connections, EndedBy, Exchanges, Generator, Histograms, Messages, Times,
    };

    use super::*;

    /// A second at `offered` a second, of which so many failed by an answer; each of the others
    /// took `ms`.
    fn record(offered: u64, failed: u64, ms: u64) -> Record {
        let mut times = Histogram::new();
        for _ in 0..offered {
            times.record(ms * 1_000_000);
        }
        let text = times.to_hdr_v2_base64();
        Record {
            schema_version: 1,
            plan: Plan::new("http://localhost/").expect("a URL").recorded(),
            host: Host::default(),
            generator: Generator::default(),
            exchanges: Exchanges {
                completed: offered - failed,
                failed,
                ..Exchanges::default()
            },
            drain: None,
            duration_s: 1.0,
            offered_rate: Some(offered as f64),
            achieved_rate: (offered - failed) as f64,
            bytes: Bytes::default(),
            response_time_us: Times::of(&times),
            service_time_us: Times::of(&times),
            lateness_us: Times::default(),
            ping_time_us: Times::default(),
            status: BTreeMap::new(),
            grpc_status: BTreeMap::new(),
            messages: Messages::default(),
            errors: BTreeMap::from([("unexpected_status".to_owned(), failed)]),
            connections: Connections::default(),
            series: Vec::new(),
            histograms: Histograms {
                unit: "ns".to_owned(),
                response_time: text.clone(),
                service_time: text,
                lateness: None,
            },
            valid: true,
            warnings: Vec::new(),
            thresholds: Vec::new(),
            ended_by: EndedBy::Duration,
        }
    }

    fn late(record: Record) -> Record {
        Record {
            generator: Generator {
                limited: true,
                limited_reason: "sent late".to_owned(),
                ..Generator::default()
            },
            ..record
        }
    }

    fn verdict(record: &Record) -> Verdict {
        let slo = ["p99<10ms", "errors<0.1%"].map(|text| text.parse().expect("a condition"));
        judge(&slo, record).verdict
    }

    #[test]
    fn a_rate_holds_if_all_conditions_do() {
        assert_eq!(verdict(&record(5000, 0, 5)), Verdict::Pass);
        assert_eq!(verdict(&record(5000, 4, 5)), Verdict::Pass);
        assert_eq!(verdict(&record(5000, 6, 5)), Verdict::Fail);
        assert_eq!(verdict(&record(5000, 0, 11)), Verdict::Fail);
    }

    #[test]
    fn what_was_due_and_not_answered_was_not_served() {
        let behind = Record {
            achieved_rate: 4900.0,
            ..record(5000, 0, 5)
        };
        let judgement = judge(&["errors<1%".parse().expect("a condition")], &behind);
        assert_eq!(judgement.verdict, Verdict::Fail);
        assert_eq!(judgement.why, "98.0 % of what was due was answered");
    }

    #[test]
    fn few_exchanges_say_nothing_about_a_rare_one() {
        let Verdict::Unknown(why) = verdict(&record(2000, 0, 5)) else {
            panic!("2,000 exchanges cannot show fewer than 0.1 % of errors");
        };
        assert!(why.contains("2995") && why.contains("--duration"), "{why}");
        assert_eq!(
            exchanges_min(&["mean<1ms".parse().expect("a condition")]),
            1
        );
    }

    #[test]
    fn a_late_generator_spoils_a_failure_and_not_a_pass() {
        assert_eq!(verdict(&late(record(5000, 0, 5))), Verdict::Pass);
        let unknown = Verdict::Unknown("sent late".to_owned());
        assert_eq!(verdict(&late(record(5000, 0, 11))), unknown);
        // A few refusals may come of its bursts; half of all do not.
        assert_eq!(verdict(&late(record(5000, 50, 5))), unknown);
        assert_eq!(verdict(&late(record(5000, 2500, 5))), Verdict::Fail);
        // But a generator that loses half of them itself knows nothing of the subject.
        let lost = Record {
            errors: BTreeMap::from([("timeout".to_owned(), 2500)]),
            ..late(record(5000, 2500, 5))
        };
        assert_eq!(verdict(&lost), unknown);
    }
}
