//! Documents that are generated: whole files, and blocks between markers in Markdown files.
//!
//! Whole files are the JSON Schemas that `ringside schema` prints, the help of each verb, and the
//! book's page of help. A block starts with a line `<!-- begin SOURCE -->` and ends with
//! `<!-- end -->`. Everything between is written by `cargo xtask docs` from its source:
//!
//! - `file PATH`: a file of the repository, in a fence unless it is Markdown itself.
//! - `lines FROM-TO PATH`: some of its lines, in a fence.
//! - `exits`: the exit codes, as the help has them.
//! - `crates`: which crate may import which.
//! - `unsafe`: the files that hold `unsafe`, with their reasons.

use std::fs;
use std::path::Path;

use crate::complaint::Complaint;
use crate::tables;
use crate::workspace::Workspace;

const BEGIN: &str = "<!-- begin ";
const END: &str = "<!-- end -->";

/// Where the JSON Schemas lie, as `NAME.schema.json`.
const SCHEMAS: &str = "schema";
/// Where the help of each verb lies, as `VERB.txt`.
const HELP: &str = "cli/tests/help";
/// The page of the book with the help of every verb.
const HELP_PAGE: &str = "docs/src/reference/help.md";

/// A document as it should be.
struct Document {
    path: String,
    text: String,
}

/// Writes every generated document.
pub(crate) fn write(root: &Path) -> Result<(), String> {
    let workspace = Workspace::read(root)?;
    for document in generate(&workspace, whole()).map_err(|complaint| complaint.to_string())? {
        let path = root.join(&document.path);
        let folder = path.parent().unwrap_or(root);
        fs::create_dir_all(folder)
            .and_then(|()| fs::write(&path, document.text))
            .map_err(|error| format!("{}: cannot be written: {error}", path.display()))?;
    }
    Ok(())
}

/// Complains about every generated document that is not what it would be if written now.
pub(crate) fn check(workspace: &Workspace) -> Vec<Complaint> {
    stale(workspace, whole())
}

