//! What a search for capacities found as JUnit's XML: a case for each subject and objective, and
//! for each subject and the rate that it has to reach.

use report::junit::{Case, State, Suite, junit};
use statistics::format::per_second;

use crate::{Capacities, Reach, RowCapacity};

/// The document.
pub fn document(found: &Capacities) -> String {
    let points = || found.rows.iter().flat_map(|row| &row.points);
    let measured = match &found.ended_early {
        Some(why) => Err(format!("The search ended early: {why}.")),
        None if points().all(|point| point.completed == 0) => {
            Err("Nothing was measured.".to_owned())
        }
        None => Ok(format!("{}; {}", found.asked, found.load)),
    };
    let seconds = points().map(|point| point.seconds).sum();
    let mut suite = Suite::new(&found.name, Some(&found.began), measured, seconds);
    let rows = found.rows.iter();
    suite.cases.extend(rows.flat_map(|row| of_row(row, found)));
    junit("ringside capacity", &[suite])
}

fn of_row(row: &RowCapacity, found: &Capacities) -> Vec<Case> {
    let says = match (&row.failed, row.concluded()) {
        (Some(what), _) => what.clone(),
        (None, Some(conclusion)) => conclusion.words(),
        (None, None) => format!("The capacity of {} is {}.", row.name, row.in_words()),
    };
    // Only --at-least asks for a rate: that none held is a finding, and changes no exit code.
    let state = match (row.is_whole(), row.capacity()) {
        (false, _) => State::Error,
        (true, Some(_)) => State::Passed,
        (true, None) => State::Skipped,
    };
    let objectives = found.slo.iter();
    let mut cases: Vec<Case> = objectives
        .map(|rule| Case::new(&row.name, rule, state, &says))
        .collect();
    cases.extend(found.at_least.map(|rate| {
        let (state, why) = match row.at_least(rate) {
            Reach::Shown => (State::Passed, says.clone()),
            Reach::Below => (State::Failed, says.clone()),
            Reach::NotKnown(why) => (State::Error, why),
        };
        let name = format!("at least {}", per_second(rate));
        Case::new(&row.name, &name, state, why)
    }));
    cases
}
