//! Which seed the load of a round has: when its requests arrive, and what each of them asks.
//!
//! One seed for all rounds would bring the same arrivals in each of them. What is peculiar to that
//! one draw would then be in every round alike, and no interval over rounds would contain it. So
//! each round draws anew. Rows are compared within a round, so all rows of a round have its seed:
//! what the arrivals do to one, they do to all.
//!
//! In a closed loop the answers arrive in step: all connections send at once, a server that works
//! through them answers them at once, and so on. A window that always opened after the same time
//! would catch the same part of that rhythm in every round, and count a whole volley too few or too
//! many of a server with that speed: 16 answers of 560 in a quarter of a second. So the window
//! opens at a random moment. Its expectation is then the rate, whatever the rhythm, and what is
//! left is noise that the intervals see.

use std::time::Duration;

use load::Plan;
use load::schedule::Schedule;
use statistics::Random;

/// Up to which share of its length a window of a closed loop opens later, drawn for each round:
/// more than any rhythm that a window can resolve to a tenth of what it counts.
const LATER_MAX: f64 = 0.1;

/// Seeds stay below 2^53: whoever reads the JSON with floating-point numbers reads them exactly.
const BITS: u32 = 53;

/// The seed of the load of a `round`, from 1, in its `phase`, from 0.
pub fn seed(comparison: u64, round: u32, phase: usize) -> u64 {
    drawn(drawn(comparison, u64::from(round)), phase as u64)
}

/// The plan as it is carried out in a `round` and its `phase`: with a seed of its own and, in a
/// closed loop, with a window that opens at a moment of its own.
pub fn drawn_for(plan: Plan, comparison: u64, round: u32, phase: usize) -> Plan {
    let seed = seed(comparison, round, phase);
    let mut plan = Plan { seed, ..plan };
    if matches!(plan.schedule, Schedule::Closed) {
        let window_s = plan.duration_s.unwrap_or(0.0);
        plan.warm_up_s += window_s * LATER_MAX * Random::new(!seed).unit();
    }
    plan
}

/// How much later a window of this length opens on average, if its load is a closed loop.
pub fn later(window: Duration) -> Duration {
    window.mul_f64(LATER_MAX / 2.0)
}

/// The seed of a sweep's point, which is a comparison of its own.
pub fn seed_of_point(sweep: u64, point: usize) -> u64 {
    // From the other end than rounds, so that no point has the seed of one of the first's rounds.
    drawn(!sweep, point as u64)
}

/// The seed with this number among those that follow from `seed`.
fn drawn(seed: u64, number: u64) -> u64 {
    let mixed = Random::new(seed).draw();
    Random::new(mixed ^ number).draw() >> (u64::BITS - BITS)
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use super::*;

    #[test]
    fn every_round_phase_and_point_draws_arrivals_of_its_own() {
        let mut seen = BTreeSet::new();
        for comparison in 1..=20 {
            for (round, phase) in (1..=50).flat_map(|round| (0..4).map(move |at| (round, at))) {
                assert!(
                    seen.insert(seed(comparison, round, phase)),
                    "{round} {phase}"
                );
            }
            for point in 0..64 {
                assert!(seen.insert(seed_of_point(comparison, point)), "{point}");
            }
        }
        assert!(seen.iter().all(|seed| *seed < 1 << BITS));
    }

    /// A server that answers 16 connections at once, every few milliseconds.
    #[test]
    fn answers_in_step_are_counted_as_often_as_they_come() {
        let plan = |warm_up_s| Plan {
            schedule: Schedule::Closed,
            warm_up_s,
            duration_s: Some(0.25),
            ..Plan::new("http://127.0.0.1:1/").expect("a URL")
        };
        let volleys = |plan: &Plan, period_s: f64| {
            let opens = plan.warm_up_s / period_s;
            let closes = (plan.warm_up_s + 0.25) / period_s;
            closes.floor() - opens.floor()
        };
        let (mut fixed_worst, mut drawn_worst) = (0.0_f64, 0.0_f64);
        for period_us in (2_000..9_000).step_by(50) {
            let period_s = f64::from(period_us) / 1e6;
            let due = 0.25 / period_s;
            let rounds = 400;
            let counted: f64 = (1..=rounds)
                .map(|round| volleys(&drawn_for(plan(0.05), 1, round, 0), period_s))
                .sum();
            let off = |counted: f64| (counted / due - 1.0).abs();
            fixed_worst = fixed_worst.max(off(volleys(&plan(0.05), period_s)));
            drawn_worst = drawn_worst.max(off(counted / f64::from(rounds)));
        }
        assert!(fixed_worst > 0.02, "{fixed_worst}");
        assert!(drawn_worst < 0.004, "{drawn_worst}");
    }

    #[test]
    fn rows_of_a_round_open_their_windows_alike_and_no_open_loop_waits() {
        let closed = Plan::new("http://127.0.0.1:1/").expect("a URL");
        let one = drawn_for(closed.clone(), 7, 3, 0);
        assert_eq!(one.warm_up_s, drawn_for(closed.clone(), 7, 3, 0).warm_up_s);
        assert_ne!(one.warm_up_s, drawn_for(closed.clone(), 7, 4, 0).warm_up_s);
        let open = Plan {
            schedule: Schedule::Poisson { rate: 1000.0 },
            ..closed
        };
        assert_eq!(drawn_for(open.clone(), 7, 3, 0).warm_up_s, open.warm_up_s);
    }

    #[test]
    fn a_round_has_the_same_seed_when_it_is_made_again() {
        assert_eq!(seed(7, 3, 1), seed(7, 3, 1));
        assert_eq!(seed_of_point(7, 3), seed_of_point(7, 3));
    }
}
