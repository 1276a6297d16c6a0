//! What processes cost: processor time and memory of a whole tree of them, and of our own threads.
//!
//! Processor time is read from the process's own clock (clock_getcpuclockid(3)): nanoseconds, and
//! threads that have exited are still in it, which the sum over /proc/PID/task is not, while the
//! utime and stime of /proc/PID/stat count in ticks of several milliseconds. A *process* that has
//! exited is gone from everywhere but its parent's account of reaped children; [`TreeWatch`] keeps
//! what it last saw of it, too (see `account.rs`).

mod account;

use self::account::{Account, Seen};
use crate::host::{Ticks, entry, kibibytes};
use nix::time::clock_getcpuclockid;
use nix::unistd::Pid;
use rustix::io::Errno;
use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::io;

/// What a tree of processes has used.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Usage {
    /// Processor time in nanoseconds, of the exited processes and threads, too.
    pub cpu_ns: u64,
    /// Time spent ready to run but waiting for a processor, in nanoseconds. Time that a thread
    /// waited between the last sample and its exit is not in it.
    pub wait_ns: u64,
    /// The part of it in user mode, counted in ticks of several milliseconds.
    pub user_ns: u64,
    /// The part of it in the kernel, likewise.
    pub system_ns: u64,
    /// Processes that are alive.
    pub processes: u32,
    /// Threads that are alive.
    pub threads: u32,
}

/// How often threads left a processor (proc(5), status).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Switches {
    /// Because they had nothing to do.
    pub voluntary: u64,
    /// Because somebody else was to run.
    pub involuntary: u64,
}

/// The memory of a tree of processes at one moment, in bytes. Unreadable counts as nothing.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Memory {
    /// Resident memory; pages shared by several processes count once for each (VmRSS).
    pub resident_bytes: u64,
    /// Resident memory that is no file's (RssAnon).
    pub anonymous_bytes: u64,
    /// Resident memory with shared pages divided among their users (Pss); none if it may not be
    /// read for one of the processes. It costs the kernel a walk over the page tables.
    pub proportional_bytes: Option<u64>,
    /// The part of that which is no file's: anonymous and shared memory, also what was swapped out
    /// (Pss_Anon, Pss_Shmem, SwapPss; since Linux 5.4). How much of a library counts for one
    /// process depends on how many others have it, and changes with them.
    pub own_bytes: Option<u64>,
    /// The sum of each process's own peak of resident memory (VmHWM): an upper bound.
    pub peak_bytes: u64,
}

/// Processor time of one thread.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct ThreadTime {
    /// Nanoseconds on a processor.
    pub run_ns: u64,
    /// Nanoseconds ready to run but waiting for a processor.
    pub wait_ns: u64,
}

/// The processes that belong to `root`, now: see [`Listing::tree`].
pub fn tree(root: u32) -> Vec<u32> {
    Listing::take().tree(root)
}

/// Every process of the machine at one moment, as far as this one may see them.
#[derive(Clone, Debug, Default)]
pub struct Listing {
    /// Ordered by start, so that parents come before their children.
    all: Vec<Listed>,
}

/// A process in a [`Listing`] (proc(5), /proc/PID/stat).
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Listed {
    /// Its number.
    pub pid: u32,
    /// Its name, as the kernel cuts it.
    pub name: String,
    /// Time in user mode in nanoseconds, all threads, counted in ticks of several milliseconds.
    pub user_ns: u64,
    /// Time in the kernel, likewise.
    pub system_ns: u64,
    /// When it started, in ticks since the machine did: tells it from one that had its number.
    pub started: u64,
    parent: u32,
    group: u32,
    session: u32,
    /// User and system time of children that were waited for, and of theirs.
    reaped_ns: u64,
}

impl Listing {
    /// Reads it. It takes some ten microseconds a process.
    pub fn take() -> Listing {
        let mut all: Vec<Listed> = processes().filter_map(Listed::read).collect();
        all.sort_by_key(|listed| (listed.started, listed.pid));
        Listing { all }
    }

    /// Everybody in it.
    pub fn all(&self) -> &[Listed] {
        &self.all
    }

