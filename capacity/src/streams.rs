//! Streams of events, which may last for as long as they like: how long one takes before there is a
//! load of them. A window in which no stream ends says nothing of what a server sustains, so no
//! load is shorter than a stream that ends.

use std::time::Duration;

use load::schedule::Schedule;
use load::{Plan, Stop};
use measure::units::wrk_time_us;

/// A stream is listened to for so long at least, or for so many of the windows that were asked for;
/// and then for as long as an event may let wait.
const LISTENED_S: f64 = 10.0;
const WINDOWS: f64 = 2.0;
/// So many different requests are tried.
const REQUESTS_MAX: usize = 64;

/// Listens to the answers of the first requests, one after the other, and says how long the longest
/// took: nothing if they don't end. None where no answer was as it should be.
///
/// # Errors
/// Answers came, and none of the only request's was a stream.
pub(super) fn tried(plan: &Plan, window_s: f64) -> Result<Option<Duration>, String> {
    let until_s = LISTENED_S.max(WINDOWS * window_s);
    let (mut answers, mut events, mut longest_us) = (0, 0, 0.0f64);
    let mut told = None;
    let alone = alone(plan)?;
    for one in &alone {
        let one = Plan {
            duration_s: Some(until_s / alone.len() as f64),
            ..one.clone()
        };
        let Ok(record) = load::run(&one, &Stop::new(), &mut |_| ()) else {
            // Whoever asks next says what's wrong.
            return Ok(None);
        };
        let streams = record.streams.as_ref();
        events += streams.map_or(0, |streams| streams.streams + streams.events);
        answers += record.exchanges.completed;
        longest_us = longest_us.max(record.service_time_us.max.unwrap_or_default());
        let mut warnings = record.warnings.into_iter();
        told =
            told.or_else(|| warnings.find(|one| one.contains("no answer was a stream of events")));
    }
    let is_one = plan.workload.as_ref().is_none_or(|it| it.steps.len() <= 1);
    match (answers, events) {
        (0, 0) => Ok(None),
        (_, 0) if is_one => Err(told.unwrap_or_else(|| {
            "no answer was a stream of events: ask for one, or drop --events".to_owned()
        })),
        (0, _) => Ok(Some(Duration::ZERO)),
        _ => Ok(Some(Duration::from_secs_f64(longest_us.max(0.0) / 1e6))),
    }
}

/// One connection that sends the first requests, each once. Of what was made once each is a plan by
/// itself, since it isn't sent at its time.
fn alone(plan: &Plan) -> Result<Vec<Plan>, String> {
    let requests = plan.workload.as_ref().map_or(1, |it| it.steps.len());
    let alone = |plan: &Plan, count: usize| Plan {
        schedule: Schedule::Closed,
        connections: 1,
        threads: 1,
        count: Some(count.clamp(1, REQUESTS_MAX) as u64),
        warm_up_s: 0.0,
        ..plan.clone()
    };
    if !matches!(plan.schedule, Schedule::Trace { .. }) {
        return Ok(vec![alone(plan, requests)]);
    }
    let examples = ::workload::examples(plan, requests).map_err(|invalid| invalid.to_string())?;
    Ok(examples.iter().map(|one| alone(&one.plan, 1)).collect())
}

/// That a stream went on for longer than it was listened to, and what that means for what was
/// found.
pub(super) fn endless(window_s: f64) -> String {
    let most_s = LISTENED_S.max(WINDOWS * window_s);
    format!(
        "No stream ended within {}, so what holds is told of streams that are no older than a \
         probe: those that go on for longer add up. If yours end, give a --duration as long as \
         one.",
        wrk_time_us(1e6 * most_s)
    )
}
