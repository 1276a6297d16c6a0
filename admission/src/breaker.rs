//! A circuit breaker: whether something that keeps failing is asked at all (Nygard, "Release It!",
//! chapter "Stability Patterns").
//!
//! Closed, it counts in a window of time that slides on in tenths. It opens where of enough calls
//! too large a share has failed: one failure after a quiet night opens nothing. It opens, too,
//! where so many fail in a row: what hangs is not asked for half a window more because it was well
//! before. Open, nobody is let through. After a while it's half open: one call at a time is let
//! through to try, and so many successes in a row close it, while a failure opens it again, for
//! twice as long, up to a limit.

use std::time::Duration;

use measure::time::Time;

/// Parts of the window.
const PARTS: usize = 10;

/// When a breaker opens, and for how long.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Settings {
    /// How far back it looks.
    pub window: Duration,
    /// Calls in the window without which it never opens; so many that fail in a row open it,
    /// whatever came before.
    pub calls_min: u32,
    /// The share of them, from 0 to 1, that has to have failed.
    pub failed_share: f64,
    /// For how long it's open at first.
    pub open: Duration,
    /// For how long at most, as it's open twice as long each time it fails again.
    pub open_max: Duration,
    /// Successes in a row that close it.
    pub successes: u32,
}

impl Default for Settings {
    /// Half of at least 20 calls in 10 s, or 20 in a row; open for 1 s each time, since a call a
    /// second to try hurts nobody; closed by three successes.
    fn default() -> Settings {
        Settings {
            window: Duration::from_secs(10),
            calls_min: 20,
            failed_share: 0.5,
            open: Duration::from_secs(1),
            open_max: Duration::from_secs(1),
            successes: 3,
        }
    }
}

/// See the module.
#[derive(Clone, Debug)]
pub struct Breaker {
    settings: Settings,
    parts: [Part; PARTS],
    /// Which part of time, counted from zero, is the newest.
    newest: u64,
    /// Failures since the last success, while it's closed, and when the first of them came.
    in_a_row: u32,
    row_since: Time,
    state: State,
    /// When it last opened: what comes of calls from before says nothing about now.
    opened_at: Option<Time>,
}

#[derive(Clone, Copy, Debug, Default)]
struct Part {
    calls: u32,
    failed: u32,
}

#[derive(Clone, Copy, Debug, PartialEq)]
enum State {
    Closed,
    Open {
        until: Time,
        length: Duration,
    },
    HalfOpen {
        /// The call that tries has to have ended by then; after that another may.
        trying_until: Option<Time>,
        successes: u32,
        length: Duration,
    },
}

impl Breaker {
    /// A closed one.
    pub fn new(settings: Settings) -> Breaker {
        Breaker {
            settings,
            parts: [Part::default(); PARTS],
            newest: 0,
            in_a_row: 0,
            row_since: Time(0),
            state: State::Closed,
            opened_at: None,
        }
    }

    /// Whether a call may be made now. Whoever may has to tell what comes of it:
    /// [`Breaker::succeeded`] or [`Breaker::failed`]. Half open, the next may try where that isn't
    /// told for as long as the breaker was open.
    pub fn allows(&mut self, now: Time) -> bool {
        match &mut self.state {
            State::Closed => true,
            State::Open { until, length } => {
                if now < *until {
                    return false;
                }
                self.state = State::HalfOpen {
                    trying_until: Some(now + *length),
                    successes: 0,
                    length: *length,
                };
                true
            }
            State::HalfOpen {
                trying_until,
                length,
                ..
            } => {
                if trying_until.is_some_and(|until| now < until) {
                    return false;
                }
                *trying_until = Some(now + *length);
                true
            }
        }
    }

    /// A call that began then has succeeded. One from before this last opened isn't counted.
    pub fn succeeded(&mut self, begun: Time, now: Time) {
        if self.is_from_before(begun) {
            return;
        }
        match &mut self.state {
            State::Closed => {
                self.in_a_row = 0;
                self.count(now, false);
            }
            State::Open { .. } => {}
            State::HalfOpen {
                trying_until,
                successes,
                ..
            } => {
                *trying_until = None;
                *successes += 1;
                if *successes >= self.settings.successes {
                    self.state = State::Closed;
                    self.parts = [Part::default(); PARTS];
                }
            }
        }
    }

