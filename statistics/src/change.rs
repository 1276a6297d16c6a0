//! Where a series of figures, one for each session, changed, and by how much.
//!
//! Changes are found by hierarchical bisection with a permutation test, as in E-divisive (Matteson
//! and James, "A nonparametric approach for multiple change point analysis of multivariate data",
//! Journal of the American Statistical Association 109, 2014; for performance in Daly et al., "The
//! use of change point detection to identify software performance regressions", ICPE 2020): the
//! place that divides the series best is kept if fewer than a share `level` of random orders of
//! the same values have one that divides them as well, then the stretches on both sides are
//! divided in the same way.
//!
//! How well a place divides is its rank sum (Wilcoxon's, standardised), the largest of which is
//! Pettitt's test ("A non-parametric approach to the change-point problem", Applied Statistics 28,
//! 1979) with the same weight for every place (Lausen and Schumacher, "Maximally selected rank
//! statistics", Biometrics 48, 1992). The distances of E-divisive itself take one outlier near an
//! end of a long series for a change; among ranks it is one value like any other. The price is
//! that only levels are seen: a series that merely becomes noisier has not changed.
//!
//! By how much is the shift of Hodges and Lehmann with the interval of Mann and Whitney's test
//! (Hollander, Wolfe and Chicken, "Nonparametric Statistical Methods", 2014, §4.3), exact where
//! there are few values. It takes the place as given.
//!
//! What leans instead of stepping is cut into stairs by any such search. Changes in a row and in
//! the same direction are therefore held against a straight line, and are one drift where that is
//! nearer to the values, each stair beyond the first having to pay as three numbers do: its level,
//! and its place, which was searched for (Zhang and Siegmund, "A modified Bayes information
//! criterion with applications to the analysis of comparative genomic hybridization data",
//! Biometrics 63, 2007).

use std::ops::Range;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::distribution::normal_above;
use super::random::Random;
use super::{ALPHA, median};

/// No stretch between two changes has fewer values: two outliers in a row are none.
pub const STRETCH_MIN: usize = 3;

/// Fewer values can't show a change: of seven, one in nine orders divides as well as any can.
pub const VALUES_MIN: usize = 8;

/// How many random orders a test takes at most. No share is smaller than one of so many and one
/// more, so that of up to 250 series each can still be shown to have changed at 5 % for all.
const ORDERS: u32 = 4_999;

/// So many orders that divide as well are enough to stop (Besag and Clifford, "Sequential Monte
/// Carlo p-values", Biometrika 78, 1991).
const AS_GOOD: u32 = 50;

/// What a stair costs beside a straight line.
const NUMBERS_OF_A_STAIR: f64 = 3.0;

/// Up to so many pairs, the distribution of Mann and Whitney's statistic is counted out.
const PAIRS_COUNTED: usize = 400;

/// A change of a series.
#[derive(Clone, Debug, PartialEq)]
pub struct Change {
    /// Whether it came at once.
    pub course: Course,
    /// The values before it, as places in the series; of a drift, its first third.
    pub before: Range<usize>,
    /// The values after it; of a drift, its last third.
    pub after: Range<usize>,
    /// How often values in random order have a change as clear as this, as a share.
    pub p_value: f64,
    /// By how much the values changed.
    pub shift: Shift,
}

/// How a change came.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Course {
    /// From one value to the next.
    Step,
    /// Little by little.
    Drift,
}

/// How much larger one set of values is than another.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Shift {
    /// The median of all differences.
    pub centre: f64,
    /// The lower end of the interval.
    pub low: f64,
    /// The upper end of the interval.
    pub high: f64,
    /// How often such an interval holds the true shift, as a share: below 95 % where there are too
    /// few values for that.
    pub confidence: f64,
}

/// How often values in random order divide as clearly as these do, as a share: 1 where there are
/// fewer than [`VALUES_MIN`] or one is not a number. The same seed gives the same share.
pub fn p_value(values: &[f64], seed: u64) -> f64 {
    if !usable(values) {
        return 1.0;
    }
    let whole = 0..values.len();
    let mut whole = Stretches::of(values, &[whole]);
    match whole.first() {
        Some(best) => whole.share_as_good(best.quality, seed),
        None => 1.0,
    }
}

/// The changes of a series in their order, each as clear as in a share of at most `level` of
/// random orders. None where there are fewer than [`VALUES_MIN`] values or one is not a number.
/// The same seed gives the same changes.
pub fn changes(values: &[f64], level: f64, seed: u64) -> Vec<Change> {
    if !usable(values) {
        return Vec::new();
    }
    let mut found: Vec<Found> = Vec::new();
    loop {
        let between = between(&found, values.len());
        let mut stretches = Stretches::of(values, &between);
        let Some(best) = stretches.first() else { break };
        let p_value = stretches.share_as_good(best.quality, seed);
        if p_value > level {
            break;
        }
        let stretch = between.iter().find(|range| range.contains(&best.at));
        let at = stretch.map_or(best.at, |range| range.start + place(&values[range.clone()]));
        let before = found.partition_point(|one| one.at < at);
        found.insert(before, Found { at, p_value });
    }
    settle(values, &mut found);
    described(values, &found)
}

