//! One round of one row as it is kept in a file: the figures that are compared, what was seen of
//! the subject meanwhile, and the generator's whole record.

use std::path::{Path, PathBuf};

use faults::Injected;
use load::Record;
use load::check::Outcome;
use serde::{Deserialize, Serialize};
use supervisor::document;
use supervisor::generator::Generated;

use crate::sample::Sample;

pub use supervisor::watch::Watched;

/// The version of a round's file that is written and read here.
pub const SCHEMA_VERSION: u32 = 1;

/// One round of one row.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct Round {
    /// The version of this structure.
    pub schema_version: u32,
    /// The row's name.
    pub row: String,
    /// The round, from 1.
    pub round: u32,
    /// Which start of the row's processes it was measured on, from 1.
    pub start: u32,
    /// When it began, in seconds since 1970, UTC.
    pub began_unix_s: u64,
    /// The figures that are compared.
    pub sample: Sample,
    /// What was seen of the subject and the host meanwhile.
    pub watched: Watched,
    /// What was done to the subject meanwhile; empty where that is nothing.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub faults: Vec<Injected>,
    /// What the generator measured; null where a command was timed, or generators are compared.
    pub record: Option<Record>,
    /// The phases that it consisted of, in their order; empty where it is one window.
    #[serde(default)]
    pub phases: Vec<PhaseRun>,
    /// What the row's generator did, where generators are compared.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub generated: Option<Generated>,
}

/// One phase of a round.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct PhaseRun {
    /// The phase's name.
    pub name: String,
    /// Requests a second asked for; null in a closed loop.
    pub rate: Option<f64>,
    /// Connections.
    pub connections: u32,
    /// Whether it is the one that the round's own figures and record are of.
    pub compared: bool,
    /// Whether its rate is the one that was offered to all rows alike.
    #[serde(default)]
    pub equal: bool,
    /// Its figures.
    pub sample: Sample,
    /// What was seen of the subject and the host meanwhile.
    pub watched: Watched,
    /// What was done to the subject meanwhile; empty where that is nothing.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub faults: Vec<Injected>,
    /// Its conditions, and whether they were met.
    pub conditions: Vec<Outcome>,
    /// What the generator measured; null where it is the round's own record.
    pub record: Option<Record>,
}

impl PhaseRun {
    /// Whether every condition was met.
    pub fn passed(&self) -> bool {
        self.conditions.iter().all(|condition| condition.ok)
    }
}

impl Round {
    /// Reads a round's file. A newer schema and what is no round are told apart in a sentence.
    pub fn from_json(text: &str) -> Result<Round, String> {
        document::versioned(text, SCHEMA_VERSION, "round")
    }

    /// Its file, inside a comparison's folder.
    pub fn file(row: &str, round: u32) -> PathBuf {
        Path::new("rounds")
            .join(row)
            .join(format!("{round:03}.json"))
    }
}
