//! How many requests may be under way at once, found from how long they take.
//!
//! Whoever asks a server that is at its limit only makes the queue inside it longer: answers take
//! longer, and no more of them come. So the limit is moved to where requests take little longer
//! than they do without a queue. This is the gradient of Netflix's concurrency-limits: at the end
//! of each window, `limit × tolerance × base ÷ median + √limit`, where the median is how long
//! requests took in the window, and the base how long they take without a queue.
//!
//! A base that is only learnt while the server is loaded drifts upwards with the queue, and the
//! limit with it (Netflix/concurrency-limits issues 37 and 88). So the base is measured again every
//! few seconds, as Envoy's adaptive concurrency filter does: the limit is halved for a moment, the
//! queue goes, and the median of what was begun then is the new base, be it higher or lower. Where
//! the limit is far from reached, nothing has to be halved for that. Where nothing can be measured,
//! since the server refuses or nobody waits for its answers, the limit isn't left halved: the base
//! stays what it was until the next time.
//!
//! # What counts as under way
//!
//! What the server has to do: from when it has all of a request to the head of its answer. A client
//! that sends a body for minutes, or reads an answer for minutes, says nothing of the server; if it
//! counted, twenty slow clients would be all that is under way, and their time would move the limit
//! to its lowest. So whoever calls this ends a request at the head of its answer, and lets it take
//! up no room while its client is waited for ([`Limit::lend`]).
//!
//! The price: requests that come whole at the same moment are under way at once beyond the limit,
//! though nobody else begins then; and what a server still computes while it sends its answer isn't
//! limited. Both need a connection each, of which there are only so many.

use std::time::Duration;

use measure::time::Time;

/// Times of requests that are kept of each window: more than these say nothing new.
const SAMPLES_MAX: usize = 128;
/// A window with fewer says nothing.
const SAMPLES_MIN: usize = 10;
/// How fast the limit follows.
const SMOOTHING: f64 = 0.3;
/// What the limit is multiplied by where the server refuses or gives up.
const BACK_OFF: f64 = 0.8;
/// The share of a window's requests that were refused or given up which counts as that.
const REFUSED_SHARE: f64 = 0.1;

/// Between what the limit moves, and how.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Settings {
    /// The limit at the start.
    pub initial: u32,
    /// The lowest and the highest limit; the lowest is at least one.
    pub min: u32,
    /// See [`Settings::min`].
    pub max: u32,
    /// How much longer than the base requests may take, as a factor.
    pub tolerance: f64,
    /// How long a window lasts.
    pub window: Duration,
    /// How often the base is measured again.
    pub base_every: Duration,
}

impl Default for Settings {
    /// From 20, between 2 and 10,000; 1.5 times the base, in windows of 50 ms; the base every 5 s.
    fn default() -> Settings {
        Settings {
            initial: 20,
            min: 2,
            max: 10_000,
            tolerance: 1.5,
            window: Duration::from_millis(50),
            base_every: Duration::from_secs(5),
        }
    }
}

/// What came of a request.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Outcome {
    /// It was answered.
    Answered,
    /// The server refused it, or it was given up: it's beyond what the server can take.
    Overloaded,
    /// Something that says nothing of the server's load: the client has left, say.
    Void,
}

/// See the module.
#[derive(Clone, Debug)]
pub struct Limit {
    settings: Settings,
    limit: f64,
    in_flight: u32,
    /// How long requests take without a queue, in nanoseconds; `None` before it was measured.
    base_ns: Option<u64>,
    base_at: Time,
    measuring: Option<Measuring>,
    window: Window,
}

/// The base is being measured: only requests that were begun since count.
#[derive(Clone, Copy, Debug)]
struct Measuring {
    since: Time,
    /// Whether the limit is halved for it.
    halved: bool,
}

#[derive(Clone, Debug, Default)]
struct Window {
    since: Time,
    /// How long requests took, in nanoseconds.
    took_ns: Vec<u64>,
    ended: u32,
    overloaded: u32,
    /// The most that were under way at once.
    in_flight_max: u32,
}

impl Limit {
    /// With nothing under way.
    pub fn new(settings: Settings, now: Time) -> Limit {
        let min = settings.min.max(1);
        let settings = Settings {
            min,
            max: settings.max.max(min),
            ..settings
        };
        Limit {
            limit: f64::from(settings.initial.clamp(settings.min, settings.max)),
            settings,
            in_flight: 0,
            base_ns: None,
            base_at: now,
            measuring: Some(Measuring {
                since: now,
                halved: false,
            }),
            window: Window::beginning(now),
        }
    }

    /// Whether one more may begin.
    #[inline]
    pub fn has_room(&self) -> bool {
        self.in_flight < self.allowed()
    }

