//! What a few rounds allow to say. Pure functions of numbers; the sample is the round.
//!
//! Exchanges inside one round depend on each other, so their number says nothing about how far a
//! result would move in another round. Every figure is therefore one number a round, and intervals
//! are over rounds. Two subjects are compared by the logarithm of their ratio *within* a round:
//! what slows a whole round down (a neighbour, the clock of the core) is in both and cancels.
//!
//! The interval is the bootstrap percentile interval of the mean log-ratio, with the percentiles
//! moved out for small samples: the plain one is too narrow by a factor of √((n−1)/n) and takes
//! the normal's quantile where Student's t belongs (Hesterberg, "What Teachers Should Know about
//! the Bootstrap", 2015, §5.3, "expanded percentile interval"). Three or four rounds have too few
//! distinct resamples to reach that far, so there the interval is Student's. Tests below simulate
//! the coverage of both.

use serde::Serialize;

/// Fewer rounds give no interval: two points always look alike.
pub const ROUNDS_MIN: usize = 3;

/// From this many rounds on the interval is resampled.
const ROUNDS_TO_RESAMPLE: usize = 5;

/// How many resamples an interval takes.
pub const RESAMPLES: usize = 10_000;

/// The median of the rounds with the lowest and the highest of them.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct Spread {
    /// The middle of the rounds; the mean of the two middle ones where their number is even.
    pub median: f64,
    /// The lowest round.
    pub lowest: f64,
    /// The highest round.
    pub highest: f64,
}

impl Spread {
    /// Of these rounds; nothing where there are none or one is not a number.
    pub fn of(rounds: impl IntoIterator<Item = f64>) -> Option<Spread> {
        let mut rounds: Vec<f64> = rounds.into_iter().collect();
        if rounds.is_empty() || rounds.iter().any(|value| !value.is_finite()) {
            return None;
        }
        rounds.sort_unstable_by(f64::total_cmp);
        let middle = rounds.len() / 2;
        let median = match rounds.len() % 2 {
            1 => rounds[middle],
            _ => rounds[middle - 1].midpoint(rounds[middle]),
        };
        Some(Spread {
            median,
            lowest: rounds[0],
            highest: rounds[rounds.len() - 1],
        })
    }

    /// Half the distance between the lowest and the highest round, as a share of the median.
    pub fn share(&self) -> f64 {
        if self.median == 0.0 {
            return 0.0;
        }
        (self.highest - self.lowest) / 2.0 / self.median
    }
}

/// How many times as large one subject's figure is as another's.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct Ratio {
    /// The geometric mean of the rounds' ratios.
    pub centre: f64,
    /// The lower end of the 95 % interval.
    pub low: f64,
    /// The upper end of the 95 % interval.
    pub high: f64,
    /// How many rounds both were measured in.
    pub rounds: usize,
    /// How the interval was made.
    pub method: Method,
}

/// How an interval was made.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Method {
    /// Expanded bootstrap percentile interval of the mean log-ratio.
    Bootstrap,
    /// Student's t interval of the mean log-ratio: too few rounds to resample.
    StudentT,
}

impl Ratio {
    /// Of `pairs` of figures, one pair a round; nothing with fewer than [`ROUNDS_MIN`] rounds or
    /// where a figure is not positive, since such a round has no ratio.
    pub fn of(pairs: &[(f64, f64)], seed: u64) -> Option<Ratio> {
        let usable = |(a, b): &(f64, f64)| *a > 0.0 && *b > 0.0 && (a / b).is_finite();
        if pairs.len() < ROUNDS_MIN || !pairs.iter().all(usable) {
            return None;
        }
        let logs: Vec<f64> = pairs.iter().map(|(a, b)| (a / b).ln()).collect();
        let method = match logs.len() {
            0..ROUNDS_TO_RESAMPLE => Method::StudentT,
            _ => Method::Bootstrap,
        };
        let (low, high) = match method {
            Method::StudentT => student(&logs),
            Method::Bootstrap => bootstrap(&logs, seed),
        };
        Some(Ratio {
            centre: mean(&logs).exp(),
            low: low.exp(),
            high: high.exp(),
            rounds: logs.len(),
            method,
        })
    }

    /// The same, seen from the other subject.
    pub fn inverse(&self) -> Ratio {
        Ratio {
            centre: self.centre.recip(),
            low: self.high.recip(),
            high: self.low.recip(),
            ..*self
        }
    }
}

/// The share of resamples left out at each end for an interval that holds 95 %, for `n` rounds.
fn tail(n: usize) -> f64 {
    let n_f = n as f64;
    normal_below(-(n_f / (n_f - 1.0)).sqrt() * student_quantile(n - 1))
}

