//! What was completed in time, counted from when it was due.

use super::*;

/// Answers after 1 ms to 100 ms, in turn.
fn law(n: u64, _: Time) -> u64 {
    (n % 100 + 1) * MS
}

fn planned(within_s: Option<f64>) -> Plan {
    let mut plan = plan(Schedule::Constant { rate: 500.0 }, 200, 10.0);
    plan.goodput_within_s = within_s;
    plan
}

#[test]
fn the_share_of_answers_in_time_is_that_of_the_law() {
    let plan = planned(Some(0.0505));
    let record = recorded(&plan, run(&plan, 3, Faults::none(), Server::new(law)));
    let goodput = record.goodput.expect("asked for");
    assert_eq!(record.exchanges.completed, 5_000);
    assert_eq!((goodput.completed, goodput.within_us), (2_500, 50_500.0));
    assert_eq!((goodput.share, goodput.per_second), (Some(0.5), 250.0));
    // Each row has those that came in it; those of the drain are in none.
    let rows: u64 = record.series.iter().filter_map(|row| row.good).sum();
    assert!((2_450..=2_500).contains(&rows), "{rows}");
}

#[test]
fn what_waits_for_a_connection_is_late_although_it_was_answered_at_once() {
    // One connection and twice the load that it can carry: nearly all wait.
    let mut plan = planned(Some(0.05));
    plan.connections = 1;
    plan.timeout_s = 60.0;
    let record = recorded(
        &plan,
        run(&plan, 3, Faults::none(), Server::new(|_, _| 4 * MS)),
    );
    let goodput = record.goodput.expect("asked for");
    assert_eq!(record.exchanges.failed, 0);
    assert!(goodput.completed < 100, "{goodput:?}");
}

#[test]
fn who_does_not_ask_for_it_has_none_and_the_same_figures() {
    let (with, without) = (planned(Some(0.05)), planned(None));
    let [with, without] = [with, without]
        .map(|plan| recorded(&plan, run(&plan, 3, Faults::none(), Server::new(law))));
    assert_eq!(without.goodput, None);
    assert!(without.series.iter().all(|row| row.good.is_none()));
    assert_eq!(with.exchanges, without.exchanges);
    assert_eq!(with.histograms, without.histograms);
}
