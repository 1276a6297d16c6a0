//! Sweeps: the same comparison at several values of one setting, such as the number of connections.
//! Each point is a comparison of its own in a folder of its own; what they say together stands in
//! `sweep.json`.
//!
//! This file lists what is written of one; `points.rs` reads the `[sweep]` of a comparison.

mod page;
mod record;
mod run;
mod text;

pub use page::page;
pub(crate) use page::said;
pub use record::{Law, PointFound, RowFound, Sweep};
pub use run::{Swept, sweep};
pub use text::{csv, markdown, terminal};

pub use crate::points::{Key, Point};

use crate::document::indented;
use crate::store::SWEEP;

/// Every file of a sweep's folder, by its name; each point has a folder besides.
pub(crate) fn files(sweep: &Sweep) -> [(&'static str, String); 4] {
    [
        (SWEEP, indented(sweep)),
        ("report.html", page(sweep)),
        ("report.md", markdown(sweep)),
        ("report.csv", csv(sweep)),
    ]
}
