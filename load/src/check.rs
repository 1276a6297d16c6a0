//! Thresholds: conditions on a record that a run must meet, in the manner of k6.

use std::fmt;
use std::str::FromStr;

use measure::histogram::Histogram;
use measure::record::{Exchanges, Judged, Met, Times};
use measure::units;
use serde::{Deserialize, Serialize};

use crate::Record;
use crate::plan::Invalid;

/// A condition such as `p99<5ms`, `errors<0.1%`, `rate>=50k` or `service:p99.9<2ms`, on a figure
/// of the record that `F` knows.
#[derive(Clone, Debug, PartialEq)]
pub struct Threshold<F = OfRun> {
    text: String,
    figure: F,
    comparison: Comparison,
    limit: f64,
}

/// A figure of a record that conditions can be about.
pub trait Figure: Sized {
    /// The record that has it.
    type Record;
    /// Conditions as they are written, for the sentence that refuses one.
    const EXAMPLES: &'static str;

    /// Reads the figure's name, and the limit in its unit; the limit is none where it is not a
    /// number of that unit. The error says why the name means nothing.
    fn read(name: &str, limit: &str) -> Result<(Self, Option<f64>), String>;

    /// What the record says; none where there was nothing to measure.
    fn measure(&self, record: &Self::Record) -> Option<f64>;

    /// Whether it counts what went wrong: a void run has too few failures, but none too many.
    fn counts_failures(&self) -> bool;

    /// Why the record's figure does not mean what it says; none where it does.
    fn void(&self, record: &Self::Record) -> Option<String>;

    /// Why what was measured may be less than the truth, and so can't be shown to be below a limit.
    fn bound(&self, record: &Self::Record) -> Option<String> {
        let _ = record;
        None
    }

    /// A value in its unit.
    fn print(&self, value: f64) -> String;
}

/// A threshold held against a record.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Outcome {
    /// The condition as it was written.
    pub threshold: String,
    /// What was measured, in the unit of the condition; `None` where there is nothing to measure,
    /// which fails.
    pub measured: Option<String>,
    /// Whether it is met.
    pub ok: bool,
}

/// A figure of the record of a run.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct OfRun(RunFigure);

#[derive(Clone, Copy, Debug, PartialEq)]
enum RunFigure {
    /// Nanoseconds of response time, or of service time.
    Time { service: bool, what: OfTimes },
    /// Share of the load that came to nothing, 0 to 1.
    ErrorShare,
    /// Exchanges that failed or were not finished, and attempts to connect that failed.
    ErrorCount,
    /// Share of the time in which answers came, 0 to 1.
    Availability,
    /// Completed exchanges per second.
    Rate,
}

/// A figure of a distribution of times.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) enum OfTimes {
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

impl<F: Figure> FromStr for Threshold<F> {
    type Err = Invalid;

