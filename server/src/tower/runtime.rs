//! A current-thread runtime of tokio beside the driver of a worker, for what handlers use of it.
//!
//! Handlers are polled by the worker, inside of the runtime's context. What they wait for (timers,
//! sockets, tasks that were spawned) is driven here: while the worker is busy, once a turn if any
//! request is under way or any task is alive, else each millisecond; while it's idle, the worker
//! sleeps inside of the runtime, on a handle of its driver.

use std::future::Future;
use std::io;
use std::os::fd::OwnedFd;
use std::pin::{Pin, pin};
use std::task::{Context, Poll};
use std::time::Duration;

use engine::{Broken, Completions, Driver, Until};
use measure::time::Time;
use tokio::io::Interest;
use tokio::io::unix::AsyncFd;
use tokio::runtime::{Builder, EnterGuard, Runtime};
use tokio::time::{Sleep, sleep};

use super::queue::Queue;

/// The runtime runs at least so often while the worker is busy, whatever it has to do, and what an
/// idle worker waits for by itself before it goes to sleep there.
const TICK_NS: u64 = 1_000_000;

/// A worker with nothing for its runtime to do sleeps in its driver, which takes one system call,
/// until that was in vain so many times in a row.
const NAPS: u8 = 2;

/// See the module.
#[derive(Debug)]
pub(super) struct Host {
    /// There until this is dropped.
    runtime: Option<Runtime>,
    /// Until when what handlers have begun on other threads may take, once the server stops.
    stop_by: Option<Time>,
    /// Readable when the driver has something; made when it's first slept on.
    handle: Option<AsyncFd<OwnedFd>>,
    /// When the runtime last ran.
    ran: Time,
    /// Turns in a row that had nothing to do.
    quiet: u8,
}

impl Host {
    /// One for the worker on this thread.
    ///
    /// # Panics
    /// If the kernel refuses the descriptors that a runtime needs.
    pub(super) fn new() -> Host {
        let runtime = Builder::new_current_thread().enable_all().build();
        Host {
            runtime: Some(runtime.expect("a runtime has the descriptors it needs")),
            stop_by: None,
            handle: None,
            ran: Time(0),
            quiet: 0,
        }
    }

    #[inline]
    fn runtime(&self) -> &Runtime {
        match &self.runtime {
            Some(runtime) => runtime,
            None => unreachable!("only dropping takes it"),
        }
    }

    /// The server stops, and may take until then.
    pub(super) fn stop_by(&mut self, until: Time) {
        self.stop_by = Some(until);
    }

