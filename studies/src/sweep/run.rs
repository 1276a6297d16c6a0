//! A sweep from its file to its record: one comparison after the other, in random order.

use std::path::{Path, PathBuf};

use lab::compare::{Place, metric, one, read};
use lab::comparison::Comparison;
use lab::event::{Event, Observer};
use lab::store::{MANIFEST, SWEEP, Source, Store, read_with};
use lab::{CannotBegin, End, Options, resume};
use load::{Signal, Stop};
use measure::time::{unix_seconds, utc_stamp};
use statistics::Random;
use supervisor::loads::Loads;

use super::record::{SCHEMA_VERSION, Sweep};
use super::{Key, Point, files};

/// What a sweep brought.
#[derive(Clone, Debug)]
pub struct Swept {
    /// What was found.
    pub sweep: Sweep,
    /// The output folder, absolute; each point has a folder inside.
    pub folder: PathBuf,
    /// Files that could not be written, with the reasons.
    pub unwritten: Vec<String>,
    /// The signal that ended it early, if any.
    pub stopped: Option<Signal>,
    /// Whether every subject that could be measured was, at every point.
    pub complete: bool,
}

impl Swept {
    /// As that of a comparison, see [`crate::Outcome::end`].
    pub fn end(&self) -> End {
        let mut points = self.sweep.points.iter();
        let measured = points.any(|point| !point.rows.is_empty());
        let whole = self.complete && self.unwritten.is_empty();
        End::of(self.stopped, measured, whole)
    }
}

/// Carries a sweep out, or goes on with one that was begun. None where the file holds none.
///
/// # Errors
/// As [`lab::compare()`], before the point that they are about.
pub fn sweep(
    options: &Options,
    stop: &Stop,
    observer: &mut dyn Observer,
) -> Result<Option<Swept>, CannotBegin> {
    sweep_from(options, (stop, Loads::HERE), observer)
}

/// The same with loads that are sent by whom `loads` says.
///
/// # Errors
/// Those of [`sweep`].
pub fn sweep_from(
    options: &Options,
    (stop, loads): (&Stop, Loads<'_>),
    observer: &mut dyn Observer,
) -> Result<Option<Swept>, CannotBegin> {
    let (comparison, file) = read(options)?;
    let Some((first, at_first)) = comparison.points.first() else {
        return Ok(None);
    };
    let mut store = open(options, &comparison, &file).map_err(CannotBegin::Impossible)?;
    store.keep_asked(&file);
    let mut points: Vec<&(Point, Comparison)> = comparison.points.iter().collect();
    Random::new(comparison.seed).shuffle(&mut points);
    let order = points.iter().map(|(point, _)| point.value()).collect();
    let mut found = new(at_first, first.key(), order);
    found.file_hash = Some(comparison.hash(&file));
    store.put_json(Path::new(SWEEP), &found);
    let mut complete = true;
    let mut unwritten = Vec::new();
    for (number, (point, comparison)) in (1..).zip(&points) {
        if stop.requested().is_some() {
            break;
        }
        observer.event(&Event::Point {
            key: first.key().name(),
            value: point.value(),
            number,
            points: points.len() as u32,
        });
        let inside = first.key().folder(point.value());
        let folder = store.folder().join(&inside);
        let begun = options.resume.is_some() && folder.join(MANIFEST).is_file();
        let place = match begun {
            true => Place::Begun(&folder),
            false => Place::New(Some(&folder)),
        };
        let from = (stop, loads);
        let outcome = crate::Outcome::of(one(comparison, &file, place, options, from, observer)?);
        complete &= outcome.report.complete();
        let within = |name: &String| format!("{inside}/{name}");
        unwritten.extend(outcome.unwritten.iter().map(within));
        found.add(point.value(), &outcome.report);
        store.put_json(Path::new(SWEEP), &found);
    }
    found.ended_early = stop
        .requested()
        .map(|_| "it was interrupted (continue with --resume)".to_owned());
    for (file, text) in files(&found) {
        store.put(file.name().as_ref(), text.into_bytes());
    }
    unwritten.extend(store.unwritten());
    Ok(Some(Swept {
        sweep: found,
        folder: store.folder().to_owned(),
        unwritten,
        stopped: stop.requested(),
        complete,
    }))
}

/// The folder of a sweep: a new one, or that of the sweep to resume.
fn open(options: &Options, comparison: &Comparison, file: &[u8]) -> Result<Store, String> {
    let redaction = &comparison.redaction;
    let Some(folder) = &options.resume else {
        let store = Store::create(options.out.as_deref(), &comparison.name, unix_seconds());
        return store.and_then(|mut store| store.hide(redaction).map(|()| store));
    };
    if !folder.join(SWEEP).is_file() {
        let folder = folder.display();
        return Err(format!("{folder} has no sweep to resume"));
    }
    let begun = read_with(&Source::of(folder).join(SWEEP), Sweep::from_json)?;
    let before = begun.file_hash.as_deref();
    resume::key_is_there(folder, before, file, comparison)?;
    let mut store = Store::at(folder).map_err(|error| format!("{}: {error}", folder.display()))?;
    store.hide(redaction)?;
    resume::same_file(folder, before, file, comparison)?;
    Ok(store)
}

fn new(comparison: &Comparison, key: Key, order: Vec<f64>) -> Sweep {
    let seconds = unix_seconds();
    Sweep {
        schema_version: SCHEMA_VERSION,
        name: comparison.name.clone(),
        question: comparison.question.clone(),
        began: utc_stamp(seconds),
        key,
        baseline: comparison.baseline.clone(),
        metric: metric(comparison),
        order,
        points: Vec::new(),
        laws: Vec::new(),
        ended_early: Some("ringside was killed (continue with --resume)".into()),
        file_hash: None,
    }
}
