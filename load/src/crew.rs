//! Workers on their threads: each pinned to a CPU, with a driver of its own, and all of them
//! watched until the last has ended. Knows nothing of what they do there.

use std::fmt;
use std::time::Duration;

use engine::choice::Kind;
use engine::signal::{Signal, Stop};
use engine::tls::{ClientTls, Tls};
use engine::{Broken, Config, Driver, cpu};
use measure::time::{self, Time};

use crate::gate::Gate;
use crate::run::RunError;

/// How often `progress` is called.
const PROGRESS_NS: u64 = 500_000_000;
/// How often the main thread looks whether the workers have ended.
const POLL_NS: u64 = 20_000_000;

/// What a run is doing.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Phase {
    /// Opening connections, or sending what is not measured.
    WarmUp,
    /// The measured window is open.
    Measure,
    /// The window is over; answers that are due are still awaited.
    Drain,
}

/// How far a run is, for whoever watches it.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Progress {
    /// What it is doing.
    pub phase: Phase,
    /// Seconds since the load began; zero while connections are being opened.
    pub elapsed_s: f64,
    /// Length of the load with its warm-up, where time ends it.
    pub total_s: Option<f64>,
    /// Connections that stand.
    pub connected: u64,
    /// Exchanges completed in the measured window so far.
    pub completed: u64,
    /// Exchanges that failed in the measured window so far.
    pub failed: u64,
}

/// What one worker does, whatever its driver.
pub(crate) trait Job: Send {
    /// What it brings back.
    type Outcome: Send;

    /// How its driver is opened.
    fn config(&self) -> Config;

    /// Does it all, in the driver's thread. Errors only where the driver itself breaks.
    fn carry_out<D: Driver>(
        self,
        driver: D,
        gate: &Gate,
        stop: Stop,
    ) -> Result<Self::Outcome, Broken>;
}

/// The measured window, counted from the beginning of the load.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct Window {
    pub warm_up_s: f64,
    /// None where time does not end it.
    pub length_s: Option<f64>,
    /// Something else may end it before its time.
    pub may_end_sooner: bool,
}

/// Where workers run, and for how long.
pub(crate) struct Crew<'a> {
    pub kind: Kind,
    /// The CPU of each worker.
    pub processors: &'a [usize],
    /// How connections are secured; each worker has sessions of its own.
    pub tls: Option<&'a ClientTls>,
    pub window: Window,
}

impl Crew<'_> {
    /// Starts a worker for each job and waits for all of them. `stop` ends them early; `progress`
    /// is called as [`run`](crate::run()) says.
    pub(crate) fn work<J: Job>(
        &self,
        jobs: Vec<J>,
        stop: &Stop,
        progress: &mut dyn FnMut(&Progress),
    ) -> Result<Vec<J::Outcome>, RunError> {
        let gate = Gate::new(jobs.len() as u32);
        // The workers' own wish to end: one that breaks ends this run, not its caller's other ones.
        let ending = Stop::new();
        let watch = Watch {
            window: self.window,
            stop,
            ending: &ending,
            gate: &gate,
        };
        std::thread::scope(|scope| {
            let workers: Result<Vec<_>, RunError> = (0..)
                .zip(jobs)
                .map(|(worker, job)| {
                    let (gate, stop) = (&gate, ending.clone());
                    let (kind, processor) = (self.kind, self.processors[worker]);
                    let tls = self.tls.map(ClientTls::separate);
                    std::thread::Builder::new()
                        .name(format!("load-{worker}"))
                        .spawn_scoped(scope, move || {
                            let outcome = begin(kind, processor, tls, job, gate, stop.clone());
                            if outcome.is_err() {
                                // The others must not wait for this worker for ever.
                                stop.request(Signal::Terminate);
                                gate.arrive(Time::now());
                            }
                            outcome
                        })
                        .map_err(|why| RunError::Limits(format!("no thread for a worker: {why}")))
                })
                .collect();
            let workers = workers.inspect_err(|_| ending.request(Signal::Terminate))?;
            watch.until(
                || workers.iter().all(|worker| worker.is_finished()),
                progress,
            );
            let joined = workers.into_iter().map(|worker| {
                worker
                    .join()
                    .unwrap_or_else(|_| Err(RunError::Engine("a worker panicked: a bug".into())))
            });
            joined.collect()
        })
    }
}

