//! `ringside compare`.

use std::path::PathBuf;
use std::time::Duration;

use clap::Args;

use super::agents::Fleet;
use super::export::Export;
use super::flows::Variables;
use super::network::Network;
use super::secrets::Secrets;
use super::servers::Servers;
use super::tls::Tls;
use super::values::{self, Live};

const NOTES: &str = "\
If a subject's runtime is missing, its row says what to install. Each round is written to the
directory as soon as it's measured. A file with a [sweep] runs one comparison for each value, each
in a directory of its own.

With --start, each command runs in the current directory, with {port} replaced by the port to listen
on (127.0.0.1). It's started once to see what it answers: all have to answer alike. That is checked
again before the load; under load, status and mean length are. Requests/s and CPU time per exchange
are judged, within a minute for two servers.

With --url, servers run already, and go on running: nothing is started or stopped, and the host's
network is used. Their CPU time is judged if the process of each is known: the one that listens on
its port, where you may see that, or --pid. Otherwise, response time is judged instead.

Everything runs in a private network: its ports, congestion control (cubic or reno) and limits
don't depend on the host, and nothing of the host changes. Builds still download. A comparison that
needs a service of the host or the Internet says --host-network, or [network] private = false in
its file. Where private networks aren't allowed, it runs in the host's and says so.

Exit codes: 0 every subject that can run here was measured; 1 no measurements; 2 wrong usage; 3 some
subjects failed, or a file could not be written; 130, 143 stopped by SIGINT or SIGTERM, with a
report of what was measured.";

/// Arguments of `ringside compare`.
#[derive(Debug, Args)]
#[command(after_help = NOTES)]
pub(crate) struct Compare {
    /// The comparison, such as comparisons/hello.toml
    #[arg(
        value_name = "FILE.toml",
        required_unless_present_any = ["start", "url"],
        conflicts_with_all = ["start", "url"]
    )]
    pub(crate) file: Option<PathBuf>,

    #[command(flatten)]
    pub(crate) servers: Servers,

    /// With --start or --url: the path to ask for, where a URL has none [default: /]
    #[arg(long, value_name = "PATH")]
    pub(crate) path: Option<String>,

    /// With --start or --url: send the requests in FILE to each server (.http, or vegeta's
    /// targets); --path is asked for once, to see that it's there. Or have users go through a flow
    /// (.hurl), in which {{base}} is the server
    #[arg(long, value_name = "FILE")]
    pub(crate) targets: Option<PathBuf>,

    /// With --targets: fill in {{variables}} from the columns of FILE, a row each (.csv, .tsv,
    /// .jsonl)
    #[arg(long, value_name = "FILE")]
    pub(crate) data: Option<PathBuf>,

    /// With --start or --url: send the requests in FILE again, with the gaps they had: an access
    /// log, a HAR file, or JSON lines, as ringside run --replay does
    #[arg(long, value_name = "FILE", conflicts_with_all = ["targets", "file"])]
    pub(crate) replay: Option<PathBuf>,

    #[command(flatten)]
    pub(crate) variables: Variables,

    /// Replay N times as fast [default: 1]
    #[arg(long, value_name = "N", value_parser = values::speed, requires = "replay")]
    pub(crate) speed: Option<f64>,

    /// With --start or --url: compare by the events in answers that are streams of them: the first
    /// one, and from each to the next
    #[arg(long)]
    pub(crate) events: bool,

    /// With --start or --url: number of connections [default: 10]
    #[arg(short, long, value_name = "N", value_parser = values::small_count)]
    pub(crate) connections: Option<u32>,

    /// With --start or --url: compare servers even if their answers differ
    #[arg(long)]
    pub(crate) any_answer: bool,

    /// Directory for records and reports [default: a new one in ringside-out]
    #[arg(short, long, value_name = "DIR")]
    pub(crate) output: Option<PathBuf>,

    /// Number of rounds, overriding the file
    #[arg(long, value_name = "N", value_parser = values::small_count)]
    pub(crate) rounds: Option<u32>,

    /// Measured time of each round, overriding the file
    #[arg(long, value_name = "TIME", value_parser = values::duration)]
    pub(crate) duration: Option<Duration>,

    /// Measure the baseline a second time, to see how much equal things differ here [default: if it
    /// doesn't take long]
    #[arg(long, overrides_with = "no_aa")]
    pub(crate) aa: bool,

    /// Don't measure the baseline a second time
    #[arg(long, overrides_with = "aa")]
    pub(crate) no_aa: bool,

    /// Also measure ringside's own server, to see how much the generator can do; figures close to
    /// that are lower bounds [default: if it doesn't take long]
    #[arg(long, overrides_with = "no_ceiling")]
    pub(crate) ceiling: bool,

    /// Don't measure ringside's own server
    #[arg(long, overrides_with = "ceiling")]
    pub(crate) no_ceiling: bool,

    /// Add an untimed round under perf or the subject's own profiler, for flame graphs and system
    /// calls per exchange
    #[arg(long)]
    pub(crate) profile: bool,

    /// Stop as soon as every interval is within ± this, such as 2%; looking early is accounted for
    #[arg(long, value_name = "PERCENT", value_parser = values::percent)]
    pub(crate) precision: Option<f64>,

    /// Stop in time: start no round that would end later than this after the first start
    #[arg(long, value_name = "TIME", value_parser = values::duration)]
    pub(crate) budget: Option<Duration>,

    /// Continue the interrupted comparison in DIR, with the same file and options; nothing is
    /// measured twice. A pack is unpacked beside itself first
    #[arg(long, value_name = "DIR", conflicts_with = "output")]
    pub(crate) resume: Option<PathBuf>,

    /// Test the lab: repeat the comparison N times with fresh processes and count the verdicts
    #[arg(long, value_name = "N", value_parser = values::small_count)]
    #[arg(conflicts_with_all = ["aa_trials", "resume", "url"])]
    pub(crate) trials: Option<u32>,

    /// With --trials: the true ratio to the baseline, to count the intervals that contain it
    #[arg(long, value_name = "RATIO", value_parser = values::ratio, requires = "trials")]
    pub(crate) truth: Option<f64>,

    /// Like --trials, but the baseline against itself: every difference found is wrong
    #[arg(long, value_name = "N", value_parser = values::small_count)]
    #[arg(conflicts_with_all = ["resume", "url"])]
    pub(crate) aa_trials: Option<u32>,

    /// Three short rounds and at most 5 s of a subject's own warm-up, to check that everything
    /// runs
    #[arg(long)]
    pub(crate) quick: bool,

    /// Draw what is found so far in the terminal, between measurements (q ends it, as Ctrl-C does),
    /// or with =ADDR on a page for browsers: PORT or HOST:PORT, on 127.0.0.1 unless HOST says
    /// otherwise
    #[arg(long, value_name = "ADDR", num_args = 0..=1, require_equals = true,
        default_missing_value = values::TERMINAL, value_parser = values::live)]
    pub(crate) live: Option<Live>,

    #[command(flatten)]
    pub(crate) export: Export,

    #[command(flatten)]
    pub(crate) fleet: Fleet,

    #[command(flatten)]
    pub(crate) network: Network,

    #[command(flatten)]
    pub(crate) tls: Tls,

    #[command(flatten)]
    pub(crate) secrets: Secrets,
}
