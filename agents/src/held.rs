//! What a fleet's hold came to, as the record and the text of a hold.

use std::collections::BTreeMap;

use cli::Conducted;
use engine::signal::Signal;
use fleet::counted::{self, Interval as Packed};
use fleet::record::{Connections, Outcome, Record as Of};
use load::hold::{Plan, Record};
use measure::counters::Errors;
use measure::hold::{Counted, Facts, Memory, Row, Tally};
use measure::host::Host;
use measure::interval::{Counter as _, Interval, Phase};
use measure::record::EndedBy;
use measure::series::ROWS_MAX;

use crate::result::{generator, is_valid, of_agents};

/// The record of a plan that a fleet carried out, until a signal ended it, if one did.
///
/// # Errors
/// A sentence: what was counted can't be put together.
pub(crate) fn conducted(
    plan: &Plan,
    outcome: &Outcome,
    stopped: Option<Signal>,
) -> Result<Conducted<Record>, String> {
    let of = &outcome.record;
    let (opening_s, held_s) = lengths(outcome);
    let mut whole = plan.clone();
    let threads = of.agents.iter().map(|agent| agent.workers).sum();
    whole.threads = Some(threads);
    let mut record = Record::assemble(
        &tally(outcome, held_s)?,
        Facts {
            plan: whole.recorded(),
            asked: plan.connections.into(),
            host: Host::read(),
            generator: generator(of, threads),
            opening_s,
            duration_s: held_s,
            broadcast_s: 0.0,
            // That of each agent's process is its own.
            memory: Memory::default(),
            resident: Vec::new(),
            valid: is_valid(of) && held_s > 0.0,
            warnings: warnings(of, held_s),
            ended_by: match stopped {
                Some(Signal::Interrupt) => EndedBy::Interrupt,
                Some(Signal::Terminate) => EndedBy::Terminate,
                None => EndedBy::Duration,
            },
        },
    );
    record.series = rows(&outcome.course)?;
    let fleet = of_agents(of)?;
    Ok(Conducted { record, fleet })
}

/// What agents held that ended early while others went on; none where none did, or all.
fn ended_early(of: &Of) -> impl Iterator<Item = Connections> {
    let some_went_on = of.agents.iter().any(|agent| !agent.ended_early);
    let early = of
        .agents
        .iter()
        .filter(move |agent| some_went_on && agent.ended_early);
    early.filter_map(|agent| agent.figures.held)
}

/// How long connections were opened, and then held by all who went on to the end.
fn lengths(outcome: &Outcome) -> (f64, f64) {
    let ends = outcome.counted.held().and_then(|held| held.ends);
    let ends = ends.unwrap_or_default();
    let went_on = outcome
        .record
        .agents
        .iter()
        .filter(|agent| !agent.ended_early);
    let held = went_on.filter_map(|agent| Some(agent.figures.held?.held_ns));
    let held_ns = held.min().unwrap_or(match ends.held_ns {
        u64::MAX => 0,
        held_ns => held_ns,
    });
    (ends.opening_ns as f64 / 1e9, held_ns as f64 / 1e9)
}

/// All that agents counted.
fn tally(outcome: &Outcome, held_s: f64) -> Result<Tally, String> {
    let mut tally = Tally::new();
    let Some(held) = outcome.counted.held() else {
        return Ok(tally);
    };
    tally.take_back(&held.unpack()?);
    let mut ends = held.ends.unwrap_or_default();
    // With whoever held them they were closed.
    for early in ended_early(&outcome.record) {
        ends.survived = ends.survived.saturating_sub(early.survived);
        ends.standing = ends.standing.saturating_sub(early.standing);
    }
    // Together they have held nothing where one never began to.
    tally.survived = if held_s > 0.0 { ends.survived } else { 0 };
    (tally.standing, tally.watched_ns) = (ends.standing, ends.watched_ns);
    // Of one that was lost nobody knows what was due; the record says that it was lost.
    tally.due = match outcome.record.complete {
        true => ends.due,
        false => tally.sent + tally.skipped,
    };
    Ok(tally)
}

fn warnings(of: &Of, held_s: f64) -> Vec<String> {
    let mut warnings = of.findings.clone();
    if held_s <= 0.0 {
        warnings.push(
            "nothing was held by all agents: one was ended while it still opened connections; let \
             it run until all have been tried, or open them faster (--open-rate)"
                .to_owned(),
        );
    }
    warnings
}

/// The hold over time: a second each, or several if there are very many.
fn rows(course: &[Packed]) -> Result<Vec<Row>, String> {
    let seconds = course.iter().filter(|one| one.phase == Phase::Measure);
    let seconds: Vec<&Packed> = seconds.collect();
    let each = seconds.len().div_ceil(ROWS_MAX).max(1).next_power_of_two();
    let rows = seconds.chunks(each).filter_map(|chunk| {
        let (first, others) = chunk.split_first()?;
        Some(joined(first, others).map(|interval| row(&interval)))
    });
    rows.collect()
}

/// Neighbours as one.
fn joined(first: &Packed, others: &[&Packed]) -> Result<Interval<Counted>, String> {
    let mut sum = first.clone();
    for other in others {
        (sum.until_ns, sum.connected) = (other.until_ns, other.connected);
        sum.counted.merge(&other.counted)?;
    }
    counted::hold(&sum)
}

