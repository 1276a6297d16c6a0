//! Thresholds: conditions on a record that a run must meet, in the manner of k6.

use std::fmt;
use std::str::FromStr;

use measure::histogram::Histogram;
use measure::units;
use serde::Serialize;

use crate::Record;
use crate::plan::Invalid;

/// A condition such as `p99<5ms`, `errors<0.1%`, `rate>=50k` or `service:p99.9<2ms`.
#[derive(Clone, Debug, PartialEq)]
pub struct Threshold {
    text: String,
    figure: Figure,
    comparison: Comparison,
    limit: f64,
}

/// A threshold held against a record.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Outcome {
    /// The condition as it was written.
    pub threshold: String,
    /// What was measured, in the unit of the condition; `None` where there is nothing to measure,
    /// which fails.
    pub measured: Option<String>,
    /// Whether it is met.
    pub ok: bool,
}

#[derive(Clone, Copy, Debug, PartialEq)]
enum Figure {
    /// Nanoseconds of response time, or of service time.
    Time { service: bool, what: OfTimes },
    /// Share of the exchanges that failed or were not finished, 0 to 1.
    ErrorShare,
    /// Exchanges that failed or were not finished.
    ErrorCount,
    /// Completed exchanges per second.
    Rate,
}

#[derive(Clone, Copy, Debug, PartialEq)]
enum OfTimes {
    Quantile(f64),
    Mean,
    Min,
    Max,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Comparison {
    Less,
    LessOrEqual,
    More,
    MoreOrEqual,
}

impl FromStr for Threshold {
    type Err = Invalid;

    fn from_str(text: &str) -> Result<Threshold, Invalid> {
        let bad = |why: String| {
            Invalid(format!(
                "threshold {text:?}: {why}; write for example 'p99<5ms', 'service:p99.9<2ms', \
                 'mean<1ms', 'errors<0.1%' or 'rate>50k'"
            ))
        };
        let sign = text
            .find(['<', '>'])
            .ok_or_else(|| bad("`<` or `>` is missing".into()))?;
        let (name, rest) = text.split_at(sign);
        let (comparison, limit) = match (rest.strip_prefix("<="), rest.strip_prefix(">=")) {
            (Some(limit), _) => (Comparison::LessOrEqual, limit),
            (_, Some(limit)) => (Comparison::MoreOrEqual, limit),
            _ if rest.starts_with('<') => (Comparison::Less, &rest[1..]),
            _ => (Comparison::More, &rest[1..]),
        };
        let limit = limit.trim();
        let (figure, limit) = match name.trim() {
            "errors" => match limit.strip_suffix('%') {
                Some(percent) => (
                    Figure::ErrorShare,
                    percent.trim().parse().ok().map(|p: f64| p / 100.0),
                ),
                None => (
                    Figure::ErrorCount,
                    units::parse_count(limit).ok().map(|n| n as f64),
                ),
            },
            "rate" => (Figure::Rate, units::parse_rate(limit).ok()),
            name => {
                let figure = time_figure(name)
                    .ok_or_else(|| bad(format!("{name:?} is not a figure of a record")))?;
                let limit = units::parse_duration(limit).map_err(|why| bad(why.to_string()))?;
                (figure, Some(limit.as_nanos() as f64))
            }
        };
        let limit = limit
            .filter(|limit: &f64| limit.is_finite() && *limit >= 0.0)
            .ok_or_else(|| bad("the limit is not a number of its kind".into()))?;
        Ok(Threshold {
            text: text.to_owned(),
            figure,
            comparison,
            limit,
        })
    }
}

fn time_figure(name: &str) -> Option<Figure> {
    let (service, name) = match name.split_once(':') {
        Some(("service", name)) => (true, name),
        Some(("response", name)) => (false, name),
        Some(_) => return None,
        None => (false, name),
    };
    let what = match name {
        "mean" | "avg" => OfTimes::Mean,
        "min" => OfTimes::Min,
        "max" => OfTimes::Max,
        "med" | "median" => OfTimes::Quantile(0.5),
        _ => {
            let percent: f64 = name.strip_prefix('p')?.parse().ok()?;
            if !(0.0..=100.0).contains(&percent) {
                return None;
            }
            OfTimes::Quantile(percent / 100.0)
        }
    };
    Some(Figure::Time { service, what })
}

impl Threshold {
    /// Holds the condition against a record.
    pub fn evaluate(&self, record: &Record) -> Outcome {
        let measured = self.measure(record);
        let ok = measured.is_some_and(|value| match self.comparison {
            Comparison::Less => value < self.limit,
            Comparison::LessOrEqual => value <= self.limit,
            Comparison::More => value > self.limit,
            Comparison::MoreOrEqual => value >= self.limit,
        });
        let measured = measured.map(|value| self.print(value));
        Outcome {
            threshold: self.text.clone(),
            measured,
            ok,
        }
    }

