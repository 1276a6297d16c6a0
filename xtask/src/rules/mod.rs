//! The rules. Each is a pure function from the workspace to its complaints.

mod circles;
mod clock;
mod imports;
mod links;
mod optimised;
mod sizes;
mod unsafety;
mod words;

use crate::complaint::Complaint;
use crate::documents;
use crate::tables;
use crate::workspace::Workspace;

pub(crate) use circles::listed as circles;

/// Applies every rule.
pub(crate) fn check(workspace: &Workspace) -> Vec<Complaint> {
    let limits = sizes::Limits {
        files: (tables::FILE_LINES_MAX, tables::LONG_FILES),
        functions: (tables::FUNCTION_LINES_MAX, tables::LONG_FUNCTIONS),
        lines: (tables::LINE_COLUMNS_MAX, tables::WIDE_LINES),
        crates: (tables::CRATE_THOUSANDS_MAX, tables::LARGE_CRATES),
    };
    let mut complaints = imports::check(workspace, tables::CRATES, &tables::CONFINED);
    complaints.extend(unsafety::check(
        workspace,
        tables::UNSAFE_CRATE,
        tables::UNSAFE_FILES,
    ));
    complaints.extend(sizes::check(workspace, &limits));
    complaints.extend(circles::check(workspace, tables::CIRCLES));
    complaints.extend(clock::check(workspace, tables::CLOCK_FILE));
    complaints.extend(optimised::check(workspace, tables::CRATES));
    complaints.extend(words::check(workspace));
    complaints.extend(links::check(workspace));
    complaints.extend(documents::check(workspace));
    complaints
}

/// A workspace of files made up for a test.
#[cfg(test)]
fn made_of(files: &[(&str, &str)]) -> Workspace {
    let files = files
        .iter()
        .map(|(path, text)| crate::workspace::File::new(path, text).unwrap())
        .collect();
    Workspace::of(files)
}

/// The complaints as text, for a test.
#[cfg(test)]
fn texts(complaints: &[Complaint]) -> Vec<String> {
    complaints.iter().map(ToString::to_string).collect()
}
