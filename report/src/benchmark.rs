//! Figures for services that draw them over commits: the JSON of github-action-benchmark, which
//! takes figures of which less is better and figures of which more is better in files of their own
//! (`customSmallerIsBetter`, `customBiggerIsBetter`), and that of Bencher (BMF), which takes all.
//!
//! Both find the history of a figure by its name, so names hold nothing that changes from one
//! measurement to the next. A figure that can't be trusted is left out.

use std::collections::BTreeMap;

use lab::manifest::{Outcome, Role, Setup};
use lab::verdict::{Kind, Metric};
use load::check::Streamed;
use serde::Serialize;
use statistics::Spread;
use statistics::format::{digits, ratio};
use supervisor::document::indented;

use super::figures::{Figures, judged_by};
use super::{Report, Row};

/// A figure, and which direction is better.
#[derive(Clone, Debug, PartialEq)]
pub struct Measure {
    /// Of what it is, such as a subject or a URL.
    pub of: String,
    /// Its name.
    pub figure: String,
    /// Its unit.
    pub unit: &'static str,
    /// It itself.
    pub value: f64,
    /// From where to where it may be, or was in the rounds, where that is known.
    pub range: Option<(f64, f64)>,
    /// Whether more of it is better.
    pub more_is_better: bool,
    /// What a reader has to know of it.
    pub extra: Option<String>,
}

impl Measure {
    /// One of which less is better, without a range.
    pub fn smaller(of: &str, figure: &str, unit: &'static str, value: f64) -> Measure {
        Measure {
            of: of.to_owned(),
            figure: figure.to_owned(),
            unit,
            value,
            range: None,
            more_is_better: false,
            extra: None,
        }
    }

    /// One of which more is better, without a range.
    pub fn bigger(of: &str, figure: &str, unit: &'static str, value: f64) -> Measure {
        Measure {
            more_is_better: true,
            ..Measure::smaller(of, figure, unit, value)
        }
    }

    /// One of rounds: their median, and from the lowest to the highest.
    fn of_rounds(of: &str, metric: Metric, spread: &Spread) -> Measure {
        Measure {
            range: Some((spread.lowest, spread.highest)),
            more_is_better: metric.more_is_better(),
            ..Measure::smaller(of, metric.name(), unit(metric), spread.median)
        }
    }
}

/// The unit of what is a multiple of the baseline's.
const MULTIPLE: &str = "×";

/// An entry of github-action-benchmark's array.
#[derive(Serialize)]
struct Entry<'m> {
    name: String,
    unit: &'static str,
    value: f64,
    #[serde(skip_serializing_if = "Option::is_none")]
    range: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    extra: Option<&'m str>,
}

/// Those of which less is better, for its `customSmallerIsBetter`.
pub fn smaller_is_better(measures: &[Measure]) -> String {
    entries(measures, false)
}

/// Those of which more is better, for its `customBiggerIsBetter`.
pub fn bigger_is_better(measures: &[Measure]) -> String {
    entries(measures, true)
}

fn entries(measures: &[Measure], more_is_better: bool) -> String {
    let is_one = |one: &&Measure| one.more_is_better == more_is_better && one.value.is_finite();
    let entries = measures.iter().filter(is_one).map(Entry::of);
    indented(&entries.collect::<Vec<Entry<'_>>>())
}

impl Entry<'_> {
    fn of(one: &Measure) -> Entry<'_> {
        let write = match one.unit {
            MULTIPLE => ratio,
            _ => digits,
        };
        let range = one.range;
        Entry {
            name: format!("{}: {}", one.of, one.figure),
            unit: one.unit,
            value: one.value,
            range: range.map(|(low, high)| format!("{}–{}", write(low), write(high))),
            extra: one.extra.as_deref(),
        }
    }
}

/// A value in Bencher's Metric Format.
#[derive(Serialize)]
struct Value {
    value: f64,
    #[serde(skip_serializing_if = "Option::is_none")]
    lower_value: Option<f64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    upper_value: Option<f64>,
}

/// All of them, for Bencher: by what they are of, and by their name with its unit.
pub fn bencher(measures: &[Measure]) -> String {
    let mut all: BTreeMap<&str, BTreeMap<String, Value>> = BTreeMap::new();
    for one in measures.iter().filter(|one| one.value.is_finite()) {
        // The names of some end in it.
        let name = match one.figure.ends_with(one.unit) {
            true => one.figure.clone(),
            false => format!("{} ({})", one.figure, one.unit),
        };
        let value = Value {
            value: one.value,
            lower_value: one.range.map(|(low, _)| low),
            upper_value: one.range.map(|(_, high)| high),
        };
        all.entry(&one.of).or_default().insert(name, value);
    }
    indented(&all)
}

/// What is shown of every row besides what it's judged by, where it is known.
const SHOWN: [Metric; 5] = [
    Metric::RequestsPerSecond,
    Metric::ResponseTimeP50,
    Metric::ResponseTimeP99,
    Metric::ServerCpuPerExchange,
    Metric::MemoryPeak,
];

