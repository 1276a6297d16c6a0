//! Folders of every kind, one beside the other, and what is made of them again.

use std::fs;
use std::path::Path;

use lab::manifest::Outcome;
use load::Stop;
use tempfile::TempDir;

use super::*;
use crate::made_up::{kept, rounds, row, setup};
use crate::searched::{capacities, searched};
use crate::sweep::Key;

/// The report of a folder, made again.
fn rebuilt(folder: &Path) -> Result<Rebuilt, String> {
    rebuild(&Records::open(folder, &Stop::new())?)
}

/// A folder of its own that is gone after the test.
struct Place(TempDir);

impl Place {
    fn new() -> Place {
        Place(tempfile::tempdir().expect("a folder"))
    }

    /// Writes a file inside, and the folders that lead to it.
    fn put(&self, name: &str, text: &str) {
        let path = self.0.path().join(name);
        fs::create_dir_all(path.parent().expect("a folder")).expect("writable");
        fs::write(path, text).expect("writable");
    }

    fn read(&self, name: &str) -> String {
        fs::read_to_string(self.0.path().join(name))
            .unwrap_or_else(|error| panic!("{name}: {error}"))
    }

    /// The record of a comparison in this folder, in which `rate` is what one of two serves.
    fn compare(&self, folder: &str, rate: f64) {
        let rows = [("ours", 300_000.0), ("other", rate)];
        let rows = rows.map(|(name, rate)| row(name, Outcome::Measured, rounds(rate, 0.9)));
        let (manifest, rounds) = kept(setup(), Vec::new(), rows.into());
        self.put(&format!("{folder}/comparison.json"), &indented(&manifest));
        for round in rounds {
            let file = lab::round::Round::file(&round.row, round.round);
            self.put(&format!("{folder}/{}", file.display()), &indented(&round));
        }
    }

    /// A sweep over two numbers of connections, which knows nothing of its points yet.
    fn sweep(&self, folder: &str) {
        let sweep = Sweep {
            file_hash: None,
            schema_version: 1,
            name: "swept".into(),
            question: "How does it grow?".into(),
            began: "2026-11-21T20:12:54Z".into(),
            key: Key::Connections,
            baseline: "ours".into(),
            metric: lab::verdict::Metric::RequestsPerSecond,
            order: vec![16.0, 4.0, 64.0],
            points: Vec::new(),
            laws: Vec::new(),
            ended_early: None,
        };
        self.put(&format!("{folder}/sweep.json"), &indented(&sweep));
        for (value, rate) in [(4, 200_000.0), (16, 400_000.0)] {
            self.compare(&format!("{folder}/connections-{value}"), rate);
        }
    }

    /// Trials of this comparison that came to this.
    fn trials(&self, folder: &str, trials: Vec<Trial>) {
        let trials = Trials {
            schema_version: 1,
            comparison: "often".into(),
            began: "2026-11-21T20:12:54Z".into(),
            ringside: "0.1.0".into(),
            wanted: 2,
            against_itself: true,
            truth: Some(1.0),
            summary: trials::Summary::default(),
            trials,
        };
        self.put(&format!("{folder}/trials.json"), &indented(&trials));
    }
}

fn again(place: &Place, folder: &str) -> Rebuilt {
    let rebuilt = rebuilt(&place.0.path().join(folder)).unwrap_or_else(|what| panic!("{what}"));
    assert_eq!(rebuilt.unwritten, Vec::<String>::new());
    rebuilt
}

#[test]
fn a_search_for_capacities_is_concluded_anew_from_its_probes() {
    let place = Place::new();
    let found = capacities(vec![searched("slow", 10_000.0), searched("fast", 30_000.0)]);
    let mut bare = found.clone();
    bare.conclusions.clear();
    bare.ratios.clear();
    bare.rows.iter_mut().for_each(|row| row.curve.clear());
    place.put("capacity.json", &bare.json());
    let rebuilt = again(&place, "");
    assert_eq!(rebuilt.model.json(), found.json());
    for (file, text) in capacity::formats::files(&found) {
        assert_eq!(place.read(file.name()), text, "{file:?}");
    }
    let look = Look {
        unicode: true,
        colour: false,
        width: 100,
    };
    assert_eq!(
        rebuilt.model.text(look),
        capacity::formats::terminal(&found, look)
    );
}

