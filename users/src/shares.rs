//! Buckets that many share through Redis: what of them is held here, in portions that are fetched
//! ahead, so that not every request asks and none waits.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use measure::time::Time;

/// So many buckets are known at once. Beyond that, those that nobody uses are forgotten.
const BUCKETS_MAX: usize = 100_000;

/// A bucket that nobody has used for so long may be forgotten.
const UNUSED: Duration = Duration::from_secs(10);

/// After an empty answer nobody asks before this has passed.
const EMPTY: Duration = Duration::from_millis(2);

/// After a failure nobody asks before this has passed.
const FAILED: Duration = Duration::from_millis(100);

/// Whether there is one in a shared bucket.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Share {
    /// There is, and it's taken.
    Taken,
    /// There is none; ask again after this.
    Empty(Duration),
    /// Nobody knows yet, or Redis can't be asked: a bucket of one's own decides.
    Own,
}

/// What is asked of Redis.
#[derive(Debug)]
pub(crate) struct Portion {
    pub(crate) bucket: Box<str>,
    pub(crate) per_second: f64,
    pub(crate) burst: u32,
    pub(crate) wanted: u32,
    shares: Arc<Mutex<HashMap<Box<str>, Held>>>,
}

/// See the module.
#[derive(Clone, Debug, Default)]
pub(crate) struct Shares(Arc<Mutex<HashMap<Box<str>, Held>>>);

#[derive(Clone, Copy, Debug, Default)]
struct Held {
    tokens: u32,
    /// Redis is being asked.
    asking: bool,
    /// It's not asked again before this, …
    again: Time,
    /// … because it could not be, rather than because there was nothing.
    failed: bool,
    used: Time,
}

impl Shares {
    /// Takes one, and says what has to be asked for. `None` where there is no room for another
    /// bucket.
    pub(crate) fn take(
        &self,
        bucket: &str,
        per_second: f64,
        burst: u32,
        now: Time,
    ) -> Option<(Share, Option<Portion>)> {
        let mut all = self.lock();
        if !all.contains_key(bucket) {
            if all.len() >= BUCKETS_MAX {
                all.retain(|_, held| held.asking || now < held.used + UNUSED);
            }
            if all.len() >= BUCKETS_MAX {
                return None;
            }
            all.insert(bucket.into(), Held::default());
        }
        let held = all.get_mut(bucket)?;
        held.used = now;
        // What comes in a hundredth of a second.
        let portion = ((per_second / 100.0).ceil() as u32).clamp(1, burst.max(1));
        let share = match held.tokens {
            0 if held.asking || held.failed => Share::Own,
            0 if now < held.again => Share::Empty(held.again - now),
            0 => Share::Own,
            _ => {
                held.tokens -= 1;
                Share::Taken
            }
        };
        let asks = !held.asking && held.tokens <= portion / 2 && now >= held.again;
        held.asking |= asks;
        drop(all);
        let wish = asks.then(|| Portion {
            bucket: bucket.into(),
            per_second,
            burst,
            wanted: portion,
            shares: Arc::clone(&self.0),
        });
        Some((share, wish))
    }

    /// Redis wasn't asked for what was wished.
    pub(crate) fn gave_nothing(&self, bucket: &str, now: Time) {
        gave(&self.0, bucket, None, now);
    }

    fn lock(&self) -> MutexGuard<'_, HashMap<Box<str>, Held>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Portion {
    /// Redis has given so much; `None` if it could not be asked.
    pub(crate) fn gave(&self, tokens: Option<u32>, now: Time) {
        gave(&self.shares, &self.bucket, tokens, now);
    }
}

fn gave(shares: &Mutex<HashMap<Box<str>, Held>>, bucket: &str, tokens: Option<u32>, now: Time) {
    let mut all = shares.lock().unwrap_or_else(PoisonError::into_inner);
    let Some(held) = all.get_mut(bucket) else {
        return;
    };
    held.asking = false;
    held.failed = tokens.is_none();
    held.again = match tokens {
        None => now + FAILED,
        Some(0) => now + EMPTY,
        Some(_) => now,
    };
    held.tokens = held.tokens.saturating_add(tokens.unwrap_or(0));
}

#[cfg(test)]
mod tests {
    use super::*;

    fn at(ms: u64) -> Time {
        Time(ms * 1_000_000)
    }

    #[test]
    fn portions_are_asked_for_ahead_and_once() {
        let shares = Shares::default();
        let take = |ms| shares.take("a", 1000.0, 50, at(ms)).expect("there's room");
        let (share, first) = take(0);
        let first = first.expect("it asks");
        assert_eq!((share, first.wanted), (Share::Own, 10));
        // Until the answer has come, nobody asks again.
        let (share, again) = take(0);
        assert_eq!(share, Share::Own);
        assert!(again.is_none());
        first.gave(Some(10), at(1));
        for left in (6..10).rev() {
            let (share, again) = take(1);
            assert_eq!(share, Share::Taken);
            assert!(again.is_none(), "{left} left");
        }
        let (share, again) = take(1);
        assert_eq!(share, Share::Taken);
        assert!(again.is_some(), "half of a portion is left");
    }

    #[test]
    fn an_empty_bucket_refuses_and_a_dead_one_leaves_it_to_others() {
        let shares = Shares::default();
        let take = |ms| shares.take("a", 1000.0, 50, at(ms)).expect("there's room");
        let (_, wish) = take(0);
        wish.expect("it asks").gave(Some(0), at(1));
        let (share, wish) = take(2);
        assert_eq!(share, Share::Empty(Duration::from_millis(1)));
        assert!(wish.is_none());
        let (share, wish) = take(3);
        assert_eq!(share, Share::Own);
        wish.expect("it asks again").gave(None, at(4));
        let (share, wish) = take(5);
        assert_eq!(share, Share::Own);
        assert!(wish.is_none(), "not so soon after a failure");
        assert!(take(104).1.is_some());
    }

    #[test]
    fn buckets_are_bounded() {
        let shares = Shares::default();
        let (mut first, mut last) = (None, None);
        for at in 0..=BUCKETS_MAX {
            last = Some(shares.take(&at.to_string(), 1.0, 1, Time(0)));
            if at == 0 {
                first = last.take();
            }
        }
        assert!(
            matches!(last, Some(None)),
            "nobody is pushed out while it asks"
        );
        let wish = first.flatten().and_then(|(_, wish)| wish);
        wish.expect("it asked").gave(Some(1), Time(0));
        assert!(shares.take("new", 1.0, 1, Time(0) + UNUSED).is_some());
    }
}
