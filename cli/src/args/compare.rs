//! `ringside compare`.

use std::path::PathBuf;
use std::time::Duration;

use clap::Args;

use super::values;

const NOTES: &str = "\
A subject whose runtime is missing is a row that says what to install. Records, a Markdown report
and a JSON report are written to the directory.
Exit codes: 0 every subject that can run here was measured; 1 nothing could be measured; 2 wrong
use; 3 a subject failed and the others were measured; 130 and 143 ended early by SIGINT or SIGTERM,
with a report of what was measured.";

/// Arguments of `ringside compare`.
#[derive(Debug, Args)]
#[command(after_help = NOTES)]
pub(crate) struct Compare {
    /// The comparison, such as comparisons/hello.toml
    #[arg(value_name = "FILE.toml")]
    pub(crate) file: PathBuf,

    /// Directory for records and reports, in place of a new one in ringside-out
    #[arg(short, long, value_name = "DIR")]
    pub(crate) output: Option<PathBuf>,

    /// Rounds, in place of what the file says
    #[arg(long, value_name = "N", value_parser = values::small_count)]
    pub(crate) rounds: Option<u32>,

    /// Measured time of each round, in place of what the file says
    #[arg(long, value_name = "TIME", value_parser = values::duration)]
    pub(crate) duration: Option<Duration>,

    /// Three short rounds: to see that everything runs, not to compare
    #[arg(long)]
    pub(crate) quick: bool,
}
