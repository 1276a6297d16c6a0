//! A generator that is under way: looked at until it ends, and at the edges of the window.

use std::collections::BTreeSet;
use std::process::ExitStatus;
use std::time::Duration;

use measure::process::{Listing, TreeWatch, Usage, peak_bytes_of};
use measure::time::Time;

use super::{Order, load_s};
use crate::live::Live;
use crate::loading::counter::Counter;
use crate::process::{LOOK_AGAIN, Process, ending};

/// How often it is looked at: seldom, since looking takes time from the core that it stands on.
const LOOK: Duration = Duration::from_millis(100);
/// How often the subject's memory is read in a window.
const MEMORY: Duration = Duration::from_millis(500);
/// How much longer than it was told to a generator may live.
pub(super) const OVERTIME: Duration = Duration::from_secs(10);
/// The most that it may print: what is kept of that is less.
pub(super) const OUTPUT_MAX: u64 = 64 << 20;
/// The part of the window that the question at its edge may take, since what it counts then is not
/// known more exactly than that…
const QUESTION_SHARE: u32 = 100;
/// …but in a very short window not less than this.
const QUESTION_LEAST: Duration = Duration::from_millis(5);

/// Why a run brought nothing.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Mishap {
    /// Somebody asked to stop.
    Stopped,
    /// The server could not be asked.
    Counter(String),
    /// The server took so long to answer at an edge of the window, and may take so long.
    Slow(Duration, Duration),
    /// It ended before the window was over, this long after its start, in this way.
    Ended(Duration, String),
    /// It ended badly when all was over.
    Failed(String),
    /// It did not end.
    Endless,
    /// It printed more than anybody reads.
    Chatty,
    /// It ended, and these were still running.
    LeftBehind(BTreeSet<String>),
    /// It did nothing.
    Idle,
}

/// A run that is under way.
pub(super) struct Run<'a> {
    order: &'a Order<'a>,
    counter: &'a Counter,
    process: &'a mut Process,
    tree: TreeWatch,
    /// Processes whose owner is known, and when they started.
    known: BTreeSet<(u32, u64)>,
    began: Time,
    memory_peak_bytes: Option<u64>,
}

/// What was seen of a run.
pub(super) struct Seen {
    pub(super) opened: Edge,
    pub(super) closed: Edge,
    /// From its start to its end, in seconds.
    pub(super) alive_s: f64,
    /// What it used from its start to its end.
    pub(super) used: Usage,
    pub(super) memory_peak_bytes: Option<u64>,
}

/// One edge of the window.
pub(super) struct Edge {
    pub(super) at: Time,
    /// What the server had counted.
    pub(super) counted: u64,
    /// What the generator had used.
    pub(super) cpu_ns: u64,
}

impl<'a> Run<'a> {
    /// Of a `process` that was started when it `began`, when the `others` were there already.
    pub(super) fn new(
        order: &'a Order<'a>,
        counter: &'a Counter,
        process: &'a mut Process,
        others: &Listing,
        began: Time,
    ) -> Run<'a> {
        Run {
            tree: TreeWatch::new(process.pid()),
            known: others
                .all()
                .iter()
                .map(|one| (one.pid, one.started))
                .collect(),
            order,
            counter,
            process,
            began,
            memory_peak_bytes: None,
        }
    }

    /// Waits for its end, and looks at it and at the subject at the edges of the window.
    pub(super) fn watch(mut self, live: &mut Live) -> Result<Seen, Mishap> {
        let workload = &self.order.row.workload;
        let length = Duration::from_secs(load_s(workload));
        self.wait_until(self.began + workload.settle, &mut || ())?;
        live.watch.window();
        // Half of the time that is left beside the window.
        let spare = (length - workload.settle - workload.window) / 2;
        let opened = self.edge(Time::now() + spare)?;
        let mut look_again = opened.at + MEMORY;
        self.wait_until(opened.at + workload.window, &mut || {
            if Time::now() >= look_again {
                live.watch.window();
                look_again = Time::now() + MEMORY;
            }
        })?;
        let closed = self.edge(Time::now() + spare)?;
        live.watch.close();
        let deadline = self.began + length + OVERTIME;
        let status = loop {
            if let Some(status) = self.look(deadline)? {
                break status;
            }
            if Time::now() >= deadline {
                return Err(Mishap::Endless);
            }
        };
        let alive_s = (Time::now() - self.began).as_secs_f64();
        if !status.success() {
            return Err(Mishap::Failed(ending(status)));
        }
        Ok(Seen {
            opened,
            closed,
            alive_s,
            // It is dead but not reaped yet, so its clock still stands at all that it has used.
            used: self.sample(),
            memory_peak_bytes: self.memory_peak_bytes,
        })
    }

    /// Waits until `until`, by when it must not have ended.
    fn wait_until(&mut self, until: Time, each: &mut dyn FnMut()) -> Result<(), Mishap> {
        while Time::now() < until {
            if let Some(status) = self.look(until)? {
                return Err(self.ended(status));
            }
            each();
        }
        Ok(())
    }

    fn ended(&self, status: ExitStatus) -> Mishap {
        Mishap::Ended(Time::now() - self.began, ending(status))
    }

    /// Waits a moment, at most until `until`; how it ended, if it has.
    fn look(&mut self, until: Time) -> Result<Option<ExitStatus>, Mishap> {
        let left = until - Time::now();
        let status = self.process.wait(left.clamp(LOOK_AGAIN, LOOK));
        if self.order.setting.stop.requested().is_some() {
            return Err(Mishap::Stopped);
        }
        if self.process.log().bytes() > OUTPUT_MAX {
            return Err(Mishap::Chatty);
        }
        if status.is_none() {
            // What it started and has ended is on its parent's account from then on.
            self.sample();
        }
        Ok(status)
    }

    /// What it and all that it started have used until now. Who left its session and lost its
    /// parent is found by its mark.
    fn sample(&mut self) -> Usage {
        let listing = Listing::take();
        for pid in self.process.owned(&listing, &mut self.known) {
            self.tree.adopt(pid, &listing);
        }
        let peak = peak_bytes_of(&self.tree.pids(&listing));
        self.memory_peak_bytes = self.memory_peak_bytes.max(peak);
        self.tree.sample_of(&listing)
    }

    /// Asks the server what it has counted, again if it took too long and there is time until
    /// `until`. The moment is that in the middle of the question.
    fn edge(&mut self, until: Time) -> Result<Edge, Mishap> {
        let limit = (self.order.row.workload.window / QUESTION_SHARE).max(QUESTION_LEAST);
        loop {
            let before = Time::now();
            let counted = self.counter.read().map_err(Mishap::Counter)?;
            let took = Time::now() - before;
            let ended = self.process.exited();
            match ended {
                None if took <= limit => {
                    return Ok(Edge {
                        at: before + took / 2,
                        counted,
                        cpu_ns: self.sample().cpu_ns,
                    });
                }
                // It ended while the server was thinking.
                _ if took > limit && (ended.is_some() || Time::now() >= until) => {
                    return Err(Mishap::Slow(took, limit));
                }
                Some(status) => return Err(self.ended(status)),
                None => {}
            }
        }
    }
}
