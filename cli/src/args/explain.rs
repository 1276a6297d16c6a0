//! `ringside explain`.

use clap::Args;

const NOTES: &str = "\
WORD is one that reports, records, doctor and this help use: a check (steal), a verdict (undecided),
a kind of error (timeout), an exit code (4); or a whole warning, in quotes.
Exit codes: 0 explained; 2 nobody knows WORD: the nearest are named.";

/// Arguments of `ringside explain`.
#[derive(Debug, Args)]
#[command(after_help = NOTES)]
pub(crate) struct Explain {
    /// What to explain; all words are listed by default
    #[arg(value_name = "WORD")]
    pub(crate) words: Vec<String>,
}
