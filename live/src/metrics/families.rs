//! What is shown of a run, whatever the format.

use measure::histogram::Histogram;
use measure::interval::Additive;
use measure::tally::{Counted, StreamTally};

pub(super) use exposition::{Family, Samples, Tags, Times};

use super::{Labels, Sums};

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
            "ringside_waits_seconds_total",
            "Time that requests waited between falling due and being sent, by cause.",
            (counted.waits.by_cause())
                .map(|(what, ns)| (tags(&[("cause", what)]), ns as f64 / 1e9))
                .into(),
        ),
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
            "Open connections.",
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
    families.extend(of_streams(&counted.streams, tags));
    families.retain(|family| !family.is_empty());
    families
}

/// What was seen inside answers; nothing where nobody looked.
fn of_streams(streams: &StreamTally, tags: Tagged<'_>) -> Vec<Family> {
    if streams.is_empty() {
        return Vec::new();
    }
    let counters = [
        (
            "ringside_streams_total",
            "Answers that were streams of events.",
            streams.streams,
        ),
        (
            "ringside_stream_events_total",
            "Events that came in streams.",
            streams.events,
        ),
    ];
    let counters = counters.map(|(name, help, count)| Family {
        name,
        help,
        samples: Samples::Counters(vec![(tags(&[]), count as f64)]),
    });
    let names = [
        "ringside_first_byte_seconds",
        "ringside_first_event_seconds",
        "ringside_event_gap_seconds",
        "ringside_time_per_event_seconds",
    ];
    let times = names.into_iter().zip(streams.told()).map(|(name, told)| {
        let (help, times) = told;
        histograms(name, help, vec![(tags(&[]), Times::of(times))])
    });
    counters.into_iter().chain(times).collect()
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
            "Connections that were set up, including replacements.",
            counted.connections_opened,
        ),
        (
            "ringside_reconnects_total",
            "Connections opened to replace a broken one.",
            counted.reconnects,
        ),
        (
            "ringside_requests_completed_late_total",
            "Completed requests that were sent after the measured window.",
            counted.completed_late,
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
