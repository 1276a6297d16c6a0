//! What the host did to the generator while the measured window was open: read at its edges, by the
//! thread that watches the workers.

use measure::host::{Ticks, ticks};
use measure::quota::Groups;

use crate::crew::Phase;

/// What the host took from the generator in the window; none where it does not show it.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub(crate) struct Disturbance {
    /// The share of the host's processor time that a hypervisor gave to others.
    pub steal_share: Option<f64>,
    /// Nanoseconds for which quotas stopped this process's control groups, summed over processors.
    pub throttled_ns: Option<u64>,
}

/// Reads at the edges of a window.
#[derive(Debug)]
pub(crate) struct Surroundings {
    groups: Groups,
    opened: Option<Reading>,
    closed: Option<Reading>,
}

#[derive(Clone, Copy, Debug)]
struct Reading {
    ticks: Option<Ticks>,
    throttled_ns: Option<u64>,
}

impl Surroundings {
    pub(crate) fn new() -> Surroundings {
        Surroundings {
            groups: Groups::own(),
            opened: None,
            closed: None,
        }
    }

    /// The run is in this phase.
    pub(crate) fn see(&mut self, phase: Phase) {
        match phase {
            Phase::Measure if self.opened.is_none() => self.opened = Some(self.read()),
            Phase::Drain if self.closed.is_none() => self.closed = Some(self.read()),
            _ => {}
        }
    }

    /// The run is over.
    pub(crate) fn disturbance(self) -> Disturbance {
        let Some(opened) = self.opened else {
            return Disturbance::default();
        };
        let closed = self.closed.unwrap_or_else(|| self.read());
        let ticks = opened.ticks.zip(closed.ticks);
        let throttled = opened.throttled_ns.zip(closed.throttled_ns);
        Disturbance {
            steal_share: ticks.and_then(|(from, to)| to.steal_share_since(from)),
            throttled_ns: throttled.map(|(from, to)| to.saturating_sub(from)),
        }
    }

    fn read(&self) -> Reading {
        Reading {
            ticks: ticks(),
            throttled_ns: self.groups.throttled_ns(),
        }
    }
}
