//! A worker without a runtime: it sleeps in its driver.

use engine::{Broken, Completions, Driver, Until};
use measure::time::Time;

use super::queue::Queue;

/// See the module.
#[derive(Debug)]
pub(super) struct Host;

/// That handlers are polled, or dropped.
#[derive(Debug)]
pub(super) struct Entered;

impl Host {
    pub(super) fn new() -> Host {
        Host
    }

    /// There is nothing that could outlive the server.
    pub(super) fn stop_by(&mut self, _: Time) {}

    /// There is no budget.
    #[inline]
    pub(super) fn budget_is_left() -> bool {
        true
    }

    /// There is no context to enter.
    #[inline]
    pub(super) fn enter(&self) -> Entered {
        Entered
    }

    /// Sleeps in the driver, unless a task wants to be polled.
    #[inline]
    pub(super) fn wait<D: Driver>(
        &mut self,
        driver: &mut D,
        until: Until,
        completions: &mut Completions,
        queue: &Queue,
    ) -> Result<Time, Broken> {
        let until = match queue.fall_asleep() {
            true => until,
            false => Until::Now,
        };
        let waited = driver.wait(until, completions);
        queue.wake_up();
        waited
    }
}
