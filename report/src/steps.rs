//! The requests of a mix, each by itself, beside the same request of the baseline: what every
//! format shows of them, and in which words.

use std::collections::BTreeMap;

use lab::judged::Measured;
use lab::manifest::{Manifest, Setup};
use lab::round::Round;
use lab::sample::Sample;
use lab::steps::{self, StepRounds};
use lab::verdict::{Judgement, Metric};
use load::check::Streamed;
use schemars::JsonSchema;
use serde::Serialize;
use statistics::Spread;
use statistics::format::{count, time_us};

use super::figures::{judged_by, of_two_loads, streamed};
use super::{Distribution, Report, Row, standing};

/// The times that are shown of a request and judged, in their order.
pub(crate) const TIMES: [Metric; 2] = [Metric::ResponseTimeP50, Metric::ResponseTimeP99];

/// One request of a mix in a row's rounds.
#[derive(Clone, Debug, Serialize, JsonSchema)]
pub struct StepFigures {
    /// What the workload calls it; `(others)` for all beyond the first 64 names.
    pub name: String,
    /// How many rounds count.
    pub rounds: usize,
    /// Completed exchanges a second, in the rounds that count; null where none does.
    pub requests_per_second: Option<Spread>,
    /// Median response time in microseconds, at the equal rate where there was one, and so are the
    /// next two.
    pub p50_us: Option<Spread>,
    /// 95th percentile of the response time in microseconds.
    pub p95_us: Option<Spread>,
    /// 99th percentile of the response time in microseconds.
    pub p99_us: Option<Spread>,
    /// Figures of the events in its answers, those of times in microseconds, where events are
    /// timed.
    #[serde(skip_serializing_if = "BTreeMap::is_empty")]
    pub streamed: BTreeMap<Streamed, Spread>,
    /// Exchanges that completed, in all rounds, whether they count or not, and so are the next
    /// three.
    pub completed: u64,
    /// Exchanges that failed.
    pub failed: u64,
    /// Exchanges that were due, and neither completed nor failed when their round ended.
    pub unfinished: u64,
    /// Errors by kind.
    pub errors: BTreeMap<String, u64>,
    /// What can be said beside the same request of the baseline, by each time; empty for the
    /// baseline itself and the ceiling.
    pub judged: Vec<Judgement>,
    /// How long it took, all rounds that count together; null where there are none.
    pub distribution: Option<Distribution>,
    /// Its rounds, with those at the equal rate behind the others. Records have them.
    #[serde(skip)]
    pub(crate) samples: Vec<Sample>,
    /// How many of them are at the equal rate.
    #[serde(skip)]
    pub(crate) at_equal_rate: usize,
}

impl StepFigures {
    /// Of every row of a comparison, in the rows' order; nothing where all requests are alike.
    pub(super) fn all(
        measured: &[Measured<'_>],
        manifest: &Manifest,
        rounds: &[Round],
    ) -> Vec<Vec<StepFigures>> {
        let with_steps = measured.iter().map(|row| (row, steps::of_row(row, rounds)));
        let rows: Vec<_> = with_steps.collect();
        let of_events = judged_by(&manifest.setup).into_iter();
        let of_events = of_events.filter(|one| is_of_events(*one));
        let metrics = TIMES.into_iter().chain(of_events);
        let judged: Vec<_> = metrics
            .map(|metric| steps::judge(&rows, metric, manifest))
            .collect();
        let figures = |(at, (_, steps)): (usize, &(&Measured<'_>, Vec<StepRounds<'_>>))| {
            let one = |(place, step): (usize, &StepRounds<'_>)| {
                let judged = judged.iter().filter_map(|of| of[at][place].clone());
                // Of answers that are no streams nothing is said.
                let judged = judged.filter(|one| !is_of_events(one.metric) || one.ratio.is_some());
                StepFigures::of(step, judged.collect())
            };
            steps.iter().enumerate().map(one).collect()
        };
        rows.iter().enumerate().map(figures).collect()
    }

    fn of(step: &StepRounds<'_>, judged: Vec<Judgement>) -> StepFigures {
        let spread = |samples: &[Sample], figure: fn(&Sample) -> Option<f64>| {
            let counted = samples.iter().filter(|one| one.void().is_none());
            Spread::of(counted.filter_map(figure))
        };
        let sum = |figure: fn(&Sample) -> u64| step.all().map(figure).sum();
        let mut errors = BTreeMap::new();
        for (kind, count) in step.all().flat_map(|sample| &sample.errors) {
            *errors.entry(kind.clone()).or_default() += count;
        }
        let timed = step.timed();
        StepFigures {
            name: step.name.to_owned(),
            rounds: timed.iter().filter(|one| one.void().is_none()).count(),
            requests_per_second: spread(&step.samples, |one| Some(one.requests_per_second)),
            p50_us: spread(timed, |one| one.p50_us),
            p95_us: spread(timed, |one| one.p95_us),
            p99_us: spread(timed, |one| one.p99_us),
            streamed: streamed(
                &timed
                    .iter()
                    .filter(|one| one.void().is_none())
                    .collect::<Vec<_>>(),
            ),
            completed: sum(|one| one.completed),
            failed: sum(|one| one.failed),
            unfinished: sum(|one| one.lost().unfinished),
            errors,
            judged,
            distribution: Distribution::of(step.distributions.iter().copied()),
            samples: step.all().cloned().collect(),
            at_equal_rate: step.at_equal_rate.len(),
        }
    }

    /// Its figure by one of [`TIMES`] or [`of_events`].
    pub(crate) fn figure(&self, metric: Metric) -> Option<&Spread> {
        match metric {
            Metric::ResponseTimeP50 => self.p50_us.as_ref(),
            Metric::Streamed(figure) => self.streamed.get(&figure),
            _ => self.p99_us.as_ref(),
        }
    }

    /// What is said of it by this metric.
    pub(crate) fn said(&self, metric: Metric) -> Option<&Judgement> {
        self.judged.iter().find(|one| one.metric == metric)
    }

    /// What came to nothing.
    pub(crate) fn lost(&self) -> u64 {
        self.failed + self.unfinished
    }
}

fn is_of_events(metric: Metric) -> bool {
    matches!(metric, Metric::Streamed(_))
}

/// The heading of a figure.
pub(crate) fn heading(metric: Metric) -> &'static str {
    match metric {
        Metric::ResponseTimeP50 => "p50",
        Metric::Streamed(figure) => figure.short(),
        _ => "p99",
    }
}

