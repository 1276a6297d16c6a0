//! The figures of a run.

use measure::histogram::Histogram;
use measure::tally::{Counted, StepTally};

use super::{Exported, Pen, counter, histograms};
use crate::messages::{Metric, Number};

impl Exported for Counted {
    fn metrics(pen: &Pen<'_, Counted>) -> Vec<Metric> {
        let counted = &pen.sums.counted;
        let mut metrics = vec![
            pen.requests(),
            pen.times(
                "ringside.response_time",
                "From when a request was due to its answer; lower bounds for those given up.",
                |step| &step.response,
                &counted.response,
            ),
            pen.times(
                "ringside.service_time",
                "From when a request was sent to its answer; lower bounds for those given up.",
                |step| &step.service,
                &counted.service,
            ),
            pen.waits(),
        ];
        metrics.extend(pen.kinds());
        metrics.extend(pen.singles());
        metrics.extend(pen.standing("How much of the measured window is over."));
        if pen.sums.offered.is_some() {
            metrics.push(histograms(
                "ringside.lateness",
                "From when a request was due to when it was sent.",
                vec![pen.histogram(&[], &counted.lateness)],
            ));
        }
        metrics.extend(pen.streams());
        metrics
    }
}

impl Pen<'_, Counted> {
    /// By what became of them; by step, where there are several, which add up to the whole.
    fn requests(&self) -> Metric {
        let counted = &self.sums.counted;
        let outcomes = |completed, failed, unfinished| {
            [
                ("completed", completed),
                ("failed", failed),
                ("unfinished", unfinished),
            ]
        };
        let points = match self.about.steps.is_empty() {
            true => {
                let all = outcomes(counted.completed, counted.failed, counted.unfinished);
                let points = all.map(|(outcome, n)| self.count(&[("outcome", outcome)], n));
                points.into()
            }
            false => {
                let steps = self.about.steps.iter().zip(&counted.steps);
                let points = steps.flat_map(|(name, step)| {
                    let all = outcomes(step.completed, step.failed, step.unfinished);
                    all.map(|(outcome, n)| self.count(&[("step", name), ("outcome", outcome)], n))
                });
                points.collect()
            }
        };
        counter(
            "ringside.requests",
            "Requests of the measured window, by what became of them.",
            "{request}",
            points,
        )
    }

    fn times(
        &self,
        name: &str,
        description: &str,
        of_step: fn(&StepTally) -> &Histogram,
        whole: &Histogram,
    ) -> Metric {
        let points = match self.about.steps.is_empty() {
            true => vec![self.histogram(&[], whole)],
            false => {
                let steps = self.about.steps.iter().zip(&self.sums.counted.steps);
                let points =
                    steps.map(|(name, step)| self.histogram(&[("step", name)], of_step(step)));
                points.collect()
            }
        };
        histograms(name, description, points)
    }

    /// What was seen inside answers; nothing where nobody looked.
    fn streams(&self) -> Vec<Metric> {
        let streams = &self.sums.counted.streams;
        if streams.is_empty() {
            return Vec::new();
        }
        let counters = [
            (
                "ringside.streams",
                "Answers that were streams of events.",
                "{stream}",
                streams.streams,
            ),
            (
                "ringside.stream_events",
                "Events that came in streams.",
                "{event}",
                streams.events,
            ),
        ];
        let counters = counters.map(|(name, description, unit, count)| {
            counter(name, description, unit, vec![self.count(&[], count)])
        });
        let names = [
            "ringside.first_byte",
            "ringside.first_event",
            "ringside.event_gap",
            "ringside.time_per_event",
        ];
        let times = names.into_iter().zip(streams.told());
        let times = times.map(|(name, (description, times))| {
            histograms(name, description, vec![self.histogram(&[], times)])
        });
        counters.into_iter().chain(times).collect()
    }

    /// By what requests waited for.
    fn waits(&self) -> Metric {
        let waits = self.sums.counted.waits.by_cause();
        let points = waits.map(|(cause, ns)| {
            let seconds = Number::Real(ns as f64 / 1e9);
            self.number(&[("cause", cause)], seconds)
        });
        counter(
            "ringside.waits",
            "Time that requests waited between falling due and being sent, by cause.",
            "s",
            points.into(),
        )
    }

    /// Errors by kind and answers by status, as far as there were any.
    fn kinds(&self) -> Vec<Metric> {
        let counted = &self.sums.counted;
        let errors = counted.errors.iter();
        let errors = errors.map(|(kind, n)| self.count(&[("kind", kind.name())], n));
        let statuses = counted.statuses.iter();
        let statuses = statuses.map(|(code, n)| self.count(&[("status", &code.to_string())], n));
        let mut kinds = vec![
            (
                "ringside.errors",
                "Errors by kind, those of connections among them.",
                "{error}",
                errors.collect::<Vec<_>>(),
            ),
            (
                "ringside.answers",
                "Answers by status.",
                "{answer}",
                statuses.collect(),
            ),
        ];
        kinds.retain(|(.., points)| !points.is_empty());
        let made = kinds.into_iter();
        made.map(|(name, description, unit, points)| counter(name, description, unit, points))
            .collect()
    }

    /// Counters that have one value.
    fn singles(&self) -> Vec<Metric> {
        let counted = &self.sums.counted;
        let mut counts = vec![
            (
                "ringside.received",
                "Bytes that came in.",
                "By",
                counted.bytes_received + counted.drain.bytes_received,
            ),
            (
                "ringside.sent",
                "Bytes that went out.",
                "By",
                counted.bytes_sent + counted.drain.bytes_sent,
            ),
            (
                "ringside.connections_opened",
                "Connections that were set up, including replacements.",
                "{connection}",
                counted.connections_opened,
            ),
            (
                "ringside.reconnects",
                "Connections opened to replace a broken one.",
                "{connection}",
                counted.reconnects,
            ),
            (
                "ringside.requests_completed_late",
                "Completed requests that were sent after the measured window.",
                "{request}",
                counted.completed_late,
            ),
        ];
        counts.extend(self.sums.offered.map(|offered| {
            (
                "ringside.requests_offered",
                "Requests that fell due by the schedule of an open loop.",
                "{request}",
                offered,
            )
        }));
        self.counts(&counts)
    }
}
