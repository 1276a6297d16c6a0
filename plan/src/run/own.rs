//! What of a plan a process carries out, where several carry it out together.

use std::ops::Range;

use super::Plan;
use crate::part::{self, Lease};
use crate::share::share;
use measure::time::Time;

impl Plan {
    /// The numbers of this process's workers among the threads: all of them, unless it has a part.
    pub fn workers(&self) -> Range<u32> {
        part::workers(self.part.as_ref(), self.threads)
    }

    /// The connections of this process to each origin.
    pub fn own_connections(&self) -> u32 {
        let all = u64::from(self.connections);
        let workers = self.workers();
        let own = workers.map(|worker| share(all, worker, self.threads));
        own.sum::<u64>() as u32
    }

    /// When the load begins, if it's ready by then.
    pub fn begins(&self) -> Time {
        self.part.as_ref().map_or(Time(0), |part| part.begins)
    }

    /// Until when it may be sent.
    pub fn lease(&self) -> Lease {
        let part = self.part.as_ref();
        part.map(|part| part.lease.clone()).unwrap_or_default()
    }
}
