//! `ringside serve`.

use std::path::PathBuf;
use std::time::Duration;

use clap::Args;
use engine::{EngineChoice, Without};
use testserver::CountBy;

use super::values;

/// What is served, as the help shows it.
const ROUTES: &str = "\
Routes:
  /               13 bytes of text          /json           a small JSON document
  /bytes/N        N bytes                   /chunked/N      N bytes in chunks
  /echo           the request's body        /status/N       an answer with status N
  /delay/50ms     an answer after 50 ms     /health         a health check
  /wait10         an answer after 10 ms (other subjects have this path too)
  /limited/RATE   RATE answers per second across all threads, then 503
  /events/N/10ms  N server-sent events, one each 10 ms, the first after ?first=LAW: 200ms,
                  exp:200ms (at random, with that mean) or 100ms..300ms [default: 0ms]
  /v1/chat/completions  max_tokens events, like a server of language models, if the body has
                  stream: true, else one answer; ?first=LAW&every=TIME [default: 50ms, 10ms]
  /burn/N         an answer after N turns of an arithmetic loop
  /task/N         the same in a task worker: nothing else waits for it
  /metrics        what it has counted, and how long answers took, for Prometheus
  /ws             WebSocket: each message comes back
  /chat           WebSocket: each message goes to all who are connected to /chat; with --processes,
                  to those who are connected to the same worker process