    /// The processes that belong to `root`: itself, its descendants, and the members of its
    /// session or process group if it leads one, since a daemon's children lose their parent but
    /// not these. Empty if `root` is gone and has left nobody. Parents come before their children.
    pub fn tree(&self, root: u32) -> Vec<u32> {
        self.grown(self.belonging(root))
    }

    /// A process itself, if it is there, and those whose session or process group it leads.
    fn belonging(&self, root: u32) -> BTreeSet<u32> {
        let all = self.all.iter();
        all.filter(|one| one.pid == root || one.session == root || one.group == root)
            .map(|one| one.pid)
            .collect()
    }

    /// These and their descendants, parents before their children.
    fn grown(&self, mut members: BTreeSet<u32>) -> Vec<u32> {
        loop {
            let before = members.len();
            for one in &self.all {
                if members.contains(&one.parent) {
                    members.insert(one.pid);
                }
            }
            if members.len() == before {
                break;
            }
        }
        let pids = self.all.iter().map(|one| one.pid);
        pids.filter(|pid| members.contains(pid)).collect()
    }
}

/// Processor time of process `pid` in nanoseconds, all its threads, the exited ones, too.
pub fn cpu_ns(pid: u32) -> Option<u64> {
    let pid = Pid::from_raw(i32::try_from(pid).ok()?);
    let time = clock_getcpuclockid(pid).ok()?.now().ok()?;
    u64::try_from(time.tv_sec())
        .ok()?
        .checked_mul(1_000_000_000)?
        .checked_add(u64::try_from(time.tv_nsec()).ok()?)
}

/// The memory of `pids` together, now.
pub fn memory(pids: &[u32]) -> Memory {
    let mut sum = Memory::default();
    for pid in pids {
        // A process may exit between the listing and here: it has no memory any more.
        let Ok(status) = fs::read_to_string(format!("/proc/{pid}/status")) else {
            continue;
        };
        let bytes = |name| entry(&status, name).and_then(kibibytes).unwrap_or(0);
        sum.resident_bytes += bytes("VmRSS");
        sum.anonymous_bytes += bytes("RssAnon");
        sum.peak_bytes += bytes("VmHWM");
    }
    let divided = pids.iter().map(|pid| divided(*pid));
    let divided: Option<Vec<Divided>> = divided.collect();
    sum.proportional_bytes = divided
        .as_ref()
        .and_then(|all| all.iter().map(|one| one.all).sum());
    sum.own_bytes = divided.and_then(|all| all.iter().map(|one| one.own).sum());
    sum
}

/// Resident memory of `pids` together with each shared page divided among all processes that have
/// it, in bytes (proc(5), smaps_rollup, Pss); none if it may not be read for one of them. It costs
/// the kernel a walk over their page tables.
pub fn proportional_bytes(pids: &[u32]) -> Option<u64> {
    pids.iter().map(|pid| divided(*pid)?.all).sum()
}

/// What several processes have together, or one of them at several addresses.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Shared {
    /// Their resident memory with each page divided among all places that have it, in bytes (Pss);
    /// none if it may not be read for one of them.
    pub proportional_bytes: Option<u64>,
    /// How much counts more than once in their resident memory, in bytes: pages beside those of
    /// files (RssAnon and RssShmem of /proc/PID/status, beyond Pss_Anon and Pss_Shmem of
    /// smaps_rollup, since Linux 5.4). Zero if the kernel doesn't tell.
    pub repeated_bytes: u64,
}

/// What `pids` share. A single process is only asked if it has much shared memory, since the walk
/// over its page tables keeps it from changing its memory meanwhile: else it shares nothing.
pub fn shared(pids: &[u32]) -> Shared {
    let sum = |name: &str| -> u64 {
        let each = pids.iter().map(|pid| format!("/proc/{pid}/status"));
        each.filter_map(|status| status_bytes(&status, name)).sum()
    };
    let shared = sum("RssShmem");
    if pids.len() < 2 && shared < MUCH_SHARED_BYTES {
        return Shared::default();
    }
    let divided: Option<Vec<Divided>> = pids.iter().map(|pid| divided(*pid)).collect();
    let of = |part: fn(&Divided) -> Option<u64>| -> Option<u64> {
        divided.as_ref()?.iter().map(part).sum()
    };
    let resident = sum("RssAnon") + shared;
    let own = of(|one| one.own);
    Shared {
        proportional_bytes: of(|one| one.all),
        repeated_bytes: own.map_or(0, |own| resident.saturating_sub(own)),
    }
}

