//! From what a comparison kept to what that says about a claim. Pure.
//!
//! The rule: a published ratio *holds* where it lies in the interval that was measured, and is
//! *stronger* here where the whole interval is above it. Where the whole interval is below it but
//! the direction is proven, it is *weaker*. Where no difference in that direction is shown and less
//! than half of what was published is possible, it *does not hold*; it is *undecided* where half of
//! it or more and no difference at all are both possible. A difference is proven only beyond what
//! may be noise, and what noise may hide is possible. Where the generator was the limit, what it
//! left open is possible, too: a word is said only if it is right for all of that, and where none
//! is right, the servers' CPU time per exchange has it, which the generator doesn't bound. A row
//! that is missing makes a claim one that cannot be tested here, and rounds that count for nothing
//! make it void. `snapshots/words.md` has the word of every combination.

pub(super) mod arithmetic;
mod calls;
mod commands;
mod errors;
pub(super) mod words;

use std::collections::BTreeMap;

use lab::Kept;
use lab::finding::{Check, Severity};
use lab::judged::Measured;
use lab::manifest::{Outcome, Role, RowFacts, Setup};
use lab::round::Round;
use lab::sample::Sample;
use lab::verdict::{self, Metric, Side};
use statistics::{self, ALPHA, Spread};

use super::file::{Figure, Judge, Order, Pass, Per, Ratio, Test};
use super::little::number;
use super::stated::Multiple;
use super::word::{Word, Words};
use words::Relation;

/// Cores of servers on which posts are written and read differ by less than about this factor: a
/// figure that is further below what was published is not that of another core.
const CORES_APART: f64 = 2.0;

/// What was found about one thing that a claim is judged on.
#[derive(Clone, Debug, PartialEq)]
pub struct Judgement {
    /// As a word.
    pub word: Word,
    /// As a sentence, without the word and without a full stop.
    pub sentence: Words,
    /// What was measured, where that is a number: the multiple or the figure.
    pub measured: Option<Interval>,
    /// What was published in its place; of a range the end that is nearer to 1.
    pub published: Option<f64>,
}

impl Judgement {
    /// A judgement without a number.
    pub fn of(word: Word, sentence: Words) -> Judgement {
        Judgement {
            word,
            sentence,
            measured: None,
            published: None,
        }
    }
}

/// A number with the interval that it was measured to lie in.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Interval {
    /// The lower end.
    pub low: f64,
    /// The middle.
    pub centre: f64,
    /// The upper end.
    pub high: f64,
}

impl Interval {
    fn inverse(self) -> Interval {
        Interval {
            low: self.high.recip(),
            centre: self.centre.recip(),
            high: self.low.recip(),
        }
    }

    /// `3.06 [2.95, 3.17]`.
    pub fn words(self) -> String {
        let [low, centre, high] = [self.low, self.centre, self.high].map(shown);
        format!("{centre} [{low}, {high}]")
    }
}

/// What a claim's comparison left behind.
#[derive(Clone, Copy, Debug)]
pub(super) struct Evidence<'a> {
    /// What was measured.
    pub kept: &'a Kept,
    /// Its rows as they are judged, with what was found about each beside the others.
    pub measured: &'a [Measured<'a>],
    /// What the rows that are timed commands were verified to write, by row.
    pub outputs: &'a BTreeMap<String, String>,
}

/// What the word of a whole claim is: the weakest of those that were found about its parts.
pub(super) fn word(judgements: &[Judgement]) -> Word {
    let words = judgements.iter().map(|judgement| judgement.word);
    words.min().unwrap_or(Word::Void)
}

