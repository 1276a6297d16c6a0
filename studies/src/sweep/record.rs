//! What a sweep found: the figures of every row at every point, and what they make of it together.
//! Made from the reports of its points alone.

use lab::manifest::Role;
use lab::verdict::{Judgement, Kind, Metric};
use load::check::Streamed;
use report::{Figures, Report, StepFigures};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use statistics::format;
use statistics::usl::{self, Usl};
use statistics::{Ratio, Spread};
use supervisor::document;

use super::Key;

/// The version of `sweep.json` that is written and read here.
pub(super) const SCHEMA_VERSION: u32 = 1;

/// What a sweep found.
#[derive(Clone, Debug, Serialize, Deserialize, JsonSchema)]
pub struct Sweep {
    /// The version of this structure.
    pub schema_version: u32,
    /// The comparison's name.
    pub name: String,
    /// Its question.
    pub question: String,
    /// When it began, UTC.
    pub began: String,
    /// The setting that it changes.
    pub key: Key,
    /// The subject that the others are compared with.
    pub baseline: String,
    /// What is compared.
    pub metric: Metric,
    /// The values in the order of measuring, which is random.
    pub order: Vec<f64>,
    /// The points that were measured, by their values.
    pub points: Vec<PointFound>,
    /// How each row's throughput grows, over connections and workers.
    pub laws: Vec<Law>,
    /// What ended it before its last point, if something did.
    pub ended_early: Option<String>,
    /// The keyed hash of the comparison's file as it was read, secrets included; null in folders
    /// that were begun before there was one.
    #[serde(default)]
    pub file_hash: Option<String>,
}

/// One point of a sweep.
#[derive(Clone, Debug, Serialize, Deserialize, JsonSchema)]
pub struct PointFound {
    /// The setting's value.
    pub value: f64,
    /// The folder of its comparison, inside the sweep's.
    pub folder: String,
    /// The rows in the comparison's order, without those that were not measured.
    pub rows: Vec<RowFound>,
}

/// One row at one point.
#[derive(Clone, Debug, Serialize, Deserialize, JsonSchema)]
pub struct RowFound {
    /// Its name.
    pub name: String,
    /// What it is there for.
    pub role: Role,
    /// Its rounds put together.
    pub figures: Figures,
    /// The requests of a mix, each by itself; empty where all are alike.
    #[serde(default)]
    pub steps: Vec<StepFound>,
    /// Its figure as a multiple of the baseline's.
    pub ratio: Option<Ratio>,
    /// What can be said about it beside the baseline, as a word for programs.
    pub kind: Kind,
    /// The same as a sentence.
    pub verdict: String,
    /// The same by figures of events, where rows are judged by some.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub events: Vec<EventsFound>,
    /// Whether the rounds count for nothing, or are the generator's as much as the subject's.
    pub doubtful: bool,
}

/// What can be said about a row at one point by a figure of events, beside the baseline.
#[derive(Clone, Debug, Serialize, Deserialize, JsonSchema)]
pub struct EventsFound {
    /// The figure.
    pub figure: Streamed,
    /// It as a multiple of the baseline's.
    pub ratio: Option<Ratio>,
    /// What can be said, as a word for programs.
    pub kind: Kind,
    /// The same as a sentence.
    pub verdict: String,
}

impl EventsFound {
    fn of(judgement: &Judgement) -> Option<EventsFound> {
        let Metric::Streamed(figure) = judgement.metric else {
            return None;
        };
        Some(EventsFound {
            figure,
            ratio: judgement.ratio,
            kind: judgement.verdict.kind,
            verdict: judgement.verdict.sentence(),
        })
    }
}

impl RowFound {
    /// What was said of it by this metric.
    fn said(&self, metric: Metric) -> Option<(Kind, Option<Ratio>)> {
        let Metric::Streamed(figure) = metric else {
            return Some((self.kind, self.ratio));
        };
        let found = self.events.iter().find(|one| one.figure == figure)?;
        Some((found.kind, found.ratio))
    }
}

/// One request of a mix in a row at one point, its rounds put together.
#[derive(Clone, Debug, Serialize, Deserialize, JsonSchema)]
pub struct StepFound {
    /// What the workload calls it; `(others)` for all beyond the first 64 names.
    pub name: String,
    /// Completed exchanges a second, in the rounds that count; null where none does.
    pub requests_per_second: Option<Spread>,
    /// Median response time in microseconds.
    pub p50_us: Option<Spread>,
    /// 99th percentile of the response time in microseconds.
    pub p99_us: Option<Spread>,
    /// Exchanges that completed, in all rounds, whether they count or not, and so is the next one.
    pub completed: u64,
    /// Exchanges that failed, or were due and not finished.
    pub failed: u64,
}

