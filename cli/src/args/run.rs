//! `ringside run`: wrk's letters with wrk's meaning, and what wrk has no letter for.

use std::path::PathBuf;
use std::time::Duration;

use clap::{Args, ValueEnum};
use engine::EngineChoice;
use load::check::Threshold;

use super::http2::Http2;
use super::sockets::{CONNECTION, Sockets};
use super::tls::Tls;
use super::values;

const EXAMPLES: &str = "\
Examples:
  ringside run http://localhost:8080/                        closed loop, 10 connections, 10 s
  ringside run -t2 -c200 -d30s --latency http://localhost:8080/
  ringside run -R 50k -c100 -d30s http://localhost:8080/     open loop, 50,000 requests a second
  ringside run --stages 0:10k@30s,10k@1m,30k@5s http://localhost:8080/
  ringside run -R 1k --threshold 'p99<5ms' --threshold 'errors<0.1%' http://localhost:8080/
  ringside run -n 100k --format json -o run.json http://localhost:8080/
  ringside run -c10 -b @hello.json grpc://localhost:50051/helloworld.Greeter/SayHello

Counts take k, M, G; times take us, ms, s, m, h, and a bare number is seconds.
Exit codes: 0 measured; 1 nothing could be measured; 2 wrong use; 99 a threshold was crossed;
130 and 143 ended early by SIGINT or SIGTERM, with a report of what was measured.";

/// Arguments of `ringside run`.
#[derive(Debug, Args)]
#[command(after_help = EXAMPLES)]
pub(crate) struct Run {
    /// What to load: http://HOST[:PORT][/PATH], or grpc://HOST:PORT/package.Service/Method
    pub(crate) url: String,

