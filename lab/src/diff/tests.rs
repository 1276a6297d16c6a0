//! Differences of measurements that are written, as a comparison writes them, into a folder each.

use std::fs;
use std::path::{Path, PathBuf};

use super::*;
use crate::manifest::{Manifest, Outcome, Role};
use crate::report::tests::{kept, record, rounds, row, setup};
use crate::round::Round;
use crate::store::Store;

/// A folder that is gone after the test.
struct Place(PathBuf);

impl Place {
    fn new(name: &str) -> Place {
        let name = format!("ringside-diff-{}-{name}", std::process::id());
        Place(std::env::temp_dir().join(name))
    }

    /// Keeps a comparison of one server that serves `rate` requests a second.
    fn comparison(&self, name: &str, rate: f64) -> PathBuf {
        self.changed(name, rate, |_, _| ())
    }

    fn changed(
        &self,
        name: &str,
        rate: f64,
        change: impl Fn(&mut Manifest, &mut Vec<Round>),
    ) -> PathBuf {
        let rows = vec![row("ours", Outcome::Measured, rounds(rate, 0.99))];
        let (mut manifest, mut rounds) = kept(setup(), Vec::new(), rows);
        change(&mut manifest, &mut rounds);
        let folder = self.0.join(name);
        let mut store = Store::create(Some(&folder), name, 0).expect("writable");
        store.describe(&manifest);
        rounds.iter().for_each(|round| store.keep(round));
        assert!(store.unwritten().is_empty());
        folder
    }
}

impl Drop for Place {
    fn drop(&mut self) {
        let _ = fs::remove_dir_all(&self.0);
    }
}

fn refused(before: &Path, after: &Path) -> String {
    diff(before, after, None).expect_err("they cannot be compared")
}

#[test]
fn a_server_that_became_slower_is_a_regression_and_one_that_became_faster_is_none() {
    let place = Place::new("slower");
    let (fast, slow) = (
        place.comparison("fast", 300e3),
        place.comparison("slow", 270e3),
    );
    let worse = diff(&fast, &slow, None).expect("the same workload");
    assert!(worse.has_regression());
    let words = worse.words();
    assert!(
        words.starts_with("REGRESSION ours: ours before serves 1."),
        "{words}"
    );
    assert!(words.contains("were not measured together"), "{words}");
    let better = diff(&slow, &fast, None).expect("the same workload");
    assert!(!better.has_regression());
    assert!(
        better.words().starts_with("ours: ours now serves 1."),
        "{}",
        better.words()
    );
}

#[test]
fn the_same_twice_and_differences_that_do_not_matter_are_no_regression() {
    let place = Place::new("same");
    let (one, two) = (
        place.comparison("one", 300e3),
        place.comparison("two", 299e3),
    );
    let slow = place.comparison("slow", 270e3);
    assert!(!diff(&one, &two, None).expect("comparable").has_regression());
    let lenient = diff(&one, &slow, Some(0.2)).expect("comparable");
    assert!(!lenient.has_regression());
    assert_eq!(lenient.findings[0].judgement.verdict.kind, Kind::TooSmall);
}

#[test]
fn what_one_of_them_differs_from_itself_is_no_regression() {
    let place = Place::new("noise");
    let fast = place.comparison("fast", 300e3);
    let slow = place.changed("slow", 270e3, |manifest, rounds_of| {
        let (mut again, rounds) = row("ours-again", Outcome::Measured, rounds(310e3, 0.99));
        again.role = Role::Again;
        manifest.rows.push(again);
        rounds_of.extend(rounds);
    });
    let noisy = diff(&fast, &slow, None).expect("comparable");
    assert!(!noisy.has_regression(), "{}", noisy.words());
    assert_eq!(
        noisy.findings.len(),
        1,
        "the baseline once more is no row of its own"
    );
}

#[test]
fn at_a_fixed_rate_what_costs_more_is_a_regression() {
    let place = Place::new("rate");
    let at_a_rate = |name, cost: f64| {
        place.changed(name, 1000.0, |manifest, rounds| {
            manifest.setup.rate = Some(1000.0);
            manifest.setup.metric = Metric::ResponseTimeP99;
            for round in rounds {
                let sample = &mut round.sample;
                sample.server_cpu_us_per_exchange =
                    sample.server_cpu_us_per_exchange.map(|us| us * cost);
            }
        })
    };
    let (cheap, dear) = (at_a_rate("cheap", 1.0), at_a_rate("dear", 1.3));
    let found = diff(&cheap, &dear, None).expect("comparable");
    let regressions: Vec<bool> = found.findings.iter().map(|one| one.regression).collect();
    assert_eq!(regressions, [false, true], "{}", found.words());
    assert!(
        !diff(&dear, &cheap, None)
            .expect("comparable")
            .has_regression()
    );
}