impl StepFound {
    fn of(step: &StepFigures) -> StepFound {
        StepFound {
            name: step.name.clone(),
            requests_per_second: step.requests_per_second,
            p50_us: step.p50_us,
            p99_us: step.p99_us,
            completed: step.completed,
            failed: step.failed + step.unfinished,
        }
    }
}

/// How a row's throughput grows with the setting (the Universal Scalability Law).
#[derive(Clone, Debug, Serialize, Deserialize, JsonSchema)]
pub struct Law {
    /// The row's name.
    pub row: String,
    /// The law; null where the points do not allow one.
    pub law: Option<Usl>,
    /// Why there is none.
    pub refused: Option<String>,
    /// Values that it is not fitted to, since the generator was the limit there, or rounds void.
    pub left_out: Vec<f64>,
}

impl Sweep {
    /// Reads `sweep.json`. A newer schema and what is no sweep are told apart in a sentence.
    pub fn from_json(text: &str) -> Result<Sweep, String> {
        document::versioned(text, SCHEMA_VERSION, "sweep")
    }

    /// Takes what was measured at a value, and draws the conclusions anew.
    pub(crate) fn add(&mut self, value: f64, report: &Report) {
        let row = |row: &report::Row| {
            let kind = row.verdict.kind;
            Some(RowFound {
                name: row.facts.name.clone(),
                role: role(kind),
                figures: row.figures.clone()?,
                steps: row.steps.iter().map(StepFound::of).collect(),
                ratio: row.ratio,
                kind,
                verdict: row.verdict.sentence(),
                events: row.further.iter().filter_map(EventsFound::of).collect(),
                doubtful: row
                    .samples
                    .iter()
                    .any(|sample| sample.void().is_some() || sample.bound().is_some()),
            })
        };
        let found = PointFound {
            value,
            folder: self.key.folder(value),
            rows: report.subjects.iter().filter_map(row).collect(),
        };
        self.points.retain(|point| point.value != found.value);
        self.points.push(found);
        self.points.sort_by(|a, b| a.value.total_cmp(&b.value));
        if matches!(self.key, Key::Connections | Key::Workers) {
            let names = self.names();
            self.laws = names
                .iter()
                .map(|name| self.law(name, report.setup.seed))
                .collect();
        }
    }

    /// The names of the rows that are compared, each once, in the order of the first point.
    pub fn names(&self) -> Vec<String> {
        let mut names: Vec<String> = Vec::new();
        for row in self.points.iter().flat_map(|point| &point.rows) {
            if row.role == Role::Subject && !names.contains(&row.name) {
                names.push(row.name.clone());
            }
        }
        names
    }

