//! Crates import downwards only, and some packages of others stay in one crate.
//!
//! The manifests are the truth: a crate cannot name what its manifest does not list.

use crate::complaint::Complaint;
use crate::tables::Crate;
use crate::workspace::{File, Workspace};

/// Checks every manifest against the table of crates and the table of confined packages.
pub(super) fn check(
    workspace: &Workspace,
    crates: &[Crate],
    confined: &[(&str, &[&str])],
) -> Vec<Complaint> {
    let mut complaints = Vec::new();
    for (name, file) in workspace.manifests() {
        let Some(row) = crates.iter().find(|row| row.name == name) else {
            complaints.push(Complaint::about(
                &file.path,
                format!("crate {name} is not in the table of imports: add it there, on purpose"),
            ));
            continue;
        };
        match dependencies(file) {
            Err(text) => complaints.push(Complaint::about(&file.path, text)),
            Ok(found) => {
                for dependency in &found {
                    complaints.extend(judge(row, file, dependency, crates, confined));
                }
            }
        }
    }
    for row in crates {
        if !workspace.manifests().any(|(name, _)| name == row.name) {
            let text = format!("stale: there is no crate {}", row.name);
            complaints.push(Complaint::about("xtask/src/tables.rs", text));
        }
    }
    complaints
}

/// A dependency as a manifest names it.
struct Dependency {
    package: String,
    for_tests: bool,
}

fn judge(
    row: &Crate,
    file: &File,
    dependency: &Dependency,
    crates: &[Crate],
    confined: &[(&str, &[&str])],
) -> Option<Complaint> {
    let package = dependency.package.as_str();
    if crates.iter().any(|row| row.name == package) {
        let allowed = row.imports.contains(&package)
            || dependency.for_tests && row.test_imports.contains(&package);
        let text = format!("{} must not import {package}", row.name);
        return (!allowed).then(|| Complaint::about(&file.path, text));
    }
    let (_, homes) = confined.iter().find(|(name, _)| *name == package)?;
    if homes.contains(&row.name) {
        return None;
    }
    let homes = if homes.is_empty() {
        "no crate".to_string()
    } else {
        homes.join(", ")
    };
    Some(Complaint::about(
        &file.path,
        format!("{package} belongs to {homes}"),
    ))
}

/// Every dependency of a manifest, also those of a target or of the build script.
fn dependencies(file: &File) -> Result<Vec<Dependency>, String> {
    let manifest: toml::Table = file
        .text
        .parse()
        .map_err(|error| format!("is not TOML: {error}"))?;
    let mut found = Vec::new();
    let targets = manifest.get("target").and_then(toml::Value::as_table);
    let tables = targets
        .into_iter()
        .flat_map(|all| all.values().filter_map(|one| one.as_table()));
    for table in tables.chain([&manifest]) {
        for (section, for_tests) in [
            ("dependencies", false),
            ("build-dependencies", false),
            ("dev-dependencies", true),
        ] {
            let Some(entries) = table.get(section).and_then(toml::Value::as_table) else {
                continue;
            };
            for (name, value) in entries {
                let package = value
                    .get("package")
                    .and_then(toml::Value::as_str)
                    .unwrap_or(name);
                found.push(Dependency {
                    package: package.to_string(),
                    for_tests,
                });
            }
        }
    }
    Ok(found)
}

#[cfg(test)]
mod tests {
    use super::super::{made_of, texts};
    use super::*;

    const CRATES: [Crate; 2] = [
        Crate {
            name: "server",
            holds: "",
            imports: &[],
            test_imports: &[],
        },
        Crate {
            name: "load",
            holds: "",
            imports: &[],
            test_imports: &["server"],
        },
    ];
    const CONFINED: [(&str, &[&str]); 2] = [("clap", &["cli"]), ("tokio", &[])];

    fn complaints(load: &str) -> Vec<String> {
        let workspace = made_of(&[("load/Cargo.toml", load), ("server/Cargo.toml", "")]);
        texts(&check(&workspace, &CRATES, &CONFINED))
    }

    #[test]
    fn an_import_against_the_table_is_caught() {
        let expected = ["load/Cargo.toml: load must not import server"];
        assert_eq!(
            complaints("[dependencies]\nserver.workspace = true"),
            expected
        );
        assert_eq!(
            complaints("[build-dependencies]\nserver.workspace = true"),
            expected
        );
        assert_eq!(
            complaints("[target.'cfg(unix)'.dependencies]\nserver = {}"),
            expected
        );
        assert_eq!(
            complaints("[dependencies]\nother = { package = \"server\" }"),
            expected
        );
    }

    #[test]
    fn tests_may_import_what_the_table_grants_them() {
        assert_eq!(
            complaints("[dev-dependencies]\nserver.workspace = true"),
            [""; 0]
        );
    }

    #[test]
    fn a_confined_package_elsewhere_is_caught() {
        assert_eq!(
            complaints("[dependencies]\nclap = \"4\"\ntokio = \"1\""),
            [
                "load/Cargo.toml: clap belongs to cli",
                "load/Cargo.toml: tokio belongs to no crate"
            ]
        );
    }

    #[test]
    fn an_unknown_crate_and_a_stale_row_are_caught() {
        let workspace = made_of(&[("load/Cargo.toml", ""), ("new/Cargo.toml", "")]);
        assert_eq!(
            texts(&check(&workspace, &CRATES, &CONFINED)),
            [
                "new/Cargo.toml: crate new is not in the table of imports: add it there, on \
                 purpose",
                "xtask/src/tables.rs: stale: there is no crate server"
            ]
        );
    }

    #[test]
    fn a_manifest_that_is_not_toml_is_caught() {
        assert!(complaints("[dependencies")[0].starts_with("load/Cargo.toml: is not TOML"));
    }
}
