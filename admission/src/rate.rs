//! So many requests a second for each key.
//!
//! The generic cell rate algorithm (ITU-T I.371, where this is the "virtual scheduling algorithm"):
//! each key has one number, the time at which its bucket will be full again. It's a token bucket
//! without a clock that ticks: full at first, refilled at the rate, a token for each request.
//!
//! The table has a fixed size, so that clients who invent keys (addresses of IPv6, say) can't make
//! it grow. Where a key finds no place, it takes the one of its neighbourhood whose bucket is
//! fullest, and what was missing there is missing from then on: nobody gets tokens by pushing
//! others out.

use std::hash::{BuildHasher, Hash, RandomState};
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};
use std::time::Duration;

use measure::time::Time;

/// Places in a row. A key is looked for in two rows, so that few keys find both full.
const WAYS: usize = 8;

/// A rate, and how much may come at once.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Rate {
    /// Nanoseconds from one token to the next.
    between_ns: u64,
    /// How far ahead of now a bucket may be full again and still give a token.
    tolerance_ns: u64,
}

impl Rate {
    /// `per_second` requests a second, and `burst` at once from a bucket that is full. `None` if
    /// the rate isn't above zero and at most a thousand million, or the burst is zero.
    pub fn new(per_second: f64, burst: u32) -> Option<Rate> {
        let in_range = per_second > 0.0 && per_second <= 1e9 && burst > 0;
        in_range.then(|| {
            let between_ns = ((1e9 / per_second) as u64).max(1);
            Rate {
                between_ns,
                tolerance_ns: between_ns.saturating_mul(u64::from(burst) - 1),
            }
        })
    }
}

/// A bucket that threads share without a lock: when it's full again, on a clock of the caller's,
/// in whatever unit that counts.
#[derive(Debug, Default)]
pub struct Bucket(AtomicU64);

impl Bucket {
    /// Takes a token. One flows in each `between`, and a bucket that won't be full again for longer
    /// than `tolerance` has none.
    ///
    /// # Errors
    /// There is none: how long until there is one, if nobody else takes it.
    pub fn take(&self, between: u64, tolerance: u64, now: u64) -> Result<(), u64> {
        let mut wait = 0;
        // Nothing else is passed on through this number, so its own order is order enough.
        let taken = self.0.fetch_update(Relaxed, Relaxed, |full_at| {
            let full_at = full_at.max(now);
            wait = (full_at - now).saturating_sub(tolerance);
            (wait == 0).then(|| full_at.saturating_add(between))
        });
        taken.map(|_| ()).map_err(|_| wait)
    }

    fn full_at(&self) -> u64 {
        self.0.load(Relaxed)
    }
}

/// The buckets of many keys, in a table of a fixed size, for all threads at once.
///
/// ```
/// use admission::rate::{Rate, Rates};
/// use measure::time::Time;
///
/// let rates = Rates::new(10_000);
/// let rate = Rate::new(100.0, 2).expect("above zero");
/// let key = "192.0.2.7";
/// assert!(rates.take(key, rate, Time(0)).is_ok());
/// assert!(rates.take(key, rate, Time(0)).is_ok());
/// let wait = rates.take(key, rate, Time(0)).expect_err("the bucket is empty");
/// assert_eq!(wait.as_millis(), 10);
/// ```
#[derive(Debug)]
pub struct Rates {
    /// Seeded, so that nobody can choose keys that meet.
    hasher: RandomState,
    places: Box<[Place]>,
}

#[derive(Debug, Default)]
struct Place {
    /// The hash of the key it's for; zero is nobody's.
    key: AtomicU64,
    bucket: Bucket,
}

impl Rates {
    /// Room for the buckets of about `keys` keys at once, of 16 bytes each. One that is full again
    /// needs no room.
    pub fn new(keys: usize) -> Rates {
        // Keys spread unevenly.
        let rows = (keys.saturating_add(keys / 2) / WAYS + 1).next_power_of_two();
        let places = (0..rows * WAYS).map(|_| Place::default());
        Rates {
            hasher: RandomState::new(),
            places: places.collect(),
        }
    }

    /// Takes a token of the bucket of `key`.
    ///
    /// # Errors
    /// It's empty: how long until there is a token, if nobody else takes it.
    pub fn take(&self, key: impl Hash, rate: Rate, now: Time) -> Result<(), Duration> {
        let hash = self.hasher.hash_one(key);
        let rows = self.places.len() / WAYS;
        let row = |bits: u64| {
            let first = bits as usize % rows * WAYS;
            &self.places[first..first + WAYS]
        };
        let place = find(row(hash), row(hash >> 32), hash.max(1));
        let taken = place.bucket.take(rate.between_ns, rate.tolerance_ns, now.0);
        taken.map_err(Duration::from_nanos)
    }
}

