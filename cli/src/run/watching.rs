//! Who watches a run, or the load of a soak: whoever watches any load, and who is sent what was
//! measured.

use engine::signal::Stop;
use live::page::End;
use load::{Progress, Watcher};
use measure::interval::Interval;
use measure::tally::Counted;

use crate::args::export::Export;
use crate::args::watched::Watched;
use crate::export::receiver;
use crate::exported::{Exported, Outcome};
use crate::watching::{self, Seen};
use exit::{Exit, Failure};

/// See the module.
pub(crate) struct Watching {
    all: watching::Watching,
    exported: Option<Exported>,
}

impl Watching {
    /// Starts what the arguments ask for.
    pub(crate) fn start(
        (watched, export): (&Watched, &Export),
        seen: Seen,
        stop: &Stop,
    ) -> Result<Watching, Failure> {
        let (all, exported) = watching::Watching::start(watched, seen, stop, |seen, hub| {
            let receiver = receiver(export)?;
            Exported::start(receiver, watched.run_name.as_deref(), seen, hub)
        })?;
        Ok(Watching { all, exported })
    }

    /// How far it is, from whoever says that for itself.
    pub(crate) fn say(&mut self, text: &str) {
        self.all.say(text);
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
    pub(crate) fn note(&mut self, what: &str) {
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
    pub(crate) fn finish(mut self) -> (Result<(), String>, Onlookers) {
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
pub(crate) struct Onlookers {
    all: watching::Onlookers,
    exported: Option<Exported>,
    /// How many intervals there were.
    given: u64,
}

impl Onlookers {
    /// Sends what is to be sent of the run, of which this came.
    pub(crate) fn export(&mut self, outcome: impl FnOnce() -> Outcome) {
        if let Some(exported) = self.exported.take() {
            exported.finish(self.given, outcome());
        }
    }

    /// Waits a moment until they know how it ended, or somebody wants it to `stop`.
    pub(crate) fn leave(self, end: impl FnOnce() -> End, stop: &Stop) {
        self.all.leave(end, stop);
    }
}
