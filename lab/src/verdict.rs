//! From figures to sentences: what two subjects' rounds allow to say about them, and what not.
//!
//! "Faster" is said only if the interval of the ratio leaves out 1 and the difference is one that
//! matters. A subject that had room left when the generator had none was measured from below only,
//! and its verdict is a bound. Pure functions; the words are meant for someone who knows none of
//! this.

use serde::{Deserialize, Serialize};

use crate::sample::Sample;
use crate::statistics::{ALPHA, Pair, ROUNDS_MIN, Ratio};

/// What is compared.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Metric {
    /// Requests a second, in a closed loop: more is better.
    RequestsPerSecond,
    /// The 99th percentile of the response time, in an open loop: less is better.
    ResponseTimeP99,
    /// The mean response time: less is better.
    ResponseTimeMean,
    /// The median response time: less is better.
    ResponseTimeP50,
    /// The subject's processor time for each exchange, or each run: less is better.
    ServerCpuPerExchange,
    /// The peak of the subject's resident memory: less is better.
    MemoryPeak,
    /// The time that a command takes from its start to its end: less is better.
    Seconds,
}

impl Metric {
    /// Its figure in one round.
    pub fn of(self, sample: &Sample) -> Option<f64> {
        match self {
            Metric::RequestsPerSecond => Some(sample.requests_per_second),
            Metric::ResponseTimeP99 => sample.p99_us,
            Metric::ResponseTimeMean => sample.mean_us,
            Metric::ResponseTimeP50 => sample.p50_us,
            Metric::ServerCpuPerExchange => sample.server_cpu_us_per_exchange,
            Metric::MemoryPeak => sample.memory_peak_bytes.map(|bytes| bytes as f64),
            Metric::Seconds => sample.seconds,
        }
    }

    /// Whether it is a time that the generator takes, which counts its own slowness, too.
    pub(crate) fn is_time(self) -> bool {
        matches!(
            self,
            Metric::ResponseTimeP99 | Metric::ResponseTimeMean | Metric::ResponseTimeP50
        )
    }

    /// Its name, for headings.
    pub fn name(self) -> &'static str {
        match self {
            Metric::RequestsPerSecond => "requests/s",
            Metric::ResponseTimeP99 => "response time p99",
            Metric::ResponseTimeMean => "mean response time",
            Metric::ResponseTimeP50 => "median response time",
            Metric::ServerCpuPerExchange => "processor time per exchange",
            Metric::MemoryPeak => "peak memory",
            Metric::Seconds => "time from start to end",
        }
    }
}

/// What can be said, as a word for programs.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Kind {
    /// This is the subject that the others are compared with.
    Baseline,
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
    /// The interval leaves out 1, but the difference is too small to matter.
    TooSmall,
    /// The generator was the limit in a way that leaves the question open.
    Undecided,
    /// The rounds do not allow a comparison.
    Void,
    /// There is nothing to compare.
    NotMeasured,
}

/// What can be said about a subject beside the baseline.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Verdict {
    /// As a word for programs.
    pub kind: Kind,
    /// As a sentence for people.
    pub sentence: String,
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

/// The ratio of `subject` to `baseline` over the rounds in which both were measured.
pub fn ratio(subject: Side<'_>, baseline: Side<'_>, metric: Metric, seed: u64) -> Option<Ratio> {
    if subject.spoilt.or(baseline.spoilt).is_some() {
        return None;
    }
    Ratio::of(&pairs(subject, baseline, metric), 1.0 - ALPHA, seed)
}

fn pairs(subject: Side<'_>, baseline: Side<'_>, metric: Metric) -> Vec<Pair> {
    let figure = |sample: &Sample| match sample.void() {
        Some(_) => None,
        None => metric.of(sample),
    };
    let pair = |sample: &Sample| {
        let other = baseline
            .samples
            .iter()
            .find(|other| other.round == sample.round)?;
        let (a, b) = figure(sample).zip(figure(other))?;
        Some(Pair { start: 1, a, b })
    };
    subject.samples.iter().filter_map(pair).collect()
}

