//! What holds where a comparison's subjects are to meet faults.

use faults::Fault;
use faults::intervene::Whom;
use faults::schedule::{self, Written};
use supervisor::document::{BadFile, Document};
use supervisor::subject::Subject;
use supervisor::workload::Workload;

use super::{Comparison, Reader};
use crate::phase::{self, Phase};

/// Reads the faults of a file beside the phases that it writes down itself.
///
/// # Errors
/// What is wrong with one of them; or that they stand beside phases, or where commands are timed.
pub(super) fn read(
    written: Vec<Written>,
    phases: &[Phase],
    workload: &Workload,
    timed: bool,
    document: &Document,
) -> Result<Vec<Fault>, BadFile> {
    let why = match written.first() {
        None => return Ok(Vec::new()),
        Some(_) if timed => "[[faults]] is for servers, and the first subject is a timed command",
        Some(_) if !phases.is_empty() => {
            "which [[phase]] is it for? Write it below that as [[phase.faults]]"
        }
        Some(_) => return schedule::read(written, workload.window, document),
    };
    let place = written.first().map(Written::place);
    Err(document.fault(place, why))
}

impl Comparison {
    /// How each subject is loaded and what happens to it, in words.
    pub(crate) fn load(&self) -> String {
        self.load_of(&self.phases)
    }

    /// The same with these phases.
    pub(crate) fn load_of(&self, phases: &[Phase]) -> String {
        phase::load(&self.workload, phases, &self.faults, self.goodput_within)
    }

    /// What is wrong with a fault that lies outside of its window, if one does.
    pub(crate) fn unfit_fault(&self) -> Option<String> {
        let window = self.workload.window;
        phase::unfit_fault(window, &self.faults, &self.phases)
    }
}

impl Reader<'_> {
    fn all_faults(&self) -> impl Iterator<Item = &Fault> {
        let of_phases = self.phases.iter().flat_map(|phase| &phase.faults);
        self.faults.iter().chain(of_phases)
    }

    /// Whether the load goes through a proxy.
    pub(super) fn is_proxied(&self) -> bool {
        schedule::is_proxied(self.all_faults(), &Whom::Subject)
    }

    /// Has a subject's connections to companions go through proxies where a fault asks for that.
    pub(super) fn proxy(&self, subject: &mut Subject) {
        for companion in &mut subject.companions {
            let whom = Whom::Companion(companion.name.clone());
            companion.proxied = schedule::is_proxied(self.all_faults(), &whom);
        }
    }

    /// Faults are for servers that are started here and have what is to fail.
    pub(super) fn check_faults(
        &self,
        subject: &Subject,
        of_generators: bool,
    ) -> Result<(), BadFile> {
        for fault in self.all_faults() {
            if of_generators {
                let what = "generators are compared, and [[faults]] is for servers";
                return Err(self.document.fault(Some(fault.place()), what));
            }
            fault.check(subject, self.document)?;
        }
        Ok(())
    }
}
