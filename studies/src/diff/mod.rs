//! Two measurements of the same thing at different times: did it become slower?
//!
//! Reads two comparisons, two rounds of comparisons or two records of runs, refuses what cannot be
//! compared and says why. Between two sessions the host drifts, so a row is compared through what
//! both measured unchanged ([`anchors`]): its figure as a multiple of theirs, now, over the same
//! before. That is the difference of two differences of logarithms, each of rounds that were
//! measured together, with an interval of unpaired rounds. A regression is proven if the whole
//! interval lies beyond what matters and beyond what the baselines of both sessions differ from
//! themselves by, the one on top of the other, since either session may be off by its own. Where
//! nothing is the same in both, or how much is noise is not known, nothing is proven, and it says
//! what would tell. Measures nothing.

mod anchors;
mod side;

#[cfg(test)]
mod simulation;
#[cfg(test)]
mod tests;

use std::path::Path;

use lab::verdict::{Basis, Judgement, Kind, Metric, Side, Verdict, judge_ratio};
use load::Stop;
use serde::Serialize;
use statistics::{ALPHA, ROUNDS_MIN, Ratio, holm, unpaired};

pub use anchors::figure;
pub use side::{Difference, Measured, MeasuredRow, no_comparison};

use anchors::{Anchors, Both};

/// What became of what was measured before.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Diff {
    /// Each row by each metric, the figure after as a multiple of the one before.
    pub findings: Vec<Finding>,
    /// What a reader must know besides the findings.
    pub cautions: Vec<String>,
    /// How to answer what stays open, if something does.
    pub advice: Option<String>,
}

/// A row by one metric.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Finding {
    /// The row.
    pub row: String,
    /// The request of a mix that it is about; left out where it is about all of them.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub request: Option<String>,
    /// What can be said.
    pub judgement: Judgement,
    /// Whether it is proven that it became worse.
    pub regression: bool,
    /// Whether these measurements cannot tell if it became worse.
    pub open: bool,
}

impl Diff {
    /// Whether a row is proven to have become worse.
    pub fn has_regression(&self) -> bool {
        self.findings.iter().any(|finding| finding.regression)
    }

    /// Whether it cannot be told of a row if it became worse. Single requests of a mix don't
    /// count: seldom ones would keep everything open.
    pub fn is_open(&self) -> bool {
        let mut whole = self.findings.iter().filter(|one| one.request.is_none());
        whole.any(|finding| finding.open)
    }

    /// In a few lines for people.
    pub fn words(&self) -> String {
        let mut lines = Vec::new();
        for finding in &self.findings {
            let sign = match finding.regression {
                true => "REGRESSION ",
                false => "",
            };
            let sentence = finding.judgement.verdict.sentence();
            let request = finding.request.as_ref();
            let request = request.map_or(String::new(), |name| format!(", {name}"));
            lines.push(format!("{sign}{}{request}: {sentence}", finding.row));
        }
        lines.extend(self.cautions.iter().map(|what| format!("caution: {what}")));
        lines.extend(self.advice.clone());
        lines.join("\n") + "\n"
    }
}

/// Compares what was measured `before` with what was measured `after`. Differences of less than
/// `smallest`, a share, are called none; without it, the larger of what the two comparisons say.
///
/// # Errors
/// Files that cannot be read, and why two measurements cannot be compared.
pub fn diff(
    before: &Path,
    after: &Path,
    smallest: Option<f64>,
    stop: &Stop,
) -> Result<Diff, String> {
    let (old, new) = (Measured::read(before, stop)?, Measured::read(after, stop)?);
    let cannot = |why: String| {
        let (before, after) = (before.display(), after.display());
        format!("can't compare {before} and {after}: {why}")
    };
    old.comparable(&new).map_err(cannot)?;
    between(&old, &new, smallest).ok_or_else(|| {
        let nothing = "they have no subject in common".to_owned();
        let left_out = [old.left_out(BEFORE), new.left_out(NOW)].concat();
        let why = std::iter::once(nothing).chain(left_out);
        cannot(why.collect::<Vec<_>>().join("; "))
    })
}

