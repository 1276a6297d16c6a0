//! Workers on their threads: each pinned to a CPU, with a driver of its own, and all of them
//! watched until the last has ended. Knows nothing of what they do there.

use std::convert::Infallible;
use std::fmt;
use std::sync::mpsc::{Receiver, Sender, channel};
use std::sync::{Mutex, PoisonError};
use std::thread::{Scope, ScopedJoinHandle};
use std::time::Duration;

use ::tls::{ClientTls, Tls};
use engine::choice::Kind;
use engine::signal::{Signal, Stop};
use engine::{Broken, Config, Driver};
use measure::cpu;
use measure::time::{self, Time};
use probe::tunnel::{Opening, Tunnel};

use crate::gate::Gate;
use probe::LoadError;

/// How long an interrupted load waits for the answers that are on their way.
pub(crate) const INTERRUPT_DRAIN_NS: u64 = 250_000_000;
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

/// Whoever looks after a load while it goes on, on the thread that waits for its workers. Nothing
/// here may take long: signals are looked at in between.
pub(crate) trait Tend {
    /// How far the load is, twice a second.
    fn progress(&mut self, now: &Progress);

    /// Called every 20 ms.
    fn turn(&mut self) {}
}

impl<F: FnMut(&Progress)> Tend for F {
    fn progress(&mut self, now: &Progress) {
        self(now);
    }
}

/// What one worker does, whatever its driver.
pub(crate) trait Job: Send {
    /// What it brings back.
    type Outcome: Send;

    /// How its driver is opened.
    fn config(&self) -> Config;

    /// Does it all, in the driver's thread, and brings back what came of it. What is left to do
    /// after that keeps nobody waiting for the report. Errors only where the driver itself breaks.
    fn carry_out<D: Driver>(
        self,
        driver: D,
        gate: &Gate,
        stop: Stop,
        bring: impl FnOnce(Self::Outcome),
    ) -> Result<(), Broken>;
}

/// What a worker has brought. It waits until the other part is dropped.
struct Brought<O> {
    worker: usize,
    outcome: O,
    kept: Sender<Infallible>,
}

/// The measured window, counted from the beginning of the load.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct Window {
    /// The load doesn't begin before.
    pub begins: Time,
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
    /// How a proxy is asked to lead connections on.
    pub tunnel: Option<&'a Opening>,
    pub window: Window,
    /// Asked once exchanges have failed and none was answered; the reason that it finds ends the
    /// load.
    pub doubt: Option<&'a (dyn Fn() -> Option<LoadError> + Sync)>,
}

