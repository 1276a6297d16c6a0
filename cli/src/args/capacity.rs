//! `ringside capacity`: the highest rate that holds.

use std::path::PathBuf;
use std::time::Duration;

use clap::Args;
use load::check::Threshold;

use super::load::Load;
use super::run::Arrivals;
use super::values;

const NOTES: &str = "\
Examples:
  ringside capacity http://localhost:8080/ --slo 'p99<10ms' --slo 'errors<0.1%'
  ringside capacity comparisons/hello.toml --slo 'p99<10ms' -o out
  ringside capacity http://localhost:8080/ --slo 'p99<50ms' --at-least 5k --usl 1,2,4,8,16,32

The rate is doubled until it fails, the gap is halved, and both edges are confirmed; the result is
[highest rate that held, lowest that failed], or a lower bound where the generator could not send
more. A rate holds if the conditions do in most of its probes, and what was due was answered. Of a
FILE the load is what it says, every row is searched in turn, and edges are confirmed on processes
that were started for that; conditions may stand in it: [capacity] slo = ['p99<10ms'].
Without -c, a rate that fails only because requests wait for a free connection is tried again over
twice as many, up to 4096, for as long as that helps. With -c, or of a FILE, such a result is a
lower bound, and says so. A probe that the host disturbed doesn't count, and is made again.
Arrivals are random (Poisson) unless --arrivals constant: users do not come evenly.
Counts take k, M, G; times take us, ms, s, m, h, and a bare number is seconds.
Exit codes: 0 searched; 1 nothing could be measured; 2 wrong use; 3 a row failed, or a file could
not be written, and the rest was measured; 99 --at-least was not reached; 130 and 143 ended early by
SIGINT or SIGTERM, with a report of what was found.";

/// Arguments of `ringside capacity`.
#[derive(Debug, Args)]
#[command(after_help = NOTES)]
pub(crate) struct Capacity {
    /// Whose capacity: that of a URL, or of every row of a comparison
    #[arg(value_name = "URL|FILE.toml")]
    pub(crate) whose: String,

    /// What must hold, such as 'p99<10ms', 'errors<0.1%'; repeatable
    #[arg(long = "slo", value_name = "RULE", help_heading = SEARCH)]
    pub(crate) slo: Vec<Threshold>,

    /// The rate to begin with; 1k where it is not given
    #[arg(long, value_name = "RATE", value_parser = values::rate, help_heading = SEARCH)]
    pub(crate) from: Option<f64>,

    /// The highest rate to try
    #[arg(long, value_name = "RATE", value_parser = values::rate, help_heading = SEARCH)]
    pub(crate) to: Option<f64>,

    /// How long each probe measures, at rates that bring enough requests for the rules; 1s where it
    /// is not given, or what FILE says
    #[arg(short, long, value_name = "TIME", value_parser = values::duration, help_heading = SEARCH)]
    pub(crate) duration: Option<Duration>,

    /// How narrow the result shall be: 1% where it is not given
    #[arg(long, value_name = "PERCENT", value_parser = values::percent, help_heading = SEARCH)]
    pub(crate) precision: Option<f64>,

    /// Probes of a rate, of which the majority decides; 3 where it is not given
    #[arg(long, value_name = "N", value_parser = values::small_count, help_heading = SEARCH)]
    pub(crate) repeats: Option<u32>,

    /// Probes that confirm each edge; 5 where it is not given
    #[arg(long, value_name = "N", value_parser = values::small_count, help_heading = SEARCH)]
    pub(crate) confirmations: Option<u32>,

    /// How requests are spaced
    #[arg(long, value_enum, value_name = "LAW", default_value = "poisson", help_heading = SEARCH)]
    pub(crate) arrivals: Arrivals,

    /// Then measure throughput in a closed loop over these numbers of connections, and fit the
    /// universal law of scalability; six or more
    #[arg(long, value_name = "N,N,…", value_delimiter = ',', value_parser = values::small_count,
        help_heading = SEARCH)]
    pub(crate) usl: Vec<u32>,

    /// Exit with 99 unless every capacity is shown to be RATE or more
    #[arg(long, value_name = "RATE", value_parser = values::rate, help_heading = SEARCH)]
    pub(crate) at_least: Option<f64>,

    /// Directory for records and reports, in place of a new one in ringside-out
    #[arg(short, long, value_name = "DIR", help_heading = SEARCH)]
    pub(crate) output: Option<PathBuf>,

    #[command(flatten)]
    pub(crate) load: Load,
}

const SEARCH: &str = "Search";
