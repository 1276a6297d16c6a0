//! `ringside claims`.

use std::path::PathBuf;

use clap::{Args, ValueEnum};

const NOTES: &str = "\
list says of each claim what was found, if it was run. run carries out the claims that are named,
or all; what the directory of records holds already is not run again. page writes CLAIMS.md and
claims.html from the records, into their directory.
Exit codes of run: 0 each run came about; 1 none did; 2 wrong use; 3 some did not; 130 and 143
ended early by SIGINT or SIGTERM: run it again to go on.";

/// Arguments of `ringside claims`.
#[derive(Debug, Args)]
#[command(after_help = NOTES)]
pub(crate) struct Claims {
    /// What to do with them
    #[arg(value_enum, default_value_t = Action::List)]
    pub(crate) action: Action,

    /// Claims such as E1; of page the directory of records
    #[arg(value_name = "ID|DIR")]
    pub(crate) names: Vec<String>,

    /// All of them
    #[arg(long, conflicts_with = "names")]
    pub(crate) all: bool,

    /// Short rounds: to see that everything runs, and roughly how it comes out
    #[arg(long)]
    pub(crate) quick: bool,

    /// The directory of records
    #[arg(short, long, value_name = "DIR", default_value = "ringside-out/claims")]
    pub(crate) output: PathBuf,

    /// The directory that holds the claims
    #[arg(long, value_name = "DIR", default_value = "claims")]
    pub(crate) dir: PathBuf,
}

/// What to do with claims.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum Action {
    /// Say which there are, and what was found
    List,
    /// Run what they rest on
    Run,
    /// Write claim against finding as a page
    Page,
}
