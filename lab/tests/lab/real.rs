//! The repository's own subjects that are other people's servers: built, started, verified and
//! measured for a moment. One that is not installed is skipped aloud; where `CI` is `true` that is
//! a failure.

use std::path::{Path, PathBuf};

use lab::report::Outcome as How;
use lab::{Event, Options};
use load::Stop;

use crate::support::{alone, left_behind};

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
    let _alone = alone();
    let repository = Path::new(env!("CARGO_MANIFEST_DIR")).join("..");
    let folder = std::env::temp_dir().join(format!("ringside-real-{}", std::process::id()));
    std::fs::create_dir_all(&folder).expect("a temporary folder");
    let file = folder.join("real.toml");
    std::fs::write(&file, COMPARISON).expect("writable");
    let options = Options {
        file,
        out: Some(folder.join("out")),
        subjects: Some(repository.join("subjects")),
        // Kept between runs of the tests, and outside the source: Go takes its time.
        cache: Some(Path::new(env!("CARGO_TARGET_TMPDIR")).join("builds")),
        ringside: PathBuf::from("/nonexistent/ringside"),
        ceiling: Some(false),
        ..Options::default()
    };
    let outcome = lab::compare(&options, &Stop::new(), &mut |event: &Event<'_>| {
        println!("{event}")
    })
    .expect("the comparison can be read");
    assert_eq!(
        left_behind(),
        Vec::<u32>::new(),
        "processes were left behind"
    );
    let mut skipped = Vec::new();
    for row in &outcome.report.subjects {
        match &row.outcome {
            How::Measured => {
                let figures = row.figures.as_ref().expect("measured");
                assert_eq!(figures.rounds, 3, "{}", row.name);
                assert_eq!(figures.failed, 0, "{}: {:?}", row.name, figures.errors);
                assert!(
                    row.version.is_some(),
                    "{} does not say its version",
                    row.name
                );
            }
            How::Missing { install } => skipped.push(format!("{}: {install}", row.name)),
            other => panic!("{}: {other:?}", row.name),
        }
    }
    std::fs::remove_dir_all(&folder).expect("its own folder");
    for sentence in &skipped {
        println!("SKIPPED {sentence}");
    }
    let all_needed = std::env::var("CI").is_ok_and(|value| value == "true");
    assert!(
        skipped.is_empty() || !all_needed,
        "skipped in CI: {skipped:?}"
    );
}
