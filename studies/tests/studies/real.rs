//! The repository's own subjects that are other people's servers: built, started, verified and
//! measured for a moment. One that is not installed is skipped aloud; where `CI` is `true` that is
//! a failure.

use std::path::Path;

use lab::manifest::Outcome as How;
use lab::{Event, Options};
use load::Stop;
use studies::Outcome;

use crate::skip::skip;
use crate::support::{Arena, beside_others, left_behind};

const COMPARISON: &str = r#"
name = "real"
question = "Do the subjects work?"
subjects = ["nginx", "go-nethttp", "node-http"]
rounds = 3

[workload]
path = "/json"
connections = 8
window = "100ms"
settle = "30ms"
warm_up = "50ms"
"#;

#[test]
fn nginx_go_and_node_are_built_verified_and_measured() {
    let _beside = beside_others();
    let arena = Arena::new("real");
    let outcome = compare(&arena, COMPARISON, false);
    let mut skipped = Vec::new();
    for row in &outcome.report.subjects {
        match &row.facts.outcome {
            How::Measured => {
                let figures = row.figures.as_ref().expect("measured");
                assert_eq!(figures.rounds, 3, "{}", row.facts.name);
                assert_eq!(
                    figures.failed, 0,
                    "{}: {:?}",
                    row.facts.name, figures.errors
                );
                assert!(
                    row.facts.version.is_some(),
                    "{} does not say its version",
                    row.facts.name
                );
            }
            How::Missing { install } => skipped.push(format!("{}: {install}", row.facts.name)),
            other => panic!("{}: {other:?}", row.facts.name),
        }
    }
    say_what_was_skipped(&skipped);
}

#[test]
fn go_draws_its_own_flame_graph_while_it_is_loaded() {
    let _beside = beside_others();
    let arena = Arena::new("pprof");
    let text = COMPARISON.replace(
        r#"["nginx", "go-nethttp", "node-http"]"#,
        r#"["go-nethttp"]"#,
    );
    let outcome = compare(&arena, &text.replace("rounds = 3", "rounds = 1"), true);
    let row = &outcome.report.subjects[0];
    if let How::Missing { install } = &row.facts.outcome {
        return say_what_was_skipped(&[format!("{}: {install}", row.facts.name)]);
    }
    let kept = |end: &str| {
        let file = outcome.folder.join(format!("profiles/go-nethttp.{end}"));
        std::fs::read(&file).unwrap_or_else(|error| panic!("{}: {error}", file.display()))
    };
    let manifest = std::fs::read_to_string(outcome.folder.join("comparison.json"));
    let manifest = manifest.expect("what is known of the rows");
    assert!(manifest.contains("profiles/go-nethttp.pprof"), "{manifest}");
    assert_eq!(
        kept("pprof")[..2],
        [0x1f, 0x8b],
        "gzip, as `go tool pprof` takes it"
    );
    let folded = String::from_utf8(kept("folded")).expect("names are text");
    assert!(folded.contains("net/http.(*conn).serve;"), "{folded}");
    assert!(folded.contains("main.sayOK"), "the handler: {folded}");
    let picture = String::from_utf8(kept("svg")).expect("text");
    assert!(picture.contains("net/http.(*conn).serve"), "{picture}");
}

/// Compares subjects of the repository.
fn compare(arena: &Arena, text: &str, profile: bool) -> Outcome {
    let repository = Path::new(env!("CARGO_MANIFEST_DIR")).join("..");
    let options = Options {
        subjects: Some(repository.join("subjects")),
        // Kept between runs of the tests, and outside the source: Go takes its time.
        cache: Some(Path::new(env!("CARGO_TARGET_TMPDIR")).join("builds")),
        profile,
        ..arena.comparison(text)
    };
    let outcome = studies::compare(&options, &Stop::new(), &mut |event: &Event<'_>| {
        println!("{event}")
    });
    assert_eq!(
        left_behind(&repository.join("subjects")),
        Vec::<u32>::new(),
        "processes were left behind"
    );
    outcome.expect("the comparison can be read")
}

fn say_what_was_skipped(skipped: &[String]) {
    if !skipped.is_empty() {
        skip(skipped.join("; "));
    }
}
