//! Differences of measurements that are written, as a comparison writes them, into a folder each.

use std::fs;
use std::path::{Path, PathBuf};

use lab::manifest::{Cold, Manifest, Outcome, Role, RowFacts};
use lab::round::{Round, Watched};
use lab::sample::Sample;
use lab::store::Store;
use netns::Network;
use netns::link::Link;
use supervisor::binaries::Binary;
use tempfile::TempDir;

use super::*;
use crate::made_up::{kept, mixed, record, rounds, row, setup};

/// As nobody ends it.
fn diff(before: &Path, after: &Path, smallest: Option<f64>) -> Result<Diff, String> {
    super::diff(before, after, smallest, &Stop::new())
}

/// A folder that is gone after the test.
struct Place(TempDir);

impl Place {
    fn new() -> Place {
        Place(tempfile::tempdir().expect("a folder"))
    }

    /// Keeps a comparison of a server that serves `rate` requests a second, another program each
    /// time, beside a baseline that is the same each time and was measured twice.
    fn comparison(&self, name: &str, rate: f64) -> PathBuf {
        self.changed(name, rate, |_, _| ())
    }

    fn changed(
        &self,
        name: &str,
        rate: f64,
        change: impl Fn(&mut Manifest, &mut Vec<Round>),
    ) -> PathBuf {
        let (ours, rounds_of) = row("ours", Outcome::Measured, rounds(rate, 0.99));
        let rows = vec![
            known((ours, rounds_of), name),
            known(row("base", Outcome::Measured, rounds(100e3, 0.99)), "base"),
            known(
                row("base-again", Outcome::Measured, rounds(100e3, 0.99)),
                "base",
            ),
        ];
        let (mut manifest, mut rounds) = kept(setup(), Vec::new(), rows);
        manifest.setup.baseline = "base".into();
        manifest.rows[2].role = Role::Again;
        manifest.rows[2].subject = "base".into();
        change(&mut manifest, &mut rounds);
        let folder = self.0.path().join(name);
        let mut store = Store::create(Some(&folder), name, 0).expect("writable");
        store.describe(&manifest);
        rounds.iter().for_each(|round| store.keep(round));
        assert!(store.unwritten().is_empty());
        folder
    }
}

/// A program with this hash.
pub(super) fn binary(hash: &str) -> Binary {
    Binary {
        path: "server".into(),
        bytes: 1,
        sha256: hash.into(),
    }
}

/// A round without the generator's record.
pub(super) fn round(name: &str, sample: Sample) -> Round {
    Round {
        schema_version: lab::round::SCHEMA_VERSION,
        row: name.into(),
        round: sample.round,
        start: 1,
        began_unix_s: 0,
        record: None,
        sample,
        watched: Watched::default(),
        faults: Vec::new(),
        phases: Vec::new(),
        generated: None,
    }
}

fn known((mut facts, rounds): (RowFacts, Vec<Round>), hash: &str) -> (RowFacts, Vec<Round>) {
    facts.binaries = vec![binary(hash)];
    facts.source = Some("the same".into());
    (facts, rounds)
}

/// Multiplies what some rows serve.
fn scale(rounds: &mut [Round], by: f64, is_one: impl Fn(&str) -> bool) {
    for round in rounds.iter_mut().filter(|round| is_one(&round.row)) {
        round.sample.requests_per_second *= by;
    }
}

fn refused(before: &Path, after: &Path) -> String {
    diff(before, after, None).expect_err("they cannot be compared")
}

#[test]
fn a_server_that_became_slower_is_a_regression_and_one_that_became_faster_is_none() {
    let place = Place::new();
    let (fast, slow) = (
        place.comparison("fast", 300e3),
        place.comparison("slow", 270e3),
    );
    let worse = diff(&fast, &slow, None).expect("the same workload");
    assert!(worse.has_regression() && !worse.is_open());
    let words = worse.words();
    assert!(
        words.starts_with(
            "REGRESSION ours: ours before serves 1.11 × the requests of ours now (5 rounds, 1 \
             start each, noise floor of both sessions 0 %), beside base and base-again\nbase: \
             unchanged: the same program in both sessions"
        ),
        "{words}"
    );
    let better = diff(&slow, &fast, None).expect("the same workload");
    assert!(!better.has_regression() && !better.is_open());
    assert!(
        better.words().starts_with("ours: ours now serves 1.11"),
        "{}",
        better.words()
    );
}

