//! Phases: a load that changes while a subject serves, such as a ramp, a hold and a spike. Each is
//! a run of its own, back to back with the one before, with conditions that it passes or fails.
//!
//! This file reads and validates them. It runs nothing.

use std::collections::BTreeSet;
use std::num::NonZeroU32;
use std::time::Duration;

use load::check::Threshold;
use serde::Deserialize;
use supervisor::document::{self, BadFile, Document};
use supervisor::subject::is_plain_name;
use supervisor::workload::{WINDOW_MIN, WINDOW_TOO_SHORT, Workload};
use toml::Spanned;

use crate::intervene::Whom;
use crate::schedule::{self, Fault};

/// The most phases of a comparison.
const PHASES_MAX: usize = 64;

/// A stretch of load on a subject that serves.
#[derive(Clone, Debug)]
pub struct Phase {
    /// What it is called.
    pub name: String,
    /// Requests a second (open loop); none leaves each connection to send when it has the answer.
    pub rate: Option<f64>,
    /// How many connections; none leaves what the row's workload says.
    pub connections: Option<NonZeroU32>,
    /// How long it is measured.
    pub length: Duration,
    /// What it must meet to pass.
    pub pass: Vec<Threshold>,
    /// What happens to the subject meanwhile.
    pub faults: Vec<Fault>,
    /// Whether its figures are those that subjects are compared by. One phase has it.
    pub compared: bool,
    /// Whether its rate is the one that is offered to all rows alike, and is found before the
    /// first round where the file does not say it.
    pub equal: bool,
}

impl Phase {
    /// Whether its rate has to be found before it can be run.
    pub fn lacks_rate(&self) -> bool {
        self.equal && self.rate.is_none()
    }

    /// The phase in words, for a report.
    pub fn words(&self) -> String {
        let rate = match self.rate {
            Some(rate) => format!("{rate} requests/s"),
            None if self.equal => "half of what the slowest answers in a closed loop".to_owned(),
            None => "as many as the server answers".to_owned(),
        };
        let connections = match self.connections {
            Some(connections) => format!(" over {connections} connections"),
            None => String::new(),
        };
        let length = self.length.as_secs_f64();
        let faults = self
            .faults
            .iter()
            .map(|fault| format!(", {}", fault.words()));
        let faults: String = faults.collect();
        format!("{}: {rate}{connections} for {length} s{faults}", self.name)
    }
}

/// Connections, what is outstanding on each, the phases, what happens to the subjects, and what of
/// their answers is in time, in words.
pub fn load(
    workload: &Workload,
    phases: &[Phase],
    faults: &[Fault],
    goodput_within: Option<Duration>,
) -> String {
    let goodput = goodput_within.map(|within| {
        let ms = 1000.0 * within.as_secs_f64();
        format!("goodput: answered within {ms} ms")
    });
    let of_phases = phases.iter().flat_map(|phase| &phase.faults);
    let all_faults = faults.iter().chain(of_phases);
    let proxied = all_faults.filter(|fault| fault.kind.is_proxied());
    let proxied: BTreeSet<String> = proxied
        .flat_map(|fault| fault.whom.iter().map(Whom::to_string))
        .collect();
    let proxies = proxied.iter();
    let proxies = proxies.map(|whom| format!("connections to {whom} go through a fault proxy"));
    let happens = faults.iter().filter(|_| phases.is_empty());
    let phases = phases.iter().map(Phase::words);
    let all: Vec<String> = [workload.words()]
        .into_iter()
        .chain(phases)
        .chain(happens.map(Fault::words))
        .chain(proxies)
        .chain(goodput)
        .collect();
    all.join("; ")
}

/// What is wrong with a fault that lies outside of its window or phase, if one does.
pub fn unfit_fault(window: Duration, faults: &[Fault], phases: &[Phase]) -> Option<String> {
    let own = faults.iter().map(|fault| (fault, window));
    let phases = phases.iter();
    let of_phases = phases.flat_map(|phase| phase.faults.iter().map(|one| (one, phase.length)));
    let mut all = own.chain(of_phases);
    all.find_map(|(fault, window)| fault.fits(window).err())
}

/// A phase as it stands in the file.
#[derive(Clone, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Written {
    name: Spanned<String>,
    #[serde(default, deserialize_with = "document::rate")]
    rate: Option<f64>,
    connections: Option<NonZeroU32>,
    #[serde(rename = "for", deserialize_with = "document::some_duration")]
    length: Duration,
    #[serde(default)]
    pass: Vec<Spanned<String>>,
    #[serde(default)]
    faults: Vec<schedule::Written>,
    #[serde(default)]
    compared: bool,
}

/// Reads the phases of a file, and gives `workload` the window and the rate of the phase that is
/// compared: the one that says so, or the longest.
///
/// # Errors
/// A name that is none or stands there twice, a condition that means nothing, a phase that is too
/// short, more than one that is compared.
pub fn read(
    written: Vec<Written>,
    workload: &mut Workload,
    document: &Document,
) -> Result<Vec<Phase>, BadFile> {
    if written.len() > PHASES_MAX {
        let what = format!(
            "{} phases are too many: use at most {PHASES_MAX}",
            written.len()
        );
        return Err(document.fault(None, what));
    }
    let mut phases: Vec<Phase> = Vec::new();
    for mut phase in written {
        let faults = std::mem::take(&mut phase.faults);
        let (name, place) = (phase.name.get_ref().clone(), phase.name.span());
        let fault = |what: String| Err(document.fault(Some(place.clone()), what));
        if !is_plain_name(&name) {
            return fault("expected a name of letters, digits, `.`, `_` and `-`".into());
        }
        if phases.iter().any(|before| before.name == name) {
            return fault(format!("`{name}` appears twice"));
        }
        if phase.length < WINDOW_MIN {
            return fault(WINDOW_TOO_SHORT.into());
        }
        if phase.compared && phases.iter().any(|before| before.compared) {
            return fault("two phases are `compared`; expected only one".into());
        }
        let mut pass = Vec::new();
        for condition in &phase.pass {
            let read = condition.get_ref().parse::<Threshold>();
            pass.push(read.map_err(|bad| document.fault(Some(condition.span()), bad.to_string()))?);
        }
        phases.push(Phase {
            name,
            rate: phase.rate.or(workload.rate),
            connections: phase.connections,
            length: phase.length,
            pass,
            faults: schedule::read(faults, phase.length, document)?,
            compared: phase.compared,
            equal: false,
        });
    }
    if !phases.iter().any(|phase| phase.compared) {
        let longest = phases.iter().map(|phase| phase.length).max();
        let first = phases
            .iter_mut()
            .find(|phase| Some(phase.length) == longest);
        if let Some(phase) = first {
            phase.compared = true;
        }
    }
    if let Some(compared) = phases.iter().find(|phase| phase.compared) {
        workload.window = compared.length;
        workload.rate = compared.rate;
    }
    Ok(phases)
}
