//! Published claims against what is measured here: a ledger.
//!
//! A claim is a file ([`Claim`]); several may rest on one comparison, which is run once. [`run()`]
//! carries out what is not in the folder of records yet, [`find()`] reads that folder and judges,
//! and [`page`] writes down claim against finding. Findings are never kept: they follow from the
//! records, so a rule that is corrected corrects every page that is written again.
//!
//! Knows nothing of how a comparison is measured.

mod file;
mod held;
mod judge;
pub mod little;
mod metric;
pub mod page;
pub mod posts;
mod run;
mod stated;
mod word;

use std::collections::BTreeMap;
use std::fs;
use std::io;
use std::path::{Path, PathBuf};
use std::time::Duration;

pub use file::{Cited, Claim, Ground, Hold, Id, Judge, Run, Test, Untested, Why};
pub use judge::{Interval, Judgement};
pub use run::{Ran, run};
pub use stated::Stated;
pub use word::{Word, Words};

use lab::comparison::Comparison;
use lab::hidden::is_kept_of;
use lab::judged::Measured;
use lab::store::{ASKED, Kept, MANIFEST, Source};
use measure::host::Host;
use supervisor::document::BadFile;

use judge::Evidence;

/// Where the records of claims are, if nobody says so.
pub const FOLDER: &str = "ringside-out/claims";

/// How claims are carried out.
#[derive(Clone, Debug, Default)]
pub struct Options {
    /// The folder of records.
    pub folder: PathBuf,
    /// The program that `{ringside}` stands for: usually the one running now.
    pub ringside: PathBuf,
    /// The folder of subjects; none looks beside each comparison, above it and in the current
    /// folder.
    pub subjects: Option<PathBuf>,
    /// Where builds are kept; none is `ringside/builds` in the user's cache.
    pub cache: Option<PathBuf>,
    /// Instead of the comparisons' own numbers of rounds.
    pub rounds: Option<u32>,
    /// Instead of the comparisons' own windows, and at most as long as connections are held.
    pub window: Option<Duration>,
    /// Beyond which subjects' own warm-ups are cut.
    pub warm_up_max: Option<Duration>,
}

/// Something that is about to be carried out.
#[derive(Clone, Copy, Debug)]
pub struct Begun<'a> {
    /// The claims that rest on it.
    pub claims: &'a [Id],
    /// How many of the runs have begun, this one included.
    pub number: usize,
    /// How many runs there are.
    pub of: usize,
}

/// What was found about a claim.
#[derive(Clone, Debug)]
pub struct Finding {
    /// In a word.
    pub word: Word,
    /// About each thing that is judged; or the one reason why nothing is.
    pub judgements: Vec<Judgement>,
    /// When it was measured, UTC; none where it cannot be.
    pub began: Option<String>,
    /// Whether its rounds were shorter than the comparison says.
    pub short: bool,
    /// On what machine; none where that was not recorded.
    pub machine: Option<String>,
    /// The folder that it rests on, inside the folder of records.
    pub folder: Option<String>,
}

impl Finding {
    fn resting_on(judgements: Vec<Judgement>) -> Finding {
        Finding {
            word: judge::word(&judgements),
            judgements,
            began: None,
            short: false,
            machine: None,
            folder: None,
        }
    }

    fn without(word: Word, sentence: Words) -> Finding {
        Finding::resting_on(vec![Judgement::of(word, sentence)])
    }
}

/// All claims of a folder in the order of their names. Files that cannot be read are reported one
/// by one, so that one mistake does not hide the rest.
///
/// # Errors
/// If the folder cannot be read.
pub fn read_all(folder: &Path) -> io::Result<(Vec<Claim>, Vec<BadFile>)> {
    let (mut claims, mut faults) = (Vec::new(), Vec::new());
    let mut files: Vec<PathBuf> = fs::read_dir(folder)?
        .map(|entry| entry.map(|entry| entry.path()))
        .collect::<io::Result<_>>()?;
    files.retain(|file| file.extension().is_some_and(|ending| ending == "toml"));
    files.sort();
    for file in files {
        match Claim::read(&file) {
            Ok(claim) => claims.push(claim),
            Err(fault) => faults.push(fault),
        }
    }
    claims.sort_by_key(|claim| claim.id);
    Ok((claims, faults))
}

