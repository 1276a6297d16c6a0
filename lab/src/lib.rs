//! Subjects side by side: rounds, verdict, report.
//!
//! [`compare`] reads a comparison, builds its subjects and starts each on its own cores, verifies
//! what they answer, measures them in interleaved rounds, ends them, and writes down what was found
//! and what can be concluded from it. One subject's trouble is a sentence in its row; the others
//! are measured all the same. Nothing that was started is alive when [`compare`] returns.
//!
//! A subject is a folder with a `subject.toml`, a comparison a TOML file: new ones need no Rust.
//! Knows the generator by its plan and its record only, and no server: ours is a subject like any
//! other, and `{ringside}` in its description is the path of the program that is running.
#![forbid(unsafe_code)]

mod arrivals;
pub mod capacity;
pub mod check;
pub mod claims;
mod compare;
pub mod comparison;
pub mod diff;
mod end;
pub mod event;
pub mod finding;
mod hidden;
pub mod manifest;
pub mod pack;
pub mod pages;
pub mod phase;
pub mod points;
pub mod profile;
pub mod rebuild;
pub mod report;
mod resume;
pub mod round;
mod rounds;
pub mod sample;
#[cfg(test)]
#[path = "../../tests/skip.rs"]
mod skip;
#[cfg(test)]
mod snapshot;
mod store;
pub mod sweep;
pub mod trials;
pub mod validity;
pub mod verdict;

use std::path::PathBuf;
use std::time::Duration;

use load::{Redaction, Signal};

pub use compare::compare;
pub use end::{CannotBegin, End};
pub use event::{Event, Observer};
pub use report::Report;
pub use store::{Kept, Source};
pub use supervisor::document::BadFile;
pub use sweep::{Swept, sweep};

/// What to compare, and where results go.
#[derive(Clone, Debug, Default)]
pub struct Options {
    /// The comparison's file.
    pub file: PathBuf,
    /// The output folder; none is `ringside-out/<UTC date>-<comparison>`.
    pub out: Option<PathBuf>,
    /// The program that `{ringside}` stands for: usually the one that is running.
    pub ringside: PathBuf,
    /// The folder of subjects; none looks beside the file, above it and in the current folder.
    pub subjects: Option<PathBuf>,
    /// Where builds are kept; none is `ringside/builds` in the user's cache.
    pub cache: Option<PathBuf>,
    /// Instead of the file's number of rounds.
    pub rounds: Option<u32>,
    /// Instead of the file's window, and of the length of each phase.
    pub window: Option<Duration>,
    /// Whether the baseline is measured once more (A/A), instead of what the file says.
    pub aa: Option<bool>,
    /// Whether our own server is measured, too, under the same load; none is where that takes no
    /// long time.
    pub ceiling: Option<bool>,
    /// Whether each subject is loaded once more under a profiler, for a flame graph.
    pub profile: bool,
    /// Instead of the file's precision, as a share.
    pub precision: Option<f64>,
    /// Instead of the file's budget.
    pub budget: Option<Duration>,
    /// The folder of an interrupted comparison, to go on with it; `out` counts for nothing then.
    pub resume: Option<PathBuf>,
    /// What is hidden in all that is written, besides what the file names; it gets to know the
    /// secrets of the comparison.
    pub redaction: Redaction,
}

/// What a comparison brought.
#[derive(Clone, Debug)]
pub struct Outcome {
    /// What was found.
    pub report: Report,
    /// The output folder, absolute.
    pub folder: PathBuf,
    /// Files that could not be written, with the reasons. If there are any, print
    /// [`report::json()`] so that nothing measured is lost.
    pub unwritten: Vec<String>,
    /// What ended it early, if something did.
    pub stopped: Option<Signal>,
}

impl Outcome {
    /// A part, if a subject failed while others were measured, or a file could not be written.
    pub fn end(&self) -> End {
        let whole = self.report.complete() && self.unwritten.is_empty();
        End::of(self.stopped, self.report.has_figures(), whole)
    }
}