gRPC services, as in grpc://127.0.0.1:8080/ringside.Echo/Echo; reflection describes them:
  ringside.Echo             Echo, EchoClientStream, EchoServerStream, EchoBidirectional
  grpc.health.v1.Health     Check, List, Watch (which doesn't end)
  grpc.testing.TestService  EmptyCall, UnaryCall, CacheableUnaryCall, StreamingOutputCall,
                            StreamingInputCall, FullDuplexCall, HalfDuplexCall, UnimplementedCall
Faults, for testing clients:
  /stall          never answers             /reset          a reset instead of an answer
  /truncate       half an answer            /slow/10ms      an answer byte by byte
  /garbage        bytes that aren't HTTP
  /h2/goaway      an answer and GOAWAY      /h2/reset/CODE  a stream reset with CODE
  /h2/starve      no answer and no flow-control credit (all /h2/ routes: HTTP/2 only)
  /ws/close/CODE  closes with CODE after the first message
  /ws/drop        resets instead            /ws/stall       never answers a message
SIGINT and SIGTERM let exchanges in flight finish; a second SIGINT stops at once. With --processes,
SIGHUP has new workers take over, and SIGUSR2 a new master; neither loses a request.
Exit codes: 0 stopped on request; 1 could not listen, or failed; 2 wrong usage.";

/// Arguments of `ringside serve`.
#[derive(Debug, Args)]
#[command(after_help = ROUTES)]
pub(crate) struct Serve {
    /// Listen on HOST:PORT or unix:PATH; port 0 lets the kernel choose
    #[arg(long, value_name = "ADDRESS", default_value = "127.0.0.1:8080")]
    pub(crate) addr: String,

    /// Serve over TLS [default certificate: made for localhost and the host of --addr]
    #[arg(long)]
    pub(crate) tls: bool,

    /// Certificate with its chain (PEM)
    #[arg(long, value_name = "FILE", requires = "tls", requires = "key")]
    pub(crate) cert: Option<PathBuf>,

    /// Private key of --cert (PEM)
    #[arg(long, value_name = "FILE", requires = "cert")]
    pub(crate) key: Option<PathBuf>,

    /// Require client certificates signed by a CA in FILE (PEM)
    #[arg(long, value_name = "FILE", requires = "tls")]
    pub(crate) client_ca: Option<PathBuf>,

    /// auto, uring or epoll; auto is io_uring if the kernel allows it
    #[arg(long, value_name = "ENGINE", default_value = "auto", value_parser = values::engine)]
    pub(crate) engine: EngineChoice,

    /// Features of io_uring to leave out, to see what each is worth: defer-taskrun, coop-taskrun,
    /// submit-all, no-sqarray, registered-ring, abs-timer, no-iowait, direct-descriptors,
    /// batching, multishot, skip-success; several with commas, or all
    #[arg(long, value_name = "FEATURES", value_parser = values::without)]
    pub(crate) without: Vec<Without>,

    /// Worker threads, each pinned to a CPU [default: one per allowed CPU]
    #[arg(short, long, value_name = "N", value_parser = values::small_count)]
    pub(crate) threads: Option<u32>,

    /// Serve in N worker processes, one thread each, that a master restarts and reloads; each has
    /// its own /chat
    #[arg(long, value_name = "N", conflicts_with = "threads", value_parser = values::small_count)]
    pub(crate) processes: Option<u32>,

    /// With --processes: replace a worker that gives no sign of life for TIME, 3s at least; 0s is
    /// never
    #[arg(long, value_name = "TIME", default_value = "10s", value_parser = values::duration,
        requires = "processes")]
    pub(crate) silence: Duration,

    /// With --processes: /health and /metrics of all workers at HOST:PORT
    #[arg(long, value_name = "ADDRESS", requires = "processes")]
    pub(crate) admin: Option<String>,

    /// Threads for /task/N, which all workers share
    #[arg(long, value_name = "N", default_value = "2", value_parser = values::small_count)]
    pub(crate) task_threads: u32,

    /// Requests for /task/N that may wait for a thread; more get 503
    #[arg(long, value_name = "N", default_value = "1024", value_parser = values::small_count)]
    pub(crate) task_queue: u32,

    /// Count requests in /metrics by the values of HEADER, such as X-Colour
    #[arg(long, value_name = "HEADER", conflicts_with = "processes")]
    pub(crate) count_by: Option<CountBy>,

    /// CPUs to pin threads to, such as 0,2-5
    #[arg(long, value_name = "LIST")]
    pub(crate) cpus: Option<String>,

    /// Connections that may wait to be accepted
    #[arg(long, value_name = "N", default_value = "65535", value_parser = values::small_count)]
    pub(crate) backlog: u32,

    /// Connections that each thread serves at once; more wait [default: 1048576; with epoll what
    /// the open-files limit allows]
    #[arg(long, value_name = "N", value_parser = values::small_count)]
    pub(crate) connection_limit: Option<u32>,

    /// Longest request head; longer ones get 431
    #[arg(long, value_name = "SIZE", default_value = "16KiB", value_parser = values::size)]
    pub(crate) head_limit: usize,

    /// Longest request body; longer ones get 413, and longer WebSocket messages close code 1009
    #[arg(long, value_name = "SIZE", default_value = "1MiB", value_parser = values::size)]
    pub(crate) body_limit: usize,

    /// Time limit for receiving a request head; then 408
    #[arg(long, value_name = "TIME", default_value = "10s", value_parser = values::duration)]
    pub(crate) head_timeout: Duration,

    /// Time limit for receiving a body or message, plus a second per 1,000 bytes; then 408
    #[arg(long, value_name = "TIME", default_value = "30s", value_parser = values::duration)]
    pub(crate) body_timeout: Duration,

    /// Memory for bodies, messages and unread answers of all clients; beyond it the heaviest get
    /// 503 or a reset [default: 512MiB, or four bodies per thread]
    #[arg(long, value_name = "SIZE", value_parser = values::size)]
    pub(crate) memory_limit: Option<usize>,

    /// Close a connection that is idle for this long
    #[arg(long, value_name = "TIME", default_value = "75s", value_parser = values::duration)]
    pub(crate) idle_timeout: Duration,

    /// When stopping, let exchanges in flight finish for this long
    #[arg(long, value_name = "TIME", default_value = "10s", value_parser = values::duration)]
    pub(crate) drain_timeout: Duration,
}
