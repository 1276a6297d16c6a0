//! What is shown of a run, whatever the format.

use measure::histogram::Histogram;
use measure::interval::Additive;
use measure::tally::Counted;

use super::{Labels, Sums};

/// Samples of one name.
#[derive(Debug, PartialEq)]
pub(super) struct Family {
    pub name: &'static str,
    pub help: &'static str,
    pub samples: Samples,
}

#[derive(Debug, PartialEq)]
pub(super) enum Samples {
    Counters(Vec<(Tags, f64)>),
    Gauges(Vec<(Tags, f64)>),
    Histograms(Vec<(Tags, Times)>),
}

impl Family {
    pub(super) fn is_empty(&self) -> bool {
        match &self.samples {
            Samples::Counters(samples) | Samples::Gauges(samples) => samples.is_empty(),
            Samples::Histograms(samples) => samples.is_empty(),
        }
    }
}

/// The labels of a sample.
pub(super) type Tags = Vec<(&'static str, String)>;

/// Upper ends of the classic buckets, in seconds.
const BOUNDS_S: [f64; 22] = [
    0.000_01, 0.000_025, 0.000_05, 0.000_1, 0.000_25, 0.000_5, 0.001, 0.002_5, 0.005, 0.01, 0.025,
    0.05, 0.075, 0.1, 0.25, 0.5, 0.75, 1.0, 2.5, 5.0, 10.0, 60.0,
];

/// Native buckets end at powers of 2^(1/128), which makes them 0.54 % wide.
pub(super) const SCHEMA: i32 = 7;

/// A distribution as both kinds of histograms have it.
#[derive(Debug, PartialEq)]
pub(super) struct Times {
    pub count: u64,
    pub sum_s: f64,
    /// Upper end in seconds, and how many are no longer.
    pub classic: Vec<(f64, u64)>,
    /// How many are zero.
    pub zeros: u64,
    /// The number of a bucket of [`SCHEMA`], and how many are in it; rising.
    pub native: Vec<(i32, u64)>,
}

impl Times {
    pub(super) fn of(histogram: &Histogram) -> Times {
        let mut times = Times {
            count: histogram.count(),
            sum_s: histogram.sum() as f64 / 1e9,
            classic: BOUNDS_S.map(|bound| (bound, 0)).into(),
            zeros: 0,
            native: Vec::new(),
        };
        for (ns, n) in histogram.lengths() {
            let seconds = ns as f64 / 1e9;
            for (bound, count) in times.classic.iter_mut().rev() {
                if seconds > *bound {
                    break;
                }
                *count += n;
            }
            if ns == 0 {
                times.zeros += n;
                continue;
            }
            let bucket = bucket_of(seconds);
            match times.native.last_mut() {
                Some((last, count)) if *last == bucket => *count += n,
                _ => times.native.push((bucket, n)),
            }
        }
        times
    }
}

/// The native bucket of a value: the least i with value ≤ 2^(i / 128).
fn bucket_of(value: f64) -> i32 {
    (value.log2() * f64::from(1u32 << SCHEMA)).ceil() as i32
}

/// What can be scraped.
pub(super) trait Shown: Additive {
    /// Everything.
    fn families(labels: &Labels, sums: &Sums<Self>) -> Vec<Family>;
}

impl Shown for Counted {
    fn families(labels: &Labels, sums: &Sums<Counted>) -> Vec<Family> {
        of_run(labels, sums)
    }
}

/// The labels of a sample: those of all, and more.
pub(super) fn tags(labels: &Labels, more: &[(&'static str, &str)]) -> Tags {
    let own = [("run", &*labels.run), ("host", &*labels.host)];
    let all = own.iter().chain(more);
    all.map(|(name, value)| (*name, (*value).to_owned()))
        .collect()
}

fn of_run(labels: &Labels, sums: &Sums<Counted>) -> Vec<Family> {
    let counted = &sums.counted;
    let tags = |more: &[(&'static str, &str)]| tags(labels, more);
    let mut families = vec![
        Family {
            name: "ringside_requests_total",
            help: "Requests of the measured window, by what became of them.",
            samples: Samples::Counters(requests(labels, counted, &tags)),
        },
        histograms(
            "ringside_response_time_seconds",
            "From when a request was due to its answer; lower bounds for those given up.",
            times(
                labels,
                counted,
                &tags,
                |step| &step.response,
                &counted.response,
            ),
        ),
        histograms(
            "ringside_service_time_seconds",
            "From when a request was sent to its answer; lower bounds for those given up.",
            times(
                labels,
                counted,
                &tags,
                |step| &step.service,
                &counted.service,
            ),
        ),
    ];
    families.extend(of_the_whole(sums, &tags));
    families
}

pub(super) fn histograms(
    name: &'static str,
    help: &'static str,
    samples: Vec<(Tags, Times)>,
) -> Family {
    let samples = Samples::Histograms(samples);
    Family {
        name,
        help,
        samples,
    }
}

/// Makes the labels of a sample out of those that only it has.
type Tagged<'a> = &'a dyn Fn(&[(&'static str, &str)]) -> Tags;

fn requests(labels: &Labels, counted: &Counted, tags: Tagged<'_>) -> Vec<(Tags, f64)> {
    let outcomes = |completed, failed, unfinished| {
        [
            ("completed", completed),
            ("failed", failed),
            ("unfinished", unfinished),
        ]
    };
    if labels.steps.is_empty() {
        let outcomes = outcomes(counted.completed, counted.failed, counted.unfinished);
        let samples = outcomes.map(|(outcome, n)| (tags(&[("outcome", outcome)]), n as f64));
        return samples.into();
    }
    // The steps add up to the whole, which would otherwise be counted twice in a sum.
    let steps = labels.steps.iter().zip(&counted.steps);
    let samples = steps.flat_map(|(name, step)| {
        let outcomes = outcomes(step.completed, step.failed, step.unfinished);
        outcomes.map(|(outcome, n)| (tags(&[("step", name), ("outcome", outcome)]), n as f64))
    });
    samples.collect()
}

fn times(
    labels: &Labels,
    counted: &Counted,
    tags: Tagged<'_>,
    of_step: fn(&measure::tally::StepTally) -> &Histogram,
    whole: &Histogram,
) -> Vec<(Tags, Times)> {
    if labels.steps.is_empty() {
        return vec![(tags(&[]), Times::of(whole))];
    }
    let steps = labels.steps.iter().zip(&counted.steps);
    steps
        .map(|(name, step)| (tags(&[("step", name)]), Times::of(of_step(step))))
        .collect()
}

/// What isn't told by step.
fn of_the_whole(sums: &Sums<Counted>, tags: Tagged<'_>) -> Vec<Family> {
    let counted = &sums.counted;
    let counters = |name, help, samples| Family {
        name,
        help,
        samples: Samples::Counters(samples),
    };
    let errors = counted.errors.iter();
    let errors = errors.map(|(kind, n)| (tags(&[("kind", kind.name())]), n as f64));
    let statuses = counted.statuses.iter();
    let statuses = statuses.map(|(code, n)| (tags(&[("status", &code.to_string())]), n as f64));
    let mut families = vec![
        counters(
            "ringside_errors_total",
            "Errors by kind, those of connections among them.",
            errors.collect(),
        ),
        counters(
            "ringside_answers_total",
            "Answers by status.",
            statuses.collect(),
        ),
    ];
    let singles = single_counts(sums).into_iter();
    families.extend(
        singles.map(|(name, help, count)| counters(name, help, vec![(tags(&[]), count as f64)])),
    );
    let gauges = [
        (
            "ringside_connections",
            "Connections that stand.",
            sums.connected as f64,
        ),
        (
            "ringside_run_seconds",
            "How much of the measured window is over.",
            sums.seconds,
        ),
    ];
    families.extend(gauges.map(|(name, help, value)| Family {
        name,
        help,
        samples: Samples::Gauges(vec![(tags(&[]), value)]),
    }));
    if sums.offered.is_some() {
        families.push(histograms(
            "ringside_lateness_seconds",
            "From when a request was due to when it was sent.",
            vec![(tags(&[]), Times::of(&counted.lateness))],
        ));
    }
    families.retain(|family| !family.is_empty());
    families
}

/// Counters that have one value: name, help, value.
fn single_counts(sums: &Sums<Counted>) -> Vec<(&'static str, &'static str, u64)> {
    let counted = &sums.counted;
    let mut counts = vec![
        (
            "ringside_received_bytes_total",
            "Bytes that came in.",
            counted.bytes_received + counted.drain.bytes_received,
        ),
        (
            "ringside_sent_bytes_total",
            "Bytes that went out.",
            counted.bytes_sent + counted.drain.bytes_sent,
        ),
        (
            "ringside_connections_opened_total",
            "Connections that were set up, those in another's place among them.",
            counted.connections_opened,
        ),
        (
            "ringside_reconnects_total",
            "Connections that were set up in the place of one that had broken.",
            counted.reconnects,
        ),
    ];
    counts.extend(sums.offered.map(|offered| {
        (
            "ringside_requests_offered_total",
            "Requests that fell due by the schedule of an open loop.",
            offered,
        )
    }));
    counts
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_value_is_in_the_bucket_that_holds_it() {
        for (value, bucket) in [(1.0, 0), (2.0, 128), (0.5, -128), (1.000_001, 1)] {
            assert_eq!(bucket_of(value), bucket, "{value}");
        }
        let mut histogram = Histogram::new();
        for ns in [0, 1, 999, 10_000, 10_001, 1_000_000_000, 61_000_000_000] {
            histogram.record(ns);
        }
        let times = Times::of(&histogram);
        assert_eq!((times.count, times.zeros), (7, 1));
        let native: u64 = times.native.iter().map(|(_, n)| n).sum();
        assert_eq!(native, 6);
        assert!(times.native.is_sorted_by(|one, other| one.0 < other.0));
        let within = |bound| {
            times
                .classic
                .iter()
                .find(|one| one.0 == bound)
                .map(|one| one.1)
        };
        assert_eq!((within(0.000_01), within(60.0)), (Some(3), Some(6)));
    }
}
