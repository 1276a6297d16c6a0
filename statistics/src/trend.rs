//! Whether something grows over time, by how much at least and at most, and how small a growth
//! would have been missed.
//!
//! The slope is the median of the slopes between all pairs of points (Theil 1950; Sen, "Estimates
//! of the regression coefficient based on Kendall's tau", JASA 63, 1968): it takes no form of noise
//! for granted, and a quarter of the points may be wrong. Its interval is Sen's, from the
//! distribution of Kendall's S.
//!
//! Readings that follow each other aren't independent: a heap fills and is collected, a disturbance
//! lasts. So readings are first joined to at most [`BLOCKS`] blocks, each the median of what is in
//! it, and the variance of S is stretched by what is left of the dependence between neighbours
//! (Hamed and Rao, "A modified Mann-Kendall trend test for autocorrelated data", Journal of
//! Hydrology 204, 1998; for a process of first order, Yue and Wang, Water Resources Management 18,
//! 2004). Where they depend on each other so much that a walk at random may look like that, the
//! slope is that of a walk with a drift: the mean of its steps, with Student's interval.
//!
//! Where the readings fall into stretches that can't be compared, such as those before and after a
//! restart, pairs are taken inside stretches only, and S and its variance are added up (Hirsch,
//! Slack and Smith, "Techniques of trend analysis for monthly water quality data", Water Resources
//! Research 18, 1982).

use serde::{Deserialize, Serialize};

use crate::distribution::{normal_above, student_quantile};
use crate::{mean, median, variance};

/// Readings are joined to so many blocks at most. More would depend on each other more, and say no
/// more.
pub const BLOCKS: usize = 60;

/// Of fewer readings no slope is told.
pub const READINGS_MIN: usize = 8;

/// Where neighbours depend on each other more than this, what they were a moment ago is taken for
/// all that is known of them, as of a walk at random: see [`drift`].
const DEPENDENCE_MAX: f64 = 0.7;

/// Steps between averages of a walk vary by so much less than those of the walk in as much time
/// (Working, "Note on the correlation of first differences of averages in a random chain",
/// Econometrica 28, 1960).
const AVERAGED: f64 = 1.5;

/// How fast something grows: an amount in a unit of time.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize, schemars::JsonSchema)]
pub struct Slope {
    /// The median of the slopes between all pairs of blocks.
    pub slope: f64,
    /// The lowest that agrees with the readings.
    pub low: f64,
    /// The highest.
    pub high: f64,
    /// How many blocks it's made of.
    pub blocks: usize,
    /// How much a block depends on its neighbour: 0 not at all, 1 altogether.
    pub dependence: f64,
}

/// The slope of readings (time and amount) in stretches that are compared with nothing but
/// themselves, with an interval that misses the truth in a share `alpha` of cases. An amount is
/// known to `step`: a growth by less is seen by nobody. None where there are too few readings to
/// tell one.
pub fn slope(stretches: &[Vec<(f64, f64)>], alpha: f64, step: f64) -> Option<Slope> {
    let readings: usize = stretches.iter().map(Vec::len).sum();
    if readings < READINGS_MIN {
        return None;
    }
    let stretches = joined(stretches);
    let mut slopes = between(&stretches);
    slopes.sort_unstable_by(f64::total_cmp);
    let slope = (!slopes.is_empty()).then(|| median(&slopes))?;
    let dependence = dependence(&stretches, slope);
    let spans = stretches.iter().map(|one| span(one));
    let unseen = step / spans.fold(0.0, f64::max);
    let (slope, low, high) = match ends(&slopes, &stretches, dependence, alpha) {
        Some((low, high)) => (slope, low, high),
        None => {
            let (slope, reach) = drift(&stretches, alpha)?;
            (slope, slope - reach, slope + reach)
        }
    };
    Some(Slope {
        slope,
        low: low - unseen,
        high: high + unseen,
        blocks: stretches.iter().map(Vec::len).sum(),
        dependence,
    })
}

/// Sen's interval out of the slopes of all pairs, in their order; none where neighbours depend on
/// each other too much for it.
fn ends(
    slopes: &[f64],
    stretches: &[Vec<(f64, f64)>],
    dependence: f64,
    alpha: f64,
) -> Option<(f64, f64)> {
    if dependence > DEPENDENCE_MAX {
        return None;
    }
    let variance: f64 = stretches.iter().map(|one| of_s(one.len())).sum();
    let stretched = variance * (1.0 + dependence) / (1.0 - dependence);
    let reach = normal_above(alpha / 2.0) * stretched.sqrt();
    let below = ((slopes.len() as f64 - reach) / 2.0).floor();
    if below < 1.0 {
        return None;
    }
    let below = below as usize;
    Some((slopes[below - 1], slopes[slopes.len() - below]))
}

