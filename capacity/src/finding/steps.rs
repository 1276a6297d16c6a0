//! The requests of a mix, each by itself: in one probe, and at the highest rate that held.

use lab::sample::Sample;
use lab::steps::of_record;
use load::Record;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use statistics::Spread;

use super::{Kind, Point, RowCapacity};

/// One request of a mix.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct StepFound {
    /// What the workload calls it; `(others)` for all beyond the first 64 names.
    pub name: String,
    /// What was answered of it as it should be, per second.
    pub achieved: f64,
    /// Exchanges that completed.
    pub completed: u64,
    /// Exchanges that failed, or were due and not finished.
    pub failed: u64,
    /// Median response time in microseconds.
    pub p50_us: Option<f64>,
    /// 99th percentile of the response time in microseconds; null with fewer than 299 exchanges.
    pub p99_us: Option<f64>,
}

impl StepFound {
    /// Those of one probe; none where all requests are alike.
    pub(super) fn of_probe(record: &Record) -> Vec<StepFound> {
        let steps = of_record(&Sample::default(), record).into_iter();
        let one = |(name, samples): (String, Vec<Sample>)| {
            let sample = samples.into_iter().next()?;
            let unfinished = sample.lost().unfinished;
            Some(StepFound {
                name,
                achieved: sample.requests_per_second,
                completed: sample.completed,
                failed: sample.failed + unfinished,
                p50_us: sample.p50_us,
                p99_us: sample.p99_us,
            })
        };
        steps.filter_map(one).collect()
    }
}

impl RowCapacity {
    /// Those of all probes in which the highest rate held, medians but for what is counted.
    pub(super) fn steps_at_the_edge(&self) -> Vec<StepFound> {
        let Some(edge) = self.capacity() else {
            return Vec::new();
        };
        let at_the_edge = |point: &&Point| {
            point.rate == edge && point.held() == Some(true) && point.kind != Kind::Connections
        };
        let probes: Vec<&Point> = self.points.iter().filter(at_the_edge).collect();
        let mut names: Vec<&str> = Vec::new();
        for step in probes.iter().flat_map(|point| &point.steps) {
            if !names.contains(&&*step.name) {
                names.push(&step.name);
            }
        }
        let one = |name: &str| {
            let steps = probes.iter().flat_map(|point| &point.steps);
            let steps: Vec<&StepFound> = steps.filter(|step| step.name == name).collect();
            let middle = |of: fn(&StepFound) -> Option<f64>| {
                let values = steps.iter().filter_map(|step| of(step));
                Spread::of(values).map(|spread| spread.median)
            };
            StepFound {
                name: name.to_owned(),
                achieved: middle(|step| Some(step.achieved)).unwrap_or_default(),
                completed: steps.iter().map(|step| step.completed).sum(),
                failed: steps.iter().map(|step| step.failed).sum(),
                p50_us: middle(|step| step.p50_us),
                p99_us: middle(|step| step.p99_us),
            }
        };
        names.into_iter().map(one).collect()
    }
}
