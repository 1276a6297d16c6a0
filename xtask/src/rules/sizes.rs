//! Files, functions, lines and crates fit: a function a screen, a file a sitting, a line a column
//! of a review, a crate one subject. Exceptions are named, hold the size that is there, and so can
//! only shrink.

use proc_macro2::Span;
use syn::spanned::Spanned;
use syn::visit::{self, Visit};

use crate::complaint::Complaint;
use crate::tables::Exception;
use crate::workspace::{File, Workspace};

/// A crate is counted in begun thousands, so that its exception stands still while it is worked on.
const THOUSAND: usize = 1000;

/// A limit and its exceptions, for each of the sizes.
pub(super) struct Limits<'a> {
    /// Lines in a file.
    pub(super) files: (usize, &'a [Exception]),
    /// Lines in a function.
    pub(super) functions: (usize, &'a [Exception]),
    /// Columns in a line.
    pub(super) lines: (usize, &'a [Exception]),
    /// Thousands of lines in a crate, without its tests.
    pub(super) crates: (usize, &'a [Exception]),
}

/// Something that was measured.
struct Size {
    path: String,
    line: usize,
    /// What an exception names.
    place: String,
    size: usize,
}

/// Measures every Rust file and every crate, and asks that every exception is still needed.
pub(super) fn check(workspace: &Workspace, limits: &Limits) -> Vec<Complaint> {
    let mut files = Vec::new();
    let mut functions = Vec::new();
    let mut lines = Vec::new();
    let mut complaints = Vec::new();
    for file in workspace.rust() {
        files.push(file_lines(file));
        lines.extend(widest_line(file));
        match functions_of(file) {
            Ok(found) => functions.extend(found),
            Err(text) => complaints.push(Complaint::about(&file.path, text)),
        }
    }
    complaints.extend(judge(&files, "lines in a file", limits.files));
    complaints.extend(judge(&functions, "lines in a function", limits.functions));
    complaints.extend(judge(&lines, "columns in a line", limits.lines));
    let crates = crates(workspace);
    let what = "thousand lines in a crate without its tests";
    complaints.extend(judge(&crates, what, limits.crates));
    complaints
}

fn judge(sizes: &[Size], what: &str, limit: (usize, &[Exception])) -> Vec<Complaint> {
    let (limit, exceptions) = limit;
    let mut complaints = Vec::new();
    for size in sizes.iter().filter(|size| size.size > limit) {
        let exception = exceptions
            .iter()
            .find(|exception| exception.place == size.place);
        let text = match exception {
            None => format!("{}: {} {what}, the limit is {limit}", size.place, size.size),
            Some(exception) if exception.at_most < size.size => format!(
                "{}: {} {what}, its exception ({}) allows {}",
                size.place, size.size, exception.reason, exception.at_most
            ),
            Some(exception) if exception.at_most > size.size => format!(
                "{}: {} {what}, its exception allows {}: lower it, exceptions only shrink",
                size.place, size.size, exception.at_most
            ),
            Some(_) => continue,
        };
        complaints.push(Complaint::at(&size.path, size.line, text));
    }
    for exception in exceptions {
        let needed = |size: &Size| size.place == exception.place && size.size > limit;
        if !sizes.iter().any(needed) {
            let text = format!("stale: {} needs no exception for {what}", exception.place);
            complaints.push(Complaint::about("xtask/src/tables.rs", text));
        }
    }
    complaints
}

fn file_lines(file: &File) -> Size {
    let size = file.text.lines().count();
    Size {
        path: file.path.clone(),
        line: 0,
        place: file.path.clone(),
        size,
    }
}

/// The begun thousands of lines of every crate.
fn crates(workspace: &Workspace) -> Vec<Size> {
    let size = |(name, manifest): (&str, &File)| {
        let source = format!("{name}/src/");
        let own = workspace
            .rust()
            .filter(|file| file.path.starts_with(&source) && !is_of_tests(&file.path));
        let lines: usize = own.map(|file| lines_without_tests(&file.text)).sum();
        Size {
            path: manifest.path.clone(),
            line: 0,
            place: name.to_owned(),
            size: lines.div_ceil(THOUSAND),
        }
    };
    workspace.manifests().map(size).collect()
}

fn is_of_tests(path: &str) -> bool {
    path.split('/')
        .any(|part| part == "tests" || part == "tests.rs")
}

/// How many lines come before the module of tests at the end.
fn lines_without_tests(text: &str) -> usize {
    let lines: Vec<&str> = text.lines().collect();
    let begins = |two: &[&str]| {
        let module = two[1].split_once("mod ").map(|(before, _)| before);
        let is_module = module.is_some_and(|before| before.is_empty() || before.starts_with("pub"));
        two[0] == "#[cfg(test)]" && is_module && two[1].ends_with('{')
    };
    lines.windows(2).position(begins).unwrap_or(lines.len())
}

fn widest_line(file: &File) -> Option<Size> {
    let widths = file
        .text
        .lines()
        .map(|line| line.chars().count())
        .enumerate();
    let (index, size) = widths.max_by_key(|(_, width)| *width)?;
    Some(Size {
        path: file.path.clone(),
        line: index + 1,
        place: file.path.clone(),
        size,
    })
}

fn functions_of(file: &File) -> Result<Vec<Size>, String> {
    let tree = syn::parse_file(&file.text).map_err(|error| format!("is not Rust: {error}"))?;
    let mut functions = Functions {
        path: &file.path,
        found: Vec::new(),
    };
    functions.visit_file(&tree);
    Ok(functions.found)
}

/// Collects every function that has a body, also those inside functions.
struct Functions<'a> {
    path: &'a str,
    found: Vec<Size>,
}

impl Functions<'_> {
    fn add(&mut self, signature: &syn::Signature, end: Span) {
        let line = signature.fn_token.span.start().line;
        self.found.push(Size {
            path: self.path.to_string(),
            line,
            place: format!("{}::{}", self.path, signature.ident),
            size: end.end().line - line + 1,
        });
    }
}

impl<'ast> Visit<'ast> for Functions<'_> {
    fn visit_item_fn(&mut self, function: &'ast syn::ItemFn) {
        self.add(&function.sig, function.block.span());
        visit::visit_item_fn(self, function);
    }

    fn visit_impl_item_fn(&mut self, function: &'ast syn::ImplItemFn) {
        self.add(&function.sig, function.block.span());
        visit::visit_impl_item_fn(self, function);
    }

    fn visit_trait_item_fn(&mut self, function: &'ast syn::TraitItemFn) {
        if let Some(body) = &function.default {
            self.add(&function.sig, body.span());
        }
        visit::visit_trait_item_fn(self, function);
    }
}

