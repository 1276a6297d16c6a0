//! Reports that are made again from the records of a folder, at any time later. Reads and writes
//! files; what stands in them is the formats' affair.

mod index;

use std::collections::BTreeMap;
use std::fs;
use std::path::PathBuf;

pub use self::index::index;

use capacity::Capacities;
use lab::manifest::{Outcome, RowFacts};
use lab::store::{CAPACITY, Kept, MANIFEST, SWEEP, Source, Store, TRIALS, read_with};
use report::benchmark::{self, Measure};
use report::pack::Records;
use report::pages::File;
use report::{Enclosed, Look, Report, csv, files, json, junit, markdown, terminal};
use supervisor::document::indented;

use crate::cases::{cases_of_a_gate, written};
use crate::sweep::{self, Sweep};
use crate::trials::{self, Trial, Trials};

/// A report that was made again.
#[derive(Clone, Debug)]
pub struct Rebuilt {
    /// The folder, absolute.
    pub folder: PathBuf,
    /// What its records say.
    pub model: Model,
    /// Of a gate, what it judged, as JUnit's XML.
    cases: Option<String>,
    /// What could not be written, and why.
    pub unwritten: Vec<String>,
}

impl Rebuilt {
    /// For pipelines: what was judged, as JUnit's XML.
    pub fn junit(&self) -> String {
        let cases = self.cases.clone();
        cases.unwrap_or_else(|| self.model.junit())
    }
}

/// What the records of a folder say, by what was measured.
#[derive(Clone, Debug)]
pub enum Model {
    /// Subjects side by side.
    Comparison(Box<Report>),
    /// The highest rates that hold.
    Capacity(Box<Capacities>),
    /// A comparison at several values of a setting.
    Sweep(Box<Sweep>),
    /// The same comparison again and again, whose outcome is known.
    Trials(Box<Trials>),
}

impl Model {
    /// For a terminal.
    pub fn text(&self, look: Look) -> String {
        match self {
            Model::Comparison(report) => terminal(report, look),
            Model::Capacity(found) => capacity::formats::terminal(found, look),
            Model::Sweep(sweep) => sweep::terminal(sweep, look),
            Model::Trials(trials) => trials::terminal(trials),
        }
    }

    /// For documents.
    pub fn markdown(&self) -> String {
        match self {
            Model::Comparison(report) => markdown(report),
            Model::Capacity(found) => capacity::formats::markdown(found),
            Model::Sweep(sweep) => sweep::markdown(sweep),
            Model::Trials(trials) => trials::markdown(trials),
        }
    }

    /// For programs: all of it.
    pub fn json(&self) -> String {
        match self {
            Model::Comparison(report) => json(report),
            Model::Capacity(found) => found.json(),
            Model::Sweep(sweep) => indented(sweep),
            Model::Trials(trials) => indented(trials),
        }
    }

    /// For programs: every round, probe or point.
    pub fn csv(&self) -> String {
        match self {
            Model::Comparison(report) => csv(report),
            Model::Capacity(found) => capacity::formats::csv(found),
            Model::Sweep(sweep) => sweep::csv(sweep),
            Model::Trials(trials) => trials::csv(trials),
        }
    }

    /// For pipelines: what was judged, as JUnit's XML.
    pub fn junit(&self) -> String {
        match self {
            Model::Comparison(report) => junit::comparison(report),
            Model::Capacity(found) => capacity::formats::junit(found),
            Model::Sweep(sweep) => sweep::junit(sweep),
            Model::Trials(trials) => trials::junit(trials),
        }
    }

    /// For services that draw figures over commits.
    pub fn measures(&self) -> Vec<Measure> {
        match self {
            Model::Comparison(report) => benchmark::comparison(report),
            Model::Capacity(found) => capacity::formats::measures(found),
            Model::Sweep(sweep) => sweep::measures(sweep),
            Model::Trials(trials) => trials::measures(trials),
        }
    }

    /// The files that it is written to, in a folder with these enclosures.
    fn files(&self, enclosed: &Enclosed) -> Vec<(File, String)> {
        match self {
            Model::Comparison(report) => files(report, enclosed),
            Model::Capacity(found) => capacity::formats::files(found),
            Model::Sweep(sweep) => sweep::files(sweep),
            Model::Trials(trials) => trials::files(trials),
        }
    }
}

/// Makes the report of records again from them alone, and writes it beside them in every format:
/// that of a comparison, of a search for capacities, or of a sweep or of trials with all their
/// parts. Of a pack it is written into a folder beside it that has its name.
///
/// # Errors
/// There are none of them that can be read; the sentence names the file.
pub fn rebuild(records: &Records) -> Result<Rebuilt, String> {
    let mut rebuilt = rebuild_in(records.source())?;
    rebuilt.unwritten.extend(records.bring_pages());
    if records.is_pack() {
        let pages = records.pages();
        rebuilt.folder = fs::canonicalize(pages).unwrap_or_else(|_| pages.to_owned());
    }
    Ok(rebuilt)
}