#[test]
fn the_same_twice_and_differences_that_do_not_matter_are_no_regression() {
    let place = Place::new();
    let (one, two) = (
        place.comparison("one", 300e3),
        place.comparison("two", 299e3),
    );
    let slow = place.comparison("slow", 270e3);
    assert!(!diff(&one, &two, None).expect("comparable").has_regression());
    let lenient = diff(&one, &slow, Some(0.2)).expect("comparable");
    assert!(!lenient.has_regression() && !lenient.is_open());
    assert_eq!(lenient.findings[0].judgement.verdict.kind, Kind::TooSmall);
}

#[test]
fn what_the_host_did_to_all_alike_is_no_regression_and_hides_none() {
    let place = Place::new();
    let before = place.comparison("before", 300e3);
    for drift in [1.0 / 1.2, 1.2] {
        let drifted = |name: &str, own: f64| {
            place.changed(name, 300e3 * own, |_, rounds| {
                scale(rounds, drift, |_| true)
            })
        };
        let same = drifted(&format!("same-{drift:.1}"), 1.0);
        let found = diff(&before, &same, None).expect("comparable");
        assert!(!found.has_regression() && !found.is_open());
        let words = found.words();
        assert!(
            words.contains("no difference") && words.contains("from the host"),
            "{words}"
        );
        let slower = drifted(&format!("slower-{drift:.1}"), 0.8);
        let found = diff(&before, &slower, None).expect("comparable");
        assert!(found.has_regression(), "{}", found.words());
    }
}

#[test]
fn without_anything_that_is_the_same_in_both_it_cannot_tell_and_says_what_would() {
    let place = Place::new();
    let before = place.comparison("before", 300e3);
    let all = |what: &dyn Fn(&mut RowFacts)| {
        let name = format!(
            "after-{}",
            fs::read_dir(place.0.path()).expect("there").count()
        );
        place.changed(&name, 200e3, |manifest, _| {
            manifest.rows.iter_mut().for_each(what);
        })
    };
    for (after, why) in [
        (
            all(&|row| row.binaries = vec![binary("new")]),
            "its executable changed",
        ),
        (
            all(&|row| row.source = Some("new".into())),
            "its source changed",
        ),
        (all(&|row| row.source = None), "its source wasn't recorded"),
        (all(&|row| row.version = None), "its version changed"),
        (all(&|row| row.command = "sh".into()), "its command changed"),
    ] {
        let found = diff(&before, &after, None).expect("comparable");
        assert!(!found.has_regression() && found.is_open());
        let words = found.words();
        assert!(
            words.starts_with("ours: can't tell: its requests/s is 0.6"),
            "{words}"
        );
        assert!(
            words.contains(&format!(
                "base can't serve as a reference between the two sessions: {why}"
            )),
            "{words}"
        );
        assert!(words.contains("run ringside compare FILE"), "{words}");
    }
    // Our own server does what its program and its command say.
    let ceiling = |name: &str, rate: f64| {
        place.changed(name, rate, |manifest, rounds_of| {
            manifest.rows[1].binaries = vec![binary(name)];
            manifest.rows[2].binaries = vec![binary(name)];
            let own = row("ceiling", Outcome::Measured, rounds(500e3, 0.9));
            let (mut own, rounds) = known(own, "ringside");
            (own.role, own.own_server, own.source) = (Role::Ceiling, true, None);
            manifest.rows.push(own);
            rounds_of.extend(rounds.into_iter().take(3));
        })
    };
    let (fast, slow) = (ceiling("c1", 300e3), ceiling("c2", 200e3));
    let found = diff(&fast, &slow, None).expect("comparable");
    assert!(found.has_regression(), "{}", found.words());
    assert!(
        found.words().contains("beside ceiling"),
        "{}",
        found.words()
    );
}

#[test]
fn a_session_that_does_not_know_its_noise_cannot_tell() {
    let place = Place::new();
    let known = place.comparison("known", 300e3);
    let unknown = place.changed("unknown", 200e3, |manifest, rounds| {
        manifest.rows.truncate(2);
        rounds.retain(|round| round.row != "base-again");
    });
    for (before, after, which) in [(&known, &unknown, "second"), (&unknown, &known, "first")] {
        let found = diff(before, after, None).expect("comparable");
        assert!(!found.has_regression() && found.is_open());
        let why = format!("the {which} session has no noise floor");
        assert!(found.words().contains(&why), "{}", found.words());
    }
}

