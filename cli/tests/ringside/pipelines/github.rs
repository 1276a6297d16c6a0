//! The action, as a runner of GitHub takes it: its steps in order, each with the environment that
//! the runner gives it, until one fails.

use std::collections::BTreeMap;
use std::fs;
use std::process::Command;

use serde_json::{Map, Value, json};

use super::api::{Api, OWN, TOKEN};
use super::expressions::{filled, holds};
use super::{WICKED, has_tools, on_path, read, root, sha, upstream};
use crate::child::{Ended, Folder, assert_says, start, until_judged};
use crate::gate::{git, in_turn};

const ACTION: &str = "integrations/github/action.yml";

/// What a job is told of the event that it runs for.
struct Event<'a> {
    name: &'a str,
    /// The commit that is checked out.
    sha: &'a str,
    /// The commit that a pull request says it would be merged into.
    base: &'a str,
}

/// A job on a runner: a shallow checkout, and folders and files as the platform has them.
struct Job<'a> {
    folder: Folder,
    api: &'a Api,
    contexts: Value,
}

/// What a step was, and what came of it; `None` for another action.
struct Done {
    name: String,
    ended: Option<Ended>,
}

impl<'a> Job<'a> {
    fn new(upstream: &Folder, api: &'a Api, event: &Event<'_>, inputs: Value) -> Job<'a> {
        let folder = Folder::new();
        for name in ["workspace", "temp", "home"] {
            fs::create_dir(folder.path(name)).unwrap();
        }
        let origin = format!("file://{}", upstream.path("."));
        let depth = "--depth=1";
        // As actions/checkout does it.
        for words in [
            &["init", "--quiet", "workspace"][..],
            &["-C", "workspace", "remote", "add", "origin", &origin],
            &[
                "-C",
                "workspace",
                "fetch",
                "-q",
                "--no-tags",
                depth,
                "origin",
                event.sha,
            ],
            &[
                "-C",
                "workspace",
                "checkout",
                "--quiet",
                "--detach",
                event.sha,
            ],
        ] {
            git(&folder, words);
        }
        let pull = json!({"number": 7, "base": {"sha": event.base}});
        let none = json!({"number": null, "base": {"sha": null}});
        let pulls = event.name.starts_with("pull_request");
        let contexts = json!({
            "inputs": given(inputs),
            "runner": {"temp": folder.path("temp"), "os": "Linux", "arch": "X64"},
            "github": {
                "action_path": root().join("integrations/github"),
                "action_ref": "",
                "sha": event.sha,
                "token": TOKEN,
                "event_name": event.name,
                "event": {"pull_request": if pulls { pull } else { none }},
            },
            "steps": {},
        });
        Job {
            folder,
            api,
            contexts,
        }
    }

    /// Runs the steps until one fails. Those that ran, and the exit code of the job.
    fn run(&mut self) -> (Vec<Done>, i32) {
        let action = read(ACTION);
        let mut done = Vec::new();
        for step in action["runs"]["steps"].as_array().unwrap() {
            let name = step["name"].as_str().unwrap().to_owned();
            let condition = step["if"].as_str();
            // Without a function of states, a step is left out once another has failed.
            if condition.is_some_and(|condition| !holds(condition, &self.contexts)) {
                continue;
            }
            let ended = step["run"]
                .as_str()
                .map(|script| self.run_step(step, script));
            if let (Some(id), Some(_)) = (step["id"].as_str(), &ended) {
                let outputs = self.outputs();
                self.contexts["steps"][id] = json!({"outputs": outputs});
            }
            let code = ended.as_ref().map_or(Some(0), |ended| ended.code);
            done.push(Done { name, ended });
            if code != Some(0) {
                return (done, code.unwrap_or(-1));
            }
        }
        (done, 0)
    }

    fn run_step(&self, step: &Value, script: &str) -> Ended {
        assert!(!script.contains("${{"), "a script is no place for a value");
        assert_eq!(step["shell"], "bash");
        let file = self.folder.write("temp/step.sh", script);
        let words = ["--noprofile", "--norc", "-e", "-o", "pipefail", &file];
        let mut command = Command::new("bash");
        command
            .args(words)
            .current_dir(self.folder.path("workspace"));
        command.env_clear().envs(self.environment());
        for name in ["output", "summary", "env", "path"] {
            let file = format!("temp/{name}");
            if name != "summary" || !fs::exists(self.folder.path(&file)).unwrap() {
                self.folder.write(&file, "");
            }
        }
        for (name, value) in step["env"].as_object().into_iter().flatten() {
            let value = value.as_str().expect("a text");
            command.env(name, filled(value, &self.contexts));
        }
        let ended = start(&mut command).end();
        for unused in ["env", "path"] {
            let file = self.folder.path(&format!("temp/{unused}"));
            assert_eq!(fs::read_to_string(file).unwrap(), "", "the job's {unused}");
        }
        ended
    }

    /// What the runner sets for every step.
    fn environment(&self) -> BTreeMap<&'static str, String> {
        let at = |name: &str| self.folder.path(name);
        let github = &self.contexts["github"];
        let said = |name: &str| github[name].as_str().unwrap().to_owned();
        BTreeMap::from([
            ("PATH", std::env::var("PATH").unwrap_or_default()),
            ("HOME", at("home")),
            ("CI", "true".to_owned()),
            ("RUNNER_TEMP", at("temp")),
            ("GITHUB_WORKSPACE", at("workspace")),
            ("GITHUB_OUTPUT", at("temp/output")),
            ("GITHUB_STEP_SUMMARY", at("temp/summary")),
            ("GITHUB_ENV", at("temp/env")),
            ("GITHUB_PATH", at("temp/path")),
            ("GITHUB_EVENT_NAME", said("event_name")),
            ("GITHUB_SHA", said("sha")),
            ("GITHUB_REPOSITORY", "owner/shop".to_owned()),
            ("GITHUB_RUN_ID", "42".to_owned()),
            ("GITHUB_SERVER_URL", "https://github.com".to_owned()),
            ("GITHUB_API_URL", self.api.url.clone()),
            ("GITHUB_GRAPHQL_URL", format!("{}/graphql", self.api.url)),
        ])
    }

    /// The same, until it's decided.
    fn run_until_judged(&mut self) -> (Vec<Done>, i32) {
        let _turn = in_turn();
        let run = |_| {
            let ran = self.run();
            (ran, self.output("verdict"))
        };
        until_judged(run, |(_, verdict)| verdict != "void").0
    }

    /// What the last step wrote into the file of outputs.
    fn outputs(&self) -> Map<String, Value> {
        let text = fs::read_to_string(self.folder.path("temp/output")).unwrap();
        let pairs = text.lines().map(|line| line.split_once('=').expect(line));
        pairs
            .map(|(name, value)| (name.to_owned(), Value::from(value)))
            .collect()
    }

    /// What the action says of itself in the end.
    fn output(&self, name: &str) -> String {
        let action = read(ACTION);
        let value = action["outputs"][name]["value"].as_str().unwrap();
        filled(value, &self.contexts)
    }

    fn summary(&self) -> String {
        fs::read_to_string(self.folder.path("temp/summary")).unwrap_or_default()
    }
}