impl Crew<'_> {
    /// Starts a worker for each job, waits for what all of them bring, and makes a `report` of it
    /// before any of them goes on to whatever it does last. `stop` ends them early; `tend` is
    /// told how far they are as [`run`](crate::run()) says.
    pub(crate) fn work<J: Job, R>(
        &self,
        jobs: Vec<J>,
        stop: &Stop,
        tend: &mut dyn Tend,
        report: impl FnOnce(Vec<J::Outcome>) -> R,
    ) -> Result<R, LoadError> {
        let gate = Gate::not_before(self.window.begins, jobs.len() as u32);
        // The workers' own wish to end: one that breaks ends this run, not its caller's other ones.
        let ending = Stop::new();
        let watch = Lookout {
            window: self.window,
            stop,
            ending: &ending,
            gate: &gate,
        };
        let doubts = Doubts {
            doubt: self.doubt,
            reason: Mutex::new(None),
            ending: &ending,
        };
        let (sender, brought) = channel();
        std::thread::scope(|scope| {
            // It is dropped where no thread can be had, too, and then nobody waits for the report.
            let brought = brought;
            let start = |(worker, job)| self.start(scope, worker, job, (&gate, &ending), &sender);
            let workers: Result<Vec<_>, LoadError> = (0..).zip(jobs).map(start).collect();
            let workers = workers.inspect_err(|_| ending.request(Signal::Terminate))?;
            let mut outcomes: Vec<_> = workers.iter().map(|_| None).collect();
            let all_ended = || {
                for came in brought.try_iter() {
                    outcomes[came.worker] = Some((came.outcome, came.kept));
                }
                let ended = outcomes.iter().zip(&workers);
                ended
                    .into_iter()
                    .all(|(outcome, worker)| outcome.is_some() || worker.is_finished())
            };
            let mut asked = false;
            let mut look = |(completed, failed, _): (u64, u64, u64)| {
                if completed == 0 && failed > 0 && !asked {
                    asked = true;
                    // The lookout has more to do than to wait for that.
                    scope.spawn(|| doubts.ask());
                }
            };
            watch.until(all_ended, &mut look, tend);
            let (outcomes, kept): (Vec<_>, Vec<_>) = outcomes.into_iter().flatten().unzip();
            if outcomes.len() < workers.len() {
                drop((kept, brought));
                return Err(first_error(workers));
            }
            if let Some(reason) = doubts.reason() {
                drop(kept);
                return Err(reason);
            }
            let reported = report(outcomes);
            drop(kept);
            // What breaks after the report spoils nothing that is in it.
            workers.into_iter().for_each(|worker| drop(worker.join()));
            Ok(reported)
        })
    }

    /// Starts one worker's thread.
    fn start<'scope, J: Job + 'scope>(
        &self,
        scope: &'scope Scope<'scope, '_>,
        worker: usize,
        job: J,
        (gate, ending): (&'scope Gate, &Stop),
        sender: &Sender<Brought<J::Outcome>>,
    ) -> Result<ScopedJoinHandle<'scope, Result<(), LoadError>>, LoadError>
    where
        J::Outcome: 'scope,
    {
        let (stop, sender) = (ending.clone(), sender.clone());
        let (kind, processor) = (self.kind, self.processors[worker]);
        let tls = self.tls.map(ClientTls::separate);
        let over = (tls, self.tunnel.cloned());
        let work = move || {
            let bring = |outcome| hand_over(worker, outcome, &sender);
            let end = begin(kind, processor, over, job, gate, &stop, bring);
            if end.is_err() {
                // The others must not wait for this worker for ever.
                stop.request(Signal::Terminate);
                gate.arrive(Time::now());
            }
            end
        };
        std::thread::Builder::new()
            .name(format!("load-{worker}"))
            .spawn_scoped(scope, work)
            .map_err(|why| LoadError::Limits(format!("can't start a worker thread: {why}")))
    }
}

/// What may be wrong where no exchange is answered.
struct Doubts<'a> {
    doubt: Option<&'a (dyn Fn() -> Option<LoadError> + Sync)>,
    /// What is wrong, once that is known.
    reason: Mutex<Option<LoadError>>,
    ending: &'a Stop,
}

impl Doubts<'_> {
    /// Asks, and has the workers end if there is an answer.
    fn ask(&self) {
        let reason = self.doubt.and_then(|doubt| doubt());
        if reason.is_some() {
            *self.reason.lock().unwrap_or_else(PoisonError::into_inner) = reason;
            self.ending.request(Signal::Terminate);
        }
    }

    fn reason(&self) -> Option<LoadError> {
        let reason = self.reason.lock();
        reason.unwrap_or_else(PoisonError::into_inner).take()
    }
}

/// Gives the main thread an outcome, and comes back when it has made use of it.
fn hand_over<O>(worker: usize, outcome: O, sender: &Sender<Brought<O>>) {
    let (kept, released): (_, Receiver<Infallible>) = channel();
    let brought = Brought {
        worker,
        outcome,
        kept,
    };
    // Where nobody takes it any more, its part that is kept is dropped with it.
    drop(sender.send(brought));
    let Err(_) = released.recv();
}

