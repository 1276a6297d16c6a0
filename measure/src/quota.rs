//! What control groups allow a process of the processors, and how often they stopped it. See
//! cgroups(7), Documentation/admin-guide/cgroup-v2.rst and Documentation/scheduler/sched-bwc.rst.
//!
//! A quota holds for everybody below the group that has it, so a process is under the smallest of
//! its own group and of all groups above. They are walked from the group that /proc/PID/cgroup
//! names up to the top of the mount that /proc/PID/mountinfo names: the controller `cpu` belongs to
//! one hierarchy, of version 1 or 2. What lies above the top of a container's mount can't be seen;
//! what can't be seen or read is *unknown*, which is not the same as *no limit*.

use std::fs;
use std::io::ErrorKind;
use std::path::{Path, PathBuf};

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// The name that the first control group namespace has (include/linux/proc_ns.h): whoever is in
/// another one sees a part of the hierarchy as if it were the whole.
const FIRST_NAMESPACE: &str = "cgroup:[4026531835]";

/// How much processor time control groups allow a process.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Quota {
    /// No group that the process is in has a quota.
    Unlimited,
    /// The smallest quota, in thousandths of a CPU.
    Millicpus(u64),
    /// It can't be told; the text says why.
    Unknown(String),
}

impl Quota {
    /// The smallest quota in CPUs, where there is one.
    pub fn cpus(&self) -> Option<f64> {
        match self {
            Quota::Millicpus(milli) => Some(*milli as f64 / 1000.0),
            Quota::Unlimited | Quota::Unknown(_) => None,
        }
    }
}

/// The name of what has all controllers that no hierarchy of version 1 has: version 2.
pub const UNIFIED: &str = "";

/// A control group.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Place {
    /// Its folder.
    pub folder: PathBuf,
    /// Its path inside the hierarchy, as the kernel names it.
    pub path: String,
}

impl Place {
    /// The group of this process in the hierarchy that has `controller`, a name of version 1 or
    /// [`UNIFIED`]; none where that is not mounted.
    pub fn own(controller: &str) -> Option<Place> {
        Place::of_process("self", controller)
    }

    /// The same of process `pid`, as far as this process sees it.
    pub fn of(pid: u32, controller: &str) -> Option<Place> {
        Place::of_process(&pid.to_string(), controller)
    }

    fn of_process(process: &str, controller: &str) -> Option<Place> {
        let text = |path: &str| fs::read_to_string(path).unwrap_or_default();
        let (groups, mounts) = (
            text(&format!("/proc/{process}/cgroup")),
            text("/proc/self/mountinfo"),
        );
        Place::find(Path::new("/"), &groups, &mounts, controller)
    }

    fn find(root: &Path, own: &str, mounts: &str, controller: &str) -> Option<Place> {
        let path = path_of(own, controller)?;
        let mount = Mount::find(mounts, controller)?;
        let top = || root.join(mount.place.trim_start_matches('/'));
        Some(Place {
            folder: mount.folder(root, path).unwrap_or_else(top),
            path: path.to_owned(),
        })
    }
}

/// The most memory in bytes that control groups allow this process: the smallest of its own group
/// and those above, as far as they can be seen (cgroup-v2.rst, memory.max; cgroup-v1/memory.rst,
/// where a limit that nobody has set is 2^63). None where none of them says.
pub fn memory_bytes() -> Option<u64> {
    let of = |controller, file| memory_bytes_at(&Place::own(controller)?.folder, file);
    let all = [
        of("memory", "memory.limit_in_bytes"),
        of(UNIFIED, "memory.max"),
    ];
    all.into_iter().flatten().min()
}

/// The same, of whoever is in the group in `folder`. The topmost group of version 2 has no such
/// file.
fn memory_bytes_at(folder: &Path, file: &str) -> Option<u64> {
    let limit = |group: &Path| fs::read_to_string(group.join(file)).ok();
    let limits = folder.ancestors().map_while(limit);
    // "max" is no number.
    limits.filter_map(|text| text.trim().parse().ok()).min()
}

/// The path of a process in the hierarchy of `controller`, by its file `cgroup`: `0::/path` is
/// version 2, `3:cpu,cpuacct:/path` version 1.
fn path_of<'a>(own: &'a str, controller: &str) -> Option<&'a str> {
    own.lines().find_map(|line| {
        let mut parts = line.splitn(3, ':').skip(1);
        let (controllers, path) = (parts.next()?, parts.next()?);
        let found = controllers.split(',').any(|found| found == controller);
        found.then_some(path)
    })
}

