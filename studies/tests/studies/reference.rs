//! The reference names every key of every file: what the readers take stands in the book.

use std::fs;
use std::path::{Path, PathBuf};

use lab::comparison::Comparison;
use studies::claims::Claim;
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
[cores]
[sweep]
[[phase]]
name = "x"
for = "1s"
[capacity]
slo = ["p99<1s"]
[workload]
path = "/"
connections = 1
"#;

const CLAIM: &str = r#"
id = "X1"
statement = "x"
source = "x"
published = "x"
as_published = "x"
as_here = "x"
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
published = [1.0, 1.0]
[[judge]]
[judge.pass]
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
    assert!(known > 20, "{page}: only {known} keys were found");
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
    ];
    let lines = [
        "\n| `ratio`",
        "\n| `order`",
        "\n| `figure`",
        "\n| `printed`",
        "\n| `pass`",
    ];
    let mut places = vec![
        ("", "\n## The file\n"),
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
