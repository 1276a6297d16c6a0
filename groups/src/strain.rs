//! What limits did to a group: that it had to wait for processor time, that memory had to be
//! reclaimed from it, and that somebody in it was killed. With the time at which each struck, as
//! exactly as somebody looked.

use std::fs;

use measure::quota::value;
use measure::time::Time;
use serde::{Deserialize, Serialize};

use crate::{Controller, Group, Held, Limits};

/// What limits did to a group since it was made.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Strain {
    /// In so many periods its processor time was used up.
    pub throttled: u64,
    /// How long it then waited for the next one, summed over processors, in nanoseconds.
    pub throttled_ns: u64,
    /// How often it had as much memory as it may have, and some had to be reclaimed; 1 where that
    /// isn't counted, but happened.
    pub reclaims: u64,
    /// How many processes the kernel killed because that was not enough.
    pub oom_kills: u64,
}

/// Something that happened in a window.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Struck {
    /// How often.
    pub times: u64,
    /// By when it had happened first, in seconds from the beginning of the window.
    pub first_s: f64,
    /// By when it had happened last, likewise.
    pub last_s: f64,
}

/// What limits did in a window, and what they are.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct Strained {
    /// Processor time allowed, in thousandths of a processor.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub millicpus: Option<u64>,
    /// Memory allowed, in bytes.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub memory_bytes: Option<u64>,
    /// Memory is limited by the address space of each process, since no control group can: who
    /// asks for more isn't killed, but gets none.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub by_address_space: bool,
    /// Length of the window, in nanoseconds.
    pub wall_ns: u64,
    /// Its processor time was used up.
    pub throttled: Option<Struck>,
    /// How long it then waited, summed over processors, in nanoseconds.
    pub throttled_ns: u64,
    /// Memory had to be reclaimed.
    pub reclaimed: Option<Struck>,
    /// Processes were killed.
    pub killed: Option<Struck>,
    /// So many were killed before the window.
    #[serde(skip_serializing_if = "is_zero")]
    pub killed_before: u64,
}

impl Strained {
    /// What the limits are, such as `0.5 CPUs and 512 MiB of memory`; empty without any.
    pub fn limits_in_words(&self) -> String {
        let limits = Limits {
            millicpus: self.millicpus,
            memory_bytes: self.memory_bytes,
        };
        limits.in_words()
    }
}

fn is_zero(count: &u64) -> bool {
    *count == 0
}

impl Group {
    /// What limits did to it until now; nothing where the kernel doesn't say.
    pub fn strain(&self) -> Strain {
        let read = |file| fs::read_to_string(file).unwrap_or_default();
        let cpu = self.folder(Controller::Cpu);
        let (cpu, name, unit_ns) = match cpu {
            Some(_) => (cpu, "throttled_time", 1),
            None => (self.folder(Controller::All), "throttled_usec", 1000),
        };
        let cpu = cpu.map_or(String::new(), |folder| read(folder.join("cpu.stat")));
        let of_cpu = |name| value(&cpu, name).unwrap_or(0);
        let events = self.of_memory("memory.oom_control", "memory.events");
        let events = events.map_or(String::new(), read);
        Strain {
            throttled: of_cpu("nr_throttled"),
            throttled_ns: of_cpu(name) * unit_ns,
            reclaims: self.reached().or(value(&events, "max")).unwrap_or(0),
            oom_kills: value(&events, "oom_kill").unwrap_or(0),
        }
    }

    /// How often it had reached its limit of memory in version 1, which counts that in a file of
    /// its own, and in another one where the limit is that of memory and swap together. Newer
    /// kernels don't count it: that it happened is then seen by the most it has used.
    fn reached(&self) -> Option<u64> {
        let folder = self.folder(Controller::Memory)?;
        let number = |name| -> Option<u64> {
            let text = fs::read_to_string(folder.join(name)).ok()?;
            text.trim().parse().ok()
        };
        let with_swap = number("memory.memsw.failcnt").unwrap_or(0);
        let counted = number("memory.failcnt")? + with_swap;
        let peak = number("memory.max_usage_in_bytes").unwrap_or(0);
        let is_full = number("memory.limit_in_bytes").is_some_and(|limit| peak >= limit);
        Some(counted.max(u64::from(is_full)))
    }
}

/// Follows what limits do while a window is open.
#[derive(Debug)]
pub struct Straining {
    began: Time,
    last: Strain,
    found: Strained,
}

impl Straining {
    /// Of somebody who is limited so, from `now` on.
    pub fn open(held: &Held, now: Time) -> Straining {
        let before = held.strain();
        Straining {
            began: now,
            last: before,
            found: Strained {
                millicpus: held.limits.millicpus,
                memory_bytes: held.limits.memory_bytes,
                by_address_space: held.by_address_space,
                killed_before: before.oom_kills,
                ..Strained::default()
            },
        }
    }

    /// Looks at what has happened since the last look.
    pub fn look(&mut self, strain: Strain, now: Time) {
        let at_s = now.since(self.began) as f64 / 1e9;
        let (last, found) = (self.last, &mut self.found);
        note(&mut found.throttled, strain.throttled, last.throttled, at_s);
        note(&mut found.reclaimed, strain.reclaims, last.reclaims, at_s);
        note(&mut found.killed, strain.oom_kills, last.oom_kills, at_s);
        found.throttled_ns += strain.throttled_ns.saturating_sub(last.throttled_ns);
        found.wall_ns = now.since(self.began);
        self.last = strain;
    }

    /// From now on it's another group that is looked at: one that was made meanwhile.
    pub fn anew(&mut self) {
        self.last = Strain::default();
    }

    /// What has happened until the last look.
    pub fn found(&self) -> Strained {
        self.found
    }
}

fn note(found: &mut Option<Struck>, now: u64, before: u64, at_s: f64) {
    let times = now.saturating_sub(before);
    if times > 0 {
        let struck = found.get_or_insert(Struck {
            first_s: at_s,
            ..Struck::default()
        });
        struck.times += times;
        struck.last_s = at_s;
    }
}

impl Held {
    /// What they did until now.
    pub fn strain(&self) -> Strain {
        let group = self.group.as_ref();
        group.map_or(Strain::default(), |group| group.strain())
    }
}