/// The inputs with their defaults, as texts; none that the action doesn't have.
fn given(inputs: Value) -> Value {
    let action = read(ACTION);
    let known = action["inputs"].as_object().unwrap();
    let contexts = json!({"github": {"token": TOKEN}});
    let mut all = Map::new();
    for (name, input) in known {
        let default = input["default"].as_str().expect("a text");
        all.insert(name.clone(), Value::from(filled(default, &contexts)));
    }
    all["ringside"] = Value::from(env!("CARGO_BIN_EXE_ringside"));
    all["subject"] = Value::from("server");
    for (name, value) in inputs.as_object().unwrap() {
        assert!(all.contains_key(name), "{name}");
        all[name] = value.clone();
    }
    Value::Object(all)
}

/// All that a job said, for whoever reads why a test failed.
fn told(done: &[Done]) -> String {
    let ran = done.iter().filter_map(|step| {
        let ended = step.ended.as_ref()?;
        Some(format!(
            "== {}: {:?}\n{}{}\n",
            step.name, ended.code, ended.stdout, ended.stderr
        ))
    });
    ran.collect()
}

fn said<'d>(done: &'d [Done], name: &str) -> &'d str {
    let step = done.iter().find(|step| step.name == name).expect(name);
    &step.ended.as_ref().expect(name).stdout
}

