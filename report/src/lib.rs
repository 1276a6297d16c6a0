//! What a comparison found: one model, which each format in this folder writes down.
//!
//! The model is made of manifest and rounds alone, so the same records give the same report, today
//! or in a year. Each format is a file that reads the model. The parts of pages ([`html`]), of
//! tables and of texts serve whatever else is found, too: sweeps, capacities, trials, claims. The
//! files of a report have their names in [`pages`], and [`pack`] puts a folder of records into one
//! file, without what can be made again.
//!
//! Measures and judges nothing; how a page looks is known here and nowhere below.
#![forbid(unsafe_code)]

pub mod agents;
pub mod benchmark;
mod checks;
mod clue;
mod course;
pub mod csv;
mod distribution;
mod environment;
mod faulted;
mod figures;
mod files;
pub mod html;
mod json;
pub mod junit;
pub mod markdown;
pub mod pack;
pub mod pages;
mod phases;
mod plot;
mod ranking;
mod resources;
pub mod single;
mod steps;
pub mod terminal;

#[cfg(test)]
#[path = "../../tests/alone.rs"]
mod alone;
#[cfg(test)]
#[path = "../../tests/made_up.rs"]
mod made_up;
#[cfg(test)]
#[path = "../../tests/snapshot.rs"]
mod snapshot;
#[cfg(test)]
mod tests;

use std::collections::{BTreeMap, BTreeSet};
use std::fmt;

use clues::Clue;
use measure::host::Host;
use schemars::JsonSchema;
use serde::{Serialize, Serializer};

pub use course::Lap;
pub use csv::csv;
pub use distribution::{Distribution, Quantile};
pub use faulted::{FaultFound, Second};
pub use figures::{Figures, written};
pub use files::{files, for_pipelines};
pub use html::{Enclosed, html};
pub use json::{json, schema_of};
pub use markdown::markdown;
pub use phases::{Condition, PhaseFound};
pub use resources::Resources;
pub use steps::StepFigures;
pub use terminal::{Look, terminal};

use lab::finding::{Severity, first};
use lab::judged::{Floor, Judged, Measured, judge, noise_floors};
use lab::manifest::{self, Asked, Manifest, RanBefore, Role, RowFacts, Setup};
use lab::round::Round;
use lab::sample::{Sample, lost_in_words};
use lab::validity::{self, Line};
use lab::verdict::{self, Judgement, Kind, Metric, Verdict};
use netns::Network;
use statistics::format::{digits, per_second, whole};
use statistics::{Ratio, Spread};
use supervisor::watch::scrape::Change;

use plot::confidence;

/// The version of the JSON report.
pub const SCHEMA_VERSION: u32 = 1;

/// A server that waited longer than this share of the time for its core is mentioned.
const WAITED_MAX: f64 = 0.10;

/// Idle subjects that used more of a core than this are mentioned.
const OTHERS_BUSY_MAX: f64 = 0.02;

/// What a comparison found.
#[derive(Clone, Debug, Serialize, JsonSchema)]
pub struct Report {
    /// The version of this structure in JSON.
    pub schema_version: u32,
    /// How the measuring was set up.
    pub setup: Setup,
    /// What was asked for besides the file.
    pub asked: Asked,
    /// Why there are fewer rounds than asked for, as was asked for.
    pub stopped: Option<String>,
    /// The machine.
    pub host: Host,
    /// The network in which everything ran; null where that wasn't kept.
    pub network: Option<Network>,
    /// What a reader must know before the figures.
    pub cautions: Vec<String>,
    /// What the baseline seems to differ from itself by, as a share; null where it was not measured
    /// once more.
    pub noise_floor: Option<f64>,
    /// The same for each figure that rows are judged by.
    pub noise_floors: Vec<Floor>,
    /// Who is ahead, by how much and at what cost, in a sentence or two.
    pub ranking: Vec<String>,
    /// The subjects in the comparison's order.
    pub subjects: Vec<Row>,
    /// Every check of every row, and what it came to.
    pub checks: Vec<Line>,
    /// What could not be seen while rounds were measured, and why, in sentences.
    pub unseen: Vec<String>,
    /// What can be concluded, in sentences.
    pub conclusions: Vec<String>,
    /// What cannot, or only with care.
    pub limits: Vec<String>,
}

