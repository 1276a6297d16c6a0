//! Many sessions over time, as a terminal, a script and a browser get them. What is found in them
//! is the affair of the crate's own tests.

use std::fs;
use std::path::{Path, PathBuf};

use report::pack::Records;
use serde_json::{Value, json};

use super::child::{Folder, assert_says, ringside};

/// Copies of a committed session, one a day; nginx answers half as much in the last of them.
pub(crate) fn sessions(folder: &Folder, count: usize, slower: usize) -> String {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../records");
    let file = root.join("2026-11-22-2core-kvm-6.18/lab/hello.tar.xz");
    let records = Records::open(&file, &load::Stop::new()).unwrap();
    let read = |name: &Path| -> Value {
        let text = fs::read_to_string(records.folder().join(name)).unwrap();
        serde_json::from_str(&text).unwrap()
    };
    let rows = ["ringside-uring", "nginx"];
    let mut manifest = read(Path::new("comparison.json"));
    let known = manifest["rows"].as_array_mut().unwrap();
    known.retain(|row| rows.iter().any(|name| row["name"] == *name));
    for day in 0..count {
        let place = PathBuf::from(folder.path(&format!("sessions/day-{day:02}")));
        manifest["setup"]["began"] = json!(format!("2026-10-{:02}T04:00:00Z", day + 1));
        for (row, number) in rows.iter().flat_map(|row| (1..=3).map(move |n| (row, n))) {
            let name = PathBuf::from(format!("rounds/{row}/{number:03}.json"));
            let mut round = read(&name);
            if *row == "nginx" && day + slower >= count {
                let rate = &mut round["sample"]["requests_per_second"];
                *rate = json!(rate.as_f64().unwrap() / 2.0);
            }
            fs::create_dir_all(place.join(&name).parent().unwrap()).unwrap();
            fs::write(place.join(&name), round.to_string()).unwrap();
        }
        fs::write(place.join("comparison.json"), manifest.to_string()).unwrap();
    }
    folder.path("sessions")
}

#[test]
fn a_history_is_lines_a_page_or_json_and_its_code_says_what_was_asked() {
    let folder = Folder::new();
    let place = sessions(&folder, 12, 5);
    let ended = ringside(&["history", &place]);
    assert_eq!(
        (ended.code, ended.stderr.as_str()),
        (Some(0), ""),
        "{}",
        ended.stdout
    );
    assert_says(
        &ended.stdout,
        "hello: 12 sessions from 2026-10-01 to 2026-10-12",
    );
    assert_says(
        &ended.stdout,
        "WORSE requests/s of nginx, relative to ringside-uring, fell ",
    );
    assert_says(&ended.stdout, "between 2026-10-07 and 2026-10-08");
    let ended = ringside(&["history", &place, "--format", "json"]);
    let found: Value = serde_json::from_str(&ended.stdout).unwrap();
    let figures = found["groups"][0]["figures"].as_array().unwrap().iter();
    let mut changes = figures.flat_map(|figure| figure["changes"].as_array().unwrap());
    let since = changes.find(|one| one["worse"] == true).unwrap()["shown_since"].as_u64();
    let needed = 12 - since.unwrap();
    for (within, code) in [(needed - 1, 0), (needed, 99)] {
        let within = within.max(1).to_string();
        let ended = ringside(&["history", &place, "--fail-within", &within]);
        let code = if needed == 1 { 99 } else { code };
        assert_eq!(ended.code, Some(code), "{within}: {}", ended.stderr);
    }
    let page = folder.path("history.html");
    let ended = ringside(&["history", &place, "--format", "html", "-o", &page]);
    assert_eq!(
        (ended.code, ended.stdout.as_str()),
        (Some(0), ""),
        "{}",
        ended.stderr
    );
    assert_says(&fs::read_to_string(&page).unwrap(), "<!DOCTYPE html>");
    assert_eq!(found["groups"][0]["sessions"].as_array().unwrap().len(), 12);
    let ended = ringside(&["history", &place, "--format", "md"]);
    assert_says(&ended.stdout, "- **worse**: requests/s of nginx");
}

#[test]
fn what_no_history_can_be_made_of_says_what_was_expected() {
    let folder = Folder::new();
    let empty = folder.path("empty");
    fs::create_dir(&empty).unwrap();
    fs::write(format!("{empty}/notes.txt"), "words").unwrap();
    let ended = ringside(&["history", &empty]);
    assert_eq!(
        (ended.code, ended.stdout.as_str()),
        (Some(2), ""),
        "{}",
        ended.stderr
    );
    assert_says(&ended.stderr, "no two sessions in ");
    assert_says(&ended.stderr, "notes.txt: neither a pack nor JSON");
    let ended = ringside(&["history", &folder.path("nowhere")]);
    assert_eq!(ended.code, Some(2), "{}", ended.stderr);
    let list = folder.path("commits.txt");
    fs::write(&list, "HEAD\n").unwrap();
    let by_time = ringside(&["history", &empty, "--commits", &list]);
    assert_eq!(by_time.code, Some(2), "{}", by_time.stderr);
    assert_says(&by_time.stderr, "--by commit");
    let wrong = ringside(&["history", &empty, "--by", "commit", "--commits", &list]);
    assert_eq!(wrong.code, Some(2), "{}", wrong.stderr);
    assert_says(&wrong.stderr, "line 1 doesn't begin with a commit's hash");
}
