//! Who watches a run: whoever watches any load, and who is sent what was measured.

use engine::signal::Stop;
use live::page::End;
use load::{Plan, Progress, Watcher};
use measure::interval::Interval;
use measure::tally::Counted;

use crate::args::run::Run;
use crate::export::receiver;
use crate::exported::{Exported, Outcome};
use crate::watching::{self, Seen};
use exit::{Exit, Failure};

/// See the module.
pub(super) struct Watching {
    all: watching::Watching,
    exported: Option<Exported>,
}

impl Watching {
    /// Starts what the arguments ask for.
    pub(super) fn start(arguments: &Run, plan: &Plan, stop: &Stop) -> Result<Watching, Failure> {
        let asked = (&arguments.watched, arguments.live);
        let (all, exported) =
            watching::Watching::start(asked, Seen::of_run(plan), stop, |seen, hub| {
                let name = arguments.watched.run_name.as_deref();
                let receiver = receiver(&arguments.export)?;
                Exported::start(receiver, name, seen, hub)
            })?;
        Ok(Watching { all, exported })
    }

    /// How far another load is that belongs to this run.
    pub(super) fn show(
        &mut self,
        what: &'static str,
        now: &Progress,
        before: &mut Option<Progress>,
    ) {
        self.all.show(what, now, before);
    }

    /// Something that a user should know now.
    pub(super) fn note(&mut self, what: &str) {
        self.all.note(what);
    }

    /// The run at `origin` failed: tells those who look on why.
    pub(super) fn failed(
        mut self,
        origin: String,
        why: Failure,
        stop: &Stop,
    ) -> Result<Exit, Failure> {
        let (_, onlookers) = self.all.finish();
        if let Some(exported) = self.exported {
            exported.finish(self.all.given(), Outcome::failed("run", origin, &why));
        }
        onlookers.leave_failed("run", why, stop)
    }

    /// The run is over: what a reader didn't get, and those who may want to know how it ended.
    pub(super) fn finish(mut self) -> (Result<(), String>, Onlookers) {
        let (written, all) = self.all.finish();
        let onlookers = Onlookers {
            all,
            exported: self.exported,
            given: self.all.given(),
        };
        (written, onlookers)
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

/// Who looks on from elsewhere, and goes when the report is written.
pub(super) struct Onlookers {
    all: watching::Onlookers,
    exported: Option<Exported>,
    /// How many intervals there were.
    given: u64,
}

impl Onlookers {
    /// Sends what is to be sent of the run, of which this came.
    pub(super) fn export(&mut self, outcome: impl FnOnce() -> Outcome) {
        if let Some(exported) = self.exported.take() {
            exported.finish(self.given, outcome());
        }
    }

    /// Waits a moment until they know how it ended, or somebody wants it to `stop`.
    pub(super) fn leave(self, end: impl FnOnce() -> End, stop: &Stop) {
        self.all.leave(end, stop);
    }
}
