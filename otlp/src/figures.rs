//! The figures of a run so far, as metrics.
//!
//! Everything is cumulative from the start of the measured window: Prometheus takes nothing else
//! without a processor that adds it up, and whoever misses a request misses only some of the course
//! over time. With Prometheus' usual translation, which appends units and `_total`, the names are
//! those of `--metrics`.

use measure::histogram::Histogram;
use measure::interval::{Interval, Phase};
use measure::tally::{Counted, StepTally};

use crate::distribution;
use crate::messages::{
    CUMULATIVE, Data, ExponentialHistogram, Gauge, HistogramPoint, KeyValue, Metric, Number,
    NumberPoint, Sum,
};
use crate::resource::About;
use crate::span::{key_value, whole};

/// What was counted so far.
#[derive(Debug, Default)]
pub(crate) struct Sums {
    counted: Counted,
    offered: Option<u64>,
    connected: u64,
    /// How much of the window is over, in seconds.
    window_s: f64,
    /// When the window began, in nanoseconds since 1970.
    start_unix_ns: u64,
    /// When what was counted last was counted.
    until_unix_ns: u64,
    /// How many intervals are in it.
    pub(crate) intervals: u64,
}

impl Sums {
    /// Adds an interval that came at `now_unix_ns`.
    pub(crate) fn add(&mut self, interval: &Interval, now_unix_ns: u64) {
        if self.intervals == 0 {
            self.start_unix_ns = now_unix_ns.saturating_sub(interval.until_ns);
        }
        self.counted.merge(&interval.counted);
        self.offered = match (self.offered, interval.offered) {
            (Some(before), Some(more)) => Some(before + more),
            (before, more) => more.or(before),
        };
        self.connected = interval.connected;
        if interval.phase == Phase::Measure {
            self.window_s = interval.until_ns as f64 / 1e9;
        }
        // The drain may take no time at all, and a point needs a time of its own.
        let until = self.start_unix_ns.saturating_add(interval.until_ns);
        self.until_unix_ns = until.max(self.until_unix_ns + 1);
        self.intervals += interval.joined;
    }

    /// All of it.
    pub(crate) fn metrics(&self, about: &About) -> Vec<Metric> {
        let pen = Pen { sums: self, about };
        let counted = &self.counted;
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
        ];
        metrics.extend(pen.kinds());
        metrics.extend(pen.singles());
        metrics.extend(pen.gauges());
        metrics
    }
}

/// Makes points with what they all have.
struct Pen<'a> {
    sums: &'a Sums,
    about: &'a About,
}

impl Pen<'_> {
    /// The labels that `--metrics` has, too, and those of one point.
    fn tags(&self, more: &[(&str, &str)]) -> Vec<KeyValue> {
        let own = [("run", &*self.about.run), ("host", &*self.about.host)];
        let all = own.iter().chain(more);
        all.map(|(key, value)| key_value(key, (*value).into()))
            .collect()
    }

    fn number(&self, tags: &[(&str, &str)], value: Number) -> NumberPoint {
        NumberPoint {
            start_time_unix_nano: self.sums.start_unix_ns,
            time_unix_nano: self.sums.until_unix_ns,
            value: Some(value),
            attributes: self.tags(tags),
        }
    }

    fn count(&self, tags: &[(&str, &str)], count: u64) -> NumberPoint {
        self.number(tags, Number::Whole(whole(count)))
    }

    fn histogram(&self, tags: &[(&str, &str)], histogram: &Histogram) -> HistogramPoint {
        HistogramPoint {
            attributes: self.tags(tags),
            start_time_unix_nano: self.sums.start_unix_ns,
            time_unix_nano: self.sums.until_unix_ns,
            ..distribution::point(histogram)
        }
    }

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
                "Connections that were set up, those in another's place among them.",
                "{connection}",
                counted.connections_opened,
            ),
            (
                "ringside.reconnects",
                "Connections that were set up in the place of one that had broken.",
                "{connection}",
                counted.reconnects,
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
        let each = counts.into_iter();
        each.map(|(name, description, unit, n)| {
            counter(name, description, unit, vec![self.count(&[], n)])
        })
        .collect()
    }

    /// What stands, and what only an open loop has.
    fn gauges(&self) -> Vec<Metric> {
        let gauge = |name: &str, description: &str, unit: &str, value| Metric {
            name: name.to_owned(),
            description: description.to_owned(),
            unit: unit.to_owned(),
            data: Some(Data::Gauge(Gauge {
                data_points: vec![self.number(&[], value)],
            })),
        };
        let mut gauges = vec![
            gauge(
                "ringside.connections",
                "Connections that stand.",
                "{connection}",
                Number::Whole(whole(self.sums.connected)),
            ),
            gauge(
                "ringside.run",
                "How much of the measured window is over.",
                "s",
                Number::Real(self.sums.window_s),
            ),
        ];
        if self.sums.offered.is_some() {
            gauges.push(histograms(
                "ringside.lateness",
                "From when a request was due to when it was sent.",
                vec![self.histogram(&[], &self.sums.counted.lateness)],
            ));
        }
        gauges
    }
}

fn counter(name: &str, description: &str, unit: &str, points: Vec<NumberPoint>) -> Metric {
    Metric {
        name: name.to_owned(),
        description: description.to_owned(),
        unit: unit.to_owned(),
        data: Some(Data::Sum(Sum {
            data_points: points,
            temporality: CUMULATIVE,
            is_monotonic: true,
        })),
    }
}

fn histograms(name: &str, description: &str, points: Vec<HistogramPoint>) -> Metric {
    Metric {
        name: name.to_owned(),
        description: description.to_owned(),
        unit: "s".to_owned(),
        data: Some(Data::Histogram(ExponentialHistogram {
            data_points: points,
            temporality: CUMULATIVE,
        })),
    }
}