/// A subject's part of the report.
#[derive(Clone, Debug, Serialize, JsonSchema)]
pub struct Row {
    /// What is known of it besides its rounds; in JSON its fields stand among these.
    #[serde(flatten)]
    pub facts: RowFacts,
    /// The rounds put together; null where none was measured.
    pub figures: Option<Figures>,
    /// The same at the rate that all rows were offered alike; null where there was none.
    pub at_equal_rate: Option<Figures>,
    /// Its figure as a multiple of the baseline's.
    pub ratio: Option<Ratio>,
    /// How far it stayed behind the rate that it was offered; left out where it held it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub behind_rate: Option<String>,
    /// What can be said about it beside the baseline.
    pub verdict: Verdict,
    /// The same by further metrics, such as the processor time of each exchange.
    pub further: Vec<Judgement>,
    /// What a reader of its figures must know.
    #[schemars(with = "Vec<String>")]
    pub notes: Vec<Note>,
    /// What its state and its host's suggest to look at next; left out where that is nothing.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub clues: Vec<Clue>,
    /// What its processes used; null where none was measured.
    pub resources: Option<Resources>,
    /// How the subject's own metrics moved in the last round, by name, if it was asked for them.
    pub scraped: BTreeMap<String, Change>,
    /// How long its exchanges took, all rounds that count together; null where no generator ran.
    pub distribution: Option<Distribution>,
    /// When each of its rounds was, and how it went.
    pub course: Vec<Lap>,
    /// The phases that its rounds consist of; empty where each is one window.
    pub phases: Vec<PhaseFound>,
    /// What each fault cost that was made on purpose; left out where there were none.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub faults: Vec<FaultFound>,
    /// Its rounds second by second, where there were faults and no phases; else left out.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub seconds: Vec<Second>,
    /// Each request of a mix by itself; left out where all requests are alike.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub steps: Vec<StepFigures>,
    /// Its rounds.
    pub samples: Vec<Sample>,
}

/// Something that a reader of a row's figures must know. It is written as one sentence.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Note {
    /// What several rows may have in common.
    pub says: String,
    /// What is this row's own about it.
    pub detail: Option<String>,
}

impl Note {
    fn new(says: impl Into<String>) -> Note {
        Note {
            says: says.into(),
            detail: None,
        }
    }
}

impl fmt::Display for Note {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match &self.detail {
            Some(detail) => write!(f, "{} ({detail})", self.says),
            None => f.write_str(&self.says),
        }
    }
}

impl Serialize for Note {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_str(self)
    }
}

impl Report {
    /// Puts the rounds together and judges them.
    pub fn new(manifest: &Manifest, rounds: &[Round]) -> Report {
        let setup = &manifest.setup;
        let measured = Measured::all(manifest, rounds);
        let judged = judge(&measured, manifest);
        let steps = StepFigures::all(&measured, manifest, rounds);
        let rows = measured.iter().zip(judged).zip(steps);
        let subjects: Vec<Row> = rows
            .map(|((measured, judged), steps)| Row {
                steps,
                ..row(measured, judged, rounds, setup)
            })
            .collect();
        let floors = noise_floors(&measured, setup);
        let is_main = |floor: &&Floor| floor.metric == setup.metric;
        Report {
            schema_version: SCHEMA_VERSION,
            conclusions: conclusions(&subjects, setup, &floors),
            limits: limits(manifest, &subjects),
            setup: setup.clone(),
            asked: manifest.asked.clone(),
            stopped: manifest.stopped.clone(),
            host: manifest.host.clone(),
            network: manifest.network.clone(),
            cautions: manifest.cautions.clone(),
            checks: validity::all(manifest, rounds),
            unseen: unseen(manifest, rounds),
            noise_floor: floors.first().filter(is_main).map(|floor| floor.share),
            noise_floors: floors,
            ranking: ranking::ranking(&subjects, setup),
            subjects,
        }
    }

    /// Whether every subject that could be measured was.
    pub fn complete(&self) -> bool {
        self.setup.ended_early.is_none()
            && !self
                .subjects
                .iter()
                .filter(|row| row.facts.role != Role::Ceiling)
                .any(|row| matches!(row.facts.outcome, manifest::Outcome::Failed { .. }))
    }