/// What kept the first of the workers that brought nothing from it.
fn first_error(workers: Vec<ScopedJoinHandle<'_, Result<(), LoadError>>>) -> LoadError {
    let panicked = || {
        LoadError::Engine("a worker panicked; this is a bug in ringside: please report it".into())
    };
    let ends = workers.into_iter().map(|worker| match worker.join() {
        Ok(end) => end,
        Err(_) => Err(panicked()),
    });
    // All are joined, because a scope makes a panic of its own of each that is not.
    let ends: Vec<_> = ends.collect();
    ends.into_iter()
        .find_map(Result::err)
        .unwrap_or_else(panicked)
}

/// One worker's thread.
fn begin<J: Job>(
    kind: Kind,
    processor: usize,
    over: Over,
    job: J,
    gate: &Gate,
    stop: &Stop,
    bring: impl FnOnce(J::Outcome),
) -> Result<(), LoadError> {
    cpu::pin(processor).map_err(|why| LoadError::Limits(why.to_string()))?;
    cpu::sharpen_sleep();
    let mut config = job.config();
    match kind {
        Kind::Uring(without) => {
            config.without = without;
            let driver = engine::uring::rings::open(&config);
            drive(driver, over, job, gate, stop, bring)
        }
        Kind::Epoll => drive(engine::epoll::open(&config), over, job, gate, stop, bring),
    }
}

/// What connections go over, besides their sockets.
type Over = (Option<ClientTls>, Option<Opening>);

fn drive<D: Driver + 'static, J: Job>(
    driver: Result<D, impl fmt::Display>,
    over: Over,
    job: J,
    gate: &Gate,
    stop: &Stop,
    bring: impl FnOnce(J::Outcome),
) -> Result<(), LoadError> {
    let driver = driver.map_err(|why| LoadError::Engine(why.to_string()))?;
    let _registration = stop.register(driver.waker());
    let stop = stop.clone();
    let end = match over {
        (None, None) => job.carry_out(driver, gate, stop, bring),
        (Some(tls), None) => job.carry_out(Tls::client(driver, tls), gate, stop, bring),
        (tls, Some(opening)) => {
            let tunnel = Tunnel::new(Box::new(driver), opening);
            tunnelled(tunnel, tls, job, gate, stop, bring)
        }
    };
    end.map_err(|broken| LoadError::Engine(broken.to_string()))
}

/// The same through a proxy, on whatever driver.
fn tunnelled<J: Job>(
    tunnel: Tunnel,
    tls: Option<ClientTls>,
    job: J,
    gate: &Gate,
    stop: Stop,
    bring: impl FnOnce(J::Outcome),
) -> Result<(), Broken> {
    match tls {
        None => job.carry_out(tunnel, gate, stop, bring),
        Some(tls) => job.carry_out(Tls::client(tunnel, tls), gate, stop, bring),
    }
}

/// The main thread's part while the workers run.
struct Lookout<'a> {
    window: Window,
    stop: &'a Stop,
    ending: &'a Stop,
    gate: &'a Gate,
}

impl Lookout<'_> {
    fn until(
        &self,
        mut finished: impl FnMut() -> bool,
        look: &mut dyn FnMut((u64, u64, u64)),
        tend: &mut dyn Tend,
    ) {
        let mut phase = Phase::WarmUp;
        let mut next = Time::now().plus(PROGRESS_NS);
        let mut knows = false;
        while !finished() {
            let now = Time::now();
            if let Some(signal) = self.stop.requested() {
                // Where a worker doesn't end, this is all that is known of the run.
                if !std::mem::replace(&mut knows, true) {
                    tend.progress(&self.progress(phase, now));
                }
                tend.turn();
                self.ending.request(signal);
                time::sleep_until(now.plus(POLL_NS));
                continue;
            }
            look(self.gate.sums());
            tend.turn();
            let (opens, closes) = self.window();
            let entered = match now {
                now if now >= closes => Phase::Drain,
                now if now >= opens => Phase::Measure,
                _ => Phase::WarmUp,
            };
            if entered != phase || now >= next {
                (phase, next) = (entered, now.plus(PROGRESS_NS));
                tend.progress(&self.progress(phase, now));
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
