//! The figures of a run or a hold so far, as metrics.
//!
//! Everything is cumulative, from the start of a run's measured window and from a hold's first
//! attempt to connect: Prometheus takes nothing else without a processor that adds it up, and
//! whoever misses a request misses only some of the course over time. With Prometheus' usual
//! translation, which appends units and `_total`, the names are those of `--metrics`.

mod hold;
mod run;

use measure::histogram::Histogram;
use measure::interval::{Additive, Interval, Phase};

use crate::distribution;
use crate::messages::{
    CUMULATIVE, Data, ExponentialHistogram, Gauge, HistogramPoint, KeyValue, Metric, Number,
    NumberPoint, Sum,
};
use crate::resource::About;
use crate::span::{key_value, whole};

/// What can be sent.
pub(crate) trait Exported: Additive {
    /// All of it.
    fn metrics(pen: &Pen<'_, Self>) -> Vec<Metric>;
}

/// What was counted so far.
#[derive(Debug, Default)]
pub(crate) struct Sums<C> {
    counted: C,
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

impl<C: Exported> Sums<C> {
    /// Adds an interval that came at `now_unix_ns`.
    pub(crate) fn add(&mut self, interval: &Interval<C>, now_unix_ns: u64) {
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
        C::metrics(&Pen { sums: self, about })
    }
}

/// Makes points with what they all have.
pub(crate) struct Pen<'a, C> {
    sums: &'a Sums<C>,
    about: &'a About,
}

impl<C> Pen<'_, C> {
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

    /// Counters that have one value: name, description, unit, value.
    fn counts(&self, counts: &[(&str, &str, &str, u64)]) -> Vec<Metric> {
        let each = counts.iter();
        each.map(|(name, description, unit, n)| {
            counter(name, description, unit, vec![self.count(&[], *n)])
        })
        .collect()
    }

    /// How many connections stand, and for how long it has gone on, which `time` describes.
    fn standing(&self, time: &str) -> [Metric; 2] {
        let gauge = |name: &str, description: &str, unit: &str, value| Metric {
            name: name.to_owned(),
            description: description.to_owned(),
            unit: unit.to_owned(),
            data: Some(Data::Gauge(Gauge {
                data_points: vec![self.number(&[], value)],
            })),
        };
        [
            gauge(
                "ringside.connections",
                "Connections that stand.",
                "{connection}",
                Number::Whole(whole(self.sums.connected)),
            ),
            gauge("ringside.run", time, "s", Number::Real(self.sums.window_s)),
        ]
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