const TOOLS: [&str; 4] = ["bash", "git", "curl", "jq"];

#[test]
fn a_pull_request_that_is_slower_fails_with_a_summary_records_and_one_comment() {
    if !has_tools(&TOOLS) {
        return;
    }
    let upstream = upstream();
    let mark = "<!-- ringside gate server -->\nperfectly fine";
    let mut others = vec![("somebody", "hello"); 120];
    others.push(("mallory", mark));
    let api = Api::start(&others, true);
    // What it was merged into is newer than what the event says.
    let (merged, old) = (sha(&upstream, "merged"), sha(&upstream, "quick"));
    let event = Event {
        name: "pull_request",
        sha: &merged,
        base: &old,
    };
    let mut job = Job::new(&upstream, &api, &event, json!({}));
    let (done, code) = job.run_until_judged();
    assert_eq!(code, 99, "{}", told(&done));
    assert_says(said(&done, "Judge"), "::error::A regression is proven.");
    let summary = job.summary();
    assert_says(&summary, "### Performance: regression\n");
    assert_says(&summary, &sha(&upstream, "main"));
    let report = job.output("report");
    for file in ["gate.json", "gate.md", "report.html", "comparison.json"] {
        assert!(fs::exists(format!("{report}/{file}")).unwrap(), "{file}");
    }
    assert_eq!(job.output("verdict"), "regression");
    assert_eq!(job.output("exit-code"), "99");
    // The builds lie where the action keeps them.
    let builds = job.folder.path("home/.cache/ringside/builds");
    assert!(fs::read_dir(builds).unwrap().next().is_some());
    let comment = &api.by(OWN)[..];
    assert_eq!(comment.len(), 1, "{}", told(&done));
    assert!(
        comment[0].starts_with("<!-- ringside gate server -->\n### Performance: regression\n"),
        "{}",
        comment[0]
    );
    let link = "[Records and reports](https://github.com/owner/shop/actions/runs/42)";
    assert_says(&comment[0], link);
    // The next push is quicker: the comment is another one then, and those of others aren't.
    let inputs = json!({"base": WICKED, "head": "main"});
    let mut job = Job::new(&upstream, &api, &event, inputs);
    let (done, code) = job.run_until_judged();
    assert_eq!(code, 0, "{}", told(&done));
    assert_eq!(job.output("verdict"), "no_regression");
    let comments = api.by(OWN);
    assert_eq!(comments.len(), 1);
    assert_says(&comments[0], "\n### Performance: no regression\n");
    assert_eq!(api.by("mallory"), [mark]);
    let workspace = job.folder.path("workspace");
    let ran = fs::exists(format!("{workspace}/owned")).unwrap();
    assert!(!ran, "a branch's name was run: {}", told(&done));
}

