//! A subject that writes and answers what would command whoever looks at it, and that quotes the
//! secrets it is asked with: reports hold neither.

use std::fs;
use std::path::Path;

use lab::Event;
use load::Stop;
use report::Look;
use studies::{Outcome, compare};

use crate::support::{Arena, beside_others, quick, tiny};

/// A comparison of a subject that answers rightly with one that answers this.
fn compared(arena: &Arena, fault: &str) -> Outcome {
    let fields = "headers = { Authorization = \"Bearer canary\" }\n";
    arena
        .subject("good", &(tiny("", "") + fields))
        .subject("bad", &(tiny(fault, "") + fields));
    let asked = quick(&["good", "bad"], 1);
    let asked = asked.replace("[workload]\n", &format!("[workload]\n{fields}"));
    let options = arena.comparison(&asked);
    let mut told = String::new();
    let outcome = compare(&options, &Stop::new(), &mut |event: &Event<'_>| {
        told.push_str(&event.to_string());
    });
    assert_harmless("what is told", &told);
    outcome.expect("the comparison begins")
}

#[track_caller]
fn assert_harmless(what: &str, text: &str) {
    for c in ['\x1b', '\x07', '\u{9b}', '\u{202e}'] {
        assert!(!text.contains(c), "{c:?} is in {what}: {text:?}");
    }
}

/// Every file of a folder but the logs, which subjects write themselves.
fn files(folder: &Path, found: &mut Vec<(String, String)>) {
    for entry in fs::read_dir(folder).expect("a folder").flatten() {
        let path = entry.path();
        let name = path.display().to_string();
        match path.is_dir() {
            true => files(&path, found),
            false if name.ends_with("log") || name.ends_with("key") => {}
            false => found.push((name, fs::read_to_string(&path).expect("text"))),
        }
    }
}

#[test]
fn nothing_that_a_subject_says_is_a_command_in_any_report() {
    let _beside = beside_others();
    let arena = Arena::new("nasty");
    let outcome = compared(&arena, "nasty");
    let mut written = Vec::new();
    files(&outcome.folder, &mut written);
    let look = Look {
        unicode: true,
        colour: false,
        width: 100,
    };
    written.push((
        "terminal".to_owned(),
        report::terminal(&outcome.report, look),
    ));
    let names: Vec<&str> = written.iter().map(|(name, _)| &**name).collect();
    for ending in ["comparison.json", "report.md", "report.csv", "report.html"] {
        assert!(names.iter().any(|name| name.ends_with(ending)), "{names:?}");
    }
    for (name, text) in &written {
        assert_harmless(name, text);
        assert!(!text.contains("canary"), "a secret is in {name}: {text}");
        if name.ends_with("html") {
            assert!(!text.contains("<script>b"), "{text}");
        }
        if name.ends_with("report.md") {
            let said = text.lines().filter(|line| !line.starts_with("    "));
            let said: Vec<&str> = said.collect();
            assert!(said.iter().any(|line| line.contains("answers ")), "{text}");
            for line in said {
                assert!(
                    !line.contains("](http") && !line.contains("<script"),
                    "{line}"
                );
            }
        }
    }
    let manifest = fs::read_to_string(outcome.folder.join("comparison.json")).expect("written");
    // It was said, in words.
    assert!(manifest.contains("u{1b}"), "{manifest}");
}
