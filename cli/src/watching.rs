//! Who watches a load while it goes on, whichever verb sends it: the progress line, whatever reads
//! its intervals, and those who are told how it ended.

use std::net::SocketAddr;

use engine::signal::Stop;
use live::page::{End, Page, Place, Title};
use live::terminal::{self as screen, Body, HoldBody, RunBody, Screen};
use live::{Course, Hub, Labels, Lines, Metrics, Reader};
use load::{Phase, Plan, Progress, Watcher};
use measure::hold;
use measure::interval::{Interval, LineStyle};
use measure::tally::Counted;
use measure::time::{Time, unix_seconds, utc_stamp};
use measure::units::{wrk_metric, wrk_time_us};
use otlp::{About, Exporter, Receiver};

use crate::args::values::Live;
use crate::args::watched::Watched;
use crate::export::this_host;
use crate::page;
use exit::{Exit, Failure};
use output::progress::Line;
use output::terminal;

/// See the module.
pub(crate) struct Watching<C = Counted> {
    line: Line,
    screen: Option<Screen>,
    /// None where whoever watches is told how far it is.
    tell: Option<Tell>,
    /// The median and the 99th percentile of the last second, in microseconds.
    last: Option<(f64, f64)>,
    hub: Hub<C>,
    lines: Option<Lines>,
    metrics: Option<Metrics>,
    page: Option<Page>,
    given: u64,
}

/// Puts into words how far it is.
type Tell = Box<dyn FnMut(&Progress) -> String>;

/// What is seen, without secrets.
pub(crate) struct Seen {
    /// What is loaded.
    pub(crate) title: String,
    /// The names of the steps, where there are several.
    pub(crate) steps: Vec<String>,
    /// Connections that were asked for.
    asked: u32,
    tell: Option<Tell>,
}

impl Seen {
    /// A run.
    pub(crate) fn of_run(plan: &Plan) -> Seen {
        let names = plan.workload.as_ref().map(|workload| workload.names().0);
        let names = names.unwrap_or_default().into_iter();
        let scrub = |text: &str| plan.redaction.scrub(text).into_owned();
        let mut before = None;
        Seen {
            title: scrub(&plan.target.origin()),
            steps: names.map(|name| scrub(&name)).collect(),
            asked: plan.connections,
            tell: Some(Box::new(move |now| {
                let text = progress_text(now, before);
                before = Some(*now);
                text
            })),
        }
    }

    /// The load of a soak, which is called so, and says for itself how far it is.
    pub(crate) fn of_soak(title: String, plan: &Plan) -> Seen {
        Seen {
            title,
            tell: None,
            ..Seen::of_run(plan)
        }
    }

    /// A hold, which begins now.
    pub(crate) fn of_hold(plan: &load::hold::Plan) -> Seen {
        let (asked, began) = (plan.connections, Time::now());
        Seen {
            title: plan.redaction.scrub(&plan.target.origin()).into_owned(),
            steps: Vec::new(),
            asked,
            tell: Some(Box::new(move |now| {
                let opening_s = (Time::now() - began).as_secs();
                hold_progress_text(now, asked, opening_s)
            })),
        }
    }
}

/// What is counted while somebody watches.
pub(crate) trait Watchable: Course {
    /// Whether the progress line says how long the last second's took.
    const TIMES_IN_LINE: bool;
    /// What its warm-up is called where somebody looks on.
    const WARM_UP: &'static str;

    /// Shows it to whoever scrapes.
    fn metrics(
        at: SocketAddr,
        labels: Labels,
        seen: &Seen,
        reader: Reader<Self>,
    ) -> Result<Metrics, String>;

    /// Sends it to a receiver.
    fn exporter(receiver: Receiver, about: About, reader: Reader<Self>)
    -> Result<Exporter, String>;

    /// How it is drawn.
    fn body(seen: &Seen, reader: Reader<Self>) -> Box<dyn Body>;

    /// Serves a page of it, on which somebody may ask for the end.
    fn page(
        place: Place,
        title: Title,
        reader: Reader<Self>,
        stop: impl Fn() + Send + Sync + 'static,
    ) -> Result<Page, String>;
}

impl Watchable for Counted {
    const TIMES_IN_LINE: bool = true;
    const WARM_UP: &'static str = "warming up";

    fn metrics(
        at: SocketAddr,
        labels: Labels,
        _: &Seen,
        reader: Reader,
    ) -> Result<Metrics, String> {
        Metrics::start(at, labels, reader)
    }

