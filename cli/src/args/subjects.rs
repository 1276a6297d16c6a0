//! `ringside subjects`.

use std::path::PathBuf;

use clap::{Args, ValueEnum};

use super::network::Network;

const NOTES: &str = "\
list shows whether each subject can run here and whether it's built. build builds into your cache,
where compare finds it. check also starts each subject, requests every answer it declares, stops it,
and looks for anything left behind, in a private network as ringside compare does. new writes the
folder of a subject that works as it is: a small server to begin with, or with --command a program
of yours, which is started and asked for its answer.
Exit codes of build and check: 0 all that can run here are fine; 1 none is; 2 wrong usage; 3 some
failed; 130, 143 stopped by SIGINT or SIGTERM.";

/// Arguments of `ringside subjects`.
#[derive(Debug, Args)]
#[command(after_help = NOTES)]
pub(crate) struct Subjects {
    /// What to do: list, check, build or new
    #[arg(value_enum, default_value_t = Action::List, hide_possible_values = true)]
    pub(crate) action: Action,

    /// Subjects, or the name of a new one; list takes all of them by default
    #[arg(value_name = "NAME")]
    pub(crate) names: Vec<String>,

    /// All subjects
    #[arg(long, conflicts_with = "names")]
    pub(crate) all: bool,

    /// Directory with a folder for each subject
    #[arg(long, value_name = "DIR", default_value = "subjects")]
    pub(crate) dir: PathBuf,

    #[command(flatten)]
    pub(crate) network: Network,

    /// With new: how your program is started, such as './server --port {port}'
    #[arg(long, value_name = "COMMAND")]
    pub(crate) command: Option<String>,

    /// With new and --command: the path to ask for [default: /]
    #[arg(long, value_name = "PATH", requires = "command")]
    pub(crate) path: Option<String>,
}

/// What to do with subjects.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum Action {
    /// Show subjects and whether they can run here
    List,
    /// Build, start, verify and stop them
    Check,
    /// Build them
    Build,
    /// Write the folder of a new one
    New,
}
