//! What a subject may use at most, and how that is kept: by a control group, or for memory, where
//! none can be made, by the size of each process's address space (setrlimit(2), RLIMIT_AS).
//!
//! Who is limited starts behind a shell that enters the group and becomes the program, so that
//! nothing it does is outside of it.

use std::fs;
use std::io::{Error, ErrorKind, Result as IoResult};
use std::path::Path;
use std::sync::Arc;

use measure::units::parse_size;
use serde::de::Error as _;
use serde::{Deserialize, Deserializer};
use statistics::format::{bytes, digits};

use crate::{Controller, Group};

/// The time in which a quota may be used up, in microseconds: the kernel's own choice.
const PERIOD_US: u64 = 100_000;
/// The least quota that the kernel takes is 1 ms of that.
const MILLICPUS_MIN: u64 = 10;
const MILLICPUS_MAX: u64 = 1_000_000;

/// What to do where there is no group.
const HOW: &str = "run ringside as root, or as `systemd-run --user --scope -p Delegate=yes \
                   ringside …`";

/// What a subject may use at most, as `[limits]` says it.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Limits {
    /// Processor time, in thousandths of a processor.
    #[serde(default, rename = "cpu", deserialize_with = "millicpus")]
    pub millicpus: Option<u64>,
    /// Memory, in bytes.
    #[serde(default, rename = "memory", deserialize_with = "memory")]
    pub memory_bytes: Option<u64>,
}

/// How limits are kept, for somebody who hasn't been started.
#[derive(Debug)]
pub struct Held {
    /// What they are.
    pub limits: Limits,
    /// What keeps them, and accounts for who is in it.
    pub group: Option<Arc<Group>>,
    /// Memory is limited by the address space of each process, and not by the group.
    pub by_address_space: bool,
}

impl Limits {
    /// Whether nothing is limited.
    pub fn is_none(&self) -> bool {
        *self == Limits::default()
    }

    /// These, and where they say nothing, those of `other`.
    #[must_use]
    pub fn or(self, other: Limits) -> Limits {
        Limits {
            millicpus: self.millicpus.or(other.millicpus),
            memory_bytes: self.memory_bytes.or(other.memory_bytes),
        }
    }

    /// `0.5 CPUs and 512 MiB of memory`.
    pub fn in_words(&self) -> String {
        let cpu = self.millicpus.map(cpus_in_words);
        let memory = self.memory_bytes;
        let memory = memory.map(|limit| format!("{} of memory", bytes(limit as f64)));
        let both: Vec<String> = [cpu, memory].into_iter().flatten().collect();
        both.join(" and ")
    }

    /// Prepares what keeps them.
    ///
    /// # Errors
    /// Which of them can't be kept here and why, as the end of a sentence about whom they are for,
    /// and what to do.
    pub fn hold(self) -> Result<Held, String> {
        let mut group = self.make();
        if let Some(millicpus) = self.millicpus {
            let limited = match &mut group {
                Some(group) => group.limit_cpu(millicpus),
                None => Err(Error::other("this program may not make a control group")),
            };
            limited.map_err(|why| {
                let wanted = cpus_in_words(millicpus);
                format!("can't be limited to {wanted} (`cpu` in [limits]): {why}; {HOW}")
            })?;
        }
        let by_address_space = self.memory_bytes.is_some_and(|bytes| {
            let limited = group.as_ref().map(|group| group.limit_memory(bytes));
            !matches!(limited, Some(Ok(())))
        });
        Ok(Held {
            limits: self,
            group: group.map(Arc::new),
            by_address_space,
        })
    }

    fn make(self) -> Option<Group> {
        if Controller::CpuAccount.place().is_some() {
            return Group::make();
        }
        let cpu = self.millicpus.map(|_| "cpu.max");
        let memory = self.memory_bytes.map(|_| "memory.max");
        let both: Vec<&str> = [cpu, memory].into_iter().flatten().collect();
        // Memory can be limited in another way, processor time can't.
        let cpu: Vec<&str> = cpu.into_iter().collect();
        Group::make_with(&both).or_else(|| Group::make_with(&cpu))
    }
}

/// `0.5 CPUs`, `1 CPU`.
pub(crate) fn cpus_in_words(millicpus: u64) -> String {
    match millicpus {
        1000 => "1 CPU".to_owned(),
        _ => format!("{} CPUs", millicpus as f64 / 1000.0),
    }
}

impl Held {
    /// The command that enters the group and becomes `program` with these arguments.
    pub fn behind(&self, program: &str, arguments: &[String]) -> (String, Vec<String>) {
        let mut words: Vec<String> = ["-c", ENTER, "ringside-enter"].map(String::from).into();
        if let Some(bytes) = self.limits.memory_bytes.filter(|_| self.by_address_space) {
            words.push(format!("kib={}", bytes / 1024));
        }
        let lists = self.group.iter().flat_map(|group| group.lists());
        words.extend(lists.map(|list| list.display().to_string()));
        words.extend(["--".to_owned(), program.to_owned()]);
        words.extend_from_slice(arguments);
        ("/bin/sh".to_owned(), words)
    }

