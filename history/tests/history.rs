//! Histories whose truth is known: sessions made of a committed one, with figures that are moved at
//! known places.

#[path = "../../tests/alone.rs"]
mod alone;

use std::fs;
use std::path::{Path, PathBuf};

use history::{History, Options, Order, Program, commits, markdown, page, read, text};
use lab::verdict::Metric;
use load::Stop;
use measure::time::utc_stamp;
use report::Look;
use report::pack::{Records, pack};
use serde_json::{Value, json};
use statistics::Random;
use statistics::change::Course;
use tempfile::TempDir;

/// When the first session began, and how long until the next.
const BEGAN_UNIX_S: u64 = 1_790_000_000;
const DAY_S: u64 = 86_400;
/// The rows that sessions have, the baseline first.
const ROWS: [&str; 3] = ["ringside-uring", "nginx", "go-nethttp"];
/// The rounds that sessions have.
const ROUNDS: u32 = 4;

/// A committed session, of which others are made.
struct Original {
    manifest: Value,
    /// Row by row.
    rounds: Vec<Vec<Value>>,
}

impl Original {
    fn read() -> Original {
        let records = Path::new(env!("CARGO_MANIFEST_DIR")).join("../records");
        let file = records.join("2026-11-22-2core-kvm-6.18/lab/hello.tar.xz");
        let records = Records::open(&file, &Stop::new()).expect("a pack");
        let at = |name: &str| -> Value {
            let text = fs::read_to_string(records.folder().join(name)).expect("a record");
            serde_json::from_str(&text).expect("JSON")
        };
        let mut manifest = at("comparison.json");
        let rows = manifest["rows"].as_array_mut().expect("rows");
        rows.retain(|row| ROWS.iter().any(|name| row["name"] == *name));
        let rounds = |row: &&str| {
            let round = |number| at(&format!("rounds/{row}/{number:03}.json"));
            (1..=ROUNDS).map(round).collect()
        };
        Original {
            manifest,
            rounds: ROWS.iter().map(rounds).collect(),
        }
    }

    /// The record of one of its runs.
    fn run(&self) -> Value {
        self.rounds[1][0]["record"].clone()
    }
}

/// What is different in a session.
#[derive(Clone, Debug)]
struct Session {
    day: u64,
    /// Requests per second of each row, as a multiple of what they were.
    levels: [f64; 3],
    /// A text that stands for the program of each row.
    programs: [&'static str; 3],
    name: &'static str,
    load: &'static str,
    cpu: &'static str,
    kernel: &'static str,
}

impl Session {
    /// One on this day of which nothing is different but what the host and chance do.
    fn on(day: u64, random: &mut Random) -> Session {
        let host = 1.0 + 0.2 * random.unit();
        let mut level = || host * (0.01 * random.normal()).exp();
        Session {
            day,
            levels: [level(), level(), level()],
            programs: ["a", "b", "c"],
            name: "hello",
            load: "200 connections, pipeline 1",
            cpu: "a processor",
            kernel: "Linux 1",
        }
    }

