//! Buckets that many share through Redis: what of them is held here, in portions that are fetched
//! ahead, so that not every request asks and none waits.

use std::collections::HashMap;
use std::fmt;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use measure::time::Time;

/// So many buckets are known at once. Beyond that, those that nobody uses are forgotten.
const BUCKETS_MAX: usize = 100_000;

/// A bucket that nobody has used for so long may be forgotten.
const UNUSED: Duration = Duration::from_secs(10);

/// After an empty answer nobody asks before this has passed.
const EMPTY: Duration = Duration::from_millis(2);

/// Those that nobody uses are looked for no more often than this.
const SWEEP: Duration = Duration::from_secs(1);

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
pub(crate) struct Portion {
    pub(crate) bucket: Box<str>,
    pub(crate) per_second: f64,
    pub(crate) burst: u32,
    pub(crate) wanted: u32,
    shares: Shares,
}

/// See the module.
#[derive(Clone, Default)]
pub(crate) struct Shares(Arc<Mutex<All>>);

/// The names of buckets say who asks, so no message shows them.
impl fmt::Debug for Shares {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Shares").finish_non_exhaustive()
    }
}

#[derive(Default)]
struct All {
    held: HashMap<Box<str>, Held>,
    /// When those that nobody uses were last forgotten.
    swept: Time,
}

#[derive(Clone, Copy, Debug, Default)]
struct Held {
    tokens: u32,
    /// Redis is being asked.
    asking: bool,
    /// It's not asked again before this.
    again: Time,
    last: Last,
    used: Time,
}

/// What Redis has said last.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
enum Last {
    /// Nothing yet, or it could not be asked.
    #[default]
    Unknown,
    /// It gave all that was asked for.
    Plenty,
    /// It gave less.
    Scarce,
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
        if !all.held.contains_key(bucket) {
            if all.held.len() >= BUCKETS_MAX && now >= all.swept + SWEEP {
                all.swept = now;
                all.held
                    .retain(|_, held| held.asking || now < held.used + UNUSED);
            }
            if all.held.len() >= BUCKETS_MAX {
                return None;
            }
            all.held.insert(bucket.into(), Held::default());
        }
        let held = all.held.get_mut(bucket)?;
        held.used = now;
        // What comes in a hundredth of a second.
        let portion = ((per_second / 100.0).ceil() as u32).clamp(1, burst.max(1));
        let share = match held.tokens {
            // There was enough a moment ago, or nobody knows: until there's word, one's own bucket.
            0 if held.last != Last::Scarce => Share::Own,
            0 => Share::Empty((held.again - now).max(EMPTY)),
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
            shares: self.clone(),
        });
        Some((share, wish))
    }

    fn lock(&self) -> MutexGuard<'_, All> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Portion {
    /// Redis has given so much; `None` if it could not be asked.
    pub(crate) fn gave(&self, tokens: Option<u32>, now: Time) {
        let mut all = self.shares.lock();
        let Some(held) = all.held.get_mut(&*self.bucket) else {
            return;
        };
        held.asking = false;
        (held.last, held.again) = match tokens {
            None => (Last::Unknown, now + FAILED),
            Some(given) if given >= self.wanted => (Last::Plenty, now),
            // A slow bucket isn't asked more often than it gets something.
            Some(_) => {
                let between = Duration::from_secs_f64((1.0 / self.per_second).min(1.0));
                (Last::Scarce, now + between.max(EMPTY))
            }
        };
        held.tokens = held.tokens.saturating_add(tokens.unwrap_or(0));
    }
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
        assert_eq!(share, Share::Empty(EMPTY));
        assert!(wish.is_none());
        let (share, wish) = take(3);
        assert_eq!(
            share,
            Share::Empty(EMPTY),
            "what was empty is so until there's word"
        );
        let wish = wish.expect("it asks again");
        assert_eq!(take(3).0, Share::Empty(EMPTY));
        wish.gave(None, at(4));
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
