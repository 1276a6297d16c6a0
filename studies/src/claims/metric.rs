//! A figure by the name that it has in a claim's file.

use lab::verdict::Metric;
use load::check::Streamed;
use serde::de::{Deserialize, Deserializer};
use supervisor::document;

/// The figures that aren't of events.
const OTHERS: [Metric; 11] = [
    Metric::RequestsPerSecond,
    Metric::ResponseTimeP99,
    Metric::ResponseTimeP95,
    Metric::ResponseTimeP50,
    Metric::ResponseTimeMean,
    Metric::ServerCpuPerExchange,
    Metric::Seconds,
    Metric::MemoryPeak,
    Metric::Capacity,
    Metric::RequestsDriven,
    Metric::GeneratorCpuPerExchange,
];

/// Reads one. What is derived wouldn't say which names there are.
pub(super) fn metric<'de, D: Deserializer<'de>>(from: D) -> Result<Metric, D::Error> {
    let name = String::deserialize(from)?;
    let all = OTHERS.into_iter();
    let all = all.chain(Streamed::ALL.map(Metric::Streamed));
    let named = |one: Metric| Some((serde_json::to_value(one).ok()?.as_str()?.to_owned(), one));
    document::named(&name, all.filter_map(named))
}