/// How the two measurements are called.
const BEFORE: &str = "before";
const NOW: &str = "now";

/// What two sessions say that can be compared; nothing where they have no row in common.
fn between(old: &Measured, new: &Measured, smallest: Option<f64>) -> Option<Diff> {
    let (compared, mut cautions) = in_common(old, new);
    if compared.is_empty() {
        return None;
    }
    let sessions = Sessions {
        old,
        new,
        anchors: Anchors::of(old, new),
        smallest: smallest.unwrap_or(old.smallest.max(new.smallest)),
        alpha: ALPHA,
    };
    let mut findings = sessions.findings(&compared);
    let open = findings.iter().find(|finding| finding.open);
    let single = old.is_single();
    let advice = open.map(|finding| match single {
        true => OF_SINGLE.to_owned(),
        false => advice(&finding.row),
    });
    if sessions.anchors.is_empty() && !single {
        cautions.extend(sessions.anchors.changed.iter().cloned());
    }
    findings.extend(of_requests(old, new, sessions.smallest));
    cautions.extend(sessions.anchors.caution);
    Some(Diff {
        findings,
        cautions,
        advice,
    })
}

/// What can be said of each request of a mix, of the rows that changed. All of them together share
/// the error that one look at two sessions may make.
fn of_requests(old: &Measured, new: &Measured, smallest: f64) -> Vec<Finding> {
    let before = old.requests();
    let mut names = new.requests();
    names.retain(|name| before.contains(name));
    let mut findings = Vec::new();
    for name in &names {
        let (old, new) = (&old.of_request(name), &new.of_request(name));
        let sessions = Sessions {
            old,
            new,
            anchors: Anchors::of(old, new),
            smallest,
            alpha: ALPHA / names.len() as f64,
        };
        let (compared, _) = in_common(old, new);
        let mut found = sessions.findings(&compared);
        found.retain(|finding| !sessions.anchors.is_same(&finding.row));
        findings.extend(found.into_iter().map(|finding| Finding {
            request: Some((*name).to_owned()),
            ..finding
        }));
    }
    findings
}

/// The rows that both measured, and what a reader must know of the two.
fn in_common<'a>(old: &'a Measured, new: &'a Measured) -> (Vec<Both<'a>>, Vec<String>) {
    let mut cautions = old.cautions(new);
    cautions.extend(old.left_out(BEFORE));
    cautions.extend(new.left_out(NOW));
    let mut compared = Vec::new();
    for after in new.subjects() {
        match old.subjects().find(|row| row.name == after.name) {
            Some(before) => compared.push(Both { before, after }),
            None if old.is_cold(&after.name) => {}
            None => cautions.push(format!("{} wasn't measured before", after.name)),
        }
    }
    for row in old.subjects() {
        let is_there = new.subjects().any(|after| after.name == row.name);
        if !is_there && !new.is_cold(&row.name) {
            cautions.push(format!("{} was measured before, but not now", row.name));
        }
    }
    (compared, cautions)
}

/// How the servers of two single runs are measured so that a difference can be told from noise.
const OF_SINGLE: &str = "One run on each side doesn't show whether a difference is real. To tell, \
                         name both servers as subjects of one file and run ringside compare FILE, \
                         which measures them in turns.";

/// How two revisions of a row are measured in one session.
fn advice(row: &str) -> String {
    format!(
        "To tell, measure both revisions in one session: keep the old revision's folder beside \
         the new one, as subjects/{row}-before, name both as subjects of one file, and run \
         ringside compare FILE."
    )
}

/// Two sessions and what ties them together.
struct Sessions<'a> {
    old: &'a Measured,
    new: &'a Measured,
    anchors: Anchors<'a>,
    smallest: f64,
    /// The error that all verdicts together may make, as a share.
    alpha: f64,
}

