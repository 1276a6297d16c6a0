//! Whether figures mean what they say: every check, one function each, and what each came to.
//!
//! A check passed, found something, or could not be made here, and a report shows all of them: what
//! was not looked at must not pass for harmless. Checks of one round look at that round alone
//! ([`round`]); checks of rows at all rounds of all rows ([`rows`]), since unequal work shows only
//! side by side; checks of the host at the machine ([`host()`]). What is found is a sentence with
//! what it does to the figures; what a verdict makes of it is decided elsewhere.
//!
//! Pure functions of what was recorded, so that a folder that is read again is judged the same.
//! METHODOLOGY.md has the thresholds in a table.

pub mod round;
pub mod rows;

#[cfg(test)]
mod tests;

use std::collections::BTreeMap;

use measure::host::Host;
use serde::Serialize;

use crate::finding::{Check, Finding, Severity};
use crate::manifest::{Manifest, Setup};
use crate::round::Round;
use crate::verdict::Metric;

/// A server whose cores were busier than this was itself the limit.
pub const SERVER_FULL: f64 = 0.95;

/// The share of the time in which others may wait for a processor.
const PRESSURE_MAX: f64 = 0.10;

/// The usual largest packet of the loopback interface.
const LOOPBACK_MTU: u32 = 65_536;

/// What a check came to.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, schemars::JsonSchema)]
#[serde(tag = "outcome", content = "what", rename_all = "snake_case")]
pub enum Looked {
    /// All is well; the text is what was seen, in a few words.
    Passed(String),
    /// Something was found.
    Found(Severity, String),
    /// It could not be looked at; the text says why.
    Unknown(String),
}

impl Looked {
    /// What a reader has to know first: what was found before what is not known before what is
    /// well, and the severe before the mild.
    fn weight(&self) -> (u8, Option<Severity>) {
        match self {
            Looked::Found(severity, _) => (2, Some(*severity)),
            Looked::Unknown(_) => (1, None),
            Looked::Passed(_) => (0, None),
        }
    }

    /// What it is in a sample.
    fn finding(self, check: Check) -> Option<Finding> {
        match self {
            Looked::Found(severity, sentence) => Some(Finding {
                check,
                severity,
                sentence,
            }),
            Looked::Passed(_) | Looked::Unknown(_) => None,
        }
    }
}

impl Check {
    /// What it asks, in a few words, as the heading of its line.
    pub fn asks(self) -> &'static str {
        match self {
            Check::Errors => "exchanges completed",
            Check::Faults => "the faults were made on time",
            Check::WarmUp => "the subject was warm",
            Check::Record => "the generator's record is valid",
            Check::Generator => "the generator was not the limit",
            Check::LittlesLaw => "Little's law holds",
            Check::Says => "the generator says what the server counted",
            Check::ServerBusy => "the server had CPU time to spare",
            Check::GeneratorBusy => "the generator had CPU time to spare",
            Check::RunQueue => "the generator had its CPUs to itself",
            Check::Lateness => "requests were sent on time",
            Check::OfferedRate => "the offered rate was achieved",
            Check::Ceiling => "well below what the generator can do",
            Check::Status => "the same statuses",
            Check::Bytes => "the same number of bytes",
            Check::ContentType => "the same content type",
            Check::Cores => "subject and generator on separate cores",
            Check::Unattributed => "nothing else used the CPUs",
            Check::Elsewhere => "the subject's own processes did the work",
            Check::LeftBehind => "no process was left behind",
            Check::IdleSubjects => "the other subjects were idle",
            Check::PressureBefore => "the host was idle before the load",
            Check::Pressure => "nothing else waited for a CPU",
            Check::Steal => "the hypervisor stole no time",
            Check::Quota => "no CPU quota was hit",
            Check::Retransmits => "no TCP retransmissions",
            Check::ListenDrops => "no connection was refused because of a full queue",
            Check::PacketDrops => "no packet was dropped",
            Check::Ports => "enough free ports",
            Check::Mtu => "the loopback MTU is the default",
            Check::Queueing => "loopback packets aren't delayed",
            Check::CongestionControl => "TCP doesn't pace packets",
            Check::Governor => "the CPU clock is steady",
        }
    }
}

/// One check of one row, over all its rounds; or of the host.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, schemars::JsonSchema)]
pub struct Line {
    /// What was looked at.
    pub check: Check,
    /// The row; null for the host.
    pub row: Option<String>,
    /// In how many rounds something was found. A check of a whole row counts as one.
    pub found: usize,
    /// Of how many.
    pub of: usize,
    /// The weightiest of what it came to.
    pub looked: Looked,
}

