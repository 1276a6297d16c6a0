//! What pipelines read of real measurements: JUnit's XML, summaries, and figures for services that
//! draw them. Each says what the exit code says.

use std::collections::BTreeSet;
use std::fs;

use quick_junit::{NonSuccessKind, Report, TestCase, TestCaseStatus};
use serde_json::Value;

use super::child::{Ended, Folder, Server, assert_says, comparison_of_ours, ringside};

fn junit(text: &str) -> Report {
    Report::deserialize_from_str(text).unwrap_or_else(|error| panic!("{error}: {text}"))
}

fn kind(case: &TestCase) -> Option<NonSuccessKind> {
    match case.status {
        TestCaseStatus::NonSuccess { kind, .. } => Some(kind),
        _ => None,
    }
}

/// The names in one of github-action-benchmark's files, whose values are as they should be.
fn figures(text: &str) -> BTreeSet<String> {
    let read: Vec<Value> = serde_json::from_str(text).unwrap_or_else(|e| panic!("{e}: {text}"));
    let name = |one: &Value| {
        assert!(
            one["value"].as_f64().is_some_and(|value| value >= 0.0),
            "{one}"
        );
        assert!(one["unit"].is_string(), "{one}");
        assert!(one.get("range").is_none_or(Value::is_string), "{one}");
        one["name"].as_str().unwrap().to_owned()
    };
    read.iter().map(name).collect()
}

/// What a document says of thresholds and of the measurement agrees with the exit code.
fn assert_agrees(ended: &Ended) -> Report {
    let read = junit(&ended.stdout);
    let well = (read.failures, read.errors) == (0, 0);
    match ended.code {
        Some(0) => assert!(well, "{}", ended.stdout),
        Some(99) => assert!(read.failures > 0, "{}", ended.stdout),
        Some(1 | 4) => assert!(read.failures == 0 && read.errors > 0, "{}", ended.stdout),
        code => panic!("{code:?}: {}", ended.stderr),
    }
    read
}

#[test]
fn a_run_has_a_case_for_each_threshold_and_its_files_have_the_figures_that_count() {
    let server = Server::start(&[]);
    let url = server.at("/?a=b&c=d");
    let run = |format: &str, rules: &[&str]| {
        let mut words = vec!["run", "-R", "200", "-d2s", "--format", format];
        words.extend(rules.iter().flat_map(|rule| ["--threshold", *rule]));
        words.push(&url);
        ringside(&words)
    };
    let rules = ["errors<1%", "p50<1us"];
    let ended = run("junit", &rules);
    let read = assert_agrees(&ended);
    let suite = &read.test_suites[0];
    assert_eq!(suite.name.as_str(), url, "{}", ended.stdout);
    let names: Vec<&str> = suite
        .test_cases
        .iter()
        .map(|case| case.name.as_str())
        .collect();
    assert_eq!(names, ["measured", "errors<1%", "p50<1us"]);
    assert!(
        read.time.is_some_and(|time| time.as_secs() >= 1),
        "{}",
        ended.stdout
    );
    if ended.code == Some(99) {
        assert_eq!(kind(&suite.test_cases[2]), Some(NonSuccessKind::Failure));
    }
    let ended = run("markdown", &rules);
    assert!(ended.stdout.starts_with("**"), "{}", ended.stdout);
    assert_says(&ended.stdout, "\n| p50&lt;1us | ");
    assert_says(&ended.stdout, "\n| requests/s | ");
    let ended = run("smaller-is-better", &[]);
    let smaller = figures(&ended.stdout);
    // A busy machine may void all of it.
    if ended.code == Some(0) {
        assert!(
            smaller.contains(&format!("{url}: p50 response time")),
            "{smaller:?}"
        );
    } else {
        assert!(smaller.is_empty(), "{smaller:?}");
    }
    let ended = run("bigger-is-better", &[]);
    let bigger = figures(&ended.stdout);
    assert_eq!(
        bigger.len(),
        usize::from(ended.code == Some(0)),
        "{bigger:?}"
    );
    let ended = run("bencher", &[]);
    let read: Value = serde_json::from_str(&ended.stdout).unwrap();
    let known = read
        .get(&url)
        .is_some_and(|it| it["requests/s"]["value"].is_number());
    assert_eq!(known, ended.code == Some(0), "{read}");
}

#[test]
fn a_run_that_gets_no_answer_is_an_error_in_a_file_that_is_whole() {
    let (server, folder) = (Server::start(&[]), Folder::new());
    let path = folder.path("junit.xml");
    let url = server.at("/status/404");
    let words = ["run", "-n5", "--format", "junit", "-o", &path, &url];
    let ended = ringside(&words);
    assert_eq!(ended.code, Some(1), "{}", ended.stderr);
    let text = fs::read_to_string(&path).unwrap();
    let read = junit(&text);
    assert_eq!((read.tests, read.errors), (1, 1), "{text}");
    assert_says(&text, "No request got the expected answer");
    assert_says(&text, "unexpected_status: 5");
}