/// The groups that decide how much processor time a process gets: its own, and all above.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Groups {
    /// From the process's own upwards.
    levels: Vec<PathBuf>,
    version: Version,
    /// What can't be seen of them, if there is something.
    hidden: Option<String>,
}

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
enum Version {
    One,
    #[default]
    Two,
}

impl Groups {
    /// Those of this process.
    pub fn own() -> Groups {
        Groups::find(Path::new("/"), "self")
    }

    /// Those of process `pid`.
    pub fn of(pid: u32) -> Groups {
        Groups::find(Path::new("/"), &pid.to_string())
    }

    /// Those of a process of the machine whose files are below `root`.
    pub fn find(root: &Path, process: &str) -> Groups {
        let proc = root.join("proc").join(process);
        let read = |name: &str| {
            fs::read_to_string(proc.join(name))
                .map_err(|error| format!("/proc/{process}/{name} can't be read: {error}"))
        };
        let (own, mounts) = match (read("cgroup"), read("mountinfo")) {
            (Ok(own), Ok(mounts)) => (own, mounts),
            (Err(why), _) | (_, Err(why)) => return Groups::unseen(Version::Two, why),
        };
        let mut groups = Groups::walk(root, &own, &mounts);
        let namespace = fs::read_link(proc.join("ns/cgroup"));
        if namespace.is_ok_and(|name| name.as_os_str() != FIRST_NAMESPACE) {
            groups.hide("control groups outside this container aren't visible");
        }
        groups
    }

    fn walk(root: &Path, own: &str, mounts: &str) -> Groups {
        // A controller that version 1 has is not in version 2, where both are mounted.
        let hierarchy = ["cpu", UNIFIED]
            .into_iter()
            .find_map(|controller| Some((controller, path_of(own, controller)?)));
        let Some((controller, path)) = hierarchy else {
            let why = "this kernel has no control groups with a CPU controller";
            return Groups::unseen(Version::Two, why.to_owned());
        };
        let version = match controller {
            UNIFIED => Version::Two,
            _ => Version::One,
        };
        let Some(mount) = Mount::find(mounts, controller) else {
            let why = "the control groups' CPU controller isn't mounted anywhere";
            return Groups::unseen(version, why.to_owned());
        };
        let mut groups = Groups {
            levels: Vec::new(),
            version,
            hidden: None,
        };
        if mount.top != "/" {
            groups.hide("control groups above the mounted ones aren't visible");
        }
        let place = root.join(mount.place.trim_start_matches('/'));
        // In a container the path may be that of the host, and the mount all that is shown of it.
        let mut folder = mount.folder(root, path).unwrap_or_else(|| {
            groups.hide("the process's own control group isn't mounted");
            place.clone()
        });
        loop {
            groups.levels.push(folder.clone());
            if folder == place || !folder.pop() {
                return groups;
            }
        }
    }

    fn unseen(version: Version, why: String) -> Groups {
        Groups {
            levels: Vec::new(),
            version,
            hidden: Some(why),
        }
    }

    fn hide(&mut self, why: &str) {
        self.hidden.get_or_insert_with(|| why.to_owned());
    }

    /// The same with those of another process; each counts once.
    #[must_use]
    pub fn and(mut self, other: Groups) -> Groups {
        for level in other.levels {
            if !self.levels.contains(&level) {
                self.levels.push(level);
            }
        }
        self.hidden = self.hidden.or(other.hidden);
        self
    }

    /// The same but for the one in this folder.
    #[must_use]
    pub fn without(mut self, folder: &Path) -> Groups {
        self.levels.retain(|level| level != folder);
        self
    }

    /// The smallest of their quotas now.
    pub fn quota(&self) -> Quota {
        let mut smallest = None;
        let mut hidden = self.hidden.clone();
        for level in &self.levels {
            match self.version.quota(level) {
                Ok(Some(milli)) => {
                    smallest = Some(smallest.map_or(milli, |other: u64| other.min(milli)));
                }
                Ok(None) => {}
                Err(why) => {
                    hidden.get_or_insert(why);
                }
            }
        }
        match (smallest, hidden) {
            (Some(milli), _) => Quota::Millicpus(milli),
            (None, Some(why)) => Quota::Unknown(why),
            (None, None) => Quota::Unlimited,
        }
    }

    /// Time for which quotas kept them from processors until now, in nanoseconds, summed over
    /// groups and processors; none where no group has such an account.
    pub fn throttled_ns(&self) -> Option<u64> {
        let (name, unit_ns) = match self.version {
            Version::One => ("throttled_time", 1),
            Version::Two => ("throttled_usec", 1000),
        };
        let read = |level: &PathBuf, file: &str| {
            let text = fs::read_to_string(level.join(file)).ok()?;
            Some(value(&text, name)? * unit_ns)
        };
        // A group's own account has nothing of what the groups above did to it ...
        let each = self
            .levels
            .iter()
            .filter_map(|level| read(level, "cpu.stat"));
        let sum = each.reduce(|sum, ns| sum + ns);
        // ... but for a younger one (Linux 6.6), which sees through the top of a container.
        let local = self
            .levels
            .iter()
            .map(|level| read(level, "cpu.stat.local"));
        sum.max(local.max().flatten())
    }
}

