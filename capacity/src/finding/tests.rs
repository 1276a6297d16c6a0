//! What follows from points: curves, ratios and sentences.

use super::*;
use crate::searched::{capacities, searched};

fn bounded(mut row: RowCapacity) -> RowCapacity {
    if let Some(found) = &mut row.found {
        found.ending = Ending::GeneratorLimited("sent late".to_owned());
        found.failed = None;
    }
    row
}

#[test]
fn a_ratio_reaches_from_the_ends_of_both_intervals() {
    let found = capacities(vec![searched("slow", 10_000.0), searched("fast", 30_000.0)]);
    let ratio = &found.ratios[0];
    let (low, high) = (ratio.low.expect("an end"), ratio.high.expect("an end"));
    assert!(
        2.94 < low && low < 3.0 && 3.0 < high && high < 3.06,
        "{ratio:?}"
    );
    assert!(
        ratio
            .centre
            .is_some_and(|centre| low < centre && centre < high)
    );
    let says = |what: &str| {
        found
            .conclusions
            .iter()
            .any(|said| said.says.contains(what))
    };
    assert!(
        says("The capacity of fast is 2.9"),
        "{:?}",
        found.conclusions
    );
    assert!(says("times that of slow."), "{:?}", found.conclusions);
    assert!(
        says("slow holds 9,9") || says("slow holds 10,000/s"),
        "{:?}",
        found.conclusions
    );
}

#[test]
fn equal_capacities_are_no_difference_and_lower_bounds_have_one_end() {
    let equal = capacities(vec![searched("a", 10_000.0), searched("b", 10_000.0)]);
    let said = equal.conclusions.last().expect("a sentence").words();
    assert!(said.starts_with("No difference shown"), "{said}");
    let fast = bounded(searched("fast", 30_000.0));
    let found = capacities(vec![searched("slow", 10_000.0), fast]);
    let said = found.conclusions.last().expect("a sentence").words();
    assert!(said.contains("at least 2.9"), "{said}");
    assert!(
        found.conclusions[1].says.contains("a lower bound"),
        "{:?}",
        found.conclusions
    );
    let fast = bounded(searched("fast", 30_000.0));
    let found = capacities(vec![fast, searched("slow", 10_000.0)]);
    let said = found.conclusions.last().expect("a sentence").words();
    assert!(said.contains("at most 0.3"), "{said}");
    let both = ["a", "b"].map(|name| bounded(searched(name, 10_000.0)));
    let found = capacities(both.to_vec());
    let said = found.conclusions.last().expect("a sentence").words();
    assert!(said.contains(": both are lower bounds"), "{said}");
}

#[test]
fn what_has_to_be_reached_is_reached_by_the_lower_end() {
    let found = capacities(vec![searched("a", 10_000.0), searched("b", 20_000.0)]);
    assert_eq!(found.at_least(9_900.0), Reach::Shown);
    assert_eq!(found.at_least(10_001.0), Reach::Below);
    let none = RowCapacity {
        found: None,
        ..searched("none", 10_000.0)
    };
    assert_eq!(capacities(vec![none]).at_least(1.0), Reach::Below);
}

#[test]
fn a_lower_bound_below_what_has_to_be_reached_says_nothing() {
    let bound = || bounded(searched("a", 10_000.0));
    assert_eq!(capacities(vec![bound()]).at_least(9_900.0), Reach::Shown);
    let Reach::NotKnown(why) = capacities(vec![bound()]).at_least(20_000.0) else {
        panic!("judged");
    };
    assert!(why.starts_with("the capacity of a is at least "), "{why}");
    assert!(
        why.contains("the generator was the limit (sent late). Search"),
        "{why}"
    );
    // What failed below the rate did fail, and so did whoever else is below it.
    let failed = searched("b", 10_000.0);
    assert_eq!(
        capacities(vec![bound(), failed]).at_least(20_000.0),
        Reach::Below
    );
    let mut both = bound();
    let edge = searched("a", 10_000.0).found.and_then(|found| found.failed);
    both.found.as_mut().expect("found").failed = edge;
    assert_eq!(capacities(vec![both]).at_least(20_000.0), Reach::Below);
}

