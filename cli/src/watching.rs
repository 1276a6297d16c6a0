//! Who watches a load while it goes on, whichever verb sends it: the progress line, and whatever reads its intervals.

use engine::signal::{Signal, Stop};
use live::terminal::{self as screen, Body, RunBody, Screen};
use live::{Hub, Labels, Lines, Metrics};
use load::{Plan, Progress, Watcher};
use measure::interval::{Interval, LineStyle};
use measure::time::{unix_seconds, utc_stamp};
use measure::units::{wrk_metric, wrk_time_us};

use crate::args::watched::Watched;
use crate::exit::Failure;
use output::progress::Line;
use output::terminal;

/// See the module.
pub(crate) struct Watching {
    line: Line,
    screen: Option<Screen>,
    before: Option<Progress>,
    /// The median and the 99th percentile of the last second, in microseconds.
    last: Option<(f64, f64)>,
    hub: Hub,
    lines: Option<Lines>,
    metrics: Option<Metrics>,
    given: u64,
}

/// What is seen, without secrets.
pub(crate) struct Seen {
    /// What is loaded.
    pub(crate) title: String,
    /// The names of the steps, where there are several.
    pub(crate) steps: Vec<String>,
}

impl Seen {
    /// A run.
    pub(crate) fn of_run(plan: &Plan) -> Seen {
        let names = plan.workload.as_ref().map(|workload| workload.names().0);
        let names = names.unwrap_or_default().into_iter();
        let scrub = |text: &str| plan.redaction.scrub(text).into_owned();
        Seen {
            title: scrub(&plan.target.origin()),
            steps: names.map(|name| scrub(&name)).collect(),
        }
    }
}

impl Watching {
    /// Starts what the arguments ask for.
    pub(crate) fn start(watched: &Watched, seen: Seen, stop: &Stop) -> Result<Watching, Failure> {
        let mut hub = Hub::new();
        let metrics = metrics(watched, &seen, &mut hub)?;
        let style = LineStyle {
            steps: seen.steps.clone(),
            histograms: watched.interval_histograms,
        };
        let lines = (watched.intervals.is_some())
            .then(|| Lines::start(watched.file(), style, hub.reader()));
        let lines = lines.transpose().map_err(Failure::usage)?;
        let line = Line::on_stderr();
        // The last of all, since nothing else can be said from then on.
        let screen = (watched.live && line.is_shown()).then(|| {
            let body = RunBody::new(seen.steps, hub.reader());
            screen_of(seen.title, body, stop)
        });
        Ok(Watching {
            line,
            screen: screen.transpose()?,
            before: None,
            last: None,
            hub,
            lines,
            metrics,
            given: 0,
        })
    }

    /// How far another load is that belongs to this run.
    pub(crate) fn show(&mut self, what: &str, now: &Progress, before: &mut Option<Progress>) {
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

    /// The run is over: what a reader didn't get, and the metrics, which are to be scraped once
    /// more when the report is written.
    pub(crate) fn finish(mut self) -> (Result<(), String>, Option<Metrics>) {
        self.line.clear();
        self.screen = None;
        self.hub.close();
        let written = self.lines.map_or(Ok(()), |lines| lines.finish(self.given));
        (written, self.metrics)
    }
}

impl Watcher for Watching {
    fn progress(&mut self, now: &Progress) {
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
pub(crate) fn give_back() {
    screen::restore();
}

/// A screen on which somebody may ask for the end.
fn screen_of(title: String, body: impl Body, stop: &Stop) -> Result<Screen, Failure> {
    let stop = stop.clone();
    let end = move || stop.request(Signal::Interrupt);
    Screen::start(title, body, end).map_err(Failure::usage)
}

/// A place to scrape from, where one is asked for; says where it is.
fn metrics(watched: &Watched, seen: &Seen, hub: &mut Hub) -> Result<Option<Metrics>, Failure> {
    let Some(address) = watched.metrics else {
        return Ok(None);
    };
    let host = rustix::system::uname();
    let labels = Labels {
        run: (watched.run_name.clone()).unwrap_or_else(|| utc_stamp(unix_seconds())),
        host: host.nodename().to_string_lossy().into_owned(),
        steps: seen.steps.clone(),
    };
    let metrics = Metrics::start(address, labels, hub.reader());
    let metrics = metrics.map_err(|why| Failure::usage(format!("--metrics: {why}")))?;
    let place = metrics.address();
    terminal::say(&format!("metrics are at http://{place}/metrics"));
    Ok(Some(metrics))
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