/// Every check of everything, in the order of the checks, then of the rows.
pub fn all(manifest: &Manifest, rounds: &[Round]) -> Vec<Line> {
    // A command that is timed has no generator.
    let loaded = manifest.setup.metric != Metric::Seconds;
    let machine = loaded.then(|| (Check::Cores, cores(&manifest.setup)));
    let mut lines: Vec<Line> = machine
        .into_iter()
        .chain(host(&manifest.host, manifest.pressure_before))
        .map(|(check, looked)| Line::of(check, None, vec![looked]))
        .collect();
    let across = rows::look(manifest, rounds);
    for facts in &manifest.rows {
        let name = &facts.name;
        let mut looked: BTreeMap<Check, Vec<Looked>> = BTreeMap::new();
        for one in rounds.iter().filter(|round| round.row == *name) {
            for (check, what) in round::look(round::Seen::of(one)) {
                looked.entry(check).or_default().push(what);
            }
        }
        for (check, what) in across.get(name).cloned().unwrap_or_default() {
            looked.entry(check).or_default().push(what);
        }
        let of_row = looked.into_iter();
        lines.extend(of_row.map(|(check, looked)| Line::of(check, Some(name.clone()), looked)));
    }
    lines.sort_by_key(|line| line.check);
    lines
}

impl Line {
    fn of(check: Check, row: Option<String>, looked: Vec<Looked>) -> Line {
        let of = looked.len();
        let found = looked
            .iter()
            .filter(|one| matches!(one, Looked::Found(..)))
            .count();
        // The first of those that weigh the same.
        let weightiest = looked.into_iter().rev().max_by_key(Looked::weight);
        Line {
            check,
            row,
            found,
            of,
            looked: weightiest
                .unwrap_or_else(|| Looked::Unknown("nothing was measured".to_owned())),
        }
    }
}

/// What about the machine makes figures special, whoever is measured. `pressure_before` is the
/// share of a moment before the start in which somebody waited for a processor.
pub fn host(host: &Host, pressure_before: Option<f64>) -> Vec<(Check, Looked)> {
    vec![
        (Check::PressureBefore, pressure(pressure_before)),
        (Check::Mtu, mtu(host)),
        (Check::Queueing, queueing(host)),
        (Check::CongestionControl, congestion_control(host)),
        (Check::Governor, governor(host)),
    ]
}

fn cores(setup: &Setup) -> Looked {
    let shared = setup
        .server_cores
        .iter()
        .any(|core| setup.generator_cores.contains(core));
    match shared {
        _ if setup.server_cores.is_empty() => Looked::Unknown(
            "no cores were assigned to servers, because some were running already".to_owned(),
        ),
        true => Looked::Found(
            Severity::Caution,
            "generator and server share a core: every number here is a mix of both".to_owned(),
        ),
        false => Looked::Passed("they share none".to_owned()),
    }
}

fn pressure(before: Option<f64>) -> Looked {
    match before {
        None => Looked::Unknown("the kernel doesn't account for pressure (psi=1)".to_owned()),
        Some(share) if share > PRESSURE_MAX => Looked::Found(
            Severity::Caution,
            format!(
                "before the start, processes on this host waited for a CPU {} of the time: \
                 something else is running, and it affects the figures",
                percent(share)
            ),
        ),
        Some(share) => Looked::Passed(format!("{} of the time", percent(share))),
    }
}

fn mtu(host: &Host) -> Looked {
    match host.loopback_mtu {
        None => Looked::Unknown("the kernel doesn't show it".to_owned()),
        Some(LOOPBACK_MTU) => Looked::Passed(format!("{LOOPBACK_MTU} bytes")),
        Some(other) => Looked::Found(
            Severity::Caution,
            format!(
                "the loopback MTU is {other} bytes instead of the usual {LOOPBACK_MTU}: larger \
                 answers take more packets here than elsewhere"
            ),
        ),
    }
}

fn queueing(host: &Host) -> Looked {
    let Some(kinds) = host.loopback_queueing() else {
        return Looked::Unknown("the kernel doesn't show it".to_owned());
    };
    match host.loopback_shaper() {
        None => Looked::Passed(kinds.join(", ")),
        Some(kind) => Looked::Found(
            Severity::Caution,
            format!(
                "the loopback interface has the queueing discipline {kind}, which delays packets \
                 or limits their rate, and affects every figure; remove it with `tc qdisc del dev \
                 lo root`, unless it's intended"
            ),
        ),
    }
}

fn congestion_control(host: &Host) -> Looked {
    match host.congestion_control.as_deref() {
        None => Looked::Unknown("the kernel doesn't show it".to_owned()),
        Some("bbr" | "bbr2" | "bbr3") => Looked::Found(
            Severity::Caution,
            "this host's congestion control is bbr, which paces packets even over loopback and \
             affects the figures; change it with `sysctl -w net.ipv4.tcp_congestion_control=cubic` \
             and compare again"
                .to_owned(),
        ),
        Some(other) => Looked::Passed(other.to_owned()),
    }
}

fn governor(host: &Host) -> Looked {
    match host.governor.as_deref() {
        None => Looked::Unknown("the machine doesn't show its CPU frequency governor".to_owned()),
        Some("performance") => Looked::Passed("performance".to_owned()),
        Some(other) => Looked::Found(
            Severity::Caution,
            format!(
                "the CPU frequency governor is `{other}`, so the clock may change between rounds; \
                 fix it with `cpupower frequency-set -g performance`"
            ),
        ),
    }
}

/// A share in words: `4.3 %`.
fn percent(share: f64) -> String {
    format!("{:.1} %", 100.0 * share)
}
