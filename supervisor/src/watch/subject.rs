//! What a subject's processes used while a window was open, and whether they kept to their cores.
//!
//! The figures are those of the whole process tree. Knows nothing of what a subject serves.

use groups::GroupUse;
use measure::process::{self, Listing, Switches, TreeWatch, Usage};
use measure::time::Time;
use rustix::process::Pid;
use rustix::thread::{CpuSet, sched_getaffinity};
use serde::{Deserialize, Serialize};

/// A tree with more threads than this is not asked how often each left its processor: that would
/// take longer than a window's edge may.
const THREADS_ASKED_MAX: u32 = 64;

/// How memory counts a page that several processes have.
#[derive(
    Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, schemars::JsonSchema,
)]
#[serde(rename_all = "snake_case")]
pub enum SharedPages {
    /// In each of them: resident memory (VmRSS).
    #[default]
    Repeated,
    /// Divided among all who have it: proportional memory (Pss).
    Divided,
}

/// What a subject's processes used in a window.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct SubjectUse {
    /// Processor time of the whole process tree in nanoseconds.
    pub cpu_ns: u64,
    /// The part of it in user mode; counted in ticks of 10 ms where there is no control group.
    pub user_ns: u64,
    /// The part of it in the kernel, likewise.
    pub system_ns: u64,
    /// Time that its threads were ready and waited for a processor, in nanoseconds.
    pub wait_ns: u64,
    /// Length of the time it was taken over, in nanoseconds.
    pub wall_ns: u64,
    /// Peak resident memory of the tree in bytes, if it could be read: the sum of each process's
    /// own peak, less what counted more than once in resident memory at the end of the window
    /// (pages beside those of files that are mapped several times). Of several processes it is an
    /// upper bound.
    pub memory_peak_bytes: Option<u64>,
    /// How the figures of memory below count a page that several processes have, or one at several
    /// addresses: divided where there is such and the kernel tells, else repeated.
    pub shared_pages: SharedPages,
    /// Mean memory in bytes, of readings at the edges, and of resident memory also twice a second.
    pub memory_mean_bytes: Option<u64>,
    /// Memory before the first load, in bytes.
    pub memory_idle_bytes: Option<u64>,
    /// What each connection took beyond that, in bytes.
    pub memory_per_connection_bytes: Option<u64>,
    /// Processes at the end of the window.
    pub processes: u32,
    /// Threads at the end of the window.
    pub threads: u32,
    /// How often its threads left a processor because they had nothing to do; null with more than
    /// 64 threads.
    pub voluntary_switches: Option<u64>,
    /// How often because somebody else was to run.
    pub involuntary_switches: Option<u64>,
    /// Descriptors open at the end of the window.
    pub descriptors: Option<u64>,
    /// Threads that may run on the generator's cores.
    pub threads_on_generator_cores: u32,
    /// On how many cores its threads may run, if it ran before it was measured and wasn't given
    /// any.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub own_cores: Option<u32>,
    /// Processor time of its companions in nanoseconds, which is not on its account.
    pub companions_ns: u64,
    /// Processor time of the subjects that should have been idle, as a share of one core.
    pub others_busy: f64,
}

impl SubjectUse {
    /// Whether it ran before and nobody knows its processes, so that what it used isn't known.
    pub fn is_unseen(&self) -> bool {
        self.own_cores.is_some() && self.processes == 0
    }

    /// The kernel's account of a control group also has what lived too short to be seen; the sum
    /// over processes misses nobody who left the group. The larger of the two is nearer to the
    /// truth.
    pub(super) fn prefer(&mut self, group: &GroupUse) {
        self.cpu_ns = self.cpu_ns.max(group.cpu_ns.unwrap_or(0));
        if let (Some(user), Some(system)) = (group.user_ns, group.system_ns)
            && user + system > 0
        {
            // The group's parts, on the scale of the whole.
            let share = user as f64 / (user + system) as f64;
            self.user_ns = (self.cpu_ns as f64 * share) as u64;
            self.system_ns = self.cpu_ns - self.user_ns.min(self.cpu_ns);
        }
    }
}

/// A tree at one moment.
#[derive(Clone, Copy, Debug)]
pub(super) struct Reading {
    pub(super) at: Time,
    pub(super) usage: Usage,
    pub(super) switches: Option<Switches>,
}