fn row(interval: &Interval<Counted>) -> Row {
    let (counted, times) = (&interval.counted, &interval.counted.heartbeat);
    let us = |ns: u64| (times.count() > 0).then_some(ns as f64 / 1000.0);
    let counts = &counted.counts;
    Row {
        at_s: interval.from_ns as f64 / 1e9,
        seconds: interval.seconds(),
        standing: interval.connected,
        opened: counts.opened,
        lost: counts.lost(),
        reconnects: counts.reconnects,
        answered: counts.answered,
        failed: counts.failed,
        heartbeat_p50_us: us(times.quantile(0.5)),
        heartbeat_p99_us: us(times.quantile(0.99)),
        heartbeat_max_us: us(times.max()),
        attempts: Some(counts.attempts),
        losses: by_name(&counts.losses),
        resident_bytes: None,
    }
}

fn by_name(errors: &Errors) -> BTreeMap<String, u64> {
    let errors = errors.iter();
    errors
        .map(|(kind, n)| (kind.name().to_owned(), n))
        .collect()
}

#[cfg(test)]
mod tests {
    use fleet::Name;
    use fleet::counted::{Counted as Sum, Ends};
    use fleet::record::Figures;

    use super::*;

    /// A second in which so many connections were opened, of which each was asked once.
    fn interval(phase: Phase, second: u64, opened: u64) -> Packed {
        let mut tally = Tally::new();
        for _ in 0..opened {
            tally.stands(1000, None);
            tally.sent(0);
            tally.answered(2_000_000);
        }
        counted::of_hold(&Interval {
            seq: second,
            joined: 1,
            phase,
            from_ns: second * 1_000_000_000,
            until_ns: (second + 1) * 1_000_000_000,
            offered: None,
            connected: opened,
            counted: tally.counted().clone(),
        })
    }

    fn outcome(spoil: impl FnOnce(&mut Of)) -> Outcome {
        let mut last = interval(Phase::Drain, 2, 0);
        if let Sum::Hold(held) = &mut last.counted {
            held.ends = Some(Ends {
                survived: 29,
                standing: 30,
                watched_ns: 30 * 3_600_000_000_000,
                due: 30,
                opening_ns: 500_000_000,
                held_ns: 1_500_000_000,
            });
        }
        let course = vec![
            interval(Phase::Measure, 0, 10),
            interval(Phase::Measure, 1, 20),
            last,
        ];
        let mut all = Sum::default();
        for one in &course {
            all.merge(&one.counted).unwrap();
        }
        let mut record = Of {
            run: Name::new("a-run").unwrap(),
            epoch: "1-2".to_owned(),
            has_returned: false,
            halted: false,
            complete: true,
            agents_wanted: 0,
            agents_unknown: 0,
            agents: Vec::new(),
            figures: Figures::of(&all),
            missing_share: 0.0,
            limited_by: Vec::new(),
            findings: Vec::new(),
        };
        spoil(&mut record);
        Outcome {
            record,
            counted: all,
            course,
        }
    }

    fn plan() -> Plan {
        let mut plan = Plan::new("http://127.0.0.1:1/").unwrap();
        plan.connections = 30;
        plan
    }

    #[test]
    fn a_record_has_all_connections_and_the_seconds_of_all_agents() {
        let record = conducted(&plan(), &outcome(|_| {}), None).unwrap().record;
        let connections = &record.connections;
        assert_eq!(
            (connections.asked, connections.opened, connections.survived),
            (30, 30, 29)
        );
        assert_eq!((connections.standing, connections.hours), (30, 30.0));
        let beats = &record.heartbeats;
        assert_eq!((beats.due, beats.sent, beats.answered), (30, 30, 30));
        assert_eq!((record.opening_s, record.duration_s), (0.5, 1.5));
        let rows = record.series.iter();
        let rows: Vec<_> = rows
            .map(|row| (row.at_s, row.opened, row.standing))
            .collect();
        assert_eq!(rows, [(0.0, 10, 10), (1.0, 20, 20)]);
        assert!(record.valid, "{:?}", record.warnings);
    }

    #[test]
    fn a_hold_that_is_not_whole_or_never_began_is_not_valid() {
        let lost = conducted(&plan(), &outcome(|of| of.complete = false), None);
        assert!(!lost.unwrap().record.valid);
        let mut early = outcome(|_| {});
        if let Sum::Hold(held) = &mut early.counted {
            held.ends = held.ends.map(|ends| Ends { held_ns: 0, ..ends });
        }
        let record = conducted(&plan(), &early, Some(Signal::Interrupt));
        let record = record.unwrap().record;
        assert_eq!((record.connections.survival, record.valid), (None, false));
        assert_eq!(record.ended_by, EndedBy::Interrupt);
    }

    #[test]
    fn a_long_hold_has_fewer_and_longer_rows() {
        let course: Vec<Packed> = (0..ROWS_MAX as u64 + 1)
            .map(|second| interval(Phase::Measure, second, 1))
            .collect();
        let rows = rows(&course).unwrap();
        assert_eq!(rows.len(), ROWS_MAX / 2 + 1);
        assert_eq!((rows[0].seconds, rows[0].opened), (2.0, 2));
        let opened: u64 = rows.iter().map(|row| row.opened).sum();
        assert_eq!(opened, ROWS_MAX as u64 + 1);
    }
}
