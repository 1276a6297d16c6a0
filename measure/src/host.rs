//! Facts about the machine that a figure depends on. Reading never fails: what a kernel, a
//! container or a permission hides is null. Nothing here names the machine or its owner.

mod links;
mod netlink;
mod queueing;

use rustix::process::{Resource, getrlimit};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;
use std::fs;
use std::path::Path;

use crate::quota::{Groups, Quota};
use crate::time::{unix_seconds, utc_stamp};
use links::Link;

/// The machine on which something was measured.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Host {
    /// When this was read, UTC; for the record of a run, as it ended. Null in older records.
    #[serde(default)]
    pub read_at: Option<String>,
    /// Name and release of the kernel, as in `uname -sr`.
    pub kernel: Option<String>,
    /// The processor architecture, as in `uname -m`.
    pub architecture: Option<String>,
    /// The processor's name (/proc/cpuinfo).
    pub cpu_model: Option<String>,
    /// Number of processors that are online.
    pub cpus_online: Option<u32>,
    /// How much CPU time control groups allow this process: the smallest quota of its own group and
    /// all groups above; null in older records.
    #[serde(default)]
    pub cpu_quota: Option<Quota>,
    /// Whether CPUs share cores (SMT).
    pub smt: Option<bool>,
    /// The CPU frequency governor; null if the machine doesn't show it.
    pub governor: Option<String>,
    /// Whether this is a virtual machine (the CPU's own flag).
    pub virtualised: Option<bool>,
    /// Memory in bytes.
    pub memory_bytes: Option<u64>,
    /// The kernel's clock source.
    pub clocksource: Option<String>,
    /// The state of the processor's known vulnerabilities, whose mitigations cost system calls.
    pub mitigations: Option<String>,
    /// net.ipv4.tcp_congestion_control.
    pub congestion_control: Option<String>,
    /// net.core.somaxconn: the largest backlog of a listener.
    pub somaxconn: Option<u32>,
    /// net.ipv4.ip_local_port_range: the first and the last port of outgoing connections.
    pub port_range: Option<(u16, u16)>,
    /// The limit of file descriptors that this process runs under (RLIMIT_NOFILE, soft); null if
    /// there is none.
    pub descriptor_limit: Option<u64>,
    /// The largest packet on the loopback interface in bytes.
    pub loopback_mtu: Option<u32>,
    /// The queueing disciplines of each network interface, as `tc qdisc` names them; null if the
    /// kernel doesn't show them.
    #[serde(default)]
    pub queueing: Option<BTreeMap<String, Vec<String>>>,
    /// kernel.io_uring_disabled: 0 for everyone, 1 for privileged processes, 2 for nobody.
    pub io_uring_disabled: Option<u32>,
}

impl Host {
    /// Reads the facts of this machine.
    pub fn read() -> Host {
        let name = rustix::system::uname();
        let cpuinfo = fs::read_to_string("/proc/cpuinfo").ok();
        let meminfo = fs::read_to_string("/proc/meminfo").ok();
        let links = Link::all().unwrap_or_default();
        let loopback = links.iter().find(|link| link.name == "lo");
        Host {
            read_at: Some(utc_stamp(unix_seconds())),
            kernel: Some(format!(
                "{} {}",
                name.sysname().to_string_lossy(),
                name.release().to_string_lossy()
            )),
            architecture: Some(name.machine().to_string_lossy().into_owned()),
            cpu_model: cpuinfo
                .as_deref()
                .and_then(|text| entry(text, "model name"))
                .map(str::to_owned),
            cpus_online: word("/sys/devices/system/cpu/online").and_then(|text| list_length(&text)),
            cpu_quota: Some(Groups::own().quota()),
            smt: number("/sys/devices/system/cpu/smt/active").map(|active: u8| active == 1),
            governor: word("/sys/devices/system/cpu/cpu0/cpufreq/scaling_governor"),
            virtualised: cpuinfo.as_deref().and_then(virtualised),
            memory_bytes: meminfo
                .as_deref()
                .and_then(|text| entry(text, "MemTotal"))
                .and_then(kibibytes),
            clocksource: word("/sys/devices/system/clocksource/clocksource0/current_clocksource"),
            mitigations: mitigations(Path::new("/sys/devices/system/cpu/vulnerabilities")),
            congestion_control: word("/proc/sys/net/ipv4/tcp_congestion_control"),
            somaxconn: number("/proc/sys/net/core/somaxconn"),
            port_range: word("/proc/sys/net/ipv4/ip_local_port_range")
                .and_then(|text| port_range(&text)),
            descriptor_limit: getrlimit(Resource::Nofile).current,
            loopback_mtu: loopback
                .and_then(|link| link.mtu)
                .or_else(|| number("/sys/class/net/lo/mtu")),
            queueing: queueing::read(&links),
            io_uring_disabled: number("/proc/sys/kernel/io_uring_disabled"),
        }
    }
}

