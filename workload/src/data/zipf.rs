//! Zipf's law over a number of rows, by rejection-inversion (W. Hörmann, G. Derflinger,
//! "Rejection-inversion to generate variates from monotone discrete distributions", ACM TOMACS
//! 6(3), 1996): no table, the same work for any number of rows, and exact up to the rounding of
//! `f64`.

use measure::random::Random;

/// The n-th of `count` with a probability proportional to n to the power of minus `exponent`.
#[derive(Clone, Debug)]
pub(super) struct Zipf {
    exponent: f64,
    count: u64,
    /// The area below the curve from which is drawn: from the end of the first bar to that of the
    /// last. The first bar is moved to the left, so that it is hit as often as it should be.
    area_first: f64,
    area_last: f64,
    /// Closer than this to the right end of a bar no rejection can happen.
    accepted: f64,
}

impl Zipf {
    /// The law for `count` of one or more, and an exponent above zero.
    pub(super) fn new(exponent: f64, count: u64) -> Zipf {
        let mut zipf = Zipf {
            exponent,
            count,
            area_first: 0.0,
            area_last: 0.0,
            accepted: 0.0,
        };
        zipf.area_first = zipf.area(1.5) - 1.0;
        zipf.area_last = zipf.area(count as f64 + 0.5);
        zipf.accepted = 2.0 - zipf.area_inverse(zipf.area(2.5) - zipf.height(2.0));
        zipf
    }

    /// Draws one: 0 for the first.
    pub(super) fn draw(&self, random: &mut Random) -> u64 {
        loop {
            let area = self.area_last + random.unit() * (self.area_first - self.area_last);
            let x = self.area_inverse(area);
            let nearest = (x + 0.5).clamp(1.0, self.count as f64).floor();
            let lowest = self.area(nearest + 0.5) - self.height(nearest);
            if nearest - x <= self.accepted || area >= lowest {
                return nearest as u64 - 1;
            }
        }
    }

    /// h(x) = x^-s.
    fn height(&self, x: f64) -> f64 {
        (-self.exponent * x.ln()).exp()
    }

    /// H(x), the integral of h from 1 to x: (x^(1-s) - 1) / (1-s), in a form that holds at s = 1.
    fn area(&self, x: f64) -> f64 {
        let ln = x.ln();
        let power = (1.0 - self.exponent) * ln;
        ratio(power.exp_m1(), power) * ln
    }

    /// x of H(x).
    fn area_inverse(&self, area: f64) -> f64 {
        // Rounding could take it past the pole.
        let power = (area * (1.0 - self.exponent)).max(-1.0);
        (ratio(power.ln_1p(), power) * area).exp()
    }
}

/// y / x, where y is e^x - 1 or ln(1 + x) and x may be zero.
fn ratio(y: f64, x: f64) -> f64 {
    match x == 0.0 {
        true => 1.0,
        false => y / x,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// χ² of draws beside the law, and the degrees of freedom. Bars that expect fewer than ten are
    /// counted together.
    fn chi_squared(exponent: f64, count: u64, claimed: f64) -> (f64, f64) {
        let draws = 200_000;
        let zipf = Zipf::new(exponent, count);
        let mut random = Random::seeded(20_261);
        let mut seen = vec![0.0; count as usize];
        for _ in 0..draws {
            seen[zipf.draw(&mut random) as usize] += 1.0;
        }
        let weights: Vec<f64> = (1..=count).map(|n| (n as f64).powf(-claimed)).collect();
        let whole: f64 = weights.iter().sum();
        let (mut sum, mut bars, mut rare) = (0.0, 0.0, (0.0, 0.0));
        for (seen, weight) in seen.iter().zip(&weights) {
            let expected = weight / whole * f64::from(draws);
            if expected < 10.0 {
                rare = (rare.0 + seen, rare.1 + expected);
                continue;
            }
            sum += (seen - expected).powi(2) / expected;
            bars += 1.0;
        }
        if rare.1 >= 10.0 {
            sum += (rare.0 - rare.1).powi(2) / rare.1;
            bars += 1.0;
        }
        (sum, bars - 1.0)
    }

    #[test]
    fn draws_follow_the_law_and_not_a_law_close_by() {
        // χ² has mean k and variance 2k; past four standard deviations chance explains nothing.
        let limit = |freedom: f64| freedom + 4.0 * (2.0 * freedom).sqrt();
        let laws = [
            (0.3, 10),
            (0.99, 100),
            (1.0, 7),
            (1.0, 1000),
            (1.5, 50),
            (3.0, 1_000_000),
        ];
        for (exponent, count) in laws {
            let (sum, freedom) = chi_squared(exponent, count, exponent);
            assert!(
                sum < limit(freedom),
                "s {exponent}, {count} rows: {sum} of {freedom}"
            );
            let (sum, freedom) = chi_squared(exponent, count, exponent + 0.05);
            assert!(
                sum > limit(freedom),
                "s {exponent}, {count} rows: {sum} of {freedom}"
            );
        }
    }

    #[test]
    fn extreme_laws_stay_within_the_rows() {
        let mut random = Random::seeded(5);
        for (exponent, count) in [(1e-9, 3), (100.0, 1 << 40), (1.0, 1), (0.5, u64::MAX >> 12)] {
            let zipf = Zipf::new(exponent, count);
            for _ in 0..1000 {
                assert!(zipf.draw(&mut random) < count, "s {exponent}, {count} rows");
            }
        }
    }
}