/// So much that it would matter if it counted more than once.
const MUCH_SHARED_BYTES: u64 = 1 << 20;

/// Memory of one process with shared pages divided: see [`Memory`].
struct Divided {
    all: Option<u64>,
    own: Option<u64>,
}

/// One that has exited has none; none if it may not be read.
fn divided(pid: u32) -> Option<Divided> {
    let text = match fs::read_to_string(format!("/proc/{pid}/smaps_rollup")) {
        Ok(text) => text,
        Err(error) if is_gone(&error) => {
            let nothing = Some(0);
            return Some(Divided {
                all: nothing,
                own: nothing,
            });
        }
        Err(_) => return None,
    };
    let bytes = |name| entry(&text, name).and_then(kibibytes);
    let swapped = bytes("SwapPss").unwrap_or(0);
    let own = || Some(bytes("Pss_Anon")? + bytes("Pss_Shmem")? + swapped);
    Some(Divided {
        all: bytes("Pss"),
        own: own(),
    })
}

/// Whether a file of a process could not be read because the process has exited.
fn is_gone(error: &io::Error) -> bool {
    let gone = [Errno::NOENT, Errno::SRCH].map(Errno::raw_os_error);
    error
        .raw_os_error()
        .is_some_and(|code| gone.contains(&code))
}

/// Resident memory of `pids` together in bytes, as the kernel's own estimate (proc(5), statm):
/// a fraction of what [`memory`] costs, and a few dozen pages a thread off.
pub fn resident_bytes(pids: &[u32]) -> u64 {
    let pages = |pid: &u32| -> Option<u64> {
        let text = fs::read_to_string(format!("/proc/{pid}/statm")).ok()?;
        text.split_whitespace().nth(1)?.parse().ok()
    };
    pids.iter().filter_map(pages).sum::<u64>() * rustix::param::page_size() as u64
}

/// How many descriptors process `pid` has open. The kernel says it at once since Linux 6.2;
/// before, they are counted one by one.
pub fn descriptors(pid: u32) -> Option<u64> {
    let folder = format!("/proc/{pid}/fd");
    match fs::metadata(&folder).ok()?.len() {
        0 => Some(fs::read_dir(&folder).ok()?.count() as u64),
        count => Some(count),
    }
}

/// The number of the calling thread, for [`thread_time`].
pub fn own_thread() -> u32 {
    rustix::thread::gettid()
        .as_raw_nonzero()
        .get()
        .unsigned_abs()
}

/// Processor time of a thread of this process (proc(5), schedstat).
pub fn thread_time(thread: u32) -> Option<ThreadTime> {
    schedstat(&format!("/proc/self/task/{thread}/schedstat"))
}

/// Processor time of the calling thread so far.
pub fn own_time() -> Option<ThreadTime> {
    thread_time(own_thread())
}

impl ThreadTime {
    /// What was used from one reading to a later one.
    pub fn between(from: Option<ThreadTime>, to: Option<ThreadTime>) -> Option<ThreadTime> {
        let (from, to) = from.zip(to)?;
        Some(ThreadTime {
            run_ns: to.run_ns.saturating_sub(from.run_ns),
            wait_ns: to.wait_ns.saturating_sub(from.wait_ns),
        })
    }
}

/// Processor time of this process in nanoseconds.
pub fn own_cpu_ns() -> Option<u64> {
    cpu_ns(std::process::id())
}

/// Peak resident memory of this process in bytes. From VmHWM, since getrusage(2) would report the
/// peak of whoever called exec.
pub fn own_peak_bytes() -> Option<u64> {
    own_memory("VmHWM")
}

/// Resident memory of this process now, in bytes: its code, its heap and what it has mapped.
pub fn own_resident_bytes() -> Option<u64> {
    own_memory("VmRSS")
}

