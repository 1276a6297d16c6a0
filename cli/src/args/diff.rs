//! `ringside diff`.

use std::path::PathBuf;

use clap::Args;

use super::values;

const NOTES: &str = "\
BEFORE and AFTER are directories of compare, or packs of them. They can also be single rounds or
records of run, but these have no intervals, so they never show a regression. The load and the host
must be the same.

The host drifts between sessions, so subjects are compared through the rows that didn't change: the
same executables and sources (by hash), version and command. A regression is shown if the whole
interval lies beyond --smallest and beyond the noise floors of both sessions added up. diff can't
tell if no row is unchanged, or if a session didn't measure its baseline twice (compare --aa).

To get an answer in every case, measure both revisions in one session: ringside gate --base BASE.

Exit codes: 0 no regression is shown; 2 wrong usage, or the two can't be compared; 5 can't tell;
99 a regression is shown.";

/// Arguments of `ringside diff`.
#[derive(Debug, Args)]
#[command(after_help = NOTES)]
pub(crate) struct Diff {
    /// The earlier session
    #[arg(value_name = "BEFORE")]
    pub(crate) before: PathBuf,

    /// The later session
    #[arg(value_name = "AFTER")]
    pub(crate) after: PathBuf,

    /// Ignore differences smaller than this, such as 2% [default: the comparisons' own]
    #[arg(long, value_name = "PERCENT", value_parser = values::percent)]
    pub(crate) smallest: Option<f64>,
}
