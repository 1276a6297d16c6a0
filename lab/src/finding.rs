//! What was found about the worth of a round: which check, how bad, in a sentence.
//!
//! Knows nothing of how checks are made or of what a verdict makes of them.

use serde::{Deserialize, Serialize};

/// What a finding does to the figures it is about. Ordered from mild to severe.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Severity {
    /// A reader has to know it; the figures stand.
    Caution,
    /// The generator was the limit: a rate is a lower bound, a time is also the generator's.
    Bound,
    /// The round counts for nothing.
    Void,
}

/// What was looked at.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Check {
    /// Whether exchanges completed, and how many failed.
    Errors,
    /// Whether the generator itself calls its record valid.
    Record,
    /// Whether the generator was the limit, as it judges itself.
    Generator,
}

/// Something that was found.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
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
    findings
        .iter()
        .find(|finding| finding.severity == severity)
        .map(|finding| finding.sentence.as_str())
}
