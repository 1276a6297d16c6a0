//! What was found about the worth of a round: which check, how bad, in a sentence.
//!
//! Knows nothing of how checks are made or of what a verdict makes of them.

use serde::{Deserialize, Serialize};

/// What a finding does to the figures it is about. Ordered from mild to severe.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
#[derive(schemars::JsonSchema)]
pub enum Severity {
    /// A reader has to know it; the figures stand.
    Caution,
    /// The generator was the limit: a rate is a lower bound, a time is also the generator's.
    Bound,
    /// The round counts for nothing.
    Void,
}

/// What was looked at. In the order in which checks are shown.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
#[derive(schemars::JsonSchema)]
pub enum Check {
    /// Whether exchanges completed, and how many failed.
    Errors,
    /// Whether the faults were made when they were to be.
    Faults,
    /// Whether the subject was loaded for as long as it needs before anything was timed.
    WarmUp,
    /// Whether the generator itself calls its record valid.
    Record,
    /// Whether the generator was the limit, as it judges itself.
    Generator,
    /// Whether the connections' time was spent in exchanges, by Little's law.
    LittlesLaw,
    /// Whether a generator that is compared says what the server counted.
    Says,
    /// Whether the server that is loaded by generators had processor time left.
    ServerBusy,
    /// How busy the generator's workers were.
    GeneratorBusy,
    /// Whether the generator's workers had to wait for their processors.
    RunQueue,
    /// Whether requests were sent when they were due.
    Lateness,
    /// Whether the rate that was asked for was reached.
    OfferedRate,
    /// How near the rate is to what our own server reaches under the same load.
    Ceiling,
    /// Whether all who are asked the same answer with the same status, as far as it was counted.
    Status,
    /// Whether all who are asked the same answer with about as many bytes.
    Bytes,
    /// Whether all who are asked the same answer with the same type of content.
    ContentType,
    /// Whether the subject kept off the generator's cores.
    Cores,
    /// Whether others used processors meanwhile.
    Unattributed,
    /// Whether the subject's work is done by processes outside of its own.
    Elsewhere,
    /// Whether the subject was gone when it was ended.
    LeftBehind,
    /// Whether the subjects that waited for their turn were idle.
    IdleSubjects,
    /// Whether somebody waited for a processor before the load.
    PressureBefore,
    /// Whether somebody other than the subject waited for a processor meanwhile.
    Pressure,
    /// Whether the hypervisor took time away.
    Steal,
    /// Whether a quota held the processes back.
    Quota,
    /// Whether TCP had to send again.
    Retransmits,
    /// Whether connections were refused because a listener's queue was full.
    ListenDrops,
    /// Whether packets were dropped on their way through this host.
    PacketDrops,
    /// Whether ports ran short.
    Ports,
    /// The largest packet of the loopback interface.
    Mtu,
    /// Whether packets over the loopback interface are held back.
    Queueing,
    /// The congestion control of TCP.
    CongestionControl,
    /// How the processor's clock is governed.
    Governor,
}

/// Something that was found.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, schemars::JsonSchema)]
pub struct Finding {
    /// What was looked at.
    pub check: Check,
    /// What it does to the figures.
    pub severity: Severity,
    /// What was found, without a full stop at its end.
    pub sentence: String,
}

/// The first sentence of that severity.
pub fn first(findings: &[Finding], severity: Severity) -> Option<&str> {
    let found = findings.iter().find(|one| one.severity == severity);
    found.map(|finding| finding.sentence.as_str())
}