#[test]
fn what_either_of_them_differs_from_itself_is_no_regression() {
    let place = Place::new();
    let quiet = |name, rate| place.comparison(name, rate);
    let noisy = |name, rate| {
        place.changed(name, rate, |_, rounds| {
            scale(rounds, 1.15, |row| row == "base-again");
        })
    };
    let (fast, slow) = (quiet("fast", 300e3), quiet("slow", 285e3));
    assert!(
        diff(&fast, &slow, None)
            .expect("comparable")
            .has_regression()
    );
    let (fast_noisy, slow_noisy) = (noisy("fast-noisy", 300e3), noisy("slow-noisy", 285e3));
    for (before, after) in [
        (&fast, &slow_noisy),
        (&fast_noisy, &slow),
        (&fast_noisy, &slow_noisy),
    ] {
        let found = diff(before, after, None).expect("comparable");
        assert!(!found.has_regression(), "{}", found.words());
        assert_eq!(
            found.findings.len(),
            2,
            "the baseline once more is no row of its own"
        );
    }
}

#[test]
fn an_interval_that_reaches_into_what_does_not_matter_is_no_regression() {
    let place = Place::new();
    // Ratios before to now of 1.01 to 1.23 in the rounds, 1.11 in the middle.
    let spread = [1.0, 0.94, 1.07, 0.97, 1.03];
    let before = place.comparison("before", 300e3);
    let after = place.changed("after", 300e3 / 1.11, |_, rounds| {
        for round in rounds.iter_mut().filter(|round| round.row == "ours") {
            round.sample.requests_per_second *= spread[round.round as usize - 1];
        }
    });
    let at = |smallest| diff(&before, &after, Some(smallest)).expect("comparable");
    let ratio = at(0.0).findings[0].judgement.ratio.expect("an interval");
    assert!(ratio.high > 0.95 && ratio.high < 1.0, "{ratio:?}");
    assert!(at(0.0).has_regression());
    let found = at(0.05);
    assert!(!found.has_regression() && !found.is_open());
    let words = found.words();
    assert!(words.contains("no difference shown"), "{words}");
    assert!(
        words.contains("differences below 5 % don't count"),
        "{words}"
    );
}

#[test]
fn at_a_fixed_rate_what_costs_more_is_a_regression() {
    let place = Place::new();
    let at_a_rate = |name, cost: f64| {
        place.changed(name, 1000.0, |manifest, rounds| {
            manifest.setup.rate = Some(1000.0);
            manifest.setup.metric = Metric::ResponseTimeP99;
            for round in rounds.iter_mut().filter(|round| round.row == "ours") {
                let sample = &mut round.sample;
                sample.server_cpu_us_per_exchange =
                    sample.server_cpu_us_per_exchange.map(|us| us * cost);
            }
        })
    };
    let (cheap, dear) = (at_a_rate("cheap", 1.0), at_a_rate("dear", 1.3));
    let found = diff(&cheap, &dear, None).expect("comparable");
    let regressions: Vec<bool> = found.findings.iter().map(|one| one.regression).collect();
    assert_eq!(
        regressions,
        [false, true, false, false],
        "{}",
        found.words()
    );
    assert!(
        !diff(&dear, &cheap, None)
            .expect("comparable")
            .has_regression()
    );
}

#[test]
fn another_workload_another_host_and_a_newer_schema_are_refused_with_the_reason() {
    let place = Place::new();
    let base = place.comparison("base", 300e3);
    let load = place.changed("load", 300e3, |manifest, _| {
        manifest.setup.load = "64 connections, pipeline 1".into();
    });
    let why = refused(&base, &load);
    assert!(
        why.ends_with(
            "in load: 200 connections, pipeline 1 before, 64 connections, pipeline 1 now"
        ),
        "{why}"
    );
    let rate = place.changed("rate", 300e3, |manifest, _| {
        manifest.setup.rate = Some(5000.0)
    });
    let why = refused(&base, &rate);
    assert!(
        why.ends_with("they differ in rate: none before, 5000/s now"),
        "{why}"
    );
    let host = place.changed("host", 300e3, |manifest, _| {
        manifest.host.cpus_online = Some(64)
    });
    let why = refused(&base, &host);
    assert!(
        why.contains("they ran on different hosts: the number of CPUs was 2 and is 64"),
        "{why}"
    );
    let newer = place.changed("newer", 300e3, |manifest, _| manifest.schema_version = 99);
    let why = refused(&base, &newer);
    assert!(
        why.contains("newer/comparison.json") && why.contains("99"),
        "{why}"
    );
    let over = place.changed("over", 300e3, |manifest, _| {
        manifest.rows[0].link = Some(Link {
            bandwidth_bits_per_s: Some(100_000_000),
            ..Link::USUAL
        });
    });
    let why = refused(&base, &over);
    let expected = "ours is reached over another network: loopback before, 100 Mbit/s now";
    assert!(why.contains(expected), "{why}");
    let asked = place.changed("asked", 300e3, |manifest, _| {
        manifest.rows[0].asked = Some("GET /json".into());
    });
    let why = refused(&base, &asked);
    assert!(
        why.contains("ours gets different requests: unknown before, GET /json now"),
        "{why}"
    );
    let other = place.changed("other", 300e3, |manifest, rounds| {
        manifest.rows[0].name = "theirs".into();
        manifest.rows[1].name = "other".into();
        for round in rounds {
            round.row = round.row.replace("ours", "theirs").replace("base", "other");
        }
    });
    assert!(refused(&base, &other).ends_with("they have no subject in common"));
    assert!(refused(&base, &place.0.path().join("nowhere")).contains("nowhere: "));
}

