//! `ringside subjects`.

use std::path::PathBuf;

use clap::{Args, ValueEnum};

const NOTES: &str = "\
list says of each subject whether it can run here and whether it is built already. build builds
into the user's cache, where compare finds it. check also starts each, asks for every answer that
it declares, ends it, and looks for what is left of it.
Exit codes of build and check: 0 all that can run here are well; 1 none is; 2 wrong use; 3 some
failed; 130 and 143 ended early by SIGINT or SIGTERM.";

/// Arguments of `ringside subjects`.
#[derive(Debug, Args)]
#[command(after_help = NOTES)]
pub(crate) struct Subjects {
    /// What to do with them
    #[arg(value_enum, default_value_t = Action::List)]
    pub(crate) action: Action,

    /// Some of them; list takes all if there are none here
    #[arg(value_name = "NAME")]
    pub(crate) names: Vec<String>,

    /// All of them
    #[arg(long, conflicts_with = "names")]
    pub(crate) all: bool,

    /// The directory that holds a directory for each subject
    #[arg(long, value_name = "DIR", default_value = "subjects")]
    pub(crate) dir: PathBuf,
}

/// What to do with subjects.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum Action {
    /// Say which there are, and whether they can run here
    List,
    /// Build, start, verify and end them
    Check,
    /// Build them
    Build,
}
