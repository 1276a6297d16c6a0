//! Who watches a run while it goes on: the progress line, and whatever reads its intervals.

use std::path::{Path, PathBuf};

use engine::signal::{Signal, Stop};
use live::page::{End, Page};
use live::terminal::{self as screen, Screen, Title};
use live::{Hub, Labels, Lines, Metrics};
use load::{Plan, Progress, Watcher};
use measure::interval::{Interval, LineStyle};
use measure::time::{unix_seconds, utc_stamp};
use measure::units::{wrk_metric, wrk_time_us};

use super::page;
use crate::args::run::{Format, Run};
use crate::args::values::Live;
use crate::exit::Failure;
use output::progress::Line;
use output::terminal;

/// The file name that stands for standard output.
const STDOUT: &str = "-";

/// See the module.
pub(super) struct Watching {
    line: Line,
    screen: Option<Screen>,
    page: Option<Page>,
    before: Option<Progress>,
    /// The median and the 99th percentile of the last second, in microseconds.
    last: Option<(f64, f64)>,
    hub: Hub,
    lines: Option<Lines>,
    metrics: Option<Metrics>,
    given: u64,
}

impl Watching {
    /// Starts what the arguments ask for.
    pub(super) fn start(arguments: &Run, plan: &Plan, stop: &Stop) -> Result<Watching, Failure> {
        let mut hub = Hub::new();
        let steps = names(plan);
        let metrics = arguments.metrics.map(|address| {
            let labels = Labels {
                run: (arguments.run_name.clone()).unwrap_or_else(|| utc_stamp(unix_seconds())),
                host: rustix::system::uname()
                    .nodename()
                    .to_string_lossy()
                    .into_owned(),
                steps: steps.clone(),
            };
            Metrics::start(address, labels, hub.reader())
        });
        let metrics = metrics
            .transpose()
            .map_err(|why| Failure::usage(format!("--metrics: {why}")))?;
        if let Some(metrics) = &metrics {
            terminal::say(&format!(
                "metrics are at http://{}/metrics",
                metrics.address()
            ));
        }
        let style = LineStyle {
            steps: steps.clone(),
            histograms: arguments.interval_histograms,
        };
        let lines = arguments
            .intervals
            .as_deref()
            .map(|path| Lines::start(file(path).as_deref(), style, hub.reader()));
        let lines = lines.transpose().map_err(Failure::usage)?;
        let line = Line::on_stderr();
        let text = plan.redaction.scrub(&plan.target.origin()).into_owned();
        let title = Title { text, steps };
        let page = match arguments.live {
            Some(Live::Page(address)) => Some(page::start(address, &title, hub.reader(), stop)?),
            _ => None,
        };
        // The last of all, since nothing else can be said from then on.
        let is_drawn = arguments.live == Some(Live::Terminal) && line.is_shown();
        let screen = is_drawn.then(|| {
            let stop = stop.clone();
            let end = move || stop.request(Signal::Interrupt);
            Screen::start(title, hub.reader(), end)
        });
        Ok(Watching {
            line,
            screen: screen.transpose().map_err(Failure::usage)?,
            page,
            before: None,
            last: None,
            hub,
            lines,
            metrics,
            given: 0,
        })
    }

    /// How far another load is that belongs to this run.
    pub(super) fn show(
        &mut self,
        what: &'static str,
        now: &Progress,
        before: &mut Option<Progress>,
    ) {
        if let Some(page) = &self.page {
            page::show(page, what, now);
        }
        let text = format!("{what}  {}", progress_text(now, *before));
        self.say(&text);
        *before = Some(*now);
    }

    fn say(&mut self, text: &str) {
        match &self.screen {
            Some(screen) => screen.say(text),
            None => self.line.show(text),
        }
    }

