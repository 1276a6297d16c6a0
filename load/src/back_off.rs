//! How long to wait before a connection is tried again: twice as long each time, up to a bound,
//! and never quite the same, so that those who lost their peer together do not come back together.

use measure::random::Random;

/// The law of the waits.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct BackOff {
    pub first_ns: u64,
    pub most_ns: u64,
}

impl BackOff {
    /// The wait before the `nth` attempt of those that wait, from 0: `first · 2ⁿ`, at most `most`,
    /// and that times 0.75 to 1.25.
    pub(crate) fn wait_ns(self, nth: u32, random: &mut Random) -> u64 {
        let doubled = self.first_ns.saturating_mul(1u64 << nth.min(40));
        let jitter = 0.75 + random.unit() / 2.0;
        (doubled.min(self.most_ns) as f64 * jitter) as u64
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const LAW: BackOff = BackOff {
        first_ns: 100_000_000,
        most_ns: 30_000_000_000,
    };

    #[test]
    fn waits_double_up_to_the_bound_and_stay_within_a_quarter_of_the_law() {
        let mut random = Random::new(7, 0);
        for nth in [0, 1, 2, 5, 8, 9, 30, u32::MAX] {
            let law = (100_000_000u64 << nth.min(20)).min(30_000_000_000) as f64;
            let waits: Vec<f64> = (0..1000)
                .map(|_| LAW.wait_ns(nth, &mut random) as f64 / law)
                .collect();
            assert!(
                waits.iter().all(|wait| (0.75..1.25).contains(wait)),
                "{nth}"
            );
            let mean = waits.iter().sum::<f64>() / 1000.0;
            assert!((mean - 1.0).abs() < 0.02, "attempt {nth}: {mean}");
            let spread = waits.iter().filter(|wait| **wait < 0.9).count();
            assert!(spread > 200, "attempt {nth}: {spread}");
        }
    }

    #[test]
    fn a_seed_brings_the_same_waits_back() {
        let waits = |seed| {
            let mut random = Random::new(seed, 1);
            [0, 1, 2, 3].map(|nth| LAW.wait_ns(nth, &mut random))
        };
        assert_eq!(waits(1), waits(1));
        assert_ne!(waits(1), waits(2));
    }
}
