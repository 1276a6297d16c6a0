//! A current-thread runtime of tokio that hosts a worker, for what handlers use of it.
//!
//! The worker is a task of the runtime. It polls its handlers itself, so they are inside of the
//! runtime's context, and what they wake there (tasks that were spawned, the worker) costs no
//! system call, as a wake of what `block_on` was given would. While the worker is busy, it lets the
//! runtime run from time to time; while it's idle, it waits for a handle of its driver, and so
//! sleeps where the runtime does.

use std::future::Future;
use std::io;
use std::os::fd::OwnedFd;
use std::panic::resume_unwind;
use std::pin::{Pin, pin};
use std::task::{Context, Poll};
use std::time::Duration;

use engine::{Broken, Completions, Driver, Until};
use measure::time::Time;
use tokio::io::Interest;
use tokio::io::unix::AsyncFd;
use tokio::runtime::{Builder, EnterGuard, LocalOptions, LocalRuntime};
use tokio::task::coop::has_budget_remaining;
use tokio::task::yield_now;
use tokio::time::{Sleep, sleep};

use super::queue::Queue;
use service::Turns;

/// The runtime runs at least so often while the worker is busy, whatever it has to do, and what an
/// idle worker waits for by itself before it goes to sleep there.
const TICK_NS: u64 = 1_000_000;

/// The same while any request is under way or any task is alive.
const ACTIVE_TICK_NS: u64 = 50_000;

/// A worker with nothing for its runtime to do sleeps in its driver, which takes one system call,
/// until that was in vain so many times in a row.
const NAPS: u8 = 2;

/// Far enough for a timer that is set when it's needed.
const FAR: Duration = Duration::from_secs(3600);

/// A service whose worker a runtime hosts.
pub(super) trait Guest {
    /// What it's hosted by.
    fn host(&mut self) -> &mut Host;

    /// Which of its tasks want to be polled.
    fn queue(&self) -> &Queue;

    /// How many requests are under way.
    fn requests(&self) -> usize;
}

/// See the module.
#[derive(Debug)]
pub(super) struct Host {
    /// There while it doesn't run, until this is dropped.
    runtime: Option<LocalRuntime>,
    /// Until when what handlers have begun on other threads may take, once the server stops.
    stop_by: Option<Time>,
    /// When the runtime last ran.
    ran: Time,
    /// Turns in a row that had nothing to do.
    quiet: u8,
    /// The next wait may be a nap.
    naps: bool,
}

/// What a worker does next.
enum Next {
    Turn,
    /// Lets the runtime run.
    Yield,
    /// Sleeps where the runtime does.
    Sleep,
}

impl Host {
    /// One for the worker on this thread.
    ///
    /// # Panics
    /// If the kernel refuses the descriptors that a runtime needs.
    pub(super) fn new() -> Host {
        let runtime = Builder::new_current_thread()
            .enable_all()
            .build_local(LocalOptions::default());
        Host {
            runtime: Some(runtime.expect("a runtime has the descriptors it needs")),
            stop_by: None,
            ran: Time(0),
            quiet: 0,
            naps: false,
        }
    }

    /// The server stops, and may take until then.
    pub(super) fn stop_by(&mut self, until: Time) {
        self.stop_by = Some(until);
    }

    /// Whether handlers may go on before the runtime has had its turn: one whose every wait is over
    /// at once would hold its worker otherwise.
    #[inline]
    pub(super) fn budget_is_left() -> bool {
        has_budget_remaining()
    }

    /// The context that a service is made and dropped in.
    pub(super) fn enter(&self) -> Option<EnterGuard<'_>> {
        self.runtime.as_ref().map(LocalRuntime::enter)
    }

    /// What comes after a turn that began at `now`. It's active if there may be anything for the
    /// runtime to do, besides what other threads bring.
    fn next(&mut self, now: Time, is_active: bool, wants_turn: bool) -> Next {
        self.naps = !is_active && self.quiet < NAPS;
        if !Host::budget_is_left() {
            Next::Yield // What handlers have used up, they get anew.
        } else if !wants_turn && !self.naps {
            Next::Sleep
        } else if self.is_due(now, is_active) {
            Next::Yield
        } else {
            Next::Turn
        }
    }

    /// Whether the runtime should run, as it has not for a while.
    fn is_due(&self, now: Time, is_active: bool) -> bool {
        let tick = if is_active { ACTIVE_TICK_NS } else { TICK_NS };
        now.since(self.ran.min(now)) >= tick
    }

    /// Waits as the driver would, but not for long: another thread may bring the runtime something.
    pub(super) fn wait<D: Driver>(
        &mut self,
        driver: &mut D,
        until: Until,
        completions: &mut Completions,
        queue: &Queue,
    ) -> Result<Time, Broken> {
        let latest = match self.naps {
            true => driver.clock().plus(TICK_NS).min(until.time()),
            false => Time(0),
        };
        let now = if latest != Time(0) && queue.fall_asleep() {
            driver.wait(Until::Time(latest), completions)?
        } else {
            driver.wait(Until::Now, completions)?
        };
        queue.wake_up();
        self.quiet = match completions.is_empty() && !queue.has_any() {
            true => self.quiet.saturating_add(1),
            false => 0,
        };
        Ok(now)
    }
}