    fn exporter(receiver: Receiver, about: About, reader: Reader) -> Result<Exporter, String> {
        Exporter::start(receiver, about, reader)
    }

    fn body(seen: &Seen, reader: Reader) -> Box<dyn Body> {
        Box::new(RunBody::new(seen.steps.clone(), reader))
    }

    fn page(
        place: Place,
        title: Title,
        reader: Reader,
        stop: impl Fn() + Send + Sync + 'static,
    ) -> Result<Page, String> {
        Page::of_run(place, title, reader, stop)
    }
}

impl Watchable for hold::Counted {
    /// In most seconds of a hold there is little to say.
    const TIMES_IN_LINE: bool = false;
    /// There is none: connections are opened.
    const WARM_UP: &'static str = "";

    fn metrics(
        at: SocketAddr,
        labels: Labels,
        seen: &Seen,
        reader: Reader<Self>,
    ) -> Result<Metrics, String> {
        Metrics::of_hold(at, labels, seen.asked, reader)
    }

    fn exporter(
        receiver: Receiver,
        about: About,
        reader: Reader<Self>,
    ) -> Result<Exporter, String> {
        Exporter::of_hold(receiver, about, reader)
    }

    fn body(seen: &Seen, reader: Reader<Self>) -> Box<dyn Body> {
        Box::new(HoldBody::new(seen.asked, reader))
    }

    fn page(
        place: Place,
        title: Title,
        reader: Reader<Self>,
        stop: impl Fn() + Send + Sync + 'static,
    ) -> Result<Page, String> {
        Page::of_hold(place, title, reader, stop)
    }
}

impl<C: Watchable> Watching<C> {
    /// Starts what the arguments ask for, a screen or a page among it if it's to be `live`, and
    /// `others` who read the same.
    pub(crate) fn start<T>(
        watched: &Watched,
        seen: Seen,
        stop: &Stop,
        others: impl FnOnce(&Seen, &mut Hub<C>) -> Result<T, Failure>,
    ) -> Result<(Watching<C>, T), Failure> {
        let mut hub = Hub::new();
        let metrics = metrics(watched, &seen, &mut hub)?;
        let style = LineStyle {
            steps: seen.steps.clone(),
            histograms: watched.interval_histograms,
        };
        let lines = (watched.intervals.is_some())
            .then(|| Lines::start(watched.file(), style, hub.reader()));
        let lines = lines.transpose().map_err(Failure::usage)?;
        let page = page_of(watched.live, &seen, &mut hub, stop)?;
        let others = others(&seen, &mut hub)?;
        let line = Line::on_stderr();
        let is_drawn = watched.live == Some(Live::Terminal);
        // The last of all, since nothing else can be said from then on.
        let screen = (is_drawn && line.is_shown()).then(|| {
            let body = C::body(&seen, hub.reader());
            screen_of(seen.title.clone(), body, stop)
        });
        let watching = Watching {
            line,
            screen: screen.transpose()?,
            tell: seen.tell,
            last: None,
            hub,
            lines,
            metrics,
            page,
            given: 0,
        };
        Ok((watching, others))
    }

    /// How many intervals there were.
    pub(crate) fn given(&self) -> u64 {
        self.given
    }

    /// How far another load is that belongs to this run.
    pub(crate) fn show(
        &mut self,
        what: &'static str,
        now: &Progress,
        before: &mut Option<Progress>,
    ) {
        if let Some(page) = &self.page {
            page::show(page, what, C::WARM_UP, now);
        }
        let text = format!("{what}  {}", progress_text(now, *before));
        self.say(&text);
        *before = Some(*now);
    }

    /// How far it is, until that is said anew.
    pub(crate) fn say(&mut self, text: &str) {
        match &self.screen {
            Some(screen) => screen.say(text),
            None => self.line.show(text),
        }
    }

    /// Something that a user should know now.
    pub(crate) fn note(&mut self, what: &str) {
        match &self.screen {
            Some(screen) => screen.say(what),
            None => {
                self.line.clear();
                terminal::say(what);
            }
        }
    }

    /// It is over: what a reader didn't get, and those who may want to know how it ended. The
    /// terminal is as it was from here on.
    pub(crate) fn finish(&mut self) -> (Result<(), String>, Onlookers) {
        self.line.clear();
        self.screen = None;
        self.hub.close();
        let lines = self.lines.take();
        let written = lines.map_or(Ok(()), |lines| lines.finish(self.given));
        let onlookers = Onlookers {
            metrics: self.metrics.take(),
            page: self.page.take(),
        };
        (written, onlookers)
    }
}

