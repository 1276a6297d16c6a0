//! The law of response times where a server stands still for a while again and again, and open
//! load comes on at a steady rate.
//!
//! A request that is due `u` after the start of a stall of length `L` waits for the rest of it,
//! `L − u`, and then for its turn behind the `rate × u` requests that came before it, which the
//! server works off at its capacity: `L − u + rate × u ÷ capacity = L − (1 − ρ) × u`, with
//! `ρ = rate ÷ capacity`. Those that are due after the stall, while the queue lasts, wait by the
//! same formula; at `u = L ÷ (1 − ρ)` nobody waits any more. So each stall spreads its waits evenly
//! over 0 to `L`, over a time of `L ÷ (1 − ρ)`, and of all requests of a window `T` a share
//! `Σ max(0, L − x) ÷ ((1 − ρ) × T)` waits longer than `x`. Which part of a second is the stall
//! does not matter as long as each stall, and the queue behind it, lies within the window.

/// Stalls of a server within a window of steady open load.
#[derive(Clone, Debug)]
pub(super) struct Stalls {
    /// How long each lasted.
    pub(super) lengths_s: Vec<f64>,
    /// The window of the measurement.
    pub(super) window_s: f64,
    /// Requests a second.
    pub(super) rate: f64,
    /// Requests a second that the server can work off; infinite in the ideal law.
    pub(super) capacity: f64,
}

impl Stalls {
    /// The ideal: stalls of exactly `length_s`, `count` of them, and a queue gone at once.
    pub(super) fn ideal(count: usize, length_s: f64, window_s: f64, rate: f64) -> Stalls {
        Stalls {
            lengths_s: vec![length_s; count],
            window_s,
            rate,
            capacity: f64::INFINITY,
        }
    }

    /// The response time in seconds that a share `q` of the requests does not exceed, without the
    /// time that an answer takes where nothing waits.
    pub(super) fn response_s(&self, q: f64) -> f64 {
        self.quantile(q, f64::INFINITY)
    }

    /// The same for the service time, from sent to done, where at most `connections` requests can
    /// be on their way: only those that were sent into the stall itself are long, and they are the
    /// first that were due in it.
    pub(super) fn service_s(&self, q: f64, connections: usize) -> f64 {
        self.quantile(q, connections as f64 / self.rate)
    }

    /// Looks for the time whose tail is `1 − q`, if only what is due in the first `reach_s` of each
    /// stall waits. The tail falls as the time grows, so halving finds it.
    fn quantile(&self, q: f64, reach_s: f64) -> f64 {
        let (mut low, mut high) = (0.0, self.lengths_s.iter().copied().fold(0.0, f64::max));
        for _ in 0..60 {
            let middle = (low + high) / 2.0;
            if self.tail(middle, reach_s) > 1.0 - q {
                low = middle;
            } else {
                high = middle;
            }
        }
        high
    }

    fn tail(&self, x: f64, reach_s: f64) -> f64 {
        let slope = 1.0 - self.rate / self.capacity;
        let lengths = self.lengths_s.iter();
        let waits = lengths.map(|length| ((length - x).max(0.0) / slope).min(reach_s));
        waits.sum::<f64>() / self.window_s
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn near(found: f64, expected: f64, tolerance: f64) {
        let difference = (found - expected).abs();
        assert!(difference <= tolerance, "{found}, expected {expected}");
    }

    #[test]
    fn a_tenth_of_each_second_gives_the_percentiles_one_computes_by_hand() {
        let stalls = Stalls::ideal(30, 0.1, 30.0, 10_000.0);
        near(stalls.response_s(0.5), 0.0, 1e-9);
        near(stalls.response_s(0.95), 0.050, 1e-9);
        near(stalls.response_s(0.99), 0.090, 1e-9);
        near(stalls.response_s(0.999), 0.099, 1e-9);
    }

    #[test]
    fn only_what_was_sent_into_the_stall_has_a_long_service_time() {
        let stalls = Stalls::ideal(30, 0.1, 30.0, 10_000.0);
        // 50 of 10,000 requests of each second: half a percent.
        near(stalls.service_s(0.99, 50), 0.0, 1e-9);
        near(stalls.service_s(0.999, 50), 0.099, 1e-9);
    }

    #[test]
    fn a_stall_more_or_less_in_the_window_moves_the_percentiles() {
        let stalls = Stalls::ideal(29, 0.1, 30.0, 10_000.0);
        near(stalls.response_s(0.95), 0.1 - 0.05 * 30.0 / 29.0, 1e-9);
    }

    /// Requests that come one after the other and a server that works them off in order, but not
    /// during its stalls.
    fn queue(stalls: &Stalls, starts_s: &[f64]) -> Vec<f64> {
        let mut free_at = 0.0_f64;
        let mut waits = Vec::new();
        for n in 0..(stalls.rate * stalls.window_s) as usize {
            let due = n as f64 / stalls.rate;
            let mut start = free_at.max(due);
            for (stall, length) in starts_s.iter().zip(&stalls.lengths_s) {
                if start >= *stall && start < stall + length {
                    start = stall + length;
                }
            }
            free_at = start + 1.0 / stalls.capacity;
            waits.push(free_at - due);
        }
        waits.sort_by(f64::total_cmp);
        waits
    }

    #[test]
    fn a_queue_that_is_worked_through_request_by_request_follows_the_law() {
        let stalls = Stalls {
            lengths_s: vec![0.1, 0.1004, 0.0998, 0.103, 0.1, 0.1],
            window_s: 6.0,
            rate: 10_000.0,
            capacity: 150_000.0,
        };
        let starts: Vec<f64> = (0..6).map(|second| f64::from(second) + 0.37).collect();
        let waits = queue(&stalls, &starts);
        for q in [0.9, 0.91, 0.95, 0.99, 0.999] {
            let found = waits[(waits.len() as f64 * q) as usize];
            near(found, stalls.response_s(q), 0.0002);
        }
        near(waits[waits.len() / 2], 1.0 / stalls.capacity, 1e-6);
    }
}