/// Tasks end at their next wait. Nobody can end what runs on threads of the runtime
/// (`spawn_blocking`): it's waited for as long as the server may take to stop, and then left
/// behind.
impl Drop for Host {
    fn drop(&mut self) {
        let now = Time::now();
        let left_ns = self.stop_by.map_or(0, |until| until.since(now.min(until)));
        if let Some(runtime) = self.runtime.take() {
            runtime.shutdown_timeout(Duration::from_nanos(left_ns));
        }
    }
}

/// Runs a worker inside of its service's runtime, from its first turn to its last.
pub(super) fn run<W>(mut worker: W) -> (W, Result<(), Broken>)
where
    W: Turns + 'static,
    W::Service: Guest,
{
    let Some(runtime) = worker.parts().0.host().runtime.take() else {
        unreachable!("it runs once");
    };
    let mut running = Running(Some(runtime));
    let (mut worker, ran) = running.run(turns(worker));
    worker.parts().0.host().runtime = running.0.take();
    (worker, ran)
}

/// A runtime that hosts a worker. If that panics, what runs on other threads is left behind.
struct Running(Option<LocalRuntime>);

impl Running {
    fn run<T: 'static>(&self, turns: impl Future<Output = T> + 'static) -> T {
        let Some(runtime) = &self.0 else {
            unreachable!("it's taken when it has run");
        };
        match runtime.block_on(runtime.spawn_local(turns)) {
            Ok(ended) => ended,
            Err(failed) => resume_unwind(failed.into_panic()), // Nobody cancels it.
        }
    }
}

impl Drop for Running {
    fn drop(&mut self) {
        if let Some(runtime) = self.0.take() {
            runtime.shutdown_background();
        }
    }
}

async fn turns<W>(mut worker: W) -> (W, Result<(), Broken>)
where
    W: Turns,
    W::Service: Guest,
{
    let ran = go_on(&mut worker).await;
    (worker, ran)
}

async fn go_on<W>(worker: &mut W) -> Result<(), Broken>
where
    W: Turns,
    W::Service: Guest,
{
    let runtime = tokio::runtime::Handle::current();
    let mut completions = Completions::new();
    let mut handle = None;
    let mut timer = pin!(sleep(FAR));
    let mut rings_at = Time::NEVER;
    while !worker.is_done() {
        let until = worker.until();
        let (service, driver) = worker.parts();
        // The worker is a task itself.
        let is_active = service.requests() > 0 || runtime.metrics().num_alive_tasks() > 1;
        let wants_turn = until == Until::Now || service.queue().has_any();
        // A turn may have taken long.
        let now = match is_active {
            true => driver.clock(),
            false => driver.now(),
        };
        let ran = match service.host().next(now, is_active, wants_turn) {
            Next::Turn => false,
            Next::Yield => {
                yield_now().await;
                true
            }
            Next::Sleep => {
                let handle = match &handle {
                    Some(handle) => handle,
                    None => handle.insert(offer(driver)?),
                };
                let latest = driver.doze()?.map(|latest| latest.min(until.time()));
                let asleep = driver.clock();
                if let Some(latest) = latest.filter(|latest| *latest > asleep) {
                    // Deadlines mostly move on: to wake too early is cheaper than to set it anew.
                    if latest < rings_at {
                        timer.set(sleep(Duration::from_nanos(latest.since(asleep))));
                        rings_at = latest;
                    }
                    let queue = service.queue();
                    let parked = Parked {
                        handle,
                        queue,
                        ends: (rings_at != Time::NEVER).then_some(timer.as_mut()),
                        slept: false,
                    };
                    let slept = parked.await.map_err(|error| broken(&error))?;
                    queue.wake_up();
                    if timer.is_elapsed() {
                        rings_at = Time::NEVER;
                    }
                    slept
                } else {
                    let is_due = service.host().is_due(asleep, is_active);
                    if is_due {
                        yield_now().await;
                    }
                    is_due
                }
            }
        };
        if ran {
            let (service, driver) = worker.parts();
            service.host().ran = driver.clock();
        }
        worker.turn(&mut completions)?;
    }
    Ok(())
}

/// Makes the handle of the driver known to the runtime.
#[allow(deprecated)] // What replaces it is unsafe: the descriptor has to stay. It's ours alone.
fn offer<D: Driver>(driver: &mut D) -> Result<AsyncFd<OwnedFd>, Broken> {
    let offer = |handle| AsyncFd::with_interest(handle, Interest::READABLE);
    let handle = driver.wake_handle().and_then(offer);
    handle.map_err(|error| broken(&error))
}

fn broken(error: &io::Error) -> Broken {
    Broken(format!("a worker can't sleep in tokio: {error}"))
}

/// A sleep of the worker in the runtime. Says whether that has run meanwhile.
struct Parked<'a> {
    handle: &'a AsyncFd<OwnedFd>,
    queue: &'a Queue,
    ends: Option<Pin<&'a mut Sleep>>,
    slept: bool,
}

impl Future for Parked<'_> {
    type Output = io::Result<bool>;

    fn poll(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<bool>> {
        if !self.queue.park(context.waker()) {
            return Poll::Ready(Ok(self.slept));
        }
        if let Poll::Ready(ready) = self.handle.poll_read_ready(context) {
            return Poll::Ready(ready.map(|mut ready| {
                ready.clear_ready();
                self.slept
            }));
        }
        if let Some(ends) = &mut self.ends
            && ends.as_mut().poll(context).is_ready()
        {
            return Poll::Ready(Ok(self.slept));
        }
        self.slept = true;
        Poll::Pending
    }
}
