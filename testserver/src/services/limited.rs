//! `/limited/RATE`: so many answers a second, all workers of this server together, and 503 beyond:
//! a server whose capacity is known. `20000`, `20k` and `10/m` are rates.
//!
//! A token bucket that holds what flows in within ten milliseconds, two tokens at least. So the
//! rate is well defined for whoever asks evenly and for whoever asks at random: of Poisson arrivals
//! at 99 % of 20,000 a second it refuses one in several thousand, and one percent too much shows
//! within a second. A deeper bucket would let an overload pass for a while, a shallower one would
//! refuse what merely comes close together.
//!
//! The bucket is one number that all workers change atomically, without a lock: the time at which
//! it will be full again (the generic cell rate algorithm, ITU-T I.371, whose "theoretical arrival
//! time" this is).

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};

use admission::rate::Bucket;
use measure::time::Time;
use measure::units;
use server::{Context, Reply, Response};

use super::TEXT;
use super::parameter::refusal;
use crate::route::{Answerer, Asked};

/// What flows in within this time finds room, and two tokens at least: what comes evenly is never
/// quite even.
const DEPTH_NS: u64 = 10_000_000;
/// Different rates that one server can hold at once.
const RATES_MAX: usize = 16;
/// Times are counted in parts of a nanosecond, so that the time between two tokens is that of the
/// rate to within a millionth. In 64 bits that is more than two years from the first request on.
const PARTS: f64 = 256.0;
/// The highest rate: beyond it the time between two tokens is less than its unit is fine.
const RATE_MAX: f64 = 1e6;

/// The buckets of all rates that were asked for, shared by the workers of a server.
#[derive(Debug, Default)]
struct Buckets {
    buckets: [Limit; RATES_MAX],
    /// When the first request came, as [`Time`]; zero before.
    origin: AtomicU64,
}

/// One rate.
#[derive(Debug, Default)]
struct Limit {
    /// The bits of the rate, which is above zero; zero is a bucket that nobody has taken yet.
    rate: AtomicU64,
    /// On a clock of parts of a nanosecond since the origin.
    tokens: Bucket,
}

impl Buckets {
    /// Takes a token of `rate`; none where there is no room for another rate.
    fn take(&self, rate: f64, now: Time) -> Option<bool> {
        let origin = match self
            .origin
            .compare_exchange(0, now.0.max(1), Relaxed, Relaxed)
        {
            Ok(_) => now,
            Err(origin) => Time(origin),
        };
        let now = (now.since(origin) as f64 * PARTS) as u64;
        let bucket = self.buckets.iter().find(|bucket| bucket.is_of(rate))?;
        Some(bucket.take(rate, now))
    }
}

impl Limit {
    /// Whether it is the bucket of `rate`; it is from now on, if it was nobody's.
    fn is_of(&self, rate: f64) -> bool {
        match self
            .rate
            .compare_exchange(0, rate.to_bits(), Relaxed, Relaxed)
        {
            Ok(_) => true,
            Err(taken) => taken == rate.to_bits(),
        }
    }

    fn take(&self, rate: f64, now: u64) -> bool {
        let between = (1e9 * PARTS / rate) as u64;
        let depth = ((DEPTH_NS as f64 * PARTS) as u64).max(between.saturating_mul(2));
        debug_assert!(
            depth >= between,
            "a bucket of {rate}/s does not hold a single token"
        );
        self.tokens.take(between, depth - between, now).is_ok()
    }
}

pub(super) struct Limited(Arc<Buckets>);

/// Makes the service of each worker. They share the buckets, which are made here.
pub(super) fn sharing() -> impl Fn() -> Limited + Send + Sync + 'static {
    let buckets = Arc::<Buckets>::default();
    move || Limited(Arc::clone(&buckets))
}

