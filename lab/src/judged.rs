//! The rows of a comparison, judged: what can be said of each beside the baseline.
//!
//! Made of the manifest and the rounds alone. The rounds ask it whether the intervals are narrow
//! enough, the report for what it says; both get the same answer, because there is one place that
//! decides which rows are compared, by what, and against which floor.

use serde::Serialize;
use statistics::Ratio;
use statistics::format::per_second;

use crate::finding::{Finding, Severity};
use crate::judging::at_equal_rate;
use crate::manifest::{Manifest, Outcome, Role, RowFacts, Setup};
use crate::round::Round;
use crate::sample::Sample;
use crate::validity;
use crate::verdict::{self, Basis, Judgement, Kind, Metric, Side, Verdict};

/// A row with its rounds, as they are judged.
#[derive(Debug)]
pub struct Measured<'a> {
    /// What is known of it besides its rounds.
    pub facts: &'a RowFacts,
    /// Its rounds; what was found about the row as a whole holds for each of them.
    pub samples: Vec<Sample>,
    /// What was found about it beside the other rows.
    pub found: Vec<Finding>,
    /// Its rounds at the rate that all rows were offered alike; empty where there was none.
    pub at_equal_rate: Vec<Sample>,
    /// Why its rounds cannot be compared, if so.
    spoilt: Option<String>,
}

impl<'a> Measured<'a> {
    /// Every row of a comparison, in the manifest's order.
    pub fn all(manifest: &'a Manifest, rounds: &[Round]) -> Vec<Measured<'a>> {
        let mut across = validity::rows::findings(manifest, rounds);
        let row = |facts: &'a RowFacts| {
            let found = across.remove(&facts.name).unwrap_or_default();
            Measured::new(facts, rounds, found)
        };
        manifest.rows.iter().map(row).collect()
    }

    fn new(facts: &'a RowFacts, rounds: &[Round], found: Vec<Finding>) -> Measured<'a> {
        let own = rounds.iter().filter(|round| round.row == facts.name);
        let mut samples: Vec<Sample> = own.map(|round| round.sample.clone()).collect();
        let own = rounds.iter().filter(|round| round.row == facts.name);
        let phases = own.flat_map(|round| &round.phases);
        let equal = phases.filter(|phase| phase.equal);
        let mut at_equal_rate: Vec<Sample> = equal.map(|phase| phase.sample.clone()).collect();
        let spoilt = reason_spoilt(facts, &samples);
        for sample in &mut samples {
            sample.findings.extend(found.iter().cloned());
        }
        // How near the closed loop came to the generator's limit says nothing of a rate below.
        let weighs = |found: &&Finding| found.severity != Severity::Bound;
        for sample in &mut at_equal_rate {
            sample.findings.extend(found.iter().filter(weighs).cloned());
        }
        Measured {
            facts,
            at_equal_rate,
            samples,
            found,
            spoilt,
        }
    }

    /// It as a side of a comparison by the main figure.
    pub fn side(&self) -> Side<'_> {
        self.side_with(&self.samples)
    }

    /// The same by any figure, which some are taken at the equal rate of.
    pub fn side_by(&self, metric: Metric) -> Side<'_> {
        match at_equal_rate(metric) && !self.at_equal_rate.is_empty() {
            true => self.side_with(&self.at_equal_rate),
            false => self.side(),
        }
    }

    /// How far it stayed behind the rate that it was offered, if it did; nothing in a closed loop.
    pub fn behind_rate(&self) -> Option<&str> {
        let samples = match self.at_equal_rate.is_empty() {
            true => &self.samples,
            false => &self.at_equal_rate,
        };
        verdict::behind(self.side_with(samples))
    }

    fn side_with<'s>(&'s self, samples: &'s [Sample]) -> Side<'s> {
        Side {
            name: &self.facts.name,
            samples,
            spoilt: self.spoilt.as_deref(),
        }
    }
}

fn reason_spoilt(facts: &RowFacts, samples: &[Sample]) -> Option<String> {
    match &facts.outcome {
        Outcome::Missing { .. } => Some(format!("{} is not installed", facts.name)),
        Outcome::Cannot { .. } => Some(format!("{} can't be measured here", facts.name)),
        Outcome::Failed { what, .. } => Some(format!("{} {what}", facts.name)),
        Outcome::Measured | Outcome::NotReached if samples.is_empty() => {
            Some(format!("{} wasn't measured", facts.name))
        }
        Outcome::Measured | Outcome::NotReached => facts.spoilt.clone(),
    }
}

/// What can be said of a row beside the baseline.
#[derive(Clone, Debug)]
pub struct Judged {
    /// Its figure as a multiple of the baseline's.
    pub ratio: Option<Ratio>,
    /// The verdict by the metric of the comparison.
    pub verdict: Verdict,
    /// The same by further metrics.
    pub further: Vec<Judgement>,
}

impl Judged {
    fn of(judgement: Judgement) -> Judged {
        Judged {
            ratio: judgement.ratio,
            verdict: judgement.verdict,
            further: Vec::new(),
        }
    }

    fn only(kind: Kind, sentence: impl Into<String>) -> Judged {
        Judged {
            ratio: None,
            verdict: Verdict::new(kind, sentence),
            further: Vec::new(),
        }
    }
}

