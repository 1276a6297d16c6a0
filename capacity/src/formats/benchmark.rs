//! The figures of capacities for services that draw them over commits: the capacity itself, and
//! what the subject does at the part of it that reports show.

use report::benchmark::Measure;

use super::{SHOWN_AT, a_second, shown};
use crate::{Capacities, RowCapacity};

/// The figures of all subjects. One whose capacity isn't known has none.
pub fn measures(found: &Capacities) -> Vec<Measure> {
    let of_row = |row| of_row(row, a_second(found));
    found.rows.iter().flat_map(of_row).collect()
}

fn of_row(row: &RowCapacity, unit: &'static str) -> Vec<Measure> {
    let Some((low, high)) = row.interval() else {
        return Vec::new();
    };
    let name = &row.name;
    let mut measures = vec![Measure {
        range: high.map(|high| (low, high)),
        extra: row.concluded().map(|conclusion| conclusion.words()),
        ..Measure::bigger(name, "capacity", unit, low)
    }];
    let Some(at) = shown(row) else {
        return measures;
    };
    let part = format!("at {:.0} % of the capacity", 100.0 * SHOWN_AT);
    for (figure, value) in [
        ("p50 response time", at.p50_us),
        ("p99 response time", at.p99_us),
        ("CPU time per exchange", at.server_cpu_us_per_exchange),
    ] {
        let figure = format!("{figure} {part}");
        measures.extend(value.map(|us| Measure::smaller(name, &figure, "µs", us)));
    }
    measures
}