impl Host {
    /// How many ports an address has for outgoing connections; none if that isn't known.
    pub fn ports(&self) -> Option<u32> {
        let (first, last) = self.port_range?;
        Some(u32::from(last.saturating_sub(first)) + 1)
    }

    /// The queueing disciplines of the loopback interface; none if they are not known.
    pub fn loopback_queueing(&self) -> Option<&[String]> {
        let loopback = self.queueing.as_ref()?.get("lo")?;
        Some(loopback)
    }

    /// The first of them that delays packets or limits their rate, if one does.
    pub fn loopback_shaper(&self) -> Option<&str> {
        let mut own = self.loopback_queueing()?.iter();
        own.find(|kind| queueing::shapes(kind)).map(String::as_str)
    }
}

/// Processor time of the whole machine since its start, in ticks (proc_stat(5)).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Ticks {
    /// All of it.
    pub all: u64,
    /// With nothing to do. Who waits for a disk leaves the processor idle.
    pub idle: u64,
    /// In interrupts and in what they put off.
    pub interrupt: u64,
    /// Taken by a hypervisor for something else.
    pub steal: u64,
    /// How many processors that is the sum of.
    pub processors: u64,
}

impl Ticks {
    fn parse(stat: &str) -> Option<Ticks> {
        let line = stat.lines().next()?.strip_prefix("cpu ")?;
        let words = line.split_whitespace().take(8);
        // user nice system idle iowait irq softirq steal
        let times: Option<Vec<u64>> = words.map(|time| time.parse().ok()).collect();
        let times = times?;
        let processor = |line: &&str| line.starts_with("cpu") && !line.starts_with("cpu ");
        Some(Ticks {
            all: times.iter().sum(),
            idle: times.get(3)? + times.get(4)?,
            interrupt: times.get(5)? + times.get(6)?,
            steal: *times.get(7)?,
            processors: stat.lines().filter(processor).count() as u64,
        })
    }

    /// How long a tick is, in nanoseconds.
    pub fn each_ns() -> u64 {
        1_000_000_000 / rustix::param::clock_ticks_per_second().max(1)
    }

    /// The share of the time since an earlier reading in which a hypervisor ran something else;
    /// none if no tick has passed.
    pub fn steal_share_since(self, before: Ticks) -> Option<f64> {
        let all = self.all.saturating_sub(before.all);
        let steal = self.steal.saturating_sub(before.steal);
        (all > 0).then(|| steal as f64 / all as f64)
    }
}

/// Reads them now; none where the machine does not show them.
pub fn ticks() -> Option<Ticks> {
    Ticks::parse(&fs::read_to_string("/proc/stat").ok()?)
}

/// The value of a `name : value` line, as /proc writes them.
pub(crate) fn entry<'a>(text: &'a str, name: &str) -> Option<&'a str> {
    text.lines().find_map(|line| {
        let (found, value) = line.split_once(':')?;
        (found.trim_end() == name).then(|| value.trim())
    })
}

/// Bytes from "1234 kB", where kB means 1024 bytes (proc(5)).
pub(crate) fn kibibytes(text: &str) -> Option<u64> {
    let number = text.strip_suffix("kB")?.trim_end();
    number.parse::<u64>().ok()?.checked_mul(1024)
}

fn word(path: &str) -> Option<String> {
    let text = fs::read_to_string(path).ok()?;
    let text = text.trim();
    (!text.is_empty()).then(|| text.to_owned())
}

fn number<N: std::str::FromStr>(path: &str) -> Option<N> {
    word(path)?.parse().ok()
}

/// How many numbers a list like "0,2-5" holds.
fn list_length(text: &str) -> Option<u32> {
    text.split(',').try_fold(0u32, |sum, part| {
        let (first, last) = part.split_once('-').unwrap_or((part, part));
        let (first, last): (u32, u32) = (first.parse().ok()?, last.parse().ok()?);
        sum.checked_add(last.checked_sub(first)?.checked_add(1)?)
    })
}

fn port_range(text: &str) -> Option<(u16, u16)> {
    let mut ports = text.split_whitespace().map(|port| port.parse().ok());
    Some((ports.next()??, ports.next()??))
}

/// The flag is x86's; other architectures do not say, and null is not "no".
fn virtualised(cpuinfo: &str) -> Option<bool> {
    let flags = entry(cpuinfo, "flags")?;
    Some(flags.split_whitespace().any(|flag| flag == "hypervisor"))
}