#[test]
fn a_hold_has_the_same_formats() {
    let server = Server::start(&[]);
    let url = server.at("/health");
    let hold = |format: &str| {
        let mut words = vec!["hold", "-c5", "-d1s", "--heartbeat", "200ms"];
        words.extend(["--threshold", "survival>=100%", "--threshold", "standing<5"]);
        words.extend(["--format", format, &url]);
        ringside(&words)
    };
    let ended = hold("junit");
    let read = assert_agrees(&ended);
    assert_eq!(
        (ended.code, read.tests, read.failures),
        (Some(99), 3, 1),
        "{}",
        ended.stdout
    );
    assert_eq!(
        kind(&read.test_suites[0].test_cases[1]),
        None,
        "{}",
        ended.stdout
    );
    let ended = hold("markdown");
    let verdict = "**1 of 2 thresholds crossed: standing&lt;5.**\n";
    assert!(ended.stdout.starts_with(verdict), "{}", ended.stdout);
    assert_says(&ended.stdout, "\n| survival | 100.000 % | 5 of 5 |\n");
    let bigger = figures(&hold("bigger-is-better").stdout);
    assert_eq!(bigger, [format!("{url}: survival")].into());
    let smaller = figures(&hold("smaller-is-better").stdout);
    assert!(
        smaller.contains(&format!("{url}: p50 heartbeat time")),
        "{smaller:?}"
    );
}

#[test]
fn a_search_says_in_its_files_whether_the_rate_that_was_asked_for_is_reached() {
    let (server, folder) = (Server::start(&[]), Folder::new());
    let (url, out) = (server.at("/limited/300"), folder.path("out"));
    let mut words = vec!["capacity", &url, "-o", &out, "-c", "4", "-d", "200ms"];
    words.extend([
        "--arrivals",
        "constant",
        "--precision",
        "20%",
        "--from",
        "100",
    ]);
    words.extend(["--repeats", "1", "--confirmations", "1"]);
    words.extend(["--slo", "errors<5%", "--at-least", "10k"]);
    let ended = ringside(&words);
    assert_eq!(ended.code, Some(99), "{}\n{}", ended.stdout, ended.stderr);
    let read = |name: &str| fs::read_to_string(format!("{out}/{name}")).unwrap();
    let text = read("junit.xml");
    let cases = &junit(&text).test_suites[0].test_cases;
    let names: Vec<&str> = cases.iter().map(|case| case.name.as_str()).collect();
    assert_eq!(
        names,
        ["measured", "errors<5%", "at least 10,000/s"],
        "{text}"
    );
    let kinds: Vec<_> = cases.iter().map(kind).collect();
    assert_eq!(kinds, [None, None, Some(NonSuccessKind::Failure)], "{text}");
    let bigger = figures(&read("bigger-is-better.json"));
    assert_eq!(bigger, [format!("{url}: capacity")].into());
    assert_says(&read("report.md"), "**At least 10,000/s isn't shown.**");
    // The record alone brings all of it back.
    for name in [
        "junit.xml",
        "bigger-is-better.json",
        "smaller-is-better.json",
    ] {
        let before = read(name);
        fs::remove_file(format!("{out}/{name}")).unwrap();
        let format = name.split('.').next().unwrap();
        let again = ringside(&["report", &out, "--format", format]);
        assert_eq!(again.code, Some(0), "{}", again.stderr);
        assert_eq!((&again.stdout, &read(name)), (&before, &before), "{name}");
    }
}

#[test]
fn a_comparison_has_its_subjects_in_its_files_and_so_has_its_report() {
    let folder = Folder::new();
    let rest = "rounds = 2\naa = false\nceiling = false\n[workload]\npath = \"/\"\n\
                connections = 2\nwindow = \"100ms\"\nsettle = \"20ms\"\nwarm_up = \"20ms\"\n";
    let file = comparison_of_ours(&folder, "", rest);
    // Another one that doesn't start.
    let broken = "description = \"<broken>\"\nkind = \"server\"\n[start]\n\
                  command = [\"sh\", \"-c\", \"printf 'a\\\\033[31m<b>' >&2; exit 7\"]\n[ready]\n\
                  path = \"/health\"\n[[answer]]\npath = \"/\"\nstatus = 200\n\
                  body = \"Hello, World!\"\n";
    fs::create_dir_all(folder.path("subjects/broken")).unwrap();
    folder.write("subjects/broken/subject.toml", broken);
    let text = fs::read_to_string(&file).unwrap();
    let text = text.replace("[\"ours\"]", "[\"ours\", \"broken\"]");
    fs::write(&file, text).unwrap();
    let out = folder.path("out");
    let ended = ringside(&["compare", &file, "-o", &out]);
    assert_eq!(ended.code, Some(3), "{}\n{}", ended.stdout, ended.stderr);
    let report = |format: &str| ringside(&["report", &out, "--format", format]);
    let text = report("junit").stdout;
    assert_eq!(
        text,
        fs::read_to_string(format!("{out}/junit.xml")).unwrap()
    );
    let read = junit(&text);
    assert_eq!((read.failures, read.errors), (0, 1), "{text}");
    let wrong = read.test_suites[0].test_cases.iter();
    let wrong = wrong.filter(|case| kind(case) == Some(NonSuccessKind::Error));
    let of: Vec<_> = wrong.map(|case| case.classname.as_deref()).collect();
    assert_eq!(of, [Some("broken")], "{text}");
    let bigger = figures(&report("bigger-is-better").stdout);
    // A busy machine may void every round.
    let whole: Value = serde_json::from_str(&report("json").stdout).unwrap();
    let mut laps = whole["subjects"][0]["course"].as_array().unwrap().iter();
    let counts = laps.any(|lap| lap["counts"] == true);
    assert_eq!(bigger.contains("ours: requests/s"), counts, "{bigger:?}");
    // Records that can't be read are named, and nothing is printed that looks like a report.
    fs::write(format!("{out}/comparison.json"), "{").unwrap();
    let refused = report("junit");
    assert_eq!((refused.code, refused.stdout.as_str()), (Some(2), ""));
    assert_says(&refused.stderr, "comparison.json: ");
}
