//! What a group was charged with: the kernel's account of everybody in it, short-lived processes
//! included, and of what it kept in memory beyond the pages of processes.

use std::fs;
use std::path::Path;

use measure::quota::value;
use serde::{Deserialize, Serialize};

use crate::{Controller, Group};

/// What a subject's control group was charged with in a window.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct GroupUse {
    /// Its path inside the hierarchy.
    pub path: String,
    /// 1 or 2.
    pub version: u8,
    /// Processor time in nanoseconds.
    pub cpu_ns: Option<u64>,
    /// The part of it in user mode; version 1 counts it in ticks.
    pub user_ns: Option<u64>,
    /// The part of it in the kernel, likewise.
    pub system_ns: Option<u64>,
    /// The most memory it was charged with since the start of its processes: theirs, files in the
    /// page cache and buffers of the kernel. Null where the group has no account of memory.
    pub memory_peak_bytes: Option<u64>,
}

/// The processor time of a group at one moment, in nanoseconds.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct GroupTime {
    pub(crate) cpu_ns: Option<u64>,
    pub(crate) user_ns: Option<u64>,
    pub(crate) system_ns: Option<u64>,
}

impl Group {
    /// Its processor time until now.
    pub fn time(&self) -> GroupTime {
        let read = |folder: &Path, name: &str| fs::read_to_string(folder.join(name)).ok();
        let number = |folder, name| read(folder, name)?.trim().parse().ok();
        if let Some(folder) = self.folder(Controller::CpuAccount) {
            return GroupTime {
                cpu_ns: number(folder, "cpuacct.usage"),
                user_ns: number(folder, "cpuacct.usage_user"),
                system_ns: number(folder, "cpuacct.usage_sys"),
            };
        }
        let stat = self.folder(Controller::All);
        let stat = stat.and_then(|folder| read(folder, "cpu.stat"));
        GroupTime::of_stat(&stat.unwrap_or_default())
    }

    /// What it was charged with from one reading to another.
    pub fn used(&self, from: GroupTime, to: GroupTime) -> GroupUse {
        let part = |of: fn(GroupTime) -> Option<u64>| Some(of(to)?.saturating_sub(of(from)?));
        let peak = self.of_memory("memory.max_usage_in_bytes", "memory.peak");
        let peak = peak.and_then(|file| fs::read_to_string(file).ok());
        let version = match self.folder(Controller::All) {
            Some(_) => 2,
            None => 1,
        };
        GroupUse {
            path: self.path.clone(),
            version,
            cpu_ns: part(|time| time.cpu_ns),
            user_ns: part(|time| time.user_ns),
            system_ns: part(|time| time.system_ns),
            memory_peak_bytes: peak.and_then(|text| text.trim().parse().ok()),
        }
    }
}

impl GroupTime {
    /// `cpu.stat` of version 2, in microseconds.
    pub(crate) fn of_stat(text: &str) -> GroupTime {
        let ns = |name| Some(1000 * value(text, name)?);
        GroupTime {
            cpu_ns: ns("usage_usec"),
            user_ns: ns("user_usec"),
            system_ns: ns("system_usec"),
        }
    }
}
