//! Control groups of our own (cgroups(7)): the kernel's account of everything that was started in
//! one, and what it allows them.
//!
//! Version 1 has a folder for each controller; version 2 one for all, in which a controller is
//! there only where the parent hands it down, which is not changed here. Without the right to make
//! a folder there is no group: an account is then missing, and a limit is kept in another way or
//! refused with the reason ([`Limits`]). A group is removed with its owner, once nobody is in it.
//!
//! Knows nothing of who is put into a group or of what a figure is worth.
#![forbid(unsafe_code)]

mod account;
mod limits;
#[cfg(test)]
#[path = "../../tests/skip.rs"]
mod skip;
mod strain;
#[cfg(test)]
mod tests;

use std::fs;
use std::io;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU64, Ordering};

use measure::quota::{Place, UNIFIED};

pub use account::{GroupTime, GroupUse};
pub use limits::{Held, Limits};
pub use strain::{Strain, Strained, Straining, Struck};

/// A control group of our own. It is removed with its owner, once nobody is in it.
#[derive(Debug)]
pub struct Group {
    /// That of its folders.
    name: String,
    /// Inside the hierarchy.
    path: String,
    /// Version 1: one for each controller, or for several that are mounted together. Version 2:
    /// one.
    folders: Vec<(Controller, PathBuf)>,
    /// It doesn't get more processor time than it was given.
    has_quota: bool,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Controller {
    Cpu,
    CpuAccount,
    Memory,
    All,
}

impl Controller {
    /// What version 1 calls it.
    fn name(self) -> &'static str {
        match self {
            Controller::Cpu => "cpu",
            Controller::CpuAccount => "cpuacct",
            Controller::Memory => "memory",
            Controller::All => UNIFIED,
        }
    }

    /// The group that this program is in, where its hierarchy is mounted.
    fn place(self) -> Option<Place> {
        Place::own(self.name()).filter(|place| place.folder.join("cgroup.procs").is_file())
    }
}

impl Group {
    /// Makes a group below the one that this program is in. None where that is not possible.
    pub fn make() -> Option<Group> {
        // Version 2 is mounted beside version 1 on many systems, without any controller.
        let hierarchies: &[Controller] = match Controller::CpuAccount.place() {
            Some(_) => &[Controller::CpuAccount, Controller::Memory],
            None => &[Controller::All],
        };
        let mut group = Group::nowhere();
        for controller in hierarchies {
            if let Some(place) = controller.place() {
                let _ = group.enter(*controller, &place);
            }
        }
        (!group.folders.is_empty()).then_some(group)
    }

    /// Makes a group of version 2 below the one that this program is in or, where that doesn't
    /// hand down the `wanted` files, below the nearest one above it that does.
    fn make_with(wanted: &[&str]) -> Option<Group> {
        let mut place = Controller::All.place()?;
        loop {
            let mut group = Group::nowhere();
            if group.enter(Controller::All, &place).is_ok() {
                let folder = group.folder(Controller::All)?;
                if wanted.iter().all(|file| folder.join(file).is_file()) {
                    return Some(group);
                }
            }
            let above = place.path.rfind('/').unwrap_or(0);
            place.path.truncate(above);
            if !place.folder.pop() || !place.folder.join("cgroup.procs").is_file() {
                return None;
            }
        }
    }

    /// One that has a name alone, which no other group of this machine has.
    fn nowhere() -> Group {
        static COUNT: AtomicU64 = AtomicU64::new(1);
        let count = COUNT.fetch_add(1, Ordering::Relaxed);
        Group {
            name: format!("ringside-{}-{count}", std::process::id()),
            path: String::new(),
            folders: Vec::new(),
            has_quota: false,
        }
    }

    /// Makes its folder below `place`.
    fn enter(&mut self, controller: Controller, place: &Place) -> io::Result<()> {
        let folder = place.folder.join(&self.name);
        // `cpu` and `cpuacct` of version 1 are mounted together on most systems.
        if !self.folders.iter().any(|(_, known)| *known == folder) {
            fs::create_dir(&folder)?;
        }
        if self.path.is_empty() {
            self.path = format!("{}/{}", place.path.trim_end_matches('/'), self.name);
        }
        self.folders.push((controller, folder));
        Ok(())
    }

    /// Moves a process, and what it will start, into it. Nothing happens where that is refused.
    pub fn take(&self, pid: u32) {
        for list in self.lists() {
            let _ = fs::write(list, pid.to_string());
        }
    }

    /// The files that list who is in it, each in a folder of the group.
    pub fn lists(&self) -> impl Iterator<Item = PathBuf> {
        let folders = self.folders.iter();
        folders.map(|(_, folder)| folder.join("cgroup.procs"))
    }

    /// Everybody who is in it.
    pub fn members(&self) -> Vec<u32> {
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

    /// The folder of what holds its processor time back, where something does.
    pub fn quota_folder(&self) -> Option<&Path> {
        let folder = self.folder(Controller::Cpu);
        let folder = folder.or_else(|| self.folder(Controller::All));
        folder.filter(|_| self.has_quota)
    }

    fn folder(&self, wanted: Controller) -> Option<&Path> {
        let mut folders = self.folders.iter();
        let found = folders.find(|(controller, _)| *controller == wanted);
        found.map(|(_, folder)| &**folder)
    }

    /// A file of the group for memory, by its name in either version.
    fn of_memory(&self, first: &str, second: &str) -> Option<PathBuf> {
        let first = self.folder(Controller::Memory).map(|at| at.join(first));
        first.or_else(|| Some(self.folder(Controller::All)?.join(second)))
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