/// How a figure is written.
pub(crate) fn write(metric: Metric) -> fn(f64) -> String {
    match metric {
        Metric::Streamed(figure) if !figure.is_a_time() => count,
        _ => time_us,
    }
}

/// A column of figures: what it shows, and whether it's compared with the baseline.
pub(crate) struct Shown {
    pub(crate) metric: Metric,
    pub(crate) is_judged: bool,
}

impl Shown {
    /// The columns of every mix.
    pub(crate) fn times() -> Vec<Shown> {
        let judged = |metric| Shown {
            metric,
            is_judged: true,
        };
        TIMES.map(judged).into()
    }

    /// The headings of these columns.
    pub(crate) fn headings(all: &[Shown]) -> impl Iterator<Item = &'static str> {
        let of = |one: &Shown| {
            let beside = one.is_judged.then_some("× baseline");
            [Some(heading(one.metric)), beside].into_iter().flatten()
        };
        all.iter().flat_map(of)
    }
}

/// The columns of events: those that some request has, and of these those that somebody who waits
/// sees, or by which it was asked to judge. None where no answer is a stream.
pub(crate) fn of_events(requests: &[InRows<'_>]) -> Vec<Shown> {
    let steps = || requests.iter().flat_map(|one| &one.rows);
    let shown = |figure: Streamed| {
        let metric = Metric::Streamed(figure);
        let is_judged = steps().any(|(_, _, step)| step.said(metric).is_some());
        let is_usual = Streamed::USUAL.contains(&figure) || figure == Streamed::EventRate;
        let is_known = steps().any(|(_, _, step)| step.streamed.contains_key(&figure));
        (is_known && (is_usual || is_judged)).then_some(Shown { metric, is_judged })
    };
    Streamed::ALL.into_iter().filter_map(shown).collect()
}

/// The requests whose answers are streams.
pub(crate) fn streaming<'a, 'b>(requests: &'b [InRows<'a>]) -> Vec<&'b InRows<'a>> {
    // A time to the first byte has every answer.
    let is_stream = |step: &StepFigures| step.streamed.contains_key(&Streamed::EventRate);
    let streams = |one: &&InRows<'_>| one.rows.iter().any(|(_, _, step)| is_stream(step));
    requests.iter().filter(streams).collect()
}

/// One request in all rows that have it, each with its place.
pub(crate) struct InRows<'a> {
    /// What it is called.
    pub(crate) name: &'a str,
    /// The rows.
    pub(crate) rows: Vec<(usize, &'a Row, &'a StepFigures)>,
}

/// Every request, in the order in which rows have them; nothing where all are alike.
pub(crate) fn by_request(report: &Report) -> Vec<InRows<'_>> {
    let mut all: Vec<InRows<'_>> = Vec::new();
    for (at, row) in report.subjects.iter().enumerate() {
        for step in &row.steps {
            let one = (at, row, step);
            match all.iter_mut().find(|known| known.name == step.name) {
                Some(known) => known.rows.push(one),
                None => all.push(InRows {
                    name: &step.name,
                    rows: vec![one],
                }),
            }
        }
    }
    all
}

/// What the figures of requests are of, and how sure their intervals are, in sentences.
pub(crate) fn explained(setup: &Setup) -> Vec<String> {
    let loads = setup
        .equal_rate
        .map(|rate| standing(&of_two_loads(rate), &[]));
    let closed = setup.rate.is_none() && setup.equal_rate.is_none();
    let closed = closed.then(|| {
        "The times are those of a closed loop: what a connection waits while its server works at \
         its limit."
            .to_owned()
    });
    let more = [
        "Void rounds count towards errors only.".to_owned(),
        format!(
            "A multiple is that of the same request of {}. The intervals of a column are so wide \
             that all of them together are right in about 95 of 100 such comparisons.",
            setup.baseline
        ),
        "A request's rate is its share of the mix, so it isn't judged by itself.".to_owned(),
    ];
    loads.into_iter().chain(closed).chain(more).collect()
}