fn stale(workspace: &Workspace, whole: Vec<Document>) -> Vec<Complaint> {
    let documents = match generate(workspace, whole) {
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

/// The documents that are generated from first to last line.
fn whole() -> Vec<Document> {
    let schema = |schema: &cli::Schema| Document {
        path: format!("{SCHEMAS}/{}.schema.json", schema.name),
        text: (schema.text)(),
    };
    let mut documents: Vec<Document> = cli::schemas().iter().map(schema).collect();
    let verbs = cli::verbs();
    let mut page = String::from(
        "# Help texts\n\nWhat `ringside --help` and `ringside VERB --help` print, one section per \
         verb.\n",
    );
    for verb in std::iter::once(None).chain(verbs.iter().map(|verb| Some(verb.as_str()))) {
        let name = verb.unwrap_or("ringside");
        let text = cli::help(verb).unwrap_or_default();
        page.push_str(&format!("\n## {name}\n\n{}\n", fenced(&text)));
        documents.push(Document {
            path: format!("{HELP}/{name}.txt"),
            text,
        });
    }
    documents.push(Document {
        path: HELP_PAGE.to_string(),
        text: page,
    });
    documents
}

fn fenced(text: &str) -> String {
    format!("```text\n{}\n```", text.trim_end())
}

/// `whole`, and the Markdown files with their blocks filled anew.
fn generate(workspace: &Workspace, whole: Vec<Document>) -> Result<Vec<Document>, Complaint> {
    let mut filled = Vec::new();
    for file in workspace
        .files
        .iter()
        .filter(|file| file.path.ends_with(".md"))
    {
        if !file.text.contains(BEGIN) {
            continue;
        }
        let text = fill(&file.text, &|source| block(workspace, &whole, source))
            .map_err(|text| Complaint::about(&file.path, text))?;
        filled.push(Document {
            path: file.path.clone(),
            text,
        });
    }
    Ok(whole.into_iter().chain(filled).collect())
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

fn block(workspace: &Workspace, whole: &[Document], source: &str) -> Result<String, String> {
    match source.split_once(' ') {
        None if source == "crates" => Ok(crate_table()),
        None if source == "unsafe" => Ok(unsafe_table()),
        None if source == "exits" => exit_codes(),
        Some(("file", path)) if path.ends_with(".md") => text_of(workspace, whole, path),
        Some(("file", path)) => Ok(fenced(&text_of(workspace, whole, path)?)),
        Some(("lines", rest)) => lines_of(workspace, whole, rest),
        _ => Err(format!(
            "`{source}` is no source: use `file PATH`, `lines FROM-TO PATH`, `crates`, `unsafe` or \
             `exits`"
        )),
    }
}

/// The table of exit codes, which ends the help of the whole program.
fn exit_codes() -> Result<String, String> {
    let help = cli::help(None).unwrap_or_default();
    let (_, table) = help
        .split_once("Exit codes:\n")
        .ok_or("`ringside --help` has no exit codes")?;
    Ok(fenced(table))
}

/// Some lines of a file: `FROM-TO PATH`, both from 1 and included.
fn lines_of(workspace: &Workspace, whole: &[Document], rest: &str) -> Result<String, String> {
    let parts = rest.split_once(' ').and_then(|(range, path)| {
        let (from, to) = range.split_once('-')?;
        Some((from.parse::<usize>().ok()?, to.parse::<usize>().ok()?, path))
    });
    let (from, to, path) = parts.ok_or(format!("`{rest}` is not `FROM-TO PATH`"))?;
    let text = text_of(workspace, whole, path)?;
    let lines: Vec<&str> = text.lines().collect();
    let some = from.checked_sub(1).and_then(|from| lines.get(from..to));
    let some = some.ok_or(format!("{path} has no lines {from} to {to}"))?;
    Ok(fenced(&some.join("\n")))
}

/// What a file holds, as it would be if written now.
fn text_of(workspace: &Workspace, whole: &[Document], path: &str) -> Result<String, String> {
    let new = whole
        .iter()
        .find(|document| document.path == path)
        .map(|document| &document.text);
    let old = || {
        workspace
            .files
            .iter()
            .find(|file| file.path == path)
            .map(|file| &file.text)
    };
    let text = new.or_else(old).cloned();
    text.ok_or(format!("there is no text file {path}"))
}

fn crate_table() -> String {
    let mut table = String::from("| crate | holds | may import |\n|---|---|---|\n");
    for row in tables::CRATES {
        let tests = row.test_imports.iter();
        let imports: Vec<String> = (row.imports.iter().map(|name| (*name).to_owned()))
            .chain(tests.map(|name| format!("{name} in its tests")))
            .collect();
        let imports = if imports.is_empty() {
            "nothing of ours".to_owned()
        } else {
            imports.join(", ")
        };
        table.push_str(&format!("| `{}` | {} | {imports} |\n", row.name, row.holds));
    }
    table
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
        Workspace::of(vec![File::new("README.md", readme).unwrap(), help])
    }

    const FRESH: &str =
        "a\n<!-- begin file help/run.txt -->\n```text\nusage\n```\n<!-- end -->\nb\n";

    #[test]
    fn a_stale_block_is_caught_and_a_fresh_one_is_not() {
        assert_eq!(stale(&workspace(FRESH), Vec::new()), []);
        let text = FRESH.replace("usage", "older usage");
        let expected = Complaint::about("README.md", "is stale: run `cargo xtask docs`");
        assert_eq!(stale(&workspace(&text), Vec::new()), [expected]);
    }

    #[test]
    fn a_block_without_end_or_with_an_unknown_source_is_caught() {
        let open = FRESH.replace(END, "");
        assert!(
            stale(&workspace(&open), Vec::new())[0]
                .text
                .contains("has no `<!-- end -->`")
        );
        let unknown = FRESH.replace("file help/run.txt", "weather");
        assert!(
            stale(&workspace(&unknown), Vec::new())[0]
                .text
                .contains("`weather` is no source")
        );
        let missing = FRESH.replace("run.txt", "nothing.txt");
        assert_eq!(
            stale(&workspace(&missing), Vec::new())[0].text,
            "there is no text file help/nothing.txt"
        );
    }

    #[test]
    fn a_block_of_lines_has_these_lines_and_no_others() {
        let whole = vec![Document {
            path: "a.txt".to_string(),
            text: "one\ntwo\nthree\nfour\n".to_string(),
        }];
        let block = |source| block(&workspace(""), &whole, source);
        assert_eq!(
            block("lines 2-3 a.txt").unwrap(),
            "```text\ntwo\nthree\n```"
        );
        assert_eq!(
            block("lines 2-5 a.txt").unwrap_err(),
            "a.txt has no lines 2 to 5"
        );
        assert_eq!(
            block("lines 3 a.txt").unwrap_err(),
            "`3 a.txt` is not `FROM-TO PATH`"
        );
    }

    #[test]
    fn the_page_of_help_has_every_verb_and_the_codes_are_those_of_the_help() {
        let page = whole().pop().unwrap().text;
        for verb in cli::verbs() {
            assert!(page.contains(&format!("\n## {verb}\n")), "{verb}");
            assert!(page.contains(cli::help(Some(&verb)).unwrap().trim_end()));
        }
        assert!(exit_codes().unwrap().contains("\n  99   "));
    }

    #[test]
    fn a_block_takes_the_new_text_of_a_file_that_is_generated_itself() {
        let whole = || {
            vec![Document {
                path: "help/run.txt".to_string(),
                text: "newer usage\n".to_string(),
            }]
        };
        let paths = |text: &str| -> Vec<String> {
            let complaints = stale(&workspace(text), whole());
            complaints
                .into_iter()
                .map(|complaint| complaint.path)
                .collect()
        };
        assert_eq!(paths(FRESH), ["help/run.txt", "README.md"]);
        assert_eq!(
            paths(&FRESH.replace("usage", "newer usage")),
            ["help/run.txt"]
        );
    }
}
