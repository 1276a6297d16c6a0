//! Manifests are what Kubernetes says that they are.

use std::path::{Path, PathBuf};
use std::process::Command;

use serde_json::Value;

use crate::installed::from_ci;
use crate::programs::Program;
use crate::skip::skip;
use crate::yaml::of_yaml;

/// The validator, which `.ci/run` installs with the other libraries of Python.
fn validator() -> PathBuf {
    from_ci("python/bin/kubernetes-validate")
}

fn validated(program: &Path, file: &Path) -> Result<(), String> {
    let said = Command::new(program)
        .arg("--strict")
        .arg(file)
        .output()
        .unwrap();
    match said.status.success() {
        true => Ok(()),
        false => Err(format!(
            "{}{}",
            String::from_utf8_lossy(&said.stdout),
            String::from_utf8_lossy(&said.stderr)
        )),
    }
}

/// Writes manifests for so many agents.
pub(crate) fn written(folder: &Path, agents: &str, threads: &str) {
    let path = folder.to_str().unwrap();
    let words = ["manifests", path, "--image", "registry.example/fleet:1"];
    let more = ["--agents", agents, "--threads", threads];
    let ended = Program::start(&[&words[..], &more].concat()).end();
    assert_eq!(ended.code, Some(0), "{ended:?}");
}

/// What the only container of a Job is started with.
pub(crate) fn command(job: &Path) -> Vec<String> {
    let job = of_yaml(&std::fs::read_to_string(job).unwrap());
    let container = &job["spec"]["template"]["spec"]["containers"][0];
    let words = ["command", "args"].map(|part| container[part].as_array().unwrap());
    let words = words.into_iter().flatten();
    words
        .map(|word| word.as_str().unwrap().to_owned())
        .collect()
}

#[test]
fn what_kustomizations_name_is_there() {
    let place = tempfile::tempdir().unwrap();
    let folder = place.path().join("fleet");
    written(&folder, "5", "2");
    let mut named = 0;
    for name in ["base", "epoll", "uring", "run"] {
        let own = folder.join(name);
        let text = std::fs::read_to_string(own.join("kustomization.yaml")).unwrap();
        let kustomization = of_yaml(&text);
        let generated = ["configMapGenerator", "secretGenerator"];
        let generated = generated.map(|kind| kustomization[kind].as_array());
        let generated = generated.into_iter().flatten().flatten();
        let files = generated.map(|one| &one["files"]);
        for list in files.chain([&kustomization["resources"]]) {
            for path in list.as_array().unwrap() {
                assert!(own.join(path.as_str().unwrap()).exists(), "{name}: {path}");
                named += 1;
            }
        }
    }
    assert_eq!(named, 11);
    // What has agents use io_uring lets them, and is where the README has it put.
    let uring = std::fs::read_to_string(folder.join("uring/kustomization.yaml")).unwrap();
    let readme = std::fs::read_to_string(folder.join("README.md")).unwrap();
    assert!(uring.contains("localhostProfile: ringside/io_uring.json"));
    assert!(readme.contains("seccomp/ringside/io_uring.json"));
    let profile = std::fs::read_to_string(folder.join("uring/seccomp.json")).unwrap();
    let profile: Value = serde_json::from_str(&profile).unwrap();
    assert_eq!(profile["defaultAction"], "SCMP_ACT_ALLOW");
    assert!(!profile["syscalls"].to_string().contains("io_uring"));
}

#[test]
fn manifests_keep_to_the_schemas_of_kubernetes() {
    let program = validator();
    if !program.is_file() {
        return skip(format!(
            "{} isn't there: no manifest is held against a schema",
            program.display()
        ));
    }
    let place = tempfile::tempdir().unwrap();
    let folder = place.path().join("fleet");
    written(&folder, "5", "2");
    let base = ["namespace", "nats", "agents", "network"].map(|name| format!("base/{name}"));
    for name in base.into_iter().chain(["run/coordinator".to_owned()]) {
        let file = folder.join(format!("{name}.yaml"));
        validated(&program, &file).unwrap_or_else(|why| panic!("{name}: {why}"));
    }
    // The validator sees what is wrong.
    let file = folder.join("base/agents.yaml");
    let spoilt = std::fs::read_to_string(&file).unwrap();
    std::fs::write(&file, spoilt.replace("parallelism:", "paralelism:")).unwrap();
    assert!(validated(&program, &file).is_err());
}
