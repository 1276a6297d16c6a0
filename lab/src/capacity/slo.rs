//! Did a rate hold? From the record of one probe to a verdict.
//!
//! Besides the conditions that were asked for, a rate holds only if it was served: a subject that
//! lets the requests queue answers all of them in the end. What passes passes however late the
//! generator was, since its lateness is part of every response time. What fails is the subject's
//! failure only if the generator was in time, or if the subject said so itself and loudly, by
//! answers with another status than expected. A generator that stood still once, for as long as it
//! takes to break a condition, was not in time, even if the rest of the window was: what fell due
//! meanwhile waits for a connection afterwards, and looks like the subject's doing.
//!
//! Waiting for a free connection is ours, too. Where the service times alone, from sent to done,
//! meet every condition, the subject has never been slow, and it is the number of connections that
//! has failed.

use load::Record;
use load::check::{self, Threshold};

use super::search::Verdict;
use crate::statistics::quantile;

/// Answered ÷ offered below this was not served.
const SERVED_MIN: f64 = 0.99;
/// A late generator sends in bursts, which a subject may refuse. But it is not the generator's
/// doing where so many of all exchanges fail, and most of those by an answer.
const FAILED_BY_ITSELF_MIN: f64 = 0.1;

/// A stall counts if it is as long as this share of a limit, or of what a window may lose.
const STALL_SHARE: f64 = 0.5;
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
    if failed_by_itself(slo, record) {
        return of(Verdict::Fail, why);
    }
    let limited = record.generator.limited;
    let late = limited.then(|| record.generator.limited_reason.clone());
    let late = late.or_else(|| moved(slo, record));
    if let Some(reason) = late.or_else(|| stalled(slo, record)) {
        return of(Verdict::Unknown(reason), why);
    }
    let by_connections = waited_for_connections(slo, record);
    if by_connections {
        why.push_str(": every connection was busy, and each answer was in time");
    }
    Judgement {
        by_connections,
        ..of(Verdict::Fail, why)
    }
}

/// Why a condition that was broken cannot be judged: lateness could have moved its figure.
fn moved(slo: &[Threshold], record: &Record) -> Option<String> {
    let broken = slo
        .iter()
        .filter(|threshold| !threshold.evaluate(record).ok);
    let broken: Vec<Threshold> = broken.cloned().collect();
    let judged = check::judge(&broken, record).into_iter();
    judged.filter_map(|one| one.reason).next()
}

