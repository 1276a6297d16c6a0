//! `ringside pack`.

use std::path::PathBuf;

use clap::Args;

const NOTES: &str = "\
The pack is a tar archive compressed with xz. report, diff, history, claims list and claims page
read it like the directory, and compare --resume unpacks it and goes on. Pages that report or claims
page makes again are left out, and so is the key under which secrets were hidden.
Exit codes: 0 packed; 2 the directory holds no records, or the file is there already or can't be
written.";

/// Arguments of `ringside pack`.
#[derive(Debug, Args)]
#[command(after_help = NOTES)]
pub(crate) struct Pack {
    /// A directory that compare, capacity or claims has written
    #[arg(value_name = "DIR")]
    pub(crate) folder: PathBuf,

    /// Write to FILE (default: DIR.tar.xz)
    #[arg(short, long, value_name = "FILE")]
    pub(crate) output: Option<PathBuf>,
}
