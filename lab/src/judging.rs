//! What rows are judged by: the figures that a comparison's file names, and the one rate at which
//! most of them are measured.
//!
//! In a closed loop every server works as fast as it can, so that response times tell how many
//! requests wait, and a figure may be the generator's. At one rate that all can serve, what a
//! request costs and how long it takes is the server's own, however busy the generator would be at
//! its limit.

use std::time::Duration;

use faults::Fault;
use load::check::Streamed;
use schemars::JsonSchema;
use serde::de::{Deserializer, Error as _};
use serde::{Deserialize, Serialize};
use supervisor::document;

use crate::phase::Phase;
use crate::verdict::Metric;

/// The name of the closed loop's part of a round, where there is an equal rate as well.
pub const CLOSED: &str = "closed-loop";
/// The name of the equal rate's part.
pub const EQUAL: &str = "equal-rate";

/// Which share of what the slowest row answers in a closed loop is the rate for all.
const SHARE: f64 = 0.5;
/// The significant digits of a rate that was found: it is to be read, and means no more.
const DIGITS: i32 = 2;

/// A figure by the name it has in a file.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Figure {
    /// Requests a second, in a closed loop.
    Rate,
    /// The server's processor time for each exchange.
    Cpu,
    /// The median response time.
    P50,
    /// The 95th percentile of the response time.
    P95,
    /// The 99th percentile of the response time.
    P99,
    /// The mean response time.
    Mean,
    /// The peak of the server's resident memory.
    Memory,
    /// One of the events in answers.
    #[serde(untagged)]
    Streamed(Streamed),
}

impl Figure {
    /// All of them.
    pub fn all() -> impl Iterator<Item = Figure> {
        use Figure::{Cpu, Mean, Memory, P50, P95, P99, Rate};
        let streamed = Streamed::ALL.map(Figure::Streamed);
        [Rate, Cpu, P50, P95, P99, Mean, Memory]
            .into_iter()
            .chain(streamed)
    }

    /// Its name in a file.
    pub fn name(self) -> &'static str {
        match self {
            Figure::Rate => "rate",
            Figure::Cpu => "cpu",
            Figure::P50 => "p50",
            Figure::P95 => "p95",
            Figure::P99 => "p99",
            Figure::Mean => "mean",
            Figure::Memory => "memory",
            Figure::Streamed(figure) => figure.name(),
        }
    }

    /// What is compared by it.
    pub fn metric(self) -> Metric {
        match self {
            Figure::Rate => Metric::RequestsPerSecond,
            Figure::Cpu => Metric::ServerCpuPerExchange,
            Figure::P50 => Metric::ResponseTimeP50,
            Figure::P95 => Metric::ResponseTimeP95,
            Figure::P99 => Metric::ResponseTimeP99,
            Figure::Mean => Metric::ResponseTimeMean,
            Figure::Memory => Metric::MemoryPeak,
            Figure::Streamed(figure) => Metric::Streamed(figure),
        }
    }
}

// A derived one wouldn't say which names there are.
impl<'de> Deserialize<'de> for Figure {
    fn deserialize<D: Deserializer<'de>>(from: D) -> Result<Figure, D::Error> {
        let name = String::deserialize(from)?;
        document::named(&name, Figure::all().map(|one| (one.name(), one)))
    }
}

/// The rate that is offered to all rows alike.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum EqualRate {
    /// Half of what the slowest row answers in a closed loop, found before the first round.
    Auto,
    /// So many requests a second.
    PerSecond(f64),
}

impl<'de> Deserialize<'de> for EqualRate {
    fn deserialize<D: Deserializer<'de>>(from: D) -> Result<EqualRate, D::Error> {
        let text = String::deserialize(from)?;
        if text == "auto" {
            return Ok(EqualRate::Auto);
        }
        let rate = measure::units::parse_rate(&text);
        rate.map(EqualRate::PerSecond).map_err(|what| {
            D::Error::custom(format!(
                "{what}; or \"auto\" for half of what the slowest answers"
            ))
        })
    }
}

/// `[judge]` as it stands in the file.
#[derive(Clone, Debug, Default, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Written {
    pub(crate) figures: Option<Vec<Figure>>,
    pub(crate) equal_rate: Option<EqualRate>,
}

/// What a comparison is judged by, as its file says.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Judging {
    /// The figures in the file's order; empty where it names none.
    pub(crate) figures: Vec<Metric>,
    /// The rate that is offered to all alike, besides the closed loop.
    pub equal_rate: Option<EqualRate>,
}

impl Judging {
    pub(crate) fn new(written: Written) -> Judging {
        let figures = written.figures.unwrap_or_default();
        Judging {
            figures: figures.into_iter().map(Figure::metric).collect(),
            equal_rate: written.equal_rate,
        }
    }

