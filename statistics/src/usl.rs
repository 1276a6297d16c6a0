//! The Universal Scalability Law: X(N) = λN / (1 + σ(N − 1) + κN(N − 1)), the throughput of N
//! workers or connections, where λ is that of one, σ the share of work that queues for something
//! shared, and κ the price of keeping each pair of them in agreement (Gunther, "Guerrilla Capacity
//! Planning", 2007, chapters 4–6).
//!
//! The fit is by least squares of relative errors: N/X is linear in 1/λ, σ/λ and κ/λ, and a
//! relative error of it is one of X. Neither σ nor κ may be below 0.
//!
//! The sample is the load. Runs at one N share what is peculiar to that N (how connections fall to
//! workers, how a cache is filled), so three of them are not three points: the fit is to the mean
//! of each load, and what is left over has as many degrees of freedom as there are loads, minus
//! three. Intervals fit the law again to what it gives with errors drawn anew, of the variance that
//! was left over.

use std::fmt;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::distribution::student_quantile;
use super::mean;
use super::random::Random;

/// Fewer different N do not hold the curve.
pub const POINTS_MIN: usize = 6;

/// The curve is not asked for more than so many times the largest N that was measured.
const BEYOND_MAX: f64 = 2.0;

/// How many resamples the intervals take.
const RESAMPLES: usize = 2_000;

/// A figure with its 95 % interval.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Estimate {
    /// The best value.
    pub value: f64,
    /// The lower end.
    pub low: f64,
    /// The upper end.
    pub high: f64,
}

/// The law as it fits what was measured.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Usl {
    /// Throughput of one, in the unit of what was measured.
    pub lambda: Estimate,
    /// Contention: the share of work that queues, from 0.
    pub sigma: Estimate,
    /// Crosstalk: the price of each pair, from 0.
    pub kappa: Estimate,
    /// Where throughput is highest, as (N, X); nothing where it only rises, or rises to beyond
    /// what may be said.
    pub peak: Option<(f64, f64)>,
    /// The largest N that was measured.
    pub n_measured_max: f64,
    /// The share of the variance of X that the law explains (R²).
    pub explained: f64,
}

/// Why there is no fit.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Refused {
    /// So many different N; [`POINTS_MIN`] are needed.
    TooFew(usize),
    /// An N below 1, or a throughput that is not positive.
    NoThroughput,
    /// What was measured is nothing like the law.
    Unlike,
}

impl fmt::Display for Refused {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Refused::TooFew(points) => write!(
                f,
                "only {points} different loads were measured; the scalability law needs at least \
                 {POINTS_MIN}"
            ),
            Refused::NoThroughput => f.write_str(
                "the scalability law needs loads of at least 1, and a throughput for each",
            ),
            Refused::Unlike => f.write_str("the measurements don't fit the scalability law"),
        }
    }
}

impl std::error::Error for Refused {}

/// Fits the law to points (N, X), of which an N may have several.
///
/// # Errors
/// Too few different N, a point that has no throughput, or points that are nothing like it.
pub fn fit(points: &[(f64, f64)], seed: u64) -> Result<Usl, Refused> {
    let good = |(n, x): &(f64, f64)| *n >= 1.0 && *x > 0.0 && n.is_finite() && x.is_finite();
    if !points.iter().all(good) {
        return Err(Refused::NoThroughput);
    }
    let loads = loads(points);
    if loads.len() < POINTS_MIN {
        return Err(Refused::TooFew(loads.len()));
    }
    let best = Law::fit(&loads).ok_or(Refused::Unlike)?;
    let resampled = best.resampled(&loads, seed);
    let estimate = |figure: fn(&Law) -> f64| {
        let mut figures: Vec<f64> = resampled.iter().map(figure).collect();
        figures.sort_unstable_by(f64::total_cmp);
        let (value, cut) = (figure(&best), figures.len() / 40);
        // Where a bound at 0 makes the resamples lopsided the value is in the interval too.
        let at = |index: usize| figures.get(index).copied().unwrap_or(value);
        Estimate {
            value,
            low: at(cut).min(value),
            high: at((figures.len() - cut).saturating_sub(1)).max(value),
        }
    };
    let n_measured_max = loads[loads.len() - 1].0;
    let mut law = Usl {
        lambda: estimate(|law| law.lambda),
        sigma: estimate(|law| law.sigma),
        kappa: estimate(|law| law.kappa),
        peak: None,
        n_measured_max,
        explained: best.explained(&loads),
    };
    law.peak = best.peak().and_then(|n| Some((n, law.at(n)?)));
    Ok(law)
}

