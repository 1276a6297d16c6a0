//! Numbers from a seed: SplitMix64 (Steele, Lea, Flood 2014).

/// The same seed gives the same numbers.
pub(crate) struct Random(pub(crate) u64);

impl Random {
    /// A number below `bound`, which is not zero.
    pub(crate) fn below(&mut self, bound: usize) -> usize {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut mixed = self.0;
        mixed = (mixed ^ (mixed >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        // The low bits are as good as the high ones.
        ((mixed ^ (mixed >> 31)) % bound as u64) as usize
    }
}
