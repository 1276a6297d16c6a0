//! What stands where on the screen, as large as it is.

use measure::units::{wrk_bytes, wrk_metric, wrk_time_us};
use ratatui::Frame;
use ratatui::layout::{Alignment, Constraint, Layout, Rect};
use ratatui::style::{Color, Modifier, Style};
use ratatui::symbols::Marker;
use ratatui::text::{Line, Span};
use ratatui::widgets::{Axis, Block, Chart, Dataset, GraphType, Paragraph};

use super::State;
use crate::Point;

/// Below this there is room for lines of text alone.
const CHARTS_FROM: (u16, u16) = (50, 16);
/// From here on charts stand side by side.
const WIDE: u16 = 110;
const QUANTILES: [(f64, &str, Color); 4] = [
    (0.5, "p50", Color::Green),
    (0.9, "p90", Color::Cyan),
    (0.99, "p99", Color::Yellow),
    (1.0, "max", Color::Red),
];

/// A whole frame.
pub(super) fn draw(frame: &mut Frame<'_>, state: &State) {
    let area = frame.area();
    let figures = figures(state);
    if area.width < CHARTS_FROM.0 || area.height < CHARTS_FROM.1 {
        let lines = [head(state), figures].concat();
        frame.render_widget(Paragraph::new(lines), area);
        return;
    }
    let steps = steps(state, usize::from(area.height / 4));
    let head = head(state);
    let rows = |lines: &[Line<'_>]| Constraint::Length(lines.len() as u16);
    let parts = [
        rows(&head),
        Constraint::Min(8),
        rows(&figures),
        rows(&steps),
    ];
    let [top, middle, below, last] = Layout::vertical(parts).areas(area);
    frame.render_widget(Paragraph::new(head), top);
    let halves = match area.width >= WIDE {
        true => Layout::horizontal([Constraint::Fill(1); 2]),
        false => Layout::vertical([Constraint::Fill(1); 2]),
    };
    let [left, right] = halves.areas(middle);
    rates(frame, left, state.history.points());
    times(frame, right, state.history.points());
    frame.render_widget(Paragraph::new(figures), below);
    frame.render_widget(Paragraph::new(steps), last);
}

fn head(state: &State) -> Vec<Line<'static>> {
    let bold = Style::new().add_modifier(Modifier::BOLD);
    let hint = match state.is_ending {
        true => "ending",
        false => "q ends the run and reports",
    };
    vec![
        Line::styled(state.title.text.clone(), bold),
        Line::from(state.said.clone()),
        Line::styled(hint, Style::new().add_modifier(Modifier::DIM)),
    ]
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
    let mut times = vec![Span::raw("response  ")];
    for (q, name, colour) in QUANTILES {
        let time = wrk_time_us(last.response.quantile(q) as f64 / 1000.0);
        times.push(Span::styled(
            format!("{name} {time}  "),
            Style::new().fg(colour),
        ));
    }
    let received = wrk_bytes(state.bytes_received_per_s);
    let mut lines = vec![
        Line::from(format!(
            "answers   {rate}/s{offered}, {received}/s, {} connections",
            state.connected
        )),
        Line::from(times),
    ];
    if last.offered.is_some() {
        let late = wrk_time_us(state.lateness_p99_ns as f64 / 1000.0);
        lines.push(Line::from(format!("sent      late by {late} at p99")));
    }
    let errors = state.errors.iter();
    let errors: Vec<String> = errors.map(|(kind, n)| format!("{n} {kind}")).collect();
    lines.push(match errors.is_empty() {
        true => Line::from("errors    none"),
        false => Line::styled(
            format!("errors    {}", errors.join(", ")),
            Style::new().fg(Color::Red),
        ),
    });
    lines
}

/// A line for each step, as far as there is room.
fn steps(state: &State, most: usize) -> Vec<Line<'static>> {
    if state.steps.is_empty() {
        return Vec::new();
    }
    let named = state.title.steps.iter().zip(&state.steps);
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

/// Something over time.
type Course = Vec<(f64, f64)>;