#[test]
fn an_equal_rate_that_was_found_anew_keeps_nothing_from_being_compared() {
    let place = Place::new();
    let at = |name: &str, rate: f64| {
        place.changed(name, 300e3, |manifest, _| {
            manifest.setup.equal_rate = Some(rate);
            manifest.setup.load = format!("2 connections; equal-rate: {rate} requests/s for 1 s");
        })
    };
    let (before, now, again) = (at("a", 11000.0), at("b", 10000.0), at("c", 11000.0));
    let said = |after: &Path| diff(&before, after, None).expect("comparable").words();
    let (other, same) = (said(&now), said(&again));
    let part = "because it was 11000/s and is 10000/s: to fix it, write equal_rate = \"10000\"";
    assert!(other.contains(part), "{other}");
    assert!(!same.contains("equal_rate"), "{same}");
}

#[test]
fn what_was_measured_cold_is_left_out_and_said() {
    let place = Place::new();
    let warm = place.comparison("warm", 300e3);
    let cold = |name: &str, rows: &[usize]| {
        place.changed(name, 200e3, |manifest, _| {
            for at in rows {
                let (needed_s, given_s) = (30.0, 5.0);
                manifest.rows[*at].cold = Some(Cold { needed_s, given_s });
            }
        })
    };
    let ours = cold("ours-cold", &[0]);
    let said = "caution: ours isn't compared: it was measured cold now, after 5 s of load instead \
                of the 30 s it needs; measure it without --quick";
    let found = diff(&warm, &ours, None).expect("comparable");
    assert!(!found.has_regression() && !found.is_open());
    let words = found.words();
    assert!(
        words.contains(said) && !words.contains("not now"),
        "{words}"
    );
    assert!(
        found.findings.iter().all(|one| one.row == "base"),
        "{words}"
    );
    let back = diff(&ours, &warm, None).expect("comparable").words();
    let said = said.replace("cold now,", "cold before,");
    assert!(
        back.contains(&said) && !back.contains("wasn't measured"),
        "{back}"
    );
    // A baseline that is cold is no reference, and its noise is none.
    for rows in [&[1][..], &[1, 2]] {
        let base = cold(&format!("base-cold-{}", rows.len()), rows);
        let found = diff(&warm, &base, None).expect("comparable");
        assert!(
            !found.has_regression() && found.is_open(),
            "{}",
            found.words()
        );
    }
    let all = cold("all-cold", &[0, 1, 2]);
    let why = refused(&warm, &all);
    assert!(
        why.contains(
            "they have no subject in common; ours isn't compared: it was measured cold now,"
        ),
        "{why}"
    );
}

#[test]
fn a_request_of_a_mix_that_became_slower_is_a_regression_though_the_whole_is_none() {
    let place = Place::new();
    let mix = |name: &str, slower: f64| {
        place.changed(name, 300e3, |_, rounds| {
            for round in rounds {
                let slower = if round.row == "ours" { slower } else { 2.0 };
                mixed(std::slice::from_mut(round), slower);
            }
        })
    };
    let (before, same, slow) = (mix("before", 2.0), mix("same", 2.0), mix("slow", 2.4));
    let found = diff(&before, &slow, None).expect("comparable");
    let words = found.words();
    assert!(found.has_regression() && !found.is_open(), "{words}");
    let of = |request: Option<&str>| -> Vec<(Metric, bool)> {
        let own = found.findings.iter().filter(|one| one.row == "ours");
        own.filter(|one| one.request.as_deref() == request)
            .map(|one| (one.judgement.metric, one.regression))
            .collect()
    };
    let (p50, p99) = (Metric::ResponseTimeP50, Metric::ResponseTimeP99);
    assert_eq!(of(None), [(Metric::RequestsPerSecond, false)], "{words}");
    assert_eq!(of(Some("list")), [(p50, false), (p99, false)], "{words}");
    assert_eq!(of(Some("create")), [(p50, true), (p99, true)], "{words}");
    let line = "\nREGRESSION ours, create: the median response time of ours now is 1.2 × that of \
                ours before";
    assert!(words.contains(line), "{words}");
    assert!(
        !words.contains("base, "),
        "what didn't change isn't told: {words}"
    );
    let found = diff(&before, &same, None).expect("comparable");
    assert!(
        !found.has_regression() && !found.is_open(),
        "{}",
        found.words()
    );
    // Two records of runs prove nothing, and say it of each request.
    let record = |folder: &Path| {
        let text = fs::read_to_string(folder.join("rounds/ours/001.json")).expect("a round");
        let round = Round::from_json(&text).expect("a round");
        let file = folder.with_extension("json");
        let text = serde_json::to_string(&round.record).expect("serialises");
        fs::write(&file, text).expect("writable");
        file
    };
    let found = diff(&record(&before), &record(&slow), None).expect("comparable");
    let words = found.words();
    let line = "\nrun, create: can't tell: median response time is 1.2";
    assert!(words.contains(line), "{words}");
    assert!(!found.has_regression() && found.is_open());
}

