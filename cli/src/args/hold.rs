//! `ringside hold`: long connections.

use std::path::PathBuf;
use std::time::Duration;

use clap::{ArgGroup, Args};
use load::hold::{BackOff, Threshold};

use super::agents::{Fleet, Resume};
use super::export::Export;
use super::machine::{MACHINE, Machine};
pub(crate) use super::run::Format;
use super::secrets::Secrets;
use super::sockets::Sockets;
use super::tls::Tls;
use super::values::{self, Header};
use super::watched::Watched;

const EXAMPLES: &str = "\
Examples:
  ringside hold -c 10k -d 10m http://localhost:8080/health
  ringside hold -c 19k -d 1h --heartbeat 30s --threshold 'survival>=99.5%' \\
    --threshold 'reconnects<=1/h' --threshold 'write_failures<1%' ws://localhost:8080/ws
  ringside hold -c 1k --http2 --heartbeat 10s --threshold 'heartbeat_p99<1s' https://example.org/
  ringside hold -c 500 grpc://localhost:50051/
  ringside hold -c 10k --broadcast 10s --threshold 'heard>=99.99%' ws://localhost:8080/chat
  ringside hold -c 100k -d 10m --agents 4 --nats nats://10.0.0.1:4222 ws://10.0.0.9:8080/ws

A heartbeat is an HTTP/1.1 request, an HTTP/2 PING, a WebSocket ping, or a gRPC health check (of
the service in the path). The hold begins when every connection has been tried once. A connection
survives if it was open then and was never lost: nobody closed it and no heartbeat went unanswered.
Thresholds: survival, reconnects, write_failures, standing, lost, given_up, and heartbeat_, set_up_
or reestablish_ with mean, median, min, max, p50, p99 or any pN. With --broadcast: heard,
broadcast_ (until one has heard it) and broadcast_last_ (until the last has) with the same.
Counts take k, M, G. Times take us, ms, s, m, h; a bare number is seconds, except in thresholds.
Exit codes: 0 held; 1 nothing could be held, or no heartbeat got the expected answer; 2 wrong usage;
3 the report could not be written; 4 figures are void, or a threshold could not be judged; 99 a
threshold was crossed; 130, 143 stopped by SIGINT or SIGTERM, with a report of what was measured.";

/// Arguments of `ringside hold`.
#[derive(Debug, Args)]
#[command(
    after_help = EXAMPLES,
    group = ArgGroup::new("watchers").args(["metrics", "otlp"]).multiple(true),
)]
pub(crate) struct Hold {
    /// What to connect to: http://HOST[:PORT][/PATH], https://, ws://, wss://, grpc://, grpcs://
    pub(crate) url: String,

    /// Connections to hold, across all threads
    #[arg(short, long, value_name = "N", default_value = "1000", value_parser = values::small_count,
        help_heading = HOLD)]
    pub(crate) connections: u32,

    /// How long to hold them, once every connection has been tried
    #[arg(short, long, value_name = "TIME", default_value = "60s", value_parser = values::duration,
        help_heading = HOLD)]
    pub(crate) duration: Duration,

    /// Connections to open per second
    #[arg(long, value_name = "RATE", default_value = "5k", value_parser = values::rate,
        help_heading = HOLD)]
    pub(crate) open_rate: f64,

    /// Speak HTTP/2: negotiated by ALPN over TLS, else by prior knowledge
    #[arg(long, help_heading = HOLD)]
    pub(crate) http2: bool,

    /// Interval between heartbeats of a connection; connections are spread evenly over it
    #[arg(long, value_name = "TIME", default_value = "30s", value_parser = values::duration,
        help_heading = HOLD)]
    pub(crate) heartbeat: Duration,

    /// Count a connection as lost if a heartbeat is unanswered for TIME
    #[arg(long, value_name = "TIME", default_value = "30s", value_parser = values::duration,
        help_heading = HOLD)]
    pub(crate) heartbeat_timeout: Duration,

    /// Have one connection say a message every TIME, and measure until all have heard it: for a
    /// WebSocket on which what one says goes to all
    #[arg(long, value_name = "TIME", value_parser = values::duration, help_heading = HOLD)]
    pub(crate) broadcast: Option<Duration>,

    /// Time out an attempt to connect after TIME
    #[arg(long, value_name = "TIME", default_value = "10s", value_parser = values::duration,
        help_heading = HOLD)]
    pub(crate) connect_timeout: Duration,

    /// Back-off before reconnecting, as MIN..MAX: doubles after each consecutive failure, with
    /// ±25 % jitter
    #[arg(long, value_name = "MIN..MAX", default_value = "100ms..30s",
        value_parser = values::back_off, help_heading = HOLD)]
    pub(crate) back_off: BackOff,

    /// Give up a connection after N attempts in a row without an answered heartbeat
    #[arg(long, value_name = "N", default_value = "10", value_parser = values::small_count,
        help_heading = HOLD)]
    pub(crate) retries: u32,

    /// Seed for the back-off
    #[arg(long, value_name = "N", default_value = "1", help_heading = HOLD)]
    pub(crate) seed: u64,

    /// Add a header to heartbeats or the WebSocket upgrade, or gRPC metadata, 'Name: value'
    /// (repeatable)
    #[arg(short = 'H', long = "header", value_name = "HEADER", value_parser = values::header,
        help_heading = REQUEST)]
    pub(crate) headers: Vec<Header>,

    /// Send basic authentication (RFC 7617), unless -H sets Authorization
    #[arg(short, long, value_name = "NAME:PASSWORD", help_heading = REQUEST)]
    pub(crate) user: Option<String>,

    /// Method of HTTP/1.1 heartbeats
    #[arg(short, long, value_name = "METHOD", default_value = "GET", help_heading = REQUEST)]
    pub(crate) method: String,

    #[command(flatten)]
    pub(crate) sockets: Sockets,

    #[command(flatten)]
    pub(crate) tls: Tls,

    /// Worker threads, each pinned to a CPU [default: 1 for every 18,000 connections, and at most
    /// each]
    #[arg(short, long, value_name = "N", value_parser = values::small_count,
        help_heading = MACHINE)]
    pub(crate) threads: Option<u32>,

    #[command(flatten)]
    pub(crate) machine: Machine,

    #[command(flatten)]
    pub(crate) secrets: Secrets,

    #[command(flatten)]
    pub(crate) watched: Watched,

    #[command(flatten)]
    pub(crate) export: Export,

    #[command(flatten)]
    pub(crate) fleet: Fleet,

    #[command(flatten)]
    pub(crate) again: Resume,

    /// Exit with 99 unless this holds, such as 'survival>=99.5%' or 'heartbeat_p99<1s' (repeatable)
    #[arg(long = "threshold", value_name = "RULE", help_heading = OUTPUT)]
    pub(crate) thresholds: Vec<Threshold>,

    /// Output format: text, json (the whole record), csv (the time series), html (a page with
    /// plots), markdown (a summary), junit (thresholds), smaller-is-better or bigger-is-better
    /// (figures for github-action-benchmark), or bencher
    #[arg(long, value_enum, value_name = "FORMAT", default_value = "text", help_heading = OUTPUT)]
    pub(crate) format: Format,

    /// Write to FILE instead of stdout (atomically)
    #[arg(short, long, value_name = "FILE", help_heading = OUTPUT)]
    pub(crate) output: Option<PathBuf>,
}

const HOLD: &str = "Hold";
const REQUEST: &str = "Request";
const OUTPUT: &str = "Output";
