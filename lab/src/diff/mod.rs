//! Two measurements of the same thing at different times: did it become slower?
//!
//! Reads two comparisons, two rounds of comparisons or two records of runs, refuses what cannot be
//! compared and says why, and judges each row by intervals of unpaired rounds: nothing that
//! happened to the host between the two cancels. A regression is proven if the interval leaves out
//! 1 and the difference is larger than what matters and than the noise of either comparison.
//! Measures nothing.

mod side;

#[cfg(test)]
mod tests;

use std::path::Path;

use serde::Serialize;

use crate::sample::Sample;
use crate::statistics::{ALPHA, ROUNDS_MIN, holm, unpaired};
use crate::verdict::{Basis, Judgement, Kind, Metric, Side, Verdict, judge_ratio};

use side::Measured;

/// What became of what was measured before.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Diff {
    /// What a reader must know before the findings.
    pub cautions: Vec<String>,
    /// Each row by each metric, the figure after as a multiple of the one before.
    pub findings: Vec<Finding>,
}

/// A row by one metric.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Finding {
    /// The row.
    pub row: String,
    /// What can be said.
    pub judgement: Judgement,
    /// Whether it is proven that it became worse.
    pub regression: bool,
}

impl Diff {
    /// Whether a row is proven to have become worse.
    pub fn has_regression(&self) -> bool {
        self.findings.iter().any(|finding| finding.regression)
    }

    /// In a few lines for people.
    pub fn words(&self) -> String {
        let mut lines = Vec::new();
        for finding in &self.findings {
            let sign = match finding.regression {
                true => "REGRESSION ",
                false => "",
            };
            let sentence = &finding.judgement.verdict.sentence;
            lines.push(format!("{sign}{}: {sentence}", finding.row));
        }
        lines.extend(self.cautions.iter().map(|what| format!("caution: {what}")));
        lines.join("\n") + "\n"
    }
}

/// Compares what was measured `before` with what was measured `after`. Differences of less than
/// `smallest`, a share, are called none; without it, the larger of what the two comparisons say.
///
/// # Errors
/// Files that cannot be read, and why two measurements cannot be compared.
pub fn diff(before: &Path, after: &Path, smallest: Option<f64>) -> Result<Diff, String> {
    let (old, new) = (Measured::read(before)?, Measured::read(after)?);
    let cannot = |why: String| {
        let (before, after) = (before.display(), after.display());
        format!("{before} and {after} cannot be compared: {why}")
    };
    old.comparable(&new).map_err(cannot)?;
    let mut cautions = old.cautions(&new);
    let mut compared = Vec::new();
    for row in &new.rows {
        match old.row(&row.name) {
            Some(other) => compared.push((row, other)),
            None => cautions.push(format!("{} was not measured before", row.name)),
        }
    }
    for row in &old.rows {
        if new.row(&row.name).is_none() {
            cautions.push(format!("{} was measured before, and is not now", row.name));
        }
    }
    if compared.is_empty() {
        return Err(cannot(
            "no row of one has the name of one of the other".into(),
        ));
    }
    let smallest = smallest.unwrap_or(old.smallest.max(new.smallest));
    let mut findings = Vec::new();
    let metrics: Vec<Metric> = new.metrics().collect();
    let asked: Vec<Asked<'_>> = compared
        .iter()
        .flat_map(|(row, other)| {
            metrics.iter().map(|metric| Asked {
                row: &row.name,
                metric: *metric,
                after: &row.samples,
                before: &other.samples,
            })
        })
        .collect();
    let p_values: Vec<Option<f64>> = asked
        .iter()
        .map(|asked| Some(asked.ratio(1.0 - ALPHA)?.p_value))
        .collect();
    let counted: Vec<f64> = p_values.iter().flatten().copied().collect();
    let mut levels = holm::levels(&counted, ALPHA, |level| level).into_iter();
    for (asked, p_value) in asked.iter().zip(p_values) {
        let basis = Basis {
            smallest,
            floor: [&old, &new]
                .into_iter()
                .filter_map(|side| side.floor(asked.metric))
                .reduce(f64::max),
            ..Basis::default()
        };
        let level = p_value.and_then(|_| levels.next());
        findings.push(asked.judged(level, &basis));
    }
    Ok(Diff { cautions, findings })
}

/// A question: a row by a metric.
struct Asked<'a> {
    row: &'a str,
    metric: Metric,
    after: &'a [Sample],
    before: &'a [Sample],
}

impl Asked<'_> {
    fn ratio(&self, confidence: f64) -> Option<crate::statistics::Ratio> {
        let (after, before) = (self.figures(self.after), self.figures(self.before));
        unpaired(&after, &before, confidence)
    }

    /// The figures of the rounds that count, each with its start.
    fn figures(&self, samples: &[Sample]) -> Vec<(u32, f64)> {
        let counts = |sample: &&Sample| sample.void().is_none();
        let figure = |sample: &Sample| Some((sample.start, self.metric.of(sample)?));
        samples.iter().filter(counts).filter_map(figure).collect()
    }

    fn judged(&self, level: Option<f64>, basis: &Basis<'_>) -> Finding {
        let ratio = level.and_then(|level| self.ratio(1.0 - level));
        let (now, before) = (format!("{} now", self.row), format!("{} before", self.row));
        let side = |name, samples| Side {
            name,
            samples,
            spoilt: None,
        };
        let verdict = match ratio {
            Some(ratio) => judge_ratio(
                side(&now, self.after),
                side(&before, self.before),
                self.metric,
                ratio,
                basis,
            ),
            None => Verdict::new(Kind::Void, self.without_interval()),
        };
        let regression = match self.metric.more_is_better() {
            true => matches!(verdict.kind, Kind::Lower | Kind::AtMost),
            false => verdict.kind == Kind::Higher,
        };
        Finding {
            row: self.row.to_owned(),
            judgement: Judgement {
                metric: self.metric,
                ratio,
                verdict,
            },
            regression,
        }
    }

    /// What can be said where there are too few rounds for an interval: that nothing is proven.
    fn without_interval(&self) -> String {
        let (after, before) = (self.figures(self.after), self.figures(self.before));
        let mean = |figures: &[(u32, f64)]| {
            let sum: f64 = figures.iter().map(|(_, figure)| figure).sum();
            sum / figures.len() as f64
        };
        let name = self.metric.name();
        if after.is_empty() || before.is_empty() {
            return format!("void: no round that counts has a figure of {name} on either side");
        }
        format!(
            "nothing is proven: the {name} is {:.3} × what it was, of {} rounds that count now and \
             {} before, and an interval needs {ROUNDS_MIN} on each side",
            mean(&after) / mean(&before),
            after.len(),
            before.len()
        )
    }
}
