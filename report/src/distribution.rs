//! How long exchanges took, all rounds of a row, or of one of its requests, together: their
//! histograms merged, never their percentiles averaged.

use measure::histogram::Histogram;
use schemars::JsonSchema;
use serde::Serialize;

/// Points for each nine of a percentile.
const POINTS_PER_NINE: u32 = 12;
/// The most nines that are looked at.
const NINES_MAX: u32 = 7;
/// A quantile is shown only if at least this many exchanges are expected beyond it: with fewer
/// than -ln 0.05 its upper bound at 95 % is beyond the largest of them.
const BEYOND_MIN: f64 = 3.0;

/// The distribution of a row's response times.
#[derive(Clone, Debug, PartialEq, Serialize, JsonSchema)]
pub struct Distribution {
    /// How many exchanges it is of.
    pub exchanges: u64,
    /// From the first tenth to the last quantile that so many exchanges allow.
    pub quantiles: Vec<Quantile>,
}

/// A quantile of the response time.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, JsonSchema)]
pub struct Quantile {
    /// The share of exchanges, from 0 to below 1.
    pub share: f64,
    /// The time within which they were done, in microseconds.
    pub us: f64,
}

impl Distribution {
    /// Of histograms as records have them; nothing where there are none, or where one is damaged: a
    /// part would pass for the whole.
    pub(super) fn of<'a>(histograms: impl Iterator<Item = &'a str>) -> Option<Distribution> {
        let mut whole = Histogram::new();
        for text in histograms {
            whole.merge(&Histogram::from_hdr_v2_base64(text).ok()?);
        }
        if whole.is_empty() {
            return None;
        }
        let shown = |share: &f64| (1.0 - share) * whole.count() as f64 >= BEYOND_MIN;
        let quantile = |share: f64| Quantile {
            share,
            us: whole.quantile(share) as f64 / 1000.0,
        };
        Some(Distribution {
            exchanges: whole.count(),
            quantiles: shares().filter(shown).map(quantile).collect(),
        })
    }

    /// The points of its curve.
    pub(super) fn points(&self) -> Vec<(f64, f64)> {
        let point = |quantile: &Quantile| (quantile.share, quantile.us);
        self.quantiles.iter().map(point).collect()
    }
}

/// Shares that are equally far apart on the axis, each whole nine among them, and the median. They
/// begin at a tenth: the few shortest times would take half of the plot, and say little.
fn shares() -> impl Iterator<Item = f64> {
    let step = |at: u32| 1.0 - 10_f64.powf(-f64::from(at) / f64::from(POINTS_PER_NINE));
    let before_median = (1..POINTS_PER_NINE)
        .map(step)
        .take_while(|share| *share < 0.5);
    let after_median = (1..=POINTS_PER_NINE * NINES_MAX)
        .map(step)
        .skip_while(|share| *share <= 0.5);
    before_median.chain([0.5]).chain(after_median)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn shares_rise_and_hold_the_ones_that_people_ask_for() {
        let shares: Vec<f64> = shares().collect();
        assert!(
            shares.windows(2).all(|pair| pair[0] < pair[1]),
            "{shares:?}"
        );
        for wanted in [0.5, 0.9, 0.99, 0.999, 0.9999] {
            let near = |share: &&f64| (**share - wanted).abs() < 1e-9;
            assert!(shares.iter().any(|share| near(&share)), "{wanted}");
        }
    }
}
