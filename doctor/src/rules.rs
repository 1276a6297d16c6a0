//! From facts to findings: pure. One rule looks at one thing, says what it costs and names the
//! command that changes it.

use measure::needs::{Lack, Need};
use measure::quota::Quota;
use measure::units::wrk_time_us;

use super::facts::Facts;
use super::{Finding, State};

/// The areas in the order of the report.
pub(super) const AREAS: [&str; 7] = [
    "kernel",
    "io_uring",
    "processor",
    "memory",
    "limits",
    "network",
    "connections",
];

/// A thread that is woken up later than this at the 99th percentile sends late.
const TIMERS_P99_MAX_US: f64 = 1_000.0;

/// Every finding about the host, but for what the engine finds by trying.
pub(super) fn judge(facts: &Facts) -> Vec<Finding> {
    let rules = [
        kernel,
        clocksource,
        mitigations,
        cpus,
        governor,
        quota,
        steal,
        load,
        timers,
        memory,
        descriptors,
        backlog,
        syn_backlog,
        ports,
        time_wait,
        congestion,
        loopback,
        queueing,
        private,
        device,
    ];
    rules.iter().map(|rule| rule(facts)).collect()
}

/// What so many connections need.
pub(super) fn of_need(need: Need) -> Finding {
    let finding = Finding::new("connections", need.what);
    match need.lacks {
        None => finding.ok(&need.says),
        Some(Lack { cost, command, .. }) => match command {
            Some(command) => finding.warn(&need.says, &cost, &command),
            None => finding.warn_only(&need.says, &cost),
        },
    }
}

fn kernel(facts: &Facts) -> Finding {
    let finding = Finding::new("kernel", "release");
    match &facts.host.kernel {
        None => finding.unknown(),
        Some(release) => finding.ok(release),
    }
}

fn clocksource(facts: &Facts) -> Finding {
    let finding = Finding::new("kernel", "clocksource");
    // These are read in user space through the vDSO; the others take a system call each.
    let quick = [
        "tsc",
        "kvm-clock",
        "arch_sys_counter",
        "hyperv_clocksource_tsc_page",
    ];
    match facts.host.clocksource.as_deref() {
        None => finding.unknown(),
        Some(source) if quick.contains(&source) => finding.ok(source),
        Some(source) => finding.warn(
            source,
            "Reading this clock takes a system call, and workers read it on every turn.",
            "echo tsc > /sys/devices/system/clocksource/clocksource0/current_clocksource",
        ),
    }
}

fn mitigations(facts: &Facts) -> Finding {
    let finding = Finding::new("kernel", "mitigations");
    match &facts.host.mitigations {
        None => finding.unknown(),
        Some(summary) => finding.ok(summary),
    }
}

fn cpus(facts: &Facts) -> Finding {
    let finding = Finding::new("processor", "CPUs");
    let online = facts
        .host
        .cpus_online
        .map_or("?".to_string(), |count| count.to_string());
    let model = facts.host.cpu_model.as_deref().unwrap_or("unknown model");
    let siblings = if facts.host.smt == Some(true) {
        ", SMT on"
    } else {
        ""
    };
    let allowed = facts.cpus_allowed;
    let value = format!("may use {allowed} of {online} online{siblings} ({model})");
    if allowed > 1 {
        return finding.ok(&value);
    }
    let cost = "Generator and server share one CPU, so each distorts the other's figures.";
    finding.warn_only(&value, cost)
}

fn governor(facts: &Facts) -> Finding {
    let finding = Finding::new("processor", "governor");
    match facts.host.governor.as_deref() {
        None => finding.unknown(),
        Some("performance") => finding.ok("performance"),
        Some(other) => finding.warn(
            other,
            "The CPU clocks up only under load, so short runs and tail latencies look slower.",
            "cpupower frequency-set -g performance",
        ),
    }
}

fn quota(facts: &Facts) -> Finding {
    let finding = Finding::new("processor", "CPU quota");
    match &facts.host.cpu_quota {
        None => finding.unknown(),
        Some(Quota::Unlimited) => finding.ok("none, in this control group or any above it"),
        Some(Quota::Millicpus(milli)) => finding.warn_only(
            &format!("{:.2} CPUs", *milli as f64 / 1000.0),
            "The kernel throttles the control group once it has used its quota, which causes \
             stalls of up to 100 ms. Start the container without a CPU limit.",
        ),
        Some(Quota::Unknown(why)) => Finding {
            state: State::Unknown,
            value: format!("unknown: {why}"),
            ..finding
        },
    }
}

