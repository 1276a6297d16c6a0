//! A run: its rate beside what was due, response times, errors, connections, and each step.

use std::collections::BTreeMap;

use measure::histogram::Sparse;
use measure::interval::Interval;
use measure::time::Time;
use measure::units::{wrk_bytes, wrk_metric, wrk_time_us};
use ratatui::Frame;
use ratatui::layout::{Constraint, Layout, Rect};
use ratatui::style::{Color, Modifier, Style};
use ratatui::text::Line;
use ratatui::widgets::Paragraph;

use super::{Body, charts};
use crate::own::Own;
use crate::{History, Point, Reader};

/// A run, as its intervals come.
#[derive(Debug)]
pub struct RunBody {
    reader: Reader,
    state: State,
}

impl RunBody {
    /// What `reader` gets; `steps`: the names of the steps, where there are several.
    pub fn new(steps: Vec<String>, reader: Reader) -> RunBody {
        let state = State::new(steps);
        RunBody { reader, state }
    }
}

impl Body for RunBody {
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
    /// The names of the steps, where there are several.
    names: Vec<String>,
    history: History,
    connected: u64,
    completed: u64,
    failed: u64,
    errors: BTreeMap<&'static str, u64>,
    /// Of the last interval.
    lateness_p99_ns: u64,
    bytes_received_per_s: f64,
    own: Own,
    steps: Vec<Step>,
}

/// A step so far, and in the last interval.
#[derive(Clone, Debug, Default)]
struct Step {
    completed: u64,
    failed: u64,
    rate: f64,
    last: Sparse,
}

impl State {
    fn new(names: Vec<String>) -> State {
        State {
            history: History::new(),
            names,
            ..State::default()
        }
    }

    fn add(&mut self, interval: &Interval) {
        self.history.add(interval);
        let counted = &interval.counted;
        self.connected = interval.connected;
        self.completed += counted.completed;
        self.failed += counted.failed;
        for (kind, count) in counted.errors.iter() {
            *self.errors.entry(kind.name()).or_default() += count;
        }
        self.lateness_p99_ns = counted.lateness.quantile(0.99);
        self.own = self.own.follow(Time::now());
        let seconds = interval.seconds().max(1e-9);
        self.bytes_received_per_s = counted.bytes_received as f64 / seconds;
        let names = self.names.len();
        self.steps.resize_with(names, Step::default);
        for (step, counted) in self.steps.iter_mut().zip(&counted.steps) {
            step.completed += counted.completed;
            step.failed += counted.failed;
            step.rate = counted.completed as f64 / seconds;
            step.last = Sparse::of(&counted.response);
        }
    }
}

fn draw(frame: &mut Frame<'_>, area: Rect, state: &State) {
    let figures = figures(state);
    if !charts::has_room(area) {
        frame.render_widget(Paragraph::new(figures), area);
        return;
    }
    let steps = steps(state, usize::from(area.height / 4));
    let rows = |lines: &[Line<'_>]| Constraint::Length(lines.len() as u16);
    let parts = [Constraint::Min(8), rows(&figures), rows(&steps)];
    let [middle, below, last] = Layout::vertical(parts).areas(area);
    let [left, right] = charts::halves(middle);
    let points = state.history.points();
    rates(frame, left, points);
    charts::times(frame, right, "response time", points);
    frame.render_widget(Paragraph::new(figures), below);
    frame.render_widget(Paragraph::new(steps), last);
}

/// The last second, and what went wrong so far.
fn figures(state: &State) -> Vec<Line<'static>> {
    let Some(last) = state.history.points().last() else {
        return vec![Line::from("nothing is measured yet")];
    };
    let rate = wrk_metric(last.rate(last.completed));
    let offered = last.offered.map(|offered| last.rate(offered));
    let offered = offered.map_or(String::new(), |rate| {
        format!(" of {}/s due", wrk_metric(rate))
    });
    let received = wrk_bytes(state.bytes_received_per_s);
    let mut lines = vec![
        Line::from(format!(
            "answers   {rate}/s{offered}, {received}/s, {} connections",
            state.connected
        )),
        charts::percentiles("response  ", &last.times),
    ];
    if last.offered.is_some() {
        let late = wrk_time_us(state.lateness_p99_ns as f64 / 1000.0);
        lines.push(Line::from(format!("sent      late by {late} at p99")));
    }
    lines.push(charts::wrong("errors    ", state.errors.iter()));
    lines.extend(charts::own(&state.own));
    lines
}

/// A line for each step, as far as there is room.
fn steps(state: &State, most: usize) -> Vec<Line<'static>> {
    if state.steps.is_empty() {
        return Vec::new();
    }
    let named = state.names.iter().zip(&state.steps);
    let mut lines = vec![Line::styled(
        format!(
            "{:<24}{:>10}{:>10}{:>10}{:>10}",
            "request", "/s", "failed", "p50", "p99"
        ),
        Style::new().add_modifier(Modifier::DIM),
    )];
    lines.extend(named.take(most).map(|(name, step)| {
        let time = |q| wrk_time_us(step.last.quantile(q) as f64 / 1000.0);
        let name: String = name.chars().take(23).collect();
        Line::from(format!(
            "{name:<24}{:>10}{:>10}{:>10}{:>10}",
            wrk_metric(step.rate),
            step.failed,
            time(0.5),
            time(0.99)
        ))
    }));
    let left = state.steps.len().saturating_sub(most);
    if left > 0 {
        lines.push(Line::from(format!("and {left} more")));
    }
    lines
}

