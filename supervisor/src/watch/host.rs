//! What the host did meanwhile, whoever it was for: processor time by whom, time taken by the
//! hypervisor, pressure, and who used processors beside those that were meant to.
//!
//! A parser of /proc/pressure (Documentation/accounting/psi.rst). Time in /proc/stat, which measure
//! reads, is counted in ticks of 10 ms: over a second a figure is 1 % of a processor off. Busy is
//! what was not idle, since idle time is measured while the rest is sampled at the ticks.

use std::collections::BTreeMap;
use std::fs;
use std::path::Path;
use std::time::Duration;

use measure::host::{Ticks, ticks};
use measure::process::Listing;
use measure::quota::{Groups, Quota, value};
use measure::time::{Time, sleep_until};
use serde::{Deserialize, Serialize};

use super::network::{self, Network, NetworkUse};

/// So many of those who used a processor besides are named.
const OTHERS_NAMED_MAX: usize = 5;
/// Who used less of a processor than this is not worth a name.
const OTHERS_SHARE_MIN: f64 = 0.01;

/// What a host did while a window was open.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct HostUse {
    /// Length of the time it was taken over, in nanoseconds.
    pub wall_ns: u64,
    /// Time that its processors were not idle, all together, in nanoseconds.
    pub busy_ns: Option<u64>,
    /// Time that a hypervisor ran something else instead, likewise.
    pub steal_ns: Option<u64>,
    /// Time in interrupts and in what they put off; part of the busy time. Most kernels put the
    /// greater part of it on the account of whoever was interrupted.
    pub interrupt_ns: Option<u64>,
    /// Time of the program that measures, and of the generator.
    pub generator_ns: u64,
    /// Busy time that is neither the subject's, nor that of its companions, nor the generator's,
    /// as a share of one processor.
    pub unattributed: Option<f64>,
    /// Who used a processor besides, the busiest first, as a share of one processor by name.
    pub others: Vec<Other>,
    /// The share of the window in which somebody waited for a processor, whoever it was.
    pub pressure: Option<f64>,
    /// Time that quotas kept processes from processors: those of our own control group, of the
    /// subject's and of all groups above, summed over groups and processors; null where no group
    /// has an account of it.
    #[serde(default)]
    pub throttled_ns: Option<u64>,
    /// The smallest of these groups' quotas; null in records of versions that did not look.
    #[serde(default)]
    pub quota: Option<Quota>,
    /// Pages that had to be read from a disk, whoever needed them; null where the kernel doesn't
    /// count them, and in records of versions that did not look.
    #[serde(default)]
    pub major_faults: Option<u64>,
    /// The network.
    pub network: NetworkUse,
}

/// Processes of one name that are nobody's here.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Other {
    /// Their name, as the kernel has it.
    pub name: String,
    /// How many of them ran.
    pub processes: u32,
    /// Their time together, as a share of one processor.
    pub share: f64,
}

/// The host at one moment.
#[derive(Clone, Debug)]
pub(crate) struct Reading {
    at: Time,
    /// Everybody who was there.
    pub(super) listing: Listing,
    groups: Groups,
    throttled_ns: Option<u64>,
    ticks: Option<Ticks>,
    waited_us: Option<u64>,
    own_ns: Option<u64>,
    major_faults: Option<u64>,
    network: Network,
}

/// What is known of the subject's part when a window is closed.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Attributed<'a> {
    /// Processor time of the subject and its companions in the window.
    pub(crate) cpu_ns: u64,
    /// That of a generator that is a process of its own.
    pub(crate) generator_ns: u64,
    /// Their processes, and ours.
    pub(crate) pids: &'a [u32],
}

impl Reading {
    /// Now; the listing was taken just before or is taken just after. Quotas of `subject`'s
    /// control groups count, too, but for the one in the folder `wanted`, which has the quota that
    /// somebody wants the subject to have.
    pub(crate) fn take(listing: Listing, subject: Option<u32>, wanted: Option<&Path>) -> Reading {
        let text = |path| fs::read_to_string(path).unwrap_or_default();
        // Who is gone is in no group any more, and hides nothing.
        let alive = subject.filter(|pid| listing.all().iter().any(|one| one.pid == *pid));
        let groups = alive.into_iter().map(Groups::of);
        let groups = groups.fold(Groups::own(), Groups::and);
        let groups = wanted.into_iter().fold(groups, Groups::without);
        Reading {
            at: Time::now(),
            listing,
            throttled_ns: groups.throttled_ns(),
            groups,
            ticks: ticks(),
            waited_us: Pressure::parse(&text("/proc/pressure/cpu")).map(|found| found.total_us),
            own_ns: measure::process::own_cpu_ns(),
            major_faults: value(&text("/proc/vmstat"), "pgmajfault"),
            network: Network::read(),
        }
    }

