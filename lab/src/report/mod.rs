//! What a comparison found: one model, which each format in this folder writes down.
//!
//! The model is made from samples alone, so the same samples give the same report.

mod format;
mod json;
mod markdown;
mod plot;
mod terminal;

#[cfg(test)]
mod tests;

use std::collections::BTreeMap;

use measure::host::Host;
use serde::Serialize;

pub use json::json;
pub use markdown::markdown;
pub use terminal::{Look, terminal};

use crate::sample::{Sample, errors_in_words};
use crate::statistics::{Ratio, Spread};
use crate::verdict::{self, Kind, Metric, Side, Verdict};

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
    /// The machine.
    pub host: Host,
    /// What a reader must know before the figures.
    pub cautions: Vec<String>,
    /// The subjects in the comparison's order.
    pub subjects: Vec<Row>,
    /// What can be concluded, in sentences.
    pub conclusions: Vec<String>,
    /// What cannot, or only with care.
    pub limits: Vec<String>,
}

/// How the measuring was set up: everything needed to do it again.
#[derive(Clone, Debug, Serialize)]
pub struct Setup {
    /// The comparison's name.
    pub name: String,
    /// Its question.
    pub question: String,
    /// When it began, UTC.
    pub began: String,
    /// The version of ringside.
    pub ringside: String,
    /// What is compared.
    pub metric: Metric,
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
    /// Whether each round had new processes.
    pub fresh_each_round: bool,
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
    /// The cores of the subjects.
    pub server_cores: Vec<usize>,
    /// The cores of the generator.
    pub generator_cores: Vec<usize>,
    /// The generator's engine, as asked for.
    pub engine: String,
    /// What ended the measuring before its last round, if something did.
    pub ended_early: Option<String>,
}

/// A subject's part of the report.
#[derive(Clone, Debug, Serialize)]
pub struct Row {
    /// Its name.
    pub name: String,
    /// What it is.
    pub description: String,
    /// Its version, as it says.
    pub version: Option<String>,
    /// How it went.
    pub outcome: Outcome,
    /// The rounds put together; null where none was measured.
    pub figures: Option<Figures>,
    /// Its figure as a multiple of the baseline's.
    pub ratio: Option<Ratio>,
    /// What can be said about it beside the baseline.
    pub verdict: Verdict,
    /// What a reader of its figures must know.
    pub notes: Vec<String>,
    /// Its rounds.
    pub samples: Vec<Sample>,
}

