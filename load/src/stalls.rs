//! What a worker does about its own standing still.
//!
//! A process that was stopped, or kept from its CPU, finds two things at once when it goes on:
//! timers that have run out, and answers that came in time and that nobody has read. A driver
//! reports a bounded number of completions in a turn, so the timers would turn most of those
//! answers into timeouts of the server. So nothing expires after a turn that came late until
//! nothing has come for as long as the worker itself was late. Both that and the whole are bounded:
//! what is lost by our own stall is known, and what the server owes is still found out.

use engine::Until;
use measure::time::Time;

/// A turn that comes later than this was held up; less is how precisely a thread wakes up.
const LATE_NS: u64 = 1_000_000;
/// A slot of the course of answers in which a worker was held up for longer says nothing of it.
const BLIND_NS: u64 = 25_000_000;
/// For how long at most nothing has to come before timers expire.
const QUIET_NS_MAX: u64 = 50_000_000;
/// For how long timers wait at most: for so many times as long as the turn was late, and this.
const READING_TIMES: u64 = 20;
const READING_NS_MAX: u64 = 1_000_000_000;

/// A turn of the loop that came late.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Stall {
    pub length_ns: u64,
    pub at: Time,
}

/// A worker's turns, as far as they came late.
#[derive(Debug)]
pub(crate) struct Stalls {
    /// When the turn before this one began.
    turn_at: Time,
    /// The last turn that was held up.
    last: Stall,
    /// Timers wait until then; in the past while nothing was held up.
    clear_at: Time,
    /// And no longer than until then; in the past, too, while nothing was held up.
    reading_until: Time,
    /// How long the stall was for which they wait.
    reason_ns: u64,
    /// For how long nothing has to come before they wait no longer.
    quiet_ns: u64,
    /// The longest one, as far as it lies in the time that is measured.
    pub longest: Stall,
    /// A turn that is late by no more than that is neither the longest nor held up.
    ordinary_ns: u64,
    /// How often timers waited although they had run out.
    pub put_off: u64,
    /// That was counted for the last one.
    is_counted: bool,
}

impl Stalls {
    pub(crate) fn new(now: Time) -> Stalls {
        Stalls {
            turn_at: now,
            last: Stall::default(),
            clear_at: Time(0),
            reading_until: Time(0),
            reason_ns: 0,
            quiet_ns: 0,
            longest: Stall::default(),
            ordinary_ns: 0,
            put_off: 0,
            is_counted: false,
        }
    }

    /// A turn begins at `now`, and was to begin `until` then. Whether it was held up. What is
    /// measured has begun at `measured_from`, or has not where that is [`Time::NEVER`].
    #[inline]
    pub(crate) fn turn(&mut self, until: Until, now: Time, measured_from: Time) -> bool {
        let wanted = match until {
            Until::Now => self.turn_at,
            Until::Time(time) => time.max(self.turn_at),
            Until::Event => now,
        };
        let before = std::mem::replace(&mut self.turn_at, now);
        let late_ns = now.since(wanted);
        late_ns > self.ordinary_ns && self.came_late(late_ns, before, now, measured_from)
    }

    /// A turn was later than those that say nothing.
    #[inline(never)]
    fn came_late(&mut self, late_ns: u64, before: Time, now: Time, measured_from: Time) -> bool {
        let length_ns = late_ns.min(now.since(measured_from));
        if length_ns > self.longest.length_ns {
            self.longest = Stall { length_ns, at: now };
            self.ordinary_ns = length_ns.min(LATE_NS);
        }
        if late_ns > LATE_NS {
            self.held_up(late_ns, before, now);
        }
        late_ns > LATE_NS
    }

    #[cold]
    fn held_up(&mut self, late_ns: u64, before: Time, now: Time) {
        self.last = Stall {
            length_ns: late_ns,
            at: now,
        };
        // Timers that wait already do so no longer for a worker that is late all the time, or
        // nothing would ever expire. A stall of another size is another stall.
        let waited = before < self.clear_at;
        if !waited || late_ns > 2 * self.reason_ns {
            self.reason_ns = late_ns;
            self.quiet_ns = late_ns.min(QUIET_NS_MAX);
            let most_ns = late_ns.saturating_mul(READING_TIMES).min(READING_NS_MAX);
            self.reading_until = now.plus(most_ns);
            self.is_counted = false;
        }
        self.clear_at = now.plus(self.quiet_ns).min(self.reading_until);
    }