/// Judges one thing.
pub(super) fn judge(judge: &Judge, evidence: &Evidence<'_>) -> Judgement {
    let result = match judge {
        Judge::Ratio(ratio) => judge_ratio(ratio, evidence),
        Judge::Order(order) => judge_order(order, evidence),
        Judge::Figure(figure) => judge_figure(figure, evidence),
        Judge::Printed(printed) => commands::printed(printed, evidence),
        Judge::Pass(pass) => judge_pass(pass, evidence),
        Judge::Errors(errors) => errors::judge(errors, evidence),
        Judge::Completes(completes) => commands::completes(completes, evidence),
        Judge::SystemCalls(asked) => calls::judge(asked, evidence),
        Judge::Arithmetic(sum) => Ok(arithmetic::judge(sum)),
        Judge::Cannot(why) => Ok(Judgement::of(Word::CannotBeTested, why.clone())),
    };
    result.unwrap_or_else(|judgement| judgement)
}

/// Judges what rests on published figures alone.
pub(super) fn without_records(test: &Test) -> Vec<Judgement> {
    let judges = test.judges.iter();
    judges
        .filter_map(|judge| match judge {
            Judge::Arithmetic(sum) => Some(arithmetic::judge(sum)),
            Judge::Cannot(why) => Some(Judgement::of(Word::CannotBeTested, why.clone())),
            _ => None,
        })
        .collect()
}

/// A row's rounds, if they allow to say anything.
struct Rounds<'a> {
    facts: &'a RowFacts,
    samples: Vec<Sample>,
}

impl<'a> Rounds<'a> {
    /// The row `name`, by its main figure; else the judgement that this makes.
    fn find(name: &str, evidence: &Evidence<'a>) -> Result<Rounds<'a>, Judgement> {
        Rounds::find_by(name, Metric::RequestsPerSecond, evidence)
    }

    /// The same by any figure, which some are taken at an equal rate of.
    fn find_by(
        name: &str,
        metric: Metric,
        evidence: &Evidence<'a>,
    ) -> Result<Rounds<'a>, Judgement> {
        Rounds::find_unless(name, metric, evidence, |sample| sample.void())
    }

    /// The same where failures are what is judged: rounds that only they made void count.
    fn find_with_failures(name: &str, evidence: &Evidence<'a>) -> Result<Rounds<'a>, Judgement> {
        let metric = Metric::RequestsPerSecond;
        Rounds::find_unless(name, metric, evidence, void_but_for_failures)
    }

    fn find_unless(
        name: &str,
        metric: Metric,
        evidence: &Evidence<'a>,
        why_void: fn(&Sample) -> Option<&str>,
    ) -> Result<Rounds<'a>, Judgement> {
        let void = |sentence| Judgement::of(Word::Void, sentence);
        let mut rows = evidence.measured.iter();
        let Some(row) = rows.find(|row| row.facts.name == name) else {
            return Err(void(words::no_row(name)));
        };
        let (facts, samples) = (row.facts, row.side_by(metric).samples.to_vec());
        match &facts.outcome {
            Outcome::Missing { install: why } | Outcome::Cannot { why } => {
                let sentence = words::of_row(name, why.trim_end_matches('.'));
                return Err(Judgement::of(Word::CannotBeTested, sentence));
            }
            Outcome::Failed { what, .. } => {
                return Err(void(words::plain(&format!("{name} {what}"))));
            }
            Outcome::Measured | Outcome::NotReached if samples.is_empty() => {
                return Err(void(words::not_measured(name)));
            }
            Outcome::Measured | Outcome::NotReached => {}
        }
        if let Some(why) = &facts.spoilt {
            return Err(void(words::plain(why)));
        }
        let mut bad = samples.iter().filter_map(why_void);
        let count = bad.clone().count();
        match bad.next() {
            Some(why) if 2 * count > samples.len() => Err(void(words::of_row(name, why))),
            _ => Ok(Rounds { facts, samples }),
        }
    }

    fn side(&self) -> Side<'_> {
        Side {
            name: &self.facts.name,
            samples: &self.samples,
            spoilt: None,
        }
    }

    /// How the generator was the limit, if it was.
    fn limit(&self) -> Option<String> {
        verdict::limit(self.side())
    }
}