/// The slope of a walk at random with a drift, and how far the truth may be from it: the mean step
/// from block to block, as sure as independent steps make it. Of what isn't such a walk, steps make
/// up for each other, and it's surer than that.
fn drift(stretches: &[Vec<(f64, f64)>], alpha: f64) -> Option<(f64, f64)> {
    let steps = || stretches.iter().flat_map(|points| points.windows(2));
    let lengths: Vec<f64> = steps().map(|pair| pair[1].0 - pair[0].0).collect();
    let steps: Vec<f64> = steps().map(|pair| pair[1].1 - pair[0].1).collect();
    if steps.len() < READINGS_MIN - 1 {
        return None;
    }
    let count = steps.len() as f64;
    let reach = student_quantile(alpha, count - 1.0) * (AVERAGED * variance(&steps) / count).sqrt();
    let length = mean(&lengths);
    Some((mean(&steps) / length, reach / length))
}

/// The slope alone, however uncertain it is; none where there are no two readings to compare.
pub fn middle(stretches: &[Vec<(f64, f64)>]) -> Option<f64> {
    let slopes = between(&joined(stretches));
    (!slopes.is_empty()).then(|| median(&slopes))
}

/// Stretches of blocks, of those that have two.
fn joined(stretches: &[Vec<(f64, f64)>]) -> Vec<Vec<(f64, f64)>> {
    let readings: usize = stretches.iter().map(Vec::len).sum();
    let length = readings.div_ceil(BLOCKS).max(1);
    let stretches = stretches.iter().map(|stretch| blocks(stretch, length));
    stretches.filter(|stretch| stretch.len() > 1).collect()
}

/// Each so many readings as one: the medians of their times and of their amounts. What is left over
/// at the end is a block if it's half of one.
fn blocks(readings: &[(f64, f64)], length: usize) -> Vec<(f64, f64)> {
    let middle = |part: &[(f64, f64)]| {
        let times: Vec<f64> = part.iter().map(|(time, _)| *time).collect();
        let amounts: Vec<f64> = part.iter().map(|(_, amount)| *amount).collect();
        (median(&times), median(&amounts))
    };
    let parts = readings.chunks(length);
    let whole = parts.filter(|part| 2 * part.len() >= length);
    whole.map(middle).collect()
}

/// The slopes of all pairs inside each stretch.
fn between(stretches: &[Vec<(f64, f64)>]) -> Vec<f64> {
    let mut slopes = Vec::new();
    for points in stretches {
        for (at, (time, amount)) in points.iter().enumerate() {
            let later = points[at + 1..].iter().filter(|(later, _)| later > time);
            slopes.extend(later.map(|(later, next)| (next - amount) / (later - time)));
        }
    }
    slopes
}

/// The variance of Kendall's S of so many points without a trend.
fn of_s(points: usize) -> f64 {
    let n = points as f64;
    n * (n - 1.0) * (2.0 * n + 5.0) / 18.0
}

fn span(points: &[(f64, f64)]) -> f64 {
    match (points.first(), points.last()) {
        (Some((first, _)), Some((last, _))) => last - first,
        _ => 0.0,
    }
}

/// How much neighbours have in common beyond the slope: the correlation of the ranks of what is
/// left without it, corrected for the bias of few points (Marriott and Pope 1954). None below zero:
/// an interval is never made narrower than independent readings have it.
fn dependence(stretches: &[Vec<(f64, f64)>], slope: f64) -> f64 {
    let mut rests: Vec<Vec<f64>> = Vec::new();
    for points in stretches {
        let flat: Vec<f64> = points.iter().map(|(time, y)| y - slope * time).collect();
        let middle = median(&flat);
        rests.push(flat.into_iter().map(|rest| rest - middle).collect());
    }
    let all: Vec<f64> = rests.concat();
    let ranked: Vec<Vec<f64>> = rests
        .iter()
        .map(|one| one.iter().map(|rest| rank(*rest, &all)).collect())
        .collect();
    let own: f64 = ranked.iter().flatten().map(|rank| rank * rank).sum();
    if own == 0.0 {
        return 0.0;
    }
    let pairs = ranked.iter().flat_map(|one| one.windows(2));
    let shared: f64 = pairs.map(|pair| pair[0] * pair[1]).sum();
    let n = all.len() as f64;
    ((n * shared / own + 1.0) / (n - 4.0)).clamp(0.0, 1.0)
}

