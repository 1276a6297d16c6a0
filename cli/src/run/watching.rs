//! Who watches a run: whoever watches any load, and who is told how it ended, too.

use engine::signal::Stop;
use live::Metrics;
use load::{Plan, Progress, Record, Watcher};
use measure::interval::Interval;
use measure::tally::Counted;

use super::exported::Exported;
use crate::args::run::Run;
use crate::exit::{Exit, Failure};
use crate::watching::{self, Seen};

/// See the module.
pub(super) struct Watching {
    all: watching::Watching,
    exported: Option<Exported>,
}

impl Watching {
    /// Starts what the arguments ask for.
    pub(super) fn start(arguments: &Run, plan: &Plan, stop: &Stop) -> Result<Watching, Failure> {
        let watched = &arguments.watched;
        let (all, exported) =
            watching::Watching::start(watched, Seen::of_run(plan), stop, |seen, hub| {
                Exported::start(arguments, seen, hub)
            })?;
        Ok(Watching { all, exported })
    }

    /// How far another load is that belongs to this run.
    pub(super) fn show(&mut self, what: &str, now: &Progress, before: &mut Option<Progress>) {
        self.all.show(what, now, before);
    }

    /// The run is over: what a reader didn't get, and those who aren't done before the report is
    /// written.
    pub(super) fn finish(mut self) -> (Result<(), String>, Lasting) {
        let (written, metrics) = self.all.finish();
        let lasting = Lasting {
            metrics,
            exported: self.exported,
            given: self.all.given(),
        };
        (written, lasting)
    }
}

impl Watcher for Watching {
    fn progress(&mut self, now: &Progress) {
        self.all.progress(now);
    }

    fn wants_intervals(&self) -> bool {
        self.all.wants_intervals()
    }

    fn interval(&mut self, interval: Interval<Counted>) {
        self.all.interval(interval);
    }
}

/// Who still has something to do when the run is over.
pub(super) struct Lasting {
    metrics: Option<Metrics>,
    exported: Option<Exported>,
    /// How many intervals there were.
    given: u64,
}

impl Lasting {
    /// Sends what is to be sent of the run that loaded `origin`.
    pub(super) fn export(&mut self, origin: &str, record: &Record, end: (Exit, Option<String>)) {
        if let Some(exported) = self.exported.take() {
            exported.finish(self.given, origin, record, end);
        }
    }

    /// Waits a moment until they know how it ended, or somebody wants it to `stop`.
    pub(super) fn leave(self, stop: &Stop) {
        if let Some(metrics) = self.metrics {
            metrics.linger(|| stop.requested().is_some());
        }
    }
}
