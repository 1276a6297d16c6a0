//! `ringside schema`.

use clap::Args;

const NOTES: &str = "\
Prints JSON Schema (draft 2020-12), as it is in schema/ of the repository.
Exit codes: 0 printed; 2 there is no such schema: the nearest are named.";

/// Arguments of `ringside schema`.
#[derive(Debug, Args)]
#[command(after_help = NOTES)]
pub(crate) struct Schema {
    /// Which schema; all are listed by default
    #[arg(value_name = "NAME")]
    pub(crate) name: Option<String>,
}
