//! Rounds with faults that were made on purpose.

use faults::Injected;
use measure::series::Row;

use super::*;

/// A good round in which the subject was stopped from the second second on, with a row a second:
/// so many failed in each, of a hundred.
fn faulted(round: &mut Round, failed: &[u64]) {
    round.faults = vec![Injected {
        what: "SIGSTOP to the subject".into(),
        at_s: 2.0,
        for_s: 1.0,
        began_s: 2.01,
        ended_s: Some(3.01),
        ..Injected::default()
    }];
    let row = |(at, failed): (usize, &u64)| Row {
        at_s: at as f64,
        seconds: 1.0,
        completed: 100 - failed,
        failed: *failed,
        answered: Some(100),
        offered: Some(100),
        good: None,
        events: None,
        bytes_received: 0,
        response_p50_us: None,
        response_p99_us: None,
        response_max_us: None,
    };
    record(round).series = failed.iter().enumerate().map(row).collect();
    round.sample.failed = 10_000;
}

fn said(round: &Round, check: Check) -> String {
    let mut findings = round::findings(Seen::of(round)).into_iter();
    let own = findings.find(|finding| finding.check == check);
    own.map_or(String::new(), |finding| finding.sentence)
}

#[test]
fn a_fault_excuses_what_fails_after_it_began_and_nothing_from_before() {
    assert_eq!(after(|round| faulted(round, &[0, 1, 90, 90])), []);
    let before = |round: &mut Round| faulted(round, &[0, 4, 90, 90]);
    assert_eq!(after(before), [(Check::Errors, Severity::Void)]);
    let mut round = well();
    before(&mut round);
    let expected = "2.0 % of the exchanges failed before the first fault";
    assert_eq!(said(&round, Check::Errors), expected);
}

#[test]
fn a_fault_excuses_no_requests_that_do_not_add_up() {
    let invalid = |warnings: &[&str]| {
        let mut round = well();
        faulted(&mut round, &[0, 0, 90, 0]);
        record(&mut round).valid = false;
        record(&mut round).warnings = warnings.iter().map(|one| (*one).to_owned()).collect();
        round
    };
    let busy = invalid(&["the completion queue overflowed"]);
    assert_eq!(found(&busy), [(Check::Record, Severity::Caution)]);
    let breach = "ringside lost track of its requests, so don't trust these numbers";
    let lost = invalid(&["the completion queue overflowed", breach]);
    assert_eq!(found(&lost), [(Check::Record, Severity::Void)]);
    assert_eq!(said(&lost, Check::Record), breach);
}

#[test]
fn a_fault_that_came_late_or_not_at_all_voids_its_round() {
    let void = [(Check::Faults, Severity::Void)];
    let mut round = well();
    faulted(&mut round, &[0, 0, 90, 0]);
    round.faults[0].began_s = 2.26;
    assert_eq!(found(&round), void);
    round.faults[0].began_s = 2.24;
    assert_eq!(found(&round), []);
    round.faults[0].missed = true;
    assert_eq!(found(&round), void);
}

#[test]
fn only_a_fault_that_computes_excuses_that_others_do() {
    let seen = |kind: &str| {
        after(|round| {
            round.watched.host.unattributed = Some(0.3);
            round.watched.host.pressure = Some(0.4);
            round.faults = vec![Injected {
                kind: kind.into(),
                ..Injected::default()
            }];
        })
    };
    assert_eq!(seen("cpu"), []);
    let others = [
        (Check::Unattributed, Severity::Caution),
        (Check::Pressure, Severity::Caution),
    ];
    assert_eq!(seen("kill"), others);
}