    /// Connections to keep open, over all threads
    #[arg(short, long, value_name = "N", default_value = "10", value_parser = values::small_count,
        help_heading = LOAD)]
    pub(crate) connections: u32,

    /// Worker threads, each pinned to a CPU
    #[arg(short, long, value_name = "N", default_value = "1", value_parser = values::small_count,
        help_heading = LOAD)]
    pub(crate) threads: u32,

    /// How long to measure; 10s where neither -n nor --stages ends the run
    #[arg(short, long, value_name = "TIME", value_parser = values::duration, help_heading = LOAD)]
    pub(crate) duration: Option<Duration>,

    /// Stop after N requests; with -d whichever comes first
    #[arg(short = 'n', long, value_name = "N", value_parser = values::count, help_heading = LOAD)]
    pub(crate) requests: Option<u64>,

    /// Open loop: send RATE requests a second in all, whatever the answers do
    #[arg(short = 'R', long, value_name = "RATE", value_parser = values::rate,
        help_heading = LOAD)]
    pub(crate) rate: Option<f64>,

    /// How the requests of an open loop are spaced; constant where it is not given
    #[arg(long, value_enum, value_name = "LAW", help_heading = LOAD)]
    pub(crate) arrivals: Option<Arrivals>,

    /// Open loop along ramps, steps and spikes: FROM:TO@TIME or RATE@TIME, separated by commas
    #[arg(long, value_name = "STAGES", help_heading = LOAD)]
    pub(crate) stages: Option<String>,

    /// Load for TIME before measuring
    #[arg(long, value_name = "TIME", value_parser = values::duration, help_heading = LOAD)]
    pub(crate) warmup: Option<Duration>,

    /// Unanswered requests on each connection
    #[arg(long, value_name = "N", default_value = "1", value_parser = values::small_count,
        help_heading = LOAD)]
    pub(crate) pipeline: u32,

    /// Give an unanswered request up after TIME
    #[arg(short = 'T', long, value_name = "TIME", default_value = "2s",
        value_parser = values::duration, help_heading = LOAD)]
    pub(crate) timeout: Duration,

    /// Seed of random arrivals and of back-off
    #[arg(long, value_name = "N", default_value = "1", help_heading = LOAD)]
    pub(crate) seed: u64,

    /// Add a header, 'Name: value'; repeatable
    #[arg(short = 'H', long = "header", value_name = "HEADER", value_parser = values::header,
        help_heading = REQUEST)]
    pub(crate) headers: Vec<(String, String)>,

    /// Method; GET where it is not given, or POST with a body
    #[arg(short, long, value_name = "METHOD", help_heading = REQUEST)]
    pub(crate) method: Option<String>,

    /// Body, or @FILE to read it from there; of gRPC the message as JSON, for a method that takes a
    /// stream an array of messages
    #[arg(short, long, value_name = "BODY|@FILE", help_heading = REQUEST)]
    pub(crate) body: Option<String>,

    /// wrk's Lua scripts are not there yet
    #[arg(short, long, value_name = "FILE", help_heading = REQUEST)]
    pub(crate) script: Option<PathBuf>,

    /// Describe the gRPC service by FILE; repeatable; where neither this nor --protoset is given
    /// the server is asked by reflection
    #[arg(long, value_name = "FILE", help_heading = GRPC)]
    pub(crate) proto: Vec<PathBuf>,

    /// Look for the imports of --proto in DIR, before the file's own folder and the current one;
    /// repeatable
    #[arg(short = 'i', long, value_name = "DIR", requires = "proto", help_heading = GRPC)]
    pub(crate) import_path: Vec<PathBuf>,

    /// Describe the gRPC service by a set of descriptors, as `protoc --include_imports -o` makes it
    #[arg(long, value_name = "FILE", conflicts_with = "proto", help_heading = GRPC)]
    pub(crate) protoset: Option<PathBuf>,

    /// Add metadata to each call, 'name: value'; of a name that ends in -bin the value is base64;
    /// repeatable; -H does the same
    #[arg(long, value_name = "METADATA", value_parser = values::metadata, help_heading = GRPC)]
    pub(crate) metadata: Vec<(String, String)>,

    /// Tell the server to give a call up after TIME, by grpc-timeout
    #[arg(long, value_name = "TIME", value_parser = values::duration, help_heading = GRPC)]
    pub(crate) deadline: Option<Duration>,

    #[command(flatten)]
    pub(crate) http2: Http2,

    /// Send TEXT, or what is in FILE; one exchange is this message and the next that comes back
    #[arg(long, value_name = "TEXT|@FILE", help_heading = WEBSOCKET)]
    pub(crate) message: Option<String>,

    /// Send it as a binary message and not as text
    #[arg(long, help_heading = WEBSOCKET)]
    pub(crate) binary: bool,

    /// Ping each connection every TIME and measure the round trip
    #[arg(long, value_name = "TIME", value_parser = values::duration, help_heading = WEBSOCKET)]
    pub(crate) ping: Option<Duration>,

    /// A new connection for each request
    #[arg(long, help_heading = CONNECTION)]
    pub(crate) no_keepalive: bool,

    #[command(flatten)]
    pub(crate) sockets: Sockets,

    #[command(flatten)]
    pub(crate) tls: Tls,

    /// auto, uring or epoll; auto takes io_uring where the kernel grants it
    #[arg(long, value_name = "ENGINE", default_value = "auto", value_parser = values::engine,
        help_heading = MACHINE)]
    pub(crate) engine: EngineChoice,

    /// CPUs to pin the threads to, such as 0,2-5
    #[arg(long, value_name = "LIST", help_heading = MACHINE)]
    pub(crate) cpus: Option<String>,

    /// Print wrk's block of percentiles too
    #[arg(short = 'L', long, help_heading = OUTPUT)]
    pub(crate) latency: bool,

    /// Exit with 99 unless this holds, such as 'p99<5ms', 'errors<0.1%', 'rate>50k'; repeatable
    #[arg(long = "threshold", value_name = "RULE", help_heading = OUTPUT)]
    pub(crate) thresholds: Vec<Threshold>,

    /// What to print: text to read, json for the whole record, csv for its time series
    #[arg(long, value_enum, value_name = "FORMAT", default_value = "text", help_heading = OUTPUT)]
    pub(crate) format: Format,

    /// Write it to FILE, whole or not at all, and not to standard output
    #[arg(short, long, value_name = "FILE", help_heading = OUTPUT)]
    pub(crate) output: Option<PathBuf>,
}

const LOAD: &str = "Load";
const REQUEST: &str = "Request";
const GRPC: &str = "gRPC";
const WEBSOCKET: &str = "WebSocket";
const MACHINE: &str = "Machine";
const OUTPUT: &str = "Output";

/// How an open loop is spaced: evenly, or at random as from many independent users.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum Arrivals {
    Constant,
    Poisson,
}

/// What is printed: wrk's block and what wrk does not say, the record, or a line for each second.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum Format {
    Text,
    Json,
    Csv,
}
