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
    let mut state = seed;
    let mut pieces = Vec::new();
    while !input.is_empty() {
        // SplitMix64, of which the low bits are as good as the high ones.
        state = state.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut mixed = state;
        mixed = (mixed ^ (mixed >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        mixed ^= mixed >> 31;
        // Mostly short pieces, now and then a long one, now and then none.
        let longest = if mixed & 7 == 0 { 64 } else { 6 };
        let (piece, rest) = input.split_at(input.len().min((mixed >> 8) as usize % longest));
        pieces.push(piece);
        input = rest;
    }
    (format!("random pieces, seed {seed}"), pieces)
}