    /// Something came.
    #[inline]
    pub(crate) fn news(&mut self, now: Time) {
        if self.reading_until > now {
            self.clear_at = now.plus(self.quiet_ns).min(self.reading_until);
        }
    }

    /// Before that no timer expires.
    #[inline]
    pub(crate) fn clear_at(&self) -> Time {
        self.clear_at
    }

    /// Whether what has run out by `now` may be given up. Asked where something has.
    pub(crate) fn may_expire(&mut self, now: Time) -> bool {
        let may = now >= self.clear_at;
        if !may && !std::mem::replace(&mut self.is_counted, true) {
            self.put_off += 1;
        }
        may
    }

    /// When the turn at `now` was to begin, if it was held up.
    pub(crate) fn wanted(&self, now: Time) -> Option<Time> {
        let late_ns = self.last.length_ns;
        (self.last.at == now && late_ns > 0).then(|| Time(now.0 - late_ns))
    }

    /// Whether the worker was held up before `now` for so long that it cannot tell what came when.
    pub(crate) fn was_blind(&self, now: Time) -> bool {
        self.last.at == now && self.last.length_ns > BLIND_NS
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const MS: u64 = 1_000_000;
    const START: Time = Time(1_000 * MS);

    fn at(ms: u64) -> Time {
        START.plus(ms * MS)
    }

    #[test]
    fn after_a_stall_nothing_expires_until_nothing_comes() {
        let mut stalls = Stalls::new(START);
        assert!(!stalls.turn(Until::Time(at(5)), at(5), Time(0)));
        assert!(stalls.may_expire(at(5)));
        assert!(stalls.turn(Until::Time(at(10)), at(2_010), Time(0)));
        assert_eq!(stalls.wanted(at(2_010)), Some(at(10)));
        assert!(stalls.was_blind(at(2_010)) && !stalls.was_blind(at(2_011)));
        for ms in 2_010..2_100 {
            stalls.news(at(ms));
            assert!(!stalls.may_expire(at(ms)));
        }
        assert_eq!(stalls.clear_at(), at(2_149));
        // Whoever wakes up a little later than that and finds something has not read all.
        stalls.news(Time(at(2_149).0 + 1));
        assert!(!stalls.may_expire(Time(at(2_149).0 + 1)));
        assert!(stalls.may_expire(at(2_200)));
        let longest = Stall {
            length_ns: 2_000 * MS,
            at: at(2_010),
        };
        assert_eq!((stalls.longest, stalls.put_off), (longest, 1));
    }

    #[test]
    fn of_a_stall_counts_what_lies_in_the_time_that_is_measured() {
        let after = |measured_from| {
            let mut stalls = Stalls::new(START);
            assert!(stalls.turn(Until::Time(at(10)), at(310), measured_from));
            (stalls.longest.length_ns / MS, stalls.may_expire(at(310)))
        };
        assert_eq!(after(at(5)), (300, false));
        assert_eq!(after(at(260)), (50, false));
        assert_eq!(after(at(400)), (0, false));
        assert_eq!(after(Time::NEVER), (0, false));
    }

    #[test]
    fn a_small_delay_before_it_does_not_hide_a_stall() {
        // Nothing was to expire behind the first; then either long after it, or within it.
        for second in [50, 7] {
            let mut stalls = Stalls::new(START);
            assert!(stalls.turn(Until::Time(at(3)), at(5), Time(0)));
            stalls.turn(Until::Event, at(second), Time(0));
            assert!(stalls.turn(Until::Now, at(3_000), Time(0)));
            stalls.news(at(3_000));
            assert!(!stalls.may_expire(at(3_000)));
            assert_eq!(stalls.clear_at(), at(3_050));
        }
    }

    #[test]
    fn a_worker_that_always_has_news_and_is_always_late_still_gives_up() {
        let mut stalls = Stalls::new(START);
        let (mut now, mut last, mut longest_ns) = (START, START, 0);
        for turn in 0..10_000 {
            now = now.plus(2 * MS);
            assert!(stalls.turn(Until::Now, now, Time(0)));
            stalls.news(now);
            if stalls.may_expire(now) {
                longest_ns = longest_ns.max(now.since(last));
                last = now;
            }
            assert!(now.since(last) <= 100 * MS, "turn {turn}");
        }
        assert!(longest_ns >= READING_TIMES * 2 * MS, "{longest_ns}");
    }
}