fn steal(facts: &Facts) -> Finding {
    let finding = Finding::new("processor", "steal");
    let Some(share) = facts.steal else {
        return finding.unknown();
    };
    let value = format!("{:.2} % since boot", share * 100.0);
    if share <= 0.005 {
        return finding.ok(&value);
    }
    let cost = "Other virtual machines on this host take CPU time. Use many short rounds, as \
                `ringside compare` does.";
    finding.warn_only(&value, cost)
}

fn load(facts: &Facts) -> Finding {
    let finding = Finding::new("processor", "load");
    let Some(load) = facts.load else {
        return finding.unknown();
    };
    let value = format!("{load:.2}");
    if load < 0.5 {
        return finding.ok(&value);
    }
    let cost = "Something else is running, or was within the last minute, and takes CPU time from \
                your measurement.";
    finding.warn(&value, cost, "top")
}

fn timers(facts: &Facts) -> Finding {
    let finding = Finding::new("processor", "timer lateness");
    let Some(late) = facts.timers else {
        return finding.unknown();
    };
    let value = format!(
        "p50 {}, p99 {}, max {}, over a second",
        wrk_time_us(late.p50_us),
        wrk_time_us(late.p99_us),
        wrk_time_us(late.max_us)
    );
    if late.p99_us <= TIMERS_P99_MAX_US {
        return finding.ok(&value);
    }
    let cost = "An open loop sends requests this late, so you can't measure tails below it. Stop \
                other programs, give the generator CPUs of its own (--cpus), and check with \
                `run --control`.";
    finding.warn_only(&value, cost)
}

fn memory(facts: &Facts) -> Finding {
    let finding = Finding::new("memory", "available");
    let Some(bytes) = facts.memory_available_bytes else {
        return finding.unknown();
    };
    let value = format!("{:.1} GiB", bytes as f64 / f64::from(1 << 30));
    if bytes >= 1 << 30 {
        return finding.ok(&value);
    }
    // About 4 KiB of kernel memory for a socket, of which loopback has two for each connection.
    let connections = bytes / (10 * 1024);
    let cost = format!("Enough for about {connections} connections if both ends are on this host.");
    finding.warn_only(&value, &cost)
}

fn descriptors(facts: &Facts) -> Finding {
    let finding = Finding::new("limits", "descriptors");
    let Some(soft) = facts.host.descriptor_limit else {
        return finding.ok("unlimited");
    };
    let hard = facts.descriptors_hard.unwrap_or(soft);
    let value = format!("{soft} (hard limit {hard})");
    if soft >= 65_536 {
        return finding.ok(&value);
    }
    let cost = format!(
        "Servers, and ringside with epoll, can have fewer than {soft} connections in a process."
    );
    if hard > soft {
        return finding.warn(&value, &cost, &format!("ulimit -n {}", hard.min(1_048_576)));
    }
    // An asterisk stands for every user but root (limits.conf(5)).
    let command = "printf '%s - nofile 1048576\\n' '*' root >> /etc/security/limits.conf  \
                   # then log in again";
    finding.warn(&value, &cost, command)
}

fn backlog(facts: &Facts) -> Finding {
    let finding = Finding::new("limits", "backlog");
    let Some(backlog) = facts.host.somaxconn else {
        return finding.unknown();
    };
    if backlog >= 4096 {
        return finding.ok(&backlog.to_string());
    }
    finding.warn(
        &backlog.to_string(),
        "If more connections than this arrive at once, some wait at least 1 s for a \
         retransmission.",
        "sysctl -w net.core.somaxconn=65535",
    )
}

fn syn_backlog(facts: &Facts) -> Finding {
    let finding = Finding::new("limits", "SYN backlog");
    let Some(backlog) = facts.syn_backlog else {
        return finding.unknown();
    };
    if backlog >= 1024 {
        return finding.ok(&backlog.to_string());
    }
    finding.warn(
        &backlog.to_string(),
        "If more handshakes than this are in progress, some are dropped.",
        "sysctl -w net.ipv4.tcp_max_syn_backlog=65535",
    )
}

fn ports(facts: &Facts) -> Finding {
    let finding = Finding::new("network", "local ports");
    let Some(((first, last), count)) = facts.host.port_range.zip(facts.host.ports()) else {
        return finding.unknown();
    };
    let value = format!("{first} to {last} ({count} ports)");
    if count >= 60_000 {
        return finding.ok(&value);
    }
    finding.warn(
        &value,
        &format!(
            "One local address can open {count} connections to one server; for more, add \
             addresses with --source-ip."
        ),
        "sysctl -w net.ipv4.ip_local_port_range='1024 65535'",
    )
}