fn own_memory(name: &str) -> Option<u64> {
    status_bytes("/proc/self/status", name)
}

/// Peak resident memory of the tree of `root` in bytes: the sum of each process's own peak (VmHWM).
/// Unlike [`memory`] it costs the processes nothing; none where nobody is left.
pub fn peak_bytes(root: u32) -> Option<u64> {
    peak_bytes_of(&tree(root))
}

/// The same of these processes.
pub fn peak_bytes_of(pids: &[u32]) -> Option<u64> {
    let own = |pid: &u32| status_bytes(&format!("/proc/{pid}/status"), "VmHWM");
    pids.iter().filter_map(own).reduce(|a, b| a + b)
}

fn status_bytes(path: &str, name: &str) -> Option<u64> {
    let status = fs::read_to_string(path).ok()?;
    entry(&status, name).and_then(kibibytes)
}

/// Watches a tree of processes, so that what exits is not forgotten.
#[derive(Debug)]
pub struct TreeWatch {
    root: u32,
    /// Processes that belong to it although they left the tree, and when they started.
    adopted: BTreeSet<(u32, u64)>,
    cpu: Account,
    user: Ledger<u32>,
    system: Ledger<u32>,
    wait: Ledger<(u32, u32)>,
    voluntary: Ledger<(u32, u32)>,
    involuntary: Ledger<(u32, u32)>,
}

impl TreeWatch {
    /// Watches `root` and what belongs to it (see [`tree`]).
    pub fn new(root: u32) -> TreeWatch {
        TreeWatch {
            root,
            adopted: BTreeSet::new(),
            cpu: Account::default(),
            user: Ledger::default(),
            system: Ledger::default(),
            wait: Ledger::default(),
            voluntary: Ledger::default(),
            involuntary: Ledger::default(),
        }
    }

    /// From now on a process of this `listing` belongs to the tree, too, with all that it starts:
    /// one that left the session and lost its parent, which only its owner can tell.
    pub fn adopt(&mut self, pid: u32, listing: &Listing) {
        let found = listing.all.iter().find(|one| one.pid == pid);
        self.adopted.extend(found.map(|one| (one.pid, one.started)));
    }

    /// The processes that belong to the tree in this `listing`. Parents come before their children.
    pub fn pids(&self, listing: &Listing) -> Vec<u32> {
        let mut members = listing.belonging(self.root);
        let listed = listing.all.iter();
        let adopted = listed.filter(|one| self.adopted.contains(&(one.pid, one.started)));
        members.extend(adopted.flat_map(|one| listing.belonging(one.pid)));
        listing.grown(members)
    }

    /// What the tree has used until now. What lives shorter than the time between two samples is
    /// seen only through its parent's account of reaped children, which counts in ticks.
    pub fn sample(&mut self) -> Usage {
        self.sample_of(&Listing::take())
    }

    /// The same with a listing that was taken just before.
    pub fn sample_of(&mut self, listing: &Listing) -> Usage {
        let pids = self.pids(listing);
        // Before the clocks, and parents first: what is reaped in between is missed now and seen
        // the next time, where the other order would count it twice for good.
        let stats: Vec<Listed> = pids.iter().filter_map(|&pid| Listed::read(pid)).collect();
        let mut waits = BTreeMap::new();
        for &pid in &pids {
            for thread in threads(pid) {
                let path = format!("/proc/{pid}/task/{thread}/schedstat");
                if let Some(time) = schedstat(&path) {
                    waits.insert((pid, thread), time.wait_ns);
                }
            }
        }
        let threads = waits.len() as u32;
        let seen = stats.iter().filter_map(|stat| {
            Some(Seen {
                pid: stat.pid,
                started: stat.started,
                parent: stat.parent,
                cpu_ns: cpu_ns(stat.pid)?,
                reaped_ns: stat.reaped_ns,
            })
        });
        let cpu_ns = self.cpu.update(&seen.collect::<Vec<Seen>>());
        self.wait.update(waits);
        let part = |of: fn(&Listed) -> u64| stats.iter().map(move |stat| (stat.pid, of(stat)));
        self.user.update(part(|stat| stat.user_ns).collect());
        self.system.update(part(|stat| stat.system_ns).collect());
        Usage {
            cpu_ns,
            wait_ns: self.wait.total(),
            user_ns: self.user.total(),
            system_ns: self.system.total(),
            processes: pids.len() as u32,
            threads,
        }
    }

