//! Carrying claims out: each comparison once, whatever number of claims rest on it, and nothing
//! again that is in the folder of records already.

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};

use lab::End;
use lab::event::{Event, Observer};
use lab::store::Source;
use load::{Signal, Stop};

use super::held::Done;
use super::{Begun, Claim, Id, Options, Run, held, recorded};

/// How the runs went.
#[derive(Clone, Debug, Default)]
pub struct Ran {
    /// Runs that were carried out now.
    pub carried_out: usize,
    /// The claims whose runs were in the folder of records already, and which folder that is.
    pub there: Vec<(Vec<Id>, PathBuf)>,
    /// The claims whose runs did not come about, with the reasons.
    pub failed: Vec<(Vec<Id>, String)>,
    /// What could not be written, though it was measured.
    pub unwritten: Vec<String>,
}

impl Ran {
    /// A part, if some runs did not come about or could not be written. That a claim cannot be
    /// tested here is a finding, too.
    pub fn end(&self, stopped: Option<Signal>) -> End {
        let came_about = self.carried_out > 0 || !self.there.is_empty();
        let whole = self.failed.is_empty() && self.unwritten.is_empty();
        End::of(stopped, came_about || whole, whole)
    }
}

/// Where the record of a comparison is, inside the folder of records: the file's name.
pub(super) fn place(file: &Path) -> String {
    let stem = file.file_stem().unwrap_or_default();
    stem.to_string_lossy().into_owned()
}

/// Carries out what `claims` rest on, unless it is in the folder of records. One run's trouble does
/// not keep the others from theirs. A stop ends the run that is on; the next call goes on there.
pub fn run(
    claims: &[Claim],
    options: &Options,
    stop: &Stop,
    begun: &mut dyn FnMut(Begun<'_>),
    observer: &mut dyn Observer,
) -> Ran {
    let mut ran = Ran::default();
    let jobs = jobs(claims);
    for (at, job) in jobs.iter().enumerate() {
        if stop.requested().is_some() {
            break;
        }
        let ids: Vec<Id> = job.iter().map(|claim| claim.id).collect();
        let mut begin = || {
            begun(Begun {
                claims: &ids,
                number: at + 1,
                of: jobs.len(),
            })
        };
        let done = match job.first().and_then(|claim| claim.test.as_ref().ok()) {
            Some(test) => match &test.run {
                Run::Comparison(file) => {
                    let tests = job.iter().filter_map(|claim| claim.test.as_ref().ok());
                    let profile = tests.into_iter().any(|test| test.profile);
                    compare((file, profile), options, stop, &mut begin, observer)
                }
                Run::Hold(hold) => {
                    let folder = options.folder.join(job[0].id.file_stem());
                    held::run(hold, &folder, options, stop, &mut begin, observer)
                }
                Run::Nothing => continue,
            },
            None => continue,
        };
        match done {
            Ok(Done::There(folder)) => ran.there.push((ids, folder)),
            Ok(Done::Now(unwritten)) => {
                ran.carried_out += 1;
                ran.unwritten.extend(unwritten);
            }
            Err(what) => {
                observer.event(&Event::Caution { what: &what });
                ran.failed.push((ids, what));
            }
        }
    }
    ran
}

/// The claims that rest on one run, for each run, in the order of the first of them.
fn jobs(claims: &[Claim]) -> Vec<Vec<&Claim>> {
    let mut jobs: Vec<Vec<&Claim>> = Vec::new();
    let mut files: BTreeMap<PathBuf, usize> = BTreeMap::new();
    for claim in claims {
        let Ok(test) = &claim.test else { continue };
        match &test.run {
            Run::Hold(_) => jobs.push(vec![claim]),
            Run::Nothing => {}
            Run::Comparison(file) => {
                let file = fs::canonicalize(file).unwrap_or_else(|_| file.clone());
                let at = *files.entry(file).or_insert(jobs.len());
                match jobs.get_mut(at) {
                    Some(job) => job.push(claim),
                    None => jobs.push(vec![claim]),
                }
            }
        }
    }
    jobs
}

fn compare(
    (file, profile): (&Path, bool),
    options: &Options,
    stop: &Stop,
    begin: &mut dyn FnMut(),
    observer: &mut dyn Observer,
) -> Result<Done, String> {
    let folder = options.folder.join(place(file));
    if recorded(file, &Source::of(&folder))?.is_some() {
        return Ok(Done::There(folder));
    }
    begin();
    let begun = folder.join("comparison.json").is_file();
    let comparison = lab::Options {
        file: file.to_owned(),
        out: (!begun).then(|| folder.clone()),
        resume: begun.then_some(folder),
        ringside: options.ringside.clone(),
        subjects: options.subjects.clone(),
        cache: options.cache.clone(),
        rounds: options.rounds,
        window: options.window,
        warm_up_max: options.warm_up_max,
        profile,
        ..lab::Options::default()
    };
    crate::compare(&comparison, stop, observer)
        .map(|outcome| Done::Now(outcome.unwritten))
        .map_err(|error| error.to_string())
}