/// The same of a folder.
fn rebuild_in(folder: &Source) -> Result<Rebuilt, String> {
    let mut unwritten = Vec::new();
    let model = read(folder, &mut unwritten)?;
    let mut store = Store::at(folder.path()).map_err(|error| format!("{folder}: {error}"))?;
    let cases = cases_of_a_gate(store.folder());
    for (file, text) in model.files(&Enclosed::read(store.folder())) {
        let text = written(file, text, cases.as_deref());
        store.put(file.name().as_ref(), text.into_bytes());
    }
    unwritten.extend(store.unwritten());
    Ok(Rebuilt {
        folder: store.folder().to_owned(),
        model,
        cases,
        unwritten,
    })
}

/// What the records of a folder say. Of a sweep and of trials the parts' own reports are made
/// again, too: what of those cannot be written is added to `unwritten`.
fn read(folder: &Source, unwritten: &mut Vec<String>) -> Result<Model, String> {
    let holds = |name| folder.join(name).path().is_file();
    if holds(SWEEP) {
        let sweep = read_sweep(folder, unwritten)?;
        return Ok(Model::Sweep(Box::new(sweep)));
    }
    if holds(TRIALS) {
        let trials = read_trials(folder, unwritten)?;
        return Ok(Model::Trials(Box::new(trials)));
    }
    if holds(CAPACITY) {
        let mut found = read_with(&folder.join(CAPACITY), Capacities::from_json)?;
        found.conclude();
        return Ok(Model::Capacity(Box::new(found)));
    }
    if holds(MANIFEST) {
        let kept = Kept::read_from(folder)?;
        if lacks_rounds(&kept) {
            return Err(format!(
                "{folder} has no rounds any more, so no report can be made of it; the files that \
                 are there stay as they are"
            ));
        }
        let report = Report::new(&kept.manifest, &kept.rounds);
        return Ok(Model::Comparison(Box::new(report)));
    }
    Err(format!(
        "{folder} has no records: none of {MANIFEST}, {CAPACITY}, {SWEEP} and {TRIALS} is there; \
         give a directory written by ringside compare or ringside capacity, or a pack of one"
    ))
}

/// Whether rows were measured of which no round is there any more.
fn lacks_rounds(kept: &Kept) -> bool {
    let is_measured = |row: &RowFacts| matches!(row.outcome, Outcome::Measured);
    kept.rounds.is_empty() && kept.manifest.rows.iter().any(is_measured)
}

/// A sweep from the records of its points. What it says itself of a point stands where the point's
/// own folder is not there any more.
fn read_sweep(folder: &Source, unwritten: &mut Vec<String>) -> Result<Sweep, String> {
    let mut sweep = read_with(&folder.join(SWEEP), Sweep::from_json)?;
    for value in sweep.order.clone() {
        if let Some(report) = part(folder, &sweep.key.folder(value), unwritten)? {
            sweep.add(value, &report);
        }
    }
    Ok(sweep)
}

/// Trials from the records of each; how long one took is known from nowhere else.
fn read_trials(folder: &Source, unwritten: &mut Vec<String>) -> Result<Trials, String> {
    let trials = read_with(&folder.join(TRIALS), Trials::from_json)?;
    let mut reports = BTreeMap::new();
    for trial in &trials.trials {
        let report = part(folder, &trials::folder(trial.number), unwritten)?;
        reports.insert(trial.number, report);
    }
    Ok(trials.judged(|trial| {
        let report = reports.get(&trial.number).and_then(Option::as_ref);
        match report {
            Some(report) => Trial::of(trial.number, trial.seconds, report),
            None => trial,
        }
    }))
}

/// The comparison in a folder inside, made again; none where there is none.
fn part(
    folder: &Source,
    inside: &str,
    unwritten: &mut Vec<String>,
) -> Result<Option<Report>, String> {
    let place = folder.join(inside);
    if !place.join(MANIFEST).path().is_file() {
        return Ok(None);
    }
    if lacks_rounds(&Kept::read_from(&place)?) {
        return Ok(None);
    }
    let part = rebuild_in(&place)?;
    let within = |what: &String| format!("{inside}/{what}");
    unwritten.extend(part.unwritten.iter().map(within));
    Ok(match part.model {
        Model::Comparison(report) => Some(*report),
        _ => None,
    })
}

#[cfg(test)]
mod tests;