    fn write(&self, original: &Original, folder: &Path) {
        let mut manifest = original.manifest.clone();
        manifest["setup"]["name"] = json!(self.name);
        manifest["setup"]["load"] = json!(self.load);
        manifest["setup"]["began"] = json!(utc_stamp(BEGAN_UNIX_S + self.day * DAY_S));
        manifest["host"]["cpu_model"] = json!(self.cpu);
        manifest["host"]["kernel"] = json!(self.kernel);
        for row in manifest["rows"].as_array_mut().expect("rows") {
            let at = ROWS.iter().position(|name| row["name"] == *name);
            row["binaries"][0]["sha256"] = json!(self.programs[at.expect("a row")]);
            row["source"] = json!("a source");
        }
        put(&folder.join("comparison.json"), &manifest);
        for ((row, rounds), level) in ROWS.iter().zip(&original.rounds).zip(self.levels) {
            for (number, round) in (1..).zip(rounds) {
                let mut round = round.clone();
                let rate = &mut round["sample"]["requests_per_second"];
                *rate = json!(rate.as_f64().expect("a rate") * level);
                put(
                    &folder.join(format!("rounds/{row}/{number:03}.json")),
                    &round,
                );
            }
        }
    }
}

fn put(file: &Path, value: &Value) {
    fs::create_dir_all(file.parent().expect("a folder")).expect("writable");
    fs::write(file, value.to_string()).expect("writable");
}

/// Sessions in a folder, one a day, each as `change` has it.
fn sessions(count: u64, seed: u64, change: impl Fn(&mut Session)) -> TempDir {
    let (folder, original) = (tempfile::tempdir().expect("a folder"), Original::read());
    let mut random = Random::new(seed);
    for day in 0..count {
        let mut session = Session::on(day, &mut random);
        change(&mut session);
        session.write(&original, &folder.path().join(format!("day-{day:02}")));
    }
    folder
}

fn of(folder: &TempDir, options: &Options) -> History {
    let places = [folder.path().to_owned()];
    read(&places, options, &Stop::new()).expect("a history")
}

const PLAIN: Look = Look {
    unicode: true,
    colour: false,
    width: 100,
};

/// nginx becomes slower by a fifth on day 15, with another program.
fn slower_nginx(session: &mut Session) {
    if session.day >= 15 {
        session.levels[1] *= 0.8;
        session.programs[1] = "d";
    }
}

#[test]
fn a_row_that_became_slower_is_found_where_it_did_though_the_host_drifts() {
    let folder = sessions(24, 1, slower_nginx);
    let history = of(&folder, &Options::default());
    assert_eq!(
        (history.groups.len(), history.left_out.as_slice()),
        (1, &[][..])
    );
    let group = &history.groups[0];
    assert_eq!(group.sessions.len(), 24);
    let mut found = group.figures.iter().flat_map(|figure| {
        let changes = figure.changes.iter();
        changes.map(move |change| (figure.row.as_str(), figure.metric, change))
    });
    let (row, metric, change) = found.next().expect("a change");
    assert_eq!((row, metric), ("nginx", Metric::RequestsPerSecond));
    assert_eq!(
        (change.from, change.to, change.course),
        (14, 15, Course::Step)
    );
    assert!((change.low..=change.high).contains(&0.8), "{change:?}");
    assert!(change.worse && change.matters, "{change:?}");
    let other = Program::Other("its executable changed".to_owned());
    assert_eq!(change.program, other);
    assert!(found.next().is_none());
    assert!((17..=23).contains(&change.shown_since), "{change:?}");
    assert!(history.worse_within(24 - change.shown_since));
    assert!(!history.worse_within(23 - change.shown_since));

    let says = text(&history, PLAIN);
    let line = "WORSE requests/s of nginx, relative to ringside-uring, fell by ";
    assert!(says.contains(line), "{says}");
    assert!(
        says.contains("between 2026-10-05 and 2026-10-06; its executable"),
        "{says}"
    );
    let unchanged =
        "requests/s of go-nethttp, relative to ringside-uring: no change shown in 24 sessions";
    assert!(says.contains(unchanged), "{says}");
    let plain = text(
        &history,
        Look {
            unicode: false,
            ..PLAIN
        },
    );
    assert!(plain.is_ascii(), "{plain}");
    let document = markdown(&history);
    assert!(
        document.contains("- **worse**: requests/s of nginx"),
        "{document}"
    );
}

#[test]
fn json_reads_back_as_what_was_written_and_the_same_records_give_the_same() {
    let folder = sessions(12, 2, slower_nginx);
    let history = of(&folder, &Options::default());
    let back: History = serde_json::from_str(&history.json()).expect("its type");
    assert_eq!(back, history);
    assert_eq!(of(&folder, &Options::default()).json(), history.json());
}

#[test]
fn the_page_stands_alone_and_what_others_wrote_is_text() {
    let folder = sessions(24, 3, |session| {
        slower_nginx(session);
        session.name = "<script>alert(1)</script>\x1b[2J";
    });
    let history = of(&folder, &Options::default());
    let page = page(&history);
    alone::stands_alone(page.trim_end());
    assert!(
        !page.contains("<script") && !page.contains('\x1b'),
        "{page}"
    );
    for there in [
        "&lt;script&gt;alert(1)",
        "fell by ",
        "prefers-color-scheme: dark",
        "polygon class=\"band\"",
        "line class=\"reference\"",
    ] {
        assert!(page.contains(there), "{there} is missing");
    }
    for other in [text(&history, PLAIN), markdown(&history), history.json()] {
        assert!(!other.contains('\x1b'), "{other}");
    }
}

#[test]
fn what_cannot_be_compared_is_named_with_its_reason_and_left_out() {
    let folder = sessions(10, 4, |session| match session.day {
        3 => session.load = "100 connections, pipeline 1",
        4 => session.cpu = "another processor",
        5 => session.name = "other",
        _ => {}
    });
    let at = |name: &str| folder.path().join(name);
    pack(&at("day-07"), None, &Stop::new()).expect("a pack");
    fs::write(at("README.md"), "words").expect("writable");
    fs::write(at("cut.tar.xz"), b"\xfd7zXZ\0\0\x04").expect("writable");
    fs::write(at("broken.json"), "{").expect("writable");
    fs::create_dir(at("sweep")).expect("writable");
    fs::write(at("sweep/sweep.json"), "{}").expect("writable");
    fs::remove_file(at("day-08/comparison.json")).expect("its own file");
    let history = of(&folder, &Options::default());
    assert_eq!(
        (history.groups.len(), history.groups[0].sessions.len()),
        (1, 6)
    );
    for (what, why) in [
        ("README.md", "neither a pack nor JSON"),
        ("cut.tar.xz", "cut short or damaged"),
        ("broken.json", "not the record of a run"),
        ("sweep", "this is a sweep"),
        ("day-03", "they differ in load: 200 connections"),
        (
            "day-04",
            "they ran on different hosts: the processor was a processor",
        ),
        ("day-05", "it's the only session of other"),
        ("day-07.tar.xz", "it's the same session as"),
        ("day-08/rounds/nginx/001.json", "not the record of a run"),
    ] {
        let mut named = history
            .left_out
            .iter()
            .filter(|one| one.what.ends_with(what));
        let one = named
            .next()
            .unwrap_or_else(|| panic!("{what}: {:?}", history.left_out));
        assert!(one.why.contains(why), "{one:?}");
    }
    let says = text(&history, PLAIN);
    assert!(
        says.contains("left out: ") && says.contains("json names"),
        "{says}"
    );
    let too_few = "can't tell from 6 sessions; it takes 8 or more";
    assert!(says.contains(too_few), "{says}");
}

#[test]
fn nothing_that_can_be_compared_says_what_was_expected() {
    let folder = sessions(1, 5, |_| {});
    let places = [folder.path().to_owned()];
    let why = read(&places, &Options::default(), &Stop::new()).expect_err("one alone");
    assert!(
        why.contains("no two sessions") && why.contains("give a directory"),
        "{why}"
    );
    assert!(why.contains("it's the only session of hello"), "{why}");
    let nowhere = [PathBuf::from("/nowhere")];
    let why = read(&nowhere, &Options::default(), &Stop::new()).expect_err("nothing there");
    assert!(why.starts_with("/nowhere: "), "{why}");
}

#[test]
fn a_baseline_that_became_another_program_begins_a_new_series() {
    let folder = sessions(20, 6, |session| {
        if session.day >= 10 {
            session.levels[0] *= 1.5;
            session.programs[0] = "e";
        }
    });
    let history = of(&folder, &Options::default());
    let group = &history.groups[0];
    let other = group.sessions[10].other_baseline.as_deref();
    assert_eq!(other, Some("its executable changed"));
    let relative = || group.figures.iter().filter(|figure| figure.relative);
    assert!(relative().all(|figure| figure.judged == 10 && figure.changes.is_empty()));
    // Held against a row that stayed the same, it's the one that changed.
    let beside_nginx = Options {
        baseline: Some("nginx".to_owned()),
        ..Options::default()
    };
    let history = of(&folder, &beside_nginx);
    let changed = history.groups[0]
        .figures
        .iter()
        .filter(|one| !one.changes.is_empty());
    let changed: Vec<&str> = changed.map(|figure| figure.row.as_str()).collect();
    assert_eq!(changed, ["ringside-uring"]);
    let nobody = Options {
        baseline: Some("nobody".to_owned()),
        ..Options::default()
    };
    let places = [folder.path().to_owned()];
    let why = read(&places, &nobody, &Stop::new()).expect_err("no such row");
    assert!(why.contains("it has no row nobody"), "{why}");
}

#[test]
fn each_worsening_is_new_once_however_few_sessions_are_asked_about() {
    // As a check each night sees it, from before the change until long after.
    let is_new = |count: &u64| of(&sessions(*count, 3, slower_nginx), &Options::default());
    let nights: Vec<u64> = (14..=24)
        .filter(|count| is_new(count).worse_within(1))
        .collect();
    assert_eq!(nights.len(), 1, "{nights:?}");
    assert!(nights[0] >= 18, "{nights:?}");
}

#[test]
fn a_change_of_the_same_program_is_no_worsening_of_it() {
    let folder = sessions(24, 7, |session| {
        if session.day >= 12 {
            session.levels[1] *= 0.8;
            session.kernel = "Linux 2";
        }
    });
    let history = of(&folder, &Options::default());
    let says = text(&history, PLAIN);
    assert!(says.contains("though it's the same program"), "{says}");
    assert!(
        says.contains("the kernel was Linux 1 and is Linux 2"),
        "{says}"
    );
    assert!(!history.worse_within(24));
}

#[test]
fn sessions_are_in_the_order_of_commits_where_that_is_asked_for() {
    let folder = tempfile::tempdir().expect("a folder");
    let original = Original::read();
    let mut random = Random::new(8);
    let mut listed = String::new();
    // What was measured last is the first commit.
    for day in (0..16).rev() {
        let mut session = Session::on(day, &mut random);
        if day < 8 {
            session.levels[1] *= 0.8;
            session.programs[1] = "d";
        }
        let name = format!("hello-{day:02}abcde");
        listed += &format!("{day:02}abcde a subject\n");
        session.write(&original, &folder.path().join(name));
    }
    fs::rename(
        folder.path().join("hello-03abcde"),
        folder.path().join("hello"),
    )
    .expect("there");
    let by = |order| {
        let options = Options {
            order,
            ..Options::default()
        };
        of(&folder, &options)
    };
    let history = by(Order::Listed(commits(&listed).expect("a list")));
    let group = &history.groups[0];
    assert_eq!(group.sessions.len(), 15);
    assert_eq!(group.sessions[0].commit.as_deref(), Some("15abcde"));
    assert!(
        history.left_out[0].why.contains("has a commit"),
        "{:?}",
        history.left_out
    );
    let says = text(&history, PLAIN);
    assert!(
        says.contains("fell by ") && says.contains("(commit 07abcde)"),
        "{says}"
    );
    alone::stands_alone(page(&history).trim_end());
    let as_measured = by(Order::Commit);
    assert_eq!(
        as_measured.groups[0].sessions[0].commit.as_deref(),
        Some("00abcde")
    );
    assert!(text(&as_measured, PLAIN).contains("rose by "));
}

#[test]
fn records_of_runs_are_followed_by_themselves_and_say_what_that_is_worth() {
    let (folder, original) = (tempfile::tempdir().expect("a folder"), Original::read());
    let mut random = Random::new(9);
    for day in 0..16 {
        let mut record = original.run();
        let level = if day < 8 { 1.0 } else { 1.3 };
        let rate = record["achieved_rate"].as_f64().expect("a rate");
        record["achieved_rate"] = json!(rate * level * (0.01 * random.normal()).exp());
        record["host"]["read_at"] = json!(utc_stamp(BEGAN_UNIX_S + day * DAY_S));
        put(&folder.path().join(format!("run-{day:02}.json")), &record);
    }
    let history = of(&folder, &Options::default());
    let group = &history.groups[0];
    assert_eq!((group.sessions.len(), &group.baseline), (16, &None));
    let says = text(&history, PLAIN);
    assert!(says.contains("BETTER requests/s rose by "), "{says}");
    assert!(says.contains("caution: single runs have no row"), "{says}");
}
