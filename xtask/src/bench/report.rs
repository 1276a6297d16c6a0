//! What a benchmark found: rows with a target or without, kept as one JSON file for each benchmark
//! and shown as one Markdown file for all that are in a folder.

use measure::time::utc_date;
use std::fs;
use std::path::Path;

use serde::{Deserialize, Serialize};
use serde_json::Value;

use super::Result;
use super::machine::{Machine, time_of_day};

/// Counts the times that the names in these files changed their meaning.
const SCHEMA_VERSION: u32 = 1;

/// All that one benchmark found.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub(super) struct Outcome {
    pub(super) schema_version: u32,
    /// Its name on the command line.
    pub(super) benchmark: String,
    /// What it asks.
    pub(super) question: String,
    /// When it started, seconds since 1970 UTC.
    pub(super) started_unix_s: u64,
    /// How long it took.
    pub(super) took_s: f64,
    /// Whether it was shortened, so that its figures mean nothing.
    pub(super) quick: bool,
    /// What it ran on.
    pub(super) machine: Machine,
    /// Every command, as it was run.
    pub(super) commands: Vec<String>,
    /// The figures.
    pub(super) rows: Vec<Row>,
    /// What a reader must know.
    pub(super) notes: Vec<String>,
    /// What the figures were computed from, run by run.
    pub(super) runs: Vec<Value>,
}

/// What a benchmark returns.
#[derive(Debug, Default)]
pub(super) struct Findings {
    pub(super) rows: Vec<Row>,
    pub(super) notes: Vec<String>,
    pub(super) runs: Vec<Value>,
}

/// One figure: the median of its values, and how far they lie apart.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub(super) struct Row {
    /// What it is, in words.
    pub(super) what: String,
    /// `×` for ratios; else the unit.
    pub(super) unit: String,
    /// What it has to be; null where it is only shown.
    pub(super) target: Option<Target>,
    /// The median; null where there is no value.
    pub(super) reached: Option<f64>,
    /// The smallest value.
    pub(super) low: Option<f64>,
    /// The largest value.
    pub(super) high: Option<f64>,
    /// One for each pair or round, in the order they were taken.
    pub(super) values: Vec<f64>,
    /// Whether the median meets the target.
    pub(super) ok: Option<bool>,
}

/// What a figure has to be.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(super) enum Target {
    AtLeast(f64),
    AtMost(f64),
    /// From the first to the second.
    Within(f64, f64),
}

impl Target {
    /// A value and 5 % to either side of it.
    pub(super) fn near(value: f64) -> Target {
        Target::Within(value * 0.95, value * 1.05)
    }

    fn met(self, value: f64) -> bool {
        match self {
            Target::AtLeast(least) => value >= least,
            Target::AtMost(most) => value <= most,
            Target::Within(least, most) => (least..=most).contains(&value),
        }
    }

    fn shown(self, unit: &str) -> String {
        match self {
            Target::AtLeast(least) => format!("≥ {}", number(least, unit)),
            Target::AtMost(most) => format!("≤ {}", number(most, unit)),
            Target::Within(least, most) => {
                format!("{} to {}", number(least, unit), number(most, unit))
            }
        }
    }
}

impl Row {
    /// A figure with a target.
    pub(super) fn target(what: &str, unit: &str, target: Target, values: Vec<f64>) -> Row {
        let mut row = Row::shown(what, unit, values);
        row.target = Some(target);
        row.ok = Some(row.reached.is_some_and(|reached| target.met(reached)));
        row
    }

    /// A figure that is only shown.
    pub(super) fn shown(what: &str, unit: &str, values: Vec<f64>) -> Row {
        Row {
            what: what.to_owned(),
            unit: unit.to_owned(),
            target: None,
            reached: median(&values),
            low: values.iter().copied().reduce(f64::min),
            high: values.iter().copied().reduce(f64::max),
            values,
            ok: None,
        }
    }
}

/// The value in the middle, or between the two in the middle; none where there is none.
pub(super) fn median(values: &[f64]) -> Option<f64> {
    let mut sorted = values.to_vec();
    sorted.sort_by(f64::total_cmp);
    match sorted.len() {
        0 => None,
        odd if odd % 2 == 1 => Some(sorted[odd / 2]),
        even => Some((sorted[even / 2 - 1] + sorted[even / 2]) / 2.0),
    }
}

/// The ratio of each pair.
pub(super) fn ratios(above: &[f64], below: &[f64]) -> Vec<f64> {
    above
        .iter()
        .zip(below)
        .map(|(above, below)| above / below)
        .collect()
}