    /// Whether any subject was measured at all. Our own server, which is there to see what the
    /// generator can do, is none.
    pub fn has_figures(&self) -> bool {
        let mut subjects = self.subjects.iter();
        subjects.any(|row| row.figures.is_some() && row.facts.role != Role::Ceiling)
    }
}

impl Row {
    /// Whether it is there to judge the measuring by, and not itself compared.
    pub fn is_for_the_measuring(&self) -> bool {
        matches!(
            self.verdict.kind,
            Kind::Baseline | Kind::Noise | Kind::Ceiling
        )
    }
}

/// Puts a row's rounds together.
fn row(row: &Measured<'_>, judged: Judged, rounds: &[Round], setup: &Setup) -> Row {
    let own = || rounds.iter().filter(|round| round.row == row.facts.name);
    let all: Vec<&Round> = own().collect();
    let began = rounds.iter().map(|round| round.began_unix_s).min();
    let mut distribution = distribution(own());
    let mut course = Lap::all(own(), began.unwrap_or(0), setup.metric);
    if first(&row.found, Severity::Void).is_some() {
        distribution = None;
        course.iter_mut().for_each(|lap| lap.counts = false);
    }
    let figures = Figures::of(&row.samples);
    let resources = Resources::of(&all);
    let last = all.last().map(|round| round.watched.scraped.clone());
    let cores = setup.server_cores.len();
    let clues = clue::of(&all, cores);
    let mut notes = notes(row, figures.as_ref(), resources.as_ref(), &all, cores);
    notes.extend(closes_each(&clues));
    Row {
        facts: row.facts.clone(),
        notes,
        clues,
        figures,
        at_equal_rate: Figures::of(&row.at_equal_rate),
        ratio: judged.ratio,
        behind_rate: row.behind_rate().map(str::to_owned),
        verdict: judged.verdict,
        further: judged.further,
        resources,
        scraped: last.unwrap_or_default(),
        distribution,
        course,
        phases: PhaseFound::all(&all),
        faults: FaultFound::all(&all),
        seconds: Second::all(&all),
        steps: Vec::new(),
        samples: row.samples.clone(),
    }
}

/// Of those rounds that count; nothing where one of them has no record.
fn distribution<'a>(rounds: impl Iterator<Item = &'a Round>) -> Option<Distribution> {
    let counting = rounds.filter(|round| round.sample.void().is_none());
    let histogram = |round: &'a Round| {
        let record = round.record.as_ref()?;
        Some(record.histograms.response_time.as_str())
    };
    let histograms: Option<Vec<&str>> = counting.map(histogram).collect();
    Distribution::of(histograms?.into_iter())
}

/// What could not be seen, each once: in rounds, and of a row besides them.
fn unseen(manifest: &Manifest, rounds: &[Round]) -> Vec<String> {
    let in_rounds = rounds.iter().flat_map(|round| &round.watched.missing);
    let besides = manifest.rows.iter().flat_map(|row| {
        let missing = row.profile.iter().flat_map(|profile| &profile.missing);
        missing.map(|what| format!("{}: {what}", row.name))
    });
    let all = in_rounds.cloned().chain(besides);
    all.collect::<BTreeSet<String>>().into_iter().collect()
}

