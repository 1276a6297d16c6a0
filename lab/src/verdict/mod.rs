//! From figures to sentences: what two subjects' rounds allow to say about them, and what not.
//!
//! A difference is said only if the interval of the ratio leaves out 1 – at a confidence that
//! allows for there being several subjects, and for having looked before – and if it is larger than
//! what matters and than what the baseline seems to differ from itself. A subject that had room
//! left when the generator had none was measured from below only: its verdict is a bound where that
//! bound is itself larger than both, and open everywhere else. `snapshots/words.md` has each
//! combination of these with its word. Every verdict says what it rests on. Pure functions; the
//! words are meant for someone who knows none of this.

mod why;
mod words;

#[cfg(test)]
mod table;
#[cfg(test)]
mod tests;

use load::check::Streamed;
use serde::ser::{SerializeStruct, Serializer};
use serde::{Deserialize, Serialize};
use statistics::quantile::exchanges_min;
use statistics::sequential::Looks;
use statistics::{ALPHA, Pair, ROUNDS_MIN, Ratio, floor, holm};

use crate::sample::Sample;

use why::without;
pub use why::{BUSY, behind, limit};
pub use words::times;
use words::{percent_range, signed_range, times_range, trimmed};

/// What is compared.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, schemars::JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Metric {
    /// Requests a second, in a closed loop: more is better.
    RequestsPerSecond,
    /// The 99th percentile of the response time, in an open loop: less is better.
    ResponseTimeP99,
    /// The 95th percentile of the response time: less is better.
    ResponseTimeP95,
    /// The median response time: less is better.
    ResponseTimeP50,
    /// The mean response time: less is better.
    ResponseTimeMean,
    /// The subject's processor time for each exchange, or each run: less is better.
    ServerCpuPerExchange,
    /// The time that a command takes from its start to its end: less is better.
    Seconds,
    /// The peak of the subject's resident memory: less is better.
    MemoryPeak,
    /// The highest rate that meets the objectives: more is better. It is no figure of a round.
    Capacity,
    /// The requests a second that a generator gets answered, as the server counts: more is better.
    RequestsDriven,
    /// The processor time that a request costs a generator, as the server counts: less is better.
    GeneratorCpuPerExchange,
    /// A figure of the events in answers.
    #[serde(untagged)]
    Streamed(Streamed),
}

impl Metric {
    /// Its figure in one round.
    pub fn of(self, sample: &Sample) -> Option<f64> {
        match self {
            Metric::RequestsPerSecond => Some(sample.requests_per_second),
            Metric::ResponseTimeP99 => sample.p99_us,
            Metric::ResponseTimeP95 => sample.p95_us,
            Metric::ResponseTimeP50 => sample.p50_us,
            Metric::ResponseTimeMean => sample.mean_us,
            Metric::ServerCpuPerExchange => sample.server_cpu_us_per_exchange,
            Metric::Seconds => sample.seconds,
            Metric::MemoryPeak => sample.memory_peak_bytes.map(|bytes| bytes as f64),
            Metric::Capacity => None,
            Metric::RequestsDriven => Some(sample.requests_per_second),
            Metric::GeneratorCpuPerExchange => sample.generator?.cpu_us_per_exchange,
            Metric::Streamed(figure) => sample.streamed.get(&figure).copied(),
        }
    }

    /// How many exchanges a round must have for it, where that is known.
    pub fn exchanges_min(self) -> Option<u64> {
        match self {
            Metric::ResponseTimeP99 => Some(exchanges_min(0.99)),
            Metric::ResponseTimeP95 => Some(exchanges_min(0.95)),
            Metric::ResponseTimeP50
            | Metric::ResponseTimeMean
            | Metric::RequestsPerSecond
            | Metric::ServerCpuPerExchange
            | Metric::Seconds
            | Metric::MemoryPeak
            | Metric::Capacity
            | Metric::RequestsDriven
            | Metric::GeneratorCpuPerExchange
            | Metric::Streamed(_) => None,
        }
    }