/// Why the round counts for nothing, if so, failures of exchanges apart.
fn void_but_for_failures(sample: &Sample) -> Option<&str> {
    let mut findings = sample.findings.iter();
    let void = |check, severity| severity == Severity::Void && check != Check::Errors;
    let found = findings.find(|finding| void(finding.check, finding.severity));
    found.map(|finding| finding.sentence.as_str())
}

/// What is known of a ratio where the generator was the limit for one of the two.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Bound {
    /// It is what was measured.
    Exact,
    /// It is that or more.
    AtLeast,
    /// It is that or less.
    AtMost,
}

impl Bound {
    /// Before the amount.
    fn words(self) -> Words {
        let (en, zh) = match self {
            Bound::Exact => ("", ""),
            Bound::AtLeast => ("at least ", "至少"),
            Bound::AtMost => ("at most ", "至多"),
        };
        Words::new(en, zh)
    }
}

/// The figure of `of` as a multiple of that of `to`.
fn measure(
    metric: Metric,
    of: &str,
    to: &str,
    evidence: &Evidence<'_>,
) -> Result<(Interval, Bound), Judgement> {
    let rounds = |row| Rounds::find_by(row, metric, evidence);
    let (a, b) = (rounds(of)?, rounds(to)?);
    let seed = evidence.kept.manifest.setup.seed;
    let pairs = verdict::pairs(a.side(), b.side(), metric);
    let Some(ratio) = statistics::Ratio::of(&pairs, 1.0 - ALPHA, seed) else {
        return Err(Judgement::of(Word::Void, words::too_few(of, to, metric)));
    };
    let bound = match (a.limit(), b.limit(), metric.more_is_better()) {
        (None, None, _) => Bound::Exact,
        (Some(_), None, true) => Bound::AtLeast,
        (None, Some(_), true) => Bound::AtMost,
        (Some(why), _, false) | (_, Some(why), false) if metric.is_the_generators() => {
            return Err(Judgement::of(Word::Undecided, words::delayed(&why)));
        }
        (_, _, false) => Bound::Exact,
        (Some(why), Some(_), true) => {
            return Err(Judgement::of(
                Word::Undecided,
                words::limited_for_both(&why),
            ));
        }
    };
    let interval = Interval {
        low: ratio.low,
        centre: ratio.centre,
        high: ratio.high,
    };
    Ok((interval, bound))
}

fn judge_ratio(asked: &Ratio, evidence: &Evidence<'_>) -> Result<Judgement, Judgement> {
    let found = judge_ratio_by(asked, asked.metric, evidence);
    let Some(why) = limited_rate(asked.metric, [&asked.of, &asked.to], evidence) else {
        return found;
    };
    let inverse = Ratio {
        published: asked.published.inverse(),
        ..asked.clone()
    };
    let by_cpu = judge_ratio_by(&inverse, Metric::ServerCpuPerExchange, evidence);
    Ok(as_well(found, by_cpu, &why))
}

fn judge_ratio_by(
    asked: &Ratio,
    metric: Metric,
    evidence: &Evidence<'_>,
) -> Result<Judgement, Judgement> {
    let (mut interval, mut bound) = measure(metric, &asked.of, &asked.to, evidence)?;
    let (mut of, mut to, mut published) = (&asked.of, &asked.to, asked.published.clone());
    if published.least < 1.0 {
        // The same claim from the other side: only multiples above 1 are judged below.
        (of, to) = (to, of);
        (interval, published) = (interval.inverse(), published.inverse());
        bound = match bound {
            Bound::Exact => Bound::Exact,
            Bound::AtLeast => Bound::AtMost,
            Bound::AtMost => Bound::AtLeast,
        };
    }
    let least = least(metric, evidence);
    let word = match asked.within {
        Some(within) => equal(interval, bound, within, least),
        None => multiple(interval, bound, &published, least),
    };
    let by = (metric != asked.metric).then_some(asked.metric);
    let mut sentence = words::multiple(metric, (of, to), (bound, interval), &published, by);
    // An interval above 1 that shows no difference needs a word on why.
    if interval.low > 1.0 && interval.centre < 1.0 + least.floor {
        sentence = sentence.with(&words::floor(least.floor));
    }
    Ok(Judgement {
        word,
        sentence,
        measured: Some(interval),
        published: Some(published.least),
    })
}

