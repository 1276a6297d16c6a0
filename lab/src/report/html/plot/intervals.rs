//! Intervals under each other on one axis, with the line that they are compared with.

use maud::{Markup, html};

use super::axis::{Axis, Ruler};
use super::frame::across;
use crate::report::html::style;

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

/// Intervals on one axis. `reference` is what they are compared with, such as a ratio of 1, and
/// what that means in a word. Empty where there is no interval.
pub fn intervals(
    title: &str,
    more: &str,
    axis: &Axis,
    (reference, meaning): (f64, &str),
    rows: &[Interval],
) -> Markup {
    let ends = rows
        .iter()
        .filter_map(|row| row.range)
        .flat_map(|(low, _, high)| [low, high]);
    if ends.clone().next().is_none() {
        return html! {};
    }
    let Some(ruler) = Ruler::fit(axis, ends.chain([reference])) else {
        return html! {};
    };
    let at = percent(&ruler, reference);
    html! {
        figure.plot {
            figcaption { (title) @if !more.is_empty() { small { (more) } } }
            div.forest {
                @for row in rows {
                    div.row {
                        span.name { (style::swatch(row.style, &row.name)) }
                        div.picture { (picture(row, &ruler, &at)) }
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
            p.along { "dotted: " (meaning) "; " (axis.name) " →" }
        }
    }
}

fn percent(ruler: &Ruler, value: f64) -> String {
    format!("{:.2}%", 100.0 * ruler.share(value))
}

fn picture(row: &Interval, ruler: &Ruler, reference: &str) -> Markup {
    let middle = HEIGHT / 2.0;
    let name = format!("{}: {} {}", row.name, row.value, row.more);
    html! {
        svg.chart.(style::class(row.style)) height=(HEIGHT) role="img" aria-label=(name) {
            title { (name) }
            line.reference x1=(reference) x2=(reference) y1="0" y2=(HEIGHT) {}
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
