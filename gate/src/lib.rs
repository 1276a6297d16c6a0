//! Two revisions of a server, built and measured in turns on this machine: is the second slower?
//!
//! The lab measures: base and head are the two rows of a comparison whose rounds are interleaved,
//! each on processes of its own. A rule judges the figures that count, at looks that were fixed
//! before, and ends it as soon as a regression is proven or none that counts is possible. What was
//! measured is a comparison like any other, in a folder that `ringside report` reads; what was
//! found stands beside it.
//!
//! Knows git by its program, and servers by their subjects. Reads no arguments, and prints nothing.
#![forbid(unsafe_code)]

mod course;
mod figure;
mod file;
pub mod formats;
mod found;
mod junit;
mod made;
mod repository;
mod rule;
mod sides;

use std::path::{Path, PathBuf};
use std::time::Duration;

use lab::compare::Compared;
use lab::event::{Event, Observer};
use lab::manifest::LookTaken;
use lab::{CannotBegin, check};
use load::{Redaction, Signal, Stop};
use report::benchmark::{self, Measure};
use scaffold::Refused;
use studies::Outcome;

pub use file::{Gate, GateFile, NAME};
pub use found::{FigureFound, Found, SCHEMA_VERSION, Side, Verdict};
pub use lab::judging::Figure;
pub use rule::{Judged, State};
pub use sides::{Asked, Revision, is_directory, subject_folder};

use course::{Ended, Watcher};
use found::whole_rounds;
use made::{Besides, Planned};
use sides::Sides;
use supervisor::loads::Loads;

/// What is to be compared, and how.
#[derive(Clone, Debug)]
pub struct Wanted {
    /// The two sides.
    pub asked: Asked,
    /// The folder of the subject in the working tree, where revisions are compared.
    pub subject: Option<PathBuf>,
    /// What counts, and the load.
    pub file: GateFile,
    /// The path that is asked for, in the place of the file's.
    pub path: Option<String>,
    /// Connections of the load, in the place of the file's.
    pub connections: Option<u32>,
    /// Commands may answer differently.
    pub any_answer: bool,
    /// The smallest regression that counts, in the place of the file's.
    pub smallest: Option<f64>,
    /// How long it may take, in the place of the file's.
    pub budget: Option<Duration>,
    /// The output folder; none is `ringside-out/<UTC date>-gate`.
    pub out: Option<PathBuf>,
    /// The program that is running.
    pub ringside: PathBuf,
    /// What to hide in everything that is written.
    pub redaction: Redaction,
}

/// What came of it.
#[derive(Clone, Debug)]
pub struct Gated {
    /// What was found.
    pub found: Found,
    /// The figures of both sides, for services that draw them over commits; none where nothing was
    /// measured, or it can't be trusted.
    pub measures: Vec<Measure>,
    /// Where the records and reports are; none where nothing was measured.
    pub folder: Option<PathBuf>,
    /// Files that could not be written, with the reasons.
    pub unwritten: Vec<String>,
    /// The signal that ended it before it was decided, if any.
    pub stopped: Option<Signal>,
}

/// Measures both sides and judges them. `stop` is asked to stop, too, as soon as enough is known.
///
/// # Errors
/// Before anything is measured: with a sentence that says what to do.
pub fn gate(wanted: &Wanted, stop: &Stop, observer: &mut dyn Observer) -> Result<Gated, Refused> {
    gate_from(wanted, (stop, Loads::HERE), observer)
}