impl Reading {
    /// The clocks last, so that they stand next to the window's edge.
    pub(super) fn before(tree: &mut TreeWatch, listing: &Listing, threads: u32) -> Reading {
        let switches = (threads <= THREADS_ASKED_MAX).then(|| tree.switches(listing));
        Reading {
            usage: tree.sample_of(listing),
            at: Time::now(),
            switches,
        }
    }

    /// The clocks first.
    pub(super) fn after(tree: &mut TreeWatch, listing: &Listing) -> Reading {
        let usage = tree.sample_of(listing);
        let at = Time::now();
        let switches = (usage.threads <= THREADS_ASKED_MAX).then(|| tree.switches(listing));
        Reading {
            at,
            usage,
            switches,
        }
    }

    /// What was used from an earlier reading to this one.
    pub(super) fn since(&self, before: &Reading) -> SubjectUse {
        let (now, then) = (&self.usage, &before.usage);
        let switches = self.switches.zip(before.switches);
        let times =
            |of: fn(Switches) -> u64| switches.map(|(now, then)| of(now).saturating_sub(of(then)));
        SubjectUse {
            cpu_ns: now.cpu_ns.saturating_sub(then.cpu_ns),
            user_ns: now.user_ns.saturating_sub(then.user_ns),
            system_ns: now.system_ns.saturating_sub(then.system_ns),
            wait_ns: now.wait_ns.saturating_sub(then.wait_ns),
            wall_ns: self.at.since(before.at),
            processes: now.processes,
            threads: now.threads,
            voluntary_switches: times(|switches| switches.voluntary),
            involuntary_switches: times(|switches| switches.involuntary),
            ..SubjectUse::default()
        }
    }
}

/// How many threads of `pids` may run on one of `cores`.
pub(super) fn threads_on(pids: &[u32], cores: &[usize]) -> u32 {
    let may = |set: &CpuSet| {
        let mut known = cores.iter().filter(|core| **core < CpuSet::MAX_CPU);
        known.any(|core| set.is_set(*core))
    };
    places(pids).filter(may).count() as u32
}

/// On how many cores threads of `pids` may run.
pub(super) fn cores_of(pids: &[u32]) -> u32 {
    let sets: Vec<CpuSet> = places(pids).collect();
    let may = |core: &usize| sets.iter().any(|set| set.is_set(*core));
    (0..CpuSet::MAX_CPU).filter(may).count() as u32
}

/// The cores on which each thread of `pids` may run. One that exited meanwhile runs nowhere.
fn places(pids: &[u32]) -> impl Iterator<Item = CpuSet> {
    let threads = pids.iter().flat_map(|pid| process::threads(*pid));
    let pids = threads.filter_map(|thread| Pid::from_raw(i32::try_from(thread).ok()?));
    pids.filter_map(|pid| sched_getaffinity(Some(pid)).ok())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_thread_that_may_run_on_the_generators_cores_is_found() {
        let set = sched_getaffinity(None).expect("our own");
        let cores: Vec<usize> = (0..CpuSet::MAX_CPU)
            .filter(|core| set.is_set(*core))
            .collect();
        let own = [std::process::id()];
        assert!(threads_on(&own, &cores) >= 1);
        assert_eq!(threads_on(&own, &[]), 0);
        assert_eq!(threads_on(&own, &[CpuSet::MAX_CPU + 1]), 0);
        assert_eq!(threads_on(&[u32::MAX], &cores), 0);
        assert_eq!(cores_of(&own), cores.len() as u32);
        assert_eq!(cores_of(&[]), 0);
    }

    #[test]
    fn what_one_uses_is_the_difference_of_two_readings() {
        let mut tree = TreeWatch::new(std::process::id());
        let before = Reading::before(&mut tree, &Listing::take(), 1);
        let began = Time::now();
        let mut spent = 0u64;
        while Time::now().since(began) < 50_000_000 {
            spent = std::hint::black_box(spent + 1);
        }
        let used = Reading::after(&mut tree, &Listing::take()).since(&before);
        assert!(used.wall_ns >= 50_000_000, "{used:?}");
        assert!(used.cpu_ns >= 10_000_000, "{used:?}");
        assert!(used.processes >= 1 && used.threads >= 1, "{used:?}");
    }
}