    /// Its name, for headings and sentences.
    pub fn name(self) -> &'static str {
        match self {
            Metric::RequestsPerSecond => "requests/s",
            Metric::ResponseTimeP99 => "p99 response time",
            Metric::ResponseTimeP95 => "p95 response time",
            Metric::ResponseTimeP50 => "median response time",
            Metric::ResponseTimeMean => "mean response time",
            Metric::ServerCpuPerExchange => "CPU time per exchange",
            Metric::Seconds => "elapsed time",
            Metric::MemoryPeak => "peak memory",
            Metric::Capacity => "capacity",
            Metric::RequestsDriven => "requests/s",
            Metric::GeneratorCpuPerExchange => "generator CPU time per request",
            Metric::Streamed(figure) => figure.called(),
        }
    }

    /// Whether more of it is better.
    pub fn more_is_better(self) -> bool {
        match self {
            Metric::RequestsPerSecond | Metric::Capacity | Metric::RequestsDriven => true,
            Metric::Streamed(figure) => !figure.is_a_time(),
            Metric::ResponseTimeP99
            | Metric::ResponseTimeP95
            | Metric::ResponseTimeP50
            | Metric::ResponseTimeMean
            | Metric::ServerCpuPerExchange
            | Metric::Seconds
            | Metric::GeneratorCpuPerExchange
            | Metric::MemoryPeak => false,
        }
    }

    /// Whether the generator sees it come, so that it holds the generator's own slowness, too.
    pub fn is_the_generators(self) -> bool {
        match self {
            Metric::ResponseTimeP99
            | Metric::ResponseTimeP95
            | Metric::ResponseTimeP50
            | Metric::ResponseTimeMean
            | Metric::Streamed(_) => true,
            Metric::RequestsPerSecond
            | Metric::ServerCpuPerExchange
            | Metric::Seconds
            | Metric::MemoryPeak
            | Metric::RequestsDriven
            | Metric::GeneratorCpuPerExchange
            | Metric::Capacity => false,
        }
    }
}

/// What can be said, as a word for programs.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, schemars::JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Kind {
    /// This is the subject that the others are compared with.
    Baseline,
    /// This is the baseline once more, which shows how much is noise.
    Noise,
    /// This is our own server, which shows what the generator can do at most.
    Ceiling,
    /// The figure is larger than the baseline's.
    Higher,
    /// The figure is smaller than the baseline's.
    Lower,
    /// The figure is larger than the baseline's at least by the lower end of the interval.
    AtLeast,
    /// The figure is smaller than the baseline's, of which more was possible.
    AtMost,
    /// The interval holds 1.
    NoDifference,
    /// The interval leaves out 1, but the difference is too small to matter, or to be no noise.
    TooSmall,
    /// The generator was the limit in a way that leaves the question open.
    Undecided,
    /// The rounds do not allow a comparison.
    Void,
    /// There is nothing to compare.
    NotMeasured,
}

impl Kind {
    /// Whether a difference is said, in either direction.
    pub fn says_a_difference(self) -> bool {
        matches!(
            self,
            Kind::Higher | Kind::Lower | Kind::AtLeast | Kind::AtMost
        )
    }

    /// The one figure that is said of a ratio: the end that is proven of a bound, else the middle.
    pub fn figure(self, ratio: &Ratio) -> f64 {
        match self {
            Kind::AtLeast => ratio.low,
            Kind::AtMost => ratio.high,
            _ => ratio.centre,
        }
    }
}

/// What can be said about a subject beside the baseline. It's written with its whole sentence.
#[derive(Clone, Debug, PartialEq, Eq, schemars::JsonSchema)]
pub struct Verdict {
    /// As a word for programs.
    pub kind: Kind,
    /// In words for people, without a full stop.
    #[schemars(rename = "sentence")]
    pub says: String,
    /// What that rests on, where it rests on a ratio: rounds, starts, noise.
    #[schemars(skip)]
    pub rests_on: Option<String>,
}