    /// A call that began then has failed, or took too long. One from before this last opened isn't
    /// counted.
    pub fn failed(&mut self, begun: Time, now: Time) {
        if self.is_from_before(begun) {
            return;
        }
        match self.state {
            State::Closed => {
                self.count(now, true);
                if self.are_too_many_in_a_row(now) || self.has_failed_enough() {
                    self.open(now, self.settings.open);
                }
            }
            State::Open { .. } => {}
            State::HalfOpen { length, .. } => {
                let longer = length.saturating_mul(2).min(self.settings.open_max);
                self.open(now, longer.max(self.settings.open));
            }
        }
    }

    /// Until when it lets nobody through, while it's open.
    pub fn open_until(&self) -> Option<Time> {
        match self.state {
            State::Open { until, .. } => Some(until),
            _ => None,
        }
    }

    fn is_from_before(&self, begun: Time) -> bool {
        self.opened_at.is_some_and(|opened| begun <= opened)
    }

    fn open(&mut self, now: Time, length: Duration) {
        let until = now + length;
        self.opened_at = Some(now);
        self.in_a_row = 0;
        self.state = State::Open { until, length };
    }

    fn count(&mut self, now: Time, failed: bool) {
        self.slide(now);
        let part = &mut self.parts[self.newest as usize % PARTS];
        part.calls = part.calls.saturating_add(1);
        part.failed = part.failed.saturating_add(u32::from(failed));
    }

    /// Forgets what the window has passed.
    fn slide(&mut self, now: Time) {
        let part_ns = (self.settings.window.as_nanos() as u64 / PARTS as u64).max(1);
        let newest = (now.0 / part_ns).max(self.newest);
        let passed = (newest - self.newest).min(PARTS as u64);
        for back in 0..passed {
            self.parts[(newest - back) as usize % PARTS] = Part::default();
        }
        self.newest = newest;
    }

    /// Adds a failure to the row. One that has lasted for the whole window begins anew.
    fn are_too_many_in_a_row(&mut self, now: Time) -> bool {
        let window_ns = self.settings.window.as_nanos() as u64;
        if self.in_a_row == 0 || now.since(self.row_since) >= window_ns {
            (self.in_a_row, self.row_since) = (0, now);
        }
        self.in_a_row = self.in_a_row.saturating_add(1);
        self.in_a_row >= self.settings.calls_min
    }

