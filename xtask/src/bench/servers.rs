//! Servers side by side on one core each, by ringside's own `compare`: its report holds each round
//! of each subject, and here their ratios are set against their targets.

use std::fs;
use std::time::Duration;

use serde::Deserialize;
use serde_json::Value;

use super::child::CommandLine;
use super::report::{Findings, Row, Target};
use super::{Bench, RINGSIDE, Result};

const COMPARISON: &str = "comparisons/servers.toml";
const OURS: &str = "ringside-uring";
/// Five subjects take their time; this much is enough for a window.
const WINDOW_S_MAX: u64 = 3;
/// Each round starts each subject, warms it up, measures it and ends it.
const BESIDES_S: u64 = 10;
/// For building, and for ending subjects when it is stopped.
const BUILD: Duration = Duration::from_secs(120);
const GRACE: Duration = Duration::from_secs(15);
/// `compare` ends with this where a subject failed and the others were measured.
const SUBJECT_FAILED: i32 = 3;

/// Subjects, and how many times as many requests ours has to answer.
const AIMS: [(&str, Option<f64>); 4] = [
    ("go-nethttp", Some(3.06)),
    ("node-http", Some(3.8)),
    ("nginx", Some(1.3)),
    ("ringside-epoll", None),
];

/// What is read of the report of a comparison.
#[derive(Deserialize)]
struct Report {
    subjects: Vec<Subject>,
    #[serde(default)]
    limits: Vec<String>,
}

#[derive(Deserialize)]
struct Subject {
    name: String,
    outcome: Value,
    samples: Vec<Sample>,
}

#[derive(Deserialize)]
struct Sample {
    round: u32,
    requests_per_second: f64,
    p50_us: Option<f64>,
    p99_us: Option<f64>,
    server_cpu_us_per_exchange: Option<f64>,
    server_busy: f64,
    generator_busy: Option<f64>,
    memory_peak_bytes: Option<u64>,
    findings: Vec<Finding>,
}

#[derive(Deserialize)]
struct Finding {
    severity: String,
}

/// Runs the comparison and reads its report.
pub(super) fn run(bench: &mut Bench) -> Result<Findings> {
    let rounds = bench.options.pairs as u64;
    let window = bench.options.seconds.min(WINDOW_S_MAX);
    let folder = bench.scratch.0.join(format!("servers-{}", bench.started));
    let line = CommandLine::new([
        RINGSIDE.to_owned(),
        "compare".to_owned(),
        COMPARISON.to_owned(),
        "--rounds".to_owned(),
        rounds.to_string(),
        "--duration".to_owned(),
        format!("{window}s"),
        "--output".to_owned(),
        folder.display().to_string(),
    ]);
    let child = bench.start(&line)?.forbearing(GRACE, SUBJECT_FAILED);
    let longest = Duration::from_secs(rounds * 5 * (window + BESIDES_S));
    let finished = child.finish(&bench.stop, BUILD + longest)?;
    eprintln!("{}", finished.output);
    let file = folder.join("report.json");
    let complain = |error: String| format!("{}: {error}", file.display());
    let text = fs::read_to_string(&file).map_err(|error| complain(error.to_string()))?;
    findings(&text).map_err(complain)
}

fn findings(text: &str) -> Result<Findings> {
    let unreadable = |error: serde_json::Error| error.to_string();
    let report: Report = serde_json::from_str(text).map_err(unreadable)?;
    let whole: Value = serde_json::from_str(text).map_err(unreadable)?;
    let ours = report.subject(OURS).ok_or(format!("no subject {OURS}"))?;
    let mut findings = Findings {
        notes: report.limits.clone(),
        runs: vec![whole],
        ..Findings::default()
    };
    for (name, at_least) in AIMS {
        let ratios = report
            .subject(name)
            .map_or(Vec::new(), |other| against(ours, other));
        let what = format!("requests/s, {OURS} ÷ {name}");
        findings.rows.push(match at_least {
            Some(least) => Row::target(&what, "×", Target::AtLeast(least), ratios),
            None => Row::shown(&what, "×", ratios),
        });
    }
    for subject in &report.subjects {
        findings.rows.extend(subject.rows());
        if subject.counted().next().is_none() {
            let (name, outcome) = (&subject.name, &subject.outcome);
            findings
                .notes
                .push(format!("{name} was not measured: {outcome}"));
        }
    }
    Ok(findings)
}