fn rates(frame: &mut Frame<'_>, area: Rect, points: &[Point]) {
    let over_time = |of: &dyn Fn(&Point) -> Option<f64>| -> Course {
        let each = points.iter();
        each.filter_map(|point| Some((middle(point), of(point)?)))
            .collect()
    };
    let due = over_time(&|point| Some(point.rate(point.offered?)));
    let answered = over_time(&|point| Some(point.rate(point.completed)));
    let failed = over_time(&|point| (point.failed > 0).then(|| point.rate(point.failed)));
    let courses = [
        ("due", Color::DarkGray, &due),
        ("answers", Color::Green, &answered),
        ("failed", Color::Red, &failed),
    ];
    let all = courses.iter().flat_map(|(_, _, course)| course.iter());
    let most = all.map(|point| point.1).fold(1.0, f64::max) * 1.05;
    let labels = [0.0, most / 2.0, most].map(wrk_metric);
    chart(
        frame,
        area,
        "requests/s",
        points,
        &courses,
        ([0.0, most], labels.into()),
    );
}

/// Times are drawn by their logarithm.
fn times(frame: &mut Frame<'_>, area: Rect, points: &[Point]) {
    let courses = QUANTILES.map(|(q, name, colour)| {
        let answered = points.iter().filter(|point| !point.response.is_empty());
        let course: Course = answered
            .map(|point| {
                let us = (point.response.quantile(q) as f64 / 1000.0).max(0.1);
                (middle(point), us.log10())
            })
            .collect();
        (name, colour, course)
    });
    let all = || courses.iter().flat_map(|(_, _, course)| course.iter());
    let low = all()
        .map(|point| point.1)
        .fold(f64::MAX, f64::min)
        .min(5.0)
        .floor();
    let high = all()
        .map(|point| point.1)
        .fold(0.0, f64::max)
        .max(low + 1.0)
        .ceil();
    let decades = (low as i32..=high as i32).map(|power| wrk_time_us(10f64.powi(power)));
    let courses = courses
        .each_ref()
        .map(|(name, colour, course)| (*name, *colour, course));
    let scale = ([low, high], decades.collect());
    chart(frame, area, "response time", points, &courses, scale);
}

fn middle(point: &Point) -> f64 {
    (point.from_ns + point.until_ns) as f64 / 2e9
}

fn chart(
    frame: &mut Frame<'_>,
    area: Rect,
    title: &str,
    points: &[Point],
    courses: &[(&str, Color, &Course)],
    (bounds, labels): ([f64; 2], Vec<String>),
) {
    let until_s = points
        .last()
        .map_or(1.0, |point| point.until_ns as f64 / 1e9);
    let shown = courses.iter().filter(|(_, _, course)| !course.is_empty());
    let sets = shown.map(|(name, colour, course)| {
        Dataset::default()
            .name(*name)
            .marker(Marker::Braille)
            .graph_type(GraphType::Line)
            .style(Style::new().fg(*colour))
            .data(course)
    });
    let times = ["0 s".to_owned(), format!("{until_s:.0} s")];
    let chart = Chart::new(sets.collect())
        .block(Block::bordered().title(title.to_owned()))
        .x_axis(Axis::default().bounds([0.0, until_s]).labels(times))
        .y_axis(
            Axis::default()
                .bounds(bounds)
                .labels(labels)
                .labels_alignment(Alignment::Right),
        );
    frame.render_widget(chart, area);
}

#[cfg(test)]
mod tests {
    use measure::counters::ErrorKind;
    use measure::interval::{Interval, Phase};
    use measure::tally::{Counted, StepTally};
    use ratatui::Terminal;
    use ratatui::backend::TestBackend;

    use super::super::Title;
    use super::*;

    fn state(seconds: u64) -> State {
        let mut state = State::new(Title {
            text: "http://localhost:8080/".to_owned(),
            steps: vec!["log in".to_owned(), "buy".to_owned()],
        });
        "12s of 30s".clone_into(&mut state.said);
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
        let mut terminal = Terminal::new(TestBackend::new(width, height)).unwrap();
        terminal.draw(|frame| draw(frame, state)).unwrap();
        let buffer = terminal.backend().buffer();
        let rows = buffer.content().chunks(width.into());
        let rows = rows.map(|row| row.iter().map(|cell| cell.symbol()).collect::<String>());
        rows.collect::<Vec<_>>().join("\n")
    }

    #[test]
    fn every_size_shows_the_rate_the_times_and_the_errors() {
        let state = state(12);
        for (width, height) in [(40, 10), (80, 24), (132, 43), (250, 80)] {
            let shown = screen(&state, width, height);
            for part in [
                "12s of 30s",
                "0.90k/s of 1.00k/s due",
                "p99",
                "1200 timeout",
            ] {
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
    fn before_the_first_second_it_says_that_there_is_nothing() {
        assert!(screen(&state(0), 80, 24).contains("nothing is measured yet"));
    }
}
