//! Looking early without paying for it: a comparison may end when it knows enough, and what it
//! says then is as sure as if its length had been fixed.
//!
//! Every look spends a part of the 5 % error (Lan and DeMets, "Discrete sequential boundaries for
//! clinical trials", Biometrika 70, 1983), by the function that imitates O'Brien and Fleming: next
//! to nothing at first, nearly all at the end. An interval with the confidence 1 − [`Looks::alpha`]
//! at each look holds the truth at *all* looks together in 95 % of cases, whatever made the
//! comparison stop (repeated confidence intervals; Jennison and Turnbull, "Group Sequential
//! Methods", 2000, §9.1).

use serde::{Deserialize, Serialize};

use super::ALPHA;
use super::distribution::{normal_above, normal_below, root};

/// More looks are not worth their price.
const LOOKS_MAX: u32 = 5;

/// How many steps the distribution between two looks is cut into.
const STEPS: usize = 400;

/// The rounds after which a comparison is looked at.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Looks {
    /// The number of rounds that are done at each look, ascending; the last is the end.
    pub at: Vec<u32>,
    /// The most rounds, which the shares of information are of.
    rounds_max: u32,
}

impl Looks {
    /// At most five looks, evenly from `rounds_min` to `rounds_max`.
    pub fn plan(rounds_min: u32, rounds_max: u32) -> Looks {
        let rounds_max = rounds_max.max(1);
        let first = rounds_min.clamp(1, rounds_max);
        let steps = (rounds_max - first).min(LOOKS_MAX - 1);
        let at = match steps {
            0 => vec![rounds_max],
            _ => (0..=steps)
                .map(|step| first + (rounds_max - first) * step / steps)
                .collect(),
        };
        Looks { at, rounds_max }
    }

    /// The same where each of the rounds that were counted stands for so many: looks come when the
    /// last of them is done.
    pub fn of_rounds_each(self, rounds: u32) -> Looks {
        let all = |counted: u32| counted.saturating_mul(rounds.max(1));
        Looks {
            at: self.at.into_iter().map(all).collect(),
            rounds_max: all(self.rounds_max),
        }
    }

    /// The looks of a comparison that ends after `rounds` for a reason that is not in its figures
    /// (time is up, somebody asked to stop): what is left of the error is spent there.
    pub fn ended_at(&self, rounds: u32) -> Looks {
        let before = self.at.iter().copied().take_while(|at| *at < rounds);
        Looks {
            at: before.chain([rounds.max(1)]).collect(),
            rounds_max: self.rounds_max.max(rounds),
        }
    }

    /// The index of the look that is taken after `rounds`: the first that is not before.
    pub fn index_at(&self, rounds: u32) -> usize {
        let before = self.at.iter().filter(|at| **at < rounds).count();
        before.min(self.at.len() - 1)
    }

    /// The error that the interval at look `index` (from 0) may make: its confidence is 1 − this.
    pub fn alpha_at(&self, index: usize) -> f64 {
        self.alpha(index, ALPHA)
    }

    /// The same where all looks together may make the error `alpha`, as one of several subjects
    /// does (see [`super::holm::levels`]). An index beyond the last look is the last.
    pub fn alpha(&self, index: usize, alpha: f64) -> f64 {
        let mut score = Score::default();
        let mut spent = 0.0;
        let mut bound = f64::INFINITY;
        for (at, rounds) in self.at.iter().enumerate().take(index + 1) {
            let share = f64::from(*rounds) / f64::from(self.rounds_max);
            let last = at + 1 == self.at.len();
            let spend = if last { alpha } else { spending(share, alpha) };
            score.advance(share);
            bound = root(0.0, 40.0, |z| score.beyond(z) > spend - spent);
            score.cut(bound);
            spent = spend;
        }
        2.0 * normal_below(-bound)
    }
}

/// The error that look `index` (from 0) may make where nobody knows how many there will be, and all
/// of them together may make `alpha`: looks may go on for ever, and may end whenever one likes.
/// Each should come when there is twice as much to see as at the one before (Howard, Ramdas,
/// McAuliffe and Sekhon, "Time-uniform, nonparametric, nonasymptotic confidence sequences", Annals
/// of Statistics 49, 2021: a union over epochs that double; the shares of 1/k² add up to π²/6).
pub fn unending(index: u32, alpha: f64) -> f64 {
    let look = f64::from(index) + 1.0;
    alpha * 6.0 / (std::f64::consts::PI * look).powi(2)
}

/// What may have been spent when the share `t` of the information is there: half of it on either
/// side of "no difference".
fn spending(t: f64, alpha: f64) -> f64 {
    4.0 * normal_below(-normal_above(alpha / 4.0) / t.sqrt())
}

/// The distribution of the sum of all rounds so far, where no look has ended the comparison: at
/// look k it has the variance of the share of information tₖ (Armitage, McPherson and Rowe 1969).
#[derive(Default)]
struct Score {
    /// The share of information now.
    share: f64,
    /// How much came with this look.
    added: f64,
    /// Points with their probability, from the looks before; one at 0 at the beginning.
    points: Vec<(f64, f64)>,
}

impl Score {
    fn advance(&mut self, share: f64) {
        if self.points.is_empty() {
            self.points.push((0.0, 1.0));
        }
        self.added = (share - self.share).max(1e-9);
        self.share = share;
    }

