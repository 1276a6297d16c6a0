//! The schemas of the TOML files: they take what the readers take, every file of the repository
//! among it, and refuse mistakes that the readers refuse.

use std::collections::BTreeSet;
use std::fs;
use std::path::{Path, PathBuf};

use gate::GateFile;
use lab::comparison::Comparison;
use serde_json::Value;
use supervisor::subject::Subject;

use super::{root, schema};
use crate::child::{Folder, comparison_of_ours};
use crate::record::faults;

/// A subject with every table, and as little in each as can be.
const SUBJECT: &str = r#"
output = "x"
[[requires]]
program = "x"
[build]
commands = [["true"]]
[start]
command = ["true"]
[ready]
path = "/"
[[answer]]
path = "/"
body = "x"
[[companion]]
name = "x"
command = ["true"]
[companion.ready]
path = "/"
[watch]
[limits]
"#;

/// A comparison, likewise.
const COMPARISON: &str = r#"
[[rows]]
name = "x"
subject = "ours"
[rows.workload]
[rows.generator]
command = ["x"]
[rows.start]
[rows.limits]
[rows.network]
[cores]
[network]
[sweep]
[[phase]]
name = "x"
for = "1s"
[[phase.faults]]
at = "1s"
kind = "stop"
[[faults]]
at = "1s"
kind = "stop"
[judge]
[capacity]
slo = ["p99<1s"]
[workload]
"#;

const GATE: &str = "\n[gate]\n[workload]\n";

/// The kinds of files: the schema's name, a file with every table, and where that reads it.
const KINDS: [(&str, &str); 3] = [
    ("comparison-file", COMPARISON),
    ("subject-file", SUBJECT),
    ("gate-file", GATE),
];

/// What the reader of that kind of file says against a text.
fn complaint(folder: &Folder, name: &str, text: &str) -> Option<String> {
    let said = match name {
        "comparison-file" => {
            let file = comparison_of_ours(folder, "", "");
            fs::write(&file, text).unwrap();
            Comparison::read(Path::new(&file), None).map(drop)
        }
        "subject-file" => {
            fs::create_dir_all(folder.path("subject")).unwrap();
            folder.write("subject/subject.toml", text);
            Subject::read(Path::new(&folder.path("subject"))).map(drop)
        }
        _ => {
            let file = PathBuf::from(folder.write("gate.toml", text));
            GateFile::read(Some(&file)).map(drop)
        }
    };
    said.err().map(|bad| bad.to_string())
}

fn json(text: &str) -> Value {
    toml::from_str(text).unwrap_or_else(|error| panic!("{error}: {text}"))
}

/// What the schema of that kind of file says against a text.
fn objections(name: &str, text: &str) -> Vec<String> {
    let schema = schema(name);
    faults(&schema, &schema, &json(text), "file")
}

/// The part of a schema that a table of a file has to keep to.
fn of_table<'s>(whole: &'s Value, table: &str) -> &'s Value {
    let mut at = whole;
    for part in table.trim_matches(['[', ']']).split('.') {
        if part.is_empty() {
            continue;
        }
        at = &at["properties"][part];
        if at["items"].is_object() {
            at = &at["items"];
        }
        if let Some(path) = at["$ref"].as_str() {
            at = whole.pointer(path.trim_start_matches('#')).expect(path);
        }
    }
    at
}

/// The words of a list, whether they stand in quotes or not.
fn listed_words(list: &str) -> BTreeSet<String> {
    let quoted = list.replace('"', "`");
    if quoted.contains('`') {
        return in_backticks(&quoted);
    }
    let words = list.split(|c: char| !c.is_ascii_alphanumeric() && c != '-');
    let words = words.filter(|word| !["", "or"].contains(word));
    words.map(str::to_owned).collect()
}

fn in_backticks(list: &str) -> BTreeSet<String> {
    let quoted = list.split('`').skip(1).step_by(2);
    quoted.map(str::to_owned).collect()
}

