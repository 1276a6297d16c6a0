//! A run as it is drawn while it goes on: a point for each second, in bounded memory.
//!
//! Percentiles can't be averaged, so a point keeps its distribution, and where there are too many
//! points, neighbours are joined: every point is then twice as long, as rows of a record are.

use measure::histogram::{Histogram, Sparse};
use measure::hold;
use measure::interval::{Additive, Interval, Phase};
use measure::tally::Counted;

/// An hour of seconds.
pub const POINTS_MAX: usize = 3600;
/// So many cells of all distributions; with more, neighbours are joined, too. That's 32 MiB.
const CELLS_MAX: usize = 2 << 20;

/// What a piece of the measured window brought.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Point {
    /// When it begins, in nanoseconds from the start of the measured window.
    pub from_ns: u64,
    /// When it ends.
    pub until_ns: u64,
    /// Requests that fell due; none in a closed loop.
    pub offered: Option<u64>,
    /// Requests that were completed, or heartbeats that were answered.
    pub completed: u64,
    /// Requests or heartbeats that failed.
    pub failed: u64,
    /// Connections that stood at its end.
    pub connected: u64,
    /// Their times.
    pub times: Sparse,
    /// How late requests were sent.
    pub lateness: Lateness,
}

/// How late requests were sent that were sent by a schedule. Without its distribution, which would
/// take as much room as that of the response times.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Lateness {
    /// How many were sent; none in a closed loop.
    pub sent: u64,
    /// The sum of their lateness.
    pub sum_ns: u128,
    /// The longest.
    pub max_ns: u64,
}

impl Lateness {
    fn of(histogram: &Histogram) -> Lateness {
        Lateness {
            sent: histogram.count(),
            sum_ns: histogram.sum(),
            max_ns: histogram.max(),
        }
    }

    fn join(&mut self, next: Lateness) {
        self.sent += next.sent;
        self.sum_ns += next.sum_ns;
        self.max_ns = self.max_ns.max(next.max_ns);
    }

    /// The mean of it, in nanoseconds.
    pub fn mean_ns(&self) -> Option<f64> {
        (self.sent > 0).then(|| self.sum_ns as f64 / self.sent as f64)
    }
}

/// What has a course over time.
pub trait Course: Additive {
    /// Exchanges or heartbeats that were completed and that failed, and how long they took.
    fn course(&self) -> (u64, u64, &Histogram);

    /// How late they were sent.
    fn lateness(&self) -> Lateness;
}

impl Course for Counted {
    fn course(&self) -> (u64, u64, &Histogram) {
        (self.completed, self.failed, &self.response)
    }

    fn lateness(&self) -> Lateness {
        Lateness::of(&self.lateness)
    }
}

impl Course for hold::Counted {
    fn course(&self) -> (u64, u64, &Histogram) {
        (self.counts.answered, self.counts.failed, &self.heartbeat)
    }

    fn lateness(&self) -> Lateness {
        Lateness::of(&self.lateness)
    }
}

impl Point {
    fn of<C: Course>(interval: &Interval<C>) -> Point {
        let (completed, failed, times) = interval.counted.course();
        Point {
            from_ns: interval.from_ns,
            until_ns: interval.until_ns,
            offered: interval.offered,
            completed,
            failed,
            connected: interval.connected,
            times: Sparse::of(times),
            lateness: interval.counted.lateness(),
        }
    }

    /// Its length in seconds.
    pub fn seconds(&self) -> f64 {
        self.until_ns.saturating_sub(self.from_ns) as f64 / 1e9
    }

    /// So many of them in a second.
    pub fn rate(&self, count: u64) -> f64 {
        match self.seconds() {
            seconds if seconds > 0.0 => count as f64 / seconds,
            _ => 0.0,
        }
    }

    fn join(&mut self, next: Point) {
        self.until_ns = next.until_ns;
        self.offered = self.offered.zip(next.offered).map(|(one, two)| one + two);
        self.completed += next.completed;
        self.failed += next.failed;
        self.connected = next.connected;
        self.times.merge(&next.times);
        self.lateness.join(next.lateness);
    }
}

/// All points so far.
#[derive(Clone, Debug, Default)]
pub struct History {
    points: Vec<Point>,
    /// How many seconds a point is long; the last one may still grow.
    each_s: u64,
}

impl History {
    /// Nothing yet.
    pub fn new() -> History {
        History {
            points: Vec::new(),
            each_s: 1,
        }
    }

    /// Adds an interval; the drain is no part of the window.
    pub fn add<C: Course>(&mut self, interval: &Interval<C>) {
        if interval.phase != Phase::Measure {
            return;
        }
        let point = Point::of(interval);
        let whole_ns = self.each_s * 1_000_000_000;
        match self.points.last_mut() {
            Some(last) if last.until_ns - last.from_ns < whole_ns && self.each_s > 1 => {
                last.join(point);
            }
            _ => self.points.push(point),
        }
        let cells: usize = self.points.iter().map(|point| point.times.len()).sum();
        if self.points.len() > POINTS_MAX || cells > CELLS_MAX {
            self.halve();
        }
    }

    fn halve(&mut self) {
        self.each_s *= 2;
        let points = std::mem::take(&mut self.points);
        for point in points {
            match self.points.last_mut() {
                Some(last) if last.until_ns - last.from_ns < self.each_s * 1_000_000_000 => {
                    last.join(point);
                }
                _ => self.points.push(point),
            }
        }
    }

    /// How many seconds a point is long. Where this grows, all points are others; otherwise only
    /// the last one changes, and more come.
    pub fn each_s(&self) -> u64 {
        self.each_s
    }

    /// The points, in order.
    pub fn points(&self) -> &[Point] {
        &self.points
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn interval(second: u64) -> Interval {
        let mut counted = Counted::new();
        counted.completed = 1 + second % 5;
        for n in 0..counted.completed {
            counted.response.record(1_000_000 + second * 1_000 + n);
            counted.lateness.record(second + n);
        }
        Interval {
            seq: second,
            joined: 1,
            phase: Phase::Measure,
            from_ns: second * 1_000_000_000,
            until_ns: (second + 1) * 1_000_000_000,
            offered: Some(5),
            connected: 7,
            counted,
        }
    }

    #[test]
    fn hours_keep_within_its_bounds_and_loses_nothing() {
        const HOURS_S: u64 = 5 * 3600;
        let mut history = History::new();
        let mut whole = Histogram::new();
        for second in 0..HOURS_S {
            let interval = interval(second);
            whole.merge(&interval.counted.response);
            history.add(&interval);
            assert!(history.points().len() <= POINTS_MAX);
        }
        let points = history.points();
        assert!(points.len() > POINTS_MAX / 2 - 1, "{}", points.len());
        let mut at = 0;
        let mut all = Sparse::default();
        for point in points {
            assert_eq!(point.from_ns, at);
            at = point.until_ns;
            all.merge(&point.times);
        }
        assert_eq!(at, HOURS_S * 1_000_000_000);
        assert_eq!(all, Sparse::of(&whole));
        let sent = points.iter().map(|point| point.lateness.sent).sum::<u64>();
        assert_eq!(sent, whole.count());
        let late = points.iter().map(|point| point.lateness.max_ns).max();
        assert_eq!(late, Some(HOURS_S - 1 + (HOURS_S - 1) % 5));
        let offered = points.iter().filter_map(|point| point.offered).sum::<u64>();
        assert_eq!(offered, 5 * HOURS_S);
    }
}
