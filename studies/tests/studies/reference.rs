//! The reference names every key of every file: what the readers take stands in the book.

use std::fs;
use std::path::{Path, PathBuf};

use lab::comparison::Comparison;
use studies::claims::{Claim, posts};
use supervisor::subject::Subject;

use crate::support::Arena;

const SUBJECT: &str = r#"
description = "x"
kind = "server"
[[requires]]
program = "x"
install = "x"
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

const COMPARISON: &str = r#"
name = "x"
question = "x"
rounds = 1
[[rows]]
name = "x"
subject = "x"
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
[judge]
[capacity]
slo = ["p99<1s"]
[workload]
path = "/"
connections = 1
"#;

const CLAIM: &str = r#"
id = "X1"
written = "2026-11-23"
claimed = "x"
measured_there = "x"
run_here = "x"
changed = "x"
[statement]
en = "x"
zh = "x"
[source]
post = "X"
sections = ["1"]
[[why]]
from = "text"
says = "x"
[zh]
claimed = "x"
measured_there = "x"
run_here = "x"
changed = "x"
why = ["x"]
[[row]]
name = "x"
rate = 1
[run]
[run.hold]
subject = "x"
connections = 1
for = "1s"
heartbeat = "1s"
heartbeat_timeout = "1s"
retries = 1
[[judge]]
[judge.ratio]
metric = "seconds"
of = "x"
to = "x"
published = 1.0
[[judge]]
[judge.order]
metric = "seconds"
rows = ["x"]
[[judge]]
[judge.figure]
metric = "seconds"
of = "x"
published = 1.0
[[judge]]
[judge.printed]
word = "x"
of = "x"
to = "x"
published = 1.5
[[judge]]
[judge.completes]
of = "x"
[[judge]]
[judge.system_calls]
few = "x"
many = ["y"]
[[judge]]
[judge.pass]
[[judge]]
[judge.errors]
of = "x"
published = "0%"
[[judge]]
[judge.arithmetic]
what = { en = "x", zh = "x" }
from = 1
published = 1
"#;

const POST: &str = r#"
letter = "X"
title = { en = "x", zh = "x" }
[[section]]
number = "1"
title = { en = "x", zh = "x" }
mark = "x"
"#;

/// The examples of the guides can be read as they stand.
#[test]
fn the_examples_of_the_guides_can_be_read() {
    let guides = Path::new(env!("CARGO_MANIFEST_DIR")).join("../docs/src/guides");
    let example = |page: &str| {
        let text = fs::read_to_string(guides.join(page)).unwrap();
        let (_, rest) = text.split_once("```toml\n").expect("an example");
        rest.split("```").next().unwrap().to_owned()
    };
    let arena = Arena::new("reference-guides");
    let subject = example("subjects.md");
    for name in ["my-server", "my-server-before"] {
        arena.subject(name, &subject);
    }
    let options = arena.comparison(&example("compare.md"));
    let comparison = Comparison::read(&options.file, None).unwrap();
    assert_eq!(comparison.rows.len(), 2);
}

/// Puts a key that nobody knows into every table of `text`, one after the other, and looks up in
/// the page what `read` says is known there: where the table's own heading stands, or what `places`
/// says stands there instead.
fn every_key_is_named(
    page: &str,
    text: &str,
    places: &[(&str, &str)],
    read: &dyn Fn(&str) -> Option<String>,
) {
    let book = Path::new(env!("CARGO_MANIFEST_DIR")).join("../docs/src/reference");
    let page_text = fs::read_to_string(book.join(page)).unwrap();
    let tables = text.lines().filter(|line| line.starts_with('['));
    let mut known = 0;
    for table in std::iter::once("").chain(tables) {
        let strange = text.replacen(&format!("{table}\n"), &format!("{table}\nzzz = 1\n"), 1);
        let message = read(&strange).expect("a key that nobody knows is refused");
        let (_, list) = (message.split_once("unknown field `zzz`, expected"))
            .unwrap_or_else(|| panic!("{table}: {message}"));
        let list = list.lines().next().unwrap_or_default();
        let place = match places.iter().find(|(at, _)| *at == table) {
            Some((_, place)) => (*place).to_owned(),
            None => format!("\n## `{table}`\n"),
        };
        let part = part(&page_text, &place);
        for key in list.split('`').skip(1).step_by(2) {
            let names = [
                format!("`{key}`"),
                format!("[{key}]"),
                format!("{{ {key} ="),
                format!("\n{key} = "),
                format!("\n# {key} = "),
            ];
            // A key of the file that is a table has a section of its own.
            let sections = [format!("\n## `[{key}]`\n"), format!("\n## `[[{key}]]`\n")];
            let named = names.iter().any(|name| part.contains(name))
                || table.is_empty() && sections.iter().any(|name| page_text.contains(name));
            assert!(named, "{page} does not name `{key}` of {table} in {part}");
            known += 1;
        }
    }
    assert!(known > 5, "{page}: only {known} keys were found");
}