    /// That it ran out of its memory, if it did, and what to do.
    pub fn out_of_memory(&self) -> Option<String> {
        let limit = bytes(self.limits.memory_bytes? as f64);
        (self.strain().oom_kills > 0).then(|| {
            format!(
                "out of memory (OOM): the kernel killed it because it needed more than its limit \
                 of {limit}; raise `memory` in [limits]"
            )
        })
    }

    /// That it may have got less memory than it asked for, and what to do.
    pub fn short_of_addresses(&self) -> Option<String> {
        let limit = self.limits.memory_bytes.filter(|_| self.by_address_space)?;
        Some(format!(
            "its address space is limited to {}, because no control group can limit its memory \
             here, and it may need more: raise `memory` in [limits]",
            bytes(limit as f64)
        ))
    }

    /// For how long it had to wait for processor time, if it had to, and what to do.
    pub fn held_back(&self) -> Option<String> {
        let strain = self.strain();
        let cpus = self.limits.millicpus.filter(|_| strain.throttled_ns > 0)?;
        Some(format!(
            "its limit of {} held it back for {} s: raise `cpu` in [limits] if it needs longer to \
             start",
            cpus_in_words(cpus),
            digits(strain.throttled_ns as f64 / 1e9)
        ))
    }
}

/// Enters every list before `--`, and becomes what follows.
const ENTER: &str = r#"
while [ "$1" != -- ]; do
    case "$1" in
        kib=*) ulimit -v "${1#kib=}" ;;
        *) echo $$ > "$1" ;;
    esac || exit 125
    shift
done
shift
exec "$@"
"#;

impl Group {
    /// Allows everybody in it so many thousandths of a processor together.
    fn limit_cpu(&mut self, millicpus: u64) -> IoResult<()> {
        if let Some(place) = Controller::Cpu.place() {
            self.enter(Controller::Cpu, &place)?;
        }
        self.write_quota(millicpus * PERIOD_US / 1000)
    }

    /// Of each period, to the folders that it has.
    pub(crate) fn write_quota(&mut self, quota_us: u64) -> IoResult<()> {
        match (self.folder(Controller::Cpu), self.folder(Controller::All)) {
            (Some(folder), _) => {
                set(folder, "cpu.cfs_period_us", &PERIOD_US.to_string())?;
                set(folder, "cpu.cfs_quota_us", &quota_us.to_string())?;
            }
            (None, Some(folder)) => set(folder, "cpu.max", &format!("{quota_us} {PERIOD_US}"))?,
            (None, None) => return Err(Error::other("no control group has the CPU controller")),
        }
        self.has_quota = true;
        Ok(())
    }

    /// Allows everybody in it so much memory together, and nothing beyond it in swap.
    pub(crate) fn limit_memory(&self, bytes: u64) -> IoResult<()> {
        let bytes = bytes.to_string();
        match (
            self.folder(Controller::Memory),
            self.folder(Controller::All),
        ) {
            (Some(folder), _) => {
                set(folder, "memory.limit_in_bytes", &bytes)?;
                // Not there where the kernel doesn't account for swap.
                let _ = set(folder, "memory.memsw.limit_in_bytes", &bytes);
                Ok(())
            }
            (None, Some(folder)) => {
                set(folder, "memory.max", &bytes)?;
                let _ = set(folder, "memory.swap.max", "0");
                Ok(())
            }
            (None, None) => Err(Error::from(ErrorKind::NotFound)),
        }
    }
}

/// Writes a file that the kernel has made.
fn set(folder: &Path, name: &str, value: &str) -> IoResult<()> {
    let file = folder.join(name);
    if !file.is_file() {
        let what = format!("the control groups made here have no {name}");
        return Err(Error::new(ErrorKind::NotFound, what));
    }
    fs::write(&file, value)
        .map_err(|error| Error::new(error.kind(), format!("{}: {error}", file.display())))
}

/// A number of processors, in quotes or without.
#[derive(Deserialize)]
#[serde(
    untagged,
    expecting = "expected a number of CPUs, such as \"0.5\" or 2"
)]
enum Cpus {
    Text(String),
    Number(f64),
}

fn millicpus<'de, D: Deserializer<'de>>(from: D) -> Result<Option<u64>, D::Error> {
    let text = match Cpus::deserialize(from)? {
        Cpus::Text(text) => text,
        Cpus::Number(number) => number.to_string(),
    };
    let number = text.trim().parse::<f64>().ok();
    let milli = number.map(|cpus| (cpus * 1000.0).round() as u64);
    match milli.filter(|milli| (MILLICPUS_MIN..=MILLICPUS_MAX).contains(milli)) {
        Some(milli) => Ok(Some(milli)),
        None => Err(D::Error::custom(format!(
            "`{text}` isn't a number of CPUs; expected one from 0.01 to 1000, such as \"0.5\" for \
             half of one"
        ))),
    }
}

fn memory<'de, D: Deserializer<'de>>(from: D) -> Result<Option<u64>, D::Error> {
    let text = String::deserialize(from)?;
    let bytes = parse_size(&text).map_err(D::Error::custom)?;
    match bytes {
        0 => Err(D::Error::custom(
            "nothing runs without memory; expected a size, such as \"512M\"",
        )),
        _ => Ok(Some(bytes)),
    }
}