    /// How probable a standardised sum beyond ±`z` is.
    fn beyond(&self, z: f64) -> f64 {
        let (end, step) = (z * self.share.sqrt(), self.added.sqrt());
        let each = |(at, probability): &(f64, f64)| {
            probability * (normal_below((at - end) / step) + normal_below((-end - at) / step))
        };
        self.points.iter().map(each).sum()
    }

    /// Goes on with what stayed inside ±`z`. Each cell has the probability that falls into it.
    fn cut(&mut self, z: f64) {
        // Farther out than eight deviations there is nothing.
        let end = z.min(8.0) * self.share.sqrt();
        let width = 2.0 * end / STEPS as f64;
        let deviation = self.added.sqrt();
        let cell = |index: usize| {
            let at = -end + (index as f64 + 0.5) * width;
            let density = |(from, probability): &(f64, f64)| {
                let distance = (at - from) / deviation;
                probability * (-0.5 * distance * distance).exp()
            };
            let density: f64 = self.points.iter().map(density).sum();
            (
                at,
                density * width / deviation / std::f64::consts::TAU.sqrt(),
            )
        };
        self.points = (0..STEPS).map(cell).collect();
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::random::Random;
    use crate::{Pair, Ratio};

    #[test]
    fn looks_are_spread_evenly_and_end_with_the_last_round() {
        assert_eq!(Looks::plan(4, 20).at, [4, 8, 12, 16, 20]);
        assert_eq!(Looks::plan(5, 7).at, [5, 6, 7]);
        assert_eq!(Looks::plan(7, 7).at, [7]);
        assert_eq!(Looks::plan(9, 7).at, [7]);
        assert_eq!(Looks::plan(0, 0).at, [1]);
        assert_eq!(Looks::plan(4, 6).of_rounds_each(5).at, [20, 25, 30]);
        let looks = Looks::plan(4, 20);
        assert_eq!(
            [1, 4, 5, 20, 25].map(|rounds| looks.index_at(rounds)),
            [0, 0, 1, 4, 4]
        );
    }

    #[test]
    fn looks_without_an_end_never_spend_more_than_there_is() {
        let spent: f64 = (0..100_000).map(|index| unending(index, 0.05)).sum();
        assert!((0.0499..0.05).contains(&spent), "{spent}");
        assert!(unending(1, 0.05) < unending(0, 0.05));
    }

    #[test]
    fn one_look_spends_all() {
        assert!((Looks::plan(7, 7).alpha_at(0) - 0.05).abs() < 1e-6);
        assert!((Looks::plan(7, 7).alpha(0, 0.01) - 0.01).abs() < 1e-6);
    }

    #[test]
    fn bounds_agree_with_published_ones() {
        // Five even looks, 5 % in all, two-sided, spending like O'Brien and Fleming: `ldbounds` of
        // R gives 4.8769, 3.3569, 2.6803, 2.2898, 2.0310 (Reboussin, DeMets, Kim and Lan 2000).
        let looks = Looks::plan(1, 5);
        for (index, expected) in [4.8769, 3.3569, 2.6803, 2.2898, 2.0310]
            .into_iter()
            .enumerate()
        {
            let z = normal_above(looks.alpha_at(index) / 2.0);
            assert!((z - expected).abs() < 0.001, "look {index}: {z}");
        }
    }

    #[test]
    fn a_comparison_that_runs_out_of_time_spends_the_rest() {
        let looks = Looks::plan(4, 20).ended_at(10);
        assert_eq!(looks.at, [4, 8, 10]);
        let last = looks.alpha_at(2);
        assert!((0.045..0.05).contains(&last), "{last}");
        assert_eq!(Looks::plan(4, 20).ended_at(2).at, [2]);
    }

    /// How many of `trials` comparisons of a subject with itself say "different" at some look.
    fn wrong(looks: &Looks, trials: u64, alpha: impl Fn(usize) -> f64) -> usize {
        let alphas: Vec<f64> = (0..looks.at.len()).map(alpha).collect();
        let mut random = Random::new(77);
        let comparison = |trial: &u64| {
            let mut pairs: Vec<Pair> = Vec::new();
            looks.at.iter().zip(&alphas).any(|(at, alpha)| {
                while pairs.len() < *at as usize {
                    pairs.push(Pair {
                        start: pairs.len() as u32,
                        a: (0.02 * random.normal()).exp(),
                        b: 1.0,
                    });
                }
                Ratio::of(&pairs, 1.0 - alpha, *trial).is_some_and(|ratio| ratio.leaves_out_one())
            })
        };
        (0..trials).filter(comparison).count()
    }

    #[test]
    fn looking_often_does_not_raise_the_error() {
        let looks = Looks::plan(5, 15);
        let trials = 300;
        let spent = wrong(&looks, trials, |index| looks.alpha_at(index));
        // 5 % of 300 are 15 ± 7.5 (two standard errors).
        println!("with spending: {spent} of {trials}");
        assert!(spent <= 22, "{spent}");
        // The same with 5 % at every look, to see that the simulation can fail.
        let naive = wrong(&looks, trials, |_| ALPHA);
        println!("without: {naive} of {trials}");
        assert!(naive > 24, "{naive}");
    }
}
