//! Links in Markdown: every relative link leads to a file and a heading that exist, every page of
//! the book stands in its summary, and the documents about the code name files that there are.
//!
//! Only the workspace is looked at: addresses with a scheme are never asked.

use std::collections::BTreeSet;

use crate::complaint::Complaint;
use crate::workspace::{File, Workspace};

/// The pages of the book, and the one that lists them.
const BOOK: &str = "docs/src/";
const SUMMARY: &str = "docs/src/SUMMARY.md";

/// The documents about the code, whose paths in backticks are looked up.
const ABOUT_CODE: [&str; 3] = ["ARCHITECTURE.md", "CONTRIBUTING.md", "METHODOLOGY.md"];

/// Checks the links of every Markdown file.
pub(super) fn check(workspace: &Workspace) -> Vec<Complaint> {
    let documents = || (workspace.files.iter()).filter(|file| file.path.ends_with(".md"));
    let mut complaints = Vec::new();
    for file in documents().filter(|file| ABOUT_CODE.contains(&file.path.as_str())) {
        for (line, path) in named(&file.text) {
            if !workspace.holds(path) {
                let text = format!("names {path}, which does not exist");
                complaints.push(Complaint::at(&file.path, line, text));
            }
        }
    }
    for file in documents() {
        for link in links(&file.text) {
            if let Err(text) = follow(workspace, file, &link.target) {
                complaints.push(Complaint::at(&file.path, link.line, text));
            }
        }
    }
    let Some(summary) = documents().find(|file| file.path == SUMMARY) else {
        return complaints;
    };
    let listed: BTreeSet<String> = links(&summary.text)
        .iter()
        .filter_map(|link| resolve(&summary.path, &link.target))
        .collect();
    for page in documents().filter(|file| file.path.starts_with(BOOK)) {
        if page.path != SUMMARY && !listed.contains(&page.path) {
            let text = format!("is missing from {SUMMARY}: add a line for it");
            complaints.push(Complaint::about(&page.path, text));
        }
    }
    complaints
}

/// A link as it is written.
struct Link {
    line: usize,
    target: String,
}

/// The links of a document, those in code left out.
fn links(text: &str) -> Vec<Link> {
    let mut found = Vec::new();
    for (line, words) in prose(text) {
        let mut rest = words.as_str();
        while let Some(at) = rest.find("](") {
            rest = &rest[at + 2..];
            let Some(end) = rest.find(')') else { break };
            // A title may follow the target.
            let target = rest[..end].split_whitespace().next().unwrap_or("");
            let target = target.trim_start_matches('<').trim_end_matches('>');
            found.push(Link {
                line,
                target: target.to_owned(),
            });
            rest = &rest[end + 1..];
        }
        // A definition: `[name]: target`.
        let definition = words
            .strip_prefix('[')
            .and_then(|rest| rest.split_once("]: "));
        if let Some((_, target)) = definition {
            let target = target.split_whitespace().next().unwrap_or("").to_owned();
            found.push(Link { line, target });
        }
    }
    found
}

/// The lines outside of code fences with their numbers, and without what is between backticks.
fn prose(text: &str) -> Vec<(usize, String)> {
    let mut lines = Vec::new();
    let mut fence: Option<&str> = None;
    for (index, line) in text.lines().enumerate() {
        let start = line.trim_start();
        let mark = ["```", "~~~"]
            .into_iter()
            .find(|mark| start.starts_with(mark));
        match (fence, mark) {
            (None, Some(mark)) => fence = Some(mark),
            (Some(open), Some(mark)) if open == mark => fence = None,
            (Some(_), _) => {}
            (None, None) => {
                let parts = line.split('`').enumerate();
                let words = parts.map(|(at, part)| if at % 2 == 0 { part } else { "" });
                lines.push((index + 1, words.collect()));
            }
        }
    }
    lines
}

/// The paths in backticks from the top of the repository, with their lines. Patterns such as
/// `claims/*.toml` are none.
fn named(text: &str) -> Vec<(usize, &str)> {
    let mut found = Vec::new();
    let is_plain = |c: char| c.is_ascii_alphanumeric() || "/._-".contains(c);
    for (index, line) in text.lines().enumerate() {
        let spans = line.split('`').skip(1).step_by(2);
        let paths = spans.filter(|span| {
            let source = span
                .split_once("/src/")
                .is_some_and(|(top, _)| !top.contains('/'));
            (source || span.starts_with("fuzz/")) && span.chars().all(is_plain)
        });
        found.extend(paths.map(|path| (index + 1, path.trim_end_matches('/'))));
    }
    found
}

/// Whether `target` leads somewhere from `file`; says what is wrong otherwise.
fn follow(workspace: &Workspace, file: &File, target: &str) -> Result<(), String> {
    if target.contains("://") || target.starts_with("mailto:") {
        return Ok(());
    }
    let path = resolve(&file.path, target)
        .ok_or_else(|| format!("the link `{target}` leads out of the repository"))?;
    if !workspace.holds(&path) {
        return Err(format!(
            "the link `{target}` leads to {path}, which does not exist"
        ));
    }
    let Some((_, anchor)) = target.split_once('#') else {
        return Ok(());
    };
    let page = workspace.files.iter().find(|file| file.path == path);
    match page.filter(|page| page.path.ends_with(".md")) {
        Some(page) if !anchors(&page.text).contains(anchor) => Err(format!(
            "the link `{target}` leads to #{anchor}, and {path} has no such heading"
        )),
        _ => Ok(()),
    }
}