/// A page from `place` on: a whole section where that is a heading, a line of a table, or else a
/// paragraph and the table below it.
fn part<'a>(page: &'a str, place: &str) -> &'a str {
    let (_, rest) = page
        .split_once(place)
        .unwrap_or_else(|| panic!("the page has no {place:?}"));
    for (heading, next) in [("\n## ", "\n## "), ("\n### ", "\n##")] {
        if place.starts_with(heading) {
            return rest.split(next).next().unwrap_or_default();
        }
    }
    if place.starts_with("\n| `") {
        return rest.lines().next().unwrap_or_default();
    }
    let mut end = 0;
    for (nth, block) in rest.split_inclusive("\n\n").enumerate() {
        if nth > 0 && !block.starts_with('|') {
            break;
        }
        end += block.len();
    }
    &rest[..end]
}

/// A key as a table of the reference has it.
struct Documented {
    key: String,
    kind: String,
    default: String,
}

impl Documented {
    /// The default as it is written in a file, where there's one for every file.
    fn literal(&self) -> Option<&str> {
        let inner = self.default.strip_prefix('`')?.strip_suffix('`')?;
        (!inner.contains('`')).then_some(inner)
    }

    /// A value that is none of its type.
    fn misfit(&self) -> &'static str {
        match self.kind.as_str() {
            "number" | "ratio" | "switch" => "\"x\"",
            // A rate may be a number.
            "rate" | "text or number" => "true",
            "text" | "path" | "time" | "share" | "size" | "command" | "texts" | "commands"
            | "numbers" | "rates" | "sizes" | "names" | "table" | "tables" => "1",
            other => panic!(
                "`{}` has the type {other:?}, which no page explains",
                self.key
            ),
        }
    }
}

/// The keys in the table behind a heading, which has four columns.
fn documented(page: &str, heading: &str) -> Vec<Documented> {
    let book = Path::new(env!("CARGO_MANIFEST_DIR")).join("../docs/src/reference");
    let text = fs::read_to_string(book.join(page)).unwrap();
    let part = part(&text, heading);
    let (_, table) = part
        .split_once("| key | type | default | is |\n")
        .unwrap_or_else(|| panic!("{page}, {heading:?}: no table"));
    let rows = table
        .lines()
        .skip(1)
        .take_while(|line| line.starts_with('|'));
    rows.map(|row| {
        let cells: Vec<&str> = row
            .trim_matches('|')
            .splitn(4, '|')
            .map(str::trim)
            .collect();
        let [key, kind, default, is] = cells[..] else {
            panic!("{row}");
        };
        assert!(!is.is_empty(), "{row}");
        Documented {
            key: key.trim_matches('`').to_owned(),
            kind: kind.to_owned(),
            default: default.to_owned(),
        }
    })
    .collect()
}

/// A file in which `table` says nothing about `key`, or `value`.
fn with(text: &str, table: &str, key: &str, value: Option<&str>) -> String {
    let (mut made, mut at, mut done) = (String::new(), "", false);
    let mut say = |made: &mut String, at: &str| {
        if let (Some(value), false) = (value, done || at != table) {
            done = true;
            made.push_str(&format!("{key} = {value}\n"));
        }
    };
    say(&mut made, at);
    for line in text.lines() {
        if line.starts_with('[') {
            at = line;
        }
        if at != table || !line.starts_with(&format!("{key} = ")) {
            made.push_str(&format!("{line}\n"));
        }
        say(&mut made, at);
    }
    made
}

