//! Arguments about requests that differ.

use std::path::PathBuf;

use clap::{Args, ValueEnum};
use load::plan::Script;
use load::plan::workload::{Order, Pick as Which};
use workload::formats::Format;

use super::values;

const TARGETS: &str = "Different requests";

/// Where the requests come from, and which is next.
#[derive(Debug, Args)]
pub(crate) struct Targets {
    /// Send the requests, gRPC calls or WebSocket messages in FILE (.http, or vegeta's targets); -
    /// is standard input
    #[arg(long, value_name = "FILE", conflicts_with = "url", help_heading = TARGETS)]
    pub(crate) targets: Option<PathBuf>,

    /// Format of --targets: http, vegeta or vegeta-json [default: by the file's extension]
    #[arg(long, value_name = "FORMAT", value_parser = values::targets_format,
        requires = "targets", help_heading = TARGETS)]
    pub(crate) targets_format: Option<Format>,

    /// Which request is next: in-turn, weighted or random [default: weighted if the file has
    /// weights, or else in-turn]
    #[arg(long, value_enum, value_name = "HOW", hide_possible_values = true,
        requires = "targets", help_heading = TARGETS)]
    pub(crate) pick: Option<Pick>,

    /// Fill in {{variables}} of the URL, -H and -b; --data and --targets do so anyway
    #[arg(long, help_heading = TARGETS)]
    pub(crate) template: bool,

    /// Fill in the columns of FILE (.csv, .tsv or .jsonl), a row for each request
    #[arg(long, value_name = "FILE", help_heading = TARGETS)]
    pub(crate) data: Option<PathBuf>,

    /// Which row is next: in-turn, random, zipf:1.1, or once, which ends the run when the rows are
    /// used up [default: in-turn]
    #[arg(long, value_name = "HOW", value_parser = values::order, requires = "data",
        help_heading = TARGETS)]
    pub(crate) data_order: Option<Order>,

    /// Run FILE, a Lua script written for wrk, which says what is sent; the words behind -- are for
    /// its init
    #[arg(short, long, value_name = "FILE", help_heading = TARGETS)]
    pub(crate) script: Option<PathBuf>,

    /// What the script's init is given
    #[arg(last = true, value_name = "ARGS", requires = "script", hide = true)]
    pub(crate) script_args: Vec<String>,
}

impl Targets {
    /// Refuses what says nothing without a file of requests. (clap asks for no argument that
    /// another one excludes, and the URL excludes the file.)
    pub(crate) fn check(&self) -> Result<(), String> {
        let alone = [
            (self.pick.is_some(), "--pick"),
            (self.targets_format.is_some(), "--targets-format"),
        ];
        let mut alone = alone.iter().filter(|_| self.targets.is_none());
        match alone.find(|(given, _)| *given) {
            Some((_, flag)) => Err(format!(
                "{flag} needs a file of requests: add --targets, or drop {flag}"
            )),
            None => Ok(()),
        }
    }

    /// What says what is sent, if that is a script.
    pub(crate) fn script(&self) -> Option<Script> {
        let file = self.script.clone()?;
        let args = self.script_args.clone();
        Some(Script { file, args })
    }

    /// Whether requests may differ.
    pub(crate) fn is_given(&self) -> bool {
        self.targets.is_some() || self.template || self.data.is_some()
    }
}

/// Which request is next.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum Pick {
    /// One after the other
    InTurn,
    /// At random, by weight
    Weighted,
    /// At random, each as often
    Random,
}

impl From<Pick> for Which {
    fn from(pick: Pick) -> Which {
        match pick {
            Pick::InTurn => Which::InTurn,
            Pick::Weighted => Which::Weighted,
            Pick::Random => Which::Random,
        }
    }
}