fn time_wait(facts: &Facts) -> Finding {
    let finding = Finding::new("network", "TIME_WAIT reuse");
    match facts.time_wait_reuse {
        None => finding.unknown(),
        Some(0) => finding.warn(
            "off",
            "With --no-keepalive each request blocks a local port for 60 s, so ports run out.",
            "sysctl -w net.ipv4.tcp_tw_reuse=1",
        ),
        Some(1) => finding.ok("on"),
        Some(_) => finding.ok("on loopback"),
    }
}

fn congestion(facts: &Facts) -> Finding {
    let finding = Finding::new("network", "congestion control");
    match facts.host.congestion_control.as_deref() {
        None => finding.unknown(),
        Some(paced @ ("bbr" | "bbr2" | "bbr3")) => finding.warn(
            paced,
            "It paces each connection with timers, which costs CPU and adds delay on loopback.",
            "sysctl -w net.ipv4.tcp_congestion_control=cubic",
        ),
        Some(other) => finding.ok(other),
    }
}

fn private(facts: &Facts) -> Finding {
    let finding = Finding::new("network", "private network");
    match &facts.private_network {
        None => finding.unknown(),
        Some(Ok(())) => {
            finding.ok("possible: comparisons run in one, with all ports and without pacing")
        }
        Some(Err(why)) => finding.warn_only("refused", why),
    }
}

fn device(facts: &Facts) -> Finding {
    let finding = Finding::new("network", "binding to a device");
    match &facts.device_binding {
        None => finding.unknown(),
        Some(Ok(())) => finding.ok("allowed: --interface takes devices and addresses"),
        // It distorts nothing.
        Some(Err(why)) => finding.ok(&format!("--interface takes addresses only: {why}")),
    }
}

fn loopback(facts: &Facts) -> Finding {
    let finding = Finding::new("network", "loopback MTU");
    match facts.host.loopback_mtu {
        None => finding.unknown(),
        Some(mtu) if mtu > 9000 => {
            let mut finding = finding.ok(&mtu.to_string());
            finding.cost = Some(
                "Loopback isn't Ethernet: packets aren't segmented, and the sender's CPU does the \
                 receiver's work."
                    .to_string(),
            );
            finding
        }
        Some(mtu) => finding.ok(&mtu.to_string()),
    }
}

fn queueing(facts: &Facts) -> Finding {
    let finding = Finding::new("network", "loopback queueing");
    let Some(kinds) = facts.host.loopback_queueing() else {
        return finding.unknown();
    };
    match facts.host.loopback_shaper() {
        None => finding.ok(&kinds.join(", ")),
        Some(kind) => finding.warn(
            kind,
            "It delays or rate-limits packets on loopback, which affects every figure.",
            "tc qdisc del dev lo root",
        ),
    }
}

impl Finding {
    pub(super) fn new(area: &'static str, name: &str) -> Finding {
        Finding {
            area,
            name: name.to_string(),
            state: State::Ok,
            value: String::new(),
            cost: None,
            command: None,
        }
    }

    pub(super) fn ok(self, value: &str) -> Finding {
        Finding {
            value: value.to_string(),
            ..self
        }
    }

    fn unknown(self) -> Finding {
        Finding {
            state: State::Unknown,
            value: "unknown: the kernel doesn't show it".to_string(),
            ..self
        }
    }

    /// Something that no command of this host changes.
    pub(super) fn warn_only(self, value: &str, cost: &str) -> Finding {
        let cost = Some(cost.to_string());
        Finding {
            state: State::Warn,
            value: value.to_string(),
            cost,
            ..self
        }
    }

