//! Intervals under each other on one axis, with the line that they are compared with.

use maud::{Markup, html};

use super::axis::{Axis, Ruler};
use super::frame::across;
use crate::style;

/// The height of a row and of the row of numbers, in pixels.
const HEIGHT: f64 = 38.0;
const NUMBERS: f64 = 26.0;
/// Half the height of a whisker's end, in pixels.
const END: f64 = 5.0;

/// One interval.
#[derive(Clone, Debug)]
pub struct Interval {
    /// Whose it is.
    pub name: String,
    /// Which colour and shape it has.
    pub style: usize,
    /// Its lower end, its centre and its upper end; none is a row that says why instead.
    pub range: Option<(f64, f64, f64)>,
    /// What stands beside it, such as the interval in figures.
    pub value: String,
    /// What stands under that, small; may be empty.
    pub more: String,
}

/// What intervals are compared with, such as a ratio of 1.
#[derive(Clone, Debug)]
pub struct Reference {
    /// Where it is.
    pub at: f64,
    /// What that means, in a word or two.
    pub means: String,
    /// From where to where nothing is told apart from it; twice [`Reference::at`] for no band.
    pub band: (f64, f64),
}

impl From<(f64, &str)> for Reference {
    /// A line without a band.
    fn from((at, means): (f64, &str)) -> Reference {
        Reference {
            at,
            means: means.to_owned(),
            band: (at, at),
        }
    }
}

/// Intervals on one axis. Empty where there is no interval.
pub fn intervals(
    title: &str,
    more: &str,
    axis: &Axis,
    reference: impl Into<Reference>,
    rows: &[Interval],
) -> Markup {
    let reference = &reference.into();
    let ends = rows
        .iter()
        .filter_map(|row| row.range)
        .flat_map(|(low, _, high)| [low, high]);
    if ends.clone().next().is_none() {
        return html! {};
    }
    let Some(ruler) = Ruler::fit(axis, ends.chain([reference.at])) else {
        return html! {};
    };
    html! {
        figure.plot {
            figcaption { (title) @if !more.is_empty() { small { (more) } } }
            div.forest {
                @for row in rows {
                    div.row {
                        span.name { (style::swatch(row.style, &row.name)) }
                        div.picture { (picture(row, &ruler, reference)) }
                        span.value {
                            (row.value)
                            @if !row.more.is_empty() { small { (row.more) } }
                        }
                    }
                }
                div.row {
                    span.name {}
                    div.picture {
                        svg.chart height=(NUMBERS) aria-hidden="true" {
                            line.edge x1="0" x2="100%" y1="0" y2="0" {}
                            (across(axis, &ruler, 0.0))
                        }
                    }
                    span.value {}
                }
            }
            p.along { "dotted: " (reference.means) "; " (axis.name) " →" }
        }
    }
}

fn percent(ruler: &Ruler, value: f64) -> String {
    format!("{:.2}%", 100.0 * ruler.share(value))
}

fn picture(row: &Interval, ruler: &Ruler, reference: &Reference) -> Markup {
    let middle = HEIGHT / 2.0;
    let name = format!("{}: {} {}", row.name, row.value, row.more);
    html! {
        svg.chart.(style::class(row.style)) height=(HEIGHT) role="img" aria-label=(name) {
            title { (name) }
            @let (from, to) = reference.band;
            @let width = 100.0 * (ruler.share(to) - ruler.share(from));
            @if width > 0.0 {
                rect.nothing x=(percent(ruler, from)) width=(format!("{width:.2}%")) y="0"
                    height=(HEIGHT) {}
            }
            @let at = percent(ruler, reference.at);
            line.reference x1=(at) x2=(at) y1="0" y2=(HEIGHT) {}
            @if let Some((low, centre, high)) = row.range {
                @let (low, high) = (percent(ruler, low), percent(ruler, high));
                line.whisker x1=(low) x2=(high) y1=(middle) y2=(middle) {}
                @for end in [&low, &high] {
                    line.whisker x1=(end) x2=(end) y1=(middle - END) y2=(middle + END) {}
                }
                use.shape href=(style::shape(row.style)) x=(percent(ruler, centre)) y=(middle) {}
            }
        }
    }
}
