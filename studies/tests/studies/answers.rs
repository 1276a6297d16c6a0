//! What a subject needs before it is started, what it is asked with, and which answers are right.

use lab::Event;
use lab::manifest::Outcome as How;
use load::Stop;
use studies::compare;

use crate::support::{Arena, beside_others, quick, tiny};

/// How the row `subject` ended, in a comparison of it alone.
fn outcome(arena: &Arena, comparison: &str, subject: &str) -> How {
    let options = arena.comparison(comparison);
    let outcome = compare(&options, &Stop::new(), &mut |event: &Event<'_>| {
        println!("{event}")
    })
    .expect("the comparison begins");
    let rows = &outcome.report.subjects;
    let row = rows.iter().find(|row| row.facts.name == subject);
    row.expect("it is a row").facts.outcome.clone()
}

fn requires(check: &str) -> String {
    format!(
        "[[requires]]\nprogram = \"sh\"\ncheck = [\"sh\", \"-c\", {check:?}]\n\
         install = \"Do so.\"\n"
    )
}

#[test]
fn a_program_that_is_there_but_not_as_needed_is_missing() {
    let _beside = beside_others();
    let arena = Arena::new("check");
    arena
        .subject("fits", &tiny("", &requires("test -d {subject}")))
        .subject("lacks", &tiny("", &requires("echo no; exit 3")))
        .subject(
            "says",
            &tiny("", &(requires("exit 1") + "fails = \"No such core.\"\n")),
        );
    let found = outcome(&arena, &quick(&["fits"], 1), "fits");
    assert!(matches!(found, How::Measured), "{found:?}");
    std::fs::remove_dir_all(arena.folder.join("out")).expect("its own folder");
    let found = outcome(&arena, &quick(&["lacks"], 1), "lacks");
    let told = |found: How| match found {
        How::Missing { install } => install,
        other => panic!("{other:?}"),
    };
    assert_eq!(
        told(found),
        "`sh` is installed, but doesn't pass the subject's check. Do so."
    );
    std::fs::remove_dir_all(arena.folder.join("out")).expect("its own folder");
    let found = outcome(&arena, &quick(&["says"], 1), "says");
    assert_eq!(told(found), "No such core. Do so.");
}

#[test]
fn fields_of_a_request_are_sent_when_answers_are_verified_and_when_they_are_measured() {
    let _beside = beside_others();
    let arena = Arena::new("fields");
    let fields = "headers = { Authorization = \"Bearer key\" }\n";
    arena.subject("locked", &(tiny("asks for a key", "") + fields));
    let without = quick(&["locked"], 1);
    let found = outcome(&arena, &without, "locked");
    let How::Failed { what, .. } = found else {
        panic!("measured without the field: {found:?}");
    };
    assert!(what.contains("401"), "{what}");
    std::fs::remove_dir_all(arena.folder.join("out")).expect("its own folder");
    let with = without.replace("[workload]\n", &format!("[workload]\n{fields}"));
    let found = outcome(&arena, &with, "locked");
    assert!(matches!(found, How::Measured), "{found:?}");
}

#[test]
fn an_answer_whose_digits_vary_is_right_and_one_of_another_length_is_not() {
    let _beside = beside_others();
    let arena = Arena::new("digits");
    let counts = |body: &str| {
        tiny("counts", "").replace(
            "body = \"Hello, World!\"",
            &format!("body = {body:?}\ndigits_vary = true"),
        )
    };
    arena
        .subject("one", &counts("12345"))
        .subject("two", &counts("00000"))
        .subject("short", &counts("1234"));
    let found = outcome(&arena, &quick(&["one", "two"], 1), "two");
    assert!(matches!(found, How::Measured), "{found:?}");
    std::fs::remove_dir_all(arena.folder.join("out")).expect("its own folder");
    let found = outcome(&arena, &quick(&["short"], 1), "short");
    let How::Failed { what, .. } = found else {
        panic!("{found:?}");
    };
    assert!(what.contains("instead of `1234`"), "{what}");
}
