//! Little's law held against published figures: what is in flight is the rate times the mean time
//! that each spends there (J. D. C. Little, "A Proof for the Queuing Formula L = λW", 1961). In a
//! closed loop the connections are what is in flight, so of connections, rate and mean time any two
//! give the third, and a row that says all three can contradict itself.

use serde::Deserialize;
use serde::de::{Deserializer, Error as _};

/// Published figures this far apart are still called the same: they were rounded, and wrk's mean
/// leaves out what was in flight at the end.
pub(super) const APART_MAX: f64 = 0.15;

/// What was published about one subject.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct PublishedRow {
    /// Who.
    pub name: String,
    /// Exchanges a second.
    #[serde(deserialize_with = "above_zero")]
    pub rate: f64,
    /// Connections, or users: whoever waits for an answer before asking again.
    #[serde(default)]
    pub connections: Option<u32>,
    /// Requests outstanding on each.
    #[serde(default = "one")]
    pub pipeline: u32,
    /// Mean response time in milliseconds.
    #[serde(default)]
    pub mean_ms: Option<f64>,
    /// 99th percentile of the response time in milliseconds.
    #[serde(default)]
    pub p99_ms: Option<f64>,
}

/// Reads a number above zero.
pub(super) fn above_zero<'de, D: Deserializer<'de>>(from: D) -> Result<f64, D::Error> {
    let number = f64::deserialize(from)?;
    match number.is_finite() && number > 0.0 {
        true => Ok(number),
        false => Err(D::Error::custom(format!("{number} isn't above zero"))),
    }
}

fn one() -> u32 {
    1
}

/// What Little's law says about a published row.
#[derive(Clone, Debug, PartialEq)]
pub struct Check {
    /// Whether the row agrees with itself; none where it leaves one of the three out.
    pub agrees: Option<bool>,
    /// In a sentence.
    pub sentence: String,
}

/// Holds the law against a row; none where it says too little.
pub fn check(row: &PublishedRow) -> Option<Check> {
    let Some(connections) = row.connections else {
        let mean_ms = row.mean_ms?;
        let sentence = format!(
            "{}: {} per second at a mean of {} means {} in flight; the post doesn't say how many \
             connections it used",
            row.name,
            number(row.rate),
            millis(mean_ms),
            number(row.rate * mean_ms / 1e3),
        );
        return Some(Check {
            agrees: None,
            sentence,
        });
    };
    let outstanding = f64::from(connections) * f64::from(row.pipeline);
    let mean_ms = outstanding / row.rate * 1e3;
    let load = match row.pipeline {
        1 => format!("{} connections", number(connections.into())),
        depth => format!("{} connections, {depth} deep,", number(connections.into())),
    };
    let must = format!(
        "{}: {load} at {} per second imply a mean of {}",
        row.name,
        number(row.rate),
        millis(mean_ms)
    );
    match (row.mean_ms, row.p99_ms) {
        (Some(told), _) => {
            let agrees = (told / mean_ms - 1.0).abs() <= APART_MAX;
            let rest = match agrees {
                true => format!("; the published {} agrees", millis(told)),
                false => format!(
                    "; the published {} would mean {} in flight at that rate, not {}",
                    millis(told),
                    number(row.rate * told / 1e3),
                    number(outstanding)
                ),
            };
            Some(Check {
                agrees: Some(agrees),
                sentence: must + &rest,
            })
        }
        (None, Some(p99)) => {
            let agrees = mean_ms <= p99;
            let rest = match agrees {
                true => format!(
                    "; the published P99 of {} is consistent with that",
                    millis(p99)
                ),
                false => format!("; the published P99 of {} is below that mean", millis(p99)),
            };
            Some(Check {
                agrees: Some(agrees),
                sentence: must + &rest,
            })
        }
        (None, None) => None,
    }
}

/// A whole number with its thousands apart.
pub(super) fn number(value: f64) -> String {
    let digits = format!("{:.0}", value.round());
    let mut text = String::new();
    for (at, digit) in digits.chars().enumerate() {
        if at > 0 && (digits.len() - at) % 3 == 0 {
            text.push(',');
        }
        text.push(digit);
    }
    text
}

fn millis(value: f64) -> String {
    match value {
        10.0.. => format!("{value:.0} ms"),
        1.0.. => format!("{value:.1} ms"),
        _ => format!("{value:.2} ms"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn row(connections: Option<u32>, rate: f64, mean_ms: Option<f64>) -> PublishedRow {
        PublishedRow {
            name: "x".into(),
            rate,
            connections,
            pipeline: 1,
            mean_ms,
            p99_ms: None,
        }
    }

    #[test]
    fn published_rows_agree_with_themselves_or_do_not() {
        for (connections, rate, mean_ms, agrees) in [
            (10_000, 98_432.0, 101.0, true),
            (400, 98_760.0, 4.0, true),
            (200, 146_873.0, 1.36, true),
            (200, 33_114.0, 13.21, false),
            (1_000, 9_600.0, 12.0, false),
            (1_000, 4_800.0, 208.0, true),
        ] {
            let check = check(&row(Some(connections), rate, Some(mean_ms))).expect("all three");
            assert_eq!(check.agrees, Some(agrees), "{}", check.sentence);
        }
    }

    #[test]
    fn a_contradiction_says_what_would_be_in_flight() {
        let check = check(&row(Some(1_000), 9_600.0, Some(12.0))).expect("all three");
        assert_eq!(
            check.sentence,
            "x: 1,000 connections at 9,600 per second imply a mean of 104 ms; the published 12 ms \
             would mean 115 in flight at that rate, not 1,000"
        );
    }

    #[test]
    fn without_connections_it_says_how_many_there_were() {
        let check = check(&row(None, 8_200.0, Some(12.4))).expect("two of three");
        assert_eq!(check.agrees, None);
        assert!(
            check.sentence.contains("means 102 in flight"),
            "{}",
            check.sentence
        );
        assert_eq!(super::check(&row(None, 8_200.0, None)), None);
        assert_eq!(super::check(&row(Some(1), 8_200.0, None)), None);
    }

    #[test]
    fn a_mean_above_the_published_p99_is_a_contradiction() {
        let pipelined = PublishedRow {
            pipeline: 10,
            p99_ms: Some(86.0),
            ..row(Some(5_000), 78_432.0, None)
        };
        let check = check(&pipelined).expect("a bound");
        assert_eq!(check.agrees, Some(false), "{}", check.sentence);
        assert!(
            check.sentence.contains("5,000 connections, 10 deep, at"),
            "{}",
            check.sentence
        );
    }
}
