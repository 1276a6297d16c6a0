//! What a history says, as programs read it.

use lab::verdict::Metric;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use statistics::change::Course;
use supervisor::document::indented;

/// The version of the JSON.
pub const SCHEMA_VERSION: u32 = 1;

/// Sessions over time.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct History {
    /// The version of this structure in JSON.
    pub schema_version: u32,
    /// The sessions that can be compared with each other, by what they measured and where.
    pub groups: Vec<Group>,
    /// What was found and isn't in a group.
    pub left_out: Vec<LeftOut>,
}

/// Something that was left out.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct LeftOut {
    /// A file or a folder.
    pub what: String,
    /// The reason, a clause.
    pub why: String,
}

/// Sessions that measured the same on the same host.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Group {
    /// The comparison's name, or what a run loaded.
    pub name: String,
    /// The machine, in words.
    pub host: String,
    /// What all of them asked, by name and value.
    pub load: Vec<(String, String)>,
    /// The row that ratios are to; none where single runs were measured, which have none.
    pub baseline: Option<String>,
    /// Changes below this share don't matter.
    pub smallest: f64,
    /// The sessions in their order.
    pub sessions: Vec<SessionFacts>,
    /// The figures of each row.
    pub figures: Vec<Figure>,
    /// What a reader must know besides.
    pub cautions: Vec<String>,
}

/// A session, whatever it measured.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct SessionFacts {
    /// Where its records are.
    pub place: String,
    /// When it began, in seconds since 1970 UTC; of a run, when it ended.
    pub unix_s: u64,
    /// The commit that the name of its folder or file says, if it says one.
    pub commit: Option<String>,
    /// The version of ringside that measured it.
    pub ringside: String,
    /// What the baseline is another program by than in the session before, if it is one.
    pub other_baseline: Option<String>,
}

/// A row's figure in each session.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Figure {
    /// The row.
    pub row: String,
    /// What was measured of it.
    pub metric: Metric,
    /// Whether points are ratios to the baseline of the same session.
    pub relative: bool,
    /// Its sessions; those that didn't measure it are missing.
    pub points: Vec<Point>,
    /// How many sessions the longest series has that was judged as one: at most all, since a
    /// baseline that became another program begins a new one.
    pub judged: usize,
    /// The clearest change's share of random orders that have one as clear; null where no series
    /// was long enough.
    pub p_value: Option<f64>,
    /// The share that it had to be at most.
    pub level: Option<f64>,
    /// What is proven to have changed.
    pub changes: Vec<Change>,
}

/// A figure in one session.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Point {
    /// Which session of the group, from 0.
    pub session: usize,
    /// The ratio to the baseline, or where there is none the figure itself.
    pub value: f64,
    /// The ends of its 95 % interval over the session's rounds; null where there are too few.
    pub interval: Option<(f64, f64)>,
    /// The figure itself, over the session's rounds.
    pub absolute: Absolute,
    /// Whether the generator was the limit for it or for the baseline.
    pub bound: bool,
}

/// A figure by itself, with all that the host did in it.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Absolute {
    /// The median of the rounds.
    pub median: f64,
    /// The lowest of them.
    pub lowest: f64,
    /// The highest of them.
    pub highest: f64,
}

/// A change that is proven.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Change {
    /// Whether it came at once or little by little.
    pub course: Course,
    /// The last session before it, from 0; of a drift, the first.
    pub from: usize,
    /// The first session after it; of a drift, the last.
    pub to: usize,
    /// How many times what it was before the figure is after it.
    pub ratio: f64,
    /// The lower end of the interval of that.
    pub low: f64,
    /// The upper end of the interval of that.
    pub high: f64,
    /// How often such an interval holds the truth if the place is right, as a share.
    pub confidence: f64,
    /// How often sessions in random order have a change as clear, as a share.
    pub p_value: f64,
    /// Whether it's for the worse.
    pub worse: bool,
    /// Whether the whole interval lies beyond the smallest difference that matters.
    pub matters: bool,
    /// The session with which it was first shown, from 0: those up to it are enough for that.
    #[serde(default)]
    pub shown_since: usize,
    /// Whether the row is the same program on both sides of it.
    pub program: Program,
    /// What else is different on both sides and may have changed the figure, such as the kernel.
    pub besides: Vec<String>,
}

/// Whether a row is the same program in two sessions.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(tag = "is", content = "why", rename_all = "snake_case")]
pub enum Program {
    /// It is: something else changed the figure.
    Same,
    /// It is another, and in what.
    Other(String),
    /// The records don't say, and why.
    Unknown(String),
}

impl History {
    /// Whether the newest `sessions` of a group were needed to show that a figure became worse, by
    /// more than doesn't matter, in a row that isn't known to be the same program. A change is
    /// shown some sessions after it came, and each is new once.
    pub fn worse_within(&self, sessions: usize) -> bool {
        self.groups.iter().any(|group| {
            let first = group.sessions.len().saturating_sub(sessions);
            let mut changes = group.figures.iter().flat_map(|figure| &figure.changes);
            changes.any(|one| {
                let counts = one.worse && one.matters && one.program != Program::Same;
                counts && one.shown_since >= first
            })
        })
    }

    /// For programs: all of it.
    pub fn json(&self) -> String {
        indented(self)
    }
}
