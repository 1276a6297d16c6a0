//! Documents that are generated: blocks between markers in Markdown files.
//!
//! A block starts with a line `<!-- begin SOURCE -->` and ends with `<!-- end -->`. Everything
//! between is written by `cargo xtask docs` from its source:
//!
//! - `file PATH`: a file of the repository, in a fence unless it is Markdown itself.
//! - `unsafe`: the files that hold `unsafe`, with their reasons.

use std::fs;
use std::path::Path;

use crate::rules::Complaint;
use crate::tables;
use crate::workspace::Workspace;

const BEGIN: &str = "<!-- begin ";
const END: &str = "<!-- end -->";

/// A document as it should be.
struct Document {
    path: String,
    text: String,
}

/// Writes every generated document.
pub(crate) fn write(root: &Path) -> Result<(), String> {
    let workspace = Workspace::read(root)?;
    for document in generate(&workspace).map_err(|complaint| complaint.to_string())? {
        let path = root.join(&document.path);
        fs::write(&path, document.text)
            .map_err(|error| format!("{}: cannot be written: {error}", path.display()))?;
    }
    Ok(())
}

/// Complains about every generated document that is not what it would be if written now.
pub(crate) fn check(workspace: &Workspace) -> Vec<Complaint> {
    let documents = match generate(workspace) {
        Ok(documents) => documents,
        Err(complaint) => return vec![complaint],
    };
    let mut complaints = Vec::new();
    for document in documents {
        let there = workspace
            .files
            .iter()
            .find(|file| file.path == document.path);
        if there.is_none_or(|file| file.text != document.text) {
            complaints.push(Complaint::about(
                &document.path,
                "is stale: run `cargo xtask docs`",
            ));
        }
    }
    complaints
}

fn generate(workspace: &Workspace) -> Result<Vec<Document>, Complaint> {
    let mut documents = Vec::new();
    for file in workspace
        .files
        .iter()
        .filter(|file| file.path.ends_with(".md"))
    {
        if !file.text.contains(BEGIN) {
            continue;
        }
        let text = fill(&file.text, &|source| block(workspace, source))
            .map_err(|text| Complaint::about(&file.path, text))?;
        documents.push(Document {
            path: file.path.clone(),
            text,
        });
    }
    Ok(documents)
}

/// Replaces what stands between the markers of `text`.
fn fill(text: &str, block: &dyn Fn(&str) -> Result<String, String>) -> Result<String, String> {
    let mut filled = String::new();
    let mut lines = text.lines();
    while let Some(line) = lines.next() {
        filled.push_str(line);
        filled.push('\n');
        let Some(rest) = line.strip_prefix(BEGIN) else {
            continue;
        };
        let source = rest
            .strip_suffix(" -->")
            .ok_or(format!("`{line}` lacks its ` -->`"))?;
        filled.push_str(block(source)?.trim_end());
        filled.push_str(&format!("\n{END}\n"));
        if !lines.any(|line| line == END) {
            return Err(format!("`{line}` has no `{END}`"));
        }
    }
    Ok(filled)
}

fn block(workspace: &Workspace, source: &str) -> Result<String, String> {
    match source.split_once(' ') {
        None if source == "unsafe" => Ok(unsafe_table()),
        Some(("file", path)) => included(workspace, path),
        _ => Err(format!(
            "`{source}` is no source: use `file PATH` or `unsafe`"
        )),
    }
}

fn included(workspace: &Workspace, path: &str) -> Result<String, String> {
    let file = workspace.files.iter().find(|file| file.path == path);
    let file = file.ok_or(format!("there is no text file {path}"))?;
    if path.ends_with(".md") {
        return Ok(file.text.clone());
    }
    Ok(format!("```text\n{}\n```", file.text.trim_end()))
}

fn unsafe_table() -> String {
    let mut table = String::from("| file | why |\n|---|---|\n");
    for (path, reason) in tables::UNSAFE_FILES {
        table.push_str(&format!("| `{path}` | {reason} |\n"));
    }
    table
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::workspace::File;

    fn workspace(readme: &str) -> Workspace {
        let help = File::new("help/run.txt", "usage\n").unwrap();
        Workspace {
            files: vec![File::new("README.md", readme).unwrap(), help],
        }
    }

    const FRESH: &str =
        "a\n<!-- begin file help/run.txt -->\n```text\nusage\n```\n<!-- end -->\nb\n";

    #[test]
    fn a_stale_block_is_caught_and_a_fresh_one_is_not() {
        assert_eq!(check(&workspace(FRESH)), []);
        let stale = FRESH.replace("usage", "older usage");
        let expected = Complaint::about("README.md", "is stale: run `cargo xtask docs`");
        assert_eq!(check(&workspace(&stale)), [expected]);
    }

    #[test]
    fn a_block_without_end_or_with_an_unknown_source_is_caught() {
        let open = FRESH.replace(END, "");
        assert!(
            check(&workspace(&open))[0]
                .text
                .contains("has no `<!-- end -->`")
        );
        let unknown = FRESH.replace("file help/run.txt", "weather");
        assert!(
            check(&workspace(&unknown))[0]
                .text
                .contains("`weather` is no source")
        );
        let missing = FRESH.replace("run.txt", "nothing.txt");
        assert_eq!(
            check(&workspace(&missing))[0].text,
            "there is no text file help/nothing.txt"
        );
    }
}
