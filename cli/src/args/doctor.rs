//! `ringside doctor`.

use clap::{Args, ValueEnum};

use super::values;

/// Arguments of `ringside doctor`.
#[derive(Debug, Args)]
#[command(after_help = "Changes nothing. Exit codes: 0, with or without warnings; 2 wrong usage.")]
pub(crate) struct Doctor {
    /// Also say what N connections need here, what of it is missing, and whether they fit
    #[arg(short, long, value_name = "N", value_parser = values::small_count)]
    pub(crate) connections: Option<u32>,

    /// With --connections: the other end is on another machine
    #[arg(long, requires = "connections")]
    pub(crate) one_end: bool,

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