/// Writes `outcome` into `folder`, and the Markdown of everything that is there then.
pub(super) fn write(folder: &Path, outcome: &Outcome) -> Result<()> {
    let complain = |error: std::io::Error| format!("{}: {error}", folder.display());
    fs::create_dir_all(folder).map_err(complain)?;
    let mut text =
        serde_json::to_string_pretty(outcome).map_err(|error| format!("JSON: {error}"))?;
    text.push('\n');
    fs::write(folder.join(format!("{}.json", outcome.benchmark)), text).map_err(complain)?;
    let mut outcomes = Vec::new();
    for name in super::BENCHMARKS.iter().map(|benchmark| benchmark.name) {
        let file = folder.join(format!("{name}.json"));
        let Ok(text) = fs::read_to_string(&file) else {
            continue;
        };
        let outcome: Outcome = serde_json::from_str(&text)
            .map_err(|error| format!("{}: {error}; delete it", file.display()))?;
        outcomes.push(outcome);
    }
    fs::write(folder.join("README.md"), document(outcome, &outcomes)).map_err(complain)
}

const HEAD: &str = "\
Written by `cargo xtask bench`. Server on core 0, generator on core 1, each side measured in turn,
round after round. A figure is the median of its rounds; beside it stand the smallest and the
largest, and what each round gave. The JSON files hold every run. In the commands, `ringside` is
`target/release/ringside`.
";

/// All outcomes of a folder, of which `newest` was taken last.
fn document(newest: &Outcome, outcomes: &[Outcome]) -> String {
    let machine = &newest.machine;
    let known = |fact: &Option<String>| fact.clone().unwrap_or_else(|| "unknown".into());
    let mut lines = vec![
        format!("# Benchmarks on {}", machine.kind),
        String::new(),
        HEAD.into(),
    ];
    lines.push(format!(
        "- machine: {}, {}",
        known(&machine.host.kernel),
        known(&machine.host.cpu_model)
    ));
    let versions = machine
        .versions
        .iter()
        .map(|(name, line)| format!("- {name}: {line}"));
    lines.extend(versions);
    lines.push(String::new());
    lines.extend(overview(outcomes));
    lines.push(String::new());
    lines.extend(outcomes.iter().map(markdown));
    lines.join("\n")
}

/// Every figure that has a target.
pub(super) fn overview(outcomes: &[Outcome]) -> Vec<String> {
    let mut lines = vec![
        "| benchmark | what | target | reached | lowest to highest | ok |".to_owned(),
        "|---|---|---|---|---|---|".to_owned(),
    ];
    for outcome in outcomes {
        for row in &outcome.rows {
            let (Some(target), Some(met)) = (row.target, row.ok) else {
                continue;
            };
            let shown =
                |value: Option<f64>| value.map_or("–".into(), |value| number(value, &row.unit));
            lines.push(format!(
                "| {} | {} | {} | {} | {} to {} | {} |",
                outcome.benchmark,
                row.what,
                target.shown(&row.unit),
                shown(row.reached),
                shown(row.low),
                shown(row.high),
                ok(met),
            ));
        }
    }
    lines
}

impl Outcome {
    /// Puts together what a benchmark found and what is known about it.
    pub(super) fn new(
        (benchmark, question): (&str, &str),
        (started_unix_s, took_s): (u64, f64),
        (quick, machine): (bool, Machine),
        commands: Vec<String>,
        findings: Findings,
    ) -> Outcome {
        Outcome {
            schema_version: SCHEMA_VERSION,
            benchmark: benchmark.to_owned(),
            question: question.to_owned(),
            started_unix_s,
            took_s,
            quick,
            machine,
            commands,
            rows: findings.rows,
            notes: findings.notes,
            runs: findings.runs,
        }
    }
}