/// One worker's thread.
fn begin<J: Job>(
    kind: Kind,
    processor: usize,
    tls: Option<ClientTls>,
    job: J,
    gate: &Gate,
    stop: Stop,
) -> Result<J::Outcome, RunError> {
    cpu::pin(processor).map_err(|why| RunError::Limits(why.to_string()))?;
    cpu::sharpen_sleep();
    let config = job.config();
    match kind {
        Kind::Uring => drive(engine::uring::open(&config), tls, job, gate, stop),
        Kind::Epoll => drive(engine::epoll::open(&config), tls, job, gate, stop),
    }
}

fn drive<D: Driver, J: Job>(
    driver: Result<D, impl fmt::Display>,
    tls: Option<ClientTls>,
    job: J,
    gate: &Gate,
    stop: Stop,
) -> Result<J::Outcome, RunError> {
    let driver = driver.map_err(|why| RunError::Engine(why.to_string()))?;
    let _registration = stop.register(driver.waker());
    let outcome = match tls {
        None => job.carry_out(driver, gate, stop),
        Some(tls) => job.carry_out(Tls::client(driver, tls), gate, stop),
    };
    outcome.map_err(|broken| RunError::Engine(broken.to_string()))
}

/// The main thread's part while the workers run.
struct Watch<'a> {
    window: Window,
    stop: &'a Stop,
    ending: &'a Stop,
    gate: &'a Gate,
}

impl Watch<'_> {
    fn until(&self, finished: impl Fn() -> bool, progress: &mut dyn FnMut(&Progress)) {
        let mut phase = Phase::WarmUp;
        let mut next = Time::now().plus(PROGRESS_NS);
        while !finished() {
            let now = Time::now();
            if let Some(signal) = self.stop.requested() {
                self.ending.request(signal);
                time::sleep_until(now.plus(POLL_NS));
                continue;
            }
            let (opens, closes) = self.window();
            let entered = match now {
                now if now >= closes => Phase::Drain,
                now if now >= opens => Phase::Measure,
                _ => Phase::WarmUp,
            };
            if entered != phase || now >= next {
                (phase, next) = (entered, now.plus(PROGRESS_NS));
                progress(&self.progress(phase, now));
            }
            let edge = if phase == Phase::WarmUp {
                opens
            } else {
                closes
            };
            let poll = Time::now().plus(POLL_NS);
            time::sleep_until(if phase == Phase::Drain {
                poll
            } else {
                poll.min(edge)
            });
        }
    }

    /// When the measured window opens and closes, as far as that is known.
    fn window(&self) -> (Time, Time) {
        let after = |time: Time, seconds: Option<f64>| match (time, seconds) {
            (Time::NEVER, _) | (_, None) => Time::NEVER,
            (time, Some(seconds)) => time + Duration::from_secs_f64(seconds),
        };
        let start = self.gate.start().unwrap_or(Time::NEVER);
        let opens = after(start, Some(self.window.warm_up_s));
        (opens, after(opens, self.window.length_s))
    }

    fn progress(&self, phase: Phase, now: Time) -> Progress {
        let total_s = self
            .window
            .length_s
            .filter(|_| !self.window.may_end_sooner)
            .map(|seconds| seconds + self.window.warm_up_s);
        let (completed, failed, connected) = self.gate.sums();
        let elapsed_s = (now - self.gate.start().unwrap_or(now)).as_secs_f64();
        Progress {
            phase,
            elapsed_s,
            total_s,
            connected,
            completed,
            failed,
        }
    }
}
