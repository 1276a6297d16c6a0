//! `ringside diff`.

use std::path::PathBuf;

use clap::Args;

use super::values;

const NOTES: &str = "\
Takes two directories of compare, which have intervals; or two rounds of them, or two records of
run, of which nothing can be proven. What was asked and the host must be the same.

Between two sessions the host drifts, so each subject is compared through what both measured
unchanged: the rows that are the same program in both, by the hashes of their executables and their
source, their version and their command. A regression is proven if the whole interval lies beyond
--smallest and beyond the noise floors of both sessions, one on top of the other. Where no row is
the same in both, or a session did not measure its baseline again (compare --aa), it cannot tell.
Both revisions in one session always answer: keep the old revision's folder beside the new one, as
subjects/NAME-before, name both as subjects of one file, and run ringside compare FILE.

Exit codes: 0 no regression is proven; 2 wrong use, or the two cannot be compared; 5 it cannot be
told; 99 a regression is proven.";

/// Arguments of `ringside diff`.
#[derive(Debug, Args)]
#[command(after_help = NOTES)]
pub(crate) struct Diff {
    /// What was measured before
    #[arg(value_name = "BEFORE")]
    pub(crate) before: PathBuf,

    /// What was measured after
    #[arg(value_name = "AFTER")]
    pub(crate) after: PathBuf,

    /// Call no difference one that is smaller, such as 2%; else as the comparisons say
    #[arg(long, value_name = "PERCENT", value_parser = values::percent)]
    pub(crate) smallest: Option<f64>,
}
