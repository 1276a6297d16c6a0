//! What the data plane is made of is optimised in a release.
//!
//! A release compiles everything fast and what is named in the workspace's manifest well. A crate
//! that the generator or the server begins to build on, and that nobody names there, would make
//! both slower without a word.

use std::collections::BTreeSet;

use crate::complaint::Complaint;
use crate::tables::Crate;
use crate::workspace::Workspace;

/// The workspace's manifest.
const MANIFEST: &str = "Cargo.toml";
/// Whose every import is on the data plane.
const ROOTS: [&str; 3] = ["gateway", "load", "testserver"];
/// Imported by those, but done before the first exchange.
const BEFORE: [&str; 1] = ["probe"];
/// Imported by those, but done after the last.
const AFTER: [&str; 1] = ["check"];
/// What optimises for speed.
const FAST: i64 = 3;

/// Checks the release profile against what the data plane imports.
pub(super) fn check(workspace: &Workspace, crates: &[Crate]) -> Vec<Complaint> {
    let Some(manifest) = workspace.files().find(|file| file.path == MANIFEST) else {
        return Vec::new();
    };
    let parsed: toml::Table = match manifest.text.parse() {
        Ok(parsed) => parsed,
        Err(error) => return vec![Complaint::about(MANIFEST, format!("is not TOML: {error}"))],
    };
    let packages = parsed
        .get("profile")
        .and_then(|profile| profile.get("release")?.get("package"));
    let level = |name: &str| packages?.get(name)?.get("opt-level")?.as_integer();
    let slow = on_the_data_plane(crates).into_iter();
    let slow = slow.filter(|name| level(&workspace.package(name)) != Some(FAST));
    slow.map(|name| {
        let package = workspace.package(name);
        let text = format!(
            "{name} is on the data plane: write `opt-level = {FAST}` under \
             [profile.release.package.{package}], or name it in xtask/src/rules/optimised.rs as \
             done before the first exchange"
        );
        Complaint::about(MANIFEST, text)
    })
    .collect()
}

/// The roots and all that they import, but what is done before.
fn on_the_data_plane(crates: &[Crate]) -> BTreeSet<&'static str> {
    let mut found = BTreeSet::new();
    let mut open: Vec<&'static str> = ROOTS.to_vec();
    while let Some(name) = open.pop() {
        let Some(row) = crates.iter().find(|row| row.name == name) else {
            continue;
        };
        let waits = BEFORE.contains(&name) || AFTER.contains(&name);
        if !waits && found.insert(row.name) {
            open.extend(row.imports);
        }
    }
    found
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::rules::{made_of, texts};
    use crate::tables::CRATES;

    #[test]
    fn a_crate_that_the_data_plane_begins_to_build_on_is_named() {
        let all = on_the_data_plane(CRATES);
        let wanted = [
            "engine",
            "load",
            "measure",
            "plan",
            "proto",
            "server",
            "testserver",
        ];
        assert!(wanted.iter().all(|name| all.contains(name)), "{all:?}");
        assert!(!all.contains("probe") && !all.contains("lab"), "{all:?}");
        let named = |names: &[&str]| -> String {
            let of = |name: &&str| format!("[profile.release.package.{name}]\nopt-level = 3\n");
            names.iter().map(of).collect()
        };
        let complete: Vec<&str> = all.iter().copied().collect();
        let said = |text: &str| texts(&check(&made_of(&[("Cargo.toml", text)]), CRATES));
        assert_eq!(said(&named(&complete)), Vec::<String>::new());
        let without: Vec<&str> = complete
            .iter()
            .copied()
            .filter(|one| *one != "proto")
            .collect();
        let complaints = said(&named(&without));
        assert_eq!(complaints.len(), 1, "{complaints:?}");
        assert!(
            complaints[0].contains("proto is on the data plane"),
            "{complaints:?}"
        );
    }

    #[test]
    fn a_profile_names_packages_and_not_their_folders() {
        let all: Vec<&str> = on_the_data_plane(CRATES).into_iter().collect();
        let named = |server: &str| -> String {
            let of = |name: &&str| {
                let package = if *name == "server" { server } else { name };
                format!("[profile.release.package.{package}]\nopt-level = 3\n")
            };
            all.iter().map(of).collect()
        };
        let package = "[package]\nname = \"a-server\"\n";
        let said = |text: &str| {
            let files = [("Cargo.toml", text), ("server/Cargo.toml", package)];
            texts(&check(&made_of(&files), CRATES))
        };
        assert_eq!(said(&named("a-server")), Vec::<String>::new());
        let complaints = said(&named("server"));
        assert_eq!(complaints.len(), 1, "{complaints:?}");
        assert!(
            complaints[0].contains("[profile.release.package.a-server]"),
            "{complaints:?}"
        );
    }
}