/// The figures of a comparison's subjects, and what they are beside the baseline's. A row that
/// failed, or whose rounds don't count, has none.
pub fn comparison(report: &Report) -> Vec<Measure> {
    let counts = |row: &&Row| {
        let is_whole = matches!(row.facts.outcome, Outcome::Measured);
        is_whole && row.course.iter().any(|lap| lap.counts)
    };
    let rows = report.subjects.iter();
    let rows = rows.filter(|row| row.facts.role == Role::Subject);
    rows.filter(counts)
        .flat_map(|row| of_row(row, &report.setup))
        .collect()
}

fn of_row(row: &Row, setup: &Setup) -> Vec<Measure> {
    let name = &row.facts.name;
    let mut measures = Vec::new();
    for metric in with_shown(judged_by(setup)) {
        let said = row.said(metric, setup);
        let says = said.as_ref().map(|said| said.verdict.sentence());
        let spread = row.figure(metric);
        let is_known = spread.is_some() && says_something(row.figures.as_ref(), metric);
        measures.extend(spread.filter(|_| is_known).map(|spread| Measure {
            extra: says.clone(),
            ..Measure::of_rounds(name, metric, spread)
        }));
        let Some((said, ratio)) = said.and_then(|said| said.ratio.map(|ratio| (said, ratio)))
        else {
            continue;
        };
        if is_a_ratio(said.verdict.kind) {
            let figure = format!("{} as a multiple of {}", metric.name(), setup.baseline);
            measures.push(Measure {
                range: Some((ratio.low, ratio.high)),
                more_is_better: metric.more_is_better(),
                extra: says,
                ..Measure::smaller(name, &figure, MULTIPLE, said.verdict.kind.figure(ratio))
            });
        }
    }
    measures
}

/// These metrics, and those that are shown besides, each once.
fn with_shown(mut metrics: Vec<Metric>) -> Vec<Metric> {
    for metric in SHOWN {
        // Two of them are requests a second.
        if !metrics.iter().any(|one| one.name() == metric.name()) {
            metrics.push(metric);
        }
    }
    metrics
}

/// Whether it's a figure of its own: of a timed command, the time says the same as the rate.
fn says_something(found: Option<&Figures>, metric: Metric) -> bool {
    let is_timed = found.is_some_and(|found| found.seconds.is_some());
    !(is_timed && metric == Metric::RequestsPerSecond)
}

/// Whether the ratio of such a verdict is one of the subjects.
fn is_a_ratio(kind: Kind) -> bool {
    kind.says_a_difference() || matches!(kind, Kind::NoDifference | Kind::TooSmall)
}

/// The figures of rounds that were put together, of something with this name.
pub fn of_figures(name: &str, found: &Figures, by: Metric) -> Vec<Measure> {
    let metrics = with_shown(vec![by]).into_iter();
    let metrics = metrics.filter(|metric| says_something(Some(found), *metric));
    metrics
        .filter_map(|metric| Some(Measure::of_rounds(name, metric, found.by(metric)?)))
        .collect()
}

fn unit(metric: Metric) -> &'static str {
    match metric {
        Metric::RequestsPerSecond | Metric::RequestsDriven | Metric::Capacity => "requests/s",
        Metric::Streamed(Streamed::EventRate) => "events/s",
        Metric::ResponseTimeP99
        | Metric::ResponseTimeP95
        | Metric::ResponseTimeP50
        | Metric::ResponseTimeMean
        | Metric::Streamed(_)
        | Metric::ServerCpuPerExchange
        | Metric::GeneratorCpuPerExchange => "µs",
        Metric::Seconds => "s",
        Metric::MemoryPeak => "bytes",
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn directions_are_never_mixed_and_what_is_no_number_is_left_out() {
        let measures = [
            Measure {
                range: Some((0.9, 12_345.6)),
                extra: Some("a\nb".to_owned()),
                ..Measure::smaller("one", "p99", "µs", 1.25)
            },
            Measure::bigger("one", "requests/s", "requests/s", 10.0),
            Measure::smaller("one", "p50", "µs", f64::NAN),
        ];
        let read = |text: &str| -> serde_json::Value { serde_json::from_str(text).expect("JSON") };
        assert_eq!(
            read(&smaller_is_better(&measures)),
            serde_json::json!([{
                "name": "one: p99", "unit": "µs", "value": 1.25, "range": "0.900–12346",
                "extra": "a\nb"
            }])
        );
        assert_eq!(
            read(&bigger_is_better(&measures)),
            serde_json::json!([{
                "name": "one: requests/s", "unit": "requests/s", "value": 10.0
            }])
        );
        assert_eq!(
            read(&bencher(&measures)),
            serde_json::json!({"one": {
                "p99 (µs)": {"value": 1.25, "lower_value": 0.9, "upper_value": 12_345.6},
                "requests/s": {"value": 10.0}
            }})
        );
    }
}