    /// How many may be under way now.
    #[inline]
    pub fn allowed(&self) -> u32 {
        let halved = self.measuring.is_some_and(|measuring| measuring.halved);
        let limit = if halved { self.limit / 2.0 } else { self.limit };
        (limit as u32).max(self.settings.min)
    }

    /// How many are.
    pub fn in_flight(&self) -> u32 {
        self.in_flight
    }

    /// How long requests take without a queue, as far as that is known.
    pub fn base(&self) -> Option<Duration> {
        self.base_ns.map(Duration::from_nanos)
    }

    /// One begins, with or without room.
    #[inline]
    pub fn begin(&mut self) {
        self.in_flight += 1;
        self.window.in_flight_max = self.window.in_flight_max.max(self.in_flight);
    }

    /// One that has begun takes up no room until it begins again: it waits for its client.
    pub fn lend(&mut self) {
        self.in_flight = self.in_flight.saturating_sub(1);
    }

    /// One that began at `began` has ended.
    pub fn end(&mut self, began: Time, now: Time, outcome: Outcome) {
        debug_assert!(self.in_flight > 0, "more ends than began");
        self.in_flight = self.in_flight.saturating_sub(1);
        let counts = self.measuring.is_none_or(|since| began >= since.since);
        match outcome {
            Outcome::Answered if counts => {
                self.window.ended += 1;
                if self.window.took_ns.len() < SAMPLES_MAX {
                    self.window.took_ns.push(now.since(began));
                }
            }
            Outcome::Overloaded => {
                self.window.ended += 1;
                self.window.overloaded += 1;
            }
            Outcome::Answered | Outcome::Void => {}
        }
        if now.since(self.window.since) >= self.settings.window.as_nanos() as u64 {
            self.turn(now);
        }
    }

    /// The window is over.
    fn turn(&mut self, now: Time) {
        if self.window.overloaded as f64 > REFUSED_SHARE * f64::from(self.window.ended) {
            self.set(self.limit * BACK_OFF);
            self.measure_later(now);
        } else if let Some(median_ns) = self.window.median() {
            match self.measuring.take() {
                Some(_) => {
                    self.base_ns = Some(median_ns);
                    self.base_at = now;
                }
                None => self.follow(median_ns, now),
            }
        } else {
            let since = self.measuring.map_or(now, |measuring| measuring.since);
            let for_long = now.since(since) >= self.settings.base_every.as_nanos() as u64;
            if for_long && self.window.took_ns.is_empty() {
                self.measure_later(now);
            }
            return; // It goes on until there are enough.
        }
        self.window.begin_again(now, self.in_flight);
    }

    /// The limit isn't halved any longer for a base that can't be measured now.
    fn measure_later(&mut self, now: Time) {
        if self.measuring.is_some_and(|measuring| measuring.halved) {
            self.measuring = None;
            self.base_at = now;
        }
    }

    /// Moves the limit by how long requests took.
    fn follow(&mut self, median_ns: u64, now: Time) {
        let base_ns = self.base_ns.unwrap_or(median_ns).min(median_ns);
        self.base_ns = Some(base_ns);
        let gradient = self.settings.tolerance * base_ns as f64 / median_ns.max(1) as f64;
        let next = self.limit * gradient.clamp(0.5, 1.0) + self.limit.sqrt();
        // A limit that isn't nearly reached says nothing about what more would do.
        let used = f64::from(self.window.in_flight_max) * 2.0 >= self.limit;
        if used || next < self.limit {
            self.set(self.limit + SMOOTHING * (next - self.limit));
        }
        if now.since(self.base_at) >= self.settings.base_every.as_nanos() as u64 {
            self.measuring = Some(Measuring {
                since: now,
                halved: used,
            });
        }
    }

    fn set(&mut self, limit: f64) {
        let (min, max) = (self.settings.min, self.settings.max);
        self.limit = limit.clamp(f64::from(min), f64::from(max));
    }
}

impl Window {
    fn beginning(now: Time) -> Window {
        Window {
            since: now,
            took_ns: Vec::with_capacity(SAMPLES_MAX),
            ..Window::default()
        }
    }

    fn begin_again(&mut self, now: Time, in_flight: u32) {
        self.took_ns.clear();
        self.since = now;
        self.ended = 0;
        self.overloaded = 0;
        self.in_flight_max = in_flight;
    }

