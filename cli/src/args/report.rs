//! `ringside report`.

use std::path::PathBuf;

use clap::{Args, ValueEnum};

const NOTES: &str = "\
The report is made from the records in the directory alone and written there again in every format:
that of a comparison, of a sweep or of trials with each of their parts, or of a search for
capacities. Several directories get a page that leads to all of them.
Exit codes: 0 done; 2 a directory holds nothing that can be read; 3 a file could not be written.";

/// Arguments of `ringside report`.
#[derive(Debug, Args)]
#[command(after_help = NOTES)]
pub(crate) struct Report {
    /// Directories that `ringside compare` or `ringside capacity` has written
    #[arg(value_name = "DIR", required = true)]
    pub(crate) folders: Vec<PathBuf>,

    /// The page that leads to several directories
    #[arg(
        short,
        long,
        value_name = "FILE",
        default_value = "ringside-report.html"
    )]
    pub(crate) output: PathBuf,

    /// What to print
    #[arg(long, value_enum, value_name = "FORMAT", default_value = "text")]
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
}