/// Judges every row, in their order.
pub fn judge(measured: &[Measured<'_>], manifest: &Manifest) -> Vec<Judged> {
    let setup = &manifest.setup;
    let Some(baseline) = measured.iter().find(|row| row.facts.name == setup.baseline) else {
        let nothing = |_| Judged::only(Kind::NotMeasured, "there is no baseline");
        return measured.iter().map(nothing).collect();
    };
    let is_judged = |row: &Measured<'_>| {
        row.facts.role == Role::Subject
            && !row.samples.is_empty()
            && row.facts.name != setup.baseline
    };
    let by = |metric: Metric| {
        let judged = measured.iter().filter(|row| is_judged(row));
        let subjects: Vec<Side<'_>> = judged.map(|row| row.side_by(metric)).collect();
        let again = measured.iter().find(|row| row.facts.role == Role::Again);
        let again = again.map(|again| again.side_by(metric));
        let basis = basis(again, baseline.side_by(metric), metric, manifest);
        let judgements = verdict::judge(&subjects, baseline.side_by(metric), metric, &basis);
        let said = judgements.into_iter().map(|judgement| at(setup, judgement));
        said.collect::<Vec<_>>().into_iter()
    };
    let mut main = by(setup.metric);
    let mut further: Vec<_> = further(setup).into_iter().map(by).collect();
    let mut judge = |row: &Measured<'_>| match row.facts.role {
        _ if row.facts.name == setup.baseline => {
            let sentence = format!("{} is the baseline", row.facts.name);
            Judged::only(Kind::Baseline, sentence)
        }
        Role::Again => {
            let (again, baseline) = (row.side(), baseline.side());
            let (metric, seed, before) = (setup.metric, setup.seed, row.facts.ran_before.is_some());
            Judged::of(verdict::noise(again, baseline, metric, seed, before))
        }
        Role::Ceiling => {
            let sentence = format!("{} shows the most the generator can do", row.facts.name);
            Judged::only(Kind::Ceiling, sentence)
        }
        Role::Subject if !is_judged(row) => {
            let why = row.spoilt.as_deref().unwrap_or("it wasn't measured");
            Judged::only(Kind::NotMeasured, why)
        }
        Role::Subject => match main.next() {
            Some(judgement) => Judged {
                further: further.iter_mut().filter_map(Iterator::next).collect(),
                ..Judged::of(judgement)
            },
            None => Judged::only(Kind::NotMeasured, "it wasn't measured"),
        },
    };
    measured.iter().map(&mut judge).collect()
}

/// The judgement with the rate that it was made at, where a reader would take it for the closed
/// loop's.
pub(crate) fn at(setup: &Setup, mut judgement: Judgement) -> Judgement {
    let Some(rate) = setup.equal_rate.filter(|_| at_equal_rate(judgement.metric)) else {
        return judgement;
    };
    if !matches!(judgement.verdict.kind, Kind::Void | Kind::NotMeasured) {
        judgement.verdict.says = format!("at {}, {}", per_second(rate), judgement.verdict.says);
    }
    judgement
}

/// What is judged besides the main figure. What a request costs is the fairest single figure where
/// all serve the same rate, and what a run costs says more of a command than how long it took.
fn further(setup: &Setup) -> Vec<Metric> {
    if !setup.judged_by.is_empty() {
        let others = setup.judged_by.iter().filter(|one| **one != setup.metric);
        return others.copied().collect();
    }
    // A comparison from before that was kept.
    let one = match setup.metric {
        Metric::GeneratorCpuPerExchange => Some(Metric::RequestsDriven),
        Metric::Seconds => Some(Metric::ServerCpuPerExchange),
        Metric::RequestsPerSecond
        | Metric::ResponseTimeP99
        | Metric::ResponseTimeP95
        | Metric::ResponseTimeP50
        | Metric::ResponseTimeMean
        | Metric::Streamed(_)
        | Metric::ServerCpuPerExchange
        | Metric::MemoryPeak
        | Metric::Capacity
        | Metric::RequestsDriven => setup.rate.map(|_| Metric::ServerCpuPerExchange),
    };
    one.into_iter().collect()
}

/// What the baseline seems to differ from itself by in one figure, as a share.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, schemars::JsonSchema)]
pub struct Floor {
    /// The figure.
    pub metric: Metric,
    /// The share.
    pub share: f64,
}

/// The noise floor of every figure that rows are judged by, the main figure's first, where the
/// baseline was measured once more.
pub fn noise_floors(measured: &[Measured<'_>], setup: &Setup) -> Vec<Floor> {
    let named = |name: &&Measured<'_>| name.facts.name == setup.baseline;
    let baseline = measured.iter().find(named);
    let again = measured.iter().find(|row| row.facts.role == Role::Again);
    let Some((baseline, again)) = baseline.zip(again) else {
        return Vec::new();
    };
    let metrics = std::iter::once(setup.metric).chain(further(setup));
    let floor = |metric: Metric| {
        let (again, baseline) = (again.side_by(metric), baseline.side_by(metric));
        let share = verdict::noise_floor(again, baseline, metric, setup.seed)?;
        Some(Floor { metric, share })
    };
    metrics.filter_map(floor).collect()
}

/// What differences by `metric` are held against; `again` is the baseline once more.
pub(crate) fn basis<'a>(
    again: Option<Side<'_>>,
    baseline: Side<'_>,
    metric: Metric,
    manifest: &'a Manifest,
) -> Basis<'a> {
    let setup = &manifest.setup;
    let rounds = baseline.samples.iter().map(|sample| sample.round).max();
    let looks = manifest.looks.as_ref();
    Basis {
        smallest: setup.smallest_difference,
        floor: again.and_then(|again| verdict::noise_floor(again, baseline, metric, setup.seed)),
        looks: looks.map(|looks| (looks, looks.index_at(rounds.unwrap_or(0)))),
        apart: false,
        seed: setup.seed,
    }
}
