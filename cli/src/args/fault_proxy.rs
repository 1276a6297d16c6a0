//! `ringside fault-proxy`.

use clap::Args;
use engine::EngineChoice;
use faultproxy::{CutAfter, Direction, Ending};

use super::values;

/// What it obeys and promises, as the help shows it.
const CONTROL: &str = "\
Once it listens, it prints \"listening on ADDRESS\" to stdout. From then on it obeys lines on stdin
and answers each with a line of JSON on stdout, {\"ok\":true} or {\"error\":\"...\"}:
  set delay=10ms jitter=2ms   change the faults named, and leave the others as they are
  set stall                   likewise; \"stall=off\", \"cut-after=off\", \"bandwidth=off\" end one
  clear                       end all faults
  reset-all                   reset every connection
  counters                    {\"accepted\":3,\"refused\":1,\"cut\":0,\"upstream_failed\":0,
                              \"bytes_up\":144,\"bytes_down\":2048,\"open\":2}
  status                      {\"faults\":\"delay=10ms jitter=2ms\"}
  help                        what may be said
The names are those of the flags. In comparisons, kind 'drop' is a stall, 'slow' a bandwidth, and
'reset' a refusal of all with reset-all. Changes apply to open connections, too, and to bytes that
are held. The end of stdin changes nothing.
Without faults, bytes, half-closes and resets pass unchanged, and a side that doesn't read stops the
other. A connection whose upstream can't be reached is reset. Each direction of a connection holds
up to 1 MiB, which bounds its throughput: 10 MB/s at --delay 100ms.
SIGINT and SIGTERM end it, and it says what it has counted.
Exit codes: 0 stopped on request; 1 could not listen, or failed; 2 wrong usage.";

/// Arguments of `ringside fault-proxy`.
#[derive(Debug, Args)]
#[command(after_help = CONTROL)]
pub(crate) struct FaultProxy {
    /// Listen on HOST:PORT or unix:PATH; port 0 lets the kernel choose
    #[arg(long, value_name = "A")]
    pub(crate) listen: String,

    /// Pass connections on to HOST:PORT or unix:PATH
    #[arg(long, value_name = "A")]
    pub(crate) to: String,

    /// Delay bytes, ends and resets by TIME, such as 10ms
    #[arg(long, value_name = "TIME", value_parser = faultproxy::time)]
    pub(crate) delay: Option<u64>,

    /// Delay each piece by up to TIME more, at random; the order stays
    #[arg(long, value_name = "TIME", value_parser = faultproxy::time)]
    pub(crate) jitter: Option<u64>,

    /// Reset this share of new connections right after accepting them, such as 0.1
    #[arg(long, value_name = "SHARE", value_parser = faultproxy::share)]
    pub(crate) refuse: Option<f64>,

    /// Cut a connection after so many bytes in one direction, or so much time: 64K, 2s
    #[arg(long, value_name = "AMOUNT", value_parser = amount)]
    pub(crate) cut_after: Option<CutAfter>,

    /// How to cut it: fin, behind the last byte, or reset
    #[arg(long, value_name = "HOW", default_value = "fin", value_parser = ending)]
    pub(crate) cut: Ending,

    /// Bytes per second in each direction of each connection
    #[arg(long, value_name = "SIZE", value_parser = faultproxy::bandwidth)]
    pub(crate) bandwidth: Option<u64>,

    /// Take bytes and drop them; connections stay open
    #[arg(long)]
    pub(crate) stall: bool,

    /// Where faults apply to bytes: up (to the server), down or both
    #[arg(long, value_name = "WAY", default_value = "both", value_parser = direction)]
    pub(crate) direction: Direction,

    /// Seed of all that happens at random
    #[arg(long, value_name = "N", default_value = "1")]
    pub(crate) seed: u64,

    /// auto, uring or epoll; auto is io_uring if the kernel allows it
    #[arg(long, value_name = "ENGINE", default_value = "auto", value_parser = values::engine)]
    pub(crate) engine: EngineChoice,
}

/// `64K` or `2s`.
fn amount(text: &str) -> Result<CutAfter, String> {
    text.parse()
}

/// `fin` or `reset`.
fn ending(text: &str) -> Result<Ending, String> {
    text.parse()
}

/// `up`, `down` or `both`.
fn direction(text: &str) -> Result<Direction, String> {
    text.parse()
}