    /// What the host did from an earlier reading to this one.
    pub(crate) fn since(&self, before: &Reading, attributed: Attributed<'_>) -> HostUse {
        let wall_ns = self.at.since(before.at).max(1);
        let ticks = self.ticks.zip(before.ticks);
        let part = |of: fn(Ticks) -> u64| {
            ticks.map(|(now, before)| of(now).saturating_sub(of(before)) * Ticks::each_ns())
        };
        let busy_ns = ticks.map(|(now, _)| {
            let idle = part(|ticks| ticks.idle).unwrap_or(0);
            let steal = part(|ticks| ticks.steal).unwrap_or(0);
            (wall_ns * now.processors).saturating_sub(idle + steal)
        });
        let own = self.own_ns.zip(before.own_ns);
        let own_ns = own.map_or(0, |(now, before)| now.saturating_sub(before));
        let generator_ns = own_ns + attributed.generator_ns;
        let known_ns = generator_ns + attributed.cpu_ns;
        let throttled = self.throttled_ns.zip(before.throttled_ns);
        let waited = self.waited_us.zip(before.waited_us);
        let faults = self.major_faults.zip(before.major_faults);
        HostUse {
            wall_ns,
            busy_ns,
            steal_ns: part(|ticks| ticks.steal),
            interrupt_ns: part(|ticks| ticks.interrupt),
            generator_ns,
            unattributed: busy_ns
                .map(|busy_ns| busy_ns.saturating_sub(known_ns) as f64 / wall_ns as f64),
            others: others(&before.listing, &self.listing, attributed.pids, wall_ns),
            throttled_ns: throttled.map(|(now, before)| now.saturating_sub(before)),
            quota: Some(before.groups.quota()),
            pressure: waited.map(|(now, before)| {
                let waited_ns = now.saturating_sub(before) * 1000;
                (waited_ns as f64 / wall_ns as f64).min(1.0)
            }),
            major_faults: faults.map(|(now, before)| now.saturating_sub(before)),
            network: NetworkUse {
                sockets: network::sockets(),
                ..self.network.since(&before.network)
            },
        }
    }
}

/// The share of the next `length` in which somebody waits for a processor. Unlike the
/// kernel's averages it knows nothing of what was measured just before.
pub fn pressure_over(length: Duration) -> Option<f64> {
    let total_us = || {
        let text = fs::read_to_string("/proc/pressure/cpu").ok()?;
        Some(Pressure::parse(&text)?.total_us)
    };
    let (began, before) = (Time::now(), total_us()?);
    sleep_until(began + length);
    let waited_us = total_us()?.saturating_sub(before) as f64;
    Some((waited_us * 1000.0 / Time::now().since(began).max(1) as f64).min(1.0))
}

/// Who used a processor between two listings and is not one of `known`, by name. Who had not
/// started at the first has all its time counted; who is gone at the second is not seen.
fn others(before: &Listing, after: &Listing, known: &[u32], wall_ns: u64) -> Vec<Other> {
    let used = |listing: &Listing| -> BTreeMap<(u32, u64), u64> {
        let all = listing.all().iter();
        all.map(|one| ((one.pid, one.started), one.user_ns + one.system_ns))
            .collect()
    };
    let before = used(before);
    let mut by_name: BTreeMap<&str, (u32, u64)> = BTreeMap::new();
    for one in after.all().iter().filter(|one| !known.contains(&one.pid)) {
        let earlier = before.get(&(one.pid, one.started)).copied().unwrap_or(0);
        let used = (one.user_ns + one.system_ns).saturating_sub(earlier);
        if used > 0 {
            let sum = by_name.entry(&one.name).or_default();
            sum.0 += 1;
            sum.1 += used;
        }
    }
    let mut others: Vec<Other> = by_name
        .into_iter()
        .map(|(name, (processes, used))| Other {
            name: name.chars().filter(|c| !c.is_control()).collect(),
            processes,
            share: used as f64 / wall_ns as f64,
        })
        .filter(|other| other.share >= OTHERS_SHARE_MIN)
        .collect();
    others.sort_by(|a, b| b.share.total_cmp(&a.share));
    others.truncate(OTHERS_NAMED_MAX);
    others
}