    /// The run is over: what a reader didn't get, and those who may want to know how it ended.
    pub(super) fn finish(mut self) -> (Result<(), String>, Onlookers) {
        self.line.clear();
        self.screen = None;
        self.hub.close();
        let written = self.lines.map_or(Ok(()), |lines| lines.finish(self.given));
        let onlookers = Onlookers {
            metrics: self.metrics,
            page: self.page,
        };
        (written, onlookers)
    }
}

/// Who looks on from elsewhere, and goes when the report is written.
pub(super) struct Onlookers {
    metrics: Option<Metrics>,
    page: Option<Page>,
}

impl Onlookers {
    /// Waits a moment until they know how it ended, or somebody wants it to `stop`.
    pub(super) fn leave(self, end: impl FnOnce() -> End, stop: &Stop) {
        // What ended the run doesn't end this, too.
        let before = stop.requested();
        let is_enough = || stop.requested() != before;
        if let Some(page) = self.page {
            page.finish(end(), is_enough);
        }
        if let Some(metrics) = self.metrics {
            metrics.linger(|| stop.requested().is_some());
        }
    }
}

impl Watcher for Watching {
    fn progress(&mut self, now: &Progress) {
        if let Some(page) = &self.page {
            page::show(page, "", now);
        }
        let mut text = progress_text(now, self.before);
        if let Some((p50_us, p99_us)) = self.last {
            let (p50, p99) = (wrk_time_us(p50_us), wrk_time_us(p99_us));
            text.push_str(&format!("  p50 {p50}  p99 {p99}"));
        }
        self.say(&text);
        self.before = Some(*now);
    }

    fn wants_intervals(&self) -> bool {
        self.line.is_shown() || self.hub.has_readers()
    }

    fn interval(&mut self, interval: Interval) {
        let response = &interval.counted.response;
        let us = |q| response.quantile(q) as f64 / 1000.0;
        self.last = (!response.is_empty()).then(|| (us(0.5), us(0.99)));
        self.given += interval.joined;
        self.hub.give(interval);
    }
}

/// Gives the terminal back where the process ends in the middle of a run.
pub(super) fn give_back() {
    screen::restore();
}

/// What keeps intervals and the report from going where they are to; none where nothing does.
pub(super) fn refusal(arguments: &Run) -> Option<String> {
    let to_stdout = arguments.intervals.as_deref() == Some(Path::new(STDOUT));
    let both = to_stdout && arguments.output.is_none() && arguments.format != Format::Text;
    both.then(|| {
        "--intervals - and the report would both go to standard output; write the report to a file \
         with -o"
            .to_owned()
    })
}

/// Whether standard output is for intervals.
pub(super) fn takes_stdout(arguments: &Run) -> bool {
    arguments.intervals.as_deref() == Some(Path::new(STDOUT))
}

fn file(path: &Path) -> Option<PathBuf> {
    (path != Path::new(STDOUT)).then(|| path.to_path_buf())
}

/// The names of the steps, without secrets.
fn names(plan: &Plan) -> Vec<String> {
    let names = plan.workload.as_ref().map(|workload| workload.names().0);
    let names = names.unwrap_or_default().into_iter();
    names
        .map(|name| plan.redaction.scrub(&name).into_owned())
        .collect()
}

/// How far a run is; its rate is that since the line before.
fn progress_text(now: &Progress, before: Option<Progress>) -> String {
    let elapsed = format!("{:.0}s", now.elapsed_s.floor());
    let time = match now.total_s {
        Some(total) => format!("{elapsed} of {total:.0}s"),
        None => elapsed,
    };
    let (start_s, start) = before.map_or((0.0, 0), |line| (line.elapsed_s, line.completed));
    let seconds = now.elapsed_s - start_s;
    let completed = now.completed.saturating_sub(start);
    let rate = if seconds > 0.0 {
        completed as f64 / seconds
    } else {
        0.0
    };
    format!(
        "{time}  {} connections  {} answers  {} failed  {}/s",
        now.connected,
        now.completed,
        now.failed,
        wrk_metric(rate),
    )
}
