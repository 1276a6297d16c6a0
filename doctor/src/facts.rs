//! What the rules look at, read from /proc and /sys. What cannot be read is `None`.

use std::fs;
use std::io;
use std::net::{Ipv4Addr, UdpSocket};

use measure::host::Host;

use super::timers::{self, Lateness};

/// The host as it is now.
#[derive(Clone, Debug, Default)]
pub(super) struct Facts {
    /// What every record holds too.
    pub(super) host: Host,
    /// CPUs that this process may use.
    pub(super) cpus_allowed: usize,
    /// Hard limit of descriptors; `u64::MAX` where there is none.
    pub(super) descriptors_hard: Option<u64>,
    /// `net.ipv4.tcp_max_syn_backlog`.
    pub(super) syn_backlog: Option<u64>,
    /// `net.ipv4.tcp_tw_reuse`.
    pub(super) time_wait_reuse: Option<u64>,
    /// Memory that can be had without swapping, in bytes.
    pub(super) memory_available_bytes: Option<u64>,
    /// Load average over the last minute.
    pub(super) load: Option<f64>,
    /// How late a sleeping thread is woken up.
    pub(super) timers: Option<Lateness>,
    /// Share of the processor time since boot that the hypervisor gave to others.
    pub(super) steal: Option<f64>,
    /// Whether a private network can be had, or what was refused and what to do.
    pub(super) private_network: Option<Result<(), String>>,
    /// Whether sockets can be bound to a device, or what was refused.
    pub(super) device_binding: Option<Result<(), String>>,
}

impl Facts {
    /// Reads them all.
    pub(super) fn read(private_network: Result<(), String>) -> Facts {
        let text = |path: &str| fs::read_to_string(path).ok();
        let number = |path: &str| text(path)?.trim().parse().ok();
        Facts {
            host: Host::read(),
            cpus_allowed: measure::cpu::allowed().len(),
            descriptors_hard: text("/proc/self/limits")
                .as_deref()
                .and_then(hard_descriptors),
            syn_backlog: number("/proc/sys/net/ipv4/tcp_max_syn_backlog"),
            time_wait_reuse: number("/proc/sys/net/ipv4/tcp_tw_reuse"),
            memory_available_bytes: text("/proc/meminfo").as_deref().and_then(available_bytes),
            load: text("/proc/loadavg").as_deref().and_then(first_number),
            timers: timers::lateness(),
            steal: text("/proc/stat").as_deref().and_then(steal_share),
            private_network: Some(private_network),
            device_binding: device_binding(),
        }
    }
}

/// Tried on loopback, which is everywhere; unknown where even that isn't.
fn device_binding() -> Option<Result<(), String>> {
    let socket = UdpSocket::bind((Ipv4Addr::UNSPECIFIED, 0)).ok()?;
    match engine::bind_to_device(&socket, "lo") {
        Ok(()) => Some(Ok(())),
        Err(why) if why.kind() == io::ErrorKind::PermissionDenied => Some(Err(format!(
            "binding to a device takes Linux 5.7 or CAP_NET_RAW ({why})"
        ))),
        Err(_) => None,
    }
}

/// From /proc/self/limits: `Max open files  SOFT  HARD  files` (proc_pid_limits(5)).
fn hard_descriptors(limits: &str) -> Option<u64> {
    let line = limits
        .lines()
        .find_map(|line| line.strip_prefix("Max open files"))?;
    match line.split_whitespace().nth(1)? {
        "unlimited" => Some(u64::MAX),
        number => number.parse().ok(),
    }
}

fn available_bytes(meminfo: &str) -> Option<u64> {
    let line = meminfo
        .lines()
        .find_map(|line| line.strip_prefix("MemAvailable:"))?;
    let kibibytes: u64 = line.trim().strip_suffix("kB")?.trim().parse().ok()?;
    kibibytes.checked_mul(1024)
}

fn first_number(text: &str) -> Option<f64> {
    text.split_whitespace().next()?.parse().ok()
}

/// From the first line of /proc/stat; steal is its eighth number (proc_stat(5)).
fn steal_share(stat: &str) -> Option<f64> {
    let line = stat.lines().next()?.strip_prefix("cpu ")?;
    let times: Vec<u64> = line
        .split_whitespace()
        .take(8)
        .map(|time| time.parse().ok())
        .collect::<Option<_>>()?;
    let all: u64 = times.iter().sum();
    (all > 0).then(|| *times.get(7).unwrap_or(&0) as f64 / all as f64)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn files_of_proc_are_read() {
        let limits = "Limit   Soft  Hard  Units\nMax open files   1024   524288   files\n";
        assert_eq!(hard_descriptors(limits), Some(524_288));
        let limits = "Max open files   1024   unlimited   files\n";
        assert_eq!(hard_descriptors(limits), Some(u64::MAX));
        assert_eq!(
            available_bytes("MemFree: 1 kB\nMemAvailable:  2 kB\n"),
            Some(2048)
        );
        assert_eq!(first_number("0.73 1.32 0.78 4/118 17303"), Some(0.73));
        assert_eq!(
            steal_share("cpu  50 0 20 20 0 0 0 10 0 0\ncpu0 1"),
            Some(0.1)
        );
    }

    #[test]
    fn nonsense_is_unknown_and_no_panic() {
        for text in ["", "cpu ", "Max open files", "MemAvailable: much", "x y"] {
            assert_eq!(hard_descriptors(text), None);
            assert_eq!(available_bytes(text), None);
            assert_eq!(first_number(text), None);
            assert_eq!(steal_share(text), None);
        }
    }
}
