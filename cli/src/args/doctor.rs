//! `ringside doctor`.

use clap::{Args, ValueEnum};

/// Arguments of `ringside doctor`.
#[derive(Debug, Args)]
#[command(after_help = "Changes nothing. Exit codes: 0, with or without warnings; 2 wrong usage.")]
pub(crate) struct Doctor {
    /// Output format
    #[arg(long, value_enum, value_name = "FORMAT", default_value = "text")]
    pub(crate) format: Format,
}

/// What is printed.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum Format {
    Text,
    Json,
}