#[test]
fn the_curve_has_a_point_for_each_rate_and_bends_before_the_edge() {
    let found = capacities(vec![searched("a", 10_000.0)]);
    let row = &found.rows[0];
    assert!(row.curve.is_sorted_by(|a, b| a.rate < b.rate));
    let probes: u32 = row.curve.iter().map(|point| point.probes).sum();
    assert_eq!(probes as usize, row.points.len());
    let edge = |point: &&CurvePoint| Some(point.rate) == row.capacity();
    let edge = row.curve.iter().find(edge).expect("the edge");
    assert!(edge.held >= 5 && edge.held == edge.probes, "{edge:?}");
    let knee = row.knee.expect("a bend");
    assert!((5_000.0..=10_000.0).contains(&knee.rate), "{knee:?}");
    assert_eq!(row.no_knee, None);
}

#[test]
fn what_answers_as_fast_up_to_its_edge_has_no_knee_and_that_is_said() {
    // A route that refuses what is beyond its limit: fast answers at every rate, in a noise that
    // is largest at low rates, and failures beyond the edge.
    let mut row = searched("limited", 20_000.0);
    for point in &mut row.points {
        let noise =
            f64::from(point.number * 7 % 5) * if point.rate < 3000.0 { 400.0 } else { 40.0 };
        point.p99_us = Some(300.0 + noise);
    }
    let found = capacities(vec![row]);
    let row = &found.rows[0];
    assert_eq!(row.knee, None);
    assert_eq!(row.no_knee.as_deref(), Some("none below the edge"));
    let none = RowCapacity {
        found: None,
        ..searched("none", 10_000.0)
    };
    let found = capacities(vec![none]);
    assert_eq!(found.rows[0].no_knee.as_deref(), Some("nothing held"));
}

#[test]
fn every_ending_is_a_sentence_that_says_what_it_is_worth() {
    let edge = Some(Edge {
        rate: 1000.0,
        agreeing: 5,
        probes: 5,
        confirmed: true,
    });
    let why = || "sent late".to_owned();
    let table = [
        (
            edge,
            edge,
            Ending::Between,
            "holds 1,000/s and fails at 1,000/s. Held in 5 of 5 confirming probes. Failed in 5",
        ),
        (
            edge,
            None,
            Ending::GeneratorLimited(why()),
            "the generator was the limit above that. Held in 5 of 5 confirming probes. The \
             generator was the limit (sent late).",
        ),
        (
            edge,
            None,
            Ending::HighestHeld,
            "the highest rate the search may try",
        ),
        (
            None,
            edge,
            Ending::NothingHeld,
            "held no rate, down to 1,000/s",
        ),
        (None, None, Ending::NotKnown(why()), "is unknown"),
        (edge, edge, Ending::Stopped, "when the search ended"),
        (edge, None, Ending::Stopped, "held 1,000/s"),
        (None, edge, Ending::OutOfProbes, "failed at 1,000/s"),
        (
            None,
            edge,
            Ending::WrongAnswers("every answer was a 404".to_owned()),
            "at 1,000/s as at 16,000/s, every answer was a 404. Lower rates don't help",
        ),
        (
            None,
            edge,
            Ending::WrongAnswers("every answer was a 503".to_owned()),
            "begin lower (--from).",
        ),
    ];
    for (held, failed, ending, part) in table {
        let mut row = searched("a", 10_000.0);
        let found = row.found.as_mut().expect("found");
        (found.held, found.failed, found.ending) = (held, failed, ending.clone());
        let said = row.concluded().expect("a sentence").words();
        assert!(
            said.contains(part) && said.ends_with('.'),
            "{ending:?}: {said}"
        );
    }
}

