//! `ringside subjects`.

use std::path::PathBuf;

use clap::Args;

/// Arguments of `ringside subjects`.
#[derive(Debug, Args)]
pub(crate) struct Subjects {
    /// The directory that holds a directory for each subject
    #[arg(long, value_name = "DIR", default_value = "subjects")]
    pub(crate) dir: PathBuf,
}