/// Why requests/s of these rows leave something open, if they do: the generator was the limit. Then
/// the servers' processor time for each exchange, which no generator bounds, is judged as well: a
/// server that needs a third of it can answer three times as much with the same cores.
fn limited_rate(metric: Metric, rows: [&str; 2], evidence: &Evidence<'_>) -> Option<String> {
    if metric != Metric::RequestsPerSecond {
        return None;
    }
    let rounds = rows.map(|row| Rounds::find(row, evidence).ok());
    rounds.iter().flatten().find_map(Rounds::limit)
}

/// What requests/s and CPU time per exchange say together where the generator was the limit:
/// CPU time has the word only where requests/s leave it open.
fn as_well(
    by_rate: Result<Judgement, Judgement>,
    by_cpu: Result<Judgement, Judgement>,
    why: &str,
) -> Judgement {
    let by_rate = by_rate.unwrap_or_else(|judgement| judgement);
    let rate = by_rate.sentence.clone();
    // Where both rows were bounded, the rate's sentence says why already.
    let because = match rate.en.contains(why) {
        true => Words::default(),
        false => words::limited(why),
    };
    let rate = rate.with(&because);
    let cpu = match &by_cpu {
        Ok(found) | Err(found) => found.sentence.clone(),
    };
    let decides = match by_cpu {
        Ok(found) if by_rate.word == Word::Undecided => found,
        _ => by_rate,
    };
    Judgement {
        sentence: Words::joined(&[rate, cpu], words::APART),
        ..decides
    }
}

/// What a difference is held against, as shares.
#[derive(Clone, Copy, Debug)]
struct Least {
    /// The smallest difference that matters.
    smallest: f64,
    /// What the baseline seemed to differ from itself by; 0 where that was not measured.
    floor: f64,
}

impl Least {
    /// A difference is proven only beyond both.
    fn proven(self) -> f64 {
        self.smallest.max(self.floor)
    }
}

fn least(metric: Metric, evidence: &Evidence<'_>) -> Least {
    let Setup {
        seed,
        smallest_difference,
        baseline,
        ..
    } = &evidence.kept.manifest.setup;
    let mut rows = evidence.kept.manifest.rows.iter();
    let again = rows.find(|row| row.role == Role::Again);
    let floor = again.and_then(|row| {
        let again = Rounds::find_by(&row.name, metric, evidence).ok()?;
        let baseline = Rounds::find_by(baseline, metric, evidence).ok()?;
        verdict::noise_floor(again.side(), baseline.side(), metric, *seed)
    });
    Least {
        smallest: *smallest_difference,
        floor: floor.unwrap_or(0.0),
    }
}

/// What a measured multiple says about one above 1 that was published.
fn multiple(measured: Interval, bound: Bound, published: &Multiple, least: Least) -> Word {
    // Noise can hide a difference as well as make one.
    let highest = measured.high.max(measured.centre * (1.0 + least.floor));
    let word = exact_multiple(measured, highest, published, least);
    match (bound, word) {
        (Bound::Exact, word) => word,
        // The truth may be larger by any amount, which makes what holds hold the more.
        (Bound::AtLeast, Word::Stronger | Word::Holds) => word,
        // It may be smaller by any amount: what was too small already is not what was published,
        // and its direction is open.
        (Bound::AtMost, Word::DoesNotHold) => word,
        (Bound::AtMost, Word::Weaker) if highest < published.least => Word::DoesNotHold,
        (Bound::AtLeast | Bound::AtMost, _) => Word::Undecided,
    }
}