    fn measure(&self, record: &Record) -> Option<f64> {
        let exchanges = &record.exchanges;
        let bad = exchanges.failed + exchanges.unfinished;
        let all = exchanges.completed + bad;
        match self.figure {
            Figure::ErrorCount => Some(bad as f64),
            Figure::ErrorShare => (all > 0).then(|| bad as f64 / all as f64),
            Figure::Rate => Some(record.achieved_rate),
            Figure::Time { service, what } => {
                let (times, text) = if service {
                    (&record.service_time_us, &record.histograms.service_time)
                } else {
                    (&record.response_time_us, &record.histograms.response_time)
                };
                match what {
                    OfTimes::Mean => Some(times.mean? * 1000.0),
                    OfTimes::Min => Some(times.min? * 1000.0),
                    OfTimes::Max => Some(times.max? * 1000.0),
                    OfTimes::Quantile(q) => {
                        let histogram = Histogram::from_hdr_v2_base64(text).ok()?;
                        (!histogram.is_empty()).then(|| histogram.quantile(q) as f64)
                    }
                }
            }
        }
    }

    fn print(&self, value: f64) -> String {
        match self.figure {
            Figure::Time { .. } => units::wrk_time_us(value / 1000.0),
            Figure::ErrorShare => format!("{:.3}%", value * 100.0),
            Figure::ErrorCount => format!("{value:.0}"),
            Figure::Rate => format!("{value:.2}"),
        }
    }
}

impl fmt::Display for Threshold {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.text)
    }
}

/// Holds all conditions against a record.
pub fn evaluate(thresholds: &[Threshold], record: &Record) -> Vec<Outcome> {
    thresholds
        .iter()
        .map(|threshold| threshold.evaluate(record))
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn refusal(text: &str) -> String {
        text.parse::<Threshold>().unwrap_err().0
    }

    #[test]
    fn conditions_are_read() {
        let read = |text: &str| {
            text.parse::<Threshold>()
                .map(|read| (read.figure, read.limit))
        };
        let response = |what| Figure::Time {
            service: false,
            what,
        };
        assert_eq!(
            read("p99<5ms"),
            Ok((response(OfTimes::Quantile(0.99)), 5e6))
        );
        assert!(read("p(95) < 1s").is_err());
        assert_eq!(read("mean <= 250us"), Ok((response(OfTimes::Mean), 250e3)));
        assert_eq!(read("errors<0.1%"), Ok((Figure::ErrorShare, 0.001)));
        assert_eq!(read("errors<1"), Ok((Figure::ErrorCount, 1.0)));
        assert_eq!(read("rate>=50k"), Ok((Figure::Rate, 50_000.0)));
        let service = Figure::Time {
            service: true,
            what: OfTimes::Max,
        };
        assert_eq!(read("service:max<2ms"), Ok((service, 2e6)));
    }

    #[test]
    fn conditions_that_say_nothing_are_refused_with_an_example() {
        for text in [
            "p99",
            "p99=5ms",
            "p101<1ms",
            "speed<1ms",
            "p99<fast",
            "errors<-1%",
            "rate>x",
        ] {
            assert!(
                refusal(text).contains("write for example"),
                "{text}: {}",
                refusal(text)
            );
        }
    }
}
