//! What statistics draws from a seed.

use measure::random;

/// A stream of random numbers.
#[derive(Clone, Debug)]
pub struct Random(random::Random);

impl Random {
    /// The one that this seed decides.
    pub fn new(seed: u64) -> Random {
        Random(random::Random::seeded(seed))
    }

    /// The next number, any of 64 bits.
    pub fn draw(&mut self) -> u64 {
        self.0.next()
    }

    /// A number below `bound`.
    pub fn below(&mut self, bound: usize) -> usize {
        self.0.index(bound)
    }

    /// Puts `items` into a random order (Fisher and Yates).
    pub fn shuffle<T>(&mut self, items: &mut [T]) {
        for last in (1..items.len()).rev() {
            items.swap(last, self.below(last + 1));
        }
    }

    /// A number from 0 to 1, without 0.
    pub fn unit(&mut self) -> f64 {
        ((self.draw() >> 11) + 1) as f64 / (1_u64 << 53) as f64
    }

    /// A standard normal number (Box and Muller).
    pub fn normal(&mut self) -> f64 {
        let (a, b) = (self.unit(), self.unit());
        (-2.0 * a.ln()).sqrt() * (std::f64::consts::TAU * b).cos()
    }
}

#[cfg(test)]
impl Random {
    /// A normal number that is ten times as wide in one of ten draws: what a neighbour who comes
    /// and goes does to rounds.
    pub(super) fn bursty(&mut self) -> f64 {
        let wide = self.below(10) == 0;
        self.normal() * if wide { 10.0 } else { 1.0 }
    }
}
