//! Looks at a process and at those below it, in moments that nobody measures in.

use std::collections::BTreeSet;
use std::fs;
use std::path::Path;

use measure::process::{self, Listing};
use measure::quota::{Place, UNIFIED, value};

use crate::sample::Seen;

/// Whoever watches a process.
#[derive(Debug)]
pub(crate) struct Eye {
    /// The number of the first process, and when it started; none before it was seen.
    root: (u32, Option<u64>),
    /// Who was there at the last look.
    known: BTreeSet<(u32, u64)>,
}

impl Eye {
    /// Watches the process `pid`.
    pub(crate) fn on(pid: u32) -> Eye {
        Eye {
            root: (pid, None),
            known: BTreeSet::new(),
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
            group_bytes: group_bytes(pid),
        })
    }
}

/// What the control group of a process is charged with, without files in the page cache, which the
/// kernel takes back when somebody needs the room. None where it's the group of this program, too.
fn group_bytes(pid: u32) -> Option<u64> {
    let group = Place::of(pid, "memory").or_else(|| Place::of(pid, UNIFIED))?;
    let ours = Place::own("memory").or_else(|| Place::own(UNIFIED));
    let is_its_own = ours.is_none_or(|ours| ours != group);
    is_its_own.then(|| charged(&group.folder))?
}

fn charged(folder: &Path) -> Option<u64> {
    let read = |name: &str| fs::read_to_string(folder.join(name)).ok();
    let all = read("memory.current").or_else(|| read("memory.usage_in_bytes"))?;
    let stat = read("memory.stat")?;
    let files = value(&stat, "total_cache").or_else(|| value(&stat, "file"))?;
    Some(all.trim().parse::<u64>().ok()?.saturating_sub(files))
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
    }
}
