//! `ringside diff`.

use std::path::PathBuf;

use clap::Args;

use super::values;

const NOTES: &str = "\
Takes two directories of compare, which have intervals; or two rounds of them, or two records of
run, of which nothing can be proven. What was asked and the host must be the same.
Exit codes: 0 no regression is proven; 2 wrong use, or the two cannot be compared; 99 a regression
is proven.";

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