impl Sessions<'_> {
    /// What can be said of each row by each metric. Those that changed share the error that one
    /// look at two sessions may make (Holm's method).
    fn findings(&self, compared: &[Both<'_>]) -> Vec<Finding> {
        let metrics = self.new.metrics();
        let floors: Vec<(Metric, Result<f64, String>)> =
            metrics.map(|metric| (metric, self.floor(metric))).collect();
        let asked: Vec<_> = compared
            .iter()
            .flat_map(|row| floors.iter().map(move |floor| (*row, floor)))
            .collect();
        let p_values: Vec<Option<f64>> = asked
            .iter()
            .map(|(row, (metric, floor))| {
                let judged = !self.anchors.is_same(row.name()) && floor.is_ok();
                let ratio = beside(&self.anchors, *row, *metric, 1.0 - ALPHA);
                Some(ratio.filter(|_| judged)?.p_value)
            })
            .collect();
        let counted: Vec<f64> = p_values.iter().flatten().copied().collect();
        let mut levels = holm::levels(&counted, self.alpha, |level| level).into_iter();
        let with_levels = asked.iter().zip(p_values);
        with_levels
            .map(|((row, (metric, floor)), p_value)| {
                let level = p_value.and_then(|_| levels.next()).unwrap_or(self.alpha);
                self.finding(*row, *metric, floor, level)
            })
            .collect()
    }

    fn finding(
        &self,
        row: Both<'_>,
        metric: Metric,
        floor: &Result<f64, String>,
        level: f64,
    ) -> Finding {
        let judgement = match self.anchors.is_same(row.name()) {
            true => Ok(self.same(row, metric)),
            false => self.judged(row, metric, floor, level),
        };
        let open = |(ratio, sentence)| Judgement {
            metric,
            ratio,
            verdict: Verdict::new(Kind::Undecided, sentence),
        };
        let judgement = judgement.unwrap_or_else(open);
        let kind = judgement.verdict.kind;
        Finding {
            row: row.name().to_owned(),
            request: None,
            regression: match metric.more_is_better() {
                true => matches!(kind, Kind::Lower | Kind::AtMost),
                false => matches!(kind, Kind::Higher | Kind::AtLeast),
            },
            open: matches!(kind, Kind::Undecided | Kind::Void),
            judgement,
        }
    }

    /// What is said of a row that is the same program in both sessions: what it moved by is the
    /// host's doing.
    fn same(&self, row: Both<'_>, metric: Metric) -> Judgement {
        let ratio = moved(row, metric);
        let mut sentence = "unchanged: the same program in both sessions".to_owned();
        if let Some(ratio) = ratio {
            let (name, by) = (metric.name(), range(ratio));
            sentence +=
                &format!("; its {name} is now {by} what it was, which must come from the host");
        }
        if !self.anchors.holds(row.name()) {
            sentence += " (not used as a reference)";
        }
        Judgement {
            metric,
            ratio,
            verdict: Verdict::new(Kind::Baseline, sentence),
        }
    }

    /// What is said of a row that changed; else what was measured of it, and why that does not
    /// tell.
    fn judged(
        &self,
        row: Both<'_>,
        metric: Metric,
        floor: &Result<f64, String>,
        level: f64,
    ) -> Result<Judgement, (Option<Ratio>, String)> {
        let raw = moved(row, metric).ok_or_else(|| (None, without_interval(row, metric)))?;
        let cannot = |why: String| {
            let (name, by) = (metric.name(), range(raw));
            let sentence = format!("can't tell: its {name} is {by} what it was, but {why}");
            (Some(raw), sentence)
        };
        let floor = floor.clone().map_err(cannot)?;
        let ratio = beside(&self.anchors, row, metric, 1.0 - level).ok_or_else(|| {
            cannot(format!(
                "fewer than {ROUNDS_MIN} rounds have both it and {}",
                self.anchors.names()
            ))
        })?;
        let basis = Basis {
            smallest: self.smallest,
            floor: Some(floor),
            apart: true,
            ..Basis::default()
        };
        let (now, before) = (
            format!("{} now", row.name()),
            format!("{} before", row.name()),
        );
        let verdict = judge_ratio(
            side(&now, row.after),
            side(&before, row.before),
            metric,
            ratio,
            &basis,
        );
        let sentence = format!("{}, beside {}", verdict.sentence(), self.anchors.names());
        Ok(Judgement {
            metric,
            ratio: Some(ratio),
            verdict: Verdict::new(verdict.kind, sentence),
        })
    }

    /// What two sessions may differ by though nothing changed, as a share; else why that is not
    /// known.
    fn floor(&self, metric: Metric) -> Result<f64, String> {
        if self.anchors.is_empty() {
            return Err("no unchanged row shows how much of that comes from the host".to_owned());
        }
        let (before, after) = (self.old.floor(metric), self.new.floor(metric));
        let (Some(before), Some(after)) = (before, after) else {
            let which = if before.is_none() { "first" } else { "second" };
            return Err(format!(
                "the {which} session has no noise floor, because its baseline wasn't measured \
                 twice (compare --aa)"
            ));
        };
        let floor = (1.0 + before) * (1.0 + after) - 1.0;
        let needed = 1.0 + floor.max(self.smallest);
        let anchors: Vec<_> = self.anchors.each().collect();
        let confidence = 1.0 - ALPHA / anchors.len().max(1) as f64;
        for (one, others) in &anchors {
            let ratio = beside(others, *one, metric, confidence);
            let far = |ratio: &Ratio| ratio.low > needed || ratio.high < needed.recip();
            if let Some(ratio) = ratio.filter(far) {
                return Err(format!(
                    "the host didn't affect the unchanged rows equally: the {} of {} is {} what it \
                     was, relative to {}",
                    metric.name(),
                    one.name(),
                    range(ratio),
                    others.names()
                ));
            }
        }
        Ok(floor)
    }
}

