//! Files in the manner of Hurl's own examples: what can be read means what it says, and what isn't
//! supported is refused by its name. None of it is passed over.

use std::fs;
use std::path::{Path, PathBuf};

use flow::{Flow, Given, Session};

use crate::support::{Gone, Said, given, json, status, through};

fn folder() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/hurl")
}

/// What stands before the predicate of an assert, and is found in none of the files' values.
const PREDICATES: [&str; 24] = [
    "==",
    "!=",
    ">",
    ">=",
    "<",
    "lessThanOrEquals",
    "startsWith",
    "endsWith",
    "contains",
    "includes",
    "matches",
    "exists",
    "isEmpty",
    "isInteger",
    "isNumber",
    "isFloat",
    "isBoolean",
    "isString",
    "isList",
    "isCollection",
    "isObject",
    "isIsoDate",
    "isUuid",
    "isIpv4",
];

/// An assert that says the opposite.
fn turned(line: &str) -> String {
    if line.contains(" not ") {
        return line.replacen(" not ", " ", 1);
    }
    // What is looked for may have such signs in it, too.
    let (query, rest) = line.split_once(' ').unwrap();
    let from = match rest.strip_prefix('"').and_then(|rest| rest.find('"')) {
        Some(end) => query.len() + 2 + end,
        None => query.len(),
    };
    let known = PREDICATES.iter().chain(&["isIpv6"]);
    let found = known.filter_map(|word| line[from..].find(&format!(" {word}")));
    let at = from + found.min().unwrap_or_else(|| panic!("{line}"));
    format!("{} not{}", &line[..at], &line[at..])
}

fn gone(text: &str, given: &Given, answer: &Said) -> Gone {
    let mut none = |_: &str| Err("there are no files".to_owned());
    let flow = Flow::parse("a.hurl", text.as_bytes(), given, &mut none);
    let flow = flow.unwrap_or_else(|mistakes| panic!("{mistakes:#?}\n{text}"));
    let mut session = Session::new(&flow, &[], 3);
    through(&mut session, &mut |_| Some(answer.clone()))
}

#[test]
fn each_assert_of_a_file_holds_and_its_opposite_does_not() {
    let filters = r#"{"fruit": ["apple", "banana", "cherry"], "row": "10;20;30",
        "greeting": "Good morning, Bob", "ratio": "0.25", "seven": 7,
        "link": "https://shop.example/?q=café", "note": "<b> & more", "blob": "AP8Q",
        "safe": "-_8", "inner": "{\"a\": [1]}"}"#;
    let whole = fs::read_to_string(folder().join("json.hurl")).unwrap();
    let of_json = whole[whole.find("\n{\n").unwrap() + 1..].replace("{{three}}", "3");
    let answers = status(200)
        .with("Content-Type", "text/plain")
        .with("Set-Cookie", "a=1; Path=/x; Secure")
        .with("Set-Cookie", "b=2; Max-Age=60")
        .body("café");
    let mut turned_count = 0;
    for (name, answer) in [
        ("filters.hurl", json(filters)),
        ("json.hurl", json(of_json.trim_end())),
        ("answers.hurl", answers),
    ] {
        let text = fs::read_to_string(folder().join(name)).unwrap();
        let given = given(&[("e", "é")], &[]);
        gone(&text, &given, &answer).well();
        let lines: Vec<&str> = text.lines().collect();
        let from = lines.iter().position(|line| *line == "[Asserts]").unwrap() + 1;
        let asserts = lines[from..].iter().take_while(|line| **line != "{");
        for (at, line) in asserts.enumerate() {
            let mut lines = lines.clone();
            let opposite = turned(line);
            lines[from + at] = &opposite;
            let why = gone(&lines.join("\n"), &given, &answer).wrong();
            let place = format!("request 1, line {}: ", from + at + 1);
            assert!(why.starts_with(&place), "{name}: {opposite}: {why}");
            turned_count += 1;
        }
    }
    assert!(turned_count > 100, "{turned_count}");
}

#[test]
fn each_file_that_is_not_supported_is_refused_with_all_that_it_names() {
    let mut files = 0;
    for entry in fs::read_dir(folder().join("refused")).unwrap() {
        let path = entry.unwrap().path();
        let text = fs::read_to_string(&path).unwrap();
        let named = text.lines().filter_map(|line| line.strip_prefix("#: "));
        let named: Vec<&str> = named.collect();
        let mistakes = Flow::read(&path, &Given::default()).unwrap_err();
        let told: Vec<String> = mistakes.iter().map(ToString::to_string).collect();
        assert_eq!(told.len(), named.len(), "{told:#?}");
        for (told, named) in told.iter().zip(named) {
            assert!(told.contains(&format!(".hurl:{named}")), "{named}: {told}");
        }
        files += 1;
    }
    assert_eq!(files, 3);
}
