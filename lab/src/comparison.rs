//! A comparison: which subjects, under which workload, for how many rounds. One TOML file in
//! `comparisons/`.
//!
//! This file reads and validates it and finds its subjects' folders. It measures nothing.

use std::collections::BTreeSet;
use std::num::NonZeroU32;
use std::path::{Path, PathBuf};
use std::time::Duration;

use serde::Deserialize;
use serde::de::{Deserializer, Error as _};
use toml::Spanned;

use crate::cores::Choice;
use crate::document::{self, BadFile, Document, nearest};
use crate::subject::{Subject, UrlPath, is_plain_name};

const SUBJECTS_MAX: usize = 64;
/// The most rounds.
pub const ROUNDS_MAX: u32 = 1000;
/// The shortest window.
pub const WINDOW_MIN: Duration = Duration::from_millis(10);
/// What is said of a shorter one.
pub(crate) const WINDOW_TOO_SHORT: &str =
    "a window below 10 ms measures the clock; expected for example \"1s\"";

/// What a comparison file says, validated, with its subjects read.
#[derive(Clone, Debug)]
pub struct Comparison {
    /// Names its output folder.
    pub name: String,
    /// The question that it answers, as a reader would ask it.
    pub question: String,
    /// The subjects, in the file's order.
    pub subjects: Vec<Subject>,
    /// The name of the subject that the others are compared with.
    pub baseline: String,
    /// How many times each subject is measured.
    pub rounds: u32,
    /// Decides the order within the rounds, and every other random choice.
    pub seed: u64,
    /// The smallest difference that matters, as a share: smaller ones are not called faster.
    pub smallest_difference: f64,
    /// Whether every round starts new processes (slower; the sample is then the start).
    pub fresh_each_round: bool,
    /// What is asked of each subject.
    pub workload: Workload,
    /// Where subjects and generator run.
    pub cores: Cores,
    /// The generator's engine: `auto`, `uring` or `epoll`.
    pub engine: String,
}

/// What is asked of each subject.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Workload {
    /// The path of every request.
    pub path: Spanned<UrlPath>,
    /// How many connections.
    pub connections: NonZeroU32,
    /// How many requests may be outstanding on a connection.
    #[serde(default = "one")]
    pub pipeline: NonZeroU32,
    /// What is measured of each subject in every round.
    #[serde(deserialize_with = "window")]
    pub window: Duration,
    /// Before the window of every round, while the connections open.
    #[serde(default = "settle", deserialize_with = "document::duration")]
    pub settle: Duration,
    /// Once for each process, when it has started.
    #[serde(default = "warm_up", deserialize_with = "document::duration")]
    pub warm_up: Duration,
    /// Requests a second of all connections together (open loop); without it each connection
    /// sends the next request when it has the answer (closed loop).
    #[serde(default, deserialize_with = "document::rate")]
    pub rate: Option<f64>,
    /// An exchange that takes longer has failed.
    #[serde(default = "timeout", deserialize_with = "document::some_duration")]
    pub timeout: Duration,
}

fn one() -> NonZeroU32 {
    NonZeroU32::MIN
}

fn window<'de, D: Deserializer<'de>>(from: D) -> Result<Duration, D::Error> {
    let window = document::duration(from)?;
    if window < WINDOW_MIN {
        return Err(D::Error::custom(WINDOW_TOO_SHORT));
    }
    Ok(window)
}

fn settle() -> Duration {
    Duration::from_millis(200)
}

fn warm_up() -> Duration {
    Duration::from_secs(1)
}

fn timeout() -> Duration {
    Duration::from_secs(2)
}

/// Where subjects and generator run.
#[derive(Clone, Debug, Default, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Cores {
    /// The cores of the subjects.
    #[serde(default)]
    pub server: Choice,
    /// The cores of the generator, one worker on each.
    #[serde(default)]
    pub generator: Choice,
}

/// The file as it stands, before the checks across its fields.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Written {
    name: Spanned<String>,
    question: String,
    subjects: Spanned<Vec<Spanned<String>>>,
    baseline: Option<Spanned<String>>,
    rounds: Spanned<u32>,
    #[serde(default = "seed")]
    seed: u64,
    #[serde(
        default = "smallest_difference",
        deserialize_with = "document::percent"
    )]
    smallest_difference: f64,
    #[serde(default)]
    fresh_each_round: bool,
    workload: Workload,
    #[serde(default)]
    cores: Cores,
    engine: Option<Spanned<String>>,
}

fn seed() -> u64 {
    1
}

fn smallest_difference() -> f64 {
    0.02
}

