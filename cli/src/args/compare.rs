//! `ringside compare`.

use std::path::PathBuf;
use std::time::Duration;

use clap::Args;

use super::secrets::Secrets;
use super::values;

const NOTES: &str = "\
A subject whose runtime is missing is a row that says what to install. Records and reports are
written to the directory, every round as soon as it is measured. A file with a [sweep] is a
comparison for each of its values, each in a directory of its own inside.
Exit codes: 0 every subject that can run here was measured; 1 nothing could be measured; 2 wrong
use; 3 a subject failed, or a file could not be written, and the rest was measured; 130 and 143
ended early by SIGINT or SIGTERM, with a report of what was measured.";

/// Arguments of `ringside compare`.
#[derive(Debug, Args)]
#[command(after_help = NOTES)]
pub(crate) struct Compare {
    /// The comparison, such as comparisons/hello.toml
    #[arg(value_name = "FILE.toml")]
    pub(crate) file: PathBuf,

    /// Directory for records and reports, in place of a new one in ringside-out
    #[arg(short, long, value_name = "DIR")]
    pub(crate) output: Option<PathBuf>,

    /// Rounds, in place of what the file says
    #[arg(long, value_name = "N", value_parser = values::small_count)]
    pub(crate) rounds: Option<u32>,

    /// Measured time of each round, in place of what the file says
    #[arg(long, value_name = "TIME", value_parser = values::duration)]
    pub(crate) duration: Option<Duration>,

    /// Measure the baseline once more, as a row of its own: how much equal things differ here. It
    /// is measured without being asked for where that takes no long time
    #[arg(long, overrides_with = "no_aa")]
    pub(crate) aa: bool,

    /// Do not measure the baseline once more
    #[arg(long, overrides_with = "aa")]
    pub(crate) no_aa: bool,

    /// Measure ringside's own server, too, under the same load: what the generator can do at most,
    /// and a figure near to that is a lower bound. It is measured without being asked for where
    /// that takes no long time
    #[arg(long, overrides_with = "no_ceiling")]
    pub(crate) ceiling: bool,

    /// Do not measure ringside's own server
    #[arg(long, overrides_with = "ceiling")]
    pub(crate) no_ceiling: bool,

    /// Load each subject again after the last round, untimed, under perf or its own profiler (its
    /// [watch] profile): a flame graph of what it does, and its system calls for each exchange
    #[arg(long)]
    pub(crate) profile: bool,

    /// End as soon as every interval reaches no further than this to either side, such as 2%; there
    /// are a few looks at that, and their number is allowed for
    #[arg(long, value_name = "PERCENT", value_parser = values::percent)]
    pub(crate) precision: Option<f64>,

    /// Begin no round that would not end within this time, counted from the first start
    #[arg(long, value_name = "TIME", value_parser = values::duration)]
    pub(crate) budget: Option<Duration>,

    /// Go on with the comparison in this directory, which was interrupted: with the same file and
    /// options. What it holds is kept, and nothing is measured twice
    #[arg(long, value_name = "DIR", conflicts_with = "output")]
    pub(crate) resume: Option<PathBuf>,

    /// Compare so often, each time with new processes, and count what was said: a test of the lab
    #[arg(long, value_name = "N", value_parser = values::small_count)]
    #[arg(conflicts_with_all = ["aa_trials", "resume"])]
    pub(crate) trials: Option<u32>,

    /// The true ratio of every subject to the baseline, for --trials to count what holds it
    #[arg(long, value_name = "RATIO", value_parser = values::ratio, requires = "trials")]
    pub(crate) truth: Option<f64>,

    /// The same with the baseline against itself, where every difference is wrong
    #[arg(long, value_name = "N", value_parser = values::small_count, conflicts_with = "resume")]
    pub(crate) aa_trials: Option<u32>,

    /// Three short rounds: to see that everything runs, not to compare
    #[arg(long)]
    pub(crate) quick: bool,

    #[command(flatten)]
    pub(crate) secrets: Secrets,
}