fn bootstrap(values: &[f64], seed: u64) -> (f64, f64) {
    let mut random = Random::new(seed);
    let n = values.len();
    let mut means: Vec<f64> = (0..RESAMPLES)
        .map(|_| (0..n).map(|_| values[random.below(n)]).sum::<f64>() / n as f64)
        .collect();
    means.sort_unstable_by(f64::total_cmp);
    let cut = (tail(n) * RESAMPLES as f64).floor() as usize;
    (means[cut], means[RESAMPLES - 1 - cut])
}

fn student(values: &[f64]) -> (f64, f64) {
    let n = values.len() as f64;
    let centre = mean(values);
    let squares: f64 = values.iter().map(|value| (value - centre).powi(2)).sum();
    let half = student_quantile(values.len() - 1) * (squares / (n - 1.0) / n).sqrt();
    (centre - half, centre + half)
}

fn mean(values: &[f64]) -> f64 {
    values.iter().sum::<f64>() / values.len() as f64
}

/// The 97.5 % quantile of Student's t. Beyond the table: the first terms of its expansion around
/// the normal quantile (Abramowitz & Stegun 26.7.5), off by less than 0.001 there.
fn student_quantile(degrees: usize) -> f64 {
    const TABLE: [f64; 15] = [
        12.706, 4.303, 3.182, 2.776, 2.571, 2.447, 2.365, 2.306, 2.262, 2.228, 2.201, 2.179, 2.160,
        2.145, 2.131,
    ];
    if let Some(quantile) = degrees.checked_sub(1).and_then(|at| TABLE.get(at)) {
        return *quantile;
    }
    let z = 1.959_964_f64;
    let v = degrees as f64;
    let first = (z.powi(3) + z) / 4.0;
    let second = (5.0 * z.powi(5) + 16.0 * z.powi(3) + 3.0 * z) / 96.0;
    z + first / v + second / (v * v)
}

/// The share of a normal distribution below `z`, through the complementary error function
/// (Numerical Recipes, `erfcc`: relative error below 1.2e-7 everywhere).
fn normal_below(z: f64) -> f64 {
    const TERMS: [f64; 10] = [
        -1.265_512_23,
        1.000_023_68,
        0.374_091_96,
        0.096_784_18,
        -0.186_288_06,
        0.278_868_07,
        -1.135_203_98,
        1.488_515_87,
        -0.822_152_23,
        0.170_872_77,
    ];
    let x = z.abs() / std::f64::consts::SQRT_2;
    let t = 1.0 / (1.0 + 0.5 * x);
    let series = TERMS.iter().rev().fold(0.0, |sum, term| sum * t + term);
    let upper = 0.5 * t * (series - x * x).exp();
    if z < 0.0 { upper } else { 1.0 - upper }
}

/// SplitMix64 (Steele, Lea, Flood 2014): small, seedable, good enough to draw and to shuffle.
#[derive(Clone, Debug)]
pub(crate) struct Random(u64);

impl Random {
    pub(crate) fn new(seed: u64) -> Random {
        Random(seed)
    }

