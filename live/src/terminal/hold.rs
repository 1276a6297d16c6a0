//! A hold: connections that stand, how heartbeats fare, and why connections are lost.

use std::collections::BTreeMap;

use measure::counters::Errors;
use measure::histogram::{Histogram, Sparse};
use measure::hold::{Counted, Counts};
use measure::interval::Interval;
use measure::series::Gains;
use measure::time::Time;
use measure::units::{wrk_metric, wrk_time_us};
use ratatui::Frame;
use ratatui::layout::{Constraint, Layout, Rect};
use ratatui::style::Color;
use ratatui::text::Line;
use ratatui::widgets::Paragraph;

use super::{Body, charts};
use crate::own::Own;
use crate::{History, Point, Reader};

/// A hold, as its intervals come.
#[derive(Debug)]
pub struct HoldBody {
    reader: Reader<Counted>,
    state: State,
}

impl HoldBody {
    /// What `reader` gets of so many connections that were asked for.
    pub fn new(asked: u32, reader: Reader<Counted>) -> HoldBody {
        let state = State::new(asked);
        HoldBody { reader, state }
    }
}

impl Body for HoldBody {
    fn renew(&mut self) -> bool {
        let state = &mut self.state;
        self.reader.take_waiting(|interval| state.add(interval))
    }

    fn draw(&self, frame: &mut Frame<'_>, area: Rect) {
        draw(frame, area, &self.state);
    }
}

/// What is drawn.
#[derive(Debug, Default)]
struct State {
    asked: u32,
    history: History,
    connected: u64,
    /// So far.
    counts: Counts,
    given_up: u64,
    skipped: u64,
    losses: Kinds,
    attempts: Kinds,
    heartbeats: Kinds,
    /// Of the last interval.
    opened_per_s: f64,
    lateness_p99_ns: u64,
    set_up: Sparse,
    own: Own,
    /// The whole time's.
    re_establish: Histogram,
}

type Kinds = BTreeMap<&'static str, u64>;

fn count(errors: &Errors, kinds: &mut Kinds) {
    for (kind, count) in errors.iter() {
        *kinds.entry(kind.name()).or_default() += count;
    }
}

impl State {
    fn new(asked: u32) -> State {
        State {
            asked,
            history: History::new(),
            ..State::default()
        }
    }

    fn add(&mut self, interval: &Interval<Counted>) {
        self.history.add(interval);
        let counted = &interval.counted;
        self.connected = interval.connected;
        self.counts.add(&counted.counts);
        self.given_up += counted.given_up;
        self.skipped += counted.skipped;
        count(&counted.counts.losses, &mut self.losses);
        count(&counted.attempts, &mut self.attempts);
        count(&counted.heartbeat_errors, &mut self.heartbeats);
        self.opened_per_s = counted.counts.opened as f64 / interval.seconds().max(1e-9);
        self.lateness_p99_ns = counted.lateness.quantile(0.99);
        self.own = self.own.follow(Time::now());
        self.set_up = Sparse::of(&counted.set_up);
        self.re_establish.merge(&counted.re_establish);
    }
}

fn draw(frame: &mut Frame<'_>, area: Rect, state: &State) {
    let figures = figures(state);
    if !charts::has_room(area) {
        frame.render_widget(Paragraph::new(figures), area);
        return;
    }
    let parts = [Constraint::Min(8), Constraint::Length(figures.len() as u16)];
    let [middle, below] = Layout::vertical(parts).areas(area);
    let [left, right] = charts::halves(middle);
    let points = state.history.points();
    connections(frame, left, points);
    charts::times(frame, right, "heartbeats", points);
    frame.render_widget(Paragraph::new(figures), below);
}