#[test]
fn a_base_that_cannot_be_built_fails_with_the_end_of_its_log_even_where_comments_are_refused() {
    if !has_tools(&TOOLS) {
        return;
    }
    let upstream = upstream();
    // A fork's token only reads.
    let api = Api::start(&[], false);
    let main = sha(&upstream, "main");
    let event = Event {
        name: "pull_request",
        sha: &main,
        base: &main,
    };
    let mut job = Job::new(&upstream, &api, &event, json!({"base": "broken"}));
    let (done, code) = job.run();
    assert_eq!(code, 1, "{}", told(&done));
    assert_eq!(job.output("verdict"), "failed");
    let summary = job.summary();
    assert_says(&summary, "### Performance: not measured");
    assert_says(&summary, "can't be built");
    assert_says(&summary, "    no such module: x\n");
    assert_says(
        said(&done, "Comment on the pull request"),
        "::notice::The comment couldn't be written",
    );
    assert_eq!(api.by(OWN), [""; 0]);
    // What a server's log says isn't said to the runner.
    let measured = said(&done, "Measure base and head");
    let (_, token) = measured.split_once("::stop-commands::").unwrap();
    let token = token.lines().next().unwrap();
    assert_eq!(token.len(), 32, "{measured}");
    assert!(measured.ends_with(&format!("::{token}::\n")), "{measured}");
}

#[test]
fn what_cannot_be_judged_warns_or_fails_as_it_is_wanted() {
    if !has_tools(&TOOLS) {
        return;
    }
    let upstream = upstream();
    let api = Api::start(&[], true);
    let main = sha(&upstream, "main");
    let event = Event {
        name: "push",
        sha: &main,
        base: "",
    };
    for (undecided, expected) in [("warn", 0), ("fail", 5)] {
        let inputs = json!({
            "base": WICKED,
            "arguments": "--budget\n1ms",
            "undecided": undecided,
        });
        let mut job = Job::new(&upstream, &api, &event, inputs);
        let (done, code) = job.run();
        assert_eq!(code, expected, "{}", told(&done));
        assert_eq!(job.output("verdict"), "cannot_tell");
        assert_says(said(&done, "Judge"), "::warning::The gate couldn't judge");
        assert_eq!(api.by(OWN), [""; 0], "there's no pull request");
    }
}

#[test]
fn what_cannot_be_gated_is_refused_before_anything_is_built() {
    if !has_tools(&TOOLS) {
        return;
    }
    let upstream = upstream();
    let api = Api::start(&[], true);
    let main = sha(&upstream, "main");
    let at = |name| Event {
        name,
        sha: &main,
        base: "",
    };
    for (event, inputs, why) in [
        (at("pull_request_target"), json!({}), "a token that writes"),
        (at("push"), json!({}), "::error::There is no base"),
        (at("push"), json!({"base": "nowhere"}), "set fetch-depth 0"),
        (
            at("push"),
            json!({"base": "--upload-pack=touch owned"}),
            "of the input base",
        ),
        (
            at("push"),
            json!({"base": "main:refs/heads/main"}),
            "of the input base",
        ),
        (
            at("push"),
            json!({"base": "main", "head": "-x"}),
            "of the input head",
        ),
    ] {
        let mut job = Job::new(&upstream, &api, &event, inputs);
        let (done, code) = job.run();
        assert_eq!(code, 2, "{}", told(&done));
        assert_says(said(&done, "Find the revisions"), why);
        assert!(!fs::exists(job.folder.path("temp/ringside-gate.json")).unwrap());
        assert!(!fs::exists(job.folder.path("workspace/owned")).unwrap());
    }
}