    /// A row at each point where it was measured.
    pub fn of<'a>(&'a self, name: &'a str) -> impl Iterator<Item = (f64, &'a RowFound)> {
        self.points.iter().filter_map(move |point| {
            let row = point.rows.iter().find(|row| row.name == name)?;
            Some((point.value, row))
        })
    }

    /// Every request of a mix in the rows that are compared, by requests, then by values; nothing
    /// where all are alike.
    pub fn by_request(&self) -> Vec<(f64, &RowFound, &StepFound)> {
        let mut names: Vec<&str> = Vec::new();
        let steps = || {
            let rows = self.points.iter().flat_map(|point| {
                let rows = point.rows.iter().filter(|row| row.role == Role::Subject);
                rows.map(|row| (point.value, row))
            });
            rows.flat_map(|(value, row)| row.steps.iter().map(move |step| (value, row, step)))
        };
        for (.., step) in steps() {
            if !names.contains(&&*step.name) {
                names.push(&step.name);
            }
        }
        let of = |name| steps().filter(move |(.., step)| step.name == name);
        names.into_iter().flat_map(of).collect()
    }

    fn law(&self, name: &str, seed: u64) -> Law {
        let (doubtful, sound): (Vec<_>, Vec<_>) = self.of(name).partition(|(_, row)| row.doubtful);
        let points: Vec<(f64, f64)> = sound
            .iter()
            .map(|(value, row)| (*value, row.figures.requests_per_second.median))
            .collect();
        let fitted = usl::fit(&points, seed);
        Law {
            row: name.to_owned(),
            refused: fitted.as_ref().err().map(ToString::to_string),
            law: fitted.ok(),
            left_out: doubtful.iter().map(|(value, _)| *value).collect(),
        }
    }

    /// What the points allow to say together, in sentences, and whether that is all of what was
    /// asked.
    pub(super) fn concluded(&self) -> Vec<(bool, String)> {
        let mut sentences: Vec<(bool, String)> = Vec::new();
        if let Some(why) = &self.ended_early {
            let says = format!(
                "The sweep ended early: {why}. {} of {} points were measured.",
                self.points.len(),
                self.order.len()
            );
            sentences.push((false, says));
        }
        let names = self.names();
        let others = names.iter().filter(|name| **name != self.baseline);
        let metrics = self.metrics();
        let each = others.flat_map(|name| metrics.iter().map(move |metric| (name, *metric)));
        sentences.extend(each.map(|(name, metric)| self.beside(name, metric)));
        let laws = self.laws.iter().filter(|law| law.law.is_some());
        sentences.extend(laws.map(|law| (true, law.sentence(self.key))));
        sentences
    }

    /// Of which rows no law can be said, and why.
    pub(super) fn refused(&self) -> Vec<String> {
        let laws = self.laws.iter().filter(|law| law.law.is_none());
        laws.map(|law| law.sentence(self.key)).collect()
    }

    /// What is told of rows over all values: the main figure, and those of events.
    fn metrics(&self) -> Vec<Metric> {
        let mut metrics = vec![self.metric];
        let rows = self.points.iter().flat_map(|point| &point.rows);
        for figure in rows.flat_map(|row| &row.events).map(|one| one.figure) {
            if !metrics.contains(&Metric::Streamed(figure)) {
                metrics.push(Metric::Streamed(figure));
            }
        }
        metrics
    }

    /// What was said of a row at each value, values with the same answer together, and whether
    /// something was said at each.
    fn beside(&self, name: &str, metric: Metric) -> (bool, String) {
        let (mut differ, mut same, mut open): (Vec<String>, Vec<String>, Vec<String>) =
            Default::default();
        for (value, row) in self.of(name) {
            let value = written(self.key, value);
            let (kind, ratio) = row.said(metric).unwrap_or((Kind::NotMeasured, None));
            match (kind, ratio) {
                (kind, Some(ratio)) if kind.says_a_difference() => {
                    let bound = match kind {
                        Kind::AtLeast => "at least ",
                        Kind::AtMost => "at most ",
                        _ => "",
                    };
                    let times = format::ratio(kind.figure(&ratio));
                    differ.push(format!("{bound}{times} × at {value}"));
                }
                (Kind::NoDifference | Kind::TooSmall, _) => same.push(value),
                _ => open.push(value),
            }
        }
        let mut parts = Vec::new();
        if !differ.is_empty() {
            parts.push(differ.join(", "));
        }
        if !same.is_empty() {
            parts.push(format!("no difference shown at {}", same.join(", ")));
        }
        if !open.is_empty() {
            parts.push(format!("undecided at {}", open.join(", ")));
        }
        let says = format!(
            "{name} compared with {}, {} over {}: {}.",
            self.baseline,
            metric.name(),
            self.key.name(),
            parts.join("; ")
        );
        (open.is_empty(), says)
    }
}

impl Law {
    /// What it says, in a sentence.
    fn sentence(&self, key: Key) -> String {
        let row = &self.row;
        let left_out = match self.left_out.as_slice() {
            [] => String::new(),
            values => {
                let values: Vec<String> = values.iter().map(ToString::to_string).collect();
                let values = values.join(", ");
                format!(
                    " The points at {values} are left out, because the generator was the limit or \
                     they are void."
                )
            }
        };
        let Some(law) = &self.law else {
            let why = self.refused.as_deref().unwrap_or("it wasn't fitted");
            return format!("{row}: the scalability law couldn't be fitted: {why}.{left_out}");
        };
        let peak = match law.peak {
            Some((n, x)) => format!(
                "throughput peaks at about {n:.0} {}, with {} requests/s",
                key.name(),
                format::count(x)
            ),
            None => "no peak within twice the measured range".to_owned(),
        };
        format!(
            "{row}: {} requests/s for one, {:.1} % contention, {:.3} % coherency; \
             {peak}.{left_out}",
            format::count(law.lambda.value),
            100.0 * law.sigma.value,
            100.0 * law.kappa.value,
        )
    }
}

/// What a row is there for, from what is said about it.
fn role(kind: Kind) -> Role {
    match kind {
        Kind::Noise => Role::Again,
        Kind::Ceiling => Role::Ceiling,
        _ => Role::Subject,
    }
}

/// A value of the setting.
pub(super) fn written(key: Key, value: f64) -> String {
    match key {
        Key::Payload => format::bytes(value),
        Key::Rate => format::per_second(value),
        Key::Connections | Key::Streams | Key::Workers => value.to_string(),
    }
}