    pub(crate) fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut z = self.0;
        z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        z ^ (z >> 31)
    }

    /// A number below `bound`, by multiplication (Lemire 2019); its bias is below `bound` / 2^64.
    pub(crate) fn below(&mut self, bound: usize) -> usize {
        ((u128::from(self.next()) * bound as u128) >> 64) as usize
    }

    /// Puts `items` into a random order (Fisher and Yates).
    pub(crate) fn shuffle<T>(&mut self, items: &mut [T]) {
        for last in (1..items.len()).rev() {
            items.swap(last, self.below(last + 1));
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn near(a: f64, b: f64, within: f64) -> bool {
        (a - b).abs() <= within
    }

    #[test]
    fn a_spread_is_the_median_with_the_extremes() {
        let odd = Spread::of([3.0, 1.0, 2.0]).expect("three rounds");
        assert_eq!((odd.median, odd.lowest, odd.highest), (2.0, 1.0, 3.0));
        assert_eq!(odd.share(), 0.5);
        let even = Spread::of([4.0, 1.0, 2.0, 3.0]).expect("four rounds");
        assert_eq!(even.median, 2.5);
        assert_eq!(Spread::of([]), None);
        assert_eq!(Spread::of([1.0, f64::NAN]), None);
    }

    #[test]
    fn quantiles_agree_with_published_tables() {
        // Student's t, 97.5 %: NIST/SEMATECH e-Handbook, 1.3.6.7.2.
        for (degrees, expected) in [
            (2, 4.303),
            (4, 2.776),
            (15, 2.131),
            (20, 2.086),
            (30, 2.042),
        ] {
            assert!(
                near(student_quantile(degrees), expected, 0.001),
                "{degrees}"
            );
        }
        assert!(near(student_quantile(100_000), 1.960, 0.001));
        // The normal distribution: the same handbook, 1.3.6.7.1.
        for (z, expected) in [
            (0.0, 0.5),
            (-1.0, 0.158_66),
            (-1.96, 0.025),
            (1.0, 0.841_34),
        ] {
            assert!(near(normal_below(z), expected, 1e-5), "{z}");
        }
        assert!(near(normal_below(-3.0), 0.001_349_9, 1e-7));
    }

    #[test]
    fn a_ratio_of_constant_rounds_is_that_ratio_with_no_width() {
        let pairs = [(300.0, 100.0); 6];
        let ratio = Ratio::of(&pairs, 1).expect("six rounds");
        for figure in [ratio.centre, ratio.low, ratio.high] {
            assert!(near(figure, 3.0, 1e-12), "{figure}");
        }
        assert!(near(ratio.inverse().centre, 1.0 / 3.0, 1e-12));
    }

    #[test]
    fn what_both_subjects_suffer_in_a_round_cancels() {
        // Rounds differ by a factor of four, the ratio within each is 2.
        let pairs: Vec<(f64, f64)> = (1..=8)
            .map(|round| (2.0 * f64::from(round % 4 + 1), f64::from(round % 4 + 1)))
            .collect();
        let ratio = Ratio::of(&pairs, 1).expect("eight rounds");
        assert!(ratio.high - ratio.low < 1e-9, "{ratio:?}");
    }

    #[test]
    fn students_interval_of_three_rounds_is_the_textbooks() {
        // Logs 0.0, 0.1, 0.2: mean 0.1, standard error 0.1/√3, t(2) = 4.303.
        let pairs: Vec<(f64, f64)> = [0.0_f64, 0.1, 0.2].iter().map(|x| (x.exp(), 1.0)).collect();
        let ratio = Ratio::of(&pairs, 1).expect("three rounds");
        let half = 4.303 * 0.1 / 3.0_f64.sqrt();
        assert_eq!(ratio.method, Method::StudentT);
        assert!(near(ratio.low.ln(), 0.1 - half, 1e-9) && near(ratio.high.ln(), 0.1 + half, 1e-9));
    }

    #[test]
    fn too_few_rounds_or_a_round_without_a_ratio_give_no_interval() {
        assert_eq!(Ratio::of(&[(1.0, 1.0); 2], 1), None);
        assert_eq!(Ratio::of(&[(1.0, 1.0), (0.0, 1.0), (1.0, 1.0)], 1), None);
        assert_eq!(Ratio::of(&[(1.0, 1.0), (1.0, 0.0), (1.0, 1.0)], 1), None);
    }

    #[test]
    fn the_same_seed_gives_the_same_interval() {
        let pairs: Vec<(f64, f64)> = (0..9).map(|i| (100.0 + f64::from(i), 100.0)).collect();
        assert_eq!(Ratio::of(&pairs, 7), Ratio::of(&pairs, 7));
        assert_ne!(Ratio::of(&pairs, 7), Ratio::of(&pairs, 8));
    }

    /// A standard normal number (Box and Muller).
    fn normal(random: &mut Random) -> f64 {
        let mut unit = || (random.next() >> 11) as f64 / (1u64 << 53) as f64;
        let (a, b) = (unit().max(1e-300), unit());
        (-2.0 * a.ln()).sqrt() * (std::f64::consts::TAU * b).cos()
    }

    /// How often an interval over `rounds` rounds holds the true mean of `draw`, which is 0.
    fn coverage(rounds: usize, draw: fn(&mut Random) -> f64) -> f64 {
        const TRIALS: usize = 600;
        let mut random = Random::new(20_26);
        let held = (0..TRIALS).filter(|trial| {
            let logs: Vec<f64> = (0..rounds).map(|_| 0.02 * draw(&mut random)).collect();
            let (low, high) = match rounds {
                0..ROUNDS_TO_RESAMPLE => student(&logs),
                _ => bootstrap(&logs, *trial as u64),
            };
            low <= 0.0 && 0.0 <= high
        });
        held.count() as f64 / TRIALS as f64
    }

    #[test]
    fn intervals_hold_the_truth_about_as_often_as_they_say() {
        // 600 trials of a 95 % interval hold it in 95 ± 1.8 % (two standard errors).
        for rounds in [3, 4, 5, 7, 10] {
            let share = coverage(rounds, normal);
            println!("normal, {rounds} rounds: {share}");
            assert!((0.925..=0.985).contains(&share), "{rounds} rounds: {share}");
        }
        let skewed = |random: &mut Random| {
            // Exponential with its mean taken off: what a noisy neighbour does to some rounds.
            let unit = (random.next() >> 11) as f64 / (1u64 << 53) as f64;
            -(1.0 - unit).max(1e-300).ln() - 1.0
        };
        let share = coverage(7, skewed);
        println!("skewed, 7 rounds: {share}");
        assert!(share >= 0.86, "{share}");
    }
}