/// Where a value stands among all, from the middle: those that are equal share a place.
fn rank(value: f64, all: &[f64]) -> f64 {
    let below = all.iter().filter(|other| **other < value).count() as f64;
    let above = all.iter().filter(|other| **other > value).count() as f64;
    (below - above) / 2.0
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Random;

    /// Readings a second apart of `amount`, which is given noise of which each has the share
    /// `kept` of the one before.
    fn noisy(seed: u64, count: usize, kept: f64, amount: impl Fn(f64) -> f64) -> Vec<(f64, f64)> {
        let mut random = Random::new(seed);
        let mut noise = 0.0;
        let reading = |at: usize| {
            noise = kept * noise + random.normal();
            (at as f64, amount(at as f64) + noise)
        };
        (0..count).map(reading).collect()
    }

    /// In how many of 400 cases a slope is told, and in how many of these the interval, which may
    /// miss in 5 %, doesn't hold `truth`.
    fn told_and_missed(kept: f64, truth: f64) -> (usize, usize) {
        let found = |seed| {
            let readings = noisy(seed, 600, kept, |time| truth * time);
            slope(&[readings], 0.05, 0.0)
        };
        let told: Vec<Slope> = (0..400).filter_map(found).collect();
        let missed = |found: &&Slope| !(found.low..=found.high).contains(&truth);
        (told.len(), told.iter().filter(missed).count())
    }

    #[test]
    fn an_interval_holds_the_truth_as_often_as_it_says_even_where_readings_depend_on_each_other() {
        for (kept, truth) in [(0.0, 0.0), (0.0, 0.01), (0.8, 0.0), (0.95, 0.01)] {
            let (told, missed) = told_and_missed(kept, truth);
            assert!(told > 300, "{kept}, {truth}: {told} of 400");
            // 20 of 400 are expected, and above 33 in one of a thousand such tests.
            assert!(missed <= 33, "{kept}, {truth}: {missed} of 400");
        }
    }

    #[test]
    fn a_heap_that_fills_and_is_collected_does_not_grow() {
        for period in [7.0, 40.0, 90.0] {
            let saw = noisy(1, 600, 0.0, |time| 100.0 * (time % period) / period);
            let found = slope(&[saw], 0.001, 0.0).expect("it can be told");
            assert!(found.low < 0.0 && found.high > 0.0, "{period}: {found:?}");
            assert!(found.high < 0.3, "{period}: {found:?}");
        }
    }

    #[test]
    fn a_slope_is_that_of_the_stretches_and_not_of_the_jump_between_them() {
        let before = noisy(1, 100, 0.0, |time| 1000.0 + time);
        let after: Vec<(f64, f64)> = noisy(2, 100, 0.0, |time| time)
            .into_iter()
            .map(|(time, amount)| (time + 200.0, amount))
            .collect();
        let found = slope(&[before, after], 0.01, 0.0).expect("there are enough");
        assert!(found.low > 0.9 && found.high < 1.1, "{found:?}");
    }

    #[test]
    fn what_never_moves_may_have_grown_by_less_than_a_step() {
        let still: Vec<(f64, f64)> = (0..121).map(|at| (f64::from(at), 7.0)).collect();
        let found = slope(&[still], 0.05, 1.0).expect("there are enough");
        assert_eq!((found.slope, found.dependence), (0.0, 0.0));
        assert!(found.low < -0.008 && found.high > 0.008, "{found:?}");
        assert!(found.high < 0.01, "{found:?}");
    }

    #[test]
    fn what_grows_evenly_shows_it_whatever_small_waves_are_on_it() {
        let wave = |time: f64| 100.0 * time + 20.0 * (time / 100.0).sin();
        let readings: Vec<(f64, f64)> = (0..600)
            .map(|at| (f64::from(at), wave(f64::from(at))))
            .collect();
        let found = slope(&[readings], 0.001, 0.0).expect("there are enough");
        assert!(found.dependence > DEPENDENCE_MAX, "{found:?}");
        assert!(found.low > 99.0 && found.high < 101.0, "{found:?}");
        // One step up in half an hour is no slope.
        let step = |at: i32| (f64::from(at), if at < 250 { 7.0 } else { 9.0 });
        let found = slope(&[(0..600).map(step).collect()], 0.05, 0.0).expect("there are enough");
        assert!(found.low < 0.0 && found.high > 0.0, "{found:?}");
        assert!(found.high < 0.02, "{found:?}");
    }

    #[test]
    fn too_few_readings_and_a_walk_at_random_tell_no_slope() {
        let few: Vec<(f64, f64)> = (0..7).map(|at| (f64::from(at), f64::from(at))).collect();
        assert_eq!(slope(&[few], 0.05, 0.0), None);
        assert_eq!(slope(&[], 0.05, 0.0), None);
        assert_eq!(middle(&[]), None);
        assert_eq!(middle(&[vec![(1.0, 2.0), (2.0, 5.0)]]), Some(3.0));
        let told = |seed: &u64| {
            let walk = noisy(*seed, 600, 1.0, |_| 0.0);
            let found = slope(&[walk], 0.05, 0.0);
            found.is_some_and(|found| found.low > 0.0 || found.high < 0.0)
        };
        let wrong = (0..200).filter(told).count();
        assert!(wrong <= 14, "{wrong} of 200 walks have a slope");
    }
}