/// Whether each key of a table has the type and the default that the page says: `read` makes text
/// of what a file means, or says what's wrong with it. Where nothing can be read of `text`, types
/// alone are looked at.
fn types_and_defaults_hold(
    page: &str,
    heading: &str,
    (text, table): (&str, &str),
    read: &dyn Fn(&str) -> Result<String, String>,
) {
    let keys = documented(page, heading);
    assert!(!keys.is_empty(), "{page}, {heading:?}");
    for documented in keys {
        let key = &documented.key;
        if text.contains(&format!(".{key}]\n")) {
            // It stands in the file as a section.
            continue;
        }
        let place = format!("{page}: `{key}` of {table}");
        let misfit = read(&with(text, table, key, Some(documented.misfit())));
        let what = misfit.expect_err(&format!("{place} takes what isn't a {}", documented.kind));
        assert!(
            ["invalid type", "expected"]
                .iter()
                .any(|word| what.contains(word)),
            "{place}: {what}"
        );
        if read(text).is_err() {
            continue;
        }
        let without = read(&with(text, table, key, None));
        if documented.default == "required" {
            assert!(without.is_err(), "{place} isn't required");
            continue;
        }
        let conditional = documented.default.starts_with("required");
        assert!(
            without.is_ok() || conditional,
            "{place} is required: {without:?}"
        );
        if let Some(literal) = documented.literal() {
            let said = read(&with(text, table, key, Some(literal)));
            assert_eq!(said, without, "{place} isn't {literal} by default");
        }
    }
}

/// What was read, without where in the file it stood.
fn meaning(read: &impl std::fmt::Debug) -> String {
    let text = format!("{read:?}");
    let mut parts = text.split("span: ");
    let first = parts.next().unwrap_or_default().to_owned();
    parts.fold(first, |made, part| {
        let rest = part.trim_start_matches(|c: char| c.is_ascii_digit() || c == '.');
        made + rest
    })
}

#[test]
fn the_keys_of_a_subject_have_the_types_and_defaults_that_the_reference_says() {
    let arena = Arena::new("reference-subject-types");
    let folder = arena.folder.join("subjects/x");
    let read = |text: &str| {
        write(&folder, "subject.toml", text);
        let read = Subject::read(&folder);
        read.map(|it| meaning(&it)).map_err(|bad| bad.to_string())
    };
    assert!(read(SUBJECT).is_ok(), "{:?}", read(SUBJECT));
    for table in SUBJECT.lines().filter(|line| line.starts_with('[')) {
        if table != "[companion.ready]" {
            let heading = format!("\n## `{table}`\n");
            types_and_defaults_hold("subject.md", &heading, (SUBJECT, table), &read);
        }
    }
    types_and_defaults_hold("subject.md", "\n## Top level\n", (SUBJECT, ""), &read);
}

#[test]
fn the_keys_of_a_comparison_have_the_types_and_defaults_that_the_reference_says() {
    let arena = Arena::new("reference-comparison-types");
    arena.tiny("x", "").tiny("y", "");
    let folder = arena.folder.join("comparisons");
    let read = |text: &str| {
        let file = write(&folder, "x.toml", text);
        let read = Comparison::read(&file, None);
        read.map(|it| meaning(&it)).map_err(|bad| bad.to_string())
    };
    let least = "subjects = [\"x\", \"y\"]\n[workload]\n[cores]\n[network]\n[judge]\n\
                 [capacity]\nslo = [\"p99<1s\"]\n";
    let phases = "subjects = [\"x\"]\n[[phase]]\nname = \"a\"\nfor = \"1s\"\n";
    let rows = "[[rows]]\nname = \"a\"\nsubject = \"x\"\n";
    for text in [least, phases, rows] {
        assert!(read(text).is_ok(), "{:?}", read(text));
    }
    for (heading, text, table) in [
        ("\n## Top level\n", least, ""),
        ("\n## `[workload]`\n", least, "[workload]"),
        ("\n## `[cores]`\n", least, "[cores]"),
        ("\n## `[judge]`\n", least, "[judge]"),
        ("\n## `[capacity]`\n", least, "[capacity]"),
        ("\n## `[[phase]]`\n", phases, "[[phase]]"),
        ("\n## `[[rows]]`\n", rows, "[[rows]]"),
        ("\n### `generator`\n", COMPARISON, "[rows.generator]"),
        ("\n### `start`\n", COMPARISON, "[rows.start]"),
        ("\n### `limits`\n", COMPARISON, "[rows.limits]"),
        ("\n## `[network]`\n", least, "[network]"),
        ("\n## `[sweep]`\n", COMPARISON, "[sweep]"),
    ] {
        types_and_defaults_hold("comparison.md", heading, (text, table), &read);
    }
}

