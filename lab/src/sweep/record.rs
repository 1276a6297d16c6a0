//! What a sweep found: the figures of every row at every point, and what they make of it together.
//! Made from the reports of its points alone.

use std::fmt::Write;

use serde::{Deserialize, Serialize};

use super::{Key, Point};
use crate::document;
use crate::manifest::Role;
use crate::report::{Figures, Report, format};
use crate::statistics::Ratio;
use crate::statistics::usl::{self, Usl};
use crate::verdict::Kind;

/// The version of `sweep.json` that is written and read here.
pub(super) const SCHEMA_VERSION: u32 = 1;

/// What a sweep found.
#[derive(Clone, Debug, Serialize, Deserialize)]
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
    /// The values in the order of measuring, which is random.
    pub order: Vec<f64>,
    /// The points that were measured, by their values.
    pub points: Vec<PointFound>,
    /// How each row's throughput grows, over connections and workers.
    pub laws: Vec<Law>,
    /// What ended it before its last point, if something did.
    pub ended_early: Option<String>,
}

/// One point of a sweep.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct PointFound {
    /// The setting's value.
    pub value: f64,
    /// The folder of its comparison, inside the sweep's.
    pub folder: String,
    /// The rows in the comparison's order, without those that were not measured.
    pub rows: Vec<RowFound>,
}

/// One row at one point.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct RowFound {
    /// Its name.
    pub name: String,
    /// What it is there for.
    pub role: Role,
    /// Its rounds put together.
    pub figures: Figures,
    /// Its figure as a multiple of the baseline's.
    pub ratio: Option<Ratio>,
    /// What can be said about it beside the baseline.
    pub verdict: String,
    /// Whether the rounds count for nothing, or are the generator's as much as the subject's.
    pub doubtful: bool,
}

/// How a row's throughput grows with the setting (the Universal Scalability Law).
#[derive(Clone, Debug, Serialize, Deserialize)]
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

    /// Adds a point that was measured, and draws the conclusions anew.
    pub(super) fn add(&mut self, point: Point, report: &Report, seed: u64) {
        let row = |row: &crate::report::Row| {
            let kind = row.verdict.kind;
            Some(RowFound {
                name: row.name.clone(),
                role: role(kind),
                figures: row.figures.clone()?,
                ratio: row.ratio,
                verdict: row.verdict.sentence.clone(),
                doubtful: row
                    .samples
                    .iter()
                    .any(|sample| sample.void().is_some() || sample.bound().is_some()),
            })
        };
        let found = PointFound {
            value: point.value(),
            folder: point.folder(),
            rows: report.subjects.iter().filter_map(row).collect(),
        };
        self.points.retain(|point| point.value != found.value);
        self.points.push(found);
        self.points.sort_by(|a, b| a.value.total_cmp(&b.value));
        if matches!(self.key, Key::Connections | Key::Workers) {
            let names = self.names();
            self.laws = names.iter().map(|name| self.law(name, seed)).collect();
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

    /// The figures as a table of plain text, a line for each row at each point, and what they make
    /// of it together.
    pub fn words(&self) -> String {
        let mut text = format!("{}\n\n", self.question);
        let mut line = |cells: [&str; 6]| {
            let [value, name, rate, p50, p99, cpu] = cells;
            let _ = writeln!(
                text,
                "{value:>12}  {name:<24}{rate:>12}{p50:>12}{p99:>12}{cpu:>14}"
            );
        };
        let key = self.key.name();
        line([key, "subject", "requests/s", "p50", "p99", "CPU/exchange"]);
        for point in &self.points {
            for row in point.rows.iter().filter(|row| row.role == Role::Subject) {
                let figures = &row.figures;
                let time = |spread: Option<crate::statistics::Spread>| {
                    spread.map_or("–".to_owned(), |spread| format::time_us(spread.median))
                };
                line([
                    &point.value.to_string(),
                    &row.name,
                    &format::count(figures.requests_per_second.median),
                    &time(figures.p50_us),
                    &time(figures.p99_us),
                    &time(figures.server_cpu_us_per_exchange),
                ]);
            }
        }
        for sentence in self.conclusions() {
            let _ = write!(text, "\n{sentence}");
        }
        text.push('\n');
        text
    }

    /// What the points make of it together, in sentences.
    pub fn conclusions(&self) -> Vec<String> {
        let mut sentences: Vec<String> = Vec::new();
        if let Some(why) = &self.ended_early {
            sentences.push(format!(
                "The sweep ended early: {why}. {} of {} points were measured.",
                self.points.len(),
                self.order.len()
            ));
        }
        sentences.extend(self.laws.iter().map(|law| law.sentence(self.key)));
        sentences
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
                format!(" The points at {values} are left out: they are not the subject's alone.")
            }
        };
        let Some(law) = &self.law else {
            let why = self.refused.as_deref().unwrap_or("it was not fitted");
            return format!("{row}: no scalability law, since {why}.{left_out}");
        };
        let peak = match law.peak {
            Some((n, x)) => format!(
                "most is served with about {n:.0} {}, {} requests/s",
                key.name(),
                format::count(x)
            ),
            None => "no peak within twice of what was measured".to_owned(),
        };
        format!(
            "{row}: {} requests/s by one, {:.1} % contention, {:.3} % coherency; {peak}.{left_out}",
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
