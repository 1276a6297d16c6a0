//! A control group for each subject, where this program may make one (cgroups(7)): the kernel's own
//! account of everything that was started in it, short-lived processes included, and what it kept
//! in memory beyond the pages of processes.
//!
//! Version 1 has a folder for each of `cpuacct` and `memory`; version 2 one for all, in which
//! `memory` is there only where the parent hands it down, which is not changed here. Without the
//! right to make a folder there is no group, and nothing depends on it.

use std::fs;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU64, Ordering};

use measure::quota::{Place, UNIFIED, value};
use serde::{Deserialize, Serialize};

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
pub(crate) struct GroupTime {
    cpu_ns: Option<u64>,
    user_ns: Option<u64>,
    system_ns: Option<u64>,
}

/// A control group of our own. It is removed with its owner, once nobody is in it.
#[derive(Debug)]
pub(crate) struct Group {
    path: String,
    /// Version 1: one for each controller. Version 2: one.
    folders: Vec<(Controller, PathBuf)>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Controller {
    CpuAccount,
    Memory,
    All,
}

impl Group {
    /// Makes a group below the one that this program is in. None where that is not possible.
    pub(crate) fn make() -> Option<Group> {
        static COUNT: AtomicU64 = AtomicU64::new(1);
        let count = COUNT.fetch_add(1, Ordering::Relaxed);
        let name = format!("ringside-{}-{count}", std::process::id());
        let place = |controller: Controller, name| {
            let place = Place::own(name);
            let place = place.filter(|place| place.folder.join("cgroup.procs").is_file());
            place.map(|place| (controller, place))
        };
        // Version 2 is mounted beside version 1 on many systems, without any controller.
        let hierarchies: Vec<(Controller, Place)> = match place(Controller::CpuAccount, "cpuacct") {
            Some(cpu) => {
                let memory = place(Controller::Memory, "memory");
                [Some(cpu), memory].into_iter().flatten().collect()
            }
            None => vec![place(Controller::All, UNIFIED)?],
        };
        let mut group = Group {
            path: String::new(),
            folders: Vec::new(),
        };
        for (controller, parent) in hierarchies {
            let folder = parent.folder.join(&name);
            if fs::create_dir(&folder).is_ok() {
                let path = format!("{}/{name}", parent.path.trim_end_matches('/'));
                if group.path.is_empty() {
                    group.path = path;
                }
                group.folders.push((controller, folder));
            }
        }
        (!group.folders.is_empty()).then_some(group)
    }

    /// Moves a process, and what it will start, into it. Nothing happens where that is refused.
    pub(crate) fn take(&self, pid: u32) {
        for (_, folder) in &self.folders {
            let _ = fs::write(folder.join("cgroup.procs"), pid.to_string());
        }
    }

    /// The files that list who is in it, each in a folder of the group.
    pub(crate) fn lists(&self) -> impl Iterator<Item = PathBuf> {
        let folders = self.folders.iter();
        folders.map(|(_, folder)| folder.join("cgroup.procs"))
    }

    /// Everybody who is in it.
    pub(crate) fn members(&self) -> Vec<u32> {
        let mut members: Vec<u32> = self
            .lists()
            .filter_map(|list| fs::read_to_string(list).ok())
            .flat_map(|list| {
                list.lines()
                    .filter_map(|line| line.parse().ok())
                    .collect::<Vec<_>>()
            })
            .collect();
        members.sort_unstable();
        members.dedup();
        members
    }

    /// Its processor time until now.
    pub(crate) fn time(&self) -> GroupTime {
        let read = |folder: &Path, name: &str| fs::read_to_string(folder.join(name)).ok();
        let number = |folder, name| read(folder, name)?.trim().parse().ok();
        let folder = |wanted| self.folders.iter().find(|(found, _)| *found == wanted);
        if let Some((_, folder)) = folder(Controller::CpuAccount) {
            return GroupTime {
                cpu_ns: number(folder, "cpuacct.usage"),
                user_ns: number(folder, "cpuacct.usage_user"),
                system_ns: number(folder, "cpuacct.usage_sys"),
            };
        }
        let stat = folder(Controller::All).and_then(|(_, folder)| read(folder, "cpu.stat"));
        GroupTime::of_stat(&stat.unwrap_or_default())
    }

