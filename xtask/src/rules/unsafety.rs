//! `unsafe` stands in listed files only, and every crate root says so to the compiler.

use crate::complaint::Complaint;
use crate::workspace::{File, Workspace};

/// Checks the keyword in every file, and the lint in every crate root.
pub(super) fn check(
    workspace: &Workspace,
    unsafe_crate: &str,
    listed: &[(&str, &str)],
) -> Vec<Complaint> {
    let mut complaints = Vec::new();
    for file in workspace.rust() {
        complaints.extend(keyword(file, listed));
        complaints.extend(root(file, unsafe_crate));
    }
    for (path, _) in listed {
        let needed = workspace
            .rust()
            .any(|file| file.path == *path && first(file).is_some());
        if !needed {
            let text = format!("stale: {path} holds no unsafe any more, take it off the list");
            complaints.push(Complaint::about("xtask/src/tables.rs", text));
        }
    }
    complaints
}

fn first(file: &File) -> Option<usize> {
    file.tokens
        .iter()
        .find(|token| token.text == "unsafe")
        .map(|token| token.line)
}

fn keyword(file: &File, listed: &[(&str, &str)]) -> Option<Complaint> {
    let line = first(file)?;
    if listed.iter().any(|(path, _)| *path == file.path) {
        return None;
    }
    let text = "unsafe in a file that is not listed: do without, or list the file with its reason";
    Some(Complaint::at(&file.path, line, text))
}

fn root(file: &File, unsafe_crate: &str) -> Option<Complaint> {
    let inside = file.path.strip_prefix(file.top())?;
    if !(matches!(inside, "/src/lib.rs" | "/src/main.rs") || inside.starts_with("/src/bin/"))
        || matches!(file.top(), "fuzz" | "subjects")
    {
        return None;
    }
    let level = if file.top() == unsafe_crate {
        "deny"
    } else {
        "forbid"
    };
    let lint = format!("#![{level}(unsafe_code)]");
    if file.text.lines().any(|line| line == lint) {
        return None;
    }
    Some(Complaint::about(
        &file.path,
        format!("a crate's root says `{lint}`"),
    ))
}

#[cfg(test)]
mod tests {
    use super::super::{made_of, texts};
    use super::*;

    const FORBID: &str = "#![forbid(unsafe_code)]\n";

    #[test]
    fn unsafe_in_an_unlisted_file_is_caught_with_its_line() {
        let workspace = made_of(&[("load/src/a.rs", "fn f() {\n    unsafe { g() }\n}\n")]);
        assert_eq!(
            texts(&check(&workspace, "engine", &[])),
            [
                "load/src/a.rs:2: unsafe in a file that is not listed: do without, or list the \
                 file with its reason"
            ]
        );
        assert_eq!(
            check(&workspace, "engine", &[("load/src/a.rs", "because")]),
            []
        );
    }

    #[test]
    fn the_word_in_comments_strings_and_lints_is_not_the_keyword() {
        let text = "// unsafe\n#[allow(unsafe_code)]\nconst A: &str = \"unsafe\";\n";
        assert_eq!(
            check(&made_of(&[("load/src/a.rs", text)]), "engine", &[]),
            []
        );
    }

    #[test]
    fn a_listed_file_without_unsafe_is_stale() {
        let workspace = made_of(&[("engine/src/a.rs", "fn f() {}")]);
        let found = texts(&check(
            &workspace,
            "engine",
            &[("engine/src/a.rs", "because")],
        ));
        assert_eq!(
            found,
            [
                "xtask/src/tables.rs: stale: engine/src/a.rs holds no unsafe any more, take it off \
              the list"
            ]
        );
    }

    #[test]
    fn a_root_without_its_lint_is_caught() {
        let workspace = made_of(&[
            ("load/src/lib.rs", "fn f() {}"),
            ("engine/src/lib.rs", FORBID),
            ("cli/src/main.rs", FORBID),
            ("cli/src/other.rs", ""),
        ]);
        assert_eq!(
            texts(&check(&workspace, "engine", &[])),
            [
                "load/src/lib.rs: a crate's root says `#![forbid(unsafe_code)]`",
                "engine/src/lib.rs: a crate's root says `#![deny(unsafe_code)]`"
            ]
        );
    }
}