    fn from_str(text: &str) -> Result<Threshold<F>, Invalid> {
        let bad = |why: String| {
            let examples = F::EXAMPLES;
            Invalid(format!(
                "threshold {text:?}: {why}; write for example {examples}"
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
        let (figure, limit) = F::read(name.trim(), limit.trim()).map_err(bad)?;
        let limit = limit
            .filter(|limit: &f64| limit.is_finite() && *limit >= 0.0)
            .ok_or_else(|| {
                bad("the limit needs a number: with % for a share, with a unit for a time".into())
            })?;
        Ok(Threshold {
            text: text.to_owned(),
            figure,
            comparison,
            limit,
        })
    }
}

impl Figure for OfRun {
    type Record = Record;
    const EXAMPLES: &'static str = "'p99<5ms', 'service:p99.9<2ms', 'mean<1ms', 'errors<0.1%', \
                                    'availability>=99.9%' or 'rate>50k'";

    fn read(name: &str, limit: &str) -> Result<(OfRun, Option<f64>), String> {
        let (figure, limit) = match name {
            "errors" => match percent(limit) {
                Some(share) => (RunFigure::ErrorShare, share),
                None => (RunFigure::ErrorCount, count(limit)),
            },
            "availability" => {
                let share = percent(limit).ok_or("its limit is a share in percent")?;
                (RunFigure::Availability, share)
            }
            "rate" | "rps" => (RunFigure::Rate, units::parse_rate(limit).ok()),
            name => {
                let (service, what) = match name.split_once(':') {
                    Some(("service", what)) => (true, what),
                    Some(("response", what)) => (false, what),
                    Some(_) => return Err(unknown(name)),
                    None => (false, name),
                };
                let what = OfTimes::read(what).ok_or_else(|| unknown(name))?;
                let limit = length_ns(name, limit)?;
                (RunFigure::Time { service, what }, Some(limit))
            }
        };
        Ok((OfRun(figure), limit))
    }

    fn measure(&self, record: &Record) -> Option<f64> {
        match self.0 {
            RunFigure::ErrorCount => Some(record.lost().count() as f64),
            RunFigure::ErrorShare => record.lost().share(),
            RunFigure::Availability => Some(record.availability.as_ref()?.share),
            RunFigure::Rate => Some(record.achieved_rate),
            RunFigure::Time { service, what } => {
                let (times, text) = if service {
                    (&record.service_time_us, &record.histograms.service_time)
                } else {
                    (&record.response_time_us, &record.histograms.response_time)
                };
                what.measure_ns(times, text)
            }
        }
    }

    fn counts_failures(&self) -> bool {
        matches!(self.0, RunFigure::ErrorShare | RunFigure::ErrorCount)
    }

    fn void(&self, record: &Record) -> Option<String> {
        // Where nothing was completed there is nothing to measure, which is crossed.
        if record.exchanges.completed == 0 {
            return None;
        }
        if !record.valid {
            // What failed did fail, whoever was late.
            let outage = self.0 == RunFigure::Availability && record.lost().count() > 0;
            return (!outage).then(|| "the figures are void".to_owned());
        }
        if self.0 == RunFigure::Availability && record.availability.is_none() {
            return Some("too few requests were answered to tell".to_owned());
        }
        let RunFigure::Time {
            service: false,
            what,
        } = self.0
        else {
            return None;
        };
        let moved = record
            .void
            .iter()
            .find(|one| what.is_spoiled_by(&one.figure))?;
        Some(format!(
            "the generator's lateness could have moved it by {}",
            units::wrk_time_us(moved.by_us)
        ))
    }

    fn bound(&self, record: &Record) -> Option<String> {
        let RunFigure::Time { what, .. } = self.0 else {
            return None;
        };
        let Exchanges {
            completed,
            failed,
            unfinished,
            censored,
            ..
        } = record.exchanges;
        let all = completed + failed + unfinished;
        let reaches = match what {
            OfTimes::Min => false,
            OfTimes::Mean | OfTimes::Max => censored > 0,
            OfTimes::Quantile(q) => censored as f64 > (1.0 - q) * all as f64,
        };
        reaches.then(|| format!("{censored} of {all} requests were given up, so it may be longer"))
    }

    fn print(&self, value: f64) -> String {
        match self.0 {
            RunFigure::Time { .. } => units::wrk_time_us(value / 1000.0),
            RunFigure::ErrorShare | RunFigure::Availability => print_share(value),
            RunFigure::ErrorCount => format!("{value:.0}"),
            RunFigure::Rate => format!("{value:.2}"),
        }
    }
}

impl OfTimes {
    /// `p99.9`, `mean`, `min`, `max` or `median`.
    pub(crate) fn read(name: &str) -> Option<OfTimes> {
        Some(match name {
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
        })
    }

    /// Whether it does not mean what it says where the figure of that name doesn't: a quantile lies
    /// between the two next to it, and is taken for void with the one above.
    fn is_spoiled_by(self, name: &str) -> bool {
        let of = |name: &str| -> Option<f64> {
            let digits = name.strip_prefix('p')?.replace('_', ".");
            digits.parse::<f64>().ok().map(|percent| percent / 100.0)
        };
        match self {
            OfTimes::Mean => name == "mean",
            OfTimes::Min => false,
            OfTimes::Max => name == "max",
            OfTimes::Quantile(q) if q >= 1.0 => name == "max",
            OfTimes::Quantile(q) => match of(name) {
                // The lowest of those that are looked at from here upwards.
                Some(above) => {
                    let looked = [0.5, 0.75, 0.9, 0.99, 0.999, 0.9999];
                    let next = looked.into_iter().find(|one| *one >= q - 1e-9);
                    next.is_some_and(|next| (next - above).abs() < 1e-9)
                }
                None => name == "max" && q > 0.9999,
            },
        }
    }

    /// Its value in nanoseconds, from the summary or from the whole `histogram`.
    pub(crate) fn measure_ns(self, times: &Times, histogram: &str) -> Option<f64> {
        match self {
            OfTimes::Mean => Some(times.mean? * 1000.0),
            OfTimes::Min => Some(times.min? * 1000.0),
            OfTimes::Max => Some(times.max? * 1000.0),
            OfTimes::Quantile(q) => {
                let histogram = Histogram::from_hdr_v2_base64(histogram).ok()?;
                (!histogram.is_empty()).then(|| histogram.quantile(q) as f64)
            }
        }
    }
}

/// Why a name means nothing.
pub(crate) fn unknown(name: &str) -> String {
    format!("{name:?} is not a figure of a record")
}

/// A limit in percent as a share; none if it is not in percent at all.
pub(crate) fn percent(limit: &str) -> Option<Option<f64>> {
    let percent = limit.strip_suffix('%')?.trim().parse().ok();
    Some(percent.map(|percent: f64| percent / 100.0))
}

/// A limit that is a count.
pub(crate) fn count(limit: &str) -> Option<f64> {
    units::parse_count(limit).ok().map(|count| count as f64)
}

/// A limit that is a length of time, in nanoseconds. A bare number could be meant in any unit.
pub(crate) fn length_ns(name: &str, limit: &str) -> Result<f64, String> {
    if limit.parse::<f64>().is_ok() {
        return Err(format!(
            "a time needs a unit, such as `{name}<{limit}ms` or `{name}<{limit}us`"
        ));
    }
    let length = units::parse_duration(limit).map_err(|why| why.to_string())?;
    Ok(length.as_nanos() as f64)
}

/// A share in percent.
pub(crate) fn print_share(share: f64) -> String {
    format!("{:.3}%", share * 100.0)
}

impl<F: Figure> Threshold<F> {
    /// Holds the condition against a record.
    pub fn evaluate(&self, record: &F::Record) -> Outcome {
        let measured = self.figure.measure(record);
        let ok = measured.is_some_and(|value| match self.comparison {
            Comparison::Less => value < self.limit,
            Comparison::LessOrEqual => value <= self.limit,
            Comparison::More => value > self.limit,
            Comparison::MoreOrEqual => value >= self.limit,
        });
        let measured = measured.map(|value| self.figure.print(value));
        Outcome {
            threshold: self.text.clone(),
            measured,
            ok,
        }
    }
}

impl Threshold {
    /// The share of exchanges that the condition is not about: 0.99 of one on the 99th percentile,
    /// 0.999 of `errors<0.1%`; none of a mean, an end of the distribution or a count. The larger it
    /// is, the more exchanges it takes to judge.
    pub fn quantile(&self) -> Option<f64> {
        let quantile = match self.figure.0 {
            RunFigure::ErrorShare => 1.0 - self.limit,
            RunFigure::Time {
                what: OfTimes::Quantile(quantile),
                ..
            } => quantile,
            _ => return None,
        };
        (quantile > 0.0 && quantile < 1.0).then_some(quantile)
    }

    /// The limit of a condition on times, in seconds.
    pub fn limit_s(&self) -> Option<f64> {
        self.is_about_times().then_some(self.limit / 1e9)
    }

    /// Whether it is a condition on times, which a late generator would be part of.
    pub fn is_about_times(&self) -> bool {
        matches!(self.figure.0, RunFigure::Time { .. })
    }
}

impl<F> fmt::Display for Threshold<F> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.text)
    }
}

