//! What is given to pipelines, `integrations/github` and `integrations/gitlab`: each step runs here
//! as the platform would run it, with real git, bash, curl and jq, on a repository with two
//! revisions of a server. Only the steps that download or compile are left out.
//!
//! As in the tests of gates only gross differences are decided.

mod api;
mod expressions;
mod github;
mod gitlab;

use std::fs;
use std::path::{Path, PathBuf};

use serde_json::Value;

use super::child::{Folder, command, start};
use super::gate::{commit, git, repository, serve};
use super::peers::installed;
use super::yaml::of_yaml;

/// A name of a branch that a script which held it as text would run.
const WICKED: &str = "x\";touch${IFS}owned;\"$(touch${IFS}owned)`touch${IFS}owned`'&";

/// A file of the repository, read as YAML.
fn read(path: &str) -> Value {
    let text = fs::read_to_string(root().join(path)).unwrap();
    of_yaml(&text)
}

fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("..")
}

/// A repository of a server: `main` and the older `quick` answer at once, a branch with a wicked
/// name waits before each answer, `merged` is what comes of both, and `broken` can't be built.
fn upstream() -> Folder {
    let folder = repository();
    for words in [
        &["branch", "quick"][..],
        &["checkout", "--quiet", "-b", WICKED],
    ] {
        git(&folder, words);
    }
    serve(&folder, "0.02");
    commit(&folder);
    git(&folder, &["checkout", "--quiet", "-b", "broken", "main"]);
    folder.write("server/build.sh", "echo no such module: x >&2\nexit 3\n");
    commit(&folder);
    // What GitHub and GitLab make to try a branch: both, merged.
    git(&folder, &["checkout", "--quiet", "-b", "merged", "main"]);
    folder.write("README", "Somebody else was quicker.\n");
    commit(&folder);
    git(&folder, &["branch", "-f", "main"]);
    git(&folder, &["merge", "--quiet", "--message=x", WICKED]);
    folder
}

/// The commit that a revision is.
fn sha(folder: &Folder, revision: &str) -> String {
    let found = git(folder, &["rev-parse", &format!("{revision}^{{commit}}")]);
    found.trim().to_owned()
}

/// Whether what the steps need is there, which has been said where it isn't.
fn has_tools(tools: &[&str]) -> bool {
    tools.iter().all(|tool| installed(tool, "--version"))
}

/// The same steps that the guide shows can be read, and give what there is.
#[test]
fn the_examples_of_the_guide_name_what_is_there() {
    let guide = root().join("docs/src/guides/pull-requests.md");
    let guide = fs::read_to_string(guide).unwrap();
    let action = read("integrations/github/action.yml");
    let (mut uses, mut extended) = (0, 0);
    for block in guide.split("```yaml\n").skip(1) {
        let example = of_yaml(block.split("```").next().unwrap());
        let jobs = example["jobs"].as_object().into_iter().flatten();
        let steps = jobs.flat_map(|(_, job)| job["steps"].as_array().into_iter().flatten());
        for step in steps.filter(|step| step["uses"] == "./.ringside/integrations/github") {
            for (input, _) in step["with"].as_object().into_iter().flatten() {
                assert!(action["inputs"][input].is_object(), "{input}");
            }
            uses += 1;
        }
        if example["performance"]["extends"] == ".ringside-gate" {
            let file = example["include"][0]["local"].as_str().unwrap();
            let job = &read(file)[".ringside-gate"];
            let variables = example["performance"]["variables"].as_object();
            for (name, _) in variables.into_iter().flatten() {
                assert!(job["variables"][name].is_string(), "{name}");
            }
            extended += 1;
        }
    }
    assert_eq!((uses, extended), (1, 1), "one example of each");
}

/// A program under the name `ringside`, as pipelines find it on their PATH.
fn on_path(folder: &Folder) -> String {
    let bin = folder.path("bin");
    fs::create_dir_all(&bin).unwrap();
    let program = env!("CARGO_BIN_EXE_ringside");
    std::os::unix::fs::symlink(program, format!("{bin}/ringside")).unwrap();
    let version = start(command(&["--version"]).current_dir(&bin)).end();
    assert_eq!(version.code, Some(0), "{}", version.stderr);
    format!("{bin}:{}", std::env::var("PATH").unwrap_or_default())
}
