//! What a comparison found: one model, which each format in this folder writes down.
//!
//! The model is made from samples alone, so the same samples give the same report.

mod checks;
mod course;
pub(crate) mod csv;
mod distribution;
mod environment;
mod figures;
mod files;
pub mod html;
mod json;
pub(crate) mod markdown;
mod phases;
mod plot;
mod resources;
pub(crate) mod terminal;

#[cfg(test)]
pub(crate) mod tests;

use std::collections::{BTreeMap, BTreeSet};

use measure::host::Host;
use serde::Serialize;

pub use course::Lap;
pub use csv::csv;
pub use distribution::{Distribution, Quantile};
pub use figures::Figures;
pub(crate) use files::files;
pub use html::{Enclosed, html};
pub use json::json;
pub use markdown::markdown;
pub use phases::{Condition, PhaseFound};
pub use resources::Resources;
pub use terminal::{Look, terminal};

pub use crate::manifest::{Outcome, Setup};

use crate::finding::{Finding, Severity};
use crate::manifest::{Asked, Manifest, Role, RowFacts};
use crate::round::Round;
use crate::sample::{Sample, lost_in_words};
use crate::validity::{self, Line};
use crate::verdict::{self, Basis, Judgement, Kind, Metric, Side, Verdict};
use statistics::{Ratio, Spread};
use supervisor::watch::scrape::Change;

/// The version of the JSON report.
pub const SCHEMA_VERSION: u32 = 1;

/// A server that waited longer than this share of the time for its core is mentioned.
const WAITED_MAX: f64 = 0.10;

/// Idle subjects that used more of a core than this are mentioned.
const OTHERS_BUSY_MAX: f64 = 0.02;

/// What a comparison found.
#[derive(Clone, Debug, Serialize)]
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
    /// What a reader must know before the figures.
    pub cautions: Vec<String>,
    /// What the baseline seems to differ from itself by, as a share; null where it was not measured
    /// once more.
    pub noise_floor: Option<f64>,
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
#[derive(Clone, Debug, Serialize)]
pub struct Row {
    /// What is known of it besides its rounds; in JSON its fields stand among these.
    #[serde(flatten)]
    pub facts: RowFacts,
    /// The rounds put together; null where none was measured.
    pub figures: Option<Figures>,
    /// Its figure as a multiple of the baseline's.
    pub ratio: Option<Ratio>,
    /// What can be said about it beside the baseline.
    pub verdict: Verdict,
    /// The same by further metrics: the processor time that a fixed rate costs, or a timed command.
    pub further: Vec<Judgement>,
    /// What a reader of its figures must know.
    pub notes: Vec<String>,
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
    /// Its rounds.
    pub samples: Vec<Sample>,
}