/// Each N with the mean of its points, ascending. Errors are relative, so the mean is geometric.
fn loads(points: &[(f64, f64)]) -> Vec<(f64, f64)> {
    let mut sorted = points.to_vec();
    sorted.sort_unstable_by(|a, b| a.0.total_cmp(&b.0));
    let of_one = |points: &[(f64, f64)]| {
        let logs: Vec<f64> = points.iter().map(|(_, x)| x.ln()).collect();
        (points[0].0, mean(&logs).exp())
    };
    sorted.chunk_by(|a, b| a.0 == b.0).map(of_one).collect()
}

impl Usl {
    /// The throughput at `n`, or nothing below 1 and beyond twice of what was measured: there the
    /// law only guesses.
    pub fn at(&self, n: f64) -> Option<f64> {
        let law = Law {
            lambda: self.lambda.value,
            sigma: self.sigma.value,
            kappa: self.kappa.value,
        };
        (1.0..=BEYOND_MAX * self.n_measured_max)
            .contains(&n)
            .then(|| law.at(n))
    }
}

#[derive(Clone, Copy, Debug)]
struct Law {
    lambda: f64,
    sigma: f64,
    kappa: f64,
}

impl Law {
    fn at(&self, n: f64) -> f64 {
        self.lambda * n / (1.0 + self.sigma * (n - 1.0) + self.kappa * n * (n - 1.0))
    }

    fn peak(&self) -> Option<f64> {
        let n = ((1.0 - self.sigma) / self.kappa).sqrt();
        (n.is_finite() && n >= 1.0).then_some(n)
    }

    /// The best of the fits with σ, κ, both or neither held at 0, among those that hold the bounds:
    /// the sum of squares is convex, so the best with bounds is one of these.
    fn fit(points: &[(f64, f64)]) -> Option<Law> {
        let kept: [&[usize]; 4] = [&[0, 1, 2], &[0, 1], &[0, 2], &[0]];
        kept.iter()
            .filter_map(|kept| Law::fit_terms(points, kept))
            .min_by(|a, b| a.1.total_cmp(&b.1))
            .map(|(law, _)| law)
    }

    /// The fit with these terms of N/X = a + b(N − 1) + cN(N − 1), and the sum of its squares.
    fn fit_terms(points: &[(f64, f64)], kept: &[usize]) -> Option<(Law, f64)> {
        // Each row is divided by N/X, so that what is left over is a relative error.
        let rows: Vec<[f64; 3]> = points
            .iter()
            .map(|(n, x)| [1.0, n - 1.0, n * (n - 1.0)].map(|term| term * x / n))
            .collect();
        let mut system = vec![vec![0.0; kept.len() + 1]; kept.len()];
        for (equation, at) in system.iter_mut().zip(kept) {
            for row in &rows {
                for (place, other) in kept.iter().enumerate() {
                    equation[place] += row[*at] * row[*other];
                }
                equation[kept.len()] += row[*at];
            }
        }
        let mut terms = [0.0; 3];
        for (at, value) in kept.iter().zip(solve(system)?) {
            terms[*at] = value;
        }
        let error = |row: &[f64; 3]| {
            let sum: f64 = row.iter().zip(&terms).map(|(a, b)| a * b).sum();
            (sum - 1.0).powi(2)
        };
        let squares = rows.iter().map(error).sum();
        let [a, b, c] = terms;
        let law = Law {
            lambda: a.recip(),
            sigma: b / a,
            kappa: c / a,
        };
        let holds = a > 0.0 && b >= 0.0 && c >= 0.0 && law.lambda.is_finite();
        holds.then_some((law, squares))
    }