impl Answerer for Limited {
    fn call(&mut self, asked: &Asked<'_>, context: &mut Context<'_>) -> Reply {
        let rate = match units::parse_rate(asked.parameter) {
            Ok(rate) if rate <= RATE_MAX => rate,
            Ok(_) => return refusal(format!("the rate must be at most {RATE_MAX}/s\n")),
            Err(error) => return refusal(format!("{error}\n")),
        };
        match self.0.take(rate, context.now()) {
            Some(true) => Reply::Now(Response::fixed(TEXT, b"within the limit\n")),
            Some(false) => Reply::Now(Response::fixed(TEXT, b"over the limit\n").with_status(503)),
            None => refusal(format!(
                "this server keeps track of {RATES_MAX} different rates, and all are taken\n"
            )),
        }
    }
}

#[cfg(test)]
mod tests {
    use measure::random::Random;

    use super::*;

    const SECOND: u64 = 1_000_000_000;

    /// Of requests at `times`, how many found a token.
    fn taken(buckets: &Buckets, rate: f64, times: impl Iterator<Item = u64>) -> usize {
        times
            .filter(|time| buckets.take(rate, Time(*time)) == Some(true))
            .count()
    }

    fn evenly(rate: u64, seconds: u64) -> impl Iterator<Item = u64> {
        (0..rate * seconds).map(move |n| SECOND + n * SECOND / rate)
    }

    #[test]
    fn what_comes_evenly_at_the_rate_is_all_let_through() {
        for rate in [1, 7, 99, 100, 101, 20_000, 33_333, 1_000_000] {
            let buckets = Buckets::default();
            let taken = taken(&buckets, rate as f64, evenly(rate, 3));
            assert_eq!(taken as u64, 3 * rate, "{rate}/s");
        }
    }

    #[test]
    fn of_an_overload_the_rate_is_let_through_and_the_depth_once() {
        for (rate, offered) in [(20_000, 40_000), (20_000, 20_400), (300, 3000)] {
            let buckets = Buckets::default();
            let taken = taken(&buckets, rate as f64, evenly(offered, 10)) as u64;
            let most = 10 * rate + rate / 100 + 2;
            assert!((10 * rate..=most).contains(&taken), "{rate}/s: {taken}");
        }
    }

    #[test]
    fn a_burst_finds_as_many_tokens_as_ten_milliseconds_hold_and_two_at_least() {
        for (rate, expected) in [(20_000.0, 200), (100.0, 2), (1.0, 2), (0.1, 2)] {
            let buckets = Buckets::default();
            let burst = std::iter::repeat_n(5 * SECOND, 1000);
            assert_eq!(taken(&buckets, rate, burst), expected, "{rate}/s");
        }
    }

    #[test]
    fn of_random_arrivals_little_is_refused_just_below_the_rate_and_much_just_above() {
        // The same exponential steps for both.
        let refused = |rate: f64| {
            let (mut random, mut time) = (Random::seeded(1), SECOND as f64);
            let steps = (0..400_000).map(|_| {
                time += random.exponential() / rate * 1e9;
                time as u64
            });
            1.0 - taken(&Buckets::default(), 20_000.0, steps) as f64 / 400_000.0
        };
        assert!(refused(19_700.0) < 0.001, "{}", refused(19_700.0));
        assert!(refused(20_400.0) > 0.01, "{}", refused(20_400.0));
    }

    #[test]
    fn rates_do_not_take_from_each_other_and_their_number_is_bounded() {
        let buckets = Buckets::default();
        for rate in 1..=RATES_MAX {
            assert_eq!(
                taken(&buckets, rate as f64, std::iter::repeat_n(SECOND, 9)),
                2
            );
            assert_eq!(buckets.take(rate as f64, Time(SECOND)), Some(false));
        }
        assert_eq!(buckets.take(99.0, Time(SECOND)), None);
        assert_eq!(buckets.take(1.0, Time(9 * SECOND)), Some(true));
    }

    #[test]
    fn workers_share_one_bucket() {
        let make = sharing();
        let ask = || taken(&make().0, 20_000.0, std::iter::repeat_n(SECOND, 1000));
        let taken: usize = std::thread::scope(|scope| {
            let workers: Vec<_> = (0..4).map(|_| scope.spawn(ask)).collect();
            let taken = workers.into_iter().map(|worker| worker.join());
            taken.map(|taken| taken.expect("no panic")).sum()
        });
        assert_eq!(taken, 200);
    }
}
