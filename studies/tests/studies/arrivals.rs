//! Rounds draw arrivals of their own, and rows that are compared share them.

use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;

use lab::{Event, Kept};
use load::{Record, Stop};

use crate::support::{Arena, beside_others, left_behind, quick};

/// The seed of a run, and how it was loaded.
type Seed = (u64, Option<f64>);

fn seed(record: &Record) -> Seed {
    (record.plan.seed, record.plan.duration_s)
}

/// The seeds of all runs in `folder`, by round and row.
fn seeds(folder: &Path) -> BTreeMap<u32, BTreeMap<String, Vec<Seed>>> {
    let mut found: BTreeMap<u32, BTreeMap<String, Vec<Seed>>> = BTreeMap::new();
    for round in Kept::read(folder).expect("it was measured").rounds {
        let own = round.record.iter().map(seed);
        let phases = round
            .phases
            .iter()
            .filter_map(|phase| phase.record.as_ref());
        let all = own.chain(phases.map(seed)).collect();
        found.entry(round.round).or_default().insert(round.row, all);
    }
    found
}

#[test]
fn each_round_has_arrivals_of_its_own_which_all_its_rows_share() {
    let _beside = beside_others();
    let arena = Arena::new("arrivals");
    arena.tiny("one", "").tiny("two", "");
    let phases = "[[phase]]\nname = \"ramp\"\nrate = \"200\"\nfor = \"50ms\"\n\
         [[phase]]\nname = \"hold\"\nrate = \"300\"\nfor = \"90ms\"\n\n[workload]";
    let text = quick(&["one", "two"], 3).replace("[workload]", phases);
    let outcome = studies::compare(&arena.comparison(&text), &Stop::new(), &mut |_: &Event<
        '_,
    >| ());
    assert_eq!(left_behind(&arena.folder), Vec::<u32>::new());
    let found = seeds(&outcome.expect("it runs").folder);
    assert_eq!(found.len(), 3);
    let mut seen = BTreeSet::new();
    for (round, rows) in &found {
        assert_eq!(rows["one"], rows["two"], "the rows of round {round}");
        for (seed, _) in &rows["one"] {
            assert!(seen.insert(*seed), "{seed} is that of two runs: {found:?}");
        }
    }
    assert_eq!(seen.len(), 6, "two phases in three rounds: {found:?}");
}

#[test]
fn each_point_of_a_sweep_has_arrivals_of_its_own() {
    let _beside = beside_others();
    let arena = Arena::new("arrivals-sweep");
    arena.tiny("one", "").tiny("two", "");
    let sweep = "[sweep]\nrate = [\"200\", \"300\"]\n\n[workload]";
    let text = quick(&["one", "two"], 2).replace("[workload]", sweep);
    let swept = studies::sweep(&arena.comparison(&text), &Stop::new(), &mut |_: &Event<
        '_,
    >| ());
    let folder = swept.expect("it runs").expect("a sweep").folder;
    assert_eq!(left_behind(&arena.folder), Vec::<u32>::new());
    let mut seen = BTreeSet::new();
    for point in ["rate-200", "rate-300"] {
        for (round, rows) in seeds(&folder.join(point)) {
            assert_eq!(rows["one"], rows["two"], "{point}, round {round}");
            seen.insert(rows["one"][0].0);
        }
    }
    assert_eq!(seen.len(), 4, "two rounds at two rates: {seen:?}");
}