    /// Fits to what this law gives with relative errors that are normal, of the variance that is
    /// left over at the `loads`, where three figures were fitted to them, and widened for their
    /// being few. (Drawn from the errors themselves, of which there are six or seven, intervals
    /// hold the truth in 92 % of cases instead of 95 %.)
    fn resampled(&self, loads: &[(f64, f64)], seed: u64) -> Vec<Law> {
        let degrees = loads.len() as f64 - 3.0;
        let error = |(n, x): &(f64, f64)| (x / self.at(*n)).ln().powi(2);
        let left_over = (loads.iter().map(error).sum::<f64>() / degrees).sqrt();
        let normal = student_quantile(0.05, 1e6);
        let spread = left_over * student_quantile(0.05, degrees) / normal;
        let mut random = Random::new(seed);
        let resample = |_| {
            let drawn: Vec<(f64, f64)> = loads
                .iter()
                .map(|(n, _)| (*n, self.at(*n) * (spread * random.normal()).exp()))
                .collect();
            Law::fit(&drawn)
        };
        (0..RESAMPLES).filter_map(resample).collect()
    }

    fn explained(&self, points: &[(f64, f64)]) -> f64 {
        let mean = points.iter().map(|point| point.1).sum::<f64>() / points.len() as f64;
        let total: f64 = points.iter().map(|(_, x)| (x - mean).powi(2)).sum();
        let left: f64 = points.iter().map(|(n, x)| (x - self.at(*n)).powi(2)).sum();
        1.0 - left / total
    }
}

