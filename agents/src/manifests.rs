//! A fleet on Kubernetes: manifests that `kubectl apply --kustomize` takes, made of templates, with
//! keys of their own.

use std::fs;
use std::path::{Path, PathBuf};

use load::plan::THREADS_MAX;

use crate::signed::make_key;

/// The most agents: an indexed Job keeps which of its indexes have failed.
const AGENTS_MAX: u32 = 10_000;

const FILES: [(&str, &str); 8] = [
    ("README.md", include_str!("manifests/README.md")),
    (
        "kustomization.yaml",
        include_str!("manifests/kustomization.yaml"),
    ),
    ("namespace.yaml", include_str!("manifests/namespace.yaml")),
    ("nats.yaml", include_str!("manifests/nats.yaml")),
    ("nats.conf", include_str!("manifests/nats.conf")),
    ("agents.yaml", include_str!("manifests/agents.yaml")),
    ("policy.toml", include_str!("manifests/policy.toml")),
    ("network.yaml", include_str!("manifests/network.yaml")),
];

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
        let agent = make_key(&self.folder.join("agent.seed"))?;
        let coordinator = make_key(&self.folder.join("coordinator.seed"))?;
        for (name, template) in FILES {
            let text = template
                .replace("@IMAGE@", &self.image)
                .replace("@AGENTS@", &self.agents.to_string())
                .replace("@THREADS@", &self.threads.to_string())
                .replace("@AGENT@", &agent)
                .replace("@COORDINATOR@", &coordinator);
            let path = self.folder.join(name);
            fs::write(&path, text).map_err(|why| failed(&path, why))?;
        }
        Ok(())
    }
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
        let agents = read("agents.yaml");
        for part in [
            "completions: 12\n",
            "parallelism: 12\n",
            "--threads=3\n",
            "cpu: \"3\"",
            &format!("image: {image}\n"),
        ] {
            assert!(agents.contains(part), "{part}: {agents}");
        }
        // The policy is one, which lets nothing pass until its owner says what.
        let policy = Policy::of(&read("policy.toml")).unwrap();
        let said = policy.check_address("10.0.0.1:80".parse().unwrap());
        assert!(said.unwrap_err().contains("allows no address"));
        let said = manifests.write().unwrap_err();
        assert!(said.contains("can't write"), "{said}");
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