/// What a reader of a row's figures must know.
fn notes(
    row: &Measured<'_>,
    figures: Option<&Figures>,
    resources: Option<&Resources>,
    rounds: &[&Round],
    cores: usize,
) -> Vec<Note> {
    let mut notes = Vec::new();
    let samples = &row.samples;
    if let Some(asked) = &row.facts.asked {
        notes.push(Note::new(format!("asked {asked}")));
    }
    let link = row.facts.link.as_ref().filter(|_| figures.is_some());
    notes.extend(link.map(|link| Note::new(format!("reached over {}", link.words()))));
    notes.extend(limited(rounds, resources));
    let cautions = row
        .found
        .iter()
        .filter(|found| found.severity == Severity::Caution);
    notes.extend(cautions.map(|found| Note::new(&found.sentence)));
    notes.extend(bounded(row, rounds));
    if let Some(figures) = figures
        && let Some(lost) = lost_in_words(&figures.lost, &figures.errors)
    {
        notes.push(Note::new(lost));
    }
    if resources.is_some_and(Resources::several_processes) {
        let what = "its peak memory is an upper bound: the sum of its processes' peaks";
        notes.push(Note::new(what));
    }
    let void: Vec<&Sample> = samples
        .iter()
        .filter(|sample| sample.void().is_some())
        .collect();
    if let Some(why) = void.first().and_then(|sample| sample.void()) {
        notes.push(Note::new(format!(
            "{} of {} rounds {} void: {why}",
            void.len(),
            samples.len(),
            if void.len() == 1 { "is" } else { "are" }
        )));
    }
    let waited = Spread::of(samples.iter().map(|sample| sample.server_waited));
    if let Some(waited) = waited.filter(|waited| waited.median > WAITED_MAX) {
        notes.push(waited_for_a_core(waited.median, rounds, cores));
    }
    let others = samples
        .iter()
        .map(|sample| sample.others_busy)
        .fold(0.0, f64::max);
    if others > OTHERS_BUSY_MAX {
        notes.push(Note::new(format!(
            "while it was measured, the idle subjects used up to {:.0} % of a core",
            100.0 * others
        )));
    }
    notes
}

/// That the generator was the limit, and which figures it bounds from which side: a rate from
/// below, but times at a rate from above. It may well have been idle and kept from its core.
fn bounded(row: &Measured<'_>, rounds: &[&Round]) -> Option<Note> {
    let limit = verdict::limit(row.side())?;
    let mut records = rounds.iter().filter_map(|round| round.record.as_ref());
    let is_open = records.any(|record| record.offered_rate.is_some());
    let says = match is_open {
        true => "upper bound of its response times: the generator was held up",
        false => "lower bound: the generator was the limit",
    };
    Some(Note {
        detail: Some(limit),
        ..Note::new(says)
    })
}

/// That the subject closes each connection, which new ones have to be opened for.
fn closes_each(clues: &[Clue]) -> Option<Note> {
    let clue = clues
        .iter()
        .find(|clue| clue.kind == clues::Kind::ClosesEach)?;
    Some(Note::new(format!(
        "closes each connection: {}",
        clue.figure
    )))
}

/// What the row may use at most, and that its peak of memory is above that, if it is.
fn limited(rounds: &[&Round], resources: Option<&Resources>) -> Vec<Note> {
    let Some(limited) = rounds.iter().find_map(|round| round.watched.limited) else {
        return Vec::new();
    };
    let mut notes = Vec::new();
    let limits = limited.limits_in_words();
    if !limits.is_empty() {
        notes.push(Note::new(format!("limited to {limits}")));
    }
    let peak = resources.and_then(|used| used.memory_peak_bytes);
    if let (Some(peak), Some(limit)) = (peak, limited.memory_bytes)
        && peak.median > limit as f64
    {
        notes.push(Note::new(
            "its peak memory is above its limit: pages that it shares with others, such as those \
             of libraries, count as its own, and their first user's limit is charged for them",
        ));
    }
    notes
}

/// That threads waited, and why, as far as that is known: a limit of processor time makes them
/// wait on cores that are idle.
fn waited_for_a_core(share: f64, rounds: &[&Round], cores: usize) -> Note {
    let limited = rounds.iter().filter_map(|round| round.watched.limited);
    let held_back = clues::throttled_share(limited, cores);
    let why = match held_back > 0.0 {
        true => format!(
            "its CPU limit held it back for {:.0} % of the time",
            100.0 * held_back
        ),
        false => "they share it with each other or with something else".to_owned(),
    };
    let waited = match share {
        2.0.. => format!(
            "{} of its threads were ready but waited for a core, on average",
            digits(share)
        ),
        _ => format!(
            "its threads were ready but waited for a core {:.0} % of the time",
            100.0 * share
        ),
    };
    Note::new(format!("{waited}: {why}"))
}