#[test]
fn a_sweep_is_made_again_from_the_records_of_its_points() {
    let place = Place::new();
    place.sweep(".");
    let rebuilt = again(&place, ".");
    let Model::Sweep(sweep) = &rebuilt.model else {
        panic!("no sweep: {rebuilt:?}");
    };
    // The third was never measured.
    let values: Vec<f64> = sweep.points.iter().map(|point| point.value).collect();
    assert_eq!(values, [4.0, 16.0]);
    let csv = rebuilt.model.csv();
    assert_eq!(csv.lines().count(), 1 + 2 * 2, "{csv}");
    let markdown = rebuilt.model.markdown();
    assert!(markdown.contains("| other | 16 | 400 k "), "{markdown}");
    let kept = Sweep::from_json(&place.read("sweep.json")).expect("a sweep");
    assert_eq!(kept.points.len(), 2);
    assert!(
        place
            .read("report.html")
            .contains("connections-16/report.html")
    );
    assert!(place.read("connections-16/report.html").contains("other"));
    let junit = place.read("junit.xml");
    for part in [
        "connections 4",
        "connections 16",
        "It wasn&apos;t measured.",
    ] {
        assert!(junit.contains(part), "{part}: {junit}");
    }
    assert!(
        junit.contains("tests=\"5\" skipped=\"0\" failures=\"0\" errors=\"1\""),
        "{junit}"
    );
    let bigger = place.read("bigger-is-better.json");
    assert!(
        bigger.contains("\"other, connections 16: requests/s\""),
        "{bigger}"
    );
}

#[test]
fn trials_are_judged_again_from_the_records_of_each() {
    let place = Place::new();
    place.compare("trial-001", 200_000.0);
    let compared = again(&place, "trial-001");
    let Model::Comparison(report) = &compared.model else {
        panic!("no comparison: {compared:?}");
    };
    let before = Trial {
        findings: Vec::new(),
        ..Trial::of(1, 2.5, report)
    };
    // The folder of the second is not there any more, and what was said of it stands.
    let lost = Trial::of(2, 3.5, report);
    place.trials(".", vec![before, lost.clone()]);
    let rebuilt = again(&place, ".");
    let Model::Trials(trials) = &rebuilt.model else {
        panic!("no trials: {rebuilt:?}");
    };
    assert_eq!(trials.trials, [Trial::of(1, 2.5, report), lost]);
    assert_eq!(trials.summary.verdicts, 2);
    assert_eq!(rebuilt.model.csv().lines().count(), 1 + 2);
    let page = place.read("report.html");
    assert!(page.contains("trial-001/report.html"), "{page}");
    let junit = place.read("junit.xml");
    assert!(junit.contains("<testsuite name=\"trial-002\""), "{junit}");
    let smaller = place.read("smaller-is-better.json");
    assert!(
        smaller.contains("\"often: duration of a comparison\""),
        "{smaller}"
    );
    assert_eq!(place.read("bigger-is-better.json"), "[]\n");
}

#[test]
fn folders_of_every_kind_stand_on_one_page() {
    let place = Place::new();
    place.trials("tried", Vec::new());
    place.compare("compared", 200_000.0);
    place.sweep("swept");
    let found = capacities(vec![searched("alone", 10_000.0)]);
    place.put("searched/capacity.json", &found.json());
    let rebuilt = ["compared", "swept", "searched", "tried"].map(|folder| again(&place, folder));
    let page = index(&rebuilt, &place.0.path().join("index.html"));
    for part in [
        "href=\"compared/report.html\"",
        "href=\"swept/report.html\"",
        "href=\"searched/report.html\"",
        "href=\"tried/report.html\"",
        "alone holds 9,",
        "other compared with ours, requests/s over connections: 0.667 × at 4, 1.333 × at 16.",
    ] {
        assert!(page.contains(part), "{part}: {page}");
    }
}

#[test]
fn what_a_newer_ringside_wrote_and_what_is_no_record_is_refused_in_a_sentence() {
    let place = Place::new();
    let newer = |text: String| text.replace("\"schema_version\": 1", "\"schema_version\": 99");
    let found = capacities(vec![searched("a", 10_000.0)]);
    place.put("capacity/capacity.json", &newer(found.json()));
    place.sweep("sweep");
    place.put("sweep/sweep.json", &newer(place.read("sweep/sweep.json")));
    for folder in ["capacity", "sweep"] {
        let refused = rebuilt(&place.0.path().join(folder)).expect_err("newer");
        let file = format!("{folder}/{folder}.json: this {folder} has schema version 99");
        assert!(refused.contains(&file), "{refused}");
        assert!(refused.ends_with("use a newer ringside"));
    }
    let refused = rebuilt(&place.0.path().join("nowhere")).expect_err("nothing is there");
    assert!(refused.contains("nowhere has no records"), "{refused}");
}