    fn median(&mut self) -> Option<u64> {
        let middle = self.took_ns.len() / 2;
        (self.took_ns.len() >= SAMPLES_MIN).then(|| *self.took_ns.select_nth_unstable(middle).1)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const MS: u64 = 1_000_000;

    /// Has requests of so many milliseconds fill the limit for so many windows.
    fn fill(limit: &mut Limit, now: &mut Time, took_ms: u64, windows: u32) {
        for _ in 0..windows * 20 {
            let began = *now;
            while limit.has_room() {
                limit.begin();
            }
            *now = now.plus(took_ms.max(3) * MS);
            for _ in 0..limit.in_flight() {
                limit.end(
                    began.plus(0),
                    Time(began.0 + took_ms * MS),
                    Outcome::Answered,
                );
            }
        }
    }

    #[test]
    fn it_grows_while_requests_take_no_longer_and_shrinks_when_they_do() {
        let mut now = Time(1);
        let mut limit = Limit::new(Settings::default(), now);
        fill(&mut limit, &mut now, 3, 20);
        let grown = limit.allowed();
        assert!(grown > 40, "{grown}");
        // Ten times as long, but the base is measured again only later.
        let before = limit.base();
        fill(&mut limit, &mut now, 30, 1);
        assert_eq!(limit.base(), before);
        assert!(
            limit.allowed() < grown / 2,
            "{} of {grown}",
            limit.allowed()
        );
    }

    #[test]
    fn it_stays_between_its_ends() {
        let settings = Settings {
            initial: 500,
            min: 0,
            max: 30,
            ..Settings::default()
        };
        let mut now = Time(1);
        let mut limit = Limit::new(settings, now);
        assert_eq!(limit.allowed(), 30);
        for _ in 0..2000 {
            limit.begin();
            now = now.plus(MS);
            limit.end(Time(now.0 - MS), now, Outcome::Overloaded);
        }
        assert_eq!(limit.allowed(), 1);
    }

    #[test]
    fn a_limit_that_is_not_used_does_not_grow() {
        let mut now = Time(1);
        let mut limit = Limit::new(Settings::default(), now);
        for _ in 0..10_000 {
            limit.begin();
            now = now.plus(MS);
            limit.end(Time(now.0 - MS), now, Outcome::Answered);
        }
        assert_eq!(limit.allowed(), 20);
    }

    #[test]
    fn a_server_that_has_become_slower_for_good_gets_a_new_base() {
        let mut now = Time(1);
        let mut limit = Limit::new(Settings::default(), now);
        fill(&mut limit, &mut now, 3, 5);
        assert_eq!(limit.base(), Some(Duration::from_millis(3)));
        fill(&mut limit, &mut now, 30, 40);
        assert_eq!(limit.base(), Some(Duration::from_millis(30)));
    }

    /// A limit that is halved, as it is every few seconds.
    fn halved(now: &mut Time) -> Limit {
        let mut limit = Limit::new(Settings::default(), *now);
        while !limit.measuring.is_some_and(|measuring| measuring.halved) {
            fill(&mut limit, now, 3, 1);
            assert!(now.0 < 60_000 * MS, "it's never measured again");
        }
        assert_eq!(limit.allowed(), (limit.limit / 2.0) as u32);
        limit
    }

    /// So many windows in which requests end like this.
    fn windows(limit: &mut Limit, now: &mut Time, count: u32, outcome: Outcome) {
        for _ in 0..count * 10 {
            let began = *now;
            limit.begin();
            *now = now.plus(5 * MS);
            limit.end(began, *now, outcome);
        }
    }

    #[test]
    fn a_limit_is_not_left_halved_while_everything_is_refused() {
        let mut now = Time(1);
        let mut limit = halved(&mut now);
        let (before, base) = (limit.limit, limit.base());
        windows(&mut limit, &mut now, 2, Outcome::Overloaded);
        assert!(limit.limit < before);
        assert_eq!(limit.allowed(), limit.limit as u32);
        // It's measured once that is over.
        assert_eq!(limit.base(), base);
        windows(&mut limit, &mut now, 110, Outcome::Answered);
        assert_eq!(limit.base(), Some(Duration::from_millis(5)));
    }

    #[test]
    fn a_limit_is_not_left_halved_while_nobody_waits_for_answers() {
        let mut now = Time(1);
        let mut limit = halved(&mut now);
        windows(&mut limit, &mut now, 90, Outcome::Void);
        assert_eq!(limit.allowed(), (limit.limit / 2.0) as u32);
        windows(&mut limit, &mut now, 20, Outcome::Void);
        assert_eq!(limit.allowed(), limit.limit as u32);
    }

    #[test]
    fn what_says_nothing_changes_nothing() {
        let mut now = Time(1);
        let mut limit = Limit::new(Settings::default(), now);
        for _ in 0..1000 {
            limit.begin();
            now = now.plus(MS);
            limit.end(Time(now.0 - MS), now, Outcome::Void);
        }
        assert_eq!((limit.in_flight(), limit.base()), (0, None));
    }
}