#[test]
fn a_schema_has_the_keys_that_the_reader_knows_and_no_others() {
    let folder = Folder::new();
    let mut tables_seen = 0;
    for (name, text) in KINDS {
        let schema = schema(name);
        let tables = text.lines().filter(|line| line.starts_with('['));
        for table in std::iter::once("").chain(tables) {
            if name == "gate-file" && table.is_empty() {
                continue; // It lists no keys; they are tried one by one below.
            }
            let strange = text.replacen(&format!("{table}\n"), &format!("{table}\nzzz = 1\n"), 1);
            let said = complaint(&folder, name, &strange).expect("a key that nobody knows");
            let known = said.split_once("unknown field `zzz`, expected");
            let (_, known) = known.unwrap_or_else(|| panic!("{name}, {table}: {said}"));
            let known = in_backticks(known.lines().next().unwrap_or_default());
            let properties = of_table(&schema, table)["properties"].as_object().unwrap();
            let written: BTreeSet<String> = properties.keys().cloned().collect();
            assert_eq!(written, known, "{name}, {table}");
            tables_seen += 1;
        }
    }
    assert_eq!(tables_seen, 28, "tables of all three");
    let (gate, whole) = (schema("gate-file"), schema("comparison-file"));
    for key in whole["properties"].as_object().unwrap().keys() {
        let takes = ["gate", "judge", "workload", "cores", "network"].contains(&key.as_str());
        let text = match takes {
            true => format!("[{key}]\n"),
            false => format!("{key} = 1\n"),
        };
        let refused = complaint(&folder, "gate-file", &text);
        assert_eq!(
            gate["properties"][key].is_null(),
            refused.is_some(),
            "{key}: {refused:?}"
        );
    }
}

#[test]
fn words_that_a_schema_lists_are_those_that_the_reader_takes() {
    let folder = Folder::new();
    for (name, text) in KINDS {
        let schema = schema(name);
        let tables = text.lines().filter(|line| line.starts_with('['));
        for table in std::iter::once("").chain(tables) {
            if name == "gate-file" && table.is_empty() {
                continue; // These are read with the comparison that is made of it.
            }
            let properties = of_table(&schema, table)["properties"].as_object().unwrap();
            for (key, property) in properties {
                let several = property["items"]["enum"].is_array();
                let words = match several {
                    true => &property["items"]["enum"],
                    false => &property["enum"],
                };
                let Some(words) = words.as_array() else {
                    continue;
                };
                let value = if several { "[\"zzz\"]" } else { "\"zzz\"" };
                let strange = saying(text, table, &format!("{key} = {value}"));
                let said = complaint(&folder, name, &strange)
                    .unwrap_or_else(|| panic!("{name}, {table}, {key}"));
                let place = format!("{name}, {table}, {key}: {said}");
                let (_, listed) = said.split_once("expected").expect(&place);
                let listed = listed.lines().next().unwrap_or_default();
                let words: BTreeSet<String> = words
                    .iter()
                    .map(|word| word.as_str().unwrap().to_owned())
                    .collect();
                assert_eq!(listed_words(listed), words, "{place}");
            }
        }
    }
}

/// A file in which a table says that, and nothing else of the same key.
fn saying(text: &str, table: &str, line: &str) -> String {
    let (key, _) = line.split_once('=').expect("a key");
    let (mut made, mut at) = (String::new(), "");
    for one in text.lines() {
        at = if one.starts_with('[') { one } else { at };
        if at != table || !one.starts_with(key) {
            made.push_str(&format!("{one}\n"));
        }
    }
    made.replacen(&format!("{table}\n"), &format!("{table}\n{line}\n"), 1)
}

/// The files of a kind in a folder of the repository, or one deeper.
fn found(folder: &str, is_it: &dyn Fn(&Path) -> bool) -> Vec<PathBuf> {
    let mut files = Vec::new();
    let mut folders = vec![root().join(folder)];
    while let Some(folder) = folders.pop() {
        for entry in fs::read_dir(folder).unwrap() {
            let path = entry.unwrap().path();
            match path.is_dir() {
                true if path.join("Cargo.toml").exists() && !path.join("subject.toml").exists() => {
                }
                true => folders.push(path),
                false if is_it(&path) => files.push(path),
                false => {}
            }
        }
    }
    files
}