fn write(folder: &Path, name: &str, text: &str) -> PathBuf {
    fs::create_dir_all(folder).unwrap();
    let path = folder.join(name);
    fs::write(&path, text).unwrap();
    path
}

#[test]
fn the_reference_names_every_key_of_a_subject() {
    let arena = Arena::new("reference-subject");
    let folder = arena.folder.join("subjects/x");
    let places = [
        ("", "\n## Top level\n"),
        ("[companion.ready]", "\n## `[[companion]]`\n"),
    ];
    every_key_is_named("subject.md", SUBJECT, &places, &|text| {
        write(&folder, "subject.toml", text);
        Subject::read(&folder).err().map(|bad| bad.to_string())
    });
}

#[test]
fn the_reference_names_every_key_of_a_comparison() {
    let arena = Arena::new("reference-comparison");
    let folder = arena.folder.join("comparisons");
    let places = [
        ("", "\n## Top level\n"),
        ("[rows.workload]", "\n## `[workload]`\n"),
        ("[rows.generator]", "\n### `generator`\n"),
        ("[rows.start]", "\n### `start`\n"),
        ("[rows.limits]", "\n### `limits`\n"),
        ("[rows.network]", "\n## `[network]`\n"),
    ];
    every_key_is_named("comparison.md", COMPARISON, &places, &|text| {
        let file = write(&folder, "x.toml", text);
        Comparison::read(&file, None)
            .err()
            .map(|bad| bad.to_string())
    });
}

#[test]
fn the_reference_names_every_key_of_a_claim() {
    let arena = Arena::new("reference-claim");
    let folder = arena.folder.join("claims");
    let judged = [
        "[judge.ratio]",
        "[judge.order]",
        "[judge.figure]",
        "[judge.printed]",
        "[judge.pass]",
        "[judge.errors]",
        "[judge.completes]",
        "[judge.system_calls]",
        "[judge.arithmetic]",
    ];
    let lines = [
        "\n| `ratio`",
        "\n| `order`",
        "\n| `figure`",
        "\n| `printed`",
        "\n| `pass`",
        "\n| `errors`",
        "\n| `completes`",
        "\n| `system_calls`",
        "\n| `arithmetic`",
    ];
    let mut places = vec![
        ("", "\n## The file\n"),
        ("[statement]", "\n| `statement`"),
        ("[source]", "\n| `source`"),
        ("[[why]]", "\n`[[why]]`"),
        ("[zh]", "\n`[zh]`"),
        ("[[row]]", "\n`[[row]]`"),
        ("[run]", "\n`[run]`"),
        ("[run.hold]", "\n| key of `[run.hold]`"),
        ("[[judge]]", "\n`[[judge]]`"),
    ];
    places.extend(judged.into_iter().zip(lines));
    every_key_is_named("claims.md", CLAIM, &places, &|text| {
        let file = write(&folder, "x1.toml", text);
        Claim::read(&file).err().map(|bad| bad.to_string())
    });
}

#[test]
fn the_reference_names_every_key_of_a_list_of_a_post() {
    let arena = Arena::new("reference-post");
    let folder = arena.folder.join("posts");
    let places = [
        ("", "\n## The lists of posts\n"),
        ("[[section]]", "\n`[[section]]`"),
    ];
    every_key_is_named("claims.md", POST, &places, &|text| {
        write(&folder, "x.toml", text);
        let (_, faults) = posts::read_all(&folder).expect("a folder");
        faults.first().map(ToString::to_string)
    });
}