/// Holds all conditions against a record, for the record itself: those on figures that are void
/// are not judged, unless failures are what crosses them, since those are real.
pub fn judge<F: Figure>(thresholds: &[Threshold<F>], record: &F::Record) -> Vec<Judged> {
    let judge = |threshold: &Threshold<F>| {
        let Outcome {
            threshold: rule,
            measured,
            ok,
        } = threshold.evaluate(record);
        let reason = threshold.figure.void(record);
        let reason = reason.filter(|_| ok || !threshold.figure.counts_failures());
        let below = matches!(
            threshold.comparison,
            Comparison::Less | Comparison::LessOrEqual
        );
        // A lower bound that is too long is too long; one that is short says nothing.
        let bound = (ok && below).then(|| threshold.figure.bound(record));
        let reason = reason.or(bound.flatten());
        Judged {
            rule,
            measured,
            outcome: match (&reason, ok) {
                (Some(_), _) => Met::NotJudged,
                (None, true) => Met::Holds,
                (None, false) => Met::Crossed,
            },
            reason,
        }
    };
    thresholds.iter().map(judge).collect()
}

/// Holds all conditions against a record.
pub fn evaluate<F: Figure>(thresholds: &[Threshold<F>], record: &F::Record) -> Vec<Outcome> {
    thresholds
        .iter()
        .map(|threshold| threshold.evaluate(record))
        .collect()
}