impl Report {
    /// Puts the rounds together and judges them.
    pub fn new(manifest: &Manifest, rounds: &[Round]) -> Report {
        let setup = &manifest.setup;
        let began = rounds.iter().map(|round| round.began_unix_s).min();
        let mut across = validity::rows::findings(manifest, rounds);
        let measured: Vec<Measured<'_>> = manifest
            .rows
            .iter()
            .map(|facts| {
                let row = Measured::new(facts, rounds, began.unwrap_or(0), setup.metric);
                row.beside_the_others(across.remove(&facts.name).unwrap_or_default())
            })
            .collect();
        let judged = judge(&measured, manifest);
        let rows = measured.iter().zip(judged);
        let subjects: Vec<Row> = rows.map(|(row, judged)| row.row(judged)).collect();
        Report {
            schema_version: SCHEMA_VERSION,
            conclusions: conclusions(&subjects, setup),
            limits: limits(manifest, &subjects),
            setup: setup.clone(),
            asked: manifest.asked.clone(),
            stopped: manifest.stopped.clone(),
            host: manifest.host.clone(),
            cautions: manifest.cautions.clone(),
            checks: validity::all(manifest, rounds),
            unseen: unseen(manifest, rounds),
            noise_floor: noise_floor(&measured, setup),
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
                .any(|row| matches!(row.facts.outcome, Outcome::Failed { .. }))
    }

    /// Whether anything was measured at all.
    pub fn has_figures(&self) -> bool {
        self.subjects.iter().any(|row| row.figures.is_some())
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

/// A row with its rounds, before the figures are put together.
struct Measured<'a> {
    facts: &'a RowFacts,
    samples: Vec<Sample>,
    resources: Option<Resources>,
    scraped: BTreeMap<String, Change>,
    distribution: Option<Distribution>,
    course: Vec<Lap>,
    phases: Vec<PhaseFound>,
    /// Why its rounds cannot be compared, if so.
    spoilt: Option<String>,
    /// What was found about it beside the other rows.
    found: Vec<Finding>,
}

impl<'a> Measured<'a> {
    fn new(
        facts: &'a RowFacts,
        rounds: &[Round],
        began_unix_s: u64,
        metric: Metric,
    ) -> Measured<'a> {
        let own = || rounds.iter().filter(|round| round.row == facts.name);
        let samples: Vec<Sample> = own().map(|round| round.sample.clone()).collect();
        let all: Vec<&Round> = own().collect();
        let last = all.last().map(|round| round.watched.scraped.clone());
        Measured {
            found: Vec::new(),
            resources: Resources::of(&all),
            scraped: last.unwrap_or_default(),
            distribution: Distribution::of(own()),
            course: Lap::all(own(), began_unix_s, metric),
            phases: PhaseFound::all(&all),
            spoilt: reason_spoilt(facts, &samples),
            facts,
            samples,
        }
    }

    /// What was `found` about the row as a whole holds for each of its rounds.
    fn beside_the_others(mut self, found: Vec<Finding>) -> Measured<'a> {
        for sample in &mut self.samples {
            sample.findings.extend(found.iter().cloned());
        }
        if crate::finding::first(&found, Severity::Void).is_some() {
            self.distribution = None;
            self.course.iter_mut().for_each(|lap| lap.counts = false);
        }
        self.found = found;
        self
    }

    fn side(&self) -> Side<'_> {
        Side {
            name: &self.facts.name,
            samples: &self.samples,
            spoilt: self.spoilt.as_deref(),
        }
    }

    fn row(&self, judged: Judged) -> Row {
        let figures = Figures::of(&self.samples);
        Row {
            facts: self.facts.clone(),
            notes: self.notes(figures.as_ref()),
            figures,
            ratio: judged.ratio,
            verdict: judged.verdict,
            further: judged.further,
            resources: self.resources.clone(),
            scraped: self.scraped.clone(),
            distribution: self.distribution.clone(),
            course: self.course.clone(),
            phases: self.phases.clone(),
            samples: self.samples.clone(),
        }
    }
}

fn reason_spoilt(facts: &RowFacts, samples: &[Sample]) -> Option<String> {
    match &facts.outcome {
        Outcome::Missing { .. } => Some(format!("{} is not installed", facts.name)),
        Outcome::Failed { what, .. } => Some(format!("{} {what}", facts.name)),
        Outcome::Measured | Outcome::NotReached if samples.is_empty() => {
            Some(format!("{} was not measured", facts.name))
        }
        Outcome::Measured | Outcome::NotReached => facts.spoilt.clone(),
    }
}

/// What can be said of a row beside the baseline.
struct Judged {
    ratio: Option<Ratio>,
    verdict: Verdict,
    further: Vec<Judgement>,
}

impl Judged {
    fn of(judgement: Judgement) -> Judged {
        Judged {
            ratio: judgement.ratio,
            verdict: judgement.verdict,
            further: Vec::new(),
        }
    }

    fn only(kind: Kind, sentence: impl Into<String>) -> Judged {
        Judged {
            ratio: None,
            verdict: Verdict::new(kind, sentence),
            further: Vec::new(),
        }
    }
}

