//! Sweeps: the same comparison at several values of one setting, such as the number of connections.
//! Each point is a comparison of its own in a folder of its own; what they say together stands in
//! `sweep.json`.
//!
//! This file lists what is written of one; `points.rs` reads the `[sweep]` of a comparison.

mod page;
mod pipelines;
mod record;
mod run;
mod text;

pub use page::page;
pub(crate) use page::said;
pub use pipelines::{junit, measures};
pub use record::{Law, PointFound, RowFound, StepFound, Sweep};
pub use run::{Swept, sweep, sweep_from};
pub use text::{concluded, csv, markdown, terminal};

pub use lab::points::{Key, Point};

use lab::store::SWEEP;
use report::for_pipelines;
use report::pages::{File, Page};
use supervisor::document::indented;

/// Every file of a sweep's folder, by its name; each point has a folder besides.
pub(crate) fn files(sweep: &Sweep) -> Vec<(File, String)> {
    let mut files = vec![
        (File::Record(SWEEP), indented(sweep)),
        (File::Page(Page::HTML), page(sweep)),
        (File::Page(Page::MARKDOWN), markdown(sweep)),
        (File::Page(Page::CSV), csv(sweep)),
    ];
    files.extend(for_pipelines(junit(sweep), &measures(sweep)));
    files
}
