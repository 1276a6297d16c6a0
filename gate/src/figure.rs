//! The figures that a gate may be about, which are those of a comparison, and how a gate speaks of
//! them.

use lab::judging::{Figure, at_equal_rate};
use statistics::format::{bytes, per_second, time_us};

/// How a gate speaks of a figure.
pub(crate) trait Spoken: Copy {
    /// Whether it is measured at one rate for both sides, if there is one.
    fn is_at_equal_rate(self) -> bool;

    /// Whether it is a size, of which more isn't slower.
    fn is_a_size(self) -> bool;

    /// What a side does with it, and what it is, around a ratio: `answers 0.99 × the requests of`.
    fn clause(self, ratio: &str, base: &str) -> String;

    /// A value of it with its unit.
    fn shown(self, value: f64) -> String;
}

impl Spoken for Figure {
    fn is_at_equal_rate(self) -> bool {
        at_equal_rate(self.metric())
    }

    fn is_a_size(self) -> bool {
        self == Figure::Memory
    }

    fn clause(self, ratio: &str, base: &str) -> String {
        match self {
            Figure::Rate => format!("answers {ratio} the requests of {base}"),
            other => format!("has {ratio} the {} of {base}", other.metric().name()),
        }
    }

    fn shown(self, value: f64) -> String {
        match self {
            Figure::Rate => per_second(value),
            Figure::Memory => bytes(value),
            Figure::Streamed(figure) if !figure.is_a_time() => per_second(value),
            Figure::Cpu
            | Figure::P50
            | Figure::P95
            | Figure::P99
            | Figure::Mean
            | Figure::Streamed(_) => time_us(value),
        }
    }
}