/// Now, the last second, and what went wrong so far; what matters most comes first.
fn figures(state: &State) -> Vec<Line<'static>> {
    let Some(last) = state.history.points().last() else {
        return vec![Line::from("no connections open yet")];
    };
    let counts = &state.counts;
    let answered = wrk_metric(last.rate(last.completed));
    let mut lines = vec![
        Line::from(format!(
            "open      {} of {}, {} lost",
            state.connected,
            state.asked,
            counts.lost()
        )),
        Line::from(format!(
            "beats     {answered}/s answered, {} failed, {} skipped",
            counts.failed, state.skipped
        )),
        charts::percentiles("time      ", &last.times),
        charts::wrong("losses    ", state.losses.iter()),
        charts::wrong("attempts  ", state.attempts.iter()),
        charts::wrong("failures  ", state.heartbeats.iter()),
    ];
    let late = wrk_time_us(state.lateness_p99_ns as f64 / 1000.0);
    lines.push(Line::from(format!("sent      late by {late} at p99")));
    let time = |ns: u64| wrk_time_us(ns as f64 / 1000.0);
    lines.push(Line::from(match state.set_up.is_empty() {
        true => "opened    none in the last second".to_owned(),
        false => format!(
            "opened    {}/s, set up in {} at p99",
            wrk_metric(state.opened_per_s),
            time(state.set_up.quantile(0.99))
        ),
    }));
    lines.extend(charts::own(&state.own));
    if counts.reconnects + state.given_up > 0 {
        lines.push(Line::from(format!(
            "again     {} reconnects after {} at p50, {} given up",
            counts.reconnects,
            time(state.re_establish.quantile(0.5)),
            state.given_up
        )));
    }
    lines
}

fn connections(frame: &mut Frame<'_>, area: Rect, points: &[Point]) {
    let over_time = |of: &dyn Fn(&Point) -> Option<f64>| charts::over_time(points, of);
    let open = over_time(&|point| Some(point.connected as f64));
    let beats = over_time(&|point| Some(point.rate(point.completed)));
    let failed = over_time(&|point| (point.failed > 0).then(|| point.rate(point.failed)));
    let courses = [
        ("open", Color::Green, &open),
        ("beats/s", Color::Cyan, &beats),
        ("failed/s", Color::Red, &failed),
    ];
    charts::numbers(frame, area, "connections", points, &courses);
}

#[cfg(test)]
mod tests {
    use measure::counters::ErrorKind;
    use measure::interval::Phase;

    use super::super::testing::screen;
    use super::*;

    fn state(seconds: u64) -> State {
        let mut state = State::new(1_000);
        for second in 0..seconds {
            let mut counted = Counted::default();
            counted.counts.opened = 100;
            counted.counts.answered = 40;
            counted.counts.losses.add(ErrorKind::Reset);
            (0..40).for_each(|n| counted.heartbeat.record(1_000_000 + n * 5_000));
            (0..100).for_each(|_| counted.set_up.record(2_000_000));
            state.add(&Interval {
                seq: second,
                joined: 1,
                phase: Phase::Measure,
                from_ns: second * 1_000_000_000,
                until_ns: (second + 1) * 1_000_000_000,
                offered: None,
                connected: 99 * (second + 1),
                counted,
            });
        }
        state
    }

    #[test]
    fn every_size_shows_what_stands_and_why_connections_were_lost() {
        let state = state(9);
        for (width, height) in [(40, 7), (80, 24), (132, 43)] {
            let shown = screen(width, height, |frame| draw(frame, frame.area(), &state));
            for part in [
                "891 of 1000, 9 lost",
                "40.00/s answered",
                "p99",
                "losses    9 reset",
            ] {
                assert!(shown.contains(part), "{part}, {width}\n{shown}");
            }
            assert_eq!(shown.contains("set up in 2.00ms"), width > 40, "{shown}");
        }
        for (width, height) in [(1, 1), (50, 13), (3, 100), (200, 2)] {
            screen(width, height, |frame| draw(frame, frame.area(), &state));
        }
    }

    #[test]
    fn before_the_first_second_it_says_that_nothing_is_opened() {
        let shown = screen(80, 20, |frame| draw(frame, frame.area(), &state(0)));
        assert!(shown.contains("no connections open yet"), "{shown}");
    }
}
