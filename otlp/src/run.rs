//! What came of a run, as attributes of its span.

use measure::record::{Record, Times};

use crate::span::{Attribute, Value};

/// Reads one figure of a distribution.
type Figure = fn(&Times) -> Option<f64>;

/// The figures of a distribution that are told, each by its name in the record.
pub(crate) const TIMES: [(&str, Figure); 7] = [
    ("min", |times| times.min),
    ("mean", |times| times.mean),
    ("p50", |times| times.p50),
    ("p90", |times| times.p90),
    ("p99", |times| times.p99),
    ("p99_9", |times| times.p99_9),
    ("max", |times| times.max),
];

/// The figures of a record, each by its name there. Those that the generator's own lateness has
/// spoiled are left out.
pub fn figures_of_a_run<P>(record: &Record<P>) -> Vec<Attribute> {
    let exchanges = &record.exchanges;
    let mut figures: Vec<(&str, Value)> = vec![
        ("exchanges.completed", exchanges.completed.into()),
        ("exchanges.failed", exchanges.failed.into()),
        ("exchanges.unfinished", exchanges.unfinished.into()),
        ("duration_s", record.duration_s.into()),
        ("achieved_rate", record.achieved_rate.into()),
        ("bytes.received", record.bytes.received.into()),
        ("bytes.sent", record.bytes.sent.into()),
        ("valid", record.valid.into()),
    ];
    figures.extend(
        record
            .offered_rate
            .map(|rate| ("offered_rate", rate.into())),
    );
    let named = |name: &str| format!("ringside.{name}");
    let mut all: Vec<Attribute> = figures
        .into_iter()
        .map(|(name, value)| (named(name), value))
        .collect();
    all.extend(TIMES.into_iter().filter_map(|(name, of)| {
        let value = record.unspoiled(name, of)?;
        Some((named(&format!("response_time_us.{name}")), value.into()))
    }));
    let errors = record.errors.iter();
    all.extend(errors.map(|(kind, n)| (named(&format!("errors.{kind}")), (*n).into())));
    all
}