/// The same where nothing but rounds and noise stands between what was measured and the truth,
/// which is `highest` at most.
fn exact_multiple(measured: Interval, highest: f64, published: &Multiple, least: Least) -> Word {
    let proven = measured.low > 1.0 && measured.centre >= 1.0 + least.proven();
    // Where as much as half of what was published is possible, as factors go, a better measurement
    // may show that it is weaker, and no more.
    let half = published.least.sqrt();
    match proven {
        false if highest >= half.max(1.0 + least.smallest) => Word::Undecided,
        false => Word::DoesNotHold,
        true if measured.low > published.most => Word::Stronger,
        true if measured.high < published.least => Word::Weaker,
        true => Word::Holds,
    }
}

/// What a measured multiple says about two that were said to be alike.
fn equal(measured: Interval, bound: Bound, within: f64, least: Least) -> Word {
    let (lowest, highest) = (1.0 / (1.0 + within), 1.0 + within);
    let apart = measured.centre.max(measured.centre.recip()) - 1.0;
    // A difference that may be noise is none, and noise of that size shows no two to be alike.
    let (above, below) = (measured.low > highest, measured.high < lowest);
    let alike = lowest <= measured.low && measured.high <= highest && least.floor <= within;
    match bound {
        Bound::Exact if alike => Word::Holds,
        Bound::Exact if (above || below) && apart > least.floor => Word::DoesNotHold,
        Bound::AtLeast if above && apart > least.floor => Word::DoesNotHold,
        Bound::AtMost if below && apart > least.floor => Word::DoesNotHold,
        _ => Word::Undecided,
    }
}

fn judge_order(asked: &Order, evidence: &Evidence<'_>) -> Result<Judgement, Judgement> {
    let mut found = Vec::new();
    for pair in asked.rows.windows(2) {
        let (of, to) = (pair[0].as_str(), pair[1].as_str());
        let by_metric = judge_pair(asked.metric, of, to, evidence);
        found.push(match limited_rate(asked.metric, [of, to], evidence) {
            None => by_metric?,
            Some(why) => as_well(by_metric, pair_by_cpu(of, to, evidence), &why),
        });
    }
    let sentences: Vec<Words> = found.iter().map(|one| one.sentence.clone()).collect();
    let sentence = words::by(asked.metric, &Words::joined(&sentences, words::APART));
    Ok(Judgement::of(word(&found), sentence))
}

/// Whether one row is above another.
fn judge_pair(
    metric: Metric,
    of: &str,
    to: &str,
    evidence: &Evidence<'_>,
) -> Result<Judgement, Judgement> {
    let (interval, bound) = measure(metric, of, to, evidence)?;
    let word = above(interval, bound, least(metric, evidence));
    let relation = match word {
        Word::Holds => Relation::Above,
        Word::Undecided => Relation::NotShown,
        _ if interval.high < 1.0 => Relation::Below,
        _ => Relation::NoDifferent,
    };
    let sentence = words::relation((of, to), relation, (bound, interval));
    Ok(Judgement::of(word, sentence))
}

/// Whether a row that is said to be above another needs less processor time for each exchange.
fn pair_by_cpu(of: &str, to: &str, evidence: &Evidence<'_>) -> Result<Judgement, Judgement> {
    let metric = Metric::ServerCpuPerExchange;
    let (interval, bound) = measure(metric, to, of, evidence)?;
    let sentence = words::cpu((of, to), interval);
    let word = above(interval, bound, least(metric, evidence));
    Ok(Judgement::of(word, sentence))
}

/// What a multiple says about a row that was said to be above another.
fn above(interval: Interval, bound: Bound, least: Least) -> Word {
    match multiple(interval, bound, &1.0.into(), least) {
        Word::Stronger | Word::Weaker => Word::Holds,
        word => word,
    }
}

