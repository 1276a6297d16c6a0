//! Conditions on one step of a workload, such as `p99{login}<50ms`: the same figures, of the record
//! as that step has it.

use std::borrow::Cow;

use measure::histogram::Histogram;
use measure::record::{Exchanges, Step};
use plan::workload::WHOLE;

use super::{Figure, OfWhole, Range, RunFigure};
use crate::Record;

/// A figure of the record of a run, or of what one step has in it.
#[derive(Clone, Debug, PartialEq)]
pub struct OfRun {
    pub(super) whole: OfWhole,
    step: Option<String>,
}

impl OfRun {
    /// The step that it is about; none where it is about the whole run.
    pub fn step(&self) -> Option<&str> {
        self.step.as_deref()
    }

    /// Whether it's about whole flows of users.
    fn is_of_flows(&self, record: &Record) -> bool {
        self.step.as_deref() == Some(WHOLE) && record.plan.has_users()
    }

    fn record<'a>(&self, record: &'a Record) -> Cow<'a, Record> {
        match &self.step {
            Some(name) => Cow::Owned(narrowed(record, name)),
            None => Cow::Borrowed(record),
        }
    }
}

/// The record as the step `name` has it.
fn narrowed(record: &Record, name: &str) -> Record {
    let mut narrowed = record.clone();
    let nothing = Step::default();
    let step = record.steps.iter().find(|step| step.name == name);
    let step = step.unwrap_or(&nothing);
    narrowed.exchanges = Exchanges {
        completed: step.completed,
        failed: step.failed,
        unfinished: step.unfinished,
        censored: step.censored,
        // They bound what failed of the whole, and no step has them apart.
        never_sent: 0,
        ..record.exchanges
    };
    narrowed.achieved_rate = step.achieved_rate;
    narrowed.response_time_us = step.response_time_us;
    narrowed.service_time_us = step.service_time_us;
    narrowed.void.clone_from(&step.void);
    let looked_for = record.streams.is_some();
    narrowed.streams = looked_for.then(|| step.streams.clone().unwrap_or_default());
    narrowed
        .histograms
        .response_time
        .clone_from(&step.response_time);
    // Attempts to connect belong to no step.
    narrowed.connections.failed_attempts = 0;
    (narrowed.waits, narrowed.availability) = (None, None);
    narrowed
}

/// `p99{login}` as `p99` and `login`.
fn split(name: &str) -> Option<(&str, &str)> {
    let (figure, step) = name.split_once('{')?;
    Some((figure.trim(), step.strip_suffix('}')?.trim()))
}

impl Figure for OfRun {
    type Record = Record;
    const EXAMPLES: &'static str = OfWhole::EXAMPLES;

    fn read(name: &str, limit: &str) -> Result<(OfRun, Option<f64>), String> {
        if let Some((figure, step)) = name.split_once('(').filter(|_| !name.contains('{')) {
            let step = match step.trim_end_matches(')') {
                "flow" => WHOLE,
                other => other,
            };
            return Err(format!("a step stands in braces: {figure}{{{step}}}"));
        }
        let (name, step) = match split(name) {
            Some((_, "")) => return Err("the braces name no step".to_owned()),
            Some((name, step)) => (name, Some(step.to_owned())),
            None => (name, None),
        };
        let (whole, limit) = OfWhole::read(name, limit)?;
        let apart = match whole.0 {
            RunFigure::Time { service, .. } => !service,
            RunFigure::Availability => false,
            RunFigure::ErrorShare
            | RunFigure::ErrorCount
            | RunFigure::Rate
            | RunFigure::Stream { .. }
            | RunFigure::EventRate => true,
        };
        if step.is_some() && !apart {
            return Err(format!(
                "a step has response times, errors, a rate and events of its own, but no {name}"
            ));
        }
        Ok((OfRun { whole, step }, limit))
    }

    fn most(&self) -> Option<f64> {
        self.whole.most()
    }

    fn measure(&self, record: &Record) -> Option<f64> {
        let mut narrowed = self.record(record);
        if self.is_of_flows(record) && self.whole.counts_failures() {
            // A flow that is under way at the end is no error: its users think.
            let exchanges = &mut narrowed.to_mut().exchanges;
            exchanges.completed += std::mem::take(&mut exchanges.unfinished);
        }
        self.whole.measure(&narrowed)
    }

    fn counts_failures(&self) -> bool {
        self.whole.counts_failures()
    }

    fn void(&self, record: &Record) -> Option<String> {
        let record = self.record(record);
        let sent = &record.exchanges;
        let was_sent = sent.completed + sent.failed + sent.unfinished > 0;
        // That it was sent too seldom is what a rate says.
        match self.step.is_some() && !was_sent && self.whole.0 != RunFigure::Rate {
            true => Some("none of its requests was sent".to_owned()),
            false => self.whole.void(&record),
        }
    }

    fn bound(&self, record: &Record) -> Option<String> {
        self.whole.bound(&self.record(record))
    }

    fn at_least(&self, record: &Record, measured: f64) -> Option<f64> {
        self.whole.at_least(&self.record(record), measured)
    }

    fn range(&self, record: &Record, measured: f64) -> Option<Range> {
        self.whole.range(&self.record(record), measured)
    }

    fn tail(&self, record: &Record) -> Option<(f64, Histogram)> {
        self.whole.tail(&self.record(record))
    }

    fn print(&self, value: f64) -> String {
        self.whole.print(value)
    }
}
