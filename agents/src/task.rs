//! What agents do together, a run or a hold, and what of it is the same in both.

use std::ops::Range;

use fleet::division::Place;
use load::hold;
use load::plan::{Contact, Invalid, Lease, Part, Permits};
use load::protocol::Tls;
use load::{Plan, Redaction};
use measure::time::Time;
use serde::{Deserialize, Serialize};

use crate::beside::Kept;
use crate::rates::peak_rate;

/// See the module.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
#[allow(clippy::large_enum_variant)] // There is one for each run.
pub(crate) enum Load {
    Run(#[serde(with = "Plan")] Plan),
    Hold(#[serde(with = "hold::Plan")] hold::Plan),
}

/// A load that an agent can begin.
#[derive(Debug)]
pub(crate) struct Ready {
    pub(crate) load: Load,
    /// The server that it goes to, if that is the agent's own; it ends with this.
    pub(crate) own: Option<Kept>,
}

impl Load {
    /// Threads of all agents, or of one where nobody has counted them yet.
    pub(crate) fn threads(&self) -> u32 {
        match self {
            Load::Run(plan) => plan.threads,
            Load::Hold(plan) => plan.threads.unwrap_or(1),
        }
    }

    /// The numbers of the agent's workers among them.
    pub(crate) fn workers(&self) -> Range<u32> {
        match self {
            Load::Run(plan) => plan.workers(),
            Load::Hold(plan) => plan.workers(self.threads()),
        }
    }

    /// Has it be the part of an agent at this place.
    ///
    /// # Errors
    /// There can't be such a part.
    pub(crate) fn divide(&mut self, place: &Place, permits: Permits) -> Result<(), Invalid> {
        let part = Some(Part {
            workers: place.numbers(),
            begins: Time::NEVER,
            permits,
            lease: Lease::default(),
        });
        match self {
            Load::Run(plan) => {
                (plan.threads, plan.part) = (place.all(), part);
                plan.validate()
            }
            Load::Hold(plan) => {
                (plan.threads, plan.part) = (Some(place.all()), part);
                plan.validate()
            }
        }
    }

    /// Has its part begin at this time.
    pub(crate) fn begin(&mut self, at: Time) {
        if let Some(part) = self.part_mut() {
            part.begins = at;
        }
    }

    /// Has its part be sent until then, and what others' parts are made of it.
    pub(crate) fn lend(&mut self, lease: Lease) {
        if let Some(part) = self.part_mut() {
            part.lease = lease;
        }
    }

    fn part_mut(&mut self) -> Option<&mut Part> {
        match self {
            Load::Run(plan) => plan.part.as_mut(),
            Load::Hold(plan) => plan.part.as_mut(),
        }
    }

    /// Whom it contacts: someone at least.
    pub(crate) fn contacts(&self) -> Vec<Contact> {
        match self {
            Load::Run(plan) => plan.contacts(),
            Load::Hold(plan) => vec![plan.contact()],
        }
    }

    /// The agent's connections, to all origins.
    pub(crate) fn own_connections(&self) -> u64 {
        match self {
            Load::Run(plan) => u64::from(plan.own_connections()) * plan.origins() as u64,
            Load::Hold(plan) => plan.own_connections().into(),
        }
    }

    /// The CPUs that its workers are pinned to; empty: any.
    pub(crate) fn cpus_mut(&mut self) -> &mut Vec<usize> {
        match self {
            Load::Run(plan) => &mut plan.cpus,
            Load::Hold(plan) => &mut plan.cpus,
        }
    }

    /// See [`Load::cpus_mut`].
    pub(crate) fn cpus(&self) -> &[usize] {
        match self {
            Load::Run(plan) => &plan.cpus,
            Load::Hold(plan) => &plan.cpus,
        }
    }

    /// `auto`, `uring` or `epoll`.
    pub(crate) fn engine(&self) -> &str {
        match self {
            Load::Run(plan) => &plan.engine,
            Load::Hold(plan) => &plan.engine,
        }
    }

    /// What is loaded, as it may be shown.
    pub(crate) fn url(&self) -> String {
        match self {
            Load::Run(plan) => plan.url(),
            Load::Hold(plan) => plan.url(),
        }
    }

    /// How fast all agents together send it, and for how long, for people.
    pub(crate) fn pace(&self) -> String {
        let (rate, length_s) = match self {
            Load::Run(plan) => {
                let rate = peak_rate(&plan.schedule);
                let rate = rate.map(|rate| format!("up to {rate:.1}/s of all agents"));
                let closed = || "each as soon as the one before is answered".to_owned();
                let length_s = plan.schedule.length_s().or(plan.duration_s);
                (rate.unwrap_or_else(closed), length_s)
            }
            Load::Hold(plan) => {
                let opened = format!("opened at {:.1}/s of all agents", plan.open_rate);
                (opened, Some(plan.duration_s))
            }
        };
        match length_s {
            Some(length_s) => format!("{rate}, for {length_s:.1} s"),
            None => format!("{rate}, up to a number of them"),
        }
    }

    /// How its connections are secured, if they are.
    pub(crate) fn tls(&self) -> Option<&Tls> {
        match self {
            Load::Run(plan) => plan.tls.as_ref(),
            Load::Hold(plan) => plan.tls.as_ref(),
        }
    }

    /// The same.
    pub(crate) fn tls_mut(&mut self) -> Option<&mut Tls> {
        match self {
            Load::Run(plan) => plan.tls.as_mut(),
            Load::Hold(plan) => plan.tls.as_mut(),
        }
    }

    /// What is hidden of it.
    pub(crate) fn redaction(&self) -> &Redaction {
        match self {
            Load::Run(plan) => &plan.redaction,
            Load::Hold(plan) => &plan.redaction,
        }
    }

    /// The same.
    pub(crate) fn redaction_mut(&mut self) -> &mut Redaction {
        match self {
            Load::Run(plan) => &mut plan.redaction,
            Load::Hold(plan) => &mut plan.redaction,
        }
    }

    /// Has its redaction know the secrets that it sends.
    pub(crate) fn tell_secrets(&self) {
        match self {
            Load::Run(plan) => plan.tell_secrets(),
            Load::Hold(plan) => plan.tell_secrets(),
        }
    }
}