fn conclusions(subjects: &[Row], setup: &Setup, floors: &[Floor]) -> Vec<String> {
    let mut sentences = Vec::new();
    if let Some(why) = &setup.ended_early {
        sentences.push(format!(
            "The measurement ended early: {why}. What follows covers the rounds before that."
        ));
    }
    let behind = subjects.iter().filter_map(|row| {
        let (name, what) = (&row.facts.name, row.behind_rate.as_ref()?);
        Some(format!("{name} doesn't hold the rate: {what}."))
    });
    sentences.extend(behind);
    let mut in_a_line = false;
    let (elsewhere, shared): (Vec<Metric>, Vec<String>) = ranking::without_verdict(subjects, setup)
        .into_iter()
        .unzip();
    for row in subjects.iter().filter(|row| !row.is_for_the_measuring()) {
        let line = row.line(setup, &elsewhere);
        in_a_line |= line.is_some();
        sentences.push(line.unwrap_or_else(|| as_sentence(&row.verdict, subjects)));
    }
    sentences.extend(shared);
    if in_a_line {
        sentences.push(all_rest_on(subjects, setup, floors));
    }
    sentences
}

/// What all verdicts rest on, where each row has several in a line.
fn all_rest_on(subjects: &[Row], setup: &Setup, floors: &[Floor]) -> String {
    let percent = |share: f64| format!("{} %", digits(100.0 * share));
    let ratios = || {
        let further = |row: &Row| {
            row.further
                .iter()
                .filter_map(|one| one.ratio)
                .collect::<Vec<_>>()
        };
        subjects
            .iter()
            .flat_map(move |row| row.ratio.into_iter().chain(further(row)))
    };
    let of = |count: fn(&Ratio) -> usize| {
        let counts = ratios().map(|ratio| count(&ratio));
        let (least, most) = (counts.clone().min().unwrap_or(0), counts.max().unwrap_or(0));
        match least == most {
            true => least.to_string(),
            false => format!("{least}–{most}"),
        }
    };
    let floors: Vec<String> = floors
        .iter()
        .map(|floor| format!("{} {}", floor.metric.name(), percent(floor.share)))
        .collect();
    let starts = of(|ratio| ratio.starts);
    let starts = match starts.as_str() {
        "1" => "a single start of each row".to_owned(),
        _ => format!("{starts} starts of each row"),
    };
    let noise = match floors.is_empty() {
        true => "; the noise floor wasn't measured".to_owned(),
        false => format!(
            ", nor do those up to the noise floor: {}",
            floors.join(", ")
        ),
    };
    let confidence = confidence(subjects).map_or(String::new(), |words| format!(", {words}"));
    format!(
        "These are multiples of {}'s figures, from {} rounds of {starts}{confidence}. Differences \
         up to {} don't count{noise}.",
        setup.baseline,
        of(|ratio| ratio.rounds),
        percent(setup.smallest_difference),
    )
}

/// A verdict to stand by itself.
fn as_sentence(verdict: &Verdict, subjects: &[Row]) -> String {
    standing(&verdict.sentence(), subjects)
}

/// Words with a capital letter and a full stop. The name of a subject stays as it is.
fn standing(words: &str, subjects: &[Row]) -> String {
    let names = subjects.iter().map(|row| row.facts.name.as_str());
    standing_among(words, names)
}

/// The same beside subjects of these names.
fn standing_among<'a>(words: &str, mut names: impl Iterator<Item = &'a str>) -> String {
    let sentence = words.trim_end_matches('.');
    let is_first = |name: &str| {
        let rest = sentence.strip_prefix(name);
        rest.is_some_and(|rest| rest.starts_with(' '))
    };
    match sentence.get(..1) {
        Some(first) if !names.any(is_first) => {
            format!("{}{}.", first.to_uppercase(), &sentence[1..])
        }
        _ => format!("{sentence}."),
    }
}

/// Which variation the intervals cover.
fn covered(manifest: &Manifest, subjects: &[Row]) -> String {
    let setup = &manifest.setup;
    let ratios = subjects.iter().filter_map(|row| row.ratio);
    let starts = ratios.clone().map(|ratio| ratio.starts).max();
    // Commands are started for each round, whatever the file says.
    let anew = starts > Some(1) && ratios.clone().all(|ratio| ratio.starts == ratio.rounds);
    let each = setup.rounds_per_start.or(anew.then_some(1));
    match (each, starts) {
        (Some(each), _) => format!(
            "Intervals cover the variation between starts of new processes ({each} {} each) on one \
             host, in one session; another host or kernel may give another answer.",
            if each == 1 { "round" } else { "rounds" }
        ),
        (None, Some(starts)) if starts > 1 => format!(
            "Intervals cover the variation between {starts} starts of the processes, because the \
             measurement was interrupted and resumed. So few starts say little about it, which \
             makes the intervals wide. Another host or kernel may give another answer."
        ),
        (None, _) if manifest.rows.iter().any(|row| row.ran_before.is_some()) => {
            "Intervals cover the variation between rounds in one session. Servers that were \
             running already aren't started anew: another start, host or kernel may give another \
             answer."
                .to_owned()
        }
        (None, _) => "Intervals cover the variation between rounds of a single start of each \
                      process, on one host, in one session. Another start, host or kernel may give \
                      another answer; `rounds_per_start = 1` covers starts, too."
            .to_owned(),
    }
}

