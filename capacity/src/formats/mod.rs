//! What a search for capacities found, in every format: for a terminal, as Markdown, as CSV, as a
//! page, and as JSON, which is the model itself.
//!
//! Concludes nothing: the sentences are in the model.

mod benchmark;
mod junit;
mod page;
mod text;

#[cfg(test)]
mod tests;

pub use benchmark::measures;
pub use junit::document as junit;
pub use page::html;
pub use page::said;
pub use text::{csv, markdown, terminal};

pub use crate::{Capacities, CurvePoint, Point, RowCapacity};
use crate::{Objective, StepFound};
use report::for_pipelines;
use report::pages::{File, Page};
use statistics::format::{digits, per_second, time_us};

/// The name of the model's file.
pub const MODEL: &str = lab::store::CAPACITY;

/// Every file of a folder, by its name.
pub fn files(found: &Capacities) -> Vec<(File, String)> {
    let mut files = vec![
        (File::Record(MODEL), found.json()),
        (File::Page(Page::MARKDOWN), markdown(found)),
        (File::Page(Page::CSV), csv(found)),
        (File::Page(Page::HTML), html(found)),
    ];
    files.extend(for_pipelines(junit(found), &measures(found)));
    files
}

/// The part of the capacity at which response times are shown: what is left is the room that a
/// careful operator keeps.
const SHOWN_AT: f64 = 0.8;

/// What has to hold, and how that is judged, in a sentence.
fn conditions(found: &Capacities) -> String {
    let arrivals = match found.arrivals {
        _ if found.replayed => "the replay's own",
        load::schedule::Arrivals::Constant => "constant",
        load::schedule::Arrivals::Poisson => "Poisson",
    };
    let limits = &found.limits;
    let windows = match limits.repeats {
        1 => "a window".to_owned(),
        repeats => format!("most of {repeats} windows"),
    };
    let confirmed = match limits.confirmations {
        1 => "1 probe confirms".to_owned(),
        probes => format!("{probes} probes confirm"),
    };
    let due = match found.of_flows {
        true => "flows that were due were finished",
        false => "requests that were due were answered",
    };
    let network = found.network.as_ref();
    let network = network.map_or(String::new(), |network| {
        format!(" Measured in {}.", network.phrase())
    });
    format!(
        "A rate holds if {} in {windows} of {} s or more with {arrivals} arrivals, and the {due}. \
         The search narrows the highest rate that holds and \
         the lowest that fails down to {} %, and {confirmed} each.{network}",
        found.slo.join(" and "),
        digits(found.window_s),
        digits(100.0 * limits.precision),
    )
}

/// The point of the curve nearest to [`SHOWN_AT`] of the capacity.
fn shown(row: &RowCapacity) -> Option<&CurvePoint> {
    let wanted = SHOWN_AT * row.capacity()?;
    let off = |point: &&CurvePoint| (point.rate / wanted).ln().abs();
    row.curve
        .iter()
        .filter(|point| off(point) < 0.1)
        .min_by(|a, b| off(a).total_cmp(&off(b)))
}

/// `at least 20,270/s`, `20,270/s`, or why there is none.
fn capacity(row: &RowCapacity) -> String {
    match (row.interval(), &row.failed) {
        (Some((low, Some(_))), _) => per_second(low),
        (Some((low, None)), _) => format!("≥ {}", per_second(low)),
        (None, Some(_)) => "failed".to_owned(),
        (None, None) => row.in_words(),
    }
}

/// What rates are of.
fn counted(found: &Capacities) -> &'static str {
    match found.of_flows {
        true => "flows",
        false => "requests",
    }
}

/// The unit of rates.
fn a_second(found: &Capacities) -> &'static str {
    match found.of_flows {
        true => "flows/s",
        false => "requests/s",
    }
}

/// What stands where nothing is known.
const DASH: &str = "–";

/// What [`DASH`] stands for in the tables, where it does.
fn dashes(found: &Capacities) -> Option<String> {
    let all = || found.rows.iter();
    let points = || all().flat_map(|row| &row.points);
    let curves = || all().flat_map(|row| &row.curve);
    let steps = || all().flat_map(|row| &row.steps);
    let is_unseen = all()
        .filter_map(shown)
        .any(|at| at.server_cpu_us_per_exchange.is_none())
        || curves().any(|point| point.server_busy.is_none());
    let is_rare = curves().any(|point| point.p50_us.is_none() || point.p99_us.is_none())
        || points().any(|point| point.p99_us.is_none())
        || steps().any(|step| step.p50_us.is_none() || step.p99_us.is_none());
    let means = [
        (all().any(|row| failing(row) == DASH), "no rate failed"),
        (
            all().any(|row| shown(row).is_none()),
            "no rate near 80 % of the capacity was measured",
        ),
        (
            points().any(|point| point.connections == 0),
            "connections aren't known of older records, or where the server died",
        ),
        (is_rare, "too few answers for a percentile"),
        (
            is_unseen,
            "the CPU time is seen only of servers that ringside starts",
        ),
    ];
    let means = means.into_iter().filter(|(is_so, _)| *is_so);
    let means: Vec<&str> = means.map(|(_, what)| what).collect();
    (!means.is_empty()).then(|| format!("{DASH}: {}", means.join("; ")))
}