#[test]
fn connections_that_were_the_limit_stand_in_the_headline_and_make_a_bound() {
    let mut row = searched("http://localhost:1/", 10_000.0);
    row.description = None;
    let rate = row
        .found
        .as_ref()
        .and_then(|found| found.failed)
        .expect("an edge")
        .rate;
    let limited = Limited {
        connections: 10,
        rate,
        more: Some(20),
        achieved: 9_998.0,
        achieved_with_more: Some(19_990.0),
        given: true,
    };
    row.limited_by_connections = Some(limited);
    let mut found = capacities(vec![row.clone()]);
    let said = found.conclusions[0].words();
    assert!(
        found.conclusions[0]
            .says
            .contains("a lower bound, limited by -c 10."),
        "{said}"
    );
    assert!(
        said.contains("over 20 connections 19,990/s were answered instead of"),
        "{said}"
    );
    assert!(
        found.rows[0]
            .interval()
            .is_some_and(|(_, high)| high.is_none())
    );
    assert!(found.rows[0].in_words().starts_with("at least"));
    // Each probe over more was disturbed: a bound all the same, and whose is said to be open.
    row.limited_by_connections = Some(Limited {
        achieved_with_more: None,
        ..limited
    });
    let said = capacities(vec![row.clone()]).conclusions[0].words();
    for part in [
        "a lower bound, because -c 10 may have limited it.",
        "disturbed every probe over 20 connections",
        "with -c 20.",
    ] {
        assert!(said.contains(part), "{said}");
    }
    // They could not be tried: why stands in place of that.
    let why = "couldn't be loaded at 10,010/s over 20 connections: too many open files";
    row.no_more_connections = Some(why.to_owned());
    let said = capacities(vec![row.clone()]).conclusions[0].words();
    assert!(said.contains("It couldn't be loaded at"), "{said}");
    assert!(
        said.contains("too many open files, so we don't know whether 20"),
        "{said}"
    );
    assert!(!said.contains("disturbed"), "{said}");
    row.no_more_connections = None;
    row.limited_by_connections = Some(limited);
    // Of a comparison's row it is the file that says how many.
    row.description = Some("a row".to_owned());
    found = capacities(vec![row]);
    assert!(
        found.conclusions[0]
            .says
            .contains("limited by its 10 connections.")
    );
}

#[test]
fn a_result_that_its_own_points_contradict_says_so_first() {
    let mut row = searched("a", 10_000.0);
    let found = row.found.as_mut().expect("found");
    found.ending = Ending::Contradicted;
    let higher = row
        .points
        .iter()
        .filter(|point| point.rate == 16_000.0)
        .count();
    found.out_of_order = vec![16_000.0];
    let says = capacities(vec![row.clone()]).conclusions[0].says.clone();
    let part = format!("but held 16,000/s in 0 of {higher} probes.");
    assert!(says.contains("its probes contradict each other"), "{says}");
    assert!(
        says.contains("a lower bound") && says.contains(&part),
        "{says}"
    );
    assert!(!row.is_exact());
    row.found.as_mut().expect("found").held = None;
    let says = capacities(vec![row]).conclusions[0].says.clone();
    assert!(says.contains("is unknown"), "{says}");
}

#[test]
fn what_the_generator_remarked_where_a_rate_failed_is_said() {
    let found = capacities(vec![searched("a", 10_000.0)]);
    let edge = found.rows[0].found.as_ref().and_then(|found| found.failed);
    let rate = per_second(edge.expect("an edge").rate);
    let wanted = format!("a, at {rate}: every connection was busy.");
    assert_eq!(found.reservations, [wanted]);
}

#[test]
fn what_was_written_is_read_again_and_a_newer_schema_is_refused() {
    let found = capacities(vec![searched("a", 10_000.0)]);
    let again = Capacities::from_json(&found.json()).expect("what was written");
    assert_eq!(again.json(), found.json());
    let newer = found
        .json()
        .replace("\"schema_version\": 1", "\"schema_version\": 99");
    let refused = Capacities::from_json(&newer).expect_err("newer");
    assert!(refused.contains("99"), "{refused}");
}