#[test]
fn a_report_whose_rounds_are_gone_stays_as_it_is() {
    let place = Place::new();
    place.compare("whole", 200_000.0);
    again(&place, "whole");
    let csv = place.read("whole/report.csv");
    fs::remove_dir_all(place.0.path().join("whole/rounds")).expect("they are there");
    let refused = rebuilt(&place.0.path().join("whole")).expect_err("no rounds");
    assert!(refused.contains("has no rounds any more"), "{refused}");
    assert_eq!(place.read("whole/report.csv"), csv);
}

#[test]
fn what_a_gate_judged_stays_beside_what_it_measured() {
    let place = Place::new();
    place.compare("gate", 200_000.0);
    place.put("gate/gate.xml", "<testsuites/>");
    assert_eq!(again(&place, "gate").junit(), "<testsuites/>");
    assert_eq!(place.read("gate/junit.xml"), "<testsuites/>");
    place.compare("other", 200_000.0);
    assert!(again(&place, "other").junit().contains("<testsuite"));
}

/// What is said of a pack of this folder, which may not name where it was unpacked.
fn said_of_a_pack(place: &Place) -> String {
    let file = place.0.path().join("x.tar.xz");
    let folder = place.0.path().join("x");
    report::pack::pack(&folder, Some(&file), &Stop::new()).expect("packed");
    let what = rebuilt(&file).expect_err("not readable");
    fs::remove_file(&file).expect("its own file");
    let shown = file.display().to_string();
    let rest = what
        .strip_prefix(&shown)
        .unwrap_or_else(|| panic!("{what}"));
    assert!(!rest.contains("/ringside-"), "{what}");
    rest.to_owned()
}

#[test]
fn of_a_pack_messages_name_the_pack_and_not_where_it_was_unpacked() {
    let place = Place::new();
    place.put("x/A6/hold.json", "{}");
    let what = said_of_a_pack(&place);
    assert!(what.starts_with(" has no records: none of "), "{what}");

    place.compare("x", 200_000.0);
    place.put("x/rounds/ours/001.json", "{");
    let what = said_of_a_pack(&place);
    assert!(what.starts_with("/rounds/ours/001.json: "), "{what}");

    place.sweep("x");
    place.put("x/connections-16/comparison.json", "{");
    let what = said_of_a_pack(&place);
    assert!(
        what.starts_with("/connections-16/comparison.json: "),
        "{what}"
    );
}

/// Every number in a JSON text, as where it begins and ends.
fn numbers(json: &str) -> Vec<(usize, usize)> {
    let (mut found, mut quoted, mut escaped) = (Vec::new(), false, false);
    let mut start = None;
    for (at, c) in json.char_indices() {
        let is_digit = !quoted && (c.is_ascii_digit() || ['-', '.', 'e', 'E', '+'].contains(&c));
        match (
            start,
            is_digit && (start.is_some() || c.is_ascii_digit() || c == '-'),
        ) {
            (None, true) => start = Some(at),
            (Some(from), false) => found.extend(start.take().map(|_| (from, at))),
            _ => {}
        }
        quoted ^= c == '"' && !escaped;
        escaped = c == '\\' && !escaped;
    }
    found
}

#[test]
fn no_number_in_a_record_makes_a_report_panic_and_no_count_is_above_all_counts() {
    let place = Place::new();
    place.compare("x", 200_000.0);
    let folder = place.0.path().join("x");
    for name in ["x/comparison.json", "x/rounds/other/002.json"] {
        let whole = place.read(name);
        let numbers = numbers(&whole);
        assert!(numbers.len() > 10, "{name}: {}", numbers.len());
        for (start, end) in numbers {
            for number in [u64::MAX, 1 << 53] {
                let text = format!("{}{number}{}", &whole[..start], &whole[end..]);
                place.put(name, &text);
                let made = rebuilt(&folder);
                let before = whole[..start].trim_end();
                let is_seed = before.ends_with("\"seed\":");
                match made.map(|made| made.model.markdown()) {
                    Ok(_) => assert!(number == 1 << 53 || is_seed, "{before}"),
                    Err(what) => assert!(what.contains(name), "{what}"),
                }
            }
        }
        place.put(name, &whole);
    }
    assert!(rebuilt(&folder).is_ok());
}
