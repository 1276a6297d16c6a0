//! A fault as it was made, and what it cost, from the record of the load beside it: what failed,
//! for how long, and when the response times were back.
//!
//! Pure functions of a record; METHODOLOGY.md says what the figures mean.

use measure::record::{Gap, Record};
use measure::series::Row;
use serde::{Deserialize, Serialize};
use statistics::median;

/// A 99th percentile up to so many times that before the faults is back.
const BACK: f64 = 1.25;
/// For so many rows it has to stay there, unless the window ends before.
const STAYS: usize = 3;
/// A rate is read off rows that are at least so long: the last one may be shorter than the others.
const LENGTH_MIN_S: f64 = 0.5;

/// A fault that was done, in seconds since the measured window began.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Injected {
    /// `kill`, `stop`, `signal` or `cpu`.
    pub kind: String,
    /// What was done to whom, in words.
    pub what: String,
    /// When it was to be done.
    pub at_s: f64,
    /// For how long; 0 of what is done at once.
    pub for_s: f64,
    /// When it began to be done; where it was missed, when it could have been.
    pub began_s: f64,
    /// It was not made, because the load was over before whoever makes faults was done with the
    /// one before it.
    #[serde(default)]
    pub missed: bool,
    /// When it was undone, or what was killed was started again; null of what is done at once.
    pub ended_s: Option<f64>,
    /// When what was started again answered for the first time; null if nothing was.
    pub ready_s: Option<f64>,
    /// What it cost; null where the load has no record, or the fault was missed.
    #[serde(default)]
    pub cost: Option<Cost>,
}

/// What a fault cost. Rows are those of the record's series, of a second each.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Cost {
    /// Requests that failed in the rows that the fault reaches into.
    pub failed_during: u64,
    /// Requests that were lost from then until the next fault, or the end: failed, or, after the
    /// last fault, not answered when the load ended.
    pub lost: u64,
    /// Seconds from the fault's beginning to the end of the last row in which something failed: 0
    /// if nothing did, null if it went on until the next fault or the end of the window, or, after
    /// the last fault, if something failed or was left unanswered after the window.
    pub errors_stop_s: Option<f64>,
    /// The longest time without an answer that reaches into the same time, in seconds: 0 if there
    /// was none, null if nobody looked for gaps.
    pub longest_gap_s: Option<f64>,
    /// The 99th percentile of the response time before the first fault, in microseconds: the median
    /// of the rows. Null if no whole row was before it.
    pub p99_before_us: Option<f64>,
    /// The highest of the rows from the fault's beginning on, in microseconds.
    pub p99_worst_us: Option<f64>,
    /// Seconds from the fault's beginning to the beginning of the first of three rows whose
    /// percentile is at most 1.25 times that before, or at most the highest before: 0 if it never
    /// was above, null if it wasn't back, or isn't known before.
    pub p99_back_s: Option<f64>,
    /// Requests per second that were answered within the deadline of the goodput before the first
    /// fault: the median of the rows. Null without a deadline, or a whole row before.
    pub good_before: Option<f64>,
    /// The same in the worst row that the fault reaches into, or that is between its end and the
    /// next.
    pub good_worst: Option<f64>,
    /// The lowest share of the requests offered in a row that were answered within that deadline,
    /// of the same rows; null without a deadline or an offered rate.
    #[serde(default)]
    pub good_share_worst: Option<f64>,
}

/// Says of each fault what it cost.
pub fn count<P>(injected: &mut [Injected], record: &Record<P>) {
    let rows = &record.series;
    let mut injected: Vec<&mut Injected> = injected.iter_mut().filter(|one| !one.missed).collect();
    let Some(first_s) = injected.first().map(|fault| fault.began_s) else {
        return;
    };
    let before = || rows.iter().filter(|row| end_s(row) <= first_s);
    let p99_before_us = median_of(before(), |row| row.response_p99_us);
    let good_before = median_of(before(), good_rate);
    let highest_us = before().filter_map(|row| row.response_p99_us);
    let highest_us = highest_us.fold(0.0, f64::max);
    let begin: Vec<f64> = injected.iter().map(|fault| fault.began_s).collect();
    for (at, fault) in injected.iter_mut().enumerate() {
        let next_s = begin.get(at + 1).copied();
        let until_s = next_s.unwrap_or(f64::INFINITY);
        let of_it = |row: &&Row| end_s(row) > fault.began_s && end_s(row) <= until_s;
        // The row in which the next begins is the next one's, unless nothing else is left.
        let own: Vec<&Row> = match rows.iter().filter(of_it).collect::<Vec<_>>() {
            own if own.is_empty() => rows
                .iter()
                .find(|row| end_s(row) > fault.began_s)
                .into_iter()
                .collect(),
            own => own,
        };
        let over_s = fault.ready_s.or(fault.ended_s).unwrap_or(fault.began_s);
        let reaches = |row: &&&Row| row.at_s <= over_s;
        let after = match next_s {
            Some(_) => 0,
            None => record.drain.map_or(0, |drain| drain.failed) + record.exchanges.unfinished,
        };
        let is_own = |gap: &&Gap| gap.to_s > fault.began_s && gap.from_s < until_s;
        let longest_gap_s = record.availability.as_ref().map(|found| {
            let own = found.gaps.iter().filter(is_own);
            own.map(length_s).fold(0.0, f64::max)
        });
        let worst = own.iter().filter_map(|row| row.response_p99_us);
        fault.cost = Some(Cost {
            failed_during: own.iter().filter(reaches).map(|row| row.failed).sum(),
            lost: after + own.iter().map(|row| row.failed).sum::<u64>(),
            errors_stop_s: errors_stop_s(&own, fault.began_s).filter(|_| after == 0),
            longest_gap_s,
            p99_before_us,
            p99_worst_us: worst.reduce(f64::max),
            p99_back_s: p99_before_us.and_then(|before| {
                let usual_us = highest_us.max(BACK * before);
                back_s(&own, usual_us, fault.began_s)
            }),
            good_before,
            good_worst: own.iter().filter_map(|row| good_rate(row)).reduce(f64::min),
            good_share_worst: own
                .iter()
                .filter_map(|row| good_share(row))
                .reduce(f64::min),
        });
    }
}

