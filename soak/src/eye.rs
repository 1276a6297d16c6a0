//! Looks at a process and at those below it, in moments that nobody measures in.

use std::collections::BTreeSet;
use std::fs;
use std::path::{Path, PathBuf};

use measure::process::{self, Listing};
use measure::quota::{Place, UNIFIED, value};

use crate::sample::{Seen, Strain};

/// Whoever watches a process.
#[derive(Debug)]
pub(crate) struct Eye {
    /// The number of the first process, and when it started; none before it was seen.
    root: (u32, Option<u64>),
    /// Who was there at the last look.
    known: BTreeSet<(u32, u64)>,
    account: Account,
    /// What limits had done until the last look.
    strained: Strain,
}

impl Eye {
    /// Watches the process `pid`.
    pub(crate) fn on(pid: u32) -> Eye {
        let account = Account::of(pid);
        Eye {
            root: (pid, None),
            known: BTreeSet::new(),
            strained: account.strain(),
            account,
        }
    }

    /// What limits did since the last look, which may be why nobody is there any more.
    pub(crate) fn strain(&mut self) -> Strain {
        let now = self.account.strain();
        let before = std::mem::replace(&mut self.strained, now);
        Strain {
            killed: now.killed.saturating_sub(before.killed),
            throttled_ns: now.throttled_ns.saturating_sub(before.throttled_ns),
        }
    }

    /// What it and those below it hold now; none if it's gone.
    pub(crate) fn look(&mut self) -> Option<Seen> {
        let listing = Listing::take();
        let (pid, started) = self.root;
        let root = listing.all().iter().find(|one| one.pid == pid)?;
        if started.is_some_and(|started| started != root.started) {
            return None; // Somebody else has its number.
        }
        let root_started = root.started;
        self.root.1 = Some(root_started);
        let pids = listing.tree(pid);
        let memory = process::memory(&pids);
        if memory.resident_bytes == 0 {
            return None; // It has exited, and nobody has asked how.
        }
        let now: BTreeSet<(u32, u64)> = listing
            .all()
            .iter()
            .filter(|one| pids.contains(&one.pid))
            .map(|one| (one.pid, one.started))
            .collect();
        let before = std::mem::replace(&mut self.known, now);
        let is_first = before.is_empty();
        let count = |many: usize| if is_first { 0 } else { many as u32 };
        let threads = pids.iter().map(|pid| process::threads(*pid).count() as u32);
        Some(Seen {
            pid,
            started: root_started,
            processes: pids.len() as u32,
            came: count(self.known.difference(&before).count()),
            went: count(before.difference(&self.known).count()),
            threads: threads.sum(),
            descriptors: pids.iter().map(|pid| process::descriptors(*pid)).sum(),
            resident_bytes: memory.resident_bytes,
            proportional_bytes: memory.proportional_bytes,
            own_bytes: memory.own_bytes,
            group_bytes: self.account.memory.as_deref().and_then(charged),
        })
    }
}

/// The control groups of a process that aren't those of this program, too.
#[derive(Debug, Default)]
struct Account {
    memory: Option<PathBuf>,
    cpu: Option<PathBuf>,
}

impl Account {
    fn of(pid: u32) -> Account {
        let own = |controller: &str| {
            let group = Place::of(pid, controller).or_else(|| Place::of(pid, UNIFIED))?;
            let ours = Place::own(controller).or_else(|| Place::own(UNIFIED));
            (ours.as_ref() != Some(&group)).then_some(group.folder)
        };
        Account {
            memory: own("memory"),
            cpu: own("cpu"),
        }
    }

    /// What limits have done to it so far: zero where the kernel doesn't tell.
    fn strain(&self) -> Strain {
        let read = |folder: &Option<PathBuf>, name: &str| {
            let folder = folder.as_ref();
            folder.and_then(|folder| fs::read_to_string(folder.join(name)).ok())
        };
        // Version 2, or 1.
        let memory = read(&self.memory, "memory.events");
        let memory = memory.or_else(|| read(&self.memory, "memory.oom_control"));
        let cpu = read(&self.cpu, "cpu.stat").unwrap_or_default();
        let microseconds = || Some(1000 * value(&cpu, "throttled_usec")?);
        Strain {
            killed: memory.map_or(0, |text| value(&text, "oom_kill").unwrap_or(0)),
            throttled_ns: microseconds()
                .or_else(|| value(&cpu, "throttled_time"))
                .unwrap_or(0),
        }
    }
}

