//! A run as it is drawn while it goes on: a point for each second, in bounded memory.
//!
//! Percentiles can't be averaged, so a point keeps its distribution, and where there are too many
//! points, neighbours are joined: every point is then twice as long, as rows of a record are.

use measure::histogram::{Histogram, Sparse};
use measure::hold;
use measure::interval::{Additive, Interval, Phase};
use measure::tally::{Counted, StreamTally};

/// An hour of seconds.
pub const POINTS_MAX: usize = 3600;
/// So many cells of all distributions; with more, neighbours are joined, too. That's 32 MiB.
pub(crate) const CELLS_MAX: usize = 2 << 20;

/// What a piece of the measured window brought.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Point {
    /// When it begins, in nanoseconds from the start of the measured window.
    pub from_ns: u64,
    /// When it ends.
    pub until_ns: u64,
    /// Requests or heartbeats that fell due; none in a closed loop.
    pub offered: Option<u64>,
    /// Requests that were completed, or heartbeats that were answered.
    pub completed: u64,
    /// Requests or heartbeats that failed.
    pub failed: u64,
    /// Connections that stood at its end.
    pub connected: u64,
    /// Their times.
    pub times: Sparse,
    /// How late requests or heartbeats were sent that were sent by a schedule.
    pub lateness: Summary,
    /// What happened to connections; nothing of a run.
    pub turnover: Turnover,
    /// The events inside answers; none where nobody looks for them.
    pub events: Events,
}

/// What came of streams: events inside answers, or messages.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Events {
    /// How many came.
    pub count: u64,
    /// From when a stream was due to its first event.
    pub first: Sparse,
    /// From each event to the next.
    pub gaps: Sparse,
}

impl Events {
    fn of(streams: &StreamTally) -> Events {
        Events {
            count: streams.events,
            first: Sparse::of(&streams.first_event),
            gaps: Sparse::of(&streams.event_gap),
        }
    }

    fn join(&mut self, next: &Events) {
        self.count += next.count;
        self.first.merge(&next.first);
        self.gaps.merge(&next.gaps);
    }
}

/// Times without their distribution, which would take as much room as that of the response times.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Summary {
    /// How many there are.
    pub count: u64,
    /// All together.
    pub sum_ns: u128,
    /// The longest.
    pub max_ns: u64,
}

impl Summary {
    fn of(histogram: &Histogram) -> Summary {
        Summary {
            count: histogram.count(),
            sum_ns: histogram.sum(),
            max_ns: histogram.max(),
        }
    }

    fn join(&mut self, next: Summary) {
        self.count += next.count;
        self.sum_ns += next.sum_ns;
        self.max_ns = self.max_ns.max(next.max_ns);
    }

    /// Their mean, in nanoseconds.
    pub fn mean_ns(&self) -> Option<f64> {
        (self.count > 0).then(|| self.sum_ns as f64 / self.count as f64)
    }

    /// The longest, in nanoseconds.
    pub fn longest_ns(&self) -> Option<f64> {
        (self.count > 0).then_some(self.max_ns as f64)
    }
}

/// What happened to connections that are held.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Turnover {
    /// How often one was opened, reconnects included.
    pub opened: u64,
    /// How often one was lost.
    pub lost: u64,
    /// How often a lost one was open again.
    pub reconnects: u64,
    /// From the start of an attempt until the connection could be used.
    pub set_up: Summary,
}

impl Turnover {
    fn join(&mut self, next: Turnover) {
        self.opened += next.opened;
        self.lost += next.lost;
        self.reconnects += next.reconnects;
        self.set_up.join(next.set_up);
    }
}

/// What has a course over time.
pub trait Course: Additive {
    /// Exchanges or heartbeats that were completed and that failed, and how long they took.
    fn course(&self) -> (u64, u64, &Histogram);

    /// How late they were sent.
    fn lateness(&self) -> Summary;

    /// How many of them an interval was to bring; none in a closed loop.
    fn due(interval: &Interval<Self>) -> Option<u64> {
        interval.offered
    }

    /// What happened to connections, where that has a course.
    fn turnover(&self) -> Turnover {
        Turnover::default()
    }

    /// The events inside answers, where that's looked for.
    fn events(&self) -> Events {
        Events::default()
    }
}

impl Course for Counted {
    fn course(&self) -> (u64, u64, &Histogram) {
        (self.completed, self.failed, &self.response)
    }

    fn lateness(&self) -> Summary {
        Summary::of(&self.lateness)
    }