impl Verdict {
    /// A verdict of that kind in these words.
    pub fn new(kind: Kind, says: impl Into<String>) -> Verdict {
        Verdict {
            kind,
            says: says.into(),
            rests_on: None,
        }
    }

    /// All of it as a sentence, with what it rests on in brackets.
    pub fn sentence(&self) -> String {
        let rests_on = self.rests_on.as_ref().map(|what| format!(" ({what})"));
        format!("{}{}", self.says, rests_on.unwrap_or_default())
    }
}

impl Serialize for Verdict {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let mut fields = serializer.serialize_struct("Verdict", 2)?;
        fields.serialize_field("kind", &self.kind)?;
        fields.serialize_field("sentence", &self.sentence())?;
        fields.end()
    }
}

/// One of the two that are compared.
#[derive(Clone, Copy, Debug)]
pub struct Side<'a> {
    /// Its name.
    pub name: &'a str,
    /// Its rounds.
    pub samples: &'a [Sample],
    /// Why its rounds cannot be compared, if so.
    pub spoilt: Option<&'a str>,
}

impl<'a> Side<'a> {
    /// Of a name alone, for figures that are not of rounds.
    pub fn named(name: &'a str) -> Side<'a> {
        Side {
            name,
            samples: &[],
            spoilt: None,
        }
    }
}

/// What a difference is held against.
#[derive(Clone, Copy, Debug, Default)]
pub struct Basis<'a> {
    /// The smallest difference that matters, as a share.
    pub smallest: f64,
    /// What the baseline seems to differ from itself by, as a share: see [`noise_floor`].
    pub floor: Option<f64>,
    /// The looks of a comparison that may end early, and the index of the last that was taken;
    /// none where its length was fixed.
    pub looks: Option<(&'a Looks, usize)>,
    /// Whether the two were measured in sessions of their own. The floor is then that of both, and
    /// the whole interval has to leave it, since a session has no second chance to be like another.
    pub apart: bool,
    /// Decides the resampling.
    pub seed: u64,
}

impl Basis<'_> {
    fn needed(&self) -> f64 {
        self.floor.unwrap_or(0.0).max(self.smallest)
    }

    /// Why a ratio that leaves out 1 is still not called a difference, if it is not: it is smaller
    /// than what matters, or than what may be noise.
    fn too_small(&self, ratio: Ratio) -> Option<String> {
        self.within(match self.apart {
            true => ratio.nearest(),
            false => ratio.effect(),
        })
    }

    /// Why a difference of this size is not called one, if it is not.
    fn within(&self, effect: f64) -> Option<String> {
        if effect > self.needed() {
            return None;
        }
        let percent = trimmed(100.0 * self.needed(), 1);
        Some(match (self.floor > Some(self.smallest), self.apart) {
            (true, false) => format!("the baseline differs from itself by up to {percent} %"),
            (true, true) => {
                format!("two sessions like these differ by up to {percent} % on their own")
            }
            (false, _) => format!("differences below {percent} % don't count"),
        })
    }
}

/// What can be said of one subject and one metric.
#[derive(Clone, Debug, PartialEq, Serialize, schemars::JsonSchema)]
pub struct Judgement {
    /// What was compared.
    pub metric: Metric,
    /// The subject's figure as a multiple of the baseline's.
    pub ratio: Option<Ratio>,
    /// What it means.
    pub verdict: Verdict,
}

/// Judges `subjects` beside the baseline, all by the same metric. They share the error that one
/// comparison may make (Holm's method).
pub fn judge<'a>(
    subjects: &[Side<'a>],
    baseline: Side<'a>,
    metric: Metric,
    basis: &Basis<'a>,
) -> Vec<Judgement> {
    let asked = |subject: &Side<'a>| Asked {
        subject: *subject,
        baseline,
        basis: *basis,
    };
    let asked: Vec<Asked<'a>> = subjects.iter().map(asked).collect();
    judge_each(&asked, metric)
}

