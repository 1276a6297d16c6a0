//! When the first event of a stream comes.

use std::time::Duration;

use measure::random::Random;

use super::{nanoseconds, parameter};

/// How long it takes until it comes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Law {
    Constant(Duration),
    /// Exponentially distributed, with this mean.
    Exponential(Duration),
    /// Evenly distributed between the two.
    Even(Duration, Duration),
}

impl Law {
    /// Reads `200ms`, `exp:200ms` or `100ms..300ms`.
    pub(super) fn read(text: &str) -> Result<Law, String> {
        if let Some(mean) = text.strip_prefix("exp:") {
            return Ok(Law::Exponential(parameter::duration(mean)?));
        }
        let Some((least, most)) = text.split_once("..") else {
            return Ok(Law::Constant(parameter::duration(text)?));
        };
        let (least, most) = (parameter::duration(least)?, parameter::duration(most)?);
        match least <= most {
            true => Ok(Law::Even(least, most)),
            false => Err(format!("\"{text}\" ends before it begins\n")),
        }
    }

    /// One that is drawn, in nanoseconds.
    pub(super) fn draw_ns(self, random: &mut Random) -> u64 {
        match self {
            Law::Constant(length) => nanoseconds(length),
            Law::Exponential(mean) => (nanoseconds(mean) as f64 * random.exponential()) as u64,
            Law::Even(least, most) => {
                let least = nanoseconds(least);
                least + random.below(nanoseconds(most) - least + 1)
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn laws_are_read_and_drawn_from() {
        let ms = Duration::from_millis;
        assert_eq!(Law::read("200ms"), Ok(Law::Constant(ms(200))));
        assert_eq!(Law::read("exp:0.2s"), Ok(Law::Exponential(ms(200))));
        assert_eq!(Law::read("1ms..3ms"), Ok(Law::Even(ms(1), ms(3))));
        for wrong in ["", "exp:", "3ms..1ms", "soon", "2h..3h", "exp:2h"] {
            assert!(Law::read(wrong).is_err(), "{wrong}");
        }
        let mut random = Random::seeded(3);
        let mut mean_ns = |law: Law| {
            let drawn: u64 = (0..20_000).map(|_| law.draw_ns(&mut random)).sum();
            drawn as f64 / 20_000.0
        };
        let second_ns = 1e9;
        assert_eq!(mean_ns(Law::Constant(ms(1_000))), second_ns);
        let mean = mean_ns(Law::Exponential(ms(1_000))) / second_ns;
        assert!((0.97..1.03).contains(&mean), "{mean}");
        let mean = mean_ns(Law::Even(ms(500), ms(1_500))) / second_ns;
        assert!((0.97..1.03).contains(&mean), "{mean}");
    }
}