    /// Everything that rows are judged by, the `main` figure first.
    /// Whoever times `events` wants to know of them, too.
    pub(crate) fn metrics(&self, main: Metric, events: bool) -> Vec<Metric> {
        let further = match (self.figures.as_slice(), self.equal_rate, main) {
            ([], _, Metric::GeneratorCpuPerExchange) => &[Metric::RequestsDriven][..],
            ([], Some(_), _) => &[
                Metric::ServerCpuPerExchange,
                Metric::ResponseTimeP99,
                Metric::MemoryPeak,
            ],
            ([], None, _) => &[Metric::ServerCpuPerExchange],
            (named, ..) => named,
        };
        let usual = Streamed::USUAL.map(Metric::Streamed);
        let usual = usual.iter().filter(|_| events && self.figures.is_empty());
        let mut metrics = vec![main];
        for metric in further.iter().chain(usual) {
            if !metrics.contains(metric) {
                metrics.push(*metric);
            }
        }
        metrics
    }

    /// The two parts of a round whose closed loop is measured for so long, if there is an equal
    /// rate. The faults come in each.
    pub(crate) fn phases(&self, window: Duration, faults: &[Fault]) -> Vec<Phase> {
        let Some(rate) = self.equal_rate else {
            return Vec::new();
        };
        let closed = Phase {
            name: CLOSED.to_owned(),
            rate: None,
            connections: None,
            length: window,
            pass: Vec::new(),
            faults: faults.to_vec(),
            compared: true,
            equal: false,
        };
        let equal = Phase {
            name: EQUAL.to_owned(),
            rate: match rate {
                EqualRate::Auto => None,
                EqualRate::PerSecond(rate) => Some(rate),
            },
            compared: false,
            equal: true,
            ..closed.clone()
        };
        vec![closed, equal]
    }
}

/// Whether a figure is taken at the equal rate, if there is one.
pub fn at_equal_rate(metric: Metric) -> bool {
    match metric {
        Metric::RequestsPerSecond
        | Metric::Capacity
        | Metric::Seconds
        | Metric::RequestsDriven
        | Metric::GeneratorCpuPerExchange => false,
        Metric::ServerCpuPerExchange
        | Metric::ResponseTimeP99
        | Metric::ResponseTimeP95
        | Metric::ResponseTimeP50
        | Metric::ResponseTimeMean
        | Metric::MemoryPeak => true,
        Metric::Streamed(figure) => figure.is_a_time(),
    }
}

/// The rate that all can serve with ease, of what each answers in a closed loop. Who did not answer
/// at all says nothing of that; none if nobody did.
pub(crate) fn equal_rate(closed: &[f64]) -> Option<f64> {
    let answered = closed.iter().copied().filter(|rate| *rate > 0.0);
    let half = SHARE * answered.reduce(f64::min)?;
    if !half.is_finite() {
        return None;
    }
    let unit = 10_f64.powi(half.log10().floor() as i32 + 1 - DIGITS);
    // Above 1/s a rate is whole.
    let rate = (half / unit).floor() * unit;
    Some(if rate >= 1.0 { rate.round() } else { half })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_rate_for_all_is_half_of_the_slowests_in_two_digits() {
        assert_eq!(equal_rate(&[196_000.0, 66_500.0, 74_500.0]), Some(33_000.0));
        assert_eq!(equal_rate(&[1_999.0]), Some(990.0));
        assert_eq!(equal_rate(&[47.0]), Some(23.0));
        assert_eq!(equal_rate(&[1.0, 900.0]), Some(0.5));
        assert_eq!(equal_rate(&[0.0, 900.0]), Some(450.0));
        assert_eq!(equal_rate(&[0.0]), None);
        assert_eq!(equal_rate(&[]), None);
    }

    #[test]
    fn what_is_judged_begins_with_the_main_figure_and_has_each_once() {
        let named = |figures: &[Figure]| {
            let figures = Some(figures.to_vec());
            Judging::new(Written {
                figures,
                equal_rate: None,
            })
        };
        let rate = Metric::RequestsPerSecond;
        assert_eq!(
            Judging::default().metrics(rate, false),
            [rate, Metric::ServerCpuPerExchange]
        );
        assert_eq!(
            named(&[Figure::Memory, Figure::Rate, Figure::Memory]).metrics(rate, true),
            [rate, Metric::MemoryPeak]
        );
        let equal = Judging {
            equal_rate: Some(EqualRate::Auto),
            ..Judging::default()
        };
        assert_eq!(equal.metrics(rate, false).len(), 4);
        let usual = Streamed::USUAL.map(Metric::Streamed);
        assert_eq!(equal.metrics(rate, true)[4..], usual);
        let closed = equal.phases(Duration::from_millis(350), &[]);
        assert!(closed[0].compared && closed[1].equal && closed[1].rate.is_none());
        let of_generators = Metric::GeneratorCpuPerExchange;
        assert_eq!(
            Judging::default().metrics(of_generators, false),
            [of_generators, Metric::RequestsDriven]
        );
    }
}