    fn warn(self, value: &str, cost: &str, command: &str) -> Finding {
        Finding {
            command: Some(command.to_string()),
            ..self.warn_only(value, cost)
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::timers::Lateness;

    const LATE: Lateness = Lateness {
        p50_us: 55.0,
        p99_us: 90.0,
        max_us: 12_000.0,
    };

    /// A host that nothing is wrong with.
    fn good() -> Facts {
        let mut facts = Facts {
            cpus_allowed: 4,
            descriptors_hard: Some(1_048_576),
            syn_backlog: Some(4096),
            time_wait_reuse: Some(2),
            memory_available_bytes: Some(8 << 30),
            load: Some(0.1),
            steal: Some(0.0),
            timers: Some(LATE),
            ..Facts::default()
        };
        let host = &mut facts.host;
        host.kernel = Some("Linux 6.18.0".to_string());
        host.clocksource = Some("tsc".to_string());
        host.mitigations = Some("1 mitigated".to_string());
        host.cpu_quota = Some(Quota::Unlimited);
        host.governor = Some("performance".to_string());
        host.descriptor_limit = Some(1_048_576);
        host.somaxconn = Some(4096);
        host.port_range = Some((1024, 65535));
        host.congestion_control = Some("cubic".to_string());
        facts.private_network = Some(Ok(()));
        facts.device_binding = Some(Ok(()));
        host.loopback_mtu = Some(65536);
        host.queueing = Some([("lo".to_string(), vec!["noqueue".to_string()])].into());
        facts
    }

    #[test]
    fn a_good_host_has_no_warning() {
        for finding in judge(&good()) {
            assert_eq!(finding.state, State::Ok, "{finding:?}");
        }
    }

    #[test]
    fn a_host_that_shows_nothing_is_unknown_and_not_well() {
        let unknown = judge(&Facts {
            cpus_allowed: 2,
            ..Facts::default()
        });
        let unknown = unknown
            .iter()
            .filter(|finding| finding.state == State::Unknown)
            .count();
        assert_eq!(unknown, 18);
    }

    #[test]
    fn each_thing_that_costs_is_a_warning_that_says_what() {
        type Spoil = fn(&mut Facts);
        let table: [(&str, Spoil); 16] = [
            ("private network", |facts| {
                facts.private_network = Some(Err("The kernel refused.".to_string()))
            }),
            ("clocksource", |facts| {
                facts.host.clocksource = Some("acpi_pm".to_string())
            }),
            ("CPUs", |facts| facts.cpus_allowed = 1),
            ("governor", |facts| {
                facts.host.governor = Some("powersave".to_string())
            }),
            ("CPU quota", |facts| {
                facts.host.cpu_quota = Some(Quota::Millicpus(1500))
            }),
            ("steal", |facts| facts.steal = Some(0.02)),
            ("load", |facts| facts.load = Some(1.5)),
            ("timer lateness", |facts| {
                facts.timers = Some(Lateness {
                    p99_us: 1_500.0,
                    ..LATE
                });
            }),
            ("available", |facts| {
                facts.memory_available_bytes = Some(1 << 20)
            }),
            ("descriptors", |facts| {
                facts.host.descriptor_limit = Some(1024)
            }),
            ("backlog", |facts| facts.host.somaxconn = Some(128)),
            ("SYN backlog", |facts| facts.syn_backlog = Some(128)),
            ("local ports", |facts| {
                facts.host.port_range = Some((32768, 60999))
            }),
            ("TIME_WAIT reuse", |facts| facts.time_wait_reuse = Some(0)),
            ("congestion control", |facts| {
                facts.host.congestion_control = Some("bbr".to_string());
            }),
            ("loopback queueing", |facts| {
                let shaped = vec!["netem".to_string()];
                facts.host.queueing = Some([("lo".to_string(), shaped)].into());
            }),
        ];
        for (name, spoil) in table {
            let mut facts = good();
            spoil(&mut facts);
            let findings = judge(&facts);
            let warned: Vec<_> = findings
                .iter()
                .filter(|finding| finding.state == State::Warn)
                .collect();
            assert_eq!(warned.len(), 1, "{name}");
            assert_eq!(warned[0].name, name);
            assert!(warned[0].cost.is_some(), "{name}");
        }
    }

    #[test]
    fn a_quota_that_cannot_be_told_is_not_called_none() {
        let mut facts = good();
        facts.host.cpu_quota = Some(Quota::Unknown("the groups are hidden".to_string()));
        let finding = quota(&facts);
        assert_eq!(finding.state, State::Unknown);
        assert_eq!(finding.value, "unknown: the groups are hidden");
    }

    #[test]
    fn the_command_for_descriptors_is_one_that_can_work() {
        let mut facts = good();
        facts.host.descriptor_limit = Some(1024);
        let command = |facts: &Facts| descriptors(facts).command.unwrap();
        assert_eq!(command(&facts), "ulimit -n 1048576");
        facts.descriptors_hard = Some(1024);
        assert!(command(&facts).contains("limits.conf"));
    }
}