/// The line `some` of a file in /proc/pressure.
#[derive(Clone, Copy, Debug, PartialEq)]
struct Pressure {
    /// The share of the last ten seconds in which somebody waited.
    share: f64,
    /// The time since the start of the machine in which somebody waited, in microseconds.
    total_us: u64,
}

impl Pressure {
    fn parse(text: &str) -> Option<Pressure> {
        let some = text.lines().find_map(|line| line.strip_prefix("some "))?;
        let value = |name| {
            some.split_whitespace()
                .find_map(|word| word.strip_prefix(name))
        };
        Some(Pressure {
            share: value("avg10=")?.parse::<f64>().ok()? / 100.0,
            total_us: value("total=")?.parse().ok()?,
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn pressure_is_read_from_the_line_of_some() {
        let text = "some avg10=16.76 avg60=13.14 avg300=6.28 total=9286852228\n\
            full avg10=0.00 avg60=0.00 avg300=0.00 total=0\n";
        let found = Pressure::parse(text).expect("as the kernel writes it");
        assert!((found.share - 0.1676).abs() < 1e-9);
        assert_eq!(found.total_us, 9_286_852_228);
        assert_eq!(Pressure::parse("full avg10=0.00\n"), None);
        assert_eq!(Pressure::parse(""), None);
    }

    fn reading(at_s: u64, idle: u64, steal: u64) -> Reading {
        Reading {
            at: Time(at_s * 1_000_000_000),
            listing: Listing::default(),
            groups: Groups::default(),
            throttled_ns: None,
            ticks: Some(Ticks {
                idle,
                steal,
                processors: 2,
                ..Ticks::default()
            }),
            waited_us: Some(at_s * 100_000),
            own_ns: Some(at_s * 600_000_000),
            major_faults: Some(at_s),
            network: Network::default(),
        }
    }

    #[test]
    fn busy_time_that_is_nobodys_is_what_the_known_ones_leave() {
        let ticks_a_second = 1_000_000_000 / Ticks::each_ns();
        // Of two processors over one second: half a processor idle, a tenth stolen.
        let later = reading(11, ticks_a_second / 2, ticks_a_second / 10);
        let attributed = Attributed {
            cpu_ns: 500_000_000,
            generator_ns: 0,
            pids: &[],
        };
        let seen = later.since(&reading(10, 0, 0), attributed);
        assert_eq!(seen.busy_ns, Some(1_400_000_000));
        assert_eq!(seen.steal_ns, Some(100_000_000));
        assert_eq!(seen.generator_ns, 600_000_000);
        assert_eq!(seen.major_faults, Some(1));
        let unattributed = seen.unattributed.expect("it was read");
        assert!((unattributed - 0.3).abs() < 1e-9, "{unattributed}");
        assert!(
            seen.pressure
                .is_some_and(|share| (share - 0.1).abs() < 1e-9)
        );
    }

    #[test]
    fn who_uses_a_processor_besides_is_named() {
        let before = Listing::take();
        let began = Time::now();
        // This program itself, if it is not said to be known.
        let mut spent = 0u64;
        while Time::now().since(began) < 200_000_000 {
            spent = std::hint::black_box(spent + 1);
        }
        let wall_ns = Time::now().since(began);
        let after = Listing::take();
        let own = std::process::id();
        let all = others(&before, &after, &[], wall_ns);
        let ours = after.all().iter().find(|one| one.pid == own);
        let name = &ours.expect("we are alive").name;
        let busiest = |others: &[Other]| others.iter().any(|other| other.name == *name);
        assert!(busiest(&all), "{name} is not in {all:?}");
        assert!(!busiest(&others(&before, &after, &[own], wall_ns)));
    }
}