    fn events(&self) -> Events {
        Events::of(&self.streams)
    }
}

impl Course for hold::Counted {
    fn course(&self) -> (u64, u64, &Histogram) {
        (self.counts.answered, self.counts.failed, &self.heartbeat)
    }

    fn lateness(&self) -> Summary {
        Summary::of(&self.lateness)
    }

    /// A heartbeat that is due is sent or skipped.
    fn due(interval: &Interval<Self>) -> Option<u64> {
        Some(interval.counted.sent + interval.counted.skipped)
    }

    fn turnover(&self) -> Turnover {
        Turnover {
            opened: self.counts.opened,
            lost: self.counts.lost(),
            reconnects: self.counts.reconnects,
            set_up: Summary::of(&self.set_up),
        }
    }
}

impl Point {
    fn of<C: Course>(interval: &Interval<C>) -> Point {
        let (completed, failed, times) = interval.counted.course();
        Point {
            from_ns: interval.from_ns,
            until_ns: interval.until_ns,
            offered: C::due(interval),
            completed,
            failed,
            connected: interval.connected,
            times: Sparse::of(times),
            lateness: interval.counted.lateness(),
            turnover: interval.counted.turnover(),
            events: interval.counted.events(),
        }
    }

    /// How many cells its distributions have.
    pub(crate) fn cells(&self) -> usize {
        self.times.len() + self.events.first.len() + self.events.gaps.len()
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
        self.turnover.join(next.turnover);
        self.events.join(&next.events);
    }
}

/// Shorter intervals say nothing of a rate: a window that somebody ends, or a count, ends with a
/// part of a second, which belongs to the second before.
const SLIVER_NS: u64 = 500_000_000;

/// Whether what was counted from one time to another is no interval of its own.
pub(crate) fn is_sliver(from_ns: u64, until_ns: u64) -> bool {
    until_ns.saturating_sub(from_ns) < SLIVER_NS
}

/// All points so far.
#[derive(Clone, Debug)]
pub struct History {
    points: Vec<Point>,
    /// How many seconds a point is long; the last one may still grow.
    each_s: u64,
    /// How many cells their distributions have.
    cells: usize,
}

impl Default for History {
    fn default() -> History {
        History::new()
    }
}

impl History {
    /// Nothing yet.
    pub fn new() -> History {
        History {
            points: Vec::new(),
            each_s: 1,
            cells: 0,
        }
    }

    /// Adds an interval; the drain is no part of the window.
    pub fn add<C: Course>(&mut self, interval: &Interval<C>) {
        if interval.phase != Phase::Measure {
            return;
        }
        self.put(Point::of(interval));
        if self.points.len() > POINTS_MAX || self.cells > CELLS_MAX {
            self.halve();
        }
    }

    fn halve(&mut self) {
        self.each_s *= 2;
        self.cells = 0;
        for point in std::mem::take(&mut self.points) {
            self.put(point);
        }
    }

    /// Joins a point to the last one, if that isn't as long as it should be, or puts it behind.
    fn put(&mut self, point: Point) {
        let whole_ns = self.each_s * 1_000_000_000;
        match self.points.last_mut() {
            Some(last)
                if is_sliver(point.from_ns, point.until_ns)
                    || last.until_ns - last.from_ns < whole_ns && self.each_s > 1 =>
            {
                self.cells -= last.cells();
                last.join(point);
                self.cells += last.cells();
            }
            _ => {
                self.cells += point.cells();
                self.points.push(point);
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
            counted.streams.first_event.record(2_000_000 + n);
            counted.streams.event_gap.record(3_000_000 + second + n);
        }
        counted.streams.events = counted.completed;
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
        let cells = points.iter().map(Point::cells).sum::<usize>();
        assert_eq!(history.cells, cells);
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
        let sent = points.iter().map(|point| point.lateness.count).sum::<u64>();
        assert_eq!(sent, whole.count());
        let late = points.iter().map(|point| point.lateness.max_ns).max();
        assert_eq!(late, Some(HOURS_S - 1 + (HOURS_S - 1) % 5));
        let offered = points.iter().filter_map(|point| point.offered).sum::<u64>();
        assert_eq!(offered, 5 * HOURS_S);
        let mut events = Events::default();
        points.iter().for_each(|point| events.join(&point.events));
        let count = |of: &Sparse| of.unpack().unwrap().count();
        let each = [events.count, count(&events.first), count(&events.gaps)];
        assert_eq!(each, [whole.count(); 3]);
    }
}
