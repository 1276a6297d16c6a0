//! What came of a hold, as attributes of its span.

use std::collections::BTreeMap;

use measure::hold::Record;

use crate::run::TIMES;
use crate::span::{Attribute, Value};

/// The figures of a record, each by its name there.
pub fn figures_of_a_hold<P>(record: &Record<P>) -> Vec<Attribute> {
    let named = |name: &str| format!("ringside.{name}");
    let figures = singles(record).into_iter();
    let mut all: Vec<Attribute> = figures
        .filter_map(|(name, value)| Some((named(name), value?)))
        .collect();
    let heard = record.broadcasts.as_ref();
    let times = [
        ("heartbeat_time_us", Some(&record.heartbeat_time_us)),
        ("set_up_time_us", Some(&record.set_up_time_us)),
        ("re_establish_time_us", Some(&record.re_establish_time_us)),
        (
            "broadcasts.heard_after_us",
            heard.map(|heard| &heard.heard_after_us),
        ),
    ];
    for (of, times) in times {
        let Some(times) = times else { continue };
        all.extend(TIMES.into_iter().filter_map(|(name, figure)| {
            Some((named(&format!("{of}.{name}")), figure(times)?.into()))
        }));
    }
    let kinds: [(&str, &BTreeMap<String, u64>); 3] = [
        ("losses", &record.losses),
        ("failed_attempts", &record.failed_attempts),
        ("heartbeat_errors", &record.heartbeat_errors),
    ];
    for (of, counts) in kinds {
        let counts = counts.iter();
        all.extend(counts.map(|(kind, n)| (named(&format!("{of}.{kind}")), (*n).into())));
    }
    all
}

/// Those of one value each; none where the record has none.
fn singles<P>(record: &Record<P>) -> Vec<(&'static str, Option<Value>)> {
    let (connections, heartbeats) = (&record.connections, &record.heartbeats);
    let heard = record.broadcasts.as_ref();
    let count = |n: u64| Some(Value::from(n));
    let real = |figure: Option<f64>| figure.map(Value::from);
    vec![
        ("connections.asked", count(connections.asked)),
        ("connections.survived", count(connections.survived)),
        ("connections.survival", real(connections.survival)),
        ("connections.standing", count(connections.standing)),
        ("connections.opened", count(connections.opened)),
        ("connections.lost", count(connections.lost)),
        ("connections.reconnects", count(connections.reconnects)),
        (
            "connections.reconnects_per_hour",
            real(connections.reconnects_per_hour),
        ),
        ("connections.given_up", count(connections.given_up)),
        ("heartbeats.due", count(heartbeats.due)),
        ("heartbeats.answered", count(heartbeats.answered)),
        ("heartbeats.failed", count(heartbeats.failed)),
        ("heartbeats.unfinished", count(heartbeats.unfinished)),
        ("heartbeats.skipped", count(heartbeats.skipped)),
        ("heartbeats.failure_share", real(heartbeats.failure_share)),
        ("broadcasts.said", heard.map(|heard| heard.said.into())),
        (
            "broadcasts.heard_share",
            real(heard.and_then(|heard| heard.heard_share)),
        ),
        ("opening_s", real(Some(record.opening_s))),
        ("duration_s", real(Some(record.duration_s))),
        ("bytes.received", count(record.bytes.received)),
        ("bytes.sent", count(record.bytes.sent)),
        (
            "memory.bytes_per_connection",
            real(record.memory.bytes_per_connection),
        ),
        ("valid", Some(record.valid.into())),
    ]
}