#[test]
fn other_actions_are_named_by_commits_and_what_builds_the_program_is_there() {
    let text = fs::read_to_string(root().join(ACTION)).unwrap();
    let used = text.lines().filter_map(|line| line.split_once("uses: "));
    let used: Vec<&str> = used.map(|(_, action)| action).collect();
    assert_eq!(used.len(), 3, "{used:?}");
    for action in used {
        let (_, pin) = action.split_once('@').expect(action);
        let (commit, version) = pin.split_once(" # v").expect("a version for people");
        let is_hex = commit.bytes().all(|byte| byte.is_ascii_hexdigit());
        assert!(commit.len() == 40 && is_hex && !version.is_empty(), "{pin}");
    }
    // The step that compiles: of a checkout in which that program is.
    let action = read(ACTION);
    let steps = action["runs"]["steps"].as_array().unwrap();
    let named = |name: &str| steps.iter().find(|step| step["name"] == name).unwrap();
    let build = named("Build ringside");
    assert_says(
        build["run"].as_str().unwrap(),
        "\ncargo build --release --locked --bin ringside\n",
    );
    let source = build["env"]["SOURCE"].as_str().unwrap();
    let path = root().join("integrations/github").display().to_string();
    let source = filled(source, &json!({"github": {"action_path": path}}));
    let said = Command::new("cargo")
        .args([
            "metadata",
            "--locked",
            "--offline",
            "--no-deps",
            "--format-version=1",
        ])
        .current_dir(source)
        .output()
        .unwrap();
    let metadata: Value = serde_json::from_slice(&said.stdout).unwrap();
    let packages = metadata["packages"].as_array().unwrap().iter();
    let mut targets = packages.flat_map(|package| package["targets"].as_array().unwrap());
    let is_it = |target: &Value| target["name"] == "ringside" && target["kind"][0] == "bin";
    assert!(targets.any(is_it), "cargo builds no ringside there");
}

#[test]
fn what_was_built_is_kept_by_what_it_was_built_of() {
    if !has_tools(&["bash", "git"]) {
        return;
    }
    let folder = Folder::new();
    folder.write("file", "of ringside");
    git(&folder, &["init", "--quiet"]);
    git(&folder, &["add", "file"]);
    git(&folder, &["commit", "--quiet", "-m", "a commit"]);
    let commit = git(&folder, &["rev-parse", "HEAD"]);
    let action = read(ACTION);
    let steps = action["runs"]["steps"].as_array().unwrap();
    let named = |name: &str| steps.iter().find(|step| step["name"] == name).unwrap();
    let find = &named("Find the source of ringside")["run"];
    for (of_action, revision) in [("", commit.trim()), ("v1", "v1")] {
        let (source, output) = (folder.path("."), folder.write("output", ""));
        let given = [
            ("SOURCE", &*source),
            ("ACTION_REF", of_action),
            ("GITHUB_OUTPUT", &output),
        ];
        let mut script = Command::new("bash");
        script
            .args(["-e", "-c", find.as_str().unwrap()])
            .envs(given);
        assert!(script.status().unwrap().success());
        let said = fs::read_to_string(&output).unwrap();
        assert_eq!(said, format!("revision={revision}\n"));
    }
    let key = &named("Keep the build of ringside")["with"]["key"];
    assert_says(key.as_str().unwrap(), "steps.source.outputs.revision");
}

#[test]
fn every_input_is_used_and_a_program_that_is_not_there_fails_at_once() {
    let text = fs::read_to_string(root().join(ACTION)).unwrap();
    for (name, input) in read(ACTION)["inputs"].as_object().unwrap() {
        assert_says(&text, &format!("inputs.{name}"));
        assert!(input["description"].is_string(), "{name}");
    }
    if !has_tools(&TOOLS) {
        return;
    }
    let upstream = upstream();
    let api = Api::start(&[], true);
    let main = sha(&upstream, "main");
    let event = Event {
        name: "push",
        sha: &main,
        base: "",
    };
    let mut job = Job::new(
        &upstream,
        &api,
        &event,
        json!({"ringside": "/nowhere/ringside"}),
    );
    let (done, code) = job.run();
    assert_eq!(code, 127, "{}", told(&done));
    assert_eq!(done.last().unwrap().name, "Find ringside");
    // One that is on the PATH may be named alone.
    let path = on_path(&upstream);
    assert!(path.starts_with(&upstream.path("bin")));
}