    /// How often the tree's threads left a processor until now. A thread that exits takes what it
    /// did since the call before with it. Reads a file a thread.
    pub fn switches(&mut self, listing: &Listing) -> Switches {
        let mut now = [BTreeMap::new(), BTreeMap::new()];
        for pid in self.pids(listing) {
            for thread in threads(pid) {
                let path = format!("/proc/{pid}/task/{thread}/status");
                let Ok(status) = fs::read_to_string(path) else {
                    continue;
                };
                let names = ["voluntary_ctxt_switches", "nonvoluntary_ctxt_switches"];
                for (now, name) in now.iter_mut().zip(names) {
                    let count = entry(&status, name).and_then(|text| text.parse().ok());
                    now.insert((pid, thread), count.unwrap_or(0));
                }
            }
        }
        let [voluntary, involuntary] = now;
        self.voluntary.update(voluntary);
        self.involuntary.update(involuntary);
        Switches {
            voluntary: self.voluntary.total(),
            involuntary: self.involuntary.total(),
        }
    }
}

/// Counters that grow while their owner lives, and what the owners that are gone had reached.
#[derive(Debug)]
struct Ledger<K> {
    alive: BTreeMap<K, u64>,
    gone: u64,
}

impl<K> Default for Ledger<K> {
    fn default() -> Ledger<K> {
        Ledger {
            alive: BTreeMap::new(),
            gone: 0,
        }
    }
}

impl<K: Ord> Ledger<K> {
    fn update(&mut self, now: BTreeMap<K, u64>) {
        let before = std::mem::replace(&mut self.alive, now);
        for (key, last) in before {
            // A counter that fell is that of another owner, who got the number of one that exited.
            if self.alive.get(&key).is_none_or(|value| *value < last) {
                self.gone += last;
            }
        }
    }

    fn total(&self) -> u64 {
        self.alive.values().sum::<u64>() + self.gone
    }
}

impl Listed {
    fn read(pid: u32) -> Option<Listed> {
        Listed::parse(&fs::read_to_string(format!("/proc/{pid}/stat")).ok()?)
    }

    fn parse(text: &str) -> Option<Listed> {
        // The name stands in parentheses and may hold anything, parentheses and blanks, too.
        let (pid, rest) = text.split_once(" (")?;
        let (name, rest) = rest.rsplit_once(')')?;
        let rest: Vec<&str> = rest.split_whitespace().collect();
        let field = |number: usize| rest.get(number - 3)?.parse::<u64>().ok();
        let small = |number: usize| u32::try_from(field(number)?).ok();
        let tick_ns = Ticks::each_ns();
        Some(Listed {
            pid: pid.parse().ok()?,
            name: name.to_owned(),
            parent: small(4)?,
            group: small(5)?,
            session: small(6)?,
            user_ns: field(14)? * tick_ns,
            system_ns: field(15)? * tick_ns,
            reaped_ns: (field(16)? + field(17)?) * tick_ns,
            started: field(22)?,
        })
    }
}

fn processes() -> impl Iterator<Item = u32> {
    numbers("/proc")
}

/// The threads of process `pid`; none if it is gone.
pub fn threads(pid: u32) -> impl Iterator<Item = u32> {
    numbers(&format!("/proc/{pid}/task"))
}

/// The names in a directory that are numbers; none if it cannot be read.
fn numbers(directory: &str) -> impl Iterator<Item = u32> + use<> {
    let entries = fs::read_dir(directory).into_iter().flatten().flatten();
    entries.filter_map(|entry| entry.file_name().to_str()?.parse().ok())
}

fn schedstat(path: &str) -> Option<ThreadTime> {
    let text = fs::read_to_string(path).ok()?;
    let mut fields = text.split_whitespace().map(str::parse);
    Some(ThreadTime {
        run_ns: fields.next()?.ok()?,
        wait_ns: fields.next()?.ok()?,
    })
}

#[cfg(test)]
mod tests;
