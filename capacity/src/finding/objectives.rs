//! What was measured of the conditions, besides the response times that every table has; and how
//! many streams went on at once.

use load::Record;
use load::check::Threshold;
use statistics::Spread;
use statistics::format::{per_second, time_us};

use super::{Capacities, Conclusion, Kind, Point, RowCapacity};

/// A figure that a condition is about, and that has a column of its own.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Objective {
    /// Its name, as in the condition: `first_event_p99`.
    pub name: String,
    /// Whether it's a time, in microseconds; else it's a rate.
    pub is_a_time: bool,
}

impl Objective {
    /// Of a condition; none where its figure has a column anyway, or is none of times or events.
    fn of(one: &Threshold) -> Option<Objective> {
        let name = one.figure_name();
        let has_column = one.step().is_none() && ["p50", "median", "p99"].contains(&name);
        let is_one = one.is_about_times() || one.is_about_streams();
        (is_one && !has_column).then(|| Objective {
            name: name.to_owned(),
            is_a_time: one.is_about_times(),
        })
    }

    /// A value of it, for people.
    pub fn shown(&self, value: f64) -> String {
        match self.is_a_time {
            true => time_us(value),
            false => per_second(value),
        }
    }

    /// Its name for programs, with its unit.
    pub fn column(&self) -> String {
        let name = self.name.replace([':', '.', '{', '}', ' ', ','], "_");
        match self.is_a_time {
            true => format!("{name}_us"),
            false => name,
        }
    }
}

impl Point {
    /// With what the probe's record says of the figures that conditions are about.
    pub(crate) fn held_against(mut self, slo: &[Threshold], record: &Record) -> Point {
        let one = |one: &Threshold| {
            let Objective { name, is_a_time } = Objective::of(one)?;
            let value = one.measure(record)?;
            Some((name, if is_a_time { value / 1e3 } else { value }))
        };
        self.objectives = slo.iter().filter_map(one).collect();
        self
    }
}

/// How many streams went on at once in a probe, by Little's law: so many a second, each for so
/// long. None where answers aren't streams, or none was over.
pub(super) fn at_once(record: &Record, achieved: f64) -> Option<f64> {
    let streams = record.streams.as_ref()?;
    let each_us = record.service_time_us.mean?;
    (streams.streams > 0 && record.exchanges.completed > 0).then_some(achieved * each_us / 1e6)
}

impl Capacities {
    /// The figures that conditions are about, and that no table has anyway.
    pub fn objectives(&self) -> Vec<Objective> {
        let rules = self.slo.iter().filter_map(|rule| rule.parse().ok());
        let mut all: Vec<Objective> = Vec::new();
        for one in rules.filter_map(|rule: Threshold| Objective::of(&rule)) {
            if !all.contains(&one) {
                all.push(one);
            }
        }
        all
    }
}

impl RowCapacity {
    /// The median of what the probes of a rate measured of a figure, by its name.
    pub fn measured_at(&self, rate: f64, name: &str) -> Option<f64> {
        let tells = |point: &&Point| {
            point.rate == rate && point.held().is_some() && point.kind != Kind::Connections
        };
        let points = self.points.iter().filter(tells);
        let values = points.filter_map(|point| point.objectives.get(name).copied());
        Spread::of(values).map(|spread| spread.median)
    }

    /// How many streams went on at once at the highest rate that held: the median of its probes.
    pub(super) fn streams_at_the_edge(&self) -> Option<f64> {
        let edge = self.capacity()?;
        let held = |point: &&Point| point.rate == edge && point.held() == Some(true);
        let points = self.points.iter().filter(held);
        Spread::of(points.filter_map(|point| point.streams_at_once)).map(|spread| spread.median)
    }

    /// The same as part of what can be concluded.
    pub(super) fn with_streams(&self, conclusion: Conclusion) -> Conclusion {
        let (Some(streams), Some(edge)) = (self.streams_at_once, self.capacity()) else {
            return conclusion;
        };
        let says = format!(
            "{} At {} about {streams:.0} streams go on at once.",
            conclusion.says,
            per_second(edge)
        );
        let rests = format!(
            "{} How many go on at once is that rate times a stream's mean time (Little's law).",
            conclusion.rests
        );
        Conclusion { says, rests }
    }
}
