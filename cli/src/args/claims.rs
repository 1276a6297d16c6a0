//! `ringside claims`.

use std::path::PathBuf;

use clap::{Args, ValueEnum};
use studies::claims::page::Language;

use super::network::Network;

const NOTES: &str = "\
list shows each claim with its finding, if it was run, and of claims that are named every reason and
where the records are. run measures the named claims, or --all, skips those that the directory of
records already has, and lists them. page writes CLAIMS.md and claims.html next to the records
(CLAIMS.zh.md and claims.zh.html in Chinese). check looks up what claims cite in the lists in
posts/, and what those list in the posts' texts, DIR/A.txt and so on.
Like ringside compare, run measures in a private network.
Exit codes of run: 0 every claim was run; 1 none was; 2 wrong usage; 3 some weren't; 130, 143
stopped by SIGINT or SIGTERM (run it again to continue).";

/// Where claims are if `--dir` doesn't say.
pub(crate) const DIR: &str = "claims";

/// Arguments of `ringside claims`.
#[derive(Debug, Args)]
#[command(after_help = NOTES)]
pub(crate) struct Claims {
    /// What to do: list, run, page or check
    #[arg(value_enum, default_value_t = Action::List, hide_possible_values = true)]
    pub(crate) action: Action,

    /// Claims such as E1; for page, the directory of records or a pack of it; for check, the posts
    #[arg(value_name = "ID|DIR")]
    pub(crate) names: Vec<String>,

    /// All claims
    #[arg(long, conflicts_with = "names")]
    pub(crate) all: bool,

    /// Short rounds and at most 5 s of a subject's own warm-up, for a rough result
    #[arg(long)]
    pub(crate) quick: bool,

    /// Directory of records; list and page also read a pack of it
    #[arg(short, long, value_name = "DIR", default_value = studies::claims::FOLDER)]
    pub(crate) output: PathBuf,

    /// Directory with the claims
    #[arg(long, value_name = "DIR", default_value = DIR)]
    pub(crate) dir: PathBuf,

    /// Language of list and page: en or zh
    #[arg(long, value_enum, default_value = "en", hide_possible_values = true)]
    pub(crate) lang: Lang,

    #[command(flatten)]
    pub(crate) network: Network,
}

/// What to do with claims.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum Action {
    /// Show claims and findings
    List,
    /// Measure claims
    Run,
    /// Write claims and findings as a page
    Page,
    /// Look up what claims cite
    Check,
}

/// What pages are written in.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum Lang {
    /// English
    En,
    /// Chinese
    Zh,
}

impl From<Lang> for Language {
    fn from(lang: Lang) -> Language {
        match lang {
            Lang::En => Language::English,
            Lang::Zh => Language::Chinese,
        }
    }
}
