//! Subjects side by side: comparisons, rounds, validity, verdict.
//!
//! [`compare`] reads a comparison, builds its subjects and starts each on its own cores, verifies
//! what they answer, measures them in interleaved rounds, ends them, and writes down what was
//! measured. A subject that fails gets a sentence in its row, and the others are still measured.
//! Nothing that was started is still running when [`compare`] returns. What can be concluded is
//! judged here ([`judged`]), because rounds may end by it, and written up above: nothing here makes
//! a report.
//!
//! A subject is a folder with a `subject.toml`, a comparison a TOML file: new ones need no Rust.
//! Knows the generator by its plan and its record only, and no server: ours is a subject like any
//! other, and `{ringside}` in its description is the path of the program that is running. There is
//! one exception: the ceiling row (`rounds/ceiling.rs`) knows which paths our server answers, and
//! starts it under the load of the others.
#![forbid(unsafe_code)]

pub mod check;
pub mod compare;
pub mod comparison;
mod end;
pub mod event;
pub mod finding;
pub mod hidden;
pub mod judged;
pub mod judging;
mod made;
pub mod manifest;
mod named;
mod places;
pub mod points;
pub mod profile;
pub mod resume;
pub mod round;
pub mod rounds;
pub mod sample;
#[cfg(test)]
#[path = "../../tests/snapshot.rs"]
mod snapshot;
pub mod steps;
pub mod store;
pub mod validity;
pub mod verdict;

use std::path::PathBuf;
use std::time::Duration;

use load::Redaction;

pub use compare::{compare, compare_from};
pub use faults::phase;

pub use end::{CannotBegin, End};
pub use event::{Event, Observer};
pub use made::Made;
pub use store::{Kept, Source};

/// What to compare, and where results go.
#[derive(Clone, Debug, Default)]
pub struct Options {
    /// The comparison's file, unless it is `made`.
    pub file: PathBuf,
    /// A comparison of servers that were given as arguments, in the place of a file.
    pub made: Option<Made>,
    /// The output folder; none is `ringside-out/<UTC date>-<comparison>`.
    pub out: Option<PathBuf>,
    /// The program that `{ringside}` stands for: usually the one running now.
    pub ringside: PathBuf,
    /// The folder of subjects; none looks beside the file, above it and in the current folder.
    pub subjects: Option<PathBuf>,
    /// Where builds are kept; none is `ringside/builds` in the user's cache.
    pub cache: Option<PathBuf>,
    /// Overrides the file's number of rounds.
    pub rounds: Option<u32>,
    /// Overrides the file's window, and the length of each phase.
    pub window: Option<Duration>,
    /// Cuts the warm-up that a subject asks for; the comparison's own stays.
    pub warm_up_max: Option<Duration>,
    /// Whether to measure the baseline twice (A/A); overrides the file.
    pub aa: Option<bool>,
    /// Whether to measure our own server under the same load, too; none: if that doesn't take long.
    pub ceiling: Option<bool>,
    /// Whether to load each subject once more under a profiler, for a flame graph.
    pub profile: bool,
    /// Overrides the file's precision, as a share.
    pub precision: Option<f64>,
    /// Overrides the file's budget.
    pub budget: Option<Duration>,
    /// The folder of an interrupted comparison to continue; `out` is then ignored.
    pub resume: Option<PathBuf>,
    /// What to hide in everything that is written, besides what the file names; it learns the
    /// comparison's secrets.
    pub redaction: Redaction,
}
