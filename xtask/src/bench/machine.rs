//! The machine that is measured on: whether it is quiet, what it is, and one setting of it that
//! decides what TCP costs, changed for the length of a run and put back.

use std::collections::BTreeMap;
use std::fs;
use std::path::Path;
use std::process::Command;
use std::time::Duration;

use engine::signal::Stop;
use measure::host::Host;
use measure::time::Time;
use serde::{Deserialize, Serialize};

use super::Result;
use super::child::rest_until;

/// What all figures are taken with: Linux's own default.
const CONGESTION_CONTROL: &str = "cubic";
const CONGESTION_CONTROL_FILE: &str = "/proc/sys/net/ipv4/tcp_congestion_control";
/// The largest share of the last 10 s in which somebody waited for a processor, in percent.
const PRESSURE_MAX: f64 = 10.0;
/// How long a build that has just ended may echo in that share.
const QUIET_WAIT: Duration = Duration::from_secs(60);
const LOOK_AGAIN: Duration = Duration::from_secs(2);

/// What the figures of a benchmark were taken on.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub(super) struct Machine {
    /// What a machine of this kind is called, without naming this one.
    pub(super) kind: String,
    /// Its facts, while the benchmark ran.
    pub(super) host: Host,
    /// What net.ipv4.tcp_congestion_control was before.
    pub(super) congestion_control_found: Option<String>,
    /// Versions of everything that ran.
    pub(super) versions: BTreeMap<String, String>,
    /// Load averages over 1, 5 and 15 minutes at the start.
    pub(super) load_average: Option<String>,
    /// Share of the 10 s before the start in which somebody waited for a processor, in percent.
    pub(super) cpu_pressure_percent: Option<f64>,
}

impl Machine {
    /// Reads it all. `binary` is the ringside that is measured.
    pub(super) fn read(binary: &Path, congestion: &Congestion) -> Machine {
        let host = Host::read();
        Machine {
            kind: kind(&host),
            host,
            congestion_control_found: congestion.found.clone(),
            versions: versions(&binary.display().to_string()),
            load_average: word("/proc/loadavg").map(|text| {
                let averages: Vec<&str> = text.split_whitespace().take(3).collect();
                averages.join(" ")
            }),
            cpu_pressure_percent: pressure(),
        }
    }
}

/// `2core-kvm-6.18`: what the figures of another machine of this kind may be compared with.
pub(super) fn kind(host: &Host) -> String {
    let cpus = host.cpus_online.unwrap_or(1);
    let beneath = match host.virtualised {
        Some(true) => hypervisor().unwrap_or_else(|| "vm".into()),
        _ => "metal".into(),
    };
    let kernel = host
        .kernel
        .as_deref()
        .and_then(release)
        .unwrap_or_else(|| "linux".into());
    format!("{cpus}core-{beneath}-{kernel}")
}

/// "6.18" of "Linux 6.18.44-something".
fn release(kernel: &str) -> Option<String> {
    let mut parts = kernel.split_whitespace().nth(1)?.split('.');
    Some(format!("{}.{}", parts.next()?, parts.next()?))
}

/// KVM offers its guests a clock of its own; other hypervisors are asked for by systemd's tool.
fn hypervisor() -> Option<String> {
    let clocks = word("/sys/devices/system/clocksource/clocksource0/available_clocksource");
    if clocks.is_some_and(|clocks| clocks.contains("kvm-clock")) {
        return Some("kvm".into());
    }
    first_line("systemd-detect-virt", &["--vm"]).filter(|name| name != "none")
}

fn versions(binary: &str) -> BTreeMap<String, String> {
    let asked: [(&str, &str, &[&str]); 10] = [
        ("ringside", binary, &["--version"]),
        ("commit", "git", &["describe", "--always", "--dirty"]),
        ("sha256 of ringside", "sha256sum", &[binary]),
        ("rustc", "rustc", &["--version"]),
        ("wrk", "wrk", &["-v"]),
        ("h2load", "h2load", &["--version"]),
        ("nginx", "nginx", &["-v"]),
        ("go", "go", &["version"]),
        ("node", "node", &["--version"]),
        ("taskset", "taskset", &["--version"]),
    ];
    let answers = asked.into_iter().filter_map(|(name, program, arguments)| {
        let line = first_line(program, arguments)?;
        // The sum stands before the path, and the path is nobody's business.
        let answer = if program == "sha256sum" {
            line.split_whitespace().next()?.to_owned()
        } else {
            line
        };
        Some((name.to_owned(), answer))
    });
    answers.collect()
}

/// The first line that a program prints; some print their version as an error and fail.
fn first_line(program: &str, arguments: &[&str]) -> Option<String> {
    let output = Command::new(program).args(arguments).output().ok()?;
    let text = [output.stdout, output.stderr].concat();
    let text = String::from_utf8_lossy(&text).into_owned();
    let line = text.lines().next()?.trim();
    (!line.is_empty()).then(|| line.to_owned())
}