/// The place of `key`, or the one that it takes over.
///
/// Two threads may take the same place for two keys at once. Then one of the keys has the other's
/// bucket for this request, and looks for another the next time.
fn find<'a>(row: &'a [Place], other: &'a [Place], key: u64) -> &'a Place {
    let mut fullest = &row[0];
    let mut fullest_at = u64::MAX;
    for place in row.iter().chain(other) {
        if place.key.load(Relaxed) == key {
            return place;
        }
        let full_at = place.bucket.full_at();
        if full_at < fullest_at {
            (fullest, fullest_at) = (place, full_at);
        }
    }
    fullest.key.store(key, Relaxed);
    fullest
}

#[cfg(test)]
mod tests {
    use super::*;

    const SECOND: u64 = 1_000_000_000;

    fn rate(per_second: f64, burst: u32) -> Rate {
        Rate::new(per_second, burst).expect("a rate")
    }

    #[test]
    fn what_is_no_rate_is_none() {
        for per_second in [0.0, -1.0, f64::NAN, f64::INFINITY, 2e9] {
            assert_eq!(Rate::new(per_second, 1), None, "{per_second}");
        }
        assert_eq!(Rate::new(1.0, 0), None);
    }

    #[test]
    fn a_burst_and_then_the_rate_is_let_through() {
        let rates = Rates::new(10);
        let taken = (0..10_000_u64).filter(|millisecond| {
            let now = Time(SECOND + millisecond * SECOND / 1000);
            rates.take("a", rate(50.0, 10), now).is_ok()
        });
        assert_eq!(taken.count(), 10 + 499);
    }

    #[test]
    fn a_wait_is_as_long_as_it_says() {
        let rates = Rates::new(10);
        let rate = rate(4.0, 1);
        assert_eq!(rates.take("a", rate, Time(SECOND)), Ok(()));
        let wait = rates.take("a", rate, Time(SECOND)).unwrap_err();
        assert_eq!(wait, Duration::from_millis(250));
        let then = Time(SECOND) + wait;
        assert!(rates.take("a", rate, Time(then.0 - 1)).is_err());
        assert_eq!(rates.take("a", rate, then), Ok(()));
    }

    #[test]
    fn a_clock_that_goes_back_gives_no_tokens() {
        let rates = Rates::new(10);
        let rate = rate(1.0, 1);
        assert_eq!(rates.take("a", rate, Time(9 * SECOND)), Ok(()));
        assert!(rates.take("a", rate, Time(SECOND)).is_err());
        assert_eq!(rates.take("a", rate, Time(10 * SECOND)), Ok(()));
    }

    #[test]
    fn keys_do_not_take_from_each_other_while_there_is_room() {
        let rates = Rates::new(1000);
        let refused = |now: Time| {
            let refused = (0..1000).filter(|key| rates.take(key, rate(1.0, 1), now).is_err());
            refused.count()
        };
        // A few keys may find both of their rows full, and take over a place.
        let first = refused(Time(SECOND));
        assert!(first <= 10, "{first}");
        let again = refused(Time(SECOND));
        assert!(again >= 990, "{again}");
    }

    #[test]
    fn nobody_gets_tokens_by_inventing_keys() {
        let rates = Rates::new(100);
        let rate = rate(1.0, 1);
        // A hundred thousand keys at once find no more tokens than there are places.
        let taken = (0..100_000).filter(|key| rates.take(key, rate, Time(SECOND)).is_ok());
        assert!(taken.count() <= rates.places.len());
    }

    #[test]
    fn threads_share_a_bucket() {
        let rates = Rates::new(100);
        let taken: usize = std::thread::scope(|scope| {
            let take = || {
                let tries = (0..10_000).filter(|_| {
                    let taken = rates.take("a", rate(1.0, 100), Time(SECOND));
                    taken.is_ok()
                });
                tries.count()
            };
            let threads: Vec<_> = (0..4).map(|_| scope.spawn(take)).collect();
            let taken = threads.into_iter().map(|thread| thread.join());
            taken.map(|taken| taken.expect("no panic")).sum()
        });
        assert_eq!(taken, 100);
    }
}
