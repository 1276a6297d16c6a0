//! The requests of a mix, each by itself, in the rounds of a comparison: what is compared of a row
//! as a whole is compared of each of them as well.
//!
//! Made of the manifest and the rounds alone, as [`crate::judged`] is. A round that counts for
//! nothing counts for none of its requests.

use std::collections::BTreeSet;

use load::Record;
use load::check::Streamed;
use measure::record::{Lost, Step, Times};
use statistics::quantile::exchanges_min;

use crate::judged::{self, Measured};
use crate::manifest::{Manifest, Role};
use crate::round::Round;
use crate::sample::Sample;
use crate::verdict::{self, Asked, Judgement, Metric, Side};

/// One request of a mix in a row's rounds.
#[derive(Clone, Debug)]
pub struct StepRounds<'a> {
    /// What the workload calls it.
    pub name: &'a str,
    /// It in each round; what was found about the round holds for it, too.
    pub samples: Vec<Sample>,
    /// The same at the rate that all rows were offered alike; empty where there was none.
    pub at_equal_rate: Vec<Sample>,
    /// The distributions of its response time, as records have them, in those of the
    /// [`timed`](Self::timed) rounds that count.
    pub distributions: Vec<&'a str>,
}

impl StepRounds<'_> {
    /// The rounds that its times are of: at the equal rate where there was one.
    pub fn timed(&self) -> &[Sample] {
        match self.at_equal_rate.is_empty() {
            true => &self.samples,
            false => &self.at_equal_rate,
        }
    }

    /// All of them.
    pub fn all(&self) -> impl Iterator<Item = &Sample> {
        self.samples.iter().chain(&self.at_equal_rate)
    }
}

/// A round with its requests.
type Whole<'a> = (&'a Sample, &'a [Step]);

/// The requests of a row in the order of its records; empty where they are all alike, or where
/// there is one: its figures are the row's.
pub fn of_row<'a>(row: &'a Measured<'_>, rounds: &'a [Round]) -> Vec<StepRounds<'a>> {
    let own = || rounds.iter().filter(|round| round.row == row.facts.name);
    let steps = |record: &'a Option<Record>| record.as_ref().map_or(&[][..], |one| &one.steps);
    let compared = own().map(|round| steps(&round.record));
    let equal = own().flat_map(|round| {
        let phases = round.phases.iter().filter(|phase| phase.equal);
        phases.map(|phase| match phase.compared {
            true => steps(&round.record),
            false => steps(&phase.record),
        })
    });
    let compared: Vec<Whole<'a>> = row.samples.iter().zip(compared).collect();
    let equal: Vec<Whole<'a>> = row.at_equal_rate.iter().zip(equal).collect();
    let mut names: Vec<&str> = Vec::new();
    let mut seen = BTreeSet::new();
    for step in compared.iter().chain(&equal).flat_map(|(_, steps)| *steps) {
        if seen.insert(&step.name) {
            names.push(&step.name);
        }
    }
    if names.len() < 2 {
        return Vec::new();
    }
    let timed = if equal.is_empty() { &compared } else { &equal };
    let step = |name: &'a str| StepRounds {
        name,
        samples: named(name, &compared)
            .map(|(whole, step)| sample(whole, step))
            .collect(),
        at_equal_rate: named(name, &equal)
            .map(|(whole, step)| sample(whole, step))
            .collect(),
        distributions: named(name, timed)
            .filter(|(whole, _)| whole.void().is_none())
            .map(|(_, step)| step.response_time.as_str())
            .collect(),
    };
    names.into_iter().map(step).collect()
}

/// The requests of one `record`, which is a round of its own, with their names; empty as above.
pub fn of_record(whole: &Sample, record: &Record) -> Vec<(String, Vec<Sample>)> {
    let steps = match record.steps.len() {
        0 | 1 => &[][..],
        _ => &record.steps,
    };
    let step = |step: &Step| (step.name.clone(), vec![sample(whole, step)]);
    steps.iter().map(step).collect()
}

/// The request of this name in each of the rounds that have it.
fn named<'a, 'r>(
    name: &'r str,
    rounds: &'r [Whole<'a>],
) -> impl Iterator<Item = (&'a Sample, &'a Step)> + use<'a, 'r> {
    rounds.iter().filter_map(move |(whole, steps)| {
        let step = steps.iter().find(|step| step.name == name)?;
        Some((*whole, step))
    })
}

