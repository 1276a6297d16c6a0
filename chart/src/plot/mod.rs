//! Plots as SVG inside a page: lines, distributions, intervals, small multiples, sparks, and plots
//! that a script fills.
//!
//! The curves are stretched to the width that there is, text and shapes are not: x is written in
//! percent and y in pixels, and only what is drawn inside [`frame::stretched`] has a coordinate
//! system of its own. So one drawing is readable on a phone and on a wide screen. Every picture has
//! a role and a name for those who cannot see it, every point says its value when it is pointed at,
//! and every series has a shape and a dash besides its colour. Needs the style sheet and the shapes
//! of a [`page`](super::page::page()).

mod axis;
mod blank;
mod frame;
mod intervals;
mod lines;

pub use axis::{Axis, Scale};
pub use blank::{Blank, Fitted, fitted};
pub use intervals::{Interval, Reference, intervals};
pub use lines::{Curve, Line, Series, lines, multiples, percentiles, spark};
