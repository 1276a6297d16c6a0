//! How every page looks: one style sheet, and the shapes that tell series apart without colour.

use maud::{Markup, PreEscaped, html};

/// The style sheet of every page. System fonts only: a page fetches nothing.
pub(super) const SHEET: &str = include_str!("style.css");

/// How many series can be told apart by colour.
const COLOURS: usize = 8;

/// The shapes in the order of the colours, around the origin, about nine pixels across.
const SHAPES: [&str; COLOURS] = [
    "M-4.5,0a4.5,4.5 0 1,0 9,0a4.5,4.5 0 1,0 -9,0z",
    "M-4,-4h8v8h-8z",
    "M0,-5L5,4H-5z",
    "M0,-5.5L5.5,0L0,5.5L-5.5,0z",
    "M0,5L5,-4H-5z",
    "M-5,-2.5L-2.5,-5L0,-2.5L2.5,-5L5,-2.5L2.5,0L5,2.5L2.5,5L0,2.5L-2.5,5L-5,2.5L-2.5,0z",
    "M-1.7,-5h3.4v3.3h3.3v3.4h-3.3v3.3h-3.4v-3.3h-3.3v-3.4h3.3z",
    "M-2.3,-5h4.6L5,-2.3V2.3L2.3,5H-2.3L-5,2.3V-2.3z",
];

/// The class of the `index`-th series: its colour and its dash.
pub(super) fn class(index: usize) -> String {
    let again = if index < COLOURS { "" } else { " second" };
    format!("s{}{again}", index % COLOURS)
}

/// The reference to the shape of the `index`-th series.
pub(super) fn shape(index: usize) -> String {
    format!("#shape-{}", index % COLOURS)
}

/// The shapes, to be put into a page once.
pub(super) fn shapes() -> Markup {
    html! {
        svg width="0" height="0" style="position:absolute" aria-hidden="true" {
            defs {
                @for (index, path) in SHAPES.iter().enumerate() {
                    path id={ "shape-" (index) } d=(PreEscaped(path)) {}
                }
            }
        }
    }
}

/// The sign of the `index`-th series beside its name: a piece of its line, with its shape.
pub fn swatch(index: usize, name: &str) -> Markup {
    html! {
        span.swatch { (sign(index)) (name) }
    }
}

/// Only the sign.
pub(super) fn sign(index: usize) -> Markup {
    html! {
        svg.key.(class(index)) width="28" height="12" aria-hidden="true" {
            line.line x1="0" y1="6" x2="28" y2="6" {}
            use.shape href=(shape(index)) x="14" y="6" {}
        }
    }
}
