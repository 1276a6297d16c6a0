//! Ways to cut an input into pieces, for machines that must not notice.

use crate::random::Random;

/// One way, and its name for a failed assertion.
pub(crate) type Chopping<'i> = (String, Vec<&'i [u8]>);

/// Byte by byte, in halves cut everywhere near the beginning, and in random pieces.
pub(crate) fn every_chopping(input: &[u8], seed: u64) -> Vec<Chopping<'_>> {
    let mut all = some_choppings(input, seed);
    all.extend((0..input.len().min(400)).map(|at| {
        let (a, b) = input.split_at(at);
        (format!("cut at {at}"), vec![a, b])
    }));
    all.extend((1..16).map(|round| random_chopping(input, seed.wrapping_add(round))));
    all
}

/// Byte by byte, and once in random pieces: for where there are many inputs.
pub(crate) fn some_choppings(input: &[u8], seed: u64) -> Vec<Chopping<'_>> {
    let bytes = ("byte by byte".to_owned(), input.chunks(1).collect());
    vec![bytes, random_chopping(input, seed)]
}

fn random_chopping(mut input: &[u8], seed: u64) -> Chopping<'_> {
    let mut random = Random::seeded(seed);
    let mut pieces = Vec::new();
    while !input.is_empty() {
        // Mostly short pieces, now and then a long one, now and then none.
        let longest = if random.index(8) == 0 { 64 } else { 6 };
        let (piece, rest) = input.split_at(input.len().min(random.index(longest)));
        pieces.push(piece);
        input = rest;
    }
    (format!("random pieces, seed {seed}"), pieces)
}