    fn has_failed_enough(&self) -> bool {
        let calls: u64 = self.parts.iter().map(|part| u64::from(part.calls)).sum();
        let failed: u64 = self.parts.iter().map(|part| u64::from(part.failed)).sum();
        calls >= u64::from(self.settings.calls_min)
            && failed as f64 >= self.settings.failed_share * calls as f64
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const MS: u64 = 1_000_000;

    #[derive(Debug, PartialEq)]
    enum Status {
        Closed,
        Open,
        HalfOpen,
    }

    impl Breaker {
        fn status(&self) -> Status {
            match self.state {
                State::Closed => Status::Closed,
                State::Open { .. } => Status::Open,
                State::HalfOpen { .. } => Status::HalfOpen,
            }
        }
    }

    fn at(ms: u64) -> Time {
        Time(ms * MS)
    }

    fn breaker() -> Breaker {
        let open_max = Duration::from_secs(30);
        Breaker::new(Settings {
            open_max,
            ..Settings::default()
        })
    }

    fn open_at(ms: u64) -> Breaker {
        let mut breaker = breaker();
        (0..20).for_each(|_| breaker.failed(at(ms), at(ms)));
        assert_eq!(breaker.status(), Status::Open);
        breaker
    }

    #[test]
    fn too_few_calls_open_nothing_whatever_comes_of_them() {
        let mut breaker = breaker();
        (0..19).for_each(|n| breaker.failed(at(n), at(n)));
        assert_eq!(breaker.status(), Status::Closed);
        breaker.failed(at(20), at(20));
        assert_eq!(breaker.status(), Status::Open);
    }

    #[test]
    fn a_share_below_the_limit_opens_nothing() {
        let mut breaker = breaker();
        for n in 0..10_000 {
            match n * 37 % 100 {
                _ if n < 100 => breaker.succeeded(at(n), at(n)),
                0..51 => breaker.succeeded(at(n), at(n)),
                _ => breaker.failed(at(n), at(n)),
            }
        }
        assert_eq!(breaker.status(), Status::Closed);
    }

    #[test]
    fn so_many_failures_in_a_row_open_it_however_well_it_was_before() {
        let mut breaker = breaker();
        (0..10_000).for_each(|n| breaker.succeeded(at(n / 10), at(n / 10)));
        (0..19).for_each(|_| breaker.failed(at(1001), at(1001)));
        breaker.succeeded(at(1002), at(1002));
        (0..19).for_each(|_| breaker.failed(at(1003), at(1003)));
        assert_eq!(breaker.status(), Status::Closed);
        breaker.failed(at(1004), at(1004));
        assert_eq!(breaker.status(), Status::Open);
    }

    #[test]
    fn what_the_window_has_passed_does_not_count() {
        let mut breaker = breaker();
        (0..19).for_each(|_| breaker.failed(at(0), at(0)));
        breaker.failed(at(10_000), at(10_000));
        assert_eq!(breaker.status(), Status::Closed);
        (0..19).for_each(|_| breaker.failed(at(18_000), at(18_000)));
        assert_eq!(breaker.status(), Status::Open);
    }

    #[test]
    fn open_it_lets_nobody_through_and_then_one_at_a_time() {
        let mut breaker = open_at(5);
        assert_eq!(breaker.open_until(), Some(at(1005)));
        assert!(!breaker.allows(at(1004)));
        assert!(breaker.allows(at(1005)));
        assert_eq!(breaker.status(), Status::HalfOpen);
        assert!(!breaker.allows(at(1006)));
        breaker.succeeded(at(1007), at(1007));
        assert!(breaker.allows(at(1007)));
        assert!(!breaker.allows(at(1007)));
    }

    #[test]
    fn three_successes_in_a_row_close_it_with_a_clean_window() {
        let mut breaker = open_at(0);
        for n in 0..3 {
            assert!(breaker.allows(at(1000 + n)));
            breaker.succeeded(at(1000 + n), at(1000 + n));
        }
        assert_eq!(breaker.status(), Status::Closed);
        (0..19).for_each(|_| breaker.failed(at(1010), at(1010)));
        assert_eq!(breaker.status(), Status::Closed);
    }

    #[test]
    fn a_trial_that_fails_opens_it_for_twice_as_long_up_to_the_limit() {
        let mut breaker = open_at(0);
        let mut lengths = Vec::new();
        let mut now = at(1000);
        for _ in 0..7 {
            assert!(breaker.allows(now));
            breaker.failed(now, now);
            let until = breaker.open_until().expect("it's open");
            lengths.push(until.since(now) / MS);
            now = until;
        }
        assert_eq!(lengths, [2000, 4000, 8000, 16_000, 30_000, 30_000, 30_000]);
    }

    #[test]
    fn a_trial_that_nobody_ends_does_not_keep_it_half_open_for_ever() {
        let mut breaker = open_at(0);
        assert!(breaker.allows(at(1000)));
        assert!(!breaker.allows(at(1999)));
        assert!(breaker.allows(at(2000)));
    }

    #[test]
    fn calls_that_end_while_it_is_open_change_nothing() {
        let mut breaker = open_at(0);
        breaker.succeeded(at(500), at(500));
        breaker.failed(at(600), at(600));
        assert_eq!(breaker.open_until(), Some(at(1000)));
    }

    #[test]
    fn late_ends_of_calls_from_before_it_opened_neither_close_it_nor_open_it_again() {
        let mut breaker = open_at(5);
        assert!(breaker.allows(at(1005)));
        (0..10).for_each(|_| breaker.succeeded(at(4), at(1006)));
        breaker.failed(at(5), at(1006));
        assert_eq!(breaker.status(), Status::HalfOpen);
        assert!(!breaker.allows(at(1007)), "the one that tries is under way");
        breaker.succeeded(at(1005), at(1008));
        assert!(breaker.allows(at(1008)));
    }

    #[test]
    fn a_clock_that_goes_back_is_taken_as_no_time_passed() {
        let mut breaker = breaker();
        breaker.failed(at(60_000), at(60_000));
        (0..19).for_each(|_| breaker.failed(at(1), at(1)));
        assert_eq!(breaker.status(), Status::Open);
    }
}