/// The same with loads that are sent by whom `loads` says.
///
/// # Errors
/// Those of [`gate`].
pub fn gate_from(
    wanted: &Wanted,
    (stop, loads): (&Stop, Loads<'_>),
    observer: &mut dyn Observer,
) -> Result<Gated, Refused> {
    let mut file = wanted.file.clone();
    if let Some(smallest) = wanted.smallest {
        file.gate
            .smallest
            .values_mut()
            .for_each(|one| *one = smallest);
    }
    file.gate.budget = wanted.budget.unwrap_or(file.gate.budget);
    // The trees are there until everything was measured.
    let (sides, _trees) = match found_sides(wanted, stop, observer)? {
        sides::Found::Sides(sides, trees) => (*sides, trees),
        sides::Found::Nothing {
            labels,
            commits,
            why,
            cautions,
        } => {
            for what in &cautions {
                observer.event(&Event::Caution { what });
            }
            let mut found = Found::nothing(of_labels(labels, commits), &why);
            found.cautions = cautions;
            return Ok(Gated {
                found,
                measures: Vec::new(),
                folder: None,
                unwritten: Vec::new(),
                stopped: None,
            });
        }
    };
    let besides = Besides {
        path: wanted.path.clone(),
        connections: wanted.connections,
    };
    let planned = made::plan(&sides, &file, &besides).map_err(Refused::Wrong)?;
    let options = lab::Options {
        made: Some(planned.made.clone()),
        out: wanted.out.clone(),
        ringside: wanted.ringside.clone(),
        redaction: wanted.redaction.clone(),
        ..lab::Options::default()
    };
    let mut watcher = Watcher::new(observer, &file.gate, &planned.looks, stop);
    let compared = lab::compare_from(&options, (stop, loads), &mut watcher);
    let (ended, looked) = (watcher.ended, watcher.looked);
    let compared = compared.map_err(|why| cannot_begin(&why, stop))?;
    Ok(conclude(
        compared,
        sides,
        &file.gate,
        &planned,
        (ended, looked),
    ))
}

/// Both sides, out of what was asked for.
fn found_sides(
    wanted: &Wanted,
    stop: &Stop,
    observer: &mut dyn Observer,
) -> Result<sides::Found, Refused> {
    let whole = |sides: Sides| sides::Found::Sides(Box::new(sides), None);
    match &wanted.asked {
        Asked::Started { base, head } => {
            let question = sides::Question {
                path: wanted
                    .path
                    .clone()
                    .unwrap_or_else(|| wanted.file.path().to_owned()),
                connections: wanted.connections,
                any_answer: wanted.any_answer,
            };
            let options = check::Options {
                ringside: wanted.ringside.clone(),
                cache: None,
            };
            let sides =
                sides::of_commands([base.as_str(), head], &question, &options, stop, observer);
            sides.map(whole)
        }
        Asked::Named {
            base,
            head: Some(head),
        } if is_directory(base) || is_directory(head) => sides::of_directories(base, head)
            .map(whole)
            .map_err(Refused::Wrong),
        Asked::Named { base, head } => {
            let folder = wanted.subject.as_deref().unwrap_or(Path::new("."));
            sides::of_revisions(folder, base, head.as_deref(), stop)
        }
    }
}

fn of_labels(labels: [String; 2], commits: [Option<Revision>; 2]) -> [Side; 2] {
    let ([base, head], [of_base, of_head]) = (labels, commits);
    [(base, of_base), (head, of_head)].map(|(label, revision)| Side { label, revision })
}

fn cannot_begin(why: &CannotBegin, stop: &Stop) -> Refused {
    match stop.requested() {
        Some(_) => Refused::Stopped,
        None => Refused::Wrong(why.to_string()),
    }
}

/// Judges what was measured, and writes down what was found and how it ended.
fn conclude(
    mut compared: Compared,
    sides: Sides,
    gate: &Gate,
    planned: &Planned,
    (ended, mut looked): (Option<Ended>, Vec<LookTaken>),
) -> Gated {
    let manifest = &mut compared.manifest;
    let signal = compared.stopped.filter(|_| ended.is_none());
    if ended.is_some() {
        manifest.setup.ended_early = None;
    }
    if let Some(Ended::Enough(why)) = &ended {
        manifest.stopped = Some(why.clone());
    }
    let rounds = whole_rounds(&compared.rounds);
    let at_a_look = matches!(ended, Some(Ended::Enough(_))) || rounds == planned.rounds;
    // What ends it otherwise knows nothing of the figures: what's left of the error is spent there.
    let looks = match at_a_look {
        true => planned.looks.clone(),
        false => planned.looks.ended_at(rounds),
    };
    let index = looks.index_at(rounds);
    let judged = course::judge(gate, manifest, &compared.rounds, (&looks, index));
    if looked.last().is_none_or(|look| look.round < rounds) && rounds > 0 {
        looked.push(LookTaken {
            round: rounds,
            widest: course::widest(&judged),
            enough: false,
        });
    }
    (manifest.looks, manifest.looked) = (Some(looks), looked);
    let folder = compared.store.folder().to_owned();
    let labels = of_labels(sides.labels, sides.commits);
    let found = Found::new(labels, manifest, &compared.rounds, judged, signal, &folder);
    compared.store.describe(&compared.manifest);
    compared.store.put_json(formats::JSON.as_ref(), &found);
    let page = formats::markdown(&found).into_bytes();
    compared.store.put(formats::MARKDOWN.as_ref(), page);
    let cases = formats::junit(&found).into_bytes();
    compared.store.put(formats::JUNIT.as_ref(), cases);
    compared.stopped = signal;
    let outcome = Outcome::of(compared);
    Gated {
        found,
        measures: benchmark::comparison(&outcome.report),
        folder: Some(outcome.folder),
        unwritten: outcome.unwritten,
        stopped: signal,
    }
}
