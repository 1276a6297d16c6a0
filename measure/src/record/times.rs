//! A distribution of times as a record sums it up.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::histogram::Histogram;

/// The summary of a distribution of times in microseconds; all null where there are no samples. All
/// percentiles are there; `count` tells which of them you can rely on.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[allow(missing_docs)] // The names are the explanation: pN_M is the N.M-th percentile.
pub struct Times {
    /// How many samples there are, censored ones included; null in older records. A percentile at
    /// the share q needs ln 0.05 ÷ ln q of them: 299 for p99, 2,995 for p99_9.
    #[serde(default)]
    pub count: Option<u64>,
    pub min: Option<f64>,
    pub mean: Option<f64>,
    pub p50: Option<f64>,
    pub p75: Option<f64>,
    pub p90: Option<f64>,
    /// Null in older records.
    #[serde(default)]
    pub p95: Option<f64>,
    pub p99: Option<f64>,
    pub p99_9: Option<f64>,
    pub p99_99: Option<f64>,
    pub max: Option<f64>,
}

impl Times {
    /// The summary of `histogram`, whose values are nanoseconds.
    pub fn of(histogram: &Histogram) -> Times {
        if histogram.is_empty() {
            return Times::default();
        }
        let us = |nanoseconds: u64| Some(nanoseconds as f64 / 1000.0);
        Times {
            count: Some(histogram.count()),
            min: us(histogram.min()),
            mean: Some(histogram.mean() / 1000.0),
            p50: us(histogram.quantile(0.50)),
            p75: us(histogram.quantile(0.75)),
            p90: us(histogram.quantile(0.90)),
            p95: us(histogram.quantile(0.95)),
            p99: us(histogram.quantile(0.99)),
            p99_9: us(histogram.quantile(0.999)),
            p99_99: us(histogram.quantile(0.9999)),
            max: us(histogram.max()),
        }
    }
}