fn usable(values: &[f64]) -> bool {
    values.len() >= VALUES_MIN && values.iter().all(|value| value.is_finite())
}

/// A place at which a series was divided: that of the first value after it.
#[derive(Clone, Copy, Debug)]
struct Found {
    at: usize,
    p_value: f64,
}

/// The stretches that the places leave of so many values.
fn between(found: &[Found], count: usize) -> Vec<Range<usize>> {
    let starts = std::iter::once(0).chain(found.iter().map(|one| one.at));
    let ends = found.iter().map(|one| one.at).chain([count]);
    starts.zip(ends).map(|(start, end)| start..end).collect()
}

/// Where a stretch is divided best, and how well.
#[derive(Clone, Copy, Debug)]
struct Division {
    at: usize,
    quality: f64,
}

/// The stretches of a series that can be divided, as ranks.
struct Stretches(Vec<(usize, Vec<i64>)>);

impl Stretches {
    fn of(values: &[f64], ranges: &[Range<usize>]) -> Stretches {
        let long = ranges.iter().filter(|range| range.len() >= 2 * STRETCH_MIN);
        let ranked = long.map(|range| (range.start, doubled_ranks(&values[range.clone()])));
        Stretches(ranked.collect())
    }

    /// The best division of all stretches.
    fn first(&self) -> Option<Division> {
        let divided = self.0.iter().filter_map(|(start, ranks)| {
            let best = divided(ranks)?;
            Some(Division {
                at: start + best.at,
                ..best
            })
        });
        divided.max_by(|a, b| a.quality.total_cmp(&b.quality))
    }

    /// How many of random orders within the stretches have a division as good, as a share.
    fn share_as_good(&mut self, quality: f64, seed: u64) -> f64 {
        let mut random = Random::new(seed);
        let mut as_good = 0;
        for order in 1..=ORDERS {
            for (_, ranks) in &mut self.0 {
                random.shuffle(ranks);
            }
            let best = self.first().map_or(0.0, |best| best.quality);
            // Sums of the same ranks in another order differ in no bit, but their squares divided
            // by other lengths may.
            as_good += u32::from(best >= quality * (1.0 - 1e-9));
            if as_good == AS_GOOD {
                return f64::from(AS_GOOD) / f64::from(order);
            }
        }
        f64::from(as_good + 1) / f64::from(ORDERS + 1)
    }
}

/// Twice the rank of each value, so that the mean rank of equal ones is a whole number.
fn doubled_ranks(values: &[f64]) -> Vec<i64> {
    let mut order: Vec<usize> = (0..values.len()).collect();
    order.sort_by(|a, b| values[*a].total_cmp(&values[*b]));
    let mut ranks = vec![0; values.len()];
    let mut below = 0;
    for equal in order.chunk_by(|a, b| values[*a] == values[*b]) {
        let rank = (2 * below + equal.len() + 1) as i64;
        equal.iter().for_each(|at| ranks[*at] = rank);
        below += equal.len();
    }
    ranks
}

/// Where the sum of the ranks is farthest from what it is in a random order, in its standard
/// deviations (squared).
fn divided(ranks: &[i64]) -> Option<Division> {
    let count = ranks.len();
    let mean = count as i64 + 1;
    let mut sum = 0;
    let mut best: Option<Division> = None;
    for (at, rank) in (1..).zip(ranks) {
        sum += rank - mean;
        if at < STRETCH_MIN || at + STRETCH_MIN > count {
            continue;
        }
        let variance = (at * (count - at)) as f64 * mean as f64 / 3.0;
        let quality = (sum as f64).powi(2) / variance;
        if best.is_none_or(|best| quality > best.quality) {
            best = Some(Division { at, quality });
        }
    }
    best
}

/// Looks for each place once more between its neighbours, which weren't known when it was found.
fn settle(values: &[f64], found: &mut [Found]) {
    for at in 0..found.len() {
        let before = at.checked_sub(1).map_or(0, |before| found[before].at);
        let after = found.get(at + 1).map_or(values.len(), |after| after.at);
        found[at].at = before + place(&values[before..after]);
    }
}

/// Where a stretch that has a change is divided: where its values are nearest to the medians of
/// both sides (least absolute deviations). Ranks don't know how far a step is, so that beside a
/// high one, the highest of the values before it would seem to come after it.
fn place(values: &[f64]) -> usize {
    let around = |part: &[f64]| -> f64 {
        let middle = median(part);
        part.iter().map(|value| (value - middle).abs()).sum()
    };
    let left = |at: &usize| around(&values[..*at]) + around(&values[*at..]);
    let places = STRETCH_MIN..=values.len() - STRETCH_MIN;
    let best = places.min_by(|a, b| left(a).total_cmp(&left(b)));
    best.unwrap_or(STRETCH_MIN)
}