    /// What it was charged with from one reading to another.
    pub(crate) fn used(&self, from: GroupTime, to: GroupTime) -> GroupUse {
        let part = |of: fn(GroupTime) -> Option<u64>| Some(of(to)?.saturating_sub(of(from)?));
        let peak = self.folders.iter().find_map(|(controller, folder)| {
            let name = match controller {
                Controller::CpuAccount => return None,
                Controller::Memory => "memory.max_usage_in_bytes",
                Controller::All => "memory.peak",
            };
            fs::read_to_string(folder.join(name))
                .ok()?
                .trim()
                .parse()
                .ok()
        });
        let version = match self
            .folders
            .iter()
            .any(|(found, _)| *found == Controller::All)
        {
            true => 2,
            false => 1,
        };
        GroupUse {
            path: self.path.clone(),
            version,
            cpu_ns: part(|time| time.cpu_ns),
            user_ns: part(|time| time.user_ns),
            system_ns: part(|time| time.system_ns),
            memory_peak_bytes: peak,
        }
    }
}

impl Drop for Group {
    fn drop(&mut self) {
        for (_, folder) in &self.folders {
            // Refused while somebody is in it, who is then said to be left behind.
            let _ = fs::remove_dir(folder);
        }
    }
}

impl GroupTime {
    /// `cpu.stat` of version 2, in microseconds.
    fn of_stat(text: &str) -> GroupTime {
        let ns = |name| Some(1000 * value(text, name)?);
        GroupTime {
            cpu_ns: ns("usage_usec"),
            user_ns: ns("user_usec"),
            system_ns: ns("system_usec"),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_account_of_version_2_is_in_microseconds() {
        let text = "usage_usec 4032120\nuser_usec 3000000\nsystem_usec 1032120\nnr_periods 0\n";
        let time = GroupTime::of_stat(text);
        let expected = GroupTime {
            cpu_ns: Some(4_032_120_000),
            user_ns: Some(3_000_000_000),
            system_ns: Some(1_032_120_000),
        };
        assert_eq!(time, expected);
        assert_eq!(GroupTime::of_stat(""), GroupTime::default());
        assert_eq!(value("throttled_time x\n", "throttled_time"), None);
    }

    #[test]
    fn what_runs_in_a_group_is_charged_to_it() {
        let Some(group) = Group::make() else {
            crate::skip::not_permitted("no control group can be made here");
            return;
        };
        let before = group.time();
        let mut child = std::process::Command::new("/bin/sh")
            .args([
                "-c",
                "read -r _; i=0; while [ $i -lt 200000 ]; do i=$((i+1)); done",
            ])
            .stdin(std::process::Stdio::piped())
            .spawn()
            .expect("/bin/sh starts");
        group.take(child.id());
        assert!(group.members().contains(&child.id()), "{group:?}");
        drop(child.stdin.take());
        child.wait().expect("our child");
        let used = group.used(before, group.time());
        assert!(used.cpu_ns.is_some_and(|ns| ns > 10_000_000), "{used:?}");
        // Version 1 counts the parts in ticks, so together they may be more than the whole.
        let parts = used.user_ns.unwrap_or(0) + used.system_ns.unwrap_or(0);
        assert!(parts <= used.cpu_ns.unwrap_or(0) + 100_000_000, "{used:?}");
        let folders: Vec<PathBuf> = group.folders.iter().map(|(_, at)| at.clone()).collect();
        drop(group);
        assert!(folders.iter().all(|folder| !folder.exists()), "{folders:?}");
    }
}
