//! GitLab's job: its script as a runner hands it to the shell of the image, with the variables of
//! a merge request.

use std::collections::BTreeMap;
use std::fs;
use std::process::Command;

use quick_junit::Report;
use serde_json::Value;

use super::{WICKED, has_tools, on_path, read, sha, upstream};
use crate::child::{Ended, Folder, assert_says, start, until_judged};
use crate::gate::{git, in_turn};

const FILE: &str = "integrations/gitlab/ringside.gitlab-ci.yml";

/// What the runner runs: its own first lines, and then the lines of the script behind an `eval`.
const RUNNER: &str = r#"
if set -o | grep pipefail > /dev/null; then set -o pipefail; fi
set -o errexit
set +o noclobber
: | eval "$RUNNER_SCRIPT"
exit 0
"#;

fn job() -> Value {
    read(FILE)[".ringside-gate"].clone()
}

/// Runs the script in a clone of `upstream` in which `head` is checked out.
fn run(shell: &str, upstream: &Folder, head: &str, given: &[(&str, &str)]) -> (Folder, Ended) {
    let folder = Folder::new();
    let origin = format!("file://{}", upstream.path("."));
    git(
        &folder,
        &["clone", "--quiet", "--no-checkout", &origin, "builds"],
    );
    let head = sha(upstream, head);
    git(
        &folder,
        &["-C", "builds", "checkout", "--quiet", "--detach", &head],
    );
    let job = job();
    // Those of the platform, those of the file, and then those of whoever extends it.
    let mut variables = BTreeMap::from([
        ("CI_PROJECT_DIR".to_owned(), folder.path("builds")),
        ("CI_MERGE_REQUEST_IID".to_owned(), "7".to_owned()),
        (
            "CI_MERGE_REQUEST_TARGET_BRANCH_SHA".to_owned(),
            String::new(),
        ),
    ]);
    let written = job["variables"].as_object().unwrap().iter();
    let written = written.map(|(name, value)| (name.as_str(), value.as_str().unwrap()));
    for (name, value) in written.chain(given.iter().copied()) {
        let value = variables
            .iter()
            .fold(value.to_owned(), |made, (name, value)| {
                made.replace(&format!("${name}"), value)
            });
        variables.insert(name.to_owned(), value);
    }
    let lines = job["script"].as_array().unwrap().iter();
    let lines: Vec<&str> = lines.map(|line| line.as_str().unwrap()).collect();
    let mut command = Command::new(shell);
    command
        .args(["-c", RUNNER])
        .current_dir(folder.path("builds"));
    command.env_clear().envs(variables);
    command
        .env("PATH", on_path(&folder))
        .env("HOME", folder.path("home"))
        .env("RUNNER_SCRIPT", lines.join("\n"));
    let _turn = in_turn();
    let ended = until_judged(|_| start(&mut command).end(), |ended| ended.code != Some(4));
    (folder, ended)
}

#[test]
fn a_merge_request_that_is_slower_fails_and_one_that_is_quicker_passes() {
    if !has_tools(&["bash", "git"]) {
        return;
    }
    let upstream = upstream();
    let (old, main) = (sha(&upstream, "quick"), sha(&upstream, "main"));
    let server = ("RINGSIDE_SUBJECT", "server");
    // Merged to try it, it's measured beside the newest commit of the target.
    let given = [
        server,
        ("CI_MERGE_REQUEST_DIFF_BASE_SHA", old.as_str()),
        ("CI_MERGE_REQUEST_TARGET_BRANCH_SHA", &main),
    ];
    let (folder, ended) = run("bash", &upstream, "merged", &given);
    assert_eq!(ended.code, Some(99), "{}\n{}", ended.stdout, ended.stderr);
    assert!(
        ended.stdout.starts_with("regression: HEAD answers 0."),
        "{}",
        ended.stdout
    );
    assert_says(&ended.stdout, &format!("the requests of {main}"));
    for path in job()["artifacts"]["paths"].as_array().unwrap() {
        let path = format!("builds/{}gate.md", path.as_str().unwrap());
        let page = fs::read_to_string(folder.path(&path)).unwrap();
        assert!(page.starts_with("### Performance: regression\n"), "{page}");
    }
    let cases = job()["artifacts"]["reports"]["junit"].clone();
    let cases = folder.path(&format!("builds/{}", cases.as_str().unwrap()));
    let cases = Report::deserialize_from_str(&fs::read_to_string(cases).unwrap()).unwrap();
    assert!(cases.failures > 0 && cases.errors == 0, "{cases:?}");
    for path in job()["cache"]["paths"].as_array().unwrap() {
        let kept = folder.path(&format!("builds/{}", path.as_str().unwrap()));
        assert!(fs::read_dir(kept).unwrap().next().is_some(), "{path}");
    }
    // Images without bash have a smaller shell. A name isn't run there either.
    let wicked = format!("origin/{WICKED}");
    let given = [
        server,
        ("RINGSIDE_BASE", wicked.as_str()),
        ("RINGSIDE_HEAD", "origin/main"),
    ];
    let (folder, ended) = run("sh", &upstream, "main", &given);
    assert_eq!(ended.code, Some(0), "{}\n{}", ended.stdout, ended.stderr);
    assert!(
        ended.stdout.starts_with("no regression: "),
        "{}",
        ended.stdout
    );
    assert!(!fs::exists(folder.path("builds/owned")).unwrap());
}

#[test]
fn a_base_that_cannot_be_built_fails_and_what_cannot_be_judged_is_allowed_to() {
    if !has_tools(&["bash", "git"]) {
        return;
    }
    let upstream = upstream();
    let broken = sha(&upstream, "broken");
    let given = [("CI_MERGE_REQUEST_DIFF_BASE_SHA", broken.as_str())];
    let server = ("RINGSIDE_SUBJECT", "server");
    let (_, ended) = run("bash", &upstream, "main", &[given[0], server]);
    assert_eq!(ended.code, Some(1), "{}\n{}", ended.stdout, ended.stderr);
    assert_says(&ended.stdout, "can't be built");
    assert_says(&ended.stdout, "no such module: x");
    // A name of a file isn't made of a pattern.
    let given = [
        ("CI_MERGE_REQUEST_DIFF_BASE_SHA", "origin/quick"),
        ("RINGSIDE_SUBJECT", "server"),
        ("RINGSIDE_ARGUMENTS", "--budget 1ms --redact *"),
    ];
    let (_, ended) = run("bash", &upstream, "merged", &given);
    assert_eq!(ended.code, Some(5), "{}\n{}", ended.stdout, ended.stderr);
    let allowed = &job()["allow_failure"]["exit_codes"];
    assert_eq!(allowed, &serde_json::json!([4, 5]));
    assert_eq!(job()["variables"]["GIT_DEPTH"], "0");
}