#[cfg(test)]
mod tests {
    use super::super::{made_of, texts};
    use super::*;

    fn limits(exceptions: &[Exception]) -> Limits<'_> {
        Limits {
            files: (8, &[]),
            functions: (3, exceptions),
            lines: (40, &[]),
            crates: (10, &[]),
        }
    }

    fn complaints(text: &str, exceptions: &[Exception]) -> Vec<String> {
        texts(&check(&made_of(&[("a/b.rs", text)]), &limits(exceptions)))
    }

    const FOUR: &str = "fn f() {\n    g();\n    g();\n}\n";

    #[test]
    fn a_long_function_is_caught_wherever_it_stands() {
        let expected = "a/b.rs::f: 4 lines in a function, the limit is 3";
        assert_eq!(complaints(FOUR, &[]), [format!("a/b.rs:1: {expected}")]);
        let inside = format!("impl A {{\n{FOUR}}}\n");
        assert_eq!(complaints(&inside, &[]), [format!("a/b.rs:2: {expected}")]);
        let inside = format!("trait A {{\n{FOUR}}}\n");
        assert_eq!(complaints(&inside, &[]), [format!("a/b.rs:2: {expected}")]);
        assert_eq!(complaints("fn f() {\n    g();\n}\n", &[]), [""; 0]);
    }

    #[test]
    fn a_long_file_and_a_wide_line_are_caught() {
        assert_eq!(
            complaints(&"//\n".repeat(9), &[]),
            ["a/b.rs: a/b.rs: 9 lines in a file, the limit is 8"]
        );
        let wide = format!("//\n// {}\n", "é".repeat(38));
        assert_eq!(
            complaints(&wide, &[]),
            ["a/b.rs:2: a/b.rs: 41 columns in a line, the limit is 40"]
        );
    }

    /// What is said of a crate with so many lines, half of them in either file, beside its tests.
    fn crate_of(lines: usize, crates: (usize, &[Exception])) -> Vec<String> {
        let tests = "#[cfg(test)]\nmod tests {\n    fn f() {}\n}\n";
        let half = "//\n".repeat(lines / 2) + tests;
        let rest = "//\n".repeat(lines - lines / 2);
        let only_tests = "//\n".repeat(5000);
        let files = [
            ("a/Cargo.toml", ""),
            ("a/src/lib.rs", half.as_str()),
            ("a/src/b/c.rs", rest.as_str()),
            ("a/src/tests.rs", only_tests.as_str()),
            ("a/src/b/tests/d.rs", only_tests.as_str()),
            ("a/tests/e.rs", only_tests.as_str()),
        ];
        let limits = Limits {
            files: (usize::MAX, &[]),
            functions: (usize::MAX, &[]),
            lines: (usize::MAX, &[]),
            crates,
        };
        texts(&check(&made_of(&files), &limits))
    }

    #[test]
    fn a_crate_that_is_two_things_is_caught_and_its_tests_count_for_nothing() {
        assert_eq!(crate_of(10_000, (10, &[])), [""; 0]);
        assert_eq!(
            crate_of(10_001, (10, &[])),
            ["a/Cargo.toml: a: 11 thousand lines in a crate without its tests, the limit is 10"]
        );
        let exception = [Exception {
            place: "a",
            at_most: 12,
            reason: "it is being cut",
        }];
        assert_eq!(crate_of(11_500, (10, &exception)), [""; 0]);
        assert_eq!(
            crate_of(11_000, (10, &exception)),
            [
                "a/Cargo.toml: a: 11 thousand lines in a crate without its tests, its exception \
                 allows 12: lower it, exceptions only shrink"
            ]
        );
        assert_eq!(
            crate_of(12_001, (10, &exception)),
            [
                "a/Cargo.toml: a: 13 thousand lines in a crate without its tests, its exception \
                 (it is being cut) allows 12"
            ]
        );
    }

    #[test]
    fn an_exception_holds_exactly_the_size_that_is_there() {
        let allowing = |at_most| {
            [Exception {
                place: "a/b.rs::f",
                at_most,
                reason: "one table",
            }]
        };
        assert_eq!(complaints(FOUR, &allowing(4)), [""; 0]);
        assert_eq!(
            complaints(FOUR, &allowing(9)),
            [
                "a/b.rs:1: a/b.rs::f: 4 lines in a function, its exception allows 9: lower it, \
              exceptions only shrink"
            ]
        );
        let five = FOUR.replacen("g();", "g();\n    g();", 1);
        assert_eq!(
            complaints(&five, &allowing(4)),
            ["a/b.rs:1: a/b.rs::f: 5 lines in a function, its exception (one table) allows 4"]
        );
    }

    #[test]
    fn an_exception_that_is_not_needed_is_stale() {
        let exception = [Exception {
            place: "a/b.rs::f",
            at_most: 4,
            reason: "one table",
        }];
        assert_eq!(
            complaints("fn f() {}\n", &exception),
            ["xtask/src/tables.rs: stale: a/b.rs::f needs no exception for lines in a function"]
        );
    }
}