/// The lowest rate that failed.
fn failing(row: &RowCapacity) -> String {
    let failed = row.found.as_ref().and_then(|found| found.failed);
    or_dash(failed.map(|edge| edge.rate), per_second)
}

fn knee(row: &RowCapacity) -> String {
    match (row.knee, &row.no_knee) {
        (Some(knee), _) => format!("{}, p99 {}", per_second(knee.rate), time_us(knee.p99_us)),
        (None, Some(why)) => why.clone(),
        (None, None) => DASH.to_owned(),
    }
}

fn or_dash(value: Option<f64>, show: fn(f64) -> String) -> String {
    value.map_or(DASH.to_owned(), show)
}

/// What was measured of a condition's figure.
fn shown_objective(one: &Objective, value: Option<f64>) -> String {
    value.map_or(DASH.to_owned(), |value| one.shown(value))
}

/// A share of failures, fine enough for the conditions that are usual: `0.004 %`.
fn failed_share(share: f64) -> String {
    match share > 0.0 {
        true => format!("{} %", digits(100.0 * share)),
        false => "0".to_owned(),
    }
}

/// The share of a probe's exchanges that failed.
fn share_failed(point: &Point) -> String {
    let all = (point.completed + point.failed).max(1) as f64;
    failed_share(point.failed as f64 / all)
}

/// Over how many connections a probe was made, where that is known.
fn connections(point: &Point) -> String {
    match point.connections {
        0 => DASH.to_owned(),
        connections => connections.to_string(),
    }
}

/// The rows whose requests differ, where a rate held.
fn mixed(found: &Capacities) -> Vec<&RowCapacity> {
    let rows = found.rows.iter();
    rows.filter(|row| !row.steps.is_empty()).collect()
}

/// The heading of what is shown of requests that differ.
const BY_REQUEST: &str = "By request, at the highest rate that held";

/// What is shown of them: see [`of_request`].
const OF_REQUEST: [&str; 6] = ["request", "subject", "requests/s", "p50", "p99", "failed"];

/// One request of a row, as it is shown.
fn of_request(row: &RowCapacity, step: &StepFound) -> [String; 6] {
    let all = (step.completed + step.failed).max(1) as f64;
    [
        step.name.clone(),
        row.name.clone(),
        per_second(step.achieved.round()),
        or_dash(step.p50_us, time_us),
        or_dash(step.p99_us, time_us),
        failed_share(step.failed as f64 / all),
    ]
}

/// In how many of its probes a rate held.
fn times_held(point: &CurvePoint) -> String {
    match point.held {
        held if held == point.probes => "held".to_owned(),
        0 => "failed".to_owned(),
        held => format!("held {held} of {}", point.probes),
    }
}

/// What the law of scalability says, in a sentence.
fn scaling(row: &RowCapacity) -> Option<String> {
    let scaling = row.scaling.as_ref()?;
    let name = &row.name;
    let missing = match scaling.missing.as_slice() {
        [] => String::new(),
        whys => format!(" Some runs are missing: {}.", whys.join("; ")),
    };
    let Some(law) = &scaling.law else {
        let why = scaling.refused.as_deref().unwrap_or("no reason given");
        return Some(format!(
            "{name}: the scalability law couldn't be fitted: {why}.{missing}"
        ));
    };
    let peak = match law.peak {
        Some((n, x)) => format!(
            "throughput peaks at about {n:.0} connections with {}",
            per_second(x)
        ),
        None => "throughput doesn't peak in the range we measured".to_owned(),
    };
    Some(format!(
        "{name} over connections: {} for one connection, {} % contention ({}–{}), {} % crosstalk \
         ({}–{}); {peak}. The law explains {:.1} % of the variance.{missing}",
        per_second(law.lambda.value),
        digits(100.0 * law.sigma.value),
        digits(100.0 * law.sigma.low),
        digits(100.0 * law.sigma.high),
        digits(100.0 * law.kappa.value),
        digits(100.0 * law.kappa.low),
        digits(100.0 * law.kappa.high),
        100.0 * law.explained,
    ))
}
