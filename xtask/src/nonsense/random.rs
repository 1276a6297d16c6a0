//! What nonsense draws from its seeds.

use measure::random;

/// A stream of random numbers.
#[derive(Clone, Debug)]
pub(super) struct Random(random::Random);

impl Random {
    /// The `stream`-th independent stream of a seed.
    pub(super) fn new(seed: u64, stream: u64) -> Random {
        Random(random::Random::new(seed, stream))
    }

    /// 64 random bits.
    pub(super) fn next(&mut self) -> u64 {
        self.0.next()
    }

    /// A number below `bound`; zero where there is none.
    pub(super) fn below(&mut self, bound: usize) -> usize {
        self.0.index(bound)
    }

    /// True once in `times`.
    pub(super) fn once_in(&mut self, times: usize) -> bool {
        self.below(times) == 0
    }

    /// One of `choices`, which are not empty.
    pub(super) fn pick<T: Copy>(&mut self, choices: &[T]) -> T {
        choices[self.below(choices.len())]
    }

    /// So many random bytes.
    pub(super) fn bytes(&mut self, count: usize) -> Vec<u8> {
        (0..count).map(|_| self.next() as u8).collect()
    }
}
