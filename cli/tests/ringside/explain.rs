//! `ringside explain`: every word that the program prints has a section, and every section a word
//! or a sentence that the program prints.

use std::collections::BTreeSet;
use std::fs;
use std::path::Path;

use capacity::search::{Ending, Verdict as OfProbe};
use engine::Feature;
use lab::finding::{Check, Severity};
use lab::manifest::Outcome;
use lab::validity::Looked;
use lab::verdict::Kind;
use measure::counters::ErrorKind;
use measure::record::{EndedBy, Met};
use serde::de::DeserializeOwned;
use serde_json::Value;
use studies::claims::Word;

use super::child::{Server, assert_says, command, ringside, start};

#[test]
fn every_word_that_the_program_prints_is_explained_and_no_section_is_about_another() {
    let page = explain::page();
    let (mut missing, mut met) = (Vec::new(), BTreeSet::new());
    for word in printed() {
        match page.find(&word) {
            Ok(section) => {
                met.insert(section.word.clone());
            }
            Err(_) => missing.push(word),
        }
    }
    assert_eq!(missing, [""; 0]);
    let orphan =
        |section: &&explain::Section| section.printed.is_empty() && !met.contains(&section.word);
    let orphans: Vec<&str> = page
        .sections()
        .filter(orphan)
        .map(|section| section.word.as_str())
        .collect();
    assert_eq!(orphans, [""; 0]);
}

#[test]
fn each_feature_of_io_uring_is_explained_by_its_word_with_the_kernel_that_has_it() {
    let page = explain::page();
    for feature in Feature::ALL {
        let word = feature.word();
        let section = page.find(word).expect(word);
        assert_eq!(section.word, word);
        let since = format!("since Linux {}", feature.since());
        assert_says(&section.text(), &since);
    }
}

#[test]
fn every_quote_of_the_page_is_what_the_program_says() {
    let sources = sources();
    let page = explain::page();
    let quotes = page.sections().flat_map(|section| &section.printed);
    let unsaid: Vec<&String> = quotes.filter(|quote| !sources.contains(*quote)).collect();
    assert_eq!(unsaid, [""; 0]);
}

#[test]
fn a_word_is_told_with_what_to_do_and_a_warning_by_what_it_says() {
    let steal = ringside(&["explain", "steal"]);
    assert_eq!((steal.code, steal.stderr.as_str()), (Some(0), ""));
    assert_says(&steal.stdout, "steal\n\nThe hypervisor gave ");
    assert_says(&steal.stdout, "Use many short rounds");
    for same in [&["CPU", "steal"][..], &["cpu_steal"]] {
        let words = [&["explain"], same].concat();
        assert_eq!(ringside(&words).stdout, steal.stdout, "{same:?}");
    }
    let server = Server::start(&[]);
    let url = server.at("/status/500");
    let record = ringside(&["run", "-n", "3", "--format", "json", &url]).record();
    let warnings = record["warnings"].as_array().unwrap();
    assert!(!warnings.is_empty(), "{record}");
    for warning in warnings {
        let told = ringside(&["explain", warning.as_str().unwrap()]);
        assert_eq!(told.code, Some(0), "{warning}: {}", told.stderr);
    }
}

#[test]
fn without_a_word_all_are_listed_and_a_narrow_reader_gets_narrow_lines() {
    let listed = ringside(&["explain"]);
    assert_eq!((listed.code, listed.stderr.as_str()), (Some(0), ""));
    let page = explain::page();
    for group in &page.groups {
        assert_says(&listed.stdout, &format!("{}\n", group.title));
    }
    for section in page.sections() {
        assert_says(&listed.stdout, &format!("\n  {} ", section.word));
    }
    let narrow = start(command(&["explain", "not-judged"]).env("COLUMNS", "50")).end();
    let widest = narrow.stdout.lines().map(|line| line.chars().count()).max();
    assert!(widest <= Some(50), "{}", narrow.stdout);
}

#[test]
fn an_unknown_word_is_answered_with_the_nearest() {
    let ended = ringside(&["explain", "stael"]);
    assert_eq!((ended.code, ended.stdout.as_str()), (Some(2), ""));
    assert_says(
        &ended.stderr,
        "nothing is known of \"stael\"; did you mean steal",
    );
    let ended = ringside(&["explain", "\x1b[31mweather"]);
    assert_eq!(ended.code, Some(2));
    assert_says(&ended.stderr, "(ringside explain lists all words)");
    assert!(
        !ended.stderr.contains("\x1b[31mweather"),
        "{}",
        ended.stderr
    );
}

/// Every word that the program prints as the name of something: of checks, verdicts, outcomes,
/// kinds of errors, ends, findings of doctor, exit codes.
fn printed() -> Vec<String> {
    let mut words = exit_codes();
    words.extend(variants::<Check>("\"?\""));
    words.extend(variants::<Severity>("\"?\""));
    words.extend(variants::<Kind>("\"?\""));
    words.extend(variants::<Outcome>("{\"state\":\"?\"}"));
    words.extend(variants::<Met>("\"?\""));
    words.extend(variants::<EndedBy>("\"?\""));
    words.extend(variants::<Ending>("\"?\""));
    words.extend(variants::<OfProbe>("\"?\""));
    words.extend(ErrorKind::all().map(|kind| kind.name().to_owned()));
    words.extend(Feature::ALL.map(|feature| feature.name().to_owned()));
    words.extend(outcomes_of_checks());
    words.extend(words_of_claims());
    words.extend(of_schema("gate", "Verdict"));
    words.extend(of_schema("gate", "State"));
    words.extend(of_schema("history", "Course"));
    words.extend(of_schema("history", "Program"));
    words.extend(of_schema("doctor", "State"));
    words.extend(findings_of_doctor());
    words.extend(words_of_reports().map(str::to_owned));
    words
}

