//! Streams of events, which may last for as long as they like: how long one takes before there is a
//! load of them. A window in which no stream ends says nothing of what a server sustains, so no
//! load is shorter than a stream that ends.

use std::time::Duration;

use load::schedule::Schedule;
use load::{Plan, Stop};

/// Streams are listened to for so long, and then for as long as an event may let wait.
const LISTENED_S: f64 = 1.0;
/// So many different requests are tried.
const REQUESTS_MAX: usize = 64;

/// Listens to the answers of the first requests, one after the other, and says how long the longest
/// took: nothing if they don't end. None where no answer was as it should be.
///
/// # Errors
/// Answers came, and none of the only request's was a stream.
pub(super) fn tried(plan: &Plan) -> Result<Option<Duration>, String> {
    let requests = plan.workload.as_ref().map_or(1, |it| it.steps.len());
    let alone = Plan {
        schedule: Schedule::Closed,
        connections: 1,
        threads: 1,
        count: Some(requests.clamp(1, REQUESTS_MAX) as u64),
        duration_s: Some(LISTENED_S),
        warm_up_s: 0.0,
        ..plan.clone()
    };
    let Ok(record) = load::run(&alone, &Stop::new(), &mut |_| ()) else {
        // Whoever asks next says what's wrong.
        return Ok(None);
    };
    let events = record.streams.as_ref();
    let events = events.map_or(0, |streams| streams.streams + streams.events);
    let completed = record.exchanges.completed;
    match (completed, events) {
        (0, 0) => Ok(None),
        (_, 0) if requests <= 1 => {
            let mut warnings = record.warnings.iter();
            let told = warnings.find(|one| one.contains("no answer was a stream of events"));
            Err(told.map_or_else(
                || "no answer was a stream of events: ask for one, or drop --events".to_owned(),
                String::clone,
            ))
        }
        (0, _) => Ok(Some(Duration::ZERO)),
        _ => {
            let longest_us = record.service_time_us.max.unwrap_or_default();
            Ok(Some(Duration::from_secs_f64(longest_us.max(0.0) / 1e6)))
        }
    }
}