/// One request in a round that is `whole`. A figure that lateness could have moved is none.
fn sample(whole: &Sample, step: &Step) -> Sample {
    let figure = |name: &str, share: Option<f64>, of: fn(&Times) -> Option<f64>| {
        let spoiled = step.void.iter().any(|one| one.figure == name);
        let enough = share.is_none_or(|share| step.completed >= exchanges_min(share));
        of(&step.response_time_us).filter(|_| !spoiled && enough)
    };
    Sample {
        round: whole.round,
        start: whole.start,
        requests_per_second: step.achieved_rate,
        mean_us: figure("mean", None, |times| times.mean),
        p50_us: figure("p50", None, |times| times.p50),
        p95_us: figure("p95", Some(0.95), |times| times.p95),
        p99_us: figure("p99", Some(0.99), |times| times.p99),
        streamed: Streamed::all_of(step.streams.as_ref()),
        // How busy both sides were is in the words of a verdict that the generator bounded.
        server_busy: whole.server_busy,
        generator_busy: whole.generator_busy,
        completed: step.completed,
        failed: step.failed,
        errors: step.errors.clone(),
        lost: Some(Lost {
            failed: step.failed,
            unfinished: step.unfinished,
            of: step.completed + step.failed + step.unfinished,
            ..Lost::default()
        }),
        findings: whole.findings.clone(),
        ..Sample::default()
    }
}

/// What can be said of each request of each row beside the same request of the baseline, by
/// `metric`, a response time: for each row its requests' judgements, in their order. None of the
/// baseline, of the ceiling, and of requests that the baseline doesn't have.
///
/// All of them share the error that one comparison may make (Holm's method), except that of the
/// baseline once more, which has an interval at the usual confidence.
pub fn judge(
    rows: &[(&Measured<'_>, Vec<StepRounds<'_>>)],
    metric: Metric,
    manifest: &Manifest,
) -> Vec<Vec<Option<Judgement>>> {
    let setup = &manifest.setup;
    let mut judged: Vec<Vec<Option<Judgement>>> = rows
        .iter()
        .map(|(_, steps)| vec![None; steps.len()])
        .collect();
    let is_baseline =
        |(row, _): &&(&Measured<'_>, Vec<StepRounds<'_>>)| row.facts.name == setup.baseline;
    let Some((baseline, of_baseline)) = rows.iter().find(is_baseline) else {
        return judged;
    };
    let again = rows.iter().find(|(row, _)| row.facts.role == Role::Again);
    let (mut places, mut asked) = (Vec::new(), Vec::new());
    for (at, (row, steps)) in rows.iter().enumerate() {
        let is_same = row.facts.name == setup.baseline;
        for (place, step) in steps.iter().enumerate() {
            let other = of_baseline.iter().find(|other| other.name == step.name);
            let Some(other) = other.filter(|_| !is_same) else {
                continue;
            };
            let (subject, base) = (side(row, step), side(baseline, other));
            match row.facts.role {
                Role::Ceiling => {}
                Role::Again => {
                    let ran_before = row.facts.ran_before.is_some();
                    let noise = verdict::noise(subject, base, metric, setup.seed, ran_before);
                    judged[at][place] = Some(noise);
                }
                Role::Subject => {
                    let again = again.and_then(|(row, steps)| {
                        let step = steps.iter().find(|again| again.name == step.name)?;
                        Some(side(row, step))
                    });
                    places.push((at, place));
                    asked.push(Asked {
                        subject,
                        baseline: base,
                        basis: judged::basis(again, base, metric, manifest),
                    });
                }
            }
        }
    }
    let judgements = verdict::judge_each(&asked, metric);
    for ((at, place), judgement) in places.into_iter().zip(judgements) {
        judged[at][place] = Some(judged::at(setup, judgement));
    }
    judged
}

fn side<'a>(row: &'a Measured<'_>, step: &'a StepRounds<'_>) -> Side<'a> {
    Side {
        samples: step.timed(),
        ..row.side()
    }
}