/// Says what `ratio` means. `smallest` is the smallest difference that matters, as a share.
pub fn judge(
    subject: Side<'_>,
    baseline: Side<'_>,
    metric: Metric,
    ratio: Option<Ratio>,
    smallest: f64,
) -> Verdict {
    let verdict = |kind, sentence| Verdict { kind, sentence };
    for side in [subject, baseline] {
        if let Some(why) = side.spoilt {
            return verdict(
                Kind::Void,
                format!("void: {}, because {why}", both(subject, baseline)),
            );
        }
        if let Some((round, why)) = void_rounds(side) {
            let sentence = format!(
                "void: {}, because in round {round} of {} {why}",
                both(subject, baseline),
                side.name
            );
            return verdict(Kind::Void, sentence);
        }
    }
    let Some(ratio) = ratio else {
        let found = pairs(subject, baseline, metric).len();
        let sentence = format!(
            "no interval: {} have {found} rounds in common, and {ROUNDS_MIN} are needed",
            both(subject, baseline)
        );
        return verdict(Kind::Void, sentence);
    };
    match metric {
        Metric::RequestsPerSecond => judge_rate(subject, baseline, ratio, smallest),
        _ => judge_cost(subject, baseline, metric, ratio, smallest),
    }
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

fn judge_rate(subject: Side<'_>, baseline: Side<'_>, ratio: Ratio, smallest: f64) -> Verdict {
    let verdict = |kind, sentence| Verdict { kind, sentence };
    let (limited, baseline_limited) = (limit(subject), limit(baseline));
    if let (Some(_), Some(limit)) = (&limited, &baseline_limited) {
        let both = both(subject, baseline);
        let sentence = format!("undecided: the generator was the limit for both {both} ({limit})");
        return verdict(Kind::Undecided, sentence);
    }
    let higher = ratio.centre >= 1.0;
    let (fast, slow, above) = match higher {
        true => (subject, baseline, ratio),
        false => (baseline, subject, ratio.inverse()),
    };
    let (fast_limit, slow_limit) = match higher {
        true => (limited, baseline_limited),
        false => (baseline_limited, limited),
    };
    if let Some(limit) = slow_limit {
        let sentence = format!(
            "undecided: {} serves at most {} the requests of {}, but {} had room left when the \
             generator had none ({limit})",
            fast.name,
            times(above.high),
            slow.name,
            slow.name
        );
        return verdict(Kind::Undecided, sentence);
    }
    if above.low > 1.0
        && let Some(limit) = fast_limit
    {
        let sentence = format!(
            "lower bound: {} serves at least {} the requests of {}; the generator was the limit \
             ({limit})",
            fast.name,
            times(above.low),
            slow.name
        );
        return verdict(if higher { Kind::AtLeast } else { Kind::AtMost }, sentence);
    }
    if let Some(plain) = undistinguished(subject, baseline, ratio, smallest) {
        return plain;
    }
    let sentence = match above.centre < 1.1 {
        true => format!(
            "{} serves {} more requests than {}",
            fast.name,
            percent_range(above),
            slow.name
        ),
        false => format!(
            "{} serves {} the requests of {}",
            fast.name,
            times_range(above),
            slow.name
        ),
    };
    verdict(if higher { Kind::Higher } else { Kind::Lower }, sentence)
}

fn judge_cost(
    subject: Side<'_>,
    baseline: Side<'_>,
    metric: Metric,
    ratio: Ratio,
    smallest: f64,
) -> Verdict {
    for side in [subject, baseline] {
        if let Some(limit) = limit(side).filter(|_| metric.is_time()) {
            return Verdict {
                kind: Kind::Undecided,
                sentence: format!(
                    "undecided: {}: the times of {} are also the generator's ({limit})",
                    both(subject, baseline),
                    side.name
                ),
            };
        }
    }
    if let Some(plain) = undistinguished(subject, baseline, ratio, smallest) {
        return plain;
    }
    let higher = ratio.centre >= 1.0;
    let (slow, quick, above) = match higher {
        true => (subject, baseline, ratio),
        false => (baseline, subject, ratio.inverse()),
    };
    let size = match above.centre < 1.1 {
        true => format!("is {} larger than", percent_range(above)),
        false => format!("is {}", times_range(above)),
    };
    let (what, when) = match metric {
        Metric::ResponseTimeP99 => ("p99 response time", " at this rate"),
        _ => (metric.name(), ""),
    };
    Verdict {
        kind: if higher { Kind::Higher } else { Kind::Lower },
        sentence: format!(
            "the {what} of {} {size} that of {}{when}",
            slow.name, quick.name
        ),
    }
}

/// The verdict where the rounds do not tell the two apart, or not by enough.
fn undistinguished(
    subject: Side<'_>,
    baseline: Side<'_>,
    ratio: Ratio,
    smallest: f64,
) -> Option<Verdict> {
    let range = format!(
        "{} … {}",
        signed_percent(ratio.low),
        signed_percent(ratio.high)
    );
    let both = both(subject, baseline);
    if ratio.low <= 1.0 && 1.0 <= ratio.high {
        return Some(Verdict {
            kind: Kind::NoDifference,
            sentence: format!("no difference shown between {both} ({range} %)"),
        });
    }
    ((ratio.centre - 1.0).abs() < smallest).then(|| Verdict {
        kind: Kind::TooSmall,
        sentence: format!(
            "no difference that matters between {both} ({range} %; less than {} % is not called \
             faster)",
            trimmed(100.0 * smallest, 1)
        ),
    })
}

/// How the generator was the limit for a subject, if it was in more than half of its rounds.
pub fn limit(side: Side<'_>) -> Option<String> {
    let limited: Vec<&Sample> = side
        .samples
        .iter()
        .filter(|sample| sample.bound().is_some())
        .collect();
    if 2 * limited.len() <= side.samples.len() {
        return None;
    }
    let sample = limited.get(limited.len() / 2)?;
    let server = format!("the server's was {:.0} %", 100.0 * sample.server_busy);
    Some(match (sample.generator_busy, sample.bound()) {
        (Some(busy), _) if busy >= 0.9 => {
            format!("its core was {:.0} % busy while {server}", 100.0 * busy)
        }
        (_, Some(reason)) => {
            let busy = 100.0 * sample.server_busy;
            format!(
                "{}; the server's core was {busy:.0} % busy",
                reason.trim_end_matches('.')
            )
        }
        (_, None) => format!("no reason given; {server} busy"),
    })
}

/// `3.1 ×`, with as many digits as a figure of that size deserves.
fn times(ratio: f64) -> String {
    format!("{} ×", trimmed(ratio, decimals(ratio)))
}

fn times_range(ratio: Ratio) -> String {
    let decimals = decimals(ratio.centre);
    let (low, high) = (trimmed(ratio.low, decimals), trimmed(ratio.high, decimals));
    match low == high {
        true => format!("{low} ×"),
        false => format!("{low}–{high} ×"),
    }
}

fn decimals(ratio: f64) -> usize {
    match ratio {
        100.0.. => 0,
        10.0.. => 1,
        _ => 2,
    }
}

fn percent_range(ratio: Ratio) -> String {
    let percent = |ratio: f64| format!("{:.1}", 100.0 * (ratio - 1.0));
    match (percent(ratio.low), percent(ratio.high)) {
        (low, high) if low == high => format!("{low} %"),
        (low, high) => format!("{low}–{high} %"),
    }
}

/// `+1.2` or `−0.8`: the percent by which a ratio differs from 1.
fn signed_percent(ratio: f64) -> String {
    let percent = 100.0 * (ratio - 1.0);
    match percent < 0.0 {
        true => format!("−{:.1}", -percent),
        false => format!("+{percent:.1}"),
    }
}

fn trimmed(number: f64, decimals: usize) -> String {
    let text = format!("{number:.decimals$}");
    match text.contains('.') {
        true => text.trim_end_matches('0').trim_end_matches('.').to_owned(),
        false => text,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::finding::{Check, Finding, Severity};

    fn found(severity: Severity, sentence: &str) -> Finding {
        Finding {
            check: Check::Errors,
            severity,
            sentence: sentence.to_owned(),
        }
    }

    /// Rounds with these rates; the server is full and the generator is not.
    fn rounds(rates: &[f64]) -> Vec<Sample> {
        let sample = |(index, rate): (usize, &f64)| Sample {
            round: index as u32 + 1,
            requests_per_second: *rate,
            p99_us: Some(1e9 / rate),
            server_busy: 0.99,
            generator_busy: Some(0.5),
            completed: 1000,
            ..Sample::default()
        };
        rates.iter().enumerate().map(sample).collect()
    }

    fn generator_limited(mut samples: Vec<Sample>) -> Vec<Sample> {
        for sample in &mut samples {
            sample.findings = vec![found(Severity::Bound, "its worker was busy")];
            sample.server_busy = 0.79;
            sample.generator_busy = Some(0.99);
        }
        samples
    }

    fn verdict(subject: &[Sample], baseline: &[Sample], metric: Metric) -> Verdict {
        let side = |name, samples| Side {
            name,
            samples,
            spoilt: None,
        };
        let (subject, baseline) = (side("new", subject), side("old", baseline));
        let ratio = ratio(subject, baseline, metric, 1);
        judge(subject, baseline, metric, ratio, 0.02)
    }

    const OLD: [f64; 7] = [100.0, 101.0, 99.0, 100.0, 102.0, 98.0, 100.0];

    fn scaled(by: f64) -> Vec<Sample> {
        let noise = [1.01, 0.99, 1.0, 1.02, 0.98, 1.0, 1.0];
        let rates: Vec<f64> = OLD
            .iter()
            .zip(noise)
            .map(|(rate, noise)| rate * by * noise)
            .collect();
        rounds(&rates)
    }

    #[test]
    fn a_large_difference_is_said_in_times_with_the_faster_one_first() {
        let faster = verdict(&scaled(3.2), &rounds(&OLD), Metric::RequestsPerSecond);
        assert_eq!(faster.kind, Kind::Higher);
        assert_eq!(
            faster.sentence,
            "new serves 3.16–3.24 × the requests of old"
        );
        let slower = verdict(&scaled(0.25), &rounds(&OLD), Metric::RequestsPerSecond);
        assert_eq!(slower.kind, Kind::Lower);
        assert!(
            slower.sentence.starts_with("old serves 3.9"),
            "{}",
            slower.sentence
        );
    }

    #[test]
    fn a_difference_below_a_tenth_is_said_in_percent() {
        let verdict = verdict(&scaled(1.06), &rounds(&OLD), Metric::RequestsPerSecond);
        assert_eq!(verdict.kind, Kind::Higher);
        assert!(
            verdict.sentence.contains("% more requests than old"),
            "{}",
            verdict.sentence
        );
    }

    #[test]
    fn the_same_twice_is_no_difference() {
        let verdict = verdict(&scaled(1.0), &rounds(&OLD), Metric::RequestsPerSecond);
        assert_eq!(verdict.kind, Kind::NoDifference);
        assert_eq!(
            verdict.sentence,
            "no difference shown between new and old (−1.1 … +1.1 %)"
        );
    }

    #[test]
    fn a_sure_difference_that_is_too_small_is_not_called_faster() {
        let rates: Vec<f64> = OLD.iter().map(|rate| rate * 1.01).collect();
        let verdict = verdict(&rounds(&rates), &rounds(&OLD), Metric::RequestsPerSecond);
        assert_eq!(verdict.kind, Kind::TooSmall);
        assert!(
            verdict.sentence.contains("less than 2 %"),
            "{}",
            verdict.sentence
        );
    }

    #[test]
    fn a_generator_at_its_limit_makes_a_bound() {
        let new = generator_limited(scaled(3.2));
        let bound = verdict(&new, &rounds(&OLD), Metric::RequestsPerSecond);
        assert_eq!(bound.kind, Kind::AtLeast);
        assert_eq!(
            bound.sentence,
            "lower bound: new serves at least 3.16 × the requests of old; the generator was the \
             limit (its core was 99 % busy while the server's was 79 %)"
        );
        let old = generator_limited(rounds(&OLD));
        let open = verdict(&scaled(3.2), &old, Metric::RequestsPerSecond);
        assert_eq!(open.kind, Kind::Undecided);
        let both = verdict(&new, &old, Metric::RequestsPerSecond);
        assert_eq!(both.kind, Kind::Undecided);
        assert!(
            both.sentence.contains("the limit for both new and old"),
            "{}",
            both.sentence
        );
    }

    #[test]
    fn at_a_fixed_rate_the_response_times_are_compared() {
        let longer = verdict(&scaled(0.5), &rounds(&OLD), Metric::ResponseTimeP99);
        assert_eq!(longer.kind, Kind::Higher);
        assert!(
            longer
                .sentence
                .starts_with("the p99 response time of new is 1.9"),
            "{}",
            longer.sentence
        );
    }

    #[test]
    fn rounds_that_count_for_nothing_are_left_out_or_void_the_whole() {
        let mut new = scaled(3.2);
        new[2].findings = vec![found(Severity::Void, "no exchange completed")];
        let one = verdict(&new, &rounds(&OLD), Metric::RequestsPerSecond);
        assert_eq!(one.kind, Kind::Higher);
        for sample in &mut new[..4] {
            let why = "no exchange completed (refused 3)";
            sample.findings = vec![found(Severity::Void, why)];
        }
        let most = verdict(&new, &rounds(&OLD), Metric::RequestsPerSecond);
        assert_eq!(most.kind, Kind::Void);
        assert_eq!(
            most.sentence,
            "void: new and old, because in round 1 of new no exchange completed (refused 3)"
        );
    }

    #[test]
    fn two_rounds_are_too_few() {
        let verdict = verdict(
            &rounds(&OLD[..2]),
            &rounds(&OLD[..2]),
            Metric::RequestsPerSecond,
        );
        assert_eq!(verdict.kind, Kind::Void);
        assert!(
            verdict.sentence.contains("2 rounds in common"),
            "{}",
            verdict.sentence
        );
    }
}
