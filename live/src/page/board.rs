//! What is known of the run, as the page shows it: sums over the run, the last interval, and a row
//! for each point of its history.

use std::collections::BTreeMap;
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use measure::histogram::Sparse;
use measure::interval::{Interval, Phase};
use measure::process;
use measure::tally::Counted;
use measure::time::Time;
use server::Bell;

use super::End;
use crate::History;

/// A browser that hasn't asked for so long isn't waited for.
const GONE_AFTER: Duration = Duration::from_secs(2);
/// So many browsers are told apart.
const VIEWERS_MAX: usize = 256;

/// Quantiles of response times that are drawn.
pub(super) const RESPONSE: [f64; 4] = [0.5, 0.9, 0.99, 1.0];
/// Where the columns of a [`Row`] begin.
pub(super) const RATES_AT: usize = 1;
pub(super) const CONNECTED_AT: usize = 4;
pub(super) const RESPONSE_AT: usize = 5;
pub(super) const LATENESS_AT: usize = RESPONSE_AT + RESPONSE.len();
/// The mean and the longest.
pub(super) const COLUMNS: usize = LATENESS_AT + 2;

/// A point as it's drawn: the middle of its time in seconds; what was due, answered and failed in a
/// second; connections; times in microseconds. What isn't there isn't drawn.
pub(super) type Row = [Option<f64>; COLUMNS];

/// How far the run is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Stage {
    /// It goes on.
    Running,
    /// Somebody has ended it here.
    Ending,
    /// Nothing more is measured.
    Measured,
    /// The report is written.
    Over,
}

/// How far it is, in time.
#[derive(Clone, Debug, Default, PartialEq)]
pub(super) struct Progress {
    /// What is going on.
    pub what: &'static str,
    /// Since the load began.
    pub elapsed_s: f64,
    /// Its length with its warm-up, where time ends it.
    pub total_s: Option<f64>,
}

/// What all threads of the page share.
pub(super) struct Board {
    state: Mutex<State>,
    /// Apart from the rest, since the thread that tends the load writes it, and waits for nobody.
    progress: Mutex<Progress>,
    bell: Mutex<Option<Bell>>,
}

/// What became of the run so far.
pub(super) struct State {
    /// Goes up with whatever changes.
    pub seq: u64,
    pub stage: Stage,
    pub end: Option<End>,
    pub rows: Vec<Row>,
    /// How many seconds a row stands for.
    pub each_s: u64,
    /// The whole run.
    pub sum: Counted,
    pub offered: Option<u64>,
    /// The measured window up to now.
    pub seconds: f64,
    pub last: Last,
    pub is_begun: bool,
    history: History,
    viewers: BTreeMap<u64, Viewer>,
}

/// The last interval of the measured window.
#[derive(Debug, Default)]
pub(super) struct Last {
    pub seconds: f64,
    pub offered: Option<u64>,
    pub completed: u64,
    pub connected: u64,
    pub bytes_received: u64,
    pub bytes_sent: u64,
    pub response: Sparse,
    pub steps: Vec<LastStep>,
    /// Processors that this process kept busy.
    pub cpus: Option<f64>,
    /// What its memory was at the end.
    pub resident_bytes: Option<u64>,
    cpu_ns: Option<u64>,
    at: Option<Time>,
}

/// What became of a step in it.
#[derive(Debug, Default)]
pub(super) struct LastStep {
    pub completed: u64,
    pub response: Sparse,
}

/// A browser that looks on.
struct Viewer {
    asked: Time,
    knows_the_end: bool,
}

impl Board {
    pub(super) fn new() -> Board {
        Board {
            state: Mutex::new(State::new()),
            progress: Mutex::default(),
            bell: Mutex::default(),
        }
    }

    pub(super) fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    pub(super) fn progress(&self) -> MutexGuard<'_, Progress> {
        self.progress.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Tells who is to be told of changes.
    pub(super) fn hang(&self, bell: Bell) {
        *self.bell.lock().unwrap_or_else(PoisonError::into_inner) = Some(bell);
    }

    /// Changes something, and tells.
    pub(super) fn change(&self, how: impl FnOnce(&mut State)) {
        {
            let mut state = self.state();
            how(&mut state);
            state.seq += 1;
        }
        let bell = self.bell.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(bell) = &*bell {
            bell.ring();
        }
    }
}

impl State {
    /// Nothing yet.
    pub(super) fn new() -> State {
        State {
            seq: 1,
            stage: Stage::Running,
            end: None,
            rows: Vec::new(),
            each_s: 1,
            sum: Counted::new(),
            offered: None,
            seconds: 0.0,
            last: Last::default(),
            is_begun: false,
            history: History::new(),
            viewers: BTreeMap::new(),
        }
    }

    /// One more interval, which came at `now`.
    pub(super) fn add(&mut self, interval: &Interval, now: Time) {
        self.is_begun = true;
        self.sum.merge(&interval.counted);
        self.offered = match (self.offered, interval.offered) {
            (Some(before), Some(more)) => Some(before + more),
            (before, more) => more.or(before),
        };
        self.last.connected = interval.connected;
        if interval.phase == Phase::Drain {
            return;
        }
        self.seconds = interval.until_ns as f64 / 1e9;
        self.last = self.last.follow(interval, now);
        self.history.add(interval);
        let each_s = self.history.each_s();
        if self.each_s != each_s {
            self.each_s = each_s;
            self.rows.clear();
        }
        // The last one may have grown.
        self.rows.pop();
        let new = &self.history.points()[self.rows.len()..];
        self.rows.extend(new.iter().map(row));
    }