fn side<'a>(name: &'a str, row: &'a MeasuredRow) -> Side<'a> {
    Side {
        samples: &row.samples,
        ..Side::named(name)
    }
}

/// How many times what it was before a row is now, beside the anchors.
fn beside(anchors: &Anchors<'_>, row: Both<'_>, metric: Metric, confidence: f64) -> Option<Ratio> {
    if anchors.is_empty() {
        return None;
    }
    let after = anchors.after(row.after, metric);
    let before = anchors.before(row.before, metric);
    unpaired(&after, &before, confidence)
}

/// The same by itself, with all that the host did in it.
fn moved(row: Both<'_>, metric: Metric) -> Option<Ratio> {
    let (after, before) = (figures(row.after, metric), figures(row.before, metric));
    unpaired(&after, &before, 1.0 - ALPHA)
}

/// The figures of the rounds that count, each with its start.
fn figures(row: &MeasuredRow, metric: Metric) -> Vec<(u32, f64)> {
    let samples = row.samples.iter();
    samples
        .filter_map(|sample| Some((sample.start, figure(sample, metric)?)))
        .collect()
}

fn range(ratio: Ratio) -> String {
    format!("{:.2}–{:.2} ×", ratio.low, ratio.high)
}

/// What can be said where there are too few rounds for an interval: that nothing is proven.
fn without_interval(row: Both<'_>, metric: Metric) -> String {
    let (after, before) = (figures(row.after, metric), figures(row.before, metric));
    let mean = |figures: &[(u32, f64)]| {
        let sum: f64 = figures.iter().map(|(_, figure)| figure).sum();
        sum / figures.len() as f64
    };
    let name = metric.name();
    if after.is_empty() || before.is_empty() {
        return format!("can't tell: on at least one side no valid round measured {name}");
    }
    format!(
        "can't tell: {name} is {:.3} × what it was, but an interval needs {ROUNDS_MIN} rounds on \
         each side ({} before, {} now)",
        mean(&after) / mean(&before),
        before.len(),
        after.len()
    )
}
