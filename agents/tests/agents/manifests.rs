//! Manifests are what Kubernetes says that they are.

use std::path::{Path, PathBuf};
use std::process::Command;

use crate::programs::Program;
use crate::skip::skip;

/// The validator, which `.ci/run` installs with the other libraries of Python.
fn validator() -> PathBuf {
    let cache = std::env::var_os("XDG_CACHE_HOME").map(PathBuf::from);
    let home = || PathBuf::from(std::env::var_os("HOME").unwrap_or_default()).join(".cache");
    let folder = cache.unwrap_or_else(home).join("ringside-ci/python/bin");
    folder.join("kubernetes-validate")
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
    let path = folder.to_str().unwrap();
    let words = "--image registry.example/fleet:1 --agents 5 --threads 2";
    let words: Vec<&str> = ["manifests", path]
        .into_iter()
        .chain(words.split(' '))
        .collect();
    let ended = Program::start(&words).end();
    assert_eq!(ended.code, Some(0), "{ended:?}");
    for name in ["namespace", "nats", "agents", "network"] {
        let file = folder.join(format!("{name}.yaml"));
        validated(&program, &file).unwrap_or_else(|why| panic!("{name}: {why}"));
    }
    // The validator sees what is wrong.
    let file = folder.join("agents.yaml");
    let spoilt = std::fs::read_to_string(&file).unwrap();
    std::fs::write(&file, spoilt.replace("parallelism:", "paralelism:")).unwrap();
    assert!(validated(&program, &file).is_err());
}
