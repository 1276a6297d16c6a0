//! `ringside history`.

use std::path::PathBuf;

use clap::{Args, ValueEnum};

use super::values;

const NOTES: &str = "\
Reads every session in and below DIR: directories of compare, packs of them, and records of run
(--format json). Sessions are compared if they have the same name, load and host, by the rules of
diff; what can't be compared is named with the reason and left out.

The host drifts between sessions, so a figure is its ratio to the baseline's within each session. A
change is proven by a permutation test: all figures of one load and host together show one where
there is none in at most 5 of 100 histories. It takes 8 sessions or more, and 3 on each side of a
change.

A session's commit is the hash in the name of its directory or file, such as hello-4e1f9ab.tar.xz.

Exit codes: 0 done; 2 wrong usage, or no two sessions can be compared; 3 the file couldn't be
written; 99 a figure got worse within --fail-within.";

/// Arguments of `ringside history`.
#[derive(Debug, Args)]
#[command(after_help = NOTES)]
pub(crate) struct History {
    /// Directories of sessions, packs, or records
    #[arg(value_name = "DIR", required = true)]
    pub(crate) places: Vec<PathBuf>,

    /// Output format: text, html, md or json
    #[arg(
        long,
        value_enum,
        value_name = "FORMAT",
        default_value = "text",
        hide_possible_values = true
    )]
    pub(crate) format: Format,

    /// Write to FILE instead of stdout (atomically)
    #[arg(short, long, value_name = "FILE")]
    pub(crate) output: Option<PathBuf>,

    /// Order of sessions: time or commit
    #[arg(
        long,
        value_enum,
        value_name = "ORDER",
        default_value = "time",
        hide_possible_values = true
    )]
    pub(crate) by: By,

    /// Order of commits for --by commit, one per line, as git log --reverse --format=%H prints it
    #[arg(long, value_name = "FILE")]
    pub(crate) commits: Option<PathBuf>,

    /// Row that ratios are to [default: the comparisons' own baseline]
    #[arg(long, value_name = "ROW")]
    pub(crate) baseline: Option<String>,

    /// Differences that don't matter, such as 2% [default: the comparison's own]
    #[arg(long, value_name = "PERCENT", value_parser = values::percent)]
    pub(crate) smallest: Option<f64>,

    /// Exit with 99 if the last N sessions were the first to show that a figure got worse, by more
    /// than --smallest
    #[arg(long, value_name = "N", value_parser = values::small_count)]
    pub(crate) fail_within: Option<u32>,
}

/// How a history is written.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum Format {
    /// For people: a line for each change
    Text,
    /// A page with plots
    Html,
    /// For documents
    #[value(alias = "markdown")]
    Md,
    /// For programs: all of it
    Json,
}

/// In which order sessions follow each other.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum By {
    /// When they were measured
    Time,
    /// The commits in their names
    Commit,
}
