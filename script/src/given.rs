//! What the program tells a script, and what a script tells the program.

use std::net::SocketAddr;
use std::path::PathBuf;

/// A script, read, and what it is told of the run.
#[derive(Clone, Debug)]
pub struct Source {
    /// The script's path as given: messages name it, and modules are looked for beside it.
    pub path: PathBuf,
    /// The script's text: LuaJIT's Lua, any bytes.
    pub text: Vec<u8>,
    /// The words behind `--`: `args[1]` and so on of `init(args)`.
    pub args: Vec<String>,
    /// The URL as given: `args[0]`.
    pub url: String,
    /// `wrk.scheme`: `http` or `https`.
    pub scheme: String,
    /// `wrk.host`: a name or an address, IPv6 without brackets.
    pub host: String,
    /// `wrk.port`: absent where the URL names none.
    pub port: Option<u16>,
    /// `wrk.path`, with the query; `/` where the URL has neither.
    pub path_and_query: String,
    /// `wrk.method`: `GET` unless it was given.
    pub method: String,
    /// `wrk.headers`. Of two with the same name the last one stays, as with wrk.
    pub headers: Vec<(String, String)>,
    /// `wrk.body`.
    pub body: Option<Vec<u8>>,
}

/// What `wrk.lookup` and `wrk.connect` ask for. The program answers.
pub trait Network: Send + Sync {
    /// The addresses of a host and a service (`http`, `https` or a port), like getaddrinfo(3) for
    /// `SOCK_STREAM`. An error says why there are none.
    fn lookup(&self, host: &str, service: &str) -> Result<Vec<SocketAddr>, String>;

    /// Whether a connection can be opened; it's closed again.
    fn connect(&self, to: &SocketAddr) -> bool;
}

/// What a script wants of the run. Found after `init` on the first thread, and true for all.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Needs {
    /// The script defines `request`. Otherwise every request is [`crate::Thread::frozen`].
    pub request: bool,
    /// The script defines `response`.
    pub response: bool,
    /// The script defines `delay`.
    pub delay: bool,
    /// The script may call `thread:stop()`: the word is in its text, or it loads further files.
    pub stop: bool,
    /// How many requests one call of `request` returns, at least 1.
    pub per_call: u32,
}

impl Needs {
    /// Whether requests may be asked for before they're due: nothing that the run brings about can
    /// change what `request` returns.
    pub fn may_be_ahead(&self) -> bool {
        self.request && !self.response && !self.delay && !self.stop
    }
}

/// What `done` is told of the run.
#[derive(Clone, Copy, Debug, Default)]
pub struct Summary {
    /// The run's length in microseconds.
    pub duration_us: u64,
    /// Completed requests.
    pub requests: u64,
    /// Bytes received.
    pub bytes: u64,
    /// Connections that couldn't be opened.
    pub connect: u64,
    /// Failures while reading.
    pub read: u64,
    /// Failures while writing.
    pub write: u64,
    /// Responses with a status above 399.
    pub status: u64,
    /// Requests that timed out.
    pub timeout: u64,
}

/// `latency` (microseconds) or `requests` (requests per second and thread) of `done`.
pub trait Distribution {
    /// The smallest value.
    fn min(&self) -> f64;
    /// The largest value.
    fn max(&self) -> f64;
    /// The mean.
    fn mean(&self) -> f64;
    /// The standard deviation.
    fn stdev(&self) -> f64;
    /// The value below or at which `percent` (0 to 100) of all are.
    fn percentile(&self, percent: f64) -> f64;
    /// How many distinct values there are: `#latency`.
    fn len(&self) -> usize;
    /// The distinct value at `index`, from 0 and in rising order, and how often it occurred:
    /// `latency(index + 1)`. `None` behind the last.
    fn nth(&self, index: usize) -> Option<(f64, u64)>;

    /// Whether there are no values.
    fn is_empty(&self) -> bool {
        self.len() == 0
    }
}
