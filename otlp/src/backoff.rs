//! When somebody who failed is asked again: exponential back-off with jitter, or when the receiver
//! says (OTLP, *OTLP/HTTP Throttling*).

use std::time::Duration;

use measure::random::Random;
use measure::time::Time;

/// The first wait.
const FIRST: Duration = Duration::from_millis(500);
/// The longest wait of ours; a receiver may ask for a longer one.
const LONGEST: Duration = Duration::from_secs(30);

#[derive(Debug)]
pub(crate) struct BackOff {
    failures: u32,
    next: Time,
    /// The receiver has named that time.
    is_told: bool,
    random: Random,
}

impl BackOff {
    /// Nothing has failed yet.
    pub(crate) fn new(seed: u64) -> BackOff {
        BackOff {
            failures: 0,
            next: Time(0),
            is_told: false,
            random: Random::seeded(seed),
        }
    }

    /// When to ask next.
    pub(crate) fn next(&self) -> Time {
        self.next
    }

    /// It went well.
    pub(crate) fn reset(&mut self) {
        (self.failures, self.next, self.is_told) = (0, Time(0), false);
    }

    /// Little time is left: what we have chosen to wait isn't waited.
    pub(crate) fn hurry(&mut self) {
        if !self.is_told {
            self.reset();
        }
    }

    /// It failed at `now`, and perhaps we were told how long to wait.
    pub(crate) fn failed(&mut self, now: Time, told: Option<Duration>) {
        let doubled = FIRST.saturating_mul(1 << self.failures.min(16));
        let jitter = 0.75 + self.random.unit() / 2.0;
        self.failures += 1;
        self.is_told = told.is_some();
        self.next = now + told.unwrap_or_else(|| doubled.min(LONGEST).mul_f64(jitter));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn waits_double_to_a_bound_and_a_receiver_may_ask_for_its_own() {
        let now = Time(1_000_000_000);
        let mut back_off = BackOff::new(7);
        for doubled in [0.5, 1.0, 2.0, 4.0, 8.0, 16.0, 30.0, 30.0] {
            back_off.failed(now, None);
            let waited = (back_off.next() - now).as_secs_f64() / doubled;
            assert!((0.75..1.25).contains(&waited), "{doubled}: {waited}");
        }
        back_off.failed(now, Some(Duration::from_secs(90)));
        back_off.hurry();
        assert_eq!(back_off.next() - now, Duration::from_secs(90));
        back_off.failed(now, None);
        back_off.hurry();
        assert!(back_off.next() <= now);
    }
}
