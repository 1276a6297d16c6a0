//! `ringside report`.

use std::path::PathBuf;

use clap::{Args, ValueEnum};

const NOTES: &str = "\
Reads the records of a comparison, sweep, capacity search or series of trials, and writes its report
in every format back to the directory; for a pack, to a directory beside it with the same name.
Several directories get an index page. For the record of a run or a hold (--format json -o
run.json), prints its report and writes its page beside it (run.html). For the directory of a soak,
while it goes on or after it was killed, too, prints its report, as text or JSON, and writes its
page there.
Exit codes: 0 done; 2 there are no readable records; 3 a file could not be written.";

/// Arguments of `ringside report`.
#[derive(Debug, Args)]
#[command(after_help = NOTES)]
pub(crate) struct Report {
    /// Directories written by `ringside compare` or `ringside capacity`, or packs of them; or the
    /// directory of a soak, or the record of a run or a hold
    #[arg(value_name = "DIR", required = true)]
    pub(crate) folders: Vec<PathBuf>,

    /// Index page for several directories
    #[arg(
        short,
        long,
        value_name = "FILE",
        default_value = "ringside-report.html"
    )]
    pub(crate) output: PathBuf,

    /// Output format: text, markdown, json, csv, junit, smaller-is-better, bigger-is-better (for
    /// github-action-benchmark) or bencher
    #[arg(
        long,
        value_enum,
        value_name = "FORMAT",
        default_value = "text",
        hide_possible_values = true
    )]
    pub(crate) format: Format,
}

/// What is printed of a report.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum Format {
    /// For people
    Text,
    /// For documents
    Markdown,
    /// For programs: the whole report
    Json,
    /// For programs: every round, point or probe
    Csv,
    /// For pipelines: what was judged
    Junit,
    /// For github-action-benchmark: figures of which less is better
    SmallerIsBetter,
    /// For github-action-benchmark: figures of which more is better
    BiggerIsBetter,
    /// For Bencher: all figures
    Bencher,
}
