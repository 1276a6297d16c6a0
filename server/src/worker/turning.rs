//! The turns of a worker, by itself or where a service hosts it.

use engine::{Broken, Completions, Driver, Until};
use measure::time::Time;

use super::Worker;
use service::{Service, Summary, Turns};

/// How long a worker that is done gives the kernel to take what it sent last.
const FAREWELL_NS: u64 = 10_000_000;

impl<D: Driver, S: Service> Worker<D, S> {
    /// Serves until the stop is requested and everything begun is finished. Where it has left
    /// connections to the kernel, which may take a while over them, `tell` hears of the end first.
    pub(crate) fn run(self, tell: impl FnOnce(Summary)) -> Result<Summary, Broken>
    where
        Self: 'static,
    {
        let (mut worker, ran) = S::run(self);
        ran?;
        let summary = worker.farewell()?;
        if worker.left > 0 {
            tell(summary.clone());
        }
        Ok(summary)
    }

    /// Nothing is left to do.
    pub(super) fn farewell(&mut self) -> Result<Summary, Broken> {
        debug_assert_eq!(
            self.held_bytes, 0,
            "memory is counted of connections that are gone"
        );
        debug_assert!(
            self.connections.iter().all(Option::is_none),
            "a connection is open that is not counted"
        );
        debug_assert_eq!(
            self.serving.held_bytes(),
            0,
            "the service holds something of clients that are gone"
        );
        self.post();
        let farewell = self.driver.clock().plus(FAREWELL_NS);
        self.driver
            .wait(Until::Time(farewell), &mut Completions::new())?;
        Ok(self.summary())
    }

    /// Handlers that panicked since this was last done.
    fn count_panics(&mut self) {
        let panics = std::mem::take(&mut self.serving.agenda.panics);
        self.serving.counts.panics += panics;
    }

    /// Whether anybody reads how long answers take, from this turn on.
    #[inline]
    fn begin_times(&mut self) {
        let answered = &mut self.serving.answered;
        answered.at_once = 0;
        if !answered.is_read
            && let Some(times) = &self.settings.times
        {
            answered.is_read = times.are_read();
        }
    }

    /// Records how long the answers took that this turn has given, if anybody reads that.
    #[inline]
    fn record_times(&mut self, began: Time) {
        if self.serving.answered.is_read
            && let Some(times) = &self.settings.times
        {
            let ended = self.driver.clock();
            times.record(&mut self.serving.answered, began, ended);
        }
    }

    /// Until when it may sleep, and until `latest` at most.
    fn until(&self, latest: Time) -> Until {
        if self.to_drain.is_some() || self.to_retire.is_some() {
            return Until::Now;
        }
        let due = self.wheel.next_deadline().unwrap_or(Time::NEVER);
        match due.min(latest).min(self.post_at) {
            Time::NEVER => Until::Event,
            due => Until::Time(due),
        }
    }

    /// One turn, which sleeps until `latest` at most.
    pub(crate) fn turn(
        &mut self,
        completions: &mut Completions,
        latest: Time,
    ) -> Result<(), Broken> {
        let until = self.until(latest);
        let service = self.serving.service();
        let now = service.wait(&mut self.driver, until, completions)?;
        self.serving.turn(now);
        self.begin_times();
        for position in 0..completions.len() {
            self.happened(completions.get(position), completions);
        }
        self.ring(now);
        if self.stop.requested().is_some() && !self.serving.draining {
            self.drain();
        }
        if self.stop.is_retiring() && !self.serving.is_ending() {
            self.retire();
        }
        self.drain_some();
        self.retire_some();
        self.serving.collect();
        self.serving.work();
        self.count_panics();
        self.serving.tell_counts();
        self.settle();
        if self.drained_all() {
            self.to_drain = None;
        }
        self.record_times(now);
        self.count_panics(); // Of handlers that were dropped, as their clients left.
        if self.settings.live.is_some() {
            self.look_at_counts(now);
        }
        Ok(())
    }
}

impl<D: Driver, S: Service> Turns for Worker<D, S> {
    type Driver = D;
    type Service = S;

    fn is_done(&self) -> bool {
        Worker::is_done(self)
    }

    fn until(&self) -> Until {
        Worker::until(self, Time::NEVER)
    }

    fn turn(&mut self, completions: &mut Completions) -> Result<(), Broken> {
        Worker::turn(self, completions, Time::NEVER)
    }

    fn parts(&mut self) -> (&mut S, &mut D) {
        (self.serving.service(), &mut self.driver)
    }
}
