//! `ringside run`: wrk's letters with wrk's meaning, and what wrk has no letter for.

use std::path::PathBuf;
use std::time::Duration;

use clap::{ArgGroup, Args, ValueEnum};
use load::check::Threshold;

use super::agents::{Fleet, Resume};
use super::export::Export;
use super::flows::Flows;
use super::load::{LOAD, Load};
use super::replay::Replay;
use super::targets::Targets;
use super::values;
use super::watched::Watched;

const EXAMPLES: &str = "\
Examples:
  ringside run http://localhost:8080/                        closed loop, 10 connections, 10 s
  ringside run -t2 -c200 -d30s --latency http://localhost:8080/
  ringside run -R 50k -c100 -d30s http://localhost:8080/     open loop, 50,000 requests/s
  ringside run --stages 0:10k@30s,10k@1m,30k@5s http://localhost:8080/
  ringside run -R 1k --threshold 'p99<5ms' --threshold 'errors<0.1%' http://localhost:8080/
  ringside run -R 500 -d30s --control http://localhost:8080/     what does this machine add?
  ringside run -n 100k --format json -o run.json http://localhost:8080/
  ringside run -c10 -b @hello.json grpc://localhost:50051/helloworld.Greeter/SayHello
  ringside run --targets mix.http -R 1k --threshold 'p99{login}<50ms'     different requests
  ringside run --expect status=200 --expect 'json:$.ok=true' http://localhost:8080/
  ringside run -s login.lua http://localhost:8080/ -- alice bob             a script of wrk
  ringside run --agents local:4 -R 20k -c100 http://localhost:8080/      several processes at once
  ringside run --replay access.log --speed 2 http://localhost:8080/     twice as fast as it was
  ringside run --data users.csv -H 'X-Id: {{newUuid}}' 'http://localhost:8080/users/{{id}}'
  ringside run shop.hurl -c50 --variable base=http://localhost:8080     50 users of a flow

What a run can't do: send what an answer asks for, but in a flow (FILE.hurl); follow redirects to
another server; speak HTTP/3, SOCKS, or TLS to a proxy.

Thresholds: errors (a number, or a share such as 0.1%), availability, rate, and response times:
mean, median, min, max, p50, p99, p99.9 or any pN. service:p99 and so on are service times. Behind a
response time, errors or rate, {NAME} is a request of --targets or of a flow: errors{login}<1%;
{(flow)} is the whole flow.
Counts take k, M, G. Times take us, ms, s, m, h; a bare number is seconds, except in thresholds.
Exit codes: 0 measured; 1 no measurements; 2 wrong usage; 3 the report could not be written; 4 the
figures are void, or a threshold could not be judged; 99 a threshold was crossed; 130, 143 stopped
by SIGINT or SIGTERM, with a report of what was measured.";

/// Arguments of `ringside run`.
#[derive(Debug, Args)]
#[command(
    after_help = EXAMPLES,
    group = ArgGroup::new("watchers").args(["metrics", "otlp"]).multiple(true),
)]
pub(crate) struct Run {
    /// What to load: http://HOST[:PORT][/PATH], grpc://HOST:PORT/package.Service/Method, or
    /// FILE.hurl, through which each connection goes as a user
    #[arg(required_unless_present = "targets")]
    pub(crate) url: Option<String>,

    #[command(flatten)]
    pub(crate) targets: Targets,

    #[command(flatten)]
    pub(crate) flows: Flows,

    #[command(flatten)]
    pub(crate) replay: Replay,

    #[command(flatten)]
    pub(crate) load: Load,

    /// How long to measure [default: 10s, unless -n or --stages ends the run]
    #[arg(short, long, value_name = "TIME", value_parser = values::duration, help_heading = LOAD)]
    pub(crate) duration: Option<Duration>,

    /// Stop after N requests, or flows, or after -d, whichever comes first
    #[arg(short = 'n', long, value_name = "N", value_parser = values::count, help_heading = LOAD)]
    pub(crate) requests: Option<u64>,

    /// Open loop: send RATE requests (of a flow: begin RATE flows) per second in total, on schedule
    #[arg(short = 'R', long, value_name = "RATE", value_parser = values::rate,
        conflicts_with = "replay", help_heading = LOAD)]
    pub(crate) rate: Option<f64>,

    /// Spacing of requests in an open loop [default: constant]
    #[arg(long, value_enum, value_name = "LAW", help_heading = LOAD)]
    pub(crate) arrivals: Option<Arrivals>,

    /// Open loop with ramps, steps and spikes: FROM:TO@TIME or RATE@TIME, comma-separated
    #[arg(long, value_name = "STAGES", conflicts_with = "replay", help_heading = LOAD)]
    pub(crate) stages: Option<String>,

    /// Apply the load for TIME before measuring
    #[arg(long, value_name = "TIME", value_parser = values::duration, help_heading = LOAD)]
    pub(crate) warmup: Option<Duration>,

    /// Repeat the load against ringside's own server and show both side by side
    #[arg(long, conflicts_with = "replay", help_heading = OUTPUT)]
    pub(crate) control: bool,

    /// Also print wrk's latency percentiles
    #[arg(short = 'L', long, help_heading = OUTPUT)]
    pub(crate) latency: bool,

    #[command(flatten)]
    pub(crate) watched: Watched,

    #[command(flatten)]
    pub(crate) export: Export,

    #[command(flatten)]
    pub(crate) fleet: Fleet,

    #[command(flatten)]
    pub(crate) again: Resume,

    /// Exit with 99 unless this holds, such as 'p99<5ms' or 'errors<0.1%' (repeatable)
    #[arg(long = "threshold", value_name = "RULE", help_heading = OUTPUT)]
    pub(crate) thresholds: Vec<Threshold>,

    /// Output format: text, json (the whole record), csv (per second and request), html (a page
    /// with plots), markdown (a summary), junit (thresholds), smaller-is-better or bigger-is-better
    /// (figures for github-action-benchmark), or bencher
    #[arg(long, value_enum, value_name = "FORMAT", default_value = "text", help_heading = OUTPUT)]
    pub(crate) format: Format,

    /// Write to FILE instead of stdout (atomically)
    #[arg(short, long, value_name = "FILE", help_heading = OUTPUT)]
    pub(crate) output: Option<PathBuf>,
}

const OUTPUT: &str = "Output";

/// How an open loop is spaced: evenly, or at random as from many independent users.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum Arrivals {
    Constant,
    Poisson,
}

/// What is printed: wrk's block and what wrk does not say, the record, a line for each second, or
/// what pipelines read.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum Format {
    Text,
    Json,
    Csv,
    Html,
    Markdown,
    Junit,
    SmallerIsBetter,
    BiggerIsBetter,
    Bencher,
}

impl Format {
    /// Whether it has no place for warnings.
    pub(crate) fn lacks_warnings(self) -> bool {
        use Format::{Bencher, BiggerIsBetter, Csv, SmallerIsBetter};
        matches!(self, Csv | SmallerIsBetter | BiggerIsBetter | Bencher)
    }
}
