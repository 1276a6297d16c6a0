//! What the record of a run or a hold says by itself: thresholds, which are conditions that it must
//! meet, in the manner of k6; [`lateness`], by which figures are no longer what a server did; and
//! [`in_step`], windows that are too short for a rate; [`reopened`], connections that aren't kept;
//! and [`fate`], what became of an open loop.
//!
//! Knows records and plans, and nothing of how a load is driven or shown.
#![forbid(unsafe_code)]

use std::fmt;
use std::str::FromStr;

use measure::histogram::{Histogram, samples_for};
use measure::record::{EndedBy, Exchanges, Generator, Judged, Met, Moved, Stall};
use measure::units;
use serde::{Deserialize, Serialize};

use plan::Invalid;

use crate::lateness::schedule_was_missed;
use crate::room::Room;
use crate::stream::{NOT_LOOKED_FOR, OfStream};

pub mod fate;
pub mod hold;
pub mod in_step;
pub mod lateness;
mod limits;
pub mod reopened;
pub mod room;
mod step;
mod stream;
mod streamed;
mod times;

pub use limits::{count, length_ns, percent, print_share, unknown};
pub use step::OfRun;
pub use streamed::Streamed;
pub use times::OfTimes;

/// The record of a run.
pub type Record = measure::record::Record<plan::Recorded>;

/// Stalls from here on show in the times.
const STALL_TOLD_US: f64 = 100_000.0;

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

    /// The most that it can ever be; none where there is no such bound.
    fn most(&self) -> Option<f64>;

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

    /// What it was at least, without whatever makes it void; none where that can't be told.
    fn at_least(&self, record: &Self::Record, measured: f64) -> Option<f64> {
        let _ = (record, measured);
        None
    }

    /// Between what bounds it truly lies, where that is not just what was `measured`.
    fn range(&self, record: &Self::Record, measured: f64) -> Option<Range> {
        let _ = (record, measured);
        None
    }

    /// Whether what it is about had no occasion to take place, which is as good as can be.
    fn had_no_occasion(&self, record: &Self::Record) -> bool {
        let _ = record;
        false
    }

    /// The quantile that it is, and the times whose quantile; none of anything else.
    fn tail(&self, record: &Self::Record) -> Option<(f64, Histogram)> {
        let _ = record;
        None
    }

    /// A value in its unit.
    fn print(&self, value: f64) -> String;
}

/// Bounds of a figure that was not measured exactly.
#[derive(Clone, Debug, PartialEq)]
pub struct Range {
    /// It is no less.
    pub least: f64,
    /// It is no more.
    pub most: f64,
    /// Why, for the reader of a condition whose limit lies between the two.
    pub why: String,
}

/// A threshold held against a record.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Outcome {
    /// The threshold as it was written.
    pub threshold: String,
    /// What was measured, in the unit of the condition; `None` where there is nothing to measure,
    /// which fails.
    pub measured: Option<String>,
    /// Whether it is met.
    pub ok: bool,
}

/// A figure of the record of a run as a whole.
#[derive(Clone, Copy, Debug, PartialEq)]
struct OfWhole(RunFigure);

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
    /// Nanoseconds of what was seen inside answers.
    Stream { of: OfStream, what: OfTimes },
    /// Events per second.
    EventRate,
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
                "threshold {text:?}: {why}; write it like {examples}"
            ))
        };
        let sign = text
            .find(['<', '>'])
            .ok_or_else(|| bad("it has no `<` or `>`".into()))?;
        let (name, rest) = text.split_at(sign);
        let (comparison, limit) = match (rest.strip_prefix("<="), rest.strip_prefix(">=")) {
            (Some(limit), _) => (Comparison::LessOrEqual, limit),
            (_, Some(limit)) => (Comparison::MoreOrEqual, limit),
            _ if rest.starts_with('<') => (Comparison::Less, &rest[1..]),
            _ => (Comparison::More, &rest[1..]),
        };
        if limit.contains(['<', '>']) {
            let why = "it has more than one condition; give each one separately";
            return Err(bad(why.to_owned()));
        }
        let (figure, limit) = F::read(name.trim(), limit.trim()).map_err(bad)?;
        let limit = limit
            .filter(|limit: &f64| limit.is_finite())
            .ok_or_else(|| {
                bad("the limit isn't a number (with % for a share, with a unit for a time)".into())
            })?;
        comparison.can_tell(limit, figure.most()).map_err(bad)?;
        Ok(Threshold {
            text: text.to_owned(),
            figure,
            comparison,
            limit,
        })
    }
}

