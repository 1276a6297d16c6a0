//! One comparison, from its file to its report.

use std::path::PathBuf;

use lab::compare::Compared;
use lab::{CannotBegin, End, Observer, Options};
use load::{Signal, Stop};

use report::{Enclosed, Report, files};
use supervisor::loads::Loads;

use crate::cases::{cases_of_a_gate, written};

/// The outcome of a comparison.
#[derive(Clone, Debug)]
pub struct Outcome {
    /// What was found.
    pub report: Report,
    /// The output folder, absolute.
    pub folder: PathBuf,
    /// Files that could not be written, with the reasons. If there are any, print
    /// [`report::json()`] so that nothing measured is lost.
    pub unwritten: Vec<String>,
    /// The signal that ended it early, if any.
    pub stopped: Option<Signal>,
}

impl Outcome {
    /// Makes the report of what was measured, and writes it in each of its formats.
    pub fn of(compared: Compared) -> Outcome {
        let mut store = compared.store;
        let report = Report::new(&compared.manifest, &compared.rounds);
        let cases = cases_of_a_gate(store.folder());
        for (file, text) in files(&report, &Enclosed::read(store.folder())) {
            let text = written(file, text, cases.as_deref());
            store.put(file.name().as_ref(), text.into_bytes());
        }
        Outcome {
            report,
            folder: store.folder().to_owned(),
            unwritten: store.unwritten(),
            stopped: compared.stopped,
        }
    }

    /// Partial if a subject failed while others were measured, or if a file couldn't be written.
    pub fn end(&self) -> End {
        let whole = self.report.complete() && self.unwritten.is_empty();
        End::of(self.stopped, self.report.has_figures(), whole)
    }
}

/// Carries a comparison out, or goes on with one that was begun, and writes its report. A stop ends
/// it early, with a report of what was measured until then.
///
/// # Errors
/// As [`lab::compare()`].
pub fn compare(
    options: &Options,
    stop: &Stop,
    observer: &mut dyn Observer,
) -> Result<Outcome, CannotBegin> {
    compare_from(options, (stop, Loads::HERE), observer)
}

/// The same with loads that are sent by whom `loads` says.
///
/// # Errors
/// As [`lab::compare()`].
pub fn compare_from(
    options: &Options,
    from: (&Stop, Loads<'_>),
    observer: &mut dyn Observer,
) -> Result<Outcome, CannotBegin> {
    lab::compare_from(options, from, observer).map(Outcome::of)
}
