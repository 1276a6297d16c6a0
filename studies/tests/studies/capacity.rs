//! The capacities of a comparison's rows, with real processes. How near they come to the truth is
//! tested by simulation; here the tiny server shares the processors with everything else.

use std::fs;

use capacity::search::{Ending, Kind};
use capacity::{Capacities, Options, Outcome, Whose, capacity};
use lab::round::Round;
use lab::{CannotBegin, Event};
use load::check::Threshold;
use load::{Signal, Stop};

use crate::support::{Arena, arena_of, beside_others, left_behind, quick};

fn slo(text: &str) -> Vec<Threshold> {
    vec![text.parse().expect("a condition")]
}

/// A search of these rows up to 400 a second, which takes a fraction of a second for each probe.
fn options(arena: &Arena, subjects: &[&str], section: &str) -> Options {
    let compare = arena.comparison(&(quick(subjects, 1) + section));
    Options {
        from: Some(200.0),
        to: Some(400.0),
        window: Some(std::time::Duration::from_millis(300)),
        repeats: Some(1),
        confirmations: Some(2),
        out: compare.out,
        cache: compare.cache,
        ..Options::new(Whose::File(compare.file), Vec::new(), compare.ringside)
    }
}

fn search(options: &Options) -> Result<Outcome, CannotBegin> {
    let outcome = capacity(options, &Stop::new(), &mut |event: &Event<'_>| {
        println!("{event}")
    });
    assert_eq!(
        left_behind(arena_of(&options.cache)),
        Vec::<u32>::new(),
        "processes were left behind"
    );
    outcome
}

#[test]
fn every_row_is_searched_and_edges_are_confirmed_on_fresh_starts() {
    let _beside = beside_others();
    let arena = Arena::new("capacity");
    arena.tiny("one", "").tiny("two", "");
    let section = "\n[capacity]\nslo = [\"errors<5%\"]\n";
    let outcome = search(&options(&arena, &["one", "two"], section)).expect("it runs");
    assert_eq!(
        outcome.end().exit_code(),
        0,
        "{:?}",
        outcome.found.reservations
    );
    let text = fs::read_to_string(outcome.folder.join("capacity.json")).expect("the model");
    let found = Capacities::from_json(&text).expect("a model that can be read");
    assert_eq!(found.slo, ["errors<5%"]);
    assert_eq!(found.ratios.len(), 1);
    for row in &found.rows {
        assert!(row.found.is_some(), "{row:?}");
        assert!(row.points.iter().all(|point| point.server_busy.is_some()));
        let mut starts: Vec<u32> = Vec::new();
        let confirming = |kind| kind == Kind::Confirm;
        for point in row.points.iter().filter(|point| confirming(point.kind)) {
            let file = outcome.folder.join(Round::file(&row.name, point.number));
            let text = fs::read_to_string(file).expect("a record");
            starts.push(Round::from_json(&text).expect("a round").start);
        }
        assert!(starts.len() >= 2, "{starts:?}");
        assert!(
            starts.windows(2).all(|pair| pair[0] < pair[1]),
            "{starts:?}"
        );
    }
    let again = capacity(
        &options(&arena, &["one", "two"], section),
        &Stop::new(),
        &mut |_: &Event<'_>| (),
    );
    let refused = again.map(|_| ()).expect_err("the folder is taken");
    assert!(refused.to_string().contains("-o"), "{refused}");
}

#[test]
fn a_row_that_dies_is_given_up_and_the_others_are_searched() {
    let _beside = beside_others();
    let arena = Arena::new("capacity-dies");
    arena.tiny("good", "").tiny("mortal", "dies");
    let options = Options {
        slo: slo("errors<5%"),
        ..options(&arena, &["good", "mortal"], "")
    };
    let outcome = search(&options).expect("it runs");
    assert_eq!(
        outcome.end().exit_code(),
        3,
        "{:?}",
        outcome.found.conclusions
    );
    let rows = &outcome.found.rows;
    assert!(rows[0].failed.is_none() && rows[0].found.is_some());
    let failed = rows[1].failed.as_deref().expect("it died");
    assert!(failed.contains("died"), "{failed}");
    assert!(
        outcome
            .found
            .reservations
            .iter()
            .any(|said| said.starts_with("mortal: "))
    );
}

#[test]
fn a_stop_leaves_what_was_found_until_then() {
    let _beside = beside_others();
    let arena = Arena::new("capacity-stop");
    arena.tiny("one", "");
    let options = Options {
        slo: slo("errors<5%"),
        ..options(&arena, &["one"], "")
    };
    let stop = Stop::new();
    let outcome = capacity(&options, &stop, &mut |event: &Event<'_>| {
        if let Event::Probed { .. } = event {
            stop.request(Signal::Interrupt);
        }
    });
    let outcome = outcome.expect("it runs");
    assert_eq!(
        left_behind(arena_of(&options.cache)),
        Vec::<u32>::new(),
        "processes were left behind"
    );
    assert_eq!(outcome.end().exit_code(), 130);
    let row = &outcome.found.rows[0];
    assert_eq!(row.points.len(), 1);
    let found = row.found.as_ref().expect("what was known");
    assert_eq!(found.ending, Ending::Stopped);
    assert!(outcome.found.ended_early.is_some());
}

#[test]
fn what_cannot_be_searched_is_refused_with_a_way_out() {
    let arena = Arena::new("capacity-refused");
    arena.tiny("one", "");
    let refused = |options: &Options| match capacity(options, &Stop::new(), &mut |_: &Event<'_>| ())
    {
        Err(error) => error.to_string(),
        Ok(_) => panic!("it should have been refused"),
    };
    let none = options(&arena, &["one"], "");
    assert!(refused(&none).contains("--slo"));
    let bad = options(&arena, &["one"], "\n[capacity]\nslo = [\"p99\"]\n");
    assert!(refused(&bad).contains("test.toml:"), "{}", refused(&bad));
    // Of a thousand exchanges one may fail, and the longest probe has a third of that.
    let few = options(&arena, &["one"], "\n[capacity]\nslo = [\"errors<0.1%\"]\n");
    assert!(refused(&few).contains("a longer --duration"));
    let sweep = "\n[capacity]\nslo = [\"p99<1s\"]\n[sweep]\nconnections = [1, 2]\n";
    assert!(refused(&options(&arena, &["one"], sweep)).contains("[sweep]"));
}
