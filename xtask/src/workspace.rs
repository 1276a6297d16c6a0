//! The files of the workspace as the rules see them: paths, texts and tokens, nothing of the disk.

use std::collections::BTreeSet;
use std::fs;
use std::path::{Path, PathBuf};

use proc_macro2::{TokenStream, TokenTree};

/// Folders that are not ours to judge: build output and what fuzzing leaves behind.
const SKIPPED: [&str; 5] = [
    "target",
    "corpus",
    "artifacts",
    "ringside-out",
    "node_modules",
];

/// Endings of the files that a person writes and reads.
const TEXTS: [&str; 11] = [
    ".rs",
    ".md",
    ".toml",
    ".sh",
    ".go",
    ".js",
    ".py",
    ".java",
    ".conf",
    ".txt",
    ".schema.json",
];

/// Every text file of the workspace.
#[derive(Debug, Default)]
pub(crate) struct Workspace {
    /// Sorted by path.
    pub(crate) files: Vec<File>,
    /// Every file and folder there is, whatever it holds.
    paths: BTreeSet<String>,
}

/// One text file.
#[derive(Debug)]
pub(crate) struct File {
    /// Relative to the workspace, with `/` between folders.
    pub(crate) path: String,
    /// Its content.
    pub(crate) text: String,
    /// Its Rust tokens in order, groups taken apart; empty where it is not Rust.
    pub(crate) tokens: Vec<Token>,
}

/// One Rust token: no comment, no white space.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Token {
    /// As it is written; a delimiter counts as a token of its own.
    pub(crate) text: String,
    /// From 1.
    pub(crate) line: usize,
}

/// The folder of the workspace: the one above this crate.
pub(crate) fn root() -> PathBuf {
    let here = Path::new(env!("CARGO_MANIFEST_DIR"));
    here.parent().unwrap_or(here).to_path_buf()
}

impl Workspace {
    /// Reads every text file under `root`.
    pub(crate) fn read(root: &Path) -> Result<Workspace, String> {
        let mut found = Vec::new();
        walk(root, &mut found)?;
        found.sort();
        let mut files = Vec::new();
        let mut paths = BTreeSet::new();
        for path in found {
            let name = path
                .strip_prefix(root)
                .unwrap_or(&path)
                .to_string_lossy()
                .into_owned();
            let is_file = path.is_file() && !path.is_symlink();
            if is_file && TEXTS.iter().any(|end| name.ends_with(end)) {
                let text = fs::read_to_string(&path)
                    .map_err(|error| format!("{}: cannot be read: {error}", path.display()))?;
                files.push(File::new(&name, &text)?);
            }
            paths.insert(name);
        }
        Ok(Workspace { files, paths })
    }

    /// A workspace of these files and the folders that hold them.
    #[cfg(test)]
    pub(crate) fn of(files: Vec<File>) -> Workspace {
        let mut paths = BTreeSet::new();
        for file in &files {
            let parts: Vec<&str> = file.path.split('/').collect();
            paths.extend((1..=parts.len()).map(|end| parts[..end].join("/")));
        }
        Workspace { files, paths }
    }

    /// Whether there is a file or a folder at `path`. The workspace itself is one.
    pub(crate) fn holds(&self, path: &str) -> bool {
        path.is_empty() || self.paths.contains(path)
    }

    /// The Rust files.
    pub(crate) fn rust(&self) -> impl Iterator<Item = &File> {
        self.files.iter().filter(|file| file.is_rust())
    }

    /// Every file, in no order that matters.
    pub(crate) fn files(&self) -> impl Iterator<Item = &File> {
        self.files.iter()
    }

    /// The manifests of our crates: `NAME/Cargo.toml`, with NAME.
    pub(crate) fn manifests(&self) -> impl Iterator<Item = (&str, &File)> {
        self.files
            .iter()
            .filter_map(|file| match file.path.split('/').collect::<Vec<_>>()[..] {
                [name, "Cargo.toml"] if name != "fuzz" => Some((name, file)),
                _ => None,
            })
    }

    /// What the package in the folder `name` is called: the same, unless its manifest says so.
    pub(crate) fn package(&self, name: &str) -> String {
        let mut manifests = self.manifests();
        let file = manifests.find_map(|(folder, file)| (folder == name).then_some(file));
        let manifest = file.and_then(|file| file.text.parse::<toml::Table>().ok());
        let package = manifest.as_ref().and_then(|all| all.get("package"));
        let called = package.and_then(|package| package.get("name")?.as_str());
        called.unwrap_or(name).to_owned()
    }
}

impl File {
    /// Takes a file apart. Fails where Rust tokens do not balance.
    pub(crate) fn new(path: &str, text: &str) -> Result<File, String> {
        let mut file = File {
            path: path.to_string(),
            text: text.to_string(),
            tokens: Vec::new(),
        };
        if file.is_rust() {
            let stream: TokenStream = text
                .parse()
                .map_err(|error| format!("{path}: is not Rust: {error}"))?;
            flatten(stream, &mut file.tokens);
        }
        Ok(file)
    }

    /// The folder at the top that it lies in, which for a crate is the crate's name.
    pub(crate) fn top(&self) -> &str {
        self.path.split_once('/').map_or("", |(top, _)| top)
    }

    fn is_rust(&self) -> bool {
        self.path.ends_with(".rs")
    }
}

fn walk(folder: &Path, found: &mut Vec<PathBuf>) -> Result<(), String> {
    let complain = |error| format!("{}: cannot be read: {error}", folder.display());
    for entry in fs::read_dir(folder).map_err(complain)? {
        let path = entry.map_err(complain)?.path();
        let name = path
            .file_name()
            .unwrap_or_default()
            .to_string_lossy()
            .into_owned();
        if name.starts_with('.') && name != ".ci" {
            continue;
        }
        if path.is_dir() && !path.is_symlink() {
            if SKIPPED.contains(&name.as_str()) {
                continue;
            }
            walk(&path, found)?;
        }
        found.push(path);
    }
    Ok(())
}

fn flatten(stream: TokenStream, tokens: &mut Vec<Token>) {
    for tree in stream {
        let line = tree.span().start().line;
        match tree {
            TokenTree::Group(group) => {
                let (open, close) = match group.delimiter() {
                    proc_macro2::Delimiter::Parenthesis => ("(", ")"),
                    proc_macro2::Delimiter::Brace => ("{", "}"),
                    proc_macro2::Delimiter::Bracket => ("[", "]"),
                    proc_macro2::Delimiter::None => ("", ""),
                };
                tokens.push(Token {
                    text: open.to_string(),
                    line,
                });
                flatten(group.stream(), tokens);
                let line = group.span_close().end().line;
                tokens.push(Token {
                    text: close.to_string(),
                    line,
                });
            }
            other => tokens.push(Token {
                text: other.to_string(),
                line,
            }),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn tokens_leave_comments_and_white_space_out_and_know_their_lines() {
        let file = File::new("a.rs", "// unsafe\nfn f() {\n    g::h();\n}\n").unwrap();
        let texts: Vec<&str> = file
            .tokens
            .iter()
            .map(|token| token.text.as_str())
            .collect();
        assert_eq!(
            texts,
            [
                "fn", "f", "(", ")", "{", "g", ":", ":", "h", "(", ")", ";", "}"
            ]
        );
        assert_eq!(file.tokens[5].line, 3);
        assert_eq!(file.tokens[12].line, 4);
    }

    #[test]
    fn a_file_that_is_not_rust_is_refused_by_name() {
        let error = File::new("a.rs", "fn f( {").unwrap_err();
        assert!(error.starts_with("a.rs: is not Rust"), "{error}");
    }
}