impl Report {
    fn subject(&self, name: &str) -> Option<&Subject> {
        self.subjects.iter().find(|subject| subject.name == name)
    }
}

impl Subject {
    /// The rounds that count.
    fn counted(&self) -> impl Iterator<Item = &Sample> {
        let void = |finding: &Finding| finding.severity == "void";
        self.samples
            .iter()
            .filter(move |sample| !sample.findings.iter().any(void))
    }

    fn rows(&self) -> Vec<Row> {
        let row = |what: &str, unit, figure: fn(&Sample) -> Option<f64>| {
            let what = format!("{}: {what}", self.name);
            Row::shown(&what, unit, self.counted().filter_map(figure).collect())
        };
        vec![
            row("requests/s", "/s", |one| Some(one.requests_per_second)),
            row("response p50", "µs", |one| one.p50_us),
            row("response p99", "µs", |one| one.p99_us),
            row("server CPU per request", "µs", |one| {
                one.server_cpu_us_per_exchange
            }),
            row("server's core", "%", |one| Some(one.server_busy * 100.0)),
            row("generator's core", "%", |one| {
                Some(one.generator_busy? * 100.0)
            }),
            row("server's peak memory", "MB", |one| {
                Some(one.memory_peak_bytes? as f64 / 1e6)
            }),
        ]
    }
}

/// The ratio of each round that counts for both.
fn against(ours: &Subject, other: &Subject) -> Vec<f64> {
    let ratio = |our: &Sample| {
        let other = other.counted().find(|sample| sample.round == our.round)?;
        Some(our.requests_per_second / other.requests_per_second)
    };
    ours.counted().filter_map(ratio).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn subject(name: &str, rates: &[(u32, f64, Option<&str>)]) -> Value {
        let sample = |(round, rate, void): &(u32, f64, Option<&str>)| {
            let finding = |why: &str| serde_json::json!({ "severity": "void", "sentence": why });
            let findings: Vec<Value> = void.iter().map(|why| finding(why)).collect();
            serde_json::json!({
                "round": round, "requests_per_second": rate, "p50_us": 800.0, "p99_us": null,
                "server_cpu_us_per_exchange": 4.0, "server_busy": 0.99, "generator_busy": 0.98,
                "memory_peak_bytes": 8_000_000, "findings": findings, "something_new": 1,
            })
        };
        let samples: Vec<Value> = rates.iter().map(sample).collect();
        serde_json::json!({ "name": name, "outcome": {"state": "measured"}, "samples": samples })
    }

    #[test]
    fn rounds_are_compared_with_the_same_round_of_the_other() {
        let report = serde_json::json!({ "subjects": [
            subject(OURS, &[(1, 300.0, None), (2, 330.0, None), (3, 1.0, Some("failed"))]),
            subject("go-nethttp", &[(2, 110.0, None), (1, 75.0, None), (3, 70.0, None)]),
        ]});
        let found = findings(&report.to_string()).expect("a report");
        assert_eq!(
            found.rows[0].what,
            "requests/s, ringside-uring ÷ go-nethttp"
        );
        assert_eq!(found.rows[0].values, [4.0, 3.0]);
        assert_eq!(found.rows[0].ok, Some(true));
        // Not in the report, so not reached.
        assert_eq!(
            (found.rows[1].values.len(), found.rows[1].ok),
            (0, Some(false))
        );
    }

    #[test]
    fn a_subject_without_rounds_is_mentioned() {
        let report = serde_json::json!({ "subjects": [subject(OURS, &[(1, 300.0, None)]), {
            "name": "node-http",
            "outcome": {"state": "missing", "install": "apt install nodejs"},
            "samples": [],
        }]});
        let found = findings(&report.to_string()).expect("a report");
        assert!(
            found
                .notes
                .iter()
                .any(|note| note.contains("apt install nodejs"))
        );
    }
}
