//! Seeded randomness: SplitMix64 (Steele, Lea, Flood, OOPSLA 2014), small, fast and the same on
//! every machine and in every version, so that a seed in a record, or in a test that failed, brings
//! the same run back.

/// A stream of random numbers. The same seed gives the same numbers.
#[derive(Clone, Debug)]
pub struct Random(u64);

impl Random {
    /// The stream of a seed.
    pub fn seeded(seed: u64) -> Random {
        Random(seed)
    }

    /// The `stream`-th independent stream of a seed.
    pub fn new(seed: u64, stream: u64) -> Random {
        let mut random = Random(seed ^ stream.wrapping_mul(0xd134_2543_de82_ef95));
        random.next();
        random
    }

    /// 64 random bits.
    #[expect(
        clippy::should_implement_trait,
        reason = "it never ends, and is no iterator"
    )]
    pub fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut z = self.0;
        z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        z ^ (z >> 31)
    }

    /// A number below `bound`, by multiplication (Lemire 2019); its bias is below `bound` / 2^64.
    /// Zero where there is none.
    pub fn below(&mut self, bound: u64) -> u64 {
        ((u128::from(self.next()) * u128::from(bound)) >> 64) as u64
    }

    /// The same for a place in a list.
    pub fn index(&mut self, bound: usize) -> usize {
        self.below(bound as u64) as usize
    }

    /// Even in [0, 1).
    pub fn unit(&mut self) -> f64 {
        (self.next() >> 11) as f64 / (1u64 << 53) as f64
    }

    /// Exponential with mean one.
    pub fn exponential(&mut self) -> f64 {
        -(1.0 - self.unit()).ln()
    }

    /// A length in nanoseconds, every order of magnitude up to 2^`bits` alike.
    pub fn length(&mut self, bits: u64) -> u64 {
        let power = self.below(bits) + 1;
        self.below(1 << power)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_numbers_are_those_of_the_published_generator() {
        // The first of the reference implementation for this seed.
        let mut random = Random::seeded(1_234_567);
        let expected = [
            6_457_827_717_110_365_317,
            3_203_168_211_198_807_973,
            9_817_491_932_198_370_423,
        ];
        assert_eq!([(); 3].map(|()| random.next()), expected);
    }

    #[test]
    fn a_number_below_a_bound_is_the_share_of_it_that_was_drawn() {
        let shares = [6_457_827_717_110_365_317_u64, 3_203_168_211_198_807_973];
        let mut random = Random::seeded(1_234_567);
        let expected = shares.map(|share| share / (u64::MAX / 1000));
        assert_eq!([(); 2].map(|()| random.below(1000)), expected);
        assert_eq!((random.below(1), random.below(0)), (0, 0));
    }
}