/// A subject, what it is compared with, and what their difference is held against.
#[derive(Clone, Copy, Debug)]
pub struct Asked<'a> {
    /// The subject.
    pub subject: Side<'a>,
    /// What it is compared with.
    pub baseline: Side<'a>,
    /// What their difference is held against.
    pub basis: Basis<'a>,
}

/// The same where not all have one baseline: all that is `asked` shares the error.
pub fn judge_each(asked: &[Asked<'_>], metric: Metric) -> Vec<Judgement> {
    let pairs: Vec<Vec<Pair>> = asked
        .iter()
        .map(|one| match one.subject.spoilt.or(one.baseline.spoilt) {
            Some(_) => Vec::new(),
            None => pairs(one.subject, one.baseline, metric),
        })
        .collect();
    let looks = asked.first().and_then(|one| one.basis.looks);
    let at_look = |alpha: f64| match looks {
        Some((looks, index)) => looks.alpha(index, alpha),
        None => alpha,
    };
    // Who has no interval has no chance to be wrong either.
    let p_values: Vec<Option<f64>> = asked
        .iter()
        .zip(&pairs)
        .map(|(one, pairs)| Some(Ratio::of(pairs, 1.0 - ALPHA, one.basis.seed)?.p_value))
        .collect();
    let counted: Vec<f64> = p_values.iter().flatten().copied().collect();
    let mut levels = holm::levels(&counted, ALPHA, at_look).into_iter();
    let with_levels = p_values.iter().zip(asked).zip(&pairs);
    with_levels
        .map(|((p_value, one), pairs)| {
            let (subject, baseline, basis) = (one.subject, one.baseline, &one.basis);
            let level = p_value.and_then(|_| levels.next());
            let ratio = level.and_then(|level| Ratio::of(pairs, 1.0 - level, basis.seed));
            let verdict = match unmeasured(subject, baseline, metric, pairs, ratio) {
                Ok(ratio) => judge_ratio(subject, baseline, metric, ratio, basis),
                Err(verdict) => verdict,
            };
            Judgement {
                metric,
                ratio,
                verdict,
            }
        })
        .collect()
}

/// What the baseline, measured once more as `again`, seems to differ from itself by, as a share.
pub fn noise_floor(again: Side<'_>, baseline: Side<'_>, metric: Metric, seed: u64) -> Option<f64> {
    match again.spoilt.or(baseline.spoilt) {
        Some(_) => None,
        None => floor::floor(&pairs(again, baseline, metric), seed),
    }
}

/// What `again`, the baseline once more, says about noise. It has processes of its own, unless the
/// baseline `ran_before`.
pub fn noise(
    again: Side<'_>,
    baseline: Side<'_>,
    metric: Metric,
    seed: u64,
    ran_before: bool,
) -> Judgement {
    let pairs = pairs(again, baseline, metric);
    let ratio = Ratio::of(&pairs, 1.0 - ALPHA, seed);
    let name = again.name;
    let processes = match ran_before {
        true => "in the same processes",
        false => "with its own processes",
    };
    let sentence = match ratio.zip(noise_floor(again, baseline, metric, seed)) {
        Some((ratio, floor)) => format!(
            "{name} is the baseline measured a second time, {processes}: {} %, so differences \
             up to {} % may be noise",
            signed_range(ratio),
            trimmed(100.0 * floor, 1)
        ),
        None => format!(
            "{name} is the baseline measured a second time, but with too few rounds to show the \
             noise"
        ),
    };
    Judgement {
        metric,
        ratio,
        verdict: Verdict::new(Kind::Noise, sentence),
    }
}

/// The figures of the rounds in which both were measured and that count.
pub fn pairs(subject: Side<'_>, baseline: Side<'_>, metric: Metric) -> Vec<Pair> {
    let figure = |sample: &Sample| match sample.void() {
        Some(_) => None,
        None => metric.of(sample),
    };
    let mut together = Vec::new();
    let pair = |sample: &Sample| {
        let other = baseline
            .samples
            .iter()
            .find(|other| other.round == sample.round)?;
        let (a, b) = figure(sample).zip(figure(other))?;
        // Rows are started together, so two processes are one start as long as both stay the same.
        // After an interruption inside a round, that round is of two processes that were never
        // alive at once: a start of its own.
        let both = (sample.start, other.start);
        let known = together.iter().position(|one| *one == both);
        let start = known.unwrap_or_else(|| {
            together.push(both);
            together.len() - 1
        });
        let start = start as u32 + 1;
        Some(Pair { start, a, b })
    };
    subject.samples.iter().filter_map(pair).collect()
}

/// The ratio, or why nothing can be said.
fn unmeasured(
    subject: Side<'_>,
    baseline: Side<'_>,
    metric: Metric,
    pairs: &[Pair],
    ratio: Option<Ratio>,
) -> Result<Ratio, Verdict> {
    let both = both(subject, baseline);
    for side in [subject, baseline] {
        if let Some(why) = side.spoilt {
            let sentence = format!("void: {both} can't be compared, because {why}");
            return Err(Verdict::new(Kind::Void, sentence));
        }
        if let Some((round, why)) = void_rounds(side) {
            let name = side.name;
            let sentence =
                format!("void: {both} can't be compared, because in round {round} of {name} {why}");
            return Err(Verdict::new(Kind::Void, sentence));
        }
        // What an exchange costs depends on how many there are.
        if metric == Metric::ServerCpuPerExchange
            && let Some(behind) = behind(side)
        {
            let (name, what) = (side.name, metric.name());
            let sentence = format!(
                "void: the {what} of {both} isn't one at the same rate, because {name} didn't \
                 hold it: {behind}"
            );
            return Err(Verdict::new(Kind::Void, sentence));
        }
    }
    ratio.ok_or_else(|| {
        let (found, what) = (pairs.len(), metric.name());
        let why = match found < ROUNDS_MIN {
            true => format!(
                "they have only {found} {} in common, but {ROUNDS_MIN} are needed{}",
                if found == 1 { "round" } else { "rounds" },
                without(metric, [subject, baseline]).unwrap_or_default()
            ),
            false => "a round without it has no ratio".to_owned(),
        };
        let sentence = format!("no interval for the {what} of {both}: {why}");
        Verdict::new(Kind::Void, sentence)
    })
}

fn both(subject: Side<'_>, baseline: Side<'_>) -> String {
    format!("{} and {}", subject.name, baseline.name)
}

/// The first round that counts for nothing, if more than half of them do.
fn void_rounds<'a>(side: Side<'a>) -> Option<(u32, &'a str)> {
    let mut void = side.samples.iter().filter_map(|sample| {
        let why = sample.void()?;
        Some((sample.round, why))
    });
    let count = void.clone().count();
    void.next().filter(|_| 2 * count > side.samples.len())
}