/// One benchmark, as a section.
pub(super) fn markdown(outcome: &Outcome) -> String {
    let machine = &outcome.machine;
    let mut lines = vec![
        format!("## {}", outcome.benchmark),
        String::new(),
        outcome.question.clone(),
        String::new(),
    ];
    if outcome.quick {
        lines
            .push("**Shortened: it shows that everything runs. The figures mean nothing.**".into());
        lines.push(String::new());
    }
    lines.push("| what | target | reached | lowest | highest | ok | each round |".into());
    lines.push("|---|---|---|---|---|---|---|".into());
    lines.extend(outcome.rows.iter().map(table_row));
    lines.push(String::new());
    lines.extend(outcome.notes.iter().map(|note| format!("- {note}")));
    let known = |fact: Option<&String>| fact.map_or("unknown".to_owned(), String::clone);
    lines.push(format!(
        "- {} {} UTC, {:.0} s; commit {}; congestion control {}; load average before {}",
        utc_date(outcome.started_unix_s),
        time_of_day(outcome.started_unix_s),
        outcome.took_s,
        known(machine.versions.get("commit")),
        known(machine.host.congestion_control.as_ref()),
        known(machine.load_average.as_ref()),
    ));
    lines.push(String::new());
    lines.push("```sh".into());
    lines.extend(outcome.commands.iter().cloned());
    lines.push("```".into());
    lines.push(String::new());
    lines.join("\n")
}

fn table_row(row: &Row) -> String {
    let shown = |value: Option<f64>| value.map_or("–".into(), |value| number(value, &row.unit));
    let bare = |value: f64| bare_number(value, &row.unit);
    let values: Vec<String> = row.values.iter().map(|value| bare(*value)).collect();
    format!(
        "| {} | {} | {} | {} | {} | {} | {} |",
        row.what,
        row.target
            .map_or(String::new(), |target| target.shown(&row.unit)),
        shown(row.reached),
        shown(row.low),
        shown(row.high),
        row.ok.map_or("", ok),
        values.join(" "),
    )
}

fn ok(ok: bool) -> &'static str {
    if ok { "ok" } else { "**not**" }
}

/// A number with its unit.
pub(super) fn number(value: f64, unit: &str) -> String {
    match unit {
        "×" | "" => bare_number(value, unit),
        "/s" => format!("{}/s", bare_number(value, unit)),
        unit => format!("{} {unit}", bare_number(value, unit)),
    }
}

fn bare_number(value: f64, unit: &str) -> String {
    match unit {
        "×" => format!("{value:.3}"),
        _ if value.abs() >= 1000.0 => thousands(value.round() as i64),
        "%" | "ms" | "MB" => format!("{value:.2}"),
        _ if value.abs() >= 100.0 => format!("{value:.0}"),
        _ if value.abs() >= 10.0 => format!("{value:.1}"),
        _ => format!("{value:.2}"),
    }
}

/// `1,234,567`.
fn thousands(value: i64) -> String {
    let digits = value.unsigned_abs().to_string();
    let mut text = String::new();
    for (index, digit) in digits.char_indices() {
        if index > 0 && (digits.len() - index).is_multiple_of(3) {
            text.push(',');
        }
        text.push(digit);
    }
    if value < 0 { format!("-{text}") } else { text }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_median_stands_in_the_middle() {
        assert_eq!(median(&[3.0, 1.0, 2.0]), Some(2.0));
        assert_eq!(median(&[4.0, 1.0, 2.0, 3.0]), Some(2.5));
        assert_eq!(median(&[]), None);
    }

    #[test]
    fn a_row_says_whether_its_median_meets_the_target() {
        let values = vec![0.74, 0.9, 0.73];
        let row = Row::target("ratio", "×", Target::AtMost(0.75), values.clone());
        assert_eq!(
            (row.reached, row.low, row.high, row.ok),
            (Some(0.74), Some(0.73), Some(0.9), Some(true))
        );
        let row = Row::target("ratio", "×", Target::AtLeast(0.75), values);
        assert_eq!(row.ok, Some(false));
        assert_eq!(
            table_row(&row),
            "| ratio | ≥ 0.750 | 0.740 | 0.730 | 0.900 | **not** | 0.740 0.900 0.730 |"
        );
        let row = Row::target("p95", "ms", Target::near(50.0), vec![52.6]);
        assert_eq!(row.ok, Some(false));
    }

    #[test]
    fn a_row_without_values_is_not_ok() {
        let row = Row::target("ratio", "×", Target::AtMost(0.75), Vec::new());
        assert_eq!(row.ok, Some(false));
        assert_eq!(
            table_row(&row),
            "| ratio | ≤ 0.750 | – | – | – | **not** |  |"
        );
    }

    #[test]
    fn numbers_are_as_long_as_their_size_asks() {
        let cases = [
            (1_234_567.8, "/s", "1,234,568/s"),
            (12.34, "µs", "12.3 µs"),
            (0.7512, "×", "0.751"),
            (11.5, "MB", "11.50 MB"),
            (-1000.0, "", "-1,000"),
        ];
        for (value, unit, expected) in cases {
            assert_eq!(number(value, unit), expected);
        }
    }
}
