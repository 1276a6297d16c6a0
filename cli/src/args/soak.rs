//! `ringside soak`.

use std::path::PathBuf;
use std::time::Duration;

use clap::{ArgGroup, Args, ValueEnum};

use super::export::Export;
use super::load::Load;
use super::network::Network;
use super::targets::Targets;
use super::values;
use super::watched::Watched;

const NOTES: &str = "\
Examples:
  ringside soak http://localhost:8080/ --rate 500 --for 72h
  ringside soak comparisons/soak/leaking.toml --for 10m
  ringside soak http://localhost:8080/ --rate 500 --for 72h --live=8090 --metrics 9102
  ringside soak http://localhost:8080/ --rate 500 --for 72h --resume DIR

The load is constant, in an open loop. With a FILE, the subject of its only row (or of --row) is
started in a private network, as with ringside compare, and the workload is the file's; with a URL,
the process listening there is watched, or --pid, with all processes below it. The report has the
slope of memory, descriptors, threads, p99 and throughput over time under load, with its interval. A
leak is a proven slope: its interval is above what counts (--smallest), and it goes on in the second
half of the time. Without one, the report says how large a leak could have been missed.

ringside checks for a leak after the first samples, and again each time their number doubles; all
checks together are wrong in at most 5 of 100 soaks in which nothing grows. Samples are written as
they come, so an interrupted soak goes on with the same command and --resume, even after a reboot.
The report lists restarts of the process, OOM kills, throttling by a CPU limit, and times in which
nothing was answered or seen.
--live, --metrics and --otlp show the load of this part, as of a run; with a FILE, --metrics and
--otlp need --host-network.

Counts take k, M, G. Times take us, ms, s, m, h, d; a bare number is seconds. Sizes take KiB, MiB.
Exit codes: 0 no leak, or no process was watched; 1 no measurements; 2 wrong usage; 3 the subject
died, or a file could not be written; 4 the rate wasn't held; 5 can't tell yet; 99 a leak is
proven, also where a signal ended the soak; 130, 143 stopped by SIGINT or SIGTERM before that, with
a report.";

/// Arguments of `ringside soak`.
#[derive(Debug, Args)]
#[command(
    after_help = NOTES,
    group = ArgGroup::new("watchers").args(["metrics", "otlp"]).multiple(true),
)]
pub(crate) struct Soak {
    /// A server to load, or a comparison whose subject is started
    #[arg(
        id = "url",
        value_name = "URL|FILE.toml",
        required_unless_present = "targets"
    )]
    pub(crate) whom: Option<String>,

    /// How long: the load of all parts together
    #[arg(long = "for", value_name = "TIME", value_parser = values::duration, help_heading = SOAK)]
    pub(crate) length: Duration,

    /// Requests per second [default: the FILE's]
    #[arg(short = 'R', long, value_name = "RATE", value_parser = values::rate, help_heading = SOAK)]
    pub(crate) rate: Option<f64>,

    /// The row of FILE whose subject is started [default: the only one]
    #[arg(long, value_name = "NAME", conflicts_with = "pid", help_heading = SOAK)]
    pub(crate) row: Option<String>,

    /// The process to watch, with all below it [default: the process listening at URL]
    #[arg(long, value_name = "PID", help_heading = SOAK)]
    pub(crate) pid: Option<u32>,

    /// Leave out the first TIME of a process [default: a tenth of --for, 2s to 10m]
    #[arg(long, value_name = "TIME", value_parser = values::duration, help_heading = SOAK)]
    pub(crate) warm_up: Option<Duration>,

    /// The smallest growth of memory in an hour that counts
    #[arg(long, value_name = "SIZE", default_value = "1MiB", value_parser = values::size,
        help_heading = SOAK)]
    pub(crate) smallest: usize,

    /// Directory for samples, records and reports [default: a new one in ringside-out]
    #[arg(short, long, value_name = "DIR", help_heading = SOAK)]
    pub(crate) output: Option<PathBuf>,

    /// Go on with the soak in DIR, which was interrupted, with the same arguments
    #[arg(long, value_name = "DIR", conflicts_with = "output", help_heading = SOAK)]
    pub(crate) resume: Option<PathBuf>,

    /// Output format: text or json
    #[arg(long, value_enum, value_name = "FORMAT", default_value = "text",
        hide_possible_values = true, help_heading = SOAK)]
    pub(crate) format: Format,

    #[command(flatten)]
    pub(crate) watched: Watched,

    #[command(flatten)]
    pub(crate) export: Export,

    #[command(flatten)]
    pub(crate) targets: Targets,

    #[command(flatten)]
    pub(crate) network: Network,

    #[command(flatten)]
    pub(crate) load: Load,
}

/// How the report is printed.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum Format {
    /// For people
    Text,
    /// For programs: the record
    Json,
}

const SOAK: &str = "Soak";
