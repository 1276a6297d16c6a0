//! What bodies are drawn of: lines over time, times on a logarithmic scale.

use measure::histogram::Sparse;
use measure::units::{wrk_bytes, wrk_metric, wrk_time_us};
use ratatui::Frame;
use ratatui::layout::{Alignment, Constraint, Layout, Rect};
use ratatui::style::{Color, Style};
use ratatui::symbols::Marker;
use ratatui::text::{Line, Span};
use ratatui::widgets::{Axis, Block, Chart, Dataset, GraphType};

use crate::Point;
use crate::own::Own;

/// Below this there is room for lines of text alone.
const CHARTS_FROM: (u16, u16) = (50, 13);
/// From here on charts stand side by side.
const WIDE: u16 = 110;
const QUANTILES: [(f64, &str, Color); 4] = [
    (0.5, "p50", Color::Green),
    (0.9, "p90", Color::Cyan),
    (0.99, "p99", Color::Yellow),
    (1.0, "max", Color::Red),
];

/// Whether there is room for charts.
pub(super) fn has_room(area: Rect) -> bool {
    area.width >= CHARTS_FROM.0 && area.height >= CHARTS_FROM.1
}

/// Where two charts go.
pub(super) fn halves(area: Rect) -> [Rect; 2] {
    let halves = match area.width >= WIDE {
        true => Layout::horizontal([Constraint::Fill(1); 2]),
        false => Layout::vertical([Constraint::Fill(1); 2]),
    };
    halves.areas(area)
}

/// Percentiles of times in words, behind `name`.
pub(super) fn percentiles(name: &'static str, times: &Sparse) -> Line<'static> {
    let mut spans = vec![Span::raw(name)];
    for (q, name, colour) in QUANTILES {
        let time = wrk_time_us(times.quantile(q) as f64 / 1000.0);
        let style = Style::new().fg(colour);
        spans.push(Span::styled(format!("{name} {time}  "), style));
    }
    Line::from(spans)
}

/// What went wrong so far, behind `name`.
pub(super) fn wrong<'a>(
    name: &'static str,
    errors: impl Iterator<Item = (&'a &'static str, &'a u64)>,
) -> Line<'static> {
    let errors: Vec<String> = errors.map(|(kind, n)| format!("{n} {kind}")).collect();
    match errors.is_empty() {
        true => Line::from(format!("{name}none")),
        false => Line::styled(
            format!("{name}{}", errors.join(", ")),
            Style::new().fg(Color::Red),
        ),
    }
}

/// What this process takes, once that is known.
pub(super) fn own(own: &Own) -> Option<Line<'static>> {
    let cpus = own.cpus?;
    let memory = own.resident_bytes.map(|bytes| wrk_bytes(bytes as f64));
    let memory = memory.map_or(String::new(), |bytes| format!(", {bytes} of memory"));
    Some(Line::from(format!("generator {cpus:.2} CPUs{memory}")))
}

/// Something over time.
pub(super) type Course = Vec<(f64, f64)>;

/// What `of` says of each point, in its middle.
pub(super) fn over_time(points: &[Point], of: impl Fn(&Point) -> Option<f64>) -> Course {
    let each = points.iter();
    each.filter_map(|point| Some((middle(point), of(point)?)))
        .collect()
}

/// Numbers over time, from zero on.
pub(super) fn numbers(
    frame: &mut Frame<'_>,
    area: Rect,
    title: &str,
    points: &[Point],
    courses: &[(&str, Color, &Course)],
) {
    let all = courses.iter().flat_map(|(_, _, course)| course.iter());
    let most = all.map(|point| point.1).fold(1.0, f64::max) * 1.05;
    let labels = [0.0, most / 2.0, most].map(wrk_metric);
    let scale = ([0.0, most], labels.into());
    chart(frame, area, title, points, courses, scale);
}

/// Times are drawn by their logarithm.
pub(super) fn times(frame: &mut Frame<'_>, area: Rect, title: &str, points: &[Point]) {
    let courses = QUANTILES.map(|(q, name, colour)| {
        let answered = points.iter().filter(|point| !point.times.is_empty());
        let course: Course = answered
            .map(|point| {
                let us = (point.times.quantile(q) as f64 / 1000.0).max(0.1);
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
    chart(frame, area, title, points, &courses, scale);
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