fn end_s(row: &Row) -> f64 {
    row.at_s + row.seconds
}

/// Requests in time per second of a row; none of one that is too short to tell.
fn good_rate(row: &Row) -> Option<f64> {
    let good = row.good.filter(|_| row.seconds >= LENGTH_MIN_S)?;
    Some(good as f64 / row.seconds)
}

/// Which share of what was offered in a row was answered in time.
fn good_share(row: &Row) -> Option<f64> {
    good_rate(row)?;
    let offered = row.offered.filter(|offered| *offered > 0)?;
    Some((row.good? as f64 / offered as f64).min(1.0))
}

fn length_s(gap: &Gap) -> f64 {
    gap.to_s - gap.from_s
}

/// The median of the rows that have this figure.
fn median_of<'a>(
    rows: impl Iterator<Item = &'a Row>,
    figure: impl Fn(&Row) -> Option<f64>,
) -> Option<f64> {
    let all: Vec<f64> = rows.filter_map(figure).collect();
    (!all.is_empty()).then(|| median(&all))
}

fn errors_stop_s(rows: &[&Row], began_s: f64) -> Option<f64> {
    match rows.iter().rposition(|row| row.failed > 0) {
        None => Some(0.0),
        Some(last) if last + 1 == rows.len() => None,
        Some(last) => Some(end_s(rows[last]) - began_s),
    }
}

/// A row in which nothing was answered is as bad as a slow one.
fn back_s(rows: &[&Row], usual_us: f64, began_s: f64) -> Option<f64> {
    let is_good = |row: &&Row| row.response_p99_us.is_some_and(|p99| p99 <= usual_us);
    let Some(first_bad) = rows.iter().position(|row| !is_good(row)) else {
        return Some(0.0);
    };
    let back = (first_bad..rows.len()).find(|at| {
        let until = (at + STAYS).min(rows.len());
        rows[*at..until].iter().all(is_good)
    });
    back.map(|at| (rows[at].at_s - began_s).max(0.0))
}

#[cfg(test)]
mod tests {
    use measure::record::{Availability, Drain, Facts};
    use measure::tally::{Loop, Tally};

    use super::*;

    /// A record with a row a second: what failed in it, and its percentile in milliseconds.
    fn record(rows: &[(u64, Option<f64>)]) -> Record<()> {
        let mut record = Record::assemble(&Tally::new(Loop::Open), Facts::of(()));
        let row = |(at, (failed, p99_ms)): (usize, &(u64, Option<f64>))| Row {
            at_s: at as f64,
            seconds: 1.0,
            completed: 100,
            failed: *failed,
            answered: Some(100),
            offered: Some(100),
            good: Some(100 - failed),
            events: None,
            bytes_received: 0,
            response_p50_us: None,
            response_p99_us: p99_ms.map(|ms| 1000.0 * ms),
            response_max_us: None,
        };
        record.series = rows.iter().enumerate().map(row).collect();
        record
    }

    fn fault(began_s: f64, ended_s: f64) -> Injected {
        Injected {
            began_s,
            ended_s: Some(ended_s),
            ..Injected::default()
        }
    }

    fn cost(fault: Injected, record: &Record<()>) -> Cost {
        let mut all = [fault];
        count(&mut all, record);
        all[0].cost.expect("counted")
    }