/// What the `records` say about a claim; nothing if it was not run yet, or not to its
/// end. `subjects` is the folder of subjects, if not the one beside the claim's comparison.
///
/// # Errors
/// A sentence about a record that cannot be read, or is of something else than the claim now says.
pub fn find(
    claim: &Claim,
    records: &Source,
    subjects: Option<&Path>,
) -> Result<Option<Finding>, String> {
    let test = match &claim.test {
        Ok(test) => test,
        Err(untested) => {
            return Ok(Some(Finding::without(untested.word, untested.why.clone())));
        }
    };
    let place = match &test.run {
        Run::Comparison(file) => run::place(file),
        Run::Hold(_) => claim.id.file_stem(),
        Run::Nothing => return Ok(Some(Finding::resting_on(judge::without_records(test)))),
    };
    let records = records.join(&place);
    let found = match &test.run {
        Run::Comparison(file) => compared(test, file, &records, subjects)?,
        Run::Hold(hold) => held::find(test, hold, &records)?,
        Run::Nothing => None,
    };
    Ok(found.map(|found| Finding {
        folder: Some(place),
        ..found
    }))
}

fn compared(
    test: &Test,
    file: &Path,
    records: &Source,
    subjects: Option<&Path>,
) -> Result<Option<Finding>, String> {
    let Some(kept) = recorded(file, records)? else {
        return Ok(None);
    };
    let outputs = outputs(file, subjects);
    let measured = Measured::all(&kept.manifest, &kept.rounds);
    let evidence = Evidence {
        kept: &kept,
        measured: &measured,
        outputs: &outputs,
    };
    let judges = test.judges.iter();
    let judgements = judges.map(|one| judge::judge(one, &evidence)).collect();
    Ok(Some(Finding {
        began: Some(kept.manifest.setup.began.clone()),
        short: kept.manifest.asked.window_s.is_some(),
        machine: Some(machine(&kept.manifest.host)),
        ..Finding::resting_on(judgements)
    }))
}

/// A machine in a line.
fn machine(host: &Host) -> String {
    let cores = host.cpus_online.map(|count| format!("{count} cores"));
    let parts = [cores, host.cpu_model.clone(), host.kernel.clone()];
    let known: Vec<String> = parts.into_iter().flatten().collect();
    known.join(", ")
}

/// The whole record of a comparison, if there is one.
///
/// # Errors
/// It cannot be read, or the file has been changed since.
fn recorded(file: &Path, records: &Source) -> Result<Option<Kept>, String> {
    if !records.join(MANIFEST).path().is_file() {
        return Ok(None);
    }
    let kept = Kept::read_from(records)?;
    if kept.manifest.setup.ended_early.is_some() {
        return Ok(None);
    }
    let then = fs::read_to_string(records.join(ASKED).path()).unwrap_or_default();
    match fs::read_to_string(file) {
        Ok(now) if is_kept_of(&then, &now) => Ok(Some(kept)),
        _ => Err(format!(
            "{} was measured with a different {}: use another directory, or remove that one",
            records,
            file.display()
        )),
    }
}

/// What the rows that are timed commands write, as their descriptions say and every run verified.
fn outputs(file: &Path, subjects: Option<&Path>) -> BTreeMap<String, String> {
    let Ok(comparison) = Comparison::read(file, subjects) else {
        return BTreeMap::new();
    };
    let output = |row: supervisor::row::Row| Some((row.name, row.subject.output?));
    comparison.rows.into_iter().filter_map(output).collect()
}