fn rates(frame: &mut Frame<'_>, area: Rect, points: &[Point]) {
    let over_time = |of: &dyn Fn(&Point) -> Option<f64>| charts::over_time(points, of);
    let due = over_time(&|point| Some(point.rate(point.offered?)));
    let answered = over_time(&|point| Some(point.rate(point.completed)));
    let failed = over_time(&|point| (point.failed > 0).then(|| point.rate(point.failed)));
    let courses = [
        ("due", Color::DarkGray, &due),
        ("answers", Color::Green, &answered),
        ("failed", Color::Red, &failed),
    ];
    charts::numbers(frame, area, "requests/s", points, &courses);
}

#[cfg(test)]
mod tests {
    use measure::counters::ErrorKind;
    use measure::interval::{Interval, Phase};
    use measure::tally::{Counted, StepTally};

    use super::super::testing;
    use super::*;
    use crate::POINTS_MAX;
    use crate::history::CELLS_MAX;

    fn state(seconds: u64) -> State {
        let mut state = State::new(vec!["log in".to_owned(), "buy".to_owned()]);
        for second in 0..seconds {
            let mut counted = Counted::new();
            counted.completed = 900;
            counted.failed = 100;
            counted.steps.resize_with(2, StepTally::default);
            for n in 0..900 {
                counted.response.record(1_000_000 + n * 5_000);
                counted.steps[(n % 2) as usize].response.record(n * 5_000);
            }
            (0..100).for_each(|_| counted.errors.add(ErrorKind::Timeout));
            state.add(&Interval {
                seq: second,
                joined: 1,
                phase: Phase::Measure,
                from_ns: second * 1_000_000_000,
                until_ns: (second + 1) * 1_000_000_000,
                offered: Some(1_000),
                connected: 50,
                counted,
            });
        }
        state
    }

    fn screen(state: &State, width: u16, height: u16) -> String {
        testing::screen(width, height, |frame| draw(frame, frame.area(), state))
    }

    #[test]
    fn every_size_shows_the_rate_the_times_and_the_errors() {
        let state = state(12);
        for (width, height) in [(40, 10), (80, 24), (132, 43), (250, 80)] {
            let shown = screen(&state, width, height);
            for part in ["0.90k/s of 1.00k/s due", "p99", "1200 timeout"] {
                assert!(shown.contains(part), "{part}, {width}\n{shown}");
            }
            assert_eq!(shown.contains("log in"), width >= 50, "{shown}");
            assert_eq!(shown.contains("response time"), width >= 50, "{shown}");
        }
        // Nothing fits, and nothing panics.
        for (width, height) in [(1, 1), (50, 16), (3, 100), (200, 2)] {
            screen(&state, width, height);
        }
    }

    #[test]
    fn what_the_generator_takes_is_shown_once_it_is_known() {
        let mut state = state(3);
        assert!(!screen(&state, 80, 24).contains("generator"));
        let own = Own::default().follow(Time(1));
        state.own = own.follow(Time(1_000_000_001));
        let shown = screen(&state, 80, 24);
        assert!(
            shown.contains("generator") && shown.contains("of memory"),
            "{shown}"
        );
    }

    #[test]
    fn a_day_is_kept_whole_within_the_bounds_of_an_hour() {
        const DAY_S: u64 = 24 * 3600;
        let mut state = State::new((0..4).map(|step| format!("step {step}")).collect());
        let mut interval = Interval {
            seq: 0,
            joined: 1,
            phase: Phase::Measure,
            from_ns: 0,
            until_ns: 0,
            offered: Some(4),
            connected: 50,
            counted: Counted::new(),
        };
        for second in 0..DAY_S {
            interval.seq = second;
            interval.from_ns = second * 1_000_000_000;
            interval.until_ns = (second + 1) * 1_000_000_000;
            let counted = &mut interval.counted;
            counted.clear();
            counted.completed = 4;
            counted.steps.resize_with(4, StepTally::default);
            for (n, step) in (0..).zip(&mut counted.steps) {
                let ns = 1_000_000 + second / 3600 * 100_000 + (second * 7 + n * 131) % 200_000;
                counted.response.record(ns);
                step.completed = 1;
                step.response.record(ns);
            }
            state.add(&interval);
            assert!(state.history.points().len() <= POINTS_MAX);
        }
        let points = state.history.points();
        assert_eq!(points.len() as u64, DAY_S / state.history.each_s());
        let cells = points.iter().map(|point| point.times.len()).sum::<usize>();
        assert!(cells <= CELLS_MAX, "{cells}");
        let answered = points.iter().map(|point| point.times.count()).sum::<u64>();
        assert_eq!((answered, state.completed), (4 * DAY_S, 4 * DAY_S));
        assert!(screen(&state, 120, 40).contains("86400 s"));
    }

    #[test]
    fn before_the_first_second_it_says_that_there_is_nothing() {
        assert!(screen(&state(0), 80, 24).contains("nothing is measured yet"));
    }
}
