//! What a subject used, and what its host did, while a round's window was open.
//!
//! A [`Watch`] reads at the window's edges and twice a second in between (one small file a
//! process), so that it does not disturb what it watches. What a kernel, a container or a
//! permission hides is missing, and [`Watched::missing`] says so in sentences; nothing here fails.
//! What explains a figure rather than being one, such as a flame graph, is made in a round of its
//! own that is never timed (`profile`).
//!
//! Knows nothing of how a load is generated or of what its figures are worth: see
//! [`crate::validity`].

pub mod calls;
pub(crate) mod cgroup;
pub(crate) mod flame;
pub mod host;
pub mod network;
pub(crate) mod pprof;
pub mod scrape;
pub mod subject;

use std::collections::BTreeMap;
use std::fs;
use std::sync::Arc;

use load::Plan;
use measure::process::{Listing, TreeWatch, resident_bytes};
use serde::{Deserialize, Serialize};

use crate::cores::Placement;
use crate::subject::UrlPath;

use self::cgroup::{Group, GroupTime};
use self::host::{Attributed, HostUse};
use self::scrape::{Change, Metrics, Scrape};
use self::subject::SubjectUse;

pub use self::cgroup::GroupUse;

/// What a subject's description says can be seen of it: the section `[watch]`.
#[derive(Clone, Debug, Default, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Wanted {
    /// The path of its own metrics, in the text format of Prometheus over HTTP/1.1.
    #[serde(default)]
    pub metrics: Option<UrlPath>,
    /// The path at which it makes a profile of itself in the format of pprof, for as many seconds
    /// as the query's `seconds` says, such as `/debug/pprof/profile` of Go. `compare --profile`
    /// asks for it.
    #[serde(default)]
    pub profile: Option<UrlPath>,
}

/// What was seen while a round's window was open.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Watched {
    /// The subject's processes.
    pub subject: SubjectUse,
    /// The kernel's own account of them; null where no control group could be made.
    #[serde(default)]
    pub group: Option<GroupUse>,
    /// The host they ran on.
    #[serde(default)]
    pub host: HostUse,
    /// The subject's own metrics that moved, from before the round's load to after it.
    #[serde(default)]
    pub scraped: BTreeMap<String, Change>,
    /// What could not be seen here and why, in sentences.
    #[serde(default)]
    pub missing: Vec<String>,
}

/// Watches one subject from its first load to its end.
#[derive(Debug)]
pub(crate) struct Watch {
    root: u32,
    tree: TreeWatch,
    companions: Vec<(u32, TreeWatch)>,
    group: Option<Arc<Group>>,
    scrape: Option<Scrape>,
    idle_bytes: u64,
    round: Seen,
}

/// What was seen of one round.
#[derive(Debug, Default)]
struct Seen {
    scraped: Option<Result<Metrics, String>>,
    opened: Option<Edge>,
    closed: Option<Edge>,
    /// The subject's processes at the window's beginning.
    pids: Vec<u32>,
    resident_bytes: Vec<u64>,
    /// Open while the connections of the load still were.
    descriptors: Option<u64>,
}

/// One edge of a window.
#[derive(Debug)]
struct Edge {
    subject: subject::Reading,
    companions_ns: u64,
    group: Option<GroupTime>,
    host: host::Reading,
}

impl Watch {
    /// Watches the tree below `root`, which has not been loaded yet. What `companions` use is told
    /// apart from it.
    pub(crate) fn new(root: u32, companions: &[u32], group: Option<Arc<Group>>) -> Watch {
        let listing = Listing::take();
        let companion = |pid: &u32| (*pid, TreeWatch::new(*pid));
        Watch {
            root,
            tree: TreeWatch::new(root),
            companions: companions.iter().map(companion).collect(),
            group,
            scrape: None,
            idle_bytes: resident_bytes(&listing.tree(root)),
            round: Seen::default(),
        }
    }

    /// Asks for the subject's own metrics, too, before and after each round.
    pub(crate) fn scrape(&mut self, metrics: Plan) {
        self.scrape = Some(Scrape::new(metrics));
    }

    /// Processor time of the subject until now.
    pub(crate) fn cpu_ns(&mut self) -> u64 {
        self.tree.sample().cpu_ns
    }

    /// Before a round's load.
    pub(crate) fn before(&mut self) {
        self.round = Seen {
            scraped: self.scrape.as_ref().map(Scrape::fetch),
            ..Seen::default()
        };
    }

    /// In a round's window: the first time at its beginning, then as often as one likes to know
    /// the memory.
    pub(crate) fn window(&mut self) {
        match self.round.opened {
            None => self.open(),
            Some(_) if self.round.closed.is_none() => {
                let bytes = resident_bytes(&self.round.pids);
                self.round.resident_bytes.push(bytes);
            }
            Some(_) => {}
        }
    }

    fn open(&mut self) {
        let listing = Listing::take();
        let pids = listing.tree(self.root);
        reset_memory_peaks(&pids);
        let threads = pids
            .iter()
            .map(|pid| measure::process::threads(*pid).count() as u32);
        let threads = threads.sum();
        self.round.resident_bytes = vec![resident_bytes(&pids)];
        self.round.pids = pids;
        let companions_ns = companions_ns(&mut self.companions, &listing);
        let group = self.group.as_ref().map(|group| group.time());
        let subject = subject::Reading::before(&mut self.tree, &listing, threads);
        self.round.opened = Some(Edge {
            subject,
            companions_ns,
            group,
            host: host::Reading::take(listing),
        });
    }