/// Waits until nobody has waited much for a processor in the last 10 s. An error says that the
/// machine does not become quiet; `hurried` only says so and goes on.
pub(super) fn wait_for_quiet(hurried: bool, stop: &Stop) -> Result<()> {
    let deadline = Time::now() + QUIET_WAIT;
    loop {
        let Some(pressure) = pressure() else {
            eprintln!(
                "warning: /proc/pressure/cpu cannot be read; look yourself for who else runs"
            );
            return Ok(());
        };
        if pressure <= PRESSURE_MAX {
            return Ok(());
        }
        let busy = format!(
            "the machine is busy: in {pressure} % of the last 10 s somebody waited for a processor \
             (load average {})",
            word("/proc/loadavg").unwrap_or_default()
        );
        if hurried {
            eprintln!("warning: {busy}; these figures mean nothing");
            return Ok(());
        }
        if Time::now() >= deadline {
            return Err(format!(
                "{busy}; end what runs beside, or see with --quick that it works"
            ));
        }
        eprintln!("waiting: {busy}");
        rest_until(Time::now() + LOOK_AGAIN, stop)?;
    }
}

/// PSI, "some avg10" of the processors in percent (Documentation/accounting/psi.rst).
fn pressure() -> Option<f64> {
    let text = fs::read_to_string("/proc/pressure/cpu").ok()?;
    let line = text.lines().find(|line| line.starts_with("some "))?;
    let value = line
        .split_whitespace()
        .find_map(|part| part.strip_prefix("avg10="))?;
    value.parse().ok()
}

fn word(path: &str) -> Option<String> {
    let text = fs::read_to_string(path).ok()?;
    let text = text.trim();
    (!text.is_empty()).then(|| text.to_owned())
}

/// The congestion control of new connections, while this lives; the one before comes back with its
/// end.
#[derive(Debug)]
pub(super) struct Congestion {
    /// What was in force before.
    pub(super) found: Option<String>,
    changed: bool,
}

impl Congestion {
    /// Sets it where that is permitted, and says so where it is not.
    pub(super) fn set() -> Congestion {
        let found = word(CONGESTION_CONTROL_FILE);
        let mut changed = false;
        if found.as_deref() != Some(CONGESTION_CONTROL) {
            let name = found.as_deref().unwrap_or("unknown");
            match fs::write(CONGESTION_CONTROL_FILE, CONGESTION_CONTROL) {
                Ok(()) => {
                    changed = found.is_some();
                    eprintln!("congestion control: {name}, for this run {CONGESTION_CONTROL}");
                }
                Err(error) => eprintln!(
                    "warning: congestion control is {name} and stays so ({error}); figures are \
                     comparable with {CONGESTION_CONTROL} only: run as root, or before it \
                     `sysctl -w net.ipv4.tcp_congestion_control={CONGESTION_CONTROL}`"
                ),
            }
        }
        Congestion { found, changed }
    }
}

impl Drop for Congestion {
    fn drop(&mut self) {
        let Some(found) = self.found.as_ref().filter(|_| self.changed) else {
            return;
        };
        if let Err(error) = fs::write(CONGESTION_CONTROL_FILE, found) {
            eprintln!(
                "warning: congestion control could not be put back ({error}): \
                 `sysctl -w net.ipv4.tcp_congestion_control={found}`"
            );
        }
    }
}

/// Time that all processors together have spent idle, or that the hypervisor gave to others.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct Idleness {
    pub(super) cpus: f64,
    pub(super) idle_s: f64,
    pub(super) stolen_s: f64,
}

impl Idleness {
    /// Reads it now.
    pub(super) fn read() -> Option<Idleness> {
        let ticks = rustix::param::clock_ticks_per_second() as f64;
        Idleness::parse(&fs::read_to_string("/proc/stat").ok()?, ticks)
    }

    /// The first line of /proc/stat (proc(5)): user nice system idle iowait irq softirq steal.
    fn parse(text: &str, ticks: f64) -> Option<Idleness> {
        let numbers = text
            .lines()
            .next()?
            .strip_prefix("cpu ")?
            .split_whitespace();
        let numbers: Vec<f64> = numbers.map(str::parse).collect::<Result<_, _>>().ok()?;
        let single = |line: &&str| line.starts_with("cpu") && !line.starts_with("cpu ");
        Some(Idleness {
            cpus: text.lines().filter(single).count() as f64,
            idle_s: (numbers.get(3)? + numbers.get(4)?) / ticks,
            stolen_s: numbers.get(7)? / ticks,
        })
    }
}

/// The UTC time of day, as `20:12`.
pub(super) fn time_of_day(unix_seconds: u64) -> String {
    let minutes = unix_seconds / 60;
    format!("{:02}:{:02}", minutes / 60 % 24, minutes % 60)
}

#[cfg(test)]
mod tests {
    use measure::time::utc_date;

    use super::*;

    #[test]
    fn a_machine_is_called_after_its_cores_its_host_and_its_kernel() {
        let host = Host {
            kernel: Some("Linux 6.18.44-fc".into()),
            cpus_online: Some(8),
            virtualised: Some(false),
            ..Host::default()
        };
        assert_eq!(kind(&host), "8core-metal-6.18");
    }

    #[test]
    fn idle_and_stolen_time_are_read() {
        let text = "cpu  73899 0 10226 313645 1028 0 88 40 0 0\ncpu0 1 2 3 4\n";
        let found = Idleness::parse(text, 100.0).expect("a usual file");
        let expected = Idleness {
            cpus: 1.0,
            idle_s: 3146.73,
            stolen_s: 0.4,
        };
        assert_eq!(found, expected);
    }

    #[test]
    fn dates_agree_with_the_calendar() {
        assert_eq!(utc_date(951_782_400), "2000-02-29");
        assert_eq!(utc_date(1_795_291_974), "2026-11-21");
        assert_eq!(time_of_day(1_795_291_974), "20:12");
    }
}