/// "3 mitigated, 1 vulnerable (mds), 7 not affected", from the kernel's directory of them.
fn mitigations(directory: &Path) -> Option<String> {
    let (mut mitigated, mut unaffected, mut vulnerable) = (0, 0, Vec::new());
    for file in fs::read_dir(directory).ok()?.flatten() {
        let state = fs::read_to_string(file.path()).unwrap_or_default();
        if state.starts_with("Not affected") {
            unaffected += 1;
        } else if state.starts_with("Mitigation") {
            mitigated += 1;
        } else {
            vulnerable.push(file.file_name().to_string_lossy().into_owned());
        }
    }
    vulnerable.sort();
    let names = if vulnerable.is_empty() {
        String::new()
    } else {
        format!(" ({})", vulnerable.join(", "))
    };
    Some(format!(
        "{mitigated} mitigated, {} vulnerable{names}, {unaffected} not affected",
        vulnerable.len()
    ))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn this_machine_can_be_read() {
        let host = Host::read();
        assert!(
            host.kernel
                .as_deref()
                .is_some_and(|name| name.starts_with("Linux "))
        );
        assert_eq!(host.architecture.as_deref(), Some(std::env::consts::ARCH));
        let usable = std::thread::available_parallelism().map_or(1, |n| n.get() as u32);
        assert!(
            host.cpus_online.is_none_or(|online| online >= usable),
            "{host:?}"
        );
        let sane = |bytes| (64 << 20..1 << 50).contains(&bytes);
        assert!(host.memory_bytes.is_none_or(sane), "{host:?}");
        assert!(
            host.port_range.is_none_or(|(first, last)| first < last),
            "{host:?}"
        );
        assert!(host.loopback_mtu.is_none_or(|mtu| mtu >= 576), "{host:?}");
    }

    #[test]
    fn facts_survive_the_record() {
        let host = Host::read();
        let text = serde_json::to_string(&host).expect("JSON");
        assert_eq!(serde_json::from_str::<Host>(&text).expect("JSON"), host);
    }

    #[test]
    fn lists_of_processors_are_counted() {
        for (text, length) in [
            ("0", Some(1)),
            ("0-1", Some(2)),
            ("0,2-5,9", Some(6)),
            ("", None),
            ("3-1", None),
            ("0-4294967295", None),
        ] {
            assert_eq!(list_length(text), length, "{text}");
        }
    }

    #[test]
    fn lines_of_proc_are_taken_apart() {
        let text = "model name\t: AMD EPYC\nflags\t\t: fpu hypervisor\nMemTotal:  2048 kB\n";
        assert_eq!(entry(text, "model name"), Some("AMD EPYC"));
        assert_eq!(entry(text, "model"), None);
        assert_eq!(entry(text, "MemTotal").and_then(kibibytes), Some(2 << 20));
        assert_eq!(virtualised(text), Some(true));
        assert_eq!(virtualised("flags : fpu\n"), Some(false));
        assert_eq!(virtualised("Features : fp asimd\n"), None);
        assert_eq!(port_range("32768\t60999"), Some((32_768, 60_999)));
        assert_eq!(port_range("32768"), None);
        assert_eq!(kibibytes("2048"), None);
    }

    #[test]
    fn steal_is_a_share_of_what_passed_between_two_readings() {
        let before = Ticks::parse("cpu  50 0 20 20 0 0 0 10 0 0\ncpu0 1").expect("ticks");
        let after = Ticks::parse("cpu  90 0 20 60 0 0 0 30 0 0\n").expect("ticks");
        assert_eq!(after.steal_share_since(before), Some(0.2));
        assert_eq!(before.steal_share_since(before), None);
        for text in ["", "cpu ", "cpu  1 2 3", "cpu  a b c d e f g h"] {
            assert_eq!(Ticks::parse(text), None, "{text}");
        }
    }

    #[test]
    fn waiting_for_a_disk_is_idle_and_deferred_work_is_interrupts() {
        let stat = "cpu  2417 84 501 1502 168 2 123 19 0 0\n\
            cpu0 1182 39 231 807 47 1 55 10 0 0\ncpu1 1234 45 270 694 120 1 67 9 0 0\n\
            intr 31936928 0 0\nctxt 5\n";
        let expected = Ticks {
            all: 4816,
            idle: 1670,
            interrupt: 125,
            steal: 19,
            processors: 2,
        };
        assert_eq!(Ticks::parse(stat), Some(expected));
    }

    #[test]
    fn mitigations_are_summed_up_and_the_holes_named() {
        let folder = tempfile::tempdir().expect("a folder");
        for (name, state) in [
            (
                "mds",
                "Vulnerable: Clear CPU buffers attempted, no microcode\n",
            ),
            ("meltdown", "Not affected\n"),
            ("retbleed", "Mitigation: IBPB\n"),
        ] {
            fs::write(folder.path().join(name), state).expect("a file");
        }
        let told = mitigations(folder.path());
        assert_eq!(
            told.as_deref(),
            Some("1 mitigated, 1 vulnerable (mds), 1 not affected")
        );
        let gone = folder.path().to_path_buf();
        folder.close().expect("our folder");
        assert_eq!(mitigations(&gone), None);
    }
}
