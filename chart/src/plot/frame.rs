//! What plots have in common: the two axes with their numbers and lines, and places in them.

use maud::{Markup, html};

use super::axis::{Axis, Ruler, tick};

/// The width of the stretched coordinate system; its height is in pixels.
const ACROSS: f64 = 1000.0;

/// Two axes that have been fitted, and the height between them in pixels.
#[derive(Clone, Debug)]
pub(super) struct Frame<'a> {
    pub(super) x: (&'a Axis, Ruler),
    pub(super) y: (&'a Axis, Ruler),
    pub(super) height: f64,
}

impl Frame<'_> {
    /// Across, in percent of the width.
    pub(super) fn left(&self, x: f64) -> String {
        format!("{:.2}%", 100.0 * self.x.1.share(x))
    }

    /// Down, in pixels.
    pub(super) fn top(&self, y: f64) -> String {
        format!("{:.1}", self.height * (1.0 - self.y.1.share(y)))
    }

    /// A point of a curve, in the stretched coordinate system.
    pub(super) fn point(&self, (x, y): (f64, f64)) -> String {
        format!("{:.1},{}", ACROSS * self.x.1.share(x), self.top(y))
    }

    /// The lines and numbers of both axes.
    pub(super) fn axes(&self) -> Markup {
        let (x, y) = (&self.x, &self.y);
        let numbers = told_apart(y.1.ticks.iter().map(|value| (y.0.write)(*value)));
        let numbers = numbers.iter().map(|number| tick(number));
        html! {
            @for (value, number) in y.1.ticks.iter().zip(numbers) {
                @let top = self.top(*value);
                line.grid x1="0" x2="100%" y1=(top) y2=(top) {}
                text x="-8" y=(top) dy="0.32em" text-anchor="end" { (number) }
            }
            line.edge x1="0" x2="100%" y1=(self.height) y2=(self.height) {}
            (across(x.0, &x.1, self.height))
        }
    }

    /// Curves, in a coordinate system that is as wide as there is room.
    pub(super) fn stretched(&self, curves: Markup) -> Markup {
        let view = format!("0 0 {ACROSS} {}", self.height);
        html! {
            svg x="0" y="0" width="100%" height=(self.height) viewBox=(view)
                preserveAspectRatio="none" overflow="visible" { (curves) }
        }
    }
}

/// The numbers of an axis: one that is written as that before it says nothing, and isn't there.
fn told_apart(numbers: impl Iterator<Item = String>) -> Vec<String> {
    let mut all: Vec<String> = Vec::new();
    let mut before = String::new();
    for number in numbers {
        all.push(match number == before {
            true => String::new(),
            false => number.clone(),
        });
        before = number;
    }
    all
}

/// The numbers under a plot of this height, with small lines to them. Those between the ends give
/// way on a phone where there are many.
pub(super) fn across(axis: &Axis, ruler: &Ruler, height: f64) -> Markup {
    let many = ruler.ticks.len() > 5;
    let numbers = told_apart(ruler.ticks.iter().map(|value| (axis.write)(*value)));
    let labels = ruler.ticks.iter().zip(&numbers).enumerate();
    let labels = labels.map(|(at, (value, number))| {
        let share = ruler.share(*value);
        let anchor = match share {
            0.97.. => "end",
            _ if share <= 0.03 => "start",
            _ => "middle",
        };
        let class = if many && at % 2 == 1 { "spare" } else { "" };
        let left = format!("{:.2}%", 100.0 * share);
        (left, anchor, class, tick(number))
    });
    html! {
        @for (left, anchor, class, number) in labels {
            line.edge x1=(left) x2=(left) y1=(height) y2=(height + 5.0) {}
            text.(class) x=(left) y=(height + 20.0) text-anchor=(anchor) { (number) }
        }
    }
}
