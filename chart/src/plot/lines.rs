//! Lines over two axes, one at a time, as distributions, or small and many.

use maud::{Markup, html};

use super::axis::{Axis, Ruler, Scale, tick};
use super::frame::Frame;
use crate::style;

/// The height of a plot, of one of many, and of a spark, in pixels.
pub(super) const HEIGHT: f64 = 300.0;
const HEIGHT_SMALL: f64 = 96.0;
const HEIGHT_SPARK: f64 = 22.0;
/// The room under a plot for its numbers, in pixels.
pub(super) const NUMBERS: f64 = 26.0;
/// A curve with more points than this has a shape at some of them only.
const SHAPES_MAX: usize = 24;

/// One curve.
#[derive(Clone, Debug, Default)]
pub struct Series {
    /// What it is called.
    pub name: String,
    /// Which colour, dash and shape it has: the subject's place in the comparison.
    pub style: usize,
    /// Its pieces: points in each are joined, pieces are not.
    pub curves: Vec<Curve>,
    /// Where shapes stand, by x; where this is empty, at every point, or at some if there are many.
    pub shapes_at: Vec<f64>,
}

/// A piece of a curve.
#[derive(Clone, Debug, Default)]
pub struct Curve {
    /// Points by x and y.
    pub points: Vec<(f64, f64)>,
    /// For each x the lowest and the highest y of what is not known better; may be empty.
    pub band: Vec<(f64, f64, f64)>,
    /// Drawn hollow: it was measured, and does not count.
    pub hollow: bool,
    /// Drawn without shapes.
    pub plain: bool,
}

impl Series {
    /// One curve through all points.
    pub fn new(name: impl Into<String>, style: usize, points: Vec<(f64, f64)>) -> Series {
        Series {
            name: name.into(),
            style,
            curves: vec![Curve {
                points,
                ..Curve::default()
            }],
            shapes_at: Vec::new(),
        }
    }

    fn values(&self) -> impl Iterator<Item = (f64, f64)> {
        self.curves.iter().flat_map(|curve| {
            let band = curve.band.iter();
            let ends = band.flat_map(|(x, low, high)| [(*x, *low), (*x, *high)]);
            curve.points.iter().copied().chain(ends)
        })
    }
}

/// A line across a plot that says something about it, such as a limit or a knee.
#[derive(Clone, Debug)]
pub enum Line {
    /// At this x, upwards.
    Upright(f64, String),
    /// At this y, across.
    Level(f64, String),
}

/// Series over two axes with a legend. `title` says what is seen, `more` how to read it (may be
/// empty). Empty where there is nothing to show.
pub fn lines(
    title: &str,
    more: &str,
    (x, y): (&Axis, &Axis),
    series: &[Series],
    marks: &[Line],
) -> Markup {
    figure(title, more, (x, y), series, HEIGHT, |frame| {
        let name = format!("{title}. {}", spoken(series, y));
        Drawn {
            legend: legend(series),
            chart: chart(&name, frame, series, marks),
        }
    })
}

/// Distributions: for each series shares of all exchanges, from 0 to below 1, and the time within
/// which that share was done. Shapes stand at the percentiles that people ask for.
pub fn percentiles(title: &str, more: &str, y: &Axis, series: &[Series]) -> Markup {
    let x = Axis::new(
        "percentile (each nine takes the same space)",
        Scale::Percentile,
        percentile,
    );
    let marked = |series: &Series| Series {
        shapes_at: vec![0.5, 0.9, 0.99, 0.999, 0.9999, 0.99999],
        ..series.clone()
    };
    let series: Vec<Series> = series.iter().map(marked).collect();
    lines(title, more, (&x, y), &series, &[])
}

/// `99.9 %`.
fn percentile(share: f64) -> String {
    let text = format!("{:.4}", 100.0 * share);
    format!("{} %", text.trim_end_matches('0').trim_end_matches('.'))
}

/// Many small plots of a series each, on the same two axes, so that they can be compared.
pub fn multiples(
    title: &str,
    more: &str,
    (x, y): (&Axis, &Axis),
    series: &[Series],
    marks: &[Line],
) -> Markup {
    figure(title, more, (x, y), series, HEIGHT_SMALL, |frame| Drawn {
        legend: html! {},
        chart: html! {
            div.multiples {
                @for one in series {
                    @let one = std::slice::from_ref(one);
                    @let name = format!("{}: {title}. {}", one[0].name, spoken(one, y));
                    div {
                        p.legend { (style::swatch(one[0].style, &one[0].name)) }
                        (chart(&name, frame, one, marks))
                    }
                }
            }
        },
    })
}

/// What stands between the axes of a figure, and above them.
pub(super) struct Drawn {
    pub(super) legend: Markup,
    pub(super) chart: Markup,
}

