//! The course of a comparison: when each round of a row was, and how far it was from the middle of
//! the row's rounds. What drifts, jumps or stands out is seen here and nowhere else.

use lab::round::Round;
use lab::verdict::Metric;
use schemars::JsonSchema;
use serde::Serialize;
use statistics::Spread;

/// One round of a row on the time of the whole comparison.
#[derive(Clone, Debug, PartialEq, Serialize, JsonSchema)]
pub struct Lap {
    /// The round, from 1.
    pub round: u32,
    /// Which start of the row's processes it was measured on, from 1.
    pub start: u32,
    /// When it began, in seconds from the first round of the comparison.
    pub at_s: f64,
    /// Whether it counts.
    pub counts: bool,
    /// What is compared, in this round.
    pub figure: f64,
    /// Mean memory in it, in bytes.
    pub memory_mean_bytes: Option<u64>,
    /// What each connection took beyond the idle memory, in bytes.
    pub memory_per_connection_bytes: Option<u64>,
    /// Completed exchanges a second over the round, by seconds from its begin; empty where the
    /// window is too short for that.
    pub rates: Vec<(f64, f64)>,
}

impl Lap {
    /// The laps of a row, in their order. Rounds without the figure that is compared are left out.
    pub(super) fn all<'a>(
        rounds: impl Iterator<Item = &'a Round>,
        began_unix_s: u64,
        metric: Metric,
    ) -> Vec<Lap> {
        let lap = |round: &Round| {
            Some(Lap {
                round: round.round,
                start: round.start,
                at_s: round.began_unix_s.saturating_sub(began_unix_s) as f64,
                counts: round.sample.void().is_none(),
                figure: metric.of(&round.sample)?,
                memory_mean_bytes: round.watched.subject.memory_mean_bytes,
                memory_per_connection_bytes: round.watched.subject.memory_per_connection_bytes,
                rates: rates(round),
            })
        };
        rounds.filter_map(lap).collect()
    }
}

/// The middle of the laps that count: what the others are far from or near to.
pub(super) fn middle(laps: &[Lap]) -> Option<f64> {
    let counting = laps.iter().filter(|lap| lap.counts).map(|lap| lap.figure);
    Spread::of(counting)
        .map(|spread| spread.median)
        .filter(|median| *median > 0.0)
}

/// The rate in each whole second of a round.
fn rates(round: &Round) -> Vec<(f64, f64)> {
    let series = round.record.iter().flat_map(|record| &record.series);
    // The last row of a window is as short as what was left of it, and then says little.
    let whole = series.filter(|row| row.seconds > 0.5);
    let rates: Vec<(f64, f64)> = whole
        .map(|row| {
            (
                row.at_s + row.seconds / 2.0,
                row.completed as f64 / row.seconds,
            )
        })
        .collect();
    if rates.len() > 1 { rates } else { Vec::new() }
}