fn judge_figure(asked: &Figure, evidence: &Evidence<'_>) -> Result<Judgement, Judgement> {
    let rounds = Rounds::find_by(&asked.of, asked.metric, evidence)?;
    let published = asked.published.value;
    let cores = match asked.per {
        Per::Subject => 1,
        Per::Core => evidence.kept.manifest.setup.server_cores.len().max(1),
    };
    let good = rounds
        .samples
        .iter()
        .filter(|sample| sample.void().is_none());
    let figures = good
        .filter_map(|sample| asked.metric.of(sample))
        .map(|figure| figure / cores as f64);
    let Some(found) = Spread::of(figures) else {
        let sentence = words::no_figure(&asked.of, asked.metric);
        return Err(Judgement::of(Word::Void, sentence));
    };
    let (low, high) = (found.lowest, found.highest);
    let interval = Interval {
        low,
        centre: found.median,
        high,
    };
    // What a request costs the server is its own, whatever the generator could do.
    let bounded = asked.metric.more_is_better() || asked.metric.is_the_generators();
    let limited = rounds.limit().filter(|_| bounded);
    let (best, worst) = match asked.metric.more_is_better() {
        true => (high / published, low / published),
        false => (published / low, published / high),
    };
    let word = figure(best, worst, limited.is_some());
    let sentence = words::figure(
        (asked.metric, &asked.of),
        asked.per == Per::Core,
        interval,
        published,
        limited.as_deref(),
    );
    Ok(Judgement {
        word,
        sentence,
        measured: Some(interval),
        published: Some(published),
    })
}

/// What the best and the worst round, as multiples of what was published, say about it. Where the
/// generator was the limit the truth may be better by any amount.
fn figure(best: f64, worst: f64, limited: bool) -> Word {
    match (best >= 1.0, best * CORES_APART >= 1.0) {
        (true, _) if worst > 1.0 => Word::Stronger,
        (true, _) if limited || worst * CORES_APART >= 1.0 => Word::Holds,
        // Rounds on both sides of all that would count: too wide to tell.
        (true, _) => Word::Undecided,
        (false, _) if limited => Word::Undecided,
        (false, true) => Word::Weaker,
        (false, false) => Word::DoesNotHold,
    }
}

fn judge_pass(asked: &Pass, evidence: &Evidence<'_>) -> Result<Judgement, Judgement> {
    let row = asked.of.as_deref().unwrap_or_default();
    let limit = Rounds::find_with_failures(row, evidence)?.limit();
    let rounds = evidence.kept.rounds.iter();
    let counts =
        |round: &&Round| round.row == row && void_but_for_failures(&round.sample).is_none();
    let rounds: Vec<&Round> = rounds.filter(counts).collect();
    let phases = rounds.first().map_or(&[][..], |round| &round.phases);
    if phases.iter().all(|phase| phase.conditions.is_empty()) {
        return Err(Judgement::of(Word::Void, words::no_conditions(row)));
    }
    let mut all = true;
    let mut said = Vec::new();
    for (at, phase) in phases.iter().enumerate() {
        let runs = rounds.iter().filter_map(|round| round.phases.get(at));
        let passed = runs.filter(|run| run.passed()).count();
        // In most of its rounds: one that somebody disturbed is no failure of the subject.
        let passes = 2 * passed > rounds.len();
        all &= passes;
        said.push(words::phase(&phase.name, passes, (passed, rounds.len())));
    }
    let mut sentence = words::phases(row, &said);
    let word = match (all, limit) {
        (true, _) => Word::Holds,
        (false, None) => Word::DoesNotHold,
        (false, Some(why)) => {
            sentence = sentence.with(&words::limited(&why));
            Word::Undecided
        }
    };
    Ok(Judgement::of(word, sentence))
}

/// A number with about three figures.
pub(super) fn shown(value: f64) -> String {
    match value {
        100.0.. => number(value),
        10.0.. => format!("{value:.1}"),
        _ => format!("{value:.2}"),
    }
}

#[cfg(test)]
mod tests;