impl Comparison {
    /// Reads a comparison and the subjects it names. `subjects` is the folder of subjects; without
    /// it `subjects/` is looked for beside the file, above it, and in the current folder.
    pub fn read(file: &Path, subjects: Option<&Path>) -> Result<Comparison, BadFile> {
        let (written, document) = Document::read::<Written>(file)?;
        check(&written, &document)?;
        let workload = written.workload;
        let found = read_subjects(&written.subjects, &document, &places(file, subjects))?;
        let path = workload.path.get_ref().as_str();
        if let Some(silent) = found.iter().find(|subject| subject.answer(path).is_none()) {
            let what = format!(
                "{} declares no answer to `{path}`: add an [[answer]] to its \
                 subject.toml, since nothing is timed that was not verified",
                silent.name
            );
            return Err(document.fault(Some(workload.path.span()), what));
        }
        let baseline = match &written.baseline {
            Some(baseline) => baseline.get_ref().clone(),
            None => found[0].name.clone(),
        };
        Ok(Comparison {
            name: written.name.into_inner(),
            question: written.question,
            subjects: found,
            baseline,
            rounds: written.rounds.into_inner(),
            seed: written.seed,
            smallest_difference: written.smallest_difference,
            fresh_each_round: written.fresh_each_round,
            workload,
            cores: written.cores,
            engine: written.engine.map_or("auto".into(), Spanned::into_inner),
        })
    }
}

fn check(written: &Written, document: &Document) -> Result<(), BadFile> {
    let fault = |span, what: String| Err(document.fault(Some(span), what));
    if !is_plain_name(written.name.get_ref()) {
        let what = "expected a name of letters, digits, `.`, `_` and `-`: it names a folder";
        return fault(written.name.span(), what.into());
    }
    let rounds = *written.rounds.get_ref();
    if !(1..=ROUNDS_MAX).contains(&rounds) {
        let what = format!("{rounds} rounds; expected 1 to {ROUNDS_MAX}");
        return fault(written.rounds.span(), what);
    }
    let names = written.subjects.get_ref();
    if names.is_empty() || names.len() > SUBJECTS_MAX {
        let what = format!("{} subjects; expected 1 to {SUBJECTS_MAX}", names.len());
        return fault(written.subjects.span(), what);
    }
    let mut seen = BTreeSet::new();
    for name in names {
        if !seen.insert(name.get_ref().as_str()) {
            let what = format!("`{}` stands here twice", name.get_ref());
            return fault(name.span(), what);
        }
    }
    if let Some(baseline) = &written.baseline
        && !seen.contains(baseline.get_ref().as_str())
    {
        let what = format!(
            "the baseline `{}` is not among the subjects{}",
            baseline.get_ref(),
            meant(baseline.get_ref(), seen),
        );
        return fault(baseline.span(), what);
    }
    match &written.engine {
        Some(engine) if !["auto", "uring", "epoll"].contains(&engine.get_ref().as_str()) => {
            let what = format!(
                "engine `{}`; expected auto, uring or epoll",
                engine.get_ref()
            );
            fault(engine.span(), what)
        }
        _ => Ok(()),
    }
}

fn places(file: &Path, subjects: Option<&Path>) -> Vec<PathBuf> {
    if let Some(folder) = subjects {
        return vec![folder.to_owned()];
    }
    let beside = file.parent().unwrap_or(Path::new(""));
    let mut places = vec![
        beside.join("subjects"),
        beside.join("..").join("subjects"),
        PathBuf::from("subjects"),
    ];
    places.retain(|place| place.is_dir());
    places
}

fn read_subjects(
    names: &Spanned<Vec<Spanned<String>>>,
    document: &Document,
    places: &[PathBuf],
) -> Result<Vec<Subject>, BadFile> {
    if places.is_empty() {
        let what = "no folder `subjects` beside this file, above it or in the current folder";
        return Err(document.fault(Some(names.span()), what));
    }
    let mut subjects = Vec::new();
    for name in names.get_ref() {
        let folder = places
            .iter()
            .map(|place| place.join(name.get_ref()))
            .find(|folder| is_plain_name(name.get_ref()) && folder.is_dir());
        let Some(folder) = folder else {
            let what = unknown_subject(name.get_ref(), places);
            return Err(document.fault(Some(name.span()), what));
        };
        subjects.push(Subject::read(&folder)?);
    }
    Ok(subjects)
}

fn unknown_subject(name: &str, places: &[PathBuf]) -> String {
    let mut known = BTreeSet::new();
    for entry in places
        .iter()
        .filter_map(|place| place.read_dir().ok())
        .flatten()
        .flatten()
    {
        if entry.path().join("subject.toml").is_file() {
            known.insert(entry.file_name().to_string_lossy().into_owned());
        }
    }
    let looked: Vec<String> = places
        .iter()
        .map(|place| place.display().to_string())
        .collect();
    let hint = meant(name, known.iter().map(String::as_str));
    format!("no subject `{name}` in {}{hint}", looked.join(", "))
}

fn meant<'a>(word: &str, known: impl IntoIterator<Item = &'a str> + Clone) -> String {
    if let Some(near) = nearest(word, known.clone()) {
        return format!("; did you mean `{near}`?");
    }
    let known: Vec<&str> = known.into_iter().collect();
    format!("; expected one of: {}", known.join(", "))
}