/// Judges every row, in their order.
fn judge(measured: &[Measured<'_>], manifest: &Manifest) -> Vec<Judged> {
    let setup = &manifest.setup;
    let Some(baseline) = measured.iter().find(|row| row.facts.name == setup.baseline) else {
        let nothing = |_| Judged::only(Kind::NotMeasured, "there is no baseline");
        return measured.iter().map(nothing).collect();
    };
    let is_judged = |row: &Measured<'_>| {
        row.facts.role == Role::Subject
            && !row.samples.is_empty()
            && row.facts.name != setup.baseline
    };
    let subjects: Vec<Side<'_>> = measured
        .iter()
        .filter(|row| is_judged(row))
        .map(Measured::side)
        .collect();
    let by = |metric: Metric| {
        let basis = basis(measured, baseline.side(), metric, manifest);
        verdict::judge(&subjects, baseline.side(), metric, &basis)
    };
    let mut main = by(setup.metric).into_iter();
    // What a rate costs is the fairest single figure where all serve the same rate, and what a run
    // costs says more of a command than how long it took.
    let costs = setup.rate.is_some() || setup.metric == Metric::Seconds;
    let cost = costs.then(|| by(Metric::ServerCpuPerExchange));
    let mut cost = cost.unwrap_or_default().into_iter();
    let mut judge = |row: &Measured<'_>| match row.facts.role {
        _ if row.facts.name == setup.baseline => {
            let sentence = format!("{} is what the others are compared with", row.facts.name);
            Judged::only(Kind::Baseline, sentence)
        }
        Role::Again => {
            let (again, baseline) = (row.side(), baseline.side());
            Judged::of(verdict::noise(again, baseline, setup.metric, setup.seed))
        }
        Role::Ceiling => {
            let sentence = format!("{} is what the generator can do at most", row.facts.name);
            Judged::only(Kind::Ceiling, sentence)
        }
        Role::Subject if !is_judged(row) => {
            let why = row.spoilt.as_deref().unwrap_or("it was not measured");
            Judged::only(Kind::NotMeasured, why)
        }
        Role::Subject => match main.next() {
            Some(judgement) => Judged {
                further: cost.next().into_iter().collect(),
                ..Judged::of(judgement)
            },
            None => Judged::only(Kind::NotMeasured, "it was not measured"),
        },
    };
    measured.iter().map(&mut judge).collect()
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

/// What the baseline seems to differ from itself by.
fn noise_floor(measured: &[Measured<'_>], setup: &Setup) -> Option<f64> {
    let baseline = measured
        .iter()
        .find(|row| row.facts.name == setup.baseline)?;
    let again = measured.iter().find(|row| row.facts.role == Role::Again)?;
    verdict::noise_floor(again.side(), baseline.side(), setup.metric, setup.seed)
}

/// What differences by `metric` are held against.
fn basis<'a>(
    measured: &[Measured<'_>],
    baseline: Side<'_>,
    metric: Metric,
    manifest: &'a Manifest,
) -> Basis<'a> {
    let setup = &manifest.setup;
    let again = measured.iter().find(|row| row.facts.role == Role::Again);
    let rounds = baseline.samples.iter().map(|sample| sample.round).max();
    let looks = manifest.looks.as_ref();
    Basis {
        smallest: setup.smallest_difference,
        floor: again
            .and_then(|again| verdict::noise_floor(again.side(), baseline, metric, setup.seed)),
        looks: looks.map(|looks| (looks, looks.index_at(rounds.unwrap_or(0)))),
        apart: false,
        seed: setup.seed,
    }
}

impl Measured<'_> {
    fn notes(&self, figures: Option<&Figures>) -> Vec<String> {
        let mut notes = Vec::new();
        let samples = &self.samples;
        if let Some(asked) = &self.facts.asked {
            notes.push(format!("asked {asked}"));
        }
        let cautions = self
            .found
            .iter()
            .filter(|found| found.severity == Severity::Caution);
        notes.extend(cautions.map(|found| found.sentence.clone()));
        if let Some(limit) = verdict::limit(self.side()) {
            notes.push(format!(
                "lower bound: the generator was the limit ({limit})"
            ));
        }
        if let Some(figures) = figures
            && let Some(lost) = lost_in_words(&figures.lost, &figures.errors)
        {
            notes.push(lost);
        }
        if self
            .resources
            .as_ref()
            .is_some_and(Resources::several_processes)
        {
            let what = "its peak memory is an upper bound: the sum of the peaks of its processes";
            notes.push(what.to_owned());
        }
        let void: Vec<&Sample> = samples
            .iter()
            .filter(|sample| sample.void().is_some())
            .collect();
        if let Some(why) = void.first().and_then(|sample| sample.void()) {
            notes.push(format!(
                "{} of {} rounds count for nothing: {why}",
                void.len(),
                samples.len()
            ));
        }
        let waited = Spread::of(samples.iter().map(|sample| sample.server_waited));
        if let Some(waited) = waited.filter(|waited| waited.median > WAITED_MAX) {
            notes.push(format!(
            "its threads were ready and waited for a core {:.0} % of the time: they share it, with \
             each other or with somebody else",
            100.0 * waited.median
        ));
        }
        let others = samples
            .iter()
            .map(|sample| sample.others_busy)
            .fold(0.0, f64::max);
        if others > OTHERS_BUSY_MAX {
            notes.push(format!(
                "while it was measured the idle subjects used up to {:.0} % of a core",
                100.0 * others
            ));
        }
        notes
    }
}