#[test]
fn another_kernel_and_rows_of_one_side_only_are_said() {
    let place = Place::new();
    let base = place.comparison("base", 300e3);
    let newer = place.changed("newer", 300e3, |manifest, rounds_of| {
        manifest.host.kernel = Some("Linux 7.0.0".into());
        manifest.network = Some(Network::Private);
        let (facts, rounds) = row("new", Outcome::Measured, rounds(1e3, 0.5));
        manifest.rows.push(facts);
        rounds_of.extend(rounds);
    });
    let found = diff(&base, &newer, None).expect("comparable");
    assert_eq!(found.findings.len(), 2);
    let words = found.words();
    assert!(
        words.contains("the kernel was Linux 6.18.0 and is Linux 7.0.0"),
        "{words}"
    );
    assert!(
        words.contains("measured in the host's network and is measured in a private network"),
        "{words}"
    );
    assert!(words.contains("new wasn't measured before"), "{words}");
    let back = diff(&newer, &base, None).expect("comparable");
    assert!(
        back.words()
            .contains("new was measured before, but not now")
    );
}

#[test]
fn two_records_of_runs_and_two_rounds_are_compared_and_prove_nothing() {
    let place = Place::new();
    let folder = place.comparison("base", 300e3);
    let round = folder.join("rounds/ours/001.json");
    let (fast, slow) = (rounds(300e3, 0.99), rounds(200e3, 0.99));
    let write = |name: &str, text: String| {
        let file = place.0.path().join(name);
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
        assert!(!found.has_regression() && found.is_open());
        let words = found.words();
        assert!(
            words.contains("name both servers as subjects of one file") && !words.contains("ties"),
            "{words}"
        );
        assert!(
            words.contains("can't tell: requests/s is 1.000 × what it was, but"),
            "{words}"
        );
    }
    let why = refused(&folder, &one);
    assert!(
        why.ends_with("one is a comparison, the other a record of a run"),
        "{why}"
    );
    let mut other = record(&fast[0]);
    let mut plan = load::Plan::clone(&other.plan);
    plan.connections += 1;
    other.plan = plan.recorded();
    let why = refused(&one, &write("other.json", to_json(other)));
    assert!(
        why.contains("they differ in number of connections: "),
        "{why}"
    );
    let mut other = record(&fast[0]);
    let mut plan = load::Plan::clone(&other.plan);
    plan.request.headers = vec![("Accept".to_owned(), "text/html".to_owned())];
    other.plan = plan.recorded();
    let why = refused(&one, &write("headers.json", to_json(other)));
    let said = "they differ in headers: none before, Accept: text/html now";
    assert!(why.ends_with(said), "{why}");
    let why = refused(&one, &write("rows.csv", "at_s,seconds\n0,1\n".into()));
    assert!(why.contains("give the output of ringside run"), "{why}");
    let other = folder.join("sweep");
    std::fs::create_dir(&other).expect("a folder");
    let why = refused(&other, &one);
    assert!(
        why.contains("no comparison in it (no comparison.json)"),
        "{why}"
    );
    std::fs::write(other.join("sweep.json"), "{}").expect("a file");
    let why = refused(&other, &one);
    assert!(
        why.ends_with("this is a sweep; give the directory of one of its points"),
        "{why}"
    );
    let why = refused(&one, &write("garbage.json", "[]".into()));
    assert!(why.contains("neither a round nor a record"), "{why}");
}
