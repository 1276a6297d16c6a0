//! What is known of a comparison besides its rounds: how it was set up, on what host, which rows
//! it has and how it went for each. Written at the start and whenever it changes, so that a folder
//! can be read, reported and resumed whatever happened to the program that wrote it.

use std::collections::BTreeSet;
use std::path::PathBuf;

use measure::host::Host;
use netns::Network;
use netns::link::Link;
use profiles::calls::Calls;
use serde::{Deserialize, Serialize};
use statistics::sequential::Looks;
use supervisor::binaries::Binary;
use supervisor::document;

use crate::verdict::Metric;

/// The version of the manifest that is written and read here.
pub const SCHEMA_VERSION: u32 = 1;

/// All that is known of a comparison besides its rounds.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct Manifest {
    /// The version of this structure.
    pub schema_version: u32,
    /// How the measuring was set up.
    pub setup: Setup,
    /// The machine.
    pub host: Host,
    /// The share of a moment before the start in which somebody waited for a processor; null where
    /// the kernel keeps no account of pressure.
    #[serde(default)]
    pub pressure_before: Option<f64>,
    /// The network in which everything ran; null where that wasn't kept, which is the host's in
    /// comparisons from before there were others.
    #[serde(default)]
    pub network: Option<Network>,
    /// What a reader must know before the figures.
    pub cautions: Vec<String>,
    /// The keyed hash of the comparison's file as it was read, secrets included; null in folders
    /// that were begun before there was one.
    #[serde(default)]
    pub file_hash: Option<String>,
    /// What was asked for besides the file.
    pub asked: Asked,
    /// The rows in the comparison's order.
    pub rows: Vec<RowFacts>,
    /// When it may end early, and when it did; null where its length was fixed.
    #[serde(default)]
    pub looks: Option<Looks>,
    /// What was seen at the looks.
    pub looked: Vec<LookTaken>,
    /// Why there are fewer rounds than asked for, as was asked for.
    pub stopped: Option<String>,
    /// Seconds that starts, warm-ups and rounds have taken until now.
    pub spent_s: f64,
}

/// What was asked for besides the file: a comparison is resumed with the same.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, schemars::JsonSchema)]
pub struct Asked {
    /// Rounds in place of the file's.
    pub rounds: Option<u32>,
    /// Seconds of each window in place of the file's.
    pub window_s: Option<f64>,
    /// Seconds beyond which no subject's own warm-up goes.
    #[serde(default)]
    pub warm_up_max_s: Option<f64>,
    /// Whether the baseline is measured once more.
    pub aa: Option<bool>,
    /// Whether our own server is measured, too.
    #[serde(default)]
    pub ceiling: Option<bool>,
    /// The precision in place of the file's, as a share.
    pub precision: Option<f64>,
    /// The budget in place of the file's, in seconds.
    pub budget_s: Option<f64>,
}

impl Asked {
    /// The options, as a command names them, in which `self` differs from `other`.
    pub(crate) fn differs_from(&self, other: &Asked) -> Vec<&'static str> {
        let mut differ = Vec::new();
        let mut note = |same: bool, option| {
            if !same {
                differ.push(option);
            }
        };
        note(self.rounds == other.rounds, "--rounds");
        note(self.window_s == other.window_s, "--duration");
        note(self.warm_up_max_s == other.warm_up_max_s, "--quick");
        note(self.aa == other.aa, "--aa");
        note(self.ceiling == other.ceiling, "--ceiling");
        note(self.precision == other.precision, "--precision");
        note(self.budget_s == other.budget_s, "--budget");
        differ
    }
}

/// A look at the figures between two rounds: are they precise enough to stop.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct LookTaken {
    /// After which round.
    pub round: u32,
    /// How far the widest interval reaches to either side of its centre, as a share; null where
    /// there is none.
    pub widest: Option<f64>,
    /// Whether the measuring ended with it.
    pub enough: bool,
}

impl Manifest {
    /// What is known of the row `name`.
    pub fn row(&self, name: &str) -> Option<&RowFacts> {
        self.rows.iter().find(|row| row.name == name)
    }

