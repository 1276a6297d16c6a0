//! `ringside capacity`: the highest rate that holds.

use std::path::PathBuf;
use std::time::Duration;

use clap::Args;
use load::check::Threshold;

use super::agents::Fleet;
use super::export::Export;
use super::flows::Flows;
use super::load::Load;
use super::network::Network;
use super::replay::Replay;
use super::run::Arrivals;
use super::targets::Targets;
use super::values::{self, Live};

const NOTES: &str = "\
Examples:
  ringside capacity http://localhost:8080/ --slo 'p99<10ms' --slo 'errors<0.1%'
  ringside capacity --targets mix.http --slo 'p99{item}<20ms' --slo 'errors<0.1%'
  ringside capacity comparisons/hello.toml --slo 'p99<10ms' -o out
  ringside capacity shop.hurl --variable base=http://localhost:8080 --slo 'p95{(flow)}<2s'
  ringside capacity http://localhost:8080/ --replay access.log --slo 'p99<50ms'
  ringside capacity http://localhost:8080/ --slo 'p99<50ms' --at-least 5k --usl 1,2,4,8,16,32
  ringside capacity --agents local:3 --slo 'p99<10ms' http://localhost:8080/

ringside doubles the rate until it fails, halves the gap, and confirms both edges. The result is the
highest rate that held and the lowest that failed, or a lower bound if the generator couldn't send
more. A rate holds if most of its probes meet every objective and answer what was due.

With a FILE, each row is searched in turn, using the workload the file defines, and edges are
confirmed on fresh processes. The file can set objectives: [capacity] slo = ['p99<10ms']. Servers
and load run in a private network, as with ringside compare.

Without -c, a rate that fails only because requests waited for a free connection is retried with
twice as many connections, up to 4096, for as long as that helps. With -c or a FILE, such a result
is a lower bound and says so. A probe that the host disturbed doesn't count and is repeated.

Of a flow of users (FILE.hurl), the rate is one of flows begun, each by a user of its own, and no
window is shorter than two flows. With --replay, the log is sent faster or slower, over and over,
with its own gaps, until its mean rate is the one that holds.

Objectives are the thresholds of ringside run; behind a response time, errors or rate, {NAME} is a
request of --targets. --data-order once isn't for a search: its load has no end.
Counts take k, M, G. Times take us, ms, s, m, h; a bare number is seconds.
Exit codes: 0 searched; 1 no measurements; 2 wrong usage; 3 some rows failed, or a file could not be
written; 4 --at-least could not be judged; 99 it was not reached; 130, 143 stopped by SIGINT or
SIGTERM, with a report of what was found.";

/// Arguments of `ringside capacity`.
#[derive(Debug, Args)]
#[command(after_help = NOTES)]
pub(crate) struct Capacity {
    /// A server to load, a flow of users (.hurl), or a comparison whose rows are searched in turn
    #[arg(
        id = "url",
        value_name = "URL|FILE.hurl|FILE.toml",
        required_unless_present = "targets"
    )]
    pub(crate) whose: Option<String>,

    #[command(flatten)]
    pub(crate) targets: Targets,

    #[command(flatten)]
    pub(crate) flows: Flows,

    #[command(flatten)]
    pub(crate) replay: Replay,

    /// An objective, such as 'p99<10ms' or 'errors<0.1%' (repeatable)
    #[arg(long = "slo", value_name = "RULE", help_heading = SEARCH)]
    pub(crate) slo: Vec<Threshold>,

    /// Rate to start with [default: 1k]
    #[arg(long, value_name = "RATE", value_parser = values::rate, help_heading = SEARCH)]
    pub(crate) from: Option<f64>,

    /// Highest rate to try
    #[arg(long, value_name = "RATE", value_parser = values::rate, help_heading = SEARCH)]
    pub(crate) to: Option<f64>,

    /// How long each probe measures; low rates take longer, to get enough requests [default: 1s, or
    /// FILE's window]
    #[arg(short, long, value_name = "TIME", value_parser = values::duration, help_heading = SEARCH)]
    pub(crate) duration: Option<Duration>,

    /// Narrow the result down to this [default: 1%]
    #[arg(long, value_name = "PERCENT", value_parser = values::percent, help_heading = SEARCH)]
    pub(crate) precision: Option<f64>,

    /// Probes per rate; the majority decides [default: 3]
    #[arg(long, value_name = "N", value_parser = values::small_count, help_heading = SEARCH)]
    pub(crate) repeats: Option<u32>,

    /// Probes to confirm each edge [default: 5]
    #[arg(long, value_name = "N", value_parser = values::small_count, help_heading = SEARCH)]
    pub(crate) confirmations: Option<u32>,

    /// Spacing of requests: random, as users arrive, or constant
    #[arg(long, value_enum, value_name = "LAW", default_value = "poisson", help_heading = SEARCH)]
    pub(crate) arrivals: Arrivals,

    /// Then measure closed-loop throughput at these numbers of connections (six or more), and fit
    /// the Universal Scalability Law
    #[arg(long, value_name = "N,N,…", value_delimiter = ',', value_parser = values::small_count,
        help_heading = SEARCH)]
    pub(crate) usl: Vec<u32>,

    /// Exit with 99 unless every capacity is shown to be at least RATE (4: can't tell)
    #[arg(long, value_name = "RATE", value_parser = values::rate, help_heading = SEARCH)]
    pub(crate) at_least: Option<f64>,

    /// Directory for records and reports [default: a new one in ringside-out]
    #[arg(short, long, value_name = "DIR", help_heading = SEARCH)]
    pub(crate) output: Option<PathBuf>,

    /// Draw what is found so far in the terminal, between measurements (q ends it, as Ctrl-C does),
    /// or with =ADDR on a page for browsers: PORT or HOST:PORT, on 127.0.0.1 unless HOST says
    /// otherwise
    #[arg(long, value_name = "ADDR", num_args = 0..=1, require_equals = true,
        default_missing_value = values::TERMINAL, value_parser = values::live,
        help_heading = SEARCH)]
    pub(crate) live: Option<Live>,

    #[command(flatten)]
    pub(crate) export: Export,

    #[command(flatten)]
    pub(crate) network: Network,

    #[command(flatten)]
    pub(crate) fleet: Fleet,

    #[command(flatten)]
    pub(crate) load: Load,
}

const SEARCH: &str = "Search";