#[cfg(test)]
mod tests {
    use measure::record::{Facts, Moved};
    use measure::tally::{Loop, Tally};

    use super::*;
    use crate::plan::Plan;

    fn refusal(text: &str) -> String {
        text.parse::<Threshold>().unwrap_err().0
    }

    #[test]
    fn conditions_are_read() {
        let read = |text: &str| {
            text.parse::<Threshold>()
                .map(|read| (read.figure.0, read.limit))
        };
        let response = |what| RunFigure::Time {
            service: false,
            what,
        };
        assert_eq!(
            read("p99<5ms"),
            Ok((response(OfTimes::Quantile(0.99)), 5e6))
        );
        assert!(read("p(95) < 1s").is_err());
        assert_eq!(read("mean <= 250us"), Ok((response(OfTimes::Mean), 250e3)));
        assert_eq!(read("errors<0.1%"), Ok((RunFigure::ErrorShare, 0.001)));
        assert_eq!(
            read("availability>=99.9%"),
            Ok((RunFigure::Availability, 0.9990000000000001))
        );
        assert_eq!(read("errors<1"), Ok((RunFigure::ErrorCount, 1.0)));
        assert_eq!(read("rate>=50k"), Ok((RunFigure::Rate, 50_000.0)));
        assert_eq!(read("rps>=1200"), Ok((RunFigure::Rate, 1200.0)));
        let service = RunFigure::Time {
            service: true,
            what: OfTimes::Max,
        };
        assert_eq!(read("service:max<2ms"), Ok((service, 2e6)));
    }

    #[test]
    fn a_condition_on_a_tail_says_which() {
        let quantile = |text: &str| text.parse::<Threshold>().map(|read| read.quantile());
        for (text, expected) in [
            ("p99<5ms", Some(0.99)),
            ("service:p99.9<5ms", Some(0.999)),
            ("errors<0.1%", Some(0.999)),
            ("errors<=0%", None),
            ("errors<10", None),
            ("max<5ms", None),
            ("p100<5ms", None),
            ("rate>5k", None),
        ] {
            let found = quantile(text).expect("a condition");
            let near = |(a, b): (f64, f64)| (a - b).abs() < 1e-9;
            let same = found.zip(expected).map_or(found == expected, near);
            assert!(same, "{text}: {found:?}");
        }
        let times = |text: &str| text.parse::<Threshold>().is_ok_and(|t| t.is_about_times());
        assert!(times("mean<1ms") && !times("errors<1%") && !times("rate>1"));
    }

    /// A record with a mean of 4 ms, of which so many exchanges failed.
    fn record(valid: bool, completed: u64, failed: u64) -> Record {
        let facts = Facts {
            duration_s: 1.0,
            valid,
            ..Facts::of(Plan::new("http://127.0.0.1:1/").expect("a URL").recorded())
        };
        let mut record: Record = Record::assemble(&Tally::new(Loop::Open), facts);
        record.exchanges.completed = completed;
        record.exchanges.failed = failed;
        record.response_time_us.mean = (completed > 0).then_some(4_000.0);
        record
    }