    /// Reads a manifest. A newer schema and what is no manifest are told apart in a sentence.
    pub fn from_json(text: &str) -> Result<Manifest, String> {
        document::versioned(text, SCHEMA_VERSION, "comparison")
    }
}

/// How the measuring was set up: everything needed to do it again.
#[derive(Clone, Debug, Serialize, Deserialize, schemars::JsonSchema)]
pub struct Setup {
    /// The comparison's name.
    pub name: String,
    /// Its question.
    pub question: String,
    /// When it began, UTC.
    pub began: String,
    /// The version of ringside.
    pub ringside: String,
    /// The SHA-256 of the program that measured, which is the load generator; null where it could
    /// not be read, and in comparisons from before it was kept.
    #[serde(default)]
    pub ringside_sha256: Option<String>,
    /// What is compared.
    pub metric: Metric,
    /// Everything that rows are judged by, the figure that is compared first; empty in comparisons
    /// from before it was kept.
    #[serde(default)]
    pub judged_by: Vec<Metric>,
    /// Requests a second that were offered to all rows alike, besides the closed loop; null where
    /// there was no such phase, or no row answered.
    #[serde(default)]
    pub equal_rate: Option<f64>,
    /// The subject that the others are compared with.
    pub baseline: String,
    /// Rounds asked for.
    pub rounds: u32,
    /// Who was measured after whom in each round.
    pub order: Vec<Vec<String>>,
    /// The seed of the order and of the resampling.
    pub seed: u64,
    /// The smallest difference that is called one, as a share.
    pub smallest_difference: f64,
    /// After so many rounds the processes were started anew; null: all rounds are of one start.
    pub rounds_per_start: Option<u32>,
    /// How far intervals may reach to either side for the measuring to end early, as a share.
    pub precision: Option<f64>,
    /// Seconds that starts, warm-ups and rounds might take together.
    pub budget_s: Option<f64>,
    /// What is asked, in words.
    pub asked: String,
    /// Connections and what is outstanding on each, in words.
    pub load: String,
    /// Requests a second asked for; null in a closed loop.
    pub rate: Option<f64>,
    /// Seconds measured of each subject in a round.
    pub window_s: f64,
    /// Seconds of load before each window.
    pub settle_s: f64,
    /// Seconds of load on each new process.
    pub warm_up_s: f64,
    /// The cores of the subjects; empty where none were assigned, because some ran before.
    pub server_cores: Vec<usize>,
    /// The cores of the generator.
    pub generator_cores: Vec<usize>,
    /// The generator's engine, as asked for.
    pub engine: String,
    /// What ended the measuring before its last round, if something did.
    pub ended_early: Option<String>,
}

/// What is known of a row besides its rounds.
#[derive(Clone, Debug, Serialize, Deserialize, schemars::JsonSchema)]
pub struct RowFacts {
    /// Its name.
    pub name: String,
    /// What it is there for.
    pub role: Role,
    /// What it is.
    pub description: String,
    /// Its version, as it says.
    pub version: Option<String>,
    /// How it is started, before placeholders are filled in.
    pub command: String,
    /// The program that is started, and the executables of its build.
    pub binaries: Vec<Binary>,
    /// A hash of the subject's folder, of what else it is built from and of its number of workers;
    /// null where that could not be read. With the binaries it tells a subject that changed from
    /// one that did not: of a script the binary is only the interpreter.
    #[serde(default)]
    pub source: Option<String>,
    /// How it went.
    pub outcome: Outcome,
    /// What it is asked, in words, where the rows are not all asked the same.
    pub asked: Option<String>,
    /// Why its rounds cannot be compared with the baseline's, if so.
    pub spoilt: Option<String>,
    /// Where it was if it ran before it was measured: it wasn't started here, and goes on running.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub ran_before: Option<RanBefore>,
    /// Its first process then, if that is known.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub process: Option<ProcessFacts>,
    /// The folder of its subject, which several rows may share.
    #[serde(default)]
    pub subject: String,
    /// It is our own server: what it reaches is what the generator can do at most.
    #[serde(default)]
    pub own_server: bool,
    /// The type of content that it answers with, if it names one.
    #[serde(default)]
    pub content_type: Option<String>,
    /// What was between it and its load; null: loopback as it is.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub link: Option<Link>,
    /// How its warm-up was cut short; null where it wasn't.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub cold: Option<Cold>,
    /// Processes that were still there when it, or what it needs beside it, had ended, by name.
    #[serde(default)]
    pub left_behind: BTreeSet<String>,
    /// What was seen of it besides its rounds; null where nobody asked for it.
    #[serde(default)]
    pub profile: Option<Profile>,
    /// Who loads it, where generators are compared.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub generator: Option<GeneratorFacts>,
}