/// Solves linear equations, the last column being their right side, by elimination with pivots.
fn solve(mut rows: Vec<Vec<f64>>) -> Option<Vec<f64>> {
    let size = rows.len();
    for at in 0..size {
        let pivot = (at..size).max_by(|a, b| rows[*a][at].abs().total_cmp(&rows[*b][at].abs()))?;
        rows.swap(at, pivot);
        if rows[at][at] == 0.0 {
            return None;
        }
        let pivot = rows[at].clone();
        for (index, row) in rows.iter_mut().enumerate() {
            if index != at {
                let factor = row[at] / pivot[at];
                for (value, above) in row.iter_mut().zip(&pivot) {
                    *value -= factor * above;
                }
            }
        }
    }
    Some((0..size).map(|at| rows[at][size] / rows[at][at]).collect())
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Schwartz and Fortune, "Forecasting MySQL Scalability with the Universal Scalability Law",
    /// 2010, table 1: sysbench on a Cisco UCS server, threads 1 to 32.
    const CISCO: [f64; 32] = [
        955.16, 1878.91, 2688.01, 3548.68, 4315.54, 5130.43, 5931.37, 6531.08, 7219.8, 7867.61,
        8278.71, 8646.7, 9047.84, 9426.55, 9645.37, 9897.24, 10_097.6, 10_240.5, 10_532.39,
        10_798.52, 11_151.43, 11_518.63, 11_806.0, 12_089.37, 12_075.41, 12_177.29, 12_211.41,
        12_158.93, 12_155.27, 12_118.04, 12_140.4, 12_074.39,
    ];

    fn near(a: f64, b: f64, share: f64) -> bool {
        (a / b - 1.0).abs() <= share
    }

    fn curve(lambda: f64, sigma: f64, kappa: f64, loads: &[f64]) -> Vec<(f64, f64)> {
        let law = Law {
            lambda,
            sigma,
            kappa,
        };
        loads.iter().map(|n| (*n, law.at(*n))).collect()
    }

    const LOADS: [f64; 7] = [1.0, 2.0, 4.0, 8.0, 16.0, 32.0, 64.0];

    #[test]
    fn a_published_measurement_gives_about_the_published_law() {
        let points: Vec<(f64, f64)> = (1..).map(f64::from).zip(CISCO).collect();
        let law = fit(&points, 1).expect("32 points");
        println!("{law:?}");
        // Published: fitted to absolute errors, which gives the fast half more weight.
        let published = Law {
            lambda: 995.6486,
            sigma: 0.026_715_91,
            kappa: 0.000_769_094_5,
        };
        let n = published.peak().expect("a peak");
        assert!(near(n, 35.574, 0.0001) && near(published.at(35.0), 12_341.745, 1e-6));
        assert!(near(law.lambda.value, published.lambda, 0.05));
        assert!(near(law.kappa.value, published.kappa, 0.2));
        let (own, x) = law.peak.expect("a peak");
        assert!(
            near(own, n, 0.1) && near(x, published.at(n), 0.02),
            "{own} {x}"
        );
        assert!(law.explained > 0.99);
    }

    #[test]
    fn a_curve_without_noise_comes_back_as_the_law_that_made_it() {
        let law = fit(&curve(1000.0, 0.03, 0.0005, &LOADS), 1).expect("seven points");
        for estimate in [law.lambda.low, law.lambda.value, law.lambda.high] {
            assert!(near(estimate, 1000.0, 1e-9));
        }
        assert!(near(law.sigma.value, 0.03, 1e-8) && near(law.kappa.value, 0.0005, 1e-8));
        assert!(near(law.at(3.0).expect("within"), 3000.0 / 1.063, 1e-9));
    }

    #[test]
    fn nothing_is_said_beyond_twice_of_what_was_measured() {
        let law = fit(&curve(1000.0, 0.03, 0.000_01, &LOADS), 1).expect("seven points");
        assert!(law.at(128.0).is_some());
        assert_eq!((law.at(128.1), law.at(0.5)), (None, None));
        // It is highest at 311, which is too far.
        assert_eq!(law.peak, None);
    }

    #[test]
    fn a_subject_that_only_queues_has_no_crosstalk_below_zero() {
        let mut points = curve(1000.0, 0.1, 0.0, &LOADS);
        // Noise that would bend the curve upwards.
        points[6].1 *= 1.03;
        let law = fit(&points, 1).expect("seven points");
        assert_eq!(law.kappa.value, 0.0);
        assert_eq!(law.peak, None);
        assert!(near(law.sigma.value, 0.1, 0.1));
    }

    #[test]
    fn too_few_or_senseless_points_are_refused() {
        let points = curve(1000.0, 0.03, 0.0005, &LOADS);
        assert_eq!(fit(&points[..5], 1), Err(Refused::TooFew(5)));
        let twice = [&points[..5], &points[..5]].concat();
        assert_eq!(fit(&twice, 1), Err(Refused::TooFew(5)));
        let mut dead = points.clone();
        dead[3].1 = 0.0;
        assert_eq!(fit(&dead, 1), Err(Refused::NoThroughput));
        assert!(Refused::TooFew(5).to_string().contains("needs at least 6"));
    }

    /// How often the intervals hold λ, σ and κ, over so many runs at each load. Each load has an
    /// effect of its own of 3 %, and each run noise of 1 %.
    fn coverage(truth: &Law, loads: &[f64], runs: usize) -> [f64; 3] {
        const TRIALS: u64 = 150;
        let mut random = Random::new(12);
        let mut held = [0; 3];
        for trial in 0..TRIALS {
            let mut points = Vec::new();
            for n in loads {
                let own = 0.03 * random.normal();
                let run = |_| (*n, truth.at(*n) * (own + 0.01 * random.normal()).exp());
                points.extend((0..runs).map(run));
            }
            random.shuffle(&mut points);
            let law = fit(&points, trial).expect("loads enough");
            let all = [
                (law.lambda, truth.lambda),
                (law.sigma, truth.sigma),
                (law.kappa, truth.kappa),
            ];
            for (count, (estimate, truth)) in held.iter_mut().zip(all) {
                *count += u64::from((estimate.low..=estimate.high).contains(&truth));
            }
        }
        held.map(|count| count as f64 / TRIALS as f64)
    }

    #[test]
    fn intervals_hold_the_law_that_made_the_noise_however_often_a_load_is_run() {
        let truth = Law {
            lambda: 1000.0,
            sigma: 0.05,
            kappa: 0.001,
        };
        for runs in [1, 3, 10] {
            let shares = coverage(&truth, &LOADS, runs);
            println!("{runs} runs at each load: λ, σ, κ in {shares:?}");
            // 150 trials of a 95 % interval hold it in 95 ± 3.6 % (two standard errors).
            for share in shares {
                assert!(share >= 0.91, "{runs} runs: {shares:?}");
            }
        }
    }

    #[test]
    fn running_a_load_again_makes_no_load_of_it() {
        let points = curve(1000.0, 0.05, 0.001, &LOADS);
        let uneven = |(at, (n, x)): (usize, &(f64, f64))| (*n, x * [1.03, 0.98][at % 2]);
        let once: Vec<(f64, f64)> = points.iter().enumerate().map(uneven).collect();
        let often: Vec<(f64, f64)> = (0..5).flat_map(|_| once.clone()).collect();
        let (once, often) = (fit(&once, 1), fit(&often, 1));
        let (once, often) = (once.expect("seven loads"), often.expect("seven loads"));
        for (a, b) in [(once.sigma, often.sigma), (once.kappa, often.kappa)] {
            assert!(near(a.low, b.low, 1e-6) && near(a.high, b.high, 1e-6));
        }
    }
}