impl Comparison {
    /// Refuses what always holds and what never does.
    fn can_tell(self, limit: f64, most: Option<f64>) -> Result<(), String> {
        let why = match (self, most) {
            _ if limit < 0.0 => "the limit can't be negative",
            (_, Some(most)) if limit > most => "a share is never above 100%",
            (Comparison::Less, _) if limit == 0.0 => "nothing is below zero; use `<=`",
            (Comparison::MoreOrEqual, _) if limit == 0.0 => "that always holds",
            (Comparison::More, Some(most)) if limit >= most => {
                "a share is never above 100%; use `>=`"
            }
            (Comparison::LessOrEqual, Some(most)) if limit >= most => "that always holds",
            _ => return Ok(()),
        };
        Err(why.to_owned())
    }

    fn holds(self, value: f64, limit: f64) -> bool {
        match self {
            Comparison::Less => value < limit,
            Comparison::LessOrEqual => value <= limit,
            Comparison::More => value > limit,
            Comparison::MoreOrEqual => value >= limit,
        }
    }

    /// Whether it asks for little.
    fn is_below(self) -> bool {
        matches!(self, Comparison::Less | Comparison::LessOrEqual)
    }
}

impl Figure for OfWhole {
    type Record = Record;
    const EXAMPLES: &'static str = "'p99<5ms', 'service:p99.9<2ms', 'mean<1ms', 'errors<0.1%', \
                                    'availability>=99.9%', 'rate>50k' or 'first_event_p99<200ms'";

    fn read(name: &str, limit: &str) -> Result<(OfWhole, Option<f64>), String> {
        let (figure, limit) = match name {
            "errors" => match percent(limit) {
                Some(share) => (RunFigure::ErrorShare, share),
                None => (RunFigure::ErrorCount, count(limit)),
            },
            "availability" => {
                let share = percent(limit).ok_or("the limit is a share: write it in percent")?;
                (RunFigure::Availability, share)
            }
            "rate" | "rps" => (RunFigure::Rate, units::parse_rate(limit).ok()),
            "event_rate" => (RunFigure::EventRate, units::parse_rate(limit).ok()),
            name => (RunFigure::time(name)?, Some(length_ns(name, limit)?)),
        };
        Ok((OfWhole(figure), limit))
    }

    fn most(&self) -> Option<f64> {
        matches!(self.0, RunFigure::ErrorShare | RunFigure::Availability).then_some(1.0)
    }