#[test]
fn every_file_of_the_repository_keeps_to_its_schema() {
    let is_comparison = |path: &Path| path.extension().is_some_and(|end| end == "toml");
    let is_subject = |path: &Path| path.ends_with("subject.toml");
    let comparisons = found("comparisons", &is_comparison);
    let subjects = found("subjects", &is_subject);
    assert!(
        comparisons.len() > 70 && subjects.len() > 90,
        "{}",
        subjects.len()
    );
    for (name, files) in [("comparison-file", comparisons), ("subject-file", subjects)] {
        for file in files {
            let text = fs::read_to_string(&file).unwrap();
            assert_eq!(objections(name, &text), [""; 0], "{}", file.display());
        }
    }
    let book = fs::read_to_string(root().join("docs/src/reference/gate.md")).unwrap();
    let (_, example) = book.split_once("```toml\n").unwrap();
    let (example, _) = example.split_once("```").unwrap();
    assert_eq!(objections("gate-file", example), [""; 0]);
}

/// What's right and what's wrong: of comparisons, subjects and gates.
const MISTAKES: [(&str, &[(&str, &str)]); 3] = [
    (
        "comparison-file",
        &[
            ("rounds = 3", "round = 3"),
            ("rounds = 3", "rounds = \"3\""),
            ("precision = \"2%\"", "precision = \"2\""),
            ("engine = \"epoll\"", "engine = \"epol\""),
            ("[workload]\nwindow = \"1m 30s\"", "[workload]\nwindow = 90"),
            (
                "[workload]\nwindow = \"1s\"",
                "[workload]\nwindow = \"one\"",
            ),
            (
                "[workload]\nrate = \"10 k/m\"",
                "[workload]\nrate = \"fast\"",
            ),
            ("[workload]\nrate = 10", "[workload]\nrate = [10]"),
            (
                "[judge]\nequal_rate = \"auto\"",
                "[judge]\nequal_rate = \"aut\"",
            ),
            (
                "[judge]\nfigures = [\"cpu\"]",
                "[judge]\nfigures = [\"cp\"]",
            ),
            ("[cores]\nserver = \"auto\"", "[core]\nserver = \"auto\""),
            ("", "[[rows]]\nsubject = \"ours\""),
        ],
    ),
    (
        "subject-file",
        &[
            ("tls = false", "tls = \"false\""),
            ("version = [\"true\"]", "version = \"true\""),
            ("warm_up = \"350ms\"", "warm_ip = \"350ms\""),
            ("[watch]\nmetrics = \"/m\"", "[watch]\nmetric = \"/m\""),
        ],
    ),
    (
        "gate-file",
        &[
            ("[gate]\nsmallest = \"3%\"", "[gate]\nsmallest = 3"),
            (
                "[gate.smallest_of]\nrate = \"9%\"",
                "[gate.smallest_of]\nrat = \"9%\"",
            ),
            ("[gate]\nbudget = \"3m\"", "[gate]\nbudged = \"3m\""),
            ("seed = 1", "[[phase]]\nname = \"x\"\nfor = \"1s\""),
        ],
    ),
];

#[test]
fn a_mistake_is_refused_by_the_schema_as_by_the_reader() {
    let folder = Folder::new();
    let server = "[start]\ncommand = [\"true\"]\n[[answer]]\npath = \"/\"\nbody = \"x\"\n";
    for (name, mistakes) in MISTAKES {
        let whole = |text: &str| match name {
            "comparison-file" => format!("subjects = [\"ours\"]\n{text}\n"),
            // What is a table stands behind what isn't.
            "subject-file" if text.starts_with('[') => format!("{server}{text}\n"),
            "subject-file" => format!("{text}\n{server}"),
            _ => format!("{text}\n"),
        };
        for (right, wrong) in mistakes {
            assert_eq!(complaint(&folder, name, &whole(right)), None, "{right}");
            assert_eq!(objections(name, &whole(right)), [""; 0], "{right}");
            assert!(complaint(&folder, name, &whole(wrong)).is_some(), "{wrong}");
            assert_ne!(objections(name, &whole(wrong)), [""; 0], "{wrong}");
        }
    }
}
