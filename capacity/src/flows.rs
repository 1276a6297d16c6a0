//! Flows of users, of which a search asks for so many a second, and not for requests: what of a
//! record is about them.
//!
//! A window in which no flow ends says nothing of a rate of flows. So one user goes through the
//! flow before the search, and no load is shorter than what that took.

use std::time::Duration;

use load::plan::workload::WHOLE;
use load::{Plan, Record};
use measure::record::{Record as Of, Step, Times};
use measure::time::Time;

use super::streams;

/// The load before the window lasts so many times as long as a flow, so that as many users are
/// under way as there will be;
const SETTLES: f64 = 1.5;
/// and the window so many times as long.
const LASTS: f64 = 2.0;

/// What a search counts: requests, or flows.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct Counted {
    /// What was due, per second.
    pub(super) offered: f64,
    /// What was done as it should be, per second.
    pub(super) achieved: f64,
    pub(super) completed: u64,
    /// What failed.
    pub(super) failed: u64,
    /// What was due, and neither completed nor failed.
    pub(super) unfinished: u64,
    /// From when it was due.
    pub(super) response: Times,
}

impl Counted {
    /// What of a record counts for the rate that was asked for.
    pub(super) fn of(record: &Record) -> Counted {
        if let Some(flow) = whole(record) {
            let per_second = |count: u64| match record.duration_s > 0.0 {
                true => count as f64 / record.duration_s,
                false => 0.0,
            };
            return Counted {
                offered: per_second(flow.completed + flow.failed + flow.unfinished),
                achieved: per_second(flow.completed),
                completed: flow.completed,
                failed: flow.failed,
                unfinished: flow.unfinished,
                response: flow.response_time_us,
            };
        }
        let exchanges = &record.exchanges;
        let counted = Counted {
            offered: record.offered_rate.unwrap_or_default(),
            achieved: record.achieved_rate,
            completed: exchanges.completed,
            failed: exchanges.failed,
            unfinished: exchanges.unfinished,
            response: record.response_time_us,
        };
        with_those_that_go_on(counted, record)
    }
}

/// What was counted, with the streams that had begun and went on when the load ended as served.
/// They have no response time; whether they began in time is what conditions on events say.
fn with_those_that_go_on<P>(counted: Counted, record: &Of<P>) -> Counted {
    let on = record.streams.as_ref().map_or(0, |streams| streams.cut_off);
    if on == 0 || record.duration_s <= 0.0 {
        return counted;
    }
    let achieved = counted.achieved + on as f64 / record.duration_s;
    Counted {
        achieved: achieved.min(counted.offered).max(counted.achieved),
        completed: counted.completed + on,
        unfinished: counted.unfinished.saturating_sub(on),
        response: Times::default(),
        ..counted
    }
}

/// The whole flows of a record of users.
fn whole(record: &Record) -> Option<&Step> {
    let is_of_users = record.plan.has_users();
    let mut steps = record.steps.iter().filter(|_| is_of_users);
    steps.find(|step| step.name == WHOLE)
}

/// Whether the rate of a record is one of flows.
pub(super) fn is_of_flows(record: &Record) -> bool {
    whole(record).is_some()
}

/// How long one user takes, where a plan has some, or one stream; none where its requests have a
/// rate.
///
/// # Errors
/// Why nobody gets through the flow, or that answers are no streams.
pub(super) fn tried(plan: &Plan, window_s: f64) -> Result<Option<Duration>, String> {
    if plan.events && !plan.has_users() {
        return streams::tried(plan, window_s);
    }
    if !plan.has_users() {
        return Ok(None);
    }
    let began = Time::now();
    load::try_flow(plan)?;
    Ok(Some(Duration::from_nanos(Time::now().since(began))))
}

/// Settling and window, where a flow takes so long, in seconds.
pub(super) fn lengths(flow: Duration, (settle_s, window_s): (f64, f64)) -> (f64, f64) {
    let flow_s = flow.as_secs_f64();
    (settle_s.max(SETTLES * flow_s), window_s.max(LASTS * flow_s))
}

#[cfg(test)]
mod tests {
    use measure::record::{Facts, Streams};
    use measure::tally::{Loop, Tally};

    use super::*;

    #[test]
    fn a_probe_is_as_long_as_flows_need_and_no_shorter_than_asked_for() {
        let long = lengths(Duration::from_secs(4), (0.2, 1.0));
        assert_eq!(long, (6.0, 8.0));
        let short = lengths(Duration::from_millis(10), (0.2, 1.0));
        assert_eq!(short, (0.2, 1.0));
    }

    #[test]
    fn streams_that_have_begun_are_served_though_none_ends_and_others_are_not() {
        let mut record = Of::assemble(&Tally::new(Loop::Open), Facts::of(()));
        (record.duration_s, record.streams) = (2.0, Some(Streams::default()));
        let counted = Counted {
            offered: 50.0,
            achieved: 0.0,
            completed: 0,
            failed: 0,
            unfinished: 100,
            response: Times::default(),
        };
        assert_eq!(with_those_that_go_on(counted, &record), counted);
        for (on, served) in [(100, 50.0), (30, 15.0)] {
            record.streams.as_mut().unwrap().cut_off = on;
            let with = with_those_that_go_on(counted, &record);
            assert_eq!((with.achieved, with.completed), (served, on));
            assert_eq!(with.unfinished, 100 - on);
        }
        // Those that end as well make no more than was due.
        let both = Counted {
            achieved: 45.0,
            completed: 90,
            ..counted
        };
        assert_eq!(with_those_that_go_on(both, &record).achieved, 50.0);
    }
}
