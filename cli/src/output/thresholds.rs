//! Thresholds, as talk: each with what was measured.

use load::check::{self, Figure, Threshold};

use super::terminal::{self, Paint};

/// Says how each threshold was met or crossed, and whether any was crossed.
pub(crate) fn say_crossed<F: Figure>(
    thresholds: &[Threshold<F>],
    record: &F::Record,
    paint: Paint,
) -> bool {
    let outcomes = check::evaluate(thresholds, record);
    for outcome in &outcomes {
        let word = if outcome.ok {
            paint.good("holds")
        } else {
            paint.error("crossed")
        };
        let measured = outcome.measured.as_deref().unwrap_or("nothing");
        terminal::say(&format!(
            "threshold {} {word}: measured {measured}",
            outcome.threshold
        ));
    }
    outcomes.iter().any(|outcome| !outcome.ok)
}