/// Where both sides were, and what that does to the figures.
fn places(manifest: &Manifest) -> Vec<String> {
    let is_elsewhere = |row: &&RowFacts| row.ran_before == Some(RanBefore::Elsewhere);
    let elsewhere: Vec<&str> = manifest
        .rows
        .iter()
        .filter(is_elsewhere)
        .map(|row| row.name.as_str())
        .collect();
    let mut places = Vec::new();
    if elsewhere.len() < manifest.rows.len() {
        let whose = match elsewhere.is_empty() {
            true => "Both sides",
            false => "The other rows and the generator",
        };
        places.push(format!(
            "{whose} ran on this one host, over loopback. The kernel receives a packet on the \
             sender's time, so part of each side's network work is charged to the other; no \
             network card, distance or packet loss was involved."
        ));
    }
    if !elsewhere.is_empty() {
        let note = "on another machine, as far as we know: the network in between is part of the \
                    figures, and what else that machine did wasn't seen.";
        places.insert(0, format!("{} ran {note}", elsewhere.join(", ")));
    }
    places
}

/// Between which numbers those that fall due in 19 of 20 windows lie, where they do so at random.
fn due_in_window(rate: f64, window_s: f64) -> String {
    let (mean, spread) = (rate * window_s, 1.96 * (rate * window_s).sqrt());
    let (least, most) = ((mean - spread).max(0.0), mean + spread);
    format!(
        "mostly {} to {}",
        whole(least as u64),
        whole(most.ceil() as u64)
    )
}

fn limits(manifest: &Manifest, subjects: &[Row]) -> Vec<String> {
    let (setup, host) = (&manifest.setup, &manifest.host);
    let mut limits = places(manifest);
    limits.push(match setup.rate {
        None if setup.metric == Metric::GeneratorCpuPerExchange => format!(
            "Each generator ({}) loaded the same server as fast as it could. Requests are counted \
             by that server, and CPU time is all that the generator used from its start to its \
             end; what a generator says of itself is only shown.",
            setup.load
        ),
        None => format!(
            "Closed loop ({}): each connection sends again when it has its answer. {}",
            setup.load,
            match setup.equal_rate {
                None => "The times are those of a server driven to its limit; users see other \
                         times at a lower load."
                    .to_owned(),
                Some(rate) => format!(
                    "What is said at {} was measured in an open loop: the requests were sent no \
                     matter how fast the server answered.",
                    per_second(rate)
                ),
            }
        ),
        Some(rate) => format!(
            "Open loop: {rate} requests/s were offered no matter how fast the server answered, and \
             response times count from when a request was due. They are due at random times \
             (Poisson): {} in a window.",
            due_in_window(rate, setup.window_s)
        ),
    });
    limits.push(covered(manifest, subjects));
    if let Some(why) = &manifest.stopped {
        limits.push(format!(
            "The measurement ended before its last round: {why}."
        ));
    }
    let noise = subjects.iter().find(|row| row.verdict.kind == Kind::Noise);
    limits.push(match noise {
        Some(row) => as_sentence(&row.verdict, subjects),
        None => "The baseline wasn't measured a second time, so we don't know how different \
                 identical servers look on this host; `aa = true` shows it."
            .to_owned(),
    });
    let compared = "If several subjects are compared, their intervals are wider than 95 %, so that \
                    all verdicts together are right in about 95 of 100 such comparisons.";
    limits.push(compared.to_owned());
    if host.virtualised == Some(true) {
        limits.push(
            "The host is a virtual machine: other machines on the hardware add to the spread, and \
             cycle counters aren't available."
                .to_owned(),
        );
    }
    limits
}
