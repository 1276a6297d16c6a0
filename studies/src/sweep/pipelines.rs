//! A sweep for pipelines: as JUnit's XML, a suite for each value, and as figures for services that
//! draw them.

use lab::manifest::Role;
use report::benchmark::{Measure, of_figures};
use report::junit::{Case, State, Suite, junit as document, state};

use super::record::{PointFound, Sweep, written};

/// What was said of each row at each value.
pub fn junit(sweep: &Sweep) -> String {
    let names = sweep.names();
    let suite = |value: &f64| {
        let name = format!("{}: {}", sweep.name, at(sweep, *value));
        let point = sweep.points.iter().find(|point| point.value == *value);
        let measured = match point {
            Some(_) => Ok(sweep.question.clone()),
            None => {
                let why = sweep.ended_early.as_deref();
                Err(why.unwrap_or("It wasn't measured.").to_owned())
            }
        };
        // How long its rounds took stands in the report of the point itself.
        let mut suite = Suite::new(name, Some(&sweep.began), measured, 0.0);
        let cases = point.map(|point| of_point(sweep, point, &names));
        suite.cases.extend(cases.into_iter().flatten());
        suite
    };
    let mut values = sweep.order.clone();
    values.sort_by(f64::total_cmp);
    let suites: Vec<Suite> = values.iter().map(suite).collect();
    document("ringside compare", &suites)
}

fn of_point(sweep: &Sweep, point: &PointFound, names: &[String]) -> Vec<Case> {
    let case = |name: &String| {
        let row = point.rows.iter().find(|row| row.name == *name);
        let (state, says) = match row {
            Some(row) => (state(row.kind), row.verdict.as_str()),
            None => (State::Error, "It wasn't measured at this value."),
        };
        Case::new(name, sweep.metric.name(), state, says)
    };
    let others = names.iter().filter(|name| **name != sweep.baseline);
    others.map(case).collect()
}

/// The figures of every row at every value.
pub fn measures(sweep: &Sweep) -> Vec<Measure> {
    let mut measures = Vec::new();
    for point in &sweep.points {
        let rows = point.rows.iter();
        for row in rows.filter(|row| row.role == Role::Subject && !row.doubtful) {
            let name = format!("{}, {}", row.name, at(sweep, point.value));
            measures.extend(of_figures(&name, &row.figures, sweep.metric));
        }
    }
    measures
}

/// The setting with a value of it.
fn at(sweep: &Sweep, value: f64) -> String {
    format!("{} {}", sweep.key.name(), written(sweep.key, value))
}
