//! The distributions that intervals and tests are read from: normal, Student's t, binomial.

use std::f64::consts::PI;

/// The share of a normal distribution below `z`, through the complementary error function
/// (Numerical Recipes, `erfcc`: relative error below 1.2e-7 everywhere).
pub(super) fn normal_below(z: f64) -> f64 {
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

/// The `z` that leaves the share `tail` of a normal distribution above it.
pub(super) fn normal_above(tail: f64) -> f64 {
    root(-40.0, 40.0, |z| normal_below(-z) > tail)
}

/// How probable a Student's t at least as far from 0 as `t` is, either side, with `degrees` of
/// freedom (Abramowitz & Stegun 26.7.1 and 26.5.27).
pub(super) fn student_tails(t: f64, degrees: f64) -> f64 {
    if t.is_infinite() {
        return 0.0;
    }
    beta_below(degrees / (degrees + t * t), degrees / 2.0, 0.5)
}

/// The t that leaves the share `tails` outside of -t … t.
pub(super) fn student_quantile(tails: f64, degrees: f64) -> f64 {
    root(-30.0, 40.0, |log| student_tails(log.exp(), degrees) > tails).exp()
}

/// How probable at most `k` of `n` are, each with probability `p` (A&S 26.5.24).
pub(super) fn binomial_at_most(k: u64, n: u64, p: f64) -> f64 {
    if k >= n {
        return 1.0;
    }
    beta_below(1.0 - p, (n - k) as f64, k as f64 + 1.0)
}

/// Where `above` turns from true to false between `low` and `high`, by halving.
pub(super) fn root(mut low: f64, mut high: f64, above: impl Fn(f64) -> bool) -> f64 {
    for _ in 0..80 {
        let middle = low.midpoint(high);
        if above(middle) {
            low = middle;
        } else {
            high = middle;
        }
    }
    low.midpoint(high)
}

/// The share of a beta distribution below `x`: the regularised incomplete beta function, by its
/// continued fraction (Numerical Recipes, `betai`, in the form of Lentz).
fn beta_below(x: f64, a: f64, b: f64) -> f64 {
    if x <= 0.0 {
        return 0.0;
    }
    if x >= 1.0 {
        return 1.0;
    }
    let front = (ln_gamma(a + b) - ln_gamma(a) - ln_gamma(b) + a * x.ln() + b * (-x).ln_1p()).exp();
    // The fraction converges fast on this side of the mean; the other is its mirror image.
    match x < (a + 1.0) / (a + b + 2.0) {
        true => front * beta_fraction(x, a, b) / a,
        false => 1.0 - front * beta_fraction(1.0 - x, b, a) / b,
    }
}

fn beta_fraction(x: f64, a: f64, b: f64) -> f64 {
    const STEPS_MAX: u32 = 10_000;
    let away_from_zero = |value: f64| if value.abs() < 1e-300 { 1e-300 } else { value };
    let mut c = 1.0;
    let mut d = 1.0 / away_from_zero(1.0 - (a + b) * x / (a + 1.0));
    let mut product = d;
    for m in (1..STEPS_MAX).map(f64::from) {
        let even = m * (b - m) * x / ((a + 2.0 * m - 1.0) * (a + 2.0 * m));
        let odd = -(a + m) * (a + b + m) * x / ((a + 2.0 * m) * (a + 2.0 * m + 1.0));
        let mut step = 1.0;
        for term in [even, odd] {
            d = 1.0 / away_from_zero(1.0 + term * d);
            c = away_from_zero(1.0 + term / c);
            step = d * c;
            product *= step;
        }
        if (step - 1.0).abs() < 1e-14 {
            break;
        }
    }
    product
}

/// The logarithm of the gamma function for `x` > 0 (Lanczos, g = 7, nine terms: 15 digits).
fn ln_gamma(x: f64) -> f64 {
    const TERMS: [f64; 8] = [
        676.520_368_121_885_1,
        -1_259.139_216_722_402_8,
        771.323_428_777_653_1,
        -176.615_029_162_140_6,
        12.507_343_278_686_905,
        -0.138_571_095_265_720_12,
        9.984_369_578_019_572e-6,
        1.505_632_735_149_311_6e-7,
    ];
    let x = x - 1.0;
    let terms = (1..).zip(TERMS);
    let sum = terms.fold(0.999_999_999_999_809_9, |sum, (at, term)| {
        sum + term / (x + f64::from(at))
    });
    let t = x + 7.5;
    0.5 * (2.0 * PI).ln() + (x + 0.5) * t.ln() - t + sum.ln()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn near(a: f64, b: f64, within: f64) -> bool {
        (a - b).abs() <= within
    }

    #[test]
    fn students_quantiles_agree_with_published_tables() {
        // NIST/SEMATECH e-Handbook, 1.3.6.7.2; the column of 0.025 above.
        for (degrees, expected) in [
            (1.0, 12.706),
            (2.0, 4.303),
            (4.0, 2.776),
            (6.0, 2.447),
            (15.0, 2.131),
            (30.0, 2.042),
            (100_000.0, 1.960),
        ] {
            assert!(
                near(student_quantile(0.05, degrees), expected, 0.0006),
                "{degrees}"
            );
        }
        // The same table, 0.001 above.
        assert!(near(student_quantile(0.002, 3.0), 10.215, 0.001));
        assert!(near(student_quantile(0.002, 10.0), 4.144, 0.001));
        assert!(near(student_tails(12.706, 1.0), 0.05, 1e-5));
        assert_eq!(student_tails(f64::INFINITY, 5.0), 0.0);
        assert!(near(student_tails(0.0, 5.0), 1.0, 1e-12));
    }

    #[test]
    fn the_normal_distribution_agrees_with_published_tables() {
        // NIST/SEMATECH e-Handbook, 1.3.6.7.1.
        for (z, expected) in [
            (0.0, 0.5),
            (-1.0, 0.158_66),
            (-1.96, 0.025),
            (1.0, 0.841_34),
        ] {
            assert!(near(normal_below(z), expected, 1e-5), "{z}");
        }
        assert!(near(normal_below(-3.0), 0.001_349_9, 1e-7));
        assert!(near(normal_above(0.025), 1.959_964, 1e-5));
        assert!(near(normal_above(0.9), -1.281_552, 1e-5));
    }

    #[test]
    fn the_binomial_distribution_agrees_with_a_sum_by_hand() {
        // 1 + 10 + 45 of the 1,024 outcomes of ten coins have at most two heads.
        assert!(near(binomial_at_most(2, 10, 0.5), 56.0 / 1024.0, 1e-12));
        assert!(near(
            binomial_at_most(0, 298, 0.01),
            0.99_f64.powi(298),
            1e-12
        ));
        assert_eq!(binomial_at_most(10, 10, 0.5), 1.0);
    }
}
