//! A small seeded generator for tests: SplitMix64 (Steele, Lea, Flood 2014).

/// The same seed gives the same numbers.
pub(crate) struct Random(pub(crate) u64);

impl Random {
    /// The next 64 bits.
    pub(crate) fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut z = self.0;
        z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        z ^ (z >> 31)
    }

    /// A number below `bound`, which is not zero.
    pub(crate) fn below(&mut self, bound: u64) -> u64 {
        self.next() % bound
    }

    /// A length in nanoseconds, every order of magnitude up to 2^`bits` alike.
    pub(crate) fn length(&mut self, bits: u64) -> u64 {
        let power = self.below(bits) + 1;
        self.below(1 << power)
    }
}
