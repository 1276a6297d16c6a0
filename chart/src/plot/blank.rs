//! Plots that a script fills while somebody looks at them. Frame, legend and axes are those of all
//! plots and are written here; the script draws nothing but curves, between ends that it is told.

use maud::{Markup, html};

use super::axis::{Axis, Ruler, Scale};
use super::frame::Frame;
use super::lines::{Drawn, HEIGHT, NUMBERS, framed};
use crate::style;

/// A plot without curves and without numbers at its axes.
///
/// In its figure, `g.axes` takes [`Fitted::axes`]. Each series has a `path.line` in the coordinate
/// system of the curves, 1,000 wide and 300 high, and a `g.shapes` in that of the page, for `use`s
/// of the shape that `data-shape` names.
#[derive(Clone, Copy, Debug)]
pub struct Blank<'a> {
    /// What is seen.
    pub title: &'a str,
    /// How to read it; may be empty.
    pub more: &'a str,
    /// The names of its axes: across and upwards.
    pub axes: (&'a str, &'a str),
    /// Each series by its name, and which colour, dash and shape it has.
    pub series: &'a [(&'a str, usize)],
}

impl Blank<'_> {
    /// The figure.
    pub fn markup(&self) -> Markup {
        let chart = html! {
            svg.chart height=(HEIGHT + NUMBERS) role="img" aria-label=(self.title) {
                g.axes {}
                svg x="0" y="0" width="100%" height=(HEIGHT) viewBox=(format!("0 0 1000 {HEIGHT}"))
                    preserveAspectRatio="none" overflow="visible" {
                    @for (_, style) in self.series {
                        g.(style::class(*style)) {
                            path.line vector-effect="non-scaling-stroke" {}
                        }
                    }
                }
                @for (_, style) in self.series {
                    g.(style::class(*style)).shapes data-shape=(style::shape(*style)) {}
                }
            }
        };
        let legend = html! {
            ul.legend {
                @for (name, style) in self.series { li { (style::swatch(*style, name)) } }
            }
        };
        framed(self.title, self.more, self.axes, Drawn { legend, chart })
    }
}

/// Where the curves of a [`Blank`] go.
#[derive(Clone, Debug, PartialEq)]
pub struct Fitted {
    /// The lines and numbers of both axes, as SVG.
    pub axes: String,
    /// The values at the left and the right end.
    pub x: (f64, f64),
    /// The values at the lower and the upper end.
    pub y: (f64, f64),
    /// Whether places between those go by the logarithm.
    pub is_log: bool,
}

/// Fits both axes to values; nothing where there are none that they can show. The one across has
/// an even scale.
pub fn fitted(
    (x, y): (&Axis, &Axis),
    across: impl IntoIterator<Item = f64>,
    upwards: impl IntoIterator<Item = f64>,
) -> Option<Fitted> {
    let frame = Frame {
        x: (x, Ruler::fit(x, across)?),
        y: (y, Ruler::fit(y, upwards)?),
        height: HEIGHT,
    };
    Some(Fitted {
        axes: frame.axes().into_string(),
        x: frame.x.1.ends(),
        y: frame.y.1.ends(),
        is_log: y.scale == Scale::Log,
    })
}
