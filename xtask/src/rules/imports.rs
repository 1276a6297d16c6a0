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
    let names = workspace.manifests().map(|(name, _)| name);
    let packages: Vec<_> = names.map(|name| (workspace.package(name), name)).collect();
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
            Ok(mut found) => {
                // Who names a package imports the crate of its folder.
                for dependency in &mut found {
                    let mut packages = packages.iter();
                    let package = packages.find(|(package, _)| *package == dependency.package);
                    if let Some((_, name)) = package {
                        dependency.package = (*name).to_owned();
                    }
                }
                for dependency in &found {
                    complaints.extend(judge(row, file, dependency, crates, confined));
                }
                complaints.extend(unused(row, &found, confined));
            }
        }
    }
    for row in crates {
        if !workspace.manifests().any(|(name, _)| name == row.name) {
            complaints.push(stale(format!("there is no crate {}", row.name)));
        }
    }
    complaints
}

/// What the tables let a crate import that it doesn't: beyond its tests, or at all.
fn unused(row: &Crate, found: &[Dependency], confined: &[(&str, &[&str])]) -> Vec<Complaint> {
    let names = |name: &str, by_tests_too: bool| {
        let mut found = found.iter();
        found.any(|one| one.package == name && (by_tests_too || !one.for_tests))
    };
    let imports = row.imports.iter().filter(|name| !names(name, false));
    let imports = imports.map(|name| stale(format!("{} doesn't import {name}", row.name)));
    let by_tests = row.test_imports.iter().filter(|name| !names(name, true));
    let by_tests = by_tests.map(|name| stale(format!("{}'s tests don't import {name}", row.name)));
    let at_home = |(_, homes): &&(&str, &[&str])| homes.contains(&row.name);
    let confined = confined.iter().filter(at_home);
    let confined = confined.filter(|(package, _)| !names(package, true));
    let confined = confined.map(|(package, _)| stale(format!("{} has no {package}", row.name)));
    imports.chain(by_tests).chain(confined).collect()
}

fn stale(what: String) -> Complaint {
    Complaint::about("xtask/src/tables.rs", format!("stale: {what}"))
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

    const BY_TESTS: &str = "[dev-dependencies]\nserver.workspace = true\n";

    /// About a manifest whose tests import what the table grants them.
    fn complaints(load: &str) -> Vec<String> {
        complaints_about(&format!("{load}\n{BY_TESTS}"))
    }

    fn complaints_about(load: &str) -> Vec<String> {
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
    fn an_import_by_the_name_of_the_package_is_caught() {
        let load = format!("[dependencies]\na-server.path = \"../server\"\n{BY_TESTS}");
        let server = "[package]\nname = \"a-server\"";
        let workspace = made_of(&[("load/Cargo.toml", &load), ("server/Cargo.toml", server)]);
        assert_eq!(
            texts(&check(&workspace, &CRATES, &CONFINED)),
            ["load/Cargo.toml: load must not import server"]
        );
    }

    #[test]
    fn tests_may_import_what_the_table_grants_them() {
        assert_eq!(complaints(""), [""; 0]);
    }

    #[test]
    fn what_the_table_grants_in_vain_is_stale() {
        let expected = ["xtask/src/tables.rs: stale: load's tests don't import server"];
        assert_eq!(complaints_about(""), expected);
        let server = Crate {
            imports: &["measure"],
            ..CRATES[0]
        };
        let measure = Crate {
            name: "measure",
            ..CRATES[0]
        };
        let at_home: [(&str, &[&str]); 1] = [("httparse", &["load"])];
        let workspace = made_of(&[("load/Cargo.toml", BY_TESTS), ("server/Cargo.toml", "")]);
        assert_eq!(
            texts(&check(&workspace, &CRATES, &at_home)),
            ["xtask/src/tables.rs: stale: load has no httparse"]
        );
        // What only the tests of a crate import is granted to them alone.
        let by_tests = "[dev-dependencies]\nmeasure.workspace = true";
        let workspace = made_of(&[("server/Cargo.toml", by_tests), ("measure/Cargo.toml", "")]);
        assert_eq!(
            texts(&check(&workspace, &[server, measure], &CONFINED)),
            ["xtask/src/tables.rs: stale: server doesn't import measure"]
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
        let workspace = made_of(&[("load/Cargo.toml", BY_TESTS), ("new/Cargo.toml", "")]);
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