/// What a control group is charged with, without files in the page cache, which the kernel takes
/// back when somebody needs the room. What is in shared memory or a tmpfs counts as such files, and
/// stays.
fn charged(folder: &Path) -> Option<u64> {
    let read = |name: &str| fs::read_to_string(folder.join(name)).ok();
    let all = read("memory.current").or_else(|| read("memory.usage_in_bytes"))?;
    let stat = read("memory.stat")?;
    // Version 1 has the sums with all groups below under other names.
    let (files, shared) = match value(&stat, "total_cache") {
        Some(files) => (files, value(&stat, "total_shmem")),
        None => (value(&stat, "file")?, value(&stat, "shmem")),
    };
    let returned = files.saturating_sub(shared.unwrap_or(0));
    Some(all.trim().parse::<u64>().ok()?.saturating_sub(returned))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_this_process_holds_is_seen_and_what_is_gone_is_not() {
        let mut eye = Eye::on(std::process::id());
        let seen = eye.look().expect("it is there");
        assert!(
            seen.resident_bytes > 1 << 20 && seen.threads > 0,
            "{seen:?}"
        );
        let own = seen.own_bytes.expect("Linux 5.4 tells");
        assert!(own > 1 << 16, "{seen:?}");
        assert!(seen.descriptors.is_some_and(|open| open > 2), "{seen:?}");
        assert_eq!((seen.came, seen.went), (0, 0));
        assert_eq!(seen.group_bytes, None, "it's our own group");
        assert_eq!(Eye::on(u32::MAX).look(), None);
        // Another process with its number isn't it.
        eye.root.1 = Some(seen.started + 1);
        assert_eq!(eye.look(), None);
    }

    #[test]
    fn the_account_of_a_group_is_read_without_the_page_cache() {
        let folder = tempfile::tempdir().expect("a folder");
        let write = |name: &str, text: &str| {
            std::fs::write(folder.path().join(name), text).expect("written");
        };
        assert_eq!(charged(folder.path()), None);
        write("memory.current", "5000\n");
        write("memory.stat", "anon 4\nfile_mapped 7\nfile 1000\n");
        assert_eq!(charged(folder.path()), Some(4000));
        // What is in a tmpfs is a file, and nobody takes it back.
        write("memory.stat", "anon 4\nfile 1000\nshmem 600\n");
        assert_eq!(charged(folder.path()), Some(4600));
        let sums = "cache 7\nshmem 7\ntotal_cache 2000\ntotal_shmem 500\n";
        write("memory.stat", sums);
        assert_eq!(charged(folder.path()), Some(3500));
    }

    #[test]
    fn what_limits_do_is_counted_from_one_look_to_the_next() {
        let folder = tempfile::tempdir().expect("a folder");
        let write = |name: &str, text: &str| {
            std::fs::write(folder.path().join(name), text).expect("written");
        };
        let place = || Some(folder.path().to_owned());
        let mut eye = Eye::on(std::process::id());
        eye.account = Account {
            memory: place(),
            cpu: place(),
        };
        assert_eq!(eye.strain(), Strain::default());
        let mut seen = |killed, throttled_ns| {
            let expected = Strain {
                killed,
                throttled_ns,
            };
            assert_eq!(eye.strain(), expected);
        };
        write("memory.events", "oom 9\noom_kill 2\n");
        write(
            "cpu.stat",
            "usage_usec 9\nnr_throttled 3\nthrottled_usec 40\n",
        );
        seen(2, 40_000);
        seen(0, 0);
        // Version 1.
        std::fs::remove_file(folder.path().join("memory.events")).expect("removed");
        write("memory.oom_control", "under_oom 0\noom_kill 3\n");
        write("cpu.stat", "nr_throttled 3\nthrottled_time 50000\n");
        seen(1, 10_000);
        // The group is gone.
        std::fs::remove_file(folder.path().join("cpu.stat")).expect("removed");
        seen(0, 0);
    }
}
