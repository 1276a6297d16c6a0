//! The licences of what is linked into the program: each library with its version and licence, and
//! the texts that its package brings, each once.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Write as _;
use std::fs;
use std::path::Path;

use serde_json::Value;

use super::program::{self, Libc, Target};
use crate::cargo;

/// How the names of files begin that a licence asks to be handed on.
const BEGINNINGS: [&str; 6] = [
    "LICENSE",
    "LICENCE",
    "COPYING",
    "COPYRIGHT",
    "NOTICE",
    "UNLICENSE",
];

/// A library that the program is linked with.
#[derive(Debug, PartialEq, Eq, PartialOrd, Ord)]
struct Library {
    name: String,
    version: String,
    /// As SPDX writes it.
    licence: String,
    /// Names and texts.
    texts: Vec<(String, String)>,
}

/// The document about everything that a program for `target` is linked with.
pub(super) fn document(root: &Path, target: &Target) -> Result<Vec<u8>, String> {
    let mut cargo = cargo::cargo(root);
    cargo
        .args(["metadata", "--format-version", "1", "--locked"])
        .args(["--filter-platform", target.triple])
        // Which libraries there are depends on how it's linked.
        .env("CARGO_ENCODED_RUSTFLAGS", program::flags(root))
        .stderr(std::process::Stdio::inherit());
    let output = cargo
        .output()
        .map_err(|error| format!("cargo can't be started: {error}"))?;
    if !output.status.success() {
        return Err("cargo doesn't say what the program is linked with; why stands above".into());
    }
    let metadata = serde_json::from_slice(&output.stdout)
        .map_err(|error| format!("what cargo says of the libraries can't be read: {error}"))?;
    let mut libraries = linked(&metadata)?;
    libraries.sort();
    let mut text = written(&libraries, target);
    if let Libc::Glibc = target.libc {
        let lgpl = fs::read_to_string(LGPL).map_err(|error| {
            format!(
                "{LGPL}: {error}; the packages need the text of glibc's licence, which Debian's \
                 base-files and Ubuntu's install there"
            )
        })?;
        text.push_str(&heading("glibc (LGPL-2.1)"));
        text.push_str(&lgpl);
    }
    Ok(text.into_bytes())
}

/// The libraries of others below the program. What only builds it isn't in it: neither build
/// scripts, nor macros, nor what tests take.
fn linked(metadata: &Value) -> Result<Vec<Library>, String> {
    let list = |value: &Value| value.as_array().cloned().unwrap_or_default();
    let packages = list(&metadata["packages"]);
    let packages: BTreeMap<&str, &Value> = packages
        .iter()
        .filter_map(|package| Some((package["id"].as_str()?, package)))
        .collect();
    let nodes = list(&metadata["resolve"]["nodes"]);
    let nodes: BTreeMap<&str, &Value> = nodes
        .iter()
        .filter_map(|node| Some((node["id"].as_str()?, node)))
        .collect();
    let mut open = Vec::new();
    for (name, _) in program::PROGRAMS {
        let program = packages.iter().find(|(_, it)| it["name"] == name);
        let (program, _) = program.ok_or_else(|| format!("cargo knows no package {name}"))?;
        open.push((*program).to_owned());
    }
    let mut seen: BTreeSet<String> = BTreeSet::new();
    let mut libraries = Vec::new();
    while let Some(id) = open.pop() {
        let Some(package) = packages.get(&*id) else {
            return Err(format!("cargo says nothing of {id}"));
        };
        if is_macro(package) || !seen.insert(id.clone()) {
            continue;
        }
        // Ours have no source, and their licences stand beside this document.
        if !package["source"].is_null() {
            libraries.push(library(package)?);
        }
        for below in list(
            &nodes
                .get(&*id)
                .map_or(Value::Null, |node| node["deps"].clone()),
        ) {
            let kinds = list(&below["dep_kinds"]);
            if kinds.iter().any(|kind| kind["kind"].is_null()) {
                open.push(below["pkg"].as_str().unwrap_or_default().to_owned());
            }
        }
    }
    Ok(libraries)
}

fn is_macro(package: &Value) -> bool {
    let targets = package["targets"].as_array().into_iter().flatten();
    let mut kinds = targets.flat_map(|target| target["kind"].as_array().into_iter().flatten());
    kinds.any(|kind| kind == "proc-macro")
}

