//! A fleet on Kubernetes: manifests that `kubectl apply --kustomize` takes, made of templates, with
//! keys of their own.

use std::fs;
use std::path::{Path, PathBuf};

use load::plan::{CONNECTIONS_MAX, THREADS_MAX};

use crate::signed::make_key;

/// The most agents: an indexed Job keeps which of its indexes have failed.
pub const AGENTS_MAX: u32 = 10_000;

/// Its folders: what all have, what has it go on the nodes, and a run.
const FOLDERS: [&str; 4] = ["base", "epoll", "uring", "run"];

/// The template of a file, by its path in the folder.
macro_rules! file {
    ($path:literal) => {
        ($path, include_str!(concat!("manifests/", $path)))
    };
}

const FILES: [(&str, &str); 14] = [
    // Under another name here, where it would hide files of this repository.
    (".gitignore", include_str!("manifests/gitignore")),
    file!("README.md"),
    file!("base/kustomization.yaml"),
    file!("base/namespace.yaml"),
    file!("base/nats.yaml"),
    file!("base/nats.conf"),
    file!("base/agents.yaml"),
    file!("base/policy.toml"),
    file!("base/network.yaml"),
    file!("epoll/kustomization.yaml"),
    file!("uring/kustomization.yaml"),
    file!("uring/seccomp.json"),
    file!("run/kustomization.yaml"),
    file!("run/coordinator.yaml"),
];

/// Connections of a thread, in the run that is there to be changed.
const CONNECTIONS_EACH: u64 = 10;

/// What is to be written, and where.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Manifests {
    folder: PathBuf,
    image: String,
    agents: u32,
    threads: u32,
}

impl Manifests {
    /// For so many agents of an image, with so many threads each.
    ///
    /// # Errors
    /// A sentence: one of them makes no sense.
    pub fn new(
        folder: PathBuf,
        image: &str,
        agents: u32,
        threads: u32,
    ) -> Result<Manifests, String> {
        let is_part = |c: char| c.is_ascii_alphanumeric() || "./:@_-".contains(c);
        if image.is_empty() || !image.chars().all(is_part) {
            return Err(format!("--image {image:?} is no name of an image"));
        }
        if !(1..=AGENTS_MAX).contains(&agents) {
            return Err(format!("--agents {agents}: use 1 to {AGENTS_MAX}"));
        }
        if !(1..=THREADS_MAX).contains(&threads) {
            return Err(format!("--threads {threads}: use 1 to {THREADS_MAX}"));
        }
        Ok(Manifests {
            folder,
            image: image.to_owned(),
            agents,
            threads,
        })
    }

    /// Writes them into a folder that isn't there yet.
    ///
    /// # Errors
    /// A sentence: it is, or can't be written.
    pub fn write(&self) -> Result<(), String> {
        let failed = |path: &Path, why| format!("can't write {}: {why}", path.display());
        fs::create_dir(&self.folder).map_err(|why| failed(&self.folder, why))?;
        for name in FOLDERS {
            let path = self.folder.join(name);
            fs::create_dir(&path).map_err(|why| failed(&path, why))?;
        }
        let agent = make_key(&self.folder.join("base/agent.seed"))?;
        let coordinator = make_key(&self.folder.join("run/coordinator.seed"))?;
        let threads = u64::from(self.agents) * u64::from(self.threads);
        let connections = (threads * CONNECTIONS_EACH).min(CONNECTIONS_MAX.into());
        let values = [
            ("IMAGE", self.image.clone()),
            ("AGENTS", self.agents.to_string()),
            ("THREADS", self.threads.to_string()),
            ("CONNECTIONS", connections.to_string()),
            ("AGENT", agent),
            ("COORDINATOR", coordinator),
        ];
        for (name, template) in FILES {
            let text = filled(template, &values);
            let path = self.folder.join(name);
            fs::write(&path, text).map_err(|why| failed(&path, why))?;
        }
        Ok(())
    }
}

/// A template with values in the places of their names between two `@`. What stands in a value
/// stays as it is.
fn filled(template: &str, values: &[(&str, String)]) -> String {
    let mut text = String::with_capacity(template.len());
    let mut rest = template;
    while let Some((before, behind)) = rest.split_once('@') {
        text.push_str(before);
        let found = values.iter().find_map(|(name, value)| {
            let rest = behind.strip_prefix(name)?.strip_prefix('@')?;
            Some((value, rest))
        });
        match found {
            Some((value, behind)) => {
                text.push_str(value);
                rest = behind;
            }
            None => {
                text.push('@');
                rest = behind;
            }
        }
    }
    text.push_str(rest);
    text
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::policy::Policy;

    #[test]
    fn manifests_say_what_was_asked_for_and_are_never_written_over() {
        let place = tempfile::tempdir().unwrap();
        let folder = place.path().join("fleet");
        let image = "registry.example/load/fleet:1.2@sha256:00ff";
        let manifests = Manifests::new(folder.clone(), image, 12, 3).unwrap();
        manifests.write().unwrap();
        let read = |name: &str| fs::read_to_string(folder.join(name)).unwrap();
        for (name, _) in FILES {
            let is_left = |part: &str| part.starts_with(|c: char| c.is_ascii_uppercase());
            assert!(!read(name).split('@').skip(1).any(is_left), "{name}");
        }
        let agents = read("base/agents.yaml");
        for part in [
            "completions: 12\n",
            "parallelism: 12\n",
            "--threads=3\n",
            "cpu: \"3\"",
            &format!("image: {image}\n"),
        ] {
            assert!(agents.contains(part), "{part}: {agents}");
        }
        let run = read("run/coordinator.yaml");
        for part in ["--agents=12\n", "--threads=3\n", "--connections=360\n"] {
            assert!(run.contains(part), "{part}: {run}");
        }
        assert!(read(".gitignore").lines().any(|line| line == "*.seed"));
        // The policy is one, which lets nothing pass until its owner says what.
        let policy = Policy::of(&read("base/policy.toml")).unwrap();
        let said = policy.check_address("10.0.0.1:80".parse().unwrap());
        assert!(said.unwrap_err().contains("allows no address"));
        let said = manifests.write().unwrap_err();
        assert!(said.contains("can't write"), "{said}");
    }

    #[test]
    fn nothing_is_put_into_what_was_put_into_a_template() {
        let values = [
            ("IMAGE", "x@AGENTS@sha256:0".to_owned()),
            ("AGENTS", "3".to_owned()),
            ("AGENT", "key".to_owned()),
        ];
        let text = filled("a@b @IMAGE@ @AGENTS@ @AGENT@ @@OTHER@", &values);
        assert_eq!(text, "a@b x@AGENTS@sha256:0 3 key @@OTHER@");
    }

    #[test]
    fn what_makes_no_sense_is_refused() {
        for (image, agents, threads, part) in [
            ("a b", 1, 1, "no name of an image"),
            ("a", 0, 1, "--agents 0"),
            ("a", 1, 0, "--threads 0"),
        ] {
            let said = Manifests::new("x".into(), image, agents, threads).unwrap_err();
            assert!(said.contains(part), "{said}");
        }
    }
}