/// What reports, help and messages call parts of a load and its figures.
fn words_of_reports() -> [&'static str; 17] {
    [
        "due",
        "exchange",
        "set-up",
        "censored",
        "drain",
        "share",
        "flow",
        "replay",
        "first byte",
        "first event",
        "event gap",
        "time per event",
        "TTFT",
        "inter-token latency",
        "sqpoll",
        "without",
        "zero-copy",
    ]
}

/// The names of an enumeration's variants, as serde lists them for one that is none of them.
fn variants<T: DeserializeOwned>(none_of_them: &str) -> Vec<String> {
    let refused = match serde_json::from_str::<T>(none_of_them) {
        Ok(_) => panic!("{none_of_them} is none of them"),
        Err(error) => error.to_string(),
    };
    let (given, known) = refused.split_once("expected").expect("what it could be");
    assert!(given.contains("`?`"), "{refused}");
    let quoted = known.split('`').skip(1).step_by(2);
    let names: Vec<String> = quoted.map(str::to_owned).collect();
    assert!(names.len() >= 3, "{refused}");
    names
}

/// The names of what is only written and never read: those that its schema has.
fn of_schema(schema: &str, name: &str) -> Vec<String> {
    let mut schema = ringside(&["schema", schema]).record();
    let variants = schema["$defs"][name]["oneOf"].take();
    let of_one = |variant: &Value| {
        let tagged = variant["properties"]["is"]["const"].as_str();
        let listed = variant["enum"].as_array().into_iter().flatten();
        let words = listed.chain(variant.get("const")).filter_map(Value::as_str);
        words.chain(tagged).map(str::to_owned).collect::<Vec<_>>()
    };
    let names: Vec<String> = variants
        .as_array()
        .expect(name)
        .iter()
        .flat_map(of_one)
        .collect();
    assert!(names.len() >= 2, "{name}: {variants}");
    names
}

fn outcomes_of_checks() -> impl Iterator<Item = String> {
    let text = String::new;
    let all = [
        Looked::Passed(text()),
        Looked::Found(Severity::Caution, text()),
        Looked::Unknown(text()),
    ];
    all.into_iter().map(|looked| {
        let written = serde_json::to_value(looked).unwrap();
        written["outcome"].as_str().unwrap().to_owned()
    })
}

fn words_of_claims() -> impl Iterator<Item = String> {
    let all = [
        Word::DoesNotHold,
        Word::CannotBeTested,
        Word::NotRun,
        Word::Void,
        Word::Undecided,
        Word::Weaker,
        Word::Holds,
        Word::Stronger,
    ];
    all.into_iter().map(|word| word.name().to_owned())
}

fn findings_of_doctor() -> Vec<String> {
    let report = ringside(&["doctor", "--connections", "10", "--format", "json"]).record();
    let findings = report["findings"].as_array().unwrap().iter();
    let names = findings.map(|finding| finding["name"].as_str().unwrap().to_owned());
    let names: Vec<String> = names.collect();
    assert!(names.len() > 20, "{names:?}");
    names
}

/// Those of the table below every help.
fn exit_codes() -> Vec<String> {
    let help = cli::help(None).unwrap();
    let (_, table) = help.split_once("Exit codes:\n").unwrap();
    let first = table.lines().filter_map(|line| line.strip_prefix("  "));
    let codes = first.filter_map(|line| line.split_once(' ').map(|(code, _)| code));
    let codes: Vec<String> = codes
        .filter(|code| code.parse::<u8>().is_ok())
        .map(str::to_owned)
        .collect();
    assert_eq!(codes.len(), 9, "{table}");
    codes
}

/// The code of all crates, each text in one piece.
fn sources() -> String {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("..");
    let mut sources = String::new();
    for entry in fs::read_dir(&root).unwrap() {
        collect(&entry.unwrap().path().join("src"), &mut sources);
    }
    // A text goes on behind a backslash, wherever the next line begins.
    let mut pieces = sources.split("\\\n");
    let first = pieces.next().unwrap_or_default().to_owned();
    pieces.fold(first, |text, piece| text + piece.trim_start())
}

fn collect(folder: &Path, sources: &mut String) {
    let Ok(entries) = fs::read_dir(folder) else {
        return;
    };
    for entry in entries {
        let path = entry.unwrap().path();
        match path.is_dir() {
            true => collect(&path, sources),
            false if path.extension().is_some_and(|end| end == "rs") => {
                sources.push_str(&fs::read_to_string(&path).unwrap());
            }
            false => {}
        }
    }
}

#[test]
fn what_a_record_says_of_a_threshold_is_explained() {
    let server = Server::start(&[]);
    let url = server.at("/");
    let rule = ["--threshold", "p99<1h"];
    let run = ["run", "-n", "3", "--format", "json", &url];
    let record = ringside(&[&run[..], &rule].concat()).record();
    let outcome = record["thresholds"][0]["outcome"].clone();
    let Value::String(outcome) = outcome else {
        panic!("{record}");
    };
    assert_eq!(ringside(&["explain", &outcome]).code, Some(0), "{outcome}");
}