    #[test]
    fn what_failed_is_counted_until_it_stops_and_the_percentile_until_it_is_back() {
        let ms = Some;
        let rows = [
            (0, ms(10.0)),
            (0, ms(12.0)),
            (50, ms(300.0)),
            (100, None),
            (20, ms(80.0)),
            (0, ms(14.0)),
            (0, ms(40.0)),
            (0, ms(13.0)),
            (0, ms(13.0)),
            (0, ms(13.0)),
        ];
        let mut record = record(&rows);
        record.availability = Some(Availability {
            gaps: vec![Gap {
                from_s: 2.6,
                to_s: 4.1,
                outage: true,
                unreachable: true,
            }],
            ..Availability::default()
        });
        record.drain = Some(Drain {
            failed: 1,
            ..Drain::default()
        });
        record.exchanges.unfinished = 2;
        let found = cost(fault(2.5, 3.5), &record);
        assert_eq!((found.failed_during, found.lost), (150, 173));
        let gap_s = found.longest_gap_s.expect("gaps were looked for");
        assert!((gap_s - 1.5).abs() < 1e-9, "{found:?}");
        assert_eq!(found.p99_before_us, Some(11_000.0));
        assert_eq!(found.p99_worst_us, Some(300_000.0));
        // 13.75 ms is back; a single good row before a bad one isn't.
        assert_eq!(found.p99_back_s, Some(4.5));
        assert_eq!(
            (found.good_before, found.good_worst),
            (Some(100.0), Some(0.0))
        );
        assert_eq!(found.good_share_worst, Some(0.0));
        // What failed after the window, or wasn't answered at all, is an error that did not stop.
        assert_eq!(found.errors_stop_s, None);
        record.drain = None;
        assert_eq!(cost(fault(2.5, 3.5), &record).errors_stop_s, None);
        record.exchanges.unfinished = 0;
        assert_eq!(cost(fault(2.5, 3.5), &record).errors_stop_s, Some(2.5));
    }

    #[test]
    fn a_gap_is_unknown_where_nobody_looked_and_none_where_there_was_none() {
        let mut record = record(&[(0, Some(10.0)); 4]);
        assert_eq!(cost(fault(1.0, 2.0), &record).longest_gap_s, None);
        record.availability = Some(Availability::default());
        assert_eq!(cost(fault(1.0, 2.0), &record).longest_gap_s, Some(0.0));
    }

    #[test]
    fn a_fault_that_was_missed_costs_nothing_and_takes_nothing_from_the_one_before() {
        let rows = [(0, Some(10.0)), (5, Some(50.0)), (0, Some(10.0)), (7, None)];
        let missed = Injected {
            missed: true,
            ..fault(2.0, 2.5)
        };
        let mut both = [fault(1.0, 1.5), missed];
        count(&mut both, &record(&rows));
        let [first, second] = both.map(|fault| fault.cost.map(|cost| cost.lost));
        assert_eq!((first, second), (Some(12), None));
    }

    #[test]
    fn who_never_fails_is_back_at_once_and_who_never_stops_never() {
        let calm = record(&[(0, Some(10.0)); 6]);
        let found = cost(fault(2.0, 3.0), &calm);
        assert_eq!((found.lost, found.errors_stop_s), (0, Some(0.0)));
        assert_eq!(found.p99_back_s, Some(0.0));
        let lost = record(&[(0, Some(10.0)), (9, Some(90.0)), (9, Some(90.0))]);
        let found = cost(fault(1.0, 1.5), &lost);
        assert_eq!((found.errors_stop_s, found.p99_back_s), (None, None));
        // Nothing is known from before it.
        let found = cost(fault(0.5, 1.0), &calm);
        assert_eq!((found.p99_before_us, found.p99_back_s), (None, None));
    }

    #[test]
    fn what_is_no_higher_than_before_is_no_fault_s_doing() {
        let noisy = [10.0, 15.0, 10.0, 10.0, 14.0, 10.0, 10.0, 10.0];
        let found = cost(fault(3.0, 3.5), &record(&noisy.map(|ms| (0, Some(ms)))));
        assert_eq!(found.p99_back_s, Some(0.0));
        let higher = [10.0, 15.0, 10.0, 10.0, 16.0, 10.0, 10.0, 10.0];
        let found = cost(fault(3.0, 3.5), &record(&higher.map(|ms| (0, Some(ms)))));
        assert_eq!(found.p99_back_s, Some(2.0));
    }

    #[test]
    fn of_several_faults_each_has_what_came_before_the_next() {
        let rows = [
            (0, Some(10.0)),
            (5, Some(50.0)),
            (0, Some(10.0)),
            (0, Some(10.0)),
            (7, Some(50.0)),
            (0, Some(10.0)),
        ];
        let mut both = [fault(1.0, 1.5), fault(4.0, 4.5)];
        count(&mut both, &record(&rows));
        let [first, second] = both.map(|fault| fault.cost.expect("counted"));
        assert_eq!((first.lost, second.lost), (5, 7));
        assert_eq!(
            (first.errors_stop_s, second.errors_stop_s),
            (Some(1.0), Some(1.0))
        );
        assert_eq!(
            (first.p99_back_s, second.p99_back_s),
            (Some(1.0), Some(1.0))
        );
        assert_eq!(second.p99_before_us, Some(10_000.0));
        // Faults begin a moment late, in a row that is theirs.
        let mut late = [fault(1.002, 1.5), fault(4.003, 4.5)];
        count(&mut late, &record(&rows));
        let lost = late.map(|fault| fault.cost.expect("counted").lost);
        assert_eq!(lost, [5, 7]);
    }
}