    /// At the end of a round's window. Later calls do nothing.
    pub(crate) fn close(&mut self) {
        if self.round.opened.is_none() || self.round.closed.is_some() {
            return;
        }
        let listing = Listing::take();
        let subject = subject::Reading::after(&mut self.tree, &listing);
        let group = self.group.as_ref().map(|group| group.time());
        let companions_ns = companions_ns(&mut self.companions, &listing);
        let pids = listing.tree(self.root);
        self.round.descriptors = pids
            .iter()
            .map(|pid| measure::process::descriptors(*pid))
            .sum();
        self.round.closed = Some(Edge {
            subject,
            companions_ns,
            group,
            host: host::Reading::take(listing),
        });
    }

    /// After a round's load over so many `connections`: what was seen.
    pub(crate) fn after(&mut self, connections: u32, placement: &Placement) -> Watched {
        self.close();
        let round = std::mem::take(&mut self.round);
        let (Some(opened), Some(closed)) = (round.opened, round.closed) else {
            return Watched::default();
        };
        let memory = self.tree.memory();
        let pids = closed.host.listing.tree(self.root);
        let group = self.group.as_ref().zip(opened.group.zip(closed.group));
        let resident = *round
            .resident_bytes
            .last()
            .unwrap_or(&0)
            .max(&memory.resident_bytes);
        let mean =
            round.resident_bytes.iter().sum::<u64>() / round.resident_bytes.len().max(1) as u64;
        let mut subject = SubjectUse {
            memory_peak_bytes: (memory.peak_bytes > 0).then_some(memory.peak_bytes),
            memory_mean_bytes: (mean > 0).then_some(mean),
            memory_idle_bytes: (self.idle_bytes > 0).then_some(self.idle_bytes),
            memory_per_connection_bytes: (self.idle_bytes > 0 && connections > 0)
                .then(|| resident.saturating_sub(self.idle_bytes) / u64::from(connections)),
            descriptors: round.descriptors,
            threads_on_generator_cores: subject::threads_on(&pids, &placement.generator_only()),
            companions_ns: closed.companions_ns.saturating_sub(opened.companions_ns),
            ..closed.subject.since(&opened.subject)
        };
        let group = group.map(|(group, (from, to))| group.used(from, to));
        if let Some(group) = &group {
            subject.prefer(group);
        }
        let known = self.known(&round.pids, &pids, &closed.host.listing);
        let attributed = Attributed {
            cpu_ns: subject.cpu_ns + subject.companions_ns,
            pids: &known,
        };
        let host = closed.host.since(&opened.host, attributed);
        let mut missing = missing(&subject, group.as_ref(), &host);
        let scraped = match (round.scraped, &self.scrape) {
            (Some(before), Some(scrape)) => {
                let after = before.and_then(|before| Ok((before, scrape.fetch()?)));
                after.map(|(before, after)| scrape::changes(&before, &after))
            }
            _ => Ok(BTreeMap::new()),
        };
        Watched {
            scraped: scraped.unwrap_or_else(|what| {
                missing.push(what);
                BTreeMap::new()
            }),
            subject,
            group,
            host,
            missing,
        }
    }

    /// Who is no stranger: we, the subject and its companions.
    fn known(&self, opened: &[u32], closed: &[u32], listing: &Listing) -> Vec<u32> {
        let companions = self
            .companions
            .iter()
            .flat_map(|(pid, _)| listing.tree(*pid));
        let mut known = vec![std::process::id()];
        known.extend(opened.iter().chain(closed));
        known.extend(companions);
        known
    }
}

/// Watches the host while something runs that is over when it is looked at, such as a command.
#[derive(Debug)]
pub(crate) struct HostWatch {
    opened: host::Reading,
}

impl HostWatch {
    pub(crate) fn open() -> HostWatch {
        HostWatch {
            opened: host::Reading::take(Listing::take()),
        }
    }

    /// What was seen, where this is known of the `subject`.
    pub(crate) fn close(self, subject: SubjectUse) -> Watched {
        let attributed = Attributed {
            cpu_ns: subject.cpu_ns,
            pids: &[std::process::id()],
        };
        let closed = host::Reading::take(Listing::take());
        let host = closed.since(&self.opened, attributed);
        Watched {
            missing: missing(&subject, None, &host),
            subject,
            host,
            ..Watched::default()
        }
    }
}

fn companions_ns(companions: &mut [(u32, TreeWatch)], listing: &Listing) -> u64 {
    let trees = companions.iter_mut();
    trees.map(|(_, tree)| tree.sample_of(listing).cpu_ns).sum()
}

/// Starts the peak of resident memory anew (proc(5), clear_refs, value 5), so that the peak is one
/// of the window and not of the start. Where it may not be written the peak since the start stands.
fn reset_memory_peaks(pids: &[u32]) {
    for pid in pids {
        let _ = fs::write(format!("/proc/{pid}/clear_refs"), "5");
    }
}

/// What this kernel or container does not show.
fn missing(subject: &SubjectUse, group: Option<&GroupUse>, host: &HostUse) -> Vec<String> {
    let facts = [
        (
            host.busy_ns.is_none(),
            "the host's processor time (/proc/stat)",
        ),
        (
            host.pressure.is_none(),
            "pressure (/proc/pressure/cpu; the kernel wants psi=1)",
        ),
        (
            host.network.tcp.is_empty(),
            "the counters of TCP (/proc/net/snmp)",
        ),
        (
            host.network.softnet_dropped.is_none(),
            "dropped packets (/proc/net/softnet_stat)",
        ),
        (
            group.is_none(),
            "an account of its own by the kernel: no control group could be made",
        ),
        (
            subject.memory_peak_bytes.is_none(),
            "the subject's memory (/proc/PID/status)",
        ),
    ];
    let hidden = facts.iter().filter(|(missing, _)| *missing);
    hidden
        .map(|(_, what)| format!("not seen here: {what}"))
        .collect()
}
