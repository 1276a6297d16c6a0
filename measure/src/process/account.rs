//! The processor time of a tree of processes, with that of the ones that are gone.
//!
//! Two accounts know of the dead, and neither knows all. *We* know what each had used when it was
//! last seen, which is nothing of those that lived between two looks. The *parent's* account of
//! reaped children has them to the end, whoever saw them, but not those that somebody outside of
//! the tree reaped: an orphan's time is in nobody's account. So the dead are kept by who reaped
//! them: of each parent's, what either account has at least; of orphans, what was seen.

use std::collections::BTreeMap;

/// A process of the tree, as it is seen now.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Seen {
    pub(super) pid: u32,
    /// When it started: tells it from one that had its number.
    pub(super) started: u64,
    pub(super) parent: u32,
    /// What it has used itself.
    pub(super) cpu_ns: u64,
    /// What the children that it reaped had used, and theirs; read before `cpu_ns` of anybody.
    pub(super) reaped_ns: u64,
}

/// The accounts of a tree.
#[derive(Debug, Default)]
pub(super) struct Account {
    alive: BTreeMap<(u32, u64), Member>,
    /// Those whose parents were not in the tree.
    orphans_ns: u64,
}

#[derive(Clone, Copy, Debug)]
struct Member {
    parent: u32,
    cpu_ns: u64,
    reaped_ns: u64,
    /// What we know that its dead children had used, and theirs.
    known_ns: u64,
}

impl Member {
    fn dead_ns(&self) -> u64 {
        self.known_ns.max(self.reaped_ns)
    }
}

impl Account {
    /// Everybody who is alive; what they and the dead have used until now.
    pub(super) fn update(&mut self, now: &[Seen]) -> u64 {
        let before = std::mem::take(&mut self.alive);
        for seen in now {
            let old = before.get(&(seen.pid, seen.started));
            let member = Member {
                parent: seen.parent,
                // Clocks of processes do not go backwards.
                cpu_ns: seen.cpu_ns.max(old.map_or(0, |old| old.cpu_ns)),
                reaped_ns: old.map_or(0, |old| old.reaped_ns),
                known_ns: old.map_or(0, |old| old.known_ns),
            };
            self.alive.insert((seen.pid, seen.started), member);
        }
        for (key, gone) in &before {
            if !self.alive.contains_key(key) {
                self.bury(gone, &before);
            }
        }
        for seen in now {
            if let Some(member) = self.alive.get_mut(&(seen.pid, seen.started)) {
                member.reaped_ns = member.reaped_ns.max(seen.reaped_ns);
            }
        }
        let alive = self.alive.values();
        let alive_ns: u64 = alive.map(|member| member.cpu_ns + member.dead_ns()).sum();
        alive_ns + self.orphans_ns
    }

    /// Puts what one who is gone had used, with its dead, on the account of the nearest one above
    /// who is alive: who reaps a child takes over what that had reaped.
    fn bury(&mut self, gone: &Member, before: &BTreeMap<(u32, u64), Member>) {
        let used_ns = gone.cpu_ns + gone.dead_ns();
        let mut parent = gone.parent;
        // A chain of parents is not longer than there are processes.
        for _ in 0..before.len() {
            let numbered = (parent, 0)..=(parent, u64::MAX);
            if let Some((_, heir)) = self.alive.range_mut(numbered.clone()).next() {
                // What was reaped before that look can't have had this one in it.
                heir.known_ns = heir.dead_ns() + used_ns;
                return;
            }
            match before.range(numbered).next() {
                Some((_, above)) => parent = above.parent,
                None => break,
            }
        }
        self.orphans_ns += used_ns;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn seen(pid: u32, parent: u32, cpu_ns: u64, reaped_ns: u64) -> Seen {
        Seen {
            pid,
            started: u64::from(pid),
            parent,
            cpu_ns,
            reaped_ns,
        }
    }

    #[test]
    fn an_orphan_and_a_reaped_child_that_nobody_saw_both_count() {
        let mut account = Account::default();
        // 20 was started by somebody who is gone: its parent is process 1.
        assert_eq!(
            account.update(&[seen(10, 2, 5, 0), seen(20, 1, 100, 0)]),
            105
        );
        // The orphan is gone, and 10 has reaped a child of 80 that came and went.
        assert_eq!(account.update(&[seen(10, 2, 6, 80)]), 186);
        assert_eq!(account.update(&[]), 186);
    }

    #[test]
    fn a_child_that_was_seen_and_reaped_counts_once() {
        let mut account = Account::default();
        account.update(&[seen(10, 2, 5, 0), seen(11, 10, 100, 0)]);
        // It used 7 more before it ended, as its parent's account has it.
        assert_eq!(account.update(&[seen(10, 2, 5, 107)]), 112);
        // Accounts of the reaped count in ticks and may be behind.
        account.update(&[seen(10, 2, 5, 107), seen(12, 10, 50, 0)]);
        assert_eq!(account.update(&[seen(10, 2, 5, 150)]), 162);
        assert_eq!(account.update(&[seen(10, 2, 5, 160)]), 165);
    }

    #[test]
    fn what_a_dead_child_had_reaped_goes_to_who_reaps_it() {
        let mut account = Account::default();
        account.update(&[
            seen(10, 2, 1, 0),
            seen(11, 10, 10, 100),
            seen(12, 11, 1000, 0),
        ]);
        // Both are gone: 11 had reaped 12, and 10 reaped 11.
        assert_eq!(account.update(&[seen(10, 2, 1, 1110)]), 1111);
        // A whole tree that is gone keeps its sum.
        assert_eq!(account.update(&[]), 1111);
    }

    #[test]
    fn a_child_that_ends_between_two_readings_is_seen_the_next_time() {
        let mut account = Account::default();
        account.update(&[seen(10, 2, 1, 0), seen(11, 10, 100, 0)]);
        // Not reaped when the account was read, and gone when its clock was.
        assert_eq!(account.update(&[seen(10, 2, 1, 0)]), 101);
        assert_eq!(account.update(&[seen(10, 2, 1, 100)]), 101);
    }

    #[test]
    fn numbers_that_are_used_again_are_other_processes() {
        let mut account = Account::default();
        account.update(&[seen(10, 2, 1, 0), seen(11, 10, 100, 0)]);
        let other = Seen {
            started: 99,
            ..seen(11, 10, 3, 0)
        };
        assert_eq!(account.update(&[seen(10, 2, 1, 100), other]), 104);
    }
}