fn conclusions(subjects: &[Row], setup: &Setup) -> Vec<String> {
    let mut sentences = Vec::new();
    if let Some(why) = &setup.ended_early {
        sentences.push(format!(
            "The measuring ended early: {why}. What follows is of the rounds before."
        ));
    }
    for row in subjects.iter().filter(|row| !row.is_for_the_measuring()) {
        let further = row.further.iter().map(|judgement| &judgement.verdict);
        let verdicts = std::iter::once(&row.verdict).chain(further);
        sentences.extend(verdicts.map(as_sentence));
    }
    sentences
}

/// A verdict with a capital letter and a full stop, to stand by itself.
fn as_sentence(verdict: &Verdict) -> String {
    let sentence = verdict.sentence.trim_end_matches('.');
    match sentence.get(..1).filter(|_| starts_with_a_word(sentence)) {
        Some(first) => format!("{}{}.", first.to_uppercase(), &sentence[1..]),
        None => format!("{sentence}."),
    }
}

/// Whether a sentence begins with a word of ours and not with a subject's name.
fn starts_with_a_word(sentence: &str) -> bool {
    ["no ", "lower ", "undecided", "void", "the "]
        .iter()
        .any(|word| sentence.starts_with(word))
}

fn limits(manifest: &Manifest, subjects: &[Row]) -> Vec<String> {
    let (setup, host) = (&manifest.setup, &manifest.host);
    let mut limits = vec![
        "Both sides ran on this one host over loopback. The kernel receives a packet in the \
         sender's time, so part of either side's network work is on the other side's account; no \
         network card, no distance and no packet loss took part."
            .to_owned(),
    ];
    limits.push(match setup.rate {
        None => format!(
            "Closed loop ({}): each connection sends again when it has an answer. The times are \
             those of a server driven to its limit, not what users see at a lower load.",
            setup.load
        ),
        Some(rate) => format!(
            "Open loop: {rate} requests/s were asked for whatever the server did, and response \
             times count from when a request was due."
        ),
    });
    limits.push(match setup.rounds_per_start {
        Some(each) => format!(
            "Intervals are over starts of new processes, with {each} {} on each, on one host, in \
             one session; another host or kernel may give another answer.",
            if each == 1 { "round" } else { "rounds" }
        ),
        None => "Intervals are over rounds of one start of each process, on one host, in one \
                 session. Another start, host or kernel may give another answer: \
                 `rounds_per_start = 1` includes the first."
            .to_owned(),
    });
    if let Some(why) = &manifest.stopped {
        limits.push(format!("The measuring ended before its last round: {why}."));
    }
    let noise = subjects.iter().find(|row| row.verdict.kind == Kind::Noise);
    limits.push(match noise {
        Some(row) => as_sentence(&row.verdict),
        None => "The baseline was not measured once more beside itself, so it is not known how \
                 different equal things look on this host: `aa = true` shows it."
            .to_owned(),
    });
    let compared = "Where several subjects are compared their intervals are wider than 95 %, so \
                    that all verdicts together are right in about 95 of 100 such comparisons.";
    limits.push(compared.to_owned());
    if host.virtualised == Some(true) {
        limits.push(
            "The host is a virtual machine: its neighbours are in the spread, and cycle counters \
             are not available."
                .to_owned(),
        );
    }
    limits
}
