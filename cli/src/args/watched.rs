//! How a load is watched while it goes on: shared by the verbs that send one.

use std::net::SocketAddr;
use std::path::{Path, PathBuf};

use clap::Args;

use super::values::{self, Live};

const OUTPUT: &str = "Output";

/// The file name that stands for standard output.
const STDOUT: &str = "-";

/// Arguments of whoever watches.
#[derive(Clone, Debug, Default, Args)]
pub(crate) struct Watched {
    /// Draw what goes on over time in the terminal (q ends it, as Ctrl-C does), or with =ADDR on a
    /// page for browsers: PORT or HOST:PORT, on 127.0.0.1 unless HOST says otherwise
    #[arg(long, value_name = "ADDR", num_args = 0..=1, require_equals = true,
        default_missing_value = values::TERMINAL, value_parser = values::live,
        help_heading = OUTPUT)]
    pub(crate) live: Option<Live>,

    /// Write what each second brought to FILE, a line of JSON each, as it goes on; - is standard
    /// output, and the report then goes to standard error
    #[arg(long, value_name = "FILE", help_heading = OUTPUT)]
    pub(crate) intervals: Option<PathBuf>,

    /// With --intervals: add whole histograms (HdrHistogram V2, base64)
    #[arg(long, requires = "intervals", help_heading = OUTPUT)]
    pub(crate) interval_histograms: bool,

    /// Serve Prometheus metrics at http://ADDR/metrics; afterwards, wait for one more scrape, a
    /// minute at most
    #[arg(long, value_name = "ADDR", value_parser = values::address, help_heading = OUTPUT)]
    pub(crate) metrics: Option<SocketAddr>,

    /// The value of the label `run` in metrics [default: the start time]
    #[arg(long, value_name = "NAME", requires = "watchers", help_heading = OUTPUT)]
    pub(crate) run_name: Option<String>,
}

impl Watched {
    /// Whether standard output is for intervals.
    pub(crate) fn takes_stdout(&self) -> bool {
        self.intervals.as_deref() == Some(Path::new(STDOUT))
    }

    /// What keeps intervals and a report that `is_data` from going where they are to; none where
    /// nothing does.
    pub(crate) fn refusal(&self, is_data: bool, output: Option<&Path>) -> Option<String> {
        if output.is_some() && self.file() == output {
            return Some(
                "--intervals and -o name the same file, and the report would take the place of \
                 the intervals; name two"
                    .to_owned(),
            );
        }
        (self.takes_stdout() && output.is_none() && is_data).then(|| {
            "--intervals - and the report would both go to standard output; write the report to a \
             file with -o"
                .to_owned()
        })
    }

    /// The file that intervals go to; none is standard output.
    pub(crate) fn file(&self) -> Option<&Path> {
        self.intervals.as_deref().filter(|_| !self.takes_stdout())
    }
}