/// Who looks on from elsewhere, and goes when the report is written.
pub(crate) struct Onlookers {
    /// They are to be scraped once more.
    metrics: Option<Metrics>,
    page: Option<Page>,
}

impl Onlookers {
    /// Tells them that it failed, and why.
    pub(crate) fn leave_failed(
        self,
        noun: &str,
        why: Failure,
        stop: &Stop,
    ) -> Result<Exit, Failure> {
        let outcome = Err(why);
        self.leave(|| page::end_of_all(noun, &outcome, Vec::new()), stop);
        outcome
    }

    /// Waits a moment until they know how it ended, or somebody wants it to `stop`.
    pub(crate) fn leave(self, end: impl FnOnce() -> End, stop: &Stop) {
        if let Some(page) = self.page {
            page::leave(page, end(), stop);
        }
        if let Some(metrics) = self.metrics {
            if metrics.awaits_one() && stop.requested().is_none() {
                terminal::say("waiting for one more scrape of the metrics; Ctrl-C ends that");
            }
            metrics.linger(|| stop.requested().is_some());
        }
    }
}

impl<C: Watchable> Watcher<C> for Watching<C> {
    fn progress(&mut self, now: &Progress) {
        if let Some(page) = &self.page {
            page::show(page, "", C::WARM_UP, now);
        }
        let Some(tell) = &mut self.tell else {
            return;
        };
        let mut text = tell(now);
        if let Some((p50_us, p99_us)) = self.last {
            let (p50, p99) = (wrk_time_us(p50_us), wrk_time_us(p99_us));
            text.push_str(&format!("  p50 {p50}  p99 {p99}"));
        }
        self.say(&text);
    }

    fn wants_intervals(&self) -> bool {
        C::TIMES_IN_LINE && self.line.is_shown() || self.hub.has_readers()
    }

    fn interval(&mut self, interval: Interval<C>) {
        let (_, _, times) = interval.counted.course();
        let us = |q| times.quantile(q) as f64 / 1000.0;
        let is_told = C::TIMES_IN_LINE && !times.is_empty();
        self.last = is_told.then(|| (us(0.5), us(0.99)));
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
    Screen::start(title, body, page::ending(stop)).map_err(Failure::usage)
}

/// A page, where one is asked for; says where it is.
fn page_of<C: Watchable>(
    live: Option<Live>,
    seen: &Seen,
    hub: &mut Hub<C>,
    stop: &Stop,
) -> Result<Option<Page>, Failure> {
    let Some(at) = page::address(live) else {
        return Ok(None);
    };
    let title = Title {
        text: seen.title.clone(),
        steps: seen.steps.clone(),
        asked: seen.asked,
    };
    let page = C::page(page::place(at), title, hub.reader(), page::ending(stop));
    let page = page.map_err(page::refused)?;
    page::announce(page.url());
    Ok(Some(page))
}

/// A place to scrape from, where one is asked for; says where it is.
fn metrics<C: Watchable>(
    watched: &Watched,
    seen: &Seen,
    hub: &mut Hub<C>,
) -> Result<Option<Metrics>, Failure> {
    let Some(address) = watched.metrics else {
        return Ok(None);
    };
    let labels = Labels {
        run: (watched.run_name.clone()).unwrap_or_else(|| utc_stamp(unix_seconds())),
        host: this_host(),
        steps: seen.steps.clone(),
    };
    let metrics = C::metrics(address, labels, seen, hub.reader());
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

/// How far a hold is; `opening_s`: since when connections are being opened, if they still are.
fn hold_progress_text(now: &Progress, asked: u32, opening_s: u64) -> String {
    let beats = format!("{} heartbeats, {} failed", now.completed, now.failed);
    match (now.phase, now.total_s) {
        (Phase::WarmUp, _) => format!(
            "opening for {opening_s}s  {} of {asked} open  {beats}",
            now.connected
        ),
        (_, Some(total)) => format!(
            "{:.0}s of {total:.0}s  {} of {asked} open  {beats}",
            now.elapsed_s.floor(),
            now.connected
        ),
        (_, None) => format!("{} of {asked} open  {beats}", now.connected),
    }
}
