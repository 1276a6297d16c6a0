//! `ringside gate`.

use std::path::PathBuf;
use std::time::Duration;

use clap::{Args, ValueEnum};

use super::agents::Fleet;
use super::network::Network;
use super::secrets::Secrets;
use super::values;

const NOTES: &str = "\
BASE and HEAD are git revisions of the repository that SUBJECT is in, or two directories, each with
a subject.toml. A revision is checked out outside of your tree, built there with its own
subject.toml, and kept by commit, so that it's built once. Without --head, or with --head worktree,
the files are measured as they are, uncommitted changes included. The same commit twice, or a
subject that base doesn't have yet, is nothing to compare: exit code 0.

With --base-start and --head-start, two commands are compared, as by ringside compare --start.

Base and head are measured in turns, each round with fresh processes. The gate ends as soon as a
regression is proven, or none that counts (--smallest) is possible any more, and at the latest when
the budget is used up; looking early is accounted for. Which figures count, and what is asked, is
in gate.toml beside subject.toml, or in --file: [gate] and [workload], or a whole comparison.

Exit codes: 0 no regression is proven, and the report says how small one would have been seen; 1 a
revision can't be built or started, with the end of its log; 2 wrong usage; 3 a file could not be
written; 4 nothing could be judged; 5 too few rounds; 99 a regression is proven; 130, 143 stopped
by SIGINT or SIGTERM.";

/// Arguments of `ringside gate`.
#[derive(Debug, Args)]
#[command(after_help = NOTES)]
pub(crate) struct Gate {
    /// The server's folder with its subject.toml, or its name in subjects/ [default: the only one]
    #[arg(value_name = "SUBJECT", conflicts_with = "base_start")]
    pub(crate) subject: Option<PathBuf>,

    /// What it's compared with: a git revision such as main, or a directory
    #[arg(long, value_name = "BASE", required_unless_present = "base_start")]
    #[arg(conflicts_with = "base_start")]
    pub(crate) base: Option<String>,

    /// What is in question: a git revision, a directory, or worktree [default: worktree]
    #[arg(long, value_name = "HEAD", requires = "base")]
    pub(crate) head: Option<String>,

    /// Instead of revisions: the command that starts the base, such as './v1 {port}'
    #[arg(long, value_name = "COMMAND", requires = "head_start")]
    pub(crate) base_start: Option<String>,

    /// The command that starts the head
    #[arg(long, value_name = "COMMAND", requires = "base_start")]
    pub(crate) head_start: Option<String>,

    /// File with [gate] and [workload] [default: gate.toml beside subject.toml, if there is one]
    #[arg(long, value_name = "FILE")]
    pub(crate) file: Option<PathBuf>,

    /// Path to ask for [default: the file's, or the first that SUBJECT declares]
    #[arg(long, value_name = "PATH")]
    pub(crate) path: Option<String>,

    /// Number of connections, overriding the file [default: 10]
    #[arg(short, long, value_name = "N", value_parser = values::small_count)]
    pub(crate) connections: Option<u32>,

    /// With --base-start: compare commands even if their answers differ
    #[arg(long, requires = "base_start")]
    pub(crate) any_answer: bool,

    /// Smallest regression that counts, of every figure, overriding the file [default: 3%]
    #[arg(long, value_name = "PERCENT", value_parser = values::percent)]
    pub(crate) smallest: Option<f64>,

    /// Time for starts, warm-ups and rounds together, overriding the file [default: 150s]
    #[arg(long, value_name = "TIME", value_parser = values::duration)]
    pub(crate) budget: Option<Duration>,

    /// Directory for records and reports [default: a new one in ringside-out]
    #[arg(short, long, value_name = "DIR")]
    pub(crate) output: Option<PathBuf>,

    /// Output format: text, markdown (md), json, junit, smaller-is-better, bigger-is-better (for
    /// github-action-benchmark) or bencher
    #[arg(
        long,
        value_enum,
        value_name = "FORMAT",
        default_value = "text",
        hide_possible_values = true
    )]
    pub(crate) format: Format,

    #[command(flatten)]
    pub(crate) fleet: Fleet,

    #[command(flatten)]
    pub(crate) network: Network,

    #[command(flatten)]
    pub(crate) secrets: Secrets,
}

/// How the verdict is printed.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum Format {
    /// For people
    Text,
    /// For a pull request
    #[value(alias = "md")]
    Markdown,
    /// For programs: all of it
    Json,
    /// For pipelines: each figure as a test
    Junit,
    /// For github-action-benchmark: figures of which less is better
    SmallerIsBetter,
    /// For github-action-benchmark: figures of which more is better
    BiggerIsBetter,
    /// For Bencher: all figures
    Bencher,
}
