//! Figures of a distribution of times: quantiles, the mean and the ends.

use measure::histogram::Histogram;
use measure::record::{Moved, Stall, Times};

use super::{left_at, within};
use crate::Record;
use crate::lateness::figure_above;

/// A figure of a distribution of times.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum OfTimes {
    /// The time below which this share of the exchanges took.
    Quantile(f64),
    /// The arithmetic mean.
    Mean,
    /// The shortest.
    Min,
    /// The longest.
    Max,
}

impl OfTimes {
    /// What it is at least without a stall of ours. That delays no more than what was under way
    /// and, in an open loop, what fell due meanwhile; each of it by the stall's length at most.
    pub(super) fn without(
        self,
        stall: &Stall,
        record: &Record,
        measured: f64,
        times: &Histogram,
    ) -> Option<f64> {
        let plan = &record.plan;
        let count = times.count() as f64;
        let due = record.offered_rate.unwrap_or(0.0) * within(stall, record.duration_s);
        let under_way = f64::from(plan.connections) * f64::from(plan.depth());
        let under_way = under_way.min(left_at(stall, record));
        let share = ((under_way + due) / count).min(1.0);
        let stall_ns = stall.length_us * 1000.0;
        let q = match self {
            _ if count == 0.0 => return None,
            OfTimes::Min => return None,
            OfTimes::Mean => return Some((measured - stall_ns * share).max(0.0)),
            OfTimes::Max => 1.0,
            OfTimes::Quantile(q) => q,
        };
        // All that it may have delayed lies above what it has not.
        let rest = times.quantile(q * (1.0 - share)) as f64;
        Some((measured - stall_ns).max(rest).min(measured))
    }

    /// `p99.9`, as records have it `p99_9`, `mean`, `min`, `max` or `median`.
    pub fn read(name: &str) -> Option<OfTimes> {
        Some(match name {
            "mean" | "avg" => OfTimes::Mean,
            "min" => OfTimes::Min,
            "max" => OfTimes::Max,
            "med" | "median" => OfTimes::Quantile(0.5),
            _ => {
                let percent = name.strip_prefix('p')?.replacen('_', ".", 1);
                let percent: f64 = percent.parse().ok()?;
                if !(0.0..=100.0).contains(&percent) {
                    return None;
                }
                OfTimes::Quantile(percent / 100.0)
            }
        })
    }

    /// How a percentile is written that somebody writes without its point, as other tools do:
    /// `p999` is `p99.9`. None where it's no such name.
    pub(super) fn with_point(name: &str) -> Option<String> {
        let digits = name.strip_prefix('p').filter(|digits| digits.len() > 2)?;
        let is_number = digits.bytes().all(|byte| byte.is_ascii_digit());
        let name = format!("p{}.{}", &digits[..2], &digits[2..]);
        (is_number && digits != "100").then_some(name)
    }

    /// Whether so many lower bounds of all samples reach it.
    pub(super) fn is_bound(self, censored: u64, all: u64) -> bool {
        match self {
            OfTimes::Min => false,
            OfTimes::Mean | OfTimes::Max => censored > 0,
            OfTimes::Quantile(q) => censored as f64 > (1.0 - q) * all as f64,
        }
    }

    /// Whether it does not mean what it says where the figure of that name doesn't.
    fn is_spoiled_by(self, name: &str) -> bool {
        match self {
            OfTimes::Mean => name == "mean",
            OfTimes::Min => false,
            OfTimes::Max => name == "max",
            OfTimes::Quantile(q) => name == figure_above(q),
        }
    }

    /// How lateness moved it, if it did by more than it is precise.
    pub(super) fn moved(self, void: &[Moved]) -> Option<&Moved> {
        void.iter().find(|one| self.is_spoiled_by(&one.figure))
    }

    /// Its value in nanoseconds, from the summary or from the whole `histogram`.
    pub fn measure_ns(self, times: &Times, histogram: &str) -> Option<f64> {
        match self {
            OfTimes::Mean => Some(times.mean? * 1000.0),
            OfTimes::Min => Some(times.min? * 1000.0),
            OfTimes::Max => Some(times.max? * 1000.0),
            OfTimes::Quantile(q) => {
                let histogram = Histogram::from_hdr_v2_base64(histogram).ok()?;
                (!histogram.is_empty()).then(|| histogram.quantile(q) as f64)
            }
        }
    }
}
