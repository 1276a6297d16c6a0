//! Which seed the load of a round has: when its requests arrive, and what each of them asks.
//!
//! One seed for all rounds would bring the same arrivals in each of them. What is peculiar to that
//! one draw would then be in every round alike, and no interval over rounds would contain it. So
//! each round draws anew. Rows are compared within a round, so all rows of a round have its seed:
//! what the arrivals do to one, they do to all.

use statistics::Random;

/// Seeds stay below 2^53: whoever reads the JSON with floating-point numbers reads them exactly.
const BITS: u32 = 53;

/// The seed of the load of a `round`, from 1, in its `phase`, from 0.
pub(crate) fn seed(comparison: u64, round: u32, phase: usize) -> u64 {
    drawn(drawn(comparison, u64::from(round)), phase as u64)
}

/// The seed of a sweep's point, which is a comparison of its own.
pub(crate) fn seed_of_point(sweep: u64, point: usize) -> u64 {
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

    #[test]
    fn a_round_has_the_same_seed_when_it_is_made_again() {
        assert_eq!(seed(7, 3, 1), seed(7, 3, 1));
        assert_eq!(seed_of_point(7, 3), seed_of_point(7, 3));
    }
}