/// The changes at these places, those that are one drift together.
fn described(values: &[f64], found: &[Found]) -> Vec<Change> {
    let stretches = between(found, values.len());
    let step = |at: usize| {
        let (before, after) = (stretches[at].clone(), stretches[at + 1].clone());
        change(values, Course::Step, before, after, found[at].p_value)
    };
    let steps: Vec<Change> = (0..found.len()).map(step).collect();
    let same_way = |a: &Change, b: &Change| a.shift.centre * b.shift.centre > 0.0;
    let runs = steps.chunk_by(same_way);
    runs.flat_map(|run| match drift(values, run) {
        Some(drift) => vec![drift],
        None => run.to_vec(),
    })
    .collect()
}

/// The drift that steps in the same direction are, if a straight line is nearer to the values.
fn drift(values: &[f64], run: &[Change]) -> Option<Change> {
    let span = run.first()?.before.start..run.last()?.after.end;
    let ranks = doubled_ranks(&values[span.clone()]);
    let ranks: Vec<f64> = ranks.into_iter().map(|rank| rank as f64).collect();
    let levels = std::iter::once(&run[0].before).chain(run.iter().map(|step| &step.after));
    let around_levels: f64 = levels
        .map(|range| &ranks[range.start - span.start..range.end - span.start])
        .map(around_mean)
        .sum();
    let count = ranks.len() as f64;
    let more_numbers = NUMBERS_OF_A_STAIR * (run.len() - 1) as f64;
    let gain = count * (around_line(&ranks).max(1e-9) / around_levels.max(1e-9)).ln();
    if gain >= more_numbers * count.ln() {
        return None;
    }
    let third = (span.len() / 3).max(1);
    let (before, after) = (span.start..span.start + third, span.end - third..span.end);
    let p_value = run.iter().map(|step| step.p_value).fold(1.0, f64::min);
    Some(change(values, Course::Drift, before, after, p_value))
}

/// The squares of what is left around the mean.
fn around_mean(values: &[f64]) -> f64 {
    let mean = super::mean(values);
    values.iter().map(|value| (value - mean).powi(2)).sum()
}

/// The squares of what is left around the straight line that fits best.
fn around_line(values: &[f64]) -> f64 {
    let middle = (values.len() as f64 - 1.0) / 2.0;
    let mean = super::mean(values);
    let places = || (0..values.len()).map(|at| at as f64 - middle);
    let along: f64 = places().map(|x| x * x).sum();
    let both: f64 = places().zip(values).map(|(x, y)| x * (y - mean)).sum();
    around_mean(values) - both * both / along
}

fn change(
    values: &[f64],
    course: Course,
    before: Range<usize>,
    after: Range<usize>,
    p_value: f64,
) -> Change {
    Change {
        course,
        shift: shift(&values[before.clone()], &values[after.clone()]),
        before,
        after,
        p_value,
    }
}

/// By how much the values `after` are larger than those `before`; both have one at least.
fn shift(before: &[f64], after: &[f64]) -> Shift {
    let mut differences: Vec<f64> = after
        .iter()
        .flat_map(|b| before.iter().map(move |a| b - a))
        .collect();
    differences.sort_unstable_by(f64::total_cmp);
    let (left_out, confidence) = left_out(before.len(), after.len());
    Shift {
        centre: median(&differences),
        low: differences[left_out],
        high: differences[differences.len() - 1 - left_out],
        confidence,
    }
}

/// How many of the ordered differences lie outside of the interval at each end, and how sure that
/// interval is.
fn left_out(n: usize, m: usize) -> (usize, f64) {
    let pairs = n * m;
    if pairs > PAIRS_COUNTED {
        let deviation = (pairs as f64 * (n + m + 1) as f64 / 12.0).sqrt();
        let place = (pairs as f64 - 1.0) / 2.0 - normal_above(ALPHA / 2.0) * deviation;
        return (place.floor().max(0.0) as usize, 1.0 - ALPHA);
    }
    let counts = orders_by_pairs(n, m);
    let all: f64 = counts.iter().sum();
    let (mut below, mut outside) = (0, counts[0]);
    while 2.0 * (outside + counts[below + 1]) <= ALPHA * all {
        below += 1;
        outside += counts[below];
    }
    (below, 1.0 - 2.0 * outside / all)
}

/// In how many orders of `n` and `m` values so many pairs are the wrong way round, from none to
/// all: the coefficients of the Gaussian binomial.
fn orders_by_pairs(n: usize, m: usize) -> Vec<f64> {
    let mut counts = vec![0.0; n * m + 1];
    counts[0] = 1.0;
    for factor in 1..=n {
        for at in (m + factor..counts.len()).rev() {
            counts[at] -= counts[at - m - factor];
        }
        for at in factor..counts.len() {
            counts[at] += counts[at - factor];
        }
    }
    counts
}

#[cfg(test)]
mod tests;