/// The sentence about a stall of the generator that may have broken a condition, if there was one.
fn stalled(slo: &[Threshold], record: &Record) -> Option<String> {
    let stall = record.generator.longest_stall?;
    let (stall_s, window_s) = (stall.length_us / 1e6, record.duration_s);
    // What falls due in a stall is late by up to its length: so many exchanges, by so much.
    let breaks = |threshold: &Threshold| {
        let rare = 1.0 - threshold.quantile().unwrap_or(0.0);
        let long_enough = stall_s >= STALL_SHARE * threshold.limit_s().unwrap_or(0.0);
        threshold.is_about_times() && long_enough && stall_s >= STALL_SHARE * rare * window_s
    };
    let crossed = |threshold: &&Threshold| !threshold.evaluate(record).ok;
    let a_time = slo.iter().filter(crossed).any(breaks);
    let unserved = served(record) < SERVED_MIN;
    let not_sent = unserved && stall_s >= STALL_SHARE * (1.0 - SERVED_MIN) * window_s;
    (a_time || not_sent).then(|| {
        format!(
            "the generator stood still for {:.0} ms, which alone may have failed it",
            1e3 * stall_s
        )
    })
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
        Bytes, Connections, EndedBy, Exchanges, Generator, Histograms, Messages, Stall, Times,
        Waits,
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
            availability: None,
            bytes: Bytes::default(),
            response_time_us: Times::of(&times),
            service_time_us: Times::of(&times),
            lateness_us: Times::default(),
            waits: None,
            ping_time_us: Times::default(),
            status: BTreeMap::new(),
            grpc_status: BTreeMap::new(),
            close_codes: BTreeMap::new(),
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
            void: Vec::new(),
            control: None,
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

    fn stalled_for(record: Record, length_us: f64) -> Record {
        let mut record = record;
        record.generator.longest_stall = Some(Stall {
            length_us,
            at_s: 0.5,
        });
        record
    }

    /// Half of all response times were waits.
    fn waited(record: Record, waits: Waits) -> Record {
        Record {
            waits: Some(Waits {
                total_us: 100.0,
                share_of_response: Some(0.5),
                ..waits
            }),
            ..record
        }
    }

    /// The same, but from sent to done each took `ms` only.
    fn served_in(record: Record, ms: u64) -> Record {
        let fast = self::record(record.exchanges.completed, 0, ms);
        let mut record = record;
        record.service_time_us = fast.service_time_us;
        record.histograms.service_time = fast.histograms.service_time;
        record
    }

    #[test]
    fn a_stall_that_alone_may_have_broken_a_condition_spoils_the_probe() {
        let slo = ["p99<10ms", "errors<1%"].map(|text| text.parse().expect("a condition"));
        let after = |record, stall_us| judge(&slo, &stalled_for(record, stall_us)).verdict;
        // 15,000 of 17,494, as after a stall of 150 ms.
        let behind = Record {
            achieved_rate: 15_000.0,
            ..record(17_494, 0, 5)
        };
        let Verdict::Unknown(why) = after(behind.clone(), 150_000.0) else {
            panic!("the subject has not failed");
        };
        assert!(why.contains("stood still for 150 ms"), "{why}");
        assert_eq!(after(behind, 200.0), Verdict::Fail);
        // Too short to make a 99th percentile of it, whatever it did to a few.
        let slow = record(17_494, 0, 11);
        assert_eq!(after(slow.clone(), 3_000.0), Verdict::Fail);
        assert!(matches!(after(slow, 30_000.0), Verdict::Unknown(_)));
        // A subject that refuses half of all has failed, whatever the generator did.
        assert_eq!(after(record(17_494, 9_000, 11), 30_000.0), Verdict::Fail);
        assert_eq!(after(record(17_494, 0, 5), 30_000.0), Verdict::Pass);
    }

    #[test]
    fn waiting_for_a_connection_is_told_from_a_slow_subject() {
        let slo = ["p99<10ms".parse().expect("a condition")];
        let of = |record: &Record| judge(&slo, record);
        let busy = Waits {
            busy_us: 90.0,
            late_us: 10.0,
            ..Waits::default()
        };
        let queued = waited(record(5000, 0, 40), busy);
        let judgement = of(&served_in(queued.clone(), 3));
        assert_eq!(
            (judgement.verdict, judgement.by_connections),
            (Verdict::Fail, true)
        );
        assert!(judgement.why.contains("every connection was busy"));
        // The answers themselves were too slow.
        assert!(!of(&served_in(queued, 11)).by_connections);
        // Nobody waited for a connection.
        assert!(!of(&served_in(record(5000, 0, 40), 3)).by_connections);
        // A connection for each request: that it is being opened is a wait for it, too.
        let connecting = Waits {
            connecting_us: 60.0,
            late_us: 40.0,
            ..Waits::default()
        };
        assert!(of(&served_in(waited(record(5000, 0, 40), connecting), 3)).by_connections);
        // More connections do nothing about these.
        for waits in [
            Waits {
                back_off_us: 90.0,
                busy_us: 10.0,
                ..Waits::default()
            },
            Waits {
                refused_us: 90.0,
                busy_us: 10.0,
                ..Waits::default()
            },
            Waits {
                late_us: 90.0,
                busy_us: 10.0,
                ..Waits::default()
            },
        ] {
            let record = waited(record(5000, 0, 40), waits);
            assert!(!of(&served_in(record, 3)).by_connections, "{waits:?}");
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