    /// A browser asks at `now`.
    pub(super) fn asked(&mut self, viewer: u64, now: Time) {
        let knows_the_end = self.stage == Stage::Over;
        if self.viewers.len() < VIEWERS_MAX || self.viewers.contains_key(&viewer) {
            let asked = now;
            self.viewers.insert(
                viewer,
                Viewer {
                    asked,
                    knows_the_end,
                },
            );
        }
    }

    /// A browser is gone.
    pub(super) fn left(&mut self, viewer: u64) {
        self.viewers.remove(&viewer);
    }

    /// Whether everybody who looks on at `now` knows that the run is over.
    pub(super) fn all_know_the_end(&self, now: Time) -> bool {
        let looks_on = |viewer: &&Viewer| now - viewer.asked < GONE_AFTER;
        let mut looking = self.viewers.values().filter(looks_on);
        looking.all(|viewer| viewer.knows_the_end)
    }
}

impl Last {
    fn follow(&self, interval: &Interval, now: Time) -> Last {
        let counted = &interval.counted;
        let cpu_ns = process::own_cpu_ns();
        let used = cpu_ns.zip(self.cpu_ns).zip(self.at);
        let cpus = used.map(|((later, before), at)| {
            later.saturating_sub(before) as f64 / (now.since(at).max(1)) as f64
        });
        let step = |step: &measure::tally::StepTally| LastStep {
            completed: step.completed,
            response: Sparse::of(&step.response),
        };
        Last {
            seconds: interval.seconds().max(1e-9),
            offered: interval.offered,
            completed: counted.completed,
            connected: interval.connected,
            bytes_received: counted.bytes_received,
            bytes_sent: counted.bytes_sent,
            response: Sparse::of(&counted.response),
            steps: counted.steps.iter().map(step).collect(),
            cpus,
            resident_bytes: process::own_resident_bytes(),
            cpu_ns,
            at: Some(now),
        }
    }
}

fn row(point: &crate::Point) -> Row {
    let rate = |count| Some(rounded(point.rate(count)));
    let times = |of: &Sparse, q: f64| match of.is_empty() {
        true => None,
        false => Some(rounded(of.quantile(q) as f64 / 1000.0)),
    };
    let mut row = [None; COLUMNS];
    row[0] = Some(rounded((point.from_ns + point.until_ns) as f64 / 2e9));
    row[RATES_AT] = point.offered.and_then(rate);
    row[RATES_AT + 1] = rate(point.completed);
    // Nothing is drawn where nothing failed.
    row[RATES_AT + 2] = (point.failed > 0).then(|| rate(point.failed)).flatten();
    row[CONNECTED_AT] = Some(point.connected as f64);
    for (at, q) in RESPONSE.into_iter().enumerate() {
        row[RESPONSE_AT + at] = times(&point.times, q);
    }
    let late = &point.lateness;
    row[LATENESS_AT] = late.mean_ns().map(|ns| rounded(ns / 1000.0));
    row[LATENESS_AT + 1] = (late.sent > 0).then(|| rounded(late.max_ns as f64 / 1000.0));
    row
}

/// What is drawn needs no more digits.
fn rounded(value: f64) -> f64 {
    (value * 100.0).round() / 100.0
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::POINTS_MAX;

    fn interval(second: u64, phase: Phase) -> Interval {
        let mut counted = Counted::new();
        counted.completed = 3;
        counted.failed = second % 2;
        for n in 0..3 {
            counted.response.record(1_000_000 + second * 1_000 + n);
            counted.lateness.record(n);
        }
        Interval {
            seq: second,
            joined: 1,
            phase,
            from_ns: second * 1_000_000_000,
            until_ns: (second + 1) * 1_000_000_000,
            offered: Some(4),
            connected: 7,
            counted,
        }
    }

    #[test]
    fn every_row_is_that_of_its_point_and_hours_keep_within_bounds() {
        const SECONDS: u64 = POINTS_MAX as u64 + 11;
        let mut state = State::new();
        let mut was = Vec::new();
        for second in 0..SECONDS {
            let each_s = state.each_s;
            state.add(&interval(second, Phase::Measure), Time(second));
            // What a browser has may be kept up to its last row, as long as rows are as long.
            if state.each_s == each_s && !was.is_empty() {
                let kept = was.len() - 1;
                assert_eq!(state.rows[..kept], was[..kept], "{second}");
            }
            was.clone_from(&state.rows);
        }
        state.add(&interval(SECONDS, Phase::Drain), Time(SECONDS));
        assert_eq!(state.each_s, 2);
        assert!(state.rows.len() <= POINTS_MAX);
        let points: Vec<Row> = state.history.points().iter().map(row).collect();
        assert_eq!(state.rows, points);
        assert_eq!(state.sum.completed, 3 * (SECONDS + 1));
        assert_eq!(state.offered, Some(4 * (SECONDS + 1)));
        assert_eq!(state.rows[0][RATES_AT], Some(4.0));
    }

    #[test]
    fn who_looks_on_is_waited_for_until_it_knows_the_end_or_is_gone() {
        let (then, later) = (Time(1), Time(1) + GONE_AFTER);
        let mut state = State::new();
        assert!(state.all_know_the_end(then));
        state.asked(1, then);
        state.asked(2, then);
        assert!(!state.all_know_the_end(then));
        // Neither asks any more.
        assert!(state.all_know_the_end(later));
        state.stage = Stage::Over;
        state.asked(1, then);
        assert!(!state.all_know_the_end(then));
        state.left(2);
        assert!(state.all_know_the_end(then));
        (0..2 * VIEWERS_MAX as u64).for_each(|viewer| state.asked(viewer, then));
        assert_eq!(state.viewers.len(), VIEWERS_MAX);
    }
}