/// A warm-up that was cut short.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize, schemars::JsonSchema)]
pub struct Cold {
    /// Seconds that its subject needs.
    pub needed_s: f64,
    /// Seconds that it got.
    pub given_s: f64,
}

/// The first process of a server that ran before it was measured.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, schemars::JsonSchema)]
pub struct ProcessFacts {
    /// Its number.
    pub pid: u32,
    /// When it started, in ticks since the machine did: tells it from another with its number.
    pub started_ticks: u64,
    /// The keyed hash of its command line and its folder; null where they can't be read.
    #[serde(default)]
    pub command_hash: Option<String>,
    /// Which start its rounds are of, from 1; 0 before there are any.
    #[serde(default)]
    pub start: u32,
}

impl ProcessFacts {
    /// Whether both are one process.
    pub(crate) fn is(&self, other: &ProcessFacts) -> bool {
        (self.pid, self.started_ticks) == (other.pid, other.started_ticks)
    }
}

/// Where a server is that ran before it was measured.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, schemars::JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum RanBefore {
    /// On this host.
    Here,
    /// On another one, as far as anybody knows.
    Elsewhere,
}

/// What is known of a generator that is compared besides its rounds.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, schemars::JsonSchema)]
pub struct GeneratorFacts {
    /// How it is started, before placeholders are filled in.
    pub command: String,
    /// Its version, as it says.
    pub version: Option<String>,
}

/// What was seen of a subject under load besides its rounds.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, schemars::JsonSchema)]
pub struct Profile {
    /// The flame graph, in the comparison's folder; its stacks are beside it, folded.
    pub flame_graph: Option<PathBuf>,
    /// The profile that the flame graph is of, as the subject made it of itself, for `go tool
    /// pprof`; null where the flame graph is of what `perf` saw.
    #[serde(default)]
    pub pprof: Option<PathBuf>,
    /// Its system calls.
    pub calls: Option<Calls>,
    /// What could not be seen and why, in sentences.
    pub missing: Vec<String>,
}

/// What a row is there for.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
#[derive(schemars::JsonSchema)]
pub enum Role {
    /// It is compared.
    #[default]
    Subject,
    /// The baseline once more, as processes of its own: what differs between the two is noise.
    Again,
    /// Our own server under the same load: what the generator can do at most.
    Ceiling,
}

/// In so many of the first rounds the ceiling is measured: enough to know about where it is.
const CEILING_ROUNDS: u32 = 3;

impl Role {
    /// In how many of so many rounds it is measured.
    pub(crate) fn rounds(self, rounds: u32) -> u32 {
        match self {
            Role::Subject | Role::Again => rounds,
            Role::Ceiling => rounds.min(CEILING_ROUNDS),
        }
    }
}

impl Role {
    /// Its name in files.
    pub fn name(self) -> &'static str {
        match self {
            Role::Subject => "subject",
            Role::Again => "again",
            Role::Ceiling => "ceiling",
        }
    }
}

/// How it went for a row.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, schemars::JsonSchema)]
#[serde(tag = "state", rename_all = "snake_case")]
pub enum Outcome {
    /// It was measured.
    Measured,
    /// A program is missing.
    Missing {
        /// What to install.
        install: String,
    },
    /// This machine can't measure it as it was asked for.
    Cannot {
        /// What it lacks, and what to do.
        why: String,
    },
    /// It could not be built, started, verified or measured to the end.
    Failed {
        /// What happened.
        what: String,
        /// The last lines that it wrote.
        log: Vec<String>,
    },
    /// The measuring was stopped before its turn.
    NotReached,
}