/// Says what a ratio means whose interval has the confidence that it needs.
pub fn judge_ratio(
    subject: Side<'_>,
    baseline: Side<'_>,
    metric: Metric,
    ratio: Ratio,
    basis: &Basis<'_>,
) -> Verdict {
    let bound = match metric {
        Metric::RequestsPerSecond => bounded_rate(subject, baseline, ratio, basis),
        Metric::ResponseTimeP99
        | Metric::ResponseTimeP95
        | Metric::ResponseTimeP50
        | Metric::ResponseTimeMean
        | Metric::Streamed(_) => bounded_time(subject, baseline, metric),
        // What a command takes, and what a subject or a generator costs, is measured whole however
        // busy the generator is; a search for capacities looks at that itself.
        Metric::ServerCpuPerExchange
        | Metric::Seconds
        | Metric::MemoryPeak
        | Metric::Capacity
        | Metric::RequestsDriven
        | Metric::GeneratorCpuPerExchange => None,
    };
    let verdict = bound
        .or_else(|| undistinguished(subject, baseline, metric, ratio, basis))
        .unwrap_or_else(|| difference(subject, baseline, metric, ratio));
    Verdict {
        rests_on: Some(rests_on(ratio, basis)),
        ..verdict
    }
}

/// What is to be said of a rate that the generator bounded, if it did. A bound is said where it
/// leaves 1, what matters and what may be noise. Everywhere else the rate that had room left may be
/// larger by any amount, so not even "no difference" can be said.
fn bounded_rate(
    subject: Side<'_>,
    baseline: Side<'_>,
    ratio: Ratio,
    basis: &Basis<'_>,
) -> Option<Verdict> {
    let both = both(subject, baseline);
    // The side that had room left, and the ratio with its figure on top.
    let (open, other, above, limit) = match (limit(subject), limit(baseline)) {
        (None, None) => return None,
        (Some(_), Some(limit)) => {
            let sentence =
                format!("undecided: the generator was the limit for both {both}: {limit}");
            return Some(Verdict::new(Kind::Undecided, sentence));
        }
        (Some(limit), None) => (subject.name, baseline.name, ratio, limit),
        (None, Some(limit)) => (baseline.name, subject.name, ratio.inverse(), limit),
    };
    let room = format!("{open} might serve more than the generator could ask for: {limit}");
    let undecided = |why: String| Verdict::new(Kind::Undecided, format!("undecided: {why}"));
    if above.high < 1.0 {
        let below = times(above.inverse().high);
        let why = format!("{other} serves at most {below} the requests of {open}, but {room}");
        return Some(undecided(why));
    }
    let range = signed_range(ratio);
    if !above.leaves_out_one() {
        let why = format!("no difference shown between {both}: {range} %, but {room}");
        return Some(undecided(why));
    }
    // What is said of a bound is its end.
    if let Some(small) = basis.within(above.nearest()) {
        let why = format!("{both} differ by {range} %, and {small}, but {room}");
        return Some(undecided(why));
    }
    let sentence = format!(
        "lower bound: {open} serves at least {} the requests of {other}; the generator was the \
         limit: {limit}",
        times(above.low)
    );
    // What is above 1 with the open side on top is the subject's only if that is the subject.
    let kind = match ratio.low > 1.0 {
        true => Kind::AtLeast,
        false => Kind::AtMost,
    };
    Some(Verdict::new(kind, sentence))
}