#[test]
fn another_workload_another_host_and_a_newer_schema_are_refused_with_the_reason() {
    let place = Place::new("refused");
    let base = place.comparison("base", 300e3);
    let load = place.changed("load", 300e3, |manifest, _| {
        manifest.setup.load = "64 connections, pipeline 1".into();
    });
    let why = refused(&base, &load);
    assert!(
        why.ends_with(
            "in the load: 200 connections, pipeline 1 before, 64 connections, pipeline 1 now"
        ),
        "{why}"
    );
    let rate = place.changed("rate", 300e3, |manifest, _| {
        manifest.setup.rate = Some(5000.0)
    });
    let why = refused(&base, &rate);
    assert!(
        why.ends_with("they differ in the rate: none before, 5000/s now"),
        "{why}"
    );
    let host = place.changed("host", 300e3, |manifest, _| {
        manifest.host.cpus_online = Some(64)
    });
    let why = refused(&base, &host);
    assert!(
        why.contains("another host: its number of processors is 64 and was 2"),
        "{why}"
    );
    let newer = place.changed("newer", 300e3, |manifest, _| manifest.schema_version = 99);
    let why = refused(&base, &newer);
    assert!(
        why.contains("newer/comparison.json") && why.contains("99"),
        "{why}"
    );
    let asked = place.changed("asked", 300e3, |manifest, _| {
        manifest.rows[0].asked = Some("GET /json".into());
    });
    let why = refused(&base, &asked);
    assert!(
        why.contains("ours is not asked the same: unknown before, GET /json now"),
        "{why}"
    );
    let other = place.changed("other", 300e3, |manifest, rounds| {
        manifest.rows[0].name = "theirs".into();
        rounds[0].row = "theirs".into();
    });
    assert!(refused(&base, &other).ends_with("no row of one has the name of one of the other"));
    assert!(refused(&base, &place.0.join("nowhere")).contains("nowhere: "));
}

#[test]
fn another_kernel_and_rows_of_one_side_only_are_said() {
    let place = Place::new("kernel");
    let base = place.comparison("base", 300e3);
    let newer = place.changed("newer", 300e3, |manifest, rounds_of| {
        manifest.host.kernel = Some("Linux 7.0.0".into());
        let (facts, rounds) = row("new", Outcome::Measured, rounds(1e3, 0.5));
        manifest.rows.push(facts);
        rounds_of.extend(rounds);
    });
    let found = diff(&base, &newer, None).expect("comparable");
    assert_eq!(found.findings.len(), 1);
    let words = found.words();
    assert!(
        words.contains("the kernel was Linux 6.18.0 and is Linux 7.0.0"),
        "{words}"
    );
    assert!(words.contains("new was not measured before"), "{words}");
    let back = diff(&newer, &base, None).expect("comparable");
    assert!(
        back.words()
            .contains("new was measured before, and is not now")
    );
}

#[test]
fn two_records_of_runs_and_two_rounds_are_compared_and_prove_nothing() {
    let place = Place::new("records");
    let folder = place.comparison("base", 300e3);
    let round = folder.join("rounds/ours/001.json");
    let (fast, slow) = (rounds(300e3, 0.99), rounds(200e3, 0.99));
    let write = |name: &str, text: String| {
        let file = place.0.join(name);
        fs::write(&file, text).expect("writable");
        file
    };
    let to_json = |record: load::Record| serde_json::to_string(&record).expect("serialises");
    let (one, two) = (
        write("one.json", to_json(record(&fast[0]))),
        write("two.json", to_json(record(&slow[0]))),
    );
    for (before, after) in [(&one, &two), (&round, &round)] {
        let found = diff(before, after, None).expect("comparable");
        assert!(!found.has_regression());
        let words = found.words();
        assert!(
            words.contains("nothing is proven: the requests/s is 1.000 ×"),
            "{words}"
        );
    }
    let why = refused(&folder, &one);
    assert!(
        why.ends_with("the one is a comparison, the other a record of a run"),
        "{why}"
    );
    let mut other = record(&fast[0]);
    other.plan.connections += 1;
    let why = refused(&one, &write("other.json", to_json(other)));
    assert!(why.contains("they differ in the connections: "), "{why}");
    let why = refused(&one, &write("garbage.json", "[]".into()));
    assert!(why.contains("neither a round nor a record"), "{why}");
}
