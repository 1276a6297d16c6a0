//! Subjects side by side: comparisons, rounds, validity, verdict.
//!
//! [`compare`] reads a comparison, builds its subjects and starts each on its own cores, verifies
//! what they answer, measures them in interleaved rounds, ends them, and writes down what was
//! measured. One subject's trouble is a sentence in its row; the others are measured all the same.
//! Nothing that was started is alive when [`compare`] returns. What can be concluded is judged here
//! ([`judged`]), because rounds may end by it, and written up above: nothing here makes a report.
//!
//! A subject is a folder with a `subject.toml`, a comparison a TOML file: new ones need no Rust.
//! Knows the generator by its plan and its record only, and no server: ours is a subject like any
//! other, and `{ringside}` in its description is the path of the program that is running.
#![forbid(unsafe_code)]

mod arrivals;
pub mod check;
pub mod compare;
pub mod comparison;
mod end;
pub mod event;
pub mod finding;
pub mod hidden;
pub mod judged;
pub mod manifest;
pub mod phase;
pub mod points;
pub mod profile;
pub mod resume;
pub mod round;
pub mod rounds;
pub mod sample;
#[cfg(test)]
#[path = "../../tests/snapshot.rs"]
mod snapshot;
pub mod store;
pub mod validity;
pub mod verdict;

use std::path::PathBuf;
use std::time::Duration;

use load::Redaction;

pub use compare::compare;
pub use end::{CannotBegin, End};
pub use event::{Event, Observer};
pub use store::{Kept, Source};

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
