//! Little's law held against published figures: what is in flight is the rate times the mean time
//! that each spends there (J. D. C. Little, "A Proof for the Queuing Formula L = λW", 1961). In a
//! closed loop the connections are what is in flight, so of connections, rate and mean time any two
//! give the third, and a row that says all three can contradict itself.

use serde::Deserialize;
use serde::de::{Deserializer, Error as _};

use super::word::Words;

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
    /// Whether that mean was corrected for coordinated omission, as wrk corrects its own
    /// (`stats_correct` in its source): after a pause it stands above what the answers took.
    #[serde(default)]
    pub corrected: bool,
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
    /// Whether the row agrees with itself; none where it leaves one of the three out, or its mean
    /// was corrected.
    pub agrees: Option<bool>,
    /// In a sentence.
    pub sentence: Words,
}

/// Holds the law against a row; none where it says too little.
pub fn check(row: &PublishedRow) -> Option<Check> {
    let Some(connections) = row.connections else {
        return row.mean_ms.map(|mean_ms| in_flight(row, mean_ms));
    };
    let outstanding = f64::from(connections) * f64::from(row.pipeline);
    let mean_ms = outstanding / row.rate * 1e3;
    let (agrees, rest) = match (row.mean_ms, row.p99_ms) {
        (Some(told), _) if row.corrected && told > mean_ms => (None, of_corrected(told)),
        (Some(told), _) => {
            let agrees = (told / mean_ms - 1.0).abs() <= APART_MAX;
            (Some(agrees), of_mean(row, told, outstanding, agrees))
        }
        (None, Some(p99)) => (Some(mean_ms <= p99), of_p99(p99, mean_ms <= p99)),
        (None, None) => return None,
    };
    let must = implied(row, connections, mean_ms);
    Some(Check {
        agrees,
        sentence: must.with(&rest),
    })
}

/// What a row says that leaves its connections out.
fn in_flight(row: &PublishedRow, mean_ms: f64) -> Check {
    let (name, rate) = (&row.name, number(row.rate));
    let (mean, flying) = (millis(mean_ms), number(row.rate * mean_ms / 1e3));
    Check {
        agrees: None,
        sentence: Words::new(
            format!(
                "{name}: {rate} per second at a mean of {mean} means {flying} in flight; the post \
                 doesn't say how many connections it used"
            ),
            format!(
                "{name}：每秒 {rate} 个、平均 {mean}，相当于同时有 {flying} 个请求在途；原文没有写连接数"
            ),
        ),
    }
}

/// The mean that a closed loop must have.
fn implied(row: &PublishedRow, connections: u32, mean_ms: f64) -> Words {
    let (name, rate, mean) = (&row.name, number(row.rate), millis(mean_ms));
    let connections = number(connections.into());
    let (deep_en, deep_zh) = match row.pipeline {
        1 => (String::new(), String::new()),
        depth => (
            format!(", {depth} deep,"),
            format!("、每个连接 {depth} 个请求"),
        ),
    };
    Words::new(
        format!(
            "{name}: {connections} connections{deep_en} at {rate} per second imply a mean of {mean}"
        ),
        format!("{name}：{connections} 个连接{deep_zh}，每秒 {rate} 个，平均应为 {mean}"),
    )
}

fn of_mean(row: &PublishedRow, told: f64, outstanding: f64, agrees: bool) -> Words {
    let (mean, outstanding) = (millis(told), number(outstanding));
    if agrees {
        return Words::new(
            format!("; the published {mean} agrees"),
            format!("；原文的 {mean} 与此相符"),
        );
    }
    let flying = number(row.rate * told / 1e3);
    Words::new(
        format!(
            "; the published {mean} would mean {flying} in flight at that rate, not {outstanding}"
        ),
        format!("；按原文的 {mean}，该吞吐下在途的应是 {flying} 个，而不是 {outstanding} 个"),
    )
}

/// A mean above what the answers took, which a correction may account for.
fn of_corrected(told: f64) -> Words {
    let mean = millis(told);
    Words::new(
        format!(
            "; the published {mean} is above that, which the tool's correction for coordinated \
             omission allows"
        ),
        format!("；原文的 {mean} 高于此，压测工具对协调遗漏的校正可以解释这一点"),
    )
}

fn of_p99(p99: f64, agrees: bool) -> Words {
    let p99 = millis(p99);
    match agrees {
        true => Words::new(
            format!("; the published P99 of {p99} is consistent with that"),
            format!("；原文的 P99 {p99} 与此不矛盾"),
        ),
        false => Words::new(
            format!("; the published P99 of {p99} is below that mean"),
            format!("；原文的 P99 {p99} 反而低于这个平均值"),
        ),
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
            corrected: false,
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
            assert_eq!(check.agrees, Some(agrees), "{:?}", check.sentence);
        }
    }

    #[test]
    fn a_corrected_mean_may_be_above_what_the_answers_took_and_not_below() {
        let corrected = |mean_ms: f64| {
            let row = PublishedRow {
                corrected: true,
                ..row(Some(200), 33_114.0, Some(mean_ms))
            };
            check(&row).expect("all three").agrees
        };
        assert_eq!(corrected(13.21), None);
        assert_eq!(corrected(6.0), Some(true));
        assert_eq!(corrected(4.0), Some(false));
    }

    #[test]
    fn a_contradiction_says_what_would_be_in_flight() {
        let check = check(&row(Some(1_000), 9_600.0, Some(12.0))).expect("all three");
        assert_eq!(
            check.sentence.en,
            "x: 1,000 connections at 9,600 per second imply a mean of 104 ms; the published 12 ms \
             would mean 115 in flight at that rate, not 1,000"
        );
    }

    #[test]
    fn without_connections_it_says_how_many_there_were() {
        let check = check(&row(None, 8_200.0, Some(12.4))).expect("two of three");
        assert_eq!(check.agrees, None);
        assert!(
            check.sentence.en.contains("means 102 in flight"),
            "{:?}",
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
        assert_eq!(check.agrees, Some(false), "{:?}", check.sentence);
        assert!(
            check.sentence.en.contains("5,000 connections, 10 deep, at"),
            "{:?}",
            check.sentence
        );
    }
}