/// The path that `target` means in the document at `from`; none where it leaves the repository.
fn resolve(from: &str, target: &str) -> Option<String> {
    let path = target.split('#').next().unwrap_or("");
    if path.is_empty() {
        return Some(from.to_owned());
    }
    let mut parts: Vec<&str> = from.split('/').collect();
    parts.pop();
    for part in path.split('/') {
        match part {
            "" | "." => {}
            ".." => {
                parts.pop()?;
            }
            part => parts.push(part),
        }
    }
    Some(parts.join("/"))
}

/// The anchors of a document's headings, as GitHub and mdBook make them.
fn anchors(text: &str) -> BTreeSet<String> {
    let mut anchors = BTreeSet::new();
    let mut fenced = false;
    for line in text.lines() {
        if line.trim_start().starts_with("```") {
            fenced = !fenced;
        }
        let words = line.trim_start_matches('#');
        if fenced || words.len() == line.len() || !words.starts_with(' ') {
            continue;
        }
        let plain = anchor(words.trim());
        let mut name = plain.clone();
        let mut again = 0;
        while !anchors.insert(name) {
            again += 1;
            name = format!("{plain}-{again}");
        }
    }
    anchors
}

fn anchor(heading: &str) -> String {
    let kept = |c: char| match c {
        ' ' => Some('-'),
        '-' | '_' => Some(c),
        c => c.is_alphanumeric().then_some(c),
    };
    heading.to_lowercase().chars().filter_map(kept).collect()
}

#[cfg(test)]
mod tests {
    use super::super::{made_of, texts};
    use super::*;

    fn complaints(page: &str) -> Vec<String> {
        let other = "# Other things\n\n## `run`, in short\n\n## Twice\n\n## Twice\n";
        texts(&check(&made_of(&[
            ("docs/a.md", page),
            ("docs/b/c.md", other),
            ("x.toml", ""),
        ])))
    }

    #[test]
    fn links_to_files_folders_headings_and_addresses_are_fine() {
        let page = "# Top\n[a](b/c.md), [b](../x.toml) and [c](b)\n\
                    [d](b/c.md#other-things) [e](b/c.md#run-in-short) [f](b/c.md#twice-1)\n\
                    [g](#top) [h](https://example.org/no.md) ![i](b/c.md \"title\")\n\
                    [j]: b/c.md\n";
        assert_eq!(complaints(page), [""; 0]);
    }

    #[test]
    fn a_link_to_nothing_is_caught_with_its_line() {
        assert_eq!(
            complaints("fine\n[a](b/d.md)\n"),
            ["docs/a.md:2: the link `b/d.md` leads to docs/b/d.md, which does not exist"]
        );
        assert_eq!(
            complaints("[a]: nowhere.md\n"),
            ["docs/a.md:1: the link `nowhere.md` leads to docs/nowhere.md, which does not exist"]
        );
        assert_eq!(
            complaints("[a](../../x.toml)\n"),
            ["docs/a.md:1: the link `../../x.toml` leads out of the repository"]
        );
    }

    #[test]
    fn a_link_to_a_missing_heading_is_caught() {
        assert_eq!(
            complaints("[a](b/c.md#thrice) [b](b/c.md#twice-2)\n"),
            [
                "docs/a.md:1: the link `b/c.md#thrice` leads to #thrice, and docs/b/c.md has no \
                 such heading",
                "docs/a.md:1: the link `b/c.md#twice-2` leads to #twice-2, and docs/b/c.md has no \
                 such heading"
            ]
        );
    }

    #[test]
    fn code_holds_no_links() {
        let page = "`[a](b/d.md)`\n```text\n[a](b/d.md)\n# no heading\n```\n";
        assert_eq!(complaints(page), [""; 0]);
        let found = complaints(&format!("{page}[a](#no-heading)\n"));
        assert_eq!(found.len(), 1, "{found:?}");
    }

    #[test]
    fn a_document_about_the_code_names_files_that_there_are() {
        let page = "`load/src/run.rs` and `load/src/`, `load/src/*.rs`, `src/none.rs`\n\
                    `load/src/none.rs`\n";
        let code = ("load/src/run.rs", "");
        assert_eq!(
            texts(&check(&made_of(&[("ARCHITECTURE.md", page), code]))),
            ["ARCHITECTURE.md:2: names load/src/none.rs, which does not exist"]
        );
        assert_eq!(check(&made_of(&[("a.md", page), code])), []);
    }

    #[test]
    fn a_page_of_the_book_that_the_summary_lacks_is_caught() {
        let summary = ("docs/src/SUMMARY.md", "- [A](a.md)\n");
        let pages = [summary, ("docs/src/a.md", ""), ("docs/src/b/c.md", "")];
        assert_eq!(
            texts(&check(&made_of(&pages))),
            ["docs/src/b/c.md: is missing from docs/src/SUMMARY.md: add a line for it"]
        );
    }
}