    #[test]
    fn conditions_on_void_figures_are_neither_held_nor_crossed() {
        let outcomes = |record: &Record| {
            let rules = ["mean<5ms", "mean<1ms", "errors<1%"];
            let rules = rules.map(|rule| rule.parse::<Threshold>().expect("a condition"));
            let judged = judge(&rules, record);
            assert!(
                judged
                    .iter()
                    .all(|one| { one.reason.is_some() == (one.outcome == Met::NotJudged) })
            );
            judged.iter().map(|one| one.outcome).collect::<Vec<_>>()
        };
        use Met::{Crossed, Holds, NotJudged};
        assert_eq!(outcomes(&record(true, 100, 0)), [Holds, Crossed, Holds]);
        assert_eq!(outcomes(&record(true, 100, 50)), [Holds, Crossed, Crossed]);
        let void = [NotJudged, NotJudged, NotJudged];
        assert_eq!(outcomes(&record(false, 100, 0)), void);
        // What failed did fail, whatever the generator did.
        let failed = [NotJudged, NotJudged, Crossed];
        assert_eq!(outcomes(&record(false, 100, 50)), failed);
        // A server that answers nothing is no matter of the generator.
        assert_eq!(outcomes(&record(false, 0, 50)), [Crossed, Crossed, Crossed]);
    }

    #[test]
    fn times_of_requests_that_were_given_up_are_not_short() {
        let mut record = record(true, 90, 10);
        record.exchanges.censored = 10;
        for (rule, met) in [
            ("mean<1s", Met::NotJudged),
            ("mean<1ms", Met::Crossed),
            ("mean>1ms", Met::Holds),
            ("errors<50%", Met::Holds),
        ] {
            let judged = judge::<OfRun>(&[rule.parse().unwrap()], &record);
            assert_eq!(judged[0].outcome, met, "{rule}");
        }
        record.exchanges.censored = 0;
        let judged = judge::<OfRun>(&["mean<1s".parse().unwrap()], &record);
        assert_eq!(judged[0].outcome, Met::Holds);
    }

    #[test]
    fn too_few_answers_say_nothing_of_availability() {
        let judged = judge::<OfRun>(&["availability>=1%".parse().unwrap()], &record(true, 20, 0));
        assert_eq!(judged[0].outcome, Met::NotJudged);
    }

    #[test]
    fn a_condition_on_a_figure_that_lateness_moved_is_not_judged() {
        let mut record = record(true, 100, 0);
        let moved = |figure: &str| Moved {
            figure: figure.to_owned(),
            by_us: 11_700.0,
            allowed_us: 50.0,
        };
        record.void = vec![moved("p99"), moved("p99_9"), moved("max")];
        let voids = |rule: &str| {
            let rule: Threshold = rule.parse().expect("a condition");
            judge(&[rule], &record)[0].outcome == Met::NotJudged
        };
        for rule in ["p99<5ms", "p95<5ms", "p99.9<1s", "p100<1s", "max<1s"] {
            assert!(voids(rule), "{rule}");
        }
        let stand = [
            "p50<5ms",
            "p90<5ms",
            "mean<5ms",
            "service:p99<1s",
            "errors<1%",
            "min<1s",
        ];
        for rule in stand {
            assert!(!voids(rule), "{rule}");
        }
    }

    #[test]
    fn a_time_without_a_unit_is_refused_with_what_to_write() {
        for (text, instead) in [
            ("p99<50", "`p99<50ms`"),
            ("mean <= 0.5", "`mean<0.5ms`"),
            ("service:max<0", "`service:max<0ms`"),
        ] {
            let refused = refusal(text);
            assert!(refused.contains(instead), "{text}: {refused}");
        }
        assert!("p99<50ms".parse::<Threshold>().is_ok());
        assert!(
            "errors<50".parse::<Threshold>().is_ok(),
            "a count needs none"
        );
        assert!("rate>50".parse::<Threshold>().is_ok());
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
            "availability>99",
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