/// What is to be said of what is also the generator's, if it is.
fn bounded_time(subject: Side<'_>, baseline: Side<'_>, metric: Metric) -> Option<Verdict> {
    [subject, baseline].into_iter().find_map(|side| {
        let (limit, name) = (limit(side)?, side.name);
        let why = match metric {
            Metric::Streamed(Streamed::EventRate) => {
                format!("{name} might send more events than the generator could take")
            }
            _ => format!("the times of {name} include the generator's own delays"),
        };
        let both = both(subject, baseline);
        let sentence = format!("undecided: {both}: {why}: {limit}");
        Some(Verdict::new(Kind::Undecided, sentence))
    })
}

/// The verdict where the rounds do not tell the two apart, or not by enough.
fn undistinguished(
    subject: Side<'_>,
    baseline: Side<'_>,
    metric: Metric,
    ratio: Ratio,
    basis: &Basis<'_>,
) -> Option<Verdict> {
    let range = signed_range(ratio);
    let both = both(subject, baseline);
    // At a fixed rate several figures are judged, and a sentence has to say which one it is about.
    let what = match metric {
        Metric::RequestsPerSecond => String::new(),
        Metric::ResponseTimeP99
        | Metric::ResponseTimeP95
        | Metric::ResponseTimeP50
        | Metric::ResponseTimeMean
        | Metric::Streamed(_)
        | Metric::ServerCpuPerExchange
        | Metric::Seconds
        | Metric::MemoryPeak
        | Metric::Capacity
        | Metric::RequestsDriven
        | Metric::GeneratorCpuPerExchange => format!(" in {}", metric.name()),
    };
    if !ratio.leaves_out_one() {
        let sentence = format!("no difference{what} shown between {both}: {range} %");
        return Some(Verdict::new(Kind::NoDifference, sentence));
    }
    let why = basis.too_small(ratio)?;
    if ratio.low.recip().max(ratio.high) - 1.0 > basis.needed() && basis.apart {
        // It may be larger than that; only that it is was not shown.
        let sentence = format!("no difference{what} shown between {both}: {range} %, and {why}");
        return Some(Verdict::new(Kind::NoDifference, sentence));
    }
    let sentence = format!("no difference{what} that matters between {both}: {range} %, and {why}");
    Some(Verdict::new(Kind::TooSmall, sentence))
}