/// How it went for a subject.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[serde(tag = "state", rename_all = "snake_case")]
pub enum Outcome {
    /// It was measured.
    Measured,
    /// A program is missing.
    Missing {
        /// What to install.
        install: String,
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

/// A subject's rounds put together.
#[derive(Clone, Debug, Serialize)]
pub struct Figures {
    /// How many rounds.
    pub rounds: usize,
    /// Completed exchanges a second.
    pub requests_per_second: Spread,
    /// Median response time in microseconds.
    pub p50_us: Option<Spread>,
    /// 99th percentile of the response time in microseconds.
    pub p99_us: Option<Spread>,
    /// The server's processor time per exchange in microseconds.
    pub server_cpu_us_per_exchange: Option<Spread>,
    /// Peak resident memory of the server's processes in bytes.
    pub memory_peak_bytes: Option<Spread>,
    /// The server's processor time as a share of its cores.
    pub server_busy: Spread,
    /// The busiest generator worker's processor time as a share of its core.
    pub generator_busy: Option<Spread>,
    /// Bytes received per exchange.
    pub bytes_per_exchange: Option<Spread>,
    /// Exchanges that completed, all rounds together.
    pub completed: u64,
    /// Exchanges that failed, all rounds together.
    pub failed: u64,
    /// Errors by kind, all rounds together.
    pub errors: BTreeMap<String, u64>,
}

/// What is known of a subject before the figures are put together.
#[derive(Clone, Debug)]
pub struct Measured {
    /// Its name.
    pub name: String,
    /// What it is.
    pub description: String,
    /// Its version, as it says.
    pub version: Option<String>,
    /// How it went.
    pub outcome: Outcome,
    /// What it is asked, in words, where the rows are not all asked the same.
    pub asked: Option<String>,
    /// Why its rounds cannot be compared with the baseline's, if so.
    pub spoilt: Option<String>,
    /// Its rounds.
    pub samples: Vec<Sample>,
}

impl Report {
    /// Puts the rounds together and judges them.
    pub fn new(setup: Setup, host: Host, cautions: Vec<String>, measured: Vec<Measured>) -> Report {
        let spoilt: Vec<Option<String>> = measured.iter().map(reason_spoilt).collect();
        let side = |at: usize| Side {
            name: &measured[at].name,
            samples: &measured[at].samples,
            spoilt: spoilt[at].as_deref(),
        };
        let baseline = measured
            .iter()
            .position(|subject| subject.name == setup.baseline);
        let subjects: Vec<Row> = (0..measured.len())
            .map(|at| {
                let (ratio, verdict) = match baseline {
                    Some(baseline) => compare(side(at), side(baseline), at == baseline, &setup),
                    None => (None, nothing("there is no baseline")),
                };
                row(&measured[at], ratio, verdict)
            })
            .collect();
        Report {
            schema_version: SCHEMA_VERSION,
            conclusions: conclusions(&subjects, &setup),
            limits: limits(&setup, &host),
            setup,
            host,
            cautions,
            subjects,
        }
    }

    /// Whether every subject that could be measured was.
    pub fn complete(&self) -> bool {
        self.setup.ended_early.is_none()
            && !self
                .subjects
                .iter()
                .any(|row| matches!(row.outcome, Outcome::Failed { .. }))
    }

    /// Whether anything was measured at all.
    pub fn has_figures(&self) -> bool {
        self.subjects.iter().any(|row| row.figures.is_some())
    }
}

fn reason_spoilt(subject: &Measured) -> Option<String> {
    match &subject.outcome {
        Outcome::Missing { .. } => Some(format!("{} is not installed", subject.name)),
        Outcome::Failed { what, .. } => Some(format!("{} {what}", subject.name)),
        Outcome::Measured | Outcome::NotReached if subject.samples.is_empty() => {
            Some(format!("{} was not measured", subject.name))
        }
        Outcome::Measured | Outcome::NotReached => subject.spoilt.clone(),
    }
}

fn nothing(why: &str) -> Verdict {
    Verdict {
        kind: Kind::NotMeasured,
        sentence: why.to_owned(),
    }
}

fn compare(
    subject: Side<'_>,
    baseline: Side<'_>,
    is_baseline: bool,
    setup: &Setup,
) -> (Option<Ratio>, Verdict) {
    if is_baseline {
        let verdict = Verdict {
            kind: Kind::Baseline,
            sentence: format!("{} is what the others are compared with", subject.name),
        };
        return (None, verdict);
    }
    if subject.samples.is_empty() {
        let why = subject.spoilt.unwrap_or("it was not measured");
        return (None, nothing(why));
    }
    let ratio = verdict::ratio(subject, baseline, setup.metric, setup.seed);
    let verdict = verdict::judge(
        subject,
        baseline,
        setup.metric,
        ratio,
        setup.smallest_difference,
    );
    (ratio, verdict)
}

fn row(subject: &Measured, ratio: Option<Ratio>, verdict: Verdict) -> Row {
    let figures = Figures::of(&subject.samples);
    Row {
        name: subject.name.clone(),
        description: subject.description.clone(),
        version: subject.version.clone(),
        outcome: subject.outcome.clone(),
        notes: notes(subject, figures.as_ref()),
        figures,
        ratio,
        verdict,
        samples: subject.samples.clone(),
    }
}

impl Figures {
    fn of(samples: &[Sample]) -> Option<Figures> {
        let all = |figure: fn(&Sample) -> f64| Spread::of(samples.iter().map(figure));
        let known = |figure: fn(&Sample) -> Option<f64>| {
            let values: Option<Vec<f64>> = samples.iter().map(figure).collect();
            Spread::of(values?)
        };
        let mut errors = BTreeMap::new();
        for (kind, count) in samples.iter().flat_map(|sample| &sample.errors) {
            *errors.entry(kind.clone()).or_default() += count;
        }
        Some(Figures {
            rounds: samples.len(),
            requests_per_second: all(|sample| sample.requests_per_second)?,
            p50_us: known(|sample| sample.p50_us),
            p99_us: known(|sample| sample.p99_us),
            server_cpu_us_per_exchange: known(|sample| sample.server_cpu_us_per_exchange),
            memory_peak_bytes: known(|sample| sample.memory_peak_bytes.map(|bytes| bytes as f64)),
            server_busy: all(|sample| sample.server_busy)?,
            generator_busy: known(|sample| sample.generator_busy),
            bytes_per_exchange: known(|sample| sample.bytes_per_exchange),
            completed: samples.iter().map(|sample| sample.completed).sum(),
            failed: samples.iter().map(|sample| sample.failed).sum(),
            errors,
        })
    }
}

fn notes(subject: &Measured, figures: Option<&Figures>) -> Vec<String> {
    let mut notes = Vec::new();
    let samples = &subject.samples;
    let side = Side {
        name: &subject.name,
        samples,
        spoilt: None,
    };
    if let Some(asked) = &subject.asked {
        notes.push(format!("asked {asked}"));
    }
    if let Some(limit) = verdict::limit(side) {
        notes.push(format!(
            "lower bound: the generator was the limit ({limit})"
        ));
    }
    if let Some(figures) = figures
        && let Some(errors) = errors_in_words(&figures.errors)
    {
        notes.push(format!(
            "{} of {} exchanges failed ({errors})",
            figures.failed,
            figures.completed + figures.failed
        ));
    }
    let void: Vec<&Sample> = samples
        .iter()
        .filter(|sample| sample.void.is_some())
        .collect();
    if let Some(why) = void.first().and_then(|sample| sample.void.as_deref()) {
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

fn conclusions(subjects: &[Row], setup: &Setup) -> Vec<String> {
    let mut sentences = Vec::new();
    if let Some(why) = &setup.ended_early {
        sentences.push(format!(
            "The measuring ended early: {why}. What follows is of the rounds before."
        ));
    }
    for row in subjects {
        match row.verdict.kind {
            Kind::Baseline => {}
            Kind::NotMeasured => {
                sentences.push(format!("{}.", row.verdict.sentence.trim_end_matches('.')))
            }
            _ => {
                let mut sentence = row.verdict.sentence.clone();
                if let Some(first) = sentence.get(..1).filter(|_| starts_with_a_word(&sentence)) {
                    sentence = first.to_uppercase() + &sentence[1..];
                }
                sentences.push(sentence + ".");
            }
        }
    }
    sentences
}

/// Whether a sentence begins with a word of ours and not with a subject's name.
fn starts_with_a_word(sentence: &str) -> bool {
    ["no ", "lower ", "undecided", "void", "the "]
        .iter()
        .any(|word| sentence.starts_with(word))
}

fn limits(setup: &Setup, host: &Host) -> Vec<String> {
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
    limits.push(match setup.fresh_each_round {
        true => "Intervals are over rounds with new processes each, on one host, in one session; \
                 another host or kernel may give another answer."
            .to_owned(),
        false => "Intervals are over rounds of one start of each process, on one host, in one \
                  session. Another start, host or kernel may give another answer: \
                  `fresh_each_round = true` includes the first."
            .to_owned(),
    });
    let compared = "Each interval holds the true ratio in about 95 of 100 such comparisons, taken \
                    by itself; of many at once some will not.";
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