/// What a package says of itself, with the files of its folder that its licence is in.
fn library(package: &Value) -> Result<Library, String> {
    let said = |key: &str| package[key].as_str().unwrap_or_default().to_owned();
    let (name, version) = (said("name"), said("version"));
    let manifest = said("manifest_path");
    let folder = Path::new(&manifest).parent().unwrap_or(Path::new("/"));
    let about = |error: std::io::Error| format!("{}: {error}", folder.display());
    let mut texts = Vec::new();
    for entry in fs::read_dir(folder).map_err(about)? {
        let path = entry.map_err(about)?.path();
        let file = path.file_name().unwrap_or_default().to_string_lossy();
        let shouted = file.to_uppercase();
        if path.is_file() && BEGINNINGS.iter().any(|begin| shouted.starts_with(begin)) {
            let text = fs::read(&path).map_err(about)?;
            let text = String::from_utf8_lossy(&text).replace("\r\n", "\n");
            texts.push((file.into_owned(), text.trim_end().to_owned()));
        }
    }
    texts.sort();
    let mut licence = said("license");
    if licence.is_empty() {
        licence = said("license_file");
    }
    if licence.is_empty() && texts.is_empty() {
        return Err(format!(
            "{name} {version} names no licence: it can't be packed"
        ));
    }
    Ok(Library {
        name,
        version,
        licence,
        texts,
    })
}

/// Debian's copy of the licence of glibc, which wants it handed on.
const LGPL: &str = "/usr/share/common-licenses/LGPL-2.1";

/// The document: a list of all libraries, then each text with those it's of.
fn written(libraries: &[Library], target: &Target) -> String {
    let mut text = format!(
        "ringside for {} is linked with these libraries. Their licences follow;\n\
         of one that brings no text of its licence, the list says which it is\n\
         (spdx.org/licenses).\n\n",
        target.triple
    );
    for (name, licence) in target.runtime() {
        text.push_str(&format!("{name}: {licence}\n"));
    }
    let mut texts: BTreeMap<&str, Vec<String>> = BTreeMap::new();
    for library in libraries {
        let Library {
            name,
            version,
            licence,
            ..
        } = library;
        let none = match library.texts.is_empty() {
            true => " (it brings no text)",
            false => "",
        };
        let _ = writeln!(text, "{name} {version}: {licence}{none}");
        for (file, words) in &library.texts {
            let of = texts.entry(words).or_default();
            of.push(format!("{name} {version} ({file})"));
        }
    }
    let mut texts: Vec<(Vec<String>, &str)> =
        texts.into_iter().map(|(words, of)| (of, words)).collect();
    texts.sort();
    for (of, words) in texts {
        text.push_str(&heading(&of.join(",\n")));
        text.push_str(words);
        text.push('\n');
    }
    text
}

/// What stands above the text of a licence of `these`.
fn heading(these: &str) -> String {
    let line = "-".repeat(80);
    format!("\n{line}\n{these}\n\n")
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::super::program::TARGETS;
    use super::*;

    #[test]
    fn what_is_linked_in_is_named_with_its_licence_and_what_only_builds_is_not() {
        let root = crate::workspace::root();
        let text = String::from_utf8(document(&root, &TARGETS[0]).unwrap()).unwrap();
        let (list, texts) = text.split_once("--------").unwrap();
        let named = |name: &str| {
            let begin = format!("{name} ");
            list.lines().any(|line| line.starts_with(&begin))
        };
        // The last is linked into static programs only.
        for library in ["clap", "ring", "rustls", "serde_json", "simple-dns"] {
            assert!(named(library), "{library}: {list}");
        }
        // A macro, what reads sources, what makes packages, and what is ours.
        for other in ["serde_derive", "syn", "clap_mangen", "measure"] {
            assert!(!named(other), "{other}: {list}");
        }
        assert!(list.contains("\nglibc: LGPL-2.1-or-later"), "{list}");
        // The condition of every MIT licence, and who holds the copyright of one library.
        assert!(texts.contains("The above copyright notice and this permission notice"));
        assert!(texts.contains("simple-dns 0."), "its text is missing");
    }

    #[test]
    fn a_text_stands_once_and_a_library_without_one_is_named_with_its_licence() {
        let folder = tempfile::tempdir().unwrap();
        let package = |name: &str, licence: Value, text: Option<&str>| {
            let at = folder.path().join(name);
            fs::create_dir(&at).unwrap();
            if let Some(text) = text {
                fs::write(at.join("License.txt"), text).unwrap();
            }
            fs::write(at.join("README"), "no licence").unwrap();
            library(&json!({
                "name": name,
                "version": "1.0.0",
                "license": licence,
                "manifest_path": at.join("Cargo.toml"),
            }))
        };
        let libraries = [
            package("a", json!("MIT"), Some("Do what you want.\n")).unwrap(),
            package("b", json!("MIT"), Some("Do what you want.\r\n\r\n")).unwrap(),
            package("c", json!("Apache-2.0"), None).unwrap(),
        ];
        let text = written(&libraries, &TARGETS[0]);
        assert_eq!(text.matches("Do what you want.").count(), 1, "{text}");
        assert!(
            text.contains("a 1.0.0 (License.txt),\nb 1.0.0 (License.txt)\n\nDo what"),
            "{text}"
        );
        assert!(
            text.contains("\nc 1.0.0: Apache-2.0 (it brings no text)\n"),
            "{text}"
        );
        let nobody = package("d", Value::Null, None).unwrap_err();
        assert!(nobody.starts_with("d 1.0.0 names no licence"), "{nobody}");
    }
}