/// The verdict where they are different.
fn difference(subject: Side<'_>, baseline: Side<'_>, metric: Metric, ratio: Ratio) -> Verdict {
    let higher = ratio.centre >= 1.0;
    let (high, low, above) = match higher {
        true => (subject.name, baseline.name, ratio),
        false => (baseline.name, subject.name, ratio.inverse()),
    };
    let small = above.centre < 1.1;
    let (percent, times) = (percent_range(above), times_range(above));
    let sentence = match metric {
        Metric::RequestsPerSecond => match small {
            true => format!("{high} serves {percent} more requests than {low}"),
            false => format!("{high} serves {times} the requests of {low}"),
        },
        Metric::RequestsDriven => match small {
            true => format!("{high} gets {percent} more requests out of the server than {low}"),
            false => format!("{high} gets {times} the requests of {low} out of the server"),
        },
        Metric::Streamed(Streamed::EventRate) => match small {
            true => format!("{high} sends {percent} more events a second than {low}"),
            false => format!("{high} sends {times} the events of {low} in a second"),
        },
        Metric::Capacity => match small {
            true => format!("{high} holds a rate {percent} higher than {low}"),
            false => format!("{high} holds {times} the rate of {low}"),
        },
        Metric::ResponseTimeP99
        | Metric::ResponseTimeP95
        | Metric::ResponseTimeP50
        | Metric::ResponseTimeMean
        | Metric::Streamed(_)
        | Metric::ServerCpuPerExchange
        | Metric::Seconds
        | Metric::MemoryPeak
        | Metric::GeneratorCpuPerExchange => {
            let name = metric.name();
            match small {
                true => format!("the {name} of {high} is {percent} higher than that of {low}"),
                false => format!("the {name} of {high} is {times} that of {low}"),
            }
        }
    };
    Verdict::new(if higher { Kind::Higher } else { Kind::Lower }, sentence)
}

/// What a verdict rests on, in words.
fn rests_on(ratio: Ratio, basis: &Basis<'_>) -> String {
    let many = |count: usize, one: &str| match count {
        1 => format!("1 {one}"),
        _ => format!("{count} {one}s"),
    };
    let mut words = vec![
        many(ratio.rounds, "round"),
        format!("{} each", many(ratio.starts, "start")),
    ];
    words.push(match basis.floor {
        Some(floor) => {
            let of = if basis.apart { " of both sessions" } else { "" };
            format!("noise floor{of} {} %", trimmed(100.0 * floor, 1))
        }
        None => "noise floor not measured".to_owned(),
    });
    if let Some((looks, index)) = basis.looks {
        words.push(format!("look {} of {}", index + 1, looks.at.len()));
    }
    if (ratio.confidence - (1.0 - ALPHA)).abs() > 1e-4 {
        words.push(match ratio.confidence > 0.9999 {
            true => "confidence interval above 99.99 %".to_owned(),
            false => format!(
                "{} % confidence interval",
                trimmed(100.0 * ratio.confidence, 2)
            ),
        });
    }
    words.join(", ")
}
