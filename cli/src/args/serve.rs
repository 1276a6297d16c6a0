//! `ringside serve`.

use std::path::PathBuf;
use std::time::Duration;

use clap::Args;
use engine::EngineChoice;

use super::values;

/// What is served, as the help shows it.
const ROUTES: &str = "\
Routes:
  /               13 bytes of text          /json           a small JSON document
  /bytes/N        N bytes                   /chunked/N      N bytes in chunks
  /echo           the request's body        /status/N       an answer with status N
  /delay/50ms     an answer after a while   /health         for whoever asks whether it is up
  /wait10         an answer after 10 ms, a path that other subjects of comparisons have, too
  /limited/RATE   RATE answers a second, of all threads together, and 503 beyond
  /burn/N         an answer after N turns of a loop of arithmetic
  /ws             WebSocket: each message comes back
  gRPC            ringside.Echo, health, reflection, grpc.testing.TestService
Faults, for testing clients:
  /stall          never answers             /reset          a reset in place of an answer
  /truncate       half an answer            /slow/10ms      an answer byte by byte
  /garbage        bytes that are not HTTP
  /h2/goaway      an answer and GOAWAY      /h2/reset/CODE  a stream reset with CODE
  /h2/starve      no answer and no credit; over HTTP/2, as the two before
  /ws/close/CODE  closes with CODE after the first message
  /ws/drop        resets then               /ws/stall       never answers a message
SIGINT and SIGTERM let running exchanges finish; a second SIGINT ends at once.
Exit codes: 0 stopped on request; 1 could not listen or broke; 2 wrong use.";

/// Arguments of `ringside serve`.
#[derive(Debug, Args)]
#[command(after_help = ROUTES)]
pub(crate) struct Serve {
    /// Where to listen: HOST:PORT, or unix:PATH; port 0 lets the kernel choose
    #[arg(long, value_name = "ADDRESS", default_value = "127.0.0.1:8080")]
    pub(crate) addr: String,

    /// Serve over TLS, with a certificate made for localhost and the host of --addr where no other
    /// is given
    #[arg(long)]
    pub(crate) tls: bool,

    /// The certificate, with the chain to its authority (PEM)
    #[arg(long, value_name = "FILE", requires = "tls", requires = "key")]
    pub(crate) cert: Option<PathBuf>,

    /// The key of --cert (PEM)
    #[arg(long, value_name = "FILE", requires = "cert")]
    pub(crate) key: Option<PathBuf>,

    /// Take only clients with a certificate that an authority in FILE (PEM) has signed
    #[arg(long, value_name = "FILE", requires = "tls")]
    pub(crate) client_ca: Option<PathBuf>,

    /// auto, uring or epoll; auto takes io_uring where the kernel grants it
    #[arg(long, value_name = "ENGINE", default_value = "auto", value_parser = values::engine)]
    pub(crate) engine: EngineChoice,

    /// Worker threads, each pinned to a CPU; one for each allowed CPU where it is not given
    #[arg(short, long, value_name = "N", value_parser = values::small_count)]
    pub(crate) threads: Option<u32>,

    /// CPUs to pin the threads to, such as 0,2-5
    #[arg(long, value_name = "LIST")]
    pub(crate) cpus: Option<String>,

    /// Connections that may wait to be accepted
    #[arg(long, value_name = "N", default_value = "65535", value_parser = values::small_count)]
    pub(crate) backlog: u32,

    /// Connections that each thread serves at once, while more wait; what descriptors allow where
    /// it is not given
    #[arg(long, value_name = "N", value_parser = values::small_count)]
    pub(crate) connection_limit: Option<u32>,

    /// The longest head of a request; longer ones are answered with 431
    #[arg(long, value_name = "SIZE", default_value = "16KiB", value_parser = values::size)]
    pub(crate) head_limit: usize,

    /// The longest body of a request; longer ones are answered with 413, and longer WebSocket
    /// messages with close code 1009
    #[arg(long, value_name = "SIZE", default_value = "1MiB", value_parser = values::size)]
    pub(crate) body_limit: usize,

    /// How long a request's head may take; then it is answered with 408
    #[arg(long, value_name = "TIME", default_value = "10s", value_parser = values::duration)]
    pub(crate) head_timeout: Duration,

    /// How long a request's body or a message may take, and a second more for each 1,000 bytes of
    /// it; then it is answered with 408
    #[arg(long, value_name = "TIME", default_value = "30s", value_parser = values::duration)]
    pub(crate) body_timeout: Duration,

    /// Memory for the bodies, messages and unread answers of all clients; beyond it the heaviest
    /// are answered with 503 or reset; 512MiB where it is not given, or four bodies for each thread
    #[arg(long, value_name = "SIZE", value_parser = values::size)]
    pub(crate) memory_limit: Option<usize>,

    /// How long a connection may be idle
    #[arg(long, value_name = "TIME", default_value = "75s", value_parser = values::duration)]
    pub(crate) idle_timeout: Duration,

    /// How long running exchanges may take to finish when it is stopped
    #[arg(long, value_name = "TIME", default_value = "10s", value_parser = values::duration)]
    pub(crate) drain_timeout: Duration,
}