    /// The context that handlers are polled in.
    #[inline]
    pub(super) fn enter(&self) -> EnterGuard<'_> {
        self.runtime().enter()
    }

    /// Whether there may be anything for the runtime to do, besides what other threads bring.
    fn is_active(&self, requests: usize) -> bool {
        requests > 0 || self.runtime().metrics().num_alive_tasks() > 0
    }

    /// Has the runtime run if it's time, in the turn of `now`, with so many requests under way.
    #[inline]
    pub(super) fn tick(&mut self, now: Time, requests: usize) {
        if now.since(self.ran.min(now)) >= TICK_NS || self.is_active(requests) {
            self.ran = now;
            self.runtime().block_on(tokio::task::yield_now());
        }
    }

    /// Sleeps as the driver would, and lets the runtime run meanwhile.
    ///
    /// Each call waits in the driver once: a wake ends such a wait with nothing to report, and its
    /// worker has to see what it was for.
    pub(super) fn wait<D: Driver>(
        &mut self,
        driver: &mut D,
        until: Until,
        completions: &mut Completions,
        (queue, requests): (&Queue, usize),
    ) -> Result<Time, Broken> {
        let now = if until == Until::Now || queue.has_any() {
            driver.wait(Until::Now, completions)?
        } else if self.is_active(requests) {
            // A sleep in the runtime costs several system calls, so first see what is there.
            match self.quiet {
                0 => driver.wait(Until::Now, completions)?,
                _ => self.sleep(driver, until, completions, queue)?,
            }
        } else if self.quiet < NAPS {
            self.nap(driver, until, completions, queue)?
        } else {
            self.sleep(driver, until, completions, queue)?
        };
        let busy = !completions.is_empty() || queue.has_any();
        self.quiet = if busy {
            0
        } else {
            self.quiet.saturating_add(1)
        };
        Ok(now)
    }

    /// Sleeps in the runtime, and then looks what the driver has.
    fn sleep<D: Driver>(
        &mut self,
        driver: &mut D,
        until: Until,
        completions: &mut Completions,
        queue: &Queue,
    ) -> Result<Time, Broken> {
        self.offer_handle(driver)?; // Or it couldn't doze.
        if let Some(latest) = driver.doze()? {
            self.park(driver, latest.min(time(until)), queue)?;
        }
        driver.wait(Until::Now, completions)
    }

    /// Sleeps in the driver, but not for long: another thread may bring the runtime something.
    fn nap<D: Driver>(
        &self,
        driver: &mut D,
        until: Until,
        completions: &mut Completions,
        queue: &Queue,
    ) -> Result<Time, Broken> {
        let latest = driver.clock().plus(TICK_NS).min(time(until));
        let until = match queue.fall_asleep() {
            true => Until::Time(latest),
            false => Until::Now,
        };
        let waited = driver.wait(until, completions);
        queue.wake_up();
        waited
    }

    /// Makes the handle of the driver known to the runtime, once.
    #[allow(deprecated)] // What replaces it is unsafe: the descriptor has to stay. It's ours alone.
    fn offer_handle<D: Driver>(&mut self, driver: &mut D) -> Result<(), Broken> {
        if self.handle.is_some() {
            return Ok(());
        }
        let _context = self.runtime().enter();
        let offer = |handle| AsyncFd::with_interest(handle, Interest::READABLE);
        let handle = driver.wake_handle().and_then(offer);
        self.handle = Some(handle.map_err(|error| broken(&error))?);
        Ok(())
    }

    /// Sleeps in the runtime until the driver has something, a task of the worker was woken, or
    /// `latest`.
    fn park<D: Driver>(
        &mut self,
        driver: &mut D,
        latest: Time,
        queue: &Queue,
    ) -> Result<(), Broken> {
        let _context = self.runtime().enter();
        let length = Duration::from_nanos(latest.since(driver.clock().min(latest)));
        let ends = (latest != Time::NEVER).then(|| sleep(length));
        let ends = pin!(ends);
        if let Some(handle) = &self.handle {
            let parked = self.runtime().block_on(Parked {
                handle,
                queue,
                ends,
            });
            parked.map_err(|error| broken(&error))?;
        }
        queue.wake_up();
        self.ran = driver.clock();
        Ok(())
    }
}

/// Tasks end at their next wait. Nobody can end what runs on threads of the runtime
/// (`spawn_blocking`): it's waited for as long as the server may take to stop, and then left
/// behind.
impl Drop for Host {
    fn drop(&mut self) {
        self.handle = None; // It's known to the runtime.
        let now = Time::now();
        let left_ns = self.stop_by.map_or(0, |until| until.since(now.min(until)));
        if let Some(runtime) = self.runtime.take() {
            runtime.shutdown_timeout(Duration::from_nanos(left_ns));
        }
    }
}

fn broken(error: &io::Error) -> Broken {
    Broken(format!("a worker can't sleep in tokio: {error}"))
}

/// When a sleep ends at the latest.
fn time(until: Until) -> Time {
    match until {
        Until::Now => Time(0),
        Until::Time(time) => time,
        Until::Event => Time::NEVER,
    }
}

/// A sleep of the worker in the runtime.
struct Parked<'a> {
    handle: &'a AsyncFd<OwnedFd>,
    queue: &'a Queue,
    ends: Pin<&'a mut Option<Sleep>>,
}

impl Future for Parked<'_> {
    type Output = io::Result<()>;

    fn poll(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        if !self.queue.park(context.waker()) {
            return Poll::Ready(Ok(()));
        }
        if let Poll::Ready(ready) = self.handle.poll_read_ready(context) {
            return Poll::Ready(ready.map(|mut ready| ready.clear_ready()));
        }
        if let Some(ends) = self.ends.as_mut().as_pin_mut() {
            return ends.poll(context).map(Ok);
        }
        Poll::Pending
    }
}
