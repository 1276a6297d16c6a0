//! What holds for every page, and for one that is looked at for a whole day.

use std::collections::VecDeque;
use std::sync::Arc;

use measure::counters::ErrorKind;
use measure::histogram::Histogram;
use measure::hold as held;
use measure::interval::{Interval, Phase};
use measure::tally::{Counted, StepTally};
use measure::time::Time;

use super::board::{GONE_AFTER, Stage, State, VIEWERS_MAX};
use super::load::{Load, Loaded};
use super::told::Told;
use super::updates::{Seen, update};
use super::view::{Progress, View};
use super::{End, Title};
use crate::POINTS_MAX;
use crate::history::CELLS_MAX;

#[test]
fn who_looks_on_is_waited_for_until_it_knows_the_end_or_is_gone() {
    let (then, later) = (Time(1), Time(1) + GONE_AFTER);
    let mut state = State::new(Told::new("comparison", Vec::new()));
    assert!(state.all_know_the_end(then));
    state.asked(1, then);
    state.asked(2, then);
    assert!(!state.all_know_the_end(then));
    // Neither asks any more.
    assert!(state.all_know_the_end(later));
    state.stage = Stage::Over;
    state.asked(1, then);
    assert!(!state.all_know_the_end(then));
    state.left(2);
    assert!(state.all_know_the_end(then));
    (0..2 * VIEWERS_MAX as u64).for_each(|viewer| state.asked(viewer, then));
    assert_eq!(state.viewers(), VIEWERS_MAX);
}

#[test]
fn the_end_says_what_was_found_and_what_to_know_and_escapes_what_comes_from_outside() {
    let mut state = State::new(Told::new("comparison", Vec::new()));
    let said = |state: &State<Told>| -> serde_json::Value {
        let text = update(state, &Progress::default(), &Seen::default());
        serde_json::from_str(&text).unwrap()
    };
    assert_eq!(said(&state)["parts"]["status"], "Starting");
    state.stage = Stage::Ending;
    assert_eq!(said(&state)["parts"]["status"], "Ending the comparison");
    state.stage = Stage::Over;
    state.end = Some(End {
        says: "The comparison is over".to_owned(),
        found: vec!["<b>ours</b> is ahead".to_owned()],
        notes: vec!["mind the noise".to_owned()],
    });
    let last = said(&state);
    assert_eq!(last["parts"]["status"], "The comparison is over");
    let notes = last["parts"]["notes"].as_str().unwrap();
    assert!(
        notes.contains("&lt;b&gt;ours&lt;/b&gt; is ahead"),
        "{notes}"
    );
    assert!(notes.contains("mind the noise"), "{notes}");
}

/// Seconds of a day.
const DAY_S: u64 = 24 * 3600;
const STEPS: u64 = 4;
/// All that a browser which comes late is sent.
const ANSWER_BYTES_MAX: usize = 1 << 20;

/// Times that move by the hour, as those of a server that is busier by day.
fn times(histogram: &mut Histogram, second: u64) {
    for n in 0..4 {
        histogram.record(1_000_000 + second / 3600 * 100_000 + (second * 7 + n * 131) % 200_000);
    }
}

fn run_of(counted: &mut Counted, second: u64) {
    counted.completed = STEPS;
    times(&mut counted.response, second);
    counted.lateness.record(1_000 + second % 1_000);
    counted
        .steps
        .resize_with(STEPS as usize, StepTally::default);
    for step in &mut counted.steps {
        step.completed = 1;
        step.response.record(1_000_000 + second % 1_000);
    }
}

fn hold_of(counted: &mut held::Counted, second: u64) {
    counted.counts.answered = 4;
    counted.sent = 4;
    times(&mut counted.heartbeat, second);
    counted.lateness.record(1_000 + second % 1_000);
    if second.is_multiple_of(600) {
        counted.counts.losses.add(ErrorKind::Reset);
        counted.counts.reconnects = 1;
        counted.re_establish.record(30_000_000);
    }
}

/// A day of a load; how often it brought what `sum` counts.
fn day<C: Load>(of: impl Fn(&mut C, u64), sum: impl Fn(&C) -> u64) -> u64 {
    let title = Title {
        steps: (0..STEPS).map(|step| format!("step {step}")).collect(),
        asked: 1_000,
        ..Title::default()
    };
    let mut state = State::new(Loaded::<C>::new(title));
    let mut longest = 0;
    // Memory for what is counted is taken twice: the last interval is kept.
    let mut lent: VecDeque<Arc<Interval<C>>> = VecDeque::new();
    for second in 0..DAY_S {
        let given_back = (lent.len() > 1).then(|| lent.pop_front()).flatten();
        let given_back = given_back.and_then(Arc::into_inner);
        let mut counted = given_back.map_or_else(C::default, |interval| interval.counted);
        counted.clear();
        of(&mut counted, second);
        let interval = Interval {
            seq: second,
            joined: 1,
            phase: Phase::Measure,
            from_ns: second * 1_000_000_000,
            until_ns: (second + 1) * 1_000_000_000,
            offered: None,
            connected: 1_000,
            counted,
        };
        let interval = Arc::new(interval);
        lent.push_back(Arc::clone(&interval));
        state.view.add(interval, Time(second));
        let rows = state.view.rows();
        assert!(rows.len() <= POINTS_MAX, "{} rows", rows.len());
        if second.is_multiple_of(1800) {
            assert!(state.view.cells() <= CELLS_MAX);
            longest = longest.max(update(&state, &Progress::default(), &Seen::default()).len());
        }
    }
    assert!(longest <= ANSWER_BYTES_MAX, "{longest} bytes");
    // Seconds were joined: a day in an hour's points, of 32 s each.
    let rows = state.view.rows();
    assert_eq!(rows.each_s, 32);
    assert_eq!(rows.len() as u64, DAY_S.div_ceil(rows.each_s));
    sum(&state.view.sum)
}

#[test]
fn a_day_of_a_run_is_kept_whole_within_the_bounds_of_an_hour() {
    let completed = day(run_of, |sum| sum.response.count());
    assert_eq!(completed, STEPS * DAY_S);
}

#[test]
fn a_day_of_a_hold_is_kept_whole_within_the_bounds_of_an_hour() {
    let lost = day(hold_of, |sum| sum.counts.lost());
    assert_eq!(lost, DAY_S / 600);
}