impl Version {
    /// The quota of a group in thousandths of a CPU; none where it has none.
    fn quota(self, level: &Path) -> Result<Option<u64>, String> {
        let read = |name: &str| {
            let path = level.join(name);
            match fs::read_to_string(&path) {
                Ok(text) => Ok(Some(text.trim().to_owned())),
                // The top group has none, nor has one without the controller.
                Err(error) if error.kind() == ErrorKind::NotFound => Ok(None),
                Err(error) => Err(format!("{} can't be read: {error}", path.display())),
            }
        };
        let (quota, period) = match self {
            Version::One => (read("cpu.cfs_quota_us")?, read("cpu.cfs_period_us")?),
            Version::Two => match read("cpu.max")? {
                None => (None, None),
                Some(text) => match text.split_once(' ') {
                    Some((quota, period)) => (Some(quota.to_owned()), Some(period.to_owned())),
                    None => (Some(text), None),
                },
            },
        };
        let Some(quota) = quota else {
            return Ok(None);
        };
        if quota == "max" || quota == "-1" {
            return Ok(None);
        }
        let period = period.as_deref().map_or(Ok(0), str::parse::<u64>);
        match (quota.parse::<u64>(), period) {
            (Ok(quota), Ok(period)) if period > 0 => Ok(Some(quota * 1000 / period)),
            _ => Err(format!(
                "can't make sense of the quota in {}: {quota}",
                level.display()
            )),
        }
    }
}

/// The mount of a hierarchy.
#[derive(Debug)]
struct Mount {
    /// The group that is its top.
    top: String,
    /// Where it is.
    place: String,
}

impl Mount {
    /// The mount that shows the most of the hierarchy of `controller`: whose top is the highest.
    fn find(mounts: &str, controller: &str) -> Option<Mount> {
        let mounts = mounts.lines();
        let mounts = mounts.filter_map(|line| Mount::parse(line, controller));
        mounts.min_by_key(|mount| mount.top.len())
    }

    /// The folder of the group with this path, where the mount shows it.
    fn folder(&self, root: &Path, path: &str) -> Option<PathBuf> {
        let place = root.join(self.place.trim_start_matches('/'));
        let folder = place.join(below(path, &self.top)?);
        folder.is_dir().then_some(folder)
    }

    /// A line of mountinfo (proc_pid_mountinfo(5)), if it mounts what has the controller.
    fn parse(line: &str, controller: &str) -> Option<Mount> {
        let (mount, source) = line.split_once(" - ")?;
        let source: Vec<&str> = source.split(' ').collect();
        let found = match controller {
            UNIFIED => source[0] == "cgroup2",
            _ => {
                let options = source.get(2)?;
                source[0] == "cgroup" && options.split(',').any(|option| option == controller)
            }
        };
        let mut fields = mount.split(' ').skip(3);
        let (top, place) = (fields.next()?, fields.next()?);
        found.then(|| Mount {
            top: unescaped(top),
            place: unescaped(place),
        })
    }
}

/// What of `path` lies below `top`; none if it does not.
fn below<'a>(path: &'a str, top: &str) -> Option<&'a str> {
    let rest = path.strip_prefix(top.trim_end_matches('/'))?;
    if rest.split('/').any(|part| part == "..") {
        return None;
    }
    (rest.is_empty() || rest.starts_with('/')).then(|| rest.trim_matches('/'))
}

/// Blanks and the like are written as `\040` there.
fn unescaped(text: &str) -> String {
    let mut all = String::new();
    let mut rest = text;
    while let Some(at) = rest.find('\\') {
        let code = rest.get(at + 1..at + 4);
        let byte = code.and_then(|code| u8::from_str_radix(code, 8).ok());
        all.push_str(&rest[..at]);
        match byte {
            Some(byte) => {
                all.push(char::from(byte));
                rest = &rest[at + 4..];
            }
            None => {
                all.push('\\');
                rest = &rest[at + 1..];
            }
        }
    }
    all + rest
}

/// The value of a `name value` line, as the files of control groups have them.
pub fn value(text: &str, name: &str) -> Option<u64> {
    text.lines().find_map(|line| {
        let (found, value) = line.split_once(' ')?;
        (found == name).then(|| value.trim().parse().ok())?
    })
}

#[cfg(test)]
mod tests;