/// A figure with its title and the names of its axes, around what is drawn in a frame that is
/// `height` high and holds all series. Empty where there is nothing to show.
fn figure(
    title: &str,
    more: &str,
    (x, y): (&Axis, &Axis),
    series: &[Series],
    height: f64,
    draw: impl FnOnce(&Frame<'_>) -> Drawn,
) -> Markup {
    let Some(frame) = fit((x, y), series, height) else {
        return html! {};
    };
    framed(title, more, (&x.name, &y.name), draw(&frame))
}

/// What is drawn, under its title and beside the names of its axes.
pub(super) fn framed(
    title: &str,
    more: &str,
    (x, y): (&str, &str),
    Drawn { legend, chart }: Drawn,
) -> Markup {
    html! {
        figure.plot {
            figcaption { (title) @if !more.is_empty() { small { (more) } } }
            (legend)
            p.upwards { "↑ " (y) }
            (chart)
            p.along { (x) " →" }
        }
    }
}

/// A line as high as a line of text, without axes.
pub fn spark(name: &str, index: usize, points: &[(f64, f64)]) -> Markup {
    let axis = || Axis::new("", Scale::Linear, |_| String::new());
    let (x, y) = (axis(), axis());
    let series = [Series::new(name, index, points.to_vec())];
    let Some(frame) = fit((&x, &y), &series, HEIGHT_SPARK) else {
        return html! {};
    };
    html! {
        svg.spark.(style::class(index)) height=(HEIGHT_SPARK) role="img" aria-label=(name) {
            (frame.stretched(curves(&frame, &series[0])))
        }
    }
}

fn fit<'a>((x, y): (&'a Axis, &'a Axis), series: &[Series], height: f64) -> Option<Frame<'a>> {
    let values = || series.iter().flat_map(Series::values);
    Some(Frame {
        x: (x, Ruler::fit(x, values().map(|(x, _)| x))?),
        y: (y, Ruler::fit(y, values().map(|(_, y)| y))?),
        height,
    })
}

fn chart(name: &str, frame: &Frame<'_>, series: &[Series], marks: &[Line]) -> Markup {
    html! {
        svg.chart height=(frame.height + NUMBERS) role="img" aria-label=(name) {
            (frame.axes())
            @for mark in marks { (reference(frame, mark)) }
            @for one in series {
                g.(style::class(one.style)) {
                    (frame.stretched(curves(frame, one)))
                    (shapes(frame, one))
                }
            }
        }
    }
}

fn curves(frame: &Frame<'_>, series: &Series) -> Markup {
    let joined = |points: &mut dyn Iterator<Item = (f64, f64)>| {
        points
            .map(|point| frame.point(point))
            .collect::<Vec<_>>()
            .join(" ")
    };
    html! {
        @for curve in &series.curves {
            @if !curve.band.is_empty() {
                @let above = curve.band.iter().map(|(x, _, high)| (*x, *high));
                @let below = curve.band.iter().rev().map(|(x, low, _)| (*x, *low));
                polygon.band points=(joined(&mut above.chain(below))) {}
            }
            @if curve.points.len() > 1 {
                polyline.line points=(joined(&mut curve.points.iter().copied()))
                    vector-effect="non-scaling-stroke" {}
            }
        }
    }
}

fn shapes(frame: &Frame<'_>, series: &Series) -> Markup {
    let (x, y) = (frame.x.0, frame.y.0);
    html! {
        @for curve in &series.curves {
            @for (at, value) in shaped(series, curve) {
                use.shape[!curve.hollow].hollow[curve.hollow] href=(style::shape(series.style))
                    x=(frame.left(at)) y=(frame.top(value)) {
                    title { (series.name) ", " (tick(&(x.write)(at))) ": " ((y.write)(value)) }
                }
            }
        }
    }
}

/// The points of a curve that have a shape: those nearest to where it is wanted, or all, or some.
fn shaped(series: &Series, curve: &Curve) -> Vec<(f64, f64)> {
    let points = &curve.points;
    if curve.plain {
        return Vec::new();
    }
    if series.shapes_at.is_empty() {
        let every = points.len().div_ceil(SHAPES_MAX).max(1);
        return points.iter().copied().step_by(every).collect();
    }
    let last = points.last().map_or(f64::NEG_INFINITY, |(x, _)| *x);
    let nearest = |wanted: &f64| {
        let near = |point: &&(f64, f64)| (point.0 - wanted).abs();
        points
            .iter()
            .min_by(|a, b| near(a).total_cmp(&near(b)))
            .copied()
    };
    let within = series.shapes_at.iter().filter(|at| **at <= last + 1e-9);
    within.filter_map(nearest).collect()
}

fn reference(frame: &Frame<'_>, mark: &Line) -> Markup {
    match mark {
        Line::Upright(x, label) => {
            let left = frame.left(*x);
            let anchor = if frame.x.1.share(*x) > 0.7 {
                "end"
            } else {
                "start"
            };
            let aside = if anchor == "end" { "-6" } else { "6" };
            html! {
                line.reference x1=(left) x2=(left) y1="0" y2=(frame.height) {}
                text.over x=(left) dx=(aside) y="10" text-anchor=(anchor) { (label) }
            }
        }
        Line::Level(y, label) => {
            let top = frame.top(*y);
            html! {
                line.reference x1="0" x2="100%" y1=(top) y2=(top) {}
                text.over x="100%" y=(top) dy="-5" text-anchor="end" { (label) }
            }
        }
    }
}

/// The series by name, the one that ends highest first, as the eye meets them.
fn legend(series: &[Series]) -> Markup {
    let end = |series: &Series| {
        let curve = series.curves.last();
        curve
            .and_then(|curve| curve.points.last())
            .map_or(0.0, |(_, y)| *y)
    };
    let mut sorted: Vec<&Series> = series.iter().collect();
    sorted.sort_by(|a, b| end(b).total_cmp(&end(a)));
    html! {
        @if series.len() > 1 {
            ul.legend { @for one in sorted { li { (style::swatch(one.style, &one.name)) } } }
        }
    }
}

/// The plot in a sentence, for those who cannot see it: where each series begins and ends.
fn spoken(series: &[Series], y: &Axis) -> String {
    let part = |series: &Series| {
        let points: Vec<(f64, f64)> = series.values().collect();
        let (first, last) = (points.first()?.1, points.last()?.1);
        Some(format!(
            "{} from {} to {}",
            series.name,
            (y.write)(first),
            (y.write)(last)
        ))
    };
    let parts: Vec<String> = series.iter().filter_map(part).collect();
    format!("{}: {}.", y.name, parts.join("; "))
}