    fn measure(&self, record: &Record) -> Option<f64> {
        match self.0 {
            RunFigure::ErrorCount => Some(record.lost().count() as f64),
            RunFigure::ErrorShare => record.lost().share(),
            RunFigure::Availability => Some(record.availability.as_ref()?.share),
            RunFigure::Rate => Some(record.achieved_rate),
            RunFigure::EventRate => Some(record.streams.as_ref()?.events_per_second),
            RunFigure::Stream { of, what } => of.measure_ns(what, record),
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
        if self.0.is_of_streams() {
            return self.void_of_streams(record);
        }
        if record.exchanges.completed == 0 {
            return self.void_of_failures(record);
        }
        if !record.valid {
            // What failed did fail, whoever was late; what lateness does to silence has bounds.
            let stands = self.0 == RunFigure::Availability
                && (record.lost().count() > 0 || schedule_was_missed(&record.void));
            if !stands {
                return Some("the figures are void".to_owned());
            }
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
        what.moved(&record.void).map(told_moved)
    }

    fn bound(&self, record: &Record) -> Option<String> {
        if let RunFigure::Stream { of, what } = self.0 {
            let (censored, all) = of.censored(record.streams.as_ref()?);
            return what
                .is_bound(censored, all)
                .then(|| told_bound(censored, all, of.samples()));
        }
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
        let is_bound = what.is_bound(censored, all);
        is_bound.then(|| told_bound(censored, all, "requests"))
    }

    fn at_least(&self, record: &Record, measured: f64) -> Option<f64> {
        let RunFigure::Time {
            service: false,
            what,
        } = self.0
        else {
            return None;
        };
        // What voids the whole run may be something else, which bounds nothing.
        let by_lateness = record.valid || schedule_was_missed(&record.void);
        if !by_lateness || record.exchanges.completed == 0 {
            return None;
        }
        let Some(moved) = what.moved(&record.void) else {
            return Some(measured);
        };
        let all = || record.void.iter().filter(|one| one.figure != "mean");
        // What lies between two figures may have been moved by more than the one above.
        let by_us = match what {
            OfTimes::Mean => moved.by_us,
            _ => all().map(|one| one.by_us).fold(moved.by_us, f64::max),
        };
        Some(measured - by_us * 1000.0)
    }

    fn range(&self, record: &Record, measured: f64) -> Option<Range> {
        match self.0 {
            RunFigure::Availability => without_lateness(record, measured),
            RunFigure::Time { .. } | RunFigure::Stream { .. } if was_the_limit(record) => {
                Some(Range {
                    least: 0.0,
                    most: measured,
                    why: limited(record, "an upper bound"),
                })
            }
            RunFigure::Rate | RunFigure::EventRate if was_the_limit(record) => Some(Range {
                least: measured,
                most: f64::INFINITY,
                why: limited(record, "a lower bound"),
            }),
            RunFigure::Time { what, .. } | RunFigure::Stream { what, .. } => {
                let stall = told_stall(&record.generator)?;
                let least = what.without(stall, record, measured, &self.times(record)?)?;
                Some(Range {
                    least,
                    most: measured,
                    why: stood_still(stall),
                })
            }
            RunFigure::Rate | RunFigure::EventRate => {
                let stall = told_stall(&record.generator)?;
                let ran_s = record.duration_s - within(stall, record.duration_s);
                Some(Range {
                    least: measured,
                    most: match ran_s > 0.0 {
                        true => measured * record.duration_s / ran_s,
                        false => f64::INFINITY,
                    },
                    why: stood_still(stall),
                })
            }
            RunFigure::ErrorShare | RunFigure::ErrorCount => None,
        }
    }

    fn tail(&self, record: &Record) -> Option<(f64, Histogram)> {
        let Some(OfTimes::Quantile(q)) = self.0.of_times() else {
            return None;
        };
        Some((q, self.times(record)?))
    }

    fn print(&self, value: f64) -> String {
        match self.0 {
            RunFigure::Time { .. } | RunFigure::Stream { .. } => units::wrk_time_us(value / 1000.0),
            RunFigure::ErrorShare | RunFigure::Availability => print_share(value),
            RunFigure::ErrorCount => format!("{value:.0}"),
            RunFigure::Rate | RunFigure::EventRate => format!("{value:.2}/s"),
        }
    }
}

impl RunFigure {
    /// A figure of times.
    fn time(name: &str) -> Result<RunFigure, String> {
        if let Some((of, what)) = OfStream::read(name) {
            return Ok(RunFigure::Stream { of, what });
        }
        let (service, what) = match name.split_once(':') {
            Some(("service", what)) => (true, what),
            Some(("response", what)) => (false, what),
            Some(_) => return Err(not_of_a_run(name)),
            None => (false, name),
        };
        let what = OfTimes::read(what).ok_or_else(|| not_of_a_run(name))?;
        Ok(RunFigure::Time { service, what })
    }

    /// Of a distribution of times: which figure of it.
    fn of_times(self) -> Option<OfTimes> {
        match self {
            RunFigure::Time { what, .. } | RunFigure::Stream { what, .. } => Some(what),
            RunFigure::ErrorShare
            | RunFigure::ErrorCount
            | RunFigure::Availability
            | RunFigure::Rate
            | RunFigure::EventRate => None,
        }
    }

    /// Whether it is about what was seen inside answers.
    fn is_of_streams(self) -> bool {
        matches!(self, RunFigure::Stream { .. } | RunFigure::EventRate)
    }
}

impl OfWhole {
    /// Why a figure of streams does not mean what it says. Of a stream without end no exchange is
    /// ever completed, and its events are as good as any.
    fn void_of_streams(&self, record: &Record) -> Option<String> {
        let Some(streams) = &record.streams else {
            return Some(NOT_LOOKED_FOR.to_owned());
        };
        if !record.valid {
            return Some("the figures are void".to_owned());
        }
        if streams.streams + streams.events == 0 && record.exchanges.completed > 0 {
            return Some("no answer was a stream of events".to_owned());
        }
        match self.0 {
            RunFigure::Stream { of, what } => {
                let void = of.of(streams).void?;
                what.moved(void).map(told_moved)
            }
            _ => None,
        }
    }

    /// Why nothing can be said where no exchange was completed; none where that itself crosses the
    /// condition: requests were sent, and not one came to a good end.
    fn void_of_failures(&self, record: &Record) -> Option<String> {
        let stopped = matches!(record.ended_by, EndedBy::Interrupt | EndedBy::Terminate);
        let answered = record.exchanges.answered_in_window.unwrap_or(0) > 0;
        let why = match self.0 {
            _ if stopped && record.lost().count() == 0 => {
                "the run was interrupted before it had measured anything"
            }
            RunFigure::Time { .. } if self.measure(record).is_some() => {
                "no request succeeded, so these are the times of failures"
            }
            RunFigure::Availability if answered && record.availability.is_none() => {
                "too few requests were answered to tell"
            }
            _ => return None,
        };
        Some(why.to_owned())
    }

    /// The whole distribution that it is a figure of.
    fn times(&self, record: &Record) -> Option<Histogram> {
        let text = match self.0 {
            RunFigure::Time { service: true, .. } => &record.histograms.service_time,
            RunFigure::Time { service: false, .. } => &record.histograms.response_time,
            RunFigure::Stream { of, .. } => return of.histogram(record),
            _ => return None,
        };
        Histogram::from_hdr_v2_base64(text).ok()
    }
}

/// How far lateness could have moved a figure.
fn told_moved(moved: &Moved) -> String {
    format!(
        "the generator's lateness could have moved it by {}",
        units::wrk_time_us(moved.by_us)
    )
}

/// Why a name is no figure of a run, with the figure that it's elsewhere a name of.
fn not_of_a_run(name: &str) -> String {
    let unknown = match stream::meant(name) {
        Some(meant) => return format!("{}: {meant}", unknown(name)),
        None => unknown(name),
    };
    let percentile = name.rsplit(['_', ':']).next();
    match percentile.and_then(OfTimes::with_point) {
        Some(written) => format!("{unknown}: a percentile has a point, {written}"),
        None => unknown,
    }
}

/// That so many of all samples are lower bounds.
fn told_bound(censored: u64, all: u64, what: &str) -> String {
    format!("{censored} of {all} {what} were given up, so it may be longer")
}

/// Whether a closed loop was as fast as the generator, so that its figures are bounds of what the
/// server can do. An open loop whose generator was the limit is void.
fn was_the_limit(record: &Record) -> bool {
    record.generator.limited && record.offered_rate.is_none()
}

/// Why a figure is `a bound` only, and what to do about it.
fn limited(record: &Record, a_bound: &str) -> String {
    format!(
        "the generator was the limit, so that is {a_bound} of what the server can do. To generate \
         more load, {}",
        Room::here(record.plan.threads)
            .on(&record.plan.cpus)
            .more_threads()
    )
}

/// Whether a stall of the generator is so long that it shows in the times.
pub fn is_told(stall: &Stall) -> bool {
    stall.length_us >= STALL_TOLD_US
}

/// The generator's longest stall, if the warnings tell of it.
fn told_stall(generator: &Generator) -> Option<&Stall> {
    let stall = generator.longest_stall.as_ref();
    stall.filter(|stall| is_told(stall))
}

/// How many seconds of a stall lie in the window; the others lie in the drain.
fn within(stall: &Stall, duration_s: f64) -> f64 {
    let from_s = (stall.at_s - stall.length_us / 1e6).max(0.0);
    (stall.at_s.min(duration_s) - from_s).max(0.0)
}

/// How many exchanges can still have been under way when a stall began: those of the drain, if it
/// began there.
fn left_at(stall: &Stall, record: &Record) -> f64 {
    let in_drain = stall.at_s - stall.length_us / 1e6 >= record.duration_s;
    match record.drain.as_ref().filter(|_| in_drain) {
        Some(drain) => (drain.completed + drain.failed + record.exchanges.unfinished) as f64,
        None => f64::INFINITY,
    }
}

/// Why a figure may be the stall's doing.
pub fn stood_still(stall: &Stall) -> String {
    format!("{stall}, which may account for it")
}

/// What availability may be where the generator was so late that it left slots without an answer.
/// Slots in which a worker stood still are in it neither way; nothing is empty because requests
/// left late by less than a slot.
fn without_lateness(record: &Record, share: f64) -> Option<Range> {
    let slot_us = record.availability.as_ref()?.slot_s * 1e6;
    let late_us = record.void.iter().map(|one| one.by_us).fold(0.0, f64::max);
    let real = record.valid || record.lost().count() > 0;
    (!real && late_us >= slot_us).then(|| Range {
        least: share,
        most: 1.0,
        why: format!(
            "the generator sent requests up to {} late, which may account for the gaps",
            units::wrk_time_us(late_us)
        ),
    })
}

impl<F: Figure> Threshold<F> {
    /// Holds the condition against a record.
    pub fn evaluate(&self, record: &F::Record) -> Outcome {
        let measured = self.figure.measure(record);
        let ok = measured.is_some_and(|value| self.comparison.holds(value, self.limit));
        let measured = measured.map(|value| self.figure.print(value));
        Outcome {
            threshold: self.text.clone(),
            measured,
            ok,
        }
    }
}

impl<F: Figure> Threshold<F> {
    /// What a record says of its figure: of a time in nanoseconds.
    pub fn measure(&self, record: &F::Record) -> Option<f64> {
        self.figure.measure(record)
    }

    /// The name of its figure, as it was written.
    pub fn figure_name(&self) -> &str {
        let name = self.text.split(['<', '>', '=']).next();
        name.unwrap_or_default().trim()
    }

    /// Whether what crosses it is real although the figure is void: failures, and a time that is
    /// too long even without what the generator added to it.
    fn is_crossed_all_the_same(&self, record: &F::Record) -> bool {
        let Some(measured) = self.figure.measure(record) else {
            return false;
        };
        let least = self.figure.at_least(record, measured);
        let is_beyond = |least| !self.comparison.holds(least, self.limit);
        self.figure.counts_failures() || self.comparison.is_below() && least.is_some_and(is_beyond)
    }

    /// Why the condition may hold and may not; none where the figure's bounds agree.
    fn undecided(&self, record: &F::Record) -> Option<String> {
        let range = self.figure.range(record, self.figure.measure(record)?)?;
        let holds = |value| self.comparison.holds(value, self.limit);
        (holds(range.least) != holds(range.most)).then_some(range.why)
    }

    /// Whether nothing took place that could have crossed it.
    fn is_met_by_nothing(&self, record: &F::Record) -> bool {
        self.comparison.is_below() && self.figure.had_no_occasion(record)
    }

    /// Why a quantile of few samples tells neither that the condition holds nor that it doesn't.
    fn too_few(&self, record: &F::Record) -> Option<String> {
        let (q, times) = self.figure.tail(record)?;
        let (count, needed) = (times.count(), samples_for(q));
        if count == 0 || count >= needed {
            return None;
        }
        // More samples beyond the limit than the quantile lets expect cross it all the same.
        let beyond = times.count_above(self.limit as u64);
        let is_clear = self.comparison.is_below() && too_many(beyond, count, 1.0 - q);
        let percentile = (q * 1e6).round() / 1e4;
        (!is_clear).then(|| {
            format!(
                "{count} samples are too few for p{percentile}, which needs {needed}; run for \
                 longer, or use a lower percentile"
            )
        })
    }
}

/// Whether `beyond` or more of `count` samples lie beyond a quantile in fewer than one case of
/// twenty, where each does with this chance.
fn too_many(beyond: u64, count: u64, chance: f64) -> bool {
    // So many or fewer, after the binomial distribution; the counts are small.
    let (mut term, mut fewer) = ((1.0 - chance).powf(count as f64), 0.0);
    for n in 0..beyond.min(count) {
        fewer += term;
        term *= (count - n) as f64 / (n + 1) as f64 * chance / (1.0 - chance);
    }
    1.0 - fewer < 0.05
}

impl Threshold {
    /// The share of exchanges that the condition is not about: 0.99 of one on the 99th percentile,
    /// 0.999 of `errors<0.1%`; none of a mean, an end of the distribution or a count. The larger it
    /// is, the more exchanges it takes to judge.
    pub fn quantile(&self) -> Option<f64> {
        let figure = self.figure.whole.0;
        let quantile = match (figure, figure.of_times()) {
            (RunFigure::ErrorShare, _) => 1.0 - self.limit,
            (_, Some(OfTimes::Quantile(quantile))) => quantile,
            _ => return None,
        };
        (quantile > 0.0 && quantile < 1.0).then_some(quantile)
    }

    /// The share of exchanges that have to be slow to break a condition on times: next to none for
    /// a maximum, all for a mean or a minimum.
    pub fn share_that_breaks(&self) -> f64 {
        match self.figure.whole.0.of_times() {
            Some(OfTimes::Max) => 0.0,
            _ => 1.0 - self.quantile().unwrap_or(0.0),
        }
    }

    /// The same condition on times with another limit, in seconds.
    pub fn with_limit_s(&self, limit_s: f64) -> Threshold {
        Threshold {
            limit: limit_s * 1e9,
            ..self.clone()
        }
    }

    /// The limit of a condition on times, in seconds.
    pub fn limit_s(&self) -> Option<f64> {
        self.is_about_times().then_some(self.limit / 1e9)
    }

    /// Why a condition that is met may be broken in truth: what it looks at was cut off by time
    /// limits.
    pub fn cut_off(&self, record: &Record) -> Option<String> {
        let is_below = self.comparison.is_below();
        is_below.then(|| self.figure.bound(record)).flatten()
    }

    /// The step of a workload that it is about; none where it is about the whole run.
    pub fn step(&self) -> Option<&str> {
        self.figure.step()
    }

    /// Whether it says how much may fail.
    pub fn is_about_failures(&self) -> bool {
        self.figure.counts_failures()
    }

    /// Whether it is a condition on times, which a late generator would be part of.
    pub fn is_about_times(&self) -> bool {
        self.figure.whole.0.of_times().is_some()
    }

    /// Whether it is about what is seen inside answers, for which somebody has to look into them.
    pub fn is_about_streams(&self) -> bool {
        self.figure.whole.0.is_of_streams()
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
        let ok = ok || threshold.is_met_by_nothing(record);
        let reason = threshold.figure.void(record);
        let reason = reason.filter(|_| ok || !threshold.is_crossed_all_the_same(record));
        // A lower bound that is too long is too long; one that is short says nothing.
        let below = threshold.comparison.is_below();
        let bound = (ok && below).then(|| threshold.figure.bound(record));
        let reason = reason.or(bound.flatten());
        let reason = reason.or_else(|| threshold.undecided(record));
        let reason = reason.or_else(|| threshold.too_few(record));
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
mod tests;
