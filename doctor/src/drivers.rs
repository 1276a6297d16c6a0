//! What the engine finds by trying: whether io_uring works here, which of its features there are,
//! and what stands in its way. A text says what is missing, what that costs and what to do.

use std::fs;

use engine::{Capabilities, Config, Driver, OpenError, probe};
use engine::{Feature, uring};
use rustix::process::{Resource, getrlimit};

use super::Finding;

/// Every finding about the engine.
pub(super) fn judge() -> Vec<Finding> {
    let mut findings = match try_uring() {
        Ok(found) => of_features(&found),
        Err(error) => {
            let text = format!("doesn't work here, so ringside uses epoll: {error}");
            vec![finding("io_uring", false, &text)]
        }
    };
    findings.push(sysctl());
    findings.push(descriptors());
    findings
}

fn finding(name: &str, good: bool, text: &str) -> Finding {
    let finding = Finding::new("io_uring", name);
    if good {
        finding.ok(text)
    } else {
        finding.warn_only("missing", text)
    }
}

fn try_uring() -> Result<Capabilities, OpenError> {
    probe::uring()?;
    let small = Config {
        sockets: 8,
        buffers: 8,
        buffer_bytes: 64,
        ..Config::default()
    };
    Ok(uring::open(&small)?.capabilities().clone())
}

/// Those that are there, then those that are not. What doesn't matter here is in neither list.
fn of_features(found: &Capabilities) -> Vec<Finding> {
    let works = "works: it carried an exchange over loopback";
    let mut findings = vec![finding("io_uring", true, works)];
    let is_there = |feature: &Feature| found.features.iter().any(|name| name == feature.name());
    let lacks = |feature: &Feature| {
        let mut missing = found.missing.iter();
        missing.any(|text| text.starts_with(feature.name()))
    };
    for feature in Feature::ALL.iter().filter(|feature| is_there(feature)) {
        let text = format!("in use (Linux {})", feature.since());
        findings.push(finding(feature.name(), true, &text));
    }
    for feature in Feature::ALL.iter().filter(|feature| lacks(feature)) {
        let (since, cost) = (feature.since(), feature.cost());
        let text = format!("missing (needs Linux {since}): {cost}");
        findings.push(finding(feature.name(), false, &text));
    }
    findings
}

fn sysctl() -> Finding {
    let value = fs::read_to_string("/proc/sys/kernel/io_uring_disabled");
    let (good, text) = match value.as_deref().map(str::trim) {
        Ok("0") => (true, "0: any process may use io_uring".to_owned()),
        Ok("1") => (
            false,
            "1: only CAP_SYS_ADMIN and kernel.io_uring_group may use it".to_owned(),
        ),
        Ok(value) => (
            false,
            format!("{value}: nobody may use io_uring; set it to 0"),
        ),
        Err(_) => (
            true,
            "this kernel doesn't have this setting (it came with Linux 6.6)".to_owned(),
        ),
    };
    finding("kernel.io_uring_disabled", good, &text)
}

fn descriptors() -> Finding {
    let limit = getrlimit(Resource::Nofile);
    let text = |limit: Option<u64>| limit.map_or("no limit".to_owned(), |limit| limit.to_string());
    let text = format!(
        "{} (hard limit {}): open files per process, and sockets per io_uring driver",
        text(limit.current),
        text(limit.maximum)
    );
    let good = limit.current.is_none_or(|current| current >= 4096);
    finding("RLIMIT_NOFILE", good, &text)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::State;

    #[test]
    fn the_findings_name_the_driver_the_switch_and_the_limit() {
        let findings = judge();
        for name in ["io_uring", "kernel.io_uring_disabled", "RLIMIT_NOFILE"] {
            assert!(
                findings.iter().any(|finding| finding.name == name),
                "{name}: {findings:?}"
            );
        }
    }

    #[test]
    fn a_feature_that_is_missing_is_a_warning_that_says_what_it_costs() {
        let found = Capabilities {
            name: "io_uring",
            features: vec!["DEFER_TASKRUN".to_owned(), "TLS".to_owned()],
            missing: vec!["NO_IOWAIT (Linux 6.15): something".to_owned()],
        };
        let findings = of_features(&found);
        let names: Vec<&str> = findings.iter().map(|found| found.name.as_str()).collect();
        assert_eq!(names, ["io_uring", "DEFER_TASKRUN", "NO_IOWAIT"]);
        assert_eq!(findings[1].state, State::Ok);
        assert_eq!(findings[1].value, "in use (Linux 6.1)");
        assert_eq!(findings[2].state, State::Warn);
        let cost = findings[2].cost.as_deref().unwrap_or_default();
        assert!(cost.contains("PSI"), "{cost}");
    }
}
