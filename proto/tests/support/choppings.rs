//! Ways to cut an input into pieces, for machines that must not notice.

/// One way, and its name for a failed assertion.
pub(crate) type Chopping<'i> = (String, Vec<&'i [u8]>);

/// Byte by byte, in halves cut everywhere near the beginning, and in random pieces.
pub(crate) fn every_chopping(input: &[u8], seed: u64) -> Vec<Chopping<'_>> {
    let mut all = vec![("byte by byte".to_owned(), input.chunks(1).collect())];
    all.extend((0..input.len().min(400)).map(|at| {
        let (a, b) = input.split_at(at);
        (format!("cut at {at}"), vec![a, b])
    }));
    all.extend((0..16).map(|round| random_chopping(input, seed.wrapping_add(round))));
    all
}

fn random_chopping(mut input: &[u8], seed: u64) -> Chopping<'_> {
    let mut random = Random(seed);
    let mut pieces = Vec::new();
    while !input.is_empty() {
        // Mostly short pieces, now and then a long one, now and then none.
        let longest = if random.below(8) == 0 { 64 } else { 6 };
        let (piece, rest) = input.split_at(input.len().min(random.below(longest) as usize));
        pieces.push(piece);
        input = rest;
    }
    (format!("random pieces, seed {seed}"), pieces)
}

/// SplitMix64 (Steele, Lea, Flood 2014): the same seed gives the same numbers.
pub(crate) struct Random(pub(crate) u64);

impl Random {
    /// A number below `bound`, which is not zero.
    pub(crate) fn below(&mut self, bound: u64) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut mixed = self.0;
        mixed = (mixed ^ (mixed >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        (mixed ^ (mixed >> 31)) % bound
    }
}
